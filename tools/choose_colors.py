"""Choose part colors that everyone can distinguish, on black, on white and in gray.

Simulated annealing over a grid of sRGB colors. Parts that touch on the body must differ most, for normal
vision, for the three kinds of color blindness (Machado et al. 2009, severity 1) and in lightness alone, as in a
black-and-white print. Every color keeps a distance from black and white. All other pairs differ as much as remains
possible. The person's left is warm, the right cool: that axis survives red-green blindness.

Run `python tools/choose_colors.py body31 --seed 1` (or `regions15 --seed 0`) and paste its output into
`depthforest/parts.py`.
"""

from __future__ import annotations

import argparse
import colorsys
import itertools

import numpy as np
from skimage import color

from depthforest.frames.parts import PART_SETS

VISIONS = {
    "normal": np.eye(3),
    "protan": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deutan": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritan": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
CHANNEL_LEVELS = (0, 40, 80, 120, 160, 200, 230, 255)
LIGHTNESS_RANGE = (30.0, 90.0)  # CIE L*: away from the black background and from white paper
_CHAINS = (
    ("head_upper", "head_lower"),
    ("torso_upper", "shoulder", "arm_upper", "elbow", "arm_lower", "wrist", "hand"),
    ("torso_upper", "torso_lower", "leg_upper", "knee", "leg_lower", "ankle", "foot"),
)
_REGION_CHAINS = (("torso", "upper_arm", "forearm", "hand"), ("torso", "thigh", "shin", "foot"))
TOUCHING = {
    "body31": [
        *((f"{a}_{s}", f"{b}_{s}") for s in "lr" for chain in _CHAINS for a, b in itertools.pairwise(chain)),
        *((f"{a}_{s}", "neck") for s in "lr" for a in ("head_upper", "head_lower", "torso_upper", "shoulder")),
        *((f"{a}_l", f"{a}_r") for a in ("head_upper", "head_lower", "torso_upper", "torso_lower", "leg_upper")),
    ],
    "regions15": [
        *(
            (a if a == "torso" else f"{a}_{s}", f"{b}_{s}")
            for s in "lr"
            for chain in _REGION_CHAINS
            for a, b in itertools.pairwise(chain)
        ),
        ("head", "neck"),
        ("neck", "torso"),
        ("thigh_l", "thigh_r"),
    ],
}
"""Pairs of parts that share a border on the body, by part set."""

WARM_HUES = ((0.90, 1.0), (0.0, 0.22))
COOL_HUES = ((0.42, 0.78),)


def seen_lab(rgb: np.ndarray, vision: str) -> np.ndarray:
    """Return Lab coordinates (n, 3) of sRGB colors (n, 3) in 0..255 as seen with a kind of vision."""
    linear = np.where(rgb / 255 <= 0.04045, rgb / 255 / 12.92, ((rgb / 255 + 0.055) / 1.055) ** 2.4)
    seen = np.clip(linear @ VISIONS[vision].T, 0, 1)
    srgb = np.where(seen <= 0.0031308, seen * 12.92, 1.055 * seen ** (1 / 2.4) - 0.055)
    return np.asarray(color.rgb2lab(srgb[None])[0])


def distances(rgb: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return pairwise CIEDE2000 for normal eyes, its minimum over all eyes, and the difference in L*."""
    per_eye = []
    for vision in VISIONS:
        lab = seen_lab(rgb, vision)
        per_eye.append(color.deltaE_ciede2000(lab[:, None], lab[None]))
    lightness = seen_lab(rgb, "normal")[:, 0]
    return per_eye[0], np.min(per_eye, axis=0), np.abs(lightness[:, None] - lightness[None])


def in_hues(rgb: np.ndarray, ranges: tuple[tuple[float, float], ...]) -> np.ndarray:
    """Tell which colors are saturated and have a hue in one of the ranges."""
    hsv = np.array([colorsys.rgb_to_hsv(*(c / 255)) for c in rgb])
    in_range = np.any([(hsv[:, 0] >= low) & (hsv[:, 0] <= high) for low, high in ranges], axis=0)
    return np.asarray(in_range & (hsv[:, 1] > 0.3))


def anneal(names: list[str], touching: set[tuple[int, int]], n_steps: int, seed: int) -> np.ndarray:
    """Return one grid color (r, g, b) per part name."""
    grid = np.array(list(itertools.product(CHANNEL_LEVELS, repeat=3)), dtype=float)
    lightness = seen_lab(grid, "normal")[:, 0]
    grid = grid[(lightness > LIGHTNESS_RANGE[0]) & (lightness < LIGHTNESS_RANGE[1])]
    normal, worst, grey = distances(grid)
    warm, cool = np.flatnonzero(in_hues(grid, WARM_HUES)), np.flatnonzero(in_hues(grid, COOL_HUES))
    either = np.arange(len(grid))
    allowed = [warm if n.endswith("_l") else cool if n.endswith("_r") else either for n in names]
    near = np.zeros((len(names), len(names)), bool)
    for a, b in touching:
        near[a, b] = near[b, a] = True

    def cost_of(part: int, choice: np.ndarray) -> float:
        others = np.arange(len(names)) != part
        mine, theirs, is_near = choice[part], choice[others], near[part, others]
        far_cost = np.exp(-normal[mine, theirs] / 2.5) + 0.3 * np.exp(-worst[mine, theirs] / 1.5)
        near_cost = np.exp(-worst[mine, theirs] / 4.0) + np.exp(-grey[mine, theirs] / 3.0)
        return float(np.where(is_near, 4 * near_cost, far_cost).sum())

    rng = np.random.default_rng(seed)
    choice = np.array([rng.choice(a) for a in allowed])
    for step in range(n_steps):
        temperature = 0.3 * (1 - step / n_steps) ** 3 + 1e-6
        part = int(rng.integers(len(names)))
        trial = choice.copy()
        trial[part] = rng.choice(allowed[part])
        change = cost_of(part, trial) - cost_of(part, choice)
        if change < 0 or rng.random() < np.exp(-change / temperature):
            choice = trial
    return np.asarray(grid[choice], dtype=int)


def main() -> None:
    """Choose and print the colors of one part set, with the distances reached."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part_set", choices=TOUCHING)
    parser.add_argument("--steps", type=int, default=60_000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    names = list(PART_SETS[args.part_set].names)
    touching = {(names.index(a), names.index(b)) for a, b in TOUCHING[args.part_set]}
    rgb = anneal(names, touching, args.steps, args.seed)
    normal, worst, grey = distances(rgb.astype(float))
    off = ~np.eye(len(names), dtype=bool)
    pairs = tuple(np.array(sorted(touching)).T)
    print(f"# all pairs: normal {normal[off].min():.1f}, worst eye {worst[off].min():.1f};", end=" ")
    print(f"touching: worst eye {worst[pairs].min():.1f}, lightness {grey[pairs].min():.1f}")
    for name, (r, g, b) in zip(names, rgb, strict=True):
        print(f'    "{name}": ({r}, {g}, {b}),')


if __name__ == "__main__":
    main()
