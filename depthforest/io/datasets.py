"""Data sets on disk: labeled frames as a `Sequence[LabeledFrame]`.

A data set is a folder that any tool can make, or, for large ones, a Zarr store:

    dataset.json        camera, depth_scale (meters per unit), parts (names; colors and mirror pairs optional)
    depth/NAME.png      16-bit
    parts/NAME.png      8-bit label indices, gray or indexed; 255 = none
    people/NAME.png     8-bit person ids from 1, 0 = nobody; optional: all labeled pixels are person 1
    joints.csv          frame, person, joint, x, y, z, visible; optional
"""

from __future__ import annotations

import csv
import io
import math
import secrets
import shutil
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from depthforest.base import (
    CameraError,
    DatasetError,
    DepthForestError,
    PartSetError,
    Place,
    RemotePath,
    is_finite,
    is_folder,
    is_whole,
    natural_key,
    place_of,
    read_bytes,
    read_json,
    reason,
)
from depthforest.frames import (
    JOINTS,
    NO_PART,
    Camera,
    FrameSource,
    Joint,
    Joints,
    LabeledFrame,
    PartSet,
    to_millimeters,
)
from depthforest.io.formats import read_labels, read_picture
from depthforest.io.writing import BLOCK, JOINT_COLUMNS, MARKS, Store, import_zarr, open_store


def open_dataset(path: str | Place) -> FolderDataset | ZarrDataset:
    """Open a data set, a folder of pictures or a Zarr store; its frames are read on demand.

    Parameters
    ----------
    path : str or Path
        A folder, or its URL: `s3://`, `gs://`, `https://`, `memory://`. For a folder of pictures, a web server must
        return a page that lists it; a Zarr store needs no list.
    """
    place = place_of(path)
    try:
        return ZarrDataset(place) if (place / "zarr.json").is_file() else FolderDataset(place)
    except OSError as error:
        raise DatasetError(f"{place}: cannot be read: {reason(error)}") from None


class FolderDataset(FrameSource):
    """The labeled frames of a folder, in natural order of their names.

    Attributes
    ----------
    path : Path or RemotePath
    names : tuple of str
        Frame names: the files of `depth/` without their ending.
    camera : Camera
    part_set : PartSet
    depth_scale : float
        Meters per unit of the stored depth.
    """

    def __init__(self, path: Place) -> None:
        self.path = path
        content = _read_description(path)
        self.camera, self.part_set, self.depth_scale = _described(content, str(path / "dataset.json"))
        self.names = _png_names(path / "depth")
        if not self.names:
            raise DatasetError(f"{path / 'depth'}: holds no .png frames")
        self._has_people = (path / "people").is_dir()
        for kind in ("parts", "people") if self._has_people else ("parts",):
            odd = sorted(set(self.names) ^ set(_png_names(path / kind)), key=natural_key)
            if odd:
                missing = kind if odd[0] in self.names else "depth"
                raise DatasetError(
                    f"{path / missing}: lacks {odd[0]}.png ({len(odd)} files of depth and {kind} unpaired)"
                )

    def __reduce__(self) -> tuple[type[FolderDataset], tuple[Place]]:
        return FolderDataset, (self.path.absolute(),)

    def __len__(self) -> int:
        return len(self.names)

    def _frame(self, number: int) -> LabeledFrame:
        name = self.names[number]
        depth_path = self.path / "depth" / f"{name}.png"
        try:
            raw = read_picture(depth_path)
            if raw.dtype != np.uint16:
                raise DatasetError(f"{depth_path}: expected a 16-bit PNG of one channel, got {raw.dtype} {raw.shape}")
            depth_mm = to_millimeters(raw, scale=self.depth_scale, name=str(depth_path))
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

    def __repr__(self) -> str:
        return f"FolderDataset({str(self.path)!r}, {len(self)} frames)"

    @cached_property
    def _joints(self) -> dict[str, dict[int, Joints]]:
        path = self.path / "joints.csv"
        return _read_joints(path, set(self.names)) if path.is_file() else {}


MAX_CHUNK_BYTES = 2**28
"""Largest decoded chunk of a Zarr store: a chunk is in memory as a whole, even if one frame of it is read."""

MAX_ZARR_PEOPLE = 255
"""Most people with joints in a frame: their ids are bytes."""

MAX_ZARR_FRAMES = 2**22
"""Most frames of a Zarr store: each has a name in memory."""

MAX_TOGETHER = 64
"""Most frames of a Zarr store that are decoded together, however large its chunks are."""


class ZarrDataset(FrameSource):
    """The labeled frames of a Zarr store.

    Attributes
    ----------
    path : Path or RemotePath
    names : tuple of str
        Frame numbers as text.
    camera : Camera
    part_set : PartSet
    """

    def __init__(self, path: Place) -> None:
        self.path = path
        try:
            self._group = import_zarr().open_group(_store(path), mode="r", zarr_format=3)
            content = self._group.attrs.get("dataset")
            self._arrays = {name: self._group[name] for name in ("depth", "parts", "people", "joints", "visible")}
        except (DatasetError, OSError):
            raise
        except Exception as error:  # a broken store raises many kinds
            raise DatasetError(f"{path}: cannot be opened as a Zarr data set: {error}") from None
        if not isinstance(content, Mapping):
            raise DatasetError(f"{path}: is unfinished; run the command that began it again to continue")
        self.camera, self.part_set, _ = _described(content, str(path))
        n = content.get("n_frames")
        if not is_whole(n) or any(not 0 <= n <= array.shape[0] for array in self._arrays.values()):
            raise DatasetError(f"{path}: says it has {n} frames, but its arrays have other lengths")
        self._check_arrays(n)
        self.names = tuple(f"{i:06d}" for i in range(n))
        self._n_together = min(self._arrays["depth"].chunks[0], MAX_TOGETHER)
        self._decoded = threading.local()

    def _check_arrays(self, n: int) -> None:
        """Raise an error if an array does not have the camera's size, or would not fit into memory."""
        if n > MAX_ZARR_FRAMES:
            raise DatasetError(f"{self.path}: says it has {n} frames; at most {MAX_ZARR_FRAMES} can be read")
        people = self._arrays["joints"].shape[1:2]
        rests = {
            "depth": self.camera.shape,
            "parts": self.camera.shape,
            "people": self.camera.shape,
            "joints": (*people, len(JOINTS), 3),
            "visible": (*people, len(JOINTS)),
        }
        for name, array in self._arrays.items():
            has_crowd = name in ("joints", "visible") and array.shape[1:2] > (MAX_ZARR_PEOPLE,)
            if array.shape[1:] != rests[name] or has_crowd:
                raise DatasetError(f"{self.path}: {name} has shape {array.shape}, expected (n, {rests[name]})")
            if array.dtype.kind not in "uif" or math.prod(array.chunks) * array.dtype.itemsize > MAX_CHUNK_BYTES:
                raise DatasetError(
                    f"{self.path}: {name} has chunks of {array.chunks} {array.dtype}; expected numbers, "
                    f"at most {MAX_CHUNK_BYTES} bytes a chunk"
                )

    def __reduce__(self) -> tuple[type[ZarrDataset], tuple[Place]]:
        return ZarrDataset, (self.path.absolute(),)

    def __len__(self) -> int:
        return len(self.names)

    def _rows(self, number: int) -> Iterator[npt.NDArray[Any]]:
        """Yield a frame's row of each array. A chunk is decoded as a whole; each thread keeps the one it read last."""
        first = number - number % self._n_together
        known = getattr(self._decoded, "chunk", None)
        if known is None or known[0] != first:
            self._decoded.chunk = None  # free it before decoding the next one: both need memory
            arrays = [np.asarray(a[first : first + self._n_together]) for a in self._arrays.values()]
            known = self._decoded.chunk = (first, arrays)
        return (array[number - first].copy() for array in known[1])

    def _frame(self, number: int) -> LabeledFrame:
        try:
            depth_mm, parts, people, positions, visible = self._rows(number)
            joints = {
                person + 1: {
                    JOINTS[i]: Joint(tuple(positions[person, i].tolist()), bool(visible[person, i]))
                    for i in np.flatnonzero(np.isfinite(positions[person]).all(axis=1))
                }
                for person in range(len(positions))
            }
            return LabeledFrame(depth_mm, self.camera, parts, people, joints, self.part_set)
        except Exception as error:  # a damaged chunk raises many kinds
            raise DatasetError(f"{self.path}, frame {self.names[number]}: {error}") from None

    def __repr__(self) -> str:
        return f"ZarrDataset({str(self.path)!r}, {len(self)} frames)"


def _store(path: Place) -> Any:
    """Return a place that Zarr can open: a path, or a store that reads a URL."""
    if not isinstance(path, RemotePath):
        return path
    import_zarr()
    from depthforest.io.remotestore import RemoteStore

    return RemoteStore(path)


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
        All of one camera and one part set; consumed one block at a time.
    names : sequence of str, optional
        Frame names. Default: those of the data set that the frames come from, else numbers.
    """
    path = Path(path)
    if names is None:
        names = getattr(frames, "names", None)
    temporary = path.with_name(f".{secrets.token_hex(6)}.part")
    try:
        if path.exists() and not (path.is_dir() and not any(path.iterdir())):
            raise DatasetError(f"{path}: exists already; name a new folder, or remove it first")
        temporary.mkdir(parents=True)
        store = open_store(temporary, "folder", identity="")
        try:
            _write_blocks(store, _named(frames, names))
        finally:
            store.unlock()
        shutil.rmtree(temporary / MARKS)
        temporary.replace(path)
    except OSError as error:
        raise DatasetError(f"{path}: cannot be written: {reason(error)}") from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return FolderDataset(path)


def _write_blocks(store: Store, named: Iterator[tuple[str, LabeledFrame]]) -> None:
    first: LabeledFrame | None = None
    n_frames = 0
    while block := list(islice(named, BLOCK)):
        for name, frame in block:
            if not isinstance(frame, LabeledFrame):
                raise DatasetError(f"frame {name} is a {type(frame).__name__}; a data set is made of LabeledFrames")
            first = first or frame
            if frame.camera != first.camera or frame.part_set != first.part_set:
                raise DatasetError(
                    f"frame {name} has another camera or part set than the first; a data set has one of each"
                )
        assert first is not None
        store.prepare(n_frames + len(block), first)
        store.write(n_frames // BLOCK, [f for _, f in block], [n for n, _ in block])
        n_frames += len(block)
    if first is None:
        raise DatasetError("there are no frames to write")
    store.finish(n_frames, first)


def _named(frames: Iterable[LabeledFrame], names: Sequence[str] | None) -> Iterator[tuple[str, LabeledFrame]]:
    if names is None:
        yield from ((f"{i:06d}", frame) for i, frame in enumerate(frames))
        return
    for name in names:
        if not name or Path(name).name != name or not name.isprintable() or name.startswith("."):
            raise DatasetError(f"{name!r} cannot be a frame name; use letters, digits, - and _")
    if len(set(names)) != len(names):
        raise DatasetError("frame names must be unique")
    rest = iter(frames)
    for i, name in enumerate(names):
        frame = next(rest, None)
        if frame is None:
            raise DatasetError(f"{len(names)} names for {i} frames; give one for each")
        yield name, frame
    if next(rest, None) is not None:
        raise DatasetError(f"{len(names)} names for more frames; give one for each")


def _read_description(path: Place) -> Mapping[str, object]:
    if not is_folder(path, DatasetError):
        raise DatasetError(f"{path}: is not a folder; a data set is a folder with dataset.json, depth/ and parts/")
    if (path / MARKS).is_dir() and not (path / "dataset.json").is_file():
        raise DatasetError(f"{path}: is unfinished; run the command that began it again to continue")
    if not (path / "dataset.json").is_file():
        raise DatasetError(f"{path}: has no dataset.json; a data set is a folder with dataset.json, depth/ and parts/")
    content = read_json(path / "dataset.json", DatasetError)
    if not isinstance(content, Mapping):
        raise DatasetError(f"{path / 'dataset.json'}: expected an object with camera, depth_scale and parts")
    return content


def _described(content: Mapping[str, object], name: str) -> tuple[Camera, PartSet, float]:
    """Return a data set's camera, part set and depth scale."""
    needed = ("camera", "depth_scale", "parts")
    missing = [key for key in needed if key not in content]
    if missing:
        raise DatasetError(f"{name}: lacks {', '.join(missing)}; expected {', '.join(needed)}")
    try:
        camera = Camera.from_dict(content["camera"])
    except CameraError as error:
        raise DatasetError(f"{name}: {error}") from None
    scale = content["depth_scale"]
    if not is_finite(scale) or scale <= 0:
        raise DatasetError(f"{name}: depth_scale must be meters per unit, above 0; got {scale!r}")
    try:
        return camera, PartSet.from_dict(content["parts"], f"{name}: parts"), float(scale)
    except PartSetError as error:
        raise DatasetError(str(error)) from None


def _png_names(folder: Place) -> tuple[str, ...]:
    try:
        names = [f.stem for f in folder.iterdir() if f.suffix.lower() == ".png" and not f.name.startswith(".")]
    except OSError as error:
        raise DatasetError(f"{folder}: cannot be read: {reason(error)}") from None
    return tuple(sorted(names, key=natural_key))


def _read_joints(path: Place, names: set[str]) -> dict[str, dict[int, Joints]]:
    try:
        text = read_bytes(path, DatasetError).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise DatasetError(f"{path}: is not UTF-8 text") from None
    reader = csv.reader(io.StringIO(text, newline=None))  # any line endings
    try:
        header = next(reader, [])
    except csv.Error as error:
        raise DatasetError(f"{path}, line {reader.line_num}: {error}") from None
    if tuple(header) != JOINT_COLUMNS:
        raise DatasetError(f"{path}: expected the columns {','.join(JOINT_COLUMNS)}, got {','.join(header)[:80]}")
    found: dict[str, dict[int, dict[str, Joint]]] = {}
    try:
        for row in filter(None, reader):
            if len(row) != len(JOINT_COLUMNS):
                raise DatasetError(f"expected {','.join(JOINT_COLUMNS)}, got {','.join(row)[:80]}")
            frame, person, joint, x, y, z, visible = row
            if frame not in names:
                raise DatasetError(f"no frame is called {frame!r}")
            if joint not in JOINTS:
                raise DatasetError(f"no joint is called {joint!r}; joints: {', '.join(JOINTS)}")
            if visible not in ("0", "1"):
                raise DatasetError(f"visible is 0 or 1, got {visible!r}")
            if not person.isdigit() or len(person) > 3:
                raise DatasetError(f"a person is a whole number from 1 to 255, got {person[:20]!r}")
            its_joints = found.setdefault(frame, {}).setdefault(int(person), {})
            if joint in its_joints:
                raise DatasetError(f"{joint} of person {person} in frame {frame} is given twice")
            its_joints[joint] = Joint((float(x), float(y), float(z)), visible == "1")
    except (DepthForestError, ValueError, csv.Error) as error:
        raise DatasetError(f"{path}, line {reader.line_num}: {error}") from None
    return {frame: dict(people) for frame, people in found.items()}
