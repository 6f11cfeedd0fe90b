"""The tutorial on ensembles says what happens: its code prints what the page says, in small and at full size."""

import re

import numpy as np
import pytest
from PIL import Image
from support.tutorialpages import TOP, TUTORIALS, check_lines, run, with_outputs

PAGE = TUTORIALS / "ensembles.md"
SMALL = {
    "n_bodies=16": "n_bodies=2",
    "[:150]": "[:24]",
    "[:75]": "[:8]",
    "4500": "1200",
    "2500": "200",
    "draw_probes(80": "draw_probes(20",
    "Classifier(100,": "Classifier(30,",
    "Classifier(50,": "Classifier(5,",
    "n_estimators=200": "n_estimators=3",
    "n_estimators=30": "n_estimators=3",
    "max_iter=300": "max_iter=20, tol=1",
}
"""Sizes of the page and smaller ones, which take seconds."""


def test_the_code_prints_what_the_page_says(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    steps = with_outputs(PAGE, "python")
    whole = "".join(code for code, _ in steps)
    assert all(old in whole for old in SMALL)
    names = {}
    for code, said in steps:
        for old, new in SMALL.items():
            code = code.replace(old, new)
        exec(code, names)
        printed = capsys.readouterr().out
        assert said
        check_lines(said, printed)
    assert printed.startswith("{5:")
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"pixels.safetensors"}
    assert names["scores"].keys() == {
        "one tree", "bagging, 20 trees", "forest, 100 trees", "boosting", "voting", "stacking"
    }  # fmt: skip


def test_the_pictures_are_small():
    for name in ("ensembles_probes", "ensembles_scores"):
        assert (TOP / "docs" / "pictures" / f"{name}.png").stat().st_size < 200_000


@pytest.mark.slow
def test_the_pages_figures_still_come_out(tmp_path):
    """At full size; within three hundredths (rounds: within ten), so that another solver is no alarm."""
    printed = run("python docs/tutorials/ensembles.py pictures", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["pictures"]
    said = "".join(text for _, text in with_outputs(PAGE, "python"))
    check_lines(said, printed)
    for line, out in zip(said.splitlines(), printed.splitlines(), strict=False):
        expected, found = (np.array(re.findall(r"\d\.\d+", text), dtype=float) for text in (line, out))
        np.testing.assert_allclose(found, expected, atol=0.03, err_msg=line)
    for name in ("ensembles_probes", "ensembles_scores"):
        with (
            Image.open(tmp_path / "pictures" / f"{name}.png") as made,
            Image.open(TOP / "docs" / "pictures" / f"{name}.png") as shown,
        ):
            assert made.size == shown.size
