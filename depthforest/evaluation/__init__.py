"""Evaluation of forests: forests and labeled frames in, figures with intervals and an HTML report out.

Other rooms may use `evaluate`, `Evaluation`, `evaluate_people`, `PeopleScore`, real frames with marked people
(`MarkedRooms`), the test sets (`SETS`, `open_bench`), the basic scores, and `prepare_evaluation` and `prepare_people`,
which the `evaluate` command runs. The bench is the collection of fixed test sets.

Modules, from the ground up:

- `options`: how forests are evaluated, and what a run reads and writes, with all defaults. It imports neither numpy nor
  numba.
- `scores`: formulas on arrays: classes, average precision, calibration, bootstrap. It knows neither forests nor frames.
- `partmaps`: which answers are correct when model and data have different parts.
- `views`: distance, heading and image border of each person, for breaking figures down.
- `figures`: every figure, interval and comparison, computed from counts for each person and frame, without reading the
  data again.
- `judging`: `evaluate` and `evaluate_many`: one pass over the data counts for all models.
- `bench`: fixed test sets: a `synth` configuration, a seed and a number of frames each. Frames are hashed as they are
  made and compared with committed hashes, so that models stay comparable for years.
- `marks`: hand-marked points and joints of real frames, scored into the same figures.
- `report`: a folder: the HTML page.
- `people`: a folder: how well people are found, with a run and a report of its own.
- `run`: a run of `evaluate`: joins data sets, checks everything before the first frame, and writes report and JSON
  atomically.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
