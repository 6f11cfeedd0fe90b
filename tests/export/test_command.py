import re

import pytest
from support.command import run_here
from support.smallforests import facing


@pytest.fixture
def model(tmp_path):
    facing(mirror=True, smooth_m=0.02).save(tmp_path / "small.safetensors")
    return tmp_path / "small.safetensors"


def test_export_writes_a_header_and_what_belongs_to_it(model, tmp_path):
    done = run_here("export", model, "-o", tmp_path / "small.h", "--blob", "--example", "--name", "tiny")
    assert done.returncode == 0, done.stderr
    assert [line.split(" (")[0] for line in done.stdout.decode().splitlines()] == [
        f"written: {tmp_path / name}" for name in ("small.h", "small.bin", "small_example.c")
    ]
    assert re.search(r"small_example\.c \(\d\.\d kB\)$", done.stdout.decode().strip())
    assert "tiny_label(" in (tmp_path / "small.h").read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-o", "x.txt"], "ends in .h"),
        (["-o", "x.h", "--name", "1a"], "C identifier"),
        (["-o", "x.wasm", "--wasm", "--blob"], "--blob is about headers"),
        (["-o", "x.wasm", "--wasm", "--page"], "not both"),
        (["-o", "x.h", "--wasm"], "ends in .wasm"),
        (["-o", "x.wasm", "--page"], "ends in .html"),
        (["-o", "no/x.h"], "no; make it, or name another"),
    ],
)
def test_export_says_what_is_wrong_in_one_line(words, message, model, tmp_path):
    done = run_here("export", model, *words, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr.decode()
    assert done.stderr.count(b"\n") == 1
    assert not (tmp_path / "x.h").exists()
