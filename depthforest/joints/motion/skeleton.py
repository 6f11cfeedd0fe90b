"""The skeleton of a motion: bones of fixed length, and rotations that follow the joints of each frame."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from depthforest.base import Floats
from depthforest.frames import JOINTS
from depthforest.joints.motion.motion import LIMBS, Motion, MotionError, across, base_frames, unit

TIP = 0.05
"""Length in meters of the end sites beyond head, hands and feet."""

_INDEX = {name: number for number, name in enumerate(JOINTS)}


@dataclass(frozen=True)
class Node:
    """A joint of the skeleton: its parent, and the unit direction of its offset in the T-pose: x left, y up."""

    name: str
    parent: str
    rest: tuple[float, float, float]


LEFT, RIGHT, UP, DOWN, FORWARD = (1.0, 0.0, 0.0), (-1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, -1.0, 0.0), (0.0, 0.0, 1.0)

NODES = (
    Node("hips", "", (0.0, 0.0, 0.0)),
    Node("lumbar", "hips", (0.0, 0.0, 0.0)),  # at the root, for the bone upward: the root rotates with the hips
    Node("spine", "lumbar", UP),
    Node("neck", "spine", UP),
    Node("head", "neck", UP),
    Node("clavicle_l", "spine", UP),  # at the neck: a bone for each shoulder
    Node("shoulder_l", "clavicle_l", LEFT),
    Node("elbow_l", "shoulder_l", LEFT),
    Node("wrist_l", "elbow_l", LEFT),
    Node("hand_l", "wrist_l", LEFT),
    Node("clavicle_r", "spine", UP),
    Node("shoulder_r", "clavicle_r", RIGHT),
    Node("elbow_r", "shoulder_r", RIGHT),
    Node("wrist_r", "elbow_r", RIGHT),
    Node("hand_r", "wrist_r", RIGHT),
    Node("hip_l", "hips", LEFT),
    Node("knee_l", "hip_l", DOWN),
    Node("ankle_l", "knee_l", DOWN),
    Node("foot_l", "ankle_l", FORWARD),
    Node("hip_r", "hips", RIGHT),
    Node("knee_r", "hip_r", DOWN),
    Node("ankle_r", "knee_r", DOWN),
    Node("foot_r", "ankle_r", FORWARD),
)
"""The nodes of the skeleton, parents before their children, depth first, as in files."""

_AIMS = {"lumbar": "spine", "neck": "head", "clavicle_l": "shoulder_l", "clavicle_r": "shoulder_r"} | dict(LIMBS)
"""Node -> the child that its rotation points at."""


@dataclass(frozen=True, eq=False)
class Skeleton:
    """An animated skeleton.

    Parameters
    ----------
    offsets : dict of node to array (3,)
        From the parent, in the T-pose, meters.
    places : dict of node to array (n, 3)
        Positions in motion space.
    turns : dict of node to array (n, 3, 3)
        Rotations from the T-pose to motion space.
    """

    offsets: dict[str, Floats]
    places: dict[str, Floats]
    turns: dict[str, Floats]

    @classmethod
    def following(cls, motion: Motion, times: Floats) -> Skeleton:
        """Return the skeleton that follows the joints at some times; every joint must be found at least once.

        Bones have their median length in the recording. Each joint lies in the direction of the found one, seen from
        its parent, so that length errors do not add up along a limb. Missing joints are interpolated.
        """
        offsets = _rest_offsets(motion)
        return cls(offsets, *_solved(motion.filled(times), offsets))

    def own_turns(self, node: Node) -> Floats:
        """Return the rotations (n, 3, 3) of a node relative to its parent."""
        turns = self.turns[node.name]
        return transposed(self.turns[node.parent]) @ turns if node.parent else turns

    def joints(self) -> Floats:
        """Return the positions (n, 19, 3) of the joints in the order of `parts.JOINTS`."""
        return np.stack([self.places[name] for name in JOINTS], axis=1)


def _rest_offsets(motion: Motion) -> dict[str, Floats]:
    """Return the offset of each node from its parent in the T-pose, meters."""
    lengths = {name: bone.median for name, bone in motion.bone_lengths().items()}
    lengths["hips-hip_l"] = lengths["hips-hip_r"] = lengths["hip_r-hip_l"] / 2
    at = {"lumbar": "hips", "clavicle_l": "neck", "clavicle_r": "neck"}  # nodes at the position of another joint
    offsets = {}
    for node in NODES:
        bone = f"{at.get(node.parent, node.parent)}-{at.get(node.name, node.name)}"
        is_bone = any(node.rest)
        if is_bone and not np.isfinite(lengths[bone]):
            raise MotionError(f"no frame shows both ends of the bone {bone}; a skeleton needs every bone at least once")
        offsets[node.name] = np.array(node.rest) * (lengths[bone] if is_bone else 0.0)
    return offsets


def _solved(filled: Floats, offsets: dict[str, Floats]) -> tuple[dict[str, Floats], dict[str, Floats]]:
    """Return position (n, 3) and global rotation (n, 3, 3) of every node."""
    target = {name: filled[:, number] for name, number in _INDEX.items()}
    places, turns = {"hips": (target["hip_l"] + target["hip_r"]) / 2}, {}
    turns["hips"] = base_frames(target["hip_l"] - target["hip_r"], target["spine"] - places["hips"])
    for node in NODES:
        name = node.name
        if node.parent:
            parent = turns[node.parent]
            places[name] = places[node.parent] + parent @ offsets[name]
            aim = _AIMS.get(name)
            if name == "spine":  # the chest: up to the neck, rotated with the line of the shoulders
                up = target["neck"] - places[name]
                turns[name] = base_frames(across(target["shoulder_l"] - target["shoulder_r"], up), up)
            elif aim is None:
                turns[name] = parent
            else:
                turns[name] = _swing(parent @ unit(offsets[aim]), target[aim] - places[name]) @ parent
    return places, turns


def _swing(start: Floats, end: Floats) -> Floats:
    """Return the smallest rotations (n, 3, 3) that map the start directions to the end directions."""
    a, b = unit(start), unit(end)
    cosine = np.clip((a * b).sum(axis=1), -1, 1)[:, None, None]
    axis = np.cross(a, b)
    skew = np.zeros((len(a), 3, 3))
    skew[:, 2, 1], skew[:, 0, 2], skew[:, 1, 0] = axis.T
    skew -= transposed(skew)
    turned = np.eye(3) + skew + skew @ skew / np.maximum(1 + cosine, 1e-9)
    # opposite directions: half a turn about any perpendicular axis
    other = unit(np.cross(a, np.eye(3)[np.abs(a).argmin(axis=1)]))
    half = 2 * other[:, :, None] * other[:, None, :] - np.eye(3)
    return np.where(cosine < -1 + 1e-8, half, turned)


def transposed(rotations: Floats) -> Floats:
    """Return the inverse rotations."""
    return np.swapaxes(rotations, -1, -2)
