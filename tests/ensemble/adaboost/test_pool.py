"""AdaBoost over a fixed pool: against its twin, scikit-learn's checks, and at its edges."""

import joblib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris, make_moons
from sklearn.linear_model import Perceptron
from sklearn.model_selection import KFold, train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks
from support import naive_boosting_ada as naive
from support.scripted import Memory, Voter, row_numbers

from depthforest.base.errors import UsageError
from depthforest.ensemble import DecisionTreeClassifier, analysis
from depthforest.ensemble.adaboost.pool import AdaBoostPoolClassifier


def trees(*depths):
    return [(f"depth{d}", DecisionTreeClassifier(max_depth=d, random_state=d)) for d in depths]


def mixed():
    stumps = [(f"stump{i}", DecisionTreeClassifier(max_depth=1, max_features=1, random_state=i)) for i in range(6)]
    return [("line", Perceptron(random_state=0)), ("bayes", GaussianNB()), ("near", KNeighborsClassifier(15)), *stumps]


def voters(answers, classes):
    return [(f"m{i}", Voter([classes[a] for a in own], classes)) for i, own in enumerate(answers)]


@pytest.fixture(scope="module")
def moons():
    X, y = make_moons(300, noise=0.25, random_state=0)
    return train_test_split(X, np.where(y == 0, "up", "down"), test_size=0.5, random_state=0)


_CHECKS = parametrize_with_checks([AdaBoostPoolClassifier(trees(1, 2), n_estimators=3)])


# a list: newer pytest warns of the generator that older scikit-learn passes
@pytest.mark.parametrize(_CHECKS.args[0], list(_CHECKS.args[1]), ids=_CHECKS.kwargs["ids"])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@settings(deadline=None, max_examples=60)
@given(
    st.integers(0, 10**6),
    st.integers(2, 4),
    st.sampled_from([0.4, 1.0, 1.3]),
    st.sampled_from(["odds", "exponential"]),
    st.booleans(),
)
def test_every_round_takes_the_member_that_the_twin_takes(seed, n_classes, rate, form, weighs):
    rng = np.random.default_rng(seed)
    n, classes = 14, ["ant", "bee", "cat", "dog"][:n_classes]
    labels = np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=n - n_classes)])
    answers = np.where(rng.random((5, n)) < 0.5, labels, rng.integers(n_classes, size=(5, n)))
    weights = rng.integers(1, 4, n).astype(float) if weighs else np.ones(n)

    def learn(w):
        errors = [sum(v for v, a, y in zip(w, own, labels, strict=True) if a != y) for own in answers]
        return answers[next(i for i in range(5) if errors[i] <= min(errors) + 1e-10)].tolist()

    books = naive.run(learn, labels.tolist(), n_classes, 8, rate, weights.tolist())
    X, y = row_numbers(n), np.array(classes)[labels]
    model = AdaBoostPoolClassifier(
        voters(answers, classes), n_estimators=8, learning_rate=rate, form=form, cv="prefit", weight_history=True
    )
    if not books:
        with pytest.raises(UsageError, match="no better than a guess"):
            model.fit(X, y, sample_weight=weights)
        return
    model.fit(X, y, sample_weight=weights)
    errors, member_weights, history, _ = map(list, zip(*books, strict=True))
    np.testing.assert_allclose(model.estimator_errors_, errors, atol=1e-9)
    for member, (*_, said) in zip(model.estimators_, books, strict=True):
        assert member.predict(X).tolist() == [classes[a] for a in said]
    scale = 1 if form == "odds" else (n_classes - 1) ** 2 / n_classes
    np.testing.assert_allclose(model.estimator_weights_, np.multiply(scale, member_weights), rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(model.weight_history_, history, atol=1e-9)
    np.testing.assert_allclose(model.weight_history_.sum(axis=1), 1)
    if n_classes == 2:
        wrong = np.array([(labels_ != y) @ weights / weights.sum() for labels_ in model.staged_predict(X)])
        assert (wrong <= model.error_bound_ + 1e-12).all()


def test_a_member_is_chosen_again_and_asked_once(monkeypatch):
    # three members, each wrong on another third of nine rows: together they are right everywhere
    labels = np.arange(9) % 2
    answers = [np.where(np.arange(9) // 3 == third, 1 - labels, labels) for third in range(3)]
    X = row_numbers(9)
    model = AdaBoostPoolClassifier(voters(answers, [0, 1]), n_estimators=9, cv="prefit").fit(X, labels)
    assert model.chosen_[:3] == ["m0", "m1", "m2"]
    assert len(model.chosen_) == 9
    assert set(model.chosen_[3:]) == {"m0", "m1", "m2"}
    assert model.score(X, labels) == 1
    assert all(
        member is model.named_estimators_[name] for name, member in zip(model.chosen_, model.estimators_, strict=True)
    )
    calls = []
    ask = Voter.predict
    monkeypatch.setattr(Voter, "predict", lambda self, X: (calls.append(self), ask(self, X))[1])
    model.predict(X)
    assert len(calls) == 3


def test_of_a_pool_of_one_only_one_round_is_left():
    labels = np.arange(8) % 2
    answers = [np.where(np.arange(8) == 3, 1 - labels, labels)]
    model = AdaBoostPoolClassifier(voters(answers, [0, 1]), cv="prefit").fit(row_numbers(8), labels)
    assert model.chosen_ == ["m0"]
    assert model.estimator_errors_ == pytest.approx([1 / 8])


def test_a_member_that_knows_all_by_heart_is_taken_alone_unless_judged_by_folds(moons):
    X, X_new, y, y_new = moons
    pool = [("heart", Memory()), *trees(1, 2)]
    by_heart = AdaBoostPoolClassifier(pool).fit(X, y)
    assert by_heart.chosen_ == ["heart"]
    assert by_heart.error_bound_.tolist() == [0]
    by_folds = AdaBoostPoolClassifier(pool, cv=5).fit(X, y)
    assert by_folds.chosen_[0] == "depth2"
    assert by_folds.score(X_new, y_new) > by_heart.score(X_new, y_new) + 0.1


def test_no_member_better_than_chance_is_one_clear_line():
    labels = np.arange(8) % 2
    with pytest.raises(
        UsageError,
        match=r"^of the pool, the first Voter is wrong on 100 % of the weight, no better than a guess among 2 ",
    ):
        AdaBoostPoolClassifier(voters([1 - labels], [0, 1]), cv="prefit").fit(row_numbers(8), labels)


def test_all_kinds_together(moons):
    X, X_new, y, y_new = moons
    model = AdaBoostPoolClassifier(mixed(), n_estimators=30).fit(X, y)
    assert model.score(X_new, y_new) > 0.85
    assert len(set(model.chosen_)) > 2
    assert model.predict_proba(X_new).shape == (150, 2)
    with joblib.parallel_config(backend="threading"):
        same = AdaBoostPoolClassifier(mixed(), n_estimators=30, n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(same.decision_function(X_new), model.decision_function(X_new))
    answers = model.transform(X_new)
    assert answers.shape == (150, 9)
    np.testing.assert_array_equal(
        model.classes_[answers[:, 1]] == y_new, GaussianNB().fit(X, y).predict(X_new) == y_new
    )
    assert model.get_feature_names_out()[0] == "adaboostpoolclassifier_line"
    with pytest.raises(AttributeError, match="a member has no feature_importances_"):
        _ = model.feature_importances_


def test_rows_of_weight_zero_do_not_count():
    X, y = load_iris(return_X_y=True)
    weights = np.where(np.arange(150) % 3 == 0, 0.0, 1.0)
    model = AdaBoostPoolClassifier(trees(1, 2), weight_history=True).fit(X, y, sample_weight=weights)
    assert ((model.weight_history_ > 0) == (weights > 0)).all()
    rest = AdaBoostPoolClassifier(trees(1, 2)).fit(X[weights > 0], y[weights > 0])
    np.testing.assert_allclose(model.estimator_errors_, rest.estimator_errors_)


def test_the_report_reads_the_members_of_the_rounds(moons):
    X, X_new, y, y_new = moons
    model = AdaBoostPoolClassifier(mixed(), n_estimators=30).fit(X, y)
    report = analysis.report(model, X_new, y_new)
    assert len(report.predictions) == len(model.estimators_)
    assert report["ensemble error"] == pytest.approx(1 - model.score(X_new, y_new))


@pytest.mark.parametrize(
    ("pool", "options", "line"),
    [
        ([], {}, "estimators must be a list of (name, estimator) with at least one member, got []"),
        (trees(1), {"form": "x"}, "form must be one of 'odds', 'exponential', got 'x'"),
        (trees(1), {"n_estimators": 0}, "n_estimators must be a whole number from 1, got 0"),
        (
            trees(1),
            {"cv": "prefit"},
            "cv='prefit' takes fitted members, but 'depth1' is not fitted; fit it, or choose another cv",
        ),
    ],
)
def test_bad_parameters_are_one_line(pool, options, line):
    with pytest.raises(UsageError) as raised:
        AdaBoostPoolClassifier(pool, **options).fit([[0.0], [1.0]], [0, 1])
    assert str(raised.value) == line


def test_one_class_and_a_stranger_are_refused(moons):
    X, _, y, _ = moons
    with pytest.raises(UsageError, match=r"needs at least two classes in y, got one class, 'up'$"):
        AdaBoostPoolClassifier(trees(1)).fit([[0.0], [1.0]], ["up", "up"])
    fitted = [(name, tree.fit(X, y)) for name, tree in trees(1, 2)]
    with pytest.raises(UsageError, match="'left', which is not one of the classes"):
        AdaBoostPoolClassifier(fitted, cv="prefit").fit(X[:2], ["up", "left"])


def test_folds_may_be_a_splitter_with_groups(moons):
    X, _, y, _ = moons
    model = AdaBoostPoolClassifier(trees(1, 3), cv=KFold(3)).fit(X, y)
    assert model.chosen_[0] == "depth3"
    grouped = AdaBoostPoolClassifier(trees(1, 3), cv=3).fit(X, y, groups=np.arange(150) // 5)
    assert grouped.estimator_errors_[0] < 0.5
