"""How people stand and move: pose families, BVH clips and gestures in, a rotation for each bone (`Pose`) out.

`sampling` draws built-in poses within anatomical limits, `mocap` retargets clips, `motion` strings both together over
time.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
