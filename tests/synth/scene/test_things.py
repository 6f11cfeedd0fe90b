import numpy as np
import pytest

from synth.scene.hangings import CEILING_HANGINGS, WALL_HANGINGS, coat, drape
from synth.scene.inventory import GROUPS, STRETCH, Inventory, piece_of
from synth.scene.items import ITEMS
from synth.scene.shapes import COLUMN, SHEET, mesh_shapes, rows_of
from synth.scene.things import LOWS, STANDINGS

HERE = np.array([[1.0, 1.0, 1.0, 0.0, 0.0, 0.0]])


def meshed(shapes):
    rows = rows_of(shapes)
    return mesh_shapes(rows, np.zeros(len(rows), np.int64), HERE, np.eye(3), np.zeros(3))


def solid_volumes(shapes):
    for shape in shapes:
        if shape.kind != SHEET:
            vertices, faces = meshed([shape])
            a, b, c = (vertices[faces[:, i]].astype(float) for i in range(3))
            yield np.einsum("ij,ij->i", np.cross(a, b), c).sum() / 6


@pytest.mark.parametrize("draw", sorted({*STANDINGS, *LOWS}, key=lambda d: d.__name__), ids=lambda d: d.__name__)
def test_what_stands_is_on_the_floor_and_of_a_size_for_rooms(draw):
    for seed in range(8):
        shapes = draw(np.random.default_rng(seed))
        vertices, _ = meshed(shapes)
        assert np.isfinite(vertices).all()
        assert -0.06 < vertices[:, 1].min() < 0.12
        assert 0.04 < vertices[:, 1].max() < 3.5
        assert np.abs(vertices[:, [0, 2]]).max() < 3.5
        assert all(volume > 0 for volume in solid_volumes(shapes))


@pytest.mark.parametrize("draw", sorted(set(ITEMS), key=lambda d: d.__name__), ids=lambda d: d.__name__)
def test_what_is_on_tables_is_small(draw):
    for seed in range(8):
        vertices, _ = meshed(draw(np.random.default_rng(seed)))
        assert -0.06 < vertices[:, 1].min() < 0.1
        assert np.ptp(vertices, axis=0).max() < 1.3


@pytest.mark.parametrize("draw", sorted(set(WALL_HANGINGS), key=lambda d: d.__name__), ids=lambda d: d.__name__)
def test_what_hangs_is_before_its_wall(draw):
    for seed in range(8):
        shapes = draw(np.random.default_rng(seed))
        vertices, _ = meshed(shapes)
        assert vertices[:, 1].min() > -0.01
        assert vertices[:, 1].max() < 3.5
        assert vertices[:, 2].max() > 0.0
        assert vertices[:, 2].min() > -0.25
        assert all(volume > 0 for volume in solid_volumes(shapes))


@pytest.mark.parametrize("draw", sorted(set(CEILING_HANGINGS), key=lambda d: d.__name__), ids=lambda d: d.__name__)
def test_what_hangs_from_ceilings_leaves_room_below(draw):
    for seed in range(8):
        vertices, _ = meshed(draw(np.random.default_rng(seed)))
        assert -1.4 < vertices[:, 1].min() < -0.02
        assert vertices[:, 1].max() < 0.12


def test_cloth_hangs_in_folds():
    for seed in range(10):
        rng = np.random.default_rng(seed)
        for cloth in (coat(rng)[0], drape(rng, 0.25)[0]):
            vertices, _ = meshed([cloth])
            assert vertices[:, 1].max() < 0.05
            ring = vertices[: int(cloth.segments), [0, 2]] - vertices[: int(cloth.segments), [0, 2]].mean(axis=0)
            radii = np.hypot(ring[:, 0] / cloth.half_x, ring[:, 1] / cloth.half_z)
            turns = np.diff(np.sign(np.diff([*radii, radii[0], radii[1]])))
            assert np.count_nonzero(turns) >= 4, "in and out around the hem"


def test_windows_have_no_readings():
    for seed in range(4):
        rows = rows_of(next(d for d in WALL_HANGINGS if d.__name__ == "window")(np.random.default_rng(seed)))
        assert rows[:, COLUMN["lost"]].max() == 1


def test_an_inventory_depends_on_its_seed_alone_and_stretches_anew():
    one, again, other = Inventory((1, 5), 50), Inventory((1, 5), 50), Inventory((2, 5), 50)
    for group in GROUPS:
        again.draw(np.random.default_rng(9), group)  # the order in which things are met is irrelevant
        a, b, c = (inventory.draw(np.random.default_rng(3), group) for inventory in (one, again, other))
        assert np.array_equal(a.shapes, b.shapes)
        assert a.stretch == b.stretch
        assert not np.array_equal(a.shapes, c.shapes)
        assert all(STRETCH[0] <= s <= STRETCH[1] for s in a.stretch)
    few = Inventory((1, 5), 1)
    rng = np.random.default_rng(0)
    first, second = few.draw(rng, "standing"), few.draw(rng, "standing")
    assert first.shapes is second.shapes
    assert first.stretch != second.stretch


def test_a_stretched_piece_measures_what_it_draws():
    for seed in range(10):
        rng = np.random.default_rng(seed)
        piece = piece_of("thing", STANDINGS[seed](rng)).stretched((0.8, 1.2, 1.1))
        slow = type(piece)(piece.name, (), piece.shapes, piece.stretch)
        np.testing.assert_allclose(piece.boxes, slow.boxes)
        np.testing.assert_allclose(piece.extent, slow.extent, atol=1e-12)
        places = np.array([[0.8, 1.2, 1.1, 0.0, 0.0, 0.0]])
        vertices, _ = mesh_shapes(piece.shapes, np.zeros(len(piece.shapes), np.int64), places, np.eye(3), np.zeros(3))
        assert (vertices >= piece.extent[0] - 1e-4).all()
        assert (vertices <= piece.extent[1] + 1e-4).all()
