"""Live cameras by name: `realsense:`, `realsense:SERIAL`, `orbbec:`, `oak:`, `v4l2:/dev/video0`."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from importlib import import_module

from depthforest.base import UsageError
from depthforest.io.formats import Size
from depthforest.io.live.source import DepthCamera, LiveSource
from depthforest.io.recordings.packages import need

DRIVERS = {
    "realsense": ("pyrealsense2", "pip install pyrealsense2"),
    # its requirements pin old versions of NumPy and PyAV, and a second OpenCV; reading depth needs none of them
    "orbbec": ("pyorbbecsdk", "pip install --no-deps pyorbbecsdk2"),
    "oak": ("depthai", "pip install depthai"),
    "v4l2": ("av", "pip install av"),
}
"""Kind of a camera -> the module of its driver, and the command that installs it. Our own module has the kind's
name."""

CALLBACK = "callback"
_NAME = re.compile(rf"({'|'.join((*DRIVERS, CALLBACK))}):(.*)", re.DOTALL)


def split_camera(text: str) -> tuple[str, str] | None:
    """Return kind and device of a live camera's name; None if the text is not such a name."""
    match = _NAME.fullmatch(text)
    return (match[1], match[2]) if match else None


def is_unknown_camera(text: str) -> bool:
    """Tell whether a text looks like the name of a live camera of an unknown kind; `C:` of Windows does not."""
    match = re.match(r"([^/\\:]{2,}):", text)
    return match is not None and match[1] not in DRIVERS


def camera_stem(text: str) -> str:
    """Return the stem of the names of a live camera's frames, as if it were a file."""
    kind, device = split_camera(text) or (text, "")
    last = re.sub(r"[^\w.-]+", "_", re.split(r"[/\\]", device)[-1])
    return f"{kind}_{last}" if last else kind


def open_camera(text: str, size: Size | None) -> LiveSource:
    """Return the live source with a name; its package must be installed.

    Parameters
    ----------
    text : str
        KIND: or KIND:DEVICE.
    size : (width, height), optional
        Selects the camera's mode. Default: the camera's own default.
    """
    named = split_camera(text)
    assert named is not None  # checked by the caller
    kind, device = named
    if kind not in DRIVERS:
        raise UsageError(f"{text}: a function cannot be named by text; pass the function itself")
    module, install = DRIVERS[kind]
    name = text if device else kind
    need(module, install, name)
    opener: Callable[..., DepthCamera] = import_module(f"depthforest.io.live.{kind}").open_device
    return LiveSource(name, partial(opener, device, size))
