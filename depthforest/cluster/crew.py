"""Crew: a Dask client that waits for missing workers, reacts to Ctrl-C, and reports each failure in one line."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from depthforest.base import DepthForestError
from depthforest.cluster.versions import difference, own_versions

FAN_IN = 8
"""Results that one task of a reduction combines."""

RETRIES = 2
"""How often a task that raised an error is tried again."""

POLL_SECONDS = 0.2
"""Seconds between two checks for Ctrl-C while waiting."""

PATIENCE_SECONDS = 60.0
"""Seconds without any worker that runs tasks. A nanny restarts a worker in seconds, and a worker that Dask paused
because its memory was full continues once it has spilled results to disk."""


class ClusterError(DepthForestError, RuntimeError):
    """A cluster that cannot do what was asked."""


class Crew:
    """The workers of a Dask cluster.

    Parameters
    ----------
    client : distributed.Client
        The user's; it stays open.
    check : callable
        Called while waiting; whatever it raises stops the wait.
    patience : float
        Seconds that there may be no worker that runs tasks.
    """

    def __init__(
        self,
        client: Any,
        check: Callable[[], object] = lambda: None,
        *,
        patience: float = PATIENCE_SECONDS,
    ) -> None:
        if not callable(getattr(client, "submit", None)) or not callable(getattr(client, "scheduler_info", None)):
            raise ClusterError(f"client must be a dask.distributed.Client, got {type(client).__name__}")
        self.client, self._check, self._patience = client, check, patience

    def workers(self) -> dict[str, dict[str, Any]]:
        """Return what the scheduler knows of its workers, by address."""
        try:
            return dict(self.client.scheduler_info(n_workers=-1)["workers"])
        except Exception as error:  # a broken connection can raise anything
            raise ClusterError(
                f"the cluster has gone: its scheduler does not answer ({type(error).__name__})"
            ) from None

    def n_threads(self) -> int:
        """Return the threads of all workers; 1 while there are none."""
        return max(1, sum(int(its["nthreads"]) for its in self.workers().values()))

    def memory_bytes(self) -> int | None:
        """Return the memory that the smallest worker may use for each of its threads; None if it has no limit."""
        limits = [its["memory_limit"] // max(1, its["nthreads"]) for its in self.workers().values()]
        limits = [limit for limit in limits if limit]
        return min(limits) if limits else None

    def wait_for_workers(self) -> None:
        """Wait until there is a worker, and check that all have the same versions as this process."""
        began = time.monotonic()
        while not self.workers():
            self._check()
            if time.monotonic() - began > self._patience:
                self._give_up()
            time.sleep(POLL_SECONDS)
        here = own_versions()
        for address, there in self.client.run(own_versions, on_error="return").items():
            if isinstance(there, ImportError):
                raise ClusterError(f"worker {address} lacks what is needed ({there}): install depthforest there")
            # a worker that is gone by now did not answer; each task checks again
            if isinstance(there, dict) and (differing := difference(here, there)):
                raise ClusterError(
                    f"worker {address} has {differing}; results would differ: install the same versions there"
                )

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Submit a pure function of small values and other futures; return its future."""
        key = f"{function.__name__.strip('_')}-{uuid.uuid4().hex}"
        try:
            return self.client.submit(checked, own_versions(), function, *arguments, key=key, retries=RETRIES)
        except Exception as error:  # a closed client, or arguments that cannot be sent
            raise _told(error) from error

    def reduce(self, function: Callable[..., Any], futures: Sequence[Any]) -> Any:
        """Return the future of `function(a, b, ...)` over all futures, in trees of `FAN_IN`."""
        futures = list(futures)
        while len(futures) > 1:
            groups = [futures[i : i + FAN_IN] for i in range(0, len(futures), FAN_IN)]
            futures = [group[0] if len(group) == 1 else self.submit(function, *group) for group in groups]
        return futures[0]

    def gather(self, futures: Sequence[Any]) -> list[Any]:
        """Return the results of futures, in order; failures are raised as a one-line `ClusterError`."""
        self._wait(futures)
        try:
            return list(self.client.gather(list(futures)))
        except DepthForestError:
            raise
        except Exception as error:
            raise _told(error) from error

    def result(self, future: Any) -> Any:
        """Return the result of one future."""
        return self.gather([future])[0]

    def _wait(self, futures: Iterable[Any]) -> None:
        left, seen = set(futures), time.monotonic()
        while True:
            left = {future for future in left if not future.done()}
            if not left:
                return
            self._check()
            if self.client.status not in ("running", "connecting"):
                raise ClusterError("the cluster has gone: its scheduler closed the connection")
            if any(its.get("status") != "paused" for its in self.workers().values()):
                seen = time.monotonic()
            elif time.monotonic() - seen > self._patience:
                self._give_up()
            _pause(left)

    def _give_up(self) -> None:
        if self.workers():
            raise ClusterError(
                f"all workers have been paused for {self._patience:.0f} s, because their memory is full; "
                "give them more, or start fewer workers on each machine"
            )
        raise ClusterError(
            f"the cluster has had no worker for {self._patience:.0f} s; start some, or go on without the cluster"
        )


def _pause(futures: set[Any]) -> None:
    """Wait a moment, or until one of the futures is done."""
    from distributed import wait

    try:
        wait(futures, timeout=POLL_SECONDS, return_when="FIRST_COMPLETED")
    except Exception:  # a timeout, or a canceled future, which `gather` reports
        time.sleep(0.01)


def checked(versions: dict[str, str], function: Callable[..., Any], *arguments: Any) -> Any:
    """Run a task on a worker if it has the client's versions: one that joined later was not checked before."""
    if differing := difference(versions, own_versions()):
        raise ClusterError(f"a worker has {differing}; results would differ: install the same versions there")
    try:
        return function(*arguments)
    except DepthForestError as error:
        raise type(error)(*error.args, _place()) from None
    except MemoryError:
        raise ClusterError(
            f"too little memory{_place()}; start workers with more memory, or with fewer threads each"
        ) from None
    except OSError as error:
        raise ClusterError(f"{error}{_place()}") from None


def _place() -> str:
    """Return which worker this is, for the end of a message."""
    from distributed import get_worker

    try:
        return f" (on worker {get_worker().address})"
    except ValueError:
        return ""


def _told(error: Exception) -> ClusterError:
    """Return what went wrong, in one line that says what to do."""
    name = type(error).__name__
    if name == "KilledWorker":
        return ClusterError(
            "workers died several times at the same task, mostly for lack of memory: start workers with more memory or "
            "fewer threads each"
        )
    if "Cancelled" in name or "Closed" in name:
        return ClusterError("the cluster has gone: its scheduler forgot what it was doing")
    return ClusterError(f"a task failed {1 + RETRIES} times: {name}: {error}")
