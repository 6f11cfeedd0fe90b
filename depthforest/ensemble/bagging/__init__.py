"""Ensembles whose members differ by what they are given: rows, columns, noise, outputs, parameters.

Any scikit-learn estimator comes in as a template; an ensemble of its copies goes out. `adaboost` also uses what makes
and fits one member.

Modules, from the ground up:

- `draws`: what is drawn for a member, as a pure function of its seed. Draws are repeated instead of stored, and every
  kind has its own stream of random numbers.
- `members`: one member: made, fitted on its draws, and asked for votes or values.
- `base`: the engine: checks, parallel fits, averages, out-of-bag scores.
- `diverse`: `DiverseEnsemble*`: the classifier and the regressor with every kind of draw.
- `posterior`: a linear member that draws its own parameters from their posterior.
- `variants`: presets of these: bagging, random subspaces, output flipping, output smearing.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
