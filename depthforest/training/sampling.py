"""Sampling: from frames to training pixels. People are cropped, and pixels are drawn by (seed, stream, frame)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from depthforest.base import DatasetError
from depthforest.frames import NO_PART, LabeledFrame, PartSet
from depthforest.labeling import thumbnail
from depthforest.training.candidates import STREAM_FRAMES, STREAM_PIXELS, key_of, numbers
from depthforest.training.config import TrainConfig
from depthforest.trees import (
    MAX_OFFSET_PX,
    DepthTrees,
    PartGroups,
    crop_person,
    find_scales,
    focal_lengths,
)

OUT_OF_BAG = 2**32
"""Stream of out-of-bag pixels: no tree has this number."""

MAX_JUDGES = 256
"""Most out-of-bag frames of a tree: enough for a precision of a percent, and few enough to keep in memory."""

MAX_JUDGE_PIXELS = 2**17
"""Approximate limit of the pixels of those frames: 16 MB of votes for 31 parts. At least one frame is used."""


@dataclass(frozen=True)
class Pixels:
    """Training pixels of some frames, frame by frame, with the crops that their probes read.

    Parameters
    ----------
    depth : array (n,), uint16
        All crops one after the other, row by row; millimeters. For a context stage: all channels of all thumbnails.
    starts : array (n_pixels,), int64
        Where the pixel's crop begins in `depth`.
    shapes : array (n_pixels, 2), int32
        Rows and columns of the crop, border included.
    places : array (n_pixels, 2), int32
        Row and column of the pixel in its crop.
    scales : array (n_pixels, 2), float32
        Pixels per meter at the pixel's depth, x and y: `features.pixel_scale`.
    labels : array (n_pixels,), uint8
    per_frame : array (n_frames,), int64
        Number of pixels of each frame.
    """

    depth: npt.NDArray[np.uint16]
    starts: npt.NDArray[np.int64]
    shapes: npt.NDArray[np.int32]
    places: npt.NDArray[np.int32]
    scales: npt.NDArray[np.float32]
    labels: npt.NDArray[np.uint8]
    per_frame: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.labels)

    def __setstate__(self, state: dict[str, object]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, writable(value))

    def some(self, is_chosen: npt.NDArray[np.bool_]) -> Pixels:
        """Return some of the pixels, with the crops that they need and no others; `per_frame` becomes their number."""
        every = np.unique(self.starts)  # a crop, with all its channels, ends where the next begins
        begins, which = np.unique(self.starts[is_chosen], return_inverse=True)
        sizes = np.diff(every, append=len(self.depth))[np.searchsorted(every, begins)]
        depth = np.concatenate([self.depth[b : b + n] for b, n in zip(begins.tolist(), sizes.tolist(), strict=True)])
        return Pixels(
            depth,
            (np.cumsum(sizes) - sizes)[which.reshape(-1)],
            self.shapes[is_chosen],
            self.places[is_chosen],
            self.scales[is_chosen],
            self.labels[is_chosen],
            np.array([np.count_nonzero(is_chosen)], dtype=np.int64),
        )

    def __sizeof__(self) -> int:
        return self.n_bytes

    @property
    def n_bytes(self) -> int:
        """Memory of all arrays."""
        arrays = (self.depth, self.starts, self.shapes, self.places, self.scales, self.labels)
        return sum(array.nbytes for array in arrays)


def joined(some: Sequence[Pixels]) -> Pixels:
    """Return several pieces of pixels as one."""
    begins = np.cumsum([0, *(len(pixels.depth) for pixels in some)])
    names = ("shapes", "places", "scales", "labels", "per_frame")
    return Pixels(
        np.concatenate([pixels.depth for pixels in some]),
        np.concatenate([pixels.starts + begin for pixels, begin in zip(some, begins, strict=False)]),
        *(np.concatenate([getattr(pixels, name) for pixels in some]) for name in names),
    )


def writable(value: object) -> object:
    """Return an array from a message as a writable one, because kernels are only compiled for those."""
    return np.require(value, requirements="W") if isinstance(value, np.ndarray) else value


def frames_of_tree(
    n_frames: int, tree: int, config: TrainConfig
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the frames that a tree is grown on, those with the lowest random numbers, and some out-of-bag frames."""
    drawn = numbers(key_of(STREAM_FRAMES, config.seed, tree), np.arange(n_frames, dtype=np.uint64))
    order = np.argsort(drawn, kind="stable")
    n = config.frames_of(n_frames)
    n_judges = min(MAX_JUDGES, max(1, MAX_JUDGE_PIXELS // config.pixels_per_frame))
    return np.sort(order[:n]), np.sort(order[n : n + n_judges])


def quotas(available: npt.NDArray[np.int64], n: int, balance: float) -> npt.NDArray[np.int64]:
    """Return how many pixels to draw of each part: about `n` in all, and never more than there are.

    A part's quota is blended between its share of the pixels (balance 0) and equal shares of all parts that occur
    (balance 1). If a small part has too few pixels, the others make up for it.
    """
    available = np.asarray(available, dtype=np.int64)
    total = int(available.sum())
    if total <= n:
        return available.copy()
    wanted = (1 - balance) * available / total + balance * (available > 0) / np.count_nonzero(available)
    quota = np.zeros_like(available)
    for _ in range(len(available) + 1):
        is_open = quota < available
        left = n - int(quota.sum())
        if left <= 0 or not is_open.any():
            break
        shares = np.where(is_open, wanted, 0.0)
        quota = np.minimum(available, quota + np.floor(left * shares / shares.sum()).astype(np.int64))
        if int(quota.sum()) + np.count_nonzero(quota < available) >= n:
            break
    # the last few go to the parts with the most pixels left, one each; ties go to the lowest label
    rest = np.argsort(-(available - quota), kind="stable")[: n - int(quota.sum())]
    quota[rest] += quota[rest] < available[rest]
    return quota


def draw_pixels(
    frame: LabeledFrame,
    index: int,
    stream: int,
    config: TrainConfig,
    allowed: npt.NDArray[np.bool_] | None = None,
) -> npt.NDArray[np.int64]:
    """Return the training pixels of a frame as flat positions, in rising order.

    Parameters
    ----------
    frame : LabeledFrame
    index : int
        Its number in the data set.
    stream : int
        The tree, or `OUT_OF_BAG`.
    config : TrainConfig
    allowed : array (rows, cols), bool, optional
        Pixels to draw from; default: all.
    """
    is_labeled = (frame.parts != NO_PART) & (frame.depth_mm > 0)
    where = np.flatnonzero(is_labeled if allowed is None else is_labeled & allowed)
    labels = frame.parts.ravel()[where]
    available = np.bincount(labels, minlength=len(frame.part_set)).astype(np.int64)
    quota = quotas(available, config.pixels_per_frame, config.class_balance)
    drawn = numbers(key_of(STREAM_PIXELS, config.seed, stream, index), where.astype(np.uint64))
    # takes the lowest random numbers of each part, up to its quota; numbers of one stream are all different
    by_part = drawn[np.argsort(labels, kind="stable")]
    ends = np.cumsum(available)
    limits = np.zeros(len(available), dtype=np.uint64)
    for part in np.flatnonzero(quota):
        mine = by_part[ends[part] - available[part] : ends[part]]
        limits[part] = np.partition(mine, quota[part] - 1)[quota[part] - 1]
    return where[(drawn <= limits[labels]) & (quota[labels] > 0)]


@dataclass(frozen=True, eq=False)
class _View:
    """The image that the probes of a person's pixels read: the crop, or the thumbnail with all its channels."""

    image: npt.NDArray[np.uint16]
    shape: tuple[int, ...]
    places: npt.NDArray[np.int32]
    scales: npt.NDArray[np.float32]


def read_pixels(
    source: Sequence[LabeledFrame],
    indices: Sequence[int],
    stream: int,
    config: TrainConfig,
    part_set: PartSet,
    first: DepthTrees | None = None,
) -> Pixels:
    """Read frames of a data set, crop their people and draw their training pixels.

    With a `first` stage, pixels are those on the coarse grid, and their probes read its answers, too.
    """
    depth: list[npt.NDArray[np.uint16]] = []
    columns: list[tuple[npt.NDArray[np.generic], ...]] = []
    per_frame = np.zeros(len(indices), dtype=np.int64)
    n_before = 0
    for i, index in enumerate(indices):
        frame = checked_frame(source, int(index), part_set)
        where = frame, int(index), stream, config
        for view, labels in _cropped(*where) if first is None else _thumbnails(*where, first):
            n = len(labels)
            per_frame[i] += n
            shapes = np.tile(np.array(view.shape, dtype=np.int32), (n, 1))
            columns.append((np.full(n, n_before, dtype=np.int64), shapes, view.places, view.scales, labels))
            depth.append(view.image.ravel())
            n_before += view.image.size
    if not columns:
        return Pixels(
            np.zeros(0, np.uint16), np.zeros(0, np.int64), np.zeros((0, 2), np.int32), np.zeros((0, 2), np.int32),
            np.zeros((0, 2), np.float32), np.zeros(0, np.uint8), per_frame,
        )  # fmt: skip
    starts, shapes, places, scales, labels = (np.concatenate(c) for c in zip(*columns, strict=True))
    return Pixels(np.concatenate(depth), starts, shapes, places, scales, labels, per_frame)


def _cropped(
    frame: LabeledFrame, index: int, stream: int, config: TrainConfig
) -> Iterator[tuple[_View, npt.NDArray[np.uint8]]]:
    """Yield the crop of each person with its drawn pixels, and their labels."""
    rows, cols = np.divmod(draw_pixels(frame, index, stream, config), frame.shape[1])
    people = frame.people[rows, cols]
    for person in np.unique(people):
        mine = people == person
        crop = crop_person(frame, frame.people == person, config.background_mm)
        places = np.stack((rows[mine] - crop.corner[0], cols[mine] - crop.corner[1]), axis=1).astype(np.int32)
        scales = np.empty((len(places), 2), dtype=np.float32)
        find_scales(crop.depth, places, focal_lengths(frame.camera), scales)
        yield _View(crop.depth, crop.depth.shape, places, scales), frame.parts[rows[mine], cols[mine]]


def _thumbnails(
    frame: LabeledFrame, index: int, stream: int, config: TrainConfig, first: DepthTrees
) -> Iterator[tuple[_View, npt.NDArray[np.uint8]]]:
    """Yield the thumbnail of each person with its drawn pixels, all of the coarse grid, and their labels."""
    groups = PartGroups.of(frame.part_set)
    allowed, seen = np.zeros(frame.shape, dtype=np.bool_), []
    is_labeled = (frame.parts != NO_PART) & (frame.depth_mm > 0)
    for person in np.unique(frame.people[is_labeled]):
        grid, planes, _ = thumbnail(first, frame, frame.people == person, groups)
        rows, cols = (grid.crop.places[grid.chosen] + np.array(grid.crop.corner)).T
        allowed[rows, cols] = True
        seen.append((grid, planes, rows, cols))
    is_drawn = np.zeros(frame.shape, dtype=np.bool_)
    is_drawn.ravel()[draw_pixels(frame, index, stream, config, allowed)] = True
    for grid, planes, rows, cols in seen:
        mine = is_drawn[rows, cols]
        if mine.any():
            view = _View(planes, planes.shape[1:], grid.places[mine], grid.scales()[mine])
            yield view, frame.parts[rows[mine], cols[mine]]


def checked_frame(source: Sequence[LabeledFrame], index: int, part_set: PartSet) -> LabeledFrame:
    """Return a frame of a data set after checking that it can be used for training."""
    frame = source[index]
    if not isinstance(frame, LabeledFrame):
        raise DatasetError(f"frame {index} is a {type(frame).__name__}; training needs LabeledFrames")
    if frame.part_set != part_set:
        raise DatasetError(f"frame {index} has another part set than frame 0; a forest has one")
    if max(frame.shape) > MAX_OFFSET_PX:
        raise DatasetError(f"frame {index} has {frame.shape} pixels; training takes up to {MAX_OFFSET_PX} a side")
    return frame
