"""Labeling: the part of every pixel of a person, for whole frames and streams of them.

`Forest.label` and `Forest.label_many` call `label` and `label_many`; `walks` takes the pixels through the forest. With
`exact`, unsmoothed results equal those of `DepthTrees.walk`, the plain walk, to the bit.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import repeat, zip_longest
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from depthforest.base import UsageError, is_number, is_whole, map_in_order, thread_count
from depthforest.frames import NO_PART, Camera, Frame, PartSet
from depthforest.labeling.calibrating import calibrate_rows, table_of
from depthforest.labeling.walks import PersonWalk
from depthforest.trees import DepthTrees, Mask, check_smoothing, facings

RULES = ("mean", "votes", "purity")
"""How trees are combined: the mean of their leaves' distributions; one vote of each tree for the most probable part of
its leaf; the same votes, weighted by that part's probability."""

MAJORITY = "majority"
_MORE_THAN_HALF = math.nextafter(0.5, 1)

_MISSING = object()


@dataclass(frozen=True, eq=False, repr=False)
class Labeling:
    """The parts of a person's pixels in a frame.

    Attributes
    ----------
    parts : array (rows, cols), uint8
        Labels; 255 off the mask, where there is no reading, and where a pixel was rejected.
    confidence : array (rows, cols), float32
        Probability of the label, 0 to 1. With a calibrated model, it is the share of pixels with this confidence that
        are labeled correctly. With other models, and with votes, it is the share of the trees' answers. 0 where there
        is no label.
    part_set : PartSet
        Part set of the labels.
    camera : Camera
        Camera of the frame.
    joints : mapping or None
        The model's parameters of joint proposals.
    rule : str
        How trees were combined, one of `RULES`.
    mirror : bool
        Whether the mirrored walk was used.
    facing : float or None
        Which way the person faces, if the model has facings.

    Notes
    -----
    It keeps the person's crop and the leaves of the pixels that walked, so that probabilities and joints need no second
    walk: about 0.6 MB for 24,000 pixels in three trees with the mirrored walk; 0.9 MB if every pixel walked. It also
    refers to the forest, so a pickle contains the forest.
    """

    parts: npt.NDArray[np.uint8]
    confidence: npt.NDArray[np.float32]
    part_set: PartSet
    camera: Camera
    joints: Mapping[str, Any] | None
    rule: str
    mirror: bool
    _walk: PersonWalk
    _frame: Frame

    @property
    def facing(self) -> float | None:
        """Which way the person faces, in degrees: 0 is toward the camera; at 90, the left side is farther away.

        None if the model has no facings, or if all facings have the same weight.
        """
        assert self._walk.weights is not None
        return facings.mean_angle(self._walk.weights)

    @property
    def mean_share(self) -> float:
        """The mean share of the pixels' labels before calibration, including rejected pixels."""
        return self._walk.mean_share

    def probabilities(
        self, top: int | None = None
    ) -> npt.NDArray[np.float32] | tuple[npt.NDArray[np.uint8], npt.NDArray[np.float32]]:
        """Return the probabilities of parts. They are computed at each call, because they are large.

        Parameters
        ----------
        top : int, optional
            Return only this many of the most probable parts.

        Returns
        -------
        array (rows, cols, n_parts), float32
            Probabilities of all parts, calibrated as `confidence` is, which sum to 1; 0 off the mask and where there is
            no reading. With `top`: a pair of arrays (rows, cols, top), the parts as uint8 and their probabilities, most
            probable first, the lowest part first among equals; 255 and 0 where there is no label.
        """
        n_parts = len(self.part_set)
        if top is not None and not is_whole(top, 1, n_parts):
            raise UsageError(f"top must be a whole number from 1 to {n_parts}, got {top!r}")
        walk = self._walk
        sums, whole = walk.sums()
        shares = _shares(sums, whole)
        table = table_of(walk.forest, walk.rule, is_smoothed=walk.smooth_m > 0)
        if table is not None:
            calibrate_rows(sums, table, shares)
        shape = self.parts.shape
        rows, cols = walk.positions().T
        if top is None:
            image = np.zeros((*shape, n_parts), dtype=np.float32)
            image[rows, cols] = shares
            return image
        # sorted by whole numbers, as labels are: two that differ may be equal shares in float32
        order = np.argsort(-sums, axis=1, kind="stable")[:, :top]
        parts, best = np.full((*shape, top), NO_PART, dtype=np.uint8), np.zeros((*shape, top), dtype=np.float32)
        parts[rows, cols] = order
        best[rows, cols] = np.take_along_axis(shares, order, axis=1)
        return parts, best

    def sample(self, n: int | None = None) -> Sample:
        """Return the shares of parts of labeled pixels on a grid; cheap for a few pixels.

        They are neither smoothed nor calibrated: users of a sample aggregate its pixels themselves.

        Parameters
        ----------
        n : int, optional
            Use the widest grid with at least this many of the person's pixels, usually at most four times as many.
            Default: all pixels. In frames with an even number of columns, both middle ones are on the grid.
        """
        if n is not None and not is_whole(n, 1):
            raise UsageError(f"n must be a whole number of pixels from 1, got {n!r}")
        (rows, cols), shares, step = self._walk.sampled(n, self.parts)
        return Sample(rows, cols, shares, step)

    def __repr__(self) -> str:
        n = int(np.count_nonzero(self.parts != NO_PART))
        return f"Labeling({n} pixels of {self.parts.shape[0]} x {self.parts.shape[1]}, {len(self.part_set)} parts)"


@dataclass(frozen=True, eq=False)
class Sample:
    """Some of a person's labeled pixels and their probabilities.

    Attributes
    ----------
    rows, cols : array (n,), int32
        Positions in the frame, row by row.
    shares : array (n, n_parts), float32
        Shares of the trees' answers, which sum to 1; not calibrated.
    step : int
        Distance of the pixels in rows and columns; each stands for `step` * `step` pixels.
    """

    rows: npt.NDArray[np.int32]
    cols: npt.NDArray[np.int32]
    shares: npt.NDArray[np.float32]
    step: int


def _labeled(
    walk: PersonWalk, shape: tuple[int, ...], least: float, threads: int
) -> tuple[PersonWalk, npt.NDArray[np.uint8], npt.NDArray[np.float32]]:
    """Return a walk with its results, and the parts and their shares in a frame of this shape."""
    parts, shares = np.full(shape, NO_PART, dtype=np.uint8), np.zeros(shape, dtype=np.float32)
    walk = walk.label(threads, least, parts, shares)
    parts.setflags(write=False)
    shares.setflags(write=False)
    return walk, parts, shares


def _shares(sums: npt.NDArray[np.int32], whole: int | npt.NDArray[np.int32]) -> npt.NDArray[np.float32]:
    return np.asarray(sums.astype(np.float32) / np.float32(whole))


def check_reject(reject: object) -> float:
    """Return the lowest share of a part that `reject` accepts; below 0 if it accepts all."""
    if reject is None:
        return -1.0
    if reject == MAJORITY:
        return _MORE_THAN_HALF
    if not is_number(reject) or not 0 <= reject <= 1:
        raise UsageError(f"reject must be None, {MAJORITY!r} or a confidence from 0 to 1, got {reject!r}")
    return float(reject)


def leaves_of_person(
    forest: DepthTrees, frame: Frame, mask: Mask, n: int
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Return the leaves (2, n_pixels, n_trees) of a person's pixels, plain and mirrored, and their rows and columns.

    The pixels are those with a reading on a grid with about `n` of them.
    """
    leaves, places = PersonWalk.start(forest, frame, mask, is_mirrored=True).leaves_on_grid(n)
    rows, cols = places.T
    return np.ascontiguousarray(leaves.transpose(1, 0, 2)), rows, cols


def label(
    forest: DepthTrees,
    frame: Frame,
    mask: Mask | None = None,
    *,
    mirror: bool | None = None,
    rule: str = "mean",
    reject: float | str | None = None,
    smooth: float | None = None,
    exact: bool = False,
    threads: int | None = None,
) -> Labeling:
    """Label the pixels of one person; parameters as in `Forest.label`."""
    if rule not in RULES:
        raise UsageError(f"rule must be one of {', '.join(RULES)}; got {rule!r}")
    if mirror is not None and not isinstance(mirror, bool):
        raise UsageError(f"mirror must be True, False or None, got {mirror!r}")
    if not isinstance(exact, bool):
        raise UsageError(f"exact must be True or False, got {exact!r}")
    least, n_threads = check_reject(reject), thread_count(threads)
    is_mirrored = forest.mirror if mirror is None else mirror
    smooth_m = forest.smooth_m if smooth is None else check_smoothing(smooth)
    walk = PersonWalk.start(
        forest, frame, mask, is_mirrored=is_mirrored, rule=RULES.index(rule), smooth_m=smooth_m, is_exact=exact,
        has_context=forest.context is not None,
    )  # fmt: skip
    walk, parts, confidence = _labeled(walk, frame.shape, least, n_threads)
    how = forest.part_set, frame.camera, forest.joints, rule, is_mirrored
    return Labeling(parts, confidence, *how, walk, frame)


def _paired(frames: Iterable[Frame], masks: Iterable[Mask | None]) -> Iterator[tuple[Frame, Mask | None]]:
    for number, (frame, mask) in enumerate(zip_longest(frames, masks, fillvalue=_MISSING)):
        if frame is _MISSING or mask is _MISSING:
            more, fewer = ("frames", "masks") if mask is _MISSING else ("masks", "frames")
            raise UsageError(f"there are {number} {fewer} and more {more}; give one mask (or None) for each frame")
        yield cast(Frame, frame), cast(Mask | None, mask)


def label_many(
    forest: DepthTrees,
    frames: Iterable[Frame],
    masks: Iterable[Mask | None] | None = None,
    *,
    mirror: bool | None = None,
    rule: str = "mean",
    reject: float | str | None = None,
    smooth: float | None = None,
    exact: bool = False,
    threads: int | None = None,
) -> Iterator[Labeling]:
    """Label a stream of frames on several threads, and yield results in order; parameters as in `Forest.label_many`."""
    pairs = zip(frames, repeat(None)) if masks is None else _paired(frames, masks)

    def one(pair: tuple[Frame, Mask | None]) -> Labeling:
        return label(forest, *pair, mirror=mirror, rule=rule, reject=reject, smooth=smooth, exact=exact, threads=1)

    return map_in_order(one, pairs, threads=threads)
