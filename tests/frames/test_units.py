import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from depthforest.base.errors import DepthForestWarning, FrameError, UsageError
from depthforest.frames.units import to_millimeters

ROOM = np.random.default_rng(0).integers(900, 3800, (40, 50)).astype(np.uint16)


def converted(raw, **options):
    """Convert, and fail on any warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return to_millimeters(raw, **options)


def test_millimeters_stay():
    comp = converted(ROOM)
    np.testing.assert_array_equal(comp, ROOM)
    assert comp.dtype == np.uint16
    assert not np.shares_memory(comp, ROOM)


@pytest.mark.parametrize(
    ("raw", "scale"),
    [
        (ROOM.astype(np.int32), None),
        (ROOM.astype(">u2"), None),
        (ROOM[..., None], None),
        (ROOM / 1000, None),
        ((ROOM / 1000).astype(np.float32), None),
        (ROOM / 1000, "m"),
        (ROOM / 10, "cm"),
        (ROOM.astype(np.uint32) * 5, "tum"),
        (ROOM.astype(np.uint32) * 5, 1 / 5000),
        (ROOM.astype(np.uint32) * 5, "0.0002"),
        (((ROOM << 3) | (ROOM >> 13)).astype(np.uint16), "sun3d"),
        (ROOM / -1000.0, -1.0),
        (ROOM.astype(float), "mm"),
    ],
)
def test_every_unit_arrives_as_millimeters(raw, scale):
    np.testing.assert_array_equal(converted(raw, scale=scale), ROOM)


@given(st.integers(0, 65535))
def test_sun3d_bits_turn_back(value):
    rotated = ((value << 3) | (value >> 13)) & 0xFFFF
    expected = value if value != 65535 else 0
    raw = np.array([[rotated, 8000]], dtype=np.uint16)
    assert to_millimeters(raw, scale="sun3d")[0, 0] == expected


@given(hnp.arrays(np.float32, (3, 4), elements=st.floats(width=32, allow_nan=True, allow_infinity=True)))
def test_any_float_gives_millimeters_or_an_error(raw):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DepthForestWarning)
        meters = raw.astype(np.float64)
        is_reading = np.isfinite(meters) & (np.rint(meters * 1000) > 0)
        is_stored = is_reading & (np.rint(meters * 1000) <= 65535)
        if is_stored.sum() < is_reading.sum() / 2:
            with pytest.raises(FrameError, match="farther than 65"):
                to_millimeters(raw, scale="m")
            return
        comp = to_millimeters(raw, scale="m")
    np.testing.assert_array_equal(comp, np.rint(np.where(is_stored, meters, 0) * 1000))


def test_nan_inf_and_negative_are_no_reading():
    raw = np.full((4, 4), 1.5)
    raw[0] = [np.nan, np.inf, -np.inf, -2.0]
    raw[1, 0] = 0.0
    comp = converted(raw)
    assert (comp == 0).sum() == 5
    assert comp[3, 3] == 1500
    signed = np.array([[-5, 1500, 1600]], dtype=np.int16)
    np.testing.assert_array_equal(converted(signed), [[0, 1500, 1600]])


def test_65535_is_no_reading():
    np.testing.assert_array_equal(converted(np.array([[65535, 1200, 1300]], np.uint16)), [[0, 1200, 1300]])


# -- recognized mistakes: the message names the likely cause and the option that corrects it --------------------------


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (ROOM.astype(np.float32), ["taken as millimeters", "scale=0.001"]),
        (np.full((9, 9), 224.5), ["taken as millimeters", "or scale='cm' if they are centimeters"]),
        (ROOM * 5, ["TUM", "5000 per meter", "scale='tum'"]),
        ((ROOM << 3).astype(np.uint16), ["SUN3D", "scale='sun3d'"]),
        (np.where(ROOM > 1500, 2047, ROOM // 2).astype(np.uint16), ["2047", "raw Kinect disparity", "millimeters"]),
        ((ROOM // 1000).astype(np.uint16), ["a tenth of the readings would be within 0.001 m", "scale", "cm, m"]),
        ((ROOM // 10).astype(np.uint16), ["a tenth of the readings would be within 0.1", "centimeters"]),
        (np.zeros((4, 4), np.uint16), ["no reading", "every value is 0"]),
        (np.full((4, 4), 65535, np.uint16), ["no reading", "every value is 65535"]),
        (np.zeros((4, 4)), ["no reading", "every value is 0"]),
        (np.full((4, 4), np.nan), ["every value is NaN or infinite"]),
        (ROOM / -1000.0, ["negative", "OpenGL", "scale=-1"]),
        (ROOM / ROOM.max(), ["exactly 1", "normalized"]),
        (np.full((4, 4), 12.5) + np.eye(4), ["beyond 12.5 m", "really meters"]),
        (np.full((9, 9), 14000, np.uint16), ["beyond 14 m", "meters per unit"]),
    ],
)
def test_suspicious_values_are_warned_about(raw, words):
    with pytest.warns(DepthForestWarning) as record:
        to_millimeters(raw, name="x.png")
    assert len(record) == 1
    message = str(record[0].message)
    assert message.startswith("x.png: ")
    for word in words:
        assert word in message


def test_a_given_scale_is_believed():
    converted(ROOM * 5, scale="mm")
    converted(ROOM.astype(np.float32), scale=0.001)
    np.testing.assert_array_equal(converted(np.full((2, 2), 200, np.uint8), scale=0.01), np.full((2, 2), 2000))


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ((ROOM // 16).astype(np.uint8), ["8-bit", "preview", "scale"]),
        (np.zeros((4, 4, 3), np.uint8), ["3 channels", "color picture", "export the raw 16-bit depth"]),
        (np.zeros((4, 4, 4), np.uint16), ["4 channels"]),
        (np.zeros((4, 4, 2), np.uint8), ["2 channels"]),
        (np.zeros((5, 40, 50), np.uint16), ["stack of shape (5, 40, 50)", "read_frames"]),
        (np.zeros(7, np.uint16), ["shape (rows, cols), got shape (7,)"]),
        (np.zeros((0, 4), np.uint16), ["4 x 0 pixels"]),
        (np.zeros((4, 4), bool), ["got bool"]),
        (np.zeros((4, 4), complex), ["got complex128"]),
        (np.array([["a"]]), ["whole numbers"]),
        (np.full((4, 4), 60.0), ["neither meters nor millimeters", "disparity", "scale"]),
        (np.full((4, 4), 1e9), ["neither meters nor millimeters"]),
    ],
)
def test_what_cannot_be_depth_is_refused(raw, words):
    with pytest.raises(FrameError) as error:
        to_millimeters(raw, name="x.png")
    message = str(error.value)
    assert message.startswith("x.png: ")
    assert "\n" not in message
    for word in words:
        assert word in message


def test_what_is_too_far_to_store_is_refused():
    with pytest.raises(FrameError, match=r"most readings are farther than 65.5 m at 1 m per unit \(median 90 m\)"):
        to_millimeters(np.full((4, 4), 90, np.uint16), scale="m")


@pytest.mark.parametrize(
    ("scale", "message"),
    [
        ("feet", "scale 'feet' is unknown; give meters per unit or one of mm, cm, m, tum, sun3d"),
        (0, "finite number other than 0"),
        (float("nan"), "finite number other than 0"),
        (True, "finite number other than 0"),
    ],
)
def test_nonsense_scales_are_refused(scale, message):
    with pytest.raises(UsageError) as error:
        to_millimeters(ROOM, scale=scale)
    assert message in str(error.value)


def test_a_scale_that_leaves_nothing_is_named():
    with pytest.warns(DepthForestWarning, match="no value is above 0 at -1 m per unit; pass the right scale"):
        to_millimeters(ROOM, scale=-1)


def test_masked_pixels_are_no_reading():
    masked = np.ma.masked_array(ROOM, mask=ROOM > 2000)
    np.testing.assert_array_equal(converted(masked), np.where(ROOM > 2000, 0, ROOM))


def test_sun3d_in_the_other_byte_order():
    rotated = ((ROOM << 3) | (ROOM >> 13)).astype(">u2")
    np.testing.assert_array_equal(converted(rotated, scale="sun3d"), ROOM)


def test_pages_that_were_written_as_color_are_explained():
    with pytest.raises(FrameError, match=r"has 3 channels, .* photometric='minisblack'"):
        to_millimeters(np.zeros((4, 4, 3), np.uint16))


def test_sun3d_needs_16_bits():
    with pytest.raises(FrameError, match="sun3d expects 16-bit unsigned values, got int32"):
        to_millimeters(ROOM.astype(np.int32), scale="sun3d")


def test_garbage_gets_the_right_reason_alone():
    """No hint about SUN3D or TUM before it is refused."""
    garbage = np.random.default_rng(0).integers(2**40, 2**62, (48, 64)) // 8 * 8
    with pytest.raises(FrameError, match=r"most readings are farther than 65\.5 m"):
        to_millimeters(garbage)
