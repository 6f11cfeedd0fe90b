"""Learning the corrections of joints by the others (`moving`): robust ridge regressions and odds, from both sides."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from depthforest.base import Floats
from depthforest.frames import JOINT_MIRROR, JOINTS
from depthforest.joints.moving import MAX_COST, MAX_STEP_M, N_OTHERS, fill_columns, locate
from depthforest.joints.params import N_MOVE, N_ODDS, JointParameters, Moves
from depthforest.joints.stats import RADIUS

LEAST_ROWS = 300
"""Fewest visible joints of a kind, both sides together, to learn a map from: a map has 78 numbers for each axis."""

FARTHEST = 0.25
"""Meters: proposals that are farther off are errors, which no map learns from."""

RIDGE = 3.0
SCALE = 0.07
ROUNDS = 3
"""Rounds of weighted least squares. A row that is off by `SCALE` meters has half the weight, because a proposal within
10 cm is correct."""

ODDS_RIDGE, ODDS_STEPS = 1.0, 15
DIGITS = 6
LEAST_SLOPE = 0.1
"""Lower bound of the confidence scale: above 0, so that the order of proposals stays."""

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
_MIRROR = np.array([JOINTS.index(JOINT_MIRROR[name]) for name in JOINTS])


def fit_moves(
    parameters: JointParameters,
    found: Floats,
    counts: Ints,
    evidence: Floats,
    costs: Floats,
    confidences: Floats,
    sizes: Floats,
    truth: Floats,
    is_visible: Bools,
) -> JointParameters:
    """Return parameters with maps that correct joints, and with odds of being correct; unchanged for few people.

    Parameters
    ----------
    found : array (n, 19, M, 6)
        Proposals of people.
    counts : array (n, 19), int64
    evidence, costs, confidences : array (n, 19, M)
    sizes : array (n,)
    truth : array (n, 19, 3), meters
        NaN for joints that are not given.
    is_visible : array (n, 19), bool
    """
    columns, axes, chosen = _described(found, counts, costs, confidences, sizes)
    moves: dict[str, Moves] = {}
    for joint, name in enumerate(JOINTS):
        if name not in parameters.joints:
            continue
        mirror = int(_MIRROR[joint])
        if JOINT_MIRROR[name] in moves:
            moves[name] = _mirrored(moves[JOINT_MIRROR[name]], mirror, joint)
            continue
        rows = [
            _Rows(side, joint, is_flipped, columns, axes, chosen, found, counts, evidence, costs, truth, is_visible)
            for side, is_flipped in ((joint, False), (mirror, True))
        ]
        if sum(int(each.is_taught.sum()) for each in rows) < LEAST_ROWS:
            return parameters
        moves[name] = _fit(rows)
    return replace(parameters, moves=moves)


def _described(
    found: Floats, counts: Ints, costs: Floats, confidences: Floats, sizes: Floats
) -> tuple[Floats, Floats, Ints]:
    """Return the columns (n, 19, M, N_MOVE) of proposals, the axes (n, 3, 3) of people, and who was chosen (n, 19)."""
    n, n_joints, n_most = found.shape[:3]
    is_there = np.arange(n_most) < counts[..., None]
    chosen = np.argmin(np.where(is_there, costs, np.inf), axis=2)
    sure = np.take_along_axis(confidences, chosen[..., None], axis=2)[..., 0] * (counts > 0)
    columns, axes = np.zeros((n, n_joints, n_most, N_MOVE)), np.zeros((n, 3, 3))
    local = np.zeros((n_joints, 3))
    for person in np.flatnonzero(counts.any(axis=1)).tolist():
        axes[person], origin = locate(found[person], counts[person], chosen[person], local)
        for joint in range(n_joints):
            for i in range(counts[person, joint]):
                out = columns[person, joint, i]
                fill_columns(
                    joint, found[person, joint, i], axes[person], origin, local, sure[person], sizes[person], out
                )
    return columns, axes, chosen


class _Rows:
    """All proposals of one side of a joint; flipped, as those of the mirrored person's other side."""

    def __init__(
        self, side: int, joint: int, is_flipped: bool, columns: Floats, axes: Floats, chosen: Ints, found: Floats,
        counts: Ints, evidence: Floats, costs: Floats, truth: Floats, is_visible: Bools,
    ) -> None:  # fmt: skip
        person, number = np.nonzero(np.arange(found.shape[2]) < counts[:, side, None])
        self.person, self.number = person, number
        its = columns[person, side, number]
        off = np.einsum("nc,nac->na", truth[person, side] - found[person, side, number, :3], axes[person])
        if is_flipped:
            its, off = _flipped(its, side, joint), off * (-1, 1, 1)
        self.columns, self.off = its, off
        self.is_chosen = number == chosen[person, side]
        self.is_visible = is_visible[person, side]
        is_near = np.linalg.norm(np.nan_to_num(off, nan=9.0), axis=1) < FARTHEST
        self.is_taught = self.is_chosen & self.is_visible & is_near
        self.strength = evidence[person, side, number]
        cost = np.minimum(costs[person, side, number], MAX_COST)
        sure, own = its[:, 3 * N_OTHERS : 4 * N_OTHERS], its[:, 4 * N_OTHERS :]
        ones = np.ones(len(its))
        self.odds = np.column_stack((ones, self.strength, cost, own[:, 2], own[:, 3], ~self.is_chosen, sure))


def _fit(rows: list[_Rows]) -> Moves:
    """Fit the map of a joint, then the odds of its corrected proposals."""
    inputs = np.concatenate([each.columns[each.is_taught] for each in rows])
    targets = np.concatenate([each.off[each.is_taught] for each in rows])
    weights = np.ones(len(inputs))
    for _ in range(ROUNDS):
        normal = inputs.T @ (inputs * weights[:, None]) + RIDGE * np.eye(N_MOVE)
        solved = np.linalg.solve(normal, inputs.T @ (targets * weights[:, None]))
        off = np.linalg.norm(inputs @ solved - targets, axis=1)
        weights = 1 / (1 + (off / SCALE) ** 2)
    move = solved.T.round(DIGITS) + 0.0  # makes -0 to 0: its sign depends on the linear algebra library
    columns, is_right, is_first, is_near = [], [], [], []
    for each in rows:
        step = np.clip(each.columns @ move.T, -MAX_STEP_M, MAX_STEP_M)
        near = np.linalg.norm(np.nan_to_num(each.off, nan=9.0) - step, axis=1) <= RADIUS
        right = near & (_best(each, near) == each.number)
        is_counted = ~(right & ~each.is_visible)
        columns.append((each.odds[is_counted], each.odds))
        is_right.append(right[is_counted])
        is_first.append(each.is_chosen & each.is_visible)
        is_near.append(near)
    weights = _logistic(np.concatenate([c for c, _ in columns]), np.concatenate(is_right))
    # the order is fitted on all proposals; the scale on visible joints, which confidence is evaluated on
    first = np.concatenate(is_first)
    scores = np.concatenate([c for _, c in columns])[first] @ weights
    bias, slope = _logistic(np.column_stack((np.ones(len(scores)), scores)), np.concatenate(is_near)[first])
    odds = max(slope, LEAST_SLOPE) * weights
    odds[0] += bias
    return Moves(np.asarray(move, np.float64), odds.round(DIGITS) + 0.0)


def _best(rows: _Rows, is_near: Bools) -> Ints:
    """Return for each row the number of its person's near proposal with the strongest evidence."""
    best = np.full((int(rows.person.max(initial=0)) + 1, int(rows.number.max(initial=0)) + 1), -np.inf)
    best[rows.person[is_near], rows.number[is_near]] = rows.strength[is_near]
    return np.asarray(best.argmax(axis=1)[rows.person])


def _logistic(columns: Floats, is_right: Bools) -> Floats:
    """Return the weights of a logistic regression by Newton's method; the first column is 1 and has no penalty."""
    spread = np.maximum(columns.std(axis=0), 1e-9)
    middle = columns.mean(axis=0)
    middle[0], spread[0] = 0.0, 1.0
    design = (columns - middle) / spread
    penalty = ODDS_RIDGE * np.eye(design.shape[1])
    penalty[0, 0] = 1e-6
    weights = np.zeros(design.shape[1])
    for _ in range(ODDS_STEPS):
        shares = 1 / (1 + np.exp(-np.clip(design @ weights, -30, 30)))
        gradient = design.T @ (is_right - shares) - penalty @ weights
        weights = weights + np.linalg.solve((design * (shares * (1 - shares))[:, None]).T @ design + penalty, gradient)
    plain = np.asarray(weights / spread, np.float64)
    plain[0] = weights[0] - plain[1:] @ middle[1:]
    return plain


def _order(side: int, joint: int) -> Ints:
    """Return the positions of a joint's other joints, in their order, among those of the mirrored joint."""
    others = [k for k in range(len(JOINTS)) if k != side]
    return np.array([others.index(int(_MIRROR[k])) for k in range(len(JOINTS)) if k != joint])


def _flipped(columns: Floats, side: int, joint: int) -> Floats:
    """Return the columns of one side of a joint as the mirrored person's other side has them."""
    order = _order(side, joint)
    away = columns[:, : 3 * N_OTHERS].reshape(-1, N_OTHERS, 3)[:, order] * (-1, 1, 1)
    sure = columns[:, 3 * N_OTHERS : 4 * N_OTHERS][:, order]
    return np.concatenate((away.reshape(len(columns), -1), sure, columns[:, 4 * N_OTHERS :]), axis=1)


def _mirrored(moves: Moves, side: int, joint: int) -> Moves:
    """Return the map and the odds of a joint, given those of the other side."""
    flipped = _flipped(moves.steps, side, joint)
    flipped *= np.array([[-1.0], [1.0], [1.0]])
    odds = moves.odds.copy()
    odds[N_ODDS - N_OTHERS :] = moves.odds[N_ODDS - N_OTHERS :][_order(side, joint)]
    return Moves(flipped, odds)
