"""One open page: its position, whether it plays, its uploads."""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
import shutil
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

from depthforest.base import DepthForestError, UsageError
from depthforest.forest import Forest
from depthforest.frames import Camera
from depthforest.io import ReadOptions
from depthforest.joints import FrameJoints, joints_json
from depthforest.people import Background
from depthforest.pipeline import check_frames
from depthforest.view.clips import Clip, FileClip, LiveClip
from depthforest.view.lines import command_line, python_lines
from depthforest.view.looking import Look, Looker
from depthforest.view.protocol import GIVEN, Command, Reading, assumed, pack_look
from depthforest.view.viewer import Viewer

MAX_UNSHOWN = 2
"""Most frames that were sent but not shown yet. A slow page gets fewer frames, never a queue of them."""

MAX_KEPT_JOINTS = 3000
"""Most frames whose joints can be saved: the last 100 s of a live source."""

MAX_PAGES = 8
"""Most pages that may be open at once."""

LIVE_PATIENCE_S = 10.0
"""Seconds after which a live source without a frame is reported; waiting continues."""

_NOTHING_COMES = f"no frame came within {LIVE_PATIENCE_S:g} s; is the source running? It is waited for."

_T = TypeVar("_T")


class Socket(Protocol):
    """The methods of a websocket that a session needs."""

    async def send_text(self, text: str) -> None:
        """Send a text."""

    async def send_bytes(self, content: bytes) -> None:
        """Send bytes."""


@dataclass
class _Clock:
    """Decides which frame is due: `start` at `began` seconds, then `rate` frames per second."""

    start: int = 0
    began: float = 0.0
    rate: float = 30.0

    def due(self, total: int) -> int:
        return (self.start + int((time.monotonic() - self.began) * self.rate)) % max(total, 1)

    def until_next(self) -> float:
        passed = (time.monotonic() - self.began) * self.rate
        return (int(passed) + 1 - passed) / self.rate


class Session:
    """One open page.

    Parameters
    ----------
    viewer : Viewer
    socket : Socket
    """

    def __init__(self, viewer: Viewer, socket: Socket) -> None:
        self.id = secrets.token_urlsafe(12)
        self.is_uploading = False
        self._n_opened = 0
        self.end_code: int | None = None
        self._is_uploaded = False
        self._viewer, self._socket = viewer, socket
        self._sending = asyncio.Lock()
        self._changed = asyncio.Event()
        self._folder = viewer.uploads.of_page()
        self._sources, self._clip = viewer.sources, viewer.clip
        self._given = viewer.clip.options
        self._reading = viewer.first_reading()
        self._model, self._compared = viewer.first_model, viewer.first_compared
        self._room: tuple[Background, str] | None = None
        self._looker: Looker | None = None
        self._index = self._n_live = 0
        self._is_playing = self._clip.is_live
        self._speed = 1.0
        self._clock = _Clock(rate=self._clip.fps)
        self._is_wanted, self._is_new = True, True
        self._n_sent = self._n_shown = 0
        self._times: dict[int, tuple[float, float]] = {}  # frames not shown yet -> times of arrival and sending
        self._delays: dict[str, float] = {}
        self._joints: dict[str, FrameJoints] = {}

    # -- the two loops of a page ---------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Send the page its initial state."""
        await self._send(self._viewer.hello(self.id))
        await self._tell_state()

    async def produce(self) -> None:
        """Label and send frames as they become due, until canceled."""
        with self._awake():
            while True:
                try:
                    index = self._index = await self._due()
                    clip = self._clip
                    look = await self._in_worker(self._look, clip, index)
                    extra = {"playing": self._is_playing, "delays": self._delays}
                    packed = await self._in_worker(pack_look, look, self._n_sent + 1, len(clip), extra)
                except DepthForestError as error:
                    self._is_playing = False
                    await self.complain(error)
                    await self._tell_state()
                    continue
                if clip is not self._clip:  # another file, or other reading options: its frame is due now
                    continue
                if clip.is_live:
                    self._index, self._n_live = look.taken.number, look.taken.number + 1
                self._n_sent += 1
                self._times[self._n_sent] = look.taken.time, time.monotonic()
                async with self._sending:
                    await self._socket.send_bytes(packed)
                if self._is_new:
                    self._is_new = False
                    await self._tell_reading(look)

    async def obey(self, command: Command) -> None:
        """Do what the page requests; DepthForestError if it cannot be done."""
        do, value = command
        if do == "shown":
            self._acknowledge(value)
        elif do in ("play", "pause"):
            self._is_playing = do == "play"
        elif do == "speed":
            self._speed = value
        elif do in ("seek", "step"):
            self._go_to(value if do == "seek" else self._index + value, is_step=do == "step")
        elif do == "model":
            self._model = await self._known_model(value)
        elif do == "compare":
            self._compared = None if value is None else await self._known_model(value)
        elif do == "read":
            await self._read_as(value)
        elif do == "reopen":
            self._open(self._viewer.clip, self._viewer.sources, self._viewer.first_reading())
        if do in ("model", "compare", "read", "reopen"):
            self._looker, self._is_wanted = None, True
        if do != "shown":
            self._clock = _Clock(self._index, time.monotonic(), self._clip.fps * self._speed)
            await self._tell_state()
        self._changed.set()

    # -- files of the page ---------------------------------------------------------------------------------------------

    def upload_path(self, suffix: str) -> Path:
        """Return the path for an upload: a name of our own, with one of the endings that readers know."""
        return self._folder / f"{secrets.token_hex(8)}{suffix}"

    async def show_upload(self, path: Path, name: str) -> None:
        """Show an uploaded file, read with default options; FrameError if it cannot be read."""
        clip = await self._in_worker(FileClip, [path], ReadOptions())
        for old in self._folder.iterdir():
            if old != path:
                old.unlink(missing_ok=True)
        self._given = ReadOptions()
        self._open(clip, (name,), Reading())
        await self._tell_state()
        self._changed.set()

    def joints_file(self) -> bytes:
        """Return the joints of the shown frames in the format of `write_joints`."""
        return joints_json(list(self._joints.values()))

    async def complain(self, error: DepthForestError) -> None:
        """Send an error to the page."""
        await self._send({"kind": "error", "text": self._cleaned(str(error))})

    def close(self) -> None:
        """Remove the page's uploads."""
        shutil.rmtree(self._folder, ignore_errors=True)

    # -- inside --------------------------------------------------------------------------------------------------------

    async def _in_worker(self, function: Callable[..., _T], *args: Any) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._viewer.worker, function, *args)

    async def _send(self, content: dict[str, Any]) -> None:
        async with self._sending:
            await self._socket.send_text(json.dumps(content))

    @contextlib.contextmanager
    def _awake(self) -> Iterator[None]:
        """Let frames of a live source wake this page, from any thread."""
        clip, loop = self._viewer.clip, asyncio.get_running_loop()

        def wake() -> None:
            with contextlib.suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(self._changed.set)

        if isinstance(clip, LiveClip):
            clip.listeners.add(wake)
        try:
            yield
        finally:
            if isinstance(clip, LiveClip):
                clip.listeners.discard(wake)

    async def _due(self) -> int:
        """Wait until a frame is due, and return its number."""
        while True:
            self._changed.clear()
            patience: float | None = None
            if self._n_sent - self._n_shown < MAX_UNSHOWN:
                if isinstance(self._clip, LiveClip):
                    if self._is_live_due(self._clip):
                        self._is_wanted = False
                        return self._n_live
                    patience = LIVE_PATIENCE_S if self._is_playing else None
                elif self._is_wanted:
                    self._is_wanted = False
                    return self._index
                elif self._is_playing and len(self._clip) > 1:
                    due = self._clock.due(len(self._clip))
                    if due != self._index:
                        return due
                    patience = self._clock.until_next()
            try:
                await asyncio.wait_for(self._changed.wait(), patience)
            except TimeoutError:
                if self._clip.is_live:
                    await self._send({"kind": "error", "text": _NOTHING_COMES})

    def _is_live_due(self, clip: LiveClip) -> bool:
        """Tell whether a live source has a frame to show; raise its error once it has ended."""
        if len(clip) and (self._is_wanted or (self._is_playing and len(clip) > self._n_live)):
            return True
        if self._is_playing and clip.error is not None:
            raise clip.error
        return False

    def _look(self, clip: Clip, index: int) -> Look:
        """Label a frame, in the worker."""
        if self._looker is None:
            viewer, reading = self._viewer, self._reading
            other = None if self._compared is None else viewer.forest(self._compared)
            room = viewer.background if reading.people == "given" else None
            if reading.people == "frame" and self._room is not None:
                room = self._room[0]
            self._looker = Looker(
                viewer.forest(self._model),
                other,
                room,
                reading.people == "all",
                viewer.options.n_people,
                reading.track,
                clip.fps,
            )
        look = self._looker.look(clip, index)
        if self._is_uploaded and isinstance(clip, FileClip):
            # as if read from the user's own file
            name = Path(self._sources[0]).stem + look.taken.name.removeprefix(clip.path(0).stem)
            look = replace(look, taken=replace(look.taken, name=name))
        self._joints.pop(look.taken.name, None)
        self._joints[look.taken.name] = FrameJoints(look.taken.name, look.joints, camera=look.taken.frame.camera)
        while len(self._joints) > MAX_KEPT_JOINTS:
            del self._joints[next(iter(self._joints))]
        return look

    def _acknowledge(self, number: int) -> None:
        if number > self._n_sent:
            raise UsageError(f"frame {number} was not sent yet")
        self._n_shown = max(self._n_shown, number)
        now = time.monotonic()
        if number in self._times:
            arrived, sent = self._times[number]
            self._delays = {"send and draw": round(1000 * (now - sent), 1), "in all": round(1000 * (now - arrived), 1)}
        self._times = {n: times for n, times in self._times.items() if n > number}

    def _go_to(self, index: int, *, is_step: bool) -> None:
        if self._clip.is_live:
            return
        total = len(self._clip)
        self._index = index % total if is_step else min(index, total - 1)
        if is_step:
            self._is_playing = False
        self._is_wanted = True

    async def _known_model(self, index: int) -> int:
        if index >= len(self._viewer.models):
            raise UsageError(f"there are {len(self._viewer.models)} models, no number {index}")
        await self._in_worker(self._viewer.forest, index)
        return index

    async def _read_as(self, reading: Reading) -> None:
        if not isinstance(self._clip, FileClip):
            self._reading = replace(self._reading, people=reading.people, track=reading.track)
        else:
            options = reading.options(self._given)
            self._clip = await self._in_worker(FileClip, self._clip.inputs, options, self._viewer.options.fps)
            self._reading = reading
            self._index = min(self._index, len(self._clip) - 1)
        if reading.people == "frame":
            taken = await self._in_worker(
                self._clip.take, max(self._n_live - 1, 0) if self._clip.is_live else self._index
            )
            is_file = isinstance(self._clip, FileClip) and self._clip.is_alone(self._index)
            path = self._shown_path(self._index) if is_file else ""
            self._room = Background.learn(taken.frame), path
        self._joints.clear()
        self._is_new = True

    def _shown_path(self, index: int) -> str:
        """Return a frame's file under the user's name for it."""
        assert isinstance(self._clip, FileClip)
        path = self._clip.path(index)
        return self._sources[0] if path.parent == self._folder else str(path)

    def _open(self, clip: Clip, sources: tuple[str, ...], reading: Reading) -> None:
        self._is_uploaded = clip is not self._viewer.clip
        self._n_opened += 1
        if not self._is_uploaded:
            self._given = clip.options
        self._clip, self._sources, self._reading = clip, sources, reading
        self._index, self._is_playing = 0, clip.is_live
        self._looker, self._room = None, None
        self._joints.clear()
        self._is_wanted = self._is_new = True

    async def _tell_state(self) -> None:
        forest = self._viewer.forest
        chosen = [self._model] + ([] if self._compared is None else [self._compared])
        forests = [await self._in_worker(forest, index) for index in chosen]
        await self._send(
            {
                "kind": "state",
                "source": ", ".join(Path(source).name or source for source in self._sources)[:200]
                if self._is_uploaded or self._viewer.options.sources
                else "sample frames",
                "uploaded": self._is_uploaded,
                "opened": self._n_opened,
                "total": len(self._clip),
                "live": self._clip.is_live,
                "playing": self._is_playing,
                "speed": self._speed,
                "fps": round(self._clip.fps, 2),
                "model": self._model,
                "compare": self._compared,
                "has_room": self._viewer.background is not None,
                "has_camera": self._given.camera is not None,
                "reading": self._reading.shown(),
                "parts": [{"names": f.part_set.names, "colors": f.part_set.colors} for f in forests],
                **self._lines(),
            }
        )

    def _lines(self) -> dict[str, str]:
        """Return the command and the Python code that reproduce what is shown."""
        reading, sources = self._reading, list(self._sources)
        camera: Any = reading.camera
        if camera == GIVEN and isinstance(self._given.camera, Camera):
            camera = _numbers(self._given.camera)
        how = {
            "camera": camera,
            "scale": reading.scale,
            "flip": reading.flip,
            "rotate": reading.rotate,
            "size": reading.size,
            "topic": reading.topic,
        }
        room = str(self._viewer.options.background) if reading.people == "given" else ""
        if reading.people == "frame" and self._room is not None:
            room = self._room[1]
        who = {
            "background": room,
            "background_removed": reading.people == "all",
            "people": self._viewer.options.n_people,
            "track": reading.track,
        }
        model = self._viewer.models[self._model]
        return {"command": command_line(sources, model, how, who), "python": python_lines(sources, model, how, who)}

    async def _tell_reading(self, look: Look) -> None:
        """Send how the first frame was read, and warnings about it."""
        notes = tuple(self._cleaned(note) for note in look.warnings)
        told = assumed(look.taken, self._reading, notes)
        await self._send({"kind": "reading", **told, "findings": []})
        if self._reading.people == "find" and not self._is_playing:
            found = await self._in_worker(_doubts, look, self._viewer.forest(self._model))
            await self._send({"kind": "reading", **told, "findings": found})

    def _cleaned(self, text: str) -> str:
        with contextlib.suppress(OSError):  # a folder that is gone
            for path in self._folder.iterdir():
                text = text.replace(str(path), self._sources[0])
        return text.replace(str(self._folder), "upload")


def _doubts(look: Look, forest: Forest) -> list[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [str(finding) for finding in check_frames(look.taken.frame, forest)]


def _numbers(camera: Camera) -> str:
    numbers = (camera.fx, camera.fy, camera.cx, camera.cy)
    return ",".join(f"{v:.7g}" for v in numbers) + f",{camera.width}x{camera.height}"
