"""Data sets: labeled frames behind one interface, `Sequence[LabeledFrame]`, stored as a folder that any tool can make.

dataset.json        camera, depth_scale (metres per unit), parts (names; colours and mirror pairs optional)
depth/NAME.png      16-bit
parts/NAME.png      8-bit label indices, grey or indexed; 255 = none
people/NAME.png     8-bit person ids from 1, 0 = nobody; optional: all labeled pixels are person 1
joints.csv          frame, person, joint, x, y, z, visible; optional
"""

from __future__ import annotations

import csv
import io
import json
import secrets
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import overload

import numpy as np

from depthforest.camera import Camera
from depthforest.drawing import write_depth, write_labels, write_people
from depthforest.errors import CameraError, DatasetError, DepthForestError
from depthforest.files import is_folder, make_folder, natural_key, read_bytes, read_json, reason, replacing
from depthforest.formats import read_labels, read_pages
from depthforest.frames import Joint, Joints, LabeledFrame
from depthforest.parts import JOINTS, NO_PART, PartSet
from depthforest.units import to_millimetres

DEPTH_SCALE = 0.001
"""Metres per unit of the data sets written here: millimetres, as in memory, so that nothing is lost."""

JOINT_COLUMNS = ("frame", "person", "joint", "x", "y", "z", "visible")


def open_dataset(path: str | Path) -> FolderDataset:
    """Open a data set folder; its frames are read when they are asked for."""
    return FolderDataset(Path(path))


class FolderDataset(Sequence[LabeledFrame]):
    """The labeled frames of a folder, in natural order of their names.

    Attributes
    ----------
    path : Path
    names : tuple of str
        Frame names: the files of `depth/` without their ending.
    camera : Camera
    part_set : PartSet
    depth_scale : float
        Metres per unit of the stored depth.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        content = _read_description(path)
        try:
            self.camera = Camera.from_dict(content["camera"])
        except CameraError as error:
            raise DatasetError(f"{path / 'dataset.json'}: {error}") from None
        self.part_set = PartSet.from_dict(content["parts"], f"{path / 'dataset.json'}: parts")
        self.depth_scale = _checked_depth_scale(content["depth_scale"], path)
        self.names = _png_names(path / "depth")
        if not self.names:
            raise DatasetError(f"{path / 'depth'}: holds no .png frames")
        unlabeled = sorted(set(self.names) - set(_png_names(path / "parts")), key=natural_key)
        if unlabeled:
            raise DatasetError(
                f"{path / 'parts'}: {len(unlabeled)} frames have no labels, the first is {unlabeled[0]}.png"
            )
        self._has_people = (path / "people").is_dir()

    def __len__(self) -> int:
        return len(self.names)

    @overload
    def __getitem__(self, index: int) -> LabeledFrame: ...
    @overload
    def __getitem__(self, index: slice) -> list[LabeledFrame]: ...
    def __getitem__(self, index: int | slice) -> LabeledFrame | list[LabeledFrame]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        return self._frame(self.names[index])

    def _frame(self, name: str) -> LabeledFrame:
        depth_path = self.path / "depth" / f"{name}.png"
        try:
            raw = next(read_pages(depth_path)).values
            depth_mm = to_millimetres(raw, scale=self.depth_scale, name=str(depth_path))
            parts = read_labels(self.path / "parts" / f"{name}.png")
            if self._has_people:
                people = read_labels(self.path / "people" / f"{name}.png")
            else:
                people = (parts != NO_PART).astype(np.uint8)
            if self.camera.distortion:
                depth_mm = self.camera.undistort(depth_mm)
                parts = self.camera.undistort(parts, fill=NO_PART)
                people = self.camera.undistort(people)
            camera = self.camera.without_distortion()
            return LabeledFrame(depth_mm, camera, parts, people, self._joints.get(name, {}), self.part_set)
        except DatasetError:
            raise
        except DepthForestError as error:
            raise DatasetError(f"{self.path}, frame {name}: {error}") from None

    @cached_property
    def _joints(self) -> dict[str, dict[int, Joints]]:
        path = self.path / "joints.csv"
        return _read_joints(path, set(self.names)) if path.exists() else {}


def write_dataset(
    path: str | Path, frames: Iterable[LabeledFrame], *, names: Sequence[str] | None = None
) -> FolderDataset:
    """Write labeled frames as a data set folder and return it opened.

    The folder appears when it is complete: if anything fails, nothing is left behind.

    Parameters
    ----------
    path : str or Path
        A folder that does not exist yet, or is empty.
    frames : iterable of LabeledFrame
        Of one camera and one part set; taken one at a time.
    names : sequence of str, optional
        Frame names; omitted, they are numbered.
    """
    path = Path(path)
    if path.exists() and not (path.is_dir() and not any(path.iterdir())):
        raise DatasetError(f"{path}: exists already; name a new folder, or remove it first")
    make_folder(path.parent)
    temporary = make_folder(path.with_name(f".{secrets.token_hex(6)}.part"))
    try:
        _write_frames(temporary, _named(frames, names))
        temporary.replace(path)
    except OSError as error:
        raise DatasetError(f"{path}: cannot be written: {reason(error)}") from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return FolderDataset(path)


def _named(frames: Iterable[LabeledFrame], names: Sequence[str] | None) -> Iterator[tuple[str, LabeledFrame]]:
    if names is None:
        yield from ((f"{i:06d}", frame) for i, frame in enumerate(frames))
        return
    for name in names:
        if Path(name).name != name or not name.isprintable() or name.startswith("."):
            raise DatasetError(f"{name!r} cannot be a frame name; use letters, digits, - and _")
    if len(set(names)) != len(names):
        raise DatasetError("frame names must be unique")
    try:
        yield from zip(names, frames, strict=True)
    except ValueError:
        raise DatasetError(f"{len(names)} names for another number of frames") from None


def _write_frames(folder: Path, frames: Iterator[tuple[str, LabeledFrame]]) -> None:
    for kind in ("depth", "parts", "people"):
        make_folder(folder / kind)
    first: LabeledFrame | None = None
    rows: list[tuple[object, ...]] = []
    for name, frame in frames:
        first = first or frame
        if frame.camera != first.camera or frame.part_set != first.part_set:
            raise DatasetError(
                f"frame {name} has another camera or part set than the first; a data set has one of each"
            )
        write_depth(folder / "depth" / f"{name}.png", frame.depth_mm)
        write_labels(folder / "parts" / f"{name}.png", frame.parts, frame.part_set)
        write_people(folder / "people" / f"{name}.png", frame.people)
        rows += _joint_rows(name, frame)
    if first is None:
        raise DatasetError("there are no frames to write")
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([JOINT_COLUMNS, *rows])
    description = {"camera": first.camera.to_dict(), "depth_scale": DEPTH_SCALE, "parts": first.part_set.to_dict()}
    for file_name, content in (("joints.csv", text.getvalue()), ("dataset.json", json.dumps(description, indent=1))):
        with replacing(folder / file_name) as file:
            file.write(content.encode())


def _joint_rows(name: str, frame: LabeledFrame) -> Iterator[tuple[object, ...]]:
    for person, joints in frame.joints.items():
        for joint_name, joint in joints.items():
            # repr gives the shortest text that reads back as the same number
            yield name, person, joint_name, *map(repr, joint.position), int(joint.is_visible)


def _read_description(path: Path) -> Mapping[str, object]:
    if not is_folder(path, DatasetError):
        raise DatasetError(f"{path}: is not a folder; a data set is a folder with dataset.json, depth/ and parts/")
    if not (path / "dataset.json").exists():
        raise DatasetError(f"{path}: has no dataset.json; a data set is a folder with dataset.json, depth/ and parts/")
    content = read_json(path / "dataset.json", DatasetError)
    needed = ("camera", "depth_scale", "parts")
    missing = [key for key in needed if not isinstance(content, Mapping) or key not in content]
    if missing:
        raise DatasetError(f"{path / 'dataset.json'}: lacks {', '.join(missing)}; expected {', '.join(needed)}")
    assert isinstance(content, Mapping)
    return content


def _checked_depth_scale(value: object, path: Path) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not np.isfinite(value) or value <= 0:
        raise DatasetError(f"{path / 'dataset.json'}: depth_scale must be metres per unit, above 0; got {value!r}")
    return float(value)


def _png_names(folder: Path) -> tuple[str, ...]:
    try:
        names = [f.stem for f in folder.iterdir() if f.suffix.lower() == ".png" and not f.name.startswith(".")]
    except OSError as error:
        raise DatasetError(f"{folder}: cannot be read: {reason(error)}") from None
    return tuple(sorted(names, key=natural_key))


def _read_joints(path: Path, names: set[str]) -> dict[str, dict[int, Joints]]:
    try:
        text = read_bytes(path, DatasetError).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise DatasetError(f"{path}: is not UTF-8 text") from None
    reader = csv.reader(io.StringIO(text))
    header = next(reader, [])
    if tuple(header) != JOINT_COLUMNS:
        raise DatasetError(f"{path}: expected the columns {','.join(JOINT_COLUMNS)}, got {','.join(header)[:80]}")
    found: dict[str, dict[int, dict[str, Joint]]] = {}
    try:
        for row in reader:
            frame, person, joint, x, y, z, visible = row
            if frame not in names:
                raise DatasetError(f"no frame is called {frame!r}")
            if joint not in JOINTS:
                raise DatasetError(f"no joint is called {joint!r}; joints: {', '.join(JOINTS)}")
            if visible not in ("0", "1"):
                raise DatasetError(f"visible is 0 or 1, got {visible!r}")
            position = float(x), float(y), float(z)
            found.setdefault(frame, {}).setdefault(int(person), {})[joint] = Joint(position, visible == "1")
    except (DepthForestError, ValueError, csv.Error) as error:
        raise DatasetError(f"{path}, line {reader.line_num}: {error}") from None
    return {frame: dict(people) for frame, people in found.items()}
