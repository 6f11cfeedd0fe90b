"""Options of a run of `evaluate --people`, with their defaults. Imports neither numpy nor numba."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from depthforest.base import Parameter, UsageError, is_whole
from depthforest.evaluation.options import PathLike


@dataclass(frozen=True, kw_only=True)
class PeopleOptions:
    """What a run of `evaluate --people` reads and writes.

    Parameters
    ----------
    models : sequence of str or Path
        Person models, by name or file, as in `find_people`. Default: the shipped one. All others are compared with the
        first.
    data : sequence of str or Path
        Data sets with true people.
    rooms : sequence of str or Path
        Folders of real frames with marked people, in the format of `MarkedRooms`.
    bench : sequence of str
        Names of test sets (`bench.SETS`); "all" for those that evaluate people.
    mocap : str or Path, optional
        The folder of the CMU clips, for test sets that need them.
    background : sequence of str or Path
        Empty frames of the room of `data`, or folders of them.
    empty_room : bool
        Use the same room without people as the background of each frame of `bench`.
    recording : bool
        Each of `data` is a recording: people are tracked, and their ids are evaluated, too.
    limit : int, optional
        Use only this many frames of each source; of `rooms`, this many empty ones and this many with people.
    output : str or Path, optional
        The HTML report to write.
    json_path : str or Path, optional
        All figures as JSON.
    threads : int, optional
        Default: one per core. The figures are the same for any number.
    seed : int
        Seed of the bootstrap.
    """

    models: Sequence[PathLike] = ()
    data: Sequence[PathLike] = ()
    rooms: Sequence[PathLike] = ()
    bench: Sequence[str] = ()
    mocap: PathLike | None = None
    background: Sequence[PathLike] = ()
    empty_room: bool = False
    recording: bool = False
    limit: int | None = None
    output: PathLike | None = None
    json_path: PathLike | None = None
    threads: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        data, rooms, bench = map(Parameter, ("data", "rooms", "bench"))
        if not self.data and not self.rooms and not self.bench:
            raise UsageError(
                "there is nothing to find people in; give a data set with ", data, ", marked rooms with ", rooms,
                ", or test sets with ", bench,
            )  # fmt: skip
        if self.mocap is not None and not self.bench:
            raise UsageError(Parameter("mocap"), " names the clips for test sets of ", bench, "; give ", bench, ", too")
        for name, is_given in (("background", self.background), ("recording", self.recording)):
            if is_given and (self.rooms or self.bench or not self.data):
                raise UsageError(
                    Parameter(name), " is for data sets; give ", data, ", and run ", rooms, " and ", bench,
                    " separately",
                )  # fmt: skip
        if self.empty_room and (self.data or self.rooms):
            raise UsageError(
                Parameter("empty_room"), " uses the generated empty rooms of ", bench, "; run ", data,
                " and ", rooms, " separately",
            )  # fmt: skip
        if self.limit is not None and not is_whole(self.limit, 1):
            raise UsageError(f"limit must be a whole number of frames, 1 or more; got {self.limit!r}")
