import importlib
import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from naive_forest import random_forest
from numpy.testing import assert_array_equal

import depthforest as df
from depthforest import benchsets
from depthforest.benchsets import SETS
from depthforest.errors import UsageError
from depthforest.frames import Frame
from depthforest.parts import BODY31, NO_PART, PCL25, REGIONS15
from depthforest.pixeltables import draw_probes, pixel_table
from synth.config import Config
from synth.generator import Generator

TOOLS = Path(__file__).resolve().parent.parent / "tools"
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


@pytest.fixture(scope="module")
def learners():
    return import_tool("peer_learners")


@pytest.fixture
def _tiny(monkeypatch):
    """Make the set that needs no download small."""
    one = SETS["procedural"]
    monkeypatch.setattr(benchsets, "SETS", {"procedural": replace(one, n_frames=N, changes={**one.changes, **TINY})})


@pytest.fixture(scope="module")
def frames():
    return list(Generator(Config(**TINY, people_shares=(0.5, 0.5), furnished_share=0.0), seed=2, n=4))


@pytest.fixture(scope="module")
def table(frames):
    return pixel_table(frames, 400, draw_probes(12))


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

    # the truth's bands count for either neighbour, the answers' do not
    assert accuracy(BODY31, ("wrist_l", "hand_l", 3), ("wrist_l", "arm_lower_l", 3)) == 1
    assert accuracy(BODY31, ("hand_l", "wrist_l", 3)) == 0
    assert accuracy(BODY31, ("arm_lower_l", "wrist_l", 3), ("hand_l", "wrist_l", 5)) == 0.5
    assert accuracy(PCL25, ("leg_upper_r", "Rknee", 1), ("leg_lower_r", "Rknee", 1)) == 0.5
    assert accuracy(PCL25, ("knee_r", "Rleg", 1), ("torso_lower_l", "Rhips", 2)) == 1


# -- learners on pixels ------------------------------------------------------------------------------------------------


class Linear:
    """A classifier whose probabilities are smooth in the features: no ties; it keeps what it was asked."""

    def __init__(self, n_features, classes):
        rng = np.random.default_rng(0)
        self.classes_ = np.array(classes, dtype=np.uint8)
        self.weights = rng.normal(size=(n_features, len(classes))) / 2000
        self.asked = []

    def predict_proba(self, x):
        self.asked.append(x)
        odds = np.exp(x @ self.weights + np.arange(len(self.classes_)) / 100)
        return odds / odds.sum(axis=1, keepdims=True)


def test_pixels_are_labeled_by_their_rows(learners, frames, table, monkeypatch):
    monkeypatch.setattr(learners, "BLOCK", 50)
    frame = frames[0]
    model = Linear(12, range(0, 31, 3))
    labels = learners.PixelLabeler(model, table.probes, BODY31).label(frame, frame.people == 1)
    is_person = (frame.people == 1) & (frame.depth_mm > 0)
    assert_array_equal(labels.parts != NO_PART, is_person)
    every = pixel_table([frame], 10**6, table.probes)  # all pixels of all people
    shown = {tuple(row) for row in every.x.tolist()}
    asked = np.concatenate(model.asked)
    assert len(asked) == is_person.sum()
    assert {tuple(row) for row in asked.tolist()} <= shown
    shares = Linear(12, range(0, 31, 3)).predict_proba(asked)
    assert_array_equal(labels.parts[is_person], model.classes_[shares.argmax(axis=1)])
    np.testing.assert_allclose(labels.confidence[is_person], shares.max(axis=1), rtol=1e-6)


def test_the_mirrored_walk_of_a_mirrored_frame_mirrors_the_labels(learners, frames, table):
    frame = frames[1]
    mask = frame.people == 1
    labeler = learners.PixelLabeler(Linear(12, range(31)), table.probes, BODY31)
    flipped = Frame(np.ascontiguousarray(frame.depth_mm[:, ::-1]), frame.camera)
    here, there = (labeler.label(f, m, mirror=True) for f, m in ((frame, mask), (flipped, mask[:, ::-1])))
    np.testing.assert_allclose(there.confidence[:, ::-1], here.confidence, rtol=1e-6)
    # where the probes see the same on both sides, left and right are equally probable: the lower label is taken
    is_same = BODY31.mirror_table[there.parts[:, ::-1]] == here.parts
    assert_array_equal(is_same | (there.parts[:, ::-1] == here.parts), True)
    assert np.mean(is_same[mask]) > 0.98
    plain = labeler.label(frame, mask)
    assert (plain.parts != here.parts).any()


def test_trees_are_added_while_there_is_time(learners, table, monkeypatch):
    clock = [100.0]
    fits = []

    class Slow:
        """Takes two seconds a tree, and half a second each time."""

        def __init__(self):
            self.n_estimators, self.warm_start, self.estimators_ = 100, False, []

        def set_params(self, **given):
            vars(self).update(given)
            return self

        def fit(self, x, _y):
            n = self.n_estimators - len(self.estimators_)
            if self.warm_start:
                assert len(x) == len(table.x)
                fits.append(n)
            clock[0] += 2 * n + 0.5
            leaf = type("Leaf", (), {"tree_": type("Tree", (), {"node_count": 7})})
            self.estimators_ += [leaf] * n
            return self

    monkeypatch.setattr(learners, "PIXEL_LEARNERS", {"slow": Slow})
    monkeypatch.setattr(learners.time, "process_time", lambda: clock[0])
    said = []
    fit = learners.fit_pixels("slow", table, BODY31, 21, said.append)
    assert fits == [1, 1, 2, 4, 1]
    assert (fit.seconds, fit.nodes, fit.about) == (9 * 2 + 5 * 0.5, 63, "9 trees")
    assert said[-1] == "slow: 9 trees, 20 of 21 s"
    fits.clear()
    assert learners.fit_pixels("slow", table, BODY31, 0.1, said.append).about == "1 trees"  # at least one
    assert fits == [1]


def test_every_learner_learns(learners, frames, table):
    frame = frames[0]
    for name in learners.PIXEL_LEARNERS:
        fit = learners.fit_pixels(name, table, BODY31, 0.05, lambda _: None)
        assert fit.nodes > 31
        labels = fit.model.label(frame, frame.people == 1)
        is_seen = labels.parts != NO_PART
        assert np.mean(labels.parts[is_seen] == frame.parts[is_seen]) > 0.3, name  # chance: a few percent


def test_the_depth_forest_takes_as_many_candidates_as_there_is_time_for(learners, frames, monkeypatch):
    monkeypatch.setattr(learners, "PILOT_CANDIDATES", 10)
    said = []
    fit = learners.fit_forest(frames, 200, 0.6, said.append)
    assert fit.model.n_trees == learners.TREES
    assert fit.model.config["pixels_per_frame"] == 50
    assert fit.nodes == 2 * fit.model.n_nodes + 3  # a tree has a leaf more than splits
    assert fit.about == f"3 trees, {fit.model.config['candidates']} candidates"
    assert any("10 candidates: tree 1 of 1" in line for line in said)
    assert learners.fit_forest(frames, 200, 1e-9, said.append).model.config["candidates"] == 1


# -- the run -----------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("_tiny")
def test_rows_are_kept_until_something_changes(tool, tmp_path):
    made = []

    def contestant(name, version):
        def make():
            made.append(name)
            return tool.Fit(random_forest(np.random.default_rng(version), 1, 3, BODY31), 1.5, 9, "1 trees")

        return tool.Contestant(name, {"version": version}, make)

    first = tool.run([contestant("a", 1), contestant("b b", 2)], ["procedural"], tmp_path)
    assert made == ["a", "b b"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.json", "b_b.json", "peers.json", "peers.md"]
    again = tool.run([contestant("a", 1), contestant("b b", 2)], ["procedural"], tmp_path)
    assert made == ["a", "b b"]
    assert again == first == json.loads((tmp_path / "peers.json").read_text())
    tool.run([contestant("a", 3), contestant("b b", 2)], ["procedural"], tmp_path)
    assert made == ["a", "b b", "a"]
    tool.run([contestant("b b", 2)], ["procedural"], tmp_path, limit=1)  # other frames
    assert made == ["a", "b b", "a", "b b"]
    lines = (tmp_path / "peers.md").read_text().splitlines()
    assert lines[0] == "Test set procedural, 1 frames:"
    assert len(lines) == 6
    assert lines[-1].startswith("| b b | mirrored |")
    assert lines[-1].endswith("| 9 | 2 s: 1 trees |")
    assert len({line.count("|") for line in lines[2:]}) == 1


@pytest.mark.usefixtures("_tiny")
def test_the_command(tool, learners, tmp_path, frames, monkeypatch, capsys):
    name = "ensemble ExtraTrees"
    own = {name: learners.PIXEL_LEARNERS[name]}
    monkeypatch.setattr(learners, "PIXEL_LEARNERS", own)
    monkeypatch.setattr(tool, "PIXEL_LEARNERS", own)
    df.write_dataset(tmp_path / "data", frames)
    random_forest(np.random.default_rng(0), 1, 3, PCL25).save(tmp_path / "pcl.safetensors")
    options = "--bench procedural --frames 3 --pixels 120 --probes 5 --seconds 0.05"
    command = [str(tmp_path / "pcl.safetensors"), "--train", str(tmp_path / "data"), "-o", str(tmp_path / "out")]
    tool.main([*command, *options.split()])
    said = capsys.readouterr().out
    assert "drawing 120 pixels of 3 frames, 5 probes" in said
    rows = json.loads((tmp_path / "out" / "peers.json").read_text())
    assert [row["name"] for row in rows] == ["pcl", "depth forest", name]
    assert rows[0]["fit"]["seconds"] is None
    assert rows[2]["sets"]["procedural"]["frames"] == N
    tool.main([*command, *options.split(), "--only", name])
    said = capsys.readouterr().out
    assert "drawing" not in said
    assert "depth forest" not in said
    with pytest.raises(SystemExit):
        tool.main([*command, *options.split(), "--only", "oracle"])
    assert f"no learner is called 'oracle'; there are depth forest, {name}" in capsys.readouterr().err
    assert "| pcl | one walk |  |  |" in said
    # a copy by another name is the same data set; another one by the same name is not
    (tmp_path / "data").rename(tmp_path / "copy")
    command[2] = str(tmp_path / "copy")
    tool.main([*command, *options.split()])
    assert "drawing" not in capsys.readouterr().out
    df.write_dataset(tmp_path / "other" / "copy", [frames[1], frames[0], frames[2]])
    command[2] = str(tmp_path / "other" / "copy")
    tool.main([*command, *options.split()])
    assert "drawing 120 pixels" in capsys.readouterr().out


def test_what_is_refused(tool, tmp_path, frames, capsys):
    with pytest.raises(SystemExit):
        tool.main(["-o", str(tmp_path)])
    assert "name at least one model, or a data set" in capsys.readouterr().err
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        random_forest(np.random.default_rng(0), 1, 2, BODY31).save(tmp_path / folder / "x.safetensors")
    with pytest.raises(UsageError, match="two models are called x; rename a file"):
        tool.model_contestants([str(tmp_path / folder / "x.safetensors") for folder in ("a", "b")])
    with pytest.raises(UsageError, match=r"none\.safetensors"):
        tool.model_contestants([str(tmp_path / "none.safetensors")])
    parts = df.PartSet(tuple(f"part{i}" for i in range(31)))
    df.write_dataset(tmp_path / "data", [replace(frame, part_set=parts) for frame in frames])
    with pytest.raises(UsageError, match="has other parts than the test sets"):
        _ = tool.Training(tmp_path / "data", 3, 100, 5, 1.0).frames
