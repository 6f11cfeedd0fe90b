"""Sparse labeling: a coarse grid walks first, and other pixels where labels change."""

import numpy as np
import pytest
from support import naive_sparse
from support.limbforests import PARTS, forest_of
from support.randomframes import patchy_frame, random_frame

import depthforest as df
from depthforest.base.errors import UsageError
from depthforest.labeling import walks
from depthforest.labeling.labeling import RULES
from depthforest.trees import grid_step


@pytest.fixture
def few(monkeypatch):
    """Let so few pixels walk first that frames of a test have several levels."""
    return lambda n: monkeypatch.setattr(walks, "COARSE_PIXELS", n)


def n_walked(labeling):
    return len(labeling._walk.leaves)


@pytest.mark.parametrize("n_coarse", [1, 3, 12])
def test_it_is_the_twin_to_the_bit(few, n_coarse):
    few(n_coarse)
    n_filled = n_pixels = 0
    for seed in range(24):
        rng = np.random.default_rng(seed)
        shape = int(rng.integers(1, 21)), int(rng.integers(1, 22))
        frame, mask = patchy_frame(rng, *shape), rng.random(shape) < 0.97
        forest = forest_of(seed, int(rng.integers(1, 4)), 4, int(rng.choice([1, 2, 8])))
        options = {"mirror": bool(seed % 2), "rule": RULES[seed % 3], "smooth": float(rng.choice([0, 0.02, 0.1]))}
        found = forest.label(frame, mask, threads=1, **options)
        sums, stand_ins, weights = naive_sparse.label(forest, frame, mask, *options.values(), n_coarse)
        shares = found.probabilities()
        sample = found.sample()
        assert set(zip(sample.rows.tolist(), sample.cols.tolist(), strict=True)) == set(stand_ins)
        for place in np.ndindex(*shape):
            if place not in sums:
                assert (found.parts[place], found.confidence[place]) == (255, 0)
                continue
            its = np.array(sums[place], np.float32) / np.float32(sum(sums[place]))
            np.testing.assert_array_equal(shares[place], its)
            assert (found.parts[place], found.confidence[place]) == (its.argmax(), its.max())
        assert found._walk.weights.tolist() == list(weights)
        assert n_walked(found) == len(set(stand_ins.values()))
        n_filled += len(stand_ins) - n_walked(found)
        n_pixels += len(stand_ins)
    assert n_filled > n_pixels / 5


@pytest.mark.parametrize("cols", [40, 41])
@pytest.mark.parametrize(("n_facings", "smooth"), [(1, 0.1), (8, 0.0), (8, 0.1), (3, 0.05)])
def test_the_mirrored_frame_gets_mirrored_labels(few, cols, n_facings, smooth):
    few(20)
    mirror = np.array(PARTS.mirror)
    for seed in range(20):
        forest = forest_of(seed, 3, n_facings=n_facings, smooth_m=smooth, mirror=True)
        frame = patchy_frame(np.random.default_rng(seed), 30, cols)
        flipped = df.Frame(frame.depth_mm[:, ::-1].copy(), frame.camera.flipped())
        here, there = forest.label(frame), forest.label(flipped)
        shares, others = here.probabilities(), there.probabilities()[:, ::-1][..., mirror]
        # ties are decided for the part of the lower number, and cells beside them are other ones
        is_tied = (shares == shares.max(axis=2, keepdims=True)).sum(axis=2) > 1
        if not (is_tied & (here.parts != 255)).any():
            np.testing.assert_array_equal(shares, others)
            np.testing.assert_array_equal(here.confidence, there.confidence[:, ::-1])
            is_labeled = here.parts != 255
            np.testing.assert_array_equal(here.parts[is_labeled], mirror[there.parts[:, ::-1][is_labeled]])
            assert n_walked(here) == n_walked(there) < np.count_nonzero(here.parts != 255)
            break
    else:
        pytest.fail("all frames have ties")


def test_any_number_of_threads_gives_the_same(few):
    few(100)
    frame = patchy_frame(np.random.default_rng(0), 120, 160, patch=8)
    for forest in (forest_of(1, 3, n_facings=8, smooth_m=0.05, mirror=True), forest_of(2)):
        one, three = (forest.label(frame, threads=threads) for threads in (1, 3))
        assert walks.PIECE < n_walked(one) < np.count_nonzero(frame.depth_mm)
        np.testing.assert_array_equal(one.parts, three.parts)
        np.testing.assert_array_equal(one.confidence, three.confidence)
        np.testing.assert_array_equal(one.probabilities(), three.probabilities())
        top, best = one.probabilities(top=1)
        np.testing.assert_array_equal(top[..., 0], one.parts)
        np.testing.assert_array_equal(best[..., 0], one.confidence)


def test_exact_walks_every_pixel(few):
    few(10)
    frame, forest = patchy_frame(np.random.default_rng(0), 40, 50), forest_of(3)
    n = np.count_nonzero(frame.depth_mm)
    exact, sparse = forest.label(frame, exact=True), forest.label(frame)
    np.testing.assert_array_equal(exact.parts, forest.predict(frame))
    assert n_walked(sparse) < n_walked(exact) == n
    ((again,),) = [list(forest.label_many([frame], exact=True))]
    np.testing.assert_array_equal(again.parts, exact.parts)
    with pytest.raises(UsageError, match="exact must be True or False, got 1"):
        forest.label(frame, exact=1)


def test_only_cells_of_one_surface_are_filled(few):
    """A forest of one leaf labels everything alike: what walks in the end is what the surfaces say."""
    few(1)
    forest, camera = forest_of(5, 1, 0), df.Camera(50, 50, 8, 8, 17, 17)
    flat = np.full((17, 17), 1000, np.uint16)
    # the corners of four cells: columns are counted from the middle one, so that cells of 16 would reach beyond
    assert n_walked(forest.label(df.Frame(flat, camera))) == 9
    near = flat.copy()
    near[5, 5] = 940  # as far as one surface goes
    assert n_walked(forest.label(df.Frame(near, camera))) == 9
    near[5, 5] = 939
    # three more of one cell, one of one of its quarters, and the pixel itself: borders are filled by the cells beside
    assert n_walked(forest.label(df.Frame(near, camera))) == 9 + 3 + 1 + 1
    hole = flat.copy()
    hole[5, 5] = 0
    assert n_walked(forest.label(df.Frame(hole, camera))) == 9


def test_the_widest_grid_that_leaves_enough():
    assert [grid_step(n, 1000) for n in (0, 999, 3999, 4000, 15_999, 16_000, 64_000)] == [1, 1, 1, 2, 2, 4, 8]


def test_who_falls_through_the_coarse_grids_is_labeled_exactly(few):
    few(1)
    frame, forest = patchy_frame(np.random.default_rng(2), 8, 40, holes=0), forest_of(6, 3, n_facings=8, mirror=True)
    mask = np.zeros(frame.shape, bool)
    mask[3] = True
    found, exact = forest.label(frame, mask), forest.label(frame, mask, exact=True)
    assert found._walk.step == 4
    assert n_walked(found) == 40
    assert found.facing == exact.facing is not None
    np.testing.assert_array_equal(found.probabilities(), exact.probabilities())


def test_small_people_walk_whole():
    frame = random_frame(np.random.default_rng(1), 60, 60)
    forest = forest_of(4, n_facings=3)
    found = forest.label(frame)
    assert n_walked(found) == np.count_nonzero(frame.depth_mm)
    np.testing.assert_array_equal(found.parts, forest.label(frame, exact=True).parts)
