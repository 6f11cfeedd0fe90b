"""Slow, obvious twins of how `depthforest.ensemble` grows trees: plain Python, one row at a time."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field

import numpy as np

BITS = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15
ONE_BIT = 2**20


# -- random numbers ----------------------------------------------------------------------------------------------------


def mix(counter):
    """SplitMix64: a random number of 64 bits for a counter."""
    z = counter & BITS
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & BITS
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & BITS
    return z ^ (z >> 31)


def number_below(bits, n):
    return ((bits >> 32) * n) >> 32


def share_of(bits):
    return (bits >> 11) / 2**53


def middle(below, above):
    """A float32 from `below` up to, not including, `above`."""
    at = float(np.float32(0.5 * below + 0.5 * above))
    return at if below <= at < above else below


# -- scores ------------------------------------------------------------------------------------------------------------


def information(weight):
    """w log2 w, in units of 2^-20 bits."""
    return float(round(weight * math.log2(weight) * ONE_BIT)) if weight > 0 else 0.0


def sums_of(rows, data, n_channels):
    """Weight times target of rows, added up by channel; and their weight."""
    sums = [0.0] * n_channels
    weight = 0.0
    for r in rows:
        sums[data.channels[r]] += data.weights[r] * data.targets[r]
        weight += data.weights[r]
    return sums, weight


def terms_of(sums, criterion):
    if criterion == "entropy":
        return sum(information(s) for s in sums)
    return sum(s * s for s in sums)


def score_of(left, right, data, growth):
    """Larger is purer."""
    (left_sums, left_weight), (right_sums, right_weight) = (sums_of(s, data, growth.n_channels) for s in (left, right))
    left_terms, right_terms = terms_of(left_sums, growth.criterion), terms_of(right_sums, growth.criterion)
    if growth.criterion == "entropy":
        return left_terms + right_terms - information(left_weight) - information(right_weight)
    return left_terms / left_weight + right_terms / right_weight


def impurity_of(rows, data, growth):
    sums, weight = sums_of(rows, data, growth.n_channels)
    if growth.criterion == "squared_error":
        mean = sums[0] / weight
        return sum(data.weights[r] * (data.targets[r] - mean) ** 2 for r in rows) / weight
    shares = [s / weight for s in sums if s > 0]
    if growth.criterion == "gini":
        return 1 - sum(p * p for p in shares)
    return -sum(p * math.log2(p) for p in shares)


def gain_of(node, score, data, growth):
    """What a split takes off weight times impurity."""
    sums, weight = sums_of(node.rows, data, growth.n_channels)
    terms = terms_of(sums, growth.criterion)
    if growth.criterion == "entropy":
        return (score - (terms - information(weight))) / ONE_BIT
    return score - terms / weight


# -- a tree ------------------------------------------------------------------------------------------------------------


@dataclass
class Data:
    columns: list
    channels: list
    targets: list
    weights: list


@dataclass
class Split:
    feature: int
    threshold: float
    score: float
    missing: str | None
    """Side of missing values; None where the node has none."""
    left: list
    right: list
    left_categories: set | None = None
    right_categories: set | None = None


@dataclass
class Node:
    rows: list
    depth: int
    key: int
    impurity: float
    weight: float
    value: list
    split: Split | None = None
    children: list = field(default_factory=list)

    @property
    def missing_left(self):
        if self.split.missing is None:
            return len(self.split.left) > len(self.split.right)
        return self.split.missing == "left"

    def category_left(self, category):
        if category in self.split.left_categories:
            return True
        return category not in self.split.right_categories and len(self.split.left) > len(self.split.right)


def grow(data, growth, seed):
    """Grow a tree; `growth` is the library's own `Growth`, read here as a plain record of settings."""
    everything = [r for r in range(len(data.weights)) if data.weights[r] > 0]
    total = sum(data.weights[r] for r in everything)
    root = _node(everything, 0, mix((seed + 1) * GOLDEN), data, growth)
    if growth.max_leaves is None:
        waiting = [root]
        while waiting:
            node = waiting.pop()
            split, _ = _wanted_split(node, data, growth, total)
            if split is not None:
                waiting.extend(_divide(node, split, data, growth))
        return root
    candidates = [(root, *_wanted_split(root, data, growth, total))]
    n_leaves = 1
    while n_leaves < growth.max_leaves:
        candidates = [c for c in candidates if c[1] is not None]
        if not candidates:
            break
        best = max(candidates, key=lambda c: c[2])  # of equals the first, which was made first
        candidates = [c for c in candidates if c is not best]
        for child in _divide(best[0], best[1], data, growth):
            candidates.append((child, *_wanted_split(child, data, growth, total)))
        n_leaves += 1
    return root


def _node(rows, depth, key, data, growth):
    sums, weight = sums_of(rows, data, growth.n_channels)
    return Node(rows, depth, key, impurity_of(rows, data, growth), weight, [s / weight for s in sums])


def _divide(node, split, data, growth):
    node.split = split
    node.children = [
        _node(rows, node.depth + 1, mix(node.key - GOLDEN * (side + 1)), data, growth)
        for side, rows in enumerate((split.left, split.right))
    ]
    return node.children


def _wanted_split(node, data, growth, total):
    rows = node.rows
    first = rows[0]
    is_pure = all(data.channels[r] == data.channels[first] and data.targets[r] == data.targets[first] for r in rows)
    if is_pure or node.depth >= growth.max_depth or len(rows) < growth.min_samples_split:
        return None, 0.0
    best = None
    for split in _offered_splits(node, data, growth):
        n_rows = min(len(split.left), len(split.right))
        weight = min(sums_of(side, data, growth.n_channels)[1] for side in (split.left, split.right))
        if n_rows < growth.min_rows or weight < growth.min_weight:
            continue
        split.score = score_of(split.left, split.right, data, growth)
        if best is None or split.score > best.score:
            best = split
    if best is None:
        return None, 0.0
    gain = gain_of(node, best.score, data, growth)
    if growth.min_decrease > 0 and gain / total + 1e-15 < growth.min_decrease:
        return None, 0.0
    return best, gain


def _offered_splits(node, data, growth):
    """Yield every split of the columns that a node draws, in the order in which equal ones are preferred."""
    order = list(range(len(data.columns)))
    n_drawn, has_varying = 0, False
    while n_drawn < len(order) and (n_drawn < growth.max_features or not has_varying):
        key = mix(node.key + GOLDEN * (n_drawn + 1))
        other = n_drawn + number_below(key, len(order) - n_drawn)
        order[n_drawn], order[other] = order[other], order[n_drawn]
        feature = order[n_drawn]
        n_drawn += 1
        column = data.columns[feature]
        codes = {column.codes[r] for r in node.rows}
        if len(codes) == 1:
            continue
        has_varying = True
        if growth.is_random:
            yield _random_split(node.rows, feature, column, key)
        elif column.is_categorical:
            yield from _category_splits(node.rows, feature, column, data, growth)
        else:
            yield from _threshold_splits(node.rows, feature, column)


def _threshold_splits(rows, feature, column):
    here = sorted({column.codes[r] for r in rows} - {None})
    has_missing = any(column.codes[r] is None for r in rows)
    for missing in ("right", "left") if has_missing else (None,):
        for place, code in enumerate(here):
            is_last = place == len(here) - 1
            if is_last and missing != "right":
                continue
            threshold = math.inf if is_last else middle(column.high[code], column.low[here[place + 1]])
            yield _split_of(rows, feature, column, lambda c, code=code: c <= code, missing, threshold)


def _split_of(rows, feature, column, is_left, missing, threshold, categories=None):
    left, right = [], []
    for r in rows:
        code = column.codes[r]
        goes_left = missing == "left" if code is None else is_left(code)
        (left if goes_left else right).append(r)
    split = Split(feature, threshold, -math.inf, missing, left, right)
    if categories is not None:
        split.left_categories = {c for c in categories if is_left(c)}
        split.right_categories = {c for c in categories if not is_left(c)}
    return split


def _category_splits(rows, feature, column, data, growth):
    """Cut the categories that a node has, in the order of their means or of the projection of their shares."""
    here = sorted({column.codes[r] for r in rows} - {None})
    has_missing = any(column.codes[r] is None for r in rows)
    ordered = sorted(here, key=category_places(rows, column, here, data, growth).get)
    for missing in ("right", "left") if has_missing else (None,):
        for n_left in range(1, len(ordered) + (missing == "right")):
            chosen = set(ordered[:n_left])
            yield _split_of(rows, feature, column, chosen.__contains__, missing, 0.0, here)


def category_places(rows, column, here, data, growth):
    """Where each category stands in the order that is cut."""
    sums, weights = {}, {}
    for category in here:
        inside = [r for r in rows if column.codes[r] == category]
        sums[category], weights[category] = sums_of(inside, data, growth.n_channels)
    direction = [0.0] * (growth.n_channels - 1) + [1.0]
    if growth.n_channels > 2:
        direction = _main_direction(sums, weights, growth.n_channels)
    return {c: sum(s * d for s, d in zip(sums[c], direction, strict=True)) / weights[c] for c in here}


def _main_direction(sums, weights, n_channels):
    """The direction of the largest variance of the categories' class shares, by weight; 16 steps of power iteration."""
    total = sum(weights.values())
    means = [sum(s[k] for s in sums.values()) / total for k in range(n_channels)]
    direction = [m * (1.0 + k) for k, m in enumerate(means)]
    for _ in range(16):
        offset = sum(m * d for m, d in zip(means, direction, strict=True))
        step = [0.0] * n_channels
        for category, own in sums.items():
            along = sum(s * d for s, d in zip(own, direction, strict=True)) / weights[category] - offset
            for k in range(n_channels):
                step[k] += along * (own[k] - weights[category] * means[k])
        size = math.sqrt(sum(s * s for s in step))
        if size == 0:
            break
        direction = [s / size for s in step]
    return direction


def _random_split(rows, feature, column, key):
    here = sorted({column.codes[r] for r in rows} - {None})
    has_missing = any(column.codes[r] is None for r in rows)
    missing = None
    if has_missing:
        missing = "left" if number_below(mix(key + GOLDEN), 2) == 1 else "right"
    if column.is_categorical:
        chosen = _random_set(here, missing, key)
        return _split_of(rows, feature, column, chosen.__contains__, missing, 0.0, here)
    if len(here) == 1:
        return _split_of(rows, feature, column, lambda _: True, "right", math.inf)
    bottom, top = column.low[here[0]], column.high[here[-1]]
    at = bottom + share_of(mix(key - GOLDEN)) * (top - bottom)
    code = here[0]
    for later in range(here[0] + 1, here[-1]):
        if column.high[later] <= at:
            code = later
    threshold = float(np.float32(at))
    if not column.high[code] <= threshold < column.low[code + 1]:
        threshold = middle(column.high[code], column.low[code + 1])
    return _split_of(rows, feature, column, lambda c: c <= code, missing, threshold)


def _random_set(here, missing, key):
    for attempt in range(64):
        own = mix(key + GOLDEN * (attempt + 1))
        chosen = {c for c in here if number_below(mix(own + GOLDEN * (c + 1)), 2) == 1}
        is_left_empty = not chosen and missing != "left"
        is_right_empty = len(chosen) == len(here) and missing != "right"
        if not is_left_empty and not is_right_empty:
            break
    return chosen


def every_set_score(node_rows, column, data, growth):
    """The best score of any set of categories that goes left, with missing values on either side."""
    here = sorted({column.codes[r] for r in node_rows} - {None})
    best = -math.inf
    for n_left in range(len(here) + 1):
        for chosen in itertools.combinations(here, n_left):
            for missing in ("left", "right"):
                split = _split_of(node_rows, 0, column, chosen.__contains__, missing, 0.0, here)
                if split.left and split.right:
                    best = max(best, score_of(split.left, split.right, data, growth))
    return best


# -- numbering and pruning ---------------------------------------------------------------------------------------------


def numbered(root):
    """Return the nodes by number: the children of a node together, then all below the left one."""
    nodes = [root]

    def number(node):
        nodes.extend(node.children)
        for child in node.children:
            number(child)

    number(root)
    return nodes


def prune(root, alpha, total):
    """Weakest link pruning, step by step: collapse the branch that takes least off the cost for each leaf it adds."""
    while root.children:
        weakest = min((n for n in numbered(root) if n.children), key=lambda n: _link(n, total))
        if _link(weakest, total) > alpha:
            break
        weakest.children, weakest.split = [], None
    return root


def _link(node, total):
    leaves = [n for n in numbered(node) if not n.children]
    branch = sum(n.weight / total * n.impurity for n in leaves)
    return (node.weight / total * node.impurity - branch) / (len(leaves) - 1)
