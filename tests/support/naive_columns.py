"""Slow, obvious twins of how `depthforest.ensemble` codes columns."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass
class Column:
    """Codes of a column's rows, None where missing, and the smallest and largest value of every code."""

    codes: list
    low: list
    high: list
    is_categorical: bool = False


def exact_column(values):
    """A code for each value."""
    known = sorted({float(v) for v in values if not math.isnan(v)})
    place = {v: code for code, v in enumerate(known)}
    return Column([None if math.isnan(v) else place[float(v)] for v in values], known, known)


def quantile_column(values, max_bins):
    """Bins that end at every n / max_bins-th value; where the last is the largest, that one has its own bin."""
    known = sorted(float(v) for v in values if not math.isnan(v))
    distinct = sorted(set(known))
    if len(distinct) <= max_bins:
        return exact_column(values)
    ends = {known[math.ceil(k * len(known) / max_bins) - 1] for k in range(1, max_bins)}
    if distinct[-1] in ends:
        ends = ends - {distinct[-1]} | {distinct[-2]}
    ends = sorted(ends)
    codes = [None if math.isnan(v) else sum(end < v for end in ends) for v in values]
    inside = [[] for _ in range(len(ends) + 1)]
    for value, code in zip(values, codes, strict=True):
        if code is not None:
            inside[code].append(value)
    return Column(codes, [min(own) for own in inside], [max(own) for own in inside])


def category_column(values):
    """Category k has code k."""
    known = [int(v) for v in values if not math.isnan(v)]
    numbers = list(range(max(known, default=0) + 1))
    return Column([None if math.isnan(v) else int(v) for v in values], numbers, numbers, is_categorical=True)


def columns_of(x, *, max_bins=None, categorical=()):
    columns = []
    for f in range(x.shape[1]):
        values = [float(v) for v in x[:, f]]
        if f in categorical:
            columns.append(category_column(values))
        else:
            columns.append(exact_column(values) if max_bins is None else quantile_column(values, max_bins))
    return columns
