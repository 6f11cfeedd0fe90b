import json
import os
from copy import deepcopy

import pytest
from support.striped import record

from depthforest.base import claims
from depthforest.base.errors import DepthForestError, UsageError
from depthforest.compare import folder as comparefolder
from depthforest.compare.folder import CompareFolder

SETTINGS = {"pixels": 10, "data": {"frames": 3}, "parts": ["a", "b"]}


def begun(path):
    folder = CompareFolder(path, SETTINGS)
    folder.begin()
    return folder


def test_learners_are_kept_and_come_in_the_order_of_the_table(tmp_path):
    folder = begun(tmp_path / "out")
    assert folder.results() == []
    for name in ("stacking", "bagging"):
        folder.keep_result(name, record(name, 0.5))
    again = CompareFolder(tmp_path / "out", SETTINGS)
    assert again.results() == [record("bagging", 0.5), record("stacking", 0.5)]
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


@pytest.mark.parametrize("stopped", ["make_folder", "replacing"])
@pytest.mark.parametrize("number", [1, 2])
def test_a_folder_that_was_stopped_at_any_moment_is_taken_again(tmp_path, monkeypatch, stopped, number):
    real, calls = getattr(claims, stopped), []

    def stop(*given, **options):
        calls.append(given)
        if len(calls) == number:
            raise KeyboardInterrupt
        return real(*given, **options)

    with monkeypatch.context() as patched:
        patched.setattr(claims, stopped, stop)
        if stopped == "make_folder":
            patched.setattr(comparefolder, stopped, stop)
        folder = CompareFolder(tmp_path / "out", SETTINGS)
        try:
            folder.begin()
            folder.keep_result("bagging", record("bagging", 0.5))
        except KeyboardInterrupt:
            pass
    assert len(calls) == number
    begun(tmp_path / "out").keep_result("bagging", record("bagging", 0.5))


def test_what_a_killed_run_left_half_written_is_removed(tmp_path):
    begun(tmp_path).unlock()
    for place in (tmp_path, tmp_path / "learners"):
        (place / ".0123456789ab.part").write_text("half")
    (tmp_path / ".mine").write_text("mine")
    begun(tmp_path).unlock()
    assert {path.name for path in tmp_path.rglob("*")} == {".mine", "learners", "settings.json"}


def test_a_folder_is_of_one_run_at_a_time(tmp_path):
    fcntl = pytest.importorskip("fcntl")
    other = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(other, fcntl.LOCK_EX)
    with pytest.raises(DepthForestError, match="another run is writing there; wait until it has ended, or name"):
        begun(tmp_path)
    assert list(tmp_path.iterdir()) == []
    os.close(other)
    folder, late = CompareFolder(tmp_path, SETTINGS), CompareFolder(tmp_path, SETTINGS | {"pixels": 20})
    folder.begin()
    folder.unlock()
    with pytest.raises(UsageError, match="pixels was 10, now 20"):  # seen before the other run began
        late.begin()


def test_hidden_files_are_nobodys(tmp_path):
    """A file that was half written when the power went, or the system's."""
    for name in (".0123456789ab.part", ".DS_Store"):
        (tmp_path / name).write_text("x")
    assert begun(tmp_path).results() == []


def damaged():
    """Yield records with one thing wrong, and its name."""
    for keys, value in (
        (("name",), "other"), (("family",), "nobody"), (("family",), None), (("library",), 3), (("unit",), None),
        (("is_over",), 1), (("size",), "4"), (("size",), 0), (("size",), True), (("chosen",), 2), (("chosen",), -1),
        (("chosen",), 1.0), (("chosen",), None), (("fits",), []), (("fits",), {}), (("fits", 0), 7),
        (("fits", 0, "n"), None), (("fits", 1, "bytes"), 2.5), (("fits", 1, "fit_seconds"), "1"),
        (("fits", 1, "predict_seconds"), float("nan")), (("fits", 1, "class_accuracies"), [0.5]),
        (("fits", 1, "class_accuracies"), [0.5, "x"]), (("fits", 1, "class_accuracies"), None),
        (("fits", 1, "pixel_accuracy"), 0.5), (("fits", 0, "mean_class_accuracy", "value"), None),
        (("fits", 1, "mean_class_accuracy", "low"), True),
    ):  # fmt: skip
        content = deepcopy(record("bagging", 0.5))
        place = content
        for key in keys[:-1]:
            place = place[key]
        place[keys[-1]] = value
        yield pytest.param(content, id=f"{'.'.join(map(str, keys))}={value}")
    yield pytest.param([], id="no object")


@pytest.mark.parametrize("content", list(damaged()))
def test_a_damaged_record_is_one_line(tmp_path, content):
    folder = begun(tmp_path)
    (tmp_path / "learners" / "bagging.json").write_text(json.dumps(content))
    with pytest.raises(DepthForestError, match=r"bagging\.json: is not what compare writes; remove it, and"):
        folder.results()


def test_broken_files_are_one_line(tmp_path):
    begun(tmp_path / "out")
    (tmp_path / "out" / "settings.json").write_text("[]")
    with pytest.raises(DepthForestError, match=r"settings\.json: is not what compare writes"):
        CompareFolder(tmp_path / "out", SETTINGS)
