"""Growth: how a tree is grown: scikit-learn's parameters, worked out for the data at hand."""

from __future__ import annotations

from dataclasses import dataclass

from depthforest.ensemble.growth import Rules

UNLIMITED = 2**31 - 1
"""A depth that no tree reaches."""


@dataclass(frozen=True)
class Growth:
    """How a tree is grown: scikit-learn's parameters, worked out for the data.

    Parameters
    ----------
    criterion : "gini", "entropy", "squared_error", "absolute_error" or "poisson"
    is_random : bool
        Random thresholds instead of the best.
    n_channels : int
        Classes, or 1 for a number; their sum over targets.
    max_features : int
        Columns looked at in a node.
    min_rows, min_weight : int, float
        Of a leaf.
    max_depth, min_samples_split, min_decrease
        When a node stays a leaf.
    max_leaves : int or None
        With it the tree is grown where it gains most.
    keeps_rows : bool
        Whether the tree remembers which rows its leaves hold.
    starts : tuple of int
        First channel of each target, and how many there are; empty for one target.
    signs : tuple of int
        For each column whether predictions rise with it (1), fall (-1), or either (0); empty for no constraint.
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
        """Whether the kernels for any objective are needed."""
        return self.criterion in ("absolute_error", "poisson") or len(self.starts) > 2 or len(self.signs) > 0

    @property
    def is_class(self) -> bool:
        """Whether targets are classes."""
        return self.criterion in ("gini", "entropy")

    def rules(self, *, is_even: bool) -> Rules:
        """Return what kernels need to judge splits of rows that all weigh 1, or not."""
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
        """Rows of values that pure leaves share."""
        return self.n_channels if self.is_class and len(self.starts) <= 2 else 0
