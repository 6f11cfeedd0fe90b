"""People and furniture before a camera: bodies and poses in, exact depth and labels out.

`composing` places people, furniture and walls, `skinning` poses surfaces, `rendering` is the z-buffer, `analytic` its
judge.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
