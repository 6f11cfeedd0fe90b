"""Kernels that grow one tree of a forest: coded columns and rows in, the nodes of a tree out.

Columns become codes once, quantile bins or one code a value (`binning`). The best split of a node by sweeps over its
rows (`finding`, `sweeps`, `lanes`), random thresholds for extra trees (`randomsplits`), growing depth first
(`growing`) or best node first (`bestfirst`). Gini, entropy and squared error share one sweep; what a node draws
depends on the seed and its place alone. `tree` checks everything before it calls.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
