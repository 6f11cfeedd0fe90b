"""Things that stand on floors, built from the shapes of `shapes`; tables and shelves have `items` on them.

Each is a list of shapes in its own axes: y up from the floor, its front toward +z. `hangings` has the things on walls
and ceilings, and the cloth; `inventory` keeps those that were drawn.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from synth.scene.assembling import ON_TABLE, Draw, Thing, assembly, moved, turned
from synth.scene.furniture import between
from synth.scene.hangings import coat, drape
from synth.scene.items import bag, load, plant
from synth.scene.shapes import BALL, LATHE, Shape, box, tube


def floor_lamp(rng: np.random.Generator) -> Thing:
    """Draw a lamp on a pole, straight or in an arc, with a shade."""
    tall, out = between(rng, 1.1, 1.9), between(rng, 0.0, 0.6) if rng.random() < 0.4 else 0.0
    wide, high = between(rng, 0.08, 0.28), between(rng, 0.08, 0.3)
    foot = between(rng, 0.1, 0.18)
    pole = Shape(LATHE, 0, tall / 2, 0, 0.014, tall / 2, 0.014, bend=out, rings=8.0, segments=6.0)
    shade = Shape(LATHE, out, tall, 0, wide, high / 2, wide, top=between(rng, 0.3, 1.0), bulge=between(rng, -0.1, 0.3))
    return [Shape(LATHE, 0, 0.015, 0, foot, 0.015, foot, rings=2.0), pole, shade]


def office_chair(rng: np.random.Generator) -> Thing:
    """Draw a swivel chair, possibly with arms or a jacket over its back."""
    seat, wide = between(rng, 0.42, 0.55), between(rng, 0.21, 0.27)
    back, n_feet = between(rng, 0.2, 0.38), 5
    shapes = [
        Shape(BALL, 0, seat, 0, wide, 0.05, wide, square=between(rng, 0.3, 0.8), segments=14.0),
        Shape(
            BALL, 0, seat + 0.12 + back, -wide, between(rng, 0.8, 1.0) * wide, back, 0.045, pitch=-between(rng, 0.0,
            0.3),
            square=between(rng, 0.3, 0.9), top=between(rng, 0.6, 1.0), segments=14.0,
        ),
        Shape(LATHE, 0, seat / 2, 0, 0.03, seat / 2 - 0.03, 0.03, rings=2.0, segments=7.0),
        tube((0, seat - 0.02, -0.1), (0, seat + 0.25, -wide - 0.05), 0.025),
    ]  # fmt: skip
    for k in range(n_feet):
        angle = 2 * math.pi * k / n_feet
        foot = (0.3 * math.sin(angle), 0.05, 0.3 * math.cos(angle))
        shapes += [
            tube((0, 0.11, 0), foot, 0.022),
            Shape(BALL, foot[0], 0.03, foot[2], 0.03, 0.03, 0.03, rings=3.0, segments=6.0),
        ]
    if rng.random() < 0.6:
        for side in (-1, 1):
            x, arm = side * (wide + 0.03), seat + between(rng, 0.17, 0.24)
            shapes += [box(x, arm, 0.02, 0.03, 0.018, 0.13), tube((x, seat, -0.02), (x, arm, -0.02), 0.018)]
    if rng.random() < 0.4:
        shapes += moved(drape(rng, wide), 0, seat + 0.12 + 2 * back, -wide)
    return shapes


def plain_chair(rng: np.random.Generator) -> Thing:
    """Draw a chair with a back of slats, spindles or a board, possibly with a jacket over it."""
    seat, wide, deep = between(rng, 0.4, 0.5), between(rng, 0.19, 0.25), between(rng, 0.19, 0.24)
    tall, lean, leg = between(rng, 0.32, 0.6), between(rng, 0.0, 0.12), between(rng, 0.014, 0.025)
    shapes = [box(0, seat, 0, wide, between(rng, 0.012, 0.04), deep)]
    for side in (-1, 1):
        shapes.append(tube((side * wide, 0, deep), (side * (wide - 0.02), seat, deep - 0.03), leg))
        shapes.append(tube((side * wide, 0, -deep - lean / 2), (side * wide, seat, -deep), leg))
        shapes.append(tube((side * wide, seat, -deep), (side * wide, seat + tall, -deep - lean), leg))
    style, n = int(rng.integers(3)), int(rng.integers(2, 6))
    for k in range(n):
        up = (k + 0.7) / (n + 0.2)
        if style == 0:
            shapes.append(box(0, seat + up * tall, -deep - up * lean, wide, between(rng, 0.015, 0.045), 0.01))
        elif style == 1:
            x = wide * (2 * up - 1.1)
            shapes.append(tube((x, seat, -deep), (x, seat + tall, -deep - lean), 0.009))
    if style == 2:
        shapes.append(
            box(0, seat + 0.6 * tall, -deep - 0.6 * lean, wide, 0.36 * tall, 0.012, pitch=-math.atan2(lean, tall))
        )
    shapes.append(box(0, seat + tall, -deep - lean, wide + 0.01, 0.025, 0.014))
    if rng.random() < 0.4:
        shapes += moved(drape(rng, wide), 0, seat + tall + 0.02, -deep - lean)
    return shapes


def soft_sofa(rng: np.random.Generator) -> Thing:
    """Draw a rounded armchair or sofa with cushions, possibly with a blanket."""
    wide, deep = between(rng, 0.35, 1.1), between(rng, 0.35, 0.48)
    seat, back, thick = between(rng, 0.36, 0.48), between(rng, 0.3, 0.5), between(rng, 0.08, 0.14)
    round_ = between(rng, 0.3, 0.9)
    shapes = [
        Shape(BALL, 0, seat / 2, 0, wide, seat / 2, deep, square=0.85, segments=16.0),
        Shape(
            BALL,
            0,
            seat + 0.5 * back,
            -deep,
            wide + 0.05,
            0.62 * back,
            thick,
            pitch=-0.15,
            square=round_,
            segments=16.0,
        ),
    ]
    for side in (-1, 1):
        high = seat + between(rng, 0.1, 0.2)
        shapes.append(
            Shape(BALL, side * (wide + 0.06), high / 2, 0, thick, high / 2, deep, square=round_, segments=14.0)
        )
    for _ in range(int(rng.integers(0, 4))):
        shapes += moved(cushion(rng), between(rng, -0.8, 0.8) * wide, seat - 0.02, between(rng, -0.6, 0.2) * deep)
    if rng.random() < 0.3:
        shapes += moved(heap(rng), between(rng, -0.6, 0.6) * wide, seat - 0.03, 0.0, scale=0.7)
    return shapes


def cushion(rng: np.random.Generator) -> Thing:
    """Draw a cushion that lies or leans."""
    half, thick, pitch = between(rng, 0.15, 0.28), between(rng, 0.05, 0.1), -between(rng, 0.1, 1.5)
    up = half * abs(math.cos(pitch)) + thick * abs(math.sin(pitch))
    yaw = rng.normal(0.0, 0.4)
    return [Shape(BALL, 0, up, 0, half * between(rng, 0.8, 1.3), half, thick, yaw=yaw, pitch=pitch, square=0.5)]


def heap(rng: np.random.Generator) -> Thing:
    """Draw a heap of clothes or a crumpled blanket."""
    shapes = []
    spread, n = between(rng, 0.15, 0.4), int(rng.integers(2, 6))
    for x, z, size, phase in rng.random((n, 4)).tolist():
        half = spread * (0.4 + 0.6 * size)
        shapes.append(
            Shape(
                BALL, spread * (2 * x - 1), 0.35 * half, spread * (2 * z - 1), half, 0.45 * half, 0.8 * half,
                yaw=6 * phase,
                fold=0.25, n_folds=4.0 + int(5 * size), phase=6 * phase, segments=16.0,
            )
        )  # fmt: skip
    return shapes


def desk(rng: np.random.Generator, *, is_full: bool = False) -> Thing:
    """Draw a table of any form with things on it."""
    height = between(rng, 0.66, 0.8) if is_full or rng.random() < 0.7 else between(rng, 0.35, 0.55)
    half_x, half_z = between(rng, 0.35, 1.0), between(rng, 0.28, 0.5)
    thick, leg = between(rng, 0.01, 0.03), between(rng, 0.018, 0.04)
    shapes: Thing = []
    if rng.random() < 0.3:  # on one leg
        half_x = half_z = between(rng, 0.3, 0.6)
        shapes.append(Shape(LATHE, 0, height - thick, 0, half_x, thick, half_z, rings=2.0, segments=18.0))
        shapes.append(Shape(LATHE, 0, height / 2, 0, 0.2, height / 2, 0.2, top=0.3, bulge=-0.6, rings=6.0))
    else:
        shapes.append(box(0, height - thick, 0, half_x, thick, half_z))
        splay = between(rng, 0.0, 0.08)
        for sx, sz in ((-1, -1), (-1, 1), (1, -1), (1, 1)):
            x, z = sx * (half_x - 0.06), sz * (half_z - 0.06)
            shapes.append(tube((x + sx * splay, 0, z + sz * splay), (x, height - thick, z), leg))
        if rng.random() < 0.3:  # drawers
            shapes.append(box(0.6 * half_x, 0.55 * height, 0, 0.3 * half_x, 0.4 * height, 0.85 * half_z))
    return shapes + load(rng, half_x, half_z, height, int(rng.integers(4, 11)) if is_full else int(rng.integers(0, 7)))


def counter(rng: np.random.Generator) -> Thing:
    """Draw a kitchen counter, bar or sideboard with things on it."""
    half_x, half_z, height = between(rng, 0.5, 1.5), between(rng, 0.25, 0.35), between(rng, 0.75, 1.1)
    shapes = [
        box(0, height / 2, 0, half_x, height / 2, half_z),
        box(0, height, 0.02, half_x + 0.02, 0.02, half_z + 0.02),
    ]
    return shapes + load(rng, half_x, half_z, height + 0.02, int(rng.integers(2, 9)))


def rack(rng: np.random.Generator) -> Thing:
    """Draw open shelves with things in them."""
    half_x, half_z, height = between(rng, 0.25, 0.7), between(rng, 0.14, 0.22), between(rng, 0.7, 2.1)
    shapes = [box(s * half_x, height / 2, 0, 0.012, height / 2, half_z) for s in (-1, 1)]
    if rng.random() < 0.5:
        shapes.append(box(0, height / 2, -half_z, half_x, height / 2, 0.008))
    n = int(rng.integers(2, 6))
    for k in range(n):
        y = height * (k + 0.3) / (n - 0.4)
        shapes.append(box(0, min(y, height - 0.01), 0, half_x, 0.012, half_z))
        shapes += load(rng, half_x, 0.7 * half_z, min(y, height), int(rng.integers(0, 3)))
    return shapes


def bed(rng: np.random.Generator) -> Thing:
    """Draw a bed with pillows and a blanket, its long side along z."""
    half_x, half_z, height = between(rng, 0.45, 0.9), between(rng, 0.95, 1.05), between(rng, 0.35, 0.55)
    shapes = [
        Shape(BALL, 0, height - 0.12, 0, half_x, 0.14, half_z, square=0.9, segments=16.0),
        box(0, (height - 0.15) / 2, 0, half_x + 0.03, (height - 0.15) / 2, half_z + 0.03),
        box(0, 0.4 + 0.1 * rng.random(), -half_z - 0.05, half_x + 0.03, 0.4, 0.025),
    ]
    shapes += [
        Shape(BALL, x * half_x, height + 0.06, 0.25 - half_z, 0.28, 0.08, 0.2, yaw=rng.normal(0, 0.3), square=0.5)
        for x in ((-0.5, 0.5) if half_x > 0.65 else (0.0,))
    ]
    if rng.random() < 0.7:
        shapes += moved(heap(rng), 0, height - 0.05, between(rng, 0.0, 0.6), scale=between(rng, 0.8, 1.4))
    return shapes


def stairs(rng: np.random.Generator) -> Thing:
    """Draw stairs with or without risers, straight or winding, with a rail."""
    n, rise, run = int(rng.integers(4, 12)), between(rng, 0.15, 0.2), between(rng, 0.2, 0.29)
    half, twist, is_open = between(rng, 0.35, 0.6), rng.normal(0.0, 0.12), rng.random() < 0.5
    shapes, x, z, yaw = [], 0.0, 0.0, 0.0
    for k in range(n):
        y = (k + 1) * rise
        low = y - 0.04 if is_open and k else 0.0
        shapes.append(box(x, (y + low) / 2, z, half, (y - low) / 2, run / 2 + 0.01, yaw=yaw))
        if k % 2 == 0:
            edge = (x + half * math.cos(yaw), z - half * math.sin(yaw))
            shapes.append(tube((edge[0], y, edge[1]), (edge[0], y + 0.9, edge[1]), 0.012))
        x, z, yaw = x - run * math.sin(yaw), z - run * math.cos(yaw), yaw + twist
    return shapes


def pillar(rng: np.random.Generator) -> Thing:
    """Draw a pillar or a pipe up to the ceiling, round or square."""
    half, square = between(rng, 0.05, 0.3), float(rng.random() < 0.4)
    shapes = [Shape(LATHE, 0, 1.7, 0, half, 1.7, half, square=square, rings=2.0, segments=16.0)]
    if rng.random() < 0.4:
        shapes.append(box(0, 0.05, 0, 1.2 * half, 0.05, 1.2 * half))
    return shapes


def coat_stand(rng: np.random.Generator) -> Thing:
    """Draw a pole with coats and hats, the thing that most resembles a person."""
    tall = between(rng, 1.5, 1.9)
    shapes = [tube((0, 0, 0), (0, tall, 0), 0.02), Shape(LATHE, 0, 0.02, 0, 0.2, 0.02, 0.2, rings=2.0)]
    for yaw in (6.3 * rng.random(3)[: int(rng.integers(1, 4))]).tolist():
        hung = moved(coat(rng), 0.0, tall - 0.08, 0.05)
        shapes += turned([s for s in hung if s.y - s.half_y > 0], yaw)
    if rng.random() < 0.4:
        shapes.append(Shape(BALL, 0, tall, 0, 0.13, 0.09, 0.13))
        shapes.append(Shape(LATHE, 0, tall - 0.02, 0, 0.18, 0.008, 0.18, rings=2.0))
    return shapes


def leaning_board(rng: np.random.Generator) -> Thing:
    """Draw boards, tubes or an ironing board that lean or stand upright."""
    shapes = []
    for _ in range(int(rng.integers(1, 4))):
        half, pitch = between(rng, 0.4, 1.0), -between(rng, 0.05, 0.3)
        x, wide = rng.normal(0.0, 0.2), between(rng, 0.03, 0.3)
        y, z = half * math.cos(pitch), -half * math.sin(-pitch) + 0.1
        if rng.random() < 0.5:
            shapes.append(box(x, y, z, wide, half, 0.012, pitch=pitch))
        else:
            shapes.append(
                Shape(LATHE, x, y, z, 0.3 * wide, half, 0.3 * wide, pitch=pitch, wave=0.1, phase=6 * rng.random())
            )
    return shapes


def boxes(rng: np.random.Generator) -> Thing:
    """Draw a crooked stack of cartons."""
    shapes: Thing = []
    up = 0.0
    for _ in range(int(rng.integers(1, 5))):
        half_x, half_y, half_z = between(rng, 0.12, 0.3), between(rng, 0.08, 0.25), between(rng, 0.12, 0.28)
        shift = rng.normal(0.0, 0.04, 2).tolist()
        shapes.append(box(shift[0], up + half_y, shift[1], half_x, half_y, half_z, yaw=rng.normal(0.0, 0.3)))
        up += 2 * half_y
    return shapes + moved(assembly(rng, ON_TABLE), 0, up, 0)


STANDINGS: tuple[Draw, ...] = (
    assembly, assembly, assembly, assembly, plant, plant, floor_lamp, office_chair, office_chair, plain_chair,
    plain_chair,
    soft_sofa, heap, bag, desk, desk, counter, rack, bed, stairs, pillar, coat_stand, leaning_board, boxes,
)  # fmt: skip
"""Things on floors, in proportion to how often each is listed."""

DESKS: tuple[Draw, ...] = (partial(desk, is_full=True),)
COUNTERS: tuple[Draw, ...] = (counter,)
LOWS: tuple[Draw, ...] = (desk, plain_chair, office_chair, bag, heap, boxes)
"""Things that may stand between the camera and a person."""
