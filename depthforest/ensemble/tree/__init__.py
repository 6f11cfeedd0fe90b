"""One decision tree: a table and targets in, a `Tree` of flat columns out, and the estimators of one tree.

A tree is planted (`planting`, on kernels of `growth`), pruned (`trees`), walked with raw values (`walking`), checked
(`checks`) and stored (`store`). Forests and boosting use the same tables, trees and walks.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
