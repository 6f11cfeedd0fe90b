"""Sequences: an ensemble as the list of its members, which can be counted, picked by number and gone through."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


class MemberSequence:
    """Base of ensembles that have their fitted members in `estimators_`."""

    estimators_: Any

    def __bool__(self) -> bool:
        return True  # also before it is fitted: `estimator or default` asks whether there is one

    def __len__(self) -> int:
        return len(getattr(self, "estimators_", ()))

    def __getitem__(self, index: Any) -> Any:
        return self.estimators_[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.estimators_)
