"""Checkpoints: a folder that saves a training run, so that at most the current level can be lost.

    identity.json            what is trained: format, configuration, fingerprint of the data
    tree-000.safetensors     each tree that is finished
    growing.safetensors      the tree at work, after its last whole level
    log.jsonl                one line a level and a tree, for plots

Files are replaced atomically, so that a run killed at any moment leaves the last good state. The nodes of pixels are
not stored: pixels walk down the tree again.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from depthforest.base import (
    Change,
    CheckpointError,
    ClaimedFolder,
    Column,
    DepthForestError,
    ModelError,
    Parameter,
    UsageError,
    is_whole,
    modelfile,
    read_json,
    reason,
)
from depthforest.training.growing import GrowingTree
from depthforest.trees import FIRST_GROUP

FORMAT = 3
"""Format of the folder and version of the trainer: raise it whenever the same configuration and data give a different
forest."""

KIND = "growing_tree"
IDENTITY, GROWING, LOG = "identity.json", "growing.safetensors", "log.jsonl"

_SCHEMA = {
    "offsets": Column("float32", ("nodes", 4)),
    "channels": Column("uint8", ("nodes", 2)),
    "thresholds": Column("int16", ("nodes",)),
    "children": Column("int32", ("nodes", 2)),
    "leaf_counts": Column("uint32", ("leaves", "parts")),  # a node has at most 2^31 pixels
    "open_keys": Column("uint64", ("open",)),
}
_KEYS = ("level", "root", "tree")


@dataclass(frozen=True)
class State:
    """Content of a checkpoint: finished trees, the current one if it has a level, and the identity of the run."""

    identity: Mapping[str, Any]
    finished: list[GrowingTree]
    growing: GrowingTree | None

    @property
    def n_trees(self) -> int:
        """How many trees the run will have."""
        return int(self.identity["config"]["trees"])

    @property
    def is_finished(self) -> bool:
        """Whether all trees are there."""
        return len(self.finished) == self.n_trees


class Checkpoint(ClaimedFolder):
    """The folder of one run.

    Parameters
    ----------
    path : str or Path
        A new or empty folder, or one that holds a checkpoint.
    identity : mapping
        Everything that shapes the forest, in JSON form.
    resume : bool
        Continue the checkpoint in the folder; otherwise, a folder with a checkpoint is refused.
    """

    RECORD = IDENTITY
    ERROR = CheckpointError

    def __init__(self, path: str | Path, identity: Mapping[str, Any], *, resume: bool) -> None:
        super().__init__(path)
        self._is_resumed = resume
        identity = {"format": FORMAT, **json.loads(json.dumps(identity))}
        there = self.check(_flat(identity))
        if there is None:
            self.claim(json.dumps(identity, indent=1).encode(), is_durable=True)
            self.state = State(identity, [], None)
            return
        self.state = _read_state(self.path, there)
        with contextlib.suppress(OSError):
            self.remove_leftovers()

    @property
    def has_trees(self) -> bool:
        """Whether there is anything to resume from."""
        return any(map(self.has, (GROWING, _tree_name(0))))

    def save(self, tree: int, grown: GrowingTree) -> None:
        """Write a tree after a level; under its own name if it is finished."""
        path = self.path / (_tree_name(tree) if grown.is_done else GROWING)
        try:
            write_tree(path, tree, grown)
        except DepthForestError as error:
            raise CheckpointError(str(error)) from None

    def log(self, entry: Mapping[str, Any]) -> None:
        """Add a line to the log."""
        path = self.path / LOG
        try:
            with path.open("ab+") as file:
                # a run that was killed may have left half a line
                is_cut = file.seek(0, os.SEEK_END) > 0 and file.seek(-1, os.SEEK_END) >= 0 and file.read(1) != b"\n"
                file.write((b"\n" if is_cut else b"") + json.dumps(entry).encode() + b"\n")
        except OSError as error:
            raise CheckpointError(f"{path}: cannot be written: {reason(error)}") from None

    def _read_record(self) -> dict[str, Any]:
        if not self._is_resumed:
            raise UsageError(
                f"{self.path}: holds a checkpoint already; ",
                Parameter("resume"),
                " continues it, or name another folder",
            )
        return _read_identity(self.path)

    def _identity_of(self, record: Any) -> dict[tuple[str, str], Any]:
        return _flat(record)

    def _order(self, keys: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
        # digests last: other differences are more informative
        return sorted(keys, key=lambda pair: (pair[0], pair[1] in _DIGESTS, pair[1]))

    def _refuse(self, change: Change) -> None:
        advice = "continue with the same options and data, or name another folder"
        group, key = change.key
        if key in _DIGESTS:
            raise CheckpointError(f"{self.path}: was begun with other data: now there are {_DIGESTS[key]}; {advice}")
        old, new = _short(change.old), _short(change.new)
        raise CheckpointError(f"{self.path}: was begun with {group} {key} = {old}, now it is {new}; {advice}")

    def _refuse_others(self) -> None:
        if not self.path.is_dir():
            return
        try:
            others = [entry.name for entry in self.path.iterdir() if not entry.name.endswith(".part")]
        except OSError as error:
            raise CheckpointError(f"{self.path}: cannot be read: {reason(error)}") from None
        if others:
            raise UsageError(f"{self.path}: holds other things ({sorted(others)[0]}, ...); name a new folder")


def is_checkpoint(path: str | Path) -> bool:
    """Tell whether a folder holds a checkpoint."""
    return (Path(path) / IDENTITY).is_file()


def begin_checkpoint(path: str | Path, *, is_resumed: bool, is_forced: bool) -> None:
    """Raise UsageError if an earlier run has left a checkpoint in a folder; if forced, remove that instead."""
    if is_resumed and is_forced:
        raise UsageError(Parameter("resume"), " continues, ", Parameter("is_forced"), " starts over; leave one out")
    if is_resumed or not is_checkpoint(path):
        return
    if not is_forced:
        raise UsageError(
            f"{path}: holds the checkpoint of a run that was stopped; ", Parameter("resume"), " continues it, ",
            Parameter("is_forced"), " starts over",
        )  # fmt: skip
    remove_checkpoint(path)


def remove_checkpoint(path: str | Path) -> None:
    """Remove a run's files from its folder, and the folder if it is empty then."""
    folder = Path(path)
    names = (GROWING, LOG, *(entry.name for entry in folder.glob("tree*.safetensors")), IDENTITY)
    with contextlib.suppress(OSError):  # then it does no harm
        for name in names:
            (folder / name).unlink(missing_ok=True)
        for leftover in folder.glob(".*.part"):
            leftover.unlink()
        folder.rmdir()


def read_checkpoint(path: str | Path) -> State:
    """Read the state of a run from its folder."""
    return _read_state(Path(path), _read_identity(Path(path)))


def _read_state(folder: Path, identity: Mapping[str, Any]) -> State:
    n_trees, n_parts = identity["config"]["trees"], len(identity["data"]["parts"]["names"])
    n_channels = _n_channels(identity["config"])
    finished: list[GrowingTree] = []
    while len(finished) < n_trees and (file := folder / _tree_name(len(finished))).exists():
        grown = read_tree(file, len(finished), n_parts, n_channels)
        if grown is None or not grown.is_done:
            raise CheckpointError(f"{file}: is not the finished tree {len(finished)}; remove it to grow it again")
        finished.append(grown)
    growing = None
    if len(finished) < n_trees and (folder / GROWING).exists():
        growing = read_tree(folder / GROWING, len(finished), n_parts, n_channels)
    return State(identity, finished, growing)


def last_news(path: str | Path) -> dict[str, Any]:
    """Return the last complete entry of a run's log about a level, empty if there is none."""
    try:
        lines = (Path(path) / LOG).read_bytes().splitlines()
    except OSError:
        return {}
    for line in reversed(lines):
        with contextlib.suppress(ValueError, RecursionError):
            entry = json.loads(line)
            if isinstance(entry, dict) and entry.get("event") == "level":
                return entry
    return {}


def write_tree(path: Path, tree: int, grown: GrowingTree) -> None:
    """Write a finished or growing tree.

    The file has at most `modelfile.MAX_FILE_BYTES`: 3.5 million leaves of 31 parts, where a full tree of depth 21 has
    2.1 million. A larger tree is refused, and the folder stays unchanged.
    """
    content = {"tree": tree, "level": grown.level, "root": grown.root}
    columns = {name: np.asarray(getattr(grown, name), dtype=column.dtype) for name, column in _SCHEMA.items()}
    n_bytes = sum(array.nbytes for array in columns.values())
    if n_bytes > modelfile.MAX_FILE_BYTES - 2**16:  # for the header
        raise CheckpointError(
            f"{path}: cannot hold tree {tree + 1} with {len(grown.leaf_counts) + grown.n_open:,} leaves: "
            f"{n_bytes:,} bytes, at most {modelfile.MAX_FILE_BYTES:,} fit; lower depth or raise min_pixels"
        )
    modelfile.write(path, KIND, FORMAT, content, columns)


def _n_channels(config: Mapping[str, Any]) -> int:
    """Return how many channels the trees of a configuration read: depth, and those of a context stage."""
    groups = config.get("groups", 0)
    return FIRST_GROUP + groups if is_whole(groups, 1) else 1


def read_tree(path: Path, tree: int, n_parts: int, n_channels: int = 1) -> GrowingTree | None:
    """Read a finished or growing tree; None if the file has a tree with a different number."""
    advice = "remove this file to grow the tree again"
    try:
        file = modelfile.read(path)
        file.expect(KIND, FORMAT, _SCHEMA, _KEYS)
    except ModelError as error:
        raise CheckpointError(f"{error}; {advice}") from None
    content, columns = file.content, {name: np.array(file.columns[name]) for name in _SCHEMA}
    columns["leaf_counts"] = columns["leaf_counts"].astype(np.int64)
    if not all(is_whole(content[key]) for key in _KEYS):
        raise CheckpointError(f"{path}: tree, level and root must be whole numbers")
    if columns["leaf_counts"].shape[1] != n_parts:
        raise CheckpointError(f"{path}: has {columns['leaf_counts'].shape[1]} parts, expected {n_parts}; {advice}")
    if content["tree"] != tree:
        return None
    grown = GrowingTree(content["root"], **columns, level=content["level"])
    try:
        grown.check(n_channels)
    except UsageError as error:
        raise CheckpointError(f"{path}: {error}; {advice}") from None
    return grown


def _read_identity(folder: Path) -> dict[str, Any]:
    identity = read_json(folder / IDENTITY, CheckpointError)
    if not isinstance(identity, dict) or not is_whole(identity.get("format")):
        raise CheckpointError(f"{folder / IDENTITY}: is not the identity of a training run")
    if identity["format"] != FORMAT:
        raise CheckpointError(
            f"{folder}: is a checkpoint of format {identity['format']}, this depthforest continues with {FORMAT}; "
            "use the version that began it, or start again in another folder"
        )
    trees = identity["config"].get("trees") if isinstance(identity.get("config"), dict) else None
    if not is_whole(trees, 1):
        raise CheckpointError(f"{folder / IDENTITY}: says nothing of a configuration with trees")
    data = identity.get("data")
    parts = data.get("parts") if isinstance(data, dict) else None
    if not isinstance(parts, dict) or not isinstance(parts.get("names"), list):
        raise CheckpointError(f"{folder / IDENTITY}: says nothing of data with parts")
    return identity


_DIGESTS = {
    "files": "other names or sizes of files",
    "origin": "synthetic frames of another configuration, seed or version",
    "sample": "other pixels in its frames",
}
"""Digest of the data -> what it means if it differs."""


def _flat(identity: Mapping[str, Any]) -> dict[tuple[str, str], Any]:
    """Return the identity as one flat mapping: (group, key) to value."""
    return {(group, key): value for group in ("config", "data") for key, value in identity[group].items()}


def _short(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 40 else text[:36] + " ..."


def _tree_name(tree: int) -> str:
    return f"tree-{tree:03d}.safetensors"
