"""Layers: a small network that gives each document a score, its gradients, and Adam. Plain numpy, float64.

Inputs are standardized inside. The last layer has one output and no intercept: a constant added to all scores of a
query changes no order, and its gradient is 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from depthforest.base import Floats, UsageError, is_whole

ACTIVATIONS = ("tanh", "relu")

MAX_HIDDEN = 8
"""Largest number of hidden layers; the networks of the papers have one or two."""

MAX_UNITS = 4096
"""Largest number of units in a hidden layer."""

MAX_INPUT, MIN_SCALE = 1e100, 1e-100
"""Largest value of a table and smallest spread of a column: within these limits no score overflows."""

BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-8
"""Adam's constants, as published by its authors."""


@dataclass(eq=False)
class Network:
    """The weights of a network.

    Attributes
    ----------
    mean, scale : (n_features,) float64
        Inputs become (x - mean) / scale.
    coefs : list of (n_in, n_out) float64
        One per layer; the last has one output.
    intercepts : list of (n_out,) float64
        Of all layers except the last.
    activation : {"tanh", "relu"}
    """

    mean: Floats
    scale: Floats
    coefs: list[Floats]
    intercepts: list[Floats]
    activation: str

    def standardised(self, x: Floats) -> Floats:
        """Return a table standardized for the first layer."""
        return np.asarray((x - self.mean) / self.scale)

    def outputs(self, z: Floats) -> list[Floats]:
        """Return the inputs of each layer and finally the scores (n, 1) of a standardized table."""
        found = [z]
        for coef, intercept in zip(self.coefs, self.intercepts, strict=False):
            before = found[-1] @ coef + intercept
            found.append(np.tanh(before) if self.activation == "tanh" else np.maximum(before, 0.0))
        found.append(found[-1] @ self.coefs[-1])
        return found

    def scores(self, z: Floats) -> Floats:
        """Return the scores (n,) of a standardized table."""
        return np.ascontiguousarray(self.outputs(z)[-1][:, 0])

    def gradients(self, outputs: list[Floats], gradient: Floats) -> list[Floats]:
        """Return the gradients of coefs, then of intercepts, from those of the scores (n,)."""
        back = gradient[:, None]
        of_coefs = [outputs[-2].T @ back]
        of_intercepts: list[Floats] = []
        for layer in range(len(self.intercepts) - 1, -1, -1):
            out = outputs[layer + 1]
            slope = 1.0 - out * out if self.activation == "tanh" else (out > 0).astype(np.float64)
            back = (back @ self.coefs[layer + 1].T) * slope
            of_coefs.insert(0, outputs[layer].T @ back)
            of_intercepts.insert(0, back.sum(axis=0))
        return of_coefs + of_intercepts

    def copy_weights(self) -> tuple[list[Floats], list[Floats]]:
        """Return copies of coefs and intercepts."""
        return [c.copy() for c in self.coefs], [i.copy() for i in self.intercepts]


def check_activation(activation: object) -> str:
    """Return the name of an activation after checking it."""
    if not isinstance(activation, str) or activation not in ACTIVATIONS:
        raise UsageError(f"activation must be one of {', '.join(ACTIVATIONS)}; got {activation!r}")
    return activation


def new_network(x: Floats, hidden: tuple[int, ...], activation: str, rng: np.random.RandomState) -> Network:
    """Return a network for a table, with random weights scaled to keep the variance of signals from layer to layer."""
    # a constant column may differ from its mean by rounding, which must not be scaled up
    scale = x.std(axis=0)
    scale[scale <= np.maximum(1e-12 * np.abs(x).max(axis=0), MIN_SCALE)] = 1.0
    sizes = (x.shape[1], *hidden, 1)
    coefs = []
    for n_in, n_out in pairwise(sizes):
        limit = np.sqrt(6.0 / (n_in + n_out)) if activation == "tanh" else np.sqrt(6.0 / n_in)
        coefs.append(rng.uniform(-limit, limit, (n_in, n_out)))
    return Network(x.mean(axis=0), scale, coefs, [np.zeros(n) for n in hidden], check_activation(activation))


class Adam:
    """Adam (Kingma and Ba 2015) with decoupled weight decay (Loshchilov and Hutter 2019).

    Parameters
    ----------
    network : Network
        The network; each step changes its weights in place.
    learning_rate, weight_decay : float
        Coefs, but not intercepts, shrink by the factor `1 - learning_rate * weight_decay` at each step.
    """

    def __init__(self, network: Network, learning_rate: float, weight_decay: float) -> None:
        self.weights = network.coefs + network.intercepts
        self.n_coefs = len(network.coefs)
        self.learning_rate, self.weight_decay = learning_rate, weight_decay
        self.means = [np.zeros_like(w) for w in self.weights]
        self.squares = [np.zeros_like(w) for w in self.weights]
        self.n_steps = 0

    def step(self, gradients: list[Floats]) -> None:
        """Move all weights against their gradients."""
        self.n_steps += 1
        rate = self.learning_rate * np.sqrt(1 - BETA_2**self.n_steps) / (1 - BETA_1**self.n_steps)
        for i, (weight, gradient) in enumerate(zip(self.weights, gradients, strict=True)):
            mean, square = self.means[i], self.squares[i]
            mean *= BETA_1
            mean += (1 - BETA_1) * gradient
            square *= BETA_2
            square += (1 - BETA_2) * gradient * gradient
            if i < self.n_coefs:
                weight *= 1 - self.learning_rate * self.weight_decay
            weight -= rate * mean / (np.sqrt(square) + EPSILON)


def hidden_sizes(sizes: Any) -> tuple[int, ...]:
    """Return the numbers of units of the hidden layers after checking them."""
    if (
        not isinstance(sizes, tuple | list)
        or not 1 <= len(sizes) <= MAX_HIDDEN
        or not all(is_whole(n) and 1 <= n <= MAX_UNITS for n in sizes)
    ):
        raise UsageError(
            f"hidden_layer_sizes must be a tuple of 1 to {MAX_HIDDEN} whole numbers from 1 to {MAX_UNITS}; "
            f"got {sizes!r}"
        )
    return tuple(int(n) for n in sizes)
