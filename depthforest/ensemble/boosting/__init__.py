"""Gradient and Newton boosting: trees fitted to the derivatives of a loss, round after round.

Tables and targets come in; four estimators go out (docs/BOOSTING.md). `ranking` also uses the base class, the interface
of losses and the growth settings. Codes, node tables, categories, thresholds and trees come from `growth` and `tree`.

Modules, from the ground up:

- `losses`: a folder: the losses.
- `gains`: the value of a node with summed gradients and hessians, as in XGBoost.
- `memory`: the arrays that the kernels read and work on, bundled by role.
- `histograms`: sums of derivatives by code. Unlike in forests, every column counts in every node. A child's histogram
  is therefore its parent's minus its sibling's, and only the smaller child is counted.
- `nodes`: the order in which nodes are split, and the data of their children.
- `sortedcolumns`: exact splits: columns stay sorted as nodes are split, so nothing is sorted twice.
- `growing`: one tree from gradients and hessians, in one call. The call returns early if a node is large enough to be
  counted on several threads.
- `planting`: the trees of one run, grown one after the other in the same memory.
- `leaves`: adds the leaves of a new tree to raw values.
- `sampling`: row sampling, at random or by gradient, and dropout of earlier trees.
- `rounds`: one round: a tree for each output, in parallel, and the new raw values.
- `starting`: the start of boosting: constants, another estimator, base margins.
- `judging`: the rows and metrics that evaluate rounds, early stopping, callbacks.
- `walking`: sums of all trees for new rows.
- `store`: the contents of a boosted ensemble's file besides its trees. Custom losses are refused, because files hold no
  code.
- `base`: the common base of the estimators: rounds, early stopping, warm start, stages.
- `tasks`: the reading of y, and predictions from raw values, after all rounds or after each.
- `newton`: `NewtonBoosting*`: trees and leaves from the second-order expansion of the loss.
- `gradient`: `GradientBoosting*`: the same growth with the weights of rows as hessians, then a line search in the
  leaves.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
