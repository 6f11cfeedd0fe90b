"""PeopleTracker: people of a recording keep their ids from frame to frame, through short occlusions.

Who is found is matched to who was there by the overlap of masks and by position in meters, the surest pair first. Who
is not found is remembered for a while where he was last going.

Without a background the tracker learns the room by itself (`room`). What has walked is somebody for as long as it is
tracked; what has never walked, does not stir for seconds and is doubtful by its probability is a thing.
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
"""Frames for which somebody who is not found is remembered: 1.5 s of a recording."""

REACH = 0.5
"""Meters that somebody's middle may move between frames, as masks gain and lose arms and legs."""

STRIDE = 0.06
"""Meters that the reach grows with every frame in which somebody is not found: 1.8 m/s, a brisk walk."""

FARTHEST = 1.2
"""Meters: the reach grows no further."""

UPRIGHT = 0.3
"""Weight of what is up and down in a distance: who is hidden from the waist down has his middle in the chest."""

GOING = 8
"""Frames for which somebody who is not found goes on as before; then he is taken to have stopped."""

FASTEST = 0.1
"""Meters a frame: 3 m/s. A mask's middle moves faster when somebody is uncovered; people do not."""

FADING = 0.98
"""Share of somebody's largest surface that is remembered from frame to frame: half of it after a second."""

WHOLE = 1.1
THICK = 0.4
"""Two masks up to so many meters farther or nearer, which together show no more than this share of somebody's surface,
may be his two sides behind somebody."""

MAX_ID = 255
EVERY = 2
"""Masks are compared at every second pixel of every second row."""

STILL_STEPS = 100
"""Steps of `room` (10 s of a recording) without a stir after which what never walked is a thing, if it is doubtful."""

STIRRED, UNUSUAL = 0.018, 0.3
"""Shares of somebody's pixels, from either of which he stirred: readings that changed for good since he last did, and
readings that the pixels do not usually show. Of things the borders flicker: 0.003 to 0.013 in 10 s, against 0.03 to
0.09 of people within 3.5 m who sit and sway by 6 mm (320 x 240, synthetic)."""

WALKED_M, BEFORE = 0.5, 0.5
"""Meters that somebody went, and the share of him that is before a known room when he has: then he is no thing."""

SAME_AS_ROOM = 0.6
"""Share of what is found and does not stir that is room, or of somebody new that is farther than whoever was there
before, from which it is room."""

SPLIT = 0.5
"""Share of somebody new that was another's in the frame before, from which that one came apart: a person leaves a
chair. Either of the two has to walk to be no thing."""

CERTAIN, LIKELY = 0.9, 0.5
"""Mean probability from which somebody is no thing, even if he never moves: where a sway could be seen, and where he is
too far away for that. Where no probability is known, he stays: stillness alone loses people who sit (in synthetic
recordings one in five)."""

SWAY_M, SEEN_PX = 0.006, 0.5
"""Meters by which people sway at least, and how many pixels of that can be seen."""

CERTAINTY_KEPT = 0.9
"""Share of that mean that is kept from frame to frame."""


@dataclass
class _TrackedPerson:
    """Somebody: where he was in meters, where he was going in meters a frame, when he was last found; and his surface.

    `seen` is what is seen of it in this frame, `surface` the most that was seen of late, square meters. `start` is
    where he was first, `stirred` the step of the room at which he last stirred, `certainty` the mean of his
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
        """Forget that he walked."""
        self.start, self.stirred, self.has_walked = self.position, step + LASTING_STEPS, False

    def judge(self, survey: Survey, step: int, focal_px: float) -> bool:
        """Take note of whether he walks or stirs; return whether he is a thing."""
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
    """Finds the people of the frames of a recording, in order, and keeps their ids.

    Parameters
    ----------
    background : Frame, sequence of Frame or Background, optional
        As in `find_people`. To keep a `Background` learning, `add` frames to it yourself.
    n : int, optional
        Maximum number of people at a time; those who have been there longest are kept.
    learn : bool
        Without a background, learn the room from the frames: for a camera that stands still. After the first 60 frames,
        what looks like a person but shows the room is left out. So is what has neither walked nor stirred for 300
        frames and has a probability below 0.9 (0.5 where it is too far away to see people sway). If the camera moves or
        frames change size, the room is learned anew.
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
        """Forget everyone, and the room that was learned: the next frame is the first of a recording."""
        self._tracks: list[_TrackedPerson] = []
        self._frame = 0
        self._last_id = 0
        self._map: npt.NDArray[np.uint8] | None = None
        self._room: LearnedRoom | None = None

    def add(self, frame: Frame) -> People:
        """Return the people of the next frame; people keep their ids from frame to frame.

        Frames may change size, unless there is a background, which has one.
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

    # -- the room that is learned --------------------------------------------------------------------------------------

    def _find(self, frame: Frame) -> People:
        """Return who is found; what shows a room that is known is nobody."""
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
            if is_room:  # somebody who was missed until now, and learned
                self._room.forget(found.map == person)
        return found.only(kept)

    def _recent(self, frame: Frame, found: People, room: LearnedRoom) -> Survey:
        """Return what the room says of those who are found, and of changes in the last `STILL_STEPS`."""
        return room.survey(frame, found.map, np.full(256, max(room.step - STILL_STEPS, 0), dtype=np.int32))

    def _learned(self, frame: Frame, people: People, room: LearnedRoom) -> People:
        """Return the people who are no things, and learn the room."""
        if room.is_step and room.is_sure and len(people):
            people = self._without_things(frame, people, room)
        room.add(frame, people.map)
        return people

    def _without_things(self, frame: Frame, people: People, room: LearnedRoom) -> People:
        """Return the people who are no things; things become room."""
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

    # -- who is who ----------------------------------------------------------------------------------------------------

    def _matched(
        self, frame: Frame, found: People, positions: list[npt.NDArray[np.float64]], surfaces: list[float]
    ) -> list[int]:
        """Return the id of everyone who is found, 0 for what is room, and take note of where they are."""
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
        # the surest first; of equals, the larger person and the older track
        for _, i, k in sorted(pairs, key=lambda pair: (-pair[0], pair[1], pair[2])):
            if ids[i] == 0 and k not in taken:
                taken.add(k)
                ids[i] = self._tracks[k].person
                _move(self._tracks[k], positions[i], surfaces[i], now)
        # who goes by behind somebody is seen on both sides of him for a while
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
        """Begin a track of everyone who has no id yet; what somebody hid until now gets none and becomes room."""
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
                    stirred = step - STILL_STEPS + LASTING_STEPS  # it has been there, and still, for as long
            ids[i] = self._new_id()
            self._tracks.append(
                _TrackedPerson(
                    ids[i], positions[i], np.zeros(3), self._frame, surfaces[i], surfaces[i], positions[i],
                    stirred,
                )
            )  # fmt: skip

    def _note_certainty(self, found: People, ids: list[int]) -> None:
        """Take the probabilities of people, where they have any, into their means."""
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
        """Return the share of every found mask that was a person's in the frame before, array (256, 256)."""
        if self._map is None or self._map.shape != found.map.shape:
            return np.zeros((256, 256))
        new, old = found.map[::EVERY, ::EVERY].ravel(), self._map[::EVERY, ::EVERY].ravel()
        is_found = new > 0
        joint = np.bincount(new[is_found].astype(np.intp) * 256 + old[is_found], minlength=65536).reshape(256, 256)
        return np.asarray(joint / np.maximum(joint.sum(axis=1, keepdims=True), 1))

    def _new_id(self) -> int:
        """Return the next id; after the last one, the lowest that nobody has."""
        if self._last_id < MAX_ID:
            self._last_id += 1
            return self._last_id
        used = {t.person for t in self._tracks}
        free = [i for i in range(1, MAX_ID + 1) if i not in used]
        if not free:
            # who has been gone for longest is forgotten
            gone = min(self._tracks, key=lambda t: t.last_frame)
            self._tracks.remove(gone)
            free = [gone.person]
        return free[0]


def _stirs(survey: Survey, person: int) -> bool:
    """Tell whether enough of somebody's pixels changed for good, or show what they do not usually show."""
    return survey.share("changed", person) >= STIRRED or survey.share("unusual", person) >= UNUSUAL


def _probabilities(found: People) -> dict[int, float]:
    """Return how probably each of those who are found is a person."""
    return dict(zip(found.ids, found.probabilities, strict=True))


def _certain(found: People) -> frozenset[int]:
    """Return who is certainly a person."""
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
    # half of what it seems: masks gain and lose arms
    track.velocity = 0.5 * track.velocity + 0.5 * step if now - track.last_frame == 1 else step
    track.position, track.last_frame = position, now
