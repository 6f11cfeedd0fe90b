import multiprocessing
import os
import threading
import time

import pytest
from support.bounded import run_threads
from support.workers import slow_square, sum_of_squares

from depthforest.base.errors import UsageError
from depthforest.base.threads import map_in_order, run_parts, thread_count


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_results_come_in_order(threads):
    assert list(map_in_order(slow_square, range(40), threads=threads)) == [x * x for x in range(40)]


def test_items_are_taken_only_a_little_ahead():
    taken = []

    def items():
        for i in range(1000):
            taken.append(i)
            yield i

    results = map_in_order(slow_square, items(), threads=2)
    assert next(results) == 0
    assert len(taken) < 10
    results.close()


def test_an_exception_arrives_in_its_place():
    def fail_at_7(x):
        if x == 7:
            raise KeyError(x)
        return x

    results = map_in_order(fail_at_7, range(20), threads=2)
    assert [next(results) for _ in range(7)] == list(range(7))
    with pytest.raises(KeyError):
        next(results)


def test_work_that_spreads_work_does_not_wait_for_itself():
    """All workers were busy waiting for a worker: a sequence of frames that labels its own frames never ended."""

    def outer(x):
        parts = [0] * 4
        run_parts(lambda part: parts.__setitem__(part, x), 4)
        return sum(map_in_order(lambda y: x * y, range(10), threads=2)) + sum(parts)

    done = []
    run_threads(lambda: done.extend(map_in_order(outer, range(20), threads=2)), seconds=60)
    assert done == [49 * x for x in range(20)]


def test_several_threads_may_map_at_once():
    totals = []
    run_threads(*[lambda: totals.append(sum_of_squares(30))] * 4)
    assert totals == [sum(x * x for x in range(30))] * 4


@pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_worker_processes_make_their_own_pool(method):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this system cannot {method}")
    assert sum_of_squares(10) == 285  # the parent's pool is running
    with multiprocessing.get_context(method).Pool(1) as pool:
        assert pool.apply_async(sum_of_squares, (10,)).get(timeout=60) == 285


def test_counts():
    assert thread_count() == len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    assert thread_count(3) == 3
    for bad in (0, -1, 2.5, True, 5000):
        with pytest.raises(UsageError, match="threads must be a whole number from 1 to 1024"):
            thread_count(bad)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_parts_run_once_each_and_side_by_side(n):
    """All wait for each other: one after the other they would never end."""
    meeting = threading.Barrier(n)
    threads = {}

    def part(k):
        meeting.wait(timeout=60)
        threads[k] = threading.get_ident()

    run_parts(part, n)
    assert sorted(threads) == list(range(n))
    assert threads[0] == threading.get_ident()
    assert len(set(threads.values())) == n


@pytest.mark.parametrize("bad", [0, 2])
def test_an_exception_of_a_part_is_raised_when_all_are_done(bad):
    done = []

    def part(k):
        if k == bad:
            raise ValueError(f"part {k}")
        time.sleep(0.01)
        done.append(k)

    with pytest.raises(ValueError, match=f"part {bad}"):
        run_parts(part, 3)
    assert sorted(done) == [k for k in range(3) if k != bad]
