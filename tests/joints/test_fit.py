import importlib.util
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from support import naive_joints as naive
from support.naive_forest import random_forest

import depthforest as df
from depthforest.base.errors import PartSetError, UsageError
from depthforest.frames.parts import BODY31, BONES, JOINTS
from depthforest.joints.finding import find_joints
from depthforest.joints.fit import fit_joints
from depthforest.joints.params import JointParameters
from depthforest.joints.stats import (
    RADIUS,
    RIDGE,
    average_precision,
    fit_bones,
    fit_gaussian,
    fit_log_odds,
    precision_of,
)
from synth.config import Config
from synth.generator import Generator

SCENES = Config(camera="kinect_v1@160x120", n_bodies=3, n_poses=256, people_shares=(0.8, 0.2))
SCRIPT = Path(__file__).resolve().parents[2] / "tools" / "fit_joints.py"


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("fit_joints", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules["fit_joints"] = module  # where its dataclasses look themselves up
    spec.loader.exec_module(module)
    yield module
    del sys.modules["fit_joints"]


@pytest.fixture(scope="module")
def forest():
    return replace(df.load(), joints=None, mirror=False)


@pytest.fixture(scope="module")
def frames():
    return list(Generator(SCENES, seed=31, n=52))


@pytest.fixture(scope="module")
def fitted(forest, frames):
    return fit_joints(forest, frames[:32])


def test_fitted_joints_are_better_on_other_frames(forest, fitted, frames, tool):
    before, after = (tool.judge_joints(each, frames[32:]) for each in (forest, fitted))
    assert after.mean_precision > before.mean_precision + 0.02
    assert after.right > before.right
    assert set(after.precisions) <= set(JOINTS)


def test_a_fit_changes_joints_alone(forest, fitted):
    assert replace(fitted, joints=None) == forest
    parameters = JointParameters.from_dict(fitted.joints, BODY31)
    assert set(parameters.offsets) == {"spine", "hip_l", "hip_r"}
    assert parameters.clusters["hand_l"] == parameters.clusters["hand_r"]
    assert parameters.bones["neck-shoulder_l"] == parameters.bones["neck-shoulder_r"]
    for name in ("hip_l", "hip_r"):
        np.testing.assert_allclose(
            parameters.offsets[name].means_m[:, 1:], parameters.offsets["hip_l"].means_m[:, 1:], atol=1e-5
        )


def test_threads_and_files_change_nothing_and_progress_counts_frames(forest, frames, tmp_path):
    told = []
    one, three = (
        fit_joints(forest, frames[:25], threads=1, progress=told.append),
        fit_joints(forest, frames[:25], threads=3),
    )
    assert one.joints == three.joints
    assert told == [1] * 25
    one.save(tmp_path / "model.safetensors")
    assert df.Forest.load(tmp_path / "model.safetensors").joints == one.joints


def test_misuse_is_refused(forest, frames):
    with pytest.raises(UsageError, match="joints are fitted on at least 20 people with visible joints, got 0"):
        fit_joints(forest, [])
    bare = [df.LabeledFrame(f.depth_mm, f.camera, f.parts, f.people) for f in frames[:30]]
    with pytest.raises(UsageError, match="joints are fitted on at least 20 people with visible joints, got 0"):
        fit_joints(forest, bare)
    other = random_forest(np.random.default_rng(0), 1, 2, df.PartSet(("paw", "tail")))
    with pytest.raises(PartSetError, match="no joint can be found from the parts paw, tail"):
        fit_joints(other, frames[:30])


def test_joints_that_are_never_given_keep_defaults(forest, frames):
    kept = ("head", "neck", "hand_l", "hand_r")
    some = [
        df.LabeledFrame(
            f.depth_mm, f.camera, f.parts, f.people,
            {person: {n: j for n, j in joints.items() if n in kept} for person, joints in f.joints.items()},
        )
        for f in frames[:30]
    ]  # fmt: skip
    fitted = fit_joints(forest, some)
    parameters = JointParameters.from_dict(fitted.joints, BODY31)
    default = JointParameters.default(BODY31)
    assert parameters.clusters["knee_l"] == default.clusters["knee_l"]
    assert parameters.bones == default.bones
    frame = some[0]
    assert "head" in find_joints(frame, fitted.label(frame, frame.people == 1))


def test_a_part_set_of_one_side_is_fitted(frames):
    part_set = df.PartSet(("head", "torso_lower_l", "leg_upper_l", "sofa"))
    fitted = fit_joints(random_forest(np.random.default_rng(1), 2, 4, part_set), frames[:30])
    parameters = JointParameters.from_dict(fitted.joints, part_set)
    assert parameters.joints == ("head", "hip_l")
    assert set(parameters.offsets) == {"hip_l"}
    frame = frames[0]
    assert set(find_joints(frame, fitted.label(frame, frame.people == 1))) <= {"head", "hip_l"}


# -- precision --------------------------------------------------------------------------------------------------------


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 12))
def test_precision_is_that_of_the_twin(seed, n):
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 4, n)
    places, scores = rng.uniform(0, 0.2, (n, 3, 3)), rng.random((n, 3))
    truth, is_visible = rng.uniform(0, 0.2, (n, 3)), rng.random(n) < 0.7
    is_visible[0] = True
    people = [
        ([(places[k, i], scores[k, i]) for i in range(counts[k])], truth[k], bool(is_visible[k])) for k in range(n)
    ]
    expected = naive.average_precision(people, RADIUS)
    assert precision_of(places, scores, counts, truth, is_visible) == pytest.approx(expected)


def test_precision_by_hand():
    # right, wrong, right of two truths: precisions 1 and 2/3
    assert average_precision(np.array([0.9, 0.8, 0.7]), np.array([True, False, True]), 2) == pytest.approx(5 / 6)
    # and one truth that nobody proposes
    assert average_precision(np.array([0.9, 0.8, 0.7]), np.array([True, False, True]), 3) == pytest.approx(5 / 9)
    assert average_precision(np.zeros(0), np.zeros(0, dtype=bool), 4) == 0


def test_precision_is_scikit_learns_where_all_are_found():
    rng = np.random.default_rng(4)
    scores, is_right = rng.random(200), rng.random(200) < 0.4
    expected = average_precision_score(is_right, scores)
    assert average_precision(scores, is_right, int(is_right.sum())) == pytest.approx(expected)


def test_a_joint_that_is_never_visible_has_no_precision():
    nothing = np.zeros((2, 1, 3)), np.zeros((2, 1)), np.ones(2, np.int64), np.zeros((2, 3)), np.zeros(2, bool)
    assert np.isnan(precision_of(*nothing))


# -- small fits -------------------------------------------------------------------------------------------------------


def test_a_gaussian_with_gaps_is_recovered():
    rng = np.random.default_rng(2)
    mixing = rng.normal(0, 0.1, (4, 4))
    mean, covariance = np.array([0.1, -0.2, 0.0, 0.3]), mixing @ mixing.T + 0.001 * np.eye(4)
    samples = rng.multivariate_normal(mean, covariance, 6000)
    samples[rng.random(samples.shape) < 0.3] = np.nan
    samples = samples[~np.isnan(samples).all(axis=1)]
    found_mean, found = fit_gaussian(samples)
    np.testing.assert_allclose(found_mean, mean, atol=0.01)
    np.testing.assert_allclose(found, covariance, atol=0.004)
    assert np.linalg.eigvalsh(found).min() > 0
    np.testing.assert_array_equal(found, found.T)


def test_log_odds_are_scikit_learns():
    rng = np.random.default_rng(3)
    columns = rng.normal(0, 1, (500, 2))
    is_right = rng.random(500) < 1 / (1 + np.exp(-(0.4 + columns @ (1.5, -0.7))))
    judge = LogisticRegression(C=1 / RIDGE, tol=1e-10).fit(columns, is_right)
    found = fit_log_odds(columns, is_right)
    assert found == pytest.approx((judge.intercept_[0], *judge.coef_[0]), abs=1e-3)
    for all_same in (np.ones(500, dtype=bool), np.zeros(500, dtype=bool)):
        assert np.isfinite(fit_log_odds(columns, all_same)).all()
    assert np.isfinite(fit_log_odds(np.zeros((0, 2)), np.zeros(0, dtype=bool))).all()


def test_planted_bones_are_recovered():
    rng = np.random.default_rng(5)
    lengths = {(a.split("_")[0], b.split("_")[0]): 0.1 + 0.02 * k for k, (a, b) in enumerate(BONES[:10])}
    truth = np.zeros((300, len(JOINTS), 3))
    sizes = rng.choice([0.8, 1.0, 1.0, 1.1], 300)
    for a, b in BONES:
        away = rng.normal(0, 1, (300, 3))
        away *= (sizes * lengths[a.split("_")[0], b.split("_")[0]] / np.linalg.norm(away, axis=1))[:, None]
        truth[:, JOINTS.index(b)] = truth[:, JOINTS.index(a)] + away
    found = truth[:, :, None] + rng.normal(0, 0.01, (300, len(JOINTS), 1, 3))
    bones = fit_bones(found, np.ones((300, len(JOINTS), 1), dtype=bool), truth)
    for a, b in BONES:
        bone = bones[f"{a}-{b}"]
        assert bone.length_m == pytest.approx(lengths[a.split("_")[0], b.split("_")[0]], rel=0.02)
        assert 0.01 < bone.sd_m < 0.02


# -- the tool ---------------------------------------------------------------------------------------------------------


def test_the_tool_fits_and_judges(forest, tool, tmp_path, capsys):
    forest.save(tmp_path / "model.safetensors")
    replace(SCENES, camera="kinect_v1@80x60").save(tmp_path / "synth.toml")
    arguments = [str(tmp_path / "model.safetensors"), "-o", str(tmp_path / "out.safetensors")]
    tool.main([*arguments, "--synth", str(tmp_path / "synth.toml"), "-n", "30", "--seed", "5"])
    said = capsys.readouterr().out
    assert "fitted on 27 frames" in said
    assert "as it was, on 3 other frames: mean average precision" in said
    JointParameters.from_dict(df.load(tmp_path / "out.safetensors").joints, BODY31)
    with pytest.raises(SystemExit, match="2"):
        tool.main(arguments)
    assert "name frames: either --data FOLDER or --synth CONFIG.toml" in capsys.readouterr().err
