"""The inside of `depthforest label`: sources in, answers out, resumable.

Frames are read, people found or masks taken, every person labeled by itself, answers merged into one picture and
written, each file whole or not at all, into a folder that refuses to mix models or options.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
