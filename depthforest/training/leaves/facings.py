"""Facing fit: the evidence of each leaf for facings, learned from whole people.

Counts alone (`fit`) treat the pixels of a person as independent, which they are not. Here all leaves are fitted
together by a logistic regression on the leaves that a person's pixels reach. Stochastic gradient descent starts from
the counts and takes one person at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from depthforest.base import kernel

RATES = (0.1, 0.05, 0.02, 0.01)
"""Learning rate of each pass over the people."""

SEED = 0
"""Seed of the order of the people in each pass."""


@dataclass(frozen=True)
class FacedPeople:
    """Some pixels of people with known facings.

    Parameters
    ----------
    leaves : array (2, n), int32
        Leaves that the pixels reach in all trees, person after person; plain, and mirrored.
    starts : array (n_people + 1,), int64
        Where each person's leaves begin.
    facings : array (n_people,), int64
    """

    leaves: npt.NDArray[np.int32]
    starts: npt.NDArray[np.int64]
    facings: npt.NDArray[np.int64]

    @classmethod
    def of(cls, facings: Sequence[int], leaves: Sequence[npt.NDArray[np.int32]]) -> FacedPeople:
        """Join people: their facings, and the leaves (2, n_pixels, n_trees) of each."""
        flat = [np.empty((2, 0), dtype=np.int32), *(its.reshape(2, -1) for its in leaves)]
        starts = np.cumsum([its.shape[1] for its in flat])
        return cls(np.concatenate(flat, axis=1), starts, np.array(facings, dtype=np.int64))


def fit_evidence(people: FacedPeople, start: npt.NDArray[np.float32], sharpness: float) -> npt.NDArray[np.float32]:
    """Return the evidence (n_leaves, n_facings) of leaves, as log likelihoods, that best predicts people's facings.

    Parameters
    ----------
    people : FacedPeople
        Their leaves are below n_leaves, their facings below n_facings.
    start : array (n_leaves, n_facings), float32
        Start of the fit.
    sharpness : float
        Factor of the mean evidence of a person's leaves.
    """
    evidence, rng = start.copy(), np.random.default_rng(SEED)
    for rate in RATES:
        order = rng.permutation(len(people.facings))
        _descend(people.leaves, people.starts, people.facings, order, rate, sharpness, evidence)
    return evidence


@kernel
def _descend(
    leaves: npt.NDArray[np.int32],
    starts: npt.NDArray[np.int64],
    facings: npt.NDArray[np.int64],
    order: npt.NDArray[np.int64],
    rate: float,
    sharpness: float,
    evidence: npt.NDArray[np.float32],
) -> None:
    """Move the evidence of each person's leaves toward the person's facing, in proportion to the error."""
    n = evidence.shape[1]
    shares = np.empty(n, dtype=np.float64)
    for person in order:
        begin, end = starts[person], starts[person + 1]
        if begin == end:
            continue
        shares[:] = 0
        for i in range(begin, end):
            for f in range(n):
                shares[f] += evidence[leaves[0, i], f] + evidence[leaves[1, i], (n - f) % n]
        most = shares.max()
        for f in range(n):
            shares[f] = np.exp(sharpness / (2 * (end - begin)) * (shares[f] - most))
        total = shares.sum()
        for f in range(n):
            step = np.float32(rate * ((1.0 if f == facings[person] else 0.0) - shares[f] / total))
            for i in range(begin, end):
                evidence[leaves[0, i], f] += step
                evidence[leaves[1, i], (n - f) % n] += step
