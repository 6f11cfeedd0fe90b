"""Which answers of a model are correct for the parts of a data set: by name, and in coarser sets that both map to.

A `ComparisonLevel` is a part set in which truth and answers can be counted. The finest comes first, then the 15
regions; a set with sides is followed by itself with left and right merged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from depthforest.base import UsageError
from depthforest.evaluation.scores import Counts
from depthforest.frames import BODY31_TO_PCL25, BODY31_TO_REGIONS15, PCL25_TO_REGIONS15, REGIONS15, Grouping, PartSet

GROUPINGS = (BODY31_TO_PCL25, BODY31_TO_REGIONS15, PCL25_TO_REGIONS15)
"""The known maps between part sets, finest target first."""

PARTS, REGIONS = "parts", "regions"
MERGED = "_merged"


@dataclass(frozen=True, eq=False)
class ComparisonLevel:
    """A part set in which a model's answers are counted against the truth.

    Parameters
    ----------
    key : str
        "parts", "regions", or one of them with "_merged".
    title : str
        Title for people to read.
    part_set : PartSet
    rows : array (n_true,), int64
        The class of each true part.
    columns : array (n_true, n_answers), int64
        The class that an answer counts as, for each true part. In a coarse set, a joint band counts for either
        neighbor, both as truth and as answer: a shoulder lies across the upper arm and the torso.
    """

    key: str
    title: str
    part_set: PartSet
    rows: Counts
    columns: Counts

    def confusion(self, pairs: Counts) -> Counts:
        """Return the confusion matrix (n, n) of counts (n_true, n_answers) of true parts and answers."""
        n = len(self.part_set)
        cells = (self.rows[:, None] * n + self.columns).ravel()
        # whole numbers in float64, exact below 2^53
        return np.bincount(cells, weights=pairs.ravel(), minlength=n * n).astype(np.int64).reshape(n, n)

    @property
    def is_right(self) -> npt.NDArray[np.bool_]:
        """Array (n_true, n_answers): whether an answer is correct for a true part."""
        return np.asarray(self.rows[:, None] == self.columns)

    def merged(self) -> ComparisonLevel | None:
        """Return the level with left and right merged, or None if the set has no sides."""
        part_set, group = merge_sides(self.part_set)
        if len(part_set) == len(self.part_set):
            return None
        title = f"{self.title}, sides merged"
        return ComparisonLevel(self.key + MERGED, title, part_set, group[self.rows], group[self.columns])


def comparable(
    truth: PartSet, answers: PartSet, groupings: Sequence[Grouping] = GROUPINGS
) -> tuple[ComparisonLevel, ...]:
    """Return the levels, finest first, at which answers in one part set can be compared with truth in another.

    Parameters
    ----------
    truth, answers : PartSet
        Part sets of the data and of the model. Either the model has all names of the data, or a grouping maps one to
        the other, or both to a third.
    groupings : sequence of Grouping
        The maps to use.
    """
    finest = _by_name(truth, answers) or _by_grouping(truth, answers, groupings)
    if finest is None:
        unknown = [name for name in truth.names if name not in answers.names]
        more = f" and {len(unknown) - 3} more" if len(unknown) > 3 else ""
        raise UsageError(
            f"the model lacks the parts {', '.join(unknown[:3])}{more} of the data, and no grouping maps them to "
            f"its own ({', '.join(answers.names[:3])}{', ...' if len(answers) > 3 else ''}); evaluate on other data"
        )
    levels = [finest]
    if finest.part_set.names != REGIONS15.names:
        coarse = _through(truth, answers, REGIONS15, groupings, REGIONS)
        levels += [coarse] if coarse is not None else []
    return tuple(level for fine in levels for level in (fine, fine.merged()) if level is not None)


def _by_name(truth: PartSet, answers: PartSet) -> ComparisonLevel | None:
    """Return the level of the model's own set if it has all names of the data."""
    if not set(truth.names) <= set(answers.names):
        return None
    rows = np.array([answers.index(name) for name in truth.names])
    columns = np.broadcast_to(np.arange(len(answers)), (len(truth), len(answers)))
    return ComparisonLevel(PARTS, _title(answers), answers, rows, columns)


def _by_grouping(truth: PartSet, answers: PartSet, groupings: Sequence[Grouping]) -> ComparisonLevel | None:
    targets = [answers, truth, *(g.target for g in groupings)]
    return next((found for t in targets if (found := _through(truth, answers, t, groupings, PARTS)) is not None), None)


def _through(
    truth: PartSet, answers: PartSet, target: PartSet, groupings: Sequence[Grouping], key: str
) -> ComparisonLevel | None:
    """Return the level of a coarse set that truth and answers both map to."""
    own, table = _table(truth, target, groupings), _table(answers, target, groupings)
    if own is None or table is None:
        return None
    is_right = _accepts(truth, target, groupings)[:, table] | _accepts(answers, target, groupings)[:, own].T
    # an accepted answer counts as the true part's own class, so that class sizes do not depend on the answers
    return ComparisonLevel(key, _title(target), target, own, np.where(is_right, own[:, None], table[None, :]))


def _table(source: PartSet, target: PartSet, groupings: Sequence[Grouping]) -> Counts | None:
    """Return the coarse label of each part of a set, or None if no grouping maps there."""
    if set(source.names) <= set(target.names):
        return np.array([target.index(name) for name in source.names])
    for grouping in groupings:
        if set(source.names) <= set(grouping.source.names) and grouping.target.names == target.names:
            return np.array([target.index(grouping.groups[name][0]) for name in source.names])
    return None


def _accepts(source: PartSet, target: PartSet, groupings: Sequence[Grouping]) -> npt.NDArray[np.bool_]:
    """Return (n_source, n_target): the coarse parts that each part counts for; a grouping must map there."""
    table = _table(source, target, groupings)
    assert table is not None
    accepts = np.asarray(table[:, None] == np.arange(len(target)))
    for grouping in groupings:
        if set(source.names) <= set(grouping.source.names) and grouping.target.names == target.names:
            accepts |= grouping.accepts[[grouping.source.index(name) for name in source.names]]
    return accepts


def merge_sides(part_set: PartSet) -> tuple[PartSet, Counts]:
    """Return a part set with left and right merged, and the merged label of each part.

    A pair gets the name that both share: `hand` for `hand_l` and `hand_r`, `foot` for `Lfoot` and `Rfoot`.
    """
    pairs = [tuple(sorted({label, mirrored})) for label, mirrored in enumerate(part_set.mirror)]
    kept = sorted(set(pairs))
    names = [_shared_name([part_set.names[label] for label in pair]) for pair in kept]
    if len(set(names)) < len(names):
        names = [" / ".join(part_set.names[label] for label in pair) for pair in kept]
    merged = PartSet(tuple(names), tuple(part_set.colors[pair[0]] for pair in kept), tuple(range(len(kept))))
    return merged, np.array([kept.index(pair) for pair in pairs])


def _shared_name(names: list[str]) -> str:
    if len(names) == 1:
        return names[0]
    first, second = names
    odd = [i for i, (a, b) in enumerate(zip(first, second, strict=False)) if a != b]
    if len(first) != len(second) or len(odd) != 1 or {first[odd[0]].lower(), second[odd[0]].lower()} != {"l", "r"}:
        return f"{first} / {second}"
    return (first[: odd[0]] + first[odd[0] + 1 :]).strip("_ ") or f"{first} / {second}"


def _title(part_set: PartSet) -> str:
    what = "regions" if part_set.names == REGIONS15.names else "parts"
    return f"{len(part_set)} {what}"
