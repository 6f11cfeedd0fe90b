"""The trees of a depth forest as data: probe features, nodes and leaves in flat columns, and the plain walk.

Columns come in; checked, read-only `DepthTrees` go out. Other rooms may use these, the features, crops, facings and
quantized leaves. A walk is the path of a pixel from the root of a tree to a leaf.

Modules, from the ground up:

- `features`: the response of a pair of probes, defined once: offsets in meters, rounded half away from zero, in
  float32. Training and every walk therefore get the same bits.
- `cropping`: one person cut out of a frame, with a border of background. A probe clamped to the crop needs no branch.
  Labeling and training share it.
- `facings`: which way a person stands: weights of facings from the evidence of all leaves, angles from joints. Whole
  numbers and exact sums give the mirrored image the mirrored weights.
- `quantizing`: the distribution of a leaf over parts in 255ths, so that it fits bytes and sums are exact.
- `columns`: the flat columns of a forest: types, limits, and the checks before a kernel walks them.
- `channels`: what the probes of a context stage read: depth, positions in the body's frame, and groups of parts.
- `thumbnails`: a person on the coarse grid, with all channels; the grid's pixels, and the grid pixel that stands for
  each pixel of the person.
- `contexttrees`: `ContextTrees`: the second stage as checked columns, and the combination of its shares with the first
  stage's sums.
- `plainwalk`: the plain walk, one pixel at a time. It is the reference for every faster one.
- `depthtrees`: `DepthTrees`: the nodes and leaves of all trees as one checked value, with the plain walk.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
