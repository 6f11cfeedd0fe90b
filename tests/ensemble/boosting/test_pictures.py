"""Tests of tools/boosting_pictures.py."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image

from depthforest.ensemble.adaboost.estimator import AdaBoostClassifier

pytest.importorskip("matplotlib")

TOOLS = Path(__file__).resolve().parents[3] / "tools"


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(TOOLS))
    return importlib.import_module("boosting_pictures")


def test_a_picture_is_written_in_the_width_of_a_page(tool: Any, tmp_path: Path) -> None:
    learners = SimpleNamespace(AdaBoostClassifier=AdaBoostClassifier)
    importlib.import_module("ensemble_pictures").make_pictures(
        learners, tmp_path, ["boosting_ada_weights"], tool.MAKERS
    )
    with Image.open(tmp_path / "boosting_ada_weights.png") as picture:
        assert 1100 < picture.width < 1500
        assert np.asarray(picture.convert("L")).std() > 10


def test_noise_turns_labels_over(tool: Any) -> None:
    x, y = tool.two_moons(4000, 0)
    same, turned = tool.with_noise((x, y), 1)
    np.testing.assert_array_equal(same, x)
    assert set(turned) == set(y)
    assert np.mean(turned != y) == pytest.approx(tool.NOISE, abs=0.02)


def test_an_unknown_picture_is_refused(tool: Any, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        tool.main(["boosting_newton"], tool.MAKERS)
    assert "no picture is called boosting_newton: choose of boosting_ada_rounds," in capsys.readouterr().err
