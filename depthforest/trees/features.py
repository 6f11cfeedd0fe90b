"""Depth-difference features: where a probe lands, what it reads, and the response of a pair of probes.

Shotton et al. 2011, equation 1, with offsets in meters: a pixel of depth d looks at two other pixels, u and v away from
it on a plane at its own depth, and its response is the difference of the depths there:

    response(p) = D(p + round(focal * u / d)) - D(p + round(focal * v / d))        whole millimeters

D is the depth in millimeters, or the model's background value where a probe leaves the image, lands on no reading or
off the person's mask. All of this is computed only here, so that training, the plain walk and fast labeling agree to
the bit. Loops over pixels compute `pixel_scale` once per pixel and `scaled_offset` per probe, which together equal
`probe_offset`. Kernels check nothing; `responses` is the checked entry point.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from depthforest.base import CameraError, FrameError, UsageError, is_whole, kernel
from depthforest.frames import MAX_FOCAL_PX as MAX_FOCAL_PX
from depthforest.frames import Camera, DepthMM, Frame, LabeledFrame

BACKGROUND_MM = 10_000
"""Depth that a probe reads off the person, in millimeters: well behind any person that a depth camera sees."""

MAX_BACKGROUND_MM = 65_535
"""Largest background value in millimeters: it must fit the dtype of the image."""

MAX_OFFSET_M = 10.0
"""Largest probe offset along an axis, meters: several bodies wide."""

MAX_OFFSET_PX = 32_767
"""Pixel offsets are clamped to this, so that no sum of a pixel and an offset overflows. Only very long, thin images are
larger than this."""

MAX_UNITS = 32_767
"""Offsets of our forests are whole multiples of a unit that fit 16 bits, so that nodes are small."""

_MM_PER_M = np.float32(1000)
_LIMIT = np.float32(MAX_OFFSET_PX)
# x + 0.5 is not exact in float32: the number just below 0.5 would round to 1. With the number just below 0.5 instead
# of 0.5, truncation is exactly "half away from zero", as in compilers' `round`.
_BELOW_HALF = np.nextafter(np.float32(0.5), np.float32(0))


def probe_unit(reach_m: float) -> np.float32:
    """Return the unit of offsets in meters: the smallest power of two of which `MAX_UNITS` cover the longest probe.

    A power of two, so that products with it are exact.
    """
    return np.float32(2.0 ** math.ceil(math.log2(reach_m / MAX_UNITS)))


@kernel
def pixel_scale(focal: np.float32, depth_mm: int) -> np.float32:
    """Return the pixels per meter at a depth: float32(float32(focal * 1000) / float32(depth_mm)); depth > 0."""
    return np.float32(np.float32(focal * _MM_PER_M) / np.float32(depth_mm))


@kernel
def clamped_offset(meters: np.float32, scale: np.float32, lowest: np.float32, highest: np.float32) -> np.int32:
    """Return `scaled_offset` clamped to a range within its own limits, with one clamp for both."""
    pixels = np.float32(meters * scale)
    pixels = min(max(pixels, lowest), highest)
    return np.int32(pixels + np.copysign(_BELOW_HALF, pixels))


@kernel
def scaled_offset(meters: np.float32, scale: np.float32) -> np.int32:
    """Return float32(meters * scale), rounded half away from zero and clamped, in whole pixels."""
    offset: np.int32 = clamped_offset(meters, scale, -_LIMIT, _LIMIT)
    return offset


@kernel
def probe_offset(meters: np.float32, focal: np.float32, depth_mm: int) -> np.int32:
    """Return the offset of a probe along an axis, in whole pixels, seen from a pixel at a depth > 0."""
    offset: np.int32 = scaled_offset(meters, pixel_scale(focal, depth_mm))
    return offset


@kernel
def read_probe(image: npt.NDArray[Any], row: int, col: int, d_row: int, d_col: int, background: int) -> np.int32:
    """Return the reading of a probe in millimeters: the image's, or the background outside it and where it holds 0."""
    r = row + d_row
    c = col + d_col
    if r < 0 or r >= image.shape[0] or c < 0 or c >= image.shape[1]:
        return np.int32(background)
    value = np.int32(image[r, c])
    return value if value > 0 else np.int32(background)


@kernel
def scaled_response(
    image: npt.NDArray[Any],
    row: int,
    col: int,
    u_x: np.float32,
    u_y: np.float32,
    v_x: np.float32,
    v_y: np.float32,
    scale_x: np.float32,
    scale_y: np.float32,
    background: int,
) -> np.int32:
    """Return the response of one pair of probes at a pixel whose scales are known, in millimeters."""
    u = read_probe(image, row, col, scaled_offset(u_y, scale_y), scaled_offset(u_x, scale_x), background)
    v = read_probe(image, row, col, scaled_offset(v_y, scale_y), scaled_offset(v_x, scale_x), background)
    return np.int32(u - v)


@kernel
def response(
    image: npt.NDArray[Any],
    row: int,
    col: int,
    u_x: np.float32,
    u_y: np.float32,
    v_x: np.float32,
    v_y: np.float32,
    fx: np.float32,
    fy: np.float32,
    background: int,
) -> np.int32:
    """Return the response of one pair of probes at a pixel that has a reading, in millimeters."""
    depth_mm = image[row, col]
    scale_x = pixel_scale(fx, depth_mm)
    scale_y = pixel_scale(fy, depth_mm)
    difference: np.int32 = scaled_response(image, row, col, u_x, u_y, v_x, v_y, scale_x, scale_y, background)
    return difference


@kernel
def _responses(
    image: npt.NDArray[np.uint16],
    pixels: npt.NDArray[np.int32],
    probes: npt.NDArray[np.float32],
    fx: np.float32,
    fy: np.float32,
    background: int,
    out: npt.NDArray[np.int32],
) -> None:
    for i in range(len(pixels)):
        row, col = pixels[i]
        scale_x = pixel_scale(fx, image[row, col])
        scale_y = pixel_scale(fy, image[row, col])
        for j in range(len(probes)):
            u_x, u_y, v_x, v_y = probes[j]
            out[i, j] = scaled_response(image, row, col, u_x, u_y, v_x, v_y, scale_x, scale_y, background)


def responses(
    depth_mm: DepthMM,
    pixels: npt.ArrayLike,
    probes: npt.ArrayLike,
    camera: Camera,
    background_mm: int = BACKGROUND_MM,
) -> npt.NDArray[np.int32]:
    """Return the responses of pixels to pairs of probes.

    Parameters
    ----------
    depth_mm : array (rows, cols), uint16
        Millimeters; 0 = no reading or not the person, as `masked_depth` returns it.
    pixels : array (n, 2), whole numbers
        (row, col) of pixels that have a reading.
    probes : array (k, 4), float
        u_x, u_y, v_x, v_y in meters, x right and y down; converted to float32.
    camera : Camera
        Camera of this image, without lens distortion.
    background_mm : int
        What a probe reads outside the image and where it holds 0.

    Returns
    -------
    array (n, k), int32
        Millimeters.
    """
    image = np.asarray(depth_mm)
    if image.ndim != 2 or image.dtype != np.uint16 or not image.size:
        raise FrameError(f"depth_mm must be uint16 of shape (rows, cols), got {image.dtype} of shape {image.shape}")
    fx, fy = focal_lengths(camera)
    if camera.shape != image.shape:
        raise CameraError(
            f"the depth has shape {image.shape}, the camera {camera.shape}; give the camera of this image"
        )
    image = np.ascontiguousarray(image)
    checked_pixels = _checked_pixels(pixels, image)
    checked_probes = check_offsets(probes)
    out = np.empty((len(checked_pixels), len(checked_probes)), dtype=np.int32)
    _responses(image, checked_pixels, checked_probes, fx, fy, check_background(background_mm), out)
    return out


def masked_depth(
    frame: Frame, mask: npt.NDArray[np.bool_] | None = None, person: int | None = None
) -> npt.NDArray[np.uint16]:
    """Return the depth of one person alone: everything off the mask is 0, which probes read as background.

    Parameters
    ----------
    frame : Frame
    mask : array (rows, cols), bool, optional
        Pixels of the person. Default, unless `person` is given: all pixels.
    person : int, optional
        Id of a person of a LabeledFrame, instead of a mask.

    Returns
    -------
    array (rows, cols), uint16
        A copy; millimeters.
    """
    if person is not None:
        if mask is not None:
            raise UsageError("give a mask or a person, not both")
        if not isinstance(frame, LabeledFrame):
            raise UsageError(f"only a LabeledFrame knows its people, got a {type(frame).__name__}; give a mask")
        if not is_whole(person, 1, 255):
            raise UsageError(f"a person's id is a whole number from 1 to 255, got {person!r}")
        mask = frame.people == person
    if mask is None:
        return frame.depth_mm.copy()
    return np.where(check_mask(mask, frame.shape), frame.depth_mm, np.uint16(0))


def check_mask(mask: Any, shape: tuple[int, int]) -> npt.NDArray[np.bool_]:
    """Return a mask if it is bool and of this shape."""
    array = np.asarray(mask)
    if array.dtype != np.bool_:
        raise FrameError(f"a mask must be bool, got {array.dtype}; mask != 0 makes it so")
    if array.shape != shape:
        raise FrameError(f"the mask has shape {array.shape}, the depth {shape}; they must be equal")
    return array


def check_background(background_mm: object) -> int:
    """Return a valid background value, or raise UsageError."""
    if not is_whole(background_mm, 1, MAX_BACKGROUND_MM):
        raise UsageError(
            f"background_mm must be a whole number of millimeters from 1 to {MAX_BACKGROUND_MM}, got {background_mm!r}"
        )
    return int(background_mm)


def check_offsets(probes: npt.ArrayLike) -> npt.NDArray[np.float32]:
    """Return probe pairs as a contiguous float32 array (k, 4) if they are finite and within `MAX_OFFSET_M`."""
    array = np.asarray(probes)
    if array.ndim != 2 or array.shape[1] != 4 or array.dtype.kind not in "fiu":
        raise UsageError(
            f"probes must be numbers of shape (k, 4): u_x, u_y, v_x, v_y in meters; "
            f"got {array.dtype} of shape {array.shape}"
        )
    # compared before the conversion, which may overflow; NaN fails the comparison, too
    within = np.abs(array) <= MAX_OFFSET_M
    if not within.all():
        row, col = np.argwhere(~within)[0]
        raise UsageError(
            f"probe offsets must be finite and at most {MAX_OFFSET_M:g} m, got {array[row, col]} in probe pair {row}"
        )
    return np.ascontiguousarray(array, dtype=np.float32)


def focal_lengths(camera: Camera) -> tuple[np.float32, np.float32]:
    """Return (fx, fy) as the kernels expect them, or raise an error if features cannot be computed for the camera."""
    if not isinstance(camera, Camera):
        raise CameraError(f"expected a Camera, got {camera!r}; Camera.parse takes names and numbers")
    if camera.distortion:
        raise CameraError("features need an ideal lens; Frame.from_array and read_depth undistort")
    return np.float32(camera.fx), np.float32(camera.fy)


def _checked_pixels(pixels: npt.ArrayLike, image: npt.NDArray[np.uint16]) -> npt.NDArray[np.int32]:
    array = np.asarray(pixels)
    if array.ndim != 2 or array.shape[1] != 2 or array.dtype.kind not in "iu":
        raise UsageError(
            f"pixels must be whole numbers of shape (n, 2): row, col; got {array.dtype} of shape {array.shape}"
        )
    inside = (array >= 0).all(axis=1) & (array < np.array(image.shape)).all(axis=1)
    if not inside.all():
        row, col = array[~inside][0]
        raise UsageError(f"pixel ({row}, {col}) lies outside the image of {image.shape[0]} rows, {image.shape[1]} cols")
    without = image[array[:, 0], array[:, 1]] == 0
    if without.any():
        row, col = array[without][0]
        raise UsageError(f"pixel ({row}, {col}) has no reading; features are of pixels with depth")
    return np.ascontiguousarray(array, dtype=np.int32)
