"""Calibrated confidence: by hand, against a twin, in the order of the shares, and off where it has no meaning."""

import math
from dataclasses import replace

import numpy as np
import pytest
from support.limbforests import forest_of
from support.randomframes import patchy_frame, random_frame

from depthforest.frames import NO_PART
from depthforest.labeling.calibrating import STEPS, calibrate_best, calibrate_rows, powers

CALIBRATION = {"temperature": 0.5, "temperature_unsmoothed": 0.8}


def naive_row(sums, temperature):
    """Probabilities of one pixel, as docs/MODEL_FORMAT.md says it."""
    largest = np.float32(max(sums))
    weights = []
    for value in sums:
        index = math.floor(np.float32(value) / largest * np.float32(1024))
        weights.append(np.float32((index / 1024) ** (1 / temperature)))
    total = np.float32(0)
    for weight in weights:
        total = np.float32(total + weight)
    return [np.float32(weight / total) for weight in weights]


def test_by_hand():
    # half of the largest counts for a quarter at temperature 1/2: 1, 1/4, 1/4 of 1.5
    shares = np.empty((1, 3), np.float32)
    calibrate_rows(np.array([[200, 100, 100]], np.int32), powers(0.5), shares)
    np.testing.assert_allclose(shares, [[2 / 3, 1 / 6, 1 / 6]], rtol=1e-6)
    assert len(powers(1.0)) == STEPS + 1
    assert (powers(1.0)[[0, 512, 1024]] == np.array([0, 0.5, 1], np.float32)).all()


@pytest.mark.parametrize("temperature", [0.3, 0.53, 1.0, 2.5])
def test_equals_the_twin(temperature):
    rng = np.random.default_rng(5)
    sums = rng.integers(0, 4000, (40, 7)).astype(np.int32) * rng.integers(0, 2, (40, 7), dtype=np.int32)
    sums[:, 3] += 1
    table = powers(temperature)
    shares, best = np.empty(sums.shape, np.float32), np.empty(len(sums), np.float32)
    calibrate_rows(sums, table, shares)
    calibrate_best(sums, table, 0, len(sums), best)
    assert (shares == np.array([naive_row(row.tolist(), temperature) for row in sums])).all()
    assert (best == shares.max(axis=1)).all()


@pytest.mark.parametrize("options", [{}, {"mirror": True}, {"smooth": 0}, {"exact": True}, {"threads": 3}])
def test_labels_and_their_order_stay(options):
    plain = forest_of(4, n_facings=4, smooth_m=0.03)
    forest = replace(plain, calibration=CALIBRATION)
    frame = patchy_frame(np.random.default_rng(2), 60, 50)
    before, after = plain.label(frame, **options), forest.label(frame, **options)
    assert (before.parts == after.parts).all()
    raw, probabilities = before.probabilities(), after.probabilities()
    is_labeled = after.parts != NO_PART
    assert (probabilities.argmax(axis=2)[is_labeled] == after.parts[is_labeled]).all()
    assert (probabilities.max(axis=2) == after.confidence).all()
    np.testing.assert_allclose(probabilities[is_labeled].sum(axis=1), 1, rtol=1e-5)
    order = np.argsort(-raw[is_labeled], axis=1, kind="stable")
    assert (np.diff(np.take_along_axis(probabilities[is_labeled], order, axis=1), axis=1) <= 0).all()
    assert (before.probabilities(top=3)[0] == after.probabilities(top=3)[0]).all()
    temperature = 0.8 if options.get("smooth") == 0 else 0.5
    expected = raw[is_labeled] ** (1 / temperature)
    expected /= expected.sum(axis=1, keepdims=True)
    assert np.abs(expected - probabilities[is_labeled]).max() < 0.01
    assert not np.allclose(before.confidence, after.confidence, atol=0.01)


def test_what_others_learned_from_stays():
    plain = forest_of(4, n_facings=4, smooth_m=0.03)
    forest = replace(plain, calibration=CALIBRATION)
    frame = random_frame(np.random.default_rng(4), 40, 30)
    before, after = plain.label(frame), forest.label(frame)
    assert (before.sample(50).shares == after.sample(50).shares).all()
    assert (plain.walk(frame) == forest.walk(frame)).all()
    assert after.mean_share == before.mean_share
    assert after.mean_share == pytest.approx(before.confidence[before.parts != NO_PART].mean(), abs=1e-6)
    votes = [each.label(frame, rule="votes") for each in (plain, forest)]
    assert (votes[0].confidence == votes[1].confidence).all()
    assert (votes[0].probabilities() == votes[1].probabilities()).all()


def test_rejection_asks_the_calibrated_confidence():
    forest = replace(forest_of(7, n_trees=3), calibration=CALIBRATION)
    frame = random_frame(np.random.default_rng(4), 40, 30)
    whole = forest.label(frame)
    sure = np.unique(whole.confidence[whole.parts != NO_PART])
    limit = float(sure[len(sure) // 2])
    some = forest.label(frame, reject=limit)
    assert ((some.parts != NO_PART) == ((whole.parts != NO_PART) & (whole.confidence >= np.float32(limit)))).all()
    assert 0 < np.count_nonzero(some.parts != NO_PART) < np.count_nonzero(whole.parts != NO_PART)


def test_nobody_there():
    frame = random_frame(np.random.default_rng(4), 6, 5)
    labeling = replace(forest_of(4), calibration=CALIBRATION).label(frame, np.zeros(frame.shape, np.bool_))
    assert labeling.mean_share == 0
    assert not labeling.confidence.any()
    assert not labeling.probabilities().any()
