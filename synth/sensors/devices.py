"""The simulated depth cameras: four kinds of sensors with their parameters, and real devices by name.

Parameters in pixels refer to pixels of the sensor itself, whose focal length is `focal_px`: an image of another size
gets the same errors in meters. Values without a source were chosen by eye, next to real frames where available (Kinect
v1). `models` implements them. This module does not import numba.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from depthforest.base import UsageError, is_finite, is_number

NEAREST_M = 0.001
"""Meters; anything nearer counts as no surface."""
FURTHEST_M = 65.534
"""Largest depth, in meters, that fits 16 bits of millimeters; 65535 means "no reading" to some drivers."""


class SensorError(UsageError):
    """An unknown or invalid sensor, or images that do not fit together."""


@dataclass(frozen=True)
class _Sensor:
    """Working range of a sensor, in meters: readings outside are holes."""

    near_m: float
    far_m: float

    def __post_init__(self) -> None:
        kind = type(self).__name__
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name.startswith("is_"):
                if not isinstance(value, bool):
                    raise SensorError(f"{kind}.{field.name} must be True or False, got {value!r}")
                continue
            if not is_number(value):
                raise SensorError(f"{kind}.{field.name} must be a number, got {value!r}")
            if not is_finite(value) or (value < 0 and field.name not in SIGNED):
                raise SensorError(f"{kind}.{field.name} must be finite and not negative, got {value!r}")
            if field.name in POSITIVE and value == 0:
                raise SensorError(f"{kind}.{field.name} must be above 0, got {value!r}")
            if field.name.endswith("_share") and value > 1:
                raise SensorError(f"{kind}.{field.name} must be a share from 0 to 1, got {value!r}")
            if field.name.endswith("_px") and field.name not in POSITIVE and value > MAX_WINDOW_PX:
                raise SensorError(f"{kind}.{field.name} must be at most {MAX_WINDOW_PX} pixels, got {value!r}")
            if field.name.endswith("_m") and abs(float(value)) > FURTHEST_M:
                raise SensorError(f"{kind}.{field.name} must be at most {FURTHEST_M} meters, got {value!r}")
        if not 0 <= self.near_m < self.far_m <= FURTHEST_M:
            raise SensorError(f"a sensor needs 0 <= near_m < far_m <= {FURTHEST_M}, got {self.near_m} and {self.far_m}")


SIGNED = ("projector_x_m", "imager_x_m", "noise_center_m")
POSITIVE = ("focal_px", "baseline_m", "levels_per_px", "jump_px", "jump_share", "flat_size_px")
MAX_WINDOW_PX = 64
MAX_SCALE = 16.0
"""Largest ratio of a camera's focal length to the sensor's: windows grow with it."""


@dataclass(frozen=True)
class Ideal(_Sensor):
    """No error except rounding to whole millimeters."""

    near_m: float = 0.0
    far_m: float = FURTHEST_M


@dataclass(frozen=True)
class StructuredLight(_Sensor):
    """A projected dot pattern, matched in windows of an infrared image: Kinect v1, Xtion.

    The projector is to the right of the imager, seen from behind the device, so that everything casts its shadow to
    its *left* in an unmirrored image, `focal * 0.075 * (1 / z_near - 1 / z_far)` pixels wide. Real frames agree: to
    the left of a fist at 0.76 m in front of a body at 1.25 m the shadow is mostly 16 to 24 pixels wide; the formula
    gives 20.

    If the driver has registered depth to the color camera, 25 mm from the imager toward the projector, 50 mm of the
    baseline cause the left shadow and 25 mm a right one: "kinect_v1_registered". In a real registered cloud the two
    are 16 to 26 and 11 to 18 pixels wide; the formula gives 24 and 13.
    """

    near_m: float = 0.5  # the drivers' default range
    far_m: float = 4.5
    focal_px: float = 580.0  # of the infrared imager, which is 640 pixels wide
    baseline_m: float = 0.075  # from imager to projector: a pixel of disparity at 1 m is 23 mm
    projector_x_m: float = 0.075  # to the right of the image's viewpoint; negative: to the left
    imager_x_m: float = 0.0  # likewise of the imager; 0: the image is the imager's own
    levels_per_px: float = 8.0  # disparity steps per pixel; all depths of the real frames fit 1/8 px at 0.992 f b
    # Standard deviation of depth on a flat wall, rounding included: base + gain (z - center)^2 meters.
    noise_base_m: float = 0.0012
    noise_gain: float = 0.0019
    noise_center_m: float = 0.4
    # The noise consists of blobs of the size of the correlation window. Window and grain were fitted to the
    # autocorrelation of the real frames and of a real wall at 3.5 m.
    noise_width_px: float = 8.0
    noise_height_px: float = 9.0
    noise_grain_share: float = 0.1  # share of the variance that is independent for each pixel
    jump_px: float = 1.5  # neighbors that differ more in disparity form an edge
    wander_px: float = 1.5  # standard deviation of the displacement of patches of an edge
    support_share: float = 0.3  # share of the window that must lie on one surface; below it, fingers and tips are lost
    support_spread: float = 0.08  # standard deviation from patch to patch, like grazing_spread
    grazing_cos: float = 0.174  # cos 80 degrees: a surface this steep is half holes, one beyond 85 nearly all
    grazing_spread: float = 0.035
    speckle_share: float = 0.0005  # share of pixels that are random holes: 0.0002 to 0.004 in the real frames


@dataclass(frozen=True)
class TimeOfFlight(_Sensor):
    """Modulated light, timed in every pixel: Kinect v2, Azure Kinect.

    The amplitude is |cos| / z^2: 1 for a surface that faces the camera at 1 m.
    """

    near_m: float = 0.5
    far_m: float = 4.5
    focal_px: float = 365.456  # Kinect v2, 512 pixels wide
    # Standard deviation of depth: base + gain z^2 / cos meters, 1.3 mm at 1 m and 5.8 mm at 4 m. Nominal: not
    # fitted to a real camera.
    noise_base_m: float = 0.0010
    noise_gain: float = 0.0003
    noise_window_px: float = 1.5  # nearly independent pixels
    least_amplitude: float = 0.015  # below it, no reading: 72 degrees at 4.5 m
    least_amplitude_spread: float = 0.004
    jump_share: float = 0.03  # neighbors that differ by more than this share of z form an edge
    flying_share: float = 0.45  # share of the pixels on both sides of an edge that read a mixture of both depths
    dropped_share: float = 0.25  # share of these that read nothing
    multipath_gain: float = 0.3  # share of the depth of a hollow that is added to the reading
    multipath_limit_m: float = 0.05  # deepest hollow that is considered
    multipath_reach_m: float = 0.12  # half width of the area that reflects light into a corner


@dataclass(frozen=True)
class Stereo(_Sensor):
    """Two imagers, matched in blocks: RealSense D400.

    The image is that of the left imager. What the right imager does not see has no reading: a shadow to the left of
    everything, and a band along the left border that widens as the scene gets closer.
    """

    near_m: float = 0.3
    far_m: float = 6.0
    focal_px: float = 425.0  # D435 at 848 pixels; nominal, as the camera preset
    baseline_m: float = 0.050  # D435, nominal
    levels_per_px: float = 32.0  # a choice: finer than the noise
    noise_px: float = 0.08  # of disparity: 15 mm at 2 m, growing with z^2
    noise_window_px: float = 7.0  # width of the noise blobs
    jump_px: float = 1.0
    fatten_px: float = 2.0  # mean growth of near surfaces over far ones
    edge_window_px: float = 5.0  # the block that smooths edges
    grazing_cos: float = 0.12
    flat_share: float = 0.15  # share of the scene with hardly any texture,
    flat_hole_share: float = 0.2  # and the share of that which is holes
    speckle_share: float = 0.002
    flat_size_px: float = 32.0  # size of patches of similar texture
    is_band_cut: bool = True


Sensor = Ideal | StructuredLight | TimeOfFlight | Stereo

SENSORS: dict[str, Sensor] = {
    "ideal": Ideal(),
    "kinect_v1": StructuredLight(),
    "kinect_v1_wide": StructuredLight(near_m=0.4, far_m=8.0),
    "kinect_v1_registered": StructuredLight(projector_x_m=0.050, imager_x_m=-0.025),
    "tof": TimeOfFlight(),
    "kinect_v2": TimeOfFlight(),
    # NFOV: 0.5 to 3.86 m, 2 x 2 binned to 5.46 m (Microsoft's hardware specification)
    "azure": TimeOfFlight(far_m=5.46, focal_px=504.0),
    "stereo": Stereo(),
    "realsense": Stereo(),
}
"""Sensors by name."""


def find_sensor(sensor: Sensor | str) -> Sensor:
    """Return the sensor with this name, or the parameters themselves."""
    if isinstance(sensor, str):
        if sensor not in SENSORS:
            raise SensorError(f"no sensor is called {sensor!r}; sensors: {', '.join(SENSORS)}")
        return SENSORS[sensor]
    if not isinstance(sensor, Sensor):
        raise SensorError(f"sensor must be a name ({', '.join(SENSORS)}) or parameters, got {type(sensor).__name__}")
    return sensor
