"""label --world: how the camera stands, and joints in meters above the floor."""

import json

import cv2
import numpy as np
import pytest
from support.labelcommand import CAMERA, DATA, MODEL, files, label, run, said

import depthforest as df
from depthforest.joints import read_joints

FRAME = df.Frame(DATA[0].depth_mm, DATA[0].camera)


@pytest.fixture
def room(tmp_path):
    """Return a stack of the same room twice, and the mask of who is in it."""
    np.save(tmp_path / "room.npy", np.stack([FRAME.depth_mm] * 2))
    cv2.imwrite(str(tmp_path / "mask.png"), (DATA[0].people == 1).astype(np.uint8))
    return tmp_path / "room.npy", tmp_path / "mask.png"


def test_joints_are_written_above_the_floor_too(room, out, capsys):
    path, mask = room
    assert label(path, "--mask", mask, "-o", out, "--write", "parts", "--world") == 0
    world = df.find_world(FRAME)
    assert str(world) in capsys.readouterr().out
    kept = json.loads((out / "world.json").read_text())
    assert kept["height_m"] == pytest.approx(world.height)
    matrix = np.array(kept["camera_to_world"])
    seen, standing = read_joints(out / "joints.csv"), read_joints(out / "joints_world.csv")
    assert [frame.name for frame in standing] == ["room_000000", "room_000001"]
    for name, joint in seen[0].people[1].items():
        found = standing[0].people[1][name].position
        np.testing.assert_allclose(matrix[:, :3] @ joint.position + matrix[:, 3], found, atol=2e-4)
    true = DATA[0].joints[1]
    feet = [world.points(true[name].position)[1] for name in ("foot_l", "foot_r")]
    assert max(map(abs, feet)) < 0.2  # the true feet of who stands there are on the floor


def test_without_a_floor_joints_stay_in_camera_space(frames, out):
    words = ["--model", MODEL, "--camera", CAMERA, "--background-removed", "--world"]
    result = run(frames, "-o", out, *words)
    assert result.returncode == 0
    assert any("no floor is seen" in line for line in said(result))
    assert "joints.csv" in files(out)
    assert not {"joints_world.csv", "world.json"} & files(out)


def test_a_stream_is_looked_at_as_it_comes(room, out):
    path, mask = room
    stream = np.load(path).astype("<u2").tobytes()
    words = ["--model", MODEL, "--camera", CAMERA, "--size", "96x72", "--mask", mask, "--world", "--write", "parts"]
    result = run("-", "-o", out, *words, stdin=stream)
    assert result.returncode == 0, result.stderr
    assert str(df.find_world(FRAME)) in result.stdout.decode()
    assert len(read_joints(out / "joints_world.csv")) == 2


def test_motion_stands_on_the_floor(room, out):
    path, mask = room
    assert label(path, "--mask", mask, "-o", out, "--write", "wide", "--track", "--world") == 0
    head, *rows = [line.split(",") for line in (out / "wide" / "person_1.csv").read_text().splitlines()]
    place = dict(zip(head, rows[0], strict=True))
    standing = read_joints(out / "joints_world.csv")[0].people[1]
    for axis, value in zip("xyz", standing["head"].position, strict=True):
        assert float(place[f"head_{axis}"]) == pytest.approx(value, abs=1e-3)
