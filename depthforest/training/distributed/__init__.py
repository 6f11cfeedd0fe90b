"""Growing on a cluster: the same levels, splits and bytes as on one machine, as pure tasks over shards.

Workers read shards of frames and keep them as results of Dask's tasks. Large nodes are counted shard by shard and
scored by ranges of candidates: tables of counts are added in trees between workers, and only the best splits come back.
If there are many shards, nodes are divided among groups of them. Once a node is small, its pixels with their crops are
handed over to one worker, which grows the whole subtree.

Modules, from the ground up:

- `tasks`: the pure functions that run on workers, and the messages between them.
- `handing`: decides which nodes are handed over or divided, how they are packed, and what is scored together.
- `growing`: `ClusterGrower`, the counterpart of `training.growing.Grower` for clusters.
"""
