"""Clothes, hair and shoes: a body's surface moved outward; its faces and their labels do not change.

This works on any `Body`, using only its bones and skin weights. Every garment is a smooth field of offsets along the
vertex normals. Folds are sums of sines in the rest pose. A skirt replaces the legs with one tube whose skin weights are
shared by both legs, so that it bridges them in any pose.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from depthforest.base import Floats, kernel
from synth.bodies.body import WEIGHTS_PER_VERTEX, Body
from synth.bodies.outfits import Outfit as Outfit
from synth.bodies.outfits import OutfitError as OutfitError
from synth.bodies.outfits import sample_outfit as sample_outfit
from synth.bodies.skeleton import BONE, BONE_MIRROR, N_BONES

SMOOTHING_ROUNDS = 3
"""Smoothing passes over the offsets, so that garments end without steps."""

MIDLINE_GAP = 0.003
"""Meters from the midline at which the cloth of one side stops."""

SPAN_CELL = 0.016
"""Meters, on an adult: grid resolution of the search for hollows that cloth spans."""

DRAPE = 0.6
"""How far cloth may recede, in meters per meter below chest, belly or seat."""

FULLY_SPANNING = 0.012
"""Meters: cloth of this thickness spans hollows; thinner cloth follows the skin in part."""

MAX_SPAN = 0.04
"""Meters: how far cloth may hang off a hollow."""

FOLD_WAVES = 7
FOLD_LENGTHS = (0.06, 0.25)
"""Shortest and longest wave of the folds, meters: what cloth shows at sensor resolution."""

COAT_LENGTH = 0.15
"""Tops that cover more of the legs than this hang around both legs, like a skirt."""

SKIRT_OVERLAP = 0.022
"""Meters by which the two halves of a skirt overlap."""

REFERENCE_LEG = 0.825
"""Meters, thigh plus shin of ANSUR II's mean man: clothes of other bodies are scaled by their leg length."""

_UP_LEG, _LEG, _FOOT, _TOES = "UpLeg", "Leg", "Foot", "ToeBase"


def dress(body: Body, outfit: Outfit) -> Body:
    """Return a body in an outfit.

    Faces, parts and measurements stay as they are. Hands and face stay bare: their vertices do not move, except for
    the lift that shoes give to the whole body. A skirt also changes the skin weights of the legs.

    Parameters
    ----------
    body : Body
    outfit : Outfit

    Returns
    -------
    Body
        The same object if the outfit is bare.
    """
    if outfit.is_bare:
        return body
    wearer = _Wearer(body)
    offset = _cloth(wearer, outfit)
    if outfit.folds:
        offset *= 1 + outfit.folds * _folds(wearer.points, outfit.seed)
    may_be_covered = wearer.may_be_covered()
    cloth = offset * may_be_covered
    offset = wearer.smoothed(np.maximum(offset, _hair(wearer, outfit)), SMOOTHING_ROUNDS) * may_be_covered
    points = wearer.points + offset[:, None] * wearer.normals
    # cloth meets that of the other leg, breast or buttock at the midline instead of penetrating it
    side, apart = np.sign(wearer.points[:, 0]), np.abs(wearer.points[:, 0])
    points[:, 0] = side * np.maximum(side * points[:, 0], np.minimum(apart, MIDLINE_GAP))
    points[:, 2] += _spanned(wearer, points, cloth) * may_be_covered
    weight_bones, weights = body.weight_bones, body.weights
    length = max(outfit.skirt, outfit.top_length if outfit.top and outfit.top_length > COAT_LENGTH else 0.0)
    if length:
        flare = outfit.flare if outfit.skirt else 0.0
        points, weight_bones, weights = _in_skirt(wearer, length, flare, points)
    lift = np.array([0.0, max(0.0, -float(points[:, 1].min())) if outfit.shoes else 0.0, 0.0])
    return replace(
        body,
        vertices=(points + lift).astype(np.float32),
        bone_heads=(body.bone_heads + lift).astype(np.float32),
        joint_positions=(body.joint_positions + lift).astype(np.float32),
        weight_bones=weight_bones,
        weights=weights,
    )


def smooth_step(values: Floats, start: float, end: float) -> Floats:
    """Return a smooth step: 0 up to `start`, 1 from `end` on; `start` may be above `end`."""
    share = np.clip((values - start) / (end - start), 0, 1)
    return np.asarray(share * share * (3 - 2 * share))


@kernel
def _smooth(
    faces: npt.NDArray[np.int32], values: Floats, rounds: int, total: Floats, count: Floats, smooth: Floats
) -> None:
    """Move values (n, k) `rounds` times halfway to their neighbors' mean; a neighbor counts once per shared face."""
    n_columns = values.shape[1]
    smooth[:] = values
    count[:] = 0
    for face in range(len(faces)):
        for corner in range(3):
            count[faces[face, corner]] += 2
    for _ in range(rounds):
        total[:] = 0
        for face in range(len(faces)):
            a, b, c = faces[face, 0], faces[face, 1], faces[face, 2]
            for i in range(n_columns):
                around = smooth[a, i] + smooth[b, i] + smooth[c, i]
                total[a, i] += around - smooth[a, i]
                total[b, i] += around - smooth[b, i]
                total[c, i] += around - smooth[c, i]
        for vertex in range(len(values)):
            if count[vertex] > 0:
                for i in range(n_columns):
                    smooth[vertex, i] = 0.5 * (smooth[vertex, i] + total[vertex, i] / count[vertex])


class _Wearer:
    """The geometry of a body that garments need: normals, limbs, and each vertex's position along its limb."""

    def __init__(self, body: Body) -> None:
        self.body = body
        self.points = body.vertices.astype(np.float64)
        self.heads = body.bone_heads.astype(np.float64)
        self.scale = body.leg_length / REFERENCE_LEG
        self.corners = body.faces.astype(np.int64)
        self.normals = self._normals()
        self.arms = self.share("Arm", "ForeArm", "Hand", "FingerBase", "HandFinger1", "Thumb")
        self.legs = self.share(_UP_LEG, _LEG, _FOOT, _TOES)
        self.skull = self.share("Head")
        self.along_arm = self._along("Arm", "ForeArm", "Hand")
        self.along_leg = self._along(_UP_LEG, _LEG, _FOOT)

    def head(self, name: str) -> Floats:
        """Return the rest position of a bone."""
        return np.asarray(self.heads[BONE[name]])

    def share(self, *names: str) -> Floats:
        """Return the skin weight of each vertex on the bones of these names, both sides summed."""
        sides = ("", "Left", "Right", "L", "R")
        chosen = np.zeros(N_BONES)
        chosen[[BONE[s + n] for s in sides for n in names if s + n in BONE]] = 1.0
        return np.asarray((chosen[self.body.weight_bones] * self.body.weights).sum(axis=1))

    def left_leg(self) -> Floats:
        """Return the skin weight of each vertex on the left leg."""
        chosen = np.zeros(N_BONES)
        chosen[[BONE[f"Left{name}"] for name in (_UP_LEG, _LEG, _FOOT, _TOES)]] = 1.0
        return np.asarray((chosen[self.body.weight_bones] * self.body.weights).sum(axis=1))

    def smoothed(self, values: Floats, rounds: int) -> Floats:
        """Return values (n,) or (n, k) smoothed over the mesh."""
        columns = np.ascontiguousarray(values.reshape(len(values), -1), dtype=np.float64)
        smooth = np.empty_like(columns)
        _smooth(self.body.faces, columns, rounds, np.empty_like(columns), np.empty(len(columns)), smooth)
        return smooth.reshape(values.shape)

    def may_be_covered(self) -> Floats:
        """Return 0 on hands and face, 1 elsewhere, with a short fade."""
        wrist = 1 - self.arms * smooth_step(self.along_arm, 1.78, 1.97)
        return wrist * (1 - self.face())

    def face(self) -> Floats:
        """Return 1 on the face and the upper edge of the throat, 0 elsewhere."""
        center, size = self.head_center
        direction = (self.points - center) / size
        forward = direction @ np.array([0.0, -0.45, 0.9])
        return smooth_step(forward, 0.25, 0.45) * smooth_step(self.skull, 0.3, 0.6)

    @cached_property
    def head_center(self) -> tuple[Floats, Floats]:
        """Return the middle of the skull, and the distance (n, 1) of each vertex from it."""
        base = self.head("Head")
        top = float(self.points[:, 1].max())
        skull = self.points[self.points[:, 1] > base[1]]
        middle = 0.5 * float(skull[:, 2].min() + skull[:, 2].max())
        center = np.array([0.0, base[1] + 0.35 * (top - base[1]), middle])
        return center, np.linalg.norm(self.points - center, axis=1, keepdims=True) + 1e-6

    def _normals(self) -> Floats:
        a, b, c = (self.points[self.corners[:, i]] for i in range(3))
        across = np.cross(b - a, c - a)
        flat = self.corners.ravel()
        total = np.stack(
            [np.bincount(flat, np.repeat(across[:, i], 3), minlength=len(self.points)) for i in range(3)], axis=-1
        )
        return np.asarray(total / np.maximum(np.linalg.norm(total, axis=1, keepdims=True), 1e-12))

    def _along(self, start: str, middle: str, end: str) -> Floats:
        """Return each vertex's position along its side's limb: 0 at the root, 1 at the middle joint, 2 at the end."""
        places = np.empty(len(self.points))
        is_left = self.points[:, 0] >= 0
        for side, mask in (("Left", is_left), ("Right", ~is_left)):
            a, b, c = (self.head(side + name) for name in (start, middle, end))
            first = (self.points[mask] - a) @ (b - a) / ((b - a) @ (b - a))
            second = (self.points[mask] - b) @ (c - b) / ((c - b) @ (c - b))
            places[mask] = np.minimum(first, 1) + np.maximum(second, 0)
        return places


def _cloth(wearer: _Wearer, outfit: Outfit) -> Floats:
    """Return the thickness of clothes on every vertex, meters: the largest of top, trousers and shoes."""
    hips, neck = wearer.head("LeftUpLeg")[1], wearer.head("Neck")
    height = wearer.points[:, 1]
    rise = neck[1] - hips
    trunk = 1 - wearer.arms - wearer.legs
    collar = height - neck[1] + 0.5 * (wearer.points[:, 2] - neck[2])
    below_collar = smooth_step(collar, 0.05 * rise, -0.02 * rise)
    # a full sleeve ends where the bare hands begin; a shorter one has its own hem
    cuff = 2.2 * outfit.sleeves
    sleeve = smooth_step(wearer.along_arm, cuff, cuff - 0.18) * (outfit.sleeves > 0)
    tail = smooth_step(wearer.along_leg, 2 * outfit.top_length + 0.06, 2 * outfit.top_length - 0.04)
    over_hips = np.maximum(smooth_step(height, hips - 0.12 * rise, hips + 0.02 * rise), tail)
    # a top has its full thickness only where it hangs; it lies closer on shoulders and forearms
    loose = 1 - 0.35 * smooth_step(height, neck[1] - 0.25 * rise, neck[1]) * trunk
    top = outfit.top * (trunk * below_collar * over_hips * loose + wearer.arms * sleeve * 0.85 + wearer.legs * tail)
    hem = smooth_step(wearer.along_leg, 2 * outfit.trouser_length + 0.03, 2 * outfit.trouser_length - 0.06)
    below_waist = smooth_step(height, hips + 0.30 * rise, hips + 0.12 * rise)
    fall = 0.45 + 0.55 * smooth_step(wearer.along_leg, 0.1, 1.2)
    trousers = outfit.trousers * (wearer.legs * hem * fall + trunk * below_waist * 0.45)
    foot = wearer.legs * smooth_step(wearer.along_leg, 1.86, 1.95)
    return np.maximum(np.maximum(top, trousers), outfit.shoes * foot) * min(wearer.scale, 1.2)


def _spanned(wearer: _Wearer, points: Floats, cloth: Floats) -> Floats:
    """Return how far cloth (n,) hangs in front of (or behind) the trunk where it spans a hollow, along z, meters.

    At each height, cloth reaches at least as far forward as at any place farther from the midline; below chest, belly
    and seat it recedes no faster than `DRAPE`.
    """
    cell = SPAN_CELL * wearer.scale
    cover = np.minimum(cloth / FULLY_SPANNING, 1) * (wearer.legs < 0.7) * (wearer.along_arm < 0.3)
    hang = np.zeros(len(points))
    for side in (1.0, -1.0):
        rows = np.flatnonzero((cover > 0) & (side * wearer.normals[:, 2] > 0))
        if not len(rows):
            continue
        reach = side * points[rows, 2]
        up = ((points[rows, 1] - points[rows, 1].min()) / cell).astype(np.int64)
        out = (np.abs(points[rows, 0]) / cell).astype(np.int64)
        far = np.full((up.max() + 2, out.max() + 2), -1.0)
        np.maximum.at(far, (up, out), reach)
        far = np.maximum.accumulate(far[:, ::-1], axis=1)[:, ::-1]
        for level in range(len(far) - 2, -1, -1):
            far[level] = np.maximum(far[level], far[level + 1] - DRAPE * cell)
        # a vertex's own cell would lift it to the highest point of that cell, so read the cells farther out and above
        cloth_at = np.maximum(far[up, out + 1], far[up + 1, out] - DRAPE * cell)
        # flanks face neither front nor back
        facing = smooth_step(side * wearer.normals[rows, 2], 0.15, 0.6)
        hang[rows] = side * np.clip(cloth_at - reach, 0, MAX_SPAN) * cover[rows] * facing
    return wearer.smoothed(hang, SMOOTHING_ROUNDS)


def _hair(wearer: _Wearer, outfit: Outfit) -> Floats:
    """Return the thickness of hair, hat and hood on every vertex, meters."""
    center, distance = wearer.head_center
    direction = (wearer.points - center) / distance
    top = float(wearer.points[:, 1].max())
    size = top - wearer.head("Head")[1]
    height = (wearer.points[:, 1] - center[1]) / size
    behind = smooth_step(direction[:, 2], 0.15, -0.35)
    upper = wearer.share("Head", "Neck1", "Neck", "Spine1", "Shoulder")
    crown = wearer.skull * smooth_step(direction @ np.array([0.0, 0.5, -0.87]), -0.35, -0.05)
    crown = crown * smooth_step(height, -0.55, -0.25)
    hair = outfit.hair * crown * (0.75 + 0.25 * smooth_step(height, 0.0, 0.5))
    if outfit.hair_length:
        # hanging hair fills the hollow of the nape and ends on the back
        end = -0.6 - outfit.hair_length * wearer.scale / size
        nape = np.exp(-np.square((height + 0.75) / 0.35))
        hanging = upper * behind * smooth_step(height, end - 0.15, end + 0.1) * smooth_step(height, 0.3, -0.2)
        narrow = smooth_step(np.abs(wearer.points[:, 0]), 1.05 * size, 0.55 * size)
        hair = np.maximum(hair, hanging * narrow * (max(outfit.hair, 0.012) + 0.030 * nape))
    hat = outfit.hat * wearer.skull * smooth_step(direction[:, 1] - 0.25 * direction[:, 2], 0.0, 0.25)
    around = smooth_step(direction[:, 2] - 0.3 * direction[:, 1], 0.55, 0.25) * smooth_step(height, -1.15, -0.75)
    hood = outfit.hood * wearer.share("Head", "Neck1", "Neck") * around
    return np.maximum(np.maximum(hair, hat), hood) * min(max(wearer.scale, 0.8), 1.2)


def _folds(points: Floats, seed: int) -> Floats:
    """Return smooth waves (n,) between -1 and 1 over the rest pose; the same seed gives the same waves."""
    rng = np.random.default_rng(seed)
    directions = rng.normal(size=(FOLD_WAVES, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    lengths = np.exp(rng.uniform(np.log(FOLD_LENGTHS[0]), np.log(FOLD_LENGTHS[1]), size=FOLD_WAVES))
    phases = rng.uniform(0, 2 * np.pi, size=FOLD_WAVES)
    shares = lengths / lengths.sum()  # amplitude grows with wavelength
    return np.asarray(np.sin(points @ (2 * np.pi * directions / lengths[:, None]).T + phases) @ shares)


def _in_skirt(
    wearer: _Wearer, skirt: float, flare: float, points: Floats
) -> tuple[Floats, npt.NDArray[np.uint8], npt.NDArray[np.float32]]:
    """Return points, weight bones and weights of a body in a skirt.

    In horizontal section the skirt is an ellipse around both legs. Each leg's skin moves away from the leg's axis until
    it meets the ellipse or the plane between the legs; near that plane its skin weights are shared with the other leg.
    """
    body = wearer.body
    hip, knee, ankle = (wearer.head("Left" + name) for name in (_UP_LEG, _LEG, _FOOT))
    length = hip[1] - ankle[1]
    bottom = hip[1] - skirt * length
    is_side = np.abs(points[:, 1] - hip[1]) < 0.08 * length
    is_hip = is_side & (wearer.arms < 0.1)
    half_breadth = float(np.abs(points[is_hip, 0]).max())
    front, back = float(points[is_hip, 2].max()), float(points[is_hip, 2].min())
    below = np.maximum(hip[1] - points[:, 1], 0)
    # the ellipse widens toward the floor; it also encloses legs that stand apart
    axis_x = np.interp(points[:, 1], [ankle[1], knee[1], hip[1]], [ankle[0], knee[0], hip[0]])
    axis_z = np.interp(points[:, 1], [ankle[1], knee[1], hip[1]], [ankle[2], knee[2], hip[2]])
    a = np.maximum(half_breadth + flare * below, axis_x + 0.11 * length) + 0.005
    middle = 0.5 * (front + back)
    b = 0.5 * (front - back) + 0.7 * flare * below + 0.01
    # bones decide which leg a vertex belongs to, because heavy thighs cross the midline
    side = np.sign(wearer.left_leg() - 0.5 * wearer.legs)
    side = np.where(side == 0, np.where(points[:, 0] >= 0, 1.0, -1.0), side)
    out_x, out_z = side * points[:, 0] - axis_x, points[:, 2] - axis_z
    reach = np.hypot(out_x, out_z) + 1e-9
    dx, dz = out_x / reach, out_z / reach
    # the ray (axis_x + s dx, axis_z + s dz) on the ellipse: p s^2 + 2 q s + r = 0
    p = (dx / a) ** 2 + (dz / b) ** 2
    q = axis_x * dx / a**2 + (axis_z - middle) * dz / b**2
    r = (axis_x / a) ** 2 + ((axis_z - middle) / b) ** 2 - 1
    on_ellipse = (-q + np.sqrt(np.maximum(q * q - p * r, 0))) / p
    # a little beyond the middle, so that the round edges of both halves overlap instead of leaving a groove
    on_plane = np.where(dx < 0, (axis_x + SKIRT_OVERLAP * wearer.scale) / np.maximum(-dx, 1e-9), np.inf)
    s = np.maximum(np.minimum(on_ellipse, on_plane), 0)
    blown = np.stack((side * (axis_x + s * dx), points[:, 1], axis_z + s * dz), axis=-1)
    blown[wearer.points[:, 0] == 0, 0] = 0.0  # the midline stays
    worn = wearer.legs * smooth_step(points[:, 1], bottom - 0.02 * length, bottom + 0.01 * length)
    worn = worn * smooth_step(below, 0.0, 0.12 * length)
    move = wearer.smoothed(worn[:, None] * (blown - points), SMOOTHING_ROUNDS)
    weight_bones, weights = _shared_between_legs(body, worn, blown[:, 0] / a)
    return points + move, weight_bones, weights


def _shared_between_legs(
    body: Body, worn: Floats, sideways: Floats
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.float32]]:
    """Return skin weights by which the middle of a skirt follows both legs; `sideways` runs from -1 right to 1 left."""
    weight_bones, weights = body.weight_bones.copy(), body.weights.copy()
    rows = np.flatnonzero(worn > 0)
    other = worn[rows] * smooth_step(np.abs(sideways[rows]), 0.8, -0.8)
    dense = np.zeros((len(rows), N_BONES))
    at = np.arange(len(rows))
    for column in range(WEIGHTS_PER_VERTEX):
        bone, weight = body.weight_bones[rows, column], body.weights[rows, column].astype(np.float64)
        np.add.at(dense, (at, bone), (1 - other) * weight)
        np.add.at(dense, (at, BONE_MIRROR[bone]), other * weight)
    strongest = np.argsort(-dense, axis=1, kind="stable")[:, :WEIGHTS_PER_VERTEX]
    kept = np.take_along_axis(dense, strongest, axis=1)
    weight_bones[rows] = strongest
    weights[rows] = kept / kept.sum(axis=1, keepdims=True)
    return weight_bones, weights
