from __future__ import annotations

import numpy as np
import pytest
from sklearn import ensemble as outside
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from sklearn.linear_model import Ridge
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from depthforest.ensemble.bagging import variants as bagging
from depthforest.ensemble.bagging.diverse import DiverseEnsembleClassifier, DiverseEnsembleRegressor

X, Y = load_iris(return_X_y=True)
X, Y = X[::3], Y[::3]
CLASSIFIERS = (bagging.BaggingClassifier, bagging.RandomSubspaceClassifier, bagging.OutputFlippingClassifier)
REGRESSORS = (bagging.BaggingRegressor, bagging.RandomSubspaceRegressor, bagging.OutputSmearingRegressor)
MEMBERS = {kind: DecisionTreeClassifier() for kind in CLASSIFIERS} | {
    kind: DecisionTreeRegressor() for kind in REGRESSORS
}

UNEQUAL_WEIGHTS = {
    f"check_sample_weight_equivalence_on_{kind}_data": "draws depend on the number of rows: equal in distribution only"
    for kind in ("dense", "sparse")
}


def expected_failures(estimator) -> dict[str, str]:
    """Return what scikit-learn's own bagging declares too; random subspaces draw no rows, and weigh exactly."""
    return {} if "Subspace" in type(estimator).__name__ else UNEQUAL_WEIGHTS


_CHECKS = parametrize_with_checks(
    [kind(member, n_estimators=8) for kind, member in MEMBERS.items()], expected_failed_checks=expected_failures
)


# a list: newer pytest warns of the generator that older scikit-learn passes
@pytest.mark.slow  # the engine passes the same checks in the quick tests of `diverse`
@pytest.mark.parametrize(_CHECKS.args[0], list(_CHECKS.args[1]), ids=_CHECKS.kwargs["ids"])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    ("preset", "engine"),
    [
        (
            bagging.BaggingClassifier(max_samples=0.7, max_features=2, oob_score=True),
            DiverseEnsembleClassifier(max_samples=0.7, max_features=2, oob_score=True),
        ),
        (
            bagging.BaggingClassifier(max_samples=20, bootstrap=False, bootstrap_features=True),
            DiverseEnsembleClassifier(max_samples=20, bootstrap=False, bootstrap_features=True),
        ),
        (bagging.BaggingRegressor(oob_score=True), DiverseEnsembleRegressor(oob_score=True)),
        (bagging.RandomSubspaceClassifier(), DiverseEnsembleClassifier(bootstrap=False, max_features=0.5)),
        (bagging.RandomSubspaceRegressor(), DiverseEnsembleRegressor(bootstrap=False, max_features=0.5)),
        (bagging.OutputFlippingClassifier(), DiverseEnsembleClassifier(bootstrap=False, flip=0.4)),
        (bagging.OutputSmearingRegressor(), DiverseEnsembleRegressor(bootstrap=False, smear=1.0)),
    ],
)
def test_a_preset_is_the_engine_with_its_parameters(preset, engine):
    same = {"estimator": MEMBERS[type(preset)], "n_estimators": 20, "random_state": 4}
    preset, engine = preset.set_params(**same).fit(X, Y), engine.set_params(**same).fit(X, Y)
    np.testing.assert_array_equal(preset.predict(X), engine.predict(X))
    assert getattr(preset, "oob_score_", None) == getattr(engine, "oob_score_", None)
    assert (preset.oob_score and hasattr(preset, "oob_score_")) or not preset.oob_score


@pytest.mark.parametrize("name", ["BaggingClassifier", "BaggingRegressor"])
def test_bagging_has_the_parameters_of_scikit_learns(name):
    ours, theirs = getattr(bagging, name)().get_params(), getattr(outside, name)().get_params()
    assert ours.keys() == theirs.keys()
    # 1.0 was their default for all rows before None
    assert {**theirs, "max_samples": None} == ours


def test_other_presets_have_no_parameters_that_do_nothing():
    names = {kind.__name__: set(kind().get_params()) for kind in MEMBERS}
    shared = {"estimator", "n_estimators", "warm_start", "n_jobs", "random_state", "verbose"}
    assert names["RandomSubspaceClassifier"] == names["RandomSubspaceRegressor"] == shared | {"max_features"}
    assert names["OutputFlippingClassifier"] == shared | {"flip"}
    assert names["OutputSmearingRegressor"] == shared | {"smear"}


@pytest.mark.parametrize("kind", MEMBERS)
def test_a_preset_warm_starts(kind):
    whole = kind(MEMBERS[kind], 4, random_state=1).fit(X, Y)
    grown = kind(MEMBERS[kind], 2, random_state=1, warm_start=True).fit(X, Y).set_params(n_estimators=4).fit(X, Y)
    np.testing.assert_array_equal(whole.predict(X), grown.predict(X))


def test_smearing_a_linear_member_changes_little_in_the_mean():
    data, target = load_diabetes(return_X_y=True)
    smeared = bagging.OutputSmearingRegressor(Ridge(1e-6), 200, random_state=0).fit(data, target)
    np.testing.assert_allclose(smeared.predict(data), Ridge(1e-6).fit(data, target).predict(data), rtol=0, atol=6)
    spread = np.std([member.predict(data) for member in smeared.estimators_], axis=0)
    # of the hat matrix: noise of one sigma in y makes sigma * sqrt(h_ii) in the fit, and the h_ii add up to the rank
    with_ones = np.column_stack([data, np.ones(len(data))])
    leverage = np.einsum("ij,ji->i", with_ones, np.linalg.pinv(with_ones))
    np.testing.assert_allclose(spread.mean(), np.std(target) * np.sqrt(leverage).mean(), rtol=0.05)


def scores(model, load, n_seeds=5) -> list[float]:
    data, target = load(return_X_y=True)
    found = []
    for seed in range(n_seeds):
        parts = train_test_split(data, target, test_size=0.5, random_state=seed)
        found.append(model.set_params(random_state=seed).fit(parts[0], parts[2]).score(parts[1], parts[3]))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("load", [load_wine, load_breast_cancer, load_digits, load_diabetes])
def test_as_good_as_scikit_learns_bagging(load):
    is_regression = load is load_diabetes
    name = "BaggingRegressor" if is_regression else "BaggingClassifier"
    member = DecisionTreeRegressor() if is_regression else DecisionTreeClassifier()
    ours, theirs = (scores(getattr(home, name)(member, 50), load) for home in (bagging, outside))
    noise = np.std(np.subtract(ours, theirs)) / np.sqrt(len(ours)) + 0.005
    assert np.mean(ours) == pytest.approx(np.mean(theirs), abs=3 * noise)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "load"),
    [
        (bagging.RandomSubspaceClassifier, load_digits),
        (bagging.OutputFlippingClassifier, load_digits),
        (bagging.OutputFlippingClassifier, load_wine),
        (bagging.RandomSubspaceRegressor, load_diabetes),
        (bagging.OutputSmearingRegressor, load_diabetes),
    ],
)
def test_better_than_a_single_tree(kind, load):
    single = scores(MEMBERS[kind], load)
    many = scores(kind(MEMBERS[kind], n_estimators=50), load)
    assert np.mean(many) > np.mean(single) + 0.02
