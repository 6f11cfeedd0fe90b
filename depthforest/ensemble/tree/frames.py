"""Frames: names, types and columns of tables from pandas, polars or Arrow, for `inputs`.

None of these packages is required or imported: a frame is recognized by its attributes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

CATEGORIES = ("category", "Categorical", "Enum", "dictionary<")
"""Prefixes of the names of categorical types: one of pandas, two of polars, one of Arrow."""

TEXTS = ("string", "str", "String", "Utf8", "large_string", "string_view")
"""Text types; pandas appends [pyarrow] to those of Arrow."""


@dataclass(frozen=True, eq=False)
class NamedTable:
    """A table with names and types.

    Attributes
    ----------
    table
        The original table.
    names : list
        Column names, unchanged.
    kinds : list of str
        Names of the column types.
    """

    table: Any
    names: list[Any]
    kinds: list[str]

    def is_category(self, number: int) -> bool:
        """Return whether a column has a categorical type."""
        return self.kinds[number].startswith(CATEGORIES)

    def is_text(self, number: int) -> bool:
        """Return whether a column holds text or categories."""
        kind = self.kinds[number].partition("[")[0]
        if kind == "object":
            return any(isinstance(value, str) for value in self.column(number))
        return self.is_category(number) or kind in TEXTS

    def column(self, number: int) -> npt.NDArray[Any]:
        """Return the values of a column, (n,): objects if they are not plain numbers."""
        if hasattr(self.table, "iloc"):
            return np.asarray(self.table.iloc[:, number].to_numpy())
        column = self.table.column(number) if hasattr(self.table, "column_names") else self.table[self.names[number]]
        if self.is_category(number) or self.kinds[number] in TEXTS:
            values = column.to_pylist() if hasattr(column, "to_pylist") else column.to_list()
            return np.array(values, dtype=object)
        return np.asarray(column.to_numpy())


def frame_of(x: Any) -> NamedTable | None:
    """Return a frame of pandas, polars or Arrow as a `NamedTable`; None for anything else."""
    if hasattr(x, "column_names") and hasattr(x, "schema"):
        return NamedTable(x, list(x.column_names), [str(kind) for kind in x.schema.types])
    if hasattr(x, "columns") and hasattr(x, "dtypes"):
        return NamedTable(x, list(x.columns), [str(kind) for kind in x.dtypes])
    return None
