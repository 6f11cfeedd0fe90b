"""Connecting: `--dask ADDRESS|FILE|local` to a client, with one clear line where there is no cluster."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from depthforest.base import thread_count
from depthforest.cluster.crew import ClusterError

CONNECT_SECONDS = 10.0


@contextlib.contextmanager
def connect(address: str, *, timeout: float = CONNECT_SECONDS) -> Iterator[Any]:
    """Open a client of a Dask cluster, and close it at the end of the block.

    Parameters
    ----------
    address : str
        `tcp://HOST:PORT` or `tls://HOST:PORT` of a scheduler; a scheduler file (`.json`); or "local": a worker of one
        thread for each core of this machine. Certificates for tls come from Dask's configuration.
    timeout : float
        Seconds to wait for the scheduler.
    """
    distributed = _import_distributed()
    if address == "local":
        options = {"n_workers": thread_count(), "threads_per_worker": 1, "dashboard_address": ":0"}
        with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
            yield client
        return
    is_file = address.endswith(".json")
    if is_file and not Path(address).is_file():
        raise ClusterError(f"{address}: there is no such scheduler file; the scheduler writes it if it is told to")
    target = {"scheduler_file": address} if is_file else {"address": address}
    try:
        client = distributed.Client(**target, timeout=timeout, set_as_default=False)
    except (TypeError, RuntimeError) as error:  # tls:// without a configuration, or a scheduler that requires it
        raise ClusterError(
            f"{address}: the connection needs certificates ({_first_line(error)}); name them in Dask's configuration, "
            "distributed.comm.tls"
        ) from None
    except (OSError, TimeoutError, ValueError) as error:
        raise ClusterError(
            f"no Dask scheduler answers at {address} ({type(error).__name__}); start one with `dask scheduler`, or say "
            "local for one on this machine"
        ) from None
    with client:
        yield client


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)


def _import_distributed() -> Any:
    try:
        import distributed
    except ImportError:
        raise ClusterError("clusters need dask: pip install distributed cloudpickle") from None
    return distributed
