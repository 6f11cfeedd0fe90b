"""Measure the joint filter on a synthetic recording: error, jitter, lag, bridged gaps, jumps and ids.

True visible joints get noise, dropouts and single-frame jumps; the table compares input and output.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from depthforest.frames import JOINTS, Joint
from depthforest.joints import JointTracks
from depthforest.joints.tracks import TrackSettings
from synth import Config, Recording

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
MAX_LAG_S, LAG_STEP_S = 0.3, 1 / 300
"""Largest lag to search for, and the step."""

SAME_M = 0.25
"""Meters: an answer with half of the joints farther off belongs to someone else."""


@dataclass
class Truth:
    """A recording's joints: places (frames, people, 19, 3) in meters, and whether each is visible."""

    places: Floats
    is_visible: Bools
    fps: float


@dataclass
class Outcome:
    """Positions after the filter, NaN for none; whether they are bridged; the ids that each person got."""

    places: Floats
    is_bridged: Bools
    ids: list[set[int]] = field(default_factory=list)


def truth_of(recording: Recording, *, threads: int | None) -> Truth:
    """Return the joints of all frames."""
    frames = [frame.joints for frame in recording.frames(threads=threads)]
    people = sorted(frames[0])
    places = np.array([[[f[p][name].position for name in JOINTS] for p in people] for f in frames])
    is_visible = np.array([[[f[p][name].is_visible for name in JOINTS] for p in people] for f in frames])
    return Truth(places, is_visible, recording.fps)


def spoil(
    truth: Truth, rng: np.random.Generator, *, noise: float, dropout: float, jumps: float
) -> tuple[Floats, Bools]:
    """Return places as found, NaN for none, and which of them are jumps of 0.4 to 1 m."""
    found = truth.places + rng.normal(0, noise, truth.places.shape)
    is_jump = rng.random(truth.is_visible.shape) < jumps
    way = rng.normal(size=found.shape)
    way *= rng.uniform(0.4, 1.0, (*is_jump.shape, 1)) / np.linalg.norm(way, axis=-1, keepdims=True)
    found = np.where(is_jump[..., None], found + way, found)
    is_found = truth.is_visible & (rng.random(is_jump.shape) >= dropout)
    return np.where(is_found[..., None], found, np.nan), is_jump & is_found


def run(found: Floats, fps: float, settings: TrackSettings, rng: np.random.Generator | None = None) -> Outcome:
    """Filter; with `rng`, ids are shuffled in every frame and matched again by the filter."""
    n, n_people = found.shape[:2]
    tracks = JointTracks(fps, settings, match=rng is not None)
    outcome = Outcome(
        np.full(found.shape, np.nan), np.zeros(found.shape[:3], dtype=bool), [set() for _ in range(n_people)]
    )
    for i in range(n):
        order = rng.permutation(n_people) if rng is not None else np.arange(n_people)
        given = {
            number + 1: {
                name: Joint(tuple(place))
                for name, place in zip(JOINTS, found[i, person].tolist(), strict=True)
                if not math.isnan(place[0])
            }
            for number, person in enumerate(order.tolist())
        }
        answer = tracks.add(given)
        for person in range(n_people):
            number = person + 1 if rng is None else _nearest(answer, found[i, person])
            if number is None or number not in answer:
                continue
            outcome.ids[person].add(number)
            for k, name in enumerate(JOINTS):
                if name in answer[number]:
                    outcome.places[i, person, k] = answer[number][name].position
                    outcome.is_bridged[i, person, k] = answer[number][name].is_bridged
    return outcome


def _nearest(answer: dict, places: Floats) -> int | None:  # type: ignore[type-arg]
    """Return the id of the answer whose joints are where those of a person were found; None if there is none."""
    distances = {}
    for number, joints in answer.items():
        pairs = [
            math.dist(joints[name].position, place)
            for name, place in zip(JOINTS, places.tolist(), strict=True)
            if name in joints and not joints[name].is_bridged and not math.isnan(place[0])
        ]
        if pairs and np.median(pairs) < SAME_M:
            distances[number] = float(np.median(pairs))
    return min(distances, key=distances.__getitem__) if distances else None


def rms(error: Floats) -> float:
    """Return the root mean square distance over places (..., 3), NaN left out, in centimeters."""
    squares = (error**2).sum(axis=-1)
    return 100 * math.sqrt(float(np.nanmean(squares)))


def jitter(places: Floats, truth: Floats) -> float:
    """Return the RMS change of the error from frame to frame, in centimeters."""
    return rms(np.diff(places - truth, axis=0))


def lag(places: Floats, truth: Truth) -> float:
    """Return the delay in milliseconds at which the true motion fits best."""
    n = len(places)
    times = np.arange(n) / truth.fps
    best = (math.inf, 0.0)
    for delay in np.arange(0, MAX_LAG_S, LAG_STEP_S):
        at = np.clip((times - delay) * truth.fps, 0, n - 1)
        low = np.minimum(at.astype(int), n - 2)
        share = (at - low)[:, None, None, None]
        earlier = (1 - share) * truth.places[low] + share * truth.places[low + 1]
        skip = math.ceil(MAX_LAG_S * truth.fps)
        best = min(best, (rms((places - earlier)[skip:]), float(delay)))
    return 1000 * best[1]


def report(truth: Truth, found: Floats, is_jump: Bools) -> None:
    """Print the filter's effect on joints."""
    outcome = run(found, truth.fps, TrackSettings())
    is_found = ~np.isnan(found[..., 0])
    calm = np.where((is_found & ~outcome.is_bridged)[..., None], outcome.places, np.nan)
    bridged = np.where((outcome.is_bridged & ~is_found)[..., None], outcome.places, np.nan)
    is_held = outcome.is_bridged & is_found
    matched = run(found, truth.fps, TrackSettings(), np.random.default_rng(0))
    rows = {
        "error, cm RMS": f"{rms(found - truth.places):.2f} -> {rms(calm - truth.places):.2f}",
        "jitter, cm RMS": f"{jitter(found, truth.places):.2f} -> {jitter(calm, truth.places):.2f}",
        "lag, ms": f"{lag(calm, truth):.0f}",
        "missing joints bridged": f"{np.isfinite(bridged[..., 0]).sum()} of {(~is_found).sum()}",
        "their error, cm RMS": f"{rms(bridged - truth.places):.2f}",
        "jumps held back": f"{(is_held & is_jump).sum()} of {is_jump.sum()}",
        "others held back": f"{(is_held & ~is_jump).sum()} of {(is_found & ~is_jump).sum()}",
        "ids, given": [sorted(ids) for ids in outcome.ids],
        "ids, shuffled and matched": [sorted(ids) for ids in matched.ids],
    }
    for name, value in rows.items():
        print(f"    {name:28}{value}")


def main() -> None:
    """Print a table for each recording, without and with jumps."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-n", "--frames", type=int, default=300)
    parser.add_argument("--fps", type=float, default=30.0)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--bodies", default="procedural")
    parser.add_argument("--mocap", default="")
    parser.add_argument("--noise", type=float, default=0.03, help="meters, of each coordinate")
    parser.add_argument("--dropout", type=float, default=0.05)
    parser.add_argument("--jumps", type=float, default=0.01)
    parser.add_argument("--threads", type=int)
    args = parser.parse_args()
    config = Config(bodies=args.bodies, mocap=args.mocap, mocap_share=1.0, people_shares=(0.0, 1.0))
    for seed in args.seeds:
        truth = truth_of(Recording(config, seed, args.frames, args.fps), threads=args.threads)
        speed = np.linalg.norm(np.diff(truth.places, axis=0), axis=-1) * truth.fps
        print(f"seed {seed}: {truth.is_visible.mean():.0%} of joints visible, mean speed {speed.mean():.2f} m/s")
        for jumps in (0.0, args.jumps):
            print(f"  {jumps:.0%} jumps")
            rng = np.random.default_rng(seed)
            report(truth, *spoil(truth, rng, noise=args.noise, dropout=args.dropout, jumps=jumps))


if __name__ == "__main__":
    main()
