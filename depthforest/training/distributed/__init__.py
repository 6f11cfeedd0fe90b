"""Growing on a cluster: the same levels, splits and bytes as on one machine, as pure tasks over shards.

Shards of frames are read by the workers and stay there as results of Dask's tasks. Large nodes are counted by shards
and scored by ranges of candidates: tables of counts go from worker to worker, in trees, and only the best splits come
back. Where there are many shards, nodes are divided among groups of them. Once a node is small, its pixels with their
crops are handed to one worker, which grows the whole subtree.

Modules, from the ground up:

- `tasks`: the pure functions that run on workers, and the messages between them.
- `handing`: which nodes are handed over or divided, how they are packed, and what is asked together.
- `growing`: `ClusterGrower`, which does for a cluster what `training.growing.Grower` does for one machine.
"""
