import math

from depthforest.evaluation.people.ids import IdScore
from depthforest.evaluation.people.matching import JudgedFrame


def recording(*frames):
    """Return judged frames: each is {person: id}, or {person: (id, IoU)}."""
    judged = []
    for index, people in enumerate(frames):
        pairs = {person: found if isinstance(found, tuple) else (found, 0.9) for person, found in people.items()}
        judged.append(JudgedFrame(index, tuple((p, i, iou) for p, (i, iou) in pairs.items()), (), is_empty=False))
    return IdScore.of(judged)


def test_ids_that_stay():
    assert recording({1: 4, 2: 5}, {1: 4}, {1: 4, 2: 5}) == IdScore(5, 5, 0, 2)


def test_a_switch_and_back():
    score = recording({1: 1}, {1: 1}, {1: 2}, {1: 1})
    assert score == IdScore(4, 3, 2, 1)
    assert score.kept == 0.75


def test_who_is_not_found_keeps_nothing_and_switches_nothing():
    assert recording({1: 1}, {1: (0, 0.0)}, {1: (1, 0.49)}, {1: 1}) == IdScore(4, 2, 0, 1)


def test_two_who_swap_ids():
    assert recording({1: 1, 2: 2}, {1: 2, 2: 1}, {1: 2, 2: 1}) == IdScore(6, 2, 2, 2)


def test_an_id_belongs_to_the_first_who_had_it():
    # person 2 comes when person 1 has gone, and is taken for that person; then gets an id of their own
    assert recording({1: 1}, {2: 1}, {2: 1}, {2: 7}, {2: 7}) == IdScore(5, 3, 1, 2)


def test_nobody():
    assert math.isnan(recording({}).kept)
