from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import naive_analysis as naive
from support.strategies import votes

from depthforest.base.errors import UsageError
from depthforest.ensemble import analysis


@settings(max_examples=40)
@given(votes(), st.data())
def test_margins_equal_the_naive_twin(data: tuple[np.ndarray, np.ndarray], more: st.DataObject) -> None:
    predictions, y = data
    n = len(predictions)
    ref = naive.margins(predictions.tolist(), y.tolist(), [1 / n] * n)
    np.testing.assert_allclose(analysis.vote_margins(predictions, y), ref, atol=1e-12)
    weights = np.array(more.draw(st.lists(st.floats(0, 1), min_size=n, max_size=n))) + 0.01
    weights /= weights.sum()
    ref = naive.margins(predictions.tolist(), y.tolist(), weights.tolist())
    np.testing.assert_allclose(analysis.vote_margins(predictions, y, weights=weights), ref, atol=1e-12)


def test_margins_by_hand() -> None:
    y = ["a", "a", "b"]
    predictions = [["a", "b", "b"], ["a", "c", "b"], ["b", "c", "b"], ["a", "a", "b"], ["c", "c", "b"]]
    np.testing.assert_array_equal(analysis.vote_margins(predictions, y), [(3 - 1) / 5, (1 - 3) / 5, 1])


def test_margins_are_whole_numbers_of_votes() -> None:
    predictions = np.array([[0]] * 13 + [[1]] * 7)
    assert analysis.vote_margins(predictions, [0]).tolist() == [6 / 20]  # 13/20 - 7/20 is not that number


def test_probability_margins_by_hand() -> None:
    shares = np.array([[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]])
    got = analysis.probability_margins(shares, ["x", "x"], classes=["x", "z", "y"])
    np.testing.assert_allclose(got, [0.2, -0.6])
    members = np.array([shares, shares[::-1]])
    got = analysis.probability_margins(members, ["z", "y"], classes=["x", "z", "y"])
    np.testing.assert_allclose(got, [0.25 - 0.45, 0.45 - 0.3])


def test_the_distribution_of_margins() -> None:
    at, shares = analysis.margin_distribution([0.5, -0.2, 0.5, 1.0])
    np.testing.assert_array_equal(at, [-0.2, 0.5, 1.0])
    np.testing.assert_array_equal(shares, [0.25, 0.75, 1.0])
    np.testing.assert_array_equal(analysis.margin_distribution([0.5, -0.2], [-1, -0.2, 0])[1], [0, 0.5, 0.5])


@settings(max_examples=40)
@given(votes())
def test_breimans_bound_holds(data: tuple[np.ndarray, np.ndarray]) -> None:
    got = analysis.breiman_bound(*data)
    margins = analysis.vote_margins(*data)
    assert got.strength == pytest.approx(margins.mean())
    assert (margins <= 0).mean() <= got.bound + 1e-9
    assert (got.strength > 0) == math.isfinite(got.bound)


@pytest.mark.parametrize("seed", range(3))
def test_breimans_correlation_is_that_of_pairs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=30)
    predictions = np.where(rng.random((5, 30)) < 0.7, y, rng.integers(3, size=(5, 30)))
    strength, correlation = naive.breiman(predictions.tolist(), y.tolist())
    got = analysis.breiman_bound(predictions, y)
    assert (got.strength, got.correlation) == pytest.approx((strength, correlation))
    assert got.bound == pytest.approx(correlation * (1 - strength**2) / strength**2)


def test_breiman_of_perfect_and_of_bad_members() -> None:
    perfect = analysis.breiman_bound([[0, 1], [0, 1]], [0, 1])
    assert (perfect.strength, perfect.bound) == (1, 0)
    assert math.isnan(perfect.correlation)
    assert analysis.breiman_bound([[1, 0, 0], [1, 0, 1]], [0, 1, 0]).bound == math.inf


def test_the_margin_bound_by_hand() -> None:
    """n = 4, m = 100, q = 0.5: 1/4 + 3/4 * 1/2 = 0.625."""
    inside = math.log(4) * math.log(100 * math.sqrt(0.625)) / 0.2**2 + math.log(20)
    got = analysis.margin_bound(0.1, 0.5, n_members=4, n_samples=100, theta=0.2, delta=0.05)
    assert got == pytest.approx(0.1 + math.sqrt(inside) / 10)
    twice = analysis.margin_bound(0.1, 0.5, n_members=4, n_samples=100, theta=0.2, constant=2)
    assert twice - 0.1 == pytest.approx(2 * (got - 0.1))


@settings(max_examples=40)
@given(st.floats(0, 1), st.floats(0, 1), st.integers(2, 50))
def test_more_diversity_is_a_lower_bound(first: float, second: float, n: int) -> None:
    bounds = [analysis.margin_bound(0.1, q, n_members=n, n_samples=10_000, theta=0.3) for q in sorted((first, second))]
    assert bounds[0] >= bounds[1]


def test_the_margin_bound_of_votes() -> None:
    rng = np.random.default_rng(0)
    y = rng.choice([-1, 1], size=200)
    predictions = np.where(rng.random((5, 200)) < 0.8, y, -y)
    got = analysis.vote_margin_bound(predictions, y, theta=0.2)
    pairs = [np.mean(predictions[i] * predictions[j]) for i in range(5) for j in range(5) if i != j]
    assert got.diversity == pytest.approx(1 - np.mean(pairs))
    assert got.diversity == pytest.approx(2 * analysis.pairwise_diversity(predictions, y).means()["disagreement"])
    assert got.margin_error == np.mean(y * predictions.mean(axis=0) <= 0.2 + 1e-12)
    assert got.bound == analysis.margin_bound(
        got.margin_error, got.diversity, n_members=5, n_samples=200, theta=0.2, delta=0.05
    )


def bound(margin_error=0.1, diversity=0.5, n_members=4, n_samples=100, theta=0.2, delta=0.05, constant=1.0) -> float:
    return analysis.margin_bound(
        margin_error, diversity, n_members=n_members, n_samples=n_samples, theta=theta, delta=delta, constant=constant
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bound(theta=0), "theta must be above 0: the bound divides by its square"),
        (lambda: bound(theta=1.5), r"theta must be a number from 0 to 1, got 1\.5"),
        (lambda: bound(delta=0), "delta must be above 0 and below 1, got 0"),
        (lambda: bound(delta=1), "delta must be above 0 and below 1, got 1"),
        (lambda: bound(diversity=-0.1), r"diversity must be a number from 0 to 1\.33333, got -0\.1"),
        (lambda: bound(diversity=1.4), r"diversity must be a number from 0 to 1\.33333, got 1\.4"),
        (lambda: bound(diversity=4 / 3), r"not defined for a diversity of 1\.33333 of 4 members on 100 samples"),
        (lambda: bound(n_members=1), "n_members must be a whole number of 2 or more, got 1"),
        (lambda: bound(n_samples=0), "n_samples must be a whole number of 1 or more, got 0"),
        (lambda: bound(n_samples=1), r"must be at least 1, got 0\.790569"),
        (lambda: bound(margin_error=2), "margin_error must be a number from 0 to 1, got 2"),
        (lambda: bound(constant=0), "constant must be above 0 and finite, got 0"),
        (lambda: bound(constant=math.inf), "constant must be above 0 and finite, got inf"),
        (
            lambda: analysis.vote_margin_bound([[0, 1, 2]] * 2, [0, 1, 2], theta=0.1),
            "two classes, got 3: compare one class with",
        ),
        (lambda: analysis.vote_margins([[0, 1]] * 2, [0, 1], weights=[1, 1]), "weights must sum to 1, got the sum 2"),
        (lambda: analysis.vote_margins([[0, 1]] * 2, [0, 1], weights=[2, -1]), "weights must not be negative, got -1"),
        (lambda: analysis.vote_margins([[0, 1]] * 2, [0, 1], weights=[1]), r"shape \(2,\), one for each member, got"),
        (
            lambda: analysis.vote_margins([[0, 1]] * 2, [0, 1], weights=["a", "b"]),
            "weights must be numbers, got the type <U1",
        ),
        (
            lambda: analysis.probability_margins([[0.5, 0.5]], [2], classes=[0, 1]),
            "y holds a label that is not in classes: 2",
        ),
        (lambda: analysis.probability_margins([[0.5, 0.6]], [0], classes=[0, 1]), "must sum to 1 in each row"),
        (
            lambda: analysis.probability_margins([[1.0]], [0], classes=[0, 1]),
            r"shape \(n_samples, 2\), a column for each class",
        ),
        (
            lambda: analysis.probability_margins([[0.5, 0.5]], [0, 1], classes=[0, 1]),
            "same number of samples, got 1 and 2",
        ),
        (
            lambda: analysis.probability_margins([[0.5, 0.5]], ["0"], classes=[0, 1]),
            "y and classes must be labels of one kind",
        ),
        (lambda: analysis.margin_distribution([]), "margins is empty"),
        (lambda: analysis.margin_distribution([math.nan]), "margins must be finite"),
    ],
)
def test_bad_input(call, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)
