"""scikit-learn's own checks of trees, forests and boosting."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from depthforest.ensemble import (
    BalancedRandomForestClassifier,
    BayesianLinearRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    IsolationForest,
    NewtonBoostingClassifier,
    NewtonBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    RandomTreesEmbedding,
)

ESTIMATORS = [
    DecisionTreeClassifier(),
    DecisionTreeRegressor(),
    RandomForestClassifier(n_estimators=5),
    RandomForestRegressor(n_estimators=5),
    ExtraTreesClassifier(n_estimators=5),
    ExtraTreesRegressor(n_estimators=5),
    DecisionTreeRegressor(criterion="absolute_error"),
    BalancedRandomForestClassifier(n_estimators=5),
    IsolationForest(n_estimators=5),
    RandomTreesEmbedding(n_estimators=5),
    GradientBoostingClassifier(n_estimators=5),
    GradientBoostingRegressor(n_estimators=10),
    NewtonBoostingClassifier(n_estimators=5),
    BayesianLinearRegressor(sample=False),
    NewtonBoostingRegressor(n_estimators=10),  # of rate 0.1, as those of gradient boosting
]


def expected_failures(estimator):
    # scikit-learn declares the same of its own: a row that counts twice is drawn otherwise than two rows
    if estimator.get_params().get("bootstrap") or isinstance(estimator, IsolationForest):
        kinds = ("dense", "sparse")
        return {f"check_sample_weight_equivalence_on_{kind}_data": "a bootstrap draws rows" for kind in kinds}
    return {}


CHECKS = parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)


# a list: newer pytest warns of the generator that older scikit-learn passes
@pytest.mark.parametrize(CHECKS.args[0], list(CHECKS.args[1]), ids=CHECKS.kwargs["ids"])
def test_scikit_learn_agrees(estimator, check):
    check(estimator)
