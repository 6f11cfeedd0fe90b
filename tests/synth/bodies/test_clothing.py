"""Clothes: labels and topology stay, offsets go outwards and stay within bounds, hands and face stay bare."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from support import naive_clothing as naive

from depthforest.frames.parts import BODY31
from synth.bodies.anthropometry import child_measures, sample_measures
from synth.bodies.body import Body, Pose
from synth.bodies.clothing import MAX_SPAN, Outfit, OutfitError, _smooth, _Wearer, dress, sample_outfit
from synth.bodies.procedural import make_body
from synth.bodies.skeleton import BONE, N_BONES
from synth.bodies.templates import template
from synth.scene.skinning import pose_body

OUTFITS = {
    "winter": Outfit(top=0.04, trousers=0.03, hair=0.02, hat=0.03, shoes=0.015, folds=0.4, seed=1),
    "coat": Outfit(top=0.03, top_length=0.5, trousers=0.01, hair=0.02, hair_length=0.2, hood=0.03, folds=0.3),
    "skirt": Outfit(top=0.01, sleeves=0.3, skirt=0.55, flare=0.25, hair=0.02, hair_length=0.3, shoes=0.01),
    "shorts": Outfit(top=0.005, sleeves=0.2, trousers=0.02, trouser_length=0.4, folds=0.2, seed=9),
}
EACH = pytest.mark.parametrize("name", OUTFITS)
WHO = pytest.mark.parametrize("who", ["man", "woman", "child"])


@cache
def body(who: str) -> Body:
    rng = np.random.default_rng(4)
    if who == "child":
        return make_body(child_measures(rng, 6.0, "male"))
    return make_body(sample_measures(rng, {"man": "male", "woman": "female"}[who]))


def lift(bare: Body, dressed: Body) -> np.ndarray:
    return np.asarray(dressed.bone_heads - bare.bone_heads)[0]


def moves(bare: Body, dressed: Body) -> np.ndarray:
    """Return how far each vertex moved, without the lift of the shoes."""
    return np.asarray(dressed.vertices.astype(np.float64) - bare.vertices - lift(bare, dressed))


def of_part(made: Body, *parts: str) -> np.ndarray:
    return np.unique(made.faces[np.isin(made.face_parts, [BODY31.index(p) for p in parts])])


def only_in(made: Body, *parts: str) -> np.ndarray:
    """Return the vertices that touch no other part."""
    chosen = np.isin(made.face_parts, [BODY31.index(p) for p in parts])
    return np.setdiff1d(np.unique(made.faces[chosen]), np.unique(made.faces[~chosen]))


def test_kernel_equals_its_naive_twin() -> None:
    rng = np.random.default_rng(0)
    faces = np.array([[0, 1, 2], [2, 1, 3], [3, 1, 4], [4, 5, 3]], dtype=np.int32)
    faces.setflags(write=False)
    values = rng.normal(size=(7, 2))
    smooth = np.empty_like(values)
    _smooth(faces, values, 3, np.empty_like(values), np.empty(7), smooth)
    np.testing.assert_allclose(smooth, naive.smooth(faces, values, 3), rtol=1e-12)
    np.testing.assert_array_equal(smooth[6], values[6])  # in no face: stays


@WHO
@EACH
def test_faces_labels_and_bones_stay(who: str, name: str) -> None:
    bare = body(who)
    dressed = dress(bare, OUTFITS[name])
    np.testing.assert_array_equal(dressed.faces, bare.faces)
    np.testing.assert_array_equal(dressed.face_parts, bare.face_parts)
    np.testing.assert_array_equal(dressed.joint_bones, bare.joint_bones)
    assert dressed.measures == bare.measures
    # shoes lift the whole skeleton, and nothing else moves it
    np.testing.assert_allclose(
        dressed.bone_heads - bare.bone_heads, np.tile(lift(bare, dressed), (N_BONES, 1)), atol=1e-6
    )
    np.testing.assert_allclose(
        dressed.joint_positions - bare.joint_positions, np.tile(lift(bare, dressed), (19, 1)), atol=1e-6
    )
    assert (lift(bare, dressed)[1] > 0.003) == (OUTFITS[name].shoes > 0)
    np.testing.assert_array_equal(lift(bare, dressed)[[0, 2]], 0)
    if OUTFITS[name].shoes:
        assert dressed.vertices[:, 1].min() == pytest.approx(0, abs=1e-6)


@WHO
@EACH
def test_hands_and_face_stay_bare(who: str, name: str) -> None:
    bare = body(who)
    moved = np.linalg.norm(moves(bare, dress(bare, OUTFITS[name])), axis=1)
    assert moved[of_part(bare, "hand_l", "hand_r")].max() < 1e-6
    head = of_part(bare, "head_lower_l", "head_lower_r", "head_upper_l", "head_upper_r")
    nose = bare.vertices[head[np.argmax(bare.vertices[head, 2])]]
    face = head[np.linalg.norm(bare.vertices[head] - nose, axis=1) < 0.035]
    assert len(face) > 20
    assert moved[face].max() < 1e-6


@WHO
@pytest.mark.parametrize("name", ["winter", "shorts"])
def test_cloth_goes_outwards_and_stays_within_bounds(who: str, name: str) -> None:
    bare, outfit = body(who), OUTFITS[name]
    wearer = _Wearer(bare)
    move = moves(bare, dress(bare, outfit))
    assert (move * wearer.normals).sum(axis=1).min() > -1e-5
    thickest = max(outfit.top, outfit.trousers, outfit.hair, outfit.hat, outfit.shoes) * (1 + outfit.folds) * 1.2
    assert np.linalg.norm(move, axis=1).max() < thickest + MAX_SPAN


def test_garments_cover_what_they_say() -> None:
    bare = body("man")
    thickness = {n: np.linalg.norm(moves(bare, dress(bare, replace(o, folds=0.0))), axis=1) for n, o in OUTFITS.items()}
    upper_arm, lower_arm = only_in(bare, "arm_upper_l"), only_in(bare, "arm_lower_l")
    shin, thigh = only_in(bare, "leg_lower_r"), only_in(bare, "leg_upper_r")
    assert thickness["winter"][upper_arm].min() > 0.02
    assert np.median(thickness["winter"][lower_arm]) > 0.02
    assert thickness["shorts"][lower_arm].max() < 1e-6  # short sleeves
    assert np.median(thickness["winter"][shin]) > 0.02
    assert thickness["shorts"][shin].max() < 1e-6  # short trousers
    assert np.median(thickness["shorts"][thigh]) > 0.006
    crown = np.argmax(bare.vertices[:, 1])
    assert thickness["winter"][crown] > 0.02  # hat
    assert thickness["shorts"][crown] < 1e-6


@WHO
def test_garments_end_without_steps(who: str) -> None:
    bare = body(who)
    # a hat has a rim; everything else fades
    thickness = np.linalg.norm(moves(bare, dress(bare, replace(OUTFITS["winter"], hat=0.0))), axis=1)
    edges = np.concatenate([bare.faces[:, [0, 1]], bare.faces[:, [1, 2]], bare.faces[:, [2, 0]]])
    # the steepest is the cuff: folds make the 4 cm jacket up to 4.8 cm there, which fade over 5 cm, 2 to 3 edges; a
    # smooth step then takes at most 1.5 * 2 cm / 5 cm = 60 % of it at one edge, an abrupt end all of it
    assert np.abs(thickness[edges[:, 0]] - thickness[edges[:, 1]]).max() < 0.6 * 0.048


@WHO
def test_skirt_bridges_the_legs_in_any_pose(who: str) -> None:
    bare = body(who)
    outfit = Outfit(skirt=0.6, flare=0.2)
    rotations = np.tile(np.eye(3, dtype=np.float32), (N_BONES, 1, 1))
    c, s = np.cos(0.25), np.sin(0.25)
    out = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]], dtype=np.float32)
    for left, right in (("LeftUpLeg", "RightUpLeg"), ("LeftLeg", "RightLeg"), ("LeftFoot", "RightFoot")):
        rotations[BONE[left]], rotations[BONE[right]] = out, out.T
    apart = Pose(rotations)
    knee = 0.7 * bare.bone_heads[BONE["LeftLeg"], 1] + 0.3 * bare.bone_heads[BONE["LeftUpLeg"], 1]

    def gap(made: Body) -> float:
        """Return the distance of the left half from the midline, a little above the knees, legs apart."""
        vertices = pose_body(made, apart).vertices
        left = np.isin(np.arange(len(vertices)), of_part(made, "leg_upper_l", "knee_l"))
        return float(vertices[left & (np.abs(vertices[:, 1] - knee) < 0.03), 0].min())

    assert gap(bare) > 0.05 * bare.leg_length
    assert gap(dress(bare, outfit)) < 0.01
    dressed = dress(bare, outfit)
    np.testing.assert_allclose(dressed.weights.sum(axis=1), 1, atol=1e-5)
    shin = only_in(bare, "ankle_l", "foot_l")
    np.testing.assert_array_equal(dressed.weight_bones[shin], bare.weight_bones[shin])


def test_bare_outfit_changes_nothing() -> None:
    assert dress(body("man"), Outfit()) is body("man")
    assert dress(body("man"), Outfit(folds=0.5, seed=3, sleeves=0.2)) is body("man")


def test_same_outfit_same_bytes_other_seed_other_folds() -> None:
    one, two = (dress(body("woman"), OUTFITS["winter"]).vertices for _ in range(2))
    other = dress(body("woman"), replace(OUTFITS["winter"], seed=2)).vertices
    assert one.tobytes() == two.tobytes()
    assert np.abs(one - other).max() > 0.003


@WHO
@EACH
def test_without_folds_clothes_are_symmetric(who: str, name: str) -> None:
    dressed = dress(body(who), replace(OUTFITS[name], folds=0.0))
    source = template(who).source
    n_half = int(source.max()) + 1
    mirrored = dressed.vertices[source[n_half:]] * np.float32([-1, 1, 1])
    np.testing.assert_allclose(dressed.vertices[n_half:], mirrored, atol=1e-4)


def test_sampled_outfits_are_wearable_and_vary() -> None:
    rng = np.random.default_rng(0)
    outfits = [sample_outfit(rng) for _ in range(400)]
    assert outfits[:5] == [sample_outfit(r) for r in [np.random.default_rng(0)] for _ in range(5)]
    assert 0.08 < np.mean([o.skirt > 0 for o in outfits]) < 0.25
    assert 0.6 < np.mean([o.trousers > 0 for o in outfits]) < 0.85
    assert 0.04 < np.mean([o.top == 0 for o in outfits]) < 0.18
    for outfit in outfits[:30]:
        dressed = dress(body("woman"), outfit)
        assert np.linalg.norm(moves(body("woman"), dressed), axis=1).max() < 0.35


@pytest.mark.parametrize(("field", "value"), [("top", 0.2), ("sleeves", -0.1), ("skirt", 1.5), ("hair", float("nan"))])
def test_impossible_outfits_are_refused(field: str, value: float) -> None:
    with pytest.raises(OutfitError, match=f"an outfit's {field} must be from 0 to"):
        Outfit(**{field: value})
