"""Warm start: which members of the last fit a new one keeps, and whether it may add to them."""

from __future__ import annotations

from typing import Any

import numpy as np

from depthforest.base import UsageError
from depthforest.ensemble.fitting.jobs import Seeds, member_seeds


def kept_members(estimator: Any, name: str) -> list[Any]:
    """Return the members of the last fit (the attribute `name`) if a warm start keeps them, or else a new list."""
    return list(getattr(estimator, name, ())) if estimator.warm_start else []


def check_count(n_wanted: int, n_kept: int, what: str) -> None:
    """Raise if a fit wants fewer trees, rounds or members than it would keep."""
    if n_wanted < n_kept:
        raise UsageError(
            f"n_estimators={n_wanted} is less than the {n_kept} {what} that warm_start keeps; raise it, or set "
            "warm_start=False"
        )


def known_values(estimator: Any) -> list[Any]:
    """Return the classes and categories behind the codes in trees: trees can only be added if these are the same."""
    categories = {column: values.tolist() for column, values in estimator.categories_.items()}
    return [[str(c) for c in getattr(estimator, "classes_", ())], categories]


def check_same(before: Any, now: Any, what: str) -> None:
    """Raise unless kept members were fitted on the same `what` as new ones would be."""
    if before != now:
        raise UsageError(f"warm_start needs the same {what} as before; set warm_start=False to start anew")


def continued_seeds(kept: Seeds | None, random_state: Any, n: int) -> Seeds:
    """Return at least n seeds: the kept ones, then those that follow from `random_state`.

    Members keep their seeds whatever `random_state` is now, because their draws are repeated from them.
    """
    if kept is None:
        return member_seeds(random_state, n)
    if n <= len(kept):
        return kept
    return np.concatenate((kept, member_seeds(random_state, n)[len(kept) :]))
