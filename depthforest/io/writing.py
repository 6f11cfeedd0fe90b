"""Labeled frames to disk, block by block: complete blocks are kept, so a stopped run can resume.

A store is a folder of pictures or a Zarr group; `datasets` reads both. Frames are written in blocks of `BLOCK`. A
complete block leaves a mark in `.blocks`, beside the identity of the run: a text that describes what made the frames. A
run with another identity is refused. A store can be opened once `finish` has described it.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from depthforest.base import Change, ClaimedFolder, DatasetError, make_folder, read_bytes, reason, replacing
from depthforest.frames import JOINTS, LabeledFrame, write_depth, write_labels, write_people

BLOCK = 64
"""Frames that are written together."""

ZARR_CHUNK = 16
"""Frames in a compressed chunk of a Zarr store: a few MB, so that reading one frame stays cheap. Divides `BLOCK`."""

DEPTH_SCALE = 0.001
"""Meters per unit of stored depth: millimeters, as in memory, so that nothing is lost."""

JOINT_COLUMNS = ("frame", "person", "joint", "x", "y", "z", "visible")
MARKS = ".blocks"
FINISHED = f"{MARKS}/finished"
FORMATS = ("folder", "zarr")


def open_store(path: str | Path, kind: str, *, identity: str, max_people: int = 255) -> Store:
    """Open a new or unfinished store for writing.

    Parameters
    ----------
    path : str or Path
        A folder that is new, empty, or was begun with the same identity.
    kind : "folder" or "zarr"
    identity : str
        Describes what makes the frames; a store that was begun with another identity is refused.
    max_people : int
        The largest person id with joints; a Zarr store reserves room for this many.
    """
    store = _store(path, kind, max_people)
    store.begin(identity)
    return store


def check_claim(path: str | Path, kind: str, *, identity: str) -> None:
    """Raise DatasetError if `open_store` would refuse this path; nothing is written."""
    store = _store(path, kind)
    store.check(_lines(store.record_of(identity)))


def _store(path: str | Path, kind: str, max_people: int = 255) -> Store:
    if kind not in FORMATS:
        raise DatasetError(f"format must be one of {', '.join(FORMATS)}, got {kind!r}")
    return FolderStore(path) if kind == "folder" else ZarrStore(path, max_people)


class Store(ClaimedFolder):
    """A data set that is being written. The lines of its record are its kind and what makes its frames."""

    RECORD = f"{MARKS}/identity"
    ERROR = DatasetError
    KIND: ClassVar[str]

    def __getstate__(self) -> dict[str, Any]:
        """Return the state with an absolute path: a worker may run in another folder."""
        return {**self.__dict__, "path": self.path.absolute()}

    def record_of(self, identity: str) -> str:
        """Return the record of a run."""
        return f"format = {self.KIND}\n{identity}"

    def begin(self, identity: str) -> None:
        """Claim the folder for a run, or resume it."""
        record = self.record_of(identity)
        self.check(_lines(record))  # before the folder is made: a refused run leaves no trace
        self.lock()
        self.check(_lines(record))
        self.claim(record.encode())

    def n_finished(self) -> int:
        """Return how many frames the finished store has; 0 if it is not finished."""
        return int((self.path / FINISHED).read_text()) if self.has(FINISHED) else 0

    def is_done(self, block: int, n_frames: int) -> bool:
        """Tell whether a block of `n_frames` frames is complete."""
        return self.has(_mark(block, n_frames))

    def write(self, block: int, frames: Sequence[LabeledFrame], names: Sequence[str] | None = None) -> None:
        """Write one block of frames; several threads may write different blocks."""
        with self._clear_errors():
            mark = self._write(block, frames, names or [f"{block * BLOCK + i:06d}" for i in range(len(frames))])
        self.keep(_mark(block, len(frames)), mark)

    @abstractmethod
    def _write(self, block: int, frames: Sequence[LabeledFrame], names: Sequence[str]) -> bytes:
        """Write the frames and return what to leave in the block's mark."""

    def prepare(self, n_frames: int, like: LabeledFrame) -> None:
        """Allocate `n_frames` frames like this one; until `finish`, the store cannot be opened."""
        with self._clear_errors():
            (self.path / FINISHED).unlink(missing_ok=True)
            self._prepare(n_frames, like)

    def finish(self, n_frames: int, like: LabeledFrame) -> None:
        """Write the description, so that the store can be opened; all blocks must be complete."""
        with self._clear_errors():
            self.remove_leftovers()
            self._finish(n_frames, like)
        self.keep(FINISHED, str(n_frames).encode())

    @abstractmethod
    def _prepare(self, n_frames: int, like: LabeledFrame) -> None: ...

    @abstractmethod
    def _finish(self, n_frames: int, like: LabeledFrame) -> None: ...

    @contextlib.contextmanager
    def _clear_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise DatasetError(f"{self.path}: cannot be written: {reason(error)}") from None

    def _marks(self, n_frames: int) -> Iterator[bytes]:
        for block in range(-(-n_frames // BLOCK)):
            n = min(BLOCK, n_frames - block * BLOCK)
            yield (self.path / _mark(block, n)).read_bytes()

    def _read_record(self) -> str:
        return read_bytes(self.path / self.RECORD, DatasetError).decode(errors="replace")

    def _identity_of(self, record: str) -> dict[int, str]:
        return _lines(record)

    def _refuse(self, change: Change) -> None:
        there, here = ("nothing" if line is None else line for line in (change.old, change.new))
        raise DatasetError(f"{self.path}: was begun with `{there}`, now it is `{here}`; name another output folder")

    def _refuse_others(self) -> None:
        if self.path.exists() and not self.path.is_dir():
            raise DatasetError(f"{self.path}: is a file; name a folder")
        # a run that was killed before it wrote its identity leaves an empty folder of marks
        if self.path.exists() and any(f.name != MARKS or any(f.iterdir()) for f in self.path.iterdir()):
            raise DatasetError(f"{self.path}: holds other things already; name a new folder")


class FolderStore(Store):
    """One PNG for depth, parts and people of each frame, and one table of joints."""

    KIND = "folder"

    def _prepare(self, n_frames: int, like: LabeledFrame) -> None:  # noqa: ARG002
        (self.path / "dataset.json").unlink(missing_ok=True)
        for kind in ("depth", "parts", "people"):
            make_folder(self.path / kind)

    def _write(self, block: int, frames: Sequence[LabeledFrame], names: Sequence[str]) -> bytes:  # noqa: ARG002
        rows: list[tuple[object, ...]] = []
        for name, frame in zip(names, frames, strict=True):
            write_depth(self.path / "depth" / f"{name}.png", frame.depth_mm)
            write_labels(self.path / "parts" / f"{name}.png", frame.parts, frame.part_set)
            write_people(self.path / "people" / f"{name}.png", frame.people)
            rows += _joint_rows(name, frame)
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(rows)
        return text.getvalue().encode()

    def _finish(self, n_frames: int, like: LabeledFrame) -> None:
        with replacing(self.path / "joints.csv") as file:
            file.write((",".join(JOINT_COLUMNS) + "\n").encode())
            for mark in self._marks(n_frames):
                file.write(mark)
        self.keep("dataset.json", json.dumps(description(like), indent=1).encode())


class ZarrStore(Store):
    """Arrays over frames, compressed in chunks of `ZARR_CHUNK`: one store of a few GB for 100,000 frames."""

    KIND = "zarr"

    def __init__(self, path: str | Path, max_people: int) -> None:
        import_zarr()  # fails before frames are generated
        super().__init__(path)
        self._max_people = max_people
        self._group: Any = None

    def begin(self, identity: str) -> None:
        """Claim the folder for a run, or resume it."""
        super().begin(identity)
        zarr = import_zarr()
        try:
            self._group = zarr.open_group(self.path.absolute(), mode="a")
        except Exception as error:  # a broken store raises many kinds
            raise DatasetError(f"{self.path}: cannot be opened as a Zarr store: {error}") from None

    def _prepare(self, n_frames: int, like: LabeledFrame) -> None:
        self._group.attrs.pop("dataset", None)
        shape, people = like.shape, (self._max_people, len(JOINTS))
        for name, dtype, rest, fill in (
            ("depth", "uint16", shape, 0),
            ("parts", "uint8", shape, 255),
            ("people", "uint8", shape, 0),
            ("joints", "float64", (*people, 3), float("nan")),
            ("visible", "uint8", people, 0),
        ):
            if name not in self._group:
                chunks = (ZARR_CHUNK, *rest)
                self._group.create_array(name, shape=(n_frames, *rest), chunks=chunks, dtype=dtype, fill_value=fill)
            elif self._group[name].shape[0] < n_frames:
                self._group[name].resize((n_frames, *rest))

    def _write(self, block: int, frames: Sequence[LabeledFrame], names: Sequence[str]) -> bytes:  # noqa: ARG002
        n, start = len(frames), block * BLOCK
        joints = np.full((n, self._max_people, len(JOINTS), 3), np.nan)
        visible = np.zeros(joints.shape[:3], dtype=np.uint8)
        for i, frame in enumerate(frames):
            for person, its_joints in frame.joints.items():
                if person > self._max_people:
                    raise DatasetError(
                        f"person {person} has joints, but the store has room for {self._max_people} people"
                    )
                for name, joint in its_joints.items():
                    where = i, person - 1, JOINTS.index(name)
                    joints[where], visible[where] = joint.position, joint.is_visible
        for name, values in (
            ("depth", np.stack([f.depth_mm for f in frames])),
            ("parts", np.stack([f.parts for f in frames])),
            ("people", np.stack([f.people for f in frames])),
            ("joints", joints),
            ("visible", visible),
        ):
            self._group[name][start : start + n] = values
        return b""

    def _finish(self, n_frames: int, like: LabeledFrame) -> None:
        self._group.attrs["dataset"] = description(like) | {"n_frames": n_frames}


def description(frame: LabeledFrame) -> dict[str, Any]:
    """Return the description that all frames of a data set with this one share."""
    return {"camera": frame.camera.to_dict(), "depth_scale": DEPTH_SCALE, "parts": frame.part_set.to_dict()}


def import_zarr() -> Any:
    """Return the zarr module, or say how to get it."""
    try:
        import zarr
    except ImportError:
        raise DatasetError("Zarr stores need the package zarr, which is not installed: run pip install zarr") from None
    return zarr


def _lines(text: str) -> dict[int, str]:
    return dict(enumerate(text.splitlines()))


def _mark(block: int, n_frames: int) -> str:
    return f"{MARKS}/{block:06d}-{n_frames:02d}"


def _joint_rows(name: str, frame: LabeledFrame) -> Iterator[tuple[object, ...]]:
    for person, joints in frame.joints.items():
        for joint_name, joint in joints.items():
            # repr gives the shortest text that reads back as the same number
            yield name, person, joint_name, *map(repr, joint.position), int(joint.is_visible)
