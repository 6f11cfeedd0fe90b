"""What real cameras make of exact depth: structured light, time of flight, stereo.

Exact depth and labels in, readings with noise, holes and shadows out. `devices` has the parameters of each sensor,
`models` what they do to a frame; a new sensor is an entry of the first and, if it works differently, a model of the
second.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
