"""The criteria that a split can be chosen by: their names, for configurations; `splitting` computes them.

Imports neither numpy nor numba.
"""

from __future__ import annotations

from depthforest.base.checks import check_choice

CRITERIA = ("entropy", "gini")


def is_gini(criterion: str) -> bool:
    """Tell whether a criterion is gini; raise UsageError if it is none."""
    check_choice("criterion", criterion, CRITERIA)
    return criterion == "gini"
