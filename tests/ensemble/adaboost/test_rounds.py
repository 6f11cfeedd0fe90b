"""The arithmetic of AdaBoost against its twins, and the promises it makes."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support import naive_boosting_ada as naive

from depthforest.base.errors import UsageError
from depthforest.ensemble.adaboost.rounds import (
    Ledger,
    chance_error,
    check_form,
    error_bounds,
    form_scale,
    log_odds,
    reweighted,
)

RATES = st.sampled_from([0.1, 0.5, 1.0, 1.7])


def drawn_round(seed, n_classes):
    """Return weights, labels and answers of a member that is better than chance and not perfect."""
    rng = np.random.default_rng(seed)
    n = 12
    weights = rng.dirichlet(np.ones(n))
    labels = rng.integers(n_classes, size=n)
    answers = labels.copy()
    order = rng.permutation(n)
    share = rng.uniform(0.05, chance_error(n_classes) - 0.05)
    for row in order:
        if weights[answers != labels].sum() + weights[row] >= share and (answers != labels).any():
            break
        answers[row] = (labels[row] + rng.integers(1, n_classes)) % n_classes
    return weights, labels, answers


def taken(weights, wrong, n_classes, rate, form):
    rounds = Ledger(weights, n_classes=n_classes, learning_rate=rate, form=form, keeps_history=True)
    rounds.take(wrong)
    return rounds


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6), RATES)
def test_two_classes_are_both_textbook_forms_which_agree_after_normalizing(seed, rate):
    weights, labels, answers = drawn_round(seed, 2)
    assume(0 < weights[answers != labels].sum() < 0.499)
    right = (answers == labels).tolist()
    z, by_odds = naive.odds_two(weights.tolist(), right, rate)
    alpha, by_loss = naive.exponential_two(weights.tolist(), right, rate)
    odds, loss = (taken(weights, answers != labels, 2, rate, form) for form in ("odds", "exponential"))
    assert odds.member_weights == pytest.approx([z])
    assert loss.member_weights == pytest.approx([alpha])
    assert z == pytest.approx(2 * alpha)
    np.testing.assert_allclose(odds.weights, by_odds)
    np.testing.assert_allclose(loss.weights, by_loss)
    np.testing.assert_allclose(by_odds, by_loss)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6), st.integers(3, 5), RATES)
def test_more_classes_are_samme_and_the_loss_it_comes_from(seed, n_classes, rate):
    weights, labels, answers = drawn_round(seed, n_classes)
    assume(0 < weights[answers != labels].sum() < chance_error(n_classes) - 1e-3)
    z, by_odds = naive.samme(weights.tolist(), (answers == labels).tolist(), rate, n_classes)
    beta, by_loss = naive.exponential_coded(weights.tolist(), labels.tolist(), answers.tolist(), rate, n_classes)
    odds, loss = (taken(weights, answers != labels, n_classes, rate, form) for form in ("odds", "exponential"))
    assert odds.member_weights == pytest.approx([z])
    assert loss.member_weights == pytest.approx([beta])
    np.testing.assert_allclose(odds.weights, by_odds)
    np.testing.assert_allclose(loss.weights, by_loss)
    np.testing.assert_allclose(by_odds, by_loss)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6), st.integers(2, 5), st.sampled_from(["odds", "exponential"]), RATES)
def test_weights_sum_to_one_and_the_member_is_chance_on_the_next_ones(seed, n_classes, form, rate):
    weights, labels, answers = drawn_round(seed, n_classes)
    wrong = answers != labels
    assume(0 < weights[wrong].sum() < chance_error(n_classes) - 1e-3)
    rounds = taken(weights, wrong, n_classes, rate, form)
    assert rounds.weights.sum() == pytest.approx(1)
    assert (rounds.weights > 0).all()
    if rate == 1.0:
        assert rounds.error(wrong) == pytest.approx(chance_error(n_classes))
        assert rounds.is_chance(rounds.error(wrong))
    else:
        assert rounds.is_chance(rounds.error(wrong)) == (rate > 1)


def test_a_member_without_error_outvotes_all_before_it():
    for form in ("odds", "exponential"):
        rounds = Ledger(np.ones(4), n_classes=2, learning_rate=1.0, form=form, keeps_history=True)
        for row in range(3):
            rounds.take(np.arange(4) == row)
            assert not rounds.is_perfect
        before = rounds.weights.copy()
        rounds.take(np.zeros(4, dtype=bool))
        assert rounds.is_perfect
        assert rounds.errors[-1] == 0
        assert rounds.member_weights[-1] > sum(rounds.member_weights[:-1])
        assert rounds.member_weights[-1] - sum(rounds.member_weights[:-1]) == pytest.approx(form_scale(form, 2))
        np.testing.assert_array_equal(rounds.weights, before)
        assert len(rounds.history) == 4


def test_chance_is_one_half_or_more_for_more_classes():
    assert [chance_error(k) for k in (2, 4)] == [0.5, 0.75]
    two = Ledger(np.ones(10), n_classes=2, learning_rate=1.0, form="odds", keeps_history=False)
    assert two.is_chance(0.5)
    assert two.is_chance(0.5 - 1e-16)
    assert not two.is_chance(0.4999)
    four = Ledger(np.ones(10), n_classes=4, learning_rate=1.0, form="odds", keeps_history=False)
    assert not four.is_chance(0.7)
    assert four.is_chance(0.75)
    assert four.history is None


def test_log_odds_at_known_errors():
    assert log_odds(0.5, 2) == pytest.approx(0, abs=1e-15)
    assert log_odds(0.25, 2) == pytest.approx(math.log(3))
    assert log_odds(2 / 3, 3) == pytest.approx(0, abs=1e-15)
    assert log_odds(1e-320, 2) == pytest.approx(320 * math.log(10), rel=1e-3)  # (1-e)/e would be infinite


def test_a_huge_learning_rate_overflows_nothing():
    wrong = np.array([True, False, False, False])
    for form in ("odds", "exponential"):
        rounds = taken(np.ones(4), wrong, 2, 1e6, form)
        np.testing.assert_allclose(rounds.weights, [1, 0, 0, 0], atol=1e-12)
        assert (rounds.weights > 0).all()  # a row that has weight keeps some: its errors must count
        assert error_bounds(np.array(rounds.errors), np.array(rounds.member_weights), form=form) == [np.inf]
    late = error_bounds(np.array([0.3, 0.0]), np.array([1e6, 1e6 + 1]), form="odds")
    np.testing.assert_array_equal(late, [np.inf, 0])


@given(st.lists(st.floats(0.01, 0.49), min_size=1, max_size=6))
def test_the_bound_is_the_product_of_twice_the_roots(errors):
    odds = np.array([log_odds(e, 2) for e in errors])
    wanted = np.cumprod([2 * math.sqrt(e * (1 - e)) for e in errors])
    np.testing.assert_allclose(error_bounds(np.array(errors), odds, form="odds"), wanted)
    np.testing.assert_allclose(error_bounds(np.array(errors), odds / 2, form="exponential"), wanted)


def test_an_unknown_form_is_refused():
    assert check_form("odds") == "odds"
    with pytest.raises(UsageError, match=r"^form must be one of 'odds', 'exponential', got 'SAMME.R'$"):
        check_form("SAMME.R")


def test_reweighting_leaves_its_input_alone():
    weights = np.full(4, 0.25)
    reweighted(weights, np.array([True, False, False, False]), 1.0, form="odds", n_classes=2)
    np.testing.assert_array_equal(weights, np.full(4, 0.25))
