"""AdaBoost files: the contents besides the trees: votes, errors, seeds, the template of the members.

`tree.store` writes and reads the trees; `estimator` calls these functions. Members are fitted independently, and drawn
rows may lack classes and categories, so a file stores every tree with the classes and categories of all members.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from depthforest.base import Column, ModelError, UsageError, shown
from depthforest.ensemble.adaboost.rounds import chance_error
from depthforest.ensemble.fitting import MAX_SEED
from depthforest.ensemble.growth import MASK_WORDS
from depthforest.ensemble.tree import (
    LARGEST,
    SHARED_CODE,
    TREE_COLUMNS,
    Codec,
    Columns,
    DecisionTreeClassifier,
    Layout,
    Tree,
    categorical_flags,
    pack_parameters,
    unpack_parameters,
    whole,
)

ADABOOST_COLUMNS = {
    "seeds": Column("int32", ("trees",)),
    "estimator_weights": Column("float64", ("trees",)),
    "estimator_errors": Column("float64", ("trees",)),
    "error_bound": Column("float64", ("bounds",)),
}
"""Columns by round. `seeds` are the members' `random_state`; bounds exist for two classes only."""

OF_ADABOOST = ("framed", "member")
"""Keys of the metadata `fitted`."""

WORD_BITS = 32

Array = npt.NDArray[Any]


# -- the parameter `estimator` -----------------------------------------------------------------------------------------


def pack_member(name: str, member: Any) -> dict[str, Any]:
    """Return the parameters of an unfitted tree as a JSON object; UsageError for anything else."""
    if type(member) is not DecisionTreeClassifier:
        raise UsageError(
            f"a file can hold only None or a DecisionTreeClassifier of depthforest.ensemble as {name}, got "
            f"{type(member).__name__}; set_params({name}=...) before saving"
        )
    return pack_parameters(member)


def unpack_member(name: str, content: Any) -> DecisionTreeClassifier:
    """Return the unfitted tree that `pack_member` stored."""
    try:
        return DecisionTreeClassifier(**unpack_parameters(content, DecisionTreeClassifier))
    except ModelError as error:
        raise ModelError(f"{name}: {error}") from None


ADABOOST = Layout(
    TREE_COLUMNS | ADABOOST_COLUMNS,
    OF_ADABOOST,
    has_classes=True,
    has_shares=True,
    codecs={"estimator": Codec(pack_member, unpack_member)},
)


# -- writing -----------------------------------------------------------------------------------------------------------


def check_members(estimator: Any) -> None:
    """Raise UsageError unless all members are decision trees of this package."""
    for member in (estimator.estimator_, *estimator.estimators_):
        if type(member) is not DecisionTreeClassifier:
            kind = f"{type(member).__module__}.{type(member).__name__}"
            raise UsageError(
                "AdaBoost can only be saved if its members are DecisionTreeClassifier of depthforest.ensemble, got "
                f"{kind}: files hold no code; use pickle"
            )


def trees_in_shared_terms(estimator: Any) -> tuple[list[Tree], dict[int, Array]]:
    """Return the members' trees with the classes and categories of the ensemble, and these categories by column.

    Predictions do not change: unknown classes have no share, and unknown categories follow the missing values.
    """
    members = estimator.estimators_
    categories = {
        column: _union(column, [member.categories_[column] for member in members]) for column in members[0].categories_
    }
    trees = []
    for member in members:
        tree = _with_classes(member.tree_, member.classes_, estimator.n_classes_)
        trees.append(_with_categories(tree, member.categories_, categories))
    return trees, categories


def _union(column: int, lists: Sequence[Array]) -> Array:
    """Return the union of the members' categories of a column, ascending."""
    if all(np.array_equal(lists[0], other) for other in lists):
        return lists[0]
    union = np.unique(np.concatenate([known for known in lists if len(known)]))
    known = set(union.tolist())
    if len(union) > SHARED_CODE or not all(value in known for values in lists for value in values.tolist()):
        raise UsageError(
            f"members that know different categories of a column can be saved with at most {SHARED_CODE}, all text or "
            f"all numbers; they know {len(union)} of column {column}"
        )
    return union


def _with_classes(tree: Tree, classes: npt.NDArray[np.intp], n_classes: int) -> Tree:
    """Return a tree that has some of the classes (their codes) as a tree of all classes."""
    n_own = len(classes)
    if n_own == n_classes:
        return tree
    values = np.zeros((len(tree.own_values), n_classes))
    values[:, classes] = tree.own_values
    rows = np.concatenate((classes, n_classes + np.arange(len(values)))).astype(np.int32)
    child = tree.child.copy()
    child[tree.is_leaf] = rows[child[tree.is_leaf]]
    return replace(tree, child=child, own_values=values, n_shared=n_classes)


def _with_categories(tree: Tree, own: Mapping[int, Array], shared: Mapping[int, Array]) -> Tree:
    """Return a tree of its own categories as a tree of all categories."""
    if all(len(own[column]) == len(shared[column]) for column in shared):
        return tree
    bits = np.arange(MASK_WORDS * WORD_BITS)
    is_left = tree.masks[:, bits // WORD_BITS] >> (bits % WORD_BITS).astype(np.uint32) & 1
    goes_left = np.zeros_like(is_left)
    for node in np.flatnonzero(tree.mask >= 0):
        row, column = tree.mask[node], int(tree.feature[node])
        side = int(tree.missing_go_to_left[node])
        code_of = {value: code for code, value in enumerate(own[column].tolist())}
        for code, value in enumerate(shared[column].tolist()):
            goes_left[row, code] = is_left[row, code_of[value]] if value in code_of else side
    words = goes_left.reshape(-1, MASK_WORDS, WORD_BITS) << np.arange(WORD_BITS, dtype=np.uint32)
    return replace(tree, masks=words.sum(axis=2, dtype=np.uint32))


def pack_adaboost(estimator: Any, columns: Columns) -> dict[str, Any]:
    """Add the columns of an AdaBoost, and return its other fitted values."""
    bound = estimator._error_bound
    seeds = [whole("random_state of a member", member.random_state, 0, MAX_SEED) for member in estimator.estimators_]
    columns.update(
        seeds=np.array(seeds, dtype=np.int32),
        estimator_weights=np.asarray(estimator.estimator_weights_, dtype=np.float64),
        estimator_errors=np.asarray(estimator.estimator_errors_, dtype=np.float64),
        error_bound=np.empty(0) if bound is None else np.asarray(bound, dtype=np.float64),
    )
    _check(len(seeds), estimator.n_classes_, columns)  # as when loading, so that every saved file can be loaded
    return {"framed": bool(estimator._framed), "member": pack_member("estimator_", estimator.estimator_)}


# -- reading -----------------------------------------------------------------------------------------------------------


def unpack_adaboost(
    estimator: Any, trees: list[Tree], categories: dict[int, Array], fitted: dict[str, Any], columns: Columns
) -> None:
    """Set the members of an AdaBoost and its fitted values."""
    n_classes = len(estimator.classes_)
    _check(len(trees), n_classes, columns)
    if not isinstance(fitted["framed"], bool):
        raise ModelError(f"framed must be true or false, got {shown(fitted['framed'])}")
    estimator.n_classes_ = n_classes
    estimator.estimator_ = unpack_member("member", fitted["member"])
    estimator._framed = fitted["framed"]
    estimator.estimator_weights_ = columns["estimator_weights"].copy()
    estimator.estimator_errors_ = columns["estimator_errors"].copy()
    estimator._error_bound = columns["error_bound"].copy() if n_classes == 2 else None
    estimator.estimators_ = [
        _member(estimator, seed, tree, categories) for seed, tree in zip(columns["seeds"].tolist(), trees, strict=True)
    ]


def _member(estimator: Any, seed: int, tree: Tree, categories: dict[int, Array]) -> DecisionTreeClassifier:
    member = DecisionTreeClassifier(**{**estimator.estimator_.get_params(), "random_state": seed})
    member.n_features_in_ = estimator.n_features_in_
    if estimator._framed and hasattr(estimator, "feature_names_in_"):
        member.feature_names_in_ = estimator.feature_names_in_
    member.categories_ = categories
    member.is_categorical_ = categorical_flags(member.n_features_in_, categories)
    member.classes_ = np.arange(estimator.n_classes_)
    member._set_tree(tree)
    return member


# -- both --------------------------------------------------------------------------------------------------------------


def _check(n_trees: int, n_classes: int, columns: Columns) -> None:
    """Raise ModelError unless the columns have a valid value for every tree."""
    seeds, weights, errors, bound = (columns[name] for name in ADABOOST_COLUMNS)
    if n_classes < 2:
        raise ModelError(f"AdaBoost has at least two classes, got {n_classes}")
    if not len(weights) == len(errors) == n_trees:
        raise ModelError(
            f"estimator_weights and estimator_errors must be {n_trees}, one for each tree; got {len(weights)} and "
            f"{len(errors)}"
        )
    if (seeds < 0).any():
        raise ModelError(f"seeds must be whole numbers from 0, got {shown(seeds.tolist())}")
    if not ((weights > 0) & (weights <= LARGEST)).all():  # sums of votes stay finite; False for NaN
        raise ModelError(f"estimator_weights must be numbers above 0, up to {LARGEST:g}; got {shown(weights.tolist())}")
    most = chance_error(n_classes)
    if not ((errors >= 0) & (errors < most)).all() or not errors[:-1].all():
        raise ModelError(
            f"estimator_errors must be numbers from 0 and below {most:.3g}, 0 only in the last round; got "
            f"{shown(errors.tolist())}"
        )
    n_bounds = n_trees if n_classes == 2 else 0
    if len(bound) != n_bounds or (bound < 0).any():  # NaN: no bound, because of a huge learning rate
        raise ModelError(
            f"error_bound must be {n_bounds} numbers from 0 for {n_classes} classes and {n_trees} trees; got "
            f"{shown(bound.tolist())}"
        )
