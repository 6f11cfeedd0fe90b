"""glTF 2.0 in one binary file: the animated skeleton, and a mesh with one spindle for each bone."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from depthforest.base import Floats, replacing
from depthforest.joints.motion.motion import Motion, unit
from depthforest.joints.motion.skeleton import NODES, TIP, Skeleton

FLOAT, WORD, BYTE = 5126, 5123, 5121
"""glTF's codes of the types float32, uint16 and uint8."""

WIDTH = 0.12
"""Width of a bone's spindle as a share of its length; it is widest at a fifth of the length."""

COLOR = (0.75, 0.62, 0.5, 1.0)


def write_gltf(path: str | Path, motion: Motion) -> Floats:
    """Write a person's motion as binary glTF: bones of fixed length, a key for each frame at its own time.

    Parameters
    ----------
    path : str or Path
        Usually ends in .glb.
    motion : Motion
        Every joint must be found at least once.

    Returns
    -------
    array (n, 19, 3), float64
        The joints of the skeleton as the file has them: motion space, meters, in the order of `parts.JOINTS`.
    """
    skeleton = Skeleton.following(motion, motion.times)
    store = _Store()
    content = {
        "asset": {"version": "2.0", "generator": "depthforest"},
        "scene": 0,
        "scenes": [{"nodes": [0, len(NODES)]}],
        "nodes": _nodes(skeleton),
        "skins": [_skin(store, skeleton)],
        "meshes": [_mesh(store, skeleton)],
        "materials": [{"pbrMetallicRoughness": {"baseColorFactor": COLOR, "metallicFactor": 0.0}}],
        "animations": [_animation(store, skeleton, motion.times)],
        "extras": {"start_s": float(motion.times[0])},
    }
    content |= {"accessors": store.accessors, "bufferViews": store.views, "buffers": [{"byteLength": len(store.bytes)}]}
    text = json.dumps(content, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 4)
    chunks = struct.pack("<I4s", len(text), b"JSON") + text + struct.pack("<I4s", len(store.bytes), b"BIN\0")
    with replacing(path) as file:
        file.write(struct.pack("<4sII", b"glTF", 2, 12 + len(chunks) + len(store.bytes)) + chunks + store.bytes)
    return skeleton.joints()


@dataclass
class _Store:
    """The binary part of the file, as it grows."""

    bytes: bytearray = field(default_factory=bytearray)
    views: list[dict[str, Any]] = field(default_factory=list)
    accessors: list[dict[str, Any]] = field(default_factory=list)

    def add(self, values: npt.NDArray[Any], kind: str, component: int, *, bounds: bool = False) -> int:
        """Append an array with a row for each element; return the number of its accessor."""
        data = np.ascontiguousarray(values)
        self.views.append({"buffer": 0, "byteOffset": len(self.bytes), "byteLength": data.nbytes})
        entry = {"bufferView": len(self.views) - 1, "componentType": component, "count": len(data), "type": kind}
        if bounds:
            rows = data.reshape(len(data), -1)
            entry |= {"min": rows.min(axis=0).tolist(), "max": rows.max(axis=0).tolist()}
        self.accessors.append(entry)
        self.bytes += data.tobytes() + b"\0" * (-data.nbytes % 4)
        return len(self.accessors) - 1


def _nodes(skeleton: Skeleton) -> list[dict[str, Any]]:
    """Return the nodes of the joints in the T-pose, then the node of the body."""
    numbers = {node.name: number for number, node in enumerate(NODES)}
    nodes: list[dict[str, Any]] = []
    for node in NODES:
        entry: dict[str, Any] = {"name": node.name, "translation": skeleton.offsets[node.name].tolist()}
        children = [numbers[other.name] for other in NODES if other.parent == node.name]
        nodes.append(entry | ({"children": children} if children else {}))
    return [*nodes, {"name": "body", "mesh": 0, "skin": 0}]


def _rest(skeleton: Skeleton) -> dict[str, Floats]:
    """Return the positions of the joints in the T-pose, with the hips at the origin."""
    places: dict[str, Floats] = {}
    for node in NODES:
        offset = skeleton.offsets[node.name]
        places[node.name] = places[node.parent] + offset if node.parent else offset
    return places


def _skin(store: _Store, skeleton: Skeleton) -> dict[str, Any]:
    inverse = np.tile(np.eye(4, dtype=np.float32), (len(NODES), 1, 1))
    inverse[:, :3, 3] = [-place for place in _rest(skeleton).values()]
    matrices = store.add(inverse.transpose(0, 2, 1), "MAT4", FLOAT)  # column by column
    return {"inverseBindMatrices": matrices, "skeleton": 0, "joints": list(range(len(NODES)))}


def _mesh(store: _Store, skeleton: Skeleton) -> dict[str, Any]:
    """Return a spindle from each joint to each of its children, or beyond it where it has none."""
    rest = _rest(skeleton)
    bones: list[tuple[int, Floats, Floats]] = []
    for number, node in enumerate(NODES):
        ends = [rest[other.name] for other in NODES if other.parent == node.name]
        ends = ends or [rest[node.name] + TIP * np.array(node.rest)]
        bones += [(number, rest[node.name], end) for end in ends if np.linalg.norm(end - rest[node.name]) > 1e-6]
    corners = np.concatenate([_spindle(start, end) for _, start, end in bones]).astype(np.float32)
    one = np.array([[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 1], [5, 2, 1], [5, 3, 2], [5, 4, 3], [5, 1, 4]])
    faces = (one + 6 * np.arange(len(bones))[:, None, None]).astype(np.uint16)
    joints = np.zeros((len(corners), 4), dtype=np.uint8)
    joints[:, 0] = np.repeat([number for number, _, _ in bones], 6)
    weights = np.zeros((len(corners), 4), dtype=np.float32)
    weights[:, 0] = 1
    attributes = {
        "POSITION": store.add(corners, "VEC3", FLOAT, bounds=True),
        "JOINTS_0": store.add(joints, "VEC4", BYTE),
        "WEIGHTS_0": store.add(weights, "VEC4", FLOAT),
    }
    indices = store.add(faces.reshape(-1), "SCALAR", WORD)
    return {"primitives": [{"attributes": attributes, "indices": indices, "material": 0}]}


def _spindle(start: Floats, end: Floats) -> Floats:
    """Return six corners: the start, four around the widest place, the end."""
    along = end - start
    length = float(np.linalg.norm(along))
    side = unit(np.cross(along, np.eye(3)[np.abs(along).argmin()]))
    other = np.cross(along / length, side)
    middle, half = start + 0.2 * along, WIDTH * length / 2
    return np.stack((start, *(middle + half * way for way in (side, other, -side, -other)), end))


def _animation(store: _Store, skeleton: Skeleton, times: Floats) -> dict[str, Any]:
    clock = store.add((times - times[0]).astype(np.float32), "SCALAR", FLOAT, bounds=True)
    hips = store.add(skeleton.places["hips"].astype(np.float32), "VEC3", FLOAT)
    channels: list[dict[str, Any]] = [{"sampler": 0, "target": {"node": 0, "path": "translation"}}]
    samplers = [{"input": clock, "output": hips}]
    for number, node in enumerate(NODES):
        turns = store.add(_quaternions(skeleton.own_turns(node)).astype(np.float32), "VEC4", FLOAT)
        channels.append({"sampler": len(samplers), "target": {"node": number, "path": "rotation"}})
        samplers.append({"input": clock, "output": turns})
    return {"name": "motion", "channels": channels, "samplers": samplers}


def _quaternions(turns: Floats) -> Floats:
    """Return rotations (n, 3, 3) as unit quaternions (n, 4) in the order x, y, z, w; neighbors on the same side."""
    # Bar-Itzhack 2000: the eigenvector of the largest eigenvalue of a symmetric matrix, for any rotation
    a = turns
    k = np.empty((len(a), 4, 4))
    k[:, :3, :3] = a + np.swapaxes(a, 1, 2) - np.trace(a, axis1=1, axis2=2)[:, None, None] * np.eye(3)
    k[:, 3, :3] = k[:, :3, 3] = np.stack(
        (a[:, 2, 1] - a[:, 1, 2], a[:, 0, 2] - a[:, 2, 0], a[:, 1, 0] - a[:, 0, 1]), axis=1
    )
    k[:, 3, 3] = np.trace(a, axis1=1, axis2=2)
    found = np.linalg.eigh(k)[1][:, :, -1]
    signs = np.where((found[1:] * found[:-1]).sum(axis=1) < 0, -1.0, 1.0)
    return np.asarray(found * np.concatenate(([1.0], np.cumprod(signs)))[:, None])
