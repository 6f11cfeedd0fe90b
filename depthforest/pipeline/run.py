"""A run of `label`: frames in, outputs written, several frames at a time.

The caller's thread reads frames and does everything that needs their order; workers label frames and write the outputs.
So reading, labeling and writing overlap, and only a few frames are in memory at a time.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import cv2

from depthforest.base import (
    CameraError,
    DepthForestError,
    DepthForestWarning,
    Parameter,
    UsageError,
    canonical_json,
    map_in_order,
    patient_interrupts,
    thread_count,
)
from depthforest.cluster import spread
from depthforest.forest import Forest, load, shipped_models
from depthforest.frames import Camera, Frame, Picture, labels_png
from depthforest.io import FrameName, FrameSequence
from depthforest.joints import JointTracks
from depthforest.people import People, World
from depthforest.pipeline.clock import Clock
from depthforest.pipeline.continuity import Continuity
from depthforest.pipeline.merging import PeopleLabels, label_people
from depthforest.pipeline.motions import write_motions
from depthforest.pipeline.options import LabelOptions
from depthforest.pipeline.outfolder import OutputFolder
from depthforest.pipeline.outputs import (
    DEFAULT,
    JOINTS,
    JOINTS_TABLE,
    MOTION,
    TOP_PARTS,
    VIDEO,
    VIDEO_FILE,
    frame_outputs,
    picture,
    write_outputs,
    write_table,
)
from depthforest.pipeline.peoplemaps import PeopleMaps
from depthforest.pipeline.plausibility import Finding, Glance, Plausibility
from depthforest.pipeline.standing import Standing, leveled, write_world
from depthforest.pipeline.video import VideoFile
from depthforest.trees import SCHEMA

MAX_COUNTED = 1000
"""Most frames whose people are listed in a summary."""


@dataclass
class LabelSummary:
    """The result of a run.

    Parameters
    ----------
    n_labeled, n_done_before : int
        Numbers of frames.
    n_people, n_with_people : int
        People in the frames of this run, and the number of frames with people.
    people_by_frame : dict of str to int
        Number of people in each of the first `MAX_COUNTED` frames, by the name of its outputs.
    failures : list of DepthForestError
    findings : tuple of Finding
        What is probably wrong with how the frames were read.
    world : World, optional
        The world frame of the camera, if requested and a floor was visible.
    """

    n_labeled: int = 0
    n_people: int = 0
    n_with_people: int = 0
    n_done_before: int = 0
    people_by_frame: dict[str, int] = field(default_factory=dict)
    failures: list[DepthForestError] = field(default_factory=list)
    findings: tuple[Finding, ...] = ()
    world: World | None = None

    def count(self, name: str, n_people: int) -> None:
        """Count a labeled frame."""
        self.n_labeled += 1
        if len(self.people_by_frame) < MAX_COUNTED:
            self.people_by_frame[name] = n_people
        self.n_people += n_people
        self.n_with_people += n_people > 0


def run_identity(forest: Forest, frames: FrameSequence, options: LabelOptions, people: PeopleMaps) -> dict[str, Any]:
    """Return everything that shapes the answers of a run, in JSON form."""
    reading = frames.options
    camera = reading.camera.to_dict() if isinstance(reading.camera, Camera) else reading.camera
    return {
        **({} if frames.topics is None else {"topic": frames.topics}),
        "model": model_digest(forest),
        "mirror": forest.mirror if options.mirror is None else options.mirror,
        "rule": options.rule,
        "reject": options.reject,
        "smooth_m": forest.smooth_m if options.smooth is None else options.smooth,
        "exact": options.exact,
        **people.identity(),
        "track": [options.fps] if options.is_tracked else None,
        "camera": camera if isinstance(camera, dict) or camera is None else str(camera),
        "scale": reading.scale,
        "flip": reading.flip,
        "rotate": reading.rotate,
        "size": None if reading.size is None else list(reading.size),
    }


def _is_guessed(camera: dict[str, Any] | str, frames: FrameSequence) -> bool:
    """Tell whether frames have a camera, in JSON form, without being told: it is guessed from the size of pictures."""
    for source in frames.sources:
        if not isinstance(source, Path):
            return False  # a stream can be read only once
        try:
            page = frames.pictures(source).page(0)
        except (DepthForestError, StopIteration):
            continue  # reported when it is labeled
        height, width = page.values.shape
        guess = Camera.guess(width, height)
        try:
            given = Camera.parse(camera, (width, height)).scaled(width, height)
        except CameraError:
            return False
        if page.camera is not None or guess is None or given != guess[1]:
            return False
    return True


def model_digest(forest: Forest) -> str:
    """Return a digest of everything in a forest that shapes labels, joints and pictures of them."""
    settings: dict[str, Any] = {"background": forest.background_mm, "joints": forest.joints}
    if forest.calibration is not None:
        settings["calibration"] = forest.calibration
    digest = hashlib.sha256(canonical_json(forest.part_set.to_dict() | settings).encode())
    for name in SCHEMA:
        digest.update(f"{name}{getattr(forest, name).shape}".encode())
        digest.update(getattr(forest, name).data)
    return digest.hexdigest()


def shipped_name(digest: str) -> str | None:
    """Return the name of the shipped model with a digest of `model_digest`; None if it is not a shipped one."""
    return next((name for name in shipped_models() if model_digest(load(name)) == digest), None)


LABEL_BLOCK = 4
"""Frames per task on a cluster."""


@dataclass(frozen=True)
class _Labeler:
    """Labels a frame, in a thread of this process or on a worker of a cluster."""

    forest: Forest
    people: PeopleMaps
    options: LabelOptions
    top: int | None
    has_joints: bool

    def __call__(self, task: _Task) -> _Task:
        """Return a task with the forest's answers, or with its failure."""
        return task if task.frame is None else self.attempted(self._with_labels, task, task.frame)

    def _with_labels(self, task: _Task, frame: Frame) -> _Task:
        people = self.people.of(task.name, frame) if task.people is None else task.people
        labels = label_people(
            self.forest,
            frame,
            people,
            top=self.top,
            joints=self.has_joints,
            threads=1,
            **self.options.of_forest,
        )
        return replace(task, labels=labels)

    def attempted(self, step: Callable[[_Task, Frame], _Task], task: _Task, frame: Frame) -> _Task:
        """Return the task after a step, or with its failure; misuse stops the run."""
        try:
            return step(task, frame)
        except UsageError:
            raise
        except DepthForestError as error:
            return _Task(task.name, error=_named(error, task.name, self.people.inputs(task.name)))


class LabelRun:
    """A run over frames that writes the answers into a folder; `run` does it, once.

    Parameters
    ----------
    forest : Forest
    frames : FrameSequence
        From `open_source`.
    output : str or Path
        See `OutputFolder`.
    options : LabelOptions, optional
    outputs : tuple of str
        From `outputs.parse_outputs`.
    is_forced : bool
        Label finished frames again.
    threads : int, optional
        Default: one per core.
    progress : callable, optional
        Called with 1 for every frame.
    """

    def __init__(
        self,
        forest: Forest,
        frames: FrameSequence,
        output: str | Path,
        options: LabelOptions | None = None,
        *,
        outputs: tuple[str, ...] = DEFAULT,
        is_forced: bool = False,
        threads: int | None = None,
        progress: Callable[[int], object] | None = None,
    ) -> None:
        self._forest, self._frames = forest, frames
        self._options = options or LabelOptions()
        wanted = [kind for kind in outputs if kind in MOTION]
        if wanted and not self._options.is_tracked:
            raise UsageError(
                *(Parameter("outputs", wanted[0]), " needs ", Parameter("is_tracked", True)),
                f": {wanted[0]} is the motion of a person over time",
            )
        if self._options.is_world and JOINTS not in outputs:
            outputs = (*outputs, JOINTS)
        self._standing = Standing(frames) if self._options.is_world else None
        self._people = PeopleMaps(frames, self._options)
        self._threads = thread_count(threads)
        self._advance = progress or (lambda _: None)
        self._identity = run_identity(forest, frames, self._options, self._people)
        self._folder = OutputFolder(
            output,
            outputs,
            frames.sources,
            self._identity,
            others=self._people.files,
            is_guessed=lambda camera: _is_guessed(camera, frames),
            model_name=shipped_name,
            is_forced=is_forced,
        )
        self._kinds = frame_outputs(outputs)
        self._motions = [kind for kind in outputs if kind in MOTION]
        self._is_video_wanted = VIDEO in outputs and not self._folder.is_video_done(self._files())
        self._is_drawn = self._is_video_wanted or "overlay" in self._kinds
        # all pictures of a folder are alike: with joints, if an earlier run wrote joints
        is_shown = self._is_drawn and self._folder.has_earlier(JOINTS)
        self._has_joints = JOINTS in self._kinds or bool(self._motions) or is_shown
        top = TOP_PARTS if "probabilities" in self._kinds else None
        self._labeler = _Labeler(forest, self._people, self._options, top, self._has_joints)
        is_smoothed = self._options.is_tracked and self._has_joints
        self._tracks = JointTracks(self._options.fps, keep=bool(self._motions)) if is_smoothed else None
        self._clock = Clock(self._options.fps)
        self._names: dict[str, None] = {}  # names of existing frames, in order
        self._summary = LabelSummary()
        self._judge = Plausibility(forest, frames.options, is_tried=self._people.is_looked_for)
        self._continuity = Continuity()

    def run(self) -> LabelSummary:
        """Label the frames and write the answers.

        Returns
        -------
        LabelSummary
            Its failures include frames that cannot be read, or whose masks cannot. Errors of writing are raised.
        """
        if self._folder.n_ignored:
            warnings.warn(
                f"{self._folder.path}: {self._folder.n_ignored} of the inputs are outputs of label in it and are not "
                "read",
                DepthForestWarning,
                stacklevel=2,
            )
        try:
            self._run()
        finally:
            self._folder.unlock()
        return self._summary

    def _run(self) -> None:
        # Ctrl-C ends a live camera: frames until then are finished as usual
        ending = contextlib.suppress(KeyboardInterrupt) if self._frames.is_live else contextlib.nullcontext()
        with self._opened_video() as video, ending, _opencv_on_one_thread(), patient_interrupts() as check:
            read = map(self._read, _until_stopped(self._frames.named(unless=self._is_passed_over), check))
            labeled = map(self._smoothed, spread(self._labeler, read, threads=self._threads, block=LABEL_BLOCK))
            for task in map_in_order(self._written, labeled, threads=self._threads):
                self._count(task, video)
        self._finish(video)

    def _files(self) -> Iterator[Path]:
        """Yield the files that shape the answers."""
        for source in self._frames.sources:
            if isinstance(source, Path):
                yield from (path for path in self._people.inputs(FrameName(Path(source))) if path.exists())

    def _opened_video(self) -> contextlib.AbstractContextManager[VideoFile | None]:
        if not self._is_video_wanted:
            return contextlib.nullcontext()
        return VideoFile(self._folder.path / VIDEO_FILE, self._options.fps)

    # -- the steps of a frame ------------------------------------------------------------------------------------------

    def _is_passed_over(self, name: FrameName) -> bool:
        """Tell whether to skip a frame: it is an output, a repetition, or labeled already."""
        own = self._folder.name(name)
        if own is None or own in self._names:
            self._advance(1)
            return True
        self._names[own] = None
        # frames of a recording are not independent: later ones depend on earlier ones
        is_whole = self._is_video_wanted or self._options.is_tracked
        is_done = not is_whole and self._folder.is_done(name, self._people.inputs(name))
        if is_done:
            self._summary.n_done_before += 1
            self._advance(1)
        return is_done

    def _read(self, item: tuple[FrameName, Frame | DepthForestError]) -> _Task:
        """Return a frame as a task, with its people if they must be found in the order of the frames."""
        name, frame = item
        if isinstance(frame, DepthForestError):
            return _Task(name, error=frame)
        if self._standing is not None:
            self._standing.see(frame)
        task = _Task(name, frame, time=self._clock.at(frame.time_s))
        return self._labeler.attempted(self._with_people, task, frame) if self._people.is_in_order else task

    def _with_people(self, task: _Task, frame: Frame) -> _Task:
        return replace(task, people=self._people.of(task.name, frame))

    def _smoothed(self, task: _Task) -> _Task:
        """Return a task with its joints smoothed over time, if the frames are a recording."""
        if self._tracks is None or task.labels is None:
            return task
        name, camera = self._folder.name(task.name), task.labels.frame.camera
        joints = self._tracks.add(task.labels.joints or {}, time=task.time, name=name, camera=camera)
        return replace(task, labels=replace(task.labels, joints=joints))

    def _written(self, task: _Task) -> _Task:
        """Write the outputs of a task; keep only its picture, if the video needs it."""
        if task.labels is None:
            return task
        drawn = picture(task.labels) if self._is_drawn else None
        own = self._folder.name(task.name)
        assert own is not None  # such frames are skipped
        how = {key: self._identity[key] for key in ("mirror", "smooth_m", "exact", "rule", "reject")}
        self._folder.begin()
        write_outputs(
            self._folder.path, own, task.labels, self._kinds, overlay=drawn, origin={"source": str(task.name)} | how
        )
        shown = drawn if self._is_video_wanted else None
        return _Task(task.name, glance=Glance.at(task.labels), picture=shown, time=task.time)

    def _count(self, task: _Task, video: VideoFile | None) -> None:
        """Count a finished task, and add its picture to the video."""
        self._advance(1)
        if task.error is not None:
            self._names.pop(self._folder.name(task.name) or "", None)
            self._summary.failures.append(task.error)
            return
        assert task.glance is not None  # it is labeled
        self._summary.count(self._folder.name(task.name) or str(task.name), len(task.glance.people))
        self._judge.add(task.glance)
        if self._options.is_tracked:
            self._continuity.add(task.glance.people.ids)
        if video is not None and task.picture is not None:
            video.add(task.picture, task.time)

    def _finish(self, video: VideoFile | None) -> None:
        """Write the outputs over all frames, and check how they were read."""
        self._summary.findings = (*self._judge.findings(), *self._continuity.findings())
        table = self._folder.path / JOINTS_TABLE
        if JOINTS in self._kinds and self._names and (self._summary.n_labeled or not table.exists()):
            write_table(self._folder.path, self._folder.written(JOINTS))
        names = self._folder.written(JOINTS)
        world = self._standing.world() if self._standing is not None and names else None
        if world is not None:
            write_world(self._folder.path, world, names)
            self._summary.world = world
        if self._motions and self._tracks is not None and self._summary.n_labeled:
            tracked = self._tracks.frames
            write_motions(self._folder.path, self._motions, tracked if world is None else leveled(world, tracked))
        if video is not None and self._summary.n_labeled:
            self._folder.note_video()
        if video is not None and video.n_resized:
            warnings.warn(
                f"{video.n_resized} {'frame differs' if video.n_resized == 1 else 'frames differ'} in size from the "
                "first; the video shows them letterboxed",
                DepthForestWarning,
                stacklevel=3,
            )


@contextlib.contextmanager
def _opencv_on_one_thread() -> Iterator[None]:
    """Keep OpenCV from starting threads of its own: every core already has a frame."""
    n = cv2.getNumThreads()
    cv2.setNumThreads(1)
    try:
        yield
    finally:
        cv2.setNumThreads(n)


def label_one(forest: Forest, frames: FrameSequence, options: LabelOptions | None = None) -> tuple[bytes, LabelSummary]:
    """Return the indexed PNG of the only frame of a sequence, and the summary."""
    options = options or LabelOptions()
    people = PeopleMaps(frames, options)
    found = list(itertools.islice(frames.named(), 1 if frames.is_live else 2))
    if len(found) != 1:
        raise UsageError(
            "standard output takes the PNG of exactly one frame; name one, or a folder with ", Parameter("output")
        )
    ((name, frame),) = found
    if isinstance(frame, DepthForestError):
        raise frame
    labels = label_people(
        forest,
        frame,
        people.of(name, frame),
        **options.of_forest,
    )
    judge = Plausibility(forest, frames.options, is_tried=people.is_looked_for)
    judge.add(Glance.at(labels))
    summary = LabelSummary(findings=judge.findings())
    summary.count(name.stem, len(labels.people))
    return labels_png(labels.parts, labels.part_set), summary


def _named(error: DepthForestError, name: FrameName, inputs: Iterable[Path]) -> DepthForestError:
    """Return an error that names the frame or its mask, as errors of reading do."""
    is_named = any(str(error).startswith(f"{known}:") for known in (name, *inputs))
    return error if is_named else type(error)(f"{name}: ", *error.args)


@dataclass(frozen=True)
class _Task:
    """A frame in progress, and its results so far."""

    name: FrameName
    frame: Frame | None = None
    people: People | None = None
    labels: PeopleLabels | None = None
    glance: Glance | None = None
    picture: Picture | None = None
    time: float = 0.0
    error: DepthForestError | None = None


def _until_stopped(
    items: Iterator[tuple[FrameName, Frame | DepthForestError]], check: Callable[[], None]
) -> Iterator[tuple[FrameName, Frame | DepthForestError]]:
    """Yield items until Ctrl-C: started work is finished, and the block of `patient_interrupts` then raises."""
    try:
        for item in items:
            check()
            yield item
    except KeyboardInterrupt:  # raised by the check, or by a camera that waits for a frame
        return
