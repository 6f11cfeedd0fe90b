"""Estimates for fitting joints: precision, a Gaussian of samples with gaps, odds of being correct, bones."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from depthforest.base import Floats
from depthforest.frames import BODY31, BONES, JOINT_MIRROR, JOINTS
from depthforest.joints.params import MIN_SD, Bone, JointParameters, bone_name
from depthforest.joints.precision import area_under, precision_recall

RADIUS = 0.1
"""Meters: a proposal within this distance is correct, as in the paper."""

EM_STEPS = 20
"""Rounds of expectation maximization; it converges long before."""

NOISE = 1e-4
"""Square meters, added to variances: places are known to a centimeter at best."""

PRIOR_SAMPLES = 10.0
"""Weight of the prior in samples. Under the prior, positions vary independently by 10 cm."""

PRIOR_VARIANCE = 0.01

RIDGE = 0.01
"""Ridge penalty that keeps the odds finite if one column separates correct from wrong proposals."""

LEAST_PEOPLE = 20
"""Fewest people to learn from."""

MAX_SD = 0.1
"""Deviation in meters of a bone that was hardly ever seen: the largest error of a correct proposal."""


def average_precision(confidences: Floats, is_right: npt.NDArray[np.bool_], n_truths: int) -> float:
    """Return the area under precision over recall: the mean over truths of the precision at which each is found.

    Equally confident proposals keep their order.

    Parameters
    ----------
    confidences : array (n,)
        Confidences of proposals.
    is_right : array (n,), bool
        At most one for each truth.
    n_truths : int
        Number of true joints, 1 or more.
    """
    order = np.argsort(-confidences, kind="stable")
    hits = is_right[order]
    # recall rises by one truth at every hit; elsewhere there is no area
    precision, recall = precision_recall(hits, np.ones(len(hits), np.int64), np.flatnonzero(hits), 1)
    return float(area_under(precision, recall) / n_truths)


def judge(
    places: Floats, scores: Floats, counts: npt.NDArray[np.int64], truth: Floats, radius: float
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Return which proposals are correct, and which exist.

    Parameters
    ----------
    places : array (n, M, 3), meters
    scores : array (n, M)
        The highest one within the radius is correct, others are not.
    counts : array (n,), int64
    truth : array (n, 3), meters
    radius : float, meters

    Returns
    -------
    is_right, is_there : array (n, M), bool
    """
    is_there = np.arange(places.shape[1]) < counts[:, None]
    is_near = is_there & (np.linalg.norm(places - truth[:, None], axis=2) <= radius)
    best = np.argmax(np.where(is_near, scores, -np.inf), axis=1)
    return is_near & (np.arange(places.shape[1]) == best[:, None]), is_there


def precision_of(
    places: Floats,
    scores: Floats,
    counts: npt.NDArray[np.int64],
    truth: Floats,
    is_visible: npt.NDArray[np.bool_],
    radius: float = RADIUS,
) -> float:
    """Return the average precision of a joint's proposals; arrays as in `judge`.

    By the paper's rules: extra proposals are wrong, and a hidden joint does not count as missed. A correct proposal of
    a hidden joint counts neither way. NaN if the joint is never visible.
    """
    is_right, is_counted = judge(places, scores, counts, truth, radius)
    is_counted &= ~(is_right & ~is_visible[:, None])
    n_truths = int(np.count_nonzero(is_visible))
    if not n_truths:
        return float("nan")
    return average_precision(scores[is_counted], is_right[is_counted], n_truths)


def fit_gaussian(samples: Floats) -> tuple[Floats, Floats]:
    """Return mean (k,) and covariance (k, k) of samples (n, k) with NaN for what is missing, by EM."""
    n, k = samples.shape
    is_given = ~np.isnan(samples)
    sums = np.where(is_given, samples, 0).sum(axis=0)
    mean = sums / np.maximum(1, is_given.sum(axis=0))
    covariance = PRIOR_VARIANCE * np.eye(k)
    patterns, which = np.unique(is_given, axis=0, return_inverse=True)
    which = which.reshape(-1)
    for _ in range(EM_STEPS):
        total, scatter = np.zeros(k), PRIOR_SAMPLES * PRIOR_VARIANCE * np.eye(k)
        filled = np.empty((n, k))
        missing_scatter = np.zeros((k, k))
        for number, given in enumerate(patterns):
            rows = np.flatnonzero(which == number)
            a, b = np.flatnonzero(given), np.flatnonzero(~given)
            values = samples[rows]
            if len(b):
                gains = np.linalg.solve(covariance[a[:, None], a], covariance[a[:, None], b]).T
                values[:, b] = mean[b] + (values[:, a] - mean[a]) @ gains.T
                left = covariance[b[:, None], b] - gains @ covariance[a[:, None], b]
                missing_scatter[b[:, None], b] += len(rows) * left
            filled[rows] = values
        total = filled.sum(axis=0)
        mean = total / n
        centerd = filled - mean
        covariance = (scatter + missing_scatter + centerd.T @ centerd) / (n + PRIOR_SAMPLES)
        covariance = (covariance + covariance.T) / 2 + NOISE * np.eye(k) / EM_STEPS
    return mean, covariance


def fit_log_odds(columns: Floats, is_right: npt.NDArray[np.bool_], n_steps: int = 12) -> tuple[float, ...]:
    """Return bias and weights of a logistic regression of columns (n, k), by Newton's method, to four digits."""
    design = np.column_stack((np.ones(len(columns)), columns))
    weights = np.zeros(design.shape[1])
    penalty = RIDGE * np.eye(design.shape[1])
    for _ in range(n_steps):
        shares = 1 / (1 + np.exp(-np.clip(design @ weights, -30, 30)))
        gradient = design.T @ (is_right - shares) - penalty @ weights
        curvature = (design * (shares * (1 - shares))[:, None]).T @ design + penalty
        weights = weights + np.linalg.solve(curvature, gradient)
    return tuple(round(float(w), 4) for w in weights)


def fit_bones(found: Floats, right: npt.NDArray[np.bool_], truth: Floats) -> dict[str, Bone]:
    """Learn the bones of a person of size 1, the median of the data, and the deviation of distances between proposals.

    Parameters
    ----------
    found : array (n, 19, M, 3 or more), meters
        Proposals.
    right : array (n, 19, M), bool
        At most one per joint.
    truth : array (n, 19, 3), meters
        NaN for joints that are not given. A size is the median ratio of a person's bones to their mean lengths. People
        with missing joints have no size; if too few have one, the default bones are used.
    """
    ends = np.array([[JOINTS.index(name) for name in bone] for bone in BONES])
    lengths = np.linalg.norm(truth[:, ends[:, 0]] - truth[:, ends[:, 1]], axis=2)
    mirror = [BONES.index((JOINT_MIRROR[a], JOINT_MIRROR[b])) for a, b in BONES]
    is_whole = ~np.isnan(lengths).any(axis=1)
    if is_whole.sum() < LEAST_PEOPLE:
        return dict(JointParameters.default(BODY31).bones)
    means = lengths[is_whole].mean(axis=0)
    for _ in range(3):
        sizes = np.median(lengths[is_whole] / means, axis=1)
        means = (lengths[is_whole] / sizes[:, None]).mean(axis=0) * np.median(sizes)
        means = (means + means[mirror]) / 2
    place = np.argmax(right, axis=2)
    nearest = np.take_along_axis(found[..., :3], place[..., None, None], axis=2)[:, :, 0]
    seen = np.linalg.norm(nearest[:, ends[:, 0]] - nearest[:, ends[:, 1]], axis=2)[is_whole]
    is_right: npt.NDArray[np.bool_] = np.any(right, axis=2)[is_whole]
    is_seen = is_right[:, ends[:, 0]] & is_right[:, ends[:, 1]]
    off = np.where(is_seen, seen - sizes[:, None] * means, np.nan)
    bones = {}
    for k, bone in enumerate(BONES):
        both = np.concatenate((off[:, k], off[:, mirror[k]]))
        both = both[~np.isnan(both)]
        sd = float(np.sqrt((both**2).mean())) if len(both) >= LEAST_PEOPLE else MAX_SD
        bones[bone_name(bone)] = Bone(round(float(means[k]), 4), round(min(max(sd, MIN_SD), MAX_SD), 4))
    return bones
