"""Several targets a row: each as scikit-learn's forests answer them, in files too."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from depthforest.base import DepthForestWarning, UsageError
from depthforest.ensemble import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    analysis,
    export_text,
    load,
)


@pytest.fixture
def classes():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(120, 4))
    return x, np.stack([np.where(x[:, 0] > 0, "b", "a"), np.array(list("xyz"))[(x[:, 1:3] > 0).sum(axis=1)]], axis=1)


@pytest.fixture
def numbers():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(120, 4))
    return x, np.stack([x[:, 0], 5 * x[:, 1] + x[:, 2]], axis=1)


@pytest.mark.parametrize("kind", [DecisionTreeClassifier, ExtraTreesClassifier, RandomForestClassifier])
def test_classes_of_several_targets(classes, kind):
    x, y = classes
    model = kind(random_state=0, max_depth=4).fit(x, y)
    assert [own.tolist() for own in model.classes_] == [["a", "b"], ["x", "y", "z"]]
    assert model.n_classes_ == [2, 3]
    assert model.n_outputs_ == 2
    first, second = model.predict_proba(x)
    assert first.shape == (120, 2)
    assert second.shape == (120, 3)
    assert_allclose(first.sum(axis=1), 1)
    assert_allclose(second.sum(axis=1), 1)
    predicted = model.predict(x)
    assert_array_equal(predicted[:, 1], np.array(list("xyz"))[second.argmax(axis=1)])
    assert (predicted == y).mean() > 0.9
    assert_allclose(np.exp(model.predict_log_proba(x)[0]), first)


def test_out_of_bag_of_several_targets(classes, numbers):
    x, y = classes
    with pytest.raises(UsageError, match="multiclass-multioutput"):
        RandomForestClassifier(oob_score=True).fit(x, y)
    forest = RandomForestClassifier(60, oob_score=lambda truth, said: (truth == said).mean(), random_state=0).fit(x, y)
    assert forest.oob_decision_function_.shape == (120, 3, 2)
    assert_allclose(forest.oob_decision_function_[:, 2, 0], 0)
    assert_allclose(forest.oob_score_, 1 - forest.oob_errors_[-1])
    assert forest.oob_score_ > 0.8
    x, y = numbers
    forest = RandomForestRegressor(60, oob_score=True, random_state=0).fit(x, y)
    assert forest.oob_prediction_.shape == y.shape
    assert_allclose(((forest.oob_prediction_ - y) ** 2).mean(), forest.oob_errors_[-1])


def test_a_target_that_is_there_twice_changes_nothing(numbers):
    x, y = numbers
    y = np.rint(4 * y)  # sums of whole numbers are exact
    one = DecisionTreeRegressor(random_state=0).fit(x, y[:, 0])
    two = DecisionTreeRegressor(random_state=0).fit(x, y[:, [0, 0]])
    assert_array_equal(one.tree_.feature, two.tree_.feature)
    assert_allclose(two.predict(x), one.predict(x)[:, None].repeat(2, axis=1))


def test_class_weights_multiply_over_targets(classes):
    x, y = classes
    weights = [{"a": 1, "b": 3}, {"x": 2, "y": 1, "z": 0}]
    factors = np.where(y[:, 0] == "b", 3, 1) * np.select([y[:, 1] == "x", y[:, 1] == "y"], [2, 1], 0)
    weighed = DecisionTreeClassifier(class_weight=weights, random_state=0).fit(x, y)
    given = DecisionTreeClassifier(random_state=0).fit(x, y, factors)
    assert_array_equal(weighed.predict(x), given.predict(x))


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_files_keep_several_targets(kind, classes, numbers, tmp_path):
    x, y = classes if kind == "classes" else numbers
    forest = (RandomForestClassifier if kind == "classes" else RandomForestRegressor)(5, random_state=0).fit(x, y)
    forest.save(tmp_path / "forest.safetensors")
    loaded = load(tmp_path / "forest.safetensors")
    assert_array_equal(loaded.predict(x), forest.predict(x))
    assert loaded.n_outputs_ == 2
    assert_allclose(loaded.trees_[0].value, forest.trees_[0].value)


def test_what_takes_one_target_says_so(numbers):
    x, y = numbers
    forest = RandomForestRegressor(3, random_state=0).fit(x, y)
    with pytest.raises(UsageError, match="one target per row, got 2"):
        forest.permutation_importance(x, y)
    with pytest.raises(UsageError, match="one target per row, got 2"):
        analysis.shap_values(forest, x)
    with pytest.raises(UsageError, match="one target per row, got 2"):
        export_text(forest.estimators_[0])
    with pytest.raises(UsageError, match="one target per row, got 2"):
        RandomForestRegressor(3, quantiles=True).fit(x, y)


@pytest.mark.parametrize("kind", ["classes", "numbers"])
@pytest.mark.parametrize("splitter", ["best", "random"])
@pytest.mark.parametrize("max_leaf_nodes", [None, 12])
def test_constraints_hold(kind, splitter, max_leaf_nodes):
    rng = np.random.default_rng(2)
    x = rng.normal(size=(300, 3))
    signal = np.sin(3 * x[:, 0]) + x[:, 0] - x[:, 1] + rng.normal(size=300)
    y, of = (signal > 0, DecisionTreeClassifier) if kind == "classes" else (signal, DecisionTreeRegressor)
    tree = of(monotonic_cst=[1, -1, 0], splitter=splitter, max_leaf_nodes=max_leaf_nodes, random_state=0).fit(x, y)
    assert tree.get_n_leaves() > 5

    def answer(table):
        return tree.predict_proba(table)[:, 1] if kind == "classes" else tree.predict(table)

    for _ in range(5):
        step = rng.exponential(size=300)
        assert (answer(x + step[:, None] * [1, 0, 0]) >= answer(x)).all()
        assert (answer(x + step[:, None] * [0, 1, 0]) <= answer(x)).all()


@pytest.mark.parametrize(
    ("y", "words"), [(np.eye(4)[:, :2], "multiple output"), ([0, 1, 2, 0], "multiclass classification")]
)
def test_constraints_need_one_number(y, words):
    with pytest.raises(UsageError, match=words):
        DecisionTreeClassifier(monotonic_cst=[1]).fit(np.arange(4.0)[:, None], y)


def test_rows_that_every_tree_has_seen_are_told_of():
    x, y = np.arange(20.0)[:, None], np.arange(20) % 2
    with pytest.warns(DepthForestWarning, match="do not have OOB scores"):
        RandomForestClassifier(2, oob_score=True, random_state=0).fit(x, y)
