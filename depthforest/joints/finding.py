"""Joints: from a labeled person to ranked 3D proposals of every joint, and the set of proposals that fits a body.

Modes are density peaks of a part's pixels in camera space (`meanshift`). Pushed back from the surface, they are the
proposals of joints that have a part; hips and spine are placed relative to the modes around them. The best set is
chosen by evidence and bone lengths (`skeletons`). Parameters come with the model (`params`, `fit`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from depthforest.base import Derived, FrameError, UsageError, kernel
from depthforest.frames import BONES, JOINTS, Frame, Joint, Position
from depthforest.joints.conventions import Convention, convert
from depthforest.joints.meanshift import MAX_MODES, MODE_FIELDS, Clusters, find_modes
from depthforest.joints.moving import move_all
from depthforest.joints.params import (
    N_MOVE,
    N_ODDS,
    ClusterParameters,
    JointParameters,
    cluster_parts,
)
from depthforest.joints.placing import Placer, push_back
from depthforest.joints.skeletons import FEATURE_NAMES, choose_set, describe
from depthforest.labeling import Labeling, Sample
from depthforest.trees import DepthTrees

FAST_PIXELS = 1000
"""Fewest pixels of a person that the fast variant uses: those that labeling walks first. Measured on 250 frames of 320
x 240: mean average precision 0.659 with 1000 pixels, 0.662 with 2000, 0.665 with all of them."""

FAST = (2.0, 0.003, 8)
"""Distance of starts in bandwidths, tolerance of climbs in meters, most steps."""

EXACT = (0.2, 0.0001, 100)
"""The same for the exact variant: pixels within a fifth of a bandwidth reach the same mode, so they share a start."""

UNIT_AREA = 0.01
"""Unit of area in the evidence, square meters: the logarithm of this area is 0."""

MAX_ODDS = 30.0
"""Largest logarithm of odds: beyond it, a confidence is 0 or 1 anyway."""


@dataclass(frozen=True, eq=False)
class Proposal:
    """A position where a joint may be.

    Attributes
    ----------
    position : (x, y, z)
        Meters in camera space.
    confidence : float
        Probability that the joint is within 10 cm, 0 to 1. It is comparable between joints and distances, because it is
        based on the *surface* that leads to the mode (probability x depth^2, in square meters), not on a count of
        pixels.
    features : array (len(FEATURE_NAMES),), float32
        Its features: the columns `skeletons.FEATURE_NAMES`.
    """

    position: Position
    confidence: float
    features: npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class FoundJoint:
    """A joint that was found.

    Attributes
    ----------
    position : (x, y, z)
        Position of the first proposal, in meters in camera space.
    confidence : float
        Confidence of the first proposal, 0 to 1.
    proposals : tuple of Proposal
        Best first: the one of the best set of joints, then by confidence.
    """

    position: Position
    confidence: float
    proposals: tuple[Proposal, ...]


class Joints(Mapping[str, FoundJoint]):
    """The joints of one person by name, those of `parts.JOINTS` that were found; a frozen mapping."""

    __slots__ = ("_found", "size")

    def __init__(self, found: Mapping[str, FoundJoint], size: float = 1.0) -> None:
        self._found = MappingProxyType(dict(found))
        self.size = size
        """Size of the person that fits the bones best; 1 is an average adult."""

    def __getitem__(self, name: str) -> FoundJoint:
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def to(self, convention: str | Path | Convention) -> Mapping[str, Joint]:
        """Return the joints in another convention: "itop", "kinect_v2", "coco", "smpl", or your own."""
        return convert(self, convention)

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle through the constructor: a mapping proxy cannot be pickled."""
        return type(self), (dict(self._found), self.size)

    def __repr__(self) -> str:
        return f"Joints({len(self)} of {len(JOINTS)}: {', '.join(self)})"


def find_joints(frame: Frame, labeling: Labeling, *, exact: bool = False) -> Joints:
    """Find the joints of one labeled person.

    Parameters
    ----------
    frame : Frame
        The frame that was labeled; its depth gives the pixels' positions.
    labeling : Labeling
        Labels of one person, from `Forest.label`.
    exact : bool
        Use every pixel, and start mean shift at each, as in the paper; for evaluation. By default, 1000 to 4000 pixels
        on a grid and fewer starting points are used, which is many times faster.

    Returns
    -------
    Joints
        Joints by name. Joints without a proposal are missing; without labeled pixels, all are.
    """
    if not isinstance(frame, Frame):
        raise FrameError(f"expected a Frame, got {type(frame).__name__}; df.Frame(array, camera) makes one")
    if not isinstance(labeling, Labeling):
        raise UsageError(f"expected a Labeling, got {type(labeling).__name__}; forest.label(frame) makes one")
    if not isinstance(exact, bool):
        raise UsageError(f"exact must be True or False, got {exact!r}")
    if frame.camera != labeling.camera:
        raise FrameError(
            f"the frame is {_size(frame.shape)} and the labeling {_size(labeling.parts.shape)}, or their cameras "
            "differ; pass the frame that was labeled"
        )
    if frame is not labeling._frame and not np.array_equal(frame.depth_mm, labeling._frame.depth_mm):
        raise FrameError("the frame has other readings than the one that was labeled; pass that one")
    sample = labeling.sample(None if exact else FAST_PIXELS)
    return joints_of_surface(labeling._walk.forest, *surface(frame, sample), exact=exact)


def joints_of_surface(
    forest: DepthTrees,
    points: npt.NDArray[np.float32],
    areas: npt.NDArray[np.float32],
    shares: npt.NDArray[np.float32],
    *,
    exact: bool = False,
) -> Joints:
    """Find the joints of one person from points of its surface.

    Parameters
    ----------
    forest : DepthTrees
        The forest with the parameters.
    points : array (n, 3), float32
        Meters in camera space.
    areas : array (n,), float32
        Surface area that each point stands for, in square meters.
    shares : array (n, n_parts), float32
        Probabilities of parts.
    exact : bool
        As in `find_joints`.
    """
    if not len(points):
        return Joints({})
    finder = finder_of(forest)
    modes, n_modes = seek_modes(points, areas, shares, finder.clusters, EXACT if exact else FAST)
    return finder.joints(modes, n_modes)


@Derived
def finder_of(forest: DepthTrees) -> Finder:
    """Return a forest's `Finder`, made and checked once."""
    part_set = forest.part_set
    if forest.joints is None:
        return Finder(JointParameters.default(part_set))
    return Finder(JointParameters.from_dict(forest.joints, part_set))


def surface(
    frame: Frame, sample: Sample
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Return the points (n, 3) of sampled pixels in meters, their surface areas in square meters, and their shares."""
    camera = frame.camera
    z = frame.depth_mm[sample.rows, sample.cols] * np.float32(0.001)
    shares = sample.shares
    rows, cols = sample.rows, sample.cols
    if not z.all():
        is_read = z > 0
        z, rows, cols, shares = z[is_read], rows[is_read], cols[is_read], shares[is_read]
    points = np.empty((len(z), 3), dtype=np.float32)
    points[:, 0] = (cols - camera.cx) / camera.fx * z
    points[:, 1] = (rows - camera.cy) / camera.fy * z
    points[:, 2] = z
    return points, z * z * np.float32(sample.step**2 / (camera.fx * camera.fy)), shares


class Finder:
    """Parameters in the form that kernels take, and the steps from modes to joints.

    Parameters
    ----------
    parameters : JointParameters
        Parameters; already checked if they came from a file.
    """

    def __init__(self, parameters: JointParameters) -> None:
        self.parameters = parameters
        part_set = parameters.part_set
        groups = cluster_parts(part_set)
        self.names = tuple(groups)
        self.clusters = pack_clusters(groups, [parameters.clusters[name] for name in self.names])
        self.push_backs = np.array([parameters.clusters[name].push_back_m for name in self.names])
        self.own = np.array([[JOINTS.index(n), c] for c, n in enumerate(self.names) if n in JOINTS]).reshape(-1, 2)
        self.placers = [
            Placer(JOINTS.index(name), self.names, part_set, parameters.offsets.get(name), name)
            for name in parameters.joints
            if name not in groups
        ]
        self.evidence, self.confidence = np.zeros((len(JOINTS), 3)), np.zeros((len(JOINTS), 3))
        for name in parameters.joints:
            evidence, confidence = parameters.evidence[name], parameters.confidence[name]
            self.evidence[JOINTS.index(name)] = evidence.bias, evidence.log_area, evidence.purity
            self.confidence[JOINTS.index(name)] = confidence.bias, confidence.evidence, confidence.set_cost
        self.moves, self.odds = np.zeros((len(JOINTS), 3, N_MOVE)), np.zeros((len(JOINTS), N_ODDS))
        for name, move in parameters.moves.items():
            self.moves[JOINTS.index(name)], self.odds[JOINTS.index(name)] = move.steps, move.odds
        self.lengths, self.sds = np.ones(len(JOINTS)), np.ones(len(JOINTS))
        for parent, child in BONES:
            bone = parameters.bones[f"{parent}-{child}"]
            self.lengths[JOINTS.index(child)], self.sds[JOINTS.index(child)] = bone.length_m, bone.sd_m

    def proposals(
        self, modes: npt.NDArray[np.float32], n_modes: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
        """Return the proposals of all joints: (19, MAX_MODES, len(MODE_FIELDS)), and how many each has."""
        found = np.zeros((len(JOINTS), MAX_MODES, len(MODE_FIELDS)))
        counts = np.zeros(len(JOINTS), dtype=np.int64)
        push_back(modes, n_modes, self.own, self.push_backs, found, counts)
        for placer in self.placers:
            placer.place(modes, n_modes, found, counts)
        return found, counts

    def weigh(
        self,
        found: npt.NDArray[np.float64],
        counts: npt.NDArray[np.int64],
        evidence: npt.NDArray[np.float64],
        costs: npt.NDArray[np.float64],
    ) -> float:
        """Fill evidence and set costs (19, MAX_MODES) of a person's proposals, and return the person's size."""
        _weigh(found, counts, self.evidence, evidence)
        weight = self.parameters.bone_weight
        return float(choose_set(found, evidence, counts, self.lengths, self.sds, weight, costs))

    def sure(self, evidence: npt.NDArray[np.float64], costs: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return the confidences (..., 19, M) of proposals before they are corrected by other joints."""
        bias, of_evidence, of_cost = self.confidence.T[..., None]
        odds = np.clip(bias + of_evidence * evidence + of_cost * costs, -MAX_ODDS, MAX_ODDS)
        return np.asarray(1 / (1 + np.exp(-odds)))

    def joints(self, modes: npt.NDArray[np.float32], n_modes: npt.NDArray[np.int64]) -> Joints:
        """Return the joints that modes lead to."""
        found, counts = self.proposals(modes, n_modes)
        places = found[:, :, :3]
        evidence, costs = np.zeros(found.shape[:2]), np.zeros(found.shape[:2])
        size = self.weigh(found, counts, evidence, costs)
        confidences = self.sure(evidence, costs)
        numbers = np.arange(found.shape[1])
        is_there = numbers < counts[:, None]
        chosen = np.argmin(np.where(is_there, costs, np.inf), axis=1)
        if self.parameters.moves:
            move_all(found, counts, chosen, evidence, costs, size, self.moves, self.odds, confidences)
        features = np.empty((*found.shape[:2], len(FEATURE_NAMES)), dtype=np.float32)
        features[:, :, 0] = confidences
        features[:, :, 1:3] = found[:, :, 3:5]
        features[:, :, 4] = found[:, :, 5]
        features[:, :, 8] = costs
        describe(found, counts, chosen, self.lengths, size, features)
        features.setflags(write=False)
        scores = confidences + (numbers == chosen[:, None])
        orders = np.argsort(np.where(is_there, -scores, np.inf), axis=1, kind="stable").tolist()
        all_places, all_confidences, all_counts = places.tolist(), confidences.tolist(), counts.tolist()
        joints = {}
        for joint, name in enumerate(JOINTS):
            order = orders[joint][: all_counts[joint]]
            if order:
                its_places, its_features = all_places[joint], features[joint]
                its_confidences = all_confidences[joint]
                proposals = tuple(Proposal(tuple(its_places[i]), its_confidences[i], its_features[i]) for i in order)
                joints[name] = FoundJoint(proposals[0].position, proposals[0].confidence, proposals)
        return Joints(joints, size)


def pack_clusters(groups: Mapping[str, tuple[int, ...]], parameters: list[ClusterParameters]) -> Clusters:
    """Return clusters in the form of `meanshift.find_modes`."""
    firsts = np.cumsum([0, *map(len, groups.values())]).astype(np.int32)
    members = np.array([label for labels in groups.values() for label in labels], dtype=np.int32)
    bandwidths = np.array([p.bandwidth_m for p in parameters], dtype=np.float32)
    return firsts, members, bandwidths, np.array([p.threshold for p in parameters], dtype=np.float32)


def seek_modes(
    points: npt.NDArray[np.float32],
    areas: npt.NDArray[np.float32],
    shares: npt.NDArray[np.float32],
    clusters: Clusters,
    settings: tuple[float, float, int],
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    """Return the modes of clusters, and how many each has; `settings` is `FAST` or `EXACT`."""
    n = len(clusters[2])
    modes = np.zeros((n, MAX_MODES, len(MODE_FIELDS)), dtype=np.float32)
    n_modes = np.zeros(n, dtype=np.int64)
    spacing, tolerance, max_steps = settings
    find_modes(points, areas, shares, clusters, np.float32(spacing), np.float32(tolerance), max_steps, modes, n_modes)
    return modes, n_modes


@kernel
def _weigh(
    found: npt.NDArray[np.float64],
    counts: npt.NDArray[np.int64],
    terms: npt.NDArray[np.float64],
    evidence: npt.NDArray[np.float64],
) -> None:
    """Fill the evidence (19, M) of proposals, without bones."""
    for joint in range(len(counts)):
        bias, log_area, purity = terms[joint]
        for i in range(counts[joint]):
            evidence[joint, i] = bias + log_area * np.log(found[joint, i, 3] / UNIT_AREA) + purity * found[joint, i, 4]


def _size(shape: tuple[int, ...]) -> str:
    return f"{shape[1]} x {shape[0]}"
