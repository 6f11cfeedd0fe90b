"""Parameters of trees and forests that cannot be, each with its line, and some that can."""

import math

import numpy as np
import pytest

from depthforest.base.errors import UsageError
from depthforest.ensemble import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

TREES = [DecisionTreeClassifier, DecisionTreeRegressor]
FORESTS = [RandomForestClassifier, RandomForestRegressor, ExtraTreesClassifier, ExtraTreesRegressor]
X = np.array([[0, 5], [1, 4], [2, 3], [3, 2], [4, 1], [5, 0]], dtype=np.float64)
Y = np.array([0, 0, 0, 1, 1, 1])


def small(kind, **parameters):
    return kind(**({"n_estimators": 3} if kind in FORESTS else {}), **({"random_state": 0} | parameters))


SHARES = ("a share above 0 and up to 1; got", [0, -1, 0.0, 1.5, True, "all", None, math.nan])
BAD = {
    "criterion": ("criterion must be one of", ["absolute", None, 1]),
    "max_depth": ("max_depth must be a whole number from 1, got", [0, 2.0, True, "deep"]),
    "min_samples_split": ("min_samples_split must be a whole number from 2, or " + SHARES[0], [1, *SHARES[1]]),
    "min_samples_leaf": ("min_samples_leaf must be a whole number from 1, or " + SHARES[0], SHARES[1]),
    "min_weight_fraction_leaf": (
        "min_weight_fraction_leaf must be a number from 0 to 0.5, got",
        [-0.1, 0.6, None, True],
    ),
    "max_features": (
        "max_features must be 'sqrt', 'log2', None for all, a whole number",
        [0, 0.0, 1.5, "auto", True, [1]],
    ),
    "max_leaf_nodes": ("max_leaf_nodes must be a whole number from 2, got", [1, 2.5, "many"]),
    "min_impurity_decrease": ("min_impurity_decrease must be a number from 0, got", [-1, None, math.nan]),
    "ccp_alpha": ("ccp_alpha must be a number from 0, got", [-0.1, "some", math.nan]),
    "max_bins": ("max_bins must be a whole number from 2 to 255, or None", [1, 256, 10.0]),
}
BAD_OF_TREES = {"splitter": ("splitter must be one of best, random; got", ["worst", None])}
BAD_OF_FORESTS = {
    "n_estimators": ("n_estimators must be a whole number from 1, got", [0, -1, 2.5, None]),
    "n_jobs": ("n_jobs must be None or a whole number other than 0", [0, 1.5, "all"]),
    "max_samples": ("max_samples must be ", [0, -1, 0.0, 1.5, 7, "all", True]),
}


@pytest.mark.parametrize("name", [*BAD, *BAD_OF_TREES])
def test_parameters_of_trees_that_cannot_be(name):
    message, values = (BAD | BAD_OF_TREES)[name]
    for kind in TREES:
        for value in values:
            with pytest.raises(UsageError, match=message):
                small(kind, **{name: value}).fit(X, Y)


@pytest.mark.parametrize("name", [*BAD, *BAD_OF_FORESTS])
def test_parameters_of_forests_that_cannot_be(name):
    message, values = (BAD | BAD_OF_FORESTS)[name]
    for kind in FORESTS:
        for value in values:
            with pytest.raises(UsageError, match=message):
                kind(**({"n_estimators": 2, "bootstrap": True} | {name: value})).fit(X, Y)


@pytest.mark.parametrize("kind", FORESTS)
def test_out_of_bag_needs_a_bootstrap(kind):
    with pytest.raises(UsageError, match="Out of bag estimation only available if bootstrap=True"):
        small(kind, bootstrap=False, oob_score=True).fit(X, Y)
    with pytest.raises(UsageError, match="`max_sample` cannot be set if `bootstrap=False`"):
        small(kind, bootstrap=False, max_samples=3).fit(X, Y)


def test_parameters_that_can_be():
    for good in ("sqrt", "log2", None, 1, np.int64(5), 0.4, 1.0):
        assert small(RandomForestClassifier, max_features=good).fit(X, Y).predict(X).shape == (6,)
    model = small(DecisionTreeClassifier, min_samples_split=1.0, min_samples_leaf=0.5, max_leaf_nodes=10**12).fit(X, Y)
    assert model.get_n_leaves() == 2
    assert model.get_depth() == 1
