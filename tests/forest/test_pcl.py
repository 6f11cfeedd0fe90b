"""PCL's trees: the same labels as PCL's own walk, and clear words about broken files."""

import bz2
import gzip
import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support import naive_forest
from support import naive_pcl as naive
from support.bounded import run_threads

import depthforest as df
from depthforest.base.errors import ModelError, UsageError
from depthforest.base.resources import samples_folder
from depthforest.cli.info import describe
from depthforest.forest import pcl
from depthforest.frames.parts import PCL25
from depthforest.io.datasets import open_dataset

TREES = ("forest1_tree_20.txt.bz2", "forest2_tree_20.txt.bz2", "forest3_tree_20.txt.bz2")


def write_tree(path, nodes, labels):
    path.write_text(naive.text_of(nodes, labels))
    return path


def small_text(height=2):
    """Return the text of a tree whose line 2 + n is `n n n n n` and whose labels count up."""
    return naive.text_of([(n,) * 5 for n in range(2**height - 1)], list(range(2**height)))


def people():
    """Return the people of the sample frames, each alone in its frame."""
    for frame in open_dataset(samples_folder()):
        for person in np.unique(frame.people[frame.people > 0]):
            yield df.Frame(np.where(frame.people == person, frame.depth_mm, 0).astype(np.uint16), frame.camera)


def some_pixels(frame, n, rng):
    pixels = np.argwhere(frame.depth_mm > 0)
    return pixels[rng.permutation(len(pixels))[:n]]


def naive_labels(trees, frame, pixels):
    image = frame.depth_mm.tolist()
    return np.array([naive.label(trees, image, r, c, frame.camera.fx, frame.camera.fy) for r, c in pixels.tolist()])


def twin_labels(forest, frame, pixels):
    """Return the labels by the pure-Python walk of the forest's columns."""
    image = frame.depth_mm.tolist()
    found = []
    for row, col in pixels.tolist():
        leaves = [naive_forest.descend(forest, t, image, row, col, frame.camera) for t in range(forest.n_trees)]
        found.append(int(forest.leaves[leaves].sum(axis=0, dtype=np.int64).argmax()))
    return np.array(found)


# -- labels


@pytest.fixture(scope="module")
def made_up(tmp_path_factory):
    """Return the paths of three trees of height 9 and the forest they become."""
    rng = np.random.default_rng(3)
    folder = tmp_path_factory.mktemp("trees")
    paths = [write_tree(folder / f"{i}.txt", *naive.random_tree(rng, 9, padding=0.05)) for i in range(3)]
    return paths, pcl.import_pcl(paths)


def test_labels_are_those_of_pcls_walk_on_synthetic_people(made_up):
    paths, forest = made_up
    trees = [naive.read_tree(path) for path in paths]
    rng = np.random.default_rng(0)
    n_equal = n_all = 0
    seen = set()
    for frame in people():
        pixels = some_pixels(frame, 300, rng)
        comp = forest.predict(frame)[tuple(pixels.T)]
        ref = naive_labels(trees, frame, pixels)
        np.testing.assert_array_equal(comp[:40], twin_labels(forest, frame, pixels[:40]))
        n_equal += (comp == ref).sum()
        n_all += len(pixels)
        seen |= set(ref.tolist())
    assert n_all > 2000
    assert len(seen) > 12
    assert n_equal >= 0.99 * n_all


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), height=st.integers(1, 6), n_trees=st.integers(1, 4), n_labels=st.integers(1, 25))
def test_any_tree_votes_as_in_pcl(seed, height, n_trees, n_labels, tmp_path_factory):
    """At 1 m and 640 px an offset is a whole number of pixels, so that every label must be equal."""
    rng = np.random.default_rng(seed)
    folder = tmp_path_factory.mktemp("trees")
    trees = [naive.random_tree(rng, height, n_labels) for _ in range(n_trees)]
    trees = [([(*[v % 9 - 4 for v in node[:4]], node[4]) for node in nodes], labels) for nodes, labels in trees]
    paths = [write_tree(folder / f"{i}.txt", *tree) for i, tree in enumerate(trees)]
    depth_mm = np.full((9, 11), 1000, np.uint16)
    depth_mm[rng.random(depth_mm.shape) < 0.3] = 0
    frame = df.Frame(depth_mm, df.Camera(640, 640, 5, 4, 11, 9))
    assume(len({path.read_bytes() for path in paths}) == n_trees)  # the same tree twice is refused
    forest = pcl.import_pcl(paths)
    pixels = np.argwhere(depth_mm > 0)
    np.testing.assert_array_equal(forest.predict(frame)[depth_mm > 0], naive_labels(trees, frame, pixels))


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="too much text for kernels that are not compiled")
@pytest.mark.slow
def test_real_trees_on_real_and_rendered_people(shared_data, tmp_path):
    folder = shared_data("pcl_people")
    paths = [folder / name for name in TREES]
    forest = pcl.import_pcl(paths)
    assert (forest.n_trees, forest.depth, forest.n_nodes) == (3, 20, 436_816 + 424_027 + 425_344)
    forest.save(tmp_path / "pcl.safetensors")
    assert df.Forest.load(tmp_path / "pcl.safetensors") == forest
    trees = [naive.read_tree(path) for path in paths]
    real = [df.read_depth(p, camera="kinect_v1") for p in sorted(shared_data("real_kinect_v1").glob("*.png"))]
    assert len(real) == 6
    rng = np.random.default_rng(1)
    for frames, n_parts in ((real, 20), (people(), 12)):
        n_equal = n_all = 0
        seen = set()
        for frame in frames:
            pixels = some_pixels(frame, 400, rng)
            comp = forest.predict(frame)[tuple(pixels.T)]
            ref = naive_labels(trees, frame, pixels)
            np.testing.assert_array_equal(comp[:40], twin_labels(forest, frame, pixels[:40]))
            n_equal += (comp == ref).sum()
            n_all += len(pixels)
            seen |= set(ref.tolist())
        assert len(seen) > n_parts
        assert n_equal >= 0.99 * n_all


# -- what the forest is


def test_columns_of_a_tree_by_hand(tmp_path):
    nodes = [(64, -128, 0, 32, 5), (1, 2, 3, 4, -6), (9, 9, 9, 9, 9)]
    forest = pcl.import_pcl([write_tree(tmp_path / "t", nodes, [7, 3, 4, 4])])
    np.testing.assert_array_equal(forest.roots, [0])
    np.testing.assert_allclose(forest.offsets, [[0.1, -0.2, 0, 0.05], [1 / 640, 2 / 640, 3 / 640, 4 / 640]], rtol=1e-7)
    np.testing.assert_array_equal(forest.thresholds, [5, -6])
    np.testing.assert_array_equal(forest.children, [[1, ~0], [~1, ~2]])
    assert forest.leaves.argmax(axis=1).tolist() == [4, 7, 3]
    assert forest.leaves.max(axis=1).tolist() == [255] * 3
    assert forest.part_set == PCL25
    assert (forest.background_mm, forest.mirror) == (10_000, False)


def test_a_tree_of_one_label_is_one_leaf(tmp_path):
    one = write_tree(tmp_path / "one", [(1, 2, 3, 4, 5)] * 7, [24] * 8)
    two = write_tree(tmp_path / "two", [(1, 2, 3, 4, 5)], [1, 2])
    forest = pcl.import_pcl([one, two, write_tree(tmp_path / "three", [(0, 0, 0, 0, -1)] * 3, [3] * 4)])
    assert forest.roots.tolist() == [~0, 0, ~3]
    assert forest.children.tolist() == [[~1, ~2]]
    assert forest.leaves.argmax(axis=1).tolist() == [24, 1, 2, 3]


def test_the_focal_length_scales_the_offsets(tmp_path):
    path = write_tree(tmp_path / "t", [(100, -50, 25, 0, 5)], [1, 2])
    forest = pcl.import_pcl([path], 500)
    np.testing.assert_allclose(forest.offsets, [[0.2, -0.1, 0.05, 0]], rtol=1e-7)
    assert forest.config["focal_px"] == 500.0


def test_the_model_says_where_it_came_from(tmp_path):
    path = write_tree(tmp_path / "t", [(1, 2, 3, 4, 5)], [1, 2])
    text = path.read_bytes()
    forest = pcl.import_pcl([path])
    assert forest.config == {
        "imported_from": "PCL gpu/people",
        "focal_px": 640.0,
        "heights": [1],
        "sha256": [hashlib.sha256(text).hexdigest()],
    }
    forest.save(tmp_path / "m")
    assert ("config.imported_from", "PCL gpu/people") in describe(tmp_path / "m")


# -- files


def test_compression_line_ends_and_spaces_change_nothing(tmp_path, monkeypatch):
    text = naive.text_of(*naive.random_tree(np.random.default_rng(0), 7)).encode()
    (tmp_path / "plain").write_bytes(text)
    (tmp_path / "b").write_bytes(bz2.compress(text))
    (tmp_path / "g").write_bytes(gzip.compress(text))
    plain = pcl.import_pcl([tmp_path / "plain"])
    assert pcl.import_pcl([tmp_path / "b"]) == plain
    assert pcl.import_pcl([tmp_path / "g"]) == plain
    odd = text.replace(b"\n", b" \t\r\n").replace(b"    1", b"   +1")
    for name, content in (("crlf", odd), ("no end", text[:-1]), ("blank lines", text + b"\n \r\n\n")):
        (tmp_path / name).write_bytes(content)
        np.testing.assert_array_equal(pcl.import_pcl([tmp_path / name]).children, plain.children)
        np.testing.assert_array_equal(pcl.import_pcl([tmp_path / name]).offsets, plain.offsets)
    for n_bytes in (40, 41, 97, 1000):
        monkeypatch.setattr(pcl, "BLOCK_BYTES", n_bytes)
        assert pcl.import_pcl([tmp_path / "plain"]) == plain


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_read(tmp_path):
    path = write_tree(tmp_path / "t", [(1, 2, 3, 4, 5)], [1, 2])
    os.mkfifo(tmp_path / "pipe")
    found = []
    run_threads(
        lambda: (tmp_path / "pipe").write_bytes(bz2.compress(path.read_bytes())),
        lambda: found.append(pcl.import_pcl([tmp_path / "pipe"])),
    )
    assert found == [pcl.import_pcl([path])]


GOOD = small_text()
BROKEN = {
    "empty": (b"", r"is empty \(0 bytes\); was it copied"),
    "blank": (b"\n\n", "line 1 must be the tree's height, 1 to 22, got ''"),
    "no height": (GOOD[2:], "line 1 must be the tree's height, 1 to 22, got '0     0     0     0     0'; is it a tree"),
    "height 0": ("0\n5\n", "line 1 must be the tree's height, 1 to 22, got '0'"),
    "height 23": (GOOD.replace("2", "23", 1), "line 1 must be the tree's height, 1 to 22, got '23'"),
    "height -2": ("-" + GOOD, "line 1 must be the tree's height, 1 to 22, got '-2'"),
    "a picture": (b"\x89PNG\r\n\x1a\n" + bytes(100), "line 1 must be the tree's height"),
    "no line ends": ("9" * 2_000_000, "line 1 must be the tree's height"),
    "a line without end": ("2\n" + " " * 3_000_000, "has a line of more than 1048576 characters"),
    "too great a height": (GOOD.replace("2", "3", 1), r"line 5: expected the 5 numbers of a node \(du1 dv1 du2 dv2"),
    "too small a height": (GOOD.replace("2", "1", 1), "line 3: expected one label, got '1     1     1     1     1'"),
    "cut off": (GOOD[:-4], r"ends after line 6; a tree of height 2 has 8: the height, 3 nodes, 4 labels; was it"),
    "the height alone": ("2", "ends after line 1; a tree of height 2 has 8"),
    "continues": (GOOD + "\n4\n", "continues at line 10 with '4'; a tree of height 2 ends before"),
    "a node short": (GOOD.replace("    1\n", "\n"), "line 3: expected the 5 numbers .*, got '1     1     1     1'; is"),
    "a node long": (GOOD.replace("    1\n", "    1 8\n"), "line 3: expected the 5 numbers"),
    "a blank node": (GOOD.replace("\n", "\n\n", 1), "line 2: expected the 5 numbers of a node .*, got ''"),
    "two labels": (GOOD[:-2] + "3 4\n", "line 8: expected one label, got '3 4'"),
    "no number": (GOOD.replace("    1\n", "  1.5\n"), "line 3: threshold must be a whole number, got '1.5'"),
    "nan": (GOOD.replace("    0\n", "nan\n"), "line 2: threshold must be a whole number, got 'nan'"),
    "two signs": (GOOD.replace("    0\n", "--1\n"), "line 2: threshold must be a whole number, got '--1'"),
    "a sign alone": (GOOD.replace("    0\n", "-\n"), "line 2: threshold must be a whole number, got '-'"),
    "a sign inside": (GOOD.replace("    0\n", "1-1\n"), "line 2: threshold must be a whole number, got '1-1'"),
    "no text": (GOOD.replace("    0\n", "    \0\n"), r"line 2: threshold must be a whole number, got '\\x00'"),
    "beyond 16 bits": (GOOD.replace("    0\n", "32768\n"), "line 2: threshold must lie from .*32767, got '32768'"),
    "below 16 bits": (GOOD.replace("    0\n", "-32769\n"), "line 2: threshold must lie from .*32767, got '-32769'"),
    "endless digits": (GOOD.replace("    0\n", "9" * 99 + "\n"), "line 2: threshold must lie from -32768"),
    "label 25": (GOOD[:-2] + "25\n", "line 8: label must lie from 0 to 24, got '25'"),
    "label -1": (GOOD[:-2] + "-1\n", "line 8: label must lie from 0 to 24, got '-1'"),
    "far offset": (GOOD.replace("    0", " 6401", 1), r"line 2: offsets may be 10 m at most, got \[6401, 0, 0, 0\]"),
    "cut off bzip2": (bz2.compress(GOOD.encode())[:-9], "is cut off: its compressed data has no end"),
    "cut off gzip": (gzip.compress(GOOD.encode())[:-9], "is cut off: its compressed data has no end"),
    "broken bzip2": (b"BZh9" + bytes(50), "is broken bzip2 data: "),
    "broken gzip": (b"\x1f\x8b\x08" + b"\xff" * 50, "is (broken gzip data|cut off): "),
    "broken deflate": (gzip.compress(b"", mtime=0)[:10] + b"\xff" * 50, "is broken gzip data: "),
    "bzip2 of nothing": (bz2.compress(b""), "line 1 must be the tree's height"),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN)
def test_broken_files(case, tmp_path):
    content, message = BROKEN[case]
    (tmp_path / "t.txt").write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(ModelError, match=rf"t\.txt: {message}") as caught:
        pcl.import_pcl([tmp_path / "t.txt"])
    assert len(str(caught.value).splitlines()) == 1
    assert len(str(caught.value)) < 300 + len(str(tmp_path))


def test_what_is_no_file(tmp_path):
    with pytest.raises(ModelError, match="none: cannot be read: no such file"):
        pcl.import_pcl([tmp_path / "none"])
    with pytest.raises(ModelError, match="cannot be read: is a directory"):
        pcl.import_pcl([tmp_path])
    with pytest.raises(ModelError, match="cannot be read: "):
        pcl.import_pcl(["nul\0byte"])


@pytest.mark.parametrize("pack", [bz2.compress, gzip.compress])
def test_a_bomb_is_left_after_what_a_tree_may_hold(pack, tmp_path, monkeypatch):
    """Ten million empty lines in a few kilobytes; of a real bomb, most must stay packed."""
    (tmp_path / "bomb").write_bytes(pack(GOOD.encode() + b"\n" * 10_000_000))
    n_lines = []
    parse = pcl._parse_lines
    monkeypatch.setattr(pcl, "_parse_lines", lambda text, *rest: n_lines.append(len(text)) or parse(text, *rest))
    with pytest.raises(ModelError, match="has more text than a tree of height 2: over 448 bytes"):
        pcl.import_pcl([tmp_path / "bomb"])
    assert sum(n_lines) < 2 * pcl.BLOCK_BYTES


def test_bad_arguments(tmp_path):
    path = write_tree(tmp_path / "t", [(1, 2, 3, 4, 5)], [1, 2])
    for focal in (0, -640, float("nan"), float("inf"), True, "640"):
        with pytest.raises(UsageError, match="focal length must lie above 0 and up to 1e"):
            pcl.import_pcl([path], focal)
    with pytest.raises(ModelError, match=r"line 2: offsets may be 10 m at most.* length of 0\.1; is the focal"):
        pcl.import_pcl([path], 0.1)
    for paths in ([], str(path), path):
        with pytest.raises(UsageError, match="expected a list of 1 to 1024 tree files, got"):
            pcl.import_pcl(paths)
    (tmp_path / "copy").write_bytes(bz2.compress(path.read_bytes()))
    with pytest.raises(UsageError, match=r"copy: is the same tree as .*t; give every tree once"):
        pcl.import_pcl([path, tmp_path / "copy"])


# -- the command


def run(*args):
    command = [sys.executable, "-m", "depthforest", "import-pcl", *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)


def test_the_command(tmp_path):
    rng = np.random.default_rng(0)
    paths = [write_tree(tmp_path / f"{i}.txt", *naive.random_tree(rng, 4, padding=0.0)) for i in range(2)]
    done = run(*paths, "-o", tmp_path / "m.safetensors")
    assert (done.returncode, done.stderr) == (0, "")
    forest = df.load(tmp_path / "m.safetensors")
    assert done.stdout == f"2 trees, {forest.n_nodes} nodes, {forest.n_leaves} leaves in {tmp_path / 'm.safetensors'}\n"
    assert forest == pcl.import_pcl(paths)
    done = run(*paths, "-o", tmp_path / "m.safetensors", "--focal", 525)
    assert df.load(tmp_path / "m.safetensors") == pcl.import_pcl(paths, 525) != forest


def test_the_command_leaves_nothing_half_done(tmp_path):
    good = write_tree(tmp_path / "good.txt", [(1, 2, 3, 4, 5)], [1, 2])
    bad = tmp_path / "bad.txt"
    bad.write_text(GOOD[:-4])
    before = sorted(tmp_path.iterdir())
    for arguments, code, message in (
        ((good, bad, "-o", tmp_path / "m"), 1, "bad.txt: ends after line 6; "),
        ((good, "-o", good), 2, "good.txt: is an input; name another file"),
        ((good, "-o", tmp_path), 2, "is a folder; name a file"),
        ((good, "-o", tmp_path / "none" / "m"), 2, "there is no folder"),
        ((good, "-o", tmp_path / "m", "--focal", 0), 2, "the focal length must lie above 0"),
    ):
        text = good.read_bytes()
        done = run(*arguments)
        assert done.returncode == code
        assert message in done.stderr
        assert len(done.stderr.splitlines()) == 1
        assert sorted(tmp_path.iterdir()) == before
        assert good.read_bytes() == text


def test_this_page_says_what_the_limits_are():
    page = (Path(__file__).resolve().parents[2] / "docs" / "PCL.md").read_text()
    assert f"| height | 1 to {pcl.MAX_HEIGHT} |" in page
    assert f"| text | {pcl.MAX_LINE_BYTES} bytes per line on average" in page
