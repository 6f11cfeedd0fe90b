"""The tutorial on cameras says what happens: its commands and its code run, its messages come out, its claims hold."""

import importlib.util
import re
import shlex
import warnings

import numpy as np
import pytest
from PIL import Image
from support.command import run_here
from support.tutorialpages import TOP, TUTORIALS, blocks, run, with_outputs

import depthforest as df
from synth.config import Config

PAGE = TUTORIALS / "own_camera.md"
SIZE = 640, 480


def script():
    spec = importlib.util.spec_from_file_location("own_camera", TUTORIALS / "own_camera.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def spaced(line):
    return re.sub(r"\s+", " ", line).strip()


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """The folder in which the page's commands were run in their order, and what each block of them printed."""
    folder = tmp_path_factory.mktemp("camera")
    outputs = []
    for lines, said in with_outputs(PAGE, "sh"):
        texts = []
        for command in lines.splitlines():
            words = shlex.split(command)
            if words[0] == "python":
                texts.append(run(command, folder))
                continue
            done = run_here(*words[1:], cwd=folder)
            assert done.returncode == (1 if "error:" in said else 0), done.stderr
            assert bool(done.stderr) == ("warning:" in said or "error:" in said), done.stderr
            texts.append((done.stderr + done.stdout).decode())
        outputs.append((said, texts))
    return folder, outputs


def test_nothing_is_left_beside_the_folder(printed):
    assert [path.name for path in printed[0].iterdir()] == ["room"]


def test_the_commands_print_what_the_page_says(printed):
    _, outputs = printed
    assert sum(bool(said) for said, _ in outputs) == 7
    for said, texts in outputs:
        rest = iter([spaced(line) for line in "".join(texts).splitlines()])
        for line in said.splitlines():
            assert spaced(line) in rest, f"{line!r} does not come out: {texts}"


def test_the_right_unit_gives_the_table_of_the_first_step(printed):
    _, outputs = printed
    row = re.search(r"640 x 480.*", outputs[1][0])[0]
    ((_, texts),) = [each for each in outputs if len(each[1]) == 3 and not each[0] and "640 x 480" in each[1][0]]
    assert all(spaced(row) in spaced(text) for text in texts)


def test_mirrored_and_turned_frames_are_mended_to_the_same_labels(printed):
    folder, _ = printed
    found = np.asarray(Image.open(folder / "room" / "labels" / "found" / "parts" / "frame.png"))
    assert (found != 255).sum() > 20_000
    for name in ("mirrored", "upside_down"):
        parts = np.asarray(Image.open(folder / "room" / "labels" / name / "parts" / f"{name}.png"))
        np.testing.assert_array_equal(parts, found, err_msg=name)
    with Image.open(folder / "room" / "labels" / "on_its_side" / "parts" / "on_its_side.png") as upright:
        assert upright.size == SIZE[::-1]


def test_joints_and_the_video_are_where_the_page_says(printed):
    folder, _ = printed
    for name in ("empty", "found", "mask"):
        assert "hand_l" in df.read_joints(folder / "room" / "labels" / name / "joints" / "frame.json")[0].people[1]
    assert (folder / "room" / "walk" / "video.mp4").stat().st_size > 0
    assert len(df.read_joints(folder / "room" / "walk" / "joints.csv")) == 12


def test_the_code_prints_what_the_page_says(printed, monkeypatch, capsys):
    folder, _ = printed
    monkeypatch.chdir(folder)
    names = {}
    for code, said in with_outputs(PAGE, "python"):
        exec(code, names)
        assert capsys.readouterr().out == said
    assert len(blocks(PAGE, "python")) == 2
    assert names["tracker"] is not None
    assert names["joints"]["hand_l"].position == (names["x"], names["y"], names["z"])


def test_what_goes_wrong_goes_wrong(printed):
    """Whatever the model: whom the wrong unit and the short focal length miss, how tall people seem."""
    folder = printed[0] / "room"
    mask = np.asarray(Image.open(folder / "mask.png")) > 0
    own = script()

    def frame(title):
        words = next(words for name, words in own.SHEET.items() if name.startswith(title))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", df.DepthForestWarning)
            return df.read_depth(folder / words[0], camera=words[2])

    found = df.find_people(frame("1 ")).map > 0
    assert (found & mask).sum() < 0.05 * mask.sum()
    right = df.find_people(frame("correct")).map > 0
    assert (right & mask).sum() > 0.95 * (right | mask).sum()
    heights = [np.ptp(frame(title).points()[mask][:, 1]) for title in ("correct", "2 ", "3 ")]
    np.testing.assert_allclose(heights, (1.76, 0.88, 3.5), atol=0.06)
    assert len(df.find_people(frame("7 "), least=0.0)) > len(df.find_people(frame("7 "))) == 1
    empty = df.read_depth(folder / "far_empty.png", camera="kinect_v1")
    assert len(df.find_people(frame("7 "), empty)) == 1
    nearest = df.find_people(frame("9 "))[0]
    assert 0.7 < np.median(frame("9 ").depth_mm[nearest]) / 1000 < 1.0
    assert nearest[0].any()
    assert nearest[-1].any()


def test_the_sheet_and_its_table_have_the_same_numbers():
    numbers = re.findall(r"^\| (\d+) \|", PAGE.read_text(), re.MULTILINE)
    titles = list(script().SHEET)
    assert titles[0] == "correct"
    assert [title.split()[0] for title in titles[1:]] == numbers
    assert (TOP / "docs" / "pictures" / "own_camera_wrong.png").stat().st_size < 700_000


def test_the_mounting_that_the_page_names_is_that_of_training():
    config, text = Config(), " ".join(PAGE.read_text().split())
    low, high = config.camera_height
    assert f"| height of the camera above the floor | {low:g} to {high:g} m |" in text
    up, down = config.camera_tilt
    assert f"| tilt | from {-up:g} degrees up to {down:g} degrees down (" in text
    assert f"| roll | at most {config.camera_roll[1]:g} degrees |" in text
    assert f"| distance of people | {config.near_distance[0]:g} to {config.far_distance[1]:g} m |" in text


@pytest.mark.slow
def test_the_picture_is_made(tmp_path):
    out = run("python docs/tutorials/own_camera.py pictures .", tmp_path)
    assert out.count("depthforest label") == 12
    with (
        Image.open(tmp_path / "own_camera_wrong.png") as made,
        Image.open(TOP / "docs" / "pictures" / "own_camera_wrong.png") as shown,
    ):
        assert made.size == shown.size
