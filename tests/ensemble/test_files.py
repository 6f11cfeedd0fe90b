"""Tree ensembles as files: what is saved loads back the same, and what is wrong in a file is refused."""

import json
import math
import re
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from support.brokenfiles import at, changed, cut, failures_without, fuzz_tools, item, key, one_entry, whole_column

from depthforest import ensemble
from depthforest.base import modelfile
from depthforest.base.errors import ModelError, UsageError
from depthforest.ensemble.files import TREE_ESTIMATORS, load
from depthforest.ensemble.forests.estimators import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from depthforest.ensemble.forests.store import MAX_ROWS
from depthforest.ensemble.tree.estimators import DecisionTreeClassifier, DecisionTreeRegressor
from depthforest.ensemble.tree.metadata import (
    MAX_CATEGORIES,
    MAX_FEATURES,
    RUN_OPTIONS,
    pack_categories,
    unpack_categories,
)
from depthforest.ensemble.tree.store import ESTIMATORS, FORMAT_VERSION, KEYS, KIND, MAX_TREES

pytestmark = pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")  # few trees

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ROOT / "tools"
GOLDEN = Path(__file__).resolve().parents[1] / "golden"
NAMES = ("tree", "weighed_tree", "number_tree", "forest", "number_forest", "extra", "number_extra")


@pytest.fixture(scope="module")
def tools():
    return fuzz_tools()


@pytest.fixture(scope="module")
def ensembles(tools):
    return dict(zip(NAMES, tools[1].valid_ensembles(), strict=True))


@pytest.fixture(scope="module")
def files(ensembles, tmp_path_factory):
    folder = tmp_path_factory.mktemp("valid")
    for name, estimator in ensembles.items():
        estimator.save(folder / name)
    return folder


def numbers(n=60, n_features=3, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, n_features)).astype(np.float32)
    return x, x[:, 0] - np.abs(x[:, 1])


def again(estimator, folder):
    estimator.save(folder / "model")
    return load(folder / "model")


# -- what is saved loads back


@pytest.mark.parametrize("name", NAMES)
def test_what_is_saved_loads_back(name, ensembles, files, tools, tmp_path):
    saved, loaded = ensembles[name], load(files / name)
    assert type(loaded) is type(saved)
    assert loaded.get_params() == saved.get_params()
    table = tools[1].table_for(saved)
    assert len(np.unique(saved.apply(table))) > 1
    np.testing.assert_array_equal(loaded.apply(table), saved.apply(table))
    np.testing.assert_array_equal(loaded.predict(table), saved.predict(table))
    assert loaded.predict(table).dtype == saved.predict(table).dtype
    np.testing.assert_array_equal(loaded.feature_importances_, saved.feature_importances_)
    if hasattr(saved, "classes_"):
        np.testing.assert_array_equal(loaded.predict_proba(table), saved.predict_proba(table))
    tools[1].use_ensemble(loaded)
    assert again(loaded, tmp_path).get_params() == saved.get_params()
    assert (tmp_path / "model").read_bytes() == (files / name).read_bytes()


@pytest.mark.parametrize("name", NAMES)
def test_every_column_of_a_tree_comes_back(name, ensembles, files):
    saved, loaded = ensembles[name], load(files / name)
    pairs = zip(saved.trees_, loaded.trees_, strict=True) if hasattr(saved, "trees_") else [(saved.tree_, loaded.tree_)]
    for old, new in pairs:
        for column, array in vars(old).items():
            if isinstance(array, np.ndarray) and column not in ("parents", "depths", "value"):
                np.testing.assert_array_equal(getattr(new, column), array)
                assert getattr(new, column).dtype == array.dtype
                assert getattr(new, column).flags.writeable  # else kernels compile for another type
        assert new.n_shared == old.n_shared


@pytest.mark.parametrize("name", ["forest", "number_forest", "number_extra"])
def test_what_forests_know_comes_back(name, ensembles, files):
    saved, loaded = ensembles[name], load(files / name)
    assert len(loaded) == len(saved)
    for mine, its in zip(loaded.estimators_samples_, saved.estimators_samples_, strict=True):
        np.testing.assert_array_equal(mine, its)
    known = [a for a in vars(saved) if re.fullmatch("(oob_.*|strength|correlation|error_bound)_", a)]
    for attribute in known:
        if attribute in ("oob_decision_function_", "oob_prediction_"):
            assert not hasattr(loaded, attribute)
        else:
            np.testing.assert_array_equal(getattr(loaded, attribute), getattr(saved, attribute))
    assert bool(known) == (name != "number_forest")
    assert [m.random_state for m in loaded.estimators_] == [m.random_state for m in saved.estimators_]


def test_quantiles_and_importance_of_a_loaded_forest(tmp_path):
    x, y = numbers()
    for kind in (RandomForestRegressor, ExtraTreesRegressor):
        saved = kind(4, random_state=0, quantiles=True, bootstrap=True, min_samples_leaf=3).fit(x, y)
        loaded = again(saved, tmp_path)
        np.testing.assert_array_equal(loaded.predict_quantiles(x), saved.predict_quantiles(x))
        assert np.ptp(saved.predict_quantiles(x), axis=1).min() > 0
        its = saved.permutation_importance(x, y).importances
        np.testing.assert_array_equal(loaded.permutation_importance(x, y).importances, its)
    plain = again(RandomForestRegressor(2, random_state=0).fit(x, y), tmp_path)
    with pytest.raises(UsageError, match="fit with quantiles=True"):
        plain.predict_quantiles(x)


def test_a_loaded_forest_grows_on(tmp_path):
    x, y = numbers()
    saved = RandomForestClassifier(2, random_state=0, warm_start=True, oob_score=True).fit(x, y > 0)
    loaded = again(saved, tmp_path)
    for forest in (saved, loaded):
        forest.set_params(n_estimators=5).fit(x, y > 0)
    np.testing.assert_array_equal(loaded.predict_proba(x), saved.predict_proba(x))
    fresh = RandomForestClassifier(5, random_state=0, oob_score=True).fit(x, y > 0)
    np.testing.assert_array_equal(loaded.oob_errors_, fresh.oob_errors_)
    # more trees are wanted than are there: as after an interrupt
    waiting = again(saved.set_params(n_estimators=7), tmp_path)
    assert (waiting.n_estimators, len(waiting)) == (7, 5)


@pytest.mark.parametrize(
    "labels",
    [
        np.array([3, -7]), np.array([3, 200], np.uint8), np.array([2**63, 2**64 - 1], np.uint64), np.array([0.0, 1.0]),
        np.array([1, 2], np.float32), np.array([1, 2], np.float16), np.array([False, True]), np.array(["b", "a\u00fc"]),
        np.array(["no", "yes"], dtype=object),
    ],
    ids=lambda labels: str(labels.dtype),
)  # fmt: skip
def test_classes_of_every_kind(labels, tmp_path):
    x, y = numbers()
    saved = DecisionTreeClassifier(max_depth=2, class_weight="balanced").fit(x, labels[(y > 0).astype(int)])
    loaded = again(saved, tmp_path)
    assert loaded.classes_.dtype == saved.classes_.dtype
    assert loaded.classes_.tolist() == saved.classes_.tolist()
    assert loaded.predict(x).tolist() == saved.predict(x).tolist()


def test_one_class_and_one_number(tmp_path):
    x, _ = numbers()
    one = again(RandomForestClassifier(2, random_state=0).fit(x, np.zeros(len(x), int)), tmp_path)
    assert one.predict_proba(x).tolist() == [[1.0]] * len(x)
    one = again(DecisionTreeRegressor().fit(x, np.full(len(x), 1e6)), tmp_path)
    assert set(one.predict(x)) == {1e6}


def test_tables_of_pandas(tmp_path):
    pd = pytest.importorskip("pandas")
    x, y = numbers()
    table = pd.DataFrame(x, columns=["a", "b", "c"])
    table["kind"] = pd.Categorical(np.where(y > 0, "u", np.where(x[:, 2] > 0, "v", "w")))
    table["level"] = pd.Categorical((x[:, 1] * 2).round() / 2)
    saved = RandomForestClassifier(3, random_state=0, categorical_features="from_dtype").fit(table, y > -1)
    loaded = again(saved, tmp_path)
    assert loaded.feature_names_in_.tolist() == [*"abc", "kind", "level"]
    assert loaded.feature_names_in_.dtype == object
    assert {column: values.tolist() for column, values in loaded.categories_.items()} == {
        3: ["u", "v", "w"],
        4: sorted(set(((x[:, 1] * 2).round() / 2).tolist())),
    }
    assert any((tree.mask >= 0).any() for tree in saved.trees_)
    np.testing.assert_array_equal(loaded.predict_proba(table), saved.predict_proba(table))
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(table.rename(columns={"a": "z"}))


def test_parameters_of_every_kind(tmp_path):
    x, y = numbers()
    given_ = {"max_depth": np.int64(3), "class_weight": {False: 1, True: np.float64(2.5)}, "min_samples_leaf": 0.1}
    saved = DecisionTreeClassifier(**given_, categorical_features=np.array([False, False, False])).fit(x, y > 0)
    loaded = again(saved, tmp_path)
    assert loaded.get_params() == {**saved.get_params(), "categorical_features": [False, False, False]}
    assert [type(key) for key in loaded.class_weight] == [bool, bool]
    np.testing.assert_array_equal(loaded.fit(x, y > 0).predict_proba(x), saved.predict_proba(x))


def test_equal_forests_are_equal_files(tmp_path):
    x, y = numbers()
    for number, options in enumerate([{}, {"n_jobs": 2, "verbose": 0}, {"n_jobs": -1}]):
        RandomForestRegressor(3, random_state=0, **options).fit(x, y).save(tmp_path / str(number))
    assert len({(tmp_path / str(number)).read_bytes() for number in range(3)}) == 1
    loaded = load(tmp_path / "1")
    assert [getattr(loaded, name) for name in RUN_OPTIONS] == [None, 0]
    RandomForestRegressor(3, random_state=1).fit(x, y).save(tmp_path / "other")
    assert (tmp_path / "other").read_bytes() != (tmp_path / "0").read_bytes()


def test_rows_without_weight_are_never_drawn(ensembles, files):
    saved, loaded = ensembles["number_forest"], load(files / "number_forest")
    assert 0 < len(loaded._positive) < loaded.n_rows_
    np.testing.assert_array_equal(loaded._positive, saved._positive)


def test_out_of_bag_errors_may_be_unknown_at_first(tmp_path):
    x, _ = numbers(3)
    saved = RandomForestClassifier(1, random_state=4, oob_score=True, max_samples=1).fit(x, [0, 1, 1])
    saved.oob_errors_[0], saved.oob_score_ = np.nan, np.nan
    loaded = again(saved, tmp_path)
    assert math.isnan(loaded.oob_score_)
    assert np.isnan(loaded.oob_errors_).tolist() == [True]
    assert loaded.error_bound_ == saved.error_bound_


def test_the_results_of_another_fit_are_left_out(tmp_path):
    x, y = numbers()
    forest = RandomForestRegressor(2, random_state=0, oob_score=True, quantiles=True).fit(x, y)
    forest.set_params(n_estimators=3, oob_score=False, quantiles=False).fit(x, y)
    loaded = again(forest, tmp_path)
    assert not hasattr(loaded, "oob_errors_")
    with pytest.raises(UsageError, match="fit with quantiles=True"):
        loaded.predict_quantiles(x)


# -- what cannot be saved


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"random_state": np.random.RandomState(0)}, "as random_state, got RandomState"),
        ({"categorical_features": range(0)}, "as categorical_features, got range"),
    ],
)
def test_parameters_that_a_file_cannot_hold(options, message, tmp_path):
    x, y = numbers()
    tree = DecisionTreeRegressor(**options).fit(x, y)
    with pytest.raises(UsageError, match=rf"numbers, text, true, false and None {message}.*; set_params\("):
        tree.save(tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_what_else_cannot_be_saved(tmp_path):
    x, y = numbers()
    with pytest.raises(NotFittedError):
        RandomForestRegressor().save(tmp_path / "m")

    class Mine(DecisionTreeRegressor):
        pass

    with pytest.raises(UsageError, match=r"only DecisionTreeClassifier, .* can be saved, got Mine"):
        Mine().fit(x, y).save(tmp_path / "m")
    tree = DecisionTreeClassifier().fit(x, y > 0)
    tree.classes_ = np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[D]")
    with pytest.raises(UsageError, match=r"numbers up to 64 bits as classes, got datetime64\[D\]"):
        tree.save(tmp_path / "m")
    tree.classes_ = np.array([0.0, np.inf])
    with pytest.raises(UsageError, match="only finite numbers as classes"):
        tree.save(tmp_path / "m")
    number = DecisionTreeRegressor().fit(x, y)
    number.tree_.threshold[0] = np.nan
    with pytest.raises(ModelError, match="tree 0: node 0 has no threshold"):
        number.save(tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_quantiles_of_a_warm_start_with_other_weights(tmp_path):
    x, y = numbers()
    forest = RandomForestRegressor(2, random_state=0, quantiles=True, warm_start=True).fit(x, y)
    forest.set_params(n_estimators=3).fit(x, y, np.arange(len(y)) % 2)
    with pytest.raises(ModelError, match="tree 0: its leaves must hold the rows that its seed draws"):
        forest.save(tmp_path / "m")


# -- what is refused


def leaves(columns):
    return columns["feature"] == -1


def splits(columns):
    return columns["feature"] != -1


def own_leaves(columns):
    return leaves(columns) & (columns["child"] >= 3)


def mixed_splits(columns):
    return columns["mask"] >= 0


REFUSED = {
    "feature too large": ("tree", item("feature", 0, 4), "tree 0: node 0 has no column of the table: 4"),
    "feature below -1": ("tree", item("feature", 0, -2), "node 0 has no column of the table: -2"),
    "child before its parent": ("number_tree", item("child", 0, 0), "node 0 must have its children after it"),
    "child outside": ("tree", item("child", 0, 2), "after it and within the 3 nodes: 2"),
    "child huge": ("tree", item("child", 0, 2**31 - 1), "within the 3 nodes: 2147483647"),
    "child negative": ("tree", item("child", 0, -5), "within the 3 nodes: -5"),
    "two parents": ("number_tree", item("child", 0, 3), "node [0-9]+ must have one parent, or be the root: [02]"),
    "value outside": ("number_tree", at("child", leaves, 10**6), "has no row of the [0-9]+ values: 1000000"),
    "value negative": ("forest", at("child", leaves, -1), "has no row of the [0-9]+ values: -1"),
    "value used twice": ("weighed_tree", at("child", own_leaves, 4), "row of values [0-9]+ must belong to one leaf: 0"),
    "value unused": ("weighed_tree", at("child", own_leaves, 0), "row of values 3 must belong to one leaf: 0"),
    "threshold NaN": ("tree", item("threshold", 0, np.nan), "node 0 has no threshold: nan"),
    "threshold -inf": ("tree", item("threshold", 0, -np.inf), "node 0 has no threshold: -inf"),
    "leaf with threshold": ("tree", at("threshold", leaves, 0.5), "is a leaf: its threshold must be inf"),
    "leaf with mask": ("forest", at("mask", leaves, 0), "is a leaf"),
    "missing to the right of a leaf": ("tree", at("missing_go_to_left", leaves, 0), "is a leaf"),
    "missing to nowhere": ("tree", item("missing_go_to_left", 0, 2), "must send missing values to one side, 0 or 1: 2"),
    "mask outside": ("forest", at("mask", mixed_splits, 99), "tree 1: node 0 has no row of the 2 masks: 99"),
    "mask below -1": ("tree", item("mask", 0, -2), "has no row of the 0 masks: -2"),
    "no mask": ("forest", at("mask", mixed_splits, -1), "must have a mask where its column is categorical: -1"),
    "mask at numbers": (
        "number_forest",
        at("mask", lambda c: splits(c) & (c["mask"] < 0) & (np.arange(len(c["mask"])) < c["ends"][0, 0]), 0),
        "must have a mask where its column is categorical: 0",
    ),
    "mask used twice": ("number_forest", at("mask", mixed_splits, 1), "row of masks 1 must belong to one node: 2"),
    "impurity": ("tree", item("impurity", 0, np.nan), "node 0 must have a finite impurity from 0: nan"),
    "impurity below 0": ("tree", item("impurity", 0, -1e-9), "finite impurity"),
    "impurity huge": ("tree", item("impurity", 0, 1e300), r"a weight times impurity up to 1e\+300"),
    "no weight": ("tree", item("weighted_n_node_samples", 0, 0), "must have a finite weight above 0: 0.0"),
    "weight of children": ("tree", item("weighted_n_node_samples", 0, 41), "must weigh as much as its children: 41.0"),
    "rows of children": ("tree", item("n_node_samples", 0, 41), "must have as many rows as its children: 41"),
    "no rows": ("tree", item("n_node_samples", 2, 0), "node 2 must have at least one row: 0"),
    "value NaN": ("number_tree", item("values", (0, 0), np.nan), r"row of values 0 must be up to 1e\+300.*: \[nan\]"),
    "value huge": ("number_tree", item("values", (0, 0), 1e299), r"row of values 0 must be up to 1e\+300"),
    "share above 1": ("weighed_tree", item("values", (3, 0), 1.5), "row of values 3 must be shares from 0 to 1"),
    "share below 0": ("weighed_tree", item("values", 3, (-0.5, 1, 0.5)), "must be shares from 0 to 1 that sum to 1"),
    "share NaN": ("weighed_tree", item("values", (3, 1), np.nan), "must be shares from 0 to 1 that sum to 1"),
    "shares that do not sum": ("weighed_tree", item("values", 3, (0.5, 0.2, 0.2)), "that sum to 1"),
    "class rows": ("forest", item("values", (1, 1), 0.5), "the first 3 rows of values must be 1 for their own class"),
    "ends beyond": ("forest", item("ends", (0, 0), 10**9), "ends of trees must ascend"),
    "ends negative": ("forest", item("ends", (0, 1), -(2**63)), "ends of trees must ascend"),
    "ends short": ("forest", item("ends", (2, 0), 3), "ends of trees must ascend to the"),
    "tree without nodes": ("forest", item("ends", (0, 0), 0), "every tree must have a node and 3 rows of values"),
    "ends that fall": ("number_forest", item("ends", (0, 2), 0), "has no row of the 0 masks"),
    "no trees": ("forest", cut("ends", 0), "RandomForestClassifier has 1 to 65536 trees, got 0"),
    "two trees": ("tree", whole_column("ends", [[1, 2, 0], [3, 2, 0]]), "Classifier has 1 to 1 trees, got 2"),
    "nodes missing": ("forest", cut("mask"), r"column mask must have shape \([0-9]+\), got"),
    "outputs": ("tree", whole_column("values", np.eye(3)), "values must have 2 columns, got 3"),
    "words": ("forest", whole_column("masks", np.zeros((4, 7))), r"column masks must have shape \(masks, 8\)"),
    "too few seeds": ("forest", cut("seeds", 2), "seeds must be .*, at least one for each of the 3 trees"),
    "negative seed": ("forest", item("seeds", 1, -1), "seeds must be whole numbers from 0"),
    "positive twice": ("forest", item("positive", 1, 0), "positive must be ascending rows from 0 to 39"),
    "positive outside": ("forest", item("positive", -1, 40), "positive must be ascending rows from 0 to 39"),
    "positive missing": ("forest", cut("positive", 2), "tree 0: has [0-9]+ rows, the forest 2"),
    "errors missing": ("forest", cut("oob_errors", 2), "oob_errors must be numbers from 0, one for each of 3 trees"),
    "errors infinite": ("forest", item("oob_errors", 1, np.inf), "oob_errors must be numbers from 0"),
    "errors unknown later": ("forest", item("oob_errors", 1, np.nan), "only the first may be NaN"),
    "scores without errors": ("forest", cut("oob_errors", 0), "correlation, oob_score, strength must be null"),
    "rows missing": ("number_forest", cut("rows"), "rows and targets must be none, or [0-9]+ and 40; got"),
    "rows alone": ("number_forest", cut("rows", 0), "rows and targets must be none, or [0-9]+ and 40; got 0 and 40"),
    "another row": ("number_forest", item("rows", 0, 10**9), "tree 0: its leaves must hold the rows"),
    "another seed": ("number_forest", item("seeds", 1, 5), "tree 1: its leaves must hold the rows that its seed draws"),
    "target": ("number_forest", item("targets", 0, np.inf), "targets must be finite, and weights finite"),
    "weight": ("number_forest", item("weights", 0, -1), "weights finite and nonnegative"),
    "weight elsewhere": (
        "number_forest",
        lambda _, c: c.update(weights=np.ones(40)),
        "weights must be above 0 for the rows that have weight, and for no others",
    ),
    "estimator": ("tree", key("estimator", "os.system"), "estimator must be one of Deci.*'os.system'"),
    "estimator no text": ("tree", key("estimator", ["x"]), r"estimator must be one of .*\['x'\]"),
    "another estimator": ("tree", key("estimator", "DecisionTreeRegressor"), "parameters must be an object with"),
    "estimator of other columns": ("tree", key("estimator", "ExtraTreesClassifier"), "lacks the column seeds"),
    "unknown key": ("tree", key("more", 1), "has the unknown metadata key 'more'"),
    "lacks a parameter": ("tree", lambda c, _: c["parameters"].pop("splitter"), "parameters must be an object with"),
    "unknown parameter": ("tree", key("parameters", "n_jobs", 4), "parameters must be an object with"),
    "parameter": ("tree", key("parameters", "max_depth", [1]), r"parameter max_depth cannot be \[1\]"),
    "class weight": ("tree", key("parameters", "class_weight", [[1, "a"]]), "parameter class_weight cannot be"),
    "unhashable class": ("tree", key("parameters", "class_weight", [[[], 1]]), "parameter class_weight cannot be"),
    "categorical": ("tree", key("parameters", "categorical_features", [{}]), "categorical_features cannot be"),
    "classes": ("tree", key("classes", None), "classes must be an object with dtype and a list of values, got None"),
    "classes of numbers": ("number_tree", key("classes", [1]), "classes must be null for DecisionTreeRegressor"),
    "classes twice": ("forest", key("classes", "values", list("aab")), "ascending, without duplicates"),
    "classes in another order": ("forest", key("classes", "values", list("bac")), "ascending, without duplicates"),
    "no classes": ("tree", key("classes", "values", []), "classes must be one or more"),
    "classes missing": ("forest", key("classes", "values", list("ab")), "values must have 2 columns, got 3"),
    "class of another kind": ("forest", key("classes", "values", ["a", "b", 3]), "classes must all be text"),
    "dtype of classes": ("forest", key("classes", "dtype", "complex64"), "dtype of classes must be str, object, bool"),
    "class that ends in zero": ("forest", key("classes", "values", ["a", "b", "c\0"]), "end in a zero character"),
    "classes too long": ("forest", key("classes", "values", ["a"] * 2000 + ["b" * 10**4]), "more memory than 16777216"),
    "whole number as bool": ("tree", key("classes", "values", [False, 1]), "classes must all be bool"),
    "class that does not fit": (
        "extra",
        key("classes", {"dtype": "float32", "values": [0.0, 1.0, 2.1]}),
        "classes must all be float32",
    ),
    "class beyond its type": (
        "weighed_tree",
        key("classes", {"dtype": "int8", "values": [0, 1, 200]}),
        "classes must all be int8",
    ),
    "n_features": ("tree", key("n_features", 0), "n_features must be a whole number from 1 to 1048576, got 0"),
    "n_features huge": ("tree", key("n_features", 2**40), "n_features must be a whole number from 1 to"),
    "n_features bool": ("tree", key("n_features", True), "n_features must be a whole number"),
    "n_features too few": ("forest", key("n_features", 3), "column of categories must be a whole number from 2 to 2"),
    "names": ("tree", key("feature_names", ["a"]), "feature_names must be null or 4 texts"),
    "names no text": ("tree", key("feature_names", [1, 2, 3, 4]), "feature_names must be null or 4 texts"),
    "categories": ("forest", key("categories", {}), "categories must be a list"),
    "category": ("forest", key("categories", 0, 1), "an entry of categories must have column, dtype and values"),
    "category twice": ("forest", key("categories", 0, "values", ["a", "a"]), "at most 1048576, without duplicates"),
    "column of categories twice": ("forest", key("categories", 1, "column", 1), "column of categories must be"),
    "categories gone": ("forest", key("categories", []), "must have a mask where its column is categorical"),
    "fitted": ("tree", key("fitted", {"n_rows": 1}), "fitted must be an object with no keys"),
    "fitted of a forest": ("forest", key("fitted", {}), "fitted must be an object with n_drawn, n_rows, oob_score"),
    "n_rows": ("forest", key("fitted", "n_rows", 2**31), "n_rows must be a whole number from 1 to 2147483647"),
    "n_rows of targets": ("number_forest", key("fitted", "n_rows", 41), "or [0-9]+ and 41; got [0-9]+ and 40"),
    "n_drawn": ("forest", key("fitted", "n_drawn", 40), "n_drawn must be a whole number from 1 to"),
    "strength": ("forest", key("fitted", "strength", "much"), "strength must be a number or null, got 'much'"),
}  # fmt: skip


@pytest.mark.parametrize(("name", "change", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused(name, change, message, files, tmp_path):
    path = tmp_path / "broken.safetensors"
    changed(files / name, path, change)
    with pytest.raises(ModelError, match=message) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert len(str(caught.value).splitlines()) == 1
    assert "\0" not in str(caught.value)


def test_a_copy_without_a_change_loads(files, tmp_path):
    for name in NAMES:
        changed(files / name, tmp_path / name, lambda *_: None)
        assert (tmp_path / name).read_bytes() == (files / name).read_bytes()


def test_other_kinds_and_versions_are_refused(files, tmp_path):
    with pytest.raises(ModelError, match="holds a model of kind 'depth_forest', expected 'tree_ensemble'"):
        load(GOLDEN / "forest.safetensors")
    file = modelfile.read(files / "tree")
    modelfile.write(tmp_path / "m", KIND, FORMAT_VERSION + 1, file.content, file.columns)
    with pytest.raises(ModelError, match="has format version 2, this depthforest reads 1; update depthforest"):
        load(tmp_path / "m")
    with pytest.raises(ModelError, match="cannot be read: no such file"):
        load(tmp_path / "none")


# -- mutants


def test_the_loader_survives_a_short_run(tools, files):
    fuzzer = tools[0]
    n_cases = 120
    report = fuzzer.fuzz(n_cases, fuzzer.child_command([files / name for name in NAMES], 5, n_cases))
    assert report.failures == []
    assert sum(report.counts.values()) == n_cases
    for kind in fuzzer.MUTATIONS:
        assert report.counts[kind, fuzzer.REFUSED] > 12
    assert report.counts["arrays", fuzzer.LOADED] > 1
    assert report.counts["metadata", fuzzer.LOADED] > 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("check", "name", "expected"),
    [
        (
            "depthforest.ensemble.tree.checks._check_links",
            "number_tree",
            ("IndexError", "hangs", "crashes", "MemoryError"),
        ),
        ("depthforest.ensemble.tree.checks._check_leaves", "extra", ("IndexError", "crashes")),
        ("depthforest.ensemble.tree.checks._check_splits", "weighed_tree", ("IndexError", "crashes")),
        ("depthforest.ensemble.tree.checks._check_amounts", "tree", ("AssertionError",)),
        ("depthforest.ensemble.tree.checks._check_values", "forest", ("AssertionError",)),
        (
            "depthforest.ensemble.forests.store._check_kept",
            "number_forest",
            ("IndexError", "AssertionError", "crashes"),
        ),
        ("depthforest.ensemble.tree.store._check_ends", "number_extra", ("IndexError", "ValueError", "crashes")),
    ],
)
def test_a_missing_check_is_found(files, check, name, expected):
    """The fuzzer would notice if one of the loader's checks were lost."""
    failures = failures_without(check, files / name)
    assert any(what.startswith(expected) for what in failures), failures


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_mutant_is_refused_or_works(data, tools, files, tmp_path_factory):
    """One entry of one column is anything: what loads gives sound answers."""
    name = data.draw(st.sampled_from(NAMES))
    path = tmp_path_factory.getbasetemp() / "mutant.safetensors"
    changed(files / name, path, data.draw(one_entry(files / name)))
    try:
        loaded = load(path)
    except ModelError:
        return
    tools[1].use_ensemble(loaded)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 1000),
    n_rows=st.integers(2, 40),
    n_classes=st.integers(1, 4),
    kind=st.sampled_from([RandomForestClassifier, ExtraTreesClassifier, RandomForestRegressor, ExtraTreesRegressor]),
    has_categories=st.booleans(),
)
def test_whatever_is_grown_can_be_saved(seed, n_rows, n_classes, kind, has_categories, tmp_path_factory):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 6, (n_rows, 3)).astype(np.float32)
    x[rng.random(x.shape) < 0.2] = np.nan
    y, weights = rng.integers(0, n_classes, n_rows), rng.random(n_rows) ** 9 * rng.integers(0, 2, n_rows)
    weights[0] = 1.0
    options = {"quantiles": True} if kind in (RandomForestRegressor, ExtraTreesRegressor) else {}
    options["categorical_features"] = [1] if has_categories else None
    saved = kind(2, random_state=seed, ccp_alpha=0.001, **options).fit(x, y, weights)
    path = tmp_path_factory.getbasetemp() / "grown.safetensors"
    saved.save(path)
    loaded = load(path)
    np.testing.assert_array_equal(loaded._mean(x), saved._mean(x))
    if "quantiles" in options:
        np.testing.assert_array_equal(loaded.predict_quantiles(x), saved.predict_quantiles(x))


# -- the stored ensemble, and the page that describes the format


def test_the_stored_ensemble_predicts_as_it_did(tmp_path):
    expected = json.loads((GOLDEN / "ensemble.json").read_text())
    forest = load(GOLDEN / "ensemble.safetensors")
    rows = np.array([[np.nan if v is None else v for v in row] for row in expected["rows"]], dtype=object)
    assert forest.apply(rows).tolist() == expected["leaves"]
    assert forest.predict_proba(rows).tolist() == expected["shares"]
    assert forest.predict(rows).tolist() == [forest.classes_[np.argmax(shares)] for shares in expected["shares"]]
    assert forest.oob_score_ == expected["oob_score"]
    forest.save(tmp_path / "again")
    assert parts_of(tmp_path / "again") == parts_of(GOLDEN / "ensemble.safetensors")


def parts_of(path):
    """Return the content, the header of the columns and the columns of a file, without a parameter that came later."""
    data = path.read_bytes()
    end = 8 + struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:end])
    content = json.loads(header.pop("__metadata__")["depthforest"])
    content["parameters"].pop("monotonic_cst", None)
    return content, header, data[end:]


def chapter():
    return (ROOT / "docs" / "MODEL_FORMAT.md").read_text().partition("# Tree ensembles")[2]


def test_too_many_categories_are_neither_written_nor_read():
    many = np.arange(MAX_CATEGORIES + 1)
    with pytest.raises(UsageError, match="at most 1048576 categories of a column, column 3 has 1048577"):
        pack_categories({3: many})
    content = [{"column": 3, "dtype": "int64", "values": many.tolist()}]
    with pytest.raises(ModelError, match="categories of column 3 must be at most 1048576, without duplicates"):
        unpack_categories(content, 5)


def test_the_page_names_every_column_key_and_limit():
    text = chapter()
    for estimator, kind in TREE_ESTIMATORS.items():
        assert f"`{estimator}`" in text
        for name, entry in kind._layout.schema.items():
            code = modelfile.CODES[entry.dtype]
            assert re.search(rf"^\| `{name}` \| {code} \|", text, re.MULTILINE), name
        for name in kind._layout.fitted:
            assert f"`{name}`" in text
    for name in (*KEYS, "kind", "format"):
        assert f"| `{name}` |" in text, name
    for limit in (MAX_TREES, MAX_FEATURES, MAX_CATEGORIES, MAX_ROWS):
        assert re.search(rf"\b{limit}\b", text), limit


def test_the_loader_knows_every_class_that_can_be_saved():
    assert tuple(TREE_ESTIMATORS) == ESTIMATORS
    public = (getattr(ensemble, name) for name in ensemble.__all__)
    assert {own.__name__ for own in public if "_layout" in vars(own)} == set(ESTIMATORS)


def test_a_reader_of_thirty_lines_agrees():
    """Written from the page alone: no depthforest in it."""
    expected = json.loads((GOLDEN / "ensemble.json").read_text())
    raw = (GOLDEN / "ensemble.safetensors").read_bytes()
    start = 8 + struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8:start])
    about = json.loads(header.pop("__metadata__")["depthforest"])
    assert (about["kind"], about["format"]) == ("tree_ensemble", 1)
    formats = {"F64": "d", "F32": "f", "I64": "q", "I32": "i", "U32": "I", "U8": "B"}
    flat = {
        name: struct.unpack_from(f"<{math.prod(h['shape'])}{formats[h['dtype']]}", raw, start + h["data_offsets"][0])
        for name, h in header.items()
    }
    codes = {c["column"]: {v: i for i, v in enumerate(c["values"])} for c in about["categories"]}
    n_classes = len(about["classes"]["values"])
    ends = [(0, 0, 0), *(flat["ends"][i : i + 3] for i in range(0, len(flat["ends"]), 3))]
    for row, shares in zip(expected["rows"], expected["shares"], strict=True):
        sums = [0.0] * n_classes
        for root, value, mask in ends[:-1]:
            node = root
            while flat["feature"][node] >= 0:
                feature = flat["feature"][node]
                number = codes[feature].get(row[feature]) if feature in codes else row[feature]
                if number is None:
                    is_left = flat["missing_go_to_left"][node] == 1
                elif feature in codes:
                    at_bit = (mask + flat["mask"][node]) * 8 + number // 32
                    is_left = flat["masks"][at_bit] >> number % 32 & 1 == 1
                else:
                    is_left = struct.unpack("f", struct.pack("f", number))[0] <= flat["threshold"][node]
                node = root + flat["child"][node] + (0 if is_left else 1)
            at_value = (value + flat["child"][node]) * n_classes
            sums = [s + v for s, v in zip(sums, flat["values"][at_value : at_value + n_classes], strict=True)]
        assert [s / (len(ends) - 1) for s in sums] == shares
