"""Stored frames, a stored forest and its labels: a change of format, features or trainer does not go unnoticed.

`python tools/make_golden.py` makes them again, for changes that are meant; with `--only NAME` one of them.
"""

import json
from pathlib import Path

import numpy as np
import pytest

import depthforest as df
from depthforest.base import modelfile
from depthforest.forest.file import FACING_VERSION
from depthforest.io.formats import read_labels
from depthforest.training.config import TrainConfig

FOLDER = Path(__file__).resolve().parents[1] / "golden"


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


@pytest.fixture(scope="module")
def faced():
    """A forest of the second format: facings, smoothing, rows without zeros."""
    return df.Forest.load(FOLDER / "faced.safetensors")


def test_the_stored_forest_with_facings_labels_as_it_did(data, faced):
    frame, expected = data[0], read_labels(FOLDER / "faced_labels.png")
    is_person = frame.people == 1
    np.testing.assert_array_equal(faced.label(frame, is_person).parts, expected)
    assert len(np.unique(expected)) > 15
    # smoothing and the mirrored walk, which the file asks for, are in it
    assert (faced.label(frame, is_person, smooth=0).parts != expected).any()
    assert (faced.label(frame, is_person, mirror=False).parts != expected).any()


def test_the_stored_forest_with_facings_sees_people_face_as_it_did(data, faced):
    expected = json.loads((FOLDER / "faced.json").read_text())["facings"]
    found = [faced.label(frame, frame.people == person).facing for frame in data for person in frame.joints]
    turned = np.subtract(found, expected)
    np.testing.assert_allclose((turned + 180) % 360 - 180, 0, atol=1e-6)
    assert len({round(angle / 90) % 4 for angle in expected}) == 4  # all ways round


def test_the_stored_forest_with_facings_is_saved_as_it_was(faced, tmp_path):
    assert modelfile.read(FOLDER / "faced.safetensors").version == FACING_VERSION
    faced.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (FOLDER / "faced.safetensors").read_bytes()


def test_it_is_small():
    n_bytes = sum(path.stat().st_size for path in FOLDER.rglob("*") if path.is_file())
    assert n_bytes < 200_000  # of which 57 kB are an HDF5 file that once hung
