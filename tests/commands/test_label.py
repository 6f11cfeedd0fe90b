"""`depthforest label` as a command: options, misuse, streams, Ctrl-C."""

import contextlib
import inspect
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from support.bounded import started
from support.labelcommand import (
    CAMERA,
    COMMON,
    DATA,
    MODEL,
    contents,
    files,
    label,
    person_only,
    run,
    run_apart,
    said,
)

import depthforest as df
from depthforest.base.errors import UsageError
from depthforest.cli import commands as cli
from depthforest.cli.commands import app
from depthforest.frames import drawing
from depthforest.frames.parts import NO_PART
from depthforest.io.formats import read_labels
from depthforest.pipeline.options import LabelOptions

# -- options -----------------------------------------------------------------------------------------------------------


def test_options_reach_the_forest(frames, out, forest):
    frame = df.Frame(person_only(DATA[0]), DATA[0].camera)
    is_person = frame.depth_mm > 0
    assert label(frames / "f0.png", "-o", out, "--background-removed", "--mirror", "--reject", 0.5) == 0
    labels = read_labels(out / "parts" / "f0.png")
    everything = forest.walk(frame, is_person, mirror=True)
    expected = np.where(everything.max(axis=1) >= 0.5, everything.argmax(axis=1), NO_PART)
    np.testing.assert_array_equal(labels[is_person], expected)
    assert 0 < np.count_nonzero(expected == NO_PART) < len(expected)


def test_smoothing_and_facing_reach_the_outputs(frames, out, tmp_path):
    """A model says how it smooths, the option says otherwise; the JSON tells which way the person faces."""
    plain = df.Forest.load(MODEL)
    rng = np.random.default_rng(0)
    evidence = rng.integers(-9, 10, (plain.n_leaves, 4)).astype(np.int8)
    model = replace(plain, leaves=plain.leaves.repeat(4, axis=0), evidence=evidence, smooth_m=0.03)
    model.save(tmp_path / "m.safetensors")
    frame = df.Frame(person_only(DATA[0]), DATA[0].camera)
    words = ["label", str(frames / "f0.png"), "--camera", CAMERA, "--model", str(tmp_path / "m.safetensors")]
    words += ["--background-removed", "--write", "parts,json", "-o"]
    for option, smooth_m in (([], 0.03), (["--smooth", "0"], 0.0), (["--smooth", "0.1"], 0.1)):
        folder = out / str(smooth_m)
        app([*words, str(folder), *option], standalone_mode=False)
        expected = model.label(frame, smooth=smooth_m)
        np.testing.assert_array_equal(read_labels(folder / "parts" / "f0.png"), expected.parts)
        content = json.loads((folder / "json" / "f0.json").read_text())
        assert content["smooth_m"] == smooth_m
        (person,) = content["people"]
        assert person["facing_degrees"] == round(expected.facing, 1)
    assert (expected.parts != model.label(frame).parts).any()
    with pytest.raises(UsageError, match=r"smoothing must be a radius .*, got 3\.0"):
        app([*words, str(out / "x"), "--smooth", "3"], standalone_mode=False)


def test_the_command_has_an_option_for_each_field_with_its_default():
    offered = inspect.signature(cli.label).parameters
    assert {f.name: f.default for f in fields(LabelOptions)} == {
        f.name: offered[f.name].default for f in fields(LabelOptions)
    }


def test_nobody_found_is_said(tmp_path, out):
    drawing.write_depth(tmp_path / "wall.png", np.full(DATA[0].shape, 3000, np.uint16))
    result = run_apart(tmp_path / "wall.png", "-o", out, *COMMON)
    assert result.returncode == 0
    assert result.stdout.decode().endswith("people found: 0 in 1 of 1 frame\n")
    (line,) = said(result)
    assert "warning: nobody was found; if somebody is there, look at `depthforest show`: the unit (--scale)" in line


# -- failures ----------------------------------------------------------------------------------------------------------


def test_one_bad_frame_is_named_and_the_rest_is_labeled(frames, out):
    (frames / "f1.png").write_bytes((frames / "f1.png").read_bytes()[:200])
    result = run_apart(frames, "-o", out, *COMMON)
    assert result.returncode == 1
    (line,) = said(result)
    assert "f1.png: is truncated" in line
    assert files(out / "parts") == {"f0.png", "f2.png"}
    assert "frames labeled into" in result.stdout.decode()
    drawing.write_depth(frames / "f1.png", person_only(DATA[1]))
    assert label(frames, "-o", out) == 0
    assert len(files(out / "parts")) == 3


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["f0.png"], 2, "name a folder for the labels with -o"),
        (["none.png", "-o", "out"], 1, "none.png: cannot be read"),
        (["f0.png", "-o", "out", "--write", "parts,gif"], 2, "'gif' is not an output; --write takes parts, overlay,"),
        (["f0.png", "-o", "out", "--write", ","], 2, "--write needs at least one of"),
        (["f0.png", "-o", "out", "--rule", "best"], 2, "rule must be one of mean, votes, purity"),
        (["f0.png", "-o", "out", "--reject", "2"], 2, "Invalid value for '--reject'"),
        (["f0.png", "-o", "out", "--threads", "0"], 2, "threads must be a whole number from 1"),
        (["f0.png", "-o", "out", "--mask", "none"], 2, "none: there is no such mask"),
        (["f0.png", "-o", "out", "--mask", ".", "--background-removed"], 2, "--mask says who the people are"),
        (["f0.png", "-o", "out", "--mask", ".", "--people", "2"], 2, "--people limits detected people"),
        (["f0.png", "-o", "out", "--people", "0"], 2, "Invalid value for '--people'"),
        (["f0.png", "-o", "out", "--background", "none"], 1, "none: cannot be read"),
        (["f0.png", "-o", "out", "--stdout"], 2, "leave out -o and --write"),
        (["f0.png", "f1.png", "--stdout"], 2, "exactly one frame"),
        (["-", "-o", "out"], 2, "give its size"),
        (["f0.png", "-o", "f1.png"], 1, "f1.png: cannot be made a folder"),
    ],
)
def test_misuse_is_one_line_and_writes_nothing(frames, words, code, message):
    before = contents(frames)
    result = run(*words, *COMMON, cwd=frames)
    assert result.returncode == code
    (line,) = said(result)
    assert message in line
    assert contents(frames) == before
    assert result.stdout == b""


def test_an_unknown_model_is_one_line(frames, out):
    result = run(frames, "-o", out, "--model", "nonsense", "--camera", CAMERA)
    assert result.returncode in (1, 2)
    (line,) = said(result)
    assert "nonsense" in line
    assert not out.exists()


# -- streams -----------------------------------------------------------------------------------------------------------


def test_stdout_gets_the_png_of_one_frame(frames, out):
    result = run_apart(frames / "f0.png", "--stdout", *COMMON)
    assert result.returncode == 0, result.stderr
    assert said(result) == []
    assert label(frames / "f0.png", "-o", out) == 0
    assert result.stdout == (out / "parts" / "f0.png").read_bytes()
    (frames / "f0.png").write_bytes(b"")
    result = run(frames / "f0.png", "--stdout", *COMMON)
    assert result.returncode == 1
    assert "is empty" in said(result)[0]
    assert result.stdout == b""


def test_a_stream_is_labeled_and_never_taken_for_another(frames, out):
    stream = np.stack([person_only(DATA[i]) for i in range(3)]).astype("<u2").tobytes()
    words = ["-", "-o", out, "--size", "96x72", *COMMON, "--write", "parts"]
    result = run_apart(*words, stdin=stream)
    assert result.returncode == 0, result.stderr
    assert label(frames, "-o", out, "--size", "96x72", "--write", "parts") == 0
    assert files(out / "parts") == {*(f"f{i}.png" for i in range(3)), *(f"stdin_{i:06d}.png" for i in range(3))}
    for i in range(3):
        same = [(out / "parts" / f"{name}.png").read_bytes() for name in (f"f{i}", f"stdin_{i:06d}")]
        assert same[0] == same[1]
    again = run(*words, stdin=stream)
    assert again.returncode == 2
    assert "holds the labels of an earlier stream" in said(again)[0]
    # a shorter one: nothing of the longer is left, the files' labels stay
    assert run(*words, "--force", stdin=stream[: len(stream) // 3]).returncode == 0
    assert files(out / "parts") == {*(f"f{i}.png" for i in range(3)), "stdin_000000.png"}


@pytest.mark.skipif(os.name != "posix", reason="Windows sends Ctrl-C to a whole console")
@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_ctrl_c_leaves_whole_files_only(out, number):
    picture = person_only(DATA[0]).astype("<u2").tobytes()
    write = "parts,overlay,probabilities,json,video"
    words = ["-", "-o", out, "--size", "96x72", *COMMON, "--write", write, "--threads", 2]
    command = [sys.executable, "-m", "depthforest", "label", *map(str, words)]
    pipe = subprocess.PIPE
    with started(command, seconds=840, stdin=pipe, stdout=subprocess.DEVNULL, stderr=pipe) as process:
        while not (out / "json" / "stdin_000002.json").exists():
            assert process.poll() is None, process.stderr.read()
            process.stdin.write(picture)
            process.stdin.flush()
            time.sleep(0.02)
        process.send_signal(number)
        # the stream goes on until the signal has ended the run: its own end must not come first
        with contextlib.suppress(BrokenPipeError):
            while process.poll() is None:
                process.stdin.write(picture)
                process.stdin.flush()
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        errors = process.stderr.read()
        assert process.wait(60) == 128 + number, errors
    assert "stopped; what was labeled is in" in errors.decode()
    written = files(out)
    assert not any(".part" in name or "video" in name for name in written)
    names = {Path(name).stem for name in written if name.startswith("parts/")}
    kinds = {"parts": ".png", "overlay": ".png", "probabilities": ".npz", "json": ".json"}
    assert written == {"label.json", *(f"{kind}/{name}{end}" for kind, end in kinds.items() for name in names)}
    for name in names:
        read_labels(out / "parts" / f"{name}.png")
