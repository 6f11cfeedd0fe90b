"""Leaves fitted on frames: distributions, evidence, and a forest that knows left from right."""

import math

import numpy as np
import pytest
from support import naive_facings
from support.madeup import PARTS, labeled_frame

import depthforest as df
from depthforest.base.errors import DatasetError, UsageError
from depthforest.frames.frame import Joint, LabeledFrame
from depthforest.training.leaves import fit as leaffit
from depthforest.training.leaves.fit import fit_leaves, leaves_of_counts
from depthforest.trees.quantizing import quantize_leaves


def naive_leaves(counts):
    """Return rows and evidence of counts, one leaf, facing and part at a time."""
    n_leaves, n_facings, n_parts = counts.shape
    totals = [int(counts[:, :, p].sum()) for p in range(n_parts)]
    factor = [(max(totals) / max(t, 1)) ** leaffit.BALANCE for t in totals]
    whole = [
        t * f / sum(t * f for t, f in zip(totals, factor, strict=True)) for t, f in zip(totals, factor, strict=True)
    ]
    weighted = [
        [[int(counts[k, f, p]) * factor[p] for p in range(n_parts)] for f in range(n_facings)] for k in range(n_leaves)
    ]
    rows, units = [], []
    came = [1 + sum(sum(weighted[k][f]) for k in range(n_leaves)) for f in range(n_facings)]
    for leaf in weighted:
        own = [sum(leaf[f][p] for f in range(n_facings)) + leaffit.TREE_PIXELS * whole[p] for p in range(n_parts)]
        own = [o / sum(own) for o in own]
        for f in range(n_facings):
            shares = [leaf[f][p] + leaffit.LEAF_PIXELS * own[p] for p in range(n_parts)]
            shares = [s / sum(shares) for s in shares]
            least = min(leaffit.LEAST_SHARE, leaffit.LEAST_OF_LARGEST * max(shares))
            rows.append([s if s >= least else 0 for s in shares])
        smooth = [sum(leaf[f]) + n_facings * came[f] / sum(came) for f in range(n_facings)]
        said = [math.log(smooth[f] / sum(smooth) / (came[f] / sum(came))) for f in range(n_facings)]
        units.append(said)
    return quantize_leaves(np.array(rows)), np.array(units)


@pytest.mark.parametrize(("n_leaves", "n_facings"), [(1, 1), (7, 1), (7, 4), (40, 8)])
def test_leaves_are_those_of_the_twin(n_leaves, n_facings, monkeypatch):
    monkeypatch.setattr(leaffit, "BLOCK", 16)
    rng = np.random.default_rng(n_leaves)
    counts = (rng.integers(0, 200, (n_leaves, n_facings, 5)) * (rng.random((n_leaves, n_facings, 5)) < 0.4)).astype(
        np.uint32
    )
    counts[0] = 0 if n_leaves > 1 else 1  # no pixel of the frames came to it
    counts[:, :, 4] = 0  # nobody shows this part
    rows, evidence = leaves_of_counts(counts)
    expected, said = naive_leaves(counts)
    assert np.abs(rows.astype(int) - expected).max() <= 1  # a share between two 255ths may go either way
    np.testing.assert_allclose(evidence, said, rtol=1e-5, atol=1e-6)
    assert (rows.sum(axis=1, dtype=int) == 255).all()
    assert not rows[:, 4].any()
    if n_facings == 1:
        assert np.abs(evidence).max() < 1e-6


def test_a_leaf_of_many_near_even_parts_keeps_them_all():
    counts = np.full((1, 1, 31), 1000, np.uint32)
    counts[0, 0, 7] = 1020  # a hair more than the others, all of them under 5 %
    rows, _ = leaves_of_counts(counts)
    assert rows.max() <= 10
    assert (rows > 0).all()
    # what is small beside the largest is still dropped
    counts = np.zeros((2, 1, 31), np.uint32)
    counts[0], counts[1] = 1000, 100
    counts[1, 0, :3] = 30_000
    rows, _ = leaves_of_counts(counts)
    assert np.flatnonzero(rows[1]).tolist() == [0, 1, 2]


def facing_frame(is_front):
    """A flat person, the same from front and back but for a large nose."""
    depth_mm = np.full((12, 12), 1000, np.uint16)
    if is_front:
        depth_mm[3:9, 3:9] = 900
    side = np.arange(12) < 6
    # facing the camera, the person's left is on the right of the picture
    parts = np.where(side == is_front, 2, 1)[None].repeat(12, 0).astype(np.uint8)
    parts[:, 5:7] = 0
    x = 0.2 if is_front else -0.2
    joints = {1: {"shoulder_l": Joint((x, 0, 1)), "shoulder_r": Joint((-x, 0, 1))}}
    return LabeledFrame(
        depth_mm, df.Camera(40, 40, 5.5, 5.5, 12, 12), parts, np.ones((12, 12), np.uint8), joints, PARTS
    )


def side_forest():
    """Return a tree that tells near from far, and left from right in the picture by what is beyond the edge."""
    return df.Forest(
        np.array([0], np.int32),
        np.array([[0, 0, 10, 0], [0.15, 0, 0, 0], [-0.15, 0, 0, 0]], np.float32),
        np.array([950 - 10_000, 5000, 5000], np.int16),
        np.array([[~0, 1], [2, ~1], [~2, ~3]], np.int32),
        quantize_leaves(np.ones((4, 3))),
        PARTS,
        config={"trees": 1},
        joints={"version": 1},
        scores={"a": 1},
    )


def test_pixels_together_tell_left_from_right():
    """What no pixel knows by itself: the back of a hand looks like the other's palm, but a nose tells for all."""
    data = [facing_frame(is_front) for is_front in (True, False)]
    plain = fit_leaves(side_forest(), data, n_facings=1, smooth_m=0)
    fitted = fit_leaves(side_forest(), data, n_facings=2, smooth_m=0)
    assert (fitted.n_facings, fitted.smooth_m, fitted.mirror) == (2, 0.0, False)
    assert fitted.config == {"trees": 1, "fit_leaves": {"frames": 2, "facings": 2, "rounds": 2, "smooth_m": 0.0}}
    assert (fitted.joints, fitted.scores) == (None, {})
    right = []
    for forest in (plain, fitted):
        found = [forest.label(frame) for frame in data]
        right.append(np.mean([label.parts == frame.parts for label, frame in zip(found, data, strict=True)]))
    assert right[1] > 0.75 > right[0] + 0.2
    assert [round(label.facing) % 360 for label in found] == [0, 180]


def test_rounds_fit_leaves_together():
    """Counted by themselves, all trees say the same of a pixel; together, each says what it knows best."""
    forest = naive_facings.random_forest(np.random.default_rng(3), 3, 5, PARTS, 1)
    data, told = [labeled_frame(i) for i in range(4)], []
    fits = [fit_leaves(forest, data, n_facings=2, rounds=n, smooth_m=0, progress=told.append) for n in (0, 1, 3)]
    assert sum(told) == 4 * (1 + 2 + 4)

    def surprise(fitted):
        found = 0.0
        for frame in data:
            for person in (1, 4):
                mask = (frame.people == person) & (frame.parts != 255) & (frame.depth_mm > 0)
                shares = fitted.label(frame, frame.people == person, mirror=True).probabilities()[mask]
                found -= np.log(shares[np.arange(len(shares)), frame.parts[mask]] + 1e-3).sum()
        return found

    found = [surprise(fitted) for fitted in fits]
    assert found[0] > found[1] > found[2]


def test_it_knows_how_sure_labels_of_people_are(monkeypatch):
    forest = naive_facings.random_forest(np.random.default_rng(0), 2, 6, PARTS, 1)
    data = [labeled_frame(i) for i in range(30)]
    fitted = fit_leaves(forest, data, n_facings=2, mirror=True)
    means, seen = [], []
    for frame in data:
        for person in (1, 4):
            labeling = fitted.label(frame, frame.people == person)
            seen.append((labeling.parts != 255).mean())
            means.append(labeling.confidence[labeling.parts != 255].mean())
    assert fitted.person_confidence == round(float(np.quantile(means, 0.02)), 4) > 0
    assert sum(mean < fitted.person_confidence for mean in means) == 2  # 2 % of 60, less half a person
    monkeypatch.setattr(leaffit, "CONFIDENCE_FRAMES", 3)
    some = [m for i in (0, 14, 29) for m in means[2 * i : 2 * i + 2]]
    assert leaffit.person_confidence(fitted, data) == round(float(np.quantile(some, 0.02)), 4)
    assert leaffit.person_confidence(fitted, []) == 0
    largest = max((seen[2 * i + k], means[2 * i + k]) for i in (0, 14, 29) for k in (0, 1))
    monkeypatch.setattr(leaffit, "LEAST_SEEN", largest[0])  # who covers just so much counts
    assert leaffit.person_confidence(fitted, data) == round(float(largest[1]), 4)
    monkeypatch.setattr(leaffit, "LEAST_SEEN", 0.6)  # nobody covers so much
    assert leaffit.person_confidence(fitted, data) == 0


def test_threads_change_no_byte(tmp_path):
    forest = naive_facings.random_forest(np.random.default_rng(0), 2, 6, PARTS, 1)
    data = [labeled_frame(i) for i in range(5)]
    for threads in (1, 3):
        fit_leaves(forest, data, n_facings=4, max_leaves=20, mirror=True, threads=threads).save(tmp_path / str(threads))
    assert (tmp_path / "1").read_bytes() == (tmp_path / "3").read_bytes()
    again = df.Forest.load(tmp_path / "1")
    assert again.n_leaves <= 20 < forest.n_leaves
    assert again.mirror
    assert again.smooth_m == leaffit.SMOOTH_M
    # how it was fitted, without what changes nothing
    told = {"frames": 5, "facings": 4, "rounds": 2, "smooth_m": leaffit.SMOOTH_M, "max_leaves": 20, "mirror": True}
    assert again.config == {**forest.config, "fit_leaves": told}
    # fitted once more on the same frames, with as many leaves, it is the same
    assert fit_leaves(again, data, n_facings=4, max_leaves=20, mirror=True) == again


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_facings": 0}, "n_facings must be a whole number from 1 to 32, got 0"),
        ({"n_facings": 33}, "n_facings must be a whole number from 1 to 32, got 33"),
        ({"n_facings": True}, "n_facings must be .* got True"),
        ({"max_leaves": 1}, "max_leaves must be a whole number from 2 to 16777216, got 1"),
        ({"rounds": -1}, "rounds must be a whole number from 0 to 100, got -1"),
        ({"rounds": True}, "rounds must be .* got True"),
        ({"max_depth": 0}, "max_depth must be a whole number from 1 to 64, got 0"),
        ({"max_depth": 2.0}, "max_depth must be .* got 2.0"),
        ({"smooth_m": 0.3}, "smoothing must be a radius from 0 to 0.25 meters, got 0.3"),
        ({"mirror": 1}, "mirror must be true or false, got 1"),
    ],
)
def test_bad_options_are_one_clear_line(options, message):
    forest = naive_facings.random_forest(np.random.default_rng(0), 2, 3, PARTS, 1)
    with pytest.raises(UsageError, match=message):
        fit_leaves(forest, [], **options)


def test_bad_data_is_one_clear_line():
    forest = naive_facings.random_forest(np.random.default_rng(0), 2, 3, PARTS, 1)
    with pytest.raises(
        DatasetError, match=r"shows a labeled person with joints \(shoulders or hips\); there is nothing"
    ):
        fit_leaves(forest, [labeled_frame(0, has_joints=False)])
    assert fit_leaves(forest, [labeled_frame(0, has_joints=False)], n_facings=1).n_facings == 1


def test_what_no_model_file_holds_is_said_before_counting(monkeypatch):
    forest = naive_facings.random_forest(np.random.default_rng(0), 2, 3, PARTS, 1)
    least = forest.n_trees * 4 * 3  # bytes of one leaf a tree, of 4 facings and 3 parts
    monkeypatch.setattr(leaffit, "MAX_FILE_BYTES", least)
    message = rf"^{forest.n_leaves} leaves of 4 facings and 3 parts are more than the {least} bytes of a model; keep at"
    with pytest.raises(UsageError, match=message + r" most 2 leaves \(max_leaves\)$"):
        fit_leaves(forest, [], n_facings=4)
    assert fit_leaves(forest, [labeled_frame(0)], n_facings=4, max_leaves=2).n_leaves == 2
    # so many levels cannot have more leaves
    monkeypatch.setattr(leaffit, "MAX_FILE_BYTES", 2 * least)
    assert fit_leaves(forest, [labeled_frame(0)], n_facings=4, max_depth=1).n_leaves <= 4
    monkeypatch.setattr(leaffit, "MAX_FACING_TREES", 1)
    with pytest.raises(UsageError, match=r"with facings has at most 1 trees, got 2; keep fewer \(max_trees\)"):
        fit_leaves(forest, [], n_facings=2)
