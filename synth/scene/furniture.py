"""Furniture as boxes: tables, chairs, sofas, shelves and crates, and their placement.

World space: meters, x to the camera's right, y up from the floor, z toward the camera (right-handed). A piece stands
on the floor around its own origin and faces +z, as a person does.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from depthforest.base import Floats, Ints, Singles, kernel
from synth.scene import shapes as clutter_shapes

Slab = tuple[tuple[float, float, float], tuple[float, float, float]]

CLEARANCE = 0.02
"""Meters that furniture keeps away from skin."""

# sides of a box, counterclockwise when seen from outside; its corners in the order of the bits (x, y, z)
_SIDES = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))
_NO_SHAPES: Floats = np.empty((0, clutter_shapes.WIDTH))
_BOX_FACES: Ints = np.array([t for a, b, c, d in _SIDES for t in ((a, b, c), (a, c, d))], dtype=np.int32)


@dataclass(frozen=True, eq=False)
class Piece:
    """A piece of furniture or clutter in its own axes.

    Parameters
    ----------
    name : str
    slabs : tuple of Slab
        Boxes, each (center, half size).
    shapes : array (n, shapes.WIDTH), float64
        Other shapes, as in `shapes.Shape`.
    stretch : (float, float, float)
        Scale factors of the shapes, but not of the slabs, along x, y and z.
    """

    name: str
    slabs: tuple[Slab, ...] = ()
    shapes: Floats = field(default_factory=lambda: _NO_SHAPES)
    stretch: tuple[float, float, float] = (1.0, 1.0, 1.0)

    @cached_property
    def boxes(self) -> Floats:
        """Array (n, 2, 3): center and half size of every box, and of a box around every other shape."""
        flat = [number for center, half in self.slabs for number in (*center, *half)]  # faster than nested tuples
        slabs = np.array(flat, dtype=np.float64).reshape(-1, 2, 3)
        if not len(self.shapes):
            return slabs
        return np.concatenate([slabs, clutter_shapes.bounds(self.shapes) * self.stretch])

    def stretched(self, stretch: tuple[float, float, float]) -> Piece:
        """Return a piece without slabs, scaled along its axes, which is faster than drawing another."""
        piece = Piece(self.name, (), self.shapes, stretch)
        piece.__dict__.update(boxes=self.boxes * stretch, extent=self.extent * stretch)
        return piece

    @cached_property
    def extent(self) -> Floats:
        """Array (2, 3): lowest and highest corner."""
        extent = np.empty((2, 3))
        _measure_extent(self.boxes, extent)
        return extent

    def corners(self, x: float, z: float, yaw: float) -> Floats:
        """Return the corners (8 n, 3) in world space of the piece's boxes at (x, z), rotated by `yaw`."""
        corners = np.empty((8 * len(self.slabs), 3))
        _place_corners(self.boxes[: len(self.slabs)], x, z, float(np.cos(yaw)), float(np.sin(yaw)), corners)
        return corners


def box_faces(n: int) -> Ints:
    """Return the faces (12 n, 3) of the corners of n boxes."""
    return (_BOX_FACES + 8 * np.arange(n, dtype=np.int32)[:, None, None]).reshape(-1, 3)


@kernel
def _measure_extent(boxes: Floats, extent: Floats) -> None:
    """Write the lowest and the highest corner around some boxes."""
    extent[0], extent[1] = np.inf, -np.inf
    for k in range(len(boxes)):
        for axis in range(3):
            center, half = boxes[k, 0, axis], boxes[k, 1, axis]
            extent[0, axis] = min(extent[0, axis], center - half)
            extent[1, axis] = max(extent[1, axis], center + half)


@kernel
def _place_corners(boxes: Floats, x: float, z: float, cos: float, sin: float, corners: Floats) -> None:
    """Write the corners of boxes, rotated about y and moved to (x, z), in the order of the bits (x, y, z)."""
    for k in range(len(boxes)):
        for corner in range(8):
            own_x = boxes[k, 0, 0] + (boxes[k, 1, 0] if corner & 4 else -boxes[k, 1, 0])
            own_z = boxes[k, 0, 2] + (boxes[k, 1, 2] if corner & 1 else -boxes[k, 1, 2])
            row = 8 * k + corner
            corners[row, 0] = cos * own_x + sin * own_z + x
            corners[row, 1] = boxes[k, 0, 1] + (boxes[k, 1, 1] if corner & 2 else -boxes[k, 1, 1])
            corners[row, 2] = cos * own_z - sin * own_x + z


@dataclass(frozen=True, eq=False)
class PlacedPiece:
    """A piece of furniture in the world, at (x, z), rotated by `yaw` radians."""

    piece: Piece
    x: float
    z: float
    yaw: float

    def touches(self, points: Singles) -> bool:
        """Tell whether any of some points lies in the piece or within `CLEARANCE` of it."""
        cos, sin = math.cos(self.yaw), math.sin(self.yaw)
        return bool(_any_inside(points, self.piece.boxes, self.x, self.z, cos, sin, CLEARANCE))

    @cached_property
    def corners(self) -> Floats:
        """Array (8 n, 3): corners of its boxes in world space."""
        return self.piece.corners(self.x, self.z, self.yaw)

    @cached_property
    def footprint(self) -> Floats:
        """Array (4, 2): corners (x, z) of the area it covers, in order."""
        footprint = np.empty((4, 2))
        _take_floor(self.piece.extent, self.x, self.z, math.cos(self.yaw), math.sin(self.yaw), footprint)
        return footprint

    def meets(self, other: PlacedPiece) -> bool:
        """Tell whether two pieces overlap in area and in height: a hanging piece may be above a standing one."""
        (_, low, _), (_, high, _) = self.piece.extent.tolist()
        (_, other_low, _), (_, other_high, _) = other.piece.extent.tolist()
        return low < other_high and other_low < high and self.overlaps(other)

    def overlaps(self, other: PlacedPiece) -> bool:
        """Tell whether two pieces overlap when seen from above: no side of either separates them."""
        return not (_keeps_apart(self.footprint, other.footprint) or _keeps_apart(other.footprint, self.footprint))


@kernel
def _take_floor(extent: Floats, x: float, z: float, cos: float, sin: float, footprint: Floats) -> None:
    """Write the corners, in order, of an extent (2, 3) seen from above, rotated about y and moved to (x, z)."""
    for i in range(4):
        own_x = extent[1 if i == 1 or i == 2 else 0, 0]
        own_z = extent[i // 2, 2]
        footprint[i, 0] = own_x * cos + own_z * sin + x
        footprint[i, 1] = own_z * cos - own_x * sin + z


@kernel
def _keeps_apart(mine: Floats, theirs: Floats) -> bool:
    """Tell whether a line along a side of the first rectangle (4, 2) separates it from the second."""
    for i in range(2):
        side_x, side_z = mine[i + 1, 0] - mine[i, 0], mine[i + 1, 1] - mine[i, 1]
        low, high, other_low, other_high = np.inf, -np.inf, np.inf, -np.inf
        for k in range(4):
            at = mine[k, 0] * side_x + mine[k, 1] * side_z
            low, high = min(low, at), max(high, at)
            at = theirs[k, 0] * side_x + theirs[k, 1] * side_z
            other_low, other_high = min(other_low, at), max(other_high, at)
        if high <= other_low or other_high <= low:
            return True
    return False


@kernel
def _any_inside(points: Singles, boxes: Floats, x: float, z: float, cos: float, sin: float, margin: float) -> bool:
    """Tell whether a point (n, 3) lies in a box (m, 2, 3), center and half size, rotated and moved to (x, z)."""
    for i in range(len(points)):
        east, up, south = points[i, 0] - x, points[i, 1], points[i, 2] - z
        own_x, own_z = cos * east - sin * south, sin * east + cos * south
        for k in range(len(boxes)):
            if (
                abs(own_x - boxes[k, 0, 0]) < boxes[k, 1, 0] + margin
                and abs(up - boxes[k, 0, 1]) < boxes[k, 1, 1] + margin
                and abs(own_z - boxes[k, 0, 2]) < boxes[k, 1, 2] + margin
            ):
                return True
    return False


def between(rng: np.random.Generator, low: float, high: float) -> float:
    """Draw as `rng.uniform(low, high)` does, four times as fast: a scene takes about fifty such numbers."""
    return low + (high - low) * rng.random()


def turn_about_y(angle: float) -> Floats:
    """Return the rotation about the vertical axis that turns +z toward +x."""
    cos, sin = float(np.cos(angle)), float(np.sin(angle))
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
    height = (between(rng, 0.38, 0.5), between(rng, 0.68, 0.78))[int(rng.integers(2))]
    half_x, half_z = between(rng, 0.3, 0.9), between(rng, 0.25, 0.45)
    top: Slab = ((0, height - 0.015, 0), (half_x, 0.015, half_z))
    return Piece("table", (top, *_legs(half_x, half_z, height - 0.03, between(rng, 0.03, 0.07))))


@dataclass(frozen=True)
class Sitter:
    """The dimensions a seat must fit: meters, relative to the point on the floor below the hips, facing +z.

    Parameters
    ----------
    height : float
        Height of the underside of the thighs.
    reach : float
        Distance from the hips to the back.
    front : float
        Distance from the hips forward to where the legs bend down.
    """

    height: float
    reach: float
    front: float


def _random_sitter(rng: np.random.Generator) -> Sitter:
    return Sitter(between(rng, 0.40, 0.50), between(rng, 0.18, 0.25), between(rng, 0.2, 0.3))


def chair(rng: np.random.Generator, sitter: Sitter | None = None) -> Piece:
    """Draw a chair, fitted to a sitter if there is one."""
    fit = sitter or _random_sitter(rng)
    height, back_z = fit.height, -max(fit.reach, 0.12)
    half_x = between(rng, 0.20, 0.26)
    front_z = min(back_z + between(rng, 0.40, 0.50), fit.front)
    middle, half_seat = (back_z + front_z) / 2, (front_z - back_z) / 2
    seat: Slab = ((0, height - 0.02, middle), (half_x, 0.02, half_seat))
    legs = tuple(((x, y, z + middle), h) for (x, y, z), h in _legs(half_x, half_seat, height - 0.04, 0.035))
    back_half = between(rng, 0.18, 0.28)
    back: Slab = ((0, height + 0.12 + back_half, back_z - 0.02), (half_x, back_half, 0.02))
    posts = tuple(((s * (half_x - 0.02), height + 0.1, back_z - 0.02), (0.015, 0.12, 0.015)) for s in (-1, 1))
    return Piece("chair", (seat, back, *posts, *legs))


def stool(rng: np.random.Generator, sitter: Sitter | None = None) -> Piece:
    """Draw a stool, or a crate to sit on."""
    fit = sitter or _random_sitter(rng)
    height, front_z = fit.height, min(fit.front, 0.25)
    half = min(between(rng, 0.16, 0.22), (front_z + 0.2) / 2)
    middle = front_z - half
    if rng.random() < 0.5:
        return Piece("crate", (((0, height / 2, middle), (half, height / 2, half)),))
    legs = tuple(((x, y, z + middle), h) for (x, y, z), h in _legs(half, half, height - 0.04, 0.03))
    return Piece("stool", (((0, height - 0.02, middle), (half, 0.02, half)), *legs))


def pedestal(rng: np.random.Generator, sitter: Sitter | None = None) -> Piece:
    """Draw a small seat on one leg, which leaves space for feet below and clothes around."""
    fit = sitter or _random_sitter(rng)
    half = between(rng, 0.10, 0.14)
    middle = min(fit.front, 0.1) - half
    foot: Slab = ((0, 0.015, middle), (0.15, 0.015, 0.15))
    leg: Slab = ((0, fit.height / 2, middle), (0.025, fit.height / 2 - 0.02, 0.025))
    return Piece("pedestal", (((0, fit.height - 0.02, middle), (half, 0.02, half)), leg, foot))


def sofa(rng: np.random.Generator, sitter: Sitter | None = None) -> Piece:
    """Draw a sofa or armchair with a back and arms."""
    fit = sitter or _random_sitter(rng)
    height, back_z = fit.height, -max(fit.reach, 0.14)
    half_x = (0.42, 0.75, 1.0)[int(rng.integers(3))] * between(rng, 0.9, 1.1)
    front_z = min(back_z + between(rng, 0.55, 0.65), fit.front)
    middle, half_z = (back_z + front_z) / 2, (front_z - back_z) / 2
    thick = between(rng, 0.08, 0.12)
    back_half = between(rng, 0.2, 0.27)
    slabs: list[Slab] = [
        ((0, height / 2 + 0.01, middle), (half_x, height / 2 - 0.01, half_z)),
        ((0, height / 2 + back_half, back_z - thick), (half_x, height / 2 + back_half, thick)),
    ]
    slabs += [((s * (half_x + 0.07), 0.30, middle - 0.05), (0.07, 0.30, half_z + 0.05)) for s in (-1, 1)]
    return Piece("sofa", tuple(slabs))


def shelf(rng: np.random.Generator) -> Piece:
    """Draw a bookshelf, partly filled."""
    half_x, half_z, height = between(rng, 0.25, 0.6), between(rng, 0.12, 0.2), between(rng, 0.8, 2.1)
    n_boards = int(rng.integers(3, 6))
    slabs: list[Slab] = [((0, height / 2, -half_z + 0.01), (half_x, height / 2, 0.01))]
    slabs += [((s * half_x, height / 2, 0), (0.012, height / 2, half_z)) for s in (-1, 1)]
    for i in range(n_boards):
        y = height * i / (n_boards - 1)
        slabs.append(((0, min(max(y, 0.012), height - 0.012), 0), (half_x, 0.012, half_z)))
        if i + 1 < n_boards and rng.random() < 0.7:
            filled = between(rng, 0.2, 0.9) * half_x
            tall = between(rng, 0.3, 0.45) * height / (n_boards - 1)
            slabs.append(((filled - half_x, y + tall, -0.02), (filled, tall, half_z - 0.04)))
    return Piece("shelf", tuple(slabs))


def crate(rng: np.random.Generator) -> Piece:
    """Draw a box, a cabinet or a suitcase."""
    half_x, half_z, height = between(rng, 0.12, 0.4), between(rng, 0.12, 0.35), between(rng, 0.2, 1.1)
    return Piece("crate", (((0, height / 2, 0), (half_x, height / 2, half_z)),))


KINDS: tuple[Callable[[np.random.Generator], Piece], ...] = (table, table, chair, chair, sofa, shelf, crate)
"""Furniture of a room, in proportion to how often each is listed."""

SEATS: tuple[Callable[[np.random.Generator, Sitter], Piece], ...] = (chair, chair, sofa, stool)
LOW_KINDS: tuple[Callable[[np.random.Generator], Piece], ...] = (table, table, chair, crate)
"""Furniture that may stand between the camera and a person."""
