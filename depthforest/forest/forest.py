"""Forest: trees that label frames, and are saved to files and loaded from them."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from depthforest.base import DepthForestWarning, ModelFile, Place, modelfile
from depthforest.forest.file import trees_of, write_trees
from depthforest.frames import BODY31, PCL25, REGIONS15, Frame, PartSet
from depthforest.labeling import Labeling, labeling
from depthforest.trees import DepthTrees, Mask

ROOM_M2 = 4.0
"""Square meters of surface that cannot be one person: a camera sees less than one of a body, more of a wall or
floor."""

_STEP = 4
"""Only every n-th row and column is measured; that is enough."""


@dataclass(frozen=True, eq=False, repr=False)
class Forest(DepthTrees):
    """Decision trees that label every pixel of a person with a body part.

    `load` and `train` make one. The constructor takes the columns of the trees; parameters as in
    `depthtrees.DepthTrees`, which checks and copies them, and makes them read-only.
    """

    # -- labeling ------------------------------------------------------------------------------------------------------

    def label(
        self,
        frame: Frame,
        mask: Mask | None = None,
        *,
        mirror: bool | None = None,
        rule: str = "mean",
        reject: float | str | None = None,
        smooth: float | None = None,
        exact: bool = False,
        threads: int | None = None,
    ) -> Labeling:
        """Label the pixels of one person.

        Parameters
        ----------
        frame : Frame
        mask : array (rows, cols), bool, optional
            Pixels of the person, from `find_people`; default: all pixels with a reading, for frames whose background is
            removed. A forest of body parts warns if they look like a whole room.
        mirror : bool, optional
            Also walk as in the mirrored picture, and average both walks; default: as stored in the model.
        rule : "mean", "votes" or "purity"
            Combine trees by the mean of their leaves' distributions, by one vote of each tree for the most likely part
            of its leaf, or by votes weighted by the probability of that part. A context stage only affects the mean.
        reject : float or "majority", optional
            Leave pixels unlabeled whose confidence is below this value, or whose part has at most half of the total.
        smooth : float, optional
            Average over neighbors on the surface up to this many meters away; 0: no smoothing; default: as stored in
            the model.
        exact : bool
            Walk every pixel. By default, pixels 2 cm apart on the body walk first, and the others only where labels
            around them differ. This is about three times as fast at 640 x 480; scores differ by at most 0.2 points.
        threads : int, optional
            Default: one per core.

        Returns
        -------
        Labeling
            Parts, confidence, and probabilities on demand.
        """
        if mask is None:
            _doubt_one_person(self.part_set, frame)
        return labeling.label(
            self, frame, mask, mirror=mirror, rule=rule, reject=reject, smooth=smooth, exact=exact, threads=threads
        )

    def label_many(
        self,
        frames: Iterable[Frame],
        masks: Iterable[Mask | None] | None = None,
        *,
        mirror: bool | None = None,
        rule: str = "mean",
        reject: float | str | None = None,
        smooth: float | None = None,
        exact: bool = False,
        threads: int | None = None,
    ) -> Iterator[Labeling]:
        """Label many frames, each on one of several threads, and yield the results in order.

        A few frames are read ahead, so that reading and labeling overlap. Streams may be endless, and memory stays
        constant.

        Parameters
        ----------
        frames : iterable of Frame
        masks : iterable of masks, optional
            One for each frame.
        mirror, rule, reject, smooth, exact, threads
            As in `label`.
        """
        return labeling.label_many(
            self, frames, masks, mirror=mirror, rule=rule, reject=reject, smooth=smooth, exact=exact, threads=threads
        )

    # -- files ---------------------------------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write the forest to a file in the format of docs/MODEL_FORMAT.md; equal forests give equal bytes."""
        write_trees(path, self)

    @classmethod
    def load(cls, path: str | Place) -> Forest:
        """Read a forest from a file or a URL, and check everything."""
        return cls.from_file(modelfile.read(path))

    @classmethod
    def from_file(cls, file: ModelFile) -> Forest:
        """Return the forest in a model file."""
        return trees_of(file, cls)


def _doubt_one_person(part_set: PartSet, frame: object) -> None:
    """Warn if all readings of a frame are labeled as one person but cover far more surface than a body."""
    if not isinstance(frame, Frame) or part_set not in (BODY31, PCL25, REGIONS15):
        return
    some = frame.depth_mm[::_STEP, ::_STEP].astype(np.float64) / 1000
    surface = float((some**2).sum()) * _STEP**2 / (frame.camera.fx * frame.camera.fy)
    if surface > ROOM_M2:
        warnings.warn(
            f"without a mask, all readings are labeled as one person, and they are {surface:.0f} square meters of "
            "surface, a room; df.find_people(frame) gives a mask for each person, df.track does all of it",
            DepthForestWarning,
            stacklevel=3,
        )
