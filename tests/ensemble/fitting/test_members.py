"""No leak: what the meta learner is fitted on comes from members that have not seen the row, nor its group."""

import numpy as np
import pytest
import sklearn
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GroupKFold, KFold, LeaveOneOut
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor
from support.scripted import Memory, Recorder

from depthforest.base.errors import UsageError
from depthforest.ensemble.combining.stacking import StackingClassifier, StackingRegressor
from depthforest.ensemble.fitting.members import out_of_fold


def _noise(n=120):
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, 1)), rng.integers(2, size=n)


def _share_known(model, X, y):
    """How often a member that knows its training rows by heart is right in what the meta learner is fitted on."""
    return np.mean(model.fit(X, y).final_estimator_.X_[:, 0] == y)


def test_a_member_that_learns_by_heart_is_asked_about_what_it_has_not_seen():
    # labels are noise: only a leak can make the member right
    X, y = _noise()
    members = [("heart", Memory())]
    for cv in (5, KFold(7, shuffle=True, random_state=0), LeaveOneOut()):
        assert _share_known(StackingClassifier(members, Recorder(), cv=cv), X, y) < 0.65
    # the same measure sees a leak that is planted: members fitted on the rows they are asked about
    fitted = [("heart", Memory().fit(X, y))]
    assert _share_known(StackingClassifier(fitted, Recorder(), cv="prefit"), X, y) == 1


def test_a_splitter_that_leaks_is_refused():
    X, y = _noise()
    rows = np.arange(len(X))
    leaky = [(rows, rows[::2]), (rows[::2], rows[1::2])]
    with pytest.raises(UsageError, match="cv leaks: fold 0 trains on 60 of the rows that it holds out"):
        StackingClassifier([("heart", Memory())], cv=leaky).fit(X, y)


def test_copies_of_a_row_leak_unless_groups_hold_them_together():
    X, y = (np.repeat(part, 2, axis=0) for part in _noise())
    groups = np.repeat(np.arange(120), 2)
    members = [("heart", Memory())]
    shuffled = KFold(5, shuffle=True, random_state=0)
    assert _share_known(StackingClassifier(members, Recorder(), cv=shuffled), X, y) > 0.8
    for cv in (5, GroupKFold(5)):
        model = StackingClassifier(members, Recorder(), cv=cv).fit(X, y, groups=groups)
        assert np.mean(model.final_estimator_.X_[:, 0] == y) < 0.65
    # folds that cut groups are refused, whoever made them
    with pytest.raises(UsageError, match="cv leaks: fold 0 trains on group 2, which it also holds out"):
        StackingClassifier(members, cv=list(shuffled.split(X))).fit(X, y, groups=groups)


def test_regressors_do_not_leak_either():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 1)), rng.normal(size=100)
    members = [("heart", KNeighborsRegressor(1)), ("mean", DecisionTreeRegressor(max_depth=1))]
    model = StackingRegressor(members, LinearRegression()).fit(X, y)
    assert abs(model.final_estimator_.coef_[0]) < 0.3
    fitted = [(name, member.fit(X, y)) for name, member in members]
    leaked = StackingRegressor(fitted, LinearRegression(), cv="prefit").fit(X, y)
    assert leaked.final_estimator_.coef_[0] == pytest.approx(1)


def test_groups_reach_nested_layers_by_routing():
    X, y = (np.repeat(part, 2, axis=0) for part in _noise())
    groups = np.repeat(np.arange(120), 2)
    members = [("heart", Memory())]
    inner = StackingClassifier(members, Recorder(), cv=GroupKFold(3))
    model = StackingClassifier([("inner", inner)], final_estimator=inner, cv=GroupKFold(3), stack_method="predict")
    with sklearn.config_context(enable_metadata_routing=True):
        model.fit(X, y, groups=groups)
    assert np.mean(model.estimators_[0].final_estimator_.X_[:, 0] == y) < 0.65
    with pytest.raises(UsageError, match=r"member 'inner' \(StackingClassifier\) failed to fit: cv cannot split"):
        model.fit(X, y, groups=groups)  # without routing: an error, not a leak


def test_answers_that_change_their_width_are_named():
    class Wavering(Memory):
        def predict(self, X):
            return np.zeros((len(X), len(self.seen_)))

    X, y = _noise(5)
    folds = [(np.arange(3), np.arange(3, 5)), (np.arange(3, 5), np.arange(3))]
    with pytest.raises(UsageError, match=r"member 'w' predicts arrays of different widths from fold to fold"):
        out_of_fold([("w", Wavering())], ["predict"], X, y, folds, fit_params={"w": {}})
