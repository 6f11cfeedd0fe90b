"""Slow, obvious twins of what `depthforest.ensemble` asks of grown trees and forests: one row, one tree at a time."""

from __future__ import annotations

import math

import numpy as np


def leaf_of(tree, row):
    """Walk one row through a library tree, to the number of its leaf."""
    node = 0
    while tree.feature[node] >= 0:
        value = float(row[tree.feature[node]])
        left = tree.child[node]
        categories = tree.categories(node)
        if categories is not None:
            is_known = 0 <= value < 255
            goes_left = int(value) in categories if is_known else tree.missing_go_to_left[node] == 1
        elif math.isnan(value):
            goes_left = tree.missing_go_to_left[node] == 1
        else:
            goes_left = value <= tree.threshold[node]
        node = int(left if goes_left else left + 1)
    return node


def mean_of(trees, row):
    """The mean of trees' predictions of one row."""
    totals = [0.0] * trees[0].values.shape[1]
    for tree in trees:
        for k, value in enumerate(tree.values[tree.child[leaf_of(tree, row)]]):
            totals[k] += value
    return [t / len(trees) for t in totals]


def seeds_of(random_state, n):
    return [int(s) for s in np.random.RandomState(random_state).randint(2**31 - 1, size=n)]


def bootstrap_counts(seed, n_rows, n_drawn=None):
    """How often each row is drawn, with replacement."""
    counts = [0] * n_rows
    for row in np.random.RandomState(seed).randint(0, n_rows, n_rows if n_drawn is None else n_drawn):
        counts[row] += 1
    return counts


def out_of_bag(trees, samples, x, truth, *, is_number):
    """Mean answers of the trees that have not seen a row (None where all have), and the error after each tree."""
    answers = [[] for _ in range(len(x))]
    errors = []
    for tree, sample in zip(trees, samples, strict=True):
        seen = set(sample)
        for r in range(len(x)):
            if r not in seen:
                answers[r].append(mean_of([tree], x[r]))
        losses = []
        for r in range(len(x)):
            if answers[r]:
                mean = [sum(a[k] for a in answers[r]) / len(answers[r]) for k in range(len(answers[r][0]))]
                losses.append((mean[0] - truth[r]) ** 2 if is_number else float(mean.index(max(mean)) != truth[r]))
        errors.append(sum(losses) / len(losses) if losses else math.nan)
    means = [[sum(column) / len(a) for column in zip(*a, strict=True)] if a else None for a in answers]
    return means, errors


def strength_and_correlation(trees, samples, x, truth):
    """Breiman 2001, appendix II, straight from the definitions."""
    n_classes = trees[0].values.shape[1]
    votes = [[0] * n_classes for _ in range(len(x))]
    cast = []
    for tree, sample in zip(trees, samples, strict=True):
        seen, own = set(sample), {}
        for r in range(len(x)):
            if r not in seen:
                shares = mean_of([tree], x[r])
                own[r] = shares.index(max(shares))
                votes[r][own[r]] += 1
        cast.append(own)
    margins, rivals = {}, {}
    for r, own in enumerate(votes):
        if sum(own):
            others = [k for k in range(n_classes) if k != truth[r]]
            rivals[r] = max(others, key=lambda k, own=own: own[k])
            margins[r] = (own[truth[r]] - own[rivals[r]]) / sum(own)
    strength = sum(margins.values()) / len(margins)
    variance = sum((m - strength) ** 2 for m in margins.values()) / len(margins)
    deviations = []
    for own in cast:
        raw = [int(label == truth[r]) - int(label == rivals[r]) for r, label in own.items()]
        if raw:
            mean = sum(raw) / len(raw)
            deviations.append(math.sqrt(sum((m - mean) ** 2 for m in raw) / len(raw)))
    return strength, variance / (sum(deviations) / len(deviations)) ** 2


def quantile(trees, tree_weights, x, targets, row, q):
    """The smallest target at which the weights of the training rows that share leaves with a row sum to q."""
    shares = [0.0] * len(x)
    for tree, weights in zip(trees, tree_weights, strict=True):
        leaf = leaf_of(tree, row)
        inside = [r for r in range(len(x)) if weights[r] > 0 and leaf_of(tree, x[r]) == leaf]
        total = sum(weights[r] for r in inside)
        for r in inside:
            shares[r] += weights[r] / total / len(trees)
    reached = 0.0
    for r in sorted(range(len(x)), key=lambda r: targets[r]):
        reached += shares[r]
        if shares[r] > 0 and reached >= q - 1e-12:
            return targets[r]
    return max(targets[r] for r in range(len(x)) if shares[r] > 0)
