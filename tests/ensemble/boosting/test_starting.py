"""Where boosting starts: other estimators and base margins."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import GradientBoostingClassifier as TheirClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, Perceptron
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsRegressor

from depthforest.base.errors import UsageError
from depthforest.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    NewtonBoostingClassifier,
    NewtonBoostingRegressor,
    load,
    to_onnx,
)
from depthforest.ensemble.analysis import shap_values


@pytest.mark.parametrize("loss", ["log_loss", "exponential"])
@pytest.mark.parametrize("data", [load_iris, load_breast_cancer], ids=["three", "two"])
def test_raw_values_start_where_scikit_learns_do(data, loss):
    X, y = data(return_X_y=True)
    if loss == "exponential":
        y = np.minimum(y, 1)
    settings = {"init": GaussianNB(), "loss": loss, "n_estimators": 1, "learning_rate": 1e-12}
    X = X.astype(np.float32)  # what theirs gives to the estimator
    ours = GradientBoostingClassifier(**settings).fit(X, y).decision_function(X)
    theirs = TheirClassifier(**settings).fit(X, y).decision_function(X)
    is_far = np.abs(theirs) > 5  # it rounds probabilities to single precision
    assert_allclose(ours[~is_far], theirs[~is_far], rtol=0, atol=2e-3)
    assert (np.sign(ours) == np.sign(theirs)).all()


@pytest.mark.parametrize("kind", [GradientBoostingRegressor, NewtonBoostingRegressor])
def test_trees_correct_the_start(kind):
    X, y = load_diabetes(return_X_y=True)
    weights = np.where(np.arange(len(y)) % 3, 1.0, 0.0)
    model = kind(init=LinearRegression(), n_estimators=6, random_state=0).fit(X, y, weights)
    line = LinearRegression().fit(X[weights > 0], y[weights > 0])
    by_hand = kind(n_estimators=6, random_state=0).fit(X, y, weights, base_margin=line.predict(X))
    assert_allclose(model.predict(X), by_hand.predict(X, line.predict(X)), rtol=1e-9)
    assert_allclose(list(model.staged_predict(X))[-1], model.predict(X))
    assert ((model.predict(X) - y)[weights > 0] ** 2).sum() < ((line.predict(X) - y)[weights > 0] ** 2).sum()
    assert not hasattr(kind(init=LinearRegression()), "init_")
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))


def test_a_start_sees_only_the_rows_that_are_learned_from():
    X, y = load_diabetes(return_X_y=True)
    model = NewtonBoostingRegressor(init=KNeighborsRegressor(1), n_iter_no_change=3, random_state=0).fit(X, y)
    assert model.init_.n_samples_fit_ == 397  # of 442
    assert model.validation_score_[0] > 100
    logs = NewtonBoostingRegressor(init=KNeighborsRegressor(5), loss="poisson", n_estimators=3).fit(X, y)
    assert np.corrcoef(logs.predict(X), y)[0, 1] > 0.6


def test_a_warm_start_keeps_the_start():
    X, y = load_iris(return_X_y=True)
    model = NewtonBoostingClassifier(init=LogisticRegression(max_iter=500), n_estimators=3, warm_start=True).fit(X, y)
    first = model.init_
    model.set_params(n_estimators=6).fit(X, y)
    once = NewtonBoostingClassifier(init=LogisticRegression(max_iter=500), n_estimators=6).fit(X, y)
    assert model.init_ is first
    assert_array_equal(model.predict_proba(X), once.predict_proba(X))
    model.set_params(init=None, warm_start=False).fit(X, y)
    assert not hasattr(model, "init_")


def test_margins_move_every_answer_and_stay_known_in_files(tmp_path):
    X, y = load_iris(return_X_y=True)
    margin = np.random.default_rng(0).normal(size=(len(y), 3))
    model = NewtonBoostingClassifier(n_estimators=5, learning_rate=0.3)
    model.fit(X, y, base_margin=margin, X_val=X[::2], y_val=y[::2], base_margin_val=margin[::2])
    raw = model.decision_function(X, margin)
    trees = model.decision_function(X, np.zeros((len(y), 3)))
    assert_allclose(raw, margin + trees)
    assert_allclose(model.predict_proba(X, base_margin=margin), np.exp(raw) / np.exp(raw).sum(axis=1, keepdims=True))
    assert_array_equal(model.predict(X, margin), raw.argmax(axis=1))
    last = list(model.staged_predict_proba(X[::2], margin[::2]))[-1]
    assert model.validation_score_[-1] == pytest.approx(-np.log(last[np.arange(75), y[::2]]).mean())
    model.save(tmp_path / "m.safetensors")
    loaded = load(tmp_path / "m.safetensors")
    assert_array_equal(loaded.decision_function(X, margin), raw)
    for one in (model, loaded):
        with pytest.raises(UsageError, match="predictions need base_margin"):
            one.predict(X)
    with pytest.raises(UsageError, match="base_margin was not given to fit"):
        NewtonBoostingClassifier(n_estimators=1).fit(X, y).predict(X, margin)


@pytest.mark.parametrize(
    ("init", "given", "message"),
    [
        (3, {}, "init must be None, 'zero' or an estimator with fit and predict_proba; got 3"),
        (GaussianNB, {}, "got <class"),
        (Perceptron(), {}, "with fit and predict_proba; got Perceptron"),
        ("zero", {"base_margin": np.zeros(150)}, "are both starts"),
        (None, {"base_margin": np.zeros(150)}, r"base_margin must have the shape \(150, 3\), .* got \(150,\)"),
        (None, {"base_margin": np.full((150, 3), np.nan)}, "must be finite"),
        (None, {"base_margin": "zero"}, "must be numbers"),
        (None, {"base_margin_val": np.zeros((150, 3))}, "base_margin_val needs X_val"),
    ],
    ids=str,
)
def test_what_is_no_start_is_named(init, given, message):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(UsageError, match=message):
        GradientBoostingClassifier(init=init).fit(X, y, **given)


def test_a_start_must_take_weights_and_give_what_the_loss_needs():
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.raises(UsageError, match="but loss 'hinge' has none"):
        GradientBoostingClassifier(init=GaussianNB(), loss="hinge").fit(X, y)
    with pytest.raises(UsageError, match="KNeighborsRegressor does not support sample weights"):
        GradientBoostingRegressor(init=KNeighborsRegressor()).fit(X, y, np.ones(len(y)))


def test_what_stands_beside_the_trees_is_not_left_out_in_silence(tmp_path):
    X, y = load_diabetes(return_X_y=True)
    model = NewtonBoostingRegressor(init=LinearRegression(), n_estimators=2).fit(X, y)
    margins = NewtonBoostingRegressor(n_estimators=2).fit(X, y, base_margin=y)
    with pytest.raises(UsageError, match="that starts from LinearRegression cannot be saved"):
        model.save(tmp_path / "m.safetensors")
    for one in (model, margins):
        with pytest.raises(UsageError, match="starts from init or base_margin"):
            shap_values(one, X)
        with pytest.raises(UsageError, match="starts from init or base_margin cannot be exported"):
            to_onnx(one)
