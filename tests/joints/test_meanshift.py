import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import naive_joints as naive

from depthforest.joints.finding import EXACT, FAST, pack_clusters, seek_modes
from depthforest.joints.meanshift import LANES, MAX_MODES, MAX_PAIRS, MODE_FIELDS, _falloff, _make_starts
from depthforest.joints.params import ClusterParameters


def blobs(rng, n, n_blobs, spread=0.04):
    """Return points around some places two meters before the camera, the surface of each, and shares of three parts."""
    centers = rng.uniform((-0.5, -0.5, 1.8), (0.5, 0.5, 2.2), (n_blobs, 3))
    points = centers[rng.integers(0, n_blobs, n)] + rng.normal(0, spread, (n, 3))
    shares = rng.dirichlet((0.5, 0.5, 0.5), n)
    return points.astype(np.float32), rng.uniform(1e-5, 1e-4, n).astype(np.float32), shares.astype(np.float32)


def twin(points, areas, shares, labels, parameters, settings):
    share = shares[:, list(labels)].astype(np.float64).sum(axis=1)
    kept = (share >= parameters.threshold) & (share > 0)
    weights = (share * areas)[kept].tolist()
    return naive.modes(
        points[kept].astype(float).tolist(), weights, areas[kept].tolist(), parameters.bandwidth_m, *settings,
        MAX_MODES, LANES,
    )  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(0, 60),
    n_blobs=st.integers(1, 4),
    bandwidth=st.sampled_from([0.03, 0.065, 0.15]),
    threshold=st.sampled_from([0.0, 0.2, 0.9]),
    chosen=st.sampled_from([FAST, EXACT, (0.0, 0.0001, 40)]),
)
def test_modes_are_those_of_the_twin(seed, n, n_blobs, bandwidth, threshold, chosen):
    points, areas, shares = blobs(np.random.default_rng(seed), n, n_blobs)
    groups = {"a": (0,), "b": (1, 2)}
    parameters = [ClusterParameters(bandwidth, threshold), ClusterParameters(2 * bandwidth, threshold / 2)]
    modes, counts = seek_modes(points, areas, shares, pack_clusters(groups, parameters), chosen)
    for c, labels in enumerate(groups.values()):
        expected = twin(points, areas, shares, labels, parameters[c], chosen)
        ends_apart = [np.linalg.norm(np.subtract(a[0], b[0])) for a in expected for b in expected if a is not b]
        assert counts[c] == len(expected)
        # equal areas may come in another order: compare as sets, nearest first
        for position, area, purity, spread in expected:
            nearest = np.argmin(np.linalg.norm(modes[c, : counts[c], :3] - position, axis=1))
            mode = dict(zip(MODE_FIELDS, modes[c, nearest].tolist(), strict=True))
            assert (mode["x"], mode["y"], mode["z"]) == pytest.approx(position, abs=0.001)
            assert mode["area"] == pytest.approx(area, rel=1e-4)
            assert mode["purity"] == pytest.approx(purity, rel=1e-4)
            assert mode["spread"] == pytest.approx(spread, abs=0.001)
        assert not ends_apart or min(ends_apart) > parameters[c].bandwidth_m
        assert (np.diff(modes[c, : counts[c], 3]) <= 0).all()


def test_falloff_is_the_exponential():
    for u in np.linspace(0, 16, 2001):
        assert _falloff(np.float32(u)) == pytest.approx(np.exp(-np.float32(u)), abs=2e-6)
    assert _falloff(np.float32(1e9)) == pytest.approx(np.exp(-16), rel=0.02)


def test_planted_modes_are_found_with_the_surface_that_leads_there():
    rng = np.random.default_rng(3)
    centers = np.array([(0.0, 0.0, 2.0), (0.4, 0.1, 2.1)])
    points = np.concatenate([center + rng.normal(0, 0.02, (400 if k else 800, 3)) for k, center in enumerate(centers)])
    areas = np.full(1200, 1e-5, dtype=np.float32)
    shares = np.full((1200, 1), 0.5, dtype=np.float32)
    clusters = pack_clusters({"part": (0,)}, [ClusterParameters(0.065, 0.1)])
    for chosen in (FAST, EXACT):
        modes, counts = seek_modes(points.astype(np.float32), areas, shares, clusters, chosen)
        assert counts[0] == 2
        np.testing.assert_allclose(modes[0, :2, :3], centers, atol=0.004)
        np.testing.assert_allclose(modes[0, :2, 3], (0.004, 0.002), rtol=1e-3)
        np.testing.assert_allclose(modes[0, :2, 4], 0.5, rtol=1e-5)
        np.testing.assert_allclose(modes[0, :2, 5], 0.02 * np.sqrt(3), rtol=0.06)


def test_only_the_largest_modes_are_kept():
    n = MAX_MODES + 3
    points = np.zeros((n, 3), dtype=np.float32)
    points[:, 0], points[:, 2] = np.arange(n), 2
    areas = np.linspace(1e-4, 2e-4, n).astype(np.float32)
    clusters = pack_clusters({"part": (0,)}, [ClusterParameters(0.065, 0.0)])
    modes, counts = seek_modes(points, areas, np.ones((n, 1), dtype=np.float32), clusters, EXACT)
    assert counts[0] == MAX_MODES
    np.testing.assert_allclose(modes[0, :, 0], np.arange(n)[::-1][:MAX_MODES], atol=1e-5)


def test_no_pixels_no_modes():
    clusters = pack_clusters({"part": (0,)}, [ClusterParameters()])
    nothing = np.zeros((0, 3), np.float32), np.zeros(0, np.float32), np.zeros((0, 1), np.float32)
    assert seek_modes(*nothing, clusters, FAST)[1].tolist() == [0]


def test_no_model_makes_the_work_endless():
    """Threshold 0 and the least bandwidth: every pixel was a start that climbed over all others."""
    rng = np.random.default_rng(0)
    points = rng.uniform((-1, -1, 1.5), (1, 1, 2.5), (40_000, 3)).astype(np.float32)
    areas, shares = np.full(len(points), 1e-5, np.float32), np.ones((len(points), 1), np.float32)
    clusters = pack_clusters({"a": (0,)}, [ClusterParameters(0.005, 0.0)])
    starts = np.empty((9, len(points)), dtype=np.float32)
    own = np.concatenate((points.T, areas[None], areas[None]))
    assert _make_starts(own, len(points), np.float32(0.001), starts) == -1
    assert 0 < _make_starts(own, len(points), np.float32(0.5), starts) * len(points) <= MAX_PAIRS
    modes, counts = seek_modes(points, areas, shares, clusters, (0.2, 0.0001, 2))
    assert counts[0] == MAX_MODES
    assert np.isfinite(modes).all()
