"""The sensor models step by step: each turns ideal depth into readings and the sources of the readings.

`devices` holds their parameters, `sensing` checks everything, `kernels` does the work with random fields of `noise`. A
reading is in meters, 0 = hole; a source is the flat index of the pixel whose surface the reading shows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from depthforest.base import Bytes, Singles
from depthforest.frames import Camera
from synth.sensors import kernels
from synth.sensors import noise as noise_fields
from synth.sensors.devices import NEAREST_M, Sensor, Stereo, StructuredLight, TimeOfFlight
from synth.sensors.kernels import Indices


@dataclass(frozen=True, eq=False)
class Sensed:
    """The output of a sensor, with the labels of what its readings show.

    Parameters
    ----------
    depth_mm : array (rows, cols), uint16
        Millimeters; 0 = no reading.
    parts : array (rows, cols), uint8
        Part of the surface that the reading came from; 255 for no person or no reading.
    people : array (rows, cols), uint8
        Person that the reading came from; 0 for nobody or no reading.
    """

    depth_mm: npt.NDArray[np.uint16]
    parts: Bytes
    people: Bytes


def measure_facing(depth: Singles, camera: Camera) -> Singles:
    """Return |cos| between surface normal and ray, computed from the depth of neighbors."""
    facing = np.empty_like(depth)
    kernels._measure_facing(depth, np.array([camera.fx, camera.fy, camera.cx, camera.cy]), facing)
    return facing


def sense_structured_light(
    depth: Singles, facing: Singles, camera: Camera, sensor: StructuredLight, seed: np.uint64
) -> tuple[Singles, Indices]:
    """Return depth in meters (0 = hole) and sources."""
    scale = camera.fx / sensor.focal_px
    focal_baseline = sensor.focal_px * sensor.baseline_m
    noise = np.empty((2, *depth.shape), dtype=np.float32)
    noise_fields._fill_noise(
        seed, sensor.noise_width_px * scale, sensor.noise_height_px * scale, min(sensor.noise_grain_share, 0.99), noise
    )
    disparity = np.empty_like(depth)
    kernels._to_disparity(depth, focal_baseline, disparity)
    lit = disparity.copy()
    for x in (sensor.projector_x_m, sensor.imager_x_m):
        if x:
            shift = camera.fx * x / focal_baseline
            kernels._cast_shadow(disparity, shift, max(sensor.jump_px, 1 / abs(shift)), False, lit)
    half_x, half_y = (sensor.noise_width_px - 1) / 2 * scale, (sensor.noise_height_px - 1) / 2 * scale
    rule = np.array(
        [
            sensor.jump_px,
            sensor.wander_px * scale,
            half_x,
            half_y,
            sensor.support_share,
            sensor.support_spread,
            sensor.grazing_cos,
            sensor.grazing_spread,
            _threshold(sensor.speckle_share),
        ]
    )
    matched, source = disparity, np.empty(depth.shape, dtype=np.int32)  # reuses memory that is no longer needed
    kernels._match_pattern(lit, facing, noise, rule, matched, source)
    law = np.array(
        [focal_baseline, sensor.levels_per_px, sensor.noise_base_m, sensor.noise_gain, sensor.noise_center_m]
    )
    reading = lit
    kernels._quantize(matched, noise[0], law, reading)
    return reading, source


def sense_time_of_flight(
    depth: Singles, facing: Singles, camera: Camera, sensor: TimeOfFlight, seed: np.uint64
) -> tuple[Singles, Indices]:
    """Return depth in meters (0 = hole) and sources."""
    window = sensor.noise_window_px * camera.fx / sensor.focal_px
    noise = np.empty((2, *depth.shape), dtype=np.float32)
    noise_fields._fill_noise(seed, window, window, 0.0, noise)
    rule = np.array(
        [
            sensor.jump_share,
            sensor.flying_share,
            sensor.dropped_share,
            sensor.least_amplitude,
            sensor.least_amplitude_spread,
            sensor.noise_base_m,
            sensor.noise_gain,
            sensor.multipath_gain,
            sensor.multipath_limit_m,
            sensor.multipath_reach_m * camera.fx,
        ]
    )
    reading, source = np.empty_like(depth), np.empty(depth.shape, dtype=np.int32)
    kernels._time_light(depth, facing, noise, seed, rule, reading, source)
    return reading, source


def sense_stereo(
    depth: Singles, facing: Singles, camera: Camera, sensor: Stereo, seed: np.uint64
) -> tuple[Singles, Indices]:
    """Return depth in meters (0 = hole) and sources."""
    scale = camera.fx / sensor.focal_px
    focal_baseline = sensor.focal_px * sensor.baseline_m
    noise = np.empty((2, *depth.shape), dtype=np.float32)
    window = sensor.noise_window_px * scale
    noise_fields._fill_noise(seed, window, window, 0.0, noise)
    disparity, fat, melted = (np.empty_like(depth) for _ in range(3))
    largest, smallest = np.empty_like(depth), np.empty_like(depth)  # the smallest is kept negated
    fat_source, source = np.empty(depth.shape, dtype=np.int32), np.empty(depth.shape, dtype=np.int32)
    kernels._to_disparity(depth, focal_baseline, disparity)
    growth = sensor.fatten_px * scale
    kernels._dilate(disparity, math.ceil(2 * growth), largest)
    kernels._fatten(disparity, largest, noise[1], growth, sensor.jump_px, fat, fat_source)
    reach = round((sensor.edge_window_px - 1) / 2 * scale)
    kernels._dilate(fat, reach, largest)
    kernels._dilate(-fat, reach, smallest)
    kernels._melt_edges(fat, fat_source, largest + smallest > sensor.jump_px, reach, melted, source)
    kernels._cast_shadow(fat, scale, max(sensor.jump_px, 1 / scale), sensor.is_band_cut, melted)
    # a grown edge shows the rim of a surface, which is steep, in place of a surface that may not be
    melted[~(np.maximum(facing, facing.ravel()[source]) >= sensor.grazing_cos)] = 0
    cell = max(sensor.flat_size_px * scale, 1.0)
    texture = np.empty((int(depth.shape[0] / cell) + 2, int(depth.shape[1] / cell) + 2), dtype=np.float32)
    noise_fields._fill_texture(seed, texture)
    rule = np.array([sensor.flat_share, _threshold(sensor.flat_hole_share), _threshold(sensor.speckle_share)])
    kernels._drop_flat(texture, noise[1], cell, rule, melted)
    law = np.array([focal_baseline, sensor.levels_per_px, 0.0, sensor.noise_px / focal_baseline, 0.0])
    reading = np.empty_like(depth)
    kernels._quantize(melted, noise[0], law, reading)
    return reading, source


@lru_cache(maxsize=64)
def _threshold(share: float) -> float:
    """Return the threshold that this share of the noise exceeds."""
    return NormalDist().inv_cdf(1 - share) if 0 < share < 1 else math.inf if share == 0 else -math.inf


def deliver(reading: Singles, source: Indices, sensor: Sensor, parts: Bytes, people: Bytes) -> Sensed:
    """Return readings within range as whole millimeters, with the labels of their sources."""
    span = np.array([max(sensor.near_m, NEAREST_M), sensor.far_m])
    depth_mm = np.empty(reading.shape, dtype=np.uint16)
    sensed = Sensed(depth_mm, np.empty(reading.shape, dtype=np.uint8), np.empty(reading.shape, dtype=np.uint8))
    labels = (np.ascontiguousarray(parts).ravel(), np.ascontiguousarray(people).ravel())
    out = (depth_mm.ravel(), sensed.parts.ravel(), sensed.people.ravel())
    kernels._deliver(reading.ravel(), source.ravel(), span, *labels, *out)
    return sensed
