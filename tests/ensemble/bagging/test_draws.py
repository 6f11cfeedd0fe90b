from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.stats import randint
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier

from depthforest.base.errors import UsageError
from depthforest.ensemble.bagging import draws
from depthforest.ensemble.bagging.draws import DrawPlan

PLAN = {
    "n_samples": 1000,
    "n_features": 8,
    "n_rows": None,
    "replace": False,
    "weights": None,
    "n_columns": None,
    "replace_columns": False,
}


def plan(**changes) -> DrawPlan:
    return DrawPlan(**{**PLAN, **changes})


def test_a_bootstrap_holds_a_share_of_0_632_of_the_points():
    bootstrap = plan(n_rows=1000, replace=True)
    shares = [len(np.unique(bootstrap.rows(seed))) / 1000 for seed in range(200)]
    expected = 1 - (1 - 1 / 1000) ** 1000
    # a share's standard deviation is near sqrt(e^-1 - 2 e^-2) / sqrt(n), about 0.0098
    assert expected == pytest.approx(0.632, abs=5e-4)
    assert np.mean(shares) == pytest.approx(expected, abs=4 * 0.0098 / np.sqrt(200))
    assert np.std(shares) == pytest.approx(0.0098, rel=0.2)


def test_no_draw_means_the_data_as_they_are():
    assert plan().rows(0) is None
    assert plan().columns(0) is None


@given(n=st.integers(1, 40), seed=st.integers(0, 2**31 - 2), data=st.data())
def test_rows_and_columns_are_in_order_and_distinct_without_replacement(n, seed, data):
    n_rows, n_columns = data.draw(st.integers(1, n)), data.draw(st.integers(1, n))
    drawn = plan(n_samples=n, n_features=n, n_rows=n_rows, n_columns=n_columns)
    for indices, size in ((drawn.rows(seed), n_rows), (drawn.columns(seed), n_columns)):
        assert len(indices) == size
        assert (np.diff(indices) > 0).all()
        assert 0 <= indices[0] <= indices[-1] < n
    np.testing.assert_array_equal(drawn.rows(seed), drawn.rows(seed))


def test_every_row_is_drawn_alike_without_replacement():
    subsample = plan(n_samples=20, n_rows=5)
    counts = np.bincount(np.concatenate([subsample.rows(seed) for seed in range(600)]), minlength=20)
    assert counts / 600 == pytest.approx(np.full(20, 0.25), abs=0.07)


def test_a_bootstrap_follows_the_weights():
    weights = np.array([0.0, 1.0, 2.0, 5.0])
    drawn = plan(n_samples=4, n_rows=4000, replace=True, weights=weights).rows(3)
    assert np.bincount(drawn, minlength=4) / 4000 == pytest.approx(weights / 8, abs=0.03)
    assert 0 not in drawn


def test_rows_of_weight_zero_are_absent_without_replacement_too():
    weights = np.array([0.0, 1.0, 0.0, 2.0, 3.0])
    np.testing.assert_array_equal(plan(n_samples=5, weights=weights).rows(0), [1, 3, 4])
    for seed in range(20):
        assert set(plan(n_samples=5, n_rows=2, weights=weights).rows(seed)) < {1, 3, 4}


def test_kinds_of_draws_do_not_disturb_each_other():
    both = plan(n_rows=500, n_columns=4)
    np.testing.assert_array_equal(both.rows(5), plan(n_rows=500).rows(5))
    np.testing.assert_array_equal(both.columns(5), plan(n_columns=4).columns(5))
    numbers = {stream: draws.random_numbers(5, stream).randint(1 << 30) for stream in draws.Stream}
    assert len(set(numbers.values())) == len(draws.Stream)


@given(
    labels=st.lists(st.integers(0, 4), min_size=1, max_size=60),
    flip=st.floats(0, 1),
    seed=st.integers(0, 2**31 - 2),
)
def test_flipping_keeps_the_count_of_every_class(labels, flip, seed):
    labels = np.array(labels)
    before = labels.copy()
    flipped = draws.flipped_labels(labels, flip, seed)
    np.testing.assert_array_equal(np.bincount(flipped, minlength=5), np.bincount(labels, minlength=5))
    assert np.count_nonzero(flipped != labels) <= round(flip * len(labels))
    np.testing.assert_array_equal(labels, before)


def test_flipping_moves_class_i_to_class_j_in_proportion_to_p_j():
    shares = np.array([0.5, 0.3, 0.2])
    labels = np.repeat(np.arange(3), (200 * shares).astype(int))
    moved = np.zeros((3, 3))
    for seed in range(600):
        np.add.at(moved, (labels, draws.flipped_labels(labels, 0.6, seed)), 1)
    share_moved = moved / moved.sum(axis=1, keepdims=True)
    w = (120 - 1) / (200 - 1)
    expected = w * shares[None, :] + (1 - w) * np.eye(3)
    np.testing.assert_allclose(share_moved, expected, atol=0.01)
    n_changed = (moved.sum() - np.trace(moved)) / 600
    assert n_changed == pytest.approx(200 * w * (1 - np.sum(shares**2)), rel=0.02)


def test_nothing_to_flip():
    np.testing.assert_array_equal(draws.flipped_labels(np.zeros(9, int), 1.0, 0), np.zeros(9))
    np.testing.assert_array_equal(draws.flipped_labels(np.arange(9), 0.0, 0), np.arange(9))


def test_smearing_adds_noise_of_the_given_spread_to_each_target():
    y = np.column_stack([np.linspace(0, 1, 4000), np.full(4000, 7.0)])
    smeared = draws.smeared_targets(y, 0.5 * draws.target_spread(y, None), 1)
    assert np.std(smeared[:, 0] - y[:, 0]) == pytest.approx(0.5 * np.std(y[:, 0]), rel=0.05)
    assert np.mean(smeared[:, 0] - y[:, 0]) == pytest.approx(0, abs=0.01)
    np.testing.assert_array_equal(smeared[:, 1], y[:, 1])  # a constant target has no spread
    assert draws.target_spread(y[:, 0], None) == pytest.approx(np.std(y[:, 0]))


def test_spread_counts_a_row_as_often_as_its_weight():
    table = np.array([[1.0, 5.0], [2.0, np.nan], [4.0, np.inf], [9.0, 7.0]])
    weights = np.array([3.0, 1.0, 2.0, 0.0])
    spread = draws.column_spread(table, weights)
    assert spread[0] == pytest.approx(np.std([1, 1, 1, 2, 4, 4]))
    assert spread[1] == 0.0  # one finite value of any weight
    np.testing.assert_allclose(draws.column_spread(table, None)[1], 1.0)
    assert draws.column_spread(np.full((3, 1), np.nan), None) == [0.0]
    assert draws.column_spread(np.array([[np.nan], [1.0]]), np.array([1.0, 0.0])) == [0.0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16])
def test_input_noise_has_the_spread_of_each_column_and_leaves_the_input(dtype):
    table = (np.random.default_rng(0).standard_normal((4000, 3)) * [10, 300, 0]).astype(dtype)
    before = table.copy()
    noisy = draws.noisy_inputs(table, 0.2 * draws.column_spread(table, None), 7)
    np.testing.assert_allclose(np.std(noisy - table, axis=0), 0.2 * np.std(table.astype(float), axis=0), rtol=0.05)
    np.testing.assert_array_equal(table, before)
    assert noisy.dtype == (np.float64 if dtype == np.int16 else dtype)
    np.testing.assert_array_equal(noisy[:, 2], table[:, 2])


def test_input_noise_on_a_frame_is_for_its_numbers_only():
    frame = pd.DataFrame(
        {
            "size": [1.0, 2.0, np.nan, 4.0],
            "count": [1, 5, 9, 11],
            "maybe": pd.array([1, None, 3, 4], dtype="Int64"),
            "flag": [True, False, True, True],
            "kind": pd.Categorical(["a", "b", "a", "b"]),
            "text": ["x", "y", "z", "w"],
        }
    )
    before = frame.copy()
    spread = draws.column_spread(frame, None)
    assert spread[1] == pytest.approx(np.std([1, 5, 9, 11]))
    assert spread[2] == pytest.approx(np.std([1, 3, 4]))
    assert (spread[3:] == 0).all()
    noisy = draws.noisy_inputs(frame, 0.1 * spread, 0)
    pd.testing.assert_frame_equal(frame, before)
    pd.testing.assert_frame_equal(noisy[["flag", "kind", "text"]], frame[["flag", "kind", "text"]])
    assert noisy["size"].isna().tolist() == frame["size"].isna().tolist()
    assert noisy["maybe"].isna().tolist() == frame["maybe"].isna().tolist()
    assert (noisy["count"] != frame["count"]).all()


def test_noise_needs_dense_numbers():
    with pytest.raises(UsageError, match=r"noise would fill every cell of a sparse X: pass X as an array"):
        draws.column_spread(csr_array(np.eye(3)), None)
    with pytest.raises(
        UsageError, match=r"noise needs columns of numbers, got could not convert string.*'a'.*DataFrame"
    ):
        draws.column_spread(np.array([["a", 1]], dtype=object), None)


def test_a_member_has_its_own_random_state_also_inside():
    inner = Pipeline([("tree", DecisionTreeClassifier(random_state=3))])
    states = [draws.drawn_member(inner, None, seed).get_params()["tree__random_state"] for seed in (0, 1, 1)]
    assert states[0] != states[1] == states[2]
    assert inner.get_params()["tree__random_state"] == 3
    assert draws.drawn_member(LogisticRegression(random_state=3), None, 1).random_state != 3


def test_parameters_are_drawn_from_lists_and_distributions():
    distributions = {"max_depth": randint(2, 6), "criterion": ["gini", "entropy"]}
    members = [draws.drawn_member(DecisionTreeClassifier(), distributions, seed) for seed in range(40)]
    assert {member.max_depth for member in members} == {2, 3, 4, 5}
    assert {member.criterion for member in members} == {"gini", "entropy"}
    again = draws.drawn_member(DecisionTreeClassifier(), distributions, 7)
    assert again.get_params() == members[7].get_params()


def test_estimators_can_be_drawn_and_are_not_shared():
    kinds = [DecisionTreeClassifier(), Ridge()]
    template = Pipeline([("learner", kinds[0])])
    steps = [draws.drawn_member(template, {"learner": kinds}, seed)["learner"] for seed in range(12)]
    assert {type(step) for step in steps} == {DecisionTreeClassifier, Ridge}
    assert len({id(step) for step in [*steps, *kinds]}) == 14
