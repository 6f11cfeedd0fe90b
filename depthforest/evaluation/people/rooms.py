"""Rooms with marked people: real frames, empty or with masks of the people in them.

index.json          {"people/NAME.png": {"camera": {...}}, "empty/NAME.png": {"camera": {...}}, ...}
empty/NAME.png      16-bit depth in millimeters, 0 = no reading; nobody is there
people/NAME.png     the same, with people
people_masks/NAME.png   8-bit ids: 0 = nobody, 1 to 254 = people, 255 = ignore
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import overload

import numpy as np

from depthforest.base import CameraError, DatasetError, DepthForestError, is_folder, natural_key, read_json
from depthforest.evaluation.people.matching import IGNORED, MarkedFrame
from depthforest.frames import Camera
from depthforest.io import PictureFile, read_labels

EMPTY, PEOPLE, MASKS = "empty", "people", "people_masks"


class MarkedRooms(Sequence[MarkedFrame]):
    """The frames of a folder of marked rooms, in natural order of their names, read on demand.

    Parameters
    ----------
    path : str or Path
    limit : int, optional
        Use only this many empty frames, and this many with people.
    """

    def __init__(self, path: str | Path, limit: int | None = None) -> None:
        self.path = Path(path)
        if not is_folder(self.path, DatasetError):
            raise DatasetError(f"{path}: is not a folder; marked rooms are a folder with index.json and depth PNGs")
        if not (self.path / "index.json").exists():
            raise DatasetError(f"{path}: has no index.json, which names the frames of marked rooms and their cameras")
        where = self.path / "index.json"
        content = read_json(where, DatasetError)
        if not isinstance(content, Mapping) or not content:
            raise DatasetError(f"{where}: expected an object with one entry for each frame")
        self._cameras = {name: _checked(self.path, name, content[name]) for name in sorted(content, key=natural_key)}
        kinds = [[n for n in self._cameras if n.startswith(f"{kind}/")][:limit] for kind in (EMPTY, PEOPLE)]
        self.names = tuple(name for kind in kinds for name in kind)

    @property
    def title(self) -> str:
        """A title for people to read."""
        return self.path.name

    def __len__(self) -> int:
        return len(self.names)

    @overload
    def __getitem__(self, index: int) -> MarkedFrame: ...
    @overload
    def __getitem__(self, index: slice) -> list[MarkedFrame]: ...
    def __getitem__(self, index: int | slice) -> MarkedFrame | list[MarkedFrame]:
        if isinstance(index, slice):
            return [self._frame(name) for name in self.names[index]]
        return self._frame(self.names[index])

    def _frame(self, name: str) -> MarkedFrame:
        camera, path = self._cameras[name], self.path / name
        try:
            depth = next(PictureFile(path).pages()).values
            if depth.dtype != np.uint16 or depth.shape != camera.shape:
                raise DatasetError(
                    f"{path}: expected a 16-bit PNG of {camera.width} x {camera.height} pixels, its camera's size; got "
                    f"{depth.dtype} of shape {depth.shape}"
                )
            mask = _mask_path(self.path, name)
            people = np.zeros(depth.shape, np.uint8) if mask is None else read_labels(mask)
            if people.shape != depth.shape:
                raise DatasetError(f"{mask}: has shape {people.shape}, but its frame {depth.shape}")
            if camera.distortion:
                depth, people = camera.undistort(depth), camera.undistort(people, fill=IGNORED)
            return MarkedFrame(depth, camera.without_distortion(), people)
        except DatasetError:
            raise
        except DepthForestError as error:
            raise DatasetError(str(error)) from None


def _checked(folder: Path, name: str, entry: object) -> Camera:
    """Return the camera of a frame after checking that its files exist."""
    where = f"{folder / 'index.json'}, {name}"
    parts = PurePosixPath(name).parts
    if parts[0] not in (EMPTY, PEOPLE) or len(parts) < 2 or ".." in parts:
        raise DatasetError(f"{where}: a frame is {EMPTY}/NAME.png (nobody is there) or {PEOPLE}/NAME.png")
    if not isinstance(entry, Mapping) or "camera" not in entry:
        raise DatasetError(f"{where}: expected an object with the camera")
    for path in (folder / name, _mask_path(folder, name)):
        if path is not None and not path.is_file():
            raise DatasetError(f"{path}: is missing; {folder / 'index.json'} names {name}")
    try:
        return Camera.from_dict(entry["camera"])
    except CameraError as error:
        raise DatasetError(f"{where}: {error}") from None


def _mask_path(folder: Path, name: str) -> Path | None:
    """Return the file with the people of a frame; None if nobody is there."""
    kind, _, rest = name.partition("/")
    return folder / MASKS / rest if kind == PEOPLE else None
