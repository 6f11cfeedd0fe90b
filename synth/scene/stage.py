"""The parts of a scene: people and pieces in the world, the walls around them and the camera in front of them.

World space: meters, x to the camera's right, y up, z toward the camera (right-handed); the camera is above the origin
and looks along -z. At yaw 0 a person faces the camera, with their left on the camera's right. `composing` draws
scenes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt

from depthforest.base import Floats, Singles, kernel
from depthforest.frames import Camera
from synth.bodies import Body
from synth.scene.furniture import PlacedPiece, box_faces, turn_about_y
from synth.scene.rendering import Mesh
from synth.scene.shapes import COLUMN, SHEET, find_seen, mesh_shapes
from synth.scene.skinning import PosedBody

PROBED_EVERY = 5
"""One vertex in this many is tested for collisions; a body has one every 1 to 2 cm."""


@dataclass(frozen=True, eq=False)
class Person:
    """A posed body without a place: its parts come from `body`, its shape from `posed`.

    Parameters
    ----------
    body : Body
    posed : PosedBody
    activity : str
        One of `config.ACTIVITIES`, or empty: determines the person's surroundings.
    """

    body: Body
    posed: PosedBody
    activity: str = ""

    def placed(self, x: float, z: float, yaw: float) -> PlacedPerson:
        """Return the person at (x, z), rotated by `yaw`."""
        return PlacedPerson(self, x, z, yaw)


@dataclass(frozen=True, eq=False)
class PlacedPerson:
    """A person in the world, at (x, z), rotated by `yaw` radians."""

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
        """Some of the vertices, for collision tests."""
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
    """A camera above the origin of the world: its height in meters, tilt down and roll clockwise in radians."""

    camera: Camera
    height: float
    tilt: float
    roll: float

    @cached_property
    def rotation(self) -> Floats:
        """World axes to camera axes, (3, 3)."""
        (ct, st), (cr, sr) = ((float(np.cos(a)), float(np.sin(a))) for a in (self.tilt, self.roll))
        tilt = np.array([[1, 0, 0], [0, ct, -st], [0, st, ct]])
        # a camera turned clockwise sees the world turned counterclockwise
        roll = np.array([[cr, sr, 0], [-sr, cr, 0], [0, 0, 1]])
        return np.asarray(roll @ tilt @ np.diag([1.0, -1.0, -1.0]))

    @cached_property
    def slopes(self) -> Floats:
        """Array (4,): x / z at the left and the right border of the image, y / z at the upper and the lower one."""
        camera = self.camera
        left, right = (-1 - camera.cx) / camera.fx, (camera.width - camera.cx) / camera.fx
        return np.array([left, right, (-1 - camera.cy) / camera.fy, (camera.height - camera.cy) / camera.fy])

    def to_camera(self, points: Floats) -> Floats:
        """Return world points (..., 3) in camera space."""
        return np.asarray((points - np.array([0, self.height, 0])) @ self.rotation.T)


@dataclass(frozen=True, eq=False)
class Scene:
    """The people, pieces and walls that a camera sees.

    Parameters
    ----------
    view : View
    people : tuple of PlacedPerson
        The main person first.
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
            # straight from body space to camera space
            turn, shift = placed.move
            surface = moved(placed.person.posed.vertices, self.view.rotation @ turn, self.view.to_camera(shift))
            found.append(Mesh.of_body(placed.person.body, surface, i))
        corners = np.concatenate(
            [*(piece.corners for piece in self.pieces if piece.piece.slabs), self.walls.reshape(-1, 3)]
        )
        if len(corners):
            faces = _room_faces(sum(len(piece.piece.slabs) for piece in self.pieces), len(self.walls))
            found.append(Mesh(self.view.to_camera(corners).astype(np.float32), faces))
        return found + self._clutter()

    def _clutter(self) -> list[Mesh]:
        """Return the shapes of all pieces as three meshes: solids, open surfaces, and those without readings."""
        pieces = [placed for placed in self.pieces if len(placed.piece.shapes)]
        if not pieces:
            return []
        shapes = np.concatenate([placed.piece.shapes for placed in pieces])
        owners = np.repeat(np.arange(len(pieces)), [len(placed.piece.shapes) for placed in pieces])
        places = np.array([(*placed.piece.stretch, placed.x, placed.z, placed.yaw) for placed in pieces])
        rotation, shift = self.view.rotation, self.view.to_camera(np.zeros(3))
        is_seen = find_seen(shapes, owners, places, rotation, shift, self.view.slopes)
        is_lost, is_open = shapes[:, COLUMN["lost"]] > 0, shapes[:, COLUMN["kind"]] == SHEET
        found = []
        for group, closed, lost in (
            (~is_lost & ~is_open, True, False),
            (~is_lost & is_open, False, False),
            (is_lost, False, True),
        ):
            chosen = group & is_seen
            if chosen.any():
                vertices, faces = mesh_shapes(shapes[chosen], owners[chosen], places, rotation, shift)
                found.append(Mesh(vertices, faces, is_closed=closed, is_lost=lost))
        return found


@lru_cache(maxsize=512)
def _room_faces(n_boxes: int, n_walls: int) -> npt.NDArray[np.int32]:
    """Return the faces of boxes (8 corners each), and after them of walls (4 corners each)."""
    walls = np.array([[0, 1, 2], [0, 2, 3]]) + 8 * n_boxes + 4 * np.arange(n_walls)[:, None, None]
    faces = np.concatenate([box_faces(n_boxes), walls.reshape(-1, 3)]).astype(np.int32)
    faces.setflags(write=False)
    return faces


def moved(points: Singles, rotation: Floats, translation: Floats) -> Singles:
    """Return points (n, 3), rotated and moved."""
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
    """Write the lowest and the highest corner of the bounding box of points."""
    extent[0], extent[1] = np.inf, -np.inf
    for i in range(len(points)):
        for axis in range(3):
            extent[0, axis] = min(extent[0, axis], points[i, axis])
            extent[1, axis] = max(extent[1, axis], points[i, axis])
