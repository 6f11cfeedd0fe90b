"""Raw numbers to millimeters: a conversion that often goes wrong, and checks that notice it.

`to_millimeters` turns what a file or a driver delivers into `uint16` millimeters with 0 for no reading. Values that
cannot be a room in the assumed unit raise or warn, naming the likely cause and the `scale` that fixes it.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from depthforest.base import DepthForestWarning, FrameError, Message, Parameter, UnitWarning, UsageError, is_finite
from depthforest.frames.camera import check_size

DepthMM = npt.NDArray[np.uint16]
Scale = float | str | None

MAX_MM = 65535
"""Largest value of the type; many drivers write it for "no reading", so it is read as that."""

MAX_ROOM_M = 20.0
"""No depth camera for people sees further."""

SUSPICIOUS_FAR_M = 8.0
"""A median beyond this is not a room seen by such a camera: the unit is probably wrong."""

SUSPICIOUS_NEAR_M = 0.15
"""No depth camera measures a tenth of its readings nearer than this."""

JUDGED_READINGS = 10_000
"""Approximate number of readings, spread over the picture, that decide whether a unit is plausible."""

KINECT_NO_DISPARITY = 2047
"""Raw 11-bit Kinect v1 disparity of a pixel without a reading."""

NAMED_SCALES: dict[str, float] = {"mm": 0.001, "cm": 0.01, "m": 1.0, "tum": 1 / 5000, "sun3d": 0.001}
"""Meters per unit by name. `sun3d` also undoes the rotation of its bits."""


@dataclass(frozen=True)
class _Unit:
    meters: float
    has_rotated_bits: bool = False


def check_scale(scale: Scale) -> _Unit | None:
    """Return the unit that `scale` means: a name of `NAMED_SCALES`, meters per unit, or None for the usual one."""
    if scale is None:
        return None
    if isinstance(scale, str):
        name = scale.strip().lower()
        if name in NAMED_SCALES:
            return _Unit(NAMED_SCALES[name], has_rotated_bits=name == "sun3d")
        try:
            scale = float(name)
        except ValueError:
            raise UsageError(
                f"scale {name!r} is unknown; give meters per unit or one of {', '.join(NAMED_SCALES)}"
            ) from None
    if not is_finite(scale) or scale == 0:
        raise UsageError(f"scale must be meters per unit, a finite number other than 0; got {scale!r}")
    return _Unit(float(scale))


def to_millimeters(raw: npt.ArrayLike, *, scale: Scale = None, name: str = "depth") -> DepthMM:
    """Convert a raw depth picture to `uint16` millimeters with 0 for no reading.

    Parameters
    ----------
    raw : array (rows, cols) or (rows, cols, 1)
        Without a scale, integers are millimeters and floats meters. NaN, infinite and non-positive values, and
        65535 in integers, are no reading.
    scale : float or str, optional
        Meters per unit, or "mm", "cm", "m", "tum" (5000 per meter), "sun3d" (rotated bits). A given scale is believed:
        only values that cannot be stored are refused. A negative scale inverts a z axis that points backwards.
    name : str
        Name of the picture in messages.

    Returns
    -------
    array (rows, cols), uint16
        Always a new array.
    """
    values = _one_channel(np.ma.filled(raw, 0) if isinstance(raw, np.ma.MaskedArray) else np.asarray(raw), name)
    unit = check_scale(scale)
    is_float = values.dtype.kind == "f"
    if unit is None and values.dtype.itemsize == 1:
        raise FrameError(
            f"{name}: holds 8-bit values, up to {int(values.max())}; depth needs 16 bits: this is likely a preview or "
            "a label picture. Export the raw depth, or pass ",
            Parameter("scale"),
            " (meters per unit) if the steps have a known size",
        )
    if unit is not None and unit.has_rotated_bits:
        if values.dtype.kind != "u" or values.dtype.itemsize != 2:
            raise FrameError(f"{name}: scale sun3d expects 16-bit unsigned values, got {values.dtype}")
        values = values.astype(np.uint16)  # in native byte order
        values = (values >> 3) | (values << 13)
    if unit is None:
        unit = _usual_unit(values, name)
        _warn_if_implausible(values, unit, name)
    raw_values = values
    if not is_float:
        values = np.where(values == MAX_MM, 0, values)
    if values.dtype == np.uint16 and unit.meters == NAMED_SCALES["mm"]:
        if not values.any():
            warnings.warn(_no_reading(raw_values, unit, name), stacklevel=2)
        return values
    with np.errstate(invalid="ignore", over="ignore"):
        millimeters = np.rint(values * np.float64(unit.meters * 1000))
        is_reading = (millimeters > 0) & np.isfinite(millimeters)
    is_too_far = is_reading & (millimeters > MAX_MM)
    if is_too_far.sum() > is_reading.sum() / 2:
        raise FrameError(
            f"{name}: most readings are farther than {MAX_MM / 1000:.1f} m at {unit.meters:g} m per unit "
            f"(median {np.median(millimeters[is_reading]) / 1000:.4g} m); pass the right ",
            Parameter("scale"),
        )
    if not is_reading.any():
        warnings.warn(_no_reading(raw_values, unit, name), stacklevel=2)
    return np.where(is_reading & ~is_too_far, millimeters, 0).astype(np.uint16)


def _one_channel(values: npt.NDArray[Any], name: str) -> npt.NDArray[Any]:
    if values.ndim == 3 and values.shape[2] == 1:
        values = values[..., 0]
    if values.ndim == 3 and values.shape[2] in (2, 3, 4):
        hint = (
            "if these are pages of a TIFF stack, write it with photometric='minisblack'"
            if values.dtype.itemsize > 1
            else "a color-mapped preview cannot be turned back into distances: export the raw 16-bit depth"
        )
        raise FrameError(f"{name}: has {values.shape[2]} channels, a color picture; depth has one; {hint}")
    if values.ndim == 3:
        raise FrameError(
            f"{name}: is a stack of shape {values.shape}; expected one picture (read stacks with read_frames)"
        )
    if values.ndim != 2:
        raise FrameError(f"{name}: expected a picture of shape (rows, cols), got shape {values.shape}")
    check_size(values.shape[1], values.shape[0], name, FrameError)
    if values.dtype.kind not in "iuf":
        raise FrameError(f"{name}: expected whole numbers (millimeters) or floats (meters), got {values.dtype}")
    return values


def _usual_unit(values: npt.NDArray[Any], name: str) -> _Unit:
    """Return millimeters for integers, meters for floats; floats that can only be millimeters are taken as such."""
    if values.dtype.kind != "f":
        return _Unit(0.001)
    readings = _readings(values)
    if readings.size == 0:
        return _Unit(1.0)
    median = float(np.median(readings.astype(np.float64)))
    if median <= MAX_ROOM_M:
        return _Unit(1.0)
    if 1000 * SUSPICIOUS_NEAR_M <= median <= 1000 * MAX_ROOM_M:
        warnings.warn(
            DepthForestWarning(
                f"{name}: floats with median {median:.4g} cannot be meters and are taken as millimeters; pass ",
                Parameter("scale", 0.001),
                " to say so",
                *_or_centimeters(median),
            ),
            stacklevel=3,
        )
        return _Unit(0.001)
    raise FrameError(
        f"{name}: floats with median {median:.4g} are neither meters nor millimeters of a room; a disparity picture, "
        "or another unit? Convert disparity to depth (focal length x baseline / disparity), or pass ",
        Parameter("scale"),
        " (meters per unit)",
    )


def _or_centimeters(median: float) -> Message:
    """Return more advice where centimeters would be as likely."""
    return (", or ", Parameter("scale", "cm"), " if they are centimeters") if median <= 100 * MAX_ROOM_M else ()


def _readings(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the readings, or an even sample of many: enough to judge a unit."""
    if values.dtype.kind == "f":
        readings = values[np.isfinite(values) & (values > 0)]
    else:
        readings = values[(values > 0) & (values != MAX_MM)]
    return np.asarray(readings[:: max(1, readings.size // JUDGED_READINGS)])


def _warn_if_implausible(values: npt.NDArray[Any], unit: _Unit, name: str) -> None:
    """Warn when readings are hardly a room in this unit; the message names the likeliest cause and the fix."""
    readings = _readings(values)
    if readings.size == 0:
        return
    median_m = float(np.median(readings.astype(np.float64))) * unit.meters
    if median_m > MAX_MM / 1000:
        return  # the caller refuses it right away, for a better reason
    near_m = float(np.quantile(readings.astype(np.float64), 0.1)) * unit.meters
    hint: Message = ()
    if values.dtype.kind == "f" and np.nanmax(values) == 1:
        hint = ("values end at exactly 1, as in a picture normalized to 0..1; export unscaled depth",)
    elif values.dtype.kind != "f" and _is_kinect_disparity(values):
        hint = (
            f"many pixels are exactly {KINECT_NO_DISPARITY}, the no-reading code of raw Kinect disparity; "
            "ask the driver for millimeters (registered depth)",
        )
    elif near_m < SUSPICIOUS_NEAR_M:
        hint = (
            f"a tenth of the readings would be within {near_m:.3g} m; a label or 8-bit picture, centimeters or meters "
            "as whole numbers? Pass ",
            Parameter("scale"),
            " (meters per unit, or cm, m)",
        )
    elif median_m > SUSPICIOUS_FAR_M or (median_m > 3.0 and _divisor(readings) > 1):
        hint = (f"half of the readings would be beyond {median_m:.3g} m; ", *_far_cause(readings))
    if hint:
        warnings.warn(UnitWarning(f"{name}: ", *hint), stacklevel=3)


def _divisor(readings: npt.NDArray[Any]) -> int:
    """Return 8 or 5 if it divides many different readings: true of SUN3D and TUM files, not of millimeters."""
    if readings.dtype.kind == "f" or len(np.unique(readings)) < 50:
        return 1
    return next((n for n in (8, 5) if not (readings % n).any()), 1)


def _far_cause(readings: npt.NDArray[Any]) -> Message:
    if _divisor(readings) == 8:
        return "all values divide by 8, as in SUN3D files with rotated bits: pass ", Parameter("scale", "sun3d")
    if readings.dtype.kind == "f":
        return "are the floats really meters? Pass ", Parameter("scale"), " (meters per unit)"
    tum = Parameter("scale", "tum")
    return "TUM files count 5000 per meter: pass ", tum, ", or the meters per unit of your camera"


def _is_kinect_disparity(values: npt.NDArray[Any]) -> bool:
    return bool(values.max() == KINECT_NO_DISPARITY and (values == KINECT_NO_DISPARITY).mean() > 0.01)


def _no_reading(values: npt.NDArray[Any], unit: _Unit, name: str) -> DepthForestWarning:
    finite = values[np.isfinite(values)]
    cause: Message
    if finite.size == 0:
        cause = (", every value is NaN or infinite",)
    elif not finite.any():
        cause = (", every value is 0; was the camera covered, or the wrong stream saved?",)
    elif (finite == MAX_MM).all():
        cause = (f", every value is {MAX_MM}, which drivers write for none",)
    elif (finite < 0).mean() > 0.5 and unit.meters > 0:
        cause = ", most values are negative; if z points backwards here (OpenGL), pass ", Parameter("scale", -1)
    else:
        cause = f": no value is above 0 at {unit.meters:g} m per unit; pass the right ", Parameter("scale")
    return DepthForestWarning(f"{name}: has no reading", *cause)
