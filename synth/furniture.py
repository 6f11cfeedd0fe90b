"""Furniture as boxes: tables, chairs, sofas, shelves and crates, each a few measures and a mesh.

World space: metres, x to the camera's right, y up from the floor, z towards the camera (right-handed). A piece stands
on the floor around its own origin and faces +z, as a person does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
Slab = tuple[tuple[float, float, float], tuple[float, float, float]]

# corners of a box in the order of the bits (x, y, z), and its sides counter-clockwise seen from outside
_CORNERS = np.array([(x, y, z) for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])
_SIDES = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))
_BOX_FACES: Ints = np.array([t for a, b, c, d in _SIDES for t in ((a, b, c), (a, c, d))], dtype=np.int32)


@dataclass(frozen=True, eq=False)
class Piece:
    """A piece of furniture: boxes, each (centre, half size), in its own axes."""

    name: str
    slabs: tuple[Slab, ...]

    @cached_property
    def boxes(self) -> Floats:
        """Array (n, 2, 3): centre and half size of every box."""
        return np.array(self.slabs, dtype=np.float64)

    @cached_property
    def extent(self) -> tuple[Floats, Floats]:
        """Lowest and highest corner."""
        centers, halves = self.boxes[:, 0], self.boxes[:, 1]
        return (centers - halves).min(axis=0), (centers + halves).max(axis=0)

    def mesh(self, x: float, z: float, yaw: float) -> tuple[Floats, Ints]:
        """Return vertices (8 n, 3) in world space and faces (12 n, 3) of the piece at (x, z), turned by `yaw`."""
        n = len(self.slabs)
        vertices = (self.boxes[:, 0, None] + _CORNERS * self.boxes[:, 1, None]).reshape(-1, 3)
        faces = (_BOX_FACES + 8 * np.arange(n, dtype=np.int32)[:, None, None]).reshape(-1, 3)
        return vertices @ turn_about_y(yaw).T + np.array([x, 0.0, z]), faces


def turn_about_y(angle: float) -> Floats:
    """Return the rotation about the vertical that turns +z towards +x."""
    cos, sin = np.cos(angle), np.sin(angle)
    return np.array([[cos, 0.0, sin], [0.0, 1.0, 0.0], [-sin, 0.0, cos]])


def _legs(half_x: float, half_z: float, height: float, thickness: float) -> tuple[Slab, ...]:
    half = thickness / 2
    return tuple(
        ((sx * (half_x - half), height / 2, sz * (half_z - half)), (half, height / 2, half))
        for sx in (-1, 1)
        for sz in (-1, 1)
    )


def table(rng: np.random.Generator) -> Piece:
    """Draw a desk or coffee table."""
    height = rng.choice([rng.uniform(0.38, 0.5), rng.uniform(0.68, 0.78)])
    half_x, half_z = rng.uniform(0.3, 0.9), rng.uniform(0.25, 0.45)
    top: Slab = ((0, height - 0.015, 0), (half_x, 0.015, half_z))
    return Piece("table", (top, *_legs(half_x, half_z, height - 0.03, rng.uniform(0.03, 0.07))))


@dataclass(frozen=True)
class Sitter:
    """What a seat must fit: metres, relative to the point on the floor below the hips, facing +z.

    Parameters
    ----------
    height : float
        Of the underside of the thighs.
    reach : float
        From the hips back to the back.
    front : float
        From the hips forward to where the legs bend down.
    """

    height: float
    reach: float
    front: float


def _random_sitter(rng: np.random.Generator) -> Sitter:
    return Sitter(rng.uniform(0.40, 0.50), rng.uniform(0.18, 0.25), rng.uniform(0.2, 0.3))


def chair(rng: np.random.Generator, sitter: Sitter | None = None) -> Piece:
    """Draw a chair, fitted to a sitter if there is one."""
    fit = sitter or _random_sitter(rng)
    height, back_z = fit.height, -max(fit.reach, 0.12)
    half_x = rng.uniform(0.20, 0.26)
    front_z = min(back_z + rng.uniform(0.40, 0.50), fit.front)
    middle, half_seat = (back_z + front_z) / 2, (front_z - back_z) / 2
    seat: Slab = ((0, height - 0.02, middle), (half_x, 0.02, half_seat))
    legs = tuple(((x, y, z + middle), h) for (x, y, z), h in _legs(half_x, half_seat, height - 0.04, 0.035))
    back_half = rng.uniform(0.18, 0.28)
    back: Slab = ((0, height + 0.12 + back_half, back_z - 0.02), (half_x, back_half, 0.02))
    posts = tuple(((s * (half_x - 0.02), height + 0.1, back_z - 0.02), (0.015, 0.12, 0.015)) for s in (-1, 1))
    return Piece("chair", (seat, back, *posts, *legs))


def stool(rng: np.random.Generator, sitter: Sitter | None = None) -> Piece:
    """Draw a stool, or a crate to sit on."""
    fit = sitter or _random_sitter(rng)
    height, front_z = fit.height, min(fit.front, 0.25)
    half = min(rng.uniform(0.16, 0.22), (front_z + 0.2) / 2)
    middle = front_z - half
    if rng.random() < 0.5:
        return Piece("crate", (((0, height / 2, middle), (half, height / 2, half)),))
    legs = tuple(((x, y, z + middle), h) for (x, y, z), h in _legs(half, half, height - 0.04, 0.03))
    return Piece("stool", (((0, height - 0.02, middle), (half, 0.02, half)), *legs))


def pedestal(rng: np.random.Generator, sitter: Sitter | None = None) -> Piece:
    """Draw a small seat on one leg, which leaves room for feet below and clothes around."""
    fit = sitter or _random_sitter(rng)
    half = rng.uniform(0.10, 0.14)
    middle = min(fit.front, 0.1) - half
    foot: Slab = ((0, 0.015, middle), (0.15, 0.015, 0.15))
    leg: Slab = ((0, fit.height / 2, middle), (0.025, fit.height / 2 - 0.02, 0.025))
    return Piece("pedestal", (((0, fit.height - 0.02, middle), (half, 0.02, half)), leg, foot))


def sofa(rng: np.random.Generator, sitter: Sitter | None = None) -> Piece:
    """Draw a sofa or armchair with a back and arms."""
    fit = sitter or _random_sitter(rng)
    height, back_z = fit.height, -max(fit.reach, 0.14)
    half_x = rng.choice([0.42, 0.75, 1.0]) * rng.uniform(0.9, 1.1)
    front_z = min(back_z + rng.uniform(0.55, 0.65), fit.front)
    middle, half_z = (back_z + front_z) / 2, (front_z - back_z) / 2
    thick = rng.uniform(0.08, 0.12)
    back_half = rng.uniform(0.2, 0.27)
    slabs: list[Slab] = [
        ((0, height / 2 + 0.01, middle), (half_x, height / 2 - 0.01, half_z)),
        ((0, height / 2 + back_half, back_z - thick), (half_x, height / 2 + back_half, thick)),
    ]
    slabs += [((s * (half_x + 0.07), 0.30, middle - 0.05), (0.07, 0.30, half_z + 0.05)) for s in (-1, 1)]
    return Piece("sofa", tuple(slabs))


def shelf(rng: np.random.Generator) -> Piece:
    """Draw a book shelf, partly filled."""
    half_x, half_z, height = rng.uniform(0.25, 0.6), rng.uniform(0.12, 0.2), rng.uniform(0.8, 2.1)
    n_boards = int(rng.integers(3, 6))
    slabs: list[Slab] = [((0, height / 2, -half_z + 0.01), (half_x, height / 2, 0.01))]
    slabs += [((s * half_x, height / 2, 0), (0.012, height / 2, half_z)) for s in (-1, 1)]
    for i in range(n_boards):
        y = height * i / (n_boards - 1)
        slabs.append(((0, min(max(y, 0.012), height - 0.012), 0), (half_x, 0.012, half_z)))
        if i + 1 < n_boards and rng.random() < 0.7:
            filled = rng.uniform(0.2, 0.9) * half_x
            tall = rng.uniform(0.3, 0.45) * height / (n_boards - 1)
            slabs.append(((filled - half_x, y + tall, -0.02), (filled, tall, half_z - 0.04)))
    return Piece("shelf", tuple(slabs))


def crate(rng: np.random.Generator) -> Piece:
    """Draw a box, a cabinet, a suitcase."""
    half_x, half_z, height = rng.uniform(0.12, 0.4), rng.uniform(0.12, 0.35), rng.uniform(0.2, 1.1)
    return Piece("crate", (((0, height / 2, 0), (half_x, height / 2, half_z)),))


KINDS: tuple[Callable[[np.random.Generator], Piece], ...] = (table, table, chair, chair, sofa, shelf, crate)
"""What stands in a room, as often as it is named."""

SEATS: tuple[Callable[[np.random.Generator, Sitter], Piece], ...] = (chair, chair, sofa, stool)
LOW_KINDS: tuple[Callable[[np.random.Generator], Piece], ...] = (table, table, chair, crate)
"""What may stand between the camera and a person."""
