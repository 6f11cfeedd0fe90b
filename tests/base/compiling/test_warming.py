"""Processes that compile before a command does: that they do their tasks, and that nothing depends on them."""

import os
import textwrap

import numba
import pytest

from depthforest.base.compiling import warming

pytestmark = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")

RUNNER = """
import os, sys, time
from depthforest.base import run_task

def compile_one():
    from depthforest.io.lzf import decompress
    decompress(bytes([0, 65, 32, 0]), 4)

def fail():
    raise ValueError("no luck")

def die():
    os.kill(os.getpid(), 9)

def sleep():
    open(os.environ["STARTED"] + str(os.getpid()), "w").close()
    time.sleep(60)

def look():
    assert os.environ["DEPTHFOREST_WARM_UP"] == "0"

def fill_the_disk():
    from depthforest.base.compiling import cache
    def refuse(*_):
        raise OSError(28, "No space left on device")
    cache.caching.FunctionCache.save_overload = refuse
    compile_one()

tasks = {"good": compile_one, "bad": fail, "dead": die, "slow": sleep, "inner": look, "full": fill_the_disk}
run_task(sys.argv[1], tasks[sys.argv[1]])
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return an empty folder for kernels, with a module `runner` that does tasks."""
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "runner.py").write_text(textwrap.dedent(RUNNER))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "code"))
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "kernels"))
    monkeypatch.setenv("STARTED", str(tmp_path / "started"))
    monkeypatch.delenv(warming.SWITCH, raising=False)
    monkeypatch.setattr(warming, "thread_count", lambda n=None: n or 2)
    warming.cache_folder.cache_clear()
    yield warming.cache_folder()
    monkeypatch.undo()
    warming.cache_folder.cache_clear()


def test_a_task_compiles_and_leaves_a_mark(folder):
    told = []
    assert warming.is_needed(["good"])
    assert warming.warm_up(["good"], "runner", tell=told.append) == []
    assert told[-1] == warming.WarmUp(kernels=1, done=1, tasks=1)
    assert not warming.is_needed(["good"])
    assert warming.is_needed(["good", "another"])
    assert warming.tasks_left(["good", "another"]) == ["another"]
    assert len(list(folder.parent.rglob("*.nbc"))) == 1
    assert warming.warm_up(["good"], "runner", tell=told.append) == []
    assert told[-1].kernels == 0


def test_what_cannot_be_kept_is_a_failure(folder):
    (failure,) = warming.warm_up(["full"], "runner")
    assert failure.startswith(f"full: compiled kernels cannot be kept in {folder.parent}{os.sep}")
    assert failure.endswith("No space left on device")
    assert warming.tasks_left(["full"]) == ["full"]


@pytest.mark.parametrize("processes", [1, 2, 8])
@pytest.mark.usefixtures("folder")
def test_what_fails_is_told_and_leaves_no_mark(processes):
    told = []
    failures = warming.warm_up(["bad", "inner", "dead"], "runner", processes=processes, tell=told.append)
    assert sorted(failures) == ["bad: ValueError: no luck", "dead: exit code -9"]
    assert told[-1] == warming.WarmUp(0, 3, 3)
    assert not warming.is_needed(["inner"])
    assert warming.is_needed(["bad"])
    assert warming.is_needed(["dead"])


@pytest.mark.usefixtures("folder")
def test_ctrl_c_ends_the_processes(tmp_path):
    def interrupt(_):
        if len(list(tmp_path.glob("started*"))) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        warming.warm_up(["slow", "slow", "slow"], "runner", tell=interrupt)
    started = [int(path.name.removeprefix("started")) for path in tmp_path.glob("started*")]
    assert len(started) == 2
    for process in started:
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)


@pytest.mark.usefixtures("folder")
def test_no_processes_where_they_cannot_help(monkeypatch):
    assert warming.is_needed(["good"])
    with monkeypatch.context() as patch:
        patch.setenv(warming.SWITCH, "0")
        assert not warming.is_needed(["good"])
    with monkeypatch.context() as patch:
        patch.setattr(warming, "thread_count", lambda _=None: 1)
        assert not warming.is_needed(["good"])
    with monkeypatch.context() as patch:
        patch.setattr(numba.config, "DISABLE_JIT", 1)
        assert not warming.is_needed(["good"])
    with monkeypatch.context() as patch:
        patch.setattr(warming, "cache_folder", lambda: None)
        assert not warming.is_needed(["good"])
    with monkeypatch.context() as patch:
        patch.setattr(warming, "is_writable", lambda _: False)
        assert not warming.is_needed(["good"])


@pytest.mark.usefixtures("folder")
def test_another_numba_warms_up_again(monkeypatch):
    warming.warm_up(["inner"], "runner")
    monkeypatch.setattr(numba, "__version__", "1000.0")
    assert warming.is_needed(["inner"])
