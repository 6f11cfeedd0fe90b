"""RankNet and LambdaRank: gradients of the network, learning, early stopping, interrupts, scikit-learn's checks."""

import numpy as np
import pytest
from joblib import parallel_config
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from depthforest.base.errors import UsageError
from depthforest.ensemble.ranking import LambdaRank, RankNet, cross_val_ndcg, epochs, group_ids, ndcg, ranknet_cost
from depthforest.ensemble.ranking.lambdas import lambda_gradients
from depthforest.ensemble.ranking.layers import Adam, new_network

pytestmark = pytest.mark.filterwarnings("ignore:qid is not given")  # test_peers reads the warning

CHECKS = parametrize_with_checks([RankNet(max_iter=5), LambdaRank(max_iter=5)])


# a list: newer pytest warns of the generator that older scikit-learn passes
@pytest.mark.parametrize(CHECKS.args[0], list(CHECKS.args[1]), ids=CHECKS.kwargs["ids"])
def test_scikit_learn_agrees(estimator, check):
    check(estimator)


def sample(n_queries=30, seed=0):
    rng = np.random.default_rng(seed)
    qid = group_ids(rng.integers(2, 12, n_queries))
    x = rng.normal(size=(len(qid), 4)) * (1, 100, 0.01, 1) + (0, 5, 0, 3)
    y = np.digitize(x[:, 0] + x[:, 1] / 100 + rng.normal(0, 0.2, len(qid)), (0.2, 1.0, 2.0))
    return x, y, qid


@pytest.mark.parametrize("activation", ["tanh", "relu"])
@pytest.mark.parametrize("hidden", [(5,), (4, 3), (3, 3, 2)])
def test_gradients_of_the_network(activation, hidden):
    x, y, qid = sample(4)
    network = new_network(x, hidden, activation, np.random.RandomState(0))
    for intercept in network.intercepts:  # zeros are where relu has no derivative
        intercept[:] = np.random.RandomState(1).normal(size=len(intercept))
    z = network.standardised(x)
    outputs = network.outputs(z)
    gradient, _ = lambda_gradients(y, outputs[-1][:, 0], qid=qid, metric="ranknet")
    found = network.gradients(outputs, gradient)
    weights = network.coefs + network.intercepts
    assert [g.shape for g in found] == [w.shape for w in weights]
    step = 1e-6
    for weight, own in zip(weights, found, strict=True):
        flat = weight.reshape(-1)
        for i in range(len(flat)):
            kept, costs = flat[i], []
            for moved in (kept + step, kept - step):
                flat[i] = moved
                costs.append(ranknet_cost(y, network.scores(z), qid=qid))
            flat[i] = kept
            assert own.reshape(-1)[i] == pytest.approx((costs[0] - costs[1]) / (2 * step), abs=1e-5)


def test_adam_by_hand():
    network = new_network(np.eye(2), (1,), "tanh", np.random.RandomState(0))
    before = [w.copy() for w in network.coefs + network.intercepts]
    adam = Adam(network, 0.1, 0.5)
    adam.step([np.full_like(w, 3.0) for w in before])
    # the first step has the length of the learning rate, whatever the gradient
    for i, (old, new) in enumerate(zip(before, network.coefs + network.intercepts, strict=True)):
        shrunk = old * 0.95 if i < 2 else old
        np.testing.assert_allclose(new, shrunk - 0.1, atol=1e-7)


@pytest.mark.parametrize("kind", [RankNet, LambdaRank])
def test_unseen_queries_are_ranked_well(kind):
    x, y, qid = sample()
    fresh_x, fresh_y, fresh_qid = sample(seed=1)
    ranker = kind(learning_rate=0.01, max_iter=30, random_state=0).fit(x, y, qid=qid)
    shuffled = np.random.default_rng(0).normal(size=len(fresh_y))
    found = ranker.score(fresh_x, fresh_y, fresh_qid)
    assert found == ndcg(fresh_y, ranker.predict(fresh_x), qid=fresh_qid, k=10)
    assert found > 0.93
    assert found > ndcg(fresh_y, shuffled, qid=fresh_qid, k=10) + 0.15
    assert ranker.n_iter_ == len(ranker.train_scores_) == 30
    assert ranker.train_scores_[-1] == pytest.approx(ranker.score(x, y, qid))
    assert len(ranker.validation_scores_) == 0


@pytest.mark.parametrize("metric", ["ndcg", "err", "map"])
def test_every_metric_teaches(metric):
    x, y, qid = sample()
    ranker = LambdaRank(metric=metric, k=5, normalize=True, learning_rate=0.01, max_iter=15, random_state=0)
    assert ranker.fit(x, y, qid=qid).score(x, y, qid) > 0.9


def test_no_qid_is_one_query():
    x, y, _ = sample(3)
    a = RankNet(max_iter=3, random_state=0).fit(x, y)
    b = RankNet(max_iter=3, random_state=0).fit(x, y, qid=np.full(len(y), 7))
    np.testing.assert_array_equal(a.predict(x), b.predict(x))


def test_the_same_seed_gives_the_same_network():
    x, y, qid = sample()
    found = [LambdaRank(max_iter=2, random_state=s).fit(x, y, qid=qid).predict(x) for s in (0, 0, 1)]
    np.testing.assert_array_equal(found[0], found[1])
    assert not np.allclose(found[0], found[2])


def test_units_of_columns_change_nothing():
    x, y, qid = sample()
    plain, scaled = (LambdaRank(max_iter=3, random_state=0).fit(t, y, qid=qid).predict(t) for t in (x, x * 1000 - 7))
    np.testing.assert_allclose(plain, scaled, rtol=1e-6, atol=1e-8)


def test_constant_columns_are_harmless():
    x, y, qid = sample()
    x[:, 2] = 0.1
    assert np.isfinite(RankNet(max_iter=2, random_state=0).fit(x, y, qid=qid).predict(x)).all()


def test_early_stopping_returns_to_the_best_epoch():
    x, y, qid = sample(40)
    y = np.random.default_rng(0).permutation(y)  # nothing to learn: validation does not rise for long
    options = {"max_iter": 60, "learning_rate": 0.02, "n_iter_no_change": 4, "random_state": 0}
    ranker = LambdaRank(early_stopping=True, validation_fraction=0.3, **options).fit(x, y, qid=qid)
    best = int(np.argmax(ranker.validation_scores_))
    assert ranker.n_iter_ == best + 1 + 4 < 60
    assert len(ranker.validation_scores_) == len(ranker.train_scores_) == ranker.n_iter_
    # the kept network is that of the best epoch: training it only so far gives the same
    again = clone(ranker).set_params(max_iter=best + 1).fit(x, y, qid=qid)
    np.testing.assert_array_equal(again.predict(x), ranker.predict(x))


def test_an_interrupted_fit_keeps_its_epochs(monkeypatch):
    x, y, qid = sample()
    judge, calls = epochs.ndcg_by_query, []

    def interrupted(*args):
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return judge(*args)

    monkeypatch.setattr(epochs, "ndcg_by_query", interrupted)
    ranker = RankNet(max_iter=20, random_state=0)
    with pytest.raises(KeyboardInterrupt):
        ranker.fit(x, y, qid=qid)
    monkeypatch.undo()
    assert ranker.n_iter_ == 3
    np.testing.assert_array_equal(ranker.predict(x), RankNet(max_iter=3, random_state=0).fit(x, y, qid=qid).predict(x))


def test_progress_is_shown(capfd):
    x, y, qid = sample()
    RankNet(max_iter=2, verbose=1).fit(x, y, qid=qid)
    assert "epochs" in capfd.readouterr().err


def test_cross_validation_by_query():
    x, y, qid = sample()
    ranker = LambdaRank(max_iter=10, learning_rate=0.01, random_state=0)
    values = cross_val_ndcg(ranker, x, y, qid, n_splits=3)
    assert values.shape == (30,)
    assert values.mean() > 0.85
    with parallel_config(backend="threading"):
        np.testing.assert_array_equal(cross_val_ndcg(ranker, x, y, qid, n_splits=3, n_jobs=2), values)
    linear = cross_val_ndcg(ranker.set_params(gain="linear"), x, y * 50, qid, n_splits=3, gain="linear")
    assert linear.mean() > 0.85


def test_metadata_routing():
    x, y, qid = sample()
    with config_context(enable_metadata_routing=True):
        ranker = LambdaRank(max_iter=2, random_state=0).set_fit_request(qid=True).set_score_request(qid=True)
        found = cross_validate(ranker, x, y, cv=GroupKFold(3), params={"qid": qid, "groups": qid})
        first, rest = next(GroupKFold(3).split(x, y, qid))
        own = LambdaRank(max_iter=2, random_state=0).fit(x[first], y[first], qid=qid[first])
        assert found["test_score"][0] == own.score(x[rest], y[rest], qid[rest])
        search = GridSearchCV(ranker, {"max_iter": [1, 2]}, cv=GroupKFold(3)).fit(x, y, qid=qid, groups=qid)
        assert search.cv_results_["mean_test_score"][1] == pytest.approx(found["test_score"].mean())


def test_a_pipeline_fits_with_qid():
    x, y, qid = sample()
    line = make_pipeline(MinMaxScaler(), RankNet(max_iter=2, random_state=0)).fit(x, y, ranknet__qid=qid)
    alone = RankNet(max_iter=2, random_state=0).fit(MinMaxScaler().fit_transform(x), y, qid=qid)
    np.testing.assert_array_equal(line.predict(x), alone.predict(MinMaxScaler().fit_transform(x)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"hidden_layer_sizes": ()}, "hidden_layer_sizes must be a tuple of 1 to 8 whole numbers from 1 to 4096"),
        ({"hidden_layer_sizes": 5}, r"hidden_layer_sizes must be a tuple .* got 5"),
        ({"hidden_layer_sizes": (5, 0)}, "hidden_layer_sizes must be a tuple"),
        ({"activation": "sine"}, "activation must be one of tanh, relu; got 'sine'"),
        ({"learning_rate": 0}, "learning_rate must be above 0, got 0"),
        ({"learning_rate": -1}, "learning_rate must be a number from 0 to 1, got -1"),
        ({"weight_decay": -1}, "weight_decay must be a number from 0 to 1, got -1"),
        ({"max_iter": 0}, "max_iter must be a whole number from 1, got 0"),
        ({"batch_size": 1.5}, "batch_size must be a whole number from 1, got 1.5"),
        ({"eval_at": 0}, "eval_at must be a whole number from 1, got 0"),
        ({"n_iter_no_change": 0}, "n_iter_no_change must be a whole number from 1, got 0"),
        ({"early_stopping": True, "validation_fraction": 0.01}, "validation_fraction=0.01 of 30 gives 0; change it"),
        ({"early_stopping": True, "validation_fraction": 2}, "validation_fraction must be a number from 0 to 1"),
        ({"metric": "auc"}, "metric must be one of ranknet, ndcg, err, map; got 'auc'"),
        ({"gain": "none"}, "gain must be one of exponential, linear"),
        ({"sigma": 0}, "sigma must be above 0"),
    ],
)
def test_bad_parameters(options, message):
    x, y, qid = sample()
    with pytest.raises(UsageError, match=message):
        LambdaRank(**options).fit(x, y, qid=qid)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda x, y, q: (x, y, q[:-1]), "qid must name the query of each of the"),
        (lambda x, y, q: (x, y, np.arange(len(q)) % 2), "are apart"),
        (lambda x, y, q: (x, y - 1, q), r"relevance must be 0 \(not relevant\) or more, got -1"),
        (lambda x, y, q: (x, y + 0.5, q), "relevance must be whole numbers"),
        (lambda x, y, q: (x, y + 40, q), "relevance must be up to 31"),
        (lambda x, y, q: (x, y, np.arange(len(q))), "no query has two documents of different relevance; is qid"),
        (lambda x, y, q: (x * 1e150, y, q), r"numbers of X must be up to 1e\+100"),
    ],
)
def test_bad_data(change, message):
    with pytest.raises(UsageError, match=message) as caught:
        RankNet().fit(*change(*sample()))
    assert len(str(caught.value).splitlines()) == 1


def test_training_that_diverges_is_said(monkeypatch):
    x, y, qid = sample()
    monkeypatch.setattr(Adam, "step", lambda self, _: self.weights[0].fill(np.inf))
    with np.errstate(all="ignore"), pytest.raises(UsageError, match="training diverged: use a learning_rate below"):
        RankNet(learning_rate=0.5).fit(x, y, qid=qid)
