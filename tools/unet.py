"""A U-Net with 1.6 million weights that learns from the frames of body31, as the obvious alternative to a forest.

    python -m venv --system-site-packages unet && unet/bin/python -m pip install torch==2.13.0
    unet/bin/python tools/unet.py make WORK --mocap cmu_bvh --rounds 4
    unet/bin/python tools/unet.py train WORK --minutes 90
    unet/bin/python tools/unet.py judge WORK --mocap cmu_bvh --marks marks.json --frames DIR

makes synthetic frames with the configurations, sensors and near views of body31 (but other seeds), trains on one thread
of a CPU, and compares the network with body31: the same frames of the bench, the same figures, and the time of both on
one thread in the same run. torch is not a dependency of the package. WORK is a folder outside the checkout.

`make` makes one data set after another, in rounds over all of them; `train` may run at the same time: every pass uses
the finished data sets. Either can be stopped and run again: results are kept, and training continues after the last
complete pass.

A person is cut out and scaled so that a pixel of the network is 16 mm at the person's median depth, coarser if the
person would not fit. The network reads the depth relative to that median, and the mask.
"""

from __future__ import annotations

import argparse
import math
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from depthforest.base import Bools, DatasetError, make_folder, write_json
from depthforest.evaluation import Evaluation, open_bench
from depthforest.evaluation.judging import evaluate_many
from depthforest.evaluation.marks import MarkedFrames, read_marks, score_marks
from depthforest.evaluation.options import JudgeOptions
from depthforest.forest import Forest, load
from depthforest.frames import BODY31, NO_PART, Camera, Frame, LabeledFrame
from depthforest.io import open_dataset

try:
    import torch
    from torch import nn
    from torch.nn import functional
except ImportError:
    sys.exit("this script needs torch: python -m pip install torch==2.13.0, in an environment of its own")

Tensor = Any
"""A torch.Tensor; torch is not installed when types are checked."""

MODELS = Path(__file__).resolve().parents[1] / "models"

ROUND: tuple[tuple[str, int, str, tuple[str, ...]], ...] = (
    ("v1", 500, "synth", ()),
    ("near", 300, "near", ()),
    ("realsense", 140, "synth", ("--sensor", "realsense", "--camera", "realsense_d435@424x240")),
    ("v2", 125, "synth", ("--sensor", "kinect_v2", "--camera", "kinect_v2@256x212")),
    ("azure", 125, "synth", ("--sensor", "azure", "--camera", "azure_nfov@320x288")),
    ("registered", 75, "synth", ("--sensor", "kinect_v1_registered")),
    ("desk", 75, "desk", ()),
    ("low", 75, "low", ()),
    ("ideal", 50, "synth", ("--sensor", "ideal")),
)
"""Data sets of a round: name, frames, configuration body31.*.toml, other options. The mix is that of body31's trees,
with the desks and low cameras of its context stage."""

VALID = (("valid", 200, 7100), ("valid_near", 100, 7101))
"""Validation frames for choosing settings, of subjects that neither training nor bench has: name, frames, seed."""

FIRST_SEED = 8000
"""Seed of the first data set; a set's seed is this plus 100 times its round plus its position in the round."""

PIXEL_M = 0.016
"""Size of a network pixel at the person's depth."""

ROWS, COLS, MARGIN = 128, 96, 16
"""Size of the network's input, and the margin around it in training frames, for shifts and rotations."""

DEPTH_UNIT_M = 0.5
WIDTHS = (16, 32, 64, 128, 192)
"""Channels of the levels, each at half the resolution of the one before."""

BATCH, PEAK_RATE, DECAY, AVERAGING = 16, 2e-3, 1e-2, 0.99
SEED = 17
PRIOR_POWERS = (0.0, 0.5, 1.0)
"""Probabilities are divided by the parts' shares to one of these powers, chosen on the validation frames. 0 keeps the
result of plain cross-entropy, 1 treats all parts as equally common."""

BENCH = ("mocap", "cut", "rooms", "sensor_realsense")
FIGURES = {"31 parts": "parts.mean_class_accuracy", "15 regions": "regions.mean_class_accuracy"}


# -- the network -------------------------------------------------------------------------------------------------------


def build_network() -> nn.ModuleDict:
    """Return the network with random weights."""
    levels = tuple(pairwise(WIDTHS))
    return nn.ModuleDict(
        {
            "down": nn.ModuleList(_block(a, b) for a, b in ((2, WIDTHS[0]), *levels)),
            "up": nn.ModuleList(_block(a + b, a) for a, b in levels),
            "head": nn.Conv2d(WIDTHS[0], len(BODY31), 1),
        }
    ).to(memory_format=torch.channels_last)


def _block(n_in: int, n_out: int) -> nn.Sequential:
    layers: list[nn.Module] = []
    for n in (n_in, n_out):
        layers += [nn.Conv2d(n, n_out, 3, padding=1, bias=False), nn.BatchNorm2d(n_out), nn.ReLU(inplace=True)]
    return nn.Sequential(*layers)


def logits_of(network: nn.ModuleDict, pictures: Tensor) -> Tensor:
    """Return the logits of all parts, (n, 31, rows, cols), for pictures (n, 2, rows, cols)."""
    down, up = network["down"], network["up"]
    kept = [down[0](pictures)]
    for block in down[1:]:
        kept.append(block(functional.max_pool2d(kept[-1], 2)))
    answer = kept.pop()
    for block, beside in zip(reversed(up), reversed(kept), strict=True):
        larger = functional.interpolate(answer, scale_factor=2, mode="nearest")
        answer = block(torch.cat([larger, beside], 1))
    return network["head"](answer)


def fused(network: nn.ModuleDict) -> nn.ModuleDict:
    """Return a network for inference: every batch norm is fused into its convolution."""
    network.eval()
    for block in (*network["down"], *network["up"]):
        for i in (0, 3):
            block[i] = nn.utils.fusion.fuse_conv_bn_eval(block[i], block[i + 1])
            block[i + 1] = nn.Identity()
    return network.to(memory_format=torch.channels_last)


# -- pictures ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Window:
    """The part of a frame that the network sees: its first row and column, its size, and the median depth."""

    top: int
    left: int
    rows: int
    cols: int
    depth_m: float

    @classmethod
    def around(cls, depth_mm: npt.NDArray[np.uint16], mask: Bools, camera: Camera, margin: int = 0) -> Window:
        """Return the window of a person, with `margin` network pixels around it."""
        rows, cols = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
        depth_m = float(np.median(depth_mm[mask])) / 1000
        height, width = rows[-1] + 1 - rows[0], cols[-1] + 1 - cols[0]
        side = max(PIXEL_M * math.sqrt(camera.fx * camera.fy) / depth_m, height / (ROWS - 2), width / (COLS - 2))
        n_rows, n_cols = round((ROWS + 2 * margin) * side), round((COLS + 2 * margin) * side)
        top, left = (rows[0] + rows[-1] + 1 - n_rows) // 2, (cols[0] + cols[-1] + 1 - n_cols) // 2
        return cls(int(top), int(left), n_rows, n_cols, depth_m)

    def cut(self, picture: npt.NDArray[Any], outside: int) -> npt.NDArray[Any]:
        """Return the window of a picture, filled up outside of it."""
        cut = np.full((self.rows, self.cols), outside, dtype=picture.dtype)
        top, left = max(self.top, 0), max(self.left, 0)
        part = picture[top : self.top + self.rows, left : self.left + self.cols]
        rows, cols = top - self.top, left - self.left
        cut[rows : rows + part.shape[0], cols : cols + part.shape[1]] = part
        return cut


def picture_of(frame: Frame, mask: Bools, window: Window, size: tuple[int, int]) -> Tensor:
    """Return the network's input for a person, (2, rows, cols): relative depth where there is any, and the mask."""
    is_seen = window.cut(mask, 0)
    depth = np.where(is_seen, window.cut(frame.depth_mm, 0) * np.float32(0.001) - np.float32(window.depth_m), 0)
    both = torch.from_numpy(np.stack([depth / np.float32(DEPTH_UNIT_M), is_seen]).astype(np.float32))
    # the mean over the pixels of the frame that a pixel of the network covers
    scaled = functional.interpolate(both[None], size=size, mode="area")[0]
    return whole_pixels(scaled[None])[0]


def whole_pixels(pictures: Tensor) -> Tensor:
    """Return pictures (n, 2, rows, cols) with fractional mask pixels rounded to the person's or not."""
    depth, share = pictures[:, :1], pictures[:, 1:]
    is_person = share >= 0.5
    return torch.cat([(depth / share.clamp(min=0.5)).clamp(-3, 3) * is_person, is_person.float()], 1)


# -- frames to learn from ----------------------------------------------------------------------------------------------


def make(work: Path, mocap: str, rounds: int) -> None:
    """Make the data sets that are missing."""
    clips = ["--mocap", mocap, "--format", "zarr"]
    make_folder(work)
    for name, frames, seed in VALID:
        _synth(work / f"{name}.zarr", frames, name, seed, clips)
    for r in range(rounds):
        for i, (name, frames, config, options) in enumerate(ROUND):
            _synth(work / f"r{r}_{name}.zarr", frames, config, FIRST_SEED + 100 * r + i, [*clips, *options])


def _synth(path: Path, frames: int, config: str, seed: int, options: Sequence[str]) -> None:
    settings = ["--config", str(MODELS / f"body31.{config}.toml"), "--seed", str(seed)]
    command = [sys.executable, "-m", "depthforest", "synth", "-n", str(frames), "-o", str(path), *settings, *options]
    subprocess.run(command, check=True)


def people_of(frames: Sequence[LabeledFrame]) -> Iterator[tuple[LabeledFrame, Bools]]:
    """Yield everyone in the frames."""
    for frame in frames:
        for person in np.unique(frame.people[frame.parts != NO_PART]).tolist():
            yield frame, (frame.people == person) & (frame.depth_mm > 0)


class Crops:
    """The people in all finished data sets of a work folder, as network inputs with the margin.

    Attributes
    ----------
    pictures : list of tensor (2, rows, cols), float16
    labels : list of tensor (rows, cols), uint8
        The part plus 1; 0 where there is none.
    """

    def __init__(self, work: Path) -> None:
        self.work, self.pictures, self.labels = work, list[Tensor](), list[Tensor]()
        self.sets: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self.labels)

    def take_finished(self) -> None:
        """Read the data sets that were finished since the last time."""
        for path in sorted(self.work.glob("r*_*.zarr")):
            if path.name in self.sets:
                continue
            try:
                frames = open_dataset(path)
            except DatasetError:
                continue  # it is still being made
            for frame, mask in people_of(frames):
                self._add(frame, mask)
            self.sets[path.name] = len(frames)

    def _add(self, frame: LabeledFrame, mask: Bools) -> None:
        size = ROWS + 2 * MARGIN, COLS + 2 * MARGIN
        window = Window.around(frame.depth_mm, mask, frame.camera, MARGIN)
        rows, cols = (
            np.floor((np.arange(n) + 0.5) * own / n).astype(int)
            for n, own in zip(size, (window.rows, window.cols), strict=True)
        )
        parts = window.cut(np.where(mask, frame.parts, NO_PART), NO_PART)[rows[:, None], cols]
        self.pictures.append(picture_of(frame, mask, window, size).half())
        self.labels.append(torch.from_numpy(parts + np.uint8(1)))  # 255 becomes 0

    def batch(self, chosen: npt.NDArray[np.int64], rng: np.random.Generator) -> tuple[Tensor, Tensor]:
        """Return augmented people as pictures (n, 2, rows, cols) and parts (n, rows, cols), -1 for none.

        Each is mirrored or not, rotated by up to 8 degrees, shifted, and scaled by up to 18 %.
        """
        n = len(chosen)
        pictures = torch.stack([self.pictures[i] for i in chosen]).float()
        labels = torch.stack([self.labels[i] for i in chosen]).float()[:, None]
        scale, angle = np.exp(rng.uniform(-0.165, 0.165, n)), np.radians(rng.uniform(-8, 8, n))
        is_mirrored, shift = rng.random(n) < 0.5, rng.uniform(-6, 6, (n, 2))
        own = np.array([COLS + 2 * MARGIN, ROWS + 2 * MARGIN])
        turn = scale * np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        turn[:, 0] *= np.where(is_mirrored, -1, 1)
        theta = np.zeros((n, 2, 3))
        theta[:, :, :2] = turn.transpose(2, 0, 1) * np.array([COLS, ROWS]) / own[:, None]
        theta[:, :, 2] = 2 * shift / own
        grid = functional.affine_grid(torch.from_numpy(theta).float(), [n, 2, ROWS, COLS], align_corners=False)
        pictures = functional.grid_sample(pictures, grid, align_corners=False)
        pictures[:, 0] /= torch.from_numpy(scale).float()[:, None, None]
        parts = functional.grid_sample(labels, grid, mode="nearest", align_corners=False)[:, 0].long() - 1
        swapped = torch.from_numpy(BODY31.mirror_table[: len(BODY31)].astype(np.int64))
        is_swapped = torch.from_numpy(is_mirrored)[:, None, None] & (parts >= 0)
        parts = torch.where(is_swapped, swapped[parts.clamp(min=0)], parts)
        return whole_pixels(pictures).contiguous(memory_format=torch.channels_last), parts


# -- training ----------------------------------------------------------------------------------------------------------


@dataclass
class Budget:
    """Budget of training: processor time, and wall time if that ends first; both in seconds."""

    processor: float
    clock: float
    spent: float = 0.0

    def __post_init__(self) -> None:
        self.last, self.clock_began = time.process_time(), time.monotonic()

    def share(self) -> float:
        """Return the share of the budget that is spent, 0 to 1."""
        now = time.process_time()
        self.spent, self.last = self.spent + now - self.last, now
        return min(max(self.spent / self.processor, (time.monotonic() - self.clock_began) / self.clock), 1.0)


def learning_rate(passed: float) -> float:
    """Return the rate at a share of the budget: it rises for 3 %, then falls as a cosine."""
    if passed < 0.03:
        return PEAK_RATE * (0.05 + passed / 0.03)
    return PEAK_RATE * (0.01 + 0.99 * (1 + math.cos(math.pi * (passed - 0.03) / 0.97)) / 2)


class Course:
    """A network in training: its weights, their running mean, and its progress.

    Parameters
    ----------
    path : Path
        The checkpoint; if it exists, training continues from it.
    """

    def __init__(self, path: Path) -> None:
        torch.manual_seed(SEED)
        self.path, self.network, self.mean = path, build_network(), build_network()
        self.mean.load_state_dict(self.network.state_dict())
        self.optimizer = torch.optim.AdamW(self.network.parameters(), weight_decay=DECAY)
        self.n_passes, self.n_seen, self.counts, self.spent = 0, 0, torch.ones(len(BODY31)), 0.0
        if path.exists():
            state = torch.load(path)
            for own, key in ((self.network, "network"), (self.mean, "mean"), (self.optimizer, "optimizer")):
                own.load_state_dict(state[key])
            self.n_passes, self.n_seen, self.counts = state["passes"], state["seen"], state["counts"]
            self.spent = state["spent"]

    def step(self, pictures: Tensor, parts: Tensor, rate: float) -> float:
        """Learn from people, and return the loss."""
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        loss = functional.cross_entropy(logits_of(self.network, pictures), parts, ignore_index=-1)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        with torch.no_grad():
            for own, other in zip(self.mean.state_dict().values(), self.network.state_dict().values(), strict=True):
                if own.is_floating_point():
                    own.lerp_(other, 1 - AVERAGING)
        self.counts += torch.bincount(parts[parts >= 0], minlength=len(BODY31))
        self.n_seen += len(parts)
        return float(loss.detach())

    def save(self, sets: dict[str, int]) -> None:
        """Write the checkpoint atomically."""
        state = {
            "network": self.network.state_dict(),
            "mean": self.mean.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "spent": self.spent,
            "passes": self.n_passes,
            "seen": self.n_seen,
            "counts": self.counts,
            "sets": sets,
        }
        temporary = self.path.with_suffix(".tmp")
        torch.save(state, temporary)
        temporary.replace(self.path)


def train(work: Path, minutes: float, clock_minutes: float) -> None:
    """Train until the budget is spent."""
    course, crops = Course(work / "checkpoint.pt"), Crops(work)
    budget = Budget(60 * minutes, 60 * clock_minutes, course.spent)
    print(f"{sum(p.numel() for p in course.network.parameters()):,} weights")
    while budget.share() < 1:
        crops.take_finished()
        if len(crops) < BATCH:
            raise SystemExit(f"{work}: has no finished data set; run `make` first")
        rng, losses = np.random.default_rng((SEED, course.n_passes)), []
        order = rng.permutation(len(crops))
        course.network.train()
        for start in range(0, len(order) - BATCH + 1, BATCH):
            passed = budget.share()
            if passed >= 1:
                break
            pictures, parts = crops.batch(order[start : start + BATCH], rng)
            losses.append(course.step(pictures, parts, learning_rate(passed)))
        budget.share()
        course.n_passes, course.spent = course.n_passes + 1, budget.spent
        course.save(crops.sets)
        news = f"pass {course.n_passes}: {len(crops)} people of {sum(crops.sets.values())} frames"
        seen = f"{course.n_seen:,} seen in {budget.spent / 60:.1f} minutes of one thread"
        print(f"{news}, {seen}, loss {np.mean(losses or [math.nan]):.3f}", flush=True)


# -- answers -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Answer:
    """Parts and confidence, as in `Labeling`."""

    parts: npt.NDArray[np.uint8]
    confidence: npt.NDArray[np.float32]


class NetworkModel:
    """A network with the interface of `Forest.label`, for code that evaluates forests.

    Parameters
    ----------
    network : ModuleDict
        Network with `fused` blocks.
    prior : tensor (31,)
        Subtracted from the logits.
    mirror : bool
        Whether to average the answers for the picture and its mirror image.
    """

    part_set = BODY31

    def __init__(self, network: nn.ModuleDict, prior: Tensor, mirror: bool) -> None:
        self.network, self.prior, self.mirror = network, prior, mirror
        self.swapped = torch.from_numpy(BODY31.mirror_table[: len(BODY31)].astype(np.int64))

    def label(self, frame: Frame, mask: Bools, **_: object) -> Answer:
        """Label a person."""
        with torch.inference_mode():
            return self._label(frame, mask & (frame.depth_mm > 0))

    def _label(self, frame: Frame, mask: Bools) -> Answer:
        answer = Answer(np.full(frame.shape, NO_PART, dtype=np.uint8), np.zeros(frame.shape, dtype=np.float32))
        rows, cols = np.nonzero(mask)
        if not len(rows):
            return answer
        shares, window = self.shares(frame, mask)
        # at each pixel of the person, between the pixels of the network
        x = (cols - window.left + 0.5) * (2 / window.cols) - 1
        y = (rows - window.top + 0.5) * (2 / window.rows) - 1
        grid = torch.from_numpy(np.stack([x, y], axis=1).astype(np.float32))[None, None]
        own = functional.grid_sample(shares, grid, align_corners=False, padding_mode="border")[0, :, 0]
        best, parts = own.max(0)
        answer.parts[rows, cols], answer.confidence[rows, cols] = parts.numpy(), best.numpy()
        return answer

    def shares(self, frame: Frame, mask: Bools) -> tuple[Tensor, Window]:
        """Return the probabilities of the parts at the pixels of the network, (1, 31, rows, cols), and the window."""
        window = Window.around(frame.depth_mm, mask, frame.camera)
        picture = picture_of(frame, mask, window, (ROWS, COLS))[None]
        if self.mirror:
            picture = torch.cat([picture, picture.flip(3)])
        picture = picture.contiguous(memory_format=torch.channels_last)
        shares = (logits_of(self.network, picture) - self.prior).softmax(1)
        return (shares[:1] + shares[1:, self.swapped].flip(3)) / 2 if self.mirror else shares, window


class Timed:
    """A model that times each person: processor time of the thread, in milliseconds."""

    def __init__(self, model: Any) -> None:
        self.model, self.part_set, self.label_ms = model, model.part_set, list[float]()

    def label(self, frame: Frame, mask: Bools, **options: Any) -> Any:
        """Label a person."""
        began = time.thread_time()
        answer = self.model.label(frame, mask, **options)
        self.label_ms.append(1000 * (time.thread_time() - began))
        return answer


def chosen_network(work: Path) -> tuple[dict[bool, NetworkModel], dict[str, Any]]:
    """Return the trained network, without and with mirroring, and the choices made on the validation frames."""
    state = torch.load(work / "checkpoint.pt")
    network = build_network()
    network.load_state_dict(state["mean"])
    network, shares = fused(network), (state["counts"] / state["counts"].sum()).log()[:, None, None]
    frames = [frame for name, *_ in VALID for frame in open_dataset(work / f"{name}.zarr")]
    tried = {}
    for power in PRIOR_POWERS:
        found = judged([NetworkModel(network, power * shares, mirror=False)], frames)[0]
        tried[power] = {title: found.figures[name].value for title, name in FIGURES.items()}
        print(f"validation, prior to the power {power:g}: {_percent(tried[power].values())}", flush=True)
    best = max(tried, key=lambda power: tried[power]["31 parts"])
    kept = {key: state[key] for key in ("spent", "passes", "seen", "sets")}
    models = {mirror: NetworkModel(network, best * shares, mirror) for mirror in (False, True)}
    return models, kept | {"valid": tried, "prior_power": best}


def judged(
    models: Sequence[Any], frames: Sequence[LabeledFrame], progress: Callable[[int], object] | None = None
) -> list[Evaluation]:
    """Evaluate models as `evaluate` does, without joints, on one thread."""
    options = JudgeOptions(threads=1, joints=False, timed_frames=0)
    return evaluate_many([cast(Forest, model) for model in models], frames, options, progress=progress)


def judge(
    work: Path, mocap: str, sets: Sequence[str], marks: Path | None, frames: Path | None, limit: int | None
) -> None:
    """Compare the network with body31, and write the figures."""
    networks, notes = chosen_network(work)
    models: dict[str, Any] = {"body31": load("body31"), "body31-fast": load("body31-fast")}
    models |= {"U-Net": networks[False], "U-Net, mirrored too": networks[True]}
    rows: dict[str, dict[str, Any]] = {}
    if marks is not None and frames is not None:
        options = JudgeOptions(threads=1, joints=False)
        for model, one in models.items():
            scored = score_marks(one, read_marks(marks), MarkedFrames(frames, "kinect_v1"), options)
            right = int(scored.tally.right.sum())
            rows.setdefault("marks", {})[model] = {"right": right, "of": scored.n_pixels}
            print(f"marks, {model}: {right} of {scored.n_pixels}", flush=True)
    for name in sets:
        timed = [Timed(model) for model in models.values()]
        bench = open_bench(name, mocap, limit)
        for model, one, found in zip(models, timed, judged(timed, bench), strict=True):
            figures = {title: found.figures[key].to_dict() for title, key in FIGURES.items()}
            row = figures | {"ms": float(np.median(one.label_ms)), "frames": len(bench)}
            rows.setdefault(name, {})[model] = row
            shown = _percent(figure["value"] for figure in figures.values())
            print(f"{name}, {len(bench)} frames, {model}: {shown}, {row['ms']:.1f} ms a person", flush=True)
        write_json(work / "unet.json", notes | {"bench": rows})


def _percent(values: Any) -> str:
    return ", ".join(f"{100 * value:.1f} %" for value in values)


def main(arguments: Sequence[str] | None = None) -> None:
    """Make frames, train, or judge."""
    torch.set_num_threads(1)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    steps = parser.add_subparsers(dest="step", required=True)
    by_name = {name: steps.add_parser(name) for name in ("make", "train", "judge")}
    for step in by_name.values():
        step.add_argument("work", type=Path)
    by_name["make"].add_argument("--mocap", required=True, help="folder of the CMU clips")
    by_name["make"].add_argument("--rounds", type=int, default=4, help="of 1,465 frames each")
    by_name["train"].add_argument("--minutes", type=float, default=90, help="processor time")
    by_name["train"].add_argument(
        "--clock-minutes", type=float, default=math.inf, help="the end, where that is earlier"
    )
    by_name["judge"].add_argument("--mocap", required=True, help="folder of the CMU clips")
    by_name["judge"].add_argument("--bench", nargs="+", default=BENCH, help="test sets")
    by_name["judge"].add_argument("--limit", type=int, help="only so many frames of each")
    by_name["judge"].add_argument("--marks", type=Path, help="marks file of real Kinect v1 frames")
    by_name["judge"].add_argument("--frames", type=Path, help="folder of these frames")
    given = parser.parse_args(arguments)
    if given.step == "make":
        make(given.work, given.mocap, given.rounds)
    elif given.step == "train":
        train(given.work, given.minutes, given.clock_minutes)
    else:
        judge(given.work, given.mocap, given.bench, given.marks, given.frames, given.limit)


if __name__ == "__main__":
    main()
