"""What counts as a number in an argument."""

from fractions import Fraction

import numpy as np
import pytest

import depthforest as df
from depthforest.checks import is_number, is_whole
from depthforest.threads import thread_count
from synth.config import Config

WHOLE = (3, np.int64(3), np.uint8(3))
NUMBERS = (*WHOLE, 0.5, np.float32(0.5), np.float64(0.5), Fraction(1, 2))
OTHERS = (True, np.True_, "3", None, 1j, np.array([1]), [1])


def test_numpy_numbers_are_numbers():
    assert all(is_whole(value) and is_number(value) for value in WHOLE)
    assert all(is_number(value) for value in NUMBERS)
    assert not any(is_whole(value) for value in NUMBERS[len(WHOLE) :])
    assert not any(is_whole(value) or is_number(value) for value in OTHERS)


def test_they_may_be_given_everywhere(tmp_path):
    assert thread_count(np.int32(2)) == 2
    config = df.TrainConfig(trees=np.int64(2), probe_range_m=np.float32(0.5))
    assert config == df.TrainConfig(trees=2, probe_range_m=0.5)
    config.save(tmp_path / "train.toml")
    assert df.TrainConfig.load(tmp_path / "train.toml") == config
    assert Config(n_bodies=np.int64(3), near_share=np.float32(0.5)) == Config(n_bodies=3, near_share=0.5)
    forest = df.load()
    frame = df.Frame(np.full((4, 5), 2000, np.uint16), df.Camera(100, 100, 2, 2, 5, 4))
    labeling = forest.label(frame, reject=np.float32(0), smooth=np.float32(0.02), threads=np.int64(1))
    assert labeling.probabilities(top=np.int64(3))[0].shape == (4, 5, 3)


@pytest.mark.parametrize("data", ["people", [np.zeros((3, 3))]])
def test_data_that_are_none_are_named(data):
    forest = df.load()
    with pytest.raises(df.DepthForestError, match=r"evaluate takes LabeledFrames, as df\.open_dataset gives them"):
        df.evaluate(forest, data)
    with pytest.raises(df.DepthForestError, match=r"training needs LabeledFrames, as df\.open_dataset gives them"):
        df.train(data, df.TrainConfig())
