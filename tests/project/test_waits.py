"""No test can wait forever: waits have limits, and a test that has none is ended by `support.limits`."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]

RUNS = {f"subprocess.{name}" for name in ("run", "call", "check_call", "check_output")}
WAITS = {"wait", "communicate", "join"}


def endless(text):
    """Return the lines of calls that may wait forever."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            is_free = not node.args and not node.keywords and isinstance(node.func, ast.Attribute)
            if (
                (name in RUNS and "timeout" not in [word.arg for word in node.keywords])
                or name == "subprocess.Popen"  # `support.bounded.started`
                or name.endswith("LocalCluster")  # `support.bounded.local_cluster`
                or (is_free and node.func.attr in WAITS)
            ):
                found.append(node.lineno)
    return found


@pytest.mark.parametrize("text", ["subprocess.run([x])", "subprocess.Popen(x)", "p.wait()", "a.b.join()"])
def test_an_endless_wait_is_seen(text):
    assert endless(text) == [1]
    assert endless("subprocess.run([x], timeout=3); p.wait(3); ','.join(x); t.join(timeout=2)") == []


def test_no_test_waits_without_a_limit():
    own = TESTS / "support" / "bounded.py"
    found = {str(path): endless(path.read_text(encoding="utf-8")) for path in TESTS.rglob("*.py") if path != own}
    assert {path: lines for path, lines in found.items() if lines} == {}


def test_a_test_that_hangs_is_ended_with_its_stack(tmp_path):
    (tmp_path / "test_endless.py").write_text("import threading\ndef test_it():\n    threading.Event().wait()\n")
    environment = os.environ | {"DEPTHFOREST_TEST_SECONDS": "0.5", "PYTHONPATH": str(TESTS)}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "support.limits",
        "-p",
        "no:cacheprovider",
        "test_endless.py",
    ]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 1
    assert "Timeout (0:00:00.5" in done.stderr
    assert "test_endless.py" in done.stderr
