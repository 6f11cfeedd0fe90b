"""Sparse tables: the same trees and answers as of the dense table, and never the whole of it at once."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csc_matrix, csr_array, random_array

from depthforest.ensemble import (
    AdaBoostClassifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    LambdaMART,
    NewtonBoostingClassifier,
    RandomForestClassifier,
)
from depthforest.ensemble.analysis import shap_values
from depthforest.ensemble.growth import SparseTable, bin_columns

RNG = np.random.default_rng(0)
N = 400
SPARSE = random_array((N, 37), density=0.2, rng=RNG, data_sampler=RNG.standard_normal).tocsr()
DENSE = SPARSE.toarray()
Y = DENSE[:, 0] + np.abs(DENSE[:, 1]) + 0.1 * RNG.standard_normal(N)
C = (np.median(Y) < Y).astype(int)

MODELS = [
    DecisionTreeClassifier(random_state=0),
    DecisionTreeRegressor(max_bins=None, max_depth=5, random_state=0),
    RandomForestClassifier(5, random_state=0, oob_score=True, n_jobs=2),
    ExtraTreesRegressor(5, random_state=0),
    GradientBoostingRegressor(n_estimators=5, subsample=0.5, random_state=0),
    NewtonBoostingClassifier(n_estimators=5, n_iter_no_change=2, random_state=0),
    NewtonBoostingClassifier(n_estimators=5, max_bins=None, random_state=0),
    AdaBoostClassifier(n_estimators=5, random_state=0),
]


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
@pytest.mark.parametrize("container", [csr_array, csc_matrix])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_sparse_equals_dense(model, container):
    y = C if hasattr(model, "predict_proba") else Y
    weights = np.arange(N) % 3.0  # rows of weight 0 among them
    answers = []
    for x in (DENSE, container(SPARSE)):
        model.fit(x, y, weights)
        asked = getattr(model, "predict_proba", model.predict)
        answers.append([asked(x), asked(DENSE), getattr(model, "oob_score_", 0.0)])
    for dense, sparse in zip(*answers, strict=True):
        assert_array_equal(dense, sparse)


def test_a_ranker_of_sparse_rows():
    queries, grades = np.repeat(np.arange(40), 10), np.digitize(Y, np.quantile(Y, [0.5, 0.8]))
    models = [
        LambdaMART(n_estimators=4, n_iter_no_change=2, random_state=0).fit(x, grades, queries) for x in (DENSE, SPARSE)
    ]
    assert_array_equal(models[0].predict(DENSE), models[1].predict(SPARSE))


def test_what_explains_a_forest_takes_sparse_rows():
    model = RandomForestClassifier(3, random_state=0).fit(SPARSE, C)
    assert_array_equal(shap_values(model, SPARSE[:5]).values, shap_values(model, DENSE[:5]).values)
    by_sparse, by_dense = (model.permutation_importance(x, C).importances for x in (SPARSE, DENSE))
    assert_array_equal(by_sparse, by_dense)


def test_stored_zeros_and_missing_values():
    stored = csr_array(([0.0, np.nan, 2.0, 5.0], ([0, 1, 2, 3], [0, 0, 0, 0])), shape=(6, 1))
    y = [0, 1, 2, 2, 0, 0]
    dense = DecisionTreeRegressor().fit(stored.toarray(), y)
    assert_array_equal(DecisionTreeRegressor().fit(stored, y).predict(stored), dense.predict(stored.toarray()))
    assert_array_equal(dense.predict(stored), y)


def test_the_table_is_never_dense_as_a_whole(monkeypatch):
    sizes = []
    of_rows, of_columns = SparseTable.__getitem__, SparseTable.columns

    def rows(self, key):
        part = of_rows(self, key)
        sizes.append(part.size if isinstance(part, np.ndarray) else 0)
        return part

    def columns(self, block):
        part = of_columns(self, block)
        sizes.append(part.size)
        return part

    monkeypatch.setattr(SparseTable, "__getitem__", rows)
    monkeypatch.setattr(SparseTable, "columns", columns)
    wide = random_array((500, 4000), density=0.01, rng=np.random.default_rng(1)).tocsr()
    model = RandomForestClassifier(2, random_state=0, max_depth=3).fit(wide, np.arange(500) % 2)
    model.predict(wide)
    assert 0 < max(sizes) <= wide.shape[0] * wide.shape[1] / 4


def test_codes_are_those_of_the_dense_table():
    sparse, dense = (bin_columns(x, max_bins=20) for x in (SparseTable(SPARSE), DENSE.astype(np.float32)))
    for one, other in zip(sparse, dense, strict=True):
        assert_array_equal(one, other)
