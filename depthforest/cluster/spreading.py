"""Spreading: a function over frames, in order, on the threads of this process or on a cluster."""

from __future__ import annotations

import contextlib
import hashlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from functools import lru_cache
from itertools import islice
from typing import Any, TypeVar

from depthforest.base import map_in_order
from depthforest.cluster.crew import ClusterError, Crew

BLOCK = 16
"""Items per task."""

AHEAD = 3
"""Tasks in flight for each thread of the cluster."""

ATTEMPTS = 3
"""How often everything is sent when all workers that had it are gone."""

_T = TypeVar("_T")
_R = TypeVar("_R")

_crew: ContextVar[Crew | None] = ContextVar("crew", default=None)


@contextlib.contextmanager
def using(client: Any, check: Callable[[], object] = lambda: None) -> Iterator[Crew | None]:
    """Let `spread` run on a cluster inside the block; with None, nothing changes."""
    if client is None:
        yield None
        return
    crew = Crew(client, check)
    crew.wait_for_workers()
    token = _crew.set(crew)
    try:
        yield crew
    finally:
        _crew.reset(token)


def spread(
    function: Callable[[_T], _R], items: Iterable[_T], *, threads: int | None = None, block: int = BLOCK
) -> Iterator[_R]:
    """Yield `function(item)` for every item, in order, on threads or, inside `using`, on a cluster.

    On a cluster, the function must be pure, and the objects that it refers to are sent to the workers. Data sets are
    sent as paths; workers read the frames themselves. A task has `block` items.
    """
    crew = _crew.get()
    if crew is None:
        yield from map_in_order(function, items, threads=threads)
        return
    import cloudpickle

    blob = cloudpickle.dumps(function)
    most = AHEAD * crew.n_threads()
    waiting: deque[tuple[tuple[_T, ...], Any]] = deque()
    sent = crew.client.scatter(blob, broadcast=True, hash=False)
    for some in _blocks(items, block):
        waiting.append((some, crew.submit(_run_block, sent, some)))
        if len(waiting) > most:
            sent = yield from _first(crew, blob, sent, waiting)
    while waiting:
        sent = yield from _first(crew, blob, sent, waiting)


def _blocks(items: Iterable[_T], n: int) -> Iterator[tuple[_T, ...]]:
    left = iter(items)
    while block := tuple(islice(left, n)):
        yield block


def _first(crew: Crew, blob: bytes, sent: Any, waiting: deque[tuple[Any, Any]]) -> Any:
    """Yield the results of the first block; return the function as it was sent last."""
    for attempt in range(ATTEMPTS):
        try:
            results = crew.result(waiting[0][1])
            break
        except ClusterError:
            # the function itself may be lost with the workers that had it
            if attempt == ATTEMPTS - 1 or waiting[0][1].status == "error":
                raise
            crew.wait_for_workers()
            sent = crew.client.scatter(blob, broadcast=True, hash=False)
            again = [(block, crew.submit(_run_block, sent, block)) for block, _ in waiting]
            waiting.clear()
            waiting.extend(again)
    waiting.popleft()
    yield from results
    return sent


def _run_block(blob: bytes, items: tuple[Any, ...]) -> list[Any]:
    function = _unpickled(hashlib.sha256(blob).digest(), _Blob(blob))
    return [function(item) for item in items]


class _Blob:
    """Bytes that compare equal to any other; a digest beside them identifies them."""

    def __init__(self, content: bytes) -> None:
        self.content = content

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Blob)

    def __hash__(self) -> int:
        return 0


@lru_cache(maxsize=2)
def _unpickled(_digest: bytes, blob: _Blob) -> Callable[[Any], Any]:
    import cloudpickle

    function: Callable[[Any], Any] = cloudpickle.loads(blob.content)
    return function
