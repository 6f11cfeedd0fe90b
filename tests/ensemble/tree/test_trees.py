"""Grown trees against a naive twin; walking and pruning them."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from support import naive_columns, naive_forests
from support import naive_trees as naive

from depthforest.ensemble import DecisionTreeClassifier, DecisionTreeRegressor
from depthforest.ensemble.growth.binning import bin_columns
from depthforest.ensemble.growth.columns import sort
from depthforest.ensemble.growth.sweeps import KEYS, ORDER, SORTED
from depthforest.ensemble.tree.planting import Growth, plant
from depthforest.ensemble.tree.walking import Walk

CRITERIA = ["gini", "entropy", "squared_error"]


def make_data(rng, n, *, criterion, n_classes=3, n_values=None, missing=0.0, categories=0, weights="ones"):
    """Rows of whole or continuous numbers with categorical columns last, some missing; sums of them stay exact."""
    x = rng.normal(size=(n, 4)) if n_values is None else rng.integers(0, n_values, (n, 4)).astype(float)
    if categories:
        x[:, 3] = rng.integers(0, categories, n)
    x[rng.random(x.shape) < missing] = np.nan
    signal = np.nan_to_num(x[:, 0]) + (np.nan_to_num(x[:, 3]) % 2) + rng.normal(size=n)
    w = {
        "ones": np.ones(n),
        "whole": rng.integers(0, 4, n).astype(float),
        "eighths": rng.integers(1, 24, n) / 8,
    }[weights]
    if criterion == "squared_error":
        return x.astype(np.float32), np.zeros(n, np.int32), np.rint(4 * signal), w
    edges = np.quantile(signal, np.linspace(0, 1, n_classes + 1)[1:-1])
    return x.astype(np.float32), np.searchsorted(edges, signal).astype(np.int32), np.ones(n), w


def both(data, growth, *, max_bins=None, categorical=(), seed=7, threads=1):
    """Return the library's tree and the twin's."""
    x, channels, targets, weights = data
    mask = np.isin(np.arange(x.shape[1]), categorical)
    binned = bin_columns(x, max_bins=max_bins, categorical=mask)
    tree = plant(binned, channels, targets, weights, growth, seed=seed, threads=threads)
    columns = naive_columns.columns_of(x, max_bins=max_bins, categorical=categorical)
    twin_data = naive.Data(columns, channels.tolist(), targets.tolist(), weights.tolist())
    return tree, naive.grow(twin_data, growth, seed), twin_data


def assert_same(tree, root):
    nodes = naive.numbered(root)
    assert tree.node_count == len(nodes)
    assert_array_equal(tree.n_node_samples, [len(node.rows) for node in nodes])
    assert_allclose(tree.weighted_n_node_samples, [node.weight for node in nodes])
    assert_allclose(tree.impurity, [node.impurity for node in nodes], atol=5e-6)  # entropy is in fixed point
    assert_allclose(tree.value[:, 0], [node.value for node in nodes], atol=1e-12)
    for k, node in enumerate(nodes):
        if node.split is None:
            assert tree.feature[k] == tree.children_left[k] == tree.children_right[k] == -1
            continue
        assert tree.feature[k] == node.split.feature
        assert nodes[tree.children_left[k]] is node.children[0]
        assert nodes[tree.children_right[k]] is node.children[1]
        assert bool(tree.missing_go_to_left[k]) == node.missing_left
        if node.split.left_categories is None:
            assert tree.categories(k) is None
            assert tree.threshold[k] == np.float32(node.split.threshold)
        else:
            assert [c in tree.categories(k) for c in range(255)] == [node.category_left(c) for c in range(255)]


def growth_for(criterion, *, n_classes=3, **settings):
    settings = {"is_random": False, "max_features": 4} | settings
    return Growth(criterion=criterion, n_channels=1 if criterion == "squared_error" else n_classes, **settings)


# -- twins -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("is_random", [False, True], ids=["best", "random"])
@pytest.mark.parametrize(
    ("data", "settings"),
    [
        ({}, {}),
        ({"n_values": 5, "weights": "whole"}, {"max_features": 1}),
        ({"missing": 0.2, "weights": "eighths"}, {"max_features": 2}),
        ({"n_values": 4, "missing": 0.4}, {"min_rows": 3, "min_samples_split": 9}),
        ({"categories": 6, "missing": 0.1, "weights": "whole"}, {"min_decrease": 0.01}),
        ({"categories": 12, "n_values": 3}, {"max_depth": 3, "max_features": 3, "min_weight": 4.0}),
        ({"n_values": 9, "missing": 0.1, "categories": 5}, {"max_leaves": 9}),
        ({"weights": "eighths"}, {"max_leaves": 7, "max_features": 2, "min_rows": 2}),
    ],
)
def test_a_tree_is_its_twin(criterion, is_random, data, settings):
    rng = np.random.default_rng(3)
    for seed in range(2):
        made = make_data(rng, 70, criterion=criterion, **data)
        growth = growth_for(criterion, is_random=is_random, **settings)
        tree, root, _ = both(made, growth, categorical=(3,) if "categories" in data else (), seed=seed)
        assert tree.node_count > 3
        assert_same(tree, root)


@settings(deadline=None, max_examples=60)
@given(
    st.integers(0, 2**31 - 2),
    st.integers(1, 30),
    st.sampled_from(CRITERIA),
    st.booleans(),
    st.sampled_from([0.0, 0.3, 0.9]),
    st.sampled_from([0, 2, 9]),
)
def test_small_trees_are_their_twins(seed, n, criterion, is_random, missing, categories):
    rng = np.random.default_rng(seed)
    made = make_data(rng, n, criterion=criterion, n_values=3, missing=missing, categories=categories)
    growth = growth_for(criterion, is_random=is_random, max_features=2)
    tree, root, _ = both(made, growth, categorical=(3,) if categories else (), seed=seed)
    assert_same(tree, root)


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("is_random", [False, True], ids=["best", "random"])
def test_quantile_bins_are_their_twins(criterion, is_random):
    rng = np.random.default_rng(4)
    made = make_data(rng, 120, criterion=criterion, missing=0.05)
    made[0][:, 1] = np.round(made[0][:, 1], 1)  # ties at the ends of bins
    tree, root, _ = both(made, growth_for(criterion, is_random=is_random), max_bins=9)
    assert_same(tree, root)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_more_values_than_a_byte_holds(criterion):
    """Exact splits of 300 values are sorted by two digits; 255 bins of them are counted at the root, sorted below."""
    made = make_data(np.random.default_rng(5), 300, criterion=criterion, missing=0.02)
    made = (np.ascontiguousarray(made[0][:, [0, 3]]), *made[1:])
    growth = growth_for(criterion, min_rows=40, max_features=2)
    for max_bins in (None, 255):
        tree, root, _ = both(made, growth, max_bins=max_bins)
        assert_same(tree, root)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_counting_and_sorting_find_the_same(criterion):
    """Bytes of 40 values are counted in large nodes; the same codes in four bytes are sorted everywhere."""
    rng = np.random.default_rng(6)
    x, channels, targets, weights = make_data(rng, 3000, criterion=criterion, n_values=40, missing=0.1, weights="whole")
    growth = growth_for(criterion, max_features=2, min_rows=4)
    narrow = bin_columns(x, max_bins=None)
    assert narrow.codes.shape == (4, 3000)
    wide = narrow._replace(
        codes=np.empty((0, 0), np.uint8), by_row=np.empty((0, 0), np.uint8), wide=narrow.codes.astype(np.int32)
    )
    counted, sorted_ = (plant(b, channels, targets, weights, growth, seed=1) for b in (narrow, wide))
    assert counted.node_count > 100
    for name in ("feature", "threshold", "child", "missing_go_to_left", "n_node_samples", "values"):
        assert_array_equal(getattr(counted, name), getattr(sorted_, name))


@pytest.mark.parametrize(("n", "high"), [(5, 3), (24, 90), (25, 90), (300, 255), (300, 256), (300, 70_000)])
def test_sorting(n, high):
    rng = np.random.default_rng(n)
    keys = rng.integers(3, high + 1, n).astype(np.int32)
    ints = np.zeros((5, n), np.int32)
    ints[KEYS] = keys
    sort(n, 3, high, np.empty(256, np.int32), ints)
    assert_array_equal(ints[ORDER], np.argsort(keys, kind="stable"))
    assert_array_equal(ints[SORTED], np.sort(keys))


@pytest.mark.parametrize("criterion", CRITERIA)
def test_no_set_of_categories_is_better(criterion):
    """Of two classes, and of numbers, the order of the means holds the best of all sets (Breiman et al. 1984)."""
    rng = np.random.default_rng(8)
    for missing in (0.0, 0.15):
        for _ in range(6):
            x, channels, targets, weights = make_data(
                rng, 40, criterion=criterion, n_classes=2, categories=7, missing=missing
            )
            growth = growth_for(criterion, n_classes=2, max_depth=1, max_features=1)
            x = np.ascontiguousarray(x[:, 3:])
            _, root, data = both((x, channels, targets, weights), growth, categorical=(0,))
            best = naive.every_set_score(root.rows, data.columns[0], data, growth)
            assert root.split.score == pytest.approx(best, abs=1e-9)


def test_categories_of_many_classes_go_with_those_alike():
    rng = np.random.default_rng(9)
    category = rng.integers(0, 10, 600)
    # odd categories have classes 0 and 1, even ones 2 and 3
    labels = np.where(category % 2, 0, 2) + rng.integers(0, 2, 600)
    model = DecisionTreeClassifier(max_depth=1, categorical_features=[0]).fit(category[:, None], labels)
    left = {c for c in range(10) if c in model.tree_.categories(0)}
    assert left in ({0, 2, 4, 6, 8}, {1, 3, 5, 7, 9})


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("settings", [{}, {"max_features": 1}, {"is_random": True}], ids=["all", "one", "random"])
def test_threads_within_a_tree_change_nothing(criterion, settings):
    rng = np.random.default_rng(10)
    x, channels, targets, weights = make_data(
        rng, 20_000, criterion=criterion, n_values=30, missing=0.05, categories=8, weights="whole"
    )
    x[:, 1] = 1.0  # nothing to split: another column must be drawn
    growth = growth_for(criterion, min_rows=30, keeps_rows=True, **settings)
    binned = bin_columns(x, max_bins=255, categorical=np.arange(4) == 3)
    ref = plant(binned, channels, targets, weights, growth, seed=2)
    assert ref.node_count > 50
    for threads in (2, 3):
        comp = plant(binned, channels, targets, weights, growth, seed=2, threads=threads)
        for name in ref.__dataclass_fields__:
            assert_array_equal(getattr(ref, name), getattr(comp, name), err_msg=name)


def test_rows_of_the_leaves_are_kept():
    made = make_data(np.random.default_rng(11), 300, criterion="squared_error", n_values=20, weights="whole")
    tree, root, _ = both(made, growth_for("squared_error", min_rows=5, keeps_rows=True))
    for k, node in enumerate(naive.numbered(root)):
        begin = tree.begins[k]
        assert sorted(tree.rows[begin : begin + tree.n_node_samples[k]]) == sorted(node.rows)


def test_a_split_that_gains_nothing_is_made_all_the_same():
    """Neither column alone tells anything of an exclusive or; trees grow until they are pure."""
    for n_each in (1, 3, 7):
        x = np.array([[a, b] for a in (0, 1) for b in (0, 1)] * n_each, dtype=np.float32)
        y = x[:, 0] != x[:, 1]
        for criterion in ("gini", "entropy"):
            model = DecisionTreeClassifier(criterion=criterion).fit(x, y)
            assert model.tree_.n_leaves == 4
            assert_array_equal(model.predict(x), y)
        model = DecisionTreeRegressor().fit(x, np.where(y, 12345.678, -987.654))
        assert model.tree_.n_leaves == 4


def test_weights_tell_the_same_as_repeated_rows():
    rng = np.random.default_rng(12)
    x, codes, _, weights = make_data(rng, 150, criterion="gini", n_values=9, weights="whole")
    weighed = DecisionTreeClassifier(max_depth=4, random_state=0).fit(x, codes, sample_weight=weights)
    rows = np.repeat(np.arange(150), weights.astype(int))
    repeated = DecisionTreeClassifier(max_depth=4, random_state=0).fit(x[rows], codes[rows])
    assert_array_equal(weighed.tree_.threshold, repeated.tree_.threshold)
    assert_array_equal(weighed.predict_proba(x), repeated.predict_proba(x))


@pytest.mark.parametrize("factor", [1e-9, 0.37, 1e12])
def test_the_unit_of_weights_is_irrelevant(factor):
    rng = np.random.default_rng(13)
    x, codes, _, _ = make_data(rng, 200, criterion="gini")
    weights = rng.random(200)
    for kind, criterion in ((DecisionTreeClassifier, "entropy"), (DecisionTreeRegressor, "squared_error")):
        model = kind(criterion=criterion, min_samples_leaf=5, random_state=0)
        ref = model.fit(x, codes, weights).predict(x)
        assert_allclose(model.fit(x, codes, weights * factor).predict(x), ref)


@pytest.mark.parametrize("splitter", ["best", "random"])
@pytest.mark.parametrize("criterion", CRITERIA)
def test_rows_of_next_to_no_weight_decide_nothing(criterion, splitter):
    """Boosting drives weights far apart; sums of rows that weigh nothing beside others are rounding."""
    rng = np.random.default_rng(20)
    x = rng.normal(size=(300, 3)).astype(np.float32)
    y = ((x[:, 0] > 0) ^ (rng.random(300) < 0.1)).astype(int)
    is_heavy = rng.random(300) < 0.6
    kind = DecisionTreeRegressor if criterion == "squared_error" else DecisionTreeClassifier
    for light in (1e-12, 1e-17, 1e-300):
        weights = rng.random(300) + 0.1
        model = kind(criterion=criterion, splitter=splitter, max_depth=3, max_bins=None, random_state=1)
        weighed = model.fit(x, y, np.where(is_heavy, weights, light * weights))
        assert np.isfinite(weighed.tree_.impurity).all()
        assert weighed.tree_.weighted_n_node_samples.min() > 0.01
        if splitter == "best":
            found = weighed.predict(x[is_heavy])
            assert_allclose(
                found, model.fit(x[is_heavy], y[is_heavy], weights[is_heavy]).predict(x[is_heavy]), rtol=1e-6
            )


# -- pruning -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("criterion", CRITERIA)
def test_pruning_is_cutting_the_weakest_link_again_and_again(criterion):
    rng = np.random.default_rng(17)
    made = make_data(rng, 120, criterion=criterion, weights="eighths", categories=5)
    growth = growth_for(criterion, min_rows=2, keeps_rows=True)
    full, root, _ = both(made, growth, categorical=(3,))
    for alpha in (1e-9, 0.0031, 0.0123, 0.07, 1e9):
        pruned = full.without_branches(alpha)
        twin = naive.prune(root, alpha, made[3].sum())  # from the last one on: pruned trees are nested
        assert_same(pruned, twin)
        for k, node in enumerate(naive.numbered(twin)):
            assert sorted(pruned.rows[pruned.begins[k] :][: pruned.n_node_samples[k]]) == sorted(node.rows)
    assert pruned.node_count == 1
    assert full.node_count > 20


# -- importances -------------------------------------------------------------------------------------------------------


def test_importance_is_the_node_formula():
    made = make_data(np.random.default_rng(18), 150, criterion="gini", weights="eighths")
    tree, root, _ = both(made, growth_for("gini", min_rows=3))
    sums = [0.0] * 4
    for node in naive.numbered(root):
        if node.split is not None:
            left, right = node.children
            sums[node.split.feature] += (
                node.weight * node.impurity - left.weight * left.impurity - right.weight * right.impurity
            )
    assert_allclose(tree.compute_feature_importances(4), np.array(sums) / sum(sums))


def test_a_tree_without_a_split_has_no_importance():
    model = DecisionTreeRegressor().fit(np.zeros((5, 2)), [3, 1, 4, 1, 5])
    assert_array_equal(model.feature_importances_, [0, 0])
    assert model.predict([[9, 9]]) == pytest.approx(2.8)


# -- walking -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [0, 1, 15, 16, 17, 513])
@pytest.mark.parametrize("criterion", ["gini", "squared_error"])
@pytest.mark.parametrize("categories", [0, 40])
def test_walking(n, criterion, categories):
    rng = np.random.default_rng(19)
    data = {"n_values": 6, "missing": 0.2, "categories": categories}
    x, channels, targets, weights = make_data(rng, 200, criterion=criterion, **data)
    binned = bin_columns(x, max_bins=255, categorical=np.arange(4) == (3 if categories else 9))
    trees = []
    for min_rows in (1, 2, 9, 200):
        growth = growth_for(criterion, max_features=1, min_rows=min_rows)
        trees.append(plant(binned, channels, targets, weights, growth, seed=min_rows))
    assert trees[-1].node_count == 1
    new = make_data(rng, max(n, 1), criterion=criterion, **data)[0][:n]
    new[::5, 3] = rng.choice([-1.0, 200.0, 255.0, 1e9, np.nan], len(new[::5]))  # never seen
    walk = Walk.of(trees)
    for threads in (1, 2):
        leaves, mean = walk.leaves(new, threads=threads), walk.mean(new, threads=threads)
        assert leaves.shape == (n, 4)
        assert mean.shape == (n, trees[0].values.shape[1])
        for row, own_leaves, own_mean in zip(new, leaves, mean, strict=True):
            assert own_leaves.tolist() == [naive_forests.leaf_of(tree, row) for tree in trees]
            assert own_mean.tolist() == pytest.approx(naive_forests.mean_of(trees, row), rel=1e-12)


def test_thresholds_lie_between_neighbors():
    """Of floats that have none between them the lower one is the threshold, and rows still part."""
    one = np.float32(1)
    for below, above in ((one, np.nextafter(one, np.float32(2))), (np.float32(0), np.float32(1e-45)), (-3e38, 3e38)):
        x = np.array([[below], [above]], dtype=np.float32)
        for splitter in ("best", "random"):
            model = DecisionTreeClassifier(splitter=splitter, random_state=0).fit(x, [0, 1])
            assert below <= model.tree_.threshold[0] < above
            assert_array_equal(model.predict(x), [0, 1])


def test_random_thresholds_are_uniform_between_the_extremes():
    x = np.array([[0], [1], [2], [4]], dtype=np.float32)
    thresholds = [
        DecisionTreeClassifier(splitter="random", max_depth=1, random_state=s).fit(x, [0, 1, 0, 1]).tree_.threshold[0]
        for s in range(400)
    ]
    assert np.histogram(thresholds, bins=4, range=(0, 4))[0].min() > 70
    assert math.isclose(np.mean(thresholds), 2, abs_tol=0.2)
