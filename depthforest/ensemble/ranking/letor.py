"""LETOR files: ranking data as text with lines such as `grade qid:7 1:0.5 3:1.2 # comment`, and files of group sizes.

Features missing from a line are 0. If lines have no qid, the group sizes may be in a file of the same name with
`.query` appended, one number per line, as in LightGBM. scikit-learn does the parsing; this module finds the line of an
error.
"""

from __future__ import annotations

import io
import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from depthforest.base import DatasetError, Floats, Longs, Singles, UsageError, read_bytes, replacing
from depthforest.ensemble.ranking.groups import check_relevance, group_ids, group_sizes, query_starts
from depthforest.ensemble.tree import MAX_FEATURES

SIZES_SUFFIX = ".query"

MAX_CELLS = 2**26
"""Memory of the table of a small file: 256 MB. A larger file may use `CELLS_PER_BYTE` more for each of its bytes."""

CELLS_PER_BYTE = 16

MAX_SHOWN = 40
"""Characters of an invalid line that a message quotes."""


class RankingData(NamedTuple):
    """A ranking data set.

    Attributes
    ----------
    X : (n, n_features) float32 array
    y : (n,) float64 array
        Relevance.
    qid : (n,) int64 array, or None
        The query of each row; None if the file has none.
    """

    X: Singles
    y: Floats
    qid: Longs | None


# -- reading -----------------------------------------------------------------------------------------------------------


def read_letor(path: str | Path, *, n_features: int | None = None, zero_based: bool = False) -> RankingData:
    """Read a LETOR or libsvm file of ranking data.

    Parameters
    ----------
    path : str or Path
        If its lines have no qid, group sizes are read from `path` with `.query` appended, if it exists.
    n_features : int, optional
        Columns of X; default: up to the last feature that occurs. Set it to read training and test files alike.
    zero_based : bool
        Whether features count from 0 instead of 1.

    Returns
    -------
    RankingData
        (X, y, qid).
    """
    path = Path(path)
    raw = read_bytes(path, DatasetError)
    try:
        table, grades, ids = load_svmlight_file(
            io.BytesIO(raw), dtype=np.float64, zero_based=bool(zero_based), query_id=True
        )
    except (ValueError, OverflowError, TypeError, IndexError) as error:
        raise DatasetError(f"{path}: {_first_fault(raw, zero_based) or error}") from None
    if not len(grades):
        raise DatasetError(f"{path}: has no data lines")
    if not (np.isfinite(grades).all() and np.isfinite(table.data).all() and len(ids) in (0, len(grades))):
        raise DatasetError(f"{path}: {_first_fault(raw, zero_based)}")
    width = table.shape[1] if n_features is None else n_features
    if not table.shape[1] <= width <= MAX_FEATURES:
        raise DatasetError(
            f"{path}: has features up to number {table.shape[1]}, expected at most {min(width, MAX_FEATURES)}"
        )
    if len(grades) * width > max(MAX_CELLS, CELLS_PER_BYTE * len(raw)):
        raise DatasetError(
            f"{path}: {len(grades)} rows of {width} features, nearly all 0, do not fit into a table; "
            "leave out rare features, or number them without gaps"
        )
    x = np.zeros((len(grades), width), dtype=np.float32)
    filled = table.tocoo()
    x[filled.row, filled.col] = filled.data
    return RankingData(x, np.asarray(grades, dtype=np.float64), _ids(path, ids, len(grades)))


def _ids(path: Path, ids: npt.NDArray[Any], n_rows: int) -> Longs | None:
    """Return the query of each row: from the lines, else from the `.query` file, else None."""
    sizes_path = path.with_name(path.name + SIZES_SUFFIX)
    try:
        if len(ids):
            query_starts(ids, n_rows)
            return np.asarray(ids, dtype=np.int64)
        return group_ids(read_group_sizes(sizes_path), n_rows) if sizes_path.exists() else None
    except UsageError as error:
        raise DatasetError(f"{path if len(ids) else sizes_path}: {error}") from None


def read_group_sizes(path: str | Path) -> Longs:
    """Read group sizes from a file with one whole number per line; (n_queries,) int64."""
    lines = read_bytes(Path(path), DatasetError).split(b"\n")
    sizes = []
    for n, line in enumerate(lines, 1):
        text = line.strip()
        if not text:
            continue
        if not text.isdigit() or not 1 <= len(text) <= 9 or int(text) < 1:
            raise DatasetError(
                f"{path}: line {n}: expected the size of a group, a whole number from 1; got {_shown(line)}"
            )
        sizes.append(int(text))
    if not sizes:
        raise DatasetError(f"{path}: has no group sizes")
    return np.array(sizes, dtype=np.int64)


def _first_fault(raw: bytes, zero_based: bool) -> str:
    """Return the first error and its line; only called if there is one."""
    has_qid = None
    for n, line in enumerate(raw.split(b"\n"), 1):
        words = line.partition(b"#")[0].split()
        if not words:
            continue
        fault = _fault(words, zero_based)
        is_named = len(words) > 1 and words[1].startswith(b"qid:")
        if not fault and has_qid not in (None, is_named):
            fault = "expected a qid in every line or in none"
        if fault:
            return f"line {n}: {fault}; got {_shown(line)}"
        has_qid = is_named
    return ""


def _fault(words: list[bytes], zero_based: bool) -> str:
    """Return what is wrong with a line; empty if nothing is."""
    if not _spells_number(words[0]):
        return "expected a relevance, a number, at the start"
    last = -1 if zero_based else 0
    for place, word in enumerate(words[1:]):
        name, colon, value = word.partition(b":")
        if not colon or not value:
            return f"expected feature:value, got {_shown(word)}"
        if name == b"qid":
            if place or not _spells_whole(value):
                return "expected qid and a whole number after the relevance"
            continue
        if not _spells_whole(name) or int(name) < 0 or not _spells_number(value):
            return f"expected feature:value, a whole and a finite number, got {_shown(word)}"
        if int(name) == 0 and not zero_based:
            return "features count from 1; pass zero_based=True if they count from 0"
        if int(name) <= last:
            return f"features must ascend, but {int(name)} follows {last}"
        last = int(name)
    return f"features up to {MAX_FEATURES} can be read, got {last}" if last > MAX_FEATURES else ""


def _spells_number(word: bytes) -> bool:
    """Tell whether a word is a finite number."""
    try:
        return math.isfinite(float(word))
    except ValueError:
        return False


def _spells_whole(word: bytes) -> bool:
    """Tell whether a word is a whole number of at most 64 bits."""
    return word.removeprefix(b"-").isdigit() and len(word) < 19


def _shown(line: bytes) -> str:
    text = line.decode("utf-8", "replace").strip()
    return repr(text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 3] + "...")


# -- writing -----------------------------------------------------------------------------------------------------------


def write_letor(path: str | Path, X: Any, y: Any, *, qid: Any = None, zero_based: bool = False) -> None:
    """Write ranking data as a LETOR file; an existing file is replaced only when the new one is complete.

    Parameters
    ----------
    path : str or Path
    X : (n, n_features) array
        Finite. Zeros are omitted; numbers are written so that they can be read back exactly.
    y : (n,) array
        Relevance, from 0.
    qid : (n,) array of whole numbers, optional
        The query of each row; None writes no qid.
    zero_based : bool
        Whether features count from 0 instead of 1.
    """
    grades = check_relevance(y, gain="linear", are_whole=False)
    table = np.asarray(X)
    if table.ndim != 2 or table.dtype.kind not in "biuf" or len(table) != len(grades) or not np.isfinite(table).all():
        raise UsageError(
            f"X must be a table of finite numbers with {len(grades)} rows, one for each relevance, got {table.dtype} "
            f"of shape {table.shape}"
        )
    ids = None
    if qid is not None:
        query_starts(qid, len(grades))
        ids = np.asarray(qid).reshape(-1)
        if ids.dtype.kind not in "iu":
            raise UsageError(
                f"a file holds whole numbers as qid, got the type {ids.dtype}: "
                "pass np.unique(qid, return_inverse=True)[1]"
            )
    with replacing(path) as file:
        dump_svmlight_file(_short(table), grades, file, zero_based=bool(zero_based), query_id=ids)


def _short(table: npt.NDArray[Any]) -> Floats:
    """Return a table as float64, with single precision rounded to the fewest digits: 0.89, not 0.8899999856948853."""
    exact = table.astype(np.float64)
    if table.dtype != np.float32:
        return exact
    short = exact.copy()
    with np.errstate(all="ignore"):  # values that need more digits stay as they are
        for digits in (9, 8, 7, 6):
            unit = 10.0 ** (digits - 1 - np.floor(np.log10(np.abs(exact))))
            rounded = np.rint(exact * unit) / unit
            np.copyto(short, rounded, where=rounded.astype(np.float32) == table)
    return short


def write_group_sizes(path: str | Path, qid: Any) -> None:
    """Write group sizes, one number per line: the `.query` file for a file without qid."""
    with replacing(path) as file:
        file.write("".join(f"{size}\n" for size in group_sizes(qid)).encode("ascii"))
