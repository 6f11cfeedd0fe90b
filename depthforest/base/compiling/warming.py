"""Warming up: kernels compiled in several processes at once, before a command needs them.

A task is a named, small but real piece of work that calls the kernels of a stage. Each runs in a process of its own and
leaves its compiled kernels in the cache on disk, where the command finds them. Nothing depends on this: the command
itself compiles whatever a task missed or a failed process left out. A mark in the cache folder says that a task was
done with these sources, this numba, Python and processor, so a warm start only looks for a file.
"""

from __future__ import annotations

import gc
import hashlib
import os
import platform
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from depthforest.base.compiling.cache import PACKAGES, cache_folder, is_writable, not_kept
from depthforest.base.threads import thread_count

SWITCH = "DEPTHFOREST_WARM_UP"
"""Environment variable: 0 keeps commands from starting compile processes. Those processes themselves run with 0."""

_FRAME_SLOTS = 2**17
"""Size of the frame below all compiling: one megabyte. Python keeps call frames in 16 kB chunks. A loop of calls at the
end of a chunk allocates and frees the next one each time, which cost up to 2 of 10 seconds."""


class WarmUp(NamedTuple):
    """Progress of compiling: kernels so far, tasks done, and tasks in all."""

    kernels: int
    done: int
    tasks: int


def is_needed(tasks: Sequence[str]) -> bool:
    """Return whether tasks are left and processes can do them: several cores and a folder for kernels."""
    folder = cache_folder()
    if folder is None or os.environ.get(SWITCH) == "0" or not _is_compiling():
        return False
    return bool(tasks_left(tasks)) and thread_count() > 1 and is_writable(folder)


def tasks_left(tasks: Sequence[str]) -> list[str]:
    """Return the tasks that were not done yet."""
    folder = cache_folder()
    return [task for task in tasks if folder is None or not _mark(folder, task).exists()]


def warm_up(
    tasks: Sequence[str], runner: str, *, processes: int | None = None, tell: Callable[[WarmUp], None] | None = None
) -> list[str]:
    """Do tasks in processes, as many at a time as there are cores; return one line for each failure.

    Parameters
    ----------
    tasks : sequence of str
        Names, the longest first.
    runner : str
        Module whose `python -m RUNNER TASK` calls `run_task`.
    processes : int, optional
        Processes at a time. Default: as many as threads.
    tell : callable, optional
        Called with the progress from time to time.
    """
    waiting = list(tasks)
    running: list[_Child] = []
    failures: list[str] = []
    done = kernels = 0
    try:
        while waiting or running:
            while waiting and len(running) < thread_count(processes):
                running.append(_Child(waiting.pop(0), runner))
            running[0].wait(0.1)
            for child in [child for child in running if child.process.poll() is not None]:
                running.remove(child)
                failures += child.failures()
                done, kernels = done + 1, kernels + child.kernels
            if tell is not None:
                tell(WarmUp(kernels + sum(child.kernels for child in running), done, len(tasks)))
    finally:  # also at Ctrl-C
        for child in running:
            child.end()
    return failures


class _Child:
    """A process that does one task; it prints a line for each kernel that it compiles."""

    def __init__(self, task: str, runner: str) -> None:
        self.task, self.kernels, self.last = task, 0, ""
        path = os.pathsep.join(filter(None, (str(PACKAGES), os.environ.get("PYTHONPATH"))))
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", runner, task],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=os.environ | {SWITCH: "0", "PYTHONPATH": path},
            text=True,
            errors="replace",
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            for line in lines:
                if line == _COMPILED:
                    self.kernels += 1
                elif line.strip():
                    self.last = line.strip()

    def wait(self, seconds: float) -> None:
        """Wait for its end, at most this many seconds."""
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(seconds)

    def end(self) -> None:
        """End it at once."""
        self.process.kill()
        self.process.wait()
        self._reader.join()

    def failures(self) -> list[str]:
        """Return why the ended process failed, if it did."""
        self._reader.join()
        code = self.process.returncode
        return [f"{self.task}: {self.last or f'exit code {code}'}"] if code else []


_COMPILED = "compiled\n"


def run_task(name: str, task: Callable[[], object]) -> None:
    """Do a task in this process, print a line for each compiled kernel, and leave a mark."""
    from numba.core import event

    class Listener(event.Listener):  # type: ignore[misc]
        def on_start(self, event: Any) -> None:
            pass

        def on_end(self, event: Any) -> None:
            if event.data["dispatcher"].py_func.__module__.startswith(("depthforest.", "synth.")):
                sys.stdout.write(_COMPILED)
                sys.stdout.flush()

    event.register("numba:compile", Listener())
    gc.disable()  # compiling makes millions of long-lived objects: 9 % less time for 100 MB more
    _call(task)
    if not_kept:
        sys.exit(not_kept[0])
    folder = cache_folder()
    if folder is not None:
        with suppress(OSError):
            _mark(folder, name).touch()


def _call(task: Callable[[], object]) -> None:
    task()


_call.__code__ = _call.__code__.replace(co_stacksize=_FRAME_SLOTS)


def _is_compiling() -> bool:
    import numba

    return not numba.config.DISABLE_JIT


def _mark(folder: Path, task: str) -> Path:
    import numba
    from llvmlite import binding  # type: ignore[import-untyped]

    made_by = (numba.__version__, platform.python_version(), binding.get_host_cpu_name(), platform.machine())
    return folder / f"warm-{task.replace(' ', '-')}-{hashlib.sha256(repr(made_by).encode()).hexdigest()[:8]}"
