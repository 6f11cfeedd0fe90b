"""Production: many generated frames written to disk, on all cores, resumable."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from depthforest.base import is_whole
from depthforest.cluster import spread
from depthforest.io import BLOCK, FolderDataset, Store, ZarrDataset, open_dataset, open_store
from synth.config import ConfigError
from synth.generator import Generator


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

    A run that was stopped continues where it was, a larger `n` adds frames, and a smaller one changes nothing. A folder
    with frames of another configuration, seed, camera file, clips or body data is refused.

    Parameters
    ----------
    generator : Generator
    path : str or Path
    n : int
        1 to the generator's length.
    kind : "folder" or "zarr"
    threads : int, optional
        Default: one per core.
    progress : callable, optional
        Called with the number of frames of every finished block, including those of an earlier run.
    """
    if not is_whole(n, 1, len(generator)):
        raise ConfigError(f"the number of frames must be from 1 to {len(generator)}, got {n!r}")
    store = open_store(path, kind, identity=generator.identity(), max_people=generator.config.max_people)
    try:
        _fill(store, generator, n, threads, progress)
    finally:
        store.unlock()
    return open_dataset(path)


def _fill(
    store: Store, generator: Generator, n: int, threads: int | None, progress: Callable[[int], object] | None
) -> None:
    if store.n_finished() >= n:
        return
    like = generator[0]
    store.prepare(n, like)

    def complete(block: int) -> int:
        frames = range(block * BLOCK, min((block + 1) * BLOCK, n))
        if not store.is_done(block, len(frames)):
            store.write(block, [generator[i] for i in frames])
        return len(frames)

    # on a cluster, workers write their blocks into the store themselves: no two blocks share a chunk
    for n_done in spread(complete, range(-(-n // BLOCK)), threads=threads, block=1):
        if progress is not None:
            progress(n_done)
    store.finish(n, like)
