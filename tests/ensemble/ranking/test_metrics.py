"""Metrics of rankings: worked examples, twins over all orders of ties, scikit-learn where conventions coincide."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, dcg_score, ndcg_score
from support import naive_ranking

from depthforest.base.errors import UsageError
from depthforest.ensemble.ranking import average_precision, dcg, err, ndcg

LECTURE = {"gain": "linear", "discount": "lecture"}
DOWN = -np.arange(10.0)


def test_the_lecture_example_of_dcg():
    gains = [3, 2, 3, 0, 0, 1, 2, 2, 3, 0]
    found = [dcg(gains, DOWN, k=k, **LECTURE) for k in range(1, 11)]
    assert np.round(found, 2).tolist() == [3, 5, 6.89, 6.89, 6.89, 7.28, 7.99, 8.66, 9.61, 9.61]


def test_the_lecture_example_of_ndcg():
    assert dcg([2, 1, 2, 0], DOWN[:4], **LECTURE) == pytest.approx(4.2619, abs=5e-5)
    assert dcg([2, 2, 1, 0], DOWN[:4], **LECTURE) == pytest.approx(4.6309, abs=5e-5)
    assert ndcg([2, 1, 2, 0], DOWN[:4], **LECTURE) == pytest.approx(0.9203, abs=5e-5)


def test_the_usual_form_by_hand():
    assert dcg([2, 0, 1], [3, 2, 1]) == pytest.approx(3 / 1 + 0 + 1 / 2)
    assert ndcg([2, 0, 1], [3, 2, 1]) == pytest.approx(3.5 / (3 + 1 / math.log2(3)))
    # grades 4, 0, 4 of at most 4: R = 15/16
    assert err([4, 0, 4], [3, 2, 1]) == pytest.approx(15 / 16 + (1 / 16) * (15 / 16) / 3)
    assert err([1, 0], [2, 1], max_grade=4) == pytest.approx(1 / 16)
    assert average_precision([1, 0, 3, 0], [4, 3, 2, 1]) == pytest.approx((1 + 2 / 3) / 2)
    assert average_precision([0, 1, 3, 1], [4, 3, 2, 1], k=2) == pytest.approx((1 / 2) / 2)


@st.composite
def small_queries(draw):
    n = draw(st.integers(1, 6))
    grades = draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))
    score = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    return grades, score, draw(st.integers(1, 7))


@settings(max_examples=60, deadline=None)
@given(small_queries())
def test_metrics_are_the_means_over_all_orders(query):
    grades, score, k = query
    top = max(*grades, 1)
    means = {
        "dcg": lambda g: naive_ranking.dcg(g, k),
        "lecture": lambda g: naive_ranking.dcg(g, k, "linear", "lecture"),
        "err": lambda g: naive_ranking.err(g, k, top),
    }
    found = {
        "dcg": dcg(grades, score, k=k),
        "lecture": dcg(grades, score, k=k, **LECTURE),
        "err": err(grades, score, k=k, max_grade=top),
    }
    if max(grades) > 0:
        means["ndcg"] = lambda g: naive_ranking.ndcg(g, k)
        means["map"] = lambda g: naive_ranking.average_precision(g, k)
        found["ndcg"] = ndcg(grades, score, k=k)
        found["map"] = average_precision(grades, score, k=k)
    for name, metric in means.items():
        assert found[name] == pytest.approx(naive_ranking.mean_over_orders(metric, grades, score)), name


@settings(max_examples=30, deadline=None)
@given(small_queries())
def test_ties_by_order_rank_the_first_row_first(query):
    grades, score, k = query
    own = [grades[i] for i in naive_ranking.ranking_of(score)]
    assert dcg(grades, score, k=k, ties="order") == pytest.approx(naive_ranking.dcg(own, k))
    assert err(grades, score, k=k, ties="order") == pytest.approx(naive_ranking.err(own, k, max(grades)))
    if max(grades) > 0:
        assert average_precision(grades, score, k=k, ties="order") == pytest.approx(
            naive_ranking.average_precision(own, k)
        )


def test_many_equal_scores_stay_exact():
    grades = np.arange(400) % 5
    assert err(grades, np.zeros(400)) == pytest.approx(err(grades[::-1], np.zeros(400)), rel=1e-12)
    orders = [err(np.random.default_rng(seed).permutation(grades), -np.arange(400.0)) for seed in range(400)]
    assert err(grades, np.zeros(400)) == pytest.approx(np.mean(orders), abs=4 * np.std(orders) / 20)


@pytest.mark.parametrize("k", [None, 1, 3])
def test_scikit_learn_agrees(k):
    rng = np.random.default_rng(0)
    for _ in range(10):
        grades, score = rng.random(8) * 3, rng.integers(0, 5, 8).astype(float)
        assert dcg(grades, score, k=k, gain="linear") == pytest.approx(dcg_score([grades], [score], k=k))
        assert ndcg(grades, score, k=k, gain="linear") == pytest.approx(ndcg_score([grades], [score], k=k))
        worths = 2 ** np.round(grades) - 1
        assert ndcg(np.round(grades), score, k=k) == pytest.approx(ndcg_score([worths], [score], k=k))
    hits, score = np.array([0, 1, 1, 0, 1]), rng.random(5)
    assert average_precision(hits, score) == pytest.approx(average_precision_score(hits, score))


def test_queries_are_judged_apart():
    y, score, qid = [2, 0, 0, 1, 0, 0], [1, 2, 3, 4, 5, 6], ["b", "b", "a", "a", "c", "c"]
    for metric in (dcg, ndcg, average_precision):
        values = metric(y, score, qid=qid, per_query=True)
        assert values.shape == (3,)
        np.testing.assert_allclose(values[:2], [metric(y[:2], score[:2]), metric(y[2:4], score[2:4])])
        assert metric(y, score, qid=qid) == pytest.approx(values.mean())
    by_query = err(y, score, qid=qid, per_query=True)
    np.testing.assert_allclose(by_query[:2], [err(y[:2], score[:2]), err(y[2:4], score[2:4], max_grade=2)])


@pytest.mark.parametrize("metric", [ndcg, average_precision])
def test_queries_without_relevant_documents(metric):
    y, score, qid = [0, 0, 0, 1], [1, 2, 1, 0], [1, 1, 2, 2]
    kept = metric(y[2:], score[2:])
    assert kept < 1
    assert metric(y, score, qid=qid) == pytest.approx((1 + kept) / 2)
    assert metric(y, score, qid=qid, without_relevant=0) == pytest.approx(kept / 2)
    assert metric(y, score, qid=qid, without_relevant=None) == pytest.approx(kept)
    assert np.isnan(metric(y, score, qid=qid, without_relevant=None, per_query=True)).tolist() == [True, False]
    with pytest.raises(UsageError, match="no query has relevant documents"):
        metric([0, 0], [1, 2], without_relevant=None)


def test_dcg_and_err_of_nothing_relevant_are_zero():
    assert dcg([0, 0], [1, 2]) == 0
    assert err([0, 0], [1, 2]) == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ndcg([1, -2], [0, 1]), r"relevance must be 0 \(not relevant\) or more, got -2 for row 1"),
        (lambda: ndcg([1, 0.5], [0, 1]), "relevance must be whole numbers, .* got 0.5 for row 1"),
        (lambda: ndcg([1, 32], [0, 1]), "relevance must be up to 31 .* got 32: use fewer grades, or gain='linear'"),
        (lambda: err([1, 0.5], [0, 1]), "relevance must be whole numbers"),
        (lambda: ndcg([1, np.nan], [0, 1]), "relevance must be finite numbers, got nan for row 1"),
        (lambda: ndcg([1, 0], [np.nan, 1]), "scores must be finite numbers, got nan for row 0"),
        (lambda: ndcg([1, 0], [np.inf, 1]), "scores must be finite numbers, got inf for row 0"),
        (lambda: ndcg([1, 0], [1]), "scores must be one for each of the 2 documents, got 1"),
        (lambda: ndcg([1, 0], ["a", "b"]), "scores must be numbers, got the type"),
        (lambda: ndcg([[1, 0], [1, 0]], [1, 2]), r"relevance must have one number .* shape \(2, 2\)"),
        (lambda: ndcg([], []), "relevance must have one number for each document"),
        (lambda: ndcg([1, 0], [1, 2], k=0), "k must be a whole number from 1, got 0"),
        (lambda: ndcg([1, 0], [1, 2], gain="log"), "gain must be one of exponential, linear; got 'log'"),
        (lambda: dcg([1, 0], [1, 2], discount="none"), "discount must be one of usual, lecture; got 'none'"),
        (lambda: dcg([1, 0], [1, 2], ties="worst"), "ties must be one of mean, order; got 'worst'"),
        (lambda: ndcg([1, 0], [1, 2], without_relevant=2), "without_relevant must be a number from 0 to 1, got 2"),
        (lambda: err([3, 0], [1, 2], max_grade=2), "max_grade must be from the largest relevance, 3, to 31; got 2"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(UsageError, match=message) as caught:
        call()
    assert len(str(caught.value).splitlines()) == 1
