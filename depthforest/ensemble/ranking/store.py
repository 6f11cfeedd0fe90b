"""Rank files: RankNet and LambdaRank as model files. The `save` of the estimators (`network`) ends here.

The weights of all layers are concatenated, row by row; `sizes` has the number of units of each layer. Parameters are
JSON (`tree.metadata`). A file is untrusted: it names its estimator, which is looked up in a fixed table of `load`, and
every size and number is checked. docs/MODEL_FORMAT.md describes the format.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from depthforest.base import Column, DepthForestError, ModelError, ModelFile, UsageError, modelfile, shown
from depthforest.ensemble.ranking.layers import (
    ACTIVATIONS,
    MAX_HIDDEN,
    MAX_INPUT,
    MAX_UNITS,
    MIN_SCALE,
    hidden_sizes,
)
from depthforest.ensemble.tree import MAX_FEATURES, pack_names, pack_parameters, unpack_names, unpack_parameters, whole

KIND = "rank_network"
FORMAT_VERSION = 1

COLUMNS = {
    "sizes": Column("int64", ("layers",)),
    "weights": Column("float64", ("weights",)),
    "intercepts": Column("float64", ("intercepts",)),
    "mean": Column("float64", ("features",)),
    "scale": Column("float64", ("features",)),
    "train_scores": Column("float64", ("epochs",)),
    "validation_scores": Column("float64", ("judged",)),
}
KEYS = ("activation", "estimator", "feature_names", "n_features", "parameters")

MAX_WEIGHT = 1e7
"""Largest weight or intercept: with inputs within bounds, the outputs of the largest network stay finite."""

Columns = dict[str, npt.NDArray[Any]]


# -- writing -----------------------------------------------------------------------------------------------------------


def save_ranker(estimator: Any, path: str | Path) -> None:
    """Write a fitted network to a file; equal networks give equal bytes.

    Parameters
    ----------
    estimator : RankNet or LambdaRank
    path : str or Path
    """
    check_is_fitted(estimator)
    sizes = (estimator.n_features_in_, *(len(i) for i in estimator.intercepts_), 1)
    if hidden_sizes(estimator.hidden_layer_sizes) != sizes[1:-1]:
        raise UsageError(f"hidden_layer_sizes has changed since fit, from {sizes[1:-1]}: fit again, or set it back")
    content = {
        "estimator": type(estimator).__name__,
        # stored in the column `sizes`
        "parameters": pack_parameters(clone(estimator).set_params(hidden_layer_sizes=None)),
        "activation": estimator.activation_,
        "n_features": estimator.n_features_in_,
        "feature_names": pack_names(getattr(estimator, "feature_names_in_", None)),
    }
    columns = {
        "sizes": np.array(sizes, dtype=np.int64),
        "weights": np.concatenate([coef.ravel() for coef in estimator.coefs_]),
        "intercepts": np.concatenate(estimator.intercepts_),
        "mean": estimator.mean_,
        "scale": estimator.scale_,
        "train_scores": estimator.train_scores_,
        "validation_scores": estimator.validation_scores_,
    }
    _check(columns, estimator.n_features_in_)
    modelfile.write(path, KIND, FORMAT_VERSION, content, columns)


# -- reading -----------------------------------------------------------------------------------------------------------


def unpack_ranker(file: ModelFile, kinds: Mapping[str, Any]) -> Any:
    """Return the network in a file whose container has been read, and check everything.

    Parameters
    ----------
    file : ModelFile
    kinds : mapping of str to type
        The estimators that a file may name.

    Returns
    -------
    estimator
        The saved ranker, with the same predictions. `verbose` has its default.
    """
    file.expect(KIND, FORMAT_VERSION, COLUMNS, KEYS)
    try:
        return _unpack(file, kinds)
    except DepthForestError as error:
        raise ModelError(f"{file.name}: {modelfile.one_line(error)}") from None


def _unpack(file: ModelFile, kinds: Mapping[str, Any]) -> Any:
    content, columns = file.content, file.columns
    name = content["estimator"]
    kind = kinds.get(name) if isinstance(name, str) else None
    if kind is None:
        raise ModelError(f"estimator must be one of {', '.join(kinds)}; got {shown(name)}")
    parameters = unpack_parameters(content["parameters"], kind)
    if parameters["hidden_layer_sizes"] is not None:
        raise ModelError("parameter hidden_layer_sizes must be null: the column sizes has them")
    if content["activation"] not in ACTIVATIONS:
        raise ModelError(f"activation must be one of {', '.join(ACTIVATIONS)}; got {shown(content['activation'])}")
    n_features = whole("n_features", content["n_features"], 1, MAX_FEATURES)
    _check(columns, n_features)
    sizes = columns["sizes"].tolist()
    estimator = kind(**{**parameters, "hidden_layer_sizes": tuple(sizes[1:-1])})
    estimator.n_features_in_ = n_features
    names = unpack_names(content["feature_names"], n_features)
    if names is not None:
        estimator.feature_names_in_ = names
    estimator.activation_ = content["activation"]
    own = {key: array.copy() for key, array in columns.items()}
    ends = np.cumsum([a * b for a, b in pairwise(sizes)])[:-1]
    estimator.coefs_ = [
        part.reshape(shape) for part, shape in zip(np.split(own["weights"], ends), pairwise(sizes), strict=True)
    ]
    estimator.intercepts_ = np.split(own["intercepts"], np.cumsum(sizes[1:-2]))
    estimator.mean_, estimator.scale_ = own["mean"], own["scale"]
    estimator.train_scores_, estimator.validation_scores_ = own["train_scores"], own["validation_scores"]
    estimator.n_iter_ = len(estimator.train_scores_)
    return estimator


def _check(columns: Columns, n_features: int) -> None:
    """Raise ModelError unless the columns describe a network."""
    sizes = columns["sizes"].tolist()
    if not 3 <= len(sizes) <= MAX_HIDDEN + 2 or not all(1 <= n <= MAX_UNITS for n in sizes[1:-1]):
        raise ModelError(
            f"sizes must name 1 to {MAX_HIDDEN} hidden layers of 1 to {MAX_UNITS} units; got {shown(sizes)}"
        )
    if sizes[0] != n_features or sizes[-1] != 1:
        raise ModelError(f"sizes must start with {n_features} features and end with 1 score; got {shown(sizes)}")
    expected = {
        "weights": sum(a * b for a, b in pairwise(sizes)),
        "intercepts": sum(sizes[1:-1]),
        "mean": n_features,
    }
    for name, n in expected.items():
        if len(columns[name]) != n:
            raise ModelError(f"{name} must be {n}, got {len(columns[name])}")
    for name, most in (("weights", MAX_WEIGHT), ("intercepts", MAX_WEIGHT), ("mean", MAX_INPUT), ("scale", MAX_INPUT)):
        if not (np.abs(columns[name]) <= most).all():
            raise ModelError(f"{name} must be finite numbers up to {most:g}")
    if not (columns["scale"] >= MIN_SCALE).all():
        raise ModelError(f"scale must be numbers from {MIN_SCALE:g}")
    n_epochs = len(columns["train_scores"])
    if len(columns["validation_scores"]) not in (0, n_epochs):
        raise ModelError(f"validation_scores must be none or {n_epochs}, got {len(columns['validation_scores'])}")
    for name in ("train_scores", "validation_scores"):
        if not ((columns[name] >= 0) & (columns[name] <= 1 + 1e-9)).all():
            raise ModelError(f"{name} must be numbers from 0 to 1")
