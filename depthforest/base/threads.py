"""The one place that spreads work over threads. Kernels release the GIL, so blocks of work run in parallel here.

The pool is made when it is first used and made again after a fork, whose child has none of its parent's threads. Work
that is started from a worker runs in that worker: waiting for other workers of a full pool could deadlock.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TypeVar

from depthforest.base.checks import is_whole
from depthforest.base.errors import UsageError

_T = TypeVar("_T")
_R = TypeVar("_R")

_PATIENCE = 0.1
"""Seconds. An endless wait would miss a Ctrl-C that the system gave to another thread, and every one on Windows."""

_own = threading.local()
"""Thread-local: `is_worker` is set in threads of the pools."""

_pools: dict[int, ThreadPoolExecutor] = {}
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pools.clear)


def thread_count(requested: int | None = None) -> int:
    """Return how many threads to use: as requested, or one for each core that this process may run on."""
    if requested is None:
        if hasattr(os, "sched_getaffinity"):
            return len(os.sched_getaffinity(0))
        return os.cpu_count() or 1
    if not is_whole(requested, 1, 1024):
        raise UsageError(f"threads must be a whole number from 1 to 1024, got {requested!r}")
    return int(requested)


def map_in_order(function: Callable[[_T], _R], items: Iterable[_T], *, threads: int | None = None) -> Iterator[_R]:
    """Yield `function(item)` for every item, in order, computed on several threads.

    Items are taken a few ahead of the results, so that an endless iterable works and memory stays flat. The first
    exception is raised where its result would have been. With one thread, and in a nested call, the caller's own thread
    does the work.
    """
    n = thread_count(threads)
    if n == 1 or _is_worker():
        yield from map(function, items)
        return
    pool = _pool(n)
    waiting: deque[Future[_R]] = deque()
    try:
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) > 2 * n:
                yield _result(waiting.popleft())
        while waiting:
            yield _result(waiting.popleft())
    finally:
        for future in waiting:
            future.cancel()


def run_parts(function: Callable[[int], object], n: int) -> None:
    """Call `function(part)` for the parts 0 to n - 1 in parallel, the first in the caller's own thread.

    For work of some tenths of a millisecond, where dispatch matters: one part fewer is dispatched, and the caller need
    not be woken if it ends last.
    """
    if _is_worker():
        for part in range(n):
            function(part)
        return
    futures = [_pool(n).submit(function, part) for part in range(1, n)]
    try:
        function(0)
    finally:
        for future in futures:
            _result(future)


def _result(future: Future[_R]) -> _R:
    while not future.done():
        wait((future,), timeout=_PATIENCE)
    return future.result()


def _is_worker() -> bool:
    return getattr(_own, "is_worker", False)


def _become_worker() -> None:
    _own.is_worker = True


def _pool(n: int) -> ThreadPoolExecutor:
    if n not in _pools:
        _pools[n] = ThreadPoolExecutor(n, thread_name_prefix="depthforest", initializer=_become_worker)
    return _pools[n]
