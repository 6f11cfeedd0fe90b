"""Slow, obvious twins of `scores` and `partmaps`."""

from __future__ import annotations

import math


def average_precision(people, within_m):
    """Return the average precision of [(proposals [(distance, confidence)], is_visible)], one threshold at a time."""
    n_expected = sum(is_visible for _, is_visible in people)
    if n_expected == 0:
        return math.nan
    judged = []
    for proposals, is_visible in people:
        is_found = False
        for distance, confidence in sorted(proposals, key=lambda p: -p[1]):
            is_first = not is_found and distance <= within_m
            is_found = is_found or is_first
            if is_first and not is_visible:
                continue  # neither right nor wrong
            judged.append((confidence, is_first))
    area, recall_before = 0.0, 0.0
    for threshold in sorted({c for c, _ in judged}, reverse=True):
        passed = [is_right for c, is_right in judged if c >= threshold]
        recall, precision = sum(passed) / n_expected, sum(passed) / len(passed)
        area += (recall - recall_before) * precision
        recall_before = recall
    return area


def expected_calibration_error(confidences, rights, n_bins):
    """Return the mean gap over all answers, bin by bin; an edge belongs to the bin below."""
    bins = [[] for _ in range(n_bins)]
    for c, r in zip(confidences, rights, strict=True):
        bins[max(0, math.ceil(c * n_bins) - 1)].append((c, r))
    gaps = [abs(sum(r for _, r in b) / len(b) - sum(c for c, _ in b) / len(b)) * len(b) for b in bins if b]
    return sum(gaps) / len(confidences)


def is_right_coarsely(true_part, answered_part, groups):
    """Tell whether two fine parts agree in a coarse set: a band counts for either neighbor, on either side."""
    return groups[answered_part][0] in groups[true_part] or groups[true_part][0] in groups[answered_part]
