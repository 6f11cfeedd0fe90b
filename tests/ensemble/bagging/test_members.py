from __future__ import annotations

import numpy as np
import pytest
from sklearn import config_context
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from depthforest.base.errors import UsageError
from depthforest.ensemble.bagging import members
from depthforest.ensemble.bagging.draws import DrawPlan

X = np.array([[0.0, 5.0], [1.0, 5.0], [2.0, 5.0], [3.0, 5.0]])


@pytest.mark.parametrize("hard", [False, True])
def test_votes_are_in_the_order_of_the_ensembles_classes(hard):
    member = DecisionTreeClassifier().fit(X, [3, 3, 1, 1])
    votes = members.ClassVotes((5,), hard=hard)(member, X, {})
    np.testing.assert_array_equal(np.argmax(votes, axis=1), [3, 3, 1, 1])
    np.testing.assert_array_equal(votes.sum(axis=1), 1)
    assert votes.shape == (4, 5)


def test_a_member_without_probabilities_votes():
    member = RidgeClassifier().fit(X, [2, 2, 0, 0])
    np.testing.assert_array_equal(members.ClassVotes((3,), hard=True)(member, X, {}), np.eye(3)[[2, 2, 0, 0]])


class Recorder(Ridge):
    """Keeps what it was fitted with."""

    def fit(self, data, y, sample_weight=None, tag=None):
        self.seen = data, y, sample_weight, tag
        return super().fit(data, y, sample_weight)


def setup_of(**changes) -> members.MemberSetup:
    plan = DrawPlan(4, 2, n_rows=2, replace=False, weights=None, n_columns=1, replace_columns=False)
    given = {
        "template": Recorder(),
        "X": X,
        "y": np.arange(4.0),
        "plan": plan,
        "distributions": None,
        "input_sigma": None,
        "flip": 0.0,
        "output_sigma": None,
        "n_classes": (),
        "weights": None,
        "is_counted": False,
        "metadata": {},
    }
    return members.MemberSetup(**{**given, **changes})


def test_a_member_learns_its_rows_columns_weights_and_metadata():
    whole = setup_of(weights=np.arange(1.0, 5.0), metadata={"tag": list("abcd")})
    rows, columns = whole.plan.rows(6), whole.plan.columns(6)
    seen_table, seen_y, seen_weight, seen_tag = members.fitted_member(whole, (0, 6)).seen
    np.testing.assert_array_equal(seen_table, X[np.ix_(rows, columns)])
    np.testing.assert_array_equal(seen_y, rows)
    np.testing.assert_array_equal(seen_weight, rows + 1)
    assert seen_tag == ["abcd"[row] for row in rows]


def test_rows_drawn_twice_are_counted_and_classes_not_drawn_weigh_nothing():
    plan = DrawPlan(4, 2, n_rows=4, replace=True, weights=None, n_columns=None, replace_columns=False)
    setup = setup_of(plan=plan, y=np.array([0, 1, 2, 1]), n_classes=(3,), is_counted=True)
    for seed in range(20):
        rows = plan.rows(seed)
        seen_table, seen_y, seen_weight, _ = members.fitted_member(setup, (0, seed)).seen
        assert sorted(set(seen_y)) == [0, 1, 2]
        assert dict(zip(seen_table[:, 0], seen_weight, strict=True)) == {
            row: np.count_nonzero(rows == row) for row in seen_table[:, 0]
        }
        assert set(rows) <= set(seen_table[:, 0])


def test_a_member_learns_noise_only_on_what_it_is_meant_for():
    noisy = members.fitted_member(setup_of(input_sigma=np.array([1.0, 0.0])), (0, 6)).seen
    smeared = members.fitted_member(setup_of(output_sigma=np.array(1.0)), (0, 6)).seen
    plain = members.fitted_member(setup_of(), (0, 6)).seen
    columns = setup_of().plan.columns(6)
    assert (noisy[0] != plain[0]).all() == (columns == 0).all()
    np.testing.assert_array_equal(noisy[1], plain[1])
    np.testing.assert_array_equal(smeared[0], plain[0])
    assert (smeared[1] != plain[1]).all()


def test_an_error_says_which_member_it_was():
    with pytest.raises(ValueError, match="alpha") as caught:
        members.fitted_member(setup_of(template=Recorder(alpha=-1)), (17, 6))
    assert caught.value.__notes__ == ["raised by member 17 of the ensemble, Recorder, fitted on 2 rows"]


def test_an_error_says_that_classes_are_missing():
    picky = setup_of(template=LogisticRegression(), y=np.array([1, 0, 1, 1]), n_classes=(2,))
    seed = next(seed for seed in range(50) if 1 not in picky.plan.rows(seed))
    with pytest.raises(ValueError, match="class") as caught:
        members.fitted_member(picky, (2, seed))
    assert "its rows have 1 of the 2 classes: an estimator that needs all of them" in caught.value.__notes__[1]


def test_what_can_be_a_member():
    template = LogisticRegression()
    copied = members.checked_template(template, kind="classifier", owner="Bag")
    assert copied is not template
    for wrong, message in (
        (LogisticRegression, r"must be an object, got the class LogisticRegression: write LogisticRegression\(\)"),
        ("tree", r"estimator must be a classifier with fit and predict, got 'tree' without fit"),
        (StandardScaler(), r"got StandardScaler\(\) without predict"),
        (Ridge(), r"Bag needs a classifier as its estimator, got Ridge"),
    ):
        with pytest.raises(UsageError, match=message):
            members.checked_template(wrong, kind="classifier", owner="Bag")
    with pytest.raises(UsageError, match=r"Bag needs a regressor as its estimator, got LogisticRegression"):
        members.checked_template(template, kind="regressor", owner="Bag")


def test_who_takes_weights():
    assert members.takes_weights(LogisticRegression())
    assert not members.takes_weights(KNeighborsClassifier())
    assert not members.takes_weights(make_pipeline(LogisticRegression()))
    with config_context(enable_metadata_routing=True):
        asking = LogisticRegression().set_fit_request(sample_weight=True)
        assert members.takes_weights(asking)
        assert members.takes_weights(make_pipeline(asking))
        assert not members.takes_weights(LogisticRegression())


def test_who_refuses_missing_values():
    assert members.refuses_missing(LogisticRegression())
    assert not members.refuses_missing(DecisionTreeClassifier())
    assert not members.refuses_missing(make_pipeline(LogisticRegression()))  # may begin with an imputer


def test_unseen_rows_are_those_that_were_not_drawn():
    member = DecisionTreeClassifier().fit(X[[0, 3], :1], [0, 1])
    ask = members.ClassVotes((2,), hard=False)
    unseen, answer = members.unseen_answer(ask, X, (member, np.array([0]), np.array([0, 0, 3])))
    np.testing.assert_array_equal(unseen, [1, 2])
    np.testing.assert_array_equal(answer, [[1, 0], [0, 1]])
    unseen, answer = members.unseen_answer(ask, X, (member, np.array([0]), np.arange(4)))
    assert (unseen.size, answer) == (0, None)
