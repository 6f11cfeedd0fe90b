"""Models by name."""

import numpy as np
import pytest
from support import naive_forest as naive

import depthforest as df
from depthforest.base import resources
from depthforest.base.errors import ModelError
from depthforest.forest import loading as models

PARTS = df.PartSet(("head", "hand_l", "hand_r"))


def forest_of(seed):
    return naive.random_forest(np.random.default_rng(seed), 2, 3, PARTS)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return an empty folder of shipped models; the working folder is another one."""
    shipped = tmp_path / "models"
    shipped.mkdir()
    (shipped / "README.md").write_text("Models")
    monkeypatch.setattr(resources, "models_folder", lambda: shipped)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return shipped


def test_load_finds_the_default_a_name_and_a_path(folder, tmp_path):
    for seed, name in enumerate((models.DEFAULT_MODEL, "other", "v1.2")):
        forest_of(seed).save(folder / f"{name}.safetensors")
    forest_of(7).save(tmp_path / "here" / "my.safetensors")
    forest_of(8).save(tmp_path / "here" / "my")
    assert df.load() == df.load(models.DEFAULT_MODEL) == forest_of(0)
    assert df.load("other") == df.load(folder / "other.safetensors") == forest_of(1)
    assert df.load("v1.2") == forest_of(2)
    assert df.load("my.safetensors") == df.load(str(tmp_path / "here" / "my.safetensors")) == forest_of(7)
    assert df.load("my") == forest_of(8)


def test_a_shipped_name_comes_before_a_file_of_that_name(folder, tmp_path):
    forest_of(0).save(folder / "other.safetensors")
    forest_of(1).save(tmp_path / "here" / "other")
    assert df.load("other") == forest_of(0)
    assert df.load("./other") == df.load(tmp_path / "here" / "other") == forest_of(1)


def test_the_shipped_models_are_listed_as_a_person_counts(folder):
    for name in ("b10", "b2", "a"):
        forest_of(0).save(folder / f"{name}.safetensors")
    assert list(models.shipped_models()) == ["a", "b2", "b10"]


def test_errors_say_what_is_there(folder, tmp_path):
    with pytest.raises(
        ModelError, match="default model, body31, is missing; none is shipped with this version; name a"
    ):
        df.load()
    with pytest.raises(ModelError, match="'hands': is neither a shipped model nor a file; none is shipped"):
        df.load("hands")
    forest_of(0).save(folder / "a.safetensors")
    forest_of(0).save(folder / "b.safetensors")
    with pytest.raises(ModelError, match="default model, body31, is missing; shipped are: a, b; name a model file"):
        df.load()
    for missing in ("hands", "a.safetensors", "", "../models/a", "nul\0byte", tmp_path / "none"):
        with pytest.raises(ModelError, match=r"is neither a shipped model nor a file; shipped are: a, b$"):
            df.load(missing)
    with pytest.raises(ModelError, match="expected the name or the path of a model, got 3"):
        df.load(3)
    with pytest.raises(ModelError, match="is a folder, expected a model file"):
        df.load(tmp_path)
    (folder / "a.safetensors").write_bytes(b"broken")
    with pytest.raises(ModelError, match=r"a\.safetensors: is not a model file"):
        df.load("a")


def test_a_missing_folder_is_no_crash(folder):
    (folder / "README.md").unlink()
    folder.rmdir()
    with pytest.raises(ModelError, match="none is shipped with this version"):
        df.load()
