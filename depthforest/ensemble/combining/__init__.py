"""Voting, averaging and stacking: named members of any kind in, one answer out.

Users import the estimators and `RejectCurve` (docs/COMBINING.md); `adaboost` also uses `NamedMembers`.

Modules, from the ground up:

- `members`: `NamedMembers`, the base of all combinations: named members, their parameters, metadata routing, tags.
- `rejecting`: the rule that rejects rows without a majority, and its curve of accuracy against rejection.
- `weighting`: weights that are given, from validation, or from constrained least squares.
- `voting`: `VotingClassifier`: plain or weighted votes, with probabilities or a reject rule.
- `averaging`: `AveragingRegressor`: the weighted mean of members.
- `stackedmembers`: the members' answers as the columns that a meta learner is fitted on.
- `stacking`: `Stacking*`: a meta learner fitted on out-of-fold answers only.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
