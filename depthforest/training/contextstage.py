"""Training a context stage: a forest and frames that it has not seen in, the same forest with a second stage out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from depthforest.base import UsageError, patient_interrupts
from depthforest.forest import Forest
from depthforest.frames import LabeledFrame
from depthforest.training.config import MAX_GROUPS, ContextConfig
from depthforest.training.growing import GrowingTree
from depthforest.training.progress import Progress
from depthforest.training.run import MEMORY_MB, Leaves, Run, grow_trees, joined, reporter
from depthforest.trees import ContextTrees, PartGroups, probe_unit


def train_context(
    forest: Forest,
    source: Sequence[LabeledFrame],
    config: ContextConfig | None = None,
    *,
    progress: Callable[[Progress], object] | bool | None = None,
    threads: int | None = None,
    shards: int | None = None,
    memory_mb: float = MEMORY_MB,
    checkpoint: str | Path | None = None,
    resume: bool = False,
    client: Any = None,
) -> Forest:
    """Grow a context stage on a forest's answers to labeled frames, and return the forest with it.

    The frames must be new to the forest. On frames that it was grown on, or that its leaves were fitted on, its answers
    are better than on any others, and the second stage would learn to trust them too much. Stacking (docs/COMBINING.md)
    has the same requirement.

    Parameters
    ----------
    forest : Forest
        The first stage. It answers with its default mirroring and smoothing.
    source : sequence of LabeledFrame
        Frames with the forest's part set that it has not seen.
    config : ContextConfig
        Everything that shapes the context stage. The options below do not change the result by a single byte.
    progress, threads, shards, memory_mb, checkpoint, resume, client
        As in `train`.
    """
    config = ContextConfig() if config is None else config
    if not isinstance(config, ContextConfig):
        raise UsageError(f"config must be a ContextConfig, got {type(config).__name__}")
    if not isinstance(forest, Forest):
        raise UsageError(f"expected a Forest, got {type(forest).__name__}")
    groups = PartGroups.of(forest.part_set)
    if groups.n > MAX_GROUPS:
        raise UsageError(f"a context stage reads up to {MAX_GROUPS} groups of parts, the part set has {groups.n}")
    if config.groups not in (0, groups.n):
        raise UsageError(f"groups must be {groups.n} for this part set, or 0, got {config.groups}")
    config = replace(config, groups=groups.n, background_mm=forest.background_mm)
    first = replace(forest, context=None, calibration=None)
    with patient_interrupts() as check:
        run = Run(source, config, reporter(progress), check, threads, shards, memory_mb, client, first_stage=first)
        trees, leaves = grow_trees(run, checkpoint, resume)
        context = _context(run, trees, leaves, groups)
    return replace(first, context=context)


def _context(run: Run, trees: Sequence[GrowingTree], leaves: Sequence[Leaves], groups: PartGroups) -> ContextTrees:
    """Return the trees of a run as a context stage."""
    roots, children = joined(trees)
    unit = probe_unit(run.config.probe_range_m)
    return ContextTrees(
        roots,
        np.rint(np.concatenate([t.offsets for t in trees]) / unit).astype(np.int16),
        np.concatenate([t.channels for t in trees]),
        np.concatenate([t.thresholds for t in trees]),
        children,
        np.concatenate(leaves),
        run.part_set,
        groups,
        float(unit),
        config=run.config.to_dict(),
        scores=run.scores(),
    )
