"""Production: many generated frames to disk, on all cores, resumable."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path

from depthforest.camera import Camera
from depthforest.checks import is_whole
from depthforest.datasets import FolderDataset, ZarrDataset, open_dataset
from depthforest.files import read_bytes
from depthforest.threads import map_in_order
from depthforest.writing import BLOCK, open_store
from synth.config import Config, ConfigError
from synth.generator import Generator
from synth.makehuman_files import MESH_FILE, WEIGHTS_FILE, find_folder
from synth.mocap import clip_files

VERSION = 1
"""Of the frames: raise it whenever the same (config, seed, index) gives other bytes than before."""

LATER_DEFAULTS = ("only_subjects = []",)
"""Fields that came later, where they change nothing: data sets that were begun without them can go on."""


def identity(config: Config, seed: int) -> str:
    """Return the text of all that makes frames: numbers, and digests of the files that they name."""
    numbers = (line for line in config.to_toml().splitlines() if line not in LATER_DEFAULTS)
    lines = [f"version = {VERSION}", f"seed = {seed}", *numbers]
    lines.append(f"camera = {json.dumps(Camera.parse(config.camera).to_dict())}")
    if config.mocap:
        lines.append(f"clips = {_digest(clip_files(config.mocap), Path(config.mocap))}")
    if config.mocap_names:
        lines.append(f"names = {_digest([Path(config.mocap_names)], Path(config.mocap_names).parent)}")
    if config.bodies != "procedural":
        folder = find_folder(Path(config.makehuman_folder) if config.makehuman_folder else None)
        lines.append(f"bodies = {_digest([folder / MESH_FILE, folder / WEIGHTS_FILE], folder)}")
    return "\n".join(lines) + "\n"


def _digest(files: Sequence[Path], folder: Path) -> str:
    """Return a digest of files: their names below a folder, and their bytes."""
    digest = hashlib.blake2b(digest_size=12)
    for path in files:
        content = read_bytes(path, ConfigError)
        digest.update(f"{path.relative_to(folder).as_posix()}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def produce(
    generator: Generator,
    path: str | Path,
    n: int,
    *,
    kind: str = "folder",
    threads: int | None = None,
    progress: Callable[[int], object] | None = None,
) -> FolderDataset | ZarrDataset:
    """Write the first `n` frames of a generator as a data set and return it opened.

    A run that was stopped goes on where it was, a larger `n` adds frames, a smaller one changes nothing, and a folder
    that holds frames of another configuration, seed, camera file, clips or body data is refused.

    Parameters
    ----------
    generator : Generator
    path : str or Path
    n : int
        1 to the generator's length.
    kind : "folder" or "zarr"
    threads : int, optional
        Omitted: one for each core.
    progress : callable, optional
        Called with the number of frames of every block that is there, also those of an earlier run.
    """
    if not is_whole(n, 1, len(generator)):
        raise ConfigError(f"the number of frames must be from 1 to {len(generator)}, got {n!r}")
    store = open_store(path, kind, identity=generator.identity(), max_people=generator.config.max_people)
    if store.n_finished() >= n:
        return open_dataset(path)
    like = generator[0]
    store.prepare(n, like)

    def complete(block: int) -> int:
        frames = range(block * BLOCK, min((block + 1) * BLOCK, n))
        if not store.is_done(block, len(frames)):
            store.write(block, [generator[i] for i in frames])
        return len(frames)

    for n_done in map_in_order(complete, range(-(-n // BLOCK)), threads=threads):
        if progress is not None:
            progress(n_done)
    store.finish(n, like)
    return open_dataset(path)
