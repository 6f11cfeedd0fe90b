"""Measure a body mesh as a tape and a ruler would, and stretch it bone by bone to other measurements.

`makehuman` morphs one mesh into all its bodies: landmarks are found once, on the reference body, and then read from
the same vertices of every other. `anthropometry` defines the measurements; bone lengths replace those between
landmarks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from depthforest.base import Floats
from depthforest.frames import BODY31
from synth.bodies.anthropometry import Measures
from synth.bodies.body import BodyError
from synth.bodies.skeleton import BONE, N_BONES, PARENTS

Indices = npt.NDArray[np.int64]

# Distance between joint centers as a share of an ANSUR II length: the acromion is above the center of the shoulder and
# outside it, the radiale below that of the elbow. With these shares the arm span is the survey's, 1.81 m for men.
UPPER_ARM_SHARE = 0.78
SHOULDER_SHARE = 0.90

# Heights of the tape on the reference body, in statures: means of ANSUR II's chest, waist (navel) and buttock heights.
CHEST_HEIGHT = 0.733
WAIST_HEIGHT = 0.601
HIP_HEIGHT = 0.505
THIGH_DROP = 0.25
"""Distance of the thigh tape below the hip joint, in thigh lengths: just under the buttocks."""
SKULL_HEIGHT = 0.6
"""Height at which the head is longest and widest: share of the way from the Head bone to the top."""
SURPLUS_RANGE = (0.85, 1.18)
"""Limits of the stretch of a girth or breadth relative to the body's overall scale; more looks inflated."""


@dataclass(frozen=True, eq=False)
class Ring:
    """A closed cut through a mesh: points on edges, at fractions `shares` from their starts to their ends."""

    starts: Indices
    ends: Indices
    shares: Floats

    def points(self, vertices: Floats) -> Floats:
        """Return the points (k, 2) of the ring as seen from above: x and z."""
        share = self.shares[:, None]
        return np.asarray((vertices[self.starts] * (1 - share) + vertices[self.ends] * share)[:, [0, 2]])

    def girth(self, vertices: Floats) -> float:
        """Return what a tape would read: the perimeter of the convex hull, in meters."""
        hull = cv2.convexHull(self.points(vertices).astype(np.float32))
        return float(cv2.arcLength(hull, True))


@dataclass(frozen=True, eq=False)
class Landmarks:
    """The vertices at which a mesh is measured."""

    rings: dict[str, Ring]
    skull: Ring
    top: Indices
    soles: Indices
    foot: Indices
    hand: Indices

    @classmethod
    def find(cls, vertices: Floats, faces: npt.NDArray[Any], parts: npt.NDArray[np.uint8], heads: Floats) -> Landmarks:
        """Find the landmarks on the reference body, an adult's mesh with the parts of its faces."""
        bone = _named(heads)
        stature = float(vertices[:, 1].max())
        thigh = float(np.linalg.norm(bone["LeftUpLeg"] - bone["LeftLeg"]))
        skull_height = bone["Head"][1] + SKULL_HEIGHT * (stature - bone["Head"][1])
        torso = ("torso_upper_l", "torso_upper_r", "torso_lower_l", "torso_lower_r")

        def ring(height: float, *names: str) -> Ring:
            found = _cut(vertices, faces[np.isin(parts, [BODY31.index(name) for name in names])], height)
            if len(found.starts) < 3:
                raise BodyError(
                    f"the mesh cannot be measured: no tape about its {names[0]} at {height:.2f} m; is it a body?"
                )
            return found

        def extreme(of_parts: tuple[str, ...], bones: tuple[str, str]) -> Indices:
            """Return the vertices at both ends of a part along the line between two bones."""
            part = np.unique(faces[np.isin(parts, [BODY31.index(name) for name in of_parts])])
            along = vertices[part] @ (bone[bones[1]] - bone[bones[0]])
            near = 0.03 * (along.max() - along.min())
            return np.asarray(part[(along < along.min() + near) | (along > along.max() - near)])

        return cls(
            rings={
                "chest_girth": ring(CHEST_HEIGHT * stature, *torso),
                "waist_girth": ring(WAIST_HEIGHT * stature, *torso),
                "hip_girth": ring(HIP_HEIGHT * stature, *torso, "leg_upper_l", "leg_upper_r"),
                "thigh_girth": ring(bone["LeftUpLeg"][1] - THIGH_DROP * thigh, "leg_upper_l", "torso_lower_l"),
            },
            skull=ring(skull_height, "head_upper_l", "head_upper_r"),
            top=np.flatnonzero(vertices[:, 1] > stature - 0.01),
            soles=np.flatnonzero(vertices[:, 1] < 0.01),
            foot=extreme(("foot_l", "ankle_l"), ("LeftFoot", "LeftToeBase")),
            hand=extreme(("hand_l",), ("LeftHand", "LeftHandFinger1")),
        )

    def compact(self) -> tuple[Indices, Landmarks]:
        """Return the vertices that measuring reads, and the landmarks of a mesh reduced to these in this order."""
        rings = {**self.rings, "": self.skull}
        lists = [self.top, self.soles, self.foot, self.hand]
        kept = np.unique(
            np.concatenate([*lists, *(r.starts for r in rings.values()), *(r.ends for r in rings.values())])
        )

        def place(old: Indices) -> Indices:
            return np.searchsorted(kept, old).astype(np.int64)

        rings = {name: Ring(place(r.starts), place(r.ends), r.shares) for name, r in rings.items()}
        return kept, Landmarks(rings, rings.pop(""), *map(place, lists))

    def measure(self, vertices: npt.NDArray[Any], heads: npt.NDArray[Any]) -> dict[str, float]:
        """Return the measurements of a body, named as in `anthropometry.Measures`, as if it stood with straight legs.

        Upper arm length and shoulder breadth are converted to those between ANSUR II's landmarks.
        """
        vertices, heads = np.asarray(vertices, dtype=np.float64), np.asarray(heads, dtype=np.float64)
        bone = _named(heads)

        def length(a: str, b: str) -> float:
            return float(np.linalg.norm(bone[a] - bone[b]))

        thigh, shin = length("LeftUpLeg", "LeftLeg"), length("LeftLeg", "LeftFoot")
        ankle = float(bone["LeftFoot"][1] - vertices[self.soles, 1].min())
        head_breadth, head_length = np.ptp(self.skull.points(vertices), axis=0)
        foot = vertices[self.foot][:, [0, 2]]
        toes = (bone["LeftToeBase"] - bone["LeftFoot"])[[0, 2]]
        return {
            "stature": float(vertices[self.top, 1].max() - bone["LeftUpLeg"][1] + thigh + shin + ankle),
            "trochanter_height": thigh + shin + ankle,
            "knee_height": shin + ankle,
            "upper_arm_length": length("LeftArm", "LeftForeArm") / UPPER_ARM_SHARE,
            "forearm_length": length("LeftForeArm", "LeftHand"),
            "hand_length": float(np.linalg.norm(vertices[self.hand] - bone["LeftHand"], axis=1).max()),
            "foot_length": float(np.ptp(foot @ toes) / np.linalg.norm(toes)),
            "shoulder_breadth": length("LeftArm", "RightArm") / SHOULDER_SHARE,
            "head_breadth": float(head_breadth),
            "head_length": float(head_length),
            **{name: ring.girth(vertices) for name, ring in self.rings.items()},
        }

    def scales(
        self, vertices: npt.NDArray[Any], heads: npt.NDArray[Any], measured: dict[str, float], wanted: Measures
    ) -> Floats:
        """Return the matrices (31, 3, 3) for `stretch` that bring a body from its measurements to the wanted ones.

        Lengths are met exactly, girths and breadths as far as `SURPLUS_RANGE` allows. The trunk's height is what legs
        and head leave of the stature.
        """
        bone = _named(np.asarray(heads, dtype=np.float64))
        ratio = {name: getattr(wanted, name) / value for name, value in measured.items()}
        scale = ratio["stature"]
        wide = {name: scale * float(np.clip(value / scale, *SURPLUS_RANGE)) for name, value in ratio.items()}
        ankle = float(bone["LeftFoot"][1] - np.asarray(vertices)[self.soles, 1].min())
        foot = ratio["foot_length"]
        instep = float(np.sqrt(scale * foot))
        shin = measured["knee_height"] - ankle
        thigh = measured["trochanter_height"] - measured["knee_height"]
        longer_shin = (wanted.knee_height - ankle * instep) / shin
        longer_thigh = (wanted.trochanter_height - wanted.knee_height) / thigh
        skull = float(np.asarray(vertices)[self.top, 1].max() - bone["Head"][1])
        head = np.array([wide["head_breadth"], 0.0, wide["head_length"]])
        head[1] = (head[0] + head[2]) / 2
        trunk = (wanted.stature - wanted.trochanter_height - head[1] * skull) / (bone["Head"][1] - bone["LeftUpLeg"][1])
        collar = bone["LeftArm"][0] - bone["LeftShoulder"][0]
        wider = (
            bone["LeftArm"][0] * ratio["shoulder_breadth"] - bone["LeftShoulder"][0] * wide["chest_girth"]
        ) / collar
        wider = scale * float(np.clip(wider / scale, *SURPLUS_RANGE))
        chest, waist, hips = wide["chest_girth"], wide["waist_girth"], wide["hip_girth"]
        arm = float(np.sqrt(scale * (chest + wide["thigh_girth"]) / 2))
        neck = float(np.sqrt(scale * chest))
        calf = float(np.sqrt(scale * wide["thigh_girth"]))

        matrices = np.tile(np.eye(3) * scale, (N_BONES, 1, 1))
        for names, factors in (
            (("Hips", "LHipJoint", "RHipJoint"), (hips, trunk, hips)),
            (("LowerBack", "Spine"), (waist, trunk, waist)),
            (("Spine1",), (chest, trunk, chest)),
            (("LeftShoulder", "RightShoulder"), (wider, trunk, chest)),
            (("Neck", "Neck1"), (neck, trunk, neck)),
            (("Head",), tuple(head)),
        ):
            for name in names:
                matrices[BONE[name]] = np.diag(factors)
        for side in ("Left", "Right"):
            for name, child, along, across in (
                ("UpLeg", "Leg", longer_thigh, wide["thigh_girth"]),
                ("Leg", "Foot", longer_shin, calf),
                ("Arm", "ForeArm", ratio["upper_arm_length"], arm),
                ("ForeArm", "Hand", ratio["forearm_length"], arm),
            ):
                matrices[BONE[side + name]] = _along(bone[side + child] - bone[side + name], along, across)
            for name in ("Foot", "ToeBase"):
                matrices[BONE[side + name]] = np.diag((instep, instep, foot))
            for name in (f"{side}Hand", f"{side}FingerBase", f"{side}HandFinger1", f"{side[0]}Thumb"):
                matrices[BONE[name]] = np.eye(3) * wide["hand_length"]
        return matrices


def stretch(
    vertices: npt.NDArray[Any], heads: npt.NDArray[Any], skin: npt.NDArray[np.float32], matrices: Floats
) -> tuple[Floats, Floats]:
    """Return vertices (n, 3) and bone heads (31, 3) after applying each bone's linear map to its vertices and children.

    A bone's head moves with its parent; a vertex with its bones, averaged by its dense weights `skin` (n, 31).
    """
    old, new = np.asarray(heads, dtype=np.float64), np.array(heads, dtype=np.float64)
    for bone, parent in enumerate(PARENTS):
        if parent >= 0:
            new[bone] = new[parent] + matrices[parent] @ (old[bone] - old[parent])
    shifts = new - np.einsum("bij,bj->bi", matrices, old)
    maps = np.concatenate((matrices, shifts[:, :, None]), axis=2).reshape(N_BONES, 12).astype(np.float32)
    blended = (skin @ maps).reshape(-1, 3, 4)
    points = np.asarray(vertices, dtype=np.float32)
    return np.einsum("nij,nj->ni", blended[:, :, :3], points).astype(np.float64) + blended[:, :, 3], new


def _along(direction: Floats, along: float, across: float) -> Floats:
    """Return the 3 x 3 map that scales by one factor along a direction and by another across it."""
    unit = direction / np.linalg.norm(direction)
    return np.asarray(across * np.eye(3) + (along - across) * np.outer(unit, unit))


def _cut(vertices: Floats, faces: npt.NDArray[Any], height: float) -> Ring:
    """Return the ring in which a horizontal plane cuts the faces."""
    edges = np.unique(np.sort(faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1), axis=0).astype(np.int64)
    start, end = vertices[edges[:, 0], 1], vertices[edges[:, 1], 1]
    is_cut = (start < height) != (end < height)
    shares = (height - start[is_cut]) / (end[is_cut] - start[is_cut])
    return Ring(edges[is_cut, 0], edges[is_cut, 1], shares)


def _named(heads: Floats) -> dict[str, Floats]:
    return {name: heads[i] for name, i in BONE.items()}
