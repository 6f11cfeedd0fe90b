"""Counting leaves again, and cutting small branches: against plain twins."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import naive_facings, naive_sparse
from support import naive_forest as naive
from support.madeup import PARTS, labeled_frame, people_of

import depthforest as df
from depthforest.base.errors import DatasetError, UsageError
from depthforest.frames.frame import LabeledFrame
from depthforest.training.leaves import counts as leafcounts
from depthforest.training.leaves.counts import count_leaves, first_trees, prune
from depthforest.trees.columns import MAX_DEPTH, MAX_NODES
from depthforest.trees.quantizing import quantize_leaves


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n_facings=st.sampled_from([1, 2, 8]))
def test_counts_are_those_of_the_twin(seed, n_facings):
    rng = np.random.default_rng(seed)
    forest = naive_facings.random_forest(rng, 2, 4, PARTS, 1)
    data = [labeled_frame(seed + i) for i in range(2)]
    people = [person for frame in data for person in people_of(frame, n_facings)]
    expected = naive_facings.count(forest, people, n_facings)
    told = []
    for threads in (1, 3):
        counts, faced = count_leaves(forest, data, n_facings, threads=threads, progress=told.append)
        assert counts.dtype == np.uint32
        assert faced.facings.tolist() == [facing for facing, *_ in people]
        assert faced.starts[-1] == faced.leaves.shape[1] > 0
        np.testing.assert_array_equal(counts, expected)
    assert told == [1] * 4
    # a mirrored twin of every frame: left and right get the same
    np.testing.assert_array_equal(counts.sum(axis=0)[:, 1], counts.sum(axis=0)[-np.arange(n_facings) % n_facings, 2])


def test_a_large_person_is_counted_on_a_grid(monkeypatch):
    monkeypatch.setattr(leafcounts, "PERSON_PIXELS", 10)
    forest = naive_facings.random_forest(np.random.default_rng(0), 1, 3, PARTS, 1)
    frame = labeled_frame(5)
    readings = [np.count_nonzero((frame.depth_mm > 0) & mask) for _, _, mask, _ in people_of(frame, 1)]
    assert [naive_sparse.first_step(n, 10) for n in readings] == [2, 2]
    cols = naive_sparse.grid_columns(frame.shape[1], 2)
    people = people_of(frame, 1, lambda place: place[0] % 2 == 0 and place[1] in cols)
    np.testing.assert_array_equal(
        count_leaves(forest, [frame], 1, threads=1)[0], naive_facings.count(forest, people, 1)
    )


def test_nothing_to_count_is_one_clear_line(monkeypatch):
    forest = naive_facings.random_forest(np.random.default_rng(0), 1, 3, PARTS, 1)
    silent = labeled_frame(1, has_joints=False)
    assert count_leaves(forest, [silent], 1)[0].any()
    with pytest.raises(DatasetError, match="none of the 1 frames shows a labeled person with joints"):
        count_leaves(forest, [silent], 2)
    nobody = LabeledFrame(silent.depth_mm, silent.camera, np.full((8, 12), 255, np.uint8), silent.people, {}, PARTS)
    for data in ([], [nobody]):
        with pytest.raises(DatasetError, match=rf"none of the {len(data)} frames shows a labeled person; there is"):
            count_leaves(forest, data, 1)
    # people without joints are left out, the others count
    np.testing.assert_array_equal(
        count_leaves(forest, [silent, labeled_frame(2)], 4)[0], count_leaves(forest, [labeled_frame(2)], 4)[0]
    )
    other = replace(forest, part_set=df.PartSet(("head", "foot_l", "foot_r")))
    with pytest.raises(DatasetError, match="the frames have other parts than the model"):
        count_leaves(other, [silent], 1)
    monkeypatch.setattr(leafcounts, "MAX_COUNT_BYTES", 4 * forest.n_leaves * 6 - 1)
    message = r"counts of shape \(\d, %d, 3\) take more than \d+ bytes; take fewer %s \(max_trees\)$"
    with pytest.raises(UsageError, match=message % (2, r"facings \(n_facings\) or trees")):
        count_leaves(forest, [silent], 2)
    monkeypatch.setattr(leafcounts, "MAX_COUNT_BYTES", 5)
    with pytest.raises(UsageError, match=message % (1, "trees")):  # there are no fewer facings
        count_leaves(forest, [silent], 1)


def test_a_person_who_falls_through_the_grid_is_nobody(monkeypatch):
    monkeypatch.setattr(leafcounts, "PERSON_PIXELS", 1)
    parts = np.full((8, 12), 255, np.uint8)
    parts[1] = 0  # the grid has no row 1
    frame = labeled_frame(1)
    thin = LabeledFrame(np.full((8, 12), 900, np.uint16), frame.camera, parts, frame.people, frame.joints, PARTS)
    forest = naive_facings.random_forest(np.random.default_rng(0), 1, 3, PARTS, 1)
    with pytest.raises(DatasetError, match="none of the 1 frames shows a labeled person"):
        count_leaves(forest, [thin], 1)


# -- pruning


def counted(seed, n_trees, depth):
    """Return a random forest and random counts, some of leaves without pixels."""
    rng = np.random.default_rng(seed)
    forest = naive.random_forest(rng, n_trees, depth, PARTS)
    counts = rng.integers(0, 30, (forest.n_leaves, 2, 3)) * (rng.random((forest.n_leaves, 1, 1)) < 0.8)
    return forest, counts.astype(np.uint32)


def same_walk(forest, link, pruned, new_link, counts, level, max_depth):
    """Walk both trees together; every new leaf holds the counts of all leaves below the old link."""
    if new_link < 0:
        below, _ = naive_facings.leaves_below(forest, link)
        np.testing.assert_array_equal(pruned.counts[~new_link], counts[below].sum(axis=0))
        return [counts[below].sum()] if link >= 0 else []
    assert link >= 0
    assert level < max_depth
    np.testing.assert_array_equal(forest.offsets[link], pruned.offsets[new_link])
    assert forest.thresholds[link] == pruned.thresholds[new_link]
    pairs = zip(forest.children[link], pruned.children[new_link], strict=True)
    return [n for a, b in pairs for n in same_walk(forest, int(a), pruned, int(b), counts, level + 1, max_depth)]


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_trees=st.integers(1, 3),
    depth=st.integers(0, 6),
    max_depth=st.sampled_from([1, 2, 4, MAX_DEPTH]),
    share=st.floats(0, 1),
)
def test_what_is_kept_is_the_old_tree_and_no_count_is_lost(seed, n_trees, depth, max_depth, share):
    forest, counts = counted(seed, n_trees, depth)
    max_leaves = n_trees + int(share * forest.n_nodes)
    pruned = prune(forest, counts, max_leaves, max_depth)
    made = df.Forest(  # checks that the links are trees
        pruned.roots, pruned.offsets, pruned.thresholds, pruned.children,
        quantize_leaves(np.ones((len(pruned.counts), 3))), PARTS,
    )  # fmt: skip
    assert made.n_leaves <= max_leaves
    assert made.depth <= max_depth
    assert pruned.counts.dtype == np.uint32
    cut = []
    for root, new_root in zip(forest.roots.tolist(), made.roots.tolist(), strict=True):
        cut += same_walk(forest, root, pruned, new_root, counts, 0, max_depth)
    if max_depth >= depth and made.n_nodes:
        # what was cut has fewer pixels than any split that stayed
        totals = counts.sum(axis=(1, 2))
        kept = [
            totals[naive_facings.leaves_below(forest, node)[0]].sum()
            for node in range(forest.n_nodes)
            if any(np.array_equal(forest.offsets[node], offsets) for offsets in pruned.offsets)
        ]
        assert max(cut, default=-1) < min(kept)


def test_a_forest_with_room_stays_as_it_is():
    forest, counts = counted(0, 3, 5)
    pruned = prune(forest, counts, MAX_NODES, MAX_DEPTH)
    for name in ("roots", "offsets", "thresholds", "children"):
        np.testing.assert_array_equal(getattr(pruned, name), getattr(forest, name))
    np.testing.assert_array_equal(pruned.counts, counts)
    assert np.array_equal(prune(forest, counts, forest.n_leaves, forest.depth).counts, counts)


def test_at_the_least_every_tree_is_one_leaf():
    forest, counts = counted(1, 3, 5)
    pruned = prune(forest, counts, 3, MAX_DEPTH)
    assert (pruned.roots < 0).all()
    assert len(pruned.offsets) == len(pruned.children) == 0
    assert pruned.counts.sum() == counts.sum()
    stumps, stump_counts = counted(2, 2, 0)  # no split to begin with
    np.testing.assert_array_equal(prune(stumps, stump_counts, 2, 1).roots, stumps.roots)


def test_branches_of_equal_size_fall_together():
    """Of two nodes with as many pixels, one too many: both go, whatever their order."""
    leaves = quantize_leaves(np.ones((4, 3)))
    forest = df.Forest(
        np.array([0], np.int32), np.zeros((3, 4), np.float32), np.array([1, 2, 3], np.int16),
        np.array([[1, 2], [~0, ~1], [~2, ~3]], np.int32), leaves, PARTS,
    )  # fmt: skip
    counts = np.full((4, 1, 3), 5, np.uint32)
    assert prune(forest, counts, 3, MAX_DEPTH).thresholds.tolist() == [1]
    counts[0] += 1
    assert prune(forest, counts, 3, MAX_DEPTH).thresholds.tolist() == [1, 2]


@pytest.mark.parametrize("n_facings", [1, 4])
def test_the_first_trees_are_a_forest_of_their_own(n_facings):
    forest = naive_facings.random_forest(np.random.default_rng(5), 3, 5, PARTS, n_facings)
    frame = labeled_frame(3)
    assert first_trees(forest, 3) == first_trees(forest, 9)
    np.testing.assert_array_equal(first_trees(forest, 3).walk(frame), forest.walk(frame))
    for n in (1, 2):
        few = first_trees(forest, n)
        assert few.n_trees == n
        assert few.n_leaves == few.n_nodes + n
    if n_facings == 1:
        # the forest's answer is the mean of its trees'
        others = forest.walk(frame) * 3 - first_trees(forest, 2).walk(frame) * 2
        np.testing.assert_allclose(others.sum(axis=1), (frame.depth_mm > 0).ravel(), atol=1e-4)
        assert others.min() > -1e-5
