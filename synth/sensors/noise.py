"""Random fields for the sensor models, from counter-based random numbers: a seed fixes every value.

The kernels of `kernels` use them; they are serial and check nothing.
"""

from __future__ import annotations

import math

import numpy as np

from depthforest.base import GOLDEN, Singles, kernel, mix

SHIFT_16, SHIFT_32, SHIFT_48, LOW_16 = np.uint64(16), np.uint64(32), np.uint64(48), np.uint64(0xFFFF)
TRIANGLE_MEAN = np.float32(65535.0)
TRIANGLE_STD = math.sqrt((65536.0**2 - 1) / 6)  # of the sum of two 16-bit numbers


@kernel
def _fill_noise(seed: np.uint64, width_px: float, height_px: float, grain: float, out: Singles) -> None:
    """Fill two independent fields (2, rows, cols) of unit variance: white noise averaged over a window.

    A window of fractional size weights its outermost pixels in part. In the first field its center weighs more, so that
    the share `grain` of the variance is independent for each pixel. Values are sums, and so nearly normal.
    """
    rows, cols = out.shape[1], out.shape[2]
    half_x, half_y = max(width_px - 1, 0.0) / 2, max(height_px - 1, 0.0) / 2
    reach_x, reach_y = math.ceil(half_x), math.ceil(half_y)
    end_x, end_y = half_x - (reach_x - 1), half_y - (reach_y - 1)  # weights of the outermost pixels; the others weigh 1
    sum_x = 2 * reach_x - 1 + 2 * end_x * end_x if reach_x else 1.0
    sum_y = 2 * reach_y - 1 + 2 * end_y * end_y if reach_y else 1.0
    own = grain / (1 - grain) * sum_x * sum_y  # (1 + extra)^2 = 1 + own
    extra = math.sqrt(1 + own) - 1 if reach_x or reach_y else 0.0
    scales = (
        np.float32(1 / (TRIANGLE_STD * math.sqrt(sum_x * sum_y + extra * (2 + extra)))),
        np.float32(1 / (TRIANGLE_STD * math.sqrt(sum_x * sum_y))),
    )
    white = np.empty((2, cols + 2 * reach_x), dtype=np.float32)
    # sums over rows of sums over columns; rows above and below belong to the outer windows
    out[:] = 0
    line = np.empty(cols, dtype=np.float32)
    counter = seed
    for padded in range(rows + 2 * reach_y):
        for col in range(cols + 2 * reach_x):
            counter += GOLDEN
            bits = mix(counter)
            white[0, col] = np.float32((bits & LOW_16) + ((bits >> SHIFT_16) & LOW_16)) - TRIANGLE_MEAN
            white[1, col] = np.float32(((bits >> SHIFT_32) & LOW_16) + (bits >> SHIFT_48)) - TRIANGLE_MEAN
        for field in range(2):
            scale = scales[field]
            line[:] = 0
            for k in range(2 * reach_x + 1):
                weight = np.float32(end_x) if reach_x and (k == 0 or k == 2 * reach_x) else np.float32(1)
                for col in range(cols):
                    line[col] += weight * white[field, col + k]
            for row in range(max(padded - 2 * reach_y, 0), min(padded, rows - 1) + 1):
                is_end = reach_y and (padded == row or padded == row + 2 * reach_y)
                weight = scale * np.float32(end_y) if is_end else scale
                for col in range(cols):
                    out[field, row, col] += weight * line[col]
            middle = padded - reach_y
            if field == 0 and extra > 0 and 0 <= middle < rows:
                weight = scale * np.float32(extra)
                for col in range(cols):
                    out[0, middle, col] += weight * white[0, col + reach_x]


@kernel
def _fill_texture(seed: np.uint64, out: Singles) -> None:
    """Fill a lattice with uniform numbers from 0 to 1."""
    counter = seed
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            counter -= GOLDEN  # downward, because the noise counts upward from the same seed
            out[i, j] = np.float32(mix(counter) & LOW_16) / np.float32(65536)
