import io

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from PIL import Image

from depthforest.base import UsageError
from depthforest.frames import png
from depthforest.frames.parts import BODY31

RNG = np.random.default_rng(3)


def decoded(content):
    """Return what two other programs see, which must agree."""
    image = Image.open(io.BytesIO(content))
    image.load()
    seen = cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_UNCHANGED)
    if image.mode != "P":
        assert np.array_equal(np.asarray(image), seen[..., ::-1] if seen.ndim == 3 else seen)
    return image


def check(array, palette=None):
    image = decoded(png.encode(array, palette))
    assert image.mode == ("P" if palette is not None else "L" if array.ndim == 2 else "RGB")
    assert np.array_equal(np.asarray(image), array)
    return image


SHAPES = st.tuples(st.integers(1, 12), st.integers(1, 40), st.sampled_from((0, 3))).map(
    lambda s: s[:2] + (3,) * bool(s[2])
)


@settings(max_examples=60, deadline=None)
@given(arrays.arrays(np.uint8, SHAPES, elements=st.sampled_from((0, 1, 2, 7, 128, 255))))
def test_what_is_encoded_is_decoded(array):
    check(array)


@pytest.mark.parametrize("shape", [(1, 1), (1, 1, 3), (1, 700), (700, 1, 3), (3, 257, 3), (2, 258, 3)])
@pytest.mark.parametrize("value", [0, 255])
def test_plain_pictures(shape, value):
    check(np.full(shape, value, dtype=np.uint8))


@pytest.mark.parametrize("shape", [(64, 99), (64, 99, 3)])
def test_noise_costs_little_more_than_its_bytes(shape):
    array = RNG.integers(0, 256, shape).astype(np.uint8)
    check(array)
    assert len(png.encode(array)) < 1.05 * array.size + 300


def test_a_panel_that_repeats_another_costs_next_to_nothing():
    panel = RNG.integers(0, 256, (50, 400, 3)).astype(np.uint8)
    both = np.concatenate((panel, np.zeros((50, 4, 3), np.uint8), panel), axis=1)
    check(both)
    assert len(png.encode(both)) < 1.05 * len(png.encode(panel))


def test_repeats_too_far_back_are_not_used():
    # the second half of each row repeats the first: 32 kB back is the farthest that deflate can say
    for n_cols in (png._MAX_DISTANCE // 2 - 5, png._MAX_DISTANCE // 2, png._MAX_DISTANCE, png._MAX_DISTANCE + 9):
        row = np.tile(RNG.integers(0, 256, n_cols), 2).astype(np.uint8)
        check(np.stack((row, row[::-1])))


@pytest.mark.parametrize("length", [2, 3, 5, 6, 7, 85, 86, 87, 256, 257, 258, 259, 260, 517, 600])
def test_copies_of_all_lengths(length):
    piece = RNG.integers(0, 256, length).astype(np.uint8)
    gaps = [RNG.integers(0, 256, n).astype(np.uint8) for n in (1, 4, 9)]
    check(np.concatenate((piece, gaps[0], piece, gaps[1], piece, gaps[2], piece))[None])


def test_codes_are_never_too_long():
    # counts as of Fibonacci make the deepest tree: 21 symbols, 20 bits
    fibonacci = [1, 1]
    while len(fibonacci) < 21:
        fibonacci.append(sum(fibonacci[-2:]))
    counts, code = np.zeros(286, np.int64), np.zeros((286, 2), np.int64)
    counts[10:31] = fibonacci
    png._make_code(counts, code)
    lengths = code[:, 1]
    assert lengths.max() <= 15
    assert set(np.flatnonzero(lengths)) == set(range(10, 31))
    assert sum(2.0 ** -lengths[lengths > 0]) == 1  # no bit pattern is left over
    columns = np.repeat(np.arange(21), fibonacci)
    check(np.cumsum(RNG.permutation(columns)).astype(np.uint8)[:, None])


def test_counts_make_the_shortest_code():
    counts, code = np.zeros(286, np.int64), np.zeros((286, 2), np.int64)
    counts[[3, 65, 66, 200]] = 8, 4, 2, 2
    png._make_code(counts, code)
    assert code[[3, 65, 66, 200], 1].tolist() == [1, 2, 3, 3]
    # canonical: in the order of lengths, then of symbols; the first bit is the lowest
    assert code[[3, 65, 66, 200], 0].tolist() == [0b0, 0b01, 0b011, 0b111]


def test_indexed_pictures_keep_numbers_and_colors():
    parts = RNG.integers(0, 31, (30, 40)).astype(np.uint8)
    parts[:, :20] = 255
    image = check(parts, BODY31.color_table)
    assert np.array_equal(np.array(image.getpalette()).reshape(-1, 3), BODY31.color_table)
    assert np.array_equal(np.asarray(image.convert("RGB")), BODY31.color_table[parts])


def test_pictures_of_any_layout_and_a_smaller_one_after_a_larger():
    array = RNG.integers(0, 256, (40, 60, 3)).astype(np.uint8)
    check(array)
    check(array[::-1, ::2])
    check(np.asfortranarray(array[:7, :5]))
    check(array[..., 1].T)
    assert png.encode(array[:9]) == png.encode(array[:9].copy())


@pytest.mark.parametrize(
    ("array", "palette"),
    [
        (np.zeros((2, 2), np.uint16), None),
        (np.zeros((0, 2), np.uint8), None),
        (np.zeros((2, 2, 4), np.uint8), None),
        (np.zeros(4, np.uint8), None),
        (np.zeros((2, 2, 3), np.uint8), BODY31.color_table),
    ],
)
def test_what_is_no_picture_is_refused(array, palette):
    with pytest.raises(UsageError, match="a PNG holds gray values or RGB as uint8, got"):
        png.encode(array, palette)


def test_pictures_that_are_too_large_are_refused(monkeypatch):
    monkeypatch.setattr(png, "_MAX_BYTES", 100)
    check(np.zeros((10, 9), np.uint8))
    with pytest.raises(
        UsageError, match=r"a picture of \(10, 10\) is too large for this encoder, which takes 100 byte"
    ):
        png.encode(np.zeros((10, 10), np.uint8))
