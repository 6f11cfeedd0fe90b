"""The parts of the ensemble library inside each other: our trees and forests as members, and analyzed."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, make_classification
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from depthforest.ensemble import (
    AveragingRegressor,
    BaggingClassifier,
    DecisionTreeClassifier,
    ExtraTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    RandomSubspaceClassifier,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    analysis,
)


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return X[::2], np.where(y[::2], "benign", "malign"), X[1::2], np.where(y[1::2], "benign", "malign")


def members():
    return [
        ("forest", RandomForestClassifier(10, random_state=0)),
        ("extra", ExtraTreesClassifier(10, random_state=0)),
        ("bagged", BaggingClassifier(n_estimators=5, random_state=0)),
        ("line", make_pipeline(StandardScaler(), LogisticRegression())),
    ]


@pytest.mark.parametrize("voting", ["hard", "soft", "confidence"])
def test_our_members_vote(cancer, voting):
    X, y, X_new, y_new = cancer
    vote = VotingClassifier(members(), voting=voting, weights="fitted", cv=3).fit(X, y)
    assert vote.score(X_new, y_new) > 0.93
    np.testing.assert_allclose(vote.weights_.sum(), 1)


def test_confidence_is_the_purity_of_the_leaf(cancer):
    """A tree's own confidence is the share of the winner in the leaf that a row falls into."""
    X, y, X_new, _ = cancer
    trees = [(f"t{d}", DecisionTreeClassifier(max_depth=d, random_state=0)) for d in (1, 2, 3)]
    vote = VotingClassifier(trees, voting="confidence").fit(X, y)
    expected = np.zeros((len(X_new), 2))
    for tree in vote.estimators_:
        leaf = tree.tree_.values[tree.tree_.child[tree.apply(X_new)]]
        expected[np.arange(len(X_new)), leaf.argmax(axis=1)] += leaf.max(axis=1)
    np.testing.assert_allclose(vote.vote_shares(X_new), expected / expected.sum(axis=1, keepdims=True))


def test_our_members_are_stacked_and_averaged(cancer):
    X, y, X_new, y_new = cancer
    assert StackingClassifier(members(), cv=3).fit(X, y).score(X_new, y_new) > 0.93
    X, y = load_diabetes(return_X_y=True)
    pair = [("forest", RandomForestRegressor(20, random_state=0)), ("ridge", Ridge())]
    for combined in (AveragingRegressor(pair, weights="fitted", cv=3), StackingRegressor(pair, cv=3)):
        assert combined.fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.35


@pytest.mark.parametrize(
    "kind", [RandomForestClassifier, ExtraTreesClassifier, BaggingClassifier, RandomSubspaceClassifier]
)
def test_our_ensembles_are_analysed(cancer, kind):
    X, y, X_new, y_new = cancer
    ensemble = kind(n_estimators=7, random_state=0).fit(X, y)
    report = analysis.report(ensemble, X_new, y_new)
    np.testing.assert_allclose(report["ensemble error"], 1 - ensemble.score(X_new, y_new))
    assert 0 < report["mean member error"] < 0.25


def test_the_forests_strength_is_the_analysis_of_its_votes():
    """Out of bag, and asked anew with rows that no tree has seen, a forest says about the same of itself."""
    X, y = make_classification(4000, 10, n_informative=6, n_classes=3, random_state=0)
    forest = RandomForestClassifier(40, oob_score=True, random_state=0).fit(X[::2], y[::2])
    report = analysis.report(forest, X[1::2], y[1::2])
    assert abs(report["strength"] - forest.strength_) < 0.03
    assert abs(report["raw margin correlation"] - forest.correlation_) < 0.05
