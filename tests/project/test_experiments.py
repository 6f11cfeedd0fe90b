"""The table of experiments: what is run, what is kept, and which data sets are refused."""

import importlib
import json
from pathlib import Path

import pytest

TOOLS = Path(__file__).resolve().parents[2] / "tools"
MODEL = Path(__file__).resolve().parents[1] / "golden" / "forest.safetensors"


@pytest.fixture
def tool(monkeypatch):
    """The tool; its commands write what it reads, and nothing is trained."""
    monkeypatch.syspath_prepend(str(TOOLS))
    tool = importlib.import_module("experiments")
    tool_runs = []

    def run(command, folder):
        tool_runs.append(command)
        made = folder / command[command.index("--json" if command[0] == "evaluate" else "-o") + 1]
        if command[0] == "evaluate":
            figures = {name: {"value": 0.5} for name in tool.FIGURES}
            made.write_text(json.dumps({"models": [{"evaluation": {"figures": figures}}]}))
        else:
            made.write_bytes(MODEL.read_bytes())

    monkeypatch.setattr(tool, "_run", run)
    tool.runs = tool_runs
    return tool


def words(work, **data):
    given = {"frames": "a.zarr", "fresh": "b.zarr", "test": "c.zarr"} | data
    given |= {"near": "d.zarr", "fresh-near": "e.zarr", "test-near": "f.zarr"}
    given |= {"stereo": "g.zarr", "fresh-stereo": "h.zarr", "test-stereo": "i.zarr"}
    options = [part for name, path in given.items() for part in (f"--{name}", str(work.parent / path))]
    return [str(work), *options, "--rows", "3"]


def test_the_rows_are_run_once(tool, tmp_path):
    work = tmp_path / "work"
    assert tool.main(words(work)) == 0
    judged = ["evaluate"] * 3
    assert [command[0] for command in tool.runs] == ["train", *judged, *judged, "fit-leaves", *judged]
    assert tool.runs[0][2] == str((tmp_path / "a.zarr").resolve())
    table = (work / "experiments.md").read_text()
    rows, commands = table.split("\n\n")
    assert len(rows.splitlines()) == 2 + 3
    assert rows.splitlines()[2] == "| 1 | as grown, one walk | 50.0 % | 50.0 % | 50.0 % | 50.0 % | 207 |"
    lines = commands.splitlines()
    assert lines[2].startswith("depthforest train --data a.zarr -o grown.safetensors")  # no folder of this machine
    assert [lines.index(f"# {number}") for number in (1, 2, 3)] == [1, 6, 10]  # each command once
    assert tool.main(words(work)) == 0
    assert len(tool.runs) == 11
    assert (work / "experiments.md").read_text() == table


@pytest.mark.parametrize(("grown", "counted", "judged"), ["def", "ghi"], ids=["near", "stereo"])
def test_rows_about_other_frames_see_them(tool, tmp_path, grown, counted, judged):
    tool.main([*words(tmp_path / "work")[:-1], "100"])
    given = [command for command in tool.runs if str(tmp_path / f"{grown}.zarr") in command]
    assert [command[0] for command in given] == ["train"]
    assert sum(str(tmp_path / f"{judged}.zarr") in command for command in tool.runs) == len(tool.ROWS)
    given = [command for command in tool.runs if str(tmp_path / f"{counted}.zarr") in command]
    assert [command[0] for command in given] == ["fit-leaves"] * 2
    assert all(command[command.index("--limit") + 1] == str(tool.FIT_FRAMES // 2) for command in given)
    made = [command[command.index("-o") + 1] for command in tool.runs if "-o" in command]
    assert len(set(made)) == len(made)  # no row takes another's file


def test_data_sets_of_one_name_are_refused(tool, tmp_path, capsys):
    """The commands of the table would not tell them apart, and the tool took one for the other."""
    with pytest.raises(SystemExit):
        tool.main(words(tmp_path / "work", frames="x/data", test="y/data"))
    said = capsys.readouterr().err
    assert "the data sets must have different names, got --frames" in said
    assert said.endswith("rename a folder\n")
    assert tool.runs == []
    assert not (tmp_path / "work").exists()


def test_other_data_sets_than_before_are_refused(tool, tmp_path, capsys):
    work = tmp_path / "work"
    tool.main(words(work))
    done = len(tool.runs)
    with pytest.raises(SystemExit):
        tool.main(words(work, test="other/c.zarr"))
    assert "work: was made of other data sets, see " in capsys.readouterr().err
    assert len(tool.runs) == done
    # the same ones by another way
    (tmp_path / "x").mkdir()
    tool.main(words(work, test="x/../c.zarr"))
    assert len(tool.runs) == done
