"""For tests of `compare`: frames of boxes with three stripes, easy to tell apart, and records of learners."""

from __future__ import annotations

from typing import Any

import numpy as np

from depthforest.frames.camera import Camera
from depthforest.frames.frame import LabeledFrame
from depthforest.frames.parts import PartSet

PARTS = PartSet(("left", "middle", "right"))
CAMERA = Camera(60.0, 60.0, 20.0, 15.0, 40, 30)


def striped_frame(rng: np.random.Generator, *, labels: tuple[int, int, int] = (0, 1, 2)) -> LabeledFrame:
    """Return a frame with two boxes, each 3 stripes of 4 columns wide: the person's left, middle and right."""
    depth = np.full((30, 40), 5000, dtype=np.uint16)
    parts = np.full((30, 40), 255, dtype=np.uint8)
    people = np.zeros((30, 40), dtype=np.uint8)
    for person, start in ((1, int(rng.integers(1, 6))), (2, int(rng.integers(21, 26)))):
        top = int(rng.integers(1, 8))
        box = np.s_[top : top + 18, start : start + 12]
        depth[box] = rng.integers(1480, 1520, (18, 12))
        parts[box] = np.repeat(np.array(labels, dtype=np.uint8), 4)
        people[box] = person
    depth[rng.random(depth.shape) < 0.05] = 0
    return LabeledFrame(depth, CAMERA, parts, people, {}, PARTS)


def striped_frames(n: int, seed: int = 0, **options: tuple[int, int, int]) -> list[LabeledFrame]:
    """Return so many of them."""
    rng = np.random.default_rng(seed)
    return [striped_frame(rng, **options) for _ in range(n)]


SETTINGS = {
    "pixels": 1000, "train_frames": 8, "judging_frames": 2, "probes": 5, "seed": 0, "seconds": 2.0, "megabytes": None,
    "rounds": None, "bench": None, "test": None, "parts": ["a", "b"],
}  # fmt: skip


def record(name: str, mean: float, *, is_over: bool = False) -> dict[str, Any]:
    """Return a learner of two fits, of which the second counts."""
    figure = {"value": mean, "low": mean - 0.1, "high": mean + 0.1}
    fit: dict[str, Any] = {
        "n": 4,
        "fit_seconds": 1.5,
        "predict_seconds": 0.0125,
        "bytes": 2_500_000,
        "class_accuracies": [mean, None],
    }
    fit |= {"pixel_accuracy": figure, "mean_class_accuracy": figure}
    start: dict[str, Any] = fit | {
        "n": 1,
        "fit_seconds": 0.5,
        "mean_class_accuracy": {"value": 0.05, "low": 0.0, "high": 0.1},
    }
    return {
        "name": name, "family": "averaging", "library": "depthforest", "size": 4, "unit": "trees", "is_over": is_over,
        "chosen": 1, "fits": [start, fit],
    }  # fmt: skip


RECORDS = [record("bagging", 0.25), record("random-forest", 0.5, is_over=True)]
