"""Checks of the page's requests, and how frames are packed for it. No path ever comes from the page."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from depthforest.base import UsageError, is_finite, is_whole
from depthforest.frames import NAMED_SCALES, NO_PART, PRESETS, Camera
from depthforest.io import ReadOptions
from depthforest.pipeline import PeopleLabels
from depthforest.view.clips import Taken
from depthforest.view.looking import Look

MAX_COMMAND_BYTES = 4096
"""Longest message from the page: the longest needed holds a camera's numbers."""

MAX_MESSAGES_A_SECOND = 400
"""Limit for one page. A pointer dragged along the time bar sends 60, and every shown frame is acknowledged."""

GIVEN = "given"
"""The page's name for the command line's camera, which may be a file: so the page sends no path."""

MAX_INDEX = 1 << 40
SPEEDS = (0.02, 16.0)
WAYS = ("find", "all", "frame", "given")
"""How people are found: searched for, all readings, or in front of a background: the shown frame or a given one."""


@dataclass(frozen=True)
class Reading:
    """The page's settings for reading frames and finding people.

    Parameters
    ----------
    camera : str
        Empty: guessed; "given": the command line's; a preset; numbers fx,fy,cx,cy[,WxH].
    scale, size : str
        Empty: assumed.
    flip : bool
    rotate : int
    people : str
        One of `WAYS`.
    track : bool
    topic : str
        Stream of a recording; empty: the only one.
    """

    camera: str = ""
    scale: str = ""
    flip: bool = False
    rotate: int = 0
    size: str = ""
    people: str = "find"
    track: bool = False
    topic: str = ""

    def options(self, given: ReadOptions) -> ReadOptions:
        """Return the reading options; `given` are the command line's."""
        camera = given.camera if self.camera == GIVEN else (self.camera or None)
        return ReadOptions(camera, self.scale or None, self.flip, self.rotate, self.size or None, self.topic or None)

    def shown(self) -> dict[str, Any]:
        """Return the fields in JSON form."""
        return dict(vars(self))


Command = tuple[str, Any]
"""The name of a request, and its value."""


def parse_command(text: str | bytes) -> Command:
    """Return the request in a message of the page; UsageError if it is invalid."""
    if not isinstance(text, str) or len(text) > MAX_COMMAND_BYTES:
        raise UsageError(f"a message is a text of at most {MAX_COMMAND_BYTES} characters")
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        raise UsageError("a message is JSON, got something else") from None
    if not isinstance(content, dict) or set(content) - {"do", "value"} or not isinstance(content.get("do"), str):
        raise UsageError('a message is {"do": ..., "value": ...}')
    do, value = content["do"], content.get("value")
    if do not in _CHECKS:
        raise UsageError(f"no command is called {do[:40]!r}; commands: {', '.join(_CHECKS)}")
    return do, _CHECKS[do](value)


def _nothing(value: Any) -> None:
    if value is not None:
        raise UsageError("this command takes no value")


def _index(value: Any) -> int:
    if not is_whole(value, 0, MAX_INDEX):
        raise UsageError(f"expected a number of a frame or a model from 0, got {value!r}"[:200])
    return int(value)


def _step(value: Any) -> int:
    if not is_whole(value, -1000, 1000):
        raise UsageError(f"expected frames to step, -1000 to 1000, got {value!r}"[:200])
    return int(value)


def _optional_index(value: Any) -> int | None:
    return None if value is None else _index(value)


def _speed(value: Any) -> float:
    if not is_finite(value) or not SPEEDS[0] <= value <= SPEEDS[1]:
        raise UsageError(f"expected a speed from {SPEEDS[0]} to {SPEEDS[1]}, got {value!r}"[:200])
    return float(value)


def _reading(value: Any) -> Reading:
    fields = Reading.__dataclass_fields__
    if not isinstance(value, dict) or set(value) - set(fields):
        raise UsageError(f"reading takes {', '.join(fields)}")
    for name, entry in value.items():
        expected = type(fields[name].default)
        if type(entry) is not expected:
            raise UsageError(f"{name} must be a {expected.__name__}, got {entry!r}"[:200])
    reading = Reading(**value)
    _check_camera(reading.camera)
    if reading.people not in WAYS:
        raise UsageError(f"people must be one of {', '.join(WAYS)}, got {reading.people!r}"[:200])
    if reading.scale and reading.scale not in NAMED_SCALES and not re.fullmatch(r"[0-9.eE+-]{1,20}", reading.scale):
        raise UsageError(f"a scale is meters per unit, or one of {', '.join(NAMED_SCALES)}; got {reading.scale[:40]!r}")
    if not re.fullmatch(r"[\w/.:+ -]{0,200}", reading.topic):
        raise UsageError(f"a topic is the name of a stream in a recording, got {reading.topic[:40]!r}")
    reading.options(ReadOptions())
    return reading


def _check_camera(camera: str) -> None:
    """Accept only presets and numbers: a camera may also be a file, which a page must not name."""
    if camera in ("", GIVEN) or camera.partition("@")[0] in PRESETS or re.fullmatch(r"[0-9.,eExX +-]{1,200}", camera):
        if camera and camera != GIVEN:
            Camera.parse(camera, (640, 480))
        return
    raise UsageError(f"a camera is a preset ({', '.join(PRESETS)}) or fx,fy,cx,cy[,WxH]; got {camera[:40]!r}")


_CHECKS: dict[str, Any] = {
    "play": _nothing,
    "pause": _nothing,
    "step": _step,
    "seek": _index,
    "speed": _speed,
    "read": _reading,
    "model": _index,
    "compare": _optional_index,
    "reopen": _nothing,
    "shown": _index,
}


def pack_look(look: Look, number: int, total: int, extra: dict[str, Any]) -> bytes:
    """Return the binary message of a frame.

    Four bytes with the length of a JSON text, little-endian; the text, padded with spaces to a multiple of four bytes;
    depth as uint16 millimeters; then, only for the rows and columns in `box`, outside of which nobody is: parts as
    uint8, 255 = none; confidence as uint8, 255 = sure; and both again for the second model, if there is one.

    Parameters
    ----------
    look : Look
    number : int
        Number of the message, which the page acknowledges.
    total : int
        Number of frames in the clip.
    extra : dict
        Additional entries of the header.
    """
    frame, answers = look.taken.frame, [answer for answer in (look.labels, look.other) if answer is not None]
    box = _labeled_box(answers)
    header = {
        "number": number,
        "index": look.taken.number,
        "total": total,
        "name": look.taken.name,
        "width": frame.shape[1],
        "height": frame.shape[0],
        "camera": frame.camera.to_dict(),
        "box": [box[0].start, box[0].stop, box[1].start, box[1].stop],
        "compared": look.other is not None,
        "people": _people(look),
        "warnings": look.warnings,
        "stages": {name: round(ms, 2) for name, ms in look.stages_ms.items()},
        **extra,
    }
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 4)
    arrays = [frame.depth_mm.astype("<u2", copy=False).tobytes()]
    for answer in answers:
        sure = (answer.confidence[box] * np.float32(255)).astype(np.uint8)
        arrays += [answer.parts[box].tobytes(), sure.tobytes()]
    return b"".join([len(text).to_bytes(4, "little"), text, *arrays])


def _labeled_box(answers: list[PeopleLabels]) -> tuple[slice, slice]:
    """Return the rows and columns of the box around all labels; empty slices if there are none."""
    is_labeled = np.logical_or.reduce([answer.parts != NO_PART for answer in answers])
    rows, cols = np.flatnonzero(is_labeled.any(1)), np.flatnonzero(is_labeled.any(0))
    if not len(rows):
        return slice(0, 0), slice(0, 0)
    return slice(int(rows[0]), int(rows[-1]) + 1), slice(int(cols[0]), int(cols[-1]) + 1)


def _people(look: Look) -> list[dict[str, Any]]:
    labels = look.labels
    probable = dict(zip(labels.people.ids, labels.people.probabilities, strict=True))
    return [
        {
            "id": person,
            "probability": round(probable[person], 4),
            "confidence": round(labels.confidences.get(person, 0.0), 4),
            "facing": labels.facings.get(person),
            "joints": {
                name: [*(round(v, 4) for v in joint.position), round(float(joint.confidence), 3)]
                for name, joint in look.joints.get(person, {}).items()
            },
        }
        for person in labels.ids
    ]


def assumed(taken: Taken, reading: Reading, notes: tuple[str, ...]) -> dict[str, str]:
    """Return in words how a frame was read."""
    camera = taken.frame.camera
    turned = f", turned by {reading.rotate} degrees" if reading.rotate else ""
    return {
        "unit": taken.unit,
        "camera": f"{camera.width} x {camera.height}, fx {camera.fx:.1f}, fy {camera.fy:.1f}, "
        f"cx {camera.cx:.1f}, cy {camera.cy:.1f}; {taken.camera}",
        "orientation": ("mirrored back" if reading.flip else "not mirrored") + (turned or ", not turned"),
        "notes": " ".join(notes),
    }
