import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from depthforest.base.links import Broken, Fault, find_fault


def ints(*numbers):
    return np.array(numbers, dtype=np.int64)


CHILDREN = ints(1, ~0, ~1, ~2)  # of two nodes, behind the root 0
SOURCES = ints(-1, 0, 0, 1, 1)


def test_a_tree_has_no_fault():
    links = np.concatenate((ints(0), CHILDREN))
    assert find_fault(links, 2, 3) is None
    assert find_fault(links, 2, 3, SOURCES) is None
    assert find_fault(ints(~0), 0, 1) is None
    assert find_fault(ints(), 0) is None


@pytest.mark.parametrize(
    ("links", "expected"),
    [
        (ints(0, 2, ~0, ~1, ~2), Fault(Broken.OUTSIDE, 1)),
        (ints(0, 1, ~0, ~3, 9), Fault(Broken.OUTSIDE, 3)),
        (ints(1, 0, ~0, ~1, ~2), Fault(Broken.BACKWARD, 1)),  # the nodes are in the wrong order
        (ints(0, 0, ~0, ~1, ~2), Fault(Broken.BACKWARD, 1)),
        (ints(0, ~0, ~1, 1, ~2), Fault(Broken.BACKWARD, 3)),  # a cycle beside the tree
        (ints(0, 1, 1, ~1, ~2), Fault(Broken.NODE, 1, 2)),
        (ints(0, ~0, ~1, ~2, ~2), Fault(Broken.NODE, 1, 0)),
        (ints(0, 1, ~0, ~0, ~2), Fault(Broken.LEAF, 0, 2)),
        (ints(0, 1, ~0, ~2, ~2), Fault(Broken.LEAF, 1, 0)),
    ],
)
def test_the_first_fault_is_named(links, expected):
    assert find_fault(links, 2, 3, SOURCES) == expected


def test_the_order_counts_only_where_sources_are_given():
    assert find_fault(ints(1, ~0, ~1, 0, ~2), 2, 3) is None


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_links_without_a_fault_are_trees(data):
    n_nodes, n_leaves = data.draw(st.integers(0, 4)), data.draw(st.integers(0, 4))
    links = data.draw(st.permutations([*range(n_nodes), *(~np.arange(n_leaves)).tolist()]))
    if data.draw(st.booleans()) and links:
        links[data.draw(st.integers(0, len(links) - 1))] = data.draw(st.integers(-6, 5))
    counted = all(links.count(k) == 1 for k in range(n_nodes)) and all(links.count(~k) == 1 for k in range(n_leaves))
    is_whole = counted and len(links) == n_nodes + n_leaves
    assert (find_fault(ints(*links), n_nodes, n_leaves) is None) == is_whole
