"""Where the files that ship with the package are: sample frames and models, in a wheel or a checkout."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]


def samples_folder() -> Path:
    """Return the folder of the bundled sample frames, a data set."""
    return _PACKAGE / "_samples"


def models_folder() -> Path:
    """Return the folder of the shipped models: inside the installed package, or `models/` of a checkout."""
    installed = _PACKAGE / "_models"
    return installed if installed.is_dir() else _PACKAGE.parent / "models"
