"""Ctrl-C that waits for a safe point: the first is remembered, the second stops at once."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType

NOTICE = b"\nstopping at the next safe point; Ctrl-C again stops at once\n"


@contextlib.contextmanager
def patient_interrupts() -> Iterator[Callable[[], None]]:
    """Let Ctrl-C wait inside the block; yields a function that raises KeyboardInterrupt if one has come.

    The function may be called from any thread. Only the main thread gets signals, and only Python's own handler is
    replaced: elsewhere, and in programs that handle Ctrl-C themselves, nothing changes.
    """
    is_asked = threading.Event()

    def remember(_number: int, _frame: FrameType | None) -> None:
        is_asked.set()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        with contextlib.suppress(OSError, ValueError, AttributeError):
            if sys.stderr.isatty():
                # not print, which a signal may have interrupted
                os.write(sys.stderr.fileno(), NOTICE)

    def check() -> None:
        if is_asked.is_set():
            raise KeyboardInterrupt

    if (
        threading.current_thread() is not threading.main_thread()
        or signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    ):
        yield check
        return
    signal.signal(signal.SIGINT, remember)
    try:
        yield check
        # one that came after the last safe point must not be lost
        check()
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
