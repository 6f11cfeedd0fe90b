import numpy as np
import pytest
from numpy.testing import assert_array_equal
from support.striped import PARTS, striped_frames

from depthforest.base.errors import DatasetError, UsageError
from depthforest.compare.budget import CompareSettings
from depthforest.compare.data import (
    chosen_frames,
    cut_to_people,
    labeled_pixels,
    open_frames,
    read_data,
    spread,
)
from depthforest.frames.camera import Camera
from depthforest.frames.frame import LabeledFrame
from depthforest.frames.parts import PartSet
from depthforest.training.pixeltables import draw_probes, pixel_responses

SETTINGS = CompareSettings(pixels=330, probes=12, seed=3)


def test_probes_read_the_same_in_the_window_of_the_people():
    probes = draw_probes(30, seed=1)
    for frame in striped_frames(4):
        cut = cut_to_people(frame)
        assert cut.parts.size < frame.parts.size
        pixels, own = labeled_pixels(frame), labeled_pixels(cut)
        assert_array_equal(frame.parts.ravel()[pixels], cut.parts.ravel()[own])
        assert_array_equal(pixel_responses(frame, pixels, probes), pixel_responses(cut, own, probes))


def test_a_frame_without_people_stays_whole():
    frame = LabeledFrame(
        np.ones((3, 4), np.uint16),
        Camera(4.0, 4.0, 1.5, 1.0, 4, 3),
        np.full((3, 4), 255, np.uint8),
        np.zeros((3, 4), np.uint8),
        {},
        PARTS,
    )
    assert cut_to_people(frame) is frame


def test_the_depth_forest_sees_the_pixels_of_the_table_and_no_other():
    frames, told = striped_frames(5), []
    data = read_data(frames, frames, range(5), (0,), SETTINGS, told.append)
    assert sum(told) == 6
    rows = []
    for number, frame in enumerate(data.drawn):
        assert_array_equal(frame.depth_mm, data.frames[number].depth_mm)
        assert_array_equal(frame.people, data.frames[number].people)
        pixels = labeled_pixels(frame)
        found = pixel_responses(frame, pixels, data.table.probes)
        labels = frame.parts.ravel()[pixels]
        rows += [(number, int(a), *x) for a, x in zip(labels, found.tolist(), strict=True)]
    table = zip(data.table.frames.tolist(), data.table.labels.tolist(), data.table.x.tolist(), strict=True)
    assert sorted(rows) == sorted((f, a, *x) for f, a, x in table)
    assert len(rows) == SETTINGS.pixels


def test_frames_are_spread_and_the_last_are_held_out():
    assert spread(10, 4) == [0, 2, 5, 7]
    assert spread(3, 9) == [0, 1, 2]
    assert chosen_frames(10, 100, 4, 5, 0.5) == ([0, 2, 5, 7], [0, 20, 40, 60, 80])
    assert chosen_frames(10, None, 10, 100, 0.2) == (list(range(8)), [8, 9])
    assert chosen_frames(100, None, 10, 2, 0.4) == ([0, 10, 20, 30, 40, 50], [60, 80])
    with pytest.raises(UsageError, match="1 frames cannot be parted"):
        chosen_frames(1, None, 10, 2, 0.4)


def test_data_that_cannot_be_compared_are_refused(tmp_path):
    frames = striped_frames(3)
    other = PartSet(("a", "b", "c"))
    strangers = [LabeledFrame(f.depth_mm, f.camera, f.parts, f.people, {}, other) for f in frames]
    with pytest.raises(DatasetError, match="the test set has other parts than the training frames"):
        read_data(frames, strangers, range(3), (0,), SETTINGS, lambda _: None)
    alone = striped_frames(2, labels=(1, 1, 1))
    with pytest.raises(DatasetError, match="all training pixels are of one part"):
        read_data(alone, frames, range(2), (0,), SETTINGS, lambda _: None)
    bare = [LabeledFrame(f.depth_mm, f.camera, np.full_like(f.parts, 255), f.people, {}, PARTS) for f in frames]
    with pytest.raises(DatasetError, match="no test frame has a labeled pixel"):
        read_data(frames, bare, range(3), (0,), SETTINGS, lambda _: None)
    with pytest.raises(UsageError, match=r"^data brings its own frames; leave out synth_config$"):
        open_frames(tmp_path, tmp_path / "s.toml", 3, 0)
