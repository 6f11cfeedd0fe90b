import json
import pickle
import resource
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import fields, replace
from unittest.mock import MagicMock

import numpy as np
import pytest
from support.bounded import started
from support.command import run_here

import depthforest as df
from depthforest.base.errors import DatasetError
from depthforest.base.threads import map_in_order
from depthforest.io.writing import MARKS, check_claim
from synth.config import Config, ConfigError
from synth.generator import Generator
from synth.production import produce
from synth.provenance import LATER_DEFAULTS, identity

# one block of built-in poses: drawing blocks would be nearly all of the time
TINY = Config(camera="kinect_v1@40x30", n_bodies=2, n_poses=64, sensor="ideal")


@pytest.fixture(scope="module")
def frames():
    return Generator(TINY, seed=1, n=200)


@pytest.mark.parametrize("kind", ["folder", "zarr"])
def test_what_is_produced_is_what_is_generated(frames, tmp_path, kind):
    data = produce(frames, tmp_path / "out", 70, kind=kind)
    assert len(data) == 70
    assert data.camera == frames.camera
    for i in (0, 3, 63, 64, 69):
        assert data[i] == frames[i]
    assert data[-1] == frames[69]
    assert data[1:3] == [frames[1], frames[2]]
    assert df.open_dataset(tmp_path / "out")[5] == frames[5]
    with pytest.raises(IndexError):
        data[70]


@pytest.mark.parametrize("kind", ["folder", "zarr"])
def test_frames_without_anybody_are_stored_like_others(tmp_path, kind):
    frames = Generator(replace(TINY, empty_share=0.6, clutter_share=0.5, n_things=20), seed=1, n=8)
    data = produce(frames, tmp_path / "out", 8, kind=kind)
    assert list(data) == [frames[i] for i in range(8)]
    assert {bool(frame.joints) for frame in data} == {True, False}
    nobody = produce(Generator(replace(TINY, empty_share=1.0), seed=1, n=3), tmp_path / "nobody", 3, kind=kind)
    assert not any(frame.joints or frame.people.any() for frame in nobody)


@pytest.mark.parametrize("kind", ["folder", "zarr"])
def test_more_frames_are_added_and_nothing_is_redone(frames, tmp_path, kind):
    produce(frames, tmp_path / "out", 70, kind=kind)
    first = tmp_path / "out" / ("depth/000003.png" if kind == "folder" else "depth/c/0/0/0")
    before = first.stat().st_mtime_ns
    counted = []
    data = produce(frames, tmp_path / "out", 140, kind=kind, progress=counted.append)
    assert counted == [64, 64, 12]
    assert first.stat().st_mtime_ns == before
    assert len(data) == 140
    for i in (3, 69, 100, 139):
        assert data[i] == frames[i]


@pytest.mark.parametrize("kind", ["folder", "zarr"])
def test_fewer_frames_change_nothing(frames, tmp_path, kind):
    produce(frames, tmp_path / "out", 20, kind=kind)
    data = produce(frames, tmp_path / "out", 10, kind=kind)
    assert list(data) == [frames[i] for i in range(20)]


@pytest.mark.parametrize("kind", ["folder", "zarr"])
def test_a_store_that_grows_is_unfinished_meanwhile(frames, tmp_path, kind):
    produce(frames, tmp_path / "out", 64, kind=kind)

    def stop(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        produce(frames, tmp_path / "out", 190, kind=kind, threads=1, progress=stop)
    with pytest.raises(DatasetError, match="is unfinished; run the command that began it again to continue"):
        df.open_dataset(tmp_path / "out")
    assert list(produce(frames, tmp_path / "out", 190, kind=kind))[150:] == [frames[i] for i in range(150, 190)]


def test_changed_files_are_another_config(tmp_path):
    camera = tmp_path / "cam.json"
    camera.write_text(json.dumps({"fx": 40, "fy": 40, "cx": 20, "cy": 15, "width": 40, "height": 30}))
    config = replace(TINY, camera=str(camera))
    produce(Generator(config, seed=1), tmp_path / "out", 3)
    camera.write_text(camera.read_text().replace('"fx": 40', '"fx": 41'))
    with pytest.raises(DatasetError, match=r"was begun with `camera = .*40\.0.* now it is `camera = .*41\.0"):
        produce(Generator(config, seed=1), tmp_path / "out", 3)


def test_data_sets_of_before_a_field_came_go_on():
    assert "only_subjects" not in identity(TINY, 1)
    assert 'only_subjects = ["07"]' in identity(replace(TINY, only_subjects=("07",)), 1).splitlines()
    assert "clutter" not in identity(TINY, 1)
    # version, seed, camera; not the new fields
    assert identity(TINY, 1).count("\n") == len(fields(Config)) + 3 - len(LATER_DEFAULTS)
    assert "clutter_share = 0.5" in identity(replace(TINY, clutter_share=0.5), 1).splitlines()


def test_what_a_killed_run_left_is_swept(frames, tmp_path):
    (tmp_path / "out" / MARKS).mkdir(parents=True)  # killed before it wrote its identity
    produce(frames, tmp_path / "out", 3)
    (tmp_path / "out" / "depth" / ".0123.part").write_text("half")
    produce(frames, tmp_path / "out", 5)
    assert not list((tmp_path / "out").rglob(".*.part"))


@pytest.mark.parametrize("kind", ["folder", "zarr"])
def test_a_folder_that_another_run_writes_is_refused(frames, tmp_path, kind):
    """Two runs at once into one Zarr store ended with an internal error."""
    if kind == "zarr":
        pytest.importorskip("zarr")
    code = (
        "import sys, time\nfrom depthforest.io.writing import open_store\n"
        "open_store(*sys.argv[1:3], identity=sys.argv[3])\nprint('begun', flush=True)\ntime.sleep(600)"
    )
    command = [sys.executable, "-c", code, tmp_path / "out", kind, frames.identity()]
    with started(command, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "begun\n"
        with pytest.raises(DatasetError, match="another run is writing there; wait until it has ended"):
            produce(frames, tmp_path / "out", 3, kind=kind)
    assert len(produce(frames, tmp_path / "out", 3, kind=kind)) == 3


def test_another_config_is_refused(frames, tmp_path):
    produce(frames, tmp_path / "out", 3)
    other = Generator(replace(TINY, sensor="kinect_v1"), seed=1)
    with pytest.raises(DatasetError, match='was begun with `sensor = "ideal"`, now it is `sensor = "kinect_v1"`'):
        produce(other, tmp_path / "out", 3)
    with pytest.raises(DatasetError, match="was begun with `seed = 1`, now it is `seed = 2`"):
        produce(Generator(TINY, seed=2), tmp_path / "out", 3)
    with pytest.raises(DatasetError, match="was begun with `format = folder`, now it is `format = zarr`"):
        produce(frames, tmp_path / "out", 3, kind="zarr")
    assert df.open_dataset(tmp_path / "out")[2] == frames[2]


def test_other_things_are_left_alone(frames, tmp_path):
    (tmp_path / "thesis.tex").write_text("dear reader")
    with pytest.raises(DatasetError, match="holds other things already; name a new folder"):
        produce(frames, tmp_path, 3)
    assert [f.name for f in tmp_path.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize("kind", ["folder", "zarr"])
def test_an_unfinished_store_says_so(frames, tmp_path, kind):
    def stop(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        produce(frames, tmp_path / "out", 150, kind=kind, threads=1, progress=stop)
    with pytest.raises(DatasetError, match="is unfinished; run the command that began it again to continue"):
        df.open_dataset(tmp_path / "out")
    data = produce(frames, tmp_path / "out", 150, kind=kind)
    assert list(data) == [frames[i] for i in range(150)]


def test_a_broken_zarr_store_is_refused(frames, tmp_path):
    produce(frames, tmp_path / "out", 20, kind="zarr")
    shutil.rmtree(tmp_path / "out" / "parts")
    with pytest.raises(DatasetError, match="cannot be opened as a Zarr data set"):
        df.open_dataset(tmp_path / "out")
    (tmp_path / "out" / "zarr.json").write_text("{")
    with pytest.raises(DatasetError, match="cannot be opened as a Zarr data set"):
        df.open_dataset(tmp_path / "out")


def test_a_chunk_is_decoded_once_by_each_thread(frames, tmp_path, monkeypatch):
    data = produce(frames, tmp_path / "out", 20, kind="zarr")
    reads = []
    for name, array in data._arrays.items():
        spy = MagicMock(chunks=array.chunks)
        spy.__getitem__.side_effect = lambda rows, array=array, name=name: (
            reads.append((name, rows.start)) or array[rows]
        )
        monkeypatch.setitem(data._arrays, name, spy)
    assert list(data) == list(frames[:20])
    assert sorted(reads) == sorted((name, first) for name in data._arrays for first in (0, 16))
    assert (
        list(map_in_order(data.__getitem__, [19, 0, 17, 3] * 3, threads=3)) == [frames[i] for i in (19, 0, 17, 3)] * 3
    )
    assert pickle.loads(pickle.dumps(data))[18] == frames[18]


def test_a_damaged_chunk_names_its_frame(frames, tmp_path):
    data = produce(frames, tmp_path / "out", 20, kind="zarr")
    (tmp_path / "out" / "depth" / "c" / "0" / "0" / "0").write_bytes(b"damaged")
    with pytest.raises(DatasetError, match="frame 000004: "):
        data[4]
    assert data[17] == frames[17]


def test_misuse_is_refused(frames, tmp_path):
    with pytest.raises(ConfigError, match="the number of frames must be from 1 to 200, got 0"):
        produce(frames, tmp_path / "out", 0)
    with pytest.raises(DatasetError, match="format must be one of folder, zarr, got 'hdf5'"):
        produce(frames, tmp_path / "out", 3, kind="hdf5")
    (tmp_path / "file").touch()
    with pytest.raises(df.DepthForestError, match="is a file; name a folder"):
        produce(frames, tmp_path / "file", 3)
    with pytest.raises(df.DepthForestError, match="cannot be made a folder"):
        produce(frames, tmp_path / "file" / "out", 3)


# -- the command -------------------------------------------------------------------------------------------------------


def command(*args):
    return [sys.executable, "-m", "depthforest", "synth", *map(str, args)]


def test_the_command_makes_a_data_set(tmp_path):
    TINY.save(tmp_path / "c.toml")
    args = ["-n", 5, "-o", tmp_path / "out", "--config", tmp_path / "c.toml", "--seed", 1, "--preview"]
    done = subprocess.run(command(*args), capture_output=True, text=True, check=True, timeout=600)
    assert done.stderr == ""
    assert "5 frames in" in done.stdout
    data = df.open_dataset(tmp_path / "out")
    assert data[4] == Generator(TINY, seed=1)[4]
    assert (tmp_path / "out" / "preview.png").stat().st_size > 1000
    again = run_here("synth", *args)
    assert again.returncode == 0
    assert f"{tmp_path / 'out'} already holds these 5 frames; nothing to do; look at" in again.stdout.decode()
    fewer = run_here("synth", "-n", 1, *args[2:])
    assert fewer.returncode == 0
    told = f"{tmp_path / 'out'} already holds 5 frames, more than the 1 asked for; nothing was rendered; look at"
    assert told in fewer.stdout.decode()


def test_killed_at_any_moment_it_goes_on(tmp_path):
    """kill -9 in the middle of the work, twice; the result is the same as without."""
    config = replace(TINY, n_bodies=1)
    config.save(tmp_path / "c.toml")
    out = tmp_path / "out"
    args = command("-n", 900, "-o", out, "--config", tmp_path / "c.toml", "--seed", 1, "--format", "zarr")
    n_killed = 0
    for n_marks in (2, 6):
        with started(args, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            while process.poll() is None:
                if (out / MARKS).is_dir() and len(list((out / MARKS).iterdir())) > n_marks:
                    process.send_signal(signal.SIGKILL)
                    n_killed += 1
                    break
                time.sleep(0.005)
    assert n_killed == 2
    subprocess.run(args, check=True, capture_output=True, timeout=600)
    data, frames = df.open_dataset(out), Generator(config, seed=1)
    for i in np.random.default_rng(0).integers(0, 900, 60):
        assert data[int(i)] == frames[int(i)]


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (["-n", "3"], 2, "name a folder for the frames with -o"),
        (["-n", "0", "-o", "out"], 2, "Invalid value for '--frames'"),
        (["-n", "3", "-o", "out", "--sensor", "eye"], 2, "no sensor is called 'eye'"),
        (["-n", "3", "-o", "out", "--bodies", "robots"], 2, "bodies must be one of"),
        (["-n", "3", "-o", "out", "--camera", "webcam"], 2, "'webcam' is not a camera preset"),
        (["-n", "3", "-o", "out", "--mocap", "empty"], 1, "holds no BVH clips"),
        (["-n", "3", "-o", "out", "--mocap", "broken"], 1, "none of its 1 clips can be used"),
        (["-n", "3", "-o", "out", "--config", "none.toml"], 2, "none.toml: cannot be read: no such file"),
        (["-n", "3", "-o", "out", "--config", "bad.toml"], 2, "near_share must be from 0 to 1, got 7"),
        (["-n", "3", "-o", "file/out"], 1, "cannot be made a folder"),
        (["-n", "3", "-o", "out", "--format", "hdf5"], 1, "format must be one of folder, zarr"),
    ],
)
def test_misuse_is_one_line(tmp_path, args, code, message):
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "a.bvh").write_text("HIERARCHY\nROOT x\n")
    (tmp_path / "bad.toml").write_text("near_share = 7")
    (tmp_path / "file").touch()
    done = run_here("synth", *args, cwd=tmp_path)
    assert done.returncode == code, done.stderr
    errors = [line for line in done.stderr.decode().splitlines() if line.startswith("depthforest: error: ")]
    assert len(errors) == 1
    assert message in errors[0]
    assert b"Traceback" not in done.stderr
    assert not list(tmp_path.rglob("*.png"))


def test_the_configuration_can_be_shown(tmp_path):
    done = run_here("synth", "--show-config", "--sensor", "tof")
    assert done.returncode == 0
    (tmp_path / "c.toml").write_bytes(done.stdout)
    assert Config.load(tmp_path / "c.toml") == Config(sensor="tof")


def test_a_full_disk_is_one_line(tmp_path):
    """Files that may not grow stand in for a disk that is full."""

    def no_room():
        resource.setrlimit(resource.RLIMIT_FSIZE, (900, 900))

    out = tmp_path / "out"
    replace(TINY, n_bodies=1, camera="kinect_v1@160x120").save(tmp_path / "c.toml")
    args = command("-n", 3, "-o", out, "--config", tmp_path / "c.toml")
    done = subprocess.run(args, capture_output=True, text=True, check=False, preexec_fn=no_room, timeout=600)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("depthforest: error: ")
    assert "cannot be written: file too large" in line
    assert not list(out.rglob("*.png"))
    subprocess.run(args, capture_output=True, check=True, timeout=600)
    assert len(df.open_dataset(out)) == 3


def test_a_missing_zarr_is_told_before_anything_is_generated(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "zarr", None)
    with pytest.raises(DatasetError, match="run pip install zarr"):
        check_claim(tmp_path / "out", "zarr", identity="")
    done = run_here("synth", "-n", "3", "-o", "out", "--format", "zarr", cwd=tmp_path)
    assert done.returncode == 1
    assert b"run pip install zarr" in done.stderr
    assert not (tmp_path / "out").exists()
