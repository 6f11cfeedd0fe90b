from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.metrics import mean_squared_error, r2_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from depthforest.base.errors import DepthForestWarning, UsageError
from depthforest.ensemble.bagging.diverse import DiverseEnsembleClassifier, DiverseEnsembleRegressor

X, Y = load_iris(return_X_y=True)
X, Y = X[::3], Y[::3]

# scikit-learn's own bagging declares the same two
UNEQUAL_WEIGHTS = {
    f"check_sample_weight_equivalence_on_{kind}_data": "a weighted row is drawn more often: equal in distribution only"
    for kind in ("dense", "sparse")
}
_CHECKS = parametrize_with_checks(
    [
        DiverseEnsembleClassifier(DecisionTreeClassifier(), n_estimators=3),
        DiverseEnsembleRegressor(DecisionTreeRegressor(), n_estimators=3),
    ],
    expected_failed_checks=lambda _: UNEQUAL_WEIGHTS,
)


# a list: newer pytest warns of the generator that older scikit-learn passes
@pytest.mark.parametrize(_CHECKS.args[0], list(_CHECKS.args[1]), ids=_CHECKS.kwargs["ids"])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def classifier(estimator=None, n_estimators=8, **parameters) -> DiverseEnsembleClassifier:
    estimator = DecisionTreeClassifier() if estimator is None else estimator
    return DiverseEnsembleClassifier(estimator, n_estimators, **{"random_state": 0, **parameters})


def regressor(estimator=None, n_estimators=8, **parameters) -> DiverseEnsembleRegressor:
    estimator = DecisionTreeRegressor() if estimator is None else estimator
    return DiverseEnsembleRegressor(estimator, n_estimators, **{"random_state": 0, **parameters})


def test_the_default_member_is_our_own_tree():
    trees = pytest.importorskip("depthforest.ensemble.tree.estimators")
    assert isinstance(DiverseEnsembleClassifier(n_estimators=2).fit(X, Y).estimators_[0], trees.DecisionTreeClassifier)
    assert isinstance(DiverseEnsembleRegressor(n_estimators=2).fit(X, Y).estimators_[0], trees.DecisionTreeRegressor)


def test_importances_are_the_mean_of_the_members():
    model = classifier(max_features=2, bootstrap_features=True, n_estimators=20).fit(X, Y)
    sums = np.zeros(4)
    for member, columns in zip(model.estimators_, model.estimators_features_, strict=True):
        for column, own in zip(columns, member.feature_importances_, strict=True):
            sums[column] += own
    np.testing.assert_allclose(model.feature_importances_, sums / 20)
    assert model.feature_importances_[2:].sum() > 0.7  # of petals
    with pytest.raises(AttributeError, match="feature_importances_"):
        classifier(GaussianNB()).fit(X, Y).feature_importances_  # noqa: B018


# --- several targets


def several(kind=str, n=90):
    """Return rows and three targets of 2, 3 and 2 classes."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 4))
    labels = np.stack((x[:, 0] > 0, np.digitize(x[:, 1], [-0.5, 0.5]), x[:, 2] + x[:, 3] > 0), axis=1)
    return x, labels.astype(int).astype(kind)


@pytest.mark.parametrize("kind", [int, str])
def test_several_targets_are_the_mean_of_the_members(kind):
    x, y = several(kind)
    model = classifier(estimator=None, bootstrap=False, max_features=3).fit(x, y)
    shares = model.predict_proba(x)
    assert [own.shape for own in shares] == [(90, 2), (90, 3), (90, 2)]
    assert model.n_classes_ == [2, 3, 2]
    for t, own in enumerate(shares):
        each = [
            member.predict_proba(x[:, columns])[t]
            for member, columns in zip(model.estimators_, model.estimators_features_, strict=True)
        ]
        np.testing.assert_allclose(own, np.mean(each, axis=0), rtol=1e-12)
        np.testing.assert_array_equal(model.predict(x)[:, t], model.classes_[t][own.argmax(axis=1)])
        np.testing.assert_array_equal(np.exp(model.predict_log_proba(x)[t]), own)
    assert model.predict(x).dtype == y.dtype


def test_several_targets_out_of_bag_are_those_of_a_naive_loop():
    x, y = several()
    model = classifier(oob_score=True, n_estimators=30).fit(x, y)
    sums, counts = np.zeros((90, 3, 3)), np.zeros(90)
    for member, rows in zip(model.estimators_, model.estimators_samples_, strict=True):
        unseen = np.setdiff1d(np.arange(90), rows)
        counts[unseen] += 1
        for t, own in enumerate(member.predict_proba(x[unseen])):
            sums[np.ix_(unseen, member.classes_[t].astype(int), [t])] += own[:, :, None]
    assert counts.all()
    found = sums / counts[:, None, None]
    np.testing.assert_allclose(model.oob_decision_function_, found, rtol=1e-12)
    right = [model.classes_[t][found[:, : len(model.classes_[t]), t].argmax(axis=1)] == y[:, t] for t in range(3)]
    assert model.oob_score_ == pytest.approx(np.mean(right))
    assert model.oob_errors_[-1] == pytest.approx(1 - model.oob_score_)


def test_several_targets_with_members_that_lack_classes_or_probabilities():
    x, y = several()
    y[:, 1] = "0"
    y[0, 1] = "2"  # most bootstraps miss it
    ours = DiverseEnsembleClassifier(n_estimators=5, random_state=0).fit(x, y)
    assert all([len(own) for own in member.classes_] == [2, 2, 2] for member in ours.estimators_)
    nearest = DiverseEnsembleClassifier(KNeighborsClassifier(1), n_estimators=5, random_state=0).fit(x, y)
    assert {len(member.classes_[1]) for member in nearest.estimators_} == {1, 2}
    assert [own.shape for own in nearest.predict_proba(x)] == [(90, 2)] * 3
    hard = DiverseEnsembleClassifier(RidgeClassifier(), n_estimators=5, random_state=0).fit(x, several(int)[1][:, ::2])
    np.testing.assert_allclose(sum(hard.predict_proba(x)[0].T), 1)
    network = DiverseEnsembleClassifier(MLPClassifier(max_iter=1), n_estimators=1, bootstrap=False)
    with pytest.warns(ConvergenceWarning):
        network.fit(x, several(int)[1][:, ::2])
    with pytest.raises(UsageError, match="MLPClassifier returns one array for all targets: use"):
        network.predict(x)


def test_several_targets_and_other_ways_to_differ():
    x, y = several()
    flipped = classifier(flip=0.5, bootstrap=False, estimator=DecisionTreeClassifier(max_depth=3)).fit(x, y)
    assert 0.6 < np.mean(flipped.predict(x) == y) < 1
    grown = classifier(n_estimators=2, warm_start=True).fit(x, y)
    grown.set_params(n_estimators=4).fit(x, y)
    whole = classifier(n_estimators=4).fit(x, y)
    for ours, expected in zip(grown.predict_proba(x), whole.predict_proba(x), strict=True):
        np.testing.assert_array_equal(ours, expected)
    with pytest.raises(UsageError, match="warm_start=True continues with the same classes"):
        grown.fit(x, y[:, :2])


# --- classes


def test_probabilities_are_the_mean_of_the_members():
    ensemble = classifier(GaussianNB()).fit(X, Y)
    expected = np.mean([member.predict_proba(X) for member in ensemble.estimators_], axis=0)
    np.testing.assert_allclose(ensemble.predict_proba(X), expected)
    np.testing.assert_allclose(np.exp(ensemble.predict_log_proba(X)), expected)
    np.testing.assert_array_equal(ensemble.predict(X), ensemble.classes_[np.argmax(expected, axis=1)])


def test_log_probability_of_nothing_is_minus_infinity():
    assert np.isneginf(classifier().fit(X, Y).predict_log_proba(X)).any()


def test_members_without_probabilities_vote():
    ensemble = classifier(RidgeClassifier()).fit(X, np.array(["a", "b", "c"])[Y])
    votes = np.stack([member.predict(X) for member in ensemble.estimators_])
    shares = np.stack([(votes == code).mean(axis=0) for code in range(3)], axis=1)
    np.testing.assert_allclose(ensemble.predict_proba(X), shares)
    np.testing.assert_array_equal(ensemble.predict(X), np.array(["a", "b", "c"])[np.argmax(shares, axis=1)])


def test_probabilities_and_votes_are_not_mixed():
    kinds = [GaussianNB(), RidgeClassifier()]
    ensemble = classifier(Pipeline([("learner", kinds[0])]), param_distributions={"learner": kinds}).fit(X, Y)
    assert len({type(member[0]) for member in ensemble.estimators_}) == 2
    shares = ensemble.predict_proba(X) * 8
    np.testing.assert_allclose(shares, np.round(shares), atol=1e-9)


@pytest.mark.parametrize("member", [KNeighborsClassifier(), make_pipeline(GaussianNB())])
def test_a_class_missing_in_a_bootstrap_keeps_its_column(member):
    """Of members that take no weights; others know all classes (test_peers)."""
    labels = np.array(["common", "rare", "usual"])[np.where(np.arange(len(X)) == 3, 1, 2 * (Y > 0))]
    ensemble = classifier(member, 12).fit(X, labels)
    n_known = {len(fitted.classes_) for fitted in ensemble.estimators_}
    assert n_known == {2, 3}  # some never saw the rare class
    probabilities = ensemble.predict_proba(X)
    assert ensemble.classes_.tolist() == ["common", "rare", "usual"]
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert probabilities[Y > 0, 2].mean() > 0.8
    assert probabilities[Y == 0, 0].mean() > 0.7
    knows_rare = np.mean([1 in fitted.classes_ for fitted in ensemble.estimators_])
    assert probabilities[:, 1].max() <= knows_rare + 1e-12


def test_a_class_missing_out_of_bag_too():
    labels = np.where(np.arange(len(X)) == 3, 7, Y)
    ensemble = classifier(n_estimators=30, oob_score=True).fit(X, labels)
    assert ensemble.oob_decision_function_.shape == (len(X), 4)
    assert ensemble.oob_decision_function_[3, 3] == 0  # the only row of its class is never judged by who knows it
    np.testing.assert_allclose(ensemble.oob_decision_function_.sum(axis=1), 1)


def test_one_class_is_no_problem_for_a_tree():
    ensemble = classifier(flip=0.5, oob_score=True, n_estimators=20).fit(X, np.full(len(X), "only"))
    assert set(ensemble.predict(X)) == {"only"}
    assert ensemble.oob_score_ == 1.0


def test_one_class_where_the_member_needs_two_says_so():
    with pytest.raises(ValueError, match="class") as caught:
        classifier(LogisticRegression()).fit(X, np.zeros(len(X)))
    assert "raised by member 0 of the ensemble, LogisticRegression" in caught.value.__notes__[0]


def test_flipped_members_still_agree_on_the_truth():
    ensemble = classifier(n_estimators=40, bootstrap=False, flip=0.5).fit(X, Y)
    wrong = [np.mean(member.predict(X) != Y) for member in ensemble.estimators_]
    # a full tree learns its labels by heart: half of them shuffled, of which 2/3 change
    assert np.mean(wrong) == pytest.approx(0.5 * 2 / 3, abs=0.06)
    assert ensemble.score(X, Y) > 0.9
    for member in ensemble.estimators_:
        np.testing.assert_array_equal(np.bincount(member.predict(X)), np.bincount(Y))


def test_input_noise_smooths_what_a_tree_learns_by_heart():
    rng = np.random.default_rng(1)
    points = rng.standard_normal((300, 2))
    labels = (points[:, 0] + 0.7 * rng.standard_normal(300) > 0).astype(int)
    fresh = rng.standard_normal((2000, 2))
    truth = (fresh[:, 0] > 0).astype(int)
    plain = DecisionTreeClassifier(random_state=0).fit(points, labels).score(fresh, truth)
    noisy = classifier(n_estimators=25, bootstrap=False, noise=0.5).fit(points, labels).score(fresh, truth)
    assert noisy > plain + 0.05


# --- targets


def test_predictions_are_the_mean_of_the_members_for_several_targets_too():
    targets = np.column_stack([Y, X[:, 0]])
    for y in (targets[:, 0], targets):
        ensemble = regressor(smear=0.1, max_features=3).fit(X, y)
        parts = zip(ensemble.estimators_, ensemble.estimators_features_, strict=True)
        expected = np.mean([member.predict(X[:, columns]) for member, columns in parts], axis=0)
        np.testing.assert_allclose(ensemble.predict(X), expected)
        assert ensemble.predict(X).shape == y.shape


@pytest.mark.parametrize("n_targets", [1, 2])
def test_out_of_bag_of_a_regressor(n_targets):
    y = Y.astype(float) if n_targets == 1 else np.column_stack([Y, X[:, 0]])
    ensemble = regressor(n_estimators=25, oob_score=True).fit(X, y)
    total, count = np.zeros(y.shape), np.zeros(len(X))
    for number, (member, rows) in enumerate(zip(ensemble.estimators_, ensemble.estimators_samples_, strict=True)):
        unseen = np.setdiff1d(np.arange(len(X)), rows)
        total[unseen] += member.predict(X[unseen])
        count[unseen] += 1
        known = count > 0
        mean = total[known] / count[known].reshape(-1, *[1] * (y.ndim - 1))
        assert ensemble.oob_errors_[number] == pytest.approx(mean_squared_error(y[known], mean))
    np.testing.assert_allclose(ensemble.oob_prediction_, mean)
    assert ensemble.oob_score_ == pytest.approx(r2_score(y, mean))


def test_a_single_unseen_row_has_no_r2():
    with pytest.warns(DepthForestWarning, match="rows were in the sample of every member"):
        ensemble = regressor(n_estimators=1, bootstrap=False, max_samples=len(X) - 1, oob_score=True).fit(X, Y)
    assert np.isnan(ensemble.oob_score_)
    assert np.count_nonzero(~np.isnan(ensemble.oob_prediction_)) == 1


def test_smear_is_in_standard_deviations_of_the_target():
    points = np.arange(3000.0)[:, None]
    target = 7 * np.sin(points[:, 0])
    ensemble = regressor(n_estimators=2, bootstrap=False, smear=0.3).fit(points, target)
    learned = [member.predict(points) - target for member in ensemble.estimators_]  # a full tree learns by heart
    np.testing.assert_allclose(np.std(learned, axis=1), 0.3 * np.std(target), rtol=0.05)
    assert abs(np.corrcoef(learned)[0, 1]) < 0.1


def test_a_constant_target_stays_constant():
    ensemble = regressor(smear=1.0, noise=0.3).fit(X, np.full(len(X), 4.25))
    np.testing.assert_array_equal(ensemble.predict(X), np.full(len(X), 4.25))


def test_weights_and_rows_of_a_linear_member():
    data, target = load_diabetes(return_X_y=True)
    weights = (np.arange(len(data)) % 3).astype(float)
    ensemble = regressor(LinearRegression(), 3, bootstrap=False, max_samples=0.5).fit(data, target, weights)
    for member, rows in zip(ensemble.estimators_, ensemble.estimators_samples_, strict=True):
        assert len(rows) == np.count_nonzero(weights) // 2
        twin = clone(member).fit(data[rows], target[rows], weights[rows])
        np.testing.assert_allclose(member.coef_, twin.coef_)
