"""Evidence of facings, fitted on whole people."""

import math

import numpy as np

from depthforest.training.leaves import facings as facingfit
from depthforest.training.leaves.facings import FacedPeople, fit_evidence


def naive_fit(people, start, sharpness):
    """Return what `fit_evidence` does, one number at a time."""
    evidence, rng = start.astype(float).tolist(), np.random.default_rng(facingfit.SEED)
    n = len(evidence[0])
    for rate in facingfit.RATES:
        for person in rng.permutation(len(people)).tolist():
            facing, straight, mirrored = people[person]
            if not straight:
                continue
            said = [
                sum(evidence[k][f] for k in straight) + sum(evidence[k][-f % n] for k in mirrored) for f in range(n)
            ]
            said = [math.exp(sharpness * s / (2 * len(straight))) for s in said]
            for f in range(n):
                step = rate * ((f == facing) - said[f] / sum(said))
                for k in straight:
                    evidence[k][f] += step
                for k in mirrored:
                    evidence[k][-f % n] += step
    return np.array(evidence)


def random_people(rng, n_people, n_leaves, n_facings):
    """Return people whose pixels reach leaves near one that goes with their facing, and one without pixels."""
    people = []
    for _ in range(n_people):
        facing, n = int(rng.integers(n_facings)), int(rng.integers(1, 8))
        at = rng.integers(0, n_leaves // n_facings, (2, n))
        straight, mirrored = at[0] * n_facings + facing, at[1] * n_facings + -facing % n_facings
        is_lost = rng.random((2, n)) < 0.5
        straight[is_lost[0]] = rng.integers(0, n_leaves, is_lost[0].sum())
        mirrored[is_lost[1]] = rng.integers(0, n_leaves, is_lost[1].sum())
        people.append((facing, straight.tolist(), mirrored.tolist()))
    return [*people, (0, [], [])]


def joined(people):
    leaves = [np.array([straight, mirrored], dtype=np.int32).reshape(2, -1, 1) for _, straight, mirrored in people]
    return FacedPeople.of([facing for facing, *_ in people], leaves)


def test_it_is_the_twins():
    rng = np.random.default_rng(3)
    for n_facings in (2, 5):
        people = random_people(rng, 12, 20, n_facings)
        start = rng.normal(size=(20, n_facings)).astype(np.float32)
        fitted = fit_evidence(joined(people), start, 4.0)
        assert fitted.dtype == np.float32
        np.testing.assert_allclose(fitted, naive_fit(people, start, 4.0), rtol=1e-4, atol=1e-4)
        assert not np.array_equal(fitted, start)


def test_facings_of_other_people_are_told_better():
    rng = np.random.default_rng(4)
    n_facings, n_leaves = 4, 80
    learned, others = random_people(rng, 400, n_leaves, n_facings), random_people(rng, 200, n_leaves, n_facings)

    def right(evidence):
        n_right = 0
        for facing, straight, mirrored in others[:-1]:
            said = evidence[straight].sum(axis=0) + evidence[mirrored][:, -np.arange(n_facings)].sum(axis=0)
            n_right += int(said.argmax() == facing)
        return n_right / (len(others) - 1)

    start = rng.normal(scale=0.1, size=(n_leaves, n_facings)).astype(np.float32)
    assert right(fit_evidence(joined(learned), start, 10.0)) > 0.85 > right(start) + 0.3


def test_nobody_changes_nothing():
    start = np.ones((3, 2), np.float32)
    np.testing.assert_array_equal(fit_evidence(FacedPeople.of([], []), start, 10.0), start)
