"""Posterior sampling: the Bayesian bootstrap, and linear members that draw their own parameters."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_diabetes, load_iris
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from depthforest.base.errors import UsageError
from depthforest.ensemble import BayesianLinearRegressor, DiverseEnsembleClassifier, DiverseEnsembleRegressor
from depthforest.ensemble.bagging.draws import DrawPlan


def plan(n, weights=None):
    return DrawPlan(n, 1, None, False, weights, None, False, is_bayesian=True)


def test_row_weights_are_dirichlets():
    shares = np.stack([plan(4).row_weights(seed) for seed in range(4000)]) / 4
    assert_allclose(shares.sum(axis=1), 1)
    assert_allclose(shares.mean(axis=0), 0.25, atol=0.01)
    assert_allclose(shares.var(axis=0), 0.25 * 0.75 / 5, rtol=0.1)  # of Dirichlet(1, 1, 1, 1)
    heavy = np.stack([plan(3, np.array([2.0, 1.0, 0.0])).row_weights(seed) for seed in range(4000)]) / 3
    assert_allclose(heavy.mean(axis=0), [2 / 3, 1 / 3, 0], atol=0.01)
    assert_allclose(heavy[:, 0].var(), 2 / 9 / 4, rtol=0.1)  # of Dirichlet(2, 1)


def test_the_spread_of_bootstrapped_means_is_their_standard_error():
    y = np.random.default_rng(0).normal(3.0, 2.0, 400)
    X = np.zeros((400, 1))
    members = DiverseEnsembleRegressor(LinearRegression(), 300, bootstrap="bayesian", random_state=0).fit(X, y)
    means = [float(member.predict(X[:1])[0]) for member in members.estimators_]
    assert np.std(means) == pytest.approx(y.std() / 20, rel=0.15)
    assert np.mean(means) == pytest.approx(y.mean(), abs=0.03)


def test_members_of_classes_get_every_row_weighed():
    X, y = load_iris(return_X_y=True)
    weights = np.where(np.arange(150) % 5, 1.0, 0.0)
    settings = {"bootstrap": "bayesian", "random_state": 0}
    tree = DecisionTreeClassifier(max_depth=2, random_state=0)
    ensembles = [DiverseEnsembleClassifier(tree, 5, n_jobs=jobs, **settings).fit(X, y, weights) for jobs in (1, 2)]
    assert_array_equal(ensembles[0].predict_proba(X), ensembles[1].predict_proba(X))
    assert {len(rows) for rows in ensembles[0].estimators_samples_} == {120}
    assert len({member.tree_.value.tobytes() for member in ensembles[0].estimators_}) == 5
    assert all(len(member.classes_) == 3 for member in ensembles[0].estimators_)
    assert ensembles[0].score(X, y) > 0.9


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"bootstrap": "bayes"}, "bootstrap must be True, False or 'bayesian', got 'bayes'"),
        ({"bootstrap": "bayesian", "max_samples": 0.5}, "max_samples must be None, got 0.5"),
        ({"bootstrap": "bayesian", "oob_score": True}, "every member sees all rows"),
        ({"bootstrap": "bayesian", "estimator": KNeighborsClassifier()}, "KNeighborsClassifier takes no sample_weight"),
    ],
    ids=str,
)
def test_what_cannot_be_weighed_is_named(settings, message):
    with pytest.raises(UsageError, match=message):
        DiverseEnsembleClassifier(**settings).fit(*load_iris(return_X_y=True))


# ---------------------------------------------------------------------- linear members


def table():
    X, y = load_diabetes(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def test_the_mean_is_ridge_regression():
    X, y = table()
    weights = np.random.default_rng(0).integers(0, 4, len(y))
    ours = BayesianLinearRegressor(prior_precision=3.0, sample=False).fit(X, y, weights)
    theirs = Ridge(alpha=3.0).fit(X, y, weights)
    assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9)
    assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-9)
    repeated = BayesianLinearRegressor(prior_precision=3.0, random_state=4)
    drawn = repeated.fit(X, y, weights).predict(X)
    assert_allclose(repeated.fit(np.repeat(X, weights, 0), np.repeat(y, weights)).predict(X), drawn, rtol=1e-9)


def test_draws_have_the_moments_of_the_posterior():
    X, y = table()
    members = DiverseEnsembleRegressor(BayesianLinearRegressor(), 2000, bootstrap=False, random_state=0).fit(X, y)
    drawn = np.array([[*member.coef_, member.intercept_, member.noise_variance_] for member in members.estimators_])
    center = BayesianLinearRegressor(sample=False).fit(X, y)
    covariance = center.noise_variance_ * np.linalg.inv(X.T @ X + np.eye(10))
    error = np.sqrt(np.diag(covariance) / 2000)
    assert (np.abs(drawn[:, :10].mean(axis=0) - center.coef_) < 5 * error).all()
    assert_allclose(np.cov(drawn[:, :10].T), covariance, atol=0.1 * np.diag(covariance).max())
    assert drawn[:, 10].std() == pytest.approx(np.sqrt(center.noise_variance_ / len(y)), rel=0.1)
    assert drawn[:, 11].mean() == pytest.approx(center.noise_variance_, rel=0.01)
    assert drawn[:, 11].std() == pytest.approx(center.noise_variance_ * np.sqrt(2 / len(y)), rel=0.1)
    assert_allclose(members.predict(X), drawn[:, :10].mean(axis=0) @ X.T + drawn[:, 10].mean())


def test_bad_settings_are_named():
    X, y = table()
    for settings, message in (
        ({"prior_precision": 0}, "prior_precision must be above 0"),
        ({"sample": "yes"}, "sample must be True or False"),
    ):
        with pytest.raises(UsageError, match=message):
            BayesianLinearRegressor(**settings).fit(X, y)
    with pytest.raises(UsageError, match="sample_weight must be 0 or more"):
        BayesianLinearRegressor().fit(X, y, -np.ones(len(y)))
