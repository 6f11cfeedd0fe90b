"""Slow, obvious twins of the losses: one row at a time, minima by golden section."""

from __future__ import annotations

import math

GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0


def _logistic(y, raw):
    margin = (2 * y - 1) * raw
    return math.log1p(math.exp(-margin)) if margin > -30 else -margin


def _huber(y, raw, delta):
    size = abs(y - raw)
    return size * size / 2 if size <= delta else delta * (size - delta / 2)


def _pinball(y, raw, alpha):
    return alpha * (y - raw) if y > raw else (1 - alpha) * (raw - y)


def value_of(loss):
    """Return the loss of a row as a function of its target and its raw value."""
    return {
        "squared_error": lambda y, raw: (y - raw) ** 2 / 2,
        "absolute_error": lambda y, raw: abs(y - raw),
        "huber": lambda y, raw: _huber(y, raw, loss.delta),
        "quantile": lambda y, raw: _pinball(y, raw, loss.alpha),
        "poisson": lambda y, raw: math.exp(raw) - y * raw,
        "gamma": lambda y, raw: y * math.exp(-raw) + raw,
        "tweedie": lambda y, raw: 2 * math.exp(raw / 2) + 2 * y * math.exp(-raw / 2),  # of power 1.5
        "logistic": _logistic,
        "exponential": lambda y, raw: math.exp(-(2 * y - 1) * raw),
        "hinge": lambda y, raw: max(0.0, 1 - (2 * y - 1) * raw),
        "perceptron": lambda y, raw: max(0.0, -(2 * y - 1) * raw),
    }[loss.name]


def total(loss, y, raw, weights, moved):
    """Return the weighted sum of the losses of rows whose raw values have all moved."""
    value = value_of(loss)
    return math.fsum(w * value(a, b + moved) for a, b, w in zip(y, raw, weights, strict=True))


def least(function, low, high):
    """Return the least value of a convex function between two numbers."""
    a, b = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_a, at_b = function(a), function(b)
    for _ in range(100):
        if at_a <= at_b:
            high, b, at_b = b, a, at_a
            a = high - GOLDEN * (high - low)
            at_a = function(a)
        else:
            low, a, at_a = a, b, at_b
            b = low + GOLDEN * (high - low)
            at_b = function(b)
    return min(function(low), function(high), at_a, at_b)


def softmax(row):
    """Return the probabilities of the raw values of one row."""
    top = max(row)
    powers = [math.exp(r - top) for r in row]
    return [p / sum(powers) for p in powers]


def friedman_step(y, raw, weights, output):
    """Return the Newton step of one leaf: y and rows of raw values (n, n_classes)."""
    n_classes = len(raw[0])
    above = below = 0.0
    for code, row, w in zip(y, raw, weights, strict=True):
        r = (code == output) - softmax(row)[output]
        above += w * r
        below += w * abs(r) * (1 - abs(r))
    return (n_classes - 1) / n_classes * above / below


def perceptron_step(y, raw, weights):
    """Return the mean of the signs of the rows that are not right, over all rows of a leaf."""
    steps = [w * (2 * a - 1) if (2 * a - 1) * b <= 0 else 0.0 for a, b, w in zip(y, raw, weights, strict=True)]
    return sum(steps) / sum(weights)
