"""Fit the parameters of joint proposals to a model, and write it with them.

    python tools/fit_joints.py MODEL -o OUT --synth models/body31.synth.toml -n 800 --seed 77
    python tools/fit_joints.py MODEL -o OUT --data frames.zarr

Take frames that the model was not trained on: another seed, or another data set with joints. The same frames give the
same file, for any number of threads. Then the fitted parameters are compared with the ones of the model as it was, on
every tenth frame, which the fit does not see.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import depthforest as df
from depthforest.base import DepthForestError, UsageError, map_in_order
from depthforest.cli.terminal import progress_bar
from depthforest.frames import JOINTS, FrameSource, LabeledFrame
from depthforest.joints import find_joints, fit_joints
from depthforest.joints.finding import Joints
from depthforest.joints.meanshift import MAX_MODES
from depthforest.joints.stats import RADIUS, precision_of
from synth import Config, Generator

JUDGED_STEP = 10
"""Every n-th frame is kept for evaluation."""


class SomeFrames(FrameSource):
    """Some frames of a data set, as a data set."""

    def __init__(self, data: Sequence[LabeledFrame], numbers: Sequence[int]) -> None:
        self._data, self._numbers = data, numbers

    def __len__(self) -> int:
        return len(self._numbers)

    def _frame(self, number: int) -> LabeledFrame:
        return self._data[self._numbers[number]]


@dataclass(frozen=True)
class JointFigures:
    """Accuracy of joints.

    Parameters
    ----------
    precisions : mapping of str to float
        Average precision at 10 cm of every joint that is ever visible.
    right : float
        Share of visible joints whose first proposal is within 10 cm.
    median_m : float
        Distance of the first proposal of visible joints, meters; those without one are infinitely far.
    calibration : float
        Mean difference between the confidence of first proposals and the share that is correct, in ten bins.
    """

    precisions: Mapping[str, float]
    right: float
    median_m: float
    calibration: float

    @property
    def mean_precision(self) -> float:
        """Mean over joints."""
        return float(np.mean(list(self.precisions.values())))

    def __str__(self) -> str:
        return (
            f"mean average precision {self.mean_precision:.3f}, first proposals right {self.right:.3f}, "
            f"median error {100 * self.median_m:.1f} cm, confidence off by {self.calibration:.3f}"
        )


def judge_joints(
    forest: df.Forest, data: Sequence[LabeledFrame], *, exact: bool = False, threads: int | None = None
) -> JointFigures:
    """Find the joints of every person in every frame, with true masks, and compare them with the truth."""

    def one(index: int) -> list[tuple[Joints, Mapping[str, df.Joint]]]:
        frame = data[index]
        masks = ((frame.people == person, joints) for person, joints in frame.joints.items())
        labelings = [(forest.label(frame, mask, threads=1), joints) for mask, joints in masks if mask.any()]
        return [(find_joints(frame, labeling, exact=exact), joints) for labeling, joints in labelings]

    return figures([person for found in map_in_order(one, range(len(data)), threads=threads) for person in found])


def figures(people: Sequence[tuple[Joints, Mapping[str, df.Joint]]]) -> JointFigures:
    """Compare joints that were found with the truth."""
    n = len(people)
    precisions, errors, promised, kept = {}, [], [], []
    for name in JOINTS:
        places, scores = np.zeros((n, MAX_MODES, 3)), np.zeros((n, MAX_MODES))
        counts, truth, is_visible = np.zeros(n, np.int64), np.full((n, 3), np.inf), np.zeros(n, np.bool_)
        for k, (found, joints) in enumerate(people):
            if name in joints:
                truth[k], is_visible[k] = joints[name].position, joints[name].is_visible
            if name in found:
                counts[k] = len(found[name].proposals)
                for i, proposal in enumerate(found[name].proposals):
                    places[k, i], scores[k, i] = proposal.position, proposal.confidence
        if is_visible.any():
            precisions[name] = precision_of(places, scores, counts, truth, is_visible)
            off = np.where(counts > 0, np.linalg.norm(places[:, 0] - truth, axis=1), np.inf)
            errors.append(off[is_visible])
            promised.append(scores[counts > 0, 0])
            kept.append(off[counts > 0] <= RADIUS)
    error, confidence, is_right = np.concatenate(errors), np.concatenate(promised), np.concatenate(kept)
    bins = np.minimum((10 * confidence).astype(int), 9)
    gaps = [abs((is_right[bins == b] - confidence[bins == b]).sum()) for b in range(10)]
    return JointFigures(
        precisions, float((error <= RADIUS).mean()), float(np.median(error)), float(sum(gaps) / max(1, len(confidence)))
    )


def frames_of(given: argparse.Namespace) -> Sequence[LabeledFrame]:
    """Return the frames that the options name."""
    if (given.data is None) == (given.synth is None):
        raise UsageError("name frames: either --data FOLDER or --synth CONFIG.toml")
    if given.data is not None:
        return df.open_dataset(given.data)
    config = Config.load(given.synth)
    if given.mocap is not None:
        config = replace(config, mocap=given.mocap)
    return Generator(config, given.seed, n=given.n)


def main(arguments: Sequence[str] | None = None) -> None:
    """Fit, write and judge."""
    about, _, more = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        description=about, epilog=more, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model")
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--data", help="labeled frames with joints: a folder or a Zarr store")
    parser.add_argument("--synth", help="config of synthetic frames")
    parser.add_argument("--mocap", help="where the clips are, if not where the config says")
    parser.add_argument("-n", type=int, default=800, help="synthetic frames")
    parser.add_argument("--seed", type=int, default=77, help="of synthetic frames; not the one of the training frames")
    parser.add_argument("--threads", type=int)
    given = parser.parse_args(arguments)
    try:
        forest, data = df.load(given.model), frames_of(given)
        judged = range(0, len(data), JUDGED_STEP)
        fitted_on = [i for i in range(len(data)) if i % JUDGED_STEP]
        with progress_bar(len(fitted_on)) as tell:
            fitted = fit_joints(forest, SomeFrames(data, fitted_on), threads=given.threads, progress=tell)
        fitted.save(given.output)
        print(f"{given.output}: fitted on {len(fitted_on)} frames")
        for name, each in (("as it was", forest), ("fitted", fitted)):
            result = judge_joints(each, SomeFrames(data, judged), threads=given.threads)
            print(f"  {name}, on {len(judged)} other frames: {result}")
    except DepthForestError as error:
        parser.exit(error.exit_code, f"{error}\n")


if __name__ == "__main__":
    main()
