"""TrainConfig: every number that shapes a forest, in one frozen value that prints, saves to TOML and loads back.

What does not shape the forest (threads, shards, memory, paths) is an option of `training.train` instead. Imports
neither numpy nor numba, so that the command line can show the defaults at once.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from depthforest.checks import is_number, is_whole
from depthforest.errors import UsageError
from depthforest.files import read_bytes, replacing

CRITERIA = ("entropy", "gini")
PROBE_SHAPES = ("radius", "disc", "square")
LEAF_COUNTS = ("drawn", "true")

MAX_DEPTH = 40
"""Levels: a tree this deep has more leaves than any data set pixels."""

MAX_THRESHOLDS = 254
"""A bin is one byte, and there is one bin more than thresholds."""

MAX_STEP_MM = 8192
"""Largest step between thresholds, millimetres: bins are found by a float32 product, exact up to twice that."""

MAX_INTEGER = 2**64
"""Larger whole numbers are refused before anything is computed or printed of them."""

MAX_WEIGHT = 64
"""Largest class weight: a class that is 64 times rarer than the commonest still counts as much."""


class TrainConfigError(UsageError):
    """A training configuration that cannot be used."""


@dataclass(frozen=True)
class TrainConfig:
    """What a forest is grown with. The same configuration and data give the same bytes.

    Parameters
    ----------
    trees : int
    depth : int
        Splits between the root and the deepest leaf, at most.
    frames_per_tree : float
        Frames of each tree: a share of the data set up to 1, a number above. The others are out of bag.
    pixels_per_frame : int
        Training pixels drawn of each frame, over all its people.
    class_balance : float, 0 to 1
        How evenly a frame's pixels are drawn over its parts: 0 as they come, 1 the same number of each.
    class_weights : float, 0 to 1
        Splits weigh a part by (share of the commonest / its own share) to this power: 0 weighs all pixels alike.
    candidates : int
        Probe pairs tried at each node.
    thresholds : int
        Thresholds tried for each pair, on a ladder of equal steps.
    threshold_range_mm : int
        The ladder reaches from minus to plus this response.
    threshold_scales : int
        Pairs take turns with so many ladders, each half as wide as the one before.
    probe_range_m : float
        Largest length of a probe.
    probe_shape : "radius", "disc" or "square"
        Where probes land: all lengths, all places of the disc, or of the square of that half width, equally often.
    zero_share : float, 0 to 1
        Of the pairs have v = 0, and so compare with the pixel's own depth.
    min_pixels : int
        A node of fewer training pixels is not split.
    min_gain : float
        A node is not split if its best gain is not above this: bits a pixel, or gini impurity.
    criterion : "entropy" or "gini"
    leaf_counts : "drawn" or "true"
        Leaves hold the parts as training pixels were drawn, or as frequent as they are in the frames.
    leaf_smoothing : float
        Pixels of the whole tree's distribution that are added to each leaf, for parts it has not seen.
    background_mm : int
        What a probe reads off the person.
    seed : int
    """

    trees: int = 3
    depth: int = 20
    frames_per_tree: float = 0.8
    pixels_per_frame: int = 350
    class_balance: float = 0.5
    class_weights: float = 0.0
    candidates: int = 500
    thresholds: int = 50
    threshold_range_mm: int = 600
    threshold_scales: int = 3
    probe_range_m: float = 0.45
    probe_shape: str = "radius"
    zero_share: float = 0.25
    min_pixels: int = 8
    min_gain: float = 0.0
    criterion: str = "entropy"
    leaf_counts: str = "drawn"
    leaf_smoothing: float = 1.0
    background_mm: int = 10_000
    seed: int = 0

    def __post_init__(self) -> None:
        for entry in fields(self):
            object.__setattr__(self, entry.name, _checked(entry.name, getattr(self, entry.name), entry.default))
        for name, low, high in (
            ("trees", 1, 1000),
            ("depth", 1, MAX_DEPTH),
            ("pixels_per_frame", 1, 1_000_000),
            ("class_balance", 0, 1),
            ("class_weights", 0, 1),
            ("candidates", 1, 100_000),
            ("thresholds", 1, MAX_THRESHOLDS),
            ("threshold_range_mm", 1, 10_000),
            ("threshold_scales", 1, 8),
            ("probe_range_m", 0.001, 10),
            ("zero_share", 0, 1),
            ("min_pixels", 2, 1_000_000_000),
            ("min_gain", 0, 100),
            ("leaf_smoothing", 0, 1_000_000),
            ("background_mm", 1, 65_535),
            ("seed", 0, 2**63 - 1),
        ):
            value = getattr(self, name)
            if not low <= value <= high:
                raise TrainConfigError(f"{name} must be from {low} to {high}, got {value}")
        for name, known in (("criterion", CRITERIA), ("probe_shape", PROBE_SHAPES), ("leaf_counts", LEAF_COUNTS)):
            if getattr(self, name) not in known:
                raise TrainConfigError(f"{name} must be one of {', '.join(known)}; got {getattr(self, name)!r}")
        if self.frames_per_tree <= 0 or (
            self.frames_per_tree > 1 and self.frames_per_tree != int(self.frames_per_tree)
        ):
            raise TrainConfigError(
                f"frames_per_tree must be a share up to 1 or a whole number above, got {self.frames_per_tree!r}"
            )
        if self.step_mm > MAX_STEP_MM:
            raise TrainConfigError(
                f"{self.thresholds} thresholds over +-{self.threshold_range_mm} mm are {self.step_mm} mm apart, the "
                f"most is {MAX_STEP_MM}; use more thresholds or a smaller threshold_range_mm"
            )

    @property
    def step_mm(self) -> int:
        """Millimetres between two thresholds of the widest ladder."""
        return max(1, -(-2 * self.threshold_range_mm // self.thresholds))

    def frames_of(self, n_frames: int) -> int:
        """Return how many of `n_frames` frames each tree is grown on: at least one."""
        n = round(self.frames_per_tree * n_frames) if self.frames_per_tree <= 1 else int(self.frames_per_tree)
        return min(max(n, 1), n_frames)

    def to_dict(self) -> dict[str, Any]:
        """Return all fields, as a model file stores them."""
        return asdict(self)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], name: str = "config") -> TrainConfig:
        """Build a configuration from some of its fields; what is left out has its default."""
        if not isinstance(content, Mapping):
            raise TrainConfigError(f"{name}: expected keys and values, got {content!r}")
        known = [entry.name for entry in fields(cls)]
        unknown = sorted(set(map(str, content)) - set(known))
        if unknown:
            raise TrainConfigError(f"{name}: unknown keys {', '.join(unknown)}; known are {', '.join(known)}")
        try:
            return cls(**content)
        except TrainConfigError as error:
            raise TrainConfigError(f"{name}: {error}") from None

    def to_toml(self) -> str:
        """Return the configuration as TOML text."""
        return "".join(
            f'{name} = "{value}"\n' if isinstance(value, str) else f"{name} = {value!r}\n"
            for name, value in asdict(self).items()
        )

    @classmethod
    def from_toml(cls, text: str, name: str = "config") -> TrainConfig:
        """Build a configuration from TOML text; what it leaves out has its default."""
        try:
            content = tomllib.loads(text)
        except ValueError as error:  # TOMLDecodeError, or a number of thousands of digits
            raise TrainConfigError(f"{name}: is not valid TOML: {error}") from None
        return cls.from_dict(content, name)

    @classmethod
    def load(cls, path: str | Path) -> TrainConfig:
        """Read a configuration from a TOML file."""
        try:
            text = read_bytes(Path(path), TrainConfigError).decode()
        except UnicodeDecodeError:
            raise TrainConfigError(f"{path}: is not UTF-8 text") from None
        return cls.from_toml(text, str(path))

    def save(self, path: str | Path) -> None:
        """Write the configuration to a TOML file."""
        with replacing(path) as file:
            file.write(self.to_toml().encode())


def _checked(name: str, value: Any, default: Any) -> Any:
    """Return a value in the type of its default: text, whole number or number."""
    if isinstance(default, str):
        if not isinstance(value, str):
            raise TrainConfigError(f"{name} must be text, got {value!r}")
        return value
    if is_whole(value) and abs(value) > MAX_INTEGER:
        raise TrainConfigError(f"{name} is a whole number of more than 64 bits; it is far too large")
    if not is_number(value) or not math.isfinite(value):
        raise TrainConfigError(f"{name} must be a finite number, got {value!r}")
    if isinstance(default, int):
        if value != int(value):
            raise TrainConfigError(f"{name} must be a whole number, got {value!r}")
        return int(value)
    return float(value)
