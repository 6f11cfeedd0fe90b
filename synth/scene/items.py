"""Items: things on tables, counters and shelves, built from the shapes of `shapes`.

Each is a list of shapes in its own axes: y up from the surface it stands on, its front toward +z.
"""

from __future__ import annotations

import math

import numpy as np

from synth.scene.assembling import ON_TABLE, Draw, Thing, assembly, fitted, moved, turned
from synth.scene.furniture import between
from synth.scene.shapes import BALL, LATHE, SHEET, Shape, box, tube


def plant(rng: np.random.Generator) -> Thing:
    """Draw a pot with leaves, from a herb to a small tree."""
    tall, pot = between(rng, 0.15, 1.9), between(rng, 0.05, 0.2)
    high = min(pot * between(rng, 1.2, 2.2), 0.5 * tall)
    shapes = [
        Shape(LATHE, 0, high / 2, 0, pot, high / 2, pot, bottom=between(rng, 0.6, 1.0), bulge=between(rng, 0, 0.2))
    ]
    n_leaves, reach = int(rng.integers(8, 26)), between(rng, 0.35, 0.7) * tall
    narrow, n_stems = between(rng, 0.08, 0.5), int(rng.integers(1, 4))
    for _ in range(n_stems):
        lean = rng.normal(0.0, 0.12, 2).tolist()
        shapes.append(tube((0, high, 0), (lean[0] * tall, 0.85 * tall, lean[1] * tall), 0.012 + 0.01 * tall, top=0.4))
    start = between(rng, 0.0, 0.6)  # height at which the leaves start
    for up, around, tilt, size in rng.random((n_leaves, 4)).tolist():
        half, yaw = reach * (0.2 + 0.3 * size), 2 * math.pi * around
        pitch = 0.3 + 1.5 * tilt
        base = high + (start + (1 - start) * up * 0.8) * (tall - high)
        out = half * math.sin(pitch)
        shapes.append(
            Shape(
                SHEET, out * math.sin(yaw), base + half * math.cos(pitch), out * math.cos(yaw), half * narrow, half,
                0.0,
                yaw=yaw, pitch=pitch, bottom=0.15, top=0.05, bulge=8.0, bend=0.5 * half * (tilt - 0.7), rings=4.0,
                segments=1.0,
            )
        )  # fmt: skip
    return [s for s in shapes if s.y - s.half_y * abs(math.cos(s.pitch)) > -0.01]


def bag(rng: np.random.Generator) -> Thing:
    """Draw a backpack, a sack, a suitcase or a handbag."""
    tall, wide, deep = between(rng, 0.2, 0.65), between(rng, 0.12, 0.28), between(rng, 0.07, 0.17)
    body = Shape(
        (BALL, LATHE)[int(rng.integers(2))], 0, tall / 2, 0, wide, tall / 2, deep, square=between(rng, 0.3, 0.9),
        pitch=rng.normal(0.0, 0.12), roll=rng.normal(0.0, 0.12), top=between(rng, 0.4, 1.0), bulge=between(rng, 0.0,
        0.3),
        fold=0.06, n_folds=3.0, phase=6 * rng.random(),
    )  # fmt: skip
    grip = tube((-0.5 * wide, 0.97 * tall, 0), (0.5 * wide, 0.97 * tall, 0), 0.012)
    shapes = [body, grip._replace(roll=-math.pi / 2, arch=between(rng, 0.05, 0.2), rings=7.0)]
    if rng.random() < 0.5:
        shapes.append(Shape(BALL, 0, 0.35 * tall, 0.9 * deep, 0.7 * wide, 0.22 * tall, 0.3 * deep, square=0.6))
    return shapes


def bottle(rng: np.random.Generator) -> Thing:
    """Draw a bottle, a vase, a can or a jar."""
    tall, wide = between(rng, 0.08, 0.35), between(rng, 0.025, 0.08)
    top, neck = between(rng, 0.25, 1.1), between(rng, 0.0, 0.4)
    shapes = [
        Shape(
            LATHE, 0, tall / 2, 0, wide, tall / 2, wide, top=top, bulge=between(rng, -0.1, 0.7),
            wave=max(rng.normal(0, 0.15), 0),
            n_waves=between(rng, 0.5, 1.5), phase=6 * rng.random(), rings=7.0,
        )
    ]  # fmt: skip
    if neck > 0.2:
        shapes.append(
            Shape(LATHE, 0, tall * (1 + neck / 2), 0, 0.4 * wide, tall * neck / 2, 0.4 * wide, rings=2.0, segments=8.0)
        )
    return shapes


def cup(rng: np.random.Generator) -> Thing:
    """Draw a cup, a bowl or a pan with a handle."""
    wide, tall = between(rng, 0.035, 0.14), between(rng, 0.05, 0.12)
    bowl = Shape(LATHE, 0, tall / 2, 0, wide, tall / 2, wide, bottom=between(rng, 0.5, 1.0), rings=4.0)
    angle, long = 6.3 * rng.random(), between(rng, 1.2, 2.6)
    tip = (long * wide * math.sin(angle), 0.6 * tall, long * wide * math.cos(angle))
    return [bowl, tube((0.8 * wide * math.sin(angle), 0.6 * tall, 0.8 * wide * math.cos(angle)), tip, 0.01)]


def books(rng: np.random.Generator) -> Thing:
    """Draw a pile of books, papers or flat boxes."""
    shapes, up = [], 0.0
    half_x, half_z = between(rng, 0.08, 0.17), between(rng, 0.06, 0.13)
    for yaw, thick in rng.random((int(rng.integers(1, 6)), 2)).tolist():
        half = 0.006 + 0.025 * thick
        shapes.append(box(0, up + half, 0, half_x * (0.8 + 0.3 * yaw), half, half_z, yaw=0.5 * yaw))
        up += 2 * half
    return shapes


def monitor(rng: np.random.Generator) -> Thing:
    """Draw a screen on a stand; its glass often gives no readings."""
    half_x, half_y, up = between(rng, 0.18, 0.36), between(rng, 0.13, 0.22), between(rng, 0.06, 0.16)
    middle, pitch = up + half_y, -between(rng, -0.05, 0.25)
    glass = box(0, middle, 0.02, half_x - 0.015, half_y - 0.015, 0.006, pitch=pitch, lost=float(rng.random() < 0.5))
    deep = between(rng, 0.03, 0.15)
    hull = Shape(BALL, 0, middle, -deep, 0.6 * half_x, 0.6 * half_y, deep, square=0.6)
    foot = Shape(LATHE, 0, 0.01, -0.02, 0.13, 0.01, 0.1, rings=2.0)
    return [
        box(0, middle, 0, half_x, half_y, 0.018, pitch=pitch),
        glass,
        hull,
        foot,
        tube((0, 0, -0.04), (0, middle, -0.04), 0.025),
    ]


def laptop(rng: np.random.Generator) -> Thing:
    """Draw an open laptop."""
    half, pitch = between(rng, 0.14, 0.19), -between(rng, 0.1, 0.7)
    deep, tall = 0.7 * half, 0.68 * half
    lid = box(0, tall * math.cos(pitch), -deep + tall * math.sin(pitch), half, tall, 0.004, pitch=pitch)
    return [box(0, 0.01, 0, half, 0.01, deep), lid._replace(lost=float(rng.random() < 0.3))]


def desk_lamp(rng: np.random.Generator) -> Thing:
    """Draw a lamp with a bent arm."""
    tall, out = between(rng, 0.25, 0.55), between(rng, 0.05, 0.3)
    arm = Shape(
        LATHE, 0, tall / 2, 0, 0.01, tall / 2, 0.01, bend=out, arch=rng.normal(0.0, 0.08), rings=9.0, segments=6.0
    )
    head = Shape(LATHE, out, tall, 0, 0.08, 0.06, 0.08, top=0.4, roll=rng.normal(0.0, 0.5), bulge=0.2)
    return [Shape(LATHE, 0, 0.012, 0, 0.08, 0.012, 0.08, rings=2.0), arm, head]


def fruit(rng: np.random.Generator) -> Thing:
    """Draw one to four balls."""
    return [
        Shape(BALL, 0.25 * x - 0.12, 0.03 + 0.06 * size, 0.25 * z - 0.12, *[0.03 + 0.06 * size] * 3)
        for x, z, size in rng.random((int(rng.integers(1, 5)), 3)).tolist()
    ]


def package(rng: np.random.Generator) -> Thing:
    """Draw a box at an angle, possibly with another on top."""
    half_x, half_y, half_z = (np.exp(rng.normal(-2.1, 0.45, 3))).tolist()
    shapes = [box(0, half_y, 0, half_x, half_y, half_z, yaw=3 * rng.random(), top=between(rng, 0.85, 1.05))]
    if rng.random() < 0.4:
        shapes.append(
            box(0.02, 2 * half_y + 0.6 * half_y, 0, 0.7 * half_x, 0.6 * half_y, 0.8 * half_z, yaw=3 * rng.random())
        )
    return shapes


def small_assembly(rng: np.random.Generator) -> Thing:
    """Draw an abstract object for a table."""
    return assembly(rng, ON_TABLE)


def small_plant(rng: np.random.Generator) -> Thing:
    """Draw a plant for a table or a windowsill."""
    return fitted(plant(rng), between(rng, 0.15, 0.5))


ITEMS: tuple[Draw, ...] = (
    bottle, bottle, cup, cup, books, books, monitor, monitor, laptop, desk_lamp, fruit, package, package, bag,
    small_assembly, small_assembly, small_assembly, small_plant,
)  # fmt: skip
"""Items on tables, in proportion to how often each is listed."""


def load(rng: np.random.Generator, half_x: float, half_z: float, height: float, n: int) -> Thing:
    """Draw `n` items on a surface."""
    shapes: Thing = []
    for _ in range(n):
        item = ITEMS[int(rng.integers(len(ITEMS)))](rng)
        x, z = between(rng, -0.88, 0.88) * half_x, between(rng, -0.8, 0.6) * half_z
        shapes += moved(turned(item, rng.normal(0.0, 0.5)), x, height, z)
    return shapes
