"""Frames: what a depth camera saw, as frozen, checked values.

Arrays in any unit come in; `Frame` and `LabeledFrame` in uint16 millimeters with a `Camera` go out, and pictures of
them (`drawing`). `PartSet` says what labels mean, `units` is the only place that doubts a unit.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
