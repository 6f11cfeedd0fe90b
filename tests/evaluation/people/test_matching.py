import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.people import boxes, labeled, marked

from depthforest.base.errors import UsageError
from depthforest.evaluation.people.matching import (
    FALSE_IOU,
    FOUND_IOU,
    IGNORED,
    IGNORED_SHARE,
    JudgedFrame,
    TruePeople,
    judge_frame,
)
from depthforest.people import People

PERSON = (1, 10, 50, 10, 30)  # 40 x 20 pixels


def judged(frame, found, **options):
    return judge_frame(0, TruePeople.of(frame, **options), People.of_map(found))


def test_a_perfect_mask():
    truth = boxes(PERSON, (2, 10, 50, 50, 70))
    answer = boxes((7, 10, 50, 10, 30), (3, 10, 50, 50, 70))
    assert judged(labeled(truth), answer) == JudgedFrame(0, ((1, 7, 1.0), (2, 3, 1.0)), (), is_empty=False)


def test_a_missed_person():
    result = judged(labeled(boxes(PERSON)), boxes())
    assert result == JudgedFrame(0, ((1, 0, 0.0),), (), is_empty=False)
    assert (result.n_found, result.badness) == (0, 1.0)


def test_a_person_in_two_pieces_costs_the_smaller_one():
    answer = boxes((1, 10, 38, 10, 30), (2, 38, 50, 10, 30))  # IoU 0.7 and 0.3
    assert judged(labeled(boxes(PERSON)), answer).false_ids == ()
    answer = boxes((1, 10, 39, 10, 30), (2, 39, 50, 10, 30))  # 0.725 and 0.275
    result = judged(labeled(boxes(PERSON)), answer)
    assert result == JudgedFrame(0, ((1, 1, 29 / 40),), (2,), is_empty=False)
    assert result.badness == pytest.approx(1 + 11 / 40)


def test_between_found_and_false_is_a_bad_mask():
    result = judged(labeled(boxes(PERSON)), boxes((1, 10, 26, 10, 30)))  # 0.4
    assert (result.n_found, result.false_ids) == (0, ())
    assert judged(labeled(boxes(PERSON)), boxes((1, 10, 30, 10, 30))).n_found == 1  # exactly 0.5


def test_a_false_one():
    result = judged(labeled(boxes(PERSON)), boxes(PERSON, (2, 0, 60, 60, 80)))
    assert (result.n_found, result.false_ids) == (1, (2,))


def test_one_mask_over_two_people_finds_neither_twice():
    truth = boxes((1, 10, 50, 10, 30), (2, 10, 50, 30, 50))
    result = judged(labeled(truth), boxes((1, 10, 50, 10, 50)))
    assert result == JudgedFrame(0, ((1, 1, 0.5), (2, 1, 0.5)), (), is_empty=False)


def test_ignored_pixels_excuse_a_mask():
    truth = boxes(PERSON, (IGNORED, 0, 60, 60, 80))
    for share, false in ((0.375, (2,)), (0.4, ())):
        answer = boxes((2, 0, 40, 60 - round(40 * (1 - share)), 60 + round(40 * share)))
        assert judged(marked(truth), np.where(truth == 1, np.uint8(1), answer)).false_ids == false


def test_people_of_whom_little_is_seen_are_ignored_in_labeled_frames_only():
    truth = boxes((1, 0, 4, 0, 5))  # 20 of 4,800 pixels: 0.4 %
    for answer in (boxes(), truth):
        assert judged(labeled(truth), answer) == JudgedFrame(0, (), (), is_empty=False)
    assert judged(labeled(truth), truth, least_seen=0.004).n_found == 1
    assert judged(marked(truth), truth).n_found == 1
    # a person of number 255 is one like any other in a data set
    truth = boxes((255, 10, 50, 10, 30))
    assert judged(labeled(truth), boxes(PERSON)).people == ((255, 1, 1.0),)
    assert judged(marked(truth), boxes(PERSON)).people == ()


def test_only_readings_count():
    truth = boxes(PERSON)
    frame = labeled(truth)
    depth = frame.depth_mm.copy()
    depth[10:30, 10:30] = 0
    without = dataclasses.replace(frame, depth_mm=depth)
    answer = boxes((1, 30, 50, 10, 30))
    assert judged(without, answer).people == ((1, 1, 1.0),)
    assert judged(frame, answer).people == ((1, 1, 0.5),)


def test_empty_frames_show_nobody_at_all():
    assert judged(labeled(boxes()), boxes((4, 0, 9, 0, 9))) == JudgedFrame(0, (), (4,), is_empty=True)
    assert not TruePeople.of(marked(boxes((IGNORED, 0, 9, 0, 9)))).is_empty


def naive(truth, found):
    """Return IoUs and false masks by the rule's own words, mask by mask."""
    masks = {i: found == i for i in np.unique(found) if i}
    best, ious = dict.fromkeys(masks, 0.0), []
    for person in sorted(set(np.unique(truth).tolist()) - {0, IGNORED}):
        mask = truth == person
        own = {i: (m & mask).sum() / (m | mask).sum() for i, m in masks.items()}
        best = {i: max(best[i], own[i]) for i in masks}
        ious.append(max(own.values(), default=0.0))
    false = [
        i for i, m in masks.items() if best[i] < FALSE_IOU and (m & (truth == IGNORED)).sum() < IGNORED_SHARE * m.sum()
    ]
    return ious, false, sum(iou >= FOUND_IOU for iou in ious)


@given(st.integers(0, 2**32 - 1))
def test_the_rule_equals_its_naive_twin(seed):
    rng = np.random.default_rng(seed)

    def some(ids):
        picture = boxes()
        for i in ids:
            top, left = rng.integers(0, 40, 2)
            picture[top : top + rng.integers(5, 25), left : left + rng.integers(5, 40)] = i
        return picture

    truth, found = some((1, 2, IGNORED)[: rng.integers(0, 4)]), some((1, 5, 9)[: rng.integers(0, 4)])
    result = judged(marked(truth), found)
    assert ([iou for _, _, iou in result.people], list(result.false_ids), result.n_found) == naive(truth, found)


def test_maps_of_another_size_are_refused():
    with pytest.raises(UsageError, match=r"found in a map of \(30, 40\), but the frame has \(60, 80\)"):
        judged(labeled(boxes(PERSON)), boxes(shape=(30, 40)))
    with pytest.raises(UsageError, match="marked people are uint8 of shape"):
        dataclasses.replace(marked(boxes()), people=boxes(shape=(30, 40)))
