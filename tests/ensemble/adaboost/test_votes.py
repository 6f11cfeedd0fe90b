"""What boosted members answer together: scikit-learn's shapes, what theory promises, and the package's own analysis."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, make_moons
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB

from depthforest.ensemble import DecisionTreeClassifier, analysis
from depthforest.ensemble.adaboost.estimator import AdaBoostClassifier

EXACT_STUMP = DecisionTreeClassifier(max_depth=1, max_bins=None)


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return train_test_split(X, y, test_size=0.5, random_state=0)


def test_shapes_are_scikit_learns():
    X, y = load_iris(return_X_y=True)
    model = AdaBoostClassifier(n_estimators=4).fit(X, y)
    decision = model.decision_function(X)
    assert decision.shape == model.predict_proba(X).shape == (150, 3)
    np.testing.assert_allclose(decision.sum(axis=1), 0, atol=1e-12)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    np.testing.assert_array_equal(model.predict(X), model.predict_proba(X).argmax(axis=1))
    assert [p.shape for p in model.staged_predict_proba(X)] == [(150, 3)] * 4
    assert list(model.staged_predict(X))[-1].tolist() == model.predict(X).tolist()
    with pytest.raises(AttributeError, match="for two classes, but y has 3"):
        _ = model.error_bound_
    with pytest.raises(AttributeError, match="a member has no feature_importances_: GaussianNB"):
        _ = AdaBoostClassifier(GaussianNB(), n_estimators=2).fit(X, y).feature_importances_


# ---------------------------------------------------------------------- what theory promises


@pytest.mark.parametrize("resample", [False, True])
@pytest.mark.parametrize("rate", [0.5, 1.0, 1.5])
def test_the_training_error_is_below_the_bound_in_every_round(cancer, rate, resample):
    X, _, y, _ = cancer
    weights = np.random.default_rng(1).uniform(0, 2, len(y))
    model = AdaBoostClassifier(n_estimators=15, learning_rate=rate, resample=resample, random_state=0)
    model.fit(X, y, weights)
    errors = 1 - np.array(list(model.staged_score(X, y, weights)))
    assert (errors <= model.error_bound_).all()
    assert (np.diff(model.error_bound_) < 0).all()
    if rate == 1.0:
        e = model.estimator_errors_
        np.testing.assert_allclose(model.error_bound_, np.cumprod(2 * np.sqrt(e * (1 - e))))


def test_it_is_stagewise_minimization_of_the_exponential_loss(cancer):
    X, _, y, _ = cancer
    model = AdaBoostClassifier(EXACT_STUMP, n_estimators=8, form="exponential").fit(X, y)
    signs = 2 * y - 1
    answers = np.array([2 * member.predict(X) - 1 for member in model.estimators_])
    loss = [float(np.exp(-signs * (model.estimator_weights_[:t] @ answers[:t])).mean()) for t in range(1, 9)]
    np.testing.assert_allclose(loss, model.error_bound_)
    for t in range(8):  # each weight is the best that its member can have
        for shift in (-1e-3, 1e-3):
            moved = model.estimator_weights_[: t + 1].copy()
            moved[t] += shift
            assert np.exp(-signs * (moved @ answers[: t + 1])).mean() > loss[t]


def test_both_forms_answer_the_same(cancer):
    X, X_new, y, _ = cancer
    odds, loss = (
        AdaBoostClassifier(EXACT_STUMP, n_estimators=10, form=form).fit(X, y) for form in ("odds", "exponential")
    )
    np.testing.assert_allclose(odds.estimator_weights_, 2 * loss.estimator_weights_)
    bound = odds.error_bound_
    np.testing.assert_allclose(bound, loss.error_bound_)
    np.testing.assert_array_equal(odds.set_params(form="exponential").error_bound_, bound)  # of the fit, as it was
    np.testing.assert_allclose(odds.decision_function(X_new), loss.decision_function(X_new), atol=1e-9)


# ---------------------------------------------------------------------- the package's own analysis of it


def test_margins_grow_with_rounds_after_the_training_error_is_zero(cancer):
    X, _, y, _ = cancer
    model = AdaBoostClassifier(n_estimators=80, random_state=0).fit(X, y)
    scores = list(model.staged_score(X, y))
    start = 1 + max(t for t, score in enumerate(scores) if score < 1) + 1
    assert start < 60
    answers = analysis.member_predictions(model, X)
    lowest = []
    for t in (start, 80):  # nothing is wrong any more, and yet
        weights = model.estimator_weights_[:t] / model.estimator_weights_[:t].sum()
        lowest.append(analysis.vote_margins(answers[:t], y, weights=weights).min())
    assert lowest[0] > 0
    assert lowest[1] > 2 * lowest[0]


def test_margins_by_weight_are_half_the_decision(cancer):
    X, X_new, y, y_new = cancer
    model = AdaBoostClassifier(n_estimators=9).fit(X, y)
    weights = model.estimator_weights_ / model.estimator_weights_.sum()
    margins = analysis.vote_margins(analysis.member_predictions(model, X_new), y_new, weights=weights)
    np.testing.assert_allclose(margins, (2 * y_new - 1) * model.decision_function(X_new) / 2, atol=1e-12)


def test_the_report_reads_members():
    X, y = make_moons(300, noise=0.25, random_state=0)
    X_fit, X_new, y_fit, y_new = train_test_split(X, np.where(y == 0, "up", "down"), test_size=0.5, random_state=0)
    model = AdaBoostClassifier(n_estimators=10).fit(X_fit, y_fit)
    report = analysis.report(model, X_new, y_new)
    assert report["ensemble error"] == pytest.approx(1 - model.score(X_new, y_new))
    assert report["mean member error"] > report["ensemble error"]


def test_bias_falls_with_rounds():
    X, y = make_moons(400, noise=0.2, random_state=0)
    draw = analysis.bootstrap(X[:200], y[:200])
    one, many = analysis.bias_variance_by_size(
        AdaBoostClassifier(n_estimators=25), draw, X[200:], y[200:], sizes=[1, 25], n_rounds=6, random_state=0
    )
    assert many.bias < one.bias - 0.05


@pytest.mark.parametrize("depth", [1, 4])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("resample", [False, True])
def test_trees_walked_together_vote_as_one_by_one(depth, n_classes, resample):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 3))
    x[:, 2] = rng.integers(0, 9, 200)
    x[rng.random(x.shape) < 0.05] = np.nan
    y = np.array(["a", "b", "c"])[rng.integers(0, n_classes, 200)]
    tree = DecisionTreeClassifier(max_depth=depth, categorical_features=[2])
    model = AdaBoostClassifier(tree, n_estimators=8, resample=resample, random_state=0).fit(x, y)
    *_, last = model.staged_decision_function(x)  # each member is asked on its own
    np.testing.assert_array_equal(model.decision_function(x), last)
