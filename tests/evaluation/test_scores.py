import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import calibration as sk_calibration
from sklearn import metrics
from support import naive_scores as naive

from depthforest.base.errors import UsageError
from depthforest.evaluation import scores
from depthforest.evaluation.scores import Calibration, Estimate, JudgedProposals, ProposalLog, Tally, difference

labels = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=60)
proposals = st.lists(st.tuples(st.floats(0, 0.3), st.sampled_from((0.1, 0.2, 0.5, 0.9))), max_size=4)
people = st.lists(st.tuples(proposals, st.booleans()), min_size=1, max_size=8)


def judged(log_of):
    log = ProposalLog()
    for person, (own, is_visible) in enumerate(log_of):
        log.add(person, [d for d, _ in own], [c for _, c in own], is_visible=is_visible)
    return log.judged(len(log_of))


@given(labels)
def test_class_figures_are_scikit_learns(pairs):
    truth, answers = (np.array(column, dtype=np.uint8) for column in zip(*pairs, strict=True))
    confusion = scores.count_pairs(truth, answers, 5, 5)
    np.testing.assert_array_equal(confusion, metrics.confusion_matrix(truth, answers, labels=range(5)))
    tally = Tally.of(confusion)
    assert tally.pixel_accuracy == pytest.approx(metrics.accuracy_score(truth, answers))
    recalls = metrics.recall_score(truth, answers, labels=range(5), average=None, zero_division=np.nan)
    np.testing.assert_allclose(tally.class_accuracies, recalls)
    assert tally.mean_class_accuracy == pytest.approx(np.nanmean(recalls))  # balanced_accuracy_score, which warns
    each = metrics.jaccard_score(truth, answers, labels=range(5), average=None, zero_division=0)
    is_known = np.isin(range(5), (*truth, *answers))
    np.testing.assert_allclose(tally.ious[is_known], each[is_known])
    assert np.isnan(tally.ious[~is_known]).all()
    assert tally.mean_iou == pytest.approx(metrics.jaccard_score(truth, answers, average="macro"))


def test_balanced_accuracy_is_scikit_learns_where_every_class_is_seen():
    rng = np.random.default_rng(0)
    truth = np.append(np.arange(31), rng.integers(0, 31, 4000)).astype(np.uint8)
    answers = np.where(rng.random(len(truth)) < 0.6, truth, rng.integers(0, 31, len(truth))).astype(np.uint8)
    tally = Tally.of(scores.count_pairs(truth, answers, 31, 31))
    assert tally.mean_class_accuracy == pytest.approx(metrics.balanced_accuracy_score(truth, answers))


def test_leading_axes_are_data_sets_of_their_own():
    rng = np.random.default_rng(1)
    confusions = rng.integers(0, 9, (7, 4, 4))
    confusions[2, 1] = 0
    many = Tally.of(confusions)
    for i, one in enumerate(confusions):
        assert many.mean_class_accuracy[i] == Tally.of(one).mean_class_accuracy
        assert many.mean_iou[i] == Tally.of(one).mean_iou
    chosen = np.array([True, False, True, True, False, False, False])
    np.testing.assert_array_equal(many.total(chosen).ious, Tally.of(confusions[chosen].sum(axis=0)).ious)
    weights = rng.integers(0, 3, (5, 7)).astype(float)
    expected = Tally.of(np.einsum("bn,nij->bij", weights, confusions))
    np.testing.assert_array_equal(many.weighted(weights).class_accuracies, expected.class_accuracies)


def test_labels_that_do_not_fit_are_refused():
    with pytest.raises(UsageError, match=r"truth has shape \(2,\), the answers \(3,\)"):
        scores.count_pairs(np.zeros(2, np.uint8), np.zeros(3, np.uint8), 1, 1)
    with pytest.raises(UsageError, match="labels reach 3 and 0; expected below 3 and 2"):
        scores.count_pairs(np.array([3], np.uint8), np.zeros(1, np.uint8), 3, 2)


# -- joints ------------------------------------------------------------------------------------------------------------

BY_HAND = [
    ([(0.05, 0.9), (0.04, 0.8)], True),  # the more confident is right, the other a false alarm
    ([(0.20, 0.7), (0.08, 0.6)], True),
    ([], True),  # missed
]


def test_average_precision_by_hand():
    # 0.9 right: precision 1 at recall 1/3; 0.8 and 0.7 wrong; 0.6 right: precision 2/4 at recall 2/3
    assert judged(BY_HAND).average_precision(0.1) == pytest.approx(1 / 3 + 1 / 3 * 2 / 4)
    precision, recall = judged(BY_HAND).precision_recall(0.1)
    np.testing.assert_allclose(precision, [1, 1 / 2, 1 / 3, 2 / 4])
    np.testing.assert_allclose(recall, [1 / 3, 1 / 3, 1 / 3, 2 / 3])


def test_the_nearer_of_two_counts_once_the_distance_is_short():
    # within 4.5 cm the first of person 1 is too far: the second is right
    assert judged(BY_HAND).average_precision(0.045) == pytest.approx(1 / 3 * 1 / 2)
    assert judged(BY_HAND).average_precision(0.01) == 0


def test_hidden_joints_are_not_missed_and_not_found():
    near = [*BY_HAND, ([(0.05, 0.95)], False)]
    assert judged(near).average_precision(0.1) == judged(BY_HAND).average_precision(0.1)
    far = [*BY_HAND, ([(0.5, 0.95)], False)]  # a false alarm before all others
    assert judged(far).average_precision(0.1) == pytest.approx(1 / 3 * 1 / 2 + 1 / 3 * 2 / 5)
    twice = [*BY_HAND, ([(0.05, 0.95), (0.05, 0.94)], False)]  # the second is a double
    assert judged(twice).average_precision(0.1) == pytest.approx(1 / 3 * 1 / 2 + 1 / 3 * 2 / 5)


def test_equal_confidences_are_one_step():
    for order in ([(0.05, 0.5)], [(0.5, 0.5)]), ([(0.5, 0.5)], [(0.05, 0.5)]):
        assert judged([(own, True) for own in order]).average_precision(0.1) == pytest.approx(1 / 2 * 1 / 2)


def test_no_joint_to_find_is_unknown_and_no_proposal_is_zero():
    assert math.isnan(judged([([(0.05, 0.9)], False)]).average_precision(0.1))
    assert judged([([], True)]).average_precision(0.1) == 0


@given(people, st.sampled_from((0.0, 0.05, 0.1, 0.3)))
def test_average_precision_is_the_naive_one(log_of, within):
    expected = naive.average_precision(log_of, within)
    np.testing.assert_allclose(judged(log_of).average_precision(within), expected, atol=1e-12)


@given(people, st.integers(0, 2**20))
def test_weights_repeat_people(log_of, seed):
    weights = np.random.default_rng(seed).integers(0, 3, (2, len(log_of)))
    found = judged(log_of).average_precision(0.1, weights.astype(float))
    for own, value in zip(weights, found, strict=True):
        repeated = [person for person, n in zip(log_of, own, strict=True) for _ in range(n)]
        expected = naive.average_precision(repeated, 0.1) if repeated else math.nan
        np.testing.assert_allclose(value, expected, atol=1e-12)


def test_average_precision_is_scikit_learns_times_the_recall_that_is_reached():
    rng = np.random.default_rng(3)
    log_of = [([(d, c)], True) for d, c in zip(rng.uniform(0, 0.2, 300), rng.random(300).round(2), strict=True)]
    is_right = np.array([own[0][0] <= 0.1 for own, _ in log_of])
    ranked = metrics.average_precision_score(is_right, [own[0][1] for own, _ in log_of])
    assert judged(log_of).average_precision(0.1) == pytest.approx(ranked * is_right.mean())


def test_the_curve_rises_to_what_any_distance_allows():
    log_of = [*BY_HAND, ([(0.29, 0.4)], True)]
    curve = judged(log_of).curve()
    assert curve.shape == scores.CURVE_M.shape
    assert curve[0] == 0
    assert curve[10] == judged(log_of).average_precision(scores.CURVE_M[10])
    assert curve[-1] == naive.average_precision(log_of, 0.3)


def test_of_people_leaves_the_others_out():
    kept = judged(BY_HAND).of_people(np.array([True, False, True]))
    assert kept.average_precision(0.1) == naive.average_precision([BY_HAND[0], BY_HAND[2]], 0.1)


def test_the_mean_is_over_joints_that_can_be_seen():
    unseen = judged([([], False)] * 3)
    assert scores.mean_precision([judged(BY_HAND), unseen]) == judged(BY_HAND).average_precision()
    assert isinstance(unseen, JudgedProposals)


# -- calibration -------------------------------------------------------------------------------------------------------


def test_reliability_is_scikit_learns():
    rng = np.random.default_rng(0)
    confidence = np.append(rng.random(5000), np.arange(0, 256) / 255)  # also what forests give: 255ths
    is_right = rng.random(len(confidence)) < confidence**2
    found = Calibration.of(confidence, is_right, 10)
    share_right, mean_confidence = sk_calibration.calibration_curve(is_right, confidence, n_bins=10)
    np.testing.assert_allclose(found.accuracy, share_right)
    np.testing.assert_allclose(found.confidence, mean_confidence)


@given(st.lists(st.tuples(st.integers(0, 255), st.booleans()), min_size=1, max_size=50))
def test_expected_error_is_the_naive_one(answers):
    confidence, is_right = [c / 255 for c, _ in answers], [r for _, r in answers]
    found = Calibration.of(confidence, is_right)
    expected = naive.expected_calibration_error(confidence, is_right, scores.N_BINS)
    assert found.expected_error == pytest.approx(expected, abs=1e-9)
    half = len(answers) // 2
    joined = Calibration.of(confidence[:half], is_right[:half]) + Calibration.of(confidence[half:], is_right[half:])
    np.testing.assert_array_equal(joined.n, found.n)
    assert joined.expected_error == pytest.approx(found.expected_error)


def test_nothing_answered_has_no_error():
    assert math.isnan(Calibration().expected_error)


# -- bootstrap ---------------------------------------------------------------------------------------------------------


def test_weights_are_draws_with_replacement_from_a_seed():
    blocks = list(scores.frame_weights(13, 120, seed=5))
    weights = np.concatenate(blocks)
    assert weights.shape == (120, 13)
    np.testing.assert_array_equal(weights.sum(axis=1), 13)
    assert weights.mean(axis=0).std() < 0.3
    np.testing.assert_array_equal(weights, np.concatenate(list(scores.frame_weights(13, 120, seed=5))))
    assert not np.array_equal(weights, np.concatenate(list(scores.frame_weights(13, 120, seed=6))))


def replicates_of(values, seed=0):
    return np.concatenate([w @ values / w.sum(axis=1) for w in scores.frame_weights(len(values), seed=seed)])


def test_the_interval_of_a_mean_is_the_normal_one():
    values = np.random.default_rng(0).normal(0.5, 0.1, 400)
    estimate = Estimate.of(values.mean(), replicates_of(values))
    half = 1.96 * values.std() / 20
    assert estimate.low == pytest.approx(values.mean() - half, abs=half / 6)
    assert estimate.high == pytest.approx(values.mean() + half, abs=half / 6)
    assert estimate.to_dict()["value"] == pytest.approx(values.mean(), abs=1e-5)


def test_paired_draws_tell_apart_what_overlaps():
    rng = np.random.default_rng(0)
    hard = rng.normal(0.5, 0.2, 200)  # frames differ far more than models
    first, second = hard, hard + 0.02 + rng.normal(0, 0.01, 200)
    a, b = (Estimate.of(v.mean(), replicates_of(v)) for v in (first, second))
    assert a.high > b.low  # each alone says nothing
    gap = difference(a, b)
    assert gap.is_clear
    assert gap.p_value == 0
    assert gap.value == pytest.approx(second.mean() - first.mean())
    assert gap.low < gap.value < gap.high
    noise = Estimate.of(0.5, replicates_of(hard + rng.normal(0, 0.01, 200)))
    assert not difference(a, noise).is_clear
    assert difference(b, a).high < 0
    assert difference(a, a).p_value == 1


def test_figures_of_other_draws_are_not_compared():
    with pytest.raises(UsageError, match="replicate by replicate"):
        difference(Estimate.of(0, np.zeros(3)), Estimate.of(0, np.zeros(4)))


def test_unknown_replicates_are_left_out():
    estimate = Estimate.of(0.5, np.array([0.5, np.nan, 0.5]))
    assert (estimate.low, estimate.high) == (0.5, 0.5)
    unknown = Estimate.of(np.nan, np.array([np.nan]))
    assert not difference(unknown, unknown).is_clear
    assert math.isnan(difference(unknown, unknown).p_value)
    assert unknown.to_dict() == {"value": None, "low": None, "high": None}
