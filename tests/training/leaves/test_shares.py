"""Which pixels each leaf answers for: against a plain twin, and that it makes the truth likelier."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import naive_facings
from support.madeup import PARTS, labeled_frame, people_of

from depthforest.training.leaves.shares import share_leaves


def reached(forest, people):
    """Yield for every pixel what it reaches, [(leaf, facing, part), ...]: all trees, straight and mirrored."""
    n = forest.n_facings
    for facing, frame, mask, pixels in people:
        for place, walks in naive_facings.leaves_of(forest, frame, mask, True).items():
            if place in pixels:
                part = int(frame.parts[place])
                yield [(leaf, facing, part) for leaf in walks[0]] + [
                    (leaf, -facing % n, int(forest.part_set.mirror[part])) for leaf in walks[1]
                ]


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n_trees=st.integers(1, 3), n_facings=st.sampled_from([1, 2, 8]))
def test_shares_are_those_of_the_twin(seed, n_trees, n_facings):
    forest = naive_facings.random_forest(np.random.default_rng(seed), n_trees, 4, PARTS, n_facings)
    data = [labeled_frame(seed + i) for i in range(2)]
    people = [person for frame in data for person in people_of(frame, n_facings)]
    expected = np.zeros((forest.n_leaves, n_facings, 3))
    for ends in reached(forest, people):
        said = [1 + int(forest.leaves[leaf * n_facings + f, part]) for leaf, f, part in ends]
        for end, its in zip(ends, said, strict=True):
            expected[end] += len(ends) * its / sum(said)
    told = []
    found = [share_leaves(forest, data, threads=threads, progress=told.append) for threads in (1, 3)]
    assert told == [1] * 4
    assert found[0].dtype == np.float32
    np.testing.assert_array_equal(*found)
    np.testing.assert_allclose(found[0], expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_every_step_makes_the_truth_likelier(seed):
    """Without smoothing and rounding, the mean of the leaves says more of the true parts after a step than before."""
    n_facings, n_parts = 2, len(PARTS)
    forest = naive_facings.random_forest(np.random.default_rng(seed), 3, 4, PARTS, n_facings)
    data = [labeled_frame(seed + i) for i in range(3)]
    pixels = list(reached(forest, [person for frame in data for person in people_of(frame, n_facings)]))

    def likelihood(rows):
        return sum(math.log(sum(rows[leaf * n_facings + f, p] for leaf, f, p in ends) / len(ends)) for ends in pixels)

    shares = share_leaves(forest, data).reshape(-1, n_parts)
    before = (forest.leaves + 1.0) / (forest.leaves + 1.0).sum(axis=1, keepdims=True)
    after = np.where(shares.sum(axis=1, keepdims=True) > 0, shares, 1.0)
    assert likelihood(after / after.sum(axis=1, keepdims=True)) > likelihood(before) + 1
