"""PeopleTracker: people of a recording keep their ids from frame to frame, through short occlusions.

Who is found is matched to who was there by the overlap of masks and by position in metres, the surest pair first. Who
is not found is remembered for a while where he was last going.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
import numpy.typing as npt

from depthforest.frames import Frame
from depthforest.people.finding import BackgroundLike, People, as_background, check_count, find_people

REMEMBERED = 45
"""Frames for which somebody who is not found is remembered: 1.5 s of a recording."""

REACH = 0.5
"""Metres that somebody's middle may move between frames, as masks gain and lose arms and legs."""

STRIDE = 0.06
"""Metres that the reach grows with every frame in which somebody is not found: 1.8 m/s, a brisk walk."""

FARTHEST = 1.2
"""Metres: the reach grows no further."""

UPRIGHT = 0.3
"""Weight of what is up and down in a distance: who is hidden from the waist down has his middle in the chest."""

GOING = 8
"""Frames for which somebody who is not found goes on as before; then he is taken to have stopped."""

FASTEST = 0.1
"""Metres a frame: 3 m/s. A mask's middle moves faster when somebody is uncovered; people do not."""

FADING = 0.98
"""Share of somebody's largest surface that is remembered from frame to frame: half of it after a second."""

WHOLE = 1.1
THICK = 0.4
"""Two masks up to so many metres farther or nearer, which together show no more than this share of somebody's surface,
may be his two sides behind somebody."""

MAX_ID = 255
EVERY = 2
"""Masks are compared at every second pixel of every second row."""


@dataclass
class _TrackedPerson:
    """Somebody: where he was in metres, where he was going in metres a frame, when he was last found; and his surface.

    `seen` is what is seen of it in this frame, `surface` the most that was seen of late, square metres.
    """

    person: int
    position: npt.NDArray[np.float64]
    velocity: npt.NDArray[np.float64]
    last_frame: int
    seen: float
    surface: float

    def expected(self, frame: int) -> npt.NDArray[np.float64]:
        return self.position + min(frame - self.last_frame, GOING) * self.velocity

    def reach(self, frame: int) -> float:
        return min(REACH + STRIDE * (frame - self.last_frame - 1), FARTHEST)


class PeopleTracker:
    """Finds the people of the frames of a recording, in order, and keeps their ids.

    Parameters
    ----------
    background : Frame, sequence of Frame or Background, optional
        As in `find_people`. A `Background` that goes on learning is the caller's to `add` frames to.
    n : int, optional
        At most so many people at a time; who has been there longest stays.
    """

    def __init__(self, background: BackgroundLike | None = None, n: int | None = None) -> None:
        self._background = as_background(background)
        self._n = None if n is None else check_count(n)
        self._tracks: list[_TrackedPerson] = []
        self._frame = 0
        self._last_id = 0
        self._map: npt.NDArray[np.uint8] | None = None

    def add(self, frame: Frame) -> People:
        """Return the people of the next frame; ids are those of the frames before, wherever they are the same people.

        Frames may change size, unless there is a background, which has one.
        """
        found = find_people(frame, self._background)
        positions = [_middle(frame, mask) for mask in found]
        per_pixel = 1 / (frame.camera.fx * frame.camera.fy)
        surfaces = [
            float(np.count_nonzero(mask)) * position[2] ** 2 * per_pixel
            for mask, position in zip(found, positions, strict=True)
        ]
        ids = self._matched(found, positions, surfaces)
        self._frame += 1
        if self._n is not None and len(ids) > self._n:
            # in the order of the tracks, which is that of their first frames
            kept = [t.person for t in self._tracks if t.person in ids][: self._n]
            self._tracks = [t for t in self._tracks if t.person in kept or t.person not in ids]
            ids = [person if person in kept else 0 for person in ids]
        relabel = np.zeros(256, dtype=np.uint8)
        relabel[list(found.ids)] = ids
        people = People(
            np.asarray(cv2.LUT(found.map, relabel)), tuple(dict.fromkeys(person for person in ids if person))
        )
        self._map = people.map
        return people

    def _matched(self, found: People, positions: list[npt.NDArray[np.float64]], surfaces: list[float]) -> list[int]:
        """Return the id of everyone who is found, and take note of where they are."""
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
        for i, position in enumerate(positions):
            if ids[i] == 0:
                ids[i] = self._new_id()
                self._tracks.append(_TrackedPerson(ids[i], position, np.zeros(3), now, surfaces[i], surfaces[i]))
        return ids

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


def _middle(frame: Frame, mask: npt.NDArray[np.bool_]) -> npt.NDArray[np.float64]:
    """Return the median of a person's readings in camera space, (3,) metres: most of it is the trunk."""
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
