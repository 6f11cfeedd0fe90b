"""AdaBoost of numbers: its rounds against a plain twin, scikit-learn's checks, and at its edges."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_diabetes
from sklearn.ensemble import AdaBoostRegressor as Theirs
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor as TheirTree
from sklearn.utils.estimator_checks import parametrize_with_checks

from depthforest.base.errors import UsageError
from depthforest.ensemble import (
    AdaBoostRegressor,
    BaggingRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    GradientBoostingRegressor,
    RandomForestRegressor,
)

X, Y = load_diabetes(return_X_y=True)

_CHECKS = parametrize_with_checks(
    [AdaBoostRegressor(n_estimators=3)],
    expected_failed_checks=lambda _: {
        f"check_sample_weight_equivalence_on_{kind}_data": "drawn rows" for kind in ("dense", "sparse")
    },
)


@pytest.mark.parametrize(_CHECKS.args[0], list(_CHECKS.args[1]), ids=_CHECKS.kwargs["ids"])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("loss", ["linear", "square", "exponential"])
@pytest.mark.parametrize("rate", [0.5, 1.0])
def test_books_and_medians_are_those_of_the_formulas(loss, rate):
    first = 1.0 + np.arange(len(Y)) % 3
    model = AdaBoostRegressor(n_estimators=6, loss=loss, learning_rate=rate, random_state=0).fit(X, Y, first)
    weights, answers = first / first.sum(), []
    for member, weight, error in zip(model.estimators_, model.estimator_weights_, model.estimator_errors_, strict=True):
        answers.append(member.predict(X))
        residual = np.abs(answers[-1] - Y)
        share = residual / residual.max()
        losses = {"linear": share, "square": share**2, "exponential": 1 - np.exp(-share)}[loss]
        assert_allclose(error, (weights * losses).sum())
        assert_allclose(weight, rate * np.log((1 - error) / error))
        weights = weights * (error / (1 - error)) ** (rate * (1 - losses))
        weights = weights / weights.sum()
    expected = []
    for row in np.array(answers).T:
        reached = 0.0
        for k in np.argsort(row):
            reached += model.estimator_weights_[k]
            if reached >= model.estimator_weights_.sum() / 2:
                expected.append(row[k])
                break
    assert len(model) == 6
    assert_array_equal(model.predict(X), expected)
    stages = list(model.staged_predict(X))
    assert_array_equal(stages[-1], expected)
    assert_array_equal(stages[0], answers[0])
    assert list(model.staged_score(X, Y))[-1] == model.score(X, Y)


def test_as_good_as_scikit_learn():
    fit, new = slice(0, 300), slice(300, None)
    ours, theirs = (
        np.mean([kind(n_estimators=20, random_state=s).fit(X[fit], Y[fit]).score(X[new], Y[new]) for s in range(4)])
        for kind in (AdaBoostRegressor, Theirs)
    )
    assert ours > theirs - 0.03


def test_members_of_any_make():
    model = AdaBoostRegressor(LinearRegression(), n_estimators=3, random_state=0).fit(X, Y)
    assert model.score(X, Y) > 0.4
    with pytest.raises(AttributeError, match="a member has no feature_importances_: LinearRegression"):
        model.feature_importances_  # noqa: B018
    trees = AdaBoostRegressor(TheirTree(max_depth=2), n_estimators=3, random_state=0).fit(X, Y)
    assert trees.feature_importances_.sum() == pytest.approx(1)


def test_edges():
    perfect = AdaBoostRegressor(DecisionTreeRegressor(), random_state=0).fit(np.zeros((5, 1)), np.ones(5))
    assert len(perfect) == 1
    assert_array_equal(perfect.estimator_errors_, [0])
    assert_array_equal(perfect.predict([[1.0]]), [1])
    poor = AdaBoostRegressor(random_state=0).fit(np.zeros((6, 1)), [-1, -1, -1, 1, 1, 1])
    assert len(poor) == len(poor.estimator_weights_) == 1
    for wrong, message in [
        ({"loss": "huber"}, r"loss must be one of 'linear', 'square', 'exponential', got 'huber'"),
        ({"learning_rate": 0}, "learning_rate must be above 0, got 0: no member would have a weight"),
        ({"verbose": "loud"}, "verbose must be a whole number"),
        ({"estimator": DecisionTreeClassifier()}, "AdaBoostRegressor needs a regressor as its estimator"),
    ]:
        with pytest.raises(UsageError, match=message):
            AdaBoostRegressor(**wrong).fit(X, Y)


def test_an_interrupted_fit_keeps_its_members():
    class Stops(LinearRegression):
        n_fits = 0

        def fit(self, x, y):
            type(self).n_fits += 1
            if self.n_fits > 2:
                raise KeyboardInterrupt
            return super().fit(x, y)

    model = AdaBoostRegressor(Stops(), random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y)
    assert len(model) == len(model.estimator_weights_) == 2
    assert model.predict(X).shape == Y.shape


@pytest.mark.parametrize(
    "kind", [AdaBoostRegressor, BaggingRegressor, GradientBoostingRegressor, RandomForestRegressor]
)
def test_generators_are_random_states(kind):
    answers = [kind(n_estimators=3, random_state=np.random.default_rng(s)).fit(X, Y).predict(X) for s in (1, 1, 2)]
    assert_array_equal(answers[0], answers[1])
    if kind is not GradientBoostingRegressor:  # which draws nothing by default
        assert (answers[0] != answers[2]).any()
    tree = DecisionTreeRegressor(max_features=1, random_state=np.random.default_rng(1)).fit(X, Y)
    again = DecisionTreeRegressor(max_features=1, random_state=np.random.default_rng(1)).fit(X, Y)
    assert_array_equal(tree.predict(X[:, ::-1]), again.predict(X[:, ::-1]))
