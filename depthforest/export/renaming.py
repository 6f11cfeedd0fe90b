"""Renaming: the C code of `templates/`, with the model's name in place of the prefixes df_ and DF_."""

from __future__ import annotations

import re
from importlib import resources


def template(name: str) -> str:
    """Return a file of `templates/` unchanged."""
    return resources.files("depthforest.export").joinpath("templates", name).read_text(encoding="utf-8")


def renamed(code: str, name: str) -> str:
    """Return C code with a model's name in place of the prefixes df_ and DF_."""
    return re.sub(r"\bDF_", f"{name.upper()}_", re.sub(r"\bdf_", f"{name}_", code))
