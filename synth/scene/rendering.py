"""A z-buffer: renders triangle meshes into images of depth, body part, person and slant, on one core.

`skinning` makes the bodies and `composing` the rooms; `sensors` adds the errors of real cameras. Everything is in
camera space: x right, y down, z forward, meters. Pixels are (row, col) with their centers at integers.

A triangle covers a pixel if it covers its center. A center on an edge belongs to the triangle if the edge is a left
or a top one, so that triangles with a common edge neither overlap nor leave a gap. The ends of each row's half-open
span are computed from the upper to the lower end of an edge, and so bit for bit the same for both triangles. 1/z is
linear in image space; the buffer keeps the largest 1/z and its face, and everything else is looked up at the end.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from depthforest.base import Bools, Bytes, CameraError, DepthForestError, Floats, Ints, Singles, is_whole, kernel
from depthforest.frames import NO_PART, Camera
from synth.bodies import Body

MAX_COORDINATE = 1e6
"""Meters, and pixels of a lens: anything larger is a mistake, and anything smaller cannot overflow in the kernels."""

MIN_NEAR = 1e-3
"""Meters: the smallest near plane. Pixel coordinates grow with its inverse."""

MAX_FACES = 2**31 - 1
"""Largest number of faces of one image: they are counted in int32."""


class MeshError(DepthForestError, ValueError):
    """A mesh with inconsistent arrays, or a view that cannot be rendered."""


@dataclass(frozen=True, eq=False)
class Mesh:
    """Triangles in camera space.

    Parameters
    ----------
    vertices : array (n, 3), float32
        x right, y down, z forward, meters.
    faces : array (m, 3), int32
        Vertex indices, counterclockwise when seen from outside.
    parts : array (m,), uint8, or int
        Label of every face, or one for all; 255 (`parts.NO_PART`) for furniture.
    person : int
        1 to 255; 0 for nobody, whose parts must all be 255.
    is_closed : bool
        The faces enclose a solid, so that back faces need not be drawn. The faces of other meshes are seen from both
        sides.
    is_lost : bool
        Black or shiny, or a window: where it is the nearest surface, sensors have no reading. It has no labels.
    """

    vertices: Singles
    faces: Ints
    parts: Bytes | int = NO_PART
    person: int = 0
    is_closed: bool = False
    is_lost: bool = False

    def __post_init__(self) -> None:
        vertices = np.ascontiguousarray(self.vertices, dtype=np.float32)
        faces = np.asarray(self.faces)
        if vertices.ndim != 2 or vertices.shape[1] != 3:
            raise MeshError(f"a mesh's vertices must have shape (n, 3), got {vertices.shape}")
        if faces.ndim != 2 or faces.shape[1] != 3 or faces.dtype.kind not in "iu":
            raise MeshError(f"a mesh's faces must be integers of shape (m, 3), got {faces.dtype} {faces.shape}")
        _check_vertices(vertices)
        if faces.size and not (int(faces.min()) >= 0 and int(faces.max()) < len(vertices)):
            raise MeshError(
                f"a mesh's faces must name vertices from 0 to {len(vertices) - 1}, got {faces.min()} to {faces.max()}"
            )
        _check_person(self.person)
        parts = _face_parts(self.parts, len(faces))
        if self.person == 0 and (parts != NO_PART).any():
            raise MeshError(f"a mesh of nobody (person=0) must have parts {NO_PART} only; give it a person from 1")
        if self.is_lost and self.person != 0:
            raise MeshError(f"a mesh without readings (is_lost) must be of nobody, got person {self.person}")
        for name, array in (("vertices", vertices), ("faces", faces.astype(np.int32, copy=False)), ("parts", parts)):
            view = np.ascontiguousarray(array).view()
            view.setflags(write=False)
            object.__setattr__(self, name, view)
        object.__setattr__(self, "person", int(self.person))

    @classmethod
    def of_body(cls, body: Body, vertices: Singles, person: int) -> Mesh:
        """Return the mesh of a posed body; only vertices are checked, because the body has checked faces and parts.

        Parameters
        ----------
        body : Body
        vertices : array (n, 3), float32
            Vertices of the body, in camera space.
        person : int
            1 to 255.
        """
        if vertices.shape != body.vertices.shape or vertices.dtype != np.float32:
            raise MeshError(
                f"expected vertices of the body's shape {body.vertices.shape}, got {vertices.dtype} {vertices.shape}"
            )
        _check_vertices(vertices)
        _check_person(person)
        mesh = object.__new__(cls)
        surface = np.ascontiguousarray(vertices).view()
        surface.setflags(write=False)
        mesh.__dict__.update(vertices=surface, faces=body.faces, parts=body.face_parts, person=person, is_closed=True)
        mesh.__dict__["is_lost"] = False
        return mesh


def _check_vertices(vertices: Singles) -> None:
    # written so that NaN is rejected, too
    if vertices.size and not max(-float(vertices.min()), float(vertices.max())) <= MAX_COORDINATE:
        raise MeshError(f"a mesh's vertices must be finite and within {MAX_COORDINATE:g} m of the camera")


def _check_person(person: int) -> None:
    if not is_whole(person, 0, 255):
        raise MeshError(f"a mesh's person must be a whole number from 1 to 255, or 0 for nobody, got {person!r}")


def _face_parts(parts: Bytes | int, n_faces: int) -> Bytes:
    array = np.asarray(parts)
    if array.ndim == 0 and array.dtype.kind in "iu" and 0 <= int(array) <= NO_PART:
        return np.full(n_faces, array, dtype=np.uint8)
    if array.dtype != np.uint8 or array.shape != (n_faces,):
        raise MeshError(
            f"a mesh's parts must be uint8, one for each of its {n_faces} faces, or one label from 0 to {NO_PART} for "
            f"all; got {array.dtype} of shape {array.shape}"
        )
    return array


@dataclass(frozen=True, eq=False)
class Rendered:
    """The ideal image of a scene.

    Parameters
    ----------
    depth : array (rows, cols), float32
        z along the optical axis in meters; 0 = nothing, or a surface that gives no reading.
    parts : array (rows, cols), uint8
        Label of the face; 255 = none.
    people : array (rows, cols), uint8
        Person of the mesh; 0 = nobody.
    facing : array (rows, cols), float32
        |cos| of the angle between the ray and the face's normal: 1 seen head-on, 0 seen edge-on or where there is
        nothing.
    """

    depth: Singles
    parts: Bytes
    people: Bytes
    facing: Singles


class Canvas:
    """Memory for images of one size, drawn on repeatedly; for one thread at a time.

    Allocating memory takes as long as drawing a body, so code that renders many frames keeps one canvas per thread.

    Parameters
    ----------
    shape : (rows, cols)
    """

    def __init__(self, shape: tuple[int, int]) -> None:
        self.shape = shape
        self.inverse = np.empty(shape, dtype=np.float32)
        self.hits = np.empty(shape, dtype=np.int32)
        self.rendered = Rendered(
            depth=np.empty(shape, dtype=np.float32),
            parts=np.empty(shape, dtype=np.uint8),
            people=np.empty(shape, dtype=np.uint8),
            facing=np.empty(shape, dtype=np.float32),
        )
        self._vertices = np.empty((0, 3), dtype=np.float32)
        self._faces = np.empty((0, 3), dtype=np.int32)
        self._screen = np.empty((0, 3))

    def join(self, meshes: Sequence[Mesh]) -> tuple[Singles, Ints, Floats]:
        """Return all vertices, all faces as indices into these, and space for the projected vertices."""
        n_vertices, n_faces = sum(len(mesh.vertices) for mesh in meshes), sum(len(mesh.faces) for mesh in meshes)
        if n_vertices > len(self._vertices):
            self._vertices, self._screen = np.empty((n_vertices, 3), dtype=np.float32), np.empty((n_vertices, 3))
        if n_faces > len(self._faces):
            self._faces = np.empty((n_faces, 3), dtype=np.int32)
        vertex, face = 0, 0
        for mesh in meshes:
            self._vertices[vertex : vertex + len(mesh.vertices)] = mesh.vertices
            np.add(mesh.faces, np.int32(vertex), out=self._faces[face : face + len(mesh.faces)])
            vertex += len(mesh.vertices)
            face += len(mesh.faces)
        return self._vertices[:n_vertices], self._faces[:n_faces], self._screen[:n_vertices]


def render(
    camera: Camera,
    meshes: Sequence[Mesh],
    *,
    near: float = 0.05,
    far: float = math.inf,
    canvas: Canvas | None = None,
) -> Rendered:
    """Render meshes.

    The nearest face wins a pixel; among equally near faces, the first. Degenerate faces are skipped.

    Parameters
    ----------
    camera : Camera
        Without lens distortion.
    meshes : sequence of Mesh
    near, far : float
        Only surfaces between these depths, in meters, are visible; faces that cross `near` are clipped.
    canvas : Canvas, optional
        A canvas of the camera's shape. The result then lives in it until the next image is drawn on it.
    """
    _check_view(camera, meshes, near, far)
    if canvas is None:
        canvas = Canvas(camera.shape)
    elif canvas.shape != camera.shape:
        raise MeshError(f"the canvas has shape {canvas.shape}, the camera {camera.shape}; make one Canvas per size")

    n_faces = [len(mesh.faces) for mesh in meshes]
    is_closed = np.repeat(np.array([mesh.is_closed for mesh in meshes], dtype=np.bool_), n_faces)
    people = np.repeat(np.array([mesh.person for mesh in meshes], dtype=np.uint8), n_faces)
    parts = np.concatenate([np.empty(0, dtype=np.uint8), *(np.asarray(mesh.parts) for mesh in meshes)])
    vertices, faces, screen = canvas.join(meshes)
    lens = np.array([camera.fx, camera.fy, camera.cx, camera.cy, near])

    inverse, hits, rendered = canvas.inverse, canvas.hits, canvas.rendered
    inverse.fill(1 / far)
    hits.fill(-1)
    _project(vertices, lens, screen)
    _rasterize(vertices, screen, faces, is_closed, lens, inverse, hits)
    _look_up_depth(inverse, hits, vertices, faces, lens, rendered.depth, rendered.facing)
    _look_up_labels(hits, parts, people, rendered.parts, rendered.people)
    if any(mesh.is_lost for mesh in meshes):
        is_lost = np.repeat(np.array([mesh.is_lost for mesh in meshes], dtype=np.bool_), n_faces)
        _lose(hits, is_lost, rendered.depth, rendered.facing)
    return rendered


def _check_view(camera: Camera, meshes: Sequence[Mesh], near: float, far: float) -> None:
    if camera.distortion:
        raise CameraError("only an ideal lens can be rendered; take camera.without_distortion()")
    if not MIN_NEAR <= near < far:
        raise MeshError(f"near and far must be meters with {MIN_NEAR:g} <= near < far, got {near!r} and {far!r}")
    for mesh in meshes:
        if not isinstance(mesh, Mesh):
            raise MeshError(f"meshes must be a sequence of Mesh, got {type(mesh).__name__} in it")
    if sum(len(mesh.faces) + len(mesh.vertices) for mesh in meshes) > MAX_FACES:
        raise MeshError(f"the meshes are too large for one image: at most {MAX_FACES} faces and vertices")


@kernel
def _project(vertices: Singles, lens: Floats, screen: Floats) -> None:
    """Write (col, row, 1/z) of every vertex; 1/z is 0 in front of the near plane."""
    fx, fy, cx, cy, near = lens[0], lens[1], lens[2], lens[3], lens[4]
    for i in range(len(vertices)):
        z = np.float64(vertices[i, 2])
        if z < near:
            screen[i, 2] = 0.0
            continue
        w = 1 / z
        screen[i, 0] = fx * vertices[i, 0] * w + cx
        screen[i, 1] = fy * vertices[i, 1] * w + cy
        screen[i, 2] = w


@kernel
def _rasterize(
    vertices: Singles, screen: Floats, faces: Ints, is_closed: Bools, lens: Floats, inverse: Singles, hits: Ints
) -> None:
    """Draw every face into the buffers of 1/z and of face indices."""
    clipped = np.empty((4, 3))
    for face in range(len(faces)):
        # unsigned indices avoid numba's test for negative ones, here and below
        a, b, c = np.uint32(faces[face, 0]), np.uint32(faces[face, 1]), np.uint32(faces[face, 2])
        aw, bw, cw = screen[a, 2], screen[b, 2], screen[c, 2]
        if aw > 0 and bw > 0 and cw > 0:
            if _may_be_seen(screen, a, b, c, is_closed[face], hits.shape):
                _fill(screen, a, b, c, np.int32(face), inverse, hits)
        elif aw > 0 or bw > 0 or cw > 0:
            n = _clip(vertices, screen, a, b, c, lens, clipped)
            for i in range(2, n):
                a, b, c = np.uint32(0), np.uint32(i - 1), np.uint32(i)
                if _may_be_seen(clipped, a, b, c, is_closed[face], hits.shape):
                    _fill(clipped, a, b, c, np.int32(face), inverse, hits)


@kernel
def _may_be_seen(screen: Floats, a: int, b: int, c: int, is_closed: bool, shape: tuple[int, int]) -> bool:
    """Return False for back faces, triangles outside the image, and those that fall between pixel centers."""
    n_rows, n_cols = shape
    ax, bx, cx = screen[a, 0], screen[b, 0], screen[c, 0]
    ay, by, cy = screen[a, 1], screen[b, 1], screen[c, 1]
    if is_closed and (bx - ax) * (cy - ay) - (by - ay) * (cx - ax) >= 0:
        return False  # clockwise in an image whose rows go down: a back face
    first_row, end_row = np.ceil(max(min(ay, by, cy), 0.0)), np.ceil(min(max(ay, by, cy), np.float64(n_rows)))
    first_col, end_col = np.ceil(max(min(ax, bx, cx), 0.0)), np.ceil(min(max(ax, bx, cx), np.float64(n_cols)))
    return bool(first_row < end_row and first_col < end_col)


@kernel
def _clip(vertices: Singles, screen: Floats, a: int, b: int, c: int, lens: Floats, clipped: Floats) -> int:
    """Write (col, row, 1/z) of the corners of a face beyond the near plane after clipping; return how many: 3 or 4.

    A corner between two vertices is computed from the one beyond the plane, so that both faces of an edge agree.
    """
    fx, fy, cx, cy, near = lens[0], lens[1], lens[2], lens[3], lens[4]
    corners = (a, b, c, a)
    n = 0
    for i in range(3):
        this, following = corners[i], corners[i + 1]
        is_front = screen[this, 2] > 0
        if is_front:
            for k in range(3):
                clipped[n, k] = screen[this, k]
            n += 1
        if is_front != (screen[following, 2] > 0):
            front, back = (this, following) if is_front else (following, this)
            front_z = np.float64(vertices[front, 2])
            share = (front_z - near) / (front_z - np.float64(vertices[back, 2]))
            x, y = np.float64(vertices[front, 0]), np.float64(vertices[front, 1])
            clipped[n, 0] = fx * (x + share * (np.float64(vertices[back, 0]) - x)) / near + cx
            clipped[n, 1] = fy * (y + share * (np.float64(vertices[back, 1]) - y)) / near + cy
            clipped[n, 2] = 1 / near
            n += 1
    return n


@kernel
def _fill(screen: Floats, a: int, b: int, c: int, face: np.int32, inverse: Singles, hits: Ints) -> None:
    """Draw one triangle of screen points, row by row."""
    n_rows, n_cols = hits.shape
    top, middle, bottom = a, b, c
    if screen[middle, 1] < screen[top, 1]:
        top, middle = middle, top
    if screen[bottom, 1] < screen[middle, 1]:
        middle, bottom = bottom, middle
        if screen[middle, 1] < screen[top, 1]:
            top, middle = middle, top
    tx, ty, tw = screen[top, 0], screen[top, 1], screen[top, 2]
    mx, my, mw = screen[middle, 0], screen[middle, 1], screen[middle, 2]
    bx, by, bw = screen[bottom, 0], screen[bottom, 1], screen[bottom, 2]
    mdx, mdy, bdx, bdy = mx - tx, my - ty, bx - tx, by - ty
    twice_area = mdx * bdy - bdx * mdy  # positive where the middle vertex is on the right
    if twice_area == 0:
        return
    w_by_col = ((mw - tw) * bdy - (bw - tw) * mdy) / twice_area
    w_by_row = ((bw - tw) * mdx - (mw - tw) * bdx) / twice_area
    # in a sliver the slopes are inaccurate, so 1/z is clamped to the range of its corners
    w_low, w_high = min(tw, mw, bw), max(tw, mw, bw)

    # from the first pixel center at or below the top to the last one above the bottom
    first, end = np.ceil(max(ty, 0.0)), np.ceil(min(by, np.float64(n_rows)))
    for row in range(np.uint64(first), np.uint64(end)):
        long_end = tx + (row - ty) * bdx / bdy
        short_end = tx + (row - ty) * mdx / mdy if row < my else mx + (row - my) * (bx - mx) / (by - my)
        left, right = (long_end, short_end) if twice_area > 0 else (short_end, long_end)
        left, right = np.ceil(max(left, 0.0)), np.ceil(min(right, np.float64(n_cols)))
        if not left < right:
            continue
        w_of_row = tw + (row - ty) * w_by_row - tx * w_by_col
        for col in range(np.uint64(left), np.uint64(right)):
            # selections instead of a branch, so that this loop is vectorized
            w = np.float32(min(max(w_of_row + col * w_by_col, w_low), w_high))
            is_nearer = w > inverse[row, col]
            inverse[row, col] = w if is_nearer else inverse[row, col]
            hits[row, col] = face if is_nearer else hits[row, col]


@kernel
def _look_up_depth(
    inverse: Singles, hits: Ints, vertices: Singles, faces: Ints, lens: Floats, depth: Singles, facing: Singles
) -> None:
    """Write depth and the cosine between ray and normal: the distance of the face's plane over that of the point."""
    n_rows, n_cols = hits.shape
    fx, fy, cx, cy = lens[0], lens[1], lens[2], lens[3]
    x_squares = np.empty(n_cols, dtype=np.float32)
    for col in range(n_cols):
        x_squares[col] = ((col - cx) / fx) ** 2
    last_face, plane_distance = np.int32(-1), np.float32(0)
    for row in range(n_rows):
        for col in range(n_cols):
            face = hits[row, col]
            if face != last_face:
                last_face = face
                plane_distance = np.float32(0)
                if face >= 0:
                    plane_distance = _plane_distance(vertices, faces[face, 0], faces[face, 1], faces[face, 2])
            facing[row, col] = plane_distance
        # this loop is vectorized, too
        y_square_plus_one = np.float32(((row - cy) / fy) ** 2 + 1)
        for col in range(n_cols):
            w = inverse[row, col]
            depth[row, col] = np.float32(1) / w if hits[row, col] >= 0 else np.float32(0)
            cosine = facing[row, col] * w / np.sqrt(x_squares[col] + y_square_plus_one)
            facing[row, col] = min(cosine, np.float32(1))


@kernel
def _plane_distance(vertices: Singles, a: int, b: int, c: int) -> np.float32:
    """Return the distance of a face's plane from the camera in meters."""
    ax, ay, az = np.float64(vertices[a, 0]), np.float64(vertices[a, 1]), np.float64(vertices[a, 2])
    ux, uy, uz = vertices[b, 0] - ax, vertices[b, 1] - ay, vertices[b, 2] - az
    vx, vy, vz = vertices[c, 0] - ax, vertices[c, 1] - ay, vertices[c, 2] - az
    nx, ny, nz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    length = math.sqrt(nx * nx + ny * ny + nz * nz)
    return np.float32(abs(nx * ax + ny * ay + nz * az) / length) if length > 0 else np.float32(0)


@kernel
def _look_up_labels(hits: Ints, face_parts: Bytes, face_people: Bytes, parts: Bytes, people: Bytes) -> None:
    """Write part and person of every pixel's face."""
    last_face, part, person = np.int32(-1), np.uint8(NO_PART), np.uint8(0)
    for row in range(hits.shape[0]):
        for col in range(hits.shape[1]):
            face = hits[row, col]
            if face != last_face:
                last_face = face
                part = face_parts[face] if face >= 0 else np.uint8(NO_PART)
                person = face_people[face] if face >= 0 else np.uint8(0)
            parts[row, col] = part
            people[row, col] = person


@kernel
def _lose(hits: Ints, is_lost: Bools, depth: Singles, facing: Singles) -> None:
    """Remove the depth of faces that give no reading."""
    for row in range(hits.shape[0]):
        for col in range(hits.shape[1]):
            if hits[row, col] >= 0 and is_lost[hits[row, col]]:
                depth[row, col] = 0
                facing[row, col] = 0
