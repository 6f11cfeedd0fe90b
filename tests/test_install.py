"""The package as strangers get it: a wheel in a clean environment, used from another directory."""

import os
import re
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parent.parent

USE = """
import numpy as np, depthforest as df, synth
from depthforest.resources import models_folder, samples_folder
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
from depthforest.lzf import decompress
assert decompress(bytes([0, 65, 32, 0]), 4).tobytes() == b"AAAA"
print("used", df.__version__)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--outdir", str(folder), str(TOP)]
    subprocess.run(command, check=True, capture_output=True)
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
    subprocess.run(command, check=True, capture_output=True)


def use_elsewhere(python, folder):
    """Use the installed package from an empty folder."""
    folder.mkdir()
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "NUMBA_CACHE_DIR")}

    def run(*command):
        return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True)

    assert run(python, "-W", "error", "-c", USE).stdout.startswith("used")
    depthforest = python.parent / "depthforest"
    assert run(depthforest, "--version").stdout.startswith("depthforest ")
    run(depthforest, "demo", "-o", "pictures")
    assert (folder / "pictures" / "sheet.png").stat().st_size > 10_000
    run(depthforest, "show", "a.npy", "-o", "pictures", "--camera", "kinect_v1")
    assert (folder / "pictures" / "a.shaded.png").is_file()


@pytest.mark.slow
def test_a_wheel_works_in_a_clean_environment(wheel, tmp_path):
    use_elsewhere(make_environment(tmp_path / "venv", wheel), tmp_path / "elsewhere")


@pytest.mark.slow
def test_an_environment_that_has_opencv_python_works_too(wheel, tmp_path):
    python = make_environment(tmp_path / "venv", "opencv-python")
    pip(python, wheel)
    use_elsewhere(python, tmp_path / "elsewhere")


OLDEST_RUN = (
    "camera", "cli", "datasets", "drawing", "features", "formats", "forest", "frames", "labeling", "modelfile",
    "reading", "rendering", "scratch", "splitting", "train_command", "units",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.skipif(sys.version_info >= (3, 13), reason="the oldest supported numpy has no wheels for this Python")
def test_the_tests_pass_on_the_oldest_supported_packages(tmp_path):
    python = make_environment(tmp_path / "venv", "-r", TOP / "tests" / "oldest.txt", f"{TOP}[test]")
    versions = subprocess.run([python, "-m", "pip", "freeze"], check=True, capture_output=True, text=True).stdout
    assert "scikit-learn==1.6.0" in versions
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {"NUMBA_CACHE_DIR": str(tmp_path / "c")}
    # from another folder, so that the installed package is what the tests import
    # those that lean on the packages most; all of them would double the time of CI
    files = [TOP / "tests" / f"test_{name}.py" for name in OLDEST_RUN]
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", TOP / "pyproject.toml", *files]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]


@pytest.mark.slow
def test_kernels_pass_as_plain_python():
    """Plain Python checks what kernels don't: an index past the end raises."""
    files = [f"tests/test_{n}.py" for n in ("formats", "skinning", "rendering", "sensors", "diversity", "scene")]
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files]
    done = subprocess.run(command, cwd=TOP, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]


def test_oldest_txt_is_the_lower_bounds():
    """Each pin is the bound of pyproject.toml, and each bound has a pin."""
    project = tomllib.loads((TOP / "pyproject.toml").read_text())["project"]
    bounds = dict(re.fullmatch(r"([\w-]+)>=([\d.]+)", d).groups() for d in project["dependencies"])
    lines = (TOP / "tests" / "oldest.txt").read_text().splitlines()
    pins = dict(line.split("==") for line in lines if not line.startswith("#"))
    assert set(pins) == set(bounds)
    for name, bound in bounds.items():
        assert f"{pins[name]}.".startswith(f"{bound}."), name
