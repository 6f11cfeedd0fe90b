"""The trees of a depth forest as data: probe features, nodes and leaves in flat columns, and the plain walk.

Checked, read-only columns (`DepthTrees`) go out. The response of a pair of probes is defined here once, in
`features`, for training and every walk; the plain walk, one pixel at a time, is the reference of everything faster.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
