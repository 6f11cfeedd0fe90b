"""Hanging things: coats, curtains, windows and doors on walls, beams and lamps under ceilings.

Wall pieces have the wall at z = 0, the floor at y = 0 and their front toward +z. Ceiling pieces have the ceiling
at y = 0. `things` has the standing ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from synth.scene.furniture import between
from synth.scene.shapes import BALL, LATHE, SHEET, Shape, box, tube

Draw = Callable[[np.random.Generator], list[Shape]]


def coat(rng: np.random.Generator) -> list[Shape]:
    """Draw a coat, jacket or dress that hangs from the origin: shoulders, folds, perhaps sleeves and a hood."""
    long, wide, deep = between(rng, 0.5, 1.3), between(rng, 0.14, 0.27), between(rng, 0.06, 0.13)
    phase, n_folds = 6.3 * rng.random(), float(rng.integers(3, 8))
    yaw = rng.normal(0.0, 0.3)
    trunk = Shape(
        LATHE, 0, -long / 2, 0, wide, long / 2, deep, yaw=yaw, bottom=between(rng, 0.7, 1.3), top=between(rng, 0.15,
        0.5),
        bulge=between(rng, 0.0, 0.5), fold=between(rng, 0.08, 0.3), n_folds=n_folds, phase=phase, rings=7.0,
        segments=22.0,
    )  # fmt: skip
    shapes = [trunk]
    if rng.random() < 0.75:
        for side in (-1, 1):
            start = (side * 0.75 * wide * math.cos(yaw), -0.14, -side * 0.75 * wide * math.sin(yaw))
            reach, out = between(rng, 0.4, 0.65), rng.normal(0.03, 0.05)
            end = (start[0] + side * out, start[1] - min(reach, 0.95 * long), start[2] + between(rng, -0.02, 0.06))
            sleeve = tube(start, end, between(rng, 0.04, 0.07), top=between(rng, 0.6, 1.0), arch=rng.normal(0, 0.03))
            shapes.append(sleeve._replace(rings=6.0, fold=0.15, n_folds=3.0, phase=phase))
    if rng.random() < 0.4:
        shapes.append(Shape(BALL, 0, -0.06, 0.03, 0.11, 0.13, 0.1, fold=0.15, n_folds=4.0, phase=phase))
    return shapes


def drape(rng: np.random.Generator, half_x: float) -> list[Shape]:
    """Draw a jacket or towel hung over an edge of half width `half_x` at the origin: front, back and sleeves."""
    long, wide = between(rng, 0.3, 0.7), half_x * between(rng, 0.8, 1.25)
    phase = 6.3 * rng.random()
    cloth = Shape(
        LATHE, 0, -long / 2 + 0.03, 0, wide, long / 2, between(rng, 0.05, 0.1), bottom=between(rng, 0.9, 1.2),
        top=between(rng, 0.6, 0.95), bulge=between(rng, 0.0, 0.25), fold=between(rng, 0.05, 0.2),
        n_folds=float(rng.integers(3, 8)), phase=phase, square=between(rng, 0.0, 0.5), rings=6.0, segments=20.0,
    )  # fmt: skip
    shapes = [cloth]
    for side in (-1, 1):
        if rng.random() < 0.6:
            end = (side * (wide + between(rng, 0.0, 0.08)), -between(rng, 0.3, 0.55), between(rng, -0.05, 0.08))
            shapes.append(
                tube((side * 0.9 * wide, 0.0, 0.0), end, between(rng, 0.04, 0.065))._replace(
                    rings=5.0, fold=0.15, n_folds=3.0
                )
            )
    return shapes


def coats(rng: np.random.Generator) -> list[Shape]:
    """Draw a board with hooks and clothes on it."""
    shapes, n = [], int(rng.integers(1, 5))
    height, gap = between(rng, 1.35, 1.85), between(rng, 0.22, 0.4)
    shapes.append(box(0, height, 0.01, gap * n / 2, 0.05, 0.01))
    for k in range(n):
        if rng.random() < 0.8:
            x, drop = (k - (n - 1) / 2) * gap, rng.normal(0.0, 0.02)
            shapes += [s._replace(x=s.x + x, y=s.y + height + drop, z=s.z + 0.13) for s in coat(rng)]
    return [s for s in shapes if s.y - s.half_y > 0.02]


def curtain(rng: np.random.Generator) -> list[Shape]:
    """Draw one or two curtains with folds on a rail, reaching the floor or not, possibly tied back."""
    top, low = between(rng, 1.9, 2.6), between(rng, 0.02, 0.9)
    half, wide, n = (top - low) / 2, between(rng, 0.2, 0.9), int(rng.integers(1, 3))
    shapes = [tube((-wide * n - 0.1, top + 0.03, 0.12), (wide * n + 0.1, top + 0.03, 0.12), 0.015)]
    for k in range(n):
        x = (2 * k - n + 1) * wide
        shapes.append(
            Shape(
                SHEET, x, top - half, 0.12, wide * between(rng, 0.6, 1.0), half, between(rng, 0.03, 0.09),
                bottom=between(rng, 0.6, 1.1), bulge=-between(rng, 0.0, 0.6) if rng.random() < 0.4 else 0.0,
                n_folds=float(rng.integers(3, 9)), phase=6.3 * rng.random(), fold=0.02, rings=6.0, segments=36.0,
            )
        )  # fmt: skip
    return shapes


def window(rng: np.random.Generator) -> list[Shape]:
    """Draw a window with its frame, possibly with a sill with things on it, or curtains; panes give no readings."""
    half_x, half_y = between(rng, 0.3, 1.0), between(rng, 0.3, 0.8)
    y = max(between(rng, 1.1, 1.7), half_y + 0.1)
    shapes = [box(0, y, 0.01, half_x, half_y, 0.008, lost=1.0)]
    bar = between(rng, 0.02, 0.05)
    shapes += [box(s * half_x, y, 0.02, bar, half_y + bar, 0.02) for s in (-1, 1)]
    shapes += [box(0, y + s * half_y, 0.02, half_x, bar, 0.02) for s in (-1, 1)]
    for k in range(int(rng.integers(0, 3))):
        shapes.append(box(half_x * (2 * (k + 1) / 3 - 1), y, 0.02, 0.6 * bar, half_y, 0.015))
    if rng.random() < 0.5:
        shapes.append(box(0, y - half_y - 0.02, 0.1, half_x + 0.05, 0.015, 0.1))
    if rng.random() < 0.5:
        shapes += curtain(rng)
    return shapes


def door(rng: np.random.Generator) -> list[Shape]:
    """Draw a door frame with its door, closed, ajar or open, or with the darkness of the next room."""
    half, top, deep = between(rng, 0.38, 0.5), between(rng, 1.95, 2.15), between(rng, 0.02, 0.08)
    shapes = [box(s * half, top / 2, deep, 0.05, top / 2, deep) for s in (-1, 1)]
    shapes.append(box(0, top, deep, half + 0.05, 0.05, deep))
    if rng.random() < 0.3:
        shapes.append(box(0, top / 2, 0.008, half, top / 2, 0.006, lost=1.0))
        return shapes
    angle = between(rng, 0.0, 1.7) if rng.random() < 0.6 else 0.0
    leaf = half - 0.04
    shapes.append(
        box(-leaf + leaf * math.cos(angle), top / 2, 0.03 + leaf * math.sin(angle), leaf, top / 2, 0.02, yaw=-angle)
    )
    return shapes


def board(rng: np.random.Generator) -> list[Shape]:
    """Draw a picture, a clock, a blackboard or a black screen on the wall."""
    half_x, half_y, y = between(rng, 0.1, 0.7), between(rng, 0.1, 0.45), between(rng, 1.2, 1.9)
    is_screen = float(rng.random() < 0.4)
    if rng.random() < 0.2:
        return [Shape(LATHE, 0, y, 0.03, half_y, 0.03, half_y, pitch=math.pi / 2, rings=2.0, segments=16.0)]
    shapes = [box(0, y, 0.03, half_x, half_y, 0.025)]
    if is_screen:
        shapes.append(box(0, y, 0.058, half_x - 0.02, half_y - 0.02, 0.003, lost=1.0))
    return shapes


def cupboard(rng: np.random.Generator) -> list[Shape]:
    """Draw wall cupboards, as above a kitchen counter, with a range hood."""
    n = int(rng.integers(1, 4))
    wide, half_y, deep, y = (
        between(rng, 0.2, 0.4),
        between(rng, 0.25, 0.4),
        between(rng, 0.14, 0.2),
        between(rng, 1.6, 1.9),
    )
    shapes = [
        box((2 * k - n + 1) * wide, y, deep, wide - 0.01, half_y * between(rng, 0.8, 1.0), deep) for k in range(n)
    ]
    if rng.random() < 0.4:
        shapes.append(Shape(LATHE, (n + 1) * wide, y, deep, 0.3, half_y, deep, square=1.0, top=0.4, rings=3.0))
    return shapes


def radiator(rng: np.random.Generator) -> list[Shape]:
    """Draw a radiator of ribs or pipes along the wall."""
    n, step, half_y = int(rng.integers(5, 14)), between(rng, 0.05, 0.09), between(rng, 0.2, 0.45)
    y, square = between(rng, 0.1, 0.2) + half_y, between(rng, 0.0, 1.0)
    return [
        Shape(
            LATHE, (k - (n - 1) / 2) * step, y, 0.09, 0.4 * step, half_y, 0.05, square=square, rings=2.0, segments=8.0
        )
        for k in range(n)
    ]


def pipes(rng: np.random.Generator) -> list[Shape]:
    """Draw pipes or cables from floor to ceiling, or along the wall."""
    shapes = []
    for _ in range(int(rng.integers(1, 4))):
        radius, at = between(rng, 0.01, 0.07), rng.normal(0.0, 0.25)
        if rng.random() < 0.7:
            shapes.append(tube((at, 0.0, 0.1), (at + rng.normal(0, 0.1), 2.4, 0.1), radius, arch=rng.normal(0, 0.05)))
        else:
            y = between(rng, 0.3, 2.2)
            shapes.append(tube((at - 0.8, y, 0.1), (at + 0.8, y + rng.normal(0, 0.1), 0.1), radius))
    return shapes


def recess(rng: np.random.Generator) -> list[Shape]:
    """Draw a projection of the wall: a chimney, a shaft, half a pillar."""
    half, deep = between(rng, 0.1, 0.5), between(rng, 0.05, 0.35)
    return [Shape(LATHE, 0, 1.7, deep / 2, half, 1.7, deep, square=float(rng.random() < 0.7), rings=2.0, segments=16.0)]


WALL_HANGINGS: tuple[Draw, ...] = (
    coats, coats, coats, curtain, curtain, window, window, door, door, board, board, cupboard, radiator, pipes, recess,
)  # fmt: skip
"""Things on walls, in proportion to how often each is listed."""


def beam(rng: np.random.Generator) -> list[Shape]:
    """Draw one to three beams or ducts under the ceiling."""
    half, deep, gap = between(rng, 0.04, 0.2), between(rng, 0.05, 0.2), between(rng, 0.6, 1.4)
    n, is_duct = int(rng.integers(1, 4)), rng.random() < 0.25
    if is_duct:
        return [tube((-4.0, -deep, 0.0), (4.0, -deep, 0.0), deep)._replace(segments=12.0)]
    return [box(0, -deep, (k - (n - 1) / 2) * gap, 4.0, deep, half) for k in range(n)]


def hanging_lamp(rng: np.random.Generator) -> list[Shape]:
    """Draw a lamp on a cord."""
    drop, wide = between(rng, 0.2, 1.0), between(rng, 0.08, 0.35)
    kind, high = (BALL, LATHE)[int(rng.integers(2))], between(rng, 0.06, 0.2)
    shade = Shape(
        kind,
        0,
        -drop,
        0,
        wide,
        high,
        wide,
        top=between(rng, 0.1, 1.0),
        bulge=between(rng, 0, 0.4),
        lost=float(rng.random() < 0.2),
    )
    return [tube((0, -drop, 0), (0, 0, 0), 0.008), shade]


def ceiling_light(rng: np.random.Generator) -> list[Shape]:
    """Draw a flat lamp or a row of tubes; the lit part gives no readings."""
    half_x, half_z = between(rng, 0.1, 0.7), between(rng, 0.06, 0.3)
    lost = float(rng.random() < 0.6)
    if rng.random() < 0.3:
        return [Shape(BALL, 0, -0.04, 0, half_z, 0.07, half_z, lost=lost)]
    return [box(0, -0.04, 0, half_x, 0.035, half_z, lost=lost)]


CEILING_HANGINGS: tuple[Draw, ...] = (beam, hanging_lamp, hanging_lamp, ceiling_light, ceiling_light)
"""Things under ceilings, in proportion to how often each is listed."""
