"""Made-up frames, forests, marks and finders that several test files share."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np

import depthforest as df
from depthforest.forest.forest import Forest
from depthforest.frames.frame import Joint, LabeledFrame
from depthforest.frames.parts import BODY31, NO_PART
from depthforest.trees import facings
from support.naive_forest import random_forest


@dataclass(frozen=True)
class Found:
    position: tuple[float, float, float]
    confidence: float = 1.0
    proposals: tuple[Found, ...] = ()


def made_up(n=4):
    """Return frames of a made-up set of three parts, without joints."""
    part_set = df.PartSet(("seat", "leg_l", "leg_r"))
    rng = np.random.default_rng(1)
    frames = []
    for _ in range(n):
        parts = np.full((60, 80), NO_PART, dtype=np.uint8)
        parts[10:40, 20:60] = rng.integers(0, 3, (30, 40))
        depth = np.where(parts != NO_PART, rng.integers(900, 1100, (60, 80)), 0).astype(np.uint16)
        people = (parts != NO_PART).astype(np.uint8)
        camera = df.Camera.preset("kinect_v1@80x60")
        frames.append(LabeledFrame(depth, camera, parts, people, part_set=part_set))
    return frames, random_forest(np.random.default_rng(2), 2, 3, part_set)


def near_finder(frames, step=0.0102):
    """Return a finder that proposes each true joint moved along x, and 1 m beside it a less confident one.

    The joint number j of `parts.JOINTS` is moved by j steps of about a centimeter.
    """

    def find(frame, labeling):
        index = next(i for i, f in enumerate(frames) if np.array_equal(f.depth_mm, frame.depth_mm))
        is_person = labeling.parts != NO_PART
        person = int(np.bincount(frames[index].people[is_person]).argmax()) if is_person.any() else 0
        found = {}
        for number, (name, joint) in enumerate(frames[index].joints.get(person, {}).items()):
            x, y, z = joint.position
            near = Found((x + step * number, y, z), 0.9)
            found[name] = Found(near.position, 0.9, (near, Found((x + 1, y, z), 0.4)))
        return found

    return find


def one_part_forest(part, part_set=BODY31):
    """Return a forest that answers the same part everywhere."""
    leaves = np.zeros((1, len(part_set)), dtype=np.uint8)
    leaves[0, part_set.index(part)] = 255
    return Forest(
        np.array([-1], np.int32), np.zeros((0, 4), np.float32), np.zeros(0, np.int16), np.zeros((0, 2), np.int32),
        leaves, part_set,
    )  # fmt: skip


def marks_of(points, joints=None, tmp_path=None, **more):
    people = [{"points": points, "joints": joints or {}}]
    content = {"f": {"width": 80, "height": 60, "people": people, "handedness": "as seen"} | more}
    path = tmp_path / "marks.json"
    path.write_text(json.dumps(content))
    return path


PARTS = df.PartSet(("head", "hand_l", "hand_r"))


def labeled_frame(seed, rows=8, cols=12, *, has_joints=True):
    """Two people side by side, with holes, pixels without a label, and joints that say a facing."""
    rng = np.random.default_rng(seed)
    depth_mm = rng.integers(800, 2500, (rows, cols)).astype(np.uint16)
    depth_mm[rng.random((rows, cols)) < 0.1] = 0
    people = np.where(np.arange(cols) < cols // 2, 1, 4)[None].repeat(rows, 0).astype(np.uint8)
    parts = rng.integers(0, 3, (rows, cols)).astype(np.uint8)
    parts[rng.random((rows, cols)) < 0.2] = 255
    joints = {}
    if has_joints:
        for person in (1, 4):
            x, z = rng.uniform(-0.3, 0.3, 2)
            joints[person] = {"shoulder_l": Joint((x, 0, 2 + z)), "shoulder_r": Joint((-x, 0, 2 - z))}
    camera = df.Camera(rng.uniform(5, 40), rng.uniform(5, 40), 1.5, 2.5, cols, rows)
    return LabeledFrame(depth_mm, camera, parts, people, joints, PARTS)


def people_of(frame, n_facings, is_on_grid=lambda _: True):
    """Yield what the twin counts: facing, frame, mask and pixels of each person."""
    for person in (1, 4):
        mask = frame.people == person
        angle = facings.angle_of(frame.joints.get(person, {})) if n_facings > 1 else 0.0
        if angle is not None:
            pixels = {
                place for place in map(tuple, np.argwhere(mask & (frame.parts != 255)).tolist()) if is_on_grid(place)
            }
            yield facings.facing_of(angle, n_facings), frame, mask, pixels
