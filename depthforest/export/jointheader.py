"""The second header: joints of a labeled person by the fast method of `find_joints`, to a tenth of a millimeter."""

from __future__ import annotations

from typing import Any

import numpy as np

from depthforest.export.literals import number, numbers, quoted
from depthforest.export.renaming import renamed, template
from depthforest.frames import BONES, JOINTS
from depthforest.joints import (
    CAP,
    FAST,
    FAST_PIXELS,
    LEAST_AREA,
    MAX_COST,
    MAX_MODES,
    MAX_ODDS,
    MAX_PAIRS,
    MAX_STEP_M,
    MODE_NOISE,
    REACH_M,
    SIZES,
    TRANSLATION,
    UNIT_AREA,
    Finder,
    Placer,
    finder_of,
)
from depthforest.trees import DepthTrees

CLIMBERS = 16
"""Mean shift starts processed together, as in `joints.meanshift`: a block iterates until all have converged."""


def joints_text(forest: DepthTrees, header: str, name: str) -> str:
    """Return the text of the joint header for a label header."""
    guard = f"{name.upper()}_JOINTS_H"
    about = (
        f"/* The joints of a person that {name}_label has labeled: the fast method of find_joints, positions equal to\n"
        f" * a tenth of a millimeter. It needs the mathematics of the C library (-lm). */\n"
        f'#ifndef {guard}\n#define {guard}\n\n#include <math.h>\n\n#include "{header}"\n\n'
    )
    finder = finder_of(forest)
    return about + renamed(_constants(finder) + template("joints.h"), name) + "\n#endif\n"


def _constants(finder: Finder) -> str:
    """Return the parameters of the model's joints, and the constants of the method."""
    spacing, tolerance, max_steps = FAST
    n_anchors = max((len(placer.anchors) for placer in finder.placers), default=1)
    values = {
        "JOINTS": str(len(JOINTS)),
        "CLUSTERS": str(len(finder.names)),
        "OWN": str(len(finder.own)),
        "PLACERS": str(len(finder.placers)),
        "MAX_ANCHORS": str(n_anchors),
        "MODES": str(MAX_MODES),
        "CLIMBERS": str(CLIMBERS),
        "FAST_PIXELS": str(FAST_PIXELS),
        "MAX_PAIRS": str(MAX_PAIRS),
        "SPACING": f"{number(spacing)}f",
        "TOLERANCE": f"{number(tolerance)}f",
        "MAX_STEPS": str(max_steps),
        "UNIT_AREA": number(UNIT_AREA),
        "MAX_ODDS": number(MAX_ODDS),
        "CAP": number(CAP),
        "SIZES": numbers(SIZES),
        "TRANSLATION": number(TRANSLATION),
        "MODE_NOISE": number(MODE_NOISE),
        "MOVES": str(finder.moves.shape[2] if finder.parameters.moves else 0),
        "REACH_M": number(REACH_M),
        "MAX_STEP_M": number(MAX_STEP_M),
        "MAX_COST": number(MAX_COST),
        "LEAST_AREA": number(LEAST_AREA),
        "BONE_WEIGHT": number(finder.parameters.bone_weight),
    }
    lines = [f"#define DF_{key} {value}\n" for key, value in values.items()]
    lines.append("\nstatic const char *const df_joint_names[DF_JOINTS] = {")
    lines.append(", ".join(quoted(joint) for joint in JOINTS) + "};\n")
    firsts, members, bandwidths, thresholds = finder.clusters
    parents = [next((JOINTS.index(a) for a, b in BONES if b == joint), -1) for joint in JOINTS]
    order = [0, *(JOINTS.index(b) for _, b in BONES)]
    for kind, entry, content in (
        ("int", "firsts[DF_CLUSTERS + 1]", firsts),
        ("int", f"members[{len(members)}]", members),
        ("float", "bandwidths[DF_CLUSTERS]", bandwidths),
        ("float", "thresholds[DF_CLUSTERS]", thresholds),
        ("double", "push_backs[DF_CLUSTERS]", finder.push_backs),
        ("int", f"own[{max(len(finder.own), 1)}][2]", finder.own if len(finder.own) else np.zeros((1, 2), int)),
        ("int", "parents[DF_JOINTS]", np.array(parents)),
        ("int", "order[DF_JOINTS]", np.array(order)),
        ("double", "lengths[DF_JOINTS]", finder.lengths),
        ("double", "sds[DF_JOINTS]", finder.sds),
        ("double", "evidence[DF_JOINTS][3]", finder.evidence),
        ("double", "confidence[DF_JOINTS][3]", finder.confidence),
    ):
        lines.append(f"static const {kind} df_{entry} = {_floats(content) if kind == 'float' else numbers(content)};\n")
    if finder.parameters.moves:
        n_odds = finder.odds.shape[1]
        lines.append(f"static const double df_steps[DF_JOINTS][3][DF_MOVES] = {numbers(finder.moves)};\n")
        lines.append(f"static const double df_odds[DF_JOINTS][{n_odds}] = {numbers(finder.odds)};\n")
    return "".join(lines) + (_placers(finder.placers) if finder.placers else "") + "\n"


def _floats(content: Any) -> str:
    return "{" + ", ".join(f"{number(float(value))}f" for value in content) + "}"


def _placers(placers: list[Placer]) -> str:
    """Return the joints that are placed relative to others."""
    lines = [
        "\ntypedef struct {\n    int joint, n_anchors, n_carriers, is_fitted;\n    double push_back;\n"
        "    int anchors[DF_MAX_ANCHORS];\n    double means[DF_MAX_ANCHORS + 1][3];\n"
        "    double covariances[3][DF_MAX_ANCHORS + 1][DF_MAX_ANCHORS + 1];\n} df_placer;\n\n"
        "static const df_placer df_placers[DF_PLACERS] = {\n"
    ]
    for placer in placers:
        offsets, n = placer.offsets, len(placer.anchors)
        means = np.zeros((n + 1, 3)) if offsets is None else offsets.means_m
        covariances = np.zeros((3, n + 1, n + 1)) if offsets is None else offsets.covariances_m2
        lines.append(
            f"    {{{placer.joint}, {n}, {placer.n_carriers}, {int(offsets is not None)}, {number(placer.push_back)},\n"
            f"     {numbers(placer.anchors)},\n     {numbers(means)},\n     {numbers(covariances)}}},\n"
        )
    return "".join(lines) + "};\n"
