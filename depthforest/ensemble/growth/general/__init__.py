"""Trees of any criterion, of several targets a row, and with monotonic constraints: one way of growing for all of them.

The kernels beside this folder know one sum of a class or a number, and are faster. These ones sort the rows of a node
in each column, go through them once, and judge a cut by what a criterion says of its two sides. Random splits, sets of
categories and missing values are cuts of rows that stand in another order.

Modules, from the ground up:

- `objective`: the criterion and the targets, and what a side of a split adds to its score.
- `medians`: the absolute error about the median of a set of rows that grows by one row at a time.
- `searching`: the best split of a node.
- `growing`: the tree, and what each of its nodes predicts.
"""
