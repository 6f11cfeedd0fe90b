"""Tutorials as tests see them: the commands, the code and the outputs of a page."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
TUTORIALS = TOP / "docs" / "tutorials"


def blocks(page: Path, kind: str) -> list[str]:
    """Return the blocks of a kind of a page."""
    return re.findall(rf"^```{kind}\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)


def with_outputs(page: Path, kind: str) -> list[tuple[str, str]]:
    """Return each block of a kind with what the page says it prints, or an empty text."""
    pattern = rf"^```{kind}\n(.*?)^```(?:\n\n```\n(.*?)^```)?"
    return re.findall(pattern, page.read_text(), re.DOTALL | re.MULTILINE)


def run(command: str, folder: Path, changes: Mapping[str, str] | None = None) -> str:
    """Run a command of a page in a folder, some options changed, and return what it prints; it must not complain."""
    words = shlex.split(command)
    start = {"python": [sys.executable], "depthforest": [sys.executable, "-m", "depthforest"]}[words[0]]
    rest = [str(TOP / word) if word.startswith("docs/") else word for word in words[1:]]
    for option, value in (changes or {}).items():
        if option in rest:
            rest[rest.index(option) + 1] = value
    done = subprocess.run([*start, *rest], capture_output=True, text=True, check=False, cwd=folder, timeout=3600)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def without_numbers(line: str) -> str:
    """Return a line with every number and every time left as 0."""
    line = re.sub(r", [\d hmins]+ left$", ", 0 s left", line)
    return re.sub(r"\s+", " ", re.sub(r"-?\d+(\.\d+)?", "0", line)).strip()


def check_lines(said: str, printed: str) -> None:
    """Every line of the page comes out in its order, whatever its numbers; "..." stands for any lines."""
    rest = iter(map(without_numbers, printed.splitlines()))
    for line in said.splitlines():
        if line != "...":
            assert without_numbers(line) in rest, f"{line!r} does not come out:\n{printed}"
