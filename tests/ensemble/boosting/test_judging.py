"""Judging rounds: curves by any metric, early stopping by them, callbacks."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.metrics import get_scorer, log_loss, make_scorer, mean_absolute_error

from depthforest.base.errors import UsageError
from depthforest.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    NewtonBoostingClassifier,
    NewtonBoostingRegressor,
    load,
)


@pytest.mark.parametrize("kind", [GradientBoostingClassifier, NewtonBoostingClassifier])
@pytest.mark.parametrize("data", [load_iris, load_breast_cancer], ids=["three", "two"])
def test_curves_are_what_scorers_say_of_each_stage(kind, data):
    X, y = data(return_X_y=True)
    names = np.array(["a", "b", "c"])[y]
    weights = np.linspace(0.5, 2, len(y[1::2]))
    model = kind(n_estimators=4, scoring=["accuracy", "neg_log_loss"])
    model.fit(X[::2], names[::2], eval_set=[(X[1::2], names[1::2], weights), (X[::2], names[::2])])
    assert list(model.evals_result_) == ["validation_0", "validation_1"]
    curves = model.evals_result_["validation_0"]
    assert list(curves) == ["loss", "accuracy", "neg_log_loss"]
    for n, shares in enumerate(model.staged_predict_proba(X[1::2])):
        expected = log_loss(names[1::2], shares, sample_weight=weights)
        assert_allclose([curves["loss"][n], -curves["neg_log_loss"][n]], expected, rtol=1e-9)
        right = model.classes_[shares.argmax(axis=1)] == names[1::2]
        assert curves["accuracy"][n] == pytest.approx(np.average(right, weights=weights))
    assert_array_equal(model.validation_score_, curves["loss"])
    assert_allclose(model.evals_result_["validation_1"]["loss"], model.train_score_)


def test_early_stopping_looks_at_the_first_metric():
    X, y = load_diabetes(return_X_y=True)
    given = {"X_val": X[1::2], "y_val": y[1::2]}
    settings = {"n_estimators": 60, "learning_rate": 0.4, "n_iter_no_change": 4}
    model = NewtonBoostingRegressor(scoring=["r2", "explained_variance"], **settings)
    curve = model.fit(X[::2], y[::2], **given).evals_result_["validation"]["r2"]
    assert model.n_estimators_ == 1 + curve.argmax() < len(curve) < 60
    assert get_scorer("r2")(model, X[1::2], y[1::2]) == pytest.approx(curve.max())
    own = make_scorer(mean_absolute_error, greater_is_better=False)
    by_own = NewtonBoostingRegressor(scoring={"mine": own}, **settings)
    by_own.fit(X[::2], y[::2], eval_set=[(X[1::2], y[1::2])])
    mine = by_own.evals_result_["validation_0"]["mine"]
    named = by_own.set_params(scoring="neg_mean_absolute_error").fit(X[::2], y[::2], **given)
    assert_allclose(mine, named.evals_result_["validation"]["neg_mean_absolute_error"])
    assert named.n_estimators_ == 1 + named.evals_result_["validation"]["neg_mean_absolute_error"].argmax()


def test_a_share_set_aside_is_judged_by_scorers_too():
    X, y = load_iris(return_X_y=True)
    seen = []

    def metric(estimator, rows, truth):
        seen.append(rows.shape)
        return float((estimator.predict(rows) == truth).mean())

    model = GradientBoostingClassifier(n_estimators=5, n_iter_no_change=3, scoring=metric, random_state=0).fit(X, y)
    assert set(seen) == {(15, 4)}
    assert len(model.evals_result_["validation"]["metric"]) == len(seen)


def test_callbacks_are_told_of_each_round_and_end_the_fit():
    X, y = load_diabetes(return_X_y=True)
    told = []

    def until(n_round, estimator, scores):
        told.append((n_round, len(estimator.predict(X)), scores["validation_0"]["loss"]))
        return n_round == 3

    model = GradientBoostingRegressor(n_estimators=9, warm_start=True)
    model.fit(X, y, monitor=until, callbacks=[lambda *_: False], eval_set=[(X, y)])
    assert [n for n, *_ in told] == [0, 1, 2, 3]
    assert model.n_estimators_ == 4
    assert_array_equal([loss for *_, loss in told], model.validation_score_)
    model.fit(X, y, eval_set=[(X, y)], callbacks=[lambda n, *_: told.append((n, 0, 0))])
    assert told[4][0] == 4
    assert_array_equal(model.predict(X), GradientBoostingRegressor(n_estimators=9).fit(X, y).predict(X))
    assert len(model.evals_result_["validation_0"]["loss"]) == 9


@pytest.mark.parametrize(
    ("settings", "given", "message"),
    [
        ({"scoring": "rmse"}, {}, "scoring has no 'rmse': use 'loss'"),
        ({"scoring": 3}, {}, "scoring must be 'loss', .* got 3"),
        ({"scoring": []}, {}, "at least one metric"),
        ({"scoring": ["r2", "r2"]}, {}, "names a metric twice"),
        ({}, {"callbacks": print}, "callbacks must be a list"),
        ({}, {"monitor": 3}, "must be callables"),
        ({}, {"eval_set": (3,)}, r"list of \(X, y\)"),
        ({}, {"eval_set": "xy"}, "got str"),
        ({"scoring": lambda *_: "good"}, {"eval_set": [(np.eye(4), np.arange(4.0))]}, "must return one number"),
    ],
)
def test_what_cannot_judge_is_named(settings, given, message):
    with pytest.raises(UsageError, match=message):
        NewtonBoostingRegressor(n_estimators=2, **settings).fit(np.eye(4), np.arange(4.0), **given)


def test_curves_of_the_loss_are_kept_in_files(tmp_path):
    X, y = load_diabetes(return_X_y=True)
    model = NewtonBoostingRegressor(n_estimators=3, scoring=["r2", "loss"]).fit(X, y, eval_set=[(X, y)])
    model.save(tmp_path / "m.safetensors")
    loaded = load(tmp_path / "m.safetensors")
    assert loaded.scoring == ["r2", "loss"]
    assert_array_equal(loaded.validation_score_, model.validation_score_)
    with pytest.raises(UsageError, match=r"set_params\(scoring=\.\.\.\) before saving"):
        model.set_params(scoring=get_scorer("r2")).save(tmp_path / "n.safetensors")
