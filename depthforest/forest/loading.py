"""Models by name: the shipped forests under `models/`, or any file."""

from __future__ import annotations

from pathlib import Path

from depthforest.base import ModelError, Place, RemotePath, natural_key, place_of, resources
from depthforest.forest.forest import Forest

DEFAULT_MODEL = "body31"
"""Name of the model that `load` returns by default."""

TOP_MODEL = "body31-top"
"""Name of the shipped model for cameras that look down."""

SUFFIX = ".safetensors"


def shipped_models() -> dict[str, Path]:
    """Return the names of the shipped models, in order, each with its file."""
    files = resources.models_folder().glob(f"*{SUFFIX}")
    return {path.stem: path for path in sorted(files, key=lambda path: natural_key(path.stem))}


def load(model: str | Place | None = None) -> Forest:
    """Return the forest of the default model, of a shipped model by its name, or of a file or a URL.

    Parameters
    ----------
    model : str or Path, optional
        The name of a shipped model, the path of a model file, or its address: `s3://`, `gs://`, `https://`. A text that
        is both a name and a path means the name; for the file, write ``./NAME`` or give a Path. Default: the default
        model.

    Returns
    -------
    Forest
    """
    return Forest.load(find_model(model))


def find_model(model: str | Place | None = None) -> Place:
    """Return the file of a model; parameters as in `load`."""
    if model is not None and not isinstance(model, str | Path | RemotePath):
        raise ModelError(f"expected the name or the path of a model, got {model!r}")
    shipped = shipped_models()
    listed = f"shipped are: {', '.join(shipped)}" if shipped else "none is shipped with this version"
    if model is None:
        if DEFAULT_MODEL not in shipped:
            raise ModelError(f"the default model, {DEFAULT_MODEL}, is missing; {listed}; name a model file")
        return shipped[DEFAULT_MODEL]
    if isinstance(model, str) and model in shipped:
        return shipped[model]
    place = place_of(model)
    if isinstance(place, RemotePath):  # the reader reports a missing file
        return place
    try:
        is_there = place.exists()
    except OSError:  # access denied: the reader reports the reason
        is_there = True
    if not is_there or model == "":
        raise ModelError(f"{str(model)!r}: is neither a shipped model nor a file; {listed}")
    return place
