"""Frame and LabeledFrame: depth with its camera, without and with ground truth, as frozen, checked values."""

from __future__ import annotations

import math
import operator
import warnings
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from depthforest.base import (
    CameraError,
    DepthForestWarning,
    FrameError,
    Parameter,
    PartSetError,
    check_flag,
    is_finite,
    is_whole,
)
from depthforest.frames.camera import Camera, CameraLike, check_rotation, check_size
from depthforest.frames.parts import BODY31, JOINTS, NO_PART, PartSet
from depthforest.frames.units import MAX_MM, DepthMM, Scale, to_millimeters

Position = tuple[float, float, float]


@dataclass(frozen=True)
class Joint:
    """A joint in camera space.

    Parameters
    ----------
    position : (x, y, z)
        Meters.
    is_visible : bool
        Whether the frame shows the part of the body around it: neither hidden nor outside the picture.
    confidence : float
        0 to 1; 1 for ground truth.
    """

    position: Position
    is_visible: bool = True
    confidence: float = 1.0

    def __post_init__(self) -> None:
        try:
            position = tuple(map(float, self.position))
        except (TypeError, ValueError):
            position = ()
        if len(position) != 3 or not all(map(math.isfinite, position)):
            raise FrameError(f"a joint's position is three finite numbers in meters, got {self.position!r}")
        if not 0 <= self.confidence <= 1:
            raise FrameError(f"a joint's confidence lies between 0 and 1, got {self.confidence!r}")
        object.__setattr__(self, "position", position)
        object.__setattr__(self, "is_visible", bool(self.is_visible))


Joints = Mapping[str, Joint]


@dataclass(frozen=True, eq=False, repr=False)
class Frame:
    """A depth picture and its camera.

    Parameters
    ----------
    depth_mm : array (rows, cols)
        `uint16` millimeters, 0 = no reading; or float meters, which are converted. Copied and made read-only.
    camera : Camera
        Without lens distortion (`from_array` and `read_depth` remove it). If its size differs from the picture's, it is
        scaled, provided that the aspect fits.
    time_s : float, optional
        Time of the frame in seconds on the clock of its recording; None: unknown.
    name : str
        Name of the frame in messages. Comparisons of frames ignore name and time.
    """

    depth_mm: DepthMM
    camera: Camera
    time_s: float | None = field(default=None, kw_only=True)
    name: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        if self.time_s is not None and not is_finite(self.time_s):
            raise FrameError(f"time_s must be a finite number of seconds or None, got {self.time_s!r}")
        depth_mm = np.asarray(self.depth_mm)
        if depth_mm.dtype == np.uint16 and depth_mm.ndim == 2:
            # millimeters by definition, and called for every frame: only from_array checks units
            check_size(depth_mm.shape[1], depth_mm.shape[0], "depth", FrameError)
            is_void = depth_mm == MAX_MM
            depth_mm = np.where(is_void, np.uint16(0), depth_mm) if is_void.any() else depth_mm.copy()
        else:
            depth_mm = to_millimeters(depth_mm)
        if not isinstance(self.camera, Camera):
            raise CameraError(f"a Frame needs a Camera, got {self.camera!r}; Frame.from_array takes names and numbers")
        if self.camera.distortion:
            raise CameraError("a Frame needs an ideal lens; Frame.from_array and read_depth undistort")
        object.__setattr__(self, "depth_mm", _frozen(depth_mm))
        object.__setattr__(self, "camera", fitted_camera(self.camera, depth_mm.shape))

    @classmethod
    def from_array(
        cls,
        raw: npt.ArrayLike,
        camera: CameraLike | None = None,
        *,
        scale: Scale = None,
        flip: bool = False,
        rotate: int = 0,
        name: str = "depth",
        time_s: float | None = None,
    ) -> Frame:
        """Make a frame from an array that a camera driver delivers.

        Parameters
        ----------
        raw : array (rows, cols)
            Integers in millimeters or floats in meters, unless `scale` says otherwise.
        camera : Camera, str, Path, mapping or 3 x 3 matrix, optional
            As in `Camera.parse`. It describes the sensor itself: upright in its own housing, not mirrored. None guesses
            a preset by the size of the picture and warns.
        scale : float or str, optional
            As in `units.to_millimeters`.
        flip : bool
            Mirror the picture, because the driver mirrors it (OpenNI does by default) and would swap left and right.
        rotate : int
            Degrees (0, 90, 180 or 270) to rotate the picture clockwise, for a sensor mounted on its side.
        name : str
            Name of the picture in messages.
        time_s : float, optional
            When it was taken, in seconds.
        """
        check_rotation(rotate)
        check_flag("flip", flip)
        depth_mm = to_millimeters(raw, scale=scale, name=name)
        if flip:
            depth_mm = depth_mm[:, ::-1]
        height, width = depth_mm.shape
        try:
            sensor = _guessed_camera(width, height) if camera is None else Camera.parse(camera, (width, height))
            sensor = fitted_camera(sensor, depth_mm.shape)
        except CameraError as error:
            raise CameraError(f"{name}: {error}") from None
        if not (0 <= sensor.cx < width and 0 <= sensor.cy < height):
            warnings.warn(
                f"the principal point ({sensor.cx:g}, {sensor.cy:g}) lies outside pictures of {width} x {height}; "
                "is it right?",
                DepthForestWarning,
                stacklevel=2,
            )
        depth_mm = sensor.undistort(np.ascontiguousarray(depth_mm))
        turned = sensor.without_distortion().rotated(rotate)
        return Frame(np.rot90(depth_mm, -rotate // 90), turned, time_s=time_s, name=name)

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, cols)."""
        return self.camera.shape

    def points(self) -> npt.NDArray[np.float32]:
        """Return the camera-space point of every pixel: (rows, cols, 3) in meters, NaN without a reading."""
        return self.camera.unproject_frame(self.depth_mm)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        content = (entry.name for entry in fields(self) if not entry.kw_only)
        return all(_same(getattr(self, key), getattr(other, key)) for key in content)

    __hash__ = None  # type: ignore[assignment]  # compares by the content of arrays

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle through the constructor, so that the copy is checked and read-only as well."""
        return _made, (type(self), {entry.name: _plain(getattr(self, entry.name)) for entry in fields(self)})

    def __repr__(self) -> str:
        share = np.count_nonzero(self.depth_mm) / self.depth_mm.size
        return f"{type(self).__name__}({self.camera.width} x {self.camera.height}, {share:.0%} readings)"


@dataclass(frozen=True, eq=False, repr=False)
class LabeledFrame(Frame):
    """A frame with ground truth: the part and the person of every pixel, and the joints.

    Parameters
    ----------
    depth_mm, camera
        As in `Frame`.
    parts : array (rows, cols), uint8
        Label in `part_set`; 255 = no person.
    people : array (rows, cols), uint8
        Person id from 1; 0 = nobody.
    joints : mapping of person id to mapping of joint name to Joint
        Joint names are those of `parts.JOINTS`. A person may be completely hidden.
    part_set : PartSet
        What the labels mean.
    """

    parts: npt.NDArray[np.uint8]
    people: npt.NDArray[np.uint8]
    joints: Mapping[int, Joints] = field(default_factory=dict)
    part_set: PartSet = BODY31

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.part_set, PartSet):
            raise PartSetError(f"part_set must be a PartSet, got {self.part_set!r}")
        parts = _label_picture(self.parts, self.shape, "parts")
        self.part_set.check_labels(parts)
        people = _label_picture(self.people, self.shape, "people")
        is_lost = (parts != NO_PART) & (people == 0)
        if is_lost.any():
            raise FrameError(f"{is_lost.sum()} pixels have a part but belong to nobody; people must be 1 or more there")
        object.__setattr__(self, "parts", _frozen(parts))
        object.__setattr__(self, "people", _frozen(people))
        object.__setattr__(self, "joints", _checked_joints(self.joints))

    @classmethod
    def _of_own(
        cls,
        depth_mm: DepthMM,
        camera: Camera,
        parts: npt.NDArray[np.uint8],
        people: npt.NDArray[np.uint8],
        joints: Mapping[int, Joints],
    ) -> LabeledFrame:
        """Return a BODY31 frame of arrays that nobody else holds and that would pass the constructor's checks.

        For the generator, which guarantees both: arrays are neither checked nor copied, only made read-only.
        """
        frame = object.__new__(cls)
        frame.__dict__.update(
            depth_mm=_frozen(depth_mm),
            camera=camera,
            parts=_frozen(parts),
            people=_frozen(people),
            joints=MappingProxyType({person: MappingProxyType(its) for person, its in joints.items()}),
            part_set=BODY31,
            time_s=None,
            name="",
        )
        return frame


class FrameSource(Sequence[LabeledFrame]):
    """Labeled frames that are read or made on demand; a slice gives a list."""

    @abstractmethod
    def _frame(self, number: int) -> LabeledFrame:
        """Return the frame with a number from 0 to len(self) - 1."""

    @overload
    def __getitem__(self, index: int) -> LabeledFrame: ...
    @overload
    def __getitem__(self, index: slice) -> list[LabeledFrame]: ...
    def __getitem__(self, index: int | slice) -> LabeledFrame | list[LabeledFrame]:
        n = len(self)
        if isinstance(index, slice):
            return [self._frame(i) for i in range(*index.indices(n))]
        number = operator.index(index)
        if not -n <= number < n:
            raise IndexError(f"frame {number} of {n}")
        return self._frame(number % n)


def fitted_camera(camera: Camera, shape: tuple[int, ...]) -> Camera:
    """Return the camera at the size (rows, cols) of a picture: scaled, with a warning, where the aspect fits."""
    height, width = shape
    if (height, width) == camera.shape:
        return camera
    try:
        scaled = camera.scaled(width, height)
    except CameraError:
        raise CameraError(
            f"the picture is {width} x {height} but the camera {camera.width} x {camera.height}, "
            "which has a different aspect ratio; give the camera of this picture (",
            Parameter("rotate", 90),
            " turns a sensor mounted on its side)",
        ) from None
    warnings.warn(
        f"the camera is {camera.width} x {camera.height} and is scaled to pictures of {width} x {height}",
        DepthForestWarning,
        stacklevel=4,
    )
    return scaled


def _guessed_camera(width: int, height: int) -> Camera:
    guess = Camera.guess(width, height)
    if guess is None:
        raise CameraError(
            f"no camera given, and {width} x {height} is the size of no preset; pass ",
            Parameter("camera"),
            ": a preset, fx,fy,cx,cy or a .json file",
        )
    name, camera = guess
    warnings.warn(
        DepthForestWarning(
            f"no camera given; pictures of {width} x {height} are taken as {name}: pass ",
            Parameter("camera"),
            " to say so",
        ),
        stacklevel=4,
    )
    return camera


def _label_picture(labels: Any, shape: tuple[int, int], name: str) -> npt.NDArray[np.uint8]:
    array = np.asarray(labels)
    if array.shape != shape:
        raise FrameError(f"{name} have shape {array.shape}, the depth {shape}; they must be equal")
    if array.dtype != np.uint8:
        raise FrameError(f"{name} must be uint8, got {array.dtype}")
    return array.copy()


def _checked_joints(joints: Mapping[int, Joints]) -> Mapping[int, Joints]:
    checked: dict[int, Joints] = {}
    for person, its_joints in joints.items():
        if not is_whole(person, 1, 255):
            raise FrameError(f"a person's id is a whole number from 1 to 255, got {person!r}")
        for name, joint in its_joints.items():
            if name not in JOINTS:
                raise FrameError(f"no joint is called {name!r}; joints: {', '.join(JOINTS)}")
            if not isinstance(joint, Joint):
                raise FrameError(f"joint {name!r} must be a Joint, got {type(joint).__name__}")
            if joint.confidence != 1:
                raise FrameError(f"joint {name!r} has confidence {joint.confidence}; the truth has 1")
        if its_joints:
            checked[int(person)] = MappingProxyType(dict(its_joints))
    return MappingProxyType(checked)


def _frozen(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    array = np.ascontiguousarray(array)
    array.setflags(write=False)
    return array


def _made(kind: type[Frame], content: dict[str, Any]) -> Frame:
    """Return a frame from its fields, for copies and pickles."""
    return kind(**content)


def _plain(value: Any) -> Any:
    """Return mappings that cannot be pickled as dicts."""
    return {key: _plain(v) for key, v in value.items()} if isinstance(value, Mapping) else value


def _same(a: Any, b: Any) -> bool:
    return bool(np.array_equal(a, b)) if isinstance(a, np.ndarray) else bool(a == b)
