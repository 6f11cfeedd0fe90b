"""Parameters of the joint proposals: their definitions, defaults, and checked JSON form in a model file.

`Forest.joints` holds `JointParameters.to_dict()` or nothing. In the latter case the defaults apply, which are the means
of Shotton et al. 2011 and work for any forest. A model file is untrusted: every name and number is checked here before
anything uses it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from depthforest.base import ModelError, PartSetError, is_number, shown
from depthforest.frames import BODY31, BODY31_TO_PCL25, BONES, JOINT_PARTS, JOINTS, PCL25, PartSet

VERSION, MOVING_VERSION = 1, 2
"""Versions of the JSON form: without and with corrections of joints by the others."""

N_MOVE, N_ODDS = 4 * (len(JOINTS) - 1) + 6, 6 + len(JOINTS) - 1
"""Numbers of columns in `Moves`; `moving` defines them."""

WITHOUT_PART = ("spine", "hip_l", "hip_r")
"""Joints that have no part of their own in any part set; they are placed by their neighbors' modes."""

MAX_METRES = 1.0
"""The largest bandwidth, push-back, offset, bone and deviation in meters: no body has a larger one."""

MIN_BANDWIDTH = 0.005
"""Smallest bandwidth in meters: less is below the distance of two pixels."""

MIN_SD = 0.001
MAX_WEIGHT = 1000.0
"""Largest coefficient in a sum of evidence."""


def _both(carriers: tuple[str, ...], helpers: tuple[str, ...] = ()) -> dict[str, tuple[tuple[str, ...], ...]]:
    """Spell out the anchors of a left and a right joint; ? stands for its own side and ! for the other one."""
    sides = {"l": "r", "r": "l"}
    return {
        side: tuple(tuple(n.replace("?", side).replace("!", other) for n in names) for names in (carriers, helpers))
        for side, other in sides.items()
    }


_OFF_JOINTS = {
    "shoulder": _both(("arm_upper_?", "torso_upper_?"), ("torso_upper_!", "neck")),
    "wrist": _both(("arm_lower_?", "hand_?")),
    "hip": _both(
        ("torso_lower_?", "leg_upper_?"),
        ("torso_lower_!", "leg_upper_!", "torso_upper_?", "torso_upper_!", "neck"),
    ),
    "ankle": _both(("leg_lower_?", "foot_?")),
}
ANCHORS: dict[str, tuple[tuple[str, ...], ...]] = {
    "spine": (("torso_upper_l", "torso_upper_r", "torso_lower_l", "torso_lower_r"), ("neck",)),
    **{f"{name}_{side}": its[side] for name, its in _OFF_JOINTS.items() for side in "lr"},
}
"""For each joint that may lack a part: the parts that carry it, all of which a part set must have, and others that help
to locate it."""

_MEAN_BONES = {
    "head-neck": 0.11,
    "neck-spine": 0.31,
    "neck-shoulder": 0.21,
    "shoulder-elbow": 0.25,
    "elbow-wrist": 0.25,
    "wrist-hand": 0.06,
    "spine-hip": 0.28,
    "hip-knee": 0.39,
    "knee-ankle": 0.38,
    "ankle-foot": 0.19,
}
"""Meters between the joints of the median person of synth's frames."""

TRUNK_PUSH_BACK = 0.12
"""Meters from the surface to hips and spine if no offsets are stored: half the depth of a trunk."""


@dataclass(frozen=True)
class ClusterParameters:
    """How the modes of a cluster are found, and how deep the joint lies.

    Parameters
    ----------
    bandwidth_m : float
        Bandwidth of the mean shift in meters; density falls off as exp(-(distance / bandwidth)^2).
    threshold : float
        Pixels with a lower probability are ignored.
    push_back_m : float
        Distance from the mode on the surface to the joint, along the camera's ray, in meters.
    """

    bandwidth_m: float = 0.065
    threshold: float = 0.14
    push_back_m: float = 0.039


@dataclass(frozen=True)
class Evidence:
    """Log odds that a proposal by itself is correct (within 10 cm): a sum of terms.

    Parameters
    ----------
    bias : float
    log_area : float
        Coefficient of the natural logarithm of the mode's area in hundredths of a square meter.
    purity : float
        Coefficient of the mean probability of the mode's pixels.

    Notes
    -----
    The defaults are rounded means over the joints of the shipped model.
    """

    bias: float = -1.0
    log_area: float = 1.0
    purity: float = 9.0


@dataclass(frozen=True)
class Confidence:
    """Log odds that a proposal is correct, given the other joints: a sum of terms.

    Parameters
    ----------
    bias : float
    evidence : float
        Coefficient of the `Evidence`.
    set_cost : float
        Coefficient of the score that the best plausible set of joints loses with this proposal (`skeletons`).
    """

    bias: float = 0.0
    evidence: float = 1.0
    set_cost: float = 0.0


@dataclass(frozen=True)
class Bone:
    """Distance between two joints in a person of size 1, in meters, and its deviation with errors of proposals."""

    length_m: float
    sd_m: float


@dataclass(frozen=True, eq=False)
class Offsets:
    """Position of a joint without a part relative to the modes around it: a Gaussian over all these positions.

    Given the modes that were found, the joint is expected at its conditional mean, a weighted sum of them; any may be
    missing. Axes are the camera's, rotated so that z points at the modes' mean.

    Parameters
    ----------
    anchors : tuple of str
        Parts; those of `ANCHORS` that the part set has.
    means_m : array (k + 1, 3), float64
        Means of the anchors and, last, the joint, relative to the anchors' mean.
    covariances_m2 : array (3, k + 1, k + 1), float64
        Covariances along x, y and z.
    """

    anchors: tuple[str, ...]
    means_m: npt.NDArray[np.float64]
    covariances_m2: npt.NDArray[np.float64]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Offsets):
            return NotImplemented
        return self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]  # compares by the content of arrays

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "anchors": list(self.anchors),
            "means_m": self.means_m.tolist(),
            "covariances_m2": self.covariances_m2.tolist(),
        }


@dataclass(frozen=True, eq=False)
class Moves:
    """Corrections of a joint's proposals by the positions of other joints, and their odds of being correct.

    Parameters
    ----------
    steps : array (3, N_MOVE), float64
        Meters along x, y and z for each column of `moving`.
    odds : array (N_ODDS,), float64
        Weights of the logarithm of the odds.
    """

    steps: npt.NDArray[np.float64]
    odds: npt.NDArray[np.float64]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Moves):
            return NotImplemented
        return self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]  # compares by the content of arrays

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {"steps": self.steps.tolist(), "odds": self.odds.tolist()}


@dataclass(frozen=True)
class JointParameters:
    """All parameters of the joint proposals of one part set.

    Parameters
    ----------
    part_set : PartSet
    clusters : mapping of str to ClusterParameters
        One for every name in `cluster_parts(part_set)`.
    offsets : mapping of str to Offsets
        For joints without a part. Without an entry, the joint is the mean of its carriers' modes, pushed back.
    evidence, confidence : mappings of str to Evidence and Confidence
        One for every joint in `joints`.
    bones : mapping of str to Bone
        All bones of `parts.BONES`, by "parent-child".
    bone_weight : float
        Weight of unlikely bones relative to the evidence of proposals; 0 ignores bones.
    moves : mapping of str to Moves
        One for every joint in `joints`; or empty: joints are not corrected.
    """

    part_set: PartSet
    clusters: Mapping[str, ClusterParameters]
    offsets: Mapping[str, Offsets] = field(default_factory=dict)
    evidence: Mapping[str, Evidence] = field(default_factory=dict)
    confidence: Mapping[str, Confidence] = field(default_factory=dict)
    bones: Mapping[str, Bone] = field(default_factory=dict)
    bone_weight: float = 0.5
    moves: Mapping[str, Moves] = field(default_factory=dict)

    @classmethod
    def default(cls, part_set: PartSet) -> JointParameters:
        """Return the parameters of a forest that was not fitted: the paper's means, an adult's bones."""
        return cls(
            part_set,
            {name: ClusterParameters() for name in cluster_parts(part_set)},
            {},
            {name: Evidence() for name in known_joints(part_set)},
            {name: Confidence() for name in known_joints(part_set)},
            {bone: Bone(_MEAN_BONES[_without_side(bone)], 0.06) for bone in map(bone_name, BONES)},
        )

    @cached_property
    def joints(self) -> tuple[str, ...]:
        """The joints that can be found, in the order of `parts.JOINTS`."""
        return known_joints(self.part_set)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form that `Forest.joints` holds."""
        content = {
            "version": MOVING_VERSION if self.moves else VERSION,
            "clusters": {name: dict(vars(value)) for name, value in self.clusters.items()},
            "offsets": {name: value.to_dict() for name, value in self.offsets.items()},
            "evidence": {name: dict(vars(value)) for name, value in self.evidence.items()},
            "confidence": {name: dict(vars(value)) for name, value in self.confidence.items()},
            "bones": {name: dict(vars(value)) for name, value in self.bones.items()},
            "bone_weight": self.bone_weight,
        }
        return content | ({"moves": {name: its.to_dict() for name, its in self.moves.items()}} if self.moves else {})

    @classmethod
    def from_dict(cls, content: object, part_set: PartSet) -> JointParameters:
        """Check the JSON form and return the parameters; a ModelError says what is wrong with it."""
        if not isinstance(content, Mapping):
            raise ModelError(f"joints must be an object, got {shown(content)}")
        version = content.get("version")
        if isinstance(version, bool) or version not in (VERSION, MOVING_VERSION):
            raise ModelError(
                f"joints.version must be {VERSION} or {MOVING_VERSION}, got {shown(version)}; fit the joints again"
            )
        keys = ("version", "clusters", "offsets", "evidence", "confidence", "bones", "bone_weight")
        _check_keys(content, (*keys, "moves") if version == MOVING_VERSION else keys, "joints")
        names, joints = cluster_parts(part_set), known_joints(part_set)
        clusters, evidence, confidence, bones = {}, {}, {}, {}
        for name, its in _entries(content, "clusters", tuple(names)):
            where = f"joints.clusters.{name}"
            _check_keys(its, ("bandwidth_m", "threshold", "push_back_m"), where)
            clusters[name] = ClusterParameters(
                _number(its, "bandwidth_m", where, MIN_BANDWIDTH, MAX_METRES),
                _number(its, "threshold", where, 0, 1),
                _number(its, "push_back_m", where, -MAX_METRES, MAX_METRES),
            )
        for name, its in _entries(content, "evidence", joints):
            where = f"joints.evidence.{name}"
            evidence[name] = Evidence(*_terms(its, tuple(vars(Evidence())), where))
        for name, its in _entries(content, "confidence", joints):
            confidence[name] = Confidence(*_terms(its, tuple(vars(Confidence())), f"joints.confidence.{name}"))
        for name, its in _entries(content, "bones", tuple(map(bone_name, BONES))):
            where = f"joints.bones.{name}"
            _check_keys(its, ("length_m", "sd_m"), where)
            bones[name] = Bone(
                _number(its, "length_m", where, MIN_SD, MAX_METRES), _number(its, "sd_m", where, MIN_SD, MAX_METRES)
            )
        offsets = {
            name: _offsets(its, anchors_of(name, part_set), f"joints.offsets.{name}")
            for name, its in _entries(content, "offsets", tuple(n for n in joints if n not in names), is_whole=False)
        }
        weight = _number(content, "bone_weight", "joints", 0, MAX_WEIGHT)
        moves = {}
        for name, its in _entries(content, "moves", joints) if version == MOVING_VERSION else []:
            where = f"joints.moves.{name}"
            _check_keys(its, ("steps", "odds"), where)
            steps = _numbers(its["steps"], (3, N_MOVE), f"{where}.steps", MAX_WEIGHT)
            moves[name] = Moves(steps, _numbers(its["odds"], (N_ODDS,), f"{where}.odds", MAX_WEIGHT))
        return cls(part_set, clusters, offsets, evidence, confidence, bones, weight, moves)


# -- what a part set has ----------------------------------------------------------------------------------------------


def bone_name(bone: tuple[str, str]) -> str:
    """Return the key of a bone of `parts.BONES`."""
    return f"{bone[0]}-{bone[1]}"


def known_parts(part_set: PartSet) -> dict[str, int]:
    """Return the labels of parts whose position on the body is known, by their names in BODY31 or by a joint's name."""
    if part_set.names == PCL25.names:
        nearest = {its[0]: fine for fine, its in BODY31_TO_PCL25.groups.items() if len(its) == 1}
        return {nearest[name]: label for label, name in enumerate(part_set.names)}
    return {name: label for label, name in enumerate(part_set.names) if name in BODY31.names or name in JOINTS}


def cluster_parts(part_set: PartSet) -> dict[str, tuple[int, ...]]:
    """Return the labels of each cluster: one for each joint that has parts of its own, and one for each anchor.

    A cluster's name is the joint's or the part's. A joint has a part of its own if the part set has one of
    `parts.JOINT_PARTS`, or one with the joint's name.
    """
    known = known_parts(part_set)
    clusters = {}
    for joint in JOINTS:
        names = dict.fromkeys((joint, *(() if joint in WITHOUT_PART else JOINT_PARTS[joint])))
        labels = tuple(known[name] for name in names if name in known)
        if labels:
            clusters[joint] = labels
    for joint, anchors in ANCHORS.items():
        if joint not in clusters and all(name in known for name in anchors[0]):
            clusters.update({name: (known[name],) for names in anchors for name in names if name in known})
    return clusters


def anchors_of(joint: str, part_set: PartSet) -> tuple[str, ...]:
    """Return the anchors of a joint that a part set has: carriers first."""
    known = known_parts(part_set)
    return tuple(name for names in ANCHORS[joint] for name in names if name in known)


def known_joints(part_set: PartSet) -> tuple[str, ...]:
    """Return the joints that can be found with a part set; raise PartSetError if there are none."""
    clusters = cluster_parts(part_set)
    found = tuple(j for j in JOINTS if j in clusters or (j in ANCHORS and all(n in clusters for n in ANCHORS[j][0])))
    if not found:
        raise PartSetError(
            f"no joint can be found from the parts {', '.join(part_set.names[:4])}"
            f"{', ...' if len(part_set) > 4 else ''}; they need names of BODY31 or PCL25, or of joints, such as head"
        )
    return found


def _without_side(bone: str) -> str:
    return "-".join(name.removesuffix("_l").removesuffix("_r") for name in bone.split("-"))


# -- checks -----------------------------------------------------------------------------------------------------------


def _check_keys(content: object, keys: tuple[str, ...], where: str) -> None:
    if not isinstance(content, Mapping):
        raise ModelError(f"{where} must be an object, got {shown(content)}")
    odd = sorted(set(content) ^ set(keys))
    if odd:
        raise ModelError(f"{where} must have exactly {', '.join(keys)}; missing or unknown: {shown(', '.join(odd))}")


def _entries(
    content: Mapping[str, Any], key: str, names: tuple[str, ...], *, is_whole: bool = True
) -> list[tuple[str, Any]]:
    """Return the entries of an object whose keys are these names: all of them, or some."""
    value = content[key]
    if not isinstance(value, Mapping):
        raise ModelError(f"joints.{key} must be an object, got {shown(value)}")
    odd = sorted(set(value) - set(names)) or sorted(set(names) - set(value)) * is_whole
    if odd:
        raise ModelError(f"joints.{key} must name {', '.join(names)}; missing or unknown: {shown(', '.join(odd))}")
    return [(name, value[name]) for name in names if name in value]


def _number(content: Mapping[str, Any], key: str, where: str, low: float, high: float) -> float:
    value = content[key]
    if not is_number(value) or not low <= value <= high:
        raise ModelError(f"{where}.{key} must be a number from {low:g} to {high:g}, got {shown(value)}")
    return float(value)


def _terms(content: Any, keys: tuple[str, ...], where: str) -> list[float]:
    _check_keys(content, keys, where)
    return [_number(content, key, where, -MAX_WEIGHT, MAX_WEIGHT) for key in keys]


def _offsets(content: Any, anchors: tuple[str, ...], where: str) -> Offsets:
    _check_keys(content, ("anchors", "means_m", "covariances_m2"), where)
    if content["anchors"] != list(anchors):
        raise ModelError(f"{where}.anchors must be {', '.join(anchors)}, got {shown(content['anchors'])}")
    n = len(anchors) + 1
    means = _numbers(content["means_m"], (n, 3), f"{where}.means_m")
    covariances = _numbers(content["covariances_m2"], (3, n, n), f"{where}.covariances_m2")
    if not np.array_equal(covariances, covariances.transpose(0, 2, 1)) or np.linalg.eigvalsh(covariances).min() <= 0:
        raise ModelError(f"{where}.covariances_m2 must be symmetric and positive definite")
    return Offsets(anchors, means, covariances)


def _numbers(content: object, shape: tuple[int, ...], where: str, most: float = MAX_METRES) -> npt.NDArray[np.float64]:
    """Return nested lists as a read-only array of a shape, with values of at most `most` in size."""
    expected = f"{where} must be lists of {' x '.join(map(str, shape))} numbers from {-most:g} to {most:g}"
    flat = [content]
    for n in shape:
        if not all(isinstance(entry, list) and len(entry) == n for entry in flat):
            raise ModelError(f"{expected}, got {shown(content)}")
        flat = [value for entry in flat for value in entry]  # type: ignore[attr-defined]
    for value in flat:
        if not is_number(value) or not abs(value) <= most:
            raise ModelError(f"{expected}, got {shown(value)}")
    array = np.array(flat, dtype=np.float64).reshape(shape)
    array.setflags(write=False)
    return array
