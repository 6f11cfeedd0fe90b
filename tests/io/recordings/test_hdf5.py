"""HDF5 files, written by h5py."""

import numpy as np
import pytest
from support.damage import check_outcomes, outcomes

import depthforest as df
from depthforest.base import FrameError, UsageError
from depthforest.io.recordings import hdf5

h5py = pytest.importorskip("h5py", reason="h5py is not installed")

CAMERA = df.Camera(50, 50, 15.5, 11.5, 32, 24)
STACK = np.arange(1000, 1004, dtype=np.uint16)[:, None, None] * np.ones((1, 24, 32), np.uint16)


def test_itop_is_read_with_its_camera(tmp_path):
    depth = np.full((3, 240, 320), 2.5, np.float16)
    depth[1] = 3.0
    with h5py.File(tmp_path / "itop.h5", "w") as file:
        file["data"] = depth
        file["id"] = np.array([b"00_00000", b"00_00001", b"00_00002"])
    source = df.open_source(tmp_path / "itop.h5")
    assert len(source) == 3
    assert [int(frame.depth_mm[5, 5]) for frame in source] == [2500, 3000, 2500]
    # the conversion that ITOP's authors give: x = (col - 160) 0.0035 z
    assert source[1].camera.unproject((120, 260), 3.0)[0] == pytest.approx(100 * 0.0035 * 3.0)


def test_a_data_set_is_named_after_the_file(tmp_path):
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("cam/depth", data=STACK, chunks=(1, 24, 32), compression="gzip")
        file["cam/other"] = STACK + 500
        file["table"] = np.zeros((100, 3))
    assert [int(f.depth_mm[0, 0]) for f in df.open_source(f"{path}:cam/depth", CAMERA)] == [1000, 1001, 1002, 1003]
    assert df.open_source(f"{path}:/cam/other", CAMERA)[2].depth_mm[0, 0] == 1502
    assert df.open_source(path, CAMERA, topic="cam/other")[2].name == f"{path}#2"
    with pytest.raises(FrameError, match=r"several data sets: cam/depth, cam/other; name one, as in a.h5:cam/depth"):
        list(df.open_source(path, CAMERA))
    with pytest.raises(FrameError, match="holds no pictures in 'table'; data sets: cam/depth"):
        list(df.open_source(f"{path}:table", CAMERA))
    with pytest.raises(UsageError, match="named with two data sets"):
        df.open_source([f"{path}:cam/depth", f"{path}:cam/other"], CAMERA)


def test_other_files_and_absurd_sizes_are_refused(tmp_path):
    path = tmp_path / "a.h5"
    with h5py.File(tmp_path / "b.h5", "w") as file:
        file["depth"] = STACK
    with h5py.File(path, "w") as file:
        file["link"] = h5py.ExternalLink("b.h5", "depth")
        file.create_dataset("ext", (4, 24, 32), "u2", external=[("b.h5", 0, h5py.h5f.UNLIMITED)])
        file.create_dataset("wide", (4, 1 << 20, 1 << 20), "u2", chunks=(1, 64, 64))
        file.create_dataset("thick", (1 << 20, 64, 64), "u2", chunks=(1 << 18, 64, 64))
    for name, said in (
        ("link", "holds no pictures in 'link'"),
        ("ext", "keeps its numbers in other files"),
        ("wide", "expected 1 to"),
        ("thick", "too large to read"),
    ):
        with pytest.raises(FrameError, match=said):
            list(df.open_source(f"{path}:{name}", CAMERA))
    with h5py.File(tmp_path / "none.h5", "w") as file:
        file["words"] = np.array([b"a"])
    with pytest.raises(FrameError, match="holds no data set of numbers"):
        list(df.open_source(tmp_path / "none.h5", CAMERA))


def test_cut_and_damaged_files_get_one_line(tmp_path):
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("depth", data=STACK, chunks=(1, 24, 32), compression="gzip")
    check_outcomes(outcomes(path, lambda: sum(1 for _ in df.open_source(path, CAMERA))), 4)


def test_links_are_followed_within_the_file_and_circles_end(tmp_path, monkeypatch):
    monkeypatch.setattr(hdf5, "MAX_OBJECTS", 50)
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["depth"] = np.full((2, 24, 32), 999, np.uint16)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["camera/depth"] = np.full((2, 24, 32), 1500, np.uint16)
        file["camera/soft"] = h5py.SoftLink("/camera/depth")
        file["camera/there"] = h5py.ExternalLink("other.h5", "/depth")
    assert (df.open_source(tmp_path / "a.h5", CAMERA)[1].depth_mm == 1500).all()
    with h5py.File(tmp_path / "a.h5", "a") as file:
        file["camera/itself"] = file["camera"]
    with pytest.raises(FrameError, match="holds more than 50 groups and data sets"):
        list(df.open_source(tmp_path / "a.h5", CAMERA))
