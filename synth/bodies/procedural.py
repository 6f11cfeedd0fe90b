"""The built-in body: a template of a man, woman or child, stretched to measurements. Needs no downloads.

`templates` meshes three figures once per process. This module deforms them to what `anthropometry` draws: heights and
bone lengths along the body, breadths and girths across it. Trunk and head are scaled level by level, limbs along and
across their own axes, and the two blend at shoulders and hips.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cache

import cv2
import numpy as np
import numpy.typing as npt

from depthforest.base import Floats, Longs, UsageError
from synth.bodies.anthropometry import CHILD_AGES, SEXES, Measures, child_measures, sample_measures
from synth.bodies.body import Body
from synth.bodies.figures import ARM_AXES, LEG_AXES, LEG_SLOPE
from synth.bodies.implicit import smooth_curve, unique_edges
from synth.bodies.labels import joint_anchors
from synth.bodies.skeleton import BONE, BONE_MIRROR
from synth.bodies.templates import Template, smooth_step, template

CHILD_SHARE = 0.15
"""Share of children among sampled bodies."""

YOUNGEST = 4.0
"""Years of the youngest sampled child: younger ones seldom stand still in front of a camera."""

CHILD_TEMPLATE_AGE = 13.0
"""Years from which a body uses an adult template; younger ones use the child's."""

GIRTH_SPREAD = 1.4
"""Spread of sampled girths relative to ANSUR II's soldiers: civilians vary more in weight."""

UPPER_ARM_SHARE = 0.84
FOREARM_SHARE = 0.97
SHOULDER_SHARE = 0.43
"""Distances between joints as shares of the measured lengths: the upper arm is measured from the acromion, above its
joint; the forearm from the radiale; the shoulders between both acromia. Together they give ANSUR II's arm span."""

ANKLE_SHARE = 0.29
"""Height of the ankle joint in foot lengths: 2 cm above the tip of the outer ankle bone."""

FRONT_BLEND = 0.05
"""Meters around z = 0 over which the scale of the front blends into that of the back."""

SLOPE_MARGIN = 0.1
"""Meters beyond a limb's ends over which its scale continues."""


def sample_person(
    rng: np.random.Generator, *, child_share: float = CHILD_SHARE, girth_spread: float = GIRTH_SPREAD
) -> Measures:
    """Draw a person's measurements: as many men as women, a share of children of 4 to 17 years, thin to heavy.

    Parameters
    ----------
    rng : Generator
        Source of the draws.
    child_share : float
        0 to 1.
    girth_spread : float
        As in `anthropometry.sample_measures`.
    """
    if not 0 <= child_share <= 1:
        raise UsageError(f"child_share must be from 0 to 1, got {child_share}")
    sex = "male" if rng.random() < 0.5 else "female"
    if rng.random() < child_share:
        age = float(rng.uniform(YOUNGEST, CHILD_AGES[1]))
        return child_measures(rng, age, sex, girth_spread=girth_spread)
    return sample_measures(rng, sex, age_years=float(rng.uniform(18.0, 75.0)), girth_spread=girth_spread)


def sample_body(
    rng: np.random.Generator,
    measures: Measures | None = None,
    *,
    child_share: float = CHILD_SHARE,
    girth_spread: float = GIRTH_SPREAD,
) -> Body:
    """Make the body of the person with these measurements, or of one that `sample_person` draws."""
    return make_body(measures or sample_person(rng, child_share=child_share, girth_spread=girth_spread))


def make_body(measures: Measures) -> Body:
    """Return the body with these measurements, in the rest pose of `figures`; about 10 ms once its template is made."""
    numbers = {key: float(value) for key, value in asdict(measures).items() if key != "sex"}
    if measures.sex not in SEXES or not all(np.isfinite(value) and value > 0 for value in numbers.values()):
        raise UsageError(f"a body needs a sex of {' or '.join(SEXES)} and measures above 0, got {measures}")
    is_child = measures.age_years < CHILD_TEMPLATE_AGE
    name = "child" if is_child else {"male": "man", "female": "woman"}[measures.sex]
    form, landmarks = template(name), _landmarks(name)
    fit = _Fit(form, landmarks, measures)
    half, heads = fit.moved()
    both = half[form.source]
    both[len(half) :, 0] *= -1
    vertices, bones = both.astype(np.float32), heads.astype(np.float32)
    joint_bones, joint_positions = joint_anchors(vertices, bones)
    return Body(
        vertices=vertices,
        faces=form.faces,
        face_parts=form.face_parts,
        bone_heads=bones,
        weight_bones=form.weight_bones,
        weights=form.weights,
        joint_bones=joint_bones,
        joint_positions=joint_positions,
        measures={**numbers, "is_female": float(measures.sex == "female")},
    )


def section(vertices: Floats, edges: Longs, origin: npt.ArrayLike, normal: npt.ArrayLike) -> Floats:
    """Return the points (k, 3) at which the edges of a mesh cross a plane."""
    height = (vertices - np.asarray(origin)) @ np.asarray(normal)
    a, b = edges[(height[edges[:, 0]] > 0) != (height[edges[:, 1]] > 0)].T
    share = (height[a] / (height[a] - height[b]))[:, None]
    return np.asarray(vertices[a] + share * (vertices[b] - vertices[a]))


def girth(points: Floats) -> float:
    """Return the length of a tape around points (k, 2): the perimeter of their convex hull."""
    hull = cv2.convexHull(points.astype(np.float32))
    return float(cv2.arcLength(hull, closed=True))


@dataclass(frozen=True, eq=False)
class _Landmarks:
    """The places where a template is measured, and its measurements there; meters."""

    crotch: float
    hips: float
    chest: float
    neck: float
    trunk_sections: dict[str, Floats]  # (x, z) at hips, waist, chest, neck
    hip_breadth: float
    head_breadth: float
    head_length: float
    thigh_at: float  # along the leg
    thigh_girth: float
    foot_length: float
    fingertip: float  # along the arm
    arm_part: Floats  # (n,): how much each vertex moves with the arm, with the leg, and with the foot
    leg_part: Floats
    foot_part: Floats


@cache
def _landmarks(name: str) -> _Landmarks:
    form = template(name)
    figure, vertices = form.figure, form.vertices
    n_half = len(vertices)
    edges = unique_edges(form.faces[(form.faces < n_half).all(axis=1)].astype(np.int64))
    on_plane = vertices[:, 0] == 0
    crotch = float(vertices[on_plane, 1].min())
    hips, chest = crotch + 0.5 * (figure.hip[1] - crotch), figure.shoulder[1] - 0.082 * figure.top
    face = figure.top - figure.chin
    neck = figure.chin - 0.03 * face
    sections = {}
    trunk_edges = edges[(form.arm[edges] < 0.5).all(axis=1)]
    for place, height in (("hips", hips), ("waist", figure.waist), ("chest", chest), ("neck", neck)):
        cut = section(vertices, trunk_edges, (0, height, 0), (0, 1, 0))[:, [0, 2]]
        sections[place] = np.concatenate((cut, cut * (-1, 1)))
    thigh_at = float((figure.hip[1] - crotch + 0.035 * figure.top / 1.756) / np.cos(LEG_SLOPE))
    is_leg = (form.arm < 0.1) & (vertices[:, 1] < figure.hip[1])
    cut = section(
        vertices, edges[is_leg[edges].all(axis=1)], np.asarray(figure.hip) + thigh_at * LEG_AXES[0], LEG_AXES[0]
    )
    skull = vertices[vertices[:, 1] > figure.chin + 0.62 * face]
    foot = vertices[(vertices[:, 1] < figure.ankle[1]) & (form.arm < 0.1)]
    drop = figure.hip[1] - vertices[:, 1]
    # the midline of the pelvis belongs to neither leg; from 3 cm below the crotch the legs are separate
    off_middle = np.maximum(
        smooth_step(vertices[:, 0], 0.0, 0.03), smooth_step(drop, figure.hip[1] - crotch, figure.hip[1] - crotch + 0.03)
    )
    leg_part = (
        (1 - form.arm) * off_middle * smooth_step(drop, -0.04 * figure.top / 1.756, figure.hip[1] - crotch + 0.005)
    )
    return _Landmarks(
        crotch=crotch,
        hips=hips,
        chest=chest,
        neck=neck,
        trunk_sections=sections,
        hip_breadth=float(np.ptp(sections["hips"][:, 0])),
        head_breadth=float(2 * skull[:, 0].max()),
        head_length=float(np.ptp(skull[:, 2])),
        thigh_at=thigh_at,
        thigh_girth=girth((cut - figure.hip) @ LEG_AXES[1:].T),
        foot_length=float(np.ptp(foot[:, 2])),
        fingertip=float(((vertices[form.arm > 0.9] - figure.shoulder) @ ARM_AXES[0]).max()),
        arm_part=smooth_step(form.arm, 0.1, 0.9),  # vertices that hardly move with the arm scale with the chest
        leg_part=leg_part,
        foot_part=leg_part * smooth_step(-vertices[:, 1], -1.5 * figure.ankle[1], -0.7 * figure.ankle[1]),
    )


class _Fit:
    """The deformation of one template to one person."""

    def __init__(self, form: Template, landmarks: _Landmarks, measures: Measures) -> None:
        self.form, self.at, self.measures = form, landmarks, measures
        figure = form.figure
        self.size = measures.stature / figure.top
        self.head_scale = np.array(
            [measures.head_breadth / landmarks.head_breadth, 0, measures.head_length / landmarks.head_length]
        )
        self.head_scale[1] = 0.5 * (self.head_scale[0] + self.head_scale[2])
        self._set_heights()
        self._set_trunk_scales()
        self._set_limbs()

    def _set_heights(self) -> None:
        """Choose the new heights of the landmarks of trunk and head."""
        figure, at, measures = self.form.figure, self.at, self.measures
        head = self.head_scale[1] * (figure.top - figure.chin)
        rest = (measures.stature - head - measures.crotch_height) / (figure.chin - at.crotch)
        chin = measures.stature - head
        self.hip_height = measures.trochanter_height
        knots = [0.0, at.crotch, figure.hip[1], figure.shoulder[1], figure.neck, figure.chin, figure.top]
        shoulder, neck = chin - rest * (figure.chin - figure.shoulder[1]), chin - rest * (figure.chin - figure.neck)
        heights = [0.0, measures.crotch_height, self.hip_height, shoulder, neck, chin, measures.stature]
        self.height_knots, self.heights = knots, np.maximum.accumulate(heights)

    def _set_trunk_scales(self) -> None:
        """Choose the scales across the trunk at its landmarks, so that girths and breadths match the measurements."""
        figure, at, measures = self.form.figure, self.at, self.measures
        hip_x = measures.hip_breadth / at.hip_breadth
        shoulder_x = SHOULDER_SHARE * measures.shoulder_breadth / figure.shoulder[0]
        hips, waist = at.trunk_sections["hips"], at.trunk_sections["waist"]
        chest, neck = at.trunk_sections["chest"], at.trunk_sections["neck"]
        # where only the girth is known, a body grows more in depth than in breadth, and at the waist more at the front
        scales = {
            "hips": _scales(hips, measures.hip_girth, hip_x, None, 0.5),
            "waist": _scales(waist, measures.waist_girth, None, 0.8, 0.7),
            "chest": _scales(chest, measures.chest_girth, None, 0.9, 0.55),
            "neck": _scales(neck, measures.neck_girth, None, 1.0, 0.5),
        }
        upper = np.array([shoulder_x, *(0.6 * scales["chest"][1:] + 0.4 * self.size)])
        skull = np.array([self.head_scale[0], self.head_scale[2], self.head_scale[2]])
        self.scale_knots = [
            at.crotch,
            at.hips,
            figure.waist,
            at.chest,
            figure.shoulder[1],
            at.neck,
            figure.chin + 0.02,
            figure.top,
        ]
        self.trunk_scales = np.array(
            [scales["hips"], scales["hips"], scales["waist"], scales["chest"], upper, scales["neck"], skull, skull]
        )

    def _set_limbs(self) -> None:
        """Choose joints and scales of arm and leg."""
        figure, at, measures = self.form.figure, self.at, self.measures
        self.shoulder = self.trunk(np.array([figure.shoulder]))[0]
        hip = self.trunk(np.array([figure.hip]))[0]
        # fat broadens the hips more than it separates the joints
        hip[0] = figure.hip[0] * np.sqrt(self.size * measures.hip_breadth / at.hip_breadth)
        self.hip = hip
        upper, fore, hand = figure.arm_lengths
        wrist = UPPER_ARM_SHARE * measures.upper_arm_length + FOREARM_SHARE * measures.forearm_length
        self.arm_knots = [0.0, upper, upper + fore, at.fingertip]
        self.arm_places = [0.0, UPPER_ARM_SHARE * measures.upper_arm_length, wrist, wrist + measures.hand_length]
        thigh = float(np.linalg.norm(figure.knee - figure.hip))
        shin = float(np.linalg.norm(figure.knee - figure.ankle))
        ankle_height, slope = ANKLE_SHARE * measures.foot_length, np.cos(LEG_SLOPE)
        new_thigh = (self.hip_height - measures.knee_height) / slope
        new_shin = (measures.knee_height - ankle_height) / slope
        self.leg_knots, self.leg_places = [0.0, thigh, thigh + shin], [0.0, new_thigh, new_thigh + new_shin]
        self.ankle = hip + (new_thigh + new_shin) * LEG_AXES[0]
        foot = measures.foot_length / at.foot_length
        self.foot_scale = np.array([foot, ankle_height / figure.ankle[1], foot])
        self.hand_scale = measures.hand_length / (at.fingertip - upper - fore)

        fat = measures.thigh_girth / at.thigh_girth
        chest = float(np.sqrt(self.trunk_scales[3, 0] * self.trunk_scales[3, 1:].mean()))
        muscle = np.sqrt(fat * chest)
        bone = (self.size * self.hand_scale) ** 0.5
        # rows: position; scales of the two directions across
        self.arm_scales = np.array(
            [
                (0.0, *(0.5 * (muscle + self.trunk_scales[4, :2]))),
                (0.45 * upper, muscle, muscle),
                (upper, *[muscle**0.5 * bone**0.5] * 2),
                (upper + 0.25 * fore, *[muscle**0.7 * bone**0.3] * 2),
                (upper + fore, *[muscle**0.2 * bone**0.8] * 2),
                (upper + fore + 0.3 * hand, self.hand_scale**0.8 * muscle**0.2, self.hand_scale),
            ]
        )
        # at the hip joint the skin must match the hip breadth, although the joint itself moved less
        side = (measures.hip_breadth / 2 - hip[0]) / (at.hip_breadth / 2 - figure.hip[0])
        self.leg_scales = np.array(
            [
                (figure.hip[1] - at.hips, side, float(self.trunk_scales[1, 1:].mean())),
                (at.thigh_at, fat, fat),
                (0.75 * thigh, *[fat**0.75 * bone**0.25] * 2),
                (thigh, *[fat**0.5 * bone**0.5] * 2),
                (thigh + 0.35 * shin, *[fat**0.65 * bone**0.35] * 2),
                (thigh + 0.85 * shin, *[fat**0.3 * bone**0.7] * 2),
                (thigh + shin, *[fat**0.1 * foot**0.9] * 2),
            ]
        )

    def trunk(self, points: Floats) -> Floats:
        """Map points (n, 3) as part of trunk or head."""
        height = points[:, 1]
        x, front, back = (smooth_curve(self.scale_knots, column, height) for column in self.trunk_scales.T)
        forward = smooth_step(points[:, 2], -FRONT_BLEND, FRONT_BLEND)
        return np.stack(
            (
                x * points[:, 0],
                smooth_curve(self.height_knots, self.heights, height),
                (forward * front + (1 - forward) * back) * points[:, 2],
            ),
            axis=-1,
        )

    def arm(self, points: Floats) -> Floats:
        """Map points (n, 3) as part of the left arm."""
        local = _along_limb(
            (points - self.form.figure.shoulder) @ ARM_AXES.T, self.arm_knots, self.arm_places, self.arm_scales
        )
        return np.asarray(self.shoulder + local @ ARM_AXES)

    def leg(self, points: Floats) -> Floats:
        """Map points (n, 3) as part of the left leg above the foot."""
        local = _along_limb(
            (points - self.form.figure.hip) @ LEG_AXES.T, self.leg_knots, self.leg_places, self.leg_scales
        )
        return np.asarray(self.hip + local @ LEG_AXES)

    def foot(self, points: Floats) -> Floats:
        """Map points (n, 3) as part of the left foot."""
        return np.asarray(self.ankle + self.foot_scale * (points - self.form.figure.ankle))

    def moved(self) -> tuple[Floats, Floats]:
        """Return the vertices of the left half and the bones of both sides."""
        form, at = self.form, self.at
        points = form.vertices
        arm, foot = at.arm_part[:, None], at.foot_part[:, None]
        leg = at.leg_part[:, None] - foot
        half = (1 - arm - leg - foot) * self.trunk(points)
        for part, move in ((arm, self.arm), (leg, self.leg), (foot, self.foot)):
            rows = np.flatnonzero(part[:, 0] > 0)
            half[rows] += part[rows] * move(points[rows])
        half[points[:, 0] == 0, 0] = 0.0
        bones = self.trunk(form.bones)
        for names, move in (
            (("Arm", "ForeArm", "Hand", "FingerBase", "HandFinger1"), self.arm),
            (("UpLeg", "Leg"), self.leg),
            (("Foot", "ToeBase"), self.foot),
        ):
            rows = np.array([BONE[f"Left{name}"] for name in names])
            bones[rows] = move(form.bones[rows])
        bones[BONE["LThumb"]] = self.arm(form.bones[[BONE["LThumb"]]])[0]
        bones[BONE["LHipJoint"]] = 0.5 * (bones[BONE["Hips"]] + bones[BONE["LeftUpLeg"]])
        is_left = form.bones[:, 0] > 0
        bones[BONE_MIRROR[is_left]] = bones[is_left] * (-1, 1, 1)
        floor = float(half[:, 1].min())
        half[:, 1] -= floor
        bones[:, 1] -= floor
        return half, bones


def _scales(
    cut: Floats, target: float, breadth: float | None, breadth_power: float | None, front_share: float
) -> Floats:
    """Return the scales (breadth, front, back) that bring a level section (k, 2) of x and z to a girth.

    The scale of the breadth is given, or it is a power of that of the depth. `front_share` is the share of the gained
    or lost depth that goes to the front.
    """
    depth = target / girth(cut)
    for _ in range(30):
        x = breadth if breadth is not None else depth ** float(breadth_power or 1.0)
        front, back = 1 + 2 * front_share * (depth - 1), 1 + 2 * (1 - front_share) * (depth - 1)
        forward = smooth_step(cut[:, 1], -FRONT_BLEND, FRONT_BLEND)
        scaled = np.stack((x * cut[:, 0], (forward * front + (1 - forward) * back) * cut[:, 1]), axis=-1)
        error = target / girth(scaled)
        if abs(error - 1) < 1e-4:
            break
        # breadth makes up most of a girth, so a change in depth has less than proportional effect
        depth = float(np.clip(depth * error ** (1.6 if breadth is not None else 1.0), 0.55, 2.2))
    return np.array([x, front, back])


def _along_limb(local: Floats, knots: list[float], places: list[float], scales: Floats) -> Floats:
    """Return a limb's own coordinates (n, 3) after stretching it along and scaling it across."""
    along = local[:, 0]
    first, last = scales[0, 1:].mean(), scales[-1, 1:].mean()
    # beyond its ends a limb continues at the scale across, so that shoulders and wrists keep their shape
    stretched = np.interp(
        along,
        [knots[0] - SLOPE_MARGIN, *knots, knots[-1] + SLOPE_MARGIN],
        [places[0] - first * SLOPE_MARGIN, *places, places[-1] + last * SLOPE_MARGIN],
    )
    across = [smooth_curve(scales[:, 0], scales[:, i], along) for i in (1, 2)]
    return np.stack((stretched, across[0] * local[:, 1], across[1] * local[:, 2]), axis=-1)
