"""Camera: pinhole intrinsics with presets, parsing, scaling, cropping, turning and projection.

Camera space is OpenCV's: x right, y down, z forward, in meters. Pixels are (row, col) with centers at integers, so
the picture spans -0.5 to height - 0.5, and scaling by s sends a center c to (c + 0.5) s - 0.5.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from depthforest.base import CameraError, Floats, is_finite, read_json, shown

MAX_PIXELS = 2**26
"""Largest picture that is opened: 8192 x 8192. A header with a larger size marks a broken or hostile file."""

_most_pixels: ContextVar[int] = ContextVar("most_pixels", default=MAX_PIXELS)

MIN_FOCAL = 0.02
"""Smallest focal length over the picture's shorter side: a view of 175 degrees. Less is in meters or millimeters."""

MAX_FOCAL_PX = 1e6
"""Largest focal length and coordinate of the principal point, in pixels: far beyond any lens, and float32 stays finite
at a depth of 1 mm."""

DISTORTION_LENGTHS = (0, 4, 5, 8)
"""OpenCV's coefficient vectors: none; k1 k2 p1 p2; with k3; with k4 k5 k6 (rational)."""


@dataclass(frozen=True)
class Camera:
    """Intrinsics of a depth camera.

    Parameters
    ----------
    fx, fy : float
        Focal lengths in pixels.
    cx, cy : float
        Principal point: column and row, in pixels.
    width, height : int
        Size of its pictures in pixels.
    distortion : sequence of float
        OpenCV's lens coefficients (k1, k2, p1, p2[, k3[, k4, k5, k6]]); empty for an ideal lens.
    """

    fx: float
    fy: float
    cx: float
    cy: float
    width: int
    height: int
    distortion: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        for name in ("fx", "fy", "cx", "cy"):
            object.__setattr__(self, name, _finite(name, getattr(self, name)))
        if self.fx <= 0 or self.fy <= 0:
            raise CameraError(f"focal lengths must be above 0 pixels, got fx={self.fx:g}, fy={self.fy:g}")
        for name in ("width", "height"):
            object.__setattr__(self, name, _whole(name, getattr(self, name)))
        check_size(self.width, self.height, "camera", CameraError)
        if max(self.fx, self.fy) > MAX_FOCAL_PX:
            raise CameraError(
                f"focal lengths above {MAX_FOCAL_PX:g} pixels are not supported, got fx={self.fx:g}, fy={self.fy:g}"
            )
        if min(self.fx, self.fy) < MIN_FOCAL * min(self.width, self.height):
            raise CameraError(
                f"focal lengths are in pixels, at least {MIN_FOCAL:g} of the picture's shorter side; got "
                f"fx={self.fx:g}, fy={self.fy:g} (in meters or millimeters, divide by the pixel pitch)"
            )
        if max(abs(self.cx), abs(self.cy)) > MAX_FOCAL_PX:
            raise CameraError(f"the principal point is in pixels, near the picture; got cx={self.cx:g}, cy={self.cy:g}")
        coefficients = self.distortion
        if isinstance(coefficients, str) or not isinstance(coefficients, Sequence | np.ndarray):
            raise CameraError(f"distortion must be a list of coefficients, got {coefficients!r}")
        if len(coefficients) not in DISTORTION_LENGTHS:
            raise CameraError(
                f"distortion takes 4, 5 or 8 coefficients (k1 k2 p1 p2 [k3 [k4 k5 k6]]), got {len(coefficients)}"
            )
        values = tuple(_finite("distortion", c) for c in coefficients)
        object.__setattr__(self, "distortion", values if any(values) else ())

    # -- where cameras come from ---------------------------------------------------------------------------------------

    @classmethod
    def preset(cls, name: str) -> Camera:
        """Return a preset, ``"kinect_v1"``, or one scaled to another size, ``"kinect_v1@320x240"``."""
        base, _, size = name.partition("@")
        if base not in PRESETS:
            raise CameraError(f"no camera preset is called {base!r}; presets: {', '.join(PRESETS)}")
        camera = PRESETS[base]
        return camera.scaled(*parse_size(size)) if "@" in name else camera

    @classmethod
    def parse(cls, value: CameraLike, size: tuple[int, int] | None = None) -> Camera:
        """Return the camera that the user specified.

        Parameters
        ----------
        value : Camera, str, Path, mapping or array
            A camera; a preset as in `preset`; numbers ``"fx,fy,cx,cy"`` or ``"fx,fy,cx,cy,WxH"``; the path of a JSON
            file with the fields of this class; a mapping with these fields; or the 3 x 3 matrix K of OpenCV and ROS,
            for pictures of any size.
        size : (width, height), optional
            Size of the camera's pictures, for numbers that come without one.
        """
        if isinstance(value, Camera):
            return value
        if isinstance(value, Mapping):
            return cls.from_dict(value)
        if isinstance(value, str) and value.partition("@")[0] in PRESETS:
            return cls.preset(value)
        if isinstance(value, str) and "," in value:
            return cls._from_numbers(value, size)
        if isinstance(value, Path) or (isinstance(value, str) and value.lower().endswith(".json")):
            return cls.from_json(value)
        if isinstance(value, np.ndarray | list | tuple):
            if size is None:
                raise CameraError("a camera matrix has no picture size; use Camera.from_matrix(K, width, height)")
            return cls.from_matrix(value, *size)
        raise CameraError(
            f"{shown(value)} is not a camera preset; name a preset ({', '.join(PRESETS)}), a preset scaled as in "
            "kinect_v1@320x240, numbers fx,fy,cx,cy[,WxH], or a .json file; in Python also a 3 x 3 matrix K"
        )

    @staticmethod
    def waits_for_size(value: object) -> bool:
        """Return whether the camera that the user specified needs a picture size: numbers, or a matrix K."""
        return (isinstance(value, str) and value.count(",") == 3) or isinstance(value, np.ndarray | list | tuple)

    @classmethod
    def _from_numbers(cls, text: str, size: tuple[int, int] | None) -> Camera:
        fields = [f.strip() for f in text.split(",")]
        if len(fields) not in (4, 5):
            raise CameraError(
                f"camera numbers are fx,fy,cx,cy or fx,fy,cx,cy,WxH; got {len(fields)} fields in {text!r}"
            )
        try:
            fx, fy, cx, cy = (float(f) for f in fields[:4])
        except ValueError:
            raise CameraError(f"camera numbers are fx,fy,cx,cy[,WxH]; got {text!r}") from None
        if len(fields) == 5:
            size = parse_size(fields[4])
        if size is None:
            raise CameraError(f"camera {text!r} has no picture size; append it, as in {text},640x480")
        return cls(fx, fy, cx, cy, *size)

    @classmethod
    def from_matrix(cls, matrix: npt.ArrayLike, width: int, height: int, distortion: Sequence[float] = ()) -> Camera:
        """Build a camera from the 3 x 3 matrix that OpenCV and ROS call K."""
        try:
            k = np.asarray(matrix, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            raise CameraError(f"a camera matrix is 3 x 3 numbers, got {shown(matrix)}") from None
        if k.shape != (3, 3) or (k[[1, 2, 2], [0, 0, 1]] != 0).any() or k[2, 2] != 1 or k[0, 1] != 0:
            raise CameraError(f"a camera matrix is [[fx, 0, cx], [0, fy, cy], [0, 0, 1]], got {shown(k.tolist())}")
        return cls(float(k[0, 0]), float(k[1, 1]), float(k[0, 2]), float(k[1, 2]), width, height, tuple(distortion))

    @classmethod
    def from_json(cls, path: str | Path) -> Camera:
        """Read a camera from a JSON file: its fields, or an object that holds them under "camera"."""
        content = read_json(Path(path), CameraError)
        if isinstance(content, Mapping) and isinstance(content.get("camera"), Mapping):
            content = content["camera"]
        return cls.from_dict(content, str(path))

    @classmethod
    def from_dict(cls, content: object, name: str = "camera") -> Camera:
        """Build a camera from its JSON form."""
        required = ("fx", "fy", "cx", "cy", "width", "height")
        if not isinstance(content, Mapping):
            raise CameraError(f"{name}: expected an object with {', '.join(required)}")
        missing = [key for key in required if key not in content]
        unknown = [str(key) for key in content if key not in (*required, "distortion")]
        if missing or unknown:
            said = [f"lacks {', '.join(missing)}"] * bool(missing) + [f"has unknown {', '.join(unknown)}"] * bool(
                unknown
            )
            raise CameraError(f"{name}: {' and '.join(said)}; a camera has {', '.join(required)} and maybe distortion")
        try:
            return cls(**content)
        except CameraError as error:
            raise CameraError(f"{name}: {error}") from None

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form, with `distortion` only if there is any."""
        content = asdict(self)
        content["distortion"] = list(self.distortion)
        if not self.distortion:
            del content["distortion"]
        return content

    @classmethod
    def guess(cls, width: int, height: int) -> tuple[str, Camera] | None:
        """Return the name and camera of the preset whose native size is this one, or two or four times as large."""
        for divisor in (1, 2, 4):
            for name, camera in PRESETS.items():
                if (width * divisor, height * divisor) == (camera.width, camera.height):
                    return name if divisor == 1 else f"{name}@{width}x{height}", camera.scaled(width, height)
        return None

    # -- other pictures of the same lens -------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, cols) of its pictures."""
        return self.height, self.width

    def scaled(self, width: int, height: int) -> Camera:
        """Return the camera of the same view at another resolution; the aspect must fit to a pixel."""
        width, height = _whole("width", width), _whole("height", height)
        check_size(width, height, "camera", CameraError)
        if abs(width * self.height - height * self.width) > max(self.width, self.height):
            raise CameraError(
                f"a {self.width} x {self.height} camera cannot be scaled to {width} x {height}: the aspect differs; "
                "give the intrinsics of that picture, or the crop"
            )
        sx, sy = width / self.width, height / self.height
        return replace(
            self,
            fx=self.fx * sx,
            fy=self.fy * sy,
            cx=(self.cx + 0.5) * sx - 0.5,
            cy=(self.cy + 0.5) * sy - 0.5,
            width=width,
            height=height,
        )

    def cropped(self, row: int, col: int, height: int, width: int) -> Camera:
        """Return the camera of the window of `height` x `width` pixels whose first pixel is (row, col)."""
        row, col, height, width = (_whole("a crop's corner and size", v) for v in (row, col, height, width))
        if not (row >= 0 and col >= 0 and row + height <= self.height and col + width <= self.width):
            raise CameraError(
                f"crop of {width} x {height} at row {row}, col {col} leaves the {self.width} x {self.height} picture"
            )
        return replace(self, cx=self.cx - col, cy=self.cy - row, width=width, height=height)

    def rotated(self, degrees: int) -> Camera:
        """Return the camera of the picture turned clockwise by 0, 90, 180 or 270 degrees."""
        self._require_ideal_lens("turned")
        camera = self
        for _ in range(check_rotation(degrees) // 90):
            # clockwise: the new row is the old column, the new column counts the old rows from below
            camera = Camera(camera.fy, camera.fx, camera.height - 1 - camera.cy, camera.cx, camera.height, camera.width)
        return camera

    def flipped(self) -> Camera:
        """Return the camera of the picture mirrored left to right."""
        self._require_ideal_lens("flipped")
        return replace(self, cx=self.width - 1 - self.cx)

    def without_distortion(self) -> Camera:
        """Return the ideal camera that `undistort` maps pictures to."""
        return replace(self, distortion=())

    def undistort(self, image: npt.NDArray[Any], fill: int = 0) -> npt.NDArray[Any]:
        """Return the picture that an ideal lens would have taken: nearest pixels, never blended; `fill` outside.

        Depth is the distance along the optical axis, so a lens moves values without changing them.
        """
        if image.shape[:2] != self.shape:
            raise CameraError(
                f"cannot undistort a {image.shape[1]} x {image.shape[0]} picture "
                f"with a {self.width} x {self.height} camera"
            )
        if not self.distortion:
            return image
        import cv2

        matrix = np.array([[self.fx, 0, self.cx], [0, self.fy, self.cy], [0, 0, 1]])
        maps = cv2.initUndistortRectifyMap(
            matrix, np.array(self.distortion), np.eye(3), matrix, (self.width, self.height), cv2.CV_32FC1
        )
        return cv2.remap(image, *maps, cv2.INTER_NEAREST, borderMode=cv2.BORDER_CONSTANT, borderValue=fill)

    # -- projection ----------------------------------------------------------------------------------------------------

    def project(self, points: npt.ArrayLike) -> Floats:
        """Project camera-space points to pixels.

        Parameters
        ----------
        points : array (..., 3), meters

        Returns
        -------
        array (..., 2), float64
            (row, col); NaN for points that are not in front of the camera.
        """
        self._require_ideal_lens("used to project")
        xyz = _last_axis(points, 3, "points")
        z = np.where(xyz[..., 2] > 0, xyz[..., 2], np.nan)
        with np.errstate(over="ignore", invalid="ignore"):
            return np.stack((self.fy * xyz[..., 1] / z + self.cy, self.fx * xyz[..., 0] / z + self.cx), axis=-1)

    def unproject(self, pixels: npt.ArrayLike, depth: npt.ArrayLike) -> Floats:
        """Return the camera-space points (..., 3) of pixels (..., 2) = (row, col) at depths (...) in meters."""
        self._require_ideal_lens("used to unproject")
        rc = _last_axis(pixels, 2, "pixels")
        z = np.broadcast_to(np.asarray(depth, dtype=np.float64), rc.shape[:-1])
        return np.stack(((rc[..., 1] - self.cx) / self.fx * z, (rc[..., 0] - self.cy) / self.fy * z, z), axis=-1)

    def unproject_frame(self, depth_mm: npt.NDArray[np.uint16]) -> npt.NDArray[np.float32]:
        """Return the camera-space point of every pixel, (rows, cols, 3) in meters; NaN where there is no reading."""
        self._require_ideal_lens("used to unproject")
        if depth_mm.shape != self.shape:
            raise CameraError(f"depth of shape {depth_mm.shape} does not fit a {self.width} x {self.height} camera")
        z = np.where(depth_mm > 0, depth_mm / np.float32(1000), np.float32(np.nan))
        points = np.empty((*self.shape, 3), dtype=np.float32)
        points[..., 0] = z * ((np.arange(self.width) - self.cx) / self.fx).astype(np.float32)
        points[..., 1] = z * ((np.arange(self.height) - self.cy) / self.fy).astype(np.float32)[:, None]
        points[..., 2] = z
        return points

    def _require_ideal_lens(self, verb: str) -> None:
        if self.distortion:
            raise CameraError(
                f"a camera with lens distortion cannot be {verb}; "
                "undistort the picture and take camera.without_distortion()"
            )


def check_rotation(degrees: int) -> int:
    """Return a clockwise rotation in degrees if it is 0, 90, 180 or 270."""
    if degrees not in (0, 90, 180, 270):
        raise CameraError(f"rotate takes 0, 90, 180 or 270 degrees clockwise, got {degrees!r}")
    return int(degrees)


def check_size(width: int, height: int, name: str, error_type: type[Exception]) -> None:
    """Raise `error_type` unless the size is one of a picture that can be opened."""
    most = _most_pixels.get()
    if width < 1 or height < 1 or width * height > most:
        raise error_type(f"{name}: {width} x {height} pixels; expected 1 to {most} pixels in all")


@contextmanager
def at_most_pixels(n: int) -> Iterator[None]:
    """Let readers refuse larger pictures inside the block, by their headers: nothing of them is decoded.

    Parameters
    ----------
    n : int
        Pixels of a picture. The limit holds for the thread that enters the block.
    """
    before = _most_pixels.set(min(n, MAX_PIXELS))
    try:
        yield
    finally:
        _most_pixels.reset(before)


def parse_size(text: str) -> tuple[int, int]:
    """Return (width, height) of a text such as ``"640x480"``."""
    match = re.fullmatch(r"(\d{1,6})[xX](\d{1,6})", text.strip())
    if not match:
        raise CameraError(f"a size is written WIDTHxHEIGHT, as in 640x480; got {text!r}")
    size = int(match[1]), int(match[2])
    check_size(*size, "size", CameraError)
    return size


def _finite(name: str, value: object) -> float:
    if not is_finite(value):
        raise CameraError(f"{name} must be a finite number, got {shown(value)}")
    return float(value)


def _whole(name: str, value: object) -> int:
    number = _finite(name, value)
    if number != int(number):
        raise CameraError(f"{name} must be a whole number of pixels, got {value!r}")
    return int(number)


def _last_axis(values: npt.ArrayLike, n: int, name: str) -> Floats:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim < 1 or array.shape[-1] != n:
        raise CameraError(f"{name} must have a last axis of length {n}, got shape {array.shape}")
    return array


CameraLike = Camera | str | Path | Mapping[str, Any] | npt.NDArray[Any] | Sequence[Sequence[float]]
"""What `Camera.parse` takes."""

_KINECT_V1 = Camera(525.0, 525.0, 319.5, 239.5, 640, 480)
PRESETS: dict[str, Camera] = {
    "kinect_v1": _KINECT_V1,
    "xtion": _KINECT_V1,  # the same PrimeSense sensor
    "kinect_v2": Camera(365.456, 365.456, 254.878, 205.395, 512, 424),
    "azure_nfov": Camera(504.0, 504.0, 320.0, 288.0, 640, 576),
    "realsense_d435": Camera(425.0, 425.0, 424.0, 240.0, 848, 480),
}
"""Nominal intrinsics. Azure's and RealSense's differ from device to device: read them from yours where you can."""
