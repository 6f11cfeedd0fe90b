import io
import json
import os
import subprocess
import sys

import numpy as np
import pytest
import tifffile
from PIL import Image

import depthforest as df
from depthforest.base.errors import CameraError, DepthForestError, FrameError, UsageError
from depthforest.io.reading import FrameSequence, ReadOptions
from depthforest.io.recordings import opening

CAMERA = df.Camera(40.0, 41.0, 15.2, 12.1, 32, 24)
STACK = np.random.default_rng(1).integers(500, 5000, (12, 24, 32)).astype(np.uint16)


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "frames"
    path.mkdir()
    for i, depth in enumerate(STACK):
        Image.fromarray(depth).save(path / f"frame{i}.png")
    (path / "notes.txt").write_text("not a frame")
    (path / ".hidden.png").write_text("not a frame")
    return path


def depths(frames):
    return np.stack([f.depth_mm for f in frames])


def test_one_file(folder):
    frame = df.read_depth(folder / "frame3.png", camera=CAMERA)
    np.testing.assert_array_equal(frame.depth_mm, STACK[3])
    assert frame.camera == CAMERA


def test_options_reach_the_frame(tmp_path):
    np.save(tmp_path / "a.npy", STACK[0].astype(np.uint32) * 5)
    frame = df.read_depth(tmp_path / "a.npy", CAMERA, scale="tum", flip=True, rotate=90)
    np.testing.assert_array_equal(frame.depth_mm, np.rot90(STACK[0][:, ::-1], -1))
    assert frame.camera == CAMERA.rotated(90)


def test_tum_and_sun3d_by_name(tmp_path):
    Image.fromarray(STACK[0] * 5).save(tmp_path / "tum.png")
    np.testing.assert_array_equal(df.read_depth(tmp_path / "tum.png", CAMERA, scale="tum").depth_mm, STACK[0])
    Image.fromarray((STACK[0] << 3) | (STACK[0] >> 13)).save(tmp_path / "sun3d.png")
    np.testing.assert_array_equal(df.read_depth(tmp_path / "sun3d.png", CAMERA, scale="sun3d").depth_mm, STACK[0])


def test_camera_from_numbers_takes_the_pictures_size(folder):
    assert df.read_depth(folder / "frame0.png", "40,41,15.2,12.1").camera == CAMERA


def test_folders_come_in_natural_order(folder):
    frames = df.read_frames(folder, CAMERA)
    assert frames.total == 12
    np.testing.assert_array_equal(depths(frames), STACK)
    np.testing.assert_array_equal(depths(frames), STACK)  # and again


def test_globs_and_lists(folder):
    np.testing.assert_array_equal(depths(df.read_frames(f"{folder}/frame1*.png", CAMERA)), STACK[[1, 10, 11]])
    files = [folder / "frame2.png", str(folder / "frame0.png")]
    np.testing.assert_array_equal(depths(df.read_frames(files, CAMERA)), STACK[[2, 0]])


def test_stacks_pages_and_dumps(tmp_path):
    np.save(tmp_path / "a.npy", STACK)
    tifffile.imwrite(tmp_path / "a.tif", STACK, photometric="minisblack")
    (tmp_path / "a.raw").write_bytes(STACK.tobytes())
    for name in ("a.npy", "a.tif", "a.raw"):
        frames = df.read_frames(tmp_path / name, CAMERA)
        assert frames.total == 12
        np.testing.assert_array_equal(depths(frames), STACK)
    assert [(name.page, name.stem) for name, _ in frames.named()] == [(i, f"a_{i:06d}") for i in range(12)]


def test_what_is_called_a_picture_is_no_dump(tmp_path):
    """Unless its size is given: the camera's alone would make a picture of any broken file."""
    for name in ("a.png", "a.exr", "a"):
        (tmp_path / name).write_bytes(STACK[0].tobytes())
        with pytest.raises(FrameError, match="is not a PNG, TIFF, PGM, NumPy or PCD file"):
            df.read_depth(tmp_path / name, CAMERA)
        np.testing.assert_array_equal(df.read_depth(tmp_path / name, CAMERA, size="32x24").depth_mm, STACK[0])
    for name in ("a.raw", "a.BIN", "a.depth"):
        (tmp_path / name).write_bytes(STACK[0].tobytes())
        np.testing.assert_array_equal(df.read_depth(tmp_path / name, CAMERA).depth_mm, STACK[0])


def test_a_stream():
    class Pipe(io.BytesIO):
        """Hands out at most 1000 bytes at a time, as pipes do."""

        def read(self, n=-1):
            return super().read(min(n, 1000))

    frames = FrameSequence(["-"], ReadOptions(CAMERA), stdin=Pipe(STACK.tobytes()))
    assert frames.total is None
    np.testing.assert_array_equal(depths(frames), STACK)


def test_a_stream_on_standard_input():
    code = (
        "import sys, depthforest as df\n"
        "for f in df.read_frames('-', '40,41,15.2,12.1', size='32x24'): print(f.depth_mm.sum())"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], input=STACK.tobytes(), capture_output=True, check=True, timeout=600
    )
    assert run.stdout.split() == [str(s.sum()).encode() for s in STACK]


def test_streams_end_with_a_word():
    short = FrameSequence(["-"], ReadOptions(CAMERA), stdin=io.BytesIO(STACK.tobytes()[:4000]))
    with pytest.raises(FrameError, match=r"stdin: ended inside picture 3, after 928 of 1536 bytes; is 32x24 the size"):
        list(short)
    with pytest.raises(FrameError, match="ended before the first picture"):
        list(FrameSequence(["-"], ReadOptions(CAMERA), stdin=io.BytesIO()))
    with pytest.raises(UsageError, match="has no header; give its size"):
        df.read_frames("-")


def test_only_one_frame_is_held(tmp_path):
    """A long stack is read in the memory of a few frames."""
    import tracemalloc

    camera = df.Camera.preset("kinect_v1")
    stack = np.lib.format.open_memmap(tmp_path / "a.npy", mode="w+", dtype=np.uint16, shape=(40, 480, 640))
    stack[:] = 1500
    del stack
    tracemalloc.start()
    try:
        for _ in df.read_frames(tmp_path / "a.npy", camera):
            pass
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 10 * 480 * 640 * 2


def test_a_bad_frame_is_named_and_the_rest_goes_on(folder):
    (folder / "frame5.png").write_bytes((folder / "frame5.png").read_bytes()[:300])
    outcomes = dict(df.read_frames(folder, CAMERA).named())
    bad = [n for n, f in outcomes.items() if isinstance(f, DepthForestError)]
    assert [n.path.name for n in bad] == ["frame5.png"]
    assert len(outcomes) == 12
    with pytest.raises(FrameError, match=r"frame5\.png: is truncated"):
        list(df.read_frames(folder, CAMERA))


def test_a_cut_stack_is_named_and_the_rest_goes_on(tmp_path):
    """Pillow's TypeError about one of two thousand stacks ended the whole run and named none."""
    for name in "abc":
        tifffile.imwrite(tmp_path / f"{name}.tif", STACK[:3], photometric="minisblack")
    whole = (tmp_path / "b.tif").read_bytes()
    (tmp_path / "b.tif").write_bytes(whole[: len(whole) // 2])
    outcomes = [(name.path.name, frame) for name, frame in df.read_frames(tmp_path, CAMERA).named()]
    assert [name for name, frame in outcomes if not isinstance(frame, DepthForestError)].count("a.tif") == 3
    assert [name for name, frame in outcomes if not isinstance(frame, DepthForestError)].count("c.tif") == 3
    told = {name: str(frame) for name, frame in outcomes if isinstance(frame, DepthForestError)}
    assert list(told) == ["b.tif"]
    assert "b.tif: " in told["b.tif"]


def test_mixed_sizes_are_refused(folder):
    Image.fromarray(STACK[0][:12, :16]).save(folder / "frame6.png")
    with (
        pytest.warns(df.DepthForestWarning, match="scaled to pictures of 16 x 12"),
        pytest.raises(
            FrameError,
            match=r"frame6\.png: is 16 x 12 but .*frame0\.png 32 x 24; the frames of a sequence have one size",
        ),
    ):
        list(df.read_frames(folder, CAMERA))


def test_unreadable_folders_are_refused(tmp_path):
    path = tmp_path / "locked"
    path.mkdir(mode=0)
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(65534)  # root reads everything: be nobody for a moment
    try:
        with pytest.raises(FrameError, match="permission denied"):
            df.read_frames(path, CAMERA)
    finally:
        if is_root:
            os.seteuid(0)


@pytest.mark.parametrize(
    ("use", "error", "message"),
    [
        (lambda p: df.read_depth(p / "none.png", CAMERA), FrameError, "none.png: cannot be read: no such file"),
        (lambda p: df.read_depth(p, CAMERA), FrameError, "is a folder; read_frames reads its frames"),
        (lambda p: df.read_depth(p / "a.npy", CAMERA), FrameError, "holds more than one picture; read_frames"),
        (lambda p: df.read_frames(p, CAMERA), FrameError, "is a data set; open_dataset opens it"),
        (lambda p: df.read_frames(p / "empty", CAMERA), FrameError, "holds no depth images (.png, .tif"),
        (
            lambda p: df.read_frames(p / "empty", CAMERA),
            FrameError,
            "); name a folder of frames, or a recording by its file",
        ),
        (lambda p: df.read_frames(f"{p}/*.exr", CAMERA), FrameError, "no file matches"),
        (lambda _: df.read_frames([], CAMERA), UsageError, "no input given"),
        (lambda p: df.read_depth(p / "b.npy"), CameraError, "no camera given, and 32 x 24 is the size of no preset"),
        (lambda p: df.read_depth(p / "b.npy", "kinect_v2"), CameraError, "different aspect ratio"),
        (lambda p: df.read_depth(p / "b.npy", CAMERA, rotate=30), CameraError, "0, 90, 180 or 270"),
        (lambda p: df.read_depth(p / "b.npy", CAMERA, scale="feet"), UsageError, "scale 'feet' is unknown"),
        (lambda p: df.read_depth(p / "b.npy", "kinect"), CameraError, "'kinect' is not a camera preset"),
        (lambda p: df.read_depth(p / "b.npy", "5,5,a,b"), CameraError, "camera numbers are fx,fy,cx,cy"),
        (lambda p: df.read_depth(p / "b.npy", ".01,.01,1,1"), CameraError, "side; got fx=0.01, fy=0.01 (in meters"),
        (lambda p: df.read_depth(p / "c.bin", None, size=(0, 0)), UsageError, "size: 0 x 0 pixels"),
        (lambda p: df.read_depth(p / "c.bin", None, size=640), UsageError, "size must be (width, height) in pixels"),
        (lambda p: df.read_depth(p / "c.bin", None), FrameError, "pass its size, as in 640x480"),
    ],
)
def test_misuse_is_answered(tmp_path, use, error, message):
    np.save(tmp_path / "a.npy", STACK)
    np.save(tmp_path / "b.npy", STACK[0])
    (tmp_path / "c.bin").write_bytes(b"123456")
    (tmp_path / "dataset.json").write_text(json.dumps({}))
    (tmp_path / "empty").mkdir()
    with pytest.raises(error) as caught:
        use(tmp_path)
    assert message in str(caught.value)


def test_a_mirrored_cloud_is_turned_back_with_its_camera(tmp_path):
    from support.clouds import pcd

    off_center = df.Camera(40.0, 40.0, 10.0, 12.0, 32, 24)
    points = off_center.unproject_frame(STACK[0])
    mirrored = points[:, ::-1] * np.array([-1, 1, 1], dtype=np.float32)
    (tmp_path / "m.pcd").write_bytes(pcd("binary", mirrored))
    frame = df.read_depth(tmp_path / "m.pcd", flip=True)
    np.testing.assert_allclose(frame.points(), points, atol=2e-3)


def test_a_principal_point_outside_is_doubted(folder):
    with pytest.warns(df.DepthForestWarning, match=r"the principal point \(300, 12\) lies outside"):
        df.read_depth(folder / "frame0.png", "40,40,300,12")


# -- real files --------------------------------------------------------------------------------------------------------


def test_the_real_kinect_frames_open(shared_data):
    frames = list(df.read_frames(shared_data("real_kinect_v1"), "kinect_v1"))
    assert len(frames) == 6
    for frame in frames:
        assert frame.shape == (480, 640)
        readings = frame.depth_mm[frame.depth_mm > 0]
        assert 0.2 < readings.size / frame.depth_mm.size < 0.4
        assert readings.min() > 700
        assert readings.max() < 2100


def test_the_real_point_cloud_opens(shared_data):
    frame = df.read_depth(shared_data("pcd") / "person.pcd")
    assert frame.camera.fx == pytest.approx(525, abs=0.01)
    assert frame.camera.cx == pytest.approx(319.5, abs=0.01)
    assert frame.shape == (480, 640)
    assert 0.75 < (frame.depth_mm > 0).mean() < 0.85


def test_the_format_of_a_file_is_found_out_once(folder, monkeypatch):
    sniffed = []
    plain = opening.sniff
    monkeypatch.setattr(opening, "sniff", lambda path: sniffed.append(path) or plain(path))
    frames = df.read_frames(folder, CAMERA)
    assert sum(1 for _ in frames) == len(sniffed) == len(set(sniffed)) > 1


@pytest.mark.parametrize("name", ["a.npy", "a.npz", "a.tif", "a.raw"])
def test_files_have_a_length_and_any_frame_by_its_number(tmp_path, name):
    import tifffile

    stack = np.arange(1000, 1005, dtype=np.uint16)[:, None, None] * np.ones((1, 24, 32), np.uint16)
    path = tmp_path / name
    writers = {
        "a.npy": lambda: np.save(path, stack),
        "a.npz": lambda: np.savez_compressed(path, depth=stack),
        "a.tif": lambda: tifffile.imwrite(path, stack, photometric="minisblack"),
        "a.raw": lambda: path.write_bytes(stack.tobytes()),
    }
    writers[name]()
    np.save(tmp_path / "b.npy", stack[0] + 500)
    source = df.open_source([path, tmp_path / "b.npy"], CAMERA)
    assert len(source) == 6
    assert [int(source[n].depth_mm[0, 0]) for n in (3, 0, -2, 5)] == [1003, 1000, 1004, 1500]
    assert source[3].name == f"{path}#3"
    assert source[5].name == str(tmp_path / "b.npy")
    with pytest.raises(IndexError, match="frame 6 of 6"):
        source[6]
    with pytest.raises(IndexError, match="frame -7 of 6"):
        source[-7]


def test_a_stream_has_neither_length_nor_numbers():
    source = FrameSequence(["-"], ReadOptions(CAMERA), stdin=io.BytesIO())
    assert source
    with pytest.raises(TypeError, match="a stream has no length"):
        len(source)
    with pytest.raises(UsageError, match="a stream has no frames by number"):
        source[0]


def test_masked_depth_of_ntu_is_a_folder_in_natural_order(tmp_path):
    """NTU RGB+D: MDepth-00000001.png and so on, 512 x 424, 16-bit millimeters, 0 where nobody is."""
    for number in (10, 9, 1):
        depth = np.zeros((424, 512), np.uint16)
        depth[100:300, 200:280] = 2000 + number
        Image.fromarray(depth).save(tmp_path / f"MDepth-{number:08d}.png")
    frames = list(df.open_source(tmp_path, "kinect_v2"))
    assert [int(frame.depth_mm[200, 240]) for frame in frames] == [2001, 2009, 2010]
    assert frames[0].camera == df.Camera.preset("kinect_v2")
