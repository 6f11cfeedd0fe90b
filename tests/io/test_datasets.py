import importlib.util
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import depthforest as df
from depthforest.base.errors import DatasetError
from depthforest.base.resources import samples_folder
from depthforest.frames.parts import BODY31, NO_PART
from depthforest.io.formats import read_labels
from depthforest.io.writing import open_store

TOP = Path(__file__).resolve().parents[2]
CAMERA = df.Camera(40.0, 41.5, 15.25, 12.1, 32, 24)


def frame(seed, **changes):
    rng = np.random.default_rng(seed)
    parts = rng.integers(0, 31, (24, 32)).astype(np.uint8)
    people = rng.integers(0, 4, (24, 32)).astype(np.uint8)
    parts[people == 0] = NO_PART
    joints = {
        person: {
            name: df.Joint(tuple(rng.normal(size=3)), bool(rng.integers(2))) for name in ("head", "hand_l", "hip_r")
        }
        for person in (1, 3)
    }
    content = {
        "depth_mm": rng.integers(0, 65535, (24, 32)).astype(np.uint16),
        "camera": CAMERA,
        "parts": parts,
        "people": people,
        "joints": joints,
    }
    return df.LabeledFrame(**(content | changes))


@pytest.fixture
def data(tmp_path):
    return df.write_dataset(tmp_path / "data", [frame(i) for i in range(12)])


def test_what_is_written_reads_back_the_same(data):
    assert len(data) == 12
    assert data.camera == CAMERA
    assert data.part_set == BODY31
    for i in range(12):
        assert data[i] == frame(i)
    assert data[-1] == frame(11)
    assert data[2:4] == [frame(2), frame(3)]
    assert list(data) == [frame(i) for i in range(12)]
    with pytest.raises(IndexError):
        data[12]


def test_frames_keep_their_names_in_natural_order(tmp_path):
    data = df.write_dataset(tmp_path / "data", [frame(0), frame(1), frame(2)], names=["f10", "f9", "a b"])
    assert data.names == ("a b", "f9", "f10")
    assert data[0] == frame(2)


def test_stored_labels_are_indexed_pictures(data):
    with Image.open(data.path / "parts" / "000000.png") as image:
        assert image.mode == "P"
        palette = np.array(image.getpalette()).reshape(-1, 3)
    np.testing.assert_array_equal(palette[:31], BODY31.colors)
    np.testing.assert_array_equal(read_labels(data.path / "parts" / "000000.png"), frame(0).parts)
    with Image.open(data.path / "people" / "000000.png") as image:
        assert image.getpalette()[:3] == [0, 0, 0]


def test_a_data_set_that_someone_else_made(tmp_path):
    """Another depth unit, gray labels, own part names, no people, no joints, extra keys."""
    for name in ("depth", "parts"):
        (tmp_path / name).mkdir()
    raw = np.full((24, 32), 7500, np.uint16)  # 1.5 m at 5000 per meter
    parts = np.full((24, 32), 255, np.uint8)
    parts[3:9, 4:20] = 2
    Image.fromarray(raw).save(tmp_path / "depth" / "img-1.png")
    Image.fromarray(parts).save(tmp_path / "parts" / "img-1.png")
    description = {
        "camera": CAMERA.to_dict(),
        "depth_scale": 0.0002,
        "parts": {"names": ["seat", "leg_l", "leg_r"]},
        "author": "someone else",
    }
    (tmp_path / "dataset.json").write_text(json.dumps(description))
    data = df.open_dataset(tmp_path)
    (only,) = data
    assert only.part_set.names == ("seat", "leg_l", "leg_r")
    assert only.part_set.mirror == (0, 2, 1)
    assert (only.depth_mm == 1500).all()
    np.testing.assert_array_equal(only.people, parts == 2)
    assert dict(only.joints) == {}
    copy = df.write_dataset(tmp_path / "copy", data)
    assert list(copy) == [only]
    assert copy.names == data.names


def test_lens_distortion_is_removed_from_everything(tmp_path):
    lens = df.Camera(20.0, 20.0, 15.5, 11.5, 32, 24, (-0.3, 0.1, 0.0, 0.0))
    data = df.write_dataset(tmp_path / "data", [frame(0)])
    description = json.loads((data.path / "dataset.json").read_text())
    (data.path / "dataset.json").write_text(json.dumps(description | {"camera": lens.to_dict()}))
    (only,) = df.open_dataset(data.path)
    np.testing.assert_array_equal(only.parts, lens.undistort(frame(0).parts, fill=NO_PART))
    np.testing.assert_array_equal(only.people, lens.undistort(frame(0).people))
    np.testing.assert_array_equal(only.depth_mm, lens.undistort(frame(0).depth_mm))
    assert only.camera == lens.without_distortion()


def edit_json(path, **changes):
    content = json.loads((path / "dataset.json").read_text()) | changes
    (path / "dataset.json").write_text(json.dumps({k: v for k, v in content.items() if v is not None}))


def edit_joints(path, line):
    text = (path / "joints.csv").read_text().splitlines()
    (path / "joints.csv").write_text("\n".join([*text[:3], line, *text[3:]]))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda p: shutil.rmtree(p), "is not a folder; a data set is a folder with dataset.json"),
        (lambda p: (p / "dataset.json").unlink(), "has no dataset.json"),
        (lambda p: (p / "dataset.json").write_text(""), "is empty (0 bytes)"),
        (lambda p: (p / "dataset.json").write_text("{"), "is not valid JSON"),
        (lambda p: (p / "dataset.json").write_text("[]"), "expected an object with camera, depth_scale and parts"),
        (lambda p: edit_json(p, depth_scale=None), "lacks depth_scale"),
        (lambda p: edit_json(p, depth_scale=-1), "depth_scale must be meters per unit, above 0; got -1"),
        (lambda p: edit_json(p, camera={"fx": 1}), "lacks fy, cx, cy, width, height"),
        (lambda p: edit_json(p, parts={"names": ["a", "a"]}), "given more than once: a"),
        (lambda p: edit_json(p, parts={"names": ["a", "b"]}), "labels outside the part set"),
        (lambda p: shutil.rmtree(p / "depth"), "depth: cannot be read: no such file or directory"),
        (lambda p: [f.unlink() for f in (p / "depth").iterdir()], "holds no .png frames"),
        (
            lambda p: (p / "parts" / "000003.png").unlink(),
            "parts: lacks 000003.png (1 files of depth and parts unpaired)",
        ),
        (lambda p: (p / "people" / "000003.png").unlink(), "people: lacks 000003.png"),
        (lambda p: (p / "depth" / "000003.png").unlink(), "depth: lacks 000003.png"),
        (
            lambda p: Image.fromarray(np.zeros((24, 32), np.uint8)).save(p / "depth" / "000002.png"),
            "000002.png: expected a 16-bit PNG of one channel, got uint8 (24, 32)",
        ),
        (lambda p: (p / "depth" / "000000.png").write_bytes(b"\x89PNG"), "000000.png"),
        (
            lambda p: Image.fromarray(np.zeros((9, 9), np.uint8)).save(p / "parts" / "000001.png"),
            "frame 000001: parts have shape (9, 9), the depth (24, 32)",
        ),
        (
            lambda p: Image.fromarray(np.full((24, 32), 77, np.uint8)).save(p / "parts" / "000001.png"),
            "frame 000001: parts: 768 pixels have labels outside the part set, the first is 77; expected 0 to 30",
        ),
        (
            lambda p: Image.fromarray(np.zeros((24, 32, 3), np.uint8)).save(p / "parts" / "000001.png"),
            "expected an 8-bit PNG of label indices (gray or indexed), got uint8 of shape (24, 32, 3)",
        ),
        (lambda p: edit_joints(p, "000000,1,nose,0,0,1,1"), "line 4: no joint is called 'nose'; joints: head, neck"),
        (lambda p: edit_joints(p, "x,1,head,0,0,1,1"), "line 4: no frame is called 'x'"),
        (lambda p: edit_joints(p, "000000,7,head,0,zero,1,1"), "line 4: could not convert string to float: 'zero'"),
        (lambda p: edit_joints(p, "000000,7,head,0,nan,1,1"), "line 4: a joint's position is three finite numbers"),
        (
            lambda p: edit_joints(p, "000000,1,head,0,0,1"),
            "line 4: expected frame,person,joint,x,y,z,visible, got 000000,1,head,0,0,1",
        ),
        (lambda p: edit_joints(p, "000000,1,head,0,0,1,1"), "line 4: head of person 1 in frame 000000 is given twice"),
        (lambda p: edit_joints(p, "000000,1,head,0,0,1,yes"), "line 4: visible is 0 or 1, got 'yes'"),
        (lambda p: (p / "joints.csv").write_text("a,b\n"), "expected the columns frame,person,joint,x,y,z,visible"),
        (lambda p: (p / "joints.csv").write_bytes(b"\xff\xfe\xff"), "is not UTF-8 text"),
        (lambda p: (p / "joints.csv").write_text("a" * 200_000), "line 1: field larger than field limit"),
    ],
)
def test_broken_data_sets_are_refused(data, spoil, message):
    spoil(data.path)
    with pytest.raises(df.DepthForestError) as error:
        list(df.open_dataset(data.path))
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_joints_with_old_line_ends_are_read(data):
    path = data.path / "joints.csv"
    expected = data[0].joints
    assert expected
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r"))
    assert df.open_dataset(data.path)[0].joints == expected


def bad_frames():
    yield frame(0)
    yield frame(1, camera=df.Camera(9, 9, 9, 9, 32, 24))


@pytest.mark.parametrize(
    ("frames", "names", "message"),
    [
        (bad_frames(), None, "frame 000001 has another camera or part set than the first"),
        ([], None, "there are no frames to write"),
        ([frame(0)], ["a", "b"], "2 names for 1 frames; give one for each"),
        ([frame(0), frame(1)], ["a", "a"], "frame names must be unique"),
        ([frame(0)], ["../a"], "'../a' cannot be a frame name"),
        ([frame(0)], [".a"], "cannot be a frame name"),
        ([frame(0)], [""], "cannot be a frame name"),
        ([frame(0), frame(1)], ["a"], "1 names for more frames; give one for each"),
        ([df.Frame(frame(0).depth_mm, CAMERA)], None, "frame 000000 is a Frame; a data set is made of LabeledFrames"),
    ],
)
def test_a_failed_write_leaves_nothing(tmp_path, frames, names, message):
    with pytest.raises(DatasetError, match=message.replace(".", r"\.")):
        df.write_dataset(tmp_path / "data", frames, names=names)
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_write_leaves_nothing(tmp_path):
    def interrupted():
        yield frame(0)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        df.write_dataset(tmp_path / "data", interrupted())
    assert list(tmp_path.iterdir()) == []


def test_an_unreadable_frame_is_named_when_copying(data, tmp_path):
    (data.path / "depth" / "000004.png").write_bytes(b"")
    with pytest.raises(DatasetError, match=r"000004\.png: is empty"):
        df.write_dataset(tmp_path / "copy", data, names=data.names)


def test_blank_lines_in_joints_are_skipped(data):
    edit_joints(data.path, "")
    assert df.open_dataset(data.path)[0] == frame(0)


def test_nothing_is_overwritten(data):
    with pytest.raises(DatasetError, match="exists already"):
        df.write_dataset(data.path, [frame(5)])
    assert data[0] == frame(0)


def test_the_bundled_samples_are_what_the_script_makes():
    spec = importlib.util.spec_from_file_location("make_samples", TOP / "tools" / "make_samples.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    samples, made = df.open_dataset(samples_folder()), script.sample_frames()
    assert set(samples.names) == set(made)
    for name, sample in zip(samples.names, samples, strict=True):
        # another processor may round a few pixels differently
        assert (sample.parts == made[name].parts).mean() > 0.995
        assert (sample.people == made[name].people).mean() > 0.995
        assert (np.abs(sample.depth_mm.astype(int) - made[name].depth_mm) <= 2).mean() > 0.99
        for person, joints in made[name].joints.items():
            for joint, truth in joints.items():
                np.testing.assert_allclose(sample.joints[person][joint].position, truth.position, atol=1e-4)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("depth", {"shape": [1_000, 48, 64]}, "depth has shape"),
        ("parts", {"shape": [12, 9_000, 9_000]}, "parts has shape"),
        ("joints", {"shape": [12, 100_000, 19, 3]}, "joints has shape|visible has shape"),
        ("depth", {"chunk": [4096, 480, 640]}, "depth has chunks of .* at most 268435456 bytes"),
        ("depth", {"data_type": "complex128", "fill_value": [0.0, 0.0]}, "expected numbers|cannot be opened"),
    ],
)
def test_zarr_arrays_that_do_not_fit_are_refused_before_they_are_read(tmp_path, name, change, message):
    """Small files promised arrays of gigabytes."""
    pytest.importorskip("zarr")
    store = open_store(tmp_path / "z", "zarr", identity="", max_people=3)
    frames = [frame(i) for i in range(2)]
    store.prepare(2, frames[0])
    store.write(0, frames)
    store.finish(2, frames[0])
    store.unlock()
    assert len(df.open_dataset(tmp_path / "z")) == 2
    path = tmp_path / "z" / name / "zarr.json"
    content = json.loads(path.read_text())
    if "chunk" in change:
        content["chunk_grid"]["configuration"]["chunk_shape"] = change["chunk"]
    path.write_text(json.dumps(content | {k: v for k, v in change.items() if k != "chunk"}))
    with pytest.raises(DatasetError, match=message):
        df.open_dataset(tmp_path / "z")


def test_endless_numbers_of_frames_are_refused(tmp_path):
    pytest.importorskip("zarr")
    store = open_store(tmp_path / "z", "zarr", identity="", max_people=3)
    store.prepare(1, frame(0))
    store.write(0, [frame(0)])
    store.finish(1, frame(0))
    store.unlock()
    for path in (tmp_path / "z").rglob("zarr.json"):
        content = json.loads(path.read_text())
        if "shape" in content:
            content["shape"][0] = 10**8
        else:
            content["attributes"]["dataset"]["n_frames"] = 10**8
        path.write_text(json.dumps(content))
    with pytest.raises(DatasetError, match="says it has 100000000 frames; at most 4194304 can be read"):
        df.open_dataset(tmp_path / "z")
