"""Options of an evaluation, with their defaults: how forests are evaluated, and what a run reads and writes.

Imports neither numpy nor numba.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from depthforest.base import Parameter, UsageError, is_whole

if TYPE_CHECKING:
    from depthforest.frames import CameraLike, Frame, Grouping
    from depthforest.labeling import Labeling

PathLike = str | Path

JointFinder = Callable[["Frame", "Labeling"], Mapping[str, Any]]
"""From a frame and the labeling of one person to joints with position, confidence and proposals, as `find_joints`."""

TIMED_FRAMES = 16
"""Frames whose labeling is timed one by one, after the pass."""


@dataclass(frozen=True, kw_only=True)
class JudgeOptions:
    """How forests are evaluated.

    Parameters
    ----------
    threads : int, optional
        Default: one per core. The figures are the same for any number.
    mirror : bool, optional
        Whether to use the mirrored walk. Default: as stored in each forest.
    joints : bool or callable
        Whether to evaluate joints, if both data and model have them; or a function that finds them.
    exact : bool
        Walk every pixel, and find joints by the exact variant of `find_joints`, which is many times slower. Default:
        the fast variants that users run.
    groupings : sequence of Grouping
        Maps between part sets, tried before the known ones.
    timed_frames : int
        Number of frames that are labeled again to measure speed; 0: none.
    seed : int
        Seed of the bootstrap.
    """

    threads: int | None = None
    mirror: bool | None = None
    joints: bool | JointFinder = True
    exact: bool = False
    groupings: Sequence[Grouping] = ()
    timed_frames: int = TIMED_FRAMES
    seed: int = 0


@dataclass(frozen=True, kw_only=True)
class EvaluateOptions(JudgeOptions):
    """What a run of `evaluate` reads and writes, in addition to `JudgeOptions`.

    Parameters
    ----------
    models : sequence of str or Path
        Names of shipped models, or files. All others are compared with the first.
    data : sequence of str or Path
        Data sets of one part set.
    bench : sequence of str
        Names of test sets (`bench.SETS`), or "all"; instead of `data`.
    mocap : str or Path, optional
        The folder of the CMU clips, for test sets that need them.
    limit : int, optional
        Use only this many frames of each data set.
    marks, frames : str or Path, optional
        A marks file (`marks.read_marks`) and the folder of its depth frames, background removed; both or neither.
    camera : optional
        Camera of the marked frames, as in `Camera.parse`. Default: guessed from their size.
    output : str or Path, optional
        The HTML report to write.
    json_path : str or Path, optional
        All figures as JSON.
    """

    models: Sequence[PathLike]
    data: Sequence[PathLike] = ()
    bench: Sequence[str] = ()
    mocap: PathLike | None = None
    limit: int | None = None
    marks: PathLike | None = None
    frames: PathLike | None = None
    camera: CameraLike | None = None
    output: PathLike | None = None
    json_path: PathLike | None = None

    def __post_init__(self) -> None:
        if not self.models:
            raise UsageError("name at least one model to evaluate")
        data, bench, marks, frames = map(Parameter, ("data", "bench", "marks", "frames"))
        if not self.data and not self.bench and self.marks is None:
            raise UsageError(
                "there is nothing to evaluate on; give a data set with ", data, ", test sets with ", bench,
                ", or ", marks, " with ", frames,
            )  # fmt: skip
        if self.data and self.bench:
            raise UsageError(bench, " brings its own frames; leave out ", data, ", or run the command twice")
        if self.mocap is not None and not self.bench:
            raise UsageError(Parameter("mocap"), " names the clips for test sets of ", bench, "; give ", bench, ", too")
        if (self.marks is None) != (self.frames is None):
            raise UsageError(marks, " names the marks file and ", frames, " the folder of its frames; give both")
        if self.limit is not None and not is_whole(self.limit, 1):
            raise UsageError(f"limit must be a whole number of frames, 1 or more; got {self.limit!r}")
