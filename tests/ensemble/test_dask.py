"""Members, trees and folds under joblib's Dask backend: the same result as here."""

import joblib
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier as TheirTree
from support.bounded import local_cluster

from depthforest.ensemble import BaggingClassifier, RandomForestClassifier, StackingClassifier

distributed = pytest.importorskip("distributed", reason="needs the extra dask")


@pytest.fixture(scope="module")
def client():
    with local_cluster(n_workers=2) as (_, made):
        yield made


def n_tasks(client):
    """Return how much the workers have done."""
    return sum(client.run(lambda dask_worker: dask_worker.state.transition_counter).values())


@pytest.mark.parametrize(
    "make",
    [
        lambda: RandomForestClassifier(n_estimators=5, random_state=1),
        lambda: BaggingClassifier(TheirTree(max_depth=3), n_estimators=4, random_state=1, n_jobs=2),
        lambda: StackingClassifier([("a", TheirTree(max_depth=2)), ("b", LogisticRegression())], n_jobs=2),
    ],
    ids=["trees", "members", "folds"],
)
def test_a_fit_under_dask_is_the_fit_here(make, client):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    here = make().fit(X, y).predict_proba(X)
    before = n_tasks(client)
    with joblib.parallel_config("dask"):
        there = make().fit(X, y).predict_proba(X)
    assert np.array_equal(here, there)
    assert n_tasks(client) > before  # it was the workers who did it
