"""Columns of candidates, held against a slow twin."""

import numpy as np
import pytest

from depthforest.frames.parts import BODY31
from depthforest.people.judging.columns import (
    GROUPS,
    N_LOOKS,
    NAMES,
    QUANTILES,
    describe_looks,
    describe_shape,
    part_groups,
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


@pytest.mark.parametrize("ground", [1.5, float("nan")])
def test_sizes_are_finite_with_a_floor_and_without(ground):
    measures = np.ones((1, N_MEASURES))
    columns = describe_shape((4, 5), np.array([0, 1, 6, 19]), measures, ground, np.array([0, -1, 0], np.float32), 8, 16)
    assert len(columns) == len(NAMES) - N_LOOKS
    assert np.isfinite(columns).all()
    by_name = dict(zip(NAMES[N_LOOKS:], columns, strict=True))
    assert by_name["cut_top"] == 2 / 5
    assert by_name["cut_bottom"] == 1 / 5
    assert by_name["cut_left"] == by_name["cut_right"] == 1 / 4
    assert by_name["camera_up"] == 1
    assert by_name["clutter"] == 0.5
    assert by_name["own_share"] == 1 / 8
    assert (by_name["camera_height"] > 0) == (ground == 1.5)
