"""Where uploads are kept while a server runs: a temporary folder, locked, so that later servers know what is left over.

A server that is killed cannot remove what was uploaded to it. The next one of the same user does.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from pathlib import Path

from depthforest.base import DepthForestError, reason

try:
    import fcntl
except ImportError:  # Windows: folders of killed servers stay there
    fcntl = None  # type: ignore[assignment]

PREFIX = "depthforest-view-"


class UploadFolder:
    """A temporary folder of one server, with a folder for each open page."""

    def __init__(self) -> None:
        try:
            _remove_leftovers()
            while True:
                self.path = Path(tempfile.mkdtemp(prefix=PREFIX))
                self._descriptor = _lock(self.path)
                if self.path.is_dir():  # no other server took it for one that is left over before it was locked
                    return
                self.close()
        except OSError as error:
            raise DepthForestError(f"no temporary folder for uploads can be made: {reason(error)}") from None

    def of_page(self) -> Path:
        """Make and return a folder for one page."""
        try:
            return Path(tempfile.mkdtemp(dir=self.path))
        except OSError as error:
            raise DepthForestError(f"{self.path}: cannot be written: {reason(error)}") from None

    def close(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def _remove_leftovers() -> None:
    """Remove the folders of this user's servers that have ended without removing them."""
    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            if path.is_symlink() or not path.is_dir() or path.stat().st_uid != _user():
                continue
            descriptor = _lock(path)
            if descriptor is not None:
                shutil.rmtree(path, ignore_errors=True)
                os.close(descriptor)


def _lock(path: Path) -> int | None:
    """Return an open descriptor that keeps a folder locked; None where another process has it, or without locks."""
    if fcntl is None:
        return None
    descriptor = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def _user() -> int:
    return os.getuid() if hasattr(os, "getuid") else -1
