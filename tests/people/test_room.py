"""The room that a tracker learns by itself: things become room, people do not; planted scenes of small frames."""

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import naive_people as naive

from depthforest.base.errors import FrameError
from depthforest.frames.camera import Camera
from depthforest.frames.frame import Frame
from depthforest.people import tracks as peopletracks
from depthforest.people.background import Background
from depthforest.people.finding import People
from depthforest.people.room import LEARNED_EVERY, SURE_STEPS, LearnedRoom
from depthforest.people.tracks import CERTAIN, LIKELY, STILL_STEPS, PeopleTracker
from synth.config import Config
from synth.recording import Recording

CAMERA = Camera.preset("kinect_v1@160x120")
WALL_MM = 4000
NOISES = [np.random.default_rng(k).normal(0, 6, CAMERA.shape) for k in range(7)]
SURE, STILL = LEARNED_EVERY * SURE_STEPS, LEARNED_EVERY * STILL_STEPS
MINUTE = 1800


class Stage:
    """Boxes before a wall, of which the finder takes some for people: (box, depth) each."""

    def __init__(self, monkeypatch, wall_mm=WALL_MM, **tracker):
        monkeypatch.setattr(peopletracks, "find_people", self.find)
        self.tracker, self.t, self.probability = PeopleTracker(**tracker), 0, None
        self.wall = np.broadcast_to(np.asarray(wall_mm, float), CAMERA.shape)

    def find(self, _frame, _background=None, **_how):
        ids = tuple(np.unique(self.found[self.found > 0]).tolist())
        if self.probability is None:
            return People(self.found, ids)
        return People(self.found, ids, (self.probability,) * len(ids))

    def show(self, people=(), things=()):
        """Return who is tracked in the next frame, in which `people` are found and `things` are not."""
        depth, self.found = self.wall.copy(), np.zeros(CAMERA.shape, np.uint8)
        for rows, cols, depth_mm in things:
            depth[rows, cols] = depth_mm
        for number, (rows, cols, depth_mm) in enumerate(people, start=1):
            depth[rows, cols], self.found[rows, cols] = depth_mm, number
        depth += NOISES[self.t % len(NOISES)]
        self.t += 1
        return self.tracker.add(Frame(np.maximum(depth, 0).astype(np.uint16), CAMERA))

    @property
    def room(self):
        return self.tracker._room


@pytest.fixture
def stage(monkeypatch):
    return Stage(monkeypatch)


def box(left, depth_mm=2500, top=30):
    return slice(top, 110), slice(left, left + 24), depth_mm


def test_what_never_moves_and_is_doubtful_becomes_room(stage):
    stage.probability = 0.3
    ids = [stage.show([box(60)]).ids for _ in range(STILL + 60)]
    assert ids[STILL // 2] == (1,)
    assert set(ids[-30:]) == {()}
    is_coat = np.zeros(CAMERA.shape, bool)
    is_coat[box(60)[:2]] = True
    assert np.abs(stage.room.depth_mm[is_coat].astype(int) - 2500).max() < 40


@pytest.mark.parametrize(
    ("probability", "depth_mm", "stays"),
    [
        (CERTAIN, 1500, True),
        (CERTAIN - 0.05, 1500, False),
        (None, 1500, True),
        # too far away to see anybody sway
        (LIKELY, 2500, True),
        (LIKELY - 0.05, 2500, False),
        (None, 2500, True),
    ],
)
def test_who_does_not_move_stays_if_it_is_probably_a_person(stage, probability, depth_mm, stays):
    stage.probability = probability
    for _ in range(MINUTE if stays else STILL + 60):
        people = stage.show([box(60, depth_mm)])
    assert people.ids == ((1,) if stays else ())


def test_who_sits_still_and_sways_stays_for_a_minute(stage):
    for t in range(MINUTE):
        people = stage.show([box(60 + round(1.2 * np.sin(t / 20)))])
        assert people.ids == (1,)
    assert (stage.room.depth_mm[40:100, 63:81] == 0).all()  # nobody knows what is behind him


def test_who_walks_in_and_sits_still_stays_for_a_minute(stage):
    for _ in range(SURE):
        assert len(stage.show()) == 0
    for left in range(60):
        stage.show([box(left)])
    for _ in range(MINUTE):
        people = stage.show([box(59)])
        assert people.ids == (1,)
    assert np.abs(stage.room.depth_mm[box(59)[:2]].astype(int) - WALL_MM).max() < 60


def test_a_chair_that_was_moved_becomes_room_after_seconds(stage):
    stage.probability = 0.3
    for _ in range(SURE):
        stage.show()
    ids = [stage.show([box(60)]).ids for _ in range(STILL + 60)]
    assert ids[:60] == [(1,)] * 60
    assert set(ids[-20:]) == {()}


def test_what_somebody_hid_is_no_person(stage):
    """Somebody gets up from a chair, and the finder takes the chair for a person."""
    stage.probability = 0.6
    for _ in range(SURE + 30):
        stage.show([box(60)])
    for left in range(60, 100):
        people = stage.show([box(left), box(60, 3000, 70)] if left > 86 else [box(left)], [box(60, 3000, 70)])
        assert people.ids == (1,)
    for _ in range(20):
        assert stage.show([box(100), box(60, 3000, 70)]).ids == (1,)


def test_who_comes_apart_must_walk_again(stage):
    """A person leaves, a chair stays where both were; the chair keeps the id, since it is larger."""
    stage.probability = 0.3
    for _ in range(SURE):
        stage.show()
    for left in range(0, 60, 2):
        stage.show([box(left)])
    assert stage.tracker._tracks[0].has_walked
    rows, left_behind = slice(30, 110), (slice(30, 110), slice(58, 70), 2500)
    for t in range(40):
        stage.show([left_behind, (rows, slice(70 + t, 82 + t), 2500)])
    assert [t.has_walked for t in stage.tracker._tracks].count(True) <= 1
    for _ in range(STILL + 60):
        people = stage.show([left_behind, (rows, slice(109, 121), 2500)])
    assert not people.map[:, 58:70].any()


def test_who_is_before_and_goes_leaves_the_still_one(stage):
    """Somebody walks by before one who sits; both keep their ids."""
    stage.probability = 1.0
    for _ in range(SURE + 10):
        stage.show([box(70, 3000)])
    for left in range(0, 130, 2):
        people = stage.show([box(70, 3000), box(left, 1800)])
    assert people.ids[-1] in (1, 2)
    for _ in range(50):
        people = stage.show([box(70, 3000)])
    assert people.ids == (1,)


def test_a_camera_that_moved_begins_the_room_again(stage):
    for _ in range(2 * SURE):
        stage.show([box(60)])
    before = stage.room
    stage.wall = np.full(CAMERA.shape, 3200.0)
    for _ in range(LEARNED_EVERY + 1):
        people = stage.show([box(20)])
    assert stage.room is not before
    assert len(people) == 1
    for _ in range(SURE):
        stage.show([box(20)])
    assert np.abs(stage.room.depth_mm[:20].astype(int) - 3200).max() < 60


def test_frames_without_readings_or_people_change_nothing(stage):
    for _ in range(SURE):
        stage.show()
    learned = stage.room.depth_mm
    stage.wall = np.full(CAMERA.shape, -100.0)
    for _ in range(SURE):
        assert len(stage.show()) == 0
    np.testing.assert_array_equal(stage.room.depth_mm, learned)


def test_another_size_begins_the_room_again(stage):
    for _ in range(SURE):
        stage.show([box(60)])
    camera = Camera.preset("kinect_v1@80x60")
    stage.found = np.zeros(camera.shape, np.uint8)
    assert len(stage.tracker.add(Frame(np.full(camera.shape, 3000, np.uint16), camera))) == 0
    assert stage.room.shape == camera.shape
    assert stage.room.step == 1


def test_reset_forgets_everyone_and_the_room(stage):
    for left in (0, 100):
        stage.show([box(left)])
    stage.tracker.reset()
    assert stage.room is None
    assert stage.show([box(60)]).ids == (1,)


def test_nothing_is_learned_with_a_background_or_unasked(monkeypatch):
    for options in ({"background": Frame(np.full(CAMERA.shape, WALL_MM, np.uint16), CAMERA)}, {"learn": False}):
        stage = Stage(monkeypatch, **options)
        for _ in range(STILL + 60):
            people = stage.show([box(60)])
        assert people.ids == (1,)
        assert stage.room is None


def test_the_same_frames_give_the_same_people(monkeypatch):
    maps = []
    for _ in range(2):
        stage = Stage(monkeypatch)
        maps.append([stage.show([box(10 + t // 4), box(100, 3300)]).map for t in range(200)])
    np.testing.assert_array_equal(*maps)


def test_people_of_a_map_are_not_learned():
    empty, somebody = np.full(CAMERA.shape, 3000, np.uint16), np.zeros(CAMERA.shape, np.uint8)
    somebody[20:60, 40:90] = 3
    background = Background(Frame(empty, CAMERA))
    nearer = Frame(np.where(somebody > 0, 2000, empty).astype(np.uint16), CAMERA)
    for _ in range(1000):
        background.add(nearer, somebody)
    np.testing.assert_array_equal(background.depth_mm, empty)
    with pytest.raises(FrameError, match=r"the map of people has shape \(3, 4\), the frame \(120, 160\)"):
        background.add(nearer, somebody[:3, :4])


@given(st.integers(0, 1000))
@settings(max_examples=20, deadline=None)
def test_rooms_are_learned_and_asked_as_the_twins_do(seed):
    rng = np.random.default_rng(seed)
    camera, levels = Camera(30, 30, 12, 10, 24, 20), rng.choice([0, 600, 1500, 1540, 4000], (20, 24))
    room = LearnedRoom(Frame(np.full((20, 24), 2000, np.uint16), camera))
    for _ in range(LEARNED_EVERY * 12):
        depth_mm = np.where(rng.random((20, 24)) < 0.2, rng.choice([0, 900, 3000], (20, 24)), levels)
        frame = Frame((depth_mm + rng.integers(0, 9, (20, 24))).astype(np.uint16), camera)
        people = np.where(rng.random((20, 24)) < 0.1, rng.integers(1, 4, (20, 24)), 0).astype(np.uint8)
        away, held = room._away.copy(), room._held.copy()
        if room.is_step:
            near = cv2.dilate(np.where(people > 0, frame.depth_mm, 0).astype(np.uint16), np.ones((5, 5), np.uint8))
            ref = naive.hide_people(frame.depth_mm, people, near, away, held)
            room.add(frame, people)
            for name, expected in zip(("_away", "_held"), ref[:2], strict=True):
                np.testing.assert_array_equal(getattr(room, name), expected)
        else:
            room.add(frame, people)
    since = rng.integers(0, 12, 256).astype(np.int32)
    survey = room.survey(frame, people, since)
    ref = naive.survey(room, frame.depth_mm, people, since)
    for name, counts in ref.items():
        np.testing.assert_array_equal(getattr(survey, name), counts, err_msg=name)


def test_memory_of_the_room_is_that_of_some_pictures():
    room = LearnedRoom(Frame(np.full(CAMERA.shape, 3000, np.uint16), CAMERA))
    for _ in range(50):
        room.add(Frame(np.full(CAMERA.shape, 3000, np.uint16), CAMERA))
    size = sum(value.nbytes for value in vars(room).values() if isinstance(value, np.ndarray))
    assert size < 60 * np.prod(CAMERA.shape)


def test_in_a_furnished_room_ghosts_go_and_people_stay():
    """A recording in which everything that is looked at is kept, however improbable."""
    config = Config(camera="kinect_v1@160x120", n_bodies=2, people_shares=(1.0,), furnished_share=1.0, furniture=(3, 5))
    frames = list(Recording(config, seed=704, n=STILL + 120, fps=30).frames(threads=1))
    n_false, n_found = {}, {}
    for learn in (False, True):
        tracker = PeopleTracker(learn=learn, least=0.0)
        n_false[learn] = n_found[learn] = 0
        for t, frame in enumerate(frames):
            people = tracker.add(frame)
            if t >= STILL:
                shares = [(frame.people[mask] > 0).mean() for mask in people]
                n_false[learn] += sum(share < 0.3 for share in shares)
                n_found[learn] += any(share > 0.5 for share in shares)
    assert n_found[True] == n_found[False] == 120
    assert n_false[False] > 20
    assert n_false[True] < n_false[False]
