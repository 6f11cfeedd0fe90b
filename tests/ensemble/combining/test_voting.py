import joblib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_classification
from sklearn.ensemble import VotingClassifier as SklearnVoting
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks
from support import naive_combining as naive
from support.scripted import Scripted, Voter, row_numbers

from depthforest.base.errors import UsageError
from depthforest.ensemble.combining.voting import VotingClassifier

KINDS = ["hard", "soft", "confidence"]


def _trees():
    return [(f"tree{i}", DecisionTreeClassifier(max_depth=i + 1, max_features=2, random_state=i)) for i in range(3)]


@pytest.fixture(scope="module")
def blobs():
    X, y = make_classification(n_samples=120, n_features=6, n_informative=4, n_classes=3, random_state=0)
    return X, np.array(["ant", "bee", "cat"])[y]


def _two():
    return [(f"tree{i}", DecisionTreeClassifier(max_depth=3, random_state=i)) for i in range(2)]


@parametrize_with_checks([VotingClassifier(_two()), VotingClassifier(_two(), voting="soft", weights="fitted", cv=2)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [
        VotingClassifier(_two(), voting="soft"),
        VotingClassifier(_two(), voting="confidence"),
        VotingClassifier(_two(), weights=[2, 1]),
        VotingClassifier(_two(), weights="validation", cv=2),
        VotingClassifier(_two(), weights="fitted", voting="confidence", cv=2),
    ]
)
def test_scikit_learn_checks_of_every_kind(estimator, check):
    check(estimator)


# ---------------------------------------------------------------------- the rules, against their twins


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 100_000), st.sampled_from(KINDS), st.integers(2, 4), st.integers(1, 5), st.booleans())
def test_votes_weighted_votes_rejects_and_instance_weights_are_the_naive_ones(
    seed, voting, n_classes, n_members, rejects
):
    rng = np.random.default_rng(seed)
    n = 12
    classes = ["ant", "bee", "cat", "dog"][:n_classes]
    # quarters: ties are common
    parts = rng.multinomial(4, np.full(n_classes, 1 / n_classes), size=(n_members, n)) / 4
    weights = rng.integers(0, 3, n_members)
    weights[0] = 1
    members = [(f"m{i}", Scripted(p, classes)) for i, p in enumerate(parts)]
    mark = "none" if rejects else None
    majority = float(rng.choice([0.25, 0.5, 2 / 3]))
    model = VotingClassifier(members, voting=voting, weights=weights, reject_label=mark, majority=majority, cv="prefit")
    X = row_numbers(n)
    model.fit(X, np.array(classes)[rng.integers(n_classes, size=n)])
    answers = parts.argmax(axis=2).tolist() if voting == "hard" else parts.tolist()
    ref = naive.shares(answers, weights.tolist(), n_classes, voting)
    np.testing.assert_allclose(model.vote_shares(X), ref, atol=1e-11)
    assert model.predict(X).tolist() == naive.labels(ref, classes, mark, majority)


def test_half_of_the_votes_is_no_majority():
    votes = [[0, 0, 0], [0, 1, 0], [1, 1, 0], [1, 1, 1], [1, 1, 1], [0, 0, 0]]  # six members, three rows
    members = [(f"m{i}", Voter(v, [0, 1])) for i, v in enumerate(votes)]
    X = row_numbers(3)
    model = VotingClassifier(members, reject_label=-1, cv="prefit").fit(X, [0, 1, 0])
    assert model.predict(X).tolist() == [-1, 1, 0]
    assert VotingClassifier(members, cv="prefit").fit(X, [0, 1, 0]).predict(X).tolist() == [0, 1, 0]  # off by default
    assert model.set_params(majority=0.7).predict(X).tolist() == [-1, -1, -1]


def test_confidence_lets_a_sure_member_outvote_two_unsure_ones():
    members = [
        ("sure", Scripted([[1.0, 0.0]], ["a", "b"])),
        ("unsure", Scripted([[0.45, 0.55]], ["a", "b"])),
        ("wavering", Scripted([[0.46, 0.54]], ["a", "b"])),
    ]
    X = row_numbers(1)
    hard = VotingClassifier(members, weights=[1.1, 1, 1], cv="prefit").fit(X, ["a"])
    assert hard.predict(X).tolist() == ["b"]
    sure = VotingClassifier(members, voting="confidence", weights=[1.1, 1, 1], cv="prefit").fit(X, ["a"])
    assert sure.predict(X).tolist() == ["a"]
    np.testing.assert_allclose(sure.vote_shares(X), [[1.1 / 2.19, 1.09 / 2.19]], atol=1e-11)


def test_the_confidence_of_a_tree_is_the_purity_of_its_leaf(blobs):
    X, y = blobs
    model = VotingClassifier(_trees(), voting="confidence").fit(X, y)
    shares = np.zeros((len(X), 3))
    for tree in model.estimators_:
        leaves = tree.apply(X)
        purity = tree.tree_.value[leaves, 0].max(axis=1)
        shares[np.arange(len(X)), tree.predict(X)] += purity
    np.testing.assert_allclose(model.vote_shares(X), shares / shares.sum(axis=1, keepdims=True), atol=1e-11)


@pytest.mark.parametrize("weights", [None, [3, 1, 2]])
@pytest.mark.parametrize("voting", ["hard", "soft"])
def test_same_as_scikit_learn_where_it_has_the_rule(blobs, voting, weights):
    X, y = blobs
    ours = VotingClassifier(_trees(), voting=voting, weights=weights).fit(X, y)
    theirs = SklearnVoting(_trees(), voting=voting, weights=weights).fit(X, y)
    assert (ours.predict(X) == theirs.predict(X)).all()
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X))
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()
    if voting == "soft":
        np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-11)


# ---------------------------------------------------------------------- weights that are found


def test_pre_fitted_members_get_weights_from_the_rows_of_fit():
    rng = np.random.default_rng(0)
    n = 400
    y = rng.integers(2, size=n)
    wrong = rng.random(n) < 0.2
    twin = np.where(wrong, 1 - y, y)
    other = np.where(rng.random(n) < 0.2, 1 - y, y)
    guess = rng.integers(2, size=n)
    members = [("twin1", twin), ("twin2", twin), ("other", other), ("guess", guess)]
    members = [(name, Voter(v, [0, 1])) for name, v in members]
    X = row_numbers(n)
    by_accuracy = VotingClassifier(members, weights="validation", cv="prefit").fit(X, y).weights_
    p = [(np.sum(v == y) + 1) / (n + 2) for v in (twin, twin, other, guess)]
    odds = np.maximum(np.log(np.array(p) / (1 - np.array(p))), 0)
    np.testing.assert_allclose(by_accuracy, odds / odds.sum())
    fitted = VotingClassifier(members, weights="fitted", cv="prefit").fit(X, y).weights_
    assert fitted[0] == pytest.approx(fitted[1], abs=1e-4)
    assert fitted[2] > 1.5 * fitted[0]  # the twins share
    assert fitted[3] < 0.2


def test_weights_are_found_out_of_fold():
    # a member that knows its training rows by heart, and a stump that is better on others
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(200, 2)), rng.integers(2, size=200)
    X[:, 1] += y  # a weak signal, which the stump can use
    members = [("heart", KNeighborsClassifier(1)), ("stump", DecisionTreeClassifier(max_depth=1))]
    model = VotingClassifier(members, weights="fitted").fit(X, y)
    assert model.estimators_[0].score(X, y) == 1
    assert model.weights_[1] > 0.6
    cheated = VotingClassifier(list(model.named_estimators_.items()), weights="fitted", cv="prefit").fit(X, y)
    assert cheated.weights_[0] > 0.99


@pytest.mark.parametrize("weights", ["validation", "fitted"])
def test_sample_weights_reach_members_and_their_weights(blobs, weights):
    X, y = blobs
    sw = (y != "cat").astype(float) + 0.01
    folds = list(StratifiedKFold(3).split(X, y))
    model = VotingClassifier(_trees(), voting="soft", weights=weights, cv=folds).fit(X, y, sample_weight=sw)
    plain = VotingClassifier(_trees(), voting="soft", weights=weights, cv=folds).fit(X, y)
    assert not np.allclose(model.weights_, plain.weights_)
    codes = np.searchsorted(model.classes_, y)
    tree = DecisionTreeClassifier(max_depth=1, max_features=2, random_state=0).fit(X, codes, sample_weight=sw)
    np.testing.assert_array_equal(model.estimators_[0].predict_proba(X), tree.predict_proba(X))


def test_any_number_of_jobs_gives_the_same(blobs):
    X, y = blobs
    one = VotingClassifier(_trees(), voting="soft", weights="fitted", cv=3).fit(X, y)
    two = VotingClassifier(_trees(), voting="soft", weights="fitted", cv=3, n_jobs=2)
    with joblib.parallel_config("threading"):
        two.fit(X, y)
    np.testing.assert_array_equal(one.weights_, two.weights_)
    np.testing.assert_array_equal(one.vote_shares(X), two.vote_shares(X))


# ---------------------------------------------------------------------- rejecting


def test_the_reject_curve_gives_what_its_majorities_predict(blobs):
    X, y = blobs
    model = VotingClassifier(_trees(), voting="soft", reject_label="none").fit(X[::2], y[::2])
    curve = model.reject_curve(X[1::2], y[1::2])
    assert len(curve.majority) > 5
    for majority, rejected, accuracy in zip(curve.majority, curve.rejected, curve.accuracy, strict=True):
        said = model.set_params(majority=majority).predict(X[1::2])
        assert np.mean(said == "none") == pytest.approx(rejected)
        assert np.mean(said[said != "none"] == y[1::2][said != "none"]) == pytest.approx(accuracy)
    # `score` counts what is rejected as wrong
    model.set_params(majority=0.5)
    said = model.predict(X[1::2])
    assert model.score(X[1::2], y[1::2]) == np.mean(said == y[1::2])


def test_reject_curves_take_sample_weights(blobs):
    X, y = blobs
    model = VotingClassifier(_trees()).fit(X, y)
    times = np.arange(len(X)) % 3
    weighted = model.reject_curve(X, y, sample_weight=times)
    repeated = model.reject_curve(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(weighted.accuracy, repeated.accuracy)
    np.testing.assert_allclose(weighted.rejected, repeated.rejected, atol=1e-12)


# ---------------------------------------------------------------------- scikit-learn's ways


def test_grid_search_pipelines_and_scores(blobs):
    X, y = blobs
    grid = {"vote__tree0__max_depth": [1, 4], "vote__tree1": ["drop", GaussianNB()], "vote__voting": ["hard", "soft"]}
    pipe = make_pipeline(StandardScaler())
    pipe.steps.append(("vote", VotingClassifier(_trees())))
    search = GridSearchCV(pipe, grid, cv=2).fit(X, y)
    assert search.best_score_ > 0.5
    assert set(search.best_params_) == set(grid)
    assert cross_val_score(VotingClassifier(_trees()), X, y, cv=3).shape == (3,)


@pytest.mark.parametrize("voting", KINDS)
def test_frames_in_and_out(blobs, voting):
    pd = pytest.importorskip("pandas")
    X, y = blobs
    frame = pd.DataFrame(X, columns=list("abcdef"), index=np.arange(len(X)) + 7)
    model = VotingClassifier(_trees(), voting=voting, weights="fitted").fit(frame, pd.Series(y))
    assert model.feature_names_in_.tolist() == list("abcdef")
    assert model.estimators_[0].feature_names_in_.tolist() == list("abcdef")
    plain = VotingClassifier(_trees(), voting=voting, weights="fitted").fit(X, y)
    assert (model.predict(frame) == plain.predict(X)).all()
    out = model.set_output(transform="pandas").transform(frame)
    assert out.columns.tolist() == model.get_feature_names_out().tolist()
    assert out.index.tolist() == frame.index.tolist()
    np.testing.assert_allclose(out, plain.transform(X))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame.rename(columns={"a": "z"}))


def test_transform_of_probabilities_may_stay_a_block(blobs):
    X, y = blobs
    model = VotingClassifier(_trees(), voting="soft", flatten_transform=False).fit(X, y)
    assert model.transform(X).shape == (3, len(X), 3)
    np.testing.assert_allclose(model.transform(X).mean(axis=0), model.predict_proba(X), atol=1e-11)
    with pytest.raises(UsageError, match="flatten_transform=False has no columns to name"):
        model.get_feature_names_out()


def test_members_of_other_libraries(blobs):
    lightgbm = pytest.importorskip("lightgbm")
    xgboost = pytest.importorskip("xgboost")
    pd = pytest.importorskip("pandas")
    X, y = blobs
    X = pd.DataFrame(X, columns=list("abcdef"))
    members = [
        ("lgbm", lightgbm.LGBMClassifier(n_estimators=3, verbose=-1, n_jobs=1)),
        ("xgb", xgboost.XGBClassifier(n_estimators=3, n_jobs=1)),
        ("tree", DecisionTreeClassifier(random_state=0)),
    ]
    for voting in KINDS:
        model = VotingClassifier(members, voting=voting, weights="fitted", cv=2).fit(X, y)
        assert model.weights_.sum() == pytest.approx(1)
        assert model.score(X, y) > 0.8


# ---------------------------------------------------------------------- bad input


@pytest.mark.parametrize("voting", ["soft", "confidence"])
def test_members_without_probabilities_are_named(blobs, voting):
    members = [("line", RidgeClassifier()), ("tree", DecisionTreeClassifier()), ("voter", Voter([0], [0, 1]))]
    message = (
        rf"voting='{voting}' needs members with predict_proba, which these lack: 'line' \(RidgeClassifier\),"
        r" 'voter' \(Voter\); use voting='hard' or other members"
    )
    with pytest.raises(UsageError, match=message):
        VotingClassifier(members, voting=voting).fit(*blobs)


@pytest.mark.parametrize("voting", ["hard", "confidence"])
def test_votes_are_no_probabilities(blobs, voting):
    model = VotingClassifier(_trees(), voting=voting).fit(*blobs)
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError, match=f"voting='{voting}' counts votes, which are not probabilities"):
        model.predict_proba(blobs[0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"voting": "loud"}, "voting must be one of 'hard', 'soft', 'confidence', got 'loud'"),
        ({"weights": [1, 2]}, "weights must be one for each of the 3 members"),
        ({"weights": [1, 2, -1]}, "weights must be finite and not negative"),
        ({"weights": [0, 0, 0]}, "weights must add up to more than 0"),
        ({"weights": "best"}, "weights must be None, numbers, 'validation' or 'fitted', got 'best'"),
        ({"reject_label": 0}, r"reject_label must be of the classes' type \(such as 'ant'\), got 0"),
        ({"reject_label": "bee"}, "reject_label must not be one of the classes, got 'bee'"),
        ({"majority": 1.0}, "majority must be a share of the votes"),
        ({"n_jobs": 0}, "n_jobs must be None or a whole number other than 0"),
        ({"weights": "fitted", "cv": 1}, "cv must be at least 2 folds, got 1"),
    ],
)
def test_options_that_cannot_be(blobs, options, message):
    with pytest.raises(UsageError, match=message):
        VotingClassifier(_trees(), **options).fit(*blobs)


def test_a_member_that_votes_for_no_class_is_named():
    members = [("inner", Voter(["a", "?"], ["a", "b"])), ("other", Voter(["a", "b"], ["a", "b"]))]
    model = VotingClassifier(members, cv="prefit").fit(row_numbers(2), ["a", "b"])
    with pytest.raises(UsageError, match="member 'inner' voted for '\\?', which is not one of the classes"):
        model.predict(row_numbers(2))


def test_probabilities_of_a_wrong_shape_are_named():
    members = [("odd", Scripted([[0.5, 0.3, 0.2]] * 2, ["a", "b"]))]
    model = VotingClassifier(members, voting="soft", cv="prefit").fit(row_numbers(2), ["a", "b"])
    with pytest.raises(
        UsageError, match=r"member 'odd' must return probabilities of shape \(n, 2\), got shape \(2, 3\)"
    ):
        model.predict(row_numbers(2))
