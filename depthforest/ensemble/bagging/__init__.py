"""Ensembles whose members differ by what they are given: rows, columns, noise, outputs.

`DiverseEnsemble*` takes any member; `Bagging*`, `RandomSubspace*`, output flipping and smearing are presets of it.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
