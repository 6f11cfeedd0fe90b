"""People at rest: measures in, a skinned and labeled surface (`Body`) out.

Built-in figures or MakeHuman's, stretched to anthropometric measures, dressed by `outfits` and `clothing`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
