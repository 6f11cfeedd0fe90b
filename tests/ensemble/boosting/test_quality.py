"""Boosting is as right as scikit-learn's, XGBoost's and LightGBM's at equal settings, within noise."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

DEVIATIONS, PRACTICAL = 2, 0.05
"""Standard errors of the mean difference, and beside them this share of the loss, that ours may lie above the best."""

NAMES = ["wine", "breast cancer", "digits", "diabetes", "generated classes", "friedman", "spirals", "noisy labels"]


@pytest.fixture(scope="module")
def benchmark():
    """Return the benchmark, whose sets and models these are."""
    path = Path(__file__).resolve().parents[3] / "benchmarks" / "boosting_quality.py"
    spec = importlib.util.spec_from_file_location("boosting_quality", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def sets(benchmark):
    return {data.name: data for data in benchmark.all_sets()}


def check(benchmark, data, kind):
    found = benchmark.losses(data, kind)
    assert all(len(values) == benchmark.N_SEEDS for values in found.values())
    assert len(found) > 1
    best, gap, error = benchmark.behind(found)
    assert gap < DEVIATIONS * error + PRACTICAL * found[best].mean(), (best, found)
    # and all of them learn: more than guessing by shares, or by the mean
    shares = np.bincount(data.y) / len(data.y) if not data.is_number else None
    guess = np.var(data.y) if data.is_number else -(shares * np.log(shares)).sum()
    assert found["ours"].mean() < 0.85 * guess


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_newton_boosting_is_as_good_as_the_best(benchmark, sets, name):
    pytest.importorskip("xgboost")
    pytest.importorskip("lightgbm")
    check(benchmark, sets[name], "newton")


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_gradient_boosting_is_as_good_as_scikit_learns(benchmark, sets, name):
    check(benchmark, sets[name], "gradient")
