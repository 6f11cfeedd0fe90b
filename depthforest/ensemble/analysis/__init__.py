"""Why an ensemble works: voters, decompositions, diversity, margins, and one report of all.

The answers of each member come in, or fitted ensembles of any make; numbers and plots go out. Users import all
functions from here (docs/ENSEMBLE_ANALYSIS.md). The measures are plain arithmetic on arrays (n_members, n_samples).

Modules, from the ground up:

- `checking`: what users pass, checked once.
- `voters`: the theory of voters: how often a majority is wrong, exactly, by a bound, and by simulation.
- `members`: what each member of a fitted ensemble answers. It undoes the ways in which ensembles differ: subsets of
  columns, classes as indices, missing classes.
- `ambiguity`: the error of an averaged regressor as the mean error of its members minus their spread.
- `biasvariance`: bias, variance and noise from the predictions of several trainings.
- `retraining`: training again and again, on bootstrap or fresh samples, for bias and variance.
- `pairwise`: diversity by pairs of members: Q, correlation, disagreement, double fault, kappa.
- `nonpairwise`: diversity of all members at once: entropies, Kohavi-Wolpert variance, generalized diversity.
- `margins`: by how much the true class leads, and Breiman's bound.
- `marginbound`: a bound from margins and diversity: why members that differ generalize better.
- `plots`: the plots of these.
- `explaining`: SHAP values of our trees, forests and boosting, and their plots.
- `reporting`: `report`: accuracy, diversity and margins in one call, as a table and as plots.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
