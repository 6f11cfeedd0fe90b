"""Leaves mixed by facing, and sums smoothed over neighbors."""

import math
from dataclasses import replace

import numpy as np
import pytest
from support.limbforests import PARTS, forest_of
from support.randomframes import random_frame, smooth_frame

import depthforest as df
from depthforest.base.errors import ModelError
from depthforest.labeling.steps import LANES
from depthforest.labeling.walks import PIECE
from depthforest.trees.columns import MAX_FACING_TREES


@pytest.mark.parametrize(("n_facings", "smooth"), [(1, 0.0), (8, 0.0), (8, 0.1), (3, 0.05)])
def test_the_mirrored_frame_gets_mirrored_labels(n_facings, smooth):
    """But for ties: a pixel that reaches the same leaf on both sides cannot tell left from right."""
    mirror = np.array(PARTS.mirror)
    n_ties = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        forest = forest_of(seed, 3, n_facings=n_facings, smooth_m=smooth)
        frame = (smooth_frame if smooth else random_frame)(rng, 12, 15)
        flipped = df.Frame(frame.depth_mm[:, ::-1].copy(), frame.camera.flipped())
        here, there = (forest.label(f, mirror=True) for f in (frame, flipped))
        np.testing.assert_array_equal(here.confidence, there.confidence[:, ::-1])
        shares = here.probabilities()
        np.testing.assert_array_equal(shares, there.probabilities()[:, ::-1][..., mirror])
        is_clear = (shares == shares.max(axis=2, keepdims=True)).sum(axis=2) == 1
        np.testing.assert_array_equal(here.parts[is_clear], mirror[there.parts[:, ::-1][is_clear]])
        n_ties += int((~is_clear & (here.parts != 255)).sum())
        if here.facing is not None and there.facing is not None:
            assert math.isclose(math.cos(math.radians(here.facing + there.facing)), 1, abs_tol=1e-6)
    assert n_ties < 900


@pytest.mark.parametrize("n_facings", [2, 8])
def test_facings_are_the_plain_walk_to_the_bit_on_any_threads(n_facings):
    """On more pixels than one piece of work; the evidence of all of them counts."""
    rng = np.random.default_rng(n_facings)
    forest, frame = forest_of(1, 3, n_facings=n_facings), random_frame(rng, 60, 80)
    mask = rng.random(frame.shape) < 0.9
    assert np.count_nonzero(mask & (frame.depth_mm > 0)) > PIECE + LANES
    for is_mirrored in (False, True):
        expected = forest.predict(frame, mask, mirror=is_mirrored)
        for threads in (1, 3):
            found = forest.label(frame, mask, mirror=is_mirrored, threads=threads)
            np.testing.assert_array_equal(found.parts, expected)
        np.testing.assert_array_equal(found.probabilities()[mask], forest.walk(frame, mask, mirror=is_mirrored))
        ((again,),) = [list(forest.label_many([frame], [mask], mirror=is_mirrored, threads=2))]
        np.testing.assert_array_equal(again.parts, expected)
        assert again.facing == found.facing


def test_smoothing_is_the_same_on_any_threads_and_off_at_zero():
    rng = np.random.default_rng(0)
    frame = smooth_frame(rng, 60, 80)
    for n_facings in (1, 4):
        forest = forest_of(2, 2, n_facings=n_facings, smooth_m=0.05)
        one, three = (forest.label(frame, exact=True, threads=threads) for threads in (1, 3))
        np.testing.assert_array_equal(one.parts, three.parts)
        np.testing.assert_array_equal(one.confidence, three.confidence)
        np.testing.assert_array_equal(one.probabilities().max(axis=2), one.confidence)
        np.testing.assert_array_equal(next(forest.label_many([frame], exact=True)).parts, one.parts)
        plain = forest.label(frame, smooth=0, exact=True)
        np.testing.assert_array_equal(plain.parts, forest.predict(frame))
        assert (plain.parts != one.parts).any()
        # a sample is not smoothed
        np.testing.assert_array_equal(one.sample().shares, plain.sample().shares)


def stripe_forest():
    """Return a tree that labels pixels nearer than 1 m hand_l, others hand_r, each with a tenth of head."""
    return df.Forest(
        np.array([0], np.int32),
        np.array([[0, 0, 10, 0]], np.float32),  # the pixel's own depth less the background far off
        np.array([1000 - 10_000], np.int16),
        np.array([[~0, ~1]], np.int32),
        np.array([[55, 200, 0, 0, 0], [55, 0, 200, 0, 0]], np.uint8),
        PARTS,
    )


def test_smoothing_reaches_as_far_as_it_says_and_stops_at_edges():
    forest = stripe_forest()
    camera = df.Camera(100, 100, 4, 0, 9, 1)
    # 990 mm: 101 pixels a meter. One pixel of the right hand, 25 mm behind, among the left
    depth_mm = np.full((1, 9), 990, np.uint16)
    depth_mm[0, 4] = 1015
    frame = df.Frame(depth_mm, camera)
    assert forest.label(frame).parts.tolist() == [[1, 1, 1, 1, 2, 1, 1, 1, 1]]
    # 0.004 m: 0.4 pixels, nobody is reached; 0.01 m: one pixel on each side, though two places are asked
    assert forest.label(frame, smooth=0.004).parts[0, 4] == 2
    hand_r = forest.label(frame, smooth=0.01).probabilities()[0, :, 2]
    np.testing.assert_allclose(hand_r * 255 / 200, [0, 0, 0, 1 / 3, 1 / 3, 1 / 3, 0, 0, 0], atol=1e-6)
    hand_r = forest.label(frame, smooth=0.02).probabilities()[0, :, 2]
    np.testing.assert_allclose(hand_r * 255 / 200, [0, 0, 1 / 5, 1 / 5, 1 / 5, 1 / 5, 1 / 5, 0, 0], atol=1e-6)
    # as far as the gate belongs to it, farther does not
    for behind, is_apart in ((60, False), (61, True)):
        depth_mm[0, 4] = 990 + behind
        found = forest.label(df.Frame(depth_mm, camera), smooth=0.02)
        assert bool(found.parts[0, 4] == 2) is is_apart
    # neither off the mask, nor below one pixel
    mask = np.array([[False, False, False, True, True, True, False, False, False]])
    hand_r = forest.label(frame, mask, smooth=0.02).probabilities()[0, :, 2]
    np.testing.assert_allclose(hand_r * 255 / 200, [0, 0, 0, 1 / 3, 1 / 3, 1 / 3, 0, 0, 0], atol=1e-6)
    only = forest.label(frame, np.arange(9)[None] == 4, smooth=0.25)
    assert only.parts[0, 4] == 2


def test_a_person_is_taken_as_a_whole():
    """Leaves that say nothing for themselves follow what the other pixels say about the facing."""
    forest = replace(
        stripe_forest(),
        leaves=np.array(
            [[255, 0, 0, 0, 0], [255, 0, 0, 0, 0], [0, 255, 0, 0, 0], [0, 0, 255, 0, 0]], np.uint8
        ),  # near: head; far: hand_l to the front, hand_r to the back
        evidence=np.array([[20, -20], [0, 0]], np.int8),
    )
    camera = df.Camera(100, 100, 1, 0, 3, 1)
    front = forest.label(df.Frame(np.array([[900, 900, 1200]], np.uint16), camera))
    assert front.parts.tolist() == [[0, 0, 1]]
    assert front.facing == 0
    back = replace(forest, evidence=-forest.evidence).label(df.Frame(np.array([[900, 900, 1200]], np.uint16), camera))
    assert back.parts.tolist() == [[0, 0, 2]]
    assert back.facing == pytest.approx(180)
    alone = forest.label(df.Frame(np.array([[0, 0, 1200]], np.uint16), camera))
    assert alone.facing is None  # both weigh the same
    assert alone.confidence[0, 2] == 0.5


def test_the_largest_sums_fit():
    """As many trees as may have facings, all sure, walked twice, smoothed over all places."""
    n_trees = MAX_FACING_TREES
    nothing = np.empty((0, 4), np.float32), np.empty(0, np.int16), np.empty((0, 2), np.int32)
    leaves = np.zeros((n_trees * 32, 5), np.uint8)
    leaves[:, 0] = 255
    forest = df.Forest(
        ~np.arange(n_trees, dtype=np.int32), *nothing, leaves, PARTS, mirror=True, smooth_m=0.02,
        evidence=np.zeros((n_trees, 32), np.int8),
    )  # fmt: skip
    frame = df.Frame(np.full((5, 5), 1000, np.uint16), df.Camera(100, 100, 2, 2, 5, 5))
    found = forest.label(frame)
    assert (found.parts == 0).all()
    assert (found.confidence == 1).all()
    with pytest.raises(ModelError, match="a forest with facings has at most 512 trees, got 513"):
        df.Forest(
            ~np.arange(513, dtype=np.int32), *nothing, np.concatenate((leaves, leaves[:32])), PARTS,
            evidence=np.zeros((513, 32), np.int8),
        )  # fmt: skip
