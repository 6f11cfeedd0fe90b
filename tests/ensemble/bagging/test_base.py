from __future__ import annotations

import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_iris
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, LeaveOneOut, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from depthforest.base.errors import DepthForestWarning, UsageError
from depthforest.ensemble.bagging import base as diversebase
from depthforest.ensemble.bagging.diverse import DiverseEnsembleClassifier, DiverseEnsembleRegressor

X, Y = load_iris(return_X_y=True)
X, Y = X[::3], Y[::3]
TREE = DecisionTreeClassifier()
EVERY_WAY = {
    "max_samples": 0.8,
    "max_features": 2,
    "noise": 0.1,
    "flip": 0.2,
    "param_distributions": {"max_depth": [2, 3]},
}


def diverse(estimator=TREE, n_estimators=4, **parameters) -> DiverseEnsembleClassifier:
    return DiverseEnsembleClassifier(estimator, n_estimators, **{"random_state": 0, **parameters})


# --- one result, however it is computed


@pytest.mark.parametrize("backend", ["threading", pytest.param("loky", marks=pytest.mark.slow)])
def test_the_result_is_the_same_for_any_number_of_jobs(backend):
    one = diverse(oob_score=True, n_estimators=12, **EVERY_WAY).fit(X, Y)
    with joblib.parallel_config(backend=backend):
        two = diverse(oob_score=True, n_estimators=12, n_jobs=2, **EVERY_WAY).fit(X, Y)
        np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))
    np.testing.assert_array_equal(one.oob_decision_function_, two.oob_decision_function_)
    np.testing.assert_array_equal(one.oob_errors_, two.oob_errors_)


def test_random_state_decides_everything():
    probabilities = [diverse(random_state=seed, **EVERY_WAY).fit(X, Y).predict_proba(X) for seed in (0, 0, 1)]
    np.testing.assert_array_equal(probabilities[0], probabilities[1])
    assert (probabilities[0] != probabilities[2]).any()


def test_members_are_fitted_on_what_the_attributes_say():
    ensemble = diverse(max_features=2, max_samples=20).fit(X, Y)
    for member, rows, columns in zip(
        ensemble.estimators_, ensemble.estimators_samples_, ensemble.estimators_features_, strict=True
    ):
        assert (len(rows), len(columns)) == (20, 2)
        twin = clone(member).fit(X[np.ix_(rows, columns)], Y[rows])
        np.testing.assert_array_equal(member.predict_proba(X[:, columns]), twin.predict_proba(X[:, columns]))
    plain = diverse(bootstrap=False).fit(X, Y)
    assert all((rows == np.arange(len(X))).all() for rows in plain.estimators_samples_)
    assert all((columns == np.arange(4)).all() for columns in plain.estimators_features_)


def test_a_pickled_ensemble_is_the_same():
    ensemble = diverse(**EVERY_WAY).fit(X, Y)
    again = pickle.loads(pickle.dumps(ensemble))
    np.testing.assert_array_equal(ensemble.predict_proba(X), again.predict_proba(X))
    np.testing.assert_array_equal(ensemble.estimators_samples_[1], again.estimators_samples_[1])


def test_progress_is_shown_on_request(capsys):
    diverse(verbose=1).fit(X, Y)
    assert "DiverseEnsembleClassifier" in capsys.readouterr().err
    diverse().fit(X, Y)
    assert capsys.readouterr().err == ""


# --- warm start and interruption


def test_warm_start_ends_where_one_fit_ends():
    whole = diverse(n_estimators=16, oob_score=True, **EVERY_WAY).fit(X, Y)
    grown = diverse(n_estimators=6, warm_start=True, **EVERY_WAY).fit(X, Y)
    first = grown.estimators_[0]
    assert not hasattr(grown, "oob_score_")
    grown.set_params(n_estimators=16, oob_score=True).fit(X, Y)
    assert grown.estimators_[0] is first
    np.testing.assert_array_equal(whole.predict_proba(X), grown.predict_proba(X))
    np.testing.assert_array_equal(whole.oob_errors_, grown.oob_errors_)
    grown.set_params(n_estimators=17, oob_score=False).fit(X, Y)
    assert not hasattr(grown, "oob_score_")  # it was of fewer members


def test_warm_start_refuses_other_data_and_fewer_members():
    ensemble = diverse(warm_start=True).fit(X, Y)
    with pytest.raises(UsageError, match=r"n_estimators=3 is less than the 4 members that warm_start keeps"):
        ensemble.set_params(n_estimators=3).fit(X, Y)
    ensemble.set_params(n_estimators=5)
    with pytest.raises(ValueError, match="X has 3 features"):
        ensemble.fit(X[:, :3], Y)
    with pytest.raises(UsageError, match=r"the members know .*, and y has "):
        ensemble.fit(X, Y + 1)
    with pytest.raises(UsageError, match=r"X was a DataFrame in one fit and not in the other"):
        ensemble.fit(pd.DataFrame(X), Y)
    assert len(ensemble.fit(X[:40], Y[:40]).estimators_) == 5
    ensemble.set_params(n_estimators=6, oob_score=True)
    with pytest.raises(
        UsageError, match=r"needs members that were all drawn from the same.*fit again with warm_start=False"
    ):
        ensemble.fit(X, Y)


def test_warm_start_with_nothing_to_add_says_so():
    ensemble = diverse(warm_start=True).fit(X, Y)
    before = list(ensemble.estimators_)
    with pytest.warns(DepthForestWarning, match=r"has its 4 members already: nothing is fitted"):
        ensemble.fit(X, Y)
    assert ensemble.estimators_ == before


class Stopping(DecisionTreeClassifier):
    """Raises in the fit of the member that has this many before it."""

    countdown = 0
    error: type[BaseException] = KeyboardInterrupt

    def fit(self, data, y, sample_weight=None):
        Stopping.countdown -= 1
        if Stopping.countdown == -1:
            raise Stopping.error("stop")
        return super().fit(data, y, sample_weight)


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_finished_members_stay_and_the_next_fit_goes_on(monkeypatch, error):
    monkeypatch.setattr(Stopping, "countdown", 3)
    monkeypatch.setattr(Stopping, "error", error)
    ensemble = diverse(Stopping(), 6, warm_start=True)
    with pytest.raises(error, match="stop"):
        ensemble.fit(X, Y)
    assert len(ensemble.estimators_) == len(ensemble.estimators_samples_) == len(ensemble.estimators_features_) == 3
    np.testing.assert_array_equal(ensemble.predict_proba(X), diverse(n_estimators=3).fit(X, Y).predict_proba(X))
    ensemble.fit(X, Y)
    np.testing.assert_array_equal(ensemble.predict_proba(X), diverse(n_estimators=6).fit(X, Y).predict_proba(X))


def test_finished_members_stay_with_several_jobs(monkeypatch):
    def interrupted(results, **_):
        yield next(results)
        yield next(results)
        raise KeyboardInterrupt

    ensemble = diverse(n_estimators=6, warm_start=True, n_jobs=2)
    with joblib.parallel_config(backend="threading"):
        with monkeypatch.context() as patch:
            patch.setattr(diversebase, "shown", interrupted)
            with pytest.raises(KeyboardInterrupt):
                ensemble.fit(X, Y)
        assert len(ensemble.estimators_) == 2
        ensemble.fit(X, Y)
    np.testing.assert_array_equal(ensemble.predict_proba(X), diverse(n_estimators=6).fit(X, Y).predict_proba(X))


def test_interrupted_before_the_first_member_is_not_fitted(monkeypatch):
    monkeypatch.setattr(Stopping, "countdown", 0)
    ensemble = diverse(Stopping())
    with pytest.raises(KeyboardInterrupt):
        ensemble.fit(X, Y)
    with pytest.raises(ValueError, match="not fitted yet"):
        ensemble.predict(X)
    with pytest.raises(ValueError, match="not fitted yet"):
        _ = ensemble.estimators_samples_


def test_a_failed_fit_leaves_no_mixture_of_old_and_new():
    ensemble = diverse().fit(X, Y)
    with pytest.raises(UsageError, match="max_samples"):
        ensemble.set_params(max_samples=999, bootstrap=False).fit(X, Y + 5)
    with pytest.raises(ValueError, match="not fitted yet"):
        ensemble.predict(X)


# --- weights


def test_weights_draw_rows_for_members_that_take_none():
    weights = np.where(Y == 1, 0.0, 1.0 + (Y == 2))
    ensemble = diverse(KNeighborsClassifier(3), 20).fit(X, Y, weights)
    rows = np.concatenate(ensemble.estimators_samples_)
    counts = np.bincount(Y[rows], minlength=3) / len(rows)
    assert counts == pytest.approx([1 / 3, 0, 2 / 3], abs=0.06)
    assert (ensemble.predict_proba(X)[:, 1] == 0).all()
    assert all(len(rows) == np.count_nonzero(weights) for rows in ensemble.estimators_samples_)


def test_weights_that_drew_the_rows_are_not_counted_again():
    ensemble = diverse().fit(X, Y, 1.0 + np.arange(len(X)) % 4)
    for member, rows in zip(ensemble.estimators_, ensemble.estimators_samples_, strict=True):
        np.testing.assert_array_equal(member.tree_.value, clone(member).fit(X[rows], Y[rows]).tree_.value)


def test_weights_go_to_the_members_where_rows_are_not_drawn_with_replacement():
    weights = 0.5 + np.arange(len(X)) % 4
    ensemble = diverse(bootstrap=False, max_features=2).fit(X, Y, weights)
    for member, columns in zip(ensemble.estimators_, ensemble.estimators_features_, strict=True):
        twin = clone(member).fit(X[:, columns], Y, weights)
        np.testing.assert_array_equal(member.tree_.value, twin.tree_.value)
    repeated = np.repeat(np.arange(len(X)), np.arange(len(X)) % 3)
    by_weight = diverse(bootstrap=False, max_features=2).fit(X, Y, np.arange(len(X)) % 3)
    by_copies = diverse(bootstrap=False, max_features=2).fit(X[repeated], Y[repeated])
    np.testing.assert_array_equal(by_weight.predict_proba(X), by_copies.predict_proba(X))


def test_equal_weights_are_no_weights():
    np.testing.assert_array_equal(
        diverse().fit(X, Y, np.full(len(X), 3.0)).predict_proba(X), diverse().fit(X, Y).predict_proba(X)
    )


def test_weights_that_cannot_be_used():
    with pytest.raises(UsageError, match=r"KNeighborsClassifier takes no sample_weight: draw rows by weight"):
        diverse(KNeighborsClassifier(), bootstrap=False, max_features=2).fit(X, Y, np.ones(len(X)))
    with pytest.raises(UsageError, match=r"zero for every row"):
        diverse().fit(X, Y, np.zeros(len(X)))


# --- out of bag


def test_out_of_bag_is_the_mean_of_the_members_that_have_not_seen_the_row():
    ensemble = diverse(n_estimators=7, oob_score=True, max_features=2)
    with pytest.warns(DepthForestWarning, match=r"of 50 rows were in the sample of every member .* use more members"):
        ensemble.fit(X, Y)
    total, count = np.zeros((len(X), 3)), np.zeros(len(X))
    for number, (member, rows, columns) in enumerate(
        zip(ensemble.estimators_, ensemble.estimators_samples_, ensemble.estimators_features_, strict=True)
    ):
        for row in set(range(len(X))) - set(rows):
            total[row] += member.predict_proba(X[row : row + 1, columns])[0]
            count[row] += 1
        wrong = np.argmax(total, axis=1) != Y
        assert ensemble.oob_errors_[number] == pytest.approx(wrong[count > 0].mean())
    assert 0 < np.count_nonzero(count == 0) < 10
    assert np.isnan(ensemble.oob_decision_function_[count == 0]).all()
    np.testing.assert_allclose(ensemble.oob_decision_function_[count > 0], total[count > 0] / count[count > 0, None])
    assert ensemble.oob_score_ == pytest.approx(1 - ensemble.oob_errors_[-1])


def test_out_of_bag_counts_rows_by_weight():
    weights = np.where(np.arange(len(X)) % 5 == 0, 0.0, 1.0 + Y)
    ensemble = diverse(n_estimators=25, oob_score=True).fit(X, Y, weights)
    right = np.argmax(ensemble.oob_decision_function_, axis=1) == Y
    assert ensemble.oob_score_ == pytest.approx(np.average(right, weights=weights))


def test_out_of_bag_also_for_samples_without_replacement():
    ensemble = diverse(n_estimators=20, bootstrap=False, max_samples=0.5, oob_score=True).fit(X, Y)
    assert ensemble.oob_score_ > 0.8


def test_out_of_bag_without_unseen_rows_is_an_error():
    with pytest.raises(UsageError, match=r"every member sees all rows: set bootstrap=True or max_samples below"):
        diverse(bootstrap=False, max_features=2, oob_score=True).fit(X, Y)
    with pytest.raises(UsageError, match=r"every member has seen every row: use more members, or cross-validation"):
        diverse(n_estimators=1, max_samples=5000, oob_score=True).fit(X[::10], Y[::10])


# --- any estimator, any table, scikit-learn's tools


def test_members_of_a_subspace_see_columns():
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["kind"] = pd.Categorical(np.where(Y == 0, "x", "y"))

    class Columns(ClassifierMixin, BaseEstimator):
        def fit(self, frame, y):
            self.dtypes_, self.classes_, self.best_ = frame.dtypes, np.unique(y), np.bincount(y).argmax()
            return self

        def predict(self, frame):
            assert frame.dtypes.equals(self.dtypes_)
            return np.full(len(frame), self.best_)

    ensemble = diverse(Columns(), 6, max_features=3).fit(frame, Y)
    for member, columns in zip(ensemble.estimators_, ensemble.estimators_features_, strict=True):
        assert member.dtypes_.equals(frame.dtypes.iloc[columns])
    assert ensemble.feature_names_in_.tolist() == [*"abcd", "kind"]
    assert ensemble.predict(frame).shape == (len(X),)


def test_a_frame_gives_what_the_array_gives():
    frame = pd.DataFrame(X, columns=list("abcd"), index=np.arange(len(X))[::-1])
    labels = pd.Series(np.array(["s", "t", "u"])[Y], index=frame.index)
    by_frame = diverse(**EVERY_WAY).fit(frame, labels)
    by_array = diverse(**{**EVERY_WAY, "noise": 0.0}).fit(X, Y)
    without_noise = diverse(**{**EVERY_WAY, "noise": 0.0}).fit(frame, labels)
    np.testing.assert_array_equal(without_noise.predict_proba(frame), by_array.predict_proba(X))
    assert by_frame.classes_.tolist() == ["s", "t", "u"]
    assert set(by_frame.predict(frame)) == {"s", "t", "u"}
    with pytest.warns(UserWarning, match="does not have valid feature names, but DiverseEnsembleClassifier") as caught:
        np.testing.assert_array_equal(by_frame.predict(X), by_frame.predict(frame))
    assert len(caught) == 1  # not once for each member


def test_missing_values_are_the_members_affair():
    holed = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    assert diverse(n_estimators=10, noise=0.05).fit(holed, Y).score(holed, Y) > 0.9
    assert diverse(make_pipeline(SimpleImputer(), GaussianNB())).fit(holed, Y).score(holed, Y) > 0.8
    one_hole = X.copy()
    one_hole[0, 0] = np.nan
    for seed in range(5):  # also where no member draws the row
        with pytest.raises(ValueError, match="Input X contains NaN"):
            diverse(LogisticRegression(), 1, random_state=seed).fit(one_hole, Y)


def test_sparse_rows_and_columns():
    by_sparse = diverse(max_features=2).fit(csr_array(X), Y)
    np.testing.assert_array_equal(
        by_sparse.predict_proba(csr_array(X)), diverse(max_features=2).fit(X, Y).predict_proba(X)
    )


def test_drawn_parameters_can_be_drawn_kinds_of_learners():
    learners = [DecisionTreeClassifier(max_depth=3), KNeighborsClassifier(3)]
    steps = make_pipeline(StandardScaler(), learners[0])
    ensemble = diverse(steps, 12, param_distributions={"decisiontreeclassifier": learners}).fit(X, Y)
    assert {type(member[-1]) for member in ensemble.estimators_} == {DecisionTreeClassifier, KNeighborsClassifier}
    assert ensemble.score(X, Y) > 0.9


def test_scikit_learns_tools_work():
    ensemble = diverse(n_estimators=3)
    assert cross_val_score(ensemble, X, Y, cv=KFold(3, shuffle=True, random_state=0)).min() > 0.7
    assert cross_val_score(ensemble, X[::2], Y[::2], cv=LeaveOneOut()).mean() > 0.8
    search = GridSearchCV(
        make_pipeline(StandardScaler(), ensemble),
        {"diverseensembleclassifier__estimator__max_depth": [1, 3], "diverseensembleclassifier__flip": [0.0, 0.1]},
        cv=3,
    ).fit(X, Y)
    assert search.best_score_ > 0.85
    best = search.best_estimator_[-1]
    assert best.estimators_[0].max_depth == search.best_params_["diverseensembleclassifier__estimator__max_depth"]


class Tagged(ClassifierMixin, BaseEstimator):
    """Takes metadata by row in fit and predict."""

    def fit(self, data, y, sample_weight=None, tags=None):
        assert len(data) == len(y)
        self.classes_, self.tags_, self.weights_ = np.unique(y), tags, sample_weight
        return self

    def predict(self, data, shift=0):
        return np.full(len(data), shift)


def test_metadata_is_routed_to_the_members():
    with config_context(enable_metadata_routing=True):
        member = Tagged().set_fit_request(tags=True).set_predict_request(shift=True)
        ensemble = diverse(member).fit(X, Y, tags=np.arange(len(X)))
        for fitted, rows in zip(ensemble.estimators_, ensemble.estimators_samples_, strict=True):
            np.testing.assert_array_equal(fitted.tags_, rows)
        assert (ensemble.predict(X, shift=2) == 2).all()
        assert (ensemble.predict_proba(X, shift=1)[:, 1] == 1).all()
        asking = ensemble.set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        scores = cross_val_score(
            asking, X, Y, cv=3, params={"sample_weight": np.ones(len(X)), "tags": np.arange(len(X))}
        )
        assert scores.shape == (3,)
        with pytest.raises(TypeError, match="nonsense"):
            ensemble.fit(X, Y, nonsense=1)


def test_weights_with_routing_need_a_member_that_asks():
    weights = np.arange(len(X)) % 3
    with config_context(enable_metadata_routing=True):
        with pytest.raises(UsageError, match=r"Tagged takes no sample_weight.*set_fit_request\(sample_weight=True\)"):
            diverse(Tagged(), bootstrap=False, max_features=2).fit(X, Y, weights)
        member = Tagged().set_fit_request(sample_weight=True)
        ensemble = diverse(member, bootstrap=False, max_features=2).fit(X, Y, weights)
        np.testing.assert_array_equal(ensemble.estimators_[0].weights_, weights[weights > 0])


def test_metadata_without_routing_is_an_error():
    with pytest.raises(UsageError, match=r"fit got tags: .*set_config\(enable_metadata_routing=True\)"):
        diverse(Tagged()).fit(X, Y, tags=np.arange(len(X)))


# --- what cannot work


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_estimators": 0}, r"n_estimators must be a whole number from 1, got 0"),
        ({"n_estimators": 2.5}, r"n_estimators must be a whole number from 1, got 2\.5"),
        ({"n_estimators": True}, r"n_estimators must be a whole number from 1, got True"),
        ({"max_samples": 0}, r"max_samples must be a whole number from 1 or a share above 0 .*, got 0"),
        ({"max_samples": 1.5}, r"max_samples must be .* a share above 0 and up to 1\.0, got 1\.5"),
        ({"max_samples": "half"}, r"max_samples must be .*, got 'half'"),
        ({"max_samples": 51, "bootstrap": False}, r"max_samples must be at most 50, the number of rows, got 51: draw"),
        ({"max_features": None}, r"max_features must be .*, got None"),
        ({"max_features": 5}, r"max_features must be at most 4, the number of columns, got 5"),
        ({"bootstrap": 1}, r"bootstrap must be True, False or 'bayesian', got 1"),
        ({"oob_score": "yes"}, r"oob_score must be True or False, got 'yes'"),
        ({"noise": -0.1}, r"noise must be a number from 0, got -0\.1"),
        ({"noise": np.inf}, r"noise must be a number from 0, got inf"),
        ({"noise": "a"}, r"noise must be a number from 0, got 'a'"),
        ({"flip": 1.01}, r"flip must be a number from 0 to 1, got 1\.01"),
        ({"flip": np.nan}, r"flip must be a number from 0 to 1, got nan"),
        ({"param_distributions": [3]}, r"param_distributions must be as in scikit-learn's ParameterSampler: .*3"),
        ({"param_distributions": {"max_depth": 3}}, r"param_distributions must be as in .*max_depth"),
        ({"param_distributions": {"depth": [3]}}, r"Invalid parameter 'depth' for estimator DecisionTreeClassifier"),
        ({"n_jobs": 0}, r"n_jobs must be None or a whole number other than 0"),
        ({"verbose": "no"}, r"verbose must be a whole number, above 0 for a progress bar; got 'no'"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        diverse(**parameters).fit(X, Y)


def test_smear_is_checked_too():
    with pytest.raises(UsageError, match=r"smear must be a number from 0, got -1"):
        DiverseEnsembleRegressor(DecisionTreeRegressor(), smear=-1).fit(X, Y)


def test_columns_drawn_with_replacement_can_be_more_than_there_are():
    ensemble = diverse(max_features=6, bootstrap_features=True).fit(X, Y)
    assert all(len(columns) == 6 for columns in ensemble.estimators_features_)


def test_members_that_cannot_differ_are_told():
    with pytest.warns(DepthForestWarning, match=r"nothing is drawn and KNeighborsClassifier has no random_state"):
        diverse(KNeighborsClassifier(), bootstrap=False).fit(X, Y)
