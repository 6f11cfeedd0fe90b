"""What rounds leave out: GOSS and DART."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_diabetes, load_iris

from depthforest.base.errors import UsageError
from depthforest.ensemble import NewtonBoostingClassifier, NewtonBoostingRegressor, load
from depthforest.ensemble.boosting.sampling import Sampling

GOSS = {"data_sample_strategy": "goss", "learning_rate": 0.5}
DART = {"drop_rate": 0.4, "learning_rate": 0.5}


def test_goss_keeps_the_steep_rows_and_counts_the_others_up():
    sizes = np.random.default_rng(0).integers(0, 30, 1000).astype(float)
    rows, factors = Sampling(1.0, 0.2, 0.1, 2).steep(sizes, 2, seed=7)
    assert len(rows) == 300
    steep = factors[rows] == 1
    assert steep.sum() == 200
    assert sizes[rows[steep]].min() >= np.sort(sizes)[-200]
    assert_allclose(factors[rows[~steep]], 8.0)
    assert_allclose(factors.sum() - 700, 1000)  # as many rows as there are, the 700 that are left out beside them
    assert Sampling(1.0, 0.2, 0.1, 2).steep(sizes, 1, seed=7)[0] is None
    means = [(sizes * f)[r].sum() for r, f in (Sampling(1.0, 0.2, 0.1).steep(sizes, 0, seed) for seed in range(200))]
    assert np.mean(means) == pytest.approx(sizes.sum(), rel=0.01)


@pytest.mark.parametrize("settings", [GOSS, DART], ids=["goss", "dart"])
@pytest.mark.parametrize("task", ["numbers", "classes", "median"])
def test_rounds_know_the_raw_values_of_the_trees_as_they_are(settings, task, tmp_path):
    X, y = load_iris(return_X_y=True) if task == "classes" else load_diabetes(return_X_y=True)
    kind = NewtonBoostingClassifier if task == "classes" else NewtonBoostingRegressor
    settings = settings | ({"loss": "absolute_error"} if task == "median" else {})
    models = [kind(n_estimators=8, random_state=3, n_jobs=jobs, **settings) for jobs in (1, 2)]
    given = {"X_val": X[::2], "y_val": y[::2]}
    one, two = (model.fit(X, y, **given) for model in models)
    assert_array_equal(one.apply(X), two.apply(X))
    raw = "decision_function" if task == "classes" else "predict"
    assert_array_equal(getattr(one, raw)(X), getattr(two, raw)(X))
    plain = kind(n_estimators=8, random_state=3, learning_rate=0.5, loss=one.loss).fit(X, y)
    assert not np.array_equal(getattr(one, raw)(X), getattr(plain, raw)(X))
    if task == "classes":
        shares = one.predict_proba(X)[np.arange(len(y)), y]
        losses = -np.log(shares)
    else:
        losses = one._loss.value(y, one.predict(X))
    assert_allclose([one.train_score_[-1], one.validation_score_[-1]], [losses.mean(), losses[::2].mean()], rtol=1e-9)
    assert one.train_score_[-1] < one.train_score_[0]
    one.save(tmp_path / "m.safetensors")
    assert_array_equal(getattr(load(tmp_path / "m.safetensors"), raw)(X), getattr(one, raw)(X))


def test_dart_with_every_earlier_tree_dropped_shares_as_the_paper_does():
    X, y = load_diabetes(return_X_y=True)
    settings = {"max_leaf_nodes": 4, "learning_rate": 0.25, "random_state": 0}
    first = NewtonBoostingRegressor(n_estimators=1, **settings).fit(X, y)
    both = NewtonBoostingRegressor(n_estimators=2, drop_rate=1.0, **settings).fit(X, y)
    # the second tree starts where the first did: it is the same one, and both weigh 1 / (1 + rate) of it
    step = first.predict(X) - first.start_
    assert_allclose(both.predict(X) - both.start_, 2 * step / 1.25, rtol=1e-9)
    skipped = NewtonBoostingRegressor(n_estimators=2, drop_rate=1.0, skip_drop=1.0, **settings).fit(X, y)
    plain = NewtonBoostingRegressor(n_estimators=2, **settings).fit(X, y)
    assert_array_equal(skipped.predict(X), plain.predict(X))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"data_sample_strategy": "mvs"}, "must be one of bagging, goss; got 'mvs'"),
        (GOSS | {"subsample": 0.5}, "and subsample=1; got 0.2, 0.1 and 0.5"),
        (GOSS | {"top_rate": 0.95}, "together at most 1"),
        ({"drop_rate": 2}, "drop_rate"),
        (DART | {"n_iter_no_change": 3}, "drop_rate rescales earlier trees"),
        (DART | {"warm_start": True}, "drop_rate rescales earlier trees"),
    ],
    ids=str,
)
def test_what_does_not_go_together_is_named(settings, message):
    with pytest.raises(UsageError, match=message):
        NewtonBoostingRegressor(**settings).fit(np.eye(30), np.arange(30.0))
