"""Motion of tracked people, as `label` writes it."""

import numpy as np
import pytest
from support.labelcommand import CAMERA, DATA, MODEL, files, label, person_only, run, said

from depthforest.base import DepthForestWarning
from depthforest.frames import JOINTS, Frame, Joint
from depthforest.io import MkvWriter
from depthforest.joints import FrameJoints, read_joints
from depthforest.pipeline.motions import write_motions


@pytest.fixture
def recording(tmp_path):
    """Three frames of one person with uneven time stamps, as Matroska."""
    pytest.importorskip("av", reason="Matroska needs PyAV")
    path = tmp_path / "walk.mkv"
    with MkvWriter(path) as writer:
        for i, time in enumerate((100.0, 100.04, 100.1)):
            writer.add(Frame(person_only(DATA[i]), DATA[0].camera, time_s=time))
    return path


def test_time_stamps_of_the_source_are_in_every_output(recording, out):
    words = [recording, "-o", out, "--background-removed", "--track"]
    assert label(*words, "--write", "joints,wide,bones,angles,ply,json,probabilities") == 0
    assert {"wide/person_1.csv", "bones/person_1.csv", "angles/person_1.csv"} < files(out)
    rows = [line.split(",") for line in (out / "wide" / "person_1.csv").read_text().splitlines()]
    assert [row[1] for row in rows[1:]] == ["100.0", "100.04", "100.1"]
    assert [row[0] for row in rows[1:]] == [f"walk_00000{i}" for i in range(3)]
    assert read_joints(out / "joints" / "walk_000001.json")[0].time == 100.04
    assert {frame.time for frame in read_joints(out / "joints.csv")} == {100.0, 100.04, 100.1}
    assert '"time_s": 100.1' in (out / "json" / "walk_000002.json").read_text()
    assert b"comment time_s 100.1\n" in (out / "ply" / "walk_000002.ply").read_bytes()
    with np.load(out / "probabilities" / "walk_000002.npz") as stored:
        assert float(stored["time_s"]) == 100.1


def test_a_cloud_has_the_labeled_pixels_in_the_colors_of_their_parts(frames, out, forest):
    trimesh = pytest.importorskip("trimesh", reason="the outside reader of PLY is not installed")
    assert label(frames / "f0.png", "-o", out, "--background-removed", "--write", "ply") == 0
    cloud = trimesh.load(out / "ply" / "f0.ply")
    frame = Frame(person_only(DATA[0]), DATA[0].camera)
    parts = forest.predict(frame, frame.depth_mm > 0)
    np.testing.assert_allclose(cloud.vertices, frame.points()[parts != 255] * (1, -1, -1), atol=1e-6)
    np.testing.assert_array_equal(cloud.colors[:, :3], np.array(forest.part_set.colors)[parts[parts != 255]])


def test_motion_without_tracks_is_refused_before_anything_is_done(frames, out):
    result = run(frames, "-o", out, "--model", MODEL, "--camera", CAMERA, "--write", "bvh")
    assert result.returncode == 2
    assert said(result)[0].endswith(": --write bvh needs --track: bvh is the motion of a person over time")
    assert not out.exists()


def person(x, without=()):
    return {name: Joint((x, 0.1 * i, 2.0)) for i, name in enumerate(JOINTS) if name not in without}


def test_everybody_has_a_file_and_people_of_before_are_gone(tmp_path):
    frames = [FrameJoints(f"{i}", {1: person(0.1 * i), 3: person(1.0, without=["foot_l"])}, i / 30) for i in range(4)]
    with pytest.warns(DepthForestWarning, match=r"person_3\.bvh: is not written: .*foot_l"):
        write_motions(tmp_path, ("bvh", "wide"), frames)
    assert files(tmp_path) == {"bvh/person_1.bvh", "wide/person_1.csv", "wide/person_3.csv"}
    write_motions(tmp_path, ("wide",), frames[:1])
    write_motions(tmp_path, ("bvh", "wide"), [FrameJoints("0", {2: person(0)}, 0.0)])
    assert files(tmp_path) == {"bvh/person_2.bvh", "wide/person_2.csv"}
