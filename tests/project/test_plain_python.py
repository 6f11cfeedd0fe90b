"""Kernels without the compiler; a file of its own, so that a worker runs it beside the environments of test_install."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]

PLAIN = (
    "io/test_formats", "synth/scene/test_skinning", "synth/scene/test_rendering", "synth/sensors/test_sensing",
    "synth/poses/test_diversity", "synth/scene/test_composing",
)  # fmt: skip


@pytest.mark.slow
def test_kernels_pass_as_plain_python():
    """Plain Python checks what kernels don't: an index past the end raises."""
    files = [f"tests/{name}.py" for name in PLAIN]
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files]
    done = subprocess.run(command, cwd=TOP, env=environment, capture_output=True, text=True, check=False, timeout=3600)
    assert done.returncode == 0, done.stdout[-3000:]
