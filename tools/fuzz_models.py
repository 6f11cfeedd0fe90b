"""Fuzz the loaders of model files: random mutations of valid files must load a sound model or raise DepthForestError.

    python tools/fuzz_models.py -n 20000                          forests made here
    python tools/fuzz_models.py -n 20000 my.safetensors           and a file
    python tools/fuzz_models.py -n 20000 --ensembles              ensembles and rankers in place of forests
    python tools/fuzz_models.py --case 1234 --keep broken         write one mutant, to look at it

Cases run one after the other in a child process, with kernels that check their indices, a time limit for each file and
a limit of memory. The child reports the start and the result of each case, so that a crash or a hang can be attributed
to its case; then another child continues after it. A case only depends on the seed, its number and the valid files.
Exits with 1, and a line for each, if anything but a loaded model or a DepthForestError occurred.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from model_mutants import MUTATIONS, mutant, write_valid

import depthforest as df
from depthforest.base import DepthForestError, cache_folder, modelfile
from depthforest.cli.info import describe
from depthforest.frames import NO_PART
from depthforest.labeling import RULES

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

SECONDS = 10.0
"""Time limit of one file; a good one takes about a millisecond."""

START_SECONDS = 1800.0
"""Seconds until a child begins: it compiles its kernels, possibly on a busy machine."""

POLL_S = 0.1
"""Seconds between two checks of a child's output."""

MEMORY_MB = 256
"""Memory that a child may use in addition to what it has after the valid files, which have some kilobytes."""

MAX_MESSAGE_CHARS = 500

LOADED, REFUSED = "loaded", "refused"

ENSEMBLES = ("tree_ensemble", "rank_network")
"""Kinds of files that `depthforest.ensemble.load` reads."""

# -- the child ---------------------------------------------------------------------------------------------------------


def run_cases(paths: Sequence[Path], seed: int, first: int, last: int) -> None:
    """Try the cases from `first` to before `last`, saying on standard output what begins and how it ended."""
    faulthandler.enable()
    files = [path.read_bytes() for path in paths]
    for path in paths:
        outcome = try_file(path)
        if outcome != LOADED:
            raise SystemExit(f"{path}: must be a valid model: {outcome}")
    limit_memory(MEMORY_MB)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mutant.safetensors"
        for case in range(first, last):
            kind, raw = mutant(files, seed, case)
            path.write_bytes(raw)
            print(json.dumps([case, kind]), flush=True)
            print(json.dumps([case, kind, try_file(path)]), flush=True)


def try_file(path: Path) -> str:
    """Return `LOADED` for a model that works, `REFUSED` for a DepthForestError, else what is wrong."""
    try:
        model = load(path)
    except DepthForestError as error:
        text = str(error).replace(str(path), "")
        if len(text.splitlines()) != 1 or len(text) > MAX_MESSAGE_CHARS or not text.isprintable():
            return f"a message that is not one short line: {text[:200]!r}"
        return REFUSED
    except Exception as error:  # any exception is a finding
        return f"{type(error).__name__} while loading: {str(error)[:200]!r}"
    try:
        if isinstance(model, df.Forest):
            use(model)
            describe(path)
        else:
            from valid_ensembles import use_ensemble

            use_ensemble(model)
    except Exception as error:
        return f"{type(error).__name__} while using: {str(error)[:200]!r}"
    return LOADED


def load(path: Path) -> Any:
    """Return the forest or the ensemble in a file."""
    try:
        is_ensemble = modelfile.read(path).kind in ENSEMBLES
    except DepthForestError:
        is_ensemble = False  # no container: either loader says so
    if is_ensemble:
        # here, because forests need nothing of it
        from depthforest import ensemble

        return ensemble.load(path)
    return df.Forest.load(path)


def use(forest: df.Forest) -> None:
    """Label a small frame with holes, and check that labels are parts of the model and distributions sum to 1."""
    depth_mm = np.random.default_rng(0).integers(0, 4000, (5, 7)).astype(np.uint16)
    depth_mm[depth_mm < 500] = 0
    frame = df.Frame(depth_mm, df.Camera(30.0, 34.0, 3.0, 2.0, 7, 5))
    for mirror in (False, True):
        labels = forest.predict(frame, mirror=mirror)
        if not ((labels < len(forest.parts)) == (depth_mm > 0)).all() or (labels[depth_mm == 0] != NO_PART).any():
            raise AssertionError(f"labels {np.unique(labels).tolist()} of {len(forest.parts)} parts")
        for rule in RULES:
            found = forest.label(frame, mirror=mirror, rule=rule, smooth=0).parts
            if not (np.array_equal(found, labels) if rule == "mean" else ((found < 255) == (depth_mm > 0)).all()):
                raise AssertionError(f"labels by {rule} that are not those of the walk")
        smoothed = forest.label(frame, mirror=mirror).parts
        if not ((smoothed < len(forest.parts)) == (depth_mm > 0)).all():
            raise AssertionError(f"smoothed labels {np.unique(smoothed).tolist()} of {len(forest.parts)} parts")
        sums = forest.walk(frame, mirror=mirror).sum(axis=1)
        if not np.allclose(sums, depth_mm.ravel() > 0, atol=1e-5):
            raise AssertionError(f"distributions that sum to {np.unique(sums).tolist()}")


def limit_memory(extra_mb: int) -> None:
    """Limit the memory that this process may use in addition to what it has, if the system can."""
    status = Path("/proc/self/statm")
    if resource is not None and status.exists():
        n_bytes = int(status.read_text().split()[0]) * resource.getpagesize() + extra_mb * 2**20
        resource.setrlimit(resource.RLIMIT_AS, (n_bytes, resource.getrlimit(resource.RLIMIT_AS)[1]))


# -- the parent --------------------------------------------------------------------------------------------------------


@dataclass
class Report:
    """Results: cases by (kind, outcome), and (case, kind, what) of each failure."""

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    failures: list[tuple[int, str, str]] = field(default_factory=list)

    def add(self, case: int, kind: str, outcome: str) -> None:
        """Count a case."""
        is_good = outcome in (LOADED, REFUSED)
        self.counts[kind, outcome if is_good else "failed"] += 1
        if not is_good:
            self.failures.append((case, kind, outcome))

    def __str__(self) -> str:
        columns = (LOADED, REFUSED, "failed")
        lines = ["".join(f"{title:>10}" for title in ("", *columns))]
        for kinds in (*((kind,) for kind in MUTATIONS), tuple(MUTATIONS)):
            sums = [sum(self.counts[kind, outcome] for kind in kinds) for outcome in columns]
            title = kinds[0] if len(kinds) == 1 else "all"
            lines.append(f"{title:>10}" + "".join(f"{n:>10}" for n in sums))
        return "\n".join(lines)


def fuzz(
    n_cases: int,
    command: Callable[[int], list[str]],
    *,
    first: int = 0,
    seconds: float = SECONDS,
    progress: Callable[[int], None] = lambda _: None,
    report: Report | None = None,
) -> Report:
    """Run all cases in child processes and return the report.

    Parameters
    ----------
    n_cases : int
    command : callable
        From the number of a case to the command of a child that runs this case and those after it, as `run_cases` does.
    first : int
        The case to begin with.
    seconds : float
        Time limit of one case.
    progress : callable
        Called with the number of each finished case.
    report : Report, optional
        To add to.
    """
    report = Report() if report is None else report
    while first < n_cases:
        first = _supervise(command(first), first, n_cases, report, seconds, progress)
    return report


def _supervise(
    command: list[str], first: int, last: int, report: Report, seconds: float, progress: Callable[[int], None]
) -> int:
    """Run one child until it has done all cases, crashes or hangs; return the first case that is left."""
    folder = cache_folder()
    case, kind, outcome, what = first - 1, "", "", ""
    with tempfile.TemporaryDirectory() as spare:
        # indices are checked; kernels compiled so must not be mixed with the others
        cache = str(folder / "boundscheck") if folder else spare
        environment = os.environ | {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": cache}
        told, complaints = Path(spare, "told"), Path(spare, "complaints")
        with told.open("wb") as output, complaints.open("wb") as errors:
            child = subprocess.Popen(command, stdout=output, stderr=errors, env=environment)
        try:
            since = time.monotonic()
            for news in _listen(child, told):
                for entry in news:
                    case, kind, outcome = (*entry, "")[:3]
                    if outcome:
                        report.add(case, kind, outcome)
                        progress(case)
                since = time.monotonic() if news else since
                if time.monotonic() - since > (seconds if kind else START_SECONDS):
                    what = f"hangs: nothing came for {seconds:g} s"
                    break
        finally:
            child.kill()
            child.wait()
        said = complaints.read_bytes().decode(errors="replace").strip().splitlines()
    if not kind:
        raise RuntimeError(f"the child does not begin (exit {child.returncode}): {' '.join(said[-3:])}")
    if outcome and case + 1 < last and not what:
        raise RuntimeError(f"the child stops after case {case} (exit {child.returncode}): {' '.join(said[-3:])}")
    if not outcome:
        report.add(case, kind, what or f"crashes: exit {child.returncode}: {' '.join(said[:3])}")
    return case + 1


def _listen(child: subprocess.Popen[bytes], told: Path) -> Iterator[list[Any]]:
    """Yield a child's new messages from time to time, until it has ended and all are read.

    It writes to a file: a pipe would wake this process twice for each case, which takes as long as a case.
    """
    rest = b""
    with told.open("rb") as file:
        is_over = False
        while not is_over:
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(POLL_S)
            is_over = child.poll() is not None  # checked before reading, so that nothing comes after it
            *lines, rest = (rest + file.read()).split(b"\n")
            yield [json.loads(line) for line in lines]


def main() -> int:
    """Read the command line, fuzz, and return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("models", nargs="*", type=Path, help="valid model files; default: forests made here")
    parser.add_argument("--ensembles", action="store_true", help="ensembles and rankers made here in place of forests")
    parser.add_argument("-n", "--cases", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="time limit of one file")
    parser.add_argument("--case", type=int, help="write this one mutant to the folder --keep, and stop")
    parser.add_argument("--keep", type=Path, help="folder for mutants that fail")
    parser.add_argument("--first", type=int, help=argparse.SUPPRESS)  # what a child is started with
    chosen = parser.parse_args()
    if chosen.first is not None:
        run_cases(chosen.models, chosen.seed, chosen.first, chosen.cases)
        return 0
    if chosen.case is not None and chosen.keep is None:
        parser.error("--case needs --keep FOLDER")
    with tempfile.TemporaryDirectory() as folder:
        paths = [*_write_valid(Path(folder), chosen.ensembles), *chosen.models]
        files = [path.read_bytes() for path in paths]

        def keep(case: int) -> None:
            chosen.keep.mkdir(parents=True, exist_ok=True)
            kind, raw = mutant(files, chosen.seed, case)
            (chosen.keep / f"{chosen.seed}_{case}_{kind}.safetensors").write_bytes(raw)

        if chosen.case is not None:
            keep(chosen.case)
            return 0
        began = time.monotonic()

        def tell(case: int) -> None:
            if (case + 1) % 1000 == 0:
                print(f"{case + 1} of {chosen.cases} cases, {time.monotonic() - began:.0f} s", flush=True)

        command = child_command(paths, chosen.seed, chosen.cases)
        report = fuzz(chosen.cases, command, seconds=chosen.seconds, progress=tell)
        for case, kind, what in report.failures:
            print(f"case {case} ({kind}): {what}")
            if chosen.keep is not None:
                keep(case)
    print(report)
    return 1 if report.failures else 0


def _write_valid(folder: Path, of_ensembles: bool) -> list[Path]:
    if not of_ensembles:
        return write_valid(folder)
    from valid_ensembles import write_valid_ensembles

    return write_valid_ensembles(folder)


def child_command(paths: Sequence[Path], seed: int, n_cases: int) -> Callable[[int], list[str]]:
    """Return a function from the number of a child's first case to its command."""
    fixed = [sys.executable, __file__, *map(str, paths), "--seed", str(seed), "-n", str(n_cases), "--first"]
    return lambda first: [*fixed, str(first)]


if __name__ == "__main__":
    sys.exit(main())
