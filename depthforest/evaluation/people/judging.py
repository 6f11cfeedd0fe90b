"""`evaluate_people`: one pass that finds the people in every frame and compares them with the truth."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from typing import Protocol

from depthforest.base import UsageError, is_number, map_in_order
from depthforest.evaluation.people.ids import IdScore
from depthforest.evaluation.people.matching import LEAST_SEEN, JudgedFrame, MarkedFrame, TruePeople, judge_frame
from depthforest.evaluation.people.score import PeopleScore, WorstFrame
from depthforest.frames import Frame, LabeledFrame
from depthforest.people import Background, People, PeopleTracker, find_people

TrueFrame = LabeledFrame | MarkedFrame
Finder = Callable[[Frame, Background | None], People]
"""From a frame and the empty room (or None) to the people in it, as `find_people`."""

EmptyRooms = Callable[[int], Frame]
"""From the index of a frame to the same room without people, as `synth.Generator.empty_room`."""

N_WORST = 12
"""How many of the worst frames are kept for viewing."""


class PeopleFollower(Protocol):
    """A tracker of people in a recording, such as `PeopleTracker`."""

    def add(self, frame: Frame) -> People:
        """Return the people of the next frame."""


TrackerMaker = Callable[[Background | None], PeopleFollower]


def evaluate_people(
    data: Sequence[TrueFrame],
    *,
    background: Background | Frame | Sequence[Frame] | EmptyRooms | None = None,
    find: Finder = find_people,
    recording: bool = False,
    tracker: TrackerMaker = PeopleTracker,
    least_seen: float = LEAST_SEEN,
    threads: int | None = None,
    progress: Callable[[int], object] | None = None,
    seed: int = 0,
) -> PeopleScore:
    """Find the people in every frame, and count people found and false people.

    Parameters
    ----------
    data : sequence of LabeledFrame or MarkedFrame
        A data set, a generator, a test set, or marked rooms (`MarkedRooms`). In labeled frames, `people` is the truth.
    background : Background, Frame, sequence of Frame, or callable, optional
        The empty room of all frames, or a function that returns the empty room of a frame by its index, such as
        `synth.Generator.empty_room`.
    find : callable
        From frame and background to `People`; not used with `recording`.
    recording : bool
        The frames are a recording with constant ids: people are tracked, and `PeopleScore.ids` says whether ids stay.
    tracker : callable
        From background to a tracker.
    least_seen : float
        Smallest share of the picture that a person of a labeled frame must cover to be evaluated. Marked people always
        are.
    threads : int, optional
        Default: one per core. The figures are the same for any number.
    progress : callable, optional
        Called with 1 after every frame.
    seed : int
        Seed of the bootstrap.

    Examples
    --------
    >>> import synth
    >>> rooms = synth.Generator(seed=5, n=100)
    >>> df.evaluate_people(rooms).recall  # doctest: +SKIP
    >>> df.evaluate_people(rooms, background=rooms.empty_room).recall  # doctest: +SKIP
    """
    judges = [PeopleJudge(find, tracker, least_seen, seed)]
    return evaluate_finders(
        judges, data, background=background, recording=recording, threads=threads, progress=progress
    )[0]


class PeopleJudge:
    """Counts one finder's answers, frame by frame; parameters as in `evaluate_people`."""

    def __init__(
        self,
        find: Finder = find_people,
        tracker: TrackerMaker = PeopleTracker,
        least_seen: float = LEAST_SEEN,
        seed: int = 0,
    ) -> None:
        if not is_number(least_seen) or not 0 <= least_seen <= 1:
            raise UsageError(f"least_seen must be a share of the picture from 0 to 1, got {least_seen!r}")
        self.find, self.tracker, self.least_seen, self.seed = find, tracker, float(least_seen), seed
        self._frames: list[JudgedFrame] = []
        self._worst: list[tuple[float, int, WorstFrame]] = []

    def add(self, frame: TrueFrame, found: People) -> None:
        """Evaluate the next frame."""
        index = len(self._frames)
        judged = judge_frame(index, TruePeople.of(frame, self.least_seen), found)
        self._frames.append(judged)
        if judged.badness > 0:
            entry = judged.badness, -index, WorstFrame(frame, found, judged)
            if len(self._worst) < N_WORST:
                heapq.heappush(self._worst, entry)
            else:
                heapq.heappushpop(self._worst, entry)

    def score(self, *, recording: bool) -> PeopleScore:
        """Return the counts as a score."""
        worst = tuple(one for _, _, one in sorted(self._worst, key=lambda entry: entry[:2], reverse=True))
        ids = IdScore.of(self._frames) if recording else None
        return PeopleScore(tuple(self._frames), worst, ids, self.least_seen, self.seed)


def evaluate_finders(
    judges: Sequence[PeopleJudge],
    data: Sequence[TrueFrame],
    *,
    background: Background | Frame | Sequence[Frame] | EmptyRooms | None = None,
    recording: bool = False,
    threads: int | None = None,
    progress: Callable[[int], object] | None = None,
) -> list[PeopleScore]:
    """Evaluate several finders in one pass over the frames; parameters as in `evaluate_people`."""
    if len(data) == 0:
        raise UsageError("there are no frames to find people in")
    rooms = background if callable(background) else None
    if recording and rooms is not None:
        background, rooms = rooms(0), None  # a recording shows one room
    known: Background | None = None
    if not callable(background) and background is not None:
        known = background if isinstance(background, Background) else Background.learn(background)
    trackers = [judge.tracker(known) for judge in judges] if recording else []

    def look(index: int) -> tuple[TrueFrame, list[People]]:
        frame = data[index]
        if not isinstance(frame, LabeledFrame | MarkedFrame):
            raise UsageError(
                f"frame {index} is a {type(frame).__name__}; evaluate_people takes LabeledFrames, as df.open_dataset "
                "returns them, or MarkedFrames"
            )
        if recording:
            return frame, []
        room = known if rooms is None else Background(rooms(index))
        return frame, [judge.find(frame, room) for judge in judges]

    for frame, answers in map_in_order(look, range(len(data)), threads=threads):
        found = [tracker.add(frame) for tracker in trackers] if recording else answers
        for judge, people in zip(judges, found, strict=True):
            judge.add(frame, people)
        if progress is not None:
            progress(1)
    return [judge.score(recording=recording) for judge in judges]
