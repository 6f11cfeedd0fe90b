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


def candidate(key: int, index: int, config: Any) -> tuple[tuple[Any, ...], list[int]]:
    """Return (u_x, u_y, v_x, v_y) as float32 and the thresholds in millimetres."""
    counter = mix(key + (index + 1) * GOLDEN)

    def probe() -> tuple[Any, Any]:
        nonlocal counter
        while True:
            counter += GOLDEN
            bits = mix(counter)
            x, y = (F((b % 2**23) * 2 + 1 - 2**23) / F(2**23) for b in (bits, bits >> 41))
            squared = x * x + y * y
            if config.probe_shape == "square" or squared <= 1:
                break
        if config.probe_shape == "radius":
            x, y = x * np.sqrt(squared), y * np.sqrt(squared)
        return x * F(config.probe_range_m), y * F(config.probe_range_m)

    u = probe()
    counter += GOLDEN
    bits = mix(counter)
    step = max(1, config.step_mm >> (bits % 2**32 % config.threshold_scales))
    v = (F(0), F(0)) if (bits >> 32) < round(config.zero_share * 2**32) else probe()
    counter += GOLDEN
    lowest = -(config.thresholds * step // 2) + mix(counter) % step
    return (*u, *v), [lowest + i * step for i in range(config.thresholds)]


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
        for at, metres, focal in ((row, y, frame.camera.fy), (col, x, frame.camera.fx)):
            pixels = metres * (F(focal) * F(1000) / F(frame.depth_mm[row, col]))
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
