"""Slow, obvious twins of the fast routines; tests compare both."""

from __future__ import annotations

import numpy as np


def project(camera, points):
    """Return (row, col) of each of (n, 3) points, one at a time."""
    pixels = []
    for x, y, z in points:
        if z > 0:
            pixels.append((camera.fy * y / z + camera.cy, camera.fx * x / z + camera.cx))
        else:
            pixels.append((np.nan, np.nan))
    return np.array(pixels).reshape(-1, 2)


def unproject_frame(camera, depth_mm):
    """Return the point of every pixel, one at a time."""
    points = np.full((*depth_mm.shape, 3), np.nan)
    for row in range(depth_mm.shape[0]):
        for col in range(depth_mm.shape[1]):
            z = depth_mm[row, col] / 1000
            if z > 0:
                points[row, col] = (col - camera.cx) * z / camera.fx, (row - camera.cy) * z / camera.fy, z
    return points


def undistort(camera, image, fill):
    """Return the picture of an ideal lens: each pixel looks up where the real lens put it (OpenCV's model)."""
    k1, k2, p1, p2, k3, k4, k5, k6 = (*camera.distortion, 0, 0, 0, 0)[:8]
    ideal = np.full_like(image, fill)
    for row in range(camera.height):
        for col in range(camera.width):
            x, y = (col - camera.cx) / camera.fx, (row - camera.cy) / camera.fy
            r2 = x * x + y * y
            radial = (1 + r2 * (k1 + r2 * (k2 + r2 * k3))) / (1 + r2 * (k4 + r2 * (k5 + r2 * k6)))
            u = x * radial + 2 * p1 * x * y + p2 * (r2 + 2 * x * x)
            v = y * radial + p1 * (r2 + 2 * y * y) + 2 * p2 * x * y
            source_col, source_row = round(u * camera.fx + camera.cx), round(v * camera.fy + camera.cy)
            if 0 <= source_row < camera.height and 0 <= source_col < camera.width:
                ideal[row, col] = image[source_row, source_col]
    return ideal


def lzf_decompress(packed):
    """Unpack LZF with slices of a growing list."""
    unpacked = bytearray()
    i = 0
    while i < len(packed):
        control = packed[i]
        i += 1
        if control < 32:
            unpacked += packed[i : i + control + 1]
            i += control + 1
            continue
        n = control >> 5
        if n == 7:
            n += packed[i]
            i += 1
        start = len(unpacked) - ((control & 31) << 8 | packed[i]) - 1
        i += 1
        for k in range(n + 2):
            unpacked.append(unpacked[start + k])
    return bytes(unpacked)


def lzf_compress(content):
    """Pack bytes as LZF: greedy, with the longest earlier match of each position."""
    packed, literals = bytearray(), bytearray()

    def flush():
        for start in range(0, len(literals), 32):
            run = literals[start : start + 32]
            packed.append(len(run) - 1)
            packed.extend(run)
        literals.clear()

    i = 0
    while i < len(content):
        best, offset = 0, 0
        for start in range(max(0, i - 8191), i):
            n = 0
            while n < 264 and i + n < len(content) and content[start + n] == content[i + n]:
                n += 1
            if n > best:
                best, offset = n, i - start - 1
        if best < 3:
            literals.append(content[i])
            i += 1
            continue
        flush()
        if best - 2 < 7:
            packed.append((best - 2) << 5 | offset >> 8)
        else:
            packed.extend((7 << 5 | offset >> 8, best - 2 - 7))
        packed.append(offset & 255)
        i += best
    flush()
    return bytes(packed)


def ray_sphere(ray, center, radius):
    """Return z of the first point on a ray inside a sphere, by stepping and bisection; inf if there is none."""

    def is_inside(z):
        return sum((z * r - c) ** 2 for r, c in zip(ray, center, strict=True)) < radius**2

    z = 0.0
    while z < 10:
        z += 0.002
        if is_inside(z):
            low, high = z - 0.002, z
            for _ in range(60):
                middle = (low + high) / 2
                low, high = (low, middle) if is_inside(middle) else (middle, high)
            return high
    return np.inf
