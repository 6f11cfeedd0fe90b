"""Progress: news of a training run, and how much longer it will take."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from depthforest.base import counted


@dataclass(frozen=True)
class Progress:
    """News of a training run.

    Parameters
    ----------
    event : "reading", "level", "tree", "finished" or "note"
        The frames of a tree are being read, a level was grown, a tree is done, the checkpoint already has the whole
        forest, or there is a note.
    tree, n_trees : int
        From 0.
    level, depth : int
        From 0.
    n_nodes, n_splits : int
        Nodes that were tried, and those that were split.
    n_pixels, n_evaluations : int
        Training pixels of those nodes; pixels times candidates.
    seconds : float
        Time that this level or tree took.
    gain : float
        Mean gain of the splits, weighted by pixels: bits, or gini impurity.
    out_of_bag : float or None
        Mean per-class accuracy of the tree so far on frames that it has not seen.
    forest_out_of_bag : float or None
        The same for all finished trees together, each frame by those that have not seen it; with "tree" and "finished".
    seconds_left : float or None
        An estimate for all trees, see `Outlook`; with "level" and "tree".
    text : str
        Text of a note, or of what is being read.
    """

    event: str
    tree: int
    n_trees: int
    level: int
    depth: int
    n_nodes: int = 0
    n_splits: int = 0
    n_pixels: int = 0
    n_evaluations: int = 0
    seconds: float = 0.0
    gain: float = 0.0
    out_of_bag: float | None = None
    forest_out_of_bag: float | None = None
    seconds_left: float | None = None
    text: str = ""

    @property
    def rate(self) -> float:
        """Candidate evaluations per second."""
        return self.n_evaluations / self.seconds if self.seconds > 0 else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return a line of the log: all fields that have a value, and the rate."""
        fields = {key: value for key, value in asdict(self).items() if value not in (None, "")}
        return fields | ({"rate": self.rate} if self.event == "level" else {})

    def __str__(self) -> str:
        name = f"tree {self.tree + 1} of {self.n_trees}"
        left = "" if self.seconds_left is None else f", {shown_time(self.seconds_left)} left"
        if self.event == "note":
            return self.text
        if self.event == "reading":
            return f"{name}: {self.text}"
        if self.event == "finished":
            return f"all {self.n_trees} trees are finished already"
        if self.event == "tree":
            accuracies = _percent("out-of-bag accuracy", self.out_of_bag) + _percent("forest", self.forest_out_of_bag)
            return f"{name}: done{accuracies}{left}"
        figures = f"{counted(self.n_nodes, 'nodes')}, {self.n_splits} split, {self.rate / 1e6:.1f} M evaluations/s"
        accuracy = _percent("out-of-bag accuracy", self.out_of_bag)
        return f"{name}, level {self.level} of {self.depth}: {figures}, gain {self.gain:.3f}{accuracy}{left}"


class Outlook:
    """How long the rest of a run will take, from the remaining evaluations and the measured rate.

    A level needs (pixels of nodes that are tried) x candidates. In the current tree, the pixels of each future level
    are assumed to shrink by the same factor as at the last level, and never to grow. So the first levels predict pixels
    x candidates x levels left, the upper bound, and the estimate falls as branches end. Each future tree is assumed to
    need as much as the finished ones on average, or as the current one will. The rate is that of all levels of this
    run; reading the frames of a tree and evaluating it are assumed to take as long as so far.

    Parameters
    ----------
    n_trees, depth : int
        Size of the forest.
    n_finished : int
        Trees finished by an earlier run.
    """

    def __init__(self, n_trees: int, depth: int, n_finished: int = 0) -> None:
        self._depth = depth
        self._n_to_come = n_trees - n_finished
        self._done: list[float] = []  # evaluations of each tree that was grown entirely in this run
        self._evaluations = self._seconds = self._other_seconds = 0.0
        self._n_overheads = 0
        self._first_level = self._tree_evaluations = self._tree_left = 0.0
        self._n_pixels = 0

    def start_tree(self, level: int, seconds: float) -> None:
        """Note that a tree starts growing at a level (above 0 if an earlier run began it), after `seconds` of setup."""
        self._n_to_come -= 1
        self._first_level, self._tree_evaluations, self._tree_left, self._n_pixels = level, 0.0, 0.0, 0
        self._other_seconds += seconds
        self._n_overheads += 1

    def add_level(self, level: int, n_pixels: int, n_evaluations: int, seconds: float, *, is_last: bool) -> None:
        """Note the cost of a level, counted from 0."""
        self._evaluations += n_evaluations
        self._seconds += seconds
        self._tree_evaluations += n_evaluations
        ratio = min(1.0, n_pixels / self._n_pixels) if self._n_pixels else 1.0
        self._n_pixels = n_pixels
        n_levels = 0 if is_last else max(0, self._depth - level - 1)
        self._tree_left = n_evaluations * math.fsum(ratio**k for k in range(1, n_levels + 1))

    def end_tree(self, seconds: float) -> None:
        """Note that the current tree is finished, after `seconds` of final work."""
        self._other_seconds += seconds
        self._tree_left = 0.0
        if self._first_level == 0:
            self._done.append(self._tree_evaluations)

    def seconds_left(self) -> float | None:
        """Return the estimate, or None before anything was measured."""
        if self._seconds <= 0 or self._evaluations <= 0:
            return None
        one_tree = math.fsum(self._done) / len(self._done) if self._done else self._tree_evaluations + self._tree_left
        left = self._tree_left + self._n_to_come * one_tree
        return left * self._seconds / self._evaluations + self._n_to_come * self._other_seconds / self._n_overheads


def shown_time(seconds: float) -> str:
    """Return a time as text with at most two units."""
    whole = math.ceil(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s" if whole < 600 else f"{whole // 60} min"
    minutes = whole // 60
    return f"{minutes // 60} h {minutes % 60} min"


def _percent(name: str, value: float | None) -> str:
    return "" if value is None else f", {name} {value:.1%}"
