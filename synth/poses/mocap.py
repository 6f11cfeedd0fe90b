"""Motion capture: retargets recorded clips to our skeleton and keeps their poses in a library.

A clip (`bvh`) becomes poses (`bodies.body`), which hold rotations from the T-pose only and so fit any body. `sampling`
makes poses without recordings; `diversity` thins the poses of either.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from depthforest.base import DepthForestWarning, Floats, Singles, UsageError, kernel, natural_key, read_json
from synth.bodies import BONE, BONE_NAMES, N_BONES, PARENTS, T_POSE_DIRECTIONS, Pose, t_pose_rotations
from synth.poses.bvh import Clip, MocapError, read_bvh
from synth.poses.kinematics import heading, turns

ESSENTIAL_BONES = (
    "Hips",
    *(f"{side}{bone}" for side in ("Left", "Right") for bone in ("UpLeg", "Leg", "Foot", "Arm", "ForeArm")),
)
"""Bones that a clip must have; a missing other bone inherits the rotation of its parent."""

FEET = ("LeftFoot", "LeftToeBase", "RightFoot", "RightToeBase")

FLOOR_BIN = 0.05
"""Leg lengths, about 4 cm: bin width of the histogram of the lower foot's height, which locates a clip's floor."""

FLOOR_SHARE = 0.5
"""The floor is the lowest bin with at least this share of the fullest bin's frames; lower ones are glitches or pits."""

STILL_TIME, STILL_RISE = 0.2, 0.03
"""Seconds; leg lengths. A foot whose height changes less than this before and after a frame is supported: a free fall
of 0.2 s covers 20 cm."""

STEP_TIME = 1.0
"""Seconds before and after a frame in which a supported foot defines the floor: stairs, ladders, stools."""

MAX_JUMP = 0.6
"""Leg lengths. A body whose lowest joint is higher than a good jump stands or hangs on something; it is lowered."""

MAX_CLEARANCE = 2.5
"""Leg lengths. No foot can be higher than the feet of a handstand."""

MAX_TILT = np.cos(np.deg2rad(35.0))
"""In a T-pose, the trunk is at most 35 degrees from vertical and the upper arms at most 35 degrees from horizontal."""

SNAP = np.cos(np.deg2rad(15.0))
"""A T-pose whose shoulders are within 15 degrees of an axis is snapped to it, because real bodies are asymmetric."""


@dataclass(frozen=True)
class NameMap:
    """The names of our bones in another skeleton.

    Parameters
    ----------
    names : mapping of str to str
        Joint name in the clip -> bone of `skeleton.BONE_NAMES`. Other joints are ignored.
    """

    names: Mapping[str, str]

    def __post_init__(self) -> None:
        for theirs, ours in self.names.items():
            if not isinstance(ours, str) or ours not in BONE:
                raise MocapError(f"a name map maps {theirs!r} to {ours!r}, an unknown bone; see skeleton.BONE_NAMES")
        object.__setattr__(self, "names", MappingProxyType(dict(self.names)))

    @classmethod
    def from_json(cls, path: str | Path) -> NameMap:
        """Read ``{their name: our name, ...}`` from a JSON file."""
        content = read_json(Path(path), MocapError)
        if not isinstance(content, dict):
            raise MocapError(f"{path}: expected an object of joint names, got {type(content).__name__}")
        try:
            return cls(content)
        except MocapError as error:
            raise MocapError(f"{path}: {error}") from None

    def find_bones(self, joints: tuple[str, ...]) -> dict[str, int]:
        """Return bone -> index of its joint, or raise MocapError if an essential bone is missing."""
        found: dict[str, int] = {}
        for index, joint in enumerate(joints):
            bone = self.names.get(joint)
            if bone is not None and bone in found:
                raise MocapError(f"joints {joints[found[bone]]} and {joint} are both mapped to {bone}")
            if bone is not None:
                found[bone] = index
        missing = [bone for bone in ESSENTIAL_BONES if bone not in found]
        if missing:
            raise MocapError(f"no joint is mapped to {', '.join(missing)}; pass a name map for this skeleton")
        return found


CMU_NAMES = NameMap({n: n for n in BONE_NAMES} | {f"{s}HandIndex1": f"{s}HandFinger1" for s in ("Left", "Right")})
"""The names of the CMU clips (the conversion to BVH for Motionbuilder)."""


@dataclass(frozen=True, eq=False)
class PoseLibrary:
    """Many poses in a few arrays; indexing gives a `Pose`.

    Parameters
    ----------
    rotations : array (n, 31, 3, 3), float32
        As in `Pose`; the hips of an upright body face +z.
    foot_clearance : array (n,), float32
        As in `Pose`.
    clip_index, frame_index : array (n,), int32
        Origin of each pose: the index in `clips`, and the frame of that clip.
    clips : tuple of str
        Names of the clips.
    subjects : tuple of str
        The performer of each clip: the number before the underscore in names such as ``07_12``, or else the clip's
        name.
    """

    rotations: Singles
    foot_clearance: Singles
    clip_index: npt.NDArray[np.int32]
    frame_index: npt.NDArray[np.int32]
    clips: tuple[str, ...]
    subjects: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.rotations)

    def __getitem__(self, index: int) -> Pose:
        return Pose(self.rotations[index], float(self.foot_clearance[index]))

    def __iter__(self) -> Iterator[Pose]:
        return (self[i] for i in range(len(self)))

    def subject(self, index: int) -> str:
        """Return the performer of a pose."""
        return self.subjects[int(self.clip_index[index])]

    def take(self, indices: npt.ArrayLike) -> PoseLibrary:
        """Return some of the poses, in the given order."""
        chosen = np.asarray(indices)
        return PoseLibrary(
            self.rotations[chosen],
            self.foot_clearance[chosen],
            self.clip_index[chosen],
            self.frame_index[chosen],
            self.clips,
            self.subjects,
        )


def retarget(clip: Clip, *, step: int = 1, names: NameMap = CMU_NAMES, t_pose_frame: int | None = 0) -> PoseLibrary:
    """Turn a clip's frames into poses of our skeleton.

    A pose holds D(b) = R(b) R_T(b)^T, where R is a joint's global rotation in the frame and R_T in the T-pose, after
    the arms and legs of that T-pose have been straightened like those of bodies: in the CMU clips the arms hang by 8
    degrees, and limbs would otherwise point in other directions than the recorded ones. The T-pose also defines the
    axes: any axis of a clip may be up. The yaw of the hips is removed (see `kinematics.heading`).

    The foot clearance is the least height of ankles and balls above the floor, minus their height in the T-pose. The
    floor is what the feet stand on within a second (stairs, a stool), or else the lowest height at which the lower foot
    often is in the clip, wherever the origin of the recording is. So jumps keep their height, and nobody stands in the
    air. The clearance is at least 0, and at most `MAX_JUMP` unless another joint is lower. Frames of zeros only were
    not recorded and give no pose.

    Parameters
    ----------
    clip : Clip
        The recorded motion.
    step : int
        Take every `step`-th frame.
    names : NameMap
        Maps the clip's names to our bones; a bone without a joint rotates with its parent.
    t_pose_frame : int or None
        The frame that shows the T-pose; it gives no pose itself. None: the T-pose is the offsets with all angles 0.
    """
    if step < 1:
        raise UsageError(f"step must be 1 or more, got {step}")
    try:
        bones = names.find_bones(clip.joints)
        is_pose = np.asarray(clip.motion.any(axis=1))
        if t_pose_frame is None:
            t_rotations, t_positions = np.tile(np.eye(3), (len(clip.joints), 1, 1)), clip.rest_positions()
        elif 0 <= t_pose_frame < len(clip):
            t_rotations, t_positions = (array[0] for array in clip.move([t_pose_frame]))
            is_pose[t_pose_frame] = False
        else:
            raise MocapError(f"the T-pose is said to be frame {t_pose_frame}, but there are {len(clip)} frames")
        if not is_pose.any():
            raise MocapError("there are no frames besides the T-pose")
        axes = _body_axes(t_positions, bones)
    except MocapError as error:
        raise MocapError(f"{clip.name}: {error}") from None
    rotations, positions = clip.move(is_pose)
    scale = 1 / _leg_length(t_positions, bones)
    feet = [bones[name] for name in FEET if name in bones]
    clearance = _foot_clearance(positions @ axes[1] * scale, t_positions @ axes[1] * scale, feet, clip.frame_time)
    frames = np.flatnonzero(is_pose)[::step].astype(np.int32)
    return PoseLibrary(
        _turns_from_t_pose(np.ascontiguousarray(rotations[::step]), t_rotations, t_positions, axes, bones),
        clearance[::step].astype(np.float32),
        np.zeros(len(frames), dtype=np.int32),
        frames,
        (clip.name,),
        (clip_subject(clip.name),),
    )


def root_path(
    clip: Clip, frames: npt.ArrayLike, *, names: NameMap = CMU_NAMES, t_pose_frame: int = 0
) -> tuple[Floats, Floats]:
    """Return what `retarget` removes: the path of the hips over the floor, and their yaw.

    Returns
    -------
    array (n, 2), float64
        Position of the hips, (left, forward) of the T-pose, in leg lengths.
    array (n,), float64
        Unwrapped yaw, radians; 0 faces as the T-pose does, pi/2 a quarter turn to its left.
    """
    bones = names.find_bones(clip.joints)
    t_rotations, t_positions = (array[0] for array in clip.move([t_pose_frame]))
    axes = _body_axes(t_positions, bones)
    rotations, positions = clip.move(frames)
    hips = bones["Hips"]
    # straightening the T-pose leaves the hips unchanged, so this is their D of `_turns_from_t_pose`
    yaw = heading(axes @ rotations[:, hips] @ (axes @ t_rotations[hips]).T)
    return positions[:, hips] @ axes[[0, 2]].T / _leg_length(t_positions, bones), np.unwrap(yaw)


def _turns_from_t_pose(
    rotations: Floats, t_rotations: Floats, t_positions: Floats, axes: Floats, bones: Mapping[str, int]
) -> Singles:
    """Return D (n, 31, 3, 3) in body axes, without the yaw of the hips."""
    joints = [bones[name] for name in BONE_NAMES if name in bones]
    straight = t_pose_rotations(_bone_heads(t_positions @ axes.T, bones))[[name in bones for name in BONE_NAMES]]
    # a rotation R of the clip is A R A^T in body axes, where A has the axes as rows
    start = np.swapaxes(straight @ axes @ t_rotations[joints], -1, -2)
    hips = axes @ rotations[:, bones["Hips"]] @ start[joints.index(bones["Hips"])]
    unturn = np.swapaxes(turns(np.array([0.0, 1.0, 0.0]), heading(hips)), -1, -2) @ axes
    turned = np.empty((len(rotations), N_BONES, 3, 3), dtype=np.float32)
    found = np.array([bone for bone, name in enumerate(BONE_NAMES) if name in bones])
    _turn_between(np.ascontiguousarray(unturn), rotations, np.array(joints), start.copy(), found, turned)
    for bone, name in enumerate(BONE_NAMES):
        if name not in bones:
            turned[:, bone] = turned[:, PARENTS[bone]]
    return turned


@kernel
def _turn_between(
    before: Floats,
    rotations: Floats,
    joints: npt.NDArray[np.int64],
    after: Floats,
    bones: npt.NDArray[np.int64],
    turned: Singles,
) -> None:
    """Write before(frame) rotation(frame, joint) after(joint) of some joints to the rotations of some bones."""
    half = np.empty((3, 3))
    for frame in range(len(rotations)):
        for index in range(len(joints)):
            matrix, last = rotations[frame, joints[index]], after[index]
            for i in range(3):
                a, b, c = before[frame, i]
                for k in range(3):
                    half[i, k] = a * matrix[0, k] + b * matrix[1, k] + c * matrix[2, k]
            for i in range(3):
                for k in range(3):
                    product = half[i, 0] * last[0, k] + half[i, 1] * last[1, k] + half[i, 2] * last[2, k]
                    turned[frame, bones[index], i, k] = product


def _bone_heads(positions: Floats, bones: Mapping[str, int]) -> Floats:
    """Return the heads (31, 3) of our bones in the T-pose; a hand without fingers extends its forearm."""
    heads = np.zeros((N_BONES, 3))
    for bone, name in enumerate(BONE_NAMES):
        heads[bone] = positions[bones[name]] if name in bones else heads[PARENTS[bone]]
    for name, (child, _) in T_POSE_DIRECTIONS.items():
        if np.allclose(heads[BONE[child]], heads[BONE[name]]):
            heads[BONE[child]] = 2 * heads[BONE[name]] - heads[PARENTS[BONE[name]]]
    return heads


def _body_axes(positions: Floats, bones: Mapping[str, int]) -> Floats:
    """Return the body's axes left, up and forward as rows (3, 3) from a clip's T-pose, or raise MocapError."""
    at = {name: positions[joint] for name, joint in bones.items()}
    spine = _unit(at["LeftArm"] + at["RightArm"] - at["LeftUpLeg"] - at["RightUpLeg"])
    up = np.zeros(3)
    up[np.argmax(np.abs(spine))] = np.sign(spine[np.argmax(np.abs(spine))])
    left = at["LeftArm"] - at["RightArm"]
    left = _unit(left - (left @ up) * up)
    if np.abs(left).max() > SNAP:
        left = np.where(np.abs(left) > SNAP, np.sign(left), 0.0)
    arms = [_unit(at[f"{side}ForeArm"] - at[f"{side}Arm"]) @ left * sign for side, sign in (("Left", 1), ("Right", -1))]
    if spine @ up < MAX_TILT or not min(arms) > MAX_TILT:
        raise MocapError(
            "expected a T-pose (upright, arms level); give the frame that shows it, or None to use the offsets"
        )
    forward = np.asarray(np.cross(left, up))
    if "LeftToeBase" in at and (at["LeftToeBase"] - at["LeftFoot"]) @ forward < 0:
        raise MocapError("the toes point backward in the T-pose; are left and right swapped in the name map?")
    return np.stack((left, up, forward))


def _unit(vector: Floats) -> Floats:
    length = float(np.linalg.norm(vector))
    if not length > 0:
        raise MocapError("the T-pose has bones of length 0")
    return np.asarray(vector / length)


def _leg_length(positions: Floats, bones: Mapping[str, int]) -> float:
    legs = [positions[[bones[f"{side}{b}"] for b in ("UpLeg", "Leg", "Foot")]] for side in ("Left", "Right")]
    return float(np.mean([np.linalg.norm(np.diff(leg, axis=0), axis=1).sum() for leg in legs]))


def _foot_clearance(heights: Floats, t_heights: Floats, feet: list[int], frame_time: float) -> Floats:
    """Return clearances (n,) from the heights of all joints (n, j) and in the T-pose (j,), all in leg lengths."""
    rise = (heights[:, feet] - t_heights[feet]).min(axis=1)
    bins = np.floor((rise - rise.min()) / FLOOR_BIN).astype(np.int64)
    counts = np.bincount(bins)
    floor = np.full(len(rise), np.median(rise[bins == np.argmax(counts >= FLOOR_SHARE * counts.max())]))
    # no joint marks the soles, so the lowest joint of the T-pose is used instead
    lowest = heights.min(axis=1) - t_heights.min()
    lag, reach = max(1, round(STILL_TIME / frame_time)), max(1, round(STEP_TIME / frame_time))
    is_still = np.zeros(len(rise), dtype=np.bool_)
    if len(rise) > 2 * lag:
        is_near = np.abs(rise[lag:] - rise[:-lag]) < STILL_RISE
        is_still[lag:-lag] = is_near[:-lag] & is_near[lag:]
    stands = is_still & (rise < lowest + FLOOR_BIN)  # not where hands or knees support the body
    levels = np.pad(np.where(stands, rise, np.inf), reach, constant_values=np.inf)
    support = np.lib.stride_tricks.sliding_window_view(levels, 2 * reach + 1).min(axis=1)
    floor = np.where(np.isfinite(support), support, floor)
    return np.asarray(np.clip(rise - floor - np.maximum(lowest - floor - MAX_JUMP, 0), 0, MAX_CLEARANCE))


def clip_subject(name: str) -> str:
    """Return the performer of a clip by its name: see `PoseLibrary.subjects`."""
    match = re.search(r"(?:^|/)(\d+)_\d+$", name)
    return match[1] if match else name


def clip_files(folder: str | Path) -> list[Path]:
    """Return the BVH files below a folder, subfolders included, in natural order."""
    folder = Path(folder)
    if not folder.is_dir():
        raise MocapError(f"{folder}: is not a folder of BVH clips")
    files = [path for path in folder.rglob("*") if path.suffix.lower() == ".bvh" and path.is_file()]
    return sorted(files, key=lambda path: natural_key(path.relative_to(folder).as_posix()))


def clip_name(path: Path, folder: str | Path) -> str:
    """Return the name of a clip below a folder: its relative path without the extension."""
    return path.relative_to(folder).with_suffix("").as_posix()


def load_poses(
    folder: str | Path,
    *,
    subjects: Collection[str] = (),
    step: int = 1,
    names: NameMap = CMU_NAMES,
    t_pose_frame: int | None = 0,
) -> PoseLibrary:
    """Read the clips of a folder and its subfolders as poses: all, or those of some subjects.

    A clip that cannot be used is skipped with a warning; if none can be used, MocapError is raised. The other
    parameters are those of `retarget`. Takes about 130 MB for the 110,000 frames of the CMU clips at 5 per second.
    """
    files = clip_files(folder)
    if not files:
        raise MocapError(f"{folder}: holds no BVH clips (*.bvh)")
    if subjects:
        files = [path for path in files if clip_subject(clip_name(path, folder)) in subjects]
        if not files:
            raise MocapError(f"{folder}: holds no clips of the subjects {', '.join(subjects)}")
    found: list[PoseLibrary] = []
    for path in files:
        try:
            clip = read_bvh(path, name=clip_name(path, folder))
            found.append(retarget(clip, step=step, names=names, t_pose_frame=t_pose_frame))
        except MocapError as error:
            warnings.warn(f"skipped a clip: {error}", DepthForestWarning, stacklevel=2)
            problem = error
    if not found:
        raise MocapError(f"{folder}: none of its {len(files)} clips can be used; the last: {problem}")
    return PoseLibrary(
        np.concatenate([part.rotations for part in found]),
        np.concatenate([part.foot_clearance for part in found]),
        np.repeat(np.arange(len(found), dtype=np.int32), [len(part) for part in found]),
        np.concatenate([part.frame_index for part in found]),
        tuple(part.clips[0] for part in found),
        tuple(part.subjects[0] for part in found),
    )
