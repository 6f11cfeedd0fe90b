"""Assembling: shapes moved, rotated, scaled, and joined at random into abstract objects.

`items` and `things` are made with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from synth.scene.furniture import between
from synth.scene.shapes import BALL, BOX, LATHE, Rows, Shape, bounds, rows_of

Thing = list[Shape]
Draw = Callable[[np.random.Generator], Thing]

STANDING = (0.25, 1.9)
ON_TABLE = (0.08, 0.45)
"""Meters: ranges of heights of random assemblies on the floor and on tables."""


def moved(shapes: Rows, x: float, y: float, z: float, *, scale: float = 1.0) -> Thing:
    """Return shapes, scaled about their origin and then moved."""
    return [
        s._replace(
            x=scale * s.x + x, y=scale * s.y + y, z=scale * s.z + z, half_x=scale * s.half_x,
            half_y=scale * s.half_y, half_z=scale * s.half_z, bend=scale * s.bend, arch=scale * s.arch,
        )
        for s in shapes
    ]  # fmt: skip


def turned(shapes: Rows, yaw: float) -> Thing:
    """Return shapes rotated about the vertical axis."""
    cos, sin = math.cos(yaw), math.sin(yaw)
    return [s._replace(x=cos * s.x + sin * s.z, z=cos * s.z - sin * s.x, yaw=s.yaw + yaw) for s in shapes]


def random_shape(rng: np.random.Generator) -> Shape:
    """Draw a random solid, about a meter large, around the origin."""
    kind = (BOX, LATHE, LATHE, BALL)[int(rng.integers(4))]
    half_x, half_y, half_z = np.exp(rng.normal(-1.1, 0.55, 3)).tolist()
    wild, tilt = rng.random(9).tolist(), rng.normal(0.0, 0.25, 2).tolist()
    return Shape(
        kind, 0.0, 0.0, 0.0, half_x, half_y, half_z, yaw=6.3 * wild[0], pitch=tilt[0], roll=tilt[1],
        bottom=0.4 + 0.6 * wild[1], top=0.3 + 0.7 * wild[2], bulge=0.9 * wild[3] - 0.3,
        wave=max(0.5 * wild[4] - 0.25, 0),
        n_waves=1 + 2 * wild[5], square=max(2 * wild[6] - 1, 0), arch=0.3 * max(wild[7] - 0.6, 0), phase=6.3 * wild[8],
        rings=6.0, segments=10.0,
    )  # fmt: skip


def fitted(shapes: Rows, height: float, *, most_width: float = 1.2) -> Thing:
    """Return shapes scaled to a height, unless they get too wide, and placed on the floor."""
    around = bounds(rows_of(shapes))
    low, high = (around[:, 0] - around[:, 1]).min(axis=0), (around[:, 0] + around[:, 1]).max(axis=0)
    wide_x, tall, wide_z = (high - low).tolist()
    scale = min(height / tall, most_width / max(wide_x, wide_z))
    middle = (low + high) / 2
    return moved(shapes, -scale * middle[0], -scale * low[1], -scale * middle[2], scale=scale)


def assembly(rng: np.random.Generator, heights: tuple[float, float] = STANDING) -> Thing:
    """Draw an abstract object: solids joined at random, each on a side of an earlier one."""
    shapes = [random_shape(rng)]
    for _ in range(int(rng.integers(1, 7))):
        onto, new = shapes[int(rng.integers(len(shapes)))], random_shape(rng)
        size, (u, v, w) = math.exp(rng.normal(-0.4, 0.5)), rng.normal(0.0, 0.7, 3).tolist()
        shapes += moved(
            [new], onto.x + u * onto.half_x, onto.y + abs(v) * onto.half_y, onto.z + w * onto.half_z, scale=size
        )
    return fitted(shapes, between(rng, *heights))
