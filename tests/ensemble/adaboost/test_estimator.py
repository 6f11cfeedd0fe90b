"""AdaBoost against its twin, scikit-learn's, its own promises, and at its edges."""

import math

import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_breast_cancer, load_wine, make_classification, make_moons
from sklearn.ensemble import AdaBoostClassifier as SklearnAdaBoost
from sklearn.linear_model import Perceptron, Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier as SklearnTree
from sklearn.utils.estimator_checks import parametrize_with_checks
from support import naive_boosting_ada as naive
from support.scripted import Failing

from depthforest.base.errors import UsageError
from depthforest.ensemble import DecisionTreeClassifier
from depthforest.ensemble.adaboost.estimator import MAX_TRIES, AdaBoostClassifier
from depthforest.ensemble.growth.binning import bin_columns
from depthforest.ensemble.tree import estimators as decisiontrees

EXACT_STUMP = DecisionTreeClassifier(max_depth=1, max_bins=None)
FORMS = ("odds", "exponential")


class Stump(ClassifierMixin, BaseEstimator):
    """The naive stump as an estimator."""

    def fit(self, X, y, sample_weight):
        self.classes_ = np.unique(y)
        self.split_ = naive.stump(X.tolist(), y.tolist(), sample_weight.tolist(), 1 + int(y.max()), close=1e-6)
        return self

    def predict(self, X):
        return np.array(naive.stump_answers(self.split_, X.tolist()))


class Told(ClassifierMixin, BaseEstimator):
    """A learner that is wrong on the rows it is told, fit after fit; rows are known by their number in X[:, 0]."""

    script: list = []  # noqa: RUF012 - set by `tell`, shared by all clones
    seen: list = []  # noqa: RUF012

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        self.wrong_ = Told.script.pop(0)
        Told.seen.append((X, y, sample_weight))
        if isinstance(self.wrong_, BaseException):
            raise self.wrong_
        return self

    def predict(self, X):
        rows = np.asarray(X)[:, 0].astype(int)
        truth = rows % 2
        return np.where(np.isin(rows, self.wrong_), 1 - truth, truth)


class ToldByDraws(Told):
    """The same, without weights."""

    def fit(self, X, y):
        return super().fit(X, y)


def told(script, cls=Told, **options):
    Told.script, Told.seen = list(script), []
    return AdaBoostClassifier(cls(), **options)


def numbered(n):
    rows = np.arange(n)
    return rows[:, None].astype(float), rows % 2


@pytest.fixture(scope="module")
def moons():
    X, y = make_moons(300, noise=0.25, random_state=0)
    return train_test_split(X, np.where(y == 0, "up", "down"), test_size=0.5, random_state=0)


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return train_test_split(X, y, test_size=0.5, random_state=0)


# ---------------------------------------------------------------------- scikit-learn's checks


def expected_failures(estimator):
    """Return what scikit-learn's own AdaBoostClassifier declares too."""
    if estimator.form == "odds" and not estimator.resample and estimator.estimator is None:
        return {}
    reason = "drawn rows, or ties that rounding decides: equal in distribution only"
    return {f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in ("dense", "sparse")}


def listed(estimators):
    checks = parametrize_with_checks(estimators, expected_failed_checks=expected_failures)
    # a list: newer pytest warns of the generator that older scikit-learn passes
    return pytest.mark.parametrize(checks.args[0], list(checks.args[1]), ids=checks.kwargs["ids"])


@listed([AdaBoostClassifier(n_estimators=3, resample=False)])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@listed(
    [
        AdaBoostClassifier(n_estimators=5, form="exponential"),
        AdaBoostClassifier(n_estimators=5, resample=True, weight_history=True),
        AdaBoostClassifier(KNeighborsClassifier(), n_estimators=3),
        AdaBoostClassifier(SklearnTree(max_depth=1), n_estimators=5),
    ]
)
def test_scikit_learns_checks_of_other_settings(estimator, check):
    check(estimator)


# ---------------------------------------------------------------------- twins


@settings(deadline=None, max_examples=25)
@given(
    st.integers(0, 10**6), st.integers(2, 4), st.sampled_from([0.3, 1.0, 1.5]), st.sampled_from(FORMS), st.booleans()
)
def test_every_round_is_the_naive_one(seed, n_classes, rate, form, weighs):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, (16, 2)).astype(float)
    y = np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=16 - n_classes)])
    weights = rng.integers(1, 4, 16).astype(float) if weighs else None
    rows, labels = X.tolist(), y.tolist()
    # the scale that members get: ties within rounding are then the same for both
    total = 16.0 if weights is None else float(weights.sum())

    def learn(w):
        split = naive.stump(rows, labels, [total * v for v in w], n_classes, close=1e-6)
        return naive.stump_answers(split, rows)

    books = naive.run(learn, labels, n_classes, 6, rate, None if weights is None else weights.tolist())
    model = AdaBoostClassifier(Stump(), n_estimators=6, learning_rate=rate, form=form, weight_history=True)
    if not books:
        with pytest.raises(UsageError, match="no better than a guess"):
            model.fit(X, y, weights)
        return
    model.fit(X, y, weights)
    errors, member_weights, history, _ = map(list, zip(*books, strict=True))
    np.testing.assert_allclose(model.estimator_errors_, errors, atol=1e-9)
    scale = 1 if form == "odds" else (n_classes - 1) ** 2 / n_classes
    np.testing.assert_allclose(model.estimator_weights_, np.multiply(scale, member_weights), rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(model.weight_history_, history, atol=1e-9)
    np.testing.assert_allclose(model.weight_history_.sum(axis=1), 1)
    votes = np.array(naive.decision(books, n_classes))
    wanted = votes[:, 1] - votes[:, 0] if n_classes == 2 else votes
    np.testing.assert_allclose(model.decision_function(X), wanted, atol=1e-7)


def made(**_):
    return make_classification(300, 6, n_informative=5, n_redundant=0, n_classes=4, random_state=0)


@pytest.mark.parametrize("load", [load_breast_cancer, load_wine, made])
@pytest.mark.parametrize("rate", [1.0, 0.4])
def test_scikit_learns_adaboost_has_the_same_rounds(load, rate):
    X, y = load(return_X_y=True)
    weights = np.random.default_rng(0).uniform(0.5, 2, len(y))
    ours = AdaBoostClassifier(SklearnTree(max_depth=1), n_estimators=12, learning_rate=rate, random_state=0)
    theirs = SklearnAdaBoost(SklearnTree(max_depth=1), n_estimators=12, learning_rate=rate, random_state=0)
    ours.fit(X, y, weights)
    theirs.fit(X, y, weights)
    np.testing.assert_allclose(ours.estimator_errors_, theirs.estimator_errors_, rtol=1e-9)
    np.testing.assert_allclose(ours.estimator_weights_, theirs.estimator_weights_, rtol=1e-9)
    for method in ("decision_function", "predict_proba", "predict_log_proba"):
        np.testing.assert_allclose(getattr(ours, method)(X), getattr(theirs, method)(X), rtol=1e-9, atol=1e-12)
    stages = zip(ours.staged_decision_function(X), theirs.staged_decision_function(X), strict=True)
    for own, their in stages:
        np.testing.assert_allclose(own, their, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(ours.feature_importances_, theirs.feature_importances_, rtol=1e-9)


def test_our_exact_stump_boosts_as_scikit_learns_does(cancer):
    X_fit, X_new, y_fit, _ = cancer
    ours = AdaBoostClassifier(EXACT_STUMP, n_estimators=20).fit(X_fit, y_fit)
    theirs = SklearnAdaBoost(n_estimators=20, random_state=0).fit(X_fit, y_fit)
    np.testing.assert_allclose(ours.estimator_errors_, theirs.estimator_errors_, rtol=1e-9)
    np.testing.assert_array_equal(ours.predict(X_new), theirs.predict(X_new))


class AnyTree(DecisionTreeClassifier):
    """Our tree, but not known as such: it gets X as it is in every round."""


@pytest.mark.parametrize("options", [{"max_depth": 1}, {"max_depth": 2, "max_bins": None, "max_features": 1}])
@pytest.mark.parametrize("framed", [False, True])
@pytest.mark.parametrize("resample", [False, True])
def test_our_trees_are_the_same_from_a_table_that_is_binned_once(options, framed, resample, moons, monkeypatch):
    X, _, y, _ = moons
    X = np.column_stack((X, np.where(X[:, 0] > 0.5, "right", "left"))).astype(object)
    X[::9, 0] = np.nan
    if framed:
        X = pd.DataFrame(X, columns=["east", "north", "side"]).astype({"east": float, "north": float})
    calls = []
    monkeypatch.setattr(decisiontrees, "bin_columns", lambda *a, **k: calls.append(1) or bin_columns(*a, **k))
    weights = np.random.default_rng(0).integers(0, 4, len(y))
    coded, plain = (
        AdaBoostClassifier(kind(categorical_features=[2], **options), n_estimators=5, resample=resample, random_state=3)
        for kind in (DecisionTreeClassifier, AnyTree)
    )
    coded.fit(X, y, weights)
    assert len(coded.estimators_) == 5
    assert len(calls) == (5 if resample else 1)
    plain.fit(X, y, weights)
    np.testing.assert_array_equal(coded.estimator_errors_, plain.estimator_errors_)
    np.testing.assert_array_equal(coded.decision_function(X), plain.decision_function(X))
    for mine, its in zip(coded.estimators_, plain.estimators_, strict=True):
        assert vars(mine).keys() == vars(its).keys()
        np.testing.assert_array_equal(mine.tree_.threshold, its.tree_.threshold)
        np.testing.assert_array_equal(mine.predict_proba(X), its.predict_proba(X))


def test_a_weight_of_two_is_two_rows_and_a_weight_of_zero_none():
    X, y = load_wine(return_X_y=True)
    counts = np.random.default_rng(0).integers(0, 3, len(y))
    rows = np.repeat(np.arange(len(y)), counts)
    weighed = AdaBoostClassifier(EXACT_STUMP, n_estimators=6, random_state=0, weight_history=True).fit(X, y, counts)
    repeated = AdaBoostClassifier(EXACT_STUMP, n_estimators=6, random_state=0).fit(X[rows], y[rows])
    np.testing.assert_allclose(weighed.estimator_errors_, repeated.estimator_errors_)
    np.testing.assert_allclose(weighed.decision_function(X), repeated.decision_function(X), atol=1e-9)
    assert weighed.weight_history_.shape == (6, len(y))
    assert ((weighed.weight_history_ == 0) == (counts == 0)).all()


# ---------------------------------------------------------------------- edges


def test_a_first_member_without_error_is_the_ensemble(moons):
    X, _, y, _ = moons
    model = AdaBoostClassifier(SklearnTree(random_state=0), weight_history=True).fit(X, y)
    assert len(model.estimators_) == 1
    assert model.estimator_errors_.tolist() == [0]
    assert model.estimator_weights_.tolist() == [1]
    assert model.error_bound_.tolist() == [0]
    assert model.score(X, y) == 1
    np.testing.assert_allclose(model.weight_history_, 1 / len(y))


def test_a_later_member_without_error_decides_every_row_and_ends_the_run():
    X, y = numbered(10)
    model = told([[0], [1], [2], [], [3]], n_estimators=5).fit(X, y)
    assert Told.script == [[3]]
    assert model.estimator_errors_[-1] == 0
    assert (model.estimator_errors_[:-1] > 0).all()
    assert model.estimator_weights_[-1] == pytest.approx(model.estimator_weights_[:-1].sum() + 1)
    assert model.error_bound_[-1] == 0
    assert list(model.staged_score(X, y))[-1] == 1
    assert (np.sign(model.decision_function(X)) == 2 * y - 1).all()


def test_a_later_member_no_better_than_chance_is_left_out_and_ends_the_run():
    X, y = numbered(10)
    model = told([[0], [0], [1]], n_estimators=3).fit(X, y)  # after its round row 0 has half of the weight
    assert Told.script == [[1]]
    assert len(model.estimators_) == len(model.estimator_errors_) == len(model.estimator_weights_) == 1
    assert model.estimator_errors_ == pytest.approx([0.1])


def test_a_first_member_no_better_than_chance_is_one_clear_line():
    X, y = numbered(10)
    model = told([[0, 1, 2, 3, 4, 5]])
    with pytest.raises(
        UsageError,
        match=r"^the first Told is wrong on 60 % of the weight, no better than a guess among 2 classes \(50 %\): give",
    ):
        model.fit(X, y)
    with pytest.raises(sklearn.exceptions.NotFittedError):
        model.predict(X)


def test_an_unlucky_draw_is_drawn_again_but_not_forever():
    X, y = numbered(10)
    bad = list(range(6))
    model = told([[0], bad, bad, [1], *[bad] * 20], ToldByDraws, n_estimators=4).fit(X, y)
    assert len(model.estimators_) == 2
    assert len(Told.script) == 20 - MAX_TRIES
    drawn = [sample[0][:, 0].tolist() for sample in Told.seen]
    assert drawn[1] != drawn[2]
    with pytest.raises(UsageError, match="first ToldByDraws is wrong on 60 %"):
        told([bad] * 20, ToldByDraws).fit(X, y)
    assert len(Told.script) == 20 - MAX_TRIES


def test_a_learner_without_chance_is_not_tried_again():
    X, y = numbered(10)
    bad = list(range(6))
    with pytest.raises(UsageError, match="first Told is wrong on 60 %"):
        told([bad] * 20).fit(X, y)
    assert len(Told.script) == 19


def test_an_unlucky_start_is_tried_again(moons):
    X, _, y, _ = moons
    model = AdaBoostClassifier(Perceptron(), n_estimators=12, random_state=0).fit(X, y)
    assert len(model.estimators_) == 12
    assert len({member.random_state for member in model.estimators_}) == 12


def test_one_class_is_refused():
    with pytest.raises(UsageError, match=r"needs at least two classes in y, got one class, 'a'$"):
        AdaBoostClassifier().fit([[0.0], [1.0]], ["a", "a"])


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"n_estimators": 0}, "n_estimators must be a whole number from 1, got 0"),
        ({"learning_rate": 0}, "learning_rate must be above 0, got 0: no member would have a vote"),
        ({"learning_rate": -1}, "learning_rate must be a number from 0, got -1"),
        ({"form": "real"}, "form must be one of 'odds', 'exponential', got 'real'"),
        ({"resample": 1}, "resample must be 'auto', True or False, got 1"),
        ({"weight_history": 2}, "weight_history must be True or False, got 2"),
        ({"verbose": 0.5}, "verbose must be a whole number, above 0 for a progress bar; got 0.5"),
        ({"estimator": Ridge()}, "AdaBoostClassifier needs a classifier as its estimator, got Ridge"),
        ({"estimator": GaussianNB}, "estimator must be an object, got the class GaussianNB: write GaussianNB()"),
        (
            {"estimator": KNeighborsClassifier(), "resample": False},
            "KNeighborsClassifier takes no sample_weight: draw its rows by weight (resample=True)",
        ),
    ],
)
def test_bad_parameters_are_one_line(options, line, moons):
    with pytest.raises(UsageError) as raised:
        AdaBoostClassifier(**options).fit(moons[0], moons[2])
    assert str(raised.value) == line


def test_a_member_that_fails_is_named(moons):
    with pytest.raises(RuntimeError) as raised:
        AdaBoostClassifier(Failing()).fit(moons[0], moons[2])
    assert raised.value.__notes__ == ["raised by member 0 of the ensemble, Failing, fitted on 150 rows"]


@pytest.mark.parametrize("stop", [KeyboardInterrupt(), RuntimeError("no licence")])
def test_an_interrupted_fit_keeps_its_members(stop):
    X, y = numbered(10)
    model = told([[0], [1], stop], n_estimators=5, weight_history=True)
    with pytest.raises(type(stop)):
        model.fit(X, y)
    assert len(model.estimators_) == len(model.estimator_weights_) == len(model.weight_history_) == 2
    assert model.predict(X).shape == (10,)


# ---------------------------------------------------------------------- members of all kinds


@pytest.mark.parametrize(
    ("member", "resample"),
    [
        (None, "auto"),
        (None, True),
        (Perceptron(), "auto"),
        (Perceptron(), True),
        (GaussianNB(), "auto"),
        (GaussianNB(), True),
        (KNeighborsClassifier(15), "auto"),
        (make_pipeline(StandardScaler(), SklearnTree(max_depth=1)), "auto"),
    ],
)
def test_every_kind_of_weak_learner_is_boosted(member, resample, moons):
    X_fit, X_new, y_fit, y_new = moons
    model = AdaBoostClassifier(member, n_estimators=20, resample=resample, random_state=0).fit(X_fit, y_fit)
    again = AdaBoostClassifier(member, n_estimators=20, resample=resample, random_state=0).fit(X_fit, y_fit)
    np.testing.assert_array_equal(model.decision_function(X_new), again.decision_function(X_new))
    first, *_, last = model.staged_score(X_fit, y_fit)
    # naive Bayes has little to gain: of the same weights it learns almost the same again
    assert last >= first if isinstance(member, GaussianNB) else last > first
    assert len(model.estimators_) > 1
    assert model.score(X_new, y_new) > 0.8


def test_members_get_weights_of_the_same_sum_as_given():
    X, y = numbered(49)
    told([[0], [1]], n_estimators=2).fit(X, y)
    np.testing.assert_array_equal(Told.seen[0][2], np.ones(49))  # 49 * (1 / 49) would be a little less
    X, y = numbered(10)
    told([[0], [1]], n_estimators=2).fit(X, y)
    assert Told.seen[1][2].sum() == pytest.approx(10)
    assert Told.seen[1][2][0] == pytest.approx(5)
    told([[0], [1]], n_estimators=2).fit(X, y, np.full(10, 0.5))
    assert [seen[2].sum() for seen in Told.seen] == pytest.approx([5, 5])


def test_drawn_rows_follow_the_weights():
    n = 400
    X, y = numbered(n)
    told([[0], [1]], ToldByDraws, n_estimators=2, random_state=0).fit(X, y)
    first, second = (np.bincount(sample[0][:, 0].astype(int), minlength=n) for sample in Told.seen)
    assert first.sum() == second.sum() == n
    # row 0 was wrong: it has half of the weight
    assert abs(second[0] - n / 2) < 4 * math.sqrt(n / 4)
    assert abs((first > 0).mean() - (1 - 1 / math.e)) < 0.08
    np.testing.assert_array_equal(Told.seen[0][0][:, 0] % 2, Told.seen[0][1])


def test_routing_switched_on_changes_no_ensemble(moons):
    X, _, y, _ = moons
    plain = AdaBoostClassifier(n_estimators=3).fit(X, y)
    with sklearn.config_context(enable_metadata_routing=True):
        routed = AdaBoostClassifier(n_estimators=3).fit(X, y)
        search = GridSearchCV(
            AdaBoostClassifier(n_estimators=2)
            .set_fit_request(sample_weight=True)
            .set_score_request(sample_weight=True),
            {"learning_rate": [0.5, 1]},
            cv=2,
        )
        search.fit(X, y, sample_weight=np.ones(len(y)))
    np.testing.assert_array_equal(plain.estimator_errors_, routed.estimator_errors_)
    assert search.best_params_["learning_rate"] in (0.5, 1)


def test_frames_text_classes_and_missing_values(moons):
    X, _, y, _ = moons
    frame = pd.DataFrame(X, columns=["east", "north"])
    frame.iloc[::9, 0] = np.nan
    model = AdaBoostClassifier(n_estimators=5).fit(frame, pd.Series(y))
    assert model.feature_names_in_.tolist() == ["east", "north"]
    assert set(model.predict(frame)) == {"down", "up"}
    assert model.classes_.tolist() == ["down", "up"]
    assert model.feature_importances_.sum() == pytest.approx(1)
    assert cross_val_score(AdaBoostClassifier(n_estimators=5), frame, y, cv=3).mean() > 0.75


def test_no_history_stays_from_an_earlier_fit(moons):
    X, _, y, _ = moons
    model = AdaBoostClassifier(n_estimators=2, weight_history=True).fit(X, y)
    assert model.weight_history_.shape == (2, len(y))
    assert not hasattr(model.set_params(weight_history=False).fit(X, y), "weight_history_")


def test_progress_is_shown_on_request(moons, capsys):
    AdaBoostClassifier(n_estimators=2, verbose=1).fit(moons[0], moons[2])
    assert "AdaBoostClassifier" in capsys.readouterr().err


@pytest.mark.slow
def test_as_good_as_scikit_learns():
    for load in (
        load_breast_cancer,
        load_wine,
        lambda **_: make_classification(1500, 10, n_informative=6, random_state=0),
    ):
        X, y = load(return_X_y=True)
        differences = []
        for seed in range(5):
            parts = train_test_split(X, y, test_size=0.5, random_state=seed)
            ours, theirs = (
                kind(n_estimators=60, random_state=seed).fit(parts[0], parts[2]).score(parts[1], parts[3])
                for kind in (AdaBoostClassifier, SklearnAdaBoost)
            )
            differences.append(ours - theirs)
        noise = np.std(differences) / math.sqrt(5) + 0.005
        assert np.mean(differences) > -3 * noise


@pytest.mark.parametrize("rate", [3.0, 5.0, 10.0])
def test_a_high_learning_rate_makes_no_member_perfect(rate):
    """Weights fall by many powers of ten a round; a member that is wrong on rows of none left would have no error."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 4))
    y = (x[:, 0] + x[:, 1] ** 2 + rng.normal(0, 0.1, 200) > 1).astype(int)
    model = AdaBoostClassifier(learning_rate=rate, n_estimators=20).fit(x, y)
    theirs = SklearnAdaBoost(learning_rate=rate, n_estimators=20, random_state=0).fit(x, y)
    assert (model.estimator_errors_ > 0).all()
    np.testing.assert_allclose(model.estimator_errors_, theirs.estimator_errors_, rtol=1e-6)
    np.testing.assert_array_equal(model.predict(x), theirs.predict(x))
