import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import naive_combining as naive

from depthforest.base.errors import UsageError
from depthforest.ensemble.combining.rejecting import check_majority, check_reject_label, reject_curve, with_rejects


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 10_000), st.integers(1, 30), st.integers(1, 6))
def test_every_point_of_the_curve_is_the_naive_one(seed, n, levels):
    rng = np.random.default_rng(seed)
    share = rng.integers(1, levels + 1, n) / levels
    right = rng.random(n) < 0.6
    weight = rng.integers(0, 3, n).astype(float)
    weight[rng.integers(n)] = 1.0
    curve = reject_curve(share, right, weight)
    assert curve.majority[0] == 0
    assert curve.rejected[0] == 0
    assert (np.diff(curve.majority) > 0).all()
    assert (np.diff(curve.rejected) > 0).all()
    for majority, rejected, accuracy in zip(curve.majority, curve.rejected, curve.accuracy, strict=True):
        ref = naive.reject_point(share, right, weight, majority)
        np.testing.assert_allclose((rejected, accuracy), ref, atol=1e-12)
    # no other majority gives anything else
    assert len(curve.majority) == len(np.unique(share[weight > 0]))


def test_a_curve_by_hand():
    curve = reject_curve(np.array([0.6, 0.4, 1.0, 0.6]), np.array([True, False, True, False]))
    assert curve.majority.tolist() == [0.0, 0.4, 0.6]
    assert curve.rejected.tolist() == [0.0, 0.25, 0.75]
    assert curve.accuracy.tolist() == pytest.approx([0.5, 2 / 3, 1.0])


def test_a_curve_of_nothing():
    with pytest.raises(UsageError, match="a reject curve needs rows with a sample_weight above 0, got none"):
        reject_curve(np.ones(2), np.ones(2, dtype=bool), np.zeros(2))


def test_the_curve_draws_itself():
    plt = pytest.importorskip("matplotlib.pyplot")
    curve = reject_curve(np.array([0.6, 0.4, 1.0, 0.6]), np.array([True, False, True, False]))
    ax = curve.plot()
    steps = ax.lines[0]
    assert steps.get_xdata().tolist() == [0, 25, 75]
    assert curve.plot(ax) is ax
    plt.close(ax.figure)


@pytest.mark.parametrize(
    ("labels", "mark", "dtype"),
    [
        (np.array([1, 2]), -1, np.int64),
        (np.array([1, 2], np.uint8), -1, np.int64),
        (np.array(["a", "b"]), "unknown", "<U7"),
        (np.array(["a", "b"], object), "unknown", object),
    ],
)
def test_a_reject_label_fits_whole(labels, mark, dtype):
    check_reject_label(mark, labels)
    out = with_rejects(labels, np.array([False, True]), mark)
    assert out.tolist() == [labels.tolist()[0], mark]
    assert out.dtype == dtype


@pytest.mark.parametrize(
    ("classes", "mark", "message"),
    [
        ([1, 2], "?", r"reject_label must be of the classes' type \(such as 1\), got '\?'"),
        ([1, 2], 0.5, "reject_label must be of the classes' type"),
        ([1.0, 2.0], float("nan"), "reject_label must be of the classes' type"),
        (["a", "b"], -1, r"reject_label must be of the classes' type \(such as 'a'\), got -1"),
        ([False, True], -1, "reject_label must be of the classes' type"),
        ([1, 2], [-1], "reject_label must be of the classes' type"),
        ([1, 2], 2, "reject_label must not be one of the classes, got 2; choose another"),
    ],
)
def test_reject_labels_that_cannot_be(classes, mark, message):
    with pytest.raises(UsageError, match=message):
        check_reject_label(mark, np.array(classes))


@pytest.mark.parametrize("majority", [-0.1, 1, 1.5, "half", None, True, float("nan")])
def test_majorities_that_cannot_be(majority):
    with pytest.raises(UsageError, match="majority must be a share of the votes, at least 0 and below 1, got"):
        check_majority(majority)
