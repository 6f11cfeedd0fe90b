"""Pixels that walk in step."""

import numpy as np
import pytest
from support.limbforests import forest_of
from support.randomframes import random_frame

from depthforest.labeling.steps import LANES
from depthforest.labeling.walks import PIECE


@pytest.mark.parametrize("n", [1, LANES - 1, LANES, LANES + 1, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE + 5])
def test_the_last_short_step_is_right(n):
    rng = np.random.default_rng(n)
    frame = random_frame(rng, 1, n, holes=0)
    forest = forest_of(3)
    for threads in (1, 3):
        np.testing.assert_array_equal(forest.label(frame, threads=threads).parts, forest.predict(frame))
