"""Tables: a forest as bytes for the C code; `templates/label.h` reads this format.

Nodes are rows of 16 bytes: four probe offsets as whole multiples of a unit, the threshold, and the row of the left
child; the right child follows it. Row 2 t is the root of tree t. A leaf is a row that leads to itself, so that many
pixels walk together without a check for arrival; it holds where its record begins. A record holds the leaf's evidence
for facings, the number of parts in each of its distributions, and these parts with their shares in 255ths, without
zeros. Offsets that are not whole multiples of one unit (imported forests) stay floats, in rows of 24 bytes.

A context stage has two more tables like these. Its rows also hold the channels of both probes. In its leaf rows, both
probes are equal, and their offsets hold where the record begins.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256

import numpy as np
import numpy.typing as npt

from depthforest.base import ModelError
from depthforest.trees import ContextTrees, DepthTrees

MAX_LEAF_BYTES = 2**31
"""Most bytes of all records: a leaf's row has 31 bits for where its record begins."""

BLOB_HEADER = 64
"""Bytes before the nodes: the magic (16), the number of rows and the bytes of the records (4 each), the same of the
context stage, zeros."""

CONTEXT_NODE = np.dtype([("offsets", "<i2", 4), ("threshold", "<i2"), ("channels", "u1", 2), ("child", "<u4")])
"""Layout of a row of the context stage."""

_UNITS = range(31)
_MAX_UNITS = 32_767


@dataclass(frozen=True, eq=False)
class Tables:
    """A forest in bytes.

    Attributes
    ----------
    nodes, leaves : bytes
    n_rows : int
        Rows of `nodes`.
    unit : float
        One unit of offsets in meters, a power of two.
    is_whole : bool
        Whether offsets are int16; otherwise float32.
    context_nodes, context_leaves : bytes
        Tables of the context stage; empty without one.
    """

    nodes: bytes
    leaves: bytes
    n_rows: int
    unit: float
    is_whole: bool
    context_nodes: bytes = b""
    context_leaves: bytes = b""

    @property
    def node_bytes(self) -> int:
        """Bytes of a row."""
        return 16 if self.is_whole else 24

    @property
    def n_context_rows(self) -> int:
        """Rows of `context_nodes`."""
        return len(self.context_nodes) // CONTEXT_NODE.itemsize

    @property
    def content(self) -> bytes:
        """All tables, one after the other."""
        return self.nodes + self.leaves + self.context_nodes + self.context_leaves

    @property
    def magic(self) -> bytes:
        """The first 16 bytes of the blob, which the header checks, so that other tables are refused."""
        return b"DFBLOB1\0" + sha256(self.content).digest()[:8]

    @property
    def blob(self) -> bytes:
        """All tables in one piece, as they are mapped into memory."""
        lengths = self.n_rows, len(self.leaves), self.n_context_rows, len(self.context_leaves)
        return (self.magic + np.array(lengths, dtype="<u4").tobytes()).ljust(BLOB_HEADER, b"\0") + self.content


def tables_of(forest: DepthTrees) -> Tables:
    """Return a forest's tables; equal forests have equal ones."""
    leaves, begins = _records(forest.leaves, forest.facing_evidence)
    node_rows, leaf_rows, lefts = _number(forest)
    unit = _unit_of(forest.offsets)
    n_rows = 2 * (forest.n_nodes + forest.n_trees)
    offset_type = "<f4" if unit is None else "<i2"
    row_type = np.dtype([("offsets", offset_type, 4), ("threshold", "<i2"), ("low", "<u2"), ("child", "<u4")])
    rows = np.zeros(n_rows, dtype=row_type)
    rows["child"] = np.arange(n_rows)  # leaves, and the unused row beside a root, lead to themselves
    rows["threshold"][leaf_rows], rows["low"][leaf_rows] = begins >> 16, begins & 0xFFFF
    rows["offsets"][node_rows] = forest.offsets if unit is None else np.rint(forest.offsets / unit)
    rows["threshold"][node_rows], rows["child"][node_rows] = forest.thresholds, lefts
    context = (b"", b"") if forest.context is None else _context_tables(forest.context)
    return Tables(rows.tobytes(), leaves, n_rows, 1.0 if unit is None else unit, unit is not None, *context)


def _context_tables(context: ContextTrees) -> tuple[bytes, bytes]:
    """Return the nodes and the records of a context stage."""
    leaves, begins = _records(context.leaves, np.zeros((context.n_leaves, 1), dtype=np.int8))
    node_rows, leaf_rows, lefts = _number(context)
    rows = np.zeros(2 * (context.n_nodes + context.n_trees), dtype=CONTEXT_NODE)
    rows["child"] = np.arange(len(rows))
    halves = np.stack((begins >> 16, begins & 0xFFFF), axis=1).astype("<u2").view("<i2")
    rows["offsets"][leaf_rows] = np.concatenate((halves, halves), axis=1)
    rows["offsets"][node_rows], rows["threshold"][node_rows] = context.offsets, context.thresholds
    rows["channels"][node_rows], rows["child"][node_rows] = context.channels, lefts
    return rows.tobytes(), leaves


def _unit_of(offsets: npt.NDArray[np.float32]) -> float | None:
    """Return the largest power of two of which all offsets are 16-bit multiples, or None."""
    for power in _UNITS:
        whole = offsets.astype(np.float64) * 2.0**power
        if np.abs(whole).max(initial=0) > _MAX_UNITS:
            return None
        if np.array_equal(whole, np.rint(whole)):
            return float(2.0**-power)
    return None


def _number(
    forest: DepthTrees | ContextTrees,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the rows of nodes and of leaves, and the row of each node's left child.

    The roots come first, each followed by an unused row; then the children of nodes, depth first. Common paths are read
    in memory order, and children always come after their parent.
    """
    rows = {int(root): 2 * tree for tree, root in enumerate(forest.roots)}
    lefts = np.zeros(forest.n_nodes, dtype=np.int64)
    children, row = forest.children.tolist(), 2 * forest.n_trees
    for root in forest.roots.tolist():
        stack = [root] if root >= 0 else []
        while stack:
            node = stack.pop()
            left, right = children[node]
            rows[left], rows[right], lefts[node] = row, row + 1, row
            row += 2
            stack += [link for link in (right, left) if link >= 0]
    links = np.fromiter(rows, dtype=np.int64, count=len(rows))
    places = np.fromiter(rows.values(), dtype=np.int64, count=len(rows))
    node_rows, leaf_rows = np.empty(forest.n_nodes, np.int64), np.empty(forest.n_leaves, np.int64)
    node_rows[links[links >= 0]] = places[links >= 0]
    leaf_rows[~links[links < 0]] = places[links < 0]
    return node_rows, leaf_rows, lefts


def _records(
    distributions: npt.NDArray[np.uint8], evidence: npt.NDArray[np.int8]
) -> tuple[bytes, npt.NDArray[np.int64]]:
    """Return the records of all leaves, and where each begins."""
    n_leaves, n_facings = evidence.shape
    lengths = np.count_nonzero(distributions, axis=1).reshape(n_leaves, n_facings)
    n_before = n_facings * (2 if n_facings > 1 else 1)  # evidence and lengths, or the one length
    sizes = n_before + 2 * lengths.sum(axis=1)
    begins = np.cumsum(sizes) - sizes
    out = np.zeros(int(sizes.sum()), dtype=np.uint8)
    facings = np.arange(n_facings)
    if n_facings > 1:
        out[begins[:, None] + facings] = evidence.view(np.uint8)
    out[begins[:, None] + n_before - n_facings + facings] = lengths
    rows, parts = np.nonzero(distributions)
    number = np.arange(len(rows)) - np.repeat(np.cumsum(lengths.sum(axis=1)) - lengths.sum(axis=1), lengths.sum(axis=1))
    places = begins[rows // n_facings] + n_before + 2 * number
    out[places], out[places + 1] = parts, distributions[rows, parts]
    if len(out) > MAX_LEAF_BYTES:
        raise ModelError(f"the leaves take {len(out)} bytes, at most {MAX_LEAF_BYTES} can be exported; cut branches")
    return out.tobytes(), begins
