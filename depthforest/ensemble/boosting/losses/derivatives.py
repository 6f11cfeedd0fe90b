"""Kernels of the losses that need exponentials: logistic, exponential and softmax derivatives, vectorized over rows.

numba has no vectorized `exp`, so this module has `fast_exp`: plain arithmetic that the compiler vectorizes, five times
as fast. `classes` calls these kernels.
"""

from __future__ import annotations

import math

import numpy as np

from depthforest.base import Bools, Floats, Ints, Longs, UsageError, kernel

HESSIAN_FLOOR = 1e-16
"""Least second derivative, so that Newton's -G / H has a positive denominator even if all rows are certain."""

EXP_LOW = -700.0
"""Lower limit of arguments: exp of it is 1e-304, still a normal number."""

EXP_HIGH = 300.0
"""Upper limit in the exponential loss: exp of it is 2e130, so that squares of summed gradients stay finite."""

LOG2_E = 1.4426950408889634
LN2_HIGH = 0.693147180369123816490  # its last 32 bits are 0, so products with exponents are exact
LN2_LOW = 1.90821492927058770002e-10  # the rest
SHIFT = 6755399441055744.0  # 1.5 * 2^52: adding it rounds to a whole number, stored in the last bits
BLOCK = 256  # rows: 31 classes of them stay in the second-level cache
LANES = 32  # number of parallel partial sums


@kernel
def fast_exp(x: float) -> float:
    """Return exp(x) for -700 <= x <= 700, with relative error 5e-16.

    x = k ln 2 + r with |r| <= ln 2 / 2; exp(r) is its Taylor series up to r^12, with a remainder below 2e-16; 2^k is
    assembled from bits.
    """
    shifted = x * LOG2_E + SHIFT
    k = shifted - SHIFT
    r = (x - k * LN2_HIGH) - k * LN2_LOW
    p = 1.0 / 479001600.0
    p = p * r + 1.0 / 39916800.0
    p = p * r + 1.0 / 3628800.0
    p = p * r + 1.0 / 362880.0
    p = p * r + 1.0 / 40320.0
    p = p * r + 1.0 / 5040.0
    p = p * r + 1.0 / 720.0
    p = p * r + 1.0 / 120.0
    p = p * r + 1.0 / 24.0
    p = p * r + 1.0 / 6.0
    p = p * r + 0.5
    p = p * r + 1.0
    p = p * r + 1.0
    bits = (np.float64(shifted).view(np.int64) + 1023) << 52
    return p * np.int64(bits).view(np.float64)


@kernel
def at_least(x: float, least: float) -> float:
    """Return the larger one: loops with Python's own `max`, which handles NaN, are not vectorized."""
    return x if x > least else least


@kernel
def fill_logistic(y: Ints, raw: Floats, gradient: Floats, hessian: Floats) -> None:
    """Fill the derivatives of log(1 + e^-m); an empty hessian is not filled."""
    for i in range(len(raw)):
        sign = 2.0 * y[i] - 1.0
        margin = sign * raw[i]
        e = fast_exp(at_least(-abs(margin), EXP_LOW))
        gradient[i] = -sign * (e if margin >= 0 else 1.0) / (1.0 + e)
    if len(hessian) > 0:
        for i in range(len(raw)):
            g = abs(gradient[i])
            hessian[i] = at_least(g * (1.0 - g), HESSIAN_FLOOR)


@kernel
def fill_exponential(y: Ints, raw: Floats, gradient: Floats, hessian: Floats) -> None:
    """Fill the derivatives of e^-m; an empty hessian is not filled."""
    for i in range(len(raw)):
        sign = 2.0 * y[i] - 1.0
        gradient[i] = -sign * fast_exp(-at_least(-at_least(-sign * raw[i], EXP_LOW), -EXP_HIGH))
    if len(hessian) > 0:
        for i in range(len(raw)):
            hessian[i] = at_least(abs(gradient[i]), HESSIAN_FLOOR)


def softmax_derivatives(y: Ints, raw: Floats, gradient: Floats, hessian: Floats | None) -> None:
    """Fill the derivatives of -log p_y for every class's raw value; all (n_classes, n), including blocks of columns."""
    n_classes, n = raw.shape
    if n == 0:
        return
    spans = [_span(table) for table in (raw, gradient, gradient if hessian is None else hessian)]
    (raw_flat, raw_step), (gradient_flat, gradient_step), (hessian_flat, hessian_step) = spans
    if hessian is None:
        hessian_flat = np.empty(0)
    _fill_softmax(y, n_classes, raw_flat, raw_step, gradient_flat, gradient_step, hessian_flat, hessian_step)


def softmax(raw: Floats) -> Floats:
    """Return the probabilities of every row, (n, n_classes) float64."""
    n_classes, n = raw.shape
    p = np.empty((n, n_classes))
    if n:
        _fill_probabilities(*_span(raw), p)
    return p


def log_sums(raw: Floats) -> Floats:
    """Return log(sum e^raw) of every row, (n,) float64."""
    n_classes, n = raw.shape
    logs = np.empty(n)
    if n:
        _fill_log_sums(n_classes, *_span(raw), logs)
    return logs


def _span(table: Floats) -> tuple[Floats, int]:
    """Return the memory of a block of columns as one flat array, and the distance between its rows.

    Kernels then see contiguous memory, the only kind for which loops are vectorized, for whole tables and blocks alike,
    and compile once. The array ends with the block's last row, so nothing beyond the table can be reached.
    """
    n_rows, n = table.shape
    if table.dtype == np.float64 and table.flags.c_contiguous:
        return table.reshape(-1), n
    step = table.strides[0] // table.itemsize if n_rows > 1 else n
    if table.dtype != np.float64 or (n > 1 and table.strides[1] != table.itemsize) or step < n:
        raise UsageError("raw values and derivatives of classes must be float64, one row for each class")
    return np.lib.stride_tricks.as_strided(table, ((n_rows - 1) * step + n,), (table.itemsize,)), step


@kernel
def _soften(
    n_classes: int, raw: Floats, raw_step: int, out: Floats, out_step: int, top: Floats, total: Floats, n: int
) -> None:
    """Write e^(raw - top) of the first n rows, and the largest raw value and the sum of every row."""
    for j in range(n):
        top[j] = raw[j]
        total[j] = 0.0
    for c in range(1, n_classes):
        own = raw[c * raw_step : c * raw_step + n]
        for j in range(n):
            top[j] = at_least(own[j], top[j])
    for c in range(n_classes):
        own = raw[c * raw_step : c * raw_step + n]
        to = out[c * out_step : c * out_step + n]
        for j in range(n):
            e = fast_exp(at_least(own[j] - top[j], EXP_LOW))
            to[j] = e
            total[j] += e


@kernel
def _fill_softmax(
    y: Ints,
    n_classes: int,
    raw: Floats,
    raw_step: int,
    gradient: Floats,
    gradient_step: int,
    hessian: Floats,
    hessian_step: int,
) -> None:
    top, total = np.empty(BLOCK), np.empty(BLOCK)
    for begin in range(0, len(y), BLOCK):
        end = min(begin + BLOCK, len(y))
        n = end - begin
        _soften(n_classes, raw[begin:], raw_step, gradient[begin:], gradient_step, top, total, n)
        for j in range(n):
            total[j] = 1.0 / total[j]
        for c in range(n_classes):
            own = gradient[c * gradient_step + begin : c * gradient_step + end]
            for j in range(n):
                own[j] *= total[j]
            if len(hessian) > 0:
                to = hessian[c * hessian_step + begin : c * hessian_step + end]
                for j in range(n):
                    to[j] = at_least(own[j] * (1.0 - own[j]), HESSIAN_FLOOR)
        for j in range(n):
            gradient[y[begin + j] * gradient_step + begin + j] -= 1.0


@kernel
def _fill_probabilities(raw: Floats, raw_step: int, p: Floats) -> None:
    n_classes = p.shape[1]
    top, total, block = np.empty(BLOCK), np.empty(BLOCK), np.empty(n_classes * BLOCK)
    for begin in range(0, len(p), BLOCK):
        n = min(BLOCK, len(p) - begin)
        _soften(n_classes, raw[begin:], raw_step, block, BLOCK, top, total, n)
        for j in range(n):
            for c in range(n_classes):
                p[begin + j, c] = block[c * BLOCK + j] / total[j]


@kernel
def _fill_log_sums(n_classes: int, raw: Floats, raw_step: int, logs: Floats) -> None:
    top, total, block = np.empty(BLOCK), np.empty(BLOCK), np.empty(n_classes * BLOCK)
    for begin in range(0, len(logs), BLOCK):
        n = min(BLOCK, len(logs) - begin)
        _soften(n_classes, raw[begin:], raw_step, block, BLOCK, top, total, n)
        for j in range(n):
            logs[begin + j] = top[j] + np.log(total[j])


@kernel
def sum_slopes(gradient: Floats, weights: Floats, leaf_of: Ints, sums: Floats) -> None:
    """Sum w g and w |g| (1 - |g|), the second derivative of logistic losses, by leaf: sums is (n_leaves, 2)."""
    for i in range(len(gradient)):
        leaf = leaf_of[i]
        if leaf >= 0:
            size = abs(gradient[i])
            sums[leaf, 0] += weights[i] * gradient[i]
            sums[leaf, 1] += weights[i] * size * (1.0 - size)


@kernel
def by_leaf(
    gradient: Floats, weights: Floats, leaf_of: Ints, starts: Longs, own_gradient: Floats, own_weights: Floats
) -> None:
    """Copy gradients and weights grouped by leaf, in stable order.

    Parameters
    ----------
    gradient, weights : (n,) float64
    leaf_of : (n,) int32
        -1 for rows that are left out.
    starts : (n_leaves + 1,) int64
        Initially zeros; filled with the start of each leaf. All starts are multiples of `LANES`.
    own_gradient, own_weights : (n + n_leaves * LANES,) float64
        Initially zeros, which remain between the leaves; filled.
    """
    for i in range(len(leaf_of)):
        starts[leaf_of[i] + 1] += 1
    starts[0] = 0
    for leaf in range(1, len(starts)):
        starts[leaf] = starts[leaf - 1] + (starts[leaf] + LANES - 1) // LANES * LANES
    for i in range(len(leaf_of)):
        if leaf_of[i] >= 0:
            place = starts[leaf_of[i]]
            own_gradient[place] = gradient[i]
            own_weights[place] = weights[i]
            starts[leaf_of[i]] = place + 1
    for leaf in range(len(starts) - 1, 0, -1):  # the end of a leaf is the start of the next
        starts[leaf] = (starts[leaf - 1] + LANES - 1) // LANES * LANES
    starts[0] = 0


@kernel
def sum_logistic(gradient: Floats, weights: Floats, starts: Longs, moved: Floats, is_open: Bools, sums: Floats) -> None:
    """Sum the derivatives of the logistic loss by leaf after the raw values of every leaf have moved.

    It only needs the gradient g before the move: g is above 0 for rows of the first class, |g| is the probability of
    the class that the row does not have, and a move by t multiplies the odds |g| / (1 - |g|) by e^t or e^-t. So no
    exponential is computed per row.

    Parameters
    ----------
    gradient, weights, starts
        Grouped by leaf, as filled by `by_leaf`.
    moved : (n_leaves,) float64
    is_open : (n_leaves,) bool
        The leaves to sum.
    sums : (n_leaves, 2) float64
        Initially zeros; the first and second derivatives of these leaves are added.
    """
    first, second = np.empty(LANES), np.empty(LANES)  # parallel partial sums: a single one would wait for each addition
    for leaf in range(len(moved)):
        if not is_open[leaf]:
            continue
        up, down = math.exp(moved[leaf]), math.exp(-moved[leaf])
        for lane in range(LANES):
            first[lane] = second[lane] = 0.0
        for begin in range(np.uint64(starts[leaf]), np.uint64(starts[leaf + 1]), np.uint64(LANES)):
            for lane in range(LANES):
                g, weight = gradient[begin + np.uint64(lane)], weights[begin + np.uint64(lane)]
                size = abs(g)
                odds = size * (up if g > 0 else down)
                size = odds / (odds + (1.0 - size))
                first[lane] += weight * (size if g > 0 else -size)
                second[lane] += weight * size * (1.0 - size)
        for lane in range(LANES):
            sums[leaf, 0] += first[lane]
            sums[leaf, 1] += second[lane]


@kernel
def sum_exponential(y: Ints, raw: Floats, weights: Floats, leaf_of: Ints, tops: Floats, sums: Floats) -> None:
    """Sum w e^-m by leaf and class, divided by e^top of its largest -m: both (n_leaves, 2), tops start at -inf."""
    for i in range(len(raw)):
        if leaf_of[i] >= 0 and weights[i] > 0:
            tops[leaf_of[i], y[i]] = max(tops[leaf_of[i], y[i]], (1.0 - 2.0 * y[i]) * raw[i])
    for i in range(len(raw)):
        if leaf_of[i] >= 0 and weights[i] > 0:
            exponent = (1.0 - 2.0 * y[i]) * raw[i] - tops[leaf_of[i], y[i]]
            sums[leaf_of[i], y[i]] += weights[i] * fast_exp(at_least(exponent, EXP_LOW))
