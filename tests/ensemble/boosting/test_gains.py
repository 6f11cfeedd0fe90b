"""Weights and scores of nodes, against the loss they stand for."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from depthforest.ensemble.boosting.gains import (
    bar_over,
    best_score,
    best_weight,
    bounded_split,
    bounded_weight,
    score_at,
)
from depthforest.ensemble.boosting.planting import BoostGrowth

numbers = st.floats(-20, 20)
positive = st.floats(0.01, 20)
penalty = st.sampled_from([0.0, 0.5, 3.0])


def penalties_of(l2, l1):
    return BoostGrowth(np.zeros(1, np.int32), 1, 1, l2=l2, l1=l1).penalties(1.0)


def loss_of(weight, gradient, hessian, l2, l1):
    return gradient * weight + (hessian + l2) * weight**2 / 2 + l1 * abs(weight)


@settings(deadline=None)
@given(numbers, positive, penalty, penalty)
def test_the_best_weight_makes_the_loss_least(gradient, hessian, l2, l1):
    penalties = penalties_of(l2, l1)
    weight = best_weight(penalties, gradient, hessian)
    least = loss_of(weight, gradient, hessian, l2, l1)
    for step in (1e-3, 0.1, 1.0, 10.0):
        for other in (weight - step, weight + step, 0.0):
            assert least <= loss_of(other, gradient, hessian, l2, l1) + 1e-12
    assert best_score(penalties, gradient, hessian) == pytest.approx(-2 * least, abs=1e-9)


@settings(deadline=None)
@given(numbers, positive, penalty, penalty, numbers)
def test_the_score_of_any_weight_is_twice_what_it_takes_off(gradient, hessian, l2, l1, weight):
    score = score_at(penalties_of(l2, l1), gradient, hessian, weight)
    assert score == pytest.approx(-2 * loss_of(weight, gradient, hessian, l2, l1), abs=1e-9)


@settings(deadline=None)
@given(numbers, positive, penalty, st.floats(-5, 0), st.floats(0, 5))
def test_a_bounded_weight_is_the_best_within(gradient, hessian, l1, lower, upper):
    penalties = penalties_of(1.0, l1)
    weight = bounded_weight(penalties, gradient, hessian, lower, upper)
    assert lower <= weight <= upper
    least = min(loss_of(w, gradient, hessian, 1.0, l1) for w in np.linspace(lower, upper, 101))
    assert loss_of(weight, gradient, hessian, 1.0, l1) <= least + 1e-9


@pytest.mark.parametrize(("direction", "is_allowed"), [(1, False), (0, True), (-1, True)])
def test_a_split_against_its_direction_is_worth_nothing(direction, is_allowed):
    """The left side wants 2, the right -2: the prediction falls."""
    score = bounded_split(penalties_of(0.0, 0.0), -2.0, 1.0, 2.0, 1.0, direction, -np.inf, np.inf)
    assert score == (8.0 if is_allowed else -np.inf)


def test_equal_but_for_rounding_is_no_better():
    assert 3.0 * (1 + 1e-13) < bar_over(3.0) < 3.0 * (1 + 1e-10)
    assert -3.0 < bar_over(-3.0) < -3.0 * (1 - 1e-10)
    assert bar_over(0.0) == 0.0
