"""Forest: the nodes and leaves of all trees as flat, read-only columns; checks, files, and the plain walk.

    roots       int32 (trees,)          where each tree begins
    offsets     float32 (nodes, 4)      u_x, u_y, v_x, v_y in metres
    thresholds  int16 (nodes,)          millimetres
    children    int32 (nodes, 2)        left, right
    leaves      uint8 (rows, parts)     distributions in 255ths
    evidence    int8 (leaves, facings)  what a leaf says about which way the person faces

A root or child of 0 or more is a node, one below 0 is leaf `~value`. A pixel goes right where its response (see
`features`) is above the threshold. A leaf has a row for each facing (`facings`); most forests have one facing, and so
one row a leaf. The plain walk, one pixel at a time, is the reference of everything faster.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from depthforest import facings, modelfile, sparserows
from depthforest.checks import is_number
from depthforest.errors import DepthForestError, ModelError, UsageError
from depthforest.features import (
    BACKGROUND_MM,
    MAX_OFFSET_M,
    check_background,
    check_mask,
    focal_lengths,
    masked_depth,
    pixel_scale,
    scaled_response,
)
from depthforest.frames import Frame
from depthforest.kernels import kernel
from depthforest.modelfile import Column, ModelFile, plain
from depthforest.parts import NO_PART, PartSet

if TYPE_CHECKING:
    from depthforest.labeling import Labeling

KIND = "depth_forest"
FORMAT_VERSION, FACING_VERSION = 1, 2
"""Of files with one facing, no smoothing and nothing known of people's confidence, and of all others."""

MAX_TREES, MAX_FACING_TREES = 1024, 512
"""The second: of forests with facings. 512 trees walked twice, weighted and smoothed just fit in 32 bits."""

MAX_NODES = 2**24
"""More than the largest file holds."""

MAX_DEPTH = 64
"""Splits between a root and a leaf: three times what has been found useful, and it bounds the time of a walk."""

MAX_SMOOTH_M = 0.25
"""Farther than the largest part reaches."""

LEAF_SUM = 255
"""Sum of a leaf's row: the largest that uint8 holds when one part has it all."""

MAX_LEAF_ERROR = 1 / LEAF_SUM
"""A stored probability differs from the one it was made of by less than this."""

UNITS = {"offsets": "m", "thresholds": "mm"}

SCHEMA = {
    "roots": Column("int32", ("trees",)),
    "offsets": Column("float32", ("nodes", 4)),
    "thresholds": Column("int16", ("nodes",)),
    "children": Column("int32", ("nodes", 2)),
    "leaves": Column("uint8", ("rows", "parts")),
    "evidence": Column("int8", ("leaves", "facings")),
}
_PLAIN_COLUMNS = {name: SCHEMA[name] for name in SCHEMA if name != "evidence"}
_FACING_COLUMNS = {**{name: SCHEMA[name] for name in SCHEMA if name != "leaves"}, **sparserows.SCHEMA}
"""Columns of the two versions of files."""

_KEYS = ("background_mm", "config", "joints", "mirror", "parts", "scores", "units")
_FACING_KEYS = ("person_confidence", "smooth_m")
"""What files of the second version have besides."""

Leaves = npt.NDArray[np.uint8]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False, repr=False)
class Forest:
    """Decision trees that give every pixel of a person a distribution over parts.

    Parameters
    ----------
    roots : array (n_trees,), int32
        Node index, or ``~leaf`` for a tree without a split.
    offsets : array (n_nodes, 4), float32
        Probe offsets u_x, u_y, v_x, v_y in metres, x right and y down.
    thresholds : array (n_nodes,), int16
        Millimetres; a pixel goes right if its response is larger.
    children : array (n_nodes, 2), int32
        Left and right: node index, or ``~leaf``. Every node and every leaf is used exactly once.
    leaves : array (n_leaves * n_facings, n_parts), uint8
        Distributions in 255ths: each row sums to 255; `quantise_leaves` makes them. Row ``leaf * n_facings + f`` holds
        for people of facing f.
    part_set : PartSet
        What the parts are.
    background_mm : int
        What a probe reads off the person.
    config : mapping, optional
        How it was trained; anything that JSON holds. Nothing that doesn't shape the forest.
    joints : mapping, optional
        Parameters of the joint proposals, tuned for this forest.
    scores : mapping, optional
        What it reached, and on what.
    mirror : bool
        Whether `walk` also walks the mirrored pixel unless told otherwise.
    evidence : array (n_leaves, n_facings), int8, optional
        What a leaf says about the person's facing, see `facings.weigh`; omitted: there is one facing.
    smooth_m : float
        `label` adds up what pixels say with their neighbours, up to this many metres away, unless told otherwise.
    person_confidence : float
        Mean confidence that nearly all people reach, as `label` labels them unless told otherwise: what is found with
        less is taken for furniture. 0: nobody knows.

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

    def __post_init__(self) -> None:
        if self.evidence is None:
            object.__setattr__(self, "evidence", np.zeros((*np.shape(self.leaves)[:1], 1), dtype=np.int8))
        columns = {name: np.array(getattr(self, name), order="C") for name in SCHEMA}
        if not isinstance(self.part_set, PartSet):
            raise ModelError(f"part_set must be a PartSet, got {self.part_set!r}")
        if not isinstance(self.mirror, bool):
            raise ModelError(f"mirror must be true or false, got {self.mirror!r}")
        lengths = modelfile.check_columns(columns, SCHEMA)
        if lengths["parts"] != len(self.part_set):
            raise ModelError(f"leaves have {lengths['parts']} parts, the part set {len(self.part_set)}")
        _check_facings(columns["evidence"], lengths["rows"], lengths["trees"])
        _check_links(columns["roots"], columns["children"], lengths["leaves"])
        _check_values(columns["offsets"], columns["leaves"])
        for name, array in columns.items():
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        try:
            object.__setattr__(self, "background_mm", check_background(self.background_mm))
            object.__setattr__(self, "smooth_m", check_smoothing(self.smooth_m))
            object.__setattr__(self, "person_confidence", _checked_confidence(self.person_confidence))
        except DepthForestError as error:
            raise ModelError(str(error)) from None
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
        """How many facings its leaves tell apart; 1: it takes each pixel by itself."""
        return int(self.facing_evidence.shape[1])

    @property
    def depth(self) -> int:
        """Splits between a root and its deepest leaf."""
        return len(levels(self.roots, self.children))

    @property
    def parts(self) -> PartSet:
        """The part set."""
        return self.part_set

    # -- files ---------------------------------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write the forest to a file, as docs/MODEL_FORMAT.md says; equal forests give equal bytes."""
        content = {
            "background_mm": self.background_mm,
            "config": self.config,
            "joints": self.joints,
            "mirror": self.mirror,
            "parts": self.part_set.to_dict(),
            "scores": self.scores,
            "units": UNITS,
        }
        columns = {name: getattr(self, name) for name in SCHEMA}
        if self.n_facings == 1 and not any(getattr(self, name) for name in _FACING_KEYS):
            del columns["evidence"]
            modelfile.write(path, KIND, FORMAT_VERSION, content, columns)
        else:
            columns.update(sparserows.packed(columns.pop("leaves"), self.n_facings))
            content |= {name: getattr(self, name) for name in _FACING_KEYS}
            modelfile.write(path, KIND, FACING_VERSION, content, columns)

    @classmethod
    def load(cls, path: str | Path) -> Forest:
        """Read a forest from a file, and check everything."""
        return cls.from_file(modelfile.read(path))

    @classmethod
    def from_file(cls, file: ModelFile) -> Forest:
        """Make the forest that a file holds."""
        has_facings = file.version != FORMAT_VERSION
        version = FACING_VERSION if has_facings else FORMAT_VERSION
        keys = _KEYS + _FACING_KEYS if has_facings else _KEYS
        file.expect(KIND, version, _FACING_COLUMNS if has_facings else _PLAIN_COLUMNS, keys)
        content, columns = file.content, dict(file.columns)
        try:
            if content["units"] != UNITS:
                raise ModelError(f"units must be {UNITS}, got {modelfile.shown(content['units'])}")
            part_set = PartSet.from_dict(content["parts"], "parts")
            options = {key: content[key] for key in keys if key not in ("parts", "units")}
            if has_facings:
                columns["leaves"] = sparserows.unpacked(columns, len(part_set))
                columns = {name: columns[name] for name in SCHEMA}
            return cls(**{**columns, **options, "part_set": part_set})
        except DepthForestError as error:
            raise ModelError(f"{file.name}: {modelfile.one_line(error)}") from None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Forest):
            return NotImplemented
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in SCHEMA) and all(
            getattr(self, name) == getattr(other, name)
            for name in ("part_set", "background_mm", "config", "joints", "scores", "mirror", *_FACING_KEYS)
        )

    __hash__ = None  # type: ignore[assignment]  # compares by the content of arrays

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle through the constructor, so that the copy is checked and read-only as well."""
        return type(self), tuple(getattr(self, entry.name) for entry in fields(self))

    def __repr__(self) -> str:
        facing = f", {self.n_facings} facings" if self.n_facings > 1 else ""
        n_parts = len(self.part_set)
        return f"Forest({self.n_trees} trees, depth {self.depth}, {self.n_leaves} leaves, {n_parts} parts{facing})"

    # -- labeling ------------------------------------------------------------------------------------------------------

    def label(
        self,
        frame: Frame,
        mask: Mask | None = None,
        *,
        mirror: bool | None = None,
        rule: str = "mean",
        reject: float | str | None = None,
        smooth: float | None = None,
        threads: int | None = None,
    ) -> Labeling:
        """Label the pixels of one person.

        Parameters
        ----------
        frame : Frame
        mask : array (rows, cols), bool, optional
            Which pixels are the person; omitted: all that have a reading.
        mirror : bool, optional
            Walk a second time as in the mirrored picture, and take both together; omitted: as the model says.
        rule : "mean", "votes" or "purity"
            Combine trees by the mean of their leaves' distributions, by a vote of each for the most probable part of
            its leaf, or by votes that weigh as much as that part is probable.
        reject : float or "majority", optional
            Leave pixels unlabeled whose confidence is below this, or whose part has no more than half of all.
        smooth : float, optional
            Add up what a pixel and its neighbours up to so many metres away say; 0: each by itself; omitted: as the
            model says.
        threads : int, optional
            Omitted: one for each core.

        Returns
        -------
        Labeling
            Parts, confidence, and probabilities on demand.
        """
        from depthforest.labeling import label

        return label(self, frame, mask, mirror=mirror, rule=rule, reject=reject, smooth=smooth, threads=threads)

    def label_many(
        self,
        frames: Iterable[Frame],
        masks: Iterable[Mask | None] | None = None,
        *,
        mirror: bool | None = None,
        rule: str = "mean",
        reject: float | str | None = None,
        smooth: float | None = None,
        threads: int | None = None,
    ) -> Iterator[Labeling]:
        """Label many frames, each on one of several threads, and yield the results in order.

        Frames are taken a few ahead of what is asked for, so that reading and labeling overlap, a stream may be
        endless, and memory stays flat.

        Parameters
        ----------
        frames : iterable of Frame
        masks : iterable of masks, optional
            One for each frame.
        mirror, rule, reject, smooth, threads
            As in `label`.
        """
        from depthforest.labeling import label_many

        return label_many(self, frames, masks, mirror=mirror, rule=rule, reject=reject, smooth=smooth, threads=threads)

    # -- the plain walk ------------------------------------------------------------------------------------------------

    def walk(self, frame: Frame, mask: Mask | None = None, *, mirror: bool | None = None) -> npt.NDArray[np.float32]:
        """Return the distribution over parts of every pixel of a person: the mean of the leaves it reaches.

        Not smoothed over neighbours: what `label` gives with ``smooth=0``.

        Parameters
        ----------
        frame : Frame
        mask : array (rows, cols), bool, optional
            Which pixels are the person; omitted: all.
        mirror : bool, optional
            Walk a second time as in the mirrored picture, and take the mean; omitted: as the model says.

        Returns
        -------
        array (n_pixels, n_parts), float32
            One row for each pixel of the mask, in the order of ``frame.depth_mm[mask]``; it sums to 1. A pixel without
            a reading has no features: it is not walked, and its row is 0.
        """
        is_mirrored = self.mirror if mirror is None else mirror
        sums, _, weight = self._sums(frame, mask, is_mirrored)
        return sums.astype(np.float32) / np.float32(weight)

    def predict(self, frame: Frame, mask: Mask | None = None, *, mirror: bool | None = None) -> npt.NDArray[np.uint8]:
        """Return the most probable part of every pixel of a person by the plain walk, not smoothed over neighbours.

        Parameters
        ----------
        frame, mask, mirror
            As in `walk`.

        Returns
        -------
        array (rows, cols), uint8
            Labels; the lowest of equally probable ones; `NO_PART` off the mask and without a reading.
        """
        sums, pixels, _ = self._sums(frame, mask, self.mirror if mirror is None else mirror)
        labels = sums.argmax(axis=1).astype(np.uint8)
        labels[frame.depth_mm[pixels] == 0] = NO_PART
        image = np.full(frame.shape, NO_PART, dtype=np.uint8)
        image[pixels] = labels
        return image

    def _sums(self, frame: Frame, mask: Mask | None, is_mirrored: bool) -> tuple[npt.NDArray[np.int32], Mask, int]:
        """Return the sums of the leaves (n_pixels, n_parts), the mask they belong to, and what a whole sum is."""
        pixels = np.ones(frame.shape, dtype=np.bool_) if mask is None else check_mask(mask, frame.shape)
        fx, fy = focal_lengths(frame.camera)
        image = masked_depth(frame, pixels)
        positions = np.argwhere(pixels)
        nodes = self.offsets, self.thresholds, self.children
        found = np.full((2 if is_mirrored else 1, len(positions), self.n_trees), -1, dtype=np.int32)
        for walk, its_leaves in enumerate(found):
            # the mirrored picture has every x offset negated (features)
            focals = (-fx if walk else fx, fy)
            _find_leaves(image, positions, focals, self.background_mm, self.roots, nodes, its_leaves)
        weights = self.weigh_facings(*found)
        sums = np.zeros((len(positions), len(self.part_set)), dtype=np.int32)
        for walk, its_leaves in enumerate(found):
            # its left is the person's right, and it faces the other side
            labels = np.array(self.part_set.mirror if walk else range(len(self.part_set)), dtype=np.uint8)
            its_weights = weights[facings.mirrored(self.n_facings)] if walk else weights
            _add_leaves(its_leaves, its_weights, self.leaves, labels, sums)
        return sums, pixels, LEAF_SUM * self.n_trees * len(found) * int(weights.sum())

    def weigh_facings(
        self, leaves: npt.NDArray[np.int32], mirrored: npt.NDArray[np.int32] | None = None
    ) -> npt.NDArray[np.int32]:
        """Return the weights (n_facings,) of a person's facings, from the leaves of the pixels of both walks.

        Parameters
        ----------
        leaves, mirrored : array (n_pixels, n_trees), int32
            -1 where a pixel has none.
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


@kernel
def descend(
    image: npt.NDArray[np.uint16],
    row: int,
    col: int,
    scales: tuple[np.float32, np.float32],
    background: int,
    root: int,
    nodes: tuple[npt.NDArray[np.float32], npt.NDArray[np.int16], npt.NDArray[np.int32]],
) -> int:
    """Return the leaf that a pixel with a reading reaches; `nodes` is (offsets, thresholds, children)."""
    offsets, thresholds, children = nodes
    scale_x, scale_y = scales
    node = root
    while node >= 0:
        u_x, u_y, v_x, v_y = offsets[node]
        difference = scaled_response(image, row, col, u_x, u_y, v_x, v_y, scale_x, scale_y, background)
        node = children[node, 1] if difference > thresholds[node] else children[node, 0]
    return ~node


@kernel
def _find_leaves(
    image: npt.NDArray[np.uint16],
    positions: npt.NDArray[np.int64],
    focals: tuple[np.float32, np.float32],
    background: int,
    roots: npt.NDArray[np.int32],
    nodes: tuple[npt.NDArray[np.float32], npt.NDArray[np.int16], npt.NDArray[np.int32]],
    found: npt.NDArray[np.int32],
) -> None:
    """Fill the leaf of every pixel in every tree; pixels without a reading are left as they are."""
    for i in range(len(positions)):
        row, col = positions[i]
        if image[row, col] == 0:
            continue
        scales = pixel_scale(focals[0], image[row, col]), pixel_scale(focals[1], image[row, col])
        for tree in range(len(roots)):
            found[i, tree] = descend(image, row, col, scales, background, roots[tree], nodes)


@kernel
def _add_leaves(
    found: npt.NDArray[np.int32],
    weights: npt.NDArray[np.int32],
    leaves: Leaves,
    labels: npt.NDArray[np.uint8],
    sums: npt.NDArray[np.int32],
) -> None:
    """Add the rows of every pixel's leaves to its sums, weighted by facing; entry p counts for part `labels[p]`."""
    for i in range(len(found)):
        for leaf in found[i]:
            if leaf < 0:
                continue
            for facing in range(len(weights)):
                row = leaf * len(weights) + facing
                for p in range(len(labels)):
                    sums[i, labels[p]] += weights[facing] * leaves[row, p]


def quantise_leaves(probabilities: npt.ArrayLike) -> Leaves:
    """Return distributions in 255ths that sum to exactly 255, by largest remainders.

    Each entry is rounded down; what is missing to 255 goes to the largest remainders, one each, the lowest part first
    where they are equal. An entry divided by 255 differs by less than `MAX_LEAF_ERROR` from the probability, and a
    larger probability never gets a smaller entry.

    Parameters
    ----------
    probabilities : array (n_leaves, n_parts), float or whole numbers
        Not negative, with a finite sum above 0 in each row; rows are divided by their sums, so that counts work too.

    Returns
    -------
    array (n_leaves, n_parts), uint8
    """
    weights = np.asarray(probabilities)
    if weights.ndim != 2 or not 1 <= weights.shape[1] <= NO_PART or weights.dtype.kind not in "fiu":
        raise ModelError(
            f"leaf distributions must be numbers of shape (leaves, parts), got {weights.dtype} of shape {weights.shape}"
        )
    weights = np.ascontiguousarray(weights, dtype=np.float64)
    # a running sum has one order of additions everywhere; numpy's sum depends on the machine
    with np.errstate(over="ignore", invalid="ignore"):
        totals = np.ascontiguousarray(weights.cumsum(axis=1)[:, -1])
    bad = ~((weights >= 0).all(axis=1) & np.isfinite(totals) & (totals > 0))
    if bad.any():
        raise ModelError(
            f"leaf distribution {int(np.flatnonzero(bad)[0])} must have no negative entry and a finite sum above 0"
        )
    quantised = np.empty(weights.shape, dtype=np.uint8)
    _quantise(weights, totals, quantised)
    return quantised


@kernel
def _quantise(weights: npt.NDArray[np.float64], totals: npt.NDArray[np.float64], quantised: Leaves) -> None:
    remainders = np.empty(weights.shape[1])
    for leaf in range(len(weights)):
        n_missing = LEAF_SUM
        for p in range(len(remainders)):
            scaled = weights[leaf, p] / totals[leaf] * LEAF_SUM
            entry = int(scaled)
            quantised[leaf, p] = entry
            remainders[p] = scaled - entry
            n_missing -= entry
        for _ in range(n_missing):
            largest = np.argmax(remainders)
            quantised[leaf, largest] += 1
            remainders[largest] = -1.0


def levels(roots: npt.NDArray[np.int32], children: npt.NDArray[np.int32]) -> list[npt.NDArray[np.int32]]:
    """Return the nodes at depth 0, 1, ... of sound links, or the first `MAX_DEPTH` + 1 levels of deeper ones."""
    found: list[npt.NDArray[np.int32]] = []
    level = roots[roots >= 0]
    while len(level) and len(found) <= MAX_DEPTH:
        found.append(level)
        below = children[level].ravel()
        level = below[below >= 0]
    return found


def check_smoothing(smooth_m: object) -> float:
    """Return a radius of smoothing in metres, or raise UsageError."""
    if not is_number(smooth_m) or not 0 <= smooth_m <= MAX_SMOOTH_M:
        shown = modelfile.shown(smooth_m)
        raise UsageError(f"smoothing must be a radius from 0 to {MAX_SMOOTH_M:g} metres, got {shown}")
    return float(smooth_m) + 0.0  # -0.0 is 0.0


def _checked_confidence(value: object) -> float:
    """Return the confidence of people, or raise UsageError."""
    if not is_number(value) or not 0 <= value <= 1:
        raise UsageError(f"person_confidence must be from 0 to 1, got {modelfile.shown(value)}")
    return float(value) + 0.0  # -0.0 is 0.0


def _check_facings(evidence: npt.NDArray[np.int8], n_rows: int, n_trees: int) -> None:
    """Raise ModelError unless there are as many rows of leaves as leaves times facings, and sums fit in 32 bits."""
    n_leaves, n_facings = evidence.shape
    if not 1 <= n_facings <= facings.MAX_FACINGS:
        raise ModelError(f"a forest has 1 to {facings.MAX_FACINGS} facings, got {n_facings}")
    if n_rows != n_leaves * n_facings:
        raise ModelError(f"{n_leaves} leaves of {n_facings} facings have {n_leaves * n_facings} rows, got {n_rows}")
    if n_facings == 1 and evidence.any():
        raise ModelError("where there is one facing, evidence must be 0")
    if n_facings > 1 and n_trees > MAX_FACING_TREES:
        raise ModelError(f"a forest with facings has at most {MAX_FACING_TREES} trees, got {n_trees}")


def _check_links(roots: npt.NDArray[np.int32], children: npt.NDArray[np.int32], n_leaves: int) -> None:
    """Raise ModelError unless roots and children are trees that use every node and leaf exactly once."""
    n_nodes = len(children)
    if not 1 <= len(roots) <= MAX_TREES:
        raise ModelError(f"a forest has 1 to {MAX_TREES} trees, got {len(roots)}")
    if n_nodes > MAX_NODES:
        raise ModelError(f"a forest has at most {MAX_NODES} nodes, got {n_nodes}")
    for name, links in (("root", roots), ("child", children)):
        is_bad = (links >= n_nodes) | (links < -n_leaves)
        if is_bad.any():
            where = np.argwhere(is_bad)[0]
            raise ModelError(
                f"{name} {where.tolist()} is {links[tuple(where)]}, outside the {n_nodes} nodes and {n_leaves} leaves"
            )
    links = np.concatenate((roots, children.ravel()))
    for name, used, n in (("node", links[links >= 0], n_nodes), ("leaf", ~links[links < 0], n_leaves)):
        n_uses = np.bincount(used, minlength=n)
        if (n_uses != 1).any():
            index = int(np.flatnonzero(n_uses != 1)[0])
            raise ModelError(
                f"{name} {index} has {n_uses[index]} parents; every node and leaf has one, or is the root of one tree"
            )
    # Each has one parent now, so that no walk from a root meets a node twice: it ends, and a cycle is what it misses.
    found = levels(roots, children)
    if len(found) > MAX_DEPTH:
        raise ModelError(f"a tree is deeper than {MAX_DEPTH} splits")
    is_found = np.zeros(n_nodes, dtype=np.bool_)
    for level in found:
        is_found[level] = True
    if not is_found.all():
        raise ModelError(f"node {int(np.flatnonzero(~is_found)[0])} is part of a cycle: no root leads to it")


def _check_values(offsets: npt.NDArray[np.float32], leaves: Leaves) -> None:
    is_bad = ~(np.abs(offsets) <= MAX_OFFSET_M).all(axis=1)  # NaN is not <= either
    if is_bad.any():
        node = int(np.flatnonzero(is_bad)[0])
        raise ModelError(
            f"offsets of node {node} must be finite and at most {MAX_OFFSET_M:g} m, got {offsets[node].tolist()}"
        )
    sums = leaves.sum(axis=1, dtype=np.int64)
    if (sums != LEAF_SUM).any():
        leaf = int(np.flatnonzero(sums != LEAF_SUM)[0])
        raise ModelError(f"leaf {leaf} sums to {sums[leaf]}, expected {LEAF_SUM}; quantise_leaves makes such rows")
