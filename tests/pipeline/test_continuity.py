"""Frames that are tracked, and do not follow each other."""

import pytest
from support.labelcommand import MODEL

from depthforest.base import samples_folder
from depthforest.cli.commands import app
from depthforest.pipeline.continuity import Continuity


@pytest.mark.parametrize(
    ("frames", "is_told"),
    [
        ([[], [1, 2], [3], [4, 5], [6]], True),  # four of four
        ([[1], [1], [2], [2], [3], [3], [4], [1], [1], [1], [1], [1]], True),  # three of eleven
        ([[1], [1], [2], [2], [3], [3], [4], *[[1]] * 7], False),  # three of thirteen
        ([[1, 2, 3, 4]], False),
        ([[1, 2], [3, 4]], False),  # two
        ([[1]] * 30, False),
        ([[], [], []], False),
    ],
)
def test_many_new_people_are_told(frames, is_told):
    continuity = Continuity()
    for ids in frames:
        continuity.add(ids)
    findings = continuity.findings()
    assert [finding.kind for finding in findings] == ["track"] * is_told


def test_single_pictures_are_told_from_a_recording(tmp_path, capsys):
    command = ["label", str(samples_folder() / "depth"), "--model", str(MODEL), "--write", "parts"]
    command += ["--camera", "kinect_v1@320x240"]
    assert not app([*command, "--track", "-o", str(tmp_path / "tracked")], standalone_mode=False)
    said = capsys.readouterr().err
    assert "people are new: the frames do not seem to follow each other; for single pictures leave out --track" in said
    assert not app([*command, "-o", str(tmp_path / "each")], standalone_mode=False)
    assert "--track" not in capsys.readouterr().err
