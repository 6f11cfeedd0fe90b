"""Boosting lowers bias and bagging variance, by the module's own analysis."""

import importlib.util
from pathlib import Path

import pytest

SIZES = (1, 6, 24)


@pytest.fixture(scope="module")
def tool():
    path = Path(__file__).resolve().parents[3] / "tools" / "boosting_bias_variance.py"
    spec = importlib.util.spec_from_file_location("boosting_bias_variance", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_bias_falls_with_boosting_and_variance_with_bagging(tool):
    boosted, bagged = tool.decompositions(SIZES, n_rounds=8).values()
    biases = [part.bias for part in boosted]
    assert biases[0] > 1.5 * biases[1] > 3 * biases[2]
    assert boosted[2].variance > boosted[0].variance  # at the price of some variance
    variances = [part.variance for part in bagged]
    assert variances[0] > 3 * variances[1] > 4 * variances[2]
    assert bagged[2].bias == pytest.approx(bagged[0].bias, rel=0.3)
    for parts in (boosted, bagged):
        assert all(part.error == pytest.approx(part.bias + part.variance + part.noise) for part in parts)
        assert parts[2].error < parts[0].error / 2


def test_the_picture_is_drawn(tool, tmp_path):
    pytest.importorskip("matplotlib")
    tool.draw(tmp_path / "new" / "picture.png", sizes=(1, 2), n_rounds=2)
    assert (tmp_path / "new" / "picture.png").stat().st_size > 5000
