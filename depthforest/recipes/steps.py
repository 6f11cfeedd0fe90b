"""Steps: the kinds of steps in recipes. Each is one function of a `Job`; heavy rooms are imported inside."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from depthforest.base import DepthForestError, Parameter, UsageError, models_folder, read_bytes
from depthforest.recipes.kinds import FIGURES, FRAMES, MODEL, Job, Option, Step, Work, of_frames, step

if TYPE_CHECKING:
    from depthforest.training import ContextConfig, Progress, TrainConfig
    from synth import Config

PIXEL_BYTES = 0.33
"""Approximate bytes per pixel of a frame in a Zarr store: depth, parts and people, compressed."""

DATA = Option("names", is_needed=True)
ONE_MODEL = Option("text", is_needed=True)


def synth_config(step: Step) -> Config:
    """Return the configuration of a step that makes frames: its file, overridden by its options."""
    from synth import Config

    own = {
        name: step.options[name] for name in ("camera", "sensor", "bodies", "mocap") if step.options[name] is not None
    }
    return replace(Config.from_dict(step.configs.get("config", {}), step.name), **own)


@lru_cache(maxsize=64)
def _origin(config: Config) -> str:
    from synth import provenance

    if config.mocap and not Path(config.mocap).is_dir():
        raise UsageError(
            f"{config.mocap}: is not a folder of BVH clips; name one with ", Parameter("mocap"),
            ", or pass ", Parameter("mocap"), " '' to use none",
        )  # fmt: skip
    return provenance.identity(config, 0)


def _frame_work(step: Step, _n_frames: int) -> Work:
    from depthforest.frames import Camera

    n = int(step.options["frames"])
    camera = Camera.parse(synth_config(step).camera)
    return Work(n, n, n_bytes=n * camera.width * camera.height * PIXEL_BYTES)


@step(
    "synth", FRAMES, unit_seconds=1 / 57, work=_frame_work, depends_on=lambda step: _origin(synth_config(step)),
    frames=Option("count", is_needed=True, least=32), seed=Option("count", 0), config=Option("config"),
    camera=Option("text"), sensor=Option("text"), bodies=Option("text"), mocap=Option("text"),
)  # fmt: skip
def make_frames(job: Job) -> Mapping[str, Any]:
    """Make labeled frames from a synth.Config file, a seed, and options that override the file."""
    from synth import Generator, produce

    n, config = job.option("frames"), synth_config(job.step)
    generator = Generator(config, job.option("seed"), n=n)
    produce(generator, job.path, n, kind="zarr", threads=job.threads, progress=job.advance)
    n_bytes = sum(path.stat().st_size for path in job.path.rglob("*") if path.is_file())
    return {"frames": n, "camera": config.camera, "sensor": config.sensor, "bytes": n_bytes}


def train_config(step: Step) -> TrainConfig:
    """Return the configuration of a step that grows trees."""
    from depthforest.training import TrainConfig

    return TrainConfig.from_dict(step.configs.get("config", {}), step.name)


def _growing_work(step: Step, n_frames: int) -> Work:
    return _trees_work(train_config(step), n_frames)


def _trees_work(config: TrainConfig, n_frames: int) -> Work:
    n_pixels = config.frames_of(max(n_frames, 1)) * config.pixels_per_frame
    # below this level, nodes are too small to split
    levels = min(config.depth, max(1.0, math.log2(max(2.0, n_pixels / config.min_pixels)) + 2))
    n = float(config.trees) * n_pixels * config.candidates * levels
    return Work(n, n_frames, n)


@step("train", MODEL, unit_seconds=1 / 1.7e8, work=_growing_work, data=DATA, config=Option("config"))
def grow(job: Job) -> Mapping[str, Any]:
    """Grow a forest: a TrainConfig file on the frames of `data`; its checkpoint stays beside it."""
    from depthforest.training import MEMORY_MB, is_checkpoint, train

    config = train_config(job.step)
    folder = job.path.with_suffix(".checkpoint")

    def tell(news: Progress) -> None:
        job.tell(str(news), news.seconds_left)

    forest = train(
        job.frames(),
        config,
        progress=tell,
        threads=job.threads,
        checkpoint=folder,
        resume=is_checkpoint(folder),
        memory_mb=MEMORY_MB if job.memory_mb is None else job.memory_mb,
        client=job.client,
    )
    forest.save(job.path)
    return {"trees": forest.n_trees, "leaves": forest.n_leaves, "config": config.to_dict(), "scores": forest.scores}


def _leaf_work(step: Step, n_frames: int) -> Work:
    rounds = 2 if step.options["rounds"] is None else step.options["rounds"]
    return Work(n_frames * (1 + rounds), n_frames)


@step(
    "fit-leaves", MODEL, unit_seconds=1 / 200, work=_leaf_work, data=DATA, model=ONE_MODEL,
    facings=Option("count"), smooth=Option("number"), trees=Option("count"), leaves=Option("count", least=64),
    depth=Option("count"), mirror=Option("flag"), rounds=Option("count"),
)  # fmt: skip
def fit_leaves(job: Job) -> Mapping[str, Any]:
    """Fit leaves again, as `depthforest fit-leaves`, on the frames of `data`."""
    from depthforest.training import fit_leaves

    options = job.given(
        n_facings="facings", smooth_m="smooth", max_trees="trees", max_leaves="leaves", max_depth="depth",
        mirror="mirror", rounds="rounds",
    )  # fmt: skip
    fitted = fit_leaves(job.forest(), job.frames(), threads=job.threads, progress=job.advance, **options)
    fitted.save(job.path)
    return {"leaves": fitted.n_leaves, "facings": fitted.n_facings}


def context_config(step: Step) -> ContextConfig:
    """Return the configuration of a step that grows a context stage."""
    from depthforest.training import ContextConfig

    return ContextConfig.from_dict(step.configs.get("config", {}), step.name)


def _context_work(step: Step, n_frames: int) -> Work:
    return _trees_work(context_config(step), n_frames)


@step(
    "train-context", MODEL, unit_seconds=1 / 1.2e8, work=_context_work, data=DATA, model=ONE_MODEL,
    config=Option("config"),
)  # fmt: skip
def grow_context(job: Job) -> Mapping[str, Any]:
    """Grow a context stage: a ContextConfig file on a model's answers to frames of `data` that are new to it."""
    from depthforest.training import MEMORY_MB, is_checkpoint, train_context

    config = context_config(job.step)
    folder = job.path.with_suffix(".checkpoint")
    forest = train_context(
        job.forest(),
        job.frames(),
        config,
        progress=lambda news: job.tell(str(news), news.seconds_left),
        threads=job.threads,
        checkpoint=folder,
        resume=is_checkpoint(folder),
        memory_mb=MEMORY_MB if job.memory_mb is None else job.memory_mb,
        client=job.client,
    )
    forest.save(job.path)
    assert forest.context is not None
    own = forest.context
    return {"trees": own.n_trees, "leaves": own.n_leaves, "config": config.to_dict(), "scores": own.scores}


@step("fit-context", MODEL, unit_seconds=1 / 200, data=DATA, model=ONE_MODEL, rounds=Option("count"))
def fit_context(job: Job) -> Mapping[str, Any]:
    """Fit the leaves of a context stage again, as `depthforest fit-context`, on the frames of `data`."""
    from depthforest.training import fit_context

    frames = job.frames()
    fitted = fit_context(job.forest(), frames, threads=job.threads, progress=job.advance, **job.given(rounds="rounds"))
    fitted.save(job.path)
    return {"frames": len(frames)}


@step("fit-joints", MODEL, unit_seconds=1 / 12, data=DATA, model=ONE_MODEL)
def fit_joints(job: Job) -> Mapping[str, Any]:
    """Fit the parameters of joint finding, as `depthforest fit-joints`, on the frames of `data`."""
    from depthforest.joints import fit_joints

    frames = job.frames()
    fit_joints(job.forest(), frames, threads=job.threads, progress=job.advance).save(job.path)
    return {"frames": len(frames)}


@step("fit-confidence", MODEL, unit_seconds=1 / 60, data=DATA, model=ONE_MODEL)
def fit_confidence(job: Job) -> Mapping[str, Any]:
    """Calibrate the confidence of labels, as `depthforest fit-confidence`, on the frames of `data`."""
    from depthforest.training import fit_confidence

    frames = job.frames()
    fit_confidence(job.forest(), frames, threads=job.threads, progress=job.advance).save(job.path)
    return {"frames": len(frames)}


@step(
    "first-trees", MODEL, unit_seconds=1 / 300, work=of_frames(), data=DATA, model=ONE_MODEL,
    trees=Option("count", is_needed=True), mirror=Option("flag"),
)  # fmt: skip
def keep_first_trees(job: Job) -> Mapping[str, Any]:
    """Keep the first trees of a model, and measure the confidence of its labels of people on the frames of `data`."""
    from depthforest.training import first_trees, person_confidence

    fewer = first_trees(job.forest(), job.option("trees"))
    fewer = replace(fewer, **job.given(mirror="mirror"))
    frames = job.frames()
    replace(fewer, person_confidence=person_confidence(fewer, frames, threads=job.threads)).save(job.path)
    return {"trees": fewer.n_trees, "leaves": fewer.n_leaves}


def _body_digest(step: Step) -> str:
    """Return the digest of the shipped body forest that a person model uses."""
    name = step.configs.get("config", {}).get("body", "body31")
    path = models_folder() / f"{name}.safetensors"
    return hashlib.sha256(read_bytes(path, DepthForestError)).hexdigest()


@step(
    "train-people", MODEL, unit_seconds=1 / 60, depends_on=_body_digest, data=DATA, config=Option("config")
)  # fmt: skip
def train_people(job: Job) -> Mapping[str, Any]:
    """Train a person model, as `depthforest train-people`, on the frames of `data`."""
    from depthforest.training import PeopleConfig, is_checkpoint, train_people

    config = PeopleConfig.from_dict(job.step.configs.get("config", {}), job.step.name)
    folder = job.path.with_suffix(".checkpoint")
    model = train_people(
        job.frames(), config, progress=lambda news: job.tell(str(news), None), advance=job.advance,
        threads=job.threads, checkpoint=folder, resume=is_checkpoint(folder),
    )  # fmt: skip
    model.save(job.path)
    return {"config": config.to_dict(), "scores": dict(model.scores)}


def _bench_names(step: Step) -> list[str]:
    from depthforest.evaluation import SETS

    names: list[str] = []
    for name in step.options["bench"]:
        if name != "all" and name not in SETS:
            raise UsageError(f"step {step.name}: knows no test set {name!r}; known are all, {', '.join(SETS)}")
        names += [each for each, one in SETS.items() if "parts" in one.judges] if name == "all" else [name]
    return list(dict.fromkeys(names))


def _bench_work(step: Step, _n_frames: int) -> Work:
    from depthforest.evaluation import SETS

    n = sum(min(SETS[name].n_frames, step.options["limit"] or 10**9) for name in _bench_names(step))
    return Work(n, n)


@step(
    "evaluate", FIGURES, unit_seconds=1 / 20, work=_bench_work, model=ONE_MODEL,
    bench=Option("names", is_needed=True), limit=Option("count", 300, least=2), mocap=Option("text"),
)  # fmt: skip
def evaluate(job: Job) -> Mapping[str, Any]:
    """Evaluate a model on test sets of the bench; those that need clips are left out if there are none."""
    from depthforest.evaluation import SETS, EvaluateOptions, prepare_evaluation

    asked, mocap = _bench_names(job.step), job.option("mocap")
    names = [name for name in asked if mocap or not SETS[name].needs_clips]
    if not names:
        raise UsageError(
            f"step {job.step.name}: all its test sets need the CMU clips; name their folder as ", Parameter("mocap")
        )
    n_most = max(SETS[name].n_frames for name in names)
    limit = job.option("limit") if job.option("limit") < n_most else None  # whole sets are compared with their hashes
    run = prepare_evaluation(
        EvaluateOptions(
            models=[str(job.model_path)],
            bench=names,
            mocap=mocap or None,
            limit=limit,
            threads=job.threads,
            json_path=job.path,
            timed_frames=0,
        )
    )
    result = run.run(job.advance)
    figures = {
        one.bench.name: {name: round(e.value, 4) for name, e in result.models[0].bench[one.bench.name].figures.items()}
        for one in result.bench
    }
    return {"bench": figures, "limit": limit, "left_out": [name for name in asked if name not in names]}
