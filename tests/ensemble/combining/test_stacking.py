import joblib
import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_classification, make_regression
from sklearn.ensemble import StackingClassifier as SklearnStacking
from sklearn.ensemble import StackingRegressor as SklearnStackingRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.linear_model import LogisticRegression, Perceptron, Ridge, RidgeClassifier
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    StratifiedKFold,
    cross_val_predict,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks
from support.scripted import Memory, Recorder, Scripted, Voter, row_numbers

from depthforest.base.errors import UsageError
from depthforest.ensemble.combining.stacking import StackingClassifier, StackingRegressor


def _trees():
    return [(f"tree{i}", DecisionTreeClassifier(max_depth=i + 2, random_state=i)) for i in range(2)]


def _regressors():
    return [("tree", DecisionTreeRegressor(max_depth=3, random_state=0)), ("line", Ridge())]


@pytest.fixture(scope="module")
def blobs():
    X, y = make_classification(n_samples=90, n_features=5, n_informative=4, n_classes=3, random_state=0, n_redundant=0)
    return X, np.array(["ant", "bee", "cat"])[y]


@pytest.fixture(scope="module")
def line():
    return make_regression(n_samples=80, n_features=4, noise=5.0, random_state=0)


@parametrize_with_checks(
    [
        StackingClassifier(_trees(), DecisionTreeClassifier(max_depth=3, random_state=0), cv=2),
        StackingRegressor(_regressors()[:1], cv=2),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [
        StackingClassifier(_trees(), cv=3),
        StackingClassifier(
            _trees(), DecisionTreeClassifier(max_depth=3), cv=3, stack_method="predict", passthrough=True
        ),
        StackingRegressor(_regressors(), cv=3, passthrough=True),
    ]
)
def test_scikit_learn_checks_of_every_kind(estimator, check):
    check(estimator)


# ---------------------------------------------------------------------- what the meta learner sees


@pytest.mark.parametrize("cv", [3, StratifiedKFold(4, shuffle=True, random_state=0), KFold(7)])
def test_the_meta_learner_is_fitted_on_out_of_fold_probabilities(blobs, cv):
    X, y = blobs
    model = StackingClassifier(_trees(), Recorder(), cv=cv).fit(X, y)
    codes = np.searchsorted(model.classes_, y)
    ref = np.hstack([cross_val_predict(tree, X, codes, cv=cv, method="predict_proba") for _, tree in _trees()])
    np.testing.assert_array_equal(model.final_estimator_.X_, ref)
    np.testing.assert_array_equal(model.final_estimator_.y_, codes)
    whole = np.hstack([tree.fit(X, codes).predict_proba(X) for _, tree in _trees()])
    np.testing.assert_array_equal(model.transform(X), whole)


def test_out_of_fold_predictions_are_the_naive_ones(blobs):
    X, y = blobs
    model = StackingClassifier(_trees(), Recorder(), cv=3).fit(X, y)
    codes = np.searchsorted(model.classes_, y)
    for train, test in StratifiedKFold(3).split(X, codes):
        for i, (_, tree) in enumerate(_trees()):
            said = clone(tree).fit(X[train], codes[train]).predict_proba(X[test])
            np.testing.assert_array_equal(model.final_estimator_.X_[test, 3 * i : 3 * i + 3], said)


def test_labels_become_one_column_for_each_class(blobs):
    X, y = blobs
    model = StackingClassifier(_trees(), Recorder(), cv=3, stack_method="predict").fit(X, y)
    codes = np.searchsorted(model.classes_, y)
    said = cross_val_predict(_trees()[0][1], X, codes, cv=3)
    np.testing.assert_array_equal(model.final_estimator_.X_[:, :3], said[:, None] == np.arange(3))
    two = y != "cat"
    model.fit(X[two], y[two])
    assert model.final_estimator_.X_.shape == (two.sum(), 2)
    assert set(np.unique(model.final_estimator_.X_)) == {0.0, 1.0}


def test_two_classes_give_one_column_a_member(blobs):
    X, y = blobs
    two = y != "cat"
    model = StackingClassifier(_trees(), cv=3).fit(X[two], y[two])
    codes = (y[two] == "bee").astype(int)
    ref = [tree.fit(X[two], codes).predict_proba(X[two])[:, 1] for _, tree in _trees()]
    np.testing.assert_array_equal(model.transform(X[two]), np.stack(ref, axis=1))
    assert model.get_feature_names_out().tolist() == ["stackingclassifier_tree0", "stackingclassifier_tree1"]


def test_auto_takes_what_each_member_has(blobs):
    X, y = blobs
    members = [("tree", DecisionTreeClassifier()), ("svm", LinearSVC()), ("labels", Memory()), ("line", Ridge())]
    model = StackingClassifier(members, Recorder(), cv=3).fit(X, y)
    assert model.stack_method_ == ["predict_proba", "decision_function", "predict", "predict"]
    assert model.final_estimator_.X_.shape == (len(X), 3 + 3 + 3 + 1)
    names = model.get_feature_names_out().tolist()
    assert names[3:6] == ["stackingclassifier_svm0", "stackingclassifier_svm1", "stackingclassifier_svm2"]
    assert names[-1] == "stackingclassifier_line"


def test_same_as_scikit_learn(blobs, line):
    X, y = blobs
    final = LogisticRegression()
    ours = StackingClassifier(_trees(), final, cv=3, passthrough=True).fit(X, y)
    theirs = SklearnStacking(_trees(), final, cv=3, passthrough=True).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-6)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-5)
    assert (ours.predict(X) == theirs.predict(X)).all()
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()
    X, y = line
    ours, theirs = (kind(_regressors(), cv=3).fit(X, y) for kind in (StackingRegressor, SklearnStackingRegressor))
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X))


def test_passed_through_features_follow(blobs):
    X, y = blobs
    model = StackingClassifier(_trees(), Recorder(), cv=3, passthrough=True).fit(X, y)
    np.testing.assert_array_equal(model.final_estimator_.X_[:, 6:], X)
    model.fit(sparse.csr_array(X), y)
    assert sparse.issparse(model.final_estimator_.X_)
    np.testing.assert_array_equal(model.final_estimator_.X_.toarray()[:, 6:], X)


def test_sample_weights_reach_members_folds_and_the_meta_learner(blobs):
    X, y = blobs
    sw = np.linspace(0.1, 3, len(X))
    model = StackingClassifier(_trees(), Recorder(), cv=3).fit(X, y, sample_weight=sw)
    codes = np.searchsorted(model.classes_, y)
    params = {"sample_weight": sw}
    ref = [cross_val_predict(t, X, codes, cv=3, method="predict_proba", params=params) for _, t in _trees()]
    np.testing.assert_array_equal(model.final_estimator_.X_, np.hstack(ref))
    np.testing.assert_array_equal(model.final_estimator_.sample_weight_, sw)


def test_pre_fitted_members_are_asked_about_the_rows_of_fit():
    members = [("sure", Scripted([[0.9, 0.1], [0.2, 0.8]], ["a", "b"])), ("voter", Voter(["b", "a"], ["a", "b"]))]
    model = StackingClassifier(members, Recorder(), cv="prefit").fit(row_numbers(2), ["b", "a"])
    np.testing.assert_allclose(model.final_estimator_.X_, [[0.1, 1.0], [0.8, 0.0]])
    assert model.final_estimator_.y_.tolist() == [1, 0]
    assert model.estimators_[0] is members[0][1]


# ---------------------------------------------------------------------- layers, scikit-learn's ways


def test_layers_by_nesting(blobs, line):
    X, y = blobs
    second = StackingClassifier([("bayes", GaussianNB()), ("near", KNeighborsClassifier())], cv=3)
    model = StackingClassifier(_trees(), final_estimator=second, cv=3).fit(X, y)
    assert model.final_estimator_.estimators_[0].n_features_in_ == 6
    assert model.score(X, y) > 0.7
    assert model.get_params()["final_estimator__near__n_neighbors"] == 5
    model.set_params(final_estimator__near__n_neighbors=3)
    assert second.estimators[1][1].n_neighbors == 3
    as_member = StackingClassifier([("inner", second), *_trees()], cv=3).fit(X, y)
    assert as_member.stack_method_[0] == "predict_proba"
    assert as_member.score(X, y) > 0.7
    X, y = line
    layers = StackingRegressor(_regressors(), final_estimator=StackingRegressor(_regressors(), cv=2), cv=2).fit(X, y)
    assert layers.score(X, y) > 0.8


def test_any_number_of_jobs_gives_the_same(blobs):
    X, y = blobs
    one = StackingClassifier(_trees(), Recorder(), cv=3).fit(X, y)
    with joblib.parallel_config("threading"):
        two = StackingClassifier(_trees(), Recorder(), cv=3, n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(one.final_estimator_.X_, two.final_estimator_.X_)


def test_a_progress_bar_on_request(blobs, capsys):
    StackingClassifier(_trees(), Recorder(), cv=3, verbose=1).fit(*blobs)
    err = capsys.readouterr().err
    assert "members" in err
    assert "folds" in err


def test_grid_search_and_pipelines(blobs):
    X, y = blobs
    model = make_pipeline(StandardScaler(), StackingClassifier(_trees(), DecisionTreeClassifier(max_depth=2), cv=2))
    name = "stackingclassifier__"
    grid = {f"{name}tree0__max_depth": [1, 4], f"{name}tree1": ["drop", GaussianNB()], f"{name}passthrough": [True]}
    search = GridSearchCV(model, grid, cv=2).fit(X, y)
    assert set(search.best_params_) == set(grid)
    assert search.best_score_ > 0.4


def test_frames_in_and_out_keep_categories(blobs):
    pd = pytest.importorskip("pandas")
    lightgbm = pytest.importorskip("lightgbm")
    X, y = blobs
    frame = pd.DataFrame(X, columns=list("abcde"), index=np.arange(len(X)) + 3)
    plain = StackingClassifier(_trees(), cv=3).fit(X, y)
    model = StackingClassifier(_trees(), cv=3).fit(frame, pd.Series(y))
    np.testing.assert_array_equal(model.predict(frame), plain.predict(X))
    out = model.set_output(transform="pandas").transform(frame)
    assert out.columns.tolist() == model.get_feature_names_out().tolist()
    assert out.index.tolist() == frame.index.tolist()
    # a column of categories goes to the members and, passed through, to the meta learner as it is
    frame["kind"] = pd.Categorical(np.where(y == "ant", "small", "large"))
    gbm = lightgbm.LGBMClassifier(n_estimators=3, min_child_samples=5, verbose=-1, n_jobs=1)
    model = StackingClassifier([("gbm", gbm)], final_estimator=gbm, cv=2, passthrough=True).fit(frame, y)
    assert isinstance(model.transform(frame)["kind"].dtype, pd.CategoricalDtype)
    assert model.transform(frame).columns.tolist() == model.get_feature_names_out().tolist()
    ants = model.predict(frame) == "ant"
    assert (ants == (y == "ant")).mean() > 0.95


def test_names_of_features_passed_through(blobs):
    model = StackingClassifier(_trees(), cv=3, passthrough=True).fit(*blobs)
    assert model.get_feature_names_out()[6:].tolist() == ["x0", "x1", "x2", "x3", "x4"]
    assert model.get_feature_names_out(list("abcde"))[6:].tolist() == list("abcde")
    with pytest.raises(UsageError, match="input_features should have length equal to 5, got 1"):
        model.get_feature_names_out(["a"])


def test_members_and_meta_learners_of_other_libraries(blobs, line):
    lightgbm = pytest.importorskip("lightgbm")
    xgboost = pytest.importorskip("xgboost")
    X, y = blobs
    fast = {"n_estimators": 3, "n_jobs": 1}
    members = [("xgb", xgboost.XGBClassifier(**fast)), ("tree", DecisionTreeClassifier(random_state=0))]
    for final in (None, xgboost.XGBClassifier(**fast), lightgbm.LGBMClassifier(verbose=-1, **fast)):
        model = StackingClassifier(members, final_estimator=final, cv=2, passthrough=True)
        if isinstance(final, lightgbm.LGBMClassifier):
            pd = pytest.importorskip("pandas")  # it warns of arrays after arrays
            X = pd.DataFrame(X, columns=list("abcde"))
        assert model.fit(X, y).score(X, y) > 0.6
    X, y = line
    members = [("xgb", xgboost.XGBRegressor(**fast)), ("line", Ridge())]
    assert StackingRegressor(members, cv=2).fit(X, y).score(X, y) > 0.8


def test_parameters_of_predict_go_to_the_meta_learner(line):
    X, y = line
    model = StackingRegressor(_regressors(), final_estimator=GaussianProcessRegressor(alpha=1.0), cv=2).fit(X, y)
    mean, std = model.predict(X, return_std=True)
    assert mean.shape == std.shape == (80,)
    with sklearn.config_context(enable_metadata_routing=True):
        final = GaussianProcessRegressor(alpha=1.0).set_predict_request(return_std=True)
        model = StackingRegressor(_regressors(), final_estimator=final, cv=2).fit(X, y)
        np.testing.assert_allclose(model.predict(X, return_std=True)[1], std)


# ---------------------------------------------------------------------- bad input


def test_a_meta_learner_without_the_method_asked_for(blobs):
    X, y = blobs
    model = StackingClassifier(_trees(), final_estimator=Perceptron(), cv=3).fit(X, y)
    assert not hasattr(model, "predict_proba")
    assert hasattr(model, "decision_function")
    message = "^final_estimator Perceptron has no predict_proba; choose one that has, or use predict$"
    with pytest.raises(AttributeError, match=message):
        model.predict_proba(X)
    tree = StackingClassifier(_trees(), final_estimator=DecisionTreeClassifier(), cv=3)
    assert hasattr(tree, "predict_proba")
    with pytest.raises(AttributeError, match="final_estimator DecisionTreeClassifier has no decision_function"):
        _ = tree.decision_function


@pytest.mark.parametrize("final", [StandardScaler(), Ridge(), DecisionTreeClassifier, "line"])
def test_meta_learners_that_cannot_be(blobs, final):
    with pytest.raises(UsageError, match="final_estimator must be a classifier with fit and predict, got"):
        StackingClassifier(_trees(), final_estimator=final).fit(*blobs)


def test_a_classifier_is_no_meta_learner_of_a_regressor(line):
    with pytest.raises(UsageError, match="final_estimator must be a regressor with fit and predict, got GaussianNB"):
        StackingRegressor(_regressors(), final_estimator=GaussianNB()).fit(*line)


def test_a_meta_learner_that_fails_is_named(blobs):
    X, _ = blobs
    with pytest.raises(UsageError, match=r"final_estimator \(LogisticRegression\) failed to fit: .*class"):
        StackingClassifier(_trees(), cv=3).fit(X, np.zeros(len(X)))


def test_a_member_without_the_method_asked_for(blobs):
    members = [*_trees(), ("line", RidgeClassifier())]
    message = r"member 'line' \(RidgeClassifier\) has no predict_proba; use stack_method='auto'"
    with pytest.raises(UsageError, match=message):
        StackingClassifier(members, stack_method="predict_proba").fit(*blobs)


def test_an_unknown_method(blobs):
    with pytest.raises(UsageError, match=r"stack_method must be 'auto' or one of predict_proba, .*, got 'guess'"):
        StackingClassifier(_trees(), stack_method="guess").fit(*blobs)


def test_folds_smaller_than_classes(blobs):
    X, y = blobs
    y = y.copy()
    y[:4] = "yak"
    with pytest.warns(UserWarning, match="The least populated class in y has only 4 members"):  # scikit-learn's own
        StackingClassifier(_trees()).fit(X, y)
    StackingClassifier(_trees(), cv=4).fit(X, y)
