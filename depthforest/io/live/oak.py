"""Luxonis OAK through `depthai` 3: stereo depth in millimeters, camera from the device's calibration."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np

from depthforest.base import FrameError
from depthforest.frames import Camera
from depthforest.io.formats import Page, Size
from depthforest.io.live.source import CameraLostError, camera_name

SIZE = (640, 400)
"""Size of the depth pictures, which the sensors of all models can deliver."""


class OakCamera:
    """A pipeline that delivers depth.

    Parameters
    ----------
    pipeline : depthai.Pipeline
    depth : depthai.Node.Output
        Sends `ImgFrame`s of 16-bit millimeters.
    """

    def __init__(self, pipeline: Any, depth: Any) -> None:
        self._pipeline = pipeline
        self._queue = depth.createOutputQueue(maxSize=1, blocking=False)
        pipeline.start()

    def read(self, timeout_s: float) -> Page | None:
        """Return the next picture."""
        try:
            if not self._pipeline.isRunning():
                raise CameraLostError("the device no longer answers")
            message = self._queue.get(timedelta(seconds=timeout_s))
        except RuntimeError as error:  # a closed queue, a lost connection
            raise CameraLostError(str(error).splitlines()[0]) from None
        if message is None:
            return None
        values = np.array(message.getFrame())
        if values.dtype != np.uint16 or values.ndim != 2:
            raise FrameError(f"oak: expected 16-bit depth, got {values.dtype} of shape {values.shape}")
        seconds = message.getTimestamp().total_seconds()
        return Page(values, camera_of(message.getTransformation(), values.shape), time_s=seconds, scale=0.001)

    def close(self) -> None:
        """Stop the pipeline and release the device."""
        self._pipeline.stop()


def open_device(name: str, size: Size | None) -> OakCamera:
    """Open the camera with an id, a name or an address, or the first if none is named."""
    import depthai as dai

    try:
        device = dai.Device(dai.DeviceInfo(name)) if name else dai.Device()
    except RuntimeError as error:
        raise CameraLostError(f"{camera_name('oak', name)}: no such OAK camera answers: {_line(error)}") from None
    try:
        pipeline = dai.Pipeline(device)
        stereo = pipeline.create(dai.node.StereoDepth)
        for socket, side in ((dai.CameraBoardSocket.CAM_B, stereo.left), (dai.CameraBoardSocket.CAM_C, stereo.right)):
            pipeline.create(dai.node.Camera).build(socket).requestOutput(size or SIZE).link(side)
        return OakCamera(pipeline, stereo.depth)
    except RuntimeError as error:
        raise CameraLostError(f"{camera_name('oak', name)}: {_line(error)}") from None


def camera_of(transformation: Any, shape: tuple[int, ...]) -> Camera | None:
    """Return the camera of a picture; None if the device was not calibrated. Depth is rectified, without distortion."""
    matrix = np.asarray(transformation.getIntrinsicMatrix(), dtype=np.float64)
    if not transformation.isValid() or np.array_equal(matrix, np.eye(3)):
        return None
    return Camera.from_matrix(matrix, shape[1], shape[0])


def _line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
