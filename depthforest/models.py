"""Models by name: the shipped forests under `models/`, or any file; and the rankers of joint proposals beside them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import cast

import numpy as np
import numpy.typing as npt

from depthforest import resources
from depthforest.errors import ModelError
from depthforest.files import natural_key
from depthforest.forest import Forest

DEFAULT_MODEL = "body31"
"""Name of the model that `load` takes when none is named."""

SUFFIX = ".safetensors"

RANKERS = "rankers"
"""Folder beside the shipped models: for some a ranker of joint proposals, of the same file name."""


def shipped_models() -> dict[str, Path]:
    """Return the names of the shipped models, in order, each with its file."""
    files = resources.models_folder().glob(f"*{SUFFIX}")
    return {path.stem: path for path in sorted(files, key=lambda path: natural_key(path.stem))}


def load(model: str | Path | None = None) -> Forest:
    """Return the forest of the default model, of a shipped model by its name, or of a file.

    Parameters
    ----------
    model : str or Path, optional
        The name of a shipped model, or the path of a model file. A text that is both is the name: write ``./NAME``, or
        give a Path, for the file. Omitted: the default model.

    Returns
    -------
    Forest
    """
    return Forest.load(find_model(model))


def find_model(model: str | Path | None = None) -> Path:
    """Return the file of a model; parameters as in `load`."""
    if model is not None and not isinstance(model, str | Path):
        raise ModelError(f"expected the name or the path of a model, got {model!r}")
    shipped = shipped_models()
    listed = f"shipped are: {', '.join(shipped)}" if shipped else "none is shipped with this version"
    if model is None:
        if DEFAULT_MODEL not in shipped:
            raise ModelError(f"the default model, {DEFAULT_MODEL}, is missing; {listed}; name a model file")
        return shipped[DEFAULT_MODEL]
    if isinstance(model, str) and model in shipped:
        return shipped[model]
    try:
        is_there = Path(model).exists()
    except OSError:  # the system does not let us look: the reader says why
        is_there = True
    if not is_there or model == "":
        raise ModelError(f"{str(model)!r}: is neither a shipped model nor a file; {listed}")
    return Path(model)


def load_ranker(model: str | None = None) -> Callable[[npt.NDArray[np.float32]], npt.NDArray[np.float64]]:
    """Return what orders the joint proposals of a shipped model, for `ranker=` of `find_joints`.

    Parameters
    ----------
    model : str, optional
        The name of a shipped model. Omitted: the default model.

    Returns
    -------
    callable
        Takes proposals' features (n, len(skeletons.FEATURE_NAMES)), and returns their scores (n,).
    """
    name = DEFAULT_MODEL if model is None else model
    files = {path.stem: path for path in (resources.models_folder() / RANKERS).glob(f"*{SUFFIX}")}
    if name not in files:
        listed = f"there are some for: {', '.join(sorted(files))}" if files else "there is none at all"
        raise ModelError(f"{name!r}: no joint ranker is shipped for this model; {listed}")
    from depthforest.ensemble import load as load_ensemble  # brings scikit-learn, which a forest does without

    return cast(Callable[[npt.NDArray[np.float32]], npt.NDArray[np.float64]], load_ensemble(files[name]).predict)
