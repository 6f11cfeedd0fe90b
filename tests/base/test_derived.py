import copy
import gc
import pickle
import threading

import numpy as np
import pytest
from support.bounded import run_threads

from depthforest.base.derived import Derived


class Thing:
    """An object that compares by content, and so cannot be hashed."""

    def __init__(self, number):
        self.number = number

    def __eq__(self, other):
        return self.number == other.number


@pytest.fixture
def calls():
    return []


@pytest.fixture
def doubled(calls):
    @Derived
    def double(thing):
        """Twice as much."""
        calls.append(thing.number)
        return np.array([2 * thing.number])

    return double


def test_a_value_is_computed_once_for_each_object(doubled, calls):
    one, equal = Thing(3), Thing(3)
    assert one == equal
    assert doubled(one) is doubled(one)
    assert doubled(equal) is not doubled(one)
    assert calls == [3, 3]
    assert doubled(equal)[0] == 6
    assert doubled.__doc__ == "Twice as much."


def test_a_value_dies_with_its_object(doubled):
    things = [Thing(i) for i in range(5)]
    for thing in things:
        doubled(thing)
    assert len(doubled) == 5
    del things[1:], thing
    gc.collect()
    assert len(doubled) == 1
    # memory that is used again brings no old value back
    for i in range(10, 200):
        assert doubled(Thing(i))[0] == 2 * i
    gc.collect()
    assert len(doubled) == 1


def test_objects_in_a_cycle_are_let_go(doubled):
    thing = Thing(1)
    thing.itself = thing
    doubled(thing)
    del thing
    gc.collect()
    assert len(doubled) == 0


def test_the_object_stays_as_it_is(doubled):
    thing = Thing(4)
    before = dict(thing.__dict__)
    doubled(thing)
    assert thing.__dict__ == before
    for twin in (copy.deepcopy(thing), pickle.loads(pickle.dumps(thing))):
        assert doubled(twin) is not doubled(thing)


def test_nothing_is_kept_of_a_failure(calls):
    @Derived
    def fail(thing):
        calls.append(thing)
        raise ValueError("no")

    thing = Thing(1)
    for _ in range(2):
        with pytest.raises(ValueError, match="no"):
            fail(thing)
    assert len(calls) == 2
    assert len(fail) == 0


def test_threads_get_the_same_value():
    n, started = 8, threading.Barrier(8)

    @Derived
    def slow(_):
        started.wait(timeout=60)  # all are here before the first is done
        return object()

    thing, found = Thing(1), []
    run_threads(*[lambda: found.append(slow(thing))] * n)
    assert len(found) == n
    assert all(each is found[0] for each in found)
    assert len(slow) == 1
