"""Interaction constraints: which columns may occur together on a path from the root of a tree."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from depthforest.base import Bytes, UsageError, is_whole

PAIRWISE, SINGLE = "pairwise", "no_interactions"


def groups_of(estimator: Any) -> Bytes:
    """Return a mask of the columns of each group, (n_groups, n_features) uint8; no groups without constraints.

    `interaction_cst` is None, "pairwise", "no_interactions", or groups of column numbers or names. As in scikit-learn,
    the columns that are in no group form one more group.
    """
    wanted, n_features = estimator.interaction_cst, estimator.n_features_in_
    if wanted is None:
        return np.zeros((0, n_features), dtype=np.uint8)
    if isinstance(wanted, str) and wanted == SINGLE:
        return np.eye(n_features, dtype=np.uint8)
    groups: list[Any]
    if isinstance(wanted, str) and wanted == PAIRWISE:
        groups = list(combinations(range(n_features), 2)) or [(0,)]
    elif isinstance(wanted, (list, tuple)) and all(isinstance(group, (list, tuple, set)) for group in wanted):
        groups = list(wanted)
    else:
        raise UsageError(
            f"interaction_cst must be '{PAIRWISE}', '{SINGLE}' or a list of groups of columns, got {wanted!r}"
        )
    names = list(getattr(estimator, "feature_names_in_", ()))
    members = np.zeros((len(groups), n_features), dtype=np.uint8)
    for number, group in enumerate(groups):
        for column in group:
            members[number, _place(column, names, n_features)] = 1
    rest = (members.max(axis=0) == 0).astype(np.uint8)
    return np.vstack((members, rest)) if rest.any() else members


def _place(column: Any, names: list[Any], n_features: int) -> int:
    if isinstance(column, str):
        if column in names:
            return names.index(column)
        raise UsageError(
            f"interaction_cst names {column!r}, which is not a column of X"
            + ("" if names else "; X has no column names: pass a DataFrame, or numbers of columns")
        )
    if not is_whole(column) or not 0 <= column < n_features:
        raise UsageError(f"interaction_cst must name columns from 0 to {n_features - 1}, got {column!r}")
    return int(column)
