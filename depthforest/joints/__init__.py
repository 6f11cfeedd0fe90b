"""Joints: the labels of a person in, 3D joints with confidences out.

Other rooms may use `find_joints`, `fit_joints`, which learns its parameters, `JointTracks`, which smooths over time,
`read_joints` and `write_joints`, and the formulas of average precision.

Modules, from the ground up:

- `params`: the parameters of joint proposals, their defaults, and their checked JSON form in a model file. A file is
  untrusted, so every name and number is checked here.
- `conventions`: joints as others name and place them, and the learning of a convention from marked frames.
- `meanshift`: mean shift to where the pixels of a part crowd. 16 starts climb side by side, because the sums of one
  start do not vectorize without changing their order.
- `placing`: modes on the surface to joints inside: pushed back along the ray, or, for hips and spine, placed among the
  modes around them.
- `skeletons`: the set of proposals whose bones are plausible. Joints form a tree, so dynamic programming finds the best
  set exactly.
- `moving`: joints moved by where the other joints of the person are, and the odds of being right after it.
- `finding`: `find_joints`, and `Joints`, its result.
- `precision`: precision, recall and average precision. `stats` fits by them; `evaluation` reports them.
- `stats`: what fitting estimates: average precision, Gaussians from samples with gaps, odds of being right, bones.
- `fit`: `fit_joints`: the parameters learned from labeled frames, by a grid search for average precision. Left and
  right share what they learn.
- `learning`: the maps and odds of `moving`, from people whose proposals and true joints are known.
- `tracks`: joints over time: a one-euro filter for each joint and person. It predicts briefly missing joints, holds
  back jumps, and can recognize people by where their joints are.
- `files`: joints of many frames as versioned JSON, or as CSV whose first columns are those of a data set.
- `motion`: one person over time: bone lengths with their noise, joint angles, gaps filled; as BVH and glTF (fixed
  bones, rotations by inverse kinematics), as C3D, and as tables.
- `cameras`: where several cameras stand, from the joints of people whom they see together, and one skeleton of all.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
