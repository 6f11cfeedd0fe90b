"""What README and docs say is what the code does."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

import depthforest as df

TOP = Path(__file__).resolve().parents[2]
PAGES = sorted([*TOP.glob("*.md"), *TOP.glob("docs/**/*.md"), *TOP.glob("models/**/*.md")])


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(TOP).as_posix())
def test_links_and_pictures_exist(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(TOP).as_posix())
def test_nothing_is_left_to_fill_in(page):
    assert not re.search(r"^[A-Z]+_[A-Z]+$", page.read_text(), re.MULTILINE)


def save_frame(path):
    """Save a sample frame at the size of a Kinect's picture."""
    from depthforest.base.resources import samples_folder

    samples = df.open_dataset(samples_folder())
    depth = samples[samples.names.index("two_people")].depth_mm
    Image.fromarray(depth.repeat(2, axis=0).repeat(2, axis=1)).save(path)


def test_the_readmes_python_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save_frame("frame.png")
    from depthforest.base.resources import samples_folder

    df.write_dataset("data", df.open_dataset(samples_folder()))
    monkeypatch.setenv("MPLBACKEND", "agg")
    text = (TOP / "README.md").read_text() + (TOP / "docs" / "how-to" / "formats.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == 4
    names: dict[str, object] = {}
    exec("\n".join(blocks), names)
    assert len(names["joints"]["hand_l"].position) == 3
    assert names["person"].id == len(names["seen"])
    assert 0 <= names["result"].facing < 360
    assert Path("oob.png").is_file()
    assert list(df.open_dataset("copy")) == list(df.open_dataset("data"))


def test_the_readmes_commands_run(tmp_path):
    save_frame(tmp_path / "frame.png")
    text = (TOP / "README.md").read_text()
    commands = re.findall(r"^depthforest (.+)$", text, re.MULTILINE)
    commands = [command for command in commands if "--recipe" not in command]  # cluster/test_readme_line.py runs them
    assert commands
    for command in commands:
        command = re.sub(r"-n \d+", "-n 4", command)  # a few frames say as much as a hundred
        done = subprocess.run(
            [sys.executable, "-m", "depthforest", *command.split()], cwd=tmp_path, check=False, timeout=600
        )
        assert done.returncode == 0, command
    targets = set(re.findall(r"^make (\w+)", text, re.MULTILINE))
    assert targets >= {"demo", "test"}
    for target in targets:
        assert re.search(rf"^{target}:", (TOP / "Makefile").read_text(), re.MULTILINE)


@pytest.mark.parametrize("page", ["ENSEMBLE", "COMBINING", "BOOSTING", "RANKING"])
def test_the_ensembles_examples_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    blocks = re.findall(r"```python\n(.*?)```", (TOP / "docs" / f"{page}.md").read_text(), re.DOTALL)
    assert blocks
    names = {}
    for block in blocks:
        exec(block, names)


def test_the_gallery_shows_every_ensemble():
    """`make docs` runs the scripts; here only what they are about."""
    from depthforest import ensemble

    scripts = "".join(path.read_text() for path in (TOP / "docs" / "gallery").glob("plot_*.py"))
    estimators = [name for name in ensemble.__all__ if isinstance(getattr(ensemble, name), type)]
    estimators.remove("RejectCurve")  # what a vote returns
    assert len(estimators) > 25
    assert [name for name in estimators if name not in scripts] == []


ARCHITECTURE = (TOP / "docs" / "ARCHITECTURE.md").read_text()


def test_the_journeys_pass_through_functions_that_are_there():
    rows = re.findall(r"^\| (`.+?`) \| ([a-z., ]+) \| .+ \|$", ARCHITECTURE, re.MULTILINE)
    assert len(rows) > 30
    for functions, rooms in rows:
        code = "".join(
            path.read_text()
            for room in rooms.split(", ")
            for path in (TOP / "depthforest" / room.replace(".", "/")).rglob("*.py")
        )
        for name in re.findall(r"`([\w.]+)`", functions):
            for part in name.split("."):
                assert part in rooms or part == "commands" or re.search(rf"\b(def|class) {part}\b", code), (name, rooms)


def test_the_files_of_the_architecture_are_there():
    answers = re.findall(r"^\| .+\? \| (.+) \|$", ARCHITECTURE, re.MULTILINE)
    assert len(answers) > 10
    for path in re.findall(r"`([\w/]+(?:/|\.py))`", " ".join(answers)):
        assert (TOP / "depthforest" / path).exists() or (TOP / path).exists(), path


def test_conventions_example_is_a_data_set_description():
    import json

    blocks = re.findall(r"```json\n(.*?)```", (TOP / "docs" / "CONVENTIONS.md").read_text(), re.DOTALL)
    camera, dataset = map(json.loads, blocks)
    assert df.Camera.from_dict(camera).distortion
    df.Camera.from_dict(dataset["camera"])
    assert df.PartSet.from_dict(dataset["parts"]).mirror == (0, 2, 1)


def test_hints_name_packages_that_an_index_has():
    """While depthforest is on no index, `pip install 'depthforest[plots]'` fails wherever it is read."""
    pages = [*TOP.glob("*.md"), *TOP.glob("docs/**/*.md"), *TOP.glob("depthforest/**/*.py"), *TOP.glob("synth/**/*.py")]
    assert len(pages) > 100
    for page in pages:
        assert not re.search(r"pip install ['\"`]*depthforest", page.read_text()), page
