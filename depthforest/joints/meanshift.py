"""Weighted mean shift in camera space: density peaks of a part's pixels, and the surface area that leads to each.

A *cluster* is a group of parts whose probabilities are added. Its density at x is the sum over its pixels of
weight * exp(-(|x - pixel| / bandwidth)^2) with weight = probability * surface of the pixel, which is proportional to
depth^2: Shotton et al. 2011, section 3.3. Starts climb it step by step, `LANES` of them together, because sums over one
start's pixels don't vectorize without changing their order. Kernels check nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from depthforest.base import Singles, kernel

LANES = 16
"""Starts that climb together: two vectors of eight floats. (With one, LLVM unrolls the loop and does not vectorize.)"""

MAX_MODES = 5
"""Modes of a cluster that are kept: those with the most surface area."""

MODE_FIELDS = ("x", "y", "z", "area", "purity", "spread")
"""Fields of a mode: its position in meters; the weight of the pixels that reach it, in square meters; their mean
probability, weighted by surface; their root mean square distance from it before climbing, in meters."""

MAX_PAIRS = 2**26
"""Approximate limit of starts times pixels in a cluster: where a model's bandwidth would exceed it, starts are spaced
farther apart. People in pictures of usual sizes reach a hundredth of it. A step over this many takes a few hundredths
of a second."""

FARTHEST = np.float32(16)
"""Squared distance in bandwidths beyond which a pixel has weight exp(-16), a ten-millionth."""

Clusters = tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], Singles, Singles]


@kernel
def _falloff(u: np.float32) -> np.float32:
    """Return exp(-u) for 0 <= u, exp(-16) beyond, to two millionths: a series for exp(-u / 32), squared five times.

    The library's exp is a call that keeps the loop around it from vectorizing.
    """
    v = min(u, FARTHEST) * np.float32(-1 / 32)
    e = np.float32(1 / 6) + v * np.float32(1 / 24)
    e = np.float32(1 / 2) + v * e
    e = np.float32(1) + v * e
    e = np.float32(1) + v * e
    e *= e
    e *= e
    e *= e
    e *= e
    return e * e


@kernel
def _collect(
    points: Singles,
    areas: Singles,
    shares: Singles,
    members: npt.NDArray[np.int32],
    threshold: np.float32,
    own: Singles,
) -> int:
    """Fill the pixels of a cluster and return how many there are.

    `own` (5, n) is x, y, z, weight and surface area of each pixel with a probability above 0 and not below the
    threshold.
    """
    n = 0
    for i in range(len(points)):
        share = np.float32(0)
        for p in members:
            share += shares[i, p]
        if share < threshold or share <= 0:
            continue
        own[0, n], own[1, n], own[2, n] = points[i, 0], points[i, 1], points[i, 2]
        own[3, n] = share * areas[i]
        own[4, n] = areas[i]
        n += 1
    return n


@kernel
def _make_starts(own: Singles, n: int, radius: np.float32, starts: Singles) -> int:
    """Fill where to start and return how many starts there are.

    Pixels are processed in order; each joins the nearest leader within the radius, or becomes a leader. A start is the
    weighted mean of a leader's pixels. With radius 0, every pixel is a start. `starts` (9, n) is x, y, z, weight and
    surface of a start, the weighted sum of its pixels' squared distances from the leader, and x, y, z of the leader.
    Returns -1 where there would be more starts than `MAX_PAIRS` allows.
    """
    starts[:6, :n] = 0
    n_starts = 0
    for i in range(n):
        x, y, z, weight = own[0, i], own[1, i], own[2, i], own[3, i]
        best, nearest = -1, radius * radius
        if radius > 0:
            for s in range(n_starts):
                dx, dy, dz = x - starts[6, s], y - starts[7, s], z - starts[8, s]
                d2 = dx * dx + dy * dy + dz * dz
                if d2 <= nearest:
                    best, nearest = s, d2
        if best < 0:
            if n_starts * n > MAX_PAIRS:
                return -1
            best = n_starts
            n_starts += 1
            starts[6, best], starts[7, best], starts[8, best] = x, y, z
        dx, dy, dz = x - starts[6, best], y - starts[7, best], z - starts[8, best]
        starts[0, best] += weight * dx
        starts[1, best] += weight * dy
        starts[2, best] += weight * dz
        starts[3, best] += weight
        starts[4, best] += own[4, i]
        starts[5, best] += weight * (dx * dx + dy * dy + dz * dz)
    for s in range(n_starts):
        for axis in range(3):
            starts[axis, s] = starts[6 + axis, s] + starts[axis, s] / starts[3, s]
    return n_starts


@kernel
def _step(own: Singles, n: int, scale: np.float32, lanes: Singles, sums: Singles) -> None:
    """Fill `sums` (4, LANES): the weighted sums of x, y, z around each lane's place, and the density there."""
    # separate rows and unsigned indices: LLVM needs both to see that lanes are independent
    lane_x, lane_y, lane_z = lanes[0], lanes[1], lanes[2]
    sum_x, sum_y, sum_z, density = sums[0], sums[1], sums[2], sums[3]
    sums[:] = 0
    for i in range(n):
        x, y, z, weight = own[0, i], own[1, i], own[2, i], own[3, i]
        for lane in range(np.uint64(LANES)):
            dx, dy, dz = lane_x[lane] - x, lane_y[lane] - y, lane_z[lane] - z
            pull = weight * _falloff((dx * dx + dy * dy + dz * dz) * scale)
            sum_x[lane] += pull * x
            sum_y[lane] += pull * y
            sum_z[lane] += pull * z
            density[lane] += pull


@kernel
def _climb(
    own: Singles, n: int, bandwidth: np.float32, tolerance: np.float32, max_steps: int, starts: Singles, n_starts: int,
    lanes: Singles, sums: Singles, ends: Singles,
) -> None:  # fmt: skip
    """Fill `ends` (4, n_starts): where each start's climb ends, and the density one step before.

    A block of lanes climbs until none moves by more than `tolerance`, at most `max_steps` times.
    """
    scale = np.float32(1) / (bandwidth * bandwidth)
    for first in range(0, n_starts, LANES):
        for lane in range(LANES):
            s = min(first + lane, n_starts - 1)
            for axis in range(3):
                lanes[axis, lane] = starts[axis, s]
        for _ in range(max_steps):
            _step(own, n, scale, lanes, sums)
            farthest = np.float32(0)
            for lane in range(LANES):
                moved = np.float32(0)
                for axis in range(3):
                    place = sums[axis, lane] / sums[3, lane]
                    moved += (place - lanes[axis, lane]) ** 2
                    lanes[axis, lane] = place
                farthest = max(farthest, moved)
            if farthest <= tolerance * tolerance:
                break
        for lane in range(min(LANES, n_starts - first)):
            for axis in range(3):
                ends[axis, first + lane] = lanes[axis, lane]
            ends[3, first + lane] = sums[3, lane]


@kernel
def _merge(
    starts: Singles, ends: Singles, n_starts: int, radius: np.float32, owner: npt.NDArray[np.int64], found: Singles
) -> int:
    """Merge ends into modes and return how many there are.

    The densest free end becomes a mode and takes all free ends within the radius. `found` (n_modes, MODE_FIELDS);
    `owner` (n_starts,) is scratch.
    """
    owner[:n_starts] = -1
    n_modes = 0
    while True:
        best = -1
        for s in range(n_starts):
            if owner[s] < 0 and (best < 0 or ends[3, s] > ends[3, best]):
                best = s
        if best < 0:
            return n_modes
        x, y, z = ends[0, best], ends[1, best], ends[2, best]
        weight, area, scatter = np.float32(0), np.float32(0), np.float32(0)
        for s in range(n_starts):
            dx, dy, dz = ends[0, s] - x, ends[1, s] - y, ends[2, s] - z
            if s != best and (owner[s] >= 0 or dx * dx + dy * dy + dz * dz > radius * radius):
                continue
            owner[s] = n_modes
            weight += starts[3, s]
            area += starts[4, s]
            scatter += starts[5, s]
            for axis in range(3):  # moved from the leader to the mode
                off = starts[6 + axis, s] - ends[axis, best]
                scatter += starts[3, s] * off * (np.float32(2) * (starts[axis, s] - starts[6 + axis, s]) + off)
        found[n_modes, 0], found[n_modes, 1], found[n_modes, 2] = x, y, z
        found[n_modes, 3] = weight
        found[n_modes, 4] = weight / area
        found[n_modes, 5] = np.sqrt(max(np.float32(0), scatter) / weight)
        n_modes += 1


@kernel
def _keep_largest(found: Singles, n_found: int, modes: Any) -> int:
    """Fill the modes with the largest areas, largest first, the earlier first among equals; return how many."""
    n = min(n_found, len(modes))
    for k in range(n):
        best = 0
        for i in range(n_found):
            if found[i, 3] > found[best, 3]:
                best = i
        modes[k] = found[best]
        found[best, 3] = -1
    return n


@kernel
def find_modes(
    points: Singles,
    areas: Singles,
    shares: Singles,
    clusters: Clusters,
    spacing: np.float32,
    tolerance: np.float32,
    max_steps: int,
    modes: Singles,
    n_modes: npt.NDArray[np.int64],
) -> None:
    """Fill the modes of every cluster.

    Parameters
    ----------
    points : array (n, 3), float32
        Pixels in camera space, meters.
    areas : array (n,), float32
        Surface area that each pixel stands for, in square meters.
    shares : array (n, n_parts), float32
        Probabilities of parts.
    clusters : (firsts, members, bandwidths, thresholds)
        Parts `members[firsts[c] : firsts[c + 1]]` are cluster c; bandwidths in meters; thresholds of probability.
    spacing : float32
        Distance between starts in bandwidths; 0: every pixel is a start.
    tolerance : float32
        Meters; climbs end when no start moves farther.
    max_steps : int
        The most steps of a climb.
    modes : array (n_clusters, MAX_MODES, len(MODE_FIELDS)), float32
        Largest area first.
    n_modes : array (n_clusters,), int64
    """
    firsts, members, bandwidths, thresholds = clusters
    n = len(points)
    own, starts = np.empty((5, n), dtype=np.float32), np.empty((9, n), dtype=np.float32)
    ends, found = np.empty((4, n), dtype=np.float32), np.empty((n, len(MODE_FIELDS)), dtype=np.float32)
    lanes, sums = np.empty((3, LANES), dtype=np.float32), np.empty((4, LANES), dtype=np.float32)
    owner = np.empty(n, dtype=np.int64)
    for c in range(len(bandwidths)):
        n_own = _collect(points, areas, shares, members[firsts[c] : firsts[c + 1]], thresholds[c], own)
        apart = np.float32(spacing * bandwidths[c])
        n_starts = _make_starts(own, n_own, apart, starts)
        while n_starts < 0:
            apart = max(np.float32(2) * apart, bandwidths[c])
            n_starts = _make_starts(own, n_own, apart, starts)
        _climb(own, n_own, bandwidths[c], tolerance, max_steps, starts, n_starts, lanes, sums, ends)
        n_found = _merge(starts, ends, n_starts, bandwidths[c], owner, found)
        n_modes[c] = _keep_largest(found, n_found, modes[c])
