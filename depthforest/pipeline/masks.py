"""Given masks: the person of each pixel, from one file or from a folder, by the names of the frames."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from depthforest.base import FrameError, UsageError, is_folder
from depthforest.frames import Camera, Frame, fitted_camera
from depthforest.io import EIGHT_BIT_KINDS, FrameName, PictureFile, ReadOptions
from depthforest.people import People

MAX_PEOPLE = 20
"""Most ids in one mask: a picture with more is a photograph, a blurred mask or a picture of parts, not a mask."""


class GivenMasks:
    """Masks of frames, read on demand.

    Parameters
    ----------
    path : Path
        A file: the mask of every frame. A folder: `NAME.png` is the mask of frame `NAME`, or `FOLDER/NAME.png` where
        frames of several folders have the same name.
    options : ReadOptions
        How the frames are read. Masks belong to the raw pictures: they are flipped, undistorted and rotated like them.
    sources : iterable of Path or str
        The files of the frames.
    """

    def __init__(self, path: str | Path, options: ReadOptions, sources: Iterable[Path | str]) -> None:
        self.path = Path(path)
        self._is_folder = is_folder(self.path, FrameError)
        if not self.path.exists():
            raise UsageError(f"{path}: there is no such mask; name a PNG, or a folder with one for each frame")
        self._options = options
        self._uses = Counter(Path(source).stem for source in dict.fromkeys(map(str, sources)))

    def path_for(self, name: FrameName) -> Path:
        """Return the file with the mask of a frame."""
        if not self._is_folder:
            return self.path
        is_shared = self._uses[name.path.stem] > 1
        return (self.path / name.path.absolute().parent.name if is_shared else self.path) / f"{name.stem}.png"

    def read(self, name: FrameName, frame: Frame) -> People:
        """Return the people of a frame, with their ids."""
        path = self.path_for(name)
        if self._is_folder and not path.exists():
            raise FrameError(f"{name}: there is no mask {path}; masks are matched by the names of the frames")
        file = PictureFile(path)
        if file.kind in EIGHT_BIT_KINDS:
            raise FrameError(
                f"{path}: is a {file.kind.upper()} picture; a mask is an 8-bit or 1-bit PNG with one channel "
                "(0 = nobody, else the person's id)"
            )
        values = next(file.pages()).values
        if values.ndim != 2 or values.dtype not in (np.uint8, np.bool_):
            raise FrameError(
                f"{path}: a mask is an 8-bit or 1-bit PNG with one channel (0 = nobody, else the person's id), "
                f"got {values.dtype} of shape {values.shape}"
            )
        people = People.of_map(_as_read(values.astype(np.uint8), self._options))
        if people.map.shape != frame.shape:
            raise FrameError(
                f"{path}: the mask has shape {people.map.shape}, the frame {frame.shape}; they must be equal"
            )
        if len(people) > MAX_PEOPLE:
            raise FrameError(
                f"{path}: holds {len(people)} different values, each of which would be a person; a mask has at most "
                f"{MAX_PEOPLE} (0 = nobody, else the person's id)"
            )
        return people


def _as_read(people: npt.NDArray[np.uint8], options: ReadOptions) -> npt.NDArray[np.uint8]:
    """Return a mask of a raw picture with its pixels moved as `Frame.from_array` moves those of the picture."""
    if options.flip:
        people = people[:, ::-1]
    if options.camera is not None:
        camera = Camera.parse(options.camera, (people.shape[1], people.shape[0]))
        if camera.distortion:
            people = fitted_camera(camera, people.shape).undistort(np.ascontiguousarray(people))
    return np.ascontiguousarray(np.rot90(people, -options.rotate // 90))
