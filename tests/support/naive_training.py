"""The trainer's slow twin: one node, candidate, threshold and pixel at a time, in plain Python, with the same draws."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

GOLDEN = 0x9E3779B97F4A7C15
WORD = 2**64
F = np.float32


def mix(counter: int) -> int:
    z = counter % WORD
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % WORD
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % WORD
    return z ^ (z >> 31)


def key_of(*words: int) -> int:
    key = 0
    for word in words:
        key = mix(key + (word + 1) * GOLDEN)
    return key


def number(key: int, counter: int) -> int:
    return mix(key + (counter + 1) * GOLDEN)


def hashed(word: int) -> int:
    word = (word ^ (word >> 16)) * 0x7FEB352D % 2**32
    word = (word ^ (word >> 15)) * 0x846CA68B % 2**32
    return word ^ (word >> 16)


def candidate(key: int, index: int, config: Any) -> tuple[tuple[Any, ...], list[int]]:
    """Return (u_x, u_y, v_x, v_y) as float32 and the thresholds in millimeters."""
    low, high = key % 2**32, key >> 32

    def word(number: int) -> int:
        return hashed(hashed((low + (8 * index + number) * 0x9E3779B9) % 2**32) ^ high)

    unit = 2.0 ** math.ceil(math.log2(config.probe_range_m / 32767))

    def point(bits: int) -> tuple[Any, Any]:
        return F((bits % 2**16) * 2 - 65535) / F(65536), F((bits >> 16) * 2 - 65535) / F(65536)

    def probe(one: int, other: int) -> tuple[Any, Any]:
        x, y = point(one)
        if config.probe_shape != "square" and x * x + y * y > 1:
            x, y = point(other)
            if x * x + y * y > 1:
                x, y = x * F(0.70703125), y * F(0.70703125)
        if config.probe_shape == "radius":
            length = np.sqrt(x * x + y * y)
            x, y = x * length, y * length
        reach = F(config.probe_range_m) / F(unit)
        return F(int(x * reach) * unit), F(int(y * reach) * unit)

    step = max(1, config.step_mm >> (index % config.threshold_scales))
    rest = word(4)
    u, v = probe(word(0), word(1)), probe(word(2), word(3))
    if rest >> 16 < round(config.zero_share * 2**16):
        v = (F(0), F(0))
    lowest = -(config.thresholds * step // 2) + (rest % 2**16) * step // 2**16
    return (*u, *v), [lowest + i * step for i in range(config.thresholds)]


def context_candidate(
    key: int, index: int, config: Any, n_groups: int, n_positions: int
) -> tuple[tuple[Any, ...], list[int], list[int]]:
    """Return the probes, thresholds and channels of a candidate of a context stage."""
    (u_x, u_y, v_x, v_y), ladder = candidate(key, index, config)
    low, high = key % 2**32, key >> 32

    def word(number: int) -> int:
        return hashed(hashed((low + (8 * index + number) * 0x9E3779B9) % 2**32) ^ high)

    kind, which = word(5), word(6)
    one, other = (bits * n_groups // 2**16 for bits in (which % 2**16, which >> 16))
    ends = [0]
    for share in (config.single_share, config.pair_share, config.mixed_share, config.position_share):
        ends.append(ends[-1] + round(share * 2**16))
    first_group = 2 + n_positions
    step = max(1, config.step_mm >> (index % config.threshold_scales))
    channels, shift = [0, 0], 0
    if kind % 2**16 < ends[1]:
        channels, shift = [first_group + one, 1], config.thresholds * step // 2
        if kind >> 16 < 2**14:
            u_x = u_y = F(0)
    elif kind % 2**16 < ends[2]:
        channels = [first_group + one, first_group + one]
    elif kind % 2**16 < ends[3]:
        channels = [first_group + one, first_group + other]
    elif kind % 2**16 < ends[4]:
        channels, shift, u_x, u_y = [2 + (which % 2**16) * n_positions // 2**16, 1], 1000, F(0), F(0)
    return (u_x, u_y, v_x, v_y), [threshold + shift for threshold in ladder], channels


def draw_pixels(frame: Any, index: int, stream: int, config: Any, quota: Any) -> list[tuple[int, int]]:
    """Return (row, col) of the pixels of each part with the lowest random numbers, `quota` of them."""
    key = key_of(3, config.seed, stream, index)
    chosen = []
    for part, n in enumerate(quota):
        mine = [
            (number(key, row * frame.shape[1] + col), row, col)
            for row in range(frame.shape[0])
            for col in range(frame.shape[1])
            if frame.parts[row, col] == part and frame.depth_mm[row, col] > 0
        ]
        chosen += [(row, col) for _, row, col in sorted(mine)[:n]]
    return sorted(chosen)


def response(frame: Any, row: int, col: int, probes: tuple[Any, ...], background: int) -> int:
    person = frame.people[row, col]

    def read(x: Any, y: Any) -> int:
        where = []
        for at, meters, focal in ((row, y, frame.camera.fy), (col, x, frame.camera.fx)):
            pixels = meters * (F(focal) * F(1000) / F(frame.depth_mm[row, col]))
            where.append(at + int(math.copysign(math.floor(abs(float(pixels)) + 0.5), pixels)))
        r, c = where
        if not (0 <= r < frame.shape[0] and 0 <= c < frame.shape[1]):
            return background
        if frame.people[r, c] != person or frame.depth_mm[r, c] == 0:
            return background
        return int(frame.depth_mm[r, c])

    return read(*probes[:2]) - read(*probes[2:])


def information(n: int) -> int:
    return round(n * math.log2(n) * 2**20) if n > 1 else 0


def score(left: list[int], right: list[int], criterion: str) -> float:
    if criterion == "gini":
        return sum(n * n for n in left) / sum(left) + sum(n * n for n in right) / sum(right)
    sums = sum(map(information, left)) + sum(map(information, right))
    return float(sums - information(sum(left)) - information(sum(right)))


def gain(counts: list[int], best: float, criterion: str) -> float:
    total = sum(counts)
    if criterion == "gini":
        won = (best - sum(n * n for n in counts) / total) / total
        return won if won > 1e-12 else 0.0
    won = best - (sum(map(information, counts)) - information(total))
    return won / 2**20 / total if won > 1024 else 0.0


def counted(pixels: list[Any], n_parts: int) -> list[int]:
    counts = [0] * n_parts
    for _, _, _, label in pixels:
        counts[label] += 1
    return counts


def grow(frames: list[Any], pixels: list[Any], tree: int, n_parts: int, weights: list[int], config: Any) -> Any:
    """Grow a tree of (frame, row, col, label) pixels, breadth first.

    Returns (offsets, thresholds, children, leaf counts).
    """
    offsets, thresholds, children, leaves = [], [], [], []
    level = [(key_of(1, config.seed, tree), pixels, None)]
    depth = 0
    while level:
        below = []
        for key, mine, parent in level:
            found = best_split(frames, mine, key, n_parts, weights, config) if depth < config.depth else None
            if found is None:
                value = ~len(leaves)
                leaves.append(counted(mine, n_parts))
            else:
                value = len(offsets)
                probes, threshold, left, right = found
                offsets.append(probes)
                thresholds.append(threshold)
                children.append([None, None])
                below += [(mix(key + GOLDEN), left, (value, 0)), (mix(key - GOLDEN), right, (value, 1))]
            if parent is not None:
                children[parent[0]][parent[1]] = value
        level = below
        depth += 1
    return offsets, thresholds, children, leaves


def best_split(frames: list[Any], pixels: list[Any], key: int, n_parts: int, weights: list[int], config: Any) -> Any:
    counts = counted(pixels, n_parts)
    if len(pixels) < config.min_pixels or sum(n > 0 for n in counts) < 2:
        return None
    best, found = -math.inf, None
    for index in range(config.candidates):
        probes, ladder = candidate(key, index, config)
        responses = [response(frames[f], row, col, probes, config.background_mm) for f, row, col, _ in pixels]
        for threshold in ladder:
            left = [p for p, r in zip(pixels, responses, strict=True) if r <= threshold]
            right = [p for p, r in zip(pixels, responses, strict=True) if r > threshold]
            if not left or not right:
                continue
            sides = [[n * w for n, w in zip(counted(s, n_parts), weights, strict=True)] for s in (left, right)]
            its_score = score(*sides, config.criterion)
            if its_score > best:
                best, found = its_score, (probes, threshold, left, right)
    if found is None:
        return None
    weighted = [n * w for n, w in zip(counts, weights, strict=True)]
    return found if gain(weighted, best, config.criterion) > config.min_gain else None
