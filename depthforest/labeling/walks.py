"""Walks: a person's pixels through a forest, and the combined answer of the leaves that they reach.

A person is cut out with a border of background (`cropping`), so that probes need no branch. Pixels on a grid walk in
lockstep (`steps`) through packed nodes (`packing`), leaves are mixed by facing and smoothed (`mixing`), and the grid
gets finer where labels change (`grid`). A walk keeps the crop and the leaves, so each person is cropped and walked only
once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from depthforest.base import KEPT_BYTES, FrameError, Scratch, map_in_order
from depthforest.frames import Frame
from depthforest.labeling.calibrating import table_of
from depthforest.labeling.grid import fill_cells, open_places, spread, take_open
from depthforest.labeling.mixing import MEAN, VOTES, add_evidence, mix_pixels, smooth_sums
from depthforest.labeling.packing import PackedForest, packed_context, packed_forest
from depthforest.labeling.settling import settle, take_sample
from depthforest.labeling.steps import LANES, find_leaves
from depthforest.trees import (
    COARSE_PIXELS,
    LEAF_SUM,
    MAX_OFFSET_PX,
    CoarseGrid,
    ContextTrees,
    Crop,
    DepthTrees,
    Mask,
    PartGroups,
    combine,
    crop_person,
    facings,
    find_grid,
    find_scales,
    focal_lengths,
    grid_step,
    share_rows,
)

PIECE = 2 * LANES
"""Pixels of one frame that a thread takes at a time: about half a millisecond of work."""

Sums = npt.NDArray[np.int32]
Leaves = npt.NDArray[np.int32]

_NO_TABLE = np.empty(0, dtype=np.float32)
"""The table of a forest without a calibration."""

_local = threading.local()


@dataclass(frozen=True, eq=False)
class PersonWalk:
    """A person, a forest, and the leaves that the person's pixels reached. Thread-safe.

    Parameters
    ----------
    forest : DepthTrees
    crop : Crop
    focals : (float32, float32)
        Focal lengths of the camera in pixels.
    n_cols : int
        Columns of the frame.
    is_mirrored : bool
        Whether pixels also walk as in the mirrored picture, where every x offset is negated (`features`) and left is
        the person's right.
    rule : int
        How trees are combined, see `mixing`.
    smooth_m : float
        Radius of smoothing in meters.
    step : int
        Step of the grid that walks first; 1: every pixel walks.
    leaves : array (n_walked, n_walks, n_trees), int32, optional
        The leaves of each pixel that walked.
    stand_ins : array (n,), int32, optional
        For each pixel of the person, the number of the walked pixel that is its stand-in.
    weights : array (n_facings,), int32, optional
        Weights of the person's facings; fixed if there is only one facing.
    grid : CoarseGrid, optional
        The pixels that the context stage reads, if there is one.
    seconds : array (n_grid, n_parts), uint16, optional
        The context stage's shares at these pixels, as filled by `share_rows`.
    nearest : array (n_walked,), int32, optional
        For each pixel that walked, the grid pixel whose shares it uses; see `CoarseGrid.nearest`.
    firsts : array (n_first, n_columns), int32, optional
        Sums of the pixels of the first grid, as the model mixes them, not smoothed.
    mean_share : float
        Mean share of the labels of all pixels before calibration; 0 without a pixel.
    """

    forest: DepthTrees
    crop: Crop
    focals: tuple[np.float32, np.float32]
    n_cols: int
    is_mirrored: bool
    rule: int
    smooth_m: float
    step: int
    leaves: Leaves | None = None
    stand_ins: npt.NDArray[np.int32] | None = None
    weights: npt.NDArray[np.int32] | None = None
    grid: CoarseGrid | None = None
    seconds: npt.NDArray[np.uint16] | None = None
    nearest: npt.NDArray[np.int32] | None = None
    firsts: Sums | None = None
    mean_share: float = 0.0

    @classmethod
    def start(
        cls,
        forest: DepthTrees,
        frame: Frame,
        mask: Mask | None,
        *,
        is_mirrored: bool,
        rule: int = MEAN,
        smooth_m: float = 0.0,
        is_exact: bool = False,
        has_context: bool = False,
    ) -> PersonWalk:
        """Check a frame and cut its person out; no pixel has walked yet. `has_context` enables the second stage."""
        if not isinstance(frame, Frame):
            raise FrameError(f"expected a Frame, got {type(frame).__name__}; df.Frame(array, camera) makes one")
        if max(frame.shape) > MAX_OFFSET_PX:
            raise FrameError(f"frames of up to {MAX_OFFSET_PX} pixels a side can be labeled, got {frame.shape}")
        focals = focal_lengths(frame.camera)
        weights = np.ones(1, dtype=np.int32) if forest.n_facings == 1 else None
        crop = crop_person(frame, mask, forest.background_mm)
        coarse = grid_step(len(crop.places), COARSE_PIXELS)
        grid = CoarseGrid.of(crop, frame.camera, coarse) if has_context and rule == MEAN else None
        step = 1 if is_exact else coarse
        return cls(forest, crop, focals, frame.shape[1], is_mirrored, rule, smooth_m, step, weights=weights, grid=grid)

    @property
    def n(self) -> int:
        """How many pixels there are."""
        return len(self.crop.places)

    @property
    def packed(self) -> PackedForest:
        """The packed nodes."""
        return packed_forest(self.forest)

    def weight(self, weights: npt.NDArray[np.int32] | None) -> int:
        """Return the total of a pixel's sums with these weights of facings; 0 if it varies."""
        if self.grid is not None:
            return 0
        n_walks = self.forest.n_trees * (2 if self.is_mirrored else 1)
        assert weights is not None
        return {MEAN: LEAF_SUM * n_walks * int(weights.sum()), VOTES: n_walks}.get(self.rule, 0)

    # -- what comes of it --------------------------------------------------------------------------------------------

    def label(
        self, threads: int, least: float, parts: npt.NDArray[np.uint8], shares: npt.NDArray[np.float32]
    ) -> PersonWalk:
        """Fill the parts and their shares in the frame, and return the walk with its results."""
        run = _Levels(self, threads)
        run.go()
        stand_ins = np.empty(self.n, dtype=np.int32)
        said = run.parts, run.shares, run.calibrated
        mean = spread(self.crop.places, run.numbers, self.crop.corner, *said, least, parts, shares, stand_ins)
        leaves = run.leaves[: run.n_walked].copy() if self.leaves is None else self.leaves
        nearest = None if run.nearest is None else run.nearest[: run.n_walked].copy()
        return replace(
            self, leaves=leaves, stand_ins=stand_ins, weights=run.weights, seconds=run.seconds, nearest=nearest,
            firsts=run.firsts, mean_share=mean,
        )  # fmt: skip

    def sums(self) -> tuple[Sums, int | Sums]:
        """Return the smoothed sums (n, n_parts) of all pixels, and their total: one for all, or one for each pixel.

        The walk must have been labeled.
        """
        assert self.stand_ins is not None
        run = _Levels(self, 1)
        run.go()
        sums = run.smoothed[self.stand_ins, : len(self.forest.part_set)]
        weight = 0 if self.smooth_m > 0 else self.weight(self.weights)
        return sums, weight or np.asarray(sums.sum(axis=1, keepdims=True, dtype=np.int32))

    def sampled(
        self, n: int | None, parts: npt.NDArray[np.uint8]
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32], int]:
        """Return rows and columns (2, n) of the labeled pixels on a grid with about `n`, their shares, and the step.

        Shares are not smoothed. With None, all pixels. The walk must have been labeled; `parts` are its labels.
        """
        step = 1 if n is None else grid_step(self.n, n)
        chosen = np.empty(self.n, dtype=np.int64)
        chosen = chosen[: find_grid(self.crop.places, self.crop.corner, self.n_cols, step, chosen)]
        # for the grid that walked first, the sums are known, in the grid's order
        sums = self.firsts if self.firsts is not None and step == self.step else self._sums_of(chosen)
        at = np.empty((2, len(chosen)), dtype=np.int32)
        shares = np.empty((len(chosen), len(self.forest.part_set)), dtype=np.float32)
        weight = self.weight(self.weights)
        n_taken = take_sample(self.crop.places, self.crop.corner, chosen, sums, weight, parts, at, shares)
        return at[:, :n_taken], shares[:n_taken], step

    def _sums_of(self, chosen: npt.NDArray[np.int64]) -> Sums:
        """Return the sums of pixels as the model mixes them, not smoothed."""
        assert self.leaves is not None
        assert self.stand_ins is not None
        walked = self.stand_ins[chosen]
        sums = np.empty((len(chosen), self.packed.leaves.shape[1]), dtype=np.int32)
        mix_pixels(*self.mixing(self.weights), self.leaves[walked], 0, len(chosen), sums)
        if self.seconds is not None and self.nearest is not None:
            combine(sums, self.seconds, self.nearest[walked], 0, len(chosen))
        return sums

    def positions(self, chosen: Any = slice(None)) -> npt.NDArray[np.int32]:
        """Return the rows and columns (n, 2) of pixels in the frame."""
        return np.asarray(self.crop.places[chosen] + np.array(self.crop.corner, dtype=np.int32), dtype=np.int32)

    def leaves_on_grid(self, n: int) -> tuple[Leaves, npt.NDArray[np.int32]]:
        """Return the leaves (n_pixels, n_walks, n_trees) of the pixels on a grid with about `n`, and their places."""
        chosen = np.empty(self.n, dtype=np.int64)
        chosen = chosen[: find_grid(self.crop.places, self.crop.corner, self.n_cols, grid_step(self.n, n), chosen)]
        return self._leaves_of(self.crop.places[chosen]), self.positions(chosen)

    def _leaves_of(self, places: npt.NDArray[np.int32]) -> Leaves:
        """Return the leaves (n, n_walks, n_trees) of pixels, places in the crop."""
        scales = np.empty((len(places), 2), dtype=np.float32)
        find_scales(self.crop.depth, places, self.focals, scales)
        found = np.empty((len(places), 2 if self.is_mirrored else 1, self.forest.n_trees), dtype=np.int32)
        person = self.crop.depth.reshape(-1), self.crop.depth.shape, places, scales
        find_leaves(person, self.packed.nodes, 0, len(places), LANES, found)
        return found

    def mixing(self, weights: npt.NDArray[np.int32] | None) -> tuple[Any, ...]:
        """Return the first arguments of `mix_pixels`, with the weights of facings."""
        return self.rule, self.packed.leaves, self.forest.part_set.mirror_table, weights


class _Levels:
    """A person's pixels level by level, from the coarse grid to single pixels; arrays are scratch memory of the thread.

    Parameters
    ----------
    walk : PersonWalk
        If it has leaves, no pixel walks again.
    threads : int
    """

    def __init__(self, walk: PersonWalk, threads: int) -> None:
        self.walk, self._threads = walk, threads
        n, shape = walk.n, walk.crop.depth.shape
        n_walks, n_columns = 2 if walk.is_mirrored else 1, walk.packed.leaves.shape[1]
        self.n_walked = 0
        self.numbers, self._places, self._scales, self.parts, self.shares, self.sums = _scratch().take(
            "walk", (shape, np.int32), ((n, 2), np.int32), ((n, 2), np.float32), ((n,), np.uint8), ((n,), np.float32),
            ((n + 1, n_columns), np.int32),
        )  # fmt: skip
        self.smoothed = self.sums
        table = table_of(walk.forest, walk.rule, is_smoothed=walk.smooth_m > 0)
        self._table = _NO_TABLE if table is None else table
        self.calibrated = self.shares
        if table is not None:
            (self.calibrated,) = _scratch().take("calibrated", ((n,), np.float32))
        # sums of a coarse grid are kept for joints
        self._has_firsts = walk.step == grid_step(n, COARSE_PIXELS)
        self._between, self.firsts = self.sums, walk.firsts
        if walk.smooth_m > 0:
            # with a single level, unsmoothed sums are only needed again if they are kept, or for a second stage
            is_done = walk.step == 1 and walk.grid is None and not self._has_firsts
            self._between, *other = _scratch().take("smoothing", *[((n + 1, n_columns), np.int32)] * (2 - is_done))
            self.smoothed = other[0] if other else self.sums
            self.sums[n] = self._between[n] = 0
        if walk.leaves is None:
            (self.leaves,) = _scratch().take("leaves", ((n, n_walks, walk.forest.n_trees), np.int32))
        else:
            self.leaves = walk.leaves
        self.nearest = None if walk.grid is None else np.empty(n, dtype=np.int32)
        self.seconds, self.weights = walk.seconds, walk.weights
        open_places(walk.crop.places, self.numbers)

    def go(self) -> None:
        """Walk level by level until every pixel has a stand-in, and decide the parts of pixels that walked."""
        step, crop, frame = self.walk.step, self.walk.crop, (self.walk.crop.corner, self.walk.n_cols)
        while step:
            begin = self.n_walked
            self.n_walked = take_open(*frame, step, self.numbers, begin, self._places)
            if self.n_walked > begin or step == 1:  # a grid may miss a thin shape
                self._walk(begin, self.n_walked)
                self._look_around(begin, self.n_walked, step)
                if self._has_firsts and self.firsts is None:
                    self.firsts = self.sums[: self.n_walked].copy()
                self._decide(begin, self.n_walked, step)
            if step > 1:
                fill_cells(crop.depth, *frame, step, self.parts, self.numbers)
            step //= 2

    def _walk(self, begin: int, end: int) -> None:
        """Walk the pixels `begin` to `end`, and mix their leaves."""
        walk, crop = self.walk, self.walk.crop
        find_scales(crop.depth, self._places[begin:end], walk.focals, self._scales[begin:end])
        if walk.leaves is None:
            person = crop.depth.reshape(-1), crop.depth.shape, self._places, self._scales
            nodes = walk.packed.nodes
            self._spread(lambda b, e: find_leaves(person, nodes, b, e, LANES, self.leaves), begin, end)
        if self.weights is None:
            said, found = np.zeros(walk.forest.n_facings, dtype=np.int64), self.leaves[begin:end]
            add_evidence(found, walk.forest.facing_evidence, said)
            self.weights = facings.weigh(said, found.size)
        mixing = walk.mixing(self.weights)
        self._spread(lambda b, e: mix_pixels(*mixing, self.leaves, b, e, self.sums), begin, end)

    def first_planes(self, groups: PartGroups) -> npt.NDArray[np.uint16]:
        """Walk the first level, and return the thumbnail of the person."""
        walk = self.walk
        self.n_walked = take_open(walk.crop.corner, walk.n_cols, walk.step, self.numbers, 0, self._places)
        self._walk(0, self.n_walked)
        return self._planes(0, self.n_walked, walk.step, groups)

    def _planes(self, begin: int, end: int, step: int, groups: PartGroups) -> npt.NDArray[np.uint16]:
        """Return the thumbnail of the person, from the smoothed sums of the first level."""
        walk = self.walk
        assert walk.grid is not None
        assert self.weights is not None
        if walk.smooth_m > 0:
            self._smooth_across(begin, end, step)
            rest = *self._around(step), walk.smooth_m
            self._spread(lambda b, e: smooth_sums(*rest, True, self._between, b, e, self.smoothed), begin, end)
        # on the first level, every grid pixel walks in the grid's order, or every pixel in the crop's order
        first = self.smoothed[walk.grid.chosen] if step < walk.grid.step else self.smoothed[:end]
        return walk.grid.planes(first, groups, self.weights, walk.forest.background_mm)

    def _look_around(self, begin: int, end: int, step: int) -> None:
        """Run the second stage on the first level, and combine both in the sums of the pixels `begin` to `end`."""
        if self.walk.grid is None or self.nearest is None:
            return
        if self.seconds is None:
            assert self.walk.forest.context is not None
            planes = self._planes(begin, end, step, self.walk.forest.context.groups)
            self.seconds = _second_shares(self.walk, planes, self._threads)
        grid, seconds, nearest = self.walk.grid, self.seconds, self.nearest
        grid.find_nearest(self._places[begin:end], nearest[begin:end])
        self._spread(lambda b, e: combine(self.sums, seconds, nearest, b, e), begin, end)

    def _decide(self, begin: int, end: int, step: int) -> None:
        """Smooth the sums of the pixels `begin` to `end` on the grid with a step, and decide their parts."""
        walk = self.walk
        weight = 0 if walk.smooth_m > 0 else walk.weight(self.weights)
        if walk.smooth_m > 0:
            self._smooth_across(begin, end, step)
        around, sums, found = self._around(step), (self._between, self.smoothed), (self.parts, self.shares)
        rest = weight, self._table, *found, self.calibrated
        self._spread(lambda b, e: settle(*around, walk.smooth_m, *sums, b, e, *rest), begin, end)

    def _around(self, step: int) -> tuple[Any, ...]:
        """Return the first arguments of `smooth_sums`."""
        crop, n_cols = self.walk.crop, self.walk.n_cols
        grid = step, (n_cols - 1) // 2 - crop.corner[1], n_cols // 2 - crop.corner[1]
        return crop.depth, self.numbers, grid, self._places, self._scales

    def _smooth_across(self, begin: int, end: int, step: int) -> None:
        """Add the sums of neighbors along rows."""
        rest, sums, between = (*self._around(step), self.walk.smooth_m), self.sums, self._between
        self._spread(lambda b, e: smooth_sums(*rest, False, sums, b, e, between), begin, end)

    def _spread(self, run: Callable[[int, int], object], begin: int, end: int) -> None:
        _spread(run, begin, end, self._threads)


def _spread(run: Callable[[int, int], object], begin: int, end: int, threads: int) -> None:
    """Run over pixels `begin` to `end`, split between threads if there are several."""
    if begin == end:
        return
    if threads == 1 or end - begin <= PIECE:
        run(begin, end)
        return
    pieces = [(first, min(first + PIECE, end)) for first in range(begin, end, PIECE)]
    for _ in map_in_order(lambda piece: run(*piece), pieces, threads=threads):
        pass


def _second_shares(walk: PersonWalk, planes: npt.NDArray[np.uint16], threads: int) -> npt.NDArray[np.uint16]:
    """Return the context stage's shares (n_grid, n_parts) at the grid pixels."""
    context, grid = walk.forest.context, walk.grid
    assert context is not None
    assert grid is not None
    found = context_leaves(context, grid, planes, walk.is_mirrored, threads)
    packed = packed_context(context)
    sums = np.empty((len(found), packed.leaves.shape[1]), dtype=np.int32)
    one = np.ones(1, dtype=np.int32)
    mix_pixels(MEAN, packed.leaves, walk.forest.part_set.mirror_table, one, found, 0, len(found), sums)
    shares = np.empty((len(found), len(walk.forest.part_set)), dtype=np.uint16)
    share_rows(sums, shares.shape[1], shares)
    return shares


def _scratch() -> Scratch:
    if not hasattr(_local, "scratch"):
        _local.scratch = Scratch(KEPT_BYTES)
    return cast(Scratch, _local.scratch)


def context_leaves(
    context: ContextTrees, grid: CoarseGrid, planes: npt.NDArray[np.uint16], is_mirrored: bool, threads: int = 1
) -> Leaves:
    """Return the leaves (n_grid, n_walks, n_trees) of a context stage that the grid pixels reach."""
    found = np.empty((len(grid.chosen), 2 if is_mirrored else 1, context.n_trees), dtype=np.int32)
    person, nodes = (planes.reshape(-1), planes.shape[1:], grid.places, grid.scales()), packed_context(context).nodes
    _spread(lambda b, e: find_leaves(person, nodes, b, e, LANES, found), 0, len(found), threads)
    return found


def thumbnail(
    forest: DepthTrees, frame: Frame, mask: Mask, groups: PartGroups
) -> tuple[CoarseGrid, npt.NDArray[np.uint16], Sums]:
    """Return a context stage's input: grid pixels of a person, channels (n, rows, cols), and the first stage's sums.

    Channels hold the trees' answers with the model's default mirroring and smoothing. The sums (n_grid, n_parts) are
    not smoothed; they are the input of `combine`.
    """
    walk = PersonWalk.start(forest, frame, mask, is_mirrored=forest.mirror, smooth_m=forest.smooth_m)
    grid = CoarseGrid.of(walk.crop, frame.camera, walk.step)
    run = _Levels(replace(walk, grid=grid), 1)
    planes = run.first_planes(groups)
    return grid, planes, run.sums[: run.n_walked, : len(forest.part_set)].copy()
