"""Labeling: the part of every pixel of a person, for whole frames and streams of them.

`label` and `label_many` are what `Forest.label` and `Forest.label_many` call. A person is cut out with a border of
background, so that probes need no branch; its pixels walk in step (`labelkernels`) through packed nodes (`packing`).
Unsmoothed, results are those of `Forest.walk`, the plain walk, to the bit.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import repeat, zip_longest
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from depthforest import facings
from depthforest.camera import Camera
from depthforest.checks import is_number, is_whole
from depthforest.cropping import crop_person, find_scales
from depthforest.depthtrees import DepthTrees, Mask
from depthforest.derived import Derived
from depthforest.errors import FrameError, UsageError
from depthforest.features import MAX_OFFSET_PX, focal_lengths
from depthforest.frames import Frame
from depthforest.labelkernels import (
    LANES,
    MEAN,
    VOTES,
    Person,
    Voting,
    find_leaves,
    label_pixels,
    sum_pixels,
    thin_out,
)
from depthforest.mixkernels import (
    add_evidence,
    decide_pixels,
    label_mixed,
    mix_pixels,
    number_pixels,
    smooth_sums,
)
from depthforest.packing import PackedForest, pack
from depthforest.parts import NO_PART, PartSet
from depthforest.quantizing import LEAF_SUM
from depthforest.scratch import KEPT_BYTES, Scratch
from depthforest.threads import map_in_order, thread_count
from depthforest.treecolumns import check_smoothing

RULES = ("mean", "votes", "purity")
"""How trees are combined: the mean of their leaves' distributions; a vote of each tree for the most probable part of
its leaf; the same, weighted by how probable that part is."""

MAJORITY = "majority"
_MORE_THAN_HALF = math.nextafter(0.5, 1)

PIECE = 4 * LANES
"""Pixels of one frame that a thread takes at a time: about a millisecond's work."""

_local = threading.local()
_MISSING = object()


@dataclass(frozen=True, eq=False, repr=False)
class Labeling:
    """The parts of a person's pixels in a frame.

    Attributes
    ----------
    parts : array (rows, cols), uint8
        Labels; 255 off the mask, where there is no reading, and where a pixel was rejected.
    confidence : array (rows, cols), float32
        Share of the part that won, 0 to 1; 0 where there is no label.
    part_set : PartSet
        What the labels are.
    camera : Camera
        Of the frame.
    joints : mapping or None
        The model's parameters of joint proposals.
    rule : str
        How trees were combined, one of `RULES`.
    mirror : bool
        Whether the mirrored walk took part.
    facing : float or None
        Which way the person faces, if the model tells.
    is_person : bool
        Whether it looks like a person, if the model knows.
    """

    parts: npt.NDArray[np.uint8]
    confidence: npt.NDArray[np.float32]
    part_set: PartSet
    camera: Camera
    joints: Mapping[str, Any] | None
    rule: str
    mirror: bool
    _forest: DepthTrees
    _frame: Frame
    _mask: Mask | None
    _weights: npt.NDArray[np.int32]
    _smooth_m: float
    _is_rejected: bool = False

    @property
    def facing(self) -> float | None:
        """Which way the person faces, in degrees: 0 to the camera, at 90 the left side is the far one.

        None if the model takes each pixel by itself, or if all ways weigh the same.
        """
        return facings.mean_angle(self._weights)

    @property
    def is_person(self) -> bool:
        """Whether the pixels look like a person: their mean confidence is one that nearly all people reach.

        True where the model does not know (`Forest.person_confidence` is 0). Confidences are those of labels as the
        model asks for them: where these were made by another rule, walk or smoothing, or pixels were rejected, the
        person is labeled once more.
        """
        forest, own = self._forest, self
        if forest.person_confidence == 0:
            return True
        if self._is_rejected or (self.rule, self.mirror, self._smooth_m) != (RULES[0], forest.mirror, forest.smooth_m):
            own = label(forest, self._frame, self._mask, threads=1)
        n = int(np.count_nonzero(own.parts != NO_PART))
        return n > 0 and float(own.confidence.sum(dtype=np.float64)) / n >= forest.person_confidence

    def probabilities(
        self, top: int | None = None
    ) -> npt.NDArray[np.float32] | tuple[npt.NDArray[np.uint8], npt.NDArray[np.float32]]:
        """Return the probabilities of parts, computed anew: they are large.

        Parameters
        ----------
        top : int, optional
            Only so many of the most probable parts.

        Returns
        -------
        array (rows, cols, n_parts), float32
            Shares of all parts, which sum to 1; 0 off the mask and where there is no reading. With `top`: a pair of
            arrays (rows, cols, top), the parts as uint8 and their shares, most probable first, the lowest of equals
            first; 255 and 0 where there is nothing.
        """
        n_parts = len(self.part_set)
        if top is not None and (not is_whole(top) or not 1 <= top <= n_parts):
            raise UsageError(f"top must be a whole number from 1 to {n_parts}, got {top!r}")
        walk = _Walk(self._forest, self._frame, self._mask, self.mirror, self.rule, self._weights)
        sums, whole = walk.sums(self._smooth_m)
        shares = _shares(sums, whole)
        shape = self.parts.shape
        rows, cols = walk.positions()
        if top is None:
            image = np.zeros((*shape, n_parts), dtype=np.float32)
            image[rows, cols] = shares
            return image
        # by whole numbers, as the labels: two that differ may be the same share in float32
        order = np.argsort(-sums, axis=1, kind="stable")[:, :top]
        parts, best = np.full((*shape, top), NO_PART, dtype=np.uint8), np.zeros((*shape, top), dtype=np.float32)
        parts[rows, cols] = order
        best[rows, cols] = np.take_along_axis(shares, order, axis=1)
        return parts, best

    def sample(self, n: int | None = None) -> Sample:
        """Return the probabilities of labeled pixels on a grid, walked again: of a few, this is cheap.

        They are not smoothed: whoever takes few pixels takes them together in another way.

        Parameters
        ----------
        n : int, optional
            The grid is as wide as leaves about so many of the person's pixels; omitted: all of them.
        """
        if n is not None and (not is_whole(n) or n < 1):
            raise UsageError(f"n must be a whole number of pixels from 1, got {n!r}")
        walk = _Walk(self._forest, self._frame, self._mask, self.mirror, self.rule, self._weights)
        step = 1 if n is None else max(1, round(math.sqrt(walk.n / n)))
        walk.thin(step)
        shares = _shares(*walk.sums())
        rows, cols = walk.positions()
        is_labeled = self.parts[rows, cols] != NO_PART
        if not is_labeled.all():
            rows, cols, shares = rows[is_labeled], cols[is_labeled], shares[is_labeled]
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
        Line by line.
    shares : array (n, n_parts), float32
        Probabilities, which sum to 1.
    step : int
        Every so many rows and columns there is a pixel; each stands for `step` * `step` of them.
    """

    rows: npt.NDArray[np.int32]
    cols: npt.NDArray[np.int32]
    shares: npt.NDArray[np.float32]
    step: int


class _Walk:
    """A person cut out of a frame, ready to be walked by a forest. Its arrays are scratch of this thread."""

    def __init__(
        self,
        forest: DepthTrees,
        frame: Frame,
        mask: Mask | None,
        is_mirrored: bool,
        rule: str,
        weights: npt.NDArray[np.int32] | None = None,
    ) -> None:
        if not isinstance(frame, Frame):
            raise FrameError(f"expected a Frame, got {type(frame).__name__}; df.Frame(array, camera) makes one")
        if max(frame.shape) > MAX_OFFSET_PX:
            raise FrameError(f"frames of up to {MAX_OFFSET_PX} pixels a side can be labeled, got {frame.shape}")
        focals = focal_lengths(frame.camera)
        person = crop_person(frame, mask, forest.background_mm)
        self.crop, self.corner, self.places, self.n = person.depth, person.corner, person.places, len(person.places)
        (self.scales,) = _scratch().take("scales", ((self.n, 2), np.float32))
        find_scales(self.crop, self.places, focals, self.scales)
        self.forest, self.packed, self.rule = forest, packed_forest(forest), RULES.index(rule)
        # the mirrored picture has every x offset negated (features), and its left is the person's right
        self.is_mirrored = is_mirrored
        # of the facings; None until they are weighed
        self.weights = np.ones(1, dtype=np.int32) if forest.n_facings == 1 else weights

    @property
    def weight(self) -> int:
        """What a whole sum of a pixel is; 0: the sum itself."""
        n_walks = self.forest.n_trees * (2 if self.is_mirrored else 1)
        assert self.weights is not None
        return {MEAN: LEAF_SUM * n_walks * int(self.weights.sum()), VOTES: n_walks}.get(self.rule, 0)

    @property
    def person(self) -> Person:
        """The crop and its pixels, as kernels take them."""
        return self.crop.reshape(-1), self.crop.shape[1], self.places, self.scales

    @property
    def voting(self) -> Voting:
        """How leaves are added up, as kernels take it."""
        table = self.forest.part_set.mirror_table
        return self.rule, self.packed.leaves, winners(self.forest), self.is_mirrored, table

    def label(
        self,
        threads: int,
        least: float,
        smooth_m: float,
        parts: npt.NDArray[np.uint8],
        shares: npt.NDArray[np.float32],
    ) -> None:
        """Fill the parts and their shares in the frame."""
        of_frame = least, self.corner, parts, shares
        if smooth_m > 0:
            sums = self._smoothed(self._sums(threads), smooth_m, threads)
            self._spread(lambda begin, end: decide_pixels(self.places, sums, begin, end, 0, *of_frame), threads)
        elif self.forest.n_facings > 1:
            rest = self._mixing_arguments(threads)
            self._spread(
                lambda begin, end: label_mixed(self.places, *rest, begin, end, self.weight, *of_frame), threads
            )
        else:
            walk = self.person, self.packed.nodes, self.voting
            rest = self.weight, least, self.corner, LANES, parts, shares
            self._spread(lambda begin, end: label_pixels(*walk, begin, end, *rest), threads)

    def sums(self, smooth_m: float = 0.0) -> tuple[npt.NDArray[np.int32], int | npt.NDArray[np.int32]]:
        """Return the sums (n, n_parts) of all parts, in scratch memory, and what a whole sum is, or those of pixels."""
        sums = self._sums(1)
        if smooth_m > 0:
            sums = self._smoothed(sums, smooth_m, 1)
        sums = sums[:, : len(self.forest.part_set)]
        is_same = self.weight and smooth_m == 0
        return sums, self.weight if is_same else sums.sum(axis=1, keepdims=True, dtype=np.int32)

    def _sums(self, threads: int) -> npt.NDArray[np.int32]:
        """Return the sums (n, n_columns) of all pixels, in scratch memory."""
        (sums,) = _scratch().take("sums", ((self.n, self.packed.leaves.shape[1]), np.int32))
        if self.forest.n_facings > 1:
            rest = self._mixing_arguments(threads)
            self._spread(lambda begin, end: mix_pixels(*rest, begin, end, sums[begin:end]), threads)
        else:
            walk = self.person, self.packed.nodes, self.voting
            self._spread(lambda begin, end: sum_pixels(*walk, begin, end, sums), threads)
        return sums

    def _smoothed(self, sums: npt.NDArray[np.int32], radius_m: float, threads: int) -> npt.NDArray[np.int32]:
        """Return sums with those of neighbours added, along rows and then along columns, in the same memory."""
        numbers, between = _scratch().take("smoothing", (self.crop.shape, np.int32), (sums.shape, np.int32))
        number_pixels(self.places, numbers)
        for is_down, source, target in ((False, sums, between), (True, between, sums)):
            rest = self.crop, numbers, self.places, self.scales, radius_m, is_down, source
            self._spread(partial(_smooth_piece, rest, target), threads)
        return sums

    def leaves(self, threads: int) -> npt.NDArray[np.int32]:
        """Return the leaves (n_walks, n, n_trees) of all pixels, in scratch memory."""
        n_walks = 2 if self.is_mirrored else 1
        (found,) = _scratch().take("leaves", ((n_walks, self.n, self.forest.n_trees), np.int32))
        walk = self.person, self.packed.nodes
        self._spread(lambda begin, end: find_leaves(*walk, begin, end, found), threads)
        return cast(npt.NDArray[np.int32], found)

    def _mixing_arguments(self, threads: int) -> tuple[Any, ...]:
        """Find the leaves of all pixels, weigh the facings if nobody has, and return what mixing needs."""
        packed, found = self.packed, self.leaves(threads)
        if self.weights is None:
            said = np.zeros(self.forest.n_facings, dtype=np.int64)
            add_evidence(found, 0, self.n, self.forest.facing_evidence, said)
            self.weights = facings.weigh(said, found.size)
        return self.rule, packed.leaves, self.forest.part_set.mirror_table, self.weights, found

    def thin(self, step: int) -> None:
        """Keep the pixels on every `step`-th row and column of the frame."""
        if step > 1:
            self.n = thin_out(self.places, self.scales, self.corner, step)
            self.places, self.scales = self.places[: self.n], self.scales[: self.n]

    def positions(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """Return the rows and columns of the pixels in the frame."""
        return self.places[:, 0] + self.corner[0], self.places[:, 1] + self.corner[1]

    def _spread(self, run: Any, threads: int) -> None:
        if not self.n:
            return
        if threads == 1 or self.n <= PIECE:
            run(0, self.n)
            return
        pieces = [(first, min(first + PIECE, self.n)) for first in range(0, self.n, PIECE)]
        for _ in map_in_order(lambda piece: run(*piece), pieces, threads=threads):
            pass


def _shares(sums: npt.NDArray[np.int32], whole: int | npt.NDArray[np.int32]) -> npt.NDArray[np.float32]:
    return np.asarray(sums.astype(np.float32) / np.float32(whole))


def _smooth_piece(rest: tuple[Any, ...], out: npt.NDArray[np.int32], begin: int, end: int) -> None:
    smooth_sums(*rest, begin, end, out)


@Derived
def packed_forest(forest: DepthTrees) -> PackedForest:
    """Return a forest's nodes as kernels walk them, packed once."""
    return pack(forest)


@Derived
def winners(forest: DepthTrees) -> npt.NDArray[np.uint8]:
    """Return the most probable part of each leaf, the lowest of equals; computed once."""
    return np.asarray(forest.leaves.argmax(axis=1), dtype=np.uint8)


def _scratch() -> Scratch:
    if not hasattr(_local, "scratch"):
        _local.scratch = Scratch(KEPT_BYTES)
    return cast(Scratch, _local.scratch)


def check_reject(reject: object) -> float:
    """Return the least share of a part that `reject` lets pass; below 0 for all."""
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
    """Return the leaves (2, n_pixels, n_trees) of a person's pixels, straight and mirrored, their rows and columns.

    The pixels are those with a reading on a grid that is as wide as leaves about `n` of them.
    """
    walk = _Walk(forest, frame, mask, True, RULES[0])
    walk.thin(max(1, round(math.sqrt(walk.n / n))))
    return walk.leaves(1).copy(), *walk.positions()


def label(
    forest: DepthTrees,
    frame: Frame,
    mask: Mask | None = None,
    *,
    mirror: bool | None = None,
    rule: str = "mean",
    reject: float | str | None = None,
    smooth: float | None = None,
    threads: int | None = None,
) -> Labeling:
    """Label the pixels of one person; parameters as in `Forest.label`."""
    if rule not in RULES:
        raise UsageError(f"rule must be one of {', '.join(RULES)}; got {rule!r}")
    if mirror is not None and not isinstance(mirror, bool):
        raise UsageError(f"mirror must be True, False or None, got {mirror!r}")
    least, n_threads = check_reject(reject), thread_count(threads)
    is_mirrored = forest.mirror if mirror is None else mirror
    smooth_m = forest.smooth_m if smooth is None else check_smoothing(smooth)
    walk = _Walk(forest, frame, mask, is_mirrored, rule)
    parts, shares = np.full(frame.shape, NO_PART, dtype=np.uint8), np.zeros(frame.shape, dtype=np.float32)
    walk.label(n_threads, least, smooth_m, parts, shares)
    parts.setflags(write=False)
    shares.setflags(write=False)
    kept = None if mask is None else mask.copy()
    assert walk.weights is not None
    return Labeling(
        parts, shares, forest.part_set, frame.camera, forest.joints, rule, is_mirrored, forest, frame, kept,
        walk.weights, smooth_m, reject is not None,
    )  # fmt: skip


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
    threads: int | None = None,
) -> Iterator[Labeling]:
    """Label frames one after the other on several threads; parameters as in `Forest.label_many`."""
    pairs = zip(frames, repeat(None)) if masks is None else _paired(frames, masks)

    def one(pair: tuple[Frame, Mask | None]) -> Labeling:
        return label(forest, *pair, mirror=mirror, rule=rule, reject=reject, smooth=smooth, threads=1)

    return map_in_order(one, pairs, threads=threads)
