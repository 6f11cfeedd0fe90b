"""Where compiled kernels are kept: which folder, and what happens where it cannot be written."""

import os
import re
import subprocess
import sys
import tomllib
from itertools import chain
from pathlib import Path

import numba
import pytest

from depthforest.base.compiling import cache as kernelcache

compiled = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")

CALL = "from depthforest.io.lzf import _decompress, decompress\nprint(decompress(bytes([0, 65, 32, 0]), 4).tobytes())\n"
COUNT = "print(sum(_decompress._cache_hits.values()), sum(_decompress._cache_misses.values()))\n"

READ_ONLY = """
import os, sys
def refuse(event, args):
    is_written = event == "open" and isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
    if (is_written or event in ("os.mkdir", "os.rename", "os.remove")) and str(args[0]).startswith(sys.argv[1]):
        raise PermissionError(13, "read-only", str(args[0]))
sys.addaudithook(refuse)
"""


def run(code, folder, *words):
    """Run Python code with kernels kept in a folder; return what it prints, line by line."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, words)],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
    )
    return done.stdout.splitlines()


@pytest.fixture
def fresh(monkeypatch):
    kernelcache.cache_folder.cache_clear()
    yield monkeypatch
    monkeypatch.undo()
    kernelcache.cache_folder.cache_clear()


def test_the_folder_is_named_by_the_sources(fresh, tmp_path):
    fresh.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    assert kernelcache.cache_folder() == tmp_path / kernelcache.sources_hash()
    assert list(tmp_path.rglob("*")) == [tmp_path / kernelcache.sources_hash()]


@pytest.fixture
def sources(monkeypatch, tmp_path):
    """Return a function that writes a source file of invented packages and returns the hashes of rooms."""

    def write(name, text, *rooms):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
        kernelcache.sources_hash.cache_clear()
        kernelcache._folder_hash.cache_clear()
        return [kernelcache.sources_hash(room and Path(room)) for room in rooms]

    monkeypatch.setattr(kernelcache, "PACKAGES", tmp_path)
    yield write
    kernelcache.sources_hash.cache_clear()
    kernelcache._folder_hash.cache_clear()


def test_any_edit_of_any_source_counts(sources):
    edits = [("depthforest/a.py", "1"), ("synth/b/c.py", "1"), ("synth/b/c.py", "2"), ("synth/d.py", "")]
    hashes = [sources(*edit, None)[0] for edit in edits]
    assert len(set(hashes)) == 4
    assert sources("synth/__pycache__/e.py", "", None) == [hashes[-1]]
    assert sources("synth/notes.txt", "", None) == [hashes[-1]]


def test_a_kernel_is_as_fresh_as_its_room_and_those_below(sources):
    rooms = ["depthforest/base", "depthforest/ensemble", "depthforest/trees", "depthforest/training", "synth"]
    changed = {}
    for edited in ("base", "ensemble", "frames", "io", "trees", "cli"):
        before = sources(f"depthforest/{edited}/x.py", "1", *rooms)
        after = sources(f"depthforest/{edited}/x.py", "2", *rooms)
        changed[edited] = [Path(room).name for room, old, new in zip(rooms, before, after, strict=True) if old != new]
    assert changed == {
        "base": ["base", "ensemble", "trees", "training", "synth"],
        "ensemble": ["ensemble", "trees", "training"],
        "frames": ["trees", "training", "synth"],
        "io": ["trees", "training", "synth"],
        "trees": ["trees", "training"],
        "cli": [],
    }


def test_the_rooms_stand_in_the_order_that_imports_are_checked_by():
    content = tomllib.loads((kernelcache.PACKAGES / "pyproject.toml").read_text("utf-8"))
    contracts = content["tool"]["importlinter"]["contracts"]
    layers = next(one for one in contracts if "depthforest" in one.get("containers", ()))
    order = [sorted(row.split(" | ")) for row in reversed(layers["layers"])]
    assert [sorted(row) for row in kernelcache.ORDER] == order[: len(kernelcache.ORDER)]
    for room in chain(*order[len(kernelcache.ORDER) :]):
        texts = [path.read_text("utf-8") for path in (kernelcache.PACKAGES / "depthforest" / room).rglob("*.py")]
        assert texts
        assert not any("njit" in text or re.search(r"^@(kernel|bare|merged|inlined)$", text, re.M) for text in texts), (
            room
        )


def test_without_the_variable_a_checkout_keeps_its_own(fresh):
    fresh.delenv("NUMBA_CACHE_DIR", raising=False)
    assert kernelcache.cache_folder() == kernelcache.PACKAGES / ".cache" / "numba" / kernelcache.sources_hash()


def test_an_installed_package_uses_the_folder_of_the_user(fresh, tmp_path):
    fresh.delenv("NUMBA_CACHE_DIR", raising=False)
    fresh.setattr(kernelcache, "PACKAGES", tmp_path / "site-packages")
    fresh.setenv("LOCALAPPDATA" if os.name == "nt" else "XDG_CACHE_HOME", str(tmp_path))
    assert kernelcache.cache_folder() == tmp_path / "depthforest" / "numba" / kernelcache.sources_hash()


def test_a_place_that_cannot_be_written_is_passed_over(fresh, tmp_path):
    (tmp_path / "file").touch()
    places = [tmp_path / "file" / "folder", tmp_path / "good"]
    fresh.setattr(kernelcache, "_places", lambda: iter(places))
    assert kernelcache.cache_folder() == tmp_path / "good" / kernelcache.sources_hash()
    kernelcache.cache_folder.cache_clear()
    places.pop()
    assert kernelcache.cache_folder() is None


@compiled
def test_kernels_are_found_by_the_next_process(tmp_path):
    assert run(CALL + COUNT, tmp_path) == ["b'AAAA'", "0 1"]
    assert run(CALL + COUNT, tmp_path) == ["b'AAAA'", "1 0"]


@compiled
def test_a_read_only_folder_is_read(tmp_path):
    run(CALL, tmp_path)
    before = sorted(tmp_path.rglob("*"))
    assert run(READ_ONLY + CALL + COUNT, tmp_path, tmp_path) == ["b'AAAA'", "1 0"]
    for path in tmp_path.rglob("*.nb[ic]"):
        path.unlink()
    assert run(READ_ONLY + CALL + COUNT, tmp_path, tmp_path) == ["b'AAAA'", "0 1"]  # compiled, and not kept
    assert [path for path in sorted(tmp_path.rglob("*")) if path.is_file()] == []
    assert before


@compiled
@pytest.mark.parametrize("ending", ["nbi", "nbc"])
def test_damaged_files_are_compiled_again(tmp_path, ending):
    run(CALL, tmp_path)
    for damage in (lambda content: content[:100], lambda _: b"\xea nothing"):
        for path in tmp_path.rglob(f"*.{ending}"):
            path.write_bytes(damage(path.read_bytes()))
        assert run(CALL + COUNT, tmp_path) == ["b'AAAA'", "0 1"]
        assert run(CALL + COUNT, tmp_path) == ["b'AAAA'", "1 0"]


@compiled
def test_two_processes_never_share_a_data_file(tmp_path):
    """numba numbers them: of two that are written at once, one would be loaded in place of the other."""
    names = {
        run(CALL + "print(_decompress._cache._cache_file._data_name(1))\n", tmp_path / str(i))[1] for i in range(2)
    }
    assert len(names) == 2
    assert all(Path(name).name.startswith("lzf._decompress-") for name in names)
