"""The ranking loss: lambdas as the derivatives for boosting, evaluated by NDCG."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from depthforest.base import Floats, run_parts
from depthforest.ensemble.boosting import HESSIAN_FLOOR, Loss, Targets
from depthforest.ensemble.ranking.groups import Starts, gains_of
from depthforest.ensemble.ranking.lambdas import METRICS, PairTargets, fill_lambdas
from depthforest.ensemble.ranking.metrics import dcg_by_query

LEAST_ROWS = 8192
"""Documents per thread: with fewer, handing over work costs more than it saves."""


class RankingLoss(Loss):
    """Lambdas of the queries of some rows; they are not the gradient of any function.

    Parameters
    ----------
    metric : str
        The metric in the weights of pairs, which is also the name of the loss.
    targets : PairTargets, optional
        Data of the rows; without it only the name is available.
    weights : (n_queries,) float64, optional
        Weights of queries in `value`; gradients are not weighted.
    eval_at : int
        Cutoff of the NDCG.
    gain : str
        Gain of that NDCG.
    threads : int
        Number of threads over which queries are spread.
    """

    has_hessian = True
    is_by_row = False

    def __init__(
        self,
        metric: str,
        targets: PairTargets | None = None,
        *,
        weights: Floats | None = None,
        eval_at: int = 10,
        gain: str,
        threads: int = 1,
    ) -> None:
        self.name = metric
        self._targets, self._eval_at, self._gain, self._threads = targets, eval_at, gain, threads
        self._weights = weights

    @property
    def targets(self) -> PairTargets:
        """The data of the rows' queries."""
        if self._targets is None:
            raise ValueError(f"the loss {self.name} was made without rows; one of {METRICS}")
        return self._targets

    @cached_property
    def _known(self) -> tuple[Floats, Floats, Starts]:
        """Constants of the evaluation: gains of the rows, the ideal DCG and the sizes of queries."""
        starts, gains = self.targets.starts, gains_of(self.targets.grades, self._gain)
        return gains, dcg_by_query(gains, gains, starts, self._eval_at, "usual", False), np.diff(starts)

    @cached_property
    def _blocks(self) -> list[Starts]:
        """Blocks of query indices, one per thread; one block if there are few documents."""
        n_queries, n_rows = self.targets.n_queries, len(self.targets.grades)
        n = min(self._threads, n_queries, max(1, n_rows // LEAST_ROWS))
        return np.array_split(np.arange(n_queries, dtype=np.int64), n)

    def value(self, y: Targets, raw: Floats) -> Floats:
        """Return 1 - NDCG of every row's query, weighted so that the (weighted) mean over rows is that over queries."""
        gains, ideal, sizes = self._known
        found = dcg_by_query(gains, raw, self.targets.starts, self._eval_at, "usual", True)
        ndcg = np.divide(found, ideal, out=np.ones(len(ideal)), where=ideal > 0)  # 1 if there are no relevant documents
        if self._weights is None:
            return np.repeat((1.0 - ndcg) * len(y) / (len(sizes) * sizes), sizes)
        share = (self._weights * sizes).sum() / self._weights.sum()
        return np.repeat((1.0 - ndcg) * share / sizes, sizes)

    def derivatives(self, y: Targets, raw: Floats, gradient: Floats, hessian: Floats | None) -> None:  # noqa: ARG002
        """Fill the lambdas and their derivatives."""
        if hessian is None:
            hessian = np.empty(len(raw))

        def fill(block: int) -> None:
            fill_lambdas(self.targets, raw, gradient, hessian, self._blocks[block])

        run_parts(fill, len(self._blocks))
        np.maximum(hessian, HESSIAN_FLOOR, out=hessian)

    def start(self, y: Targets, weights: Floats) -> Floats:  # noqa: ARG002 - as in the base
        """Return 0, because a constant does not rank."""
        return np.zeros(1)
