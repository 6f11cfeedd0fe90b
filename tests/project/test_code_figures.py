"""`make lint` notices functions that are too long or too wide."""

import importlib.util
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def figures():
    spec = importlib.util.spec_from_file_location("code_figures", TOP / "tools" / "code_figures.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where its dataclass looks for it
    try:
        spec.loader.exec_module(module)
        yield module
    finally:
        del sys.modules[spec.name]


def over(figures, tmp_path, source):
    """Return the names of a module's functions that are over the limits."""
    (tmp_path / "depthforest").mkdir()
    (tmp_path / "depthforest" / "one.py").write_text(source)
    return [one.name for one in figures.functions(tmp_path) if one.is_over]


WIDE = ", ".join(f"a{i}" for i in range(17))
LONG = "def long():\n" + "    x = 1\n" * 60
STORED = "\n".join(f"        self.a{i} = a{i}" for i in range(17))


@pytest.mark.parametrize(
    ("source", "names"),
    [
        (LONG, ["long"]),
        ("def long():\n" + "    x = 1\n" * 59, []),
        ('def long():\n    """' + "A\n" * 70 + '    """\n    return 1\n', []),  # a docstring does not count
        (f"def wide({WIDE}):\n    return a0\n", ["wide"]),
        (f"class A:\n    def wide(self, {WIDE[: WIDE.rindex(',')]}):\n        return a0\n", []),
        (f"# 17 arguments: a tuple costs 7 %\ndef wide({WIDE}):\n    return a0\n", []),
        (f"# no figure\ndef wide({WIDE}):\n    return a0\n", ["wide"]),
        (f"class A:\n    def __init__(self, {WIDE}):\n{STORED}\n", []),  # what users set
        (f"@app.command()\ndef wide({WIDE}):\n    return a0\n", []),
        (f"@kernel\ndef wide({WIDE}):\n    return a0\n", ["wide"]),
    ],
)
def test_what_is_over_the_limits(figures, tmp_path, source, names):
    assert over(figures, tmp_path, source) == names


def test_a_longer_command_is_over_by_its_body(figures, tmp_path):
    assert over(figures, tmp_path, "@app.command()\n" + LONG + "    x = 2\n") == ["long"]
