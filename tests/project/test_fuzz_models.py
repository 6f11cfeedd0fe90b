"""The fuzzer of model files finds what it should, and nothing in the loader."""

import subprocess
import sys
from pathlib import Path

import pytest

import depthforest as df

TOOLS = Path(__file__).resolve().parents[2] / "tools"


@pytest.fixture(scope="module")
def tools():
    """Return the modules (fuzz_models, model_mutants), imported as the script imports them."""
    sys.path.insert(0, str(TOOLS))
    try:
        import fuzz_models
        import model_mutants
    finally:
        sys.path.remove(str(TOOLS))
    return fuzz_models, model_mutants


@pytest.fixture(scope="module")
def valid(tools, tmp_path_factory):
    return tools[1].write_valid(tmp_path_factory.mktemp("valid"))


def test_the_loader_survives_a_short_run(tools, valid):
    fuzzer, mutants = tools
    n_cases = 640
    report = fuzzer.fuzz(n_cases, fuzzer.child_command(valid, 5, n_cases))
    assert report.failures == []
    assert sum(report.counts.values()) == n_cases
    for kind in mutants.MUTATIONS:
        assert report.counts[kind, fuzzer.REFUSED] > 30
    assert report.counts["arrays", fuzzer.LOADED] > 5
    assert report.counts["metadata", fuzzer.LOADED] > 5
    last = str(report).splitlines()[-1].split()
    assert last[0] == "all"
    assert last[3] == "0"
    assert sum(map(int, last[1:])) == n_cases


def test_a_mutant_depends_on_seed_and_number_alone(tools, valid):
    mutant = tools[1].mutant
    files = [path.read_bytes() for path in valid]
    one = [mutant(files, 3, case) for case in range(60)]
    assert [mutant(files, 3, case) for case in reversed(range(60))] == one[::-1]
    assert len({raw for _, raw in one}) > 50
    assert {kind for kind, _ in one} == set(tools[1].MUTATIONS)
    assert [mutant(files, 4, case) for case in range(60)] != one


def fake_child(body, n_cases=6):
    """Return the commands of a child that says of every case what `body` makes `outcome`."""
    code = (
        "import json, os, sys, time\n"
        f"for case in range(int(sys.argv[1]), {n_cases}):\n"
        "    print(json.dumps([case, 'bytes']), flush=True)\n"
        "    outcome = 'refused'\n"
        f"    {body}\n"
        "    print(json.dumps([case, 'bytes', outcome]), flush=True)\n"
    )
    return lambda first: [sys.executable, "-c", code, str(first)]


def test_a_crash_is_found_and_the_rest_is_run(tools):
    fuzzer = tools[0]
    report = fuzzer.fuzz(6, fake_child("if case in (2, 5): os.abort()"))
    assert [(case, kind) for case, kind, _ in report.failures] == [(2, "bytes"), (5, "bytes")]
    assert all("crashes: exit -6" in what for _, _, what in report.failures)
    assert report.counts == {("bytes", "refused"): 4, ("bytes", "failed"): 2}


def test_a_hang_is_found_and_the_rest_is_run(tools):
    fuzzer = tools[0]
    report = fuzzer.fuzz(6, fake_child("if case == 3: time.sleep(1000)"), seconds=2)
    assert [(case, what) for case, _, what in report.failures] == [(3, "hangs: nothing came for 2 s")]
    assert report.counts["bytes", "refused"] == 5


def test_other_errors_are_failures(tools):
    report = tools[0].fuzz(6, fake_child("if case == 1: outcome = 'TypeError while loading'"))
    assert report.failures == [(1, "bytes", "TypeError while loading")]


def test_a_child_that_does_not_work_is_no_result(tools):
    fuzzer = tools[0]
    with pytest.raises(RuntimeError, match="the child does not begin"):
        fuzzer.fuzz(6, lambda _: [sys.executable, "-c", "raise SystemExit('broken')"])
    with pytest.raises(RuntimeError, match="the child stops after case 2"):
        fuzzer.fuzz(6, fake_child("if case == 3: pass", n_cases=3))


@pytest.mark.parametrize(
    ("check", "expected"),
    [
        ("depthforest.trees.columns.check_links", "IndexError while using"),
        ("depthforest.trees.columns.check_rows", "AssertionError while using: 'distributions that sum"),
        ("depthforest.base.modelfile._check_names", "KeyError while loading"),
    ],
)
def test_a_missing_check_is_found(tools, valid, check, expected):
    """The fuzzer would notice if one of the loader's checks were lost."""
    fuzzer = tools[0]
    module, _, function = check.rpartition(".")
    code = (
        f"import sys; sys.path.insert(0, {str(TOOLS)!r})\n"
        f"import importlib; importlib.import_module({module!r}).{function} = lambda *_: None\n"
        "import fuzz_models; from pathlib import Path\n"
        "fuzz_models.run_cases([Path(p) for p in sys.argv[2:]], 1, int(sys.argv[1]), 300)\n"
    )
    report = fuzzer.fuzz(300, lambda first: [sys.executable, "-c", code, str(first), *map(str, valid)], seconds=3)
    assert any(what.startswith(expected) for _, _, what in report.failures), report.failures


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux to limit memory")
def test_a_child_cannot_take_much_memory():
    code = (
        f"import sys; sys.path.insert(0, {str(TOOLS)!r})\n"
        "import numpy as np, fuzz_models\n"
        "fuzz_models.limit_memory(fuzz_models.MEMORY_MB)\n"
        "np.ones(2**24, np.uint8)\n"
        "try: np.ones(2**29, np.uint8)\n"
        "except MemoryError: print('refused')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=600)
    assert done.stdout == "refused\n"


def test_what_is_wrong_with_a_file(tools, tmp_path, monkeypatch):
    fuzzer, mutants = tools
    path = mutants.write_valid(tmp_path)[1]
    assert fuzzer.try_file(path) == "loaded"
    path.write_bytes(path.read_bytes()[:-1])
    assert fuzzer.try_file(path) == "refused"

    def failing(error):
        def load(_):
            raise error

        return load

    monkeypatch.setattr(df.Forest, "load", failing(MemoryError("much")))
    assert fuzzer.try_file(path) == "MemoryError while loading: 'much'"

    class WildError(df.DepthForestError):
        """An error whose text nothing tames."""

        def __str__(self):
            return self.args[0]

    for text in ("two\nlines", "x" * 9999, "\x1b[31m"):
        monkeypatch.setattr(df.Forest, "load", failing(WildError(text)))
        assert fuzzer.try_file(path).startswith("a message that is not one short line")


def test_one_mutant_can_be_looked_at(tools, tmp_path, monkeypatch, valid):
    fuzzer, mutants = tools
    monkeypatch.setattr(sys, "argv", ["fuzz_models.py", "--seed", "2", "--case", "7", "--keep", str(tmp_path / "kept")])
    assert fuzzer.main() == 0
    kind, raw = mutants.mutant([path.read_bytes() for path in valid], 2, 7)
    assert (tmp_path / "kept" / f"2_7_{kind}.safetensors").read_bytes() == raw


def test_valid_forests_are_different(tools):
    forests = tools[1].valid_forests()
    assert [forest.n_trees for forest in forests] == [1, 2, 3, 2, 1, 1]
    assert [forest.n_facings for forest in forests] == [1, 1, 1, 4, 1, 2]
    assert [forest.smooth_m for forest in forests] == [0, 0, 0, 0.03, 0.25, 0]
    assert forests[0].n_nodes == 0
    assert [len(forest.parts) for forest in forests] == [3, 3, 31, 3, 31, 3]
    assert [forest.context is not None for forest in forests] == [False] * 5 + [True]
    assert forests[1].mirror
