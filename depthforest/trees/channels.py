"""Channels: what the probes of a context stage read besides depth, and which channels a mirrored picture swaps.

The second stage of a forest (`contexttrees`) looks at a thumbnail of the person (`thumbnails`), a stack of pictures of
the same shape, one for each channel:

    depth            millimeters; the background value off the person
    nothing          0 everywhere: a pair with it reads just the other channel
    POSITIONS        where the pixel is in the body's own frame, in units of 2 mm around 1000
    groups of parts  the first stage's probabilities, summed over the parts of a group, in thousandths

Off the person, all channels but depth are 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from depthforest.base import ModelError, is_whole
from depthforest.frames import BODY31_TO_REGIONS15, PartSet

DEPTH, NOTHING, FIRST_POSITION = 0, 1, 2

POSITIONS = (
    "body_right", "body_left", "body_down", "head_right", "head_left", "head_down", "head_back", "trunk_own_left",
    "trunk_own_right", "trunk_forward", "trunk_down", "above_lowest", "below_highest", "picture_below",
)  # fmt: skip
"""Offsets along the camera's axes from the median of the body's pixels and from its head; offsets along the person's
own axes from the trunk; heights above the lowest and below the highest pixel of the person; and how much of the picture
is below."""

FIRST_GROUP = FIRST_POSITION + len(POSITIONS)

MAX_GROUPS = 64
"""Most groups of parts: channel numbers are bytes, and each channel costs memory."""

SHARE_UNIT = 1000
"""Value of probability 1 in a channel: candidate thresholds are spaced for depth differences of half a meter."""

POSITION_MIDDLE, POSITION_MAX = 1000, 2000
"""Value of 0 mm in a channel of positions, and the largest value, which is 2 m. A unit is 2 mm."""

REACH_ZERO = 550
"""Value of 0 mm in the last three channels, which are never negative."""


@dataclass(frozen=True)
class PartGroups:
    """Groups of a part set's parts.

    Parameters
    ----------
    of_part : tuple of int
        The group of each part; groups are numbered from 0 without a gap.
    head, trunk : tuple of int
        Groups whose pixels locate the head and the trunk. If empty, the body's median is used instead.
    """

    of_part: tuple[int, ...]
    head: tuple[int, ...] = ()
    trunk: tuple[int, ...] = ()

    @classmethod
    def of(cls, part_set: PartSet) -> PartGroups:
        """Return the groups of a part set: 16 groups for the 31 body parts, otherwise each part by itself."""
        names = part_set.names
        if names == BODY31_TO_REGIONS15.source.names:
            names = tuple(
                name[: len("torso_upper")] if name.startswith("torso") else BODY31_TO_REGIONS15.groups[name][0]
                for name in names
            )
        groups = tuple(dict.fromkeys(names))
        of_part = tuple(groups.index(name) for name in names)
        head, trunk = (tuple(i for i, name in enumerate(groups) if name.startswith(stem)) for stem in ("head", "torso"))
        return cls(of_part, head, trunk)

    @property
    def n(self) -> int:
        """How many groups there are."""
        return max(self.of_part) + 1

    @property
    def n_channels(self) -> int:
        """How many channels a thumbnail has."""
        return FIRST_GROUP + self.n

    def check(self, part_set: PartSet) -> None:
        """Raise ModelError unless these are groups of this part set, and mirroring maps each group to a whole group."""
        for name in ("of_part", "head", "trunk"):
            values = getattr(self, name)
            if not isinstance(values, tuple) or not all(is_whole(value, 0, MAX_GROUPS - 1) for value in values):
                raise ModelError(f"groups: {name} must be whole numbers from 0 to {MAX_GROUPS - 1}")
        if len(self.of_part) != len(part_set):
            raise ModelError(f"groups are of {len(self.of_part)} parts, the part set has {len(part_set)}")
        if set(self.of_part) != set(range(self.n)):
            raise ModelError("groups must be numbered from 0 without a gap")
        if max((*self.head, *self.trunk), default=0) >= self.n:
            raise ModelError(f"head and trunk must be among the {self.n} groups")
        mirrored = dict(zip(self.of_part, (self.of_part[part] for part in part_set.mirror), strict=True))
        if any(mirrored[self.of_part[part]] != self.of_part[other] for part, other in enumerate(part_set.mirror)):
            raise ModelError("groups must be mirror images: the mirrored parts of a group are one group")
        for name in ("head", "trunk"):
            own = getattr(self, name)
            if {mirrored[group] for group in own} != set(own):
                raise ModelError(f"the groups of the {name} must be their own mirror images")

    def mirror_table(self, part_set: PartSet) -> npt.NDArray[np.uint8]:
        """Return for each channel the one that it becomes in a mirrored picture."""
        table = np.arange(self.n_channels, dtype=np.uint8)
        for i, name in enumerate(POSITIONS):
            other = _swapped(name)
            table[FIRST_POSITION + i] = FIRST_POSITION + (POSITIONS.index(other) if other in POSITIONS else i)
        for part, other_part in enumerate(part_set.mirror):
            table[FIRST_GROUP + self.of_part[part]] = FIRST_GROUP + self.of_part[other_part]
        return table


def channel_names(groups: PartGroups, part_set: PartSet) -> tuple[str, ...]:
    """Return the names of all channels; a group is named after its parts."""
    members: Sequence[list[str]] = [[] for _ in range(groups.n)]
    for part, group in enumerate(groups.of_part):
        members[group].append(part_set.names[part])
    return ("depth", "nothing", *POSITIONS, *("+".join(names) for names in members))


def _swapped(name: str) -> str:
    stem, _, last = name.rpartition("_")
    return f"{stem}_{ {'left': 'right', 'right': 'left'}.get(last, last) }"
