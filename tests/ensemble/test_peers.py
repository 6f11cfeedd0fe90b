"""What the test suites of scikit-learn, LightGBM and XGBoost found in these estimators: each once, so that it stays."""

import joblib
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from depthforest.base.errors import DepthForestWarning, UsageError
from depthforest.ensemble import (
    AdaBoostClassifier,
    AveragingRegressor,
    BaggingClassifier,
    BaggingRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    LambdaMART,
    LambdaRank,
    NewtonBoostingClassifier,
    NewtonBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    RankNet,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
)

rng = np.random.default_rng(26)
X = rng.normal(size=(200, 3))
NUMBERS = X[:, 0] + 0.3 * rng.normal(size=200)
CLASSES = (NUMBERS > 0).astype(int)

TREES = [
    DecisionTreeClassifier(), DecisionTreeRegressor(), RandomForestClassifier(3), RandomForestRegressor(3),
    ExtraTreesClassifier(3), ExtraTreesRegressor(3), GradientBoostingClassifier(n_estimators=3),
    GradientBoostingRegressor(n_estimators=3), NewtonBoostingClassifier(n_estimators=3),
    NewtonBoostingRegressor(n_estimators=3),
]  # fmt: skip


def target_of(estimator):
    return CLASSES if is_classifier(estimator) else NUMBERS


# -- members -----------------------------------------------------------------------------------------------------------


class SilentClassifier(ClassifierMixin, BaseEstimator):
    """Predicts one class; its `fit` returns nothing."""

    def fit(self, X, y, sample_weight=None):  # noqa: ARG002
        self.classes_ = np.unique(y)
        self.likely_ = np.bincount(y, weights=sample_weight).argmax()

    def predict(self, X):
        return np.full(len(X), self.likely_)


class SilentRegressor(RegressorMixin, BaseEstimator):
    """Predicts the mean; its `fit` returns nothing."""

    def fit(self, X, y):  # noqa: ARG002
        self.mean_ = np.mean(y)

    def predict(self, X):
        return np.full(len(X), self.mean_)


@pytest.mark.parametrize(
    "ensemble",
    [
        BaggingClassifier(SilentClassifier(), random_state=0),
        BaggingRegressor(SilentRegressor(), random_state=0),
        VotingClassifier([("a", SilentClassifier())]),
        AveragingRegressor([("a", SilentRegressor())]),
        StackingClassifier([("a", SilentClassifier())], SilentClassifier()),
        StackingRegressor([("a", SilentRegressor())], SilentRegressor()),
        AdaBoostClassifier(SilentClassifier(), n_estimators=1),
    ],
    ids=lambda e: type(e).__name__,
)
def test_members_whose_fit_returns_nothing(ensemble):
    answers = ensemble.fit(X, (np.arange(200) % 10 > 0).astype(int)).predict(X)
    assert None not in ensemble.estimators_
    assert_allclose(answers, answers[0])


@pytest.mark.parametrize("backend", ["multiprocessing", "threading", "loky"])
def test_joblibs_backends(backend):
    ensembles = [
        BaggingClassifier(LogisticRegression(), 3, random_state=0, n_jobs=2),
        VotingClassifier([("a", LogisticRegression()), ("b", KNeighborsClassifier())], n_jobs=2),
    ]
    with joblib.parallel_config(backend=backend):
        found = [ensemble.fit(X, CLASSES).predict(X) for ensemble in ensembles]
    for ensemble, comp in zip(ensembles, found, strict=True):
        assert_array_equal(comp, ensemble.set_params(n_jobs=None).fit(X, CLASSES).predict(X))


def test_a_class_that_a_bootstrap_lacks():
    """Ten members of 30 rows, one of them of the third class: most draws lack it, and members must know it."""
    y = CLASSES.copy()[:30]
    y[0] = 2
    for member in (LogisticRegression(), DecisionTreeClassifier(), LinearSVC()):
        ensemble = BaggingClassifier(member, random_state=0).fit(X[:30], y)
        assert all(m.classes_.tolist() == [0, 1, 2] for m in ensemble.estimators_)
    one_sided = BaggingClassifier(LogisticRegression(), max_samples=2, random_state=0).fit(X[:30], CLASSES[:30])
    assert any(len(np.unique(CLASSES[rows])) == 1 for rows in one_sided.estimators_samples_)


def test_rows_that_are_drawn_twice_weigh_twice():
    ensemble = BaggingRegressor(Ridge(), 4, random_state=0).fit(X, NUMBERS)
    for member, rows in zip(ensemble.estimators_, ensemble.estimators_samples_, strict=True):
        ref = Ridge().fit(X[rows], NUMBERS[rows])
        assert_allclose(member.coef_, ref.coef_)


# -- weights -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "ensemble",
    [
        *TREES, BaggingClassifier(random_state=0), BaggingRegressor(random_state=0), AdaBoostClassifier(n_estimators=3),
        BaggingClassifier(random_state=0, bootstrap=False, max_samples=0.5),
        VotingClassifier([("a", DecisionTreeClassifier(random_state=0))]),
        StackingRegressor([("a", DecisionTreeRegressor(random_state=0))]),
    ],
    ids=lambda e: type(e).__name__,
)  # fmt: skip
def test_one_weight_for_all_rows(ensemble):
    if "random_state" in ensemble.get_params():
        ensemble.set_params(random_state=0)
    y = target_of(ensemble)
    ref = ensemble.fit(X, y, sample_weight=np.full(200, 1.0)).predict(X)
    assert_array_equal(ensemble.fit(X, y, sample_weight=1.0).predict(X), ref)


@pytest.mark.parametrize(
    "estimator", [*TREES, BaggingRegressor(), AdaBoostClassifier()], ids=lambda e: type(e).__name__
)
@pytest.mark.parametrize("size", [1e308, 1e-305])
def test_weights_beyond_numbers(estimator, size):
    with pytest.raises(UsageError, match=r"sample_weight must sum to between 1e-100 and 1e\+100, got .*by their mean"):
        estimator.fit(X, target_of(estimator), np.full(200, size))


@pytest.mark.parametrize("estimator", [DecisionTreeClassifier(), RandomForestClassifier(3)], ids=str)
def test_negative_class_weights(estimator):
    with pytest.raises(UsageError, match="class_weight must be 0 or more, got -1 for class 1"):
        estimator.set_params(class_weight={0: 1, 1: -1}).fit(X, CLASSES)
    with pytest.raises(UsageError, match=r"class_weight times sample_weight must sum to between"):
        estimator.set_params(class_weight={0: 1, 1: 1e200}).fit(X, CLASSES)
    estimator.set_params(class_weight=None)


# -- trees -------------------------------------------------------------------------------------------------------------

ASKED = ("apply", "predict", "predict_proba", "predict_log_proba", "decision_function")


@pytest.mark.parametrize("estimator", [*TREES, LambdaMART(), RankNet()], ids=lambda e: type(e).__name__)
def test_what_is_not_fitted_says_so(estimator):
    unfitted = type(estimator)()
    for method in ASKED:
        if hasattr(unfitted, method):
            with pytest.raises(NotFittedError):
                getattr(unfitted, method)(X)
    for attribute in ("feature_importances_",):
        if attribute in dir(type(estimator)):
            with pytest.raises(NotFittedError):
                getattr(unfitted, attribute)


@pytest.mark.filterwarnings("ignore:The number of unique classes")
@pytest.mark.parametrize("max_depth", [1, None])
def test_many_classes_take_as_much_memory_as_their_leaves(max_depth):
    """10,000 classes: a table of classes by classes would be 800 MB."""
    x, y = np.random.default_rng(0).permutation(10_000)[:, None], np.arange(10_000)
    model = DecisionTreeClassifier(max_depth=max_depth, max_bins=None).fit(x, y)
    assert model.tree_.own_values.nbytes < 2**20
    assert model.tree_.n_leaves == (2 if max_depth else 10_000)
    probabilities = model.predict_proba(x[:5])
    assert_allclose(probabilities.sum(axis=1), 1)
    if max_depth is None:
        assert_array_equal(model.predict(x[:5]), y[:5])


def test_leaves_of_boosted_numbers_have_two_dimensions():
    for model in (GradientBoostingRegressor(n_estimators=4), NewtonBoostingRegressor(n_estimators=4)):
        assert model.fit(X, NUMBERS).apply(X).shape == (200, 4)
    for model in (GradientBoostingClassifier(n_estimators=4), NewtonBoostingClassifier(n_estimators=4)):
        assert model.fit(X, CLASSES).apply(X).shape == (200, 4, 1)
        assert model.fit(X, CLASSES + (X[:, 1] > 0)).apply(X).shape == (200, 4, 3)


@pytest.mark.parametrize("estimator", TREES, ids=lambda e: type(e).__name__)
def test_an_estimator_is_true(estimator):
    unfitted = type(estimator)()
    assert (unfitted or "default") is unfitted


@pytest.mark.parametrize("estimator", [DecisionTreeRegressor(), RandomForestRegressor(3, bootstrap=False)], ids=str)
def test_small_targets_beside_large_ones(estimator):
    x = [[0], [1], [2], [3]]
    for y in ([1e-20, 1, 2, 3], [1, 2, 3, -1e-300], [1e-20, 1e-20, 1e20, 3]):
        assert estimator.fit(x, y).predict(x).tolist() == y
    limited = DecisionTreeRegressor(max_depth=1).fit(x, [1e-20, 2e-20, 1, 1])
    assert_allclose(limited.predict(x), [1.5e-20, 1.5e-20, 1, 1], rtol=1e-15)


# -- tables of polars and Arrow ----------------------------------------------------------------------------------------


class Named:
    """A type of polars, known by its text."""

    def __init__(self, text):
        self.text = text

    def __str__(self):
        return self.text


class FakeColumn(list):
    def to_list(self):
        return list(self)

    def to_numpy(self):
        return np.array(self)


class FakePolars:
    """As much of a polars frame as is asked for, where polars is not installed."""

    def __init__(self, kind, **columns):
        self.dtypes, self._columns = [Named(kind), Named("Float64")], columns
        self.columns, self.shape = list(columns), (len(next(iter(columns.values()))), len(columns))

    def __len__(self):
        return self.shape[0]

    def __getitem__(self, name):
        return FakeColumn(self._columns[name])

    def __array__(self, dtype=None, copy=None):
        return np.array(list(zip(*self._columns.values(), strict=True)), dtype=object)


TEXT, AMOUNTS = ["a", "b", "c", None] * 10, np.arange(40.0)


def frames_of_categories():
    yield "fake Enum", lambda: FakePolars("Enum(categories=['a', 'b', 'c'])", text=TEXT, amount=AMOUNTS)
    yield "fake Categorical", lambda: FakePolars("Categorical", text=TEXT, amount=AMOUNTS)

    def polars(kind):
        pl = pytest.importorskip("polars")
        return pl.DataFrame({"text": pl.Series(TEXT, dtype=kind(pl)), "amount": AMOUNTS})

    yield "Enum", lambda: polars(lambda pl: pl.Enum(["a", "b", "c"]))
    yield "Categorical", lambda: polars(lambda pl: pl.Categorical)

    def arrow():
        pa = pytest.importorskip("pyarrow")
        return pa.table({"text": pa.array(TEXT).dictionary_encode(), "amount": AMOUNTS})

    yield "Arrow", arrow


@pytest.mark.parametrize("make", [pytest.param(make, id=name) for name, make in frames_of_categories()])
def test_categories_by_type(make):
    frame, y = make(), np.arange(40) % 4
    model = DecisionTreeClassifier(categorical_features="from_dtype").fit(frame, y)
    assert model.is_categorical_.tolist() == [True, False]
    assert model.score(frame, y) == 1
    with pytest.raises(UsageError, match="column 'text' holds text or categories: name it in categorical_features"):
        DecisionTreeClassifier().fit(frame, y)


def frames_of_text():
    yield "fake", lambda: FakePolars("String", text=TEXT, amount=AMOUNTS)
    yield "polars", lambda: pytest.importorskip("polars").DataFrame({"text": TEXT, "amount": AMOUNTS})
    yield "Arrow", lambda: pytest.importorskip("pyarrow").table({"text": TEXT, "amount": AMOUNTS})


@pytest.mark.parametrize("make", [pytest.param(make, id=name) for name, make in frames_of_text()])
def test_text_is_no_number(make):
    frame, y = make(), np.arange(40) % 4
    for chosen in (None, "from_dtype"):
        with pytest.raises(UsageError, match="column 'text' holds text or categories"):
            DecisionTreeClassifier(categorical_features=chosen).fit(frame, y)
    assert DecisionTreeClassifier(categorical_features=["text"]).fit(frame, y).score(frame, y) == 1


# -- and the rest ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "estimator",
    [RandomForestClassifier(2), NewtonBoostingClassifier(n_estimators=2), BaggingClassifier(), AdaBoostClassifier()],
    ids=lambda e: type(e).__name__,
)
def test_a_negative_verbose_is_quiet(estimator, capsys):
    estimator.set_params(verbose=-1).fit(X, CLASSES)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("ranker", [LambdaMART(n_estimators=2), RankNet(max_iter=2), LambdaRank(max_iter=2)], ids=str)
def test_rankers_warn_of_no_queries(ranker):
    with pytest.warns(DepthForestWarning, match="qid is not given: all 200 rows count as one query.*; pass qid"):
        ranker.fit(X, CLASSES)
    ranker.fit(X, CLASSES, qid=np.zeros(200, int))  # said so: no warning


@pytest.mark.filterwarnings("ignore:The least populated class")
@pytest.mark.parametrize("member", [LogisticRegression(), LinearSVC(), DecisionTreeClassifier()], ids=str)
def test_stacking_with_a_class_of_few_rows(member):
    """Of three rows two folds hold out none; of one row a fold trains without the class."""
    y = np.where(np.arange(200) % 2, "a", "b")
    y[:3] = "c"
    model = StackingClassifier([("a", member)]).fit(X, y)
    assert model.classes_.tolist() == ["a", "b", "c"]
    y[1:3] = "a"
    with pytest.warns(DepthForestWarning, match="fold 0 of cv trains without class 'c': its members cannot predict it"):
        model = StackingClassifier([("a", member)]).fit(X, y)
    assert np.isfinite(model.transform(X)).all()
    assert model.predict_proba(X).shape == (200, 3)


def test_folds_that_lack_a_class_answer_for_all():
    y = np.append(np.arange(20) % 2, 2)
    x = np.append(X[:20], [[9, 9, 9]], axis=0)
    folds = [(np.arange(20), np.array([20])), (np.arange(10, 21), np.arange(10)), (np.r_[:10, 20], np.arange(10, 20))]
    seen = []

    class Recorder(LogisticRegression):
        def fit(self, X, y, sample_weight=None):
            seen.append(X)
            return super().fit(X, y, sample_weight)

    with pytest.warns(DepthForestWarning, match="fold 0"):
        StackingClassifier([("a", DecisionTreeClassifier())], Recorder(), cv=folds).fit(x, y)
    assert seen[0].shape == (21, 3)
    assert seen[0][20, 2] == 0
    assert_allclose(seen[0].sum(axis=1), 1)


def test_both_plots_take_a_path(tmp_path):
    plt = pytest.importorskip("matplotlib.pyplot")
    from depthforest.ensemble.analysis import report

    model = VotingClassifier([("a", DecisionTreeClassifier(max_depth=1)), ("b", LogisticRegression())], voting="soft")
    curve = model.fit(X, CLASSES).reject_curve(X, CLASSES)
    axes = curve.plot(tmp_path / "curve.png")
    assert curve.plot(ax=axes) is axes
    assert curve.plot(axes) is axes  # as it was called before
    report(model, X, CLASSES).plot(tmp_path / "report.png")
    assert {p.name for p in tmp_path.iterdir()} == {"curve.png", "report.png"}
    plt.close("all")


# -- what scikit-learn's users have at hand ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "ensemble",
    [RandomForestClassifier(3), GradientBoostingRegressor(n_estimators=3), BaggingClassifier(n_estimators=3)],
    ids=lambda e: type(e).__name__,
)
def test_an_ensemble_is_the_list_of_its_members(ensemble):
    assert len(ensemble) == 0
    ensemble.fit(X, target_of(ensemble))
    assert len(ensemble) == len(list(ensemble)) == 3
    assert np.array_equal(ensemble[1], ensemble.estimators_[1])


@pytest.mark.parametrize("splitter", ["best", "random"])
def test_paths_are_the_nodes_on_the_way(splitter):
    tree = DecisionTreeClassifier(splitter=splitter, random_state=0).fit(X, CLASSES)
    path, leaves, own = tree.decision_path(X), tree.apply(X), tree.tree_
    for row in range(200):
        node, wanted = 0, [0]
        while own.children_left[node] >= 0:
            is_left = np.float32(X[row, own.feature[node]]) <= own.threshold[node]
            node = own.children_left[node] if is_left else own.children_right[node]
            wanted.append(node)
        assert path.indices[path.indptr[row] : path.indptr[row + 1]].tolist() == wanted
        assert leaves[row] == node
    forest = RandomForestClassifier(3, random_state=0).fit(X, CLASSES)
    every, ends = forest.decision_path(X)
    for t, member in enumerate(forest.estimators_):
        assert (every[:, ends[t] : ends[t + 1]] != member.decision_path(X)).nnz == 0
    assert every.shape[1] == ends[-1]
    alone = DecisionTreeClassifier(max_depth=1).fit(X[:2], [0, 0]).decision_path(X)  # a root that is a leaf
    assert alone.toarray().tolist() == [[1]] * 200


def test_the_path_of_pruning_is_that_of_scikit_learn():
    from sklearn.tree import DecisionTreeClassifier as Theirs

    x = np.round(X, 1)
    for criterion in ("gini", "log_loss"):
        ours = DecisionTreeClassifier(criterion=criterion, min_samples_leaf=6, max_bins=None, random_state=0)
        theirs = Theirs(criterion=criterion, min_samples_leaf=6, random_state=0)
        comp, ref = (model.cost_complexity_pruning_path(x, CLASSES) for model in (ours, theirs))
        assert_allclose(comp.impurities[[0, -1]], ref.impurities[[0, -1]], rtol=1e-6)  # fixed point
        assert_allclose(comp.ccp_alphas[-1], ref.ccp_alphas[-1], rtol=1e-6)
        for alpha, impurity in zip(comp.ccp_alphas, comp.impurities, strict=True):
            pruned = ours.set_params(ccp_alpha=alpha + 1e-12).fit(x, CLASSES).tree_
            leaves = pruned.is_leaf
            shares = pruned.weighted_n_node_samples[leaves] / 200
            assert shares @ pruned.impurity[leaves] >= impurity - 1e-6
        ours.set_params(ccp_alpha=0.0)


def test_names_of_the_same_criteria():
    for model, name, same in (
        (DecisionTreeClassifier(), "log_loss", "entropy"),
        (DecisionTreeRegressor(), "friedman_mse", "squared_error"),
    ):
        y = target_of(model)
        ref = model.set_params(criterion=same, random_state=0, max_depth=4).fit(X, y).predict(X)
        assert_array_equal(model.set_params(criterion=name).fit(X, y).predict(X), ref)


def test_decision_values_of_a_bag_are_the_mean_of_its_members():
    ensemble = BaggingClassifier(LogisticRegression(), 3, random_state=0).fit(X, CLASSES)
    wanted = np.mean([member.decision_function(X) for member in ensemble.estimators_], axis=0)
    assert_allclose(ensemble.decision_function(X), wanted)
    assert not hasattr(BaggingClassifier(KNeighborsClassifier()), "decision_function")


def test_extra_trees_alone():
    from depthforest.ensemble import ExtraTreeClassifier, ExtraTreeRegressor

    for model, same in ((ExtraTreeClassifier(), DecisionTreeClassifier), (ExtraTreeRegressor(), DecisionTreeRegressor)):
        y = target_of(model)
        comp = model.set_params(random_state=3).fit(X, y).predict(X[:, ::-1])
        ref = same(splitter="random", max_features=model.max_features, random_state=3).fit(X, y).predict(X[:, ::-1])
        assert_array_equal(comp, ref)
        assert model.max_features_ == (1 if is_classifier(model) else 3)


def test_the_names_of_scikit_learn():
    from depthforest.ensemble import VotingRegressor

    members = [("a", Ridge()), ("b", DecisionTreeRegressor(random_state=0))]
    model = VotingRegressor(members).fit(X, NUMBERS)
    assert_array_equal(model.predict(X), AveragingRegressor(members).fit(X, NUMBERS).predict(X))
    assert model.get_feature_names_out().tolist() == ["votingregressor_a", "votingregressor_b"]


@pytest.mark.parametrize("kind", [GradientBoostingClassifier, NewtonBoostingClassifier])
def test_boosting_tells_how_many_classes_and_trees_there_are(kind):
    two = kind(n_estimators=2).fit(X, CLASSES)
    assert (two.n_classes_, two.n_trees_per_iteration_) == (2, 1)
    three = kind(n_estimators=2).fit(X, np.arange(len(X)) % 3)
    assert (three.n_classes_, three.n_trees_per_iteration_) == (3, 3)


def test_forests_have_a_tree_that_is_not_fitted():
    forest = RandomForestRegressor(2, max_depth=3, random_state=0).fit(X, NUMBERS)
    assert forest.estimator_.get_params()["max_depth"] == 3
    assert not hasattr(forest.estimator_, "tree_")
