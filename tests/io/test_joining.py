"""Several data sets as one: frames, names, sensors, fingerprints, training."""

import json

import numpy as np
import pytest

import depthforest as df
from depthforest.base.errors import DatasetError
from depthforest.io.datasets import FolderDataset
from depthforest.io.joining import JoinedFrames, open_datasets, sensor_of
from depthforest.training.config import TrainConfig
from depthforest.training.fingerprints import fingerprint
from depthforest.training.run import train
from synth.config import Config
from synth.generator import Generator
from synth.production import produce

SYNTH = Config(camera="kinect_v1@60x45", n_bodies=2, n_poses=64, sensor="ideal")
SMALL = TrainConfig(trees=1, depth=4, candidates=20, thresholds=8, pixels_per_frame=40)


@pytest.fixture(scope="module")
def frames():
    return Generator(SYNTH, 1, n=7)[:]


@pytest.fixture
def sets(frames, tmp_path):
    df.write_dataset(tmp_path / "one", frames[:4])
    df.write_dataset(tmp_path / "two", frames[4:])
    return [tmp_path / "one", tmp_path / "two"]


def test_frames_stand_one_set_after_the_other(frames, sets):
    joined = open_datasets(sets)
    assert len(joined) == 7
    for i in range(-7, 7):
        assert joined[i] == frames[i]
    assert [frame.depth_mm.sum() for frame in joined[2:6]] == [frame.depth_mm.sum() for frame in frames[2:6]]
    with pytest.raises(IndexError):
        joined[7]
    assert joined.paths == tuple(sets)
    assert joined.title == "one, two"
    assert joined.names[3:5] == ("one/000003", "two/000000")
    assert joined.sensors == ("one",) * 4 + ("two",) * 3
    few = JoinedFrames([df.open_dataset(path) for path in sets], limit=2)
    assert len(few) == 4
    assert [few[i] for i in range(4)] == [frames[i] for i in (0, 1, 4, 5)]


def test_one_set_is_itself(sets):
    assert isinstance(open_datasets(sets[:1]), FolderDataset)
    alone = JoinedFrames([df.open_dataset(sets[0])])
    assert alone.names == df.open_dataset(sets[0]).names
    assert alone.sensors == ("",) * 4
    with pytest.raises(DatasetError, match="no_such"):
        open_datasets([sets[0], sets[0].parent / "no_such"])


@pytest.mark.parametrize("kind", ["folder", "zarr"])
def test_the_sensor_is_known(kind, tmp_path, sets):
    data = produce(Generator(SYNTH, 1, n=2), tmp_path / "made", 2, kind=kind)
    assert sensor_of(data) == "ideal"
    described = json.loads((sets[0] / "dataset.json").read_text())
    (sets[0] / "dataset.json").write_text(json.dumps(described | {"sensor": "kinect_v1"}))
    assert set(JoinedFrames([data, *map(df.open_dataset, sets)]).sensors) == {"ideal", "kinect_v1", "two"}


def test_two_sets_train_the_forest_of_one_that_holds_all(frames, sets, tmp_path):
    whole = df.write_dataset(tmp_path / "whole", frames)
    assert train(open_datasets(sets), SMALL) == train(whole, SMALL)


def test_a_fingerprint_knows_all_sets(frames, sets, tmp_path, monkeypatch):
    before = fingerprint(open_datasets(sets))
    assert before == fingerprint(open_datasets(sets))
    assert before["sample"] == fingerprint(df.write_dataset(tmp_path / "whole", frames))["sample"]
    assert before["sample"] != fingerprint(open_datasets(sets[::-1]))["sample"]
    assert fingerprint(open_datasets(sets[:1]))["frames"] == 4
    # a file that is not in the sample is noticed by its size, in either set
    monkeypatch.setattr("depthforest.training.fingerprints.MAX_SAMPLE", 1)
    before = fingerprint(open_datasets(sets))
    for path in sets:
        picture = path / "parts" / "000002.png"
        content = picture.read_bytes()
        picture.write_bytes(content + b"x")
        after = fingerprint(open_datasets(sets))
        assert {key for key in before if before[key] != after[key]} == {"files"}
        picture.write_bytes(content)
    assert fingerprint(open_datasets(sets)) == before


def test_a_run_on_two_sets_goes_on_and_notices_another_set(sets, tmp_path):
    class PowerCutError(Exception):
        pass

    def cut(news):
        if news.level == 2:
            raise PowerCutError

    with pytest.raises(PowerCutError):
        train(open_datasets(sets), SMALL, checkpoint=tmp_path / "run", progress=cut)
    forest = train(open_datasets(sets), SMALL, checkpoint=tmp_path / "run", resume=True)
    assert forest == train(open_datasets(sets), SMALL)
    with pytest.raises(df.DepthForestError, match="was begun with other data"):
        train(open_datasets(sets[::-1]), SMALL, checkpoint=tmp_path / "run", resume=True)


def test_sets_of_other_parts_do_not_train_together(frames, sets, tmp_path):
    frame = frames[0]
    parts = np.where(frame.parts == 255, 255, frame.parts % 3).astype(np.uint8)
    other = df.LabeledFrame(frame.depth_mm, frame.camera, parts, frame.people, {}, df.PartSet(("a", "b", "c")))
    df.write_dataset(tmp_path / "other", [other])
    with pytest.raises(DatasetError, match="frame 4 has another part set than frame 0; a forest has one"):
        train(open_datasets([sets[0], tmp_path / "other"]), SMALL)
