"""Options of the viewer: what to show, and who may connect. Imports nothing heavy."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from pathlib import Path

from depthforest.base import Parameter, UsageError
from depthforest.io import ReadOptions

LOOPBACK = "127.0.0.1"
"""The address that only programs on this machine can reach."""


@dataclass(frozen=True, kw_only=True)
class ViewOptions:
    """What to show, and who may connect.

    Parameters
    ----------
    sources : tuple of str
        Files, folders, globs; "-" for a raw stream; empty: the bundled sample frames.
    reading : ReadOptions
        How they are read.
    model, compare : str, optional
        The forest that labels, and one to compare it with: a shipped name or a file.
    background : Path, optional
        An empty frame, or a folder of them.
    is_background_removed : bool
        All readings are one person.
    n_people : int, optional
        Most people to find.
    is_tracked : bool
        People keep their ids, and joints are smoothed over time.
    fps : float, optional
        Frames per second at which files play. Default: from their time stamps, else 30; 1 for the sample frames.
    host : str
        The address to bind to.
    port : int
        0: any free port.
    """

    sources: tuple[str, ...] = ()
    reading: ReadOptions = field(default_factory=ReadOptions)
    model: str | None = None
    compare: str | None = None
    background: Path | None = None
    is_background_removed: bool = False
    n_people: int | None = None
    is_tracked: bool = False
    fps: float | None = None
    host: str = LOOPBACK
    port: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.port <= 65535:
            raise UsageError(Parameter("port"), f" is a number from 0 (any free port) to 65535, got {self.port}")
        if self.background is not None and self.is_background_removed:
            raise UsageError(
                Parameter("background"),
                " is a room without people, ",
                Parameter("is_background_removed"),
                " means that all readings are one person; give only one of them",
            )

    @property
    def is_local(self) -> bool:
        """Whether only programs on this machine can connect."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"
