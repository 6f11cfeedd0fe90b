"""Slow, obvious twins of gradient and Newton boosting: loops over rows, columns and cuts."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from depthforest.ensemble.boosting.losses.classes import MAX_LOG_ODDS
from support.naive_trees import GOLDEN, middle, mix, number_below, numbered

ROUNDING = 1e-11
NEGLIGIBLE = 2.0**-32


@dataclass
class Settings:
    """How a tree is grown; lambda, alpha and gamma by their own names."""

    l2: float = 0.0
    l1: float = 0.0
    gamma: float = 0.0
    min_weight: float = 0.0
    max_depth: int = 10**6
    max_leaves: int = 10**6
    is_leaf_wise: bool = True
    n_drawn: int | None = None
    chosen: list | None = None
    directions: list | None = None
    is_exact: bool = False


@dataclass
class Node:
    rows: list
    depth: int
    key: int
    gradient: float
    hessian: float
    lower: float = -math.inf
    upper: float = math.inf
    gain: float = 0.0
    split: dict | None = None
    children: list = field(default_factory=list)
    value: float = 0.0

    @property
    def missing_left(self):
        return self.is_larger_left if self.split["missing"] is None else self.split["missing"] == "left"

    @property
    def is_larger_left(self):
        left, right = self.children
        return len(left.rows) > len(right.rows)

    def category_left(self, category):
        if category in self.split["right_categories"]:
            return False
        return category in self.split["left_categories"] or self.is_larger_left


# -- one node ----------------------------------------------------------------------------------------------------------


def total(amounts, rows):
    return math.fsum(amounts[r] for r in rows)


def weight_of(gradient, hessian, s, lower=-math.inf, upper=math.inf):
    """-T(G) / (H + lambda), kept between bounds."""
    moved = math.copysign(max(abs(gradient) - s.l1, 0.0), gradient)
    return min(max(-moved / (hessian + s.l2), lower), upper)


def score_of(gradient, hessian, weight, s):
    """Twice what a leaf of some weight takes off the loss G w + (H + lambda) w^2 / 2 + alpha |w|."""
    return -2.0 * (gradient * weight + (hessian + s.l2) * weight**2 / 2 + s.l1 * abs(weight))


def is_more(score, other):
    return score > other + ROUNDING * abs(other)


def best_split(node, columns, gradient, hessian, s):
    """Try every cut of every column that the node draws; of equal ones the first stays."""
    own = score_of(node.gradient, node.hessian, weight_of(node.gradient, node.hessian, s, node.lower, node.upper), s)
    best, wanted = own, None
    for feature in drawn_columns(node, columns, s):
        column = columns[feature]
        offers = category_offers if column.is_categorical else cut_offers
        for offer in offers(node, column, (gradient, hessian), s):
            left = [r for r in node.rows if offer["is_left"](column.codes[r])]
            right = [r for r in node.rows if not offer["is_left"](column.codes[r])]
            sums = [(total(gradient, side), total(hessian, side)) for side in (left, right)]
            if min(h for _, h in sums) < max(s.min_weight, NEGLIGIBLE * node.hessian):
                continue
            weights = [weight_of(g, h, s, node.lower, node.upper) for g, h in sums]
            direction = s.directions[feature] if s.directions else 0
            if direction * (weights[1] - weights[0]) < 0:
                continue
            score = sum(score_of(g, h, w, s) for (g, h), w in zip(sums, weights, strict=True))
            if is_more(score, best):
                best = score
                wanted = offer | {"feature": feature, "left": left, "right": right, "weights": weights}
    return wanted, best - own


def drawn_columns(node, columns, s):
    chosen = list(range(len(columns))) if s.chosen is None else list(s.chosen)
    n_drawn = len(chosen) if s.n_drawn is None else s.n_drawn
    if n_drawn == len(chosen):
        return chosen
    for k in range(n_drawn):
        other = k + number_below(mix(node.key + GOLDEN * (k + 1)), len(chosen) - k)
        chosen[k], chosen[other] = chosen[other], chosen[k]
    return chosen[:n_drawn]


def cut_offers(node, column, _, s):
    """Yield cuts: exact ones between values that the node has, else between any two bins."""
    here = sorted({column.codes[r] for r in node.rows} - {None})
    has_missing = any(column.codes[r] is None for r in node.rows)
    n_codes = len(column.low)
    for missing in ("right", "left") if has_missing else (None,):
        for code in here if s.is_exact else range(n_codes):
            following = min((c for c in here if c > code), default=n_codes) if s.is_exact else code + 1
            if following == n_codes and missing != "right":
                continue
            at = math.inf if following == n_codes else middle(column.high[code], column.low[following])

            def is_left(c, code=code, missing=missing):
                return missing == "left" if c is None else c <= code

            yield {"is_left": is_left, "missing": missing, "threshold": at}


def category_offers(node, column, derivatives, _):
    """Yield cuts of the node's categories in the order of gradient / hessian."""
    here = sorted({column.codes[r] for r in node.rows} - {None})
    ratio = {}
    for category in here:
        rows = [r for r in node.rows if column.codes[r] == category]
        gradient, hessian = (total(part, rows) for part in derivatives)
        ratio[category] = gradient / hessian
    here.sort(key=ratio.get)
    has_missing = any(column.codes[r] is None for r in node.rows)
    for missing in ("right", "left") if has_missing else (None,):
        for n_left in range(1, len(here) + 1):
            left = set(here[:n_left])

            def is_left(c, left=left, missing=missing):
                return missing == "left" if c is None else c in left

            yield {
                "is_left": is_left, "missing": missing, "threshold": 0.0,
                "left_categories": left, "right_categories": set(here[n_left:]),
            }  # fmt: skip


# -- a tree ------------------------------------------------------------------------------------------------------------


def grow(columns, gradient, hessian, s, *, rows=None, seed=0):
    """Grow a tree by gradients and hessians of rows, take back what gains less than gamma, and fill leaves."""
    rows = list(range(len(gradient))) if rows is None else list(rows)
    root = Node(rows, 0, mix((seed + 1) * GOLDEN), total(gradient, rows), total(hessian, rows))
    waiting, n_leaves = [root], 1
    offers = {}
    while n_leaves < s.max_leaves:
        for node in waiting:
            if id(node) not in offers:
                can = node.depth < s.max_depth and len(node.rows) > 1
                offers[id(node)] = best_split(node, columns, gradient, hessian, s) if can else (None, 0.0)
        waiting = [node for node in waiting if offers[id(node)][0] is not None]
        if not waiting:
            break
        chosen = waiting[0]  # in the order in which nodes were made, which is level by level
        if s.is_leaf_wise:
            for node in waiting[1:]:
                if is_more(offers[id(node)][1], offers[id(chosen)][1]):
                    chosen = node
        waiting = [node for node in waiting if node is not chosen]
        chosen.split, chosen.gain = offers[id(chosen)]
        divide(chosen, gradient, hessian, s)
        waiting.extend(chosen.children)
        n_leaves += 1
    finish(root, s)
    return root


def divide(node, gradient, hessian, s):
    for side in ("left", "right"):
        rows = node.split[side]
        key = mix(node.key - GOLDEN * (1 if side == "left" else 2))
        node.children.append(
            Node(rows, node.depth + 1, key, total(gradient, rows), total(hessian, rows), node.lower, node.upper)
        )
    direction = s.directions[node.split["feature"]] if s.directions else 0
    if direction:
        between = sum(node.split["weights"]) / 2
        low, high = node.children if direction > 0 else node.children[::-1]
        low.upper = high.lower = between


def finish(node, s):
    for child in node.children:
        finish(child, s)
    if node.children and not any(child.children for child in node.children) and node.gain < s.gamma:
        node.children, node.split = [], None
    node.value = weight_of(node.gradient, node.hessian, s, node.lower, node.upper)


def leaves_of(node):
    return [leaf for child in node.children for leaf in leaves_of(child)] if node.children else [node]


# -- losses ------------------------------------------------------------------------------------------------------------


def squared(y, raw):
    return raw - y, 1.0


def logistic(y, raw):
    p = 1.0 / (1.0 + math.exp(-raw))
    return p - y, max(p * (1 - p), 1e-16)


def absolute(y, raw):
    return float((raw > y) - (raw < y)), 1.0


def softmax(label, raws, k):
    """Both derivatives in the raw value of class k."""
    top = max(raws)
    p = math.exp(raws[k] - top) / math.fsum(math.exp(r - top) for r in raws)
    return p - (label == k), max(p * (1 - p), 1e-16)


def zero_of(slope, low, high):
    """Where a rising function is 0, by halves; an end where it is not."""
    for _ in range(200):
        at = (low + high) / 2
        if slope(at) > 0:
            high = at
        else:
            low = at
    return (low + high) / 2


def weighted_median(values, weights):
    """The middle of all numbers with at most half of the weight below and at most half above."""
    half = math.fsum(weights) / 2
    good = [
        v for v in values
        if math.fsum(w for u, w in zip(values, weights, strict=True) if u < v) <= half
        and math.fsum(w for u, w in zip(values, weights, strict=True) if u > v) <= half
    ]  # fmt: skip
    return (min(good) + max(good)) / 2


def leaf_step(loss, rows, y, raw, weights):
    """The step of a leaf that makes the loss of its rows least."""
    if loss is absolute:
        return weighted_median([y[r] - raw[r] for r in rows], [weights[r] for r in rows])
    reach = MAX_LOG_ODDS if loss is logistic else 1e6
    found = zero_of(lambda at: math.fsum(weights[r] * loss(y[r], raw[r] + at)[0] for r in rows), -reach, reach)
    if loss is logistic and abs(found) > reach * (1 - 1e-9):  # the least loss lies beyond: Newton's step
        first, second = (math.fsum(weights[r] * loss(y[r], raw[r])[k] for r in rows) for k in range(2))
        return min(max(-first / second, -reach), reach)
    return found


# -- rounds ------------------------------------------------------------------------------------------------------------


def boost(columns, y, weights, loss, s, *, start, n_rounds, learning_rate, is_newton):
    """Boost one output; return the trees, their leaves' values multiplied by the learning rate, and the raw values."""
    raw = [start] * len(y)
    trees = []
    for _ in range(n_rounds):
        derivatives = [loss(t, r) for t, r in zip(y, raw, strict=True)]
        gradient = [w * g for w, (g, _) in zip(weights, derivatives, strict=True)]
        hessian = [w * (h if is_newton else 1.0) for w, (_, h) in zip(weights, derivatives, strict=True)]
        root = grow(columns, gradient, hessian, s)
        for leaf in leaves_of(root):
            step = leaf.value
            if not is_newton and loss is not squared:
                step = leaf_step(loss, leaf.rows, y, raw, weights)
            leaf.value = learning_rate * step
        for leaf in leaves_of(root):
            for r in leaf.rows:
                raw[r] += leaf.value
        trees.append(root)
    return trees, raw


def boost_classes(columns, labels, n_classes, weights, s, *, start, n_rounds, learning_rate, is_newton):
    """Boost a tree for every class in each round; all of a round see the raw values before it."""
    raw = [list(start) for _ in labels]
    trees = []
    for _ in range(n_rounds):
        steps = []
        for k in range(n_classes):
            derivatives = [softmax(label, raws, k) for label, raws in zip(labels, raw, strict=True)]
            gradient = [w * g for w, (g, _) in zip(weights, derivatives, strict=True)]
            hessian = [w * (h if is_newton else 1.0) for w, (_, h) in zip(weights, derivatives, strict=True)]
            root = grow(columns, gradient, hessian, s)
            for leaf in leaves_of(root):
                if not is_newton:
                    leaf.value = friedman_step(leaf.rows, derivatives, weights, n_classes)
                leaf.value *= learning_rate
                steps.extend((r, k, leaf.value) for r in leaf.rows)
            trees.append(root)
        for r, k, step in steps:
            raw[r][k] += step
    return trees, raw


def friedman_step(rows, derivatives, weights, n_classes):
    """(K - 1) / K sum w r / sum w |r| (1 - |r|), r = -g, within the bound of a step."""
    above = -math.fsum(weights[r] * derivatives[r][0] for r in rows)
    below = math.fsum(weights[r] * abs(derivatives[r][0]) * (1 - abs(derivatives[r][0])) for r in rows)
    step = (n_classes - 1) / n_classes * above / max(below, 1e-300)
    return min(max(step, -MAX_LOG_ODDS), MAX_LOG_ODDS)


# -- comparing ---------------------------------------------------------------------------------------------------------


def assert_same(tree, root, *, tolerance=1e-9):
    """Compare a tree of the library with its twin: numbers of rows, columns, thresholds, sides and leaves."""
    nodes = numbered(root)
    assert tree.node_count == len(nodes)
    for k, node in enumerate(nodes):
        assert tree.n_node_samples[k] == len(node.rows)
        assert math.isclose(tree.weighted_n_node_samples[k], node.hessian, rel_tol=tolerance, abs_tol=1e-15)
        if len(tree.rows):
            assert set(tree.rows[tree.begins[k] :][: tree.n_node_samples[k]].tolist()) == set(node.rows)
        if not node.children:
            assert tree.feature[k] == -1
            assert math.isclose(tree.values[tree.child[k], 0], node.value, rel_tol=tolerance, abs_tol=tolerance)
            continue
        assert tree.feature[k] == node.split["feature"]
        assert nodes[tree.child[k]] is node.children[0]
        assert bool(tree.missing_go_to_left[k]) == node.missing_left
        if "left_categories" in node.split:
            assert [c in tree.categories(k) for c in range(255)] == [node.category_left(c) for c in range(255)]
        else:
            assert tree.categories(k) is None
            assert tree.threshold[k] == float(np.float32(node.split["threshold"]))
