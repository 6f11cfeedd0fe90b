import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics

from depthforest.joints.precision import area_under, precision_recall, share
from depthforest.joints.stats import average_precision


def test_a_share_of_nothing_is_unknown():
    np.testing.assert_array_equal(share([1, 0, 0], [4, 0, 2]), [0.25, np.nan, 0.0])


def test_precision_and_recall_by_hand():
    # right, wrong, right of four truths; the last two pass together
    right, counted = np.array([1, 0, 1]), np.array([1, 1, 1])
    precision, recall = precision_recall(right, counted, np.array([0, 2]), 4)
    np.testing.assert_allclose(precision, [1, 2 / 3])
    np.testing.assert_allclose(recall, [1 / 4, 2 / 4])
    assert area_under(precision, recall) == pytest.approx(1 / 4 + 2 / 3 * 1 / 4)


def test_weights_and_truths_may_differ_from_row_to_row():
    weights = np.array([[1.0, 1.0, 1.0], [2.0, 0.0, 1.0], [0.0, 0.0, 0.0]])
    is_right = np.array([True, False, True])
    precision, recall = precision_recall(weights * is_right, weights, np.arange(3), np.array([2, 3, 0]))
    np.testing.assert_allclose(precision[:2], [[1, 1 / 2, 2 / 3], [1, 1, 1]])
    np.testing.assert_allclose(recall[:2], [[1 / 2, 1 / 2, 1], [2 / 3, 2 / 3, 1]])
    assert np.isnan(precision[2]).all()
    np.testing.assert_allclose(area_under(precision, recall)[:2], [1 / 2 + 2 / 3 * 1 / 2, 1])


def test_the_area_is_scikit_learns():
    rng = np.random.default_rng(1)
    confidence, is_right = rng.integers(0, 20, 100) / 20, rng.random(100) < 0.3
    order = np.argsort(-confidence, kind="stable")
    ends = np.flatnonzero(np.append(np.diff(confidence[order]) != 0, True))
    curve = precision_recall(is_right[order], np.ones(100), ends, is_right.sum())
    assert area_under(*curve) == pytest.approx(metrics.average_precision_score(is_right, confidence))


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(0, 300))
def test_the_fit_adds_up_precisions_at_hits_to_the_bit(seed, n):
    rng = np.random.default_rng(seed)
    confidence, is_right = rng.integers(0, 50, n) / 50, rng.random(n) < 0.4
    hits = is_right[np.argsort(-confidence, kind="stable")]
    expected = float((np.cumsum(hits) / np.arange(1, n + 1))[hits].sum() / 7)
    assert average_precision(confidence, is_right, 7) == expected
