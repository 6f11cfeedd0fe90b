"""The procedural body: meshing, anatomy, symmetry, skin, and obedience to the drawn measures."""

from __future__ import annotations

import dataclasses
from functools import cache

import numpy as np
import pytest

from depthforest.base.errors import UsageError
from depthforest.frames.parts import BODY31
from synth.bodies.anthropometry import Measures, child_measures, sample_measures
from synth.bodies.body import Body, Pose
from synth.bodies.figures import LEG_AXES
from synth.bodies.implicit import ellipsoid, mesh_half, mirrored_half, smooth_curve, smooth_union, unique_edges
from synth.bodies.procedural import (
    FOREARM_SHARE,
    SHOULDER_SHARE,
    UPPER_ARM_SHARE,
    _Fit,
    _landmarks,
    girth,
    make_body,
    sample_body,
    sample_person,
    section,
)
from synth.bodies.skeleton import BONE, BONE_MIRROR, N_BONES, PARENTS
from synth.bodies.templates import template
from synth.scene.skinning import pose_body

# ANSUR II itself, meters: mean and standard deviation of stature, trochanter height, upper arm, forearm; and the
# correlation of stature and trochanter height.
ANSUR2 = {
    "male": (((1.7562, 0.0686), (0.9009, 0.0492), (0.3352, 0.0175), (0.2679, 0.0154)), 0.85),
    "female": (((1.6285, 0.0642), (0.8454, 0.0447), (0.3112, 0.0172), (0.2413, 0.0152)), 0.86),
}


@cache
def person(name: str) -> Measures:
    rng = np.random.default_rng(11)
    if name == "child":
        return child_measures(rng, 7.0, "female")
    return sample_measures(rng, {"man": "male", "woman": "female"}[name])


@cache
def edges_of(name: str) -> np.ndarray:
    return unique_edges(template(name).faces.astype(np.int64))


@cache
def body(name: str) -> Body:
    return make_body(person(name))


def volume(vertices: np.ndarray, faces: np.ndarray) -> float:
    a, b, c = (vertices[faces[:, i]].astype(np.float64) for i in range(3))
    return float((a * np.cross(b, c)).sum() / 6)


def bone(of: Body, name: str) -> np.ndarray:
    return of.bone_heads[BONE[name]].astype(np.float64)


EVERYBODY = pytest.mark.parametrize("name", ["man", "woman", "child"])


# -- implicit surfaces -------------------------------------------------------------------------------------------------


def test_meshed_sphere_is_round_closed_and_outward() -> None:
    half, half_faces = mesh_half(
        lambda p: ellipsoid(p, (0, 0, 0), (0.1, 0.1, 0.1)), (0, -0.13, -0.13), (0.13,) * 3, 0.02
    )
    vertices, faces, _ = mirrored_half(half, half_faces)
    np.testing.assert_allclose(np.linalg.norm(vertices, axis=1), 0.1, atol=1e-4)
    assert volume(vertices, faces) == pytest.approx(4 / 3 * np.pi * 1e-3, rel=0.03)
    assert_closed(faces)


def test_smooth_union_only_adds_and_only_near_the_seam() -> None:
    a, b = np.array([0.0, 0.01, -0.5, 0.3]), np.array([0.0, 0.0, 0.5, -0.2])
    melted = smooth_union(a, b, 0.1)
    assert (melted <= np.minimum(a, b)).all()
    assert melted[0] == pytest.approx(-0.025)
    np.testing.assert_array_equal(melted[2:], [-0.5, -0.2])


def test_smooth_curve_meets_its_knots_and_never_overshoots() -> None:
    knots, values = [0.0, 1.0, 2.0, 4.0], [0.0, 3.0, 3.0, -1.0]
    np.testing.assert_allclose(smooth_curve(knots, values, np.array(knots)), values)
    dense = smooth_curve(knots, values, np.linspace(-1, 5, 601))
    assert dense.max() <= 3.0 + 1e-12
    assert dense.min() >= -1.0 - 1e-12
    assert dense[0] == 0.0
    assert dense[-1] == -1.0


def assert_closed(faces: np.ndarray) -> None:
    """Every edge is in exactly two faces, once in each direction."""
    directed = np.concatenate((faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]])).astype(np.int64)
    keys = directed @ (10**6, 1)
    assert len(np.unique(keys)) == len(keys)
    assert set(keys.tolist()) == set((directed @ (1, 10**6)).tolist())


# -- surface -----------------------------------------------------------------------------------------------------------


@EVERYBODY
def test_surface_is_closed_in_one_piece_and_fine_enough(name: str) -> None:
    made = body(name)
    assert 8_000 <= len(made.vertices) <= 20_000
    assert_closed(made.faces)
    # one piece without handles: fingers and thighs did not grow together
    assert len(made.vertices) - len(edges_of(name)) + len(made.faces) == 2
    assert len(np.unique(made.faces)) == len(made.vertices)


@EVERYBODY
def test_volume_is_that_of_the_weight(name: str) -> None:
    made = body(name)
    litres = 1000 * volume(made.vertices, made.faces)
    assert litres == pytest.approx(person(name).weight_kg, rel=0.2)
    if name != "child":
        assert 40 < litres < 140


@EVERYBODY
def test_right_half_mirrors_left_to_the_bit(name: str) -> None:
    made = body(name)
    source = template(name).source
    n_half = int(source.max()) + 1
    np.testing.assert_array_equal(made.vertices[n_half:], made.vertices[source[n_half:]] * np.float32([-1, 1, 1]))
    assert (made.vertices[:n_half, 0] >= -0.05).all()  # heavy thighs may press against each other
    np.testing.assert_array_equal(made.bone_heads[BONE_MIRROR], made.bone_heads * np.float32([-1, 1, 1]))
    np.testing.assert_array_equal(made.weights, made.weights[source])
    np.testing.assert_array_equal(made.weight_bones[n_half:], BONE_MIRROR[made.weight_bones[source[n_half:]]])
    left, right = np.split(made.face_parts, 2)
    np.testing.assert_array_equal(right, BODY31.mirror_table[left])


@EVERYBODY
def test_all_parts_are_there(name: str) -> None:
    assert set(body(name).face_parts.tolist()) == set(range(len(BODY31)))


def test_same_seed_same_bytes() -> None:
    one, two = (sample_body(np.random.default_rng(5)) for _ in range(2))
    other = sample_body(np.random.default_rng(6))
    assert one.vertices.tobytes() == two.vertices.tobytes()
    assert one.face_parts.tobytes() == two.face_parts.tobytes()
    assert one.measures == two.measures != other.measures


# -- anatomy -----------------------------------------------------------------------------------------------------------


def of_part(made: Body, *parts: str) -> np.ndarray:
    chosen = np.isin(made.face_parts, [BODY31.index(p) for p in parts])
    return made.vertices[np.unique(made.faces[chosen])].astype(np.float64)


@EVERYBODY
def test_front_differs_from_back(name: str) -> None:
    made = body(name)
    foot = of_part(made, "foot_l", "ankle_l")
    ankle = bone(made, "LeftFoot")
    assert foot[:, 2].max() - ankle[2] > 2 * (ankle[2] - foot[:, 2].min())  # toes reach farther than the heel
    face = of_part(made, "head_upper_l", "head_lower_l", "head_upper_r", "head_lower_r")
    nose = face[np.argmax(face[:, 2])]
    assert abs(nose[0]) < 0.012
    cheeks = face[(np.abs(face[:, 1] - nose[1]) < 0.012) & (np.abs(face[:, 0]) > 0.03), 2].max()
    assert nose[2] - cheeks > 0.012
    seat = made.vertices[np.abs(made.vertices[:, 1] - bone(made, "LeftUpLeg")[1]) < 0.03]
    seat = seat[np.abs(seat[:, 0]) < 0.1]
    assert -seat[:, 2].min() > 1.1 * seat[:, 2].max()  # buttocks


def test_woman_has_a_waist_and_breasts() -> None:
    depth = {}
    for name in ("man", "woman"):
        form, at = template(name), _landmarks(name)
        front = form.vertices[np.abs(form.vertices[:, 1] - at.chest) < 0.015]
        front = front[np.abs(front[:, 0]) < 0.13]
        breast, middle = front[front[:, 0] > 0.05, 2].max(), front[front[:, 0] < 0.01, 2].max()
        depth[name] = breast - middle
    assert depth["woman"] > depth["man"] + 0.015


@EVERYBODY
def test_thumb_is_in_front_and_palm_below_in_the_t_pose(name: str) -> None:
    made = body(name)
    posed = pose_body(made, Pose(np.tile(np.eye(3, dtype=np.float32), (N_BONES, 1, 1))))
    wrist = posed.bone_heads[BONE["LeftHand"]]
    assert posed.bone_heads[BONE["LThumb"], 2] > wrist[2] + 0.005
    chosen = np.unique(made.faces[made.face_parts == BODY31.index("hand_l")])
    hand = posed.vertices[chosen] - wrist
    assert hand[:, 2].max() > 1.25 * -hand[:, 2].min()  # the thumb's side is the wider
    assert np.ptp(hand[:, 2]) > 1.8 * np.ptp(hand[:, 1])  # flat, palm down
    arm = posed.bone_heads[[BONE["LeftArm"], BONE["LeftForeArm"], BONE["LeftHand"]]]
    np.testing.assert_allclose(arm[:, 1], arm[0, 1], atol=1e-4)


def test_children_have_larger_heads() -> None:
    share = {
        n: np.ptp(of_part(body(n), "head_upper_l", "head_lower_l")[:, 1]) / person(n).stature for n in ("man", "child")
    }
    assert share["child"] > 1.15 * share["man"]


# -- skin --------------------------------------------------------------------------------------------------------------


@EVERYBODY
def test_weights_belong_to_near_bones(name: str) -> None:
    made = body(name)
    np.testing.assert_allclose(made.weights.sum(axis=1), 1, atol=1e-5)
    dense = np.zeros((len(made.vertices), N_BONES))
    np.put_along_axis(dense, made.weight_bones.astype(np.int64), made.weights, axis=1)
    for tip, bones in (
        (np.argmax(made.vertices[:, 0]), ("LeftHandFinger1", "LThumb")),
        (np.argmax(made.vertices[:, 1]), ("Head",)),
        (
            np.argmax(np.where(made.vertices[:, 0] > 0, made.vertices[:, 2], -1) * (made.vertices[:, 1] < 0.1)),
            ("LeftToeBase",),
        ),
    ):
        assert dense[tip, [BONE[b] for b in bones]].sum() > 0.95
    # nothing on a left limb hangs on a right one, except across the crotch
    left_arm = made.vertices[:, 0] > 0.25 * person(name).stature / 1.7
    right_bones = [i for i, n in enumerate(BONE) if n.startswith("R")]
    assert dense[left_arm][:, right_bones].max() == 0


def turn(axis: int, degrees: float) -> np.ndarray:
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    i, j = (axis + 1) % 3, (axis + 2) % 3
    matrix = np.eye(3)
    matrix[i, i] = matrix[j, j] = c
    matrix[j, i], matrix[i, j] = s, -s
    return matrix


@EVERYBODY
@pytest.mark.parametrize(
    "turns",
    [
        {"LeftForeArm": (1, -90), "RightForeArm": (1, 90), "LeftLeg": (0, 90), "RightLeg": (0, 90)},
        {"LeftUpLeg": (0, -90), "RightUpLeg": (0, -90)},
        {"LeftArm": (2, -85), "RightArm": (2, 85)},
        {"LeftArm": (2, 70), "RightArm": (1, 80)},
        {"LowerBack": (0, 25), "Spine": (0, 25), "Head": (1, 50)},
    ],
)
def test_joints_bend_without_breaking(name: str, turns: dict[str, tuple[int, float]]) -> None:
    made = body(name)
    rotations = np.empty((N_BONES, 3, 3))
    for i, bone_name in enumerate(BONE):
        local = turn(*turns[bone_name]) if bone_name in turns else np.eye(3)
        rotations[i] = (rotations[PARENTS[i]] if PARENTS[i] >= 0 else np.eye(3)) @ local
    posed = pose_body(made, Pose(rotations.astype(np.float32)))
    edges = edges_of(name)
    before, after = (np.linalg.norm(v[edges[:, 0]] - v[edges[:, 1]], axis=1) for v in (made.vertices, posed.vertices))
    # the worst is the armpit of a raised arm; a vertex torn from its neighbors would be ten times as far off
    assert (after - before).max() < 0.04 * person(name).stature / 1.7
    assert volume(posed.vertices, made.faces) == pytest.approx(volume(made.vertices, made.faces), rel=0.12)


# -- measures ----------------------------------------------------------------------------------------------------------


def test_two_thousand_adults_match_ansur2() -> None:
    rng = np.random.default_rng(3)
    people = [sample_person(rng, child_share=0) for _ in range(2000)]
    for sex, (figures, correlation) in ANSUR2.items():
        ours = np.array(
            [(p.stature, p.trochanter_height, p.upper_arm_length, p.forearm_length) for p in people if p.sex == sex]
        )
        assert 900 < len(ours) < 1100
        means, deviations = np.array(figures).T
        np.testing.assert_allclose(ours.mean(axis=0), means, rtol=0.02)
        np.testing.assert_allclose(ours.std(axis=0), deviations, rtol=0.2)
        assert np.corrcoef(ours[:, 0], ours[:, 1])[0, 1] == pytest.approx(correlation, abs=0.1)


def test_meshes_obey_their_measures() -> None:
    rng = np.random.default_rng(8)
    for _ in range(60):
        wanted = sample_person(rng)
        made = make_body(wanted)
        name = "child" if wanted.age_years < 13 else {"male": "man", "female": "woman"}[wanted.sex]
        got = measured(made, name, wanted)
        for key, value in got.items():
            assert value == pytest.approx(getattr(wanted, key), rel=0.015), (key, wanted)


def measured(made: Body, name: str, wanted: Measures) -> dict[str, float]:
    """Return what ruler, callipers and tape read on a body; the tape lies where it lay on the template."""
    at, form = _landmarks(name), template(name)
    vertices = made.vertices.astype(np.float64)
    edges = edges_of(name)
    limbs = np.zeros(N_BONES)
    limbs[[BONE[s + b] for s in ("Left", "Right") for b in ("Arm", "ForeArm", "Hand", "FingerBase", "HandFinger1")]] = 1
    limbs[[BONE["LThumb"], BONE["RThumb"]]] = 1
    arms = (limbs[made.weight_bones] * made.weights).sum(axis=1)
    trunk_edges = edges[(arms[edges] < 0.5).all(axis=1)]
    fit = _Fit(form, at, wanted)
    girths = {}
    for key, height in (
        ("waist_girth", form.figure.waist),
        ("chest_girth", at.chest),
        ("neck_girth", at.neck),
        ("hip_girth", at.hips),
    ):
        level = fit.trunk(np.array([[0.0, height, 0.0]]))[0]
        girths[key] = girth(section(vertices, trunk_edges, level, (0, 1, 0))[:, [0, 2]])
    elbow, wrist, hip, knee = (bone(made, f"Left{b}") for b in ("ForeArm", "Hand", "UpLeg", "Leg"))
    tape = hip + fit.leg(np.array([form.figure.hip + at.thigh_at * LEG_AXES[0]]))[0] - fit.hip
    left_leg = (
        (arms < 0.1) & (vertices[:, 1] < hip[1]) & np.isin(np.arange(len(vertices)), np.arange(len(form.vertices)))
    )
    cut = section(vertices, edges[left_leg[edges].all(axis=1)], tape, LEG_AXES[0])
    foot = of_part(made, "foot_l", "ankle_l")
    hand = of_part(made, "hand_l")
    return {
        **girths,
        "stature": float(vertices[:, 1].max()),
        "trochanter_height": float(hip[1]),
        "knee_height": float(knee[1]),
        "crotch_height": float(vertices[vertices[:, 0] == 0, 1].min()),
        "upper_arm_length": float(np.linalg.norm(elbow - bone(made, "LeftArm"))) / UPPER_ARM_SHARE,
        "forearm_length": float(np.linalg.norm(wrist - elbow)) / FOREARM_SHARE,
        "hand_length": float(((hand - wrist) @ (wrist - elbow)).max() / np.linalg.norm(wrist - elbow)),
        "foot_length": float(np.ptp(foot[:, 2])),
        "shoulder_breadth": float(bone(made, "LeftArm")[0]) / SHOULDER_SHARE,
        "thigh_girth": girth((cut - hip) @ LEG_AXES[1:].T),
    }


def test_children_are_drawn_in_their_share() -> None:
    rng = np.random.default_rng(0)
    ages = np.array([sample_person(rng, child_share=0.25).age_years for _ in range(1000)])
    assert 200 < (ages < 18).sum() < 300
    assert ages.min() >= 4


def test_given_measures_are_used() -> None:
    made = sample_body(np.random.default_rng(0), person("woman"))
    assert made.measures["stature"] == person("woman").stature
    assert made.measures["is_female"] == 1
    assert made.vertices.tobytes() == body("woman").vertices.tobytes()


def test_nonsense_is_refused() -> None:
    with pytest.raises(UsageError, match="child_share must be from 0 to 1, got 2"):
        sample_person(np.random.default_rng(0), child_share=2)
    with pytest.raises(UsageError, match="measures above 0"):
        make_body(dataclasses.replace(person("man"), stature=-1.0))
    with pytest.raises(UsageError, match="a sex of male or female"):
        make_body(dataclasses.replace(person("man"), sex="robot"))
