"""Make docs/pictures/how.png: how synthetic people become a forest, and how a forest labels a frame.

    python tools/how_picture.py

Everything in it is real: a bundled synthetic frame with its true labels, the root of the first tree of body31 with the
two readings it compares at some pixels, the path of one of them through the tree, and the results of `find_people`,
`label` and `find_joints` on another bundled frame. It needs matplotlib (the extra `plots`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import numpy.typing as npt
from matplotlib.patches import FancyArrowPatch, Rectangle

from depthforest.base import samples_folder
from depthforest.forest import Forest, load
from depthforest.frames import BONES, Camera, LabeledFrame, drawing
from depthforest.io import open_dataset
from depthforest.joints import find_joints
from depthforest.people import find_people
from depthforest.trees import masked_depth, responses

PICTURE = Path(__file__).resolve().parent.parent / "docs" / "pictures" / "how.png"

TRAINING, LABELING = "two_people", "gesture_near"
"""Bundled frames: one to learn from, one to label."""

PIXELS = ((0.90, 0.16), (0.55, 0.40), (0.42, 0.72))
"""Positions of the drawn probes: shares of the person's width and height."""

SHOWN = 5
"""Nodes that are drawn on a pixel's path."""

INK, QUIET = "#143c6e", "#5a6472"


def cut(mask: npt.NDArray[np.bool_], aspect: float = 4 / 3) -> tuple[slice, slice]:
    """Return rows and columns around a mask, `aspect` as wide as high as far as the frame allows."""
    rows, cols = np.nonzero(mask)
    height = int(1.16 * (rows.max() - rows.min() + 1))
    width = max(int(1.16 * (cols.max() - cols.min() + 1)), round(height * aspect))
    height = max(height, round(width / aspect))
    top = int(np.clip((rows.min() + rows.max()) // 2 - height // 2, 0, max(0, mask.shape[0] - height)))
    left = int(np.clip((cols.min() + cols.max()) // 2 - width // 2, 0, max(0, mask.shape[1] - width)))
    return slice(top, top + height), slice(left, left + width)


def pixels_of(mask: npt.NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return the pixels of a person whose probes are drawn."""
    rows, cols = np.nonzero(mask)
    found = []
    for right, down in PIXELS:
        wanted = rows.min() + down * np.ptp(rows), cols.min() + right * np.ptp(cols)
        nearest = np.argmin((rows - wanted[0]) ** 2 + (cols - wanted[1]) ** 2)
        found.append((int(rows[nearest]), int(cols[nearest])))
    return found


def draw_probes(axes: Any, frame: LabeledFrame, pixels: list[tuple[int, int]], forest: Forest) -> None:
    """Draw the two readings that the root of the first tree compares, at pixels of a person."""
    u, v = np.split(forest.offsets[forest.roots[0]].astype(float), 2)
    for row, col in pixels:
        scale = 1000 * frame.camera.fx / float(frame.depth_mm[row, col])
        for offset, color in ((u, "#d62728"), (v, "#1f77b4")):
            end = col + scale * offset[0], row + scale * offset[1]
            axes.add_patch(FancyArrowPatch((col, row), end, arrowstyle="-|>", mutation_scale=9, color=color, lw=1.6))
        axes.plot(col, row, "o", color="white", ms=5, mec="black", mew=0.8)


def shares_below(forest: Forest) -> npt.NDArray[np.float64]:
    """Return the mean shares of the parts of all leaves below each node, (n_nodes, n_parts)."""
    leaves = forest.leaves.reshape(forest.n_leaves, forest.n_facings, -1).mean(axis=1)
    sums = np.zeros((forest.n_nodes, leaves.shape[1]))
    for node in range(forest.n_nodes - 1, -1, -1):  # children come after their parents
        for child in forest.children[node]:
            sums[node] += leaves[~child] if child < 0 else sums[child]
    return np.asarray(sums / sums.sum(axis=1, keepdims=True))


def path_to(forest: Forest, frame: LabeledFrame, mask: npt.NDArray[np.bool_], pixel: tuple[int, int]) -> list[int]:
    """Return the nodes that a pixel passes in the first tree."""
    depth_mm, node, path = masked_depth(frame, mask), int(forest.roots[0]), []
    while node >= 0:
        path.append(node)
        probes = forest.offsets[node][None]
        (answer,) = responses(depth_mm, [pixel], probes, frame.camera, forest.background_mm).ravel()
        node = int(forest.children[node, int(answer > forest.thresholds[node])])
    return path


def draw_path(axes: Any, forest: Forest, path: list[int]) -> None:
    """Draw nodes that a pixel passes, each with the shares of the parts in all leaves below it."""
    shares, colors = shares_below(forest), np.asarray(forest.part_set.colors) / 255.0
    axes.set(xlim=(0, 1), ylim=(0, 1))
    steps = [path[round(i * (len(path) - 1) / (SHOWN - 1))] for i in range(SHOWN)]
    height, width, high = 0.1, 0.44, np.linspace(0.87, 0.02, SHOWN)
    lefts = [0.18 + (0.1 if i % 2 else -0.1) for i in range(SHOWN)]
    for i, (node, left, low) in enumerate(zip(steps, lefts, high, strict=True)):
        edge = left
        for part in np.argsort(-shares[node], kind="stable"):
            share = width * shares[node][part]
            axes.add_patch(Rectangle((edge, low), share, height, color=colors[part], lw=0))
            edge += share
        axes.add_patch(Rectangle((left, low), width, height, fill=False, ec=INK, lw=1))
        axes.text(
            0.98, low + height / 2, f"level {path.index(node) + 1}", ha="right", va="center", color=QUIET, fontsize=7
        )
        if i + 1 < SHOWN:
            ends = (left + width / 2, low), (lefts[i + 1] + width / 2, high[i + 1] + height)
            axes.add_patch(FancyArrowPatch(*ends, arrowstyle="-|>", mutation_scale=8, color=QUIET, lw=1, ls="--"))


def draw_body(axes: Any, joints: Any, points: npt.NDArray[np.float64], colors: npt.NDArray[np.float64]) -> None:
    """Draw a person's labeled points and joints, seen from the side of the camera."""
    turn = np.radians(-40)

    def flat(xyz: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        return xyz[..., 0] * np.cos(turn) + xyz[..., 2] * np.sin(turn), -xyz[..., 1]

    axes.scatter(*flat(points), s=0.5, c=colors, alpha=0.5, lw=0)
    for a, b in BONES:
        if a in joints and b in joints:
            axes.plot(*flat(np.array([joints[a].position, joints[b].position])), color="black", lw=1.6, zorder=3)
    found = np.array([joint.position for joint in joints.values()])
    axes.scatter(*flat(found), s=16, c="white", ec="black", lw=0.9, zorder=4)
    axes.set_aspect("equal")


def points_of(frame: LabeledFrame, mask: npt.NDArray[np.bool_]) -> npt.NDArray[np.float64]:
    """Return the points of a mask in camera space, (n, 3) meters."""
    rows, cols = np.nonzero(mask)
    z, camera = frame.depth_mm[mask] / 1000.0, frame.camera
    assert isinstance(camera, Camera)
    return np.stack([(cols - camera.cx) * z / camera.fx, (rows - camera.cy) * z / camera.fy, z], axis=1)


def main() -> None:
    """Make the picture."""
    samples = open_dataset(samples_folder())
    by_name = dict(zip(samples.names, samples, strict=True))
    forest, learned, seen = load(), by_name[TRAINING], by_name[LABELING]
    people = find_people(seen)
    labels = [forest.label(seen, person) for person in people]
    nobody, parts = people.map == 0, np.minimum.reduce([result.parts for result in labels])
    one = learned.people == np.bincount(learned.people[learned.people > 0]).argmax()
    shown, around, small = cut(learned.people > 0), cut(~nobody), cut(one)
    shaded, overlaid = drawing.shade(learned), drawing.overlay(learned, learned.parts, learned.part_set)
    mask_only = drawing.shade(seen).copy()
    mask_only[nobody] = (0.35 * mask_only[nobody] + 0.65 * 255).astype(np.uint8)

    figure, tiles = plt.subplots(2, 4, figsize=(11, 5.1), dpi=110)
    titles = (
        "A synthetic sensor sees bodies ...",
        "... and knows every pixel's part",
        "A node compares two depth readings",
        "A pixel's path through a tree",
        "A depth frame",
        "People are detected",
        "Every pixel gets its part",
        "Labels give joints in 3D",
    )
    for axes, title in zip(tiles.flat, titles, strict=True):
        axes.set_title(title, fontsize=9.5, color=INK)
        axes.set(xticks=[], yticks=[])
        for side in axes.spines.values():
            side.set_visible(False)
    training, labeling = tiles
    training[0].imshow(shaded[shown])
    training[1].imshow(overlaid[shown])
    training[2].imshow(shaded)
    pixels = pixels_of(one)
    draw_probes(training[2], learned, pixels, forest)
    training[2].set(xlim=(small[1].start, small[1].stop), ylim=(small[0].stop, small[0].start))
    draw_path(training[3], forest, path_to(forest, learned, one, pixels[0]))
    labeling[0].imshow(drawing.shade(seen)[around])
    labeling[1].imshow(mask_only[around])
    labeling[2].imshow(drawing.overlay(seen, parts, forest.part_set)[around])
    colors = np.asarray(forest.part_set.colors)[parts[people[0]]] / 255.0
    draw_body(labeling[3], find_joints(seen, labels[0]), points_of(seen, people[0]), colors)
    for row, title in zip(tiles, ("Training, once", "Labeling, every frame"), strict=True):
        row[0].text(-0.09, 0.5, title, transform=row[0].transAxes, rotation=90, ha="center", va="center", color=INK,
                    fontsize=11, fontweight="bold")  # fmt: skip
    figure.subplots_adjust(left=0.035, right=0.995, top=0.94, bottom=0.01, wspace=0.05, hspace=0.14)
    figure.savefig(PICTURE, metadata={"Software": None})
    print("docs/pictures/how.png")


if __name__ == "__main__":
    main()
