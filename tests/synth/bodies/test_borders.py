from __future__ import annotations

import numpy as np
from support import boxman

from synth.bodies.borders import Cut, cut_at_borders
from synth.bodies.labels import face_parts, limb_shares, point_parts

MAN = boxman.make()
CUT = cut_at_borders(*MAN.args)


def areas(points: np.ndarray, faces: np.ndarray) -> np.ndarray:
    a, b, c = (points[faces[:, i]] for i in range(3))
    return np.linalg.norm(np.cross(b - a, c - a), axis=1) / 2


def wrong_share(points: np.ndarray, faces: np.ndarray, weights: np.ndarray) -> float:
    """Share of the surface whose label, where random points are asked one by one, is not that of its face."""
    man = boxman.BoxMan(points, np.empty((0, 4)), MAN.heads, weights)
    parts = face_parts(points, faces, MAN.heads, *man.skin)
    rng = np.random.default_rng(0)
    size = areas(points, faces)
    chosen = rng.choice(len(faces), 20_000, p=size / size.sum())
    inside = rng.dirichlet((1, 1, 1), len(chosen))[:, :, None]
    shares = limb_shares(*man.skin)
    asked = point_parts(
        (points[faces[chosen]] * inside).sum(axis=1),
        (shares[faces[chosen]] * inside).sum(axis=1),
        MAN.heads,
        float(points[:, 1].max()),
    )
    return float((asked != parts[chosen]).mean())


def test_cutting_makes_labels_right() -> None:
    before = wrong_share(MAN.points, MAN.faces, MAN.weights)
    after = wrong_share(CUT.extend(MAN.points), CUT.faces, CUT.extend(MAN.weights))
    assert before > 0.02
    assert after < before / 2.5  # three borders in one of his large faces leave a rest


def test_the_surface_stays_closed_and_of_the_same_size() -> None:
    points = CUT.extend(MAN.points)
    np.testing.assert_allclose(areas(points, CUT.faces).sum(), areas(MAN.points, MAN.faces).sum(), rtol=1e-9)
    for faces in (MAN.faces, CUT.faces):
        # a closed surface: every edge is walked once in each direction
        edges = faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)
        there = np.unique(edges, axis=0)
        assert len(there) == len(edges)
        np.testing.assert_array_equal(there, np.unique(edges[:, ::-1], axis=0))


def test_outsides_stay_outside() -> None:
    points = CUT.extend(MAN.points)
    for mesh, faces in ((MAN.points, MAN.faces), (points, CUT.faces)):
        a, b, c = (mesh[faces[:, i]] for i in range(3))
        volume = (a * np.cross(b, c)).sum() / 6
        assert 0.03 < volume < 0.12


def test_values_are_interpolated() -> None:
    cut = Cut(np.array([[0, 2]]), np.array([0.25]), np.array([[0, 1, 3]], dtype=np.int32))
    np.testing.assert_allclose(cut.extend(np.array([0.0, 9.0, 4.0])), [0, 9, 4, 1])
    assert cut.extend(np.zeros((3, 2), dtype=np.float32)).dtype == np.float32
