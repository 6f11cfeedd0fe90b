"""The report of people: what names bring into it."""

from support.people import boxes, labeled, planted

from depthforest.evaluation.people.judging import evaluate_people
from depthforest.evaluation.people.page import JudgedSource, people_page

NAME = '<script>alert("1")</script>&amp'


def test_names_bring_no_markup_and_the_page_loads_nothing():
    frames = [labeled(boxes((1, 10, 50, 10, 30)), i) for i in range(2)]
    score = evaluate_people(frames, find=planted([boxes(), boxes((9, 0, 60, 60, 80))]))
    page = people_page([JudgedSource(NAME, [f"{NAME}{i}" for i in range(2)], {NAME: score, f"{NAME}2": score})])
    assert page.count("&lt;script&gt;") >= 6  # a source, two finders and two frames of each
    assert "<script" not in page
    assert '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; ' in page
    assert "http://" not in page
    assert "https://" not in page
