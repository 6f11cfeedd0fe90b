"""Write `tests/golden`: frames, a forest trained on them, and its labels; run it from the top of a checkout.

Only after a change that is meant to change them: then raise the version of what has changed as well, that of the model
file (`forest.FORMAT_VERSION`) or that of the trainer (`checkpoints.FORMAT`).
"""

from __future__ import annotations

import shutil
from pathlib import Path

from depthforest.datasets import write_dataset
from depthforest.drawing import write_labels
from depthforest.trainconfig import TrainConfig
from depthforest.training import train
from synth.config import Config
from synth.generator import Generator

FOLDER = Path(__file__).resolve().parent.parent / "tests" / "golden"
FRAMES = Config(camera="kinect_v1@96x72", n_bodies=2, people_shares=(0.5, 0.5))
SEED = 5
N_FRAMES = 5
FOREST = TrainConfig(trees=2, depth=7, candidates=60, thresholds=20, pixels_per_frame=250, frames_per_tree=4)

if __name__ == "__main__":
    shutil.rmtree(FOLDER, ignore_errors=True)
    data = write_dataset(FOLDER / "frames", Generator(FRAMES, SEED, n=N_FRAMES)[:])
    forest = train(data, FOREST)
    forest.save(FOLDER / "forest.safetensors")
    frame = data[0]
    for name, is_mirrored in (("labels", False), ("mirrored_labels", True)):
        labels = forest.predict(frame, frame.people == 1, mirror=is_mirrored)
        write_labels(FOLDER / f"{name}.png", labels, forest.part_set)
    size = sum(path.stat().st_size for path in FOLDER.rglob("*") if path.is_file())
    print(f"{forest!r}: {size} bytes in {FOLDER}")
