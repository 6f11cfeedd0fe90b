"""Listings of trees: as scikit-learn writes them, and node by node."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeClassifier as Theirs
from sklearn.tree import DecisionTreeRegressor as TheirNumbers
from sklearn.tree import export_text as their_text

from depthforest.base.errors import UsageError
from depthforest.ensemble import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    RandomForestClassifier,
    export_text,
    tree_frame,
)

X, Y = load_iris(return_X_y=True)
X = X[:, 2:3]  # one column: both libraries find the same splits


@pytest.mark.parametrize(
    "options",
    [{}, {"max_depth": 1}, {"spacing": 2, "decimals": 4}, {"show_weights": True}, {"feature_names": ["petal"]}],
)
def test_text_is_scikit_learns(options):
    ours, theirs = DecisionTreeClassifier(max_depth=5).fit(X, Y), Theirs(max_depth=5).fit(X, Y)
    assert export_text(ours, **options) == their_text(theirs, **options)
    ours, theirs = (kind(max_depth=4).fit(X, Y / 7) for kind in (DecisionTreeRegressor, TheirNumbers))
    assert export_text(ours, **options) == their_text(theirs, **options)


def test_text_of_categories_and_names():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"town": ["a", "b", "c", "d"] * 5})
    model = DecisionTreeClassifier(categorical_features=["town"]).fit(frame, frame["town"].isin(["a", "c"]))
    text = export_text(model, class_names=["no", "yes"])
    assert text.splitlines()[0] in ("|--- town in ['a', 'c']", "|--- town in ['b', 'd']")
    assert "|   |--- class: yes" in text
    assert "|--- town not in [" in text


def test_frame():
    pytest.importorskip("pandas")
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, Y)
    nodes = tree_frame(model, feature_names=["petal"])
    assert len(nodes) == model.tree_.node_count
    is_leaf = nodes["left"] < 0
    assert (nodes["feature"][~is_leaf] == "petal").all()
    assert nodes["threshold"].isna().equals(is_leaf)
    assert nodes[["share_0", "share_1", "share_2"]].sum(axis=1).to_numpy() == pytest.approx(1)
    for row in nodes[~is_leaf].itertuples():  # children add up to their parent
        children = nodes.loc[[row.left, row.right]]
        assert (children["parent"] == row.node).all()
        assert (children["depth"] == row.depth + 1).all()
        assert children["n_samples"].sum() == row.n_samples
    values = tree_frame(DecisionTreeRegressor(max_depth=1).fit(X, Y))
    assert values["value"][0] == pytest.approx(np.mean(Y))


def test_what_cannot_be_listed():
    model = DecisionTreeClassifier()
    with pytest.raises(NotFittedError):
        export_text(model)
    model.fit(X, Y)
    with pytest.raises(UsageError, match="feature_names must contain 1 elements, got 2"):
        export_text(model, feature_names=["a", "b"])
    with pytest.raises(UsageError, match="class_names must be 3 names, one for each class of the tree; got 1"):
        export_text(model, class_names=["a"])
    with pytest.raises(UsageError, match="max_depth must be a whole number from 0"):
        export_text(model, max_depth=-1)
    with pytest.raises(UsageError, match=r"expected one tree of depthforest.ensemble, got RandomForestClassifier"):
        tree_frame(RandomForestClassifier(2).fit(X, Y))
