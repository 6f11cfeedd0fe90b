"""README's table of formats: each line opens a file of its name, which the library that owns the format wrote."""

import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from support.azure import azure_file

import depthforest as df
from depthforest.io.live.naming import DRIVERS

TOP = Path(__file__).resolve().parents[2]
TABLE = (TOP / "README.md").read_text().split("## What it opens")[1].split("\n## ")[0]
LINES = re.findall(r"`(df\.open_source\(.+?\))`", TABLE)
CAMERA = df.Camera.preset("kinect_v1")

WRITTEN = {
    "frame.png": ("png", 0), "stack.npy": ("npy", 1), "cloud.pcd": ("pcd", 1), "dump.raw": ("raw", 0),
    "rgbd_dataset_freiburg1_xyz/": ("tum", 0), "people.zarr": ("zarr", 0), "walk.bag": ("rosbag", 0),
    "walk/": ("ros2 sqlite", 0), "walk.mcap": ("ros2 mcap", 0), "walk.mkv": ("mkv", 0), "room.r3d": ("record3d", 0),
}  # fmt: skip
"""Name in the table -> the writer of tools/fuzz_formats.py, and which of its variants."""

PACKAGES = {"zarr": "zarr", "rosbag": "rosbags", "ros2 sqlite": "rosbags", "ros2 mcap": "rosbags", "mkv": "av",
            "record3d": "liblzfse"}  # fmt: skip


@pytest.fixture
def writers(monkeypatch):
    monkeypatch.syspath_prepend(str(TOP / "tools"))
    import fuzz_formats

    for name, value in (("WIDTH", CAMERA.width), ("HEIGHT", CAMERA.height), ("CAMERA", CAMERA)):
        monkeypatch.setattr(fuzz_formats, name, value)
    yield fuzz_formats
    sys.modules.pop("fuzz_formats")


def make(name, writers, folder):
    """Write the file that a line of the table names."""
    import cv2

    if name in WRITTEN:
        kind, variant = WRITTEN[name]
        pytest.importorskip(PACKAGES.get(kind, "numpy"))
        made = folder / "made"
        made.mkdir()
        writers.FORMATS[kind].write(made)
        (entry,) = made.joinpath(str(variant)).iterdir() if kind != "tum" else (made / str(variant),)
        if name.endswith(".mcap"):
            (entry,) = entry.glob("*.mcap")
        shutil.move(entry, folder / name.rstrip("/"))
    elif name in ("frames/", "S001C001P001R001A001/"):
        size = (240, 320) if name == "frames/" else (424, 512)
        (folder / name).mkdir()
        for number in (1, 2):
            cv2.imwrite(str(folder / name / f"MDepth-{number:08d}.png"), np.full(size, 1500, np.uint16))
    elif name == "d435.bag":
        pytest.importorskip("rosbags")
        shutil.copy(TOP / "tests" / "io" / "recordings" / "files" / "realsense.bag", folder / name)
    elif name == "azure.mkv":
        pytest.importorskip("av")
        azure_file(folder / name)
    else:
        h5py = pytest.importorskip("h5py")
        file, _, path = name.partition(":")
        with h5py.File(folder / file, "w") as made:
            made[path or "data"] = np.full((2, 240, 320), 1.5, np.float16)
            made["id"] = np.arange(2)


@pytest.mark.parametrize("line", [line for line in LINES if '"' in line and ':")' not in line and "v4l2" not in line])
@pytest.mark.filterwarnings("ignore:no camera given")
def test_each_line_opens_its_file(line, writers, tmp_path, monkeypatch):
    name = re.search('"(.+?)"', line)[1]
    monkeypatch.chdir(tmp_path)
    make(name, writers, tmp_path)
    frames = list(eval(line, {"df": df}))
    assert frames
    for frame in frames:
        assert frame.depth_mm.any()
        assert frame.shape == frame.camera.shape


def test_a_function_is_opened():
    assert "df.open_source(grab, camera)" in LINES
    pictures = iter([np.full(CAMERA.shape, 1500, np.uint16), None])
    grab, camera = lambda: next(pictures), CAMERA
    (frame,) = eval("df.open_source(grab, camera)", {"df": df, "grab": grab, "camera": camera})
    assert (frame.depth_mm == 1500).all()


def test_the_table_has_every_format_and_every_camera(writers):
    read_by_open_source = {
        name for name, it in writers.FORMATS.items() if it.read.__name__ in ("_read_pictures", "_read_recording")
    }
    of_rows = {kind for kind, _ in WRITTEN.values()} | {"hdf5", "zarr"}
    assert read_by_open_source <= of_rows | {"tiff", "pgm", "npz"}
    for name in ("TIFF", "PGM", "`.npz`", "HDF5"):
        assert name in TABLE
    assert set(DRIVERS) == set(re.findall(r'"(\w+):(?:/\S+)?"', TABLE))
    for name in WRITTEN:
        assert any(f'"{name}"' in line for line in LINES), name


def test_the_page_of_recordings_has_the_same_lines():
    page = (TOP / "docs" / "RECORDINGS.md").read_text()
    named = {re.search('"(.+?)"', line)[1] for line in re.findall(r"`(df\.open_source\(\".+?\))`", page)}
    images = {"frame.png", "stack.npy", "cloud.pcd", "dump.raw"}
    missing = {re.search('"(.+?)"', line)[1] for line in LINES if '"' in line} - images - named
    assert {Path(name).name for name in missing} <= {"S001C001P001R001A001"}
