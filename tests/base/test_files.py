import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from depthforest.base.errors import DepthForestError, FrameError
from depthforest.base.files import make_folder, natural_key, read_bytes, replacing


def test_a_person_counts_like_this():
    names = ["f10", "f9", "F1", "f01b", "a", "10", "9", "f2.png", "f2-1.png"]
    assert sorted(names, key=natural_key) == ["9", "10", "a", "F1", "f01b", "f2-1.png", "f2.png", "f9", "f10"]


@given(st.lists(st.text()))
def test_any_names_can_be_sorted(names):
    backwards = list(reversed(names))
    assert sorted(names, key=natural_key) == sorted(backwards, key=natural_key)


def test_a_file_appears_whole_or_not_at_all(tmp_path):
    path = tmp_path / "a.bin"
    with replacing(path) as file:
        file.write(b"new")
        assert not path.exists()
    assert path.read_bytes() == b"new"

    def fail():
        with replacing(path) as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert path.read_bytes() == b"new"
    assert [f.name for f in tmp_path.iterdir()] == ["a.bin"]


def test_a_full_disk_is_one_clear_line():
    with pytest.raises(DepthForestError, match="cannot be written"), replacing("/proc/none") as file:
        file.write(b"x")


def test_reading_says_what_is_wrong(tmp_path):
    with pytest.raises(FrameError, match="cannot be read: is a directory"):
        read_bytes(tmp_path, FrameError)
    (tmp_path / "a").touch()
    with pytest.raises(FrameError, match="is empty"):
        read_bytes(tmp_path / "a", FrameError)
    with pytest.raises(DepthForestError, match="cannot be made a folder: "):
        make_folder(tmp_path / "a" / "b")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DepthForestError, match="is a pipe, no file"):
        read_bytes(tmp_path / "pipe", DepthForestError)
