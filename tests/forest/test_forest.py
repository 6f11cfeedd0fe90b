"""Forests: their checks, their files, and the plain walk."""

import copy
import hashlib
import json
import math
import pickle
import re
import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import naive_facings
from support import naive_forest as naive

import depthforest as df
from depthforest.base import modelfile
from depthforest.base.errors import DepthForestError, FrameError, ModelError
from depthforest.cli.info import describe
from depthforest.forest import sparserows
from depthforest.forest.file import FACING_VERSION, FORMAT_VERSION, KIND
from depthforest.forest.forest import Forest
from depthforest.frames.parts import BODY31, MAX_PARTS
from depthforest.trees import facings
from depthforest.trees.columns import MAX_DEPTH, MAX_FACING_TREES, MAX_NODES, MAX_TREES, SCHEMA
from depthforest.trees.features import MAX_FOCAL_PX, MAX_OFFSET_M, MAX_OFFSET_PX, probe_offset, responses
from depthforest.trees.quantizing import MAX_LEAF_ERROR, quantise_leaves

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


def frame_of(rng, rows, cols, holes=0.2):
    depth_mm = rng.integers(400, 4000, (rows, cols)).astype(np.uint16)
    depth_mm[rng.random((rows, cols)) < holes] = 0
    return df.Frame(depth_mm, df.Camera(rng.uniform(2, 40), rng.uniform(2, 40), 1.5, 2.5, cols, rows))


# -- the walk


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_trees=st.integers(1, 3),
    depth=st.integers(0, 6),
    rows=st.integers(1, 7),
    cols=st.integers(1, 7),
    on_mask=st.sampled_from([0.0, 0.6, 1.0]),
    background=st.sampled_from([1, 3000, 10_000, 65_535]),
    n_facings=st.sampled_from([1, 1, 2, 8]),
    is_mirrored=st.booleans(),
)
def test_the_walk_equals_its_twin(seed, n_trees, depth, rows, cols, on_mask, background, n_facings, is_mirrored):
    rng = np.random.default_rng(seed)
    forest = naive_facings.random_forest(rng, n_trees, depth, PARTS, n_facings, background_mm=background)
    frame = frame_of(rng, rows, cols)
    mask = rng.random((rows, cols)) < on_mask
    comp = forest.walk(frame, mask, mirror=is_mirrored)
    assert comp.dtype == np.float32
    shares, sums, _ = naive_facings.shares(forest, frame, mask, is_mirrored, "mean")
    places = list(map(tuple, np.argwhere(mask).tolist()))
    ref = np.array([shares.get(place, [0] * 3) for place in places], dtype=np.float32).reshape(-1, 3)
    np.testing.assert_array_equal(comp, ref)
    labels = forest.predict(frame, mask, mirror=is_mirrored)
    assert all(labels[p] == (sums[p].index(max(sums[p])) if p in sums else 255) for p in places)
    if n_facings == 1 and not is_mirrored:
        np.testing.assert_array_equal(comp, naive.walk(forest, frame, mask))
    has_reading = frame.depth_mm[mask] > 0
    np.testing.assert_allclose(comp.sum(axis=1), has_reading, atol=1e-6)


def test_random_frames_reach_many_leaves():
    """The twin test means little if all pixels went one way."""
    rng = np.random.default_rng(0)
    forest = naive.random_forest(rng, 1, 6, PARTS)
    frame = frame_of(rng, 30, 30)
    assert len(np.unique(forest.walk(frame), axis=0)) > forest.n_leaves / 3 > 5


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_the_mirrored_walk_is_the_walk_of_the_mirrored_frame(seed):
    rng = np.random.default_rng(seed)
    forest = naive.random_forest(rng, 2, 5, PARTS, mirror=True)
    frame = frame_of(rng, 9, 11)
    mirrored = df.Frame(frame.depth_mm[:, ::-1], frame.camera.flipped())
    straight = forest.walk(frame, mirror=False)
    other = forest.walk(mirrored, mirror=False).reshape(9, 11, 3)[:, ::-1, PARTS.mirror].reshape(-1, 3)
    np.testing.assert_allclose(forest.walk(frame), (straight + other) / 2, atol=1e-6)
    labels = forest.predict(frame)
    swapped = forest.predict(mirrored)[:, ::-1]
    ties = (np.sort(forest.walk(frame), axis=1)[:, -1] == np.sort(forest.walk(frame), axis=1)[:, -2]).reshape(9, 11)
    np.testing.assert_array_equal(PARTS.mirror_table[swapped][~ties], labels[~ties])


def test_a_hand_made_tree_decides_as_drawn():
    """A pixel whose right neighbour is farther by more than 10 mm goes right."""
    forest = Forest(
        np.array([0], np.int32),
        np.array([[1, 0, 0, 0]], np.float32),
        np.array([10], np.int16),
        np.array([[~0, ~1]], np.int32),
        np.array([[255, 0, 0], [0, 0, 255]], np.uint8),
        PARTS,
    )
    frame = df.Frame(np.array([[1000, 1010, 1021, 0]], np.uint16), df.Camera(1, 1, 0, 0, 4, 1))
    # 1010 - 1000 is not above 10; 1021 - 1010 is; beside 1021 is no reading: 10,000
    assert forest.predict(frame).tolist() == [[0, 2, 2, 255]]
    # off the mask is background too
    assert forest.predict(frame, np.array([[True, False, True, True]])).tolist() == [[2, 255, 2, 255]]


def test_nothing_to_walk():
    forest = small()
    empty = df.Frame(np.zeros((12, 16), np.uint16), CAMERA)
    assert not forest.walk(empty).any()
    assert (forest.predict(empty) == 255).all()
    assert forest.walk(empty, np.zeros((12, 16), bool)).shape == (0, 3)
    one = df.Frame(np.array([[900]], np.uint16), df.Camera(500, 500, 0, 0, 1, 1))
    np.testing.assert_array_equal(forest.walk(one), naive.walk(forest, one, np.array([[True]])))


def test_ties_go_to_the_lowest_part():
    leaves = np.array([[85, 85, 85]], np.uint8)
    nothing = np.empty((0, 4), np.float32), np.empty(0, np.int16), np.empty((0, 2), np.int32)
    forest = Forest(np.array([~0], np.int32), *nothing, leaves, PARTS)
    assert (forest.predict(df.Frame(np.full((12, 16), 900, np.uint16), CAMERA)) == 0).all()
    assert (forest.depth, forest.n_nodes, forest.n_leaves) == (0, 0, 1)


def test_a_bad_mask_is_refused():
    frame = df.Frame(np.full((12, 16), 900, np.uint16), CAMERA)
    with pytest.raises(FrameError, match="mask has shape"):
        small().walk(frame, np.ones((2, 2), bool))
    with pytest.raises(FrameError, match="mask must be bool"):
        small().predict(frame, np.ones((12, 16), np.uint8))


# -- leaves


@settings(max_examples=200, deadline=None)
@given(st.lists(st.floats(0, 1e6, allow_subnormal=False), min_size=1, max_size=40).filter(any))
def test_quantised_leaves_sum_to_255_and_stay_close(weights):
    row = quantise_leaves(np.array([weights]))[0]
    assert row.tolist() == naive.quantise_row(weights)
    assert row.sum(dtype=int) == 255
    shares = np.array(weights) / np.sum(weights)
    assert np.abs(row / 255 - shares).max() < MAX_LEAF_ERROR + 1e-9
    order = np.argsort(shares, kind="stable")
    is_larger = np.diff(shares[order]) > 1e-9
    assert (np.diff(row[order].astype(int))[is_larger] >= 0).all()


def test_quantising_is_exact_where_it_can_be():
    assert quantise_leaves([[1, 1]]).tolist() == [[128, 127]]
    assert quantise_leaves([[1, 1, 1], [0, 7, 0]]).tolist() == [[85, 85, 85], [0, 255, 0]]
    assert quantise_leaves(np.ones((1, 31))).tolist() == [[9] * 7 + [8] * 24]
    rng = np.random.default_rng(0)
    rows = quantise_leaves(rng.random((500, 31)))
    np.testing.assert_array_equal(quantise_leaves(rows), rows)


def test_the_stated_error_is_nearly_reached():
    """Thirty parts share one 255th: the first gets all of it."""
    row = np.array([[254 * 30, *[1] * 30]]) / (255 * 30)
    assert 0.9 * MAX_LEAF_ERROR < np.abs(quantise_leaves(row) / 255 - row).max() < MAX_LEAF_ERROR


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ([1.0, 2.0], r"shape \(leaves, parts\), got float64 of shape \(2,\)"),
        ([["a"]], r"must be numbers"),
        (np.empty((3, 0)), r"shape \(leaves, parts\)"),
        ([[1.0, 0], [0.5, -0.1]], "distribution 1 must have no negative"),
        ([[0.0, 0.0]], "distribution 0 must .* sum above 0"),
        ([[np.nan, 1]], "distribution 0"),
        ([[np.inf, 1]], "distribution 0"),
        ([[1e308, 1e308]], "distribution 0 must .* a finite sum"),
    ],
)
def test_bad_distributions(bad, message):
    with pytest.raises(ModelError, match=message):
        quantise_leaves(bad)


# -- checks


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


def chain(n):
    """Return columns of one tree that is a chain of n splits."""
    nodes = np.arange(n, dtype=np.int32)
    children = np.stack((~nodes, np.append(nodes[1:], ~n)), axis=1).astype(np.int32)
    leaves = np.tile(np.array([255, 0, 0], np.uint8), (n + 1, 1))
    return {
        "roots": np.array([0], np.int32),
        "offsets": np.zeros((n, 4), np.float32),
        "thresholds": np.zeros(n, np.int16),
        "children": children,
        "leaves": leaves,
    }


def changed(name, index, value):
    array = columns()[name]
    array[index] = value
    return columns(**{name: array})


FOUR = columns()["leaves"]
BAD_COLUMNS = {
    "cycle": (
        columns(
            roots=np.array([~0, ~1], np.int32),
            children=np.array([[1, ~2], [0, ~3]], np.int32),
        ),
        "node 0 is part of a cycle: no root leads to it",
    ),
    "own child": (
        columns(roots=np.array([0, ~3], np.int32), children=np.array([[~0, ~1], [1, ~2]], np.int32)),
        "node 1 is part of a cycle",
    ),
    "root in a cycle": (changed("children", (1, 0), 0), "node 0 has 2 parents"),
    "two parents": (changed("children", (0, 0), 1), "node 1 has 2 parents"),
    "shared leaf": (changed("children", (1, 1), ~0), "leaf 0 has 2 parents"),
    "two trees with one root": (changed("roots", 1, 0), "node 0 has 2 parents"),
    "orphan node": (changed("children", (0, 1), ~2), "node 1 has 0 parents"),
    "orphan leaf": (columns(leaves=FOUR[[0, 1, 2, 3, 3]]), "leaf 4 has 0 parents"),
    "node out of range": (changed("children", (1, 0), 2), r"child \[1, 0\] is 2, outside the 2 nodes and 4 leaves"),
    "leaf out of range": (changed("children", (1, 0), ~4), r"child \[1, 0\] is -5, outside"),
    "root out of range": (changed("roots", 0, 7), r"root \[0\] is 7, outside"),
    "smallest link": (changed("roots", 0, -(2**31)), r"root \[0\] is -2147483648, outside"),
    "no trees": (columns(roots=np.empty(0, np.int32)), "has 1 to 1024 trees, got 0"),
    "too many trees": (columns(roots=np.zeros(1025, np.int32)), "has 1 to 1024 trees, got 1025"),
    "too deep": (chain(MAX_DEPTH + 1), "deeper than 64 splits"),
    "NaN offset": (changed("offsets", (1, 2), np.nan), "offsets of node 1 must be finite and at most 10 m, got .*nan"),
    "infinite offset": (changed("offsets", (0, 3), -np.inf), "offsets of node 0 must be finite"),
    "far offset": (changed("offsets", (0, 3), 10.1), "offsets of node 0 must be finite and at most 10 m"),
    "leaf sum": (changed("leaves", (2, 2), 254), "leaf 2 sums to 254, expected 255"),
    "leaf sum of 511": (changed("leaves", (2, 0), 255), "leaf 2 sums to 510, expected 255"),
    "dtype": (columns(thresholds=np.zeros(2, np.int32)), "column thresholds must be int16, got int32"),
    "float leaves": (columns(leaves=FOUR / 255), "column leaves must be uint8, got float64"),
    "shape": (
        columns(offsets=np.zeros((2, 3), np.float32)),
        r"column offsets must have shape \(nodes, 4\), got \(2, 3\)",
    ),
    "lengths": (columns(thresholds=np.zeros(3, np.int16)), r"column thresholds must have shape \(2\), got \(3,\)"),
    "dimensions": (columns(roots=np.zeros((2, 1), np.int32)), r"column roots must have shape \(trees\), got \(2, 1\)"),
    "parts": (columns(leaves=np.full((4, 1), 255, np.uint8)), "leaves have 1 parts, the part set 3"),
}


@pytest.mark.parametrize("case", BAD_COLUMNS)
def test_bad_columns(case, tmp_path):
    bad, message = BAD_COLUMNS[case]
    with pytest.raises(ModelError, match=message):
        Forest(**bad, part_set=PARTS)
    # and the same from a file, with its name
    path = tmp_path / "bad.safetensors"
    modelfile.write(path, KIND, FORMAT_VERSION, metadata(), bad)
    with pytest.raises(ModelError, match=rf"^{re.escape(str(path))}: .*{message}") as caught:
        Forest.load(path)
    assert "\n" not in str(caught.value)


def test_more_nodes_than_any_file_holds(monkeypatch):
    monkeypatch.setattr("depthforest.trees.columns.MAX_NODES", 1)
    with pytest.raises(ModelError, match="a forest has at most 1 nodes, got 2"):
        Forest(**columns(), part_set=PARTS)


def test_the_deepest_tree_is_taken_and_walked():
    forest = Forest(**chain(MAX_DEPTH), part_set=PARTS)
    assert forest.depth == MAX_DEPTH
    forest.walk(df.Frame(np.full((12, 16), 900, np.uint16), CAMERA))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"part_set": ("a", "b", "c")}, "part_set must be a PartSet"),
        ({"background_mm": 0}, "background_mm must be a whole number of millimetres from 1 to 65535, got 0"),
        ({"background_mm": 70_000}, "background_mm must be .* got 70000"),
        ({"mirror": 1}, "mirror must be true or false, got 1"),
        ({"config": None}, "config must be a mapping, got NoneType"),
        ({"joints": [1]}, "joints must be a mapping, got list"),
        ({"config": {"depth": np.int64(3)}}, r"config.depth: cannot be"),
        ({"scores": {"a": [1.0, float("nan")]}}, r"scores.a\[1\]: cannot be nan"),
        ({"scores": {1: 2}}, r"scores: cannot be \{1: 2\}; metadata holds dicts with text keys"),
        ({"config": {"a": 2**64}}, "config.a: cannot be a huge number"),
        ({"smooth_m": -0.01}, "smoothing must be a radius from 0 to 0.25 metres, got -0.01"),
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


def test_a_full_tree_of_a_million_nodes_is_checked():
    n = 2**20 - 1
    nodes = np.arange(n, dtype=np.int32)
    children = np.stack((2 * nodes + 1, 2 * nodes + 2), axis=1)
    children = np.where(children < n, children, ~(children - n)).astype(np.int32)
    leaves = np.zeros((n + 1, 31), np.uint8)
    leaves[:, 3] = 255
    forest = Forest(
        np.array([0], np.int32), np.zeros((n, 4), np.float32), np.zeros(n, np.int16), children, leaves, BODY31
    )
    assert forest.depth == 20


# -- files


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


def test_what_is_saved_loads_back_the_same(tmp_path):
    for seed, n_trees, depth in ((0, 2, 4), (1, 1, 0), (2, 3, 8)):
        forest = small(seed, n_trees, depth, **OPTIONS)
        forest.save(tmp_path / "a.safetensors")
        again = Forest.load(tmp_path / "a.safetensors")
        assert again == forest
        assert again != small(seed + 10, n_trees, 5, **OPTIONS)
        again.save(str(tmp_path / "b.safetensors"))
        assert (tmp_path / "a.safetensors").read_bytes() == (tmp_path / "b.safetensors").read_bytes()
        assert sorted(p.name for p in tmp_path.iterdir()) == ["a.safetensors", "b.safetensors"]
        assert all(not getattr(again, name).flags.writeable for name in SCHEMA)


def facing(seed=0, n_trees=2, depth=4, n_facings=4, **options):
    return naive_facings.random_forest(np.random.default_rng(seed), n_trees, depth, PARTS, n_facings, **options)


@pytest.mark.parametrize(("n_facings", "smooth_m"), [(2, 0.0), (32, 0.03), (1, 0.25), (1, 0.0)])
def test_facings_and_smoothing_load_back_the_same(n_facings, smooth_m, tmp_path):
    forest = facing(1, 2, 5, n_facings, smooth_m=smooth_m, **OPTIONS)
    forest.save(tmp_path / "a")
    file = modelfile.read(tmp_path / "a")
    assert file.version == (FORMAT_VERSION if n_facings == 1 and not smooth_m else FACING_VERSION)
    again = Forest.load(tmp_path / "a")
    assert again == forest == pickle.loads(pickle.dumps(forest))
    assert (again.n_facings, again.smooth_m) == (n_facings, smooth_m)
    assert all(not getattr(again, name).flags.writeable for name in SCHEMA)
    again.save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert again != replace(forest, smooth_m=0.1)
    if n_facings > 1:
        assert again != replace(forest, evidence=-forest.evidence)
        assert repr(again).endswith(f"3 parts, {n_facings} facings)")
    replace(forest, smooth_m=-0.0).save(tmp_path / "c")
    replace(forest, smooth_m=0).save(tmp_path / "d")
    assert (tmp_path / "c").read_bytes() == (tmp_path / "d").read_bytes()


def test_the_confidence_of_people_loads_back_the_same(tmp_path):
    forest = small(1, 2, 5, person_confidence=0.21, **OPTIONS)
    forest.save(tmp_path / "a")
    assert modelfile.read(tmp_path / "a").version == FACING_VERSION
    assert Forest.load(tmp_path / "a") == forest != replace(forest, person_confidence=0.2)
    assert dict(describe(tmp_path / "a"))["confidence of people"] == "21% and more"


def facing_columns(**changes):
    """The columns of a file of version 2: two trees without a split, two facings; and changes to them."""
    good = {
        "roots": np.array([~0, ~1], np.int32),
        "offsets": np.empty((0, 4), np.float32),
        "thresholds": np.empty(0, np.int16),
        "children": np.empty((0, 2), np.int32),
        "evidence": np.array([[5, -5], [0, 1]], np.int8),
        "row_lengths": np.array([[1, 2], [3, 1]], np.uint8),
        "row_parts": np.array([0, 0, 2, 0, 1, 2, 1], np.uint8),
        "row_shares": np.array([255, 200, 55, 85, 85, 85, 255], np.uint8),
    }
    return good | changes


def test_a_file_with_facings_by_hand(tmp_path):
    modelfile.write(
        tmp_path / "m", KIND, FACING_VERSION, metadata(smooth_m=0.05, person_confidence=0.2), facing_columns()
    )
    forest = Forest.load(tmp_path / "m")
    assert forest.leaves.tolist() == [[255, 0, 0], [200, 0, 55], [85, 85, 85], [0, 255, 0]]
    assert (forest.n_leaves, forest.n_facings, forest.smooth_m, forest.person_confidence) == (2, 2, 0.05, 0.2)
    lines = dict(describe(tmp_path / "m"))
    assert (lines["facings"], lines["smoothing"]) == ("2", "0.05 m")
    assert lines["kind"] == "depth_forest, format version 2"


BAD_FACINGS = {
    "too few entries": (facing_columns(row_lengths=np.array([[1, 2], [3, 2]], np.uint8)), "row_lengths sum to 8, but"),
    "no entries": (
        facing_columns(row_parts=np.empty(0, np.uint8), row_shares=np.empty(0, np.uint8)),
        "row_lengths sum to 7, but there are 0 row_parts",
    ),
    "parts and shares": (
        facing_columns(row_shares=np.array([255, 200, 55, 85, 85, 85], np.uint8)),
        r"column row_shares must have shape \(7\), got \(6,\)",
    ),
    "falling parts": (
        facing_columns(row_parts=np.array([0, 2, 0, 0, 1, 2, 1], np.uint8)),
        "row 1 must have parts that rise and are below 3, and shares above 0",
    ),
    "a part twice": (facing_columns(row_parts=np.array([0, 0, 0, 0, 1, 2, 1], np.uint8)), "row 1 must have parts"),
    "a part of no set": (facing_columns(row_parts=np.array([0, 0, 3, 0, 1, 2, 1], np.uint8)), "row 1 must have parts"),
    "a share of 0": (
        facing_columns(row_shares=np.array([255, 200, 0, 85, 85, 85, 255], np.uint8)),
        "row 1 must have .* shares above 0",
    ),
    "a sum of 254": (
        facing_columns(row_shares=np.array([255, 200, 54, 85, 85, 85, 255], np.uint8)),
        "leaf 1 sums to 254, expected 255",
    ),
    "an empty row": (
        facing_columns(
            row_lengths=np.array([[0, 2], [3, 1]], np.uint8),
            row_parts=np.array([0, 2, 0, 1, 2, 1], np.uint8),
            row_shares=np.array([200, 55, 85, 85, 85, 255], np.uint8),
        ),
        "leaf 0 sums to 0, expected 255",
    ),
    "shapes that differ": (
        facing_columns(row_lengths=np.array([[1, 2, 3, 1]], np.uint8)),
        r"column row_lengths must have shape \(2, 2\), got \(1, 4\)",
    ),
    "no facings": (
        facing_columns(
            evidence=np.empty((2, 0), np.int8),
            row_lengths=np.empty((2, 0), np.uint8),
            row_parts=np.empty(0, np.uint8),
            row_shares=np.empty(0, np.uint8),
        ),
        "a forest has 1 to 32 facings, got 0",
    ),
    "too many facings": (
        facing_columns(
            evidence=np.zeros((2, 33), np.int8),
            row_lengths=np.ones((2, 33), np.uint8),
            row_parts=np.zeros(66, np.uint8),
            row_shares=np.full(66, 255, np.uint8),
        ),
        "a forest has 1 to 32 facings, got 33",
    ),
    "more leaves than links": (
        facing_columns(
            evidence=np.zeros((3, 1), np.int8),
            row_lengths=np.ones((3, 1), np.uint8),
            row_parts=np.zeros(3, np.uint8),
            row_shares=np.full(3, 255, np.uint8),
        ),
        "leaf 2 has 0 parents",
    ),
    "another type": (facing_columns(evidence=np.zeros((2, 2), np.int16)), "column evidence must be int8, got int16"),
    "long parts": (facing_columns(row_parts=np.zeros(7, np.int32)), "column row_parts must be uint8, got int32"),
    "leaves as well": (facing_columns(leaves=np.zeros((4, 3), np.uint8)), "has the unknown column 'leaves'"),
}


@pytest.mark.parametrize("case", BAD_FACINGS)
def test_bad_files_with_facings(case, tmp_path):
    bad, message = BAD_FACINGS[case]
    path = tmp_path / "bad.safetensors"
    modelfile.write(path, KIND, FACING_VERSION, metadata(smooth_m=0.0, person_confidence=0.0), bad)
    with pytest.raises(ModelError, match=rf"^{re.escape(str(path))}: .*{message}") as caught:
        Forest.load(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", [-0.1, 0.3, 10**30, "0.03", None, [0.03], True, {"": 0}])
def test_bad_smoothing_in_a_file(value, tmp_path):
    path = tmp_path / "bad.safetensors"
    modelfile.write(path, KIND, FACING_VERSION, metadata(smooth_m=0.1, person_confidence=0), facing_columns())
    good = path.read_bytes()
    n_header = int.from_bytes(good[:8], "little")
    header = json.loads(good[8 : 8 + n_header])
    content = json.loads(header["__metadata__"]["depthforest"]) | {"smooth_m": value}
    header["__metadata__"]["depthforest"] = json.dumps(content)
    raw = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(raw)) + raw + good[8 + n_header :])
    with pytest.raises(ModelError, match=rf"^{re.escape(str(path))}: [^\n]+$"):
        Forest.load(path)


def test_huge_rows_are_refused_before_memory_is_taken(tmp_path, monkeypatch):
    monkeypatch.setattr("depthforest.forest.sparserows.MAX_FILE_BYTES", 11)
    modelfile.write(tmp_path / "m", KIND, FACING_VERSION, metadata(smooth_m=0.1, person_confidence=0), facing_columns())
    with pytest.raises(ModelError, match="4 rows of 3 parts need more than 11 bytes of memory"):
        Forest.load(tmp_path / "m")


def test_the_bytes_of_a_file_are_what_they_were(tmp_path):
    """Whatever the versions of Python and numpy; if this must change, so must the format version."""
    Forest(**columns(), part_set=PARTS, **OPTIONS).save(tmp_path / "m")
    digest = hashlib.sha256((tmp_path / "m").read_bytes()).hexdigest()
    assert digest == "47f2d56d4628da37b7f000694c5cc476e6ab1f9677ee49e28ce20d5a91442518"


def test_the_order_of_metadata_does_not_change_the_bytes(tmp_path):
    small(config={"a": 1, "b": 2}).save(tmp_path / "a")
    small(config={"b": 2, "a": 1}).save(tmp_path / "b")
    small(config={"b": 2, "a": 3}).save(tmp_path / "c")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes() != (tmp_path / "c").read_bytes()


def test_copies_and_pickles_are_equal_and_read_only():
    forest = small(**OPTIONS)
    for again in (pickle.loads(pickle.dumps(forest)), copy.deepcopy(forest)):
        assert again == forest
        assert not again.leaves.flags.writeable
    assert forest != 3


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"parts": {"names": ["a", "a", "b"]}}, "parts: part names must be unique"),
        ({"parts": {"names": ["a", "b"]}}, "leaves have 3 parts, the part set 2"),
        ({"parts": 3}, "parts: expected an object"),
        ({"parts": {**PARTS.to_dict(), "colors": 3}}, r"parts: colors must be a list of \[r, g, b\], got 3"),
        ({"parts": {**PARTS.to_dict(), "mirror": [[0, 1], [1, 2]]}}, "another pair has already"),
        ({"units": {"offsets": "mm", "thresholds": "mm"}}, "units must be .*'m'.* got .*'offsets': 'mm'"),
        ({"background_mm": 0}, "background_mm must be"),
        ({"background_mm": True}, "background_mm must be"),
        ({"mirror": "no"}, "mirror must be true or false"),
        ({"config": [1]}, "config must be a mapping, got list"),
        ({"parts": {"names": ["a"], "x\ny": 1}}, "parts: unknown keys x[?]y; known are names"),
        ({"more": 1}, "has the unknown metadata key 'more'; expected background_mm"),
    ],
)
def test_bad_metadata(changes, message, tmp_path):
    path = tmp_path / "bad.safetensors"
    modelfile.write(path, KIND, FORMAT_VERSION, metadata(), columns())
    Forest.load(path)
    modelfile.write(path, KIND, FORMAT_VERSION, metadata(**changes), columns())
    with pytest.raises(ModelError, match=rf"^{re.escape(str(path))}: .*{message}"):
        Forest.load(path)


@pytest.mark.parametrize("key", metadata())
def test_a_missing_key_is_named(key, tmp_path):
    content = metadata()
    del content[key]
    modelfile.write(tmp_path / "bad", KIND, FORMAT_VERSION, content, columns())
    with pytest.raises(ModelError, match=f"lacks the metadata key {key}; expected background_mm, config"):
        Forest.load(tmp_path / "bad")


def test_wrong_kinds_versions_and_columns(tmp_path):
    path = tmp_path / "bad"
    modelfile.write(path, "boosted_trees", FORMAT_VERSION, metadata(), columns())
    with pytest.raises(ModelError, match="of kind 'boosted_trees', expected 'depth_forest'"):
        Forest.load(path)
    modelfile.write(path, KIND, 3, metadata(), columns())
    with pytest.raises(ModelError, match="has format version 3, this depthforest reads 2; update depthforest"):
        Forest.load(path)
    modelfile.write(path, KIND, 2, metadata(), columns())
    with pytest.raises(ModelError, match="lacks the metadata key person_confidence, smooth_m; expected background_mm"):
        Forest.load(path)
    modelfile.write(path, KIND, 2, metadata(smooth_m=0.0, person_confidence=0.0), columns())
    with pytest.raises(ModelError, match="lacks the column evidence, row_lengths, row_parts, row_shares; expected"):
        Forest.load(path)
    modelfile.write(path, KIND, 1, metadata(smooth_m=0.0), columns())
    with pytest.raises(ModelError, match="has the unknown metadata key 'smooth_m'"):
        Forest.load(path)
    modelfile.write(path, KIND, 0, metadata(), columns())
    with pytest.raises(ModelError, match=r"has format version 0, .* save it again with the version that made it"):
        Forest.load(path)
    modelfile.write(path, KIND, 1, metadata(), columns(extra=np.zeros(3, np.uint8)))
    with pytest.raises(ModelError, match="has the unknown column 'extra'; expected roots"):
        Forest.load(path)
    fewer = columns()
    del fewer["children"]
    modelfile.write(path, KIND, 1, metadata(), fewer)
    with pytest.raises(ModelError, match="lacks the column children; expected roots"):
        Forest.load(path)


def load_or_message(path):
    try:
        return Forest.load(path), ""
    except DepthForestError as error:
        return None, str(error)


@pytest.mark.parametrize("version", [FORMAT_VERSION, FACING_VERSION])
def test_mutated_files_load_soundly_or_are_refused(version, tmp_path):
    """Flipped, cut, repeated and swapped bytes: a forest that walks, or one clear line."""
    path = tmp_path / "model.safetensors"
    options = {"config": {"seed": 7}}
    (small(3, 2, 5, **options) if version == FORMAT_VERSION else facing(3, 2, 4, 2, smooth_m=0.1, **options)).save(path)
    good = path.read_bytes()
    rng = np.random.default_rng(0)
    frame = frame_of(rng, 6, 6)
    n_header = int.from_bytes(good[:8], "little")
    n_loaded = 0
    for i in range(600):
        raw = bytearray(good)
        for _ in range(rng.integers(1, 4)):
            # a third each: header, columns, anywhere
            low, high = [(0, 8 + n_header), (8 + n_header, len(good)), (0, len(good))][i % 3]
            at = int(rng.integers(low, min(high, len(raw)))) if min(high, len(raw)) > low else 0
            kind = rng.integers(0, 10)
            if kind < 6:
                raw[at] = rng.integers(0, 256)
            elif kind == 6:
                raw[at] ^= 1 << int(rng.integers(0, 8))
            elif kind == 7:
                del raw[at : at + int(rng.integers(1, 20))]
            elif kind == 8:
                raw[at:at] = raw[at : at + int(rng.integers(1, 20))]
            else:
                raw[at : at + 4] = rng.choice([b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", b"\0\0\0\x80", b"9999"])
            if not raw:
                raw = bytearray(b"x")
        path.write_bytes(raw)
        forest, message = load_or_message(path)
        if forest is None:
            assert message.startswith(f"{path}: ")
            assert "\n" not in message
            continue
        n_loaded += 1
        rows = forest.walk(frame)
        np.testing.assert_allclose(rows.sum(axis=1), frame.depth_mm.ravel() > 0, atol=1e-6)
        assert ((forest.label(frame).parts != 255) == (frame.depth_mm > 0)).all()
    assert 20 < n_loaded < 400


def values_of(name):
    """Return (column, position, value) of anything that a file can hold in a column."""
    if name == "offsets":
        value = st.floats(width=32) | st.floats(-12, 12, width=32)
    else:
        limits = np.iinfo(SCHEMA[name].dtype)
        value = st.integers(max(limits.min, -40), min(limits.max, 40)) | st.integers(limits.min, limits.max)
    return st.tuples(st.just(name), st.integers(0, 2**20), value)


@settings(max_examples=200, deadline=None)
@given(changes=st.lists(st.one_of([values_of(name) for name in SCHEMA if name != "evidence"]), min_size=1, max_size=3))
def test_mutated_values_make_a_sound_forest_or_are_refused(changes, tmp_path_factory):
    """Values as a hostile file may hold them, in a container that is sound: links, cycles, sums, NaN."""
    forest = small(3, 2, 5)
    altered = {name: getattr(forest, name).copy() for name in SCHEMA if name != "evidence"}
    for name, at, value in changes:
        altered[name].reshape(-1)[at % altered[name].size] = value
    path = tmp_path_factory.getbasetemp() / "mutant"
    modelfile.write(path, KIND, FORMAT_VERSION, metadata(), altered)
    mutant, message = load_or_message(path)
    if mutant is None:
        assert message.startswith(f"{path}: ")
        assert "\n" not in message
        return
    frame = frame_of(np.random.default_rng(0), 6, 6)
    np.testing.assert_allclose(mutant.walk(frame).sum(axis=1), frame.depth_mm.ravel() > 0, atol=1e-6)


# -- info


def test_info_says_what_a_model_is(tmp_path):
    path = tmp_path / "m.safetensors"
    small(0, 2, 4, **{**OPTIONS, "scores": {"by part": {"head": 0.5}, "odd\x1b[2J": "x" * 500}}).save(path)
    lines = dict(describe(path))
    forest = Forest.load(path)
    assert lines["kind"] == "depth_forest, format version 1"
    assert lines["trees"] == "2"
    assert lines["depth"] == str(forest.depth)
    assert lines["nodes"] == str(forest.n_nodes)
    assert lines["parts"] == "3: head, hand_l, hand_r"
    assert lines["background"] == "9000 mm"
    assert lines["mirrored walk"] == "yes"
    assert lines["facings"] == "none: each pixel by itself"
    assert lines["smoothing"] == "none"
    assert lines["config.nested.seed"] == str(2**64 - 1)
    assert lines["joints.bandwidth_m"] == "0.065"
    assert lines["scores.by part.head"] == "0.5"
    assert len(lines["scores.odd?[2J"]) == 200
    assert lines["size"] == f"{path.stat().st_size:,} bytes"


def test_info_refuses_what_it_does_not_know(tmp_path):
    modelfile.write(tmp_path / "m", "sandwich", 1, {}, {})
    with pytest.raises(ModelError, match="m: holds a model of kind 'sandwich'; known are depth_forest"):
        describe(tmp_path / "m")
    with pytest.raises(ModelError, match="cannot be read: no such file"):
        describe(tmp_path / "none")


# -- the page that describes the format


def page():
    return (Path(__file__).resolve().parents[2] / "docs" / "MODEL_FORMAT.md").read_text()


def test_the_worked_example_of_the_page():
    example = json.loads(re.findall(r"```json\n(.*?)```", page(), re.DOTALL)[0])
    dtypes = {name: entry.dtype for name, entry in SCHEMA.items() if name != "evidence"}
    forest = Forest(
        **{name: np.array(example[name], dtype=dtype) for name, dtype in dtypes.items()},
        part_set=df.PartSet.from_dict({"names": example["names"], "mirror": example["mirror"]}),
        background_mm=example["background_mm"],
    )
    depth_mm = np.array(example["depth_mm"], np.uint16)
    fx, fy = np.float32(example["fx"]), np.float32(example["fy"])
    camera = df.Camera(example["fx"], example["fy"], 0, 0, depth_mm.shape[1], depth_mm.shape[0])
    row, col = example["row"], example["col"]
    offset_pixels = [
        [probe_offset(m, f, depth_mm[row, col]) for m, f in zip(offsets, (fx, fy, fx, fy), strict=True)]
        for offsets in forest.offsets
    ]
    assert offset_pixels == example["offset_pixels"]
    values = responses(depth_mm, [[row, col]], forest.offsets, camera, forest.background_mm)[0]
    assert values.tolist() == example["responses"]
    link, links = forest.roots[0], []
    while link >= 0:
        link = forest.children[link, int(values[link] > forest.thresholds[link])]
        links.append(link)
    assert links == example["links"]
    frame, mask = df.Frame(depth_mm, camera), np.ones(depth_mm.shape, bool)
    at = row * depth_mm.shape[1] + col
    assert forest.walk(frame, mask)[at].tolist() == (np.float32(example["sums"]) / np.float32(255)).tolist()
    assert forest.predict(frame, mask)[row, col] == example["label"]
    mirrored = forest.walk(frame, mask, mirror=True)[at]
    assert mirrored.tolist() == (np.float32(example["mirrored_sums"]) / np.float32(510)).tolist()
    assert forest.predict(frame, mask, mirror=True)[row, col] == example["mirrored_label"]


def test_the_example_with_facings_of_the_page():
    example = json.loads(re.findall(r"```json\n(.*?)```", page(), re.DOTALL)[1])
    leaves, evidence = np.array(example["leaves"], np.uint8), np.array(example["evidence"], np.int8)
    forest = Forest(
        np.array(example["roots"], np.int32),
        np.array(example["offsets"], np.float32),
        np.array(example["thresholds"], np.int16),
        np.array(example["children"], np.int32),
        leaves,
        df.PartSet.from_dict({"names": example["names"], "mirror": example["mirror"]}),
        example["background_mm"],
        evidence=evidence,
        smooth_m=example["smooth_m"],
    )
    packed = sparserows.packed(leaves, 2)
    assert {name: packed[name].tolist() for name in packed} == {name: example[name] for name in packed}
    depth_mm = np.array(example["depth_mm"], np.uint16)
    frame = df.Frame(depth_mm, df.Camera(example["fx"], example["fy"], 0, 0, depth_mm.shape[1], depth_mm.shape[0]))
    mask = np.ones(depth_mm.shape, bool)
    sums, weights = naive_facings.sums(forest, frame, mask, False, "mean")
    assert weights == example["weights"]
    assert [sums[0, col] for col in range(depth_mm.shape[1])] == example["sums"]
    smoothed = naive_facings.smoothed(sums, frame, forest.smooth_m)
    assert [smoothed[0, col] for col in range(depth_mm.shape[1])] == example["smoothed_sums"]
    assert forest.predict(frame).tolist()[0] == example["labels"]
    assert forest.label(frame).parts.tolist()[0] == example["smoothed_labels"]


def test_the_page_names_every_column_key_and_limit():
    text = page()
    for name, entry in {**SCHEMA, **sparserows.SCHEMA}.items():
        code = modelfile.CODES[entry.dtype]
        assert re.search(rf"^\| `{name}` \| {code} \|", text, re.MULTILINE), name
    for key in (*metadata(), "kind", "format", "smooth_m", "person_confidence"):
        assert f"| `{key}` |" in text, key
    limits = dict(re.findall(r"^\| ([a-z].+?) \| (\d+)", text.partition("## Limits")[2], re.MULTILINE))
    assert {key: int(value) for key, value in limits.items()} == {
        "file": modelfile.MAX_FILE_BYTES,
        "metadata text": modelfile.MAX_METADATA_BYTES,
        "columns": modelfile.MAX_COLUMNS,
        "trees": MAX_TREES,
        "trees of a forest with facings": MAX_FACING_TREES,
        "facings": facings.MAX_FACINGS,
        "nodes": MAX_NODES,
        "depth: splits between a root and a leaf": MAX_DEPTH,
        "offset along an axis": MAX_OFFSET_M,
        "parts": MAX_PARTS,
        "focal length": MAX_FOCAL_PX,
    }
    assert f"nested {modelfile.MAX_JSON_DEPTH} deep" in text
    assert f"of {modelfile.MAX_DIMENSIONS} dimensions" in text
    assert f"-{MAX_OFFSET_PX} ... {MAX_OFFSET_PX}" in text


def test_a_reader_of_thirty_lines_agrees(tmp_path):
    """Written from the page alone: no depthforest in it."""
    forest = small(5, 3, 6, background_mm=8000)
    forest.save(tmp_path / "m.safetensors")
    raw = (tmp_path / "m.safetensors").read_bytes()
    start = 8 + struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8:start])
    about = json.loads(header.pop("__metadata__")["depthforest"])
    assert (about["kind"], about["format"]) == ("depth_forest", 1)
    formats = {"F32": "f", "I32": "i", "I16": "h", "U8": "B"}
    flat = {
        name: struct.unpack_from(f"<{math.prod(h['shape'])}{formats[h['dtype']]}", raw, start + h["data_offsets"][0])
        for name, h in header.items()
    }
    n_parts = len(about["parts"]["names"])
    frame = frame_of(np.random.default_rng(6), 8, 8)
    depth_mm = frame.depth_mm.tolist()

    def look(row, col):
        inside = 0 <= row < 8 and 0 <= col < 8
        return (depth_mm[row][col] if inside else 0) or about["background_mm"]

    def offset(metres, focal, d):
        single = np.float32
        x = float(single(metres) * (single(focal) * single(1000) / single(d)))
        return int(math.copysign(math.floor(abs(x) + 0.5), x))

    for row, col in np.argwhere(frame.depth_mm > 0).tolist():
        sums = [0] * n_parts
        for link in flat["roots"]:
            while link >= 0:
                u_x, u_y, v_x, v_y = flat["offsets"][4 * link : 4 * link + 4]
                d, fx, fy = depth_mm[row][col], frame.camera.fx, frame.camera.fy
                response = look(row + offset(u_y, fy, d), col + offset(u_x, fx, d))
                response -= look(row + offset(v_y, fy, d), col + offset(v_x, fx, d))
                link = flat["children"][2 * link + (response > flat["thresholds"][link])]
            for p in range(n_parts):
                sums[p] += flat["leaves"][n_parts * ~link + p]
        assert forest.predict(frame)[row, col] == sums.index(max(sums))
