import copy
import itertools
import json
import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import naive_joints as naive
from support.naive_forest import random_forest

import depthforest as df
from depthforest.base.errors import FrameError, ModelError, PartSetError, UsageError
from depthforest.frames.parts import BODY31, BONES, JOINT_MIRROR, JOINTS, NO_PART, PCL25, REGIONS15
from depthforest.joints.finding import (
    FAST,
    Finder,
    FoundJoint,
    Joints,
    Proposal,
    find_joints,
    joints_of_surface,
    seek_modes,
    surface,
)
from depthforest.joints.meanshift import MAX_MODES
from depthforest.joints.params import Bone, JointParameters, Offsets, cluster_parts, known_joints
from depthforest.joints.placing import Placer
from depthforest.joints.skeletons import CAP, FEATURE_NAMES, PARENTS, SIZES, choose_set
from depthforest.labeling.labeling import Labeling, Sample
from synth.config import Config
from synth.generator import Generator

FOREST = random_forest(np.random.default_rng(0), 2, 5, BODY31)
SCENES = Config(
    camera="kinect_v1@160x120", n_bodies=4, people_shares=(1.0,), near_share=0.0, far_distance=(2.0, 3.0),
    furnished_share=0.0, child_share=0.0,
)  # fmt: skip


class TrueLabeling(Labeling):
    """Says the truth, with certainty."""

    def sample(self, n=None):
        step = 1 if n is None else 2
        rows, cols = np.nonzero(self.parts != NO_PART)
        kept = (rows % step == 0) & (cols % step == 0)
        rows, cols = rows[kept].astype(np.int32), cols[kept].astype(np.int32)
        shares = np.eye(len(self.part_set), dtype=np.float32)[self.parts[rows, cols]]
        return Sample(rows, cols, shares, step)


def truly_labeled(frame, parts=None, forest=FOREST):
    labeling = forest.label(frame, frame.people == 1, threads=1)
    values = {entry.name: getattr(labeling, entry.name) for entry in fields(Labeling)}
    own = np.where(frame.people == 1, frame.parts, np.uint8(NO_PART)) if parts is None else parts
    return TrueLabeling(**{**values, "parts": own})


@pytest.fixture(scope="module")
def frames():
    return list(Generator(SCENES, seed=5, n=8))


@pytest.fixture(scope="module")
def found(frames):
    return [find_joints(frame, truly_labeled(frame)) for frame in frames]


def distances(frame, joints):
    """Return how far the visible joints are from the truth; infinite if they are missing."""
    return {
        name: np.linalg.norm(np.subtract(joints[name].position, joint.position)) if name in joints else np.inf
        for name, joint in frame.joints[1].items()
        if joint.is_visible
    }


# -- joints -----------------------------------------------------------------------------------------------------------


def test_true_labels_give_true_joints(frames, found):
    off = [d for frame, joints in zip(frames, found, strict=True) for d in distances(frame, joints).values()]
    assert np.mean(np.array(off) < 0.1) > 0.85
    assert np.median(off) < 0.06


def test_exact_and_fast_agree(frames, found):
    for frame, joints in zip(frames[:3], found, strict=False):
        exact = find_joints(frame, truly_labeled(frame), exact=True)
        assert set(exact) >= set(joints)
        apart = [np.linalg.norm(np.subtract(exact[n].position, joints[n].position)) for n in joints]
        assert np.median(apart) < 0.02
        areas = [sum(p.features[1] for p in each["head"].proposals) for each in (exact, joints)]
        assert areas[0] == pytest.approx(areas[1], rel=0.1)  # all surface leads to one mode or another


def test_a_forest_finds_joints_from_its_own_probabilities(frames):
    frame = frames[0]
    labeling = FOREST.label(frame, frame.people == 1)
    joints = find_joints(frame, labeling, exact=True)
    shares = np.asarray(labeling.probabilities())[frame.people == 1]
    is_read = frame.depth_mm[frame.people == 1] > 0
    for name in ("head", "hand_l"):
        labels = list(cluster_parts(BODY31)[name])
        assert (name in joints) == bool((shares[is_read][:, labels].sum(axis=1) >= 0.14).any())


def test_what_is_found_is_frozen_and_ordered(found):
    joints = found[0]
    assert isinstance(joints, Joints)
    assert list(joints) == [name for name in JOINTS if name in joints]
    assert len(joints) > 12
    assert joints.size in SIZES
    assert "Joints(" in repr(joints)
    for joint in joints.values():
        assert isinstance(joint, FoundJoint)
        assert joint.position == joint.proposals[0].position
        assert joint.confidence == joint.proposals[0].confidence
        assert 1 <= len(joint.proposals) <= MAX_MODES
        rest = [p.confidence for p in joint.proposals[1:]]
        assert rest == sorted(rest, reverse=True)
        for proposal in joint.proposals:
            assert isinstance(proposal, Proposal)
            assert 0 < proposal.confidence < 1
            assert all(isinstance(value, float) for value in (*proposal.position, proposal.confidence))
            with pytest.raises(ValueError, match="read-only"):
                proposal.features[0] = 1
    with pytest.raises(TypeError):
        joints["head"] = None
    with pytest.raises(AttributeError):
        joints["head"].position = (0, 0, 0)


def test_features_say_what_their_names_say(found):
    for joints in found:
        for name, joint in joints.items():
            for proposal in joint.proposals:
                its = dict(zip(FEATURE_NAMES, proposal.features.tolist(), strict=True))
                others = [p for p in joint.proposals if p is not proposal]
                apart = [np.linalg.norm(np.subtract(proposal.position, p.position)) for p in others]
                assert its["confidence"] == pytest.approx(proposal.confidence)
                assert its["depth"] == pytest.approx(proposal.position[2])
                assert its["gap"] == pytest.approx(min([2.0, *apart]), abs=1e-5)
                assert 0 < its["purity"] <= 1
                assert its["area"] > 0
                assert its["spread"] >= 0
                parent = next((a for a, b in BONES if b == name), None)
                length = JointParameters.default(BODY31).bones.get(f"{parent}-{name}")
                if parent in joints:
                    bone = np.linalg.norm(np.subtract(proposal.position, joints[parent].position))
                    assert its["parent_bone"] == pytest.approx(bone / (joints.size * length.length_m), rel=1e-4)
                children = [b for a, b in BONES if a == name and b in joints]
                if not children:
                    assert its["child_bone"] == 1
            assert joint.proposals[0].features[FEATURE_NAMES.index("set_cost")] == pytest.approx(0, abs=1e-9)


def test_a_mirrored_frame_has_mirrored_joints(frames):
    frame = frames[1]
    camera = frame.camera.flipped()
    parts = np.ascontiguousarray(BODY31.mirror_table[frame.parts][:, ::-1])
    people = np.ascontiguousarray(frame.people[:, ::-1])
    mirrored = df.LabeledFrame(np.ascontiguousarray(frame.depth_mm[:, ::-1]), camera, parts, people)
    joints = find_joints(frame, truly_labeled(frame), exact=True)
    turned = find_joints(mirrored, truly_labeled(mirrored), exact=True)
    assert {JOINT_MIRROR[name] for name in turned} == set(joints)
    for name, joint in turned.items():
        x, y, z = joints[JOINT_MIRROR[name]].position
        assert joint.position == pytest.approx((-x, y, z), abs=0.003)
        assert joint.confidence == pytest.approx(joints[JOINT_MIRROR[name]].confidence, abs=0.01)


@pytest.mark.parametrize("camera", ["kinect_v1", "kinect_v1@320x240", "kinect_v2"])
@pytest.mark.parametrize("depth_mm", [1500, 3000])
def test_area_is_the_same_for_all_cameras_and_distances(camera, depth_mm):
    camera = df.Camera.preset(camera)
    rows, cols = np.mgrid[: camera.height, : camera.width]
    z = depth_mm / 1000
    x, y = (cols - camera.cx) / camera.fx * z, (rows - camera.cy) / camera.fy * z
    is_hand = (abs(x) <= 0.05) & (abs(y) <= 0.05)
    parts = np.where(is_hand, np.uint8(BODY31.index("hand_l")), np.uint8(NO_PART))
    frame = df.LabeledFrame(np.where(is_hand, depth_mm, 0).astype(np.uint16), camera, parts, is_hand.astype(np.uint8))
    joint = find_joints(frame, truly_labeled(frame))["hand_l"]
    area = np.count_nonzero(is_hand) * z * z / (camera.fx * camera.fy)
    assert area == pytest.approx(0.01, rel=0.2)  # whole pixels
    assert joint.proposals[0].features[FEATURE_NAMES.index("area")] == pytest.approx(area, rel=0.12)
    assert joint.position == pytest.approx((0, 0, z + 0.039), abs=0.01)
    assert joint.confidence == pytest.approx(1 / (1 + np.exp(-(-1 + np.log(area / 0.01) + 9))), abs=1e-3)


def test_parameters_of_the_model_are_used(frames, found):
    parameters = JointParameters.default(BODY31)
    clusters = {name: replace(its, push_back_m=0.239) for name, its in parameters.clusters.items()}
    forest = replace(FOREST, joints=replace(parameters, clusters=clusters).to_dict())
    deeper = find_joints(frames[0], truly_labeled(frames[0], forest=forest))
    for name in ("head", "knee_l"):
        before, after = (
            sorted(np.linalg.norm(p.position) for p in joints[name].proposals) for joints in (found[0], deeper)
        )
        np.testing.assert_allclose(np.subtract(after, before), 0.2, atol=1e-4)


def test_nothing_labeled_nothing_found(frames):
    frame = frames[0]
    empty = np.zeros(frame.shape, dtype=bool)
    for exact in (False, True):
        joints = find_joints(frame, FOREST.label(frame, empty), exact=exact)
        assert len(joints) == 0
        assert dict(joints) == {}
    rejected = FOREST.label(frame, frame.people == 1, reject=1.0)
    assert (rejected.parts == NO_PART).all()
    assert len(find_joints(frame, rejected)) == 0


def test_misuse_is_refused(frames):
    frame = frames[0]
    labeling = FOREST.label(frame, frame.people == 1)
    smaller = df.Frame(frame.depth_mm[:60, :80], frame.camera.cropped(0, 0, 60, 80))
    with pytest.raises(FrameError, match="the frame is 80 x 60 and the labeling 160 x 120"):
        find_joints(smaller, labeling)
    with pytest.raises(FrameError, match="has other readings than the one that was labeled"):
        find_joints(df.Frame(frame.depth_mm + np.uint16(1), frame.camera), labeling)
    assert find_joints(df.Frame(frame.depth_mm, frame.camera), labeling)
    with pytest.raises(FrameError, match="expected a Frame, got ndarray"):
        find_joints(frame.depth_mm, labeling)
    with pytest.raises(UsageError, match="expected a Labeling, got ndarray"):
        find_joints(frame, labeling.parts)
    with pytest.raises(UsageError, match="exact must be True or False, got 'yes'"):
        find_joints(frame, labeling, exact="yes")


@pytest.mark.parametrize("way", [copy.deepcopy, lambda found: pickle.loads(pickle.dumps(found))])
def test_joints_go_to_other_processes(frames, way):
    joints = find_joints(frames[0], FOREST.label(frames[0], frames[0].people == 1))
    again = way(joints)
    assert type(again) is type(joints)
    assert repr(dict(again)) == repr(dict(joints))  # arrays among it
    assert again.size == joints.size


def test_threads_find_the_same(frames):
    pairs = [(frame, FOREST.label(frame, frame.people == 1, threads=1)) for frame in frames]
    expected = [find_joints(*pair) for pair in pairs]
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda pair: find_joints(*pair), pairs * 3))
    for joints, answer in zip(expected * 3, answers, strict=True):
        assert {n: j.position for n, j in joints.items()} == {n: j.position for n, j in answer.items()}


# -- part sets --------------------------------------------------------------------------------------------------------


def test_joints_of_part_sets():
    assert known_joints(BODY31) == JOINTS
    assert known_joints(PCL25) == JOINTS
    assert cluster_parts(PCL25)["hand_l"] == (PCL25.index("Lhand"),)
    assert set(cluster_parts(PCL25)["head"]) == {PCL25.index(n) for n in ("FaceLB", "FaceRB", "FaceLT", "FaceRT")}
    assert "wrist_l" not in cluster_parts(PCL25)  # placed between forearm and hand
    assert known_joints(REGIONS15) == ("head", "neck", "hand_l", "hand_r", "foot_l", "foot_r")
    assert known_joints(df.PartSet(("sofa", "hand_r"))) == ("hand_r",)


def test_parts_without_joints_are_refused(frames):
    forest = random_forest(np.random.default_rng(0), 1, 2, df.PartSet(("paw", "tail", "ear", "nose", "back")))
    with pytest.raises(PartSetError, match=r"no joint can be found from the parts paw, tail, ear, nose, \.\.\."):
        find_joints(frames[0], forest.label(frames[0]))


# -- sets of joints ---------------------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), weight=st.sampled_from([0.0, 0.3, 2.0]))
def test_the_best_set_is_that_of_the_twin(seed, weight):
    rng = np.random.default_rng(seed)
    counts = np.zeros(len(JOINTS), dtype=np.int64)
    several = rng.permutation(len(JOINTS))[:9]
    counts[several] = rng.integers(1, 4, len(several)) * (rng.random(len(several)) < 0.6)
    counts[several[5:]] = np.minimum(counts[several[5:]], 1)
    places = rng.normal(0, 0.3, (len(JOINTS), 3, 3))
    evidence = rng.normal(0, 1, (len(JOINTS), 3))
    lengths, sds = rng.uniform(0.1, 0.5, len(JOINTS)), rng.uniform(0.03, 0.1, len(JOINTS))
    costs = np.zeros((len(JOINTS), 3))
    size = choose_set(places, evidence, counts, lengths, sds, weight, costs)
    bones = [(int(parent), child) for child, parent in enumerate(PARENTS) if parent >= 0]

    def best(sizes, limits=None):
        own = [list(range(n)) for n in counts]
        if limits:
            own[limits[0]] = [limits[1]]
        return naive.best_set(
            [[places[j, i].tolist() for i in its] for j, its in enumerate(own)],
            [[evidence[j, i] for i in its] for j, its in enumerate(own)],
            bones, lengths, sds, weight, sizes, CAP,
        )  # fmt: skip

    score, expected_size, choice = best(SIZES)
    if weight > 0 and counts.any():
        assert best([size])[0] == pytest.approx(score, abs=1e-9)
        assert size == expected_size
    for joint, chosen in enumerate(choice):
        if chosen is not None:
            assert costs[joint, : counts[joint]].min() == pytest.approx(0, abs=1e-9)
    for joint, number in itertools.islice(((j, i) for j in range(len(JOINTS)) for i in range(counts[j])), 4):
        expected = best([size])[0] - best([size], (joint, number))[0]
        assert costs[joint, number] == pytest.approx(expected, abs=1e-9)


def test_bones_choose_the_hand_at_the_arm():
    places = np.zeros((len(JOINTS), 2, 3))
    evidence = np.zeros((len(JOINTS), 2))
    counts = np.zeros(len(JOINTS), dtype=np.int64)
    hand, wrist = JOINTS.index("hand_l"), JOINTS.index("wrist_l")
    counts[hand], counts[wrist] = 2, 1
    places[wrist, 0] = 0, 0, 2
    places[hand] = [(0.8, 0, 2), (0.1, 0, 2)]
    evidence[hand] = 0.5, 0.0  # the far one looks better
    lengths, sds = np.full(len(JOINTS), 0.1), np.full(len(JOINTS), 0.03)
    for weight, chosen in ((0.0, 0), (1.0, 1)):
        costs = np.zeros((len(JOINTS), 2))
        choose_set(places, evidence, counts, lengths, sds, weight, costs)
        assert int(np.argmin(costs[hand])) == chosen
    counts[wrist] = 0  # without a wrist, the hand is chosen by itself
    choose_set(places, evidence, counts, lengths, sds, 1.0, costs)
    assert int(np.argmin(costs[hand])) == 0


# -- joints without a part --------------------------------------------------------------------------------------------


def planted_offsets():
    """Anchors left and right of a spine that lies between them and 8 cm behind, whatever the yaw."""
    rng = np.random.default_rng(1)
    anchors = ("torso_upper_l", "torso_upper_r", "torso_lower_l", "torso_lower_r", "neck")
    rows = []
    for yaw in rng.uniform(-1, 1, 500):
        across = 0.12 * np.array((np.cos(yaw), 0, np.sin(yaw)))
        up = np.array((0, -0.15, 0)) * rng.uniform(0.8, 1.2)
        anchor = np.array([up + across, up - across, -up + across, -up - across, 2 * up])
        rows.append(np.vstack((anchor, (0, 0, 0.08))) + rng.normal(0, 0.002, (6, 3)))
    samples = np.stack(rows)
    samples -= samples[:, :5].mean(axis=1, keepdims=True)
    covariances = np.stack([np.cov(samples[:, :, axis].T) + 1e-5 * np.eye(6) for axis in range(3)])
    return Offsets(anchors, samples.mean(axis=0), covariances)


@pytest.mark.parametrize("missing", [(), ("torso_upper_l",), ("torso_lower_l", "neck")])
@pytest.mark.parametrize("yaw", [-0.9, 0.0, 0.7])
@pytest.mark.parametrize("where", [(0.0, 0.0, 2.0), (1.0, -0.4, 3.0)])
def test_a_joint_is_placed_among_the_anchors_that_there_are(missing, yaw, where):
    offsets = planted_offsets()
    names = tuple(cluster_parts(BODY31))
    placer = Placer(JOINTS.index("spine"), names, BODY31, offsets, "spine")
    across, up = 0.12 * np.array((np.cos(yaw), 0, np.sin(yaw))), np.array((0, -0.15, 0))
    anchors = np.array([up + across, up - across, -up + across, -up - across, 2 * up])
    where = np.array(where)
    modes = np.zeros((len(names), MAX_MODES, 6), dtype=np.float32)
    n_modes = np.zeros(len(names), dtype=np.int64)
    for name, place in zip(offsets.anchors, anchors, strict=True):
        if name not in missing:
            modes[names.index(name), 0] = (*(place + where), 0.01, 0.5, 0.03)
            n_modes[names.index(name)] = 1
    found, counts = np.zeros((len(JOINTS), MAX_MODES, 6)), np.zeros(len(JOINTS), dtype=np.int64)
    placer.place(modes, n_modes, found, counts)
    spine = JOINTS.index("spine")
    assert counts[spine] == 1
    expected = where + 0.08 * where / np.linalg.norm(where)
    assert np.linalg.norm(found[spine, 0, :3] - expected) < 0.03
    assert found[spine, 0, 3] == pytest.approx(0.01 * (4 - len(set(missing) - {"neck"})))


def test_no_carrier_no_joint():
    names = tuple(cluster_parts(BODY31))
    placer = Placer(JOINTS.index("spine"), names, BODY31, planted_offsets(), "spine")
    modes = np.zeros((len(names), MAX_MODES, 6), dtype=np.float32)
    modes[names.index("neck"), 0] = 0, 0, 2, 0.01, 0.5, 0.03
    n_modes = np.zeros(len(names), dtype=np.int64)
    n_modes[names.index("neck")] = 1
    found, counts = np.zeros((len(JOINTS), MAX_MODES, 6)), np.zeros(len(JOINTS), dtype=np.int64)
    placer.place(modes, n_modes, found, counts)
    assert counts.sum() == 0


# -- parameters in a file ---------------------------------------------------------------------------------------------


def stored():
    parameters = replace(JointParameters.default(BODY31), offsets={"spine": planted_offsets()})
    return json.loads(json.dumps(parameters.to_dict()))


def test_parameters_come_back_from_a_file(tmp_path):
    replace(FOREST, joints=stored()).save(tmp_path / "model.safetensors")
    joints = df.Forest.load(tmp_path / "model.safetensors").joints
    parameters = JointParameters.from_dict(joints, BODY31)
    assert parameters.to_dict() == stored()
    assert parameters == JointParameters.from_dict(stored(), BODY31)
    assert parameters.bones["head-neck"] == Bone(0.11, 0.06)


def put(content, path, value):
    content = copy.deepcopy(content)
    place = content
    for key in path[:-1]:
        place = place[key]
    if value is ...:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return content


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("version",), 3, r"joints.version must be 1 or 2, got 3; fit the joints again"),
        (("version",), True, r"joints.version must be 1 or 2, got True"),
        (("version",), ..., r"joints.version must be 1 or 2, got None"),
        (("extra",), 1, r"joints must have exactly version, .* missing or unknown: 'extra'"),
        (("bones",), ..., r"joints must have exactly .* missing or unknown: 'bones'"),
        (("clusters",), [], r"joints.clusters must be an object, got \[\]"),
        (("clusters", "head"), ..., r"joints.clusters must name .* missing or unknown: 'head'"),
        (("clusters", "tail"), {}, r"joints.clusters must name .* missing or unknown: 'tail'"),
        (("clusters", "head"), 3, r"joints.clusters.head must be an object, got 3"),
        (("clusters", "head", "bandwidth_m"), 0.0, r"clusters.head.bandwidth_m must be a number from 0.005 to 1, got"),
        (("clusters", "head", "bandwidth_m"), float("nan"), r"clusters.head.bandwidth_m must be a number"),
        (("clusters", "head", "bandwidth_m"), True, r"clusters.head.bandwidth_m must be a number"),
        (("clusters", "head", "threshold"), 1.5, r"clusters.head.threshold must be a number from 0 to 1, got 1.5"),
        (("clusters", "head", "threshold"), "0.1", r"clusters.head.threshold must be a number"),
        (("clusters", "head", "push_back_m"), 1e300, r"clusters.head.push_back_m must be a number from -1 to 1"),
        (("clusters", "head", "more"), 1, r"joints.clusters.head must have exactly .* unknown: 'more'"),
        (("evidence", "head", "bias"), float("inf"), r"evidence.head.bias must be a number from -1000 to 1000"),
        (("evidence", "head", "purity"), None, r"evidence.head.purity must be a number"),
        (("confidence", "neck"), ..., r"joints.confidence must name .* missing or unknown: 'neck'"),
        (("confidence", "neck", "set_cost"), [1], r"confidence.neck.set_cost must be a number"),
        (("bones", "head-neck", "length_m"), 0, r"bones.head-neck.length_m must be a number from 0.001 to 1, got 0"),
        (("bones", "head-neck", "sd_m"), -1, r"bones.head-neck.sd_m must be a number"),
        (("bones", "neck-head"), {}, r"joints.bones must name .* missing or unknown: 'neck-head'"),
        (("bone_weight",), -0.1, r"joints.bone_weight must be a number from 0 to 1000, got -0.1"),
        (("offsets", "head"), {}, r"joints.offsets must name spine, hip_l, hip_r; missing or unknown: 'head'"),
        (("offsets", "spine", "anchors"), ["neck"], r"offsets.spine.anchors must be torso_upper_l, .*, got"),
        (("offsets", "spine", "means_m"), [[0, 0, 0]], r"offsets.spine.means_m must be lists of 6 x 3 numbers from -1"),
        (("offsets", "spine", "means_m", 2), [0, 0, "x"], r"offsets.spine.means_m must be lists"),
        (("offsets", "spine", "means_m", 2), [0, 0, 2.0], r"offsets.spine.means_m must be lists"),
        (("offsets", "spine", "covariances_m2", 0), [], r"offsets.spine.covariances_m2 must be lists of 3 x 6 x 6"),
        (("offsets", "spine", "covariances_m2", 1, 2, 3), 0.5, r"covariances_m2 must be symmetric and positive"),
        (("offsets", "spine", "covariances_m2", 1, 0, 0), -0.5, r"covariances_m2 must be symmetric and positive"),
    ],
)
def test_wrong_parameters_are_refused(path, value, message):
    content = put(stored(), path, value)
    with pytest.raises(ModelError, match=message):
        JointParameters.from_dict(content, BODY31)


def test_a_model_with_wrong_parameters_says_so_when_joints_are_asked_for(frames):
    forest = replace(FOREST, joints={"version": 7})
    labeling = forest.label(frames[0], frames[0].people == 1)
    with pytest.raises(ModelError, match=r"joints.version must be 1 or 2, got 7"):
        find_joints(frames[0], labeling)
    with pytest.raises(ModelError, match=r"joints must be an object, got \[\]"):
        JointParameters.from_dict([], BODY31)


def leaves_of(content, path=()):
    """Return the paths of all numbers."""
    if isinstance(content, dict | list):
        items = content.items() if isinstance(content, dict) else enumerate(content)
        return [leaf for key, value in items for leaf in leaves_of(value, (*path, key))]
    return [path]


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 6))
def test_any_parameters_are_refused_or_give_finite_joints(seed, n):
    rng = np.random.default_rng(seed)
    content = stored()
    paths = leaves_of(content)
    values = (0, -1, 1, 0.005, 0.001, 1000, -1000, 1e308, -1e-300, float("nan"), float("inf"), None, "x", [], {}, True)
    for _ in range(n):
        content = put(content, paths[rng.integers(len(paths))], values[rng.integers(len(values))])
    try:
        finder = Finder(JointParameters.from_dict(content, BODY31))
    except ModelError:
        return
    points = rng.normal((0, 0, 2), 0.4, (80, 3)).astype(np.float32)
    shares = rng.dirichlet(np.full(31, 0.1), 80).astype(np.float32)
    modes, n_modes = seek_modes(points, np.full(80, 1e-4, np.float32), shares, finder.clusters, FAST)
    joints = finder.joints(modes, n_modes)
    for joint in joints.values():
        for proposal in joint.proposals:
            assert np.isfinite((*proposal.position, proposal.confidence, *proposal.features)).all()
            assert 0 <= proposal.confidence <= 1


def test_the_fast_variant_asks_for_a_thousand_pixels():
    """Fewer cost accuracy that no other test measures."""
    frame = Generator(replace(SCENES, camera="kinect_v1@368x276"), seed=5, n=1)[0]
    labeling = FOREST.label(frame, frame.people == 1, threads=1)
    asked = [labeling.sample(n) for n in (1000, 700, None)]
    assert len(asked[0].rows) > len(asked[1].rows)
    assert len(asked[2].rows) > len(asked[0].rows)
    chosen = surface(frame, asked[0])
    expected = joints_of_surface(FOREST, *chosen, exact=False)
    found = find_joints(frame, labeling)
    assert {name: joint.position for name, joint in found.items()} == {n: j.position for n, j in expected.items()}
