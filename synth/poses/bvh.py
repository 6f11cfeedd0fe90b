"""BVH files: a recorded skeleton and its motion, channels in any order; `mocap` turns them into poses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from depthforest.base import DepthForestError, Floats, kernel, read_bytes

CHANNELS = tuple(f"{axis}{kind}" for kind in ("position", "rotation") for axis in "xyz")
"""The channels that a joint may have; files may write them in any case."""


class MocapError(DepthForestError, ValueError):
    """An invalid motion clip, name map or folder of clips."""


@dataclass(frozen=True, eq=False)
class Clip:
    """A recorded motion as in its file: with its own skeleton, units and axes.

    Parameters
    ----------
    name : str
        Name in messages.
    joints : tuple of str
        Joint names; parents come before their children, the first is the root.
    parents : array (j,), int64
        Index of each joint's parent; -1 for the root.
    offsets : array (j, 3), float64
        Rest positions relative to the parent.
    channels : tuple of tuple of str
        For each joint, its `CHANNELS` in the order of the file.
    frame_time : float
        Seconds from frame to frame.
    motion : array (n, c), float64
        Channel values of every frame: lengths in the clip's unit, angles in degrees.
    """

    name: str
    joints: tuple[str, ...]
    parents: npt.NDArray[np.int64]
    offsets: Floats
    channels: tuple[tuple[str, ...], ...]
    frame_time: float
    motion: Floats

    def __len__(self) -> int:
        return len(self.motion)

    def move(self, frames: npt.ArrayLike) -> tuple[Floats, Floats]:
        """Return global rotations (n, j, 3, 3) and positions (n, j, 3) of all joints at some frames, in clip space.

        Rotation channels rotate about the joint's own axes, one after the other, in the order of the file. Position
        channels replace the joint's offset.
        """
        motion = self.motion[np.asarray(frames)]
        n_frames, n_joints = len(motion), len(self.joints)
        n_turns = max(sum(c.endswith("rotation") for c in channels) for channels in self.channels)
        angles, axes = np.zeros((n_turns, n_frames, n_joints)), np.full((n_turns, n_joints), -1)
        positions = np.tile(self.offsets, (n_frames, 1, 1))
        column = 0
        for joint, channels in enumerate(self.channels):
            turn = 0
            for channel in channels:
                if channel.endswith("position"):
                    positions[:, joint, "xyz".index(channel[0])] = motion[:, column]
                else:
                    angles[turn, :, joint] = np.deg2rad(motion[:, column])
                    axes[turn, joint] = "xyz".index(channel[0])
                    turn += 1
                column += 1
        rotations = np.empty((n_frames, n_joints, 3, 3))
        _turn_joints(np.sin(angles), np.cos(angles), axes, rotations)
        _chain_joints(self.parents, rotations, positions)
        return rotations, positions

    def rest_positions(self) -> Floats:
        """Return the positions (j, 3) of all joints without rotations, in clip space."""
        positions = self.offsets.copy()
        for joint, parent in enumerate(self.parents[1:], start=1):
            positions[joint] += positions[parent]
        return positions


@kernel
def _turn_joints(sines: Floats, cosines: Floats, axes: npt.NDArray[np.int64], rotations: Floats) -> None:
    """Write each joint's local rotation: turns (t, n, j) in order, about axes (t, j) from 0 to 2, -1 for none."""
    n_turns, n_frames, n_joints = sines.shape
    for frame in range(n_frames):
        for joint in range(n_joints):
            matrix = rotations[frame, joint]
            for i in range(3):
                for k in range(3):
                    matrix[i, k] = 1.0 if i == k else 0.0
            for turn in range(n_turns):
                if axes[turn, joint] < 0:
                    continue
                sine, cosine = sines[turn, frame, joint], cosines[turn, frame, joint]
                first, second = (axes[turn, joint] + 1) % 3, (axes[turn, joint] + 2) % 3
                for i in range(3):
                    a, b = matrix[i, first], matrix[i, second]
                    matrix[i, first] = a * cosine + b * sine
                    matrix[i, second] = b * cosine - a * sine


@kernel
def _chain_joints(parents: npt.NDArray[np.int64], rotations: Floats, positions: Floats) -> None:
    """Turn rotations and positions relative to the parent into global ones; parents come before their children."""
    own = np.empty((3, 3))
    for frame in range(len(rotations)):
        for joint in range(1, len(parents)):
            above, matrix, place = rotations[frame, parents[joint]], rotations[frame, joint], positions[frame, joint]
            own[:] = matrix
            x, y, z = place[0], place[1], place[2]
            for i in range(3):
                place[i] = positions[frame, parents[joint], i] + (above[i, 0] * x + above[i, 1] * y + above[i, 2] * z)
                for k in range(3):
                    matrix[i, k] = above[i, 0] * own[0, k] + above[i, 1] * own[1, k] + above[i, 2] * own[2, k]


def read_bvh(path: str | Path, *, name: str | None = None) -> Clip:
    """Read a BVH file, or raise MocapError with the file and the invalid line.

    Parameters
    ----------
    path : str or Path
        The file.
    name : str, optional
        Name of the clip; default: the file's name without its extension.
    """
    path = Path(path)
    lines = read_bytes(path, MocapError).splitlines()
    try:
        first = next((i for i, line in enumerate(lines) if line.strip().upper() == b"MOTION"), None)
        hierarchy = _Hierarchy(lines[:first])
        if first is None:
            raise MocapError(f"{len(lines)}: the file ends without MOTION; was it copied completely?")
        frame_time, motion = _read_motion(lines, first + 1, sum(len(c) for c in hierarchy.channels))
    except MocapError as error:
        raise MocapError(f"{path}:{error}") from None
    return Clip(
        path.stem if name is None else name,
        tuple(hierarchy.joints),
        np.array(hierarchy.parents, dtype=np.int64),
        np.array(hierarchy.offsets, dtype=np.float64),
        tuple(hierarchy.channels),
        frame_time,
        motion,
    )


class _Hierarchy:
    """The joints above MOTION. Errors start with the line number."""

    def __init__(self, lines: Sequence[bytes]) -> None:
        self.joints: list[str] = []
        self.parents: list[int] = []
        self.offsets: list[list[float]] = []
        self.channels: list[tuple[str, ...]] = []
        self._words = [
            (number, word)
            for number, line in enumerate(lines, start=1)
            for word in line.decode("utf-8", "replace").replace("{", " { ").replace("}", " } ").split()
        ]
        self._next = 0
        self._n_lines = len(lines)
        self._expect("HIERARCHY")
        self._expect("ROOT")
        self._read_joints()
        if self._next < len(self._words):
            number, word = self._words[self._next]
            raise MocapError(f"{number}: expected MOTION after the root's last brace, got {word!r}")

    def _take(self, wanted: str) -> tuple[int, str]:
        if self._next >= len(self._words):
            raise MocapError(f"{self._n_lines}: the hierarchy ends where {wanted} is expected")
        self._next += 1
        return self._words[self._next - 1]

    def _expect(self, keyword: str) -> None:
        number, word = self._take(keyword)
        if word.upper() != keyword:
            raise MocapError(f"{number}: expected {keyword}, got {word!r}")

    def _read_joints(self) -> None:
        """Read from the root's name to its closing brace."""
        open_joints = [self._read_joint(parent=-1)]
        while open_joints:
            number, word = self._take("JOINT, End Site or }")
            if word == "}":
                open_joints.pop()
            elif word.upper() == "JOINT":
                open_joints.append(self._read_joint(parent=open_joints[-1]))
            elif word.upper() == "END":  # a tip has no rotation, so its position does not matter
                while self._take("{")[1] != "{":
                    pass
                self._expect("OFFSET")
                self._read_offset()
                self._expect("}")
            else:
                raise MocapError(f"{number}: expected JOINT, End Site or a closing brace, got {word!r}")

    def _read_joint(self, parent: int) -> int:
        """Read a joint's name, offset and channels; return its index."""
        number, word = self._take("a name")
        name: list[str] = []
        while word != "{":
            name.append(word)
            _, word = self._take("{")
        if not name:
            raise MocapError(f"{number}: expected a joint's name, got a brace")
        self.joints.append(" ".join(name))
        self.parents.append(parent)
        self._expect("OFFSET")
        self.offsets.append(self._read_offset())
        self._expect("CHANNELS")
        number, word = self._take("the number of channels")
        if not word.isdecimal() or len(word) > 2:
            raise MocapError(f"{number}: expected the number of channels, got {word!r}")
        channels = []
        for _ in range(int(word)):
            number, word = self._take("a channel")
            if word.lower() not in CHANNELS:
                raise MocapError(f"{number}: unknown channel {word!r}; expected Xposition to Zrotation")
            channels.append(word.lower())
        self.channels.append(tuple(channels))
        return len(self.joints) - 1

    def _read_offset(self) -> list[float]:
        offset = []
        for _ in range(3):
            number, word = self._take("an offset")
            offset.append(_number(word, number))
        return offset


def _number(word: str | bytes, line: int) -> float:
    try:
        value = float(word)
    except ValueError:
        value = np.nan
    if not np.isfinite(value):
        shown = word.decode("utf-8", "replace") if isinstance(word, bytes) else word
        raise MocapError(f"{line}: expected a number, got {shown!r}")
    return value


def _read_motion(lines: Sequence[bytes], start: int, n_channels: int) -> tuple[float, Floats]:
    """Return the frame time and the values (n, c) of the lines below MOTION. Errors start with the line number."""
    numbered = [(number, words) for number, line in enumerate(lines[start:], start + 1) if (words := line.split())]
    head: list[float] = []
    for keyword, (number, words) in zip((b"FRAMES:", b"FRAME TIME:"), numbered, strict=False):
        text = b" ".join(words)
        if not text.upper().startswith(keyword):
            raise MocapError(
                f"{number}: expected {keyword.decode().title()}, got {text[:40].decode('utf-8', 'replace')!r}"
            )
        head.append(_number(text[len(keyword) :].strip(), number))
    if len(head) < 2:
        raise MocapError(f"{len(lines)}: the file ends where the number of frames and the frame time are expected")
    n_frames, frame_time = head
    if frame_time <= 0:
        raise MocapError(f"{numbered[1][0]}: the frame time must be above 0, got {frame_time}")
    rows = numbered[2:]
    if n_frames < 1 or not rows:
        raise MocapError(f"{numbered[0][0]}: the clip has no frames")
    for number, words in rows:
        if len(words) != n_channels:
            raise MocapError(f"{number}: expected {n_channels} values, one per channel, got {len(words)}")
    if len(rows) != n_frames:
        raise MocapError(f"{rows[-1][0]}: expected {n_frames:.0f} frames, got {len(rows)}; is the file cut short?")
    try:
        motion = np.array([words for _, words in rows], dtype=np.float64)
    except ValueError:
        motion = np.full((len(rows), n_channels), np.nan)
    if not np.isfinite(motion).all():  # word by word, to find the line
        motion = np.array([[_number(word, number) for word in words] for number, words in rows])
    return frame_time, motion
