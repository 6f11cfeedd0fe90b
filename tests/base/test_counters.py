import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from support import naive_trees as naive

from depthforest.base.counters import GOLDEN, mix, number_below, share_of

BITS = st.integers(0, 2**64 - 1)


def test_the_first_numbers_are_those_of_splitmix64():
    """The published generator, started at 0 and at 1234567: its first outputs."""
    assert [int(mix(np.uint64(int(GOLDEN) * k % 2**64))) for k in (1, 2, 3)] == [
        0xE220A8397B1DCDAF,
        0x6E789E6AA1B965F4,
        0x06C45D188009454F,
    ]
    assert int(mix(np.uint64((1234567 + int(GOLDEN)) % 2**64))) == 6457827717110365317


@settings(deadline=None)
@given(BITS, st.integers(1, 2**31))
def test_numbers_are_their_twins(bits, n):
    assert int(mix(np.uint64(bits))) == naive.mix(bits)
    assert number_below(np.uint64(bits), n) == naive.number_below(bits, n)
    assert 0 <= number_below(np.uint64(bits), n) < n
    assert share_of(np.uint64(bits)) == naive.share_of(bits)
    assert 0 <= share_of(np.uint64(bits)) < 1


def test_numbers_are_spread_evenly():
    bits = [mix(np.uint64(int(GOLDEN) * k % 2**64)) for k in range(1, 7001)]
    counts = np.bincount([number_below(np.uint64(b), 7) for b in bits], minlength=7)
    assert ((counts - 1000) ** 2 / 1000).sum() < 22.5  # chi-squared of 6 degrees: once in a thousand
    assert abs(np.mean([share_of(np.uint64(b)) for b in bits]) - 0.5) < 0.012
