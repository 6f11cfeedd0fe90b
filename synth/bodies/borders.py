"""Split a body's faces along the borders between parts, so that borders are smooth even on a coarse mesh.

`labels` defines the borders; `makehuman` cuts its mesh once, before it makes any body.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from synth.bodies.labels import limb_shares, point_parts

N_HALVINGS = 10
"""Bisection steps when locating the border on an edge: accurate to a thousandth of the edge."""
NEAR_END = 0.02
"""In edge lengths."""
SNAP = 0.15
"""In edge lengths: an edge is not cut this close to one of its ends, which would make sliver triangles."""


@dataclass(frozen=True, eq=False)
class Cut:
    """A mesh with vertices added on some edges.

    Parameters
    ----------
    edges : array (k, 2), int64
        The ends of the edge that each added vertex lies on.
    shares : array (k,), float64
        The position of the vertex on its edge: 0 is the first end, 1 the second.
    faces : array (m, 3), int32
        The new faces; indices of added vertices follow those of the old ones.
    """

    edges: npt.NDArray[np.int64]
    shares: npt.NDArray[np.float64]
    faces: npt.NDArray[np.int32]

    def extend(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Append the interpolated values of the added vertices to the values (n, ...) of the old ones."""
        share = self.shares.reshape(-1, *[1] * (values.ndim - 1)).astype(values.dtype)
        return np.concatenate((values, values[self.edges[:, 0]] * (1 - share) + values[self.edges[:, 1]] * share))


def cut_at_borders(
    vertices: npt.NDArray[Any],
    faces: npt.NDArray[Any],
    bone_heads: npt.NDArray[Any],
    weight_bones: npt.NDArray[Any],
    weights: npt.NDArray[Any],
) -> Cut:
    """Cut every face that spans several parts along their border; arguments as in `labels.face_parts`."""
    points, heads = np.asarray(vertices, dtype=np.float64), np.asarray(bone_heads, dtype=np.float64)
    shares = limb_shares(weight_bones, weights)
    top = float(points[:, 1].max())
    edges = np.unique(np.sort(faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1), axis=0).astype(np.int64)
    start, end = edges.T

    def parts_at(share: npt.NDArray[np.float64]) -> npt.NDArray[np.uint8]:
        share = share[:, None]
        between = points[start] * (1 - share) + points[end] * share
        return point_parts(between, shares[start] * (1 - share) + shares[end] * share, heads, top)

    # Sampled just inside its ends, an edge that starts on the midline belongs to the side it runs to.
    low, high = np.full(len(edges), NEAR_END), np.full(len(edges), 1 - NEAR_END)
    first = parts_at(low)
    is_crossed = first != parts_at(high)
    start, end, low, high, first = (
        start[is_crossed],
        end[is_crossed],
        low[is_crossed],
        high[is_crossed],
        first[is_crossed],
    )
    for _ in range(N_HALVINGS):
        middle = (low + high) / 2
        is_before = parts_at(middle) == first
        low, high = np.where(is_before, middle, low), np.where(is_before, high, middle)
    is_cut = (low > SNAP) & (low < 1 - SNAP)
    cut_edges = np.stack((start, end), axis=1)[is_cut]
    return Cut(cut_edges, low[is_cut], _split(np.asarray(faces), cut_edges, len(points)))


def _split(faces: npt.NDArray[Any], edges: npt.NDArray[np.int64], n_vertices: int) -> npt.NDArray[np.int32]:
    """Return the faces with vertex `n_vertices + i` on edge i, inserted in both adjacent faces to avoid cracks."""
    added = {(int(a), int(b)): n_vertices + i for i, (a, b) in enumerate(edges)}
    keys = np.sort(faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 3, 2), axis=2).astype(np.int64) @ (n_vertices, 1)
    is_touched = np.isin(keys, edges @ (n_vertices, 1)).any(axis=1)
    pieces = [tuple(face) for face in faces[~is_touched].tolist()]
    for face in faces[is_touched].tolist():
        pieces.extend(_split_face(face, [added.get((min(a, b), max(a, b)), -1) for a, b in _sides(face)]))
    return np.array(pieces, dtype=np.int32)


def _sides(face: list[int]) -> list[tuple[int, int]]:
    return [(face[0], face[1]), (face[1], face[2]), (face[2], face[0])]


def _split_face(face: list[int], added: list[int]) -> list[tuple[int, int, int]]:
    """Return the pieces of a face; added[i] is the new vertex on its side from corner i to the next, or -1."""
    n_added = sum(vertex >= 0 for vertex in added)
    if n_added == 3:
        (a, b, c), (ab, bc, ca) = face, added
        return [(a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)]
    # rotate the corners so that the first side is cut and, if two are, the last is the other: they meet in corner a
    turn = next(i for i in range(3) if added[i] >= 0 and (n_added == 1 or added[i - 1] >= 0))
    a, b, c = face[turn:] + face[:turn]
    ab, _, ca = added[turn:] + added[:turn]
    if n_added == 1:
        return [(a, ab, c), (ab, b, c)]
    return [(a, ab, ca), (ab, b, c), (ab, c, ca)]
