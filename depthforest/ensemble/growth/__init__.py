"""Kernels that grow one tree: coded columns and rows in, the nodes of a tree out.

`tree`, `forests` and `boosting` use it. Callers check everything first, because kernels check nothing. Arrays are
bundled by role. The random draws of a node depend only on the seed and the node's place, so the result depends neither
on the order of growing nor on threads.

Modules, from the ground up:

- `sweeps`: the best cut of a column whose rows or bins are in order. Every row adds weight times target to a channel:
  its class, or the only channel. Gini is then the squared error of channels, and one sweep serves gini, entropy and
  squared error.
- `columns`: the codes of a node's rows in one column, sorted or counted; and an order of categories for cuts.
- `sparse`: tables of mostly zeros, made dense only in blocks.
- `binning`: columns as whole numbers: quantile bins in a byte, or one code for each value. The range of values of each
  code is kept, so that trees are walked with raw values.
- `splits`: the definition of a split, which rows go left, and which columns a node draws.
- `tables`: the memory that a growing tree is written to. Forests and boosting share it.
- `lanes`: up to 16 drawn columns read at a time, so that memory latencies overlap. Extra trees use it.
- `memory`: the rows of a tree, sorted by class, and the scratch memory of one thread.
- `randomsplits`: random thresholds and category sets for extra trees, evaluated from running sums.
- `finding`: the best split of a node. It counts rows by code or sorts them, whichever is faster.
- `growing`: a tree grown depth first.
- `bestfirst`: a tree with a limited number of leaves, grown best first.
- `general`: a folder: trees with other criteria, several targets, or constraints, which are slower to grow.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
