"""Rankers with weights of queries."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from depthforest.base.errors import UsageError
from depthforest.ensemble.ranking import LambdaMART, LambdaRank, RankNet, ndcg


def queries(n=30, size=12, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 8, size=(n * size, 4)).astype(np.float64)
    y = np.clip(np.round(X[:, 0] / 3 + X[:, 1] / 6 + rng.normal(size=n * size) / 2), 0, 4)
    return X, y, np.repeat(np.arange(n), size)


def repeated(times, X, y, qid):
    """Return every query as often as it weighs, each time under another name."""
    parts = [(np.flatnonzero(qid == q), k) for q in np.unique(qid) for k in range(times[q])]
    rows = np.concatenate([rows for rows, _ in parts])
    names = np.concatenate([[f"{qid[rows[0]]} {k}"] * len(rows) for rows, k in parts])
    return X[rows], y[rows], names


def test_trees_of_weighted_queries_are_those_of_repeated_ones():
    X, y, qid = queries()
    times = np.random.default_rng(1).integers(0, 4, 30)
    model = LambdaMART(n_estimators=5, max_leaf_nodes=6)
    many = repeated(times, X, y, qid)
    weighted = model.fit(
        X, y, qid=qid, query_weight=times[qid], X_val=X, y_val=y, qid_val=qid, query_weight_val=times[qid]
    )
    found, scores = weighted.predict(X), weighted.train_scores_
    assert_allclose(weighted.validation_scores_, scores, rtol=1e-12)
    plain = model.fit(*many[:2], qid=many[2])
    assert_allclose(plain.predict(X), found, rtol=1e-9)
    assert_allclose(plain.train_scores_, scores, rtol=1e-9)


@pytest.mark.parametrize("kind", [RankNet, LambdaRank])
def test_networks_learn_from_the_queries_that_weigh(kind):
    X, y, qid = queries()
    wrong = np.where(qid < 15, 4 - y, y)  # half of the queries want the opposite
    settings = {"learning_rate": 0.01, "random_state": 0, "max_iter": 15}
    scores = []
    for heavy in (1.0, 50.0):
        weight = np.where(qid < 15, 1.0, heavy)
        model = kind(**settings).fit(X, wrong, qid=qid, query_weight=weight)
        scores.append(ndcg(y, model.predict(X), qid=qid))
        assert model.score(X, wrong, qid=qid, query_weight=weight) == pytest.approx(
            np.average(ndcg(wrong, model.predict(X), qid=qid, k=10, per_query=True), weights=weight[::12])
        )
    assert scores[1] > scores[0] + 0.02
    ones = kind(**settings).fit(X, y, qid=qid, query_weight=np.full(len(y), 1.0))
    assert_array_equal(ones.predict(X), kind(**settings).fit(X, y, qid=qid).predict(X))
    without = kind(**settings).fit(X, y, qid=qid, query_weight=(qid > 3) * 1.0)
    assert_allclose(without.mean_, X[qid > 3].mean(axis=0))


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (lambda _: np.ones(3), "one number for each of the 360 rows, got 3"),
        (lambda qid: np.arange(len(qid)), "the same for all rows of a query: row 1 has 1"),
        (lambda qid: np.zeros(len(qid)), "above 0 for at least one query"),
        (lambda qid: -1.0 - qid, "0 or more"),
    ],
)
@pytest.mark.parametrize("kind", [LambdaMART, RankNet])
def test_bad_weights_are_named(kind, weights, message):
    X, y, qid = queries()
    with pytest.raises(UsageError, match=message):
        kind().fit(X, y, qid=qid, query_weight=weights(qid))
