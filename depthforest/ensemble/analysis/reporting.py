"""One call that shows whether an ensemble was worth it: accuracy, diversity and margins as a table and as plots."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import is_classifier

from depthforest.base import Floats, UsageError
from depthforest.ensemble.analysis import plots
from depthforest.ensemble.analysis.ambiguity import error_ambiguity
from depthforest.ensemble.analysis.biasvariance import zero_one_decomposition
from depthforest.ensemble.analysis.checking import Numbers, as_labels, checked_values, checked_votes, counts_of_votes
from depthforest.ensemble.analysis.margins import breiman_bound, probability_margins, vote_margins
from depthforest.ensemble.analysis.members import (
    each_probabilities,
    has_probabilities,
    known_labels,
    member_predictions,
    members_of,
)
from depthforest.ensemble.analysis.nonpairwise import nonpairwise_diversity
from depthforest.ensemble.analysis.pairwise import mean_of_pairs, pairwise_diversity
from depthforest.ensemble.analysis.retraining import bias_variance_of_groups
from depthforest.ensemble.analysis.voters import majority_error, pooled_correlation

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MIN_GROUPS = 5
"""Least number of groups of members whose variance is drawn."""

GROUP_SIZES = (1, 3, 5, 9, 17, 33, 65, 129)
"""Odd, so that groups of voters have no ties with two classes."""

VOTES_DRAWN = 101
"""Largest number of sizes for which the vote of the first members is drawn."""


@dataclass(frozen=True)
class Row:
    """One line of a report: its group, a name, a value, and its meaning."""

    group: str
    name: str
    value: float
    meaning: str


@dataclass(frozen=True, eq=False)
class Report:
    """The results of the analysis: `print(report)` shows the table, `report.plot()` the plots.

    Parameters
    ----------
    title : str
    rows : list of Row
        Undefined measures are NaN.
    predictions : array (n_members, n_samples)
        Predictions of each member: numbers, or indices into the ensemble's sorted classes.
    y : array (n_samples,)
        True answers, likewise.
    margins : dict
        Margins (n_samples,) by kind; empty for a regressor.
    is_classification : bool
    """

    title: str
    rows: list[Row]
    predictions: Numbers
    y: Numbers
    margins: dict[str, Floats]
    is_classification: bool

    def __str__(self) -> str:
        name_width = max(len(row.name) for row in self.rows)
        lines, group = [self.title], None
        for row in self.rows:
            if row.group != group:
                group = row.group
                lines.append(f"\n{group}")
            lines.append(f"  {row.name:<{name_width}}  {_shown(row.value):>10}  {row.meaning}".rstrip())
        return "\n".join(lines)

    def __getitem__(self, name: str) -> float:
        """Return the value of the row with this name."""
        for row in self.rows:
            if row.name == name:
                return row.value
        raise KeyError(name)

    def to_dict(self) -> dict[str, float | None]:
        """Return the values by name, ready for JSON: None for undefined or infinite measures."""
        return {row.name: row.value if math.isfinite(row.value) else None for row in self.rows}

    def plot(self, path: str | Path | None = None) -> Figure:
        """Draw the plots into one figure, save it if a path is given, and return it."""
        plt = plots.pyplot()
        sizes = [size for size in GROUP_SIZES if len(self.predictions) // size >= MIN_GROUPS]
        drawers = (
            [self._draw_pairs, self._draw_margins, self._draw_votes] if self.is_classification else [self._draw_errors]
        )
        n = len(drawers) + (len(sizes) > 1)
        columns = min(n, 2)
        figure: Figure
        figure, grid = plt.subplots(
            -(-n // columns), columns, figsize=(5 * columns, 4 * -(-n // columns)), layout="constrained", squeeze=False
        )
        panels = grid.ravel()
        for draw, axes in zip(drawers, panels, strict=False):
            draw(axes)
        if len(sizes) > 1:
            curve = bias_variance_of_groups(
                self.predictions, self.y, sizes=sizes, is_classification=self.is_classification
            )
            plots.plot_bias_variance(sizes, curve, ax=panels[len(drawers)])
            panels[len(drawers)].set_title("groups of members: bias and variance")
        for axes in panels[n:]:
            axes.set_axis_off()
        figure.suptitle(self.title, fontsize=11)
        if path is not None:
            figure.savefig(path, dpi=120)
        return figure

    def _draw_pairs(self, axes: Axes) -> None:
        plots.plot_kappa_error(self.predictions, self.y, ax=axes)

    def _draw_margins(self, axes: Axes) -> None:
        plots.plot_margins(self.margins, ax=axes)

    def _draw_votes(self, axes: Axes) -> None:
        error, rho = self["mean member error"], self["correlation of errors"]
        rhos = (0.0, rho) if 0 < rho < 1 else (0.0,)
        plots.plot_voters(error, correlations=rhos, max_voters=len(self.predictions), bound=False, ax=axes)
        sizes, errors, majorities = _errors_of_first(self.predictions, self.y)
        axes.plot(sizes, errors, color=plots.BLACK, label="vote of the first members wrong")
        axes.plot(sizes, majorities, ":", color=plots.BLACK, label="most of the first members wrong")
        axes.set_title(f"voters of error {error:.3g}, and these members")
        plots.finished(axes, legend=True)

    def _draw_errors(self, axes: Axes) -> None:
        values, truth = checked_values(self.predictions, self.y)
        sizes = np.arange(1, len(values) + 1)
        means = np.cumsum(values, axis=0) / sizes[:, None]
        axes.plot(sizes, ((means - truth) ** 2).mean(axis=1), color=plots.BLACK, label="mean of the first members")
        axes.scatter(
            sizes, ((values - truth) ** 2).mean(axis=1), s=12, color=plots.BLUE, alpha=0.6, label="each member alone"
        )
        axes.set(ylim=(0, None), xlabel="members", ylabel="mean squared error", title="members and their mean")
        plots.finished(axes, legend=True)


def report(ensemble: Any, X: Any, y: Any) -> Report:
    """Return a report on a fitted ensemble: how accurate and how diverse its members are.

    Parameters
    ----------
    ensemble : fitted classifier or regressor with `estimators_`
        Ours, scikit-learn's, or any that follows their conventions; at least two members.
    X : array or DataFrame (n_samples, n_features)
        Samples that the ensemble was not trained on: on training samples everything looks better than it is.
    y : array (n_samples,)
        True answers.
    """
    if len(members_of(ensemble)) < 2:
        raise UsageError("an ensemble of one member has no diversity: the analysis needs at least two")
    rows_of_x = X.shape[0] if hasattr(X, "shape") else len(X)
    truth = known_labels(ensemble, y) if is_classifier(ensemble) else np.asarray(y)
    if truth.ndim == 1 and rows_of_x != len(truth):
        raise UsageError(f"X and y must have the same number of rows, got {rows_of_x} and {len(truth)}")
    predictions = member_predictions(ensemble, X)
    title = f"{type(ensemble).__name__}: {len(predictions)} members on {predictions.shape[1]} samples"
    answers = np.asarray(ensemble.predict(X))
    if not is_classifier(ensemble):
        rows = _regression_rows(predictions, truth, answers, getattr(ensemble, "weights_", None))
        return Report(title, rows, predictions, truth, {}, False)
    wrong = float((answers.ravel() != truth).mean())
    margins = {}
    if has_probabilities(ensemble):
        shares = sum(each_probabilities(ensemble, X)) / len(predictions)
        margins["probabilities"] = probability_margins(shares, truth, classes=ensemble.classes_)
    # indices from here on: they suffice for the measures, and compare faster than text
    labels = np.sort(as_labels(np.asarray(ensemble.classes_), "classes_"))
    predictions, truth = np.searchsorted(labels, predictions), np.searchsorted(labels, truth)
    margins = {"votes": vote_margins(predictions, truth), **margins}
    rows = _accuracy_rows(predictions, truth, wrong) + _diversity_rows(predictions, truth)
    return Report(title, rows + _margin_rows(predictions, truth, margins), predictions, truth, margins, True)


def _accuracy_rows(predictions: Numbers, truth: Numbers, ensemble_error: float) -> list[Row]:
    votes = checked_votes(predictions, truth)
    wrong = ~votes.right
    errors = wrong.mean(axis=1)
    parts = zero_one_decomposition(predictions, truth)
    independent = majority_error(len(errors), errors, tie="error")
    named = [
        ("ensemble error", ensemble_error, "share of wrong answers of the ensemble itself"),
        ("vote error", parts.bias, "of the unweighted vote of the members, ties to the lower class: their bias"),
        ("mean member error", float(errors.mean()), "= vote error + net variance"),
        ("best member error", float(errors.min()), ""),
        ("worst member error", float(errors.max()), ""),
        ("net variance", parts.net_variance, "what voting gains: mean member error - vote error"),
        ("half wrong, independent", independent, "half or more wrong, if members with these errors were independent"),
        (
            "half wrong",
            float((2 * wrong.sum(axis=0) >= len(errors)).mean()),
            "half or more of the members wrong, as observed",
        ),
    ]
    return [Row("accuracy", *row) for row in named]


def _diversity_rows(predictions: Numbers, truth: Numbers) -> list[Row]:
    means = pairwise_diversity(predictions, truth).means()
    whole = asdict(nonpairwise_diversity(predictions, truth))
    pooled = pooled_correlation(~checked_votes(predictions, truth).right)
    named = [
        ("Q statistic", means["q_statistic"], "0 independent, 1 right on the same samples"),
        ("correlation", means["correlation"], "of correctness, mean of the pairs"),
        ("correlation of errors", pooled, "all pairs pooled, as the theory of voters has it"),
        ("disagreement", means["disagreement"], "one of the two is right"),
        ("double fault", means["double_fault"], "both are wrong"),
        ("kappa", means["kappa"], "agreement of labels beyond chance"),
    ]
    both = [Row("diversity of pairs (means)", *row) for row in named]
    together = [
        ("entropy", whole["entropy"], "0 all right or all wrong, 1 split in half"),
        ("vote entropy", whole["vote_entropy"], "of the votes over the classes, bits"),
        ("Kohavi-Wolpert variance", whole["kohavi_wolpert"], "of correctness"),
        ("generalised diversity", whole["generalised_diversity"], "1 faults are never shared, 0 all fail together"),
    ]
    return both + [Row("diversity of all", *row) for row in together]


def _margin_rows(predictions: Numbers, truth: Numbers, margins: dict[str, Floats]) -> list[Row]:
    breiman = breiman_bound(predictions, truth)
    named = [
        ("strength", breiman.strength, "mean margin of the votes"),
        ("raw margin correlation", breiman.correlation, "Breiman's"),
        ("Breiman's bound", breiman.bound, "on the error: correlation (1 - strength²) / strength²"),
        ("margins up to 0", float((margins["votes"] <= 0).mean()), "share of samples, by votes"),
    ]
    if "probabilities" in margins:
        named.append(
            ("mean probability margin", float(margins["probabilities"].mean()), "of the averaged probabilities")
        )
    return [Row("margins", *row) for row in named]


def _regression_rows(predictions: Numbers, truth: Numbers, answers: Numbers, weights: Any) -> list[Row]:
    """Return the rows of a regressor; `weights` are those of its members, if it has any."""
    values, target = checked_values(predictions, truth)
    parts = error_ambiguity(values, target, weights=weights)
    errors = values - target
    constant = errors.std(axis=1) == 0
    correlation = mean_of_pairs(np.corrcoef(errors[~constant])) if (~constant).sum() > 1 else math.nan
    accuracy = [
        (
            "ensemble error",
            float(((answers.ravel() - target) ** 2).mean()),
            "mean squared error of the ensemble itself",
        ),
        (
            "error of the mean",
            parts.ensemble_error,
            "of the mean of the members, with the ensemble's weights_ if it has any",
        ),
        ("mean member error", parts.member_error, "= error of the mean + ambiguity"),
        ("best member error", float(parts.member_errors.min()), ""),
        ("worst member error", float(parts.member_errors.max()), ""),
    ]
    diversity = [
        ("ambiguity", parts.ambiguity, "what averaging gains: spread of the members around their mean"),
        ("correlation of errors", correlation, "mean of the pairs"),
    ]
    return [Row("accuracy (squared error)", *row) for row in accuracy] + [Row("diversity", *row) for row in diversity]


def _errors_of_first(predictions: Numbers, truth: Numbers) -> tuple[Numbers, Floats, Floats]:
    """Return odd numbers of members, the error of the vote of that many first members, and how often most are wrong.

    With two classes both errors are equal; with more, most members can be wrong without agreeing.
    """
    votes = checked_votes(predictions, truth)
    n = len(votes.answers)
    sizes = np.unique(np.linspace(0, (n - 1) // 2, min(n, VOTES_DRAWN)).astype(np.int64)) * 2 + 1
    counts = np.zeros((votes.answers.shape[1], votes.n_classes))
    rows = np.arange(len(counts))
    errors, majorities, done = [], [], 0
    for size in sizes.tolist():
        counts += counts_of_votes(votes.answers[done:size], votes.n_classes)
        errors.append(float((counts.argmax(axis=1) != votes.truth).mean()))
        majorities.append(float((2 * counts[rows, votes.truth] < size).mean()))
        done = size
    return sizes, np.array(errors), np.array(majorities)


def _shown(value: float) -> str:
    """Return a number with four significant digits, or a word if it is undefined or infinite."""
    if math.isnan(value):
        return "undefined"
    return "none" if math.isinf(value) else f"{value:.4g}"
