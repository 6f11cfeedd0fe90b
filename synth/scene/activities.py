"""What people do in rooms: carry things, sit behind desks, lie on beds and sofas, stand side by side.

`composing` places people; this module adds the objects of their activity.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from depthforest.base import Floats, Singles, kernel
from depthforest.frames import JOINTS
from synth.scene.assembling import Thing, assembly, moved, turned
from synth.scene.furniture import PlacedPiece, between
from synth.scene.inventory import Inventory, piece_of
from synth.scene.items import bag
from synth.scene.shapes import BALL, LATHE, Shape, box
from synth.scene.skinning import PosedBody
from synth.scene.stage import Person, PlacedPerson

MOST_GAP = 0.05
"""Meters between two people who touch, at most: a cell of the grid that finds where they meet."""

CELL, N_CELLS = 0.04, 128
DESKS, DESK_TRIES = 3, 12
"""Number of desks that are tried, and of distances for each."""

_HANDS = tuple((JOINTS.index(f"hand_{s}"), JOINTS.index(f"elbow_{s}")) for s in "lr")
_SPINE = JOINTS.index("spine")


def lifted(posed: PosedBody, height: float) -> PosedBody:
    """Return a posed body raised above the floor by `height` meters."""
    up = np.array([0.0, height, 0.0], dtype=np.float32)
    return PosedBody(posed.vertices + up, posed.joints + up, posed.bone_heads + up)


def carried(rng: np.random.Generator, placed: PlacedPerson) -> PlacedPiece:
    """Return something that a person carries: in a hand, under an arm, in front of the chest, or on the back."""
    posed = placed.person.posed
    hand, elbow = _HANDS[int(rng.integers(2))]
    at, bent, spine = (posed.joints[i].tolist() for i in (hand, elbow, _SPINE))
    other = posed.joints[_HANDS[0][0] if hand == _HANDS[1][0] else _HANDS[1][0]].tolist()
    chance = rng.random()
    if chance < 0.2:
        back = float(posed.vertices[np.abs(posed.vertices[:, 1] - spine[1]) < 0.15, 2].min())
        shapes = moved(bag(rng), spine[0], spine[1] - 0.2, back - 0.08)
    elif math.dist(at, other) < 0.5 and chance < 0.7:
        middle = [(a + b) / 2 for a, b in zip(at, other, strict=True)]
        half = max(math.dist(at, other) / 2, 0.08)
        load = box(
            middle[0], middle[1] + 0.05, middle[2] + 0.08, half, between(rng, 0.06, 0.2), between(rng, 0.08, 0.18)
        )
        shapes = [load._replace(yaw=rng.normal(0, 0.1))]
    elif at[1] > 0.75 and chance < 0.6:
        shapes = _hung_bag(rng, at)
    else:
        shapes = _held(rng, at, bent)
    return PlacedPiece(piece_of("carried", shapes), placed.x, placed.z, placed.yaw)


def _hung_bag(rng: np.random.Generator, hand: list[float]) -> Thing:
    shapes = bag(rng)
    top = shapes[0].y + shapes[0].half_y
    scale = min(1.0, 0.9 * (hand[1] - 0.15) / top)
    return moved(turned(shapes, math.pi / 2), hand[0], hand[1] - 0.08 - scale * top, hand[2], scale=scale)


def _held(rng: np.random.Generator, hand: list[float], elbow: list[float]) -> Thing:
    """Draw something at the end of a forearm: a ball, a stick, a bottle or a random object."""
    long = max(math.dist(hand, elbow), 1e-3)
    along = [(a - b) / long for a, b in zip(hand, elbow, strict=True)]
    size = between(rng, 0.04, 0.16)
    x, y, z = (a + 0.8 * size * d for a, d in zip(hand, along, strict=True))
    kind = int(rng.integers(3))
    if kind == 0:
        return [Shape(BALL, x, max(y, size), z, size, size, size)]
    if kind == 1:
        half = min(between(rng, 0.15, 0.8), max(y - 0.05, 0.1))
        return [Shape(LATHE, x, y, z, 0.02, half, 0.02, pitch=rng.normal(0, 0.3), roll=rng.normal(0, 0.3), rings=2.0)]
    shapes = assembly(rng, (size, 2 * size + 0.1))
    return moved(shapes, x, max(y - size / 2, 0.0), z)


def behind_desk(
    rng: np.random.Generator, inventory: Inventory, placed: PlacedPerson, probes: Singles
) -> PlacedPiece | None:
    """Return a desk in front of a person, or a counter if they stand; None if arms or legs leave no room."""
    is_high = placed.person.posed.joints[_SPINE, 1] > 0.9
    facing = 0.0 if rng.random() < 0.5 else math.pi
    for _ in range(DESKS):
        piece = inventory.draw(rng, "counter" if is_high else "desk")
        deep = float(piece.extent[1, 2] if facing else -piece.extent[0, 2])
        for k in range(DESK_TRIES):
            distance = deep + 0.1 + 0.06 * k
            x, z = placed.x + distance * math.sin(placed.yaw), placed.z + distance * math.cos(placed.yaw)
            table = PlacedPiece(piece, x, z, placed.yaw + facing)
            if -z > deep + 0.3 and not table.touches(probes):
                return table
    return None


def bed_below(rng: np.random.Generator, placed: PlacedPerson) -> PlacedPiece:
    """Return a bed or a sofa under a lying person, as high as the body's lowest point."""
    points = placed.vertices[:, [0, 2]].astype(np.float64)
    top = float(placed.vertices[:, 1].min()) - 0.025
    axes = np.linalg.svd(points[::11] - points[::11].mean(axis=0), full_matrices=False)[2]
    x, z = axes[0].tolist()
    yaw = math.atan2(x, z)
    along, across = points @ np.array([x, z]), points @ np.array([math.cos(yaw), -math.sin(yaw)])
    half_z = (float(along.max() - along.min())) / 2 + between(rng, 0.05, 0.2)
    half_x = (float(across.max() - across.min())) / 2 + between(rng, 0.0, 0.3)
    middle_along, middle_across = (along.max() + along.min()) / 2, (across.max() + across.min()) / 2
    shapes = [
        box(0, 0.4 * top, 0, half_x, 0.4 * top, half_z),
        Shape(BALL, 0, top - 0.1, 0, half_x, 0.1, half_z, square=0.9, segments=16.0),
    ]
    if rng.random() < 0.6:  # the backrest of a sofa
        side = -1 if rng.random() < 0.5 else 1
        tall = between(rng, 0.3, 0.45)
        shapes.append(
            Shape(BALL, side * (half_x + 0.14), top / 2 + tall / 2, 0, 0.11, (top + tall) / 2, half_z, square=0.7)
        )
    if rng.random() < 0.6:
        shapes.append(box(0, 0.35, -half_z - 0.08, half_x + 0.05, 0.35, 0.05))
    center_x = middle_along * x + middle_across * math.cos(yaw)
    center_z = middle_along * z - middle_across * math.sin(yaw)
    return PlacedPiece(piece_of("bed", shapes), float(center_x), float(center_z), yaw)


def beside(rng: np.random.Generator, person: Person, other: PlacedPerson) -> PlacedPerson:
    """Return a person so close to another that they touch, on any side, most often to the left or right."""
    angle = math.pi / 2 * (1 if rng.random() < 0.5 else -1) + rng.normal(0.0, 0.5)
    yaw = other.yaw + rng.normal(0.0, 0.4)
    x, z = math.sin(angle), math.cos(angle)
    start = person.placed(other.x, other.z, yaw)
    step = contact(other.probes, start.probes, x, z) + MOST_GAP * rng.random()
    return replace(start, x=other.x + step * x, z=other.z + step * z)


def contact(still: Singles, mover: Singles, x: float, z: float) -> float:
    """Return how far points must move along (x, z) until none is beside or behind a point that stays."""
    middle = still.mean(axis=0)
    return float(_contact(still, mover, middle.astype(np.float64), x, z))


@kernel
def _contact(still: Singles, mover: Singles, middle: Floats, x: float, z: float) -> float:
    """Return the largest distance along (x, z) from a moving to a staying point in one cell of height and side."""
    front = np.full((N_CELLS, N_CELLS), -np.inf)
    for i in range(len(still)):
        row, col = _cell(still[i], middle, x, z)
        if 0 < row < N_CELLS - 1 and 0 < col < N_CELLS - 1:
            along = still[i, 0] * x + still[i, 2] * z
            for r in range(row - 1, row + 2):
                for c in range(col - 1, col + 2):
                    front[r, c] = max(front[r, c], along)
    step = 0.0
    for i in range(len(mover)):
        row, col = _cell(mover[i], middle, x, z)
        if 0 <= row < N_CELLS and 0 <= col < N_CELLS:
            step = max(step, front[row, col] - (mover[i, 0] * x + mover[i, 2] * z))
    return step


@kernel
def _cell(point: Singles, middle: Floats, x: float, z: float) -> tuple[int, int]:
    """Return the cell of a point: its height, and its distance to the side of the direction (x, z)."""
    aside = (point[0] - middle[0]) * z - (point[2] - middle[2]) * x
    return math.floor(point[1] / CELL), math.floor(aside / CELL) + N_CELLS // 2
