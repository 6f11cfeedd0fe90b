"""A pytest plugin: a test that waits forever ends the process that runs it, with the stacks of all its threads.

pytest-xdist then counts that test as failed and goes on in another process.
"""

import faulthandler
import os
import sys

import pytest

SECONDS = float(os.environ.get("DEPTHFOREST_TEST_SECONDS", "900"))
"""Of one test; of those marked slow, six times as many."""

_ERRORS = pytest.StashKey[int]()


def pytest_configure(config: pytest.Config) -> None:
    """Keep the standard error of this process: tests run with another."""
    config.stash[_ERRORS] = os.dup(sys.__stderr__.fileno())


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_protocol(item: pytest.Item):
    """Bound a test with its fixtures."""
    seconds = SECONDS * (6 if item.get_closest_marker("slow") else 1)
    faulthandler.dump_traceback_later(seconds, exit=True, file=item.config.stash[_ERRORS])
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Close what was kept."""
    os.close(config.stash[_ERRORS])
