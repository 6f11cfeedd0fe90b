"""DepthTrees: the nodes and leaves of all trees as flat, read-only columns, and the plain walk through them.

Labeling, files and training share this value. `columns` defines the columns and checks them; `plainwalk` has the
reference walk, one pixel at a time. `forest.Forest` adds labeling and files to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from depthforest.base import DepthForestError, ModelError, counted, plain
from depthforest.frames import NO_PART, Frame, PartSet
from depthforest.trees import facings
from depthforest.trees.columns import (
    SCHEMA,
    check_calibration,
    check_columns,
    check_confidence,
    check_smoothing,
    levels,
)
from depthforest.trees.contexttrees import ContextTrees, combine, share_rows
from depthforest.trees.cropping import crop_person
from depthforest.trees.features import BACKGROUND_MM, check_background, check_mask, focal_lengths, masked_depth
from depthforest.trees.plainwalk import add_leaves, find_context_leaves, find_leaves
from depthforest.trees.quantizing import LEAF_SUM, Leaves
from depthforest.trees.thumbnails import CoarseGrid

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False, repr=False)
class DepthTrees:
    """Decision trees that give every pixel of a person a distribution over parts.

    Parameters
    ----------
    roots : array (n_trees,), int32
        Node index, or ``~leaf`` for a tree without a split.
    offsets : array (n_nodes, 4), float32
        Probe offsets u_x, u_y, v_x, v_y in meters, x right and y down.
    thresholds : array (n_nodes,), int16
        Millimeters; a pixel goes right if its response is above the threshold.
    children : array (n_nodes, 2), int32
        Left and right: node index, or ``~leaf``. Every node and every leaf is used exactly once.
    leaves : array (n_leaves * n_facings, n_parts), uint8
        Distributions in 255ths: each row sums to 255; `quantize_leaves` makes them. Row ``leaf * n_facings + f`` is for
        people of facing f.
    part_set : PartSet
        The parts that the leaves distinguish.
    background_mm : int
        What a probe reads off the person.
    config : mapping, optional
        How it was trained: any JSON content, but only settings that shape the forest.
    joints : mapping, optional
        Parameters of the joint proposals, tuned for this forest.
    scores : mapping, optional
        Its scores, and the data that they were measured on.
    mirror : bool
        Whether `walk` also walks the mirrored pixel by default.
    evidence : array (n_leaves, n_facings), int8, optional
        Evidence of a leaf for each facing of the person, see `facings.weigh`. Default: there is one facing.
    smooth_m : float
        Default radius in meters over which `label` sums a pixel's answers with those of its neighbors.
    person_confidence : float
        Mean confidence that nearly all people reach when `label` labels them with its defaults; anything below it is
        considered furniture. Measured on shares before calibration and without a context stage. 0: unknown.
    calibration : mapping, optional
        Turns shares into probabilities: "temperature" for smoothed ones, "temperature_unsmoothed" for others
        (`fit_confidence`). Default: shares stay as they are.
    context : ContextTrees, optional
        A second stage that reads the answers of these trees.

    Notes
    -----
    The arrays are checked, copied and made read-only; a ModelError says what is wrong with them.
    """

    roots: npt.NDArray[np.int32]
    offsets: npt.NDArray[np.float32]
    thresholds: npt.NDArray[np.int16]
    children: npt.NDArray[np.int32]
    leaves: Leaves
    part_set: PartSet
    background_mm: int = BACKGROUND_MM
    config: Mapping[str, Any] = field(default_factory=dict)
    joints: Mapping[str, Any] | None = None
    scores: Mapping[str, Any] = field(default_factory=dict)
    mirror: bool = False
    evidence: npt.NDArray[np.int8] | None = None
    smooth_m: float = 0.0
    person_confidence: float = 0.0
    calibration: Mapping[str, float] | None = None
    context: ContextTrees | None = None

    def __post_init__(self) -> None:
        if self.evidence is None:
            object.__setattr__(self, "evidence", np.zeros((*np.shape(self.leaves)[:1], 1), dtype=np.int8))
        columns = {name: np.array(getattr(self, name), order="C") for name in SCHEMA}
        if not isinstance(self.part_set, PartSet):
            raise ModelError(f"part_set must be a PartSet, got {self.part_set!r}")
        if not isinstance(self.mirror, bool):
            raise ModelError(f"mirror must be true or false, got {self.mirror!r}")
        check_columns(columns, len(self.part_set))
        for name, array in columns.items():
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        try:
            object.__setattr__(self, "background_mm", check_background(self.background_mm))
            object.__setattr__(self, "smooth_m", check_smoothing(self.smooth_m))
            object.__setattr__(self, "person_confidence", check_confidence(self.person_confidence))
            object.__setattr__(self, "calibration", check_calibration(self.calibration))
        except DepthForestError as error:
            raise ModelError(str(error)) from None
        if self.context is not None and not isinstance(self.context, ContextTrees):
            raise ModelError(f"context must be ContextTrees, got {self.context!r}")
        if self.context is not None and self.context.part_set != self.part_set:
            raise ModelError("the context stage has another part set than the forest")
        for name in ("config", "joints", "scores"):
            value = getattr(self, name)
            if not isinstance(value, Mapping) and not (name == "joints" and value is None):
                raise ModelError(f"{name} must be a mapping, got {type(value).__name__}")
            object.__setattr__(self, name, plain(value, name))

    # -- what it is ----------------------------------------------------------------------------------------------------

    @property
    def n_trees(self) -> int:
        """How many trees it has."""
        return len(self.roots)

    @property
    def n_nodes(self) -> int:
        """How many splits all trees have."""
        return len(self.thresholds)

    @property
    def n_leaves(self) -> int:
        """How many leaves all trees have: one more than splits in each tree."""
        return len(self.facing_evidence)

    @property
    def facing_evidence(self) -> npt.NDArray[np.int8]:
        """The column `evidence`, (n_leaves, n_facings)."""
        assert self.evidence is not None
        return self.evidence

    @property
    def n_facings(self) -> int:
        """How many facings its leaves distinguish; 1: each pixel is labeled by itself."""
        return int(self.facing_evidence.shape[1])

    @property
    def depth(self) -> int:
        """Splits between a root and its deepest leaf."""
        return len(levels(self.roots, self.children))

    @property
    def parts(self) -> PartSet:
        """The part set."""
        return self.part_set

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DepthTrees):
            return NotImplemented
        return all(
            np.array_equal(getattr(self, name), getattr(other, name))
            if name in SCHEMA
            else getattr(self, name) == getattr(other, name)
            for name in (entry.name for entry in fields(DepthTrees))
        )

    __hash__ = None  # type: ignore[assignment]  # compares by the content of arrays

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle through the constructor, so that the copy is checked and read-only as well."""
        return type(self), tuple(getattr(self, entry.name) for entry in fields(self))

    def __repr__(self) -> str:
        facing = f", {self.n_facings} facings" if self.n_facings > 1 else ""
        size = (
            f"{counted(self.n_trees, 'trees')}, depth {self.depth}, {self.n_leaves} leaves, {len(self.part_set)} parts"
        )
        context = f", context of {self.context.n_leaves} leaves" if self.context else ""
        return f"{type(self).__name__}({size}{facing}{context})"

    # -- the plain walk ------------------------------------------------------------------------------------------------

    def walk(self, frame: Frame, mask: Mask | None = None, *, mirror: bool | None = None) -> npt.NDArray[np.float32]:
        """Return the distribution over parts of every pixel of a person: the mean of the leaves it reaches.

        With a context stage, both stages are combined. The result is neither smoothed over neighbors nor calibrated: it
        equals that of `label` with ``smooth=0`` if the model has no calibration.

        Parameters
        ----------
        frame : Frame
        mask : array (rows, cols), bool, optional
            Pixels of the person. Default: all.
        mirror : bool, optional
            Walk a second time as in the mirrored picture, and take the mean. Default: as stored in the model.

        Returns
        -------
        array (n_pixels, n_parts), float32
            One row for each pixel of the mask, in the order of ``frame.depth_mm[mask]``; it sums to 1. A pixel without
            a reading has no features: it does not walk, and its row is 0.
        """
        is_mirrored = self.mirror if mirror is None else mirror
        sums, _, whole = self._sums(frame, mask, is_mirrored)
        return np.asarray(sums.astype(np.float32) / whole.astype(np.float32), dtype=np.float32)

    def predict(self, frame: Frame, mask: Mask | None = None, *, mirror: bool | None = None) -> npt.NDArray[np.uint8]:
        """Return the most probable part of every pixel of a person by the plain walk, not smoothed over neighbors.

        Parameters
        ----------
        frame, mask, mirror
            As in `walk`.

        Returns
        -------
        array (rows, cols), uint8
            Labels; the lowest of equally probable ones. `NO_PART` off the mask and without a reading.
        """
        sums, pixels, _ = self._sums(frame, mask, self.mirror if mirror is None else mirror)
        labels = sums.argmax(axis=1).astype(np.uint8)
        labels[frame.depth_mm[pixels] == 0] = NO_PART
        image = np.full(frame.shape, NO_PART, dtype=np.uint8)
        image[pixels] = labels
        return image

    def _sums(
        self, frame: Frame, mask: Mask | None, is_mirrored: bool
    ) -> tuple[npt.NDArray[np.int32], Mask, npt.NDArray[np.int64]]:
        """Return the pixels' sums (n_pixels, n_parts), the mask they belong to, and the total of a pixel's sums."""
        pixels = np.ones(frame.shape, dtype=np.bool_) if mask is None else check_mask(mask, frame.shape)
        fx, fy = focal_lengths(frame.camera)
        image = masked_depth(frame, pixels)
        positions = np.argwhere(pixels)
        nodes = self.offsets, self.thresholds, self.children
        found = np.full((2 if is_mirrored else 1, len(positions), self.n_trees), -1, dtype=np.int32)
        for walk, its_leaves in enumerate(found):
            # the mirrored picture has every x offset negated (features)
            focals = (-fx if walk else fx, fy)
            find_leaves(image, positions, focals, self.background_mm, self.roots, nodes, its_leaves)
        weights = self.weigh_facings(*found)
        sums = np.zeros((len(positions), len(self.part_set)), dtype=np.int32)
        for walk, its_leaves in enumerate(found):
            # in the mirrored picture, left is the person's right, and the facing is mirrored
            its_weights = weights[facings.mirrored(self.n_facings)] if walk else weights
            add_leaves(its_leaves, its_weights, self.leaves, self._labels(walk), sums)
        whole = np.array([[LEAF_SUM * self.n_trees * len(found) * int(weights.sum())]])
        if self.context is not None:
            is_read = image[positions[:, 0], positions[:, 1]] > 0
            sums[is_read] = self._with_context(self.context, frame, pixels, is_mirrored, weights, sums[is_read])
            whole = np.maximum(sums.sum(axis=1, keepdims=True, dtype=np.int64), 1)
        return sums, pixels, whole

    def _with_context(
        self,
        context: ContextTrees,
        frame: Frame,
        pixels: Mask,
        is_mirrored: bool,
        weights: npt.NDArray[np.int32],
        sums: npt.NDArray[np.int32],
    ) -> npt.NDArray[np.int32]:
        """Return the sums of the pixels with a reading (n, n_parts), combined with the second stage's shares."""
        crop = crop_person(frame, pixels, self.background_mm)
        grid = CoarseGrid.of(crop, frame.camera)
        planes = grid.planes(sums[grid.chosen], context.groups, weights, self.background_mm)
        second = np.zeros((len(grid.chosen), len(self.part_set)), dtype=np.int32)
        for walk in range(2 if is_mirrored else 1):
            found = np.empty((len(grid.chosen), context.n_trees), dtype=np.int32)
            scales = grid.scales() * np.array([-1 if walk else 1, 1], dtype=np.float32)
            channels = context.mirrored_channels if walk else context.channels
            nodes = context.meters, context.thresholds, context.children
            find_context_leaves(planes, grid.places, scales, context.roots, nodes, channels, found)
            add_leaves(found, np.ones(1, dtype=np.int32), context.leaves, self._labels(walk), second)
        shares = np.empty(second.shape, dtype=np.uint16)
        share_rows(second, len(self.part_set), shares)
        combined = sums.copy()
        combine(combined, shares, grid.nearest(crop.places), 0, len(combined))
        return combined

    def _labels(self, walk: int) -> npt.NDArray[np.uint8]:
        """Return the part that each entry of a leaf counts for; in the mirrored walk, left is the person's right."""
        return np.array(self.part_set.mirror if walk else range(len(self.part_set)), dtype=np.uint8)

    def weigh_facings(
        self, leaves: npt.NDArray[np.int32], mirrored: npt.NDArray[np.int32] | None = None
    ) -> npt.NDArray[np.int32]:
        """Return the weights (n_facings,) of a person's facings, from the leaves of the pixels of both walks.

        Parameters
        ----------
        leaves, mirrored : array (n_pixels, n_trees), int32
            Leaf of each pixel in each tree; -1 where it has none.
        """
        if self.n_facings == 1:
            return np.ones(1, dtype=np.int32)
        evidence, n_votes = np.zeros(self.n_facings, dtype=np.int64), 0
        for found in (leaves, mirrored):
            if found is None:
                continue
            said = self.facing_evidence[found[found >= 0]].sum(axis=0, dtype=np.int64)
            evidence += said if found is leaves else said[facings.mirrored(self.n_facings)]
            n_votes += int(np.count_nonzero(found >= 0))
        return facings.weigh(evidence, n_votes)
