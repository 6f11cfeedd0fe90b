"""Candidates: the probe pairs and thresholds that a node tries, counted from (seed, tree, path to the node, number).

Nothing is drawn from data or in sequence, so that every shard can make a node's candidates again, alone, in any order.
Only sums, products, roots and comparisons are used, which IEEE fixes to the bit on every machine.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from depthforest.kernels import kernel
from depthforest.trainconfig import LADDER_BITS, PROBE_SHAPES, TrainConfig

Keys = npt.NDArray[np.uint64]

# splitmix64: a counter times GOLDEN, mixed by two multiplications, is a random number
GOLDEN, MIX_1, MIX_2 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_30, _27, _31, _41, _32 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(41), np.uint64(32)
_LOW_23, _LOW_32, _ONE = np.uint64((1 << 23) - 1), np.uint64((1 << 32) - 1), np.uint64(1)
_HALF_SPAN = np.float32(1 << 23)

STREAM_TREE, STREAM_FRAMES, STREAM_PIXELS = 1, 2, 3
"""First words of keys, so that streams of random numbers never meet."""


@kernel
def mix(counter):  # type: ignore[no-untyped-def]  # inlined: takes and gives uint64
    """Return a random number for a counter."""
    mixed = (counter ^ (counter >> _30)) * MIX_1
    mixed = (mixed ^ (mixed >> _27)) * MIX_2
    return mixed ^ (mixed >> _31)


@kernel
def _fill_numbers(key: np.uint64, counters: Keys, out: Keys) -> None:
    for i in range(len(counters)):
        out[i] = mix(key + (counters[i] + _ONE) * GOLDEN)


@kernel
def _child_keys(parents: Keys, out: Keys) -> None:
    for i in range(len(parents)):
        out[2 * i] = mix(parents[i] + GOLDEN)
        out[2 * i + 1] = mix(parents[i] - GOLDEN)


def key_of(*words: int) -> np.uint64:
    """Return the key of a stream of random numbers that is named by whole numbers."""
    key = 0
    for word in words:
        key = int(mix(np.uint64((key + (word + 1) * int(GOLDEN)) % 2**64)))
    return np.uint64(key)


def numbers(key: np.uint64, counters: npt.NDArray[np.uint64]) -> Keys:
    """Return a random uint64 for each counter of a stream."""
    out = np.empty(len(counters), dtype=np.uint64)
    _fill_numbers(key, np.ascontiguousarray(counters, dtype=np.uint64), out)
    return out


def root_key(seed: int, tree: int) -> Keys:
    """Return the key (1,) of a tree's root."""
    return np.array([key_of(STREAM_TREE, seed, tree)], dtype=np.uint64)


def child_keys(parents: Keys) -> Keys:
    """Return the keys (2 n,) of the children of nodes: left, right, left, right, ..."""
    out = np.empty(2 * len(parents), dtype=np.uint64)
    _child_keys(np.ascontiguousarray(parents), out)
    return out


@dataclass(frozen=True)
class Candidates:
    """Candidates of nodes.

    Parameters
    ----------
    probes : array (n_nodes, 4, n), float32
        u_x, u_y, v_x, v_y in metres.
    lows : array (n_nodes, n), int32
        Millimetres: a response minus this, divided by the step and clipped, is the bin. The lowest threshold is
        `lows + steps - 1`.
    steps : array (n_nodes, n), int32
        Millimetres between thresholds.
    factors : array (n_nodes, n), uint32
        2^24 / step, rounded up: what a division by the step is done with.
    """

    probes: npt.NDArray[np.float32]
    lows: npt.NDArray[np.int32]
    steps: npt.NDArray[np.int32]
    factors: npt.NDArray[np.uint32]

    BYTES = 28
    """Of one candidate of one node."""

    def thresholds(self, indices: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        """Return a threshold (n_nodes,) of each node's first ladder, millimetres: bins up to the index are below."""
        steps = self.steps[:, 0]
        return np.asarray(self.lows[:, 0] + steps - 1 + indices * steps, dtype=np.int32)


def draw(keys: Keys, first: int, last: int, config: TrainConfig) -> Candidates:
    """Return the candidates `first` to `last` (excluded) of nodes."""
    shape = (len(keys), last - first)
    drawn = Candidates(
        np.empty((shape[0], 4, shape[1]), dtype=np.float32),
        np.empty(shape, dtype=np.int32),
        np.empty(shape, dtype=np.int32),
        np.empty(shape, dtype=np.uint32),
    )
    steps = np.array([max(1, config.step_mm >> s) for s in range(config.threshold_scales)], dtype=np.int32)
    zero = np.uint64(min(round(config.zero_share * 2**32), 2**32))
    _draw(
        np.ascontiguousarray(keys), first, np.float32(config.probe_range_m), PROBE_SHAPES.index(config.probe_shape),
        zero, steps, config.thresholds, drawn.probes, drawn.lows, drawn.steps, drawn.factors,
    )  # fmt: skip
    return drawn


@kernel
def _signed_unit(bits):  # type: ignore[no-untyped-def]  # inlined
    """Return an odd number of 24 bits over 2^23, exact in float32: from -1 to 1, never 0."""
    return np.float32(np.int32(bits & _LOW_23) * 2 + 1 - (1 << 23)) / _HALF_SPAN


@kernel
def _draw_probe(counter, reach, shape, out):  # type: ignore[no-untyped-def]
    """Draw one probe, and return the next unused counter."""
    while True:
        counter += GOLDEN
        bits = mix(counter)
        x = _signed_unit(bits)
        y = _signed_unit(bits >> _41)
        squared = np.float32(np.float32(x * x) + np.float32(y * y))
        if shape == 2 or squared <= np.float32(1):
            break
    if shape == 0:  # uniform in the disc, times the distance from its middle: uniform in length
        length = np.sqrt(squared)
        x = np.float32(x * length)
        y = np.float32(y * length)
    out[0] = np.float32(x * reach)
    out[1] = np.float32(y * reach)
    return counter


@kernel
def _draw(keys, first, reach, shape, zero, steps, n_thresholds, probes, lows, all_steps, factors):  # type: ignore[no-untyped-def]
    pair = np.empty(2, dtype=np.float32)
    for node in range(len(keys)):
        for i in range(probes.shape[2]):
            # a node's candidates start at mixed counters, so that their streams do not meet
            counter = mix(keys[node] + np.uint64(first + i + 1) * GOLDEN)
            counter = _draw_probe(counter, reach, shape, pair)
            probes[node, 0, i] = pair[0]
            probes[node, 1, i] = pair[1]
            counter += GOLDEN
            bits = mix(counter)
            step = steps[np.int64((bits & _LOW_32) % np.uint64(len(steps)))]
            if (bits >> _32) < zero:
                pair[0] = 0
                pair[1] = 0
            else:
                counter = _draw_probe(counter, reach, shape, pair)
            probes[node, 2, i] = pair[0]
            probes[node, 3, i] = pair[1]
            counter += GOLDEN
            shift = np.int32(mix(counter) % np.uint64(step))
            all_steps[node, i] = step
            lowest = -((n_thresholds * step) // 2) + shift
            lows[node, i] = lowest - (step - 1)
            factors[node, i] = (1 << LADDER_BITS) // step + 1
