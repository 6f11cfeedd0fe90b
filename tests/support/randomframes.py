"""Small random frames."""

import numpy as np

import depthforest as df


def random_frame(rng, rows, cols, holes=0.2):
    depth_mm = rng.integers(400, 4000, (rows, cols)).astype(np.uint16)
    depth_mm[rng.random((rows, cols)) < holes] = 0
    return df.Frame(depth_mm, df.Camera(rng.uniform(2, 40), rng.uniform(2, 40), 1.5, 2.5, cols, rows))


def smooth_frame(rng, rows, cols, holes=0.1):
    """A frame of two surfaces, so that neighbors are within the gate of smoothing or far off."""
    depth_mm = (rng.choice([900, 1000], (rows, cols)) + rng.integers(0, 50, (rows, cols))).astype(np.uint16)
    depth_mm[rng.random((rows, cols)) < holes] = 0
    return df.Frame(depth_mm, df.Camera(rng.uniform(20, 90), rng.uniform(20, 90), 1.5, 2.5, cols, rows))


def patchy_frame(rng, rows, cols, patch=5, holes=0.03):
    """A frame of flat patches with a little noise: most cells of a grid are one surface, and labels change between."""
    patches = rng.choice([900, 1000, 1400], (rows // patch + 1, cols // patch + 1))
    depth_mm = np.kron(patches, np.ones((patch, patch), np.int64))[:rows, :cols] + rng.integers(0, 9, (rows, cols))
    depth_mm[rng.random((rows, cols)) < holes] = 0
    return df.Frame(
        depth_mm.astype(np.uint16), df.Camera(rng.uniform(20, 90), rng.uniform(20, 90), 1.5, 2.5, cols, rows)
    )
