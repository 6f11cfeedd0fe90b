import numpy as np
import pytest
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    LeaveOneOut,
    ShuffleSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    TimeSeriesSplit,
)

from depthforest.base.errors import DepthForestWarning, UsageError
from depthforest.ensemble.fitting.folds import make_folds

X = np.zeros((12, 1))
Y = np.arange(12) % 3
LABELS = np.array(["ant", "bee", "cat"])
GROUPS = np.repeat(np.arange(6), 2)


def _same(folds, splitter, groups=None):
    wanted = list(splitter.split(X, Y, groups))
    assert len(folds) == len(wanted)
    return all((a == c).all() and (b == d).all() for (a, b), (c, d) in zip(folds, wanted, strict=True))


def test_a_number_is_stratified_for_a_classifier_and_plain_for_a_regressor():
    assert _same(make_folds(3, X, Y, groups=None, labels=LABELS), StratifiedKFold(3))
    assert _same(make_folds(3, X, Y * 1.0, groups=None, labels=None), KFold(3))
    assert len(make_folds(None, X, Y * 1.0, groups=None, labels=None)) == 5


def test_a_number_with_groups_is_grouped():
    y = np.repeat(np.arange(2), 6)
    folds = make_folds(3, X, y, groups=GROUPS, labels=LABELS[:2])
    assert all(
        (a == c).all() for (a, _), (c, _) in zip(folds, StratifiedGroupKFold(3).split(X, y, GROUPS), strict=True)
    )
    assert _same(make_folds(3, X, Y * 1.0, groups=GROUPS, labels=None), GroupKFold(3), GROUPS)
    for train, test in folds:
        assert not set(GROUPS[train]) & set(GROUPS[test])


@pytest.mark.parametrize("cv", [LeaveOneOut(), KFold(4, shuffle=True, random_state=0), list(KFold(3).split(X))])
def test_splitters_and_lists_of_folds(cv):
    folds = make_folds(cv, X, Y, groups=None, labels=LABELS)
    assert sorted(np.concatenate([test for _, test in folds])) == list(range(12))


def test_groups_reach_a_splitter():
    folds = make_folds(LeaveOneGroupOut(), X, Y, groups=GROUPS, labels=LABELS)
    assert [test.tolist() for _, test in folds] == [[2 * i, 2 * i + 1] for i in range(6)]


def test_masks_count_as_rows():
    half = np.arange(12) < 6
    folds = make_folds([(half, ~half), (~half, half)], X, Y, groups=None, labels=LABELS)
    assert folds[0][1].tolist() == list(range(6, 12))


def test_a_planted_leak_is_caught():
    train = np.arange(12)
    leaky = [(train, np.arange(6)), (train[:6], np.arange(6, 12))]
    with pytest.raises(
        UsageError, match="cv leaks: fold 0 trains on 6 of the rows that it holds out \\(such as row 0\\)"
    ):
        make_folds(leaky, X, Y, groups=None, labels=LABELS)


def test_a_leak_by_groups_is_caught():
    pairs = list(KFold(4).split(X))  # folds of three rows cut groups of two
    with pytest.raises(UsageError, match="cv leaks: fold 0 trains on group 1, which it also holds out; use a number"):
        make_folds(pairs, X, Y, groups=GROUPS, labels=LABELS)


@pytest.mark.parametrize(
    ("cv", "labels", "message"),
    [
        (5, LABELS, "cv cannot split the 12 rows: n_splits=5 cannot be greater than the number of members in each"),
        (StratifiedKFold(6), LABELS, "cv cannot split the 12 rows: n_splits=6 cannot be greater"),
        (13, None, "cv=13 folds need at least as many rows, got n_samples=12; use a smaller cv"),
        (1, None, "cv must be at least 2 folds, got 1"),
        ("best", None, "cv must be None, a number, a splitter, a list of folds or 'prefit', got 'best'"),
        (True, None, "cv must be None, a number, a splitter, a list of folds or 'prefit', got True"),
        (2.5, None, "cv must be None, a number, a splitter, a list of folds or 'prefit', got 2.5"),
        (
            TimeSeriesSplit(3),
            None,
            "cv must hold out every row once, but row 0 is held out 0 times; use folds that split",
        ),
        (ShuffleSplit(9, random_state=0), None, "cv must hold out every row once, but row . is held out . times"),
        ([], None, "cv must hold out every row once, but row 0 is held out 0 times"),
        (GroupKFold(2), None, "cv cannot split the 12 rows: .*groups.* pass fit\\(X, y, groups=...\\)"),
        ([([0.5], [1])], None, "cv must give row numbers between 0 and 11, got an array of float64"),
        ([([0], [12])], None, "cv must give row numbers between 0 and 11"),
    ],
)
def test_folds_that_cannot_be(cv, labels, message):
    with pytest.raises(UsageError, match=message):
        make_folds(cv, X, Y, groups=None, labels=labels)


def test_a_fold_that_trains_without_a_class():
    y = np.repeat(np.arange(3), 4)
    with pytest.warns(DepthForestWarning, match="fold 0 of cv trains without class 'ant': its members cannot predict"):
        make_folds(KFold(3), X, y, groups=None, labels=LABELS)


def test_too_few_groups():
    with pytest.raises(UsageError, match=r"cv cannot split the 12 rows: .*number of groups"):
        make_folds(GroupKFold(7), X, Y, groups=GROUPS, labels=LABELS)
