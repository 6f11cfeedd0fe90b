"""Which way people face: weights from evidence, angles from joints."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import naive_facings

from depthforest.frames.frame import Joint
from depthforest.trees import facings


@settings(deadline=None)
@given(said=st.lists(st.integers(-200_000, 200_000), min_size=1, max_size=32), n_votes=st.integers(0, 5000))
def test_weights_are_those_of_the_twin(said, n_votes):
    weights = facings.weigh(np.array(said, np.int64), n_votes)
    assert weights.dtype == np.int32
    assert weights.tolist() == naive_facings.weigh(said, n_votes)
    assert weights.max() > 0
    assert (weights[weights < facings.LEAST_WEIGHT] % weights.max() == 0).all()
    assert weights.sum() <= facings.WEIGHT_SUM + len(said) / 2
    # neither the order nor what is said of all alike matters
    np.testing.assert_array_equal(facings.weigh(np.array(said[::-1], np.int64), n_votes), weights[::-1])
    np.testing.assert_array_equal(facings.weigh(np.array(said, np.int64) + 1000, n_votes), weights)


def test_weights_of_few_cases():
    assert facings.weigh(np.zeros(8, np.int64), 0).tolist() == [32] * 8
    assert facings.weigh(np.zeros(32, np.int64), 5).tolist() == [8] * 32
    assert facings.weigh(np.array([90, -90], np.int64), 1).tolist() == [255, 0]
    # e^1.5 to 1 is 0.82; e^4 to 1 leaves 4.6 for the other, which is too few
    assert facings.weigh(np.array([3, 0], np.int64), 1).tolist() == [208, 47]
    assert facings.weigh(np.array([80, 0], np.int64), 10).tolist() == [250, 0]


def across(left, right, kind="shoulder"):
    return {f"{kind}_l": Joint(left), f"{kind}_r": Joint(right)}


@pytest.mark.parametrize(
    ("left", "right", "angle"),
    [
        ((0.2, 0, 2), (-0.2, 0, 2), 0),  # toward the camera, the left side of the body is on the right of the picture
        ((0, 0, 2.2), (0, 0, 1.8), 90),
        ((-0.2, 0, 2), (0.2, 0, 2), 180),
        ((0, 0, 1.8), (0, 0, 2.2), 270),
        ((0.2, 0.4, 2.2), (-0.2, -0.1, 1.8), 45),
    ],
)
def test_angles_of_joints(left, right, angle):
    for kind in ("shoulder", "hip"):
        found = facings.angle_of(across(left, right, kind))
        assert found == pytest.approx(angle)
        # the mirrored picture: x changes sign, left and right swap
        mirrored = [(-x, y, z) for x, y, z in (right, left)]
        assert math.cos(math.radians(facings.angle_of(across(*mirrored, kind)) + found)) == pytest.approx(1)


def test_shoulders_and_hips_count_together():
    joints = across((0.2, 0, 2), (-0.2, 0, 2)) | across((0, 0, 2.2), (0, 0, 1.8), "hip")
    assert facings.angle_of(joints) == pytest.approx(45)


def test_a_hair_beside_the_camera_is_0_and_not_360():
    assert facings.angle_of(across((0.2, 0, -1e-18), (-0.2, 0, 0))) == 0
    # the turn of the last facing is rounded, so that the mean of all others lies a hair below 0
    for n in range(2, facings.MAX_FACINGS + 1):
        for reach in range(1, n // 2 + 1):
            weights = np.zeros(n, np.int32)
            weights[np.arange(-reach, reach + 1) % n] = 9
            angle = facings.mean_angle(weights)
            assert angle is None or 0 <= angle < 360


def test_no_angle_without_two_sides():
    assert facings.angle_of({}) is None
    assert facings.angle_of({"shoulder_l": Joint((0, 0, 2)), "hip_r": Joint((1, 0, 2))}) is None
    # seen along the line of the shoulders from above
    assert facings.angle_of(across((0, 0.2, 2), (0, -0.2, 2))) is None


def test_the_nearest_facing():
    assert [facings.facing_of(a, 8) for a in (0, 22.4, 22.6, 45, 337.4, 337.6, 359.9)] == [0, 0, 1, 1, 7, 0, 0]
    assert facings.facing_of(200, 1) == 0
    assert facings.facing_of(90.1, 2) == 1
    assert facings.mirrored(4).tolist() == [0, 3, 2, 1]
    assert facings.mirrored(1).tolist() == [0]


def test_the_mean_angle():
    assert facings.mean_angle(np.array([255], np.int32)) is None
    assert facings.mean_angle(np.full(8, 32, np.int32)) is None
    assert facings.mean_angle(np.array([0, 0, 255, 0], np.int32)) == pytest.approx(180)
    assert facings.mean_angle(np.array([100, 100, 0, 0], np.int32)) == pytest.approx(45)
    assert facings.mean_angle(np.array([100, 0, 0, 100], np.int32)) == pytest.approx(315)
