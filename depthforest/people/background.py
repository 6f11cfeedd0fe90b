"""Background: what a camera that stands still sees when nobody is there; depth and noise of every pixel.

Learned from one empty frame, from several, or running over a recording in which people come and go: whatever turns out
to be farther takes the place of what was before it, because nobody can look through a wall.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable

import cv2
import numpy as np
import numpy.typing as npt

from depthforest.base import Bytes, DepthForestWarning, FrameError, Singles, UsageError, kernel
from depthforest.frames import Frame
from depthforest.people.grid import DepthGrid, noise_at, noise_scale
from depthforest.people.planes import find_planes, find_up

PRIOR_READINGS = 8.0
"""Readings that the noise expected at a depth counts for, beside those that a pixel has had itself."""

MEMORY = 100.0
"""Readings that a pixel's mean and noise remember: 3 s of a recording."""

SOON = 3
"""Readings in a row that are farther, after which they are the background: one may be a flicker."""

PATIENCE = 900
"""The same for readings that are nearer: a chair that somebody moved is background half a minute later."""

LEAST_MM = 8.0
"""Millimeters before the background that are always background: rounding, warmth, a lens."""

WEAK_NOISES, STRONG_NOISES = 2.0, 4.0
"""Standard deviations before the background from which a reading may be, and is, somebody."""

EDGE_MM = 30.0
"""Millimeters between neighbors, beside noise, that are an edge of the background."""

EDGE_SHARE = 1 / 213
"""Of the longer side of the picture: how far edges wander between frames; 3 pixels of 640."""

BEHIND_MM = 30.0
"""Millimeters, beside noise, that a reading is behind the background."""

MOST_BEHIND = 0.08
"""Share of the readings that may be behind the background; people cause none, a moved camera or door does."""

NOBODY, MAYBE, SOMEBODY = 0, 1, 2
"""What `Background.compare` says of a pixel."""


class Background:
    """Depth and noise of every pixel of an empty room.

    Parameters
    ----------
    frame : Frame
        The first frame; pass more to `add`.

    Attributes
    ----------
    noise : float
        Multiple of the noise of `grid.noise_at` that the first frame has.
    """

    patience = PATIENCE
    """Frames in a row with nearer readings, after which they are the background."""

    def __init__(self, frame: Frame) -> None:
        if not isinstance(frame, Frame):
            raise UsageError(f"a background is learned from Frames, got {type(frame).__name__}")
        self._camera = frame.camera
        self.noise = noise_scale(frame.depth_mm)
        self._depth = np.zeros(frame.shape, dtype=np.float32)
        self._variance = np.zeros(frame.shape, dtype=np.float32)
        self._count = np.zeros(frame.shape, dtype=np.float32)
        self._other = np.zeros(frame.shape, dtype=np.float32)
        self._other_count = np.zeros(frame.shape, dtype=np.int16)
        self._n_frames = 0
        self._limits: tuple[npt.NDArray[np.uint16], Bytes] | None = None
        self._has_warned = False
        self._up: npt.NDArray[np.float64] | None = None
        self._learn(frame.depth_mm)

    @classmethod
    def learn(cls, frames: Frame | Iterable[Frame]) -> Background:
        """Return the background of one frame or more, in the order in which they were taken."""
        frames = [frames] if isinstance(frames, Frame) else frames
        background = None
        for frame in frames:
            if background is None:
                background = cls(frame)
            else:
                background.add(frame)
        if background is None:
            raise UsageError("a background needs at least one frame, got none")
        return background

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, cols)."""
        return self._camera.shape

    @property
    def n_frames(self) -> int:
        """Number of frames seen."""
        return self._n_frames

    @property
    def depth_mm(self) -> npt.NDArray[np.uint16]:
        """Array (rows, cols), millimeters; 0 where there never was a reading."""
        return np.rint(self._depth).astype(np.uint16)

    @property
    def noise_mm(self) -> Singles:
        """Array (rows, cols): standard deviation of a reading in millimeters; 0 where there never was one."""
        return np.sqrt(self._variance)

    @property
    def up(self) -> npt.NDArray[np.float64]:
        """Array (3,): the direction up in camera space, found from floor and walls on first use."""
        if self._up is None:
            self._up = find_up(find_planes(DepthGrid.of(Frame(self.depth_mm, self._camera))))
        return self._up

    def add(self, frame: Frame, people: Bytes | None = None) -> None:
        """Learn from one more frame of the same camera; people may be in it.

        Parameters
        ----------
        frame : Frame
        people : array (rows, cols), uint8, optional
            `People.map`: nothing is learned from pixels above 0, which show people.
        """
        self._check(frame)
        depth_mm = frame.depth_mm
        if people is not None:
            if people.shape != frame.shape:
                raise FrameError(
                    f"the map of people has shape {people.shape}, the frame {frame.shape}; they must agree"
                )
            depth_mm = np.where(people > 0, np.uint16(0), depth_mm)
            depth_mm.setflags(write=False)  # as a frame's are: the kernel is compiled once
        self._learn(depth_mm)

    def _learn(self, depth_mm: npt.NDArray[np.uint16]) -> None:
        """Take in the readings of a picture that is read-only; 0 where there is nothing to learn."""
        _update(
            depth_mm, np.float32(self.noise), self.patience, self._depth, self._variance, self._count, self._other,
            self._other_count,
        )  # fmt: skip
        self._n_frames += 1
        self._limits = None

    def compare(self, frame: Frame) -> Bytes:
        """Return for every pixel whether it shows somebody: `NOBODY`, `MAYBE` or `SOMEBODY`, array (rows, cols).

        Warns once if much of the picture is behind the background, because the camera has then moved.
        """
        self._check(frame)
        if self._limits is None:
            self._limits = self._make_limits()
        limits, is_edge = self._limits
        compared = np.empty(frame.shape, dtype=np.uint8)
        n_readings, n_behind = _compare(
            frame.depth_mm, limits, is_edge, self._depth, self._variance, self._reach, compared
        )
        self._note_behind(n_behind / max(n_readings, 1))
        return compared

    def _note_behind(self, share: float) -> None:
        """Warn, once, if a large share of the readings of a frame is behind the background."""
        if share > MOST_BEHIND and not self._has_warned:
            self._has_warned = True
            warnings.warn(
                f"the background seems to have moved: {share:.0%} of the readings are behind it; "
                "learn it again from where the camera stands now",
                DepthForestWarning,
                stacklevel=4,
            )

    @property
    def _reach(self) -> int:
        """Pixels that edges wander."""
        return max(1, round(max(self.shape) * EDGE_SHARE))

    def _make_limits(self) -> tuple[npt.NDArray[np.uint16], Bytes]:
        """Return what readings are compared with, and where the edges are."""
        is_edge = np.empty(self.shape, dtype=np.uint8)
        _mark_jumps(self._depth, self._variance, is_edge)
        window = np.ones((2 * self._reach + 1, 2 * self._reach + 1), dtype=np.uint8)
        is_edge = np.asarray(cv2.dilate(is_edge, window))
        limits = np.empty((4, *self.shape), dtype=np.uint16)
        _set_limits(self._depth, self._variance, self._count, is_edge, limits)
        # what is surely before everything within reach need not be compared with each of it
        limits[3] = cv2.erode(limits[1], window)
        return limits, is_edge

    def _check(self, frame: Frame) -> None:
        if frame.shape != self.shape:
            raise FrameError(
                f"the background is {self.shape[1]} x {self.shape[0]} pixels, the frame {frame.shape[1]} x "
                f"{frame.shape[0]}; learn the background from frames of the same camera and size"
            )


@kernel
def _update(
    depth_mm: npt.NDArray[np.uint16],
    scale: np.float32,
    patience: int,
    depth: Singles,
    variance: Singles,
    count: Singles,
    other: Singles,
    other_count: npt.NDArray[np.int16],
) -> None:
    """Take the readings of a frame into mean, variance and count of every pixel.

    What does not fit is kept as the other depth, with a count of its readings in a row: above 0 if it is farther,
    below 0 if it is nearer.
    """
    for row in range(depth.shape[0]):
        for col in range(depth.shape[1]):
            reading = np.float32(depth_mm[row, col])
            if reading == 0:
                continue
            expected = np.float32(1000) * scale * noise_at(reading * np.float32(0.001))
            if count[row, col] == 0:
                depth[row, col], variance[row, col], count[row, col] = reading, expected * expected, 1
                continue
            difference = reading - depth[row, col]
            tolerance = np.float32(LEAST_MM) + np.float32(STRONG_NOISES) * np.sqrt(variance[row, col])
            if abs(difference) <= tolerance:
                n = min(count[row, col] + np.float32(1), np.float32(MEMORY))
                count[row, col] = n
                depth[row, col] += difference / n
                # the squares of readings about the mean, beside what was expected of them
                weight = np.float32(1) / (n + np.float32(PRIOR_READINGS))
                variance[row, col] += (difference * difference - variance[row, col]) * weight
                other_count[row, col] = 0
                continue
            side = 1 if difference > 0 else -1
            if other_count[row, col] * side > 0 and abs(reading - other[row, col]) <= tolerance:
                other_count[row, col] += side
                other[row, col] += (reading - other[row, col]) / np.float32(abs(other_count[row, col]))
            else:
                other_count[row, col], other[row, col] = side, reading
            if other_count[row, col] >= SOON or -other_count[row, col] >= patience:
                depth[row, col], variance[row, col] = other[row, col], expected * expected
                count[row, col], other_count[row, col] = min(abs(other_count[row, col]), np.int16(MEMORY)), 0


@kernel
def _mark_jumps(depth: Singles, variance: Singles, is_edge: Bytes) -> None:
    """Write 1 beside jumps, between neighbors, that neither noise nor a floor seen at a grazing angle accounts for."""
    is_edge[:] = 0
    n_rows, n_cols = depth.shape
    for row in range(n_rows):
        for col in range(n_cols):
            limit = np.float32(EDGE_MM) + np.float32(STRONG_NOISES) * np.sqrt(variance[row, col])
            if col + 1 < n_cols and abs(depth[row, col] - depth[row, col + 1]) > limit:
                is_edge[row, col] = is_edge[row, col + 1] = 1
            if row + 1 < n_rows and abs(depth[row, col] - depth[row + 1, col]) > limit:
                is_edge[row, col] = is_edge[row + 1, col] = 1


@kernel
def _set_limits(
    depth: Singles, variance: Singles, count: Singles, is_edge: Bytes, limits: npt.NDArray[np.uint16]
) -> None:
    """Write below what depth a reading may be somebody, below what it is, and above what it is behind everything.

    Where there never was a reading, everything is somebody; at edges nothing is behind.
    """
    for row in range(depth.shape[0]):
        for col in range(depth.shape[1]):
            limits[0, row, col], limits[1, row, col], limits[2, row, col] = 65535, 65535, 65535
            n = count[row, col]
            if n == 0:
                continue
            # the noise of the reading and of the mean
            noise = np.sqrt(variance[row, col] * (np.float32(1) + np.float32(1) / n))
            weak = np.float32(LEAST_MM) + np.float32(WEAK_NOISES) * noise
            strong = np.float32(LEAST_MM) + np.float32(STRONG_NOISES) * noise
            limits[0, row, col] = np.uint16(max(depth[row, col] - weak, np.float32(0)))
            limits[1, row, col] = np.uint16(max(depth[row, col] - strong, np.float32(0)))
            if not is_edge[row, col]:
                behind = depth[row, col] + np.float32(BEHIND_MM) + np.float32(2) * weak
                limits[2, row, col] = np.uint16(min(behind, np.float32(65535)))


@kernel
def _compare(
    depth_mm: npt.NDArray[np.uint16], limits: npt.NDArray[np.uint16], is_edge: Bytes, depth: Singles,
    variance: Singles, reach: int, compared: Bytes,
) -> tuple[int, int]:  # fmt: skip
    """Write what every pixel shows; return how many readings there are, and how many are behind the background.

    What is near an edge of the background and as deep as something there is nobody: the edge has wandered.
    """
    n_readings, n_behind = 0, 0
    for row in range(depth_mm.shape[0]):
        n_doubtful = 0
        for col in range(depth_mm.shape[1]):
            reading = depth_mm[row, col]
            # no branches: vector instructions
            is_reading = reading > 0
            is_before = is_reading & (reading < limits[0, row, col])
            compared[row, col] = np.uint8(is_before) + np.uint8(is_reading & (reading < limits[1, row, col]))
            n_readings += is_reading
            n_behind += reading > limits[2, row, col]
            n_doubtful += is_before & ((reading >= limits[3, row, col]) | (reading < LEAST_MM))
        if n_doubtful == 0:
            continue
        for col in range(depth_mm.shape[1]):
            if compared[row, col] and is_edge[row, col]:
                reading = depth_mm[row, col]
                is_doubtful = reading >= limits[3, row, col] or reading < LEAST_MM
                if is_doubtful and _is_beside(np.float32(reading), row, col, depth, variance, reach):
                    compared[row, col] = NOBODY
    return n_readings, n_behind


@kernel
def _is_beside(reading: np.float32, row: int, col: int, depth: Singles, variance: Singles, reach: int) -> bool:
    """Tell whether the background has a reading's depth within `reach` pixels; 0 where it never had a reading."""
    for r in range(max(row - reach, 0), min(row + reach + 1, depth.shape[0])):
        for c in range(max(col - reach, 0), min(col + reach + 1, depth.shape[1])):
            margin = np.float32(LEAST_MM) + np.float32(STRONG_NOISES) * np.sqrt(variance[r, c])
            if abs(depth[r, c] - reading) < margin:
                return True
    return False
