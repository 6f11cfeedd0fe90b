import importlib
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import depthforest as df
from depthforest.ensemble import LambdaMART
from depthforest.errors import ModelError
from depthforest.joints import find_joints
from depthforest.parts import JOINTS
from depthforest.scores import WITHIN_M
from depthforest.skeletons import FEATURE_NAMES
from synth.config import Config
from synth.generator import Generator

TOOLS = Path(__file__).resolve().parent.parent / "tools"
FOREST = df.load()
SCENES = Config(camera="kinect_v1@160x120", n_bodies=4, n_poses=64, people_shares=(0.5, 0.5), furnished_share=0.0)
N_FRAMES = 6


@pytest.fixture(scope="module")
def tool():
    sys.path.insert(0, str(TOOLS))
    try:
        return importlib.import_module("joint_ranker")
    finally:
        sys.path.remove(str(TOOLS))


@pytest.fixture(scope="module")
def frames():
    return list(Generator(SCENES, seed=3, n=N_FRAMES))


@pytest.fixture(scope="module")
def answers(tool, frames):
    return tool.gather(FOREST, frames, threads=1)


@pytest.fixture(scope="module")
def ranker(tool, answers):
    everything = np.ones(len(answers.features), dtype=bool)
    return tool.fitted(answers, everything, tool.ranker(4, 5, with_joint=False), with_joint=False)


def test_a_fitted_ranker_orders_the_proposals(frames, ranker):
    n_moved = 0
    for frame in frames:
        labeling = FOREST.label(frame, frame.people == 1, threads=1)
        plain, ranked = find_joints(frame, labeling), find_joints(frame, labeling, ranker=ranker.predict)
        assert ranked.keys() == plain.keys()
        for name, joint in ranked.items():
            before = plain[name].proposals
            scores = ranker.predict(np.array([p.features for p in joint.proposals]))
            assert (np.diff(scores) <= 0).all()
            assert [p.confidence for p in joint.proposals] == sorted((p.confidence for p in before), reverse=True)
            assert {p.position for p in joint.proposals} == {p.position for p in before}
            assert (joint.position, joint.confidence) == (joint.proposals[0].position, joint.proposals[0].confidence)
            n_moved += joint.position != before[0].position
    assert n_moved > 0  # or nothing was shown


def test_rankers_that_cannot_score_proposals_are_refused(frames, answers):
    labeling = FOREST.label(frames[0], frames[0].people == 1, threads=1)
    with pytest.raises(NotFittedError):
        find_joints(frames[0], labeling, ranker=LambdaMART().predict)
    rows = answers.learnable()
    wider = LambdaMART(n_estimators=1).fit(
        answers.table(with_joint=True)[rows], answers.grades[rows], qid=answers.query[rows]
    )
    with pytest.raises(ValueError, match="X has 9 features, but LambdaMART is expecting 10 features"):
        find_joints(frames[0], labeling, ranker=wider.predict)


def test_what_is_gathered(tool, frames, answers):
    people = [joints for frame in frames for person, joints in frame.joints.items() if (frame.people == person).any()]
    assert len(answers.frame) == len(people)
    assert len(answers.person) == sum(map(len, people))
    assert answers.is_visible.sum() == sum(joint.is_visible for joints in people for joint in joints.values())
    assert answers.starts[-1] == len(answers.features) == len(answers.distance_m) == len(answers.query)
    np.testing.assert_array_equal(answers.grades == 0, answers.distance_m > 0.2)
    np.testing.assert_array_equal(answers.grades == 3, answers.distance_m <= 0.05)
    np.testing.assert_array_equal(answers.grades >= 2, answers.distance_m <= WITHIN_M)
    wide = answers.table(with_joint=True)
    np.testing.assert_array_equal(wide[:, :9], answers.features)
    np.testing.assert_array_equal(wide[:, 9], answers.joint[answers.query])
    assert np.bincount(answers.query[answers.learnable()], minlength=1).max(initial=0) > 1
    assert tool.FEATURE_NAMES is FEATURE_NAMES


@pytest.mark.parametrize("is_ranked", [False, True])
def test_the_figures_are_those_of_evaluate(tool, frames, answers, ranker, is_ranked):
    own = ranker.predict if is_ranked else None
    expected = df.evaluate(FOREST, frames, threads=1, timed_frames=0, joints=partial(find_joints, ranker=own)).joints
    found = tool.judge(answers, ranker.predict(answers.features) if is_ranked else None)
    assert found.average_precisions() == pytest.approx(expected.average_precisions(), abs=1e-12)
    np.testing.assert_allclose(found.found_shares(), expected.found_shares())
    assert found.calibration.expected_error == pytest.approx(expected.calibration.expected_error, abs=1e-6)


def test_a_ranker_changes_the_figures(tool, answers, ranker):
    plain, ranked = tool.judge(answers), tool.judge(answers, ranker.predict(answers.features))
    assert plain.average_precisions() != ranked.average_precisions()


def test_confidences_are_dealt_in_the_order_of_scores(tool):
    # two people's hands; the nearer proposals come second, with less confidence
    features = np.zeros((4, len(FEATURE_NAMES)), dtype=np.float32)
    features[:, 0] = 0.75, 0.25, 0.5, 0.125
    answers = tool.Answers(
        2, np.array([0, 1]), np.array([0, 1]), np.full(2, JOINTS.index("hand_l")), np.ones(2, dtype=bool),
        np.array([0, 2, 4]), features, np.array([0.5, 0.05, 0.5, 0.05]),
    )  # fmt: skip
    scores = np.array([0.0, 1.0, 0.0, 1.0])
    plain, ranked = tool.judge(answers), tool.judge(answers, scores)
    assert plain.average_precisions() == pytest.approx({"hand_l": (1 / 3 + 2 / 4) / 2})
    assert ranked.average_precisions() == {"hand_l": 1.0}
    assert (plain.found_shares()[0], ranked.found_shares()[0]) == (0, 1)
    assert ranked.proposals["hand_l"].confidence.tolist() == [0.75, 0.25, 0.5, 0.125]
    first = tool.judge(answers, scores, "first")
    assert first.proposals["hand_l"].confidence.tolist() == [0.75, 0.5]
    assert first.average_precisions() == {"hand_l": 1.0}
    assert tool.judge(answers, way="first").average_precisions() == {"hand_l": 0.0}


def test_the_differences_of_a_ranker_that_changes_nothing_are_none(tool, answers):
    same = answers.features[:, 0].astype(float)
    figures = tool.compare(answers, same)
    gap = figures["all"]["precision"]["difference"]
    assert (gap.value, gap.low, gap.high) == (0, 0, 0)
    assert figures["best"]["all"] >= figures["all"]["precision"]["ranked"].value
    assert figures["best"]["found"] > figures["all"]["found"]["ranked"].value


def test_settings_are_judged_on_rooms_not_fitted_to(tool, answers, monkeypatch):
    monkeypatch.setattr(tool, "LEAVES", (4,))
    monkeypatch.setattr(tool, "ROUNDS", (1, 3))
    monkeypatch.setattr(tool, "FOLDS", 3)
    seen = []
    fit = tool.fitted

    def watched(own, chosen, model, *, with_joint):
        seen.append(set(own.frame[own.person][own.query][chosen].tolist()))
        return fit(own, chosen, model, with_joint=with_joint)

    monkeypatch.setattr(tool, "fitted", watched)
    settings = list(tool.cross_validated(answers))
    assert [(s["with_joint"], s["leaves"], s["rounds"]) for s in settings] == [
        (False, 4, 1), (False, 4, 3), (True, 4, 1), (True, 4, 3),
    ]  # fmt: skip
    assert [len(rooms) for rooms in seen] == [4] * 6
    assert set.union(*seen) == set(range(N_FRAMES))


def test_judged_rooms_show_the_subjects_that_were_left_out(tool, tmp_path):
    for name in ("07_01", "07_02", "08_01", "09_11"):
        (tmp_path / f"{name}.bvh").touch()
    config = Config(mocap=str(tmp_path), without_subjects=("08",))
    assert tool.unseen_subjects(config).without_subjects == ("07", "09")


def test_the_shipped_ranker_ranks():
    ranker = df.load_ranker()
    assert isinstance(ranker.__self__, LambdaMART)
    assert ranker.__self__.n_features_in_ == len(FEATURE_NAMES)
    proposals = np.array(
        # confidence, area, purity, depth, spread, gap, parent_bone, child_bone, set_cost
        [[0.9, 0.01, 0.8, 2.0, 0.05, 0.5, 1.0, 1.0, 0.0], [0.05, 0.0005, 0.2, 2.0, 0.05, 0.5, 3.0, 3.0, 9.0]],
        dtype=np.float32,
    )
    assert np.diff(ranker(proposals)) < 0


def test_a_model_without_a_ranker_is_refused():
    with pytest.raises(
        ModelError, match="'mine': no joint ranker is shipped for this model; there are some for: body31"
    ):
        df.load_ranker("mine")
