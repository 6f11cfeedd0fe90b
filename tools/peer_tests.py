"""Run scikit-learn's own tests of ensembles and trees against `depthforest.ensemble`.

    python tools/peer_tests.py                   # all; fails where the table of expected failures is not met
    python tools/peer_tests.py test_tree.py      # some files, or pytest's ids: test_tree.py::test_pickle
    python tools/peer_tests.py --update          # write the table again; new failures get the reason "?"

The tests are those of the installed scikit-learn. They are copied to a folder that is deleted at the end, with one
change: names that they import from `sklearn.ensemble` and `sklearn.tree` are ours if we have them. Functions that we
lack (`export_text`, `plot_tree`) are scikit-learn's own, applied to our trees; a class that we lack fails.

`tools/peer_failures.toml` names the tests that are expected to fail, each under its reason: "private" (it uses
scikit-learn's internals), "wording" (of a message), "design" (we differ on purpose, as the docs say), "missing" (not
implemented yet). This script fails if a test fails that is not in the table, or if one in the table passes. The table
is for one version of scikit-learn, which it names; with another, only a summary is printed.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import sklearn

HERE = Path(__file__).resolve().parent
TABLE = HERE / "peer_failures.toml"
REASONS = ("private", "wording", "design", "missing")
UNKNOWN = "?"

FILES = (
    "ensemble/tests/test_bagging.py", "ensemble/tests/test_base.py", "ensemble/tests/test_common.py",
    "ensemble/tests/test_forest.py", "ensemble/tests/test_gradient_boosting.py", "ensemble/tests/test_iforest.py",
    "ensemble/tests/test_stacking.py", "ensemble/tests/test_voting.py", "ensemble/tests/test_weight_boosting.py",
    "tree/tests/test_export.py", "tree/tests/test_monotonic_tree.py", "tree/tests/test_split.py",
    "tree/tests/test_tree.py",
)  # fmt: skip
"""Test files, without those that only test internals: bootstrap counts, Fenwick trees, layouts of plots, swaps."""

SHIM = '''
import types
import {theirs} as theirs
import depthforest.ensemble as ours


class Missing:
    """Stands for a class that depthforest.ensemble has not."""

    def __init__(self, *args, **kwargs):
        pass

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise NotImplementedError("depthforest.ensemble has no " + type(self).__name__)


def __getattr__(name):
    if name in ours.__all__:
        return getattr(ours, name)
    value = getattr(theirs, name)
    return type(name, (Missing,), {{}}) if isinstance(value, type) else value
'''

Outcomes = dict[str, str]
"""Id of a test, such as `test_tree.py::test_pickle[gini]` -> passed, failed or skipped."""


def rewritten(text: str) -> str:
    """Return the text of a test file that imports from the shims; private modules stay scikit-learn's."""
    text = re.sub(r"^(\s*)from sklearn\.(ensemble|tree) import", r"\1from judged_\2 import", text, flags=re.MULTILINE)
    return re.sub(r"^(from sklearn import .*), tree$", r"\1\nimport judged_tree as tree", text, flags=re.MULTILINE)


def fill(folder: Path) -> None:
    """Write the tests and the shims that they import from into a folder."""
    package = Path(sklearn.__file__).parent
    for room in ("ensemble", "tree"):
        (folder / f"judged_{room}.py").write_text(SHIM.format(theirs=f"sklearn.{room}"))
    for name in FILES:
        (folder / Path(name).name).write_text(rewritten((package / name).read_text()))


def run(chosen: list[str], processes: int) -> Outcomes:
    """Run the tests, all by default."""
    with tempfile.TemporaryDirectory(prefix="peer-tests-") as name:
        folder = Path(name)
        fill(folder)
        command = [
            sys.executable, "-m", "pytest", "-q", "-p", "sklearn.conftest", "-p", "no:cacheprovider", "--tb=short",
            "-c", os.devnull, "--rootdir", name, "--junitxml", str(folder / "report.xml"), "-n", str(processes),
            *([str(folder / test) for test in chosen] or [name]),
        ]  # fmt: skip
        path = os.pathsep.join([name, str(HERE.parent), os.environ.get("PYTHONPATH", "")])
        with (folder / "log").open("w+") as log:
            subprocess.run(command, cwd=name, env={**os.environ, "PYTHONPATH": path}, stdout=log, check=False)
            if chosen:
                log.seek(0)
                print(log.read())
        return outcomes_of(folder / "report.xml")


def outcomes_of(report: Path) -> Outcomes:
    """Return the outcome of each test in pytest's report."""
    found: Outcomes = {}
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        module = case.get("classname", "").split(".")[0] or case.get("name", "")
        kinds = {child.tag for child in case}
        outcome = "failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed"
        found[f"{module}.py::{case.get('name')}"] = outcome
    return found


def read_table(path: Path = TABLE) -> tuple[str, dict[str, str]]:
    """Return the table's version of scikit-learn, and the reason of each expected failure.

    A test that only fails for some parameters is named with them; a name without parameters means all.
    """
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    version = content.pop("version")
    return version, {test: reason for reason, tests in content.items() for test in tests}


def reason_of(test: str, expected: dict[str, str]) -> str | None:
    """Return why a test is expected to fail, None if it is not."""
    return expected.get(test, expected.get(test.partition("[")[0]))


def differences(found: Outcomes, expected: dict[str, str]) -> list[str]:
    """Return a line for each test with an unexpected result."""
    lines = [f"fails: {t}" for t, outcome in found.items() if outcome == "failed" and reason_of(t, expected) is None]
    failing = {t for t, outcome in found.items() if outcome == "failed"}
    failing |= {t.partition("[")[0] for t in failing}
    lines += [f"does not fail, but is named: {test}" for test in expected if test not in failing]
    return sorted(lines)


def shortened(found: Outcomes) -> list[str]:
    """Return the failing tests: a test once if all of its parameters fail, else with each failing parameter."""
    every: dict[str, set[str]] = {}
    for test, outcome in found.items():
        if outcome != "skipped":
            every.setdefault(test.partition("[")[0], set()).add(outcome)
    failing = [t for t, outcome in found.items() if outcome == "failed"]
    return sorted({t.partition("[")[0] if every[t.partition("[")[0]] == {"failed"} else t for t in failing})


def write_table(found: Outcomes, expected: dict[str, str]) -> None:
    """Write the table of current failures; known ones keep their reasons."""
    by_reason: dict[str, list[str]] = {}
    for test in shortened(found):
        by_reason.setdefault(reason_of(test, expected) or UNKNOWN, []).append(test)
    lines = ["# Tests of scikit-learn that are expected to fail, by reason; tools/peer_tests.py says more.", ""]
    lines += [f'version = "{sklearn.__version__}"']
    for reason in (*REASONS, UNKNOWN):
        if reason in by_reason:
            key = reason if reason in REASONS else f'"{reason}"'
            lines += ["", f"{key} = ["] + [f"  {_quoted(test)}," for test in by_reason[reason]] + ["]"]
    TABLE.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _quoted(text: str) -> str:
    return f"'{text}'" if "'" not in text else '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def summary(found: Outcomes, expected: dict[str, str]) -> str:
    """Return how many tests pass, and why the others do not."""
    counts = Counter(found.values())
    reasons = Counter(reason_of(t, expected) or UNKNOWN for t, outcome in found.items() if outcome == "failed")
    why = ", ".join(f"{n} {reason}" for reason, n in reasons.most_common())
    return (
        f"scikit-learn {sklearn.__version__}: {counts['passed']} of {len(found) - counts['skipped']} tests pass, "
        f"{counts['failed']} fail ({why}), {counts['skipped']} are skipped"
    )


def main(arguments: list[str] | None = None) -> int:
    """Run, compare, report; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tests", nargs="*", help="files or ids; all by default")
    parser.add_argument("-n", "--processes", type=int, default=1)
    parser.add_argument("--update", action="store_true", help="write the table of expected failures again")
    options = parser.parse_args(arguments)
    found = run(options.tests, options.processes)
    version, expected = read_table() if TABLE.exists() else (sklearn.__version__, {})
    print(summary(found, expected))
    if options.update:
        write_table(found, expected)
        return 0
    if options.tests or version != sklearn.__version__:
        return 0
    lines = differences(found, expected)
    print("\n".join(lines))
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
