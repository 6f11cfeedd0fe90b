"""Fixtures for all tests."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

pytest_plugins = ["support.limits"]

TOP = Path(__file__).resolve().parent.parent
SHARED_DATA = TOP.parent / "shared" / "data"


os.environ.setdefault("DEPTHFOREST_WARM_UP", "0")  # commands in tests start no processes of their own

# the same examples in every run: a change fails because of what it changes
settings.register_profile("same", derandomize=True)
settings.load_profile("same")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # workers of xdist and jobs of a shell's background would not hear Ctrl-C, which some tests send, nor would what
    # they start
    signal.signal(signal.SIGINT, signal.default_int_handler)


FIRST = (
    "commands/test_cli.py", "training/test_checkpoints.py", "synth/test_production.py", "commands/test_label.py",
    "training/test_run.py", "commands/test_train.py", "project/test_docs.py", "synth/test_generator.py",
    "joints/test_fit.py", "project/test_fuzz_models.py", "people/test_background.py", "labeling/test_labeling.py",
    "project/test_install.py", "project/test_plain_python.py", "synth/test_outside_judge.py",
    "synth/bodies/test_makehuman.py",
)  # fmt: skip
"""Files that workers take first, the longest, so that none begins one when the others end.

The first two compile most kernels, and not the same: one those that label, the other those that make scenes and train.
Side by side, each is compiled once; for an order that mixes them, two workers compile the same at the same time.
"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the files of `FIRST` first; `--no-loadscope-reorder` of the Makefile lets workers keep the order."""
    place = {TOP / "tests" / name: number for number, name in enumerate(FIRST)}
    items.sort(key=lambda item: place.get(item.path, len(place)))


@pytest.fixture
def shared_data() -> Callable[[str], Path]:
    """Return a finder of real data that is never committed; the test is skipped where it is missing."""

    def find(name: str) -> Path:
        path = SHARED_DATA / name
        if not path.exists():
            pytest.skip(f"needs shared/data/{name} beside the checkout, which is not distributed")
        return path

    return find
