"""Write the bundled sample frames into `depthforest/_samples`; run it from the top of a checkout after a change."""

from __future__ import annotations

import shutil

from depthforest.datasets import write_dataset
from depthforest.resources import samples_folder
from synth.mannequin import sample_frames

if __name__ == "__main__":
    frames = sample_frames()
    shutil.rmtree(samples_folder(), ignore_errors=True)
    dataset = write_dataset(samples_folder(), frames.values(), names=list(frames))
    print(f"{len(dataset)} frames in {dataset.path}")
