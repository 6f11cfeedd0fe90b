"""Drawings of the report: names of models, parts and data sets come from files."""

import numpy as np
import pytest

from depthforest.evaluation.report import svg
from depthforest.evaluation.scores import Calibration

NAME = '<script>alert("1")</script>&amp'
SERIES = svg.Series(NAME, np.array([0.2, 0.7]), np.array([0.1, 0.6]), np.array([0.3, 0.8]))


@pytest.mark.parametrize(
    "drawn",
    [
        lambda: svg.bars([NAME, "b"], [SERIES, SERIES]),
        lambda: svg.bars([NAME, "b"], [SERIES], is_dots=True),
        lambda: svg.lines(np.array([0.0, 5.0]), [SERIES], x_title=NAME, y_title=NAME, thin=[SERIES]),
        lambda: svg.reliability([(NAME, Calibration.of([0.1, 0.9], [True, False]))]),
        lambda: svg.heat_map(np.array([[3, 1], [2, 5]]), [NAME, "b"]),
        lambda: svg.legend([NAME, "b"]),
    ],
)
def test_names_bring_no_markup(drawn):
    text = drawn()
    assert "<script" not in text
    assert "&lt;script&gt;" in text
    assert "&amp;amp" in text


@pytest.mark.parametrize("text", [svg._text(1, 2, NAME, "end"), *svg._axis_titles(NAME, NAME, 1, 2, 3)])
def test_texts_are_escaped(text):
    assert "&lt;script&gt;" in text
    assert "<script" not in text
