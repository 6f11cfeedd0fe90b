"""What worker processes run in tests: a spawned one imports it from here, wherever pytest was started."""

import time

from depthforest.base.threads import map_in_order


def slow_square(x):
    time.sleep(0.002 * (5 - x % 5))  # later items finish earlier
    return x * x


def sum_of_squares(n):
    return sum(map_in_order(slow_square, range(n), threads=3))


def label_in_worker(forest_and_frame):
    forest, frame = forest_and_frame
    return forest.label(frame, threads=2).parts
