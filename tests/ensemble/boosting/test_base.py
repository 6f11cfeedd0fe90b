"""Boosted estimators: warm starts, early stopping, interrupts, jobs, and what they refuse."""

import pickle
import re

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from depthforest.base.errors import UsageError
from depthforest.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    NewtonBoostingClassifier,
    NewtonBoostingRegressor,
)
from depthforest.ensemble.boosting.rounds import Rounds

KINDS = [
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    NewtonBoostingClassifier,
    NewtonBoostingRegressor,
]
CLASSIFIERS, REGRESSORS = KINDS[::2], KINDS[1::2]


def is_class(kind):
    return "Classifier" in kind.__name__


def make_rows(kind, n=150, seed=0, n_classes=3):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 5)).astype(np.float32)
    x[rng.random(x.shape) < 0.05] = np.nan
    signal = np.nan_to_num(x[:, 0]) * 2 + np.nan_to_num(x[:, 1]) ** 2 + rng.normal(size=n) / 2
    if is_class(kind):
        return x, np.digitize(signal, np.quantile(signal, np.linspace(0, 1, n_classes + 1)[1:-1]))
    return x, signal


def raw_of(model, x):
    return model.decision_function(x) if hasattr(model, "decision_function") else model.predict(x)


def assert_equal_models(one, other, x):
    """Equal in every byte."""
    assert one.n_estimators_ == other.n_estimators_
    for a, b in zip(one.trees_, other.trees_, strict=True):
        for name in ("feature", "threshold", "child", "missing_go_to_left", "mask", "masks", "values", "impurity"):
            assert getattr(a, name).tobytes() == getattr(b, name).tobytes()
    assert raw_of(one, x).tobytes() == raw_of(other, x).tobytes()
    for name in ("start_", "train_score_", "validation_score_", "oob_improvement_"):
        assert getattr(one, name).tobytes() == getattr(other, name).tobytes()


# -- jobs and seeds ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("max_bins", [255, None], ids=["histogram", "exact"])
def test_jobs_do_not_change_a_byte(kind, max_bins):
    x, y = make_rows(kind, 400)
    settings = {"n_estimators": 4, "subsample": 0.7, "random_state": 5, "max_bins": max_bins}
    settings |= {"max_features": 0.6} if "Gradient" in kind.__name__ else {"colsample_bynode": 0.6}
    one = kind(**settings, n_jobs=1, n_iter_no_change=3).fit(x, y)
    for n_jobs in (2, -1):
        assert_equal_models(kind(**settings, n_jobs=n_jobs, n_iter_no_change=3).fit(x, y), one, x)


@pytest.mark.parametrize("kind", KINDS)
def test_seeds_matter_where_something_is_drawn(kind):
    x, y = make_rows(kind)
    predicted = [raw_of(kind(n_estimators=3, subsample=0.5, random_state=s).fit(x, y), x) for s in (0, 0, 1)]
    assert_array_equal(predicted[0], predicted[1])
    assert (predicted[0] != predicted[2]).any()
    if "Newton" in kind.__name__:  # gradient boosting draws which of equal splits it takes
        plain = [raw_of(kind(n_estimators=3, random_state=s).fit(x, y), x) for s in (0, 1)]
        assert_array_equal(plain[0], plain[1])


def test_the_order_of_rows_hardly_matters():
    x, y = make_rows(NewtonBoostingRegressor)
    order = np.random.default_rng(0).permutation(len(y))
    one = NewtonBoostingRegressor(n_estimators=5, max_depth=3).fit(x, y).predict(x)
    other = NewtonBoostingRegressor(n_estimators=5, max_depth=3).fit(x[order], y[order]).predict(x)
    assert_allclose(one, other, rtol=1e-9)


# -- warm start --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("subsample", [1.0, 0.6])
def test_a_warm_start_ends_where_one_go_does(kind, subsample):
    x, y = make_rows(kind)
    settings = {"subsample": subsample, "random_state": 7}
    once = kind(n_estimators=6, **settings).fit(x, y)
    twice = kind(n_estimators=2, warm_start=True, **settings).fit(x, y)
    first = twice.trees_[0]
    twice.set_params(n_estimators=6).fit(x, y)
    assert twice.trees_[0] is first
    assert_equal_models(twice, once, x)
    twice.fit(x, y)  # nothing is left to do
    assert_equal_models(twice, once, x)


def test_a_warm_start_with_early_stopping_goes_on():
    x, y = make_rows(GradientBoostingClassifier)
    settings = {"n_iter_no_change": 50, "random_state": 1, "validation_fraction": 0.3}
    once = GradientBoostingClassifier(n_estimators=6, tol=0.0, **settings).fit(x, y)
    twice = GradientBoostingClassifier(n_estimators=3, tol=0.0, warm_start=True, **settings).fit(x, y)
    twice.set_params(n_estimators=6).fit(x, y)
    assert once.n_estimators_ == 6
    assert_equal_models(twice, once, x)


def test_rounds_that_were_not_judged_are_kept():
    """Five rounds without validation, then more with it: the best is not counted from the first that was judged."""
    x, y = make_rows(GradientBoostingRegressor, 300)
    model = GradientBoostingRegressor(n_estimators=5, warm_start=True).fit(x[:200], y[:200])
    model.set_params(n_estimators=12, n_iter_no_change=5)
    model.fit(x[:200], y[:200], X_val=x[200:], y_val=y[200:])
    assert model.validation_score_.shape == (12,)
    assert_array_equal(np.isnan(model.validation_score_), np.arange(12) < 5)
    assert np.nanargmin(model.validation_score_) == 11
    assert model.n_estimators_ == 12


@pytest.mark.parametrize("kind", KINDS)
def test_without_warm_start_a_fit_begins_anew(kind):
    x, y = make_rows(kind)
    model = kind(random_state=0, n_estimators=3).fit(x, y)
    model.fit(x[:, :2], y)
    assert model.n_features_in_ == 2
    assert_equal_models(model, kind(random_state=0, n_estimators=3).fit(x[:, :2], y), x[:, :2])


def test_warm_starts_that_mean_something_else():
    x, y = make_rows(GradientBoostingClassifier)
    model = GradientBoostingClassifier(n_estimators=3, warm_start=True).fit(x, y)

    def refused(text, x=x, y=y, **changes):
        with pytest.raises(UsageError, match=text):
            pickle.loads(pickle.dumps(model)).set_params(**changes).fit(x, y)

    other = "warm_start needs the same loss, columns, classes and categories as before"
    refused(other, y=y + 1)
    refused(other, x=x[:, :3])
    refused(other, y=np.minimum(y, 1))
    refused("n_estimators=2 is less than the 3 rounds that warm_start keeps", n_estimators=2)
    two = GradientBoostingClassifier(n_estimators=2, warm_start=True).fit(x, y > 1)
    with pytest.raises(UsageError, match=other):
        two.set_params(loss="exponential", n_estimators=4).fit(x, y > 1)


# -- early stopping ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_share_of_the_rows_ends_the_fit_at_its_best_round(kind):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 3))
    y = rng.integers(0, 2, 200) if is_class(kind) else rng.normal(size=200)  # noise: nothing to learn
    model = kind(n_estimators=60, n_iter_no_change=4, learning_rate=0.5, random_state=0).fit(x, y)
    scores = model.validation_score_
    assert len(scores) == len(model.train_score_) < 60
    assert model.n_estimators_ == 1 + np.argmin(scores)
    assert len(model.trees_) == model.n_estimators_
    assert len(list(model.staged_predict(x))) == model.n_estimators_ == len(model)


@pytest.mark.parametrize("kind", KINDS)
def test_given_rows_judge_the_rounds(kind):
    x, y = make_rows(kind, 300)
    model = kind(random_state=0, n_estimators=40, n_iter_no_change=3, learning_rate=0.5, max_depth=3)
    model.fit(x[:200], y[:200], X_val=x[200:], y_val=y[200:])
    assert 1 < model.n_estimators_ < 40
    # all of the first 200 train: the rounds that were kept are those of a fit without validation
    plain = kind(random_state=0, n_estimators=model.n_estimators_, learning_rate=0.5, max_depth=3).fit(x[:200], y[:200])
    assert raw_of(plain, x).tobytes() == raw_of(model, x).tobytes()
    if is_class(kind):
        own = -np.log(model.predict_proba(x[200:])[np.arange(100), y[200:]]).mean()
    else:
        own = 0.5 * np.mean((model.predict(x[200:]) - y[200:]) ** 2)
    assert model.validation_score_.min() == pytest.approx(own)


def test_validation_weights_count():
    x, y = make_rows(NewtonBoostingRegressor, 200)
    weights = np.random.default_rng(0).integers(0, 3, 80).astype(float)
    model = NewtonBoostingRegressor(n_estimators=3)
    model.fit(x[:120], y[:120], X_val=x[120:], y_val=y[120:], sample_weight_val=weights)
    losses = [np.average(0.5 * (p - y[120:]) ** 2, weights=weights) for p in model.staged_predict(x[120:])]
    assert_allclose(model.validation_score_, losses)
    assert model.n_estimators_ == 3  # without n_iter_no_change they are only told


def test_tolerance_ends_a_fit_that_falls_slowly():
    x, y = make_rows(GradientBoostingRegressor, 300)
    lengths = [
        len(GradientBoostingRegressor(n_iter_no_change=2, tol=tol, random_state=0).fit(x, y).validation_score_)
        for tol in (0.0, 0.02, 10.0)
    ]
    assert lengths[0] > lengths[1] > lengths[2] == 3


def test_classes_keep_their_shares_in_the_validation_rows():
    x, y = make_rows(GradientBoostingClassifier, 90)
    y[:] = np.arange(90) % 9 == 0
    model = GradientBoostingClassifier(n_estimators=2, n_iter_no_change=2, validation_fraction=0.3).fit(x, y)
    assert model.start_[0] == pytest.approx(np.log(7 / 56), rel=0.02)


def test_too_few_rows_to_set_any_aside():
    with pytest.raises(UsageError, match=r"early stopping cannot hold out validation_fraction=0\.1"):
        GradientBoostingClassifier(n_iter_no_change=2).fit([[0], [1], [2]], [0, 1, 1])


# -- interrupts and failures -------------------------------------------------------------------------------------------


class Breaking:
    """Squared error whose gradient is not finite after so many calls."""

    def __init__(self, at):
        self.at, self.n = at, 0

    def value(self, y, raw):
        return 0.5 * (raw - y) ** 2

    def gradient(self, y, raw):
        self.n += 1
        return np.where(self.n > self.at, np.nan, raw - y)

    def hessian(self, y, raw):  # noqa: ARG002 - as losses are asked
        return np.ones(len(y))

    def leaf_value(self, y, raw, weights):
        return np.average(y - raw, weights=weights)


@pytest.mark.parametrize("kind", KINDS)
def test_an_interrupted_fit_keeps_its_rounds(kind, monkeypatch):
    x, y = make_rows(kind)
    wanted = kind(n_estimators=3, random_state=0).fit(x, y)
    plain = Rounds.round
    seen = []

    def interrupted(self, seed):
        seen.append(seed)
        if len(seen) == 4:
            raise KeyboardInterrupt
        return plain(self, seed)

    monkeypatch.setattr(Rounds, "round", interrupted)
    model = kind(n_estimators=9, random_state=0, warm_start=True)
    with pytest.raises(KeyboardInterrupt):
        model.fit(x, y)
    assert_equal_models(model, wanted, x)
    monkeypatch.undo()
    model.fit(x, y)  # and the rest can follow
    assert_equal_models(model, kind(n_estimators=9, random_state=0).fit(x, y), x)


@pytest.mark.parametrize("kind", KINDS)
def test_a_fit_without_a_round_is_no_fit(kind, monkeypatch):
    """Also of one that was fitted before: half of the old and half of the new would be neither."""
    x, y = make_rows(kind)
    model = kind(random_state=0, n_estimators=2).fit(x, y)

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Rounds, "round", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(x[:, :2], y)
    with pytest.raises(NotFittedError):
        model.predict(x[:, :2])
    monkeypatch.undo()
    assert_equal_models(model.fit(x, y), kind(random_state=0, n_estimators=2).fit(x, y), x)


@pytest.mark.parametrize("kind", KINDS)
def test_a_warm_start_goes_on_from_the_last_fit_only(kind, monkeypatch):
    """Not from trees of an earlier one, which a fit that was interrupted at once has left behind."""
    x, y = make_rows(kind)
    model = kind(random_state=0, n_estimators=2).fit(x, y)

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Rounds, "round", interrupted)
    other = make_rows(kind, seed=1)
    with pytest.raises(KeyboardInterrupt):
        model.fit(*other)
    monkeypatch.undo()
    model.set_params(warm_start=True, n_estimators=3).fit(*other)
    assert_equal_models(model, kind(random_state=0, n_estimators=3).fit(*other), x)


@pytest.mark.parametrize("kind", KINDS)
def test_a_fit_that_failed_can_be_repeated(kind):
    x, y = make_rows(kind)
    model = kind(random_state=0, n_estimators=2, learning_rate=-1)
    with pytest.raises(UsageError):
        model.fit(x, y)
    with pytest.raises(NotFittedError):
        model.predict(x)
    model.set_params(learning_rate=0.3).fit(x, y)
    assert_equal_models(model, kind(random_state=0, n_estimators=2, learning_rate=0.3).fit(x, y), x)


@pytest.mark.parametrize("kind", REGRESSORS)
def test_a_gradient_that_is_not_finite_is_told_with_its_round(kind):
    x, y = make_rows(kind)
    count = Breaking(10**9)
    model = kind(n_estimators=5, loss=count).fit(x, y)
    calls, rounds = count.n, model.n_estimators_
    assert rounds == 5
    broken = kind(n_estimators=5, loss=Breaking(calls - 1))
    with pytest.raises(UsageError, match=r"gradient of loss Breaking must be finite, got nan at y=.* in round 5"):
        broken.fit(x, y)
    assert broken.n_estimators_ == 4  # what was good is kept


# -- what is refused ---------------------------------------------------------------------------------------------------

BAD = [
    ({"loss": "log"}, "loss must be one of"),
    ({"learning_rate": 0}, "learning_rate and subsample must be above 0, got 0 and 1"),
    ({"learning_rate": -0.1}, "learning_rate must be a number from 0, got -0.1"),
    ({"learning_rate": np.inf}, "learning_rate must be a number from 0, got inf"),
    ({"n_estimators": 0}, "n_estimators must be a whole number from 1, got 0"),
    ({"n_estimators": 2.5}, "n_estimators must be a whole number from 1, got 2.5"),
    ({"subsample": 0}, "learning_rate and subsample must be above 0, got 0.1 and 0|above 0, got 0.3 and 0"),
    ({"subsample": 1.5}, "subsample must be a number from 0 to 1, got 1.5"),
    ({"max_depth": 0}, "max_depth must be a whole number from 1, got 0"),
    ({"max_leaf_nodes": 1}, "max_leaf_nodes must be a whole number from 2, got 1"),
    ({"max_bins": 1}, "max_bins must be a whole number from 2 to 255"),
    ({"init": "mean"}, "init must be None, 'zero' or an estimator with fit and predict.*; got 'mean'"),
    ({"tol": -1}, "tol must be a number from 0, got -1"),
    ({"n_iter_no_change": 0}, "n_iter_no_change must be a whole number from 1, got 0"),
    ({"n_iter_no_change": 2, "validation_fraction": 0}, "validation_fraction must be above 0 and below 1, got 0"),
    ({"n_iter_no_change": 2, "validation_fraction": 2}, "validation_fraction must be a number from 0 to 1, got 2"),
    ({"n_jobs": 0}, "n_jobs must be None or a whole number other than 0"),
    ({"monotonic_cst": [2, 0, 0, 0, 0]}, "monotonic_cst must be -1, 0 or 1 for each of 5 columns"),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("changes", "text"), BAD, ids=str)
def test_bad_settings(kind, changes, text):
    x, y = make_rows(kind, n_classes=2)
    with pytest.raises(UsageError, match=text) as error:
        kind(**{"n_estimators": 2} | changes).fit(x, y)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("kind", KINDS)
def test_validation_rows_that_are_refused(kind):
    x, y = make_rows(kind)
    model = kind(n_estimators=2)
    with pytest.raises(UsageError, match="X_val and y_val go together: pass both, or neither"):
        model.fit(x, y, X_val=x)
    with pytest.raises(UsageError, match="X_val and y_val go together: pass both, or neither"):
        model.fit(x, y, y_val=y)
    with pytest.raises(ValueError, match=r"X has 2 features, but .* is expecting 5 features"):
        model.fit(x, y, X_val=x[:, :2], y_val=y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(x, y, X_val=x[:9], y_val=y)
    with pytest.raises(ValueError, match=re.escape("sample_weight.shape == (5,)")):
        model.fit(x, y, X_val=x, y_val=y, sample_weight_val=np.ones(5))


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_labels_that_are_refused(kind):
    x, y = make_rows(kind)
    with pytest.raises(UsageError, match="y_val has the class 9, which is missing from y"):
        kind(n_estimators=2).fit(x, y, X_val=x, y_val=np.where(y == 2, 9, y))
    with pytest.raises(UsageError, match="at least two classes to boost, got 1 class"):
        kind().fit(x, np.zeros(len(y)))
    with pytest.raises(UsageError, match="loss 'exponential' separates two classes, but y has 3: use 'log_loss'"):
        kind(loss="exponential").fit(x, y)
    with pytest.raises(UsageError, match="got 'squared_error', which is for regression"):
        kind(loss="squared_error").fit(x, y)
    with pytest.raises(ValueError, match="Unknown label type"):
        kind().fit(x, y + 0.5)


@pytest.mark.parametrize("kind", REGRESSORS)
def test_targets_that_are_refused(kind):
    x, y = make_rows(kind)
    with pytest.raises(UsageError, match="got 'log_loss', which is for classification"):
        kind(loss="log_loss").fit(x, y)
    for bad in (np.nan, np.inf):
        with pytest.raises(ValueError, match="Input y contains"):
            kind().fit(x, np.where(y > 0, y, bad))


@pytest.mark.parametrize("kind", KINDS)
def test_tables_that_are_refused(kind):
    x, y = make_rows(kind)
    filled = np.nan_to_num(x)
    with pytest.raises(ValueError, match="infinity"):
        kind().fit(np.where(filled > 1, np.inf, filled), y)
    with pytest.raises(ValueError, match="sample_weight must be 0 or more, got -1"):
        kind().fit(x, y, -np.ones(len(y)))
    with pytest.raises(NotFittedError):
        kind().predict(x)


# -- small sets --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", REGRESSORS)
@pytest.mark.parametrize("max_bins", [255, None])
def test_one_row_and_constant_targets(kind, max_bins):
    model = kind(n_estimators=3, max_bins=max_bins)
    assert model.fit([[1.0]], [4.0]).predict([[7.0]]) == pytest.approx([4.0])
    model.fit(np.arange(20.0)[:, None], np.full(20, 2.5))
    assert_allclose(model.predict([[3.0], [np.nan]]), 2.5)
    assert_array_equal(model.feature_importances_, [0.0])


@pytest.mark.parametrize("kind", KINDS)
def test_columns_without_a_value(kind):
    x, y = make_rows(kind)
    empty = np.column_stack((np.full(len(y), np.nan), x, np.full(len(y), 3.0)))
    model = kind(random_state=0, n_estimators=3).fit(empty, y)
    assert_array_equal(raw_of(model, empty), raw_of(kind(random_state=0, n_estimators=3).fit(x, y), x))
    assert model.feature_importances_[0] == model.feature_importances_[-1] == 0


@pytest.mark.parametrize("kind", KINDS)
def test_progress_goes_to_standard_error(kind, capsys):
    x, y = make_rows(kind)
    kind(n_estimators=2, verbose=1).fit(x, y)
    shown = capsys.readouterr()
    assert "boosting" in shown.err
    assert shown.out == ""


@pytest.mark.parametrize("kind", KINDS)
def test_clones_and_pickles(kind):
    x, y = make_rows(kind)
    model = kind(n_estimators=3, subsample=0.5, random_state=1).fit(x, y)
    assert_equal_models(clone(model).fit(x, y), model, x)
    assert_equal_models(pickle.loads(pickle.dumps(model)), model, x)


@pytest.mark.parametrize("kind", KINDS)
def test_inputs_are_left_alone(kind):
    x, y = make_rows(kind)
    weights = np.ones(len(y))
    before = x.copy(), y.copy(), weights.copy()
    for part in (x, y, weights):
        part.setflags(write=False)
    kind(n_estimators=2).fit(x, y, weights).predict(x)
    for part, old in zip((x, y, weights), before, strict=True):
        assert_array_equal(part, old)
