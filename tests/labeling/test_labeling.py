"""Labels of whole frames and of streams of them, and what can be asked of them later."""

import cmath
import math
import multiprocessing
import pickle
from functools import partial
from itertools import count, islice
from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import naive_facings, naive_sparse
from support.bounded import run_threads
from support.limbforests import PARTS, forest_of
from support.randomframes import random_frame, smooth_frame
from support.workers import label_in_worker

import depthforest as df
from depthforest.base.errors import FrameError, UsageError
from depthforest.labeling.labeling import RULES
from synth.config import Config
from synth.generator import Generator
from synth.scene.rendering import render

GOLDEN = Path(__file__).resolve().parents[1] / "golden"


@settings(max_examples=80, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_trees=st.integers(1, 3),
    depth=st.integers(0, 6),
    shape=st.tuples(st.integers(1, 7), st.integers(1, 7)),
    on_mask=st.sampled_from([None, 0.0, 0.6, 1.0]),
    background=st.sampled_from([1, 3000, 10_000, 65_535]),
    rule=st.sampled_from(RULES),
    is_mirrored=st.booleans(),
    is_compact=st.booleans(),
    n_facings=st.sampled_from([1, 1, 2, 8]),
    smooth=st.sampled_from([0, 0, 0.02, 0.1]),
    reject=st.sampled_from([None, 0.0, 0.4, 1.0, "majority"]),
)
def test_labels_are_those_of_the_twin(
    seed, n_trees, depth, shape, on_mask, background, rule, is_mirrored, is_compact, n_facings, smooth, reject
):
    rng = np.random.default_rng(seed)
    forest = forest_of(seed, n_trees, depth, n_facings, is_compact=is_compact, background_mm=background)
    frame = (smooth_frame if smooth else random_frame)(rng, *shape)
    mask = None if on_mask is None else rng.random(shape) < on_mask
    result = forest.label(frame, mask, mirror=is_mirrored, rule=rule, reject=reject, smooth=smooth, threads=1)
    everything = result.probabilities()
    tops, shares = result.probabilities(top=2)
    expected, sums, weights = naive_facings.shares(
        forest, frame, np.ones(shape, bool) if mask is None else mask, is_mirrored, rule, smooth
    )
    angle = cmath.phase(sum(w * cmath.exp(2j * cmath.pi * f / n_facings) for f, w in enumerate(weights))) % (
        2 * cmath.pi
    )
    if result.facing is not None:
        assert math.isclose(math.cos(math.radians(result.facing) - angle), 1, abs_tol=1e-6)
    for place in np.ndindex(*shape):
        if place not in expected:
            assert (result.parts[place], result.confidence[place]) == (255, 0)
            assert not everything[place].any()
            assert (tops[place] == 255).all()
            continue
        its = expected[place]
        part, share = sums[place].index(max(sums[place])), float(its.max())
        np.testing.assert_array_equal(everything[place], its)
        is_kept = reject is None or (share > 0.5 if reject == "majority" else share >= reject)
        assert result.parts[place] == (part if is_kept else 255)
        assert result.confidence[place] == (np.float32(share) if is_kept else 0)
        order = sorted(range(len(PARTS)), key=lambda p: (-sums[place][p], p))[:2]
        assert tops[place].tolist() == order
        np.testing.assert_array_equal(shares[place], its[order])


@pytest.mark.parametrize("is_mirrored", [False, True])
def test_it_is_the_plain_walk_to_the_bit(is_mirrored):
    forest = df.Forest.load(GOLDEN / "forest.safetensors")
    for frame in df.open_dataset(GOLDEN / "frames"):
        mask = frame.people == 1
        result = forest.label(frame, mask, mirror=is_mirrored)
        np.testing.assert_array_equal(result.parts, forest.predict(frame, mask, mirror=is_mirrored))
        np.testing.assert_array_equal(result.probabilities()[mask], forest.walk(frame, mask, mirror=is_mirrored))
        assert (result.part_set, result.camera, result.rule, result.mirror) == (
            forest.part_set, frame.camera, "mean", is_mirrored,
        )  # fmt: skip


def test_a_model_says_whether_it_mirrors():
    frame = random_frame(np.random.default_rng(0), 9, 9)
    for is_mirrored in (False, True):
        forest = forest_of(1, mirror=is_mirrored)
        assert forest.label(frame).mirror is is_mirrored
        np.testing.assert_array_equal(forest.label(frame).parts, forest.predict(frame))


def test_nothing_to_label():
    frame = random_frame(np.random.default_rng(1), 8, 9)
    empty = df.Frame(np.zeros((8, 9), np.uint16), frame.camera)
    one = df.Frame(np.array([[700]], np.uint16), df.Camera(5, 5, 0, 0, 1, 1))
    for forest in (forest_of(0), forest_of(0, smooth_m=0.1), forest_of(0, n_facings=8, smooth_m=0.1, mirror=True)):
        for result in (
            forest.label(frame, np.zeros((8, 9), bool)), forest.label(empty), forest.label(empty, threads=4),
        ):  # fmt: skip
            assert (result.parts == 255).all()
            assert not result.confidence.any()
            assert not result.probabilities().any()
            assert not len(result.sample().rows)
            assert result.facing is None
        np.testing.assert_array_equal(forest.label(one).parts, forest.predict(one))


def test_a_large_frame_is_labeled_to_its_corners():
    rng = np.random.default_rng(2)
    depth_mm = np.zeros((2160, 3840), dtype=np.uint16)
    for row, col in ((0, 0), (0, 3839), (2159, 0), (2159, 3839), (1000, 2000)):
        depth_mm[max(0, row - 9) : row + 9, max(0, col - 9) : col + 9] = rng.integers(500, 5000)
    frame = df.Frame(depth_mm, df.Camera(2000, 2000, 1919.5, 1079.5, 3840, 2160))
    forest = forest_of(4)
    np.testing.assert_array_equal(forest.label(frame).parts, forest.predict(frame, depth_mm > 0))


def test_a_forest_without_splits_is_its_leaf():
    forest = forest_of(5, 2, 0)
    frame = random_frame(np.random.default_rng(3), 4, 4, holes=0)
    expected = int((forest.leaves[0].astype(int) + forest.leaves[1]).argmax())
    assert (forest.label(frame).parts == expected).all()


def test_many_frames_come_in_order_and_lazily():
    rng = np.random.default_rng(6)
    frames = [random_frame(rng, 20, 30) for _ in range(25)]
    masks = [rng.random((20, 30)) < 0.7 for _ in frames]
    forest = forest_of(6)
    for threads in (1, 3):
        for found, frame, mask in zip(
            forest.label_many(frames, masks, threads=threads, rule="votes"), frames, masks, strict=True
        ):
            np.testing.assert_array_equal(found.parts, forest.label(frame, mask, rule="votes").parts)
    endless = (frames[i % len(frames)] for i in count())
    assert len(list(islice(forest.label_many(endless, threads=2), 30))) == 30
    with pytest.raises(UsageError, match="there are 3 masks and more frames; give one mask"):
        list(forest.label_many(frames, masks[:3]))
    with pytest.raises(UsageError, match="there are 2 frames and more masks; give one mask"):
        list(forest.label_many(frames[:2], masks))
    assert list(forest.label_many([])) == []


def test_results_are_read_only_and_do_not_change_later():
    rng = np.random.default_rng(7)
    forest, frame = forest_of(7), random_frame(rng, 15, 15)
    mask = rng.random((15, 15)) < 0.5
    result = forest.label(frame, mask)
    parts, shares = result.parts.copy(), result.probabilities()
    mask[:] = False
    forest.label(random_frame(rng, 30, 30))
    np.testing.assert_array_equal(result.parts, parts)
    np.testing.assert_array_equal(result.probabilities(), shares)
    with pytest.raises(ValueError, match="read-only"):
        result.parts[0, 0] = 1


def test_several_threads_may_call_at_once():
    rng = np.random.default_rng(8)
    frames = [random_frame(rng, 60, 80) for _ in range(6)]
    forest = forest_of(8, 3, 8)
    expected = [forest.predict(frame) for frame in frames]
    wrong = []

    def work(k):
        for i in range(30):
            which = (i + k) % len(frames)
            if not np.array_equal(forest.label(frames[which], threads=1 + k % 3).parts, expected[which]):
                wrong.append(which)

    run_threads(*(partial(work, k) for k in range(5)))
    assert wrong == []


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_workers_label_too(method):
    frame = random_frame(np.random.default_rng(9), 60, 80)
    forest = forest_of(9)
    expected = forest.label(frame, threads=2).parts  # the parent's threads are running
    with multiprocessing.get_context(method).Pool(2) as pool:
        for parts in pool.map_async(label_in_worker, [(forest, frame)] * 4).get(timeout=120):
            np.testing.assert_array_equal(parts, expected)


def test_any_camera_gives_the_same_labels():
    """One scene through two cameras: where both see the inside of a person, they agree on nine pixels of ten."""
    forest = df.Forest.load(GOLDEN / "forest.safetensors")
    small = df.Camera.preset("kinect_v1@320x240")
    large = small.scaled(960, 720)
    generator = Generator(Config(camera="kinect_v1@320x240", n_bodies=3, people_shares=(1.0,)), seed=4, n=6)
    n_same = n = 0
    for i in range(6):
        meshes = generator.scene(i)[0].meshes()
        labels, masks = [], []
        for camera in (small, large):
            seen = render(camera, meshes)
            frame = df.Frame(np.rint(seen.depth * 1000).astype(np.uint16), camera)
            masks.append(seen.people == 1)
            labels.append(forest.label(frame, masks[-1]).parts)
        inside = cv2.erode(masks[0].astype(np.uint8), np.ones((5, 5), np.uint8)).astype(bool)
        inside &= masks[1][1::3, 1::3]  # the middle one of every 3 x 3 pixels looks the same way
        n_same += int((labels[0] == labels[1][1::3, 1::3])[inside].sum())
        n += int(inside.sum())
    assert n > 5000
    assert n_same / n > 0.9


def test_bad_input_is_one_clear_line():
    forest = forest_of(0)
    frame = random_frame(np.random.default_rng(0), 5, 6)
    for options, message in (
        ({"rule": "median"}, "rule must be one of mean, votes, purity; got 'median'"),
        ({"reject": 1.5}, "reject must be None, 'majority' or a confidence from 0 to 1, got 1.5"),
        ({"reject": True}, "got True"),
        ({"mirror": 1}, "mirror must be True, False or None, got 1"),
        ({"smooth": -0.1}, "smoothing must be a radius from 0 to 0.25 meters, got -0.1"),
        ({"smooth": True}, "smoothing must be a radius .* got True"),
        ({"smooth": float("nan")}, "smoothing must be a radius .* got nan"),
        ({"threads": 0}, "threads must be a whole number from 1 to 1024, got 0"),
    ):
        with pytest.raises(UsageError, match=message):
            forest.label(frame, **options)
    with pytest.raises(FrameError, match="expected a Frame, got ndarray"):
        forest.label(frame.depth_mm)
    with pytest.raises(FrameError, match="the mask has shape"):
        forest.label(frame, np.ones((6, 5), bool))
    with pytest.raises(FrameError, match="a mask must be bool"):
        forest.label(frame, np.ones((5, 6), np.uint8))
    for top in (0, 6, 1.0, True):
        with pytest.raises(UsageError, match="top must be a whole number from 1 to 5"):
            forest.label(frame).probabilities(top=top)
    long = df.Frame(np.full((1, 40_000), 900, np.uint16), df.Camera(5, 5, 0, 0, 40_000, 1))
    with pytest.raises(FrameError, match="up to 32767 pixels a side"):
        forest.label(long)


@pytest.mark.slow
def test_ten_thousand_frames_take_no_memory():
    """And the same frames twice give the same bytes."""
    generator = Generator(Config(camera="kinect_v1@160x120", n_bodies=2, n_poses=64), seed=1, n=40)
    frames = generator[:]
    forest = df.Forest.load(GOLDEN / "forest.safetensors")

    def resident():
        lines = Path("/proc/self/status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("VmRSS")).split()[1])

    sums, sizes = [], []
    for turn in range(2):
        stream = (frames[i % len(frames)] for i in range(5000))
        total = np.zeros(256, dtype=np.int64)
        for i, result in enumerate(forest.label_many(stream)):
            total += np.bincount(result.parts.ravel(), minlength=256)
            if i == 500 and turn == 0:
                sizes.append(resident())
        sums.append(total.tolist())
    sizes.append(resident())
    assert sums[0] == sums[1]
    assert sizes[1] - sizes[0] < 20_000  # kB


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.sampled_from([None, 1, 7, 40, 10_000]), is_masked=st.booleans())
def test_a_sample_has_the_probabilities_of_its_pixels(seed, n, is_masked):
    rng = np.random.default_rng(seed)
    frame = random_frame(rng, 14, 17)
    mask = rng.random(frame.shape) < 0.7 if is_masked else None
    labeling = forest_of(3, n_facings=1 + seed % 3).label(frame, mask, mirror=True, reject=0.3)
    sample = labeling.sample(n)
    pixels = np.count_nonzero((frame.depth_mm > 0) & (True if mask is None else mask))
    assert sample.step == (1 if n is None else naive_sparse.first_step(pixels, n))
    rows, cols = np.nonzero(labeling.parts != 255)
    kept = (rows % sample.step == 0) & np.isin(cols, naive_sparse.grid_columns(17, sample.step))
    np.testing.assert_array_equal(np.stack((sample.rows, sample.cols)), np.stack((rows[kept], cols[kept])))
    np.testing.assert_array_equal(sample.shares, labeling.probabilities()[sample.rows, sample.cols])


def test_a_labeling_that_was_pickled_says_the_same():
    for n_facings in (1, 3):
        result = forest_of(5, n_facings=n_facings).label(random_frame(np.random.default_rng(5), 20, 20))
        twin = pickle.loads(pickle.dumps(result))
        np.testing.assert_array_equal(twin.probabilities(), result.probabilities())
        assert twin.facing == result.facing


def test_a_sample_needs_a_number_of_pixels():
    labeling = forest_of(3).label(random_frame(np.random.default_rng(0), 5, 5))
    for wrong in (0, -3, 2.5, True):
        with pytest.raises(UsageError, match="n must be a whole number of pixels from 1"):
            labeling.sample(wrong)
