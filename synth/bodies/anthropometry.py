"""Body measurements: the distributions and correlations of ANSUR II, and their extension to children and girths.

ANSUR II measured 4,082 men and 1,986 women of the US Army; the constants here were fitted and printed by
tools/fit_ansur.py; the survey itself is not shipped. `makehuman` and `procedural` draw their people from here.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache

import numpy as np
import numpy.typing as npt

from depthforest.base import Floats, UsageError

SEXES: tuple[str, ...] = ("male", "female")

TRUNCATION = 3.0
"""Drawn measurements are truncated at this many standard deviations from the mean."""
BMI_RANGE = (15.0, 45.0)
"""Body mass index, kg/m2: limits for bodies drawn with a `girth_spread`; ANSUR II itself lies within."""
CHILD_AGES = (2.0, 18.0)
"""Years that `child_measures` covers."""


@dataclass(frozen=True)
class Measures:
    """One person's body measurements in meters and kg, each under ANSUR II's definition.

    Parameters
    ----------
    sex : str
        "male" or "female".
    age_years : float
        Adults have the survey's measures whatever their age.
    stature, sitting_height : float
        Floor or seat to the top of the head.
    trochanter_height, crotch_height, knee_height : float
        Floor to the greater trochanter (about the height of the hip joint), the crotch, the middle of the kneecap.
    upper_arm_length : float
        Acromion (the shoulder's bony tip) to radiale (the elbow's outer side).
    forearm_length : float
        Radiale to stylion (the wrist's thumb side).
    hand_length, foot_length : float
        Wrist to the tip of the middle finger; heel to the longest toe.
    shoulder_breadth : float
        Between both acromia.
    hip_breadth, head_breadth, head_length : float
        Widest hips; widest head above the ears; brow to the back of the head.
    neck_girth, chest_girth, waist_girth, hip_girth, thigh_girth : float
        Circumferences: below the larynx, at the nipples, at the navel, around the buttocks, below the buttocks.
    weight_kg : float
        Mass.
    """

    sex: str
    age_years: float
    stature: float
    sitting_height: float
    trochanter_height: float
    crotch_height: float
    knee_height: float
    upper_arm_length: float
    forearm_length: float
    hand_length: float
    foot_length: float
    shoulder_breadth: float
    hip_breadth: float
    head_breadth: float
    head_length: float
    neck_girth: float
    chest_girth: float
    waist_girth: float
    hip_girth: float
    thigh_girth: float
    weight_kg: float


MEASURES: tuple[str, ...] = tuple(field.name for field in fields(Measures) if field.name not in ("sex", "age_years"))
"""Names of the measurements, in the order of all constants here."""

_FAT_MEASURES = ("hip_breadth", "neck_girth", "chest_girth", "waist_girth", "hip_girth", "thigh_girth", "weight_kg")
_IS_FAT: npt.NDArray[np.bool_] = np.isin(MEASURES, _FAT_MEASURES)


@dataclass(frozen=True)
class _Survey:
    means: tuple[float, ...]
    deviations: tuple[float, ...]
    correlations: str
    """Percentages below the diagonal, one row for each measurement but the first."""


_SURVEYS: dict[str, _Survey] = {
    "male": _Survey(  # 4082 people
        means=(
            1.7562,
            0.9183,
            0.9009,
            0.8459,
            0.4884,
            0.3352,
            0.2679,
            0.1933,
            0.2712,
            0.4157,
            0.3457,
            0.1543,
            0.1995,
            0.3976,
            1.0587,
            0.9406,
            1.0195,
            0.6251,
            85.52,
        ),
        deviations=(
            0.0686,
            0.0357,
            0.0492,
            0.0465,
            0.0281,
            0.0175,
            0.0154,
            0.0099,
            0.0131,
            0.0192,
            0.0242,
            0.0055,
            0.0070,
            0.0258,
            0.0874,
            0.1117,
            0.0767,
            0.0585,
            14.22,
        ),
        correlations="""
            78
            85 45
            86 43 92
            83 42 90 91
            80 47 77 79 75
            71 32 77 79 78 72
            67 39 66 66 67 62 67
            72 46 68 69 69 62 67 79
            53 43 45 43 46 47 45 48 52
            38 40 22 20 27 33 24 30 38 47
             8 11  2  1  3  7  4 11 14 23 27
            37 33 28 28 29 29 28 32 37 33 28 18
            20 19 14  8 16 20 15 26 27 48 61 38 32
            25 22 16 12 21 26 18 26 30 52 75 33 30 79
            21 20 11  5 16 22 12 20 23 39 81 27 26 74 89
            34 33 21 18 26 30 24 30 37 49 93 31 32 71 84 88
            26 24 17 14 22 23 21 26 33 45 83 30 30 68 80 83 94
            47 40 35 31 39 42 35 42 48 59 85 34 39 79 91 89 93 90
        """,
    ),
    "female": _Survey(  # 1986 people
        means=(
            1.6285,
            0.8566,
            0.8454,
            0.7823,
            0.4490,
            0.3112,
            0.2413,
            0.1811,
            0.2463,
            0.3653,
            0.3538,
            0.1478,
            0.1898,
            0.3298,
            0.9469,
            0.8609,
            1.0212,
            0.6161,
            67.76,
        ),
        deviations=(
            0.0642,
            0.0331,
            0.0447,
            0.0446,
            0.0260,
            0.0172,
            0.0152,
            0.0101,
            0.0124,
            0.0183,
            0.0267,
            0.0052,
            0.0074,
            0.0192,
            0.0827,
            0.0999,
            0.0759,
            0.0558,
            10.98,
        ),
        correlations="""
            76
            86 41
            85 38 93
            84 40 92 92
            79 45 81 81 79
            69 27 77 78 76 69
            65 31 69 69 71 63 69
            72 42 72 72 73 64 69 80
            57 43 48 47 49 47 49 53 52
            39 38 28 21 29 37 22 29 34 30
            16 17 11  8 11 11 11 17 19 19 16
            36 22 36 35 35 30 36 37 40 31 20 22
            29 23 26 19 28 31 26 34 36 36 54 30 28
            26 21 21 12 21 29 19 24 28 29 68 18 18 73
            23 17 21 12 21 27 19 22 26 25 73 18 17 70 84
            38 32 31 24 32 38 30 34 39 33 94 16 26 64 74 80
            32 22 29 23 30 33 30 35 38 31 84 16 29 62 69 76 94
            53 41 47 40 47 51 43 49 54 46 83 23 35 76 83 84 91 89
        """,
    ),
}

# Medians of the CDC 2000 growth charts (statage), meters at 2, 3, ... 18 years.
_CHILD_STATURES: dict[str, tuple[float, ...]] = {
    "male": (
        *(0.865, 0.950, 1.022, 1.089, 1.154, 1.218, 1.279, 1.335, 1.386),
        *(1.435, 1.491, 1.561, 1.638, 1.699, 1.735, 1.753, 1.762),
    ),
    "female": (
        *(0.850, 0.939, 1.008, 1.077, 1.147, 1.215, 1.276, 1.329, 1.380),
        *(1.440, 1.512, 1.572, 1.604, 1.619, 1.626, 1.629, 1.631),
    ),
}
CHILD_STATURE_SPREAD = 0.045
"""Standard deviation of children's stature over its median; the charts have 0.040 to 0.050."""

# How a child's measurements differ from those of a scaled-down adult: measured on MakeHuman's own baby and child, mean
# of both sexes. `_SHAPE_STATURES` holds their statures; shape is interpolated by stature up to an adult's at 18.
_SHAPE_STATURES = (0.605, 1.316)
_CHILD_SHAPES: dict[str, tuple[float, float]] = {
    "stature": (1.0, 1.0),
    "sitting_height": (1.16, 1.01),
    "trochanter_height": (0.835, 0.99),
    "crotch_height": (0.835, 0.99),
    "knee_height": (0.80, 0.99),
    "upper_arm_length": (0.98, 0.97),
    "forearm_length": (1.09, 1.0),
    "hand_length": (1.11, 0.97),
    "foot_length": (0.97, 0.96),
    "shoulder_breadth": (0.95, 0.97),
    "hip_breadth": (1.10, 0.97),
    "head_breadth": (2.00, 1.20),
    "head_length": (1.85, 1.16),
    "neck_girth": (1.08, 0.94),
    "chest_girth": (1.08, 0.94),
    "waist_girth": (1.39, 1.015),
    "hip_girth": (1.10, 0.97),
    "thigh_girth": (1.10, 0.955),
    "weight_kg": (1.45, 0.94),  # the mean girth, squared
}


def sample_measures(
    rng: np.random.Generator, sex: str, *, age_years: float = 30.0, girth_spread: float = 1.0
) -> Measures:
    """Draw an adult from ANSUR II's distribution: multivariate normal, truncated at 3 standard deviations.

    Parameters
    ----------
    rng : Generator
        Source of the draw.
    sex : str
        "male" or "female".
    age_years : float
        Recorded in the result; the survey's measurements hardly depend on it.
    girth_spread : float
        Widens the spread of girths and weight, because the survey covers only soldiers. The ratio of each to the
        value predicted from the person's lengths is raised to this power: 1 is the survey. The body mass index
        stays in `BMI_RANGE`.
    """
    _check_sex(sex)
    if not 0 <= girth_spread <= 3:
        raise UsageError(f"girth_spread must be from 0 to 3, got {girth_spread}")
    means, deviations, factor, slopes = _model(sex)
    for _ in range(1000):
        z = factor @ rng.standard_normal(len(MEASURES))
        if np.abs(z).max() > TRUNCATION:
            continue
        values = means + deviations * z
        if girth_spread != 1:
            expected = means[_IS_FAT] + slopes @ (values - means)[~_IS_FAT]
            values[_IS_FAT] = expected * (values[_IS_FAT] / expected) ** girth_spread
        measures = Measures(sex, float(age_years), *values.tolist())
        if BMI_RANGE[0] <= measures.weight_kg / measures.stature**2 <= BMI_RANGE[1]:
            return measures
    raise AssertionError("a thousand draws outside 3 standard deviations")  # about 1 draw in 20 is


def child_measures(rng: np.random.Generator, age_years: float, sex: str, *, girth_spread: float = 1.0) -> Measures:
    """Draw a child of 2 to 18 years: an adult's draw, shrunken to the stature of the age and given a child's shape.

    Statures follow the CDC growth charts; head, legs, arms and girths the age targets of the MakeHuman mesh.
    """
    _check_sex(sex)
    if not CHILD_AGES[0] <= age_years <= CHILD_AGES[1]:
        raise UsageError(f"a child is from {CHILD_AGES[0]:g} to {CHILD_AGES[1]:g} years old, got {age_years}")
    adult = sample_measures(rng, sex, girth_spread=girth_spread)
    means, deviations, _, _ = _model(sex)
    z = (adult.stature - means[0]) / deviations[0]
    median = child_stature(age_years, sex)
    shrink = median * (1 + CHILD_STATURE_SPREAD * z) / adult.stature
    knots = (*_SHAPE_STATURES, child_stature(CHILD_AGES[1], sex))
    values = {}
    for name, shape in _CHILD_SHAPES.items():
        size = shrink**3 if name == "weight_kg" else shrink
        values[name] = getattr(adult, name) * size * float(np.interp(median, knots, (*shape, 1.0)))
    return Measures(sex, float(age_years), **values)


def child_stature(age_years: float, sex: str) -> float:
    """Return the median stature in meters at an age of 2 to 18 years."""
    _check_sex(sex)
    return float(np.interp(age_years, np.arange(CHILD_AGES[0], CHILD_AGES[1] + 1), _CHILD_STATURES[sex]))


def survey_statistics(sex: str) -> tuple[Floats, Floats, Floats]:
    """Return ANSUR II's means (19,), standard deviations (19,) and correlations (19, 19) in the order of `MEASURES`."""
    _check_sex(sex)
    survey = _SURVEYS[sex]
    correlations = np.eye(len(MEASURES))
    for i, row in enumerate(survey.correlations.strip().splitlines(), start=1):
        correlations[i, :i] = correlations[:i, i] = [int(percent) / 100 for percent in row.split()]
    return np.array(survey.means), np.array(survey.deviations), correlations


@cache
def _model(sex: str) -> tuple[Floats, Floats, Floats, Floats]:
    """Return means, deviations, a factor of the correlations, and the slopes of girths over all other measures."""
    means, deviations, correlations = survey_statistics(sex)
    covariance = correlations * np.outer(deviations, deviations)
    slopes = np.linalg.solve(covariance[~_IS_FAT][:, ~_IS_FAT], covariance[~_IS_FAT][:, _IS_FAT]).T
    factor = np.linalg.cholesky(correlations)
    return means, deviations, factor.astype(np.float64), slopes.astype(np.float64)


def _check_sex(sex: str) -> None:
    if sex not in SEXES:
        raise UsageError(f'sex must be "male" or "female", got {sex!r}')
