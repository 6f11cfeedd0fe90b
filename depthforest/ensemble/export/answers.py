"""Answers: the predictions of each kind of estimator, as a part of a graph.

A classifier answers with the share of each class and the index of the winning class; a regressor with a number. Every
function follows the `predict` of its estimator, with the operations in the same order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from depthforest.base import UsageError
from depthforest.ensemble.adaboost import AdaBoostClassifier, AdaBoostRegressor
from depthforest.ensemble.bagging import DiverseEnsembleClassifier, DiverseEnsembleRegressor
from depthforest.ensemble.boosting import BaseBoosting
from depthforest.ensemble.combining import AveragingRegressor, VotingClassifier
from depthforest.ensemble.export.graphs import Graph, RowTable
from depthforest.ensemble.export.treenodes import check_categories, leaf_numbers
from depthforest.ensemble.forests import RandomForestClassifier, RandomForestRegressor
from depthforest.ensemble.ranking import LambdaMART
from depthforest.ensemble.tree import DecisionTreeClassifier, DecisionTreeRegressor, Tree

SHARE_SCALE = 1e12
"""Shares of votes are rounded to multiples of 1 / this before they are compared, as in `combining`."""

_CLASS_TREES, _NUMBER_TREES = (
    (DecisionTreeClassifier, RandomForestClassifier),
    (
        DecisionTreeRegressor,
        RandomForestRegressor,
    ),
)


@dataclass(frozen=True)
class ClassAnswer:
    """The answer of a classifier.

    Attributes
    ----------
    winner : str
        (n,) int64, the index of the class.
    shares : str or None
        (n, n_classes) double; None if the estimator has no probabilities.
    """

    winner: str
    shares: str | None


def class_answer(graph: Graph, table: RowTable, estimator: Any) -> ClassAnswer:
    """Add a classifier to the graph."""
    if isinstance(estimator, _CLASS_TREES):
        shares = _mean_of_trees(graph, table, estimator)
        return ClassAnswer(_first_largest(graph, shares), shares)
    if isinstance(estimator, BaseBoosting):
        return _boosted_classes(graph, table, estimator)
    if isinstance(estimator, AdaBoostClassifier):
        return _adaboost(graph, table, estimator)
    if isinstance(estimator, DiverseEnsembleClassifier):
        return _bagged_classes(graph, table, estimator)
    if isinstance(estimator, VotingClassifier):
        return _votes(graph, table, estimator)
    raise UsageError(cannot_be_exported(estimator))


def number_answer(graph: Graph, table: RowTable, estimator: Any) -> str:
    """Add a regressor or ranker to the graph, and return its prediction, (n,) double."""
    if isinstance(estimator, _NUMBER_TREES):
        return graph.column(_mean_of_trees(graph, table, estimator), 0)
    if isinstance(estimator, BaseBoosting):
        if isinstance(estimator, LambdaMART) and estimator._has_base_scores:
            raise UsageError("LambdaMART fitted with base_scores cannot be exported: its trees only correct them")
        number = graph.column(_raw(graph, table, estimator), 0)
        return graph.add("Exp", number) if estimator._loss.is_logarithm else number
    if isinstance(estimator, AdaBoostRegressor):
        return _weighted_median(graph, table, estimator)
    if isinstance(estimator, DiverseEnsembleRegressor):
        answers = [number_answer(graph, its, member) for member, its in _members(graph, table, estimator)]
        return graph.add("Div", _sum(graph, answers), graph.constant(np.float64(len(answers))))
    if isinstance(estimator, AveragingRegressor):
        answers = [number_answer(graph, table, member) for member in estimator.estimators_]
        weighed = [
            graph.add("Mul", answer, graph.constant(np.float64(weight)))
            for answer, weight in zip(answers, estimator.weights_, strict=True)
        ]
        return _sum(graph, weighed)
    raise UsageError(cannot_be_exported(estimator))


def cannot_be_exported(estimator: Any) -> str:
    """Return the message for an estimator that cannot be exported."""
    return (
        f"{type(estimator).__name__} cannot be exported to ONNX: expected trees, forests, boosting, AdaBoost, bagging "
        "or voting of these, or LambdaMART, of depthforest.ensemble"
    )


# -- trees -------------------------------------------------------------------------------------------------------------


def _trees_of(estimator: Any) -> list[Tree]:
    return [estimator.tree_] if hasattr(estimator, "tree_") else list(estimator.trees_)


def _mean_of_trees(graph: Graph, table: RowTable, estimator: Any) -> str:
    """Return the mean of the trees' leaves, (n, n_outputs): a leaf answers with the row index of its values."""
    trees = _trees_of(estimator)
    rows, first = [], 0
    for tree in trees:
        rows.append(tree.child.astype(np.float64) + first)
        first += tree.n_shared + len(tree.own_values)
    check_categories(estimator.categories_)
    found = leaf_numbers(graph, table, trees, estimator.categories_, estimator.n_features_in_, rows)
    values = graph.constant(np.concatenate([tree.values for tree in trees]))
    each = graph.add("Gather", values, graph.cast(found, "INT64"), axis=0)
    return graph.add("Div", graph.ordered_sum(each), graph.constant(np.float64(len(trees))))


def _first_largest(graph: Graph, shares: str) -> str:
    return graph.add("ArgMax", shares, axis=1, keepdims=0)


def _sum(graph: Graph, terms: Sequence[str]) -> str:
    total = terms[0]
    for term in terms[1:]:
        total = graph.add("Add", total, term)
    return total


# -- boosting ----------------------------------------------------------------------------------------------------------


def _raw(graph: Graph, table: RowTable, estimator: Any) -> str:
    """Return the raw values, (n, n_outputs): the start values, then the trees' steps, added output by output."""
    trees, n_outputs = estimator.trees_, len(estimator.start_)
    if hasattr(estimator, "init_") or estimator._has_base_margin:
        raise UsageError(
            f"{type(estimator).__name__} that starts from init or base_margin cannot be exported: its trees only "
            "correct it"
        )
    check_categories(estimator.categories_)
    steps = [tree.values[np.where(tree.is_leaf, tree.child, 0), 0] for tree in trees]
    found = leaf_numbers(graph, table, trees, estimator.categories_, estimator.n_features_in_, steps)
    shape = graph.constant(np.array([0, len(trees) // n_outputs, n_outputs], dtype=np.int64))
    rounds = graph.add("Reshape", found, shape)
    starts = np.asarray(estimator.start_, dtype=np.float64)[None, None, :]
    zero = graph.add("Mul", graph.add("Slice", rounds, *_first_round(graph)), graph.constant(np.float64(0)))
    begun = graph.add("Concat", graph.add("Add", zero, graph.constant(starts)), rounds, axis=1)
    return graph.ordered_sum(begun)


def _first_round(graph: Graph) -> tuple[str, str, str]:
    return tuple(graph.constant(np.array([value], dtype=np.int64)) for value in (0, 1, 1))  # type: ignore[return-value]


def _boosted_classes(graph: Graph, table: RowTable, estimator: Any) -> ClassAnswer:
    name = getattr(estimator._loss, "name", None)
    if name not in ("logistic", "exponential", "hinge", "perceptron", "multinomial"):
        raise UsageError(f"{type(estimator).__name__} with a custom loss cannot be exported to ONNX")
    raw = _raw(graph, table, estimator)
    if name == "multinomial":
        return ClassAnswer(_first_largest(graph, raw), graph.add("Softmax", raw, axis=1))
    margin = graph.column(raw, 0)
    is_second = graph.add("Greater", margin, graph.constant(np.float64(0)))
    shares = None
    if name in ("logistic", "exponential"):
        log_odds = margin if name == "logistic" else graph.add("Mul", margin, graph.constant(np.float64(2)))
        one = graph.constant(np.float64(1))
        power = graph.add("Exp", graph.add("Neg", graph.add("Abs", log_odds)))
        whole = graph.add("Add", one, power)
        large, small = graph.add("Div", one, whole), graph.add("Div", power, whole)
        up = graph.add("GreaterOrEqual", log_odds, graph.constant(np.float64(0)))
        first, second = graph.add("Where", up, small, large), graph.add("Where", up, large, small)
        shares = graph.two_columns(first, second)
    return ClassAnswer(graph.cast(is_second, "INT64"), shares)


# -- AdaBoost ----------------------------------------------------------------------------------------------------------


def _adaboost(graph: Graph, table: RowTable, estimator: Any) -> ClassAnswer:
    """Return weighted votes: shares of the weight, then decision values and probabilities as in scikit-learn."""
    n_classes = len(estimator.classes_)
    votes = np.eye(n_classes)
    weights = np.asarray(estimator.estimator_weights_, dtype=np.float64)
    each = []
    for member, weight in zip(estimator.estimators_, weights, strict=True):
        codes = graph.constant(np.asarray(member.classes_, dtype=np.int64))
        winner = graph.add("Gather", codes, class_answer(graph, table, member).winner, axis=0)
        each.append(graph.add("Gather", graph.constant(votes * weight), winner, axis=0))
    total = 0.0
    for weight in weights:
        total += weight
    shares = graph.add("Div", _sum(graph, each), graph.constant(np.float64(total)))
    if n_classes == 2:
        apart = graph.add("Sub", graph.column(shares, 1), graph.column(shares, 0))
        decision = graph.add("Mul", graph.constant(np.float64(2)), apart)
        winner = graph.cast(graph.add("Greater", decision, graph.constant(np.float64(0))), "INT64")
        half = graph.add("Div", decision, graph.constant(np.float64(2)))
        return ClassAnswer(winner, graph.add("Softmax", graph.two_columns(graph.add("Neg", half), half), axis=1))
    scaled = graph.add("Mul", graph.constant(np.float64(n_classes)), shares)
    less_one, rest = graph.add("Sub", scaled, graph.constant(np.float64(1))), graph.constant(np.float64(n_classes - 1))
    decision = graph.add("Div", less_one, rest)
    return ClassAnswer(_first_largest(graph, decision), graph.add("Softmax", graph.add("Div", decision, rest), axis=1))


def _weighted_median(graph: Graph, table: RowTable, estimator: Any) -> str:
    """Return the least answer with half of the members' weight at or below it, (n,)."""
    one = graph.constant(np.array([1], dtype=np.int64))
    answers = [graph.add("Unsqueeze", number_answer(graph, table, m), one) for m in estimator.estimators_]
    side_by_side = graph.add("Concat", *answers, axis=1)
    values, order = f"sorted{len(graph.nodes)}", f"order{len(graph.nodes)}"
    count = graph.constant(np.array([len(answers)], dtype=np.int64))
    graph.nodes.append(
        graph.onnx.helper.make_node("TopK", [side_by_side, count], [values, order], axis=1, largest=0, sorted=1)
    )
    weights = graph.constant(np.asarray(estimator.estimator_weights_, dtype=np.float64))
    reached = graph.add("CumSum", graph.add("Gather", weights, order, axis=0), graph.constant(np.int64(1)))
    whole = graph.add("Gather", reached, graph.constant(np.array([-1], dtype=np.int64)), axis=1)
    is_half = graph.add("GreaterOrEqual", reached, graph.add("Mul", graph.constant(np.float64(0.5)), whole))
    place = graph.add("ArgMax", graph.cast(is_half, "INT32"), axis=1, keepdims=1)
    return graph.column(graph.add("GatherElements", values, place, axis=1), 0)


# -- bagging and voting ------------------------------------------------------------------------------------------------


def _members(graph: Graph, table: RowTable, estimator: Any) -> Iterator[tuple[Any, RowTable]]:
    """Yield the members of a bagged ensemble, each with its columns of the table."""
    for member, columns in zip(estimator.estimators_, estimator.estimators_features_, strict=True):
        is_all = np.array_equal(columns, np.arange(estimator.n_features_in_))
        yield member, table if is_all else table.columns(graph, columns)


def _bagged_classes(graph: Graph, table: RowTable, estimator: Any) -> ClassAnswer:
    is_hard = not all(hasattr(member, "predict_proba") for member in estimator.estimators_)
    n_classes = len(estimator.classes_)
    votes = []
    for member, its in _members(graph, table, estimator):
        answer, codes = class_answer(graph, its, member), np.asarray(member.classes_, dtype=np.int64)
        own = np.eye(n_classes)[codes]  # a member may not know all classes
        if is_hard:
            votes.append(graph.add("Gather", graph.constant(own), answer.winner, axis=0))
        else:
            assert answer.shares is not None
            is_whole = np.array_equal(codes, np.arange(n_classes))
            votes.append(answer.shares if is_whole else graph.add("MatMul", answer.shares, graph.constant(own)))
    shares = graph.add("Div", _sum(graph, votes), graph.constant(np.float64(len(votes))))
    return ClassAnswer(_first_largest(graph, shares), shares)


def _votes(graph: Graph, table: RowTable, estimator: Any) -> ClassAnswer:
    if estimator.reject_label is not None:
        raise UsageError(
            "VotingClassifier with a reject_label cannot be exported to ONNX: set reject_label=None and "
            "compare the probabilities with your majority there"
        )
    n_classes = len(estimator.classes_)
    ballots = []
    for member, weight in zip(estimator.estimators_, estimator.weights_, strict=True):
        answer = class_answer(graph, table, member)
        hard = graph.add("Gather", graph.constant(np.eye(n_classes)), answer.winner, axis=0)
        if estimator.voting == "hard":
            ballot = hard
        else:
            assert answer.shares is not None
            ballot = answer.shares
            if estimator.voting == "confidence":
                top = graph.add("ArgMax", answer.shares, axis=1, keepdims=0)
                ballot = graph.add("Mul", ballot, graph.add("Gather", graph.constant(np.eye(n_classes)), top, axis=0))
        ballots.append(graph.add("Mul", graph.constant(np.float64(weight)), ballot))
    shares = _sum(graph, ballots)
    if estimator.voting == "confidence":
        one = graph.constant(np.array([1], dtype=np.int64))
        shares = graph.add("Div", shares, graph.add("ReduceSum", shares, one, keepdims=1))
    scale = graph.constant(np.float64(SHARE_SCALE))
    shares = graph.add("Div", graph.add("Round", graph.add("Mul", shares, scale)), scale)
    return ClassAnswer(_first_largest(graph, shares), shares)


def all_categories(estimator: Any) -> dict[int, npt.NDArray[Any]]:
    """Return the categories of an estimator by column; those of its members if it has none of its own."""
    if hasattr(estimator, "categories_"):
        return dict(estimator.categories_)
    found: dict[int, npt.NDArray[Any]] = {}
    members = getattr(estimator, "estimators_", [])
    columns = getattr(estimator, "estimators_features_", None)
    for number, member in enumerate(members):
        for column, values in all_categories(member).items():
            found.setdefault(column if columns is None else int(columns[number][column]), values)
    return found
