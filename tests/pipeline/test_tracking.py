"""Live loops: everyone in a frame in one call, with ids that stay."""

import numpy as np
import pytest

import depthforest as df
from depthforest.base import UsageError, samples_folder
from depthforest.frames import NO_PART
from depthforest.joints import TrackedJoint


@pytest.fixture(scope="module")
def samples():
    return list(df.open_dataset(samples_folder()))


def test_everyone_comes_with_parts_joints_and_an_id(samples):
    tracker = df.Tracker()
    two = samples[-1]
    first, second = tracker.add(two), tracker.add(two)
    assert [person.id for person in first] == [person.id for person in second] == [1, 2]
    for person in second:
        assert person.mask.any()
        assert (second.parts[person.mask & (two.depth_mm > 0)] < len(second.part_set)).all()
        assert isinstance(person.joints["head"], TrackedJoint)
        assert 0 < person.probability <= 1
        assert 0 < person.confidence <= 1
        assert 0 <= person.facing < 360
        assert repr(person).startswith(f"SeenPerson({person.id}, ")
    nobody = ~np.logical_or.reduce([person.mask for person in second])
    assert (second.parts[nobody] == NO_PART).all()
    assert second[:1] == tuple(second)[:1]
    assert repr(second) == "SeenPeople(id 1, id 2)"
    tracker.reset()
    assert [person.id for person in tracker.add(two)] == [1, 2]


def test_it_is_what_the_steps_give(samples):
    frame = samples[0]
    (seen,) = df.track([frame])
    people = df.find_people(frame)
    np.testing.assert_array_equal(seen[0].mask, people[0])
    labeling = df.load().label(frame, people[0])
    np.testing.assert_array_equal(seen.parts[people[0]], labeling.parts[people[0]])
    joints = df.find_joints(frame, labeling)
    assert set(seen[0].joints) == set(joints)
    for name, joint in joints.items():
        assert seen[0].joints[name].position == pytest.approx(joint.position)


def test_nobody_is_no_error(samples):
    wall = df.Frame(np.full(samples[0].shape, 2500, np.uint16), samples[0].camera)
    seen = df.Tracker().add(wall)
    assert len(seen) == 0
    assert list(seen) == []
    assert (seen.parts == NO_PART).all()
    assert repr(seen) == "SeenPeople(nobody)"
    with pytest.raises(IndexError, match="nobody was found in this frame"):
        seen[0]
    with pytest.raises(IndexError, match="nobody was found in this frame"):
        df.find_people(wall)[0]


def test_frames_come_one_by_one_and_none_ahead(samples):
    asked = []

    def live():
        for number in range(3):
            asked.append(number)
            yield df.Frame(samples[0].depth_mm, samples[0].camera, time_s=[5.0, 5.1, 5.1][number])

    for number, seen in enumerate(df.track(live())):
        assert asked == list(range(number + 1))
        assert seen[0].id == 1


def test_wrong_use_is_named(samples):
    with pytest.raises(UsageError, match=r"for a single one, df.Tracker\(\).add\(frame\)"):
        df.track(samples[0])
    with pytest.raises(UsageError, match="people are followed through Frames, got ndarray"):
        df.Tracker().add(np.zeros((4, 4)))
