"""LambdaMART: rounds against the naive twin and LightGBM, base scores, early stopping, files, scikit-learn's checks."""

import pickle

import numpy as np
import pytest
from sklearn import config_context
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from support import naive_ranking as naive

from depthforest import ensemble
from depthforest.base.errors import UsageError
from depthforest.ensemble.boosting.rounds import Rounds
from depthforest.ensemble.ranking import LambdaMART, cross_val_ndcg, group_ids, group_sizes, ndcg, read_letor
from depthforest.ensemble.ranking.lambdas import METRICS, lambda_gradients

pytestmark = pytest.mark.filterwarnings("ignore:qid is not given")  # test_peers reads the warning

CHECKS = parametrize_with_checks([LambdaMART(n_estimators=5, min_samples_leaf=1)])


# a list: newer pytest warns of the generator that older scikit-learn passes
@pytest.mark.parametrize(CHECKS.args[0], list(CHECKS.args[1]), ids=CHECKS.kwargs["ids"])
def test_scikit_learn_agrees(estimator, check):
    check(estimator)


def sample(n_queries=40, seed=0):
    """Return (x, y, qid): the grade is hidden in two of four columns."""
    rng = np.random.default_rng(seed)
    qid = group_ids(rng.integers(2, 12, n_queries))
    x = rng.normal(size=(len(qid), 4)).astype(np.float32)
    y = np.digitize(x[:, 0] + np.abs(x[:, 1]) + rng.normal(0, 0.2, len(qid)), (0.6, 1.4, 2.2))
    return x, y, qid


def ranker(**options):
    return LambdaMART(**{"n_estimators": 10, "max_leaf_nodes": 5, "min_samples_leaf": 3, "random_state": 0, **options})


def bytes_of(fitted, folder):
    fitted.save(folder / "model")
    return (folder / "model").read_bytes()


def partition(leaves):
    return {frozenset(np.flatnonzero(leaves == leaf).tolist()) for leaf in np.unique(leaves)}


# -- rounds


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"metric": "err", "k": None, "normalize": False, "sigma": 1.7},
        {"metric": "map", "k": 2, "reg_lambda": 0.7},
        {"metric": "ranknet", "min_child_weight": 1.5, "min_samples_leaf": 1},
        {"gain": "linear", "k": 1, "max_leaf_nodes": 3, "learning_rate": 1.0, "min_samples_leaf": 6},
    ],
    ids=str,
)
@pytest.mark.parametrize("has_base", [False, True])
def test_rounds_are_those_of_the_twin(options, has_base):
    x, y, qid = sample(6)
    base = np.random.default_rng(1).normal(size=len(y)) if has_base else np.zeros(len(y))
    model = ranker(**{"n_estimators": 3, "learning_rate": 0.5, **options})
    model.fit(x, y, qid, base_scores=base if has_base else None)
    k = len(y) if model.k is None else model.k
    ref, grown = naive.lambdamart(
        x.tolist(), y.tolist(), group_sizes(qid).tolist(), base.tolist(), rounds=3, rate=model.learning_rate,
        n_leaves=model.max_leaf_nodes, l2=model.reg_lambda, min_rows=model.min_samples_leaf,
        min_weight=model.min_child_weight, metric=model.metric, k=k, sigma=model.sigma, normalize=model.normalize,
        gain=model.gain,
    )  # fmt: skip
    assert min(map(len, grown)) > 1
    assert [partition(leaves) for leaves in model.apply(x).T] == grown
    np.testing.assert_allclose(model.predict(x, base), ref, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(list(model.staged_predict(x))[-1] + base, ref, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("k", [1, 4, None])
def test_a_leaf_is_the_sum_of_lambdas_over_that_of_hessians(k):
    """Of the pairs that truncation leaves."""
    x, y, qid = sample()
    base = np.random.default_rng(2).normal(size=len(y))
    options = {"n_estimators": 1, "learning_rate": 1.0, "reg_lambda": 2.0, "max_leaf_nodes": 12, "k": k}
    model = ranker(**options).fit(x, y, qid, base_scores=base)
    gradient, hessian = lambda_gradients(y, base, qid=qid, k=k, normalize=True)
    leaves, score = model.apply(x)[:, 0], model.predict(x, np.zeros(len(x)))
    assert len(np.unique(leaves)) > 6
    for leaf in np.unique(leaves):
        own = leaves == leaf
        np.testing.assert_allclose(score[own], -gradient[own].sum() / (hessian[own].sum() + 2.0), rtol=1e-9)


@pytest.mark.parametrize(
    ("options", "its"),
    [
        ({}, {}),
        ({"k": 3, "normalize": False}, {"lambdarank_truncation_level": 3, "lambdarank_norm": False}),
        ({"reg_lambda": 4.0, "sigma": 2.0}, {"reg_lambda": 4.0, "sigmoid": 2.0}),
        ({"min_samples_leaf": 30, "min_child_weight": 2.0}, {"min_child_samples": 30, "min_child_weight": 2.0}),
        ({"n_estimators": 3, "learning_rate": 0.3}, {"n_estimators": 3, "learning_rate": 0.3}),
    ],
    ids=["plain", "truncated", "smooth", "large leaves", "three rounds"],
)
def test_lightgbm_grows_the_same_trees(options, its):
    lightgbm = pytest.importorskip("lightgbm")
    x, y, qid = sample(60)
    x = np.round(x * 20) / 20  # few values: both bin them the same
    model = LambdaMART(**{"n_estimators": 1, "learning_rate": 1.0, "max_leaf_nodes": 8, **options}).fit(x, y, qid)
    peer = lightgbm.LGBMRanker(
        **{"n_estimators": 1, "learning_rate": 1.0, "num_leaves": 8, "lambdarank_truncation_level": 30, **its},
        min_data_in_bin=1, n_jobs=1, verbose=-1,
    )  # fmt: skip
    peer.fit(x, y, group=group_sizes(qid))
    its_leaves = peer.booster_.predict(x, pred_leaf=True).reshape(len(y), -1)
    found = [partition(leaves) for leaves in model.apply(x).T]
    assert found == [partition(leaves) for leaves in its_leaves.T]
    assert len(found[0]) > 4
    # its gradients have single precision
    np.testing.assert_allclose(model.predict(x), peer.booster_.predict(x), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("metric", METRICS)
def test_every_metric_teaches(metric):
    x, y, qid = sample()
    fresh_x, fresh_y, fresh_qid = sample(seed=1)
    model = ranker(metric=metric, n_estimators=20).fit(x, y, qid=qid)
    shuffled = np.random.default_rng(0).normal(size=len(fresh_y))
    found = model.score(fresh_x, fresh_y, fresh_qid)
    assert found == ndcg(fresh_y, model.predict(fresh_x), qid=fresh_qid, k=10)
    assert found > 0.92
    assert found > ndcg(fresh_y, shuffled, qid=fresh_qid, k=10) + 0.15
    assert model.feature_importances_[:2].sum() > 0.7


# -- base scores


def test_base_scores_are_where_it_starts():
    x, y, qid = sample(60)
    fresh_x, fresh_y, fresh_qid = sample(60, seed=1)
    good, fresh_good = x[:, 0] + np.abs(x[:, 1]), fresh_x[:, 0] + np.abs(fresh_x[:, 1])
    alone = ranker(n_estimators=2).fit(x, y, qid)
    model = ranker(n_estimators=2).fit(x, y, qid, base_scores=good)
    score = model.predict(fresh_x, fresh_good)
    np.testing.assert_array_equal(score, model.predict(fresh_x, np.zeros(len(fresh_x))) + fresh_good)
    with pytest.raises(UsageError, match="predict needs base_scores, because fit had them"):
        model.predict(fresh_x)
    with pytest.raises(UsageError, match="warm_start needs base_scores if the previous fit had them"):
        model.set_params(warm_start=True, n_estimators=3).fit(x, y, qid)
    found = ndcg(fresh_y, score, qid=fresh_qid, k=10)
    assert found > alone.score(fresh_x, fresh_y, fresh_qid) + 0.02
    assert found > ndcg(fresh_y, fresh_good, qid=fresh_qid, k=10) - 0.005
    trained = ranker(n_estimators=2).fit(x, y, qid, base_scores=good)
    assert trained.train_scores_[-1] == pytest.approx(ndcg(y, trained.predict(x, good), qid=qid, k=10))


def test_boosting_on_from_ones_own_scores_is_boosting_on():
    x, y, qid = sample()
    whole = ranker(n_estimators=6).fit(x, y, qid)
    first = ranker(n_estimators=4).fit(x, y, qid)
    rest = ranker(n_estimators=2).fit(x, y, qid, base_scores=first.predict(x))
    np.testing.assert_allclose(rest.predict(x, first.predict(x)), whole.predict(x), rtol=1e-9, atol=1e-12)


# -- judging and stopping


def stopped(x, y, qid, **options):
    """Nothing can be learnt: validation does not rise for long."""
    y = np.random.default_rng(0).permutation(y)
    return y, ranker(n_estimators=60, n_iter_no_change=4, validation_fraction=0.3, **options).fit(x, y, qid)


def test_early_stopping_by_a_share_of_queries_keeps_the_best_round():
    x, y, qid = sample()
    y, model = stopped(x, y, qid)
    best = int(np.argmax(model.validation_scores_))
    assert model.n_estimators_ == len(model) == best + 1
    assert len(model.validation_scores_) == len(model.train_scores_) == best + 1 + 4 < 60
    # the queries that were set aside, drawn from the first seed
    is_judged = np.zeros(40, dtype=bool)
    is_judged[np.random.RandomState(model._seeds[0]).permutation(40)[:12]] = True
    rows = np.repeat(is_judged, group_sizes(qid))
    for own, curve in ((rows, model.validation_scores_), (~rows, model.train_scores_)):
        for r, score in enumerate(model.staged_predict(x[own])):
            assert curve[r] == pytest.approx(ndcg(y[own], score, qid=qid[own], k=10), abs=1e-12)
    # as if the share had been given by hand
    options = {"n_estimators": 60, "n_iter_no_change": 4}
    again = ranker(**options).fit(x[~rows], y[~rows], qid[~rows], X_val=x[rows], y_val=y[rows], qid_val=qid[rows])
    np.testing.assert_array_equal(again.predict(x), model.predict(x))
    np.testing.assert_array_equal(again.validation_score_, model.validation_score_)


@pytest.mark.parametrize("has_base", [False, True])
def test_validation_queries_are_judged_by_ndcg(has_base):
    x, y, qid = sample()
    x_val, y_val, qid_val = sample(20, seed=1)
    base, base_val = (x[:, 1], x_val[:, 1]) if has_base else (None, None)
    model = ranker(eval_at=3, gain="linear", subsample=0.8).fit(
        x, y, qid, base_scores=base, X_val=x_val, y_val=y_val, qid_val=qid_val, base_scores_val=base_val
    )
    assert len(model) == 10  # without n_iter_no_change it only watches
    parts = {"train": (x, y, qid, base), "validation": (x_val, y_val, qid_val, base_val)}
    for name, (table, grades, ids, start) in parts.items():
        expected = [
            ndcg(grades, score + (0 if start is None else start), qid=ids, k=3, gain="linear")
            for score in model.staged_predict(table)
        ]
        np.testing.assert_allclose(getattr(model, f"{name}_scores_"), expected, atol=1e-12)
        np.testing.assert_allclose(getattr(model, f"{name}_score_"), 1 - np.array(expected), atol=1e-12)
    assert len(model.oob_improvement_) == 0  # of rows that count for themselves alone


def test_a_share_of_queries_takes_their_base_scores_along():
    x, y, qid = sample()
    base = np.random.default_rng(3).normal(size=len(y))
    model = ranker(n_iter_no_change=5, validation_fraction=0.3).fit(x, y, qid, base_scores=base)
    is_judged = np.zeros(40, dtype=bool)
    is_judged[np.random.RandomState(model._seeds[0]).permutation(40)[:12]] = True
    rows = np.repeat(is_judged, group_sizes(qid))
    first = next(iter(model.staged_predict(x[rows]))) + base[rows]
    assert model.validation_scores_[0] == pytest.approx(ndcg(y[rows], first, qid=qid[rows], k=10))


# -- the same result, however it comes about


@pytest.mark.parametrize("options", [{}, {"subsample": 0.7, "colsample_bytree": 0.5, "n_iter_no_change": 3}], ids=str)
def test_threads_change_nothing(options, tmp_path):
    x, y, qid = sample()
    found = [bytes_of(ranker(n_jobs=n, **options).fit(x, y, qid), tmp_path) for n in (1, 2)]
    assert found[0] == found[1]
    assert bytes_of(ranker(random_state=1, subsample=0.7).fit(x, y, qid), tmp_path) != found[0]


@pytest.mark.parametrize("has_base", [False, True])
def test_a_warm_start_is_as_one_go(has_base, tmp_path):
    x, y, qid = sample()
    base = x[:, 1] if has_base else None
    model = ranker(n_estimators=4, warm_start=True, subsample=0.8).fit(x, y, qid, base_scores=base)
    loaded = ensemble.load(_saved(model, tmp_path))
    at_once = ranker(n_estimators=9, warm_start=True, subsample=0.8).fit(x, y, qid, base_scores=base)
    for own in (model, loaded):
        own.set_params(n_estimators=9).fit(x, y, qid, base_scores=base)
        assert bytes_of(own, tmp_path) == bytes_of(at_once, tmp_path)
    with pytest.raises(UsageError, match="warm_start needs the same loss, columns, classes and categories"):
        model.set_params(metric="map", n_estimators=12).fit(x, y, qid)


def test_no_qid_is_one_query():
    x, y, _ = sample(6)
    a, b = ranker().fit(x, y), ranker().fit(x, y, qid=np.full(len(y), 7))
    np.testing.assert_array_equal(a.predict(x), b.predict(x))
    assert not np.allclose(a.predict(x), ranker().fit(x, y, qid=np.arange(len(y)) // 4).predict(x))


def test_the_order_of_queries_and_their_names_are_nothing():
    x, y, qid = sample()
    order = np.argsort(-qid, kind="stable")
    names = np.array([f"query {i}" for i in qid])
    plain = ranker().fit(x, y, qid).predict(x)
    np.testing.assert_allclose(ranker().fit(x[order], y[order], names[order]).predict(x), plain, atol=1e-9)


def test_queries_that_teach_nothing_do_no_harm():
    """Of one document, or all equally relevant: no lambdas, and all orders are the best."""
    x, y, qid = sample()
    more_x, more_y = np.full((6, 4), 9.0), np.array([3, 2, 2, 2, 0, 0])
    more_qid = np.array([100, 101, 101, 101, 102, 102])
    options = {"min_samples_leaf": 1, "min_child_weight": 0.1}
    plain = ranker(**options).fit(x, y, qid)
    both = ranker(**options).fit(np.vstack((x, more_x)), np.append(y, more_y), np.append(qid, more_qid))
    np.testing.assert_allclose(both.predict(x), plain.predict(x), rtol=1e-6)
    np.testing.assert_allclose(both.train_score_, plain.train_score_ * 40 / 43, atol=1e-9)


def test_an_interrupted_fit_keeps_its_rounds(monkeypatch):
    x, y, qid = sample()
    go, calls = Rounds.round, []

    def interrupted(self, seed):
        calls.append(seed)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return go(self, seed)

    monkeypatch.setattr(Rounds, "round", interrupted)
    model = ranker()
    with pytest.raises(KeyboardInterrupt):
        model.fit(x, y, qid)
    monkeypatch.undo()
    assert len(model) == len(model.train_scores_) == 3
    np.testing.assert_array_equal(model.predict(x), ranker(n_estimators=3).fit(x, y, qid).predict(x))


def test_progress_is_shown(capfd):
    x, y, qid = sample(6)
    ranker(verbose=1, n_estimators=2).fit(x, y, qid)
    assert "boosting" in capfd.readouterr().err


# -- columns


def test_missing_values_are_learnt_from():
    x, y, qid = sample()
    x[y >= 2, 2] = np.nan
    model = ranker().fit(x, y, qid)
    assert model.score(x, y, qid) > 0.97
    assert model.feature_importances_[2] > 0.3
    assert np.isfinite(model.predict(np.full((2, 4), np.nan))).all()


def test_names_and_categories():
    pd = pytest.importorskip("pandas")
    x, y, qid = sample()
    table = pd.DataFrame(x[:, 2:], columns=["a", "b"])
    table["color"] = pd.Categorical(np.array(["red", "blue", "green", "black"])[y])
    model = ranker(categorical_features="from_dtype").fit(table, y, pd.Series(qid))
    assert model.feature_names_in_.tolist() == ["a", "b", "color"]
    assert model.feature_importances_.argmax() == 2
    assert model.score(table, y, qid) > 0.99
    x[:, 3] = np.array([2, 0, 3, 1])[y]  # codes in no order
    by_number = ranker(categorical_features=[3]).fit(x, y, qid)
    assert by_number.score(x, y, qid) > 0.99


def test_a_column_may_only_raise_the_score():
    x, y, qid = sample()
    line = np.zeros((50, 4), dtype=np.float32)
    line[:, 1] = np.linspace(-2, 2, 50)  # of which the size counts, not the sign
    assert (np.diff(ranker(n_estimators=30).fit(x, y, qid).predict(line)) < 0).any()
    model = ranker(n_estimators=30, monotonic_cst=[0, 1, 0, 0]).fit(x, y, qid)
    steps = np.diff(model.predict(line))
    assert (steps >= 0).all()
    assert (steps > 0).any()


def test_rows_and_columns_are_drawn():
    x, y, qid = sample()
    model = ranker(n_estimators=20, subsample=0.5, colsample_bytree=0.5, random_state=1).fit(x, y, qid)
    assert model.score(x, y, qid) > 0.93
    used = [set(tree.feature[tree.feature >= 0].tolist()) for tree in model.trees_]
    assert max(map(len, used)) == 2
    assert len(set(map(frozenset, used))) > 2


# -- files, copies, tools of scikit-learn


def _saved(model, folder):
    model.save(folder / "ranker.safetensors")
    return folder / "ranker.safetensors"


@pytest.mark.parametrize("metric", METRICS)
def test_what_is_saved_loads_back(metric, tmp_path):
    x, y, qid = sample()
    x[::7, 0] = np.nan
    options = {"k": None, "gain": "linear", "n_iter_no_change": 5, "monotonic_cst": [0, 0, 1, 0]}
    model = ranker(metric=metric, **options).fit(x, y, qid)
    loaded = ensemble.load(_saved(model, tmp_path))
    assert type(loaded) is LambdaMART
    assert loaded.get_params() == model.get_params()
    np.testing.assert_array_equal(loaded.predict(x), model.predict(x))
    np.testing.assert_array_equal(loaded.predict(x, y), model.predict(x, y))
    assert loaded.score(x, y, qid) == model.score(x, y, qid)
    for name in ("train_scores_", "validation_scores_", "feature_importances_"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(model, name))
    assert bytes_of(loaded, tmp_path) == bytes_of(model, tmp_path)


def test_copies_do_not_grow_with_the_rows():
    sizes = []
    for n_queries in (20, 400):
        x, y, qid = sample(n_queries)
        model = ranker(max_leaf_nodes=3).fit(x, y, qid, X_val=x, y_val=y, qid_val=qid)
        assert all(tree.node_count == 5 for tree in model.trees_)
        sizes.append(len(pickle.dumps(model)))
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(x), model.predict(x))
    assert abs(sizes[1] - sizes[0]) < 200


def test_cross_validation_by_query():
    x, y, qid = sample()
    values = cross_val_ndcg(ranker(), x, y, qid, n_splits=3)
    assert values.shape == (40,)
    assert values.mean() > 0.85


def test_metadata_routing():
    x, y, qid = sample()
    with config_context(enable_metadata_routing=True):
        model = ranker(n_estimators=3).set_fit_request(qid=True).set_score_request(qid=True)
        found = cross_validate(model, x, y, cv=GroupKFold(3), params={"qid": qid, "groups": qid})
        first, rest = next(GroupKFold(3).split(x, y, qid))
        own = ranker(n_estimators=3).fit(x[first], y[first], qid=qid[first])
        assert found["test_score"][0] == own.score(x[rest], y[rest], qid[rest])
        search = GridSearchCV(model, {"max_leaf_nodes": [2, 5]}, cv=GroupKFold(3)).fit(x, y, qid=qid, groups=qid)
        assert search.cv_results_["mean_test_score"][1] == pytest.approx(found["test_score"].mean())


def test_a_pipeline_fits_with_qid():
    x, y, qid = sample()
    line = make_pipeline(MinMaxScaler(), ranker()).fit(x, y, lambdamart__qid=qid)
    alone = ranker().fit(MinMaxScaler().fit_transform(x), y, qid)
    np.testing.assert_array_equal(line.predict(x), alone.predict(MinMaxScaler().fit_transform(x)))


# -- bad input


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metric": "auc"}, "metric must be one of ranknet, ndcg, err, map; got 'auc'"),
        ({"metric": None}, "metric must be one of ranknet, ndcg, err, map; got None"),
        ({"k": 0}, "k must be a whole number from 1, got 0"),
        ({"sigma": 0}, "sigma must be above 0, got 0"),
        ({"normalize": "yes"}, "normalize must be True or False, got 'yes'"),
        ({"gain": "none"}, "gain must be one of exponential, linear; got 'none'"),
        ({"eval_at": 0}, "eval_at must be a whole number from 1, got 0"),
        ({"n_estimators": 0}, "n_estimators must be a whole number from 1, got 0"),
        ({"learning_rate": 0}, "learning_rate and subsample must be above 0, got 0 and 1"),
        ({"subsample": 1.5}, "subsample must be a number from 0 to 1, got 1.5"),
        ({"max_depth": 0}, "max_depth must be a whole number from 1, got 0"),
        ({"max_leaf_nodes": 1}, "max_leaf_nodes must be a whole number from 2, got 1"),
        ({"min_samples_leaf": 0}, "min_samples_leaf must be a whole number from 1 or a share"),
        ({"min_child_weight": -1}, "min_child_weight must be a number from 0, got -1"),
        ({"reg_lambda": -1}, "reg_lambda must be a number from 0, got -1"),
        ({"colsample_bytree": 0.0}, "colsample_bytree must be above 0, got 0.0"),
        ({"colsample_bytree": 2}, "colsample_bytree must be a number from 0 to 1, got 2"),
        ({"colsample_bytree": "all"}, "colsample_bytree must be a number from 0 to 1, got 'all'"),
        ({"max_bins": 1}, "max_bins"),
        ({"n_iter_no_change": 0}, "n_iter_no_change must be a whole number from 1, got 0"),
        ({"n_iter_no_change": 2, "tol": -1}, "tol must be a number from 0, got -1"),
        ({"n_iter_no_change": 2, "validation_fraction": 0.01}, "validation_fraction=0.01 of 40 gives 0; change it, or"),
        ({"n_iter_no_change": 2, "validation_fraction": 0.999}, "validation_fraction=0.999 of 40 gives 40"),
        ({"n_iter_no_change": 2, "validation_fraction": 1}, "validation_fraction must be above 0 and below 1, got 1"),
        ({"monotonic_cst": [1]}, "monotonic_cst"),
    ],
)
def test_bad_parameters(options, message):
    x, y, qid = sample()
    with pytest.raises(UsageError, match=message) as caught:
        LambdaMART(**options).fit(x, y, qid=qid)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda x, y, q: (x, y, q[:-1]), "qid must name the query of each of the"),
        (lambda x, y, q: (x, y, group_ids([5, 9], len(q))), "sizes of groups must add up to the .* add up to 14"),
        (lambda x, y, q: (x, y, np.arange(len(q)) % 2), r"are apart \(rows 0 and 2\): sort all rows by np.argsort"),
        (lambda x, y, q: (x, y, np.append(q[1:], np.nan)), "qid must be whole numbers or text without missing values"),
        (lambda x, y, q: (x, y - 1, q), r"relevance must be 0 \(not relevant\) or more, got -1 for row"),
        (lambda x, y, q: (x, y + 0.5, q), "relevance must be whole numbers, .* round them, or put them into bins"),
        (lambda x, y, q: (x, y + 40, q), "relevance must be up to 31 .*: use fewer grades, or gain='linear'"),
        (lambda x, y, q: (x, np.where(y == 0, np.nan, y), q), "relevance must be finite numbers, got nan for row"),
        (lambda x, y, q: (x, y[:-1], q), "X and y must have the same number of rows, got"),
        (lambda x, _, q: (x, None, q), "requires y to be passed, but the target y is None"),
        (lambda x, y, q: (x, np.full(len(y), 2), q), "nothing to learn: no query has two documents of different rel"),
        (lambda x, y, q: (x, y, np.arange(len(q))), "is qid the query of each row, not its number"),
        (lambda x, y, q: (x[:1], y[:1], q[:1]), "there is only one sample"),
    ],
)
def test_bad_data(change, message):
    with pytest.raises(UsageError, match=message) as caught:
        LambdaMART().fit(*change(*sample()))
    assert len(str(caught.value).splitlines()) == 1


def bad_values(n):
    nan, none = np.zeros(n), np.zeros(n)
    nan[2], none[1] = np.nan, np.inf
    return {"nan": nan, "inf": none, "short": np.zeros(n - 1), "table": np.zeros((n, 2)), "text": ["a"] * n}


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("nan", "scores must be finite numbers, got nan for row 2"),
        ("inf", "scores must be finite numbers, got inf for row 1"),
        ("short", "scores must be one for each of the .* documents, got"),
        ("table", r"scores must have one number for each document, got the shape"),
        ("text", "scores must be numbers, got the type"),
    ],
)
def test_bad_scores(kind, message):
    x, y, qid = sample(6)
    model = ranker(n_estimators=1).fit(x, y, qid)
    bad, good = bad_values(len(y))[kind], np.zeros(len(y))
    validation = {"X_val": x, "y_val": y, "qid_val": qid}
    for call in (
        lambda: model.predict(x, bad),
        lambda: model.fit(x, y, qid, base_scores=bad),
        lambda: model.fit(x, y, qid, base_scores=good, **validation, base_scores_val=bad),
    ):
        with pytest.raises(UsageError, match=message):
            call()


def test_parts_that_do_not_go_together():
    x, y, qid = sample(6)
    scores = np.zeros(len(y))
    for options, message in (
        ({"X_val": x}, "X_val and y_val go together"),
        ({"y_val": y}, "X_val and y_val go together"),
        ({"qid_val": qid}, "qid_val, base_scores_val and query_weight_val need X_val and y_val: pass these, too"),
        ({"base_scores_val": scores}, "qid_val, base_scores_val and query_weight_val need X_val and y_val"),
        ({"X_val": x, "y_val": y, "base_scores": scores}, "base_scores and base_scores_val go together"),
        ({"X_val": x, "y_val": y, "base_scores_val": scores}, "base_scores and base_scores_val go together"),
        ({"X_val": x, "y_val": y[1:]}, "X and y must have the same number of rows"),
        ({"X_val": x, "y_val": y - 1}, "relevance must be 0"),
        ({"X_val": x, "y_val": y, "qid_val": qid[1:]}, "qid must name the query of each of the"),
    ):
        with pytest.raises(UsageError, match=message):
            ranker().fit(x, y, qid, **options)


# -- real queries


@pytest.mark.slow
def test_real_queries_are_ranked_as_well_as_by_lightgbm(shared_data):
    """At equal rounds, leaves and learning rate; `benchmarks/ranking_quality.py` has all seeds."""
    lightgbm = pytest.importorskip("lightgbm")
    parts = [read_letor(shared_data("lambdarank") / name, n_features=300) for name in ("rank.train", "rank.test")]
    x, y = np.concatenate([p.X for p in parts]), np.concatenate([p.y for p in parts])
    qid = np.concatenate([parts[0].qid, parts[1].qid + parts[0].qid.max() + 1])
    assert len(group_sizes(qid)) == 251

    class Peer(LambdaMART):
        def fit(self, X, y, qid):
            self.peer = lightgbm.LGBMRanker(
                n_estimators=self.n_estimators, num_leaves=self.max_leaf_nodes, learning_rate=self.learning_rate,
                random_state=self.random_state, n_jobs=1, verbose=-1,
            )  # fmt: skip
            self.peer.fit(X, y, group=group_sizes(qid))
            return self

        def predict(self, X):
            return self.peer.booster_.predict(X)

    for seed in range(2):
        found, its = (
            cross_val_ndcg(kind(n_estimators=100, random_state=seed, n_jobs=1), x, y, qid, random_state=seed).mean()
            for kind in (LambdaMART, Peer)
        )
        assert found > its - 0.01
        assert found > 0.75
