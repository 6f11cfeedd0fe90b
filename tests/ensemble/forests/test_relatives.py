"""Isolation forests, embeddings and balanced forests."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import IsolationForest as TheirForest
from sklearn.metrics import balanced_accuracy_score

from depthforest.base import UsageError
from depthforest.ensemble import (
    BalancedRandomForestClassifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    IsolationForest,
    NewtonBoostingClassifier,
    RandomForestClassifier,
    RandomTreesEmbedding,
)
from depthforest.ensemble.forests.isolation import mean_path_length


def test_path_lengths_are_those_of_random_search_trees():
    rng = np.random.default_rng(0)

    def depth_sum(n):
        if n <= 1:
            return 0
        left = int(rng.integers(1, n))
        return n + depth_sum(left) + depth_sum(n - left)

    assert_allclose(mean_path_length([0, 1, 2]), [0, 0, 1])
    # a random cut parts n rows into any two counts alike
    assert_allclose(mean_path_length(30), np.mean([depth_sum(30) / 30 for _ in range(4000)]), rtol=0.03)


def test_outliers_are_those_of_scikit_learn():
    x = load_breast_cancer().data
    ours, theirs = (forest(n_estimators=300, random_state=0).fit(x) for forest in (IsolationForest, TheirForest))
    assert np.corrcoef(ours.score_samples(x), theirs.score_samples(x))[0, 1] > 0.97
    assert (ours.predict(x) == theirs.predict(x)).mean() > 0.95


def test_isolation_is_the_same_for_any_threads_and_goes_on():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(500, 4))
    x[rng.random(x.shape) < 0.05] = np.nan
    one, two = (IsolationForest(n_estimators=20, n_jobs=j, random_state=0).fit(x) for j in (1, 2))
    assert_array_equal(one.score_samples(x), two.score_samples(x))
    half = IsolationForest(n_estimators=10, random_state=0, warm_start=True).fit(x)
    kept = half.estimators_[3]
    half.set_params(n_estimators=20).fit(x)
    assert half.estimators_[3] is kept
    assert_array_equal(half.score_samples(x), one.score_samples(x))


def test_rows_and_columns_of_isolation_trees():
    x = np.random.default_rng(2).normal(size=(100, 6))
    weights = np.arange(100) % 2
    forest = IsolationForest(n_estimators=8, max_samples=20, max_features=2, random_state=0).fit(x, None, weights)
    for rows, columns, member in zip(
        forest.estimators_samples_, forest.estimators_features_, forest.estimators_, strict=True
    ):
        assert len(np.unique(rows)) == 20
        assert (weights[rows] == 1).all()
        used = member.tree_.feature[~member.tree_.is_leaf]
        assert set(used) <= set(columns)
        assert member.tree_.n_node_samples[0] == 20
    assert_allclose(forest.decision_function(x), forest.score_samples(x) + 0.5)
    share = IsolationForest(n_estimators=8, contamination=0.1, random_state=0).fit(x)
    assert (share.predict(x) == -1).sum() == 10


@pytest.mark.parametrize("contamination", [0, 0.6, "most"])
def test_contamination_is_a_share(contamination):
    with pytest.raises(UsageError, match="contamination must be"):
        IsolationForest(contamination=contamination).fit([[1.0], [2.0]])


def test_an_embedding_marks_the_leaf_of_every_tree():
    x = np.random.default_rng(3).normal(size=(60, 3))
    embedding = RandomTreesEmbedding(7, max_depth=3, random_state=0)
    marked = embedding.fit_transform(x)
    assert_array_equal(marked.toarray(), embedding.transform(x).toarray())
    assert_array_equal(marked.sum(axis=1), 7)
    leaves = embedding.apply(x)
    names = embedding.get_feature_names_out()
    for row, own in zip(marked.toarray().astype(bool), leaves, strict=True):
        assert list(names[row]) == [f"randomtreesembedding_{t}_{leaf}" for t, leaf in enumerate(own)]
    dense = RandomTreesEmbedding(7, max_depth=3, sparse_output=False, random_state=0).fit_transform(x)
    assert_array_equal(dense, marked.toarray())


def test_balanced_trees_draw_as_many_rows_of_each_class():
    rng = np.random.default_rng(4)
    x = rng.normal(size=(1000, 5))
    y = (x[:, 0] + 0.8 * rng.normal(size=1000) > 2.2).astype(int)
    balanced = BalancedRandomForestClassifier(50, oob_score=True, random_state=0).fit(x, y)
    for rows in balanced.estimators_samples_:
        assert_array_equal(np.bincount(y[rows]), [y.sum(), y.sum()])
    plain = RandomForestClassifier(50, oob_score=True, random_state=0).fit(x, y)
    scores = [balanced_accuracy_score(y, f.oob_decision_function_.argmax(axis=1)) for f in (balanced, plain)]
    assert scores[0] > scores[1] + 0.1
    with pytest.raises(UsageError, match="bootstrap must be True"):
        BalancedRandomForestClassifier(bootstrap=False).fit(x, y)


def test_proximities_are_shares_of_trees_with_the_same_leaf():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(40, 3))
    forest = RandomForestClassifier(9, max_depth=3, random_state=0).fit(x, x[:, 0] > 0)
    leaves, others = forest.apply(x), forest.apply(x[:7])
    assert_allclose(forest.proximities(x, x[:7]), (leaves[:, None] == others[None]).mean(axis=2))
    assert_allclose(np.diag(forest.proximities(x)), 1)


def test_importances_by_gain_and_by_splits():
    rng = np.random.default_rng(6)
    x = rng.normal(size=(100, 3))
    forest = RandomForestClassifier(9, random_state=0).fit(x, x[:, 0] > 0)
    gains = forest.importances("gain")
    assert gains.argmax() == 0
    trees = forest.trees_
    assert_allclose(gains.sum(), sum(t.impurity[0] * t.weighted_n_node_samples[0] for t in trees))  # leaves are pure
    assert forest.importances("split").sum() == sum(t.n_leaves - 1 for t in trees)
    with pytest.raises(UsageError, match="kind must be"):
        forest.importances("cover")


def gains_of_a_class(tree, n_features, label, term):
    """Return what splits take off the summand of a class, node by node."""
    gains = np.zeros(n_features)
    for node in np.flatnonzero(tree.feature >= 0):
        parts = [
            tree.weighted_n_node_samples[i] * term(tree.flat_value[i, label])
            for i in (node, tree.child[node], tree.child[node] + 1)
        ]
        gains[tree.feature[node]] += parts[0] - parts[1] - parts[2]
    return gains


@pytest.mark.parametrize("criterion", ["gini", "entropy", "log_loss"])
def test_gains_by_class(criterion):
    rng = np.random.default_rng(7)
    x = rng.normal(size=(150, 4))
    y = np.where(x[:, 0] > 0.5, "c", np.where(x[:, 1] + 0.1 * rng.normal(size=150) > 0, "b", "a"))
    forest = RandomForestClassifier(5, criterion=criterion, max_depth=4, random_state=0).fit(x, y)
    found = forest.importances(by_class=True)
    assert found.shape == (3, 4)
    assert_allclose(found.sum(axis=0), forest.importances(), rtol=1e-6)
    assert found.min() > -1e-9

    def term(p):
        return p * (1 - p) if criterion == "gini" else -p * np.log2(p) if p else 0.0

    for label in range(3):
        twin = sum(gains_of_a_class(tree, 4, label, term) for tree in forest.trees_)
        assert_allclose(found[label], twin, rtol=1e-9, atol=1e-9)
    assert found[:, :2].argmax(axis=1).tolist() == [1, 1, 0]  # what tells a class from the others
    tree = forest.estimators_[0]
    assert_allclose(tree.importances(by_class=True).sum(axis=0), tree.importances(), rtol=1e-6)


def test_importances_of_boosting_by_class():
    rng = np.random.default_rng(8)
    x = rng.normal(size=(300, 4))
    y = np.where(x[:, 0] > 0.5, 2, np.where(x[:, 1] > 0, 1, 0))
    model = NewtonBoostingClassifier(n_estimators=4, random_state=0).fit(x, y)
    for kind in ("gain", "split"):
        found = model.importances(kind, by_class=True)
        assert_allclose(found.sum(axis=0), model.importances(kind))
        shares = found[:, 1] / found.sum(axis=1)
        assert shares[2] < 0.2 < shares[:2].min()  # the last class is known by the first column alone
    assert model.importances("split").sum() == sum(tree.n_leaves - 1 for tree in model.trees_)
    gains = model.importances()
    assert_allclose(model.feature_importances_, gains / gains.sum())
    two = NewtonBoostingClassifier(n_estimators=4, random_state=0).fit(x, y > 0)
    assert_array_equal(two.importances(by_class=True), [two.importances() / 2] * 2)


def test_importances_by_class_where_there_are_none():
    x = np.arange(12.0).reshape(6, 2)
    with pytest.raises(UsageError, match="by_class=True needs a classifier, got DecisionTreeRegressor"):
        DecisionTreeRegressor().fit(x, x[:, 0]).importances(by_class=True)
    tree = DecisionTreeClassifier().fit(x, x[:, 0] > 3)
    with pytest.raises(UsageError, match="a split of these trees serves all classes: use kind='gain'"):
        tree.importances("split", by_class=True)
    with pytest.raises(UsageError, match="importances by class takes trees of one target"):
        DecisionTreeClassifier().fit(x, (x > 5).astype(int)).importances(by_class=True)
