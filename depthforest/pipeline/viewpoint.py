"""Choosing the shipped model for a camera's viewpoint: body31, or body31-top for cameras that look down.

The floor decides if it is seen at a slant and the room stands on it. A plane that faces the camera is a floor seen from
above or a wall seen from the front; geometry alone cannot decide. Then both models label the people in front of it, and
the more confident one wins.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

from depthforest.base import UsageError
from depthforest.forest import DEFAULT_MODEL, TOP_MODEL, Forest, load, shipped_models
from depthforest.frames import Frame
from depthforest.people import People, find_people, looks_down
from depthforest.pipeline.merging import label_people

LEAST_LEAD = -0.05
"""Mean confidence by which the model for cameras that look down may be behind. Where the room does not decide, it is
behind by less in 95 % of the frames of the bench set `top`, and by more in 95 % of those of `cut`: people near a camera
that looks at a wall."""

MOST_FRAMES = 3
"""Number of frames: the floors of this many must all be steep; or, where the room does not decide, both models label
people in this many."""

MOST_LOOKED_AT = 30
"""Most frames that are searched for people."""


def choose_model(frames: Frame | Iterable[Frame]) -> str:
    """Return the shipped model for a camera: "body31", or "body31-top" if it looks down by 50 degrees or more.

    In doubt it is "body31".

    Parameters
    ----------
    frames : Frame or iterable of Frame
        Frames of one static camera. They are taken one by one until the answer is clear: one whose room shows that the
        camera does not look down is enough, else the first few with a floor at a slant or with people.
    """
    leads: list[float] = []
    n_steep = 0
    for number, frame in enumerate(_checked(frames), 1):
        is_top = looks_down(frame) if TOP_MODEL in shipped_models() else False
        if is_top is False:
            return DEFAULT_MODEL
        if is_top:
            n_steep += 1
        elif len(people := find_people(frame)):
            leads.append(_lead_of_top(frame, people))
        if MOST_FRAMES in (n_steep, len(leads)) or number == MOST_LOOKED_AT:
            break
    is_surer = bool(leads) and sum(leads) / len(leads) > LEAST_LEAD
    return TOP_MODEL if n_steep or is_surer else DEFAULT_MODEL


def _checked(frames: Frame | Iterable[Frame]) -> Iterator[Frame]:
    for frame in [frames] if isinstance(frames, Frame) else frames:
        if not isinstance(frame, Frame):
            raise UsageError(f"choose_model takes frames, got {type(frame).__name__}")
        yield frame


def _lead_of_top(frame: Frame, people: People) -> float:
    """Return by how much the model for cameras that look down is more confident about the people in a frame."""
    is_person = people.map > 0
    top, level = (
        float(label_people(_shipped(name), frame, people).confidence[is_person].mean())
        for name in (TOP_MODEL, DEFAULT_MODEL)
    )
    return top - level


@lru_cache(maxsize=2)
def _shipped(name: str) -> Forest:
    return load(name)
