"""The bench: fixed test sets generated from code and seeds, so that models stay comparable for years.

A set is a configuration of `synth`, a seed and a number of frames. None of these may change under the same
`BENCH_VERSION`: the hash of every set's frames is committed (`bench.json`, written by `tools/bench_hashes.py`) and
checked whenever a set is made. `run` runs models on them.

Every set differs from the headline, "mocap", in one respect, so that rows of a table can be compared.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from depthforest.base import Parameter, UsageError, read_json
from depthforest.frames import BODY31, Frame, FrameSource, LabeledFrame, PartSet
from depthforest.training import frame_digest

if TYPE_CHECKING:
    from synth import Config, Generator

BENCH_VERSION = 1
"""Version of the sets. Raise it, and compute the hashes again, whenever the frames of a set change."""

HASHES = Path(__file__).with_name("bench.json")

HELD_OUT_SUBJECTS = (
    "08", "103", "104", "106", "107", "11", "114", "12", "121", "127", "13", "56", "62", "73", "83", "87", "93", "94",
)  # fmt: skip
"""Subjects of the CMU clips that no shipped model sees in training: `without_subjects` there, `only_subjects` here."""

SEED = 311_001
"""Seed of the headline set. The sensor sets share it and so show the same people in the same poses; the other sets use
the numbers after it. No training uses these seeds, so the bodies are new to every model."""

HEADLINE: Mapping[str, Any] = {
    "camera": "kinect_v1@320x240",
    "sensor": "kinect_v1",
    "bodies": "makehuman",
    "n_bodies": 64,
    "child_share": 0.12,
    "clothed_share": 0.85,
    "n_poses": 4096,
    "mocap_share": 1.0,
    "mocap_clearance": 0.2,
    "mocap_distance": 0.05,
    "mocap_curl": 0.0,
    "raised_share": 0.0,
    "people_shares": (1.0,),
    "yaw_front_share": 0.0,
    "yaw_front_spread": 20.0,
    "near_share": 0.0,
    "near_distance": (0.7, 1.3),
    "far_distance": (1.2, 4.0),
    "depth_limit": 4.0,
    "camera_height": (0.6, 2.2),
    "camera_tilt": (-10.0, 35.0),
    "camera_roll": (-4.0, 4.0),
    "off_center": 0.6,
    "furnished_share": 0.0,
    "furniture": (3, 6),
    "wall_share": 0.8,
    "seat_share": 0.8,
    "blocked_share": 0.6,
    "least_visible": 0.008,
    "clutter_share": 0.0,
    "clutter": (6, 16),
    "n_things": 2048,
    "lost_share": 0.1,
    "empty_share": 0.0,
    "carry_share": 0.0,
    "lean_share": 0.0,
    "desk_share": 0.0,
    "bed_share": 0.0,
    "touch_share": 0.0,
}
"""All settings of the headline set, independent of the defaults of `synth.Config`."""

CLUTTERED: Mapping[str, Any] = {
    "people_shares": (0.6, 0.4),
    "raised_share": 0.1,
    "furnished_share": 1.0,
    "clutter_share": 1.0,
    "clutter": (6, 16),
    "lost_share": 0.1,
    "carry_share": 0.15,
    "lean_share": 0.1,
    "desk_share": 0.1,
    "bed_share": 0.05,
    "touch_share": 0.3,
}
"""Settings that differ in the sets for detecting people: cluttered rooms, as people live in them."""

PARTS, PEOPLE, ABOVE = "parts", "people", "above"
"""What a set evaluates: the labels of given people; the detection of people; or the labels of models for cameras that
look down."""

JOINT_STEP_M = 1e-4
"""Joints enter the hash rounded to a tenth of a millimeter."""


@dataclass(frozen=True)
class BenchSet:
    """One test set.

    Parameters
    ----------
    name : str
    about : str
        A description for people to read.
    n_frames : int
    seed : int
    changes : mapping
        Settings that differ from `HEADLINE`.
    judges : tuple of str
        `PARTS`, `PEOPLE` or both, or `ABOVE`. "all" stands for the sets that evaluate parts or people, as requested;
        sets of `ABOVE` are only run by name.
    """

    name: str
    about: str
    n_frames: int = 300
    seed: int = SEED
    changes: Mapping[str, Any] = field(default_factory=dict)
    judges: tuple[str, ...] = (PARTS,)

    @property
    def numbers(self) -> dict[str, Any]:
        """The fields of `synth.Config` that make the set, without folders."""
        return {**HEADLINE, **self.changes}

    @property
    def needs_clips(self) -> bool:
        """Whether its poses come from the CMU clips."""
        return bool(self.numbers["mocap_share"] > 0)

    def config(self, mocap: str | Path | None = None) -> Config:
        """Return the configuration of its frames, with the folder of clips if it needs them."""
        from synth import Config

        clips: dict[str, Any] = {"mocap": str(mocap), "only_subjects": HELD_OUT_SUBJECTS} if self.needs_clips else {}
        return Config(**self.numbers, **clips)


def _sensor(sensor: str, camera: str, to_m: float = 4.0) -> BenchSet:
    changes = {"sensor": sensor, "camera": camera, "far_distance": (1.2, to_m), "depth_limit": to_m}
    return BenchSet(f"sensor_{sensor}", f"sensor {sensor}, camera {camera}, 1.2 to {to_m:g} m", changes=changes)


_SETS = (
    BenchSet(
        "mocap", "the headline: one person, all ways round, 1.2 to 4 m, kinect_v1, clips of held-out subjects", 500
    ),
    BenchSet(
        "procedural",
        "the same without downloads: built-in bodies in built-in poses",
        500,
        SEED + 1,
        {"bodies": "procedural", "mocap_share": 0.0},
    ),
    BenchSet("frontal", "facing the camera, give or take 20 degrees", 300, SEED + 2, {"yaw_front_share": 1.0}),
    BenchSet(
        "cut",
        "upper bodies close up, 0.7 to 1.3 m, cut by the border",
        300,
        SEED + 3,
        {"near_share": 1.0, "camera_height": (1.1, 2.0)},
    ),
    BenchSet("rooms", "furnished, many people partly hidden", 300, SEED + 4, {"furnished_share": 1.0}, (PARTS, PEOPLE)),
    BenchSet("two_people", "two people in every frame", 300, SEED + 5, {"people_shares": (0.0, 1.0)}, (PARTS, PEOPLE)),
    _sensor("ideal", "kinect_v1@320x240"),
    _sensor("kinect_v1_wide", "kinect_v1@320x240", to_m=6.0),  # up to 4.5 m, this is the sensor kinect_v1
    _sensor("kinect_v1_registered", "kinect_v1@320x240"),
    _sensor("kinect_v2", "kinect_v2@256x212"),
    _sensor("azure", "azure_nfov@320x288"),
    _sensor("realsense", "realsense_d435@424x240"),
    BenchSet(
        "clutter",
        "cluttered rooms with one or two people, who carry things, lean, sit behind desks, lie and touch",
        300,
        SEED + 20,
        CLUTTERED,
        (PEOPLE,),
    ),
    BenchSet(
        "empty",
        "the same rooms without people; needs no download",
        200,
        SEED + 21,
        {**CLUTTERED, "empty_share": 1.0, "bodies": "procedural", "mocap_share": 0.0},
        (PEOPLE,),
    ),
    BenchSet(
        "top",
        "one person from above: cameras at 2.2 to 3.6 m that look 70 to 90 degrees down",
        300,
        SEED + 22,
        {
            "camera": "kinect_v1@160x120",
            "far_distance": (0.0, 1.2),
            "camera_height": (2.2, 3.6),
            "camera_tilt": (70.0, 90.0),
            "camera_roll": (-180.0, 180.0),
            "least_visible": 0.02,
        },
        (ABOVE,),
    ),
)

SETS: Mapping[str, BenchSet] = {one.name: one for one in _SETS}
"""All sets by name, the headline first. The sensor kinect_v1 is the headline's own; `tof` and `stereo` of
`synth.sensors.devices.SENSORS` are other names of kinect_v2 and realsense."""


class BenchFrames(FrameSource):
    """The frames of a set, generated on demand; each is hashed when it is first generated.

    Parameters
    ----------
    bench : BenchSet
    mocap : str or Path, optional
        The folder of the CMU clips, for sets that need it.
    limit : int, optional
        Use only this many frames, from the start; no hash covers them.
    """

    part_set: PartSet = BODY31

    def __init__(self, bench: BenchSet, mocap: str | Path | None = None, limit: int | None = None) -> None:
        self.bench = bench
        self._n = bench.n_frames if limit is None else min(limit, bench.n_frames)
        _check_needs(bench, mocap)
        self._config = bench.config(mocap)
        self._digests: dict[int, bytes] = {}

    def __len__(self) -> int:
        return self._n

    def _frame(self, number: int) -> LabeledFrame:
        frame = self._generator[number]
        if number not in self._digests:
            self._digests[number] = _content_digest(frame)
        return frame

    def digest_of(self, number: int) -> bytes | None:
        """Return the digest of a frame; None if it has not been generated yet."""
        return self._digests.get(number)

    def take_digest(self, number: int, digest: bytes) -> None:
        """Take the digest of a frame that was generated elsewhere."""
        self._digests[number] = digest

    @cached_property
    def _generator(self) -> Generator:
        from synth import Generator

        return Generator(self._config, self.bench.seed, n=self._n)

    def empty_room(self, index: int) -> Frame:
        """Return the room of a frame without people, with independent noise."""
        return self._generator.empty_room(index)

    def free(self) -> None:
        """Free bodies and poses; they are generated again when another frame is requested."""
        self.__dict__.pop("_generator", None)

    @property
    def title(self) -> str:
        """A title for people to read."""
        return f"bench {self.bench.name}"

    @property
    def names(self) -> tuple[str, ...]:
        """Frame numbers as text."""
        return tuple(f"{i:06d}" for i in range(self._n))

    @property
    def sensors(self) -> tuple[str, ...]:
        """The sensor of each frame."""
        return (self._config.sensor,) * self._n

    @property
    def sha256(self) -> str | None:
        """The hash of all frames; None until the whole set has been generated."""
        if len(self._digests) < self.bench.n_frames:
            return None
        content = hashlib.sha256()
        for number in range(self.bench.n_frames):
            content.update(self._digests[number])
        return content.hexdigest()

    @property
    def has_hash(self) -> bool:
        """Whether a hash of the set is committed; a new set has none until its frames are final."""
        return self.bench.name in committed_hashes()

    @property
    def is_as_committed(self) -> bool | None:
        """Whether the frames match the committed hash; None if only some were generated."""
        return None if self.sha256 is None else self.sha256 == committed_hashes().get(self.bench.name)


def open_bench(
    name: str, mocap: str | Path | None = None, limit: int | None = None, *, judging: str | None = None
) -> BenchFrames:
    """Return the frames of a set by its name; parameters as in `BenchFrames` and `chosen_names`."""
    return BenchFrames(SETS[chosen_names([name], judging)[0]], mocap, limit)


def chosen_names(names: Sequence[str], judging: str | None = None) -> list[str]:
    """Return names of sets, each once, in order; "all" stands for all sets, or all that evaluate `judging`.

    People can be searched for in any set. Parts can only be evaluated on sets that say so: others may show nobody.
    """
    every = [name for name, one in SETS.items() if judging is None or judging in one.judges]
    wanted = [one for name in names for one in (every if name == "all" else (name,))]
    unknown = [name for name in wanted if name not in SETS]
    if unknown:
        raise UsageError(f"no test set is called {unknown[0]!r}; there are {', '.join(SETS)}, or all")
    odd = [name for name in wanted if judging == PARTS and set(SETS[name].judges) == {PEOPLE}]
    if odd:
        raise UsageError(
            f"the test set {odd[0]} evaluates the detection of people, not parts; evaluate it with ",
            Parameter("people"),
            f", or take one of {', '.join(every)}",
        )  # fmt: skip
    return list(dict.fromkeys(wanted))


def committed_hashes() -> dict[str, str]:
    """Return the hashes of the sets' frames by name; empty if the committed ones are of another version."""
    content = read_json(HASHES, UsageError)
    return dict(content["sha256"]) if content["version"] == BENCH_VERSION else {}


def _content_digest(frame: LabeledFrame) -> bytes:
    """Return the hash of a frame: camera, depth, parts, people, and joints to `JOINT_STEP_M`."""
    content = hashlib.sha256(frame_digest(frame))
    for person, joints in sorted(frame.joints.items()):
        for name, joint in joints.items():
            steps = np.rint(np.array(joint.position) / JOINT_STEP_M).astype(int).tolist()
            content.update(f"{person} {name} {steps} {joint.is_visible:d}\n".encode())
    return content.digest()


def _check_needs(bench: BenchSet, mocap: str | Path | None) -> None:
    """Raise an error if clips or body data that a set needs are missing."""
    if bench.numbers["bodies"] != "procedural":
        from synth.bodies import find_folder

        find_folder()
    if not bench.needs_clips:
        return
    if mocap is None:
        alike = [one.name for one in _SETS if not one.needs_clips and set(one.judges) & set(bench.judges)]
        raise UsageError(
            f"the test set {bench.name} needs the CMU clips; name their folder (BVH files) with ",
            Parameter("mocap"),
            f", or take {', '.join(alike)}, which needs no clips" if alike else "",
        )
    from synth.poses import clip_files, clip_name, clip_subject

    known = {clip_subject(clip_name(path, mocap)) for path in clip_files(mocap)}
    missing = [subject for subject in HELD_OUT_SUBJECTS if subject not in known]
    if missing:
        raise UsageError(
            f"{mocap}: has no clips of the held-out CMU subjects {', '.join(missing)} (files such as "
            f"{missing[0]}_01.bvh), which the test set {bench.name} needs; get all CMU clips"
        )
