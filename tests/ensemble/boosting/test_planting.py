"""Boosted trees of given gradients and hessians: equal to naive twins, for any memory and any number of threads."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from support import naive_boosting as naive
from support import naive_columns

from depthforest.ensemble.boosting import planting as boostplanting
from depthforest.ensemble.boosting.planting import BoostGrower, BoostGrowth
from depthforest.ensemble.growth.binning import Binned, bin_columns
from depthforest.ensemble.tree import UNLIMITED
from depthforest.ensemble.tree.walking import Walk

NAN = math.nan


def widened(binned):
    """Return the same codes in four bytes, which are split exactly."""
    codes = np.empty((0, 0), dtype=np.uint8)
    return Binned(codes, codes, binned.codes.astype(np.int32), binned.columns, binned.ranges)


def make_rows(rng, n, *, n_values=6, missing=0.0, categories=0):
    """Four columns with ties, of which one is constant and one may hold categories; dyadic derivatives: exact sums."""
    x = rng.integers(0, n_values, (n, 4)).astype(np.float32)
    x[:, 2] = 3.0
    if categories:
        x[:, 3] = rng.integers(0, categories, n)
    x[rng.random(x.shape) < missing] = np.nan
    gradient = np.rint(8 * (np.nan_to_num(x[:, 0]) - 2 + np.nan_to_num(x[:, 3]) % 2 + rng.normal(size=n))) / 8
    return x, gradient, rng.integers(1, 17, n) / 16


def growth_of(n_features, **changes):
    plain = {"directions": np.zeros(n_features, np.int32), "n_columns": n_features, "n_drawn": n_features}
    return BoostGrowth(**plain | changes)


def both(x, gradient, hessian, *, is_exact=False, categorical=(), max_bins=255, seed=5, rows=None, **changes):
    """Return the library's tree and the twin's."""
    growth = growth_of(x.shape[1], **changes)
    binned = bin_columns(x, max_bins=max_bins, categorical=np.isin(np.arange(x.shape[1]), categorical))
    binned = widened(binned) if is_exact else binned
    grower = BoostGrower(binned, growth)
    tree = grower.grow(gradient, hessian, seed=seed, rows=None if rows is None else np.array(rows, np.int32))
    chosen = chosen_columns(x, growth.n_columns, seed)
    s = naive.Settings(
        growth.l2, growth.l1, growth.gamma, growth.min_weight, growth.max_depth, growth.max_leaves,
        growth.is_leaf_wise, min(growth.n_drawn, len(chosen)), chosen,
        growth.directions.tolist(), is_exact,
    )  # fmt: skip
    columns = naive_columns.columns_of(x, max_bins=max_bins, categorical=categorical)
    return tree, naive.grow(columns, gradient.tolist(), hessian.tolist(), s, rows=rows, seed=seed)


def chosen_columns(x, n_columns, seed):
    """The columns of a tree: a share of all, without those that never vary."""
    n_features = x.shape[1]
    drawn = sorted(np.random.default_rng(seed).permutation(n_features)[:n_columns].tolist())
    varying = [f for f in drawn if len({None if math.isnan(v) else v for v in x[:, f]}) > 1]
    return varying or drawn


def trees_equal(one, other):
    for name in ("feature", "threshold", "child", "missing_go_to_left", "mask", "masks", "values", "rows", "impurity"):
        assert_array_equal(getattr(one, name), getattr(other, name))


SETTINGS = [
    {},
    {"l2": 1.0, "max_depth": 3},
    {"l1": 1.5, "l2": 0.5, "min_weight": 1.25},
    {"gamma": 6.0, "l2": 1.0},
    {"gamma": 3.0, "l2": 0.25, "max_leaves": 6},
    {"max_leaves": 5},
    {"max_leaves": 7, "is_leaf_wise": False, "l2": 1.0},
    {"max_leaves": 6, "is_leaf_wise": False, "min_weight": 2.0, "max_depth": 4},
    {"n_drawn": 2},
    {"n_columns": 3, "n_drawn": 2, "l2": 1.0},
    {"directions": np.array([1, -1, 0, 0], np.int32), "max_depth": 4},
    {"directions": np.array([-1, 1, 1, 0], np.int32), "l2": 0.5, "l1": 0.5, "max_leaves": 8},
]


# -- twins -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_exact", [False, True], ids=["histogram", "exact"])
@pytest.mark.parametrize("data", [{}, {"missing": 0.2}, {"categories": 7, "missing": 0.1}], ids=str)
@pytest.mark.parametrize("changes", SETTINGS, ids=str)
def test_a_tree_is_its_twin(is_exact, data, changes):
    rng = np.random.default_rng(1)
    n_split = 0
    for seed in range(2):
        made = make_rows(rng, 60, **data)
        categorical = (3,) if "categories" in data else ()
        tree, root = both(*made, is_exact=is_exact, categorical=categorical, seed=seed, **changes)
        naive.assert_same(tree, root)
        n_split += tree.node_count > 3
    assert n_split


values = st.sampled_from([0.0, 1.0, 2.0, 3.0, NAN])


@settings(deadline=None, max_examples=150)
@given(
    st.integers(1, 12).flatmap(
        lambda n: st.tuples(
            st.lists(st.tuples(values, values, values), min_size=n, max_size=n),
            st.lists(st.integers(-8, 8), min_size=n, max_size=n),
            st.lists(st.integers(1, 8), min_size=n, max_size=n),
        )
    ),
    st.booleans(),
    st.sampled_from([(), (2,)]),
    st.sampled_from([0.0, 1.0]),
    st.sampled_from([0.0, 0.5]),
    st.sampled_from([0.0, 1.0]),
    st.sampled_from([0.0, 0.5]),
    st.sampled_from([(0, 0, 0), (1, 0, 0), (0, -1, 0)]),
    st.sampled_from([(UNLIMITED, True), (2, True), (3, True), (3, False), (4, False)]),
)
def test_small_trees_are_their_twins(rows, is_exact, categorical, l2, l1, gamma, min_weight, directions, limit):
    """One row, two rows, all equal, all missing: as they come."""
    x, gradient, hessian = (np.array(part) for part in rows)
    tree, root = both(
        x.astype(np.float32), gradient / 4.0, hessian / 8.0, is_exact=is_exact, categorical=categorical, l2=l2, l1=l1,
        gamma=gamma, min_weight=min_weight, directions=np.array(directions, np.int32), max_leaves=limit[0],
        is_leaf_wise=limit[1],
    )  # fmt: skip
    naive.assert_same(tree, root)


def test_quantile_bins_are_their_twins():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(90, 3)).astype(np.float32)
    x[rng.random(x.shape) < 0.05] = np.nan
    gradient = np.rint(8 * (np.nan_to_num(x[:, 0]) + rng.normal(size=90))) / 8
    tree, root = both(x, gradient, np.ones(90), max_bins=7, max_leaves=9)
    naive.assert_same(tree, root)


def test_more_values_than_a_byte_holds_are_split_exactly():
    rng = np.random.default_rng(4)
    x = rng.permutation(600).reshape(300, 2).astype(np.float32)
    gradient = np.rint(4 * np.sin(x[:, 0] / 60) + rng.normal(size=300))
    binned = bin_columns(x, max_bins=None)
    assert binned.codes.size == 0
    tree = BoostGrower(binned, growth_of(2, max_leaves=5)).grow(gradient, np.ones(300))
    s = naive.Settings(max_leaves=5, is_exact=True)
    root = naive.grow(naive_columns.columns_of(x), gradient.tolist(), [1.0] * 300, s)
    naive.assert_same(tree, root)


@pytest.mark.parametrize("is_exact", [False, True], ids=["histogram", "exact"])
def test_only_the_given_rows_are_seen(is_exact):
    rng = np.random.default_rng(5)
    x, gradient, hessian = make_rows(rng, 60, missing=0.1, categories=5)
    rows = sorted(rng.choice(60, 35, replace=False).tolist())
    tree, root = both(x, gradient, hessian, rows=rows, is_exact=is_exact, categorical=(3,), l2=1.0)
    naive.assert_same(tree, root)
    assert sorted(tree.rows.tolist()) == rows


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_no_set_of_categories_is_better(missing):
    """Without penalties the order of gradient / hessian holds the best of all sets (Breiman et al. 1984)."""
    rng = np.random.default_rng(6)
    for _ in range(10):
        x, gradient, hessian = make_rows(rng, 30, categories=5, missing=missing)
        x = np.ascontiguousarray(x[:, 3:])
        tree, _ = both(x, gradient, hessian, categorical=(0,), max_depth=1)
        keys = [-1 if math.isnan(v) else int(v) for v in x[:, 0]]
        here = sorted(set(keys))
        best = 0.0
        for n_left in range(1, len(here)):
            for left in itertools.combinations(here, n_left):
                is_left = np.isin(keys, left)
                sides = [gradient[s].sum() ** 2 / hessian[s].sum() for s in (is_left, ~is_left)]
                best = max(best, sum(sides) - gradient.sum() ** 2 / hessian.sum())
        assert tree.gains(1)[0] == pytest.approx(best)


# -- the root alone ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gradient", "hessian"),
    [([2.0], [0.5]), ([1.0] * 9, [1.0] * 9), ([0.0] * 9, [1.0] * 9), ([1.0] * 9, [1e-16] * 9)],
    ids=["one row", "equal", "zero", "tiny hessians"],
)
@pytest.mark.parametrize("is_exact", [False, True], ids=["histogram", "exact"])
def test_nothing_to_gain_is_one_leaf(gradient, hessian, is_exact):
    gradient, hessian = np.array(gradient), np.array(hessian)
    x = np.arange(len(gradient), dtype=np.float32)[:, None]
    tree, _ = both(x, gradient, hessian, is_exact=is_exact)
    assert tree.node_count == 1
    assert tree.values[0, 0] == pytest.approx(-gradient.sum() / hessian.sum(), rel=1e-12)
    assert tree.missing_go_to_left[0] == 1
    assert tree.threshold[0] == -2.0


def test_constant_columns_are_never_split():
    x = np.full((20, 3), 7.0, dtype=np.float32)
    tree, _ = both(x, np.arange(20.0) - 7, np.ones(20))
    assert tree.node_count == 1


@pytest.mark.parametrize("changes", [{"max_depth": 1}, {"max_leaves": 2}, {"max_leaves": 2, "is_leaf_wise": False}])
def test_stumps(changes):
    tree, root = both(*make_rows(np.random.default_rng(7), 40), **changes)
    assert tree.n_leaves == 2
    naive.assert_same(tree, root)


def test_one_leaf_is_allowed():
    tree, root = both(*make_rows(np.random.default_rng(7), 40), max_leaves=1)
    assert tree.n_leaves == 1
    naive.assert_same(tree, root)


def test_tiny_hessians_are_split_by_their_share():
    """Only the share of the node's own sum is negligible: certain rows are parted as others are."""
    x, gradient, hessian = make_rows(np.random.default_rng(8), 40)
    large, _ = both(x, gradient, hessian)
    small, _ = both(x, gradient * 2.0**-50, hessian * 2.0**-50)
    assert small.n_leaves == large.n_leaves > 3
    assert_array_equal(small.feature, large.feature)
    assert_array_equal(small.values, large.values)


# -- memory and threads ------------------------------------------------------------------------------------------------


def many_rows(n=2500, n_features=70):
    """More columns than are counted together, derivatives that are rounded."""
    rng = np.random.default_rng(9)
    x = rng.integers(0, 40, (n, n_features)).astype(np.float32)
    x[rng.random(x.shape) < 0.05] = np.nan
    signal = np.nan_to_num(x[:, 0]) - np.nan_to_num(x[:, 69]) + np.nan_to_num(x[:, 65]) ** 2 / 20
    return bin_columns(x, max_bins=255), x, rng.normal(size=n) - signal, 0.1 + rng.random(n)


@pytest.fixture(scope="module")
def many():
    return many_rows()


LIMITS = [
    {"max_leaves": 20},
    {"max_leaves": 20, "is_leaf_wise": False},
    {"max_depth": 5, "min_weight": 10.0},
    {"max_depth": 4, "n_columns": 30, "n_drawn": 12},
]


@pytest.mark.parametrize("changes", LIMITS, ids=str)
def test_few_histograms_give_the_same_tree(many, monkeypatch, changes):
    """Where no histogram is kept, both children are counted from their rows: the same but for rounding."""
    binned, _, gradient, hessian = many
    plenty = BoostGrower(binned, growth_of(70, **changes))
    wanted = plenty.grow(gradient, hessian, seed=3)
    for n_slots in (2, 3, 5):
        monkeypatch.setattr(boostplanting, "_POOL_BYTES", n_slots * plenty._memory.sums[0].nbytes)
        grower = BoostGrower(binned, growth_of(70, **changes))
        assert len(grower._memory.sums) == n_slots < len(plenty._memory.sums)
        tree = grower.grow(gradient, hessian, seed=3)
        for name in ("feature", "threshold", "child", "missing_go_to_left", "rows"):
            assert_array_equal(getattr(tree, name), getattr(wanted, name))
        np.testing.assert_allclose(tree.values, wanted.values, rtol=1e-9)
    assert wanted.n_leaves > 10


@pytest.mark.parametrize("changes", LIMITS, ids=str)
def test_threads_do_not_change_a_byte(many, monkeypatch, changes):
    binned, _, gradient, hessian = many
    wanted = BoostGrower(binned, growth_of(70, **changes)).grow(gradient, hessian, seed=3)
    monkeypatch.setattr(boostplanting, "_SPREAD_CELLS", 1)
    monkeypatch.setattr(boostplanting, "_SPREAD_ROWS", 1)
    counted = []
    plain = boostplanting.count_rows
    monkeypatch.setattr(boostplanting, "count_rows", lambda *given: (counted.append(given[3]), plain(*given)))
    for threads in (2, 3):
        trees_equal(
            BoostGrower(binned, growth_of(70, **changes)).grow(gradient, hessian, seed=3, threads=threads), wanted
        )
    assert len(counted) > 10  # they were used


def test_a_grower_forgets_the_last_tree(many):
    binned, _, gradient, hessian = many
    grower = BoostGrower(binned, growth_of(70, max_leaves=9))
    first = grower.grow(gradient, hessian)
    grower.grow(-(gradient**2), hessian, rows=np.arange(0, 2500, 3, dtype=np.int32))
    trees_equal(grower.grow(gradient, hessian), first)


def test_a_small_sample_of_many_rows(many):
    """A tree of two rows, in memory made for thousands."""
    binned, _, gradient, hessian = many
    grower = BoostGrower(binned, growth_of(70))
    tree = grower.grow(gradient, hessian, rows=np.array([3, 8], dtype=np.int32))
    assert tree.n_leaves == 2
    assert sorted(tree.values[:, 0]) == pytest.approx(sorted(-gradient[[3, 8]] / hessian[[3, 8]]))


# -- rows go where the tree sends them ---------------------------------------------------------------------------------


@pytest.mark.parametrize("is_exact", [False, True], ids=["histogram", "exact"])
@pytest.mark.parametrize("certain", ["missing", "category"])
def test_rows_of_no_weight_to_speak_of_go_where_they_are_sent(is_exact, certain):
    """Rows that are nearly certain have hessians that vanish beside the others'; they are counted all the same."""
    x = np.repeat(np.arange(3, dtype=np.float32), 20)[:, None]
    gradient, hessian = np.repeat([-1.0, 1.0, 1e-18], 20), np.repeat([0.25, 0.25, 1e-16], 20)
    x = x[:45]  # the larger side is the left one
    if certain == "missing":
        x[40:] = np.nan
    x[:5], gradient[:5] = 1.0, 1.0
    x[20:30], gradient[20:30] = 0.0, -1.0
    binned = bin_columns(x, max_bins=255, categorical=np.array([certain == "category"]))
    binned = widened(binned) if is_exact else binned
    tree = BoostGrower(binned, growth_of(1, max_depth=1)).grow(gradient[:45], hessian[:45])
    assert tree.n_leaves == 2
    assert tree.n_node_samples[1] != tree.n_node_samples[2]
    leaves = Walk.of([tree]).leaves(np.ascontiguousarray(x))[:, 0]
    for node in (1, 2):
        rows = tree.rows[tree.begins[node] :][: tree.n_node_samples[node]]
        assert set(np.flatnonzero(leaves == node)) == set(rows)
