"""Random forests of five parts, with and without facings."""

import numpy as np

import depthforest as df
from support import naive_facings

PARTS = df.PartSet(("head", "hand_l", "hand_r", "foot_l", "foot_r"))


def forest_of(seed, n_trees=2, depth=6, n_facings=1, **options):
    return naive_facings.random_forest(np.random.default_rng(seed), n_trees, depth, PARTS, n_facings, **options)
