"""The lines that README has for a recipe and for a cluster, run as written on a scheduler and workers of their own."""

import os
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.bounded import SECONDS, started

from depthforest.forest.loading import load
from depthforest.recipes.recipe import read_recipe

pytest.importorskip("distributed", reason="needs the extra dask")
pytest.importorskip("zarr", reason="needs the extra zarr")

TOP = Path(__file__).resolve().parents[2]


def lines_of(page):
    """Return the commands of a page that train by recipe."""
    return re.findall(r"^depthforest (train --recipe .+?)(?: +#.*)?$", (TOP / page).read_text(encoding="utf-8"), re.M)


def run(words, folder, *, substitutes, more):
    """Run a command of a page in a folder that looks like a checkout; an address and the clips are replaced."""
    command = [
        sys.executable,
        "-m",
        "depthforest",
        *[substitutes.get(word, word) for word in shlex.split(words)],
        *more,
    ]
    environment = {"OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        command, cwd=folder, env=os.environ | environment, capture_output=True, text=True, check=False,
        timeout=12 * SECONDS,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return done


def test_readme_and_recipes_have_the_lines():
    readme, recipes, scaling = (lines_of(page) for page in ("README.md", "docs/RECIPES.md", "docs/SCALING.md"))
    assert any("--dask tcp://" in line for line in readme)
    assert any("--dask" not in line for line in readme)
    assert any("--scale 0.01" in line for line in recipes)
    assert any("--dask" in line for line in scaling)
    for line in (*readme, *recipes, *scaling):
        words = shlex.split(line)
        read_recipe(TOP / words[words.index("--recipe") + 1])


@pytest.mark.slow
def test_the_cluster_line_of_readme_runs_on_two_workers(tmp_path):
    """A hundredth of README's line: bodies and clips that need no download."""
    line = next(line for line in lines_of("README.md") if "--dask" in line)
    (tmp_path / "models").symlink_to(TOP / "models")
    (tmp_path / "elsewhere").mkdir()
    dask = [sys.executable, "-m", "dask"]
    common = ["--scheduler-file", tmp_path / "scheduler.json", "--dashboard-address", ":0"]
    workers = [*dask, "worker", "--nworkers", "2", "--nthreads", "1", "--local-directory", tmp_path, *common]
    with (
        (tmp_path / "scheduler.log").open("w") as log,
        started(
            [*dask, "scheduler", "--host", "127.0.0.1", "--port", "0", *common],
            seconds=13 * SECONDS, stdout=log, stderr=log,
        ),
        started(workers, cwd=tmp_path / "elsewhere", seconds=13 * SECONDS, stdout=log, stderr=log),
    ):  # fmt: skip
        address = wait_for_address(tmp_path / "scheduler.log")
        substitutes = {next(word for word in line.split() if word.startswith("tcp://")): address, "CLIPS": ""}
        run(line, tmp_path, substitutes=substitutes, more=["--scale", "0.001", "--bodies", "procedural"])
    output = tmp_path / "body31.safetensors"
    assert load(output).context.n_trees == 1
    card = output.with_suffix(".md").read_text()
    assert "Made at scale 0.001 of its recipe: a trial" in card
    assert "| `procedural` |" in card


def wait_for_address(log):
    """Return the address that a scheduler tells."""
    ends = time.monotonic() + SECONDS
    while not (found := re.search(r"Scheduler at: +(tcp://[\d.]+:\d+)", log.read_text())):
        assert time.monotonic() < ends, log.read_text()
        time.sleep(0.2)
    return found[1]
