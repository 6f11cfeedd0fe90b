"""Lengths and argument counts of functions, by package; `make lint` fails for functions beyond the limits.

    python tools/code_figures.py          # the table, and the longest of each kind
    python tools/code_figures.py --check  # only what is over the limits; exit code 1 if there is anything

A function may have 60 lines (without its docstring) and 16 arguments. Two kinds of signatures are lists of settings and
do not count: constructors of scikit-learn estimators, and commands of the command line. Any other exception gives its
reason in a comment with a figure on the line above its `def` (or above its decorators): `# 22 arguments: handing over a
tuple costs 7 % (benchmarks/label_speed.py)`.
"""

from __future__ import annotations

import argparse
import ast
import re
import statistics
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent

MAX_LINES, MAX_ARGUMENTS = 60, 16

PACKAGES = {"depthforest": "depthforest", "ensemble": "depthforest/ensemble", "synth": "synth"}
"""Name in the table -> folder; a file counts for the longest folder that contains it."""


@dataclass(frozen=True)
class Function:
    """A function of the package: where it is, how long, how many arguments."""

    place: str
    name: str
    package: str
    lines: int
    arguments: int
    is_list_of_settings: bool
    has_figure: bool

    @property
    def is_over(self) -> bool:
        """Whether it is beyond the limits without a comment that says why."""
        is_wide = self.arguments > MAX_ARGUMENTS and not self.is_list_of_settings
        return (self.lines > MAX_LINES or is_wide) and not self.has_figure


def _length(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return the lines of a function, without its docstring; the signature counts unless it is a list of settings."""
    first, n = node.body[0], (node.end_lineno or node.lineno) - node.lineno + 1
    if _is_list_of_settings(node):
        n = (node.end_lineno or node.lineno) - first.lineno + 1
    return n - ((first.end_lineno or 0) - first.lineno + 1 if ast.get_docstring(node) is not None else 0)


def _n_arguments(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return how many arguments a caller can give, without `self` and `cls`."""
    its = node.args
    named = [*its.posonlyargs, *its.args, *its.kwonlyargs]
    is_bound = bool(named) and named[0].arg in ("self", "cls")
    return len(named) - is_bound + (its.vararg is not None) + (its.kwarg is not None)


def _stores_each(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether it is a constructor of a scikit-learn estimator: each argument is stored or passed to the base."""
    return node.name == "__init__" and all(
        (isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Attribute))
        or (isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant | ast.Call))
        for line in node.body
    )


def _is_command(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether it is a command of the command line."""
    return any(ast.unparse(decorator).split("(")[0].endswith(".command") for decorator in node.decorator_list)


def _is_list_of_settings(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return _stores_each(node) or _is_command(node)


def functions(top: Path = TOP) -> Iterator[Function]:
    """Yield all functions of the packages."""
    for path in sorted([*(top / "depthforest").rglob("*.py"), *(top / "synth").rglob("*.py")]):
        relative = path.relative_to(top).as_posix()
        package = max((k for k, v in PACKAGES.items() if relative.startswith(f"{v}/")), key=lambda k: len(PACKAGES[k]))
        text = path.read_text(encoding="utf-8")
        lines = text.splitlines()
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                above = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]) - 2
                yield Function(
                    f"{relative}:{node.lineno}",
                    node.name,
                    package,
                    _length(node),
                    _n_arguments(node),
                    _is_list_of_settings(node),
                    above >= 0 and re.match(r"\s*#.*\d", lines[above]) is not None,
                )


def table(found: list[Function]) -> str:
    """Return the table of figures, in Markdown."""
    rows = [
        "| | functions | median / p90 lines | over 50 lines | arguments p99 / max |",
        "|---|---|---|---|---|",
    ]
    for package in PACKAGES:
        its = [one for one in found if one.package == package]
        lengths = sorted(one.lines for one in its)
        widths = sorted(one.arguments for one in its if not one.is_list_of_settings)
        long = sum(length > 50 for length in lengths) / len(its)
        rows.append(
            f"| {package} | {len(its)} | {statistics.median(lengths):.0f} / {lengths[int(0.9 * len(lengths))]} | "
            f"{long:.1%} | {widths[int(0.99 * len(widths))]} / {widths[-1]} |"
        )
    return "\n".join(rows)


def main() -> int:
    """Print the figures; return 1 if something is over the limits."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="print only what is over the limits")
    is_check = parser.parse_args().check
    found = list(functions())
    if not is_check:
        print(table(found))
        for what in ("lines", "arguments"):
            largest = sorted(
                (one for one in found if what == "lines" or not one.is_list_of_settings),
                key=lambda one, what=what: -getattr(one, what),  # type: ignore[misc]
            )[:8]
            print(f"\nmost {what}:")
            print("\n".join(f"  {getattr(one, what):3d}  {one.place} {one.name}" for one in largest))
    over = [one for one in found if one.is_over]
    for one in over:
        print(
            f"{one.place}: {one.name} has {one.lines} lines and {one.arguments} arguments; at most {MAX_LINES} and "
            f"{MAX_ARGUMENTS}, or a comment with a figure above it that says why",
            file=sys.stderr,
        )
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
