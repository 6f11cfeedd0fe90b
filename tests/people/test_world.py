"""The world frame: up and height from the floor, on synthetic rooms whose camera is known exactly."""

import math

import numpy as np
import pytest

import depthforest as df
import synth
from depthforest.base import UsageError
from depthforest.frames import JOINTS
from depthforest.people.planes import FittedPlane
from depthforest.people.world import World, world_of


def test_axes_of_a_level_and_a_tilted_camera():
    level = World((0.0, -1.0, 0.0), 1.5)
    np.testing.assert_allclose(level.points((0.2, 0.5, 3.0)), (0.2, 1.0, -3.0))
    assert (level.tilt, level.roll) == (pytest.approx(0), pytest.approx(0))
    down = math.radians(30)
    tilted = World((0.0, -math.cos(down), -math.sin(down)), 2.0)
    assert tilted.tilt == pytest.approx(30)
    # what the camera looks at meets the floor 2 / sin 30 = 4 m away
    np.testing.assert_allclose(tilted.points((0, 0, 4.0)), (0, 0, -4 * math.cos(down)), atol=1e-9)
    assert "stands 2.00 m above the floor, looks down by 30.0 degrees and leans" in str(tilted)
    rotation = tilted.rotation
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(rotation) == pytest.approx(1)
    leaning = World((-math.sin(0.1), -math.cos(0.1), 0.0), 1.0)
    assert leaning.roll == pytest.approx(math.degrees(0.1))
    # leaning to its right, what is right of the camera is lower than the camera
    assert leaning.points((1.0, 0, 0))[1] < 1.0


def test_synthetic_rooms_give_their_cameras_pose_back():
    config = synth.Config(camera="kinect_v1@160x120", sensor="kinect_v1", n_bodies=2, people_shares=(1.0,))
    n_found = 0
    for seed in range(4):
        recording = synth.Recording(config, seed=seed, n=12, fps=4)
        scene, _, _ = recording.scene(0)
        world = df.find_world(recording[i] for i in (0, 4, 8))
        if world is None:
            continue
        n_found += 1
        assert world.height == pytest.approx(scene.view.height, abs=0.03)
        assert world.tilt == pytest.approx(math.degrees(scene.view.tilt), abs=1.0)
        frame = recording[0]
        for placed, joints in zip(scene.people, frame.joints.values(), strict=True):
            true = dict(zip(JOINTS, placed.joints.tolist(), strict=True))
            for name, joint in world.joints(joints).items():
                assert joint.position[1] == pytest.approx(true[name][1], abs=0.08)  # height above the floor
    assert n_found >= 3


def test_no_floor_no_world():
    wall = np.full((120, 160), 2000, np.uint16)
    assert df.find_world(df.Frame(wall, df.Camera.preset("kinect_v1@160x120"))) is None
    assert world_of([]) is None
    with pytest.raises(UsageError, match="find_world takes frames, got int"):
        df.find_world([3])


def test_the_median_of_floors_is_taken():
    floors = [FittedPlane((0.0, -1.0, 0.0), height, 4.0, True) for height in (1.0, 1.02, 9.0)]
    assert world_of(floors).height == pytest.approx(1.02)
