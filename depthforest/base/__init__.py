"""What everything stands on, and what knows nothing of depth images.

Errors and checks of arguments; the decorator of compiled kernels, threads, scratch memory, counter-based random
numbers; whole files, model files, claimed folders, TOML configs; impurity of class counts and the links of trees.
Plain values come in, plain values or one-line errors go out.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
