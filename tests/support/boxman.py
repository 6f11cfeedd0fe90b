"""A man of eight-sided tubes on our skeleton: small, of quads, and known to the last corner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from synth.bodies.skeleton import BONE, BONE_MIRROR, BONE_NAMES, N_BONES

N_SIDES = 8

_LEFT_HEADS = {
    "Hips": (0.0, 0.94, 0.0),
    "LHipJoint": (0.0, 0.94, 0.0),
    "LeftUpLeg": (0.10, 0.92, 0.0),
    "LeftLeg": (0.10, 0.50, 0.0),
    "LeftFoot": (0.10, 0.08, 0.0),
    "LeftToeBase": (0.10, 0.03, 0.14),
    "LowerBack": (0.0, 1.03, 0.0),
    "Spine": (0.0, 1.16, 0.0),
    "Spine1": (0.0, 1.30, 0.0),
    "Neck": (0.0, 1.50, 0.0),
    "Neck1": (0.0, 1.55, 0.01),
    "Head": (0.0, 1.60, 0.02),
    "LeftShoulder": (0.03, 1.43, 0.0),
    "LeftArm": (0.19, 1.43, 0.0),
    "LeftForeArm": (0.48, 1.43, 0.0),
    "LeftHand": (0.74, 1.43, 0.0),
    "LeftFingerBase": (0.78, 1.43, 0.0),
    "LeftHandFinger1": (0.84, 1.43, 0.02),
    "LThumb": (0.77, 1.43, 0.03),
}

# bones along a tube, its start and end, half widths across (two axes), number of rings
_TUBES: tuple[tuple[tuple[str, ...], tuple[float, ...], tuple[float, ...], tuple[float, float], int], ...] = (
    (("Hips", "LowerBack", "Spine", "Spine1"), (0.0, 0.86, 0.0), (0.0, 1.49, 0.0), (0.17, 0.11), 40),
    (("Neck", "Neck1"), (0.0, 1.40, 0.0), (0.0, 1.62, 0.0), (0.06, 0.06), 14),
    (("Head",), (0.0, 1.52, 0.03), (0.0, 1.76, 0.03), (0.08, 0.10), 20),
    (("LeftUpLeg", "LeftLeg"), (0.10, 0.95, 0.0), (0.10, 0.06, 0.0), (0.07, 0.07), 60),
    (("LeftFoot", "LeftToeBase"), (0.10, 0.04, -0.06), (0.10, 0.04, 0.21), (0.045, 0.04), 30),
    (("LeftArm", "LeftForeArm"), (0.15, 1.43, 0.0), (0.76, 1.43, 0.0), (0.045, 0.045), 60),
    (("LeftHand", "LeftFingerBase", "LeftHandFinger1"), (0.73, 1.43, 0.0), (0.93, 1.43, 0.0), (0.02, 0.045), 16),
)


@dataclass
class BoxMan:
    """His mesh: points (n, 3) in meters, quads (q, 4), bone heads (31, 3) and dense weights (n, 31)."""

    points: npt.NDArray[np.float64]
    quads: npt.NDArray[np.int32]
    heads: npt.NDArray[np.float64]
    weights: npt.NDArray[np.float64]

    @property
    def faces(self) -> npt.NDArray[np.int32]:
        return np.concatenate((self.quads[:, [0, 1, 2]], self.quads[:, [0, 2, 3]]))

    @property
    def skin(self) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.float32]]:
        """Bones and shares of the four largest weights."""
        bones = np.argsort(-self.weights, axis=1, kind="stable")[:, :4]
        return bones.astype(np.uint8), np.take_along_axis(self.weights, bones, axis=1).astype(np.float32)

    @property
    def args(self) -> tuple[Any, ...]:
        """What `labels.face_parts` takes."""
        return (self.points, self.faces, self.heads, *self.skin)


def make() -> BoxMan:
    points: list[npt.NDArray[np.float64]] = []
    quads: list[list[int]] = []
    weights: list[npt.NDArray[np.float64]] = []
    heads = _heads()
    for bones, start, end, half, n_rings in _TUBES:
        for is_right in (False, True) if bones[0].startswith("Left") else (False,):
            flip = np.array([-1.0 if is_right else 1.0, 1.0, 1.0])
            named = [BONE[bone] for bone in bones]
            if is_right:
                named = [int(BONE_MIRROR[bone]) for bone in named]
            tube = _tube(np.array(start), np.array(end), half, n_rings) * flip
            first = sum(map(len, points))
            quads += [[first + i for i in (quad[::-1] if is_right else quad)] for quad in _tube_quads(n_rings)]
            points.append(tube)
            weights.append(_tube_weights(tube, heads, named, (np.array(end) - start) * flip))
    return BoxMan(np.concatenate(points), np.array(quads, dtype=np.int32), heads, np.concatenate(weights))


def _heads() -> npt.NDArray[np.float64]:
    heads = np.zeros((N_BONES, 3))
    for name in BONE_NAMES:
        if name in _LEFT_HEADS:
            heads[BONE[name]] = _LEFT_HEADS[name]
            heads[BONE_MIRROR[BONE[name]]] = np.array(_LEFT_HEADS[name]) * (-1, 1, 1)
    return heads


def _tube(
    start: npt.NDArray[np.float64], end: npt.NDArray[np.float64], half: tuple[float, float], n_rings: int
) -> npt.NDArray[np.float64]:
    along = (end - start) / np.linalg.norm(end - start)
    one = np.array([0.0, 1.0, 0.0]) if abs(along[0]) > 0.5 or abs(along[2]) > 0.5 else np.array([1.0, 0.0, 0.0])
    # both across the tube; together with `along` right-handed, so that quads face outwards
    two = np.cross(along, one)
    angles = (np.arange(N_SIDES) + 0.5) * 2 * np.pi / N_SIDES
    ring = np.cos(angles)[:, None] * one * half[0] + np.sin(angles)[:, None] * two * half[1]
    shares = np.linspace(0, 1, n_rings)[:, None, None]
    return np.asarray((start + shares * (end - start) + ring).reshape(-1, 3))


def _tube_quads(n_rings: int) -> list[list[int]]:
    quads = []
    for ring in range(n_rings - 1):
        for side in range(N_SIDES):
            a, b = ring * N_SIDES + side, ring * N_SIDES + (side + 1) % N_SIDES
            quads.append([a, b, b + N_SIDES, a + N_SIDES])
    for first, turn in ((0, -1), ((n_rings - 1) * N_SIDES, 1)):
        quads += [[first + i for i in quad[::turn]] for quad in ([0, 1, 2, 3], [0, 3, 4, 7], [4, 5, 6, 7])]
    return quads


def _tube_weights(
    tube: npt.NDArray[np.float64],
    heads: npt.NDArray[np.float64],
    bones: list[int],
    along: npt.NDArray[np.float64],
) -> npt.NDArray[np.float64]:
    """Each point hangs on the last bone of the tube whose head it has passed, blended over 2 cm."""
    unit = along / np.linalg.norm(along)
    weights = np.zeros((len(tube), N_BONES))
    weights[:, bones[0]] = 1
    for bone in bones[1:]:
        passed = np.clip((tube - heads[bone]) @ unit / 0.02 + 0.5, 0, 1)[:, None]
        weights *= 1 - passed
        weights[:, bone] += passed[:, 0]
    return weights
