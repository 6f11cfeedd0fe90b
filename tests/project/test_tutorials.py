"""Tutorials say what happens: their commands are taken from the page and run, and what they print is compared."""

import json
import re
import shlex

import numpy as np
import pytest
from PIL import Image
from support.tutorialpages import TOP, TUTORIALS, blocks, check_lines, run, with_outputs

import depthforest as df

PAGE = TUTORIALS / "own_labels.md"
SMALL = {"--frames": "15", "--depth": "4", "--candidates": "20"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder in which the page's commands were run at a small size."""
    folder = tmp_path_factory.mktemp("tutorial")
    steps = with_outputs(PAGE, "sh")
    assert [shlex.split(command)[:3] for command, _ in steps] == [
        ["python", "docs/tutorials/own_labels.py", "make"],
        ["depthforest", "show", "cups/train/depth"],
        ["depthforest", "train", "--data"],
        ["python", "docs/tutorials/own_labels.py", "judge"],
    ]
    for command, said in steps:
        check_lines(said, run(command, folder, SMALL))
    return folder


def test_the_commands_run_and_print_what_the_page_says(folder):
    assert df.Forest.load(folder / "cups" / "cups.safetensors").part_set.names == ("cup", "hand", "arm")
    with (
        Image.open(folder / "cups" / "cups.png") as picture,
        Image.open(TOP / "docs" / "pictures" / "own_labels.png") as shown,
    ):
        assert picture.size == shown.size


def test_nothing_is_left_beside_the_folder(folder):
    assert [path.name for path in folder.iterdir()] == ["cups"]


def test_the_description_is_the_one_on_the_page(folder):
    (shown,) = blocks(PAGE, "json")
    for split in ("train", "test"):
        assert json.loads((folder / "cups" / split / "dataset.json").read_text()) == json.loads(shown)


def test_the_files_hold_what_the_page_says(folder):
    train, test = (df.open_dataset(folder / "cups" / split) for split in ("train", "test"))
    assert (len(train), len(test)) == (12, 3)
    assert not set(train.names) & set(test.names)
    raw = np.asarray(Image.open(folder / "cups" / "train" / "depth" / "000000.png"))
    assert raw.dtype == np.uint16
    np.testing.assert_array_equal(train[0].depth_mm, np.rint(raw * 0.25))
    assert np.count_nonzero(raw == 0) > 0
    shares = np.mean([np.bincount(f.parts.ravel(), minlength=256) / f.parts.size for f in train], axis=0)
    assert (shares[:3] > 0.01).all()
    assert shares[255] > 0.5


def test_the_pages_python_runs(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    code = "\n".join(blocks(PAGE, "python"))
    names = {}
    exec(code, names)
    assert str(names["result"].mean_class_accuracy) in capsys.readouterr().out
    assert set(np.unique(names["parts"])) <= {0, 1, 2, 255}
    assert (names["parts"][~names["mask"]] == 255).all()


def test_the_picture_is_small():
    assert (TOP / "docs" / "pictures" / "own_labels.png").stat().st_size < 150_000


@pytest.mark.slow
def test_the_pages_figures_still_come_out(tmp_path):
    """At full size; within a percent, so that another order of equal splits is no alarm."""
    for command, said in with_outputs(PAGE, "sh"):
        printed = run(command, tmp_path)
        check_lines(said, printed)
        for line in said.splitlines():
            if line.startswith(("right:", "cup", "hand", "arm")):
                (out,) = (p for p in printed.splitlines() if p.startswith(line.split()[0]))
                found, expected = (np.array(re.findall(r"([\d.]+)%", text), dtype=float) for text in (out, line))
                np.testing.assert_allclose(found, expected, atol=1.0)


@pytest.mark.parametrize("page", sorted(TUTORIALS.glob("*.md")), ids=lambda p: p.name)
def test_links_exist(page):
    for target in re.findall(r"\]\(([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), target
