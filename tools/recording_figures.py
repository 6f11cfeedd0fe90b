"""Evaluate `PeopleTracker` on synthetic recordings: recall, false people per frame, IoU of masks, and stability of ids.

Run `python tools/recording_figures.py [-n RECORDINGS] [--frames FRAMES]`. Furnished rooms with Kinect v1 noise, of
three kinds: people who walk and gesture; a person who sits from the first frame to the last and only breathes and
sways; the same without any motion, like a mannequin. Each is tracked with the room learned during the recording
(`learn`), without, and with an empty frame as background. Figures are for all frames, and for those from `--settle` on.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from line_figures import matched

from depthforest.frames import LabeledFrame
from depthforest.people import People, PeopleTracker
from synth import Config, Generator, Pose, Recording
from synth.poses import sample_poses
from synth.scene import Rendered, Scene, render

FOUND = 0.5
"""A person with at least this IoU counts as found."""

SWAY_M, SWAY_DEGREES, SWAY_SECONDS = 0.006, 1.0, (4.1, 5.3, 7.9)
"""Amplitudes and periods with which a sitting person sways sideways and forward, and turns."""

FPS = 30.0


class Sitting(Generator):
    """A person who sits still in a room: the same scene in every frame, except for noise and a sway.

    Parameters
    ----------
    config, seed, n
        As in `Generator`.
    sway : float
        Multiple of the usual sway; 0 for a mannequin.
    """

    def __init__(self, config: Config, seed: int, n: int, sway: float = 1.0) -> None:
        super().__init__(config, seed, n)
        self._sway = sway

    @cached_property
    def _first(self) -> Scene:
        return super().scene(0)[0]

    def scene(self, index: int) -> tuple[Scene, Rendered, np.random.Generator]:
        """Return the scene at a time, as `Generator` does."""
        side, front, turn = (self._sway * math.sin(2 * math.pi * index / FPS / seconds) for seconds in SWAY_SECONDS)
        people = tuple(
            dataclasses.replace(
                one,
                x=one.x + SWAY_M * side,
                z=one.z + SWAY_M * front,
                yaw=one.yaw + math.radians(SWAY_DEGREES) * turn,
            )
            for one in self._first.people
        )
        scene = dataclasses.replace(self._first, people=people)
        rendered = render(self.camera, scene.meshes(), canvas=self._canvas())
        return scene, rendered, np.random.default_rng([self.seed, 99, index])

    def _pose(self, rng: np.random.Generator) -> tuple[Pose, bool]:
        return sample_poses(rng, 1, "sitting")[0].pose, False


@dataclass
class Tally:
    """Counts of people found in the frames of some recordings."""

    n_frames: int = 0
    ious: list[float] = field(default_factory=list)
    n_false: int = 0
    n_kept: int = 0
    n_answers: int = 0
    n_ids: int = 0

    def add(self, frames: list[LabeledFrame], found: list[People]) -> None:
        """Count what was found in one recording."""
        ids: dict[int, Counter[int]] = {}
        for frame, people in zip(frames, found, strict=True):
            pairs, n_false = matched(frame.people, people.map)
            self.n_frames += 1
            self.n_false += n_false
            for person, (number, iou) in pairs.items():
                self.ious.append(iou)
                if iou >= FOUND:
                    ids.setdefault(person, Counter())[number] += 1
        for counts in ids.values():
            self.n_kept += max(counts.values())
            self.n_answers += sum(counts.values())
            self.n_ids += len(counts)

    def __str__(self) -> str:
        ious = np.array(self.ious)
        return (
            f"recall {np.mean(ious >= FOUND):.4f}  IoU {ious.mean():.4f}"
            f"  false/frame {self.n_false / self.n_frames:.4f}"
            f"  frames with the same id {self.n_kept / max(self.n_answers, 1):.4f}  ids {self.n_ids}"
        )


def recordings(kind: str, camera: str, n: int, n_frames: int, seed: int) -> Iterator[Generator]:
    """Yield recordings of one kind."""
    for i in range(n):
        config = Config(camera=camera, n_bodies=6, people_shares=(0.5, 0.5), furnished_share=1.0, furniture=(3, 5))
        if kind == "walking":
            yield Recording(config, seed=seed + i, n=n_frames, fps=FPS)
        else:
            alone = dataclasses.replace(config, people_shares=(1.0,), near_share=0.0, seat_share=1.0, blocked_share=0.0)
            yield Sitting(alone, seed + i, n_frames, sway=float(kind == "sitting"))


def main() -> None:
    """Run the evaluation."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", type=int, default=8, help="recordings of each kind")
    parser.add_argument("--frames", type=int, default=600, help="of each recording")
    parser.add_argument("--settle", type=int, default=330, help="first frame of the second figures")
    parser.add_argument("--camera", default="kinect_v1@320x240")
    parser.add_argument("--seed", type=int, default=700)
    parser.add_argument("--kinds", default="walking,sitting,mannequin")
    options = parser.parse_args()
    for kind in options.kinds.split(","):
        tallies = {
            (name, start): Tally() for name in ("alone", "learned", "background") for start in (0, options.settle)
        }
        for recording in recordings(kind, options.camera, options.n, options.frames, options.seed):
            frames = list(recording.frames(threads=1))
            for name, tracker in (
                ("alone", PeopleTracker(learn=False)),
                ("learned", PeopleTracker()),
                ("background", PeopleTracker(recording.empty_room(0))),
            ):
                found = [tracker.add(frame) for frame in frames]
                for start in (0, options.settle):
                    tallies[name, start].add(frames[start:], found[start:])
        for (name, start), tally in tallies.items():
            print(f"{kind:10} {name:10} from {start:3} {tally}", flush=True)


if __name__ == "__main__":
    main()
