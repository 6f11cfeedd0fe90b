"""Proposals and candidates: what may be people, and the choice among what overlaps."""

from dataclasses import replace

import numpy as np
import pytest

from depthforest.base import UsageError
from depthforest.frames.camera import Camera
from depthforest.frames.frame import Frame
from depthforest.labeling import shares_at
from depthforest.people.grid import DepthGrid
from depthforest.people.judging.candidates import PersonCandidates, find_candidates
from depthforest.people.judging.learning import cell_pixels, scene_frame, scene_table
from depthforest.people.judging.looks import SCENE, coarse_frame
from depthforest.people.judging.model import body_forest, load_person_model
from depthforest.people.judging.proposals import _trimmed, _unions, cells_by_number
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
    mask = (frame.people == 1) & (frame.depth_mm > 0)
    places = np.argwhere(mask).astype(np.int32)[::50]
    comp = shares_at(forest, frame, mask, places, mirror=True)
    assert comp.shape == (len(places), 31)
    np.testing.assert_allclose(comp.sum(axis=1), 1, atol=1e-5)
    everything = np.argwhere(mask).astype(np.int32)
    ref = forest.label(frame, mask, smooth=0.0, exact=True).probabilities()
    np.testing.assert_allclose(
        shares_at(forest, frame, mask, everything, mirror=True), ref[everything[:, 0], everything[:, 1]], atol=1e-6
    )
    assert shares_at(forest, frame, mask, np.empty((0, 2), np.int32), mirror=True).shape == (0, 31)
    with pytest.raises(UsageError, match="1 of 1 places are off the picture, not the person's"):
        shares_at(forest, frame, mask, np.argwhere(~mask)[:1], mirror=True)
    with pytest.raises(UsageError, match="1 of 1 places are off the picture"):
        shares_at(forest, frame, mask, np.array([[-1, 0]]), mirror=True)
    with pytest.raises(UsageError, match="rows and columns"):
        shares_at(forest, frame, mask, np.array([1, 2]), mirror=True)
