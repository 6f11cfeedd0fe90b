import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import depthforest as df
from depthforest.base.errors import FrameError
from depthforest.trees.cropping import crop_person, find_scales
from depthforest.trees.features import focal_lengths, masked_depth, pixel_scale

BACKGROUND = 9999
CAMERA = df.Camera(30.0, 33.0, 16.0, 12.0, 32, 24)


def frame_of(rng, holes):
    depth_mm = rng.integers(300, 3000, (24, 32)).astype(np.uint16)
    depth_mm[rng.random(depth_mm.shape) < holes] = 0
    return df.Frame(depth_mm, CAMERA)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    share=st.sampled_from([None, 0.0, 0.004, 0.5, 1.0]),
    holes=st.sampled_from([0.0, 0.3, 0.99, 1.0]),
)
def test_a_crop_is_the_person_alone_in_a_border(seed, share, holes):
    rng = np.random.default_rng(seed)
    frame = frame_of(rng, holes)
    mask = None if share is None else rng.random(frame.shape) < share
    crop = crop_person(frame, mask, BACKGROUND)
    alone = masked_depth(frame, mask)
    rows, cols = np.nonzero(alone)
    assert len(crop.places) == len(rows)
    if not len(rows):
        assert crop.depth.shape == (0, 0)
        return
    top, left = crop.corner
    assert (top, left) == (rows.min() - 1, cols.min() - 1)
    assert crop.depth.shape == (np.ptp(rows) + 3, np.ptp(cols) + 3)
    expected = np.full((26, 34), BACKGROUND)
    expected[1:-1, 1:-1] = np.where(alone > 0, alone, BACKGROUND)
    shape = crop.depth.shape
    np.testing.assert_array_equal(crop.depth, expected[top + 1 :, left + 1 :][: shape[0], : shape[1]])
    np.testing.assert_array_equal(crop.places + crop.corner, np.stack((rows, cols), axis=1))


def test_scales_are_those_of_the_features():
    frame = frame_of(np.random.default_rng(1), 0.2)
    crop, focals = crop_person(frame, None, BACKGROUND), focal_lengths(CAMERA)
    scales = np.empty((len(crop.places), 2), dtype=np.float32)
    find_scales(crop.depth, crop.places, focals, scales)
    expected = [[pixel_scale(focal, value) for focal in focals] for value in frame.depth_mm[frame.depth_mm > 0]]
    np.testing.assert_array_equal(scales, np.array(expected, dtype=np.float32))


def test_a_mask_is_checked():
    frame = frame_of(np.random.default_rng(2), 0.0)
    with pytest.raises(FrameError, match="a mask must be bool, got uint8"):
        crop_person(frame, np.ones(frame.shape, np.uint8), BACKGROUND)
    with pytest.raises(FrameError, match="the mask has shape"):
        crop_person(frame, np.ones((3, 3), np.bool_), BACKGROUND)
