"""Gradient boosting: its settings, its losses on data made for them, scikit-learn's trees beside it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn import ensemble as peers
from sklearn.datasets import make_friedman1

from depthforest.base.errors import UsageError
from depthforest.ensemble import GradientBoostingClassifier, GradientBoostingRegressor


@pytest.fixture(scope="module")
def numbers():
    x, y = make_friedman1(300, noise=0.5, random_state=0)
    return x.astype(np.float32), y


@pytest.fixture(scope="module")
def classes():
    x = np.random.default_rng(0).normal(size=(300, 4)).astype(np.float32)
    return x, (x[:, 0] + x[:, 1] ** 2 > 1).astype(int)


def test_squared_error_is_scikit_learns(numbers):
    """The same trees, where exact splits are told apart by more than rounding."""
    x, y = numbers
    settings = {"n_estimators": 10, "max_depth": 3, "min_samples_leaf": 5, "learning_rate": 0.3}
    ours = GradientBoostingRegressor(max_bins=None, **settings).fit(x, y)
    theirs = peers.GradientBoostingRegressor(random_state=0, **settings).fit(x, y)
    assert_allclose(ours.predict(x), theirs.predict(x), rtol=1e-6)
    # theirs is the mean of squares, ours of halves of them
    assert_allclose(2 * ours.train_score_, theirs.train_score_, rtol=1e-6)


@pytest.mark.parametrize("loss", ["absolute_error", "quantile"])
def test_robust_losses_are_scikit_learns(numbers, loss):
    """The same trees; leaves may differ where a whole interval is least."""
    x, y = numbers
    settings = {"loss": loss, "n_estimators": 5, "max_depth": 2, "min_samples_leaf": 20, "learning_rate": 0.3}
    ours = GradientBoostingRegressor(max_bins=None, alpha=0.7, **settings).fit(x, y)
    theirs = peers.GradientBoostingRegressor(alpha=0.7, random_state=0, **settings).fit(x, y)
    assert np.mean(np.abs(ours.predict(x) - theirs.predict(x))) < 0.05 * np.std(y)


def test_quantiles_lie_where_they_should(numbers):
    x, y = numbers
    for alpha in (0.1, 0.5, 0.9):
        model = GradientBoostingRegressor(loss="quantile", alpha=alpha, n_estimators=40, min_samples_leaf=10).fit(x, y)
        assert np.mean(y <= model.predict(x)) == pytest.approx(alpha, abs=0.06)


def test_outliers_hardly_move_robust_losses(numbers):
    x, y = numbers
    spoiled = np.where(np.arange(300) % 30 == 0, y + 1000, y)
    errors = {
        loss: np.mean(np.abs(GradientBoostingRegressor(loss=loss, n_estimators=50).fit(x, spoiled).predict(x) - y))
        for loss in ("squared_error", "absolute_error", "huber")
    }
    assert errors["absolute_error"] < 0.1 * errors["squared_error"]
    assert errors["huber"] < 0.5 * errors["squared_error"]


@pytest.mark.parametrize("loss", ["logistic", "exponential", "hinge", "perceptron", "multinomial"])
def test_every_loss_learns_classes(classes, loss):
    x, y = classes
    model = GradientBoostingClassifier(loss=loss, n_estimators=60, learning_rate=0.3).fit(x[:200], y[:200])
    assert model.score(x[200:], y[200:]) > 0.85


def test_min_samples_leaf(numbers):
    x, y = numbers
    for value, least in ((1, 1), (25, 25), (0.1, 30)):
        model = GradientBoostingRegressor(n_estimators=3, max_depth=None, min_samples_leaf=value).fit(x, y)
        assert min(tree.n_node_samples[tree.is_leaf].min() for tree in model.trees_) == pytest.approx(least, abs=3)
        assert all((tree.n_node_samples[tree.is_leaf] >= least).all() for tree in model.trees_)


def test_one_row_is_a_leaf_whatever_it_weighs():
    x, y = np.arange(8.0)[:, None], np.arange(8.0)
    model = GradientBoostingRegressor(n_estimators=1, max_depth=None, learning_rate=1.0).fit(x, y, np.full(8, 0.01))
    assert_allclose(model.predict(x), y)


def test_leaves_and_depth(numbers):
    x, y = numbers
    assert all(t.n_leaves == 7 for t in GradientBoostingRegressor(n_estimators=2, max_leaf_nodes=7).fit(x, y).trees_)
    assert all(t.max_depth == 2 for t in GradientBoostingRegressor(n_estimators=2, max_depth=2).fit(x, y).trees_)


def test_drawn_columns_differ_from_node_to_node(numbers):
    x, y = numbers
    model = GradientBoostingRegressor(n_estimators=20, max_features=1, random_state=0).fit(x, y)
    used = [len(np.unique(tree.feature[~tree.is_leaf])) for tree in model.trees_]
    assert max(used) > 2
    assert (model.feature_importances_ > 0).sum() > 8


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"min_samples_leaf": 0}, "min_samples_leaf must be"),
        ({"max_features": 0}, "max_features must be"),
        ({"max_features": "many"}, "max_features must be"),
        ({"loss": "quantile", "alpha": 1.0}, "alpha must be a number above 0 and below 1 for loss 'quantile', got 1.0"),
        ({"loss": "huber", "alpha": None}, "alpha must be a number above 0 and below 1 for loss 'huber', got None"),
        ({"loss": 3}, r"loss must be a name, or an object with methods value\(y, raw\) and gradient\(y, raw\), got 3"),
    ],
    ids=str,
)
def test_bad_settings(numbers, changes, text):
    with pytest.raises(UsageError, match=text) as error:
        GradientBoostingRegressor(**changes).fit(*numbers)
    assert "\n" not in str(error.value)


class Cosh:
    """log cosh of the residual, with nothing but what is needed."""

    def value(self, y, raw):
        return np.log(np.cosh(raw - y))

    def gradient(self, y, raw):
        return np.tanh(raw - y)


def test_a_loss_of_ones_own(numbers):
    x, y = numbers
    model = GradientBoostingRegressor(loss=Cosh(), n_estimators=60).fit(x, y)
    assert model.score(x, y) > 0.9
    assert (np.diff(model.train_score_) < 0).all()
    assert model.start_[0] == pytest.approx(y.mean(), abs=1)


class Margin:
    """log(1 + e^-m) as a user would write it."""

    def value(self, y, raw):
        return np.logaddexp(0, -y * raw)

    def gradient(self, y, raw):
        return -y / (1 + np.exp(y * raw))

    def hessian(self, y, raw):
        return 1 / (2 + 2 * np.cosh(y * raw))


def test_ones_own_logistic_loss_is_the_built_in_one(classes):
    x, y = classes
    own = GradientBoostingClassifier(loss=Margin(), n_estimators=4, random_state=0).fit(x, y)
    ours = GradientBoostingClassifier(loss="logistic", n_estimators=4, random_state=0).fit(x, y)
    assert_allclose(own.decision_function(x), ours.decision_function(x), atol=1e-6)
    assert not hasattr(own, "predict_proba")


def test_a_wrong_gradient_is_found(numbers):
    class Wrong(Cosh):
        def gradient(self, y, raw):
            return np.tanh(y - raw)

    with pytest.raises(UsageError, match="gradient of loss Wrong does not match its value: expected about"):
        GradientBoostingRegressor(loss=Wrong()).fit(*numbers)
