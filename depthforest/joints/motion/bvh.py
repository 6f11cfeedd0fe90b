"""BVH, the format of animation programs: a hierarchy of bones, and a row of rotations for each frame."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from depthforest.base import Floats, replacing
from depthforest.joints.motion.motion import Motion
from depthforest.joints.motion.skeleton import NODES, TIP, Node, Skeleton

BVH_UNIT = 0.01
"""Meters: BVH names no unit, and animation programs expect centimeters."""


def write_bvh(path: str | Path, motion: Motion, *, fps: float | None = None) -> Floats:
    """Write a person's motion as BVH: a skeleton with bones of fixed length, and rotations that follow the joints.

    Bones have their median length in the recording. Each joint lies in the direction of the found one, seen from its
    parent, so that length errors do not add up along a limb. Limbs do not twist, because joints do not show twist.
    Missing joints are interpolated.

    Parameters
    ----------
    path : str or Path
    motion : Motion
        Every joint must be found at least once.
    fps : float, optional
        Frames per second of the file, whose frames are evenly spaced. Default: the recording's median rate.

    Returns
    -------
    array (n, 19, 3), float64
        The joints of the skeleton as the file has them: motion space, meters, in the order of `parts.JOINTS`.
    """
    times, rate = motion.even_times(fps)
    skeleton = Skeleton.following(motion, times)
    angles = np.concatenate([_zyx(skeleton.own_turns(node)) for node in NODES], axis=1)
    values = np.concatenate((skeleton.places["hips"] / BVH_UNIT, angles), axis=1)
    rows = "\n".join(" ".join(f"{value:.5f}" for value in row) for row in values)
    hierarchy = _hierarchy("", skeleton.offsets, 0)
    text = f"HIERARCHY\n{hierarchy}MOTION\nFrames: {len(times)}\nFrame Time: {1 / rate:.8f}\n{rows}\n"
    with replacing(path) as file:
        file.write(text.encode())
    return skeleton.joints()


def _zyx(rotations: Floats) -> Floats:
    """Return the angles (n, 3) about z, y and x, in degrees, whose product in this order is the rotation; unwrapped."""
    y = np.arcsin(np.clip(-rotations[:, 2, 0], -1, 1))
    z = np.arctan2(rotations[:, 1, 0], rotations[:, 0, 0])
    x = np.arctan2(rotations[:, 2, 1], rotations[:, 2, 2])
    return np.degrees(np.unwrap(np.stack((z, y, x), axis=1), axis=0))


def _hierarchy(parent: str, offsets: dict[str, Floats], depth: int) -> str:
    text = ""
    for node in NODES:
        if node.parent == parent:
            inner, pad = "\t" * (depth + 1), "\t" * depth
            x, y, z = offsets[node.name] / BVH_UNIT
            channels = "3 Zrotation Yrotation Xrotation"
            if not parent:
                channels = "6 Xposition Yposition Zposition Zrotation Yrotation Xrotation"
            below = _hierarchy(node.name, offsets, depth + 1) or _end_site(node, depth + 1)
            text += (
                f"{pad}{'JOINT' if parent else 'ROOT'} {node.name}\n{pad}{{\n{inner}OFFSET {x:.6f} {y:.6f} {z:.6f}\n"
            )
            text += f"{inner}CHANNELS {channels}\n{below}{pad}}}\n"
    return text


def _end_site(node: Node, depth: int) -> str:
    x, y, z = np.array(node.rest) * TIP / BVH_UNIT
    pad = "\t" * depth
    return f"{pad}End Site\n{pad}{{\n{pad}\tOFFSET {x:.6f} {y:.6f} {z:.6f}\n{pad}}}\n"
