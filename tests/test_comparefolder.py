import json

import pytest

from depthforest.comparefolder import CompareFolder
from depthforest.errors import DepthForestError, UsageError

SETTINGS = {"pixels": 10, "data": {"frames": 3}}


def begun(path):
    folder = CompareFolder(path, SETTINGS)
    folder.begin()
    return folder


def test_learners_are_kept_and_come_in_the_order_of_the_table(tmp_path):
    folder = begun(tmp_path / "out")
    assert folder.results() == []
    for name in ("stacking", "bagging"):
        folder.keep(name, {"name": name, "fits": []})
    again = CompareFolder(tmp_path / "out", SETTINGS)
    assert [record["name"] for record in again.results()] == ["bagging", "stacking"]
    assert not list((tmp_path / "out").rglob("*.part"))


def test_other_settings_are_refused_with_what_differs(tmp_path):
    begun(tmp_path / "out")
    with pytest.raises(UsageError, match=r"out: was made with other settings \(pixels was 10, now 20\); name another"):
        CompareFolder(tmp_path / "out", SETTINGS | {"pixels": 20})
    with pytest.raises(UsageError, match=r"other settings \(another data\)"):
        CompareFolder(tmp_path / "out", SETTINGS | {"data": {"frames": 4}})


def test_folders_of_other_origin_are_left_alone(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(UsageError, match="is there already, and not from compare"):
        CompareFolder(tmp_path, SETTINGS)
    with pytest.raises(UsageError, match=r"mine\.txt: is there already, and not from compare"):
        CompareFolder(tmp_path / "mine.txt", SETTINGS)
    (tmp_path / "empty").mkdir()
    begun(tmp_path / "empty")


def test_broken_files_are_one_line(tmp_path):
    folder = begun(tmp_path / "out")
    (tmp_path / "out" / "learners" / "bagging.json").write_text(json.dumps({"name": "other", "fits": []}))
    with pytest.raises(DepthForestError, match=r"bagging\.json: is not what compare writes; remove it"):
        folder.results()
    (tmp_path / "out" / "settings.json").write_text("[]")
    with pytest.raises(DepthForestError, match=r"settings\.json: is not what compare writes"):
        CompareFolder(tmp_path / "out", SETTINGS)
