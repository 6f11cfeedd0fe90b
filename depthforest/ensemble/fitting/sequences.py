"""Sequences: an ensemble as the sequence of its members: length, indexing, iteration."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


class MemberSequence:
    """Base of ensembles with fitted members in `estimators_`."""

    estimators_: Any

    def __bool__(self) -> bool:
        return True  # even if not fitted, so that `estimator or default` works

    def __len__(self) -> int:
        return len(getattr(self, "estimators_", ()))

    def __getitem__(self, index: Any) -> Any:
        return self.estimators_[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.estimators_)
