"""tools/fuzz.py finds what it should, and nothing that it once found comes back."""

import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

TOP = Path(__file__).resolve().parents[2]
KEPT = TOP / "tests" / "golden" / "fuzzed"


@pytest.fixture(scope="module")
def tools():
    sys.path.insert(0, str(TOP / "tools"))
    try:
        import fuzz
        import fuzz_mutations
    finally:
        sys.path.remove(str(TOP / "tools"))
    return fuzz, fuzz_mutations


QUICK = ("png", "tiff", "pgm", "npy", "npz", "pcd", "raw", "tum", "data set", "camera", "joints", "marks", "mask",
         "toml", "letor", "card", "pcl tree", "rig", "convention", "convention marks", "record", "recipe",
         "page message")  # fmt: skip


@pytest.fixture(scope="module")
def corpus(tools, tmp_path_factory):
    folder = tmp_path_factory.mktemp("fuzz") / "valid"
    tools[0].Corpus.write(folder, QUICK)
    return tools[0].Corpus(folder, QUICK)


def test_valid_files_are_read(tools, corpus):
    for name in QUICK:
        for variant in corpus.variants(name):
            assert tools[0].outcome_of(name, variant) == "loaded", (name, variant)


@pytest.mark.parametrize("case", sorted(path for path in KEPT.glob("*/*") if path.is_dir()), ids=str)
def test_what_was_found_once_stays_mended(tools, tmp_path, case):
    """A find is the changed file alone: FORMAT/SEED_CASE/VARIANT/FILE."""
    name = case.parent.name
    tools[0].Corpus.write(tmp_path / "valid", [name])
    (variant,) = case.iterdir()
    shutil.copytree(variant, tmp_path / "valid" / name / variant.name, dirs_exist_ok=True)
    assert tools[0].outcome_of(name, tmp_path / "valid" / name / variant.name) in ("loaded", "refused")


def test_a_mutant_depends_on_seed_and_number_alone(corpus):
    one = [corpus.mutant(3, case) for case in range(80)]
    assert [corpus.mutant(3, case) for case in reversed(range(80))] == one[::-1]
    assert [corpus.mutant(4, case) for case in range(80)] != one
    assert len({name for name, *_ in one}) > 10


def test_mutations_keep_to_the_structure(tools, corpus):
    """Most mutants of a PNG have right check sums, and so get past the first check."""
    (path,) = corpus.variants("png")[0].iterdir()
    rng = np.random.default_rng(0)
    outcomes = []
    from depthforest.base import FrameError
    from depthforest.io.formats import decode_png

    for _ in range(200):
        try:
            decode_png(tools[1].mutated(path.name, path.read_bytes(), rng), "a.png")
            outcomes.append("")
        except FrameError as error:
            outcomes.append(str(error))
    assert sum("check sum" in text for text in outcomes) < 60
    assert outcomes.count("") > 10
    assert len(set(outcomes)) > 8


def test_other_errors_are_found(tools, corpus, monkeypatch):
    """A reader that raises anything else, writes two lines or takes too long is told."""
    fuzz = tools[0]
    variant = corpus.variants("camera")[0]
    assert fuzz.outcome_of("camera", variant) == "loaded"
    monkeypatch.setattr("depthforest.frames.camera.Camera.parse", lambda *_: 1 / 0)
    assert fuzz.outcome_of("camera", variant) == "ZeroDivisionError: 'division by zero'"
    monkeypatch.undo()
    monkeypatch.setattr(fuzz, "CPU_SECONDS", -1.0)
    assert fuzz.outcome_of("camera", variant).startswith("takes ")
    monkeypatch.setattr(fuzz, "MAX_MESSAGE_CHARS", 3)
    next(variant.iterdir()).write_text("{}")
    assert fuzz.outcome_of("camera", variant).startswith("a message that is not one short line")


@pytest.mark.slow
def test_a_short_run_finds_nothing(tools, tmp_path):
    """Every format that is quick to read, in a child with limits."""
    fuzz = tools[0]
    fuzz.Corpus.write(tmp_path / "valid", QUICK)
    n_cases = 4000
    report = fuzz.fuzz(n_cases, fuzz.child_command(tmp_path / "valid", QUICK, 7, n_cases), seconds=fuzz.SECONDS)
    assert report.failures == []
    assert sum(report.counts.values()) == n_cases
    for name in QUICK:
        assert sum(report.counts[name, outcome] for outcome in fuzz.PASSED) > 20
