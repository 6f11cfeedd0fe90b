"""A run: what identifies it, how it stops and continues, and what it holds in memory."""

import json
import signal

import cv2
import numpy as np
import pytest
from support.labelcommand import CAMERA, DATA, MODEL, contents, files, label, person_only, times

import depthforest as df
from depthforest.base.errors import DepthForestError, DepthForestWarning, UsageError
from depthforest.cli.commands import app
from depthforest.frames import drawing
from depthforest.io import MkvWriter
from depthforest.pipeline import run as labelrun


def test_done_frames_are_not_even_decoded(frames, out, monkeypatch):
    assert label(frames, "-o", out) == 0
    monkeypatch.setattr("depthforest.io.formats._read_png", lambda _: pytest.fail("was decoded"))
    assert label(frames, "-o", out) == 0


def test_the_guessed_camera_may_be_said(frames, tmp_path):
    """The warning says: pass --camera to say so."""
    out = tmp_path / "said"
    drawing.write_depth(frames / "room.png", np.full((480, 640), 2000, np.uint16))
    common = ["label", str(frames / "room.png"), "-o", str(out), "--model", str(MODEL), "--write", "parts"]
    with pytest.warns(DepthForestWarning, match="are taken as kinect_v1"):
        app([*common, "--background-removed"], standalone_mode=False)
    first = times(out)
    app([*common, "--background-removed", "--camera", "kinect_v1"], standalone_mode=False)
    assert times(out) == first
    for given in ("600,600,320,240,640x480", "kinect_v2", "600,600,320,240"):
        with pytest.raises(UsageError, match=rf"\(camera was not given, now {given}\)"):
            app([*common, "--background-removed", "--camera", given], standalone_mode=False)
    with pytest.raises(UsageError, match=r"\(flip was False, now True\)"):
        app([*common, "--background-removed", "--camera", "kinect_v1", "--flip"], standalone_mode=False)


def test_another_camera_is_refused(frames, tmp_path):
    out = tmp_path / "said"
    drawing.write_depth(frames / "room.png", np.full((480, 640), 2000, np.uint16))
    common = ["label", str(frames / "room.png"), "-o", str(out), "--model", str(MODEL), "--write", "parts"]
    common.append("--background-removed")
    app([*common, "--camera", "kinect_v1"], standalone_mode=False)
    first = contents(out)
    assert json.loads(first["label.json"])["identity"]["camera"] == df.Camera.preset("kinect_v1").to_dict()
    for given in ("kinect_v2", "realsense_d435", "kinect_v1@320x240", "600,600,320,240,640x480", "600,600,320,240"):
        said = rf"was labeled with other options \(camera was kinect_v1, now {given}\)"
        with pytest.raises(UsageError, match=said):
            app([*common, "--camera", given], standalone_mode=False)
    app([*common, "--camera", "xtion"], standalone_mode=False)  # the same sensor
    app(common, standalone_mode=False)  # what is guessed
    assert contents(out) == first
    lens = {**df.Camera.preset("kinect_v1").to_dict(), "distortion": [0.1, 0, 0, 0]}
    (tmp_path / "lens.json").write_text(json.dumps(lens))
    said = r"now 525,525,319\.5,239\.5,640x480 with distortion 0\.1, 0, 0, 0\)"
    with pytest.raises(UsageError, match=said):
        app([*common, "--camera", str(tmp_path / "lens.json")], standalone_mode=False)


def test_a_folder_of_an_earlier_version_names_no_preset(frames, tmp_path):
    """It is continued where the camera is the one that the pictures would be taken for anyway."""
    out = tmp_path / "said"
    drawing.write_depth(frames / "room.png", np.full((240, 320), 2000, np.uint16))
    common = ["label", str(frames / "room.png"), "-o", str(out), "--model", str(MODEL), "--write", "parts"]
    common += ["--background-removed", "--camera"]
    app([*common, "kinect_v1@320x240"], standalone_mode=False)
    record = json.loads((out / "label.json").read_text())
    record["identity"]["camera"] = None
    (out / "label.json").write_text(json.dumps(record))
    first = times(out)
    app([*common, "kinect_v1@320x240"], standalone_mode=False)
    assert times(out) == first
    with pytest.raises(UsageError, match="camera was not given, now kinect_v2"):
        app([*common, "kinect_v2"], standalone_mode=False)


def test_the_guessed_camera_is_another_than_that_of_a_recording(tmp_path):
    """A recording without --camera has its own."""
    pytest.importorskip("av", reason="Matroska needs PyAV")
    with MkvWriter(tmp_path / "room.mkv") as writer:
        writer.add(df.Frame(np.full((240, 320), 2000, np.uint16), df.Camera(300, 300, 160, 120, 320, 240)))
    common = ["label", str(tmp_path / "room.mkv"), "-o", str(tmp_path / "said"), "--model", str(MODEL)]
    common += ["--write", "parts", "--background-removed"]
    app(common, standalone_mode=False)
    with pytest.raises(UsageError, match="camera was not given, now kinect_v1@320x240"):
        app([*common, "--camera", "kinect_v1@320x240"], standalone_mode=False)


def test_what_cannot_be_written_stops_the_run(frames, out, monkeypatch):
    def fail(*_, **__):
        raise DepthForestError("parts: cannot be written: no space left on device")

    monkeypatch.setattr(drawing, "write_labels", fail)
    with pytest.raises(DepthForestError, match="no space left"):
        label(frames, "-o", out)


def test_a_stopped_run_goes_on(frames, out, monkeypatch):
    n_labeled = 0
    plain = labelrun.label_people

    def stop_after_one(*args, **kwargs):
        nonlocal n_labeled
        n_labeled += 1
        if n_labeled == 1:
            signal.raise_signal(signal.SIGINT)
        return plain(*args, **kwargs)

    monkeypatch.setattr(labelrun, "label_people", stop_after_one)
    assert label(frames, "-o", out, "--threads", 1) == 130
    assert files(out) == {"label.json", "parts/f0.png", "overlay/f0.png"}
    assert label(frames, "-o", out, "--threads", 1) == 0
    assert n_labeled == 3
    assert len(files(out)) == 7


def test_few_frames_are_in_memory_at_a_time(out, forest, tmp_path, monkeypatch):
    """Reading stays a few frames ahead of writing, however many there are."""
    np.save(tmp_path / "stack.npy", np.stack([person_only(DATA[0])] * 60))
    frames = df.read_frames(tmp_path / "stack.npy", CAMERA)
    n_read = n_done = most = 0
    make = df.Frame.from_array

    def counted(*args, **kwargs):
        nonlocal n_read, most
        n_read += 1
        most = max(most, n_read - n_done)
        return make(*args, **kwargs)

    def advance(n):
        nonlocal n_done
        n_done += n

    monkeypatch.setattr(df.Frame, "from_array", counted)
    summary = labelrun.LabelRun(forest, frames, out, outputs=("parts",), threads=2, progress=advance).run()
    assert (summary.n_labeled, n_done) == (60, 60)
    assert most <= 12  # two stages, each up to five ahead


def test_a_run_keeps_opencv_on_one_thread_and_gives_its_threads_back(frames, out, forest, monkeypatch):
    before, seen = cv2.getNumThreads(), []

    def failing(_):
        seen.append(cv2.getNumThreads())
        raise RuntimeError

    monkeypatch.setattr(labelrun, "picture", failing)
    run = labelrun.LabelRun(forest, df.read_frames(frames, CAMERA), out, outputs=("overlay",), threads=2)
    cv2.setNumThreads(3)
    try:
        with pytest.raises(RuntimeError):
            run.run()
        assert set(seen) == {1}
        assert cv2.getNumThreads() == 3
    finally:
        cv2.setNumThreads(before)
