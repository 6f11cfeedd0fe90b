"""Accuracy over the number of training frames: one forest for each size, all evaluated on the same frames.

    python tools/learning_curve.py WORK --mocap clips/ --bodies makehuman

makes the frames once, as Zarr stores in WORK, a folder outside the checkout; a size trains on the first N of them. The
test frames have another seed, and so other bodies, rooms and built-in poses; with --mocap, also subjects that no
training frame shows. Figures go to WORK/curve.json and WORK/curve.csv after every size, and the plot is drawn again.
After an interruption, run it again: finished frames and sizes are kept, and an unfinished forest continues from its
checkpoint. Other options with the same WORK are refused; other sizes are added.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import depthforest as df
from depthforest.base import UsageError, make_folder, replacing
from depthforest.frames import FrameSource, LabeledFrame
from synth import Config, Generator, produce
from synth.poses import load_poses

SIZES = (250, 500, 1000, 2000, 4000)
TEST_SEED_STEP = 1_000_000
"""The seed of test frames is that of training frames plus this."""

CLIP_STEP = 1000
"""Few poses are kept, because only the subjects of the clips are needed."""

COLUMNS = ("frames", "mean_class_accuracy", "merged_accuracy", "pixel_accuracy", "nodes")
PLOT = Path(__file__).resolve().parent.parent / "docs" / "pictures" / "learning_curve.png"


class FirstFrames(FrameSource):
    """The first frames of a data set, as a data set."""

    def __init__(self, data: Sequence[LabeledFrame], n: int) -> None:
        self._data, self._n = data, n

    def __len__(self) -> int:
        return self._n

    def _frame(self, number: int) -> LabeledFrame:
        return self._data[number]


def merged_accuracy(evaluation: df.Evaluation) -> float:
    """Return the mean per-class accuracy when left and right of a part count as one."""
    mirror = np.array(evaluation.part_set.mirror)
    group = np.minimum(mirror, np.arange(len(mirror)))
    confusion: npt.NDArray[np.int64] = np.zeros_like(evaluation.confusion)
    np.add.at(confusion, (group[:, None], group[None, :]), evaluation.confusion)
    seen = confusion.sum(axis=1)
    return float(np.mean(np.diagonal(confusion)[seen > 0] / seen[seen > 0]))


def split_subjects(mocap: str, share: float, seed: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the training and the test subjects of a folder of clips; no subject is in both."""
    subjects = sorted(set(load_poses(mocap, step=CLIP_STEP).subjects))
    n_test = max(1, round(share * len(subjects)))
    if n_test >= len(subjects):
        raise UsageError(f"{mocap}: clips of {len(subjects)} subjects cannot be split; two or more are needed")
    order = np.random.default_rng(seed).permutation(len(subjects))
    chosen = {subjects[i] for i in order[:n_test]}
    return tuple(s for s in subjects if s not in chosen), tuple(s for s in subjects if s in chosen)


def claim(work: Path, identity: dict[str, Any]) -> None:
    """Write the identity of the curve into its folder, or raise UsageError if the folder holds another curve."""
    path = work / "settings.json"
    text = json.dumps(identity, indent=1, sort_keys=True) + "\n"
    if path.exists() and path.read_text() != text:
        raise UsageError(f"{work}: holds a curve of other options; use them again, or name another folder")
    with replacing(path) as file:
        file.write(text.encode())


def curve(
    work: Path,
    sizes: Sequence[int],
    n_test: int,
    config: df.TrainConfig,
    scenes: Config,
    *,
    test_subjects_share: float = 0.2,
    threads: int | None = None,
    plot_path: Path | None = None,
) -> list[dict[str, float]]:
    """Train and evaluate a forest for every unfinished size, and return the figures of all.

    Parameters
    ----------
    work : Path
        Folder that keeps frames, checkpoints, models and figures.
    sizes : sequence of int
        Training frames.
    n_test : int
        Number of test frames.
    config : TrainConfig
        Its seed is also that of the frames.
    scenes : synth Config
        Configuration of training and test frames; with clips, each gets its own subjects.
    test_subjects_share : float
        Share of the clips' subjects that are kept for testing.
    threads : int, optional
    plot_path : Path, optional
        Where the plot goes.
    """
    make_folder(work)
    train_scenes = test_scenes = scenes
    if scenes.mocap:
        train_subjects, test_subjects = split_subjects(scenes.mocap, test_subjects_share, config.seed)
        train_scenes = replace(scenes, without_subjects=test_subjects)
        test_scenes = replace(scenes, without_subjects=train_subjects)
    claim(work, {"config": config.to_dict(), "test": asdict(test_scenes), "train": asdict(train_scenes), "n": n_test})
    made = Generator(test_scenes, config.seed + TEST_SEED_STEP, n=n_test)
    judging = produce(made, work / "test.zarr", n_test, kind="zarr", threads=threads)
    made = Generator(train_scenes, config.seed, n=max(sizes))
    training = produce(made, work / "train.zarr", max(sizes), kind="zarr", threads=threads)
    rows = read_rows(work / "curve.json")
    for size in sorted(set(sizes) - {int(row["frames"]) for row in rows}):
        forest = df.train(
            FirstFrames(training, size),
            config,
            progress=partial(print, f"{size} frames:", flush=True),
            threads=threads,
            checkpoint=work / f"{size}.checkpoint",
            resume=True,
        )
        forest.save(work / f"{size}.safetensors")
        result = df.evaluate(forest, judging, joints=False, threads=threads)
        figures = (
            size,
            round(result.mean_class_accuracy, 5),
            round(merged_accuracy(result), 5),
            round(result.pixel_accuracy, 5),
            forest.n_nodes,
        )
        rows = sorted([*rows, dict(zip(COLUMNS, figures, strict=True))], key=lambda row: row["frames"])
        write_rows(work, rows)
        print(f"{size} frames: mean per-class accuracy {figures[1]:.1%}, sides merged {figures[2]:.1%}", flush=True)
        if plot_path is not None:
            plot(rows, plot_path)
    return rows


def read_rows(path: Path) -> list[dict[str, float]]:
    """Return the figures that are known."""
    return list(json.loads(path.read_text())) if path.exists() else []


def write_rows(work: Path, rows: Sequence[dict[str, float]]) -> None:
    """Write the figures as JSON and as CSV."""
    with replacing(work / "curve.json") as file:
        file.write((json.dumps(rows, indent=1) + "\n").encode())
    with replacing(work / "curve.csv") as file:
        lines = [",".join(COLUMNS), *(",".join(str(row[name]) for name in COLUMNS) for row in rows)]
        file.write(("\n".join(lines) + "\n").encode())


def plot(rows: Sequence[dict[str, float]], path: Path) -> None:
    """Draw accuracies against the logarithm of the number of frames."""
    # not the global figure of pyplot, which needs a window system
    from matplotlib.figure import Figure
    from matplotlib.ticker import PercentFormatter

    frames = [row["frames"] for row in rows]
    figure = Figure(figsize=(6.4, 4.0), dpi=110, layout="constrained")
    axes = figure.subplots()
    for column, name, color, marker in (
        ("merged_accuracy", "left and right merged", "#0b7285", "s"),
        ("mean_class_accuracy", "all parts", "#c2410c", "o"),
    ):
        axes.plot(frames, [row[column] for row in rows], color=color, marker=marker, label=name)
    axes.set_xscale("log", base=2)
    axes.set_xticks(frames, labels=[f"{int(n):,}" for n in frames])
    axes.minorticks_off()
    axes.yaxis.set_major_formatter(PercentFormatter(xmax=1, decimals=1))
    axes.set_xlabel("training frames (log scale)")
    axes.set_ylabel("mean per-class accuracy")
    axes.set_title("unseen bodies and poses", fontsize="medium")
    axes.grid(alpha=0.3)
    axes.legend(loc="best", frameon=False)
    make_folder(path.parent)
    with replacing(path) as file:
        figure.savefig(file, format="png", metadata={"Software": None})


def main(arguments: Sequence[str] | None = None) -> None:
    """Draw the curve that the options ask for."""
    defaults = df.TrainConfig()
    about, _, more = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        description=about, epilog=more, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("work", type=Path, help="folder for frames, checkpoints, models and figures")
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES), help="training frames")
    parser.add_argument("--test-frames", type=int, default=500)
    parser.add_argument("--plot", type=Path, default=PLOT)
    parser.add_argument("--threads", type=int)
    for name in ("trees", "depth", "candidates", "pixels_per_frame", "seed"):
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, default=getattr(defaults, name))
    parser.add_argument("--mocap", default="", help="folder of BVH clips")
    parser.add_argument("--test-subjects", type=float, default=0.2, help="share of the subjects kept for judging")
    parser.add_argument("--bodies", default=Config().bodies)
    parser.add_argument("--n-bodies", type=int, default=Config().n_bodies)
    parser.add_argument("--camera", default=Config().camera)
    parser.add_argument("--sensor", default=Config().sensor)
    given = parser.parse_args(arguments)
    config = replace(
        defaults,
        trees=given.trees,
        depth=given.depth,
        candidates=given.candidates,
        pixels_per_frame=given.pixels_per_frame,
        seed=given.seed,
    )
    scenes = Config(
        camera=given.camera, sensor=given.sensor, bodies=given.bodies, n_bodies=given.n_bodies, mocap=given.mocap
    )
    curve(
        given.work,
        given.sizes,
        given.test_frames,
        config,
        scenes,
        test_subjects_share=given.test_subjects,
        threads=given.threads,
        plot_path=given.plot,
    )
    print(f"figures in {given.work / 'curve.csv'}, plot in {given.plot}")


if __name__ == "__main__":
    main()
