"""Joints: the labels of a person in, 3D joints with confidences out.

`find_joints` climbs to where the pixels of a part crowd (`meanshift`), pushes modes back to the joint (`placing`) and
chooses a set with plausible bones (`skeletons`). `fit_joints` learns the parameters, `JointTracks` smooths over time,
`files` reads and writes JSON and CSV.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
