import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier
from support import naive_training as naive

from depthforest.base import criteria, splitting
from depthforest.base.errors import UsageError
from depthforest.base.splitting import best_split, count_bins, gain, impurity, information_table
from depthforest.training.sweeping import LANES, NETWORK_PIXELS, _sort, networks, score_pixels


def histograms_of(bins, labels, n_classes, n_bins):
    out = np.zeros((bins.shape[1], n_classes, n_bins), dtype=np.int64)
    for p, label in enumerate(labels):
        for c in range(bins.shape[1]):
            out[c, label, bins[p, c]] += 1
    return out


def naive_best(bins, labels, n_classes, n_bins, weights, criterion):
    best, found = -math.inf, None
    for c in range(bins.shape[1]):
        for t in range(n_bins - 1):
            sides = [[0] * n_classes, [0] * n_classes]
            for b, label in zip(bins[:, c], labels, strict=True):
                sides[int(b > t)][label] += int(weights[label])
            if sum(sides[0]) and sum(sides[1]) and naive.score(*sides, criterion) > best:
                best, found = naive.score(*sides, criterion), (c, t)
    return best, found


def scored_by_pixels(bins, labels, starts, weights, n_bins, criterion):
    n = len(starts) - 1
    scores, splits = np.full(n, -np.inf), np.full((n, 2), -1, dtype=np.int32)
    is_gini = criteria.is_gini(criterion)
    score_pixels(information_table(), is_gini, *networks(), bins, labels, starts, weights, n_bins, 0, scores, splits)
    return scores, splits


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_every_way_to_the_best_split_equals_the_naive_one(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    n = data.draw(st.sampled_from([2, 3, 7, 30, 150, 300]))
    n_classes, n_bins = data.draw(st.integers(2, 5)), data.draw(st.sampled_from([2, 3, 9, 51, 255]))
    criterion = data.draw(st.sampled_from(["entropy", "gini"]))
    weights = rng.integers(1, 20, n_classes) if data.draw(st.booleans()) else np.ones(n_classes, dtype=np.int64)
    n_candidates = data.draw(st.sampled_from([1, 5, 33]))
    bins = rng.integers(0, n_bins, (n, n_candidates)).astype(np.uint8)
    labels = rng.integers(0, n_classes, n).astype(np.uint8)
    labels[: n // 2] = labels[0]
    score, found = naive_best(bins, labels, n_classes, n_bins, weights, criterion)
    scores, splits = scored_by_pixels(bins, labels, np.array([0, n]), weights, n_bins, criterion)
    assert (scores[0], tuple(splits[0])) == (score, found if found else (-1, -1))
    dense = best_split(histograms_of(bins, labels, n_classes, n_bins), criterion, weights)
    weighted = (np.bincount(labels, minlength=n_classes) * weights).tolist()
    won = naive.gain(weighted, score, criterion) if found else 0.0
    assert dense == ((*found, won) if won > 0 else None)


def test_nodes_of_both_sizes_are_scored_alike():
    """A node on either side of where the sweep gives way to the table, and several nodes in one call."""
    rng = np.random.default_rng(1)
    sizes = [NETWORK_PIXELS, NETWORK_PIXELS + 1, 2, 200]
    starts = np.concatenate(([0], np.cumsum(sizes)))
    bins = rng.integers(0, 12, (starts[-1], LANES + 1)).astype(np.uint8)
    labels = np.concatenate([np.arange(n) % 3 for n in sizes]).astype(np.uint8)
    weights = np.array([1, 2, 3])
    scores, splits = scored_by_pixels(bins, labels, starts, weights, 12, "entropy")
    for i in range(len(sizes)):
        mine = slice(starts[i], starts[i + 1])
        assert (scores[i], tuple(splits[i])) == naive_best(bins[mine], labels[mine], 3, 12, weights, "entropy")


def test_networks_sort():
    """Every 0-1 sequence that a network sorts wrongly would break it for some keys: here random keys of every size."""
    pairs, starts = networks()
    rng = np.random.default_rng(0)
    assert len(starts) == NETWORK_PIXELS + 2
    for n in range(NETWORK_PIXELS + 1):
        keys = rng.integers(0, 40, (n, LANES)).astype(np.uint16)
        flat = keys.ravel().copy()
        _sort(pairs, starts[n], starts[n + 1], flat)
        np.testing.assert_array_equal(flat.reshape(n, LANES), np.sort(keys, axis=0))


def test_ties_go_to_the_lowest_candidate_then_threshold():
    bins = np.array([[5, 1, 1], [5, 1, 1], [5, 4, 4], [5, 4, 4]], dtype=np.uint8)
    labels = np.array([0, 0, 1, 1], dtype=np.uint8)
    assert best_split(histograms_of(bins, labels, 2, 7)) == (1, 1, 1.0)
    _, splits = scored_by_pixels(bins, labels, np.array([0, 4]), np.ones(2, dtype=np.int64), 7, "entropy")
    assert splits.tolist() == [[1, 1]]


def test_nothing_to_gain_is_no_split():
    same = np.full((1, 2, 3), 3)
    assert best_split(same) is None
    assert best_split(same, "gini") is None
    assert best_split(np.array([[[4, 0, 0], [2, 0, 0]]])) is None
    # counts in proportion: what the fixed point rounds is not a gain
    assert best_split(np.array([[[3, 9], [5, 15], [7, 21]]])) is None


def test_histograms_are_counted():
    rng = np.random.default_rng(0)
    sizes = [0, 1, 300, 40]
    starts = np.concatenate(([0], np.cumsum(sizes)))
    labels = np.concatenate([np.sort(rng.integers(0, 4, n)) for n in sizes]).astype(np.uint8)
    bins = rng.integers(0, 9, (starts[-1], 130)).astype(np.uint8)
    out = np.zeros((4, 130, 4, 9), dtype=np.int32)
    count_bins(bins, labels, starts, np.arange(4), out)
    for i in range(4):
        mine = slice(starts[i], starts[i + 1])
        np.testing.assert_array_equal(out[i], histograms_of(bins[mine], labels[mine], 4, 9))


def test_impurity_and_gain_are_those_of_the_books():
    assert impurity([2, 2]) == 1
    assert impurity([[8, 0], [1, 1]], "gini").tolist() == [0.0, 0.5]
    assert impurity([0, 0]) == 0
    assert impurity([1, 1, 1, 1]) == 2
    assert gain([2, 2], [2, 0]) == 1
    assert gain([2, 2], [1, 1], "gini") == 0
    with pytest.raises(UsageError, match="criterion must be one of entropy, gini; got 'twoing'"):
        impurity([1], "twoing")


@settings(deadline=None)
@given(st.lists(st.integers(0, 10**6), min_size=2, max_size=31), st.sampled_from(["entropy", "gini"]))
def test_the_gain_of_a_score_is_the_gain(counts, criterion):
    whole = np.array(counts)
    left = whole // 3
    histogram = np.stack((left, whole - left), axis=1)[None]
    found = best_split(histogram, criterion)
    won = float(gain(whole, left, criterion)) if 0 < left.sum() < whole.sum() else 0.0
    assert (found[2] if found else 0.0) == pytest.approx(won, abs=1e-5)


def test_large_counts_are_computed_beyond_the_table():
    big = 10 * splitting.TABLE_SIZE
    found = best_split(np.array([[[big, 0], [0, big]]], dtype=np.int64))
    assert found == (0, 0, pytest.approx(1.0))


@pytest.mark.parametrize("criterion", ["entropy", "gini"])
def test_scikit_learn_finds_the_same_split(criterion):
    rng = np.random.default_rng(3)
    bins = rng.integers(0, 30, (400, 12)).astype(np.uint8)
    labels = (bins[:, 7] > 11).astype(np.uint8) + (rng.random(400) < 0.2)
    tree = DecisionTreeClassifier(criterion=criterion, max_depth=1, random_state=0).fit(bins, labels).tree_
    candidate, threshold, won = best_split(histograms_of(bins, labels, 3, 30), criterion)
    assert (candidate, threshold) == (tree.feature[0], math.floor(tree.threshold[0]))
    n = tree.weighted_n_node_samples
    assert won == pytest.approx(tree.impurity[0] - (n[1] * tree.impurity[1] + n[2] * tree.impurity[2]) / n[0], abs=1e-5)


def test_bad_histograms_are_one_clear_line():
    for array, options, message in (
        (np.zeros((2, 3)), {}, "of shape"),
        (np.zeros((1, 2, 2)), {}, "got float64"),
        (np.full((1, 2, 2), -1), {}, "0 or more"),
        (np.array([[[1, 0]], [[1, 1]]]), {}, "class totals differ"),
        (np.ones((1, 2, 2), dtype=int), {"weights": [1, 0]}, "weights must be 2 whole numbers"),
        (np.full((1, 2, 2), 2**30), {}, "may weigh up to"),
    ):
        with pytest.raises(UsageError, match=message):
            best_split(array, **options)
