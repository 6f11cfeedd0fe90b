"""Slow, obvious twins of `synth.poses.diversity`."""

from __future__ import annotations

import numpy as np


def distance(a: np.ndarray, b: np.ndarray) -> float:
    """Return the largest joint distance of two poses (j, 3)."""
    gap = a.astype(np.float64) - b.astype(np.float64)
    return float(np.sqrt((gap[:, 0] * gap[:, 0] + gap[:, 1] * gap[:, 1] + gap[:, 2] * gap[:, 2]).max()))


def thin_poses(positions: np.ndarray, min_distance: float, seed: int) -> list[int]:
    """Keep every pose, in the order drawn from the seed, that is not close to a kept one."""
    kept: list[int] = []
    for pose in np.random.default_rng(seed).permutation(len(positions)):
        if all(distance(positions[pose], positions[other]) >= min_distance for other in kept):
            kept.append(int(pose))
    return kept


def spread_poses(positions: np.ndarray, min_distance: float, seed: int, max_kept: int) -> list[int]:
    """Keep the farthest pose from all kept ones, again and again."""
    kept = [int(np.random.default_rng(seed).integers(len(positions)))]
    while len(kept) < min(max_kept, len(positions)):
        nearest = [min(distance(pose, positions[other]) for other in kept) for pose in positions]
        if max(nearest) < min_distance:
            break
        kept.append(int(np.argmax(nearest)))
    return kept
