"""Slow, obvious twin of the one-euro filter: one axis of arrays, straight from the paper's formulas."""

import numpy as np


def one_euro(places, times, *, min_cutoff, gain, speed_cutoff):
    """Filter places (n, 3) found at times (n,); all frames have one."""

    def alpha(cutoff, period):
        tau = 1 / (2 * np.pi * cutoff)
        return 1 / (1 + tau / period)

    smooth, speed = [np.array(places[0], dtype=float)], np.zeros(3)
    for i in range(1, len(places)):
        period = times[i] - times[i - 1]
        a = alpha(speed_cutoff, period)
        speed = a * (places[i] - places[i - 1]) / period + (1 - a) * speed
        a = alpha(min_cutoff + gain * np.linalg.norm(speed), period)
        smooth.append(a * places[i] + (1 - a) * smooth[-1])
    return np.array(smooth)
