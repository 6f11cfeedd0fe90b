"""Newton boosting: its settings, and XGBoost's exact trees where it is installed."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from depthforest.base.errors import UsageError
from depthforest.ensemble import NewtonBoostingClassifier, NewtonBoostingRegressor

N_ROUNDS, DEPTH, LEAST = 10, 4, 10.0


def make_rows(*, missing, n=1500, n_columns=6):
    rng = np.random.default_rng(1 if missing else 0)
    x = rng.normal(size=(n, n_columns)).astype(np.float32)
    signal = 2 * x[:, 0] + np.sin(3 * x[:, 1]) + x[:, 2] * x[:, 3] + rng.normal(size=n) / 2
    if missing:
        x[rng.random(x.shape) < 0.15] = np.nan
    return x, signal


def assert_same_parts(leaves, theirs):
    """Rows that share a leaf there share one here, in every tree."""
    leaves, theirs = leaves.reshape(len(leaves), -1), theirs.reshape(len(theirs), -1)
    assert leaves.shape == theirs.shape
    for t in range(leaves.shape[1]):
        pairs = set(zip(leaves[:, t].tolist(), theirs[:, t].tolist(), strict=True))
        assert len(pairs) == len(np.unique(leaves[:, t])) == len(np.unique(theirs[:, t]))


def boosted(xgboost, x, y, **changes):
    settings = {"max_depth": DEPTH, "min_child_weight": LEAST, "eta": 0.3, "tree_method": "exact", "nthread": 1}
    table = xgboost.DMatrix(x, y)
    model = xgboost.train(settings | changes, table, N_ROUNDS)
    return model.predict(table, pred_leaf=True), model.predict(table, output_margin=True)


ITS_OTHERS = {"learning_rate": 0.3, "max_leaf_nodes": None, "grow_policy": "depthwise", "min_samples_leaf": 1}

PENALTIES = [{}, {"reg_lambda": 0.1}, {"reg_alpha": 2.0}, {"gamma": 5.0}, {"reg_alpha": 1.0, "gamma": 2.0}]


@pytest.mark.parametrize("missing", [False, True], ids=["full", "missing"])
@pytest.mark.parametrize("penalties", PENALTIES, ids=str)
@pytest.mark.parametrize("task", ["squared", "logistic"])
def test_trees_are_xgboosts(task, penalties, missing):
    """Exact splits, base score 0: the same parts of the rows, leaf values to 1e-5: its sums are single precision."""
    xgboost = pytest.importorskip("xgboost")
    x, signal = make_rows(missing=missing)
    settings = {"n_estimators": N_ROUNDS, "max_depth": DEPTH, "min_child_weight": LEAST, "max_bins": None}
    settings |= {"init": "zero"} | ITS_OTHERS | penalties
    if task == "squared":
        ours = NewtonBoostingRegressor(**settings).fit(x, signal)
        theirs = boosted(xgboost, x, signal, objective="reg:squarederror", base_score=0.0, **penalties)
        raw = ours.predict(x)
    else:
        ours = NewtonBoostingClassifier(**settings).fit(x, signal > 0)
        theirs = boosted(xgboost, x, signal > 0, objective="binary:logistic", base_score=0.5, **penalties)
        raw = ours.decision_function(x)
    assert max(tree.n_leaves for tree in ours.trees_) > 4
    assert_same_parts(ours.apply(x), theirs[0])
    assert_allclose(raw, theirs[1], atol=1e-5)
    if missing:
        assert any((tree.missing_go_to_left[~tree.is_leaf] != 1).any() for tree in ours.trees_)


@pytest.mark.parametrize("missing", [False, True], ids=["full", "missing"])
def test_trees_of_more_classes_are_xgboosts(missing):
    """Its hessian of the softmax is twice ours: with all penalties, and eta, set twice as large the trees are equal.

    -G / (2 H + 2 lambda) is half of -G / (H + lambda), and so are gains. 45 rows of p = 1/3 have hessians of 10,
    but for rounding: children weigh a little more.
    """
    xgboost = pytest.importorskip("xgboost")
    x, signal = make_rows(missing=missing)
    y, least = np.digitize(signal, [-1.5, 1.0]), LEAST + 0.1
    ours = NewtonBoostingClassifier(
        n_estimators=N_ROUNDS, max_depth=DEPTH, min_child_weight=least, max_bins=None, init="zero", gamma=2.0,
        reg_lambda=1.0, **ITS_OTHERS,
    ).fit(x, y)  # fmt: skip
    theirs = boosted(
        xgboost, x, y, objective="multi:softprob", num_class=3, base_score=0.0, eta=0.6, reg_lambda=2.0, gamma=1.0,
        min_child_weight=2 * least,
    )  # fmt: skip
    assert_same_parts(ours.apply(x), theirs[0])
    assert_allclose(ours.decision_function(x), theirs[1], atol=1e-5)


def test_the_tree_of_a_calculation_by_hand():
    """One split of four rows with squared error: G = -sum y from 0, H = n, lambda 1."""
    x, y = np.arange(4.0)[:, None], np.array([1.0, 1.0, 5.0, 5.0])
    model = NewtonBoostingRegressor(
        n_estimators=1, learning_rate=1.0, max_depth=1, init="zero", reg_lambda=1.0, min_samples_leaf=1
    )
    assert_allclose(model.fit(x, y).predict(x), [2 / 3, 2 / 3, 10 / 3, 10 / 3])
    gain = 2**2 / 3 + 10**2 / 3 - 12**2 / 5
    assert model.trees_[0].gains(1)[0] == pytest.approx(gain)
    assert model.set_params(gamma=gain - 1e-9).fit(x, y).trees_[0].n_leaves == 2
    assert model.set_params(gamma=gain + 1e-9).fit(x, y).trees_[0].n_leaves == 1
    assert_allclose(model.set_params(gamma=0.0, reg_alpha=1.0).fit(x, y).predict(x), [1 / 3, 1 / 3, 3, 3])


def test_min_child_weight_is_of_hessians():
    x, signal = make_rows(missing=False, n=400)
    model = NewtonBoostingClassifier(n_estimators=3, min_child_weight=5.0, max_depth=None).fit(x, signal > 0)
    for tree in model.trees_:
        assert tree.weighted_n_node_samples[tree.is_leaf].min() >= 5.0
        # log loss has hessians of at most 1/4
        assert tree.n_node_samples[tree.is_leaf].min() >= 20


@pytest.mark.parametrize("max_bins", [255, None])
@pytest.mark.parametrize("weights", [None, "whole"])
def test_min_samples_leaf_is_of_rows_or_their_weight(weights, max_bins):
    """Squared error has hessians of 1 times the weight: shares of them are rows, exactly."""
    x, signal = make_rows(missing=True, n=400)
    weights = None if weights is None else np.arange(400) % 3 + 1.0
    settings = {"n_estimators": 4, "max_bins": max_bins, "reg_lambda": 0.0}
    for least in (2, 30, 0.1):
        n_least = least if least > 1 else 40
        model = NewtonBoostingRegressor(min_samples_leaf=least, **settings).fit(x, signal, weights)
        found = min(tree.weighted_n_node_samples[tree.is_leaf].min() for tree in model.trees_)
        assert n_least <= found < 2.5 * n_least + 3
    for bad in (0, -1, 1.5, "few"):
        with pytest.raises(UsageError, match="min_samples_leaf must be a whole number from 1, or a share"):
            NewtonBoostingRegressor(min_samples_leaf=bad).fit(x, signal)


def test_min_samples_leaf_counts_by_shares_of_hessians():
    """Of each split both sides have at least their share: the rule, on the sums that trees keep."""
    x, signal = make_rows(missing=False, n=400)
    model = NewtonBoostingClassifier(n_estimators=6, min_samples_leaf=25).fit(x, signal > 0)
    for tree in model.trees_:
        inner = np.flatnonzero(~tree.is_leaf)
        assert len(inner)
        hessians, rows = tree.weighted_n_node_samples, tree.n_node_samples
        for side in (0, 1):
            share = hessians[tree.child[inner] + side] / hessians[inner]
            assert (share * rows[inner] >= 25 * (1 - 1e-9)).all()


def test_shares_of_columns():
    x, signal = make_rows(missing=False, n=400, n_columns=10)
    model = NewtonBoostingRegressor(n_estimators=12, colsample_bytree=0.3, random_state=0).fit(x, signal)
    used = [set(tree.feature[~tree.is_leaf].tolist()) for tree in model.trees_]
    assert all(len(columns) <= 3 for columns in used)
    assert len(set().union(*used)) > 7
    model.set_params(colsample_bytree=1.0, colsample_bynode=0.1).fit(x, signal)
    assert max(len(np.unique(tree.feature[~tree.is_leaf])) for tree in model.trees_) > 3
    tiny = NewtonBoostingRegressor(n_estimators=1, colsample_bytree=1e-9).fit(x, signal)
    assert len(np.unique(tiny.trees_[0].feature[~tiny.trees_[0].is_leaf])) == 1


def test_growing_leaf_by_leaf_gains_more():
    x, signal = make_rows(missing=False, n=600)
    settings = {"n_estimators": 1, "max_leaf_nodes": 6, "max_depth": None, "reg_lambda": 0.0}
    by_leaf, by_level = (
        NewtonBoostingRegressor(grow_policy=policy, **settings).fit(x, signal).trees_[0]
        for policy in ("lossguide", "depthwise")
    )
    assert by_leaf.n_leaves == by_level.n_leaves == 6
    assert by_level.max_depth == 3
    assert by_leaf.gains(6).sum() >= by_level.gains(6).sum()


def test_histograms_of_all_values_are_exact():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 200, (500, 3)).astype(np.float32)
    y = np.sin(x[:, 0] / 30) + rng.normal(size=500) / 3
    settings = {"n_estimators": 5, "max_depth": 3}
    one = NewtonBoostingRegressor(max_bins=255, **settings).fit(x, y)
    other = NewtonBoostingRegressor(max_bins=None, **settings).fit(x, y)
    assert_array_equal(one.predict(x), other.predict(x))


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"grow_policy": "widest"}, "grow_policy must be one of depthwise, lossguide; got 'widest'"),
        ({"gamma": -1}, "gamma must be a number from 0, got -1"),
        ({"reg_lambda": -1}, "reg_lambda must be a number from 0, got -1"),
        ({"reg_alpha": np.nan}, "reg_alpha must be a number from 0, got nan"),
        ({"min_child_weight": "much"}, "min_child_weight must be a number from 0, got 'much'"),
        ({"colsample_bytree": 0}, "colsample_bytree must be above 0, got 0"),
        ({"colsample_bynode": 1.1}, "colsample_bynode must be a number from 0 to 1, got 1.1"),
    ],
    ids=str,
)
def test_bad_settings(changes, text):
    x, signal = make_rows(missing=False, n=20)
    for model, y in ((NewtonBoostingRegressor, signal), (NewtonBoostingClassifier, signal > 0)):
        with pytest.raises(UsageError, match=text) as error:
            model(**changes).fit(x, y)
        assert "\n" not in str(error.value)


class Poisson:
    """e^F - y F: numbers of events."""

    def value(self, y, raw):
        return np.exp(raw) - y * raw

    def gradient(self, y, raw):
        return np.exp(raw) - y

    def hessian(self, y, raw):  # noqa: ARG002 - as losses are asked
        return np.exp(raw)


def test_a_loss_of_ones_own_with_a_hessian():
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 2, (300, 2))
    y = rng.poisson(np.exp(x[:, 0])).astype(float)
    model = NewtonBoostingRegressor(loss=Poisson(), n_estimators=30, max_depth=2, learning_rate=0.1).fit(x, y)
    assert (np.diff(model.train_score_) < 0).all()
    assert np.corrcoef(model.predict(x), x[:, 0])[0, 1] > 0.9

    class Plain:
        value, gradient = Poisson.value, Poisson.gradient

    with pytest.raises(UsageError, match="Newton boosting needs second derivatives, which loss 'Plain' lacks"):
        NewtonBoostingRegressor(loss=Plain()).fit(x, y)


# ---------------------------------------------------------------------- losses of numbers

XGBOOST_NAMES = {"poisson": "count:poisson", "gamma": "reg:gamma", "tweedie": "reg:tweedie"}


def make_counts(loss):
    x, signal = make_rows(missing=False)
    mean = np.exp(signal / 3)
    rng = np.random.default_rng(5)
    if loss == "gamma":
        return x, rng.gamma(2.0, mean / 2)
    return x, rng.poisson(mean) * (1.0 if loss == "poisson" else rng.gamma(2.0, 0.5, len(x)))


@pytest.mark.parametrize("step", [0, 0.4], ids=["free", "bounded"])
@pytest.mark.parametrize("loss", XGBOOST_NAMES)
def test_trees_of_logarithms_are_xgboosts(loss, step):
    """Its Poisson hessian is e^step times ours, so that only 0 is the same there: bounds are compared on the others."""
    xgboost = pytest.importorskip("xgboost")
    if loss == "poisson" and step:
        pytest.skip("its hessian grows with max_delta_step")
    x, y = make_counts(loss)
    settings = {"n_estimators": N_ROUNDS, "max_depth": DEPTH, "min_child_weight": LEAST, "max_bins": None}
    ours = NewtonBoostingRegressor(loss=loss, init="zero", max_delta_step=step, **settings, **ITS_OTHERS).fit(x, y)
    theirs = boosted(xgboost, x, y, objective=XGBOOST_NAMES[loss], base_score=1.0, max_delta_step=step)
    assert_same_parts(ours.apply(x), theirs[0])
    assert_allclose(np.log(ours.predict(x)), theirs[1], atol=1e-5)
    assert len({tree.n_leaves for tree in ours.trees_}) > 1


@pytest.mark.parametrize("loss", ["absolute_error", "quantile", "huber"])
def test_trees_of_kinks_are_lightgbms(loss):
    """The first tree has its parts of the rows; leaves are weighted quantiles, which it interpolates otherwise."""
    lightgbm = pytest.importorskip("lightgbm")
    x, y = make_rows(missing=False)
    x = np.round(x, 1)  # fewer values than bins
    ours = NewtonBoostingRegressor(
        loss=loss, alpha=0.7, n_estimators=1, learning_rate=1.0, max_leaf_nodes=8, reg_lambda=0.5
    ).fit(x, y)
    scale = ours._loss.delta if loss == "huber" else 0.7
    names = {"absolute_error": "l1", "quantile": "quantile", "huber": "huber"}
    settings = {"objective": names[loss], "alpha": scale, "num_leaves": 8, "learning_rate": 1.0, "lambda_l2": 0.5}
    settings |= {"min_data_in_leaf": 20, "verbosity": -1, "num_threads": 1, "boost_from_average": loss != "huber"}
    if loss == "huber":  # it starts from the mean, ours from the least loss
        table = lightgbm.Dataset(x, y - ours.start_[0], params={"min_data_in_bin": 1, "verbosity": -1})
    else:
        table = lightgbm.Dataset(x, y, params={"min_data_in_bin": 1, "verbosity": -1})
    theirs = lightgbm.train(settings, table, 1)
    assert_same_parts(ours.apply(x), theirs.predict(x, pred_leaf=True))
    if loss != "huber":  # whose leaves it leaves at Newton's step
        assert_allclose(ours.predict(x), theirs.predict(x), atol=0.1)
    for leaf in np.unique(ours.apply(x)):
        own = ours.apply(x)[:, 0] == leaf
        slope = np.empty(own.sum())
        ours._loss.derivatives(y[own], ours.predict(x)[own], slope, None)
        assert abs(slope.sum()) <= (1e-9 if loss == "huber" else 1.0)


def test_poisson_with_weights_is_poisson_with_repeated_rows():
    x, y = make_counts("poisson")
    times = np.random.default_rng(0).integers(0, 3, len(x))
    kind = NewtonBoostingRegressor(loss="poisson", n_estimators=5)
    assert_allclose(
        kind.fit(x, y, times).predict(x), kind.fit(np.repeat(x, times, 0), np.repeat(y, times)).predict(x), rtol=1e-9
    )


@pytest.mark.parametrize("loss", ["absolute_error", "huber", "quantile", "poisson", "gamma", "tweedie"])
def test_losses_of_numbers_stop_and_save_and_lower_the_loss(loss, tmp_path):
    from depthforest.ensemble import load

    x, y = make_counts("gamma")
    model = NewtonBoostingRegressor(loss=loss, n_estimators=40, n_iter_no_change=5, random_state=0, power=1.2)
    model.fit(x, y).save(tmp_path / "m.safetensors")
    assert_array_equal(load(tmp_path / "m.safetensors").predict(x), model.predict(x))
    scores = model.validation_score_
    # Huber's delta shrinks, so that its values are not those of one loss
    assert scores[model.n_estimators_ - 1] < scores[0]
    assert_array_equal(list(model.staged_predict(x))[-1], model.predict(x))


def test_steps_are_bounded():
    x, y = make_rows(missing=False)
    for loss in ("squared_error", "absolute_error"):
        model = NewtonBoostingRegressor(loss=loss, n_estimators=3, learning_rate=0.5, max_delta_step=0.1).fit(x, y)
        assert max(np.abs(tree.values).max() for tree in model.trees_) == pytest.approx(0.05)
    with pytest.raises(UsageError, match="max_delta_step"):
        NewtonBoostingRegressor(max_delta_step=-1).fit(x, y)
    with pytest.raises(UsageError, match=r"power must be a number above 1 and below 2 .* got 2"):
        NewtonBoostingRegressor(loss="tweedie", power=2).fit(x, y)
