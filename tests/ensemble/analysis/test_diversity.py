from __future__ import annotations

import math
from dataclasses import asdict, fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import naive_analysis as naive
from support.strategies import votes

from depthforest.base.errors import UsageError
from depthforest.ensemble import analysis
from depthforest.ensemble.analysis import pairwise


def test_a_table_worked_by_hand() -> None:
    """Ten samples of class 0 and 1; both right on 4, only the first on 3, only the second on 1, neither on 2."""
    y = np.array([0, 0, 0, 0, 0, 1, 1, 1, 1, 1])
    first = np.array([0, 0, 0, 0, 1, 1, 1, 1, 0, 0])  # right on 0-3, 5-7
    second = np.array([0, 0, 1, 1, 0, 1, 1, 0, 0, 0])  # right on 0, 1, 4, 5, 6
    got = vars(analysis.pairwise_diversity([first, second], y))
    a, b, c, d = 0.4, 0.3, 0.1, 0.2
    assert naive.table(first, second, y) == (a, b, c, d)
    expected = {
        "q_statistic": (0.08 - 0.03) / (0.08 + 0.03),
        "correlation": (0.08 - 0.03) / math.sqrt(0.7 * 0.3 * 0.5 * 0.5),
        "disagreement": 0.4,
        "double_fault": 0.2,
        # equal labels on 6 of 10; the first says 0 on 6, the second on 6: expected 0.36 + 0.16
        "kappa": (0.6 - 0.52) / (1 - 0.52),
    }
    assert got.keys() == expected.keys()
    for name, value in expected.items():
        assert got[name][0, 1] == pytest.approx(value), name
        assert got[name][1, 0] == pytest.approx(value), name
    assert analysis.pairwise_diversity([first, second], y).means() == pytest.approx(expected)


def test_kappa_of_three_classes_by_hand() -> None:
    """Labels (rows the first, columns the second): 2 1 0 / 0 2 1 / 1 0 3: A = 7/10, E = (3*3 + 3*3 + 4*4) / 100."""
    first = [0, 0, 0, 1, 1, 1, 2, 2, 2, 2]
    second = [0, 0, 1, 1, 1, 2, 0, 2, 2, 2]
    kappa = analysis.pairwise_diversity([first, second], [0] * 9 + [1]).kappa[0, 1]
    assert kappa == pytest.approx((0.7 - 0.34) / (1 - 0.34))


def test_all_measures_of_three_members_by_hand() -> None:
    """Right members on four samples: 3, 2, 1, 0."""
    y = np.zeros(4, dtype=int)
    predictions = [[0, 0, 0, 1], [0, 0, 1, 1], [0, 1, 1, 1]]
    measures = analysis.nonpairwise_diversity(predictions, y)
    third = -(1 / 3) * math.log2(1 / 3) - (2 / 3) * math.log2(2 / 3)
    assert measures.entropy == pytest.approx((0 + 1 + 1 + 0) / 4)
    assert measures.vote_entropy == pytest.approx(third / 2)
    assert measures.kohavi_wolpert == pytest.approx((0 + 2 + 2 + 0) / 9 / 4)
    # p(1) = (1/3 + 2/3 + 1) / 4 = 1/2; p(2) = (0 + 1/3 + 1) / 4 = 1/3
    assert measures.generalised_diversity == pytest.approx(1 - (1 / 3) / (1 / 2))


@settings(max_examples=40)
@given(votes())
def test_pairs_equal_the_naive_twin(data: tuple[np.ndarray, np.ndarray]) -> None:
    predictions, y = data
    comp = analysis.pairwise_diversity(predictions, y)
    for i, first in enumerate(predictions.tolist()):
        for j, second in enumerate(predictions.tolist()):
            ref = naive.pair_measures(first, second, y.tolist())
            got = {field.name: getattr(comp, field.name)[i, j] for field in fields(comp)}
            assert got == pytest.approx(ref, abs=1e-9, nan_ok=True)


@settings(max_examples=40)
@given(votes())
def test_groups_equal_the_naive_twin(data: tuple[np.ndarray, np.ndarray]) -> None:
    predictions, y = data
    ref = naive.group_measures(predictions.tolist(), y.tolist())
    assert asdict(analysis.nonpairwise_diversity(predictions, y)) == pytest.approx(ref, abs=1e-9, nan_ok=True)


@settings(max_examples=40)
@given(votes())
def test_kohavi_wolpert_is_disagreement(data: tuple[np.ndarray, np.ndarray]) -> None:
    n = len(data[0])
    disagreement = analysis.pairwise_diversity(*data).means()["disagreement"]
    variance = analysis.nonpairwise_diversity(*data).kohavi_wolpert
    assert variance == pytest.approx((n - 1) / (2 * n) * disagreement, abs=1e-12)


@settings(max_examples=40)
@given(votes(), st.randoms(use_true_random=False))
def test_order_and_names_of_labels_do_not_matter(data: tuple[np.ndarray, np.ndarray], random) -> None:
    predictions, y = data
    order = list(range(len(y)))
    random.shuffle(order)
    names = np.array(["walnut", "ash", "oak"])
    ref, comp = (
        analysis.pairwise_diversity(predictions, y),
        analysis.pairwise_diversity(names[predictions[:, order]], names[y[order]]),
    )
    assert comp.means() == pytest.approx(ref.means(), abs=1e-9, nan_ok=True)
    assert asdict(analysis.nonpairwise_diversity(names[predictions], names[y])) == pytest.approx(
        asdict(analysis.nonpairwise_diversity(predictions, y)), abs=1e-9, nan_ok=True
    )


def test_what_is_undefined_is_nan() -> None:
    perfect = analysis.pairwise_diversity([[0, 1], [0, 1]], [0, 1])
    assert np.isnan(perfect.q_statistic).all()
    assert np.isnan(perfect.correlation).all()
    assert math.isnan(perfect.means()["q_statistic"])
    assert math.isnan(analysis.nonpairwise_diversity([[0, 1], [0, 1]], [0, 1]).generalised_diversity)
    always = analysis.pairwise_diversity([[1, 1, 1], [1, 1, 1], [1, 0, 1]], [1, 0, 1]).kappa
    assert np.isnan(always[0, 1])
    assert always[0, 2] == 0


def test_blocks_of_samples_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    data = rng.integers(3, size=(4, 100)), rng.integers(3, size=100)
    ref = analysis.pairwise_diversity(*data).means()
    monkeypatch.setattr(pairwise, "SAMPLES_AT_ONCE", 33)
    assert analysis.pairwise_diversity(*data).means() == pytest.approx(ref, rel=1e-12)


def test_deslib_agrees() -> None:
    try:
        import deslib.util.diversity as deslib
    except (ImportError, AttributeError) as error:  # missing, or behind the newest scikit-learn
        pytest.skip(f"the outside judge cannot be imported: {error}")
    rng = np.random.default_rng(3)
    y = rng.integers(3, size=80)
    predictions = np.where(rng.random((4, 80)) < 0.6, y, rng.integers(3, size=(4, 80)))
    comp = analysis.pairwise_diversity(predictions, y)
    judges = {
        "q_statistic": deslib.Q_statistic,
        "correlation": deslib.correlation_coefficient,
        "disagreement": deslib.disagreement_measure,
        "double_fault": deslib.double_fault,
    }
    for name, judge in judges.items():
        ref = [[judge(y, first, second) for second in predictions] for first in predictions]
        np.testing.assert_allclose(getattr(comp, name), ref, atol=1e-12, err_msg=name)


def test_scikit_learn_agrees_on_kappa() -> None:
    from sklearn.metrics import cohen_kappa_score

    rng = np.random.default_rng(4)
    predictions, y = rng.integers(4, size=(3, 60)), rng.integers(4, size=60)
    comp = analysis.pairwise_diversity(predictions, y).kappa
    assert comp[0, 2] == pytest.approx(cohen_kappa_score(predictions[0], predictions[2]))


@pytest.mark.parametrize("measure", [analysis.pairwise_diversity, analysis.nonpairwise_diversity])
@pytest.mark.parametrize(
    ("predictions", "y", "message"),
    [
        (np.zeros((3, 2)), [0, 1, 0], r"shape \(n_members, n_samples = 3\), got the shape \(3, 2\): transpose them"),
        (np.zeros((4, 2)), [0, 1, 0], r"shape \(n_members, n_samples = 3\), got the shape \(4, 2\)"),
        (np.zeros(3), [0, 1, 0], r"shape \(n_members, n_samples = 3\), got the shape \(3,\)"),
        (np.zeros((1, 3)), [0, 1, 0], "at least 2 members, got 1"),
        (np.zeros((2, 0)), [], "y is empty: the analysis needs at least one sample"),
        (np.zeros((2, 2)), [[0, 1]], r"y must have one dimension \(n_samples,\), got the shape \(1, 2\)"),
        ([["1", "2"], ["1", "2"]], [1, 2], "predictions and y must be labels of one kind, got the types <U1 and int64"),
        ([[1, 2], [1, 2]], np.array(["a", 2], dtype=object), "y must hold labels that are all numbers or all text"),
        ([[1, math.nan], [1, 2]], [1, 2], "predictions must hold labels, got NaN or infinity among them"),
    ],
)
def test_bad_input(measure, predictions, y, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        measure(predictions, y)
    assert "\n" not in str(caught.value)


def test_objects_that_are_text_or_numbers_are_taken() -> None:
    text = np.array(["a", "b"], dtype=object)
    assert analysis.pairwise_diversity([text, ["b", "b"]], text).means()["disagreement"] == 0.5
    numbers = np.array([1, 2], dtype=object)
    assert analysis.pairwise_diversity([[1, 2], [2, 2]], numbers).means()["disagreement"] == 0.5
