"""The inside of `depthforest compare`: every ensemble as a baseline on the same pixels, under equal budgets.

Settings and frames come in; a folder with one record for each finished learner, tables and plots goes out. Other rooms
may use `prepare_comparison` with `Budget` and `CompareSettings`, the list of learners, and the rows of the table.

Modules, from the ground up:

- `budget`: settings, and a search for the size that spends a budget. It fits growing sizes and extrapolates their cost.
- `learners`: a table of all learners, ours and those of other libraries, which are imported only when used.
- `data`: the same pixels as columns and as frames, and whole frames to judge by, from a data set or the bench.
- `fits`: one fit: its cost, and its figures on whole frames. Everything runs on one thread and is measured in processor
  time, so a busy machine does not count.
- `folder`: a folder that keeps every finished learner and refuses other settings.
- `table`: the tables, for the terminal and as CSV, Markdown and JSON.
- `plots`: the plots as PNG, if matplotlib is installed.
- `run`: `prepare_comparison` and the run itself. Everything that can be wrong is reported before the first fit.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
