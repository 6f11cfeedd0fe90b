"""Forests: against a naive twin, whatever the threads; warm start, interrupts, and life among scikit-learn's tools."""

import multiprocessing
import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold, LeaveOneOut, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from support import naive_columns, naive_forests
from support import naive_trees as naive
from support.bounded import run_threads

from depthforest.base.errors import DepthForestWarning, UsageError
from depthforest.ensemble import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from depthforest.ensemble.forests import base as forestbase
from depthforest.ensemble.tree.planting import Growth

pytestmark = pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")  # few trees

FORESTS = [RandomForestClassifier, RandomForestRegressor, ExtraTreesClassifier, ExtraTreesRegressor]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 30, (90, 5)).astype(np.float32)
    x[rng.random(x.shape) < 0.03] = np.nan
    return x, np.digitize(np.nan_to_num(x[:, 0]) + rng.normal(size=90) * 5, [10, 20])


def assert_same_forest(ref, comp):
    assert len(ref.trees_) == len(comp.trees_)
    for one, other in zip(ref.trees_, comp.trees_, strict=True):
        for name in one.__dataclass_fields__:
            assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    for one, other in zip(ref.estimators_samples_, comp.estimators_samples_, strict=True):
        assert_array_equal(one, other)


# -- twin --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", FORESTS)
@pytest.mark.parametrize("is_weighed", [False, True])
def test_a_forest_is_its_twin(table, kind, is_weighed):
    x, y = table
    is_number = kind in (RandomForestRegressor, ExtraTreesRegressor)
    weights = np.random.default_rng(1).integers(0, 3, len(x)).astype(float) if is_weighed else np.ones(len(x))
    forest = kind(4, max_features=2, random_state=5, min_samples_leaf=2).fit(x, y, weights)
    growth = Growth(
        criterion="squared_error" if is_number else "gini",
        is_random=kind in (ExtraTreesClassifier, ExtraTreesRegressor),
        n_channels=1 if is_number else 3,
        max_features=2,
        min_rows=2,
    )
    offset = float(np.unique(y)[len(np.unique(y)) // 2]) if is_number else 0.0
    positive = np.flatnonzero(weights)
    for tree, seed in zip(forest.trees_, naive_forests.seeds_of(5, 4), strict=True):
        own = weights.tolist()
        if forest.bootstrap:  # rows without weight are never drawn
            counts = naive_forests.bootstrap_counts(seed, len(positive))
            own = [0.0] * len(x)
            for count, row in zip(counts, positive, strict=True):
                own[row] = count * weights[row]
        data = naive.Data(
            naive_columns.columns_of(x, max_bins=255),
            [0] * len(x) if is_number else y.tolist(),
            (y - offset).tolist() if is_number else [1.0] * len(x),
            own,
        )
        nodes = naive.numbered(naive.grow(data, growth, seed))
        assert_array_equal(tree.feature, [-1 if n.split is None else n.split.feature for n in nodes])
        assert_array_equal(tree.n_node_samples, [len(n.rows) for n in nodes])
        ref = [-2 if n.split is None else np.float32(n.split.threshold) for n in nodes]
        assert_array_equal(tree.threshold, ref)
        assert_allclose(tree.value[:, 0], [[v + offset for v in n.value] for n in nodes], atol=1e-12)
    found = forest.predict(x) if is_number else forest.predict_proba(x)
    ref = [naive_forests.mean_of(forest.trees_, row) for row in x]
    assert_allclose(found, [r[0] for r in ref] if is_number else ref)
    assert_array_equal(forest.apply(x), [[naive_forests.leaf_of(tree, row) for tree in forest.trees_] for row in x])


def test_predictions_of_classes(table):
    x, y = table
    names = np.array(["one", "three", "two"])
    forest = RandomForestClassifier(7, random_state=0).fit(x, names[y])
    shares = forest.predict_proba(x)
    assert_allclose(shares.sum(axis=1), 1)
    assert_array_equal(forest.predict(x), names[shares.argmax(axis=1)])
    with np.errstate(divide="ignore"):
        assert_array_equal(forest.predict_log_proba(x), np.log(shares))
    members = forest.estimators_
    assert_allclose(np.mean([m.predict_proba(x) for m in members], axis=0), shares)
    assert set(members[0].predict(x)) <= {0, 1, 2}
    assert members[0].tree_ is forest.trees_[0]
    assert len(forest) == 7


def test_importance_is_the_mean_over_trees(table):
    x, y = table
    forest = RandomForestClassifier(6, random_state=0).fit(x, y)
    mean = np.mean([m.feature_importances_ for m in forest.estimators_], axis=0)
    assert_allclose(forest.feature_importances_, mean / mean.sum())
    assert forest.feature_importances_.argmax() == 0
    assert_array_equal(RandomForestRegressor(2).fit(x, np.ones(90)).feature_importances_, np.zeros(5))


def test_a_member_is_the_tree_of_its_seed(table):
    """Without a bootstrap a tree of a forest is the single tree that is grown with the same seed."""
    x, y = table
    forest = ExtraTreesRegressor(2, random_state=3).fit(x, y)
    assert_array_equal(
        forest.estimators_[0].predict(x), forest.trees_[0].values[:, 0][forest.trees_[0].child[forest.apply(x)[:, 0]]]
    )


def test_weights_of_classes_in_every_tree(table):
    x, y = table
    rare = np.flatnonzero((y != 2) | (np.arange(90) % 4 == 0))
    x, y = x[rare], y[rare]
    forest = RandomForestClassifier(3, class_weight="balanced_subsample", random_state=0, max_depth=1).fit(x, y)
    for tree in forest.trees_:
        assert_allclose(tree.value[0, 0], 1 / 3)
    forest.set_params(class_weight="balanced", bootstrap=False).fit(x, y)
    assert_allclose(forest.trees_[0].value[0, 0], 1 / 3)


def test_rows_of_a_tree(table):
    x, y = table
    for max_samples, n in ((None, 90), (7, 7), (0.5, 45)):
        forest = RandomForestClassifier(2, max_samples=max_samples, random_state=0).fit(x, y)
        assert [len(s) for s in forest.estimators_samples_] == [n, n]
        for tree, sample in zip(forest.trees_, forest.estimators_samples_, strict=True):
            assert tree.weighted_n_node_samples[0] == n
            assert tree.n_node_samples[0] == len(set(sample.tolist()))
    forest = ExtraTreesClassifier(2).fit(x, y)
    assert_array_equal(forest.estimators_samples_[1], np.arange(90))


def test_a_share_of_the_weight_is_that_of_the_tree(table):
    """A leaf must have a fifth of what its tree has drawn, not of all rows."""
    x, y = table
    forest = RandomForestClassifier(4, max_samples=0.5, min_weight_fraction_leaf=0.2, random_state=0).fit(x, y)
    for tree in forest.trees_:
        assert tree.weighted_n_node_samples.min() >= 9
    assert min(tree.weighted_n_node_samples.min() for tree in forest.trees_) < 18


# -- always the same ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", FORESTS)
def test_threads_change_nothing(table, kind):
    x, y = table
    ref = kind(5, random_state=1, oob_score=kind().bootstrap).fit(x, y)
    for n_jobs in (2, 3):
        comp = kind(5, random_state=1, oob_score=kind().bootstrap, n_jobs=n_jobs).fit(x, y)
        assert_same_forest(ref, comp)
        assert_array_equal(ref.predict(x), comp.predict(x))
        if ref.bootstrap:
            assert_array_equal(ref.oob_errors_, comp.oob_errors_)


def test_few_trees_are_spread_over_threads_themselves():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(30_000, 3)).astype(np.float32)
    y = (x[:, 0] + rng.normal(size=30_000) > 0).astype(int)
    forest = RandomForestClassifier(1, random_state=0, min_samples_leaf=200)
    assert_same_forest(clone(forest).fit(x, y), clone(forest).set_params(n_jobs=2).fit(x, y))


@pytest.mark.parametrize("kind", FORESTS)
def test_pickles_clones_and_fits_again(table, kind):
    x, y = table
    forest = kind(3, random_state=4).fit(x, y)
    copied = pickle.loads(pickle.dumps(forest))
    assert_same_forest(forest, copied)
    assert_array_equal(forest.predict(x), copied.predict(x))
    assert_same_forest(forest, clone(forest).fit(x, y))
    assert_same_forest(forest, copied.fit(x, y))
    assert len(copied.fit(x[:40, :2], y[:40]).predict(x[:, :2])) == 90


@pytest.mark.parametrize("kind", FORESTS)
def test_a_warm_start_is_a_fit_at_once(table, kind):
    x, y = table
    is_bagged = kind().bootstrap
    ref = kind(6, random_state=4, oob_score=is_bagged).fit(x, y)
    comp = kind(2, random_state=4, oob_score=is_bagged, warm_start=True).fit(x, y)
    first = comp.estimators_[0]
    for n in (3, 6):
        comp.set_params(n_estimators=n).fit(x, y)
    with pytest.warns(DepthForestWarning, match="without increasing n_estimators does not fit new trees"):
        comp.fit(x, y)
    assert_same_forest(ref, comp)
    assert comp.estimators_[0].tree_ is first.tree_
    if is_bagged:
        assert_array_equal(ref.oob_errors_, comp.oob_errors_)


def test_a_warm_start_knows_what_its_first_trees_have_seen(table):
    x, y = table
    forest = RandomForestClassifier(2, random_state=4, warm_start=True).fit(x, y)
    before = forest.estimators_samples_
    forest.set_params(n_estimators=4, random_state=99).fit(x, y)
    assert_array_equal(forest.estimators_samples_[:2], before)
    forest = RandomForestClassifier(2, random_state=np.random.RandomState(1), warm_start=True).fit(x, y)
    before = forest.estimators_samples_
    forest.set_params(n_estimators=4).fit(x, y)
    assert_array_equal(forest.estimators_samples_[:2], before)
    assert len({tuple(s) for s in forest.estimators_samples_}) == 4


def test_a_warm_start_that_cannot_be(table):
    x, y = table
    forest = RandomForestClassifier(3, random_state=0, warm_start=True).fit(x, y)
    with pytest.raises(UsageError, match="n_estimators=2 is less than the 3 trees that warm_start keeps; raise it"):
        clone_of(forest).set_params(n_estimators=2).fit(x, y)
    for rows, columns, labels in ((80, 5, y), (90, 3, y), (90, 5, y % 2)):
        changed = clone_of(forest)
        with pytest.raises(UsageError, match=r"grown on 90 rows, 5 columns and 3 outputs, got \d+, \d and \d"):
            changed.fit(x[:rows, :columns], labels[:rows])
        # its trees must not read columns that are not there
        with pytest.raises(NotFittedError):
            changed.predict(x[:, :columns])
        with pytest.warns(DepthForestWarning, match="does not fit new trees"):
            assert_same_forest(changed.fit(x, y), forest)


def clone_of(forest):
    return pickle.loads(pickle.dumps(forest))


@pytest.mark.parametrize("make", [DecisionTreeClassifier, DecisionTreeRegressor, *FORESTS])
def test_a_fit_that_fails_leaves_nothing_to_ask(table, make):
    x, y = table
    model = make(random_state=0).fit(x, y)
    for bad in ({"max_features": "all"}, {"max_bins": 1}):
        broken = clone_of(model).set_params(**bad)
        with pytest.raises(UsageError):
            broken.fit(x[:, :1], y)
        with pytest.raises(NotFittedError):
            broken.predict(x[:, :1])
        with pytest.raises(NotFittedError):
            broken.feature_importances_  # noqa: B018 - a property


# -- interrupts --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interrupted_fit_keeps_its_trees(table, monkeypatch, n_jobs):
    x, y = table
    settings = {"n_estimators": 6, "random_state": 7, "n_jobs": n_jobs, "quantiles": True}
    ref = RandomForestRegressor(**settings).fit(x, y)
    seeds = ref._seeds.tolist()

    def until_the_fourth(*args, seed, **settings):
        if seed == seeds[3]:
            raise KeyboardInterrupt
        return plant(*args, seed=seed, **settings)

    plant = forestbase.plant
    monkeypatch.setattr(forestbase, "plant", until_the_fourth)
    forest = RandomForestRegressor(**settings, warm_start=True)
    with pytest.raises(KeyboardInterrupt):
        forest.fit(x, y)
    assert len(forest) == 3
    assert_allclose(forest.predict(x), np.mean([m.predict(x) for m in ref.estimators_[:3]], axis=0))
    assert forest.predict_quantiles(x).shape == (90, 3)
    monkeypatch.undo()
    assert_same_forest(ref, forest.fit(x, y))
    assert_array_equal(ref.predict(x), forest.predict(x))


def test_an_interrupt_before_the_first_tree(table, monkeypatch):
    x, y = table

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(forestbase, "plant", interrupt)
    forest = RandomForestClassifier(3)
    with pytest.raises(KeyboardInterrupt):
        forest.fit(x, y)
    with pytest.raises(NotFittedError):
        forest.predict(x)
    assert len(forest) == 0
    assert not hasattr(forest, "estimators_")


def test_progress_is_shown_on_request(table, capsys):
    x, y = table
    RandomForestClassifier(3, verbose=1, random_state=0).fit(x, y)
    assert "growing trees" in capsys.readouterr().err
    RandomForestClassifier(3, random_state=0).fit(x, y)
    assert capsys.readouterr().err == ""


# -- threads and processes ---------------------------------------------------------------------------------------------


def fitted_shares(n_jobs):
    rng = np.random.default_rng(3)
    x = rng.normal(size=(200, 4)).astype(np.float32)
    forest = RandomForestClassifier(4, random_state=0, n_jobs=n_jobs, oob_score=True).fit(x, x[:, 0] > 0)
    return forest.predict_proba(x).tolist()


def test_several_threads_may_fit_at_once():
    ref = fitted_shares(1)
    found = []
    run_threads(*[lambda: found.append(fitted_shares(2))] * 4)
    assert found == [ref] * 4


@pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning")
def test_a_forked_process_fits():
    if "fork" not in multiprocessing.get_all_start_methods():
        pytest.skip("this system cannot fork")
    ref = fitted_shares(2)  # the parent's threads are running
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply_async(fitted_shares, (2,)).get(timeout=60) == ref


# -- scikit-learn's tools ----------------------------------------------------------------------------------------------


def test_cross_validation(table):
    x, y = table
    for forest in (RandomForestClassifier(5, random_state=0), ExtraTreesRegressor(5, random_state=0)):
        scores = cross_val_score(forest, x, y, cv=KFold(3, shuffle=True, random_state=0))
        assert scores.shape == (3,)
        assert scores.mean() > 0.4
    single = cross_val_score(DecisionTreeClassifier(max_depth=2, random_state=0), x, y, cv=LeaveOneOut())
    assert single.shape == (90,)
    assert 0.5 < single.mean() < 1


def test_search_and_pipelines(table):
    x, y = table
    search = GridSearchCV(
        RandomForestClassifier(4, random_state=0), {"max_depth": [1, 4], "max_bins": [None, 16]}, cv=3
    )
    search.fit(x, y)
    assert search.best_params_["max_depth"] == 4
    line = make_pipeline(StandardScaler(), RandomForestClassifier(4, random_state=0)).fit(x, y)
    assert line.score(x, y) > 0.8
    # trees do not care for the scale of a column
    assert_array_equal(line.predict(x), RandomForestClassifier(4, random_state=0).fit(x, y).predict(x))


def test_weights_are_routed(table):
    x, y = table
    weights = np.random.default_rng(0).random(90)
    with sklearn.config_context(enable_metadata_routing=True):
        tree = DecisionTreeClassifier(max_depth=2, random_state=0).set_fit_request(sample_weight=True)
        tree.set_score_request(sample_weight=True)
        routed = cross_val_score(tree, x, y, cv=KFold(3), params={"sample_weight": weights})
    by_hand = []
    for train, test in KFold(3).split(x):
        model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(x[train], y[train], weights[train])
        by_hand.append(model.score(x[test], y[test], weights[test]))
    assert_allclose(routed, by_hand)


def test_frames_in(table):
    x, y = table
    frame = pd.DataFrame(x, columns=list("abcde"))
    forest = RandomForestRegressor(3, random_state=0).fit(frame, pd.Series(y))
    assert forest.feature_names_in_.tolist() == list("abcde")
    assert_array_equal(forest.predict(frame), RandomForestRegressor(3, random_state=0).fit(x, y).predict(x))
    with pytest.raises(ValueError, match="feature names should match"):
        forest.predict(frame[list("edcba")])


# -- what a user stumbled over -----------------------------------------------------------------------------------------


def test_a_warm_start_keeps_classes_and_categories():
    X = np.random.default_rng(0).normal(size=(60, 3))
    animals, others = np.where(X[:, 0] > 0, "cat", "dog"), np.where(X[:, 0] > 0, "zebra", "ant")
    forest = RandomForestClassifier(3, warm_start=True, random_state=0).fit(X, animals)
    with pytest.raises(UsageError, match="warm_start needs the same classes and categories as before"):
        forest.set_params(n_estimators=4).fit(X, others)
    frame = pd.DataFrame({"c": ["a", "b"] * 30})
    forest = RandomForestClassifier(3, warm_start=True, categorical_features=["c"], random_state=0)
    forest.fit(frame, [0, 1] * 30)
    with pytest.raises(UsageError, match="warm_start needs the same classes and categories as before"):
        forest.set_params(n_estimators=4).fit(frame.replace("a", "z"), [0, 1] * 30)


@pytest.mark.parametrize("kind", [RandomForestClassifier, RandomForestRegressor])
def test_out_of_bag_figures_need_the_rows_in_their_order(kind):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 3)), rng.integers(0, 2, 80)
    forest = kind(4, warm_start=True, oob_score=True, random_state=0).fit(X, y)
    with pytest.raises(UsageError, match="needs the same rows in the same order as before, got a different y"):
        forest.set_params(n_estimators=5).fit(X[::-1], y[::-1])
    forest = kind(4, random_state=0).fit(X, y)
    forest.permutation_importance(X, y)
    with pytest.raises(UsageError, match="need the rows of the fit, in their order; got a different y"):
        forest.permutation_importance(X[::-1], y[::-1])


def test_a_fit_without_out_of_bag_leaves_no_old_figures():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 3)), rng.integers(0, 2, 80)
    forest = RandomForestClassifier(20, oob_score=True, random_state=0).fit(X, y)
    assert hasattr(forest, "strength_")
    forest.set_params(oob_score=False).fit(X, y)
    assert not [name for name in vars(forest) if name.startswith(("oob_score_", "oob_e", "oob_d", "strength", "corr"))]
