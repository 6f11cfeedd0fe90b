"""Random forests and extra trees: many randomized trees, grown on threads, averaged.

Out-of-bag figures, quantiles and files of forests live here; trees come from `tree`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
