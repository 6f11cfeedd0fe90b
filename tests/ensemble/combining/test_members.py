import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GroupKFold, cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import get_tags
from support.scripted import Failing, Guess, Scripted, Voter, row_numbers

from depthforest.base.errors import UsageError
from depthforest.ensemble.combining.averaging import AveragingRegressor
from depthforest.ensemble.combining.stacking import StackingClassifier, StackingRegressor
from depthforest.ensemble.combining.voting import VotingClassifier

ALL = [VotingClassifier, AveragingRegressor, StackingClassifier, StackingRegressor]
CLASSIFIERS = [VotingClassifier, StackingClassifier]


@pytest.fixture(scope="module")
def blobs():
    X, y = make_classification(n_samples=60, n_features=4, random_state=0)
    return X, np.array(["no", "yes"])[y]


def _members(kind):
    tree = DecisionTreeClassifier if "Classifier" in kind.__name__ else DecisionTreeRegressor
    return [("a", tree(max_depth=1, random_state=0)), ("b", tree(max_depth=2, random_state=0))]


# ---------------------------------------------------------------------- parameters


@pytest.mark.parametrize("kind", ALL)
def test_parameters_of_members_by_name(kind):
    members = _members(kind)
    model = kind(members)
    assert model.get_params()["a"] is members[0][1]
    assert model.get_params()["b__max_depth"] == 2
    assert "a" not in model.get_params(deep=False)
    model.set_params(b__max_depth=7, a="drop")
    assert model.estimators[0] == ("a", "drop")
    assert model.named_estimators["b"].max_depth == 7
    assert members[0][1] != "drop"  # the caller's list is not changed
    model.set_params(estimators=_members(kind), a__max_depth=5)
    assert model.named_estimators["a"].max_depth == 5
    with pytest.raises(ValueError, match="Invalid parameter 'c'"):
        model.set_params(c=1)
    assert clone(model).get_params()["a__max_depth"] == 5
    assert kind.__name__ in repr(model)
    assert kind.__name__ in model._repr_html_()


@pytest.mark.parametrize("kind", ALL)
def test_dropped_members_keep_their_name(kind, blobs):
    X, y = blobs
    y = y if kind in CLASSIFIERS else np.arange(60.0)
    model = kind([*_members(kind), ("c", "drop")]).fit(X, y)
    assert len(model.estimators_) == 2
    assert list(model.named_estimators_) == ["a", "b", "c"]
    assert model.named_estimators_["c"] == "drop"
    before = model.predict(X)
    model.set_params(a="drop")  # takes effect at the next fit
    np.testing.assert_array_equal(model.predict(X), before)
    assert len(model.get_feature_names_out()) == 2
    assert len(model.fit(X, y).estimators_) == 1


def test_members_given_are_not_fitted_themselves(blobs):
    members = _members(VotingClassifier)
    VotingClassifier(members, weights="fitted").fit(*blobs)
    StackingClassifier(members).fit(*blobs)
    assert not hasattr(members[0][1], "tree_")


def test_tags_are_those_that_all_members_share():
    nan_and_sparse = DecisionTreeClassifier()
    sparse_only = LogisticRegression()
    neither = GaussianNB()
    for members, allow_nan in [([nan_and_sparse], True), ([nan_and_sparse, sparse_only], False), ([neither], False)]:
        tags = get_tags(VotingClassifier([(str(i), m) for i, m in enumerate(members)])).input_tags
        assert tags.allow_nan == allow_nan
        assert tags.sparse == all(get_tags(m).input_tags.sparse for m in members)
    # features that are passed through meet the meta learner
    stack = StackingClassifier([("tree", nan_and_sparse)], final_estimator=sparse_only)
    assert get_tags(stack).input_tags.allow_nan
    assert not get_tags(stack.set_params(passthrough=True)).input_tags.allow_nan


def test_kernels_are_cut_by_rows_and_columns(blobs):
    X, y = blobs
    kernel = X @ X.T
    line = SVC(kernel="linear", random_state=0)
    ours = StackingClassifier([("svc", SVC(kernel="precomputed"))], cv=3).fit(kernel, y)
    ref = StackingClassifier([("svc", line)], cv=3).fit(X, y)
    np.testing.assert_allclose(ours.final_estimator_.coef_, ref.final_estimator_.coef_, rtol=1e-3)
    assert get_tags(ours).input_tags.pairwise


# ---------------------------------------------------------------------- bad input


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize(
    ("estimators", "message"),
    [
        ([], r"estimators must be a list of \(name, estimator\) with at least one member, got \[\]"),
        (None, r"estimators must be a list of \(name, estimator\) with at least one member, got None"),
        ([Ridge()], r"estimators must be a list of pairs \(name, estimator\), each name a string"),
        ([(1, Ridge())], r"estimators must be a list of pairs \(name, estimator\), each name a string"),
        ([("a", "drop")], "All estimators are dropped. At least one of `estimators` must be an estimator"),
        ([("a", "drop"), ("b", "drop"), ("a", "drop")], "names of members must differ; these occur more than once: a"),
        ([("a__b", "drop")], "a member's name must not be empty, hold '__' or be a parameter of .*, got 'a__b'"),
        ([("", "drop")], "a member's name must not be empty, .*, got ''"),
        ([("n_jobs", "drop")], "or be a parameter of .*, got 'n_jobs'"),
        ([("a", Ridge)], "member 'a' must be an estimator with fit and get_params, or 'drop', got <class"),
        ([("a", None)], "member 'a' must be an estimator with fit and get_params, or 'drop', got None"),
        ([("a", StandardScaler())], "member 'a' must be a .*, got StandardScaler"),
    ],
)
def test_members_that_cannot_be(kind, estimators, message, blobs):
    with pytest.raises(UsageError, match=message) as caught:
        kind(estimators).fit(blobs[0], np.arange(60) % 2)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_a_member_that_fails_to_fit_is_named(kind, blobs):
    model = kind([*_members(kind), ("licensed", Failing())])
    message = r"^member 'licensed' \(Failing\) failed to fit: no licence for this machine$"
    with pytest.raises(UsageError, match=message) as caught:
        model.fit(*blobs)
    assert isinstance(caught.value.__cause__, RuntimeError)


def test_a_member_without_sample_weights_is_named(blobs):
    members = [("tree", DecisionTreeClassifier()), ("near", KNeighborsClassifier())]
    with pytest.raises(TypeError, match=r"member 'near' .* does not support sample weights"):
        VotingClassifier(members).fit(*blobs, sample_weight=np.ones(60))


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_pre_fitted_members_must_know_the_same_classes(kind):
    members = [("one", Voter([0], ["a", "b"])), ("two", Voter([0], ["a", "b", "c"]))]
    message = (
        r"members must know the same classes, but 'one' knows \['a', 'b'\] \(2\)"
        r" and 'two' knows \['a', 'b', 'c'\] \(3\); fit them on the same labels"
    )
    with pytest.raises(UsageError, match=message):
        kind(members, cv="prefit").fit(row_numbers(1), ["a"])


@pytest.mark.parametrize("kind", CLASSIFIERS)
@pytest.mark.parametrize("label", ["z", 3])
def test_labels_that_pre_fitted_members_do_not_know(kind, label):
    with pytest.raises(UsageError, match=f"y holds {label!r}, which is not one of the classes"):
        kind([("one", Voter(["a", "b"], ["a", "b"]))], cv="prefit").fit(row_numbers(2), [label, label])


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_pre_fitted_members_must_be_fitted(kind, blobs):
    with pytest.raises(UsageError, match="cv='prefit' takes fitted members, but 'a' is not fitted"):
        kind(_members(kind), cv="prefit").fit(*blobs)


def test_frozen_members_that_know_labels_need_prefit(blobs):
    tree = DecisionTreeClassifier(max_depth=2).fit(*blobs)
    message = r"member 'ice' knows the classes \['no', 'yes'\] \(2\) after fitting on the codes 0 .. 1; .* cv='prefit'"
    with pytest.raises(UsageError, match=message):
        VotingClassifier([("ice", FrozenEstimator(tree))]).fit(*blobs)
    model = VotingClassifier([("ice", FrozenEstimator(tree))], cv="prefit").fit(*blobs)
    np.testing.assert_array_equal(model.predict(blobs[0]), tree.predict(blobs[0]))


@pytest.mark.parametrize("kind", ALL)
def test_unknown_fit_parameters_point_to_metadata_routing(kind, blobs):
    with pytest.raises(
        UsageError, match=r"fit takes sample_weight and groups, got color; .*enable_metadata_routing=True"
    ):
        kind(_members(kind)).fit(blobs[0], np.arange(60) % 2, color="red")


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_labels_that_cannot_be(kind, blobs):
    X, _ = blobs
    with pytest.raises(UsageError, match="requires y to be passed, but the target y is None"):
        kind(_members(kind)).fit(X, None)
    # stacking takes several labels of two classes, where its members and the final estimator do
    refused = "final_estimator .* y should be a 1d array" if kind is StackingClassifier else "takes one target per row"
    with pytest.raises((UsageError, ValueError), match=rf"{refused}, got .*\(60, 2\)"):
        kind(_members(kind)).fit(X, np.zeros((60, 2), int))
    with pytest.raises(UsageError, match="y that contains NaN or infinity"):
        kind(_members(kind)).fit(X, np.full(60, np.nan))


# ---------------------------------------------------------------------- metadata routing


class Colorful(ClassifierMixin, BaseEstimator):
    """Says the first class; takes one more thing to fit, and fails unless it comes for every row."""

    def fit(self, X, y, color=None):
        self.color_ = np.asarray(color)
        assert self.color_.shape == (len(X),)
        assert (self.color_ == np.asarray(X)[:, 0]).all()  # cut by rows together with X
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.repeat(self.classes_[:1], len(X))


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_routing_brings_each_member_what_it_asked_for(kind, blobs):
    X, y = blobs
    color = X[:, 0]
    with sklearn.config_context(enable_metadata_routing=True):
        asked = Colorful().set_fit_request(color=True)
        weighted = DecisionTreeClassifier(max_depth=1).set_fit_request(sample_weight=True)
        model = kind([("asked", asked), ("weighted", weighted)])
        if kind is VotingClassifier:
            model.set_params(weights="fitted")
        if kind is StackingClassifier:
            model.set_params(final_estimator=LogisticRegression().set_fit_request(sample_weight=False))
        model.fit(X, y, color=color, sample_weight=np.arange(60.0))
        assert model.named_estimators_["asked"].color_.tolist() == color.tolist()
        assert model.named_estimators_["weighted"].tree_.weighted_n_node_samples[0] == np.arange(60.0).sum()
        with pytest.raises(TypeError, match=r"unexpected argument"):
            model.fit(X, y, taste="sweet")


@pytest.mark.parametrize("cv", [3, GroupKFold(3)])
@pytest.mark.parametrize("routing", [False, True])
def test_groups_reach_the_splitter_with_and_without_routing(cv, routing):
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(30, 1)), 2, axis=0)
    y = np.repeat(rng.integers(2, size=30), 2)
    groups = np.repeat(np.arange(30), 2)
    members = [("near", KNeighborsClassifier(1)), ("stump", DecisionTreeClassifier(max_depth=1, random_state=0))]
    ref = StackingClassifier(members, cv=cv).fit(X, y, groups=groups)
    with sklearn.config_context(enable_metadata_routing=routing):
        model = StackingClassifier(members, cv=cv).fit(X, y, groups=groups)
        voting = VotingClassifier(members, weights="fitted", cv=cv).fit(X, y, groups=groups)
    np.testing.assert_allclose(model.final_estimator_.coef_, ref.final_estimator_.coef_)
    assert voting.weights_[0] < 0.7  # copies of a row would make it 1


def test_ready_folds_are_checked_by_groups_with_routing_too(blobs):
    X, y = blobs
    groups = np.repeat(np.arange(20), 3)
    folds = list(GroupKFold(2).split(X, y, groups))
    model = StackingClassifier(_members(StackingClassifier), cv=(fold for fold in folds))
    with sklearn.config_context(enable_metadata_routing=True):
        assert len(model.fit(X, y, groups=groups).estimators_) == 2  # a generator, used once
        model.set_params(cv=folds)
        with pytest.raises(UsageError, match=r"cv leaks: fold 0 trains on group"):
            model.fit(X, y, groups=np.arange(60) % 7)


def test_cross_validation_routes_groups_through_a_pipeline():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 2)), rng.integers(2, size=80)
    groups = np.repeat(np.arange(20), 4)
    stack = StackingClassifier([("tree", DecisionTreeClassifier(max_depth=1))], cv=GroupKFold(3))
    with sklearn.config_context(enable_metadata_routing=True):
        result = cross_validate(
            make_pipeline(StandardScaler(), stack),
            X,
            y,
            cv=GroupKFold(4),
            params={"groups": groups},
            error_score="raise",
        )
    assert len(result["test_score"]) == 4
    # without routing the inner splitter would miss them, and says so
    with pytest.raises(UsageError, match=r"groups.* pass fit\(X, y, groups=...\)"):
        stack.fit(X, y)


def test_text_goes_to_members_as_it_is():
    from sklearn.feature_extraction.text import CountVectorizer

    X = ["red apple", "green apple", "red car", "fast car", "green pear", "blue car"] * 3
    y = np.array(["fruit", "fruit", "car", "car", "fruit", "car"] * 3)
    members = [("words", make_pipeline(CountVectorizer(), LogisticRegression()))]
    for model in (VotingClassifier(members, weights="fitted", cv=2), StackingClassifier(members, cv=2)):
        assert model.fit(X, y).score(X, y) == 1


def test_a_member_may_be_a_combination_of_its_own(blobs):
    X, y = blobs
    inner = VotingClassifier(_members(VotingClassifier), voting="soft", weights="fitted", cv=2)
    outer = VotingClassifier([("inner", inner), ("bayes", GaussianNB())], voting="soft").fit(X, y)
    assert outer.get_params()["inner__b__max_depth"] == 2
    mean = (outer.estimators_[0].predict_proba(X) + outer.estimators_[1].predict_proba(X)) / 2
    np.testing.assert_allclose(outer.predict_proba(X), mean, atol=1e-11)


def test_guesses_need_no_classes():
    model = StackingRegressor([("guess", Guess([1.0, 2.0, 3.0]))], cv="prefit", final_estimator=Ridge(1e-9))
    model.fit(row_numbers(3), [2.0, 4.0, 6.0])
    np.testing.assert_allclose(model.predict(row_numbers(3)), [2, 4, 6])


def test_scripted_members_are_what_they_say():
    assert Scripted([[0.2, 0.8]], ["a", "b"]).predict(row_numbers(1)).tolist() == ["b"]
