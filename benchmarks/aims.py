"""Run the benchmarks one after the other, and print a table of all aims and measured figures.

    python benchmarks/aims.py [SCRIPT...]        names without folder and ending; omitted: all

A script states an aim in a line such as "aim: labels over the exact walk, 640 x 480: 0.29, at most 0.36".
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
AIM = re.compile(r"aim: (?P<what>.+): (?P<figure>[\d.]+)(?P<unit>[^,]*), at (?P<way>most|least) (?P<limit>[\d.]+)")


def aims_of(script: Path) -> list[re.Match[str]]:
    """Run a script, show what it prints, and return its aims."""
    print(f"== {script.name}", flush=True)
    found = []
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            if match := AIM.match(line):
                found.append(match)
    if process.returncode:
        raise SystemExit(f"{script.name} ended with {process.returncode}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("scripts", nargs="*")
    names = parser.parse_args().scripts
    scripts = [FOLDER / f"{name}.py" for name in names] or sorted(set(FOLDER.glob("*.py")) - {Path(__file__).resolve()})
    aims = [aim for script in scripts for aim in aims_of(script)]
    width = max((len(aim["what"]) for aim in aims), default=0)
    print(f"\n{'aim':{width}}  measured  wanted")
    for aim in aims:
        figure, limit = float(aim["figure"]), float(aim["limit"])
        is_reached = figure <= limit if aim["way"] == "most" else figure >= limit
        wanted = f"at {aim['way']} {aim['limit']}{aim['unit']}"
        print(f"{aim['what']:{width}}  {aim['figure']:>8}  {wanted}{'' if is_reached else '  (missed)'}")


if __name__ == "__main__":
    main()
