"""How a command starts and ends sooner."""

from __future__ import annotations

import atexit
import gc
import sys
from typing import Any

_LINEAR_ALGEBRA = "scipy.linalg.cython_blas"


def spare_linear_algebra() -> None:
    """Import numba without SciPy's linear algebra, which no kernel of ours calls: a tenth of a second.

    When numba prepares to load its first kernel, it imports that to learn whether it is there. Here it learns that it
    is not, and so refuses `np.cov` in kernels of this process; what else needs it imports it when it is compiled.
    """
    modules: dict[str, Any] = sys.modules
    if _LINEAR_ALGEBRA in modules:
        return
    modules[_LINEAR_ALGEBRA] = None  # Python's way to say that there is no such module
    try:
        import numba.np.arraymath  # noqa: F401
    finally:
        del modules[_LINEAR_ALGEBRA]


def leave_garbage() -> None:
    """Let the end of this process look for no garbage, which takes 0.12 s among numba's many objects."""
    atexit.register(gc.freeze)
