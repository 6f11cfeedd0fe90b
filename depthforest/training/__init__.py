"""Training: labeled frames in, a forest out.

`train` grows trees level by level over shards of pixels, with a checkpoint after every level; `leaves` makes the
leaves of a grown forest anew from many more pixels. Threads, shards and the memory budget change no byte.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
