"""Make the animation of docs: a synthetic recording, its labels and raw joints beside the filtered joints.

Run it from the top of a checkout. People, labels and joints are found by the shipped forest, or, with `--truth`, taken
from the generator with noise added, which shows what the filter alone does.
"""

from __future__ import annotations

import argparse
import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from depthforest.base import DepthForestError, replacing
from depthforest.forest import load
from depthforest.frames import Joint, LabeledFrame, Picture, drawing
from depthforest.joints import JointLike, JointTracks, find_joints
from depthforest.people import Background, PeopleTracker
from depthforest.pipeline.video import VideoFile
from synth import Config, Recording

PICTURES = Path(__file__).resolve().parent.parent / "docs" / "pictures"
MAX_BYTES = 3_000_000
QUALITIES = (75, 65, 55, 45, 35, 25, 15)
"""Qualities of the WebP, tried one after the other until the file is small enough."""

NOISE_M, DROPOUT = 0.03, 0.05
"""With `--truth`: standard deviation of each coordinate, and the share of visible joints that are not found."""

N_BACKGROUND = 30
"""Frames of the empty room that the background is learned from."""

Found = tuple[LabeledFrame, npt.NDArray[np.uint8], Mapping[int, Mapping[str, JointLike]]]


def noisy(frame: LabeledFrame, rng: np.random.Generator) -> dict[int, dict[str, Joint]]:
    """Return the visible true joints as a finder might deliver them: shifted, and some of them missing."""
    found: dict[int, dict[str, Joint]] = {}
    for person, joints in frame.joints.items():
        kept = {name: joint for name, joint in joints.items() if joint.is_visible and rng.random() >= DROPOUT}
        found[person] = {}
        for name, joint in kept.items():
            x, y, z = (np.array(joint.position) + rng.normal(0, NOISE_M, 3)).tolist()
            found[person][name] = Joint((x, y, z))
    return found


def from_truth(recording: Recording, threads: int | None) -> Iterator[Found]:
    """Yield frames with their true parts, and true joints with noise."""
    for index, frame in enumerate(recording.frames(threads=threads)):
        yield frame, frame.parts, noisy(frame, np.random.default_rng([recording.seed, index]))


def from_forest(recording: Recording, threads: int | None) -> Iterator[Found]:
    """Yield frames with the people, parts and joints that are found in them."""
    forest = load()
    rooms = [recording.empty_room(0, take) for take in range(N_BACKGROUND)]
    tracker = PeopleTracker(Background.learn(rooms))
    for frame in recording.frames(threads=threads):
        people = tracker.add(frame)
        parts = np.full(frame.shape, 255, dtype=np.uint8)
        joints: dict[int, Any] = {}
        for person, mask in zip(people.ids, people, strict=True):
            labeling = forest.label(frame, mask=mask)
            parts = np.where(mask, labeling.parts, parts)
            joints[person] = find_joints(frame, labeling)
        yield frame, parts, joints


def pictures(found: Iterator[Found], fps: float) -> Iterator[Picture]:
    """Yield each frame twice, side by side: parts with raw joints, and the filtered joints with ids."""
    tracks = JointTracks(fps)
    for frame, parts, joints in found:
        shaded = drawing.shade(frame)
        painted = drawing.overlay(frame, parts, frame.part_set, shaded=shaded)
        raw = drawing.with_skeletons(painted, joints, frame.camera, least=drawing.DRAWN_CONFIDENCE)
        calm = drawing.with_skeletons(
            shaded, tracks.add(joints), frame.camera, ids=True, least=drawing.DRAWN_CONFIDENCE
        )
        titles = ["parts, joints as found", "joints over time"]
        yield drawing.contact_sheet([raw, calm], columns=2, titles=titles)


def webp(frames: Sequence[Picture], fps: float, quality: int) -> bytes:
    """Return an endless animated WebP."""
    images = [Image.fromarray(frame) for frame in frames]
    content = io.BytesIO()
    images[0].save(
        content,
        format="WEBP",
        save_all=True,
        append_images=images[1:],
        duration=round(1000 / fps),
        loop=0,
        quality=quality,
        method=4,
    )
    return content.getvalue()


def write_small(path: Path, frames: Sequence[Picture], fps: float) -> int:
    """Write an animated WebP of at most `MAX_BYTES`, as good as that allows; return the quality."""
    for quality in QUALITIES:
        content = webp(frames, fps, quality)
        if len(content) <= MAX_BYTES:
            with replacing(path) as file:
                file.write(content)
            return quality
    raise DepthForestError(f"{path}: is {len(content)} bytes even at quality {quality}; give fewer frames")


def main() -> None:
    """Write NAME.mp4 of all frames and NAME.webp of every second one."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-n", "--frames", type=int, default=300)
    parser.add_argument("--fps", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--people", type=int, default=2, choices=range(1, 9))
    parser.add_argument("--camera", default="kinect_v1@320x240")
    parser.add_argument("--bodies", default="procedural")
    parser.add_argument("--mocap", default="", help="folder of BVH clips; without one, built-in motion")
    parser.add_argument("--without-subjects", default="", help="subjects of the clips that are left out, with commas")
    parser.add_argument("--truth", action="store_true", help="true parts and joints, with noise, instead of found ones")
    parser.add_argument("--threads", type=int)
    parser.add_argument("-o", "--output", type=Path, default=PICTURES / "recording", help="path without an ending")
    parser.add_argument("--frame", type=int, action="append", default=[], help="write this frame as PNG as well")
    args = parser.parse_args()
    config = Config(
        camera=args.camera,
        bodies=args.bodies,
        mocap=args.mocap,
        mocap_share=1.0,
        without_subjects=tuple(filter(None, args.without_subjects.split(","))),
        people_shares=(*[0.0] * (args.people - 1), 1.0),
    )
    recording = Recording(config, args.seed, args.frames, args.fps)
    found = (from_truth if args.truth else from_forest)(recording, args.threads)
    kept = []
    with VideoFile(args.output.with_suffix(".mp4"), args.fps) as video:
        for index, picture in enumerate(pictures(found, args.fps)):
            video.add(picture)
            if index % 2 == 0:
                kept.append(picture)
            if index in args.frame:
                drawing.write_picture(args.output.with_name(f"{args.output.name}_{index:06d}.png"), picture)
    quality = write_small(args.output.with_suffix(".webp"), kept, args.fps / 2)
    sizes = ", ".join(f"{args.output.with_suffix(e).stat().st_size / 1e6:.2f} MB {e}" for e in (".webp", ".mp4"))
    print(f"{args.output}: {args.frames} frames; {sizes}; WebP of quality {quality}")


if __name__ == "__main__":
    main()
