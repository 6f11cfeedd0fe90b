"""The package as strangers get it: a wheel in a clean environment, used from another directory."""

import importlib
import os
import re
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]

USE = """
import numpy as np, depthforest as df, synth
from depthforest.base.resources import models_folder, samples_folder
from pathlib import Path
here = Path.cwd()
assert here not in Path(df.__file__).parents, df.__file__
assert "site-packages" in df.__file__ and "site-packages" in synth.__file__
samples = df.open_dataset(samples_folder())
assert len(samples) == 6
assert models_folder().name == "_models" and (models_folder() / "README.md").is_file()
np.save("a.npy", np.full((480, 640), 1.5, np.float32))
frame = df.read_depth("a.npy", camera="kinect_v1")
assert (frame.depth_mm == 1500).all()
frame = synth.Generator(synth.Config(camera="kinect_v1@80x60", n_bodies=1))[0]
assert len(frame.joints[1]) == 19
from depthforest.io.lzf import decompress
assert decompress(bytes([0, 65, 32, 0]), 4).tobytes() == b"AAAA"
print("used", df.__version__)
"""

# each thing that OpenCV does for us, without a kernel: compiling them again would take minutes and show nothing new
USE_OPENCV = """
import cv2, numpy as np, depthforest as df
from pathlib import Path
from depthforest.frames import drawing
from depthforest.pipeline.video import VideoFile
from depthforest.base.resources import samples_folder
sample = df.open_dataset(samples_folder())[0]
bent = df.Camera(500, 500, 319.5, 239.5, 640, 480, (0.1, -0.2, 0.0, 0.0, 0.0))
np.save("a.npy", np.full((480, 640), 1.5, np.float32))
assert (df.read_depth("a.npy", camera=bent).depth_mm[100:380, 100:540] == 1500).all()
drawn = drawing.draw_joints(drawing.shade(sample), sample.camera, sample.joints)
with VideoFile(Path("a.mp4"), 30) as video:
    video.add(drawn)
print("used", cv2.__version__)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--outdir", str(folder), str(TOP)]
    subprocess.run(command, check=True, capture_output=True, timeout=3600)
    (path,) = folder.glob("*.whl")
    return path


def make_environment(folder, *requirements):
    """Create a virtual environment with these installed; return its python."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    pip(python, *requirements)
    return python


def pip(python, *requirements):
    command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *map(str, requirements)]
    subprocess.run(command, check=True, capture_output=True, timeout=3600)


def run_elsewhere(folder, *command):
    """Run a command in another folder, where it finds nothing but what is installed; return what it prints."""
    folder.mkdir(exist_ok=True)
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "NUMBA_CACHE_DIR")}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=True, timeout=3600
    ).stdout


@pytest.mark.slow
def test_a_wheel_holds_every_file_of_its_packages(wheel):
    """Also what is no Python: the page of the viewer, what exported code is made of, the bundled frames."""
    with zipfile.ZipFile(wheel) as archive:
        held = set(archive.namelist())
    files = [path for name in ("depthforest", "synth") for path in (TOP / name).rglob("*") if path.is_file()]
    wanted = {path.relative_to(TOP).as_posix() for path in files if "__pycache__" not in path.parts}
    assert "depthforest/view/static/app.js" in wanted
    assert wanted - held == set()


@pytest.mark.slow
def test_a_wheel_works_in_a_clean_environment(wheel, tmp_path):
    python, folder = make_environment(tmp_path / "venv", wheel), tmp_path / "elsewhere"
    assert run_elsewhere(folder, python, "-W", "error", "-c", USE).startswith("used")
    depthforest = python.parent / "depthforest"
    assert run_elsewhere(folder, depthforest, "--version").startswith("depthforest ")
    run_elsewhere(folder, depthforest, "demo", "-o", "pictures")
    assert (folder / "pictures" / "sheet.png").stat().st_size > 10_000
    run_elsewhere(folder, depthforest, "show", "a.npy", "-o", "pictures", "--camera", "kinect_v1")
    assert (folder / "pictures" / "a.shaded.png").is_file()
    frame = TOP / "depthforest" / "_samples" / "depth" / "two_people.png"
    run_elsewhere(
        folder, depthforest, "label", frame, "-o", "out", "--camera", "kinect_v1@320x240", "--write", "joints"
    )
    assert (folder / "out" / "joints.csv").is_file()


@pytest.mark.slow
def test_an_environment_that_has_opencv_python_works_too(wheel, tmp_path):
    python = make_environment(tmp_path / "venv", "opencv-python")
    pip(python, wheel)
    # as docs/start/install.md says: only one of the two stays
    subprocess.run(
        [python, "-m", "pip", "uninstall", "--quiet", "--yes", "opencv-python-headless"], check=True, timeout=600
    )
    pip(python, "--force-reinstall", "--no-deps", "opencv-python")
    folder = tmp_path / "elsewhere"
    assert run_elsewhere(folder, python, "-W", "error", "-c", USE_OPENCV).startswith("used")
    run_elsewhere(folder, python.parent / "depthforest", "show", "a.npy", "-o", "pictures", "--camera", "kinect_v1")
    assert (folder / "pictures" / "a.shaded.png").is_file()


OLDEST_RUN = (
    "base/test_kernels", "base/test_modelfile", "base/test_scratch", "base/test_splitting", "cli/test_info",
    "commands/test_cli", "commands/test_train", "ensemble/bagging/test_diverse", "ensemble/bagging/test_variants",
    "ensemble/combining/test_averaging", "ensemble/combining/test_stacking", "ensemble/combining/test_voting",
    "ensemble/test_checks", "evaluation/report/test_cards", "forest/test_file", "forest/test_forest",
    "forest/test_format_page", "frames/test_camera", "frames/test_drawing", "frames/test_frame", "frames/test_units",
    "io/test_datasets", "io/test_formats", "io/test_reading", "labeling/test_labeling", "labeling/test_mixing",
    "labeling/test_packing", "labeling/test_steps", "labeling/test_walks", "project/test_rooms",
    "synth/scene/test_rendering", "trees/test_columns", "trees/test_depthtrees", "trees/test_features",
    "trees/test_plainwalk", "trees/test_quantizing",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.skipif(sys.version_info >= (3, 13), reason="the oldest supported numpy has no wheels for this Python")
def test_the_tests_pass_on_the_oldest_supported_packages(tmp_path):
    # scikit-learn 1.6 warns of newer SciPys and newer pytests, and warnings are errors
    older = ("scipy<1.15", "pytest<9")
    python = make_environment(tmp_path / "venv", "-r", TOP / "tests" / "oldest.txt", f"{TOP}[test]", *older)
    versions = subprocess.run(
        [python, "-m", "pip", "freeze"], check=True, capture_output=True, text=True, timeout=3600
    ).stdout
    assert "scikit-learn==1.6.0" in versions
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {"NUMBA_CACHE_DIR": str(tmp_path / "c")}
    # from another folder, so that the installed package is what the tests import
    # those that lean on the packages most; all of them would double the time of CI
    files = [TOP / "tests" / f"{name}.py" for name in OLDEST_RUN]
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", TOP / "pyproject.toml", *files]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=3600
    )
    assert done.returncode == 0, done.stdout[-3000:]


def test_links_of_the_readme_are_absolute_in_the_metadata(monkeypatch):
    pytest.importorskip("hatchling")
    monkeypatch.syspath_prepend(str(TOP / "tools"))
    hook = importlib.import_module("readme_hook")
    text = hook.with_absolute_links((TOP / "README.md").read_text(), "https://example.org/r")
    targets = re.findall(r"\]\(([^)]+)\)", text)
    assert len(targets) > 15
    assert all(target.startswith("https://") for target in targets)
    assert (
        hook.with_absolute_links("![a](b.png)", "https://example.org/r") == "![a](https://example.org/r/raw/HEAD/b.png)"
    )


def test_oldest_txt_is_the_lower_bounds():
    """Each pin is the bound of pyproject.toml, and each bound has a pin."""
    project = tomllib.loads((TOP / "pyproject.toml").read_text())["project"]
    bounds = dict(re.fullmatch(r"([\w-]+)>=([\d.]+)", d).groups() for d in project["dependencies"])
    lines = (TOP / "tests" / "oldest.txt").read_text().splitlines()
    pins = dict(line.split("==") for line in lines if not line.startswith("#"))
    assert set(pins) == set(bounds)
    for name, bound in bounds.items():
        assert f"{pins[name]}.".startswith(f"{bound}."), name
