"""`depthforest info`: the description of a model file or a checkpoint, as lines of text."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from depthforest.base import ModelError, ModelFile, Place, RemotePath, counted, modelfile
from depthforest.forest import KIND as FOREST
from depthforest.forest import Forest
from depthforest.people import KIND as PEOPLE
from depthforest.people import PersonModel
from depthforest.training import GrowingTree, Progress, is_checkpoint, last_news, read_checkpoint

Lines = list[tuple[str, str]]

MAX_VALUE_CHARS = 200
"""Longest value; a longer one is cut, because the lines are for reading."""

GROUPS = ("calibration", "config", "context.config", "joints", "scores")
"""Groups with so many entries that they are only counted, unless everything is requested."""


def describe(path: str | Place, *, everything: bool = True) -> Lines:
    """Return the content of a model file, as (name, value) lines; everything in it has been checked.

    Parameters
    ----------
    path : str, Path or RemotePath
        A model file of a kind in `_DESCRIBERS`, or the checkpoint folder of a training run.
    everything : bool
        False: only count the entries of configuration, joints and scores, so that the lines fit a screen.
    """
    lines = _described(path)
    if everything:
        return lines
    short: Lines = []
    for name, value in lines:
        group = next((group for group in GROUPS if name.startswith(f"{group}.")), None)
        if group is None:
            short.append((name, value))
        elif group not in dict(short):
            n = sum(other.startswith(f"{group}.") for other, _ in lines)
            short.append((group, f"{n} entries; --all shows them"))
    return short


def _described(path: str | Place) -> Lines:
    if not isinstance(path, RemotePath) and is_checkpoint(path):
        return _describe_checkpoint(path)
    file = modelfile.read(path)
    if file.kind not in _DESCRIBERS:
        raise ModelError(
            f"{path}: holds a model of kind {modelfile.shown(file.kind)}; known are {', '.join(_DESCRIBERS)}"
        )
    return [
        ("file", str(path)),
        ("kind", f"{file.kind}, format version {file.version}"),
        ("size", f"{file.n_bytes:,} bytes"),
        *_DESCRIBERS[file.kind](file),
    ]


def _describe_checkpoint(path: str | Path) -> Lines:
    state = read_checkpoint(path)
    if state.is_finished:
        growing = "none: the run is finished"
    elif state.growing is None:
        growing = "none yet"
    else:
        nodes, leaves = len(state.growing.children), len(state.growing.leaf_counts)
        growing = (
            f"tree {len(state.finished) + 1}, {state.growing.level} of {state.identity['config'].get('depth')} levels: "
            f"{nodes:,} nodes, {leaves:,} leaves, {state.growing.n_open:,} open"
        )
    data, names = state.identity["data"], state.identity["data"]["parts"]["names"]
    return [
        ("folder", str(path)),
        ("kind", f"checkpoint of a training run, format version {state.identity['format']}"),
        ("finished trees", f"{len(state.finished)} of {state.n_trees}"),
        *((f"tree {i + 1}", _size_of(tree)) for i, tree in enumerate(state.finished)),
        ("growing", growing),
        *_last_level(last_news(path)),
        ("frames", _cut(json.dumps(data.get("frames")))),
        ("parts", f"{len(names)}: {_cut(', '.join(map(str, names)))}"),
        *_entries("config", state.identity["config"]),
    ]


def _size_of(tree: GrowingTree) -> str:
    return f"{len(tree.children):,} nodes, {len(tree.leaf_counts):,} leaves, {max(0, tree.level - 1)} levels"


def _last_level(entry: Mapping[str, Any]) -> Lines:
    """Return the latest progress line of training, if the log has one."""
    known = {field.name for field in fields(Progress)}
    try:
        news = Progress(**{key: value for key, value in entry.items() if key in known})
        return [("last level", _cut(str(news)))]
    except (TypeError, ValueError):  # no log, or not ours
        return []


def _describe_forest(file: ModelFile) -> Lines:
    forest = Forest.from_file(file)
    return [
        ("trees", str(forest.n_trees)),
        ("depth", str(forest.depth)),
        ("nodes", f"{forest.n_nodes:,}"),
        ("leaves", f"{forest.n_leaves:,}"),
        ("parts", f"{len(forest.part_set)}: {_cut(', '.join(forest.part_set.names))}"),
        ("background", f"{forest.background_mm} mm"),
        ("mirrored walk", "yes" if forest.mirror else "no"),
        ("facings", str(forest.n_facings) if forest.n_facings > 1 else "none: each pixel by itself"),
        ("smoothing", f"{forest.smooth_m:g} m" if forest.smooth_m else "none"),
        ("confidence of people", f"{forest.person_confidence:.0%} and more" if forest.person_confidence else "unknown"),
        ("context", _context_of(forest)),
        ("confidence", "calibrated" if forest.calibration else "not calibrated: shares of the trees' answers"),
        *_entries("calibration", forest.calibration or {}),
        *_entries("config", forest.config),
        *(_entries("context.config", forest.context.config) if forest.context else ()),
        *_entries("joints", forest.joints or {}),
        *_entries("scores", forest.scores),
    ]


def _context_of(forest: Forest) -> str:
    context = forest.context
    if context is None:
        return "none: one stage"
    channels = f"{context.groups.n_channels} channels"
    return f"{counted(context.n_trees, 'trees')}, depth {context.depth}, {context.n_leaves:,} leaves, {channels}"


def _describe_person_model(file: ModelFile) -> Lines:
    model = PersonModel.from_file(file)
    return [
        ("scene forest", f"{counted(model.scene.n_trees, 'trees')}, {model.scene.n_leaves:,} leaves"),
        ("judge", f"{counted(len(model.judge.roots), 'trees')}, {len(model.judge.features):,} nodes"),
        ("body forest", _cut(model.body)),
        ("least probability", f"{model.least_probability:g}"),
        *_entries("config", model.config),
        *_entries("scores", model.scores),
    ]


# one per kind of file
_DESCRIBERS: dict[str, Callable[[ModelFile], Lines]] = {FOREST: _describe_forest, PEOPLE: _describe_person_model}


def _entries(prefix: str, content: Mapping[str, Any]) -> Lines:
    """Return one line per entry, with the names of nested ones joined by dots."""
    lines: Lines = []
    for key, value in content.items():
        name = _cut(f"{prefix}.{key}")
        if isinstance(value, Mapping) and value:
            lines += _entries(name, value)
        else:
            lines.append((name, _cut(value if isinstance(value, str) else json.dumps(value))))
    return lines


def _cut(text: str) -> str:
    # text from a file must not control the terminal
    text = "".join(c if c.isprintable() else "?" for c in text)
    return text if len(text) <= MAX_VALUE_CHARS else text[: MAX_VALUE_CHARS - 3] + "..."
