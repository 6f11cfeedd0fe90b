"""AdaBoost: members fitted to reweighted rows, and a variant over a fixed pool of members.

The arithmetic of a round (`rounds`) knows no estimator; members are made as those of `bagging`, or chosen from named
ones as those of `combining`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
