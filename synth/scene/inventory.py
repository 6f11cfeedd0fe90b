"""Inventory: the pool of things in cluttered rooms, each drawn on first use.

Thing `k` depends only on (seed, k). Drawing one takes as long as placing ten; each use stretches it differently.
"""

from __future__ import annotations

import numpy as np

from synth.scene.assembling import Draw
from synth.scene.furniture import Piece
from synth.scene.hangings import CEILING_HANGINGS, WALL_HANGINGS
from synth.scene.shapes import Shape, rows_of
from synth.scene.things import COUNTERS, DESKS, LOWS, STANDINGS

GROUPS: dict[str, tuple[Draw, ...]] = {
    "standing": STANDINGS,
    "low": LOWS,
    "desk": DESKS,
    "counter": COUNTERS,
    "wall": WALL_HANGINGS,
    "ceiling": CEILING_HANGINGS,
}
"""The groups that can be requested, and the kinds of things in each."""

STRETCH = (0.8, 1.25)
"""Range of the random scale factor along each axis."""


class Inventory:
    """A pool of things.

    Parameters
    ----------
    seed : sequence of int
    n : int
        Number of things in each group.
    """

    def __init__(self, seed: tuple[int, ...], n: int) -> None:
        self._seed, self._n = seed, n
        self._made: dict[tuple[str, int], Piece] = {}

    def draw(self, rng: np.random.Generator, group: str) -> Piece:
        """Draw a thing of a group, stretched at random."""
        low, high = STRETCH
        number, *shares = rng.random(4).tolist()
        x, y, z = (low * (high / low) ** share for share in shares)
        return self._thing(group, int(number * self._n)).stretched(
            (x, y if group not in ("desk", "ceiling") else 1.0, z)
        )

    def _thing(self, group: str, number: int) -> Piece:
        # two threads may both make a thing, but they get the same one
        if (group, number) not in self._made:
            kinds = GROUPS[group]
            rng = np.random.default_rng([*self._seed, list(GROUPS).index(group), number])
            make = kinds[int(rng.integers(len(kinds)))]
            self._made[group, number] = piece_of(getattr(make, "__name__", group), make(rng))
        return self._made[group, number]


def piece_of(name: str, shapes: list[Shape]) -> Piece:
    """Return shapes as a piece of furniture."""
    return Piece(name, (), rows_of(shapes))
