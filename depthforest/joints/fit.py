"""Fitting the parameters of joint proposals to a forest, on labeled frames that it was not trained on.

First, bandwidth, threshold and push-back of every cluster, by a grid search for average precision; then the positions
of joints without a part relative to the modes; then the odds that a proposal is correct; then bones. Left and right
share parameters: frames are used both as they are and mirrored. Every step is deterministic, for any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from depthforest.base import Floats, UsageError
from depthforest.cluster import spread
from depthforest.forest import Forest
from depthforest.frames import JOINT_MIRROR, JOINTS, LabeledFrame, PartSet
from depthforest.joints.finding import FAST, FAST_PIXELS, UNIT_AREA, Finder, pack_clusters, seek_modes, surface
from depthforest.joints.learning import fit_moves
from depthforest.joints.params import (
    ANCHORS,
    ClusterParameters,
    Confidence,
    Evidence,
    JointParameters,
    Offsets,
    anchors_of,
    cluster_parts,
    known_joints,
)
from depthforest.joints.placing import expected_place, turned_axes
from depthforest.joints.stats import LEAST_PEOPLE, RADIUS, fit_bones, fit_gaussian, fit_log_odds, judge, precision_of

FINE_RADIUS, FINE_WEIGHT = 0.05, 0.25
"""A smaller radius in meters, and the weight of precision within it relative to that within `RADIUS`: among equals,
nearer is better."""

BANDWIDTHS = (0.03, 0.045, 0.065, 0.09, 0.12, 0.16)
THRESHOLDS = (0.03, 0.07, 0.14, 0.21, 0.3)
PUSH_BACKS = (0.0, 0.02, 0.04, 0.06, 0.08, 0.1, 0.12)
PUSH_STEPS = (0.0, -0.005, 0.005, -0.01, 0.01)
"""The search grid, in meters and probabilities, and the finer steps around the best push-back."""

BONE_WEIGHTS = (0.0, 0.1, 0.2, 0.4, 0.8, 1.6)
"""Candidate weights of bones relative to evidence; 0 ignores bones. The best one has the largest sum of mean average
precision and the share of visible joints whose first proposal is correct."""

GRID_PEOPLE = 1500
"""Number of people, spread evenly, for the grid search; later steps use all people. More would hardly change the choice
from such a coarse grid, and would take minutes."""

LEAST_PIXELS = 30
"""Fewest readings of a person; people with fewer are left out."""

TRIM_ROUNDS, TRIM_RADIUS = 3, 0.12
"""Number of fits of offsets, and meters: from the second fit on, people whose joint the last fit missed by more are
left out, but never the better half. If left and right are confused for some people, a mean over all would be wrong for
everyone."""

FARTHEST_ANCHOR = 0.5
"""Meters: an anchor's mode farther from the joint is an error, from which no offset is learned."""


@dataclass(frozen=True, eq=False)
class PersonModes:
    """One person's modes at every point of the grid, and the true joints.

    Attributes
    ----------
    modes : array (n_grid, n_clusters, MAX_MODES, fields), float32
    n_modes : array (n_grid, n_clusters), int64
    truth : array (19, 3), meters
        NaN for joints that are not given.
    is_visible : array (19,), bool
    """

    modes: npt.NDArray[np.float32]
    n_modes: npt.NDArray[np.int64]
    truth: Floats
    is_visible: npt.NDArray[np.bool_]


def fit_joints(
    forest: Forest,
    data: Sequence[LabeledFrame],
    *,
    threads: int | None = None,
    progress: Callable[[int], object] | None = None,
) -> Forest:
    """Return a copy of a forest with parameters of joint proposals that fit labeled frames.

    Parameters
    ----------
    forest : Forest
    data : sequence of LabeledFrame
        Frames with joints that the forest was not trained on. Some hundreds are enough; each person takes 80 kB while
        they are gathered.
    threads : int, optional
        Default: one per core.
    progress : callable, optional
        Called with 1 after every frame.
    """
    parameters = fit_parameters(gather_people(forest, data, threads=threads, progress=progress), forest.part_set)
    return replace(forest, joints=parameters.to_dict())


def gather_people(
    forest: Forest,
    data: Sequence[LabeledFrame],
    *,
    threads: int | None = None,
    progress: Callable[[int], object] | None = None,
) -> list[PersonModes]:
    """Label every person in every frame, and find modes at every point of the grid."""
    groups, known = cluster_parts(forest.part_set), known_joints(forest.part_set)
    grid = [pack_clusters(groups, [point] * len(groups)) for point in grid_points()]

    def one(index: int) -> list[PersonModes]:
        frame = data[index]
        found = []
        for person, joints in frame.joints.items():
            mask = frame.people == person
            is_shown = any(joint.is_visible for name, joint in joints.items() if name in known)
            if not is_shown or np.count_nonzero(frame.depth_mm[mask]) < LEAST_PIXELS:
                continue
            sample = forest.label(frame, mask, threads=1).sample(FAST_PIXELS)
            points, areas, shares = surface(frame, sample)
            if len(points):
                modes, n_modes = zip(
                    *(seek_modes(points, areas, shares, clusters, FAST) for clusters in grid), strict=True
                )
                truth, is_visible = np.full((len(JOINTS), 3), np.nan), np.zeros(len(JOINTS), dtype=np.bool_)
                for name, joint in joints.items():
                    truth[JOINTS.index(name)], is_visible[JOINTS.index(name)] = joint.position, joint.is_visible
                found.append(PersonModes(np.stack(modes), np.stack(n_modes), truth, is_visible))
        return found

    people = []
    for found in spread(one, range(len(data)), threads=threads):
        people += found
        if progress is not None:
            progress(1)
    if len(people) < LEAST_PEOPLE:
        raise UsageError(
            f"joints are fitted on at least {LEAST_PEOPLE} people with visible joints, got {len(people)}; take more "
            "frames, synthetic ones or a data set with joints.csv"
        )
    return people


def grid_points() -> list[ClusterParameters]:
    """Return the grid of bandwidths and thresholds."""
    return [ClusterParameters(b, t, 0.0) for b, t in product(BANDWIDTHS, THRESHOLDS)]


def fit_parameters(people: Sequence[PersonModes], part_set: PartSet) -> JointParameters:
    """Return the parameters that fit people best."""
    names = list(cluster_parts(part_set))
    modes, n_modes = np.stack([p.modes for p in people]), np.stack([p.n_modes for p in people])
    truth, is_visible = np.stack([p.truth for p in people]), np.stack([p.is_visible for p in people])
    some = slice(None, None, max(1, len(people) // GRID_PEOPLE))
    chosen, clusters = {}, {}
    for name in names:
        sides = [side for side in dict.fromkeys((name, _mirrored(name))) if side in names]
        if sides[0] not in chosen:
            numbers = [names.index(side) for side in sides]
            its = [(modes[some, :, c], n_modes[some, :, c]) for c in numbers]
            if name in JOINTS:
                joints = [JOINTS.index(side) for side in sides]
                best = _best_cluster(its, [(truth[some, j], is_visible[some, j]) for j in joints])
            else:
                joints = [JOINTS.index(_carried(side, names)) for side in sides]
                best = _best_anchor(its, [(truth[some, j], is_visible[some, j]) for j in joints])
            for side in sides:
                chosen[side] = best
        index, push = chosen[name]
        clusters[name] = replace(grid_points()[index], push_back_m=push)
    at = np.array([chosen[name][0] for name in names])
    modes, n_modes = modes[:, at, np.arange(len(names))], n_modes[:, at, np.arange(len(names))]
    offsets = {
        joint: learned
        for joint in known_joints(part_set)
        if joint not in names
        and (learned := _fit_offsets(joint, names, part_set, modes, n_modes, truth, is_visible)) is not None
    }
    parameters = replace(JointParameters.default(part_set), clusters=clusters, offsets=offsets)
    finder = Finder(parameters)
    pairs = [finder.proposals(m, n) for m, n in zip(modes, n_modes, strict=True)]
    found, counts = np.stack([p[0] for p in pairs]), np.stack([p[1] for p in pairs])
    parameters = _fit_sets(parameters, found, counts, truth, is_visible)
    finder = Finder(parameters)
    evidence, costs, sizes = _weighed(finder, found, counts)
    sure = finder.sure(evidence, costs)
    return fit_moves(parameters, found, counts, evidence, costs, sure, sizes, truth, is_visible)


# -- clusters ---------------------------------------------------------------------------------------------------------


Sides = Sequence[tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]]
Truths = Sequence[tuple[Floats, npt.NDArray[np.bool_]]]


def _best_cluster(sides: Sides, truths: Truths) -> tuple[int, float]:
    """Return the grid point and the push-back with the best precision; the first among equals."""
    truth, is_visible = (np.concatenate([t[i] for t in truths]) for i in range(2))
    if not is_visible.any():
        return grid_points().index(replace(ClusterParameters(), push_back_m=0.0)), ClusterParameters().push_back_m
    truth = np.where(np.isnan(truth), np.inf, truth)

    best, best_score = (0, 0.0), -np.inf
    for index in range(len(grid_points())):
        modes = np.concatenate([side[0][:, index] for side in sides]).astype(np.float64)
        counts = np.concatenate([side[1][:, index] for side in sides])
        away = np.linalg.norm(modes[..., :3], axis=2, keepdims=True)
        rays = modes[..., :3] / np.where(away > 0, away, 1)

        def score(push: float, modes: Floats = modes, rays: Floats = rays, counts: Any = counts) -> float:
            places = modes[..., :3] + push * rays
            return sum(
                weight * precision_of(places, modes[..., 3], counts, truth, is_visible, radius)
                for radius, weight in ((RADIUS, 1.0), (FINE_RADIUS, FINE_WEIGHT))
            )

        rough = max(PUSH_BACKS, key=score)
        push = max((round(rough + step, 4) for step in PUSH_STEPS), key=score) if score(rough) > best_score else rough
        if score(push) > best_score:
            best, best_score = (index, push), score(push)
    return best


def _best_anchor(sides: Sides, truths: Truths) -> tuple[int, float]:
    """Return the grid point with the most stable distance between the largest mode and the joint that it carries."""
    shares = []
    for index in range(len(grid_points())):
        offs = []
        for number, ((modes, counts), (truth, is_visible)) in enumerate(zip(sides, truths, strict=True)):
            is_used = is_visible & (counts[:, index] > 0) & ~np.isnan(truth).any(axis=1)
            off = truth[is_used] - modes[is_used, index, 0, :3]
            off[:, 0] *= -1 if number else 1
            offs.append(off)
        together = np.concatenate(offs)
        n_all = sum(int(is_visible.sum()) for _, is_visible in truths)
        middle = np.median(together, axis=0) if len(together) else np.zeros(3)
        shares.append(float((np.linalg.norm(together - middle, axis=1) <= RADIUS).sum() / max(1, n_all)))
    return int(np.argmax(shares)), 0.0


def _mirrored(name: str) -> str:
    return name[:-1] + {"l": "r", "r": "l"}[name[-1]] if name.endswith(("_l", "_r")) else name


def _carried(part: str, names: list[str]) -> str:
    """Return the joint without a cluster that an anchor carries; the one of its own side, if there is one."""
    joints = [joint for joint, (carriers, _) in ANCHORS.items() if part in carriers and joint not in names]
    return next((joint for joint in joints if joint[-2:] == part[-2:]), joints[0])


# -- joints without a part --------------------------------------------------------------------------------------------


def _fit_offsets(
    joint: str,
    names: list[str],
    part_set: PartSet,
    modes: npt.NDArray[np.float32],
    n_modes: npt.NDArray[np.int64],
    truth: Floats,
    is_visible: npt.NDArray[np.bool_],
) -> Offsets | None:
    """Learn a joint's position relative to its anchors' largest modes, from both sides; None with too few people."""
    anchors = anchors_of(joint, part_set)
    rows = []
    for flip in (False, True):
        its_anchors = [_mirrored(a) if flip else a for a in anchors]
        if not set(its_anchors) <= set(names):
            continue  # a part set may have only one side
        clusters = [names.index(a) for a in its_anchors]
        side = JOINTS.index(JOINT_MIRROR[joint] if flip else joint)
        places = np.where(is_visible[:, side, None], truth[:, side], np.nan)
        all_modes = np.where(n_modes[:, clusters, None] > 0, modes[:, clusters, 0, :3].astype(np.float64), np.nan)
        all_modes[~(np.linalg.norm(all_modes - places[:, None], axis=2) <= FARTHEST_ANCHOR)] = np.nan
        for place, its in zip(places, all_modes, strict=True):
            if not np.isnan(its).all():
                middle = np.nanmean(its, axis=0)
                row = (np.vstack((its, place)) - middle) @ turned_axes(middle).T
                rows.append(row * (-1 if flip else 1, 1, 1))
    if len(rows) < LEAST_PEOPLE:
        return None
    samples = np.stack(rows)
    is_used = np.ones(len(samples), dtype=np.bool_)
    for _ in range(TRIM_ROUNDS):
        fits = [fit_gaussian(samples[is_used, :, axis]) for axis in range(3)]
        means = np.stack([fit[0] for fit in fits], axis=1)
        offsets = Offsets(anchors, means.round(6), np.stack([fit[1] for fit in fits]).round(9))
        off = np.array([_residual(offsets, sample) for sample in samples])
        is_used = off <= max(TRIM_RADIUS, float(np.median(off)))
    return offsets


def _residual(offsets: Offsets, sample: Floats) -> float:
    """Return the distance of a joint, the last position in a sample, from its expected position given the others."""
    weights, added = expected_place(offsets, ~np.isnan(sample[:-1, 0]))
    return float(np.linalg.norm((weights * np.nan_to_num(sample[:-1]).T).sum(axis=1) + added - sample[-1]))


# -- evidence, bones, sets --------------------------------------------------------------------------------------------


def _fit_sets(
    parameters: JointParameters,
    found: Floats,
    counts: npt.NDArray[np.int64],
    truth: Floats,
    is_visible: npt.NDArray[np.bool_],
) -> JointParameters:
    """Fit the odds by evidence alone, the bones, their weight, and the odds given the other joints."""
    filled = np.where(np.isnan(truth), np.inf, truth)
    right = np.stack(
        [
            judge(found[:, j, :, :3], found[:, j, :, 3], counts[:, j], filled[:, j], RADIUS)[0]
            for j in range(len(JOINTS))
        ],
        axis=1,
    )
    is_there = np.arange(found.shape[2]) < counts[..., None]
    pairs = {
        name: [JOINTS.index(side) for side in dict.fromkeys((name, JOINT_MIRROR[name]))] for name in parameters.joints
    }
    evidence, confidence = dict(parameters.evidence), dict(parameters.confidence)
    pairs = {name: sides for name, sides in pairs.items() if not np.isnan(truth[:, sides]).all()}
    for name, sides in pairs.items():
        its = found[:, sides][is_there[:, sides]]
        columns = np.column_stack((np.log(its[:, 3] / UNIT_AREA), its[:, 4]))
        evidence[name] = Evidence(*fit_log_odds(columns, right[:, sides][is_there[:, sides]]))
    parameters = replace(parameters, evidence=evidence, bones=fit_bones(found, right, truth))
    trials = []
    for weight in BONE_WEIGHTS:
        trial = replace(parameters, bone_weight=weight)
        strength, costs, _ = _weighed(Finder(trial), found, counts)
        precisions = []
        for name, sides in pairs.items():
            used = is_there[:, sides]
            columns = np.column_stack((strength[:, sides][used], costs[:, sides][used]))
            bias, of_evidence, of_cost = fit_log_odds(columns, right[:, sides][used])
            confidence[name] = Confidence(bias, of_evidence, of_cost)
            j = JOINTS.index(name)
            odds = of_evidence * strength[:, j] + of_cost * costs[:, j]
            precisions.append(precision_of(found[:, j, :, :3], odds, counts[:, j], filled[:, j], is_visible[:, j]))
        first = np.argmin(np.where(is_there, costs, np.inf), axis=2)[..., None]
        n_first = np.count_nonzero(np.take_along_axis(right, first, axis=2)[..., 0] & is_visible)
        score = float(np.nanmean(precisions)) + int(n_first) / int(np.count_nonzero(is_visible))
        trials.append((score, replace(trial, confidence=dict(confidence))))
    return max(trials, key=lambda each: each[0])[1]


def _weighed(finder: Finder, found: Floats, counts: npt.NDArray[np.int64]) -> tuple[Floats, Floats, Floats]:
    """Return evidence and set costs (n, 19, M) of all people's proposals, and the people's sizes (n,)."""
    evidence, costs, sizes = np.zeros(found.shape[:3]), np.zeros(found.shape[:3]), np.ones(len(found))
    for k in range(len(found)):
        sizes[k] = finder.weigh(found[k], counts[k], evidence[k], costs[k])
    return evidence, costs, sizes
