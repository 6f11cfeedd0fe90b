from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from depthforest.base.errors import UsageError
from depthforest.compare.budget import ENOUGH, MAX_FITS, TOO_MUCH, Budget, CompareSettings, spend


@dataclass(frozen=True)
class Fake:
    n: int
    fit_seconds: float
    n_bytes: int


def linear(start, slope, size=1000):
    return lambda n: Fake(n, start + slope * n, size * n)


@given(st.floats(0, 0.5), st.floats(0.0001, 0.05))
def test_a_learner_of_steady_cost_spends_its_time(start, slope):
    """Slopes are small beside the budget of 1 s, so that some number of members always comes near it."""
    fits, chosen = spend(Budget(seconds=1.0), linear(start, slope))
    assert chosen in fits
    assert ENOUGH <= chosen.fit_seconds <= TOO_MUCH
    assert len(fits) <= MAX_FITS
    assert fits[0].n == 1


@given(st.floats(0.3, 3.0), st.floats(0.5, 1.5))
def test_whatever_the_cost_the_largest_that_is_affordable_is_chosen(power, noise):
    def fit(n):
        return Fake(n, 0.003 * n**power * (noise if n % 2 else 1.0), 10)

    fits, chosen = spend(Budget(seconds=1.0), fit)
    affordable = [f for f in fits if f.fit_seconds <= TOO_MUCH]
    assert chosen.n == max(f.n for f in affordable)
    assert len({f.n for f in fits}) == len(fits) <= MAX_FITS


def test_size_counts_too_and_what_runs_out_first_decides():
    cheap = linear(0, 0.001, size=100_000)
    assert spend(Budget(seconds=1.0), cheap)[1].n == pytest.approx(1000, rel=0.15)
    assert spend(Budget(megabytes=3.0), cheap)[1].n == pytest.approx(30, rel=0.15)
    assert spend(Budget(seconds=1.0, megabytes=3.0), cheap)[1].n_bytes <= TOO_MUCH * 3e6


def test_one_member_that_is_too_dear_is_taken_and_said():
    budget = Budget(seconds=1.0)
    fits, chosen = spend(budget, linear(0, 2.0))
    assert (len(fits), chosen.n) == (1, 1)
    assert budget.is_over(chosen)
    assert not budget.is_over(Fake(1, 1.05, 0))


def test_a_learner_that_stops_by_itself_is_not_asked_for_ever():
    fits, chosen = spend(Budget(seconds=1.0), lambda n: Fake(n, min(n, 7) * 0.01, min(n, 7)))
    assert len(fits) <= 5
    assert chosen.n >= 7


def test_a_cost_that_hides_behind_a_fixed_one_is_found():
    """As of a depth forest: bytes stay, and the first fits differ by noise alone."""
    fits, chosen = spend(Budget(seconds=8.0), lambda n: Fake(n, 1.8 + 0.02 * n + (0.2 if n == 1 else 0.0), 10))
    assert chosen is fits[-1]
    assert ENOUGH * 8 <= chosen.fit_seconds <= TOO_MUCH * 8


def test_a_learner_whose_size_stays_is_not_grown_for_ever_under_a_budget_of_size():
    """As a depth forest, whose bytes do not grow with the probes that its nodes try."""
    fits, _ = spend(Budget(megabytes=1.0), lambda n: Fake(n, 0.1 * n, 100_000 + n % 3))
    assert fits[-1].n < 1000


def test_a_fixed_size_is_fitted_once_and_a_single_learner_too():
    budget = Budget(rounds=4)
    assert [f.n for f in spend(budget, linear(0, 100.0))[0]] == [4]
    assert not budget.is_over(Fake(4, 1e9, 10**12))
    assert [f.n for f in spend(budget, linear(0, 1.0), is_single=True)[0]] == [1]
    assert [f.n for f in spend(Budget(seconds=1e6), linear(0, 1.0), is_single=True)[0]] == [1]


def test_budgets_and_settings_that_cannot_be_are_refused():
    with pytest.raises(UsageError, match="needs a budget: seconds, megabytes or both; or rounds"):
        Budget()
    with pytest.raises(UsageError, match="rounds is a fixed size; leave out"):
        Budget(seconds=1.0, rounds=3)
    with pytest.raises(UsageError, match="a number above 0, got -2"):
        Budget(seconds=3.0, megabytes=-2.0)
    with pytest.raises(UsageError, match="probes must be from 1 to 100000, got 0"):
        CompareSettings(probes=0)
    with pytest.raises(UsageError, match=r"held_out must be from 0 to 1, got 1\.5"):
        CompareSettings(held_out=1.5)
