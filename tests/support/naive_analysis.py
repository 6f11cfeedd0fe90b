"""Slow, obvious twins of `depthforest.ensemble.analysis`: one sample, one pair, one outcome at a time."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np


def wrong_vote_probabilities(errors: Sequence[float]) -> list[float]:
    """Add up the probabilities of all 2^T outcomes."""
    probabilities = [0.0] * (len(errors) + 1)
    for outcome in itertools.product((0, 1), repeat=len(errors)):
        probabilities[sum(outcome)] += math.prod(
            p if wrong else 1 - p for wrong, p in zip(outcome, errors, strict=True)
        )
    return probabilities


def beta_binomial(n: int, p: float, rho: float, n_steps: int = 200_000) -> list[float]:
    """Integrate the binomial distribution over a beta distribution of the error, by the midpoint rule."""
    a, b = p * (1 / rho - 1), (1 - p) * (1 / rho - 1)
    x = (np.arange(n_steps) + 0.5) / n_steps
    density = x ** (a - 1) * (1 - x) ** (b - 1)
    density /= density.sum()
    return [float((math.comb(n, k) * x**k * (1 - x) ** (n - k) * density).sum()) for k in range(n + 1)]


def table(first: Sequence[Any], second: Sequence[Any], y: Sequence[Any]) -> tuple[float, float, float, float]:
    """Return the shares: both right, only the first, only the second, neither."""
    cells = Counter((a == t, b == t) for a, b, t in zip(first, second, y, strict=True))
    return tuple(cells[key] / len(y) for key in itertools.product((True, False), repeat=2))  # type: ignore[return-value]


def pair_measures(first: Sequence[Any], second: Sequence[Any], y: Sequence[Any]) -> dict[str, float]:
    a, b, c, d = table(first, second, y)
    n = len(y)
    agreement = sum(one == two for one, two in zip(first, second, strict=True)) / n
    labels = set(first) | set(second)
    expected = sum(list(first).count(k) * list(second).count(k) for k in labels) / n**2
    spread = (a + b) * (c + d) * (a + c) * (b + d)
    return {
        "q_statistic": (a * d - b * c) / (a * d + b * c) if a * d + b * c else math.nan,
        "correlation": (a * d - b * c) / math.sqrt(spread) if spread else math.nan,
        "disagreement": b + c,
        "double_fault": d,
        "kappa": (agreement - expected) / (1 - expected) if len(labels) > 1 else math.nan,
    }


def group_measures(predictions: Sequence[Sequence[Any]], y: Sequence[Any]) -> dict[str, float]:
    """Walk over the samples; generalized diversity by drawing every ordered pair of different members."""
    n, m = len(predictions), len(y)
    entropy = votes = variance = one = two = 0.0
    for column, truth in zip(zip(*predictions, strict=True), y, strict=True):
        right = sum(answer == truth for answer in column)
        entropy += min(right, n - right) / (n - math.ceil(n / 2)) / m
        shares = [count / n for count in Counter(column).values()]
        votes -= sum(share * math.log2(share) for share in shares) / m
        variance += right * (n - right) / n**2 / m
        one += (n - right) / n / m
        pairs = list(itertools.permutations(column, 2))
        two += sum(a != truth and b != truth for a, b in pairs) / len(pairs) / m
    return {
        "entropy": entropy,
        "vote_entropy": votes,
        "kohavi_wolpert": variance,
        "generalised_diversity": 1 - two / one if one else math.nan,
    }


def margins(predictions: Sequence[Sequence[Any]], y: Sequence[Any], weights: Sequence[float]) -> list[float]:
    result = []
    for column, truth in zip(zip(*predictions, strict=True), y, strict=True):
        shares: dict[Any, float] = {}
        for answer, weight in zip(column, weights, strict=True):
            shares[answer] = shares.get(answer, 0) + weight
        own = shares.pop(truth, 0.0)
        result.append(own - max(shares.values(), default=0.0))
    return result


def zero_one_parts(
    rounds: Sequence[Sequence[int]], truth: Sequence[Sequence[float]], n_classes: int
) -> dict[str, float]:
    """Domingos' definitions, sample by sample; rounds are equally probable, truth has a row of probabilities each."""
    sums = dict.fromkeys(("error", "bias", "variance", "noise", "net_variance", "net_noise"), 0.0)
    for column, distribution in zip(zip(*rounds, strict=True), truth, strict=True):
        f = [column.count(k) / len(column) for k in range(n_classes)]
        best, main = distribution.index(max(distribution)), f.index(max(f))
        loss = sum(f[j] * distribution[k] for j in range(n_classes) for k in range(n_classes) if j != k)
        noise, bias, variance = 1 - distribution[best], float(main != best), 1 - f[main]
        both = sum(f[k] * distribution[k] for k in range(n_classes) if k != best)
        c1 = f[best] - (both / noise if noise else 0.0)
        c2 = 1.0 if main == best else (-f[best] / variance if variance else 0.0)
        for name, value in zip(sums, (loss, bias, variance, noise, c2 * variance, c1 * noise), strict=True):
            sums[name] += value / len(truth)
    return sums


def breiman(predictions: Sequence[Sequence[Any]], y: Sequence[Any]) -> tuple[float, float]:
    """Return strength and mean correlation as Breiman defines it, from covariances of all ordered pairs of members."""
    margin = margins(predictions, y, [1 / len(predictions)] * len(predictions))
    raw = []
    for column, truth in zip(zip(*predictions, strict=True), y, strict=True):
        wrong = Counter(answer for answer in column if answer != truth)
        most = max(wrong.values(), default=0)
        rival = min((answer for answer, count in wrong.items() if count == most), default=None)
        raw.append([float(answer == truth) - float(answer == rival) for answer in column])
    members = np.array(raw).T
    covariances = np.cov(members, bias=True)
    deviations = members.std(axis=1)
    return float(np.mean(margin)), float(covariances.mean() / np.outer(deviations, deviations).mean())
