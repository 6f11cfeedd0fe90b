"""The heap of trees that grow best first."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from depthforest.ensemble.growth.bestfirst import pop, push


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 5), min_size=1, max_size=30), st.randoms(use_true_random=False))
def test_the_node_that_gains_most_comes_first_of_equals_the_lowest(gains, random):
    amounts, heap = np.array(gains, dtype=np.float64), np.empty(len(gains), dtype=np.int64)
    waiting, n, taken, wanted = list(range(len(gains))), 0, [], []
    inside = []
    while waiting or inside:
        if waiting and (not inside or random.random() < 0.6):
            node = waiting.pop(0)
            push(amounts, n, node, heap)
            inside.append(node)
            n += 1
            continue
        best = min(inside, key=lambda node: (-gains[node], node))
        inside.remove(best)
        wanted.append(best)
        taken.append(int(pop(amounts, n, heap)))
        n -= 1
    assert taken == wanted
