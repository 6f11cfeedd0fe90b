import numpy as np
import pytest

from depthforest.base.errors import FrameError, UsageError
from depthforest.frames.camera import Camera
from depthforest.frames.frame import Frame
from depthforest.people import tracks as peopletracks
from depthforest.people.background import Background
from depthforest.people.finding import People
from depthforest.people.tracks import PeopleTracker
from synth.generator import Config, Generator
from synth.poses.sampling import sample_pose
from synth.scene.composing import Person, Scene, View
from synth.scene.rendering import render
from synth.scene.skinning import pose_body
from synth.sensors.sensing import sense

CAMERA = Camera.preset("kinect_v1@160x120")
FLOOR = np.array([[(-9.0, 0.0, 1.0), (9.0, 0.0, 1.0), (9.0, 0.0, -12.0), (-9.0, 0.0, -12.0)]])
WALL = np.array([[(-9.0, 0.0, -4.3), (9.0, 0.0, -4.3), (9.0, 3.0, -4.3), (-9.0, 3.0, -4.3)]])


@pytest.fixture(scope="module")
def actors():
    """Return three people who stand."""
    bodies = Generator(Config(n_bodies=3, child_share=0.0), seed=8)._bodies
    return [
        Person(bodies[k], pose_body(bodies[k], sample_pose(np.random.default_rng(k), "standing").pose))
        for k in range(3)
    ]


def take(people, number=0, camera=CAMERA):
    """Return a frame of people at (person, x, distance), and the truth about its pixels."""
    view = View(camera, height=1.3, tilt=0.15, roll=0.0)
    placed = tuple(person.placed(x, -distance, 0.3) for person, x, distance in people)
    seen = render(camera, Scene(view, placed, walls=np.concatenate([FLOOR, WALL])).meshes())
    sensed = sense(seen.depth, seen.parts, seen.people, camera, "kinect_v1", np.random.default_rng(number), seen.facing)
    return Frame(sensed.depth_mm, camera), sensed.people


def ids_by_truth(people, truth):
    """Return {true person: id of the mask that covers most of him}."""
    found = {}
    for i in np.unique(truth[truth > 0]):
        ids = np.bincount(people.map[truth == i], minlength=2)
        if ids[1:].sum() > 0.4 * ids.sum():
            found[int(i)] = int(np.argmax(ids[1:])) + 1
    return found


def test_ids_stay_with_who_walks(actors):
    tracker = PeopleTracker()
    seen = []
    for t in range(12):
        frame, truth = take([(actors[0], -0.8 + 0.04 * t, 2.4), (actors[1], 0.9 - 0.05 * t, 3.2)], t)
        seen.append(ids_by_truth(tracker.add(frame), truth))
    assert seen[0].keys() == {1, 2}
    assert all(ids == seen[0] for ids in seen)


def test_ids_outlast_an_occlusion(actors):
    tracker = PeopleTracker()
    seen = []
    for t in range(40):
        # one walks behind the other and comes out again
        frame, truth = take([(actors[0], 0.0, 2.0), (actors[1], -1.3 + 0.065 * t, 3.3)], t)
        seen.append(ids_by_truth(tracker.add(frame), truth))
    assert seen[0].keys() == {1, 2}
    assert any(2 not in ids for ids in seen)
    assert {ids[1] for ids in seen} == {seen[0][1]}
    assert seen[-1][2] == seen[0][2]


def test_who_is_gone_for_long_is_somebody_else(actors, monkeypatch):
    monkeypatch.setattr(peopletracks, "REMEMBERED", 3)
    tracker = PeopleTracker()
    full, empty = take([(actors[0], 0.2, 2.5)])[0], take([])[0]
    first = tracker.add(full).ids
    for _ in range(3):
        assert len(tracker.add(empty)) == 0
    assert tracker.add(full).ids == first
    for _ in range(4):
        tracker.add(empty)
    assert tracker.add(full).ids not in ((), first)


def test_n_keeps_who_was_there_first(actors):
    tracker = PeopleTracker(n=1)
    first = tracker.add(take([(actors[0], -0.6, 3.0)])[0])
    frame, truth = take([(actors[0], -0.6, 3.0), (actors[1], 0.4, 1.8)], 1)
    second = tracker.add(frame)
    assert second.ids == first.ids
    assert ids_by_truth(second, truth) == {1: first.ids[0]}


def test_a_background_helps(actors):
    background = Background(take([], 99)[0])
    tracker = PeopleTracker(background)
    for t in range(3):
        frame, truth = take([(actors[0], -0.4, 2.4), (actors[1], 0.6, 3.2)], t)
        assert ids_by_truth(tracker.add(frame), truth).keys() == {1, 2}


def test_frames_that_change_size_keep_ids(actors):
    tracker = PeopleTracker()
    people = [(actors[0], -0.7, 2.4), (actors[1], 0.8, 3.2)]
    seen = []
    for t, size in enumerate(("160x120", "160x120", "320x240", "320x240", "160x120")):
        frame, truth = take(people, t, Camera.preset(f"kinect_v1@{size}"))
        found = tracker.add(frame)
        assert found.map.shape == frame.shape
        seen.append(ids_by_truth(found, truth))
    assert seen[0].keys() == {1, 2}
    assert all(ids == seen[0] for ids in seen)


def test_a_size_that_the_background_does_not_have_is_refused_and_nothing_is_lost(actors):
    tracker = PeopleTracker(take([], 99)[0])
    people = [(actors[0], -0.3, 2.4)]
    first = tracker.add(take(people)[0])
    with pytest.raises(FrameError, match="the background is 160 x 120 pixels, the frame 320 x 240"):
        tracker.add(take(people, 1, Camera.preset("kinect_v1@320x240"))[0])
    assert tracker.add(take(people, 2)[0]).ids == first.ids


def test_who_is_seen_on_both_sides_of_somebody_stays_one(monkeypatch):
    """Somebody at 3 m goes by behind one at 2 m, who is 26 pixels wide."""
    depth = np.full(CAMERA.shape, 4000, np.uint16)
    found = []
    for left in range(20, 100, 4):
        people = np.zeros(CAMERA.shape, np.uint8)
        people[30:110, left : left + 30] = 7
        people[20:115, 62:88] = 9
        parts = [people == 9]
        for columns in (slice(0, 62), slice(88, 160)):  # each side is found as somebody, as components are
            side = np.zeros(CAMERA.shape, bool)
            side[:, columns] = people[:, columns] == 7
            if side.any():
                parts.append(side)
        masks = np.zeros(CAMERA.shape, np.uint8)
        for i, mask in enumerate(parts, start=1):
            masks[mask] = i
        found.append((np.where(people == 9, 2000, np.where(people == 7, 3000, depth)).astype(np.uint16), people, masks))
    assert max(len(np.unique(masks)) for _, _, masks in found) == 4  # nobody and three
    answers = iter(masks for _, _, masks in found)

    def find_next(*_given, **_how):
        masks = next(answers)
        return People(masks, tuple(np.unique(masks[masks > 0]).tolist()))

    monkeypatch.setattr(peopletracks, "find_people", find_next)
    tracker = PeopleTracker()
    for shown, people, _ in found:
        seen = tracker.add(Frame(shown, CAMERA))
        assert len(seen) <= 2
        assert ids_by_truth(seen, people) in ({7: 1, 9: 2}, {7: 2, 9: 1}, {9: 1}, {9: 2})
    assert seen.ids == tuple(sorted(seen.ids, key=lambda i: -(seen.map == i).sum()))
    assert set(seen.ids) == {1, 2}


def test_ids_are_never_more_than_a_byte(monkeypatch):
    """Someone new appears in every frame, far from where anyone was."""
    places = iter(range(700))

    def find_anyone(frame, *_given, **_how):
        people = np.zeros(frame.shape, np.uint8)
        people[10:60, 10:40] = 1
        return People(people, (1,))

    monkeypatch.setattr(peopletracks, "find_people", find_anyone)
    monkeypatch.setattr(peopletracks, "_middle", lambda *_: np.array([5.0 * next(places), 0, 0]))
    tracker = PeopleTracker()
    frame = Frame(np.full(CAMERA.shape, 2000, np.uint16), CAMERA)
    ids = [tracker.add(frame).ids[0] for _ in range(600)]
    assert min(ids) >= 1
    assert max(ids) <= 255
    for start in range(600 - peopletracks.REMEMBERED):
        assert len(set(ids[start : start + peopletracks.REMEMBERED])) == peopletracks.REMEMBERED


@pytest.mark.parametrize("n", [0, -1, 1.5, True, "2"])
def test_n_must_be_a_number_of_people(n):
    with pytest.raises(UsageError, match="n must be a whole number of people, 1 or more"):
        PeopleTracker(n=n)


def test_who_is_hidden_is_expected_no_farther_than_eight_frames_on():
    """Nobody walks on behind a pillar for ever."""
    at, step = np.array((0.0, 1.0, 2.0)), np.array((0.03, 0.0, -0.01))
    somebody = peopletracks._TrackedPerson(1, at, step, 10, 0.5, 0.5, at, 0)
    for frame, n_steps in ((10, 0), (13, 3), (18, 8), (19, 8), (60, 8)):
        np.testing.assert_allclose(somebody.expected(frame), at + n_steps * step)
