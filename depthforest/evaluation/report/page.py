"""The report: one self-contained HTML file with all figures, plots, pictures and cards.

`write_report` takes finished evaluations and pictures; `evaluation.run` makes them.
"""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

import cv2
import numpy as np

from depthforest import __version__
from depthforest.base import UsageError, replacing
from depthforest.evaluation.figures import FOUND, MAP, PARTS_FIGURE, Evaluation
from depthforest.evaluation.report import cards, plots, svg
from depthforest.evaluation.report.examples import Example
from depthforest.evaluation.report.svg import UNKNOWN, Series, percent
from depthforest.evaluation.report.text import (
    BENCH_COLUMNS,
    EXAMPLE_KINDS,
    METHODS,
    MINUS,
    figure_title,
    interval,
    points,
    shown_figures,
    speed_text,
    verdict_lines,
)
from depthforest.evaluation.scores import Difference, Estimate
from depthforest.forest import Forest
from depthforest.frames import PartSet, Picture

WEBP_QUALITY = 88
STYLE = Path(__file__).with_name("page.css")

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
"""Content security policy: the page may show its own styles and pictures. It runs no script and loads nothing."""


MAX_IN_A_ROW = 6
"""Most pictures of a frame in one row."""


@dataclass(frozen=True, eq=False)
class ModelReport:
    """The report's content about one model.

    Parameters
    ----------
    name : str
    evaluation : Evaluation or None
        Evaluation on labeled frames.
    marks : Evaluation or None
        Evaluation on marked frames, from `score_marks`.
    forest : Forest or None
        Source of the facts about the model.
    card : str
        The model card, in Markdown.
    bench : mapping of str to Evaluation
        Evaluations on the test sets of the bench, by name; `evaluation` is the first of them.
    """

    name: str
    evaluation: Evaluation | None = None
    marks: Evaluation | None = None
    forest: Forest | None = None
    card: str = ""
    bench: Mapping[str, Evaluation] = field(default_factory=dict)


def write_report(
    path: str | Path, models: Sequence[ModelReport], *, data: str = "", examples: Sequence[Example] = ()
) -> None:
    """Write one self-contained HTML file.

    Parameters
    ----------
    path : str or Path
        Written atomically.
    models : sequence of ModelReport
        Models evaluated on the same data; all others are compared with the first.
    data : str
        Description of the data, for people to read.
    examples : sequence of Example
        Pictures from the module `examples`.
    """
    page = report_page(models, data=data, examples=examples)
    with replacing(path) as file:
        file.write(page.encode())


def report_page(models: Sequence[ModelReport], *, data: str = "", examples: Sequence[Example] = ()) -> str:
    """Return the HTML of the report; parameters as in `write_report`."""
    if not models or not any(m.evaluation or m.marks for m in models):
        raise UsageError("a report needs at least one evaluated model")
    judged = [m for m in models if m.evaluation is not None]
    marked = [m for m in models if m.marks is not None]
    pairs = [(m.name, _evaluation(m)) for m in judged]
    shots = [e for e in examples if e.kind != "marks"]
    sections = [("figures", "Figures", _headline(judged) if judged else "")]
    if judged:
        sections += [
            ("bench", "Bench", _bench(judged)),
            ("frames", "Frames", _examples(shots, judged[0])),
            ("parts", "Parts", plots.parts(pairs)),
            ("confusion", "Confusion", plots.confusion(pairs)),
            ("joints", "Joints", plots.joints(pairs)),
            ("breakdown", "Breakdown", plots.breakdown(pairs)),
            ("confidence", "Confidence", plots.confidence(pairs)),
        ]
    if marked:
        sections.append(("marks", "Marks", _marks(marked, [e for e in examples if e.kind == "marks"])))
    sections += [("models", "Models", _models(models)), ("method", "Method", METHODS)]
    sections = [section for section in sections if section[2]]
    names = ", ".join(m.name for m in models)
    links = "".join(f'<a href="#{key}">{title}</a>' for key, title, _ in sections)
    body = "".join(f'<section id="{key}">{content}</section>' for key, _, content in sections)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(names)}: evaluation</title><style>{STYLE.read_text(encoding='utf-8')}</style></head><body>"
        f"<nav><div>{links}</div></nav><main><h1>{_headings(models)}</h1>"
        f'<p class="lead">{escape(_subtitle(judged, marked, data))}</p>{body}'
        f"<footer>depthforest {escape(__version__)}</footer></main></body></html>\n"
    )


def _headings(models: Sequence[ModelReport]) -> str:
    names = [escape(m.name) for m in models]
    if len(names) == 1:
        return f"How good is {names[0]}?"
    return f"{', '.join(names[:-1])} and {names[-1]}, side by side"


def _subtitle(judged: Sequence[ModelReport], marked: Sequence[ModelReport], data: str) -> str:
    said = []
    if judged and (e := judged[0].evaluation) is not None:
        where = f" of {data}" if data else ""
        said.append(f"{e.n_frames:,} labeled frames{where}: {len(e.views):,} people, {e.n_pixels:,} pixels")
    if marked and (e := marked[0].marks) is not None:
        said.append(f"{e.n_frames:,} marked frames: {e.n_pixels:,} points on {len(e.views):,} people")
    return "; ".join(said) + "."


# -- figures -----------------------------------------------------------------------------------------------------------


def _headline(models: Sequence[ModelReport]) -> str:
    evaluations = [_evaluation(m) for m in models]
    if len(models) > 1:
        return "<h2>Figures</h2>" + _verdicts(models) + _figure_table(models)
    (evaluation,) = evaluations
    figures = evaluation.figures
    tiles = []
    for name in shown_figures(figures):
        kind = " main" if name in (PARTS_FIGURE, MAP) else ""
        tiles.append(_card(figure_title(name, evaluation), percent(figures[name].value), interval(figures[name]), kind))
    error = evaluation.calibration.expected_error
    tiles.append(_card("expected calibration error", percent(error), "0 % would be perfect"))
    if evaluation.speed is not None:
        tiles.append(_card("labeling", *speed_text(evaluation.speed)))
        if np.isfinite(evaluation.speed.joints_ms):
            tiles.append(_card("joints", *speed_text(evaluation.speed, is_joints=True)))
    note = f'<p class="note">No joints: {escape(evaluation.no_joints)}.</p>' if evaluation.joints is None else ""
    return f'<h2>Figures</h2><div class="cards">{"".join(tiles)}</div>{note}{_full_table(evaluation)}'


def _card(title: str, value: str, below: str, kind: str = "") -> str:
    return (
        f'<div class="card{kind}"><span>{escape(title)}</span><b>{escape(value)}</b><span>{escape(below)}</span></div>'
    )


def _full_table(evaluation: Evaluation) -> str:
    rows = [
        f"<tr><td>{escape(figure_title(name, evaluation))}</td>{estimate_cell(estimate)}</tr>"
        for name, estimate in evaluation.figures.items()
    ]
    return f"<details><summary>All figures</summary>{table('<th>value and 95 % interval</th>', rows)}</details>"


def _verdicts(models: Sequence[ModelReport]) -> str:
    first = models[0]
    lines = [
        line
        for other in models[1:]
        for line in verdict_lines(first.name, _evaluation(first), other.name, _evaluation(other))
    ]
    return f'<div class="verdict">{"".join(f"<p>{escape(line)}</p>" for line in lines)}</div>'


def _figure_table(models: Sequence[ModelReport]) -> str:
    evaluations = [_evaluation(m) for m in models]
    gaps = [e.compared_with(evaluations[0]) for e in evaluations[1:]]
    head = "".join(f"<th>{escape(m.name)}</th>" for m in models)
    head += "".join(f"<th>{escape(m.name)} {MINUS} {escape(models[0].name)}</th>" for m in models[1:])
    # figures are identified by title: models with different part sets only share the coarse ones
    by_title = [{figure_title(name, e): name for name in e.figures} for e in evaluations]
    n_having = Counter(title for titles in by_title for title in titles)
    rows = []
    for title, _ in n_having.most_common():  # those of most models first, otherwise in order
        cells = [
            estimate_cell(e.figures[titles[title]] if title in titles else None)
            for e, titles in zip(evaluations, by_title, strict=True)
        ]
        cells += [
            _gap_cell(gap.get(titles[title]) if title in titles else None)
            for gap, titles in zip(gaps, by_title[1:], strict=True)
        ]
        rows.append(f"<tr><td>{escape(title)}</td>{''.join(cells)}</tr>")
    blanks = "<td></td>" * len(gaps)
    errors = "".join(f"<td>{percent(e.calibration.expected_error)}</td>" for e in evaluations)
    rows.append(f"<tr><td>expected calibration error</td>{errors}{blanks}</tr>")
    speeds = [e.speed for e in evaluations if e.speed is not None]
    for title, is_joints in (("labeling", False), ("joints", True)):
        if len(speeds) == len(evaluations):
            said = [speed_text(speed, is_joints=is_joints) for speed in speeds]
            cells = [f"<td>{escape(a)}<small>{escape(b)}</small></td>" for a, b in said]
            rows.append(f"<tr><td>{title}</td>{''.join(cells)}{blanks}</tr>")
    notes = "".join(
        f'<p class="note">No joints of {escape(m.name)}: {escape(e.no_joints)}.</p>'
        for m, e in zip(models, evaluations, strict=True)
        if e.joints is None
    )
    return f'<div class="scroll">{table(head, rows)}</div>{notes}'


def _bench(models: Sequence[ModelReport]) -> str:
    """Return the table of several test sets, a row for each set and model; empty for a single set."""
    names = list(models[0].bench)
    if len(names) < 2:
        return ""
    rows = []
    for name in names:
        for model in models:
            title = name if len(models) == 1 else f"{name}, {model.name}"
            cells = "".join(estimate_cell(model.bench[name].figures.get(figure)) for figure in BENCH_COLUMNS)
            rows.append(f"<tr><td>{escape(title)}</td><td>{model.bench[name].n_frames}</td>{cells}</tr>")
    head = "<th>frames</th>" + "".join(f"<th>{escape(title)}</th>" for title in BENCH_COLUMNS.values())
    note = f"<p>One row for each test set. All other sections are about the first, {escape(names[0])}.</p>"
    return f'<h2>Bench</h2>{note}<div class="scroll">{table(head, rows)}</div>'


def estimate_cell(estimate: Estimate | None) -> str:
    """Return a cell with a share and its interval."""
    if estimate is None:
        return f"<td>{UNKNOWN}</td>"
    return f"<td>{percent(estimate.value)}<small>{escape(interval(estimate))}</small></td>"


def table(head: str, rows: Sequence[str]) -> str:
    """Return a table; its first column has no title."""
    return f"<table><thead><tr><th></th>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _gap_cell(gap: Difference | None) -> str:
    if gap is None:
        return f"<td>{UNKNOWN}</td>"
    kind = "same" if not gap.is_clear else "up" if gap.value > 0 else "down"
    return f'<td class="{kind}">{points(gap.value)}<small>{points(gap.low)} to {points(gap.high)}</small></td>'


# -- pictures ----------------------------------------------------------------------------------------------------------


def _examples(examples: Sequence[Example], first: ModelReport) -> str:
    if not examples:
        return ""
    part_set = first.forest.part_set if first.forest is not None else _evaluation(first).part_set
    pieces = [f"<h2>Frames</h2>{_swatches(part_set)}"]
    for kind, (title, text) in EXAMPLE_KINDS.items():
        chosen = [e for e in examples if e.kind == kind]
        if chosen:
            pieces.append(f"<h3>{title}</h3><p>{text}</p>{''.join(map(_example, chosen))}")
    return "".join(pieces)


def _example(example: Example) -> str:
    shots = "".join(
        f'<figure><img alt="{escape(shot.caption)}" src="{embedded(shot.picture)}">'
        f"<figcaption>{escape(shot.caption)}</figcaption></figure>"
        for shot in example.shots
    )
    style = f"--n: {_in_a_row(len(example.shots))}"
    return (
        f'<div class="example"><h4>{escape(example.title)}</h4><div class="shots" style="{style}">{shots}</div></div>'
    )


def _in_a_row(n_shots: int) -> int:
    """Return how many pictures fit in a row: all if there are at most six, else rows of about equal length."""
    if n_shots <= 2:
        return 2
    return max(4, -(-n_shots // -(-n_shots // MAX_IN_A_ROW)))


def embedded(picture: Picture) -> str:
    """Return an RGB picture as the data URL of a WebP."""
    is_done, content = cv2.imencode(".webp", picture[..., ::-1], [cv2.IMWRITE_WEBP_QUALITY, WEBP_QUALITY])
    assert is_done  # every OpenCV wheel writes WebP
    return f"data:image/webp;base64,{base64.b64encode(content.tobytes()).decode()}"


def _swatches(part_set: PartSet) -> str:
    entries = (
        f'<span><i style="background:rgb({r},{g},{b})"></i>{escape(name)}</span>'
        for name, (r, g, b) in zip(part_set.names, part_set.colors, strict=True)
    )
    return f'<div class="swatches">{"".join(entries)}</div>'


# -- marks and models --------------------------------------------------------------------------------------------------


def _marks(models: Sequence[ModelReport], examples: Sequence[Example]) -> str:
    evaluations = [m.marks for m in models if m.marks is not None]
    head = "".join(f"<th>{escape(m.name)}</th>" for m in models)
    rows = []
    total = [f"<td>{int(e.tally.right.sum())} of {e.n_pixels}</td>" for e in evaluations]
    rows.append(f"<tr><td>points</td>{''.join(total)}</tr>")
    for name in ("parts.pixel_accuracy", PARTS_FIGURE, "parts_merged.pixel_accuracy", MAP, FOUND):
        if any(name in e.figures for e in evaluations):
            title = figure_title(name, evaluations[0], of="points")
            cells = "".join(estimate_cell(e.figures.get(name)) for e in evaluations)
            rows.append(f"<tr><td>{escape(title)}</td>{cells}</tr>")
    verdicts = ""
    if len(models) > 1:
        lines = []
        for model, evaluation in zip(models[1:], evaluations[1:], strict=True):
            lines += verdict_lines(models[0].name, evaluations[0], model.name, evaluation, of="points")
        verdicts = f'<div class="verdict">{"".join(f"<p>{escape(line)}</p>" for line in lines)}</div>'
    series = [Series(m.name, e.class_accuracies) for m, e in zip(models, evaluations, strict=True)]
    bars = svg.bars(evaluations[0].part_set.names, series)
    return (
        "<h2>Marks</h2><p>Points marked by hand on real frames. A joint band such as the elbow counts for either "
        "neighbor; joints are measured in the plane of the picture, at the depth of the proposal.</p>"
        f"{verdicts}{table(head, rows)}"
        f'<div class="panel"><h3>correct points by region</h3>{bars}</div>'
        f"<p>White squares are correct, red crosses wrong.</p>{''.join(map(_example, examples))}"
    )


def _models(models: Sequence[ModelReport]) -> str:
    pieces = ["<h2>Models</h2>"]
    for model in models:
        facts = ""
        if model.forest is not None:
            rows = "".join(
                f"<tr><td>{escape(name)}</td><td>{escape(value)}</td></tr>"
                for name, value in cards.describe_forest(model.forest)
            )
            facts = f"<details><summary>facts from the file</summary><table><tbody>{rows}</tbody></table></details>"
        card = cards.render(model.card) if model.card else f"<h3>{escape(model.name)}</h3><p>No card.</p>"
        pieces.append(f'<div class="panel doc">{card}{facts}</div>')
    return "".join(pieces)


def _evaluation(model: ModelReport) -> Evaluation:
    assert model.evaluation is not None
    return model.evaluation
