import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import naive_losses as naive

from depthforest.base.errors import UsageError
from depthforest.ensemble.boosting.losses.choice import CLASSIFICATION_LOSSES, REGRESSION_LOSSES, Loss, loss_of
from depthforest.ensemble.boosting.losses.classes import MAX_LOG_ODDS, MAX_SURE_STEP
from depthforest.ensemble.boosting.losses.derivatives import HESSIAN_FLOOR, fast_exp, softmax_derivatives
from depthforest.ensemble.boosting.losses.tweedie import MAX_LOG_STEP

LOGARITHMS = ("poisson", "gamma", "tweedie")
REGRESSION = ("squared_error", "absolute_error", "huber", "quantile", *LOGARITHMS)
MARGINS = ("logistic", "exponential", "hinge", "perceptron")
SEARCHED = (*REGRESSION, "logistic", "exponential", "hinge")  # a perceptron's leaves are no minima


def _loss(name, alpha=0.7):
    return loss_of(name, n_classes=None if name in REGRESSION else 2, alpha=alpha)


def _rows(name, n, seed=0):
    """Return targets, raw values and weights of a data set."""
    rng = np.random.default_rng(seed)
    y = rng.normal(size=n) * 3 if name in REGRESSION else rng.integers(0, 2, n).astype(np.int32)
    if name in LOGARITHMS:
        y = np.abs(y)
    return y, rng.normal(size=n) * 2, rng.uniform(0.2, 2.0, n)


def _bounds(loss, y, raw):
    """Return the interval in which a leaf's value is looked for."""
    if loss.name == "exponential":
        return -MAX_SURE_STEP / 2, MAX_SURE_STEP / 2
    if loss.name == "logistic":
        return -MAX_LOG_ODDS, MAX_LOG_ODDS
    if loss.name in LOGARITHMS:
        return -MAX_LOG_STEP, MAX_LOG_STEP
    size = np.abs(y).max() + np.abs(raw).max() + 2.0
    return -size, size


def _gradient(loss, y, raw):
    gradient = np.empty(raw.shape)
    loss.derivatives(y, raw, gradient, None)
    return gradient


# ---------------------------------------------------------------------- values and derivatives


def test_fast_exp_is_exp():
    points = np.concatenate((np.linspace(-700, 700, 3001), np.random.default_rng(0).uniform(-2, 2, 1000), [0.0]))
    assert max(abs(fast_exp(x) / math.exp(x) - 1) for x in points) < 5e-16
    assert fast_exp(0.0) == 1.0


@pytest.mark.parametrize("name", REGRESSION + MARGINS)
def test_values_are_those_of_the_twin(name):
    loss = _loss(name)
    y, raw, _ = _rows(name, 200)
    expected = [naive.value_of(loss)(a, b) for a, b in zip(y, raw, strict=True)]
    np.testing.assert_allclose(loss.value(y, raw), expected, rtol=1e-13)


@pytest.mark.parametrize("name", REGRESSION + MARGINS)
def test_gradients_are_differences_of_values(name):
    loss = _loss(name)
    y, raw, _ = _rows(name, 200)
    gradient = _gradient(loss, y, raw)
    step = 1e-6
    differences = (loss.value(y, raw + step) - loss.value(y, raw - step)) / (2 * step)
    np.testing.assert_allclose(gradient, differences, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("name", ["squared_error", "logistic", "exponential", *LOGARITHMS])
def test_hessians_are_differences_of_gradients(name):
    loss = _loss(name)
    assert loss.has_hessian
    y, raw, _ = _rows(name, 200)
    gradient, hessian = np.empty(200), np.empty(200)
    loss.derivatives(y, raw, gradient, hessian)
    step = 1e-6
    differences = (_gradient(loss, y, raw + step) - _gradient(loss, y, raw - step)) / (2 * step)
    np.testing.assert_allclose(hessian, differences, rtol=1e-6, atol=1e-8)
    np.testing.assert_array_equal(gradient, _gradient(loss, y, raw))


@pytest.mark.parametrize("name", ["absolute_error", "huber", "quantile", "hinge", "perceptron"])
def test_losses_without_a_hessian_say_so_and_give_ones(name):
    loss = _loss(name)
    y, raw, _ = _rows(name, 50)
    hessian = np.zeros(50)
    loss.derivatives(y, raw, np.empty(50), hessian)
    assert not loss.has_hessian
    assert (hessian == 1).all()


def test_subgradients_at_kinks():
    y, at = np.array([0, 1], dtype=np.int32), np.array([-1.0, 1.0])
    assert _gradient(_loss("hinge"), y, at).tolist() == [0, 0]
    assert _gradient(_loss("perceptron"), y, np.zeros(2)).tolist() == [1, -1]
    assert _gradient(_loss("absolute_error"), at, at).tolist() == [0, 0]
    assert _gradient(_loss("quantile"), at, at).tolist() == [0, 0]


@pytest.mark.parametrize("name", [*REGRESSION, *MARGINS, "multinomial"])
def test_far_raw_values_overflow_nothing(name):
    far = np.array([-1e4, -800.0, -40.0, 0.0, 40.0, 800.0, 1e4])
    n = len(far)
    for y in ([0] * n, [1] * n):
        if name == "multinomial":
            loss, raw = loss_of(name, n_classes=3), np.stack((far, -far, np.zeros(n)))
        else:
            loss, raw = _loss(name), far
        y = np.array(y, dtype=np.float64 if name in REGRESSION else np.int32)
        gradient, hessian = np.empty(raw.shape), np.empty(raw.shape)
        loss.derivatives(y, raw, gradient, hessian)
        assert np.isfinite(gradient).all()
        assert np.isfinite(loss.value(y, raw)).all()
        assert hessian.min() >= HESSIAN_FLOOR
        leaves = loss.leaf_values(y, raw, np.ones(n), np.arange(n, dtype=np.int32), n)
        assert np.isfinite(leaves).all()
        if loss.has_probabilities:
            np.testing.assert_allclose(loss.probabilities(raw).sum(axis=1), 1.0, rtol=1e-14)


# ---------------------------------------------------------------------- multinomial


def test_multinomial_values_and_derivatives_are_those_of_the_twin():
    rng = np.random.default_rng(1)
    n, n_classes = 600, 5  # more than one block
    loss = loss_of("log_loss", n_classes=n_classes)
    y, raw = rng.integers(0, n_classes, n).astype(np.int32), rng.normal(size=(n_classes, n)) * 3
    gradient, hessian = np.empty(raw.shape), np.empty(raw.shape)
    loss.derivatives(y, raw, gradient, hessian)
    p = np.array([naive.softmax(row) for row in raw.T.tolist()])
    np.testing.assert_allclose(loss.probabilities(raw), p, rtol=1e-13)
    np.testing.assert_allclose(gradient.T, p - np.eye(n_classes)[y], rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(hessian.T, p * (1 - p), rtol=1e-11)
    np.testing.assert_allclose(loss.value(y, raw), [-math.log(p[i, c]) for i, c in enumerate(y)], rtol=1e-12)
    np.testing.assert_array_equal(gradient, _gradient(loss, y, raw))
    np.testing.assert_array_equal(loss.decide(raw), p.argmax(axis=1))
    assert loss.n_outputs == n_classes


def test_multinomial_hessians_are_differences_of_gradients():
    rng = np.random.default_rng(2)
    y, raw = rng.integers(0, 3, 40).astype(np.int32), rng.normal(size=(3, 40))
    loss = loss_of("multinomial", n_classes=3)
    hessian = np.empty(raw.shape)
    loss.derivatives(y, raw, np.empty(raw.shape), hessian)
    for c in range(3):
        step = np.zeros((3, 1))
        step[c] = 1e-6
        differences = (_gradient(loss, y, raw + step) - _gradient(loss, y, raw - step))[c] / 2e-6
        np.testing.assert_allclose(hessian[c], differences, rtol=1e-6, atol=1e-8)


def test_blocks_of_rows_are_filled_as_the_whole_is():
    rng = np.random.default_rng(3)
    y, raw = rng.integers(0, 4, 700).astype(np.int32), rng.normal(size=(4, 700))
    loss = loss_of("multinomial", n_classes=4)
    whole, blocks = np.empty((2, 4, 700)), np.full((2, 4, 700), np.nan)
    loss.derivatives(y, raw, whole[0], whole[1])
    for rows in (slice(0, 300), slice(300, 301), slice(301, 700), slice(700, 700)):
        loss.derivatives(y[rows], raw[:, rows], blocks[0][:, rows], blocks[1][:, rows])
    np.testing.assert_array_equal(whole, blocks)
    np.testing.assert_array_equal(loss.value(y[5:9], raw[:, 5:9]), loss.value(y, raw)[5:9])
    np.testing.assert_array_equal(loss.probabilities(raw[:, 5:9]), loss.probabilities(raw)[5:9])


def test_tables_of_another_layout_are_refused_before_kernels_see_them():
    y, raw = np.zeros(4, dtype=np.int32), np.zeros((3, 4))
    for bad in (np.zeros((4, 3)).T, raw.astype(np.float32), np.zeros((3, 8))[:, ::2], np.zeros((3, 4))[::-1]):
        with pytest.raises(UsageError, match="one row for each class"):
            softmax_derivatives(y, raw, bad, None)


def test_multinomial_of_two_classes_is_the_logistic_of_the_difference():
    rng = np.random.default_rng(4)
    y, raw = rng.integers(0, 2, 30).astype(np.int32), rng.normal(size=(2, 30))
    two, one = loss_of("multinomial", n_classes=2), loss_of("log_loss", n_classes=2)
    assert (two.n_outputs, one.n_outputs) == (2, 1)
    np.testing.assert_allclose(two.value(y, raw), one.value(y, raw[1] - raw[0]), rtol=1e-13)
    np.testing.assert_allclose(two.probabilities(raw), one.probabilities(raw[1] - raw[0]), rtol=1e-13)


def test_multinomial_leaves_take_friedmans_step():
    rng = np.random.default_rng(5)
    n, n_classes = 60, 3
    loss = loss_of("multinomial", n_classes=n_classes)
    y, raw = rng.integers(0, n_classes, n).astype(np.int32), rng.normal(size=(n_classes, n))
    weights, leaf_of = rng.uniform(0.1, 3.0, n), rng.integers(-1, 4, n).astype(np.int32)
    for output in range(n_classes):
        found = loss.leaf_values(y, raw, weights, leaf_of, 5, output)
        for leaf in range(4):
            rows = leaf_of == leaf
            expected = naive.friedman_step(y[rows], raw.T[rows].tolist(), weights[rows], output)
            assert found[leaf] == pytest.approx(np.clip(expected, -MAX_LOG_ODDS, MAX_LOG_ODDS), rel=1e-11)
        assert found[4] == 0
        given_gradient = _gradient(loss, y, raw)[output]
        np.testing.assert_array_equal(
            found, loss.leaf_values(y, raw, weights, leaf_of, 5, output, gradient=given_gradient)
        )


# ---------------------------------------------------------------------- minima


def _slope(y, raw, weights, at):
    """Of the logistic loss of a leaf that moves its rows."""
    return sum(w * (1 / (1 + np.exp(-r - at)) - t) for t, r, w in zip(y, raw, weights, strict=True))


def _is_beyond(y, raw, weights):
    """Say whether the least logistic loss of a leaf lies farther than one round may go."""
    return _slope(y, raw, weights, MAX_LOG_ODDS) <= 1e-12 or _slope(y, raw, weights, -MAX_LOG_ODDS) >= -1e-12


@pytest.mark.parametrize("y", [[0, 0, 0], [1, 1, 1], [1] * 199 + [0]])
def test_a_logistic_leaf_takes_newtons_step_where_the_least_loss_lies_too_far(y):
    """Of a pure leaf it is infinitely far."""
    raw, weights = np.linspace(-1.5, 0.5, len(y)), np.linspace(1, 2, len(y))
    found = _loss("logistic").leaf_values(np.array(y, dtype=np.int32), raw, weights, np.zeros(len(y), np.int32), 1)
    share = 1 / (1 + np.exp(-raw))
    step = -np.sum(weights * (share - y)) / np.sum(weights * share * (1 - share))
    assert _is_beyond(y, raw, weights)
    assert found[0] == pytest.approx(np.clip(step, -MAX_LOG_ODDS, MAX_LOG_ODDS))


@pytest.mark.parametrize("name", SEARCHED)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_leaf_values_are_least(name, data):
    n = data.draw(st.integers(1, 9))
    halves = st.integers(-8, 8).map(lambda v: v / 2)  # ties and exact balances are common
    y = data.draw(st.lists(halves if name in REGRESSION else st.integers(0, 1), min_size=n, max_size=n))
    y = np.array(y, dtype=np.float64 if name in REGRESSION else np.int32)
    y = np.abs(y) if name in LOGARITHMS else y
    raw = np.array(data.draw(st.lists(halves, min_size=n, max_size=n)))
    weights = np.array(data.draw(st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=n, max_size=n)))
    leaf_of = np.array(data.draw(st.lists(st.integers(-1, 1), min_size=n, max_size=n)), dtype=np.int32)
    loss = _loss(name, alpha=data.draw(st.sampled_from([0.1, 0.5, 0.75])))
    if name == "huber":
        loss.delta = data.draw(st.sampled_from([0.5, 1.0, 4.0]))
    found = loss.leaf_values(y, raw, weights, leaf_of, 3)
    assert found[2] == 0
    low, high = _bounds(loss, y, raw)
    for leaf in range(2):
        rows = (leaf_of == leaf) & (weights > 0)
        if not rows.any():
            assert found[leaf] == 0
            continue
        own = y[rows].tolist(), raw[rows].tolist(), weights[rows].tolist()
        best = naive.least(lambda moved, own=own: naive.total(loss, *own, moved), low, high)
        assert low <= found[leaf] <= high
        if name == "logistic" and _is_beyond(*own):
            continue
        assert naive.total(loss, *own, found[leaf]) <= best + 1e-9 * (1 + abs(best))


@pytest.mark.parametrize("name", REGRESSION + MARGINS)
def test_the_start_is_the_least_constant(name):
    y, _, weights = _rows(name, 31, seed=6)
    loss = _loss(name)
    found = loss.start(y, weights)
    assert found.shape == (1,)
    zeros = np.zeros(len(y))
    best = naive.least(lambda moved: naive.total(loss, y, zeros, weights, moved), -20.0, 20.0)
    assert naive.total(loss, y, zeros, weights, found[0]) == pytest.approx(best, rel=1e-10, abs=1e-7)


def test_the_multinomial_start_is_the_centerd_log_prior():
    y, weights = np.array([0, 1, 2, 2], dtype=np.int32), np.array([1.0, 2.0, 3.0, 2.0])
    found = loss_of("log_loss", n_classes=3).start(y, weights)
    assert found.sum() == pytest.approx(0, abs=1e-15)
    shares = np.exp(found) / np.exp(found).sum()
    np.testing.assert_allclose(shares, [1 / 8, 2 / 8, 5 / 8], rtol=1e-14)


def test_classes_without_weight_start_finite():
    y, weights = np.array([0, 1, 2], dtype=np.int32), np.array([1.0, 2.0, 0.0])
    assert np.isfinite(loss_of("log_loss", n_classes=3).start(y, weights)).all()
    for name in MARGINS:
        start = _loss(name).start(np.zeros(3, dtype=np.int32), weights)
        assert np.isfinite(start).all()
        assert start[0] <= 0


@pytest.mark.parametrize("name", REGRESSION + MARGINS)
def test_weights_are_repetitions(name):
    y, raw, _ = _rows(name, 40, seed=7)
    rng = np.random.default_rng(8)
    times, leaf_of = rng.integers(0, 4, 40), rng.integers(-1, 3, 40).astype(np.int32)
    repeated = np.repeat(np.arange(40), times)
    weighted, plain = _loss(name), _loss(name)
    ones = np.ones(len(repeated))
    assert weighted.start(y, times.astype(float)) == pytest.approx(plain.start(y[repeated], ones), rel=1e-10)
    weighted.prepare(y, raw, times.astype(float))
    plain.prepare(y[repeated], raw[repeated], ones)
    found = weighted.leaf_values(y, raw, times.astype(float), leaf_of, 3)
    expected = plain.leaf_values(y[repeated], raw[repeated], ones, leaf_of[repeated], 3)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["logistic", "exponential"])
def test_pure_leaves_go_to_the_bound(name):
    bound = MAX_LOG_ODDS if name == "logistic" else MAX_SURE_STEP / 2
    y = np.array([0, 0, 1, 1], dtype=np.int32)
    found = _loss(name).leaf_values(y, np.where(y, -3.0, 3.0), np.ones(4), y, 2)
    assert found.tolist() == [-bound, bound]


def test_large_leaves_are_searched_to_the_end():
    y, raw, weights = _rows("logistic", 5000, seed=9)
    leaf_of = np.random.default_rng(1).integers(0, 7, 5000).astype(np.int32)
    loss = _loss("logistic")
    found = loss.leaf_values(y, raw, weights, leaf_of, 7)
    gradient = weights * _gradient(loss, y, raw + found[leaf_of])
    slopes = np.bincount(leaf_of, weights=gradient) / np.bincount(leaf_of, weights=weights)
    assert np.abs(slopes).max() < 1e-10
    assert np.abs(found).max() < MAX_LOG_ODDS


def test_where_an_interval_is_least_quantiles_take_its_middle_and_hinges_what_is_near_0():
    y, leaf_of, ones = np.array([1.0, 4.0, 6.0, 7.0]), np.zeros(4, dtype=np.int32), np.ones(4)
    assert _loss("absolute_error").leaf_values(y, np.zeros(4), ones, leaf_of, 1).tolist() == [5.0]
    assert _loss("quantile", alpha=0.25).leaf_values(y, np.zeros(4), ones, leaf_of, 1).tolist() == [2.5]
    codes = np.array([0, 1, 1, 1], dtype=np.int32)
    raw = np.array([-3.0, 2.0, 5.0, 1.5])
    assert _loss("hinge").leaf_values(codes, raw, ones, leaf_of, 1).tolist() == [0.0]  # from -0.5 to 2
    assert _loss("hinge").leaf_values(codes, raw - 1, ones, leaf_of, 1).tolist() == [0.5]
    assert _loss("hinge").leaf_values(codes, raw + 3, ones, leaf_of, 1).tolist() == [-1.0]
    assert _loss("hinge").start(np.array([0, 1], dtype=np.int32), np.ones(2)).tolist() == [0.0]


def test_perceptron_leaves_take_the_mean_step_and_leave_0():
    loss = _loss("perceptron")
    y, raw, weights = _rows("perceptron", 30, seed=10)
    leaf_of = np.random.default_rng(2).integers(0, 3, 30).astype(np.int32)
    found = loss.leaf_values(y, raw, weights, leaf_of, 3)
    for leaf in range(3):
        rows = leaf_of == leaf
        assert found[leaf] == pytest.approx(naive.perceptron_step(y[rows], raw[rows], weights[rows]))
    assert loss.leaf_values(y, np.zeros(30), weights, y, 2).tolist() == [-1.0, 1.0]


def test_delta_is_a_quantile_of_the_sizes_of_residuals():
    loss = _loss("huber", alpha=0.75)
    y, ones = np.array([0.0, 1.0, -2.0, 3.0, 50.0]), np.ones(5)
    loss.prepare(y, np.zeros(5), ones)
    assert loss.delta == 3.0
    loss.prepare(y, np.zeros(5), np.array([1.0, 1, 1, 0, 0]))
    assert loss.delta == 2.0
    loss.prepare(np.array([0.0, 0, 0, 0, 10]), np.zeros(5), ones)
    assert loss.delta == 2.0  # the mean: the quantile is 0
    loss.prepare(y, y, ones)
    assert loss.delta == 1.0
    loss.start(y + 10, ones)
    assert loss.delta == 3.0  # about the median, 11: sizes 0, 1, 2, 3, 49


# ---------------------------------------------------------------------- probabilities and names


@pytest.mark.parametrize("name", MARGINS)
def test_signs_decide_and_agree_with_probabilities(name):
    raw = np.array([-3.0, -0.1, 0.0, 0.1, 5.0])
    loss = _loss(name)
    assert loss.decide(raw).tolist() == [0, 0, 0, 1, 1]
    if loss.has_probabilities:
        odds = 1 if name == "logistic" else 2
        np.testing.assert_allclose(loss.probabilities(raw)[:, 1], 1 / (1 + np.exp(-odds * raw)), rtol=1e-14)
        assert loss.probabilities(raw).argmax(axis=1).tolist() == loss.decide(raw).tolist()
    else:
        with pytest.raises(UsageError, match=f"loss '{name}' has no probabilities: use decision_function"):
            loss.probabilities(raw)


@pytest.mark.parametrize("name", ["logistic", "exponential"])
def test_probabilities_are_those_of_the_least_loss(name):
    y = np.array([0, 1, 1, 1], dtype=np.int32)
    loss = _loss(name)
    np.testing.assert_allclose(loss.probabilities(loss.start(y, np.ones(4))), [[0.25, 0.75]], rtol=1e-14)


@pytest.mark.parametrize(
    ("name", "y", "message"),
    [
        ("poisson", [1.0, -2.0], "y must be 0 or more for loss 'poisson', got -2"),
        ("tweedie", [0.0, 0.0], "y must have a number above 0 for loss 'tweedie', got only 0"),
        ("gamma", [1.0, 0.0], "y must be above 0 for loss 'gamma', got 0"),
    ],
)
def test_targets_of_another_kind_are_refused(name, y, message):
    with pytest.raises(UsageError, match=message):
        loss_of(name).check_targets(np.array(y))


def test_logarithms_are_taken_back():
    assert loss_of("tweedie").numbers(np.array([0.0, 1e4])).tolist() == [1.0, np.exp(300.0)]
    assert loss_of("huber").numbers(np.array([-2.0])).tolist() == [-2.0]


def test_losses_are_found_by_name():
    for name in REGRESSION_LOSSES:
        assert loss_of(name).name == name
    for name in CLASSIFICATION_LOSSES[1:]:
        loss = loss_of(name, n_classes=2)
        assert isinstance(loss, Loss)
        assert loss.name == name
    assert loss_of("log_loss", n_classes=2).name == "logistic"
    assert loss_of("log_loss", n_classes=4).n_outputs == 4
    assert [loss_of(name, n_classes=2).has_hessian for name in MARGINS] == [True, True, False, False]


@pytest.mark.parametrize(
    ("loss", "options", "message"),
    [
        ("l2", {}, "loss must be one of 'squared_error', .* got 'l2'$"),
        ("hinge", {}, "got 'hinge', which is for classification$"),
        ("huber", {"n_classes": 2}, "loss must be one of 'log_loss', .* got 'huber', which is for regression$"),
        ("logistic", {"n_classes": 3}, "'logistic' separates two classes, but y has 3: use 'log_loss'"),
        ("hinge", {"n_classes": 5}, "'hinge' separates two classes, but y has 5: use 'log_loss'"),
        ("log_loss", {"n_classes": 1}, "y must have at least two classes to boost, got 1 class"),
        ("quantile", {"alpha": 1.0}, "alpha must be a number above 0 and below 1 for loss 'quantile', got 1.0"),
        ("huber", {"alpha": "0.9"}, "alpha must be a number above 0 and below 1 for loss 'huber', got '0.9'"),
    ],
)
def test_what_no_loss_is_meant_by_is_refused_in_one_line(loss, options, message):
    with pytest.raises(UsageError, match=message) as caught:
        loss_of(loss, **options)
    assert "\n" not in str(caught.value)


def test_logistic_leaves_of_all_sizes_around_a_register():
    """Rows are summed 32 at a time: leaves that end before, at and after that, empty ones, rows that are left out."""
    rng = np.random.default_rng(3)
    sizes = [0, 1, 31, 32, 33, 64, 0]
    leaf_of = rng.permutation(np.repeat(np.arange(-1, len(sizes)), [5, *sizes])).astype(np.int32)
    n = len(leaf_of)
    y, raw, weights = rng.integers(0, 2, n).astype(np.int32), rng.normal(size=n), rng.uniform(0.1, 3.0, n)
    found = _loss("logistic").leaf_values(y, raw, weights, leaf_of, len(sizes))
    for leaf, value in enumerate(found):
        rows = leaf_of == leaf
        if not rows.any():
            assert value == 0
            continue
        p = 1 / (1 + np.exp(-raw[rows]))
        slope, bend = (weights[rows] * (p - y[rows])).sum(), (weights[rows] * p * (1 - p)).sum()
        moved = 1 / (1 + np.exp(-raw[rows] - value))
        rest = (weights[rows] * (moved - y[rows])).sum()
        is_step = value == pytest.approx(np.clip(-slope / bend, -2, 2), abs=1e-12)
        assert abs(rest) < 1e-8 or is_step  # the minimum, or Newton's step where it lies too far
