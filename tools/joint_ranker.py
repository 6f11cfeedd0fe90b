"""Judge whether `LambdaMART` orders the proposals of a joint better than `find_joints` does by itself.

    python tools/joint_ranker.py --config models/body31.synth.toml --mocap CLIPS [-n 1000] [--judged 600] [-o FOLDER]

Makes rooms with two people each, finds joints in the true masks, and grades each proposal by how near it came. A ranker
is fitted on rooms of a new seed, its settings chosen there by cross-validation over rooms. It is then judged once, on
rooms of another seed whose clips are those of the subjects that the config leaves out: the forest never saw them.

Average precision sorts proposals by confidence; with a ranker, `find_joints` deals the confidences of a joint's
proposals out again in the ranker's order. It is taken over all proposals, as `depthforest evaluate` does, and over the
first ones alone. Differences have paired bootstrap intervals over rooms.

Writes `joint_ranker.json`, and the ranker as `joint_ranker.safetensors`: `models/rankers/body31.safetensors` is one.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import GroupKFold

import depthforest as df
from depthforest.ensemble import LambdaMART
from depthforest.evaluation import judge_joints
from depthforest.figures import JointScores
from depthforest.files import make_folder, replacing
from depthforest.frames import LabeledFrame
from depthforest.joints import find_joints
from depthforest.parts import JOINTS
from depthforest.scores import (
    WITHIN_M,
    Calibration,
    Counts,
    Difference,
    Estimate,
    Flags,
    Floats,
    ProposalLog,
    difference,
    frame_weights,
    known_mean,
)
from depthforest.skeletons import FEATURE_NAMES
from depthforest.terminal import progress_bar
from depthforest.threads import map_in_order
from synth.config import Config
from synth.generator import Generator
from synth.mocap import clip_files, clip_subject

FIT_SEED, JUDGE_SEED = 8181, 9191
"""Of the rooms; neither made the training frames (21), those of the joints' parameters (777), nor published figures."""

GRADES_M = (0.2, 0.1, 0.05)
"""A proposal's relevance is how many of these distances it keeps to: 0 to 3."""

LEAVES, ROUNDS, RATE = (8, 16, 32), (50, 100, 200), 0.1
"""What cross-validation chooses from, and the learning rate."""

FOLDS = 5
CONFIDENCE = FEATURE_NAMES.index("confidence")
WAYS = ("all", "first")
"""How average precision is taken: see the top."""


@dataclass(frozen=True, eq=False)
class Answers:
    """The proposals of every joint whose truth is known: a query is one joint of one person.

    Parameters
    ----------
    n_frames : int
    frame : array (n_people,), int64
        The frame of each person.
    person, joint : array (n_queries,), int64
        Whose joint it is, and its number in `parts.JOINTS`.
    is_visible : array (n_queries,), bool
    starts : array (n_queries + 1,), int64
        A query has the rows from `starts[q]` to before `starts[q + 1]`, as `find_joints` orders them; perhaps none.
    features : array (n_rows, len(FEATURE_NAMES)), float32
    distance_m : array (n_rows,), float64
        To the true joint.
    """

    n_frames: int
    frame: Counts
    person: Counts
    joint: Counts
    is_visible: Flags
    starts: Counts
    features: npt.NDArray[np.float32]
    distance_m: Floats

    @property
    def query(self) -> Counts:
        """Array (n_rows,): the query of each row."""
        return np.repeat(np.arange(len(self.person)), np.diff(self.starts))

    @property
    def grades(self) -> Counts:
        """Array (n_rows,): relevance by `GRADES_M`."""
        return np.asarray((self.distance_m[:, None] <= np.array(GRADES_M)).sum(axis=1))

    def table(self, *, with_joint: bool) -> Floats:
        """Return the features (n_rows, 9), or with the joint's number as the last of (n_rows, 10)."""
        columns = [self.features.astype(np.float64)]
        if with_joint:
            columns.append(self.joint[self.query].astype(np.float64)[:, None])
        return np.hstack(columns)

    def learnable(self) -> Flags:
        """Return the rows (n_rows,) to learn from: of visible joints with two proposals or more."""
        return (self.is_visible & (np.diff(self.starts) > 1))[self.query]


def gather(forest: df.Forest, data: Sequence[LabeledFrame], threads: int | None = None) -> Answers:
    """Find the joints of every person in its true mask."""

    def look(index: int) -> list[list[tuple[int, bool, npt.NDArray[np.float32], Floats]]]:
        frame = data[index]
        people = []
        for person, truth in frame.joints.items():
            mask = frame.people == person
            if not mask.any():
                continue
            found = find_joints(frame, forest.label(frame, mask, threads=1))
            rows = []
            for judged in judge_joints(found, truth):
                proposals = found[judged.name].proposals if judged.name in found else ()
                features = np.array([p.features for p in proposals], np.float32).reshape(-1, len(FEATURE_NAMES))
                rows.append((JOINTS.index(judged.name), judged.is_visible, features, judged.distances_m))
            people.append(rows)
        return people

    frames: list[int] = []
    queries: list[tuple[Any, ...]] = []
    with progress_bar(len(data)) as tell:
        for index, people in enumerate(map_in_order(look, range(len(data)), threads=threads)):
            for rows in people:
                queries += [(len(frames), *row) for row in rows]
                frames.append(index)
            tell(1)
    person, joint, is_visible, features, distances = zip(*queries, strict=True)
    starts = np.cumsum([0, *map(len, distances)])
    return Answers(
        len(data), np.array(frames), np.array(person), np.array(joint), np.array(is_visible), starts,
        np.concatenate(features), np.concatenate(distances),
    )  # fmt: skip


# -- judging -----------------------------------------------------------------------------------------------------------


def judge(answers: Answers, scores: Floats | None = None, way: str = "all") -> JointScores:
    """Judge proposals in the order of `find_joints`, or of scores (n_rows,).

    Parameters
    ----------
    answers : Answers
    scores : array (n_rows,), optional
        Of a ranker. The confidences of a query then go to its proposals in this order, as `find_joints` does it.
    way : {"all", "first"}
        Which proposals count.
    """
    n_people = len(answers.frame)
    logs = [ProposalLog() for _ in JOINTS]
    chosen = np.full((len(JOINTS), n_people), np.nan)
    promised = np.full((len(JOINTS), n_people), np.nan)
    confidences = answers.features[:, CONFIDENCE].astype(np.float64)
    for q, (person, joint) in enumerate(zip(answers.person.tolist(), answers.joint.tolist(), strict=True)):
        own = slice(answers.starts[q], answers.starts[q + 1])
        distance, confidence, is_visible = answers.distance_m[own], confidences[own], bool(answers.is_visible[q])
        if scores is not None:
            order = np.argsort(-scores[own], kind="stable")
            distance, confidence = distance[order], -np.sort(-confidence)
        if is_visible:
            chosen[joint, person] = distance[0] if len(distance) else np.inf
            promised[joint, person] = confidence[0] if len(distance) else np.nan
        if way == "first":
            distance, confidence = distance[:1], confidence[:1]
        logs[joint].add(person, distance, confidence, is_visible=is_visible)
    proposals = {name: log.judged(n_people) for name, log in zip(JOINTS, logs, strict=True)}
    is_there = ~np.isnan(promised)
    calibration = Calibration.of(promised[is_there], chosen[is_there] <= WITHIN_M)
    return JointScores(proposals, dict(zip(JOINTS, chosen, strict=True)), calibration)


def estimates(scores: JointScores, answers: Answers) -> dict[str, Estimate]:
    """Return the mean average precision, the mean share of visible joints found first, and those of each joint."""
    values = {"precision": np.array(list(scores.average_precisions().values())), "found": scores.found_shares()}
    blocks: dict[str, list[Floats]] = {"precision": [], "found": []}
    for weights in frame_weights(answers.n_frames):
        own = weights[:, answers.frame]
        each = [scores.proposals[name].average_precision(weights=own) for name in scores.names]
        blocks["precision"].append(np.stack(each, axis=-1))
        blocks["found"].append(scores.found_shares(own))
    result = {}
    for kind, value in values.items():
        drawn = np.concatenate(blocks[kind])
        result[kind] = Estimate.of(known_mean(value), known_mean(drawn))
        for k, name in enumerate(scores.names):
            result[f"{kind}.{name}"] = Estimate.of(value[k], drawn[:, k])
    return result


# -- fitting -----------------------------------------------------------------------------------------------------------


def ranker(leaves: int, rounds: int, *, with_joint: bool) -> LambdaMART:
    """Return a ranker that is not fitted."""
    categories = [len(FEATURE_NAMES)] if with_joint else None
    return LambdaMART(
        n_estimators=rounds, learning_rate=RATE, max_leaf_nodes=leaves, categorical_features=categories,
        random_state=0, n_jobs=1,
    )  # fmt: skip


def fitted(answers: Answers, chosen: Flags, model: LambdaMART, *, with_joint: bool) -> LambdaMART:
    """Fit a ranker to the chosen rows (n_rows,) that teach anything."""
    rows = chosen & answers.learnable()
    return model.fit(answers.table(with_joint=with_joint)[rows], answers.grades[rows], qid=answers.query[rows])


def cross_validated(answers: Answers) -> Iterator[dict[str, Any]]:
    """Yield the settings, each with its mean average precision on rooms that its fits have not seen.

    What the joint's number would add to the nine features is measured too; `find_joints` does not tell it.
    """
    room = answers.frame[answers.person][answers.query]
    for with_joint in (False, True):
        table = answers.table(with_joint=with_joint)
        for leaves in LEAVES:
            scores = np.zeros((len(ROUNDS), len(table)))
            for _, unseen in GroupKFold(FOLDS).split(table, groups=room):
                is_seen = np.ones(len(table), dtype=np.bool_)
                is_seen[unseen] = False
                model = fitted(
                    answers, is_seen, ranker(leaves, ROUNDS[-1], with_joint=with_joint), with_joint=with_joint
                )
                for rounds, stage in enumerate(model.staged_predict(table[unseen]), start=1):
                    if rounds in ROUNDS:
                        scores[ROUNDS.index(rounds), unseen] = stage
            for rounds, own in zip(ROUNDS, scores, strict=True):
                judged = judge(answers, own)
                yield {
                    "with_joint": with_joint,
                    "leaves": leaves,
                    "rounds": rounds,
                    "precision": float(judged.mean_precision()),
                    "found": float(known_mean(judged.found_shares())),
                }


# -- the run -----------------------------------------------------------------------------------------------------------


def rooms(config: Config, seed: int, n: int) -> Generator:
    """Return rooms with two people each, at the size of a Kinect v1."""
    return Generator(replace(config, people_shares=(0.0, 1.0), camera="kinect_v1"), seed=seed, n=n)


def unseen_subjects(config: Config) -> Config:
    """Return the config with only those subjects of the clips that it leaves out."""
    subjects = {clip_subject(path.with_suffix("").as_posix()) for path in clip_files(config.mocap)}
    return replace(config, without_subjects=tuple(sorted(subjects - set(config.without_subjects))))


def compare(answers: Answers, scores: Floats) -> dict[str, Any]:
    """Return all figures as found and ranked, with the differences."""
    result: dict[str, Any] = {}
    for way in WAYS:
        judged = [judge(answers, own, way) for own in (None, scores)]
        before, after = (estimates(own, answers) for own in judged)
        result[way] = {
            name: {"found": before[name], "ranked": after[name], "difference": difference(before[name], after[name])}
            for name in before
        }
        result[f"confidence of the first off by, {way}"] = [own.calibration.expected_error for own in judged]
    # what no order can beat: the nearest first
    result["best"] = {way: float(judge(answers, -answers.distance_m, way).mean_precision()) for way in WAYS}
    result["best"]["found"] = float(known_mean(judge(answers, -answers.distance_m).found_shares()))
    return result


def main(arguments: Sequence[str] | None = None) -> None:
    """Fit and judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", type=Path, required=True, help="TOML file with fields of synth.Config")
    parser.add_argument("--mocap", required=True, help="folder of BVH clips")
    parser.add_argument("--model", help="omitted: the shipped one")
    parser.add_argument("-n", type=int, default=1000, help="rooms to fit on")
    parser.add_argument("--judged", type=int, default=600, help="rooms to judge on")
    parser.add_argument("-o", type=Path, default=Path("joint_ranker"), help="folder to write to")
    parser.add_argument("--threads", type=int)
    given = parser.parse_args(arguments)
    config, forest = replace(Config.load(given.config), mocap=given.mocap), df.load(given.model)
    make_folder(given.o)

    seen = gather(forest, rooms(config, FIT_SEED, given.n), given.threads)
    settings = []
    for setting in cross_validated(seen):
        print(setting, flush=True)
        settings.append(setting)
    best = max((s for s in settings if not s["with_joint"]), key=lambda setting: setting["precision"])
    everything = np.ones(len(seen.features), dtype=np.bool_)
    model = fitted(seen, everything, ranker(best["leaves"], best["rounds"], with_joint=False), with_joint=False)
    model.save(given.o / "joint_ranker.safetensors")

    judged = gather(forest, rooms(unseen_subjects(config), JUDGE_SEED, given.judged), given.threads)
    figures = compare(judged, model.predict(judged.features))
    own = judge(seen)
    content = {
        "settings": settings,
        "chosen": best,
        "fitting rooms, as found": {
            "precision": float(own.mean_precision()),
            "found": float(known_mean(own.found_shares())),
        },
        "judged": figures,
    }
    with replacing(given.o / "joint_ranker.json") as file:
        file.write((json.dumps(content, indent=1, default=lambda figure: figure.to_dict()) + "\n").encode())
    show(best, figures)


def show(best: dict[str, Any], figures: dict[str, Any]) -> None:
    """Print what came of it."""
    print(f"chosen: {best}")
    for way in WAYS:
        print(f"\n{way} proposals: average precision and first proposals within 10 cm, as found, ranked, difference")
        for name, each in figures[way].items():
            gap: Difference = each["difference"]
            print(
                f"  {name:<22}{100 * each['found'].value:6.1f}{100 * each['ranked'].value:7.1f}"
                f"{100 * gap.value:+7.2f} ({100 * gap.low:+.2f} to {100 * gap.high:+.2f})"
            )
        print(
            "  confidence of the first is off by, as found and ranked:",
            figures[f"confidence of the first off by, {way}"],
        )
    print("\nthe nearest first would give", {name: round(100 * value, 1) for name, value in figures["best"].items()})


if __name__ == "__main__":
    main()
