"""Cluster: work on any Dask cluster, with one-line messages for its failures. Needs the extra `dask`.

Others may use `connect` (an address or "local" to a client), `using` (a block in which `spread` runs on a cluster),
`spread` (frames to results, in order, on threads or on the cluster), and `Crew` (a client that waits for missing
workers, reacts to Ctrl-C, notices when no worker is left, and says what to do). There are no actors and no pinned
workers: every task is a pure function, so that Dask can do it again elsewhere.

Modules, from the ground up:

- `versions`: what must be the same on all workers: depthforest, numba, numpy.
- `crew`: `Crew`: submit, wait, gather, reduce in trees.
- `connecting`: `connect`: an address, a scheduler file or a cluster on this machine.
- `spreading`: `spread` and `using`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
