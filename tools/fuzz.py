"""Fuzz every reader and loader: mutants of valid files must be read, or refused by a DepthForestError of one line.

    python tools/fuzz.py -n 100000                          all formats, in proportion to their weights
    python tools/fuzz.py -n 20000 --only png,tiff           some of them
    python tools/fuzz.py -n 100000 --first 60000            the cases from there on, of a run that was stopped
    python tools/fuzz.py --seed 3 --case 1234 --keep found  write one mutant, to look at it

Mutants keep the structure of their format (`fuzz_mutations`), so that most get past the first check. Cases run one
after the other in a child process with limits of memory and time. The child reports the start and the result of each
case, so that a crash or a hang can be attributed to its case, and another child continues after it. A case only depends
on the seed, its number and the valid files. Failing mutants are kept under --keep, FORMAT/SEED_CASE/..., and
tests/project/test_fuzz.py reads all those in tests/golden/fuzzed. Exits with 1 if anything was found.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import gc
import json
import shutil
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from fuzz_formats import FORMATS as FORMATS_OF_OTHERS
from fuzz_models import LOADED, REFUSED, Report, fuzz, limit_memory
from fuzz_mutations import mutated
from fuzz_own import OWN_FORMATS

from depthforest.base import DepthForestError

FORMATS = {**FORMATS_OF_OTHERS, **OWN_FORMATS}

SECONDS = 120.0
"""Seconds after which a silent case counts as a hang; on a busy machine, a good one may have to wait."""

CPU_SECONDS = 2.0
"""Processor time that a reader may take for one of these small files."""

MEMORY_MB = 512
"""Memory that a case may use in addition to what its child already has."""

MAX_MESSAGE_CHARS = 1100

TOLD_EVERY = 5000
"""Cases between two progress reports, with the counts so far: a killed run can continue from there."""

PASSED = (LOADED, REFUSED)


class Corpus:
    """The valid files of formats, and mutants of them.

    Parameters
    ----------
    folder : Path
        Holds a folder for each format, as `write` makes it.
    names : sequence of str
        Of the formats that are used.
    """

    def __init__(self, folder: Path, names: Sequence[str]) -> None:
        self.names = list(names)
        weights = np.array([FORMATS[name].weight for name in self.names], dtype=float)
        self._shares = np.cumsum(weights / weights.sum())
        self._files = {
            name: [
                (variant, sorted(path for path in variant.rglob("*") if path.is_file()))
                for variant in sorted((folder / name).iterdir(), key=lambda path: int(path.name))
            ]
            for name in self.names
        }
        self._valid = {
            path: path.read_bytes() for variants in self._files.values() for _, paths in variants for path in paths
        }

    @staticmethod
    def write(folder: Path, names: Sequence[str]) -> None:
        """Write the valid files of formats into a folder."""
        for name in names:
            (folder / name).mkdir(parents=True)
            FORMATS[name].write(folder / name)

    def variants(self, name: str) -> list[Path]:
        """Return the folders of a format's valid files."""
        return [variant for variant, _ in self._files[name]]

    def mutant(self, seed: int, case: int) -> tuple[str, Path, Path, bytes]:
        """Return the format of a case, the folder of its variant, the file that is changed and what it holds then."""
        rng = np.random.default_rng([seed, case])
        name = self.names[int(np.searchsorted(self._shares, rng.random()))]
        variants = self._files[name]
        variant, paths = variants[int(rng.integers(len(variants)))]
        path = paths[int(rng.integers(len(paths)))]
        return name, variant, path, mutated(path.name, self._valid[path], rng)

    def restore(self, path: Path) -> None:
        """Write a valid file again that was changed."""
        path.write_bytes(self._valid[path])


def outcome_of(name: str, folder: Path) -> str:
    """Return `LOADED`, `REFUSED` or what is wrong with how a folder of a format is read."""
    began = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            wrong = FORMATS[name].read(folder)
    except DepthForestError as error:
        text = str(error).replace(str(folder), "")
        is_line = len(text.splitlines()) == 1 and len(text) <= MAX_MESSAGE_CHARS and text.isprintable()
        wrong = None if is_line else f"a message that is not one short line: {text[:200]!r}"
        outcome = REFUSED
    except Exception as error:  # any exception is a finding
        return f"{type(error).__name__}: {str(error)[:300]!r}"
    else:
        outcome = LOADED
    seconds = time.process_time() - began
    if wrong is None and seconds > CPU_SECONDS:
        wrong = f"takes {seconds:.1f} s"
    return wrong or outcome


def run_cases(folder: Path, names: Sequence[str], seed: int, first: int, last: int) -> None:
    """Try the cases from `first` to before `last`, saying on standard output what begins and how it ended."""
    faulthandler.enable()
    corpus = Corpus(folder, names)
    for name in names:
        for variant in corpus.variants(name):
            outcome = outcome_of(name, variant)
            if outcome != LOADED and not outcome.startswith("takes"):  # that compiles
                raise SystemExit(f"{name} {variant.name}: a valid file is not read: {outcome}")
    gc.freeze()  # loaded modules stay, so exclude them from garbage collection
    for case in range(first, last):
        name, variant, path, content = corpus.mutant(seed, case)
        print(json.dumps([case, name]), flush=True)
        path.write_bytes(content)
        limit_memory(MEMORY_MB)  # set again for each case, so that it does not depend on earlier ones
        outcome = outcome_of(name, variant)
        corpus.restore(path)
        print(json.dumps([case, name, outcome]), flush=True)


def child_command(folder: Path, names: Sequence[str], seed: int, n_cases: int) -> Callable[[int], list[str]]:
    """Return a function from the number of a child's first case to its command.

    Each child has a copy of the valid files: one that was killed may leave a mutant among them.
    """

    def command(first: int) -> list[str]:
        own = folder.with_name(f"{folder.name}_{first}")
        shutil.copytree(folder, own, dirs_exist_ok=True)
        fixed = [sys.executable, __file__, "--only", ",".join(names), "--seed", str(seed), "-n", str(n_cases)]
        return [*fixed, "--valid", str(own), "--first", str(first)]

    return command


def table(counts: Counter[tuple[str, str]]) -> str:
    """Return the counts of each format and of all as lines."""
    columns = (LOADED, REFUSED, "failed")
    names = [name for name in FORMATS if any(counts[name, column] for column in columns)]
    lines = [f"{'':>12}" + "".join(f"{title:>10}" for title in columns)]
    for title, group in (*((name, [name]) for name in names), ("all", names)):
        sums = [sum(counts[name, column] for name in group) for column in columns]
        lines.append(f"{title:>12}" + "".join(f"{n:>10}" for n in sums))
    return "\n".join(lines)


def keep_mutant(corpus: Corpus, seed: int, case: int, folder: Path) -> Path:
    """Write the changed file of a case under a folder and return where."""
    name, variant, path, content = corpus.mutant(seed, case)
    target = folder / name / f"{seed}_{case}" / variant.name / path.relative_to(variant)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)
    return target


def main() -> int:
    """Read the command line, fuzz, and return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("-n", "--cases", type=int, default=100_000)
    parser.add_argument("--only", default=",".join(FORMATS), help="formats, with commas; default: all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="folder for mutants that fail")
    parser.add_argument("--case", type=int, help="write this one mutant to the folder --keep, and stop")
    parser.add_argument("--first", type=int, default=0, help="the case to begin with; default: 0")
    parser.add_argument("--valid", type=Path, help=argparse.SUPPRESS)  # used to start a child
    chosen = parser.parse_args()
    names = chosen.only.split(",")
    unknown = [name for name in names if name not in FORMATS]
    if unknown:
        parser.error(f"unknown formats {', '.join(unknown)}; known: {', '.join(FORMATS)}")
    if chosen.valid is not None:
        run_cases(chosen.valid, names, chosen.seed, chosen.first, chosen.cases)
        return 0
    if chosen.case is not None and chosen.keep is None:
        parser.error("--case needs --keep FOLDER")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "valid"
        Corpus.write(folder, names)
        corpus = Corpus(folder, names)
        if chosen.case is not None:
            print(keep_mutant(corpus, chosen.seed, chosen.case, chosen.keep))
            return 0
        report = _Telling(corpus=corpus, seed=chosen.seed, keep=chosen.keep)
        command = child_command(folder, names, chosen.seed, chosen.cases)
        with contextlib.suppress(KeyboardInterrupt):  # results so far count
            fuzz(chosen.cases, command, first=chosen.first, seconds=SECONDS, report=report)
    print(table(report.counts))
    return 1 if report.failures else 0


@dataclass
class _Telling(Report):
    """A report that prints failures as they come, and keeps their files."""

    corpus: Corpus | None = None
    seed: int = 0
    keep: Path | None = None

    def add(self, case: int, kind: str, outcome: str) -> None:
        """Count a case."""
        super().add(case, kind, outcome)
        if outcome not in PASSED:
            print(f"case {case} ({kind}): {outcome}", flush=True)
            if self.keep is not None and self.corpus is not None:
                keep_mutant(self.corpus, self.seed, case, self.keep)
        if (n := sum(self.counts.values())) % TOLD_EVERY == 0:
            print(f"{table(self.counts)}\n{n} cases to case {case}, {len(self.failures)} failures", flush=True)


if __name__ == "__main__":
    sys.exit(main())
