"""LETOR files: what is written is read again, side files of group sizes, and bad lines by their number."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from depthforest.base.errors import DatasetError, DepthForestError, UsageError
from depthforest.ensemble.ranking import group_sizes, read_letor, write_letor
from depthforest.ensemble.ranking.letor import read_group_sizes, write_group_sizes
from depthforest.ensemble.tree import MAX_FEATURES


def test_a_file_as_others_write_it(tmp_path):
    path = tmp_path / "some.txt"
    path.write_text("# made by hand\n2 qid:7 1:0.5 3:1.25 # doc 12\n0 qid:7 2:-1e-3\n\n1 qid:3 1:4\r\n")
    data = read_letor(path)
    np.testing.assert_array_equal(data.X, np.array([[0.5, 0, 1.25], [0, -1e-3, 0], [4, 0, 0]], np.float32))
    assert data.X.dtype == np.float32
    assert (data.y.tolist(), data.qid.tolist()) == ([2, 0, 1], [7, 7, 3])
    assert read_letor(path, n_features=5).X.shape == (3, 5)
    assert read_letor(path, zero_based=True).X.shape == (3, 4)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.booleans(), st.booleans())
def test_what_is_written_is_read_again(tmp_path_factory, seed, zero_based, has_qid):
    path = tmp_path_factory.getbasetemp() / "again.txt"
    rng = np.random.default_rng(seed)
    x = (rng.normal(size=(6, 4)) * 10.0 ** rng.integers(-30, 30, (6, 4)) * (rng.random((6, 4)) < 0.7)).astype(
        np.float32
    )
    x[0, 3] = 1.0  # so that the last feature occurs
    y, qid = rng.integers(0, 5, 6).astype(float), np.array([5, 5, 2, 2, 2, 9])
    write_letor(path, x, y, qid=qid if has_qid else None, zero_based=zero_based)
    data = read_letor(path, zero_based=zero_based)
    np.testing.assert_array_equal(data.X, x)
    np.testing.assert_array_equal(data.y, y)
    assert data.qid.tolist() == qid.tolist() if has_qid else data.qid is None


def test_numbers_are_written_with_few_digits(tmp_path):
    write_letor(tmp_path / "m", np.array([[0.89, -1e-5, 0, 123456.79]], np.float32), [2], qid=[4])
    assert (tmp_path / "m").read_text() == "2 qid:4 1:0.89 2:-1e-05 4:123456.79\n"


def test_group_sizes_stand_beside(tmp_path):
    path, sizes = tmp_path / "rank.train", tmp_path / "rank.train.query"
    write_letor(path, np.eye(5), [0, 1, 2, 0, 1])
    write_group_sizes(sizes, ["a", "a", "b", "b", "b"])
    assert sizes.read_text() == "2\n3\n"
    assert read_letor(path).qid.tolist() == [0, 0, 1, 1, 1]
    assert read_group_sizes(sizes).tolist() == [2, 3]
    sizes.write_text("2\n2\n")
    with pytest.raises(DatasetError, match=r"rank.train.query: sizes of groups must add up to the 5 rows, .* up to 4"):
        read_letor(path)
    sizes.write_text("2\n\nthree\n")
    with pytest.raises(DatasetError, match=r"query: line 3: expected the size of a group, .* got 'three'"):
        read_letor(path)
    sizes.write_text("\n")
    with pytest.raises(DatasetError, match="has no group sizes"):
        read_letor(path)


GOOD = "1 qid:1 1:2 2:3\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (GOOD + "high qid:1 1:2\n", "line 2: expected a relevance, a number, at the start; got 'high qid:1 1:2'"),
        (GOOD + "\n" + "nan qid:1 1:2\n", "line 3: expected a relevance, a number"),
        (GOOD + "1 qid:x 1:2\n", "line 2: expected qid and a whole number after the relevance"),
        (GOOD + "1 qid:1 1:2 2\n", "line 2: expected feature:value, got '2'"),
        (GOOD + "1 qid:1 1:a\n", "line 2: expected feature:value, a whole and a finite number, got '1:a'"),
        (GOOD + "1 qid:1 x:1\n", "line 2: expected feature:value"),
        (GOOD + "1 qid:1 1:inf\n", "line 2: expected feature:value, a whole and a finite number, got '1:inf'"),
        (GOOD + "1 qid:1 -3:1\n", "line 2: expected feature:value, a whole and a finite number, got '-3:1'"),
        (GOOD + "1 qid:1 3:1 2:1\n", "line 2: features must ascend, but 2 follows 3"),
        (GOOD + "1 qid:1 3:1 3:1\n", "line 2: features must ascend, but 3 follows 3"),
        (GOOD + "1 qid:1 0:1\n", "line 2: features count from 1; pass zero_based=True"),
        (GOOD + "1 1:1\n", "line 2: expected a qid in every line or in none"),
        (GOOD + "1 qid:1 9999999:1\n", "features up to number 9999999, expected at most 1048576"),
        (GOOD + "1 qid:2 1:2\n" + GOOD, r"the rows of a query must be adjacent, but those of qid 1 are apart"),
        ("# nothing\n", "has no data lines"),
        ("", "is empty"),
        (GOOD + "1 qid:1 1:2 " + "x" * 500, r"line 2: .* got 'x{37}\.\.\.'"),
    ],
)
def test_bad_lines(tmp_path, text, message):
    path = tmp_path / "bad.txt"
    path.write_text(text)
    with pytest.raises(DatasetError, match=message) as caught:
        read_letor(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert len(str(caught.value).splitlines()) == 1


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.sampled_from(["1", "0.5", "qid:1", "qid:", "1:2", "2:3", "2:", ":", "#", "\n", "x", "-1:1", "1e999", "\0"])
    )
)
def test_whatever_comes_is_read_or_refused(tmp_path_factory, words):
    path = tmp_path_factory.getbasetemp() / "words.txt"
    path.write_text(" ".join(words))
    try:
        data = read_letor(path)
    except DatasetError as error:
        told = str(error).removeprefix(f"{path}: ")
    else:
        told = "read"
        assert np.isfinite(data.X).all()
        assert len(data.X) == len(data.y)
    assert told.isprintable()
    assert told


def test_fewer_features_than_the_file_has(tmp_path):
    write_letor(tmp_path / "m", np.eye(3), [0, 1, 2])
    with pytest.raises(DatasetError, match="has features up to number 3, expected at most 2"):
        read_letor(tmp_path / "m", n_features=2)
    with pytest.raises(DatasetError, match="cannot be read: no such file"):
        read_letor(tmp_path / "none")


@pytest.mark.parametrize(
    ("x", "y", "qid", "message"),
    [
        (np.eye(2), [0, 1, 2], None, "X must be a table of finite numbers with 3 rows"),
        ([[np.nan]], [0], None, "X must be a table of finite numbers"),
        ([["a"]], [0], None, "X must be a table of finite numbers"),
        (np.eye(2), [0, -1], None, "relevance must be 0"),
        (np.eye(2), [0, 1], ["a", "b"], "a file holds whole numbers as qid"),
        (np.eye(3), [0, 1, 2], [1, 2, 1], "are apart"),
    ],
)
def test_what_cannot_be_written(tmp_path, x, y, qid, message):
    with pytest.raises(UsageError, match=message):
        write_letor(tmp_path / "m", x, y, qid=qid)
    assert list(tmp_path.iterdir()) == []


def test_an_unwritable_place(tmp_path):
    with pytest.raises(DepthForestError, match="cannot be written"):
        write_letor(tmp_path / "none" / "m", np.eye(2), [0, 1])


def test_the_real_file(shared_data):
    data = read_letor(shared_data("lambdarank") / "rank.train", n_features=300)
    assert data.X.shape == (3005, 300)
    assert len(group_sizes(data.qid)) == 201
    assert np.bincount(data.y.astype(int)).tolist() == [645, 1211, 858, 222, 69]


def test_a_table_that_is_nearly_all_zeros_is_refused(tmp_path):
    """A file of 11 kB asked for 6 GB."""
    path = tmp_path / "wide"
    path.write_text("".join(f"1 qid:{n} {MAX_FEATURES}:1\n" for n in range(700)))
    with pytest.raises(DatasetError, match=rf"700 rows of {MAX_FEATURES} features, nearly all 0, do not fit"):
        read_letor(path)
