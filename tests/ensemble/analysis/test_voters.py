from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import naive_analysis as naive

from depthforest.base.errors import UsageError
from depthforest.ensemble import analysis

errors = st.floats(0, 1)


def test_the_figures_of_the_lectures() -> None:
    probabilities = analysis.wrong_vote_probabilities(3, 0.49)
    np.testing.assert_allclose(probabilities[2:], [0.367353, 0.117649], atol=1e-12)
    assert analysis.majority_error(3, 0.49) == pytest.approx(0.485002, abs=1e-12)
    assert analysis.majority_error(5, 0.1) == pytest.approx(10 * 0.1**3 * 0.9**2 + 5 * 0.1**4 * 0.9 + 0.1**5)
    assert analysis.majority_error(5, 0.1) < 0.01


@settings(max_examples=40)
@given(st.lists(errors, min_size=1, max_size=7))
def test_different_voters_are_all_outcomes_added_up(each: list[float]) -> None:
    ref = naive.wrong_vote_probabilities(each)
    comp = analysis.wrong_vote_probabilities(len(each), np.array(each))
    np.testing.assert_allclose(comp, ref, atol=1e-12)


@settings(max_examples=40)
@given(st.integers(1, 8), errors)
def test_equal_voters_are_all_outcomes_added_up(n: int, p: float) -> None:
    ref = naive.wrong_vote_probabilities([p] * n)
    np.testing.assert_allclose(analysis.wrong_vote_probabilities(n, p), ref, atol=1e-12)
    for tie, share in (("error", 1), ("right", 0), ("coin", 0.5)):
        wrong = sum(q for k, q in enumerate(ref) if 2 * k > n) + share * sum(q for k, q in enumerate(ref) if 2 * k == n)
        assert analysis.majority_error(n, p, tie=tie) == pytest.approx(wrong, abs=1e-12)


@pytest.mark.parametrize(("n", "p", "rho"), [(5, 0.3, 0.2), (8, 0.45, 0.1), (11, 0.2, 0.15)])
def test_shared_difficulty_is_a_beta_binomial(n: int, p: float, rho: float) -> None:
    comp = analysis.wrong_vote_probabilities(n, p, correlation=rho)
    np.testing.assert_allclose(comp, naive.beta_binomial(n, p, rho), atol=1e-6)


@settings(max_examples=40)
@given(st.integers(2, 40), st.floats(0.01, 0.99), st.floats(0, 1))
def test_the_distribution_has_the_error_and_the_correlation_asked_for(n: int, p: float, where: float) -> None:
    lowest = analysis.lowest_correlation(n, p)
    rho = lowest + where * (1 - lowest)
    probabilities = analysis.wrong_vote_probabilities(n, p, correlation=rho)
    assert probabilities.min() >= 0
    counts = np.arange(n + 1)
    assert probabilities.sum() == pytest.approx(1)
    mean = probabilities @ counts
    assert mean == pytest.approx(n * p)
    assert probabilities @ (counts - mean) ** 2 == pytest.approx(n * p * (1 - p) * (1 + (n - 1) * rho), abs=1e-9)


def test_tiny_correlations_go_over_into_none() -> None:
    ref = analysis.wrong_vote_probabilities(51, 0.3)
    np.testing.assert_allclose(analysis.wrong_vote_probabilities(51, 0.3, correlation=1e-13), ref, rtol=1e-8)


def test_voters_who_are_one_gain_nothing() -> None:
    assert analysis.majority_error(101, 0.3, correlation=1) == 0.3


def test_many_voters_stay_exact() -> None:
    # the normal approximation with continuity correction is good to a few percent here
    n, p = 100_001, 0.497
    z = ((n + 1) / 2 - 0.5 - n * p) / math.sqrt(n * p * (1 - p))
    assert analysis.majority_error(n, p) == pytest.approx(math.erfc(z / math.sqrt(2)) / 2, rel=0.02)


@settings(max_examples=40)
@given(st.integers(1, 60), st.floats(0, 0.5), st.sampled_from(["error", "right", "coin"]))
def test_the_bound_holds(n: int, p: float, tie: str) -> None:
    assert analysis.majority_error(n, p, tie=tie) <= analysis.hoeffding_bound(n, p, tie=tie) * (1 + 1e-12)


def test_the_bound_is_halved_only_where_that_is_right() -> None:
    assert analysis.hoeffding_bound(3, 0.49) == pytest.approx(math.exp(-6 * 0.01**2) / 2)
    assert analysis.hoeffding_bound(2, 0.49, tie="error") == pytest.approx(math.exp(-4 * 0.01**2))
    # with half of it, this one would not hold
    assert analysis.majority_error(2, 0.49, tie="error") > analysis.hoeffding_bound(2, 0.49, tie="error") / 2


@pytest.mark.parametrize(
    ("n", "p", "rho"), [(7, 0.3, 0.0), (7, 0.3, 0.25), (10, 0.4, 0.8), (5, 0.3, 1.0), (8, 0.3, -0.1)]
)
def test_drawn_voters_are_correlated_as_asked(n: int, p: float, rho: float) -> None:
    wrong = analysis.draw_voters(n, p, correlation=rho, n_cases=40_000, random_state=0)
    assert wrong.shape == (n, 40_000)
    assert wrong.dtype == np.bool_
    np.testing.assert_allclose(wrong.mean(axis=1), p, atol=0.015)
    pairs = np.corrcoef(wrong)[np.triu_indices(n, k=1)]
    np.testing.assert_allclose(pairs, rho, atol=0.03)  # each pair, not only their mean
    assert pairs.mean() == pytest.approx(rho, abs=0.012)


@pytest.mark.parametrize(("n", "rho"), [(5, 0.0), (5, 0.3), (6, 0.3), (6, -0.15)])
def test_the_simulation_meets_the_formula(n: int, rho: float) -> None:
    ref = analysis.majority_error(n, 0.35, correlation=rho, tie="coin")
    comp = analysis.simulate_majority(n, 0.35, correlation=rho, tie="coin", n_cases=40_000, random_state=1)
    assert comp.error == pytest.approx(ref, abs=4 * comp.standard_error)
    assert comp.standard_error == pytest.approx(math.sqrt(comp.error * (1 - comp.error) / 40_000))
    assert comp.member_error == pytest.approx(0.35, abs=0.01)
    assert comp.correlation == pytest.approx(rho, abs=0.02)


def test_the_lowest_correlation_can_be_had_and_no_less() -> None:
    lowest = analysis.lowest_correlation(4, 0.5)
    assert lowest == pytest.approx(-1 / 3)
    wrong = analysis.draw_voters(4, 0.5, correlation=lowest, n_cases=50, random_state=0)
    assert (wrong.sum(axis=0) == 2).all()
    with pytest.raises(
        UsageError, match=r"4 voters of error 0\.5 cannot have the correlation -0\.34: the lowest is -0\.333"
    ):
        analysis.draw_voters(4, 0.5, correlation=-0.34)


def test_drawing_follows_the_seed_and_works_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    from depthforest.ensemble.analysis import voters

    ref = analysis.draw_voters(3, 0.3, correlation=0.2, n_cases=1000, random_state=5)
    np.testing.assert_array_equal(analysis.draw_voters(3, 0.3, correlation=0.2, n_cases=1000, random_state=5), ref)
    monkeypatch.setattr(voters, "VOTES_AT_ONCE", 300)
    comp = analysis.draw_voters(3, 0.3, correlation=0.2, n_cases=1000, random_state=5)
    np.testing.assert_allclose(comp.mean(axis=1), ref.mean(axis=1), atol=0.07)


def test_one_voter_has_no_correlation() -> None:
    assert math.isnan(analysis.simulate_majority(1, 0.3, n_cases=10, random_state=0).correlation)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: analysis.majority_error(4, 0.3), "4 voters can tie: set tie='error', tie='right' or tie='coin', or"),
        (lambda: analysis.hoeffding_bound(4, 0.3), "4 voters can tie"),
        (lambda: analysis.simulate_majority(4, 0.3), "4 voters can tie"),
        (lambda: analysis.majority_error(4, 0.3, tie="draw"), "tie must be 'error', 'right' or 'coin', got 'draw'"),
        (lambda: analysis.majority_error(0, 0.3), "n_voters must be a whole number of 1 or more, got 0"),
        (lambda: analysis.majority_error(2.5, 0.3), r"n_voters must be a whole number, got 2\.5"),
        (lambda: analysis.simulate_majority("3", 0.3), "n_voters must be a whole number, got '3'"),
        (lambda: analysis.majority_error(True, 0.3), "n_voters must be a whole number of 1 or more, got True"),
        (lambda: analysis.majority_error(3, 1.2), r"error must be a number from 0 to 1, got 1\.2"),
        (lambda: analysis.majority_error(3, math.nan), "error must be a number from 0 to 1, got nan"),
        (lambda: analysis.majority_error(3, "a"), "error must be a number from 0 to 1, got 'a'"),
        (lambda: analysis.majority_error(3, [0.1, 0.2]), r"one number or have the shape \(3,\), got the shape \(2,\)"),
        (lambda: analysis.majority_error(2, [0.1, 1.2]), r"errors must be from 0 to 1, got 0\.1 to 1\.2"),
        (lambda: analysis.majority_error(1, [0.1], correlation=0.1), "voters of different errors must be independent"),
        (
            lambda: analysis.majority_error(3, 0.3, correlation=1.1),
            r"correlation must be a number from -1 to 1, got 1\.1",
        ),
        (lambda: analysis.majority_error(3, 0, correlation=0.5), r"correlation must be 0, got 0\.5"),
        (lambda: analysis.majority_error(1, 0.3, correlation=-0.5), r"1 voters of error 0\.3 cannot have"),
        (lambda: analysis.lowest_correlation(3, 1), "always or never wrong have no correlation"),
        (lambda: analysis.hoeffding_bound(3, 0.6), r"error of at most 0\.5, got 0\.6: use majority_error"),
        (lambda: analysis.draw_voters(3, 0.3, n_cases=0), "n_cases must be a whole number of 1 or more, got 0"),
    ],
)
def test_bad_input(call, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)
