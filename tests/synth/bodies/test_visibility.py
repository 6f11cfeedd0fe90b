from __future__ import annotations

import numpy as np
import pytest

from synth.bodies.body import BodyError
from synth.bodies.visibility import hidden_faces


def ball(radius: float, center: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> tuple[np.ndarray, np.ndarray]:
    """Return a sphere of triangles, counter-clockwise seen from outside, with pinholes at the poles."""
    n_rows, n_cols = 21, 40
    polar = np.linspace(0.0005, np.pi - 0.0005, n_rows)[:, None]
    around = np.linspace(0, 2 * np.pi, n_cols, endpoint=False)
    points = np.stack(
        (
            np.sin(polar) * np.cos(around),
            np.broadcast_to(np.cos(polar), (n_rows, n_cols)),
            np.sin(polar) * np.sin(around),
        ),
        axis=-1,
    ).reshape(-1, 3)
    faces = []
    for row in range(n_rows - 1):
        for col in range(n_cols):
            a, b = row * n_cols + col, row * n_cols + (col + 1) % n_cols
            faces += [[a, b, b + n_cols], [a, b + n_cols, a + n_cols]]
    return points * radius + center, np.array(faces)


def test_a_ball_hides_what_is_in_it() -> None:
    outer, faces = ball(0.1)
    inner, _ = ball(0.04, (0.01, 0.0, 0.02))
    hidden = hidden_faces(np.concatenate((outer, inner)), np.concatenate((faces, faces + len(outer))))
    assert not hidden[: len(faces)].any()
    assert hidden[len(faces) :].all()


def test_what_sticks_out_is_seen() -> None:
    outer, faces = ball(0.1)
    inner, _ = ball(0.04, (0.1, 0.0, 0.0))
    hidden = hidden_faces(np.concatenate((outer, inner)), np.concatenate((faces, faces + len(outer))))
    centers = inner[faces].mean(axis=1)
    radii = np.linalg.norm(centers, axis=1)
    assert not hidden[len(faces) :][radii > 0.105].any()
    assert hidden[len(faces) :][radii < 0.085].all()


def test_insides_out_of_sight_are_hidden() -> None:
    points, faces = ball(0.1)
    assert hidden_faces(points, faces[:, ::-1]).all()


@pytest.mark.parametrize(
    ("points", "faces", "message"),
    [
        (np.zeros((3, 2)), np.zeros((1, 3), dtype=int), r"expected vertices \(n, 3\)"),
        (np.zeros((3, 3)), np.array([[0, 1, 3]]), "faces must name vertices"),
        (np.full((3, 3), np.inf), np.array([[0, 1, 2]]), "vertices must be finite"),
    ],
)
def test_broken_meshes_are_refused(points: np.ndarray, faces: np.ndarray, message: str) -> None:
    with pytest.raises(BodyError, match=message):
        hidden_faces(points, faces)
