"""Checkpoints: a folder that holds a training run, so that nothing but the level at work can be lost.

    identity.json            what is trained: format, configuration, fingerprint of the data
    tree-000.safetensors     each tree that is finished
    growing.safetensors      the tree at work, after its last whole level
    log.jsonl                one line a level and a tree, for plots

Files are replaced whole, so that a run killed at any moment leaves the last good state. Where pixels are is not stored:
they walk down the tree again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from depthforest import modelfile
from depthforest.errors import DepthForestError, UsageError
from depthforest.files import make_folder, read_json, reason, replacing
from depthforest.growing import GrowingTree
from depthforest.modelfile import Column

FORMAT = 1
"""Of the folder and of the trainer: raise it whenever the same configuration and data give another forest."""

KIND = "growing_tree"
IDENTITY, GROWING, LOG = "identity.json", "growing.safetensors", "log.jsonl"

_SCHEMA = {
    "offsets": Column("float32", ("nodes", 4)),
    "thresholds": Column("int16", ("nodes",)),
    "children": Column("int32", ("nodes", 2)),
    "leaf_counts": Column("int64", ("leaves", "parts")),
    "open_keys": Column("uint64", ("open",)),
}
_KEYS = ("level", "root", "tree")


class CheckpointError(DepthForestError):
    """A checkpoint that is broken, or of another run."""

    exit_code = 2


@dataclass(frozen=True)
class State:
    """What a checkpoint holds: finished trees, the one at work if it has a level, and the identity of the run."""

    identity: Mapping[str, Any]
    finished: list[GrowingTree]
    growing: GrowingTree | None

    @property
    def n_trees(self) -> int:
        """How many trees the run is to have."""
        return int(self.identity["config"]["trees"])

    @property
    def is_finished(self) -> bool:
        """Whether all trees are there."""
        return len(self.finished) == self.n_trees


class Checkpoint:
    """The folder of one run.

    Parameters
    ----------
    path : str or Path
        A new or empty folder, or one that holds a checkpoint.
    identity : mapping
        What is trained, as JSON holds it.
    resume : bool
        Go on from what the folder holds; without it, a folder that holds a checkpoint is refused.
    """

    def __init__(self, path: str | Path, identity: Mapping[str, Any], *, resume: bool) -> None:
        self.path = Path(path)
        identity = {"format": FORMAT, **json.loads(json.dumps(identity))}
        if (self.path / IDENTITY).exists():
            if not resume:
                raise CheckpointError(
                    f"{path}: holds a checkpoint already; resume goes on with it, or name another folder"
                )
            _check_same(self.path, _read_identity(self.path), identity)
            self.state = read_checkpoint(self.path)
            return
        make_folder(self.path)
        try:
            others = [entry.name for entry in self.path.iterdir() if not entry.name.endswith(".part")]
        except OSError as error:
            raise CheckpointError(f"{path}: cannot be read: {reason(error)}") from None
        if others:
            raise CheckpointError(f"{path}: holds other things ({sorted(others)[0]}, ...); name a new folder")
        with replacing(self.path / IDENTITY) as file:
            file.write(json.dumps(identity, indent=1).encode())
        self.state = State(identity, [], None)

    def save(self, tree: int, grown: GrowingTree) -> None:
        """Write a tree after a level; under its own name if it is finished."""
        write_tree(self.path / (_tree_name(tree) if grown.is_done else GROWING), tree, grown)

    def log(self, entry: Mapping[str, Any]) -> None:
        """Add a line to the log."""
        path = self.path / LOG
        try:
            # a run that was killed may have left half a line
            is_cut = path.exists() and path.read_bytes()[-1:] not in (b"\n", b"")
            with path.open("a", encoding="utf-8") as file:
                file.write(("\n" if is_cut else "") + json.dumps(entry) + "\n")
        except OSError as error:
            raise CheckpointError(f"{path}: cannot be written: {reason(error)}") from None


def is_checkpoint(path: str | Path) -> bool:
    """Tell whether a folder holds a checkpoint."""
    return (Path(path) / IDENTITY).is_file()


def read_checkpoint(path: str | Path) -> State:
    """Read the state of a run from its folder."""
    folder = Path(path)
    identity = _read_identity(folder)
    n_trees = identity["config"]["trees"]
    finished: list[GrowingTree] = []
    while len(finished) < n_trees and (file := folder / _tree_name(len(finished))).exists():
        grown = read_tree(file, len(finished))
        if grown is None or not grown.is_done:
            raise CheckpointError(f"{file}: is not the finished tree {len(finished)}; remove it to grow it again")
        finished.append(grown)
    growing = None
    if len(finished) < n_trees and (folder / GROWING).exists():
        growing = read_tree(folder / GROWING, len(finished))
    return State(identity, finished, growing)


def write_tree(path: Path, tree: int, grown: GrowingTree) -> None:
    """Write a tree, whole or in the making."""
    content = {"tree": tree, "level": grown.level, "root": grown.root}
    modelfile.write(path, KIND, FORMAT, content, {name: getattr(grown, name) for name in _SCHEMA})


def read_tree(path: Path, tree: int) -> GrowingTree | None:
    """Read a tree, whole or in the making; None if the file holds another tree than this number."""
    file = modelfile.read(path)
    file.expect(KIND, FORMAT, _SCHEMA, _KEYS)
    content, columns = file.content, {name: np.array(file.columns[name]) for name in _SCHEMA}
    if any(isinstance(content[key], bool) or not isinstance(content[key], int) for key in _KEYS):
        raise CheckpointError(f"{path}: tree, level and root must be whole numbers")
    if content["tree"] != tree:
        return None
    grown = GrowingTree(content["root"], **columns, level=content["level"])
    try:
        grown.check()
    except UsageError as error:
        raise CheckpointError(f"{path}: {error}; remove the checkpoint and start again") from None
    return grown


def _read_identity(folder: Path) -> dict[str, Any]:
    identity = read_json(folder / IDENTITY, CheckpointError)
    if not isinstance(identity, dict) or not isinstance(identity.get("format"), int):
        raise CheckpointError(f"{folder / IDENTITY}: is not the identity of a training run")
    if identity["format"] != FORMAT:
        raise CheckpointError(
            f"{folder}: is a checkpoint of format {identity['format']}, this depthforest goes on with {FORMAT}; "
            "use the version that began it, or start again in another folder"
        )
    trees = identity["config"].get("trees") if isinstance(identity.get("config"), dict) else None
    if isinstance(trees, bool) or not isinstance(trees, int) or trees < 1:
        raise CheckpointError(f"{folder / IDENTITY}: says nothing of a configuration with trees")
    return identity


def _check_same(folder: Path, there: Mapping[str, Any], here: Mapping[str, Any]) -> None:
    """Raise CheckpointError that names the first difference of two identities."""
    for group in ("config", "data"):
        old, new = dict(there.get(group) or {}), dict(here.get(group) or {})
        for key in sorted(old.keys() | new.keys()):
            if old.get(key) != new.get(key):
                raise CheckpointError(
                    f"{folder}: was begun with {group} {key} = {_short(old.get(key))}, now it is "
                    f"{_short(new.get(key))}; go on with what it was begun with, or name another folder"
                )


def _short(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 40 else text[:36] + " ..."


def _tree_name(tree: int) -> str:
    return f"tree-{tree:03d}.safetensors"
