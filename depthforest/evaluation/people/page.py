"""The HTML report of `evaluate --people`: the table, and the worst frames with outlines of true and found people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from depthforest import __version__
from depthforest.base import Bools, replacing
from depthforest.evaluation.people.matching import (
    FALSE_IOU,
    FOUND_IOU,
    IGNORED_SHARE,
    MarkedFrame,
    TruePeople,
)
from depthforest.evaluation.people.score import FIGURES, PeopleScore, WorstFrame
from depthforest.evaluation.report.page import POLICY, STYLE, embedded, table
from depthforest.evaluation.report.svg import UNKNOWN
from depthforest.evaluation.scores import COVERAGE, Estimate
from depthforest.frames import Picture, drawing

TITLES = ("frames of", "finder", "frames", "people", *FIGURES.values(), "ids kept", "id switches")
CELL_PX, COLUMNS = 400, 3
"""Width of a worst frame in the report, and the number in a row."""

TRUE_COLOR, FOUND_COLOR, FALSE_COLOR = (80, 230, 90), (255, 190, 40), (255, 50, 50)
"""Outline colors of true people, of masks, and of masks that show nobody."""


@dataclass(frozen=True, eq=False)
class JudgedSource:
    """Scores on one source of frames.

    Parameters
    ----------
    title : str
        Title of the source.
    names : sequence of str
        Names of its frames.
    scores : mapping of str to PeopleScore
        Scores by the name of the finder; all others are compared with the first.
    """

    title: str
    names: Sequence[str]
    scores: Mapping[str, PeopleScore]

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        (first, base), *others = self.scores.items()
        finders = []
        for name, score in self.scores.items():
            content = score.to_dict()
            for worst in content["worst"]:
                worst["name"] = self.names[worst["frame"]]
            finders.append({"name": name} | content)
        comparisons = [
            {"finder": name, "with": first}
            | {"figures": {key: gap.to_dict() for key, gap in score.compared_with(base).items()}}
            for name, score in others
        ]
        return {"title": self.title, "finders": finders, "comparisons": comparisons}


def row_cells(title: str, finder: str, score: PeopleScore) -> tuple[str, ...]:
    """Return a row under `TITLES` as text; cells without a figure are empty."""
    ids = score.ids
    return (
        title,
        finder,
        f"{score.n_frames}",
        f"{score.n_people}",
        *(_cell(name, estimate) for name, estimate in score.figures.items()),
        "" if ids is None or not ids.n_seen else f"{100 * ids.kept:.1f} %",
        "" if ids is None else f"{ids.n_switches}",
    )


def _cell(name: str, estimate: Estimate) -> str:
    """Return a figure and its interval."""
    if not np.isfinite(estimate.value):
        return ""
    digits = 2 if name.startswith("false") else 3
    return f"{estimate.value:.{digits}f} ({estimate.low:.{digits}f} to {estimate.high:.{digits}f})"


def write_people_report(path: str | Path, sources: Sequence[JudgedSource]) -> None:
    """Write one self-contained HTML file atomically."""
    with replacing(path) as file:
        file.write(people_page(sources).encode())


def people_page(sources: Sequence[JudgedSource]) -> str:
    """Return the HTML of the report."""
    head = "".join(f"<th>{escape(title)}</th>" for title in TITLES[1:])
    rows = []
    for source in sources:
        for name, score in source.scores.items():
            cells = "".join(f"<td>{escape(c) or UNKNOWN}</td>" for c in row_cells(source.title, name, score)[1:])
            rows.append(f"<tr><td>{escape(source.title)}</td>{cells}</tr>")
    sheets = [
        f"<h3>{escape(source.title)}, {escape(name)}</h3>{_sheet(source, score)}"
        for source in sources
        for name, score in source.scores.items()
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>people: evaluation</title><style>{STYLE.read_text(encoding='utf-8')}</style></head><body><main>"
        f'<h1>How well are people found?</h1><section id="figures"><h2>Figures</h2>'
        f'<div class="scroll">{table(head, rows)}</div></section>'
        f'<section id="frames"><h2>The worst frames</h2><p>Green: true people. Yellow: found people. '
        f"Red: false people. Gray: ignored pixels.</p>{''.join(sheets)}</section>"
        f'<section id="method">{_method(sources)}</section>'
        f"<footer>depthforest {escape(__version__)}</footer></main></body></html>\n"
    )


def _method(sources: Sequence[JudgedSource]) -> str:
    least = max(score.least_seen for source in sources for score in source.scores.values())
    return (
        f"<h2>Method</h2><p>People in labeled frames count if they cover at least {least:.1%} of the picture; marked "
        f"people always do. <strong>Recall</strong>: the share of people whose best mask has an intersection over "
        f"union (IoU) of {FOUND_IOU} or more. <strong>Mean IoU</strong>: over all people, 0 for those without a mask. "
        f"<strong>False</strong>: a mask whose IoU with every person is below {FALSE_IOU} and of which less than "
        f"{IGNORED_SHARE:.0%} lies on ignored pixels. <strong>Ids kept</strong>: the share of people's frames in which "
        f"they are found with their own id. Intervals hold {COVERAGE:.0%} of resampled sets of frames.</p>"
    )


def _sheet(source: JudgedSource, score: PeopleScore) -> str:
    if not score.worst:
        return "<p>There are no errors.</p>"
    return f'<img alt="the worst frames" src="{embedded(worst_sheet(source.names, score))}">'


def worst_sheet(names: Sequence[str], score: PeopleScore) -> Picture:
    """Return a contact sheet of the worst frames: true people outlined in green, masks in yellow, false ones in red."""
    titles = [_caption(names[worst.judged.index], worst) for worst in score.worst]
    pictures = [draw_people(worst, score.least_seen) for worst in score.worst]
    return drawing.contact_sheet(pictures, columns=COLUMNS, titles=titles, cell_width=CELL_PX)


def _caption(name: str, worst: WorstFrame) -> str:
    ious = " ".join(f"{iou:.2f}" for _, _, iou in worst.judged.people)
    said = [f"IoU {ious}"] * bool(ious) + [f"{len(worst.judged.false_ids)} false"] * bool(worst.judged.false_ids)
    return f"{name}: {', '.join(said)}"


def draw_people(worst: WorstFrame, least_seen: float) -> Picture:
    """Return a shaded frame with the outlines of true people and of masks."""
    frame, found = worst.frame, worst.found
    true = TruePeople.of(frame, least_seen)
    picture = np.ascontiguousarray(drawing.shade(frame)).copy()
    picture[true.is_ignored] = picture[true.is_ignored] // 2 + 64
    width = max(1, round(frame.shape[1] / 320))
    for person in true.ids:
        marked = frame.people == person if isinstance(frame, MarkedFrame) else true.map == person
        _outline(picture, marked, TRUE_COLOR, 2 * width + 1)
    for number in found.ids:
        color = FALSE_COLOR if number in worst.judged.false_ids else FOUND_COLOR
        _outline(picture, found.map == number, color, width)
    return picture


def _outline(picture: Picture, mask: Bools, color: tuple[int, int, int], width: int) -> None:
    """Draw the outer edge of a mask, without its holes, which are only missing readings."""
    lines, _ = cv2.findContours(mask.astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    cv2.drawContours(picture, lines, -1, color, width)
