"""Derived values: computed from an object once, and kept for as long as the object lives.

The cache belongs to the function, not to the object, so objects stay plain values that compare, copy and pickle.
Objects are distinguished by identity, because those with arrays cannot be hashed.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import update_wrapper
from typing import Generic, TypeVar

Owner = TypeVar("Owner")
Value = TypeVar("Value")


class Derived(Generic[Owner, Value]):
    """A function of one object whose results are kept; use it as a decorator.

    Any thread may call it. It uses no lock, because a fork could leave one locked. Threads that ask for the same new
    value at once may each compute it, but all get the same one.

    Parameters
    ----------
    compute : callable
        Computes the value of an object. The value must not refer to the object, or neither would ever be freed.
    """

    def __init__(self, compute: Callable[[Owner], Value]) -> None:
        self._compute = compute
        self._kept: dict[int, tuple[weakref.ref[Owner], Value]] = {}
        update_wrapper(self, compute)

    def __call__(self, owner: Owner) -> Value:
        """Return the object's value."""
        key = id(owner)  # unique while the entry lives: the weak reference dies before the object's memory is reused
        entry = self._kept.get(key)
        if entry is None:
            kept = self._kept  # the callback must not keep this object alive
            entry = kept.setdefault(key, (weakref.ref(owner, lambda _: kept.pop(key, None)), self._compute(owner)))
        return entry[1]

    def __len__(self) -> int:
        """Return for how many objects a value is kept."""
        return len(self._kept)
