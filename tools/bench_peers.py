"""Compare models, PCL's forest among them, on the frames of the bench.

    python tools/bench_peers.py body31 pcl.safetensors --mocap cmu_bvh -o peers

labels every person of the test sets, with given masks, by one walk and with the mirrored one, and writes peers/peers.md
and peers/peers.json, with a row for each model. Models are names of shipped ones or files; for PCL's trees, the file
written by `import-pcl`. To compare learners on the same pixels and time, use `depthforest compare --bench`.

The result of each model is kept in a file of its own beside them. After an interruption, or with another model, run the
same command again: it only does what is new or changed.

Figures are mean per-class accuracies over all person pixels; times are processor time of one core. The 15 regions use
the rule of marked points (`partmaps`): a band across a joint counts for either neighbor, both as truth and as answer.
Part sets with more bands gain more from this. In the column "one region each", no answer counts for two: every answer
is first mapped to the one region that it mostly lies in, and only the bands of the truth, which are the same for all,
count for either neighbor.
"""

from __future__ import annotations

import argparse
import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from depthforest.base import Bools, UsageError, make_folder, read_bytes, read_json, replacing, write_json
from depthforest.cli.terminal import progress_bar
from depthforest.evaluation import Tally, open_bench, rounded
from depthforest.evaluation.bench import BENCH_VERSION, PARTS, chosen_names
from depthforest.evaluation.judging import ForestJudge
from depthforest.evaluation.options import JudgeOptions
from depthforest.evaluation.partmaps import comparable, merge_sides
from depthforest.evaluation.scores import Counts
from depthforest.evaluation.views import PersonView
from depthforest.forest import Forest, load, shipped_models
from depthforest.frames import BODY31, NO_PART, REGIONS15, Frame, LabeledFrame, PartSet
from depthforest.labeling import Labeling

FORMAT, VERSION = "depthforest-peers", 2
WALKS = {"one walk": False, "mirrored": True}
LEVELS: dict[str, tuple[str, ...]] = {
    "31 parts": BODY31.names,
    "sides merged": merge_sides(BODY31)[0].names,
    "15 regions": REGIONS15.names,
}
"""Figures with intervals: title -> names of the parts that they are computed in."""

ONE_EACH = "one region each"


# -- judging -----------------------------------------------------------------------------------------------------------


class PairJudge(ForestJudge):
    """A judge that also counts pairs of true part and answer, and times each person."""

    def __init__(self, model: Forest, mirror: bool) -> None:
        super().__init__(model, BODY31, JudgeOptions(mirror=mirror, joints=False))
        self.pairs: Counts = np.zeros((len(BODY31), len(model.part_set)), dtype=np.int64)
        self.label_ms: list[float] = []

    def label(self, frame: Frame, mask: Bools, threads: int = 1) -> Labeling:
        """Label a person, and note the processor time, because wall time depends on other programs."""
        began = time.process_time()
        labeling = super().label(frame, mask, threads)
        self.label_ms.append(1000 * (time.process_time() - began))
        return labeling

    def look(self, frame: LabeledFrame, index: int, views: list[PersonView]) -> None:
        """Label every person of a frame, and count."""
        for person in np.unique(frame.people[frame.parts != NO_PART]).tolist():
            mask = frame.people == person
            answer = self.answer(frame, person, mask)
            self.pairs += answer.pairs
            self.add(len(views), answer)
            views.append(PersonView.of(frame, index, person, mask))


def one_region_accuracy(pairs: Counts, answers: PartSet) -> float:
    """Return the mean accuracy over the 15 regions when every answer stands for one region only.

    Parameters
    ----------
    pairs : array (31, n_answers), int64
        How often each true part of `BODY31` got each answer.
    answers : PartSet
        The model's parts; a known set that leads to the 15 regions.
    """
    region = comparable(answers, REGIONS15)[0].rows
    merged: Counts = np.zeros((len(REGIONS15), len(BODY31)), dtype=np.int64)
    np.add.at(merged, region, pairs.T)
    return float(Tally.of(comparable(BODY31, REGIONS15)[0].confusion(merged.T)).mean_class_accuracy)


def judged(
    model: Forest, frames: Sequence[LabeledFrame], mirror: bool, progress: Callable[[int], object]
) -> dict[str, Any]:
    """Return the figures of a model on the frames of a test set, in JSON form."""
    judge, views = PairJudge(model, mirror), list[PersonView]()
    for index in range(len(frames)):
        judge.look(frames[index], index, views)
        progress(1)
    evaluation = judge.evaluation(len(frames), tuple(views), None, 0)
    keys = {scores.level.part_set.names: scores.level.key for scores in evaluation.levels}
    figures = {
        title: evaluation.figures[f"{keys[names]}.mean_class_accuracy"].to_dict()
        for title, names in LEVELS.items()
        if names in keys
    }
    figures[ONE_EACH] = {"value": rounded(one_region_accuracy(judge.pairs, model.part_set))}
    return {
        "figures": figures,
        "label_ms": rounded(float(np.median(judge.label_ms)), 1),
        "pixels": int(judge.pairs.sum()),
    }


# -- models ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Contestant:
    """A model file.

    Parameters
    ----------
    name : str
    sha256 : str
        Hash of the file: figures are kept as long as it stays the same.
    path : Path
    """

    name: str
    sha256: str
    path: Path

    @property
    def file_name(self) -> str:
        """Name of the file with its figures."""
        return f"{self.name.replace(' ', '_')}.json"


def model_contestants(models: Sequence[str]) -> list[Contestant]:
    """Return models by name or file as contestants."""
    found: dict[str, Contestant] = {}
    for model in models:
        path = shipped_models().get(model, Path(model))
        if path.stem in found:
            raise UsageError(f"two models are called {path.stem}; rename a file")
        found[path.stem] = Contestant(path.stem, hashlib.sha256(read_bytes(path, UsageError)).hexdigest(), path)
    return list(found.values())


# -- the run -----------------------------------------------------------------------------------------------------------


def run(
    contestants: Sequence[Contestant],
    sets: Sequence[str],
    output: Path,
    *,
    mocap: str | None = None,
    limit: int | None = None,
) -> list[dict[str, Any]]:
    """Evaluate every contestant on every test set, except for results in the output folder, and write the table.

    Returns
    -------
    list of dict
        The kept content of each contestant, in order.
    """
    make_folder(output)
    benches = {name: open_bench(name, mocap, limit) for name in sets}
    rows = []
    for one in contestants:
        row = kept(output / one.file_name, one, limit)
        missing = [name for name in sets if name not in row["sets"]]
        for name in missing:
            forest = load(one.path)
            bench, walks = benches[name], {}
            say(f"{one.name}: labeling {len(bench)} frames of {name}")
            with progress_bar(len(WALKS) * len(bench)) as progress:
                for walk, mirror in WALKS.items():
                    walks[walk] = judged(forest, bench, mirror, progress)
            row |= {"nodes": forest.n_nodes + forest.n_leaves, "trees": forest.n_trees}
            row["sets"][name] = {"frames": len(bench), "as_committed": bench.is_as_committed, "walks": walks}
            write_json(output / one.file_name, row)
        rows.append(row)
        # after every contestant, so that a long run shows its results so far
        write_json(output / "peers.json", rows)
        with replacing(output / "peers.md") as file:
            file.write("\n".join(table_lines(rows, sets)).encode() + b"\n")
    return rows


def kept(path: Path, one: Contestant, limit: int | None) -> dict[str, Any]:
    """Return a contestant's kept results; empty if they were made with other options."""
    identity = {"sha256": one.sha256, "bench": BENCH_VERSION, "limit": limit}
    empty = {"format": FORMAT, "version": VERSION, "name": one.name, "identity": identity, "sets": {}}
    if not path.exists():
        return empty
    content = read_json(path, UsageError)
    is_same = isinstance(content, dict) and all(content.get(key) == empty[key] for key in empty if key != "sets")
    if not is_same:
        say(f"{one.name}: {path.name} is of another model or other options, and is made again")
    return content if is_same else empty


def table_lines(rows: Sequence[Mapping[str, Any]], sets: Sequence[str]) -> list[str]:
    """Return the Markdown of all test sets: a table each, a line for each contestant and walk."""
    lines: list[str] = []
    for name in sets:
        known = [row for row in rows if name in row["sets"]]
        n_frames = known[0]["sets"][name]["frames"] if known else 0
        titles = ["contestant", "walk", *LEVELS, ONE_EACH, "ms a person", "trees", "nodes"]
        lines += [*([""] if lines else []), f"Test set {name}, {n_frames} frames:", ""]
        lines += [_line(titles), _line(["---"] * len(titles))]
        for row in known:
            for walk, found in row["sets"][name]["walks"].items():
                cells = [_cell(found["figures"].get(title)) for title in (*LEVELS, ONE_EACH)]
                speed = "" if found["label_ms"] is None else f"{found['label_ms']:g}"
                lines.append(_line([row["name"], walk, *cells, speed, str(row["trees"]), f"{row['nodes']:,}"]))
    return lines


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(figure: Mapping[str, float] | None) -> str:
    """Return a figure in percent with its interval, where it has one."""
    if figure is None:
        return ""
    ends = f" ({100 * figure['low']:.1f} to {100 * figure['high']:.1f})" if "low" in figure else ""
    return f"{100 * figure['value']:.1f}{ends}"


def say(text: str) -> None:
    """Print progress immediately."""
    print(text, flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Judge, and write the table."""
    about, _, more = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        description=about, epilog=more, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="+", help="names of shipped models, or model files")
    parser.add_argument("-o", "--output", type=Path, required=True, help="folder for figures and tables")
    parser.add_argument("--bench", nargs="+", default=["mocap"], help="test sets, or all")
    parser.add_argument("--mocap", help="folder of the CMU clips")
    parser.add_argument("--limit", type=int, help="only so many frames of each test set")
    given = parser.parse_args(arguments)
    contestants = model_contestants(given.models)
    sets = chosen_names(given.bench, PARTS)
    rows = run(contestants, sets, given.output, mocap=given.mocap, limit=given.limit)
    print("\n".join(table_lines(rows, sets)))
    print(f"\nin {given.output / 'peers.md'}")


if __name__ == "__main__":
    main()
