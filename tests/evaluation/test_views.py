import math

import numpy as np
import pytest

from depthforest.evaluation.views import PersonView, groups, has_joint_outside, touches_border, yaw_of
from depthforest.frames.camera import Camera
from depthforest.frames.frame import Joint, LabeledFrame
from depthforest.frames.parts import NO_PART
from synth.config import Config
from synth.generator import Generator

CAMERA = Camera.preset("kinect_v1@80x60")


def turned(yaw_deg, tilt=0.0):
    """Return shoulders and hips of a person 2 m away, turned to their left, and leaning over to one side."""
    yaw = math.radians(yaw_deg)
    across = np.array([math.cos(yaw) * math.cos(tilt), math.sin(tilt), math.sin(yaw) * math.cos(tilt)])
    middle = {"shoulder": np.array([0.0, -0.3, 2.0]), "hip": np.array([0.0, 0.2, 2.0])}
    return {
        f"{name}_{side}": Joint(tuple(at + sign * across * 0.18))
        for name, at in middle.items()
        for side, sign in (("l", 1), ("r", -1))
    }


@pytest.mark.parametrize("yaw", [0.0, 45.0, 90.0, 135.0, -90.0, -170.0])
def test_yaw_is_read_from_shoulders_and_hips(yaw):
    assert yaw_of(turned(yaw)) == pytest.approx(yaw)
    assert yaw_of(turned(yaw, tilt=0.5)) == pytest.approx(yaw)


def test_yaw_is_unknown_without_them_or_lying_on_the_side():
    assert math.isnan(yaw_of({}))
    assert math.isnan(yaw_of({"shoulder_l": Joint((0, 0, 2))}))
    assert math.isnan(yaw_of(turned(0.0, tilt=1.4)))


def test_generated_people_head_where_their_feet_point():
    frames = Generator(Config(camera="kinect_v1@80x60", n_bodies=2, n_poses=64, people_shares=(1.0,)), seed=3, n=12)
    gaps = []
    for frame in frames:
        for joints in frame.joints.values():
            yaw = yaw_of(joints)
            if not math.isnan(yaw):
                feet = sum(np.subtract(joints[f"foot_{s}"].position, joints[f"ankle_{s}"].position) for s in "lr")
                # 0 points at the camera, along -z; the person's left is then along x
                heading = math.degrees(math.atan2(feet[0], -feet[2]))
                gaps.append(abs((yaw - heading + 180) % 360 - 180))
    assert len(gaps) >= 8
    assert np.median(gaps) < 30


def test_border_and_joints_outside():
    mask = np.zeros((5, 6), dtype=bool)
    mask[2, 3] = True
    assert not touches_border(mask)
    for cell in ((0, 3), (4, 3), (2, 0), (2, 5)):
        edge = mask.copy()
        edge[cell] = True
        assert touches_border(edge)
    assert not has_joint_outside({}, CAMERA)
    assert not has_joint_outside(turned(0.0), CAMERA)
    assert has_joint_outside({"head": Joint((0.0, -2.0, 2.0))}, CAMERA)
    assert has_joint_outside({"head": Joint((0.0, 0.0, -1.0))}, CAMERA)


def test_a_view_is_what_the_frame_shows():
    depth = np.zeros((60, 80), dtype=np.uint16)
    depth[20:30, 20:30] = 2000
    depth[25:30, 20:30] = 3000
    depth[20, 20] = 0
    parts = np.full((60, 80), NO_PART, dtype=np.uint8)
    parts[20:30, 20:30] = 4
    people = np.where(parts != NO_PART, 7, 0).astype(np.uint8)
    frame = LabeledFrame(depth, CAMERA, parts, people, {7: turned(30.0)})
    view = PersonView.of(frame, 11, 7, people == 7, "tof")
    assert (view.frame, view.person, view.sensor, view.is_cut) == (11, 7, "tof", False)
    assert view.distance_m == 3.0  # 50 of 99 readings
    assert view.yaw_deg == pytest.approx(30)


def test_groups_hold_everybody_once_for_each_axis():
    views = [PersonView(i, 1, d, y, c, s) for i, (d, y, c, s) in enumerate([
        (0.5, 0.0, False, "a"), (1.0, -50.0, True, "b"), (3.9, 91.0, False, "b"), (9.0, -180.0, True, "a"),
        (2.5, math.nan, False, "a"),
    ])]  # fmt: skip
    found = groups(views)
    for axis in ("distance", "yaw", "border", "sensor"):
        np.testing.assert_array_equal(sum(g.chosen.astype(int) for g in found if g.axis == axis), 1)
    labels = {g.label: np.flatnonzero(g.chosen).tolist() for g in found}
    assert labels["below 1 m"] == [0]
    assert labels["1 to 2 m"] == [1]
    assert labels["above 4 m"] == [3]
    assert labels["front, below 45°"] == [0]
    assert labels["half front, 45 to 90°"] == [1]
    assert labels["half back, 90 to 135°"] == [2]
    assert labels["back, above 135°"] == [3]
    assert labels["unknown"] == [4]
    assert (labels["cut"], labels["b"]) == ([1, 3], [1, 2])


def test_an_axis_of_one_group_says_nothing():
    views = [PersonView(i, 1, 2.5, math.nan, False) for i in range(3)]
    assert groups(views) == []
