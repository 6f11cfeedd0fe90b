"""Gradient and Newton boosting: trees fitted to the derivatives of a loss, round after round.

Tables and targets come in; four estimators go out (docs/BOOSTING.md). `ranking` also uses the base class, the interface
of losses and the growth settings. Codes, node tables, categories, thresholds and trees are those of `growth` and
`tree`.

Modules, from the ground up:

- `losses`: a folder: the losses.
- `gains`: what a node of summed gradients and hessians is worth, as in XGBoost.
- `memory`: what the kernels read and work on, bundled by role.
- `histograms`: sums of derivatives by code. Unlike in forests, every column counts in every node. A child's histogram
  is therefore its parent's minus its sibling's, and only the smaller child is counted.
- `nodes`: which node is split next, and what its children get.
- `sortedcolumns`: exact splits: columns stay sorted as nodes are split, so nothing is sorted twice.
- `growing`: one tree from gradients and hessians, in one call. The call returns early where a node is large enough to
  be counted on several threads.
- `planting`: the trees of one run, grown one after the other in the same memory.
- `leaves`: what the leaves of a new tree add to raw values.
- `sampling`: what a round leaves out: rows by chance or by small gradients, trees of earlier rounds.
- `rounds`: a round: one tree for each output, side by side, and the raw values they lead to.
- `starting`: where boosting starts: constants, another estimator, base margins.
- `judging`: the rows and metrics that rounds are judged by, early stopping, callbacks.
- `walking`: sums of all trees for new rows.
- `store`: what the file of a boosted ensemble holds beside its trees. Custom losses are refused, because files hold no
  code.
- `base`: what the estimators share: rounds, early stopping, warm start, stages.
- `tasks`: how y is read, and raw values as predictions, after all rounds or after each.
- `newton`: `NewtonBoosting*`: trees and leaves from the second-order expansion of the loss.
- `gradient`: `GradientBoosting*`: the same growth with the weights of rows as hessians; leaves are searched afterward.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
