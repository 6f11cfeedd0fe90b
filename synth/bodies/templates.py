"""Templates: the meshed figures with their bones and skin weights, made once per process for `procedural`.

Weights are smooth steps across the joints, smoothed again over the mesh, so that elbows, knees, shoulders and hips bend
without creases. Only the left half is computed; the right half is its exact mirror image.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from depthforest.base import Floats, Longs
from synth.bodies.body import WEIGHTS_PER_VERTEX
from synth.bodies.borders import cut_at_borders
from synth.bodies.figures import ARM_AXES, LEG_AXES, Figure
from synth.bodies.implicit import mesh_half, mirrored_half, unique_edges
from synth.bodies.labels import face_parts
from synth.bodies.shapes import CHILD, MAN, WOMAN
from synth.bodies.skeleton import BONE, BONE_MIRROR, N_BONES

FIGURES: dict[str, Figure] = {"man": MAN, "woman": WOMAN, "child": CHILD}

CELL = 0.0083
"""Side of a grid cell in statures: gives about 14,000 vertices, 8 to 16 mm apart on an adult."""

SMOOTHING_ROUNDS = 12
"""Smoothing passes over the mesh, which round off the creases that the smooth steps leave."""


@dataclass(frozen=True, eq=False)
class Template:
    """A figure's surface, ready to be deformed.

    Parameters
    ----------
    figure : Figure
    vertices : array (n_half, 3), float64
        The left half, x >= 0, meters.
    bones : array (31, 3), float64
        Heads of all bones, of both sides.
    faces : array (m, 3), int32
        Faces of the whole body.
    face_parts : array (m,), uint8
        Labels of the faces, which are cut along the borders between parts.
    source : array (n,), int64
        For each vertex of the whole body, the vertex of the half that it equals or mirrors; the first n_half are the
        half.
    arm, leg : array (n_half,), float64
        How much each vertex belongs to the left arm and leg, 0 to 1; the rest is trunk and head.
    weight_bones : array (n, 4), uint8
    weights : array (n, 4), float32
    """

    figure: Figure
    vertices: Floats
    bones: Floats
    faces: npt.NDArray[np.int32]
    face_parts: npt.NDArray[np.uint8]
    source: Longs
    arm: Floats
    leg: Floats
    weight_bones: npt.NDArray[np.uint8]
    weights: npt.NDArray[np.float32]


@cache
def template(name: str) -> Template:
    """Return the template called "man", "woman" or "child"; the first call meshes it in about a second."""
    figure = FIGURES[name]
    half, half_faces = mesh_half(
        figure.field,
        (0.0, -0.03, -0.18 * figure.top),
        (0.45 * figure.top, 1.07 * figure.top, 0.2 * figure.top),
        CELL * figure.top,
        figure.lenses(),
    )
    bones = bone_heads(figure)
    vertices, faces, _ = mirrored_half(half, half_faces)
    left = _smoothed(_bone_shares(figure, vertices, bones), faces)[: len(half)]
    itself = np.arange(len(half))
    cut = cut_at_borders(half, half_faces, bones, *_strongest(left, half[:, 0] == 0, itself, len(half)))
    half, left = cut.extend(half), cut.extend(left)
    vertices, faces, source = mirrored_half(half, cut.faces.astype(np.int64))
    weight_bones, weights = _strongest(left, half[:, 0] == 0, source, len(half))
    arm = left[
        :, [BONE[f"Left{b}"] for b in ("Arm", "ForeArm", "Hand", "FingerBase", "HandFinger1")] + [BONE["LThumb"]]
    ]
    legs = [BONE[f"{s}{b}"] for s in ("Left", "Right") for b in ("UpLeg", "Leg", "Foot", "ToeBase")]
    return Template(
        figure=figure,
        vertices=half,
        bones=bones,
        faces=faces.astype(np.int32),
        face_parts=face_parts(vertices, faces, bones, weight_bones, weights),
        source=source,
        arm=arm.sum(axis=1),
        leg=left[:, legs].sum(axis=1),
        weight_bones=weight_bones,
        weights=weights,
    )


def bone_heads(figure: Figure) -> Floats:
    """Return the rest positions of the 31 bones of a figure, (31, 3), meters."""
    unit, face = figure.top / MAN.top, figure.top - figure.chin
    upper, fore, hand = figure.arm_lengths
    wrist = upper + fore
    hip, ankle = np.array(figure.hip), np.array(figure.ankle)
    chest = figure.shoulder[1]
    toe = figure.foot[-1][0]
    at: dict[str, tuple[float, float, float] | Floats] = {
        "Hips": (0, hip[1] + 0.03 * unit, hip[2]),
        "LowerBack": (0, hip[1] + 0.07 * unit, -0.03 * unit),
        "Spine": (0, 0.45 * hip[1] + 0.55 * figure.waist + 0.03 * unit, -0.035 * unit),
        "Spine1": (0, 0.35 * figure.waist + 0.65 * chest, -0.05 * unit),
        "Neck": (0, figure.neck + 0.015 * unit, -0.045 * unit),
        "Neck1": (0, 0.5 * (figure.neck + figure.chin + 0.4 * face), -0.03 * unit),
        "Head": (0, figure.chin + 0.4 * face, -0.012 * unit),
        "LHipJoint": 0.5 * (hip + (0, hip[1] + 0.03 * unit, hip[2])),
        "LeftUpLeg": hip,
        "LeftLeg": figure.knee,
        "LeftFoot": ankle,
        "LeftToeBase": ankle + (0.1 * 0.62 * toe, 0.022 * unit - ankle[1], 0.62 * toe),
        "LeftShoulder": (0.025 * unit, chest + 0.005 * unit, -0.02 * unit),
        "LeftArm": np.array(figure.shoulder),
        "LeftForeArm": figure.along_arm(upper),
        "LeftHand": figure.along_arm(wrist),
        "LeftFingerBase": figure.along_arm(wrist + 0.3 * hand),
        "LeftHandFinger1": figure.along_arm(wrist + 0.53 * hand),
        "LThumb": figure.along_arm(wrist + 0.16 * hand, -0.006, 0.275 * figure.hand_breadth),
    }
    heads = np.empty((N_BONES, 3))
    for name, place in at.items():
        heads[BONE_MIRROR[BONE[name]]] = np.asarray(place) * (-1, 1, 1)
        heads[BONE[name]] = place
    return heads


def smooth_step(values: Floats, start: float, end: float) -> Floats:
    """Return a smooth step: 0 up to `start`, 1 from `end` on."""
    share = np.clip((values - start) / (end - start), 0, 1)
    return np.asarray(share * share * (3 - 2 * share))


def _bone_shares(figure: Figure, vertices: Floats, bones: Floats) -> Floats:
    """Return (n, 31): the share of every bone in every vertex, summing to 1."""
    shares = np.zeros((len(vertices), N_BONES))
    left_part = smooth_step(vertices[:, 0], -0.02 * figure.top / MAN.top, 0.02 * figure.top / MAN.top)
    trunk = np.ones(len(vertices))
    for side, mirror, part in ((1.0, np.arange(N_BONES), left_part), (-1.0, BONE_MIRROR, 1 - left_part)):
        points = vertices * (side, 1, 1)
        arm = _arm_share(figure, points)
        leg = part * _leg_share(figure, points) * (1 - arm)  # exclude the hands, which hang beside the thighs
        for names, total, steps in (
            (_LEG, leg, _leg_steps(figure, points, bones)),
            (_ARM, arm, _arm_steps(figure, points)),
        ):
            _pass_on(shares, [int(mirror[BONE[n]]) for n in names], total, steps)
        hand = [int(mirror[BONE[f"Left{n}"]]) for n in ("Hand", "FingerBase", "HandFinger1")]
        thumb = _thumb_share(figure, points)
        shares[:, mirror[BONE["LThumb"]]] = thumb * shares[:, hand].sum(axis=1)
        shares[:, hand] *= (1 - thumb)[:, None]
        collar = (1 - arm) * _collar_share(figure, points)
        shares[:, mirror[BONE["LeftShoulder"]]] = collar
        trunk -= leg + arm + collar
    _pass_on(shares, [BONE[n] for n in _TRUNK], np.maximum(trunk, 0), _trunk_steps(figure, vertices, bones))
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


_LEG = ("LeftUpLeg", "LeftLeg", "LeftFoot", "LeftToeBase")
_ARM = ("LeftArm", "LeftForeArm", "LeftHand", "LeftFingerBase", "LeftHandFinger1")
_TRUNK = ("Hips", "LowerBack", "Spine", "Spine1", "Neck", "Neck1", "Head")


def _pass_on(shares: Floats, chain: list[int], total: Floats, steps: list[Floats]) -> None:
    """Split a total over a chain of bones: each step is the share that passes on to the next bone."""
    for bone, step in zip(chain, [*steps, np.zeros(len(total))], strict=True):
        shares[:, bone] += total * (1 - step)
        total = total * step


def _arm_frame(figure: Figure, points: Floats) -> tuple[Floats, Floats, Floats]:
    along, dorsal, thumbward = ((points - figure.shoulder) @ ARM_AXES.T).T
    return along, dorsal, thumbward


def _arm_share(figure: Figure, points: Floats) -> Floats:
    along, dorsal, _ = _arm_frame(figure, points)
    unit = figure.arm_lengths[0] / MAN.arm_lengths[0]
    # beyond the joint, excluding the side of the chest, which is far off the arm's axis toward the palm
    is_beyond = smooth_step(along - 0.25 * dorsal, -0.045 * unit, 0.075 * unit)
    return np.asarray(is_beyond * smooth_step(dorsal, -0.120 * unit, -0.045 * unit) * (points[:, 0] > 0))


def _arm_steps(figure: Figure, points: Floats) -> list[Floats]:
    along, _, _ = _arm_frame(figure, points)
    upper, fore, hand = figure.arm_lengths
    wrist = upper + fore
    return [
        smooth_step(along, upper - 0.16 * upper, upper + 0.16 * upper),
        smooth_step(along, wrist - 0.11 * fore, wrist + 0.09 * fore),
        smooth_step(along, wrist + 0.25 * hand, wrist + 0.40 * hand),
        smooth_step(along, wrist + 0.48 * hand, wrist + 0.60 * hand),
    ]


def _thumb_share(figure: Figure, points: Floats) -> Floats:
    along, _, thumbward = _arm_frame(figure, points)
    upper, fore, hand = figure.arm_lengths
    half = figure.hand_breadth / 2
    along = along - upper - fore
    # off the palm's edge, which runs from the root of the thumb to the knuckle of the index finger
    off_palm = smooth_step(thumbward, 0.85 * half, 1.15 * half)
    return off_palm * smooth_step(along, 0.14 * hand, 0.3 * hand)


def _collar_share(figure: Figure, points: Floats) -> Floats:
    unit, chest = figure.top / MAN.top, figure.shoulder[1]
    return 0.85 * (
        smooth_step(points[:, 0], 0.03 * unit, 0.75 * figure.shoulder[0])
        * smooth_step(points[:, 1], chest - 0.13 * unit, chest + 0.01 * unit)
        * (1 - smooth_step(points[:, 1], figure.neck, figure.chin))
    )


def _leg_share(figure: Figure, points: Floats) -> Floats:
    """Return 0 above and 1 below the hip crease, which rises outward and forward."""
    unit = figure.top / MAN.top
    below = (points - figure.hip) @ (0.55, -0.8, 0.22)
    return smooth_step(below, -0.045 * unit, 0.100 * unit) * (points[:, 1] < figure.hip[1] + 0.08 * unit)


def _leg_steps(figure: Figure, points: Floats, bones: Floats) -> list[Floats]:
    along = (points - figure.hip) @ LEG_AXES[0]
    knee, ankle, toes = bones[BONE["LeftLeg"]], bones[BONE["LeftFoot"]], bones[BONE["LeftToeBase"]]
    thigh, shin = np.linalg.norm(knee - figure.hip), np.linalg.norm(ankle - knee)
    unit = figure.top / MAN.top
    return [
        smooth_step(along, float(0.85 * thigh), float(1.15 * thigh)),
        smooth_step(along, float(thigh + 0.90 * shin), float(thigh + 1.04 * shin)),
        smooth_step(points[:, 2], toes[2] - 0.025 * unit, toes[2] + 0.025 * unit) * (points[:, 1] < ankle[1]),
    ]


def _trunk_steps(figure: Figure, points: Floats, bones: Floats) -> list[Floats]:
    """Return how much of a trunk vertex lies above each joint; at the neck the borders slope down to the front."""
    unit = figure.top / MAN.top
    steps = []
    for name, half_band, slope in (
        ("LowerBack", 0.06, 0.0),
        ("Spine", 0.07, 0.0),
        ("Spine1", 0.07, 0.0),
        ("Neck", 0.035, 0.5),
        ("Neck1", 0.035, 0.5),
        ("Head", 0.035, 0.6),
    ):
        joint = bones[BONE[name]]
        height = points[:, 1] - joint[1] + slope * (points[:, 2] - joint[2])
        if name == "Head":  # the whole jaw belongs to the head: its border lies below the joint
            height = height + 0.3 * (joint[1] - bones[BONE["Neck"], 1])
        steps.append(smooth_step(height, -half_band * unit, half_band * unit))
    return steps


def _smoothed(shares: Floats, faces: Longs) -> Floats:
    edges = unique_edges(faces)
    a, b = np.concatenate((edges, edges[:, ::-1])).T
    count = np.bincount(a, minlength=len(shares))
    smooth = shares.copy()
    for bone in range(shares.shape[1]):
        values = shares[:, bone]
        if not values.any():
            continue
        for _ in range(SMOOTHING_ROUNDS):
            values = 0.4 * values + 0.6 * np.bincount(a, values[b], minlength=len(values)) / count
        smooth[:, bone] = values
    return smooth


def _strongest(
    shares: Floats, on_plane: npt.NDArray[np.bool_], source: Longs, n_half: int
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.float32]]:
    """Keep the four strongest bones of every vertex; the right half mirrors the left exactly."""
    shares = shares.copy()
    # the midline belongs to no side: equal shares of both and no collar bones, so that the cut to four never keeps half
    # a pair
    shares[on_plane] = 0.5 * (shares[on_plane] + shares[on_plane][:, BONE_MIRROR])
    for collar in (BONE["LeftShoulder"], BONE["RightShoulder"]):
        shares[on_plane, collar] = 0.0
    shares[shares < 0.004] = 0.0
    bones = np.argsort(-shares, axis=1, kind="stable")[:, :WEIGHTS_PER_VERTEX]
    weights = np.take_along_axis(shares, bones, axis=1)
    weights /= weights.sum(axis=1, keepdims=True)
    bones = bones[source]
    bones[n_half:] = BONE_MIRROR[bones[n_half:]]
    return bones.astype(np.uint8), weights[source].astype(np.float32)
