from __future__ import annotations

import numpy as np
import pytest
from support import boxman

from synth.bodies.body import BodyError
from synth.bodies.labels import face_parts
from synth.bodies.measuring import SHOULDER_SHARE, UPPER_ARM_SHARE, Landmarks, Ring, stretch
from synth.bodies.skeleton import BONE, N_BONES

MAN = boxman.make()
SKIN = MAN.weights.astype(np.float32)


@pytest.fixture(scope="module")
def marks() -> Landmarks:
    return Landmarks.find(MAN.points, MAN.faces, face_parts(*MAN.args), MAN.heads)


def test_a_tape_spans_hollows() -> None:
    star = np.array([[0, 0, 0], [0, 0, 2], [1, 0, 1], [2, 0, 2], [2, 0, 0]], dtype=float)  # one corner is dented
    ends = np.arange(len(star))
    ring = Ring(ends, ends, np.zeros(len(star)))
    assert ring.girth(star) == pytest.approx(8)


def test_the_box_man_measures_what_he_was_made_of(marks: Landmarks) -> None:
    measured = marks.measure(MAN.points, MAN.heads)
    ankle = 0.08 - MAN.points[:, 1].min()
    expected = {
        "stature": np.ptp(MAN.points[:, 1]),
        "trochanter_height": 0.84 + ankle,
        "knee_height": 0.42 + ankle,
        "upper_arm_length": 0.29 / UPPER_ARM_SHARE,
        "forearm_length": 0.26,
        "shoulder_breadth": 0.38 / SHOULDER_SHARE,
    }
    for name, value in expected.items():
        assert measured[name] == pytest.approx(value, abs=1e-6), name
    assert measured["foot_length"] == pytest.approx(0.27, abs=0.01)  # the end of the leg's tube sticks out behind
    assert measured["hand_length"] == pytest.approx(0.19, abs=0.01)
    # an octagon inscribed in the trunk's ellipse, by Ramanujan a little less than its circumference
    a, b = 0.17, 0.11
    ellipse = np.pi * (3 * (a + b) - np.sqrt((3 * a + b) * (a + 3 * b)))
    assert 0.95 * ellipse < measured["waist_girth"] < ellipse


def test_compact_landmarks_read_the_same(marks: Landmarks) -> None:
    rows, compact = marks.compact()
    assert len(rows) < len(MAN.points) / 3
    assert compact.measure(MAN.points[rows], MAN.heads) == marks.measure(MAN.points, MAN.heads)


def test_unit_matrices_change_nothing() -> None:
    vertices, heads = stretch(MAN.points, MAN.heads, SKIN, np.tile(np.eye(3), (N_BONES, 1, 1)))
    np.testing.assert_allclose(vertices, MAN.points, atol=1e-6)
    np.testing.assert_allclose(heads, MAN.heads, atol=1e-12)


def test_a_longer_thigh_lowers_what_hangs_on_it() -> None:
    matrices = np.tile(np.eye(3), (N_BONES, 1, 1))
    matrices[BONE["LeftUpLeg"]] = np.diag((1, 1.5, 1))
    vertices, heads = stretch(MAN.points, MAN.heads, SKIN, matrices)
    for name, drop in (("LeftUpLeg", 0), ("LeftLeg", 0.21), ("LeftFoot", 0.21), ("RightLeg", 0), ("Head", 0)):
        np.testing.assert_allclose(heads[BONE[name]], MAN.heads[BONE[name]] - (0, drop, 0), atol=1e-9)
    toes = MAN.weights[:, BONE["LeftToeBase"]] == 1
    np.testing.assert_allclose(vertices[toes], MAN.points[toes] - (0, 0.21, 0), atol=1e-6)
    trunk = MAN.weights[:, BONE["Spine1"]] == 1
    np.testing.assert_allclose(vertices[trunk], MAN.points[trunk], atol=1e-6)


def test_what_is_no_body_cannot_be_measured() -> None:
    parts = np.zeros(len(MAN.faces), dtype=np.uint8)
    with pytest.raises(BodyError, match=r"no tape about its torso_upper_l at 1\.29 m"):
        Landmarks.find(MAN.points, MAN.faces, parts, MAN.heads)
