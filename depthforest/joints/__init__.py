"""Joints: the labels of a person in, 3D joints with confidences out.

Other rooms may use `find_joints`, `fit_joints`, which learns its parameters, `JointTracks`, which smooths over time,
`read_joints` and `write_joints`, and the formulas of average precision.

Modules, from the ground up:

- `params`: the parameters of joint proposals, their defaults, and their checked JSON form in a model file. A file is
  untrusted, so every name and number is checked here.
- `conventions`: maps to the joint conventions of other data sets, and learning a convention from marked frames.
- `meanshift`: mean shift to the density peaks of a part's pixels. 16 starts climb together, because the sums of one
  start do not vectorize without changing their order.
- `placing`: from modes on the surface to joints inside: pushed back along the ray, or, for hips and spine, placed
  relative to the modes around them.
- `skeletons`: the set of proposals with the most plausible bones. Joints form a tree, so dynamic programming finds the
  best set exactly.
- `moving`: corrections of joints by the positions of the person's other joints, and their odds of being correct.
- `finding`: `find_joints`, and `Joints`, its result.
- `precision`: precision, recall and average precision. `stats` fits by them; `evaluation` reports them.
- `stats`: estimates for fitting: average precision, Gaussians from samples with gaps, odds of being correct, bones.
- `fit`: `fit_joints`: learns the parameters from labeled frames, by a grid search for average precision. Left and right
  share parameters.
- `learning`: the maps and odds of `moving`, from people whose proposals and true joints are known.
- `tracks`: joints over time: a one-euro filter for each joint and person. It predicts briefly missing joints, holds
  back jumps, and can recognize people by the positions of their joints.
- `files`: joints of many frames as versioned JSON, or as CSV whose first columns are those of a data set.
- `motion`: one person over time: bone lengths with their noise, joint angles, gaps filled; as BVH and glTF (fixed
  bones, rotations by inverse kinematics), as C3D, and as tables.
- `cameras`: calibration of several cameras from the joints of people in their common view, and fusion of their joints.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
