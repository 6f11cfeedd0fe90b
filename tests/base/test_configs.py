import subprocess
import sys
from dataclasses import FrozenInstanceError, dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from depthforest.base.configs import TomlConfig
from depthforest.base.errors import UsageError


class GardenError(UsageError):
    pass


@dataclass(frozen=True)
class Garden(TomlConfig):
    ERROR = GardenError
    OPEN = ("names",)

    trees: int = 3
    shade: float = 0.5
    kind: str = "wild"
    size: tuple[float, float] = (1.0, 2.0)
    names: tuple[str, ...] = ()

    def __post_init__(self):
        super().__post_init__()
        self._check_ranges(("trees", 1, 9), ("shade", 0, 1), ("size", 0, 100.5))
        self._check_choice("kind", ("wild", "tame"))


def test_it_saves_and_loads(tmp_path):
    garden = Garden(5, 1 / 3, "tame", (0.25, 7), ("a", 'b "c" \\d'))
    assert garden.to_toml() == (
        'trees = 5\nshade = 0.3333333333333333\nkind = "tame"\nsize = [0.25, 7.0]\nnames = ["a", "b \\"c\\" \\\\d"]\n'
    )
    garden.save(tmp_path / "g.toml")
    assert Garden.load(tmp_path / "g.toml") == garden
    assert Garden.from_dict(garden.to_dict()) == garden
    assert Garden.from_toml("trees = 4") == Garden(4)
    assert Garden.known_keys() == list(garden.to_dict())


@given(st.integers(1, 9), st.floats(0, 1), st.lists(st.text(st.characters(categories=("L", "P")))))
def test_every_value_survives(trees, shade, names):
    garden = Garden(trees=trees, shade=shade, names=names)
    assert Garden.from_toml(garden.to_toml()) == garden
    assert isinstance(garden.names, tuple)


def test_numbers_take_the_type_of_their_default():
    garden = Garden(trees=4.0, shade=1)
    assert (type(garden.trees), type(garden.shade)) == (int, float)
    with pytest.raises(FrozenInstanceError):
        garden.trees = 2


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"trees": 10}, "trees must be from 1 to 9, got 10"),
        ({"trees": 1.5}, "trees must be a whole number, got 1.5"),
        ({"trees": True}, "trees must be a finite number, got True"),
        ({"trees": 10**30}, "trees is a whole number of more than 64 bits; it is far too large"),
        ({"shade": 10**400}, "shade is a whole number of more than 64 bits; it is far too large"),
        ({"shade": float("nan")}, "shade must be a finite number, got nan"),
        ({"kind": 3}, "kind must be text, got 3"),
        ({"kind": "old"}, "kind must be one of wild, tame; got 'old'"),
        ({"size": (1.0,)}, "size must have 2 entries, got 1"),
        ({"size": "ab"}, "size must be a list, got 'ab'"),
        ({"size": (1.0, 101)}, "size must be from 0 to 100.5, got 101.0"),
        ({"names": (1,)}, "names must be text, got 1"),
        ({"b": 1, "a": 2}, "unknown keys a, b; known are trees, shade, kind, size, names"),
        ([1], "expected keys and values, got [1]"),
    ],
)
def test_nonsense_is_refused(content, message):
    with pytest.raises(GardenError) as caught:
        Garden.from_dict(content, "my garden")
    assert str(caught.value) == f"my garden: {message}"


def test_bad_files_are_one_line(tmp_path):
    for content, message in (
        (b"trees = ", "is not valid TOML"),
        (b"trees = 1" + b"0" * 5000, "is not valid TOML"),
        (b"kind = '\xff'", "is not UTF-8 text"),
        (b"", "is empty"),
    ):
        (tmp_path / "g.toml").write_bytes(content)
        with pytest.raises(GardenError, match=rf"g\.toml: {message}"):
            Garden.load(tmp_path / "g.toml")
    with pytest.raises(GardenError, match="cannot be saved; use printable text"):
        Garden(names=("a\nb",)).to_toml()


def test_it_is_light():
    code = "import sys, depthforest.base.configs; print(*[m for m in ('numpy', 'numba', 'cv2') if m in sys.modules])"
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, check=True, text=True, timeout=600
        ).stdout.strip()
        == ""
    )


@pytest.mark.parametrize("text", ["a = " + "[" * 100_000, "a = " + "9" * 5000])
def test_endless_toml_is_refused(text):
    with pytest.raises(UsageError, match="is not valid TOML"):
        TomlConfig.from_toml(text)
