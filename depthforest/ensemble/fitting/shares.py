"""Shares of classes, and the classes they imply, for one target or several.

With several targets, `classes` is a list with the classes of each, and the shares of all targets are concatenated.
`starts` holds the first column of each target, and then their total number; it is empty for one target.
"""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from depthforest.base import Floats, Ints

Labels = npt.NDArray[Any]
Classes = Labels | list[Labels]


def coded_classes(labels: Labels) -> tuple[Any, Ints]:
    """Return the sorted classes and the code of every row's class, (n,); with several targets (n, T)."""
    if labels.ndim == 1:
        classes, codes = np.unique(labels, return_inverse=True)
        return classes, codes.astype(np.int32)
    found = [np.unique(column, return_inverse=True) for column in labels.T]
    return [classes for classes, _ in found], np.stack([codes for _, codes in found], axis=1).astype(np.int32)


def same_classes(some: Classes, others: Classes) -> bool:
    """Tell whether two sets of classes are equal, for all targets."""
    lists = [own if isinstance(own, list) else [own] for own in (some, others)]
    return len(lists[0]) == len(lists[1]) and all(map(np.array_equal, *lists))


def starts_of(sizes: list[int]) -> tuple[int, ...]:
    """Return `starts` for targets with these numbers of classes; empty for one target."""
    return tuple(accumulate(sizes, initial=0)) if len(sizes) > 1 else ()


def class_starts(classes: Classes) -> tuple[int, ...]:
    """Return `starts` for targets with these classes; empty for one target."""
    return starts_of([len(own) for own in classes]) if isinstance(classes, list) else ()


def class_count(classes: Classes) -> Any:
    """Return the number of classes; a list with several targets."""
    return [len(own) for own in classes] if isinstance(classes, list) else len(classes)


def shares_by_target(shares: Floats, classes: Classes) -> Any:
    """Return shares of classes, (n, n_classes); with several targets a list of such arrays."""
    if not isinstance(classes, list):
        return shares
    return [shares[:, first:end] for first, end in pairwise(class_starts(classes))]


def stacked_shares(shares: Floats, classes: Classes) -> Floats:
    """Return shares of classes, (n, n_classes); with several targets (n, most classes, T)."""
    if not isinstance(classes, list):
        return shares
    out = np.zeros((len(shares), max(map(len, classes)), len(classes)))
    for t, own in enumerate(shares_by_target(shares, classes)):
        out[:, : own.shape[1], t] = own
    return out


def logarithms(shares: Any) -> Any:
    """Return the logarithms of what `shares_by_target` returns."""
    with np.errstate(divide="ignore"):
        return [np.log(own) for own in shares] if isinstance(shares, list) else np.log(shares)


def best_codes(shares: Floats, starts: tuple[int, ...]) -> npt.NDArray[np.intp]:
    """Return the code of the class with the largest share, the first if equal: (n,), or (n, T)."""
    if not starts:
        return np.asarray(shares.argmax(axis=1))
    return np.stack([shares[:, first:end].argmax(axis=1) for first, end in pairwise(starts)], axis=1)


def best_classes(shares: Floats, classes: Classes) -> Labels:
    """Return the class with the largest share, the first if equal: (n,), or (n, T)."""
    codes = best_codes(shares, class_starts(classes))
    return labels_of(codes, classes)


def labels_of(codes: npt.NDArray[Any], classes: Classes) -> Labels:
    """Return the classes with these codes, (n,), or (n, T)."""
    if not isinstance(classes, list):
        return np.asarray(classes.take(codes))
    columns = [own.take(codes[:, t]) for t, own in enumerate(classes)]
    return np.stack(columns, axis=1)
