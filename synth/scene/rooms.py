"""Cluttered rooms: walls that stand askew to the camera, and what stands and hangs between them.

`things` and `hangings` draw what there is; this module finds places for it that are in view, where nobody is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from depthforest.base import Floats, Singles
from synth.config import Config
from synth.scene.furniture import PlacedPiece, Piece, between
from synth.scene.hangings import CEILING_HANGINGS, WALL_HANGINGS
from synth.scene.shapes import COLUMN, Rows, rows_of
from synth.scene.stage import PlacedPerson, View
from synth.scene.things import LOWS, STANDINGS, desk

CEILING = (2.3, 3.2)
WALL_CLEARANCE = 0.45
"""Meters from the camera to the walls, at least."""

NEAR_CLEARANCE = 0.3
"""Meters from the camera to clutter, at least."""

SLANT = 0.5
"""Standard deviation, in radians, of the angle between the back wall and the picture."""

TRIES = 6
REACH = 13.0
"""Meters that walls, floor and ceiling extend."""


@dataclass(frozen=True)
class Wall:
    """A wall: its inward side faces `yaw`, and the camera is `distance` meters before it."""

    yaw: float
    distance: float

    @property
    def inward(self) -> tuple[float, float]:
        """Its normal as (x, z)."""
        return math.sin(self.yaw), math.cos(self.yaw)

    def depth_of(self, points: Floats | Singles) -> float:
        """Return how far the outermost of some points (n, 3) is before the wall; negative if it is behind."""
        x, z = self.inward
        return float((points[:, 0] * x + points[:, 2] * z).min()) + self.distance

    def hit(self, slope: float) -> float:
        """Return how far away, along -z, a ray (slope, -1) from the camera meets the wall; inf if never."""
        x, z = self.inward
        towards = z - slope * x
        return self.distance / towards if towards > 1e-6 else math.inf

    def corners(self, height: float) -> list[tuple[float, float, float]]:
        """Return the corners of its quad."""
        (x, z), (along_x, along_z) = self.inward, (math.cos(self.yaw), -math.sin(self.yaw))
        ends = [(-self.distance * x + s * along_x, -self.distance * z + s * along_z) for s in (-REACH, REACH)]
        (ax, az), (bx, bz) = ends
        return [(ax, 0.0, az), (bx, 0.0, bz), (bx, height, bz), (ax, height, az)]


@dataclass(frozen=True)
class Room:
    """Walls, those that there are, and the height of the ceiling; without walls there is none."""

    walls: tuple[Wall, ...]
    ceiling: float

    def holds(self, points: Floats | Singles) -> bool:
        """Tell whether all points (n, 3) are between the walls."""
        return all(wall.depth_of(points) > 0 for wall in self.walls)

    def quads(self) -> Floats:
        """Return corners (n, 4, 3) of floor, walls and ceiling."""
        floor = [(-REACH, 0.0, 1.0), (REACH, 0.0, 1.0), (REACH, 0.0, -REACH), (-REACH, 0.0, -REACH)]
        quads = [floor, *(wall.corners(self.ceiling) for wall in self.walls)]
        if self.walls:
            quads.append([(x, self.ceiling, z) for x, _, z in floor])
        return np.array(quads)


def draw_room(rng: np.random.Generator, config: Config, view: View, inside: Singles, leaning: float | None = None) -> Room:
    """Draw the walls around some points (n, 3).

    Parameters
    ----------
    leaning : float, optional
        Yaw of somebody among the points whose back is at the wall; the wall is then there.
    """
    slant = min(max(rng.normal(0.0, SLANT), -1.1), 1.1)
    backed = -1
    if leaning is not None:  # which of back, left and right wall is behind them
        backed = 0 if abs(leaning) < math.pi / 4 else 1 if leaning > 0 else 2
        slant = leaning - (0.0, math.pi / 2, -math.pi / 2)[backed]
    is_corridor = leaning is None and rng.random() < 0.12
    has_walls = leaning is not None or rng.random() < config.wall_share
    walls = []
    for k, turn in enumerate((0.0, math.pi / 2, -math.pi / 2)):
        wall = Wall(slant + turn, 0.0)
        need = max(WALL_CLEARANCE, -wall.depth_of(inside) if len(inside) else 0.0)
        wide, gap, chance = between(rng, *_widths(config, k, is_corridor)), rng.random(), rng.random()
        if k == backed:
            distance = max(WALL_CLEARANCE, -wall.depth_of(inside) + 0.1 * gap)
        else:
            distance = max(need + 0.05 + gap * gap, wide)
        if has_walls and (k in (0, backed) or is_corridor or chance < 0.6):
            walls.append(Wall(wall.yaw, distance))
    ceiling = max(between(rng, *CEILING), view.height + 0.45)
    return Room(tuple(walls), ceiling)


def _widths(config: Config, wall: int, is_corridor: bool) -> tuple[float, float]:
    """Return from where to where the back (0) or a side wall is, if nobody needs more room."""
    if is_corridor:
        return (3.0, config.depth_limit + 2) if wall == 0 else (0.5, 1.1)
    return (1.3, config.depth_limit + 1) if wall == 0 else (0.6, 3.5)


class Furnisher:
    """Finds places for clutter in a room.

    Parameters
    ----------
    rng : numpy Generator
    config : Config
    view : View
    room : Room
    people : sequence of PlacedPerson
        The main one first; nobody in an empty room.
    pieces : sequence of PlacedPiece
        What is there already.
    """

    def __init__(
        self,
        rng: np.random.Generator,
        config: Config,
        view: View,
        room: Room,
        people: Sequence[PlacedPerson],
        pieces: Sequence[PlacedPiece],
    ) -> None:
        self.rng, self.config, self.view, self.room, self.people = rng, config, view, room, people
        self.pieces = list(pieces)
        self.half_width = view.camera.width / 2 / view.camera.fx
        self._circles = [_circle(person) for person in people]

    def furnish(self) -> list[PlacedPiece]:
        """Return all pieces, those that were there and the clutter."""
        rng, config = self.rng, self.config
        blocks = rng.random() < config.blocked_share
        if rng.random() < 0.25:
            self._close_up()
        for number in range(int(rng.integers(config.clutter[0], config.clutter[1] + 1))):
            chance = rng.random()
            if self.people and blocks and number == 0:
                self._between()
            elif chance < 0.3 and self.room.walls:
                self._hang()
            elif chance < 0.42 and self.room.walls:
                self._hang_high()
            elif chance < 0.7 and self.room.walls:
                self._stand_at_wall()
            else:
                self._stand(is_near=chance > 0.93)
        return self.pieces

    def _draw(self, kinds: Sequence[object], *, up: float = 0.0) -> Piece:
        make = kinds[int(self.rng.integers(len(kinds)))]
        piece = piece_of(make.__name__, make(self.rng))  # type: ignore[attr-defined,operator]
        rows = piece.shapes
        rows[:, COLUMN["y"]] += up
        if self.config.lost_share > 0 and self.rng.random() < self.config.lost_share:
            # all of it, or the parts that shine
            lost = np.ones(len(rows)) if self.rng.random() < 0.4 else (self.rng.random(len(rows)) < 0.5).astype(float)
            rows[:, COLUMN["lost"]] = np.maximum(rows[:, COLUMN["lost"]], lost)
        return piece

    def _keep(self, placed: PlacedPiece, *, hides_nobody: bool = True, is_at_wall: bool = False) -> bool:
        """Keep a piece if there is room for it."""
        low, high = placed.piece.extent.tolist()
        radius = math.hypot(max(-low[0], high[0]), max(-low[2], high[2]))
        is_low = high[1] < self.view.height - NEAR_CLEARANCE or low[1] > self.view.height + NEAR_CLEARANCE
        if not is_low and math.hypot(placed.x, placed.z) < radius + NEAR_CLEARANCE:
            corners = np.insert(placed.footprint, 1, 0.0, axis=1)
            if _distance_to_origin(corners[:, [0, 2]]) < NEAR_CLEARANCE:
                return False
        if self.people and hides_nobody and self._hides(placed, low[1], high[1], radius):
            return False
        if not is_at_wall and not self.room.holds(np.insert(placed.footprint, 1, 0.0, axis=1)):
            return False
        if any(placed.meets(other) for other in self.pieces):
            return False
        for person, (x, z, reach) in zip(self.people, self._circles, strict=True):
            if math.hypot(x - placed.x, z - placed.z) < reach + radius + 0.05 and placed.touches(person.probes):
                return False
        self.pieces.append(placed)
        return True

    def _hides(self, placed: PlacedPiece, low: float, high: float, radius: float) -> bool:
        """Tell whether a piece stands in the view of the main person, and is not low or above."""
        main, distance = self.people[0], -placed.z
        if distance >= -main.z or distance <= 0 or low > 1.9 or high < 0.45:
            return False
        return abs(placed.x / distance + main.x / main.z) * distance < radius + 0.2

    def _close_up(self) -> None:
        """Put a full table before the camera, if the camera is above it."""
        table = piece_of("desk", desk(self.rng, is_full=True))
        for _ in range(TRIES):
            z = -between(self.rng, 0.6, 1.3)
            x = between(self.rng, -0.4, 0.4)
            if self._keep(PlacedPiece(table, x, z, self.rng.normal(0.0, 0.4)), hides_nobody=False):
                return

    def _between(self) -> None:
        main = self.people[0]
        for _ in range(TRIES):
            share = between(self.rng, 0.4, 0.85)
            x, z = main.x * share + self.rng.normal(0.0, 0.25), main.z * share
            piece = self._draw(LOWS)
            if self._keep(PlacedPiece(piece, x, z, 2 * math.pi * self.rng.random()), hides_nobody=False):
                return

    def _stand(self, *, is_near: bool) -> None:
        """Put something anywhere on the floor; near, where the border of the picture cuts it."""
        rng = self.rng
        piece = self._draw(STANDINGS)
        for _ in range(TRIES):
            distance = between(rng, 0.5, 1.2) if is_near else between(rng, 0.9, self.config.depth_limit)
            slope = between(rng, -1.2, 1.2) * self.half_width
            if is_near:
                slope = math.copysign(between(rng, 0.5, 1.4) * self.half_width, slope)
            if self._keep(PlacedPiece(piece, slope * distance, -distance, 2 * math.pi * rng.random())):
                return

    def _at_wall(self) -> tuple[float, float, float] | None:
        """Return (x, z, yaw) of a place at the foot of a wall that is in view."""
        wall = self.room.walls[int(self.rng.integers(len(self.room.walls)))]
        slope = between(self.rng, -1.15, 1.15) * self.half_width
        distance = wall.hit(slope)
        nearest = min(other.hit(slope) for other in self.room.walls)
        if not 0.4 < distance < self.config.depth_limit + 2 or distance > nearest + 1e-9:
            return None
        return slope * distance, -distance, wall.yaw

    def _stand_at_wall(self) -> None:
        piece = self._draw(STANDINGS)
        gap = between(self.rng, 0.01, 0.15) - piece.extent[0, 2]
        for _ in range(TRIES):
            place = self._at_wall()
            if place is not None:
                x, z, yaw = place
                x, z = x + gap * math.sin(yaw), z + gap * math.cos(yaw)
                if self._keep(PlacedPiece(piece, x, z, yaw + self.rng.normal(0.0, 0.08)), is_at_wall=True):
                    return

    def _hang(self) -> None:
        piece = self._draw(WALL_HANGINGS)
        for _ in range(TRIES):
            place = self._at_wall()
            if place is not None and self._keep(PlacedPiece(piece, *place), is_at_wall=True):
                return

    def _hang_high(self) -> None:
        """Hang something under the ceiling."""
        rng = self.rng
        piece = self._draw(CEILING_HANGINGS, up=self.room.ceiling)
        for _ in range(TRIES):
            distance = between(rng, 0.8, min(4.5, self.config.depth_limit))
            x = between(rng, -1.0, 1.0) * self.half_width * distance
            yaw = self.room.walls[0].yaw + math.pi / 2 * int(rng.integers(2))
            if self._keep(PlacedPiece(piece, x, -distance, yaw), is_at_wall=True):
                return


def piece_of(name: str, shapes: Rows) -> Piece:
    """Return shapes as a piece."""
    return Piece(name, (), rows_of(shapes))


def _circle(person: PlacedPerson) -> tuple[float, float, float]:
    """Return center (x, z) and radius of a circle around a person, seen from above."""
    (low_x, _, low_z), (high_x, _, high_z) = person.extent.tolist()
    return (low_x + high_x) / 2, (low_z + high_z) / 2, math.hypot(high_x - low_x, high_z - low_z) / 2


def _distance_to_origin(corners: Floats) -> float:
    """Return how far a convex polygon (n, 2) is from the origin; 0 if it holds it."""
    least, is_inside = math.inf, True
    points = corners.tolist()
    turn = 0.0
    for (ax, az), (bx, bz) in zip(points, points[1:] + points[:1], strict=True):
        dx, dz = bx - ax, bz - az
        along = min(max(-(ax * dx + az * dz) / max(dx * dx + dz * dz, 1e-12), 0.0), 1.0)
        least = min(least, math.hypot(ax + along * dx, az + along * dz))
        side = dx * az - dz * ax
        turn = turn or side
        is_inside &= side * turn > 0
    return 0.0 if is_inside else least
