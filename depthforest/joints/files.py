"""Files of joints: the people in many frames as JSON (versioned) or CSV, written atomically and checked when read.

Camera space, meters. docs/JOINTS.md describes both formats for other programs. The CSV's first seven columns are those
of a data set's `joints.csv`.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

from depthforest.base import DepthForestError, FrameError, UsageError, is_number, is_whole, read_bytes, replacing
from depthforest.frames import JOINTS, Camera, Joint, Joints, Position
from depthforest.io import JOINT_COLUMNS

FORMAT = "depthforest joints"
VERSION = 1
"""Version of the JSON format. Raise it when a reader of the last version would misread a file."""

CONFIDENCE, TIME = "confidence", "time"
COLUMNS = (*JOINT_COLUMNS, CONFIDENCE)
"""Columns of the CSV; `TIME` follows them if any frame has a time."""

NEEDED_COLUMNS = ("frame", "person", "joint", "x", "y", "z")


class JointFileError(DepthForestError, ValueError):
    """A file of joints that is broken, of another kind or of an unknown version."""


class JointLike(Protocol):
    """A found, tracked or true joint."""

    @property
    def position(self) -> Position:
        """(x, y, z) in camera space, meters."""

    @property
    def confidence(self) -> float:
        """0 to 1."""


@dataclass(frozen=True)
class FrameJoints:
    """The joints of everyone in a frame.

    Parameters
    ----------
    name : str
        Name of the frame: its file's name without the ending, or a number.
    people : mapping of person id to mapping of joint name to joint
        Ids are whole numbers from 1, names those of `parts.JOINTS`. Anything with a position and a confidence is a
        joint; one without `is_visible` is visible.
    time : float, optional
        Seconds from an arbitrary start.
    camera : Camera, optional
        Camera that projects the positions.
    """

    name: str
    people: Mapping[int, Mapping[str, JointLike]]
    time: float | None = None
    camera: Camera | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name or not self.name.isprintable():
            raise JointFileError(f"a frame's name is printable text, got {self.name!r}")
        if self.time is not None and not _is_finite(self.time):
            raise JointFileError(f"a frame's time is a finite number of seconds, got {self.time!r}")
        if self.camera is not None and not isinstance(self.camera, Camera):
            raise JointFileError(f"a frame's camera is a Camera, got {type(self.camera).__name__}")
        people = {_person_id(person): _joints(joints) for person, joints in self.people.items()}
        object.__setattr__(self, "people", MappingProxyType(people))


def write_joints(path: str | Path, frames: Iterable[FrameJoints], *, confidence: bool = True) -> None:
    """Write the joints of frames, in their order; the ending of the name, .json or .csv, chooses the format.

    The file is written atomically. JSON keeps everything. CSV has a row for each joint: it keeps neither cameras nor
    frames without people.

    Parameters
    ----------
    path : str or Path
        Its folder must exist.
    frames : iterable of FrameJoints
        Their names must be unique.
    confidence : bool
        False leaves confidence and time out of a CSV, as in the `joints.csv` of a data set, whose joints are true. JSON
        always has both.
    """
    path = Path(path)
    ending = path.suffix.lower()
    if ending not in (".json", ".csv"):
        raise UsageError(f"{path}: joints are written as JSON or CSV; give a name that ends in .json or .csv")
    frames = list(frames)
    doubles = _first_double([frame.name for frame in frames])
    if doubles is not None:
        raise UsageError(f"{path}: two frames are called {doubles!r}; names must be unique")
    has_times = any(frame.time is not None for frame in frames)
    columns = (*COLUMNS, TIME)[: len(COLUMNS) + has_times] if confidence else JOINT_COLUMNS
    content = joints_json(frames) if ending == ".json" else _to_csv(frames, columns).encode()
    with replacing(path) as file:
        file.write(content)


def read_joints(path: str | Path) -> list[FrameJoints]:
    """Read the joints of frames from JSON or CSV, recognized by content; joints come back as `Joint`.

    A data set's `joints.csv` is read as well; its joints have confidence 1.
    """
    path = Path(path)
    try:
        text = read_bytes(path, JointFileError).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise JointFileError(f"{path}: is not UTF-8 text") from None
    try:
        frames = _from_json(text) if text.lstrip()[:1] in ("{", "[") else _from_csv(text)
    except JointFileError as error:
        raise JointFileError(f"{path}{error}") from None
    return frames


def _person_id(person: object) -> int:
    if not is_whole(person, 1):
        raise JointFileError(f"a person's id is a whole number from 1, got {person!r}")
    return int(person)


def _joints(joints: Mapping[str, JointLike]) -> Joints:
    checked: dict[str, Joint] = {}
    for name, joint in joints.items():
        if name not in JOINTS:
            raise JointFileError(f"no joint is called {name!r}; joints: {', '.join(JOINTS)}")
        try:
            checked[name] = Joint(joint.position, getattr(joint, "is_visible", True), float(joint.confidence))
        except FrameError as error:
            raise JointFileError(f"{name}: {error}") from None
    return MappingProxyType(checked)


def _first_double(names: Sequence[str]) -> str | None:
    seen: set[str] = set()
    return next((name for name in names if name in seen or seen.add(name)), None)  # type: ignore[func-returns-value]


def _is_finite(value: object) -> bool:
    # a JSON integer may be too large for a float
    return is_number(value) and abs(value) <= 1e300 and math.isfinite(value)


def joints_json(frames: Iterable[FrameJoints]) -> bytes:
    """Return what `write_joints` puts into a JSON file, with one line for each person."""
    lines = []
    for frame in frames:
        head: dict[str, Any] = {"name": frame.name}
        if frame.time is not None:
            head["time"] = frame.time
        if frame.camera is not None:
            head["camera"] = frame.camera.to_dict()
        people = ",\n  ".join(
            f'"{person}": ' + json.dumps({name: _plain(joint) for name, joint in joints.items()})
            for person, joints in frame.people.items()
        )
        start = json.dumps(head)[:-1]
        lines.append(f'{start}, "people": {{' + (f"\n  {people}" if people else "") + "}}")
    start = json.dumps({"format": FORMAT, "version": VERSION, "unit": "metre"})[:-1]
    return (f'{start}, "frames": [\n' + ",\n".join(lines) + "\n]}\n").encode()


def _plain(joint: JointLike) -> dict[str, Any]:
    return {
        "position": list(joint.position),
        "confidence": joint.confidence,
        "visible": getattr(joint, "is_visible", True),
    }


def _from_json(text: str) -> list[FrameJoints]:
    """Return the frames of JSON text; errors begin with ": " or with the location of the mistake."""
    try:
        content = json.loads(text, object_pairs_hook=_without_doubles)
    except JointFileError:
        raise
    except (ValueError, RecursionError) as error:
        raise JointFileError(f": is not valid JSON: {error}") from None
    head = _object(content, "", ("format", "version", "unit", "frames"), ("format", "version", "frames"))
    if head["format"] != FORMAT:
        raise JointFileError(f': is another kind of file; expected "format": "{FORMAT}", got {head["format"]!r}')
    if head["version"] != VERSION or isinstance(head["version"], bool):
        raise JointFileError(f": has version {head['version']!r}; this program reads {VERSION}")
    if head.get("unit", "metre") != "metre":
        raise JointFileError(f': the unit must be "metre", got {head["unit"]!r}')
    if not isinstance(head["frames"], list):
        raise JointFileError(f": frames must be a list, got {_shown(head['frames'])}")
    frames = [_frame(item, number) for number, item in enumerate(head["frames"])]
    double = _first_double([frame.name for frame in frames])
    if double is not None:
        raise JointFileError(f": two frames are called {double!r}")
    return frames


def _frame(content: object, number: int) -> FrameJoints:
    where = f", frame {number}"
    known = _object(content, where, ("name", "time", "camera", "people"), ("name", "people"))
    where = f", frame {known['name']!r}" if isinstance(known["name"], str) else where
    if not isinstance(known["people"], dict):
        raise JointFileError(f"{where}: people must be an object of ids, got {_shown(known['people'])}")
    people = {}
    for key, joints in known["people"].items():
        if not isinstance(joints, dict):
            raise JointFileError(f"{where}, person {key}: expected an object of joints, got {_shown(joints)}")
        its = {name: _joint(joint, f"{where}, person {key}, {name}") for name, joint in joints.items()}
        people[_whole_number(key, where)] = its
    try:
        camera = Camera.from_dict(known["camera"]) if "camera" in known else None
        return FrameJoints(known["name"], people, known.get("time"), camera)
    except DepthForestError as error:
        raise JointFileError(f"{where}: {error}") from None


def _joint(content: object, where: str) -> Joint:
    known = _object(content, where, ("position", "confidence", "visible"), ("position",))
    position, visible = known["position"], known.get("visible", True)
    if not isinstance(position, list) or not all(map(_is_finite, position)):
        raise JointFileError(f"{where}: position must be three finite numbers, got {_shown(position)}")
    confidence = known.get("confidence", 1.0)
    if not _is_finite(confidence):
        raise JointFileError(f"{where}: confidence must be a number from 0 to 1, got {_shown(confidence)}")
    if not isinstance(visible, bool):
        raise JointFileError(f"{where}: visible must be true or false, got {_shown(visible)}")
    try:
        return Joint(tuple(position), visible, float(confidence))
    except FrameError as error:
        raise JointFileError(f"{where}: {error}") from None


def _object(content: object, where: str, known: tuple[str, ...], needed: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(content, dict):
        raise JointFileError(f"{where}: expected an object with {', '.join(needed)}, got {_shown(content)}")
    missing = [key for key in needed if key not in content]
    if missing:
        raise JointFileError(f"{where}: lacks {', '.join(missing)}")
    unknown = [key for key in content if key not in known]
    if unknown:
        raise JointFileError(f"{where}: has the unknown key {unknown[0]!r}; known are {', '.join(known)}")
    return content


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    double = _first_double([key for key, _ in pairs])
    if double is not None:
        raise JointFileError(f": {double!r} is given twice in one object")
    return dict(pairs)


def _whole_number(text: str, where: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= 9) or int(text) < 1:
        raise JointFileError(f"{where}: a person's id is a whole number from 1, got {_shown(text)}")
    return int(text)


def _to_csv(frames: Iterable[FrameJoints], columns: tuple[str, ...]) -> str:
    text = io.StringIO(newline="")
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(columns)
    rows.writerows(row[: len(columns)] for frame in frames for row in _rows(frame))
    return text.getvalue()


def _rows(frame: FrameJoints) -> Iterator[tuple[object, ...]]:
    for person, joints in frame.people.items():
        for name, joint in joints.items():
            visible = int(getattr(joint, "is_visible", True))
            # repr: the shortest text that reads back as the same number
            time = "" if frame.time is None else repr(frame.time)
            yield frame.name, person, name, *map(repr, joint.position), visible, repr(joint.confidence), time


def _from_csv(text: str) -> list[FrameJoints]:
    """Return the frames of CSV text; errors begin with ": " or with the line of the mistake."""
    reader = csv.reader(io.StringIO(text, newline=""))
    found: dict[str, dict[int, dict[str, Joint]]] = {}
    times: dict[str, float | None] = {}
    try:
        columns = _columns(next(reader, []))
        for row in filter(None, reader):
            if len(row) != len(columns):
                raise JointFileError(f": expected {len(columns)} values, {','.join(columns)}, got {len(row)}")
            values = dict(zip(columns, row, strict=True))
            joint = _parsed(values)
            person = _whole_number(values["person"], "")
            time = _time(values.get(TIME, ""))
            if times.setdefault(values["frame"], time) != time:
                raise JointFileError(f": this frame has two times, {times[values['frame']]} and {time}")
            its_joints = found.setdefault(values["frame"], {}).setdefault(person, {})
            if values["joint"] in its_joints:
                raise JointFileError(f": {values['joint']} of person {person} in this frame is given twice")
            its_joints[values["joint"]] = joint
        return [FrameJoints(name, people, times[name]) for name, people in found.items()]
    except csv.Error as error:
        raise JointFileError(f", line {reader.line_num}: {error}") from None
    except JointFileError as error:
        raise JointFileError(f", line {reader.line_num}{error}") from None


def _columns(header: Sequence[str]) -> list[str]:
    missing = [column for column in NEEDED_COLUMNS if column not in header]
    if missing:
        raise JointFileError(f": lacks the column {missing[0]}; expected {','.join(COLUMNS)}, got {_shown(header)}")
    unknown = [column for column in header if column not in (*COLUMNS, TIME)]
    if unknown or _first_double(header) is not None:
        wrong = unknown[0] if unknown else _first_double(header)
        raise JointFileError(f": has the column {wrong!r} too much; expected {','.join(COLUMNS)}")
    return list(header)


def _time(text: str) -> float | None:
    try:
        time = float(text) if text else None
    except ValueError:
        time = math.nan
    if time is not None and not math.isfinite(time):
        raise JointFileError(f": time must be a number of seconds, got {_shown(text)}")
    return time


def _parsed(values: Mapping[str, str]) -> Joint:
    if not values["frame"]:
        raise JointFileError(": the frame's name is empty")
    if values["joint"] not in JOINTS:
        raise JointFileError(f": no joint is called {_shown(values['joint'])}; joints: {', '.join(JOINTS)}")
    numbers = []
    for column in ("x", "y", "z", CONFIDENCE):
        try:
            numbers.append(float(values.get(column, "1")))
        except ValueError:
            raise JointFileError(f": {column} must be a number, got {_shown(values[column])}") from None
    visible = values.get("visible", "1")
    if visible not in ("0", "1"):
        raise JointFileError(f": visible is 0 or 1, got {_shown(visible)}")
    try:
        return Joint((numbers[0], numbers[1], numbers[2]), visible == "1", numbers[3])
    except FrameError as error:
        raise JointFileError(f": {error}") from None


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
