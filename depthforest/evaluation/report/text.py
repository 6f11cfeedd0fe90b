"""The texts of the report and of the command: titles of figures, intervals, verdicts, and definitions of figures."""

from __future__ import annotations

import math
from collections.abc import Iterable

from depthforest.evaluation.figures import FOUND, MAP, PARTS_FIGURE, REGIONS_FIGURE, Evaluation, Speed
from depthforest.evaluation.report.svg import UNKNOWN, percent
from depthforest.evaluation.scores import COVERAGE, REPLICATES, WITHIN_M, Estimate

MINUS = "\N{MINUS SIGN}"
_CENTIMETERS = f"{100 * WITHIN_M:.0f} cm"
_FIGURES = {
    "mean_class_accuracy": "mean per-class accuracy",
    "pixel_accuracy": "correct pixels",
    "mean_iou": "mean intersection over union",
}
_SHOWN = (
    PARTS_FIGURE,
    MAP,
    FOUND,
    "parts.pixel_accuracy",
    "parts.mean_iou",
    "parts_merged.mean_class_accuracy",
    REGIONS_FIGURE,
    "regions_merged.mean_class_accuracy",
)
"""The figures of the first screen, in order."""

BENCH_COLUMNS = {
    PARTS_FIGURE: "mean per-class accuracy",
    "parts_merged.mean_class_accuracy": "sides merged",
    "parts.pixel_accuracy": "correct pixels",
    MAP: f"joints, mAP at {_CENTIMETERS}",
}
"""The figures in the table of several test sets, with their titles."""

EXAMPLE_KINDS = {
    "worst": ("The worst frames", "Those with the fewest correct pixels; slivers of people are skipped."),
    "best": ("The best frames", "Those with the most correct pixels."),
    "apart": ("Where the models differ most", "Frames on which one of the first two models is far better."),
}

METHODS = f"""<h2>Method</h2>
<p>Every person in every frame is labeled separately, by the true mask. <strong>Mean per-class accuracy</strong> is the
share of a part's pixels that are labeled correctly, averaged over the parts in the data: the figure of Shotton et al.
2011. <strong>Intersection over union</strong> divides the correct pixels of a part by the pixels that have this part in
truth or answer; its mean is over the parts in the data or in the answers. <strong>Sides merged</strong>: left and right
of a part are one. In the <strong>15 regions</strong> a joint band, such as the elbow, counts for either neighbor.</p>
<p><strong>Average precision</strong>, by the rules of the same paper: among a joint's proposals for a person, the most
confident one within {_CENTIMETERS} of the truth is correct and all others are wrong. Hidden joints do not count as
missed, and the first proposal that finds one counts neither way. It is the area under precision over recall as the
confidence falls, without interpolation; equal confidences are one step. The mean is over joints.
<strong>Found</strong> is simpler: the share of visible joints whose one chosen position lies within
{_CENTIMETERS}.</p>
<p><strong>Intervals</strong> contain {COVERAGE:.0%} of {REPLICATES:,} data sets, each made by drawing as many frames
with replacement. Models are <strong>compared</strong> on the same draws, so that frames hard for both cancel. A
difference is called clear if its interval excludes 0. <strong>Expected calibration error</strong> is the mean gap
between confidence and accuracy, in bins of 5 points. <strong>Frames per second</strong>: the median of some frames, one
after the other, with all people of a frame; joints use one thread.</p>
<p><strong>Heading</strong>: 0° faces the camera; computed from the true shoulders and hips. <strong>Cut</strong>: the
person touches the picture's border or has a joint outside.</p>"""


def figure_title(name: str, evaluation: Evaluation, *, of: str = "pixels") -> str:
    """Return a figure's name for people, such as "mean per-class accuracy, 31 parts, sides merged"."""
    if name == MAP:
        return f"mean average precision of joints at {_CENTIMETERS}"
    if name == FOUND:
        return f"joints found within {_CENTIMETERS}"
    key, _, figure = name.partition(".")
    title = next((scores.level.title for scores in evaluation.levels if scores.level.key == key), key)
    return f"{_FIGURES[figure].replace('pixels', of)}, {title}"


def shown_figures(names: Iterable[str]) -> list[str]:
    """Return the available figures of the first screen, in order."""
    known = set(names)
    return [name for name in _SHOWN if name in known]


def interval(estimate: Estimate) -> str:
    """Return the interval of a share in percent; empty if it is unknown."""
    if not math.isfinite(estimate.low):
        return ""
    return f"{100 * estimate.low:.1f} to {100 * estimate.high:.1f}"


def points(value: float) -> str:
    """Return a difference of shares in percentage points, with its sign."""
    return UNKNOWN if not math.isfinite(value) else f"{100 * value:+.1f}".replace("-", MINUS)


def speed_text(speed: Speed, *, is_joints: bool = False) -> tuple[str, str]:
    """Return frames per second and, below it, how that was measured."""
    ms = speed.joints_ms if is_joints else speed.label_ms
    if not math.isfinite(ms) or ms <= 0:
        return UNKNOWN, ""
    threads = 1 if is_joints else speed.threads
    return f"{1000 / ms:.0f} frames/s", f"{ms:.1f} ms a frame, {threads} thread{'s' if threads > 1 else ''}"


def verdict_lines(
    first: str, first_evaluation: Evaluation, second: str, second_evaluation: Evaluation, *, of: str = "pixels"
) -> list[str]:
    """Return a sentence on parts and one on joints: which of two models is better, by how much, with the interval."""
    gaps = second_evaluation.compared_with(first_evaluation)
    theirs = {first_evaluation.meaning(name): e.value for name, e in first_evaluation.figures.items()}
    ranked = (PARTS_FIGURE, REGIONS_FIGURE) if of == "pixels" else ("parts.pixel_accuracy",)
    names = [name for name in ranked if name in gaps][:1] + [name for name in (MAP,) if name in gaps]
    said = []
    for name in names:
        gap, a, b = gaps[name], theirs[second_evaluation.meaning(name)], second_evaluation.figures[name].value
        title = figure_title(name, second_evaluation, of=of)
        by = f"{points(gap.value)} points ({points(gap.low)} to {points(gap.high)})"
        if not gap.is_clear:
            said.append(
                f"{first} and {second} do not differ significantly on these frames: {title} {percent(a)} and "
                f"{percent(b)}, a difference of {by}."
            )
            continue
        # the lead of the better one
        ahead = (gap.value, gap.low, gap.high) if gap.value > 0 else (-gap.value, -gap.high, -gap.low)
        better, worse, values = (second, first, (b, a)) if gap.value > 0 else (first, second, (a, b))
        said.append(
            f"{better} is better than {worse}: {title} {percent(values[0])} against {percent(values[1])}, "
            f"{points(ahead[0])} points ({points(ahead[1])} to {points(ahead[2])})."
        )
    return said or [f"{first} and {second} have no figure in common: their part sets cannot be compared."]
