"""torch is no dependency of the package: where it is missing, one test says what happens."""

import importlib.util
import json
import math
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import depthforest as df
from depthforest.frames.parts import BODY31, NO_PART
from synth import Config, Generator, produce

SCRIPT = Path(__file__).resolve().parents[2] / "tools" / "unet.py"
SCENES = Config(camera="kinect_v1@80x60", n_bodies=2, n_poses=64, people_shares=(1.0,), furnished_share=0.0)


def test_without_torch_one_line_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(SystemExit, match=r"^this script needs torch: python -m pip install torch==[^\n]*$"):
        runpy.run_path(str(SCRIPT), run_name="__main__")


@pytest.fixture(scope="module")
def tool():
    pytest.importorskip("torch")
    spec = importlib.util.spec_from_file_location("unet", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules["unet"] = module
    spec.loader.exec_module(module)
    module.torch.set_num_threads(1)
    return module


@pytest.fixture(scope="module")
def frames():
    return list(Generator(SCENES, seed=3, n=18))


@pytest.fixture
def work(tool, tmp_path):
    pytest.importorskip("zarr")
    produce(Generator(SCENES, seed=3, n=18), tmp_path / "r0_v1.zarr", 18, kind="zarr", threads=1)
    for name, *_ in tool.VALID:
        produce(Generator(SCENES, seed=4, n=2), tmp_path / f"{name}.zarr", 2, kind="zarr", threads=1)
    return tmp_path


def person(frame):
    return (frame.people == 1) & (frame.depth_mm > 0)


def test_a_network_has_1_6_million_weights(tool):
    assert round(sum(p.numel() for p in tool.build_network().parameters()) / 1e6, 1) == 1.6


def test_fused_blocks_answer_as_before(tool):
    network = tool.build_network()
    pictures = tool.torch.randn(2, 2, tool.ROWS, tool.COLS)
    with tool.torch.no_grad():
        tool.logits_of(network, pictures)  # batch norms have something to forget
        expected = tool.logits_of(network.eval(), pictures)
        found = tool.logits_of(tool.fused(network), pictures)
    np.testing.assert_allclose(found, expected, atol=1e-4)


@pytest.mark.parametrize("shift", [(0, 0), (9, -7)])
def test_a_window_shows_the_whole_person_at_its_size(tool, frames, shift):
    frame = frames[0]
    depth, mask = (np.roll(a, shift, (0, 1)) for a in (frame.depth_mm, person(frame)))
    window = tool.Window.around(depth, mask, frame.camera)
    assert window.cut(mask, 0).sum() == mask.sum()
    assert window.rows / tool.ROWS >= tool.PIXEL_M * frame.camera.fx / window.depth_m - 1 / tool.ROWS
    assert_array_equal(window.cut(np.where(mask, depth, 0), 0).max(), depth[mask].max())


def test_a_batch_mirrors_parts_with_the_picture(tool, work):
    crops = tool.Crops(work)
    crops.take_finished()
    chosen = np.arange(4)

    class Still:
        def __init__(self, is_mirrored):
            self.is_mirrored = is_mirrored

        def uniform(self, *size):
            return np.zeros(size[-1])

        def random(self, n):
            return np.full(n, 0.0 if self.is_mirrored else 1.0)

    plain, parts = crops.batch(chosen, Still(False))
    other, others = crops.batch(chosen, Still(True))
    table = np.append(BODY31.mirror_table[: len(BODY31)].astype(int), -1)
    assert_array_equal(table[others.flip(2).numpy()], parts.numpy())
    np.testing.assert_allclose(other.flip(3), plain, atol=1e-3)
    assert (parts >= 0).any()


def test_what_is_still_being_made_is_left_for_later(tool, work):
    (work / "r0_near.zarr").mkdir()
    crops = tool.Crops(work)
    crops.take_finished()
    assert crops.sets == {"r0_v1.zarr": 18}


def test_training_goes_on_where_it_was_and_is_judged(tool, work, monkeypatch):
    monkeypatch.setattr(tool, "load", lambda _: df.load("body31-fast"))
    tool.train(work, 1e-3, math.inf)
    first = tool.torch.load(work / "checkpoint.pt")
    assert first["spent"] >= 0.06
    tool.train(work, first["spent"] / 60 + 0.01, math.inf)
    state = tool.torch.load(work / "checkpoint.pt")
    assert state["spent"] >= first["spent"] + 0.6
    assert state["passes"] > first["passes"]
    assert state["sets"] == {"r0_v1.zarr": 18}
    tool.judge(work, None, ["procedural"], None, None, 2)
    found = json.loads((work / "unet.json").read_text())
    assert set(found["bench"]["procedural"]) == {"body31", "body31-fast", "U-Net", "U-Net, mirrored too"}
    assert all(0 <= row["31 parts"]["value"] <= 1 and row["ms"] > 0 for row in found["bench"]["procedural"].values())
    assert found["prior_power"] in tool.PRIOR_POWERS


def test_answers_cover_the_person_and_mirrored_ones_are_symmetric(tool, frames):
    network = tool.fused(tool.build_network())
    model = tool.NetworkModel(network, tool.torch.zeros(len(BODY31), 1, 1), mirror=True)
    frame, mask = frames[0], person(frames[0])
    found = model.label(frame, mask)
    assert_array_equal(found.parts != NO_PART, mask)
    assert found.confidence[mask].min() > 0
    mirrored = df.Frame(np.ascontiguousarray(frame.depth_mm[:, ::-1]), frame.camera)
    with tool.torch.no_grad():
        shares, _ = model.shares(frame, mask)
        others, _ = model.shares(mirrored, np.ascontiguousarray(mask[:, ::-1]))
    swapped = BODY31.mirror_table[: len(BODY31)].astype(int)
    # the window of a mirrored person may lie half a pixel off
    assert np.abs(others.flip(3).numpy()[:, swapped] - shares.numpy()).mean() < 0.02
    assert not model.label(frame, np.zeros_like(mask)).confidence.any()
