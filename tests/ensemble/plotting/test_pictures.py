"""Tests of tools/ensemble_pictures.py, with scikit-learn's trees, and of the colors that the pictures use."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sklearn.tree
from PIL import Image

from depthforest.ensemble.plotting.canvas import CLASS_COLORS

pytest.importorskip("matplotlib")

TOOLS = Path(__file__).resolve().parents[3] / "tools"


def loaded(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, TOOLS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def tool() -> Any:
    return loaded("ensemble_pictures")


def test_class_colors_are_apart_for_every_eye() -> None:
    rgb = np.array([[int(color[i : i + 2], 16) for i in (1, 3, 5)] for color in CLASS_COLORS], dtype=float)
    apart = loaded("choose_colors").distances(rgb)[1] + np.diag([np.inf] * len(rgb))
    assert apart.min() > 10
    assert apart[:3, :3].min() > 12


def test_the_arms_of_the_spiral_are_half_a_turn_apart(tool: Any) -> None:
    x, y = tool.two_spirals(4000, 3)
    radius = np.hypot(*x.T)
    outer = radius > 4  # where the noise is small against an arm's angle
    turned = (np.arctan2(x[:, 1], x[:, 0]) - radius - np.pi * (y == "second")) % (2 * np.pi)
    assert set(y) == {"first", "second"}
    assert np.mean(np.cos(turned[outer])) > 0.5
    assert radius.max() < 4 * np.pi + 5


def test_a_picture_is_written_in_the_width_of_a_page(tool: Any, tmp_path: Path) -> None:
    tool.make_pictures(sklearn.tree, tmp_path / "new", ["ensemble_tree"])
    with Image.open(tmp_path / "new" / "ensemble_tree.png") as picture:
        assert 1100 < picture.width < 1500
        assert np.asarray(picture.convert("L")).std() > 10


def test_an_unknown_picture_is_refused(tool: Any, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        tool.main(["ensemble_forest"])
    assert "no picture is called ensemble_forest: choose of ensemble_tree," in capsys.readouterr().err
