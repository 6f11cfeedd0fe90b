"""`depthforest evaluate --people`, as people type it."""

import json

import pytest
from support.command import command, run_here
from support.people import boxes, write_rooms

from depthforest.base.errors import UsageError
from depthforest.base.resources import samples_folder


def test_without_a_model(tmp_path, capsys):
    report, figures = tmp_path / "r.html", tmp_path / "r.json"
    assert command("evaluate", "--people", "--data", samples_folder(), "-o", report, "--json", figures) == 0
    said = capsys.readouterr().out
    assert "recall                 1.000 (1.000 to 1.000)\n" in said
    assert f"written: {report}\nwritten: {figures}\n" in said
    assert "How well are people found?" in report.read_text()
    (source,) = json.loads(figures.read_text())["sources"]
    assert source["finders"][0]["people"] == 9


def test_with_a_model_and_marked_rooms(tmp_path, capsys):
    rooms = write_rooms(tmp_path / "rooms", {"empty/a.png": None, "people/b.png": boxes((1, 10, 50, 10, 30))})
    words = ("evaluate", "person", "--people", "--rooms", rooms, "--data", samples_folder(), "--limit", 1)
    assert command(*words, "--threads", 1) == 0
    titles, *rows = capsys.readouterr().out.splitlines()
    assert titles.startswith("frames of")
    assert [row.split()[:3] for row in rows] == [["_samples", "person", "1"], ["rooms", "person", "2"]]


def test_a_recording_with_a_background(capsys):
    data = samples_folder()
    empty = sorted((data / "depth").iterdir())[0]
    assert command("evaluate", "--people", "--data", data, "--recording", "--background", empty, "--limit", 1) == 0
    assert "id switches" in capsys.readouterr().out


def test_options_of_the_other_kind_are_refused():
    data = samples_folder()
    for options, message in (
        (("--people", "--data", data, "--exact"), "exact is about parts and joints; leave it out"),
        (("--people", "--data", data, "--no-joints"), "no_joints is about parts and joints"),
        (("--people", "--data", data, "--no-mirror"), "mirror is about parts and joints"),
        (("body31", "--data", data, "--recording"), "recording is about finding people; give people too"),
        (("body31", "--rooms", data), "rooms is about finding people"),
        (("--data", data), "name at least one model to evaluate"),
        (("--people",), "there is nothing to find people in"),
    ):
        with pytest.raises(UsageError, match=message):
            command("evaluate", *options)


def test_what_is_wrong_is_one_line(tmp_path):
    done = run_here("evaluate", "--people", "--rooms", tmp_path)
    assert done.returncode == 1
    assert done.stdout == b""
    assert done.stderr.decode().splitlines() == [
        f"depthforest: error: {tmp_path}: has no index.json, which names the frames of marked rooms and their cameras"
    ]
    done = run_here("evaluate", "--people", "--data", samples_folder(), "--empty-room")
    assert done.stderr.startswith(b"depthforest: error: --empty-room uses the generated empty rooms of --bench")
