"""Stored frames, a stored forest and its labels: a change of format, features or trainer does not go unnoticed.

`python tools/make_golden.py` makes them again, for changes that are meant.
"""

from pathlib import Path

import numpy as np
import pytest

import depthforest as df
from depthforest.formats import read_labels
from depthforest.trainconfig import TrainConfig

FOLDER = Path(__file__).parent / "golden"


@pytest.fixture(scope="module")
def data():
    return df.open_dataset(FOLDER / "frames")


@pytest.fixture(scope="module")
def forest():
    return df.Forest.load(FOLDER / "forest.safetensors")


@pytest.mark.parametrize(("name", "is_mirrored"), [("labels", False), ("mirrored_labels", True)])
def test_the_stored_forest_labels_as_it_did(data, forest, name, is_mirrored):
    frame = data[0]
    expected = read_labels(FOLDER / f"{name}.png")
    np.testing.assert_array_equal(forest.predict(frame, frame.people == 1, mirror=is_mirrored), expected)
    # not a forest that says one thing of everything
    assert len(np.unique(expected)) > 15


def test_the_two_walks_differ():
    assert not np.array_equal(read_labels(FOLDER / "labels.png"), read_labels(FOLDER / "mirrored_labels.png"))


def test_the_stored_forest_is_saved_as_it_was(forest, tmp_path):
    forest.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (FOLDER / "forest.safetensors").read_bytes()


def test_the_stored_frames_train_the_stored_forest(data, forest, tmp_path):
    """If this fails, the trainer gives other forests than before: raise `checkpoints.FORMAT` if that is meant."""
    df.train(data, TrainConfig.from_dict(forest.config)).save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (FOLDER / "forest.safetensors").read_bytes()


def test_it_is_small():
    assert sum(path.stat().st_size for path in FOLDER.rglob("*") if path.is_file()) < 100_000
