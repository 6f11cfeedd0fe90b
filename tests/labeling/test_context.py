"""The context stage when people are labeled: the twin to the bit, mirrored, on any number of threads, kept in files."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from support import naive_context
from support.limbforests import PARTS, forest_of
from support.randomframes import patchy_frame, random_frame

import depthforest as df
from depthforest.labeling import walks
from depthforest.trees import thumbnails


@pytest.fixture
def few(monkeypatch):
    """Let so few pixels be on the coarse grid that frames of a test have several levels."""

    def change(n):
        for module in (walks, thumbnails):
            monkeypatch.setattr(module, "COARSE_PIXELS", n)

    return change


def context_forest(seed, n_facings=4, **options):
    rng = np.random.default_rng(seed + 1000)
    return forest_of(seed, 2, 4, n_facings, context=naive_context.random_context(rng, PARTS), **options)


@pytest.mark.parametrize("n_coarse", [2, 9, 1000])
def test_every_walk_is_the_twin_to_the_bit(few, n_coarse):
    few(n_coarse)
    n_changed = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        shape = int(rng.integers(2, 15)), int(rng.integers(2, 16))
        frame, mask = patchy_frame(rng, *shape), rng.random(shape) < 0.95
        forest = context_forest(seed, int(rng.choice([1, 3, 8])))
        is_mirrored = bool(seed % 2)
        twin = naive_context.sums(forest, frame, mask, is_mirrored, n_coarse)
        walked = forest.walk(frame, mask, mirror=is_mirrored)
        shares = forest.label(frame, mask, mirror=is_mirrored, exact=True, smooth=0).probabilities()
        for i, place in enumerate(map(tuple, np.argwhere(mask).tolist())):
            expected = np.zeros(len(PARTS), np.float32)
            if place in twin:
                expected = np.array(twin[place], np.float32) / np.float32(sum(twin[place]))
            np.testing.assert_array_equal(walked[i], expected)
            np.testing.assert_array_equal(shares[place], expected)
        alone = replace(forest, context=None).predict(frame, mask, mirror=is_mirrored)
        n_changed += np.count_nonzero(alone != forest.predict(frame, mask, mirror=is_mirrored))
    assert n_changed > 50


@pytest.mark.parametrize("cols", [40, 41])
@pytest.mark.parametrize("smooth", [0.0, 0.1])
def test_the_mirrored_frame_gets_mirrored_labels(few, cols, smooth):
    few(20)
    mirror = np.array(PARTS.mirror)
    for seed in range(30):
        forest = context_forest(seed, 8, smooth_m=smooth, mirror=True)
        frame = patchy_frame(np.random.default_rng(seed), 30, cols)
        flipped = df.Frame(frame.depth_mm[:, ::-1].copy(), frame.camera.flipped())
        here, there = forest.label(frame), forest.label(flipped)
        shares, others = here.probabilities(), there.probabilities()[:, ::-1][..., mirror]
        is_tied = (shares == shares.max(axis=2, keepdims=True)).sum(axis=2) > 1
        if not (is_tied & (here.parts != 255)).any():
            np.testing.assert_array_equal(shares, others)
            is_labeled = here.parts != 255
            np.testing.assert_array_equal(here.parts[is_labeled], mirror[there.parts[:, ::-1][is_labeled]])
            break
    else:
        pytest.fail("all frames have ties")


def test_threads_copies_and_later_questions_give_the_same(few):
    few(100)
    frame = patchy_frame(np.random.default_rng(0), 120, 160, patch=8)
    forest = context_forest(1, 8, smooth_m=0.05, mirror=True)
    one, three = (forest.label(frame, threads=threads) for threads in (1, 3))
    copied = pickle.loads(pickle.dumps(forest)).label(frame)
    for other in (three, copied):
        np.testing.assert_array_equal(one.parts, other.parts)
        np.testing.assert_array_equal(one.probabilities(), other.probabilities())
    top, best = one.probabilities(top=1)
    np.testing.assert_array_equal(top[..., 0], one.parts)
    np.testing.assert_array_equal(best[..., 0], one.confidence)
    plain = forest.label(frame, smooth=0)
    sample, shares = plain.sample(), plain.probabilities()
    np.testing.assert_array_equal(sample.shares, shares[sample.rows, sample.cols])


def test_votes_are_of_the_first_stage_alone():
    frame, forest = random_frame(np.random.default_rng(3), 20, 25), context_forest(3)
    alone = replace(forest, context=None)
    for rule in ("votes", "purity"):
        np.testing.assert_array_equal(forest.label(frame, rule=rule).parts, alone.label(frame, rule=rule).parts)
    assert (forest.label(frame).parts != alone.label(frame).parts).any()


def test_nobody_and_a_person_that_the_grid_passes_by(few):
    few(2)
    forest = context_forest(4)
    nobody = df.Frame(np.zeros((9, 9), np.uint16), df.Camera(9, 9, 4, 4, 9, 9))
    assert (forest.label(nobody).parts == 255).all()
    assert not forest.walk(nobody).any()
    thin = np.zeros((9, 40), np.uint16)
    thin[3, 1:39] = 1000
    frame = df.Frame(thin, df.Camera(30, 30, 20, 4, 40, 9))
    twin = naive_context.sums(forest, frame, thin > 0, False, 2)
    shares = forest.label(frame, mirror=False, smooth=0, exact=True).probabilities()
    for place, sums in twin.items():
        np.testing.assert_array_equal(shares[place], np.array(sums, np.float32) / np.float32(sum(sums)))
    assert (forest.label(frame).parts[3, 1:39] != 255).all()
