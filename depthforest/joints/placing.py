"""From modes on the surface to joints inside: pushed back along the ray, or placed relative to other modes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from depthforest.base import kernel
from depthforest.frames import PartSet
from depthforest.joints.params import (
    ANCHORS,
    TRUNK_PUSH_BACK,
    WITHOUT_PART,
    ClusterParameters,
    Offsets,
    anchors_of,
)

TRANSLATION = 100.0
"""Variance of people's positions in square meters; large, so that a joint moves with the modes around it."""

MODE_NOISE = 1e-4
"""Variance of a mode's position in square meters."""


@kernel
def turned_axes(toward: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the camera's axes, as rows, rotated so that z points at a point in front of it and x stays level."""
    axes = np.zeros((3, 3))
    length = np.sqrt(toward[0] ** 2 + toward[1] ** 2 + toward[2] ** 2)
    for axis in range(3):
        axes[2, axis] = toward[axis] / length
    flat = np.sqrt(axes[2, 0] ** 2 + axes[2, 2] ** 2)
    axes[0, 0], axes[0, 2] = axes[2, 2] / flat, -axes[2, 0] / flat
    axes[1, 0] = axes[2, 1] * axes[0, 2]
    axes[1, 1] = axes[2, 2] * axes[0, 0] - axes[2, 0] * axes[0, 2]
    axes[1, 2] = -axes[2, 1] * axes[0, 0]
    return axes


def expected_place(
    offsets: Offsets | None, present: npt.NDArray[np.bool_], push_back_m: float = 0.0
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return each anchor's weight along each axis (3, k), and the offset (3,), if only some anchors are present.

    They give the joint's conditional mean, given these anchors; without offsets, the anchors' mean, pushed back.
    """
    weights, added = np.zeros((3, len(present))), np.zeros(3)
    if offsets is None:
        weights[:, present] = 1 / present.sum()
        added[2] = push_back_m
        return weights, added
    covariances = offsets.covariances_m2 + TRANSLATION
    k = len(present)
    its = np.flatnonzero(present)
    inner = covariances[:, its[:, None], its] + MODE_NOISE * np.eye(len(its))
    weights[:, its] = np.linalg.solve(inner, covariances[:, its, k, None])[..., 0]
    added = offsets.means_m[k] - (weights * offsets.means_m[:k].T).sum(axis=1)
    return weights, added


class Placer:
    """Places a joint without a part relative to the modes of its anchors.

    Parameters
    ----------
    joint : int
        Its number in `parts.JOINTS`.
    names : tuple of str
        Names of the clusters.
    part_set : PartSet
    offsets : Offsets or None
        None: the mean of the carriers, pushed back.
    name : str
        Name of the joint.
    """

    def __init__(
        self, joint: int, names: tuple[str, ...], part_set: PartSet, offsets: Offsets | None, name: str
    ) -> None:
        self.joint, self.offsets = joint, offsets
        self.push_back = TRUNK_PUSH_BACK if name in WITHOUT_PART else ClusterParameters().push_back_m
        self.n_carriers = len(ANCHORS[name][0])
        anchors = anchors_of(name, part_set) if offsets is not None else ANCHORS[name][0]
        self.anchors = np.array([names.index(anchor) for anchor in anchors])
        self._weights: dict[int, tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]] = {}

    def weights(self, present: npt.NDArray[np.bool_]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Return each anchor's weight along each axis (3, k), and the offset (3,), if only some anchors are present."""
        key = int(np.packbits(present, bitorder="little") @ (1 << 8 * np.arange(-(-len(present) // 8))))
        if key not in self._weights:
            self._weights[key] = expected_place(self.offsets, present, self.push_back)
        return self._weights[key]

    def place(
        self,
        modes: npt.NDArray[np.float32],
        n_modes: npt.NDArray[np.int64],
        found: npt.NDArray[np.float64],
        counts: npt.NDArray[np.int64],
    ) -> None:
        """Fill the joint's proposals, if a carrier was found."""
        present = n_modes[self.anchors] > 0
        if present[: self.n_carriers].any():
            weights, added = self.weights(present)
            _place(modes, n_modes, self.anchors, self.n_carriers, weights, added, self.joint, found, counts)


@kernel
def push_back(
    modes: npt.NDArray[np.float32],
    n_modes: npt.NDArray[np.int64],
    own: npt.NDArray[np.int64],
    push_backs: npt.NDArray[np.float64],
    found: npt.NDArray[np.float64],
    counts: npt.NDArray[np.int64],
) -> None:
    """Fill the proposals of joints with a cluster; `own` (n, 2) is the joint and its cluster."""
    for k in range(len(own)):
        joint, cluster = own[k]
        counts[joint] = n_modes[cluster]
        for i in range(n_modes[cluster]):
            mode = modes[cluster, i]
            farther = 1 + push_backs[cluster] / np.sqrt(mode[0] ** 2 + mode[1] ** 2 + mode[2] ** 2)
            for axis in range(3):
                found[joint, i, axis] = farther * mode[axis]
            for column in range(3, found.shape[2]):
                found[joint, i, column] = mode[column]


@kernel
def _along(place: Any, origin: Any, axis: npt.NDArray[np.float64]) -> float:
    """Return the distance of a position from an origin along an axis."""
    total = 0.0
    for c in range(3):
        total += (place[c] - origin[c]) * axis[c]
    return total


@kernel
def _place(
    modes: npt.NDArray[np.float32],
    n_modes: npt.NDArray[np.int64],
    anchors: npt.NDArray[np.int64],
    n_carriers: int,
    weights: npt.NDArray[np.float64],
    added: npt.NDArray[np.float64],
    joint: int,
    found: npt.NDArray[np.float64],
    counts: npt.NDArray[np.int64],
) -> None:
    """Fill the proposals of a joint relative to its anchors: from all first modes, then with a carrier's other modes.

    Loops over the three axes, not arrays: they compile three times as fast.
    """
    middle, place = np.zeros(3), np.zeros(3)
    n_present = 0
    for a in anchors:
        if n_modes[a] > 0:
            n_present += 1
            for c in range(3):
                middle[c] += modes[a, 0, c]
    for c in range(3):
        middle[c] /= n_present
    axes = turned_axes(middle)
    for axis in range(3):
        value = added[axis]
        for k in range(len(anchors)):
            if n_modes[anchors[k]] > 0:
                value += weights[axis, k] * _along(modes[anchors[k], 0], middle, axes[axis])
        for c in range(3):
            place[c] += value * axes[axis, c]
    for c in range(3):
        place[c] += middle[c]
    weight, pixels, spread = 0.0, 0.0, 0.0
    for k in range(n_carriers):
        if n_modes[anchors[k]] > 0:
            mode = modes[anchors[k], 0]
            weight += mode[3]
            pixels += mode[3] / mode[4]
            spread += mode[3] * mode[5]
    for c in range(3):
        found[joint, 0, c] = place[c]
    found[joint, 0, 3], found[joint, 0, 4], found[joint, 0, 5] = weight, weight / pixels, spread / weight
    n = 1
    for i in range(1, found.shape[1]):
        for k in range(n_carriers):
            a = anchors[k]
            if n_modes[a] <= i or n == found.shape[1]:
                continue
            for c in range(3):
                found[joint, n, c] = 0
            for axis in range(3):
                value = weights[axis, k] * _along(modes[a, i], modes[a, 0], axes[axis])
                for c in range(3):
                    found[joint, n, c] += value * axes[axis, c]
            for c in range(3):
                found[joint, n, c] += place[c]
            for c in range(3, found.shape[2]):
                found[joint, n, c] = modes[a, i, c]
            n += 1
    counts[joint] = n
