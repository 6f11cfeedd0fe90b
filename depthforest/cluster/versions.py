"""Versions: what client and workers must have in common for the same bytes."""

from __future__ import annotations

import platform
from functools import lru_cache
from importlib import metadata

PACKAGES = ("numba", "numpy")


@lru_cache(maxsize=1)
def own_versions() -> dict[str, str]:
    """Return the versions of this process: depthforest, the packages that shape results, and the processor's kind."""
    from depthforest import __version__

    found = {name: metadata.version(name) for name in PACKAGES}
    return {"depthforest": __version__, **found, "processor": platform.machine()}


def difference(here: dict[str, str], there: dict[str, str]) -> str:
    """Return what differs, for people; empty if nothing does."""
    differing = [name for name in here if there.get(name) != here[name]]
    return ", ".join(f"{name} {there.get(name, 'missing')} instead of {here[name]}" for name in differing)
