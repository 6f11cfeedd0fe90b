"""Ensembles whose members differ by random draws: rows, columns, noise, outputs, parameters.

Any scikit-learn estimator comes in as a template; an ensemble of its clones goes out. `adaboost` also uses the
functions that make and fit one member.

Modules, from the ground up:

- `draws`: the draws of a member, as pure functions of its seed. Draws are repeated instead of stored, and every kind
  has its own stream of random numbers.
- `members`: one member: made, fitted on its draws, and queried for votes or values.
- `base`: the engine: checks, parallel fits, averages, out-of-bag scores.
- `diverse`: `DiverseEnsemble*`: classifier and regressor with every kind of draw.
- `posterior`: a linear member whose coefficients are a draw from their posterior.
- `variants`: presets of these: bagging, random subspaces, output flipping, output smearing.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
