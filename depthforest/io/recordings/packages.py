"""Packages that only some recordings need, and the one-line message for files that their decoders cannot read."""

from __future__ import annotations

import contextlib
import importlib
import importlib.metadata
from collections.abc import Iterator
from typing import Any

from depthforest.base import DepthForestError, FrameError, UsageError

LEAST = {"av": 18, "h5py": 3}
"""Module -> the first major version with the API that we use, where older ones are still common."""


def need(module: str, install: str, what: str) -> Any:
    """Return a module, or raise an error that says how to install it; `what` names the feature that needs it."""
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError:
        raise UsageError(f"{what}: needs the package {module}: {install}") from None
    except ImportError as error:  # for example a missing system library
        raise UsageError(f"{what}: the package {module} is installed but cannot be loaded: {error}") from None
    least = LEAST.get(module)
    if least is not None:
        version = importlib.metadata.version(module)
        if int(version.partition(".")[0]) < least:
            newer = install.replace("pip install", "pip install -U")
            raise UsageError(f"{what}: needs {module} {least} or newer, not {version}: {newer}")
    return found


@contextlib.contextmanager
def untrusted(name: object) -> Iterator[None]:
    """Turn any error of a decoder of untrusted bytes into one line about the file."""
    try:
        yield
    except (DepthForestError, GeneratorExit):
        raise
    except Exception as error:
        said = (str(error).splitlines() or [""])[0] or type(error).__name__
        raise FrameError(f"{name}: is truncated or damaged: {said[:200]}; copy it again, or leave it out") from None
