"""Evaluation of forests on labeled frames: one pass that labels every person, finds joints and counts.

`figures` holds the results, `scores` the formulas.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from depthforest.base import Bools, Floats, PartSetError, UsageError, thread_count
from depthforest.cluster import spread
from depthforest.evaluation.figures import Evaluation, JointScores, LevelScores, Speed
from depthforest.evaluation.options import TIMED_FRAMES, JointFinder, JudgeOptions
from depthforest.evaluation.partmaps import GROUPINGS, ComparisonLevel, comparable
from depthforest.evaluation.scores import WITHIN_M, Calibration, Counts, ProposalLog, Tally, count_pairs
from depthforest.evaluation.views import PersonView
from depthforest.forest import Forest
from depthforest.frames import JOINTS, NO_PART, Frame, Grouping, Joints, LabeledFrame, PartSet
from depthforest.labeling import Labeling

__all__ = ["Evaluation", "evaluate", "evaluate_many", "joint_finder"]


@dataclass(frozen=True)
class JudgedJoint:
    """Distances of a joint's proposals from the truth, and that of the chosen one (infinite if there is none)."""

    name: str
    is_visible: bool
    distances_m: Floats
    confidences: Floats
    chosen_m: float
    confidence: float


@dataclass(frozen=True)
class JudgedPerson:
    """One forest's answers about one person, as counts."""

    pairs: Counts
    calibration: Calibration
    joints: tuple[JudgedJoint, ...]


def evaluate(
    forest: Forest,
    data: Sequence[LabeledFrame],
    *,
    threads: int | None = None,
    progress: Callable[[int], object] | None = None,
    mirror: bool | None = None,
    joints: bool | JointFinder = True,
    exact: bool = False,
    sensors: Sequence[str] | None = None,
    groupings: Sequence[Grouping] = (),
    timed_frames: int = TIMED_FRAMES,
    seed: int = 0,
) -> Evaluation:
    """Label every person of every frame with a forest, and compare the labels with the truth.

    Parameters
    ----------
    forest : Forest
    data : sequence of LabeledFrame
        Frames with the forest's part set, or one that can be compared with it (`partmaps.comparable`).
    threads : int, optional
        Default: one per core. The figures are the same for any number.
    progress : callable, optional
        Called with 1 after every frame.
    mirror : bool, optional
        Whether to use the mirrored walk. Default: as stored in the forest.
    joints : bool or callable
        Whether to evaluate joints, if both data and model have them; or a function that finds them.
    exact : bool
        Walk every pixel, and find joints by the exact variant of `find_joints`. Default: the fast variants that users
        run.
    sensors : sequence of str, optional
        Sensor of each frame, for the breakdown.
    groupings : sequence of Grouping
        Maps between part sets, tried before the known ones.
    timed_frames : int
        Number of frames that are labeled again to measure speed; 0: none.
    seed : int
        Seed of the bootstrap.
    """
    options = JudgeOptions(
        threads=threads,
        mirror=mirror,
        joints=joints,
        exact=exact,
        groupings=groupings,
        timed_frames=timed_frames,
        seed=seed,
    )
    return evaluate_many([forest], data, options, sensors=sensors, progress=progress)[0]


def evaluate_many(
    forests: Sequence[Forest],
    data: Sequence[LabeledFrame],
    options: JudgeOptions,
    *,
    sensors: Sequence[str] | None = None,
    progress: Callable[[int], object] | None = None,
) -> list[Evaluation]:
    """Evaluate several forests in one pass over the data; the other parameters are those of `evaluate`."""
    n_frames = len(data)
    if n_frames == 0:
        raise UsageError("there are no frames to evaluate")
    if sensors is not None and len(sensors) != n_frames:
        raise UsageError(f"sensors must name one for each of the {n_frames} frames, got {len(sensors)}")
    first = data[0]
    if not isinstance(first, LabeledFrame):
        raise UsageError(
            f"frame 0 is a {type(first).__name__}; evaluate takes LabeledFrames, as df.open_dataset returns them"
        )
    part_set = first.part_set
    judges = [ForestJudge(forest, part_set, options) for forest in forests]

    def look(index: int) -> tuple[list[tuple[PersonView, list[JudgedPerson]]], bytes | None]:
        frame = data[index]
        if frame.part_set.names != part_set.names:
            raise UsageError(f"frame {index} has a different part set than the first; evaluate one part set at a time")
        looked = []
        for person in np.unique(frame.people[frame.parts != NO_PART]).tolist():
            mask = frame.people == person
            view = PersonView.of(frame, index, person, mask, "" if sensors is None else sensors[index])
            looked.append((view, [judge.answer(frame, person, mask) for judge in judges]))
        # frames of a test set that were generated on a cluster count in the hash, too
        digest_of = getattr(data, "digest_of", None)
        return looked, None if digest_of is None else digest_of(index)

    views: list[PersonView] = []
    take = getattr(data, "take_digest", None)
    for index, (looked, digest) in enumerate(spread(look, range(n_frames), threads=options.threads)):
        if take is not None and digest is not None:
            take(index, digest)
        for view, answers in looked:
            for judge, answer in zip(judges, answers, strict=True):
                judge.add(len(views), answer)
            views.append(view)
        if progress is not None:
            progress(1)
    n_timed = min(options.timed_frames, n_frames)
    timed = np.linspace(0, n_frames - 1, n_timed).round().astype(int).tolist()
    return [
        judge.evaluation(
            n_frames, tuple(views), measure_speed(judge, data, timed, options.threads) if timed else None, options.seed
        )
        for judge in judges
    ]


class ForestJudge:
    """Counts one forest's answers, view by view."""

    def __init__(self, forest: Forest, truth: PartSet, options: JudgeOptions) -> None:
        self.forest, self.mirror, self.exact, self.n_truth = forest, options.mirror, options.exact, len(truth)
        self.levels = comparable(truth, forest.part_set, (*options.groupings, *GROUPINGS))
        self.is_right = self.levels[0].is_right
        self.finder, self.no_joints = joint_finder(forest.part_set, options.joints, exact=options.exact)
        self._pairs = np.zeros((len(truth), len(forest.part_set)), dtype=np.int64)
        self._tallies: list[list[Tally]] = [[] for _ in self.levels]
        self._calibration = self._joint_calibration = Calibration()
        self._logs = {name: ProposalLog() for name in JOINTS}
        self._chosen: dict[str, list[tuple[int, float]]] = {name: [] for name in JOINTS}

    def label(self, frame: Frame, mask: Bools, threads: int = 1) -> Labeling:
        return self.forest.label(frame, mask, mirror=self.mirror, exact=self.exact, threads=threads)

    def answer(self, frame: LabeledFrame, person: int, mask: Bools) -> JudgedPerson:
        """Label one person and count the answers; runs on any thread."""
        labeling = self.label(frame, mask)
        is_counted = mask & (frame.parts != NO_PART) & (labeling.parts != NO_PART)
        truth, answered = frame.parts[is_counted], labeling.parts[is_counted]
        pairs = count_pairs(truth, answered, self.n_truth, len(self.forest.part_set))
        calibration = Calibration.of(labeling.confidence[is_counted], self.is_right[truth, answered])
        true_joints = frame.joints.get(person, {})
        judged: tuple[JudgedJoint, ...] = ()
        if self.finder is not None and true_joints:
            judged = judge_joints(self.finder(frame, labeling), true_joints)
        return JudgedPerson(pairs, calibration, judged)

    def add(self, view: int, answer: JudgedPerson) -> None:
        """Count an answer; called view by view, in order."""
        self._pairs += answer.pairs
        for level, tallies in zip(self.levels, self._tallies, strict=True):
            tallies.append(Tally.of(level.confusion(answer.pairs)))
        self._calibration += answer.calibration
        for joint in answer.joints:
            self._logs[joint.name].add(view, joint.distances_m, joint.confidences, is_visible=joint.is_visible)
            if joint.is_visible:
                self._chosen[joint.name].append((view, joint.chosen_m))
        chosen = [j for j in answer.joints if j.is_visible and np.isfinite(j.chosen_m)]
        if chosen:
            is_near = [j.chosen_m <= WITHIN_M for j in chosen]
            self._joint_calibration += Calibration.of([j.confidence for j in chosen], is_near)

    def evaluation(self, n_frames: int, views: tuple[PersonView, ...], speed: Speed | None, seed: int) -> Evaluation:
        """Return the counts as an evaluation."""
        levels = tuple(
            LevelScores(level, level.confusion(self._pairs), _stacked(level, tallies))
            for level, tallies in zip(self.levels, self._tallies, strict=True)
        )
        joints, reason = None, self.no_joints
        if self.finder is not None:
            joints = self._joint_scores(len(views))
            reason = "" if joints is not None else "the data has no visible joints"
        finest = levels[0]
        return Evaluation(
            finest.confusion, finest.level.part_set, n_frames, levels, views, self._calibration, joints, reason, speed,
            seed,
        )  # fmt: skip

    def _joint_scores(self, n_views: int) -> JointScores | None:
        proposals = {name: log.judged(n_views) for name, log in self._logs.items()}
        if not any(judged.is_expected.any() for judged in proposals.values()):
            return None
        chosen = {name: np.full(n_views, np.nan) for name in JOINTS}
        for name, rows in self._chosen.items():
            for view, distance in rows:
                chosen[name][view] = distance
        return JointScores(proposals, chosen, self._joint_calibration)


def joint_finder(
    part_set: PartSet, joints: bool | JointFinder = True, *, exact: bool = False
) -> tuple[JointFinder | None, str]:
    """Return the function that finds joints in a part set's labels, or None and the reason why there is none."""
    if callable(joints):
        return joints, ""
    if not joints:
        return None, "joints were not requested"
    from depthforest.joints import find_joints, known_joints

    try:
        known_joints(part_set)
    except PartSetError as error:
        return None, str(error)
    return partial(find_joints, exact=exact), ""


def judge_joints(found: Mapping[str, Any], truth: Joints) -> tuple[JudgedJoint, ...]:
    """Measure the proposals of every joint with known truth."""
    judged = []
    for name, joint in truth.items():
        answer = found.get(name)
        proposals = () if answer is None else answer.proposals
        positions = np.array([p.position for p in proposals], dtype=np.float64).reshape(-1, 3)
        confidences = np.array([p.confidence for p in proposals], dtype=np.float64)
        chosen, confidence = np.inf, 0.0
        if answer is not None:
            chosen = float(np.linalg.norm(np.subtract(answer.position, joint.position)))
            confidence = float(answer.confidence)
        distances: npt.NDArray[np.float64] = np.linalg.norm(positions - np.array(joint.position), axis=1)
        judged.append(JudgedJoint(name, joint.is_visible, distances, confidences, chosen, confidence))
    return tuple(judged)


def measure_speed(
    judge: ForestJudge, data: Sequence[LabeledFrame], chosen: Sequence[int], threads: int | None
) -> Speed:
    """Time the labeling and the joints of the chosen frames one by one."""
    n_threads = thread_count(threads)
    label_ms, joints_ms = [], []
    for index in (chosen[0], *chosen):  # the first one twice: its first run includes compiling and packing
        frame = data[index]
        masks = [frame.people == p for p in np.unique(frame.people[frame.parts != NO_PART])]
        began = time.perf_counter()
        labelings = [judge.label(frame, mask, n_threads) for mask in masks]
        labeled = time.perf_counter()
        if judge.finder is not None:
            for labeling in labelings:
                judge.finder(frame, labeling)
            joints_ms.append(1000 * (time.perf_counter() - labeled))
        label_ms.append(1000 * (labeled - began))
    joints = float(np.median(joints_ms[1:])) if joints_ms else float("nan")
    return Speed(len(chosen), n_threads, float(np.median(label_ms[1:])), joints)


def _stacked(level: ComparisonLevel, tallies: list[Tally]) -> Tally:
    """Return the tallies of all views as arrays (n_views, n), int32: a person has fewer than 2^31 pixels."""
    empty = np.zeros((0, len(level.part_set)), dtype=np.int32)
    columns = [[getattr(t, name) for t in tallies] for name in ("seen", "right", "answered")]
    return Tally(*(np.array(c, dtype=np.int32) if c else empty for c in columns))
