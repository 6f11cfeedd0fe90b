"""Time the first run: label and fits with no compiled kernels, each in a new process and a new cache folder.

Run `python benchmarks/first_run.py --help` for its options. For each action: wall time and processor time (with all
child processes) of the first and the second run. `label` runs both with compiling in the command itself (one process)
and with parallel processes. Fits in Python never start processes.

On a busy machine, use the processor time: with p processes, the wall time on a quiet one is at least a p-th of the
total, and at least that of the longest process. It takes two to three minutes.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

SAMPLE = Path(__file__).resolve().parents[1] / "depthforest" / "_samples" / "depth" / "two_people.png"
FITS = (
    "RandomForestClassifier",
    "ExtraTreesClassifier",
    "GradientBoostingClassifier",
    "NewtonBoostingClassifier",
    "AdaBoostClassifier",
    "LambdaMART",
)
FIT = """
import sys
import numpy as np
from depthforest import ensemble
rng = np.random.default_rng(0)
x = rng.normal(size=(600, 8))
y = np.digitize(x[:, 0] + rng.normal(size=600), (-0.5, 0.5))
estimator = getattr(ensemble, sys.argv[1])()
estimator.fit(x, y, qid=np.repeat(np.arange(20), 30)) if sys.argv[1] == "LambdaMART" else estimator.fit(x, y)
"""
AIMS = {"label": 15.0, "fit": 12.0}
"""Wall time in seconds on two cores."""


class Seconds(NamedTuple):
    """Wall time and processor time, with all child processes, of one run."""

    clock: float
    processor: float


def run(words: list[str], folder: Path, *, is_warmed: bool) -> Seconds:
    """Run a command with kernels kept in a folder."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder), "DEPTHFOREST_WARM_UP": "1" if is_warmed else "0"}
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, *words], env=environment, check=True, stdout=subprocess.DEVNULL)
    clock, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return Seconds(clock, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def show(name: str, words: list[str], *, is_warmed: bool, aim: float | None = None) -> None:
    """Time the first and the second run, and print them in a line."""
    with tempfile.TemporaryDirectory() as folder:
        output = ["-o", str(Path(folder) / "first")] if "label" in words else []
        first = run([*words, *output], Path(folder) / "kernels", is_warmed=is_warmed)
        output = ["-o", str(Path(folder) / "second")] if "label" in words else []
        second = run([*words, *output], Path(folder) / "kernels", is_warmed=is_warmed)
    figures = f"{first.clock:7.1f} {first.processor:10.1f} {second.clock:8.1f} {second.processor:10.1f}"
    print(f"{name:32s} {figures}", flush=True)
    if aim is not None:
        print(f"aim: first run, nothing compiled: {name}: {first.clock:.1f} s, at most {aim:.0f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fits", default=",".join(FITS), help="estimators, by comma; none with ''")
    options = parser.parse_args()
    print(f"{os.cpu_count()} cores; seconds of the first and second run by the clock and of the processor")
    print(f"{'':32s} {'clock':>7s} {'processor':>10s} {'clock':>8s} {'processor':>10s}")
    label = ["-m", "depthforest", "label", str(SAMPLE), "--camera", "kinect_v1@320x240"]
    label += ["--write", "parts,overlay,joints"]
    show("label, one process", label, is_warmed=False)
    show("label, a process for each core", label, is_warmed=True, aim=AIMS["label"])
    for name in filter(None, options.fits.split(",")):
        show(f"{name}.fit", ["-c", FIT, name], is_warmed=False, aim=AIMS["fit"])


if __name__ == "__main__":
    main()
