import importlib
import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.naive_forest import random_forest

import depthforest as df
from depthforest.base.errors import UsageError
from depthforest.evaluation import bench as benchsets
from depthforest.evaluation.bench import SETS
from depthforest.frames.parts import BODY31, PCL25, REGIONS15
from synth.config import Config
from synth.generator import Generator

TOOLS = Path(__file__).resolve().parents[2] / "tools"
TINY = {"camera": "kinect_v1@80x60", "n_bodies": 2, "n_poses": 64}
N = 3


def import_tool(name):
    sys.path.insert(0, str(TOOLS))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(TOOLS))


@pytest.fixture(scope="module")
def tool():
    return import_tool("bench_peers")


@pytest.fixture
def _tiny(monkeypatch):
    """Make the set that needs no download small."""
    one = SETS["procedural"]
    monkeypatch.setattr(benchsets, "SETS", {"procedural": replace(one, n_frames=N, changes={**one.changes, **TINY})})


@pytest.fixture(scope="module")
def frames():
    return list(Generator(Config(**TINY, people_shares=(0.5, 0.5), furnished_share=0.0), seed=2, n=4))


# -- judging -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mirror", [False, True])
@pytest.mark.parametrize("part_set", [BODY31, PCL25, REGIONS15], ids=len)
def test_the_figures_are_those_of_evaluate(tool, frames, part_set, mirror):
    forest = random_forest(np.random.default_rng(1), 2, 5, part_set)
    found = tool.judged(forest, frames, mirror, lambda _: None)
    expected = df.evaluate(forest, frames, joints=False, mirror=mirror, threads=1, timed_frames=0)
    assert found["pixels"] == expected.n_pixels
    keys = {len(scores.level.part_set): scores.level.key for scores in expected.levels}
    figures = {title: expected.figures[f"{keys[n]}.mean_class_accuracy"].to_dict()
               for title, n in (("31 parts", 31), ("sides merged", 16), ("15 regions", 15)) if n in keys}  # fmt: skip
    assert len(figures) == (3 if part_set is BODY31 else 1)
    one_each = found["figures"].pop(tool.ONE_EACH)["value"]
    assert found["figures"] == figures
    assert one_each <= figures["15 regions"]["value"]
    if part_set is REGIONS15:  # has no bands
        assert one_each == figures["15 regions"]["value"]


def test_an_answer_stands_for_one_region(tool):
    def accuracy(part_set, *pairs):
        counts = np.zeros((len(BODY31), len(part_set)), dtype=np.int64)
        for true, answered, n in pairs:
            counts[BODY31.index(true), part_set.index(answered)] += n
        return tool.one_region_accuracy(counts, part_set)

    # the truth's bands count for either neighbor, the answers' do not
    assert accuracy(BODY31, ("wrist_l", "hand_l", 3), ("wrist_l", "arm_lower_l", 3)) == 1
    assert accuracy(BODY31, ("hand_l", "wrist_l", 3)) == 0
    assert accuracy(BODY31, ("arm_lower_l", "wrist_l", 3), ("hand_l", "wrist_l", 5)) == 0.5
    assert accuracy(PCL25, ("leg_upper_r", "Rknee", 1), ("leg_lower_r", "Rknee", 1)) == 0.5
    assert accuracy(PCL25, ("knee_r", "Rleg", 1), ("torso_lower_l", "Rhips", 2)) == 1


# -- the run -----------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("_tiny")
def test_rows_are_kept_until_something_changes(tool, tmp_path, monkeypatch):
    loaded = []

    def load(path):
        loaded.append(path.stem)
        return df.load(path)

    monkeypatch.setattr(tool, "load", load)
    names = ["a", "b b"]
    paths = [tmp_path / f"{name}.safetensors" for name in names]

    def save(path, seed):
        random_forest(np.random.default_rng(seed), 1, 3, BODY31).save(path)

    def run(*chosen, **options):
        return tool.run(tool.model_contestants([str(path) for path in chosen]), ["procedural"], out, **options)

    out = tmp_path / "out"
    for seed, path in enumerate(paths):
        save(path, seed)
    first = run(*paths)
    assert loaded == names
    assert sorted(path.name for path in out.iterdir()) == ["a.json", "b_b.json", "peers.json", "peers.md"]
    again = run(*paths)
    assert loaded == names
    assert again == first == json.loads((out / "peers.json").read_text())
    save(paths[0], 7)
    run(*paths)
    assert loaded == [*names, "a"]
    run(paths[1], limit=1)  # other frames
    assert loaded == [*names, "a", "b b"]
    lines = (out / "peers.md").read_text().splitlines()
    assert lines[0] == "Test set procedural, 1 frames:"
    assert len(lines) == 6
    assert lines[-1].startswith("| b b | mirrored |")
    forest = df.load(paths[1])
    assert lines[-1].endswith(f"| 1 | {forest.n_nodes + forest.n_leaves} |")
    assert len({line.count("|") for line in lines[2:]}) == 1


@pytest.mark.usefixtures("_tiny")
def test_the_command(tool, tmp_path, capsys):
    random_forest(np.random.default_rng(0), 1, 3, PCL25).save(tmp_path / "pcl.safetensors")
    command = [str(tmp_path / "pcl.safetensors"), "-o", str(tmp_path / "out"), "--bench", "procedural"]
    tool.main(command)
    assert "| pcl | one walk |  |  |" in capsys.readouterr().out
    (row,) = json.loads((tmp_path / "out" / "peers.json").read_text())
    assert row["name"] == "pcl"
    assert row["sets"]["procedural"]["frames"] == N


def test_what_is_refused(tool, tmp_path, capsys):
    with pytest.raises(SystemExit):
        tool.main(["-o", str(tmp_path)])
    assert "models" in capsys.readouterr().err
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        random_forest(np.random.default_rng(0), 1, 2, BODY31).save(tmp_path / folder / "x.safetensors")
    with pytest.raises(UsageError, match="two models are called x; rename a file"):
        tool.model_contestants([str(tmp_path / folder / "x.safetensors") for folder in ("a", "b")])
    with pytest.raises(UsageError, match=r"none\.safetensors"):
        tool.model_contestants([str(tmp_path / "none.safetensors")])
