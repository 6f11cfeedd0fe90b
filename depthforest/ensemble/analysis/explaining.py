"""Explanations: the contribution of each column to a prediction of our trees (exact TreeSHAP), and plots.

`tree.shapley` computes them for one tree; the Shapley values of a sum of trees are the sums of theirs.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from depthforest.base import Floats, Singles, UsageError, is_whole
from depthforest.ensemble.analysis import plots
from depthforest.ensemble.fitting import job_count
from depthforest.ensemble.tree import Tree, check_one_target, predict_table, shapley_values

if TYPE_CHECKING:
    from matplotlib.axes import Axes

N_SHOWN = 10
"""Columns that a plot shows; the others are merged or left out."""


@dataclass(frozen=True, eq=False)
class Explanation:
    """The contribution of each column to each prediction: `base_values` plus the sum over columns is the prediction.

    Attributes
    ----------
    values : (n, n_features) or (n, n_features, n_outputs) float64
        Contributions, in the unit of `explains`.
    base_values : float or (n_outputs,) float64
        The prediction without knowledge of any column: the weighted mean over the training rows.
    data : (n, n_features) float32
        The rows; categories as numbers.
    feature_names : list of str
    explains : str
        The explained method: "predict", "predict_proba" or "decision_function".
    """

    values: Floats
    base_values: Any
    data: Singles
    feature_names: list[str]
    explains: str

    def of(self, output: int) -> Explanation:
        """Return the explanation of one output, for example of a class, by its index."""
        if self.values.ndim == 2:
            raise UsageError("there is only one output: leave `output` out")
        if not is_whole(output) or not 0 <= output < self.values.shape[2]:
            raise UsageError(f"output must be a whole number from 0 to {self.values.shape[2] - 1}, got {output!r}")
        base = float(self.base_values[output])
        return Explanation(self.values[:, :, output], base, self.data, self.feature_names, self.explains)

    def _one(self, output: int | None) -> Explanation:
        if output is None and self.values.ndim == 3:
            raise UsageError(f"there are {self.values.shape[2]} outputs: choose one, output=0 for the first")
        return self if output is None else self.of(output)

    def plot_bar(self, path: str | Path | None = None, *, output: int | None = None, ax: Axes | None = None) -> Axes:
        """Draw the mean absolute contribution of each column, the largest on top; return the Axes."""
        own = self._one(output)
        sizes = np.abs(own.values).mean(axis=0)
        order = np.argsort(sizes, kind="stable")[-N_SHOWN:]
        axes = _axes(ax)
        axes.barh(np.arange(len(order)), sizes[order], color=plots.BLUE)
        _name_rows(axes, [own.feature_names[f] for f in order], f"mean |contribution to {own.explains}|")
        return _saved(axes, path)

    def plot_beeswarm(
        self, path: str | Path | None = None, *, output: int | None = None, ax: Axes | None = None
    ) -> Axes:
        """Draw a point for each row and column: its contribution, colored by the column's value; return the Axes."""
        own = self._one(output)
        order = np.argsort(np.abs(own.values).mean(axis=0), kind="stable")[-N_SHOWN:]
        axes = _axes(ax)
        rng = np.random.default_rng(0)
        for place, f in enumerate(order):
            ranks = np.argsort(np.argsort(own.data[:, f], kind="stable")) / max(len(own.data) - 1, 1)
            away = rng.uniform(-0.3, 0.3, len(own.data))
            axes.scatter(own.values[:, f], place + away, c=ranks, cmap="cividis", s=8, linewidths=0)
        axes.axvline(0.0, color=plots.BLACK, linewidth=0.8)
        _name_rows(axes, [own.feature_names[f] for f in order], f"contribution to {own.explains} (bright: high values)")
        return _saved(axes, path)

    def plot_waterfall(
        self, row: int, path: str | Path | None = None, *, output: int | None = None, ax: Axes | None = None
    ) -> Axes:
        """Draw how the columns of one row lead from the base value to the prediction; return the Axes."""
        own = self._one(output)
        if not is_whole(row) or not 0 <= row < len(own.values):
            raise UsageError(f"row must be a whole number from 0 to {len(own.values) - 1}, got {row!r}")
        parts = own.values[row]
        order = np.argsort(np.abs(parts), kind="stable")
        few, most = order[: max(len(order) - N_SHOWN, 0)], order[max(len(order) - N_SHOWN, 0) :]
        names = [f"{own.feature_names[f]} = {own.data[row, f]:g}" for f in most]
        amounts = parts[most]
        if len(few):
            names, amounts = [f"{len(few)} others", *names], np.append(parts[few].sum(), amounts)
        starts = own.base_values + np.concatenate(([0.0], np.cumsum(amounts)[:-1]))
        axes = _axes(ax)
        colors = [plots.ORANGE if amount < 0 else plots.BLUE for amount in amounts]
        axes.barh(np.arange(len(amounts)), amounts, left=starts, color=colors)
        for where in (own.base_values, own.base_values + parts.sum()):
            axes.axvline(where, color=plots.BLACK, linewidth=0.8, linestyle="--")
        _name_rows(axes, names, f"{own.explains}, from the base value to the prediction")
        return _saved(axes, path)


def shap_values(estimator: Any, X: Any) -> Explanation:
    """Return exact SHAP values of a fitted tree, forest or boosted ensemble (path-dependent TreeSHAP).

    Parameters
    ----------
    estimator
        `DecisionTree*`, `ExtraTree*`, `RandomForest*`, `ExtraTrees*`, `GradientBoosting*`, `NewtonBoosting*` or
        `LambdaMART`. Its own `n_jobs` sets the number of threads.
    X : (n, n_features) array, sparse matrix or DataFrame
        Rows to explain.

    Returns
    -------
    Explanation
        Of `predict_proba` for classification trees and forests, of `decision_function` for boosted classifiers, else of
        `predict` (of a ranker without base scores).
    """
    trees, start, is_mean = _trees_of(estimator)
    table = predict_table(estimator, X)[:]  # dense, because every cell has a value
    n_outputs = len(start) if start is not None else trees[0].n_outputs
    threads = job_count(getattr(estimator, "n_jobs", None), in_threads=True)
    by_turns = 1 if start is None else n_outputs
    values = shapley_values(trees, table, n_columns=n_outputs, by_turns=by_turns, threads=threads)
    base = np.zeros(n_outputs) if start is None else np.array(start, dtype=np.float64)
    for t, tree in enumerate(trees):
        base[slice(None) if start is None else t % n_outputs] += (
            tree.value[0, 0] if start is None else tree.value[0, 0, 0]
        )
    if is_mean:
        values /= len(trees)
        base /= len(trees)
    is_flat = n_outputs == 1 and (start is not None or trees[0].n_shared == 0)
    explains = "predict"
    if hasattr(estimator, "classes_"):
        explains = "predict_proba" if start is None else "decision_function"
    names = getattr(estimator, "feature_names_in_", None)
    names = [f"x{f}" for f in range(table.shape[1])] if names is None else [str(name) for name in names]
    return Explanation(
        values[:, :, 0] if is_flat else values, float(base[0]) if is_flat else base, table, names, explains
    )


def _trees_of(estimator: Any) -> tuple[list[Tree], Floats | None, bool]:
    """Return the trees, the raw values that boosting starts from, and whether to average the trees."""
    is_known = hasattr(estimator, "_layout") and hasattr(estimator, "_stored_trees")
    if not is_known or hasattr(estimator, "estimator_weights_"):
        raise UsageError(
            f"SHAP values need a tree, forest or boosting of depthforest.ensemble, got {type(estimator).__name__}"
        )
    check_is_fitted(estimator)
    if hasattr(estimator, "start_"):
        if hasattr(estimator, "init_") or estimator._has_base_margin:
            raise UsageError(
                f"SHAP values explain trees only, but this {type(estimator).__name__} starts from init or base_margin"
            )
        return list(estimator.trees_), estimator.start_, False
    is_one = hasattr(estimator, "tree_")
    trees = [estimator.tree_] if is_one else list(estimator.trees_)
    check_one_target(trees[0], "shap_values")
    return trees, None, not is_one


def _axes(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    new: Axes = plots.pyplot().subplots(figsize=(6, 4), layout="constrained")[1]
    return new


def _name_rows(axes: Axes, names: list[str], label: str) -> None:
    axes.set_yticks(np.arange(len(names)), names)
    axes.set_xlabel(label)
    axes.spines[["top", "right"]].set_visible(False)


def _saved(axes: Axes, path: str | Path | None) -> Axes:
    if path is not None:
        figure: Any = axes.figure
        figure.savefig(path, dpi=120)
    return axes
