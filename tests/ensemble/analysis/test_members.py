from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.linear_model import LinearRegression, RidgeClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from depthforest import ensemble as boosting
from depthforest.base.errors import UsageError
from depthforest.ensemble import analysis
from depthforest.ensemble.analysis.members import first_members_answers

POINTS, CODES = make_classification(150, 6, n_informative=5, n_redundant=0, n_classes=3, random_state=0)
WORDS = np.array(["oak", "ash", "elm"])[CODES]
NUMBERS = CODES + 1  # so that the index 1 of class 2 is a label too
TREE = DecisionTreeClassifier(max_depth=3, random_state=0)


def pair():
    return [("tree", TREE), ("bayes", GaussianNB())]


CLASSIFIERS = {
    "forest": RandomForestClassifier(5, random_state=0),
    "bagging": BaggingClassifier(TREE, 5, random_state=0),
    "subspace": BaggingClassifier(TREE, 5, max_features=0.5, bootstrap=False, random_state=0),
    "adaboost": AdaBoostClassifier(TREE, n_estimators=5, random_state=0),
    "voting": VotingClassifier(pair()),
    "stacking": StackingClassifier(pair(), DecisionTreeClassifier(max_depth=3, random_state=0), cv=3),
}


def learned_well(predictions: np.ndarray, y: np.ndarray) -> bool:
    """Whether every member is far better than guessing: what a wrong column or a wrong coding would not leave."""
    return bool(((predictions == y).mean(axis=1) > 0.55).all())


@pytest.mark.parametrize("y", [WORDS, NUMBERS, CODES * 10.0 - 5], ids=["words", "numbers", "floats"])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_members_answer_with_the_labels_of_the_ensemble(name: str, y: np.ndarray) -> None:
    ensemble = CLASSIFIERS[name].fit(POINTS, y)
    predictions = analysis.member_predictions(ensemble, POINTS)
    assert predictions.shape == (len(ensemble.estimators_), 150)
    assert set(predictions.ravel()) <= set(y)
    assert learned_well(predictions, y)
    shares = analysis.member_probabilities(ensemble, POINTS)
    assert shares.shape == (len(predictions), 150, 3)
    np.testing.assert_allclose(shares.sum(axis=2), 1)
    np.testing.assert_array_equal(ensemble.classes_[shares.argmax(axis=2)], predictions)
    if name in ("forest", "bagging", "subspace"):
        np.testing.assert_allclose(shares.mean(axis=0), ensemble.predict_proba(POINTS))


@pytest.mark.parametrize(
    "ensemble",
    [
        BaggingRegressor(DecisionTreeRegressor(random_state=0), 4, max_features=0.5, random_state=0),
        ExtraTreesRegressor(4, random_state=0),
        VotingRegressor([("a", DecisionTreeRegressor(random_state=0)), ("b", LinearRegression())]),
    ],
    ids=lambda e: type(e).__name__,
)
def test_the_mean_of_the_members_is_the_regressor(ensemble) -> None:
    ensemble.fit(POINTS, POINTS[:, 0] + POINTS[:, 1])
    predictions = analysis.member_predictions(ensemble, POINTS)
    assert predictions.dtype == np.float64
    np.testing.assert_allclose(predictions.mean(axis=0), ensemble.predict(POINTS))


def test_boosted_regressors_have_members_too() -> None:
    boosted = AdaBoostRegressor(n_estimators=3, random_state=0).fit(POINTS, POINTS[:, 0])
    assert analysis.member_predictions(boosted, POINTS).shape == (len(boosted.estimators_), 150)


def test_columns_with_names() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(POINTS, columns=list("uvwxyz"))
    for name in ("forest", "subspace", "voting"):
        ref = analysis.member_predictions(CLASSIFIERS[name].fit(POINTS, WORDS), POINTS)
        comp = analysis.member_predictions(CLASSIFIERS[name].fit(frame, pandas.Series(WORDS)), frame)
        np.testing.assert_array_equal(comp, ref)  # and no warning about names


def test_sparse_columns() -> None:
    ensemble = CLASSIFIERS["subspace"].fit(csr_array(POINTS), WORDS)
    ref = analysis.member_predictions(ensemble, POINTS)
    np.testing.assert_array_equal(analysis.member_predictions(ensemble, csr_array(POINTS)), ref)


def test_members_that_missed_a_class() -> None:
    """Class 1 is rare: some bootstrap samples lack it, and their members answer with two of three indices."""
    y = np.where(np.arange(150) == 7, 1, np.where(CODES > 0, 3, 2))
    ensemble = BaggingClassifier(KNeighborsClassifier(1), 12, random_state=0).fit(POINTS, y)
    met = {tuple(member.classes_.tolist()) for member in ensemble.estimators_}
    assert met == {(0, 1, 2), (1, 2)}  # the second looks like labels
    assert learned_well(analysis.member_predictions(ensemble, POINTS), y)
    shares = analysis.member_probabilities(ensemble, POINTS)
    np.testing.assert_allclose(shares.mean(axis=0), ensemble.predict_proba(POINTS))


class Fitted(ClassifierMixin, BaseEstimator):
    """An ensemble of members that are fitted already."""

    def __init__(self, members=(), classes=()):
        self.members = members
        self.classes = classes
        self.estimators_ = list(members)
        self.classes_ = np.array(classes)


class Constant(ClassifierMixin, BaseEstimator):
    """A member without `classes_`."""

    def __init__(self, answer=0):
        self.answer = answer

    def predict(self, X):
        return np.full(len(X), self.answer)


def test_members_without_classes_are_known_by_their_answers() -> None:
    ensemble = Fitted([Constant("oak"), Constant("ash")], ["ash", "oak"])
    assert analysis.member_predictions(ensemble, POINTS[:2]).tolist() == [["oak", "oak"], ["ash", "ash"]]
    ensemble = Fitted([Constant(1), Constant(0)], ["ash", "oak"])
    assert analysis.member_predictions(ensemble, POINTS[:2]).tolist() == [["oak", "oak"], ["ash", "ash"]]


def fitted(name: str):
    return CLASSIFIERS[name].fit(POINTS, WORDS)


def other(ensemble):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ensemble.fit(POINTS, CODES)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: analysis.member_predictions(RandomForestClassifier(), POINTS), "RandomForestClassifier is not fitted"),
        (lambda: analysis.member_predictions(RandomForestClassifier, POINTS), "got the class RandomForestClassifier"),
        (
            lambda: analysis.member_predictions("forest", POINTS),
            "expected a fitted ensemble, got an object of type str",
        ),
        (lambda: analysis.member_predictions(other(TREE), POINTS), "DecisionTreeClassifier has no estimators_"),
        (
            lambda: analysis.member_predictions(other(HistGradientBoostingClassifier(max_iter=1)), POINTS),
            "HistGradientBoostingClassifier has no estimators_",
        ),
        (
            lambda: analysis.member_predictions(other(GradientBoostingClassifier(n_estimators=2)), POINTS),
            "GradientBoostingClassifier are corrections of each other",
        ),
        (
            lambda: analysis.member_predictions(other(GradientBoostingRegressor(n_estimators=2)), POINTS),
            "GradientBoostingRegressor are corrections of each other",
        ),
        (
            lambda: analysis.member_predictions(other(OneVsRestClassifier(TREE)), POINTS),
            "OneVsRestClassifier solve parts of the problem",
        ),
        (
            lambda: analysis.member_predictions(other(IsolationForest(n_estimators=2)), POINTS),
            "expected a classifier or a regressor, got IsolationForest",
        ),
        (
            lambda: analysis.member_predictions(RandomForestClassifier(2).fit(POINTS, np.c_[CODES, CODES]), POINTS),
            "needs one output, but RandomForestClassifier was fitted with 2",
        ),
        (lambda: analysis.member_predictions(fitted("subspace"), POINTS[:, :5]), "fitted with 6 features, but X has 5"),
        (
            lambda: analysis.member_predictions(fitted("forest"), POINTS[0]),
            r"X must have the shape \(n_samples, n_feat",
        ),
        (lambda: analysis.member_predictions(fitted("forest"), POINTS[:0]), "at least one sample, got"),
        (lambda: analysis.member_predictions(Fitted([], ["ash"]), POINTS), "Fitted has no members"),
        (
            lambda: analysis.member_predictions(Fitted([Constant("fir")], ["ash", "oak"]), POINTS),
            "a member predicts labels that the ensemble does not know: 'fir'",
        ),
        (
            lambda: analysis.member_predictions(Fitted([Constant(1), Constant(1)], [1, 2]), POINTS),
            "cannot tell whether members answer with labels or with their indices",
        ),
        (
            lambda: analysis.member_probabilities(
                VotingClassifier([("tree", TREE), ("ridge", RidgeClassifier())]).fit(POINTS, WORDS), POINTS
            ),
            "member 1, RidgeClassifier, has no predict_proba: use votes instead",
        ),
        (
            lambda: analysis.member_probabilities(BaggingRegressor(n_estimators=2).fit(POINTS, CODES), POINTS),
            "probabilities need a classifier, got BaggingRegressor",
        ),
    ],
)
def test_bad_input(call, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("y", [CODES, CODES > 0], ids=["three classes", "two"])
@pytest.mark.parametrize("kind", ["GradientBoosting", "NewtonBoosting"])
def test_steps_of_gradient_boosting_are_no_voters(kind: str, y: np.ndarray) -> None:
    for ensemble in (getattr(boosting, f"{kind}{task}")(n_estimators=2) for task in ("Classifier", "Regressor")):
        ensemble.fit(POINTS, y)
        with pytest.raises(UsageError, match=f"the members of {kind}.* are corrections of each other, not answers"):
            analysis.member_predictions(ensemble, POINTS)


@pytest.mark.parametrize("name", ["GradientBoostingClassifier", "NewtonBoostingRegressor"])
def test_the_first_members_of_boosting_answer_by_its_stages(name: str) -> None:
    ensemble = getattr(boosting, name)(n_estimators=4).fit(POINTS, CODES)
    answers = first_members_answers(ensemble, POINTS, np.array([1, 3]))
    stages = list(ensemble.staged_predict(POINTS))
    np.testing.assert_array_equal(answers, [stages[0], stages[2]])
    with pytest.raises(UsageError, match="sizes must be from 1 to the 4 members, got 1 to 5"):
        first_members_answers(ensemble, POINTS, np.array([1, 5]))
