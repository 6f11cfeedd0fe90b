"""Combinations on real sets against the best of their members, over seeds; and reject curves."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from depthforest.ensemble.combining.averaging import AveragingRegressor
from depthforest.ensemble.combining.stacking import StackingClassifier, StackingRegressor
from depthforest.ensemble.combining.voting import VotingClassifier

pytestmark = pytest.mark.slow

SEEDS = range(10)
BEYOND_NOISE = 2.262  # standard errors: Student's t with 9 degrees of freedom, 95 %
SETS = [load_digits, load_wine, load_breast_cancer]
COMBINATIONS = {
    "hard": (VotingClassifier, {"voting": "hard", "weights": "fitted"}),
    "soft": (VotingClassifier, {"voting": "soft", "weights": "fitted"}),
    "confidence": (VotingClassifier, {"voting": "confidence", "weights": "fitted"}),
    "stacking": (StackingClassifier, {}),
    "stacking labels": (StackingClassifier, {"stack_method": "predict"}),
}
REGRESSIONS = {
    "fitted": (AveragingRegressor, {"weights": "fitted"}),
    "stacking": (StackingRegressor, {}),
    "stacking with features": (StackingRegressor, {"passthrough": True}),
}


def _classifiers(seed):
    return [
        ("logistic", make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))),
        ("bayes", GaussianNB()),
        ("neighbors", make_pipeline(StandardScaler(), KNeighborsClassifier())),
        ("tree", DecisionTreeClassifier(random_state=seed)),
        ("shallow", DecisionTreeClassifier(max_depth=3, random_state=seed)),
    ]


def _regressors(seed):
    return [
        ("ridge", Ridge()),
        ("neighbors", make_pipeline(StandardScaler(), KNeighborsRegressor(10))),
        ("tree", DecisionTreeRegressor(random_state=seed)),
        ("shallow", DecisionTreeRegressor(max_depth=3, random_state=seed)),
        ("forest", RandomForestRegressor(20, random_state=seed)),
    ]


def _halves(load, seed):
    X, y = load(return_X_y=True)
    return train_test_split(X, y, test_size=0.5, random_state=seed, stratify=None if load is load_diabetes else y)


def _gains(kind, options, members, load):
    """Score of the combination less that of the member that is best over all seeds, for each seed."""
    ours, theirs = [], []
    for seed in SEEDS:
        X_fit, X_new, y_fit, y_new = _halves(load, seed)
        model = kind(members(seed), **options).fit(X_fit, y_fit)
        ours.append(model.score(X_new, y_new))
        theirs.append([member.score(X_new, y_new) for member in model.estimators_])
    best = np.argmax(np.mean(theirs, axis=0))
    return np.array(ours) - np.array(theirs)[:, best]


def _within_noise(gains):
    return gains.mean() >= -BEYOND_NOISE * gains.std(ddof=1) / np.sqrt(len(gains))


@pytest.mark.parametrize("load", SETS)
@pytest.mark.parametrize("name", COMBINATIONS)
def test_never_worse_than_the_best_classifier_beyond_noise(load, name):
    gains = _gains(*COMBINATIONS[name], _classifiers, load)
    assert _within_noise(gains), gains


@pytest.mark.parametrize("name", REGRESSIONS)
def test_never_worse_than_the_best_regressor_beyond_noise(name):
    gains = _gains(*REGRESSIONS[name], _regressors, load_diabetes)
    assert _within_noise(gains), gains


@pytest.mark.parametrize("load", SETS)
@pytest.mark.parametrize("voting", ["hard", "soft", "confidence"])
def test_reject_curves_rise_on_average(load, voting):
    at = np.linspace(0, 0.25, 6)
    found = []
    for seed in SEEDS:
        X_fit, X_new, y_fit, y_new = _halves(load, seed)
        # leaves of three rows and more: pure ones would make all three votes the same
        tree = DecisionTreeClassifier(max_features="sqrt", min_samples_leaf=3)
        members = [(str(i), clone(tree).set_params(random_state=10 * seed + i)) for i in range(15)]
        curve = VotingClassifier(members, voting=voting).fit(X_fit, y_fit).reject_curve(X_new, y_new)
        found.append(np.interp(at, curve.rejected, curve.accuracy))
    mean = np.mean(found, axis=0)
    assert (np.diff(mean) >= 0).all(), mean
    assert mean[-1] > mean[0] + 0.01
