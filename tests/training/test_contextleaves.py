"""Refitting the leaves of a context stage: as its plain twin, right together with the first stage, any threads."""

from dataclasses import replace

import numpy as np
import pytest

from depthforest.base.errors import DatasetError, UsageError
from depthforest.frames import NO_PART
from depthforest.training import contextleaves
from depthforest.training.config import ContextConfig, TrainConfig
from depthforest.training.contextleaves import Looks, fit_context, fitted
from depthforest.training.contextstage import train_context
from depthforest.training.run import train
from depthforest.trees.contexttrees import DOUBT, SHARE_WHOLE
from depthforest.trees.thumbnails import COARSE_PIXELS
from synth.config import Config
from synth.generator import Generator

FIRST = TrainConfig(trees=1, depth=6, candidates=30, thresholds=12, pixels_per_frame=60, seed=3)
SMALL = ContextConfig(trees=2, depth=5, candidates=60, thresholds=12, pixels_per_frame=60, min_pixels=10, seed=4)


@pytest.fixture(scope="module")
def people():
    """Frames with one to three people, small: 16 that the first stage learns from, 16 for the context, 16 others."""
    frames = list(Generator(Config(n_bodies=4, n_poses=64, camera="kinect_v1@80x60"), seed=1, n=48))
    return frames[:16], frames[16:32], frames[32:]


@pytest.fixture(scope="module")
def first(people):
    return replace(train(people[0], FIRST), mirror=True, smooth_m=0.03)


@pytest.fixture(scope="module")
def trained(first, people):
    return train_context(first, people[1], SMALL)


def looks_of(forest, frames):
    return Looks.joined(looks for frame in frames for looks in contextleaves._looks(forest, forest.context, frame))


def shares_of(context, looks, rows):
    """The probabilities (n, n_parts) that both stages together give the parts, in plain numpy."""
    n_parts = rows.shape[1]
    mirror = context.part_set.mirror_table[:n_parts]
    straight, mirrored = rows[looks.leaves[:, 0]].mean(axis=1), rows[looks.leaves[:, 1]].mean(axis=1)
    second = (straight + mirrored[:, np.argsort(mirror)]) / 2 + DOUBT / SHARE_WHOLE
    both = looks.shares * second
    return both / both.sum(axis=1, keepdims=True)


def test_the_pixels_are_those_that_the_stage_looks_at(trained, people):
    """What both stages say of them is what unsmoothed labels are made of."""
    forest = replace(trained, smooth_m=0.0)
    for frame in people[2][:6]:
        found = contextleaves._looks(forest, forest.context, frame)
        for person, looks in zip(np.unique(frame.people[frame.parts != NO_PART]).tolist(), found, strict=True):
            shares = shares_of(forest.context, looks, forest.context.leaves / 255)
            sample = forest.label(frame, frame.people == person).sample(COARSE_PIXELS)
            labels = frame.parts[sample.rows, sample.cols]
            chosen = np.flatnonzero(labels != NO_PART)
            chosen = chosen[:: max(1, len(chosen) // contextleaves.PERSON_PIXELS)]
            np.testing.assert_array_equal(labels[chosen], looks.labels)
            np.testing.assert_allclose(sample.shares[chosen], shares, atol=2e-3)


def test_a_round_is_that_of_the_twin():
    rng = np.random.default_rng(0)
    n, n_leaves, n_parts = 60, 5, 4
    mirror = np.arange(256, dtype=np.uint8)
    mirror[[1, 2]] = 2, 1
    leaves = rng.integers(0, n_leaves, (n, 2, 2)).astype(np.int32)
    shares = rng.integers(DOUBT, 9000, (n, n_parts)).astype(np.uint16)
    labels = rng.integers(0, n_parts, n).astype(np.uint8)
    weights = rng.random(n_parts) + 0.5
    rows = rng.dirichlet(np.ones(n_parts), n_leaves)
    true, said = np.zeros((2, n_leaves, n_parts))
    contextleaves._add_pixels(leaves, shares, labels, weights, mirror, rows, true, said)

    expected_true, expected_said = np.zeros((2, n_leaves, n_parts))
    doubt = DOUBT / SHARE_WHOLE
    for i in range(n):
        both = np.zeros(n_parts)
        whole = np.zeros(n_parts)
        for part in range(n_parts):
            own = [rows[leaf, mirror[part] if walk else part] for walk in range(2) for leaf in leaves[i, walk]]
            whole[part] = sum(own) + 4 * doubt
            both[part] = shares[i, part] * whole[part]
        both /= both.sum()
        for walk in range(2):
            for leaf in leaves[i, walk]:
                for part in range(n_parts):
                    at = leaf, mirror[part] if walk else part
                    amount = weights[labels[i]] * 4 * rows[at] / whole[part]
                    expected_said[at] += amount * both[part]
                    expected_true[at] += amount * (part == labels[i])
    np.testing.assert_allclose(said, expected_said, rtol=1e-9)
    np.testing.assert_allclose(true, expected_true, rtol=1e-9)


def test_each_round_makes_the_true_parts_likelier(trained, people):
    context, looks = trained.context, looks_of(trained, people[1])
    likelihoods = []
    for rounds in (0, 1, 3, 10):
        rows = fitted(context, looks, rounds, 0.0) / 255 if rounds else context.leaves / 255
        shares = shares_of(context, looks, rows)
        likelihoods.append(float(np.log(shares[np.arange(len(looks.labels)), looks.labels]).mean()))
    assert likelihoods == sorted(likelihoods)
    assert likelihoods[-1] > likelihoods[0] + 0.05


def test_the_same_leaves_for_any_threads(trained, people):
    one = fit_context(trained, people[2], rounds=2, threads=1)
    assert one == fit_context(trained, people[2], rounds=2, threads=3)
    assert one != trained
    assert replace(one, context=None) == replace(trained, context=None)
    assert one.context.config == {**trained.context.config, "fit_context": {"frames": 16, "rounds": 2}}
    for name in ("roots", "offsets", "channels", "thresholds", "children"):
        np.testing.assert_array_equal(getattr(one.context, name), getattr(trained.context, name))
    counted = []
    fit_context(trained, people[2][:3], progress=counted.append)
    assert counted == [1, 1, 1]


def test_a_calibration_is_dropped(trained, people):
    calibrated = replace(trained, calibration={"temperature": 0.8, "temperature_unsmoothed": 1.2})
    assert fit_context(calibrated, people[2][:3]).calibration is None


def test_what_is_refused(first, trained, people):
    with pytest.raises(UsageError, match="the model has no context stage whose leaves could be fitted"):
        fit_context(first, people[2])
    with pytest.raises(UsageError, match="rounds must be a whole number from 1 to 100, got 0"):
        fit_context(trained, people[2], rounds=0)
    empty = replace(people[2][0], parts=np.full_like(people[2][0].parts, NO_PART))
    with pytest.raises(DatasetError, match="none of the 1 frames shows a labeled person"):
        fit_context(trained, [empty])
