"""Forests of three parts, their columns and the metadata of their files."""

import numpy as np

import depthforest as df
from support import naive_facings
from support import naive_forest as naive

PARTS = df.PartSet(("head", "hand_l", "hand_r"))
CAMERA = df.Camera(30.0, 34.0, 7.5, 5.5, 16, 12)


def small(seed=0, n_trees=2, depth=4, **options):
    return naive.random_forest(np.random.default_rng(seed), n_trees, depth, PARTS, **options)


def columns(**changes):
    """Two trees, one of two splits and one without, and changes to them."""
    good = {
        "roots": np.array([0, ~3], np.int32),
        "offsets": np.array([[0.1, 0, 0, 0], [0, 0.1, 0, -0.2]], np.float32),
        "thresholds": np.array([10, -20], np.int16),
        "children": np.array([[~0, 1], [~1, ~2]], np.int32),
        "leaves": np.array([[255, 0, 0], [0, 255, 0], [0, 0, 255], [85, 85, 85]], np.uint8),
    }
    return good | changes


def metadata(**changes):
    good = {
        "background_mm": 10_000,
        "config": {},
        "joints": None,
        "mirror": False,
        "parts": PARTS.to_dict(),
        "scores": {},
        "units": {"offsets": "m", "thresholds": "mm"},
    }
    return good | changes


OPTIONS = {
    "background_mm": 9000,
    "config": {"trees": 2, "range_m": 0.4, "names": ["ü", "b"], "nothing": None, "nested": {"seed": 2**64 - 1}},
    "joints": {"bandwidth_m": 0.065},
    "scores": {"accuracy": 0.61},
    "mirror": True,
}


def facing(seed=0, n_trees=2, depth=4, n_facings=4, **options):
    return naive_facings.random_forest(np.random.default_rng(seed), n_trees, depth, PARTS, n_facings, **options)
