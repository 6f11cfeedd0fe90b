"""Slow, obvious twins of how people and planes are found; tests compare both."""

from __future__ import annotations

import numpy as np

from depthforest.people import background, planes, regions, room
from depthforest.people import grid as depthgrid


def noise_at(z):
    return depthgrid.NOISE_BASE + depthgrid.NOISE_GAIN * max(z - depthgrid.NOISE_CENTER, 0) ** 2


def gather(depth_mm, step, camera):
    """Return the mean point (3, rows, cols) of the nearest surface of every block of pixels, and its square meters."""
    n_rows, n_cols = -(-depth_mm.shape[0] // step), -(-depth_mm.shape[1] // step)
    points, area = np.zeros((3, n_rows, n_cols)), np.zeros((n_rows, n_cols))
    for row in range(n_rows):
        for col in range(n_cols):
            block = depth_mm[row * step : (row + 1) * step, col * step : (col + 1) * step].astype(int)
            if not block.any():
                continue
            nearest = block[block > 0].min()
            limit = nearest + int(1000 * (0.02 + 3 * noise_at(nearest / 1000)))
            on = np.argwhere((block > 0) & (block <= limit))
            z = block[on[:, 0], on[:, 1]] / 1000
            pixels = on + (row * step, col * step)
            points[:, row, col] = camera.unproject(pixels, z).mean(axis=0)
            area[row, col] = len(on) * z.mean() ** 2 / (camera.fx * camera.fy)
    return points, area


def assign_planes(points, normals, table):
    """Return the plane of every cell, -1 none, -2 no reading."""
    owner = np.full(points.shape[1:], -2)
    for row, col in np.ndindex(*owner.shape):
        point, normal = points[:, row, col].astype(float), normals[:, row, col].astype(float)
        if point[2] == 0:
            continue
        owner[row, col], best = -1, 1.0
        for k, (a, b, c, offset, is_room) in enumerate(table.astype(float)):
            height = np.dot((a, b, c), point[:3]) + offset
            share = height / (planes.TOLERANCE + 3 * point[3] / point[2] * offset)
            if not is_room:
                share = abs(share)
                angle = min(planes.ALIKE + planes.NOISE_TILT * point[3] / point[2], 1)
                if np.dot((a, b, c), normal) < np.cos(angle):
                    continue
            if share < best:
                owner[row, col], best = k, share
    return owner


def label_regions(points, taken, spacing, kinds):
    """Return the region of every cell, numbered in reading order: growing sets until nothing is added."""
    n_rows, n_cols = taken.shape
    labels, is_free = np.full(taken.shape, -1), (taken == 0) & (points[2] > 0)
    n = 0
    for start in np.ndindex(n_rows, n_cols):
        if not is_free[start] or labels[start] >= 0:
            continue
        region, edge = {start}, {start}
        while edge:
            added = set()
            for row, col in edge:
                for r, c in np.ndindex(3, 3):
                    other = row + r - 1, col + c - 1
                    if not (0 <= other[0] < n_rows and 0 <= other[1] < n_cols) or other in region:
                        continue
                    z = min(points[2, row, col], points[2][other])
                    jump = (
                        regions.JUMP
                        + regions.JUMP_SPACINGS * spacing * z
                        + regions.JUMP_NOISES * min(points[3, row, col], points[3][other])
                    )
                    gap = np.linalg.norm(points[:3, row, col].astype(float) - points[(slice(3), *other)])
                    if is_free[other] and kinds[other] == kinds[row, col] and gap < jump:
                        added.add(other)
            region |= added
            edge = added
        for cell in region:
            labels[cell] = n
        n += 1
    return labels


def compare(depth_mm, limits, is_edge, depth, variance, reach):
    """Return what every pixel shows: nobody where something near an edge of the background is as deep."""
    compared = ((depth_mm < limits[0]).astype(int) + (depth_mm < limits[1])) * (depth_mm > 0)
    margin = background.LEAST_MM + background.STRONG_NOISES * np.sqrt(variance)
    for row, col in np.argwhere((compared > 0) & (is_edge > 0)):
        near = slice(max(row - reach, 0), row + reach + 1), slice(max(col - reach, 0), col + reach + 1)
        if (np.abs(depth[near] - np.float32(depth_mm[row, col])) < margin[near]).any():
            compared[row, col] = background.NOBODY
    return compared


def hide_people(depth_mm, people, near, away, held):
    """Return the steps since each pixel was a person's, where people were, and what may be learned."""
    reading = depth_mm.astype(int)
    is_near = (people > 0) | ((near > 0) & (reading <= near.astype(int) + room.SURFACE_MM))
    is_behind = reading > held.astype(int) + room.SURFACE_MM
    steps = np.minimum(away.astype(int) + 1, 255)
    steps = np.where(is_behind, np.maximum(steps, room.AWAY_STEPS - room.LASTING_STEPS), steps)
    steps[is_near] = 0
    return steps, np.where(people > 0, depth_mm, held), np.where(steps > room.AWAY_STEPS, depth_mm, 0)


def _is_before(learned, depth_mm):
    tolerance = background.LEAST_MM + background.STRONG_NOISES * np.sqrt(learned._variance)
    return depth_mm < learned._depth - tolerance


def survey(learned, depth_mm, people, since):
    """Return the counts of `Survey`, for a room that looks at every pixel."""
    reading = depth_mm.astype(np.float32)
    noise = 1000 * learned.noise * np.array([[noise_at(z) for z in row] for row in reading / 1000], np.float32)
    margin = background.LEAST_MM + background.STRONG_NOISES * noise
    is_any, is_known = (people > 0) & (depth_mm > 0), learned._depth > 0
    is_before = is_known & _is_before(learned, depth_mm)
    chosen = {
        "n": is_any,
        "before": is_before,
        "room": is_known & ~is_before,
        "revealed": ~is_known & (learned._held > 0) & (reading > learned._held + margin),
        "changed": learned._changed > since[people],
        "unusual": (learned._usual > 0) & (np.abs(reading - learned._usual) > margin),
    }
    return {name: np.bincount(people[is_any & mask], minlength=256) for name, mask in chosen.items()}
