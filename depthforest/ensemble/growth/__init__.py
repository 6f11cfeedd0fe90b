"""Kernels that grow one tree of a forest: coded columns and rows in, the nodes of a tree out.

`tree`, `forests` and `boosting` use it. Callers check everything first, because kernels check nothing. Arrays come
bundled by role. What a node draws depends on the seed and its place alone, so the order of growing and the threads do
not matter.

Modules, from the ground up:

- `sweeps`: the best cut of a column whose rows or bins are in order. Every row adds weight times target to a channel:
  its class, or the only one. Gini is then squared error of channels, and one sweep serves gini, entropy and squared
  error.
- `columns`: the codes of a node's rows in one column, sorted or counted, and categories in an order that can be cut.
- `sparse`: tables of mostly zeros, made dense only in blocks.
- `binning`: columns as whole numbers: quantile bins in a byte, or one code for each value. A code remembers the values
  it stands for, so that trees are walked with raw values.
- `splits`: what a split is, which rows go left, and which columns a node draws.
- `tables`: the memory that a growing tree is written to. Forests and boosting share it.
- `lanes`: up to 16 drawn columns read at a time, so that waits for memory overlap. Extra trees use it.
- `memory`: the rows of a tree, in the order of their classes, and the scratch memory of one thread.
- `randomsplits`: random thresholds and category sets for extra trees, judged from running sums.
- `finding`: the best split of a node. It counts rows by code or sorts them, whichever is faster.
- `growing`: a tree grown depth first.
- `bestfirst`: a tree of a limited number of leaves, grown where it gains most.
- `general`: a folder: trees of other criteria, of several targets, and with constraints, which are slower to grow.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
