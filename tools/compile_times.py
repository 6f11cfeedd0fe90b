"""List what an action compiles: each kernel and signature, its processor seconds, and the kernel that needed it.

python tools/compile_times.py label
python tools/compile_times.py fit:RandomForestClassifier --top 40 --signatures
python tools/compile_times.py train synth

The actions run one after the other in this process, with an empty cache of compiled kernels; a kernel counts for the
first action that needs it. Seconds are those of the kernel alone, without the kernels that it calls, which numba
compiles separately. Inlined kernels have no line of their own: their time is part of their callers', once for each
call.
"""

from __future__ import annotations

import argparse
import inspect
import os
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any


@dataclass
class Compiled:
    """One kernel for one signature."""

    name: str
    signature: str
    caller: str
    began: float
    seconds: float = 0.0
    inner: float = 0.0
    passes: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    library: dict[str, float] = field(default_factory=lambda: defaultdict(float))

    @property
    def own(self) -> float:
        """Seconds without those of the kernels that it calls."""
        return self.seconds - self.inner


class Recorder:
    """Listens to numba's events; `done` has the compiled kernels, in the order in which they were finished.

    numba reports a kernel that is compiled inside another one; the stack shows which one needed it. Passes are also
    timed, unless they belong to an inner kernel.
    """

    def __init__(self) -> None:
        from numba.core import event

        self.done: list[Compiled] = []
        self._own = threading.local()
        listener = type("Listener", (event.Listener,), {"on_start": self._on_start, "on_end": self._on_end})
        for kind in ("numba:compile", "numba:run_pass"):
            event.register(kind, listener())

    def _stack(self) -> list[Compiled]:
        if not hasattr(self._own, "stack"):
            self._own.stack = []
        stack: list[Compiled] = self._own.stack
        return stack

    def _on_start(self, event: Any) -> None:
        stack = self._stack()
        if event.kind == "numba:run_pass":
            if stack:
                stack[-1].passes[event.data["name"].split()[0]] -= time.thread_time() - stack[-1].inner
            return
        function = event.data["dispatcher"].py_func
        name = f"{function.__module__}.{function.__qualname__}"
        caller = stack[-1].name if stack else _python_caller()
        signature = ", ".join(str(kind) for kind in event.data["args"])
        stack.append(Compiled(name, signature, caller, time.thread_time()))

    def _on_end(self, event: Any) -> None:
        stack = self._stack()
        if event.kind == "numba:run_pass":
            if stack:
                stack[-1].passes[event.data["name"].split()[0]] += time.thread_time() - stack[-1].inner
            return
        one = stack.pop()
        one.seconds = time.thread_time() - one.began
        if stack:
            stack[-1].inner += one.seconds
        ours = [outer for outer in stack if not outer.name.startswith("numba.")]
        if one.name.startswith("numba.") and ours:
            ours[-1].library[one.name.removeprefix("numba.")] += one.own
        self.done.append(one)


def _python_caller() -> str:
    """Return the function of the package that called the kernel being compiled."""
    for frame in inspect.stack(context=0):
        module = frame.frame.f_globals.get("__name__", "")
        if module.startswith(("depthforest.", "synth.")):
            return f"{module}.{frame.function} (Python)"
    return "Python"


def label(folder: Path) -> None:
    """Label one sample frame, as the command does."""
    from depthforest.base import samples_folder
    from depthforest.cli.commands import app

    sample = samples_folder() / "depth" / "two_people.png"
    app(
        ["label", str(sample), "-o", str(folder / "label"), "--camera", "kinect_v1@320x240"]
        + ["--write", "parts,overlay,joints"],
        standalone_mode=False,
    )


def demo(folder: Path) -> None:
    """Label the samples."""
    from depthforest.cli.commands import app

    app(["demo", "-o", str(folder / "demo")], standalone_mode=False)


def synth(folder: Path) -> None:
    """Make two synthetic frames."""
    from depthforest.cli.commands import app

    app(["synth", "-n", "2", "-o", str(folder / "synth")], standalone_mode=False)


def train(folder: Path) -> None:
    """Train a small forest on two synthetic frames."""
    from depthforest.cli.commands import app

    words = ["train", "-o", str(folder / "forest.safetensors"), "--frames", "2", "--trees", "1", "--depth", "6"]
    app(words, standalone_mode=False)


def fit(name: str, _folder: Path) -> None:
    """Fit an estimator to a small table."""
    import numpy as np

    from depthforest import ensemble

    rng = np.random.default_rng(0)
    x = rng.normal(size=(600, 8))
    y: Any = x[:, 0] + rng.normal(size=600)
    estimator = getattr(ensemble, name)()
    if name.endswith("Classifier"):
        y = np.digitize(y, (-0.5, 0.5))
    elif not name.endswith("Regressor"):
        estimator.fit(x, np.digitize(y, (-0.5, 0.5)), qid=np.repeat(np.arange(20), 30))
        return
    estimator.fit(x, y)


ACTIONS: dict[str, Callable[[Path], None]] = {"label": label, "demo": demo, "synth": synth, "train": train}


def show(done: list[Compiled], top: int, *, has_signatures: bool) -> None:
    """Print the most expensive kernels, the numba functions that they need, and kernels compiled more than once."""
    ours = [one for one in done if not one.name.startswith("numba.")]
    print(f"{len(ours)} kernels {_seconds(ours)}, {len(done) - len(ours)} functions of numba {_seconds(done, ours)}")
    totals: dict[str, float] = defaultdict(float)
    for one in done:
        for name, seconds in one.passes.items():
            totals[name] += seconds
    print("passes: " + _dearest(totals, 6))
    print("alone  of numba  kernel <- caller")
    for one in sorted(ours, key=lambda one: -one.own - sum(one.library.values()))[:top]:
        print(
            f"{one.own:5.2f}  {sum(one.library.values()):5.2f}  {one.name} <- {one.caller}  {_dearest(one.library, 4)}"
        )
        if has_signatures:
            print(f"        {one.signature}")
    groups: dict[str, list[Compiled]] = defaultdict(list)
    for one in ours:
        groups[one.name].append(one)
    print("compiled more than once:")
    for name, several in sorted(groups.items(), key=lambda item: -sum(one.own for one in item[1])):
        if len(several) > 1:
            print(f"{sum(one.own for one in several):5.2f}  {name}: {len(several)} signatures")
            for one in several:
                print(f"       {one.own:5.2f}  <- {one.caller}: {one.signature}")


def _seconds(done: list[Compiled], without: list[Compiled] | None = None) -> str:
    return f"{sum(one.own for one in done) - sum(one.own for one in without or []):.2f} s"


def _dearest(seconds: dict[str, float], n: int) -> str:
    return ", ".join(f"{name} {of:.2f}" for name, of in sorted(seconds.items(), key=lambda item: -item[1])[:n])


def main() -> None:
    """Run the actions with a new cache folder, and list what each has compiled."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("actions", nargs="+", help=f"{', '.join(ACTIONS)}, or fit:NAME of an estimator")
    parser.add_argument("--top", type=int, default=20, help="kernels to list (20)")
    parser.add_argument("--signatures", action="store_true", help="show the types of their arguments")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["NUMBA_CACHE_DIR"] = str(Path(folder) / "cache")
        recorder = Recorder()
        for action in options.actions:
            run = partial(fit, action.removeprefix("fit:")) if action.startswith("fit:") else ACTIONS[action]
            before, wall, cpu = len(recorder.done), time.perf_counter(), time.process_time()
            run(Path(folder))
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            print(f"== {action}: {wall:.1f} s, of the processor {cpu:.1f} s")
            show(recorder.done[before:], options.top, has_signatures=options.signatures)


if __name__ == "__main__":
    main()
