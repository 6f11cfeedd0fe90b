"""PersonModel: a model that distinguishes people from things: a scene forest, a judge of candidates, and limits.

It is one small model file (docs/MODEL_FORMAT.md), trained by `training.train_people`. The body forest that labels
candidates is not in it: the file names a shipped one.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from depthforest.base import (
    Column,
    DepthForestError,
    Floats,
    ModelError,
    ModelFile,
    Place,
    RemotePath,
    is_number,
    modelfile,
    place_of,
    replacing,
    resources,
)
from depthforest.forest import Forest, load
from depthforest.people.judging.columns import NAMES
from depthforest.people.judging.looks import SCENE
from depthforest.people.judging.treesum import SCHEMA as SUM_SCHEMA
from depthforest.people.judging.treesum import TreeSum
from depthforest.trees import SCHEMA as TREE_SCHEMA
from depthforest.trees import DepthTrees

KIND = "person_model"
FORMAT_VERSION = 1

NEAREST_M = 0.35
"""Meters: no person is nearer on average, because no depth camera sees a person there; then the unit is wrong."""

DEFAULT_MODEL = "person"
FOLDER = "people"
"""Where shipped person models are, in the folder of models."""


def _prefixed(column: Column, prefix: str) -> Column:
    """Return a column with a prefix in front of the names of its lengths."""
    return Column(column.dtype, tuple(f"{prefix}_{n}" if isinstance(n, str) else n for n in column.shape))


_SCENE_NAMES = tuple(name for name in TREE_SCHEMA if name != "evidence")
_SCHEMA = {
    **{f"scene_{name}": _prefixed(TREE_SCHEMA[name], "scene") for name in _SCENE_NAMES},
    **{f"judge_{name}": _prefixed(SUM_SCHEMA[name], "judge") for name in SUM_SCHEMA},
}
_KEYS = ("background_mm", "body", "columns", "config", "least_person", "least_probability", "scores")


@dataclass(frozen=True, eq=False, repr=False)
class PersonModel:
    """The model behind `find_people`.

    Parameters
    ----------
    scene : DepthTrees
        Distinguishes cells of people from cells of rooms; its parts are `looks.SCENE`.
    judge : TreeSum
        Gives the log odds that a candidate is a person, from the columns `columns.NAMES`.
    body : str
        Name of the shipped body forest that the judge's columns come from.
    least_person : float
        Cells that look less like a person, averaged over their neighborhood, belong to the room. 0 to 1.
    least_probability : float
        Candidates with a lower probability are left out. 0 to 1.
    config, scores : mapping
        How it was trained, and its scores.
    """

    scene: DepthTrees
    judge: TreeSum
    body: str
    least_person: float
    least_probability: float
    config: Mapping[str, Any] = field(default_factory=dict)
    scores: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.scene.part_set.names != SCENE.names or self.scene.n_facings != 1:
            raise ModelError(f"the scene forest must tell apart {', '.join(SCENE.names)}, and no facings")
        if self.judge.n_columns != len(NAMES):
            raise ModelError(f"the judge must look at {len(NAMES)} columns, got {self.judge.n_columns}")
        if not isinstance(self.body, str):
            raise ModelError(f"body must be the name of a shipped model, got {modelfile.shown(self.body)}")
        for name in ("least_person", "least_probability"):
            if not is_number(getattr(self, name)) or not 0 <= getattr(self, name) <= 1:
                raise ModelError(f"{name} must be from 0 to 1, got {modelfile.shown(getattr(self, name))}")
        for name in ("config", "scores"):
            if not isinstance(getattr(self, name), Mapping):
                raise ModelError(f"{name} must be a mapping, got {modelfile.shown(getattr(self, name))}")

    def probabilities(self, columns: Floats, log_odds: float = 0.0) -> Floats:
        """Return the probability that each candidate is a person, (n,), from its columns.

        `log_odds` is prior knowledge: how much more probable people are here than among the training candidates.
        """
        probable = np.minimum(np.maximum(self.judge.sums(columns), 0.0), 1.0)
        probable[columns[:, NAMES.index("distance")] < NEAREST_M] = 0.0
        if log_odds == 0:
            return probable
        odds = math.exp(log_odds) * probable
        return np.asarray(odds / (odds + 1 - probable))

    def __repr__(self) -> str:
        return f"PersonModel({self.scene.n_trees} scene trees, {len(self.judge.roots)} judges, body {self.body})"

    def digest(self) -> str:
        """Return a hash of everything in it."""
        digest = hashlib.sha256()
        for part in self._encoded():
            digest.update(part)
        return digest.hexdigest()

    def save(self, path: str | Path) -> None:
        """Write the model to a file; equal models give equal bytes."""
        with replacing(path, is_durable=True) as file:
            for part in self._encoded():
                file.write(part)

    def _encoded(self) -> list[bytes]:
        """Return the bytes of its file."""
        content = {
            "background_mm": self.scene.background_mm,
            "body": self.body,
            "columns": list(NAMES),
            "config": self.config,
            "least_person": self.least_person,
            "least_probability": self.least_probability,
            "scores": self.scores,
        }
        columns = {f"scene_{name}": getattr(self.scene, name) for name in _SCENE_NAMES}
        columns |= {f"judge_{name}": getattr(self.judge, name) for name in SUM_SCHEMA}
        return modelfile.encode(KIND, FORMAT_VERSION, content, columns)

    @classmethod
    def load(cls, path: str | Place) -> PersonModel:
        """Read a model from a file or a URL, and check everything."""
        return cls.from_file(modelfile.read(path))

    @classmethod
    def from_file(cls, file: ModelFile) -> PersonModel:
        """Return the model of a file whose container was read, and check everything."""
        file.expect(KIND, FORMAT_VERSION, _SCHEMA, _KEYS)
        content, columns = file.content, file.columns
        try:
            if content["columns"] != list(NAMES):
                raise ModelError("it judges other columns than this depthforest makes; train it again")
            trees: dict[str, Any] = {name: columns[f"scene_{name}"] for name in _SCENE_NAMES}
            scene = DepthTrees(**trees, part_set=SCENE, background_mm=content["background_mm"])
            judge = TreeSum(**{name: columns[f"judge_{name}"] for name in SUM_SCHEMA}, n_columns=len(NAMES))
            names = ("body", "least_person", "least_probability", "config", "scores")
            return cls(scene, judge, **{name: content[name] for name in names})
        except DepthForestError as error:
            raise ModelError(f"{file.name}: {modelfile.one_line(error)}") from None


def load_person_model(model: str | Place | PersonModel | None = None) -> PersonModel:
    """Return a person model: the shipped one by default, a shipped one by name, or that of a file."""
    if isinstance(model, PersonModel):
        return model
    if model is None:
        return _load_default()
    if not isinstance(model, str | Path | RemotePath):
        raise ModelError(f"expected a PersonModel, or the name or path of one; got {type(model).__name__}")
    name = str(model)
    shipped = resources.models_folder() / FOLDER / f"{name}.safetensors"
    if not isinstance(model, Path) and shipped.name == f"{name}.safetensors" and shipped.is_file():
        return _load_shipped(shipped)
    place = place_of(model)
    if isinstance(place, Path) and not place.exists():
        raise ModelError(f"{name!r}: is neither a shipped person model nor a file; shipped is: {DEFAULT_MODEL}")
    return PersonModel.load(place)


@lru_cache(maxsize=1)
def _load_default() -> PersonModel:
    """Return the shipped model; searched for only once, because every frame needs it."""
    path = resources.models_folder() / FOLDER / f"{DEFAULT_MODEL}.safetensors"
    if not path.is_file():
        raise ModelError(f"the shipped person model, {DEFAULT_MODEL}, is missing; name the file of one")
    return _load_shipped(path)


@lru_cache(maxsize=2)
def _load_shipped(path: Path) -> PersonModel:
    return PersonModel.load(path)


@lru_cache(maxsize=2)
def body_forest(name: str) -> Forest:
    """Return the shipped forest with a name; read only once."""
    return load(name)
