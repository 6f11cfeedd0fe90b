"""Record3D files: a ZIP of pictures packed by Apple's LZFSE library, with the metadata that the app writes."""

import json
import zipfile

import numpy as np
import pytest
from support.damage import check_outcomes, outcomes

import depthforest as df
from depthforest.base import FrameError

liblzfse = pytest.importorskip("liblzfse", reason="pyliblzfse is not installed")

WIDTH, HEIGHT, N = 192, 256, 3
# as the app writes it: K by columns, of the color picture
TOLD = {
    "w": 1440, "h": 1920, "dw": WIDTH, "dh": HEIGHT, "fps": 60, "K": [1500.0, 0, 0, 0, 1510.0, 0, 719.5, 959.5, 1],
    "frameTimestamps": [7.0, 7.0166, 7.0333], "poses": [[0, 0, 0, 1, 0, 0, 0]] * N, "cameraType": 1,
}  # fmt: skip


def picture(number):
    depth = np.full((HEIGHT, WIDTH), 1.5 + number / 10, np.float32)
    depth[:4] = np.nan
    return depth


def r3d(path, told=TOLD, pictures=None):
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("metadata", json.dumps(told))
        for number, content in enumerate(pictures or [liblzfse.compress(picture(n).tobytes()) for n in range(N)]):
            file.writestr(f"rgbd/{number}.depth", content)
            file.writestr(f"rgbd/{number}.jpg", bytes(20_000))  # of colors, which nobody reads
    return path


def test_depth_camera_and_time_come_out(tmp_path):
    source = df.open_source(r3d(tmp_path / "a.r3d"))
    frames = list(source)
    assert len(source) == N
    assert [int(frame.depth_mm[100, 100]) for frame in frames] == [1500, 1600, 1700]
    assert not frames[0].depth_mm[:4].any()
    assert [frame.time_s for frame in frames] == [7.0, 7.0166, 7.0333]
    camera = frames[0].camera
    assert camera.shape == (HEIGHT, WIDTH)
    assert (camera.fx, camera.cx, camera.cy) == pytest.approx((200.0, 95.5, 127.5))
    assert source[-1] == frames[2]


def test_old_files_do_not_tell_their_size(tmp_path):
    told = {key: TOLD[key] for key in ("w", "h", "fps", "K")}
    frames = list(df.open_source(r3d(tmp_path / "a.r3d", told)))
    assert frames[1].shape == (HEIGHT, WIDTH)
    assert [frame.time_s for frame in frames] == pytest.approx([0, 1 / 60, 2 / 60])


def test_pictures_that_unpack_to_more_are_refused(tmp_path):
    bomb = liblzfse.compress(bytes(1 << 24))
    assert len(bomb) < 1 << 17
    path = r3d(tmp_path / "a.r3d", pictures=[bomb])
    with pytest.raises(FrameError, match=r"unpacks to more than 196608|holds 4194304 numbers"):
        list(df.open_source(path))
    with pytest.raises(FrameError, match="holds 10 numbers"):
        list(df.open_source(r3d(path, pictures=[liblzfse.compress(bytes(40))])))
    with pytest.raises(FrameError, match="expected 1 to"):
        list(df.open_source(r3d(path, TOLD | {"dw": 10**6, "dh": 10**6})))


def test_cut_and_damaged_files_get_one_line(tmp_path):
    path = r3d(tmp_path / "a.r3d")
    camera = df.Camera(200, 200, 95.5, 127.5, WIDTH, HEIGHT)
    check_outcomes(outcomes(path, lambda: sum(1 for _ in df.open_source(path, camera)), n_changed=40), N)
