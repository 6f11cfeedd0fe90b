"""Joints of others: by hand, planted offsets learned again, files, and what is refused."""

import json

import numpy as np
import pytest

import depthforest as df
from depthforest.base.errors import UsageError
from depthforest.frames import JOINTS, Joint
from depthforest.joints.conventions import CONVENTIONS, Convention, convert, people_of_marks, person_axes
from depthforest.joints.files import FrameJoints, write_joints
from depthforest.joints.finding import FoundJoint, Joints, Proposal

FRONT = {  # facing the camera: the left side is at larger x
    "head": (0, -0.6, 2), "neck": (0, -0.45, 2), "spine": (0, -0.1, 2),
    "shoulder_l": (0.2, -0.4, 2), "shoulder_r": (-0.2, -0.4, 2), "hip_l": (0.1, 0.15, 2), "hip_r": (-0.1, 0.15, 2),
    "elbow_l": (0.3, -0.1, 2), "elbow_r": (-0.3, -0.1, 2), "wrist_l": (0.35, 0.1, 2), "wrist_r": (-0.35, 0.1, 2),
    "hand_l": (0.35, 0.2, 2), "hand_r": (-0.35, 0.2, 2), "knee_l": (0.1, 0.6, 2), "knee_r": (-0.1, 0.6, 2),
    "ankle_l": (0.1, 1.0, 2), "ankle_r": (-0.1, 1.0, 2), "foot_l": (0.1, 1.05, 1.9), "foot_r": (-0.1, 1.05, 1.9),
}  # fmt: skip


def body(rng=None):
    """A person who stands before the camera; with a generator turned, moved and shaken."""
    places = np.array([FRONT[name] for name in JOINTS], dtype=float)
    if rng is not None:
        q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
        q *= np.sign(np.linalg.det(q))
        shaken = rng.normal(0, 0.003, places.shape)
        places = (places - (0, 0, 2)) @ q.T + rng.uniform(-0.5, 0.5, 3) + (0, 0, 2.5) + shaken
    sure = np.linspace(0.5, 0.9, len(JOINTS)).tolist()
    return {n: Joint(tuple(p), True, c) for n, p, c in zip(JOINTS, places.tolist(), sure, strict=True)}


def test_axes_of_one_who_faces_the_camera():
    np.testing.assert_allclose(person_axes(body()), [[1, 0, 0], [0, 1, 0], [0, 0, -1]], atol=1e-12)
    assert person_axes({"head": body()["head"]}) is None
    flat = {name: Joint((0.0, 0.0, 2.0)) for name in JOINTS}
    assert person_axes(flat) is None


@pytest.mark.parametrize(
    ("name", "n", "some"),
    [
        ("itop", 15, {"torso": (0, -0.1, 2), "hand_l": (0.35, 0.2, 2)}),
        ("kinect_v2", 21, {"SpineBase": (0, 0.15, 2), "HandLeft": (0.35, 0.2, 2), "FootRight": (-0.1, 1.05, 1.9)}),
        ("coco", 17, {"nose": (0, -0.58, 1.89), "left_eye": (0.032, -0.62, 1.91), "right_wrist": (-0.35, 0.1, 2)}),
        ("smpl", 24, {"pelvis": (0, 0.15, 2), "spine2": (0, -0.15, 2), "left_collar": (0.08, -0.43, 2)}),
    ],
)
def test_named_conventions(name, n, some):
    found = convert(body(), name)
    assert len(found) == len(CONVENTIONS[name].sources) == n
    for joint, place in some.items():
        np.testing.assert_allclose(found[joint].position, place, atol=1e-9)


def test_confidence_is_that_of_the_weakest_source_and_missing_joints_stay_missing():
    joints = body()
    pelvis = convert(joints, "smpl")["pelvis"]
    assert pelvis.confidence == min(joints["hip_l"].confidence, joints["hip_r"].confidence)
    del joints["hip_l"]
    assert "pelvis" not in convert(joints, "smpl")
    assert "nose" in convert(joints, "coco"), "the spine tells the axes, too"
    del joints["neck"]
    left = convert(joints, "coco")
    assert "nose" not in left
    assert "left_knee" in left


def test_found_joints_have_it():
    found = {
        name: FoundJoint(joint.position, 0.8, (Proposal(joint.position, 0.8, np.zeros(9, np.float32)),))
        for name, joint in body().items()
    }
    assert Joints(found).to("itop")["torso"].position == pytest.approx(FRONT["spine"])
    with pytest.raises(UsageError, match=r"expected itop, kinect_v2, coco, smpl, a Convention or a file of one, got"):
        Joints(found).to("openpose")


PLANTED = Convention(
    {"head": {"head": 1.0}, "torso": {"spine": 1.0}, "pelvis": {"hip_l": 0.5, "hip_r": 0.5}, "hand_l": {"hand_l": 1.0}},
    {"head": (0.0, -0.08, 0.03), "torso": (0.0, 0.05, 0.1), "pelvis": (0.02, 0.0, -0.04), "hand_l": (0.03, 0.02, 0.0)},
)


def test_a_planted_convention_comes_back(tmp_path):
    rng = np.random.default_rng(4)
    people = [body(rng) for _ in range(12)]
    marked = [
        {name: np.add(joint.position, rng.normal(0, 0.004, 3)) for name, joint in convert(person, PLANTED).items()}
        for person in people
    ]
    marked[3] = {"head": marked[3]["head"]}
    fitted = df.fit_convention(people, marked, base=Convention(PLANTED.sources))
    for name, offset in PLANTED.offsets.items():
        np.testing.assert_allclose(fitted.offsets[name], offset, atol=0.006)
    fitted.save(tmp_path / "mine.json")
    assert Convention.load(tmp_path / "mine.json").offsets == {n: list(o) for n, o in fitted.offsets.items()}
    again = convert(people[0], tmp_path / "mine.json")
    np.testing.assert_allclose(again["torso"].position, marked[0]["torso"], atol=0.02)


def test_too_few_marks_teach_nothing():
    people = [body(np.random.default_rng(i)) for i in range(2)]
    assert df.fit_convention(people, [{"head": (0, 0, 2)}] * 2).offsets == {}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: df.fit_convention([], []), "0 found and 0 marked people"),
        (lambda: df.fit_convention([body()], [{"torso": (0, 0, 2)}]), "joint 'torso' is marked, but unknown"),
        (lambda: df.fit_convention([body()], [{"head": (0, 2)}]), r"the mark of joint 'head' must be \(x, y, z\)"),
        (lambda: df.fit_convention([body()], [{"head": (0, 2, "m")}]), r"the mark of joint 'head' must be \(x, y, z\)"),
        (lambda: df.fit_convention([body()], [{"head": (0, 2, {})}]), r"the mark of joint 'head' must be \(x, y, z\)"),
        (lambda: df.fit_convention([body()], [{"head": (0, 2, 10**400)}]), "the mark of joint 'head' must be"),
        (lambda: Convention({"a": {"paw": 1.0}}), "joint 'a': expected shares of head"),
        (lambda: Convention({"a": {"head": 0.5}}), "joint 'a': shares must sum to 1, got 0.5"),
        (lambda: Convention({"a": {"head": 1.0}}, {"b": (0, 0, 0)}), "offset of joint 'b', which the convention lacks"),
        (lambda: Convention({"a": {"head": 1.0}}, {"a": (0, 2, 0)}), "must be three numbers within 1 m"),
    ],
)
def test_what_is_refused(call, message):
    with pytest.raises(UsageError, match=message):
        call()


def test_the_command(tmp_path, capsys):
    from support.command import command

    rng = np.random.default_rng(2)
    people = [body(rng) for _ in range(5)]
    far = {name: Joint((p.position[0] + 1.5, p.position[1], p.position[2]), True, 1.0) for name, p in people[0].items()}
    write_joints(tmp_path / "j.json", [FrameJoints(f"{i}", {1: far, 2: person}) for i, person in enumerate(people)])
    marks = {str(i): {n: list(j.position) for n, j in convert(p, PLANTED).items()} for i, p in enumerate(people)}
    (tmp_path / "marks.json").write_text(json.dumps(marks))
    Convention(PLANTED.sources).save(tmp_path / "base.json")
    mine = tmp_path / "mine.json"
    options = ("--base", tmp_path / "base.json", "-o", mine)
    assert command("fit-convention", tmp_path / "j.json", tmp_path / "marks.json", *options) == 0
    assert f"offsets of 4 joints from 5 frames in {mine}" in capsys.readouterr().out
    np.testing.assert_allclose(Convention.load(mine).offsets["torso"], PLANTED.offsets["torso"], atol=1e-3)
    for content, message in (("[]", "expected an object of frames"), ('{"x": {"head": [0, 0, 2]}}', "has no frame in")):
        (tmp_path / "marks.json").write_text(content)
        with pytest.raises(UsageError, match=message):
            people_of_marks(tmp_path / "j.json", tmp_path / "marks.json")
