from importlib.util import find_spec

import pytest
from sklearn.base import is_classifier

from depthforest import ensemble
from depthforest.base.errors import UsageError
from depthforest.compare import learners as comparelearners
from depthforest.compare.learners import FAMILIES, LEARNERS, Learner, chosen_learners
from depthforest.training.config import TrainConfigError

NOT_FOR_CLASSES = {
    "AveragingRegressor",
    "BalancedRandomForestClassifier",  # for rare classes; pixels are drawn in balance
    "ExtraTreeClassifier",
    "IsolationForest",
    "LambdaMART",
    "LambdaRank",
    "RandomTreesEmbedding",
    "RankNet",
    "RejectCurve",
    "load",
}


def test_every_classifier_of_ours_is_compared():
    made = {
        type(learner.make(2, 0)).__name__
        for learner in LEARNERS
        if not learner.sees_frames and learner.library == "depthforest"
    }
    ours = {name for name in ensemble.__all__ if name[0].isupper() and not name.endswith("Regressor")}
    assert made == ours - NOT_FOR_CLASSES


def test_names_are_unique_and_families_known():
    names = [learner.name for learner in LEARNERS]
    assert len(set(names)) == len(names)
    assert {learner.family for learner in LEARNERS} == set(FAMILIES)


@pytest.mark.parametrize("learner", [a for a in LEARNERS if not a.sees_frames], ids=lambda a: a.name)
def test_an_estimator_has_the_size_and_the_seed(learner):
    if not learner.is_installed:
        pytest.skip(f"needs {learner.library}")
    estimator = learner.make(3, 5)
    assert is_classifier(estimator)
    parameters = estimator.get_params()
    seeds = {v for k, v in parameters.items() if k.split("__")[-1] == "random_state" and v is not None}
    assert seeds == ({5, 6, 7} if learner.name == "adaboost-pool" else {5})
    sizes = {k: v for k, v in parameters.items() if k.split("__")[-1] in ("n_estimators", "max_iter")}
    assert (3 in sizes.values()) != learner.is_single
    jobs = {v for k, v in parameters.items() if k.split("__")[-1] == "n_jobs"}
    assert jobs <= {1, None}


def test_a_depth_forest_spends_its_budget_on_trees_or_on_probes():
    made = {a.name: a.make(3, 5) for a in LEARNERS if a.sees_frames}
    assert {config.seed for config in made.values()} == {5}
    assert {config.frames_per_tree for config in made.values()} == {1.0}
    kinect = made.pop("depth-forest-kinect")
    assert (kinect.trees, kinect.depth, kinect.candidates) == (3, 20, 30)
    assert made["depth-forest"] == made["depth-forest-fresh"]
    assert (made["depth-forest"].trees, made["depth-forest"].candidates) == (3, 100)


def test_the_most_that_a_depth_forest_takes_is_what_training_takes():
    for learner in LEARNERS:
        if learner.sees_frames:
            learner.make(learner.most, 0)
            with pytest.raises(TrainConfigError, match="must be"):
                learner.make(learner.most + 1, 0)


def test_learners_are_chosen_by_name_in_the_order_of_the_table():
    assert [a.name for a in chosen_learners(["stacking", "bagging"])] == ["bagging", "stacking"]
    with pytest.raises(UsageError, match="there is no learner 'forest'; known are depth-forest, "):
        chosen_learners(["forest"])


def test_what_is_not_installed_is_left_out_unless_asked_for(monkeypatch):
    absent = Learner("absent", "boosting", "Absent", "rounds", LEARNERS[0].make, package="no_such_package")
    monkeypatch.setattr(comparelearners, "LEARNERS", (*LEARNERS[:2], absent))
    assert chosen_learners() == list(LEARNERS[:2])
    with pytest.raises(UsageError, match="absent needs Absent, which is not installed"):
        chosen_learners(["absent"])
    assert all(a.is_installed == (find_spec(a.package) is not None) for a in LEARNERS)
