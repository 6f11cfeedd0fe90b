"""Groups of rows by query: what is accepted, what is refused, sizes and back, and cross-validation by query."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator

from depthforest.base.errors import UsageError
from depthforest.ensemble.ranking import cross_val_ndcg, group_ids, group_sizes, ndcg
from depthforest.ensemble.ranking.groups import check_learnable, query_starts


@given(st.lists(st.integers(1, 9), min_size=1, max_size=12))
def test_sizes_and_ids_are_the_same_thing(sizes):
    ids = group_ids(sizes)
    assert group_sizes(ids).tolist() == sizes
    assert query_starts(ids, len(ids)).tolist() == [0, *np.cumsum(sizes)]


@pytest.mark.parametrize(
    "qid",
    [
        [7, 7, 3, 3, 3, 5], ["b", "b", "a", "a", "a", "c"], np.array(["b", "b", "a", "a", "a", "c"], dtype=object),
        [7.0, 7.0, 3.0, 3.0, 3.0, 5.0], [[7], [7], [3], [3], [3], [5]], np.array([7, 7, 3, 3, 3, 5], dtype=object),
        np.array([7, 7, 3, 3, 3, 5], dtype=np.uint8),
    ],
    ids=str,
)  # fmt: skip
def test_queries_stand_in_any_order(qid):
    starts = query_starts(qid, 6)
    assert starts.tolist() == [0, 2, 5, 6]
    assert starts.dtype == np.int64


def test_pandas_series_and_no_qid():
    pd = pytest.importorskip("pandas")
    assert query_starts(pd.Series([1, 1, 0], index=[9, 8, 7]), 3).tolist() == [0, 2, 3]
    assert query_starts(None, 5).tolist() == [0, 5]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: query_starts([2, 2, 1, 2], 4),
            r"qid 2 are apart \(rows 0 and 3\): sort all rows by np.argsort\(qid",
        ),
        (lambda: query_starts(list("aba"), 3), r"qid a are apart \(rows 0 and 2\)"),
        (lambda: query_starts([1, 2], 3), "qid must name the query of each of the 3 rows, got 2"),
        (lambda: query_starts([1.5, 2], 2), "qid must be whole numbers or text without missing values, got .* float64"),
        (lambda: query_starts([1, np.nan], 2), "qid must be whole numbers or text without missing values"),
        (lambda: query_starts(np.array(["a", None], dtype=object), 2), "without missing values, got the type object"),
        (lambda: query_starts([[1, 2]], 2), r"qid must have one entry for each row, got the shape \(1, 2\)"),
        (lambda: query_starts([1e300, 2], 2), "qid must be whole numbers or text"),
        (lambda: group_sizes(None), r"qid must have one entry for each row, got the shape \(\)"),
        (lambda: group_ids([2, 0]), r"sizes of groups must be whole numbers from 1, .* got \[2, 0\]"),
        (lambda: group_ids([2.5]), "sizes of groups must be whole numbers from 1"),
        (lambda: group_ids([2, 3], 6), "must add up to the 6 rows, but those of 2 add up to 5"),
        (
            lambda: check_learnable(np.array([1.0, 1, 2]), np.array([0, 2, 3])),
            "nothing to learn: no query has two documents of different relevance; is qid",
        ),
    ],
)
def test_bad_groups(call, message):
    with pytest.raises(UsageError, match=message) as caught:
        call()
    assert len(str(caught.value).splitlines()) == 1


class First(BaseEstimator):
    """Scores by the first column, and remembers which queries it saw."""

    seen: list = []  # noqa: RUF012

    def fit(self, X, y, qid):
        assert len(X) == len(y) == len(qid)
        self.seen.append(set(X[:, 1]))
        self.own_ = set(X[:, 1])
        return self

    def predict(self, X):
        assert not self.own_ & set(X[:, 1])
        return X[:, 0]


@pytest.mark.parametrize("random_state", [None, 3])
def test_no_query_is_on_both_sides(random_state):
    rng = np.random.default_rng(0)
    qid = group_ids(rng.integers(1, 6, 23))
    x, y = np.column_stack([rng.normal(size=len(qid)), qid]), rng.integers(0, 4, len(qid))
    First.seen.clear()
    values = cross_val_ndcg(First(), x, y, qid, n_splits=4, random_state=random_state, k=3)
    np.testing.assert_array_equal(values, ndcg(y, x[:, 0], qid=qid, k=3, per_query=True))
    assert len(First.seen) == 4
    assert all(15 < len(seen) < 20 for seen in First.seen)


def test_too_few_queries_for_the_folds():
    with pytest.raises(UsageError, match="5 folds of queries need as many queries in qid, got 3"):
        cross_val_ndcg(First(), np.ones((3, 2)), [0, 1, 2], [1, 2, 3])
    with pytest.raises(UsageError, match="X must have a row for each of the 3 documents, got 4"):
        cross_val_ndcg(First(), np.ones((4, 2)), [0, 1, 2], [1, 2, 3])
    with pytest.raises(UsageError, match="need as many queries in qid, got 1"):
        cross_val_ndcg(First(), np.ones((3, 2)), [0, 1, 2], None)
