"""Corrections of joints by the others: a linear map from all joints of a person to a step of each proposal, and odds.

A mode is a density peak of a part's pixels. Its offset from the joint differs between an elbow seen from the side and
one that points at the camera; the other joints tell which it is. Axes are the camera's, rotated so that z points at the
person. `learning` fits the maps; `finding` applies them.

Columns of a move (`N_MOVE`): for each other joint, in the order of `parts.JOINTS`, its distance from the proposal along
x, y and z, times its confidence; then the confidences; then, for the proposal, the logarithm of its area in hundredths
of a square meter, purity, spread and depth; the person's size; 1.

Columns of the odds (`N_ODDS`): 1, evidence, set cost, spread, depth, whether it is not the chosen one, the confidences
of the other joints.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from depthforest.base import Floats, kernel
from depthforest.frames import JOINTS
from depthforest.joints.params import N_MOVE
from depthforest.joints.placing import turned_axes

N_OTHERS = len(JOINTS) - 1

REACH_M = 1.5
"""Distances along an axis are clipped to this many meters."""

MAX_STEP_M = 0.15
"""Largest step of a proposal along an axis, in meters."""

MAX_COST = 20.0
"""Set costs are clipped to this."""

LEAST_AREA = 1e-6
UNIT_AREA = 0.01
"""Square meters: smaller areas are clipped to the first; the second is the unit, whose logarithm is 0."""


@kernel
def locate(found: Floats, counts: npt.NDArray[np.int64], chosen: npt.NDArray[np.int64], local: Floats) -> Any:
    """Fill the positions (19, 3) of the chosen proposals in the person's axes; return the axes and their origin."""
    origin = np.zeros(3)
    n = 0
    for joint in range(len(counts)):
        if counts[joint] > 0:
            n += 1
            for c in range(3):
                origin[c] += found[joint, chosen[joint], c]
    for c in range(3):
        origin[c] /= n
    axes = turned_axes(origin)
    for joint in range(len(counts)):
        for a in range(3):
            local[joint, a] = 0
            if counts[joint] > 0:
                for c in range(3):
                    local[joint, a] += (found[joint, chosen[joint], c] - origin[c]) * axes[a, c]
    return axes, origin


@kernel
def fill_columns(
    joint: int, proposal: Any, axes: Floats, origin: Floats, local: Floats, sure: Floats, size: float, out: Floats
) -> None:
    """Fill the `N_MOVE` columns of a proposal; `sure` (19,) are the confidences of the chosen ones, 0 if missing."""
    k = 0
    for a in range(3):
        own = 0.0
        for c in range(3):
            own += (proposal[c] - origin[c]) * axes[a, c]
        k = 0
        for other in range(len(local)):
            if other != joint:
                away = local[other, a] - own
                out[3 * k + a] = sure[other] * min(max(away, -REACH_M), REACH_M)
                k += 1
    k = 3 * k
    for other in range(len(local)):
        if other != joint:
            out[k] = sure[other]
            k += 1
    out[k] = np.log(max(proposal[3], LEAST_AREA) / UNIT_AREA)
    out[k + 1], out[k + 2], out[k + 3] = proposal[4], proposal[5], proposal[2]
    out[k + 4], out[k + 5] = size, 1.0


@kernel
def move_all(
    found: Floats, counts: npt.NDArray[np.int64], chosen: npt.NDArray[np.int64], evidence: Floats, costs: Floats,
    size: float, moves: Floats, odds: Floats, confidences: Floats,
) -> None:  # fmt: skip
    """Move all proposals (19, M, 6), and replace their confidences (19, M) by those among all joints.

    Parameters
    ----------
    moves : array (19, 3, N_MOVE)
    odds : array (19, N_ODDS)
    """
    n_joints = len(counts)
    local, sure, columns, step = np.zeros((n_joints, 3)), np.zeros(n_joints), np.zeros(N_MOVE), np.zeros(3)
    n_found = 0
    for joint in range(n_joints):
        if counts[joint] > 0:
            n_found += 1
            sure[joint] = confidences[joint, chosen[joint]]
    if n_found == 0:
        return
    axes, origin = locate(found, counts, chosen, local)
    for joint in range(n_joints):
        for i in range(counts[joint]):
            proposal = found[joint, i]
            fill_columns(joint, proposal, axes, origin, local, sure, size, columns)
            total = odds[joint, 0] + odds[joint, 1] * evidence[joint, i]
            total += odds[joint, 2] * min(costs[joint, i], MAX_COST)
            total += odds[joint, 3] * proposal[5] + odds[joint, 4] * proposal[2]
            if i != chosen[joint]:
                total += odds[joint, 5]
            for k in range(N_OTHERS):
                total += odds[joint, 6 + k] * columns[3 * N_OTHERS + k]
            confidences[joint, i] = 1 / (1 + np.exp(-min(max(total, -30.0), 30.0)))
            for a in range(3):
                step[a] = 0
                for k in range(N_MOVE):
                    step[a] += moves[joint, a, k] * columns[k]
                step[a] = min(max(step[a], -MAX_STEP_M), MAX_STEP_M)
            for c in range(3):
                for a in range(3):
                    found[joint, i, c] += step[a] * axes[a, c]
