"""Lambdas: finite differences, naive twins, LightGBM's own gradients, threads, bad input."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import naive_ranking

from depthforest.base.errors import UsageError
from depthforest.base.threads import map_in_order
from depthforest.ensemble.ranking import group_ids, lambda_gradients, ranknet_cost
from depthforest.ensemble.ranking.groups import query_starts
from depthforest.ensemble.ranking.lambdas import METRICS, fill_lambdas, pair_targets


def some_queries(seed=0, n_queries=5):
    rng = np.random.default_rng(seed)
    qid = group_ids(rng.integers(1, 9, n_queries))
    return rng.integers(0, 4, len(qid)), rng.normal(size=len(qid)), qid


@pytest.mark.parametrize("sigma", [1.0, 0.3])
def test_ranknet_is_the_derivative_of_its_cost(sigma):
    y, score, qid = some_queries()
    gradient, hessian = lambda_gradients(y, score, qid=qid, metric="ranknet", sigma=sigma)
    step = 1e-5
    for i in range(len(y)):
        up, down = score.copy(), score.copy()
        up[i] += step
        down[i] -= step
        rise = ranknet_cost(y, up, qid=qid, sigma=sigma) - ranknet_cost(y, down, qid=qid, sigma=sigma)
        assert gradient[i] == pytest.approx(rise / (2 * step), abs=1e-8)
        bend = np.subtract(*(lambda_gradients(y, s, qid=qid, metric="ranknet", sigma=sigma)[0][i] for s in (up, down)))
        assert hessian[i] == pytest.approx(bend / (2 * step), abs=1e-8)
    assert np.abs(gradient).max() > 0.1


@st.composite
def queries(draw):
    n = draw(st.integers(1, 7))
    grades = draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))
    score = draw(st.lists(st.one_of(st.integers(-2, 2), st.floats(-3, 3)), min_size=n, max_size=n))
    return grades, score


@settings(max_examples=100, deadline=None)
@given(
    st.lists(queries(), min_size=1, max_size=3),
    st.sampled_from(METRICS),
    st.integers(1, 8),
    st.sampled_from([0.5, 1.0, 2.0]),
    st.booleans(),
    st.sampled_from(["exponential", "linear"]),
)
def test_lambdas_equal_the_twin(several, metric, k, sigma, normalize, gain):
    y = np.concatenate([grades for grades, _ in several])
    score = np.concatenate([np.array(own, dtype=float) for _, own in several])
    qid = group_ids([len(grades) for grades, _ in several])
    options = {"k": k, "sigma": sigma, "normalize": normalize, "gain": gain}
    gradient, hessian = lambda_gradients(y, score, qid=qid, metric=metric, **options)
    # as kernels see it: k counts no more than all rows
    options["k"] = min(k, len(y))
    twins = [naive_ranking.lambdas(metric, g, s, max_grade=int(y.max()), **options) for g, s in several]
    np.testing.assert_allclose(gradient, np.concatenate([t[0] for t in twins]), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(hessian, np.concatenate([t[1] for t in twins]), rtol=1e-9, atol=1e-12)
    assert (hessian >= 0).all()
    for q in np.unique(qid):
        assert gradient[qid == q].sum() == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(
    ("metric", "sizes", "k"), [(metric, (33, 2, 45), None) for metric in METRICS] + [("ndcg", (530, 3), 2)]
)
def test_long_queries_equal_the_twin(metric, sizes, k):
    """Queries whose pairs are worked out in several blocks, and one whose documents alone fill a block."""
    rng = np.random.default_rng(5)
    several = [(rng.integers(0, 5, n), rng.normal(size=n)) for n in sizes]
    y, score = (np.concatenate(parts) for parts in zip(*several, strict=True))
    options = {"k": k, "sigma": 1.0, "normalize": True, "gain": "exponential"}
    found = lambda_gradients(y, score, qid=group_ids(sizes), metric=metric, **options)
    options["k"] = k or len(y)
    twins = [
        naive_ranking.lambdas(metric, g.tolist(), s.tolist(), max_grade=int(y.max()), **options) for g, s in several
    ]
    for own, parts in zip(found, zip(*twins, strict=True), strict=True):
        np.testing.assert_allclose(own, np.concatenate(parts), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("metric", METRICS)
def test_a_query_of_one_document_adds_nothing(metric):
    gradient, hessian = lambda_gradients([3, 0, 1, 0], [0.1, 0.2, 0.3, 0.4], qid=[1, 1, 1, 2], metric=metric)
    assert (gradient[3], hessian[3]) == (0, 0)
    assert gradient[0] < 0 < gradient[1]


def test_a_step_down_the_lambdas_of_ndcg_lowers_the_cost_of_pairs():
    y, score, qid = some_queries(3, 20)
    before = ranknet_cost(y, score, qid=qid)
    gradient, _ = lambda_gradients(y, score, qid=qid, metric="ndcg")
    assert ranknet_cost(y, score - 0.1 * gradient, qid=qid) < before


def test_far_scores_overflow_nothing():
    with np.errstate(all="raise"):
        for metric in METRICS:
            gradient, hessian = lambda_gradients([0, 1, 2], [1e300, 0, -1e300], metric=metric, normalize=True)
            assert np.isfinite([gradient, hessian]).all()
    gradient, _ = lambda_gradients([0, 1], [1e4, 0], metric="ranknet", sigma=2.0)
    assert gradient.tolist() == [2.0, -2.0]


def test_blocks_of_queries_may_be_filled_by_threads():
    y, score, qid = some_queries(1, 60)
    starts = query_starts(qid, len(qid))
    targets = pair_targets("ndcg", y.astype(float), starts, k=5, normalize=True)
    whole = np.full((2, len(y)), np.nan)
    fill_lambdas(targets, score, *whole)
    parts = np.full((2, len(y)), np.nan)
    blocks = np.array_split(np.random.default_rng(0).permutation(targets.n_queries), 7)
    list(map_in_order(lambda block: fill_lambdas(targets, score, *parts, block), blocks, threads=3))
    np.testing.assert_array_equal(parts, whole)
    some = np.full((2, len(y)), np.nan)
    fill_lambdas(targets, score, *some, np.array([2, 5]))
    np.testing.assert_array_equal(np.isfinite(some[0]), np.isin(qid, [2, 5]))


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("k", [30, 3])
def test_lightgbm_has_the_same_lambdas(normalize, k):
    """A tree that splits one document off has the leaf -G / (H + l2); copies of the query make it one of many rows."""
    lightgbm = pytest.importorskip("lightgbm")
    rng = np.random.default_rng(0)
    n, copies, l2 = 8, 40, 5.0
    y, score = rng.integers(0, 4, n), rng.normal(size=n)
    options = {
        "objective": "lambdarank", "num_leaves": 2, "min_data_in_leaf": 1, "min_sum_hessian_in_leaf": 0,
        "learning_rate": 1.0, "lambda_l2": l2, "lambdarank_norm": normalize, "lambdarank_truncation_level": k,
        "sigmoid": 1.3, "num_threads": 1, "verbose": -1, "feature_pre_filter": False,
    }  # fmt: skip
    gradient, hessian = lambda_gradients(y, score, k=k, sigma=1.3, normalize=normalize)
    for i in range(n):
        column = np.tile(np.arange(n) == i, copies)[:, None].astype(float)
        data = lightgbm.Dataset(
            column, np.tile(y, copies), group=[n] * copies, init_score=np.tile(score, copies), params=options
        )
        found = lightgbm.train(options, data, 1).predict(np.ones((1, 1)), raw_score=True)[0]
        assert found == pytest.approx(-copies * gradient[i] / (copies * hessian[i] + l2), abs=1e-4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metric": "auc"}, "metric must be one of ranknet, ndcg, err, map; got 'auc'"),
        ({"sigma": 0}, "sigma must be above 0, got 0"),
        ({"sigma": "1"}, "sigma must be a number from 0, got '1'"),
        ({"k": 0}, "k must be a whole number from 1, got 0"),
        ({"normalize": 1}, "normalize must be True or False, got 1"),
        ({"gain": "square"}, "gain must be one of exponential, linear; got 'square'"),
        ({"y": [40, 0, 1]}, "relevance must be up to 31"),
        ({"y": [40, 0, 1], "metric": "err"}, "relevance must be up to 31"),
        ({"y": [0.5, 0, 1]}, "relevance must be whole numbers"),
        ({"score": [0, np.nan, 1]}, "scores must be finite numbers, got nan for row 1"),
    ],
)
def test_bad_input(options, message):
    options = {"y": [1, 0, 2], "score": [0, 1, 2], **options}
    with pytest.raises(UsageError, match=message):
        lambda_gradients(options.pop("y"), options.pop("score"), **options)


def test_arrays_that_kernels_cannot_take():
    targets = pair_targets("ndcg", np.array([0.0, 1]), np.array([0, 2]))
    good = np.zeros(2)
    for bad in (np.zeros(3), np.zeros(2, np.float32), np.zeros(4)[::2]):
        with pytest.raises(UsageError, match=r"must be float64 of shape \(2,\)"):
            fill_lambdas(targets, good, bad, good)
    for queries_ in (np.array([1]), np.array([-1]), np.array([0.0])):
        with pytest.raises(UsageError, match="queries must be int64 from 0 to 0"):
            fill_lambdas(targets, good, good.copy(), good.copy(), queries_)


def test_large_grades_without_exponential_gain():
    for options in ({"metric": "ranknet"}, {"metric": "map"}, {"gain": "linear"}):
        gradient, _ = lambda_gradients([400, 0], [0, 1], **options)
        assert gradient[0] < 0
