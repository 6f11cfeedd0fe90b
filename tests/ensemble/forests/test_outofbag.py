"""What trees say of rows that they have not seen, quantiles, and importances by shuffling."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from support import naive_forests as naive

from depthforest.base.errors import UsageError
from depthforest.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from depthforest.ensemble.forests.outofbag import error_bound

pytestmark = pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")  # few trees

N = 60


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 9, (N, 3)).astype(np.float32)
    x[rng.random(x.shape) < 0.05] = np.nan
    signal = np.nan_to_num(x[:, 0]) + rng.normal(size=N) * 2
    return x, signal, np.digitize(signal, [3, 6])


def test_a_bootstrap_leaves_out_more_than_a_third():
    n = 5000
    forest = RandomForestClassifier(5, random_state=0, max_depth=1).fit(np.arange(n)[:, None], np.arange(n) % 2)
    share = np.mean([len(np.unique(sample)) / n for sample in forest.estimators_samples_])
    assert share == pytest.approx(1 - (1 - 1 / n) ** n, abs=0.01)
    assert 1 - (1 - 1 / n) ** n == pytest.approx(0.632, abs=0.001)
    assert all(len(sample) == n for sample in forest.estimators_samples_)


@pytest.mark.parametrize("n_trees", [1, 2, 25])
def test_classes_out_of_bag_are_their_twin(table, n_trees):
    x, _, y = table
    forest = RandomForestClassifier(n_trees, oob_score=True, random_state=1).fit(x, y)
    means, errors = naive.out_of_bag(forest.trees_, forest.estimators_samples_, x, y, is_number=False)
    known = [r for r in range(N) if means[r] is not None]
    assert (len(known) == N) == (n_trees == 25)
    assert_array_equal(np.isnan(forest.oob_decision_function_).all(axis=1), [m is None for m in means])
    assert_allclose(forest.oob_decision_function_[known], [means[r] for r in known])
    assert_allclose(forest.oob_errors_, errors)
    right = [means[r].index(max(means[r])) == y[r] for r in known]
    assert forest.oob_score_ == pytest.approx(sum(right) / len(right))
    assert forest.oob_score_ == pytest.approx(1 - forest.oob_errors_[-1])


def test_numbers_out_of_bag_are_their_twin(table):
    x, y, _ = table
    for n_trees in (2, 20):
        forest = RandomForestRegressor(n_trees, oob_score=True, random_state=2).fit(x, y)
        means, errors = naive.out_of_bag(forest.trees_, forest.estimators_samples_, x, y, is_number=True)
        ref = np.array([math.nan if m is None else m[0] for m in means])
        assert np.isnan(ref).any() == (n_trees == 2)
        assert_allclose(forest.oob_prediction_, ref)
        assert_allclose(forest.oob_errors_, errors)
        known = ~np.isnan(ref)
        spread = ((y[known] - y[known].mean()) ** 2).sum()
        assert forest.oob_score_ == pytest.approx(1 - ((y[known] - ref[known]) ** 2).sum() / spread)


def test_strength_and_correlation_are_breimans(table):
    x, _, y = table
    for kind in (RandomForestClassifier, ExtraTreesClassifier):
        forest = kind(15, oob_score=True, bootstrap=True, max_depth=3, random_state=3).fit(x, y)
        strength, correlation = naive.strength_and_correlation(forest.trees_, forest.estimators_samples_, x, y)
        assert forest.strength_ == pytest.approx(strength)
        assert forest.correlation_ == pytest.approx(correlation)
        assert forest.error_bound_ == pytest.approx(correlation * (1 - strength**2) / strength**2)
        assert forest.oob_errors_[-1] < forest.error_bound_


def test_the_bound_of_a_forest_that_is_weaker_than_chance():
    assert error_bound(-0.1, 0.3) == math.inf
    assert error_bound(0.5, 0.2) == pytest.approx(0.6)


def test_judgement_out_of_bag_is_near_that_of_new_rows():
    rng = np.random.default_rng(4)
    x = rng.normal(size=(3000, 5)).astype(np.float32)
    y = (x[:, 0] * x[:, 1] + rng.normal(size=3000) * 0.5 > 0).astype(int)
    forest = RandomForestClassifier(30, oob_score=True, random_state=0).fit(x[:1500], y[:1500])
    assert forest.oob_score_ == pytest.approx(forest.score(x[1500:], y[1500:]), abs=0.05)  # 3 standard errors
    assert forest.oob_errors_[-1] < forest.oob_errors_[2] - 0.02


@pytest.mark.parametrize("kind", [RandomForestClassifier, RandomForestRegressor, ExtraTreesClassifier])
def test_shuffling_finds_the_column_that_matters(kind):
    rng = np.random.default_rng(5)
    x = rng.normal(size=(300, 4)).astype(np.float32)
    x[:, 3] = 1  # never split
    y = (x[:, 1] > 0).astype(int)
    forest = kind(8, bootstrap=True, random_state=0, max_features=None).fit(x, y)
    found = forest.permutation_importance(x, y)
    assert found.importances.shape == (4, 8)
    assert_allclose(found.importances_mean, found.importances.mean(axis=1))
    assert_allclose(found.importances_std, found.importances.std(axis=1))
    assert found.importances_mean.argmax() == 1
    assert found.importances_mean[1] > 0.3
    assert (found.importances[3] == 0).all()
    assert np.abs(found.importances_mean[[0, 2]]).max() < 0.05
    again = forest.set_params(n_jobs=2).permutation_importance(x, y)
    assert_array_equal(found.importances, again.importances)


def test_shuffling_is_its_twin(table):
    """Of one tree and one column there is one shuffle; the loss with it, minus the loss without."""
    x, _, y = table
    x, labels = x[:, :1], np.array(["a", "b", "c"])[y]
    forest = RandomForestClassifier(3, random_state=6).fit(x, labels)
    found = forest.permutation_importance(x, labels).importances
    for t, tree in enumerate(forest.trees_):
        unseen = sorted(set(range(N)) - set(forest.estimators_samples_[t].tolist()))
        shuffled = np.random.default_rng([int(forest._seeds[0]), t]).permutation(x[unseen, 0])

        def loss(values, tree=tree, unseen=unseen):
            shares = [naive.mean_of([tree], [v]) for v in values]
            return np.mean([s.index(max(s)) != y[r] for s, r in zip(shares, unseen, strict=True)])

        assert found[0, t] == pytest.approx(loss(shuffled) - loss(x[unseen, 0]))


def test_shuffling_by_class_is_its_twin(table):
    """The error among the unseen rows of a class with a shuffled column, minus the error without; mean over trees."""
    x, _, y = table
    x = x[:, :1]
    forest = RandomForestClassifier(3, random_state=6).fit(x, y)
    found = forest.permutation_importance(x, y)
    twin = np.zeros((3, 3))
    for t, tree in enumerate(forest.trees_):
        unseen = np.setdiff1d(np.arange(N), forest.estimators_samples_[t])
        shuffled = np.random.default_rng([int(forest._seeds[0]), t]).permutation(x[unseen, 0])
        labels = [[np.argmax(naive.mean_of([tree], [v])) for v in values] for values in (shuffled, x[unseen, 0])]
        for c in range(3):
            rows = y[unseen] == c
            wrong = [np.mean(np.array(own)[rows] != c) for own in labels]
            twin[t, c] = wrong[0] - wrong[1]
    assert found.importances_by_class.shape == (3, 1)
    assert_allclose(found.importances_by_class[:, 0], twin.mean(axis=0))
    numbers = RandomForestRegressor(3, random_state=6).fit(x, y.astype(float)).permutation_importance(x, y)
    assert "importances_by_class" not in numbers


def test_shuffling_needs_the_training_rows(table):
    x, _, y = table
    forest = RandomForestClassifier(3, random_state=0).fit(x, y)
    with pytest.raises(UsageError, match="need the 60 training rows and their targets, in their order; got 59 rows"):
        forest.permutation_importance(x[:-1], y[:-1])
    with pytest.raises(UsageError, match=r"got 60 rows and targets of shape \(59,\)"):
        forest.permutation_importance(x, y[:-1])
    with pytest.raises(UsageError, match="y must be the targets of the fit, got the unknown class"):
        forest.permutation_importance(x, y + 1)
    for kind in (ExtraTreesClassifier, ExtraTreesRegressor):
        with pytest.raises(UsageError, match="permutation_importance needs bootstrap=True"):
            kind(2).fit(x, y).permutation_importance(x, y)


@pytest.mark.parametrize("kind", [RandomForestRegressor, ExtraTreesRegressor])
@pytest.mark.parametrize("is_weighed", [False, True])
def test_quantiles_are_their_twin(table, kind, is_weighed):
    x, y, _ = table
    weights = np.random.default_rng(7).integers(0, 3, N).astype(float) if is_weighed else np.ones(N)
    forest = kind(6, quantiles=True, min_samples_leaf=4, random_state=8).fit(x, y, weights)
    tree_weights = [
        np.bincount(sample, minlength=N) * weights if forest.bootstrap else weights
        for sample in forest.estimators_samples_
    ]
    wanted = [0.9, 0.0, 0.5, 1.0]
    found = forest.predict_quantiles(x[:20], wanted)
    ref = [[naive.quantile(forest.trees_, tree_weights, x, y, row, q) for q in wanted] for row in x[:20]]
    assert_allclose(found, ref)
    assert_array_equal(found, forest.set_params(n_jobs=3).predict_quantiles(x[:20], wanted))


def test_quantiles_cover_what_they_say():
    rng = np.random.default_rng(9)
    x = rng.random((2000, 1))
    y = x[:, 0] * rng.normal(size=2000)  # wider to the right
    forest = RandomForestRegressor(20, quantiles=True, min_samples_leaf=20, random_state=0).fit(x[:1000], y[:1000])
    low, high = forest.predict_quantiles(x[1000:], (0.1, 0.9)).T
    inside = (low <= y[1000:]) & (y[1000:] <= high)
    assert inside.mean() == pytest.approx(0.8, abs=0.05)
    is_right = x[1000:, 0] > 0.8
    assert (high - low)[is_right].mean() > 2 * (high - low)[x[1000:, 0] < 0.2].mean()


def test_quantiles_need_the_rows_of_the_leaves(table):
    x, y, _ = table
    forest = RandomForestRegressor(3, random_state=0, quantiles=True).fit(x, y)
    for bad in ([0.5, 1.2], [], [math.nan], [[0.1]]):
        with pytest.raises(UsageError, match="quantiles must be numbers from 0 to 1, got"):
            forest.predict_quantiles(x, bad)
    assert forest.predict_quantiles(x, 0.5).shape == (N, 1)
    for change in ({"quantiles": False}, {"quantiles": False, "warm_start": True, "n_estimators": 4}):
        forest.set_params(**change).fit(x, y)
        with pytest.raises(UsageError, match="needs the rows of all trees' leaves: fit with quantiles=True"):
            forest.predict_quantiles(x)
    forest.set_params(quantiles=True, n_estimators=5).fit(x, y)  # only the last tree has kept its rows
    with pytest.raises(UsageError, match="fit with quantiles=True"):
        forest.predict_quantiles(x)


@pytest.mark.parametrize("strength", [1e-300, 1e200, -1e200, 5e-324, 0.0])
def test_a_bound_of_any_strength_raises_nothing(strength):
    """A file may hold any number: OverflowError."""
    assert not error_bound(strength, 0.3) < 0 or strength > 1
    assert error_bound(0.5, 0.3) == pytest.approx(0.9)
