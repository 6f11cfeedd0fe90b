import re

import numpy as np
import pytest

from depthforest import DepthForestError
from depthforest import ensemble as de


def test_every_node_and_link_is_there():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 2)), rng.integers(0, 3, 100)
    tree = de.DecisionTreeClassifier(max_depth=3).fit(X, y)
    text = de.to_dot(tree, feature_names=['a "b"', "c\\d"], class_names=["x", "y", "z"])
    assert text.startswith("digraph tree {\n")
    assert text.endswith("}\n")
    assert len(re.findall(r"^  \d+ \[label=", text, re.M)) == tree.tree_.node_count
    links = {tuple(map(int, link)) for link in re.findall(r"^  (\d+) -> (\d+) ", text, re.M)}
    inner = np.flatnonzero(~tree.tree_.is_leaf)
    assert links == {(int(n), int(tree.tree_.child[n]) + side) for n in inner for side in (0, 1)}
    assert r"a \"b\" <= " in text or r"c\\d <= " in text
    assert "class x" in text or "class y" in text
    assert text.count("or missing") == len(inner)


def test_regressors_and_wrong_names():
    X = np.arange(10.0)[:, None]
    tree = de.DecisionTreeRegressor(max_depth=1).fit(X, X[:, 0])
    assert "value 2.000" in de.to_dot(tree)
    with pytest.raises(DepthForestError, match="class_names"):
        de.to_dot(tree, class_names=["a"])
