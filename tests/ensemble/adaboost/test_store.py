"""AdaBoost as files: what is saved loads back the same, members too, and what is wrong is refused."""

import builtins
import json
import math
import pickle
import re
import struct
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier as SklearnTree
from support.brokenfiles import (
    TOOLS,
    at,
    changed,
    cut,
    failures_without,
    fuzz_tools,
    item,
    key,
    one_entry,
    whole_column,
)

from depthforest.base import modelfile
from depthforest.base.errors import ModelError, UsageError
from depthforest.ensemble.adaboost.estimator import AdaBoostClassifier
from depthforest.ensemble.adaboost.store import ADABOOST_COLUMNS, OF_ADABOOST
from depthforest.ensemble.files import load
from depthforest.ensemble.tree import store as treestore
from depthforest.ensemble.tree.checks import LARGEST
from depthforest.ensemble.tree.estimators import DecisionTreeClassifier
from depthforest.ensemble.tree.store import KIND, NODE_COLUMNS, TREE_COLUMNS

NAMES = ("stumps", "weighed", "drawn", "perfect")


class OtherTree(DecisionTreeClassifier):
    """A subclass, which a file cannot name."""


class OtherBoost(AdaBoostClassifier):
    """A subclass, which a file cannot name."""


@pytest.fixture(scope="module")
def tools():
    return fuzz_tools()


@pytest.fixture(scope="module")
def ensembles(tools):
    return dict(zip(NAMES, tools[1].valid_adaboosts(), strict=True))


@pytest.fixture(scope="module")
def files(ensembles, tmp_path_factory):
    folder = tmp_path_factory.mktemp("adaboost")
    for name, estimator in ensembles.items():
        estimator.save(folder / name)
    return folder


def rows(n=60, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3)).astype(np.float32)
    return x, (x[:, 0] + np.abs(x[:, 1]) > 0.7).astype(int)


def again(estimator, folder):
    estimator.save(folder / "model")
    return load(folder / "model")


def bytes_of(estimator, folder):
    estimator.save(folder / "model")
    return (folder / "model").read_bytes()


# -- what is saved loads back


@pytest.mark.parametrize("name", NAMES)
def test_what_is_saved_loads_back(name, ensembles, files, tools, tmp_path):
    saved, loaded = ensembles[name], load(files / name)
    assert type(loaded) is AdaBoostClassifier
    assert repr(loaded) == repr(saved)
    table = tools[1].table_for(loaded)
    assert len(np.unique(saved.decision_function(table))) > 1
    assert loaded.predict(table).dtype == saved.predict(table).dtype
    for method in ("predict", "decision_function", "predict_proba", "predict_log_proba"):
        np.testing.assert_array_equal(getattr(loaded, method)(table), getattr(saved, method)(table))
    for method in ("staged_predict", "staged_decision_function", "staged_predict_proba"):
        mine, its = list(getattr(loaded, method)(table)), list(getattr(saved, method)(table))
        assert len(mine) == len(saved.estimators_) == (1 if name == "perfect" else 3)
        np.testing.assert_array_equal(mine, its)
    np.testing.assert_array_equal(loaded.feature_importances_, saved.feature_importances_)
    tools[1].use_ensemble(loaded)
    assert bytes_of(loaded, tmp_path) == (files / name).read_bytes()
    assert bytes_of(pickle.loads(pickle.dumps(loaded)), tmp_path) == (files / name).read_bytes()


@pytest.mark.parametrize("name", NAMES)
def test_everything_that_is_known_comes_back_but_the_history(name, ensembles, files):
    saved, loaded = ensembles[name], load(files / name)
    assert vars(saved).keys() - vars(loaded).keys() == ({"weight_history_"} if name == "stumps" else set())
    assert vars(loaded).keys() <= vars(saved).keys()
    for attribute in ("estimator_weights_", "estimator_errors_", "classes_"):
        mine, its = getattr(loaded, attribute), getattr(saved, attribute)
        np.testing.assert_array_equal(mine, its)
        assert mine.dtype == its.dtype
        assert mine.flags.writeable
    assert (loaded.n_classes_, loaded.n_features_in_) == (saved.n_classes_, saved.n_features_in_)
    assert loaded.estimator_.get_params() == saved.estimator_.get_params()
    if saved.n_classes_ == 2:
        np.testing.assert_array_equal(loaded.error_bound_, saved.error_bound_)
    else:
        with pytest.raises(AttributeError, match="is for two classes"):
            _ = loaded.error_bound_


@pytest.mark.parametrize("name", NAMES)
def test_members_come_back(name, ensembles, files, tools, tmp_path):
    saved, loaded = ensembles[name], load(files / name)
    table = tools[1].table_for(loaded)
    for mine, its in zip(loaded.estimators_, saved.estimators_, strict=True):
        assert mine.get_params() == its.get_params()
        assert vars(mine).keys() == vars(its).keys()
        assert mine.classes_.dtype == its.classes_.dtype
        np.testing.assert_array_equal(mine.predict(table), its.predict(table))
        np.testing.assert_array_equal(mine.apply(table), its.apply(table))
        np.testing.assert_array_equal(mine.predict_proba(table)[:, its.classes_], its.predict_proba(table))
        np.testing.assert_array_equal(again(mine, tmp_path).predict(table), mine.predict(table))
        exact = set(TREE_COLUMNS) - {"ends"} - ({"child", "values", "masks"} if name == "drawn" else set())
        for column in exact:
            np.testing.assert_array_equal(getattr(mine.tree_, column), getattr(its.tree_, column))
            assert getattr(mine.tree_, column).dtype == getattr(its.tree_, column).dtype
            assert getattr(mine.tree_, column).flags.writeable  # else kernels compile for another type


def test_the_valid_ensembles_differ_in_what_they_know(ensembles):
    """Else the tests above would compare nothing with nothing."""
    drawn = ensembles["drawn"].estimators_
    assert {len(member.classes_) for member in drawn} == {3, 4}
    assert len({len(member.categories_[1]) for member in drawn}) > 1
    assert any((member.tree_.mask >= 0).any() for member in drawn)
    assert ensembles["perfect"].estimator_errors_.tolist() == [0]
    assert ensembles["stumps"].weight_history_.shape == (3, 40)


def test_members_of_fewer_classes_and_categories_answer_as_they_did(tmp_path):
    """All categories, and one that none knows, in each member: those it had not drawn go where missing values go."""
    rng = np.random.default_rng(1)
    names = np.array([f"kind {c}" for c in range(40)])
    x = np.empty((70, 2), dtype=object)
    x[:, 0], x[:, 1] = names[rng.permutation(np.arange(70) % 40)], rng.integers(0, 9, 70)
    y = np.where(np.isin(x[:, 0], names[::2]), "even", np.where(rng.random(70) < 0.1, "rare", "odd"))
    tree = DecisionTreeClassifier(max_depth=4, categorical_features=[0, 1])
    saved = AdaBoostClassifier(tree, n_estimators=6, resample=True, random_state=0).fit(x, y)
    loaded = again(saved, tmp_path)
    table = np.array([[kind, number] for kind in (*names, "other", np.nan) for number in range(10)], dtype=object)
    for mine, its in zip(loaded.estimators_, saved.estimators_, strict=True):
        assert len(its.categories_[0]) < len(mine.categories_[0]) == 40
        np.testing.assert_array_equal(mine.apply(table), its.apply(table))
        np.testing.assert_array_equal(mine.predict(table), its.predict(table))
    np.testing.assert_array_equal(loaded.decision_function(table), saved.decision_function(table))


def test_a_class_without_weight(tmp_path):
    x, y = rows()
    y[:5] = 2
    saved = AdaBoostClassifier(n_estimators=3, random_state=0).fit(x, y, (y < 2).astype(float))
    assert saved.estimators_[0].classes_.tolist() == [0, 1]
    loaded = again(saved, tmp_path)
    np.testing.assert_array_equal(loaded.decision_function(x), saved.decision_function(x))
    assert (loaded.estimators_[0].predict_proba(x)[:, 2] == 0).all()


def test_equal_ensembles_are_equal_files(tmp_path):
    x, y = rows()
    found = [
        bytes_of(AdaBoostClassifier(n_estimators=3, random_state=0, verbose=v).fit(x, y), tmp_path) for v in (0, 1)
    ]
    assert found[0] == found[1]
    assert bytes_of(AdaBoostClassifier(n_estimators=3, random_state=1).fit(x, y), tmp_path) != found[0]
    refitted = clone(load(tmp_path / "model")).fit(x, y)
    assert bytes_of(refitted, tmp_path) == bytes_of(load(tmp_path / "model"), tmp_path)
    assert load(tmp_path / "model").verbose == 0


@pytest.mark.parametrize(
    "classes",
    [[False, True], [-3, 7], np.array([-1, 4], dtype=np.float32), ["no", "yes"], np.array(["a", "b"], "O")],
)
def test_classes_of_every_type(classes, tmp_path):
    x, y = rows()
    classes = np.asarray(classes)
    saved = AdaBoostClassifier(n_estimators=2, random_state=0).fit(x, classes[y])
    loaded = again(saved, tmp_path)
    np.testing.assert_array_equal(loaded.predict(x), saved.predict(x))
    assert (loaded.classes_.dtype, loaded.predict(x).dtype) == (saved.classes_.dtype, saved.predict(x).dtype)


def test_the_members_are_those_of_the_fit_not_of_the_parameters(tmp_path):
    x, y = rows()
    tree = DecisionTreeClassifier(max_depth=2, criterion="entropy")
    saved = AdaBoostClassifier(tree, n_estimators=3, random_state=0).fit(x, y)
    bound = saved.error_bound_
    loaded = again(saved.set_params(estimator=None, form="exponential", learning_rate=9), tmp_path)
    assert (loaded.estimator, loaded.form, loaded.learning_rate) == (None, "exponential", 9)
    assert loaded.estimator_.get_params() == tree.get_params()
    assert {member.criterion for member in loaded.estimators_} == {"entropy"}
    np.testing.assert_array_equal(loaded.error_bound_, bound)
    np.testing.assert_array_equal(loaded.decision_function(x), saved.decision_function(x))


def test_a_learning_rate_without_a_bound(tmp_path):
    x, y = rows()
    saved = AdaBoostClassifier(n_estimators=3, learning_rate=1e5, random_state=0).fit(x, y)
    assert not np.isfinite(saved.error_bound_).all()
    np.testing.assert_array_equal(again(saved, tmp_path).error_bound_, saved.error_bound_)


def test_an_interrupted_fit_can_be_saved(tmp_path, monkeypatch):
    x, y = rows()
    model, plain = AdaBoostClassifier(n_estimators=5, random_state=0), DecisionTreeClassifier.fit

    def stopped(self, *args, **kwargs):
        if len(model.estimators_) == 2:
            raise KeyboardInterrupt
        return plain(self, *args, **kwargs)

    monkeypatch.setattr(DecisionTreeClassifier, "fit", stopped)
    with pytest.raises(KeyboardInterrupt):
        model.fit(x, y)
    loaded = again(model, tmp_path)
    assert len(loaded.estimators_) == 2
    np.testing.assert_array_equal(loaded.decision_function(x), model.decision_function(x))


# -- frames


@pytest.mark.parametrize("columns", [["east", "north", "up"], [0, 1, 2]])
def test_frames(columns, tools, tmp_path):
    pd = pytest.importorskip("pandas")
    x, y = rows()
    frame = pd.DataFrame(x, columns=columns)
    frame[columns[2]] = pd.Categorical(np.array(["cold", "warm"])[(x[:, 2] > 0).astype(int)])
    tree = DecisionTreeClassifier(max_depth=2, categorical_features=[2])
    saved = AdaBoostClassifier(tree, n_estimators=3, random_state=0).fit(frame, y)
    loaded = again(saved, tmp_path)
    assert loaded._framed
    assert vars(loaded).keys() == vars(saved).keys()
    for member in (loaded, *loaded.estimators_):
        if columns[0] == "east":
            assert member.feature_names_in_.tolist() == columns
        else:
            assert not hasattr(member, "feature_names_in_")
        np.testing.assert_array_equal(member.predict(frame), member.predict(frame.copy()))  # warnings are errors
    np.testing.assert_array_equal(loaded.decision_function(frame), saved.decision_function(frame))
    tools[1].use_ensemble(loaded)
    assert bytes_of(loaded, tmp_path) == bytes_of(saved, tmp_path)


def test_a_frame_is_not_needed_where_there_is_no_pandas(tmp_path, monkeypatch):
    pd = pytest.importorskip("pandas")
    x, y = rows()
    saved = AdaBoostClassifier(n_estimators=2, random_state=0).fit(pd.DataFrame(x, columns=list("abc")), y)
    plain = builtins.__import__

    def without_pandas(name, *args, **kwargs):
        if name == "pandas":
            raise ImportError(name)
        return plain(name, *args, **kwargs)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the table has no names
        expected = saved.decision_function(x)
        monkeypatch.setattr(builtins, "__import__", without_pandas)
        np.testing.assert_array_equal(again(saved, tmp_path).decision_function(x), expected)


def test_names_that_only_the_ensemble_knows(tmp_path):
    """As of tables with names that are no frames: members get arrays."""
    x, y = rows()
    saved = AdaBoostClassifier(n_estimators=2, random_state=0).fit(x, y)
    saved.feature_names_in_ = np.array(["a", "b", "c"], dtype=object)
    loaded = again(saved, tmp_path)
    assert loaded.feature_names_in_.tolist() == ["a", "b", "c"]
    assert not hasattr(loaded.estimators_[0], "feature_names_in_")


# -- what cannot be saved


@pytest.mark.parametrize("member", [GaussianNB(), SklearnTree(max_depth=1), OtherTree(max_depth=1)])
def test_other_members_cannot_be_saved(member, tmp_path):
    x, y = rows()
    model = AdaBoostClassifier(member, n_estimators=2, random_state=0).fit(x, y)
    line = (
        "AdaBoost can only be saved if its members are DecisionTreeClassifier of depthforest.ensemble, got "
        f"{type(member).__module__}.{type(member).__name__}: files hold no code; use pickle"
    )
    with pytest.raises(UsageError, match=f"^{re.escape(line)}$"):
        model.save(tmp_path / "m")
    with pytest.raises(UsageError, match=f"^{re.escape(line)}$"):
        model.set_params(estimator=None).save(tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_what_else_cannot_be_saved(tmp_path, monkeypatch):
    x, y = rows()
    path = tmp_path / "m"
    with pytest.raises(NotFittedError):
        AdaBoostClassifier().save(path)
    with pytest.raises(UsageError, match=r"AdaBoostClassifier can be saved, got OtherBoost$"):
        OtherBoost(n_estimators=2).fit(x, y).save(path)
    model = AdaBoostClassifier(n_estimators=2, random_state=0).fit(x, y)
    with pytest.raises(UsageError, match=r"DecisionTreeClassifier of .* as estimator, got GaussianNB; set_params\(est"):
        model.set_params(estimator=GaussianNB()).save(path)
    with pytest.raises(UsageError, match="as random_state, got RandomState"):
        model.set_params(estimator=DecisionTreeClassifier(random_state=np.random.RandomState(0))).save(path)
    model.set_params(estimator=None)
    with monkeypatch.context() as patch:
        patch.setattr(treestore, "MAX_TREES", 1)
        with pytest.raises(UsageError, match="a file can hold 1 trees, got 2"):
            model.save(path)
    model.estimators_[1].random_state = None
    with pytest.raises(ModelError, match="random_state of a member must be a whole number from 0"):
        model.save(path)
    del model.estimators_[1]
    with pytest.raises(ModelError, match="estimator_errors must be 1, one for each tree; got 2 and 2"):
        model.save(path)
    with pytest.raises(ModelError, match="estimator_weights must be numbers above 0"):
        AdaBoostClassifier(n_estimators=2, learning_rate=1e301).fit(x, y).save(path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", ["too many", "mixed"])
def test_categories_that_members_do_not_share(kind, tmp_path):
    """Each member can split those that it has drawn; a file has one list for all."""
    model = AdaBoostClassifier(n_estimators=2, random_state=0).fit(*rows())
    for number, member in enumerate(model.estimators_):
        own = [np.arange(200) + 100 * number] if kind == "too many" else [np.array([1, 2]), np.array(["a", "b"])]
        member.categories_ = {0: own[number % len(own)]}
    n = 300 if kind == "too many" else 4
    with pytest.raises(UsageError, match=f"at most 254, all text or all numbers; they know {n} of column 0"):
        model.save(tmp_path / "m")


# -- what is refused


def leaves(columns):
    return columns["feature"] == -1


def splits(columns):
    return columns["feature"] != -1


def without_last_tree(_, columns):
    columns["ends"] = columns["ends"][:-1]
    nodes, values, masks = columns["ends"][-1]
    for name in NODE_COLUMNS:
        columns[name] = columns[name][:nodes]
    columns["values"], columns["masks"] = columns["values"][:values], columns["masks"][:masks]


REFUSED = {
    "weight 0": ("stumps", item("estimator_weights", 0, 0), r"estimator_weights must be .* above 0, up to 1e\+300"),
    "weight negative": ("stumps", item("estimator_weights", 1, -1), "estimator_weights must be numbers above 0"),
    "weight NaN": ("weighed", item("estimator_weights", 2, np.nan), "estimator_weights must be numbers above 0"),
    "weight infinite": ("weighed", item("estimator_weights", 2, np.inf), "estimator_weights must be numbers above 0"),
    "weight huge": ("drawn", item("estimator_weights", 0, 1.1e300), r"up to 1e\+300; got \[1.1e\+300"),
    "error NaN": ("stumps", item("estimator_errors", 0, np.nan), "estimator_errors must be .* from 0 and below 0.5"),
    "error negative": ("stumps", item("estimator_errors", 0, -0.1), "estimator_errors must be numbers from 0"),
    "error of chance": ("stumps", item("estimator_errors", 0, 0.5), "from 0 and below 0.5, 0 only in the last round"),
    "error of chance among three": ("weighed", item("estimator_errors", 0, 0.67), "from 0 and below 0.667"),
    "error 0 too early": ("stumps", item("estimator_errors", 1, 0), "0 only in the last round"),
    "seed negative": ("stumps", item("seeds", 2, -1), "seeds must be whole numbers from 0, got"),
    "bound negative": ("stumps", item("error_bound", 0, -1), "error_bound must be 3 numbers from 0 for 2 classes"),
    "bound missing": ("stumps", cut("error_bound"), "error_bound must be 3 numbers from 0 for 2 classes and 3 trees"),
    "no bound": ("stumps", cut("error_bound", 0), "error_bound must be 3 numbers"),
    "bound of more classes": ("weighed", whole_column("error_bound", [1, 1, 1]), "must be 0 numbers .* for 3 classes"),
    "weights missing": ("stumps", cut("estimator_weights"), "column estimator_weights must have shape"),
    "errors missing": ("stumps", cut("estimator_errors"), "column estimator_errors must have shape"),
    "seeds missing": ("stumps", cut("seeds"), "column (seeds|ends) must have shape"),
    "a tree less": ("stumps", without_last_tree, "must have shape"),
    "no trees": ("stumps", lambda _, c: [cut(n, 0)(_, c) for n in ("ends", *ADABOOST_COLUMNS)], "65536 trees, got 0"),
    "lacks a column": ("stumps", lambda _, c: c.pop("estimator_errors"), "lacks the column estimator_errors"),
    "column of a forest": ("stumps", lambda _, c: c.update(positive=np.zeros(0, np.int32)), "column 'positive'"),
    "weights of another type": (
        "stumps",
        lambda _, c: c.update(estimator_weights=c["estimator_weights"].astype(np.float32)),
        "column estimator_weights must be float64, got float32",
    ),
    "share": ("weighed", item("values", (4, 0), 1.5), "must be shares from 0 to 1 that sum to 1"),
    "pure leaves": ("drawn", item("values", (0, 0), 0.5), "the first 4 rows of values must be 1 for their own class"),
    "outputs": ("stumps", lambda _, c: c.update(values=c["values"][:, :1]), "values must have 2 columns, got 1"),
    "child outside": ("weighed", at("child", splits, 77), "tree 0: node 0 must have its children after it"),
    "leaf outside": ("weighed", at("child", leaves, 99), "has no row of the"),
    "no mask": ("drawn", at("mask", lambda c: c["mask"] >= 0, -1), "must have a mask where its column is categorical"),
    "column outside": ("stumps", at("feature", splits, 4), "tree 0: node 0 has no column of the table: 4"),
    "framed no bool": ("stumps", key("fitted", "framed", 1), "framed must be true or false, got 1"),
    "framed null": ("stumps", key("fitted", "framed", None), "framed must be true or false, got None"),
    "member null": ("stumps", key("fitted", "member", None), "member: parameters must be an object with categorical_"),
    "member a text": ("stumps", key("fitted", "member", "GaussianNB"), "member: parameters must be an object with"),
    "member lacks": ("stumps", key("fitted", "member", {"max_depth": 1}), "member: parameters must be an object with"),
    "member's parameter": ("stumps", key("fitted", "member", "max_depth", [1]), "member: parameter max_depth cannot"),
    "estimator a text": ("stumps", key("parameters", "estimator", "GaussianNB"), "estimator: parameters must be an"),
    "estimator a list": ("stumps", key("parameters", "estimator", []), "estimator: parameters must be an object with"),
    "estimator lacks": ("weighed", key("parameters", "estimator", {}), "estimator: parameters must be an object with"),
    "estimator nested": (
        "weighed",
        key("parameters", "estimator", "random_state", {"estimator": None}),
        "estimator: parameter random_state cannot be",
    ),
    "parameter an object": ("stumps", key("parameters", "form", {"a": 1}), "parameter form cannot be"),
    "parameter unknown": ("stumps", key("parameters", "verbose", 1), "parameters must be an object with"),
    "lacks what is fitted": ("stumps", key("fitted", {}), "fitted must be an object with framed, member; got {}"),
    "more is fitted": ("stumps", key("fitted", "loss", "hinge"), "fitted must be an object with framed, member"),
    "no classes": ("stumps", key("classes", None), "classes must be an object with dtype and a list of values"),
    "more classes": ("stumps", key("classes", "values", ["a", "b", "c"]), "values must have 3 columns, got 2"),
    "names": ("stumps", key("feature_names", ["a"]), "feature_names must be null or 4 texts"),
    "n_features": ("drawn", key("n_features", 3), "column of categories must be a whole number"),
    "another estimator": ("stumps", key("estimator", "AdaBoostPoolClassifier"), "estimator must be one of"),
    "a forest": ("stumps", key("estimator", "RandomForestClassifier"), "column"),
}  # fmt: skip


@pytest.mark.parametrize(("name", "change", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused(name, change, message, files, tmp_path):
    path = tmp_path / "broken.safetensors"
    changed(files / name, path, change)
    with pytest.raises(ModelError, match=message) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert len(str(caught.value).splitlines()) == 1


def test_one_class_is_refused(files, tmp_path):
    """Trees of one class are sound, but there is no vote."""
    single = DecisionTreeClassifier().fit([[0.0], [1.0]], ["a", "a"])
    single.save(tmp_path / "tree")
    tree, boost = modelfile.read(tmp_path / "tree"), modelfile.read(files / "perfect")
    content = boost.content | {key: tree.content[key] for key in ("classes", "n_features")}
    columns = boost.columns | tree.columns
    (tmp_path / "m").write_bytes(b"".join(modelfile.encode(KIND, 1, content, columns)))
    with pytest.raises(ModelError, match=r"AdaBoost has at least two classes, got 1$"):
        load(tmp_path / "m")


def test_a_copy_without_a_change_loads(files, tmp_path):
    for name in NAMES:
        changed(files / name, tmp_path / name, lambda *_: None)
        assert (tmp_path / name).read_bytes() == (files / name).read_bytes()


@pytest.mark.parametrize("weight", [LARGEST, 5e-324])
def test_sums_of_the_largest_and_smallest_votes_stay_finite(weight, files, tools, tmp_path):
    for name in NAMES:
        changed(
            files / name, tmp_path / "m", whole_column("estimator_weights", [weight] * (1 if name == "perfect" else 3))
        )
        loaded = load(tmp_path / "m")
        assert np.isfinite(loaded.decision_function(tools[1].table_for(loaded))).all()
        tools[1].use_ensemble(loaded)


# -- mutants


def test_the_loader_survives_a_short_run(tools, files, tmp_path):
    """In this process, which costs no start; the long run has kernels that check their indices."""
    fuzzer = tools[0]
    report = fuzzer.Report()
    valid = [(files / name).read_bytes() for name in NAMES]
    for case in range(240):
        kind, raw = fuzzer.mutant(valid, 5, case)
        (tmp_path / "mutant").write_bytes(raw)
        report.add(case, kind, fuzzer.try_file(tmp_path / "mutant"))
    assert report.failures == []
    for kind in fuzzer.MUTATIONS:
        assert report.counts[kind, fuzzer.REFUSED] > 20
    assert report.counts["arrays", fuzzer.LOADED] > 1
    assert report.counts["metadata", fuzzer.LOADED] > 1


@pytest.mark.slow
def test_the_loader_survives_a_long_run(tools, files):
    fuzzer = tools[0]
    n_cases = 6000
    report = fuzzer.fuzz(n_cases, fuzzer.child_command([files / name for name in NAMES], 0, n_cases))
    assert report.failures == []
    assert sum(report.counts.values()) == n_cases


@pytest.mark.slow
@pytest.mark.parametrize(
    ("check", "name", "expected"),
    [
        ("depthforest.ensemble.tree.checks._check_links", "weighed", ("IndexError", "hangs", "crashes", "MemoryError")),
        ("depthforest.ensemble.tree.checks._check_leaves", "drawn", ("IndexError", "crashes")),
        ("depthforest.ensemble.tree.checks._check_values", "weighed", ("AssertionError",)),
        ("depthforest.ensemble.adaboost.store._check", "stumps", ("AssertionError", "ValueError")),
    ],
)
def test_a_missing_check_is_found(files, check, name, expected):
    """The fuzzer would notice if one of the loader's checks were lost."""
    failures = failures_without(check, files / name)
    assert any(what.startswith(expected) for what in failures), failures


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_a_mutant_is_refused_or_works(data, tools, files, tmp_path_factory):
    """One entry of one column is anything: what loads gives sound answers."""
    name = data.draw(st.sampled_from(NAMES))
    path = tmp_path_factory.getbasetemp() / "adaboost_mutant.safetensors"
    changed(files / name, path, data.draw(one_entry(files / name)))
    try:
        loaded = load(path)
    except ModelError:
        return
    tools[1].use_ensemble(loaded)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 1000),
    n_rows=st.integers(6, 30),
    member=st.fixed_dictionaries(
        {"max_depth": st.sampled_from([1, 2, None]), "categorical_features": st.sampled_from([None, [1]]),
         "max_bins": st.sampled_from([None, 8]), "ccp_alpha": st.sampled_from([0.0, 0.02]),
         "class_weight": st.sampled_from([None, "balanced"])}
    ),
    options=st.fixed_dictionaries(
        {"resample": st.booleans(), "learning_rate": st.sampled_from([0.1, 1.0, 40.0]),
         "form": st.sampled_from(["odds", "exponential"])}
    ),
)  # fmt: skip
def test_whatever_is_fitted_can_be_saved(seed, n_rows, member, options, tmp_path_factory):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 6, (n_rows, 3)).astype(np.float32)
    x[rng.random(x.shape) < 0.2] = np.nan
    y, weights = rng.integers(0, 3, n_rows), rng.random(n_rows) ** 9 * rng.integers(0, 2, n_rows)
    y[:2], weights[:2] = (0, 1), 1.0
    saved = AdaBoostClassifier(DecisionTreeClassifier(**member), n_estimators=3, random_state=seed, **options)
    try:
        saved.fit(x, y, weights)
    except UsageError:  # the first member is no better than a guess
        return
    path = tmp_path_factory.getbasetemp() / "adaboost.safetensors"
    saved.save(path)
    np.testing.assert_array_equal(load(path).decision_function(x), saved.decision_function(x))


# -- the page that describes the format


def test_a_reader_of_thirty_lines_agrees(files, tools):
    """Written from the page alone: no depthforest in it."""
    for name in NAMES:
        raw = (files / name).read_bytes()
        begin = 8 + struct.unpack("<Q", raw[:8])[0]
        header = json.loads(raw[8:begin])
        about = json.loads(header.pop("__metadata__")["depthforest"])
        formats = {"F64": "d", "F32": "f", "I64": "q", "I32": "i", "U32": "I", "U8": "B"}
        flat = {
            column: struct.unpack_from(
                f"<{math.prod(h['shape'])}{formats[h['dtype']]}", raw, begin + h["data_offsets"][0]
            )
            for column, h in header.items()
        }
        codes = {c["column"]: {v: i for i, v in enumerate(c["values"])} for c in about["categories"]}
        ends = [(0, 0, 0), *(flat["ends"][i : i + 3] for i in range(0, len(flat["ends"]), 3))]
        n_classes = len(about["classes"]["values"])
        loaded = load(files / name)
        table = tools[1].table_for(loaded)
        for row, its in zip(table.tolist(), loaded.decision_function(table).tolist(), strict=True):
            votes, total = [0.0] * n_classes, 0.0
            for (root, value, mask), weight in zip(ends[:-1], flat["estimator_weights"], strict=True):
                node = root
                while flat["feature"][node] >= 0:
                    feature = flat["feature"][node]
                    number = codes[feature].get(row[feature]) if feature in codes else row[feature]
                    if number is None or number != number:  # NaN is not itself
                        is_left = flat["missing_go_to_left"][node] == 1
                    elif feature in codes:
                        at_bit = (mask + flat["mask"][node]) * 8 + number // 32
                        is_left = flat["masks"][at_bit] >> number % 32 & 1 == 1
                    else:
                        is_left = number <= flat["threshold"][node]
                    node = root + flat["child"][node] + (0 if is_left else 1)
                first = (value + flat["child"][node]) * n_classes
                shares = flat["values"][first : first + n_classes]
                votes[shares.index(max(shares))] += weight
                total += weight
            s = [vote / total for vote in votes]
            decision = [(n_classes * own - 1) / (n_classes - 1) for own in s] if n_classes > 2 else 2 * (s[1] - s[0])
            assert decision == its


def test_the_page_says_what_the_file_holds():
    text = (TOOLS.parent / "docs" / "MODEL_FORMAT.md").read_text().partition("\n## AdaBoost\n")[2].partition("\n## ")[0]
    for name, column in ADABOOST_COLUMNS.items():
        assert re.search(rf"^\| `{name}` \| {modelfile.CODES[column.dtype]} \|", text, re.MULTILINE), name
    for name in (*OF_ADABOOST, "weight_history_"):
        assert f"`{name}`" in text
    assert AdaBoostClassifier._layout.fitted == OF_ADABOOST
