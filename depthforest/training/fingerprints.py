"""Fingerprint: the identity of a data set in a few values, so that a stopped run only continues with the same data.

Reading everything would take longer than some levels, so the checks depend on the kind of data:

    always          the number of frames, the part set, the first camera, and all bytes of up to 64 frames spread evenly
    a folder or     also the names and sizes of all files of depth, parts and people: compressed files rarely keep their
    a Zarr store    size when their content changes
    a generator     also its own identity: configuration, seed, version, digests of the files it reads

Data sets of up to 64 frames are read completely. The folder's own name and times do not matter: a copy is the same
data.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from depthforest.base import DatasetError, canonical_json, map_in_order, reason
from depthforest.frames import LabeledFrame
from depthforest.training.sampling import checked_frame

MAX_SAMPLE = 64
"""Frames that are read completely: takes about a second for a Zarr store of 640 x 480."""

FOLDERS = ("depth", "parts", "people")
"""Entries of a data set folder and of a Zarr store that training reads."""


def fingerprint(source: Sequence[LabeledFrame], *, threads: int | None = None) -> dict[str, Any]:
    """Return the fingerprint of a data set in JSON form.

    Parameters
    ----------
    source : sequence of LabeledFrame
        If it has a method `identity`, its text is included; if it has a `path` that is a folder, or several `paths`,
        their files are.
    threads : int, optional
        Default: one per core.

    Returns
    -------
    dict
        frames (number), parts (as in a model file), camera (of the first frame), and digests: sample; files, or None;
        origin, or None.
    """
    n = len(source)
    part_set = source[0].part_set
    indices = sorted({i * (n - 1) // max(1, MAX_SAMPLE - 1) for i in range(MAX_SAMPLE)}) if n > MAX_SAMPLE else range(n)

    def digest_of(index: int) -> bytes:
        return frame_digest(checked_frame(source, index, part_set))

    sample = hashlib.sha256()
    for digest in map_in_order(digest_of, indices, threads=threads):
        sample.update(digest)
    paths: Sequence[Any] = getattr(source, "paths", None) or (getattr(source, "path", None),)
    identity: Callable[[], str] | None = getattr(source, "identity", None)
    return {
        "frames": n,
        "parts": part_set.to_dict(),
        "camera": source[0].camera.to_dict(),
        "sample": sample.hexdigest(),
        "files": _sizes(paths) if all(isinstance(path, Path) and path.is_dir() for path in paths) else None,
        "origin": hashlib.sha256(identity().encode()).hexdigest() if callable(identity) else None,
    }


def frame_digest(frame: LabeledFrame) -> bytes:
    """Return the SHA-256 of a frame's camera, depth, parts and people."""
    digest = hashlib.sha256(canonical_json(frame.camera.to_dict()).encode())
    for array in (frame.depth_mm, frame.parts, frame.people):
        digest.update(np.ascontiguousarray(array).data)
    return digest.digest()


def _sizes(paths: Sequence[Path]) -> str:
    """Return a digest of the names and sizes of all files that training reads, without opening them."""
    digest = hashlib.sha256()
    for path in paths:
        try:
            for kind in FOLDERS:
                for name, size in _files(path / kind):
                    digest.update(f"{kind}/{name}\0{size}\0".encode(errors="surrogateescape"))
        except OSError as error:
            raise DatasetError(f"{path}: cannot be read: {reason(error)}") from None
    return digest.hexdigest()


def _files(folder: Path) -> Iterator[tuple[str, int]]:
    """Yield the relative names and sizes of all files below a folder, in order."""
    if not folder.is_dir():
        return
    with os.scandir(folder) as found:
        # hidden files are the system's, or partial
        entries = sorted((e for e in found if not e.name.startswith(".")), key=lambda e: e.name)
    for entry in entries:
        if entry.is_dir():
            yield from ((f"{entry.name}/{name}", size) for name, size in _files(folder / entry.name))
        else:
            yield entry.name, entry.stat().st_size
