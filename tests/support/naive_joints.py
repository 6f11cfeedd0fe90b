"""Slow, obvious twins of the mean shift, of the choice of a set of joints, and of average precision."""

from __future__ import annotations

import itertools
import math


def modes(points, weights, areas, bandwidth, spacing, tolerance, max_steps, most, lanes):
    """Return (position, area, purity, spread) of the modes of one cluster, largest first; rules as in `meanshift`."""
    starts = []  # leader, its pixels
    for i, point in enumerate(points):
        near = [(math.dist(point, leader), number) for number, (leader, _) in enumerate(starts)]
        near = [(d, -number) for d, number in near if d <= spacing * bandwidth and spacing > 0]
        if near:
            starts[-min(near)[1]][1].append(i)
        else:
            starts.append((point, [i]))
    places = [mean([points[i] for i in own], [weights[i] for i in own]) for _, own in starts]
    ends, densities = [], []
    for first in range(0, len(places), lanes):
        block = places[first : first + lanes]
        for _ in range(max_steps):
            pulls = [
                [
                    w * math.exp(-min(16, (math.dist(x, p) / bandwidth) ** 2))
                    for p, w in zip(points, weights, strict=True)
                ]
                for x in block
            ]
            moved = [mean(points, pull) for pull in pulls]
            farthest = max(map(math.dist, block, moved))
            block = moved
            if farthest <= tolerance:
                break
        ends += block
        densities += [sum(pull) for pull in pulls]
    free, found = list(range(len(ends))), []
    while free:
        best = max(free, key=lambda s: densities[s])
        taken = [s for s in free if math.dist(ends[s], ends[best]) <= bandwidth]
        free = [s for s in free if s not in taken]
        own = [i for s in taken for i in starts[s][1]]
        weight = sum(weights[i] for i in own)
        scatter = sum(weights[i] * math.dist(points[i], ends[best]) ** 2 for i in own)
        found.append((ends[best], weight, weight / sum(areas[i] for i in own), math.sqrt(scatter / weight)))
    return sorted(found, key=lambda mode: -mode[1])[:most]


def mean(points, weights):
    total = sum(weights)
    return tuple(sum(w * p[axis] for p, w in zip(points, weights, strict=True)) / total for axis in range(3))


def best_set(places, evidence, bones, lengths, sds, weight, sizes, cap):
    """Return (score, size, choice) of the best set by trying all of them; `places` is a list of proposals per joint."""
    choices = [range(len(its)) if its else [None] for its in places]
    best = (-math.inf, None, None)
    for size in sizes:
        for choice in itertools.product(*choices):
            score = sum(evidence[j][i] for j, i in enumerate(choice) if i is not None)
            for parent, child in bones:
                if choice[parent] is not None and choice[child] is not None:
                    length = math.dist(places[parent][choice[parent]], places[child][choice[child]])
                    off = (length - size * lengths[child]) / sds[child]
                    score -= weight * min(off * off, cap) / 2
            if score > best[0]:
                best = (score, size, choice)
    return best


def average_precision(people, radius):
    """Return the average precision of [(proposals, truth, is_visible)], a proposal being (position, confidence)."""
    listed = []
    for number, (proposals, truth, is_visible) in enumerate(people):
        is_found = False
        for position, confidence in sorted(proposals, key=lambda p: -p[1]):
            is_right = not is_found and math.dist(position, truth) <= radius
            is_found |= is_right
            if is_visible or not is_right:
                listed.append((confidence, is_right, number))
    listed.sort(key=lambda entry: -entry[0])
    n_right, total = 0, 0.0
    for rank, (_, is_right, _) in enumerate(listed, start=1):
        n_right += is_right
        total += n_right / rank * is_right
    return total / sum(is_visible for _, _, is_visible in people)
