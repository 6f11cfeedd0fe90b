"""What README and docs say is what the code does."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

import depthforest as df

TOP = Path(__file__).resolve().parents[2]
PAGES = sorted([*TOP.glob("*.md"), *TOP.glob("docs/*.md"), *TOP.glob("models/*.md")])


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
    blocks = re.findall(r"```python\n(.*?)```", (TOP / "README.md").read_text(), re.DOTALL)
    assert len(blocks) == 3
    names: dict[str, object] = {}
    exec("\n".join(blocks), names)
    assert len(names["joints"]["hand_l"].position) == 3
    assert 0 <= names["result"].facing < 360
    assert list(df.open_dataset("copy")) == list(df.open_dataset("data"))


def test_the_readmes_commands_run(tmp_path):
    save_frame(tmp_path / "frame.png")
    text = (TOP / "README.md").read_text()
    commands = re.findall(r"^depthforest (.+)$", text, re.MULTILINE)
    assert commands
    for command in commands:
        command = re.sub(r"-n \d+", "-n 4", command)  # a few frames say as much as a hundred
        done = subprocess.run([sys.executable, "-m", "depthforest", *command.split()], cwd=tmp_path, check=False)
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


def test_every_module_has_a_paragraph():
    architecture = (TOP / "docs" / "ARCHITECTURE.md").read_text()
    named = set(re.findall(r"`([\w.]+)`", " ".join(re.findall(r"^\*\*(.+?)\*\*", architecture, re.MULTILINE))))
    modules = {p.stem for p in (TOP / "depthforest").glob("*.py") if not p.stem.startswith("_")}
    modules |= {f"synth.{p.stem}" for p in (TOP / "synth").glob("*.py") if not p.stem.startswith("_")}
    below = [p.relative_to(TOP / "depthforest") for p in (TOP / "depthforest" / "ensemble").rglob("*.py")]
    modules |= {".".join(p.with_suffix("").parts) for p in below if not p.stem.startswith("_")}
    assert named == modules


DELEGATES = {
    ("forest", "labeling"),
}
"""Methods that call a room further up, which is imported when they are called."""

ENSEMBLE_USES = {"checks", "errors", "kernels", "mixing", "threads", "files", "modelfile", "splitting"}
"""What the ensembles use of the rest: they stand beside the line from depth to joints."""


def test_rooms_import_only_what_stands_above_them():
    """The order of the paragraphs is the order of the imports."""
    architecture = (TOP / "docs" / "ARCHITECTURE.md").read_text()
    paragraphs = re.findall(r"^\*\*(.+?)\*\*", architecture, re.MULTILINE)
    level = {name: i for i, text in enumerate(paragraphs) for name in re.findall(r"`([\w.]+)`", text)}
    for name, own in level.items():
        path = TOP / ("" if name.startswith("synth.") else "depthforest") / (name.replace(".", "/") + ".py")
        imported = re.findall(r"^\s*from (depthforest|synth)\.([\w.]+) import", path.read_text(), re.MULTILINE)
        for package, module in imported:
            if (TOP / package / module.replace(".", "/")).is_dir():
                continue  # a package, whose names are loaded when they are used
            other = module if package == "depthforest" else f"synth.{module}"
            assert not name.startswith("ensemble.") or other.startswith("ensemble.") or other in ENSEMBLE_USES
            assert level[other] <= own or (name, other) in DELEGATES, f"{name} imports {other}"


def test_conventions_example_is_a_data_set_description():
    import json

    blocks = re.findall(r"```json\n(.*?)```", (TOP / "docs" / "CONVENTIONS.md").read_text(), re.DOTALL)
    camera, dataset = map(json.loads, blocks)
    assert df.Camera.from_dict(camera).distortion
    df.Camera.from_dict(dataset["camera"])
    assert df.PartSet.from_dict(dataset["parts"]).mirror == (0, 2, 1)
