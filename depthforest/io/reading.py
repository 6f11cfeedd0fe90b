"""Reading frames: one file with `read_depth`; folders, stacks, recordings, streams, cameras with `open_source`."""

from __future__ import annotations

import glob
import operator
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
    check_flag,
    is_folder,
    is_whole,
    natural_key,
    reason,
)
from depthforest.frames import Camera, CameraLike, Frame, Scale, check_rotation, check_scale, check_size, parse_size
from depthforest.io.formats import DEPTH_SUFFIXES, RAW_SUFFIXES, Page, PictureFile, Pictures, Size, read_stream
from depthforest.io.live.callback import Callback, callback_source
from depthforest.io.live.naming import CALLBACK, DRIVERS, camera_stem, is_unknown_camera, open_camera, split_camera
from depthforest.io.live.source import LiveSource
from depthforest.io.recordings.hdf5 import split_name
from depthforest.io.recordings.opening import is_recording_folder, open_pictures

PathLike: TypeAlias = str | Path
STDIN = "-"


@dataclass(frozen=True)
class ReadOptions:
    """How raw pictures become frames; the same for every way of reading.

    Parameters
    ----------
    camera : Camera, str, Path or mapping, optional
        As in `Camera.parse`. None: the camera of the file (PCD), else the preset of that size, with a warning.
    scale : float or str, optional
        Meters per unit, or "mm", "cm", "m", "tum", "sun3d".
    flip : bool
        The pictures are mirrored: undo it.
    rotate : int
        Turn clockwise by 90, 180 or 270 degrees.
    size : (width, height) or "WxH", optional
        Size of plain 16-bit dumps and streams. Default: the camera's.
    topic : str, optional
        Stream of a recording: the name of a ROS topic, or of a data set in an HDF5 file. Default: the only one.
    """

    camera: CameraLike | None = None
    scale: Scale = None
    flip: bool = False
    rotate: int = 0
    size: Size | str | None = None
    topic: str | None = None

    def __post_init__(self) -> None:
        check_scale(self.scale)
        check_rotation(self.rotate)
        check_flag("flip", self.flip)
        size = _checked_size(self.size)
        if self.camera is not None:
            # parsed now, so that a broken camera is refused before the first frame; numbers may still need a size
            is_complete = size is not None or not Camera.waits_for_size(self.camera)
            camera = Camera.parse(self.camera, size if is_complete else (1, 1))
            if is_complete:
                object.__setattr__(self, "camera", camera)
        object.__setattr__(self, "size", size)

    @property
    def raw_size(self) -> Size | None:
        """(width, height) of pictures without a header."""
        assert not isinstance(self.size, str)
        if self.size is None and isinstance(self.camera, Camera):
            return self.camera.width, self.camera.height
        return self.size

    def size_for(self, path: Path) -> Size | None:
        """Return the size of a file that turns out to be a plain dump; None if it should not be one.

        A file with a picture's ending that is not one is a broken picture, and a dump only if a size was given.
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
            # fitted to the picture as delivered; from_array expects the sensor's own camera
            camera = page.camera.flipped() if self.flip else page.camera
        scale = page.scale if self.scale is None else self.scale
        return Frame.from_array(
            page.values, camera, scale=scale, flip=self.flip, rotate=self.rotate, name=name, time_s=page.time_s
        )


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

    Opens 16-bit PNG, 16-bit and float TIFF, PGM, `.npy` and `.npz`, organized PCD, and raw little-endian 16-bit dumps.

    Parameters
    ----------
    path : str or Path
    camera : Camera, str, Path or mapping, optional
        As in `Camera.parse`. None: the camera of the file (PCD), else the preset of that size, with a warning.
    scale : float or str, optional
        Meters per unit, or "mm", "cm", "m", "tum", "sun3d".
    flip : bool
        The picture is mirrored: undo it.
    rotate : int
        Turn clockwise by 90, 180 or 270 degrees.
    size : (width, height) or "WxH", optional
        Size of a raw 16-bit file. Default: the camera's.

    Returns
    -------
    Frame
        Millimeters, upright, not mirrored, without lens distortion.
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


def open_source(
    what: PathLike | Iterable[PathLike] | Callback,
    camera: CameraLike | None = None,
    *,
    scale: Scale = None,
    flip: bool = False,
    rotate: int = 0,
    size: Size | str | None = None,
    topic: str | None = None,
) -> FrameSequence:
    """Open whatever delivers depth frames: images, stacks, folders of them (in natural order), recordings, cameras.

    Parameters
    ----------
    what : str, Path, several of them, or a function
        Files, folders and globs; docs/RECORDINGS.md lists the formats. ``"-"`` reads raw little-endian 16-bit pictures
        of the given size from standard input. ``"realsense:"``, ``"orbbec:"``, ``"oak:"`` and ``"v4l2:"`` are live
        cameras: the first connected one, or the one named after the colon. A function is called repeatedly, in a thread
        of its own; each time it returns the next picture as an array or a `Frame`, or None at the end.
    camera, scale, flip, rotate, size
        As in `read_depth`. A given camera or scale overrides that of a recording. For a live camera, size selects the
        mode.
    topic : str, optional
        Name of the stream, for recordings with several streams.

    Returns
    -------
    FrameSequence
        Iterate it for frames, in order. Each has its camera, its `name` and, if the source records it, its time,
        `time_s`. Frames are decoded only when needed, and one is in memory at a time. Files have a `len` and an index:
        ``source[100]``.
    """
    options = ReadOptions(camera, scale, flip, rotate, size, topic)
    if callable(what):
        name = f"{CALLBACK}:{getattr(what, '__name__', type(what).__name__)}"
        return FrameSequence([name], options, live=callback_source(what, name))
    return FrameSequence([what] if isinstance(what, str | Path) else list(what), options)


def read_frames(
    source: PathLike | Iterable[PathLike],
    camera: CameraLike | None = None,
    *,
    scale: Scale = None,
    flip: bool = False,
    rotate: int = 0,
    size: Size | str | None = None,
) -> FrameSequence:
    """Return the same as `open_source`; this is its old name."""
    return open_source(source, camera, scale=scale, flip=flip, rotate=rotate, size=size)


@dataclass(frozen=True)
class FrameName:
    """Where a frame comes from: a file, and the page in it if it has several."""

    path: Path
    page: int | None = None

    def __str__(self) -> str:
        return str(self.path) if self.page is None else f"{self.path}#{self.page}"

    @property
    def stem(self) -> str:
        """A file name for outputs of the frame: without folder and ending."""
        return self.path.stem if self.page is None else f"{self.path.stem}_{self.page:06d}"


class FrameSequence:
    """A lazy sequence of frames of one size; see `open_source`."""

    def __init__(
        self,
        sources: list[PathLike],
        options: ReadOptions,
        stdin: IO[bytes] | None = None,
        live: LiveSource | None = None,
    ) -> None:
        if not sources:
            raise UsageError("no input given; name files, folders, globs, or - for a stream on standard input")
        self._options = options
        self._stdin = stdin
        self._sets: dict[Path, str] = {}  # HDF5 file -> data set
        self._sources: list[Path | str] = [s for source in sources for s in _listed(self._without_set(source))]
        self._counts: list[int | None] | None = None
        self._live = live if live is not None else self._named_camera()
        if STDIN in self._sources and options.raw_size is None:
            raise UsageError("a stream on standard input has no header; give its size, as in 640x480, or the camera")

    @property
    def sources(self) -> tuple[Path | str, ...]:
        """The files that are read, in order; text stands for a stream: ``"-"``, or the name of a live camera."""
        return tuple(self._sources)

    @property
    def options(self) -> ReadOptions:
        """How raw pictures become frames."""
        return self._options

    @property
    def is_live(self) -> bool:
        """Whether it is a live camera, which delivers the newest frame and drops others."""
        return self._live is not None

    def check_camera(self) -> None:
        """Raise FrameError if a live camera is missing; does nothing for other sources."""
        if self._live is not None:
            self._live.check()

    @property
    def n_dropped(self) -> int:
        """How many frames of a live camera were dropped because nobody took them in time."""
        return 0 if self._live is None else self._live.n_dropped

    @property
    def n_lost(self) -> int:
        """How often a live camera was lost and waited for."""
        return 0 if self._live is None else self._live.n_lost

    @property
    def topics(self) -> list[str] | None:
        """The requested streams of recordings; None: the only ones."""
        named = [self._options.topic, *self._sets.values()]
        return [name for name in named if name is not None] or None

    @property
    def total(self) -> int | None:
        """Number of frames according to the headers; None for a stream."""
        n = 0
        for source in self._sources:
            count = self._count(source)
            if count is None:
                return None
            n += count
        return n

    def names(self) -> Iterator[FrameName]:
        """Yield the names of all frames according to the headers; nothing is decoded."""
        for source in self._sources:
            pictures = self._opened(source)
            for number in range(pictures.count() or 0):
                yield FrameName(_path_of(source), number if pictures.is_paged else None)

    def pictures(self, source: Path | str) -> Pictures:
        """Open one of `sources` as raw pictures, for random access."""
        return self._opened(source)

    def __len__(self) -> int:
        """Return the number of frames according to the headers."""
        total = self.total
        if total is None:
            raise TypeError("a stream has no length; iterate it")
        return total

    def __bool__(self) -> bool:
        return True

    def __getitem__(self, number: int) -> Frame:
        """Return one frame by its number; a negative one counts from the end.

        Frames before it are not decoded if the format allows that.
        """
        number = operator.index(number)
        if self._counts is None:
            self._counts = [self._count(source) for source in self._sources]
        wanted = number + len(self) if number < 0 else number
        for source, count in zip(self._sources, self._counts, strict=True):
            if count is None:
                raise UsageError(f"{source}: a stream has no frames by number; iterate it")
            if 0 <= wanted < count:
                pictures = self._opened(source)
                name = FrameName(_path_of(source), wanted if pictures.is_paged else None)
                return self._options.frame(pictures.page(wanted), str(name))
            wanted -= count
        raise IndexError(f"frame {number} of {sum(count or 0 for count in self._counts)}")

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
        """Yield (name, frame) of any sizes, or (name, error) for a frame that cannot be read, and continue.

        Frames for whose names `unless` returns True are skipped; their files are not decoded.
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
        path = _path_of(source)
        is_paged, number = isinstance(source, str), 0
        try:
            pictures = self._opened(source)
            is_paged = pictures.is_paged
            if not is_paged and unless is not None and unless(FrameName(path)):
                return
            for page in pictures.pages():
                name = FrameName(path, number if is_paged else None)
                number += 1
                # a page of a stack is skipped after it was read from the file, but before it becomes a frame
                if not (is_paged and unless is not None and unless(name)):
                    yield name, page
        except DepthForestError as error:
            yield FrameName(path, number if is_paged else None), error

    def _named_camera(self) -> LiveSource | None:
        """Return the live camera among the sources; it must be the only one, because it does not end."""
        cameras = [source for source in self._sources if stream_name(source) not in (None, "stdin")]
        if not cameras:
            return None
        if len(self._sources) > 1:
            raise UsageError(f"{cameras[0]}: a live camera does not end; leave out the other inputs")
        size = self._options.size
        assert not isinstance(size, str)
        return open_camera(str(cameras[0]), size)

    def _without_set(self, source: PathLike) -> PathLike:
        """Return the file of `file.h5:path`, and remember the data set."""
        named = split_name(str(source))
        if named is None or Path(source).exists():
            return source
        path = Path(named[0])
        if self._sets.setdefault(path, named[1]) != named[1]:
            raise UsageError(f"{path}: is named with two data sets; read one after the other")
        return path

    def _opened(self, source: Path | str) -> Pictures:
        options = self._options
        if isinstance(source, Path):
            return open_pictures(source, options.size_for(source), self._sets.get(source, options.topic))
        if self._live is not None:
            return self._live
        assert options.raw_size is not None  # checked when the sequence was made
        return _StandardInput(self._stdin if self._stdin is not None else _standard_input(), options.raw_size)

    def _count(self, source: Path | str) -> int | None:
        """Return how many frames a source has; None for a stream."""
        if isinstance(source, str):
            return None
        try:
            return self._opened(source).count()
        except DepthForestError:
            return 1  # one failure to report


class _StandardInput:
    """An endless stream of pictures."""

    is_paged, is_seekable = True, False

    def __init__(self, stream: IO[bytes], size: Size) -> None:
        self._stream, self._size = stream, size

    def count(self) -> None:
        return None

    def pages(self) -> Iterator[Page]:
        return map(Page, read_stream(self._stream, self._size, "stdin"))

    def page(self, number: int) -> Page:
        raise UsageError(f"frame {number} of a stream cannot be looked up; iterate it")


def is_recording(what: PathLike) -> bool:
    """Tell whether a name stands for one source of frames: a file, a folder that is a recording, an HDF5 data set."""
    named = split_name(str(what))
    path = Path(what)
    return (
        path.is_file()
        or (path.is_dir() and is_recording_folder(path))
        or (named is not None and Path(named[0]).is_file())
    )


def stream_name(source: Path | str) -> str | None:
    """Return the name of a stream's frames, "stdin" or the camera's name; None for files."""
    if source == STDIN:
        return "stdin"
    is_camera = isinstance(source, str) and split_camera(source) is not None
    return camera_stem(str(source)) if is_camera else None


def _path_of(source: Path | str) -> Path:
    """Return the path that the frames of a source are named after."""
    return source if isinstance(source, Path) else Path(stream_name(source) or source)


def _checked_size(size: Size | str | None) -> Size | None:
    if size is None or isinstance(size, str):
        return parse_size(size) if size is not None else None
    if not isinstance(size, tuple | list) or len(size) != 2 or not all(map(is_whole, size)):
        raise UsageError(f"size must be (width, height) in pixels, or text such as 640x480; got {size!r}")
    check_size(size[0], size[1], "size", UsageError)
    return int(size[0]), int(size[1])


def _listed(source: PathLike) -> list[Path | str]:
    """Return the files that one input stands for, in natural order."""
    if stream_name(source) is not None:
        return [str(source)]
    path = Path(source)
    if is_folder(path, FrameError):
        return [path] if is_recording_folder(path) else list(_folder(path))
    if not path.exists() and glob.has_magic(str(source)):
        names = glob.glob(str(source), recursive=True)  # noqa: PTH207  # Path.glob takes no absolute patterns
        files = [Path(n) for n in sorted(names, key=natural_key) if Path(n).is_file()]
        if not files:
            raise FrameError(f"{source}: no file matches")
        return list(files)
    if is_unknown_camera(str(source)) and not path.exists():
        cameras = ", ".join(f"{kind}:" for kind in DRIVERS)
        raise UsageError(f"{source}: is neither a file nor a live camera; live cameras are {cameras}")
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
        raise FrameError(
            f"{path}: the folder holds no depth images ({', '.join(DEPTH_SUFFIXES)}); name a folder of frames, or a "
            "recording by its file"
        )
    return files


def _standard_input() -> IO[bytes]:
    if sys.stdin is None or sys.stdin.isatty():
        raise UsageError("expected a stream on standard input, as in: ffmpeg ... -f rawvideo -pix_fmt gray16le - | ...")
    return sys.stdin.buffer


def _size_text(shape: tuple[int, int]) -> str:
    return f"{shape[1]} x {shape[0]}"
