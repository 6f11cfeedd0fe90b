"""Scenes: people and furniture on a floor between walls, and a camera that looks at them.

World space: meters, x to the camera's right, y up, z toward the camera (right-handed); the camera is above the origin
and looks along -z. At yaw 0 a person faces the camera, with their left on the camera's right.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from depthforest.base import Floats, Singles
from depthforest.frames import Camera
from synth.bodies import BONE
from synth.config import Config
from synth.scene import activities
from synth.scene.furniture import KINDS, LOW_KINDS, SEATS, PlacedPiece, Sitter, between, pedestal
from synth.scene.inventory import Inventory
from synth.scene.rooms import Furnisher, Room, draw_room
from synth.scene.skinning import PosedBody
from synth.scene.stage import PROBED_EVERY, Person, PlacedPerson, Scene, View

__all__ = ["PROBED_EVERY", "VOXEL", "Person", "PlacedPerson", "Scene", "View", "compose", "is_sitting"]

SEAT_GAP = 0.025
"""Meters between a seat and the sitting person: a little more than `furniture.CLEARANCE`."""

LOWEST_SEAT = 0.2
"""Meters: people who sit lower are squatting."""

LOOKS_BEHIND = math.radians(65.0)
"""A camera tilted down further than this sees the floor behind its own base."""

CAMERA_CLEARANCE = 0.35
"""Meters around the camera that are kept free."""

VOXEL = 0.08
"""Meters: two people with points in the same cube of this size have collided."""

CLOSE_UP_SHARE, TABLE = 0.3, 0.75
"""Share of cluttered rooms without people that show a table close up; height in meters at which the camera points."""

CEILING = (2.4, 3.2)
TRIES = 8
"""Tries to find a place for a piece or a person before it is left out."""

_THIGHS = tuple((BONE[f"{side}UpLeg"], BONE[f"{side}Leg"]) for side in ("Left", "Right"))


def compose(
    rng: np.random.Generator,
    config: Config,
    camera: Camera,
    people: Sequence[Person],
    inventory: Inventory | None = None,
) -> Scene:
    """Draw a scene: where the people stand, what stands around them, where the camera is.

    Parameters
    ----------
    rng : numpy Generator
    config : Config
    camera : Camera
    people : sequence of Person
        One or more, the main one first.
    inventory : Inventory, optional
        The pool of clutter; without it, no room is cluttered.
    """
    main, view = _place_main(rng, config, camera, people[0])
    if inventory is not None and config.clutter_share > 0 and rng.random() < config.clutter_share:
        return _compose_clutter(rng, config, inventory, view, main, people[1:])
    everyone, beds = _place_others(rng, config, main, people[1:], camera)
    probes = np.concatenate([p.probes for p in everyone])
    pieces = beds + _seats(rng, config, everyone, probes, beds)
    if rng.random() < config.furnished_share:
        n_pieces = int(rng.integers(config.furniture[0], config.furniture[1] + 1))
        blocks = rng.random() < config.blocked_share
        for i in range(n_pieces):
            piece = _furnish(rng, config, view, main, probes, pieces, is_between=blocks and i == 0)
            if piece is not None:
                pieces.append(piece)
    content = np.concatenate([*(p.extent for p in everyone), *(p.corners for p in pieces)])
    walls = _walls(rng, config, view, content)
    return Scene(view, tuple(everyone), (*pieces, *_carried(rng, everyone)), walls)


def compose_empty(
    rng: np.random.Generator, config: Config, camera: Camera, person: Person, inventory: Inventory
) -> Scene:
    """Draw a scene without people, and a camera that points where a person might be."""
    _, view = _place_main(rng, config, camera, person)
    if config.clutter_share > 0 and rng.random() < config.clutter_share:
        is_close_up = rng.random() < CLOSE_UP_SHARE
        if is_close_up:
            view = replace(view, tilt=_clipped_tilt(config, math.atan2(view.height - TABLE, between(rng, 0.5, 1.5))))
        room = draw_room(rng, config, view, np.empty((0, 3), dtype=np.float32))
        pieces = Furnisher(rng, config, inventory, view, room, (), ()).furnish(is_close_up=is_close_up)
        return Scene(view, (), tuple(pieces), room.quads())
    scene = compose(rng, config, camera, [replace(person, activity="")])
    return replace(scene, people=())


def _compose_clutter(
    rng: np.random.Generator,
    config: Config,
    inventory: Inventory,
    view: View,
    main: PlacedPerson,
    others: Sequence[Person],
) -> Scene:
    """Draw a cluttered room around the main person, and the activities of the people in it."""
    if main.person.activity in ("lean", "desk"):  # roughly facing the camera
        main = replace(main, yaw=rng.normal(0.0, 0.6))
    is_leaning = main.person.activity == "lean"
    room = draw_room(rng, config, view, main.probes, leaning=main.yaw if is_leaning else None)
    everyone, beds = _place_others(rng, config, main, others, view.camera, room)
    probes = np.concatenate([p.probes for p in everyone])
    pieces = beds + _seats(rng, config, everyone, probes, beds)
    for placed in everyone:
        if placed.person.activity == "desk":
            table = activities.behind_desk(rng, inventory, placed, probes)
            if table is not None and not any(table.meets(other) for other in pieces):
                pieces.append(table)
    pieces = Furnisher(rng, config, inventory, view, room, everyone, pieces).furnish()
    return Scene(view, tuple(everyone), (*pieces, *_carried(rng, everyone)), room.quads())


def _place_others(
    rng: np.random.Generator,
    config: Config,
    main: PlacedPerson,
    others: Sequence[Person],
    camera: Camera,
    room: Room | None = None,
) -> tuple[list[PlacedPerson], list[PlacedPiece]]:
    """Return the main person, those others for whom there is a place, and the beds of people who lie on one."""
    everyone = [main]
    beds = [activities.bed_below(rng, main)] if main.person.activity == "bed" else []
    for other in others:
        if config.touch_share > 0 and rng.random() < config.touch_share:
            spot = _touching_spot(rng, other, everyone, room)
        else:
            spot = _free_spot(rng, config, camera, other, everyone, room)
        if spot is None or any(bed.touches(spot.probes) for bed in beds):
            continue
        if spot.person.activity == "bed":
            bed = activities.bed_below(rng, spot)
            if any(bed.touches(p.probes) for p in everyone) or any(bed.meets(other) for other in beds):
                continue
            beds.append(bed)
        everyone.append(spot)
    return everyone, beds


def _touching_spot(
    rng: np.random.Generator, person: Person, others: Sequence[PlacedPerson], room: Room | None
) -> PlacedPerson | None:
    """Return the person touching one of the others, in front of the camera; None if there is no room."""
    for _ in range(TRIES):
        neighbor = others[int(rng.integers(len(others)))]
        placed = activities.beside(rng, person, neighbor)
        taken = np.concatenate([_voxels(p.probes) for p in others if p is not neighbor] or [np.empty(0, np.int64)])
        is_free = not np.isin(_voxels(placed.probes), taken).any()
        if is_free and placed.extent[1, 2] < -CAMERA_CLEARANCE and (room is None or room.holds(placed.probes)):
            return placed
    return None


def _seats(
    rng: np.random.Generator,
    config: Config,
    everyone: Sequence[PlacedPerson],
    probes: Singles,
    beds: Sequence[PlacedPiece],
) -> list[PlacedPiece]:
    """Return what people sit on, besides the beds."""
    pieces: list[PlacedPiece] = []
    for person in everyone:
        if person.person.activity == "bed":
            continue
        seat = _seat(rng, config, person, probes, [*beds, *pieces])
        if seat is not None:
            pieces.append(seat)
    return pieces


def _carried(rng: np.random.Generator, everyone: Sequence[PlacedPerson]) -> list[PlacedPiece]:
    return [activities.carried(rng, placed) for placed in everyone if placed.person.activity == "carry"]


def _place_main(rng: np.random.Generator, config: Config, camera: Camera, person: Person) -> tuple[PlacedPerson, View]:
    """Place the main person and aim the camera."""
    is_near = rng.random() < config.near_share
    distance = between(rng, *(config.near_distance if is_near else config.far_distance))
    half_width = camera.width / 2 / camera.fx
    x = between(rng, -config.off_center, config.off_center) * half_width * distance
    if rng.random() < config.yaw_front_share:
        yaw = math.radians(rng.normal(0.0, config.yaw_front_spread))
    else:
        yaw = between(rng, -math.pi, math.pi)
    placed = person.placed(x, -distance, yaw)
    height = between(rng, *config.camera_height)
    low, high = placed.extent[:, 1].tolist()
    # near views look at chest and face, far ones at the middle of the body
    aim = between(rng, 0.6, 0.95) if is_near else between(rng, 0.4, 0.6)
    wanted = math.atan2(height - (low + aim * (high - low)), distance)
    wanted += rng.normal(0.0, 0.15) * camera.height / 2 / camera.fy
    view = View(camera, height, _clipped_tilt(config, wanted), math.radians(between(rng, *config.camera_roll)))
    return placed, view


def _clipped_tilt(config: Config, wanted: float) -> float:
    """Return the tilt closest to the requested one within the limits of the configuration, in radians."""
    least, most = config.camera_tilt
    return min(max(wanted, math.radians(least)), math.radians(most))


def _free_spot(
    rng: np.random.Generator,
    config: Config,
    camera: Camera,
    person: Person,
    others: Sequence[PlacedPerson],
    room: Room | None = None,
) -> PlacedPerson | None:
    """Return the person at a free place within view; None if there is no room."""
    taken = np.concatenate([_voxels(p.probes) for p in others])
    half_width = camera.width / 2 / camera.fx
    for _ in range(TRIES):
        distance = between(rng, min(1.0, config.far_distance[0]), config.depth_limit)
        x = between(rng, -1.0, 1.0) * half_width * distance
        placed = person.placed(x, -distance, between(rng, -math.pi, math.pi))
        is_free = not np.isin(_voxels(placed.probes), taken).any()
        if is_free and (room is None or room.holds(placed.probes)):
            return placed
    return None


def _voxels(points: Singles) -> npt.NDArray[np.int64]:
    """Return one number for each cube of side `VOXEL` that contains a point."""
    cells = np.floor(points / VOXEL).astype(np.int64) + 512
    return np.unique((cells[:, 0] << 40) | (cells[:, 1] << 20) | cells[:, 2])


def is_sitting(posed: PosedBody) -> bool:
    """Tell whether a posed body sits: thighs about level, trunk upright, hips neither on the floor nor high."""
    at = posed.bone_heads.tolist()  # a few numbers are faster without arrays
    for hip, knee in _THIGHS:
        if abs(at[knee][1] - at[hip][1]) > 0.55 * math.dist(at[knee], at[hip]):
            return False
    hips, neck = at[BONE["Hips"]], at[BONE["Neck"]]
    return bool(neck[1] - hips[1] > 0.7 * math.dist(neck, hips) and hips[1] > 0.3)


def _seat(
    rng: np.random.Generator, config: Config, placed: PlacedPerson, probes: Singles, others: Sequence[PlacedPiece]
) -> PlacedPiece | None:
    """Return a seat under a person who sits, fitted to thighs and back; None for others."""
    if not is_sitting(placed.person.posed) or rng.random() > config.seat_share:
        return None
    return seat_under(rng, placed, probes, others)


def seat_under(
    rng: np.random.Generator, placed: PlacedPerson, probes: Singles, others: Sequence[PlacedPiece]
) -> PlacedPiece | None:
    """Return a seat that fits a person and touches neither probes nor other pieces; None if there is no room."""
    sitter = _sitter(placed.person.posed)
    if sitter.height < LOWEST_SEAT:
        return None
    for make in (*(SEATS[int(i)] for i in rng.permutation(len(SEATS))), pedestal):
        seat = PlacedPiece(make(rng, sitter), placed.x, placed.z, placed.yaw)
        if not seat.touches(probes) and not any(seat.overlaps(other) for other in others):
            return seat
    return None


def _sitter(posed: PosedBody) -> Sitter:
    """Return the space that a sitting body leaves for a seat."""
    x, y, z = posed.vertices.T  # body space, with the hips above the origin
    is_middle = np.abs(x) < 0.3
    is_below = is_middle & (np.abs(z - 0.03) < 0.12)
    height = float(y[is_below].min()) - SEAT_GAP if is_below.any() else 0.0
    is_back = is_middle & (y > height + 0.1) & (y < height + 0.7) & (z < 0.05)
    reach = -float(z[is_back].min()) + SEAT_GAP if is_back.any() else 0.2
    # the seat ends where legs or skirts hang through its plane
    hangs = is_middle & (z > 0.1) & (y < height + SEAT_GAP) & (y > height - 0.15)
    front = float(z[hangs].min()) - SEAT_GAP if hangs.any() else 0.35
    return Sitter(height, reach, min(front, 0.4))


def _furnish(
    rng: np.random.Generator,
    config: Config,
    view: View,
    main: PlacedPerson,
    probes: Singles,
    others: Sequence[PlacedPiece],
    *,
    is_between: bool,
) -> PlacedPiece | None:
    """Return a piece of furniture at a free place; between camera and main person if `is_between`."""
    half_width = view.camera.width / 2 / view.camera.fx
    for _ in range(TRIES):
        kinds = LOW_KINDS if is_between else KINDS
        piece = kinds[int(rng.integers(len(kinds)))](rng)
        low, high = piece.extent.tolist()
        radius = math.hypot(max(-low[0], high[0]), max(-low[2], high[2]))
        yaw = math.pi / 2 * int(rng.integers(4)) + rng.normal(0.0, 0.2)
        if is_between:
            share = between(rng, 0.4, 0.85)
            x, z = main.x * share + rng.normal(0.0, 0.25), main.z * share
        else:
            distance = between(rng, 0.8, config.depth_limit)
            x, z = between(rng, -1.2, 1.2) * half_width * distance, -distance
            # tall pieces that would hide the main person are placed elsewhere
            hides = distance < -main.z and abs(x / distance + main.x / main.z) * distance < radius + 0.3
            if hides and high[1] > 0.5:
                continue
        placed = PlacedPiece(piece, x, z, yaw)
        is_off_camera = math.hypot(x, z) > radius + CAMERA_CLEARANCE or high[1] < view.height - CAMERA_CLEARANCE
        if is_off_camera and not placed.touches(probes) and not any(placed.overlaps(other) for other in others):
            return placed
    return None


def _walls(rng: np.random.Generator, config: Config, view: View, content: npt.NDArray[np.floating]) -> Floats:
    """Return corners (n, 4, 3) of the floor, and possibly of walls and a ceiling around all content, points (n, 3)."""
    (low_x, _, low_z), (high_x, _, _) = content.min(axis=0).tolist(), content.max(axis=0).tolist()
    back = min(low_z, -1.0) - between(rng, 0.1, 1.8)
    left, right = min(low_x, -0.6) - 0.1, max(high_x, 0.6) + 0.1
    has_walls = rng.random() < config.wall_share
    side = int(rng.integers(4)) if has_walls else 0  # 1: a wall on the left, 2: on the right
    ceiling = between(rng, *CEILING) + max(0.0, view.height - 2.0)
    far_x, near_z, far_z = 12.0, 12.0 if view.tilt > LOOKS_BEHIND else 1.0, -13.0
    floor = [(-far_x, 0.0, near_z), (far_x, 0.0, near_z), (far_x, 0.0, far_z), (-far_x, 0.0, far_z)]
    walls = [floor]
    if has_walls:
        walls.append([(-far_x, 0.0, back), (far_x, 0.0, back), (far_x, ceiling, back), (-far_x, ceiling, back)])
        if side in (1, 2):
            x = left - rng.random() if side == 1 else right + rng.random()
            walls.append([(x, 0.0, near_z), (x, 0.0, back), (x, ceiling, back), (x, ceiling, near_z)])
        walls.append([(x, ceiling, z) for x, _, z in floor])
    return np.array(walls)
