"""Made-up frames with true people, and finders of planted answers."""

from __future__ import annotations

import json

import numpy as np

import depthforest as df
from depthforest.evaluation.people.matching import MarkedFrame
from depthforest.frames.drawing import write_depth, write_people
from depthforest.frames.parts import NO_PART
from depthforest.people import People

CAMERA = df.Camera.preset("kinect_v1@80x60")
SHAPE = (60, 80)


def boxes(*people, shape=SHAPE):
    """Return a map of ids: each person is (id, top, bottom, left, right)."""
    ids = np.zeros(shape, dtype=np.uint8)
    for person, top, bottom, left, right in people:
        ids[top:bottom, left:right] = person
    return ids


def depth_of(people, *, number=0):
    """Return depth with readings everywhere; the first tells frames apart."""
    depth = np.where(people > 0, 2000, 3000).astype(np.uint16)
    depth[0, 0] = 500 + number
    return depth


def labeled(people, number=0):
    """Return a labeled frame of a map of ids."""
    parts = np.where(people > 0, np.uint8(3), np.uint8(NO_PART))
    return df.LabeledFrame(depth_of(people, number=number), CAMERA, parts, people)


def marked(people, number=0):
    """Return a frame whose people were marked by hand."""
    return MarkedFrame(depth_of(people, number=number), CAMERA, people)


def planted(answers):
    """Return a finder that gives the map of each frame, told by its first reading."""

    def find(frame, _background=None):
        return People.of_map(answers[int(frame.depth_mm[0, 0]) - 500].copy())

    return find


class PlantedTracker:
    """A tracker that gives a map for each frame in turn."""

    def __init__(self, answers):
        self._answers = iter(answers)

    def add(self, _frame):
        """Return the next map."""
        return People.of_map(next(self._answers).copy())


def write_rooms(folder, frames):
    """Write marked rooms: {"empty/a.png": None, "people/b.png": map}; return the folder."""
    for kind in ("empty", "people", "people_masks"):
        (folder / kind).mkdir(parents=True)
    for number, (name, people) in enumerate(frames.items()):
        ids = np.zeros(SHAPE, dtype=np.uint8) if people is None else people
        write_depth(folder / name, depth_of(ids, number=number))
        if people is not None:
            write_people(folder / name.replace("people/", "people_masks/"), people)
    index = {name: {"camera": CAMERA.to_dict(), "source": "made up"} for name in frames}
    (folder / "index.json").write_text(json.dumps(index))
    return folder
