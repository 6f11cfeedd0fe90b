"""SHAP values beside all sets of columns, and beside XGBoost's own where trees are the same."""

from itertools import combinations
from math import factorial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from depthforest.base.errors import UsageError
from depthforest.ensemble import (
    AdaBoostClassifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    LambdaMART,
    NewtonBoostingClassifier,
    NewtonBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from depthforest.ensemble.analysis import shap_values

N, N_COLUMNS = 150, 5


def make_rows(seed=0, *, missing=0.1):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(N, N_COLUMNS)).astype(np.float32)
    x[:, 4] = rng.integers(0, 5, N)
    signal = x[:, 0] * x[:, 1] + (x[:, 4] % 2) + 0.3 * rng.normal(size=N)
    x[rng.random(x.shape) < missing] = np.nan
    return x, signal


# -- all sets of columns -----------------------------------------------------------------------------------------------


def goes_left(tree, node, value):
    if tree.mask[node] >= 0:
        known = tree.categories(node)
        if np.isnan(value):
            return bool(tree.missing_go_to_left[node])
        return float(value) in [float(c) for c in known]
    return bool(tree.missing_go_to_left[node]) if np.isnan(value) else value <= tree.threshold[node]


def value_of(tree, row, known, node=0):
    """What a tree says where some columns are known: elsewhere both sides count by their weight."""
    if tree.is_leaf[node]:
        return tree.values[tree.child[node]]
    left, right = tree.children_left[node], tree.children_right[node]
    if tree.feature[node] in known:
        return value_of(tree, row, known, left if goes_left(tree, node, row[tree.feature[node]]) else right)
    weights = tree.weighted_n_node_samples[[left, right]]
    sides = np.array([value_of(tree, row, known, child) for child in (left, right)])
    return weights @ sides / weights.sum()


def brute_force(tree, row):
    """Shapley values by their definition: a mean over all sets of the other columns."""
    values = np.zeros((N_COLUMNS, tree.values.shape[1]))
    for f in range(N_COLUMNS):
        others = [g for g in range(N_COLUMNS) if g != f]
        for size in range(N_COLUMNS):
            weight = factorial(size) * factorial(N_COLUMNS - 1 - size) / factorial(N_COLUMNS)
            for known in combinations(others, size):
                values[f] += weight * (value_of(tree, row, {*known, f}) - value_of(tree, row, set(known)))
    return values


@pytest.mark.parametrize("settings", [{}, {"max_depth": 1}, {"min_samples_leaf": 9}, {"splitter": "random"}], ids=str)
@pytest.mark.parametrize("kind", [DecisionTreeRegressor, DecisionTreeClassifier])
def test_values_are_those_of_all_sets(kind, settings):
    x, signal = make_rows()
    y = signal if kind is DecisionTreeRegressor else np.digitize(signal, [-0.3, 0.8])
    weights = np.arange(N) % 3 + 0.5
    model = kind(categorical_features=[4], random_state=0, **settings).fit(x, y, weights)
    comp = shap_values(model, x[:12]).values.reshape(12, N_COLUMNS, -1)
    for row, found in zip(x[:12], comp, strict=True):
        assert_allclose(found, brute_force(model.tree_, row), atol=1e-12)


def test_values_of_a_sum_are_sums():
    x, signal = make_rows(1)
    forest = RandomForestRegressor(4, random_state=0, max_depth=4).fit(x, signal)
    comp = shap_values(forest, x[:5]).values
    ref = [np.mean([brute_force(tree, row)[:, 0] for tree in forest.trees_], axis=0) for row in x[:5]]
    assert_allclose(comp, ref, atol=1e-12)
    boosted = NewtonBoostingClassifier(n_estimators=3).fit(x, np.digitize(signal, [0, 1]))
    comp = shap_values(boosted, x[:5]).values
    for row, found in zip(x[:5], comp, strict=True):
        for k in range(3):
            wanted = sum(brute_force(tree, row)[:, 0] for tree in boosted.trees_[k::3])
            assert_allclose(found[:, k], wanted, atol=1e-12)


# -- properties --------------------------------------------------------------------------------------------------------

ESTIMATORS = [
    DecisionTreeClassifier(), DecisionTreeRegressor(), RandomForestClassifier(5), ExtraTreesClassifier(5),
    RandomForestRegressor(5), GradientBoostingClassifier(n_estimators=5), GradientBoostingRegressor(n_estimators=5),
    NewtonBoostingClassifier(n_estimators=5), NewtonBoostingRegressor(n_estimators=5),
]  # fmt: skip


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_parts_add_up_to_the_answer(estimator, n_classes):
    x, signal = make_rows(2)
    is_class = hasattr(estimator, "predict_proba")
    y = np.digitize(signal, np.linspace(0, 1, n_classes)[:-1]) if is_class else signal
    model = estimator.set_params(random_state=0, categorical_features=[4]).fit(x, y)
    found = shap_values(model, x)
    answers = getattr(model, found.explains)(x)
    assert_allclose(found.values.sum(axis=1) + found.base_values, answers, atol=1e-9)
    assert found.values.shape == (N, N_COLUMNS, *answers.shape[1:])
    if "n_jobs" in model.get_params():
        assert_array_equal(shap_values(model.set_params(n_jobs=2), x).values, found.values)
        model.set_params(n_jobs=None)


def test_a_column_that_is_not_used_adds_nothing_and_deep_paths_are_exact():
    """2000 rows, 30 columns: paths of many columns, where rounding could grow."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(2000, 30))
    x[:, 7] = 1.0
    model = DecisionTreeRegressor(splitter="random", max_features=1, random_state=0).fit(x, rng.normal(size=2000))
    assert model.tree_.max_depth > 20
    found = shap_values(model, x[:40])
    assert_allclose(found.values.sum(axis=1) + found.base_values, model.predict(x[:40]), atol=1e-9)
    assert (found.values[:, 7] == 0).all()
    alone = shap_values(DecisionTreeRegressor().fit(x[:3], np.ones(3)), x[:2])  # a root that is a leaf
    assert (alone.base_values, np.abs(alone.values).max()) == (1.0, 0.0)


def test_a_ranker():
    x, signal = make_rows(4)
    model = LambdaMART(n_estimators=4, min_samples_leaf=3).fit(x, (signal > 0).astype(int), qid=np.arange(N) // 10)
    found = shap_values(model, x)
    assert_allclose(found.values.sum(axis=1) + found.base_values, model.predict(x), atol=1e-9)


# -- outside judge -----------------------------------------------------------------------------------------------------


def test_values_are_xgboosts_where_trees_are():
    """Columns of three values: each library cuts elsewhere between rows of a node, and no other row may lie there."""
    xgboost = pytest.importorskip("xgboost")
    rng = np.random.default_rng(5)
    x = rng.integers(0, 3, (900, N_COLUMNS)).astype(np.float32)
    signal = x[:, 0] * x[:, 1] - x[:, 2] + rng.normal(size=900)
    ours = NewtonBoostingRegressor(
        n_estimators=5, max_depth=4, max_leaf_nodes=None, grow_policy="depthwise", learning_rate=0.3,
        min_child_weight=20.0, min_samples_leaf=1, max_bins=None, init="zero",
    ).fit(x, signal)  # fmt: skip
    table = xgboost.DMatrix(x, signal)
    settings = {"max_depth": 4, "min_child_weight": 20.0, "eta": 0.3, "tree_method": "exact", "base_score": 0.0}
    theirs = xgboost.train({**settings, "nthread": 1}, table, 5).predict(table, pred_contribs=True)
    assert len({f for tree in ours.trees_ for f in tree.feature[~tree.is_leaf].tolist()}) >= 3
    found = shap_values(ours, x)
    assert_allclose(found.values, theirs[:, :-1], atol=2e-6)
    assert_allclose(found.base_values, theirs[:, -1], atol=2e-6)


def test_values_are_those_of_the_shap_package():
    shap = pytest.importorskip("shap")
    from sklearn.tree import DecisionTreeRegressor as Theirs

    x, signal = make_rows(6, missing=0.0)
    ours = DecisionTreeRegressor(max_bins=None, min_samples_leaf=5).fit(x, signal)
    theirs = Theirs(min_samples_leaf=5, random_state=0).fit(x, signal)
    explainer = shap.TreeExplainer(theirs, feature_perturbation="tree_path_dependent")
    assert_allclose(shap_values(ours, x).values, explainer.shap_values(x), atol=1e-6)


# -- what users see ----------------------------------------------------------------------------------------------------


def test_what_cannot_be_explained():
    x, signal = make_rows(7)
    y = (signal > 0).astype(int)
    with pytest.raises(UsageError, match=r"SHAP values need a tree, forest or boosting .*, got AdaBoostClassifier"):
        shap_values(AdaBoostClassifier(n_estimators=2).fit(x, y), x)
    found = shap_values(DecisionTreeClassifier().fit(x, y), x)
    for bad in (2, -1, 0.5):
        with pytest.raises(UsageError, match="output must be a whole number from 0 to 1, got"):
            found.of(bad)
    with pytest.raises(UsageError, match="there is only one output: leave"):
        found.of(1).of(0)


def test_plots(tmp_path):
    plt = pytest.importorskip("matplotlib.pyplot")
    x, signal = make_rows(8, missing=0.0)
    wide = np.concatenate([x] * 3, axis=1)
    found = shap_values(RandomForestClassifier(3, random_state=0).fit(wide, signal > 0), wide)
    with pytest.raises(UsageError, match="there are 2 outputs: choose one, output=0 for the first"):
        found.plot_bar()
    with pytest.raises(UsageError, match="row must be a whole number from 0 to 149, got 150"):
        found.plot_waterfall(150, output=1)
    bars = found.plot_bar(tmp_path / "bar.png", output=1)
    assert len(bars.patches) == 10
    assert [p.get_width() for p in bars.patches] == sorted(p.get_width() for p in bars.patches)
    swarm = found.plot_beeswarm(tmp_path / "swarm.png", output=1)
    assert len(swarm.collections) == 10
    fall = found.plot_waterfall(3, tmp_path / "fall.png", output=1)
    last = fall.patches[-1]
    assert last.get_x() + last.get_width() == pytest.approx(found.base_values[1] + found.values[3, :, 1].sum())
    assert fall.get_yticklabels()[0].get_text() == "5 others"
    assert len(list(tmp_path.iterdir())) == 3
    plt.close("all")
