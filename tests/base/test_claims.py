import os
import subprocess
import sys

import pytest
from support.bounded import started

from depthforest.base import claims
from depthforest.base.claims import Change, ClaimedFolder
from depthforest.base.errors import DatasetError, DepthForestError, UsageError
from depthforest.base.files import json_bytes

IDENTITY = {"seed": 1, "data": {"frames": 3}}


class Basket(ClaimedFolder):
    RECORD = "inner/basket.json"
    ERROR = DatasetError

    def _refuse(self, change):
        raise UsageError(f"made with another thing ({change})")

    def _refuse_others(self):
        if self.path.is_dir() and any(self.path.iterdir()):
            raise UsageError("holds other things")


class LastFirstBasket(Basket):
    def _order(self, keys):
        return reversed(list(keys))


def begun(path):
    basket = Basket(path)
    assert basket.check(IDENTITY) is None
    basket.claim(json_bytes(IDENTITY))
    return basket


def test_a_folder_is_claimed_and_gone_on_with(tmp_path):
    path = tmp_path / "a" / "out"
    basket = begun(path)
    assert (path / "inner" / "basket.json").read_text() == '{\n "seed": 1,\n "data": {\n  "frames": 3\n }\n}\n'
    assert not basket.has("apple")
    basket.keep("apple", b"red")
    again = Basket(str(path))
    assert again.check(IDENTITY) == IDENTITY
    assert again.has("apple")
    assert (path / "apple").read_bytes() == b"red"


def test_to_check_writes_nothing(tmp_path):
    Basket(tmp_path / "out").check(IDENTITY)
    assert not list(tmp_path.iterdir())


def test_other_runs_are_refused_with_the_first_thing_that_differs(tmp_path):
    begun(tmp_path)
    for identity, words in (
        (IDENTITY | {"seed": 2}, "seed was 1, now 2"),
        ({"seed": 1}, "another data"),
        (IDENTITY | {"data": None}, "another data"),
        ({"seed": 2, "data": 3}, "seed was 1, now 2"),
        ({"depth": 5, **IDENTITY}, "depth was not given, now 5"),
    ):
        with pytest.raises(UsageError) as caught:
            Basket(tmp_path).check(identity)
        assert str(caught.value) == f"made with another thing ({words})"
    with pytest.raises(UsageError, match="another data"):
        LastFirstBasket(tmp_path).check({"seed": 2, "data": 3})
    # a missing value and none are the same: fields that came later change nothing
    assert Basket(tmp_path).check({**IDENTITY, "test": None}) == IDENTITY


def test_a_difference_in_words():
    assert str(Change("parts", ["a"], ["b"])) == "another parts"
    assert str(Change("n", None, 3)) == "n was not given, now 3"


def test_other_things_are_left_alone(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(UsageError, match="holds other things"):
        Basket(tmp_path).check(IDENTITY)


def test_troubles_of_the_system_are_one_line(tmp_path):
    with pytest.raises(DatasetError, match="cannot be made a folder: file name too long"):
        Basket(tmp_path / ("x" * 300)).check(IDENTITY)
    (tmp_path / "file").touch()
    basket = Basket(tmp_path / "file")
    basket.check(IDENTITY)
    with pytest.raises(DepthForestError, match="cannot be made a folder"):
        basket.claim(b"")
    begun(tmp_path / "out")
    (tmp_path / "out" / "inner" / "basket.json").write_text("{")
    with pytest.raises(DatasetError, match=r"basket\.json: is not valid JSON"):
        Basket(tmp_path / "out").check(IDENTITY)


def test_leftovers_go_and_nothing_else(tmp_path):
    basket = begun(tmp_path)
    kept = {tmp_path / "a.part", tmp_path / ".hidden", tmp_path / "inner" / "basket.json"}
    for path in (tmp_path / "a.part", tmp_path / ".hidden", tmp_path / ".1.part", tmp_path / "inner" / ".2.part"):
        path.touch()
    basket.remove_leftovers()
    assert {path for path in tmp_path.rglob("*") if path.is_file()} == kept


def test_the_record_can_be_durable(tmp_path, monkeypatch):
    asked, real = [], claims.replacing

    def replacing(path, *, is_durable):
        asked.append((path.name, is_durable))
        return real(path, is_durable=is_durable)

    monkeypatch.setattr(claims, "replacing", replacing)
    begun(tmp_path / "one")
    Basket(tmp_path / "two").claim(b"{}", is_durable=True)
    assert asked == [("basket.json", False), ("basket.json", True)]


HOLD = """
import sys, time
from depthforest.io.writing import FolderStore
FolderStore(sys.argv[1]).lock()
print("locked", flush=True)
time.sleep(600)
"""


@pytest.mark.skipif(os.name != "posix", reason="Windows has no locks of folders")
def test_a_folder_that_another_process_writes_is_refused(tmp_path):
    with started([sys.executable, "-c", HOLD, tmp_path], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "locked\n"
        with pytest.raises(DepthForestError, match="another run is writing there; wait until it has ended"):
            Basket(tmp_path).lock()
    basket = Basket(tmp_path)
    basket.lock()
    basket.lock()
    basket.unlock()
    basket.unlock()
    assert list(tmp_path.iterdir()) == []
