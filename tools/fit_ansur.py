"""Fit the constants of `synth.bodies.anthropometry` to the ANSUR II survey and print them as code.

Run as ``python tools/fit_ansur.py FOLDER``, where FOLDER holds the two public csv files of ANSUR II; paste the output
into synth/anthropometry.py and let ruff format it.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt

COLUMNS: dict[str, str] = {
    "stature": "stature",
    "sitting_height": "sittingheight",
    "trochanter_height": "trochanterionheight",
    "crotch_height": "crotchheight",
    "knee_height": "kneeheightmidpatella",
    "upper_arm_length": "acromionradialelength",
    "forearm_length": "radialestylionlength",
    "hand_length": "handlength",
    "foot_length": "footlength",
    "shoulder_breadth": "biacromialbreadth",
    "hip_breadth": "hipbreadth",
    "head_breadth": "headbreadth",
    "head_length": "headlength",
    "neck_girth": "neckcircumference",
    "chest_girth": "chestcircumference",
    "waist_girth": "waistcircumference",
    "hip_girth": "buttockcircumference",
    "thigh_girth": "thighcircumference",
    "weight_kg": "weightkg",
}
"""Our name of a measure -> the survey's column, in mm; weight in 0.1 kg."""

FILES: dict[str, str] = {"male": "ANSUR_II_MALE_Public.csv", "female": "ANSUR_II_FEMALE_Public.csv"}


def read_survey(path: Path) -> npt.NDArray[np.float64]:
    """Return the measures of one csv file, (people, measures), in meters and kg."""
    with path.open(encoding="latin-1", newline="") as file:
        rows = list(csv.DictReader(file))
    in_mm = np.array([[float(row[column]) for column in COLUMNS.values()] for row in rows])
    scale = [0.1 if name == "weight_kg" else 0.001 for name in COLUMNS]
    return in_mm * scale


def main(folder: Path) -> None:
    """Print means, standard deviations and correlations of both sexes."""
    for sex, name in FILES.items():
        values = read_survey(folder / name)
        correlations = np.corrcoef(values.T)
        percent = np.rint(100 * correlations).astype(int)
        lowest = float(np.linalg.eigvalsh(percent / 100).min())
        if lowest <= 0:
            raise SystemExit(f"{name}: the rounded correlations are no correlations: lowest eigenvalue {lowest}")
        print(f'"{sex}": _Survey(  # {len(values)} people')
        for title, row in (("means", values.mean(axis=0)), ("deviations", values.std(axis=0, ddof=1))):
            print(f"    {title}=({', '.join(f'{x:.4f}' if x < 10 else f'{x:.2f}' for x in row)}),")
        below_diagonal = "\n        ".join(" ".join(f"{c:2d}" for c in percent[i, :i]) for i in range(1, len(percent)))
        print(f'    correlations="""\n        {below_diagonal}\n    """,\n),')


if __name__ == "__main__":
    main(Path(sys.argv[1]))
