"""PersonModel: what is known of people and rooms: a scene forest, a judge of candidates, and the limits to go by.

One small model file (docs/MODEL_FORMAT.md), trained by `training.train_people`. The body forest that looks at
candidates is not in it: the file names a shipped one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy.typing as npt

from depthforest.base import DepthForestError, ModelError, is_number, modelfile, resources
from depthforest.forest import Forest, load
from depthforest.people.columns import NAMES
from depthforest.people.judge import SCHEMA as JUDGE_SCHEMA
from depthforest.people.judge import Judge
from depthforest.people.looks import SCENE
from depthforest.trees import SCHEMA as TREE_SCHEMA
from depthforest.trees import DepthTrees

KIND = "person_model"
FORMAT_VERSION = 1

DEFAULT_MODEL = "person"
FOLDER = "people"
"""Where shipped person models are, in the folder of models."""

_PREFIX = "scene_"
_SCENE_COLUMNS = {f"{_PREFIX}{name}": TREE_SCHEMA[name] for name in TREE_SCHEMA if name != "evidence"}
_KEYS = ("background_mm", "body", "columns", "config", "judge_start", "least_person", "least_probability", "scores")


@dataclass(frozen=True, eq=False, repr=False)
class PersonModel:
    """What `find_people` knows of people and rooms.

    Parameters
    ----------
    scene : DepthTrees
        Tells the cells of people from those of rooms; its parts are `looks.SCENE`.
    judge : Judge
        Tells people from things by the columns `columns.NAMES`.
    body : str
        Name of the shipped body forest that the judge's columns come from.
    least_person : float
        Cells whose share of persons, over their neighborhood, is less are the room's. 0 to 1.
    least_probability : float
        Candidates that are less probably people are left out. 0 to 1.
    config, scores : mapping
        How it was trained, and what it reached.
    """

    scene: DepthTrees
    judge: Judge
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
            value = getattr(self, name)
            if not is_number(value) or not 0 <= value <= 1:
                raise ModelError(f"{name} must be from 0 to 1, got {modelfile.shown(value)}")

    def __repr__(self) -> str:
        return f"PersonModel({self.scene.n_trees} scene trees, {len(self.judge.judge_roots)} judges, body {self.body})"

    def save(self, path: str | Path) -> None:
        """Write the model to a file; equal models give equal bytes."""
        content = {
            "background_mm": self.scene.background_mm,
            "body": self.body,
            "columns": list(NAMES),
            "config": self.config,
            "judge_start": self.judge.start,
            "least_person": self.least_person,
            "least_probability": self.least_probability,
            "scores": self.scores,
        }
        columns: dict[str, npt.NDArray[Any]] = {
            name: getattr(self.scene, name.removeprefix(_PREFIX)) for name in _SCENE_COLUMNS
        }
        columns |= {name: getattr(self.judge, name) for name in JUDGE_SCHEMA}
        modelfile.write(path, KIND, FORMAT_VERSION, content, columns)

    @classmethod
    def load(cls, path: str | Path) -> PersonModel:
        """Read a model from a file, and check everything."""
        file = modelfile.read(path)
        file.expect(KIND, FORMAT_VERSION, {**_SCENE_COLUMNS, **JUDGE_SCHEMA}, _KEYS)
        content, columns = file.content, file.columns
        try:
            if content["columns"] != list(NAMES):
                raise ModelError("it judges other columns than this depthforest makes; train it again")
            if not is_number(content["judge_start"]):
                raise ModelError(f"judge_start must be a number, got {modelfile.shown(content['judge_start'])}")
            trees = {name.removeprefix(_PREFIX): columns[name] for name in _SCENE_COLUMNS}
            return cls(
                DepthTrees(**trees, part_set=SCENE, background_mm=content["background_mm"]),
                Judge(**{name: columns[name] for name in JUDGE_SCHEMA}, start=content["judge_start"],
                      n_columns=len(NAMES)),
                **{name: content[name] for name in ("body", "least_person", "least_probability", "config", "scores")},
            )  # fmt: skip
        except DepthForestError as error:
            raise ModelError(f"{file.name}: {modelfile.one_line(error)}") from None


def load_person_model(model: str | Path | PersonModel | None = None) -> PersonModel:
    """Return a person model: the shipped one if none is named, a shipped one by its name, or that of a file."""
    if isinstance(model, PersonModel):
        return model
    if model is not None and not isinstance(model, str | Path):
        raise ModelError(f"expected a PersonModel, or the name or path of one; got {type(model).__name__}")
    name = DEFAULT_MODEL if model is None else str(model)
    shipped = resources.models_folder() / FOLDER / f"{name}.safetensors"
    if not isinstance(model, Path) and shipped.name == f"{name}.safetensors" and shipped.is_file():
        return _load_shipped(shipped)
    if model is None:
        raise ModelError(f"the shipped person model, {name}, is missing; name the file of one")
    if not Path(model).exists():
        raise ModelError(f"{name!r}: is neither a shipped person model nor a file; shipped is: {DEFAULT_MODEL}")
    return PersonModel.load(model)


@lru_cache(maxsize=2)
def _load_shipped(path: Path) -> PersonModel:
    return PersonModel.load(path)


@lru_cache(maxsize=2)
def body_forest(name: str) -> Forest:
    """Return the shipped forest of a name, read once."""
    return load(name)
