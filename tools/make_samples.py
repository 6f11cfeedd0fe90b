"""Write the bundled sample frames into `depthforest/_samples`; run it from the top of a checkout after a change."""

from __future__ import annotations

import argparse
import shutil

from depthforest.base import samples_folder
from depthforest.frames import LabeledFrame
from depthforest.io import write_dataset
from synth import Config, Generator

CONFIG = Config(n_bodies=48, clothed_share=1.0)
SEED = 78
CHOSEN = {
    "on_chair": 64,
    "two_people": 33,
    "behind_table": 71,
    "gesture_near": 26,
    "hand_to_face": 35,
    "beside_shelf": 57,
}
"""Frames that show much: near and far, sitting and standing, cut and hidden, alone and not."""


def sample_frames() -> dict[str, LabeledFrame]:
    """Return the sample frames by name."""
    frames = Generator(CONFIG, SEED)
    return {name: frames[index] for name, index in CHOSEN.items()}


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    made = sample_frames()
    shutil.rmtree(samples_folder(), ignore_errors=True)
    dataset = write_dataset(samples_folder(), made.values(), names=list(made))
    print(f"{len(dataset)} frames in {dataset.path}")
