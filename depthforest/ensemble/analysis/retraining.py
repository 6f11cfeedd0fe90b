"""Repeated training of an estimator on different samples, for its bias and variance: bootstrap or fresh samples.

A `draw` is any function that takes a `numpy.random.RandomState` and returns a training sample (X, y). `bootstrap` makes
one from existing data; if the source of the data is known, write your own so that every round sees fresh data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.utils import check_random_state

from depthforest.base import UsageError
from depthforest.ensemble.analysis.biasvariance import BiasVariance, squared_decomposition, zero_one_decomposition
from depthforest.ensemble.analysis.checking import (
    Codes,
    Numbers,
    checked_values,
    checked_votes,
    counts_of_votes,
    whole_number,
)
from depthforest.ensemble.analysis.members import first_members_answers
from depthforest.ensemble.fitting import MAX_SEED, in_parallel, member_seeds

Draw = Callable[[np.random.RandomState], tuple[Any, Any]]

N_ROUNDS = 30
"""Enough for a relative error of a quarter in a variance (which is about sqrt(2 / n))."""


def bootstrap(X: Any, y: Any) -> Draw:
    """Return a draw that resamples all rows with replacement.

    A bootstrap sample contains about 63 % of the rows: bias comes out somewhat higher and variance lower than with
    fresh samples of full size.
    """
    rows = X.shape[0] if hasattr(X, "shape") else len(X)
    if not rows or rows != len(y):
        raise UsageError(f"X and y must have the same number of rows, at least one, got {rows} and {len(y)}")
    inputs = X if hasattr(X, "shape") else np.asarray(X)
    answers = np.asarray(y)

    def draw(rng: np.random.RandomState) -> tuple[Any, Any]:
        chosen = rng.randint(rows, size=rows)
        return inputs.iloc[chosen] if hasattr(inputs, "iloc") else inputs[chosen], answers[chosen]

    return draw


def round_predictions(
    estimator: Any,
    draw: Draw,
    X: Any,
    *,
    n_rounds: int = N_ROUNDS,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> Numbers:
    """Return the predictions of an estimator after training on each of several samples.

    Parameters
    ----------
    estimator : classifier or regressor
        Cloned for each round, with a new seed in all its parameters named `random_state`: the randomness of the
        estimator is part of its variance.
    draw : callable
        Takes a RandomState and returns a training sample (X, y): `bootstrap(X, y)`, or a source of fresh samples.
    X : array or DataFrame (n_samples, n_features)
        Samples to predict, not used in training.
    n_rounds : int
        At least 2.
    random_state : int, RandomState or None
    n_jobs : int, optional
        Rounds in parallel; the result is the same for any number.

    Returns
    -------
    array (n_rounds, n_samples)
        Labels or numbers, for `zero_one_decomposition` or `squared_decomposition`.
    """

    def answers(model: Any) -> Numbers:
        return np.asarray(model.predict(X))

    return np.array(list(_rounds(estimator, draw, answers, n_rounds, random_state, n_jobs)))


def bias_variance_by_size(
    ensemble: Any,
    draw: Draw,
    X: Any,
    y: Any = None,
    *,
    sizes: Sequence[int],
    n_rounds: int = N_ROUNDS,
    random_state: Any = None,
    n_jobs: int | None = None,
    noise: Any = None,
    class_probabilities: Any = None,
    classes: Any = None,
) -> list[BiasVariance]:
    """Return bias and variance of the first members of an ensemble, for several numbers of members.

    The ensemble is trained once per round with all its members; smaller ensembles are its first members, combined as in
    `members.first_members_answers`: the stages of a boosted ensemble, equal weights otherwise.

    Parameters
    ----------
    ensemble : classifier or regressor that keeps its members in `estimators_`
    draw, n_rounds, random_state, n_jobs
        As in `round_predictions`.
    X, y : arrays (n_samples, n_features) and (n_samples,)
        Samples to predict and their answers, as in `squared_decomposition` and `zero_one_decomposition`.
    sizes : sequence of int
        Numbers of members, from 1 to all.
    noise, class_probabilities, classes
        As in these two functions, if the true distribution is known.
    """
    if not (is_classifier(ensemble) or is_regressor(ensemble)):
        raise UsageError(f"expected a classifier or a regressor, got {type(ensemble).__name__}")
    wanted: Codes = np.array([whole_number(size, "a size", least=1) for size in sizes], dtype=np.int64)
    if not len(wanted):
        raise UsageError("sizes is empty: give at least one number of members")

    def answers(model: Any) -> Numbers:
        return first_members_answers(model, X, wanted)

    every = np.array(list(_rounds(ensemble, draw, answers, n_rounds, random_state, n_jobs)))
    by_size = every.swapaxes(0, 1)
    if is_regressor(ensemble):
        return [squared_decomposition(one, y, noise=noise) for one in by_size]
    return [zero_one_decomposition(one, y, class_probabilities=class_probabilities, classes=classes) for one in by_size]


def bias_variance_of_groups(
    predictions: Any, y: Any, *, sizes: Sequence[int], is_classification: bool
) -> list[BiasVariance]:
    """Return bias and variance of small ensembles: disjoint groups of the members of a large one.

    No training is needed, but all members have seen the same training data, so the variance between training samples is
    missing. `bias_variance_by_size` includes it.

    Parameters
    ----------
    predictions : array (n_members, n_samples)
        Labels or numbers predicted by each member; for a fitted ensemble, `member_predictions(ensemble, X)`.
    y : array (n_samples,)
        True answers.
    sizes : sequence of int
        Members in a group; each size must leave at least two groups.
    is_classification : bool
        Whether the members of a group vote (ties go to the lower class) or are averaged.
    """
    answers: Any
    truth: Any
    if is_classification:
        answers, truth, n_classes = checked_votes(predictions, y)
    else:
        answers, truth = checked_values(predictions, y)
    result = []
    for size in [whole_number(size, "a size", least=1) for size in sizes]:
        n_groups = len(answers) // size
        if n_groups < 2:
            raise UsageError(f"{len(answers)} members do not make two groups of {size}: use smaller sizes")
        groups = answers[: n_groups * size].reshape(n_groups, size, -1)
        if is_classification:
            joint = np.array([counts_of_votes(group, n_classes).argmax(axis=1) for group in groups])
            result.append(zero_one_decomposition(joint, truth))
        else:
            result.append(squared_decomposition(groups.mean(axis=1), truth))
    return result


def _rounds(
    estimator: Any,
    draw: Draw,
    answers: Callable[[Any], Numbers],
    n_rounds: int,
    random_state: Any,
    n_jobs: int | None,
) -> Iterator[Numbers]:
    """Yield the answers of an estimator after each round of training."""
    seeds = member_seeds(random_state, whole_number(n_rounds, "n_rounds", least=2))
    return in_parallel(_Round(estimator, answers), _samples(draw, seeds.tolist()), n_jobs=n_jobs)


class _Round:
    """One round as an object that can be sent to processes."""

    def __init__(self, estimator: Any, answers: Callable[[Any], Numbers]) -> None:
        self.estimator = estimator
        self.answers = answers

    def __call__(self, sample: tuple[Any, Any, int]) -> Numbers:
        inputs, truth, seed = sample
        model = _seeded(clone(self.estimator), seed)
        model.fit(inputs, truth)
        return self.answers(model)


def _samples(draw: Draw, seeds: list[int]) -> Iterator[tuple[Any, Any, int]]:
    """Yield a training sample and a seed for each round; drawn here, so that `draw` need not be sent to processes."""
    for seed in seeds:
        rng = check_random_state(seed)
        drawn = draw(rng)
        if not isinstance(drawn, tuple) or len(drawn) != 2:
            raise UsageError(f"draw must return a pair (X, y), got an object of type {type(drawn).__name__}")
        yield drawn[0], drawn[1], int(rng.randint(MAX_SEED))


def _seeded(model: Any, seed: int) -> Any:
    """Set a seed in all parameters named `random_state`, including those of nested estimators."""
    rng = check_random_state(seed)
    names = [name for name in sorted(model.get_params(deep=True)) if name.split("__")[-1] == "random_state"]
    return model.set_params(**{name: int(rng.randint(MAX_SEED)) for name in names})
