"""Orbbec (Femto, Gemini, Astra 2) through `pyorbbecsdk2`: camera and unit come from the device."""

from __future__ import annotations

from typing import Any

import numpy as np

from depthforest.base import FrameError
from depthforest.frames import Camera, check_size
from depthforest.io.formats import Page, Size
from depthforest.io.live.source import CameraLostError, camera_name

FORMATS = ("Y16", "Z16", "RLE", "RVL")
"""Formats that the SDK delivers as 16-bit depth; it unpacks packed ones."""


class OrbbecCamera:
    """A depth sensor that streams.

    Parameters
    ----------
    pipeline : pyorbbecsdk.Pipeline
    size : (width, height), optional
        Selects the mode. Default: the sensor's own default.
    """

    def __init__(self, pipeline: Any, size: Size | None = None) -> None:
        import pyorbbecsdk as ob

        self._pipeline, self._errors = pipeline, ob.OBError
        try:
            profiles = pipeline.get_stream_profile_list(ob.OBSensorType.DEPTH_SENSOR)
            if size is None:
                profile = profiles.get_default_video_stream_profile()
            else:
                profile = profiles.get_video_stream_profile(size[0], size[1], ob.OBFormat.UNKNOWN_FORMAT, 0)
            self.camera = camera_of(profile)
            config = ob.Config()
            config.enable_stream(profile)
            pipeline.start(config)
        except ob.OBError as error:
            raise CameraLostError(_line(error)) from None

    def read(self, timeout_s: float) -> Page | None:
        """Return the next picture."""
        try:
            frames = self._pipeline.wait_for_frames(round(1000 * timeout_s))
            frame = None if frames is None else frames.get_depth_frame()
            if frame is None:
                return None
            width, height, kind = frame.get_width(), frame.get_height(), frame.get_format().name
            content = np.asarray(frame.get_data()).tobytes()
            unit_mm, seconds = float(frame.get_depth_scale()), frame.get_system_timestamp_us() / 1e6
        except self._errors as error:
            raise CameraLostError(_line(error)) from None
        check_size(width, height, "orbbec", FrameError)
        if kind not in FORMATS or len(content) != 2 * width * height:
            raise FrameError(f"orbbec: expected {width} x {height} of 16 bits, got {len(content)} bytes of {kind}")
        values = np.frombuffer(content, "<u2").reshape(height, width)
        return Page(values, self.camera, time_s=seconds, scale=unit_mm / 1000)

    def close(self) -> None:
        """Stop the stream."""
        self._pipeline.stop()


def open_device(name: str, size: Size | None) -> OrbbecCamera:
    """Open the camera with a serial number, or the first if none is named."""
    import pyorbbecsdk as ob

    ob.Context.set_logger_level(ob.OBLogLevel.NONE)  # it would create a folder called Log in the working directory
    devices = ob.Context().query_devices()
    own = camera_name("orbbec", name)
    if not len(devices):
        raise CameraLostError(f"{own}: no Orbbec camera is connected")
    try:
        device = devices.get_device_by_serial_number(name) if name else devices.get_device_by_index(0)
        return OrbbecCamera(ob.Pipeline(device), size)
    except ob.OBError as error:
        raise CameraLostError(f"{own}: cannot be opened: {_line(error)}") from None


def camera_of(profile: Any) -> Camera:
    """Return the camera of a mode, with its lens distortion."""
    inside, lens = profile.get_intrinsic(), profile.get_distortion()
    numbers = (lens.k1, lens.k2, lens.p1, lens.p2, lens.k3, lens.k4, lens.k5, lens.k6)
    distortion = tuple(map(float, numbers)) if any(numbers) and lens.model.name != "NONE" else ()
    return Camera(inside.fx, inside.fy, inside.cx, inside.cy, inside.width, inside.height, distortion)


def _line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
