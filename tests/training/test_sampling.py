import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import naive_training as naive

from depthforest.frames.camera import Camera
from depthforest.frames.frame import LabeledFrame
from depthforest.frames.parts import PartSet
from depthforest.training.candidates import child_keys, draw, draw_chosen, key_of, numbers, root_key
from depthforest.training.config import TrainConfig, TrainConfigError
from depthforest.training.probing import _find_bins
from depthforest.training.sampling import draw_pixels, frames_of_tree, quotas, read_pixels
from depthforest.training.shards import Batch, Shard
from depthforest.trees.features import focal_lengths, masked_depth, pixel_scale, responses

PARTS = PartSet(("a", "b", "c"))
CAMERA = Camera(30.0, 33.0, 16.0, 12.0, 32, 24)


def random_frame(rng):
    people = rng.choice(np.array([0, 1, 2, 7], dtype=np.uint8), (24, 32))
    parts = np.where(people > 0, rng.integers(0, 3, people.shape), 255).astype(np.uint8)
    parts[rng.random(people.shape) < 0.1] = 255
    depth = rng.integers(300, 3000, people.shape).astype(np.uint16)
    depth[rng.random(people.shape) < 0.2] = 0
    return LabeledFrame(depth, CAMERA, parts, people, {}, PARTS)


@pytest.fixture(scope="module")
def frame():
    return random_frame(np.random.default_rng(0))


@given(st.lists(st.integers(0, 500), min_size=1, max_size=31), st.integers(1, 400), st.floats(0, 1))
def test_quotas_add_up_and_never_ask_for_more_than_there_is(available, n, balance):
    quota = quotas(np.array(available), n, balance)
    assert (quota >= 0).all()
    assert (quota <= available).all()
    assert quota.sum() == min(n, sum(available))


def test_quotas_balance_parts():
    available = np.array([900, 90, 10, 0])
    assert quotas(available, 100, 0.0).tolist() == [90, 9, 1, 0]
    assert quotas(available, 60, 1.0).tolist() == [25, 25, 10, 0]
    assert quotas(available, 5000, 1.0).tolist() == [900, 90, 10, 0]


def test_pixels_are_drawn_as_the_twin_draws_them(frame):
    config = TrainConfig(pixels_per_frame=37, class_balance=0.6, seed=5)
    for stream, index in ((0, 0), (1, 0), (0, 9)):
        where = draw_pixels(frame, index, stream, config)
        labels = frame.parts.ravel()[where]
        expected = naive.draw_pixels(frame, index, stream, config, np.bincount(labels, minlength=3))
        assert [divmod(p, 32) for p in where.tolist()] == expected
        assert len(where) == 37
        assert (frame.depth_mm.ravel()[where] > 0).all()
    assert not np.array_equal(draw_pixels(frame, 0, 0, config), draw_pixels(frame, 0, 1, config))
    assert not np.array_equal(draw_pixels(frame, 0, 0, config), draw_pixels(frame, 1, 0, config))


def test_bins_of_a_shard_are_those_of_the_features(frame):
    """Cropped, clamped and binned by multiplication, or by the book: the same bins."""
    rng = np.random.default_rng(1)
    frames = [frame] + [random_frame(rng) for _ in range(40)]
    config = TrainConfig(
        pixels_per_frame=50, candidates=70, thresholds=9, probe_range_m=1.5, threshold_scales=4, seed=2
    )
    shard = Shard(frames, np.arange(41), 0, config, PARTS)
    keys = child_keys(root_key(2, 0))
    shard.nodes[:] = np.arange(len(shard)) % 3 - 1  # a third of the pixels is out
    drawn = draw(keys, 3, 70, config)
    n_first, n_both = (shard.nodes == 0).sum(), (shard.nodes >= 0).sum()
    starts = np.array([0, n_first, n_both + 4])  # room after the second node's rows, that is left alone
    bins, labels = np.full((n_both + 4, 67), 77, dtype=np.uint8), np.full(n_both + 4, 77, dtype=np.uint8)
    shard.fill(Batch(np.array([0, 1]), 2, drawn), starts[:-1], bins, labels)
    assert (bins[n_both:] == 77).all()
    assert (labels[n_both:] == 77).all()
    starts[-1] = n_both
    got = [sorted(map(tuple, np.c_[labels, bins][starts[i] : starts[i + 1]].tolist())) for i in range(2)]
    expected = [[], []]
    first = 0
    for index, its_frame in enumerate(frames):
        where = draw_pixels(its_frame, index, 0, config)
        # pixels of a frame come person by person
        people = its_frame.people.ravel()[where]
        order = np.argsort(people, kind="stable")
        for pixel in where[order]:
            node = shard.nodes[first]
            first += 1
            if node < 0:
                continue
            image = masked_depth(its_frame, person=int(its_frame.people.ravel()[pixel]))
            place = [divmod(int(pixel), 32)]
            found = responses(image, place, drawn.meters[node].T, CAMERA, config.background_mm)[0]
            lowest = drawn.lows[node] + drawn.steps - 1
            ladder = lowest[:, None] + drawn.steps[:, None] * np.arange(9)
            expected[node].append(
                (int(its_frame.parts.ravel()[pixel]), *(found[:, None] > ladder).sum(axis=1).tolist())
            )
    assert got == [sorted(e) for e in expected]


def test_reading_again_gives_the_same_pixels(frame):
    rng = np.random.default_rng(1)
    frames = [frame, *(random_frame(rng) for _ in range(40))]
    config = TrainConfig(pixels_per_frame=20)
    kept, read = (Shard(frames, np.arange(41), 0, config, PARTS, keep_bytes=b) for b in (None, 5000))
    assert (kept.is_kept, read.is_kept) == (True, False)
    np.testing.assert_array_equal(kept.labels, read.labels)
    np.testing.assert_array_equal(kept.per_frame, [20] * 41)
    batch = Batch(np.array([0]), 1, draw(root_key(0, 0), 0, 5, config))
    bins, labels = np.empty((820, 5), dtype=np.uint8), np.empty(820, dtype=np.uint8)
    tables = np.full((2, 1, 5, len(PARTS), 51), 7, dtype=np.int32)
    for shard, out in zip((kept, read), tables, strict=True):
        shard.count(batch, bins, labels, out)
    np.testing.assert_array_equal(*tables)
    np.testing.assert_array_equal(tables[0].sum(axis=3)[0], [np.bincount(kept.labels, minlength=len(PARTS))] * 5)


def test_frames_without_people_give_no_pixels(frame):
    nobody = LabeledFrame(
        frame.depth_mm, CAMERA, np.full_like(frame.parts, 255), np.zeros_like(frame.people), {}, PARTS
    )
    pixels = read_pixels([nobody, frame, nobody], [0, 1, 2], 0, TrainConfig(pixels_per_frame=10), PARTS)
    assert pixels.per_frame.tolist() == [0, 10, 0]
    assert len(read_pixels([nobody], [0], 0, TrainConfig(), PARTS)) == 0


def test_pixels_have_the_scales_of_the_features(frame):
    pixels = read_pixels([frame], [0], 0, TrainConfig(pixels_per_frame=40), PARTS)
    depths = pixels.depth[pixels.starts + pixels.places[:, 0] * pixels.shapes[:, 1] + pixels.places[:, 1]]
    fx, fy = focal_lengths(CAMERA)
    np.testing.assert_array_equal(pixels.scales, [(pixel_scale(fx, d), pixel_scale(fy, d)) for d in depths])
    assert pixels.scales.dtype == np.float32


def test_every_tree_has_its_own_frames():
    config = TrainConfig(frames_per_tree=0.7)
    sets = [frames_of_tree(1000, tree, config) for tree in range(2)]
    for inside, outside in sets:
        assert len(inside) == 700
        assert len(outside) == 256
        assert not set(inside) & set(outside)
    assert 0.6 < len(set(sets[0][0]) & set(sets[1][0])) / 700 < 0.8
    assert len(frames_of_tree(10, 0, TrainConfig(frames_per_tree=4))[0]) == 4
    # few frames of many pixels judge as well as many of few, in the same memory
    for pixels, n_judges in ((512, 256), (1024, 128), (1_000_000, 1)):
        judges = frames_of_tree(1000, 0, TrainConfig(frames_per_tree=0.7, pixels_per_frame=pixels))[1]
        assert len(judges) == n_judges
        assert set(judges) <= set(sets[0][1])
    assert len(frames_of_tree(10, 0, TrainConfig(frames_per_tree=400))[0]) == 10


@pytest.mark.parametrize("shape", ["radius", "disc", "square"])
def test_candidates_are_drawn_as_the_twin_draws_them(shape):
    config = TrainConfig(probe_shape=shape, zero_share=0.3, thresholds=6, threshold_scales=3)
    keys = child_keys(child_keys(root_key(7, 2)))
    drawn = draw(keys, 5, 45, config)
    root = naive.key_of(1, 7, 2)
    for node in range(4):
        key = root
        for side in (node // 2, node % 2):
            key = naive.mix(key - naive.GOLDEN if side else key + naive.GOLDEN)
        assert key == keys[node]
        for i in range(40):
            probes, ladder = naive.candidate(key, 5 + i, config)
            assert drawn.meters[node, :, i].tolist() == [float(p) for p in probes]
            step = drawn.steps[i]
            assert ladder == [drawn.lows[node, i] + step - 1 + k * step for k in range(6)]
            chosen, low, its_step, _ = draw_chosen(keys[node : node + 1], np.array([5 + i]), config)
            assert (chosen[0].tolist(), low[0], its_step[0]) == ([float(p) for p in probes], drawn.lows[node, i], step)


@pytest.mark.parametrize(("shape", "mean"), [("radius", 1 / 2), ("disc", 2 / 3)])
def test_probes_have_the_lengths_that_were_asked_for(shape, mean):
    config = TrainConfig(probe_shape=shape, probe_range_m=0.4, zero_share=0.25)
    probes = draw(root_key(0, 0), 0, 20_000, config).meters[0]
    lengths = np.hypot(probes[0], probes[1]) / 0.4
    assert lengths.max() <= 1 + 1e-6
    assert lengths.mean() == pytest.approx(mean, abs=0.01)
    assert np.abs(probes[:2].mean(axis=1)).max() < 0.005
    assert (probes[2:] == 0).all(axis=0).mean() == pytest.approx(0.25, abs=0.01)


def test_bins_by_multiplication_are_exact():
    """For every step that a configuration may have, at all responses that are not clipped and at the largest."""
    for step in (1, 2, 3, 7, 24, 1000, 8191, 8192):
        low = -20_000
        responses = np.arange(-65_535, 65_536, dtype=np.int32)
        n = len(responses)
        out = np.empty(n, dtype=np.uint8)
        inverses = np.full(n, np.float32(1) / np.float32(step))
        for thresholds in (1, 50, 254):
            _find_bins(responses, np.full(n, low, np.int16), inverses, np.float32(thresholds + 0.5), out)
            np.testing.assert_array_equal(out, np.clip((responses - low) // step, 0, thresholds))


def test_probes_are_whole_units_of_a_power_of_two():
    for reach in (0.001, 0.45, 0.5, 1.0, 10.0):
        drawn = draw(root_key(1, 0), 0, 5000, TrainConfig(probe_range_m=reach, probe_shape="square"))
        assert np.log2(drawn.unit_m) % 1 == 0
        assert np.abs(drawn.meters).max() <= reach
        assert np.abs(drawn.probes).max() > 32_767 / 2.1


def test_numbers_do_not_repeat():
    keys = {int(key_of(a, b, c)) for a in range(5) for b in range(20) for c in range(20)}
    assert len(keys) == 2000
    assert len(set(numbers(key_of(1), np.arange(5000, dtype=np.uint64)).tolist())) == 5000


def test_the_config_saves_loads_and_is_light(tmp_path):
    config = TrainConfig(trees=7, probe_range_m=1 / 3, criterion="gini", frames_per_tree=12)
    config.save(tmp_path / "c.toml")
    assert TrainConfig.load(tmp_path / "c.toml") == config
    assert TrainConfig.from_dict(config.to_dict()) == config
    assert TrainConfig.from_toml("") == TrainConfig()
    code = "import sys, depthforest.training.config; print(*[m for m in ('numpy', 'numba') if m in sys.modules])"
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, check=True, text=True, timeout=600
        ).stdout.strip()
        == ""
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("depth = 0", "config: depth must be from 1 to 40, got 0"),
        ("min_gain = nan", "min_gain must be a finite number, got nan"),
        ("trees = 1.5", "trees must be a whole number"),
        ("trees = true", "trees must be a finite number, got True"),
        ('criterion = "twoing"', "criterion must be one of entropy, gini; got 'twoing'"),
        ("criterion = 3", "criterion must be text"),
        ('leaf_counts = "true"', "leaf_counts must be one of drawn; got 'true'"),
        ("leafs = 3", "unknown keys leafs; known are trees, depth"),
        ("frames_per_tree = 0", "frames_per_tree must be a share up to 1 or a whole number above"),
        ("frames_per_tree = 1.5", "frames_per_tree must be a share up to 1 or a whole number above"),
        ("thresholds = 255", "thresholds must be from 1 to 254"),
        ("thresholds = 2\nthreshold_range_mm = 9000", "9000 mm apart, the most is 8192; use more thresholds"),
        ("trees = [", "is not valid TOML"),
        (f"seed = 1{'0' * 30}", "seed is a whole number of more than 64 bits; it is far too large"),
        (f"min_gain = 1{'0' * 400}", "min_gain is a whole number of more than 64 bits"),
        (f"seed = 1{'0' * 5000}", "is not valid TOML"),
        ("seed = -1", "seed must be from 0 to"),
        ("zero_share = inf", "zero_share must be a finite number, got inf"),
    ],
)
def test_bad_configs_are_one_clear_line(text, message):
    with pytest.raises(TrainConfigError, match=message) as caught:
        TrainConfig.from_toml(text)
    assert "\n" not in str(caught.value)
