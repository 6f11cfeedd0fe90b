from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csc_array
from sklearn.base import BaseEstimator

from depthforest.base.errors import UsageError
from depthforest.ensemble.fitting import tables

ROWS, COLUMNS = np.array([0, 2, 2]), np.array([1])
X = np.arange(9.0).reshape(3, 3)


@pytest.mark.parametrize("make", [np.asarray, pd.DataFrame, csc_array])
def test_cut_keeps_the_kind_of_table(make):
    def dense(table):
        return table.toarray() if hasattr(table, "toarray") else np.asarray(table)

    table = make(X)
    part = tables.cut(table, ROWS, COLUMNS)
    assert type(part) is type(table)
    np.testing.assert_array_equal(dense(part), [[1], [7], [7]])
    np.testing.assert_array_equal(dense(tables.cut(table, None, COLUMNS)), [[1], [4], [7]])
    assert tables.cut(table, None, None) is table


def test_metadata_is_cut_where_it_is_by_row():
    metadata = {
        "list": ["a", "b", "c"],
        "array": np.arange(3),
        "series": pd.Series([5, 6, 7], index=[9, 8, 7]),
        "name": "abc",
        "other": [1, 2],
        "number": 3,
        "scalar": np.array(3),
    }
    part = tables.cut_metadata(metadata, ROWS, 3)
    assert part["list"] == ["a", "c", "c"]
    assert part["array"].tolist() == [0, 2, 2]
    assert part["series"].tolist() == [5, 7, 7]
    assert {name: part[name] for name in ("name", "other", "number", "scalar")} == {
        name: metadata[name] for name in ("name", "other", "number", "scalar")
    }
    assert tables.cut_metadata(metadata, None, 3) == metadata


def test_weights_are_checked():
    np.testing.assert_array_equal(tables.checked_weights([1, 0, 2], 3), [1.0, 0.0, 2.0])
    with pytest.raises(UsageError, match=r"shape \(3,\), a weight for each row, got \(2,\)"):
        tables.checked_weights([1, 2], 3)
    with pytest.raises(UsageError, match=r"must not be negative, got -2"):
        tables.checked_weights([1, -2, 1], 3)
    with pytest.raises(UsageError, match=r"zero for every row: give at least one"):
        tables.checked_weights([0, 0, 0], 3)
    with pytest.raises(ValueError, match=r"sample_weight contains NaN"):
        tables.checked_weights([1, np.nan, 1], 3)


def training_table(table, y):
    return tables.checked_training_table(BaseEstimator(), table, y, reset=True, finite=False)


def test_frames_stay_frames_and_set_the_columns():
    estimator = BaseEstimator()
    frame = pd.DataFrame({"a": [1, 2], "b": ["x", None]})
    checked, y = tables.checked_training_table(estimator, frame, pd.Series([0, 1]), reset=True, finite=True)
    assert checked is frame
    assert isinstance(y, np.ndarray)
    assert estimator.feature_names_in_.tolist() == ["a", "b"]
    assert estimator.n_features_in_ == 2
    assert tables.checked_table(estimator, frame, framed=True) is frame
    with pytest.raises(ValueError, match=r"feature names"):
        tables.checked_table(estimator, frame.rename(columns={"a": "c"}), framed=True)
    with pytest.raises(UsageError, match=r"at least one row, got none"):
        tables.checked_table(estimator, frame.iloc[:0], framed=True)


def test_a_bad_table_is_refused():
    with pytest.raises(UsageError, match=r"at least one row and one column, got 0 rows and 1 columns"):
        training_table(pd.DataFrame({"a": []}), [])
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[2, 3\]"):
        training_table(pd.DataFrame({"a": [1, 2]}), [1, 2, 3])
    with pytest.raises(UsageError, match=r"y must be an array, got a sparse matrix"):
        training_table(X, csc_array(X))
    with pytest.raises(TypeError, match=r"argument must be a string or a number in each cell of X, got a dict"):
        training_table(np.array([[1, "a"], [None, {}]], dtype=object), [0, 1])
    with pytest.raises(ValueError, match=r"Input X contains NaN"):
        tables.checked_training_table(BaseEstimator(), np.full((2, 2), np.nan), [0, 1], reset=True, finite=True)


def test_an_array_becomes_a_frame_for_members_that_know_frames():
    estimator = BaseEstimator()
    frame = pd.DataFrame(X, columns=list("abc"))
    tables.checked_training_table(estimator, frame, [0, 1, 2], reset=True, finite=False)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        made = tables.checked_table(estimator, X, framed=True)
    pd.testing.assert_frame_equal(made, frame)
