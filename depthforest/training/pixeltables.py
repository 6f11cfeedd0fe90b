"""Pixel tables: the pixels of labeled frames as rows of a matrix, one column for each pair of probes of a fixed pool.

A depth forest draws new probes at every node; any other learner needs columns. Our ensembles and those of other
libraries are trained on these tables for comparison.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from depthforest.base import DatasetError, UsageError
from depthforest.frames import Camera, LabeledFrame
from depthforest.training.config import TrainConfig
from depthforest.training.sampling import draw_pixels
from depthforest.trees import BACKGROUND_MM, masked_depth, responses

PROBE_RANGE_M = 0.4
"""Largest distance of probes from the pixel, in a disc; the same as in training depth forests."""

CLIP_MM = 2000
"""Responses are clipped to this: larger ones only mean that one probe hit the background."""


@dataclass(frozen=True, eq=False)
class PixelTable:
    """Pixels as rows.

    Attributes
    ----------
    x : (n, n_features) float32
        Responses in millimeters.
    labels : (n,) uint8
        Parts.
    frames : (n,) int64
        Frame of each pixel in the data set: a group that no split of the rows should cut.
    probes : (n_features, 4) float32
        u_x, u_y, v_x, v_y in meters.
    """

    x: npt.NDArray[np.float32]
    labels: npt.NDArray[np.uint8]
    frames: npt.NDArray[np.int64]
    probes: npt.NDArray[np.float32]


def draw_probes(n: int, seed: int = 0) -> npt.NDArray[np.float32]:
    """Return a pool of pairs of probes (n, 4) in meters; every other pair has its second probe at the pixel itself."""
    rng = np.random.default_rng(seed)
    radius, angle = PROBE_RANGE_M * np.sqrt(rng.random((n, 2))), 2 * np.pi * rng.random((n, 2))
    probes = np.stack((radius * np.cos(angle), radius * np.sin(angle)), axis=2).reshape(n, 4)
    probes[::2, 2:] = 0
    return probes.astype(np.float32)


def pixel_table(
    frames: Sequence[LabeledFrame], n: int, probes: npt.NDArray[np.float32], *, seed: int = 0, balance: float = 0.5
) -> PixelTable:
    """Draw pixels of labeled frames and compute their responses.

    Parameters
    ----------
    frames : sequence of LabeledFrame
    n : int
        Total number of pixels; each frame gets the same number, up to one.
    probes : (n_features, 4) float32
        From `draw_probes`.
    seed : int
    balance : float
        0 draws parts as often as they occur, 1 draws all parts equally often.
    """
    if n < len(frames) or not len(frames):
        raise UsageError(f"at least one pixel per frame is needed; got {n} pixels for {len(frames)} frames")
    x, labels, of = [], [], []
    for index, frame in enumerate(frames):
        pixels = table_pixels(frame, index, len(frames), n, seed=seed, balance=balance)
        pixels = pixels[np.argsort(frame.people.ravel()[pixels], kind="stable")]
        if len(pixels):
            x.append(pixel_responses(frame, pixels, probes))
            labels.append(frame.parts.ravel()[pixels])
            of.append(np.full(len(pixels), index, dtype=np.int64))
    if not x:
        raise DatasetError("no frame has a labeled pixel; make frames with people in view")
    order = np.random.default_rng(seed).permutation(sum(map(len, labels)))
    return PixelTable(
        np.concatenate(x)[order], np.concatenate(labels)[order], np.concatenate(of)[order], np.asarray(probes)
    )


def table_pixels(
    frame: LabeledFrame, index: int, n_frames: int, n: int, *, seed: int = 0, balance: float = 0.5
) -> npt.NDArray[np.int64]:
    """Return the pixels of a frame that are rows of `pixel_table`, as flat positions in rising order.

    Parameters
    ----------
    frame : LabeledFrame
    index, n_frames : int
        Its number in the data set, and how many frames that has.
    n, seed, balance
        As in `pixel_table`.
    """
    share = n // n_frames + (index < n % n_frames)
    return draw_pixels(frame, index, 0, TrainConfig(seed=seed, pixels_per_frame=share, class_balance=balance))


def pixel_responses(
    frame: LabeledFrame, pixels: npt.NDArray[np.int64], probes: npt.NDArray[np.float32]
) -> npt.NDArray[np.float32]:
    """Return the responses of pixels of people, in millimeters, clipped to `CLIP_MM`.

    Parameters
    ----------
    frame : LabeledFrame
    pixels : (n,) int64
        Flat positions with a reading and a person.
    probes : (n_features, 4) float32

    Returns
    -------
    (n, n_features) float32
    """
    rows, cols = np.divmod(pixels, frame.shape[1])
    people = frame.people[rows, cols]
    out = np.empty((len(pixels), len(probes)), dtype=np.float32)
    for person in np.unique(people):
        mine = people == person
        image = masked_depth(frame, person=int(person))
        out[mine] = person_responses(image, np.stack((rows[mine], cols[mine]), axis=1), probes, frame.camera)
    return out


def person_responses(
    image: npt.NDArray[np.uint16], pixels: npt.NDArray[np.int64], probes: npt.NDArray[np.float32], camera: Camera
) -> npt.NDArray[np.float32]:
    """Return the responses of pixels of one person.

    Parameters
    ----------
    image : (rows, cols) uint16
        The person alone, from `masked_depth`.
    pixels : (n, 2) int64
        Rows and columns with a reading.
    probes : (n_features, 4) float32
    camera : Camera
    """
    found = responses(image, pixels, probes, camera, BACKGROUND_MM)
    return np.clip(found, -CLIP_MM, CLIP_MM).astype(np.float32)
