"""The rules that match masks with true people: who was found, and which masks show nobody.

- A true person counts if they cover enough of the picture (`LEAST_SEEN`). Others are ignored, as are pixels that a
  marked frame says to ignore. True masks only include pixels with a reading, as found masks do.
- A person's IoU is that of the best mask, or 0 without one; with `FOUND_IOU` or more, the person is found.
- A mask is false if its IoU with every counted person is below `FALSE_IOU` and less than `IGNORED_SHARE` of it lies on
  ignored pixels. A person found in two pieces can thus add a false person, too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from depthforest.base import Bools, UsageError
from depthforest.frames import Frame, LabeledFrame
from depthforest.people import People

LEAST_SEEN = 0.005
"""Smallest share of the picture: a fifth of a person who stands at the end of a Kinect's range."""

FOUND_IOU = 0.5
"""Smallest intersection over union with which a person is found."""

FALSE_IOU = 0.3
"""A mask with less IoU with every person shows nobody; between this and `FOUND_IOU`, it is a bad mask of a person."""

IGNORED_SHARE = 0.4
"""A mask with this share of ignored pixels is not an error."""

IGNORED = 255
"""Id of ignored pixels in marked frames: people who are mostly hidden, fragments, mirrors. Counted neither way."""


@dataclass(frozen=True, eq=False, repr=False)
class MarkedFrame(Frame):
    """A frame whose people were marked by hand; everyone with an id counts.

    Parameters
    ----------
    depth_mm, camera
        As in `Frame`.
    people : array (rows, cols), uint8
        Ids from 1 to 254; 0 = nobody, 255 = ignored.
    """

    people: npt.NDArray[np.uint8]

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.people.shape != self.shape or self.people.dtype != np.uint8:
            raise UsageError(
                f"marked people are uint8 of shape {self.shape}, as the frame; got {self.people.dtype} of shape "
                f"{self.people.shape}"
            )


@dataclass(frozen=True, eq=False)
class TruePeople:
    """Who is in a frame.

    Parameters
    ----------
    map : array (rows, cols), uint8
        Ids of people who count, where there are readings; 0 elsewhere.
    ids : tuple of int
        Ids of people who count, in order.
    is_ignored : array (rows, cols), bool
        Pixels of other people.
    is_empty : bool
        Whether nobody is there, neither counted nor ignored.
    """

    map: npt.NDArray[np.uint8]
    ids: tuple[int, ...]
    is_ignored: Bools
    is_empty: bool

    @classmethod
    def of(cls, frame: LabeledFrame | MarkedFrame, least_seen: float = LEAST_SEEN) -> TruePeople:
        """Return the people in a frame; `least_seen` only applies to labeled frames."""
        truth, is_read = frame.people, frame.depth_mm > 0
        is_marked = isinstance(frame, MarkedFrame)
        is_judged = np.bincount(truth.ravel(), minlength=256) > 0
        is_judged[0] = False
        if is_marked:
            is_judged[IGNORED] = False
        else:
            is_judged &= np.bincount(truth[is_read], minlength=256) >= least_seen * truth.size
        judged = np.where(is_judged[truth] & is_read, truth, np.uint8(0))
        ids = tuple(np.flatnonzero(is_judged).tolist())
        return cls(judged, ids, (truth > 0) & ~is_judged[truth], not truth.any())


@dataclass(frozen=True)
class JudgedFrame:
    """What was found in one frame.

    Parameters
    ----------
    index : int
        Index of the frame.
    people : tuple of (person, id, IoU)
        For each true person who counts, the id of the best mask (0 for none) and its IoU.
    false_ids : tuple of int
        Ids of masks that show nobody.
    is_empty : bool
        Whether nobody is there.
    """

    index: int
    people: tuple[tuple[int, int, float], ...]
    false_ids: tuple[int, ...]
    is_empty: bool

    @property
    def n_found(self) -> int:
        """How many people were found."""
        return sum(iou >= FOUND_IOU for _, _, iou in self.people)

    @property
    def badness(self) -> float:
        """Sum of errors, to order frames: 1 for every false person, 1 - IoU for every true one."""
        return len(self.false_ids) + sum(1 - iou for _, _, iou in self.people)


def judge_frame(index: int, true: TruePeople, found: People) -> JudgedFrame:
    """Compare the people that were found with the true ones."""
    if found.map.shape != true.map.shape:
        raise UsageError(f"people were found in a map of {found.map.shape}, but the frame has {true.map.shape}")
    pairs = np.bincount(true.map.ravel().astype(np.intp) * 256 + found.map.ravel(), minlength=65536).reshape(256, 256)
    n_true, n_found = pairs.sum(axis=1), pairs.sum(axis=0)
    n_ignored = np.bincount(found.map[true.is_ignored], minlength=256)
    ids, masks = (np.array(sorted(one), dtype=np.intp) for one in (true.ids, found.ids))
    both = pairs[ids[:, None], masks]
    ious = both / np.maximum(n_true[ids, None] + n_found[masks] - both, 1)
    people = []
    for person, row in zip(true.ids, ious, strict=True):
        best = int(row.argmax()) if len(masks) else 0
        is_hit = len(masks) > 0 and row[best] > 0
        people.append((person, int(masks[best]) if is_hit else 0, float(row[best]) if is_hit else 0.0))
    is_false = (ious < FALSE_IOU).all(axis=0) & (n_ignored[masks] < IGNORED_SHARE * n_found[masks])
    return JudgedFrame(index, tuple(people), tuple(masks[is_false].tolist()), true.is_empty)
