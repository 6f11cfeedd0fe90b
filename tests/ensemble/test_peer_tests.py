"""scikit-learn's own tests against ours (`tools/peer_tests.py`), and how that tool reads and compares."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
import sklearn

TOOL = Path(__file__).resolve().parents[2] / "tools" / "peer_tests.py"


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("peer_tests", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def has_tests():
    return (Path(sklearn.__file__).parent / "ensemble" / "tests" / "test_forest.py").exists()


@pytest.mark.slow
@pytest.mark.skipif(not has_tests(), reason="this scikit-learn has no tests")
def test_scikit_learns_tests_fail_only_as_expected():
    done = subprocess.run([sys.executable, TOOL], capture_output=True, text=True, check=False, timeout=3600)
    assert done.returncode == 0, done.stdout[-5000:]


def test_imports_are_rewritten_and_private_ones_stay(tool):
    text = (
        "from sklearn import clone, tree\nfrom sklearn.ensemble import (\n    A,\n)\nfrom sklearn.tree._tree import B\n"
    )
    wanted = "from sklearn import clone\nimport judged_tree as tree\nfrom judged_ensemble import (\n    A,\n)\n"
    assert tool.rewritten(text) == wanted + "from sklearn.tree._tree import B\n"


def test_what_differs_from_the_table(tool):
    found = {"a.py::t[1]": "failed", "a.py::t[2]": "passed", "a.py::u[1]": "failed", "a.py::v": "passed"}
    assert tool.differences(found, {"a.py::t[1]": "private", "a.py::u": "wording"}) == []
    assert tool.differences(found, {"a.py::u": "wording", "a.py::v": "design"}) == [
        "does not fail, but is named: a.py::v",
        "fails: a.py::t[1]",
    ]
    assert tool.shortened(found) == ["a.py::t[1]", "a.py::u"]
    assert "2 of 4 tests pass, 2 fail (1 ?, 1 private)" in tool.summary(found, {"a.py::u": "private"})


def test_the_table_has_reasons(tool):
    """Nothing is without a reason, and no more than 60 entries differ by design."""
    _, expected = tool.read_table()
    assert set(expected.values()) <= set(tool.REASONS)
    assert sum(reason == "design" for reason in expected.values()) <= 60
