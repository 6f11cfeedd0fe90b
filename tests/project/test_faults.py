"""tools/faults.py and tools/soak.py: their short forms."""

import sys
from pathlib import Path

import numpy as np
import pytest

import depthforest as df

TOOLS = Path(__file__).resolve().parents[2] / "tools"


@pytest.fixture
def tool(monkeypatch):
    monkeypatch.syspath_prepend(str(TOOLS))
    return __import__


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
@pytest.mark.parametrize(
    "names", [["show", "fit-convention", "import-pcl", "export"], ["train"], ["view"]], ids="-".join
)
def test_commands_survive_faults(tool, names):
    """The cheapest commands, one that goes on from a checkpoint, and the server."""
    if "view" in names:
        pytest.importorskip("uvicorn", reason="needs the extra [view]: uvicorn")
        pytest.importorskip("websockets", reason="needs the extra [view]: websockets")
    faults = tool("faults")
    trials = list(faults.run_all(names, 2 * len(names), seed=4))
    assert [trial for trial in trials if trial[2]] == []
    assert len(trials) == (2 + len(faults.FAULTS)) * len(names)


def test_every_command_that_writes_is_a_case(tool):
    from typer.main import get_command

    from depthforest.cli.commands import app

    tried = {case.words[0] for case in tool("faults").CASES.values()}
    assert set(get_command(app).commands) - tried == {
        "info",
        "warm-up",
    }  # a table; kernels, which come back by themselves


def test_what_is_wrong_is_told(tool, tmp_path, monkeypatch):
    """A command that leaves other bytes, or ends without a line, is found."""
    from subprocess import CompletedProcess

    faults = tool("faults")
    (tmp_path / "inputs").mkdir()
    monkeypatch.setattr(faults.Place, "run", lambda *_, **__: CompletedProcess([], 0, "", ""))
    place = faults.Place(tmp_path / "inputs", "show")
    assert place.difference() == ""
    (place.folder / "shown").mkdir()
    (place.folder / "shown" / "a.png").write_bytes(b"cut")
    assert place.difference().startswith("other files")
    bad = CompletedProcess([], 1, "", "Traceback (most recent call last)")
    assert faults.one_line(bad, place).startswith("not a clear line")
    assert faults.one_line(CompletedProcess([], 1, "", ""), place) == "exit 1 without a line: "
    assert faults.one_line(CompletedProcess([], 1, "", "depthforest: error: no space left"), place) == ""
    place.clear()
    assert place.difference() == ""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux to read memory")
def test_a_short_soak(tool, tmp_path):
    soak = tool("soak")
    camera = df.Camera(64, 64, 31.5, 23.5, 64, 48)
    frames = [df.Frame(p, camera) for p in soak.odd_pictures((48, 64), np.random.default_rng(0))]
    memory = soak.run(40, 20, 0, tmp_path / "soak.csv", frames)
    assert len(memory) == 2
    assert (tmp_path / "soak.csv").read_text().splitlines()[0] == "frames,resident_mb,ms_per_frame,people,joints"
