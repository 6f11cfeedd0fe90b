"""The slow, obvious twin of clothing's kernel."""

from __future__ import annotations

import numpy as np


def smooth(faces: np.ndarray, values: np.ndarray, rounds: int) -> np.ndarray:
    """Move values (n, k) halfway to the mean of their neighbors, a neighbor counting once per shared face."""
    neighbors: dict[int, list[int]] = {i: [] for i in range(len(values))}
    for face in faces.tolist():
        for corner in face:
            neighbors[corner] += [other for other in face if other != corner]
    for _ in range(rounds):
        values = np.array(
            [
                0.5 * (value + values[neighbors[i]].mean(axis=0)) if neighbors[i] else value
                for i, value in enumerate(values)
            ]
        )
    return values
