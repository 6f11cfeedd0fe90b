"""Fitted temperatures: planted ones come back, the calibration error falls, labels stay."""

from dataclasses import replace

import numpy as np
import pytest
from support.limbforests import forest_of
from support.randomframes import smooth_frame

import depthforest as df
from depthforest.base.errors import UsageError
from depthforest.evaluation.scores import Calibration
from depthforest.training.confidence import best_temperature, fit_confidence


@pytest.mark.parametrize("temperature", [0.4, 0.55, 1.0, 1.7])
def test_a_planted_temperature_comes_back(temperature):
    rng = np.random.default_rng(3)
    shares = rng.dirichlet([0.7, 0.5, 0.4, 0.3], 60_000).astype(np.float32)
    honest = shares.astype(np.float64) ** (1 / temperature)
    honest /= honest.sum(axis=1, keepdims=True)
    truth = (rng.random((len(honest), 1)) > np.cumsum(honest, axis=1)).sum(axis=1).clip(0, 3).astype(np.uint8)
    assert best_temperature(shares, truth) == pytest.approx(temperature, rel=0.04)


@pytest.fixture(scope="module")
def planted():
    """A forest, and frames whose true parts are drawn from the squares of its shares: the temperature is 1/2."""
    forest = forest_of(7, smooth_m=0.03)
    rng = np.random.default_rng(1)
    frames = []
    for _ in range(24):
        frame = smooth_frame(rng, 48, 40)
        labeling = forest.label(frame, exact=True)
        honest = labeling.probabilities() ** 2
        honest /= np.maximum(honest.sum(axis=2, keepdims=True), 1e-9)
        drawn = (rng.random((*frame.shape, 1)) > np.cumsum(honest, axis=2)).sum(axis=2).clip(0, 4)
        parts = np.where(frame.depth_mm > 0, drawn, 255).astype(np.uint8)
        people = (parts != 255).astype(np.uint8)
        frames.append(df.LabeledFrame(frame.depth_mm, frame.camera, parts, people, part_set=forest.part_set))
    return forest, frames


def error(forest, frames):
    total = Calibration()
    for frame in frames:
        labeling = forest.label(frame)
        is_labeled = labeling.parts != 255
        total += Calibration.of(labeling.confidence[is_labeled], (labeling.parts == frame.parts)[is_labeled])
    return total.expected_error


def test_confidence_becomes_the_share_of_right_labels(planted):
    forest, frames = planted
    told = []
    fitted = fit_confidence(forest, frames[:16], progress=told.append)
    assert told == [1] * 16
    assert fitted.calibration["temperature"] == pytest.approx(0.5, rel=0.25)
    assert error(fitted, frames[16:]) < 0.05 < error(forest, frames[16:])
    assert replace(fitted, calibration=None) == forest
    again = fit_confidence(fitted, frames[:16], threads=3)
    assert again == fitted, "a calibration is forgotten first, and threads change nothing"


def test_what_is_refused(planted):
    forest, frames = planted
    with pytest.raises(UsageError, match=r"at least 200 labeled pixels of people, got 4\d; take more frames"):
        fit_confidence(forest, frames[:1])
    other = replace(forest, part_set=df.PartSet(tuple(f"p{i}" for i in range(len(forest.part_set)))))
    with pytest.raises(UsageError, match="frame 0 has other parts than the model"):
        fit_confidence(other, frames)
