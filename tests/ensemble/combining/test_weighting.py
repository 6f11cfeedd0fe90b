import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import naive_combining as naive

from depthforest.base.errors import UsageError
from depthforest.ensemble.combining.weighting import (
    accuracy_weights,
    error_weights,
    given_weights,
    is_found,
    least_squares_weights,
)


def _loss(errors, weights, sample_weight=None):
    return float(np.average((errors @ weights) ** 2, weights=sample_weight))


# ---------------------------------------------------------------------- least squares


@pytest.mark.parametrize("seed", range(4))
def test_least_squares_is_as_good_as_the_best_of_a_grid_and_near_it(seed):
    rng = np.random.default_rng(seed)
    errors = rng.normal(size=(15, 3)) * rng.uniform(0.5, 2.0, 3) + rng.normal(size=(15, 1))
    sample_weight = rng.integers(1, 4, 15).astype(float)
    ref, ref_loss = naive.best_weights_on_grid(errors.tolist(), sample_weight.tolist(), steps=50)
    comp = least_squares_weights(errors, sample_weight)
    assert _loss(errors, comp, sample_weight) * sample_weight.sum() <= ref_loss * (1 + 1e-6)
    np.testing.assert_allclose(comp, ref, atol=0.03)


def test_least_squares_of_independent_members_is_inverse_variance():
    # orthogonal errors with mean squares 1, 2 and 4: w is in proportion to 1/1, 1/2, 1/4
    errors = np.zeros((6, 3))
    errors[[0, 1], 0], errors[[2, 3], 1], errors[[4, 5], 2] = math.sqrt(3), math.sqrt(6), math.sqrt(12)
    np.testing.assert_allclose(least_squares_weights(errors), np.array([4, 2, 1]) / 7, atol=1e-5)
    np.testing.assert_allclose(error_weights(errors), np.array([4, 2, 1]) / 7)


def test_correlated_members_get_less():
    # three members of the same error; two of them err alike, with correlation 0.8
    rng = np.random.default_rng(0)
    alone, both, own, other = rng.normal(size=(4, 20_000))
    errors = np.stack([alone, *(math.sqrt(0.8) * both + math.sqrt(0.2) * mine for mine in (own, other))], axis=1)
    np.testing.assert_allclose(error_weights(errors), 1 / 3, atol=0.02)
    # the inverse of [[1, 0, 0], [0, 1, .8], [0, .8, 1]] times ones is (1, 1/1.8, 1/1.8)
    ref = np.array([1.8, 1, 1]) / 3.8
    np.testing.assert_allclose(least_squares_weights(errors), ref, atol=0.03)


def test_copies_of_a_member_share_its_weight_evenly_in_any_order():
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(2, 50))
    two = least_squares_weights(np.stack([a, b], axis=1))
    for order in ([a, b, b], [b, a, b], [b, b, a]):
        three = least_squares_weights(np.stack(order, axis=1))
        for column, weight in zip(order, three, strict=True):
            assert weight == pytest.approx(two[0] if column is a else two[1] / 2, abs=1e-4)


def test_a_member_that_only_harms_gets_exactly_nothing():
    rng = np.random.default_rng(2)
    good = rng.normal(size=100)
    weights = least_squares_weights(np.stack([good, 3 * good + 0.01 * rng.normal(size=100)], axis=1))
    assert weights.tolist() == [1.0, 0.0]


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10_000), st.integers(1, 5), st.integers(1, 12), st.floats(1e-6, 1e6))
def test_least_squares_weights_are_weights_and_know_no_scale(seed, n_members, n, scale):
    errors = np.random.default_rng(seed).normal(size=(n, n_members))
    weights = least_squares_weights(errors)
    assert weights.min() >= 0
    assert weights.sum() == pytest.approx(1)
    np.testing.assert_allclose(least_squares_weights(errors * scale), weights, atol=1e-6)
    for member in np.eye(n_members):  # never worse than any member on the rows it was fitted on
        assert _loss(errors, weights) <= _loss(errors, member) + 1e-5 * float((errors**2).mean())


def test_sample_weights_count_like_repeated_rows():
    rng = np.random.default_rng(3)
    errors = rng.normal(size=(12, 3))
    times = rng.integers(0, 4, 12)
    repeated = np.repeat(errors, times, axis=0)
    for find in (least_squares_weights, error_weights):
        np.testing.assert_allclose(find(errors, times.astype(float)), find(repeated), atol=1e-6)


def test_members_without_error_get_equal_weights():
    assert least_squares_weights(np.zeros((4, 2))).tolist() == [0.5, 0.5]
    assert least_squares_weights(np.array([[0.0, 1.0, 0.0], [0.0, 2.0, 0.0]])).tolist() == [0.5, 0.0, 0.5]
    assert error_weights(np.zeros((4, 2))).tolist() == [0.5, 0.5]
    perfect = error_weights(np.array([[0.0, 1.0], [0.0, 1.0]]))
    assert perfect[0] > 0.999


# ---------------------------------------------------------------------- from accuracy


def test_accuracy_weights_are_the_log_odds_against_chance():
    right = np.array([[1, 1, 0]] * 3 + [[1, 0, 0]] * 3 + [[0, 0, 1]], dtype=bool)  # 6, 3 and 1 of 7
    ps = [(hits + 1) / (7 + 3) for hits in (6, 3, 1)]
    odds = [max(math.log(p * 2 / (1 - p)), 0) for p in ps]
    np.testing.assert_allclose(accuracy_weights(right, 3), np.array(odds) / sum(odds))
    assert odds[2] == 0  # below chance


def test_accuracy_weights_fall_back_to_equal_ones():
    assert accuracy_weights(np.zeros((5, 2), dtype=bool), 2).tolist() == [0.5, 0.5]
    assert accuracy_weights(np.ones((5, 2), dtype=bool), 1).tolist() == [0.5, 0.5]


def test_accuracy_weights_take_sample_weights():
    right = np.array([[1, 0], [0, 1]], dtype=bool)
    weights = accuracy_weights(right, 2, np.array([9.0, 1.0]))
    assert weights.tolist() == [1.0, 0.0]


# ---------------------------------------------------------------------- given


def test_given_weights_are_scaled_and_skip_dropped_members():
    assert given_weights([2, 1, 1], [True] * 3).tolist() == [0.5, 0.25, 0.25]
    assert given_weights([2, 1, 2], [True, False, True]).tolist() == [0.5, 0.5]
    assert given_weights(None, [True, False, True]).tolist() == [0.5, 0.5]


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, 2], r"weights must be one for each of the 3 members, got shape \(2,\)"),
        ([[1, 2, 3]], r"weights must be one for each of the 3 members, got shape \(1, 3\)"),
        ([1, -1, 1], r"weights must be finite and not negative, got \[1.0, -1.0, 1.0\]"),
        ([1, float("nan"), 1], r"weights must be finite and not negative"),
        ([1, float("inf"), 1], r"weights must be finite and not negative"),
        ([0, 1, 0], r"weights must add up to more than 0, but those of the members that are kept are all 0"),
        (["a", "b", "c"], r"weights must be numbers, one for each member"),
    ],
)
def test_weights_that_do_not_add_up(weights, message):
    with pytest.raises(UsageError, match=message):
        given_weights(weights, [True, False, True])


def test_words_for_weights():
    assert is_found("validation")
    assert is_found("fitted")
    assert not is_found([1, 2])
    with pytest.raises(UsageError, match="weights must be None, numbers, 'validation' or 'fitted', got 'best'"):
        is_found("best")


def test_rows_that_all_count_nothing():
    with pytest.raises(UsageError, match="sample_weight must add up to more than 0"):
        least_squares_weights(np.ones((2, 2)), np.zeros(2))
