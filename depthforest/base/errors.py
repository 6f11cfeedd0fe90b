"""The one family of errors and warnings; every other module raises these.

A message is one line that says what was expected, what came, and what to do. It is given as a sequence of texts and
parameters: `FrameError(f"{name}: is too far; pass the right ", Parameter("scale"))`. Its text shows parameters as
Python writes them. The command line shows its own options instead, and exits with the error's `exit_code`: 2 for
misuse, 1 for failure.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

MAX_TEXT = 1000
"""Longest message in characters. A longer one quotes something endless from outside; its middle is left out."""

Message: TypeAlias = tuple[object, ...]
"""A sequence of texts and parameters."""


@dataclass(frozen=True)
class Parameter:
    """A parameter that a message names, with the value that it advises, if any.

    Parameters
    ----------
    name : str
        As Python spells it.
    value : object, optional
    """

    name: str
    value: Any = None

    def __str__(self) -> str:
        return self.name if self.value is None else f"{self.name}={self.value!r}"


def text_of(message: object, written: Callable[[Parameter], str] = str) -> str:
    """Return the text of an error, a warning or anything else; `written` turns its parameters into text."""
    if isinstance(message, DepthForestError | DepthForestWarning):
        return tame("".join(text_of(part, written) for part in message.args))
    return written(message) if isinstance(message, Parameter) else str(message)


def counted(n: int, what: str) -> str:
    """Return a count with its noun, which is given in the plural: `3 frames`, but `1 frame`."""
    return f"{n} {what.removesuffix('s') if n == 1 else what}"


def tame(text: str) -> str:
    """Return a text as one line of bounded length, with everything that could control a terminal escaped.

    The one place that does this: names of files, keys and values are untrusted.
    """
    if len(text) > MAX_TEXT:
        text = f"{text[: MAX_TEXT * 2 // 3]} ... {text[-MAX_TEXT // 3 :]}"
    return text if text.isprintable() else "".join(c if c.isprintable() else _escaped(c) for c in text)


def _escaped(character: str) -> str:
    return " " if character.isspace() else character.encode("unicode_escape").decode()


class DepthForestError(Exception):
    """Base of all errors that depthforest and synth raise on purpose; takes the parts of its message."""

    exit_code = 1

    def __str__(self) -> str:
        return text_of(self)


class UsageError(DepthForestError, ValueError):
    """A call or an option that cannot work with any data."""

    exit_code = 2


class CameraError(UsageError):
    """Intrinsics that cannot be a camera's, or a camera that does not fit a frame."""


class PartSetError(DepthForestError, ValueError):
    """A part set, a grouping or labels that contradict themselves or each other."""


class FrameError(DepthForestError, ValueError):
    """A depth image that cannot be read or is not one."""


class DatasetError(DepthForestError, ValueError):
    """A data set that is broken or cannot be written."""


class ModelError(DepthForestError, ValueError):
    """A model, or a file of one, that is broken, of another kind or of an unknown version."""


class CheckpointError(DepthForestError, ValueError):
    """A training checkpoint that is broken, belongs to another run, has an unknown version or cannot be written."""


class DepthForestWarning(UserWarning):
    """Something was assumed or looks wrong; the message, given in parts, says what, and which argument settles it."""

    def __str__(self) -> str:
        return text_of(self)


class UnitWarning(DepthForestWarning):
    """The unit of the depth is probably wrong."""
