"""Training: labeled frames in, a forest out.

Other rooms may use `train`, `TrainConfig`, `fit_leaves`, the reading of checkpoints, and pixel tables. Threads, shards
and the memory budget change no byte of the result.

Modules, from the ground up:

- `config`: `TrainConfig`: every number that shapes a forest, in one frozen value that saves to TOML.
- `candidates`: probes and thresholds from (seed, tree, node), never from data, so that every shard makes the same
  candidates independently.
- `sampling`: people cropped out of frames, and the pixels drawn from them.
- `probing`: kernels over the pixels of a shard: the bins of candidates, and the walk down a tree.
- `shards`: some frames and the state of their pixels. A shard answers with integer class counts, which are added, or,
  for nodes of few pixels, with bins and labels.
- `sweeping`: the best splits of nodes of few pixels, where tables of counts would be mostly empty. A sorting network
  sorts 32 candidates together.
- `growing`: one tree, level by level over all shards. Splits come from tables of counts or, for nodes of few pixels,
  from `sweeping`.
- `pixeltables`: pixels as rows of a matrix, one column for each probe pair of a fixed pool. Learners other than depth
  forests train on it.
- `progress`: news of a run and the time left, from the remaining evaluations and the measured rate.
- `outofbag`: out-of-bag accuracy of a tree as it grows and of the whole forest.
- `fingerprints`: the identity of a data set, from its number of frames, its files and a sample of its pixels. Reading
  everything would take longer than many a level.
- `checkpoints`: a folder that holds a run after every level. A new checkpoint is on disk before it replaces the old
  one. It stores splits only; on resume, pixels walk down the tree again.
- `run`: `train`, which combines all of this. The first Ctrl-C waits until the current frame or batch is done.
- `confidence`: `fit_confidence`: the temperatures that make the confidence of labels a probability.
- `contextleaves`: `fit_context`, which refits the leaves of a context stage for the combination of both stages.
- `distributed`: a folder: growing on the workers of a Dask cluster, the same bytes.
- `leaves`: a folder: `fit_leaves`, which refits the leaves of a grown forest on many more pixels.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
