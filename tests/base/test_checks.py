"""What counts as a number in an argument."""

from fractions import Fraction

import numpy as np
import pytest

import depthforest as df
from depthforest.base.checks import check_choice, check_range, is_finite, is_number, is_whole
from depthforest.base.errors import ModelError, UsageError
from depthforest.base.threads import thread_count
from synth.config import Config

WHOLE = (3, np.int64(3), np.uint8(3))
NUMBERS = (*WHOLE, 0.5, np.float32(0.5), np.float64(0.5), Fraction(1, 2))
OTHERS = (True, np.True_, "3", None, 1j, np.array([1]), [1])


def test_numpy_numbers_are_numbers():
    assert all(is_whole(value) and is_number(value) for value in WHOLE)
    assert all(is_number(value) for value in NUMBERS)
    assert not any(is_whole(value) for value in NUMBERS[len(WHOLE) :])
    assert not any(is_whole(value) or is_number(value) for value in OTHERS)


def test_whole_numbers_have_a_range():
    assert is_whole(np.uint8(1), 1, 255)
    assert is_whole(255, 1, 255)
    assert not is_whole(0, 1)
    assert not is_whole(256, 1, 255)
    assert not is_whole(1.0, 1, 255)
    assert not is_whole(True, 0, 1)
    assert is_whole(10**400)


def test_finite_numbers_fit_a_float():
    assert all(is_finite(value) for value in (*NUMBERS, -1.7e308, np.float32(3e38)))
    assert not any(is_finite(value) for value in (*OTHERS, np.inf, -np.inf, np.nan, np.float32("inf"), 10**400))


def test_ranges_and_choices_are_refused_in_words():
    check_range("depth", 3, 1, 3)
    check_choice("kind", "a", ("a", "b"))
    for value, style, message in (
        (2.0, "", "share must be from 0 to 1, got 2.0"),
        (2.0, "g", "share must be from 0 to 1, got 2"),
        (float("nan"), "", "share must be from 0 to 1, got nan"),
    ):
        with pytest.raises(df.DepthForestError) as caught:
            check_range("share", value, 0, 1, error_type=ModelError, style=style)
        assert (type(caught.value), str(caught.value)) == (ModelError, message)
    with pytest.raises(UsageError, match=r"kind must be one of a, b; got 'c'"):
        check_choice("kind", "c", ("a", "b"))


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
    with pytest.raises(df.DepthForestError, match=r"evaluate takes LabeledFrames, as df\.open_dataset returns them"):
        df.evaluate(forest, data)
    with pytest.raises(df.DepthForestError, match=r"training needs LabeledFrames, as df\.open_dataset gives them"):
        df.train(data, df.TrainConfig())
