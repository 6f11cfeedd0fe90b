import numpy as np
import pytest

import depthforest as df
from depthforest.frames import drawing, shading
from depthforest.frames.parts import BODY31
from tests.support import naive_pictures

CAMERA = df.Camera(120.0, 110.0, 79.5, 50.0, 160, 120)
RNG = np.random.default_rng(5)


def made_up_depths():
    """Yield pictures of all kinds: slopes with noise and steps, holes, everything random, nothing, one reading."""
    rows, cols = np.mgrid[:120, :160]
    slope = 1500 + 4 * rows + 2 * cols + RNG.normal(0, 4, rows.shape)
    yield slope
    yield np.where(np.hypot(rows - 60, cols - 80) < 35, 900 + 0.2 * (rows - 60) ** 2, slope)
    yield np.where(RNG.random(rows.shape) < 0.2, 0, slope)
    yield RNG.integers(0, 65535, rows.shape)
    yield RNG.integers(990, 1010, rows.shape)
    yield np.zeros(rows.shape)
    yield np.where((rows == 3) & (cols == 159), 1200, 0)
    yield np.where(rows == 119, 65534, 0)


@pytest.mark.parametrize("number", range(8))
def test_shading_equals_its_twin(number):
    depth = list(made_up_depths())[number].astype(np.uint16)
    frame = df.Frame(depth, CAMERA)
    assert np.array_equal(drawing.shade(frame), naive_pictures.shade(frame))


@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (9, 1), (2, 2)])
def test_the_smallest_frames(shape):
    camera = df.Camera(100.0, 100.0, 0.0, 0.0, shape[1], shape[0])
    frame = df.Frame(RNG.integers(1000, 1010, shape).astype(np.uint16), camera)
    assert np.array_equal(drawing.shade(frame), naive_pictures.shade(frame))


@pytest.mark.parametrize("opacity", [0, 0.3, 0.75, 1])
def test_paint_equals_its_twin(opacity):
    shaded = RNG.integers(0, 256, (50, 60, 3)).astype(np.uint8)
    parts = RNG.choice([*range(31), 255], (50, 60)).astype(np.uint8)
    before = shaded.copy(), parts.copy()
    ref = naive_pictures.paint(shaded, parts, BODY31.color_table, opacity)
    assert np.array_equal(shading.painted(shaded, parts, BODY31.color_table, opacity), ref)
    assert np.array_equal(shading.painted(shaded[::-1], parts[::-1], BODY31.color_table, opacity), ref[::-1])
    assert np.array_equal(shaded, before[0])
    assert np.array_equal(parts, before[1])


def test_quantiles_are_those_of_the_readings():
    readings = RNG.integers(1, 3000, 501)
    n_upto = np.cumsum(np.bincount(readings, minlength=4000))
    for share in (0.0, 0.02, 0.3, 0.98, 1.0):
        assert shading._quantile(n_upto, share * 500) == pytest.approx(np.quantile(readings, share), rel=1e-12)
