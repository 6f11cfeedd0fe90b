import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from PIL import Image
from support.madeup import one_part_forest
from support.naive_forest import random_forest

import depthforest as df
from depthforest.base.errors import FrameError, UsageError
from depthforest.base.resources import samples_folder
from depthforest.frames.drawing import write_depth
from depthforest.frames.parts import BODY31, PCL25, REGIONS15

SCRIPT = Path(__file__).resolve().parents[2] / "tools" / "side_by_side.py"

CAMERA = "100,100,39.5,29.5,80x60"


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("side_by_side", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def folder(tmp_path):
    """Make two models that answer one part each, and a frame of a flat person."""
    one_part_forest("hand_l").save(tmp_path / "ours.safetensors")
    one_part_forest("Rknee", PCL25).save(tmp_path / "pcl.safetensors")
    depth = np.zeros((60, 80), dtype=np.uint16)
    depth[10:50, 20:60] = 2000
    (tmp_path / "frames").mkdir()
    write_depth(tmp_path / "frames" / "f.png", depth)
    points = [[30, 20, "hand_l"], [40, 30, "thigh_r"], [50, 40, "shin_r"]]
    marks = {"f": {"width": 80, "height": 60, "people": [{"points": points, "joints": {}}]}}
    (tmp_path / "marks.json").write_text(json.dumps(marks))
    return tmp_path


def run(tool, folder, *more):
    models = [str(folder / f"{name}.safetensors") for name in ("ours", "pcl")]
    output = folder / "sheet.png"
    tool.main([str(folder / "frames"), "--models", *models, "--camera", CAMERA,
               "-o", str(output), *more])  # fmt: skip
    with Image.open(output) as picture:
        return np.asarray(picture.convert("RGB")).astype(int)


def test_parts_get_the_colors_of_their_regions(tool):
    for part_set in (BODY31, PCL25, REGIONS15):
        forest = random_forest(np.random.default_rng(0), 1, 3, part_set)
        painted = tool.in_region_colors(forest)
        assert painted.part_set.names == part_set.names
        assert painted.part_set.mirror == part_set.mirror
        assert set(painted.part_set.colors) == set(REGIONS15.colors)
    painted = tool.in_region_colors(random_forest(np.random.default_rng(0), 1, 3, PCL25))
    colors = dict(zip(PCL25.names, painted.part_set.colors, strict=True))
    region = dict(zip(REGIONS15.names, REGIONS15.colors, strict=True))
    assert (colors["Rknee"], colors["Lhips"], colors["FaceRT"]) == (region["thigh_r"], region["torso"], region["head"])


def test_models_stand_side_by_side(tool, folder):
    picture = run(tool, folder, "--background-removed", "--no-mirror")
    # three cells; the middle of each is the depth, one region, the other
    width = (picture.shape[1] - 2 * 4) // 3
    row = (picture.shape[0] - len(df.frames.drawing.legend(REGIONS15, columns=5))) // 2
    cells = [picture[row, i * (width + 4) + width // 2] for i in range(3)]
    frame = df.read_depth(folder / "frames" / "f.png", camera=CAMERA)
    for cell, name in zip(cells[1:], ("hand_l", "thigh_r"), strict=True):
        region = np.where(frame.depth_mm > 0, np.uint8(REGIONS15.index(name)), np.uint8(255))
        assert_array_equal(cell, df.frames.drawing.overlay(frame, region, REGIONS15)[30, 40])
    assert np.ptp(cells[0]) < 60  # gray


def test_marked_points_are_counted_with_bands(tool, folder, monkeypatch):
    kept = []
    draw = tool.sheet
    monkeypatch.setattr(tool, "sheet", lambda rows: kept.append(rows) or draw(rows))
    run(tool, folder, "--no-mirror", "--marks", str(folder / "marks.json"))
    assert [shot.caption for shot in kept[0][0]] == ["f", "ours: 1 of 3 points", "pcl: 2 of 3 points"]


def test_people_are_looked_for(tool, tmp_path):
    data = df.open_dataset(samples_folder())
    write_depth(tmp_path / "f.png", data[data.names.index("two_people")].depth_mm)
    models = {"a": tool.in_region_colors(df.load())}
    rows = tool.found_rows(models, [tmp_path / "f.png"], "kinect_v1@320x240", mirror=False, is_background_removed=False)
    assert [shot.caption for shot in rows[0]] == ["f", "a"]
    depth, labeled = (shot.picture.astype(int) for shot in rows[0])
    is_painted = np.abs(depth - labeled).sum(axis=2) > 30
    assert 0.05 < is_painted.mean() < 0.9  # people, not the room


def test_what_is_refused(tool, folder):
    with pytest.raises(UsageError, match="two models have the same name: ours, ours"):
        tool.main(["x", "--models", "a/ours.safetensors", "b/ours.safetensors", "-o", "x.png"])
    with pytest.raises(UsageError, match="frames of one folder; 2 were given"):
        tool.main(["a", "b", "--models", "body31", "--marks", str(folder / "marks.json"), "-o", "x.png"])
    (folder / "frames" / "g.png").write_bytes(b"no picture")
    with pytest.raises(FrameError, match=r"g\.png"):
        run(tool, folder, "--background-removed")
