"""Tree store: writes an ensemble of trees to a model file, and reads it back as an estimator of a given class.

The columns of all trees are concatenated in the order of the trees; `ends` has the end of each. Parameters, classes and
the like are JSON (`metadata`). The additions of a family (`forests.store`, `boosting.store`, `adaboost.store`) come
from the estimator: `_layout` names them; `_stored_trees`, `_pack` and `_unpack` supply them. A file is untrusted: every
tree is checked (`checks`) before a kernel sees it. docs/MODEL_FORMAT.md describes the format.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from depthforest.base import (
    Bools,
    Column,
    DepthForestError,
    ModelError,
    ModelFile,
    Schema,
    UsageError,
    modelfile,
    shown,
)
from depthforest.ensemble.fitting import class_starts, starts_of
from depthforest.ensemble.growth import LEAF, MASK_WORDS
from depthforest.ensemble.tree.checks import check_shares, check_tree
from depthforest.ensemble.tree.metadata import (
    MAX_FEATURES,
    MAX_TARGETS,
    Codec,
    pack_categories,
    pack_classes,
    pack_names,
    pack_parameters,
    unpack_categories,
    unpack_classes,
    unpack_names,
    unpack_parameters,
    whole,
)
from depthforest.ensemble.tree.trees import UNDEFINED, Tree

KIND = "tree_ensemble"
FORMAT_VERSION = 1

MAX_TREES = 2**16
"""Enough for boosting of 31 classes with two thousand rounds; limits the time for checks."""

NODE_COLUMNS = {
    "feature": Column("int32", ("nodes",)),
    "threshold": Column("float32", ("nodes",)),
    "child": Column("int32", ("nodes",)),
    "missing_go_to_left": Column("uint8", ("nodes",)),
    "mask": Column("int32", ("nodes",)),
    "impurity": Column("float64", ("nodes",)),
    "n_node_samples": Column("int32", ("nodes",)),
    "weighted_n_node_samples": Column("float64", ("nodes",)),
}
TREE_COLUMNS = NODE_COLUMNS | {
    "values": Column("float64", ("values", "outputs")),
    "masks": Column("uint32", ("masks", MASK_WORDS)),
    "ends": Column("int64", ("trees", 3)),
}
"""Columns of every ensemble. `ends` has the total number of nodes, rows of values and rows of masks after each tree."""

KEYS = ("categories", "classes", "estimator", "feature_names", "fitted", "n_features", "parameters")

ESTIMATORS = (
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ExtraTreeClassifier",
    "ExtraTreeRegressor",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "NewtonBoostingClassifier",
    "NewtonBoostingRegressor",
    "LambdaMART",
    "AdaBoostClassifier",
)
"""Names of all estimators with a layout: the only ones that files can hold."""

Columns = dict[str, npt.NDArray[Any]]
Categories = dict[int, npt.NDArray[Any]]


@dataclass(frozen=True)
class Layout:
    """The content of an estimator's file: the attribute `_layout` of its class, which subclasses do not inherit.

    Parameters
    ----------
    schema : mapping of str to Column
        `TREE_COLUMNS`, and those added by the estimator.
    fitted : tuple of str
        Keys of the object `fitted`: values of the whole ensemble.
    has_classes : bool
        Whether it is a classifier.
    has_shares : bool
        Whether leaves hold shares of classes; else numbers, as in boosted classifiers.
    has_targets : bool
        Whether a row may have several targets.
    max_trees : int
    codecs : mapping of str to Codec
        Codecs of parameters that may be more than plain values.
    """

    schema: Schema
    fitted: tuple[str, ...] = ()
    has_classes: bool = False
    has_shares: bool = False
    has_targets: bool = False
    max_trees: int = MAX_TREES
    codecs: Mapping[str, Codec] = field(default_factory=dict)


CLASS_TREE = Layout(TREE_COLUMNS, has_classes=True, has_shares=True, has_targets=True, max_trees=1)
NUMBER_TREE = Layout(TREE_COLUMNS, has_targets=True, max_trees=1)


# -- writing -----------------------------------------------------------------------------------------------------------


def save_trees(estimator: Any, path: str | Path) -> None:
    """Write a fitted tree, forest, AdaBoost or boosted ensemble to a file; equal ensembles give equal bytes.

    Parameters
    ----------
    estimator
        Its class must have a layout of its own, because a subclass may have more state than the file.
    path : str or Path
    """
    kind = type(estimator)
    if "_layout" not in vars(kind):
        raise UsageError(f"only {', '.join(ESTIMATORS)} can be saved, got {kind.__name__}")
    check_is_fitted(estimator)
    layout: Layout = kind._layout
    trees, categories = estimator._stored_trees()
    if len(trees) > MAX_TREES:
        raise UsageError(f"a file can hold {MAX_TREES} trees, got {len(trees)}")
    content = {
        "estimator": kind.__name__,
        "parameters": pack_parameters(estimator, layout.codecs),
        "classes": pack_classes(estimator.classes_) if layout.has_classes else None,
        "n_features": estimator.n_features_in_,
        "feature_names": pack_names(getattr(estimator, "feature_names_in_", None)),
        "categories": pack_categories(categories),
    }
    columns = _pack_trees(trees, categorical_flags(estimator.n_features_in_, categories))
    content["fitted"] = estimator._pack(columns)
    modelfile.write(path, KIND, FORMAT_VERSION, content, columns)


def categorical_flags(n_features: int, categories: Categories) -> Bools:
    """Return a mask of the categorical columns, (n_features,)."""
    return np.isin(np.arange(n_features), list(categories))


def _pack_trees(trees: list[Tree], is_categorical: Bools) -> Columns:
    for number, tree in enumerate(trees):
        _check_numbered(tree, number, is_categorical)
    columns: Columns = {
        name: np.concatenate([getattr(tree, name) for tree in trees]) for name in (*NODE_COLUMNS, "values", "masks")
    }
    columns["threshold"] = np.where(columns["feature"] == LEAF, np.float32(np.inf), columns["threshold"])
    counts = [(tree.node_count, tree.n_shared + len(tree.own_values), len(tree.masks)) for tree in trees]
    columns["ends"] = np.cumsum(counts, axis=0, dtype=np.int64)
    return columns


# -- reading -----------------------------------------------------------------------------------------------------------


def unpack_trees(file: ModelFile, kind: Any) -> Any:
    """Return the estimator in a file whose container has been read, and check everything.

    Parameters
    ----------
    file : ModelFile
    kind : type
        The class that the file names; it has a layout.
    """
    file.expect(KIND, FORMAT_VERSION, kind._layout.schema, KEYS)
    try:
        return _unpack(file, kind)
    except DepthForestError as error:
        raise ModelError(f"{file.name}: {modelfile.one_line(error)}") from None


def _unpack(file: ModelFile, kind: Any) -> Any:
    content, columns, layout = file.content, file.columns, kind._layout
    estimator = kind(**unpack_parameters(content["parameters"], kind, layout.codecs))
    n_features = whole("n_features", content["n_features"], 1, MAX_FEATURES)
    estimator.n_features_in_ = n_features
    names = unpack_names(content["feature_names"], n_features)
    if names is not None:
        estimator.feature_names_in_ = names
    categories = unpack_categories(content["categories"], n_features)
    if layout.has_classes:
        estimator.classes_ = unpack_classes(content["classes"])
    elif content["classes"] is not None:
        raise ModelError(f"classes must be null for {kind.__name__}, got {shown(content['classes'])}")
    fitted = content["fitted"]
    if not isinstance(fitted, dict) or set(fitted) != set(layout.fitted):
        raise ModelError(f"fitted must be an object with {', '.join(layout.fitted) or 'no keys'}; got {shown(fitted)}")
    starts = _starts(columns, getattr(estimator, "classes_", None), layout)
    n_shared = len(estimator.classes_) if layout.has_shares and not starts else 0
    trees = _unpack_columns(columns, categorical_flags(n_features, categories), n_shared, starts, kind)
    estimator._unpack(trees, categories, fitted, columns)
    return estimator


def _starts(columns: Columns, classes: Any, layout: Layout) -> tuple[int, ...]:
    """Return where the values of each target begin in a row of values; empty for one target."""
    if isinstance(classes, list) and not layout.has_targets:
        raise ModelError("classes must be those of one target")
    n_outputs = columns["values"].shape[1]
    if layout.has_classes:
        return class_starts(classes)
    if not layout.has_targets or not 1 <= n_outputs <= MAX_TARGETS:
        return ()
    return starts_of([1] * n_outputs)


def _unpack_columns(
    columns: Columns, is_categorical: Bools, n_shared: int, starts: tuple[int, ...], kind: Any
) -> list[Tree]:
    """Return the trees, each with its own memory, and each valid."""
    n_outputs, n_wanted = columns["values"].shape[1], starts[-1] if starts else n_shared or 1
    if n_outputs != n_wanted:
        raise ModelError(f"values must have {n_wanted} columns, got {n_outputs}")
    ends = columns["ends"]
    _check_ends(ends, (len(columns["feature"]), len(columns["values"]), len(columns["masks"])), n_shared, kind)
    none = np.empty(0, dtype=np.int32)
    trees = []
    begin = np.zeros(3, dtype=np.int64)
    for number, end in enumerate(ends):
        nodes, values, masks = (slice(*span) for span in zip(begin.tolist(), end.tolist(), strict=True))
        # copies, because kernels would be compiled again for read-only columns
        own: dict[str, Any] = {name: columns[name][nodes].copy() for name in NODE_COLUMNS}
        at_leaves = np.where(own["threshold"] == np.inf, UNDEFINED, np.nan)  # anything else is an error
        own["threshold"] = np.where(own["feature"] == LEAF, at_leaves, own["threshold"]).astype(np.float32)
        tree = Tree(
            **own,
            own_values=_own_values(columns["values"][values], n_shared, number),
            masks=columns["masks"][masks].copy(),
            begins=none,
            rows=none,
            n_shared=n_shared,
            starts=starts,
        )
        if starts and kind._layout.has_shares:
            _check_shares(tree, number)
        _check_numbered(tree, number, is_categorical)
        trees.append(tree)
        begin = end
    return trees


def _check_shares(tree: Tree, number: int) -> None:
    """Raise ModelError unless the values of each of several targets are shares of its classes."""
    for first, end in pairwise(tree.starts):
        try:
            check_shares(tree.own_values[:, first:end])
        except ModelError as error:
            raise ModelError(f"tree {number}: {error}") from None


def _own_values(values: npt.NDArray[np.float64], n_shared: int, number: int) -> npt.NDArray[np.float64]:
    """Return the rows of values after the shared ones, which must be one-hot for the classes."""
    if not np.array_equal(values[:n_shared], np.eye(n_shared, values.shape[1])):
        raise ModelError(
            f"tree {number}: the first {n_shared} rows of values must be 1 for their own class and 0 for the others"
        )
    return values[n_shared:].copy()


def _check_ends(ends: npt.NDArray[np.int64], lengths: tuple[int, int, int], n_shared: int, kind: Any) -> None:
    """Raise ModelError unless `ends` divides the columns into trees."""
    most = kind._layout.max_trees
    if not 1 <= len(ends) <= most:
        raise ModelError(f"{kind.__name__} has 1 to {most} trees, got {len(ends)}")
    # bounded first, so that differences cannot overflow
    if (ends < 0).any() or (ends > lengths).any() or tuple(ends[-1].tolist()) != lengths:
        raise ModelError(
            f"ends of trees must ascend to the {lengths} nodes, values and masks; got {shown(ends.tolist())}"
        )
    if (np.diff(ends, axis=0, prepend=0) < (1, n_shared, 0)).any():
        raise ModelError(f"every tree must have a node and {n_shared} rows of values, and ends must ascend")


def _check_numbered(tree: Tree, number: int, is_categorical: Bools) -> None:
    try:
        check_tree(tree, len(is_categorical), is_categorical)
    except ModelError as error:
        raise ModelError(f"tree {number}: {error}") from None
