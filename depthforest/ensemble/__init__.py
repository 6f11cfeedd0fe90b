"""Ensembles of learners by scikit-learn's conventions: trees, forests, bagging, boosting, voting, stacking, ranking.

Each family is a folder: `fitting` (checks and shared steps of `fit`), `growth` and `tree`, `forests`, `boosting`,
`bagging`, `combining`, `adaboost`, `ranking`; `analysis` and `plotting` look at fitted ones; `files` loads what was
saved. Of the rest of depthforest, only `base` is used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
