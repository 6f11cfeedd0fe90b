import math
import re
import shutil
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest
from support.madeup import made_up, near_finder
from support.naive_forest import random_forest

import depthforest as df
from depthforest.base.errors import DepthForestError, UsageError
from depthforest.evaluation.figures import MAP, PARTS_FIGURE
from depthforest.evaluation.judging import evaluate_many
from depthforest.evaluation.options import JudgeOptions
from depthforest.evaluation.report import svg as svgplots
from depthforest.evaluation.report import text as reporttext
from depthforest.evaluation.report.examples import choose_frames, cut, draw_examples, people_box
from depthforest.evaluation.report.page import ModelReport, embedded, report_page, write_report
from depthforest.evaluation.report.svg import Series
from depthforest.evaluation.scores import Calibration, Estimate
from depthforest.frames.parts import BODY31, PCL25
from synth.config import Config
from synth.generator import Generator

VOID = {"meta", "img", "br"}


class Page(HTMLParser):
    """Checks that tags are balanced, and collects attributes."""

    def __init__(self, text):
        super().__init__()
        self.open, self.addresses, self.tags = [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.addresses += [value for name, value in attributes if name in ("src", "href")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, _attributes):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def frames():
    return list(
        Generator(Config(camera="kinect_v1@80x60", n_bodies=3, n_poses=64, people_shares=(0.5, 0.5)), seed=2, n=6)
    )


@pytest.fixture(scope="module")
def models(frames):
    forests = [random_forest(np.random.default_rng(s), 2, 5, BODY31) for s in (0, 1)]
    found = evaluate_many(
        forests, frames, JudgeOptions(joints=near_finder(frames), timed_frames=2), sensors=["a", "b"] * 3
    )
    cards = ("# the first\n\nGood at **hands**.", "")
    names = ("first", "<second>")
    return [ModelReport(n, e, forest=f, card=c) for n, e, f, c in zip(names, found, forests, cards, strict=True)]


def examples_of(models, frames):
    names, forests, evaluations = zip(*((m.name, m.forest, m.evaluation) for m in models), strict=True)
    frame_names = [f"{i:03d}" for i in range(len(frames))]
    return draw_examples(names, forests, evaluations, frames, frame_names, JudgeOptions(joints=near_finder(frames)))


def test_the_page_is_whole_and_stands_alone(models, frames):
    for shown in (models[:1], models):
        text = report_page(shown, data="data", examples=examples_of(shown, frames))
        page = Page(text)
        assert "script" not in page.tags
        assert "link" not in page.tags
        assert (
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
            in text
        )
        assert all(a.startswith(("#", "data:image/webp;base64,")) for a in page.addresses)
        assert "@import" not in text
        assert "url(" not in text
        assert {a[1:] for a in page.addresses if a.startswith("#")} == set(re.findall(r'<section id="(\w+)"', text))
        svgs = re.findall(r"<svg.*?</svg>", text, re.DOTALL)
        assert len(svgs) >= 8
        for svg in svgs:
            ElementTree.fromstring(svg)
        assert "nan" not in " ".join(re.findall(r'(?:d|x|y|cx|cy|width|height)="([^"]*)"', text))
        assert len(text) < 5_000_000


def test_one_model_gets_cards_with_intervals(models):
    figure = models[0].evaluation.figures[PARTS_FIGURE]
    text = report_page(models[:1])
    assert "<h1>How good is first?</h1>" in text
    assert f"<b>{100 * figure.value:.1f} %</b><span>{100 * figure.low:.1f} to {100 * figure.high:.1f}</span>" in text
    assert "mean average precision of joints at 10 cm" in text
    assert "Good at <strong>hands</strong>." in text
    assert "By distance of the person" in text
    assert "By sensor" in text
    assert 'class="verdict"' not in text


def test_several_models_get_a_verdict(models):
    text = report_page(models)
    assert 'class="verdict"' in text
    gap = models[1].evaluation.compared_with(models[0].evaluation)[PARTS_FIGURE]
    assert f"{reporttext.points(gap.low)} to {reporttext.points(gap.high)}" in text
    assert "&lt;second&gt;" in text
    assert "<second>" not in text
    # the same joints were found by both
    assert "do not differ significantly on these frames: mean average precision" in text


def test_verdicts_say_who_is_better(models):
    first, second = (m.evaluation for m in models)
    (parts, joints) = reporttext.verdict_lines("A", first, "B", second)
    gap = second.compared_with(first)[PARTS_FIGURE]
    if gap.is_clear:
        assert ("B is better than A" if gap.value > 0 else "A is better than B") in parts
    else:
        assert "A and B do not differ significantly" in parts
    assert "a difference of +0.0 points (+0.0 to +0.0)" in joints
    clear = reporttext.verdict_lines("A", shifted(first, -0.1), "B", shifted(first, 0.0))
    assert clear[0].startswith("B is better than A: mean per-class accuracy, 31 parts")
    assert clear[0].endswith(", +10.0 points (+10.0 to +10.0).")
    turned = reporttext.verdict_lines("A", shifted(first, 0.0), "B", shifted(first, -0.1))
    assert turned[0].startswith("A is better than B")
    assert turned[0].endswith(", +10.0 points (+10.0 to +10.0).")  # what A is ahead by, as the sentence begins


def shifted(evaluation, by):
    """Return an evaluation whose figures are moved by so much."""
    copy = replace(evaluation)
    copy.__dict__["figures"] = {
        n: Estimate(e.value + by, e.low + by, e.high + by, e.replicates + by) for n, e in evaluation.figures.items()
    }
    return copy


def test_models_of_other_parts_share_the_regions(frames, models):
    pcl = random_forest(np.random.default_rng(5), 2, 5, PCL25)
    found = evaluate_many([models[0].forest, pcl], frames, JudgeOptions(joints=False, timed_frames=0))
    mixed = [ModelReport(n, e) for n, e in zip(("ours", "pcl"), found, strict=True)]
    text = report_page(mixed)
    Page(text)
    assert "mean per-class accuracy, 31 parts" in text
    assert "mean per-class accuracy, 25 parts" in text
    (line,) = reporttext.verdict_lines("ours", found[0], "pcl", found[1])
    assert "15 regions" in line
    assert "No joints of pcl: joints were not requested." in text


def test_a_made_up_part_set_gets_a_report_without_joints():
    frames, forest = made_up()
    evaluation = df.evaluate(forest, frames, timed_frames=0)
    report = ModelReport("chair", evaluation, forest=forest)
    pictures = draw_examples(["chair"], [forest], [evaluation], frames, list("abcd"), JudgeOptions())
    text = report_page([report], examples=pictures)
    Page(text)
    assert "No joints: no joint can be found from the parts seat, leg_l, leg_r" in text
    assert '<section id="joints">' not in text
    other = reporttext.verdict_lines("a", evaluation, "b", df.evaluate(*swapped(forest, frames), timed_frames=0))
    assert len(other) == 1


def swapped(forest, frames):
    return random_forest(np.random.default_rng(8), 1, 2, forest.part_set), frames


def test_marks_have_a_section(models):
    text = report_page([ModelReport(m.name, m.evaluation, marks=m.evaluation) for m in models])
    Page(text)
    assert '<section id="marks">' in text
    assert "correct points by region" in text
    alone = report_page([ModelReport(models[0].name, marks=models[0].evaluation)])
    assert '<section id="figures">' not in alone
    assert "marked frames" in alone


def test_the_same_figures_give_the_same_bytes(tmp_path, models, frames):
    pictures = examples_of(models, frames)
    for name in ("a.html", "b.html"):
        write_report(tmp_path / name, models, examples=pictures)
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.html", "b.html"]


def test_a_report_that_cannot_be_written_leaves_nothing(tmp_path, models):
    with pytest.raises(DepthForestError, match="cannot be written"):
        write_report(tmp_path / "missing" / "a.html", models[:1])
    with pytest.raises(UsageError, match="at least one evaluated model"):
        write_report(tmp_path / "a.html", [ModelReport("a")])
    assert list(tmp_path.iterdir()) == []


# -- pictures ----------------------------------------------------------------------------------------------------------


def test_worst_and_best_frames_are_chosen_and_slivers_passed_over(models):
    evaluation = models[0].evaluation
    chosen = choose_frames([evaluation])
    order = np.argsort(evaluation.frame_accuracies).tolist()
    big = [i for i in order if evaluation.frame_pixels[i] >= 0.25 * np.median(evaluation.frame_pixels)]
    assert [i for kind, i in chosen if kind == "worst"] == big[:5]
    assert len({i for _, i in chosen}) == len(chosen)
    assert {kind for kind, _ in choose_frames([m.evaluation for m in models])} <= {"worst", "best", "apart"}


def test_examples_show_the_truth_and_the_answer(models, frames):
    one = examples_of(models[:1], frames)
    assert [s.caption for s in one[0].shots][:2] == ["depth and true joints", "truth"]
    assert re.fullmatch(r"\d+ % right", one[0].shots[2].caption)
    assert one[0].shots[3].caption == "wrong pixels"
    both = examples_of(models, frames)
    assert [len(e.shots) for e in both] == [4] * len(both)
    assert both[0].shots[3].caption.startswith("<second>: ")


def test_pictures_are_cut_to_the_people():
    mask = np.zeros((100, 200), dtype=bool)
    mask[40:60, 100:120] = True
    rows, cols = people_box(mask)
    assert rows.start < 40 < 60 < rows.stop
    assert cols.start < 100 < 120 < cols.stop
    assert rows.stop - rows.start < 35
    everything = people_box(np.zeros((4, 4), dtype=bool))
    assert everything == (slice(None), slice(None))
    large = cut(np.zeros((2000, 1000, 3), dtype=np.uint8), everything)
    assert large.shape == (440, 220, 3)
    small = cut(np.zeros((100, 60, 3), dtype=np.uint8), everything)
    assert small.shape == (400, 240, 3)


def test_joints_are_drawn_where_they_are_in_the_cut():
    camera = df.Camera(100.0, 100.0, 99.5, 49.5, 200, 100)
    joint = df.Joint((0.2, 0.1, 1.0))  # at row 59.5, column 119.5
    box = slice(40, 80), slice(100, 140)
    drawn = cut(np.zeros((100, 200, 3), dtype=np.uint8), box, camera, [{"head": joint}])
    assert drawn.shape == (440, 440, 3)
    rows, cols = np.nonzero(drawn.any(axis=2))
    assert (rows.mean(), cols.mean()) == pytest.approx((20 * 11, 20 * 11), abs=2)


def test_embedded_pictures_keep_their_colors():
    import base64

    import cv2

    picture = np.zeros((16, 16, 3), dtype=np.uint8)
    picture[..., 0] = 200
    content = base64.b64decode(embedded(picture).removeprefix("data:image/webp;base64,"))
    decoded = cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_COLOR)[..., ::-1]
    assert np.abs(decoded.astype(int) - picture).max() < 12


# -- plots -------------------------------------------------------------------------------------------------------------


def test_bars_are_as_long_as_their_values():
    svg = svgplots.bars(
        ["a", "b"], [Series("m", np.array([0.5, np.nan]), np.array([0.4, np.nan]), np.array([0.6, np.nan]))]
    )
    (wide,) = re.findall(r'<rect class="s0" x="110" y="[\d.]+" width="([\d.]+)"', svg)
    assert float(wide) == pytest.approx(0.5 * (480 - 110 - 50), abs=0.1)
    assert svg.count("<rect") == 1  # nothing is known of b
    assert "a, m: 50.0 % (40.0 % to 60.0 %)" in svg
    left, right = map(float, re.search(r'whisker" d="M([\d.]+) [\d.]+H([\d.]+)"', svg).groups())
    assert right - left == pytest.approx(0.2 * (480 - 110 - 50), abs=0.2)


def test_heat_maps_name_what_they_show():
    svg = svgplots.heat_map(np.array([[3, 1], [0, 0]]), ["a", "<b>"])
    assert "a answered as a: 75.0 %" in svg
    assert "a answered as &lt;b&gt;: 25.0 %" in svg
    assert svg.count('class="hit"') == 1  # of a part that is not in the data nothing is shown


def test_reliability_of_nothing_is_an_empty_plot():
    ElementTree.fromstring(svgplots.reliability([("m", Calibration())]))


def test_unknown_figures_are_dashes():
    assert svgplots.percent(math.nan) == svgplots.UNKNOWN
    assert reporttext.points(math.nan) == svgplots.UNKNOWN
    assert MAP.startswith("joints.")


@pytest.fixture(scope="module")
def three(frames, models):
    """Three models, whose examples have five pictures: depth, truth and an answer of each."""
    forests = [*(model.forest for model in models), random_forest(np.random.default_rng(2), 2, 5, BODY31)]
    found = evaluate_many(forests, frames, JudgeOptions(joints=near_finder(frames), timed_frames=2))
    every = [ModelReport(n, e, forest=f) for n, e, f in zip("abc", found, forests, strict=True)]
    examples = examples_of(every, frames)
    assert {len(example.shots) for example in examples} == {5}
    return report_page(every, examples=examples)


def test_five_pictures_of_three_models_are_laid_out_for_one_row(three):
    assert set(re.findall(r'<div class="shots" style="--n: (\d+)">', three)) == {"5"}


@pytest.mark.slow
@pytest.mark.parametrize("width", [1000, 1440])
def test_five_pictures_stand_in_one_row_in_a_browser(three, width):
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright, to drive a browser")
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        pytest.skip("needs Chromium, as in: apt install chromium")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": width, "height": 900})
        tab.set_content(three)
        rows = tab.eval_on_selector_all(
            ".shots", "rows => rows.map(row => [...row.children].map(shot => Math.round(shot.offsetTop)))"
        )
        browser.close()
    assert rows
    assert all(len(tops) == 5 and len(set(tops)) == 1 for tops in rows)


def test_no_sentence_names_the_worse_model_first(models):
    """Whichever of two comes first: the better one leads, and what it is ahead by is above 0."""
    first = models[0].evaluation
    for ahead, behind in ((("B", 0.1), ("A", 0.0)), (("A", 0.1), ("B", 0.0))):
        by = dict((ahead, behind))
        for line in reporttext.verdict_lines("A", shifted(first, by["A"]), "B", shifted(first, by["B"])):
            assert line.startswith(f"{ahead[0]} is better than {behind[0]}: "), line
            assert re.search(r", \+10\.0 points \(\+10\.0 to \+10\.0\)\.$", line), line
