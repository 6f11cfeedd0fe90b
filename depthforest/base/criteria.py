"""Names of the split criteria, for configurations; `splitting` computes them.

Imports neither numpy nor numba.
"""

from __future__ import annotations

from depthforest.base.checks import check_choice

CRITERIA = ("entropy", "gini")


def is_gini(criterion: str) -> bool:
    """Tell whether a criterion is gini; raise UsageError if the name is unknown."""
    check_choice("criterion", criterion, CRITERIA)
    return criterion == "gini"
