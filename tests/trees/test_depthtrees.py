"""Trees as a value, without labeling and files; `test_forest` has the checks and the walk, by way of Forest."""

import copy
from dataclasses import FrozenInstanceError, fields

import numpy as np
import pytest
from support import naive_forest as naive

import depthforest as df
from depthforest.labeling.labeling import label
from depthforest.trees.depthtrees import DepthTrees

PARTS = df.PartSet(("head", "hand_l", "hand_r"))


@pytest.fixture
def forest():
    return naive.random_forest(np.random.default_rng(3), 2, 4, PARTS)


@pytest.fixture
def trees(forest):
    return DepthTrees(**{entry.name: getattr(forest, entry.name) for entry in fields(forest)})


def test_a_forest_adds_no_field(forest):
    assert [entry.name for entry in fields(forest)] == [entry.name for entry in fields(DepthTrees)]


def test_trees_are_equal_by_content(trees, forest):
    assert trees == forest
    assert trees == copy.deepcopy(trees)
    assert type(copy.deepcopy(trees)) is DepthTrees
    assert repr(trees) == repr(forest).replace("Forest(", "DepthTrees(")


def test_trees_are_labeled_as_a_forest(trees, forest):
    rng = np.random.default_rng(0)
    frame = df.Frame(rng.integers(400, 4000, (12, 16)).astype(np.uint16), df.Camera(30, 34, 7.5, 5.5, 16, 12))
    np.testing.assert_array_equal(label(trees, frame).parts, forest.label(frame).parts)
    np.testing.assert_array_equal(trees.predict(frame), forest.predict(frame))


def test_nothing_can_be_set(trees, forest):
    for each in (trees, forest):
        with pytest.raises(FrozenInstanceError):
            each.mirror = True
        with pytest.raises(FrozenInstanceError):
            each.anything = 1
