"""Whole-frame inference: trees, a frame and a person's mask in, a `Labeling` out.

Other rooms may use `labeling.label` and `labeling.label_many`, which `Forest` calls, `leaves_of_person`, `shares_at`,
and `thumbnail`, what a context stage learns from.
With `exact`, unsmoothed results equal those of the plain walk (`trees`) to the bit.

Modules, from the ground up:

- `packing`: nodes as rows of 32 bytes, siblings in one cache line. Leaves lead to themselves, so that pixels can walk
  in step. The top of each tree is stored a second time as a heap that stays in the cache.
- `steps`: kernels in which 512 pixels take each step together, so that their waits for memory overlap. Rows of nodes
  are prefetched before they are needed.
- `mixing`: kernels that mix the leaves of a person by facing, smooth sums over neighbors, and decide parts.
- `calibrating`: from sums to probabilities that mean what they say, by the model's temperature.
- `settling`: kernels from sums to parts and shares, and to the few pixels that joints take.
- `grid`: which pixels walk: a coarse grid, then finer ones where labels change; the others take the answer of a
  neighbor.
- `walks`: `PersonWalk`: one person through a forest, grid after grid; after the first grid, a context stage looks at
  what was found. It keeps the crop and the leaves, so a person is
  cropped and walked once, whatever is asked later.
- `several`: `shares_at`: what a forest says of a few pixels of several people, who may overlap, in one call.
- `labeling`: `label` for one person, `label_many` for streams of frames, and `Labeling`, their result.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
