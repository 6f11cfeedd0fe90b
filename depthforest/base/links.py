"""Links: checks that the links between nodes form a tree before a kernel follows them. Kernels check nothing.

A link of 0 or more leads to a node, one below 0 to leaf `~link`. Each owner of trees words its own message:
`trees.columns` of depth forests, `growing` of checkpoints, `ensemble.tree.checks` of ensembles.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np
import numpy.typing as npt

Links = npt.NDArray[np.integer]


class Broken(Enum):
    """What is wrong with links."""

    OUTSIDE = "leads nowhere"
    BACKWARD = "leads to a node that is not behind its own"
    NODE = "a node without exactly one parent"
    LEAF = "a leaf without exactly one parent"


@dataclass(frozen=True)
class Fault:
    """The first thing that is wrong with links.

    Attributes
    ----------
    what : Broken
    index : int
        Index of the link, or of the node or leaf whose parents are wrong.
    n_parents : int
        Number of parents of that node or leaf; otherwise 0.
    """

    what: Broken
    index: int
    n_parents: int = 0


def find_fault(links: Links, n_nodes: int, n_leaves: int = 0, sources: Links | None = None) -> Fault | None:
    """Return what is wrong with links, or None if every node and every leaf is linked exactly once.

    Parameters
    ----------
    links : array (n,), whole numbers
        Links to roots included: a root has a parent in this sense.
    n_nodes, n_leaves : int
        How many there are.
    sources : array (n,), whole numbers, optional
        The node that each link belongs to, -1 for roots. A link to a node must lead to a higher index, which rules out
        cycles.
    """
    is_bad = (links >= n_nodes) | (links < -n_leaves)
    is_backward = np.zeros(len(links), dtype=np.bool_) if sources is None else (links >= 0) & (links <= sources)
    if (is_bad | is_backward).any():
        index = int(np.flatnonzero(is_bad | is_backward)[0])
        return Fault(Broken.OUTSIDE if is_bad[index] else Broken.BACKWARD, index)
    for what, used, n in ((Broken.NODE, links[links >= 0], n_nodes), (Broken.LEAF, ~links[links < 0], n_leaves)):
        n_parents = np.bincount(used, minlength=n)
        if (n_parents != 1).any():
            index = int(np.flatnonzero(n_parents != 1)[0])
            return Fault(what, index, int(n_parents[index]))
    return None
