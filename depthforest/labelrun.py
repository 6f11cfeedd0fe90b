"""A run of `label`: frames in, outputs written; several at a time, in order, each by itself.

The caller's thread reads and does what needs the frames in order; workers label frames and write what is asked for, so
that reading, labeling and writing overlap and a few frames are in memory, however many there are.
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

from depthforest.camera import Camera
from depthforest.drawing import Picture, labels_png
from depthforest.errors import DepthForestError, DepthForestWarning, UsageError
from depthforest.forest import Forest
from depthforest.frames import Frame
from depthforest.interrupts import patient_interrupts
from depthforest.jointtracks import JointTracks
from depthforest.labeling import RULES
from depthforest.masks import People
from depthforest.merging import PeopleLabels, label_people
from depthforest.modelfile import canonical_json
from depthforest.outfolder import OutputFolder
from depthforest.outputs import (
    DEFAULT,
    JOINTS,
    JOINTS_TABLE,
    TOP_PARTS,
    VIDEO,
    VIDEO_FILE,
    VideoFile,
    frame_outputs,
    picture,
    write_outputs,
    write_table,
)
from depthforest.peoplemaps import PeopleMaps
from depthforest.reading import STDIN, FrameName, FrameSequence
from depthforest.threads import map_in_order, thread_count
from depthforest.treecolumns import SCHEMA, check_smoothing

VIDEO_FPS = 30.0


@dataclass(frozen=True)
class LabelOptions:
    """How frames are labeled.

    Parameters
    ----------
    mask, background, is_background_removed, n_people
        Who the people are, as in `PeopleMaps`; all omitted: they are looked for.
    is_tracked : bool
        The frames are a recording: people keep their ids, and joints are smoothed over time.
    fps : float
        Frames a second of a recording, and of the video.
    mirror, rule, reject, smooth
        As in `Forest.label`.
    is_doubtful_kept : bool
        Keep whom the labels make doubtful: what was found, but does not look like a person to the model.
    """

    mask: str | Path | None = None
    background: str | Path | None = None
    is_background_removed: bool = False
    n_people: int | None = None
    is_tracked: bool = False
    fps: float = VIDEO_FPS
    mirror: bool | None = None
    rule: str = "mean"
    reject: float | None = None
    smooth: float | None = None
    is_doubtful_kept: bool = False

    def __post_init__(self) -> None:
        if self.rule not in RULES:
            raise UsageError(f"rule must be one of {', '.join(RULES)}, got {self.rule!r}")
        if self.reject is not None and not 0 <= self.reject <= 1:
            raise UsageError(f"reject must be a confidence from 0 to 1, got {self.reject!r}")
        if self.smooth is not None:
            check_smoothing(self.smooth)


@dataclass
class LabelSummary:
    """What came of a run."""

    n_labeled: int = 0
    n_done_before: int = 0
    failures: list[DepthForestError] = field(default_factory=list)


class Labeler:
    """Labels frames by name: a forest, options, and the people of the frames."""

    def __init__(self, forest: Forest, frames: FrameSequence, options: LabelOptions) -> None:
        self.forest = forest
        self.options = options
        self.people = PeopleMaps(
            frames,
            options.mask,
            options.background,
            is_background_removed=options.is_background_removed,
            n=options.n_people,
            is_doubted=not options.is_doubtful_kept,
            is_tracked=options.is_tracked,
        )

    def label(
        self, frame: Frame, people: People, *, top: int | None = None, joints: bool = False, threads: int | None = 1
    ) -> PeopleLabels:
        """Return what the forest says of all people of a frame."""
        o = self.options
        return label_people(
            self.forest,
            frame,
            people,
            top=top,
            joints=joints,
            is_doubted=self.people.is_doubted,
            most=self.people.most,
            mirror=o.mirror,
            rule=o.rule,
            reject=o.reject,
            smooth=o.smooth,
            threads=threads,
        )

    def identity(self, frames: FrameSequence) -> dict[str, Any]:
        """Return what shapes the answers, as JSON holds it."""
        reading, options = frames.options, self.options
        camera = reading.camera.to_dict() if isinstance(reading.camera, Camera) else reading.camera
        has_clouds = any(Path(source).suffix.lower() == ".pcd" for source in frames.sources)
        if isinstance(reading.camera, Camera) and _is_guess(reading.camera) and not has_clouds:
            camera = None  # what is taken for such pictures anyway; clouds tell their own
        return {
            "model": model_digest(self.forest),
            "mirror": self.forest.mirror if options.mirror is None else options.mirror,
            "rule": options.rule,
            "reject": options.reject,
            "smooth_m": self.forest.smooth_m if options.smooth is None else options.smooth,
            **self.people.identity(),
            "person_confidence": self.forest.person_confidence if self.people.is_doubted else 0.0,
            "track": [options.fps] if options.is_tracked else None,
            "camera": camera if isinstance(camera, dict) or camera is None else str(camera),
            "scale": reading.scale,
            "flip": reading.flip,
            "rotate": reading.rotate,
            "size": None if reading.size is None else list(reading.size),
        }


def _is_guess(camera: Camera) -> bool:
    """Return whether a camera is the one that is guessed for pictures of its size."""
    guess = Camera.guess(camera.width, camera.height)
    return guess is not None and guess[1] == camera


def model_digest(forest: Forest) -> str:
    """Return a digest of everything in a forest that shapes labels, joints and pictures of them."""
    settings = {"background": forest.background_mm, "joints": forest.joints}
    digest = hashlib.sha256(canonical_json(forest.part_set.to_dict() | settings).encode())
    for name in SCHEMA:
        digest.update(f"{name}{getattr(forest, name).shape}".encode())
        digest.update(getattr(forest, name).tobytes())
    return digest.hexdigest()


def label_frames(
    forest: Forest,
    frames: FrameSequence,
    output: str | Path,
    options: LabelOptions | None = None,
    *,
    outputs: tuple[str, ...] = DEFAULT,
    is_forced: bool = False,
    threads: int | None = None,
    progress: Callable[[int], object] | None = None,
) -> LabelSummary:
    """Label frames and write the answers into a folder.

    Parameters
    ----------
    forest : Forest
    frames : FrameSequence
        From `read_frames`.
    output : str or Path
        See `OutputFolder`.
    options : LabelOptions, optional
    outputs : tuple of str
        From `outputs.parse_outputs`.
    is_forced : bool
        Label again what is done.
    threads : int, optional
        Omitted: one for each core.
    progress : callable, optional
        Called with 1 for every frame.

    Returns
    -------
    LabelSummary
        Frames that cannot be read, or whose mask cannot, are among its failures; what cannot be written is raised.
    """
    options = options or LabelOptions()
    labeler = Labeler(forest, frames, options)
    thread_count(threads)
    identity = labeler.identity(frames)
    folder = OutputFolder(output, outputs, frames.sources, identity, others=labeler.people.files, is_forced=is_forced)
    if folder.n_ignored:
        warnings.warn(
            f"{output}: {folder.n_ignored} of the inputs are outputs of label in it and are not read",
            DepthForestWarning,
            stacklevel=2,
        )
    summary = LabelSummary()
    people = labeler.people
    files = [path for source in frames.sources if source != STDIN for path in people.inputs(FrameName(Path(source)))]
    is_video_wanted = VIDEO in outputs and not folder.is_video_done(path for path in files if path.exists())
    kinds = frame_outputs(outputs)
    top = TOP_PARTS if "probabilities" in kinds else None
    is_drawn = is_video_wanted or "overlay" in kinds
    tracks = JointTracks(options.fps) if options.is_tracked and JOINTS in kinds else None
    advance = progress or (lambda _: None)
    names: dict[str, None] = {}  # in order

    def is_passed_over(name: FrameName) -> bool:
        own = folder.name(name)
        if own is None or own in names:
            advance(1)
            return True
        names[own] = None
        # a recording is one whole: what comes later depends on what was before
        is_done = not is_video_wanted and not options.is_tracked and folder.is_done(name, people.inputs(name))
        if is_done:
            summary.n_done_before += 1
            advance(1)
        return is_done

    def look(item: tuple[FrameName, Frame | DepthForestError]) -> _Task:
        name, frame = item
        if isinstance(frame, DepthForestError):
            return _Task(name, error=frame)
        try:
            return _Task(name, frame, people.of(name, frame) if people.is_in_order else None)
        except UsageError:
            raise
        except DepthForestError as error:
            return _Task(name, error=_named(error, name, people.inputs(name)))

    def label(task: _Task) -> _Task:
        if task.frame is None:
            return task
        try:
            found = people.of(task.name, task.frame) if task.people is None else task.people
            return replace(task, labels=labeler.label(task.frame, found, top=top, joints=JOINTS in kinds))
        except UsageError:
            raise
        except DepthForestError as error:
            return _Task(task.name, error=_named(error, task.name, people.inputs(task.name)))

    def smooth(task: _Task) -> _Task:
        if tracks is None or task.labels is None:
            return task
        return replace(task, labels=replace(task.labels, joints=tracks.add(task.labels.joints or {})))

    def write(task: _Task) -> _Task:
        if task.labels is None:
            return task
        drawn = picture(task.labels) if is_drawn else None
        own = folder.name(task.name)
        assert own is not None  # such frames are passed over
        origin = {"source": str(task.name)} | {key: identity[key] for key in ("mirror", "smooth_m", "rule", "reject")}
        folder.begin()
        write_outputs(folder.path, own, task.labels, kinds, overlay=drawn, origin=origin)
        return _Task(task.name, picture=drawn if is_video_wanted else None)

    with (
        VideoFile(folder.path / VIDEO_FILE, options.fps) if is_video_wanted else contextlib.nullcontext() as video,
        patient_interrupts() as check,
    ):
        seen = map(look, _until_stopped(frames.named(unless=is_passed_over), check))
        labeled = map(smooth, map_in_order(label, seen, threads=threads))
        for outcome in map_in_order(write, labeled, threads=threads):
            advance(1)
            if outcome.error is not None:
                names.pop(folder.name(outcome.name) or "", None)
                summary.failures.append(outcome.error)
                continue
            summary.n_labeled += 1
            if video is not None and outcome.picture is not None:
                video.add(outcome.picture)
    if JOINTS in kinds and names and (summary.n_labeled or not (folder.path / JOINTS_TABLE).exists()):
        write_table(folder.path, folder.written(JOINTS))
    if video is not None and summary.n_labeled:
        folder.note_video()
    if video is not None and video.n_resized:
        warnings.warn(
            f"of another size than the first are {video.n_resized} frames; the video has them scaled to fit, with "
            "black borders",
            DepthForestWarning,
            stacklevel=2,
        )
    return summary


def label_one(forest: Forest, frames: FrameSequence, options: LabelOptions | None = None) -> bytes:
    """Return the indexed PNG of the only frame of a sequence."""
    labeler = Labeler(forest, frames, options or LabelOptions())
    found = list(itertools.islice(frames.named(), 2))
    if len(found) != 1:
        raise UsageError("standard output takes the PNG of exactly one frame; name one, or a folder with -o")
    ((name, frame),) = found
    if isinstance(frame, DepthForestError):
        raise frame
    labels = labeler.label(frame, labeler.people.of(name, frame), threads=None)
    return labels_png(labels.parts, labels.part_set)


def _named(error: DepthForestError, name: FrameName, inputs: Iterable[Path]) -> DepthForestError:
    """Return an error that names the frame or its mask, as those of reading do."""
    is_named = any(str(error).startswith(f"{known}:") for known in (name, *inputs))
    return error if is_named else type(error)(f"{name}: {error}")


@dataclass(frozen=True)
class _Task:
    """A frame on its way, and what has come of it so far."""

    name: FrameName
    frame: Frame | None = None
    people: People | None = None
    labels: PeopleLabels | None = None
    picture: Picture | None = None
    error: DepthForestError | None = None


def _until_stopped(
    items: Iterator[tuple[FrameName, Frame | DepthForestError]], check: Callable[[], None]
) -> Iterator[tuple[FrameName, Frame | DepthForestError]]:
    """Yield items until Ctrl-C: what was begun is finished, and the block of `patient_interrupts` then raises."""
    for item in items:
        try:
            check()
        except KeyboardInterrupt:
            return
        yield item
