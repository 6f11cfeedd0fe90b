"""Part sets and joints: names, colors, mirror tables, and maps from fine parts to coarse ones.

A `PartSet` is a plain value that users can load from JSON. Left and right are the person's own.
"""

from __future__ import annotations

import colorsys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from depthforest.base import PartSetError, is_whole, read_json

NO_PART = 255
"""Label of a pixel that belongs to no person."""

MAX_PARTS = 255

Color = tuple[int, int, int]
_T = TypeVar("_T", bound=np.generic)


@dataclass(frozen=True)
class PartSet:
    """An ordered set of part labels.

    Parameters
    ----------
    names : sequence of str
        At most 255 unique names; a part's label is its index.
    colors : sequence of (r, g, b), optional
        0 to 255 each. Default: colors spread over hue and lightness.
    mirror : sequence of int, optional
        For each part the label it gets in a mirrored image: an involution. Default: names that end in
        ``_l`` and ``_r`` are swapped, all others stay.
    """

    names: tuple[str, ...]
    colors: tuple[Color, ...] = ()
    mirror: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        names = _checked_names(self.names)
        colors = _checked_colors(self.colors, len(names)) if len(self.colors) else spread_colors(len(names))
        mirror = _checked_mirror(self.mirror, names) if len(self.mirror) else _mirror_by_name(names)
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "colors", colors)
        object.__setattr__(self, "mirror", mirror)

    def __len__(self) -> int:
        return len(self.names)

    def index(self, name: str) -> int:
        """Return the label of a part name."""
        try:
            return self.names.index(name)
        except ValueError:
            raise PartSetError(f"no part is called {name!r}; the parts are {_listed(self.names)}") from None

    @cached_property
    def mirror_table(self) -> npt.NDArray[np.uint8]:
        """Lookup of shape (256,): label -> mirrored label; `NO_PART` and unused labels stay."""
        table = np.arange(256, dtype=np.uint8)
        table[: len(self)] = self.mirror
        return _read_only(table)

    @cached_property
    def color_table(self) -> npt.NDArray[np.uint8]:
        """Lookup of shape (256, 3): label -> RGB; black for `NO_PART` and unused labels."""
        table = np.zeros((256, 3), dtype=np.uint8)
        table[: len(self)] = self.colors
        return _read_only(table)

    def check_labels(self, labels: npt.NDArray[np.uint8], name: str = "parts") -> None:
        """Raise PartSetError unless labels are uint8, each a part of this set or `NO_PART`."""
        if not isinstance(labels, np.ndarray) or labels.dtype != np.uint8:
            got = labels.dtype if isinstance(labels, np.ndarray) else type(labels).__name__
            raise PartSetError(f"{name}: expected an array of uint8 labels, got {got}")
        is_bad = (labels >= len(self)) & (labels != NO_PART)
        if is_bad.any():
            bad = int(labels[is_bad][0])
            raise PartSetError(
                f"{name}: {int(is_bad.sum())} pixels have labels outside the part set, the first is {bad}; "
                f"expected 0 to {len(self) - 1}, or {NO_PART} for no part"
            )

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form: names, colors, and the pairs that mirroring swaps."""
        pairs = [[a, b] for a, b in enumerate(self.mirror) if a < b]
        return {"names": list(self.names), "colors": [list(c) for c in self.colors], "mirror": pairs}

    @classmethod
    def from_dict(cls, content: object, name: str = "part set") -> PartSet:
        """Build a part set from its JSON form, ``{"names": [...], "colors": [...], "mirror": [[a, b], ...]}``.

        Colors and mirror pairs are optional; a pair holds names or indices.
        """
        if not isinstance(content, Mapping) or "names" not in content:
            raise PartSetError(f'{name}: expected an object with "names", got {_shown(content)}')
        unknown = set(content) - {"names", "colors", "mirror"}
        if unknown:
            raise PartSetError(
                f"{name}: unknown keys {_listed(sorted(map(str, unknown)))}; known are names, colors, mirror"
            )
        try:
            names = _checked_names(content["names"])
            colors: Any = content.get("colors") or ()
            if not isinstance(colors, list | tuple):
                raise PartSetError(f"colors must be a list of [r, g, b], got {_shown(colors)}")
            mirror = _mirror_from_pairs(content["mirror"], names) if "mirror" in content else ()
            return cls(names, tuple(colors), mirror)
        except PartSetError as error:
            raise PartSetError(f"{name}: {error}") from None

    @classmethod
    def from_json(cls, path: str | Path) -> PartSet:
        """Read a part set from a JSON file."""
        return cls.from_dict(read_json(Path(path), PartSetError), str(path))


@dataclass(frozen=True)
class Grouping:
    """A map from a fine part set to a coarse one.

    For each fine part, `groups` lists its coarse part first, then neighbors that also count as correct: a band around a
    joint, such as the elbow, lies across the border of two regions.
    """

    source: PartSet
    target: PartSet
    groups: Mapping[str, tuple[str, ...]] = field(repr=False)

    def __post_init__(self) -> None:
        if set(self.groups) != set(self.source.names):
            odd = sorted(set(self.groups) ^ set(self.source.names))
            raise PartSetError(f"a grouping must name every source part once; missing or unknown: {_listed(odd)}")
        for name, targets in self.groups.items():
            if not targets or isinstance(targets, str):
                raise PartSetError(
                    f"part {name!r} is mapped to {targets!r}; expected one or more coarse parts in a tuple"
                )
            for target in targets:
                self.target.index(target)
        object.__setattr__(self, "groups", dict(self.groups))

    @cached_property
    def table(self) -> npt.NDArray[np.uint8]:
        """Lookup of shape (256,): fine label -> coarse label; `NO_PART` and unused labels give `NO_PART`."""
        table = np.full(256, NO_PART, dtype=np.uint8)
        table[: len(self.source)] = [self.target.index(self.groups[n][0]) for n in self.source.names]
        return _read_only(table)

    @cached_property
    def accepts(self) -> npt.NDArray[np.bool_]:
        """Array (n_source, n_target): whether a coarse answer counts as correct for a fine part."""
        accepts = np.zeros((len(self.source), len(self.target)), dtype=np.bool_)
        for row, name in enumerate(self.source.names):
            accepts[row, [self.target.index(t) for t in self.groups[name]]] = True
        return _read_only(accepts)

    def apply(self, labels: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
        """Return the coarse labels of fine labels, in the same shape."""
        self.source.check_labels(labels)
        return self.table[labels]


def _checked_names(names: object) -> tuple[str, ...]:
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise PartSetError(f"part names must be a list of strings, got {_shown(names)}")
    for name in names:
        if not isinstance(name, str) or not name.strip() or not name.isprintable():
            raise PartSetError(f"a part name must be printable text, got {_shown(name)}")
    if not 1 <= len(names) <= MAX_PARTS:
        raise PartSetError(f"a part set has 1 to {MAX_PARTS} parts, got {len(names)}")
    doubles = sorted({n for n in names if names.count(n) > 1})
    if doubles:
        raise PartSetError(f"part names must be unique; given more than once: {_listed(doubles)}")
    return tuple(names)


def _checked_colors(colors: object, n_parts: int) -> tuple[Color, ...]:
    if not isinstance(colors, Sequence) or len(colors) != n_parts:
        n = len(colors) if isinstance(colors, Sequence) else _shown(colors)
        raise PartSetError(f"expected one color for each of the {n_parts} parts, got {n}; leave them out for a default")
    for color in colors:
        if not (isinstance(color, Sequence) and len(color) == 3 and all(is_whole(c, 0, 255) for c in color)):
            raise PartSetError(f"a color is [r, g, b] with whole numbers from 0 to 255, got {_shown(color)}")
    return tuple((int(c[0]), int(c[1]), int(c[2])) for c in colors)


def _checked_mirror(mirror: object, names: tuple[str, ...]) -> tuple[int, ...]:
    if not isinstance(mirror, Sequence) or len(mirror) != len(names):
        raise PartSetError(f"the mirror table needs one label for each of the {len(names)} parts, got {_shown(mirror)}")
    for label, mirrored in enumerate(mirror):
        if not is_whole(mirrored, 0, len(names) - 1):
            raise PartSetError(f"the mirror table sends {names[label]!r} to {_shown(mirrored)}, which is not a part")
        if mirror[mirrored] != label:
            raise PartSetError(
                f"the mirror table sends {names[label]!r} to {names[mirrored]!r} but {names[mirrored]!r} elsewhere; "
                "mirroring twice must change nothing"
            )
    return tuple(int(m) for m in mirror)


def _mirror_from_pairs(pairs: object, names: tuple[str, ...]) -> tuple[int, ...]:
    if not isinstance(pairs, Sequence) or isinstance(pairs, str):
        raise PartSetError(f"mirror must be a list of pairs, got {_shown(pairs)}")
    table = list(range(len(names)))
    for pair in pairs:
        if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
            raise PartSetError(f"mirror must be a list of pairs, got the entry {_shown(pair)}")
        a, b = (_label_of(end, names) for end in pair)
        if table[a] not in (a, b) or table[b] not in (a, b):
            raise PartSetError(f"the mirror pair {_shown(pair)} names a part that another pair has already")
        table[a], table[b] = b, a
    return tuple(table)


def _label_of(end: object, names: tuple[str, ...]) -> int:
    if isinstance(end, str) and end in names:
        return names.index(end)
    if is_whole(end, 0, len(names) - 1):
        return end
    raise PartSetError(f"a mirror pair names {_shown(end)}, which is not a part")


def _mirror_by_name(names: tuple[str, ...]) -> tuple[int, ...]:
    swapped = {"_l": "_r", "_r": "_l"}
    others = [name[:-2] + swapped[name[-2:]] if name[-2:] in swapped else name for name in names]
    return tuple(names.index(other) if other in names else i for i, other in enumerate(others))


def spread_colors(n_parts: int) -> tuple[Color, ...]:
    """Colors by the golden angle in hue, in three alternating lightnesses."""
    spread = []
    for i in range(n_parts):
        rgb = colorsys.hls_to_rgb((i * 0.618034) % 1.0, (0.55, 0.35, 0.75)[i % 3], 0.8)
        spread.append((round(rgb[0] * 255), round(rgb[1] * 255), round(rgb[2] * 255)))
    return tuple(spread)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _listed(names: Sequence[str], most: int = 8) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _read_only(array: npt.NDArray[_T]) -> npt.NDArray[_T]:
    array.setflags(write=False)
    return array


def _sides(*stems: str) -> tuple[str, ...]:
    return tuple(chain.from_iterable((f"{stem}_l", f"{stem}_r") for stem in stems))


# Colors by tools/choose_colors.py: the person's left is warm and the right cool; parts that touch differ by at least
# 21 CIEDE2000 for every kind of eye and by 16 in lightness alone, all pairs by 11 for normal eyes.
_BODY31_COLORS: dict[str, Color] = {
    "head_upper_l": (255, 160, 0),
    "head_upper_r": (0, 80, 80),
    "head_lower_l": (80, 80, 40),
    "head_lower_r": (0, 200, 120),
    "neck": (160, 80, 255),
    "shoulder_l": (255, 200, 160),
    "shoulder_r": (80, 80, 120),
    "arm_upper_l": (120, 120, 40),
    "arm_upper_r": (40, 160, 120),
    "elbow_l": (230, 160, 200),
    "elbow_r": (120, 40, 160),
    "arm_lower_l": (230, 0, 80),
    "arm_lower_r": (200, 120, 255),
    "wrist_l": (230, 230, 0),
    "wrist_r": (0, 120, 80),
    "hand_l": (255, 80, 160),
    "hand_r": (160, 160, 230),
    "torso_upper_l": (160, 0, 0),
    "torso_upper_r": (0, 255, 200),
    "torso_lower_l": (255, 160, 160),
    "torso_lower_r": (0, 0, 255),
    "leg_upper_l": (160, 80, 0),
    "leg_upper_r": (160, 230, 255),
    "knee_l": (200, 230, 120),
    "knee_r": (0, 80, 200),
    "leg_lower_l": (160, 80, 120),
    "leg_lower_r": (120, 230, 230),
    "ankle_l": (160, 160, 80),
    "ankle_r": (80, 120, 200),
    "foot_l": (160, 0, 80),
    "foot_r": (160, 200, 255),
}
_REGIONS15_COLORS: dict[str, Color] = {
    "head": (200, 230, 200),
    "neck": (200, 40, 255),
    "torso": (230, 230, 0),
    "upper_arm_l": (80, 80, 0),
    "upper_arm_r": (0, 80, 160),
    "forearm_l": (230, 160, 200),
    "forearm_r": (0, 200, 160),
    "hand_l": (200, 0, 40),
    "hand_r": (80, 0, 230),
    "thigh_l": (120, 80, 80),
    "thigh_r": (120, 160, 255),
    "shin_l": (255, 200, 120),
    "shin_r": (0, 80, 80),
    "foot_l": (200, 40, 120),
    "foot_r": (160, 230, 255),
}

BODY31 = PartSet(tuple(_BODY31_COLORS), tuple(_BODY31_COLORS.values()))
"""The 31 parts of Shotton et al. 2011."""

REGIONS15 = PartSet(tuple(_REGIONS15_COLORS), tuple(_REGIONS15_COLORS.values()))
"""Fifteen regions, coarse enough to compare any two body labelers."""


def _of_both_sides(groups: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """Spell out `{"hand_?": ("hand_?",)}` for left and right."""
    return {
        fine.replace("?", side): tuple(coarse.replace("?", side) for coarse in targets)
        for fine, targets in groups.items()
        for side in ("lr" if "?" in fine else "l")
    }


BODY31_TO_REGIONS15 = Grouping(
    BODY31,
    REGIONS15,
    _of_both_sides(
        {
            "head_upper_?": ("head",),
            "head_lower_?": ("head",),
            "neck": ("neck",),
            "shoulder_?": ("upper_arm_?", "torso"),
            "arm_upper_?": ("upper_arm_?",),
            "elbow_?": ("upper_arm_?", "forearm_?"),
            "arm_lower_?": ("forearm_?",),
            "wrist_?": ("forearm_?", "hand_?"),
            "hand_?": ("hand_?",),
            "torso_upper_?": ("torso",),
            "torso_lower_?": ("torso",),
            "leg_upper_?": ("thigh_?",),
            "knee_?": ("thigh_?", "shin_?"),
            "leg_lower_?": ("shin_?",),
            "ankle_?": ("shin_?", "foot_?"),
            "foot_?": ("foot_?",),
        }
    ),
)

# PCL gpu/people's own names, in the order of its label ids; "Face" is the whole head, LB = left bottom.
# The value of each name is the most similar fine part, whose color it takes.
_PCL25_NEAREST = {
    "Lfoot": "foot_l",
    "Lleg": "leg_lower_l",
    "Lknee": "knee_l",
    "Lthigh": "leg_upper_l",
    "Rfoot": "foot_r",
    "Rleg": "leg_lower_r",
    "Rknee": "knee_r",
    "Rthigh": "leg_upper_r",
    "Rhips": "torso_lower_r",
    "Lhips": "torso_lower_l",
    "Neck": "neck",
    "Rarm": "arm_upper_r",
    "Relbow": "elbow_r",
    "Rforearm": "arm_lower_r",
    "Rhand": "hand_r",
    "Larm": "arm_upper_l",
    "Lelbow": "elbow_l",
    "Lforearm": "arm_lower_l",
    "Lhand": "hand_l",
    "FaceLB": "head_lower_l",
    "FaceRB": "head_lower_r",
    "FaceLT": "head_upper_l",
    "FaceRT": "head_upper_r",
    "Rchest": "torso_upper_r",
    "Lchest": "torso_upper_l",
}


def _pcl25() -> PartSet:
    names = tuple(_PCL25_NEAREST)
    fine = list(_PCL25_NEAREST.values())
    colors = tuple(_BODY31_COLORS[f] for f in fine)
    mirror = tuple(fine.index(BODY31.names[BODY31.mirror[BODY31.index(f)]]) for f in fine)
    return PartSet(names, colors, mirror)


PCL25 = _pcl25()
"""The 25 labels of PCL's gpu/people trees, under PCL's names and ids."""


def _body31_to_pcl25() -> Grouping:
    groups: dict[str, tuple[str, ...]] = {fine: (pcl,) for pcl, fine in _PCL25_NEAREST.items()}
    for side in "lr":
        s = side.upper()
        groups[f"shoulder_{side}"] = (f"{s}arm", f"{s}chest")
        groups[f"wrist_{side}"] = (f"{s}forearm", f"{s}hand")
        groups[f"ankle_{side}"] = (f"{s}leg", f"{s}foot")
    return Grouping(BODY31, PCL25, groups)


BODY31_TO_PCL25 = _body31_to_pcl25()
PCL25_TO_REGIONS15 = Grouping(
    PCL25, REGIONS15, {pcl: BODY31_TO_REGIONS15.groups[fine] for pcl, fine in _PCL25_NEAREST.items()}
)

PART_SETS: dict[str, PartSet] = {"body31": BODY31, "regions15": REGIONS15, "pcl25": PCL25}

JOINTS: tuple[str, ...] = (
    "head",
    "neck",
    "spine",
    *_sides("shoulder", "elbow", "wrist", "hand", "hip", "knee", "ankle", "foot"),
)
"""The joint vocabulary. `foot` is the tip of the foot, `spine` the middle of the trunk."""

BONES: tuple[tuple[str, str], ...] = (
    ("head", "neck"),
    ("neck", "spine"),
    *(
        (f"{a}_{side}" if a not in ("neck", "spine") else a, f"{b}_{side}")
        for side in "lr"
        for a, b in (
            ("neck", "shoulder"),
            ("shoulder", "elbow"),
            ("elbow", "wrist"),
            ("wrist", "hand"),
            ("spine", "hip"),
            ("hip", "knee"),
            ("knee", "ankle"),
            ("ankle", "foot"),
        )
    ),
)
"""The joints that a drawn skeleton connects: a tree rooted in the head."""

JOINT_MIRROR: dict[str, str] = {
    joint: JOINTS[mirrored] for joint, mirrored in zip(JOINTS, _mirror_by_name(JOINTS), strict=True)
}

JOINT_PARTS: dict[str, tuple[str, ...]] = {
    "head": _sides("head_upper", "head_lower"),
    "neck": ("neck",),
    "spine": _sides("torso_upper", "torso_lower"),
    **_of_both_sides(
        {
            "shoulder_?": ("shoulder_?",),
            "elbow_?": ("elbow_?",),
            "wrist_?": ("wrist_?",),
            "hand_?": ("hand_?",),
            "hip_?": ("torso_lower_?", "leg_upper_?"),
            "knee_?": ("knee_?",),
            "ankle_?": ("ankle_?",),
            "foot_?": ("foot_?",),
        }
    ),
}
"""Which of the 31 parts carry which joint; hips and spine have no part of their own and take their neighbors'."""
