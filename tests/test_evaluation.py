import numpy as np
import pytest
from naive_forest import random_forest
from sklearn.metrics import confusion_matrix

import depthforest as df
from depthforest.errors import UsageError
from depthforest.parts import BODY31, NO_PART
from synth.config import Config
from synth.generator import Generator


@pytest.fixture(scope="module")
def frames():
    return Generator(Config(camera="kinect_v1@80x60", n_bodies=3, people_shares=(0.5, 0.5)), seed=2, n=6)


@pytest.fixture(scope="module")
def forest():
    return random_forest(np.random.default_rng(0), 2, 5, BODY31)


def test_counts_are_scikit_learns(frames, forest):
    truth, answers = [], []
    for frame in frames:
        for person in frame.joints:
            mask = frame.people == person
            predicted = forest.predict(frame, mask)
            is_counted = mask & (frame.parts != NO_PART) & (predicted != NO_PART)
            truth.append(frame.parts[is_counted])
            answers.append(predicted[is_counted])
    expected = confusion_matrix(np.concatenate(truth), np.concatenate(answers), labels=range(31))
    for threads in (1, 2):
        result = df.evaluate(forest, frames, threads=threads)
        np.testing.assert_array_equal(result.confusion, expected)
    assert result.n_frames == 6
    assert result.pixel_accuracy == pytest.approx(np.trace(expected) / expected.sum())
    seen = expected.sum(axis=1) > 0
    expected_mean = np.mean(np.diagonal(expected)[seen] / expected.sum(axis=1)[seen])
    assert result.mean_class_accuracy == pytest.approx(expected_mean)
    assert set(result.to_dict()["class_accuracy"]) == {n for n, s in zip(BODY31.names, seen, strict=True) if s}


def test_misuse_is_refused(frames, forest):
    with pytest.raises(UsageError, match="there are no frames to evaluate"):
        df.evaluate(forest, [])
    other = random_forest(np.random.default_rng(0), 1, 2, df.PartSet(("a", "b")))
    with pytest.raises(UsageError, match=r"frame 0 has other parts than the model \(head_upper_l, .* instead of a, b"):
        df.evaluate(other, frames)
