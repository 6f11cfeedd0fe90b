"""What users pass: tables, categories, targets and weights, parameters that cannot be. Kernels compile once."""

import importlib
import math
import pkgutil

import numpy as np
import pandas as pd
import pytest
from numba.core.registry import CPUDispatcher
from numba.core.types import Array, unliteral
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone

import depthforest.ensemble
from depthforest.base.errors import UsageError
from depthforest.ensemble import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    NewtonBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)

pytestmark = pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")  # few trees

TREES = [DecisionTreeClassifier, DecisionTreeRegressor]
FORESTS = [RandomForestClassifier, RandomForestRegressor, ExtraTreesClassifier, ExtraTreesRegressor]
ALL = [*TREES, *FORESTS]
X = np.array([[0, 5], [1, 4], [2, 3], [3, 2], [4, 1], [5, 0]], dtype=np.float64)
Y = np.array([0, 0, 0, 1, 1, 1])


def small(kind, **parameters):
    return kind(**({"n_estimators": 3} if kind in FORESTS else {}), **({"random_state": 0} | parameters))


# -- tables ------------------------------------------------------------------------------------------------------------


def kinds_of_tables(x):
    read_only = x.astype(np.float32)
    read_only.setflags(write=False)
    unaligned = np.frombuffer(b"\0" + x.astype(np.float32).tobytes(), dtype=np.float32, offset=1).reshape(x.shape)
    return {
        "float64": x,
        "float32": x.astype(np.float32),
        "int32": x.astype(np.int32),
        "int64": x.astype(np.int64),
        "uint8": x.astype(np.uint8),
        "fortran": np.asfortranarray(x),
        "strided": np.repeat(np.repeat(x, 2, axis=0), 3, axis=1)[::2, ::3],
        "reversed": x[::-1][::-1],
        "list": x.tolist(),
        "frame": pd.DataFrame(x, columns=["a", "b"]),
        "frame of kinds": pd.DataFrame({"a": x[:, 0].astype(np.int8), "b": x[:, 1]}),
        "nullable": pd.DataFrame({"a": pd.array(x[:, 0].astype(int), dtype="Int64"), "b": x[:, 1]}),
        "read-only": read_only,
        "unaligned": unaligned,
        "objects": x.astype(object),
    }


@pytest.mark.parametrize("kind", ALL)
def test_all_kinds_of_tables_are_the_same(kind):
    ref = small(kind).fit(X, Y).predict(X)
    for name, table in kinds_of_tables(X).items():
        assert_array_equal(small(kind).fit(table, Y).predict(table), ref, err_msg=name)
    is_large = X > 2
    assert_array_equal(small(kind).fit(is_large, Y).predict(is_large), Y)


@pytest.mark.parametrize("kind", [DecisionTreeClassifier, RandomForestClassifier])
def test_all_kinds_of_classes(kind):
    for labels in (
        np.int8([3, 7]),
        np.int64([-1, 1]),
        np.array(["no", "yes"]),
        np.array([False, True]),
        np.float64([1, 2]),
    ):
        model = small(kind).fit(X, labels[Y])
        assert_array_equal(model.classes_, labels)
        found = model.predict(X)
        assert found.dtype == labels.dtype
        assert_array_equal(found, labels[Y])
    assert_array_equal(small(kind).fit(X, np.array(["no", "yes"], dtype=object)[Y].tolist()).classes_, ["no", "yes"])


def compiled_signatures():
    """Return the signatures of every kernel of the ensembles that was compiled in this process, by name.

    numba compiles an inner kernel apart for a constant of its caller (`sum_terms(..., LEFT_SUMS)`): these are in the
    source, no table adds to them, and they count as their type. So do the arrays of a model that was loaded as a
    read-only memory map, which is not copied.
    """
    compiled = {}
    for module in pkgutil.walk_packages(depthforest.ensemble.__path__, "depthforest.ensemble."):
        for name, value in vars(importlib.import_module(module.name)).items():
            if isinstance(value, CPUDispatcher):
                compiled[f"{value.__module__}.{name}"] = {
                    tuple(
                        kind.copy(readonly=False) if isinstance(kind, Array) else unliteral(kind) for kind in signature
                    )
                    for signature in value.signatures
                }
    return compiled


def number_of_signatures():
    return sum(
        len(value.signatures)
        for module in pkgutil.walk_packages(depthforest.ensemble.__path__, "depthforest.ensemble.")
        for value in vars(importlib.import_module(module.name)).values()
        if isinstance(value, CPUDispatcher)
    )


def fit_with_all_settings(kind, table, targets):
    for settings in (
        {},
        {"max_bins": None},
        {"criterion": "entropy" if "Classifier" in kind.__name__ else "squared_error"},
        {"categorical_features": [0]},
        {"max_leaf_nodes": np.int64(3)},
        {"ccp_alpha": 0.1},
        {"min_samples_leaf": np.int32(2), "max_depth": np.uint8(3)},
    ):
        model = small(kind, **settings).fit(table, targets, np.ones(6, dtype=np.int32))
        model.apply(table)
        model.predict(table)
    if kind in FORESTS:
        extra = {"quantiles": True} if "Regressor" in kind.__name__ else {}
        forest = small(kind, bootstrap=True, oob_score=True, **extra).fit(table, targets)
        forest.permutation_importance(table, targets)
        if extra:
            forest.predict_quantiles(table, (0.1, 0.5))


def test_each_kernel_compiles_for_one_signature():
    """Whatever kind of table or target comes: nothing is compiled for another one than the first."""
    early = compiled_signatures()  # by other tests of this process
    wide = np.arange(300)[:, None]  # one column of more values than a byte holds
    for kind in ALL:
        fit_with_all_settings(kind, X, Y)
        small(kind, max_bins=None).fit(wide, wide[:, 0] % 2).predict(wide)
    before = number_of_signatures()
    for kind in ALL:
        for table in kinds_of_tables(X).values():
            for categorical in (None, [0]):
                model = small(kind, categorical_features=categorical).fit(table, Y.astype(np.int32))
                model.apply(table)
                model.predict(table)
        fit_with_all_settings(kind, X, Y.astype(np.float64))
        small(kind, max_bins=None).fit(wide % 290 + np.zeros((1, 2)), wide[:, 0] % 2)
    assert number_of_signatures() == before
    compiled = compiled_signatures()
    assert len(compiled) > 30
    # the depth forest shares `splitting`, with whole counts, and boosting walks trees, too
    ours = {name: set(own) - set(early.get(name, ())) for name, own in compiled.items() if ".ensemble." in name}
    both = {
        f"depthforest.ensemble.growth.{n}" for n in ("finding.find_split", "growing.grow_deep", "bestfirst.grow_best")
    }
    most = {name: 2 if name in both else 1 for name in ours}  # best and random splits
    assert {name: signatures for name, signatures in ours.items() if len(signatures) > most[name]} == {}


# -- categories --------------------------------------------------------------------------------------------------------


def test_categories_of_all_kinds():
    """What a color is called has nothing to do with its order: two of five colors are good, whatever they are."""
    rng = np.random.default_rng(0)
    colors = rng.choice(["red", "blue", "green", "grey", "pink"], 80)
    y = np.isin(colors, ["green", "red"]).astype(int)
    numbers = {c: i for i, c in enumerate(["blue", "green", "grey", "pink", "red"])}
    codes = np.array([numbers[c] for c in colors])
    frame = pd.DataFrame({"size": rng.normal(size=80), "color": colors})
    tables = [
        (frame, ["color"]),
        (frame, [1]),
        (frame, [-1]),
        (frame, [False, True]),
        (frame.astype({"color": "category"}), "from_dtype"),
        (frame.assign(color=codes), np.array(["color"])),
        (np.stack((frame["size"], codes), axis=1), (1,)),
        (frame.to_numpy(), [1]),
        (frame.to_numpy().tolist(), [1]),
    ]
    for table, categorical in tables:
        for kind in ALL:
            model = small(kind, categorical_features=categorical, max_depth=1, max_features=None).fit(table, y)
            assert model.is_categorical_.tolist() == [False, True]
            assert [len(c) for c in model.categories_.values()] == [5]
            if kind in (*TREES, RandomForestClassifier, RandomForestRegressor):
                assert_array_equal(model.predict(table), y)


def test_missing_and_unknown_categories():
    """Both go where missing ones went; None, NaN and pandas' NA are all missing."""
    y = np.array([0, 0, 1, 1, 1, 0])
    for missing in (None, np.nan, pd.NA, pd.NaT):
        table = pd.DataFrame({"c": np.array(["a", "a", "b", "b", missing, "a"], dtype=object)})
        model = DecisionTreeClassifier(categorical_features=["c"]).fit(table, y)
        assert model.categories_[0].tolist() == ["a", "b"]
        assert_array_equal(model.predict(table), y)
        new = pd.DataFrame({"c": np.array(["never seen", missing, "a"], dtype=object)})
        assert model.predict(new).tolist() == [1, 1, 0]
    numbers = pd.DataFrame({"c": pd.array([3, 3, 9, 9, None, 3], dtype="Int64")})
    model = DecisionTreeClassifier(categorical_features=[0]).fit(numbers, y)
    assert_array_equal(model.predict(numbers), y)
    floats = np.array([[3], [3], [9], [9], [np.nan], [3]])
    assert_array_equal(DecisionTreeClassifier(categorical_features=[0]).fit(floats, y).predict(floats), y)


def test_what_was_never_missing_goes_to_the_larger_side():
    model = DecisionTreeClassifier().fit([[0], [0], [0], [1]], [0, 0, 0, 1])
    assert model.predict([[np.nan]]) == [0]
    model = DecisionTreeClassifier(categorical_features=[0]).fit([["x"], ["y"], ["y"], ["y"]], [0, 1, 1, 1])
    assert model.predict([["z"], [None]]).tolist() == [1, 1]


@pytest.mark.parametrize(
    ("categorical", "message"),
    [
        ("all", "categorical_features must be None, 'from_dtype', a mask, or numbers or names of columns; got 'all'"),
        ([True], r"a mask of categorical_features must have 2 entries, got \(1,\)"),
        ([2], r"categorical_features must be columns from 0 to 1, got \[2\]"),
        ([-3], r"categorical_features must be columns from 0 to 1, got \[-3\]"),
        (["b"], "categorical_features names 'b', which is not a column of X; X has no column names: pass a DataFrame"),
        ([0.5], r"a mask, or numbers or names of columns; got \[0.5\]"),
        ([[0]], r"a mask, or numbers or names of columns; got \[\[0\]\]"),
    ],
)
def test_what_names_no_categories(categorical, message):
    for kind in (DecisionTreeClassifier, RandomForestRegressor):
        with pytest.raises(UsageError, match=message):
            small(kind, categorical_features=categorical).fit(X, Y)


def test_names_of_no_column():
    with pytest.raises(UsageError, match=r"categorical_features names 'c', which is not a column of X$"):
        DecisionTreeClassifier(categorical_features=["c"]).fit(pd.DataFrame(X, columns=["a", "b"]), Y)


def test_no_categories_at_all():
    for none in ([], "from_dtype", [False, False]):
        model = DecisionTreeClassifier(categorical_features=none, random_state=0).fit(X, Y)
        assert model.categories_ == {}
        assert_array_equal(model.predict(X), Y)


MANY = {
    "tree": DecisionTreeClassifier(max_depth=6, random_state=0),
    "forest": RandomForestClassifier(5, oob_score=False, random_state=0),
    "exact forest": RandomForestClassifier(3, max_bins=None, random_state=0),
    "gradient": GradientBoostingClassifier(n_estimators=5, random_state=0),
    "newton": NewtonBoostingClassifier(n_estimators=5, random_state=0),
}


def towns(n_categories, seed=0, n=4000):
    """Return rows of a column with so many categories, some frequent, beside one of numbers; and classes."""
    rng = np.random.default_rng(seed)
    shares = 1 / (5 + np.arange(n_categories))
    drawn = rng.choice(n_categories, n - n_categories, p=shares / shares.sum())
    town = np.concatenate((np.arange(n_categories), drawn))
    x = np.stack((rng.permutation(n_categories)[town], rng.normal(size=n)), axis=1)
    y = (rng.random(n_categories)[town] + 0.1 * x[:, 1] > 0.5).astype(int)
    return x, y


def merged(x, weights):
    """Return x with what categories beyond the 254 heaviest share, by counting: a naive twin."""
    weight_of = {}
    for category, weight in zip(x[:, 0], weights, strict=True):
        weight_of[category] = weight_of.get(category, 0) + weight
    heavy = sorted(sorted(weight_of, key=lambda c: (-weight_of[c], c))[:254])
    return np.array([[heavy.index(c) if c in heavy else 254, number] for c, number in x])


@pytest.mark.parametrize("name", MANY)
@pytest.mark.parametrize("n_categories", [255, 600])
@pytest.mark.parametrize("is_weighed", [False, True])
def test_the_rarest_of_many_categories_are_split_as_one(name, n_categories, is_weighed):
    x, y = towns(n_categories)
    w = np.random.default_rng(1).integers(1, 4, len(x)).astype(float) if is_weighed else np.ones(len(x))
    twin = merged(x, w)
    model = clone(MANY[name]).set_params(categorical_features=[0]).fit(x, y, w)
    expected = clone(MANY[name]).set_params(categorical_features=[0]).fit(twin, y, w)
    assert_array_equal(model.predict_proba(x), expected.predict_proba(twin))
    assert len(model.categories_[0]) == n_categories
    assert set(model.categories_[0].tolist()) == set(x[:, 0].tolist())


def test_many_categories_and_weights():
    """A weight of 2 is a row twice, and rows of weight 0 are absent: both also where categories are counted."""
    x, y = towns(300)
    w = np.random.default_rng(2).integers(1, 4, len(x))
    model = DecisionTreeClassifier(categorical_features=[0], max_depth=5, random_state=0)
    weighed, repeated = clone(model).fit(x, y, w), clone(model).fit(np.repeat(x, w, axis=0), np.repeat(y, w))
    assert_array_equal(weighed.categories_[0], repeated.categories_[0])
    assert_array_equal(weighed.predict_proba(x), repeated.predict_proba(x))
    few = (x[:, 0] < 200).astype(float)
    there = clone(model).fit(x[few > 0], y[few > 0])
    assert_array_equal(clone(model).fit(x, y, few).predict(x[few > 0]), there.predict(x[few > 0]))


def test_many_categories_as_text_in_files_lists_and_values(tmp_path):
    x, y = towns(300)
    frame = pd.DataFrame({"town": [f"t{c:03.0f}" for c in x[:, 0]], "size": x[:, 1]})
    model = RandomForestClassifier(3, max_depth=4, categorical_features=["town"], random_state=0).fit(frame, y)
    model.save(tmp_path / "forest.safetensors")
    again = depthforest.ensemble.load(tmp_path / "forest.safetensors")
    assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))
    unknown, missing = frame[:1].assign(town="nowhere"), frame[:1].assign(town=None)
    assert_array_equal(model.predict_proba(unknown), model.predict_proba(missing))
    tree = DecisionTreeClassifier(max_depth=1, max_features=None, categorical_features=["town"], random_state=0)
    tree.fit(frame[["town"]], y)
    left = tree.tree_.categories(0)
    goes_left = tree.apply(frame[["town"]]) == 1
    assert set(left) == set(frame["town"][goes_left])
    assert not set(left) & set(frame["town"][~goes_left])


def test_tables_of_categories_that_cannot_be():
    model = DecisionTreeClassifier(categorical_features=[0])
    with pytest.raises(UsageError, match=r"categories need a dense table, got a sparse matrix: pass X.toarray"):
        model.fit(csr_array(X), Y)
    model.fit(X, Y)
    with pytest.raises(UsageError, match="got a sparse matrix"):
        model.predict(csr_array(X))
    with pytest.raises(ValueError, match="X has 1 features, but DecisionTreeClassifier is expecting 2 features"):
        model.predict(X[:, :1])
    with pytest.raises(ValueError, match="infinity"):
        model.predict([[0, np.inf]])


# -- rows, targets, weights --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ALL)
def test_tables_that_cannot_be(kind):
    with pytest.raises(ValueError, match="Input X contains infinity or a value too large"):
        small(kind).fit([[0], [np.inf]], [0, 1])
    with np.errstate(over="ignore"), pytest.raises(ValueError, match="Input X contains infinity or a value too large"):
        small(kind).fit([[0], [1e300]], [0, 1])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        small(kind).fit(X, Y[:-1])
    model = small(kind).fit(X, Y)
    with pytest.raises(ValueError, match=r"X has 3 features, but .* is expecting 2 features"):
        model.predict(np.zeros((1, 3)))
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array"):
        model.predict([0, 1])
    with pytest.raises(ValueError, match="Found array with 0 sample"):
        model.predict(np.zeros((0, 2)))


@pytest.mark.parametrize("kind", ALL)
def test_targets_that_cannot_be(kind):
    with pytest.raises(ValueError, match="Input y contains NaN"):
        small(kind).fit(X, [0, 0, 0, 1, 1, np.nan])
    with pytest.raises(ValueError, match="dim 3, while dim <= 2 is required"):
        small(kind).fit(X, np.zeros((6, 2, 2)))
    with pytest.raises(TypeError, match="sparse multilabel-indicator for y is not supported"):
        small(kind).fit(X, csr_array(np.eye(6, 2)))
    if "Classifier" in kind.__name__:
        with pytest.raises(ValueError, match="Unknown label type: continuous"):
            small(kind).fit(X, [0.5, 0.1, 0.2, 0.3, 0.4, 0.7])
    else:
        with pytest.raises(ValueError, match="y contains infinity"):
            small(kind).fit(X, [0, 0, 0, 1, 1, np.inf])


@pytest.mark.parametrize("kind", ALL)
def test_weights_that_cannot_be(kind):
    with pytest.raises(UsageError, match="sample_weight must be 0 or more, got -1"):
        small(kind).fit(X, Y, [1, 1, 1, 1, 1, -1])
    with pytest.raises(UsageError, match="sample_weight must not all be zero: there would be nothing to learn from"):
        small(kind).fit(X, Y, np.zeros(6))
    with pytest.raises(ValueError, match="sample_weight contains NaN"):
        small(kind).fit(X, Y, [1, 1, 1, 1, 1, np.nan])
    with pytest.raises(ValueError, match=r"sample_weight.shape == "):
        small(kind).fit(X, Y, np.ones(5))


@pytest.mark.parametrize("kind", [DecisionTreeClassifier, RandomForestClassifier])
def test_class_weights_that_leave_nothing(kind):
    with pytest.raises(UsageError, match="class_weight leaves no row any weight"):
        small(kind, class_weight={0: 0, 1: 1}).fit(X, Y, [1, 1, 1, 0, 0, 0])
    with pytest.raises(ValueError, match="class_weight"):
        small(kind, class_weight="heavy").fit(X, Y)


@pytest.mark.parametrize("kind", ALL)
def test_little_to_learn_from(kind):
    one_row = small(kind).fit(X[:1], Y[:1])
    assert_array_equal(one_row.predict(X), np.zeros(6))
    constant = small(kind).fit(X, np.full(6, 7))
    assert_array_equal(constant.predict(X), np.full(6, 7))
    same_rows = small(kind).fit(np.ones((6, 2)), Y)
    assert len(same_rows.predict(X)) == 6
    nothing_known = small(kind).fit(np.full((6, 2), np.nan), Y)
    assert len(nothing_known.predict(X)) == 6
    one_weight = small(kind).fit(X, Y, [0, 0, 0, 0, 0, 2])
    assert_array_equal(one_weight.predict(X), np.ones(6))
    if "Classifier" in kind.__name__:
        assert constant.classes_.tolist() == [7]
        assert_array_equal(constant.predict_proba(X), np.ones((6, 1)))
        assert one_weight.predict_proba(X).tolist() == [[0, 1]] * 6


@pytest.mark.parametrize("kind", [RandomForestClassifier, RandomForestRegressor])
def test_little_to_judge_out_of_bag(kind):
    """One row is never left out, one class is always right: figures that do not exist are NaN."""
    assert math.isnan(small(kind, oob_score=True).fit(X[:1], Y[:1]).oob_score_)
    constant = kind(20, oob_score=True, random_state=0).fit(X, np.full(6, 7))
    assert constant.oob_errors_[-1] == 0
    if kind is RandomForestClassifier:
        assert constant.oob_score_ == 1
        assert constant.strength_ == 1
        assert math.isnan(constant.correlation_)


def test_a_class_that_a_bootstrap_misses():
    y = np.array([0, 0, 0, 0, 0, 1])
    forest = RandomForestClassifier(20, random_state=0, class_weight="balanced_subsample", oob_score=True).fit(X, y)
    assert any(tree.value[0, 0, 1] == 0 for tree in forest.trees_)
    assert forest.predict_proba(X).shape == (6, 2)


def test_text_is_named():
    frame = pd.DataFrame({"size": [1.0, 2.0, 3.0], "town": ["oslo", "rome", "oslo"]})
    for table, chosen in ((frame, None), (frame.astype({"town": "category"}), None), (frame, "from_dtype")):
        with pytest.raises(UsageError, match="column 'town' holds text or categories: name it in"):
            DecisionTreeClassifier(categorical_features=chosen).fit(table, [0, 1, 0])


def test_a_tree_names_its_categories():
    frame = pd.DataFrame({"town": ["paris", "rome", "oslo"] * 20})
    tree = DecisionTreeClassifier(categorical_features=["town"]).fit(frame, frame.town == "rome")
    sides = {frozenset(tree.tree_.categories(0)), frozenset({"paris", "rome", "oslo"} - {*tree.tree_.categories(0)})}
    assert frozenset({"rome"}) in sides
