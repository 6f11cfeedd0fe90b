from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import naive_diversity as naive

from depthforest.base.errors import UsageError
from synth.poses.bvh import read_bvh
from synth.poses.diversity import thin_poses
from synth.poses.kinematics import joint_positions
from synth.poses.mocap import clip_files, retarget


def random_poses(n: int, n_joints: int, spread: float, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    # clusters, so that some poses are close and others are not
    centers = rng.normal(0, spread, (max(1, n // 5), n_joints, 3))
    return (centers[rng.integers(len(centers), size=n)] + rng.normal(0, 0.02, (n, n_joints, 3))).astype(np.float32)


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(1, 60),
    n_joints=st.integers(1, 5),
    spread=st.sampled_from([0.0, 0.03, 0.3, 3.0]),
    min_distance=st.sampled_from([0.001, 0.05, 0.2]),
    seed=st.integers(0, 1000),
)
def test_kept_poses_are_apart_and_cover_the_dropped(
    n: int, n_joints: int, spread: float, min_distance: float, seed: int
) -> None:
    positions = random_poses(n, n_joints, spread, seed)
    kept = thin_poses(positions, min_distance, seed=seed).tolist()
    assert kept == naive.thin_poses(positions, min_distance, seed)
    for i, a in enumerate(kept):
        assert all(naive.distance(positions[a], positions[b]) >= min_distance for b in kept[:i])
    for dropped in set(range(n)) - set(kept):
        assert min(naive.distance(positions[dropped], positions[k]) for k in kept) < min_distance


@settings(max_examples=40, deadline=None)
@given(
    n=st.integers(1, 40), spread=st.sampled_from([0.0, 0.1, 1.0]), max_kept=st.integers(1, 50), seed=st.integers(0, 99)
)
def test_farthest_point_order_matches_the_naive_twin(n: int, spread: float, max_kept: int, seed: int) -> None:
    positions = random_poses(n, 4, spread, seed)
    kept = thin_poses(positions, 0.05, seed=seed, max_kept=max_kept)
    assert kept.tolist() == naive.spread_poses(positions, 0.05, seed, max_kept)
    assert len(kept) <= max_kept


def test_one_far_joint_makes_poses_different() -> None:
    positions = np.zeros((3, 20, 3), dtype=np.float32)
    positions[1, 13, 2] = 0.06
    positions[2, :, 0] = 0.04  # every joint differs, none by 5 cm
    kept = thin_poses(positions, 0.05)
    assert 1 in kept
    assert len(kept) == 2


def test_the_first_of_few_are_spread_out() -> None:
    line = np.zeros((101, 2, 3), dtype=np.float32)
    line[:, 0, 1] = np.linspace(0, 10, 101)
    kept = thin_poses(line, max_kept=3, seed=5)
    assert {0, 100} <= set(kept.tolist())


def test_the_same_seed_gives_the_same_poses_in_any_thread() -> None:
    n = 300 if numba.config.DISABLE_JIT else 3000  # as plain Python the large one takes a minute
    positions = random_poses(n, 8, 0.05, 7)
    ref = thin_poses(positions, 0.08, seed=3)
    assert 10 < len(ref) < n
    with ThreadPoolExecutor(4) as pool:
        for comp in pool.map(lambda _: thin_poses(positions, 0.08, seed=3), range(8)):
            np.testing.assert_array_equal(ref, comp)
    assert thin_poses(positions, 0.08, seed=4).tolist() != ref.tolist()


def test_input_stays_and_float64_is_taken() -> None:
    positions = random_poses(200, 6, 0.1, 1)
    before = positions.copy()
    wide = thin_poses(positions.astype(np.float64))
    np.testing.assert_array_equal(wide, thin_poses(positions))
    np.testing.assert_array_equal(positions, before)
    np.testing.assert_array_equal(wide, thin_poses(np.asfortranarray(positions)))


def test_no_poses_give_none() -> None:
    assert thin_poses(np.zeros((0, 31, 3))).shape == (0,)
    assert thin_poses(np.zeros((0, 31, 3)), max_kept=4).shape == (0,)


@pytest.mark.parametrize(
    ("positions", "options", "message"),
    [
        (np.zeros((4, 3)), {}, r"\(n, j, 3\), got shape \(4, 3\)"),
        (np.zeros((4, 0, 3)), {}, r"\(n, j, 3\)"),
        (np.zeros((4, 5, 2)), {}, r"\(n, j, 3\)"),
        (np.full((4, 5, 3), np.nan), {}, "finite"),
        (np.zeros((4, 5, 3)), {"min_distance": 0.0}, "min_distance must be above 0"),
        (np.zeros((4, 5, 3)), {"min_distance": np.nan}, "min_distance must be above 0"),
        (np.zeros((4, 5, 3)), {"max_kept": 0}, "max_kept must be 1 or more"),
    ],
)
def test_nonsense_is_refused(positions: np.ndarray, options: dict[str, float], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        thin_poses(positions, **options)  # type: ignore[arg-type]


def test_cmu_poses_are_thinned(shared_data: Callable[[str], Path]) -> None:
    files = clip_files(shared_data("cmu_bvh"))[::200]
    positions = np.concatenate([joint_positions(retarget(read_bvh(path)).rotations) for path in files])
    kept = thin_poses(positions)
    assert 0.1 < len(kept) / len(positions) < 0.98
    chosen = positions[kept[:150]]
    gaps = np.linalg.norm(chosen[:, None] - chosen[None], axis=-1).max(axis=-1)
    assert gaps[~np.eye(len(chosen), dtype=bool)].min() >= 0.05 - 1e-6
    for dropped in np.setdiff1d(np.arange(len(positions)), kept)[:50]:
        assert np.linalg.norm(positions[kept] - positions[dropped], axis=-1).max(axis=1).min() < 0.05 + 1e-6
