"""Write `tests/golden`: frames, a forest trained on them, and its labels; a tree ensemble and its predictions.

    python tools/make_golden.py --only faced

Run it from the top of a checkout, and only after an intended change. Then also raise the version of what has changed:
that of the model file (in `forest.file` or `ensemble.tree.store`) or that of the trainer (`checkpoints.FORMAT`). Files
that are not named stay as they are.
"""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from depthforest.ensemble.boosting import NewtonBoostingClassifier
from depthforest.ensemble.forests import RandomForestClassifier
from depthforest.forest import Forest
from depthforest.frames import write_labels
from depthforest.io import open_dataset, write_dataset
from depthforest.training import TrainConfig, fit_leaves, train
from synth import Config, Generator

FOLDER = Path(__file__).resolve().parent.parent / "tests" / "golden"
FRAMES = Config(camera="kinect_v1@96x72", n_bodies=2, people_shares=(0.5, 0.5))
SEED = 5
N_FRAMES = 5
FOREST = TrainConfig(trees=2, depth=7, candidates=60, thresholds=20, pixels_per_frame=250, frames_per_tree=4)


def write_forest(folder: Path) -> None:
    """Write frames, a forest trained on them, and its labels of the first."""
    shutil.rmtree(folder / "frames", ignore_errors=True)
    data = write_dataset(folder / "frames", Generator(FRAMES, SEED, n=N_FRAMES)[:])
    forest = train(data, FOREST)
    forest.save(folder / "forest.safetensors")
    frame = data[0]
    for name, is_mirrored in (("labels", False), ("mirrored_labels", True)):
        labels = forest.predict(frame, frame.people == 1, mirror=is_mirrored)
        write_labels(folder / f"{name}.png", labels, forest.part_set)


def write_faced(folder: Path) -> None:
    """Write the same forest with facings and smoothing, its labels of the first frame, and which way people face."""
    data, forest = open_dataset(folder / "frames"), Forest.load(folder / "forest.safetensors")
    faced = fit_leaves(forest, data, n_facings=4, smooth_m=0.04, max_leaves=100, mirror=True)
    faced.save(folder / "faced.safetensors")
    frame = data[0]
    found = faced.label(frame, frame.people == 1)
    write_labels(folder / "faced_labels.png", found.parts, faced.part_set)
    angles = [faced.label(one, one.people == person).facing for one in data for person in one.joints]
    (folder / "faced.json").write_text(json.dumps({"facings": angles}) + "\n")


def write_ensemble(folder: Path) -> None:
    """Write a small forest on numbers, missing values and categories, rows to predict, and its predictions."""
    table, y = _mixed_rows()
    forest = RandomForestClassifier(3, min_samples_leaf=4, random_state=1, oob_score=True, categorical_features=[1])
    forest.fit(table, y).save(folder / "ensemble.safetensors")
    asked = table[:12]
    expected = {
        "rows": _plain(asked),
        "leaves": forest.apply(asked).tolist(),
        "shares": forest.predict_proba(asked).tolist(),
        "oob_score": forest.oob_score_,
    }
    (folder / "ensemble.json").write_text(json.dumps(expected, indent=None) + "\n")


def write_boosted(folder: Path) -> None:
    """Write a small boosted ensemble of three classes, which stopped early, and its raw values for the same rows."""
    table, y = _mixed_rows()
    boosted = NewtonBoostingClassifier(
        n_estimators=4, max_depth=2, learning_rate=3.0, n_iter_no_change=1, subsample=0.8, categorical_features=[1],
        random_state=2,
    )  # fmt: skip
    boosted.fit(table, y).save(folder / "boosted.safetensors")
    asked = table[:12]
    expected = {
        "rows": _plain(asked),
        "leaves": boosted.apply(asked).tolist(),
        "raw": boosted.decision_function(asked).tolist(),
        "validation_score": boosted.validation_score_.tolist(),
    }
    (folder / "boosted.json").write_text(json.dumps(expected, indent=None) + "\n")


def _mixed_rows() -> tuple[npt.NDArray[Any], npt.NDArray[np.str_]]:
    """Return a table of numbers, missing values and categories, and the classes of its rows."""
    rng = np.random.default_rng(SEED)
    table = rng.normal(size=(60, 3)).round(3).astype(object)
    table[:, 1] = rng.choice(["elm", "fir", "oak"], 60)
    table[rng.random(60) < 0.15, 2] = np.nan
    score = table[:, 0].astype(float) + (table[:, 1] == "oak") + np.nan_to_num(table[:, 2].astype(float))
    return table, np.array(["low", "middle", "top"])[np.digitize(score, (-0.5, 1.0))]


def _plain(table: npt.NDArray[Any]) -> list[list[Any]]:
    return [[None if v != v else v for v in row] for row in table.tolist()]


MAKERS = {"forest": write_forest, "faced": write_faced, "ensemble": write_ensemble, "boosted": write_boosted}


def main(arguments: Sequence[str] | None = None) -> None:
    """Write all of it, or some."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=MAKERS, help="files to make again. Default: all")
    names = parser.parse_args(arguments).only
    FOLDER.mkdir(exist_ok=True)
    for name in MAKERS if names is None else names:
        MAKERS[name](FOLDER)
    size = sum(path.stat().st_size for path in FOLDER.rglob("*") if path.is_file())
    print(f"{size} bytes in {FOLDER}")


if __name__ == "__main__":
    main()
