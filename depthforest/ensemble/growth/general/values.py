"""Values: the predictions of the nodes of a grown tree: shares of classes, means or medians, within their bounds.

Kernels check nothing.
"""

from __future__ import annotations

import numpy as np

from depthforest.base import Floats, Ints, bare
from depthforest.ensemble.growth.general.growing import LOWER, UPPER, VALUE, bound_children
from depthforest.ensemble.growth.general.medians import MedianMemory, node_loss, rank_rows
from depthforest.ensemble.growth.general.objective import ABSOLUTE_ERROR, Objective, Signs, is_class
from depthforest.ensemble.growth.memory import SplitMemory
from depthforest.ensemble.growth.tables import LEAF


@bare
def fill_nodes(
    objective: Objective, ids: Ints, begins: Ints, counts: Ints, split: SplitMemory, medians: MedianMemory, out: Floats
) -> None:
    """Fill in the predictions of nodes, `out` (n_nodes, n_channels); `objective.truth` holds the original targets.

    Means are computed relative to one of the targets, so that small ones are not lost next to large ones of other
    leaves.
    """
    of_classes, n_targets = is_class(objective), objective.truth.shape[1]
    for node in range(len(begins)):
        begin, n = np.int64(begins[node]), np.int64(counts[node])
        weight = 0.0
        for i in range(begin, begin + n):
            weight += objective.weights[ids[i]]
        for t in range(n_targets):
            if objective.kind == ABSOLUTE_ERROR:
                rank_rows(objective, ids, begin, n, t, split.places, split.ints, medians)
                _, median = node_loss(objective, ids, begin, n, t, weight, split.ints, medians)
                out[node, t] = median
                continue
            first = objective.starts[t]
            for c in range(first, objective.starts[t + 1]):
                out[node, c] = 0.0
            base = 0.0 if of_classes else objective.truth[ids[begin], t]
            for i in range(begin, begin + n):
                value = objective.truth[ids[i], t]
                if of_classes:
                    out[node, first + np.int64(value)] += objective.weights[ids[i]] / weight
                else:
                    out[node, first] += objective.weights[ids[i]] / weight * (value - base)
            out[node, first] += base


@bare
def clip_nodes(of_classes: bool, signs: Signs, feature: Ints, child: Ints, bounds: Floats, out: Floats) -> None:
    """Clip the predictions of nodes to the bounds of constraints; `bounds` (n_nodes, 3) is filled on the way."""
    bounds[0, LOWER], bounds[0, UPPER] = -np.inf, np.inf
    channel = 1 if of_classes else 0
    for node in range(len(feature)):
        bounds[node, VALUE] = out[node, channel]
    for node in range(len(feature)):
        if feature[node] != LEAF:
            bound_children(signs[feature[node]], node, np.int64(child[node]), bounds)
        out[node, channel] = min(max(out[node, channel], bounds[node, LOWER]), bounds[node, UPPER])
        if of_classes:
            out[node, 0] = 1.0 - out[node, 1]
