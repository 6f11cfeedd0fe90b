"""Kernels of the sensor models: correlated noise, shadows, and the source of each pixel's reading.

Serial, without checks: `sensors.sense` validates everything. Disparity is in pixels of the sensor itself, 0 = nothing;
`shift` converts it to columns of the given camera. A `source` is the flat index of the pixel whose surface a reading
shows. Only +, -, *, / and square roots are used, so that the same seed gives the same bytes on every machine.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from depthforest.base import GOLDEN, Bools, Bytes, Floats, Singles, kernel, mix
from depthforest.frames import NO_PART
from synth.sensors.devices import FURTHEST_M, NEAREST_M
from synth.sensors.noise import LOW_16, SHIFT_16

Indices = npt.NDArray[np.int32]

MOST_STRAY = 2.0
"""Standard deviations; a larger displacement would tear single pixels off an edge."""
GROWTH_SPREAD = 0.5
"""Standard deviation of the growth of stereo's edges, as a share of the mean: edges are ragged in patches."""


@kernel
def _measure_facing(depth: Singles, intrinsics: Floats, out: Singles) -> None:
    """Write |cos| between surface normal and ray, 1 where there is no surface; `intrinsics` holds fx, fy, cx, cy.

    Of the differences to two opposite neighbors the smaller is used, because the larger may cross an edge.
    """
    rows, cols = depth.shape
    fx, fy = np.float32(intrinsics[0]), np.float32(intrinsics[1])
    cx, cy = np.float32(intrinsics[2]), np.float32(intrinsics[3])
    # missing neighbors count as very far away, so that the loop below has no branches and is vectorized
    far, one, least, most = np.float32(1e4), np.float32(1), np.float32(NEAREST_M), np.float32(FURTHEST_M)
    padded = np.full((rows + 2, cols + 2), far, dtype=np.float32)
    for row in range(rows):
        for col in range(cols):
            z = depth[row, col]
            padded[row + 1, col + 1] = z if z >= least and z <= most else far
    for row in range(rows):
        above, line, below, cosines = padded[row], padded[row + 1], padded[row + 2], out[row]
        y = (np.float32(row) - cy) / fy
        for col in range(cols):
            z = line[col + 1]
            left, right = z - line[col], line[col + 2] - z
            up, down = z - above[col + 1], below[col + 1] - z
            dx = fx * (left if abs(left) < abs(right) else right)
            dy = fy * (up if abs(up) < abs(down) else down)
            x = (np.float32(col) - cx) / fx
            # normal = (-dx, -dy, z + x dx + y dy), ray = (x, y, 1): their dot product is z
            nz = z + x * dx + y * dy
            cos = z / np.sqrt((dx * dx + dy * dy + nz * nz) * (x * x + y * y + one))
            cosines[col] = cos if z < far else one


@kernel
def _to_disparity(depth: Singles, focal_baseline: float, out: Singles) -> None:
    """Write focal_baseline / z; 0 where there is no surface (0, negative, NaN, or beyond any depth image)."""
    rows, cols = depth.shape
    for row in range(rows):
        for col in range(cols):
            z = depth[row, col]
            out[row, col] = np.float32(focal_baseline) / z if NEAREST_M <= z <= FURTHEST_M else np.float32(0)


@kernel
def _cast_shadow(disparity: Singles, shift: float, margin: float, is_cut: bool, out: Singles) -> None:
    """Set `out` to 0 where a second imager or projector, displaced along x, does not see what the first one sees.

    The second one's column of a pixel is col - shift * disparity, so that a positive shift puts it to the right. A
    pixel is in shadow if something nearer by more than `margin` is in the same column of the second one. With `is_cut`,
    columns outside its image are shadow, too.
    """
    rows, cols = disparity.shape
    end = 3 * cols
    nearest = np.empty(end, dtype=np.float32)  # what the second one sees, one image width beyond each side
    columns = np.empty(cols, dtype=np.int32)  # of the second one, as indices of `nearest`; -1 and `end` are outside
    places = np.empty(cols)
    for col in range(cols):
        places[col] = col
    for row in range(rows):
        line = disparity[row]
        for col in range(cols):
            at = np.floor(places[col] - shift * line[col] + 0.5) + cols
            columns[col] = np.int32(min(max(at, -1.0), np.float64(end)))
        nearest[:] = 0
        before, previous = np.float32(0), np.int32(0)
        for col in range(cols):
            d, last = line[col], columns[col]
            if d > 0:
                if 0 <= last < end:
                    here = np.uint32(last)  # unsigned indices avoid numba's test for negative ones
                    nearest[here] = max(nearest[here], d)
                if last > previous + 1 and before > 0 and abs(d - before) <= margin:
                    # the same surface: fill the gap between neighbors that moved apart
                    for gap in range(previous + 1, min(last, np.int32(end))):
                        nearest[gap] = max(nearest[gap], d)
            before, previous = d, last
        for col in range(cols):
            d, here = line[col], columns[col]
            is_off = here < 0 or here >= end
            hidden_by = np.float32(0) if is_off else nearest[np.uint32(here)]
            is_hidden = hidden_by - d > margin or (is_cut and (here < cols or here >= 2 * cols))
            if d > 0 and is_hidden:
                out[row, col] = 0


@kernel
def _match_pattern(
    lit: Singles, facing: Singles, noise: Singles, rule: Floats, matched: Singles, source: Indices
) -> None:
    """Write the disparity that structured light measures at each pixel, 0 for a hole, and the pixel it comes from.

    `rule`: size of a jump, sideways displacement at edges (px), half window width and height (px), least share of the
    window on one surface and its spread, cosine below which surfaces are lost and its spread, speckle threshold.
    """
    rows, cols = lit.shape
    jump, wander = np.float32(rule[0]), rule[1]
    half_x, half_y = max(int(rule[2] + 0.5), 1), max(int(rule[3] + 0.5), 1)
    least, least_spread, grazing, grazing_spread, speckle = rule[4], rule[5], rule[6], rule[7], rule[8]
    is_edge = np.empty(cols, dtype=np.bool_)
    padded = np.empty(cols + 2 * half_x, dtype=np.float32)
    for row in range(rows):
        line, above, below = lit[row], lit[max(row - half_y, 0)], lit[min(row + half_y, rows - 1)]
        padded[:half_x], padded[half_x + cols :] = line[0], line[cols - 1]
        padded[half_x : half_x + cols] = line
        # first all pixels as if there were no edges, without branches, so that the loop is vectorized
        for col in range(cols):
            d, blob = line[col], noise[1, row, col]
            is_edge[col] = (
                (abs(padded[col] - d) > jump)
                | (abs(padded[col + 2 * half_x] - d) > jump)
                | (abs(above[col] - d) > jump)
                | (abs(below[col] - d) > jump)
            )
            is_lost = (blob > speckle) | (not facing[row, col] > grazing + grazing_spread * blob)
            matched[row, col] = np.float32(0) if is_lost else d
            source[row, col] = row * cols + col
        for col in range(cols):
            if not is_edge[col]:
                continue
            # where the window straddles an edge, patches of it match something slightly to the side
            d, blob = line[col], noise[1, row, col]
            far_col = col - cols // 2 if col >= cols // 2 else col + cols - cols // 2  # independent noise
            aside_x = wander * min(max(blob, -MOST_STRAY), MOST_STRAY)
            aside_y = wander * min(max(noise[1, row, far_col], -MOST_STRAY), MOST_STRAY)
            at_row = min(max(row + math.floor(aside_y + 0.5), 0), rows - 1)
            at_col = min(max(col + math.floor(aside_x + 0.5), 0), cols - 1)
            if abs(lit[at_row, at_col] - d) > jump:
                d = lit[at_row, at_col]
            else:
                at_row, at_col = row, col
            matched[row, col] = 0
            if not d > 0 or blob > speckle or not facing[at_row, at_col] > grazing + grazing_spread * blob:
                continue
            n_same = 0
            for i in range(-1, 2):
                r = min(max(row + i * half_y, 0), rows - 1)
                for j in range(-2, 3):
                    c = min(max(col + j * half_x // 2, 0), cols - 1)
                    n_same += abs(lit[r, c] - d) <= jump
            if n_same >= (least + least_spread * blob) * (3 * 5):
                matched[row, col] = d
                source[row, col] = at_row * cols + at_col


@kernel
def _quantize(disparity: Singles, noise: Singles, law: Floats, out: Singles) -> None:
    """Write the depth in meters of noisy disparities quantized to 1 / levels px; 0 for holes.

    `law`: focal length times baseline, levels, and a, b, c of the standard deviation a + b (z - c)^2 in meters. This is
    the spread of the result: rounding causes part of it, and the noise supplies the rest.
    """
    rows, cols = disparity.shape
    focal_baseline, levels = np.float32(law[0]), np.float32(law[1])
    base, gain, center = np.float32(law[2]), np.float32(law[3]), np.float32(law[4])
    rounding = np.float32(1 / (12 * law[1] * law[1]))
    none, half, one = np.float32(0), np.float32(0.5), np.float32(1)
    per_metre = one / focal_baseline
    for row in range(rows):
        for col in range(cols):
            d = max(disparity[row, col], np.float32(1e-6))
            off = focal_baseline / d - center
            sigma = (base + gain * off * off) * d * d * per_metre  # of the disparity
            rest = np.sqrt(max(sigma * sigma - rounding, none))
            step = np.floor((d + rest * noise[row, col]) * levels + half)
            z = focal_baseline * levels / max(step, one)
            out[row, col] = z if disparity[row, col] > none and step > none else none


@kernel
def _raise_to(line: Singles, out: Singles) -> None:
    for i in range(out.size):
        out[i] = line[i] if line[i] > out[i] else out[i]


@kernel
def _dilate(image: Singles, reach: int, out: Singles) -> None:
    """Write the maximum over the square window that extends `reach` pixels to each side."""
    rows, cols = image.shape
    wide = image.copy()
    for row in range(rows):
        for k in range(1, min(reach, cols - 1) + 1):
            _raise_to(image[row, k:], wide[row, : cols - k])
            _raise_to(image[row, : cols - k], wide[row, k:])
    out[:] = wide
    for row in range(rows):
        for k in range(1, min(reach, rows - 1) + 1):
            if row >= k:
                _raise_to(wide[row - k], out[row])
            if row + k < rows:
                _raise_to(wide[row + k], out[row])


@kernel
def _hollow(here, before, after, limit):  # type: ignore[no-untyped-def]  # inlined: meters
    """Return how far a point lies behind the midpoint of two others of its surface, at most `limit`."""
    if not (before > 0 and after > 0) or abs(before - here) > 4 * limit or abs(after - here) > 4 * limit:
        return 0.0
    return min(max(here - 0.5 * (np.float64(before) + np.float64(after)), 0.0), limit)


@kernel
def _time_light(
    depth: Singles, facing: Singles, noise: Singles, seed: np.uint64, rule: Floats, out: Singles, source: Indices
) -> None:
    """Write the depth in meters that time of flight measures, 0 for a hole, and the pixel with the closest surface.

    `rule`: jump as a share of z; shares of edge pixels that mix, and that drop out; least amplitude and its spread;
    a, b of the standard deviation a + b z^2 / cos; multipath gain, its deepest hollow and its reach (m times fx).
    """
    rows, cols = depth.shape
    jump, mixed_share, dropped_share, reach_px = rule[0], rule[1], rule[2], rule[9]
    for row in range(rows):
        for col in range(cols):
            out[row, col] = 0
            here = np.int32(row * cols + col)
            source[row, col] = here
            z = np.float64(depth[row, col])
            if not NEAREST_M <= z <= FURTHEST_M:
                continue
            other, at = z, here
            if col and abs(depth[row, col - 1] - z) > abs(other - z):
                other, at = np.float64(depth[row, col - 1]), here - 1
            if col + 1 < cols and abs(depth[row, col + 1] - z) > abs(other - z):
                other, at = np.float64(depth[row, col + 1]), here + 1
            if row and abs(depth[row - 1, col] - z) > abs(other - z):
                other, at = np.float64(depth[row - 1, col]), here - cols
            if row + 1 < rows and abs(depth[row + 1, col] - z) > abs(other - z):
                other, at = np.float64(depth[row + 1, col]), here + cols
            is_edge = abs(other - z) > jump * z
            reach = int(reach_px / z)
            # light that is reflected by nearer surroundings arrives late
            late = 0.0
            if reach <= col < cols - reach:
                late = _hollow(z, depth[row, col - reach], depth[row, col + reach], rule[8])
            if reach <= row < rows - reach:
                late += _hollow(z, depth[row - reach, col], depth[row + reach, col], rule[8])
            z += rule[7] * late
            squared = z * z
            cos = min(max(np.float64(facing[row, col]), 0.02), 1.0)
            weakest = rule[3] + rule[4] * noise[1, row, col]
            if cos < weakest * squared:
                continue
            if is_edge:
                bits = mix(np.uint64(here) * GOLDEN ^ seed)  # two uniform numbers of this pixel's own
                chance = np.float64(bits & LOW_16) / 65536
                if chance < dropped_share:
                    continue
                if chance < dropped_share + mixed_share and NEAREST_M <= other <= FURTHEST_M:
                    # up to half the pixel sees past the edge; the nearer surface reflects more light
                    part = np.float64((bits >> SHIFT_16) & LOW_16) / 131072
                    mine, its = (1 - part) / squared, part / (other * other)
                    mixed = (mine * z + its * other) / (mine + its)
                    if abs(mixed - other) < abs(mixed - z):
                        source[row, col] = at
                    z = mixed
            out[row, col] = z + (rule[5] + rule[6] * squared / cos) * noise[0, row, col]


@kernel
def _fatten(
    disparity: Singles,
    largest: Singles,
    noise: Singles,
    growth_px: float,
    jump: float,
    out: Singles,
    source: Indices,
) -> None:
    """Write the closest pixel that is nearer by a jump and within the growth there, or else the pixel itself.

    The growth varies with the noise, up to twice `growth_px`; `largest` is the `_dilate` of `disparity` over that
    window.
    """
    rows, cols = disparity.shape
    for row in range(rows):
        for col in range(cols):
            out[row, col] = disparity[row, col]
            source[row, col] = row * cols + col
            least = disparity[row, col] + jump
            if not largest[row, col] > least:
                continue
            growth = min(growth_px * (1 + GROWTH_SPREAD * noise[row, col]), 2 * growth_px) + 0.5
            reach, closest = int(max(growth, 0.0)), int(max(growth, 0.0) ** 2) + 1  # the second squared
            for r in range(max(row - reach, 0), min(row + reach, rows - 1) + 1):
                for c in range(max(col - reach, 0), min(col + reach, cols - 1) + 1):
                    away = (r - row) * (r - row) + (c - col) * (c - col)
                    if away < closest and disparity[r, c] > least:
                        closest = away
                        out[row, col] = disparity[r, c]
                        source[row, col] = r * cols + c


@kernel
def _melt_edges(fat: Singles, fat_source: Indices, is_edge: Bools, reach: int, out: Singles, source: Indices) -> None:
    """Write at edges the mean over the window, and the source of the pixel in it that is closest to this mean."""
    rows, cols = fat.shape
    for row in range(rows):
        for col in range(cols):
            out[row, col] = fat[row, col]
            source[row, col] = fat_source[row, col]
            if not is_edge[row, col] or not fat[row, col] > 0:
                continue
            up, down, left, right = (
                max(row - reach, 0),
                min(row + reach, rows - 1),
                max(col - reach, 0),
                min(col + reach, cols - 1),
            )
            total, n = 0.0, 0
            for r in range(up, down + 1):
                for c in range(left, right + 1):
                    if fat[r, c] > 0:
                        total += fat[r, c]
                        n += 1
            mean = np.float32(total / n)
            out[row, col] = mean
            off = abs(mean - fat[row, col])
            for r in range(up, down + 1):
                for c in range(left, right + 1):
                    if fat[r, c] > 0 and abs(fat[r, c] - mean) < off:
                        off = abs(fat[r, c] - mean)
                        source[row, col] = fat_source[r, c]


@kernel
def _drop_flat(texture: Singles, noise: Singles, cell_px: float, rule: Floats, out: Singles) -> None:
    """Set `out` to 0 in speckles where a random texture (a coarse lattice, 0 to 1) is weak.

    `rule`: texture below which matching may fail, the noise above which it then does fail, and the noise above which
    it fails anywhere.
    """
    rows, cols = out.shape
    for row in range(rows):
        y = row / cell_px
        i = int(y)
        v = np.float32(y - i)
        for col in range(cols):
            blob = noise[row, col]
            if blob > rule[1]:
                x = col / cell_px
                j = int(x)
                u = np.float32(x - j)
                upper = texture[i, j] + u * (texture[i, j + 1] - texture[i, j])
                lower = texture[i + 1, j] + u * (texture[i + 1, j + 1] - texture[i + 1, j])
                if upper + v * (lower - upper) < rule[0] or blob > rule[2]:
                    out[row, col] = 0


@kernel
def _deliver(
    depth: Singles,
    source: Indices,
    span: Floats,
    parts: Bytes,
    people: Bytes,
    depth_mm: npt.NDArray[np.uint16],
    out_parts: Bytes,
    out_people: Bytes,
) -> None:
    """Write whole millimeters within the span (nearest, furthest; meters) and the labels of their sources, all flat."""
    near, far = np.float32(span[0]), np.float32(span[1])
    for i in range(depth.size):
        z = depth[i]
        # via int32, which has vector instructions
        depth_mm[i] = np.uint16(np.int32(np.float64(z) * 1000 + 0.5)) if near <= z <= far else np.uint16(0)
    for i in range(depth.size):
        at = np.uint32(source[i])  # unsigned indices avoid numba's test for negative ones
        is_read = depth_mm[i] > 0
        out_parts[i] = parts[at] if is_read else np.uint8(NO_PART)
        out_people[i] = people[at] if is_read else np.uint8(0)
