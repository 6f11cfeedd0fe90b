"""Evaluate the whole pipeline on synthetic rooms with two people each: masks, labels and joints, as a user gets them.

Run `python tools/line_figures.py --bench rooms --mocap CLIPS [-n 500] [-o FOLDER]` for rooms like those of a bench set,
whose clips no training has seen, or give a `--config TOML` of your own. In every frame, people are found (without a
background, and with an empty frame as one), labeled, and their joints are found; true masks are included as the upper
bound. A missed person has no correct pixel and no joint; joints of false people are false.

Writes `line_figures.json`, and `line_figures.png` with the results in the first frames.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import depthforest as df
from depthforest.base import map_in_order, replacing
from depthforest.cli.pictures import match_people
from depthforest.cli.terminal import progress_bar
from depthforest.evaluation import SETS, Tally, count_pairs
from depthforest.evaluation.judging import judge_joints
from depthforest.evaluation.people.matching import LEAST_SEEN
from depthforest.evaluation.scores import ProposalLog, known_mean
from depthforest.frames import JOINTS, NO_PART, LabeledFrame, drawing
from depthforest.people import Background
from depthforest.pipeline import PeopleLabels, label_people
from synth import Config, Generator

SHOWN = 12
WAYS = ("true masks", "without a background", "with an empty frame")

MISSED = 0.3
"""A person with a smaller IoU counts as missed."""

ANY = 1e-9
"""Smallest IoU of a pair: any overlap."""

FALSE = 0.3
"""A mask with a smaller share of people's pixels shows nobody."""

People = npt.NDArray[np.uint8]


@dataclass
class Line:
    """Results on all frames in one setting."""

    n_parts: int
    ious: list[float] = field(default_factory=list)
    n_false: int = 0
    confusion: npt.NDArray[np.int64] = field(init=False)
    logs: dict[str, ProposalLog] = field(default_factory=lambda: defaultdict(ProposalLog))
    n_people: int = 0

    def __post_init__(self) -> None:
        # the last column is for pixels without an answer
        self.confusion = np.zeros((self.n_parts, self.n_parts + 1), dtype=np.int64)

    def add(self, frame: LabeledFrame, labels: PeopleLabels) -> None:
        """Count a frame."""
        pairs, n_false = matched(frame.people, labels.people.map)
        self.n_false += n_false
        joints = labels.joints or {}
        for person, (found, iou) in pairs.items():
            self.ious.append(iou)
            is_person = (frame.people == person) & (frame.parts != NO_PART)
            is_answered = (labels.people.map == found) if found else np.zeros_like(is_person)
            answers = np.where(is_answered & (labels.parts != NO_PART), labels.parts, np.uint8(self.n_parts))
            self.confusion += count_pairs(frame.parts[is_person], answers[is_person], self.n_parts, self.n_parts + 1)
            self._judge(joints.get(found, {}), frame.joints.get(person, {}))
        for found, its_joints in joints.items():
            if found not in {k for k, _ in pairs.values()}:
                self._judge_false(its_joints)

    def _judge(self, found: Mapping[str, Any], truth: Mapping[str, Any]) -> None:
        for judged in judge_joints(found, truth):
            self.logs[judged.name].add(
                self.n_people, judged.distances_m, judged.confidences, is_visible=judged.is_visible
            )
        self.n_people += 1

    def _judge_false(self, found: Mapping[str, Any]) -> None:
        for name, joint in found.items():
            confidences = [proposal.confidence for proposal in joint.proposals]
            self.logs[name].add(self.n_people, [np.inf] * len(confidences), confidences, is_visible=False)
        self.n_people += 1

    def figures(self) -> dict[str, Any]:
        """Return the content of the JSON file."""
        square = Tally(self.confusion.sum(axis=1), np.diagonal(self.confusion).copy(), self.confusion.sum(axis=0)[:-1])
        precisions = {
            name: float(self.logs[name].judged(self.n_people).average_precision())
            for name in JOINTS
            if name in self.logs
        }
        return {
            "people": len(self.ious),
            "mean_iou": round(float(np.mean(self.ious)), 4),
            "missed": int(np.sum(np.array(self.ious) < MISSED)),
            "false": self.n_false,
            "mean_class_accuracy": round(float(square.mean_class_accuracy), 4),
            "pixel_accuracy": round(float(square.pixel_accuracy), 4),
            "mean_average_precision": round(float(known_mean(np.array(list(precisions.values())))), 4),
            "average_precision": {name: round(value, 4) for name, value in precisions.items()},
        }


def matched(truth: People, found: People) -> tuple[dict[int, tuple[int, float]], int]:
    """Return for each person who is seen well enough the id and IoU of its mask, 0 for none; and how many are false.

    A mask belongs to at most one person, unlike in `evaluate --people`, so that labels and joints do not count twice.
    """
    n_true, n_found = (np.bincount(ids.ravel(), minlength=256) for ids in (truth, found))
    is_seen = n_true >= LEAST_SEEN * truth.size
    is_seen[0] = False
    pairs = dict.fromkeys(np.flatnonzero(is_seen).tolist(), (0, 0.0))
    pairs |= match_people(np.where(is_seen[truth], truth, np.uint8(0)), found, ANY)
    n_right = np.bincount(found[truth > 0], minlength=256)
    return pairs, int(np.count_nonzero((n_right < FALSE * n_found)[1:]))


def picture(labels: PeopleLabels) -> drawing.Picture:
    """Return parts and skeletons."""
    parts = drawing.overlay(labels.frame, labels.parts, labels.part_set)
    return drawing.with_skeletons(parts, labels.joints or {}, labels.frame.camera, least=drawing.DRAWN_CONFIDENCE)


def main() -> None:
    """Run the evaluation."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", type=int, default=500, help="rooms")
    parser.add_argument("-o", type=Path, default=Path("line_figures"), help="folder to write to")
    parser.add_argument("--model", help="omitted: the shipped one")
    parser.add_argument("--bench", choices=SETS, help="rooms as in this test set")
    parser.add_argument("--config", type=Path, help="TOML file with fields of synth.Config")
    parser.add_argument("--mocap", help="folder of BVH clips")
    parser.add_argument("--camera", default="kinect_v1")
    parser.add_argument("--seed", type=int, default=5005)
    parser.add_argument("--mirror", action=argparse.BooleanOptionalAction)
    parser.add_argument("--threads", type=int)
    options: Any = parser.parse_args()
    if options.bench:
        config = SETS[options.bench].config(options.mocap)
    else:
        config = Config.load(options.config) if options.config else Config(n_bodies=24)
        config = replace(config, mocap=options.mocap or config.mocap)
    config = replace(config, people_shares=(0.0, 1.0), camera=options.camera)
    rooms = Generator(config, seed=options.seed, n=options.n)
    forest = df.load(options.model)
    lines = {way: Line(len(forest.part_set)) for way in WAYS}

    def look(index: int) -> tuple[LabeledFrame, list[PeopleLabels]]:
        frame = rooms[index]
        room = Background(rooms.empty_room(index))
        found = [df.People.of_map(frame.people), df.find_people(frame), df.find_people(frame, room)]
        return frame, [
            label_people(forest, frame, people, joints=True, mirror=options.mirror, threads=1) for people in found
        ]

    shown: list[drawing.Picture] = []
    with progress_bar(options.n) as advance:
        for frame, answers in map_in_order(look, range(options.n), threads=options.threads):
            for line, labels in zip(lines.values(), answers, strict=True):
                line.add(frame, labels)
            if len(shown) < SHOWN:
                shown.append(drawing.side_by_side([drawing.shade(frame), *map(picture, answers[1:])]))
            advance(1)
    figures = {"frames": options.n, "seed": options.seed} | {way: line.figures() for way, line in lines.items()}
    options.o.mkdir(parents=True, exist_ok=True)
    with replacing(options.o / "line_figures.json") as file:
        file.write((json.dumps(figures, indent=1) + "\n").encode())
    drawing.write_picture(options.o / "line_figures.png", drawing.contact_sheet(shown, columns=2, cell_width=960))
    for way in WAYS:
        print(way, {name: value for name, value in figures[way].items() if name != "average_precision"})


if __name__ == "__main__":
    main()
