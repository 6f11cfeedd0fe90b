"""Makes commands start and end faster."""

from __future__ import annotations

import atexit
import gc
import sys
from typing import Any

_LINEAR_ALGEBRA = "scipy.linalg.cython_blas"


def spare_linear_algebra() -> None:
    """Import numba without SciPy's linear algebra, which no kernel of ours calls: a tenth of a second.

    Before numba loads its first kernel, it imports this module to check whether it exists. Here the import fails, so
    numba refuses `np.cov` in kernels of this process. Other functions that need the module import it when they are
    compiled.
    """
    modules: dict[str, Any] = sys.modules
    if _LINEAR_ALGEBRA in modules:
        return
    modules[_LINEAR_ALGEBRA] = None  # makes an import of it fail
    try:
        import numba.np.arraymath  # noqa: F401
    finally:
        del modules[_LINEAR_ALGEBRA]


def leave_garbage() -> None:
    """Skip the garbage collection at the end of this process, which takes 0.12 s with numba's many objects."""
    atexit.register(gc.freeze)
