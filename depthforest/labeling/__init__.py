"""Whole-frame inference: trees, a frame and a person's mask in, a `Labeling` out.

Other rooms may use `labeling.label` and `labeling.label_many`, which `Forest` calls, `leaves_of_person`, `shares_at`,
and `thumbnail`, which makes a context stage's training input. With `exact`, unsmoothed results equal those of the plain
walk (`trees`) to the bit.

Modules, from the ground up:

- `packing`: nodes as rows of 32 bytes, siblings in one cache line. Leaves lead to themselves, so that pixels can walk
  in lockstep. The top of each tree is also stored as a heap that stays in the cache.
- `steps`: kernels in which 512 pixels take each step together, so that their waits for memory overlap. Rows of nodes
  are prefetched before they are needed.
- `mixing`: kernels that mix the leaves of a person by facing, smooth sums over neighbors, and decide parts.
- `calibrating`: from sums to calibrated probabilities, by the model's temperature.
- `settling`: kernels from sums to parts and shares, and to the sampled pixels for joints.
- `grid`: selects the pixels that walk: a coarse grid, then finer ones where labels change. Other pixels take the answer
  of a neighbor.
- `walks`: `PersonWalk`: one person's pixels through a forest, grid after grid; after the first grid, a context stage
  reads the answers so far. It keeps the crop and the leaves, so each person is cropped and walked only once.
- `several`: `shares_at`: a forest's shares at a few pixels of several people, who may overlap, in one call.
- `labeling`: `label` for one person, `label_many` for streams of frames, and `Labeling`, their result.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
