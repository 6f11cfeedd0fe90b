"""Scenes: people and furniture on a floor between walls, and a camera that looks at them.

World space: metres, x to the camera's right, y up, z towards the camera (right-handed); the camera is above the origin
and looks along -z. At yaw 0 a person faces the camera, the person's left on the camera's right.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt

from depthforest.base import Floats, Singles, kernel
from depthforest.frames import Camera
from synth.bodies import BONE, Body
from synth.config import Config
from synth.scene.furniture import (
    KINDS,
    LOW_KINDS,
    SEATS,
    PlacedPiece,
    Sitter,
    between,
    box_faces,
    pedestal,
    turn_about_y,
)
from synth.scene.rendering import Mesh
from synth.scene.skinning import PosedBody

SEAT_GAP = 0.025
"""Metres between a seat and who sits on it: a little more than `furniture.CLEARANCE`."""

LOWEST_SEAT = 0.2
"""Metres: who sits lower, squats."""

CAMERA_CLEARANCE = 0.35
"""Metres around the camera that stay free."""

VOXEL = 0.08
"""Metres: people who share a cube of this size have run into each other."""

PROBED_EVERY = 5
"""One vertex in so many is tested for collisions; a body has one every 1 to 2 cm."""

CEILING = (2.4, 3.2)
TRIES = 8
"""How often a place for a piece or a person is looked for before it is left out."""

_THIGHS = tuple((BONE[f"{side}UpLeg"], BONE[f"{side}Leg"]) for side in ("Left", "Right"))


@dataclass(frozen=True, eq=False)
class Person:
    """A posed body before it has a place: its parts come from `body`, its shape from `posed`."""

    body: Body
    posed: PosedBody

    def placed(self, x: float, z: float, yaw: float) -> PlacedPerson:
        """Return the person at (x, z), turned by `yaw`."""
        return PlacedPerson(self, x, z, yaw)


@dataclass(frozen=True, eq=False)
class PlacedPerson:
    """A person in the world, at (x, z), turned by `yaw` radians."""

    person: Person
    x: float
    z: float
    yaw: float

    @cached_property
    def move(self) -> tuple[Floats, Floats]:
        """Rotation (3, 3) and translation (3,) from body space to world space."""
        return turn_about_y(self.yaw), np.array([self.x, 0.0, self.z])

    @cached_property
    def vertices(self) -> Singles:
        """Array (n, 3): the surface in world space."""
        return moved(self.person.posed.vertices, *self.move)

    @cached_property
    def probes(self) -> Singles:
        """Some of the vertices, for tests of collision."""
        return moved(self.person.posed.vertices[::PROBED_EVERY], *self.move)

    @cached_property
    def extent(self) -> Singles:
        """Array (2, 3): lowest and highest corner of the box around the probes."""
        extent = np.empty((2, 3), dtype=np.float32)
        _measure_points(self.probes, extent)
        return extent

    @cached_property
    def joints(self) -> Floats:
        """Array (19, 3): the joints in world space."""
        turn, shift = self.move
        return self.person.posed.joints @ turn.T + shift


@dataclass(frozen=True)
class View:
    """A camera above the origin of the world: its height in metres, tilt down and roll clockwise in radians."""

    camera: Camera
    height: float
    tilt: float
    roll: float

    @cached_property
    def rotation(self) -> Floats:
        """World axes to camera axes, (3, 3)."""
        (ct, st), (cr, sr) = ((float(np.cos(a)), float(np.sin(a))) for a in (self.tilt, self.roll))
        tilt = np.array([[1, 0, 0], [0, ct, -st], [0, st, ct]])
        # the camera turned clockwise sees the world turned counter-clockwise
        roll = np.array([[cr, sr, 0], [-sr, cr, 0], [0, 0, 1]])
        return np.asarray(roll @ tilt @ np.diag([1.0, -1.0, -1.0]))

    def to_camera(self, points: Floats) -> Floats:
        """Return world points (..., 3) in camera space."""
        return np.asarray((points - np.array([0, self.height, 0])) @ self.rotation.T)


@dataclass(frozen=True, eq=False)
class Scene:
    """What the camera looks at.

    Parameters
    ----------
    view : View
    people : tuple of PlacedPerson
        The main one first.
    pieces : tuple of PlacedPiece
        Furniture.
    walls : array (n, 4, 3), float64
        Corners in world space of floor, walls and ceiling.
    """

    view: View
    people: tuple[PlacedPerson, ...]
    pieces: tuple[PlacedPiece, ...] = ()
    walls: Floats = field(default_factory=lambda: np.empty((0, 4, 3)))

    def meshes(self) -> list[Mesh]:
        """Return everything in camera space; person ids count from 1."""
        found = []
        for i, placed in enumerate(self.people, start=1):
            # from body space to camera space in one go
            turn, shift = placed.move
            surface = moved(placed.person.posed.vertices, self.view.rotation @ turn, self.view.to_camera(shift))
            found.append(Mesh.of_body(placed.person.body, surface, i))
        corners = np.concatenate([*(piece.corners for piece in self.pieces), self.walls.reshape(-1, 3)])
        if len(corners):
            faces = _room_faces(sum(len(piece.piece.slabs) for piece in self.pieces), len(self.walls))
            found.append(Mesh(self.view.to_camera(corners).astype(np.float32), faces))
        return found


@lru_cache(maxsize=512)
def _room_faces(n_boxes: int, n_walls: int) -> npt.NDArray[np.int32]:
    """Return the faces of boxes (8 corners each), and after them of walls (4 corners each)."""
    walls = np.array([[0, 1, 2], [0, 2, 3]]) + 8 * n_boxes + 4 * np.arange(n_walls)[:, None, None]
    faces = np.concatenate([box_faces(n_boxes), walls.reshape(-1, 3)]).astype(np.int32)
    faces.setflags(write=False)
    return faces


def moved(points: Singles, rotation: Floats, translation: Floats) -> Singles:
    """Return points (n, 3), turned and moved."""
    out = np.empty((len(points), 3), dtype=np.float32)
    _move(np.ascontiguousarray(points), rotation.astype(np.float32), translation.astype(np.float32), out)
    return out


@kernel
def _move(points: Singles, rotation: Singles, translation: Singles, out: Singles) -> None:
    for i in range(len(points)):
        x, y, z = points[i, 0], points[i, 1], points[i, 2]
        for k in range(3):
            out[i, k] = rotation[k, 0] * x + rotation[k, 1] * y + rotation[k, 2] * z + translation[k]


@kernel
def _measure_points(points: Singles, extent: Singles) -> None:
    """Write the lowest and the highest corner of the box around points."""
    extent[0], extent[1] = np.inf, -np.inf
    for i in range(len(points)):
        for axis in range(3):
            extent[0, axis] = min(extent[0, axis], points[i, axis])
            extent[1, axis] = max(extent[1, axis], points[i, axis])


def compose(rng: np.random.Generator, config: Config, camera: Camera, people: Sequence[Person]) -> Scene:
    """Draw a scene: where everyone stands, what stands around them, where the camera is."""
    main, view = _place_main(rng, config, camera, people[0])
    everyone = [main]
    for other in people[1:]:
        spot = _free_spot(rng, config, camera, other, everyone)
        if spot is not None:
            everyone.append(spot)
    probes = np.concatenate([p.probes for p in everyone])
    pieces: list[PlacedPiece] = []
    for person in everyone:
        seat = _seat(rng, config, person, probes, pieces)
        if seat is not None:
            pieces.append(seat)
    if rng.random() < config.furnished_share:
        n_pieces = int(rng.integers(config.furniture[0], config.furniture[1] + 1))
        blocks = rng.random() < config.blocked_share
        for i in range(n_pieces):
            piece = _furnish(rng, config, view, main, probes, pieces, is_between=blocks and i == 0)
            if piece is not None:
                pieces.append(piece)
    content = np.concatenate([*(p.extent for p in everyone), *(p.corners for p in pieces)])
    return Scene(view, tuple(everyone), tuple(pieces), _walls(rng, config, view, content))


def _place_main(rng: np.random.Generator, config: Config, camera: Camera, person: Person) -> tuple[PlacedPerson, View]:
    """Place the main person and aim the camera."""
    is_near = rng.random() < config.near_share
    distance = between(rng, *(config.near_distance if is_near else config.far_distance))
    half_width = camera.width / 2 / camera.fx
    x = between(rng, -config.off_center, config.off_center) * half_width * distance
    if rng.random() < config.yaw_front_share:
        yaw = math.radians(rng.normal(0.0, config.yaw_front_spread))
    else:
        yaw = between(rng, -math.pi, math.pi)
    placed = person.placed(x, -distance, yaw)
    height = between(rng, *config.camera_height)
    low, high = placed.extent[:, 1].tolist()
    # near views look at chest and face, far ones at the middle of the body
    aim = between(rng, 0.6, 0.95) if is_near else between(rng, 0.4, 0.6)
    wanted = math.atan2(height - (low + aim * (high - low)), distance)
    wanted += rng.normal(0.0, 0.15) * camera.height / 2 / camera.fy
    least, most = config.camera_tilt
    tilt = min(max(wanted, math.radians(least)), math.radians(most))
    view = View(camera, height, tilt, math.radians(between(rng, *config.camera_roll)))
    return placed, view


def _free_spot(
    rng: np.random.Generator, config: Config, camera: Camera, person: Person, others: Sequence[PlacedPerson]
) -> PlacedPerson | None:
    """Return the person somewhere in view where nobody else is; None if there is no room."""
    taken = np.concatenate([_voxels(p.probes) for p in others])
    half_width = camera.width / 2 / camera.fx
    for _ in range(TRIES):
        distance = between(rng, min(1.0, config.far_distance[0]), config.depth_limit)
        x = between(rng, -1.0, 1.0) * half_width * distance
        placed = person.placed(x, -distance, between(rng, -math.pi, math.pi))
        if not np.isin(_voxels(placed.probes), taken).any():
            return placed
    return None


def _voxels(points: Singles) -> npt.NDArray[np.int64]:
    """Return one number for each cube of `VOXEL` metres that holds a point."""
    cells = np.floor(points / VOXEL).astype(np.int64) + 512
    return np.unique((cells[:, 0] << 40) | (cells[:, 1] << 20) | cells[:, 2])


def is_sitting(posed: PosedBody) -> bool:
    """Tell whether a posed body sits: thighs about level, trunk up, hips neither on the floor nor standing."""
    at = posed.bone_heads.tolist()  # a few numbers: quicker without arrays
    for hip, knee in _THIGHS:
        if abs(at[knee][1] - at[hip][1]) > 0.55 * math.dist(at[knee], at[hip]):
            return False
    hips, neck = at[BONE["Hips"]], at[BONE["Neck"]]
    return bool(neck[1] - hips[1] > 0.7 * math.dist(neck, hips) and hips[1] > 0.3)


def _seat(
    rng: np.random.Generator, config: Config, placed: PlacedPerson, probes: Singles, others: Sequence[PlacedPiece]
) -> PlacedPiece | None:
    """Return something under a person who sits, fitted to seat and back; None for others."""
    posed = placed.person.posed
    if not is_sitting(posed) or rng.random() > config.seat_share:
        return None
    sitter = _sitter(posed)
    if sitter.height < LOWEST_SEAT:
        return None
    for make in (*(SEATS[int(i)] for i in rng.permutation(len(SEATS))), pedestal):
        seat = PlacedPiece(make(rng, sitter), placed.x, placed.z, placed.yaw)
        if not seat.touches(probes) and not any(seat.overlaps(other) for other in others):
            return seat
    return None


def _sitter(posed: PosedBody) -> Sitter:
    """Return the room that a sitting body leaves for a seat."""
    x, y, z = posed.vertices.T  # body space, the hips above the origin
    is_middle = np.abs(x) < 0.3
    is_below = is_middle & (np.abs(z - 0.03) < 0.12)
    height = float(y[is_below].min()) - SEAT_GAP if is_below.any() else 0.0
    is_back = is_middle & (y > height + 0.1) & (y < height + 0.7) & (z < 0.05)
    reach = -float(z[is_back].min()) + SEAT_GAP if is_back.any() else 0.2
    # legs and skirts that hang down through the plane of the seat end it
    hangs = is_middle & (z > 0.1) & (y < height + SEAT_GAP) & (y > height - 0.15)
    front = float(z[hangs].min()) - SEAT_GAP if hangs.any() else 0.35
    return Sitter(height, reach, min(front, 0.4))


def _furnish(
    rng: np.random.Generator,
    config: Config,
    view: View,
    main: PlacedPerson,
    probes: Singles,
    others: Sequence[PlacedPiece],
    *,
    is_between: bool,
) -> PlacedPiece | None:
    """Return a piece of furniture where nobody and nothing is; between camera and main person if asked."""
    half_width = view.camera.width / 2 / view.camera.fx
    for _ in range(TRIES):
        kinds = LOW_KINDS if is_between else KINDS
        piece = kinds[int(rng.integers(len(kinds)))](rng)
        low, high = piece.extent.tolist()
        radius = math.hypot(max(-low[0], high[0]), max(-low[2], high[2]))
        yaw = math.pi / 2 * int(rng.integers(4)) + rng.normal(0.0, 0.2)
        if is_between:
            share = between(rng, 0.4, 0.85)
            x, z = main.x * share + rng.normal(0.0, 0.25), main.z * share
        else:
            distance = between(rng, 0.8, config.depth_limit)
            x, z = between(rng, -1.2, 1.2) * half_width * distance, -distance
            # tall things that would hide the main person stand elsewhere
            hides = distance < -main.z and abs(x / distance + main.x / main.z) * distance < radius + 0.3
            if hides and high[1] > 0.5:
                continue
        placed = PlacedPiece(piece, x, z, yaw)
        is_off_camera = math.hypot(x, z) > radius + CAMERA_CLEARANCE or high[1] < view.height - CAMERA_CLEARANCE
        if is_off_camera and not placed.touches(probes) and not any(placed.overlaps(other) for other in others):
            return placed
    return None


def _walls(rng: np.random.Generator, config: Config, view: View, content: npt.NDArray[np.floating]) -> Floats:
    """Return corners (n, 4, 3) of the floor and perhaps of walls and a ceiling around all content, points (n, 3)."""
    (low_x, _, low_z), (high_x, _, _) = content.min(axis=0).tolist(), content.max(axis=0).tolist()
    back = min(low_z, -1.0) - between(rng, 0.1, 1.8)
    left, right = min(low_x, -0.6) - 0.1, max(high_x, 0.6) + 0.1
    has_walls = rng.random() < config.wall_share
    side = int(rng.integers(4)) if has_walls else 0  # 1: a wall on the left, 2: on the right
    ceiling = between(rng, *CEILING) + max(0.0, view.height - 2.0)
    far_x, near_z, far_z = 12.0, 1.0, -13.0
    floor = [(-far_x, 0.0, near_z), (far_x, 0.0, near_z), (far_x, 0.0, far_z), (-far_x, 0.0, far_z)]
    walls = [floor]
    if has_walls:
        walls.append([(-far_x, 0.0, back), (far_x, 0.0, back), (far_x, ceiling, back), (-far_x, ceiling, back)])
        if side in (1, 2):
            x = left - rng.random() if side == 1 else right + rng.random()
            walls.append([(x, 0.0, near_z), (x, 0.0, back), (x, ceiling, back), (x, ceiling, near_z)])
        walls.append([(x, ceiling, z) for x, _, z in floor])
    return np.array(walls)
