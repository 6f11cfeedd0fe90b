"""Error-ambiguity, bias-variance, and the rounds of training that feed them."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import astuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from joblib import parallel_config
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier, BaggingRegressor, RandomForestClassifier
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier
from support import naive_analysis as naive

from depthforest.base.errors import UsageError
from depthforest.ensemble import analysis

finite = st.floats(-1e6, 1e6)

# equally probable (x, t): x is 0, 1 or 2; classes "a", "b", "c" with noise at x = 0 and x = 2
ATOMS = [(0, "a"), (0, "a"), (0, "b"), (1, "b"), (2, "c"), (2, "c"), (2, "a"), (2, "b")]
POINTS = np.array([[0], [1], [2]])
TRUTH = [[2 / 3, 1 / 3, 0.0], [0.0, 1.0, 0.0], [1 / 4, 1 / 4, 2 / 4]]

# the same for numbers: means and variances of t given x
VALUES = [(0, 1.0), (0, 3.0), (1, 5.0), (2, 0.0), (2, 4.0), (2, 8.0)]
MEANS, VARIANCES = np.array([2.0, 5.0, 4.0]), np.array([1.0, 0.0, 32 / 3])


class TableClassifier(ClassifierMixin, BaseEstimator):
    """Answer with the most frequent label of training rows with the same x, of all rows where there are none."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.rows_ = list(zip(X[:, 0], y, strict=True))
        return self

    def predict(self, X):
        answers = []
        for x in X[:, 0]:
            counts = Counter(t for seen, t in self.rows_ if seen == x) or Counter(t for _, t in self.rows_)
            answers.append(min(counts, key=lambda t: (-counts[t], t)))
        return np.array(answers)


class TableRegressor(RegressorMixin, BaseEstimator):
    """Answer with the mean of training rows with the same x, of all rows where there are none."""

    def fit(self, X, y):
        self.rows_ = list(zip(X[:, 0], y, strict=True))
        return self

    def predict(self, X):
        every = [t for _, t in self.rows_]
        return np.array([np.mean([t for seen, t in self.rows_ if seen == x] or every) for x in X[:, 0]])


def every_answer(model, atoms, size: int) -> np.ndarray:
    """Train on all equally probable training sets of a size."""
    answers = []
    for rows in itertools.product(atoms, repeat=size):
        x, t = zip(*rows, strict=True)
        answers.append(model.fit(np.array(x)[:, None], np.array(t)).predict(POINTS))
    return np.array(answers)


def fresh(atoms, size: int):
    def draw(rng):
        x, t = zip(*(atoms[i] for i in rng.randint(len(atoms), size=size)), strict=True)
        return np.array(x)[:, None], np.array(t)

    return draw


# ---- error and ambiguity


@settings(max_examples=40)
@given(hnp.arrays(np.float64, (4, 5), elements=finite), hnp.arrays(np.float64, 5, elements=finite), st.booleans())
def test_error_ambiguity_is_an_identity(predictions: np.ndarray, y: np.ndarray, weighted: bool) -> None:
    weights = np.array([0.1, 0.2, 0.3, 0.4]) if weighted else None
    parts = analysis.error_ambiguity(predictions, y, weights=weights)
    scale = parts.member_error + 1e-300
    assert abs(parts.ensemble_error - (parts.member_error - parts.ambiguity)) <= 1e-12 * scale
    joint = np.average(predictions, axis=0, weights=weights)
    assert parts.ensemble_error == pytest.approx(np.mean((joint - y) ** 2), rel=1e-9, abs=1e-9)
    np.testing.assert_allclose(parts.member_errors, ((predictions - y) ** 2).mean(axis=1))
    assert parts.ambiguity >= 0


def test_error_ambiguity_by_hand() -> None:
    parts = analysis.error_ambiguity([[1.0, 2.0], [3.0, 6.0]], [2.0, 3.0], weights=[0.75, 0.25])
    assert (parts.ensemble_error, parts.member_error, parts.ambiguity) == pytest.approx((0.125, 2.0, 1.875))
    np.testing.assert_allclose(parts.member_ambiguities, [(0.25 + 1) / 2, (2.25 + 9) / 2])


# ---- squared loss


def test_squared_loss_is_brute_force_on_a_known_distribution() -> None:
    answers = every_answer(TableRegressor(), VALUES, 3)
    parts = analysis.squared_decomposition(answers, MEANS, noise=VARIANCES)
    per_x = [[t for x, t in VALUES if x == point] for point in range(3)]
    losses = [np.mean([(f - t) ** 2 for f in answers[:, x] for t in per_x[x]]) for x in range(3)]
    assert parts.error == pytest.approx(np.mean(losses))
    assert parts.bias == pytest.approx(np.mean([(answers[:, x].mean() - np.mean(per_x[x])) ** 2 for x in range(3)]))
    assert parts.variance == pytest.approx(np.mean([np.var(answers[:, x]) for x in range(3)]))
    assert parts.noise == pytest.approx(np.mean([np.var(t) for t in per_x]))
    assert parts.error == pytest.approx(parts.bias + parts.variance + parts.noise)


@settings(max_examples=40)
@given(hnp.arrays(np.float64, (3, 4), elements=finite), hnp.arrays(np.float64, 4, elements=finite))
def test_squared_loss_is_an_identity(predictions: np.ndarray, y: np.ndarray) -> None:
    parts = analysis.squared_decomposition(predictions, y)
    assert abs(parts.error - parts.bias - parts.variance) <= 1e-12 * (parts.error + 1e-300)
    assert parts.noise == 0


# ---- 0-1 loss


def test_zero_one_loss_is_brute_force_on_a_known_distribution() -> None:
    answers = every_answer(TableClassifier(), ATOMS, 3)
    parts = analysis.zero_one_decomposition(answers, class_probabilities=TRUTH, classes=["a", "b", "c"])
    codes = np.searchsorted(["a", "b", "c"], answers)
    ref = naive.zero_one_parts(codes.tolist(), TRUTH, 3)
    assert {name: getattr(parts, name) for name in ref} == pytest.approx(ref, abs=1e-12)
    losses = [[f != t for f in answers[:, x] for point, t in ATOMS if point == x] for x in range(3)]
    assert parts.error == pytest.approx(np.mean([np.mean(one) for one in losses]))
    assert parts.error == pytest.approx(parts.bias + parts.net_variance + parts.net_noise)
    assert parts.net_variance == pytest.approx(parts.unbiased_variance - parts.biased_variance)
    assert parts.bias > 0  # x = 2 is answered with the wrong class most of the time, or noise would test nothing
    assert parts.noise > 0


@settings(max_examples=40)
@given(
    hnp.arrays(np.int64, (5, 4), elements=st.integers(0, 3)),
    hnp.arrays(np.float64, (4, 4), elements=st.floats(0.01, 1)),
)
def test_zero_one_loss_is_an_identity(predictions: np.ndarray, weights: np.ndarray) -> None:
    truth = weights / weights.sum(axis=1, keepdims=True)
    parts = analysis.zero_one_decomposition(predictions, class_probabilities=truth, classes=np.arange(4))
    ref = naive.zero_one_parts(predictions.tolist(), truth.tolist(), 4)
    assert {name: getattr(parts, name) for name in ref} == pytest.approx(ref, abs=1e-12)
    assert parts.error == pytest.approx(parts.bias + parts.net_variance + parts.net_noise, abs=1e-12)


def test_columns_of_any_order() -> None:
    predictions = [["b", "a"], ["b", "c"], ["a", "c"]]
    truth = np.array([[0.2, 0.7, 0.1], [0.0, 0.4, 0.6]])
    ref = analysis.zero_one_decomposition(predictions, class_probabilities=truth, classes=["a", "b", "c"])
    order = [2, 0, 1]
    comp = analysis.zero_one_decomposition(
        predictions, class_probabilities=truth[:, order], classes=np.array(["a", "b", "c"])[order]
    )
    assert comp.loss == ref.loss
    assert astuple(comp)[1:] == pytest.approx(astuple(ref)[1:])


def test_observed_labels_have_no_noise() -> None:
    parts = analysis.zero_one_decomposition([[0, 1, 1], [0, 0, 1], [0, 0, 0]], [0, 1, 1])
    # main: 0, 0, 1; wrong on the second; variance 0, 1/3, 1/3
    assert (parts.bias, parts.variance, parts.noise, parts.net_noise) == pytest.approx((1 / 3, 2 / 9, 0, 0))
    assert (parts.unbiased_variance, parts.biased_variance) == pytest.approx((1 / 9, 1 / 9))
    assert parts.error == pytest.approx(1 / 3)


# ---- rounds of training


def test_fresh_samples_meet_brute_force() -> None:
    exact = every_answer(TableClassifier(), ATOMS, 3)
    ref = analysis.zero_one_decomposition(exact, class_probabilities=TRUTH, classes=["a", "b", "c"])
    drawn = analysis.round_predictions(TableClassifier(), fresh(ATOMS, 3), POINTS, n_rounds=600, random_state=0)
    comp = analysis.zero_one_decomposition(drawn, class_probabilities=TRUTH, classes=["a", "b", "c"])
    for name in ("error", "bias", "variance", "noise", "net_variance", "net_noise"):
        assert getattr(comp, name) == pytest.approx(getattr(ref, name), abs=0.03), name


def test_bootstrap_meets_brute_force() -> None:
    rows = VALUES[1:5]
    exact = analysis.squared_decomposition(every_answer(TableRegressor(), rows, 4), MEANS, noise=VARIANCES)
    x, t = zip(*rows, strict=True)
    draw = analysis.bootstrap(np.array(x)[:, None], t)
    drawn = analysis.round_predictions(TableRegressor(), draw, POINTS, n_rounds=600, random_state=0)
    comp = analysis.squared_decomposition(drawn, MEANS, noise=VARIANCES)
    assert comp.variance == pytest.approx(exact.variance, rel=0.1)
    assert comp.bias == pytest.approx(exact.bias, rel=0.1)
    assert comp.noise == exact.noise


def test_rounds_are_the_same_for_any_number_of_jobs_and_differ_by_seed() -> None:
    X, y = np.random.RandomState(0).rand(60, 4), np.arange(60) % 3
    tree = DecisionTreeClassifier(max_features=1, random_state=7)
    draw = analysis.bootstrap(X, y)
    one = analysis.round_predictions(tree, draw, X, n_rounds=4, random_state=3)
    with parallel_config(backend="threading"):
        two = analysis.round_predictions(tree, draw, X, n_rounds=4, random_state=3, n_jobs=2)
    np.testing.assert_array_equal(one, two)
    assert (one != analysis.round_predictions(tree, draw, X, n_rounds=4, random_state=4)).any()
    assert tree.random_state == 7


def test_every_round_has_its_own_seeds() -> None:
    X, y = np.random.RandomState(0).rand(60, 4), np.arange(60) % 3
    bagged = BaggingClassifier(
        DecisionTreeClassifier(max_features=1, random_state=0), 2, bootstrap=False, random_state=0
    )
    drawn = analysis.round_predictions(
        bagged, lambda _: (X, y), np.random.RandomState(1).rand(40, 4), n_rounds=2, random_state=0
    )
    assert (drawn[0] != drawn[1]).any()  # same data: only the learner's own randomness is left


def test_pandas_stays_pandas() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"p": [0.0, 1.0, 2.0, 3.0], "q": [1.0, 0.0, 1.0, 0.0]})
    draw = analysis.bootstrap(frame, pandas.Series(["u", "v", "u", "v"]))
    drawn = analysis.round_predictions(KNeighborsClassifier(1), draw, frame, n_rounds=3, random_state=0)
    assert drawn.shape == (3, 4)
    assert set(drawn.ravel()) <= {"u", "v"}


@pytest.mark.parametrize("soft", [True, False])
def test_size_curve_of_voters(soft: bool) -> None:
    """The last size is the ensemble itself; with size 1 every round is its first member."""
    rng = np.random.RandomState(0)
    X = rng.rand(120, 3)
    y = np.where(X.sum(axis=1) + 0.3 * rng.randn(120) > 1.5, "yes", "no")
    member = DecisionTreeClassifier(max_depth=2) if soft else NoProbabilities()
    bagged = BaggingClassifier(member, n_estimators=5)
    curve = analysis.bias_variance_by_size(
        bagged, analysis.bootstrap(X[:80], y[:80]), X[80:], y[80:], sizes=[1, 5], n_rounds=6, random_state=0
    )
    drawn = analysis.round_predictions(bagged, analysis.bootstrap(X[:80], y[:80]), X[80:], n_rounds=6, random_state=0)
    assert curve[1] == analysis.zero_one_decomposition(drawn, y[80:])
    assert curve[0].net_variance > curve[1].net_variance


class NoProbabilities(ClassifierMixin, BaseEstimator):
    """A tree that only votes."""

    def fit(self, X, y):
        self.tree_ = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
        self.classes_ = self.tree_.classes_
        return self

    def predict(self, X):
        return self.tree_.predict(X)


def test_size_curve_of_regressors_and_of_boosting() -> None:
    rng = np.random.RandomState(0)
    X, y = rng.rand(60, 2), rng.rand(60)
    bagged = BaggingRegressor(KNeighborsRegressor(1), n_estimators=4)
    draw = analysis.bootstrap(X, y)
    curve = analysis.bias_variance_by_size(bagged, draw, X, y, sizes=[1, 4], n_rounds=3, random_state=1, noise=0.5)
    drawn = analysis.round_predictions(bagged, draw, X, n_rounds=3, random_state=1)
    assert curve[1].error == pytest.approx(analysis.squared_decomposition(drawn, y, noise=0.5).error)
    assert curve[1].noise == 0.5

    labels = (y > 0.5).astype(int) + 1
    boosted = AdaBoostClassifier(n_estimators=3)
    draw = analysis.bootstrap(X, labels)
    curve = analysis.bias_variance_by_size(boosted, draw, X, labels, sizes=[3], n_rounds=3, random_state=1)
    drawn = analysis.round_predictions(boosted, draw, X, n_rounds=3, random_state=1)
    assert curve == [analysis.zero_one_decomposition(drawn, labels)]


def test_size_curve_with_a_known_distribution() -> None:
    bagged = BaggingClassifier(DecisionTreeClassifier(), n_estimators=3)
    curve = analysis.bias_variance_by_size(
        bagged,
        fresh(ATOMS, 30),
        POINTS,
        sizes=[1, 3],
        n_rounds=5,
        random_state=0,
        class_probabilities=TRUTH,
        classes=["a", "b", "c"],
    )
    assert [one.noise for one in curve] == pytest.approx([(1 / 3 + 0 + 1 / 2) / 3] * 2)


def test_groups_of_members() -> None:
    predictions = np.array([[0, 1], [1, 1], [0, 1], [1, 0], [1, 0], [0, 0], [2, 2]])
    (got,) = analysis.bias_variance_of_groups(predictions, [0, 1], sizes=[3], is_classification=True)
    assert got == analysis.zero_one_decomposition([[0, 1], [1, 0]], [0, 1])
    (got,) = analysis.bias_variance_of_groups(predictions * 1.0, [0, 1], sizes=[2], is_classification=False)
    assert got == analysis.squared_decomposition([[0.5, 1], [0.5, 0.5], [0.5, 0]], [0, 1])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: analysis.error_ambiguity([[1.0, 2.0]], [1, 2]), "at least 2 members, got 1"),
        (lambda: analysis.error_ambiguity([[1, 2]] * 2, [1, 2], weights=[0.5, 0.6]), r"sum to 1, got the sum 1\.1"),
        (lambda: analysis.error_ambiguity([[1, np.nan]] * 2, [1, 2]), "predictions must be finite"),
        (lambda: analysis.error_ambiguity([["a", "b"]] * 2, [1, 2]), "predictions must be numbers, got the type <U1"),
        (
            lambda: analysis.error_ambiguity([[1, 2]] * 2, np.array([1, "a"], dtype=object)),
            "y must be numbers, got other",
        ),
        (
            lambda: analysis.squared_decomposition([[1, 2]] * 2, [1, 2], noise=-1),
            "noise is a variance, so it must not be",
        ),
        (
            lambda: analysis.squared_decomposition([[1, 2]] * 2, [1, 2], noise=[1]),
            r"noise must be one number or have the",
        ),
        (lambda: analysis.zero_one_decomposition([[1, 2]] * 2), "pass either y, the observed labels, or class_prob"),
        (
            lambda: analysis.zero_one_decomposition([[1]] * 2, class_probabilities=[[1.0]]),
            "class_probabilities need cl",
        ),
        (
            lambda: analysis.zero_one_decomposition([[1]] * 2, class_probabilities=[[0.5, 0.5]], classes=[1, 1]),
            "classes must differ from each other",
        ),
        (
            lambda: analysis.zero_one_decomposition([[3]] * 2, class_probabilities=[[0.5, 0.5]], classes=[1, 2]),
            "predictions hold a label that is not in classes: 3",
        ),
        (
            lambda: analysis.zero_one_decomposition([[1]] * 2, class_probabilities=[[0.5, 0.2]], classes=[1, 2]),
            "must sum to 1 in each row",
        ),
        (lambda: analysis.bootstrap([[1], [2]], [1]), "the same number of rows, at least one, got 2 and 1"),
        (
            lambda: analysis.round_predictions(TableRegressor(), fresh(VALUES, 2), POINTS, n_rounds=1),
            "n_rounds must be",
        ),
        (lambda: analysis.round_predictions(TableRegressor(), lambda _: POINTS, POINTS), "draw must return a pair"),
        (
            lambda: analysis.bias_variance_by_size(TableRegressor(), fresh(VALUES, 2), POINTS, MEANS, sizes=[1]),
            "TableRegressor has no estimators_",
        ),
        (
            lambda: analysis.bias_variance_by_size(
                RandomForestClassifier(2), fresh(ATOMS, 9), POINTS, ["a", "b", "c"], sizes=[3]
            ),
            "sizes must be from 1 to the 2 members, got 3 to 3",
        ),
        (
            lambda: analysis.bias_variance_by_size(RandomForestClassifier(2), fresh(ATOMS, 9), POINTS, [], sizes=[]),
            "sizes is empty",
        ),
        (
            lambda: analysis.bias_variance_of_groups([[1, 2]] * 3, [1, 2], sizes=[2], is_classification=True),
            "3 members do not make two groups of 2: use smaller sizes",
        ),
    ],
)
def test_bad_input(call, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)
