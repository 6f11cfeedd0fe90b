import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from support.striped import RECORDS

from depthforest.compare import plots as compareplots
from depthforest.compare.plots import draw_plots, spread_out

pytest.importorskip("matplotlib")


@given(st.lists(st.floats(0, 1), max_size=20))
def test_names_keep_their_order_and_distance_and_stay_inside(places):
    moved = spread_out(places, 0.05)
    order = np.argsort(places, kind="stable")
    steps = np.diff(np.array(moved)[order]) if places else np.zeros(0)
    assert (steps >= 0.05 - 1e-9).all()
    assert all(-1e-9 <= place <= 1 + 1e-9 for place in moved)


def test_names_that_are_apart_stay_where_they_are():
    assert spread_out([0.9, 0.1, 0.5], 0.05) == [0.9, 0.1, 0.5]
    assert spread_out([0.5, 0.5], 0.1) == pytest.approx([0.45, 0.55])


def test_four_pictures_are_written(tmp_path):
    paths = draw_plots(tmp_path, RECORDS, ["a", "b"])
    assert [p.name for p in paths] == [
        "compare_accuracy_time.png", "compare_accuracy_size.png", "compare_frame_time.png", "compare_parts.png",
    ]  # fmt: skip
    for path in paths:
        assert np.asarray(Image.open(path).convert("L")).std() > 5


def test_lines_and_bars_hold_the_figures():
    time = compareplots.accuracy_time(RECORDS).axes[0]
    assert [line.get_xydata().tolist() for line in time.lines] == [[[0.5, 0.05], [1.5, m]] for m in (0.5, 0.25)]
    assert [text.get_text() for text in time.texts] == ["random-forest", "bagging"]
    size = compareplots.accuracy_size(RECORDS).axes[0]
    assert [line.get_xydata().tolist() for line in size.lines] == [[[2.5, m]] for m in (0.5, 0.25)]
    bars = compareplots.frame_time(RECORDS).axes[0].patches
    assert [bar.get_width() for bar in bars] == [12.5, 12.5]
    (parts,) = compareplots.part_bars(RECORDS, ["a", "b"]).axes
    assert parts.get_title().startswith("random-forest")
    assert parts.patches[0].get_width() == 0.5


def test_without_matplotlib_or_learners_there_are_none(tmp_path, monkeypatch):
    assert draw_plots(tmp_path, [], ["a"]) == []
    monkeypatch.setattr(compareplots, "find_spec", lambda _: None)
    assert draw_plots(tmp_path, RECORDS, ["a", "b"]) == []
    assert list(tmp_path.iterdir()) == []
