"""Trees with any criterion, several targets per row, or monotonic constraints: one way of growing for all of them.

The kernels outside this folder handle a single sum, of a class or a number, and are faster. These kernels sort the rows
of a node in each column, sweep over them once, and evaluate each cut by the criterion on both sides. Random splits,
sets of categories and missing values are cuts of rows in another order.

Modules, from the ground up:

- `objective`: the criterion and the targets, and the score of each side of a split.
- `medians`: the absolute error around the median of a set of rows that grows row by row.
- `searching`: the best split of a node.
- `growing`: the tree, and the predictions of its nodes.
"""
