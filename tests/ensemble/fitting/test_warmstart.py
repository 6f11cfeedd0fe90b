"""Warm starts: which members are kept, and what must be the same to add to them."""

from types import SimpleNamespace

import numpy as np
import pytest

from depthforest.base.errors import UsageError
from depthforest.ensemble.fitting.jobs import member_seeds
from depthforest.ensemble.fitting.warmstart import check_count, check_same, continued_seeds, kept_members, known_values


def test_members_are_kept_by_a_warm_start_only():
    members = [1, 2]
    kept = kept_members(SimpleNamespace(warm_start=True, trees_=members), "trees_")
    assert kept == members
    assert kept is not members
    assert kept_members(SimpleNamespace(warm_start=False, trees_=members), "trees_") == []
    assert kept_members(SimpleNamespace(warm_start=True), "trees_") == []


def test_nothing_that_is_kept_is_lost():
    check_count(3, 3, "trees")
    with pytest.raises(UsageError) as told:
        check_count(2, 3, "rounds")
    assert str(told.value) == (
        "n_estimators=2 is less than the 3 rounds that warm_start keeps; raise it, or set warm_start=False"
    )


def test_classes_and_categories_are_compared_by_value():
    first = SimpleNamespace(classes_=np.array([1, 2]), categories_={3: np.array(["a", "b"])})
    assert known_values(first) == [["1", "2"], {3: ["a", "b"]}]
    assert known_values(SimpleNamespace(categories_={})) == [[], {}]
    check_same(known_values(first), known_values(first), "classes")
    other = SimpleNamespace(classes_=np.array([1, 2]), categories_={3: np.array(["b", "a"])})
    with pytest.raises(UsageError) as told:
        check_same(known_values(first), known_values(other), "classes and categories")
    assert str(told.value) == (
        "warm_start needs the same classes and categories as before; set warm_start=False to start anew"
    )


def test_seeds_go_on_where_they_stopped():
    np.testing.assert_array_equal(continued_seeds(None, 7, 5), member_seeds(7, 5))
    np.testing.assert_array_equal(continued_seeds(member_seeds(7, 2), 7, 5), member_seeds(7, 5))
    kept = member_seeds(8, 4)
    assert continued_seeds(kept, 7, 3) is kept
    np.testing.assert_array_equal(continued_seeds(kept, 7, 6), [*kept, *member_seeds(7, 6)[4:]])
