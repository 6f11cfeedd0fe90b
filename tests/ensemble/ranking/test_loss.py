"""The ranking loss: lambdas of the naive twin as derivatives, 1 - NDCG as value."""

import numpy as np
import pytest
from support import naive_ranking as naive

from depthforest.ensemble.boosting.losses.derivatives import HESSIAN_FLOOR
from depthforest.ensemble.ranking.groups import group_ids, query_starts
from depthforest.ensemble.ranking.lambdas import METRICS, pair_targets
from depthforest.ensemble.ranking.loss import RankingLoss
from depthforest.ensemble.ranking.metrics import ndcg

SIZES = [5, 1, 7, 3, 4]
GRADES = np.random.default_rng(0).integers(0, 4, sum(SIZES)).astype(float)
GRADES[13:16] = 0.0  # a query of which nothing is relevant
QID = group_ids(SIZES)
STARTS = query_starts(QID, len(QID))
SCORE = np.random.default_rng(1).normal(size=len(QID))


def loss_of(metric="ndcg", eval_at=3, gain="exponential", threads=1, **options):
    targets = pair_targets(metric, GRADES, STARTS, gain=gain, **options)
    return RankingLoss(metric, targets, eval_at=eval_at, gain=gain, threads=threads)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(("normalize", "k", "gain"), [(True, 2, "exponential"), (False, 30, "linear")])
def test_derivatives_are_the_lambdas_of_the_twin(metric, normalize, k, gain):
    options = {"k": k, "sigma": 1.3, "normalize": normalize, "gain": gain}
    ref = naive.all_lambdas(metric, GRADES.tolist(), SIZES, SCORE.tolist(), **options)
    for threads in (1, 2, 9):
        gradient, hessian = np.empty(len(QID)), np.empty(len(QID))
        loss_of(metric, threads=threads, **options).derivatives(GRADES, SCORE, gradient, hessian)
        np.testing.assert_allclose(gradient, ref[0], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(hessian, ref[1], rtol=1e-9, atol=1e-12)
        assert hessian.min() == HESSIAN_FLOOR  # of the query of one document
    alone = np.empty(len(QID))
    loss_of(metric, **options).derivatives(GRADES, SCORE, alone, None)
    np.testing.assert_array_equal(alone, gradient)


@pytest.mark.parametrize("eval_at", [1, 3, 20])
@pytest.mark.parametrize("gain", ["exponential", "linear"])
@pytest.mark.parametrize("score", [SCORE, np.zeros(len(SCORE))], ids=["apart", "equal"])
def test_the_mean_value_is_that_of_queries(eval_at, gain, score):
    loss = loss_of(eval_at=eval_at, gain=gain)
    for _ in range(2):  # what is kept from the first call is right in the next
        found = loss.value(GRADES, score)
        assert found.shape == GRADES.shape
        assert found.mean() == pytest.approx(1 - ndcg(GRADES, score, qid=QID, k=eval_at, gain=gain))
    assert (found[13:16] == 0).all()  # nothing relevant: nothing is wrong


def test_a_constant_ranks_nothing():
    loss = loss_of()
    np.testing.assert_array_equal(loss.start(GRADES, np.ones(len(GRADES))), [0.0])
    assert (loss.name, loss.n_outputs, loss.has_hessian, loss.is_by_row) == ("ndcg", 1, True, False)


def test_without_rows_it_only_has_a_name():
    loss = RankingLoss("err", gain="linear")
    assert loss.name == "err"
    with pytest.raises(ValueError, match="the loss err was made without rows"):
        loss.value(GRADES, SCORE)
