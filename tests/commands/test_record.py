"""depthforest record, and synth --recording: recordings from the command line."""

import numpy as np
import pytest
from support.command import run_here

import depthforest as df
import synth

CAMERA = "50,51,15.5,11.5,32x24"
STACK = np.random.default_rng(0).integers(500, 4000, (5, 24, 32)).astype(np.uint16)


def run(*words, code=0):
    done = run_here(*words)
    assert done.returncode == code, done.stderr.decode()
    return done.stdout.decode() if code == 0 else done.stderr.decode()


def test_record_keeps_every_bit_and_the_camera(tmp_path):
    pytest.importorskip("av", reason="av is not installed")
    np.save(tmp_path / "a.npy", STACK)
    done = run("record", tmp_path / "a.npy", "--camera", CAMERA, "--fps", "10", "-o", tmp_path / "a.mkv")
    assert "a.mkv: 5" in done
    frames = list(df.open_source(tmp_path / "a.mkv"))
    np.testing.assert_array_equal([frame.depth_mm for frame in frames], STACK)
    assert frames[0].camera == df.Camera(50, 51, 15.5, 11.5, 32, 24)
    assert [frame.time_s for frame in frames] == pytest.approx([0, 0.1, 0.2, 0.3, 0.4])


def test_show_and_marks_take_a_recording_with_its_camera(tmp_path):
    pytest.importorskip("av", reason="av is not installed")
    from depthforest.evaluation.marks import MarkedFrames

    np.save(tmp_path / "a.npy", STACK)
    run("record", tmp_path / "a.npy", "--camera", CAMERA, "-o", tmp_path / "a.mkv")
    shown = run("show", tmp_path / "a.mkv", "-o", tmp_path / "shown")
    names = [f"a_{number:06d}" for number in range(5)]
    assert all(name in shown for name in names)
    assert sorted(path.name for path in (tmp_path / "shown").glob("a_*")) == [f"{name}.shaded.png" for name in names]
    frames = MarkedFrames(tmp_path / "a.mkv", None)
    assert list(frames) == names
    np.testing.assert_array_equal(frames[names[3]].depth_mm, STACK[3])
    assert frames[names[3]].camera == df.Camera(50, 51, 15.5, 11.5, 32, 24)


def test_record_wants_a_matroska_file_and_leaves_nothing_else(tmp_path):
    np.save(tmp_path / "a.npy", STACK)
    done = run("record", tmp_path / "a.npy", "-o", tmp_path / "a.mp4", code=2)
    assert "ends with .mkv" in done
    done = run("record", tmp_path / "b.npy", "-o", tmp_path / "a.mkv", code=1)
    assert "b.npy: cannot be read" in done
    assert [path.name for path in tmp_path.iterdir()] == ["a.npy"]


def test_synth_makes_a_recording_and_does_not_mix_it_with_frames(tmp_path):
    out = tmp_path / "out"
    how = ("--camera", "kinect_v1@160x120", "--sensor", "ideal", "-o", out, "-n", "3", "--seed", "4")
    run("synth", *how, "--recording", "--fps", "10")
    data = df.open_dataset(out)
    assert len(data) == 3
    made = synth.Recording(synth.Config(camera="kinect_v1@160x120", sensor="ideal"), 4, n=3, fps=10.0)
    np.testing.assert_array_equal(data[2].depth_mm, made[2].depth_mm)
    for other in ((), ("--recording", "--fps", "20")):
        assert "was begun with `recording at 10.0" in run("synth", *how, *other, code=1)


def test_marks_may_be_on_frames_of_a_recording(tmp_path):
    from depthforest.evaluation.marks import MarkedFrames

    np.save(tmp_path / "walk.npy", STACK)
    frames = MarkedFrames(tmp_path / "walk.npy", CAMERA)
    assert list(frames) == [f"walk_{number:06d}" for number in range(5)]
    np.testing.assert_array_equal(frames["walk_000003"].depth_mm, STACK[3])
