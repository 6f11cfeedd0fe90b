"""The folder that `label` writes into: names of frames, finished frames, and the identity of the run, in `label.json`.

`label.json` is written before the first output. It holds everything that shapes the answers (the identity: model and
options) and the input that each name belongs to. So a second run knows which frames are done, outputs of different
models or options never mix, and two inputs never share a name.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from depthforest.base import (
    CameraError,
    Change,
    ClaimedFolder,
    DepthForestError,
    Parameter,
    UsageError,
    json_bytes,
    natural_key,
    reason,
)
from depthforest.frames import Camera
from depthforest.io import FrameName, stream_name
from depthforest.pipeline.motions import clear_motions
from depthforest.pipeline.outputs import ENDINGS, JOINTS_TABLE, MOTION, VIDEO_FILE, frame_outputs, output_path

RECORD = "label.json"
SCHEMA = 1

MAX_NAME_BYTES = 180
"""Longest name: file systems allow 255 bytes, and page number and ending need some of them."""

_RESERVED = {"CON", "PRN", "AUX", "NUL", *(f"{device}{i}" for device in ("COM", "LPT") for i in range(10))}
"""Reserved names of devices on Windows."""

_PAGE = re.compile(r"(.+)_\d{6,}")
"""Pattern of the end of a stack page's name, see `FrameName.stem`."""


def safe_name(text: str) -> str:
    """Return a text as a file name that any file system accepts and that does not lead to another folder."""
    kept = "".join("_" if c in '<>:"/\\|?*' or unicodedata.category(c)[0] == "C" else c for c in text).strip(". ")
    if kept.split(".")[0].upper() in _RESERVED:
        kept = f"_{kept}"
    if len(kept.encode()) > MAX_NAME_BYTES:
        digest = hashlib.sha256(kept.encode()).hexdigest()[:8]
        kept = f"{kept.encode()[: MAX_NAME_BYTES - 9].decode(errors='ignore')}_{digest}"
    return kept or "frame"


class OutputFolder(ClaimedFolder):
    """The folder of a run; the module's docstring describes it.

    Parameters
    ----------
    path : str or Path
        New, empty, or without outputs of other programs.
    kinds : sequence of str
        Requested outputs.
    sources : sequence of Path or str
        Files of the frames; "-" for standard input, or the name of a live camera.
    identity : mapping
        Everything that shapes the answers, in JSON form.
    others : iterable of Path
        Files and folders that are read besides the frames.
    is_guessed : callable, optional
        Tells whether the frames have a camera, in JSON form, without being told. So a run that names this camera
        continues one that named none, and the reverse.
    model_name : callable, optional
        Returns the name of the model with a digest, None if it is not known.
    is_forced : bool
        Label finished frames again. Frames that were labeled with another identity are removed.
    """

    RECORD = RECORD

    def __init__(
        self,
        path: str | Path,
        kinds: Iterable[str],
        sources: Iterable[Path | str],
        identity: Mapping[str, Any],
        *,
        others: Iterable[Path] = (),
        is_guessed: Callable[[Any], bool] = lambda _: False,
        model_name: Callable[[str], str | None] = lambda _: None,
        is_forced: bool = False,
    ) -> None:
        super().__init__(path)
        self._is_guessed, self._model_name = is_guessed, model_name
        self._is_replaced = False
        self._kinds = tuple(kinds)
        self._identity = json.loads(json.dumps(identity))
        self._is_forced = is_forced
        self._seen = self._content()
        entries = (*ENDINGS, *MOTION, JOINTS_TABLE, VIDEO_FILE, RECORD)
        self._places = [(self.path / entry).resolve() for entry in entries]
        given = list(dict.fromkeys(map(_absolute, sources)))
        streams = {source for source in given if isinstance(source, str)}
        self._record = self._checked_record(bool(streams))
        self._earlier = set(self._record["sources"])
        self._inputs = [source for source in given if isinstance(source, str) or not self._is_ours(source)]
        self.n_ignored = len(given) - len(self._inputs)
        if not self._inputs:
            raise UsageError(f"{path}: all inputs are outputs of label in this folder; name the depth frames")
        for other in others:
            if self._is_ours(other):
                raise UsageError(f"{other}: may be overwritten, for outputs go there; name another folder for them")
        # removed before the first output: everything of another identity, or of an earlier stream, which may have been
        # longer than the new one with the same names
        self._stale = {name for name, source in self._record["sources"].items() if source in streams}
        if self._is_replaced:
            self._record, self._earlier, self._stale = self._new_record(), set(), self._earlier
        self._names = self._plan()
        self._lock = threading.Lock()
        self._is_begun = False

    def begin(self) -> None:
        """Make the folder ready for the first output; later calls do nothing.

        A run that fails before its first output leaves no trace.
        """
        with self._lock:
            if self._is_begun:
                return
            self.lock()
            if self._content() != self._seen:
                raise UsageError(f"{self.path}: another run has written there since this one began; run it again")
            self.remove_leftovers()
            if self._stale:
                self._clear(self._stale)
            self.claim(json_bytes(self._record))
            self._is_begun = True

    def remove_leftovers(self) -> None:
        """Remove partial files of a run that was killed, only where outputs go; the folder may hold other things."""
        self._remove_leftovers(self.path.glob(".*.part*"))
        for kind in (*ENDINGS, *MOTION):
            self._remove_leftovers((self.path / kind).rglob(".*.part*"))

    def _content(self) -> bytes | None:
        """Return the bytes of the record, None if it is missing or cannot be read."""
        try:
            return (self.path / RECORD).read_bytes()
        except OSError:
            return None

    def name(self, frame: FrameName) -> str | None:
        """Return the name of a frame's outputs, with slashes between folders; None if it is an output itself."""
        base = self._base_name(frame)
        return base if base is None or frame.page is None else f"{base}_{frame.page:06d}"

    def written(self, kind: str) -> list[str]:
        """Return the names of all frames, of this run and of earlier ones, with an output of a kind, in order."""
        order = {base: number for number, base in enumerate(self._record["sources"])}
        found = []
        for name in self._outputs(kind):
            page = _PAGE.fullmatch(name)
            base = page[1] if page and name not in order else name
            if base in order:
                found.append((order[base], natural_key(name), name))
        return [name for _, _, name in sorted(found)]

    def has_earlier(self, kind: str) -> bool:
        """Tell whether the folder holds an output of a kind from an earlier run that this one continues."""
        return bool(self._earlier) and bool(self.written(kind))

    def is_done(self, frame: FrameName, inputs: Iterable[Path]) -> bool:
        """Tell whether an earlier run has written all outputs of a frame, and none is older than its inputs."""
        name = self.name(frame)
        if name is None or self._is_forced or self._base_name(frame) not in self._earlier:
            return False
        return _is_newer([output_path(self.path, kind, name) for kind in frame_outputs(self._kinds)], inputs)

    def is_video_done(self, inputs: Iterable[Path]) -> bool:
        """Tell whether the video holds the frames of this run and is not older than their files."""
        is_same = self._record["video"] == self._video_digest() and not any(isinstance(s, str) for s in self._names)
        return is_same and not self._is_forced and _is_newer([self.path / VIDEO_FILE], inputs)

    def note_video(self) -> None:
        """Note that the video holds the frames of this run."""
        self._record["video"] = self._video_digest()
        self.keep(RECORD, json_bytes(self._record))

    # -- the record ----------------------------------------------------------------------------------------------------

    def _checked_record(self, is_stream: bool) -> dict[str, Any]:
        """Return the record to continue with, the folder's own or a new one."""
        earlier = self.check(self._identity)
        if earlier is None:
            return self._new_record()
        if not self._is_forced and is_stream and any(map(stream_name, earlier["sources"].values())):
            raise UsageError(
                f"{self.path}: holds the labels of an earlier stream; name another folder, or ",
                Parameter("is_forced", True),
                " to write over it",
            )
        return dict(earlier)

    def _new_record(self) -> dict[str, Any]:
        return {"schema": SCHEMA, "identity": self._identity, "sources": {}, "video": None}

    def _read_record(self) -> dict[str, Any]:
        return _checked(super()._read_record(), self.path / RECORD)

    def _identity_of(self, record: Any) -> Mapping[str, Any]:
        return dict(record["identity"])

    def change(self, record: Any, identity: Mapping[Any, Any]) -> Change | None:
        """Return the first thing in which a record differs from an identity, but no camera that was only left out."""
        found = super().change(record, identity)
        if found is None or found.key != "camera" or None not in (found.old, found.new):
            return found
        if not self._is_guessed(found.old if found.new is None else found.new):
            return found
        return super().change({**record, "identity": {**record["identity"], "camera": found.new}}, identity)

    def _refuse(self, change: Change) -> None:
        if self._is_forced:
            self._is_replaced = True
            return
        told = _told(change, self._model_name)
        raise UsageError(
            f"{self.path}: was labeled with other options ({told}); name another folder, or pass ",
            Parameter("is_forced", True),
            " to replace those results",
        )

    def _refuse_others(self) -> None:
        foreign = [entry for entry in (*ENDINGS, *MOTION, VIDEO_FILE) if self.has(entry)]
        if foreign:
            raise UsageError(
                f"{self.path / foreign[0]}: is there already, and not from label (there is no {RECORD}); "
                "name another folder"
            )

    def _clear(self, names: set[str]) -> None:
        """Remove the outputs with these names and the video, so that old and new never mix."""
        try:
            for kind in ENDINGS:
                for name in self._outputs(kind):
                    page = _PAGE.fullmatch(name)
                    if name in names or (page and page[1] in names):
                        output_path(self.path, kind, name).unlink()
            (self.path / VIDEO_FILE).unlink(missing_ok=True)
            for kind in MOTION:
                clear_motions(self.path, kind)
        except OSError as error:
            raise DepthForestError(f"{self.path}: cannot be cleared: {reason(error)}") from None

    def _outputs(self, kind: str) -> list[str]:
        """Return the names of all files of an output, whoever wrote them."""
        folder, ending = self.path / kind, ENDINGS[kind]
        return [path.relative_to(folder).as_posix().removesuffix(ending) for path in folder.rglob(f"*{ending}")]

    def _video_digest(self) -> str:
        return hashlib.sha256("\n".join(self._names.values()).encode()).hexdigest()

    # -- names ---------------------------------------------------------------------------------------------------------

    def _plan(self) -> dict[Path | str, str]:
        """Give every input a name: that of an earlier run, or its own, preceded by its folders if names collide."""
        sources: dict[str, str] = self._record["sources"]
        earlier = {source: name for name, source in sources.items()}
        bases = _bases(self._inputs)
        uses = Counter(map(_key, bases.values()))
        taken = {_key(name) for name in sources}
        taken |= {page[1] for page in map(_PAGE.fullmatch, taken) if page}
        names: dict[Path | str, str] = {}
        for source in self._inputs:
            known = earlier.get(self._source_id(source))
            if known is None:
                candidates = _candidates(bases[source], source)
                if uses[_key(bases[source])] > 1:
                    next(candidates)
                known = next(name for name in candidates if _is_free(name, taken, uses))
                taken.add(_key(known))
                sources[known] = self._source_id(source)
            names[source] = known
        return names

    def _source_id(self, source: Path | str) -> str:
        """Return an input's key in the record: its path relative to the folder, so that both can be moved together."""
        if isinstance(source, str):
            return source
        try:
            return Path(os.path.relpath(source, self.path.absolute())).as_posix()
        except ValueError:  # another drive
            return source.as_posix()

    def _base_name(self, frame: FrameName) -> str | None:
        # a stream's frames are named as if it were a file
        streams = (source for source in self._names if stream_name(source) == str(frame.path))
        return self._names.get(next(streams, _absolute(frame.path)))

    def _is_ours(self, path: Path) -> bool:
        """Tell whether a path is where outputs go; such files are never inputs."""
        resolved = path.resolve()
        return any(place == resolved or place in resolved.parents for place in self._places)


def _absolute(source: Path | str) -> Path | str:
    if stream_name(source) is not None:
        return str(source)
    return Path(os.path.abspath(source))  # noqa: PTH100  # takes .. out, keeps links


def _bases(sources: Iterable[Path | str]) -> dict[Path | str, str]:
    """Return the names of inputs without their endings, except where only the endings differ."""
    bases = {source: safe_name(Path(stream_name(source) or source).stem) for source in sources}
    whole = {s: safe_name(f"{s.stem}_{s.suffix[1:]}") for s in bases if isinstance(s, Path) and s.suffix}
    uses = Counter((s.parent, _key(name)) for s in whole for name in (bases[s], whole[s]))
    for source, name in whole.items():
        if uses[source.parent, _key(bases[source])] > 1 and uses[source.parent, _key(name)] == 1:
            bases[source] = name
    return bases


def _key(name: str) -> str:
    """Return a key that is equal for names that some file system treats as the same."""
    return unicodedata.normalize("NFC", name).casefold()


def _candidates(base: str, source: Path | str) -> Iterator[str]:
    """Yield names for an input: its own, with its folder, with two folders, ..., then with numbers."""
    name = base
    yield name
    for parent in source.parents if isinstance(source, Path) else ():
        if parent.name:
            name = f"{safe_name(parent.name)}/{name}"
            yield name
    number = 2
    while True:
        yield f"{base}_{number}"
        number += 1


def _is_free(name: str, taken: set[str], uses: Mapping[str, int]) -> bool:
    """Tell whether no input and no page of one has the name."""
    key = _key(name)
    page = _PAGE.fullmatch(key)
    if page and (page[1] in taken or uses.get(page[1])):
        return False
    return key not in taken


def _is_newer(outputs: Iterable[Path], inputs: Iterable[Path]) -> bool:
    """Tell whether all outputs exist, and were written after the inputs were."""
    try:
        made = min((path.stat().st_mtime_ns for path in outputs), default=None)
        return made is None or all(path.stat().st_mtime_ns <= made for path in inputs)
    except OSError:
        return False


def _told(change: Change, model_name: Callable[[str], str | None]) -> str:
    """Return a change of options as text."""
    key, old, new = change
    if key == "track" and None not in (old, new):
        return str(Change("fps", *(track[0] for track in (old, new))))
    if key == "track":
        return str(Change(key, *("off" if track is None else "on" for track in (old, new))))
    if key == "camera":
        return str(Change(key, *map(_camera_name, (old, new))))
    if key == "size":
        return str(Change(key, *(size and "x".join(map(str, size)) for size in (old, new))))
    if key == "topic":
        return str(Change(key, *(topics and ", ".join(topics) for topics in (old, new))))
    if key == "model":
        names = [model_name(digest) for digest in (old, new)]
        is_known = any(names)
        return str(Change(key, *(name or "one that is not shipped" for name in names))) if is_known else "another model"
    if key == "person_model":
        return "another person model"  # only digests are known
    return str(change)


def _camera_name(camera: Any) -> str | None:
    """Return a camera in JSON form as text that --camera takes."""
    if not isinstance(camera, dict):
        return None if camera is None else str(camera)
    try:
        found = Camera.from_dict(camera)
    except CameraError:  # a record that somebody edited
        return str(camera)
    guess = Camera.guess(found.width, found.height)
    if guess is not None and guess[1] == found:
        return guess[0]
    numbers = ",".join(f"{value:.10g}" for value in (found.fx, found.fy, found.cx, found.cy))
    lens = f" with distortion {', '.join(f'{value:g}' for value in found.distortion)}" if found.distortion else ""
    return f"{numbers},{found.width}x{found.height}{lens}"


def _checked(record: Any, path: Path) -> dict[str, Any]:
    """Return a record after checking it; its names must not lead to other folders."""
    if isinstance(record, dict) and record.get("schema", SCHEMA) != SCHEMA:
        raise DepthForestError(
            f"{path}: has schema {record['schema']!r}, this version knows {SCHEMA}; name another folder"
        )
    is_sound = (
        isinstance(record, dict)
        and set(record) == {"schema", "identity", "sources", "video"}
        and isinstance(record["identity"], dict)
        and isinstance(record["sources"], dict)
        and all(isinstance(source, str) for source in record["sources"].values())
        and all(piece == safe_name(piece) for name in record["sources"] for piece in name.split("/"))
    )
    if not is_sound:
        raise DepthForestError(f"{path}: is not what label writes; name another folder, or remove this one")
    return dict(record)
