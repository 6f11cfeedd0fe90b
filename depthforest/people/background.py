"""Background: the view of a static camera without people; depth and noise of every pixel.

It is learned from one empty frame, from several, or continuously from a recording in which people come and go: farther
readings replace nearer ones, because a camera cannot see through a wall.
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
"""Weight of the noise expected at a depth, in readings, relative to a pixel's own readings."""

MEMORY = 100.0
"""Memory of a pixel's mean and noise in readings: 3 s of a recording."""

SOON = 3
"""Consecutive farther readings after which they become the background: a single one may be a flicker."""

PATIENCE = 900
"""The same for nearer readings: a chair that somebody moved becomes background after half a minute."""

LEAST_MM = 8.0
"""Millimeters in front of the background that always count as background: rounding, temperature drift, lens."""

WEAK_NOISES, STRONG_NOISES = 2.0, 4.0
"""Standard deviations in front of the background beyond which a reading may be, and is, a person."""

EDGE_MM = 30.0
"""Millimeters between neighbors, in addition to noise, that make an edge of the background."""

EDGE_SHARE = 1 / 213
"""How far edges move between frames, as a share of the picture's longer side: 3 pixels of 640."""

BEHIND_MM = 30.0
"""Millimeters, in addition to noise, beyond which a reading is behind the background."""

MOST_BEHIND = 0.08
"""Largest share of readings behind the background; people cause none, but a moved camera or door does."""

NOBODY, MAYBE, SOMEBODY = 0, 1, 2
"""Values of a pixel in `Background.compare`."""


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
    """Consecutive frames with nearer readings after which these become the background."""

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
        """Learn from another frame of the same camera, which may contain people.

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
            depth_mm.setflags(write=False)  # read-only, as a frame's depth, so that the kernel is compiled only once
        self._learn(depth_mm)

    def _learn(self, depth_mm: npt.NDArray[np.uint16]) -> None:
        """Learn the readings of a read-only picture; 0 where there is nothing to learn."""
        _update(
            depth_mm, np.float32(self.noise), self.patience, self._depth, self._variance, self._count, self._other,
            self._other_count,
        )  # fmt: skip
        self._n_frames += 1
        self._limits = None

    def compare(self, frame: Frame) -> Bytes:
        """Return for every pixel whether it shows a person: `NOBODY`, `MAYBE` or `SOMEBODY`, array (rows, cols).

        Warns once if much of the picture is behind the background, because then the camera has moved.
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
        """Pixels by which edges move between frames."""
        return max(1, round(max(self.shape) * EDGE_SHARE))

    def _make_limits(self) -> tuple[npt.NDArray[np.uint16], Bytes]:
        """Return the limits that readings are compared with, and the edges."""
        is_edge = np.empty(self.shape, dtype=np.uint8)
        _mark_jumps(self._depth, self._variance, is_edge)
        window = np.ones((2 * self._reach + 1, 2 * self._reach + 1), dtype=np.uint8)
        is_edge = np.asarray(cv2.dilate(is_edge, window))
        limits = np.empty((4, *self.shape), dtype=np.uint16)
        _set_limits(self._depth, self._variance, self._count, is_edge, limits)
        # readings in front of everything within reach need no comparison with each neighbor
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
    """Add the readings of a frame to the mean, variance and count of every pixel.

    A reading that does not fit is kept as the other depth, with a count of consecutive readings: above 0 if it is
    farther, below 0 if it is nearer.
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
                # variance of the readings, mixed with the expected one
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
    """Write 1 beside jumps between neighbors that neither noise nor a floor at a grazing angle explains."""
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
    """Write the depths below which a reading may be a person, below which it is one, and above which it is behind all.

    Where there never was a reading, every reading is a person; at edges, none is behind.
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
    """Classify every pixel; return how many readings there are, and how many are behind the background.

    A reading near an edge of the background with the depth of something nearby shows nobody: the edge has moved.
    """
    n_readings, n_behind = 0, 0
    for row in range(depth_mm.shape[0]):
        n_doubtful = 0
        for col in range(depth_mm.shape[1]):
            reading = depth_mm[row, col]
            # no branches, so that the loop vectorizes
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
