"""Shapes of clutter: boxes, lathed and ball-like solids, and sheets of cloth, each as a row of numbers.

A room has some hundreds of shapes. Rows of numbers are fast to draw, rotate and move; they become triangles only once,
when the camera is known. `items`, `things` and `hangings` draw them; `stage` turns them into meshes.

Axes of a shape: y along its axis from -half_y to half_y, its cross-section in x and z. It is rotated by roll about z,
pitch about x and yaw about y, in this order, and moved to (x, y, z).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from depthforest.base import Bools, Floats, Ints, Singles, kernel

BOX, LATHE, BALL, SHEET = 0, 1, 2, 3
"""Kinds: a box that may taper, rings of any radius with flat ends, an ellipsoid, and an open grid."""


class Shape(NamedTuple):
    """A shape as numbers. Lengths in meters, angles in radians, others relative to the half sizes.

    Parameters
    ----------
    kind : int
        `BOX`, `LATHE`, `BALL` or `SHEET`.
    x, y, z : float
        Center.
    half_x, half_y, half_z : float
        Half sizes. Of a sheet, half_z is the depth of its folds.
    yaw, pitch, roll : float
        Rotation.
    bottom, top : float
        Radius at the lower and the upper end, as a share of the half sizes.
    bulge, wave, n_waves : float
        Added to the radius: a half sine over the length, and a sine of `n_waves` periods.
    square : float
        0 for a round cross-section, 1 for one that is nearly a rectangle; balls become cushions.
    bend, arch : float
        Meters by which the axis deviates from a straight line, at the top and in the middle: along x; of a sheet, along
        z.
    fold, n_folds, phase : float
        Folds along the axis, deeper at the bottom: depth and number around the axis, or across a sheet.
    rings, segments : float
        Resolution of the mesh along the axis and around it.
    lost : float
        1 if it is black or shiny, so that a sensor has no reading there.
    """

    kind: float
    x: float
    y: float
    z: float
    half_x: float
    half_y: float
    half_z: float
    yaw: float = 0.0
    pitch: float = 0.0
    roll: float = 0.0
    bottom: float = 1.0
    top: float = 1.0
    bulge: float = 0.0
    wave: float = 0.0
    n_waves: float = 1.0
    square: float = 0.0
    bend: float = 0.0
    arch: float = 0.0
    fold: float = 0.0
    n_folds: float = 0.0
    phase: float = 0.0
    rings: float = 5.0
    segments: float = 12.0
    lost: float = 0.0


WIDTH = len(Shape._fields)
COLUMN = {name: i for i, name in enumerate(Shape._fields)}
"""Column of each field in an array of shapes."""

_X, _Y, _Z, _HALF_X, _HALF_Y, _HALF_Z = (COLUMN[n] for n in ("x", "y", "z", "half_x", "half_y", "half_z"))
_YAW, _PITCH, _ROLL, _BOTTOM, _TOP = (COLUMN[n] for n in ("yaw", "pitch", "roll", "bottom", "top"))
_BULGE, _WAVE, _N_WAVES, _SQUARE = (COLUMN[n] for n in ("bulge", "wave", "n_waves", "square"))
_BEND, _ARCH, _FOLD, _N_FOLDS, _PHASE = (COLUMN[n] for n in ("bend", "arch", "fold", "n_folds", "phase"))
_RINGS, _SEGMENTS, _LOST = (COLUMN[n] for n in ("rings", "segments", "lost"))

Rows = Sequence[Shape]


def box(
    x: float, y: float, z: float, half_x: float, half_y: float, half_z: float, *, yaw: float = 0.0, pitch: float = 0.0,
    roll: float = 0.0, top: float = 1.0, lost: float = 0.0,
) -> Shape:  # fmt: skip
    """Return a box, whose top may be smaller or larger than its bottom."""
    return Shape(BOX, x, y, z, half_x, half_y, half_z, yaw, pitch, roll, top=top, lost=lost)


def tube(start: Sequence[float], end: Sequence[float], radius: float, *, top: float = 1.0, arch: float = 0.0) -> Shape:
    """Return a thin tube from one point to another, possibly arched."""
    dx, dy, dz = end[0] - start[0], end[1] - start[1], end[2] - start[2]
    level = math.hypot(dx, dz)
    half = max(math.hypot(level, dy) / 2, 1e-3)
    # rotate y to the direction: first down from the vertical, then about it
    return Shape(
        LATHE, (start[0] + end[0]) / 2, (start[1] + end[1]) / 2, (start[2] + end[2]) / 2, radius, half, radius,
        yaw=math.atan2(dx, dz), pitch=math.atan2(level, dy), top=top, arch=arch, rings=6.0 if arch else 2.0,
        segments=7.0,
    )  # fmt: skip


def rows_of(shapes: Rows) -> Floats:
    """Return shapes as an array (n, WIDTH)."""
    flat = [number for shape in shapes for number in shape]  # faster than nested tuples
    return np.array(flat, dtype=np.float64).reshape(-1, WIDTH)


def bounds(rows: Floats) -> Floats:
    """Return an array (n, 2, 3): center and half size, along the axes, of a box around every shape."""
    boxes = np.empty((len(rows), 2, 3))
    _bound(rows, boxes)
    return boxes


def mesh_shapes(
    rows: Floats, owners: npt.NDArray[np.int64], places: Floats, rotation: Floats, shift: Floats
) -> tuple[Singles, Ints]:
    """Return vertices (n, 3) and faces (m, 3), oriented outward.

    Parameters
    ----------
    rows : array (n, WIDTH)
    owners : array (n,), int64
        The place of each shape, as an index of `places`.
    places : array (m, 6)
        Scale factors along x, y and z, then x, z and yaw: shapes are scaled, rotated about the vertical and moved.
    rotation, shift : array (3, 3), (3,)
        From world space to the space of the vertices.
    """
    n_vertices, n_faces = _count(rows)
    vertices, faces = np.empty((n_vertices, 3), dtype=np.float32), np.empty((n_faces, 3), dtype=np.int32)
    _mesh(rows, owners, places, np.ascontiguousarray(rotation), np.ascontiguousarray(shift), vertices, faces)
    return vertices, faces


def find_seen(
    rows: Floats, owners: npt.NDArray[np.int64], places: Floats, rotation: Floats, shift: Floats, slopes: Floats
) -> Bools:
    """Return a mask of the shapes that a camera with this `rotation` and `shift` may see.

    Parameters
    ----------
    slopes : array (4,)
        x / z at the left and right border of the image, y / z at the upper and lower one.
    """
    is_seen = np.empty(len(rows), dtype=np.bool_)
    _find_seen(rows, owners, places, np.ascontiguousarray(rotation), np.ascontiguousarray(shift), slopes, is_seen)
    return is_seen


@kernel
def _count(rows: Floats) -> tuple[int, int]:
    """Return the number of vertices and of faces of some shapes."""
    n_vertices, n_faces = 0, 0
    for i in range(len(rows)):
        kind, rings, segments = int(rows[i, 0]), int(rows[i, _RINGS]), int(rows[i, _SEGMENTS])
        if kind == BOX:
            n_vertices += 8
            n_faces += 12
        elif kind == SHEET:
            n_vertices += rings * (segments + 1)
            n_faces += 2 * segments * (rings - 1)
        else:
            n_vertices += rings * segments + 2
            n_faces += 2 * segments * rings
    return n_vertices, n_faces


@kernel
def _turn(row: Floats, turn: Floats) -> None:
    """Write the rotation (3, 3) of a shape: roll, then pitch, then yaw."""
    cy, sy = math.cos(row[_YAW]), math.sin(row[_YAW])
    cp, sp = math.cos(row[_PITCH]), math.sin(row[_PITCH])
    cr, sr = math.cos(row[_ROLL]), math.sin(row[_ROLL])
    turn[0, 0], turn[0, 1], turn[0, 2] = cy * cr + sy * sp * sr, -cy * sr + sy * sp * cr, sy * cp
    turn[1, 0], turn[1, 1], turn[1, 2] = cp * sr, cp * cr, -sp
    turn[2, 0], turn[2, 1], turn[2, 2] = -sy * cr + cy * sp * sr, sy * sr + cy * sp * cr, cy * cp


@kernel
def _bound(rows: Floats, boxes: Floats) -> None:
    """Write center and half size of a box around every shape: exact for boxes, with some margin for others."""
    turn = np.empty((3, 3))
    half = np.empty(3)
    for i in range(len(rows)):
        row = rows[i]
        _turn(row, turn)
        radius = max(row[_BOTTOM], row[_TOP]) * (1 + max(row[_BULGE], 0.0) + abs(row[_WAVE]))
        lean = abs(row[_BEND]) + abs(row[_ARCH])
        half[0], half[1], half[2] = row[_HALF_X] * radius, row[_HALF_Y], row[_HALF_Z] * radius
        if int(row[0]) == SHEET:
            half[2] = row[_HALF_Z] + lean
        else:
            half[0] = half[0] * (1 + abs(row[_FOLD])) + lean
            half[2] *= 1 + abs(row[_FOLD])
        for k in range(3):
            boxes[i, 0, k] = row[_X + k]
            boxes[i, 1, k] = abs(turn[k, 0]) * half[0] + abs(turn[k, 1]) * half[1] + abs(turn[k, 2]) * half[2]


@kernel
def _radius(row: Floats, t: float) -> float:
    """Return the radius, as a share of the half sizes, at `t` from 0 at the bottom to 1 at the top."""
    straight = row[_BOTTOM] + (row[_TOP] - row[_BOTTOM]) * t
    waves = row[_WAVE] * math.sin(2 * math.pi * row[_N_WAVES] * t + row[_PHASE]) if row[_WAVE] != 0 else 0.0
    return float(max(straight * (1 + row[_BULGE] * math.sin(math.pi * t) + waves), 0.0))


@kernel
def _bow(row: Floats, t: float) -> float:
    """Return the deviation of the axis from a straight line."""
    return float(row[_BEND] * t * t + 4 * row[_ARCH] * t * (1 - t))


@kernel
def _flatten(value: float, square: float) -> float:
    """Return a cosine or sine pushed outward, so that a circle becomes a rectangle with rounded corners."""
    if square <= 0:
        return value
    return math.copysign(abs(value) ** (1 - 0.85 * square), value)


@kernel
def _put(own_x: float, own_y: float, own_z: float, turn: Floats, shift: Floats, vertex: Singles) -> None:
    """Write a point of a shape, rotated and moved; `turn` already leads to camera axes."""
    for k in range(3):
        vertex[k] = turn[k, 0] * own_x + turn[k, 1] * own_y + turn[k, 2] * own_z + shift[k]


@kernel
def _place(place: Floats, rotation: Floats, shift: Floats, move: Floats) -> None:
    """Write the transform (3, 4), a matrix and a shift, from the axes of a piece through the world to the camera."""
    cos, sin = math.cos(place[5]), math.sin(place[5])
    for k in range(3):
        east, up, south = rotation[k, 0], rotation[k, 1], rotation[k, 2]
        move[k, 0] = (east * cos - south * sin) * place[0]
        move[k, 1] = up * place[1]
        move[k, 2] = (east * sin + south * cos) * place[2]
        move[k, 3] = east * place[3] + south * place[4] + shift[k]


@kernel
def _find_seen(
    rows: Floats,
    owners: npt.NDArray[np.int64],
    places: Floats,
    rotation: Floats,
    shift: Floats,
    slopes: Floats,
    is_seen: Bools,
) -> None:
    """Write whether the bounding sphere of each shape reaches into the view."""
    move, at = np.empty((3, 4)), np.empty(3)
    tilts = np.sqrt(1 + slopes * slopes)
    for i in range(len(rows)):
        row, place = rows[i], places[owners[i]]
        _place(place, rotation, shift, move)
        for k in range(3):
            at[k] = move[k, 0] * row[_X] + move[k, 1] * row[_Y] + move[k, 2] * row[_Z] + move[k, 3]
        half_x, half_z = row[_HALF_X], row[_HALF_Z]
        wide = max(row[_BOTTOM], row[_TOP]) * (1 + max(row[_BULGE], 0.0) + abs(row[_WAVE])) * (1 + abs(row[_FOLD]))
        lean, half_y = abs(row[_BEND]) + abs(row[_ARCH]), row[_HALF_Y] * (1 + abs(row[_FOLD]))
        reach = wide * wide * (half_x * half_x + half_z * half_z) + half_y * half_y
        reach = (math.sqrt(reach) + lean) * max(place[0], place[1], place[2])
        is_seen[i] = (
            at[2] > -reach
            and at[0] - slopes[0] * at[2] > -reach * tilts[0]
            and slopes[1] * at[2] - at[0] > -reach * tilts[1]
            and at[1] - slopes[2] * at[2] > -reach * tilts[2]
            and slopes[3] * at[2] - at[1] > -reach * tilts[3]
        )


@kernel
def _mesh(
    rows: Floats,
    owners: npt.NDArray[np.int64],
    places: Floats,
    rotation: Floats,
    shift: Floats,
    vertices: Singles,
    faces: Ints,
) -> None:
    """Write the vertices and faces of shapes, one after another."""
    turn, whole, at, move = np.empty((3, 3)), np.empty((3, 3)), np.empty(3), np.empty((3, 4))
    vertex, face = 0, 0
    for i in range(len(rows)):
        row = rows[i]
        kind = int(row[0])
        _turn(row, turn)
        _place(places[owners[i]], rotation, shift, move)
        for k in range(3):
            at[k] = move[k, 3]
            for j in range(3):
                at[k] += move[k, j] * row[_X + j]
                whole[k, j] = move[k, 0] * turn[0, j] + move[k, 1] * turn[1, j] + move[k, 2] * turn[2, j]
        if kind == BOX:
            vertex, face = _mesh_box(row, whole, at, vertex, face, vertices, faces)
        elif kind == SHEET:
            vertex, face = _mesh_sheet(row, whole, at, vertex, face, vertices, faces)
        else:
            vertex, face = _mesh_rings(row, whole, at, vertex, face, vertices, faces)


@kernel
def _mesh_box(
    row: Floats, turn: Floats, at: Floats, vertex: int, face: int, vertices: Singles, faces: Ints
) -> tuple[int, int]:
    """Write a box; return the next vertex and face."""
    for corner in range(8):  # in the order of the bits (x, y, z)
        size = row[_TOP] if corner & 2 else row[_BOTTOM]
        own_x = row[_HALF_X] * (size if corner & 4 else -size)
        own_y = row[_HALF_Y] if corner & 2 else -row[_HALF_Y]
        own_z = row[_HALF_Z] * (size if corner & 1 else -size)
        _put(own_x, own_y, own_z, turn, at, vertices[vertex + corner])
    sides = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))
    for side in sides:
        face = _quad(side[0], side[1], side[2], side[3], vertex, face, faces)
    return vertex + 8, face


@kernel
def _quad(a: int, b: int, c: int, d: int, vertex: int, face: int, faces: Ints) -> int:
    """Write two faces; return the next."""
    faces[face, 0], faces[face, 1], faces[face, 2] = vertex + a, vertex + b, vertex + c
    faces[face + 1, 0], faces[face + 1, 1], faces[face + 1, 2] = vertex + a, vertex + c, vertex + d
    return face + 2


@kernel
def _mesh_sheet(
    row: Floats, turn: Floats, at: Floats, vertex: int, face: int, vertices: Singles, faces: Ints
) -> tuple[int, int]:
    """Write a sheet; return the next vertex and face."""
    rings, segments = int(row[_RINGS]), int(row[_SEGMENTS])
    n = 0
    for ring in range(rings):
        t = ring / (rings - 1)
        radius, loose = _radius(row, t), 1 - 0.7 * t
        for column in range(segments + 1):
            u = column / segments
            swing = math.sin(2 * math.pi * row[_N_FOLDS] * u + row[_PHASE] + 1.3 * t)
            own_y = row[_HALF_Y] * (2 * t - 1 + row[_FOLD] * (1 - t) * math.sin(5 * u + row[_PHASE]))
            own_z = row[_HALF_Z] * loose * swing + _bow(row, t)
            _put(row[_HALF_X] * radius * (2 * u - 1), own_y, own_z, turn, at, vertices[vertex + n])
            n += 1
    for ring in range(rings - 1):
        for column in range(segments):
            a = ring * (segments + 1) + column
            face = _quad(a, a + 1, a + segments + 2, a + segments + 1, vertex, face, faces)
    return vertex + n, face


@kernel
def _mesh_rings(
    row: Floats, turn: Floats, at: Floats, vertex: int, face: int, vertices: Singles, faces: Ints
) -> tuple[int, int]:
    """Write rings and the two ends that close them; return the next vertex and face."""
    rings, segments, is_ball = int(row[_RINGS]), int(row[_SEGMENTS]), int(row[0]) == BALL
    square, circle = row[_SQUARE], np.empty((segments, 2))
    for segment in range(segments):
        angle = 2 * math.pi * segment / segments
        circle[segment, 0], circle[segment, 1] = _flatten(math.cos(angle), square), -_flatten(math.sin(angle), square)
    for ring in range(rings):
        t = (ring + 0.5) / rings if is_ball else ring / (rings - 1)
        height, radius = 2 * t - 1, _radius(row, t)
        if is_ball:
            height = -_flatten(math.cos(math.pi * t), square)
            radius *= _flatten(math.sin(math.pi * t), square)
        bow, loose = _bow(row, t), row[_FOLD] * (1 - 0.7 * t)
        for segment in range(segments):
            swell = radius
            if loose != 0:
                angle = 2 * math.pi * segment / segments
                swell *= 1 + loose * math.cos(row[_N_FOLDS] * angle + row[_PHASE] + 1.3 * t)
            own_x, own_z = row[_HALF_X] * swell * circle[segment, 0] + bow, row[_HALF_Z] * swell * circle[segment, 1]
            where = vertex + ring * segments + segment
            _put(own_x, row[_HALF_Y] * height, own_z, turn, at, vertices[where])
    low, high = rings * segments, rings * segments + 1
    _put(0.0, -row[_HALF_Y], 0.0, turn, at, vertices[vertex + low])
    _put(row[_BEND], row[_HALF_Y], 0.0, turn, at, vertices[vertex + high])
    last = (rings - 1) * segments
    for segment in range(segments):
        following = (segment + 1) % segments
        for ring in range(rings - 1):
            a, b = ring * segments + segment, ring * segments + following
            face = _quad(a, b, b + segments, a + segments, vertex, face, faces)
        faces[face, 0], faces[face, 1], faces[face, 2] = vertex + low, vertex + following, vertex + segment
        face += 1
        faces[face, 0], faces[face, 1], faces[face, 2] = (
            vertex + last + segment,
            vertex + last + following,
            vertex + high,
        )
        face += 1
    return vertex + rings * segments + 2, face
