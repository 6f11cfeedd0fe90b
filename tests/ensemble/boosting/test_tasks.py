"""What boosted ensembles predict: classes, probabilities, stages, leaves, members; and with whom they work."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from depthforest.base.errors import UsageError
from depthforest.ensemble import (
    DecisionTreeRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    NewtonBoostingClassifier,
    NewtonBoostingRegressor,
)

CLASSIFIERS = [GradientBoostingClassifier, NewtonBoostingClassifier]
REGRESSORS = [GradientBoostingRegressor, NewtonBoostingRegressor]


def make_rows(n=120, seed=0, cuts=(0.3, 0.7)):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 4)).astype(np.float32)
    signal = 2 * x[:, 0] + x[:, 1] * x[:, 2] + rng.normal(size=n) / 3
    return x, signal, np.digitize(signal, np.quantile(signal, cuts))


# -- classes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", CLASSIFIERS)
@pytest.mark.parametrize("names", [["a", "b"], ["low", "mid", "top"], [-3, 7], [True, False]], ids=str)
def test_labels_of_any_kind(kind, names):
    x, signal, _ = make_rows()
    codes = np.digitize(signal, np.quantile(signal, np.linspace(0, 1, len(names) + 1)[1:-1]))
    y = np.array(names)[codes]
    model = kind(n_estimators=15, min_samples_leaf=1).fit(x, y)
    assert_array_equal(model.classes_, np.unique(y))
    assert model.score(x, y) > 0.85
    assert_array_equal(model.predict(x), model.classes_[model.predict_proba(x).argmax(axis=1)])
    assert model.predict(x).dtype == y.dtype


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_probabilities_follow_from_raw_values(kind):
    x, _, y = make_rows()
    model = kind(n_estimators=5).fit(x, y)
    raw = model.decision_function(x)
    assert raw.shape == (120, 3)
    e = np.exp(raw - raw.max(axis=1, keepdims=True))
    assert_allclose(model.predict_proba(x), e / e.sum(axis=1, keepdims=True))
    assert_allclose(model.predict_log_proba(x), np.log(model.predict_proba(x)))
    two = kind(n_estimators=5).fit(x, y > 0)
    raw = two.decision_function(x)
    assert raw.shape == (120,)
    assert_allclose(two.predict_proba(x)[:, 1], 1 / (1 + np.exp(-raw)))
    assert_array_equal(two.predict(x), raw > 0)
    half = kind(n_estimators=5, loss="exponential").fit(x, y > 0)
    assert_allclose(half.predict_proba(x)[:, 1], 1 / (1 + np.exp(-2 * half.decision_function(x))))


@pytest.mark.parametrize("loss", ["hinge", "perceptron"])
def test_losses_without_probabilities(loss):
    x, _, y = make_rows()
    model = GradientBoostingClassifier(n_estimators=30, loss=loss, learning_rate=0.3)
    for _ in range(2):
        for method in ("predict_proba", "predict_log_proba", "staged_predict_proba"):
            assert not hasattr(model, method)
        model.fit(x, y > 0)
    assert model.score(x, y > 0) > 0.9
    with pytest.raises(AttributeError) as error:
        model.predict_proba(x)
    assert f"loss '{loss}' has no probabilities: use decision_function" in str(error.value.__cause__ or error.value)


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_two_classes_by_the_multinomial_loss(kind):
    """A tree for each class; by symmetry their raw values are each other's opposite."""
    x, _, y = make_rows()
    model = kind(n_estimators=10, loss="multinomial", min_samples_leaf=1).fit(x, y > 0)
    assert model.estimators_.shape == (10, 2)
    raw = model.decision_function(x)
    assert raw.shape == (120, 2)
    assert_allclose(raw[:, 0], -raw[:, 1], atol=1e-9)
    assert model.score(x, y > 0) > 0.9


def test_newton_boosting_needs_second_derivatives():
    x, _, y = make_rows()
    text = "Newton boosting needs second derivatives, which loss 'hinge' lacks: use GradientBoostingClassifier"
    with pytest.raises(UsageError, match=text):
        NewtonBoostingClassifier(loss="hinge").fit(x, y > 0)


# -- stages ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", CLASSIFIERS)
@pytest.mark.parametrize("cuts", [(0.5,), (0.3, 0.7)], ids=["two", "three"])
def test_stages_of_classes_end_in_the_prediction(kind, cuts):
    x, _, y = make_rows(cuts=cuts)
    model = kind(n_estimators=4, subsample=0.8, random_state=0).fit(x, y)
    for stages, last in [
        (model.staged_decision_function(x), model.decision_function(x)),
        (model.staged_predict(x), model.predict(x)),
        (model.staged_predict_proba(x), model.predict_proba(x)),
    ]:
        every = list(stages)
        assert len(every) == 4
        assert_array_equal(every[-1], last)
        assert every[0] is not every[1]
    short = kind(n_estimators=2, subsample=0.8, random_state=0).fit(x, y)
    assert_array_equal(list(model.staged_decision_function(x))[1], short.decision_function(x))


@pytest.mark.parametrize("kind", REGRESSORS)
def test_stages_of_numbers_end_in_the_prediction(kind):
    x, signal, _ = make_rows()
    model = kind(n_estimators=4).fit(x, signal)
    every = list(model.staged_predict(x))
    assert len(every) == 4
    assert_array_equal(every[-1], model.predict(x))
    assert_array_equal(every[0], kind(n_estimators=1).fit(x, signal).predict(x))


# -- members -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "cuts"), [(GradientBoostingClassifier, (0.3, 0.7)), (NewtonBoostingRegressor, None)])
def test_members_are_steps_and_leaves_are_theirs(kind, cuts):
    x, signal, y = make_rows(cuts=cuts or (0.5,))
    n_outputs = 3 if cuts else 1
    model = kind(n_estimators=4, max_depth=2).fit(x, y if cuts else signal)
    assert model.estimators_.shape == (4, n_outputs)
    assert all(isinstance(member, DecisionTreeRegressor) for member in model.estimators_.ravel())
    total = np.tile(model.start_, (120, 1))
    for members in model.estimators_:
        total += np.stack([member.predict(x) for member in members], axis=1)
    raw = model.decision_function(x) if cuts else model.predict(x)[:, None]
    assert_allclose(raw, total, atol=1e-12)
    leaves = model.apply(x)
    assert leaves.shape == ((120, 4, 3) if cuts else (120, 4))
    leaves = leaves.reshape(120, 4, -1)
    for r in range(4):
        for k in range(n_outputs):
            assert_array_equal(leaves[:, r, k], model.estimators_[r, k].apply(x))
    assert len(model) == 4
    with pytest.raises(AttributeError):
        kind().estimators_  # noqa: B018 - it raises


@pytest.mark.parametrize("kind", CLASSIFIERS + REGRESSORS)
def test_importances_are_shares_of_what_is_gained(kind):
    x, signal, y = make_rows(400)
    model = kind(n_estimators=10).fit(x, y if kind in CLASSIFIERS else signal)
    importances = model.feature_importances_
    assert importances.sum() == pytest.approx(1)
    assert importances.argmax() == 0
    assert importances[3] < 0.2
    assert (importances >= 0).all()


# -- company -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", CLASSIFIERS + REGRESSORS)
def test_data_frames_keep_their_names(kind):
    pandas = pytest.importorskip("pandas")
    x, signal, y = make_rows()
    frame = pandas.DataFrame(x, columns=list("abcd"))
    model = kind(n_estimators=2).fit(frame, y if kind in CLASSIFIERS else signal, X_val=frame, y_val=y)
    assert_array_equal(model.feature_names_in_, list("abcd"))
    assert_array_equal(model.estimators_[0, 0].feature_names_in_, list("abcd"))
    assert_array_equal(
        model.predict(frame), kind(n_estimators=2).fit(x, y if kind in CLASSIFIERS else signal).predict(x)
    )
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[list("bacd")])


@pytest.mark.parametrize("kind", CLASSIFIERS + REGRESSORS)
@pytest.mark.parametrize("max_bins", [255, None])
def test_categories_of_text(kind, max_bins):
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    color = rng.choice(["red", "green", "blue", "gray"], 300)
    size = rng.normal(size=300)
    signal = np.isin(color, ["red", "blue"]) * 4.0 + size
    frame = pandas.DataFrame({"color": pandas.Categorical(color), "size": size})
    frame.loc[::17, "color"] = None
    y = signal > 2 if kind in CLASSIFIERS else signal
    model = kind(n_estimators=20, categorical_features="from_dtype", max_depth=2, max_bins=max_bins).fit(frame, y)
    assert model.score(frame, y) > 0.9
    assert model.feature_importances_[0] > 0.3
    masks = [tree for tree in model.trees_ if (tree.mask >= 0).any()]
    assert masks
    new = pandas.DataFrame({"color": pandas.Categorical(["pink", "red"]), "size": [0.0, 0.0]})
    assert np.isfinite(model.predict(new).astype(float)).all()
    columns = frame["color"].astype(object).to_numpy(), size
    table = np.column_stack(columns).astype(object)
    same = kind(n_estimators=20, categorical_features=[0], max_depth=2, max_bins=max_bins).fit(table, y)
    assert_array_equal(same.predict(table), model.predict(frame))


@pytest.mark.parametrize("kind", CLASSIFIERS + REGRESSORS)
def test_grid_search_and_pipelines(kind):
    x, signal, y = make_rows()
    y = y if kind in CLASSIFIERS else signal
    pipeline = make_pipeline(StandardScaler(), kind(n_estimators=3))
    name = kind.__name__.lower()
    search = GridSearchCV(pipeline, {f"{name}__max_depth": [1, 3], f"{name}__learning_rate": [1e-9, 0.5]}, cv=2)
    search.fit(x, y)
    assert search.best_params_[f"{name}__learning_rate"] == 0.5  # with the other one nothing is learned
    assert search.score(x, y) > 0.6
    assert len(cross_val_score(kind(n_estimators=2), x, y, cv=2)) == 2


@pytest.mark.parametrize("kind", CLASSIFIERS + REGRESSORS)
def test_missing_values_tell_something(kind):
    """A column that is missing where the target is high: a stump on it is all that is needed."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 2)).astype(np.float32)
    is_high = rng.random(200) < 0.4
    x[is_high, 1] = np.nan
    model = kind(n_estimators=10, max_depth=1, learning_rate=0.5).fit(
        x, is_high if kind in CLASSIFIERS else is_high * 3.0
    )
    assert model.feature_importances_[1] > 0.99
    found = model.predict([[0.0, np.nan], [0.0, 0.0]])
    assert found[0] > found[1]


# -- weights of classes ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", CLASSIFIERS)
@pytest.mark.parametrize("class_weight", [{0: 1.0, 1: 3.0, 2: 0.5}, {1: 2}, "balanced"], ids=str)
def test_weights_of_classes_are_those_of_their_rows(kind, class_weight):
    x, _, y = make_rows(cuts=(0.2, 0.9))
    own = np.arange(120) % 3 + 1.0
    if class_weight == "balanced":
        factors = 120 / (3 * np.bincount(y))
    else:
        factors = np.array([class_weight.get(c, 1.0) for c in range(3)])
    settings = {"n_estimators": 4, "min_samples_leaf": 5, "n_iter_no_change": 3, "random_state": 0}
    comp = kind(class_weight=class_weight, **settings).fit(x, y, own)
    ref = kind(**settings).fit(x, y, own * factors[y])
    assert_array_equal(comp.predict_proba(x), ref.predict_proba(x))
    assert_array_equal(comp.validation_score_, ref.validation_score_)
    plain = kind(**settings).fit(x, y, own)
    assert (comp.predict_proba(x) != plain.predict_proba(x)).any()


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_weights_of_classes_that_cannot_be(kind):
    x, _, y = make_rows()
    with pytest.raises(UsageError, match="class_weight must be 0 or more, got -2 for class 1"):
        kind(class_weight={0: 1, 1: -2}).fit(x, y)
    with pytest.raises(UsageError, match="class_weight leaves no row any weight"):
        kind(class_weight=dict.fromkeys(np.unique(y).tolist(), 0)).fit(x, y)
    with pytest.raises(ValueError, match="class_weight"):
        kind(class_weight="even").fit(x, y)


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_weights_of_classes_are_saved(kind, tmp_path):
    from depthforest.ensemble import load

    x, _, y = make_rows()
    model = kind(n_estimators=2, class_weight={0: 1.0, 1: 2.5}).fit(x, y)
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded.class_weight == {0: 1.0, 1: 2.5}
    assert_array_equal(loaded.predict_proba(x), model.predict_proba(x))
