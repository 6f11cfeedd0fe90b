"""What the demo says of its samples."""

import numpy as np
from rich.console import Console

from depthforest.cli.pictures import SampleFigures, match_people
from depthforest.cli.terminal import sample_table


def picture(*boxes):
    """Return a map of people from (id, first column, last column) in a strip of ten rows."""
    people = np.zeros((10, 40), np.uint8)
    for person, first, last in boxes:
        people[:, first:last] = person
    return people


def masks(truth, found):
    return {person: mask for person, (mask, _) in match_people(truth, found).items()}


def test_people_are_found_once_each():
    truth = picture((1, 0, 10), (2, 20, 30))
    assert masks(truth, truth) == {1: 1, 2: 2}
    # a third mask is nobody's, wherever it is
    assert masks(truth, picture((1, 32, 40), (2, 21, 30), (3, 0, 10))) == {1: 3, 2: 2}
    # the better of two masks, and not the other too
    assert masks(truth, picture((1, 0, 4), (2, 4, 10))) == {1: 2}
    # one mask over both of them has found one
    assert masks(truth, picture((1, 0, 30))) == {1: 1}
    assert masks(truth, picture()) == {}
    assert masks(picture(), truth) == {}


def test_less_than_three_tenths_is_not_found():
    truth = picture((1, 0, 10))
    assert masks(truth, picture((1, 0, 3))) == {1: 1}
    assert masks(truth, picture((1, 0, 2))) == {}
    assert masks(truth, picture((1, 5, 17))) == {}  # 5 of 17 columns
    assert masks(truth, picture((1, 4, 20))) == {1: 1}  # 6 of 20


def test_the_overlap_is_told():
    truth = picture((1, 0, 10), (2, 20, 30))
    found = picture((1, 0, 2), (3, 21, 32))
    assert match_people(truth, found) == {2: (3, 9 / 12)}
    assert match_people(truth, found, 0.1) == {2: (3, 9 / 12), 1: (1, 2 / 10)}


def shown(figures):
    console = Console(width=120)
    with console.capture() as told:
        console.print(sample_table(figures))
    return [line.split() for line in told.get().splitlines()]


def test_false_people_are_told_apart():
    """Not "3 of 2"."""
    figures = {"a": SampleFigures(2, 2, 1, 0.5, 10, 9, 0.1), "b": SampleFigures(1, 1, 0, 0.7, 10, 10, 0.1)}
    lines = shown(figures)
    assert lines[0][-2:] == ["false", "people"]
    assert lines[1] == ["a", "2", "of", "2", "50%", "9", "of", "10", "10", "1"]
    assert lines[2] == ["b", "1", "of", "1", "70%", "10", "of", "10", "10"]
    assert lines[3] == ["all", "3", "of", "3", "60%", "19", "of", "20", "10", "1"]
    lines = shown({"b": figures["b"]})
    assert "false" not in lines[0]
    assert lines[2][-1] == "10"
