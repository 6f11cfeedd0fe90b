"""Candidates: the probe pairs and thresholds that a node tries, computed from (seed, tree, path to the node, number).

Nothing depends on data or on a sequence, so every shard can make a node's candidates independently, at any time and in
any order. Only sums, products, roots and comparisons are used, which IEEE defines to the bit on every machine.
Candidates are small (10 bytes) and drawn without a branch, because deep levels draw and read more of them than they
have pixels.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from depthforest.base import GOLDEN, Scratch, kernel, map_in_order, mix, thread_count
from depthforest.training.config import PROBE_SHAPES, ContextConfig, TrainConfig
from depthforest.trees import FIRST_GROUP, FIRST_POSITION, NOTHING, POSITION_MIDDLE, probe_unit

Keys = npt.NDArray[np.uint64]

_32, _ONE = np.uint64(32), np.uint64(1)
_LOW_32 = np.uint64((1 << 32) - 1)

# a hash of 32 bits, for loops that vectorize: two multiplications between shifts
GOLDEN_32, HASH_1, HASH_2 = np.uint32(0x9E3779B9), np.uint32(0x7FEB352D), np.uint32(0x846CA68B)
_16, _15, _LOW_16, _WORDS = np.uint32(16), np.uint32(15), np.uint32(0xFFFF), np.uint32(8)

INTO_DISC = np.float32(0.70703125)
"""Factor that moves any point of the square into its disc: just below 1 / sqrt(2), and exact in binary."""

STREAM_TREE, STREAM_FRAMES, STREAM_PIXELS = 1, 2, 3
"""First words of keys, so that streams of random numbers never collide."""


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
    """Return the key of the stream of random numbers that the words identify."""
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
    probes : array (n_nodes, 4, n), int16
        u_x, u_y, v_x, v_y in units of `unit_m`.
    lows : array (n_nodes, n), int16
        Millimeters: a response minus this, divided by the step and clipped, is the bin. The lowest threshold is
        `lows + steps - 1`.
    steps : array (n,), int32
        Millimeters between thresholds, the same for all nodes.
    unit_m : float32
        Meters; a power of two, so that products with it are exact.
    channels : array (n_nodes, 2, n) or (0, 2, 0), uint8
        Channels that u and v read; empty: depth.
    """

    probes: npt.NDArray[np.int16]
    lows: npt.NDArray[np.int16]
    steps: npt.NDArray[np.int32]
    unit_m: np.float32
    channels: npt.NDArray[np.uint8]

    BYTES = 12
    """Bytes of one candidate of one node."""

    @property
    def meters(self) -> npt.NDArray[np.float32]:
        """The probes (n_nodes, 4, n) in meters, exact."""
        return self.probes * self.unit_m


def steps_of(numbers: npt.NDArray[np.int64], config: TrainConfig) -> npt.NDArray[np.int32]:
    """Return the threshold steps of candidates by their numbers, in millimeters; candidates alternate between them."""
    steps = [max(1, config.step_mm >> scale) for scale in range(config.threshold_scales)]
    return np.array(steps, dtype=np.int32)[numbers % config.threshold_scales]


def draw(
    keys: Keys, first: int, last: int, config: TrainConfig, scratch: Scratch | None = None, threads: int | None = 1
) -> Candidates:
    """Return the candidates `first` to `last` (excluded) of nodes, in the memory of `scratch` if there is one."""
    n = last - first
    unit = probe_unit(config.probe_range_m)
    room = scratch or Scratch()
    probes, lows, channels = room.take(
        "candidates",
        ((len(keys), 4, n), np.int16),
        ((len(keys), n), np.int16),
        (_channels_shape(len(keys), n, config), np.uint8),
    )
    steps = steps_of(np.arange(first, last), config)

    def fill(ends: tuple[int, int]) -> None:
        some = slice(*ends)
        firsts = np.full(len(keys[some]), first)
        _draw(keys[some], firsts, config, steps[None], unit, probes[some], lows[some], channels[some])

    cuts = np.linspace(0, len(keys), thread_count(threads) + 1).astype(int)
    list(map_in_order(fill, pairwise(cuts.tolist()), threads=threads))
    return Candidates(probes, lows, steps, unit, channels)


def _channels_shape(n_nodes: int, n: int, config: TrainConfig) -> tuple[int, int, int]:
    return (n_nodes, 2, n) if config.n_groups else (0, 2, 0)


def draw_chosen(
    keys: Keys, chosen: npt.NDArray[np.int64], config: TrainConfig
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.uint8]]:
    """Return one candidate of each node by its number.

    Probes (n, 4) in meters; lows and steps (n,), millimeters; channels (n, 2).
    """
    unit = probe_unit(config.probe_range_m)
    steps = steps_of(chosen, config)
    probes, lows = np.empty((len(keys), 4, 1), dtype=np.int16), np.empty((len(keys), 1), dtype=np.int16)
    channels = np.zeros(_channels_shape(len(keys), 1, config), dtype=np.uint8)
    _draw(keys, chosen, config, steps[:, None], unit, probes, lows, channels)
    read = channels[:, :, 0] if config.n_groups else np.zeros((len(keys), 2), dtype=np.uint8)
    return probes[:, :, 0] * unit, lows[:, 0].astype(np.int32), steps, read


def _draw(
    keys: Keys,
    firsts: npt.NDArray[np.int64],
    config: TrainConfig,
    steps: npt.NDArray[np.int32],
    unit: np.float32,
    probes: npt.NDArray[np.int16],
    lows: npt.NDArray[np.int16],
    channels: npt.NDArray[np.uint8],
) -> None:
    zero = np.uint32(round(config.zero_share * 2**16))
    reach = np.float32(config.probe_range_m) / unit
    shape = PROBE_SHAPES.index(config.probe_shape)
    _fill_candidates(
        np.ascontiguousarray(keys), firsts.astype(np.uint32), shape, reach, zero, np.ascontiguousarray(steps),
        np.int32(config.thresholds), probes, lows,
    )  # fmt: skip
    if isinstance(config, ContextConfig):
        limits = np.cumsum(np.rint(np.array(config.shares) * 2**16)).astype(np.uint32)
        _fill_channels(
            np.ascontiguousarray(keys), firsts.astype(np.uint32), limits, np.uint32(config.n_groups),
            np.ascontiguousarray(steps), np.int32(config.thresholds), probes, lows, channels,
        )  # fmt: skip


@kernel
def _hash(word):  # type: ignore[no-untyped-def]  # inlined: takes and gives uint32
    word = np.uint32(np.uint32(word ^ np.uint32(word >> _16)) * HASH_1)
    word = np.uint32(np.uint32(word ^ np.uint32(word >> _15)) * HASH_2)
    return np.uint32(word ^ np.uint32(word >> _16))


@kernel
def _fill_words(key: np.uint64, first: np.uint32, number: int, out: npt.NDArray[np.uint32]) -> None:
    """Fill random number `number` of each candidate from `first` on. It vectorizes, as do the next two functions."""
    low, high = np.uint32(key & _LOW_32), np.uint32(key >> _32)
    start = np.uint32(np.uint32(first * _WORDS) + np.uint32(number))
    for i in range(len(out)):
        counter = np.uint32(start + np.uint32(np.uint32(i) * _WORDS))
        out[i] = _hash(np.uint32(_hash(np.uint32(low + np.uint32(counter * GOLDEN_32))) ^ high))


@kernel
def _signed_unit(bits):  # type: ignore[no-untyped-def]  # inlined: takes uint32, gives float32
    """Return an odd number of 17 bits over 2^16, exact: from -1 to 1, never 0."""
    return np.float32(np.int32(np.int32(np.int32(bits) * np.int32(2)) - np.int32(65_535))) * np.float32(2.0**-16)


@kernel
def _fill_probes(
    ones: npt.NDArray[np.uint32],
    others: npt.NDArray[np.uint32],
    shape: int,
    reach: np.float32,
    xs: npt.NDArray[np.int16],
    ys: npt.NDArray[np.int16],
) -> None:
    """Make each probe from two random words: the first if it lies in the disc, else the second, moved into it."""
    for i in range(len(ones)):
        x, y = _signed_unit(np.uint32(ones[i] & _LOW_16)), _signed_unit(np.uint32(ones[i] >> _16))
        other_x, other_y = _signed_unit(np.uint32(others[i] & _LOW_16)), _signed_unit(np.uint32(others[i] >> _16))
        is_in = (shape == 2) | (np.float32(np.float32(x * x) + np.float32(y * y)) <= np.float32(1))
        other_is_in = np.float32(np.float32(other_x * other_x) + np.float32(other_y * other_y)) <= np.float32(1)
        shrink = np.float32(1) if other_is_in else INTO_DISC
        x = x if is_in else np.float32(other_x * shrink)
        y = y if is_in else np.float32(other_y * shrink)
        # uniform in the disc, times the distance from its center, is uniform in length
        length = np.float32(np.sqrt(np.float32(np.float32(x * x) + np.float32(y * y))))
        length = length if shape == 0 else np.float32(1)
        xs[i] = np.int16(np.int32(np.float32(np.float32(x * length) * reach)))
        ys[i] = np.int16(np.int32(np.float32(np.float32(y * length) * reach)))


@kernel
def _fill_lows(
    words: npt.NDArray[np.uint32],
    zero: np.uint32,
    steps: npt.NDArray[np.int32],
    n_thresholds: np.int32,
    xs: npt.NDArray[np.int16],
    ys: npt.NDArray[np.int16],
    lows: npt.NDArray[np.int16],
) -> None:
    """Set some of the probes to 0, and shift each series of thresholds by less than a step."""
    for i in range(len(words)):
        is_zero = np.uint32(words[i] >> _16) < zero
        xs[i] = np.int16(0) if is_zero else xs[i]
        ys[i] = np.int16(0) if is_zero else ys[i]
        shift = np.int32(np.uint32(np.uint32(words[i] & _LOW_16) * np.uint32(steps[i])) >> _16)
        half = np.int32(np.int32(n_thresholds * steps[i]) >> np.int32(1))
        lows[i] = np.int16(np.int32(np.int32(shift - half) - np.int32(steps[i] - np.int32(1))))


@kernel
def _fill_candidates(
    keys: Keys,
    firsts: npt.NDArray[np.uint32],
    shape: int,
    reach: np.float32,
    zero: np.uint32,
    steps: npt.NDArray[np.int32],
    n_thresholds: np.int32,
    probes: npt.NDArray[np.int16],
    lows: npt.NDArray[np.int16],
) -> None:
    """Fill the candidates of each node from number `firsts[node]` on; `steps` has a row a node, or one for all."""
    words = np.empty((2, lows.shape[1]), dtype=np.uint32)
    for node in range(len(keys)):
        for pair in range(2):
            for k in range(2):
                _fill_words(keys[node], firsts[node], 2 * pair + k, words[k])
            _fill_probes(words[0], words[1], shape, reach, probes[node, 2 * pair], probes[node, 2 * pair + 1])
        _fill_words(keys[node], firsts[node], 4, words[0])
        its_steps = steps[min(node, len(steps) - 1)]
        _fill_lows(words[0], zero, its_steps, n_thresholds, probes[node, 2], probes[node, 3], lows[node])


@kernel
def _fill_channels(
    keys: Keys,
    firsts: npt.NDArray[np.uint32],
    limits: npt.NDArray[np.uint32],
    n_groups: np.uint32,
    steps: npt.NDArray[np.int32],
    n_thresholds: np.int32,
    probes: npt.NDArray[np.int16],
    lows: npt.NDArray[np.int16],
    channels: npt.NDArray[np.uint8],
) -> None:
    """Fill the channels of each node's candidates; single reads get thresholds in the range of the readings.

    `limits` (4,) are the shares of kinds, summed, in 65,536ths: one group, one group twice, two groups, a position.
    """
    words = np.empty((2, lows.shape[1]), dtype=np.uint32)
    n_positions = np.uint32(FIRST_GROUP - FIRST_POSITION)
    for node in range(len(keys)):
        its_steps = steps[min(node, len(steps) - 1)]
        for k in range(2):
            _fill_words(keys[node], firsts[node], 5 + k, words[k])
        for i in range(lows.shape[1]):
            kind, is_own = np.uint32(words[0, i] & _LOW_16), np.uint32(words[0, i] >> _16) < np.uint32(16_384)
            one = np.uint32(np.uint32(np.uint32(words[1, i] & _LOW_16) * n_groups) >> _16)
            other = np.uint32(np.uint32(np.uint32(words[1, i] >> _16) * n_groups) >> _16)
            half = np.int32(np.int32(n_thresholds * its_steps[i]) >> np.int32(1))
            if kind < limits[0]:
                channels[node, 0, i], channels[node, 1, i] = FIRST_GROUP + one, NOTHING
                lows[node, i] = np.int16(lows[node, i] + half)  # probabilities begin at 0
                if is_own:
                    probes[node, 0, i], probes[node, 1, i] = 0, 0
            elif kind < limits[2]:
                channels[node, 0, i] = FIRST_GROUP + one
                channels[node, 1, i] = FIRST_GROUP + (one if kind < limits[1] else other)
            elif kind < limits[3]:
                one = np.uint32(np.uint32(np.uint32(words[1, i] & _LOW_16) * n_positions) >> _16)
                channels[node, 0, i], channels[node, 1, i] = FIRST_POSITION + one, NOTHING
                lows[node, i] = np.int16(lows[node, i] + POSITION_MIDDLE)
                probes[node, 0, i], probes[node, 1, i] = 0, 0
            else:
                channels[node, 0, i], channels[node, 1, i] = 0, 0
