"""Whole-frame inference: trees, a frame and a person's mask in, a `Labeling` out.

Nodes are packed (`packing`), pixels walk in step (`steps`), leaves are mixed by the person's facing and smoothed over
neighbors (`mixing`); `walks` takes one person through all of it. Unsmoothed, results equal the plain walk to the bit.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
