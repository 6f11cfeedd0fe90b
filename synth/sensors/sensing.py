"""What real depth cameras measure of an ideal depth map: `sense` checks its input and runs the model of the sensor.

The sensors and their parameters are in `devices`, the models in `models`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from depthforest.base import Bytes
from depthforest.frames import Camera
from synth.sensors import models
from synth.sensors.devices import MAX_SCALE, Ideal, Sensor, SensorError, StructuredLight, TimeOfFlight, find_sensor
from synth.sensors.models import Sensed


def sense(
    depth: npt.NDArray[np.float32],
    parts: Bytes,
    people: Bytes,
    camera: Camera,
    sensor: Sensor | str,
    rng: np.random.Generator,
    facing: npt.NDArray[np.float32] | None = None,
) -> Sensed:
    """Return what a sensor measures of an ideal depth map.

    Labels follow the readings: where an edge frays, a pixel that reads the background is nobody's, and one that reads
    the person has the label of the surface it reads. A pixel without a reading has no label.

    Parameters
    ----------
    depth : array (rows, cols), float32
        z in meters; 0 (also NaN, negative, infinite) = nothing there.
    parts, people : array (rows, cols), uint8
        Labels, 255 = no part; person ids, 0 = nobody.
    camera : Camera
        The camera of these images, without distortion.
    sensor : str or sensor
        A name of `SENSORS`, or parameters of your own.
    rng : numpy Generator
        One number is drawn from it, whatever the sensor; the same state gives the same bytes.
    facing : array (rows, cols), float32, optional
        |cos| between surface normal and ray; None computes it from the depth.
    """
    chosen = find_sensor(sensor)
    _check_pictures(depth, parts, people, camera, facing)
    if not isinstance(chosen, Ideal) and camera.fx > MAX_SCALE * chosen.focal_px:
        raise SensorError(
            f"the camera's fx may be at most {MAX_SCALE:g} times the sensor's focal length of {chosen.focal_px:g} px, "
            f"got {camera.fx:g}"
        )
    if not isinstance(rng, np.random.Generator):
        raise SensorError(f"rng must be a numpy.random.Generator, got {type(rng).__name__}; try default_rng(seed)")
    seed = rng.integers(0, 2**64, dtype=np.uint64)
    depth = np.ascontiguousarray(depth)
    if isinstance(chosen, Ideal):
        reading, source = depth, np.arange(depth.size, dtype=np.int32).reshape(depth.shape)
    else:
        facing = models.measure_facing(depth, camera) if facing is None else np.ascontiguousarray(facing)
        if isinstance(chosen, StructuredLight):
            reading, source = models.sense_structured_light(depth, facing, camera, chosen, seed)
        elif isinstance(chosen, TimeOfFlight):
            reading, source = models.sense_time_of_flight(depth, facing, camera, chosen, seed)
        else:
            reading, source = models.sense_stereo(depth, facing, camera, chosen, seed)
    return models.deliver(reading, source, chosen, parts, people)


def _check_pictures(depth: object, parts: object, people: object, camera: object, facing: object) -> None:
    if not isinstance(camera, Camera):
        raise SensorError(f"camera must be a Camera, got {type(camera).__name__}; try Camera.parse")
    if camera.distortion:
        raise SensorError("sensors need a camera without distortion; pass camera.without_distortion()")
    pictures = [("depth", depth, np.float32), ("parts", parts, np.uint8), ("people", people, np.uint8)]
    if facing is not None:
        pictures.append(("facing", facing, np.float32))
    for name, picture, dtype in pictures:
        if not isinstance(picture, np.ndarray) or picture.dtype != dtype:
            came = picture.dtype if isinstance(picture, np.ndarray) else type(picture).__name__
            raise SensorError(f"{name} must be an array of {np.dtype(dtype)}, got {came}")
        if picture.shape != camera.shape:
            raise SensorError(f"{name} must have the camera's shape {camera.shape}, got {picture.shape}")
