import shutil
from dataclasses import replace

import numpy as np
import pytest

from depthforest.frames.frame import FrameSource, LabeledFrame
from depthforest.io.datasets import open_dataset, write_dataset
from depthforest.training.fingerprints import fingerprint
from synth.config import Config
from synth.generator import Generator
from synth.production import produce


@pytest.fixture(scope="module")
def frames():
    return list(Generator(Config(n_bodies=1, n_poses=64, camera="kinect_v1@60x45", sensor="ideal"), seed=4, n=8))


@pytest.mark.parametrize("kind", ["folder", "zarr"])
def test_one_label_more_or_less_is_noticed_in_any_frame(tmp_path, kind):
    """Up to 64 frames, every pixel of every frame counts; a copy elsewhere is the same data."""
    generator = Generator(Config(n_bodies=1, n_poses=64, camera="kinect_v1@60x45", sensor="ideal"), seed=4, n=5)
    data = produce(generator, tmp_path / "data", 5, kind=kind)
    before = fingerprint(data)
    shutil.copytree(tmp_path / "data", tmp_path / "copy")
    assert fingerprint(open_dataset(tmp_path / "copy")) == before
    changed = list(data)
    for index in range(5):
        frame = data[index]
        parts = frame.parts.copy()
        row, col = np.argwhere(parts != 255)[7]
        parts[row, col] = (parts[row, col] + 1) % 31
        changed[index] = LabeledFrame(frame.depth_mm, frame.camera, parts, frame.people, frame.joints)
        assert fingerprint(changed)["sample"] != before["sample"]
        changed[index] = frame
    assert fingerprint(changed)["sample"] == before["sample"]


def test_sizes_of_files_are_noticed_where_frames_are_not_read(frames, tmp_path, monkeypatch):
    monkeypatch.setattr("depthforest.training.fingerprints.MAX_SAMPLE", 3)
    data = write_dataset(tmp_path / "data", frames)
    before = fingerprint(data)
    # frame 1 is not in the sample of three
    path = tmp_path / "data" / "parts" / "000001.png"
    path.write_bytes(path.read_bytes() + b"x")
    after = fingerprint(open_dataset(tmp_path / "data"))
    assert {key for key in before if before[key] != after[key]} == {"files"}


def test_a_large_data_set_is_sampled(frames):
    class Large(FrameSource):
        def __init__(self):
            self.read = set()

        def __len__(self):
            return 100_000

        def _frame(self, number):
            self.read.add(number)
            return frames[0]

    large = Large()
    assert fingerprint(large)["frames"] == 100_000
    assert len(large.read) == 64
    assert {0, 99_999} <= large.read
    assert max(np.diff(sorted(large.read))) < 1600


def test_what_a_generator_makes_is_part_of_the_data():
    config = Config(n_bodies=1, n_poses=64, camera="kinect_v1@60x45", sensor="ideal")
    one, same = (fingerprint(Generator(config, seed=4, n=2)) for _ in range(2))
    assert one == same
    other = fingerprint(Generator(replace(config, least_visible=config.least_visible + 1e-9), seed=4, n=2))
    assert other["origin"] != one["origin"]
    assert fingerprint(Generator(config, seed=5, n=2))["origin"] != one["origin"]
