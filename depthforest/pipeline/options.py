"""The options of `label`: one value with every default, which the command line shows. Imports nothing heavy."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from depthforest.base import UsageError


@dataclass(frozen=True, kw_only=True)
class LabelOptions:
    """How frames are labeled.

    Parameters
    ----------
    mask : Path, optional
        Masks of the people, as in `GivenMasks`.
    background : Path, optional
        An empty frame, or a folder of them, read with the same options as the frames.
    is_background_removed : bool
        All readings are one person. Without this, a mask or a background, people are recognized by their shape.
    n_people : int, optional
        Most people to find in a frame.
    person_model : str, optional
        Person model, as in `find_people`.
    is_doubtful_kept : bool
        Keep all candidates, however improbable it is that they are people.
    is_tracked : bool
        The frames are a recording: people keep their ids, and joints are smoothed over time.
    is_world : bool
        Also write joints in meters above the floor; the camera must not move.
    mirror, smooth, exact, rule, reject
        As in `Forest.label`.
    fps : float
        Frames per second of a recording, and of the video.
    """

    mask: Path | None = None
    background: Path | None = None
    is_background_removed: bool = False
    n_people: int | None = None
    person_model: str | None = None
    is_doubtful_kept: bool = False
    is_tracked: bool = False
    is_world: bool = False
    mirror: bool | None = None
    smooth: float | None = None
    exact: bool = False
    rule: str = "mean"
    reject: float | None = None
    fps: float = 30

    def __post_init__(self) -> None:
        from depthforest.labeling import RULES
        from depthforest.trees import check_smoothing  # heavy, and not needed to show defaults

        if self.rule not in RULES:
            raise UsageError(f"rule must be one of {', '.join(RULES)}, got {self.rule!r}")
        if self.reject is not None and not 0 <= self.reject <= 1:
            raise UsageError(f"reject must be a confidence from 0 to 1, got {self.reject!r}")
        if self.smooth is not None:
            check_smoothing(self.smooth)

    @property
    def of_forest(self) -> dict[str, Any]:
        """The options that `Forest.label` takes, as keyword arguments."""
        names = ("mirror", "smooth", "exact", "rule", "reject")
        return {name: getattr(self, name) for name in names}
