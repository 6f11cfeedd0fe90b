"""What every `fit` needs: checks of parameters, tables, targets and folds, and how members are fitted.

Arguments as users pass them come in; checked arrays, or one-line errors, go out. All other rooms of `ensemble` may use
it.

Modules, from the ground up:

- `amounts`: checks of parameters that say how many, how much or whether.
- `jobs`: the number of jobs, the seeds of members, parallel work and a progress bar. Members of any make run under
  joblib, because they may hold the GIL and their users know joblib's settings. Our own trees run on threads.
- `tables`: rows and columns of arrays, sparse matrices and pandas frames. A frame stays a frame, so that members see
  column names and types.
- `folds`: folds that cannot leak: every row is held out once, by members that saw neither it nor its group.
- `targets`: y as class codes or numbers, and the classes that members know.
- `shares`: shares of classes by target, and the classes that follow from them.
- `members`: members fitted in parallel, on everything or fold by fold. An error carries the name of its member.
- `monotonic`: columns that may only raise, or only lower, a prediction.
- `sequences`: an ensemble as the list of its members.
- `warmstart`: which members of the last fit are kept, and whether new ones may join them.
- `interactions`: constraints: columns that may stand together on a path.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
