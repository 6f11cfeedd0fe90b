"""Gradient and Newton boosting: trees fitted to the derivatives of a loss, round after round.

Histograms of derivatives (`histograms`), gains (`gains`) and the grower (`growing`) are compiled; `losses` holds the
losses. Tables, trees and walks are those of `tree`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
