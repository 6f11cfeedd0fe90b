"""The one family of errors and warnings; every other module raises these.

A message is one line that says what was expected, what came, and what to do. The command line prints it as it is
and exits with the error's `exit_code`: 2 for misuse, 1 for failure.
"""

from __future__ import annotations


class DepthForestError(Exception):
    """Base of everything that depthforest and synth raise on purpose."""

    exit_code = 1


class UsageError(DepthForestError, ValueError):
    """A call or an option that cannot work, whatever the data."""

    exit_code = 2


class CameraError(UsageError):
    """Intrinsics that are no camera, or a camera that does not fit a frame."""


class PartSetError(DepthForestError, ValueError):
    """A part set, a grouping or labels that contradict themselves or each other."""


class FrameError(DepthForestError, ValueError):
    """A depth image that cannot be read or is not one."""


class DatasetError(DepthForestError, ValueError):
    """A data set that is broken or cannot be written."""


class ModelError(DepthForestError, ValueError):
    """A model, or a file of one, that is broken, of another kind or of an unknown version."""


class CheckpointError(DepthForestError, ValueError):
    """The checkpoint of a training run that is broken, of another run, of an unknown version or cannot be written."""


class DepthForestWarning(UserWarning):
    """Something was assumed or looks wrong; the message says what and how to say it better."""
