import joblib
import numpy as np
import pytest
from sklearn.datasets import make_regression
from sklearn.ensemble import VotingRegressor as SklearnVoting
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, cross_val_predict
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks
from support.scripted import Guess, row_numbers

from depthforest.base.errors import UsageError
from depthforest.ensemble.combining.averaging import AveragingRegressor
from depthforest.ensemble.combining.weighting import error_weights, least_squares_weights


def _trees():
    return [(f"tree{i}", DecisionTreeRegressor(max_depth=i + 1, random_state=i)) for i in range(3)]


def _two():
    return [(f"tree{i}", DecisionTreeRegressor(max_depth=3, random_state=i)) for i in range(2)]


@pytest.fixture(scope="module")
def line():
    return make_regression(n_samples=90, n_features=4, noise=20.0, random_state=0)


@parametrize_with_checks([AveragingRegressor(_two(), weights="fitted", cv=2)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [
        AveragingRegressor(_two()),
        AveragingRegressor(_two(), weights=[2, 1]),
        AveragingRegressor(_two(), weights="validation", cv=2),
    ]
)
def test_scikit_learn_checks_of_every_kind(estimator, check):
    check(estimator)


@pytest.mark.parametrize("weights", [None, [3, 1, 2], [0, 1, 0]])
def test_the_mean_is_the_naive_one_and_scikit_learns(line, weights):
    X, y = line
    model = AveragingRegressor(_trees(), weights=weights).fit(X, y)
    members = [tree.fit(X, y).predict(X) for _, tree in _trees()]
    shares = [1, 1, 1] if weights is None else weights
    ref = [sum(w * m[i] for w, m in zip(shares, members, strict=True)) / sum(shares) for i in range(len(X))]
    np.testing.assert_allclose(model.predict(X), ref)
    theirs = SklearnVoting(_trees(), weights=weights).fit(X, y)
    np.testing.assert_allclose(model.predict(X), theirs.predict(X))
    np.testing.assert_allclose(model.transform(X), theirs.transform(X))


@pytest.mark.parametrize(("word", "find"), [("validation", error_weights), ("fitted", least_squares_weights)])
def test_weights_are_found_by_out_of_fold_errors(line, word, find):
    X, y = line
    sw = np.linspace(0.5, 2, len(X))
    model = AveragingRegressor(_trees(), weights=word, cv=3).fit(X, y, sample_weight=sw)
    held_out = [cross_val_predict(tree, X, y, cv=3, params={"sample_weight": sw}) for _, tree in _trees()]
    ref = find(np.stack(held_out, axis=1) - y[:, None], sw)
    np.testing.assert_allclose(model.weights_, ref)
    np.testing.assert_allclose(model.predict(X), model.transform(X) @ ref)
    assert ref.min() >= 0
    assert ref.sum() == pytest.approx(1)


def test_pre_fitted_members_get_weights_from_the_rows_of_fit():
    y = np.array([1.0, 2.0, 3.0, 4.0])
    members = [("over", Guess(y + 1)), ("under", Guess(y - 3)), ("drop me", Guess(y * 100))]
    model = AveragingRegressor(members, weights="fitted", cv="prefit").fit(row_numbers(4), y)
    np.testing.assert_allclose(model.weights_, [0.75, 0.25, 0.0], atol=1e-5)  # 0.75 * 1 - 0.25 * 3 = 0
    np.testing.assert_allclose(model.predict(row_numbers(4)), y, atol=1e-4)
    by_error = AveragingRegressor(members[:2], weights="validation", cv="prefit").fit(row_numbers(4), y)
    np.testing.assert_allclose(by_error.weights_, [0.9, 0.1])  # 1 / 1 against 1 / 9


def test_groups_reach_the_folds():
    # rows come in pairs of copies; a member that knows them by heart must not gain by the copies
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(60, 2)), 2, axis=0)
    y = np.repeat(rng.normal(size=60), 2)
    groups = np.repeat(np.arange(60), 2)
    members = [("heart", KNeighborsRegressor(1)), ("plain", DecisionTreeRegressor(max_depth=1, random_state=0))]
    shuffled = KFold(5, shuffle=True, random_state=0)
    leaking = AveragingRegressor(members, weights="fitted", cv=shuffled).fit(X, y)
    grouped = AveragingRegressor(members, weights="fitted", cv=5).fit(X, y, groups=groups)
    named = AveragingRegressor(members, weights="fitted", cv=GroupKFold(5)).fit(X, y, groups=groups)
    assert leaking.weights_[0] > 0.6
    assert grouped.weights_[0] < 0.4
    np.testing.assert_array_equal(grouped.weights_, named.weights_)
    with (
        pytest.raises(UsageError, match="cv leaks: fold 0 trains on group"),
        pytest.warns(UserWarning, match="ignored"),
    ):
        AveragingRegressor(members, weights="fitted", cv=shuffled).fit(X, y, groups=groups)


def test_any_number_of_jobs_gives_the_same(line):
    X, y = line
    one = AveragingRegressor(_trees(), weights="fitted", cv=3).fit(X, y)
    with joblib.parallel_config("threading"):
        two = AveragingRegressor(_trees(), weights="fitted", cv=3, n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(one.weights_, two.weights_)


def test_grid_search_and_frames(line):
    pd = pytest.importorskip("pandas")
    X, y = line
    frame = pd.DataFrame(X, columns=list("abcd"))
    grid = {"tree0__max_depth": [1, 3], "weights": [None, "fitted"], "tree2": ["drop", LinearRegression()]}
    search = GridSearchCV(AveragingRegressor(_trees(), cv=2), grid, cv=2).fit(frame, pd.Series(y))
    assert search.best_params_["tree2"] != "drop"
    best = search.best_estimator_
    assert best.feature_names_in_.tolist() == list("abcd")
    out = best.set_output(transform="pandas").transform(frame)
    assert out.columns.tolist() == [f"averagingregressor_tree{i}" for i in range(3)]
    np.testing.assert_allclose(best.predict(frame), out @ best.weights_)


def test_members_of_other_libraries(line):
    lightgbm = pytest.importorskip("lightgbm")
    xgboost = pytest.importorskip("xgboost")
    X, y = line
    members = [
        ("lgbm", lightgbm.LGBMRegressor(n_estimators=5, verbose=-1, n_jobs=1)),
        ("xgb", xgboost.XGBRegressor(n_estimators=5, n_jobs=1)),
        ("line", Ridge()),
    ]
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame(X, columns=list("abcd"))
    model = AveragingRegressor(members, weights="fitted", cv=3).fit(X, y)
    assert model.weights_.argmax() == 2  # the data are a line
    assert model.score(X, y) > 0.8


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weights": [1, 2]}, "weights must be one for each of the 3 members"),
        ({"weights": [1, -2, 1]}, "weights must be finite and not negative"),
        ({"weights": [0, 0, 0]}, "weights must add up to more than 0"),
        ({"weights": "best"}, "weights must be None, numbers, 'validation' or 'fitted', got 'best'"),
        ({"weights": "fitted", "cv": 91}, "cv=91 folds need at least as many rows, got n_samples=90"),
        ({"cv": "prefit"}, "cv='prefit' takes fitted members, but 'tree0' is not fitted; fit it, or choose another cv"),
    ],
)
def test_options_that_cannot_be(line, options, message):
    with pytest.raises(UsageError, match=message):
        AveragingRegressor(_trees(), **options).fit(*line)


def test_a_classifier_is_no_member(line):
    members = [*_trees(), ("odd", DecisionTreeClassifier())]
    with pytest.raises(UsageError, match="member 'odd' must be a regressor, got DecisionTreeClassifier"):
        AveragingRegressor(members).fit(*line)


def test_one_target_a_row(line):
    X, y = line
    with pytest.raises(UsageError, match=r"AveragingRegressor takes one target per row, got y of shape \(90, 2\)"):
        AveragingRegressor(_trees()).fit(X, np.stack([y, y], axis=1))
