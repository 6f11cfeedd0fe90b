"""Outfit: what a body wears, and a sampler of outfits; `clothing` applies them to bodies."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np

from depthforest.base import DepthForestError

MAX_THICKNESS = 0.08
"""Meters: thicker cloth would be a costume, and the surface would intersect itself."""


class OutfitError(DepthForestError, ValueError):
    """An outfit with invalid values."""


@dataclass(frozen=True)
class Outfit:
    """What a body wears; all zeros is bare skin. Lengths are meters on an adult man and scale with the body.

    Parameters
    ----------
    top : float
        Thickness of shirt, sweater or jacket over the skin.
    sleeves : float
        How far the top covers the arms: 0 none, 0.5 to the elbow, 1 to the wrist.
    top_length : float
        How far the top covers the legs: 0 ends at the hips, 0.5 at the knee.
    trousers : float
        Looseness of the trousers at the hem; they are tighter at the hips.
    trouser_length : float
        0.5 ends at the knee, 1 at the ankle.
    skirt : float
        Length of a skirt or the lower part of a dress: 0 none, 0.5 to the knee, 1 to the ankle.
    flare : float
        How far the skirt widens per meter.
    hair : float
        Thickness of the hair.
    hair_length : float
        How far long hair hangs down the back below the chin.
    hat : float
        Thickness of a cap or woolen hat.
    hood : float
        Thickness of a hood, which covers the top and sides of the head and the neck.
    shoes : float
        Thickness of the shoes; they lift the body.
    folds : float
        Height of the folds as a share of the cloth's thickness, 0 to 1.
    seed : int
        Selects the pattern of the folds.
    """

    top: float = 0.0
    sleeves: float = 1.0
    top_length: float = 0.0
    trousers: float = 0.0
    trouser_length: float = 1.0
    skirt: float = 0.0
    flare: float = 0.15
    hair: float = 0.0
    hair_length: float = 0.0
    hat: float = 0.0
    hood: float = 0.0
    shoes: float = 0.0
    folds: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            most = MOST.get(field.name, MAX_THICKNESS)
            if not (np.isfinite(value) and 0 <= value <= most):
                raise OutfitError(f"an outfit's {field.name} must be from 0 to {most:g}, got {value!r}")

    @property
    def is_bare(self) -> bool:
        """Whether nothing covers the skin."""
        worn = (self.top, self.trousers, self.skirt, self.hair, self.hair_length, self.hat, self.hood, self.shoes)
        return not any(worn)


MOST: dict[str, float] = {
    "sleeves": 1.0,
    "top_length": 1.0,
    "trouser_length": 1.0,
    "skirt": 1.0,
    "flare": 0.6,
    "hair_length": 0.5,
    "folds": 1.0,
    "seed": 2**63 - 1,
}
"""Largest values of the fields that are not thicknesses."""


def sample_outfit(rng: np.random.Generator) -> Outfit:
    """Draw clothes for all seasons.

    About 10 % of people are bare or in tight clothes, 15 % wear a skirt or dress, the others trousers, a quarter of
    them short; one in seven has a hat or a hood; 40 % have long hair.
    """
    hair = float(rng.choice((rng.uniform(0.002, 0.012), rng.uniform(0.012, 0.035))))
    hair_length = float(rng.uniform(0.02, 0.30)) if rng.random() < 0.4 else 0.0
    head = {"hair": hair, "hair_length": hair_length}
    cover, kind = rng.random(), rng.random()
    if cover < 0.08:
        head |= {"hat": float(rng.uniform(0.015, 0.045))}
    elif cover < 0.14:
        head = {"hair": hair, "hood": float(rng.uniform(0.015, 0.04))}
    seed = int(rng.integers(2**31))
    top = float(rng.choice((rng.uniform(0.002, 0.010), rng.uniform(0.008, 0.022), rng.uniform(0.018, 0.045))))
    sleeves = 1.0 if top > 0.02 else float(rng.choice((0.2, 0.45, 0.7, 1.0), p=(0.1, 0.3, 0.1, 0.5)))
    top_length = float(rng.uniform(0, 0.12)) if top < 0.02 or rng.random() < 0.6 else float(rng.uniform(0.12, 0.55))
    trousers = float(rng.choice((rng.uniform(0.002, 0.012), rng.uniform(0.010, 0.045))))
    trouser_length = float(rng.uniform(0.3, 0.6)) if rng.random() < 0.25 else float(rng.uniform(0.85, 1.0))
    skirt, flare = float(rng.uniform(0.25, 0.95)), float(rng.uniform(0.02, 0.35))
    shoes = float(rng.uniform(0.005, 0.016)) if rng.random() < 0.85 else 0.0
    folds = float(rng.uniform(0.1, 0.5))
    if kind < 0.10:
        return Outfit(**head, shoes=shoes, seed=seed)
    worn = Outfit(**head, top=top, sleeves=sleeves, top_length=top_length, shoes=shoes, folds=folds, seed=seed)
    if kind < 0.25:
        return replace(worn, skirt=skirt, flare=flare, top=min(top, 0.025), top_length=0.0)
    return replace(worn, trousers=trousers, trouser_length=trouser_length)
