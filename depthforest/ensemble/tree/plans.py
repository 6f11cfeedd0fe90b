"""Growth: how to grow a tree: scikit-learn's parameters, resolved for the data."""

from __future__ import annotations

from dataclasses import dataclass

from depthforest.ensemble.growth import Rules

UNLIMITED = 2**31 - 1
"""A depth that no tree reaches."""


@dataclass(frozen=True)
class Growth:
    """How to grow a tree: scikit-learn's parameters, resolved for the data.

    Parameters
    ----------
    criterion : "gini", "entropy", "squared_error", "absolute_error" or "poisson"
    is_random : bool
        Random thresholds instead of the best.
    n_channels : int
        Number of classes, or 1 for regression; summed over targets.
    max_features : int
        Number of columns considered in a node.
    min_rows, min_weight : int, float
        Least rows and least weight of a leaf.
    max_depth, min_samples_split, min_decrease
        Conditions under which a node stays a leaf.
    max_leaves : int or None
        If given, the tree is grown best first.
    keeps_rows : bool
        Whether the tree records which rows its leaves hold.
    starts : tuple of int
        First channel of each target, and finally their total number; empty for one target.
    signs : tuple of int
        For each column whether predictions rise with it (1), fall (-1), or are unconstrained (0); empty without
        constraints.
    """

    criterion: str
    is_random: bool
    n_channels: int
    max_features: int
    min_rows: int = 1
    min_weight: float = 0.0
    max_depth: int = UNLIMITED
    min_samples_split: int = 2
    min_decrease: float = 0.0
    max_leaves: int | None = None
    keeps_rows: bool = False
    starts: tuple[int, ...] = ()
    signs: tuple[int, ...] = ()

    @property
    def is_general(self) -> bool:
        """Whether the kernels for general objectives are needed."""
        return self.criterion in ("absolute_error", "poisson") or len(self.starts) > 2 or len(self.signs) > 0

    @property
    def is_class(self) -> bool:
        """Whether the target is a class."""
        return self.criterion in ("gini", "entropy")

    def rules(self, *, is_even: bool) -> Rules:
        """Return what kernels need to evaluate splits; `is_even` says that all rows weigh 1."""
        return Rules(
            self.criterion == "entropy",
            self.criterion == "squared_error",
            is_even,
            self.n_channels,
            self.max_features,
            self.min_rows,
            float(self.min_weight),
        )

    @property
    def n_shared(self) -> int:
        """Number of rows of values that pure leaves share."""
        return self.n_channels if self.is_class and len(self.starts) <= 2 else 0
