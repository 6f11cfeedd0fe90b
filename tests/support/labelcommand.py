"""`depthforest label` on the golden frames: how it is run, what it wrote, and the fixtures of its tests."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import depthforest as df
from depthforest.cli.commands import app
from depthforest.frames import drawing
from support.command import run_here

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
MODEL = GOLDEN / "forest.safetensors"
DATA = df.open_dataset(GOLDEN / "frames")
CAMERA = ",".join(str(v) for v in (DATA[0].camera.fx, DATA[0].camera.fy, DATA[0].camera.cx, DATA[0].camera.cy))
COMMON = ["--model", MODEL, "--camera", CAMERA]


def label(*args):
    """Run the command in this process; return its exit code."""
    return app(["label", *map(str, [*args, *COMMON])], standalone_mode=False, prog_name="depthforest") or 0


def run(*args, stdin=b"", cwd=None):
    return run_here("label", *args, stdin=stdin, cwd=cwd)


def run_apart(*args, stdin=b""):
    """Run it as people do, in a process of its own."""
    command = [sys.executable, "-m", "depthforest", "label", *map(str, args)]
    env = os.environ | {"PYTHONWARNINGS": "default"}
    return subprocess.run(command, input=stdin, capture_output=True, check=False, env=env, timeout=600)


def said(result):
    lines = result.stderr.decode().splitlines()
    assert all(re.match("depthforest: (error|warning): ", line) for line in lines), lines
    return lines


def files(folder):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def contents(folder):
    return {name: (folder / name).read_bytes() for name in files(folder)}


def times(folder):
    return {name: (folder / name).stat().st_mtime_ns for name in files(folder) - {"label.json"}}


def person_only(frame, person=1):
    return np.where(frame.people == person, frame.depth_mm, np.uint16(0))


@pytest.fixture(scope="module")
def forest():
    return df.Forest.load(MODEL)


@pytest.fixture
def frames(tmp_path):
    """Return a folder of three frames of one person, the background removed."""
    folder = tmp_path / "in"
    folder.mkdir()
    for i in range(3):
        drawing.write_depth(folder / f"f{i}.png", person_only(DATA[i]))
    return folder


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"
