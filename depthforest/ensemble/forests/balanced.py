"""Balanced random forest: each tree on a bootstrap with equal numbers of each class (Chen, Liaw and Breiman 2004)."""

from __future__ import annotations

from typing import Any

import numpy as np

from depthforest.base import Floats, Longs, UsageError
from depthforest.ensemble.forests.estimators import RandomForestClassifier
from depthforest.ensemble.tree import Table, row_count


class BalancedRandomForestClassifier(RandomForestClassifier):
    """Random forest whose trees each draw the same number of rows of every class, with replacement.

    For rare classes: each tree sees them as often as the others, and all rows of frequent classes are seen by some
    tree. Probabilities are those for equally frequent classes.

    Parameters
    ----------
    max_samples : int or float, optional
        Rows that a tree draws of each class, or their share of the rarest class; default: all rows of the rarest class.
    All others
        As in `RandomForestClassifier`; `bootstrap` must stay True.

    Attributes
    ----------
    All
        As in `RandomForestClassifier`.
    """

    def _fit(
        self,
        table: Table,
        channels: Any,
        targets: Floats,
        weights: Floats,
        n_channels: int,
        starts: tuple[int, ...] = (),
    ) -> None:
        if not self.bootstrap:
            raise UsageError("BalancedRandomForestClassifier draws rows: bootstrap must be True")
        if starts:
            raise UsageError(f"BalancedRandomForestClassifier takes one target per row, got {len(starts) - 1}")
        used = np.flatnonzero(weights)
        self._rows_of_classes = [used[channels[used] == c] for c in np.unique(channels[used])]
        super()._fit(table, channels, targets, weights, n_channels)

    def _draw_count(self, n_rows: int) -> int:  # noqa: ARG002 - rows of each class
        fewest = min(map(len, self._rows_of_classes))
        return fewest if self.max_samples is None else row_count("max_samples", self.max_samples, fewest, least=1)

    def _drawn_rows(self, t: int) -> Longs:
        rng = np.random.RandomState(self._seeds[t])
        return np.concatenate([own[rng.randint(0, len(own), self._n_drawn)] for own in self._rows_of_classes])
