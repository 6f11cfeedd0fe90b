from collections import Counter

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from support import naive_forest as naive

from depthforest.base.errors import DatasetError, UsageError
from depthforest.frames.camera import Camera
from depthforest.frames.frame import LabeledFrame
from depthforest.frames.parts import PartSet
from depthforest.training.pixeltables import (
    CLIP_MM,
    PROBE_RANGE_M,
    draw_probes,
    person_responses,
    pixel_responses,
    pixel_table,
)
from depthforest.trees.features import BACKGROUND_MM, masked_depth

PARTS = PartSet(("a", "b", "c"))
CAMERA = Camera(30.0, 33.0, 16.0, 12.0, 32, 24)


def random_frame(rng, *, empty=False):
    people = rng.choice(np.array([0, 1, 2], dtype=np.uint8), (24, 32)) * np.uint8(not empty)
    parts = np.where(people > 0, rng.choice([0, 0, 0, 0, 1, 2], people.shape), 255).astype(np.uint8)
    depth = rng.integers(500, 4000, people.shape).astype(np.uint16)
    depth[rng.random(people.shape) < 0.2] = 0
    return LabeledFrame(depth, CAMERA, parts, people, {}, PARTS)


def every_row(frame, index, probes):
    """Count the rows that a frame can give: (frame, label, responses)."""
    rows = Counter()
    for person in (1, 2):
        image = np.where(frame.people == person, frame.depth_mm, 0).astype(int).tolist()
        pixels = [tuple(p) for p in np.argwhere((frame.people == person) & (frame.depth_mm > 0))]
        found = naive.responses(image, pixels, probes, CAMERA, BACKGROUND_MM)
        for pixel, values in zip(pixels, found, strict=True):
            clipped = tuple(float(max(-CLIP_MM, min(CLIP_MM, int(v)))) for v in values)
            rows[index, int(frame.parts[pixel]), clipped] += 1
    return rows


def test_rows_are_pixels_of_the_frames():
    rng = np.random.default_rng(0)
    frames = [random_frame(rng) for _ in range(3)]
    probes = draw_probes(6, seed=1)
    table = pixel_table(frames, 200, probes, seed=2)
    assert table.x.dtype == np.float32
    assert table.x.shape == (200, 6)
    assert_array_equal(np.bincount(table.frames), [67, 67, 66])
    assert_array_equal(table.probes, probes)
    possible = Counter()
    for index, frame in enumerate(frames):
        possible += every_row(frame, index, probes)
    drawn = Counter(
        (int(f), int(label), tuple(row.tolist()))
        for f, label, row in zip(table.frames, table.labels, table.x, strict=True)
    )
    assert not drawn - possible
    assert np.abs(table.x).max() == CLIP_MM
    assert (np.diff(table.frames) < 0).any()  # rows are shuffled


def test_rows_of_one_person_are_those_of_the_table():
    frame, probes = random_frame(np.random.default_rng(9)), draw_probes(5, seed=3)
    pixels = np.flatnonzero((frame.people == 2) & (frame.depth_mm > 0))
    places = np.stack(np.divmod(pixels, 32), axis=1)
    alone = person_responses(masked_depth(frame, person=2), places, probes, CAMERA)
    assert alone.dtype == np.float32
    assert np.abs(alone).max() == CLIP_MM
    assert_array_equal(alone, pixel_responses(frame, pixels, probes))


def test_the_seed_decides():
    frames = [random_frame(np.random.default_rng(3)) for _ in range(2)]
    probes = draw_probes(2)
    first, same, other = (pixel_table(frames, 50, probes, seed=s) for s in (4, 4, 5))
    assert_array_equal(first.x, same.x)
    assert_array_equal(first.labels, same.labels)
    assert (first.labels != other.labels).any()


def test_balance_draws_rare_parts_more_often():
    frames = [random_frame(np.random.default_rng(6))]
    shares = [
        np.mean(pixel_table(frames, 120, draw_probes(1), balance=balance).labels == 0) for balance in (0.0, 0.5, 1.0)
    ]
    assert shares[0] > shares[1] + 0.05 > shares[2] + 0.1
    assert shares[2] == pytest.approx(1 / 3, abs=0.01)


def test_probes_lie_in_a_disc():
    probes = draw_probes(400, seed=7)
    assert probes.shape == (400, 4)
    assert probes.dtype == np.float32
    radius = np.hypot(probes[:, 0], probes[:, 1])
    assert radius.max() <= PROBE_RANGE_M
    assert np.mean(radius < PROBE_RANGE_M / 2) == pytest.approx(1 / 4, abs=0.07)  # even over the area
    assert (probes[::2, 2:] == 0).all()
    assert (probes[1::2, 2:] != 0).all()
    assert_array_equal(probes, draw_probes(400, seed=7))


def test_what_gives_no_table():
    rng = np.random.default_rng(8)
    frames = [random_frame(rng, empty=True) for _ in range(2)]
    with pytest.raises(UsageError, match="at least one pixel per frame is needed; got 1 pixels for 2 frames"):
        pixel_table(frames, 1, draw_probes(2))
    with pytest.raises(UsageError, match="at least one pixel per frame"):
        pixel_table([], 5, draw_probes(2))
    with pytest.raises(DatasetError, match="no frame has a labeled pixel"):
        pixel_table(frames, 5, draw_probes(2))
