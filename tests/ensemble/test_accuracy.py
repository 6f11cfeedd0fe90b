"""The forests are as right as scikit-learn's, within noise, on real and generated sets and on depth pixels."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from sklearn import ensemble

from depthforest.ensemble.forests import estimators as forests

SEEDS = 5
DEVIATIONS = 3
"""Standard errors of the mean difference, and PRACTICAL beside them, that ours may lie below."""

PRACTICAL = 0.002


@pytest.fixture(scope="module")
def benchmark():
    """Return the benchmark, whose sets these are."""
    path = Path(__file__).resolve().parents[2] / "benchmarks" / "ensemble_speed.py"
    spec = importlib.util.spec_from_file_location("ensemble_speed", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def sets(benchmark):
    return {data.name: data for data in benchmark.all_sets(100_000)}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["RandomForest", "ExtraTrees"])
@pytest.mark.parametrize(
    "name", ["wine", "breast cancer", "digits", "generated classes", "diabetes", "friedman", "pixels"]
)
def test_scores_are_scikit_learns(benchmark, sets, name, kind):
    data = sets[name]
    n_trees = 5 if name == "pixels" else 50
    scores = np.array([
        [
            benchmark.make(library, kind, data, n_trees, 2, seed).fit(data.x, data.y).score(data.x_test, data.y_test)
            for library in (forests, ensemble)
        ]
        for seed in range(SEEDS)
    ])  # fmt: skip
    ours, theirs = scores.mean(axis=0)
    noise = np.sqrt(scores.var(axis=0, ddof=1).sum() / SEEDS)
    assert ours > theirs - DEVIATIONS * noise - PRACTICAL, (ours, theirs, noise)
    if name == "pixels":
        assert data.x.shape == (100_000, 200)
        assert len(np.unique(data.y)) == 31
        # and it learns: far above the share of the largest part
        assert ours > 2 * np.bincount(data.y_test).max() / len(data.y_test)
