"""Make the pictures of README and docs from the bundled sample frames; run it from the top of a checkout."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np

from depthforest import drawing
from depthforest.datasets import open_dataset
from depthforest.drawing import FONT, Picture
from depthforest.frames import LabeledFrame
from depthforest.resources import samples_folder

PICTURES = Path(__file__).resolve().parent.parent / "docs" / "pictures"

STAGES = {
    "synth": "bodies, poses, rooms,|sensors: labeled frames",
    "frames": "depth in mm, and|the camera it is from",
    "masks": "which pixels|are a person",
    "features": "depth differences at|offsets in metres",
    "training": "trees level by level|over shards of frames",
    "forest": "flat columns,|one checked file",
    "labeling": "the part of|every pixel",
    "joints": "modes of the parts|in camera space",
    "evaluation": "accuracy, joint|precision, report",
}
BUILT = {"synth", "frames"}
"""Stages that work today; the others are drawn in grey."""


def row_of(frame: LabeledFrame) -> Picture:
    """Return a frame shaded, with its parts, and with its joints."""
    parts = drawing.overlay(frame, frame.parts, frame.part_set)
    joints = drawing.draw_joints(parts, frame.camera, frame.joints)
    return drawing.side_by_side([drawing.shade(frame), parts, joints])


def flow() -> Picture:
    """Return the line from synthetic bodies to scores as boxes and arrows."""
    box_width, box_height, gap, columns = 190, 84, 44, 5
    n_rows = -(-len(STAGES) // columns)
    size = 20 + n_rows * (box_height + gap), columns * (box_width + gap)
    picture = np.full((*size, 3), 255, dtype=np.uint8)
    for i, (name, text) in enumerate(STAGES.items()):
        left, top = 16 + i % columns * (box_width + gap), 20 + i // columns * (box_height + gap)
        ink = (20, 60, 110) if name in BUILT else (150, 150, 150)
        cv2.rectangle(picture, (left, top), (left + box_width, top + box_height), ink, 2, cv2.LINE_AA)
        cv2.putText(picture, name, (left + 10, top + 26), FONT, 0.65, ink, 2, cv2.LINE_AA)
        for line, words in enumerate(text.split("|")):
            cv2.putText(picture, words, (left + 10, top + 50 + 20 * line), FONT, 0.45, ink, 1, cv2.LINE_AA)
        if i + 1 < len(STAGES) and (i + 1) % columns:
            middle = top + box_height // 2
            start, end = (left + box_width + 6, middle), (left + box_width + gap - 6, middle)
            cv2.arrowedLine(picture, start, end, (90, 90, 90), 2, cv2.LINE_AA, tipLength=0.3)
        elif i + 1 < len(STAGES):
            turn = top + box_height + gap // 2
            corners = [(left + box_width // 2, top + box_height + 4), (left + box_width // 2, turn), (111, turn)]
            cv2.polylines(picture, [np.array(corners)], False, (90, 90, 90), 2, cv2.LINE_AA)
            cv2.arrowedLine(
                picture, (111, turn), (111, turn + gap // 2 - 2), (90, 90, 90), 2, cv2.LINE_AA, tipLength=0.5
            )
    return picture


if __name__ == "__main__":
    samples = open_dataset(samples_folder())
    by_name = dict(zip(samples.names, samples, strict=True))
    front = drawing.contact_sheet([row_of(by_name[n]) for n in ("arms_out", "sitting_three")], columns=1)
    for file_name, picture in (
        ("front.png", front),
        ("flow.png", flow()),
        ("parts31.png", drawing.legend(samples.part_set, columns=4)),
    ):
        drawing.write_picture(PICTURES / file_name, picture)
        print(f"docs/pictures/{file_name}")
