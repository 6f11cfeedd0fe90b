"""Waits with a limit: processes, threads and clusters that end with the test that started them, however it ends.

`with subprocess.Popen(...)` waits at its end for a process that nobody stops if an assertion failed before: a run of
all tests then hangs. tests/project/test_waits.py looks for such waits.
"""

from __future__ import annotations

import contextlib
import subprocess
import threading
from collections.abc import Callable, Iterator
from typing import Any

SECONDS = 300.0
"""Of a wait that should last some seconds: a busy machine is slow, and some children compile first."""


@contextlib.contextmanager
def started(command: list[Any], *, seconds: float = SECONDS, **options: Any) -> Iterator[subprocess.Popen[Any]]:
    """Start a process and yield it; it is killed at the end, and after a time limit: then no read of it waits longer.

    Parameters
    ----------
    command : list
    seconds : float
    options
        Of `subprocess.Popen`.
    """
    process = subprocess.Popen([str(word) for word in command], **options)
    limit = threading.Timer(seconds, process.kill)
    limit.daemon = True
    limit.start()
    try:
        yield process
    finally:
        limit.cancel()
        process.kill()
        process.wait(60)
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()


def run_threads(*works: Callable[[], object], seconds: float = SECONDS) -> None:
    """Call functions at once, each in a thread of its own, and wait until all have ended."""
    threads = [threading.Thread(target=work, daemon=True) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(seconds)
    assert not any(thread.is_alive() for thread in threads), "a thread has not ended"


@contextlib.contextmanager
def local_cluster(**options: Any) -> Iterator[tuple[Any, Any]]:
    """Yield a Dask cluster in this process and a client of it; what does not close in a minute is left behind.

    Its own `close` waits without a limit for another `close` that failed. Workers in this process would count all of
    its memory as theirs, and pause for what other tests keep: unless a test gives them a limit, they do not.
    """
    import dask
    import distributed

    options = {"threads_per_worker": 1, "processes": False, "dashboard_address": ":0"} | options
    kinds = () if options["processes"] or "memory_limit" in options else ("target", "spill", "pause")
    with dask.config.set({f"distributed.worker.memory.{kind}": False for kind in kinds}):
        cluster = distributed.LocalCluster(**options)
    try:
        client = distributed.Client(cluster)
        try:
            yield cluster, client
        finally:
            with contextlib.suppress(TimeoutError):
                client.close(timeout=60)
    finally:
        with contextlib.suppress(TimeoutError):
            cluster.close(timeout=60)
