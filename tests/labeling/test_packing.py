"""Nodes as kernels walk them."""

import copy
from pathlib import Path

import numpy as np
from support.limbforests import forest_of

import depthforest as df
from depthforest.labeling.packing import CHILDREN, LEAF, TOP_LEVELS, pack, packed_forest

GOLDEN = Path(__file__).resolve().parents[1] / "golden"


def test_siblings_share_a_cache_line_and_leaves_lead_to_themselves():
    forest = df.Forest.load(GOLDEN / "forest.safetensors")
    packed = pack(forest)
    assert packed.values.ctypes.data % 64 == packed.leaves.ctypes.data % 64 == 0
    assert packed.n_bytes == 64 * (forest.n_nodes + forest.n_trees)
    leaf_of, children = packed.links[:, LEAF], packed.links[:, CHILDREN]
    is_leaf = leaf_of >= 0
    np.testing.assert_array_equal(children[is_leaf], np.flatnonzero(is_leaf))
    is_split = packed.values[:, :5].any(axis=1) & ~is_leaf
    assert (children[is_split] % 2 == 0).all()
    assert (children[is_split] > np.flatnonzero(is_split)).all()
    assert sorted(leaf_of[is_leaf]) == list(range(forest.n_leaves))
    # every way through the top leads to where the links lead
    n_levels = min(TOP_LEVELS, forest.depth)
    assert packed.exits.shape == (forest.n_trees, 2**n_levels)
    for way in (0, 1, 2**n_levels // 3, 2**n_levels - 1):
        for tree in range(forest.n_trees):
            row, place = 2 * tree, 0
            for level in reversed(range(n_levels)):
                np.testing.assert_array_equal(packed.top[tree, place], packed.values[row])
                side = way >> level & 1
                row = row if is_leaf[row] else children[row] + side
                place = 2 * place + 1 + side
            assert packed.exits[tree, way] == row
    np.testing.assert_array_equal(packed.leaves[:, : len(forest.part_set)], forest.leaves)
    assert not packed.leaves[:, len(forest.part_set) :].any()


def test_packing_is_made_once():
    forest = forest_of(0)
    assert packed_forest(forest) is packed_forest(forest)
    assert packed_forest(copy.copy(forest)) is not packed_forest(forest)
