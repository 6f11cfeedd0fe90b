"""Proposals and candidates: what may be people, and the choice among what overlaps."""

from dataclasses import replace
from types import SimpleNamespace

import cv2
import numpy as np
import pytest

from depthforest.base import UsageError
from depthforest.frames.camera import Camera
from depthforest.frames.frame import Frame
from depthforest.labeling import Several, shares_at
from depthforest.people.grid import DepthGrid
from depthforest.people.judging.candidates import PersonCandidates, find_candidates
from depthforest.people.judging.learning import cell_pixels, scene_frame, scene_table
from depthforest.people.judging.looks import SCENE, coarse_frame
from depthforest.people.judging.model import body_forest, load_person_model
from depthforest.people.judging.pieces import put_right
from depthforest.people.judging.proposals import _trimmed, _unions, cells_by_number
from depthforest.people.regions import (
    N_MEASURES,
    measure_candidates,
    measure_regions,
    stack_pictures,
    stacked_rows,
)
from synth import Config, Generator

ROOMS = Generator(Config(n_bodies=3, n_poses=64, people_shares=(0.5, 0.5), furnished_share=1.0), seed=12, n=6)


def test_cells_are_listed_by_number():
    cells = np.array([[0, 2, 2], [1, 0, 2]], np.uint8)
    assert [one.tolist() for one in cells_by_number(cells)] == [[3], [1, 2, 5]]
    assert list(cells_by_number(np.zeros((2, 2), np.uint8))) == []


def test_what_looks_less_like_a_person_is_trimmed_off():
    person, is_open = np.full((20, 20), 0.8, np.float32), np.ones((20, 20), bool)
    body = np.flatnonzero(np.ones((20, 20)))
    assert _trimmed(body, person, is_open) is None
    person[12:] = 0.1  # a chair
    person[15, 3] = 0.9  # noise on it
    assert _trimmed(body, person, is_open).tolist() == list(range(12 * 20))
    person[2:] = 0.1  # too little would be left
    assert _trimmed(body, person, is_open) is None
    assert _trimmed(body, person, np.zeros((20, 20), bool)) is None


def test_two_bodies_above_each_other_may_be_one():
    depth = np.full((120, 160), 4000, np.uint16)
    depth[20:50, 60:90] = depth[60:100, 62:88] = 2000
    depth[20:100, 130:150] = 2000
    grid = DepthGrid.of(Frame(depth, Camera.preset("kinect_v1@160x120")))
    masks = [np.zeros((120, 160), bool) for _ in range(3)]
    masks[0][20:50, 60:90] = masks[1][60:100, 62:88] = masks[2][20:100, 130:150] = True
    bodies = [np.flatnonzero(mask) for mask in masks]
    axes = np.array([[1, 0, 0], [0, -1, 0], [0, 0, 1]], np.float32)
    (union,) = _unions(grid, axes, bodies)
    assert union.tolist() == sorted([*bodies[0].tolist(), *bodies[1].tolist()])


def test_of_candidates_that_overlap_the_most_probable_is_chosen():
    places = [np.arange(0, 10), np.arange(5, 15), np.arange(12, 20), np.arange(9, 12)]
    found = PersonCandidates(None, (4, 10), places, np.empty((4, 0)))
    assert found.choose(np.array([0.9, 0.8, 0.7, 0.6]), np.ones(4, bool)) == [0, 2]
    assert found.choose(np.array([0.9, 0.8, 0.7, 0.6]), np.array([False, True, True, True])) == [1]
    assert found.choose(np.zeros(4), np.zeros(4, bool)) == []
    cells = found.cells_of([1, 0]).reshape(-1)
    assert cells[:5].tolist() == [2] * 5
    assert cells[5:15].tolist() == [1] * 10
    assert not cells[15:].any()


@pytest.mark.parametrize("index", range(3))
def test_candidates_have_cells_and_finite_columns(index):
    model = load_person_model()
    grid = DepthGrid.of(ROOMS[index])
    found = find_candidates(grid, model.scene, body_forest(model.body), model.least_person)
    assert len(found.places) == len(found.columns) > 0
    assert np.isfinite(found.columns).all()
    for places in found.places:
        assert (np.diff(places) > 0).all()
        assert (grid.points[2].reshape(-1)[places] > 0).all()


@pytest.mark.parametrize("shape", [(1, 1), (1, 40), (7, 3), (100, 100)])
@pytest.mark.parametrize("fill", ["empty", "one", "flat", "noise"])
def test_odd_pictures_have_candidates_or_none(shape, fill):
    depth = np.zeros(shape, np.uint16)
    if fill == "one":
        depth[0, 0] = 1500
    elif fill == "flat":
        depth[:] = 2000
    elif fill == "noise":
        depth[:] = np.random.default_rng(0).integers(0, 6000, shape)
    model = load_person_model()
    frame = Frame(depth, Camera(60, 60, shape[1] / 2, shape[0] / 2, shape[1], shape[0]))
    found = find_candidates(DepthGrid.of(frame), model.scene, body_forest(model.body), model.least_person)
    assert np.isfinite(found.columns).all()


def test_coarse_frames_show_the_grid():
    grid = DepthGrid.of(ROOMS[0])
    coarse = coarse_frame(grid)
    assert coarse.shape == grid.shape
    np.testing.assert_array_equal(coarse.depth_mm, np.rint(grid.points[2] * 1000))
    # the middle of the picture looks along the same ray
    assert coarse.camera.cx / coarse.camera.fx == pytest.approx((ROOMS[0].camera.cx - 0.5) / ROOMS[0].camera.fx)
    rows, cols = cell_pixels(grid, ROOMS[0].depth_mm)
    has = grid.points[2] > 0
    near = np.abs(ROOMS[0].depth_mm[rows, cols][has].astype(float) - 1000 * grid.points[2][has])
    assert np.median(near) < 10


def test_scenes_have_labels_where_they_are_asked_for():
    frame = ROOMS[1]
    scene = scene_frame(frame)
    assert scene.part_set is SCENE
    labels = set(np.unique(scene.parts).tolist())
    assert {SCENE.index("room"), SCENE.index("torso"), 255} <= labels
    table = scene_table()
    assert table[255] == SCENE.index("torso")
    assert (table != SCENE.index("room")).all()


def test_shares_of_some_pixels_are_those_of_all():
    forest, frame = replace(body_forest("body31"), calibration=None, context=None), ROOMS[0]
    person, room = (np.flatnonzero((frame.people == k) & (frame.depth_mm > 0)) for k in (1, 0))
    both = np.sort(np.concatenate([person, room[::7]]))  # it overlaps with the person
    several = Several(
        np.concatenate([person, person[:0], both]), np.cumsum([0, len(person), 0, len(both)]),
        np.cumsum([0, len(person), 0, len(person)]),
    )  # fmt: skip
    comp = shares_at(forest, frame, np.concatenate([person, person]), several)
    assert comp.shape == (2 * len(person), 31)
    for half, pixels in ((comp[: len(person)], person), (comp[len(person) :], both)):
        mask = np.zeros(frame.depth_mm.size, dtype=np.bool_)
        mask[pixels] = True
        masked = Frame(np.where(mask.reshape(frame.shape), frame.depth_mm, np.uint16(0)), frame.camera)
        # the facing is what the pixels say that walk: of one who walks as a whole, that is all
        np.testing.assert_array_equal(shares_at(forest, masked, person), half)
    mask = np.zeros(frame.shape, dtype=np.bool_)
    mask.reshape(-1)[person] = True
    ref = forest.label(frame, mask, smooth=0.0, exact=True, mirror=False).probabilities()
    np.testing.assert_allclose(comp[: len(person)], ref.reshape(-1, 31)[person], atol=1e-6)
    assert shares_at(forest, frame, np.empty(0, np.int64)).shape == (0, 31)


@pytest.mark.parametrize(
    ("places", "pixels", "ends", "place_ends"),
    [
        ([5], [4, 6], [0, 2], [0, 1]),  # not the person's
        ([-1], [4, 6], [0, 2], [0, 1]),
        ([600], [4, 600], [0, 2], [0, 1]),  # off the picture
        ([0], [0, 6], [0, 2], [0, 1]),  # no reading
        ([4], [6, 4], [0, 2], [0, 1]),  # not in order
        ([4], [4, 6], [0, 3], [0, 1]),
        ([4], [4, 6], [0, 2], [0, 2]),
        ([4], [4, 6], [0, 2], [0, 0, 1]),
        ([4], [4, 6], [], []),
        ([4], [4, 6], [0, 2, 1, 2], [0, 1, 1, 1]),
    ],
)
def test_shares_of_what_is_no_pixel_are_refused(places, pixels, ends, place_ends):
    depth = np.full((20, 30), 1500, np.uint16)
    depth[0, 0] = 0
    frame = Frame(depth, Camera(60, 60, 15, 10, 30, 20))
    several = Several(*(np.array(one, dtype=np.int64) for one in (pixels, ends, place_ends)))
    with pytest.raises(UsageError, match=f"of {len(places)} places are off the picture, not the person's"):
        shares_at(body_forest("body31"), frame, np.array(places), several)


def test_candidates_are_measured_each_by_itself():
    grid = DepthGrid.of(ROOMS[0])
    n_cols, spacing, axes = grid.shape[1], np.float32(grid.spacing), np.eye(3, dtype=np.float32)
    read = np.flatnonzero(grid.points[2])
    rng = np.random.default_rng(2)
    picks = [read[:40], read[:0], np.sort(rng.choice(read, 300, replace=False)), read[20:90], read]
    cells, ends = np.concatenate(picks), np.cumsum([0, *map(len, picks)])
    taken = rng.integers(0, 3, grid.shape).astype(np.uint8)
    picture = np.zeros((stacked_rows(cells, ends, n_cols), n_cols + 2), np.uint8)
    stack_pictures(cells, ends, n_cols, picture)
    comp, ref = np.empty((len(picks), N_MEASURES)), np.empty((1, N_MEASURES))
    inside = cv2.distanceTransform(picture, cv2.DIST_L2, 3)
    measure_candidates(grid.points, grid.normals, grid.area, inside, axes, cells, ends, taken, spacing, comp)
    for own, row in zip(picks, comp, strict=True):
        labels = np.full(grid.shape, -1, np.int32)
        labels.reshape(-1)[own] = 0
        alone = cv2.distanceTransform(np.pad((labels == 0).astype(np.uint8), 1), cv2.DIST_L2, 3)
        measure_regions(grid.points, grid.normals, grid.area, alone, axes, labels, taken, spacing, ref)
        np.testing.assert_array_equal(row, ref[0])


def patches(*blocks):
    """Return a grid of flat blocks (rows, cols, depth in meters), 0.01 m a cell, and the cells of each, from 1."""
    points, numbers = np.zeros((4, 30, 40), np.float32), np.zeros((30, 40), np.uint8)
    points[0], points[1] = np.meshgrid(np.arange(40) * 0.01, np.arange(30) * 0.01)
    points[3] = 0.002
    for number, (rows, cols, depth) in enumerate(blocks, start=1):
        points[2][rows, cols], numbers[rows, cols] = depth, number
    grid = SimpleNamespace(points=points, area=np.ones((30, 40), np.float32), spacing=0.005, shape=(30, 40))
    return grid, numbers


def after(grid, numbers, looks, owned):
    """Return which of the blocks are a person's, once pieces are put right; `owned` were before."""
    person, cells = np.array([0, *looks], np.float32)[numbers], np.isin(numbers, owned).astype(np.uint8)
    put_right(grid, person, numbers > 0, cells)
    after = [np.unique(cells[numbers == k]).tolist() for k in range(1, len(looks) + 1)]
    assert all(len(one) == 1 for one in after)  # pieces stay whole
    assert not cells[numbers == 0].any()
    return [k for k, (one,) in enumerate(after, start=1) if one]


def test_whole_pieces_are_left_out_or_added():
    body, chair = (slice(2, 26), slice(2, 20), 2.0), (slice(4, 20), slice(20, 28), 2.3)
    arm, far = (slice(2, 8), slice(28, 34), 2.4), (slice(20, 26), slice(22, 30), 2.6)
    grid, numbers = patches(body, chair, arm, far)
    assert after(grid, numbers, (0.8, 0.2, 0.1, 0.1), [1, 2]) == [1]
    assert after(grid, numbers, (0.8, 0.4, 0.1, 0.1), [1, 2]) == [1, 2]  # that may be a coat that is worn
    assert after(grid, numbers, (0.8, 0.9, 0.1, 0.1), [1]) == [1, 2]
    assert after(grid, numbers, (0.8, 0.5, 0.1, 0.1), [1]) == [1]
    # what is near an added piece alone is not near the person, and 0.6 m are out of reach
    assert after(grid, numbers, (0.8, 0.9, 0.9, 0.9), [1]) == [1, 2]
    assert after(grid, numbers, (0.8, 0.9, 0.9, 0.9), [1, 2]) == [1, 2, 3, 4]


def test_somebody_else_is_not_added():
    grid, numbers = patches((slice(2, 26), slice(2, 20), 2.0), (slice(2, 26), slice(20, 29), 2.2))
    assert after(grid, numbers, (0.8, 0.9), [1]) == [1, 2]  # half as large
    grid, numbers = patches((slice(2, 26), slice(2, 20), 2.0), (slice(2, 26), slice(20, 30), 2.2))
    assert after(grid, numbers, (0.8, 0.9), [1]) == [1]


def test_a_single_cell_that_looks_like_a_person_is_added():
    grid, numbers = patches((slice(2, 26), slice(2, 20), 2.0), (slice(8, 9), slice(22, 23), 2.3))
    assert after(grid, numbers, (0.8, 0.7), [1]) == [1, 2]
    assert after(grid, numbers, (0.8, 0.5), [1]) == [1]


def test_half_of_a_person_is_never_left_out():
    grid, numbers = patches((slice(2, 12), slice(2, 20), 2.0), (slice(12, 26), slice(2, 20), 2.5))
    assert after(grid, numbers, (0.8, 0.1), [1, 2]) == [1, 2]
    assert after(grid, numbers, (0.1, 0.8), [1, 2]) == [2]
    assert after(grid, numbers, (0.1, 0.1), [1, 2]) == [1, 2]


def test_pieces_belong_to_the_nearest_person():
    grid, numbers = patches(
        (slice(2, 26), slice(2, 15), 2.0), (slice(2, 26), slice(17, 20), 2.2), (slice(2, 26), slice(22, 38), 2.1)
    )
    cells = np.array([0, 1, 0, 2], np.uint8)[numbers]
    put_right(grid, np.array([0, 0.8, 0.8, 0.8], np.float32)[numbers], numbers > 0, cells)
    assert np.unique(cells[numbers == 2]).tolist() == [2]
