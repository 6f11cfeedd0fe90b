"""Judge `find_people` on synthetic rooms: mask IoU per person, misses and false people; with a picture of the worst.

Run `python tools/people_figures.py [-n FRAMES] [-o FOLDER]`. For each camera and sensor, rooms with one to three people
are searched without a background, with one empty frame as background, and with several. People of whom less than
`LEAST_SEEN` of the picture is seen are not asked for, and finding them is not held against anyone.

Writes `people_figures.json` and `people_figures.png`: the truth and what was found, side by side, the worst first.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from depthforest.cli.pictures import match_people
from depthforest.frames import Frame, LabeledFrame, Picture
from depthforest.frames.drawing import contact_sheet, shade, write_picture
from depthforest.people import Background, find_people
from synth import Config, Generator

LEAST_SEEN = 0.005
"""Share of the picture: a fifth of somebody who stands at the end of a Kinect's range."""

MISSED = 0.3
"""IoU below which somebody counts as missed."""

ANY = 1e-9
"""IoU of a pair, at least: whatever overlaps at all."""

FALSE = 0.3
"""Share of people in a mask below which it shows nobody."""

SETTINGS = [(camera, sensor) for camera in ("kinect_v1@320x240", "kinect_v1") for sensor in ("kinect_v1", "ideal")]
N_TAKES = 5
"""Frames of a background that is learned from several."""

COLORS = np.array([(0, 0, 0), (255, 80, 60), (60, 160, 255), (90, 220, 90), (240, 200, 40), (220, 90, 230)], np.uint8)

People = npt.NDArray[np.uint8]


@dataclass
class Tally:
    """What was found in the frames of one setting."""

    ious: list[float] = field(default_factory=list)
    n_missed: int = 0
    n_false: int = 0
    n_frames: int = 0

    def add(self, frame: LabeledFrame, found: People) -> float:
        """Count one frame; return its worst IoU, lowered by false people."""
        pairs, n_false = matched(frame.people, found)
        ious = [iou for _, iou in pairs.values()]
        self.ious += ious
        self.n_missed += sum(iou < MISSED for iou in ious)
        self.n_false += n_false
        self.n_frames += 1
        return min(ious, default=1.0) - n_false

    def figures(self) -> dict[str, float]:
        """Return what the JSON file says."""
        seen = [iou for iou in self.ious if iou >= MISSED]
        return {
            "frames": self.n_frames,
            "people": len(self.ious),
            "mean_iou": round(float(np.mean(self.ious)), 4),
            "mean_iou_of_found": round(float(np.mean(seen)), 4),
            "median_iou": round(float(np.median(self.ious)), 4),
            "missed": self.n_missed,
            "false": self.n_false,
        }


def matched(truth: People, found: People) -> tuple[dict[int, tuple[int, float]], int]:
    """Return for each person who is seen well enough the id and IoU of its mask, 0 for none; and how many are false."""
    n_true, n_found = (np.bincount(ids.ravel(), minlength=256) for ids in (truth, found))
    is_seen = n_true >= LEAST_SEEN * truth.size
    is_seen[0] = False
    pairs = dict.fromkeys(np.flatnonzero(is_seen).tolist(), (0, 0.0))
    pairs |= match_people(np.where(is_seen[truth], truth, np.uint8(0)), found, ANY)
    n_right = np.bincount(found[truth > 0], minlength=256)
    return pairs, int(np.count_nonzero((n_right < FALSE * n_found)[1:]))


def painted(frame: Frame, people: People) -> Picture:
    """Return a shaded frame with its people in colours."""
    picture = shade(frame)
    is_person = people > 0
    colors = COLORS[1 + (people[is_person].astype(int) - 1) % (len(COLORS) - 1)]
    picture[is_person] = (picture[is_person] * 0.45 + colors * 0.55).astype(np.uint8)
    return picture


def rooms(camera: str, sensor: str, n: int, seed: int) -> Iterator[tuple[LabeledFrame, list[Frame]]]:
    """Yield frames with the empty rooms that they are of."""
    config = Config(camera=camera, sensor=sensor, n_bodies=24, people_shares=(0.4, 0.4, 0.2))
    frames = Generator(config, seed=seed, n=n)
    for i in range(n):
        yield frames[i], [frames.empty_room(i, take) for take in range(N_TAKES)]


def main() -> None:
    """Run the judgment."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", type=int, default=60, help="frames of each camera and sensor")
    parser.add_argument("-o", type=Path, default=Path("people_figures"), help="folder to write to")
    parser.add_argument("--seed", type=int, default=3003, help="of rooms that nothing was tuned on")
    parser.add_argument("--shown", type=int, default=24, help="frames in the picture")
    options = parser.parse_args()
    figures: dict[str, dict[str, float]] = {}
    shown: list[tuple[float, str, Picture]] = []
    for camera, sensor in SETTINGS:
        tallies = {name: Tally() for name in ("alone", "one empty frame", "several")}
        for i, (frame, empty) in enumerate(rooms(camera, sensor, options.n, options.seed)):
            backgrounds = {"alone": None, "one empty frame": Background(empty[0]), "several": Background.learn(empty)}
            for name, background in backgrounds.items():
                found = find_people(frame, background).map
                worst = tallies[name].add(frame, found)
                picture = contact_sheet([painted(frame, frame.people), painted(frame, found)], columns=2)
                shown.append((worst, f"{worst:.2f} {name} {sensor} {camera} {i}", picture))
            shown = sorted(shown, key=lambda entry: entry[0])[: options.shown]
        for name, tally in tallies.items():
            figures[f"{camera} {sensor} {name}"] = tally.figures()
            print(f"{camera:18} {sensor:10} {name:16} {tally.figures()}", flush=True)
    options.o.mkdir(parents=True, exist_ok=True)
    (options.o / "people_figures.json").write_text(json.dumps(figures, indent=1) + "\n")
    pictures, titles = [picture for _, _, picture in shown], [title for _, title, _ in shown]
    write_picture(options.o / "people_figures.png", contact_sheet(pictures, titles=titles, cell_width=480))


if __name__ == "__main__":
    main()
