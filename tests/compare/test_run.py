"""The command, as people type it."""

import json
from dataclasses import replace

import pytest
from support.command import run_here
from support.striped import striped_frames

import depthforest as df
from depthforest.compare import learners as comparelearners
from depthforest.compare import run as compare
from depthforest.evaluation import bench as benchsets

NUMBERS = ["--pixels", 300, "--probes", 8, "--rounds", 2, "--seed", 1]
ONLY = ["--only", "random-forest,depth-forest"]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("striped") / "data"
    df.write_dataset(path, striped_frames(8))
    return path


@pytest.fixture
def bare(monkeypatch):
    """Leave out the plots, which take longer than the learners."""
    monkeypatch.setattr(compare, "draw_plots", lambda *_: [])


def run(*words):
    done = run_here("compare", *words)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def results(folder):
    return {r["name"]: r["fits"] for r in json.loads((folder / "table.json").read_text())["learners"]}


def without_times(fits):
    return [{k: v for k, v in fit.items() if not k.endswith("seconds")} for fit in fits]


def test_tables_and_plots_are_written_and_the_same_seed_gives_the_same(data, tmp_path, monkeypatch):
    code, said, complaints = run("-o", tmp_path / "a", "--data", data, *NUMBERS, *ONLY)
    assert (code, complaints) == (0, "")
    assert "depth-forest (1 of 2): 2 trees, " in said
    assert "learner" in said.splitlines()[-10]
    names = {path.name for path in (tmp_path / "a").iterdir()}
    assert names >= {"settings.json", "learners", "table.csv", "table.md", "table.json", "compare_parts.png"}
    monkeypatch.setattr(compare, "draw_plots", lambda *_: [])
    assert run("-o", tmp_path / "b", "--data", data, *NUMBERS, *ONLY)[0] == 0
    first, second = results(tmp_path / "a"), results(tmp_path / "b")
    assert set(first) == {"random-forest", "depth-forest"}
    for name in first:
        assert without_times(first[name]) == without_times(second[name])
    settings = json.loads((tmp_path / "a" / "settings.json").read_text())
    assert (settings["train_frames"], settings["judging_frames"]) == (6, 2)


@pytest.mark.usefixtures("bare")
def test_run_again_it_does_what_is_missing(data, tmp_path, monkeypatch):
    words = ["-o", tmp_path / "out", "--data", data, "--test", data, *NUMBERS]
    assert run(*words, "--only", "extra-trees")[0] == 0
    before = results(tmp_path / "out")
    fitted = []
    real = compare.Fitter

    class Spy(real):
        def __init__(self, learner, *rest):
            fitted.append(learner.name)
            super().__init__(learner, *rest)

    monkeypatch.setattr(compare, "Fitter", Spy)
    assert run(*words, "--only", "extra-trees,decision-tree")[0] == 0
    assert fitted == ["decision-tree"]
    after = results(tmp_path / "out")
    assert after["extra-trees"] == before["extra-trees"]
    code, said, _ = run(*words, "--only", "extra-trees,decision-tree")
    assert (code, fitted) == (0, ["decision-tree"])
    assert "extra-trees" in said  # nothing to fit, and the table again


@pytest.mark.usefixtures("bare")
def test_an_interruption_loses_no_finished_learner(data, tmp_path, monkeypatch):
    words = ["-o", tmp_path / "out", "--data", data, *NUMBERS, "--only", "decision-tree,extra-trees"]
    with monkeypatch.context() as patched:
        real = compare.Fitter

        def stop(learner, *rest):
            if learner.name == "extra-trees":
                raise KeyboardInterrupt
            return real(learner, *rest)

        patched.setattr(compare, "Fitter", stop)
        code, _, complaints = run(*words)
    assert code == 130
    assert complaints.endswith("the same command continues\n")
    assert set(results(tmp_path / "out")) == {"decision-tree"}
    assert run(*words)[0] == 0
    assert set(results(tmp_path / "out")) == {"decision-tree", "extra-trees"}


@pytest.mark.usefixtures("bare")
def test_a_learner_that_fails_does_not_stop_the_others(data, tmp_path, monkeypatch):
    real = compare.Fitter

    def fail(learner, *rest):
        if learner.name == "decision-tree":
            raise RuntimeError("no luck")
        return real(learner, *rest)

    monkeypatch.setattr(compare, "Fitter", fail)
    words = ["-o", tmp_path / "out", "--data", data, *NUMBERS, "--only", "decision-tree,extra-trees"]
    code, said, complaints = run(*words)
    assert code == 1
    assert "error: decision-tree: RuntimeError: no luck" in complaints
    assert "decision-tree (1 of 2): failed: no luck" in said
    assert set(results(tmp_path / "out")) == {"extra-trees"}


@pytest.mark.usefixtures("bare")
def test_a_budget_of_time_and_size_is_kept(data, tmp_path):
    words = ["-o", tmp_path / "out", "--data", data, "--pixels", 300, "--probes", 8, "--only", "random-forest"]
    assert run(*words, "--seconds", 0.5, "--megabytes", 0.2)[0] == 0
    (record,) = json.loads((tmp_path / "out" / "table.json").read_text())["learners"]
    fit = record["fits"][record["chosen"]]
    assert not record["is_over"]
    assert fit["bytes"] <= 1.1 * 0.2e6
    assert fit["n"] == record["size"] > 1


@pytest.mark.usefixtures("bare")
@pytest.mark.parametrize("budget", [("--rounds", 50), ("--seconds", 1e6)])
def test_a_size_that_is_cut_off_is_told_as_it_is(data, tmp_path, monkeypatch, budget):
    cut = tuple(replace(a, most=3) if a.name == "depth-forest" else a for a in comparelearners.LEARNERS)
    monkeypatch.setattr(comparelearners, "LEARNERS", cut)
    words = ["-o", tmp_path / "out", "--data", data, "--pixels", 300, "--probes", 8, "--only", "depth-forest"]
    code, said, _ = run(*words, *budget)
    assert code == 0
    assert "depth-forest (1 of 1): 3 trees, " in said
    (record,) = json.loads((tmp_path / "out" / "table.json").read_text())["learners"]
    sizes = [fit["n"] for fit in record["fits"]]
    assert (record["size"], sizes[record["chosen"]]) == (3, 3)
    assert sizes == sorted(set(sizes))  # and is fitted once


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ([], 2, "name a folder for the comparison with -o"),
        (["-o", "out", "--only", "nobody"], 2, "there is no learner 'nobody'"),
        (["-o", "out", "--rounds", 2, "--seconds", 3], 2, "rounds is a fixed size"),
        (["-o", "out", "--data", "DATA", "--pixels", 5], 2, "5 pixels are fewer than the 6 frames"),
        (["-o", "out", "--data", "DATA", "--synth-config", "s.toml"], 2, "leave out --synth-config"),
        (["-o", "out", "--data", "nowhere"], 1, "nowhere: is not a folder"),
        (["-o", "out", "--data", "DATA", "--test", "DATA", "--bench", "cut"], 2, "are both test sets; give one"),
        (["-o", "out", "--data", "DATA", "--mocap", "clips"], 2, "name one with --bench"),
        (["-o", "out", "--data", "DATA", "--bench", "best"], 2, "no test set is called 'best'"),
    ],
)
def test_misuse_is_one_line_and_leaves_nothing(words, code, message, data, tmp_path):
    words = [data if word == "DATA" else tmp_path / word if word == "out" else word for word in words]
    done, _, complaints = run(*words)
    assert done == code
    assert message in complaints
    assert complaints.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("bare")
def test_other_settings_in_the_same_folder_are_refused(data, tmp_path):
    words = ["-o", tmp_path / "out", "--data", data, *NUMBERS, "--only", "decision-tree"]
    assert run(*words)[0] == 0
    before = (tmp_path / "out" / "table.csv").read_bytes()
    code, _, complaints = run(*words, "--probes", 9)
    assert code == 2
    assert "was made with other settings (probes was 8, now 9)" in complaints
    assert (tmp_path / "out" / "table.csv").read_bytes() == before


@pytest.mark.usefixtures("bare")
def test_synthetic_frames_by_default(tmp_path):
    (tmp_path / "s.toml").write_text('camera = "kinect_v1@80x60"\nn_bodies = 2\nn_poses = 64\nsensor = "ideal"\n')
    words = ["--synth-config", tmp_path / "s.toml", "--frames", 10, *NUMBERS, "--only", "decision-tree"]
    assert run("-o", tmp_path / "out", *words)[0] == 0
    settings = json.loads((tmp_path / "out" / "settings.json").read_text())
    assert (settings["train_frames"], settings["judging_frames"], len(settings["parts"])) == (8, 2, 31)


@pytest.mark.usefixtures("bare")
def test_a_fixed_test_set_judges(tmp_path, monkeypatch):
    changes = {"camera": "kinect_v1@80x60", "n_bodies": 2, "n_poses": 64}
    one = benchsets.SETS["procedural"]
    small = replace(one, n_frames=3, changes={**one.changes, **changes})
    monkeypatch.setattr(benchsets, "SETS", {"procedural": small})
    lines = [f"{key} = {json.dumps(value)}" for key, value in changes.items()]
    (tmp_path / "s.toml").write_text("\n".join(lines))
    words = ["--synth-config", tmp_path / "s.toml", "--frames", 10, "--bench", "procedural", *NUMBERS]
    code, said, _ = run("-o", tmp_path / "out", *words, "--only", "decision-tree")
    assert code == 0
    assert "these frames are not those of the committed hash" in said
    assert "judged on all pixels of 3 frames of the bench's set procedural." in (tmp_path / "out/table.md").read_text()
    # the frames are the set's: judged by them as a data set, the figures are the same
    df.write_dataset(tmp_path / "test", list(benchsets.open_bench("procedural")))
    words[words.index("--bench") : words.index("--bench") + 2] = ["--test", tmp_path / "test"]
    assert run("-o", tmp_path / "again", *words, "--only", "decision-tree")[0] == 0
    first, second = (results(tmp_path / name)["decision-tree"] for name in ("out", "again"))
    assert without_times(first) == without_times(second)


def test_the_learners_are_listed():
    code, said, _ = run("--list")
    assert code == 0
    for name in ("depth-forest", "stacking", "lightgbm"):
        assert name in said
