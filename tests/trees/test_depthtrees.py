"""Trees as a value: what they are made of, equality, copies, and options that are refused."""

import copy
import math
import pickle
from dataclasses import FrozenInstanceError, fields

import numpy as np
import pytest
from support import naive_forest as naive
from support.smallforests import CAMERA, OPTIONS, PARTS, columns, small

import depthforest as df
from depthforest.base.errors import FrameError, ModelError
from depthforest.forest.forest import Forest
from depthforest.labeling.labeling import label
from depthforest.trees.columns import SCHEMA
from depthforest.trees.depthtrees import DepthTrees


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


def test_a_bad_mask_is_refused():
    frame = df.Frame(np.full((12, 16), 900, np.uint16), CAMERA)
    with pytest.raises(FrameError, match="mask has shape"):
        small().walk(frame, np.ones((2, 2), bool))
    with pytest.raises(FrameError, match="mask must be bool"):
        small().predict(frame, np.ones((12, 16), np.uint8))


def test_columns_are_private_and_read_only():
    given_ = columns()
    forest = Forest(**given_, part_set=PARTS)
    given_["offsets"][0, 0] = 9
    assert forest.offsets[0, 0] == np.float32(0.1)
    for name in SCHEMA:
        with pytest.raises(ValueError, match="read-only"):
            getattr(forest, name)[...] = 0
    assert (forest.n_trees, forest.n_nodes, forest.n_leaves, forest.depth) == (2, 2, 4, 2)
    assert forest.parts is PARTS
    assert repr(forest) == "Forest(2 trees, depth 2, 4 leaves, 3 parts)"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"part_set": ("a", "b", "c")}, "part_set must be a PartSet"),
        ({"background_mm": 0}, "background_mm must be a whole number of millimeters from 1 to 65535, got 0"),
        ({"background_mm": 70_000}, "background_mm must be .* got 70000"),
        ({"mirror": 1}, "mirror must be true or false, got 1"),
        ({"config": None}, "config must be a mapping, got NoneType"),
        ({"joints": [1]}, "joints must be a mapping, got list"),
        ({"config": {"depth": np.int64(3)}}, r"config.depth: cannot be"),
        ({"scores": {"a": [1.0, float("nan")]}}, r"scores.a\[1\]: cannot be nan"),
        ({"scores": {1: 2}}, r"scores: cannot be \{1: 2\}; metadata holds dicts with text keys"),
        ({"config": {"a": 2**64}}, "config.a: cannot be a huge number"),
        ({"smooth_m": -0.01}, "smoothing must be a radius from 0 to 0.25 meters, got -0.01"),
        ({"smooth_m": 0.26}, "smoothing must be a radius .* got 0.26"),
        ({"smooth_m": math.nan}, "smoothing must be a radius .* got nan"),
        ({"smooth_m": "much"}, "smoothing must be a radius .* got 'much'"),
        ({"smooth_m": True}, "smoothing must be a radius .* got True"),
        ({"person_confidence": -0.1}, "person_confidence must be from 0 to 1, got -0.1"),
        ({"person_confidence": 1.1}, "person_confidence must be from 0 to 1, got 1.1"),
        ({"person_confidence": math.nan}, "person_confidence must be from 0 to 1, got nan"),
        ({"person_confidence": True}, "person_confidence must be from 0 to 1, got True"),
        ({"evidence": np.zeros((3, 1), np.int8)}, "3 leaves of 1 facings have 3 rows, got 4"),
        ({"evidence": np.zeros((2, 2), np.int8)}, r"root \[1\] is -4, outside the 2 nodes and 2 leaves"),
        ({"evidence": np.zeros((4, 0), np.int8)}, "a forest has 1 to 32 facings, got 0"),
        ({"evidence": np.zeros((4, 33), np.int8)}, "a forest has 1 to 32 facings, got 33"),
        ({"evidence": np.ones((4, 1), np.int8)}, "where there is one facing, evidence must be 0"),
        ({"evidence": np.zeros(4, np.int8)}, r"column evidence must have shape \(leaves, facings\), got \(4,\)"),
        ({"evidence": np.zeros((4, 1))}, "column evidence must be int8, got float64"),
        ({"leaves": 3}, "column leaves must be uint8, got int64"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ModelError, match=message):
        Forest(**{**columns(), "part_set": PARTS, **options})


def test_copies_and_pickles_are_equal_and_read_only():
    forest = small(**OPTIONS)
    for again in (pickle.loads(pickle.dumps(forest)), copy.deepcopy(forest)):
        assert again == forest
        assert not again.leaves.flags.writeable
    assert forest != 3
