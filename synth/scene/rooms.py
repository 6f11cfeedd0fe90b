"""Cluttered rooms: walls at an angle to the camera, and what stands and hangs between them.

`inventory` supplies the things; this module finds places for them within view and away from people.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from depthforest.base import Floats, Singles, kernel
from synth.config import Config
from synth.scene.furniture import CLEARANCE, Piece, PlacedPiece, _keeps_apart, between
from synth.scene.inventory import Inventory
from synth.scene.shapes import COLUMN
from synth.scene.stage import PlacedPerson, View

CEILING = (2.3, 3.2)
WALL_CLEARANCE = 0.45
"""Least distance, in meters, from the camera to the walls."""

NEAR_CLEARANCE = 0.3
"""Least distance, in meters, from the camera to clutter."""

SLANT = 0.5
"""Standard deviation, in radians, of the angle between the back wall and the image plane."""

CLOSE_UP_SHARE, NEAR_SHARE = 0.2, 0.25
"""Share of rooms with a full table close to the camera; share of standing things that are cut off by the border."""

TRIES = 5
REACH = 13.0
"""Size in meters of walls, floor and ceiling."""


@dataclass(frozen=True)
class Wall:
    """A wall: its inner side faces `yaw`, and the camera is `distance` meters in front of it."""

    yaw: float
    distance: float

    @cached_property
    def inward(self) -> tuple[float, float]:
        """Its inward normal (x, z)."""
        return math.sin(self.yaw), math.cos(self.yaw)

    def depth_of(self, points: Floats | Singles) -> float:
        """Return the distance of the points (n, 3) from the wall, of the closest one; negative if it is behind."""
        x, z = self.inward
        return float((points[:, 0] * x + points[:, 2] * z).min()) + self.distance

    def hit(self, slope: float) -> float:
        """Return how far away, along -z, a ray (slope, -1) from the camera hits the wall; inf if never."""
        x, z = self.inward
        toward = z - slope * x
        return self.distance / toward if toward > 1e-6 else math.inf

    def corners(self, height: float) -> list[tuple[float, float, float]]:
        """Return the corners of the wall's quad."""
        (x, z), (along_x, along_z) = self.inward, (math.cos(self.yaw), -math.sin(self.yaw))
        ends = [(-self.distance * x + s * along_x, -self.distance * z + s * along_z) for s in (-REACH, REACH)]
        (ax, az), (bx, bz) = ends
        return [(ax, 0.0, az), (bx, 0.0, bz), (bx, height, bz), (ax, height, az)]


@dataclass(frozen=True)
class Room:
    """The walls of a room and the height of its ceiling, which it has only if it has walls."""

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


def draw_room(
    rng: np.random.Generator, config: Config, view: View, inside: Singles, leaning: float | None = None
) -> Room:
    """Draw the walls around some points (n, 3).

    Parameters
    ----------
    leaning : float, optional
        Yaw of a person among the points who leans against a wall; this wall then exists.
    """
    slant = min(max(rng.normal(0.0, SLANT), -1.1), 1.1)
    backed = -1
    if leaning is not None:  # find which of back, left and right wall is behind them
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
    """Return the range of distances of the back wall (0) or a side wall, if nobody needs more room."""
    if is_corridor:
        return (3.0, config.depth_limit + 2) if wall == 0 else (0.5, 1.1)
    return (1.3, config.depth_limit + 1) if wall == 0 else (0.6, 3.5)


class Furnisher:
    """Finds places for clutter in a room.

    Parameters
    ----------
    rng : numpy Generator
    config : Config
    inventory : Inventory
    view : View
    room : Room
    people : sequence of PlacedPerson
        The main one first; nobody in an empty room.
    pieces : sequence of PlacedPiece
        Pieces that are already there.
    """

    def __init__(
        self,
        rng: np.random.Generator,
        config: Config,
        inventory: Inventory,
        view: View,
        room: Room,
        people: Sequence[PlacedPerson],
        pieces: Sequence[PlacedPiece],
    ) -> None:
        self.rng, self.config, self.inventory = rng, config, inventory
        self.view, self.room, self.people = view, room, people
        self.pieces: list[PlacedPiece] = []
        self.half_width = view.camera.width / 2 / view.camera.fx
        n = len(pieces) + config.clutter[1] + 1
        self._footprints, self._heights = np.empty((n, 4, 2)), np.empty((n, 2))
        self._walls = np.array([(*wall.inward, wall.distance) for wall in room.walls]).reshape(-1, 3)
        self._circles = [_circle(person) for person in people]
        main = people[0] if people else None
        # the height of the camera and the direction of the person who must stay visible
        self._eye = np.array([view.height, main.x, main.z] if main else [view.height, 0.0, 0.0])
        for piece in pieces:
            self._add(piece)

    def furnish(self, *, is_close_up: bool = False) -> list[PlacedPiece]:
        """Return all pieces, old ones and new clutter; a close-up has a full table in front of the camera."""
        rng, config = self.rng, self.config
        blocks = rng.random() < config.blocked_share
        if is_close_up or rng.random() < CLOSE_UP_SHARE:
            self._close_up()
        for number in range(int(rng.integers(config.clutter[0], config.clutter[1] + 1))):
            chance = rng.random() if self.room.walls else 1.0
            if self.people and blocks and number == 0:
                self._between()
            elif chance < 0.3:
                self._hang()
            elif chance < 0.42:
                self._hang_high()
            elif chance < 0.7:
                self._stand_at_wall()
            else:
                self._stand()
        return self.pieces

    def _draw(self, group: str) -> Piece:
        rng, piece = self.rng, self.inventory.draw(self.rng, group)
        if self.config.lost_share == 0 or rng.random() >= self.config.lost_share:
            return piece
        # the whole piece, or the parts that shine
        rows = piece.shapes.copy()
        lost = np.ones(len(rows)) if rng.random() < 0.25 else (rng.random(len(rows)) < 0.5).astype(float)
        rows[:, COLUMN["lost"]] = np.maximum(rows[:, COLUMN["lost"]], lost)
        return dataclasses.replace(piece, shapes=rows)

    def _add(self, placed: PlacedPiece) -> None:
        n = len(self.pieces)
        self._footprints[n] = placed.footprint
        self._heights[n] = placed.piece.extent[:, 1]
        self.pieces.append(placed)

    def _keep(self, placed: PlacedPiece, *, may_hide: bool = False, is_at_wall: bool = False) -> bool:
        """Add a piece if there is room for it."""
        n = len(self.pieces)
        heights = placed.piece.extent[:, 1]
        walls = self._walls[:0] if is_at_wall else self._walls
        eye = self._eye[:1] if may_hide or not self.people else self._eye
        if not _fits(placed.footprint, heights, self._footprints[:n], self._heights[:n], walls, eye):
            return False
        if self.people:
            low, high = placed.piece.extent.tolist()
            radius = math.hypot(max(-low[0], high[0]), max(-low[2], high[2])) + CLEARANCE
            for person, (x, z, reach) in zip(self.people, self._circles, strict=True):
                if math.hypot(x - placed.x, z - placed.z) < reach + radius and placed.touches(person.probes):
                    return False
        self._add(placed)
        return True

    def _chances(self) -> list[list[float]]:
        """Draw the random numbers of all tries at once: three from 0 to 1 for each."""
        chances: list[list[float]] = self.rng.random((TRIES, 3)).tolist()
        return chances

    def _close_up(self) -> None:
        """Put a full table in front of the camera, if the camera is above it."""
        table = self._draw("desk")
        for far, aside, turn in self._chances():
            placed = PlacedPiece(table, 0.8 * aside - 0.4, -0.6 - 0.7 * far, 1.6 * turn - 0.8)
            if self._keep(placed, may_hide=True):
                return

    def _between(self) -> None:
        """Put something low between the camera and the main person."""
        main = self.people[0]
        for far, aside, turn in self._chances():
            share = 0.4 + 0.45 * far
            placed = PlacedPiece(self._draw("low"), main.x * share + aside - 0.5, main.z * share, 2 * math.pi * turn)
            if self._keep(placed, may_hide=True):
                return

    def _stand(self) -> None:
        """Put something anywhere on the floor, sometimes where the border of the image cuts it off."""
        piece, is_near = self._draw("standing"), self.rng.random() < NEAR_SHARE
        for far, aside, turn in self._chances():
            slope = (2.4 * aside - 1.2) * self.half_width
            if is_near:
                slope = math.copysign(0.5 * self.half_width + 0.75 * abs(slope), slope)
            nearest, farthest = (0.5, 1.3) if is_near else (0.9, self.config.depth_limit)
            distance = nearest + far * (min([farthest, *(w.hit(slope) - 0.2 for w in self.room.walls)]) - nearest)
            if self._keep(PlacedPiece(piece, slope * distance, -distance, 2 * math.pi * turn)):
                return

    def _at_wall(self, aside: float) -> tuple[float, float, float] | None:
        """Return (x, z, yaw) of a visible place at the foot of a wall; `aside` selects it, from 0 to 1."""
        slope = (2.3 * aside - 1.15) * self.half_width
        distance, yaw = min((wall.hit(slope), wall.yaw) for wall in self.room.walls)
        if not 0.4 < distance < self.config.depth_limit + 2:
            return None
        return slope * distance, -distance, yaw

    def _stand_at_wall(self) -> None:
        piece = self._draw("standing")
        for _, aside, turn in self._chances():
            place = self._at_wall(aside)
            if place is not None:
                x, z, yaw = place
                gap = 0.01 + 0.15 * turn * turn - float(piece.extent[0, 2])
                placed = PlacedPiece(piece, x + gap * math.sin(yaw), z + gap * math.cos(yaw), yaw + 0.2 * turn - 0.1)
                if self._keep(placed, is_at_wall=True):
                    return

    def _hang(self) -> None:
        piece = self._draw("wall")
        for _, aside, _ in self._chances():
            place = self._at_wall(aside)
            if place is not None and self._keep(PlacedPiece(piece, *place), is_at_wall=True):
                return

    def _hang_high(self) -> None:
        """Hang something from the ceiling."""
        piece = _raised(self._draw("ceiling"), self.room.ceiling)
        for far, aside, turn in self._chances():
            distance = 0.8 + min(3.7, self.config.depth_limit - 0.8) * far
            x = (2 * aside - 1) * self.half_width * distance
            yaw = self.room.walls[0].yaw + math.pi / 2 * int(2 * turn)
            if self._keep(PlacedPiece(piece, x, -distance, yaw), is_at_wall=True):
                return


def _raised(piece: Piece, height: float) -> Piece:
    """Return a piece that hangs from a ceiling, without its stretch in height."""
    rows = piece.shapes.copy()
    rows[:, COLUMN["y"]] += height
    return dataclasses.replace(piece, shapes=rows)


def _circle(person: PlacedPerson) -> tuple[float, float, float]:
    """Return center (x, z) and radius of a circle around a person, seen from above."""
    (low_x, _, low_z), (high_x, _, high_z) = person.extent.tolist()
    return (low_x + high_x) / 2, (low_z + high_z) / 2, math.hypot(high_x - low_x, high_z - low_z) / 2


@kernel
def _fits(
    footprint: Floats, heights: Floats, others: Floats, other_heights: Floats, walls: Floats, eye: Floats
) -> bool:
    """Tell whether a piece stays clear of the camera, the walls, other pieces and the view of the main person.

    Parameters
    ----------
    footprint, heights : array (4, 2), (2,)
        Corners on the floor, lowest and highest point.
    others, other_heights : array (n, 4, 2), (n, 2)
        Footprints and heights of the other pieces.
    walls : array (m, 3)
        Inward normals and distances.
    eye : array (1,) or (3,)
        Height of the camera; followed by x and z of the main person if the piece must not hide them.
    """
    low, high = heights[0], heights[1]
    is_level = low < eye[0] + NEAR_CLEARANCE and high > eye[0] - NEAR_CLEARANCE
    if is_level and _distance_to_origin(footprint) < NEAR_CLEARANCE:
        return False
    for k in range(len(walls)):
        for i in range(4):
            if footprint[i, 0] * walls[k, 0] + footprint[i, 1] * walls[k, 1] + walls[k, 2] < 0:
                return False
    if len(eye) > 1 and low < 1.9 and high > 0.45 and _is_before(footprint, eye[1], eye[2]):
        return False
    for k in range(len(others)):
        if low < other_heights[k, 1] and other_heights[k, 0] < high:
            other = others[k]
            if not (_keeps_apart(footprint, other) or _keeps_apart(other, footprint)):
                return False
    return True


@kernel
def _is_before(footprint: Floats, x: float, z: float) -> bool:
    """Tell whether a footprint is closer than a person and within 0.25 m of the line of sight to them."""
    low, high, nearest = np.inf, -np.inf, np.inf
    for i in range(4):
        distance = max(-footprint[i, 1], 0.05)
        aside = footprint[i, 0] - x / -z * distance
        low, high, nearest = min(low, aside), max(high, aside), min(nearest, distance)
    return nearest < -z and low < 0.25 and high > -0.25


@kernel
def _distance_to_origin(corners: Floats) -> float:
    """Return the distance of a convex polygon (4, 2) from the origin; 0 if it contains the origin."""
    least, n_left = np.inf, 0
    for i in range(4):
        ax, az = corners[i, 0], corners[i, 1]
        dx, dz = corners[(i + 1) % 4, 0] - ax, corners[(i + 1) % 4, 1] - az
        along = min(max(-(ax * dx + az * dz) / max(dx * dx + dz * dz, 1e-12), 0.0), 1.0)
        least = min(least, math.hypot(ax + along * dx, az + along * dz))
        n_left += dx * az - dz * ax > 0
    return 0.0 if n_left == 0 or n_left == 4 else least
