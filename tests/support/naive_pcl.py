"""Slow, obvious twins of `pcl`: a tree file as a list of lines, walked as PCL walks it, and a writer of tree files."""

from __future__ import annotations

import bz2
import math

import numpy as np

BACKGROUND_MM = 10_000


def read_tree(path):
    """Return (nodes, labels) of a tree file: rows of five numbers, and numbers."""
    opened = bz2.open if str(path).endswith(".bz2") else open
    with opened(path, "rt") as file:
        numbers = np.fromstring(file.read(), dtype=np.int64, sep=" ")
    height, numbers = numbers[0], numbers[1:]
    n_nodes = 2**height - 1
    assert len(numbers) == 5 * n_nodes + n_nodes + 1
    return numbers[: 5 * n_nodes].reshape(n_nodes, 5), numbers[5 * n_nodes :]


def text_of(nodes, labels):
    """Return the text of a tree file, in columns as PCL's are."""
    lines = [" ".join(f"{number:5d}" for number in node) for node in nodes]
    return "\n".join([str(len(labels).bit_length() - 1), *lines, *map(str, labels)]) + "\n"


def random_tree(rng, height, n_labels=25, padding=0.3):
    """Return a random tree; subtrees below padding nodes have one label."""
    n_nodes = 2**height - 1
    nodes = [tuple(map(int, [*rng.integers(-300, 300, 4), rng.integers(-250, 250)])) for _ in range(n_nodes)]
    labels = [int(v) for v in rng.integers(0, n_labels, n_nodes + 1)]
    for node in range(n_nodes):
        if rng.random() < padding:
            first = last = node
            while first < n_nodes:
                nodes[first : last + 1] = [(0, 0, 0, 0, -1)] * (last + 1 - first)
                first, last = 2 * first + 1, 2 * last + 2
            labels[first - n_nodes : last + 1 - n_nodes] = [labels[first - n_nodes]] * (last + 1 - first)
    return nodes, labels


def label(trees, image, row, col, fx, fy, focal_px=640.0):
    """Return the label that most trees give a pixel with a reading, the lowest of equal ones."""

    def probe(du, dv):
        c = math.floor(col + du * scale * fx / focal_px + 0.5)
        r = math.floor(row + dv * scale * fy / focal_px + 0.5)
        inside = 0 <= r < len(image) and 0 <= c < len(image[0])
        return image[r][c] if inside and image[r][c] > 0 else BACKGROUND_MM

    scale = 1000 / image[row][col]
    votes = [0] * 25
    for nodes, labels in trees:
        n = 0
        while n < len(nodes):
            du1, dv1, du2, dv2, threshold = map(int, nodes[n])
            n = 2 * n + 2 if probe(du1, dv1) - probe(du2, dv2) > threshold else 2 * n + 1
        votes[int(labels[n - len(nodes)])] += 1
    return votes.index(max(votes))
