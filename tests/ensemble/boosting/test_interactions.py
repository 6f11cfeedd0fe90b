"""Interaction constraints: columns that may stand together on a path."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from depthforest.base.errors import UsageError
from depthforest.ensemble import NewtonBoostingClassifier, NewtonBoostingRegressor, load

LEAVES = {"n_estimators": 6, "max_leaf_nodes": 16, "min_samples_leaf": 5, "random_state": 0}


def table(n=600):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 6)).astype(np.float32)
    return X, X[:, 0] * X[:, 1] + X[:, 2] * X[:, 3] + X[:, 4] + X[:, 5] * X[:, 0]


def paths(model):
    """Return the sets of columns on the paths to the leaves of all trees."""
    found = set()
    for tree in model.trees_:
        columns = [frozenset()] * tree.node_count
        for node in range(tree.node_count):
            if tree.feature[node] < 0:
                found.add(columns[node])
                continue
            for child in (tree.child[node], tree.child[node] + 1):
                columns[child] = columns[node] | {int(tree.feature[node])}
    return found


@pytest.mark.parametrize("bins", [255, None], ids=["histograms", "exact"])
@pytest.mark.parametrize("share", [1.0, 0.6], ids=["all", "drawn"])
@pytest.mark.parametrize(
    ("groups", "allowed"),
    [
        ("no_interactions", [{f} for f in range(6)]),
        ("pairwise", [{a, b} for a in range(6) for b in range(a)]),
        ([[0, 1], [1, 2, 3]], [{0, 1}, {1, 2, 3}, {4, 5}]),
    ],
    ids=["none", "pairs", "groups"],
)
def test_paths_stay_within_a_group(groups, allowed, bins, share):
    X, y = table()
    model = NewtonBoostingRegressor(interaction_cst=groups, max_bins=bins, colsample_bynode=share, **LEAVES).fit(X, y)
    assert all(any(path <= group for group in allowed) for path in paths(model))
    assert max(map(len, paths(model))) >= min(2, max(map(len, allowed)))
    free = NewtonBoostingRegressor(max_bins=bins, colsample_bynode=share, **LEAVES).fit(X, y)
    assert not all(any(path <= group for group in allowed) for path in paths(free))


def test_one_group_of_all_columns_changes_nothing():
    X, y = table()
    free = NewtonBoostingRegressor(colsample_bynode=0.5, **LEAVES).fit(X, y)
    grouped = NewtonBoostingRegressor(colsample_bynode=0.5, interaction_cst=[range(6), [0]], **LEAVES)
    with pytest.raises(UsageError, match="a list of groups"):
        grouped.fit(X, y)
    grouped.set_params(interaction_cst=[list(range(6)), [0]]).fit(X, y)
    assert_array_equal(grouped.predict(X), free.predict(X))


def test_names_are_columns_and_files_keep_groups(tmp_path):
    pandas = pytest.importorskip("pandas")
    X, y = table()
    frame = pandas.DataFrame(X, columns=list("abcdef"))
    named = NewtonBoostingClassifier(interaction_cst=[["a", "b"], ["c"]], **LEAVES).fit(frame, y > 0)
    numbered = NewtonBoostingClassifier(interaction_cst=[[0, 1], [2]], **LEAVES).fit(X, y > 0)
    assert_array_equal(named.predict_proba(frame), numbered.predict_proba(X))
    named.save(tmp_path / "m.safetensors")
    assert load(tmp_path / "m.safetensors").interaction_cst == [["a", "b"], ["c"]]


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ("all", "must be 'pairwise', 'no_interactions' or a list of groups of columns, got 'all'"),
        ([0, 1], "a list of groups"),
        ([[0, 6]], "from 0 to 5, got 6"),
        ([["a"]], "'a', which is not a column of X; X has no column names"),
    ],
)
def test_bad_groups_are_named(groups, message):
    with pytest.raises(UsageError, match=message):
        NewtonBoostingRegressor(interaction_cst=groups).fit(*table(60))
