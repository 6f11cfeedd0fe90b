"""LearnedRoom: the background of a recording, learned while people are in it; `PeopleTracker` keeps one.

A pixel is learned whenever no tracked person covers it, so that a person who sits still never becomes room. A reading
behind a person who was there soon becomes room. Changes of readings show who walks and who stirs.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
import numpy.typing as npt

from depthforest.base import Bytes, Ints, Longs, Singles, kernel
from depthforest.frames import Frame
from depthforest.people.background import LEAST_MM, STRONG_NOISES, Background
from depthforest.people.grid import NOISE_BASE, NOISE_CENTER, NOISE_GAIN, noise_at, noise_scale

LEARNED_EVERY = 3
"""Frames per step of learning: ten steps a second are as good as thirty."""

SURE_STEPS = 20
"""Steps (2 s of a recording) to learn before frames are compared with the room."""

SETTLED_STEPS = 30
"""Steps (3 s) after which something nearer that no person covers becomes room: a chair that was moved."""

AWAY_STEPS = 100
"""Steps (10 s) after a person was last found in which a pixel that still shows the same reading is not learned."""

LASTING_STEPS = 5
"""Consecutive steps with a different reading that make a change: borders of things flicker, borders of people move."""

SURFACE_MM = 50
"""Millimeters. A reading beside a mask and at most this far behind it may still be the person."""

MOST_CHANGED = 0.5
"""If a larger share of readings changes in one step, the camera has moved."""

COMPARED_COLS = 320
"""Approximate number of picture columns that are checked for changes."""

RATE = 1 / 16
"""Weight of a new reading in the usual one."""


@dataclass(frozen=True, eq=False)
class Survey:
    """Statistics of each id's pixels compared with the room, arrays (256,).

    Parameters
    ----------
    n : array of int
        Readings that were checked.
    before : array of int
        Those in front of the known room.
    room : array of int
        Those on the known room, or behind it.
    revealed : array of int
        Those where the room is unknown and that are farther than the person who was there.
    changed : array of int
        Those where readings changed permanently since a given step.
    unusual : array of int
        Those that differ from the pixel's usual reading.
    """

    n: Longs
    before: Longs
    room: Longs
    revealed: Longs
    changed: Longs
    unusual: Longs

    def share(self, what: str, person: int) -> float:
        """Return the share of an id's readings in one of these arrays."""
        return float(getattr(self, what)[person]) / max(int(self.n[person]), 1)


class LearnedRoom(Background):
    """The room of a recording, learned from frames with people in them.

    Parameters
    ----------
    frame : Frame
        The first frame: only its camera and its noise are used; its readings are not learned yet.

    Attributes
    ----------
    step : int
        Steps of learning so far.
    has_moved : bool
        Whether the camera has moved since the beginning: then the room is useless.
    """

    patience = SETTLED_STEPS

    def __init__(self, frame: Frame) -> None:
        super().__init__(Frame(np.zeros(frame.shape, dtype=np.uint16), frame.camera))
        self.noise = noise_scale(frame.depth_mm)
        self.step = 0
        self.has_moved = False
        self._n_seen = 0
        self._every = max(1, round(max(frame.shape) / COMPARED_COLS))
        self._away = np.full(frame.shape, 255, dtype=np.uint8)
        self._held = np.zeros(frame.shape, dtype=np.uint16)
        self._n_held = np.zeros(frame.shape, dtype=np.uint8)
        small = frame.depth_mm[:: self._every, :: self._every].shape
        self._usual, self._unusual = np.zeros(small, dtype=np.float32), np.zeros(small, dtype=np.float32)
        self._n_unusual, self._changed = np.zeros(small, dtype=np.uint8), np.zeros(small, dtype=np.int32)

    @property
    def is_sure(self) -> bool:
        """Whether enough was learned to compare frames with it."""
        return self.step >= SURE_STEPS

    @property
    def is_step(self) -> bool:
        """Whether the next frame will be learned."""
        return self._n_seen % LEARNED_EVERY == 0

    def add(self, frame: Frame, people: Bytes | None = None) -> None:
        """Learn from the next frame if a step is due; `people` is the map of tracked people."""
        self._check(frame)
        self._n_seen += 1
        if (self._n_seen - 1) % LEARNED_EVERY:
            return
        self.step += 1
        n_readings, n_other = _note_changes(
            frame.depth_mm, self._every, np.float32(self.noise), self.step, self._usual, self._unusual,
            self._n_unusual, self._changed,
        )  # fmt: skip
        self.has_moved |= n_other > MOST_CHANGED * n_readings
        people = np.zeros(frame.shape, dtype=np.uint8) if people is None else people
        width = 2 * self._reach + 3
        on_people = cv2.dilate(np.where(people > 0, frame.depth_mm, np.uint16(0)), np.ones((width, width), np.uint8))
        learned = np.empty(frame.shape, dtype=np.uint16)
        _hide_people(frame.depth_mm, people, np.asarray(on_people), self._away, self._held, learned)
        learned.setflags(write=False)
        self._learn(learned)
        if self.step < SURE_STEPS:
            self._n_held += people > 0
        elif self.step == SURE_STEPS:
            # a person found most of the time was also there in the other frames
            self.forget(2 * self._n_held >= SURE_STEPS)

    def survey(self, frame: Frame, people: Bytes, since: Ints) -> Survey:
        """Compare people with the room.

        Parameters
        ----------
        frame : Frame
        people : array (rows, cols), uint8
            Ids.
        since : array (256,), int32
            Step of each id after which changes count.
        """
        counts = np.zeros((6, 256), dtype=np.int64)
        _survey(
            frame.depth_mm, people, self._every, np.float32(self.noise), self._depth, self._variance, self._held,
            self._usual, self._changed, since, counts,
        )  # fmt: skip
        return Survey(*counts)

    def forget(self, is_unknown: npt.NDArray[np.bool_]) -> None:
        """Forget the room of some pixels: a person is there, and may have been all the time."""
        for values in (self._depth, self._variance, self._count, self._other_count, self._away):
            values[is_unknown] = 0

    def settle(self, frame: Frame, is_room: npt.NDArray[np.bool_]) -> None:
        """Make the readings of some pixels room, immediately."""
        readings = frame.depth_mm[is_room]
        is_room = is_room.copy()
        is_room[is_room] = readings > 0
        z = readings[readings > 0].astype(np.float32)
        beyond = np.maximum(z * np.float32(0.001) - np.float32(NOISE_CENTER), 0)
        noise_mm = np.float32(1000 * self.noise) * (NOISE_BASE + NOISE_GAIN * beyond * beyond)
        self._depth[is_room], self._variance[is_room], self._count[is_room] = z, noise_mm**2, 1
        self._other_count[is_room], self._away[is_room] = 0, 255


@kernel
def _hide_people(
    depth_mm: npt.NDArray[np.uint16],
    people: Bytes,
    on_people: npt.NDArray[np.uint16],
    away: Bytes,
    held: npt.NDArray[np.uint16],
    learned: npt.NDArray[np.uint16],
) -> None:
    """Write the readings that may be learned, 0 elsewhere.

    Parameters
    ----------
    depth_mm, people
        Of the frame.
    on_people : array (rows, cols), uint16
        The largest reading of a person within reach of each pixel, millimeters; 0 if there is none.
    away : array (rows, cols), uint8
        Steps since a pixel was last a person's; changed.
    held : array (rows, cols), uint16
        Millimeters at which a person was last seen; changed.
    learned : array (rows, cols), uint16
        Output.
    """
    for row in range(depth_mm.shape[0]):
        for col in range(depth_mm.shape[1]):
            reading, is_person = depth_mm[row, col], people[row, col] > 0
            # no branches, so that the loop vectorizes
            beside = np.int32(on_people[row, col])
            is_near = is_person | ((beside > 0) & (np.int32(reading) <= beside + SURFACE_MM))
            is_behind = np.int32(reading) > np.int32(held[row, col]) + SURFACE_MM
            steps = min(int(away[row, col]) + 1, 255)
            steps = 0 if is_near else (max(steps, AWAY_STEPS - LASTING_STEPS) if is_behind else steps)
            away[row, col] = np.uint8(steps)
            held[row, col] = reading if is_person else held[row, col]
            learned[row, col] = reading if steps > AWAY_STEPS else np.uint16(0)


@kernel
def _note_changes(
    depth_mm: npt.NDArray[np.uint16],
    every: int,
    scale: np.float32,
    step: int,
    usual: Singles,
    unusual: Singles,
    n_unusual: Bytes,
    changed: Ints,
) -> tuple[int, int]:
    """Track the usual reading of some pixels, and write the step at which it last changed permanently.

    Return how many readings there are, and how many differ from the usual ones.
    """
    n_readings, n_other = 0, 0
    for row in range(usual.shape[0]):
        for col in range(usual.shape[1]):
            reading = np.float32(depth_mm[row * every, col * every])
            if reading == 0:
                continue
            n_readings += 1
            if usual[row, col] == 0:
                usual[row, col] = reading
                continue
            tolerance = np.float32(LEAST_MM) + np.float32(1000 * STRONG_NOISES) * scale * noise_at(
                reading * np.float32(0.001)
            )
            if abs(reading - usual[row, col]) <= tolerance:
                usual[row, col] += np.float32(RATE) * (reading - usual[row, col])
                n_unusual[row, col] = 0
                continue
            n_other += 1
            if n_unusual[row, col] == 0 or abs(reading - unusual[row, col]) > tolerance:
                unusual[row, col], n_unusual[row, col] = reading, 1
                continue
            n_unusual[row, col] += 1
            if n_unusual[row, col] >= LASTING_STEPS:
                usual[row, col], n_unusual[row, col], changed[row, col] = reading, 0, step
    return n_readings, n_other


@kernel
def _survey(
    depth_mm: npt.NDArray[np.uint16], people: Bytes, every: int, scale: np.float32, depth: Singles, variance: Singles,
    held: npt.NDArray[np.uint16], usual: Singles, changed: Ints, since: Ints, counts: Longs,
) -> None:  # fmt: skip
    """Add up, for the pixels of each id, the counts of `Survey`."""
    for row in range(changed.shape[0]):
        for col in range(changed.shape[1]):
            r, c = row * every, col * every
            person = people[r, c]
            reading = np.float32(depth_mm[r, c])
            if person == 0 or reading == 0:
                continue
            noise = np.float32(1000) * scale * noise_at(reading * np.float32(0.001))
            margin = np.float32(LEAST_MM) + np.float32(STRONG_NOISES) * noise
            counts[0, person] += 1
            if depth[r, c] > 0:
                is_before = _is_before(reading, depth[r, c], variance[r, c])
                counts[1, person] += is_before
                counts[2, person] += not is_before
            elif held[r, c] > 0:
                counts[3, person] += reading > np.float32(held[r, c]) + margin
            counts[4, person] += changed[row, col] > since[person]
            counts[5, person] += usual[row, col] > 0 and abs(reading - usual[row, col]) > margin


@kernel
def _is_before(reading: np.float32, depth: np.float32, variance: np.float32) -> bool:
    """Tell whether a reading is in front of the room by more than noise."""
    return bool(reading < depth - np.float32(LEAST_MM) - np.float32(STRONG_NOISES) * np.sqrt(variance))
