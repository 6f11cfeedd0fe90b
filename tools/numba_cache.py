"""Print the folder for numba's compiled kernels, named by a hash of all sources.

numba's own cache notices an edit in a kernel's file, but not one in another file whose kernel it has inlined. With this
folder as NUMBA_CACHE_DIR, any edit of any source starts a new cache. Needs nothing but Python.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent


def cache_folder() -> Path:
    """Return `.cache/numba/HASH` below the top of the checkout."""
    digest = hashlib.sha256()
    for package in ("depthforest", "synth"):
        for path in sorted((TOP / package).rglob("*.py")):
            digest.update(path.relative_to(TOP).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return TOP / ".cache" / "numba" / digest.hexdigest()[:16]


if __name__ == "__main__":
    print(cache_folder())
