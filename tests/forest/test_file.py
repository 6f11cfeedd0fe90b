"""Forest files: their bytes, their versions, and files that are refused."""

import hashlib
import json
import re
import struct
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.randomframes import random_frame
from support.smallforests import OPTIONS, PARTS, columns, facing, metadata, small

from depthforest.base import modelfile
from depthforest.base.errors import DepthForestError, ModelError
from depthforest.cli.info import describe
from depthforest.forest.file import FACING_VERSION, FORMAT_VERSION, KIND, OPTIONAL_VERSION, UNIT_VERSION
from depthforest.forest.forest import Forest
from depthforest.trees.columns import SCHEMA


def facing_columns(**changes):
    """The columns of a file of version 2: two trees without a split, two facings; and changes to them."""
    good = {
        "roots": np.array([~0, ~1], np.int32),
        "offsets": np.empty((0, 4), np.float32),
        "thresholds": np.empty(0, np.int16),
        "children": np.empty((0, 2), np.int32),
        "evidence": np.array([[5, -5], [0, 1]], np.int8),
        "row_lengths": np.array([[1, 2], [3, 1]], np.uint8),
        "row_parts": np.array([0, 0, 2, 0, 1, 2, 1], np.uint8),
        "row_shares": np.array([255, 200, 55, 85, 85, 85, 255], np.uint8),
    }
    return good | changes


def test_a_file_with_facings_by_hand(tmp_path):
    modelfile.write(
        tmp_path / "m", KIND, FACING_VERSION, metadata(smooth_m=0.05, person_confidence=0.2), facing_columns()
    )
    forest = Forest.load(tmp_path / "m")
    assert forest.leaves.tolist() == [[255, 0, 0], [200, 0, 55], [85, 85, 85], [0, 255, 0]]
    assert (forest.n_leaves, forest.n_facings, forest.smooth_m, forest.person_confidence) == (2, 2, 0.05, 0.2)
    lines = dict(describe(tmp_path / "m"))
    assert (lines["facings"], lines["smoothing"]) == ("2", "0.05 m")
    assert lines["kind"] == "depth_forest, format version 2"


def test_a_calibrated_file(tmp_path):
    calibration = {"temperature": 0.5, "temperature_unsmoothed": 0.75}
    for make, lowest in ((small, 1), (facing, 2)):
        forest = make()
        forest.save(tmp_path / "plain")
        assert modelfile.read(tmp_path / "plain").version == lowest, "only what needs it is written as 3 or 4"
        calibrated = replace(forest, calibration=calibration)
        calibrated.save(tmp_path / "m")
        assert modelfile.read(tmp_path / "m").version in (OPTIONAL_VERSION, UNIT_VERSION)
        again = Forest.load(tmp_path / "m")
        assert again == calibrated != forest
        assert again.calibration == calibration
    lines = dict(describe(tmp_path / "m"))
    assert (lines["confidence"], lines["calibration.temperature"]) == ("calibrated", "0.5")
    assert dict(describe(tmp_path / "plain"))["confidence"].startswith("not calibrated")


def test_offsets_in_whole_units(tmp_path):
    """What all offsets are whole multiples of, as training draws them, is stored once: half the bytes, same forest."""
    calibration = {"temperature": 0.5, "temperature_unsmoothed": 0.75}
    forest = replace(facing(seed=1, depth=5), calibration=calibration)
    units = np.random.default_rng(0).integers(-20_000, 20_001, forest.offsets.shape)
    units[0, 0] = 20_000
    whole = replace(forest, offsets=(units * 2.0**-15).astype(np.float32))
    whole.save(tmp_path / "m")
    file = modelfile.read(tmp_path / "m")
    assert (file.version, file.content["offset_unit_m"]) == (UNIT_VERSION, 2.0**-15)
    assert file.columns["offsets"].dtype == np.int16
    again = Forest.load(tmp_path / "m")
    assert again == whole
    assert again.offsets.dtype == np.float32
    # one that is no multiple, offsets of nothing, and a forest that is not of format 3
    odd = whole.offsets.copy()
    odd[1, 2] += np.float32(2.0**-17)
    for other, version in (
        (replace(whole, offsets=odd), OPTIONAL_VERSION),
        (replace(whole, offsets=np.zeros_like(odd)), OPTIONAL_VERSION),
        (replace(whole, calibration=None), FACING_VERSION),
    ):
        other.save(tmp_path / "other")
        assert modelfile.read(tmp_path / "other").version == version
        assert Forest.load(tmp_path / "other") == other


@pytest.mark.parametrize("unit", [0, -0.1, 0.1, "m", None, True])
def test_bad_units_of_offsets_are_refused(unit, tmp_path):
    own = {"calibration": {"temperature": 0.5, "temperature_unsmoothed": 0.75}, "offset_unit_m": unit}
    values = facing_columns(offsets=np.empty((0, 4), np.int16))
    path = tmp_path / "bad"
    modelfile.write(path, KIND, UNIT_VERSION, metadata(smooth_m=0.05, person_confidence=0.2, **own), values)
    with pytest.raises(ModelError, match=r"offset_unit_m must be above 0 and at most 0\.00061"):
        Forest.load(path)


BAD_CALIBRATIONS = {
    "no object": (3, "calibration must have exactly temperature and temperature_unsmoothed, got 3"),
    "one missing": ({"temperature": 1.0}, "calibration must have exactly temperature and temperature_unsmoothed"),
    "too cold": (
        {"temperature": 0.01, "temperature_unsmoothed": 1.0},
        r"calibration\.temperature must be from 0\.05 to 20, got 0\.01",
    ),
    "too hot": (
        {"temperature": 1.0, "temperature_unsmoothed": 21},
        r"calibration\.temperature_unsmoothed must be from 0\.05 to 20, got 21",
    ),
    "no number": ({"temperature": True, "temperature_unsmoothed": 1.0}, "must be from 0.05 to 20, got "),
}


@pytest.mark.parametrize("bad", BAD_CALIBRATIONS)
def test_bad_calibrations_are_refused(tmp_path, bad):
    value, message = BAD_CALIBRATIONS[bad]
    content = metadata(smooth_m=0.05, person_confidence=0.2, calibration=value)
    modelfile.write(tmp_path / "m", KIND, OPTIONAL_VERSION, content, facing_columns())
    with pytest.raises(ModelError, match=message) as error:
        Forest.load(tmp_path / "m")
    assert str(tmp_path / "m") in str(error.value)


BAD_FACINGS = {
    "too few entries": (facing_columns(row_lengths=np.array([[1, 2], [3, 2]], np.uint8)), "row_lengths sum to 8, but"),
    "no entries": (
        facing_columns(row_parts=np.empty(0, np.uint8), row_shares=np.empty(0, np.uint8)),
        "row_lengths sum to 7, but there are 0 row_parts",
    ),
    "parts and shares": (
        facing_columns(row_shares=np.array([255, 200, 55, 85, 85, 85], np.uint8)),
        r"column row_shares must have shape \(7\), got \(6,\)",
    ),
    "falling parts": (
        facing_columns(row_parts=np.array([0, 2, 0, 0, 1, 2, 1], np.uint8)),
        "row 1 must have parts that rise and are below 3, and shares above 0",
    ),
    "a part twice": (facing_columns(row_parts=np.array([0, 0, 0, 0, 1, 2, 1], np.uint8)), "row 1 must have parts"),
    "a part of no set": (facing_columns(row_parts=np.array([0, 0, 3, 0, 1, 2, 1], np.uint8)), "row 1 must have parts"),
    "a share of 0": (
        facing_columns(row_shares=np.array([255, 200, 0, 85, 85, 85, 255], np.uint8)),
        "row 1 must have .* shares above 0",
    ),
    "a sum of 254": (
        facing_columns(row_shares=np.array([255, 200, 54, 85, 85, 85, 255], np.uint8)),
        "leaf 1 sums to 254, expected 255",
    ),
    "an empty row": (
        facing_columns(
            row_lengths=np.array([[0, 2], [3, 1]], np.uint8),
            row_parts=np.array([0, 2, 0, 1, 2, 1], np.uint8),
            row_shares=np.array([200, 55, 85, 85, 85, 255], np.uint8),
        ),
        "leaf 0 sums to 0, expected 255",
    ),
    "shapes that differ": (
        facing_columns(row_lengths=np.array([[1, 2, 3, 1]], np.uint8)),
        r"column row_lengths must have shape \(2, 2\), got \(1, 4\)",
    ),
    "no facings": (
        facing_columns(
            evidence=np.empty((2, 0), np.int8),
            row_lengths=np.empty((2, 0), np.uint8),
            row_parts=np.empty(0, np.uint8),
            row_shares=np.empty(0, np.uint8),
        ),
        "a forest has 1 to 32 facings, got 0",
    ),
    "too many facings": (
        facing_columns(
            evidence=np.zeros((2, 33), np.int8),
            row_lengths=np.ones((2, 33), np.uint8),
            row_parts=np.zeros(66, np.uint8),
            row_shares=np.full(66, 255, np.uint8),
        ),
        "a forest has 1 to 32 facings, got 33",
    ),
    "more leaves than links": (
        facing_columns(
            evidence=np.zeros((3, 1), np.int8),
            row_lengths=np.ones((3, 1), np.uint8),
            row_parts=np.zeros(3, np.uint8),
            row_shares=np.full(3, 255, np.uint8),
        ),
        "leaf 2 has 0 parents",
    ),
    "another type": (facing_columns(evidence=np.zeros((2, 2), np.int16)), "column evidence must be int8, got int16"),
    "long parts": (facing_columns(row_parts=np.zeros(7, np.int32)), "column row_parts must be uint8, got int32"),
    "leaves as well": (facing_columns(leaves=np.zeros((4, 3), np.uint8)), "has the unknown column 'leaves'"),
}


@pytest.mark.parametrize("case", BAD_FACINGS)
def test_bad_files_with_facings(case, tmp_path):
    bad, message = BAD_FACINGS[case]
    path = tmp_path / "bad.safetensors"
    modelfile.write(path, KIND, FACING_VERSION, metadata(smooth_m=0.0, person_confidence=0.0), bad)
    with pytest.raises(ModelError, match=rf"^{re.escape(str(path))}: .*{message}") as caught:
        Forest.load(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", [-0.1, 0.3, 10**30, "0.03", None, [0.03], True, {"": 0}])
def test_bad_smoothing_in_a_file(value, tmp_path):
    path = tmp_path / "bad.safetensors"
    modelfile.write(path, KIND, FACING_VERSION, metadata(smooth_m=0.1, person_confidence=0), facing_columns())
    good = path.read_bytes()
    n_header = int.from_bytes(good[:8], "little")
    header = json.loads(good[8 : 8 + n_header])
    content = json.loads(header["__metadata__"]["depthforest"]) | {"smooth_m": value}
    header["__metadata__"]["depthforest"] = json.dumps(content)
    raw = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(raw)) + raw + good[8 + n_header :])
    with pytest.raises(ModelError, match=rf"^{re.escape(str(path))}: [^\n]+$"):
        Forest.load(path)


def test_huge_rows_are_refused_before_memory_is_taken(tmp_path, monkeypatch):
    monkeypatch.setattr("depthforest.forest.sparserows.MAX_FILE_BYTES", 11)
    modelfile.write(tmp_path / "m", KIND, FACING_VERSION, metadata(smooth_m=0.1, person_confidence=0), facing_columns())
    with pytest.raises(ModelError, match="4 rows of 3 parts need more than 11 bytes of memory"):
        Forest.load(tmp_path / "m")


def test_the_bytes_of_a_file_are_what_they_were(tmp_path):
    """Whatever the versions of Python and numpy; if this must change, so must the format version."""
    Forest(**columns(), part_set=PARTS, **OPTIONS).save(tmp_path / "m")
    digest = hashlib.sha256((tmp_path / "m").read_bytes()).hexdigest()
    assert digest == "47f2d56d4628da37b7f000694c5cc476e6ab1f9677ee49e28ce20d5a91442518"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"parts": {"names": ["a", "a", "b"]}}, "parts: part names must be unique"),
        ({"parts": {"names": ["a", "b"]}}, "leaves have 3 parts, the part set 2"),
        ({"parts": 3}, "parts: expected an object"),
        ({"parts": {**PARTS.to_dict(), "colors": 3}}, r"parts: colors must be a list of \[r, g, b\], got 3"),
        ({"parts": {**PARTS.to_dict(), "mirror": [[0, 1], [1, 2]]}}, "another pair has already"),
        ({"units": {"offsets": "mm", "thresholds": "mm"}}, "units must be .*'m'.* got .*'offsets': 'mm'"),
        ({"background_mm": 0}, "background_mm must be"),
        ({"background_mm": True}, "background_mm must be"),
        ({"mirror": "no"}, "mirror must be true or false"),
        ({"config": [1]}, "config must be a mapping, got list"),
        ({"parts": {"names": ["a"], "x\ny": 1}}, "parts: unknown keys x y; known are names"),
        ({"more": 1}, "has the unknown metadata key 'more'; expected background_mm"),
    ],
)
def test_bad_metadata(changes, message, tmp_path):
    path = tmp_path / "bad.safetensors"
    modelfile.write(path, KIND, FORMAT_VERSION, metadata(), columns())
    Forest.load(path)
    modelfile.write(path, KIND, FORMAT_VERSION, metadata(**changes), columns())
    with pytest.raises(ModelError, match=rf"^{re.escape(str(path))}: .*{message}"):
        Forest.load(path)


@pytest.mark.parametrize("key", metadata())
def test_a_missing_key_is_named(key, tmp_path):
    content = metadata()
    del content[key]
    modelfile.write(tmp_path / "bad", KIND, FORMAT_VERSION, content, columns())
    with pytest.raises(ModelError, match=f"lacks the metadata key {key}; expected background_mm, config"):
        Forest.load(tmp_path / "bad")


def test_wrong_kinds_versions_and_columns(tmp_path):
    path = tmp_path / "bad"
    modelfile.write(path, "boosted_trees", FORMAT_VERSION, metadata(), columns())
    with pytest.raises(ModelError, match="of kind 'boosted_trees', expected 'depth_forest'"):
        Forest.load(path)
    modelfile.write(path, KIND, 5, metadata(), columns())
    with pytest.raises(ModelError, match="has format version 5, this depthforest reads 4; update depthforest"):
        Forest.load(path)
    modelfile.write(path, KIND, 2, metadata(), columns())
    with pytest.raises(ModelError, match="lacks the metadata key person_confidence, smooth_m; expected background_mm"):
        Forest.load(path)
    modelfile.write(path, KIND, 2, metadata(smooth_m=0.0, person_confidence=0.0), columns())
    with pytest.raises(ModelError, match="lacks the column evidence, row_lengths, row_parts, row_shares; expected"):
        Forest.load(path)
    modelfile.write(path, KIND, 1, metadata(smooth_m=0.0), columns())
    with pytest.raises(ModelError, match="has the unknown metadata key 'smooth_m'"):
        Forest.load(path)
    modelfile.write(path, KIND, 0, metadata(), columns())
    with pytest.raises(ModelError, match=r"has format version 0, .* save it again with the version that made it"):
        Forest.load(path)
    modelfile.write(path, KIND, 1, metadata(), columns(extra=np.zeros(3, np.uint8)))
    with pytest.raises(ModelError, match="has the unknown column 'extra'; expected roots"):
        Forest.load(path)
    fewer = columns()
    del fewer["children"]
    modelfile.write(path, KIND, 1, metadata(), fewer)
    with pytest.raises(ModelError, match="lacks the column children; expected roots"):
        Forest.load(path)


def load_or_message(path):
    try:
        return Forest.load(path), ""
    except DepthForestError as error:
        return None, str(error)


@pytest.mark.parametrize("version", [FORMAT_VERSION, FACING_VERSION, UNIT_VERSION])
def test_mutated_files_load_soundly_or_are_refused(version, tmp_path):
    """Flipped, cut, repeated and swapped bytes: a forest that walks, or one clear line."""
    path = tmp_path / "model.safetensors"
    options = {"config": {"seed": 7}}
    if version == UNIT_VERSION:
        options["calibration"] = {"temperature": 0.5, "temperature_unsmoothed": 0.75}
    (small(3, 2, 5, **options) if version == FORMAT_VERSION else facing(3, 2, 4, 2, smooth_m=0.1, **options)).save(path)
    assert modelfile.read(path).version == version
    good = path.read_bytes()
    rng = np.random.default_rng(0)
    frame = random_frame(rng, 6, 6)
    n_header = int.from_bytes(good[:8], "little")
    n_loaded = 0
    for i in range(600):
        raw = bytearray(good)
        for _ in range(rng.integers(1, 4)):
            # a third each: header, columns, anywhere
            low, high = [(0, 8 + n_header), (8 + n_header, len(good)), (0, len(good))][i % 3]
            at = int(rng.integers(low, min(high, len(raw)))) if min(high, len(raw)) > low else 0
            kind = rng.integers(0, 10)
            if kind < 6:
                raw[at] = rng.integers(0, 256)
            elif kind == 6:
                raw[at] ^= 1 << int(rng.integers(0, 8))
            elif kind == 7:
                del raw[at : at + int(rng.integers(1, 20))]
            elif kind == 8:
                raw[at:at] = raw[at : at + int(rng.integers(1, 20))]
            else:
                raw[at : at + 4] = rng.choice([b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", b"\0\0\0\x80", b"9999"])
            if not raw:
                raw = bytearray(b"x")
        path.write_bytes(raw)
        forest, message = load_or_message(path)
        if forest is None:
            assert message.startswith(f"{path}: ")
            assert "\n" not in message
            continue
        n_loaded += 1
        rows = forest.walk(frame)
        np.testing.assert_allclose(rows.sum(axis=1), frame.depth_mm.ravel() > 0, atol=1e-6)
        assert ((forest.label(frame).parts != 255) == (frame.depth_mm > 0)).all()
    assert 20 < n_loaded < 400


def values_of(name):
    """Return (column, position, value) of anything that a file can hold in a column."""
    if name == "offsets":
        value = st.floats(width=32) | st.floats(-12, 12, width=32)
    else:
        limits = np.iinfo(SCHEMA[name].dtype)
        value = st.integers(max(limits.min, -40), min(limits.max, 40)) | st.integers(limits.min, limits.max)
    return st.tuples(st.just(name), st.integers(0, 2**20), value)


@settings(max_examples=200, deadline=None)
@given(changes=st.lists(st.one_of([values_of(name) for name in SCHEMA if name != "evidence"]), min_size=1, max_size=3))
def test_mutated_values_make_a_sound_forest_or_are_refused(changes, tmp_path_factory):
    """Values as a hostile file may hold them, in a container that is sound: links, cycles, sums, NaN."""
    forest = small(3, 2, 5)
    altered = {name: getattr(forest, name).copy() for name in SCHEMA if name != "evidence"}
    for name, at, value in changes:
        altered[name].reshape(-1)[at % altered[name].size] = value
    path = tmp_path_factory.getbasetemp() / "mutant"
    modelfile.write(path, KIND, FORMAT_VERSION, metadata(), altered)
    mutant, message = load_or_message(path)
    if mutant is None:
        assert message.startswith(f"{path}: ")
        assert "\n" not in message
        return
    frame = random_frame(np.random.default_rng(0), 6, 6)
    np.testing.assert_allclose(mutant.walk(frame).sum(axis=1), frame.depth_mm.ravel() > 0, atol=1e-6)
