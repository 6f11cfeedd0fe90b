"""Tree files: ensembles of trees as model files, and back. `save` of the estimators and `ensemble.load` end here.

The columns of all trees stand one after the other, in the order of the trees; `ends` says where each stops. Parameters,
classes and the like are JSON (`treemetadata`); what only forests have is added by `forestfile`, what only boosted
ensembles have by `boostfile`, what only AdaBoost has by `adaboostfile`. A file is untrusted: it names its estimator,
which is looked up in a fixed table, and every tree is checked (`treechecks`) before a kernel sees it.
docs/MODEL_FORMAT.md describes all of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from depthforest import modelfile
from depthforest.arrays import Bools, Longs
from depthforest.ensemble.adaboost import AdaBoostClassifier
from depthforest.ensemble.adaboostfile import (
    ADABOOST_COLUMNS,
    OF_ADABOOST,
    check_members,
    pack_adaboost,
    trees_in_shared_terms,
    unpack_adaboost,
)
from depthforest.ensemble.boostbase import BaseBoosting
from depthforest.ensemble.boostfile import BOOST_COLUMNS, OF_BOOSTED, check_own_loss, pack_boosted, unpack_boosted
from depthforest.ensemble.decisiontrees import DecisionTreeClassifier, DecisionTreeRegressor
from depthforest.ensemble.forestbase import BaseForest
from depthforest.ensemble.forestfile import (
    FOREST_COLUMNS,
    OF_CLASSES,
    OF_NUMBERS,
    QUANTILE_COLUMNS,
    Columns,
    pack_forest,
    pack_quantiles,
    unpack_forest,
    unpack_quantiles,
)
from depthforest.ensemble.forests import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from depthforest.ensemble.gradientboosting import GradientBoostingClassifier, GradientBoostingRegressor
from depthforest.ensemble.newtonboosting import NewtonBoostingClassifier, NewtonBoostingRegressor
from depthforest.ensemble.ranking.lambdamart import LambdaMART
from depthforest.ensemble.ranking.rankfile import KIND as RANK_NETWORK
from depthforest.ensemble.ranking.rankfile import unpack_ranker
from depthforest.ensemble.treechecks import check_tree
from depthforest.ensemble.treemetadata import (
    MAX_FEATURES,
    pack_categories,
    pack_names,
    pack_parameters,
    pack_values,
    unpack_categories,
    unpack_classes,
    unpack_names,
    unpack_parameters,
    whole,
)
from depthforest.ensemble.trees import Tree
from depthforest.ensemble.treetables import MASK_WORDS
from depthforest.errors import DepthForestError, ModelError, UsageError
from depthforest.modelfile import Column, ModelFile, Schema, shown

KIND = "tree_ensemble"
FORMAT_VERSION = 1

MAX_TREES = 2**16
"""Boosting 31 classes for two thousand rounds fits; it bounds the time that checking takes."""

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
"""Of every ensemble. `ends` counts the nodes, rows of values and rows of masks up to the end of each tree."""

KEYS = ("categories", "classes", "estimator", "feature_names", "fitted", "n_features", "parameters")


@dataclass(frozen=True)
class Layout:
    """What the file of an estimator holds.

    Parameters
    ----------
    kind : type
        The estimator.
    schema : mapping of str to Column
    fitted : tuple of str
        Keys of the object `fitted`: what is known of the whole ensemble.
    """

    kind: Any
    schema: Schema
    fitted: tuple[str, ...] = ()

    @property
    def has_classes(self) -> bool:
        """Whether it predicts classes."""
        return issubclass(self.kind, ClassifierMixin)

    @property
    def is_forest(self) -> bool:
        """Whether there are many trees, each with a seed."""
        return issubclass(self.kind, BaseForest)

    @property
    def is_boosted(self) -> bool:
        """Whether the trees add up, round after round."""
        return issubclass(self.kind, BaseBoosting)

    @property
    def is_adaboost(self) -> bool:
        """Whether the trees vote, each with a weight."""
        return issubclass(self.kind, AdaBoostClassifier)

    @property
    def has_shares(self) -> bool:
        """Whether leaves hold shares of classes; else a number, as those of boosted classifiers do."""
        return self.has_classes and not self.is_boosted

    @property
    def is_tree(self) -> bool:
        """Whether it is a single tree."""
        return not (self.is_forest or self.is_boosted or self.is_adaboost)


LAYOUTS = {
    layout.kind.__name__: layout
    for layout in (
        Layout(DecisionTreeClassifier, TREE_COLUMNS),
        Layout(DecisionTreeRegressor, TREE_COLUMNS),
        Layout(RandomForestClassifier, TREE_COLUMNS | FOREST_COLUMNS, OF_CLASSES),
        Layout(RandomForestRegressor, TREE_COLUMNS | FOREST_COLUMNS | QUANTILE_COLUMNS, OF_NUMBERS),
        Layout(ExtraTreesClassifier, TREE_COLUMNS | FOREST_COLUMNS, OF_CLASSES),
        Layout(ExtraTreesRegressor, TREE_COLUMNS | FOREST_COLUMNS | QUANTILE_COLUMNS, OF_NUMBERS),
        Layout(GradientBoostingClassifier, TREE_COLUMNS | BOOST_COLUMNS, OF_BOOSTED),
        Layout(GradientBoostingRegressor, TREE_COLUMNS | BOOST_COLUMNS, OF_BOOSTED),
        Layout(NewtonBoostingClassifier, TREE_COLUMNS | BOOST_COLUMNS, OF_BOOSTED),
        Layout(NewtonBoostingRegressor, TREE_COLUMNS | BOOST_COLUMNS, OF_BOOSTED),
        Layout(LambdaMART, TREE_COLUMNS | BOOST_COLUMNS, OF_BOOSTED),
        Layout(AdaBoostClassifier, TREE_COLUMNS | ADABOOST_COLUMNS, OF_ADABOOST),
    )
}
"""By name: the only estimators that files can ask for."""


# -- writing -----------------------------------------------------------------------------------------------------------


def save_trees(estimator: Any, path: str | Path) -> None:
    """Write a fitted tree, forest, AdaBoost or boosted ensemble to a file; equal ones give equal bytes.

    Parameters
    ----------
    estimator : one of `LAYOUTS`
    path : str or Path
    """
    layout = LAYOUTS.get(type(estimator).__name__)
    if layout is None or layout.kind is not type(estimator):
        raise UsageError(f"only {', '.join(LAYOUTS)} can be saved, got {type(estimator).__name__}")
    check_is_fitted(estimator)
    trees, categories = _trees_of(estimator, layout)
    if len(trees) > MAX_TREES:
        raise UsageError(f"a file can hold {MAX_TREES} trees, got {len(trees)}")
    if layout.is_boosted:
        check_own_loss(estimator)
    content = {
        "estimator": type(estimator).__name__,
        "parameters": pack_parameters(estimator),
        "classes": pack_values("classes", estimator.classes_) if layout.has_classes else None,
        "n_features": estimator.n_features_in_,
        "feature_names": pack_names(getattr(estimator, "feature_names_in_", None)),
        "categories": pack_categories(categories),
        "fitted": {},
    }
    columns = _pack_trees(trees, _flags(estimator.n_features_in_, categories))
    if layout.is_forest:
        content["fitted"] = pack_forest(estimator, layout.fitted, columns)
    if layout.is_boosted:
        content["fitted"] = pack_boosted(estimator, columns)
    if layout.is_adaboost:
        content["fitted"] = pack_adaboost(estimator, columns)
    if "rows" in layout.schema:
        pack_quantiles(estimator, columns)
    modelfile.write(path, KIND, FORMAT_VERSION, content, columns)


def _trees_of(estimator: Any, layout: Layout) -> tuple[list[Tree], dict[int, npt.NDArray[Any]]]:
    """Return the trees, and the categories by column that they split."""
    if layout.is_adaboost:
        check_members(estimator)
        return trees_in_shared_terms(estimator)
    return [estimator.tree_] if layout.is_tree else estimator.trees_, estimator.categories_


def _flags(n_features: int, categories: dict[int, npt.NDArray[Any]]) -> Bools:
    """Return which columns are categorical, (n_features,)."""
    return np.isin(np.arange(n_features), list(categories))


def _pack_trees(trees: list[Tree], is_categorical: Bools) -> Columns:
    for number, tree in enumerate(trees):
        _check_numbered(tree, number, is_categorical)
    columns: Columns = {
        name: np.concatenate([getattr(tree, name) for tree in trees]) for name in (*NODE_COLUMNS, "values", "masks")
    }
    counts = [(tree.node_count, len(tree.values), len(tree.masks)) for tree in trees]
    columns["ends"] = np.cumsum(counts, axis=0, dtype=np.int64)
    return columns


# -- reading -----------------------------------------------------------------------------------------------------------


def load_trees(path: str | Path) -> Any:
    """Read a tree, a forest, an AdaBoost or a boosted ensemble from a file, and check everything.

    Parameters
    ----------
    path : str or Path
        What `save` of an estimator wrote.

    Returns
    -------
    estimator
        As it was saved: what it predicts is the same to the bit. `n_jobs` and `verbose` have their defaults.
    """
    file = modelfile.read(path)
    if file.kind == RANK_NETWORK:
        return unpack_ranker(file)
    name = file.content.get("estimator")
    layout = LAYOUTS.get(name) if isinstance(name, str) else None
    if layout is None and (file.kind, file.version) == (KIND, FORMAT_VERSION):
        raise ModelError(f"{file.name}: estimator must be one of {', '.join(LAYOUTS)}; got {shown(name)}")
    layout = layout or next(iter(LAYOUTS.values()))  # another kind or version: the next line says so
    file.expect(KIND, FORMAT_VERSION, layout.schema, KEYS)
    try:
        return _unpack(file, layout)
    except DepthForestError as error:
        raise ModelError(f"{file.name}: {modelfile.one_line(error)}") from None


def _unpack(file: ModelFile, layout: Layout) -> Any:
    content, columns = file.content, file.columns
    estimator = layout.kind(**unpack_parameters(content["parameters"], layout.kind))
    n_features = whole("n_features", content["n_features"], 1, MAX_FEATURES)
    estimator.n_features_in_ = n_features
    names = unpack_names(content["feature_names"], n_features)
    if names is not None:
        estimator.feature_names_in_ = names
    categories = unpack_categories(content["categories"], n_features)
    is_categorical = _flags(n_features, categories)
    if not layout.is_adaboost:  # there they are the members'
        estimator.categories_, estimator.is_categorical_ = categories, is_categorical
    if layout.has_classes:
        estimator.classes_ = unpack_classes(content["classes"])
    elif content["classes"] is not None:
        raise ModelError(f"classes must be null for {layout.kind.__name__}, got {shown(content['classes'])}")
    fitted = content["fitted"]
    if not isinstance(fitted, dict) or set(fitted) != set(layout.fitted):
        raise ModelError(f"fitted must be an object with {', '.join(layout.fitted) or 'no keys'}; got {shown(fitted)}")
    n_shared = len(estimator.classes_) if layout.has_shares else 0
    trees = _unpack_trees(columns, is_categorical, n_shared, layout)
    if layout.is_tree:
        estimator._set_tree(trees[0])
        return estimator
    if layout.is_adaboost:
        unpack_adaboost(estimator, trees, categories, fitted, columns)
        return estimator
    if layout.is_boosted:
        unpack_boosted(estimator, trees, fitted, columns)
    else:
        unpack_forest(estimator, trees, fitted, columns)
    if "rows" in layout.schema:
        trees = unpack_quantiles(estimator, trees, columns)
    estimator._set_trees(trees)
    return estimator


def _unpack_trees(columns: Columns, is_categorical: Bools, n_shared: int, layout: Layout) -> list[Tree]:
    """Return the trees, each with memory of its own, and each sound."""
    n_outputs = columns["values"].shape[1]
    if n_outputs != (n_shared or 1):
        raise ModelError(f"values must have {n_shared or 1} columns, got {n_outputs}")
    ends = columns["ends"]
    _check_ends(ends, (len(columns["feature"]), len(columns["values"]), len(columns["masks"])), layout, n_shared)
    none = np.empty(0, dtype=np.int32)
    trees = []
    begin = np.zeros(3, dtype=np.int64)
    for number, end in enumerate(ends):
        nodes, values, masks = (slice(*span) for span in zip(begin.tolist(), end.tolist(), strict=True))
        # copies: read-only columns would make kernels compile again
        own: dict[str, Any] = {name: columns[name][nodes].copy() for name in NODE_COLUMNS}
        tree = Tree(
            **own,
            values=columns["values"][values].copy(),
            masks=columns["masks"][masks].copy(),
            begins=none,
            rows=none,
            n_shared=n_shared,
        )
        _check_numbered(tree, number, is_categorical)
        trees.append(tree)
        begin = end
    return trees


def _check_ends(ends: Longs, lengths: tuple[int, int, int], layout: Layout, n_shared: int) -> None:
    """Raise ModelError unless the trees divide the columns among them."""
    most = 1 if layout.is_tree else MAX_TREES
    if not 1 <= len(ends) <= most:
        raise ModelError(f"{layout.kind.__name__} has 1 to {most} trees, got {len(ends)}")
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


load = load_trees
"""The name that users type: `depthforest.ensemble.load`."""
