"""Time posing and drawing one frame on one core, compiled beforehand: a body alone, and a body in a room.

The body is a stand-in of ellipsoid limbs with as many faces as a real one. Run it as a script; it takes a few seconds.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from depthforest.frames import JOINTS, Camera
from synth.bodies import N_BONES, PARENTS, Body, Pose
from synth.scene import Canvas, pose_body, render
from synth.scene.rendering import Mesh

SIZES = ("160x120", "320x240", "640x480")
REPEATS = 200
BODY_DISTANCE = 2.2
"""Distance in meters at which the whole stand-in fills about a sixth of the picture, as people in a room do."""

Points = npt.NDArray[np.float64]
Faces = npt.NDArray[np.int64]

LIMBS = (
    # center and half axes in meters, y up: head, chest, belly, and one of each pair
    ((0.0, 1.62, 0.0), (0.08, 0.12, 0.1)),
    ((0.0, 1.28, 0.0), (0.18, 0.24, 0.12)),
    ((0.0, 0.98, 0.0), (0.16, 0.18, 0.12)),
    *(
        ((side * x, y, 0.0), half)
        for side in (-1, 1)
        for x, y, half in (
            (0.32, 1.36, (0.16, 0.06, 0.06)),
            (0.6, 1.36, (0.16, 0.045, 0.045)),
            (0.1, 0.7, (0.09, 0.26, 0.09)),
            (0.1, 0.25, (0.06, 0.26, 0.06)),
        )
    ),
)


def stand_in_body() -> Body:
    """Return about 13,000 vertices and 26,000 faces."""
    points, faces = ellipsoid(48, 25)
    vertices = np.concatenate([points * half + center for center, half in LIMBS])
    limb = np.repeat(np.arange(len(LIMBS)), len(points))
    weights = np.tile(np.array([0.6, 0.2, 0.1, 0.1]), (len(vertices), 1))
    heads = np.zeros((N_BONES, 3))
    for bone in range(N_BONES):  # any skeleton works if no bone has length zero
        heads[bone] = (0.0, 1.0, 0.0) if bone == 0 else heads[PARENTS[bone]] + (0.01, 0.02, 0.03)
    return Body(
        vertices=vertices.astype(np.float32),
        faces=np.concatenate([faces + i * len(points) for i in range(len(LIMBS))]).astype(np.int32),
        face_parts=np.repeat(np.arange(len(LIMBS)), len(faces)).astype(np.uint8),
        bone_heads=heads.astype(np.float32),
        weight_bones=((limb[:, None] * 2 + np.arange(4)) % N_BONES).astype(np.uint8),
        weights=weights.astype(np.float32),
        joint_bones=np.zeros(len(JOINTS), dtype=np.uint8),
        joint_positions=np.zeros((len(JOINTS), 3), dtype=np.float32),
    )


def ellipsoid(n_around: int, n_down: int) -> tuple[Points, Faces]:
    """Return vertices and faces of the unit sphere, counter-clockwise from outside."""
    down, around = np.meshgrid(np.linspace(0, np.pi, n_down + 1), np.arange(n_around) * 2 * np.pi / n_around)
    points = np.stack((np.sin(down) * np.cos(around), np.cos(down), np.sin(down) * np.sin(around)), axis=-1)
    i, j = np.meshgrid(np.arange(n_around), np.arange(n_down), indexing="ij")
    a, b = i * (n_down + 1) + j, (i + 1) % n_around * (n_down + 1) + j
    quads = np.stack((a, b, b + 1, a + 1), axis=-1).reshape(-1, 4)
    return points.reshape(-1, 3), np.concatenate((quads[:, :3], quads[:, [0, 2, 3]]))


def room() -> Mesh:
    """Return a room of 6 x 3 x 7 m about the camera, with 16 boxes in it: 204 faces."""
    rng = np.random.default_rng(0)
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    quads = np.array([[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]])
    faces = np.concatenate((quads[:, :3], quads[:, [0, 2, 3]]))
    boxes = [signs * (3.0, 1.5, 3.5) + (0.0, -0.4, 2.0)]
    for _ in range(16):
        half = rng.uniform(0.2, 0.6, size=3)
        boxes.append(signs * half + (rng.uniform(-2.5, 2.5), 1.1 - half[1], rng.uniform(2.5, 5.0)))
    vertices = np.concatenate(boxes).astype(np.float32)
    return Mesh(vertices, np.concatenate([faces + 8 * i for i in range(len(boxes))]).astype(np.int32))


def milliseconds(call: Callable[[], object]) -> str:
    """Return the best and the median time of a call that has been compiled."""
    call()
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return f"best {min(times) * 1e3:6.3f} ms   median {np.median(times) * 1e3:6.3f} ms"


def main() -> None:
    body = stand_in_body()
    pose = Pose(np.tile(np.eye(3, dtype=np.float32), (N_BONES, 1, 1)))
    print(f"body: {len(body.vertices)} vertices, {len(body.faces)} faces; {REPEATS} repeats")
    print(f"{'pose_body':34s} {milliseconds(lambda: pose_body(body, pose))}")
    to_camera = np.array([1.0, -1.0, -1.0])  # half a turn about x: y up becomes y down
    seen = (body.vertices * to_camera + (0.0, 0.95, BODY_DISTANCE)).astype(np.float32)
    print(f"{'Mesh of a body':34s} {milliseconds(lambda: Mesh(seen, body.faces, body.face_parts, 1))}")
    furniture = room()
    closed, open_ = (Mesh(seen, body.faces, body.face_parts, 1, is_closed) for is_closed in (True, False))
    for size in SIZES:
        camera = Camera.preset(f"kinect_v1@{size}")
        canvas = Canvas(camera.shape)
        for name, meshes in (
            ("body", [closed]),
            ("body, two-sided", [open_]),
            ("room", [furniture]),
            ("body + room", [closed, furniture]),
        ):
            n_pixels = int((render(camera, meshes, canvas=canvas).depth > 0).sum())
            took = milliseconds(lambda c=camera, m=meshes, v=canvas: render(c, m, canvas=v))  # type: ignore[misc]
            print(f"{size} {name:17s} {n_pixels:6d} px {took}")
        print(f"{size} {'same, no canvas':27s} {milliseconds(lambda c=camera: render(c, [closed, furniture]))}")  # type: ignore[misc]


if __name__ == "__main__":
    main()
