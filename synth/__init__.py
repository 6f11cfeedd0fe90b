"""Synthetic depth frames: labeled pixels to train and judge body labeling with.

A `Config` and a seed come in, `LabeledFrame` values go out: `bodies` makes people, `poses` moves them, `scene` puts
them into rooms and draws the depth, `sensors` makes of it what a real camera sees; `generator`, `recording` and
`production` put these together (`provenance` says what made a data set). Of depthforest, only `base`, `frames` and
`io` are used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
