import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from depthforest.base.errors import UsageError
from depthforest.ensemble.boosting.gradient import GradientBoostingRegressor
from depthforest.ensemble.boosting.losses.choice import loss_of
from depthforest.ensemble.boosting.losses.classes import MAX_SURE_STEP
from depthforest.ensemble.boosting.losses.custom import CustomLoss


class Squared:
    def value(self, y, raw):
        return (y - raw) ** 2 / 2

    def gradient(self, y, raw):
        return raw - y

    def hessian(self, y, raw):
        return np.ones_like(raw + y)


class Absolute:
    def value(self, y, raw):
        return np.abs(y - raw)

    def gradient(self, y, raw):
        return np.where(raw >= y, 1.0, -1.0)


class Cauchy:  # not convex
    def value(self, y, raw):
        return np.log1p((y - raw) ** 2)

    def gradient(self, y, raw):
        return 2 * (raw - y) / (1 + (raw - y) ** 2)


class Poisson:  # counts, raw values are logarithms
    def value(self, y, raw):
        return np.exp(raw) - y * raw

    def gradient(self, y, raw):
        return np.exp(raw) - y

    def hessian(self, y, raw):
        return np.exp(raw) * np.ones_like(y)


class Logistic:
    def value(self, y, raw):
        return np.logaddexp(0, -y * raw)

    def gradient(self, y, raw):
        return -y / (1 + np.exp(y * raw))

    def hessian(self, y, raw):
        return np.exp(y * raw) / (1 + np.exp(y * raw)) ** 2


class Hinge:
    def value(self, y, raw):
        return np.maximum(0, 1 - y * raw)

    def gradient(self, y, raw):
        return np.where(y * raw <= 1, -y, 0.0)


def _changed(base, **methods):
    """Return an object like one of a class, with other methods (y, raw) -> result."""
    return type(base.__name__, (base,), {name: staticmethod(m) for name, m in methods.items()})()


def _numbers(n, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=n) * 3, rng.normal(size=n), rng.uniform(0.2, 2, n), rng.integers(-1, 3, n).astype(np.int32)


# ---------------------------------------------------------------------- the same as the built-in twins


@pytest.mark.parametrize(
    ("own", "twin", "n_classes"),
    [
        (Squared(), "squared_error", None),
        (Absolute(), "absolute_error", None),
        (Logistic(), "logistic", 2),
        (Hinge(), "hinge", 2),
    ],
)
def test_custom_losses_do_what_their_built_in_twins_do(own, twin, n_classes):
    y, raw, weights, leaf_of = _numbers(45)
    if n_classes:
        y = (y > 0).astype(np.int32)
    custom, built_in = loss_of(own, n_classes=n_classes), loss_of(twin, n_classes=n_classes)
    assert isinstance(custom, CustomLoss)
    np.testing.assert_allclose(custom.value(y, raw), built_in.value(y, raw), rtol=1e-12)
    filled = np.empty((2, 2, 45))
    for loss, (gradient, hessian) in zip((custom, built_in), filled, strict=True):
        loss.derivatives(y, raw, gradient, hessian)
    np.testing.assert_allclose(filled[0], filled[1], rtol=1e-12)
    assert custom.has_hessian == built_in.has_hessian
    assert custom.n_outputs == 1
    np.testing.assert_allclose(custom.start(y, weights), built_in.start(y, weights), atol=1e-9)
    found = custom.leaf_values(y, raw, weights, leaf_of, 4)
    np.testing.assert_allclose(found, built_in.leaf_values(y, raw, weights, leaf_of, 4), atol=1e-9)
    assert found[3] == 0
    if n_classes:
        np.testing.assert_array_equal(custom.decide(raw), built_in.decide(raw))
        with pytest.raises(UsageError, match="has no probabilities"):
            custom.probabilities(raw)


@settings(max_examples=30, deadline=None)
@given(shift=st.sampled_from([0.0, 1e6, -1e9]), scale=st.sampled_from([1e-4, 1.0, 1e5]), seed=st.integers(0, 100))
def test_targets_of_any_size_pass_the_check_and_are_met(shift, scale, seed):
    y = np.random.default_rng(seed).normal(size=25) * scale + shift
    ones = np.ones(25)
    for own, expected in ((Squared(), y.mean()), (Absolute(), np.median(y))):
        assert loss_of(own).start(y, ones)[0] == pytest.approx(expected, rel=1e-9, abs=1e-9 * (scale + abs(shift) + 1))
    loss_of(Cauchy()).start(y, ones)


def test_counts_reach_their_logarithm_without_overflow():
    y = np.array([0.0, 3.0, 2000.0, 7.0, 0.0, 0.0])
    loss = loss_of(Poisson())
    assert loss.start(y, np.ones(6))[0] == pytest.approx(np.log(y.mean()), rel=1e-10)
    leaves = loss.leaf_values(y, np.zeros(6), np.ones(6), np.array([0, 0, 1, 0, 2, 2], dtype=np.int32), 3)
    assert leaves[:2] == pytest.approx(np.log([10 / 3, 2000]), rel=1e-10)
    assert leaves[2] < -20  # the minimum of zeros only is infinitely far


def test_the_search_for_classes_is_bounded():
    y = np.array([0, 0, 1], dtype=np.int32)
    found = loss_of(Logistic(), n_classes=2).leaf_values(y, np.zeros(3), np.ones(3), y, 2)
    assert found.tolist() == [-MAX_SURE_STEP, MAX_SURE_STEP]


def test_hessians_are_kept_above_0():
    hessian = np.empty(3)
    loss_of(Poisson()).derivatives(np.zeros(3), np.full(3, -1000.0), np.empty(3), hessian)
    assert (hessian > 0).all()


def test_leaf_values_of_its_own_are_taken():
    class Trimmed(Squared):
        def leaf_value(self, y, raw, weights):
            return np.average(np.clip(y - raw, -1, 1), weights=weights)

    y, raw, weights, leaf_of = _numbers(30)
    weights[leaf_of == 2] = 0
    found = loss_of(Trimmed()).leaf_values(y, raw, weights, leaf_of, 4)
    for leaf in range(2):
        rows = leaf_of == leaf
        assert found[leaf] == pytest.approx(np.average(np.clip(y - raw, -1, 1)[rows], weights=weights[rows]))
    assert found[2:].tolist() == [0, 0]


# ---------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("own", "message"),
    [
        (
            _changed(Squared, gradient=lambda y, raw: y - raw),
            r"gradient of loss Squared does not match its value: expected about \S+, got \S+ at y=\S+, raw=-2$",
        ),
        (_changed(Squared, gradient=lambda y, raw: 1.01 * (raw - y)), "gradient of loss Squared does not match"),
        (_changed(Absolute, gradient=lambda y, raw: np.where(raw > y, 1.0, -0.9)), "got -0.9 at"),
        (
            _changed(Squared, hessian=lambda y, raw: np.full((y + raw).shape, 2.0)),
            "hessian of loss Squared .* about 1, got 2 at",
        ),
        (
            _changed(Squared, gradient=lambda y, raw: (raw - y).sum()),
            r"gradient of loss Squared must return one number for each of \d+ rows, got float64 of shape \(\)",
        ),
        (
            _changed(Squared, value=lambda y, raw: (y - raw)[:, None]),
            r"value of loss .* got float64 of shape \(\d+, 1\)",
        ),
        (_changed(Squared, value=lambda y, raw: [None] * len(y + raw)), "value of loss .* got object of shape"),
        (
            _changed(Squared, gradient=lambda y, raw: np.where(raw > 1, np.nan, raw - y)),
            r"gradient of loss Squared must be finite, got nan at y=\S+, raw=2$",
        ),
    ],
)
def test_losses_that_contradict_themselves_are_refused_at_the_start(own, message):
    y = _numbers(40)[0]
    with pytest.raises(UsageError, match=message) as caught:
        loss_of(own).start(y, np.ones(40))
    assert "\n" not in str(caught.value)


def test_what_is_wrong_only_near_the_targets_is_found_where_these_are_far():
    own = _changed(Squared, gradient=lambda y, raw: np.where(np.abs(raw - y) < 1, 3.0, 1.0) * (raw - y))
    with pytest.raises(UsageError, match="gradient of loss Squared does not match its value"):
        loss_of(own).start(_numbers(40)[0] + 1000, np.ones(40))


def test_the_sign_of_classes_is_checked_too():
    own = _changed(Logistic, gradient=lambda y, raw: y / (1 + np.exp(y * raw)))
    with pytest.raises(UsageError, match=r"gradient of loss Logistic does not match its value: .* at y=-1, raw=-2$"):
        loss_of(own, n_classes=2).start(np.array([0, 1], dtype=np.int32), np.ones(2))


@pytest.mark.parametrize("own", [Absolute(), Hinge(), _changed(Absolute, gradient=lambda y, raw: np.sign(raw - y))])
def test_kinks_are_not_refused_wherever_they_lie(own):
    y = np.repeat([-2.0, -0.7, 0.0, 0.1, 1.0, 2.0], 3)  # kinks at the raw values of the check
    loss_of(own).start(y, np.ones(len(y)))


def test_what_goes_wrong_later_names_the_round():
    own = _changed(Squared, gradient=lambda y, raw: np.where(raw == 777.0, np.inf, raw - y))
    y, raw, weights, _ = _numbers(20)
    loss = loss_of(own)
    loss.start(y, weights)
    raw[3] = 777.0
    for _ in range(2):
        loss.prepare(y, raw, weights)
    with pytest.raises(UsageError, match=rf"must be finite, got inf at y={y[3]:g}, raw=777 in round 2$"):
        loss.derivatives(y, raw, np.empty(20), None)


@pytest.mark.parametrize(
    ("own", "message"),
    [
        (Squared, r"loss must be an object, got the class Squared: pass Squared\(\)"),
        (None, r"an object with methods value\(y, raw\) and gradient\(y, raw\), got None"),
        (Squared().value, r"an object with methods value\(y, raw\) and gradient"),
    ],
)
def test_objects_that_are_no_loss_are_refused(own, message):
    with pytest.raises(UsageError, match=message):
        loss_of(own)


def test_more_than_two_classes_are_refused():
    with pytest.raises(UsageError, match="custom loss Logistic separates two classes, but y has 3: use 'log_loss'"):
        loss_of(Logistic(), n_classes=3)


@pytest.mark.parametrize("value", [np.nan, "1", np.ones(2)])
def test_leaf_values_must_be_numbers(value):
    own = _changed(Squared, leaf_value=lambda *_: value)
    with pytest.raises(UsageError, match="leaf_value of loss Squared must return one finite number, got"):
        loss_of(own).leaf_values(np.zeros(2), np.zeros(2), np.ones(2), np.zeros(2, dtype=np.int32), 1)


class InPlace:
    """The squared error, worked out where the numbers lie."""

    def value(self, y, raw):
        raw -= y
        raw *= raw
        raw /= 2
        return raw

    def gradient(self, y, raw):
        y -= raw
        y *= -1
        return y


def test_a_loss_that_works_in_place_changes_nothing_of_ours():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(60, 2)), rng.normal(size=60)
    kept = y.copy()
    settings = {"n_estimators": 4, "random_state": 0}
    own = GradientBoostingRegressor(loss=InPlace(), **settings).fit(x, y)
    np.testing.assert_array_equal(y, kept)
    np.testing.assert_allclose(own.predict(x), GradientBoostingRegressor(**settings).fit(x, y).predict(x), atol=1e-6)


class Downwards:
    """A squared error with all signs turned."""

    def value(self, y, raw):
        return -((y - raw) ** 2) / 2

    def gradient(self, y, raw):
        return y - raw

    def hessian(self, y, raw):
        return np.full(len(y), -1.0) + 0 * raw


def test_a_loss_that_bends_down_is_refused():
    rng = np.random.default_rng(0)
    with pytest.raises(UsageError, match="hessian of loss Downwards is negative everywhere"):
        GradientBoostingRegressor(loss=Downwards()).fit(rng.normal(size=(30, 2)), rng.normal(size=30))
