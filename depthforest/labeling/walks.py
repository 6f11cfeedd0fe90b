"""Walks: a person's pixels on their way through a forest, and what the leaves that they reach say together.

A person is cut out with a border of background (`cropping`), so that probes need no branch; its pixels walk in step
(`steps`) through packed nodes (`packing`); leaves are mixed by facing and smoothed (`mixing`). A walk keeps
the crop and the leaves, so that a person is cropped and walked once, whatever is asked afterward.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from depthforest.base import KEPT_BYTES, FrameError, Scratch, map_in_order
from depthforest.frames import Frame
from depthforest.labeling.mixing import add_evidence, decide_pixels, label_mixed, mix_pixels, number_pixels, smooth_sums
from depthforest.labeling.packing import PackedForest, packed_forest, winners
from depthforest.labeling.steps import (
    LANES,
    MEAN,
    VOTES,
    PersonArrays,
    Voting,
    find_grid,
    find_leaves,
    label_pixels,
    sum_pixels,
)
from depthforest.trees import (
    LEAF_SUM,
    MAX_OFFSET_PX,
    Crop,
    DepthTrees,
    Mask,
    crop_person,
    facings,
    find_scales,
    focal_lengths,
)

PIECE = 4 * LANES
"""Pixels of one frame that a thread takes at a time: about a millisecond's work."""

Sums = npt.NDArray[np.int32]

_local = threading.local()


@dataclass(frozen=True, eq=False)
class PersonWalk:
    """A person and a forest, and where the pixels arrived. Any thread may ask it.

    Parameters
    ----------
    forest : DepthTrees
    crop : Crop
    focals : (float32, float32)
        Of the camera, pixels.
    is_mirrored : bool
        Whether pixels also walk as in the mirrored picture, where every x offset is negated (`features`) and left is
        the person's right.
    rule : int
        How trees are combined, see `steps`.
    leaves : array (n_walks, n, n_trees), int32, optional
        Where each pixel arrived.
    weights : array (n_facings,), int32, optional
        Of the person's facings; of one facing they are known.
    """

    forest: DepthTrees
    crop: Crop
    focals: tuple[np.float32, np.float32]
    is_mirrored: bool
    rule: int
    leaves: npt.NDArray[np.int32] | None = None
    weights: npt.NDArray[np.int32] | None = None

    @classmethod
    def start(cls, forest: DepthTrees, frame: Frame, mask: Mask | None, is_mirrored: bool, rule: int) -> PersonWalk:
        """Check a frame and cut its person out; nobody has walked yet."""
        if not isinstance(frame, Frame):
            raise FrameError(f"expected a Frame, got {type(frame).__name__}; df.Frame(array, camera) makes one")
        if max(frame.shape) > MAX_OFFSET_PX:
            raise FrameError(f"frames of up to {MAX_OFFSET_PX} pixels a side can be labeled, got {frame.shape}")
        focals = focal_lengths(frame.camera)
        weights = np.ones(1, dtype=np.int32) if forest.n_facings == 1 else None
        return cls(forest, crop_person(frame, mask, forest.background_mm), focals, is_mirrored, rule, weights=weights)

    @property
    def n(self) -> int:
        """How many pixels there are."""
        return len(self.crop.places)

    @property
    def packed(self) -> PackedForest:
        """The nodes as kernels walk them."""
        return packed_forest(self.forest)

    @property
    def voting(self) -> Voting:
        """How leaves are added up, as kernels take it."""
        table = self.forest.part_set.mirror_table
        return self.rule, self.packed.leaves, winners(self.forest), self.is_mirrored, table

    @property
    def weight(self) -> int:
        """What a whole sum of a pixel is; 0: the sum itself."""
        n_walks = self.forest.n_trees * (2 if self.is_mirrored else 1)
        assert self.weights is not None
        return {MEAN: LEAF_SUM * n_walks * int(self.weights.sum()), VOTES: n_walks}.get(self.rule, 0)

    def person(self) -> PersonArrays:
        """Return the crop and its pixels as kernels take them, the scales in scratch memory."""
        (scales,) = _scratch().take("scales", ((self.n, 2), np.float32))
        find_scales(self.crop.depth, self.crop.places, self.focals, scales)
        return self.crop.depth.reshape(-1), self.crop.depth.shape[1], self.crop.places, scales

    # -- other walks -------------------------------------------------------------------------------------------------

    def arrived(self, threads: int) -> PersonWalk:
        """Return the same with leaves, and with the facings weighed."""
        if self.leaves is not None:
            return self
        found = np.empty((2 if self.is_mirrored else 1, self.n, self.forest.n_trees), dtype=np.int32)
        walk = self.person(), self.packed.nodes
        self._spread(lambda begin, end: find_leaves(*walk, begin, end, found), threads)
        weights = self.weights
        if weights is None:
            said = np.zeros(self.forest.n_facings, dtype=np.int64)
            add_evidence(found, 0, self.n, self.forest.facing_evidence, said)
            weights = facings.weigh(said, found.size)
        return replace(self, leaves=found, weights=weights)

    def thinned(self, step: int) -> PersonWalk:
        """Return the pixels on every `step`-th row and column of the frame alone."""
        if step == 1:
            return self
        chosen = np.empty(self.n, dtype=np.int64)
        chosen = chosen[: find_grid(self.crop.places, self.crop.corner, step, chosen)]
        crop = replace(self.crop, places=self.crop.places[chosen])
        leaves = None if self.leaves is None else np.ascontiguousarray(self.leaves[:, chosen])
        return replace(self, crop=crop, leaves=leaves)

    def repeated(self, is_mirrored: bool, rule: int) -> PersonWalk:
        """Return the same person with another walk or rule; what was found is kept where it holds."""
        if is_mirrored == self.is_mirrored:
            return replace(self, rule=rule)
        weights = self.weights if self.forest.n_facings == 1 else None
        return replace(self, is_mirrored=is_mirrored, rule=rule, leaves=None, weights=weights)

    # -- what comes of it --------------------------------------------------------------------------------------------

    def label(
        self,
        threads: int,
        least: float,
        smooth_m: float,
        parts: npt.NDArray[np.uint8],
        shares: npt.NDArray[np.float32],
    ) -> None:
        """Fill the parts and their shares in the frame; with several facings, pixels must have arrived."""
        of_frame = least, self.crop.corner, parts, shares
        places = self.crop.places
        if smooth_m > 0:
            sums = self._smoothed(self._sums(threads), smooth_m, threads)
            self._spread(lambda begin, end: decide_pixels(places, sums, begin, end, 0, *of_frame), threads)
        elif self.leaves is not None:
            mixing = self._mixing
            self._spread(lambda begin, end: label_mixed(places, *mixing, begin, end, self.weight, *of_frame), threads)
        else:
            walk = self.person(), self.packed.nodes, self.voting
            rest = self.weight, least, self.crop.corner, LANES, parts, shares
            self._spread(lambda begin, end: label_pixels(*walk, begin, end, *rest), threads)

    def sums(self, smooth_m: float = 0.0) -> tuple[Sums, int | Sums]:
        """Return the sums (n, n_parts) of all parts, in scratch memory, and what a whole sum is, or those of pixels."""
        sums = self._sums(1)
        if smooth_m > 0:
            sums = self._smoothed(sums, smooth_m, 1)
        sums = sums[:, : len(self.forest.part_set)]
        is_same = self.weight and smooth_m == 0
        return sums, self.weight if is_same else sums.sum(axis=1, keepdims=True, dtype=np.int32)

    def positions(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """Return the rows and columns of the pixels in the frame."""
        return self.crop.places[:, 0] + self.crop.corner[0], self.crop.places[:, 1] + self.crop.corner[1]

    @property
    def _mixing(self) -> tuple[Any, ...]:
        """What the kernels that mix leaves take."""
        return self.rule, self.packed.leaves, self.forest.part_set.mirror_table, self.weights, self.leaves

    def _sums(self, threads: int) -> Sums:
        """Return the sums (n, n_columns) of all pixels, in scratch memory."""
        (sums,) = _scratch().take("sums", ((self.n, self.packed.leaves.shape[1]), np.int32))
        if self.leaves is not None:
            mixing = self._mixing
            self._spread(lambda begin, end: mix_pixels(*mixing, begin, end, sums[begin:end]), threads)
        else:
            walk = self.person(), self.packed.nodes, self.voting
            self._spread(lambda begin, end: sum_pixels(*walk, begin, end, sums), threads)
        return cast(Sums, sums)

    def _smoothed(self, sums: Sums, radius_m: float, threads: int) -> Sums:
        """Return sums with those of neighbors added, along rows and then along columns, in the same memory."""
        depth = self.crop.depth
        numbers, between = _scratch().take("smoothing", (depth.shape, np.int32), (sums.shape, np.int32))
        _, _, places, scales = self.person()
        number_pixels(places, numbers)
        for is_down, source, target in ((False, sums, between), (True, between, sums)):
            rest = depth, numbers, places, scales, radius_m, is_down, source
            self._spread(partial(_smooth_piece, rest, target), threads)
        return sums

    def _spread(self, run: Callable[[int, int], object], threads: int) -> None:
        if not self.n:
            return
        if threads == 1 or self.n <= PIECE:
            run(0, self.n)
            return
        pieces = [(first, min(first + PIECE, self.n)) for first in range(0, self.n, PIECE)]
        for _ in map_in_order(lambda piece: run(*piece), pieces, threads=threads):
            pass


def _smooth_piece(rest: tuple[Any, ...], out: Sums, begin: int, end: int) -> None:
    smooth_sums(*rest, begin, end, out)


def _scratch() -> Scratch:
    if not hasattr(_local, "scratch"):
        _local.scratch = Scratch(KEPT_BYTES)
    return cast(Scratch, _local.scratch)
