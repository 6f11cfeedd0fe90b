"""Columns of candidates, held against a slow twin."""

import numpy as np
import pytest

from depthforest.frames.parts import BODY31
from depthforest.people.judging.columns import (
    GROUPS,
    N_LOOKS,
    NAMES,
    QUANTILES,
    describe_all_looks,
    describe_looks,
    describe_shapes,
    part_groups,
    sample_cells,
)
from depthforest.people.judging.looks import SCENE
from depthforest.people.regions import N_MEASURES


def naive_looks(places, step, at, weights, shares, groups, scene):
    w, person = weights.astype(float), 1 - scene[:, 0].astype(float)
    best, n = shares.max(axis=1), len(shares)

    def quantiles(values):
        return [np.sort(values)[int(q * (n - 1))] for q in QUANTILES]

    pairs = [
        float((shares[i].astype(float) * shares[k]).sum())
        for i in range(n)
        for k in range(n)
        if (places[i] - places[k]).tolist() in ([step, 0], [0, step])
    ]
    grouped = np.stack([shares[:, groups == g].astype(float).sum(axis=1) for g in range(len(GROUPS))], axis=1)
    amounts = w[:, None] * grouped
    share = amounts.sum(axis=0) / w.sum()
    middle = (amounts.T @ at) / np.maximum(amounts.sum(axis=0), 1e-30)[:, None]
    spread = [
        np.sqrt((a * ((at - m) ** 2).sum(axis=1)).sum() / max(a.sum(), 1e-30))
        for a, m in zip(amounts.T, middle, strict=True)
    ]
    is_there = share >= 1e-6
    return np.array(
        [
            (w * best).sum() / w.sum(), *quantiles(best), np.mean(pairs) if pairs else 0.0,
            *share, *np.where(is_there, at[:, 1].max() - middle[:, 1], 0), *np.where(is_there, spread, 0),
            (w * person).sum() / w.sum(), *quantiles(person),
            *((w[:, None] * scene[:, 1:]).sum(axis=0) / w.sum()),
        ]
    )  # fmt: skip


@pytest.mark.parametrize(("seed", "n", "step"), [(0, 1, 1), (1, 2, 2), (2, 40, 1), (3, 60, 2)])
def test_looks_are_those_of_the_twin(seed, n, step):
    rng = np.random.default_rng(seed)
    chosen = np.sort(rng.choice(144, n, replace=False))
    places = (np.stack([chosen // 12, chosen % 12], axis=1) * step).astype(np.int32)
    shares = rng.dirichlet(np.full(31, 0.3), n).astype(np.float32)
    shares[:, part_groups() == GROUPS.index("foot")] = 0  # a group that nobody has
    scene = rng.dirichlet(np.ones(len(SCENE)), n).astype(np.float32)
    at, weights = rng.normal(size=(n, 3)).astype(np.float32), rng.uniform(0.1, 1, n).astype(np.float32)
    comp = np.empty(N_LOOKS)
    describe_looks(places, step, at, weights, shares, part_groups(), scene, comp)
    np.testing.assert_allclose(comp, naive_looks(places, step, at, weights, shares, part_groups(), scene), atol=2e-4)


def test_every_part_has_a_group_and_every_column_a_name():
    groups = part_groups()
    assert len(groups) == 31
    assert {GROUPS[g] for g in groups} == set(GROUPS)
    assert GROUPS[groups[BODY31.index("hand_l")]] == GROUPS[groups[BODY31.index("arm_lower_r")]] == "forearm"
    assert len(set(NAMES)) == len(NAMES)


def test_looks_of_several_are_those_of_each():
    rng = np.random.default_rng(5)
    n_cols, at, area = 12, rng.normal(size=(3, 144)).astype(np.float32), rng.uniform(0.1, 1, 144).astype(np.float32)
    looks = rng.dirichlet(np.ones(len(SCENE)), 144).astype(np.float32)
    places, ends, steps = np.array([3, 4, 15, 0, 2, 24, 26]), np.array([0, 3, 3, 7]), np.array([1, 1, 2])
    shares = rng.dirichlet(np.full(31, 0.3), len(places)).astype(np.float32)
    comp = np.full((3, len(NAMES)), 7.0)
    describe_all_looks(places, ends, steps, n_cols, at, area, shares, part_groups(), looks, comp)
    for k in (0, 2):
        own = places[ends[k] : ends[k + 1]]
        ref, on_grid = np.empty(N_LOOKS), np.stack([own // n_cols, own % n_cols], axis=1).astype(np.int32)
        given = np.ascontiguousarray(at[:, own].T), area[own], shares[ends[k] : ends[k + 1]]
        describe_looks(on_grid, steps[k], *given, part_groups(), looks[own], ref)
        np.testing.assert_array_equal(comp[k, :N_LOOKS], ref)
    assert (comp[1] == 7).all()  # nothing is known of it
    assert (comp[:, N_LOOKS:] == 7).all()


@pytest.mark.parametrize(
    ("cells", "shut", "ref", "step"),
    [
        (range(60), (), [r * 10 + c for r in (0, 2, 4) for c in (0, 2, 4, 6, 8)], 2),
        (range(60), range(20), [20, 22, 24, 26, 28, 40, 42, 44, 46, 48], 2),
        ([11, 13, 31, 33] * 10, (), [11, 13, 31, 33] * 10, 1),  # no cell is on the grid of every second row
        (range(39), (), list(range(39)), 1),
        ([5, 6], (5, 6), [], 1),
        ([], (), [], 1),
    ],
)
def test_cells_are_sampled_on_a_grid(cells, shut, ref, step):
    cells, is_open = np.array(cells, dtype=np.int64), np.ones(60, dtype=np.uint8)
    is_open[list(shut)] = 0
    places, ends, steps = np.empty_like(cells), np.empty(2, dtype=np.int64), np.empty(1, dtype=np.int64)
    sample_cells(cells, np.array([0, len(cells)]), is_open, 10, 10, places, ends, steps)
    assert places[: ends[1]].tolist() == ref
    assert steps[0] == step


@pytest.mark.parametrize("ground", [1.5, float("nan")])
def test_sizes_are_finite_with_a_floor_and_without(ground):
    measures = np.ones((1, N_MEASURES))
    rows = np.full((1, len(NAMES)), np.nan)
    cells, ends = np.array([0, 1, 6, 19]), np.array([0, 4])
    describe_shapes((4, 5), cells, ends, measures, np.ones(1), (1.0, ground), (8, 16), rows)
    columns = rows[0, N_LOOKS:]
    assert np.isfinite(columns).all()
    by_name = dict(zip(NAMES[N_LOOKS:], columns, strict=True))
    assert by_name["cut_top"] == 2 / 5
    assert by_name["cut_bottom"] == 1 / 5
    assert by_name["cut_left"] == by_name["cut_right"] == 1 / 4
    assert by_name["camera_up"] == 1
    assert by_name["clutter"] == 0.5
    assert by_name["own_share"] == 1 / 8
    assert (by_name["camera_height"] > 0) == (ground == 1.5)
