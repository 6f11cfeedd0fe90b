"""PeopleTracker: people in a recording keep their ids from frame to frame, through short occlusions.

People who are found are matched to known people by the overlap of masks and by position in meters, the surest pair
first. A person who is not found is remembered for a while, moving on in the last direction.

Without a background, the tracker learns the room by itself (`room`). A track that has walked is a person as long as it
is tracked. A track that has never walked, does not stir for seconds and has a doubtful probability is a thing.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from depthforest.frames import Frame
from depthforest.people.finding import BackgroundLike, People, as_background, check_count, find_people
from depthforest.people.judging.model import PersonModel, load_person_model
from depthforest.people.room import LASTING_STEPS, LearnedRoom, Survey

REMEMBERED = 45
"""Frames for which a person who is not found is remembered: 1.5 s of a recording."""

REACH = 0.5
"""Meters by which a person's middle may move between frames, as masks gain and lose arms and legs."""

STRIDE = 0.06
"""Meters by which the reach grows with every frame in which a person is not found: 1.8 m/s, a brisk walk."""

FARTHEST = 1.2
"""Largest reach in meters."""

UPRIGHT = 0.3
"""Weight of vertical differences in a distance: if a person is hidden from the waist down, their middle is in the
chest."""

GOING = 8
"""Frames for which a person who is not found is assumed to keep moving; then to have stopped."""

FASTEST = 0.1
"""Largest speed in meters per frame: 3 m/s. A mask's middle moves faster when a person is uncovered; people do not."""

FADING = 0.98
"""Share of a person's largest surface that is remembered from frame to frame: half of it after a second."""

WHOLE = 1.1
THICK = 0.4
"""Two masks whose depths differ by at most this many meters, and which together show at most this share of a person's
surface, may be the two sides of one person behind another."""

MAX_ID = 255
EVERY = 2
"""Masks are compared at every second pixel of every second row."""

STILL_STEPS = 100
"""Steps of `room` (10 s of a recording) without stirring after which a doubtful track that never walked is a thing."""

STIRRED, UNUSUAL = 0.018, 0.3
"""Shares of a person's pixels; with more than either, the person stirs: readings that changed permanently since the
last stir, and unusual readings. The borders of things flicker: 0.003 to 0.013 in 10 s, compared with 0.03 to 0.09 for
people within 3.5 m who sit and sway by 6 mm (320 x 240, synthetic)."""

WALKED_M, BEFORE = 0.5, 0.5
"""Meters that a person walked, and the share of them in front of a known room by then: then they are not a thing."""

SAME_AS_ROOM = 0.6
"""A found track that does not stir is room if a larger share of it is room. A new track is room if a larger share of it
is farther than the person who was there before."""

SPLIT = 0.5
"""If a larger share of a new track belonged to another one in the previous frame, that one was split: a person leaves a
chair. Either of the two must walk to count as a person."""

CERTAIN, LIKELY = 0.9, 0.5
"""With a higher mean probability, a track is a person even if it never moves: where a sway would be visible, and where
it is too far away for that. Tracks without a probability are kept: judging by stillness alone loses people who sit (one
in five in synthetic recordings)."""

SWAY_M, SEEN_PX = 0.006, 0.5
"""Smallest sway of people in meters, and how many pixels it must cover to be visible."""

CERTAINTY_KEPT = 0.9
"""Share of the mean probability that is kept from frame to frame."""


@dataclass
class _TrackedPerson:
    """A person: position in meters, velocity in meters per frame, last frame in which they were found, and surface.

    `seen` is the surface visible in this frame, `surface` the largest one seen lately, in square meters. `start` is the
    first position, `stirred` the step of the room at which they last stirred, `certainty` the mean of their
    probabilities.
    """

    person: int
    position: npt.NDArray[np.float64]
    velocity: npt.NDArray[np.float64]
    last_frame: int
    seen: float
    surface: float
    start: npt.NDArray[np.float64]
    stirred: int
    certainty: float | None = None
    has_walked: bool = False

    def begin_again(self, step: int) -> None:
        """Forget that the person walked."""
        self.start, self.stirred, self.has_walked = self.position, step + LASTING_STEPS, False

    def judge(self, survey: Survey, step: int, focal_px: float) -> bool:
        """Note whether the track walks or stirs; return whether it is a thing."""
        went = float(np.linalg.norm((self.position - self.start)[[0, 2]]))
        self.has_walked |= went >= WALKED_M and survey.share("before", self.person) >= BEFORE
        if _stirs(survey, self.person):
            self.stirred = max(self.stirred, step)
        is_seen = focal_px * SWAY_M >= SEEN_PX * float(self.position[2])
        is_somebody = self.certainty is None or self.certainty >= (CERTAIN if is_seen else LIKELY)
        return not self.has_walked and not is_somebody and step - self.stirred >= STILL_STEPS

    def expected(self, frame: int) -> npt.NDArray[np.float64]:
        return self.position + min(frame - self.last_frame, GOING) * self.velocity

    def reach(self, frame: int) -> float:
        return min(REACH + STRIDE * (frame - self.last_frame - 1), FARTHEST)


class PeopleTracker:
    """Finds people in the frames of a recording, in order, and keeps their ids.

    Parameters
    ----------
    background : Frame, sequence of Frame or Background, optional
        As in `find_people`. To keep a `Background` learning, `add` frames to it yourself.
    n : int, optional
        Maximum number of people at a time; those who have been there longest are kept.
    learn : bool
        Without a background, learn the room from the frames; for static cameras. After the first 60 frames, candidates
        that match the room are left out. So are those that have neither walked nor stirred for 300 frames and have a
        probability below 0.9 (0.5 where they are too far away to see people sway). If the camera moves or frames change
        size, the room is learned again.
    model, least
        As in `find_people`.
    """

    def __init__(
        self,
        background: BackgroundLike | None = None,
        n: int | None = None,
        *,
        learn: bool = True,
        model: str | Path | PersonModel | None = None,
        least: float | None = None,
    ) -> None:
        self._background = as_background(background)
        self._how: dict[str, Any] = {"model": load_person_model(model), "least": least}
        self._n = None if n is None else check_count(n)
        self._is_learning = bool(learn) and self._background is None
        self.reset()

    def reset(self) -> None:
        """Forget everyone and the learned room: the next frame is the first of a recording."""
        self._tracks: list[_TrackedPerson] = []
        self._frame = 0
        self._last_id = 0
        self._map: npt.NDArray[np.uint8] | None = None
        self._room: LearnedRoom | None = None

    def add(self, frame: Frame) -> People:
        """Return the people of the next frame; people keep their ids from frame to frame.

        Frames may change size unless there is a background, which has a fixed size.
        """
        found = self._find(frame)
        positions = [_middle(frame, mask) for mask in found]
        per_pixel = 1 / (frame.camera.fx * frame.camera.fy)
        surfaces = [
            float(np.count_nonzero(mask)) * position[2] ** 2 * per_pixel
            for mask, position in zip(found, positions, strict=True)
        ]
        ids = self._matched(frame, found, positions, surfaces)
        self._frame += 1
        if self._n is not None and len(set(ids) - {0}) > self._n:
            # in the order of the tracks, which is that of their first frames
            kept = [t.person for t in self._tracks if t.person in ids][: self._n]
            self._tracks = [t for t in self._tracks if t.person in kept or t.person not in ids]
            ids = [person if person in kept else 0 for person in ids]
        relabel = np.zeros(256, dtype=np.uint8)
        relabel[list(found.ids)] = ids
        probable: dict[int, float] = {}
        for person, probability in zip(ids, found.probabilities, strict=True):
            if person:
                probable[person] = max(probability, probable.get(person, 0.0))
        people = People(np.asarray(cv2.LUT(found.map, relabel)), tuple(probable), tuple(probable.values()))
        self._map = people.map
        return people if self._room is None else self._learned(frame, people, self._room)

    # -- the learned room ----------------------------------------------------------------------------------------------

    def _find(self, frame: Frame) -> People:
        """Return the people found, without those that match the known room."""
        if not self._is_learning:
            return find_people(frame, self._background, **self._how)
        found = find_people(frame, **self._how)
        if self._room is None or self._room.shape != frame.shape or self._room.has_moved:
            self._room = LearnedRoom(frame)
            for track in self._tracks:
                track.begin_again(0)
        if not self._room.is_sure or not len(found):
            return found
        survey = self._recent(frame, found, self._room)
        certain, kept = _certain(found), []
        for person in found.ids:
            is_room = survey.share("room", person) >= SAME_AS_ROOM
            if is_room and person not in certain and not _stirs(survey, person):
                continue
            kept.append(person)
            if is_room:  # a person who was missed until now, and learned as room
                self._room.forget(found.map == person)
        return found.only(kept)

    def _recent(self, frame: Frame, found: People, room: LearnedRoom) -> Survey:
        """Compare the found people with the room, with changes in the last `STILL_STEPS`."""
        return room.survey(frame, found.map, np.full(256, max(room.step - STILL_STEPS, 0), dtype=np.int32))

    def _learned(self, frame: Frame, people: People, room: LearnedRoom) -> People:
        """Return the people who are not things, and learn the room."""
        if room.is_step and room.is_sure and len(people):
            people = self._without_things(frame, people, room)
        room.add(frame, people.map)
        return people

    def _without_things(self, frame: Frame, people: People, room: LearnedRoom) -> People:
        """Return the people who are not things; things become room."""
        tracks = [t for t in self._tracks if t.person in people.ids]
        since = np.zeros(256, dtype=np.int32)
        for track in tracks:
            since[track.person] = track.stirred
        survey = room.survey(frame, people.map, since)
        things = [track.person for track in tracks if track.judge(survey, room.step, frame.camera.fx)]
        if not things:
            return people
        room.settle(frame, np.isin(people.map, things))
        self._tracks = [t for t in self._tracks if t.person not in things]
        return people.only([person for person in people.ids if person not in things])

    # -- matching ------------------------------------------------------------------------------------------------------

    def _matched(
        self, frame: Frame, found: People, positions: list[npt.NDArray[np.float64]], surfaces: list[float]
    ) -> list[int]:
        """Return the id of everyone found, 0 for room, and update the tracks' positions."""
        now = self._frame
        self._tracks = [t for t in self._tracks if now - t.last_frame <= REMEMBERED + 1]
        overlap = self._overlaps(found)
        pairs, sides = [], []
        for i, position in enumerate(positions):
            for k, track in enumerate(self._tracks):
                share = float(overlap[found.ids[i], track.person])
                distance = float(np.linalg.norm((position - track.expected(now)) * (1, UPRIGHT, 1)))
                if distance < track.reach(now) or (share > 0.5 and distance < FARTHEST):
                    pairs.append((share - distance, i, k))
                elif distance < FARTHEST and abs(position[2] - track.position[2]) < THICK:
                    sides.append((share - distance, i, k))
        ids = [0] * len(positions)
        taken: set[int] = set()
        # the surest first; among equals, the larger person and the older track
        for _, i, k in sorted(pairs, key=lambda pair: (-pair[0], pair[1], pair[2])):
            if ids[i] == 0 and k not in taken:
                taken.add(k)
                ids[i] = self._tracks[k].person
                _move(self._tracks[k], positions[i], surfaces[i], now)
        # a person who walks behind another one is visible on both sides for a while
        for _, i, k in sorted([*pairs, *sides], key=lambda pair: (-pair[0], pair[1], pair[2])):
            track = self._tracks[k]
            if ids[i] == 0 and track.last_frame == now and track.seen + surfaces[i] <= WHOLE * track.surface:
                ids[i] = track.person
                share = surfaces[i] / (track.seen + surfaces[i])
                track.position = (1 - share) * track.position + share * positions[i]
                track.seen += surfaces[i]
        self._begin(frame, found, positions, surfaces, overlap, ids)
        self._note_certainty(found, ids)
        return ids

    def _begin(
        self, frame: Frame, found: People, positions: list[npt.NDArray[np.float64]], surfaces: list[float],
        overlap: npt.NDArray[np.float64], ids: list[int],
    ) -> None:  # fmt: skip
        """Begin a track for everyone without an id; candidates that a person hid until now get none and become room."""
        if 0 not in ids:
            return
        room, step = self._room, 0 if self._room is None else self._room.step
        survey = None
        if room is not None and room.is_sure:
            survey = self._recent(frame, found, room)
        for i in [i for i, person in enumerate(ids) if person == 0]:
            number = found.ids[i]
            for track in self._tracks:
                if overlap[number, track.person] > SPLIT:
                    track.begin_again(step)
            stirred = step + LASTING_STEPS
            if survey is not None and room is not None:
                is_doubtful = number in _probabilities(found) and number not in _certain(found)
                if is_doubtful and survey.share("revealed", number) >= SAME_AS_ROOM:
                    room.settle(frame, found.map == number)
                    continue
                if not _stirs(survey, number):
                    stirred = step - STILL_STEPS + LASTING_STEPS  # it has been there without stirring for as long
            ids[i] = self._new_id()
            self._tracks.append(
                _TrackedPerson(
                    ids[i], positions[i], np.zeros(3), self._frame, surfaces[i], surfaces[i], positions[i],
                    stirred,
                )
            )  # fmt: skip

    def _note_certainty(self, found: People, ids: list[int]) -> None:
        """Update the mean probabilities of people who have one."""
        by_number = _probabilities(found)
        by_id = {
            person: by_number[number] for person, number in zip(ids, found.ids, strict=True) if number in by_number
        }
        for track in self._tracks:
            if track.person in by_id:
                new = by_id[track.person]
                old = new if track.certainty is None else track.certainty
                track.certainty = CERTAINTY_KEPT * old + (1 - CERTAINTY_KEPT) * new

    def _overlaps(self, found: People) -> npt.NDArray[np.float64]:
        """Return the share of every found mask that each person had in the previous frame, array (256, 256)."""
        if self._map is None or self._map.shape != found.map.shape:
            return np.zeros((256, 256))
        new, old = found.map[::EVERY, ::EVERY].ravel(), self._map[::EVERY, ::EVERY].ravel()
        is_found = new > 0
        joint = np.bincount(new[is_found].astype(np.intp) * 256 + old[is_found], minlength=65536).reshape(256, 256)
        return np.asarray(joint / np.maximum(joint.sum(axis=1, keepdims=True), 1))

    def _new_id(self) -> int:
        """Return the next id; after the last one, the lowest free id."""
        if self._last_id < MAX_ID:
            self._last_id += 1
            return self._last_id
        used = {t.person for t in self._tracks}
        free = [i for i in range(1, MAX_ID + 1) if i not in used]
        if not free:
            # forget whoever has been gone longest
            gone = min(self._tracks, key=lambda t: t.last_frame)
            self._tracks.remove(gone)
            free = [gone.person]
        return free[0]


def _stirs(survey: Survey, person: int) -> bool:
    """Tell whether enough of a person's pixels changed permanently or have unusual readings."""
    return survey.share("changed", person) >= STIRRED or survey.share("unusual", person) >= UNUSUAL


def _probabilities(found: People) -> dict[int, float]:
    """Return the probability of each found person."""
    return dict(zip(found.ids, found.probabilities, strict=True))


def _certain(found: People) -> frozenset[int]:
    """Return the ids of those who are certainly people."""
    return frozenset(person for person, probability in _probabilities(found).items() if probability >= CERTAIN)


def _middle(frame: Frame, mask: npt.NDArray[np.bool_]) -> npt.NDArray[np.float64]:
    """Return the median of a person's readings in camera space, (3,) meters: most of it is the trunk."""
    rows, cols = np.nonzero(mask[::EVERY, ::EVERY])
    if len(rows) == 0:
        rows, cols = np.nonzero(mask)
    else:
        rows, cols = rows * EVERY, cols * EVERY
    z = float(np.median(frame.depth_mm[rows, cols])) / 1000
    return frame.camera.unproject((np.median(rows), np.median(cols)), z)


def _move(track: _TrackedPerson, position: npt.NDArray[np.float64], surface: float, now: int) -> None:
    step = (position - track.position) / (now - track.last_frame)
    step *= min(1.0, FASTEST / max(float(np.linalg.norm(step)), FASTEST))
    track.seen = surface
    track.surface = max(surface, FADING * track.surface)
    # smoothed, because masks gain and lose arms
    track.velocity = 0.5 * track.velocity + 0.5 * step if now - track.last_frame == 1 else step
    track.position, track.last_frame = position, now
