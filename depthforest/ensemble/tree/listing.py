"""Listings of a fitted tree: its rules as text, its nodes as a DataFrame, its graph in Graphviz's language."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from depthforest.base import UsageError
from depthforest.ensemble.fitting import whole
from depthforest.ensemble.tree.trees import Tree, check_one_target


def export_text(
    decision_tree: Any,
    *,
    feature_names: Sequence[Any] | None = None,
    class_names: Sequence[Any] | None = None,
    max_depth: int = 10,
    spacing: int = 3,
    decimals: int = 2,
    show_weights: bool = False,
) -> str:
    """Return the rules of a tree as text in scikit-learn's format, a line for each side of a split and for each leaf.

    Parameters
    ----------
    decision_tree : DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier or ExtraTreeRegressor
        Fitted.
    feature_names : sequence of str, optional
        Default: the names seen in fit, or feature_0, feature_1, ...
    class_names : sequence of str, optional
        Default: `classes_`.
    max_depth : int, default=10
        Deeper branches are only mentioned.
    spacing, decimals : int, default=3 and 2
        Width of an indentation; digits of numbers.
    show_weights : bool, default=False
        Write the weight of each class in a leaf.
    """
    tree = _tree_of(decision_tree)
    names = _names(decision_tree, feature_names)
    labels = _class_labels(decision_tree, class_names)
    deepest, width = whole("max_depth", max_depth, 0), whole("spacing", spacing, 1)
    digits = whole("decimals", decimals, 0)

    def leaf(node: int) -> str:
        value = tree.value[node, 0]
        if labels is None:
            return f"value: [{', '.join(f'{v:.{digits}f}' for v in value)}]"
        weights = value * tree.weighted_n_node_samples[node]
        shown = f"weights: [{', '.join(f'{w:.{digits}f}' for w in weights)}] " if show_weights else ""
        return f"{shown}class: {labels[int(value.argmax())]}"

    def lines(node: int, depth: int) -> Iterator[str]:
        before = ("|" + " " * width) * depth + "|" + "-" * width + " "
        if tree.feature[node] < 0:
            yield before + leaf(node)
            return
        if depth > deepest:
            yield f"{before}truncated branch of depth {_height(tree, node)}"
            return
        for side, rule in enumerate(_rules(tree, node, names[tree.feature[node]], digits)):
            yield before + rule
            yield from lines(int(tree.child[node]) + side, depth + 1)

    return "\n".join(lines(0, 0)) + "\n"


def to_dot(
    decision_tree: Any,
    *,
    feature_names: Sequence[Any] | None = None,
    class_names: Sequence[Any] | None = None,
    decimals: int = 3,
) -> str:
    """Return a tree in Graphviz's language, which `dot` can draw.

    Parameters
    ----------
    decision_tree : DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier or ExtraTreeRegressor
        Fitted.
    feature_names, class_names
        As in `export_text`.
    decimals : int, default=3
        Digits of numbers.
    """
    tree = _tree_of(decision_tree)
    names, digits = _names(decision_tree, feature_names), whole("decimals", decimals, 0)
    labels = _class_labels(decision_tree, class_names)
    lines = ["digraph tree {", "  node [shape=box];"]
    for node in range(tree.node_count):
        value = tree.value[node, 0]
        said = f"class {labels[int(value.argmax())]}" if labels is not None else f"value {value[0]:.{digits}f}"
        rows = f"{tree.n_node_samples[node]} rows"
        if tree.feature[node] < 0:
            lines.append(f"  {node} [label={_dot_text(said, rows)}];")
            continue
        rule = _rules(tree, node, names[tree.feature[node]], digits)[0]
        lines.append(f"  {node} [label={_dot_text(rule, rows, said)}];")
        is_left = bool(tree.missing_go_to_left[node])
        for side, word in enumerate(("yes", "no")):
            shown = f"{word}, or missing" if is_left != bool(side) else word
            lines.append(f"  {node} -> {int(tree.child[node]) + side} [label={_dot_text(shown)}];")
    return "\n".join([*lines, "}"]) + "\n"


def _dot_text(*lines: str) -> str:
    """Return lines as a quoted Graphviz string."""
    escaped = (line.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ") for line in lines)
    return '"' + "\\n".join(escaped) + '"'


def _class_labels(decision_tree: Any, class_names: Sequence[Any] | None) -> Any:
    """Return the names of the classes; None for a regressor."""
    classes = getattr(decision_tree, "classes_", None)
    if class_names is not None and (classes is None or len(class_names) != len(classes)):
        n = 0 if classes is None else len(classes)
        raise UsageError(f"class_names must be {n} names, one for each class of the tree; got {len(class_names)}")
    return classes if class_names is None else class_names


def tree_frame(decision_tree: Any, *, feature_names: Sequence[Any] | None = None) -> Any:
    """Return the nodes of a tree as a pandas DataFrame, a row for each, in the order of `tree_`.

    Parameters
    ----------
    decision_tree : DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier or ExtraTreeRegressor
        Fitted.
    feature_names : sequence of str, optional
        Default: the names seen in fit, or feature_0, feature_1, ...

    Returns
    -------
    DataFrame
        node, depth, parent, left, right (-1 for none), feature (None at leaves), threshold (NaN at leaves and for
        categories), categories (those that go left), missing_go_to_left, impurity, n_samples, weight, and the node's
        prediction: `value`, or a column `share_CLASS` for each class.
    """
    try:
        from pandas import DataFrame
    except ImportError:
        raise UsageError("tree_frame needs pandas, which is not installed: pip install pandas") from None
    tree = _tree_of(decision_tree)
    names = _names(decision_tree, feature_names)
    is_number = ~tree.is_leaf & (tree.mask < 0)
    columns: dict[str, Any] = {
        "node": np.arange(tree.node_count),
        "depth": tree.depths,
        "parent": tree.parents,
        "left": tree.children_left,
        "right": tree.children_right,
        "feature": [None if f < 0 else names[f] for f in tree.feature],
        "threshold": np.where(is_number, tree.threshold, np.nan).astype(np.float64),
        "categories": [tree.categories(node) for node in range(tree.node_count)],
        "missing_go_to_left": tree.missing_go_to_left.astype(bool),
        "impurity": tree.impurity,
        "n_samples": tree.n_node_samples,
        "weight": tree.weighted_n_node_samples,
    }
    classes = getattr(decision_tree, "classes_", None)
    if classes is None:
        columns["value"] = tree.value[:, 0, 0]
    else:
        columns |= {f"share_{label}": tree.value[:, 0, k] for k, label in enumerate(classes)}
    return DataFrame(columns)


def _tree_of(decision_tree: Any) -> Tree:
    check_is_fitted(decision_tree)
    tree = getattr(decision_tree, "tree_", None)
    if not isinstance(tree, Tree):
        raise UsageError(
            f"expected one tree of depthforest.ensemble, got {type(decision_tree).__name__}: of an ensemble pass one "
            "of its estimators_"
        )
    check_one_target(tree, "a listing")
    return tree


def _names(decision_tree: Any, given: Sequence[Any] | None) -> list[str]:
    n = decision_tree.n_features_in_
    names = getattr(decision_tree, "feature_names_in_", None) if given is None else given
    if names is None:
        return [f"feature_{f}" for f in range(n)]
    if len(names) != n:
        raise UsageError(f"feature_names must contain {n} elements, got {len(names)}")
    return [str(name) for name in names]


def _rules(tree: Tree, node: int, name: str, digits: int) -> tuple[str, str]:
    """Return the conditions of the left and right side of a split."""
    categories = tree.categories(node)
    if categories is None:
        return f"{name} <= {tree.threshold[node]:.{digits}f}", f"{name} >  {tree.threshold[node]:.{digits}f}"
    return f"{name} in {list(categories)}", f"{name} not in {list(categories)}"


def _height(tree: Tree, node: int) -> int:
    """Return the number of levels of a branch."""
    if tree.feature[node] < 0:
        return 1
    return 1 + max(_height(tree, int(tree.child[node])), _height(tree, int(tree.child[node]) + 1))
