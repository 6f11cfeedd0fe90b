"""Array types: one name for each kind of array that modules hand to each other.

| name | dtype | |
|---|---|---|
| `Bools` | bool | flags |
| `Bytes` | uint8 | small codes, sides, flags that kernels write |
| `Ints` | int32 | rows, columns, codes, links of nodes |
| `Longs` | int64 | counts, offsets, positions |
| `Words` | uint32 | masks of 32 bits |
| `Counters` | uint64 | keys of counter-based random numbers |
| `Singles` | float32 | values of tables, thresholds |
| `Floats` | float64 | sums, weights, targets, predictions |

The names say nothing about shapes; docstrings do. A kernel is compiled for one dtype, so convert before calling it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Bools = npt.NDArray[np.bool_]
Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint32]
Counters = npt.NDArray[np.uint64]
Singles = npt.NDArray[np.float32]
Floats = npt.NDArray[np.float64]
