"""Ctrl-C that waits for a safe point: the first is remembered, the second stops at once."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType

_is_asked = threading.Event()
"""Whether the running block of `patient_interrupts` has remembered a Ctrl-C."""

NOTICE = b"\nstopping at the next safe point; Ctrl-C again stops at once\n"


@contextlib.contextmanager
def patient_interrupts() -> Iterator[Callable[[], None]]:
    """Defer Ctrl-C inside the block; yields a function that raises KeyboardInterrupt if one has come.

    The function may be called from any thread. Only the main thread gets signals, and only Python's own handler is
    replaced: elsewhere, and in programs that handle Ctrl-C themselves, nothing changes.
    """
    is_asked = threading.Event()

    def remember(_number: int, _frame: FrameType | None) -> None:
        is_asked.set()
        _is_asked.set()
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
        # a Ctrl-C after the last safe point must not be lost
        check()
    finally:
        _is_asked.clear()
        signal.signal(signal.SIGINT, signal.default_int_handler)


def check_interrupt() -> None:
    """Raise KeyboardInterrupt if `patient_interrupts` has remembered one; for long waits inside its block."""
    if _is_asked.is_set():
        raise KeyboardInterrupt


def heed_terminations() -> list[int]:
    """Let SIGTERM and SIGHUP do what Ctrl-C does, for commands; returns a list that takes the signals as they come.

    A signal that is ignored stays ignored, as SIGHUP under nohup. A forked child ends at once, as it would without this
    handler, because its parent waits for that.
    """
    came: list[int] = []
    process = os.getpid()

    def pass_on(number: int, frame: FrameType | None) -> None:
        if os.getpid() != process:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        came.append(number)
        handler = signal.getsignal(signal.SIGINT)
        if callable(handler):
            handler(number, frame)
        else:  # a shell lets its background jobs ignore Ctrl-C
            raise KeyboardInterrupt

    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, pass_on)
    return came
