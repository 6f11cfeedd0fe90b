"""How good a forest is: forests and labeled frames in, figures with intervals and an HTML report out.

`evaluate` counts in one pass, `scores` holds the formulas, `bench` the fixed test sets with committed hashes, `marks`
the hand-marked real frames, `report` the page. The `evaluate` command's inside is `command`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
