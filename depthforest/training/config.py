"""TrainConfig and PeopleConfig: every number that shapes a forest or a person model, in one frozen value each.

What does not shape the forest (threads, shards, memory, paths) is an option of `training.train` instead. Imports
neither numpy nor numba, so that the command line can show the defaults at once.
"""

from __future__ import annotations

from dataclasses import dataclass

from depthforest.base import CRITERIA, TomlConfig, UsageError

PROBE_SHAPES = ("radius", "disc", "square")
LEAF_COUNTS = ("drawn",)
"""Allowed values of `leaf_counts`. Only one is left; the field stays, because model files and configurations have
it."""

MAX_DEPTH = 40
"""Largest depth: a tree this deep has more leaves than any data set has pixels."""

MAX_THRESHOLDS = 254
"""Most thresholds: a bin is one byte, and there is one more bin than thresholds."""

MAX_STEP_MM = 8192
"""Largest step between thresholds in millimeters: bins are computed by a float32 product, exact up to twice that."""

MAX_WEIGHT = 64
"""Largest class weight: a class up to 64 times rarer than the most common one can count as much."""


MAX_GROUPS = 64
"""Most groups of parts that a context stage reads, as in `trees.channels`."""


class TrainConfigError(UsageError):
    """A training configuration that cannot be used."""


@dataclass(frozen=True)
class TrainConfig(TomlConfig):
    """Parameters that shape a forest. The same configuration and data give the same bytes.

    Parameters
    ----------
    trees : int
        Number of trees.
    depth : int
        Maximum depth of a tree.
    frames_per_tree : float
        Frames that each tree is grown on: a share of the data set up to 1, a number above. The others are out of bag.
    pixels_per_frame : int
        Training pixels drawn from each frame, over all its people.
    class_balance : float, 0 to 1
        How evenly the pixels of a frame are drawn over its parts: 0 = natural frequencies, 1 = equal numbers.
    class_weights : float, 0 to 1
        Class-weight exponent of splits: 0 = all pixels count alike, 1 = all parts count alike.
    candidates : int
        Pairs of probes tried at each node.
    thresholds : int
        Thresholds tried for each pair, at equal steps.
    threshold_range_mm : int
        Thresholds cover responses from minus to plus this value.
    threshold_scales : int
        Number of threshold ranges that candidates alternate between, each half as wide as the one before.
    probe_range_m : float
        Maximum distance of a probe from its pixel.
    probe_shape : "radius", "disc" or "square"
        Distribution of probes: uniform in distance, over the disc, or over the square of that half width.
    zero_share : float, 0 to 1
        Share of the pairs whose second probe is the pixel itself.
    min_pixels : int
        A node with fewer training pixels is not split.
    min_gain : float
        Minimum gain of a split, in bits per pixel or Gini impurity.
    criterion : "entropy" or "gini"
        Impurity that splits reduce.
    leaf_counts : "drawn"
        Leaves hold the distribution of the training pixels as drawn.
    leaf_smoothing : float
        Pixels of the whole tree's distribution added to each leaf, for parts that it has not seen.
    background_mm : int
        Depth that a probe reads when it misses the person.
    seed : int
        Random seed; the same seed, data and options give the same forest.
    """

    ERROR = TrainConfigError

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
        super().__post_init__()
        self._check_ranges(
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
        )
        self._check_choice("criterion", CRITERIA)
        self._check_choice("probe_shape", PROBE_SHAPES)
        self._check_choice("leaf_counts", LEAF_COUNTS)
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
    def n_groups(self) -> int:
        """Number of groups of parts that probes can read; 0: they read depth only."""
        return 0

    @property
    def step_mm(self) -> int:
        """Millimeters between two thresholds of the widest ladder."""
        return max(1, -(-2 * self.threshold_range_mm // self.thresholds))

    def frames_of(self, n_frames: int) -> int:
        """Return how many of `n_frames` frames each tree is grown on: at least one."""
        n = round(self.frames_per_tree * n_frames) if self.frames_per_tree <= 1 else int(self.frames_per_tree)
        return min(max(n, 1), n_frames)


@dataclass(frozen=True)
class ContextConfig(TrainConfig):
    """Parameters that shape a context stage: `TrainConfig` with other defaults, and shares of candidates by kind.

    All remaining candidates are pairs of depth probes, as in the first stage.

    Parameters
    ----------
    groups : int
        Number of groups of parts in the first stage's answers; 0: as many as the part set has.
    single_share : float, 0 to 1
        Share of candidates that read the probability of one group at one place.
    pair_share : float, 0 to 1
        Share of candidates that compare the probabilities of one group at two places.
    mixed_share : float, 0 to 1
        Share of candidates that compare the probabilities of two groups.
    position_share : float, 0 to 1
        Share of candidates that read the pixel's position in the body's own frame.
    leaf_balance : float, 0 to 1
        Class-weight exponent of leaves: 0 = natural frequencies, 1 = fully balanced.
    """

    trees: int = 2
    depth: int = 18
    frames_per_tree: float = 0.7
    pixels_per_frame: int = 300
    probe_range_m: float = 0.9
    min_pixels: int = 200
    groups: int = 0
    single_share: float = 0.3
    pair_share: float = 0.15
    mixed_share: float = 0.1
    position_share: float = 0.15
    leaf_balance: float = 0.9

    def __post_init__(self) -> None:
        super().__post_init__()
        names = (*self.SHARES, "leaf_balance")
        self._check_ranges(("groups", 0, MAX_GROUPS), *((name, 0, 1) for name in names))
        if sum(self.shares) > 1 + 1e-9:
            raise TrainConfigError(f"{', '.join(self.SHARES)} must not sum to more than 1, got {sum(self.shares):g}")

    SHARES = ("single_share", "pair_share", "mixed_share", "position_share")

    @property
    def shares(self) -> tuple[float, ...]:
        """The shares of candidates, in the order of `SHARES`."""
        return tuple(getattr(self, name) for name in self.SHARES)

    @property
    def n_groups(self) -> int:
        """Number of groups of parts that probes can read."""
        return self.groups


@dataclass(frozen=True)
class PeopleConfig(TomlConfig):
    """Parameters that shape a person model. The same configuration and data give the same bytes.

    Parameters
    ----------
    body : str
        Shipped body forest that describes candidates.
    scene_share : float
        Share of the frames that train the scene forest; the others train the judge.
    bare_share : float
        Share of the frames with people in which the background is removed.
    trees, depth, pixels_per_frame, class_balance, candidates, threshold_range_mm, probe_range_m, min_pixels
        Parameter of the scene forest, as in `TrainConfig`.
    least_person : float, 0 to 1
        Cells that are less likely than this to show a person count as room.
    judges : int
        Number of trees of the judge, the random forest that classifies candidates.
    judge_leaves : int
        Maximum number of leaves of a tree of the judge.
    false_people : float
        Allowed number of false people per frame, from which the probability threshold follows.
    seed : int
        Random seed; the same seed, data and options give the same model.
    """

    ERROR = TrainConfigError

    body: str = "body31"
    scene_share: float = 0.5
    bare_share: float = 0.15
    trees: int = 3
    depth: int = 14
    pixels_per_frame: int = 400
    class_balance: float = 0.3
    candidates: int = 600
    threshold_range_mm: int = 800
    probe_range_m: float = 0.9
    min_pixels: int = 60
    least_person: float = 0.15
    judges: int = 100
    judge_leaves: int = 300
    false_people: float = 0.15
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_ranges(
            ("scene_share", 0.05, 0.95),
            ("bare_share", 0, 1),
            ("least_person", 0, 1),
            ("judges", 1, 4096),
            ("judge_leaves", 2, 100_000),
            ("false_people", 0, 10),
        )
        self.scene_config()

    def scene_config(self) -> TrainConfig:
        """Return the configuration of the scene forest."""
        names = (
            "trees", "depth", "pixels_per_frame", "class_balance", "candidates", "threshold_range_mm", "probe_range_m",
            "min_pixels", "seed",
        )  # fmt: skip
        return TrainConfig(frames_per_tree=0.7, **{name: getattr(self, name) for name in names})
