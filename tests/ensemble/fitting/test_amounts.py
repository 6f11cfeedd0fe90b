from __future__ import annotations

import numpy as np
import pytest

from depthforest.base.errors import UsageError
from depthforest.ensemble.fitting import amounts


def test_counts_and_shares_are_resolved():
    cases = [(None, 10), (3, 3), (np.int64(3), 3), (25, 25), (1.0, 10), (0.39, 3), (0.01, 1), (np.float32(0.5), 5)]
    assert [amounts.resolved_count("max_samples", value, 10) for value, _ in cases] == [count for _, count in cases]


@pytest.mark.parametrize("value", [0, -1, 0.0, 1.01, True, "3", float("nan"), [3]])
def test_other_counts_are_refused(value):
    with pytest.raises(UsageError, match=r"max_samples must be a whole number from 1 or a share above 0"):
        amounts.resolved_count("max_samples", value, 10)


def test_shares_are_counted():
    cases = [(1, 10), (1.0, 10), (0.39, 3), (0.01, 1), (np.float32(0.5), 5)]
    assert [amounts.share_count("colsample", value, 10) for value, _ in cases] == [count for _, count in cases]
    for value in (-0.1, 1.01, 3, True, "1", None):
        with pytest.raises(UsageError, match="colsample must be a number from 0 to 1, got"):
            amounts.share_count("colsample", value, 10)
    with pytest.raises(UsageError, match="colsample must be above 0, got 0"):
        amounts.share_count("colsample", 0, 10)


def test_only_samples_can_be_none():
    with pytest.raises(UsageError, match=r"max_features must be .* got None"):
        amounts.resolved_count("max_features", None, 10)


def test_whole_numbers_and_amounts():
    assert amounts.whole("n", np.int32(1), 1) == 1
    assert amounts.number("noise", 3, 0) == 3.0
    assert amounts.number("flip", np.float64(1), 0, 1) == 1.0
    for value in (0, 1.0, True, None):
        with pytest.raises(UsageError, match="n must be a whole number from 1, got"):
            amounts.whole("n", value, 1)
    for value in (-1, np.inf, np.nan, True, "1", None):
        with pytest.raises(UsageError, match="noise must be a number from 0, got"):
            amounts.number("noise", value, 0)
    with pytest.raises(UsageError, match=r"flip must be a number from 0 to 1, got 1\.5"):
        amounts.number("flip", 1.5, 0, 1)


def test_flags_are_true_or_false():
    assert all(map(amounts.is_flag, (True, False, np.True_, np.False_)))
    assert not any(map(amounts.is_flag, (0, 1, 1.0, np.int64(1), "True", None, np.array([True]))))
