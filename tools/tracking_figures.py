"""Evaluate tracking on synthetic recordings with exact truth: ids kept, joint error, jitter and latency.

Run `python tools/tracking_figures.py [--kinds walking,crossing,falling] [-n RECORDINGS] [--frames FRAMES]`. The whole
pipeline from depth to tracks: `PeopleTracker`, the shipped forest, `find_joints`, `JointTracks`. *walking*: one person
walks and gestures; *crossing*: two people walk through each other's view; *falling*: one person falls and stands up
again. Figures are for visible joints. Error and jitter are the median distance to the truth and the median change of
the error from frame to frame, for joints as found and as tracked. Latency is the delay at which the true motion fits
the tracked one best.
"""

from __future__ import annotations

import argparse
from collections import Counter

import numpy as np

from depthforest.base import Floats
from depthforest.forest import load
from depthforest.frames import JOINTS
from depthforest.joints import FrameJoints, JointTracks
from depthforest.pipeline import joints_of_recording
from synth import Config, Recording

FPS, SAME_M = 15.0, 0.5
"""Frames per second; and the largest median distance of joints, in meters, that matches an answer to a person."""

ACTS = {"walking": ("walk", "gesture"), "crossing": ("walk",), "falling": ("fall",)}


def recording_of(kind: str, seed: int, n: int) -> Recording:
    """Return a recording of a kind."""
    shares = (0.0, 1.0) if kind == "crossing" else (1.0,)
    config = Config(camera="kinect_v1@320x240", sensor="kinect_v1", people_shares=shares, n_bodies=6)
    return Recording(config, seed, n, FPS, ACTS[kind])


def matched(frames: list[FrameJoints], truth: Floats) -> tuple[Floats, list[Counter[int]]]:
    """Return places (frames, people, 19, 3) by who is nearest, NaN for none, and the ids that each person was given."""
    places = np.full(truth.shape, np.nan)
    ids: list[Counter[int]] = [Counter() for _ in range(truth.shape[1])]
    for row, frame in enumerate(frames):
        for number, its in frame.people.items():
            own = np.full((len(JOINTS), 3), np.nan)
            for name, joint in its.items():
                own[JOINTS.index(name)] = joint.position
            apart = [float(np.nanmedian(np.linalg.norm(own - joints, axis=1))) for joints in truth[row]]
            person = int(np.argmin(apart))
            if apart[person] < SAME_M and np.isnan(places[row, person]).all():
                places[row, person] = own
                ids[person][number] += 1
    return places, ids


def latency(places: Floats, truth: Floats) -> float:
    """Return the delay in milliseconds, up to 0.4 s, at which the truth fits best by the median distance."""
    delays = np.arange(0, 0.4, 0.01)
    n = len(truth)
    times = np.arange(n)
    errors = []
    for delay in delays:
        at = np.clip(times - delay * FPS, 0, n - 1)
        low = np.minimum(at.astype(int), n - 2)
        share = (at - low)[:, None, None, None]
        earlier = (1 - share) * truth[low] + share * truth[low + 1]
        errors.append(float(np.nanmedian(np.linalg.norm(places - earlier, axis=-1))))
    return 1000 * float(delays[int(np.argmin(errors))])


def main() -> None:
    """Print a row for each kind."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", type=int, default=3, help="recordings of each kind")
    parser.add_argument("--frames", type=int, default=300)
    parser.add_argument("--kinds", default="walking,crossing,falling")
    parser.add_argument("--seed", type=int, default=40)
    args = parser.parse_args()
    forest = load()
    for kind in args.kinds.split(","):
        rows: dict[str, list[float]] = {name: [] for name in ("found", "tracked", "jitter", "calm", "latency", "seen")}
        n_kept = n_answers = n_ids = n_people = 0
        for seed in range(args.seed, args.seed + args.n):
            recording = recording_of(kind, seed, args.frames)
            frames = list(recording.frames(threads=1))
            truth = np.array([[[j.position for j in its.values()] for its in f.joints.values()] for f in frames])
            is_seen = np.array([[[j.is_visible for j in its.values()] for its in f.joints.values()] for f in frames])
            found, _ = joints_of_recording(forest, frames, fps=FPS)
            tracks = JointTracks(FPS, keep=True)
            for frame in found:
                tracks.add(frame.people, time=frame.time)
            for key, jitter, answers in (("found", "jitter", found), ("tracked", "calm", tracks.frames)):
                places, ids = matched(answers, truth)
                places = np.where(is_seen[..., None], places, np.nan)
                errors = places - truth
                rows[key].append(100 * float(np.nanmedian(np.linalg.norm(errors, axis=-1))))
                rows[jitter].append(100 * float(np.nanmedian(np.linalg.norm(np.diff(errors, axis=0), axis=-1))))
            rows["latency"].append(latency(places, truth))
            rows["seen"].append(float((~np.isnan(places[..., 0]))[is_seen].mean()))
            n_kept += sum(max(counts.values(), default=0) for counts in ids)
            n_answers += sum(counts.total() for counts in ids)
            n_ids, n_people = n_ids + sum(map(len, ids)), n_people + len(ids)
        mean = {name: float(np.mean(values)) for name, values in rows.items()}
        print(
            f"{kind}: joints answered {mean['seen']:.3f}; error {mean['found']:.1f} -> {mean['tracked']:.1f} cm; "
            f"jitter {mean['jitter']:.2f} -> {mean['calm']:.2f} cm; latency {mean['latency']:.0f} ms; "
            f"same id {n_kept / max(n_answers, 1):.4f}, {n_ids} ids for {n_people} people",
            flush=True,
        )


if __name__ == "__main__":
    main()
