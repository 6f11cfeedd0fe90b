"""Where probes land and what they read."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import naive_forest as naive

import depthforest as df
from depthforest.base.errors import CameraError, FrameError, UsageError
from depthforest.base.kernels import kernel
from depthforest.trees import features
from depthforest.trees.features import (
    MAX_OFFSET_PX,
    clamped_offset,
    masked_depth,
    pixel_scale,
    probe_offset,
    responses,
    scaled_offset,
)

CAMERA = df.Camera(30.0, 34.0, 7.5, 5.5, 16, 12)


def scene(rng, rows=12, cols=16, holes=0.2):
    depth_mm = rng.integers(400, 4000, (rows, cols)).astype(np.uint16)
    depth_mm[rng.random((rows, cols)) < holes] = 0
    return depth_mm


@kernel
def _offsets(meters, focals, depths, out):
    for i in range(len(meters)):
        out[i] = probe_offset(meters[i], focals[i], depths[i])


@kernel
def _products(meters, scales, out):
    for i in range(len(meters)):
        out[i] = scaled_offset(meters[i], scales[i])


@kernel
def _clamped(meters, scales, lows, highs, out):
    for i in range(len(meters)):
        out[i] = clamped_offset(meters[i], scales[i], lows[i], highs[i])


@kernel
def _rounded(values, out):
    for i in range(len(values)):
        out[i] = scaled_offset(values[i], np.float32(1))


@kernel
def _scales(focals, depths, out):
    for i in range(len(focals)):
        out[i] = pixel_scale(focals[i], depths[i])


def test_scales_agree_to_the_bit_with_single_float32_operations():
    rng = np.random.default_rng(3)
    focals = rng.uniform(1, 2000, 100_000).astype(np.float32)
    depths = rng.integers(1, 65535, 100_000).astype(np.uint16)
    comp = np.empty(100_000, dtype=np.float32)
    _scales(focals, depths, comp)
    ref = focals * np.float32(1000) / depths.astype(np.float32)
    np.testing.assert_array_equal(comp, ref)
    assert (ref != (focals.astype(np.float64) * 1000 / depths).astype(np.float32)).any()


def test_one_clamp_does_for_both():
    """Clamped to whole numbers before rounding is what clamping after it gives; exact halves and both ends included."""
    rng = np.random.default_rng(5)
    n = 100_000
    meters = rng.normal(0, 0.3, n).astype(np.float32)
    scales = rng.uniform(1, 2000, n).astype(np.float32)
    meters[:1000], scales[:1000] = rng.integers(-80, 80, 1000) / np.float32(2), 1
    lows, highs = -rng.integers(0, 60, n).astype(np.float32), rng.integers(0, 60, n).astype(np.float32)
    whole, comp = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
    _products(meters, scales, whole)
    _clamped(meters, scales, lows, highs, comp)
    np.testing.assert_array_equal(comp, np.clip(whole, lows, highs))
    assert (comp == lows).any()
    assert (comp == highs).any()
    assert (comp == whole).any()


def test_products_beside_halves_are_rounded_to_float32_first():
    rng = np.random.default_rng(4)
    scales = rng.uniform(50, 1000, 100_000).astype(np.float32)
    meters = ((rng.integers(-200, 200, 100_000) + 0.5) / scales).astype(np.float32)
    single, double = (meters * scales).astype(np.float64), meters.astype(np.float64) * scales
    ref, other = (np.sign(x) * np.floor(np.abs(x) + 0.5) for x in (single, double))
    comp = np.empty(100_000, dtype=np.int32)
    _products(meters, scales, comp)
    np.testing.assert_array_equal(comp, ref)
    assert (ref != other).sum() > 1000


def test_offsets_agree_to_the_bit_with_single_float32_operations():
    rng = np.random.default_rng(0)
    n = 200_000
    meters = rng.uniform(-1, 1, n).astype(np.float32) * rng.choice(np.float32([1e-3, 1, 10]), n)
    focals = rng.uniform(1, 2000, n).astype(np.float32)
    depths = rng.integers(1, 65535, n).astype(np.uint16)
    comp = np.empty(n, dtype=np.int32)
    _offsets(meters, focals, depths, comp)
    # numpy's arrays round after every operation, so that a fused or double-precision kernel would differ
    exact = (meters * (focals * np.float32(1000) / depths.astype(np.float32))).astype(np.float64)
    ref = np.clip(np.sign(exact) * np.floor(np.abs(exact) + 0.5), -MAX_OFFSET_PX, MAX_OFFSET_PX)
    np.testing.assert_array_equal(comp, ref)
    assert len(np.unique(comp)) > 1000
    for i in range(2000):
        assert naive.probe_offset(meters[i], focals[i], depths[i]) == comp[i]


def test_the_order_of_operations_can_be_seen():
    """Other orders give other pixels now and then: the order is part of the format."""
    rng = np.random.default_rng(0)
    meters = rng.uniform(-1, 1, 200_000).astype(np.float32)
    depths = rng.integers(500, 5000, 200_000).astype(np.uint16)
    comp = np.empty(200_000, dtype=np.int32)
    _offsets(meters, np.full(200_000, 525, dtype=np.float32), depths, comp)
    double = meters.astype(np.float64) * 525 * 1000 / depths
    assert 0 < (comp != np.sign(double) * np.floor(np.abs(double) + 0.5)).sum() < 20


def test_halves_go_away_from_zero_and_their_neighbors_do_not():
    halves = (np.arange(-32_767, 32_767) + 0.5).astype(np.float32)
    inward = np.nextafter(halves, np.float32(0))
    out = np.empty(len(halves), dtype=np.int32)
    _rounded(halves, out)
    np.testing.assert_array_equal(out, np.sign(halves) * np.ceil(np.abs(halves)))
    _rounded(inward, out)
    np.testing.assert_array_equal(out, np.sign(halves) * np.floor(np.abs(halves)))


@pytest.mark.parametrize("value", [32_767.4, 1e10, 3e38])
def test_offsets_are_clamped(value):
    out = np.empty(2, dtype=np.int32)
    _rounded(np.array([value, -value], dtype=np.float32), out)
    assert out.tolist() == [MAX_OFFSET_PX, -MAX_OFFSET_PX]


def test_the_largest_offset_of_the_longest_lens_stays_finite():
    depth_mm = np.full((3, 3), 1, dtype=np.uint16)
    camera = df.Camera(features.MAX_FOCAL_PX, features.MAX_FOCAL_PX, 1, 1, 3, 3)
    probes = [[10, 10, -10, -10], [10, 0, 0, 0]]
    assert responses(depth_mm, [[1, 1]], probes, camera, 900).tolist() == [[0, 899]]


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), rows=st.integers(1, 9), cols=st.integers(1, 9), background=st.integers(1, 65535))
def test_responses_equal_the_twin(seed, rows, cols, background):
    rng = np.random.default_rng(seed)
    depth_mm = scene(rng, rows, cols)
    camera = df.Camera(rng.uniform(2, 60), rng.uniform(2, 60), 1.5, 2.5, cols, rows)
    pixels = np.argwhere(depth_mm > 0)
    probes = (rng.uniform(-0.5, 0.5, (6, 4)) * (rng.random((6, 4)) < 0.8)).astype(np.float32)
    comp = responses(depth_mm, pixels, probes, camera, background)
    assert comp.dtype == np.int32
    np.testing.assert_array_equal(comp, naive.responses(depth_mm, pixels, probes, camera, background))


def test_the_single_response_kernel_is_the_same():
    rng = np.random.default_rng(1)
    depth_mm = scene(rng)
    probes = rng.uniform(-0.5, 0.5, (5, 4)).astype(np.float32)
    pixels = np.argwhere(depth_mm > 0)[::7]
    comp = [
        [features.response(depth_mm, r, c, *p, np.float32(30), np.float32(34), 10_000) for p in probes]
        for r, c in pixels
    ]
    np.testing.assert_array_equal(comp, responses(depth_mm, pixels, probes, CAMERA))


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_a_mirrored_frame_mirrors_the_features(seed):
    rng = np.random.default_rng(seed)
    depth_mm = scene(rng)
    pixels = np.argwhere(depth_mm > 0)
    # sums of a few 64ths of a meter hit halves of pixels often
    probes = (rng.integers(-40, 40, (8, 4)) / 64).astype(np.float32)
    mirrored = responses(
        depth_mm[:, ::-1],
        pixels * [1, -1] + [0, depth_mm.shape[1] - 1],
        probes * np.float32([-1, 1, -1, 1]),
        CAMERA.flipped(),
    )
    np.testing.assert_array_equal(mirrored, responses(depth_mm, pixels, probes, CAMERA))


def test_a_probe_off_the_person_reads_the_background():
    depth_mm = np.array([[1000, 0, 1200]], dtype=np.uint16)
    camera = df.Camera(1.0, 1.0, 0, 0, 3, 1)
    u_x = np.float32([[0, 0, 0, 0], [1, 0, 0, 0], [2, 0, 0, 0], [3, 0, 0, 0], [-1, 0, 0, 0], [0, 1, 0, 0]])
    ours = responses(depth_mm, [[0, 0]], u_x, camera, 5000)[0]
    assert ours.tolist() == [0, 4000, 200, 4000, 4000, 4000]


def test_one_pixel_and_no_pixels():
    camera = df.Camera(500.0, 500.0, 0, 0, 1, 1)
    one = np.array([[800]], dtype=np.uint16)
    probes = [[0, 0, 0, 0], [1, 0, 0, 0], [0, 0, 0, -1]]
    assert responses(one, [[0, 0]], probes, camera).tolist() == [[0, 9200, -9200]]
    assert responses(one, np.empty((0, 2), dtype=int), probes, camera).shape == (0, 3)
    assert responses(one, [[0, 0]], np.empty((0, 4)), camera).shape == (1, 0)


def test_twice_the_distance_and_twice_the_focal_length_are_the_same_pixels():
    meters = np.float32(0.31)
    assert probe_offset(meters, np.float32(525), 1500) == probe_offset(meters, np.float32(1050), 3000) == 109


# -- masks


def labeled(rng):
    people = rng.integers(0, 3, (12, 16)).astype(np.uint8)
    parts = np.where(people > 0, 0, 255).astype(np.uint8)
    return df.LabeledFrame(scene(rng), CAMERA, parts, people, {}, df.PartSet(("a",)))


def test_masked_depth_keeps_one_person():
    frame = labeled(np.random.default_rng(2))
    mask = frame.people == 2
    ref = np.array(naive.masked_depth(frame, mask))
    for comp in (masked_depth(frame, mask), masked_depth(frame, person=2)):
        np.testing.assert_array_equal(comp, ref)
        assert comp.dtype == np.uint16
        assert comp.flags.writeable
    assert not masked_depth(frame, person=9).any()
    np.testing.assert_array_equal(masked_depth(frame), frame.depth_mm)
    assert masked_depth(frame) is not frame.depth_mm


@pytest.mark.parametrize(
    ("error", "message", "arguments"),
    [
        (FrameError, r"mask must be bool, got uint8; mask != 0", {"mask": np.ones((12, 16), np.uint8)}),
        (FrameError, r"mask has shape \(2, 2\), the depth \(12, 16\)", {"mask": np.ones((2, 2), bool)}),
        (UsageError, "mask or a person, not both", {"mask": np.ones((12, 16), bool), "person": 1}),
        (UsageError, "whole number from 1 to 255, got 0", {"person": 0}),
        (UsageError, "whole number from 1 to 255, got True", {"person": True}),
    ],
)
def test_bad_masks(error, message, arguments):
    with pytest.raises(error, match=message):
        masked_depth(labeled(np.random.default_rng(2)), **arguments)


def test_a_plain_frame_has_no_people():
    with pytest.raises(UsageError, match="only a LabeledFrame knows its people, got a Frame"):
        masked_depth(df.Frame(np.ones((12, 16), np.uint16), CAMERA), person=1)


GOOD = {
    "depth_mm": np.full((12, 16), 1000, np.uint16),
    "pixels": [[0, 0]],
    "probes": [[0.1, 0, 0, 0]],
    "camera": CAMERA,
    "background_mm": 10_000,
}
HOLE = GOOD["depth_mm"].copy()
HOLE[3, 4] = 0


@pytest.mark.parametrize(
    ("error", "message", "change"),
    [
        (FrameError, "uint16 of shape", {"depth_mm": np.ones((12, 16))}),
        (FrameError, "uint16 of shape", {"depth_mm": np.ones(12, np.uint16)}),
        (FrameError, "uint16 of shape", {"depth_mm": np.ones((0, 3), np.uint16)}),
        (CameraError, r"shape \(3, 3\), the camera \(12, 16\)", {"depth_mm": np.ones((3, 3), np.uint16)}),
        (CameraError, "expected a Camera, got 'kinect_v1'", {"camera": "kinect_v1"}),
        (CameraError, "ideal lens", {"camera": df.Camera(30, 30, 7, 5, 16, 12, (0.1, 0, 0, 0))}),
        (UsageError, r"pixels must be whole numbers of shape \(n, 2\)", {"pixels": [[0.0, 1.0]]}),
        (UsageError, r"pixels must be whole numbers of shape \(n, 2\)", {"pixels": [0, 1]}),
        (UsageError, r"pixel \(12, 0\) lies outside", {"pixels": [[0, 0], [12, 0]]}),
        (UsageError, r"pixel \(0, -1\) lies outside", {"pixels": [[0, -1]]}),
        (UsageError, r"pixel \(3, 4\) has no reading", {"depth_mm": HOLE, "pixels": [[3, 4]]}),
        (UsageError, r"probes must be numbers of shape \(k, 4\)", {"probes": [[1, 2, 3]]}),
        (UsageError, "at most 10 m, got nan in probe pair 1", {"probes": [[0] * 4, [0, np.nan, 0, 0]]}),
        (UsageError, "at most 10 m, got inf in probe pair 0", {"probes": [[0, np.inf, 0, 0]]}),
        (UsageError, "at most 10 m, got 1e[+]300", {"probes": [[0, 1e300, 0, 0]]}),
        (UsageError, "from 1 to 65535, got 0", {"background_mm": 0}),
        (UsageError, "from 1 to 65535, got 65536", {"background_mm": 65536}),
        (UsageError, "from 1 to 65535, got 1.5", {"background_mm": 1.5}),
        (UsageError, "from 1 to 65535, got True", {"background_mm": True}),
    ],
)
def test_bad_input(error, message, change):
    responses(**GOOD)
    with pytest.raises(error, match=message):
        responses(**{**GOOD, **change})
