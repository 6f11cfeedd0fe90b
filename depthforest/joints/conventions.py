"""Joint conventions: the names and positions of joints in other data sets and programs.

For each of its joints, a convention has our joint, or a weighted mean of ours, and an offset in meters along the
person's own axes: left, down, front. `fit_convention` learns the offsets from marked frames. docs/JOINTS.md says which
parts of the named conventions are approximate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np

from depthforest.base import Floats, UsageError, is_finite, is_number, json_bytes, read_json, replacing, shown
from depthforest.frames import JOINTS, Joint

FORMAT, VERSION = "depthforest convention", 1
MAX_OFFSET_M = 1.0
MAX_SHARE, SUM_TOLERANCE = 4.0, 1e-6
SHORTEST_M = 0.02
"""Meters: a trunk that is shorter or narrower does not determine a direction."""

LEAST_FRAMES = 3
"""Fewest marked frames from which a joint's offset is learned."""


class Placed(Protocol):
    """A joint with a position."""

    @property
    def position(self) -> tuple[float, float, float]:
        """Meters in camera space."""


@dataclass(frozen=True)
class Convention:
    """A map from the joints of depthforest to those of another skeleton.

    Parameters
    ----------
    sources : mapping of str to mapping of str to float
        For each joint the weights of the joints of `parts.JOINTS` that it is the mean of; they sum to 1.
    offsets : mapping of str to (left, down, front)
        Offsets in meters along the person's axes. Missing joints have no offset.
    """

    sources: Mapping[str, Mapping[str, float]]
    offsets: Mapping[str, tuple[float, float, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, shares in self.sources.items():
            known = isinstance(shares, Mapping) and shares and all(joint in JOINTS for joint in shares)
            if not known or not all(is_number(s) and abs(s) <= MAX_SHARE for s in shares.values()):
                raise UsageError(f"joint {shown(name)}: expected shares of {', '.join(JOINTS)}, got {shown(shares)}")
            if abs(sum(shares.values()) - 1) > SUM_TOLERANCE:
                raise UsageError(f"joint {shown(name)}: shares must sum to 1, got {sum(shares.values()):g}")
        for name, offset in self.offsets.items():
            if name not in self.sources:
                raise UsageError(f"offset of joint {shown(name)}, which the convention lacks")
            is_offset = isinstance(offset, Sequence) and len(offset) == 3
            if not is_offset or not all(is_number(v) and abs(v) <= MAX_OFFSET_M for v in offset):
                expected = f"three numbers within {MAX_OFFSET_M:g} m"
                raise UsageError(f"offset of joint {shown(name)} must be {expected}, got {shown(offset)}")

    def save(self, path: str | Path) -> None:
        """Write the convention as JSON."""
        content: dict[str, Any] = {
            "format": FORMAT,
            "version": VERSION,
            "joints": {
                name: {"from": dict(shares), "offset_m": list(self.offsets.get(name, (0.0, 0.0, 0.0)))}
                for name, shares in self.sources.items()
            },
        }
        with replacing(path) as file:
            file.write(json_bytes(content))

    @classmethod
    def load(cls, path: str | Path) -> Convention:
        """Read what `save` wrote, and check everything."""
        content = read_json(Path(path), UsageError)
        if not isinstance(content, dict) or content.get("format") != FORMAT or content.get("version") != VERSION:
            raise UsageError(f"{path}: is not a convention; expected format {FORMAT!r}, version {VERSION}")
        joints = content.get("joints")
        is_whole = isinstance(joints, dict) and all(
            isinstance(its, dict) and sorted(its) == ["from", "offset_m"] for its in joints.values()
        )
        if not isinstance(joints, dict) or not is_whole:
            raise UsageError(f"{path}: joints must be an object of objects with from and offset_m")
        try:
            return cls({n: its["from"] for n, its in joints.items()}, {n: its["offset_m"] for n, its in joints.items()})
        except UsageError as error:
            raise UsageError(f"{path}: {error}") from None


def person_axes(joints: Mapping[str, Placed]) -> Floats | None:
    """Return the person's axes as rows: left, down, front; None if the trunk does not determine them.

    Down is from the neck to the hips, or to the spine; left is across shoulders and hips.
    """
    at = {name: np.array(joint.position, dtype=np.float64) for name, joint in joints.items()}
    across = [at[f"{n}_l"] - at[f"{n}_r"] for n in ("shoulder", "hip") if f"{n}_l" in at and f"{n}_r" in at]
    ends = [at[n] for n in ("hip_l", "hip_r") if n in at] if {"hip_l", "hip_r"} <= set(at) else []
    ends = ends or [at[n] for n in ("spine",) if n in at]
    if not across or not ends or "neck" not in at:
        return None
    down = np.mean(ends, axis=0) - at["neck"]
    left = np.sum(across, axis=0)
    length = float(np.linalg.norm(down))
    if length < SHORTEST_M:
        return None
    down /= length
    left = left - (left @ down) * down
    length = float(np.linalg.norm(left))
    if length < SHORTEST_M:
        return None
    left /= length
    return np.stack((left, down, np.cross(down, left)))


def convert(joints: Mapping[str, Placed], convention: str | Path | Convention) -> Mapping[str, Joint]:
    """Return the joints of a person in another convention.

    Parameters
    ----------
    joints : mapping of str to joint
        Found, tracked or true joints, by our names.
    convention : str, Path or Convention
        "itop", "kinect_v2", "coco", "smpl", a Convention, or the path of a saved one.

    Returns
    -------
    mapping of str to Joint
        The joints whose sources are all present; those with an offset only if the trunk determines the person's axes.
        The confidence is the lowest of the sources'.
    """
    chosen = _convention(convention)
    axes = person_axes(joints)
    found: dict[str, Joint] = {}
    for name, shares in chosen.sources.items():
        offset = np.array(chosen.offsets.get(name, (0.0, 0.0, 0.0)))
        if not set(shares) <= set(joints) or (offset.any() and axes is None):
            continue
        place = _mean(joints, shares) + (offset @ axes if axes is not None else 0.0)
        used = [joints[joint] for joint in shares]
        is_visible = all(getattr(joint, "is_visible", True) for joint in used)
        sure = min(float(getattr(joint, "confidence", 1.0)) for joint in used)
        found[name] = Joint((float(place[0]), float(place[1]), float(place[2])), is_visible, sure)
    return MappingProxyType(found)


def fit_convention(
    found: Sequence[Mapping[str, Placed]],
    marked: Sequence[Mapping[str, Any]],
    *,
    base: str | Path | Convention | None = None,
) -> Convention:
    """Learn a joint convention from a few marked frames.

    Parameters
    ----------
    found : sequence of mappings of str to joint
        Our joints of each frame, one person each.
    marked : sequence of mappings of str to (x, y, z)
        Marks of the same people by the convention's joint names, in meters in camera space; any may be missing.
    base : str, Path or Convention, optional
        The sources of the convention's joints. Default: our joints of the same names; other names are refused.

    Returns
    -------
    Convention
        Has the median offset along the person's axes of every joint that is marked in `LEAST_FRAMES` frames or more;
        for others, that of `base`.
    """
    if len(found) != len(marked) or not len(found):
        raise UsageError(
            f"there are {len(found)} found and {len(marked)} marked people; give one for each, at least one"
        )
    names = list(dict.fromkeys(name for marks in marked for name in marks))
    chosen = Convention({n: {n: 1.0} for n in names if n in JOINTS}) if base is None else _convention(base)
    odd = [name for name in names if name not in chosen.sources]
    if odd:
        raise UsageError(
            f"joint {shown(odd[0])} is marked, but unknown; name a convention that has it, or make one: "
            "Convention({'torso': {'spine': 1.0}, ...})"
        )
    offsets = dict(chosen.offsets)
    for name in names:
        shares = chosen.sources[name]
        off = []
        for joints, marks in zip(found, marked, strict=True):
            axes = person_axes(joints)
            if name in marks and set(shares) <= set(joints) and axes is not None:
                off.append(axes @ (_mark(name, marks[name]) - _mean(joints, shares)))
        if len(off) >= LEAST_FRAMES:
            left, down, front = np.clip(np.median(off, axis=0), -MAX_OFFSET_M, MAX_OFFSET_M).round(4).tolist()
            offsets[name] = (left, down, front)
    return Convention(chosen.sources, offsets)


def people_of_marks(
    joints_path: str | Path, marks_path: str | Path
) -> tuple[list[Mapping[str, Any]], list[dict[str, Any]]]:
    """Return the found and the marked joints of the frames that two files have in common, one person each.

    Parameters
    ----------
    joints_path : str or Path
        A file of `write_joints`. If a frame has several people, the one whose joints are nearest to the marks is used.
    marks_path : str or Path
        JSON: ``{"frame name": {"joint": [x, y, z], ...}, ...}``.
    """
    from depthforest.joints.files import read_joints

    content = read_json(Path(marks_path), UsageError)
    if not isinstance(content, dict) or not all(isinstance(its, dict) and its for its in content.values()):
        raise UsageError(f"{marks_path}: expected an object of frames, each an object of joints with [x, y, z]")
    found: list[Mapping[str, Any]] = []
    marked: list[dict[str, Any]] = []
    for frame in read_joints(joints_path):
        marks = content.get(frame.name)
        if marks is None or not frame.people:
            continue
        middle = np.mean([_mark(name, place) for name, place in marks.items()], axis=0)

        def away(joints: Mapping[str, Any], middle: Floats = middle) -> float:
            places = [joint.position for joint in joints.values()]
            return float(np.linalg.norm(np.mean(places, axis=0) - middle)) if places else np.inf

        found.append(min(frame.people.values(), key=away))
        marked.append(marks)
    if not found:
        raise UsageError(f"{marks_path}: has no frame in which {joints_path} has a person; names must be equal")
    return found, marked


def _mark(name: str, value: Any) -> Floats:
    if not isinstance(value, Sequence | np.ndarray) or len(value) != 3 or not all(map(is_finite, value)):
        raise UsageError(f"the mark of joint {shown(name)} must be (x, y, z) in meters, got {shown(value)}")
    return np.array(value, dtype=np.float64)


def _mean(joints: Mapping[str, Placed], shares: Mapping[str, float]) -> Floats:
    return np.asarray(sum(share * np.array(joints[joint].position) for joint, share in shares.items()))


def _convention(convention: str | Path | Convention) -> Convention:
    if isinstance(convention, Convention):
        return convention
    if isinstance(convention, str) and convention in CONVENTIONS:
        return CONVENTIONS[convention]
    if isinstance(convention, str | Path) and Path(convention).is_file():
        return Convention.load(convention)
    raise UsageError(f"expected {', '.join(CONVENTIONS)}, a Convention or a file of one, got {shown(convention)}")


def _sides(names: Mapping[str, str], left: str, right: str) -> dict[str, dict[str, float]]:
    """Return joints that are ours under other names, for both sides; `{}` in a name stands for the side."""
    return {
        theirs.format(word): {f"{ours}_{side}": 1.0}
        for side, word in (("l", left), ("r", right))
        for theirs, ours in names.items()
    }


_HIPS = {"hip_l": 0.5, "hip_r": 0.5}


def _between(neck: float) -> dict[str, float]:
    """Return the weights of a point on the line from the middle of the hips to the neck."""
    return {"neck": neck, "hip_l": (1 - neck) / 2, "hip_r": (1 - neck) / 2}


_LIMBS = ("shoulder", "elbow", "wrist", "hand", "hip", "knee", "ankle", "foot")

CONVENTIONS: Mapping[str, Convention] = MappingProxyType(
    {
        "itop": Convention(
            {"head": {"head": 1.0}, "neck": {"neck": 1.0}, "torso": {"spine": 1.0}}
            | _sides({f"{n}_{{}}": n for n in _LIMBS if n not in ("wrist", "ankle")}, "l", "r")
        ),
        "kinect_v2": Convention(
            {
                "SpineBase": _HIPS,
                "SpineMid": {"spine": 1.0},
                "SpineShoulder": {"shoulder_l": 0.5, "shoulder_r": 0.5},
                "Neck": {"neck": 1.0},
                "Head": {"head": 1.0},
            }
            | _sides({f"{n.title()}{{}}": n for n in _LIMBS}, "Left", "Right")
        ),
        "coco": Convention(
            {name: {"head": 1.0} for name in ("nose", "left_eye", "right_eye", "left_ear", "right_ear")}
            | _sides({f"{{}}_{n}": n for n in _LIMBS if n not in ("hand", "foot")}, "left", "right"),
            {
                "nose": (0.0, 0.02, 0.11),
                "left_eye": (0.032, -0.02, 0.09),
                "right_eye": (-0.032, -0.02, 0.09),
                "left_ear": (0.075, 0.0, 0.0),
                "right_ear": (-0.075, 0.0, 0.0),
            },
        ),
        "smpl": Convention(
            {
                "pelvis": _HIPS,
                "spine1": _between(0.25),
                "spine2": _between(0.5),
                "spine3": _between(0.6),
                "neck": {"neck": 1.0},
                "head": {"head": 1.0},
                "left_collar": {"neck": 0.6, "shoulder_l": 0.4},
                "right_collar": {"neck": 0.6, "shoulder_r": 0.4},
            }
            | _sides({f"{{}}_{n}": n for n in _LIMBS}, "left", "right")
        ),
    }
)
"""Conventions by name. Offsets are anatomical means of an adult's head that faces as the trunk does; none was
fitted."""
