"""Sensor models: noise, steps, holes, shadows and labels against what their parameters and geometry say."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import naive_sensors

from depthforest.base.errors import DepthForestError
from depthforest.frames.camera import Camera
from depthforest.io.reading import read_depth
from synth.scene.analytic import Box, Plane, Solid, Sphere, camera_rays, cast
from synth.sensors.devices import SENSORS, Ideal, Sensor, SensorError, Stereo, StructuredLight, TimeOfFlight
from synth.sensors.kernels import _cast_shadow, _dilate, _match_pattern
from synth.sensors.models import Sensed, measure_facing
from synth.sensors.noise import _fill_noise
from synth.sensors.sensing import sense

NOISY = ("kinect_v1", "kinect_v1_registered", "tof", "stereo")
BIG, SMALL = Camera.preset("kinect_v1"), Camera.preset("kinect_v1@320x240")

# whole pictures need compiled kernels; the others also run with the JIT off, where numpy warns of the hash's overflow
compiled = pytest.mark.skipif(
    bool(numba.config.DISABLE_JIT), reason="too many pixels for kernels that are not compiled"
)
pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")

FULL_WINDOW = slice(20, -20)  # far from the borders


def look(solids: list[Solid], camera: Camera, sensor: Sensor | str, seed: int = 0, n_people: int = 0) -> Sensed:
    """Sense a scene in which the first `n_people` solids are people 1, 2, ... with parts 0, 1, ..."""
    depth, parts, people = scene(solids, camera, n_people)
    return sense(depth, parts, people, camera, sensor, np.random.default_rng(seed))


def scene(solids: list[Solid], camera: Camera, n_people: int = 0) -> tuple[Any, Any, Any]:
    depth, solid = cast(camera, solids)
    is_person = (solid >= 0) & (solid < n_people)
    return (
        np.where(np.isfinite(depth), depth, 0).astype(np.float32),
        np.where(is_person, solid, 255).astype(np.uint8),
        np.where(is_person, solid + 1, 0).astype(np.uint8),
    )


def wall(z: float, degrees: float = 0.0) -> Plane:
    """Return a wall whose normal at the optical axis makes this angle with it, turned about the y axis."""
    angle = np.radians(degrees)
    return Plane((0.0, 0.0, z), (float(np.sin(angle)), 0.0, float(-np.cos(angle))))


def person(z: float = 1.5) -> list[Solid]:
    return [Sphere((0.0, -0.35, z), 0.15), Box((0.0, 0.2, z), (0.25, 0.35, 0.12), np.eye(3)), wall(3.0)]


def read(sensed: Sensed) -> Any:
    values = sensed.depth_mm[FULL_WINDOW, FULL_WINDOW]
    return values[values > 0].astype(np.float64) / 1e3


@compiled
@pytest.mark.parametrize("camera", [BIG, SMALL], ids=["640x480", "320x240"])
@pytest.mark.parametrize("z", [1.0, 2.0, 3.0, 4.0])
def test_kinect_noise_follows_its_law_with_rounding_included(z: float, camera: Camera) -> None:
    values = read(look([wall(z)], camera, "kinect_v1_wide"))
    # noise and rounding add up to the law by construction: noise^2 = law^2 - step^2 / 12; then whole millimeters
    expected = np.hypot(0.0012 + 0.0019 * (z - 0.4) ** 2, 0.001 / np.sqrt(12))
    step = z * z / (8 * 580 * 0.075)
    assert step / np.sqrt(12) < expected
    assert values.std() == pytest.approx(expected, rel=0.15)
    assert values.mean() == pytest.approx(z, abs=expected / 5)


@compiled
@pytest.mark.parametrize("z", [1.0, 2.0, 4.0])
def test_kinect_depths_lie_on_steps_of_an_eighth_of_a_pixel(z: float) -> None:
    found = np.unique(read(look([wall(z)], BIG, "kinect_v1_wide")))
    steps = 8 * 580 * 0.075 / found
    assert (
        np.abs(steps - steps.round()).max() * z * z / 348 < 0.00075
    )  # half a millimeter, and a little for off-center z
    middle = found[np.abs(found - z) < 3 * z * z / 348]
    assert np.diff(middle).mean() == pytest.approx(z * z / 348, rel=0.1)


@compiled
def test_kinect_noise_is_blobs_of_the_window() -> None:
    values = look([wall(2.0)], BIG, "kinect_v1").depth_mm[FULL_WINDOW, FULL_WINDOW].astype(np.float64)
    values[values == 0] = values[values > 0].mean()
    values -= values.mean()

    def correlation(rows: int, cols: int) -> float:
        n_rows, n_cols = values.shape
        return float((values[rows:, cols:] * values[: n_rows - rows, : n_cols - cols]).mean() / values.var())

    assert 0.55 < correlation(0, 1) < 0.8
    assert 0.35 < correlation(0, 3) < 0.6
    assert 0.35 < correlation(3, 0) < 0.6
    assert abs(correlation(0, 12)) < 0.05
    assert abs(correlation(12, 0)) < 0.05


@compiled
@pytest.mark.parametrize("name", ["tof", "stereo"])
@pytest.mark.parametrize("z", [1.0, 2.0, 3.0, 4.0])
def test_noise_of_other_sensors_follows_their_law(name: str, z: float) -> None:
    sensor = SENSORS[name]
    if isinstance(sensor, TimeOfFlight):
        # the wall is seen at a slant away from the axis, which the law counts: a small picture of its middle
        camera = BIG.cropped(140, 220, 200, 200)
        expected = sensor.noise_base_m + sensor.noise_gain * z * z
    else:
        assert isinstance(sensor, Stereo)
        camera, expected = BIG, sensor.noise_px * z * z / (sensor.focal_px * sensor.baseline_m)
    values = read(look([wall(z)], camera, sensor))
    assert values.std() == pytest.approx(np.hypot(expected, 0.001 / np.sqrt(12)), rel=0.15)


@compiled
@pytest.mark.parametrize("name", NOISY)
def test_noise_in_meters_is_the_same_at_any_resolution(name: str) -> None:
    big, small = (read(look([wall(2.5)], c, name)).std() for c in (BIG, SMALL))
    assert small == pytest.approx(big, rel=0.1)


def test_kinect_loses_steep_surfaces() -> None:
    camera = SMALL.cropped(100, 140, 40, 40)
    shares = []
    for degrees in (0, 60, 75, 80, 85):
        steep = look([wall(2.0, degrees)], camera, replace(SENSORS["kinect_v1"], far_m=20.0, near_m=0.1))
        shares.append(float((steep.depth_mm[:, 18:22] == 0).mean()))
    assert shares == sorted(shares)
    assert shares[1] < 0.05
    assert shares[3] > 0.2
    assert shares[4] > 0.9


@compiled
def test_given_facing_rules_over_the_computed_one() -> None:
    depth, parts, people = scene([wall(2.0)], SMALL)
    rng = np.random.default_rng
    plain = sense(depth, parts, people, SMALL, "kinect_v1", rng(1))
    facing = np.ones_like(depth)
    facing[:, :160] = 0.01
    half = sense(depth, parts, people, SMALL, "kinect_v1", rng(1), facing)
    assert not half.depth_mm[:, :158].any()
    assert np.array_equal(half.depth_mm[:, 160:], plain.depth_mm[:, 160:])


@compiled
@pytest.mark.parametrize("solid", [wall(2.0, 40.0), Sphere((0.1, 0.0, 2.0), 0.4)], ids=["plane", "sphere"])
def test_computed_facing_is_the_angle_of_the_surface(solid: Any) -> None:
    depth, _, _ = scene([solid], BIG)
    points = camera_rays(BIG) * depth[..., None]
    normals = np.asarray(solid.normal) if isinstance(solid, Plane) else (points - solid.center) / solid.radius
    exact = np.abs((points * normals).sum(axis=-1)) / np.maximum(np.linalg.norm(points, axis=-1), 1e-9)
    found = measure_facing(depth, BIG)
    is_inside = cv2.erode((depth > 0).astype(np.uint8), np.ones((3, 3))) > 0
    assert np.abs(found - exact)[is_inside & (exact > 0.3)].max() < 0.02
    assert (found[depth == 0] == 1).all()


@compiled
@pytest.mark.parametrize(
    ("width", "height", "grain"), [(1.0, 1.0, 0.0), (4.1, 3.6, 0.1), (9.0, 7.0, 0.0), (2.5, 1.0, 0.5)]
)
def test_noise_has_unit_variance_and_the_window_s_correlation(width: float, height: float, grain: float) -> None:
    fields = np.empty((2, 400, 500), dtype=np.float32)
    _fill_noise(np.uint64(9), width, height, grain, fields)
    assert fields.std(axis=(1, 2)) == pytest.approx(1.0, rel=0.03)
    assert fields.mean(axis=(1, 2)) == pytest.approx(0.0, abs=0.05)
    assert abs((fields[0] * fields[1]).mean()) < 0.05
    # the second field has no grain: a window with the ends in part, against itself one pixel on
    half = (width - 1) / 2
    reach = int(np.ceil(half))
    window = np.ones(2 * reach + 1)
    if reach:
        window[[0, -1]] = half - (reach - 1)
    expected = (window[1:] * window[:-1]).sum() / (window**2).sum()
    assert (fields[1][:, 1:] * fields[1][:, :-1]).mean() == pytest.approx(expected, abs=0.04)


def shadows(camera: Camera, sensor: Sensor) -> tuple[float, float]:
    """Return the mean width in pixels of the shadow to the left and right of a board at 1 m before a wall at 2.5 m."""
    board = Box((0.0, 0.0, 1.0), (0.2, 5.0, 0.001), np.eye(3))
    depth_mm = look([board, wall(2.5)], camera, sensor).depth_mm
    middle = camera.width // 2
    n_left, n_right = (depth_mm[:, :middle] == 0).sum(axis=1), (depth_mm[:, middle:] == 0).sum(axis=1)
    return float(n_left.mean()), float(n_right.mean())


@compiled
@pytest.mark.parametrize("camera", [BIG, SMALL], ids=["640x480", "320x240"])
def test_kinect_shadow_falls_to_the_left_as_wide_as_geometry_says(camera: Camera) -> None:
    calm = replace(SENSORS["kinect_v1"], speckle_share=0.0)
    left, right = shadows(camera, calm)
    assert left == pytest.approx(camera.fx * 0.075 * (1 / 1.0 - 1 / 2.5), abs=1.5)
    assert right < 0.5
    mirrored = shadows(camera, replace(calm, projector_x_m=-0.075))
    assert mirrored[0] < 0.5
    assert mirrored[1] == pytest.approx(left, abs=1.5)


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 12), st.integers(0, 2**32), st.floats(-3, 3), st.booleans())
def test_shadow_equals_its_naive_twin(cols: int, seed: int, shift: float, is_cut: bool) -> None:
    rng = np.random.default_rng(seed)
    disparity = rng.choice(np.array([0, 1, 1.4, 2, 2.5, 6, 9], np.float32), (3, cols))
    comp = disparity.copy()
    _cast_shadow(disparity, shift, 1.5, is_cut, comp)
    assert np.array_equal(comp, naive_sensors.cast_shadow(disparity, shift, 1.5, is_cut))


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 9), st.integers(1, 9), st.integers(0, 6), st.integers(0, 2**32))
def test_dilation_equals_its_naive_twin(rows: int, cols: int, reach: int, seed: int) -> None:
    image = np.random.default_rng(seed).normal(size=(rows, cols)).astype(np.float32)
    comp = np.empty_like(image)
    _dilate(image, reach, comp)
    assert np.array_equal(comp, naive_sensors.dilate(image, reach))


@compiled
@settings(max_examples=30, deadline=None)
@given(rows=st.integers(1, 14), cols=st.integers(1, 16), half=st.floats(0, 4), seed=st.integers(0, 2**32 - 1))
def test_matching_equals_its_naive_twin(rows: int, cols: int, half: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    lit = np.where(rng.random((rows, cols)) < 0.2, 0, rng.choice([10.0, 10.5, 20.0], (rows, cols))).astype(np.float32)
    facing = rng.random((rows, cols)).astype(np.float32)
    noise = rng.normal(size=(2, rows, cols)).astype(np.float32)
    rule = np.array([1.5, 1.2, half, half / 2, 0.3, 0.08, 0.3, 0.1, 2.0])
    matched, source = np.empty((rows, cols), np.float32), np.empty((rows, cols), np.int32)
    _match_pattern(lit, facing, noise, rule, matched, source)
    ref_matched, ref_source = naive_sensors.match_pattern(lit, facing, noise, rule)
    assert np.array_equal(matched, ref_matched)
    assert np.array_equal(source[matched > 0], ref_source[matched > 0])


@pytest.mark.parametrize("camera", [pytest.param(BIG, marks=compiled), SMALL], ids=["640x480", "320x240"])
def test_registered_kinect_has_a_third_of_its_shadow_on_the_right(camera: Camera) -> None:
    left, right = shadows(camera, replace(SENSORS["kinect_v1_registered"], speckle_share=0.0))
    assert left == pytest.approx(camera.fx * 0.050 * 0.6, abs=1.5)
    assert right == pytest.approx(camera.fx * 0.025 * 0.6, abs=1.5)


@compiled
def test_thin_pole_hides_only_what_lies_behind_it() -> None:
    pole = Box((0.0, 0.0, 1.0), (0.012, 5.0, 0.001), np.eye(3))
    calm = replace(SENSORS["kinect_v1"], speckle_share=0.0, wander_px=0.0, support_share=0.0, support_spread=0.0)
    is_hole = look([pole, wall(2.5)], BIG, calm).depth_mm == 0
    cols = np.flatnonzero(is_hole.mean(axis=0) > 0.5)
    shift = 525 * 0.075 * 0.6
    # the shadow has the pole's own width and lies apart from it: between the two the projector looks past the pole
    assert len(cols) == pytest.approx(0.024 * 525, abs=2)
    assert cols.mean() == pytest.approx(BIG.cx - shift, abs=1)


@compiled
def test_kinect_frays_edges_in_patches_and_loses_thin_things() -> None:
    board = Box((0.0, 0.0, 1.5), (0.2, 5.0, 0.001), np.eye(3))
    people = look([board, wall(2.5)], BIG, "kinect_v1", n_people=1).people
    edge = np.array([np.flatnonzero(line)[-1] for line in people])
    assert 0.5 < edge.std() < 3
    assert 0.3 < (np.diff(edge) == 0).mean() < 0.9  # runs of rows, not salt
    finger = Box((0.0, 0.0, 3.0), (0.004, 5.0, 0.001), np.eye(3))
    kept = look([finger, wall(4.0)], BIG, "kinect_v1", n_people=1).people.sum()
    there = scene([finger, wall(4.0)], BIG, 1)[2].sum()
    assert kept < 0.7 * there


@compiled
def test_tof_flies_at_edges_only() -> None:
    board = Box((0.0, 0.0, 1.0), (0.2, 5.0, 0.001), np.eye(3))
    depth, parts, people = scene([board, wall(2.5)], SMALL, 1)
    sensed = sense(depth, parts, people, SMALL, "tof", np.random.default_rng(0))
    z = sensed.depth_mm / 1e3
    is_between = (z > 1.1) & (z < 2.4)
    jump = np.abs(np.diff(depth, axis=1)) > 0.5
    is_rim = np.pad(jump, ((0, 0), (0, 1))) | np.pad(jump, ((0, 0), (1, 0)))
    assert 0.2 < is_between[is_rim].mean() < 0.6
    assert 0.1 < (z[is_rim] == 0).mean() < 0.4
    assert not is_between[~is_rim].any()
    assert (z[~is_rim] > 0).mean() > 0.999
    # mixtures carry the label of the surface they are nearer to; the middle is 1.75 m
    assert np.array_equal(sensed.people[is_between] == 1, z[is_between] < 1.75)


@compiled
def test_tof_rounds_hollow_corners_and_not_ridges() -> None:
    quiet = replace(SENSORS["tof"], noise_base_m=0.0, noise_gain=0.0, far_m=10.0)
    tilt = np.sqrt(0.5)
    hollow: list[Solid] = [Plane((0, 0, 3.0), (tilt, 0, tilt)), Plane((0, 0, 3.0), (-tilt, 0, tilt))]
    depth, solid = cast(SMALL, hollow)
    nothing = np.zeros(SMALL.shape, dtype=np.uint8)
    for corner, least, most in ((depth, 0.008, 0.03), (5.0 - depth, -0.001, 0.001)):
        ideal = corner.astype(np.float32)
        read_m = sense(ideal, nothing, nothing, SMALL, quiet, np.random.default_rng(0)).depth_mm / 1e3
        excess = (read_m - ideal)[100:140]
        assert least < excess[:, 158:162].mean() < most
        assert abs(excess[:, 60:80].mean()) < 0.001
    assert solid.max() == 1


def test_tof_loses_what_sends_too_little_light_back() -> None:
    camera = SMALL.cropped(100, 140, 40, 40)
    shares = [float((look([wall(4.0, a)], camera, "tof").depth_mm[:, 18:22] == 0).mean()) for a in (0, 60, 86)]
    # amplitudes 0.062, 0.031 and 0.004 against a threshold of 0.015 +- 0.004
    assert shares[0] < 0.01
    assert shares[1] < 0.01
    assert shares[2] > 0.95


@compiled
def test_stereo_fattens_and_melts_edges_and_cuts_its_left_band() -> None:
    board = Box((0.0, 0.0, 1.0), (0.2, 5.0, 0.001), np.eye(3))
    calm = replace(SENSORS["stereo"], noise_px=0.01, flat_hole_share=0.0, speckle_share=0.0)
    depth, parts, people = scene([board, wall(2.5)], BIG, 1)
    sensed = sense(depth, parts, people, BIG, calm, np.random.default_rng(0))
    z = sensed.depth_mm / 1e3
    line = slice(320, 520)
    n_more = sensed.people[:, line].sum(axis=1).mean() - people[:, line].sum(axis=1).mean()
    assert 1 <= n_more <= 4
    assert ((z[:, line] > 1.1) & (z[:, line] < 2.4)).sum(axis=1).min() >= 1
    band = np.flatnonzero((z > 0).all(axis=0))[0]
    assert band == pytest.approx(525 * 0.05 / 2.5, abs=1.5)
    assert (look([board, wall(2.5)], BIG, replace(calm, is_band_cut=False)).depth_mm[:, 2] > 0).all()


@compiled
def test_stereo_holes_gather_where_texture_is_weak() -> None:
    sensor = replace(SENSORS["stereo"], is_band_cut=False)
    is_hole = look([wall(2.0)], BIG, sensor).depth_mm == 0
    assert 0.005 < is_hole.mean() < 0.06
    cells = is_hole[:480, :640].reshape(15, 32, 20, 32).mean(axis=(1, 3))
    assert (cells < 0.005).mean() > 0.3
    assert cells.max() > 0.1


@compiled
@pytest.mark.parametrize("name", NOISY)
@pytest.mark.parametrize("camera", [BIG, SMALL], ids=["640x480", "320x240"])
def test_labels_follow_the_depth(name: str, camera: Camera) -> None:
    sensed = look(person(), camera, name, n_people=2)
    z = sensed.depth_mm / 1e3
    is_person = sensed.people > 0
    assert np.array_equal(is_person, sensed.parts != 255)
    assert np.array_equal(sensed.parts[is_person] + 1, sensed.people[is_person])
    assert not is_person[z == 0].any()
    # the person is at 1.35 to 1.5 m, the wall at 3 m: halfway lie 2.18 to 2.25 m, or in disparity 1.86 to 2 m
    assert (z[is_person] < 2.3).all()
    assert (z[~is_person & (z > 0)] > (1.8 if name == "stereo" else 2.1)).all()
    assert is_person.sum() > 0.9 * (scene(person(), camera, 2)[2] > 0).sum()


@compiled
def test_ideal_sensor_only_rounds() -> None:
    depth, parts, people = scene(person(), SMALL, 2)
    depth[0, :4] = 0.0, np.nan, -1.0, np.inf
    depth[1, :3] = 65.534, 65.6, 0.0009
    parts[:2], people[:2] = 7, 1
    sensed = sense(depth, parts, people, SMALL, "ideal", np.random.default_rng(0))
    assert sensed.depth_mm.dtype == np.uint16
    assert not sensed.depth_mm[0, :4].any()
    assert list(sensed.depth_mm[1, :3]) == [65534, 0, 0]
    rest = np.s_[2:]
    assert np.array_equal(sensed.depth_mm[rest], np.floor(depth[rest].astype(np.float64) * 1000 + 0.5))
    assert np.array_equal(sensed.parts[rest], parts[rest])
    assert np.array_equal(sensed.people[rest], people[rest])
    is_hole = sensed.depth_mm == 0
    assert (sensed.parts[is_hole] == 255).all()
    assert (sensed.people[is_hole] == 0).all()


@compiled
@pytest.mark.parametrize("name", SENSORS)
def test_readings_stay_within_the_range(name: str) -> None:
    sensor = SENSORS[name]
    depth = np.tile(np.linspace(0.05, 12, SMALL.width, dtype=np.float32), (SMALL.height, 1))
    nobody = np.zeros(SMALL.shape, dtype=np.uint8)
    facing = np.ones_like(depth)
    sensed = sense(depth, nobody, nobody + 1, SMALL, sensor, np.random.default_rng(0), facing)
    read_m = sensed.depth_mm[sensed.depth_mm > 0] / 1e3
    assert read_m.min() >= sensor.near_m - 0.0005
    assert read_m.max() <= sensor.far_m + 0.0005
    assert read_m.max() > min(0.9 * sensor.far_m, 11)
    assert (sensed.people[sensed.depth_mm == 0] == 0).all()


@pytest.mark.parametrize("name", SENSORS)
@pytest.mark.parametrize("size", [(1, 1), (1, 7), (7, 1), (2, 3), (33, 17)])
def test_small_and_empty_pictures(name: str, size: tuple[int, int]) -> None:
    width, height = size
    camera = Camera(300.0, 300.0, width / 2, height / 2, width, height)
    nobody, none = np.zeros(camera.shape, dtype=np.uint8), np.full(camera.shape, 255, dtype=np.uint8)
    for z in (0.0, 2.0, np.nan):
        depth = np.full(camera.shape, z, dtype=np.float32)
        sensed = sense(depth, none, nobody, camera, name, np.random.default_rng(0))
        assert sensed.depth_mm.shape == camera.shape
        if not z > 0:
            assert not sensed.depth_mm.any()
        assert (sensed.parts == 255).all()
        assert not sensed.people.any()


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(NOISY), st.integers(1, 24), st.integers(1, 24), st.integers(0, 2**32), st.floats(5, 3000))
def test_any_depth_gives_sane_readings(name: str, height: int, width: int, seed: int, focal: float) -> None:
    rng = np.random.default_rng(seed)
    camera = Camera(focal, focal, width / 2, height / 2, width, height)
    depth = rng.choice(
        np.array([0, np.nan, -1, np.inf, 1e-42, 0.002, 0.4, 1, 1.1, 3, 70, 1e30], np.float32), (height, width)
    )
    people = rng.integers(0, 3, (height, width), dtype=np.uint8)
    parts = np.where(people > 0, people, 255).astype(np.uint8)
    sensed = sense(depth, parts, people, camera, name, rng)
    sensor = SENSORS[name]
    readings = sensed.depth_mm[sensed.depth_mm > 0]
    assert (readings >= 1000 * sensor.near_m).all()
    assert (readings <= 1000 * sensor.far_m).all()
    assert np.array_equal(sensed.parts, np.where(sensed.people > 0, sensed.people, 255))
    assert not sensed.people[sensed.depth_mm == 0].any()


@compiled
@pytest.mark.parametrize("name", SENSORS)
def test_same_rng_same_bytes_and_inputs_stay(name: str) -> None:
    pictures = scene(person(), SMALL, 2)
    before = [p.tobytes() for p in pictures]
    for picture in pictures:
        picture.setflags(write=False)
    runs = [sense(*pictures, SMALL, name, np.random.default_rng(5)) for _ in range(2)]
    assert vars(runs[0]).keys() == {"depth_mm", "parts", "people"}
    for key in vars(runs[0]):
        assert np.array_equal(getattr(runs[0], key), getattr(runs[1], key))
    assert [p.tobytes() for p in pictures] == before
    other = sense(*pictures, SMALL, name, np.random.default_rng(6))
    assert np.array_equal(other.depth_mm, runs[0].depth_mm) == (name == "ideal")
    fortran = [np.asfortranarray(p) for p in pictures]
    assert np.array_equal(sense(*fortran, SMALL, name, np.random.default_rng(5)).depth_mm, runs[0].depth_mm)


@compiled
def test_every_sensor_draws_one_number() -> None:
    pictures = scene([wall(2.0)], SMALL)
    states = set()
    for name in SENSORS:
        rng = np.random.default_rng(3)
        sense(*pictures, SMALL, name, rng)
        states.add(int(rng.integers(2**60)))
    assert len(states) == 1


@compiled
def test_threads_give_the_same_bytes() -> None:
    pictures = scene(person(), SMALL, 2)

    def run(seed: int) -> bytes:
        return sense(*pictures, SMALL, "kinect_v1", np.random.default_rng(seed)).depth_mm.tobytes()

    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(run, range(8)))
    assert together == [run(seed) for seed in range(8)]


@compiled
def test_own_parameters_are_taken() -> None:
    blind = StructuredLight(near_m=2.0, far_m=2.5)
    assert not look([wall(1.0)], SMALL, blind).depth_mm.any()
    assert look([wall(2.2)], SMALL, blind).depth_mm.any()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"sensor": "kinect"}, "no sensor is called 'kinect'; sensors: ideal, kinect_v1"),
        ({"sensor": 3}, "sensor must be a name"),
        ({"depth": np.ones((240, 320))}, "depth must be an array of float32, got float64"),
        ({"depth": [[1.0]]}, "depth must be an array of float32, got list"),
        ({"depth": np.ones((10, 10), np.float32)}, "depth must have the camera's shape (240, 320), got (10, 10)"),
        ({"parts": np.ones((240, 321), np.uint8)}, "parts must have the camera's shape (240, 320), got (240, 321)"),
        ({"people": np.ones((240, 320), np.int64)}, "people must be an array of uint8, got int64"),
        ({"facing": np.ones((240, 320))}, "facing must be an array of float32, got float64"),
        ({"facing": np.ones((1, 320), np.float32)}, "facing must have the camera's shape"),
        ({"rng": 7}, "rng must be a numpy.random.Generator, got int"),
        ({"camera": "kinect_v1"}, "camera must be a Camera, got str"),
        ({"camera": replace(SMALL, fx=1e6)}, "fx may be at most 16 times the sensor's focal length of 365.456 px"),
        ({"camera": replace(SMALL, distortion=(0.1, 0.0, 0.0, 0.0))}, "without distortion"),
    ],
)
def test_bad_input_is_one_clear_line(change: dict[str, Any], words: str) -> None:
    depth, parts, people = scene([wall(2.0)], SMALL)
    given_ = {"depth": depth, "parts": parts, "people": people, "camera": SMALL, "sensor": "tof"}
    given_["rng"] = np.random.default_rng(0)
    with pytest.raises(SensorError) as caught:
        sense(**{**given_, **change})
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, DepthForestError)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Ideal(near_m=2.0, far_m=1.0), "a sensor needs 0 <= near_m < far_m"),
        (lambda: Ideal(far_m=70.0), "far_m must be at most 65.534 meters, got 70.0"),
        (lambda: StructuredLight(baseline_m=0.0), "baseline_m must be above 0"),
        (lambda: StructuredLight(noise_gain=float("nan")), "noise_gain must be finite and not negative"),
        (lambda: StructuredLight(speckle_share=1.5), "speckle_share must be a share from 0 to 1"),
        (lambda: StructuredLight(noise_width_px=1e9), "noise_width_px must be at most"),
        (lambda: Stereo(fatten_px=1e6), "fatten_px must be at most"),
        (lambda: TimeOfFlight(focal_px="wide"), "focal_px must be a number, got 'wide'"),  # type: ignore[arg-type]
        (lambda: TimeOfFlight(multipath_reach_m=1e300), "multipath_reach_m must be at most"),
        (lambda: Stereo(is_band_cut=2), "is_band_cut must be True or False, got 2"),  # type: ignore[arg-type]
        (lambda: Stereo(fatten_px=-1.0), "fatten_px must be finite and not negative"),
    ],
)
def test_bad_parameters_are_refused(make: Callable[[], Sensor], words: str) -> None:
    with pytest.raises(SensorError, match=words):
        make()


def test_parameters_come_without_numba() -> None:
    code = "import sys, synth.sensors.devices; assert 'numba' not in sys.modules"
    top = Path(__file__).resolve().parents[3]
    subprocess.run([sys.executable, "-c", code], check=True, cwd=top, timeout=600)


@compiled
def test_real_wall_is_as_noisy_as_ours(shared_data: Callable[[str], Path]) -> None:
    real = read_depth(shared_data("pcd/person.pcd"), camera="kinect_v1").depth_mm[40:150, 60:440]
    z = float(np.median(real)) / 1e3
    ours = look([wall(z)], BIG, "kinect_v1").depth_mm[40:150, 60:440]
    assert ripple(ours) == pytest.approx(ripple(real), rel=0.25)


def ripple(depth_mm: Any, size: int = 13) -> float:
    """Return the median standard deviation in mm about the best plane of each whole window."""
    rows, cols = np.indices((size, size)) - size // 2
    basis = np.stack((np.ones(size * size), rows.ravel(), cols.ravel()), axis=1)
    project = basis @ np.linalg.pinv(basis)
    spreads = []
    for row in range(0, depth_mm.shape[0] - size, size // 2):
        for col in range(0, depth_mm.shape[1] - size, size // 2):
            window = depth_mm[row : row + size, col : col + size].astype(np.float64).ravel()
            if window.min() > 0 and np.ptp(window) < 0.1 * window.mean():
                spreads.append((window - project @ window).std())
    return float(np.median(spreads))
