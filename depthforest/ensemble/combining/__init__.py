"""Voting, averaging and stacking: fitted members of any make in, one answer out.

Votes with a reject rule, weights that are given or learned, and a learner on top that sees out-of-fold answers only.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
