"""What every `fit` needs: checks of parameters, tables, targets and folds, and how members are fitted.

Users' arguments come in; checked arrays, or one-line errors, go out. All other rooms of `ensemble` may use this one.

Modules, from the ground up:

- `amounts`: checks of counts, numbers, shares and flags.
- `jobs`: the number of jobs, the seeds of members, parallel work and a progress bar. Arbitrary members run under
  joblib, because they may hold the GIL and their users know joblib's settings. Our own trees run on threads.
- `tables`: rows and columns of arrays, sparse matrices and pandas frames. A frame stays a frame, so that members see
  column names and types.
- `folds`: folds without leaks: every row is held out once, by members that saw neither it nor its group.
- `targets`: y as class codes or numbers, and the classes that members know.
- `shares`: class probabilities by target, and the predicted classes that follow from them.
- `members`: members fitted in parallel, on all rows or fold by fold. An error names the member that raised it.
- `monotonic`: monotonic constraints on columns.
- `sequences`: an ensemble as a sequence of its members.
- `warmstart`: decides which members of the last fit are kept, and whether new ones may join them.
- `interactions`: interaction constraints: which columns may occur together on a path.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
