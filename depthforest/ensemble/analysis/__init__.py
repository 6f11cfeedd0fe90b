"""Why an ensemble works: theory of voters, error decompositions, diversity, margins, and a report of them all.

The answers of each member come in, or fitted ensembles of any library; numbers and plots go out. Users import all
functions from here (docs/ENSEMBLE_ANALYSIS.md). The measures are plain arithmetic on arrays (n_members, n_samples).

Modules, from the ground up:

- `checking`: checks of users' arguments.
- `voters`: the theory of voters: how often a majority is wrong, exactly, as a bound, and by simulation.
- `members`: the answers of each member of a fitted ensemble. It undoes the differences between ensembles: subsets of
  columns, classes as indices, missing classes.
- `ambiguity`: the error of an averaged regressor as the mean error of its members minus their spread.
- `biasvariance`: bias, variance and noise from predictions after several training rounds.
- `retraining`: repeated training on bootstrap or fresh samples, for bias and variance.
- `pairwise`: pairwise diversity: Q, correlation, disagreement, double fault, kappa.
- `nonpairwise`: diversity of all members together: entropies, Kohavi-Wolpert variance, generalized diversity.
- `margins`: the lead of the true class, and Breiman's bound.
- `marginbound`: a bound from margins and diversity: why diverse members generalize better.
- `plots`: the plots of these.
- `explaining`: SHAP values of our trees, forests and boosting, and their plots.
- `reporting`: `report`: accuracy, diversity and margins in one call, as a table and as plots.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
