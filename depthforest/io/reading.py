"""Reading frames: one file with `read_depth`, folders, globs, stacks and streams with `read_frames`."""

from __future__ import annotations

import glob
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TypeAlias

from depthforest.base import (
    DepthForestError,
    DepthForestWarning,
    FrameError,
    Parameter,
    UsageError,
    is_folder,
    is_whole,
    natural_key,
    reason,
)
from depthforest.frames import Camera, CameraLike, Frame, Scale, check_rotation, check_scale, check_size, parse_size
from depthforest.io.formats import DEPTH_SUFFIXES, RAW_SUFFIXES, Page, PictureFile, Size, read_stream

PathLike: TypeAlias = str | Path
STDIN = "-"


@dataclass(frozen=True)
class ReadOptions:
    """How raw pictures become frames; the same for every way of reading.

    Parameters
    ----------
    camera : Camera, str, Path or mapping, optional
        As in `Camera.parse`. None: what the file tells (PCD), else the preset of that size, with a warning.
    scale : float or str, optional
        Metres per unit, or "mm", "cm", "m", "tum", "sun3d".
    flip : bool
        The pictures are mirrored: turn them back.
    rotate : int
        Turn clockwise by 90, 180 or 270 degrees.
    size : (width, height) or "WxH", optional
        Of plain 16-bit dumps and streams; omitted, the camera's.
    """

    camera: CameraLike | None = None
    scale: Scale = None
    flip: bool = False
    rotate: int = 0
    size: Size | str | None = None

    def __post_init__(self) -> None:
        check_scale(self.scale)
        check_rotation(self.rotate)
        size = _checked_size(self.size)
        if self.camera is not None:
            # parsed at once, so that a broken camera is refused before the first frame; numbers may wait for a size
            is_complete = not (isinstance(self.camera, str) and self.camera.count(",") == 3 and size is None)
            camera = Camera.parse(self.camera, size if is_complete else (1, 1))
            if is_complete:
                object.__setattr__(self, "camera", camera)
        object.__setattr__(self, "size", size)

    @property
    def raw_size(self) -> Size | None:
        """(width, height) of pictures that don't tell their own."""
        assert not isinstance(self.size, str)
        if self.size is None and isinstance(self.camera, Camera):
            return self.camera.width, self.camera.height
        return self.size

    def size_for(self, path: Path) -> Size | None:
        """Return the size of a file that turns out to be a plain dump; None if it should not be one.

        What is called a picture, and is none, is a broken picture: only a size that was given makes it a dump.
        """
        assert not isinstance(self.size, str)
        return self.raw_size if path.suffix.lower() in RAW_SUFFIXES else self.size

    def frame(self, page: Page, name: str) -> Frame:
        """Make a frame of a raw page."""
        if page.is_backwards and not self.flip:
            warnings.warn(
                DepthForestWarning(
                    f"{name}: x falls from the left of the picture to the right: it is mirrored, pass ",
                    Parameter("flip", True),
                    "; or its x axis points to the left",
                ),
                stacklevel=2,
            )
        camera = self.camera
        if camera is None and page.camera is not None:
            # fitted to the picture as it was delivered; from_array wants the sensor's own
            camera = page.camera.flipped() if self.flip else page.camera
        return Frame.from_array(page.values, camera, scale=self.scale, flip=self.flip, rotate=self.rotate, name=name)


def read_depth(
    path: PathLike,
    camera: CameraLike | None = None,
    *,
    scale: Scale = None,
    flip: bool = False,
    rotate: int = 0,
    size: Size | str | None = None,
) -> Frame:
    """Read one depth image.

    Opens 16-bit PNG, 16-bit and float TIFF, PGM, `.npy` and `.npz`, organised PCD, and raw little-endian 16-bit dumps.

    Parameters
    ----------
    path : str or Path
    camera : Camera, str, Path or mapping, optional
        As in `Camera.parse`. None: what the file tells (PCD), else the preset of that size, with a warning.
    scale : float or str, optional
        Metres per unit, or "mm", "cm", "m", "tum", "sun3d".
    flip : bool
        The picture is mirrored: turn it back.
    rotate : int
        Turn clockwise by 90, 180 or 270 degrees.
    size : (width, height) or "WxH", optional
        Of a plain 16-bit dump; omitted, the camera's.

    Returns
    -------
    Frame
        Millimetres, upright, not mirrored, without lens distortion.
    """
    options = ReadOptions(camera, scale, flip, rotate, size)
    file = Path(path)
    if is_folder(file, FrameError):
        raise FrameError(f"{path}: is a folder; read_frames reads its frames, read_depth reads one file")
    pages = PictureFile(file, options.size_for(file)).pages()
    page = next(pages)
    if next(pages, None) is not None:
        raise FrameError(f"{path}: holds more than one picture; read_frames reads them one by one")
    return options.frame(page, str(path))


def read_frames(
    source: PathLike | Iterable[PathLike],
    camera: CameraLike | None = None,
    *,
    scale: Scale = None,
    flip: bool = False,
    rotate: int = 0,
    size: Size | str | None = None,
) -> FrameSequence:
    """Read frames one by one: of folders (in natural order), globs, multi-page TIFF, stacks, dumps, or a stream.

    Parameters
    ----------
    source : str, Path, or several of them
        ``"-"`` reads raw little-endian 16-bit pictures of the given size from standard input.
    camera, scale, flip, rotate, size
        As in `read_depth`.

    Returns
    -------
    FrameSequence
        Iterate it for frames. Nothing is decoded before, and one frame is in memory at a time.
    """
    sources = [source] if isinstance(source, str | Path) else list(source)
    return FrameSequence(sources, ReadOptions(camera, scale, flip, rotate, size))


@dataclass(frozen=True)
class FrameName:
    """Where a frame comes from: a file, and the page in it if it has several."""

    path: Path
    page: int | None = None

    def __str__(self) -> str:
        return str(self.path) if self.page is None else f"{self.path}#{self.page}"

    @property
    def stem(self) -> str:
        """A file name for what is made of the frame: without folder and ending."""
        return self.path.stem if self.page is None else f"{self.path.stem}_{self.page:06d}"


class FrameSequence:
    """A lazy sequence of frames of one size; see `read_frames`."""

    def __init__(self, sources: list[PathLike], options: ReadOptions, stdin: IO[bytes] | None = None) -> None:
        if not sources:
            raise UsageError("no input given; name files, folders, globs, or - for a stream on standard input")
        self._options = options
        self._stdin = stdin
        self._sources: list[Path | str] = [s for source in sources for s in _listed(source)]
        if STDIN in self._sources and options.raw_size is None:
            raise UsageError("a stream on standard input has no header; give its size, as in 640x480, or the camera")

    @property
    def sources(self) -> tuple[Path | str, ...]:
        """The files that are read, in order; ``"-"`` stands for standard input."""
        return tuple(self._sources)

    @property
    def options(self) -> ReadOptions:
        """How raw pictures become frames."""
        return self._options

    @property
    def total(self) -> int | None:
        """How many frames there are, as far as headers tell; None for a stream."""
        n = 0
        for source in self._sources:
            if isinstance(source, str):
                return None
            try:
                n += PictureFile(source, self._options.size_for(source)).count()
            except DepthForestError:
                n += 1  # one failure to report
        return n

    def __iter__(self) -> Iterator[Frame]:
        """Yield the frames; raise at the first that cannot be read or has another size."""
        first: tuple[FrameName, tuple[int, int]] | None = None
        for name, frame in self.named():
            if isinstance(frame, DepthForestError):
                raise frame
            if first is None:
                first = name, frame.shape
            elif frame.shape != first[1]:
                raise FrameError(
                    f"{name}: is {_size_text(frame.shape)} but {first[0]} {_size_text(first[1])}; "
                    "the frames of a sequence have one size"
                )
            yield frame

    def named(
        self, *, unless: Callable[[FrameName], bool] | None = None
    ) -> Iterator[tuple[FrameName, Frame | DepthForestError]]:
        """Yield (name, frame) of any sizes, or (name, error) for what cannot be read, and go on with the next.

        Frames for whose names `unless` returns True are passed over; their files are not decoded.
        """
        for source in self._sources:
            for name, page in self._pages(source, unless):
                try:
                    if isinstance(page, DepthForestError):
                        raise page
                    frame = self._options.frame(page, str(name))
                except DepthForestError as error:
                    yield name, error
                    continue
                yield name, frame

    def __repr__(self) -> str:
        return f"FrameSequence of {len(self._sources)} sources, the first {self._sources[0]}"

    def _pages(
        self, source: Path | str, unless: Callable[[FrameName], bool] | None
    ) -> Iterator[tuple[FrameName, Page | DepthForestError]]:
        """Yield the raw pages of one source under the names that messages and outputs use."""
        path = source if isinstance(source, Path) else Path("stdin")
        is_paged, number = isinstance(source, str), 0
        try:
            if isinstance(source, str):
                pages = self._streamed()
            else:
                file = PictureFile(source, self._options.size_for(source))
                is_paged = file.count() > 1
                if not is_paged and unless is not None and unless(FrameName(path)):
                    return
                pages = file.pages()
            for page in pages:
                name = FrameName(path, number if is_paged else None)
                number += 1
                # of a stack, a page is passed over after it was taken from the file, but before it is made a frame
                if not (is_paged and unless is not None and unless(name)):
                    yield name, page
        except DepthForestError as error:
            yield FrameName(path, number if is_paged else None), error

    def _streamed(self) -> Iterator[Page]:
        assert self._options.raw_size is not None  # checked when the sequence was made
        stream = self._stdin if self._stdin is not None else _standard_input()
        return map(Page, read_stream(stream, self._options.raw_size, "stdin"))


def _checked_size(size: Size | str | None) -> Size | None:
    if size is None or isinstance(size, str):
        return parse_size(size) if size is not None else None
    if not isinstance(size, tuple | list) or len(size) != 2 or not all(map(is_whole, size)):
        raise UsageError(f"size must be (width, height) in pixels, or text such as 640x480; got {size!r}")
    check_size(size[0], size[1], "size", UsageError)
    return int(size[0]), int(size[1])


def _listed(source: PathLike) -> list[Path | str]:
    """Return the files that one input means, in natural order."""
    if source == STDIN:
        return [STDIN]
    path = Path(source)
    if is_folder(path, FrameError):
        return list(_folder(path))
    if not path.exists() and glob.has_magic(str(source)):
        names = glob.glob(str(source), recursive=True)  # noqa: PTH207  # Path.glob takes no absolute patterns
        files = [Path(n) for n in sorted(names, key=natural_key) if Path(n).is_file()]
        if not files:
            raise FrameError(f"{source}: no file matches")
        return list(files)
    return [path]


def _folder(path: Path) -> list[Path]:
    try:
        names = sorted((f.name for f in path.iterdir() if f.is_file()), key=natural_key)
    except OSError as error:
        raise FrameError(f"{path}: the folder cannot be read: {reason(error)}") from None
    if "dataset.json" in names:
        raise FrameError(f"{path}: is a data set; open_dataset opens it, and its frames alone are in {path / 'depth'}")
    files = [path / n for n in names if n.lower().endswith(DEPTH_SUFFIXES) and not n.startswith(".")]
    if not files:
        raise FrameError(f"{path}: the folder holds no depth images ({', '.join(DEPTH_SUFFIXES)})")
    return files


def _standard_input() -> IO[bytes]:
    if sys.stdin is None or sys.stdin.isatty():
        raise UsageError("expected a stream on standard input, as in: ffmpeg ... -f rawvideo -pix_fmt gray16le - | ...")
    return sys.stdin.buffer


def _size_text(shape: tuple[int, int]) -> str:
    return f"{shape[1]} x {shape[0]}"
