"""PCL's people trees, the text files of its gpu/people module, as a Forest.

    height                                    one line
    du1 dv1 du2 dv2 threshold                 2^height - 1 lines, a full tree breadth first
    label                                     2^height lines, 0 to 24

PCL compares, in millimeters, the depths at two pixels that are (du, dv) * 1000 / depth_mm away, and goes right above
the threshold. This is our response, with offsets in pixels at one meter instead of meters. The focal length that the
trees were made for converts them, and the forest then fits any camera. Trees vote in PCL; with all of a leaf's weight
on one label, the mean of the leaves is that vote, and the lowest label wins ties in both. Half of a full tree is
padding, so subtrees with a single label become leaves.

A file is untrusted and may be compressed. It is read in blocks, and its first line bounds its size.
"""

from __future__ import annotations

import bz2
import contextlib
import gzip
import hashlib
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from depthforest.base import ModelError, UsageError, is_number, kernel, one_line, reason, shown
from depthforest.forest.forest import Forest
from depthforest.frames import PCL25
from depthforest.trees import BACKGROUND_MM, LEAF_SUM, MAX_FOCAL_PX, MAX_OFFSET_M, MAX_TREES

FOCAL_PX = 640.0
"""Focal length that the offsets of PCL's own trees were made for, pixels."""

MAX_HEIGHT = 22
"""Four times the nodes of PCL's own trees, whose height is 20; it bounds time and memory."""

MAX_LINE_BYTES = 64
"""Longest line: five 16-bit numbers take 34 characters. Bounds the text of a tree."""

BLOCK_BYTES = 2**20
"""Bytes of text in memory at a time."""

NODE_FIELDS = ("du1", "dv1", "du2", "dv2", "threshold")
_LOWEST, _HIGHEST = -(2**15), 2**15 - 1  # range of 16 bits
_TOO_LARGE = 10**6  # beyond 16 bits, and ten times it is far below 64 bits

Text = IO[bytes] | bz2.BZ2File | gzip.GzipFile
Nodes = npt.NDArray[np.int16]
Labels = npt.NDArray[np.uint8]
Links = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class PclTree:
    """A tree as stored in its file.

    Attributes
    ----------
    name : str
        The path, for messages.
    nodes : array (2^height - 1, 5), int16
        du1, dv1, du2, dv2 in pixels at one meter, x right and y down, and the threshold in millimeters; breadth first.
    labels : array (2^height,), uint8
    sha256 : str
        Hash of the uncompressed text.
    """

    name: str
    nodes: Nodes
    labels: Labels
    sha256: str


def import_pcl(paths: Sequence[str | Path], focal_px: float = FOCAL_PX) -> Forest:
    """Return PCL's trees as one forest with PCL's 25 parts.

    Parameters
    ----------
    paths : sequence of str or Path
        Tree files: text, plain or compressed by bzip2 or gzip.
    focal_px : float
        Focal length that the trees' offsets were made for, pixels.

    Returns
    -------
    Forest
        Its `config` names the focal length and, for each tree, the height and the SHA-256 of the text.
    """
    if isinstance(paths, str | Path) or not 1 <= len(paths) <= MAX_TREES:
        raise UsageError(f"expected a list of 1 to {MAX_TREES} tree files, got {shown(paths)}")
    if not is_number(focal_px) or not 0 < focal_px <= MAX_FOCAL_PX:
        raise UsageError(f"the focal length must lie above 0 and up to {MAX_FOCAL_PX:g} pixels, got {focal_px!r}")
    known: dict[str, str] = {}
    pieces: list[dict[str, npt.NDArray[Any]]] = []
    heights: list[int] = []
    for path in paths:
        tree = read_tree(path)
        if tree.sha256 in known:
            raise UsageError(f"{tree.name}: is the same tree as {known[tree.sha256]}; give every tree once")
        known[tree.sha256] = tree.name
        heights.append(len(tree.labels).bit_length() - 1)
        pieces.append(_columns(tree, float(focal_px)))
    return Forest(
        **_joined(pieces),
        part_set=PCL25,
        background_mm=BACKGROUND_MM,
        config={
            "imported_from": "PCL gpu/people",
            "focal_px": float(focal_px),
            "heights": heights,
            "sha256": list(known),
        },
    )


# -- reading ---------------------------------------------------------------------------------------------------------


def read_tree(path: str | Path) -> PclTree:
    """Read one tree file and check all of it; a ModelError names the line that is wrong."""
    name = str(path)
    try:
        with _opened(Path(path)) as file:
            return _read_text(name, file)
    except ModelError as error:
        raise ModelError(f"{name}: {one_line(error)}") from None
    except EOFError:
        raise ModelError(f"{name}: is cut off: its compressed data has no end; copy it again") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise ModelError(f"{name}: is broken gzip data: {one_line(error)}") from None
    except OSError as error:  # errors of the system have a number, those of bzip2 do not
        said = f"cannot be read: {reason(error)}" if error.errno else f"is broken bzip2 data: {one_line(error)}"
        raise ModelError(f"{name}: {said}") from None
    except ValueError as error:
        raise ModelError(f"{name}: cannot be read: {one_line(error)}") from None


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[Text]:
    """Open a file for its text. The first bytes, not the ending, identify the compression."""
    with path.open("rb") as file:
        # peek, not seek: a pipe works too
        first = file.peek(3)[:3]
        if not first:
            raise ModelError("is empty (0 bytes); was it copied or written to the end?")
        if first == b"BZh":
            with bz2.BZ2File(file) as text:
                yield text
        elif first[:2] == b"\x1f\x8b":
            with gzip.GzipFile(fileobj=file) as text:
                yield text
        else:
            yield file


def _read_text(name: str, file: Text) -> PclTree:
    first = file.readline(MAX_LINE_BYTES)
    height = _height(first)
    nodes = np.empty((2**height - 1, len(NODE_FIELDS)), dtype=np.int16)
    labels = np.empty(2**height, dtype=np.uint8)
    n_lines = len(nodes) + len(labels)
    digest = hashlib.sha256(first)
    n_bytes = n_read = 0
    for block in _whole_lines(file):
        digest.update(block)
        n_bytes += len(block)
        if n_bytes > n_lines * MAX_LINE_BYTES:
            raise ModelError(f"has more text than a tree of height {height}: over {n_lines * MAX_LINE_BYTES} bytes")
        text = block if block.endswith(b"\n") else block + b"\n"
        n_good = _parse_lines(np.frombuffer(text, dtype=np.uint8), n_read, len(PCL25), nodes, labels)
        n_read += n_good
        if n_good < text.count(b"\n"):
            _complain(text.split(b"\n")[n_good], n_read, height)
    if n_read < n_lines:
        raise ModelError(
            f"ends after line {n_read + 1}; a tree of height {height} has {n_lines + 1}: the height, "
            f"{len(nodes)} nodes, {len(labels)} labels; was it copied to the end?"
        )
    return PclTree(name, nodes, labels, digest.hexdigest())


def _height(line: bytes) -> int:
    text = line.strip()
    if not re.fullmatch(rb"[0-9]{1,2}", text) or not 1 <= int(text) <= MAX_HEIGHT:
        raise ModelError(
            f"line 1 must be the tree's height, 1 to {MAX_HEIGHT}, got {_quoted(line)}; is it a tree of PCL's people?"
        )
    return int(text)


def _whole_lines(file: Text) -> Iterator[bytes]:
    """Yield the text in blocks that end with a complete line; only the last may lack the newline."""
    rest = b""
    while block := file.read(BLOCK_BYTES):
        lines, newline, rest = (rest + block).rpartition(b"\n")
        if len(rest) > BLOCK_BYTES:
            raise ModelError(f"has a line of more than {BLOCK_BYTES} characters; is it a tree of PCL's people?")
        if newline:
            yield lines + newline
    if rest:
        yield rest


@kernel
def _parse_lines(text: npt.NDArray[np.uint8], n_read: int, n_parts: int, nodes: Nodes, labels: Labels) -> int:
    """Parse lines that all end in a newline, `n_read` lines after the height; return how many good ones come first.

    A good line holds the whole numbers of a node, the label of a leaf or, after the last leaf, nothing.
    """
    n_nodes, n_fields = nodes.shape
    n_lines = n_nodes + len(labels)
    n_good = n_found = n_digits = 0
    value = sign = np.int64(0)
    for character in text:
        line = n_read + n_good
        if 48 <= character <= 57:  # a digit
            if line >= n_lines or n_found >= n_fields:
                return n_good
            if value < _TOO_LARGE:  # beyond that, the value only has to stay too large
                value = value * 10 + np.int64(character) - 48
            n_digits += 1
        elif character == 43 or character == 45:  # plus or minus: only before a number
            if sign != 0 or n_digits > 0:
                return n_good
            sign = 44 - np.int64(character)
        elif character == 32 or character == 9 or character == 13 or character == 10:  # space, tab, return, newline
            if n_digits > 0:
                number = -value if sign < 0 else value
                if line < n_nodes:
                    if number < _LOWEST or number > _HIGHEST:
                        return n_good
                    nodes[line, n_found] = number
                else:
                    if n_found > 0 or number < 0 or number >= n_parts:
                        return n_good
                    labels[line - n_nodes] = number
                n_found += 1
            elif sign != 0:
                return n_good
            value = sign = np.int64(0)
            n_digits = 0
            if character == 10:
                if line < n_lines and n_found != (n_fields if line < n_nodes else 1):
                    return n_good
                n_good += 1
                n_found = 0
        else:
            return n_good
    return n_good


def _complain(line: bytes, n_read: int, height: int) -> None:
    """Raise a ModelError that says what is wrong with the line after `n_read` good ones."""
    n_nodes = 2**height - 1
    number = n_read + 2  # counted from 1, the height being line 1
    if n_read >= 2 * n_nodes + 1:
        raise ModelError(f"continues at line {number} with {_quoted(line)}; a tree of height {height} ends before")
    is_node = n_read < n_nodes
    fields = line.split()
    if len(fields) != (len(NODE_FIELDS) if is_node else 1):
        expected = f"the 5 numbers of a node ({' '.join(NODE_FIELDS)})" if is_node else "one label"
        raise ModelError(f"line {number}: expected {expected}, got {_quoted(line)}; is the height, {height}, right?")
    for name, text in zip(NODE_FIELDS if is_node else ("label",), fields, strict=True):
        lowest, highest = (_LOWEST, _HIGHEST) if is_node else (0, len(PCL25) - 1)
        if not re.fullmatch(rb"[+-]?[0-9]+", text):
            raise ModelError(f"line {number}: {name} must be a whole number, got {_quoted(text)}")
        if len(text) > MAX_LINE_BYTES or not lowest <= int(text) <= highest:
            raise ModelError(f"line {number}: {name} must lie from {lowest} to {highest}, got {_quoted(text)}")
    raise ModelError(f"line {number}: cannot be read: {_quoted(line)}")


def _quoted(text: bytes) -> str:
    return shown(text[:MAX_LINE_BYTES].strip().decode("latin-1"))


# -- full trees to columns --------------------------------------------------------------------------------------------


def _columns(tree: PclTree, focal_px: float) -> dict[str, npt.NDArray[Any]]:
    """Return a tree's columns as in `Forest`, but with the label of each leaf instead of its distribution."""
    pixels = tree.nodes[:, :4]
    is_far = (np.abs(pixels.astype(np.int32)) > MAX_OFFSET_M * focal_px).any(axis=1)
    if is_far.any():
        node = int(np.flatnonzero(is_far)[0])
        raise ModelError(
            f"{tree.name}: line {node + 2}: offsets may be {MAX_OFFSET_M:g} m at most, got {pixels[node].tolist()} "
            f"pixels at one meter and a focal length of {focal_px:g}; is the focal length right?"
        )
    links = _links(tree.labels)
    order = _breadth_first(links)
    index_of = np.empty(len(tree.nodes), dtype=np.int32)
    index_of[order] = np.arange(len(order), dtype=np.int32)
    ends = np.concatenate((links[:1], np.stack((links[2 * order + 1], links[2 * order + 2]), axis=1).ravel()))
    is_leaf = ends < 0
    labels = (~ends[is_leaf]).astype(np.uint8)
    ends[~is_leaf] = index_of[ends[~is_leaf]]
    ends[is_leaf] = ~np.arange(len(labels), dtype=np.int32)  # each end is its own leaf: leaves are not shared
    return {
        "roots": ends[:1],
        "offsets": pixels[order] / focal_px,
        "thresholds": tree.nodes[order, 4],
        "children": ends[1:].reshape(-1, 2),
        "labels": labels,
    }


def _links(labels: Labels) -> Links:
    """Return for every place of a full tree the place itself, or ``~label`` if all leaves below it have one label."""
    n_nodes = len(labels) - 1
    links = np.empty(n_nodes + len(labels), dtype=np.int32)
    links[n_nodes:] = ~labels.astype(np.int32)
    first = n_nodes
    while first:
        below = links[first : 2 * first + 1].reshape(-1, 2)
        first //= 2
        places = np.arange(first, first + len(below), dtype=np.int32)
        # two nodes are never equal, so equal links are one label
        links[places] = np.where(below[:, 0] == below[:, 1], below[:, 0], places)
    return links


def _breadth_first(links: Links) -> Links:
    """Return the places of the nodes that are left, level by level."""
    levels = []
    level = links[:1]
    while True:
        level = level[level >= 0]
        if not len(level):
            break
        levels.append(level)
        level = np.stack((links[2 * level + 1], links[2 * level + 2]), axis=1).ravel()
    return np.concatenate([np.empty(0, dtype=np.int32), *levels])


def _joined(pieces: Sequence[dict[str, npt.NDArray[Any]]]) -> dict[str, Any]:
    """Return the columns of all trees concatenated, with links shifted to the new positions of nodes and leaves."""
    n_nodes = n_leaves = 0
    for piece in pieces:
        for name in ("roots", "children"):
            piece[name] = np.where(piece[name] >= 0, piece[name] + n_nodes, piece[name] - n_leaves).astype(np.int32)
        n_nodes += len(piece["children"])
        n_leaves += len(piece["labels"])
    columns = {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}
    columns["offsets"] = columns["offsets"].astype(np.float32)
    labels = columns.pop("labels")
    columns["leaves"] = np.zeros((len(labels), len(PCL25)), dtype=np.uint8)
    columns["leaves"][np.arange(len(labels)), labels] = LEAF_SUM
    return columns
