import hashlib
import re
import subprocess
import sys
import tracemalloc
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from support import naive_training as naive
from support.bounded import run_threads
from support.naive_forest import random_forest

from depthforest.base.errors import DatasetError, PartSetError, UsageError
from depthforest.evaluation.judging import evaluate
from depthforest.forest.forest import Forest
from depthforest.frames.camera import Camera
from depthforest.frames.frame import LabeledFrame
from depthforest.frames.parts import BODY31, PartSet
from depthforest.io.datasets import open_dataset, write_dataset
from depthforest.training.candidates import child_keys, draw, root_key
from depthforest.training.config import TrainConfig
from depthforest.training.growing import class_weights
from depthforest.training.leaves.fit import fit_leaves
from depthforest.training.run import leaf_distributions, train
from depthforest.training.sampling import draw_pixels, frames_of_tree
from depthforest.trees.features import masked_depth, responses
from depthforest.trees.quantizing import quantize_leaves
from synth.config import Config
from synth.generator import Generator
from synth.production import produce

COLUMNS = ("roots", "offsets", "thresholds", "children", "leaves")
SMALL = TrainConfig(trees=2, depth=7, candidates=30, thresholds=12, pixels_per_frame=60, seed=3)


def digest(forest):
    return hashlib.sha256(b"".join(getattr(forest, name).tobytes() for name in COLUMNS)).hexdigest()


@pytest.fixture(scope="module")
def people():
    """Frames with one to three people, small."""
    generator = Generator(Config(n_bodies=4, n_poses=64, camera="kinect_v1@80x60"), seed=1, n=24)
    return list(generator)


def blob_frame(rng, labels=(0, 1, 2), shape=(24, 32)):
    """One lumpy person on a camera of a tiny picture."""
    rows, cols = np.indices(shape)
    depth = 1500 + 40 * rng.integers(-6, 7, shape) + 6 * rows
    inside = ((rows - shape[0] / 2) / 9) ** 2 + ((cols - shape[1] / 2) / 12) ** 2 < 1
    parts = np.where(inside, rng.choice(labels, shape), 255).astype(np.uint8)
    people = inside.astype(np.uint8)
    people[:, shape[1] // 2 :] *= 2
    depth_mm = np.where(inside | (rng.random(shape) < 0.5), depth, 0).astype(np.uint16)
    depth_mm[rng.random(shape) < 0.05] = 0
    camera = Camera(30.0, 33.0, 16.0, 12.0, shape[1], shape[0])
    return LabeledFrame(depth_mm, camera, parts, people, {}, PartSet(("a", "b", "c")))


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"criterion": "gini"},
        {"class_weights": 0.7, "probe_shape": "square", "zero_share": 1.0},
        {"criterion": "gini", "class_weights": 1.0, "probe_shape": "disc", "thresholds": 1, "threshold_scales": 1},
        {"min_gain": 0.015, "min_pixels": 12, "leaf_smoothing": 0.0},
    ],
)
def test_the_naive_twin_grows_the_same_tree(changes):
    rng = np.random.default_rng(5)
    frames = [blob_frame(rng, (0, 0, 0, 1, 1, 2)) for _ in range(5)]
    settings = {
        "trees": 2,
        "depth": 4,
        "candidates": 8,
        "thresholds": 7,
        "pixels_per_frame": 40,
        "seed": 11,
        "frames_per_tree": 0.8,
    }
    config = TrainConfig(**settings | changes)
    forest = train(frames, config)
    n_nodes = n_leaves = 0
    for tree in range(2):
        chosen, _ = frames_of_tree(5, tree, config)
        pixels = []
        for f in chosen.tolist():
            where = draw_pixels(frames[f], f, tree, config)
            quota = np.bincount(frames[f].parts.ravel()[where], minlength=3)
            drawn = naive.draw_pixels(frames[f], f, tree, config, quota)
            assert [divmod(p, 32) for p in where.tolist()] == drawn
            pixels += [(f, row, col, int(frames[f].parts[row, col])) for row, col in drawn]
        weights = class_weights(np.array(naive.counted(pixels, 3)), config.class_weights).tolist()
        offsets, thresholds, children, leaves = naive.grow(frames, pixels, tree, 3, weights, config)
        assert len(offsets) >= 2
        nodes = slice(n_nodes, n_nodes + len(offsets))
        np.testing.assert_array_equal(forest.offsets[nodes], np.array(offsets, dtype=np.float32))
        np.testing.assert_array_equal(forest.thresholds[nodes], thresholds)
        shifted = np.where(np.array(children) >= 0, np.array(children) + n_nodes, np.array(children) - n_leaves)
        np.testing.assert_array_equal(forest.children[nodes], shifted)
        expected = quantize_leaves(leaf_distributions(np.array(leaves), config.leaf_smoothing))
        np.testing.assert_array_equal(forest.leaves[n_leaves : n_leaves + len(leaves)], expected)
        n_nodes += len(offsets)
        n_leaves += len(leaves)
    assert (forest.n_nodes, forest.n_leaves) == (n_nodes, n_leaves)


def test_threads_shards_and_memory_do_not_change_a_byte(people):
    expected = digest(train(people, SMALL, threads=1, shards=1))
    for options in (
        {"threads": 2},
        {"threads": 2, "shards": 7},
        {"threads": 1, "shards": 2, "memory_mb": 0.1},
        {"threads": 3, "shards": 100, "memory_mb": 0.5},
        {"memory_mb": 4},
    ):
        assert digest(train(people, SMALL, **options)) == expected, options
    assert digest(train(people, replace(SMALL, seed=4))) != expected


class Counting(Sequence):
    """A data set that counts how often its frames are read."""

    def __init__(self, frames):
        self.frames, self.n_read = frames, 0

    def __len__(self):
        return len(self.frames)

    def __getitem__(self, index):
        self.n_read += 1
        return self.frames[index]


def test_frames_that_do_not_fit_are_read_again_from_the_store(people, tmp_path):
    generator = Generator(Config(n_bodies=4, n_poses=64, camera="kinect_v1@80x60"), seed=1, n=24)
    data = produce(generator, tmp_path / "data", 24, kind="zarr")
    plenty, tight = Counting(data), Counting(open_dataset(tmp_path / "data"))
    expected = digest(train(plenty, SMALL))
    assert digest(train(tight, SMALL, memory_mb=0.05, shards=3)) == expected
    assert plenty.n_read < 6 * 24
    assert tight.n_read > 20 * 24
    assert digest(train(people, SMALL)) == expected


def test_the_walk_of_the_forest_puts_pixels_where_training_had_them(people):
    """Leaves counted again by the plain walk are those that training counted."""
    config = replace(SMALL, trees=1, frames_per_tree=1.0, leaf_smoothing=0.0)
    forest = train(people, config)
    counts = np.zeros((forest.n_leaves, len(forest.part_set)), dtype=np.int64)
    # every leaf holds a distribution that names the leaf, so that the walk tells where a pixel ends
    n_parts = len(forest.part_set)
    assert forest.n_leaves < 255 * n_parts
    tagged = np.zeros((forest.n_leaves, n_parts), dtype=np.uint8)
    for leaf in range(forest.n_leaves):
        first = leaf % n_parts
        tagged[leaf, first] = 255 - leaf // n_parts
        tagged[leaf, (first + 1) % n_parts] += leaf // n_parts
    keys = {row.tobytes(): leaf for leaf, row in enumerate(tagged)}
    tagging = Forest(forest.roots, forest.offsets, forest.thresholds, forest.children, tagged, forest.part_set)
    for index, frame in enumerate(people):
        where = draw_pixels(frame, index, 0, config)
        for person in np.unique(frame.people.ravel()[where]):
            mask = frame.people == person
            rows = np.rint(tagging.walk(frame, mask) * 255).astype(np.uint8)
            readings = np.flatnonzero(mask & (frame.depth_mm > 0))
            if len(rows) == mask.sum():
                readings = np.flatnonzero(mask)
            ends = dict(zip(readings.tolist(), rows, strict=True))
            for pixel in where[frame.people.ravel()[where] == person].tolist():
                counts[keys[ends[pixel].tobytes()], frame.parts.ravel()[pixel]] += 1
    np.testing.assert_array_equal(quantize_leaves(counts), forest.leaves)


def planted_split(views, chosen, key, config):
    """Return the candidate of a node that divides its pixels most evenly: (probes, threshold, goes right by view)."""
    drawn = draw(key, 0, config.candidates, config)
    n = sum(int(mine.sum()) for mine in chosen)
    best = None
    for candidate in range(config.candidates):
        probes = drawn.meters[:, :, candidate]
        answers = [responses(image, pixels, probes, camera)[:, 0] for image, pixels, camera in views]
        step = int(drawn.steps[candidate])
        for threshold in int(drawn.lows[0, candidate]) + step - 1 + step * np.arange(config.thresholds):
            n_right = sum(int((mine & (a > threshold)).sum()) for mine, a in zip(chosen, answers, strict=True))
            if best is None or abs(2 * n_right - n) < best[0]:
                best = abs(2 * n_right - n), probes[0], threshold, [a > threshold for a in answers]
    return best[1:]


def test_a_planted_tree_is_recovered():
    """Labels made by a tree of candidates that the trainer will meet give that tree again, and no other."""
    generator = Generator(Config(n_bodies=4, n_poses=64, camera="kinect_v1@80x60", people_shares=(1.0,)), seed=2, n=40)
    config = TrainConfig(
        trees=1, depth=2, candidates=20, thresholds=10, pixels_per_frame=400, frames_per_tree=1.0, class_balance=0
    )
    views = []
    for frame in generator:
        image = masked_depth(frame, person=1)
        views.append((image, np.argwhere(image > 0), frame.camera))
    root = root_key(config.seed, 0)
    everything = [np.ones(len(pixels), dtype=bool) for _, pixels, _ in views]
    first, _, is_right = planted_split(views, everything, root, config)
    left_key, right_key = (key[None] for key in child_keys(root))
    left, _, left_answers = planted_split(views, [~r for r in is_right], left_key, config)
    right, _, right_answers = planted_split(views, is_right, right_key, config)
    frames = []
    for i, (image, pixels, camera) in enumerate(views):
        parts = np.full(image.shape, 255, dtype=np.uint8)
        parts[tuple(pixels.T)] = np.where(is_right[i], 2 + right_answers[i], 0 + left_answers[i])
        people = (parts != 255).astype(np.uint8)
        frames.append(LabeledFrame(image, camera, parts, people, {}, PartSet(tuple("abcd"))))
    forest = train(frames[:30], config)
    np.testing.assert_array_equal(forest.offsets, [first, left, right])
    assert evaluate(forest, frames[30:]).mean_class_accuracy > 0.99


def test_the_order_of_frames_only_changes_what_is_drawn(people):
    """With all pixels and all frames taken, the order of frames is irrelevant."""
    config = replace(SMALL, frames_per_tree=1.0, pixels_per_frame=100_000, trees=1, depth=5)
    assert digest(train(people[:6], config)) == digest(train(people[:6][::-1], config))


def test_frames_are_read_once_a_tree(people):
    """Those that judge a tree as it grows judge it again when it is finished."""
    source = Counting(people)
    train(source, SMALL)
    assert source.n_read == SMALL.trees * len(people) + 2  # the first is looked at before anything is trained


def test_smoothing_gives_every_part_a_chance():
    counts = np.array([[8, 0, 0], [0, 1, 1]])
    np.testing.assert_allclose(leaf_distributions(counts, 0.0), counts)
    smoothed = leaf_distributions(counts, 2.0)
    np.testing.assert_allclose(smoothed, counts + 2 * np.array([0.8, 0.1, 0.1]))


def test_out_of_bag_accuracy_is_told_and_honest(people):
    news = []
    forest = train(people, replace(SMALL, frames_per_tree=0.7, depth=9), progress=news.append)
    levels = [n for n in news if n.event == "level"]
    trees = [n for n in news if n.event == "tree"]
    assert [n.tree for n in trees] == [0, 1]
    assert levels[0].n_evaluations == levels[0].n_pixels * SMALL.candidates
    assert levels[0].n_pixels == round(0.7 * 24) * 60
    assert all(0 < n.gain < 5 for n in levels)
    assert levels[0].out_of_bag < trees[0].out_of_bag < 0.6
    assert trees[1].forest_out_of_bag == pytest.approx(forest.scores["out_of_bag"]["mean_class_accuracy"], abs=1e-6)
    everything = train(people, replace(SMALL, frames_per_tree=1.0))
    assert everything.scores == {}


def without_people(frame):
    parts, nobody = np.full_like(frame.parts, 255), np.zeros_like(frame.people)
    return LabeledFrame(frame.depth_mm, frame.camera, parts, nobody, {}, frame.part_set)


def test_bad_data_is_one_clear_line(people):
    one_part = LabeledFrame(
        people[0].depth_mm, people[0].camera, np.where(people[0].parts < 255, 0, 255).astype(np.uint8),
        people[0].people, {}, PartSet(("all",)),
    )  # fmt: skip
    same_label = LabeledFrame(
        one_part.depth_mm, one_part.camera, one_part.parts, one_part.people, {}, PartSet(("x", "y"))
    )
    for source, message in (
        ([], "at least one frame, got an empty one"),
        (iter(people), "at least one frame, got a list_iterator"),
        ([1, 2], "frame 0 is a int"),
        ([people[0], 2], "frame 1 is a int"),
        ([one_part], r"the part set has one part \(all\)"),
        ([same_label], "all training pixels are x"),
        ([people[0], same_label], "frame 1 has another part set"),
        ([without_people(people[0])] * 3, "none of the 3 frames of tree 1 shows a labeled person"),
    ):
        with pytest.raises(DatasetError, match=message) as caught:
            train(source, replace(SMALL, frames_per_tree=1.0))
        assert "\n" not in str(caught.value)
    with pytest.raises(DatasetError, match=r"a tree has \d+ training pixels, fewer than min_pixels \(100000\)"):
        train(people, replace(SMALL, min_pixels=100_000))
    # one frame without people among others is no harm
    train([without_people(people[0]), *people[1:]], SMALL)


def test_labels_outside_the_part_set_are_one_clear_line(people, tmp_path):
    """A frame cannot be made with them, and a folder that holds one names it."""
    parts = people[1].parts.copy()
    parts[people[1].people > 0] = 31
    with pytest.raises(PartSetError, match="31"):
        LabeledFrame(people[1].depth_mm, people[1].camera, parts, people[1].people)
    write_dataset(tmp_path / "data", people[:3])
    Image.fromarray(parts).save(tmp_path / "data" / "parts" / "000001.png")
    with pytest.raises(DatasetError, match=r"data, frame 000001: .*31") as caught:
        train(open_dataset(tmp_path / "data"), replace(SMALL, frames_per_tree=1.0))
    assert "\n" not in str(caught.value)


def test_fewer_pixels_than_leaves_is_said_once_and_works(people):
    news = []
    forest = train(people, replace(SMALL, depth=20, min_pixels=2), progress=news.append)
    notes = [str(n) for n in news if n.event == "note"]
    expected = (
        "a tree has 1,140 training pixels, fewer than the 1,048,576 leaves of depth 20: branches will end earlier"
    )
    assert notes == [expected]
    assert 30 < forest.n_leaves < 2 * 1140


def test_it_says_how_much_memory_keeps_the_people(people):
    told = []
    train(people, SMALL, memory_mb=0.1, shards=3, progress=told.append)
    assert str(told[0]) == f"tree 1 of {SMALL.trees}: reading {SMALL.frames_of(len(people))} frames ..."
    (note,) = (news.text for news in told if news.event == "note" and "memory" in news.text)
    enough = int(re.search(r"memory_mb \(--memory\) (\d+) keeps them", note)[1])
    train(people, SMALL, memory_mb=enough, shards=3, progress=told.append)
    assert sum("keeps them" in news.text for news in told) == 1


def test_more_candidates_than_memory_go_in_batches_or_are_one_clear_line(people):
    config = replace(SMALL, candidates=3000, depth=3, trees=1)
    assert digest(train(people, config, memory_mb=0.2)) == digest(train(people, config))
    with pytest.raises(UsageError, match=r"one candidate of a node of \d+ pixels needs .* MB, .* raise memory_mb"):
        train(people, config, memory_mb=0.002)


def test_time_left_is_told_and_ends_at_zero(people):
    news = []
    train(people, SMALL, progress=news.append)
    levels = [n for n in news if n.event == "level"]
    assert all(n.seconds_left is not None and n.seconds_left > 0 for n in levels if n.tree == 0)
    assert [n.seconds_left for n in news if n.event == "tree"][-1] == 0
    assert re.search(r", out-of-bag accuracy \d+\.\d%, \d+ s left$", str(levels[0]))


def test_bad_options_are_one_clear_line(people):
    for options, message in (
        ({"shards": 0}, "shards must be a whole number"),
        ({"threads": 0}, "threads must be a whole number"),
        ({"memory_mb": 0}, "memory_mb must be a number"),
        ({"memory_mb": float("nan")}, "memory_mb must be a number"),
        ({"memory_mb": 0.001}, "one candidate of a node of .* raise memory_mb"),
        ({"progress": 3}, "progress must be a callable"),
        ({"resume": True}, "resume needs the folder"),
    ):
        with pytest.raises(UsageError, match=message):
            train(people, SMALL, **options)
    with pytest.raises(UsageError, match="config must be a TrainConfig, got dict"):
        train(people, {"trees": 3})


def test_crops_pixels_and_counting_stay_within_the_budget(people):
    """Allocations of Python and numpy, with frames that are in memory anyway; the slow test has the whole process."""
    source = people * 8
    config = TrainConfig(trees=1, depth=2, candidates=20, pixels_per_frame=100, frames_per_tree=0.9)

    def peak_mb(memory_mb):
        tracemalloc.start()
        try:
            train(source, config, memory_mb=memory_mb, threads=2, shards=4)
            return tracemalloc.get_traced_memory()[1] / 2**20
        finally:
            tracemalloc.stop()

    train(people, config)  # compiled, and tables made
    assert peak_mb(500) > 3
    # and what is being read, blocks of 32 crops by two threads, and votes: 19 frames x 100 pixels x 31 parts x 2 bytes
    assert peak_mb(1) < 1 + 1


PEAK = """
import sys
from depthforest.io.datasets import open_dataset
from depthforest.frames.frame import FrameSource
from depthforest.training.config import TrainConfig
from depthforest.training.leaves.fit import fit_leaves
from depthforest.training.run import train

class First(FrameSource):
    def __init__(self, n):
        self.n = n
    def __len__(self):
        return self.n
    def _frame(self, number):
        return data[number]

def peak():
    return int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1])

data = open_dataset(sys.argv[1])
config = TrainConfig(trees=1, depth=2, candidates=20, pixels_per_frame=200)
for n in (16, len(data)):
    train(First(n), config, memory_mb=float(sys.argv[2]), threads=2, shards=4)
    print(peak())
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the peak from /proc")
def test_the_peak_stays_under_the_budget_plus_the_frames_being_read(tmp_path):
    """A store of 70 MB and a budget of 8: what a process takes more for it than for 16 frames of it."""
    generator = Generator(Config(n_bodies=4, n_poses=64, camera="kinect_v1@320x240"), seed=1, n=240)
    produce(generator, tmp_path / "data", 240, kind="zarr")
    budget_mb, frame_mb = 8, 240 * 320 * 4 / 2**20
    # VmHWM, because ru_maxrss of a child begins with its parent's
    command = [sys.executable, "-c", PEAK, str(tmp_path / "data"), str(budget_mb)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600)
    few, all_ = (int(line) / 1024 for line in done.stdout.split())
    # two threads read, each a chunk of 16 frames and the crops of 32; the allocator keeps some of what was freed
    reading_mb, margin_mb = 2 * (16 + 32 / 2) * frame_mb, 12
    assert budget_mb + reading_mb + margin_mb < 240 * frame_mb * 0.6
    assert all_ - few < budget_mb + reading_mb + margin_mb


class OwnLabels(Sequence):
    """Frames with the labels of a forest, given when a frame is asked for."""

    def __init__(self, frames, forest):
        self._frames, self._forest = frames, forest

    def __len__(self):
        return len(self._frames)

    def __getitem__(self, index):
        frame = self._frames[index]
        return replace(frame, parts=self._forest.label(frame, frame.people > 0).parts)


@pytest.mark.parametrize(
    "work",
    [
        lambda _, data: train(data, SMALL, threads=2),
        lambda forest, data: fit_leaves(forest, data, n_facings=1, threads=2),
        lambda forest, data: evaluate(forest, data, joints=False, threads=2),
    ],
    ids=["train", "fit_leaves", "evaluate"],
)
def test_frames_that_label_themselves_do_not_wait_for_ever(work):
    """Frames are asked for by workers, and a label of a large person waited for workers of the same pool."""
    frames = list(Generator(Config(n_bodies=2, n_poses=64, camera="kinect_v1@320x240"), seed=2, n=6))
    forest, done = random_forest(np.random.default_rng(0), 2, 5, BODY31), []
    run_threads(lambda: done.append(work(forest, OwnLabels(frames, forest))), seconds=60)
    assert done
