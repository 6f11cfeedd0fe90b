"""Intel RealSense through `pyrealsense2`: camera and unit come from the device.

The sensor is read directly, without the SDK's pipeline, so that a device simulated in software (`software_device`) and
a recorded file are read like a camera.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from depthforest.base import CameraError, FrameError
from depthforest.frames import Camera, check_size
from depthforest.io.formats import Page, Size
from depthforest.io.live.source import CameraLostError, camera_name

FILE_END_S = 1.0
"""Seconds without a picture after which a recorded file counts as over."""

PREFERRED_FPS = 30


class RealSenseCamera:
    """A depth sensor that streams.

    Parameters
    ----------
    device : pyrealsense2.device
    size : (width, height), optional
        Selects the mode. Default: the sensor's own default.
    """

    def __init__(self, device: Any, size: Size | None = None) -> None:
        import pyrealsense2 as rs

        self._rs, self._device = rs, device
        self._sensor, profile = _depth_mode(rs, device, size)
        camera = profile.as_video_stream_profile().get_intrinsics()
        check_size(camera.width, camera.height, "realsense", FrameError)
        self.camera = camera_of(camera)
        self.scale = float(self._sensor.get_option(rs.option.depth_units))
        self._queue = rs.frame_queue(1)  # of length 1: keeps the newest frame
        self._heard = time.monotonic()
        try:
            self._sensor.open(profile)
            self._sensor.start(self._queue)
        except RuntimeError as error:
            raise CameraLostError(str(error).splitlines()[0]) from None

    def read(self, timeout_s: float) -> Page | None:
        """Return the next picture."""
        try:
            is_there, frame = self._queue.try_wait_for_frame(round(1000 * timeout_s))
        except RuntimeError as error:
            raise CameraLostError(str(error).splitlines()[0]) from None
        if not is_there or not frame:
            if self._is_over():
                raise EOFError
            return None
        self._heard = time.monotonic()
        values = np.array(np.asanyarray(frame.get_data()), dtype=np.uint16)  # a copy, because the SDK reuses its memory
        return Page(values, self.camera, time_s=frame.get_timestamp() / 1000, scale=self.scale)

    def close(self) -> None:
        """Stop the sensor."""
        self._sensor.stop()
        self._sensor.close()

    def _is_over(self) -> bool:
        """Tell whether the device is a recorded file that has been played to its end."""
        if not self._device.is_playback():
            return False
        is_stopped = self._device.as_playback().current_status() == self._rs.playback_status.stopped
        return bool(is_stopped and time.monotonic() - self._heard > FILE_END_S)


def open_device(name: str, size: Size | None) -> RealSenseCamera:
    """Open the camera with a serial number, the first if none is named, or a file that the SDK recorded."""
    import pyrealsense2 as rs

    context = rs.context()
    if name.endswith((".bag", ".db3")):
        if not Path(name).is_file():
            raise FrameError(f"realsense:{name}: there is no such file")
        try:
            return RealSenseCamera(context.load_device(name), size)
        except RuntimeError as error:
            raise FrameError(f"realsense:{name}: cannot be played: {str(error).splitlines()[0]}") from None
    devices = {_serial(rs, device): device for device in context.query_devices()}
    if not devices or (name and name not in devices):
        others = f"; connected: {', '.join(devices)}" if devices else ""
        raise CameraLostError(f"{camera_name('realsense', name)}: no such RealSense camera is connected{others}")
    return RealSenseCamera(devices[name] if name else next(iter(devices.values())), size)


def camera_of(given: Any) -> Camera:
    """Return the camera that the SDK's intrinsics describe."""
    import pyrealsense2 as rs

    lens: tuple[float, ...] = tuple(map(float, given.coeffs))
    if not any(lens) or given.model == rs.distortion.none:
        lens = ()
    elif given.model != rs.distortion.brown_conrady:
        raise CameraError(f"realsense: lens model {given.model} is not known; give the camera")
    return Camera(given.fx, given.fy, given.ppx, given.ppy, given.width, given.height, lens)


def _serial(rs: Any, device: Any) -> str:
    info = rs.camera_info.serial_number
    return str(device.get_info(info)) if device.supports(info) else ""


def _depth_mode(rs: Any, device: Any, size: Size | None) -> tuple[Any, Any]:
    """Return the depth sensor of a device and the mode to stream."""
    modes = [
        (sensor, profile.as_video_stream_profile())
        for sensor in device.query_sensors()
        for profile in sensor.get_stream_profiles()
        if profile.stream_type() == rs.stream.depth and profile.format() == rs.format.z16
    ]
    if not modes:
        raise FrameError("realsense: the device has no depth sensor")
    sizes = sorted({(profile.width(), profile.height()) for _, profile in modes})
    if size is not None:
        modes = [mode for mode in modes if (mode[1].width(), mode[1].height()) == tuple(size)]
        if not modes:
            raise FrameError(f"realsense: has no mode of {size[0]}x{size[1]}; it has {_listed(sizes)}")
    return max(modes, key=lambda mode: (mode[1].is_default(), -abs(mode[1].fps() - PREFERRED_FPS)))


def _listed(sizes: list[Size]) -> str:
    return ", ".join(f"{width}x{height}" for width, height in sizes)
