"""Forests that are saved and loaded."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from support.smallforests import OPTIONS, facing, small

import depthforest as df
from depthforest.base import DepthForestWarning, modelfile, samples_folder
from depthforest.cli.info import describe
from depthforest.forest.file import FACING_VERSION, FORMAT_VERSION
from depthforest.forest.forest import Forest
from depthforest.trees.columns import SCHEMA


def test_what_is_saved_loads_back_the_same(tmp_path):
    for seed, n_trees, depth in ((0, 2, 4), (1, 1, 0), (2, 3, 8)):
        forest = small(seed, n_trees, depth, **OPTIONS)
        forest.save(tmp_path / "a.safetensors")
        again = Forest.load(tmp_path / "a.safetensors")
        assert again == forest
        assert again != small(seed + 10, n_trees, 5, **OPTIONS)
        again.save(str(tmp_path / "b.safetensors"))
        assert (tmp_path / "a.safetensors").read_bytes() == (tmp_path / "b.safetensors").read_bytes()
        assert sorted(p.name for p in tmp_path.iterdir()) == ["a.safetensors", "b.safetensors"]
        assert all(not getattr(again, name).flags.writeable for name in SCHEMA)


@pytest.mark.parametrize(("n_facings", "smooth_m"), [(2, 0.0), (32, 0.03), (1, 0.25), (1, 0.0)])
def test_facings_and_smoothing_load_back_the_same(n_facings, smooth_m, tmp_path):
    forest = facing(1, 2, 5, n_facings, smooth_m=smooth_m, **OPTIONS)
    forest.save(tmp_path / "a")
    file = modelfile.read(tmp_path / "a")
    assert file.version == (FORMAT_VERSION if n_facings == 1 and not smooth_m else FACING_VERSION)
    again = Forest.load(tmp_path / "a")
    assert again == forest == pickle.loads(pickle.dumps(forest))
    assert (again.n_facings, again.smooth_m) == (n_facings, smooth_m)
    assert all(not getattr(again, name).flags.writeable for name in SCHEMA)
    again.save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert again != replace(forest, smooth_m=0.1)
    if n_facings > 1:
        assert again != replace(forest, evidence=-forest.evidence)
        assert repr(again).endswith(f"3 parts, {n_facings} facings)")
    replace(forest, smooth_m=-0.0).save(tmp_path / "c")
    replace(forest, smooth_m=0).save(tmp_path / "d")
    assert (tmp_path / "c").read_bytes() == (tmp_path / "d").read_bytes()


def test_the_confidence_of_people_loads_back_the_same(tmp_path):
    forest = small(1, 2, 5, person_confidence=0.21, **OPTIONS)
    forest.save(tmp_path / "a")
    assert modelfile.read(tmp_path / "a").version == FACING_VERSION
    assert Forest.load(tmp_path / "a") == forest != replace(forest, person_confidence=0.2)
    assert dict(describe(tmp_path / "a"))["confidence of people"] == "21% and more"


def test_the_order_of_metadata_does_not_change_the_bytes(tmp_path):
    small(config={"a": 1, "b": 2}).save(tmp_path / "a")
    small(config={"b": 2, "a": 1}).save(tmp_path / "b")
    small(config={"b": 2, "a": 3}).save(tmp_path / "c")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes() != (tmp_path / "c").read_bytes()


def test_a_whole_room_without_a_mask_is_doubted():
    frame = df.open_dataset(samples_folder())[0]
    forest = df.load("body31-fast")
    with pytest.warns(DepthForestWarning, match=r"labeled as one person, and they are \d+ square meters of surface"):
        forest.label(frame)
    alone = df.Frame(np.where(frame.people == 1, frame.depth_mm, 0).astype(np.uint16), frame.camera)
    assert (forest.label(alone).parts < 31).sum() > 500  # and nothing is said
