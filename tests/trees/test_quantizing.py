"""Leaves in 255ths."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import naive_forest as naive

from depthforest.base.errors import ModelError
from depthforest.trees.quantizing import MAX_LEAF_ERROR, quantize_leaves


@settings(max_examples=200, deadline=None)
@given(st.lists(st.floats(0, 1e6, allow_subnormal=False), min_size=1, max_size=40).filter(any))
def test_quantized_leaves_sum_to_255_and_stay_close(weights):
    row = quantize_leaves(np.array([weights]))[0]
    assert row.tolist() == naive.quantize_row(weights)
    assert row.sum(dtype=int) == 255
    shares = np.array(weights) / np.sum(weights)
    assert np.abs(row / 255 - shares).max() < MAX_LEAF_ERROR + 1e-9
    order = np.argsort(shares, kind="stable")
    is_larger = np.diff(shares[order]) > 1e-9
    assert (np.diff(row[order].astype(int))[is_larger] >= 0).all()


def test_quantizing_is_exact_where_it_can_be():
    assert quantize_leaves([[1, 1]]).tolist() == [[128, 127]]
    assert quantize_leaves([[1, 1, 1], [0, 7, 0]]).tolist() == [[85, 85, 85], [0, 255, 0]]
    assert quantize_leaves(np.ones((1, 31))).tolist() == [[9] * 7 + [8] * 24]
    rng = np.random.default_rng(0)
    rows = quantize_leaves(rng.random((500, 31)))
    np.testing.assert_array_equal(quantize_leaves(rows), rows)


def test_the_stated_error_is_nearly_reached():
    """Thirty parts share one 255th: the first gets all of it."""
    row = np.array([[254 * 30, *[1] * 30]]) / (255 * 30)
    assert 0.9 * MAX_LEAF_ERROR < np.abs(quantize_leaves(row) / 255 - row).max() < MAX_LEAF_ERROR


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ([1.0, 2.0], r"shape \(leaves, parts\), got float64 of shape \(2,\)"),
        ([["a"]], r"must be numbers"),
        (np.empty((3, 0)), r"shape \(leaves, parts\)"),
        ([[1.0, 0], [0.5, -0.1]], "distribution 1 must have no negative"),
        ([[0.0, 0.0]], "distribution 0 must .* sum above 0"),
        ([[np.nan, 1]], "distribution 0"),
        ([[np.inf, 1]], "distribution 0"),
        ([[1e308, 1e308]], "distribution 0 must .* a finite sum"),
    ],
)
def test_bad_distributions(bad, message):
    with pytest.raises(ModelError, match=message):
        quantize_leaves(bad)
