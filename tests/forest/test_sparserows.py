"""Rows without their zeros: what is packed comes back, and what cannot be is refused."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from depthforest.base.errors import ModelError
from depthforest.base.modelfile import check_columns
from depthforest.forest import sparserows


@settings(deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n_leaves=st.integers(0, 6), n_facings=st.integers(1, 4))
def test_what_is_packed_comes_back(seed, n_leaves, n_facings):
    rng = np.random.default_rng(seed)
    n_parts = int(rng.choice([1, 3, 255]))
    rows = rng.integers(0, 256, (n_leaves * n_facings, n_parts)).astype(np.uint8)
    rows[rng.random(rows.shape) < rng.random()] = 0
    columns = sparserows.packed(rows, n_facings)
    lengths = check_columns(columns, sparserows.SCHEMA)
    assert lengths == {"leaves": n_leaves, "facings": n_facings, "entries": np.count_nonzero(rows)}
    np.testing.assert_array_equal(sparserows.unpacked(columns, n_parts), rows)


def test_as_the_page_says():
    columns = sparserows.packed(np.array([[0, 200, 55], [255, 0, 0]], np.uint8), 2)
    assert {name: array.tolist() for name, array in columns.items()} == {
        "row_lengths": [[2, 1]],
        "row_parts": [1, 2, 0],
        "row_shares": [200, 55, 255],
    }


def columns(lengths, parts, shares):
    made = zip(("row_lengths", "row_parts", "row_shares"), ([lengths], parts, shares), strict=True)
    return {name: np.array(values, np.uint8) for name, values in made}


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (columns([2, 2], [0, 1, 0], [1, 2, 3]), "row_lengths sum to 4, but there are 3 row_parts and 3 row_shares"),
        (columns([2, 1], [0, 1, 0], [1, 2]), "row_lengths sum to 3, but there are 3 row_parts and 2 row_shares"),
        (columns([], [0], [1]), "row_lengths sum to 0, but there are 1 row_parts"),
        (columns([2, 1], [1, 0, 0], [1, 2, 3]), "row 0 must have parts that rise and are below 3, and shares above 0"),
        (columns([1, 2], [2, 1, 1], [1, 2, 3]), "row 1 must have parts that rise"),
        (columns([1, 1], [2, 3], [1, 2]), "row 1 must have parts that rise and are below 3"),
        (columns([1, 2], [2, 0, 1], [1, 2, 0]), "row 1 must have .* shares above 0"),
        (columns([255], [0] * 255, [1] * 255), "row 0 must have parts that rise"),
    ],
)
def test_what_cannot_be_is_refused(bad, message):
    with pytest.raises(ModelError, match=message):
        sparserows.unpacked(bad, 3)


def test_rows_take_no_more_memory_than_a_file(monkeypatch):
    monkeypatch.setattr(sparserows, "MAX_FILE_BYTES", 5)
    with pytest.raises(ModelError, match="2 rows of 3 parts need more than 5 bytes of memory"):
        sparserows.unpacked(columns([1, 1], [0, 1], [255, 255]), 3)
    assert sparserows.unpacked(columns([1], [1], [255]), 3).tolist() == [[0, 255, 0]]
    # what could not be read again is not packed either
    with pytest.raises(ModelError, match="2 rows of 3 parts need more than 5 bytes of memory"):
        sparserows.packed(np.array([[255, 0, 0], [0, 255, 0]], np.uint8), 2)
    sparserows.packed(np.array([[0, 255, 0]], np.uint8), 1)
