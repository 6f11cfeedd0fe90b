"""Pictures: shaded depth, colored parts, overlays, skeletons, contact sheets; as arrays and as PNG.

Every picture is an RGB array (rows, cols, 3) of uint8; inputs are never modified.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import IO, Any

import cv2
import numpy as np
import numpy.typing as npt

from depthforest.base import UsageError, replacing
from depthforest.frames.camera import Camera
from depthforest.frames.frame import Frame, Joints
from depthforest.frames.parts import BONES, JOINTS, PartSet, spread_colors
from depthforest.frames.shading import painted, shaded_depth

Picture = npt.NDArray[np.uint8]
Color = tuple[int, int, int]

MAX_CELL_PX = 10_000
FONT = cv2.FONT_HERSHEY_SIMPLEX
LEFT_COLOR: Color = (255, 170, 60)
RIGHT_COLOR: Color = (70, 170, 255)
MIDDLE_COLOR: Color = (240, 240, 240)
OUTLINE: Color = (20, 20, 20)
"""Color of the outline around bones and dots, which makes them stand out from any part's color."""

DRAWN_CONFIDENCE = 0.3
"""Lowest confidence of a joint in pictures; files hold all joints, including guesses of hidden knees."""

FADED_TO, FAINTEST = 120, 0.35
"""A joint without confidence keeps this share of its color; the rest is this gray."""

BONE_M = 0.016
"""Thickness of a drawn bone in meters, so that bones do not hide a distant person."""

DASH_PX = 7
"""Length of a dash and its gap, in widths of a bone."""

PEOPLE_COLORS: npt.NDArray[np.uint8] = np.array([(0, 0, 0), *spread_colors(255)], dtype=np.uint8)
"""Color of each person id; black for nobody."""


def shade(frame: Frame) -> Picture:
    """Return a shaded picture of a frame: surface normals under one light, tinted from near (warm) to far (cool).

    Pixels without a reading are black.
    """
    if not isinstance(frame, Frame):
        raise UsageError(f"expected a Frame, got {type(frame).__name__}; Frame.from_array makes one of an array")
    return shaded_depth(frame)


def color_parts(parts: npt.NDArray[np.uint8], part_set: PartSet) -> Picture:
    """Return labels in their colors; black where there is no part."""
    part_set.check_labels(parts)
    return part_set.color_table[parts]


def overlay(
    frame: Frame,
    parts: npt.NDArray[np.uint8],
    part_set: PartSet,
    *,
    opacity: float = 0.75,
    shaded: Picture | None = None,
) -> Picture:
    """Return the shaded frame with its parts painted on; the shading shows through.

    Pass `shade(frame)` as `shaded` if you have it: shading takes longer than painting.
    """
    if parts.shape != frame.shape:
        raise UsageError(f"parts of shape {parts.shape} cannot be laid over a frame of shape {frame.shape}")
    if not 0 <= opacity <= 1:
        raise UsageError(f"opacity lies between 0 and 1, got {opacity}")
    if shaded is None:
        shaded = shade(frame)
    _check_picture(shaded)
    if shaded.shape[:2] != frame.shape:
        raise UsageError(f"a shaded picture of {shaded.shape[:2]} cannot be painted for a frame of {frame.shape}")
    part_set.check_labels(parts)
    return painted(shaded, parts, part_set.color_table, opacity)


def with_skeletons(
    picture: Picture,
    joints_by_person: Mapping[int, Mapping[str, Any]],
    camera: Camera,
    *,
    ids: bool = False,
    least: float = 0,
) -> Picture:
    """Return a copy of a picture with skeletons: left bones warm, right ones cool, middle ones white.

    Sides are the person's own.

    Colors fade with confidence. A joint that the frame does not show (`is_visible` is False: hidden, or bridged by
    `JointTracks`) is a hollow dot, and its bones are dashed.

    Parameters
    ----------
    picture : RGB array of the camera's size
    joints_by_person : mapping of person id to mapping of joint name to joint
        Found, tracked or true joints: each has a `position` in camera space and perhaps `confidence` and `is_visible`.
    camera : Camera
    ids : bool
        Write each person's id above the highest joint.
    least : float
        Joints with less confidence are left out.
    """
    _check_picture(picture)
    if picture.shape[:2] != camera.shape:
        raise UsageError(f"a picture of {picture.shape[:2]} needs a camera of this shape, got one of {camera.shape}")
    drawn = np.ascontiguousarray(picture).copy()
    # near people are drawn over distant ones
    for person, joints in sorted(joints_by_person.items(), key=lambda item: -_distance(item[1])):
        known = {
            name: joints[name]
            for name in JOINTS
            if name in joints and float(getattr(joints[name], "confidence", 1.0)) >= least
        }
        sure = {name: float(getattr(joint, "confidence", 1.0)) for name, joint in known.items()}
        is_seen = {name: getattr(joint, "is_visible", True) for name, joint in known.items()}
        at, size = _pixels_of(known, camera), _bone_width(known, camera)
        for a, b in BONES:
            if a in at and b in at:
                color = _faded(b, min(sure[a], sure[b]))
                _draw_bone(drawn, at[a], at[b], color, size, is_seen=is_seen[a] and is_seen[b])
        for name, center in at.items():
            cv2.circle(drawn, center, size + 2, OUTLINE, -1, cv2.LINE_AA)
            cv2.circle(drawn, center, size + 1, _faded(name, sure[name]), -1 if is_seen[name] else 1, cv2.LINE_AA)
        if ids and at:
            _draw_id(drawn, person, min(at.values(), key=lambda pixel: pixel[1]))
    return drawn


def draw_joints(picture: Picture, camera: Camera, people: Mapping[int, Joints] | Iterable[Joints]) -> Picture:
    """Return a picture with true skeletons, as `with_skeletons` draws them, of people with or without ids."""
    by_person = people if isinstance(people, Mapping) else dict(enumerate(people, start=1))
    return with_skeletons(picture, by_person, camera)


def _pixels_of(joints: Mapping[str, Any], camera: Camera) -> dict[str, tuple[int, int]]:
    """Return where joints are drawn, (col, row); those behind the camera or absurdly far outside are left out."""
    pixels = camera.project([joint.position for joint in joints.values()]) if joints else np.empty((0, 2))
    return {
        name: (round(float(col)), round(float(row)))
        for name, (row, col) in zip(joints, pixels, strict=True)
        if np.isfinite((row, col)).all() and abs(row) < 1e5 and abs(col) < 1e5
    }


def _bone_width(joints: Mapping[str, Any], camera: Camera) -> int:
    """Return the width of bones in pixels: `BONE_M` at the person's distance, limited in small pictures."""
    return round(min(max(BONE_M * camera.fy / _distance(joints), 1.0), max(1.0, min(camera.shape) / 120)))


def _distance(joints: Mapping[str, Any]) -> float:
    """Return a person's distance from the camera in meters."""
    return float(median([joint.position[2] for joint in joints.values() if joint.position[2] > 0] or [math.inf]))


def _draw_bone(
    drawn: Picture, start: tuple[int, int], end: tuple[int, int], color: Color, size: int, *, is_seen: bool
) -> None:
    if is_seen:
        cv2.line(drawn, start, end, OUTLINE, size + 1 + size // 2, cv2.LINE_AA)
        cv2.line(drawn, start, end, color, size, cv2.LINE_AA)
        return
    # clipped to the picture: a bone may end very far outside
    is_inside, first, last = cv2.clipLine((0, 0, drawn.shape[1], drawn.shape[0]), start, end)
    n_dashes = max(1, round(math.dist(first, last) / (DASH_PX * size))) if is_inside else 0
    for dash in range(n_dashes):
        share = (dash + np.array([[0.3], [0.7]])) / n_dashes
        ends = np.rint((1 - share) * first + share * last).astype(int).tolist()
        _draw_bone(drawn, ends[0], ends[1], color, size, is_seen=True)


def _draw_id(drawn: Picture, person: int, highest: tuple[int, int]) -> None:
    """Write a person's id above a pixel (col, row), inside the picture."""
    text, scale = str(person), 0.3 + min(drawn.shape[:2]) / 1600
    (width, height), _ = cv2.getTextSize(text, FONT, scale, 1)
    col = min(max(highest[0] - width // 2, 2), drawn.shape[1] - width - 2)
    row = min(max(highest[1] - 2 * height, height + 2), drawn.shape[0] - 3)
    cv2.rectangle(drawn, (col - 2, row - height - 2), (col + width + 1, row + 2), OUTLINE, -1)
    cv2.putText(drawn, text, (col, row), FONT, scale, MIDDLE_COLOR, 1, cv2.LINE_AA)


def _faded(name: str, confidence: float) -> Color:
    """Return the color of a joint's side, as strong as its confidence."""
    strength = FAINTEST + (1 - FAINTEST) * min(max(confidence, 0.0), 1.0)
    color = {"_l": LEFT_COLOR, "_r": RIGHT_COLOR}.get(name[-2:], MIDDLE_COLOR)
    red, green, blue = (round(FADED_TO + strength * (channel - FADED_TO)) for channel in color)
    return red, green, blue


def side_by_side(pictures: Sequence[Picture], *, gap_px: int = 4) -> Picture:
    """Return pictures in one row, centered vertically on black."""
    return contact_sheet(pictures, columns=max(1, len(pictures)), gap_px=gap_px)


def contact_sheet(
    pictures: Sequence[Picture],
    *,
    columns: int | None = None,
    titles: Sequence[str] | None = None,
    cell_width: int | None = None,
    gap_px: int = 4,
) -> Picture:
    """Return pictures in a grid.

    Parameters
    ----------
    pictures : sequence of RGB arrays
        Of any sizes; each is centered in a cell as large as the largest.
    columns : int, optional
        Default: as many as make the sheet about 3:2.
    titles : sequence of str, optional
        One line above each picture.
    cell_width : int, optional
        Shrink or enlarge pictures to this width in pixels.
    gap_px : int
        Black between cells.
    """
    if len(pictures) == 0:
        raise UsageError("a contact sheet needs at least one picture")
    if titles is not None and len(titles) != len(pictures):
        raise UsageError(f"expected one title for each of {len(pictures)} pictures, got {len(titles)}")
    for picture in pictures:
        _check_picture(picture)
    if cell_width is not None and not 1 <= cell_width <= MAX_CELL_PX:
        raise UsageError(f"cell_width must be from 1 to {MAX_CELL_PX} pixels, got {cell_width}")
    if cell_width is not None:
        pictures = [_resized(p, cell_width) for p in pictures]
    height = max(p.shape[0] for p in pictures)
    width = max(p.shape[1] for p in pictures)
    head = 18 if titles is not None else 0
    n_cols = columns if columns is not None else _square_columns(len(pictures), width, height + head)
    if n_cols < 1:
        raise UsageError(f"columns must be 1 or more, got {columns}")
    n_rows = -(-len(pictures) // n_cols)
    n_cols = min(n_cols, len(pictures))
    step_row, step_col = height + head + gap_px, width + gap_px
    sheet = np.zeros((n_rows * step_row - gap_px, n_cols * step_col - gap_px, 3), dtype=np.uint8)
    for i, picture in enumerate(pictures):
        row, col = i // n_cols * step_row, i % n_cols * step_col
        top, left = row + head + (height - picture.shape[0]) // 2, col + (width - picture.shape[1]) // 2
        sheet[top : top + picture.shape[0], left : left + picture.shape[1]] = picture
        if titles is not None:
            cell = np.ascontiguousarray(sheet[row : row + head, col : col + width])
            cv2.putText(cell, _fitting(titles[i], width), (2, 13), FONT, 0.42, (230, 230, 230), 1, cv2.LINE_AA)
            sheet[row : row + head, col : col + width] = cell
    return sheet


def _square_columns(n: int, width: int, height: int) -> int:
    """Return how many columns make a sheet of `n` cells about 3:2."""
    return min(n, max(1, round(math.sqrt(1.5 * n * height / width))))


def _resized(picture: Picture, width: int) -> Picture:
    scale = width / picture.shape[1]
    size = width, max(1, round(picture.shape[0] * scale))
    return np.asarray(cv2.resize(picture, size, interpolation=cv2.INTER_AREA if scale < 1 else cv2.INTER_NEAREST))


def _fitting(text: str, width: int) -> str:
    """Return a title cut to a width in pixels; OpenCV's font has only ASCII letters."""
    text = text.encode("ascii", "replace").decode()
    while len(text) > 1 and cv2.getTextSize(text, FONT, 0.42, 1)[0][0] > width - 4:
        text = text[:-1]
    return text


def legend(part_set: PartSet, *, columns: int = 1) -> Picture:
    """Return the part names beside their colors."""
    if columns < 1:
        raise UsageError(f"columns must be 1 or more, got {columns}")
    n_rows = -(-len(part_set) // columns)
    row_px, col_px = 18, 40 + max(cv2.getTextSize(n, FONT, 0.42, 1)[0][0] for n in part_set.names)
    picture = np.zeros((n_rows * row_px + 4, columns * col_px, 3), dtype=np.uint8)
    for i, (name, color) in enumerate(zip(part_set.names, part_set.colors, strict=True)):
        row, col = i % n_rows * row_px, i // n_rows * col_px
        cv2.rectangle(picture, (col + 6, row + 4), (col + 26, row + 18), color, -1)
        cv2.putText(picture, _fitting(name, col_px), (col + 32, row + 16), FONT, 0.42, (230, 230, 230), 1, cv2.LINE_AA)
    return picture


def write_picture(path: str | Path, picture: Picture) -> None:
    """Write an RGB picture as PNG."""
    _check_picture(picture)
    _check_png(path)
    # four times as fast as Pillow, and no larger
    is_encoded, content = cv2.imencode(
        ".png", cv2.cvtColor(picture, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_PNG_STRATEGY, cv2.IMWRITE_PNG_STRATEGY_FILTERED]
    )
    if not is_encoded:
        raise UsageError(f"{path}: OpenCV cannot encode a picture of {picture.shape}")
    with replacing(path) as file:
        file.write(content.tobytes())


def write_labels(path: str | Path, parts: npt.NDArray[np.uint8], part_set: PartSet) -> None:
    """Write labels as an indexed PNG: viewers show the colors, tools read the label indices."""
    part_set.check_labels(parts)
    _write_png(path, parts, palette=part_set.color_table)


def labels_png(parts: npt.NDArray[np.uint8], part_set: PartSet) -> bytes:
    """Return the bytes that `write_labels` writes."""
    part_set.check_labels(parts)
    content = io.BytesIO()
    _save_png(content, parts, palette=part_set.color_table)
    return content.getvalue()


def write_confidence(path: str | Path, confidence: npt.NDArray[np.float32]) -> None:
    """Write confidence from 0 to 1 as an 8-bit gray PNG in 255ths."""
    if confidence.ndim != 2 or not ((confidence >= 0) & (confidence <= 1)).all():
        raise UsageError(f"expected confidence from 0 to 1 of shape (rows, cols), got shape {confidence.shape}")
    _write_png(path, np.rint(confidence * np.float32(255)).astype(np.uint8))


def write_people(path: str | Path, people: npt.NDArray[np.uint8]) -> None:
    """Write person ids as an indexed PNG, black for nobody."""
    _write_png(path, people, palette=PEOPLE_COLORS)


def write_depth(path: str | Path, depth_mm: npt.NDArray[np.uint16]) -> None:
    """Write depth as a 16-bit PNG in millimeters."""
    if depth_mm.ndim != 2 or depth_mm.dtype != np.uint16:
        raise UsageError(f"expected uint16 millimeters of shape (rows, cols), got {depth_mm.dtype} of {depth_mm.shape}")
    _write_png(path, depth_mm)


def _write_png(path: str | Path, array: npt.NDArray[Any], palette: npt.NDArray[np.uint8] | None = None) -> None:
    _check_png(path)
    with replacing(path) as file:
        _save_png(file, array, palette)


def _check_png(path: str | Path) -> None:
    if Path(path).suffix.lower() != ".png":
        raise UsageError(f"{path}: pictures are written as PNG; give a name that ends in .png")


def _save_png(file: IO[bytes], array: npt.NDArray[Any], palette: npt.NDArray[np.uint8] | None) -> None:
    from PIL import Image

    image = Image.fromarray(np.ascontiguousarray(array))
    if palette is not None:
        image.putpalette(palette.tobytes(), rawmode="RGB")
    image.save(file, format="PNG", compress_level=4)


def _check_picture(picture: Picture) -> None:
    if picture.ndim != 3 or picture.shape[2] != 3 or picture.dtype != np.uint8 or 0 in picture.shape:
        raise UsageError(f"expected an RGB picture (rows, cols, 3) of uint8, got {picture.dtype} of {picture.shape}")
