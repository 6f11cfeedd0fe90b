"""Fitting of many members, for all ensembles: number of jobs, seeds, parallel work and its progress."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from multiprocessing import current_process
from typing import Any, TypeVar

import numpy as np
from joblib import effective_n_jobs, parallel_config
from joblib.parallel import get_active_backend
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed

from depthforest.base import Longs, UsageError, is_whole

_T = TypeVar("_T")
_R = TypeVar("_R")

Seeds = Longs

MAX_SEED = np.iinfo(np.int32).max


def job_count(n_jobs: int | None, *, in_threads: bool = False) -> int:
    """Return how many jobs run at once, as in scikit-learn: None for 1 (or joblib's setting), -1 for all cores.

    With `in_threads` the jobs will be threads. A worker process of `multiprocessing` may start those, although joblib
    would return 1 there and warn that no more processes can be started.
    """
    if n_jobs is not None and (not is_whole(n_jobs) or n_jobs == 0):
        raise UsageError(f"n_jobs must be None or a whole number other than 0 (-1 for all cores), got {n_jobs!r}")
    if in_threads and current_process().daemon:
        with parallel_config(backend="threading"):
            return int(effective_n_jobs(n_jobs))
    return int(effective_n_jobs(n_jobs))


def member_seeds(random_state: Any, n: int) -> Seeds:
    """Return a seed for each member, (n,) int64; the first ones do not depend on n, so that more can follow.

    `random_state` is None, a whole number, or numpy's RandomState or Generator, which advances with each call.
    """
    if isinstance(random_state, np.random.Generator):
        return random_state.integers(MAX_SEED, size=n, dtype=np.int64)
    return np.asarray(check_random_state(random_state).randint(MAX_SEED, size=n), dtype=np.int64)


def is_on_cluster() -> bool:
    """Tell whether joblib runs on a Dask cluster (`joblib.parallel_config("dask")`); trees then run there, too."""
    return type(get_active_backend()[0]).__name__ == "DaskDistributedBackend"


def in_parallel(function: Callable[[_T], _R], items: Iterable[_T], *, n_jobs: int | None = None) -> Iterator[_R]:
    """Yield `function(item)` in order, computed by joblib: for members of any library.

    Settings of joblib (`joblib.parallel_config`) and scikit-learn (`config_context`) reach the workers. Our own
    compiled members use `depthforest.base.threads` instead, without processes.
    """
    n = job_count(n_jobs)
    if n == 1:
        yield from map(function, items)
    else:
        # joblib's multiprocessing backend returns all results at once
        is_lazy = getattr(get_active_backend()[0], "supports_return_generator", False)
        calls = (delayed(function)(item) for item in items)
        yield from Parallel(n_jobs=n, return_as="generator" if is_lazy else "list")(calls)


def shown(results: Iterable[_R], *, n: int, title: str, verbose: int) -> Iterator[_R]:
    """Yield the results, with a progress bar on standard error if `verbose` is above 0."""
    if verbose <= 0:
        yield from results
        return
    from rich.console import Console
    from rich.progress import track

    yield from track(results, description=title, total=n, console=Console(stderr=True))
