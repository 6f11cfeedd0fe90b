import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris
from sklearn.linear_model import LogisticRegression

from depthforest import DepthForestError
from depthforest import ensemble as de

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")


def answers_of(model, X, **texts):
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    inputs = {"X": np.ascontiguousarray(X, dtype=np.float32), **texts}
    return dict(zip(names, session.run(names, inputs), strict=True))


def trees_of(estimator, columns):
    """Yield the trees of an estimator and of its members, and which columns of the table they see."""
    if hasattr(estimator, "estimators_features_"):
        for member, seen in zip(estimator.estimators_, estimator.estimators_features_, strict=True):
            yield from trees_of(member, columns[seen])
    elif hasattr(estimator, "trees_"):
        yield from ((tree, columns) for tree in estimator.trees_)
    elif hasattr(estimator, "tree_"):
        yield estimator.tree_, columns
    else:
        for member in estimator.estimators_:
            yield from trees_of(member, columns)


def on_thresholds(estimator, X, seed=0):
    """Return rows with values on thresholds, a hair beside them, and missing."""
    rng = np.random.default_rng(seed)
    more = np.repeat(X.astype(np.float32), 3, axis=0)
    for tree, columns in trees_of(estimator, np.arange(X.shape[1])):
        for node in np.flatnonzero((tree.feature >= 0) & (tree.mask < 0)):
            rows, value = rng.integers(0, len(more), 3), tree.threshold[node]
            more[rows, columns[tree.feature[node]]] = value, np.nextafter(value, np.inf), np.nextafter(value, -np.inf)
    more[rng.random(more.shape) < 0.02] = np.nan
    return more


def assert_same(estimator, X, **texts):
    found = answers_of(de.to_onnx(estimator), X, **texts)
    if not hasattr(estimator, "classes_"):
        np.testing.assert_array_equal(found["prediction"], estimator.predict(X))
        return
    np.testing.assert_array_equal(found["label"], estimator.predict(X))
    if hasattr(estimator, "predict_proba"):
        np.testing.assert_allclose(found["probabilities"], estimator.predict_proba(X), rtol=0, atol=1e-6)


CLASSIFIERS = {
    "tree": de.DecisionTreeClassifier(random_state=0),
    "stump of one leaf": de.DecisionTreeClassifier(min_samples_split=10_000),
    "extra tree": de.ExtraTreeClassifier(random_state=0, max_depth=5),
    "forest": de.RandomForestClassifier(n_estimators=9, random_state=0, min_samples_leaf=3),
    "extra trees": de.ExtraTreesClassifier(n_estimators=9, random_state=0, min_samples_leaf=2),
    "gradient boosting": de.GradientBoostingClassifier(n_estimators=6, random_state=0),
    "newton boosting": de.NewtonBoostingClassifier(n_estimators=6, random_state=0),
}

REGRESSORS = {
    "tree": de.DecisionTreeRegressor(random_state=0),
    "extra tree": de.ExtraTreeRegressor(random_state=0),
    "forest": de.RandomForestRegressor(n_estimators=9, random_state=0),
    "extra trees": de.ExtraTreesRegressor(n_estimators=9, random_state=0),
    "gradient boosting": de.GradientBoostingRegressor(n_estimators=12, random_state=0),
    "absolute error": de.GradientBoostingRegressor(n_estimators=6, loss="absolute_error", random_state=0),
    "newton boosting": de.NewtonBoostingRegressor(n_estimators=12, random_state=0),
}


@pytest.mark.parametrize("load", [load_iris, load_breast_cancer, load_digits], ids=lambda f: f.__name__)
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifiers_decide_alike_on_every_row(name, load):
    X, y = load(return_X_y=True)
    estimator = CLASSIFIERS[name].fit(X[::2], y[::2])
    assert_same(estimator, on_thresholds(estimator, X))


@pytest.mark.parametrize("name", REGRESSORS)
def test_regressors_predict_the_same_doubles(name):
    X, y = load_diabetes(return_X_y=True)
    estimator = REGRESSORS[name].fit(X[::2], y[::2])
    assert_same(estimator, on_thresholds(estimator, X))


@pytest.mark.parametrize("loss", ["exponential", "hinge", "perceptron"])
def test_losses_of_two_classes(loss):
    X, y = load_breast_cancer(return_X_y=True)
    estimator = de.GradientBoostingClassifier(n_estimators=5, loss=loss, random_state=0).fit(X, y == 1)
    assert_same(estimator, on_thresholds(estimator, X))
    assert ("probabilities" in answers_of(de.to_onnx(estimator), X)) == (loss == "exponential")


def ensembles_of(y_kind):
    tree, forest = de.DecisionTreeClassifier(max_depth=4), de.RandomForestClassifier(n_estimators=3, random_state=0)
    boosted = de.NewtonBoostingClassifier(n_estimators=3)
    members = [("a", tree), ("b", forest), ("c", boosted)]
    return {
        "adaboost": de.AdaBoostClassifier(n_estimators=10, random_state=0),
        "adaboost of trees": de.AdaBoostClassifier(tree, n_estimators=5, random_state=0, resample=True),
        "bagging": de.BaggingClassifier(n_estimators=5, random_state=0),
        "few rows": de.BaggingClassifier(n_estimators=6, max_samples=4, random_state=0),
        "subspaces of boosting": de.RandomSubspaceClassifier(boosted, n_estimators=4, random_state=0),
        "bagged hinge": de.BaggingClassifier(
            de.GradientBoostingClassifier(n_estimators=2, loss="hinge"), n_estimators=3, random_state=0
        ),
        "hard": de.VotingClassifier(members),
        "soft": de.VotingClassifier(members, voting="soft", weights=[3, 1, 2]),
        "confidence": de.VotingClassifier(members, voting="confidence"),
        "of ensembles": de.VotingClassifier(
            [("a", de.BaggingClassifier(tree, n_estimators=2, random_state=0)), ("b", de.AdaBoostClassifier())]
        ),
    }[y_kind]


@pytest.mark.parametrize(
    "name",
    ["adaboost", "adaboost of trees", "bagging", "few rows", "subspaces of boosting", "bagged hinge", "hard", "soft",
     "confidence", "of ensembles"],
)  # fmt: skip
@pytest.mark.parametrize("load", [load_iris, load_breast_cancer], ids=lambda f: f.__name__)
def test_ensembles_of_ensembles(name, load):
    X, y = load(return_X_y=True)
    if name == "bagged hinge" and len(np.unique(y)) > 2:
        y = np.minimum(y, 1)
    names = np.array(["one", "two", "three"])
    estimator = ensembles_of(name).fit(X[::2], names[y[::2]])
    rng = np.random.default_rng(0)
    assert_same(estimator, on_thresholds(estimator, X))
    assert_same(estimator, (X + rng.normal(0, X.std(axis=0), X.shape)).astype(np.float32))


@pytest.mark.parametrize(
    "estimator",
    [
        de.AdaBoostRegressor(n_estimators=7, random_state=0),
        de.BaggingRegressor(n_estimators=5, random_state=0),
        de.RandomSubspaceRegressor(n_estimators=5, random_state=0),
    ],
    ids=lambda e: type(e).__name__,
)
def test_ensembles_of_regressors(estimator):
    X, y = load_diabetes(return_X_y=True)
    assert_same(estimator.fit(X, y), on_thresholds(estimator, X))


def test_averages_of_regressors_agree_to_the_last_digits():
    X, y = load_diabetes(return_X_y=True)
    members = [("a", de.DecisionTreeRegressor(max_depth=3)), ("b", de.NewtonBoostingRegressor(n_estimators=4))]
    for estimator in (de.AveragingRegressor(members, weights=[1, 3]), de.VotingRegressor(members)):
        found = answers_of(de.to_onnx(estimator.fit(X, y)), X)["prediction"]
        np.testing.assert_allclose(found, estimator.predict(X.astype(np.float32)), rtol=1e-14)


def test_lambdamart():
    rng = np.random.default_rng(0)
    X, qid = rng.normal(size=(200, 5)), np.repeat(np.arange(20), 10)
    y = np.clip(X[:, 0] + rng.normal(size=200), 0, 2).astype(int)
    estimator = de.LambdaMART(n_estimators=8, random_state=0).fit(X, y, qid=qid)
    assert_same(estimator, on_thresholds(estimator, X))
    estimator.fit(X, y, qid=qid, base_scores=np.zeros(200))
    with pytest.raises(DepthForestError, match="base_scores cannot be exported"):
        de.to_onnx(estimator)


def categories_table(seed=0, n=400):
    rng = np.random.default_rng(seed)
    X = np.stack([rng.normal(size=n), rng.integers(0, 12, n) * 3.5 - 7, rng.normal(size=n)], axis=1)
    X[rng.random(X.shape) < 0.1] = np.nan
    y = (np.nan_to_num(X[:, 0]) + np.sin(np.nan_to_num(X[:, 1])) > 0.2).astype(int) + (X[:, 2] > 1)
    return X, y


@pytest.mark.parametrize(
    "estimator",
    [
        de.DecisionTreeClassifier(categorical_features=[1]),
        de.RandomForestClassifier(n_estimators=5, categorical_features=[1], random_state=0),
        de.NewtonBoostingClassifier(n_estimators=5, categorical_features=[1]),
        de.BaggingClassifier(
            de.DecisionTreeClassifier(categorical_features=[1]), n_estimators=3, random_state=0, max_samples=40
        ),
    ],
    ids=lambda e: type(e).__name__,
)
def test_categories_and_missing_values(estimator):
    X, y = categories_table()
    estimator.fit(X[:200], y[:200])
    X[::7, 1] = 99.5  # a category that was not there
    assert_same(estimator, X.astype(np.float32))


def test_several_targets_in_bagging_are_refused():
    X = np.random.default_rng(0).normal(size=(40, 2))
    for kind in (de.BaggingClassifier, de.BaggingRegressor):
        with pytest.raises(DepthForestError, match="takes one target per row, got 2: fit one for each column"):
            de.to_onnx(kind(n_estimators=2, random_state=0).fit(X, (X > 0).astype(int)))


def test_the_rarest_of_many_categories_stay_together():
    rng = np.random.default_rng(0)
    X = np.stack((rng.normal(size=2000), np.arange(2000) % 300 * 3), axis=1)
    y = (rng.random(300)[np.arange(2000) % 300] + 0.1 * X[:, 0] > 0.5).astype(int)
    forest = de.RandomForestClassifier(n_estimators=3, categorical_features=[1], random_state=0).fit(X, y)
    assert_same(forest, X.astype(np.float32))


def test_text_categories_are_inputs_of_their_own():
    pandas = pytest.importorskip("pandas")
    X, y = categories_table()
    colors = np.array(["red", "green", "blue", "ünlü"])[np.nan_to_num(X[:, 1]).astype(int) % 4]
    frame = pandas.DataFrame({"size": X[:, 0], "color": pandas.Categorical(colors), "weight": X[:, 2]})
    estimator = de.RandomForestClassifier(n_estimators=5, categorical_features="from_dtype", random_state=0)
    estimator.fit(frame[:200], y[:200])
    assert any((tree.mask >= 0).any() for tree in estimator.trees_)
    model = de.to_onnx(estimator)
    assert [value.name for value in model.graph.input] == ["X", "X_color"]
    X[:, 1] = np.nan
    found = answers_of(model, X, X_color=colors.astype(object)[:, None])
    np.testing.assert_array_equal(found["label"], estimator.predict(frame.astype({"size": "f4", "weight": "f4"})))
    found = answers_of(model, X, X_color=np.full((len(X), 1), "unheard of", dtype=object))
    frame["color"] = pandas.Categorical([None] * len(frame), categories=["red"])
    np.testing.assert_array_equal(found["label"], estimator.predict(frame.astype({"size": "f4", "weight": "f4"})))


def test_model_is_written_and_sound(tmp_path):
    X, y = load_iris(return_X_y=True)
    estimator = de.DecisionTreeClassifier().fit(X, y)
    model = de.to_onnx(estimator, tmp_path / "tree.onnx")
    assert onnx.load(tmp_path / "tree.onnx") == model
    onnx.checker.check_model(model, full_check=True)


class Stranger(LogisticRegression):
    """A member of the user's own."""


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (Stranger(), "Stranger cannot be exported"),
        (de.BaggingClassifier(Stranger(), n_estimators=2), "Stranger cannot be exported"),
        (de.VotingClassifier([("a", de.DecisionTreeClassifier())], reject_label=-1), "reject_label cannot be exported"),
        (de.StackingClassifier([("a", de.DecisionTreeClassifier())]), "StackingClassifier cannot be exported"),
    ],
    ids=["own", "own member", "rejects", "stacking"],
)
@pytest.mark.filterwarnings("ignore")
def test_what_cannot_be_exported_is_named_in_one_line(estimator, message, tmp_path):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(DepthForestError, match=message) as caught:
        de.to_onnx(estimator.fit(X, y), tmp_path / "no.onnx")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "no.onnx").exists()
    with pytest.raises(DepthForestError, match="int cannot be exported"):
        de.to_onnx(3)


def test_classes_of_other_types_are_refused():
    X, y = load_iris(return_X_y=True)
    estimator = de.DecisionTreeClassifier().fit(X, y == 1)
    assert answers_of(de.to_onnx(estimator), X)["label"].dtype == bool
    estimator.classes_ = np.array([None, 3], dtype=object)
    with pytest.raises(DepthForestError, match="numbers or text"):
        de.to_onnx(estimator)


def test_logarithms_become_numbers():
    X, y = load_diabetes(return_X_y=True)
    estimator = de.NewtonBoostingRegressor(loss="poisson", n_estimators=5).fit(X, y)
    X = X.astype(np.float32)
    answers = answers_of(de.to_onnx(estimator), X)
    np.testing.assert_allclose(answers["prediction"], estimator.predict(X), rtol=1e-14)
