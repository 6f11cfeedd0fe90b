"""The command line in this process: what a process of its own would say, without its second of imports.

What only a process of its own can show stays one: signals, kill -9, what is imported, a full disk. Each file of tests
of a command also runs it once as people do.
"""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import pytest

from depthforest.cli.commands import app, main


@dataclass(frozen=True)
class Done:
    """What came out of a command: the fields of `subprocess.CompletedProcess`."""

    returncode: int
    stdout: bytes
    stderr: bytes


@contextlib.contextmanager
def _own_handlers():
    """Put back the handlers of signals, which a command replaces for as long as its process lives."""
    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    handlers = list(map(signal.getsignal, numbers))
    yield
    for number, handler in zip(numbers, handlers, strict=True):
        signal.signal(number, handler)


def run_here(*words: object, stdin: bytes = b"", cwd: Path | None = None, env: Mapping[str, str] | None = None) -> Done:
    """Run `depthforest WORDS` through its `main`, from the words to the exit code.

    Parameters
    ----------
    words
        The command and its arguments; each becomes a string.
    stdin
        What comes from standard input.
    cwd
        The folder it runs in.
    env
        Variables of the environment, on top of those of this process.

    Returns
    -------
    Done
        Exit code and the bytes of both streams. A warning that is not ours raises, as in all tests.
    """
    # no terminals, as in a pipe; main always ends by sys.exit
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    with (
        mock.patch.object(sys, "argv", ["depthforest", *map(str, words)]),
        mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8")),
        mock.patch.dict(os.environ, env or {}),
        contextlib.chdir(cwd or Path.cwd()),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        warnings.catch_warnings(),
        _own_handlers(),
        pytest.raises(SystemExit) as ended,
    ):
        main()
    return Done(ended.value.code, out.buffer.getvalue(), err.buffer.getvalue())


def command(*words):
    """Run a command in this process; return its exit code."""
    return app([str(word) for word in words], standalone_mode=False, prog_name="depthforest") or 0
