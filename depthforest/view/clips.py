"""Frames to show: those of files and recordings by number, or the newest of a live source."""

from __future__ import annotations

import bisect
import contextlib
import itertools
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from depthforest.base import DepthForestError, FrameError, UsageError, read_json, samples_folder
from depthforest.frames import Frame, at_most_pixels
from depthforest.io import FrameName, FrameSequence, Page, Pictures, ReadOptions

MAX_FRAME_PIXELS = 1 << 23
"""Most pixels of a frame to show; the largest depth cameras have a quarter of that."""

USUAL_FPS, SAMPLE_FPS = 30.0, 1.0
"""Frames per second for files without time stamps, and for the sample frames, which are unrelated pictures."""

MAX_SKIPPED = 8
"""Playing may skip up to this many frames by decoding them; for more, it seeks by number."""

N_TIMED = 16
"""Number of first frames whose time stamps determine the rate of a recording."""


@dataclass(frozen=True)
class Taken:
    """A frame as it was read.

    Parameters
    ----------
    frame : Frame
    number : int
        From 0.
    name : str
        Without folder and ending.
    time : float
        When it arrived, by `time.monotonic`.
    unit, camera : str
        In words, the unit that was assumed for the file's numbers, and where the camera comes from.
    """

    frame: Frame
    number: int
    name: str
    time: float
    unit: str = ""
    camera: str = ""


class FileClip:
    """The frames of files and recordings, in any order; the next one is read fastest.

    Parameters
    ----------
    sources : list of str or Path
        As in `open_source`.
    options : ReadOptions
    fps : float, optional
        Frames per second at which it plays. Default: from time stamps, else 30.
    """

    is_live = False

    def __init__(self, sources: list[str | Path], options: ReadOptions, fps: float | None = None) -> None:
        self.options, self.inputs = options, sources
        self._sequence = FrameSequence(list(sources), options)
        self._files = list(self._sequence.sources)
        self._open: tuple[int, Pictures] | None = None
        self._following: tuple[int, int, Iterator[Page]] | None = None
        with at_most_pixels(MAX_FRAME_PIXELS):
            self._ends = list(itertools.accumulate(map(self._count, range(len(self._files)))))
            if not len(self):
                raise FrameError(f"{sources[0]}: holds no frame")
            self.fps = fps or self._rate() or USUAL_FPS

    def __len__(self) -> int:
        return self._ends[-1]

    def path(self, number: int) -> Path:
        """Return the file of a frame."""
        return Path(self._files[self._place(number)[0]])

    def is_alone(self, number: int) -> bool:
        """Tell whether a frame is the only one of its file."""
        file, page = self._place(number)
        return page == 0 and self._ends[file] == number + 1

    def take(self, number: int) -> Taken:
        """Read a frame. Pictures that are too large to show are refused by their headers."""
        file, page = self._place(number)
        with at_most_pixels(MAX_FRAME_PIXELS):
            pictures = self._pictures(file)
            name = FrameName(Path(self._files[file]), page if pictures.is_paged else None)
            raw = self._page(file, page)
            frame = self.options.frame(raw, str(name))
        return Taken(
            frame, number, name.stem, time.monotonic(), unit_words(self.options, raw), camera_words(self.options, raw)
        )

    def _count(self, file: int) -> int:
        try:
            return self._pictures(file).count() or 0
        except DepthForestError:
            return 1  # errors are reported when it is shown

    def _place(self, number: int) -> tuple[int, int]:
        """Return the file of a frame, and the frame's number in that file."""
        if not 0 <= number < len(self):
            raise FrameError(f"there are {len(self)} frames, no number {number}")
        file = bisect.bisect_right(self._ends, number)
        return file, number - (self._ends[file - 1] if file else 0)

    def _pictures(self, file: int) -> Pictures:
        if self._open is None or self._open[0] != file:
            self._open = file, self._sequence.pictures(self._files[file])
        return self._open[1]

    def _page(self, file: int, page: int) -> Page:
        pictures = self._pictures(file)
        at, self._following = self._following, None  # if reading fails, the next call starts over
        is_ahead = at is not None and at[0] == file and 0 <= page - at[1] <= MAX_SKIPPED
        if not is_ahead and page and pictures.is_seekable:
            return pictures.page(page)
        if at is None or at[0] != file or at[1] > page:
            at = file, 0, pictures.pages()
        found = next(itertools.islice(at[2], page - at[1], None), None)
        if found is None:
            raise FrameError(f"{self._files[file]}: ended before frame {page}; was it changed?")
        self._following = file, page + 1, at[2]
        return found

    def _rate(self) -> float | None:
        """Return frames per second from the time stamps of the first frames; None if they do not determine it."""
        n = min(self._ends[0], N_TIMED)
        if n < 2:
            return None
        with contextlib.suppress(DepthForestError):
            first, last = self._page(0, 0).time_s, self._page(0, n - 1).time_s
            if first is not None and last is not None and last > first:
                return (n - 1) / (last - first)
        return None


class LiveClip:
    """The newest frame of a live source; a slow consumer misses frames.

    Parameters
    ----------
    frames : FrameSequence
        A stream. A thread reads it until it ends.
    """

    is_live = True
    fps = USUAL_FPS

    def __init__(self, frames: FrameSequence) -> None:
        self.options = frames.options
        self.error: DepthForestError | None = None
        self.listeners: set[Callable[[], object]] = set()
        self._arrived = threading.Lock()
        self._newest: Taken | None = None
        self._n = 0
        threading.Thread(target=self._read, args=(frames,), name="depthforest-live", daemon=True).start()

    def __len__(self) -> int:
        return self._n

    def take(self, number: int) -> Taken:
        """Return the newest frame, whatever its number; FrameError before the first has come."""
        with self._arrived:
            if self._newest is not None:
                return self._newest
            raise self.error or FrameError(f"frame {number} has not come yet")

    def _read(self, frames: FrameSequence) -> None:
        error = FrameError("the stream has ended")
        for name, frame in frames.named():
            if isinstance(frame, DepthForestError):
                error = FrameError(str(frame))
                break
            unit = f"{frames.options.scale} (given)" if frames.options.scale else "as the source says"
            camera = "assumed" if frames.options.camera is None else "given"
            with self._arrived:
                self._newest = Taken(frame, self._n, name.stem, time.monotonic(), unit, camera)
                self._n += 1
            self._tell()
        self.error = error
        self._tell()

    def _tell(self) -> None:
        for listener in tuple(self.listeners):
            listener()


Clip = FileClip | LiveClip


def unit_words(options: ReadOptions, page: Page) -> str:
    """Return the unit assumed for a page's numbers, and why, in words."""
    if options.scale is not None:
        return options.scale if isinstance(options.scale, str) else f"{options.scale:g} m per unit"
    if page.scale is not None:
        return f"{page.scale:g} m per unit, says the file"
    return "meters, assumed for floats" if page.values.dtype.kind == "f" else "millimeters, assumed for whole numbers"


def camera_words(options: ReadOptions, page: Page) -> str:
    """Return where the camera of a page comes from, in words."""
    if options.camera is not None:
        return "given"
    return "assumed from the size of the picture" if page.camera is None else "from the file"


def open_clip(sources: tuple[str, ...], options: ReadOptions, fps: float | None = None) -> Clip:
    """Return the clip of the given sources; the sample frames if there are none."""
    listed, options = with_data_sets(sources, options)
    frames = FrameSequence(listed, options)
    if any(isinstance(source, str) for source in frames.sources):  # a stream or a camera, not a file
        if len(frames.sources) > 1:
            raise UsageError("a live source is shown alone; leave out the other inputs")
        return LiveClip(frames)
    clip = FileClip(listed, options, fps if sources else fps or SAMPLE_FPS)
    if len(clip) == 1:
        clip.take(0)  # a mistyped name is reported now, not in the page
    return clip


def with_data_sets(sources: tuple[str, ...], options: ReadOptions) -> tuple[list[str | Path], ReadOptions]:
    """Return sources with data sets as their depth, and options with the camera and the unit of the first of them."""
    listed: list[str | Path] = []
    for source in sources or (str(samples_folder()),):
        described = Path(source) / "dataset.json"
        if not described.is_file():
            listed.append(source)
            continue
        content = read_json(described, FrameError)
        if options.camera is None:
            options = replace(options, camera=described)
        if options.scale is None and isinstance(content, dict) and isinstance(content.get("depth_scale"), float):
            options = replace(options, scale=content["depth_scale"])
        listed.append(Path(source) / "depth")
    return listed, options
