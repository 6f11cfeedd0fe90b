"""The plain walk, by way of Forest: its twin, mirrored frames, and trees made by hand."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from support import naive_facings
from support import naive_forest as naive
from support.randomframes import random_frame
from support.smallforests import CAMERA, PARTS, small

import depthforest as df
from depthforest.forest.forest import Forest


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_trees=st.integers(1, 3),
    depth=st.integers(0, 6),
    rows=st.integers(1, 7),
    cols=st.integers(1, 7),
    on_mask=st.sampled_from([0.0, 0.6, 1.0]),
    background=st.sampled_from([1, 3000, 10_000, 65_535]),
    n_facings=st.sampled_from([1, 1, 2, 8]),
    is_mirrored=st.booleans(),
)
def test_the_walk_equals_its_twin(seed, n_trees, depth, rows, cols, on_mask, background, n_facings, is_mirrored):
    rng = np.random.default_rng(seed)
    forest = naive_facings.random_forest(rng, n_trees, depth, PARTS, n_facings, background_mm=background)
    frame = random_frame(rng, rows, cols)
    mask = rng.random((rows, cols)) < on_mask
    comp = forest.walk(frame, mask, mirror=is_mirrored)
    assert comp.dtype == np.float32
    shares, sums, _ = naive_facings.shares(forest, frame, mask, is_mirrored, "mean")
    places = list(map(tuple, np.argwhere(mask).tolist()))
    ref = np.array([shares.get(place, [0] * 3) for place in places], dtype=np.float32).reshape(-1, 3)
    np.testing.assert_array_equal(comp, ref)
    labels = forest.predict(frame, mask, mirror=is_mirrored)
    assert all(labels[p] == (sums[p].index(max(sums[p])) if p in sums else 255) for p in places)
    if n_facings == 1 and not is_mirrored:
        np.testing.assert_array_equal(comp, naive.walk(forest, frame, mask))
    has_reading = frame.depth_mm[mask] > 0
    np.testing.assert_allclose(comp.sum(axis=1), has_reading, atol=1e-6)


def test_random_frames_reach_many_leaves():
    """The twin test means little if all pixels went one way."""
    rng = np.random.default_rng(0)
    forest = naive.random_forest(rng, 1, 6, PARTS)
    frame = random_frame(rng, 30, 30)
    assert len(np.unique(forest.walk(frame), axis=0)) > forest.n_leaves / 3 > 5


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_the_mirrored_walk_is_the_walk_of_the_mirrored_frame(seed):
    rng = np.random.default_rng(seed)
    forest = naive.random_forest(rng, 2, 5, PARTS, mirror=True)
    frame = random_frame(rng, 9, 11)
    mirrored = df.Frame(frame.depth_mm[:, ::-1], frame.camera.flipped())
    straight = forest.walk(frame, mirror=False)
    other = forest.walk(mirrored, mirror=False).reshape(9, 11, 3)[:, ::-1, PARTS.mirror].reshape(-1, 3)
    np.testing.assert_allclose(forest.walk(frame), (straight + other) / 2, atol=1e-6)
    labels = forest.predict(frame)
    swapped = forest.predict(mirrored)[:, ::-1]
    ties = (np.sort(forest.walk(frame), axis=1)[:, -1] == np.sort(forest.walk(frame), axis=1)[:, -2]).reshape(9, 11)
    np.testing.assert_array_equal(PARTS.mirror_table[swapped][~ties], labels[~ties])


def test_a_hand_made_tree_decides_as_drawn():
    """A pixel whose right neighbor is farther by more than 10 mm goes right."""
    forest = Forest(
        np.array([0], np.int32),
        np.array([[1, 0, 0, 0]], np.float32),
        np.array([10], np.int16),
        np.array([[~0, ~1]], np.int32),
        np.array([[255, 0, 0], [0, 0, 255]], np.uint8),
        PARTS,
    )
    frame = df.Frame(np.array([[1000, 1010, 1021, 0]], np.uint16), df.Camera(1, 1, 0, 0, 4, 1))
    # 1010 - 1000 is not above 10; 1021 - 1010 is; beside 1021 is no reading: 10,000
    assert forest.predict(frame).tolist() == [[0, 2, 2, 255]]
    # off the mask is background too
    assert forest.predict(frame, np.array([[True, False, True, True]])).tolist() == [[2, 255, 2, 255]]


def test_nothing_to_walk():
    forest = small()
    empty = df.Frame(np.zeros((12, 16), np.uint16), CAMERA)
    assert not forest.walk(empty).any()
    assert (forest.predict(empty) == 255).all()
    assert forest.walk(empty, np.zeros((12, 16), bool)).shape == (0, 3)
    one = df.Frame(np.array([[900]], np.uint16), df.Camera(500, 500, 0, 0, 1, 1))
    np.testing.assert_array_equal(forest.walk(one), naive.walk(forest, one, np.array([[True]])))


def test_ties_go_to_the_lowest_part():
    leaves = np.array([[85, 85, 85]], np.uint8)
    nothing = np.empty((0, 4), np.float32), np.empty(0, np.int16), np.empty((0, 2), np.int32)
    forest = Forest(np.array([~0], np.int32), *nothing, leaves, PARTS)
    assert (forest.predict(df.Frame(np.full((12, 16), 900, np.uint16), CAMERA)) == 0).all()
    assert (forest.depth, forest.n_nodes, forest.n_leaves) == (0, 0, 1)
