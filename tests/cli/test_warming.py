"""The tasks of `depthforest warm-up`: they compile all that commands and first fits need, and the command says so."""

import json
import os
import subprocess
import sys

import numba
import pytest
from support.command import run_here

from depthforest.base import samples_folder
from depthforest.cli import warming

pytestmark = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")

# the kernels that a process has called, with their types, and how many of them were compiled
LISTED = """
import json, sys
from numba.core.dispatcher import Dispatcher
listed, n_compiled = set(), 0
for module in [m for name, m in sys.modules.items() if name.startswith(("depthforest", "synth"))]:
    for value in list(vars(module).values()):
        if isinstance(value, Dispatcher):
            listed |= {f"{value.__module__}.{value.__qualname__}{types}" for types in value.signatures}
            n_compiled += sum(value.stats.cache_misses.values())
print(json.dumps([n_compiled, sorted(listed)]))
"""

LABEL = f"""
from depthforest.cli.commands import app
for name in ("two_people", "on_chair"):
    app(["label", rf"{samples_folder()}/depth/{{name}}.png", "-o", sys.argv[1], "--camera", "kinect_v1@320x240",
         "--write", "parts,overlay,joints,confidence", "--force"], standalone_mode=False)
"""

FIT = """
import numpy as np
from depthforest import ensemble
x = np.random.default_rng(1).normal(size=(150, 3))
y = np.digitize(x[:, 0], (-0.3, 0.4))
for name in sys.argv[1].split(","):
    estimator = getattr(ensemble, name)(n_estimators=3)
    estimator.fit(x, y, qid=np.repeat(np.arange(15), 10)) if name == "LambdaMART" else estimator.fit(x, y)
    estimator.predict(x)
"""


def kernels_of(code, *words):
    """Return the kernels that code calls from Python; once more if it compiles, which calls those inside of others."""
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\n{code}\n{LISTED}", *map(str, words)],
        env=os.environ | {"DEPTHFOREST_WARM_UP": "0"}, capture_output=True, text=True, check=True,
        timeout=600,
    )  # fmt: skip
    n_compiled, kernels = json.loads(done.stdout.splitlines()[-1])
    return kernels_of(code, *words) if n_compiled else set(kernels)


def kernels_of_tasks(names):
    code = "from depthforest.cli.warming import TASKS\nTASKS[sys.argv[1]]()"
    return set().union(*(kernels_of(code, name) for name in names))


@pytest.mark.parametrize("n_cores", [2, 8])
def test_the_tasks_of_label_compile_all_that_it_calls(tmp_path, monkeypatch, n_cores):
    monkeypatch.setattr("depthforest.base.thread_count", lambda: n_cores)
    assert len(warming.label_tasks()) == (2 if n_cores == 2 else 3)
    needed = kernels_of(LABEL, tmp_path / "out")
    assert len(needed) > 20
    assert needed - kernels_of_tasks(warming.label_tasks()) == set()


@pytest.mark.slow
def test_the_tasks_of_train_compile_all_that_it_calls(tmp_path):
    words = ["train", "-o", str(tmp_path / "f.safetensors"), "--frames", "3", "--trees", "1", "--depth", "6"]
    needed = kernels_of(f"from depthforest.cli.commands import app\napp({[*words, '--resume']}, standalone_mode=False)")
    assert len(needed) > 20
    assert needed - kernels_of_tasks(warming.TRAIN) == set()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "names"),
    [
        ("forests", "RandomForestClassifier,RandomForestRegressor,BaggingClassifier,AdaBoostClassifier"),
        ("extra trees", "ExtraTreesClassifier,ExtraTreesRegressor"),
        (
            "boosting",
            "GradientBoostingClassifier,GradientBoostingRegressor,NewtonBoostingClassifier,NewtonBoostingRegressor,"
            "LambdaMART",
        ),
    ],
)
def test_the_tasks_of_ensembles_compile_all_that_a_fit_calls(task, names):
    needed = kernels_of(FIT, names)
    assert len(needed) > 4
    assert needed - kernels_of_tasks([task]) == set()


def test_the_command_compiles_and_says_where(monkeypatch):
    done = []
    monkeypatch.setattr("depthforest.base.warm_up", lambda tasks, *_, **__: done.append(list(tasks)) or [])
    monkeypatch.setattr("depthforest.base.tasks_left", list)
    for words in ([], ["--all"]):
        result = run_here("warm-up", *words)
        assert result.returncode == 0, result.stderr
        assert result.stdout.startswith(b"compiled into ")
    label = list(warming.label_tasks())
    assert done == [label, [*label, *warming.OTHERS]]
    assert {*warming.OTHERS, *label} <= set(warming.TASKS)


def test_the_command_says_that_all_is_done(monkeypatch):
    monkeypatch.setattr("depthforest.base.tasks_left", lambda _: [])
    assert run_here("warm-up").stdout.startswith(b"compiled before, in ")


def test_a_named_folder_that_cannot_be_used_is_refused(monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file"))
    result = run_here("warm-up")
    assert result.returncode == 2
    assert f"NUMBA_CACHE_DIR={tmp_path / 'file'} is not a writable folder; name another" in result.stderr.decode()


def test_a_command_goes_on_after_a_failure(monkeypatch, capsys):
    monkeypatch.setattr("depthforest.base.is_needed", lambda _: True)
    monkeypatch.setattr("depthforest.base.warm_up", lambda *_, **__: ["labels: no luck", "people: no luck"])
    warming.compile_first(("labels", "people"))
    told = "compiling, once ...\ndepthforest: warning: labels: no luck; it is compiled again at every start\n"
    assert capsys.readouterr().err == told


def test_the_command_tells_of_what_failed(monkeypatch):
    monkeypatch.setattr("depthforest.base.tasks_left", list)
    monkeypatch.setattr("depthforest.base.warm_up", lambda *_, **__: ["labels: ValueError: no luck"])
    result = run_here("warm-up")
    assert result.returncode == 1
    assert result.stderr.endswith(b"depthforest: error: labels: ValueError: no luck\n")
    assert result.stdout == b""


def test_a_command_compiles_what_it_needs_first(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr("depthforest.cli.commands.compile_first", lambda tasks: asked.append(tasks))
    sample = samples_folder() / "depth" / "two_people.png"
    assert run_here("label", sample, "-o", tmp_path / "out", "--camera", "kinect_v1@320x240").returncode == 0
    assert asked == [warming.label_tasks()]
