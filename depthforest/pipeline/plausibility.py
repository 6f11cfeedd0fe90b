"""Checking whether frames were read correctly: unit, camera and orientation, by the people in them and by trials.

People in correctly read frames are labeled with high confidence. If nobody is found, a few frames are tried in other
units, with other focal lengths and rotated: the variant in which people appear is the likely mistake. Standing people
are also measured.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from depthforest.base import DepthForestWarning, Message, Parameter, text_of
from depthforest.forest import Forest, load
from depthforest.frames import Frame, Scale, check_scale
from depthforest.io import ReadOptions
from depthforest.people import People, PersonSize, find_people, measure_people
from depthforest.pipeline.merging import PeopleLabels, label_people

MAX_TRIED = 3
"""Most frames that are tried in other ways: the first, then those at powers of two, as a recording may begin empty."""

MAX_MEASURED = 30
"""Most frames in which people are measured."""

SURE_TIMES = 2.2
"""Multiple of `Forest.person_confidence` that correctly read people nearly always reach: 0.45 for body31; 0.38 to
0.65 were seen in real frames, and up to 0.44 in frames that were turned or had a wrong camera."""

CONVINCING_TIMES = 2.4
"""The same for trials: with furniture, one of ten trials occasionally produces something like a person."""

LEAST_GAIN = 1.25
"""Multiple of the present confidence that a trial must reach."""

HEIGHT_RANGE_M = (1.0, 2.5)
"""Meters: range of the median height of standing people without a finding."""

LEAST_MEASURED, LEAST_DOUBTFUL = 3, 10
"""Fewest standing, completely visible people whose height counts; and the number if labels are not confident."""

SLENDER, MAX_DEPTH_M = 1.8, 0.7
"""Smallest ratio of height to width of a standing person, and the largest depth, in meters."""

USUAL_HEIGHT_M = 1.7
"""Meters: the height that a median height is compared with."""

NEAR_M, FAR_M = 0.45, 8.0
"""Meters: plausible range of the median depth of a room with people."""

TOO_NEAR_M = 0.3
"""Meters: no depth camera has half of its readings nearer, even if people seem to be found."""

ROOM_M = (0.6, 6.0)
"""Meters: usual range of the median depth of a room with people."""

REACH_M = 5.0
"""Largest distance in meters at which people are found."""

UNITS: tuple[str | float, ...] = ("mm", "cm", "m", "tum", 0.0001, 0.00025)
"""Scales of cameras and files, the likeliest first."""

FOCAL_LENGTHS = (0.5, 2.0)
"""Multiples of the focal length to try."""

UNIT_SLACK = 1.25
"""Tolerance, as a factor, between a ratio of heights and the ratio of two units."""


@dataclass(frozen=True)
class Finding:
    """A probable mistake in how frames were read.

    Parameters
    ----------
    kind : "empty", "scale", "camera", "rotate", "far", "nobody" or "track"
        The option to change; "empty": no readings; "nobody": nobody was found, for an unknown reason.
    message : tuple
        Text and parameters.
    """

    kind: str
    message: Message

    def __str__(self) -> str:
        return text_of(self.warning())

    def warning(self) -> DepthForestWarning:
        """Return the finding as a warning."""
        return DepthForestWarning(*self.message)


@dataclass(frozen=True, eq=False)
class Glance:
    """One frame's contribution to the check.

    Parameters
    ----------
    frame : Frame
    people : People
        The people found.
    confidence : float
        Mean share of the most confident person's labels, before calibration; 0 if there is nobody.
    median_m : float
        Median depth; NaN without a reading.
    """

    frame: Frame
    people: People
    confidence: float
    median_m: float

    @classmethod
    def at(cls, labels: PeopleLabels) -> Glance:
        """Return the glance at a labeled frame."""
        some = labels.frame.depth_mm[::4, ::4]
        readings = some[some > 0]
        median_m = float(np.median(readings)) / 1000 if readings.size else math.nan
        return cls(labels.frame, labels.people, max(labels.mean_shares.values(), default=0.0), median_m)


@dataclass
class Plausibility:
    """Checks how the frames of a run were read; `add` takes them one by one, `findings` returns the result.

    Parameters
    ----------
    forest : Forest
    reading : ReadOptions, optional
        How they were read.
    is_tried : bool
        Whether frames may be tried in other ways, because people were searched for.
    """

    forest: Forest
    reading: ReadOptions = field(default_factory=ReadOptions)
    is_tried: bool = True

    def __post_init__(self) -> None:
        # a context stage is as confident on rotated frames and with wrong cameras as on correct ones
        self._first = replace(self.forest, context=None)
        self._n = 0
        self._tried: list[Glance] = []
        self._confidences: list[float] = []
        self._medians: list[float] = []
        self._heights: list[float] = []
        self._n_measured = 0
        self._n_with_people = 0

    def add(self, glance: Glance) -> None:
        """Note one more frame."""
        is_kept = self._n & (self._n - 1) == 0  # 0, 1, 2, 4, 8, ...
        if self.forest.context is not None and len(glance.people) and (is_kept or self._n_measured < MAX_MEASURED):
            glance = Glance.at(label_people(self._first, glance.frame, glance.people, threads=1))
        if is_kept:
            self._tried = [*self._tried, glance][-MAX_TRIED:]
        self._n += 1
        if len(self._medians) < MAX_MEASURED:
            self._medians.append(glance.median_m)
        if not len(glance.people):
            return
        self._n_with_people += 1
        if self._n_measured < MAX_MEASURED:
            self._n_measured += 1
            self._confidences.append(glance.confidence)
            sizes = measure_people(glance.frame, glance.people)
            self._heights += [size.height_m for size in sizes.values() if _stands(size)]

    def findings(self) -> tuple[Finding, ...]:
        """Return what is probably wrong, only the likeliest cause; empty if nothing is."""
        if self._n == 0:
            return ()
        if not self._n_with_people:
            return (self._why_nobody(),)
        medians = [median for median in self._medians if not math.isnan(median)]
        if medians and float(np.median(medians)) < TOO_NEAR_M:
            return (_other_unit("", float(np.median(medians)), self.reading),)
        is_sure = float(np.median(self._confidences)) >= SURE_TIMES * self.forest.person_confidence
        finding = None if is_sure else self._best_trial()
        if finding is None:
            finding = self._judge_height(LEAST_MEASURED if is_sure or not self.is_tried else LEAST_DOUBTFUL)
        return () if finding is None else (finding,)

    # -- nobody --------------------------------------------------------------------------------------------------------

    def _why_nobody(self) -> Finding:
        """Return the likeliest reason why nobody was found."""
        found = "nobody was found: "
        medians = [median for median in self._medians if not math.isnan(median)]
        if not medians:
            return Finding(
                "empty", (found, "no frame has a reading; was the camera covered, or the wrong stream saved?")
            )
        median = float(np.median(medians))
        if median < NEAR_M or median > FAR_M:
            return _other_unit(found, median, self.reading)
        tried = self._best_trial()
        if tried is not None:
            return replace(tried, message=(found, *tried.message))
        if median > REACH_M:
            text = f"half of the readings are beyond {median:.2g} m, and people are found up to about {REACH_M:g} m"
            return Finding("far", (found, text, "; or the unit is another: pass ", Parameter("scale")))
        return Finding(
            "nobody",
            (
                "nobody was found; if somebody is there, look at `depthforest show`: the unit (",
                Parameter("scale"),
                "), the camera (",
                Parameter("camera"),
                ") or the orientation (",
                Parameter("rotate"),
                ") may be wrong; ",
                Parameter("background"),
                " tells people from a cluttered room",
            ),
        )

    # -- trials --------------------------------------------------------------------------------------------------------

    def _best_trial(self) -> Finding | None:
        """Return the trial in which people clearly appear in the kept frames, if there is one."""
        convincing = CONVINCING_TIMES * self.forest.person_confidence
        if not self.is_tried or convincing == 0:
            return None
        glances = [glance for glance in self._tried if not math.isnan(glance.median_m)]
        if not glances:
            return None
        before = float(np.mean([glance.confidence for glance in glances]))
        best, reached = None, max(convincing, LEAST_GAIN * before)
        for trial in _trials(self.reading):
            answers = [self._tried_as(trial, glance.frame) for glance in glances]
            after = float(np.mean([answer.confidence for answer in answers]))
            if after >= reached:
                best, reached = (trial, answers), after
        return None if best is None else self._told(best[0], glances, best[1], before, reached)

    def _tried_as(self, trial: _Trial, frame: Frame) -> Glance:
        """Return a glance at a frame that is read as in a trial."""
        changed = trial.of(frame)
        found = find_people(changed)
        return Glance.at(label_people(self._first, changed, found, threads=1))

    def _told(
        self, trial: _Trial, before: list[Glance], after: list[Glance], confidence: float, reached: float
    ) -> Finding:
        """Return the finding of a trial."""
        gain = f"(confidence {reached:.2f}" + (f" instead of {confidence:.2f})" if confidence else ")")
        if trial.kind == "rotate":
            rotate = (self.reading.rotate + trial.degrees) % 360
            how = "upside down" if trial.degrees == 180 else "on their side"
            advice: Message = ("pass ", Parameter("rotate", rotate)) if rotate else ("leave out ", Parameter("rotate"))
            text = f"the pictures seem to be {how}: turned by {trial.degrees} degrees, people are found in them {gain}"
            return Finding("rotate", (f"{text}; ", *advice))
        tall = [_tallest(glances) for glances in (before, after)]
        sizes = "" if tall[1] is None else f" of {tall[1]:.2f} m"
        sizes += "" if tall[0] is None or tall[1] is None else f" instead of {tall[0]:.2f} m"
        if trial.kind == "camera":
            times = "twice as long" if trial.times > 1 else "half as long"
            text = f"the camera seems to be wrong: with a focal length {times}, people{sizes} are found {gain}"
            return Finding("camera", (text, "; name the right one with ", Parameter("camera")))
        text = f"the unit seems to be wrong: with depths times {trial.times:g}, people{sizes} are found {gain}"
        return Finding("scale", (text, "; pass ", *_unit_of(lambda times: times == trial.times, self.reading)))

    # -- sizes ---------------------------------------------------------------------------------------------------------

    def _judge_height(self, least: int) -> Finding | None:
        """Return a finding if standing people, at least `least` of them, are too small or too large."""
        if len(self._heights) < least:
            return None
        height = float(np.median(self._heights))
        if HEIGHT_RANGE_M[0] <= height <= HEIGHT_RANGE_M[1]:
            return None
        ratio = USUAL_HEIGHT_M / height
        text = f"people who stand are {height:.2f} m tall (median of {len(self._heights)}): "

        def is_near(times: float) -> bool:
            return abs(math.log(ratio / times)) < math.log(UNIT_SLACK)

        if any(map(is_near, _other_units(self.reading).values())):
            return Finding(
                "scale", (text, "the unit of depth is probably another; pass ", *_unit_of(is_near, self.reading))
            )
        kind = "long" if ratio > 1 else "short"
        text += f"the focal length is probably {max(ratio, 1 / ratio):.1f} times too {kind}; name the camera with "
        return Finding("camera", (text, Parameter("camera")))


@dataclass(frozen=True)
class _Trial:
    """Another way to read frames: with larger depths, with a larger focal length, or rotated clockwise."""

    kind: str
    times: float = 1.0
    degrees: int = 0

    def of(self, frame: Frame) -> Frame:
        """Return a frame as read in this trial."""
        depth_mm, camera = frame.depth_mm, frame.camera
        if self.kind == "rotate":
            return Frame(np.rot90(depth_mm, -self.degrees // 90), camera.rotated(self.degrees))
        if self.kind == "camera":
            return Frame(depth_mm, replace(camera, fx=self.times * camera.fx, fy=self.times * camera.fy))
        larger = np.rint(depth_mm * self.times)
        return Frame(np.where(larger < np.iinfo(np.uint16).max, larger, 0).astype(np.uint16), camera)


def _trials(reading: ReadOptions) -> Iterator[_Trial]:
    for degrees in (90, 180, 270):
        yield _Trial("rotate", degrees=degrees)
    for times in FOCAL_LENGTHS:
        yield _Trial("camera", times)
    for times in _other_units(reading).values():
        yield _Trial("scale", times)


def doubt_depth(medians_m: Iterable[float], reading: ReadOptions) -> Finding | None:
    """Return a finding that the unit is probably wrong, if the median depths of frames are not those of rooms.

    Does not search for people, so it can be used for any frames right away.
    """
    medians = [median for median in medians_m if not math.isnan(median)]
    median = float(np.median(medians)) if medians else math.nan
    return _other_unit("", median, reading) if median < NEAR_M or median > FAR_M else None


def _other_unit(found: str, median: float, reading: ReadOptions) -> Finding:
    """Return the finding that the unit is wrong, from a median depth that is not a room's."""
    unit = _unit_of(lambda times: ROOM_M[0] <= median * times <= ROOM_M[1], reading)
    where = f"half of the readings are {'within' if median < NEAR_M else 'beyond'} {median:.2g} m"
    return Finding("scale", (found, f"{where}; the unit is probably wrong: pass ", *unit))


def _other_units(reading: ReadOptions) -> dict[str | float, float]:
    """Return for each other unit how many times larger depths are in it than in the one used."""
    times = {name: _meters(name) / abs(_meters(reading.scale)) for name in UNITS}
    return {name: value for name, value in times.items() if not math.isclose(value, 1)}


def _meters(scale: Scale) -> float:
    """Return the meters per unit of a scale; those of a millimeter if none was given."""
    unit = check_scale("mm" if scale is None else scale)
    assert unit is not None
    return unit.meters


def _unit_of(fits: Callable[[float], bool], reading: ReadOptions) -> Message:
    """Return the scale to pass: one whose ratio to the present scale satisfies `fits`."""
    name = next((name for name, times in _other_units(reading).items() if fits(times)), None)
    if name is None or _meters(reading.scale) < 0:  # z points backwards, which no named scale has
        return (Parameter("scale"), " (meters per unit)")
    return (Parameter("scale", name),)


def _stands(size: PersonSize) -> bool:
    """Tell whether a person stands and is completely visible."""
    return not size.is_cut and size.height_m >= SLENDER * size.width_m and size.depth_m <= MAX_DEPTH_M


def _tallest(glances: list[Glance]) -> float | None:
    """Return the height of the tallest person, in meters; None if there is nobody."""
    sizes = (size for glance in glances for size in measure_people(glance.frame, glance.people).values())
    return max((size.height_m for size in sizes), default=None)


def check_frames(frames: Frame | Iterable[Frame], forest: Forest | None = None) -> tuple[Finding, ...]:
    """Check whether frames were read correctly: unit, camera and orientation.

    Parameters
    ----------
    frames : Frame or iterable of Frame
        Frames with people, from `read_depth`, `open_source` or `Frame.from_array`.
    forest : Forest, optional
        Default: the shipped one.

    Returns
    -------
    tuple of Finding
        Each can be turned into a `DepthForestWarning`. Empty if everything looks right, or if nothing can be concluded.
    """
    chosen = load() if forest is None else forest
    judge = Plausibility(chosen)
    for frame in [frames] if isinstance(frames, Frame) else frames:
        judge.add(Glance.at(label_people(chosen, frame, find_people(frame))))
    findings = judge.findings()
    for finding in findings:
        warnings.warn(finding.warning(), stacklevel=2)
    return findings
