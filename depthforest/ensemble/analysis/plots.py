"""The plots of the analysis: kappa and error, margins, bias and variance by size, voters. Imports matplotlib lazily.

Each takes an optional `ax` (default: a new figure) and returns the Axes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from depthforest.base import UsageError
from depthforest.ensemble.analysis.biasvariance import BiasVariance
from depthforest.ensemble.analysis.checking import checked_votes, whole_number
from depthforest.ensemble.analysis.margins import margin_distribution
from depthforest.ensemble.analysis.pairwise import pairwise_diversity
from depthforest.ensemble.analysis.voters import hoeffding_bound, majority_error

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# distinguishable with color vision deficiency (Okabe and Ito)
BLUE, ORANGE, GREEN, PURPLE, BLACK = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000"
COLORS = (BLUE, ORANGE, GREEN, PURPLE, BLACK)
STYLES = ("-", "--", "-.", ":")

MAX_POINTS = 2000
"""Pairs that are drawn, because more would hide each other; the mean is over all pairs."""

NARROW_SIZES = 12
"""Up to this many sizes get their own ticks."""


def plot_kappa_error(predictions: Any, y: Any, *, label: str | None = None, ax: Axes | None = None) -> Axes:
    """Draw the kappa-error diagram [1]_: agreement (kappa) and mean error of each pair of members.

    Low is accurate, left is diverse. Several ensembles can be drawn into one Axes, with a label each.

    Parameters
    ----------
    predictions : array (n_members, n_samples)
        Labels predicted by each member; for a fitted ensemble, `member_predictions(ensemble, X)`.
    y : array (n_samples,)
        True labels.

    References
    ----------
    .. [1] D. D. Margineantu, T. G. Dietterich, "Pruning adaptive boosting", Proceedings of the 14th International
       Conference on Machine Learning (1997), 211-218.
    """
    votes = checked_votes(predictions, y)
    errors = 1 - votes.right.mean(axis=1)
    first, second = np.triu_indices(len(errors), k=1)
    kappas = pairwise_diversity(predictions, y).kappa[first, second]
    pair_errors = (errors[first] + errors[second]) / 2
    step = -(-len(kappas) // MAX_POINTS)
    axes = _axes(ax)
    color = COLORS[len(axes.collections) // 2 % len(COLORS)]  # two collections for each ensemble: pairs and mean
    axes.scatter(kappas[::step], pair_errors[::step], s=9, color=color, alpha=0.25, linewidths=0, rasterized=True)
    middle = [np.nanmean(kappas)] if not np.isnan(kappas).all() else [np.nan]
    axes.scatter(middle, [pair_errors.mean()], s=90, marker="X", color=color, edgecolors="white", label=label, zorder=3)
    axes.set(xlabel="kappa of the pair (left: diverse)", ylabel="mean error of the pair (low: accurate)")
    axes.set_title("pairs of members")
    return finished(axes, legend=label is not None)


def plot_margins(margins: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the cumulative distribution of margins: the share of samples with at most each margin. Below 0 is wrong.

    Parameters
    ----------
    margins : array (n_samples,), or mapping of names to such arrays
    """
    named: Mapping[str | None, Any] = margins if isinstance(margins, Mapping) else {None: margins}
    if not named:
        raise UsageError("margins is empty: give an array or a mapping of names to arrays")
    axes = _axes(ax)
    for index, (name, values) in enumerate(named.items()):
        at, shares = margin_distribution(values)
        color = COLORS[index % len(COLORS)]
        style = STYLES[index % len(STYLES)]  # identical curves stay visible under each other
        axes.step([-1, *at, 1], [0, *shares, 1], style, where="post", color=color, label=name)
    axes.axvline(0, color="0.6", linewidth=0.8, zorder=0)
    axes.set(xlim=(-1.02, 1.02), ylim=(0, 1.02), xlabel="margin", ylabel="share of samples up to it")
    axes.set_title("margins")
    return finished(axes, legend=None not in named)


def plot_bias_variance(sizes: Sequence[int], decompositions: Sequence[BiasVariance], *, ax: Axes | None = None) -> Axes:
    """Draw error, bias and variance against the size of an ensemble.

    Parameters
    ----------
    sizes : sequence of int
        Numbers of members.
    decompositions : sequence of BiasVariance
        One for each size: the result of `bias_variance_by_size` or `bias_variance_of_groups` for these sizes.
    """
    if len(sizes) != len(decompositions) or not len(sizes):
        raise UsageError(f"expected a decomposition for each size, got {len(decompositions)} for {len(sizes)} sizes")
    losses = {one.loss for one in decompositions}
    if len(losses) > 1:
        raise UsageError("the decompositions have different losses: draw them separately")
    squared = losses == {"squared"}
    lines = [
        ("error", [one.error for one in decompositions], BLACK, "o-"),
        ("bias²" if squared else "bias", [one.bias for one in decompositions], ORANGE, "s-"),
        ("variance" if squared else "net variance", [one.net_variance for one in decompositions], BLUE, "^-"),
    ]
    if any(one.noise for one in decompositions):
        lines.append(("noise" if squared else "net noise", [one.net_noise for one in decompositions], GREEN, "d-"))
    axes = _axes(ax)
    for name, values, color, style in lines:
        axes.plot(sizes, values, style, color=color, label=name, markersize=4)
    axes.axhline(0, color="0.6", linewidth=0.8, zorder=0)
    axes.set_xscale("log")
    if len(sizes) <= NARROW_SIZES:
        axes.set_xticks(sizes, [str(size) for size in sizes])
        axes.minorticks_off()
    axes.set(xlabel="members", ylabel="squared error" if squared else "share of samples")
    axes.set_title("bias and variance")
    return finished(axes, legend=True)


def plot_voters(
    error: float,
    *,
    correlations: Sequence[float] = (0.0,),
    max_voters: int = 51,
    bound: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw the exact error of the majority against the number of voters (odd numbers only).

    Parameters
    ----------
    error : float
        Error of one voter.
    correlations : sequence of float
        Correlation of two voters; a curve for each, none below 0 (the lowest possible one rises with the number of
        voters).
    max_voters : int
    bound : bool
        Whether to draw Hoeffding's bound for independent voters, too, if the error is below 1/2.
    """
    if any(correlation < 0 for correlation in correlations):
        raise UsageError(f"the correlations of this plot must not be negative, got {min(correlations):g}")
    sizes = np.arange(1, whole_number(max_voters, "max_voters", least=1) + 1, 2).tolist()
    axes = _axes(ax)
    for index, rho in enumerate(correlations):
        values = [majority_error(size, error, correlation=rho) for size in sizes]
        name = "independent" if rho == 0 else f"correlation {rho:.2g}"
        axes.plot(sizes, values, "o-", color=COLORS[index % len(COLORS)], label=name, markersize=3)
    if bound and error < 0.5:
        bounds = [hoeffding_bound(size, error) for size in sizes]
        axes.plot(sizes, bounds, "--", color="0.5", label="bound, independent")
    axes.set(ylim=(0, None), xlabel="voters", ylabel="error of the majority")
    axes.set_title(f"majority of voters with error {error:.3g}")
    return finished(axes, legend=True)


def _axes(ax: Axes | None) -> Axes:
    """Return the given Axes, or that of a new figure."""
    if ax is not None:
        return ax
    made: Axes = pyplot().subplots(figsize=(5, 4), layout="constrained")[1]
    return made


def pyplot() -> Any:
    """Return matplotlib's pyplot, or raise an error that says how to install it."""
    try:
        from matplotlib import pyplot as plt
    except ImportError:
        raise UsageError("plots need matplotlib, which is not installed: run pip install matplotlib") from None
    return plt


def finished(axes: Axes, *, legend: bool) -> Axes:
    """Give an Axes the common look of all plots of the analysis."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="0.92", linewidth=0.8)
    axes.set_axisbelow(True)
    if legend:
        axes.legend(frameon=False, fontsize=9)
    return axes
