"""Model files: the container, whatever is in it."""

import json
import os
import re

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given, settings
from hypothesis import strategies as st

from depthforest.base import modelfile
from depthforest.base.errors import DepthForestError, ModelError
from depthforest.base.modelfile import Column

COLUMNS = {
    "b": np.arange(6, dtype=np.int16).reshape(3, 2),
    "a": np.array([0.5, -1.5], dtype=np.float32),
    "c": np.array([1, 2, 3], dtype=np.uint8),
    "d": np.array([-(2**60)], dtype=np.int64),
}
SCHEMA = {
    "a": Column("float32", ("n",)),
    "b": Column("int16", (3, "n")),
    "c": Column("uint8", ("m",)),
    "d": Column("int64", (1,)),
}


def bytes_of(content=None, columns=COLUMNS, kind="toy", version=1):
    return b"".join(modelfile.encode(kind, version, content or {}, columns))


def packed(header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def described(text='{"kind": "toy", "format": 1}', **columns):
    return {"__metadata__": {"depthforest": text}, **columns}


def column(dtype="U8", shape=(3,), span=(0, 3)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(span)}


# -- what is written is read


def test_what_is_written_is_read(tmp_path):
    content = {"x": [1, 2.5, None, True, "ü\n"], "y": {"z": {}}}
    modelfile.write(tmp_path / "m", "toy", 3, content, COLUMNS)
    file = modelfile.read(tmp_path / "m")
    assert (file.kind, file.version, file.content) == ("toy", 3, content)
    assert file.n_bytes == (tmp_path / "m").stat().st_size
    assert set(file.columns) == set(COLUMNS)
    for name, array in COLUMNS.items():
        np.testing.assert_array_equal(file.columns[name], array)
        assert file.columns[name].dtype == array.dtype
        assert not file.columns[name].flags.writeable
    file.expect("toy", 3, SCHEMA, ("x", "y"))


def test_the_safetensors_package_reads_what_we_write():
    loaded = safetensors.numpy.load(bytes_of({"x": "ü"}))
    assert set(loaded) == set(COLUMNS)
    for name, array in COLUMNS.items():
        np.testing.assert_array_equal(loaded[name], array)
        assert loaded[name].dtype == array.dtype


def test_we_read_what_the_safetensors_package_writes(tmp_path):
    metadata = {"depthforest": '{"format": 1, "kind": "toy", "x": "\\u00fc"}'}
    (tmp_path / "m").write_bytes(safetensors.numpy.save(COLUMNS, metadata))
    file = modelfile.read(tmp_path / "m")
    assert file.content == {"x": "ü"}
    for name, array in COLUMNS.items():
        np.testing.assert_array_equal(file.columns[name], array)


def test_equal_content_gives_equal_bytes():
    one = bytes_of({"a": 1, "b": {"d": 2, "c": (3,)}})
    turned = {name: np.asfortranarray(COLUMNS[name]) for name in reversed(COLUMNS)}
    assert bytes_of({"b": {"c": [3], "d": 2}, "a": 1}, turned) == one
    big = {name: array.astype(array.dtype.newbyteorder(">")) for name, array in COLUMNS.items()}
    assert bytes_of({"b": {"c": [3], "d": 2}, "a": 1}, big) == one


def test_columns_are_aligned():
    raw = bytes_of()
    n_header = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8 : 8 + n_header])
    del header["__metadata__"]
    assert n_header % 8 == 0
    assert [h["data_offsets"][0] % COLUMNS[n].dtype.itemsize for n, h in header.items()] == [0] * 4


def test_empty_columns(tmp_path):
    empty = {"a": np.empty((0, 4), np.float32), "b": np.empty(0, np.uint8)}
    modelfile.write(tmp_path / "m", "toy", 1, {}, empty)
    assert modelfile.read(tmp_path / "m").columns["a"].shape == (0, 4)
    modelfile.write(tmp_path / "m", "toy", 1, {}, {})
    assert modelfile.read(tmp_path / "m").columns == {}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**64) + 1, 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner),
    max_leaves=10,
)  # fmt: skip


@settings(max_examples=100, deadline=None)
@given(value=JSON)
def test_any_metadata_comes_back(value, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "any"
    modelfile.write(path, "toy", 1, {"x": value}, {})
    assert modelfile.read(path).content == {"x": value}


def test_a_failed_write_leaves_the_old_file(tmp_path):
    modelfile.write(tmp_path / "m", "toy", 1, {}, COLUMNS)
    before = (tmp_path / "m").read_bytes()
    with pytest.raises(ModelError, match="cannot be nan"):
        modelfile.write(tmp_path / "m", "toy", 1, {"x": float("nan")}, COLUMNS)
    assert (tmp_path / "m").read_bytes() == before
    with pytest.raises(DepthForestError, match="none/m: cannot be written: no such file"):
        modelfile.write(tmp_path / "none" / "m", "toy", 1, {}, COLUMNS)
    assert [p.name for p in tmp_path.iterdir()] == ["m"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"x": {"y": object()}}, r"metadata.x.y: cannot be <object"),
        ({"x": float("inf")}, "metadata.x: cannot be inf"),
        ({"x": {1: 2}}, r"metadata.x: cannot be \{1: 2\}; metadata holds dicts with text keys"),
        ({"x": "\ud800"}, r"metadata.x: is not valid text"),
        ({"\udfff": 1}, r"metadata: is not valid text"),
        ({"x": np.float32(1)}, r"metadata.x: cannot be"),
        ({"x": np.zeros(3)}, r"metadata.x: cannot be array"),
    ],
)
def test_what_json_cannot_hold(content, message):
    with pytest.raises(ModelError, match=message):
        bytes_of(content)


def test_what_is_too_large_or_too_deep(monkeypatch):
    deep = 1
    for _ in range(modelfile.MAX_JSON_DEPTH):
        deep = [deep]
    with pytest.raises(ModelError, match="metadata may be nested 24 deep"):
        bytes_of({"x": deep})
    bytes_of({"x": deep[0]})
    with pytest.raises(ModelError, match=r"too large to be stored: 42.* bytes of metadata"):
        bytes_of({"x": "a" * 4_200_000})
    with pytest.raises(ModelError, match="column x has the type bool; known are float64"):
        bytes_of(columns={"x": np.zeros(3, bool)})
    monkeypatch.setattr(modelfile, "MAX_FILE_BYTES", 100)
    with pytest.raises(ModelError, match=r"too large to be stored: .* 31 of columns; at most 4194304 and 100 fit"):
        bytes_of()


def test_what_a_cyclic_metadata_gives():
    loop = {}
    loop["x"] = loop
    with pytest.raises(ModelError, match="nested 24 deep"):
        bytes_of(loop)


# -- what must be there


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("other", 1, SCHEMA, ()), "m: holds a model of kind 'toy', expected 'other'"),
        (("toy", 2, SCHEMA, ()), "m: has format version 1, this depthforest reads 2; save it again"),
        (("toy", 0, SCHEMA, ()), "m: has format version 1, this depthforest reads 0; update depthforest"),
        (("toy", 1, SCHEMA, ("x",)), "m: lacks the metadata key x; expected x"),
        (("toy", 1, {"a": SCHEMA["a"]}, ()), "m: has the unknown column 'd', 'b', 'c'; expected a"),
        (("toy", 1, SCHEMA | {"e": SCHEMA["a"]}, ()), "m: lacks the column e; expected a, b, c, d, e"),
        (("toy", 1, SCHEMA | {"a": Column("float64", ("n",))}, ()), "m: column a must be float64, got float32"),
        (("toy", 1, SCHEMA | {"c": Column("uint8", ("n",))}, ()), r"m: column c must have shape \(2\), got \(3,\)"),
        (("toy", 1, SCHEMA | {"b": Column("int16", (4, "n"))}, ()), r"column b must have shape \(4, 2\), got \(3, 2\)"),
        (("toy", 1, SCHEMA | {"d": Column("int64", (1, 1))}, ()), r"column d must have shape \(1, 1\), got \(1,\)"),
    ],
)
def test_what_is_expected_must_be_there(arguments, message, tmp_path):
    modelfile.write(tmp_path / "m", "toy", 1, {}, COLUMNS)
    file = modelfile.read(tmp_path / "m")
    file.expect("toy", 1, SCHEMA, ())
    with pytest.raises(ModelError, match=message):
        file.expect(*arguments)


# -- broken files


GOOD = bytes_of()
N_HEADER = int.from_bytes(GOOD[:8], "little")
DEEP = '{"kind":"toy","format":1,"x":' + "[" * 100_000 + "]" * 100_000 + "}"
HUGE = 10**400
BROKEN = {
    "empty": (b"", r"is empty \(0 bytes\); was it copied"),
    "one byte": (b"x", "is not a model file"),
    "text": (b"Hello, I am a text and no model at all.", "is not a model file"),
    "a PNG": (b"\x89PNG\r\n\x1a\n" + bytes(100), "is not a model file"),
    "a pickle": (b"\x80\x04\x95\x10\0\0\0\0\0\0\0}", "is not a model file"),
    "cut in the header": (GOOD[: N_HEADER // 2], f"is cut off: its header needs {8 + N_HEADER} bytes, the file has"),
    "cut in the data": (GOOD[:-1], "is cut off: column 'c' ends at byte 31 of the data, which has 30"),
    "something appended": (GOOD + b"xy", "has 2 bytes after its last column; was something appended"),
    "huge header": ((2**62).to_bytes(8, "little") + GOOD[8:], "is not a model file"),
    "not JSON": (packed(b"{nonsense}"), "its header is not valid JSON: "),
    "not UTF-8": (packed(b'{"\xff": 1}'), "its header is not valid JSON: 'utf-8' codec"),
    "a list": (packed(b"{}").replace(b"{}", b"[]"), "is not a model file"),
    "key twice": (packed(b'{"a": 1, "a": 2}'), "its header is not valid JSON: a key is given twice"),
    "deep header": (packed(b'{"a": ' + b"[" * 99999), "its header is nested deeper than 24"),
    "no metadata": (packed({"a": column()}, b"abc"), "is a safetensors file but no depthforest model"),
    "other metadata": (packed({"__metadata__": {"format": "pt"}}), "is a safetensors file but no depthforest model"),
    "more metadata": (
        packed({"__metadata__": {"depthforest": "{}", "more": ""}}),
        "metadata must be one text under 'depthforest'",
    ),
    "metadata of a number": (packed({"__metadata__": {"depthforest": 3}}), "is a safetensors file but no"),
    "metadata is a list": (packed(described("[1]")), r"its metadata must be a JSON object, got \[1\]"),
    "metadata is not JSON": (packed(described("{")), "its metadata is not valid JSON"),
    "metadata with a half character": (packed(described('{"a": "\ud800"}')), "its metadata is not valid text"),
    "metadata with an escaped half": (packed(described('{"a": "\\ud800"}')), "metadata.a: is not valid text"),
    "metadata with NaN": (packed(described('{"a": NaN}')), "its metadata is not valid JSON: NaN is not a number"),
    "metadata with 1e999": (packed(described('{"a": 1e999}')), "its metadata is not valid JSON: 1e999 is too large"),
    "metadata with a huge number": (packed(described('{"a": 1%s}' % ("0" * 400))), "metadata.a: cannot be a huge"),
    "metadata of endless digits": (packed(described('{"a": %s}' % ("9" * 9999))), "its metadata is not valid JSON"),
    "a long name of two lines": (packed(described(json.dumps({"a\nb" + "c" * 999: HUGE}))), "metadata.a bccc"),
    "deep metadata": (packed(described(DEEP)), "its metadata is nested deeper than 24"),
    "large metadata": (packed(described(" " * 4_200_000 + "{}")), "has 4200002 bytes of metadata; .* at most 4194304"),
    "no kind": (packed(described('{"format": 1}')), r"its metadata must say kind \(text\) and format"),
    "no version": (packed(described('{"kind": "toy"}')), r"its metadata must say kind \(text\) and format"),
    "a true version": (packed(described('{"kind": "toy", "format": true}')), "its metadata must say kind"),
    "many columns": (
        packed(described(**{f"c{i}": column(shape=(0,), span=(0, 0)) for i in range(100)})),
        "has 100 columns; a model file has at most 64",
    ),
    "a column of nothing": (packed(described(a=3)), "column 'a' must have dtype, shape and data_offsets"),
    "a column with more": (packed(described(a=column() | {"x": 1}), b"abc"), "and nothing else"),
    "a column without": (packed(described(a={"dtype": "U8", "shape": [3]}), b"abc"), "column 'a' must have dtype"),
    "unknown type": (packed(described(a=column("BF16")), b"abc"), "column 'a' has the type 'BF16'; known are F64"),
    "type of a list": (packed(described(a=column(["U8"])), b"abc"), r"column 'a' has the type \['U8'\]"),
    "negative shape": (packed(described(a=column(shape=(-3,))), b"abc"), "column 'a': shape and data_offsets must be"),
    "float shape": (packed(described(a=column(shape=(3.0,))), b"abc"), "column 'a': shape and data_offsets must be"),
    "true shape": (packed(described(a=column(shape=(True,))), b"abc"), "column 'a': shape and data_offsets must be"),
    "huge shape": (packed(described(a=column(shape=(HUGE,))), b"abc"), "column 'a': shape and data_offsets must be"),
    "nine axes": (packed(described(a=column(shape=(1,) * 9))), "column 'a': shape and data_offsets must be"),
    "one offset": (packed(described(a=column(span=(3,))), b"abc"), "column 'a': shape and data_offsets must be"),
    "overflowing shape": (
        packed(described(a=column(shape=(2**28, 2**28, 2**8), span=(0, 0)))),
        r"column 'a' of shape \[268435456, .* needs 18446744073709551616 bytes, its data_offsets span 0",
    ),
    "empty and huge": (
        packed(described(a=column(shape=(0, 2**28, 2**28, 2**28), span=(0, 0)))),
        r"column 'a' is empty and has shape \[0, 268435456",
    ),
    "large, but not there": (
        packed(described(a=column(shape=(400_000_000,), span=(0, 400_000_000)))),
        "is cut off: column 'a' ends at byte 400000000 of the data, which has 0",
    ),
    "wrong span": (packed(described(a=column(span=(0, 2))), b"ab"), r"of shape \[3\] needs 3 bytes, .* span 2"),
    "span backwards": (packed(described(a=column(span=(3, 0))), b"abc"), r"needs 3 bytes, its data_offsets span -3"),
    "overlap": (packed(described(a=column(), b=column(span=(2, 5))), b"abcde"), "columns overlap or leave gaps"),
    "gap": (packed(described(a=column(), b=column(span=(4, 7))), b"abcdefg"), "columns overlap or leave gaps"),
    "late": (packed(described(a=column(span=(1, 4))), b"abcd"), "columns overlap or leave gaps"),
    "one span for two": (packed(described(a=column(), b=column()), b"abc"), "columns overlap or leave gaps"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_broken_files(case, tmp_path):
    raw, message = BROKEN[case]
    path = tmp_path / "broken.safetensors"
    path.write_bytes(raw)
    with pytest.raises(ModelError, match=rf"^{re.escape(str(path))}: .*{message}") as caught:
        modelfile.read(path)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < len(str(path)) + 250


def test_the_helpers_of_these_tests_make_good_files(tmp_path):
    (tmp_path / "m").write_bytes(packed(described(a=column()), b"abc"))
    assert modelfile.read(tmp_path / "m").columns["a"].tobytes() == b"abc"
    (tmp_path / "m").write_bytes(GOOD)
    modelfile.read(tmp_path / "m")


def test_random_bytes(tmp_path):
    rng = np.random.default_rng(0)
    for n in (1, 8, 9, 10, 100, 5000):
        (tmp_path / "m").write_bytes(rng.bytes(n))
        with pytest.raises(ModelError, match="is not a model file"):
            modelfile.read(tmp_path / "m")


def test_a_string_that_never_ends_is_no_endless_work(tmp_path):
    """A quadratic scan of 4 MB would take hours."""
    (tmp_path / "m").write_bytes(packed(b'{"' + b'\\"' * 2_000_000 + b"\\"))
    with pytest.raises(ModelError, match="its header is not valid JSON"):
        modelfile.read(tmp_path / "m")


def test_what_is_no_file(tmp_path):
    with pytest.raises(ModelError, match="is a folder, expected a model file"):
        modelfile.read(tmp_path)
    with pytest.raises(ModelError, match="none: cannot be read: no such file or directory"):
        modelfile.read(tmp_path / "none")
    with pytest.raises(ModelError, match="cannot be read: "):
        modelfile.read("nul\0byte")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ModelError, match="is not a regular file"):
        modelfile.read(tmp_path / "pipe")


def test_a_file_beyond_the_limit_is_not_read(tmp_path):
    with (tmp_path / "large").open("wb") as file:
        file.truncate(modelfile.MAX_FILE_BYTES + 1)  # takes no space
    with pytest.raises(ModelError, match="has 536870913 bytes; a model file has at most 536870912"):
        modelfile.read(tmp_path / "large")
