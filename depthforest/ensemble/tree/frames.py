"""Frames: the names, types and columns of a table from pandas, polars or Arrow. `inputs` asks which are categories.

None of these packages is needed, nor imported: a frame is known by what it offers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

CATEGORIES = ("category", "Categorical", "Enum", "dictionary<")
"""How the names of types begin whose values are one of a list: of pandas, of polars twice, of Arrow."""

TEXTS = ("string", "str", "String", "Utf8", "large_string", "string_view")
"""Types of text; pandas writes those of Arrow with [pyarrow] behind."""


@dataclass(frozen=True, eq=False)
class NamedTable:
    """A table with names and types.

    Attributes
    ----------
    table
        As it came.
    names : list
        Of its columns, as they came.
    kinds : list of str
        Names of their types.
    """

    table: Any
    names: list[Any]
    kinds: list[str]

    def is_category(self, number: int) -> bool:
        """Return whether a column's type says that its values are one of a list."""
        return self.kinds[number].startswith(CATEGORIES)

    def is_text(self, number: int) -> bool:
        """Return whether a column holds text or categories."""
        kind = self.kinds[number].partition("[")[0]
        if kind == "object":
            return any(isinstance(value, str) for value in self.column(number))
        return self.is_category(number) or kind in TEXTS

    def column(self, number: int) -> npt.NDArray[Any]:
        """Return the values of a column, (n,): objects where they are no plain numbers."""
        if hasattr(self.table, "iloc"):
            return np.asarray(self.table.iloc[:, number].to_numpy())
        column = self.table.column(number) if hasattr(self.table, "column_names") else self.table[self.names[number]]
        if self.is_category(number) or self.kinds[number] in TEXTS:
            values = column.to_pylist() if hasattr(column, "to_pylist") else column.to_list()
            return np.array(values, dtype=object)
        return np.asarray(column.to_numpy())


def frame_of(x: Any) -> NamedTable | None:
    """Return what is known of a frame of pandas, polars or Arrow; None for anything else."""
    if hasattr(x, "column_names") and hasattr(x, "schema"):
        return NamedTable(x, list(x.column_names), [str(kind) for kind in x.schema.types])
    if hasattr(x, "columns") and hasattr(x, "dtypes"):
        return NamedTable(x, list(x.columns), [str(kind) for kind in x.dtypes])
    return None
