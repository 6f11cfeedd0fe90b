"""Joints moved by where the others are: against a twin, mirrored, learned from planted maps."""

from dataclasses import replace

import numpy as np
import pytest

from depthforest.base.errors import ModelError
from depthforest.frames import BODY31, JOINT_MIRROR, JOINTS
from depthforest.joints import learning
from depthforest.joints.finding import Finder
from depthforest.joints.moving import move_all
from depthforest.joints.params import N_MOVE, N_ODDS, JointParameters, Moves
from depthforest.joints.placing import turned_axes

MIRROR = [JOINTS.index(JOINT_MIRROR[name]) for name in JOINTS]


def people(n, seed=0, n_most=3):
    """Proposals of people: places, area, purity, spread; counts, evidence, costs, confidences, sizes."""
    rng = np.random.default_rng(seed)
    found = np.zeros((n, len(JOINTS), n_most, 6))
    middle = np.column_stack((rng.uniform(-1, 1, n), rng.uniform(-0.5, 0.5, n), rng.uniform(1.5, 4, n)))
    found[..., :3] = middle[:, None, None] + rng.normal(0, 0.3, (n, len(JOINTS), n_most, 3))
    found[..., 3:] = rng.uniform(0.01, 0.2, (*found.shape[:3], 3))
    counts = rng.integers(0, n_most + 1, (n, len(JOINTS)))
    evidence, costs = rng.normal(0, 2, found.shape[:3]), rng.exponential(3, found.shape[:3])
    return found, counts, evidence, costs, rng.uniform(0.05, 0.95, found.shape[:3]), rng.uniform(0.6, 1.2, n)


def naive_move(joint, number, found, counts, chosen, evidence, costs, confidences, size, moves):
    """Where one proposal goes and its confidence, by the text of docs/MODEL_FORMAT.md."""
    there = [k for k in range(len(JOINTS)) if counts[k] > 0]
    origin = np.mean([found[k, chosen[k], :3] for k in there], axis=0)
    axes = turned_axes(origin)
    own = found[joint, number]
    away, sure = [], []
    for k in range(len(JOINTS)):
        if k == joint:
            continue
        c = confidences[k, chosen[k]] if k in there else 0.0
        place = found[k, chosen[k], :3] - origin if k in there else np.zeros(3)
        away += [c * v for v in np.clip(axes @ place - axes @ (own[:3] - origin), -1.5, 1.5)]
        sure.append(c)
    columns = [*away, *sure, np.log(max(own[3], 1e-6) / 0.01), own[4], own[5], own[2], size, 1.0]
    step = np.clip(moves.steps @ columns, -0.15, 0.15)
    is_other = float(number != chosen[joint])
    known = [1, evidence[joint, number], min(costs[joint, number], 20), own[5], own[2], is_other, *sure]
    return own[:3] + axes.T @ step, 1 / (1 + np.exp(-np.dot(moves.odds, known)))


def random_moves(seed):
    rng = np.random.default_rng(seed)
    return {name: Moves(rng.normal(0, 0.03, (3, N_MOVE)), rng.normal(0, 0.3, N_ODDS)) for name in JOINTS}


def finder_with(moves):
    return Finder(replace(JointParameters.default(BODY31), moves=moves))


def test_equals_the_twin():
    moves = random_moves(3)
    finder = finder_with(moves)
    found, counts, evidence, costs, confidences, sizes = people(4)
    counts[3] = 0
    counts[3, 5] = 1
    for k in range(4):
        there = np.arange(3) < counts[k][:, None]
        chosen = np.argmin(np.where(there, costs[k], np.inf), axis=1)
        moved, sure = found[k].copy(), confidences[k].copy()
        move_all(moved, counts[k], chosen, evidence[k], costs[k], sizes[k], finder.moves, finder.odds, sure)
        for joint, number in zip(*np.nonzero(there), strict=True):
            place, confidence = naive_move(
                joint, number, found[k], counts[k], chosen, evidence[k], costs[k], confidences[k], sizes[k],
                moves[JOINTS[joint]],
            )  # fmt: skip
            np.testing.assert_allclose(moved[joint, number, :3], place, atol=1e-9)
            assert sure[joint, number] == pytest.approx(confidence, abs=1e-9)
        assert (moved[~there] == found[k][~there]).all()


def test_nobody_is_moved_nowhere():
    finder = finder_with(random_moves(3))
    found, none = np.zeros((len(JOINTS), 5, 6)), np.zeros(len(JOINTS), np.int64)
    spare = np.zeros((len(JOINTS), 5))
    move_all(found, none, none, spare, spare, 1.0, finder.moves, finder.odds, spare)
    assert not found.any()


@pytest.fixture(scope="module")
def planted():
    """People whose true joints follow from a map with a mirror image, and the fitted parameters."""
    rng = np.random.default_rng(1)
    moves, parameters = {}, JointParameters.default(BODY31)
    for joint, name in enumerate(JOINTS):
        if JOINT_MIRROR[name] in moves:
            moves[name] = learning._mirrored(moves[JOINT_MIRROR[name]], MIRROR[joint], joint)
            continue
        steps = np.zeros((3, N_MOVE))
        steps[:, : 3 * 18] = rng.normal(0, 0.03, (3, 54)) * (rng.random((3, 54)) < 0.2)
        steps[2, -1] = 0.04
        if JOINT_MIRROR[name] == name:  # its own mirror image
            steps = (steps + learning._mirrored(Moves(steps, np.zeros(N_ODDS)), joint, joint).steps) / 2
        moves[name] = Moves(steps, np.zeros(N_ODDS))
    n = 700
    found, counts, evidence, costs, confidences, sizes = people(n, 2, 2)
    counts[:] = 2
    costs[:, :, 0] = 0
    confidences[:] = 0.8
    finder, chosen = finder_with(moves), np.zeros(len(JOINTS), np.int64)
    truth = np.empty((n, len(JOINTS), 3))
    for k in range(n):
        moved, sure = found[k].copy(), confidences[k].copy()
        move_all(moved, counts[k], chosen, evidence[k], costs[k], sizes[k], finder.moves, finder.odds, sure)
        truth[k] = moved[:, 0, :3]
    is_visible = rng.random((n, len(JOINTS))) < 0.9
    data = found, counts, evidence, costs, confidences, sizes, truth, is_visible
    return moves, parameters, data, learning.fit_moves(parameters, *data)


def test_a_planted_map_comes_back(planted):
    _, _, (found, counts, evidence, costs, confidences, sizes, truth, _), fitted = planted
    assert set(fitted.moves) == set(JOINTS)
    finder = Finder(fitted)
    off = []
    for k in range(100):
        moved, chosen, sure = found[k].copy(), np.zeros(len(JOINTS), np.int64), confidences[k].copy()
        move_all(moved, counts[k], chosen, evidence[k], costs[k], sizes[k], finder.moves, finder.odds, sure)
        off.append(np.linalg.norm(moved[:, 0, :3] - truth[k], axis=1))
        assert (sure[:, 0] > sure[:, 1]).mean() > 0.9, "the second proposals are wrong, and known to be"
    before = np.linalg.norm(found[:100, :, 0, :3] - truth[:100], axis=2)
    assert np.median(off) < 0.15 * np.median(before)


def test_sides_are_mirror_images(planted):
    *_, fitted = planted
    for joint, name in enumerate(JOINTS):
        other = learning._mirrored(fitted.moves[JOINT_MIRROR[name]], MIRROR[joint], joint)
        np.testing.assert_allclose(fitted.moves[name].steps, other.steps, atol=2e-3)
        np.testing.assert_allclose(fitted.moves[name].odds, other.odds, atol=0.05)


def test_few_people_move_nothing(planted):
    _, parameters, data, _ = planted
    assert learning.fit_moves(parameters, *(each[:100] for each in data)) is parameters


def test_files(planted):
    *_, fitted = planted
    content = fitted.to_dict()
    assert content["version"] == 2
    again = JointParameters.from_dict(content, BODY31)
    assert again == fitted
    plain = replace(fitted, moves={}).to_dict()
    assert (plain["version"], "moves" in plain) == (1, False), "only parameters that need version 2 are written as 2"
    for key, value, message in (
        ("steps", [[0.0] * N_MOVE] * 2, r"joints.moves.head.steps must be lists of 3 x 78 numbers from -1000 to 1000"),
        ("odds", [0.0] * 5, r"joints.moves.head.odds must be lists of 24 numbers"),
        ("odds", [float("nan")] * N_ODDS, r"joints.moves.head.odds must be lists of 24 numbers"),
    ):
        bad = {**content, "moves": {**content["moves"], "head": {**content["moves"]["head"], key: value}}}
        with pytest.raises(ModelError, match=message):
            JointParameters.from_dict(bad, BODY31)
    with pytest.raises(ModelError, match=r"joints must have exactly version, .* moves"):
        JointParameters.from_dict({**plain, "version": 2}, BODY31)
