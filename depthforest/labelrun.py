"""A run of `label`: frames in, outputs written; several at a time, in order, each by itself.

The caller's thread reads; each worker labels a frame and writes what is asked for, so that reading, labeling and
writing overlap and a few frames are in memory, however many there are.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from depthforest.camera import Camera
from depthforest.drawing import Picture, labels_png
from depthforest.errors import CameraError, DepthForestError, DepthForestWarning, UsageError
from depthforest.forest import SCHEMA, Forest
from depthforest.frames import Frame
from depthforest.interrupts import patient_interrupts
from depthforest.labeling import RULES
from depthforest.masks import GivenMasks
from depthforest.merging import PeopleLabels, label_people
from depthforest.modelfile import canonical_json
from depthforest.outfolder import OutputFolder
from depthforest.outputs import DEFAULT, TOP_PARTS, VIDEO, VIDEO_FILE, VideoFile, frame_outputs, picture, write_outputs
from depthforest.reading import STDIN, FrameName, FrameSequence
from depthforest.threads import map_in_order, thread_count

MAX_FOREGROUND = 0.6
"""Share of pixels with readings above which a person is not alone in a frame: one who fills it covers less."""

VIDEO_FPS = 30.0


@dataclass(frozen=True)
class LabelOptions:
    """How frames are labeled.

    Parameters
    ----------
    mask : str, Path or None
        As in `GivenMasks`; None: all readings are one person.
    is_background_removed : bool
        Whether that was said, rather than assumed.
    mirror, rule, reject
        As in `Forest.label`.
    """

    mask: str | Path | None = None
    is_background_removed: bool = False
    mirror: bool | None = None
    rule: str = "mean"
    reject: float | None = None

    def __post_init__(self) -> None:
        if self.mask is not None and self.is_background_removed:
            raise UsageError("--mask says who the person is, --background-removed that all readings are; give one")
        if self.rule not in RULES:
            raise UsageError(f"rule must be one of {', '.join(RULES)}, got {self.rule!r}")
        if self.reject is not None and not 0 <= self.reject <= 1:
            raise UsageError(f"reject must be a confidence from 0 to 1, got {self.reject!r}")


@dataclass
class LabelSummary:
    """What came of a run."""

    n_labeled: int = 0
    n_done_before: int = 0
    failures: list[DepthForestError] = field(default_factory=list)


class Labeler:
    """Labels frames by name: a forest, options, and the masks of the frames."""

    def __init__(self, forest: Forest, frames: FrameSequence, options: LabelOptions) -> None:
        self.forest = forest
        self.options = options
        self.masks = GivenMasks(options.mask, frames.options, frames.sources) if options.mask is not None else None

    def label(self, name: FrameName, frame: Frame, *, top: int | None = None, threads: int | None = 1) -> PeopleLabels:
        """Return what the forest says of all people of a frame."""
        people = self.masks.read(name, frame) if self.masks is not None else None
        o = self.options
        return label_people(
            self.forest, frame, people, top=top, mirror=o.mirror, rule=o.rule, reject=o.reject, threads=threads
        )

    def inputs(self, name: FrameName) -> list[Path]:
        """Return the files that shape the answer."""
        return [name.path] if self.masks is None else [name.path, self.masks.path_for(name)]

    def warn_of_background(self, name: FrameName, frame: Frame) -> bool:
        """Warn if all readings are taken for a person though they cannot be one; tell whether it was so."""
        if self.masks is not None or self.options.is_background_removed:
            return False
        is_full = np.count_nonzero(frame.depth_mm) > MAX_FOREGROUND * frame.depth_mm.size
        if is_full:
            warnings.warn(
                f"{name}: more than {MAX_FOREGROUND:.0%} of the pixels have readings, so that the background is "
                "labeled as a person too; give the person's --mask, or remove the background",
                DepthForestWarning,
                stacklevel=3,
            )
        return bool(is_full)

    def identity(self, frames: FrameSequence) -> dict[str, Any]:
        """Return what shapes the answers, as JSON holds it."""
        reading, options = frames.options, self.options
        camera = reading.camera.to_dict() if isinstance(reading.camera, Camera) else reading.camera
        if isinstance(camera, str) and _is_guess(camera):
            camera = None  # what is taken for such pictures anyway
        return {
            "model": model_digest(self.forest),
            "mirror": self.forest.mirror if options.mirror is None else options.mirror,
            "rule": options.rule,
            "reject": options.reject,
            "mask": None if options.mask is None else Path(options.mask).resolve().as_posix(),
            "camera": camera if isinstance(camera, dict) or camera is None else str(camera),
            "scale": reading.scale,
            "flip": reading.flip,
            "rotate": reading.rotate,
            "size": None if reading.raw_size is None else list(reading.raw_size),
        }


def _is_guess(text: str) -> bool:
    """Return whether a camera is the one that is guessed for pictures of its size."""
    try:
        camera = Camera.parse(text)
    except CameraError:
        return False  # whoever reads the frames says why
    guess = Camera.guess(camera.width, camera.height)
    return guess is not None and guess[1] == camera


def model_digest(forest: Forest) -> str:
    """Return a digest of everything in a forest that shapes labels and pictures of them."""
    digest = hashlib.sha256(canonical_json(forest.part_set.to_dict() | {"background": forest.background_mm}).encode())
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
    fps: float = VIDEO_FPS,
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
    fps : float
        Of the video.
    threads : int, optional
        Omitted: one for each core.
    progress : callable, optional
        Called with 1 for every frame.

    Returns
    -------
    LabelSummary
        Frames that cannot be read, or whose mask cannot, are among its failures; what cannot be written is raised.
    """
    labeler = Labeler(forest, frames, options or LabelOptions())
    thread_count(threads)
    identity = labeler.identity(frames)
    others = [labeler.masks.path] if labeler.masks is not None else []
    folder = OutputFolder(output, outputs, frames.sources, identity, others=others, is_forced=is_forced)
    if folder.n_ignored:
        warnings.warn(
            f"{output}: {folder.n_ignored} of the inputs are outputs of label in it and are not read",
            DepthForestWarning,
            stacklevel=2,
        )
    summary = LabelSummary()
    files = [path for source in frames.sources if source != STDIN for path in labeler.inputs(FrameName(Path(source)))]
    is_video_wanted = VIDEO in outputs and not folder.is_video_done(path for path in files if path.exists())
    kinds = frame_outputs(outputs)
    top = TOP_PARTS if "probabilities" in kinds else None
    advance = progress or (lambda _: None)
    seen: set[str] = set()

    def is_passed_over(name: FrameName) -> bool:
        own = folder.name(name)
        if own is None or own in seen:
            advance(1)
            return True
        seen.add(own)
        is_done = not is_video_wanted and folder.is_done(name, labeler.inputs(name))
        if is_done:
            summary.n_done_before += 1
            advance(1)
        return is_done

    def work(item: tuple[FrameName, Frame | DepthForestError]) -> _Outcome:
        name, frame = item
        if isinstance(frame, DepthForestError):
            return _Outcome(name, error=frame)
        try:
            labels = labeler.label(name, frame, top=top)
        except UsageError:
            raise
        except DepthForestError as error:
            return _Outcome(name, error=error)
        drawn = picture(labels) if is_video_wanted or "overlay" in kinds else None
        own = folder.name(name)
        assert own is not None  # such frames are passed over
        origin = {"source": str(name)} | {key: identity[key] for key in ("mirror", "rule", "reject")}
        folder.begin()
        write_outputs(folder.path, own, labels, kinds, overlay=drawn, origin=origin)
        return _Outcome(name, frame=frame, picture=drawn if is_video_wanted else None)

    may_warn = True
    with (
        VideoFile(folder.path / VIDEO_FILE, fps) if is_video_wanted else contextlib.nullcontext() as video,
        patient_interrupts() as check,
    ):
        for outcome in map_in_order(work, _until_stopped(frames.named(unless=is_passed_over), check), threads=threads):
            advance(1)
            if outcome.error is not None:
                summary.failures.append(outcome.error)
                continue
            summary.n_labeled += 1
            assert outcome.frame is not None
            may_warn = may_warn and not labeler.warn_of_background(outcome.name, outcome.frame)
            if video is not None and outcome.picture is not None:
                video.add(outcome.picture)
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
    labeler.warn_of_background(name, frame)
    labels = labeler.label(name, frame, threads=None)
    return labels_png(labels.parts, labels.part_set)


@dataclass(frozen=True)
class _Outcome:
    """What came of a frame."""

    name: FrameName
    frame: Frame | None = None
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
