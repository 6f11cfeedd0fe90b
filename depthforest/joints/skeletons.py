"""The best set of proposals: strong evidence, and bones of likely lengths.

The joints are a tree (`parts.BONES`), so that dynamic programming finds the best set exactly. A set scores

    sum over joints of evidence - weight * sum over bones of min((length - size * mean)^2 / sd^2, CAP) / 2

with one size for the whole person, the best of `SIZES`. A joint without a proposal is ignored: its bones cost nothing,
and the subtree below it is chosen independently. Kernels check nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from depthforest.base import Floats, kernel
from depthforest.frames import BONES, JOINTS

SIZES = np.array([1.0, 0.93, 1.07, 0.86, 1.14, 0.79, 1.21, 0.72, 0.65, 0.58, 0.51])
"""Sizes of people to try, from children of two years on; 1 is an average adult. Among equals, the first wins."""

CAP = 9.0
"""Squared deviation at which the cost of a bone is capped: three deviations. A bad bone must not outweigh everything
else."""

PARENTS = np.array([next((JOINTS.index(a) for a, b in BONES if b == joint), -1) for joint in JOINTS])
"""Array (19,): parent of each joint; -1 for the head."""

ORDER = np.array([0, *(JOINTS.index(b) for _, b in BONES)])
"""The joints, parents before their children."""

FAR = 2.0
"""Meters: value of the distance to another proposal if there is none."""

FEATURE_NAMES = (
    "confidence",
    "area",
    "purity",
    "depth",
    "spread",
    "gap",
    "parent_bone",
    "child_bone",
    "set_cost",
)
"""Features of a proposal, as columns.

confidence   how likely it is right, 0 to 1
area         surface that leads to its mode, times the probability, square meters
purity       mean probability of that surface's pixels, 0 to 1
depth        z, meters
spread       root mean square distance of these pixels from the mode, meters
gap          distance to the nearest other proposal of the joint, meters; 2 where there is none
parent_bone  distance to the parent joint's chosen proposal over the expected length; 1 where there is none
child_bone   the same of the children, their mean; 1 where there is none
set_cost     what the best plausible set of joints loses when it must contain this proposal; 0 for the chosen one
"""


@kernel
def _distance(a: Any, b: Any) -> float:
    return float(np.sqrt((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2 + (a[2] - b[2]) ** 2))


@kernel
def _bone_cost(a: Any, b: Any, length: float, sd: float) -> float:
    off = (_distance(a, b) - length) / sd
    return float(min(off * off, CAP) / 2)


@kernel
def _climb_up(
    places: Floats, evidence: Floats, counts: npt.NDArray[np.int64], lengths: Floats, sds: Floats, weight: float,
    size: float, below: Floats, messages: Floats,
) -> float:  # fmt: skip
    """Fill the best scores of the sets below each proposal, including itself, and return the best of all.

    `below` (19, M); `messages` (19, M): for each proposal of a joint's parent, the best that the joint adds to it.
    """
    total = 0.0
    for k in range(len(ORDER) - 1, -1, -1):
        joint = ORDER[k]
        parent = PARENTS[joint]
        n = counts[joint]
        for i in range(n):
            below[joint, i] = evidence[joint, i]
        for child in range(len(PARENTS)):
            if PARENTS[child] == joint and counts[child] > 0:
                for i in range(n):
                    below[joint, i] += messages[child, i]
        if n == 0:
            continue
        if parent < 0 or counts[parent] == 0:
            best = below[joint, 0]  # a root, or its parent is missing: chosen independently
            for i in range(1, n):
                best = max(best, below[joint, i])
            total += best
            continue
        for i in range(counts[parent]):
            best = -np.inf
            for j in range(n):
                cost = _bone_cost(places[parent, i], places[joint, j], size * lengths[joint], sds[joint])
                best = max(best, below[joint, j] - weight * cost)
            messages[joint, i] = best
    return total


@kernel
def choose_set(
    places: Floats, evidence: Floats, counts: npt.NDArray[np.int64], lengths: Floats, sds: Floats, weight: float,
    costs: Floats,
) -> float:  # fmt: skip
    """Fill how much score the best set loses with each proposal, and return the size of the person.

    Parameters
    ----------
    places : array (19, M, 3 or more)
        Proposals of the joints of `parts.JOINTS`; x, y, z first, in meters.
    evidence : array (19, M)
        Logarithms of the odds that they are right.
    counts : array (19,), int64
        How many proposals each joint has.
    lengths, sds : array (19,), meters
        Expected length and deviation of the bone from a joint to its parent.
    weight : float
        Weight of bones relative to evidence.
    costs : array (19, M)
        0 for proposals of the best set, above 0 for others.
    """
    shape = evidence.shape
    below, messages, above = np.empty(shape), np.empty(shape), np.zeros(shape)
    best_size, best_total = SIZES[0], -np.inf
    for size in SIZES:
        total = _climb_up(places, evidence, counts, lengths, sds, weight, size, below, messages)
        if total > best_total:
            best_size, best_total = size, total
    _climb_up(places, evidence, counts, lengths, sds, weight, best_size, below, messages)
    # downwards: above[j] is the best that everything outside j's subtree adds to each proposal of j
    for k in range(len(ORDER)):
        joint = ORDER[k]
        parent = PARENTS[joint]
        n = counts[joint]
        if parent >= 0 and counts[parent] > 0:
            for j in range(n):
                best = -np.inf
                for i in range(counts[parent]):
                    cost = _bone_cost(places[parent, i], places[joint, j], best_size * lengths[joint], sds[joint])
                    rest = above[parent, i] + below[parent, i] - messages[joint, i]
                    best = max(best, rest - weight * cost)
                above[joint, j] = best
        top = -np.inf
        for j in range(n):
            top = max(top, above[joint, j] + below[joint, j])
        for j in range(n):
            costs[joint, j] = top - above[joint, j] - below[joint, j]
    return float(best_size)


@kernel
def describe(
    places: Floats, counts: npt.NDArray[np.int64], chosen: npt.NDArray[np.int64], lengths: Floats, size: float,
    features: npt.NDArray[np.float32],
) -> None:  # fmt: skip
    """Fill the columns "depth", "gap", "parent_bone" and "child_bone" of `features` (19, M, len(FEATURE_NAMES))."""
    for joint in range(len(PARENTS)):
        parent = PARENTS[joint]
        for i in range(counts[joint]):
            place = places[joint, i]
            gap = FAR
            for j in range(counts[joint]):
                if j != i:
                    gap = min(gap, _distance(place, places[joint, j]))
            ratio, n_children, parent_ratio = 0.0, 0, 1.0
            for child in range(len(PARENTS)):
                if PARENTS[child] == joint and counts[child] > 0:
                    ratio += _distance(place, places[child, chosen[child]]) / (size * lengths[child])
                    n_children += 1
            if parent >= 0 and counts[parent] > 0:
                parent_ratio = _distance(place, places[parent, chosen[parent]]) / (size * lengths[joint])
            features[joint, i, 3] = place[2]
            features[joint, i, 5] = gap
            features[joint, i, 6] = parent_ratio
            features[joint, i, 7] = ratio / n_children if n_children > 0 else 1.0
