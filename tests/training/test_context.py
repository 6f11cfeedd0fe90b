"""Training a context stage: the same bytes however it runs, what its candidates read, and that it learns."""

import re
from dataclasses import replace

import numpy as np
import pytest
from support import naive_training as naive

from depthforest.base.errors import CheckpointError, UsageError
from depthforest.forest.forest import Forest
from depthforest.frames import BODY31, NO_PART
from depthforest.training.candidates import draw, draw_chosen, root_key
from depthforest.training.checkpoints import read_checkpoint
from depthforest.training.config import ContextConfig, TrainConfig, TrainConfigError
from depthforest.training.contextstage import train_context
from depthforest.training.run import train
from depthforest.trees import FIRST_GROUP, CoarseGrid, PartGroups, crop_person
from depthforest.trees.channels import POSITIONS, channel_names
from synth.config import Config
from synth.generator import Generator

FIRST = TrainConfig(trees=1, depth=6, candidates=30, thresholds=12, pixels_per_frame=60, seed=3)
SMALL = ContextConfig(trees=2, depth=5, candidates=60, thresholds=12, pixels_per_frame=60, min_pixels=10, seed=4)


@pytest.fixture(scope="module")
def people():
    """Frames with one to three people, small: 20 that the first stage learns from, 28 others."""
    frames = list(Generator(Config(n_bodies=4, n_poses=64, camera="kinect_v1@80x60"), seed=1, n=48))
    return frames[:20], frames[20:]


@pytest.fixture(scope="module")
def first(people):
    return replace(train(people[0], FIRST), mirror=True, smooth_m=0.03)


@pytest.fixture(scope="module")
def trained(first, people):
    return train_context(first, people[1], SMALL, threads=1, shards=1)


def test_the_same_bytes_however_it_runs(first, people, trained, tmp_path):
    assert trained.context.n_trees == 2
    assert replace(trained, context=None) == first
    trained.save(tmp_path / "a")
    for options in ({"threads": 3, "shards": 5}, {"memory_mb": 2.0}, {"checkpoint": tmp_path / "run"}):
        train_context(first, people[1], SMALL, **options).save(tmp_path / "b")
        assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    # stopped after the first tree and begun again
    (tmp_path / "run" / "tree-001.safetensors").unlink()
    train_context(first, people[1], SMALL, checkpoint=tmp_path / "run", resume=True).save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    other = replace(first, smooth_m=0.0)
    with pytest.raises(CheckpointError, match="was begun with config first = "):
        train_context(other, people[1], SMALL, checkpoint=tmp_path / "run", resume=True)
    assert Forest.load(tmp_path / "b") == trained


def test_a_checkpoint_with_channels_that_there_are_not_is_refused(first, people, tmp_path):
    train_context(first, people[1], SMALL, checkpoint=tmp_path / "run")
    identity = (tmp_path / "run" / "identity.json").read_text()
    (tmp_path / "run" / "identity.json").write_text(identity.replace('"groups": 16', '"groups": 0'))
    with pytest.raises(CheckpointError, match="its channels must be below 1"):
        read_checkpoint(tmp_path / "run")


def test_it_learns_what_the_first_stage_gets_wrong(first, people, trained):
    right = {False: 0, True: 0}
    for frame in people[1]:
        for person in np.unique(frame.people[frame.people > 0]).tolist():
            mask = frame.people == person
            is_labeled = mask & (frame.parts != NO_PART)
            for has_context, forest in ((False, first), (True, trained)):
                found = forest.label(frame, mask).parts
                right[has_context] += int((found == frame.parts)[is_labeled].sum())
    assert right[True] > 1.1 * right[False]
    used = set(trained.context.channels.ravel().tolist())
    assert used & set(range(FIRST_GROUP, FIRST_GROUP + 16))
    assert used & set(range(2, FIRST_GROUP))
    assert 0 in used


def test_candidates_are_drawn_as_the_twin_draws_them():
    config = ContextConfig(groups=16, thresholds=6, threshold_scales=3, probe_range_m=0.8)
    keys = root_key(7, 2)
    drawn = draw(keys, 5, 405, config)
    kinds = set()
    for i in range(400):
        probes, ladder, channels = naive.context_candidate(int(keys[0]), 5 + i, config, 16, len(POSITIONS))
        assert drawn.channels[0, :, i].tolist() == channels
        assert drawn.meters[0, :, i].tolist() == [float(p) for p in probes]
        step = drawn.steps[i]
        assert ladder == [drawn.lows[0, i] + step - 1 + k * step for k in range(6)]
        chosen, low, _, read = draw_chosen(keys, np.array([5 + i]), config)
        assert (chosen[0].tolist(), low[0], read[0].tolist()) == (
            [float(p) for p in probes],
            drawn.lows[0, i],
            channels,
        )
        kinds.add(tuple(0 if c == 0 else 1 if c == 1 else 2 if c < FIRST_GROUP else 3 for c in channels))
    assert kinds == {(0, 0), (3, 1), (3, 3), (2, 1)}
    plain = draw(keys, 5, 45, TrainConfig())
    assert plain.channels.size == 0


def test_groups_and_channels_of_body31():
    groups = PartGroups.of(BODY31)
    names = channel_names(groups, BODY31)
    assert (groups.n, len(names)) == (16, 32)
    assert names[FIRST_GROUP] == "head_upper_l+head_upper_r+head_lower_l+head_lower_r"
    mirror = groups.mirror_table(BODY31)
    assert (mirror[mirror] == np.arange(32)).all()
    assert mirror[names.index("body_left")] == names.index("body_right")
    assert mirror[names.index("hand_l")] == names.index("hand_r")
    assert mirror[names.index("trunk_own_left")] == names.index("trunk_own_right")
    groups.check(BODY31)


def test_a_thumbnail_has_every_pixel_of_the_grid(people):
    frame = people[1][0]
    crop = crop_person(frame, frame.people == 1, 10_000)
    grid = CoarseGrid.of(crop, frame.camera, 2)
    sums = np.ones((len(grid.chosen), 31), np.int32)
    planes = grid.planes(sums, PartGroups.of(BODY31), np.ones(1, np.int32), 10_000)
    rows, cols = (crop.places[grid.chosen] + np.array(crop.corner)).T
    np.testing.assert_array_equal(planes[0][tuple(grid.places.T)], frame.depth_mm[rows, cols])
    assert (planes[0] == 10_000).sum() == planes[0].size - len(rows)
    assert (grid.nearest(crop.places[grid.chosen]) == np.arange(len(rows))).all()
    assert planes.max() <= 10_000
    assert (planes[1] == 0).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"single_share": 0.9, "pair_share": 0.2}, "must not sum to more than 1"),
        ({"position_share": -1.0}, "position_share must"),
        ({"groups": 65}, "groups must"),
    ],
)
def test_configurations_that_cannot_be(options, message):
    with pytest.raises(TrainConfigError, match=message):
        ContextConfig(**options)


def test_what_is_refused(first, people):
    for arguments, message in (
        ((first, people[1], TrainConfig()), "config must be a ContextConfig, got TrainConfig"),
        ((3, people[1]), "expected a Forest, got int"),
        ((first, people[1], ContextConfig(groups=5)), "groups must be 16 for this part set, or 0, got 5"),
    ):
        with pytest.raises(UsageError, match=re.escape(message)):
            train_context(*arguments)
    with pytest.raises(UsageError, match="config must be a TrainConfig, got ContextConfig"):
        train(people[1], replace(SMALL, groups=16))
    with pytest.raises(UsageError, match="resume needs"):
        train_context(first, people[1], resume=True)
