import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from support.command import run_here

import depthforest as df
from depthforest.frames import drawing

HEAVY = ("numpy", "numba", "cv2", "sklearn", "PIL", "scipy", "skimage", "matplotlib")


def run(*args, stdin=b"", env=None, cwd=None):
    return run_here(*args, stdin=stdin, env={"COLUMNS": "100"} | (env or {}), cwd=cwd)


def run_apart(*args, stdin=b"", env=None):
    """Run it as people do, in a process of its own."""
    command = [sys.executable, "-m", "depthforest", *map(str, args)]
    environment = os.environ | {"COLUMNS": "100", "PYTHONWARNINGS": "default"} | (env or {})
    return subprocess.run(command, input=stdin, capture_output=True, env=environment, check=False, timeout=600)


def said(result):
    """Return standard error, which must be lines of ours and nothing else."""
    lines = result.stderr.decode().splitlines()
    assert all(re.match("depthforest: (error|warning): ", line) for line in lines), lines
    return lines


@pytest.fixture
def frames(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    for i in range(3):
        depth = np.full((24, 32), 1500 + i, np.uint16)
        Image.fromarray(depth).save(folder / f"f{i}.png")
    return folder


def test_help_and_version_import_nothing_heavy():
    code = (
        "import sys\n"
        "from depthforest.cli.commands import app\n"
        "for words in (['--help'], ['--version'], ['show', '--help'], ['label', '--help']):\n"
        "    app(words, standalone_mode=False, prog_name='depthforest')\n"
        f"print('loaded:', *[m for m in {HEAVY!r} if m in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True, timeout=600)
    assert done.stdout.splitlines()[-1] == "loaded:"
    assert f"depthforest {df.__version__}" in done.stdout


def test_importing_the_package_imports_nothing_heavy():
    code = f"import sys, depthforest, synth\nprint(*[m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True, timeout=600)
    assert done.stdout.strip() == ""


def test_every_public_name_exists():
    import synth

    for package in (df, synth):
        for name in package.__all__:
            assert getattr(package, name) is not None
        assert set(package.__all__) <= set(dir(package))
        with pytest.raises(AttributeError, match="attribute nonsense"):
            _ = package.nonsense


def test_every_command_has_help():
    listing = run("--help").stdout.decode()
    commands = re.findall(r"^  ([\w-]+) {2,}", listing.split("Commands")[1], re.MULTILINE)
    assert {"demo", "show", "label"} <= set(commands)
    for command in commands:
        shown = run(command, "-h")
        assert shown.returncode == 0
        assert "Usage: depthforest" in shown.stdout.decode()


def test_demo_writes_pictures(tmp_path):
    result = run_apart("demo", "-o", tmp_path / "pictures")
    assert result.returncode == 0, result.stderr
    assert said(result) == []
    names = {f.name for f in (tmp_path / "pictures").iterdir()}
    assert names >= {"sheet.png", "legend.png", "on_chair.png", "two_people.parts.png"}
    with Image.open(tmp_path / "pictures" / "sheet.png") as sheet:
        assert len(np.unique(np.asarray(sheet).reshape(-1, 3), axis=0)) > 1000
    with Image.open(tmp_path / "pictures" / "two_people.parts.png") as labels:
        assert labels.mode == "P"
        assert len(np.unique(np.asarray(labels))) > 15
    assert "on_chair" in result.stdout.decode()


def test_show_draws_frames(frames, tmp_path):
    result = run("show", frames, "-o", tmp_path / "out", "--camera", "40,40,15.5,11.5")
    assert result.returncode == 0, result.stderr
    assert said(result) == []
    assert sorted(f.name for f in (tmp_path / "out").iterdir()) == [
        "f0.shaded.png",
        "f1.shaded.png",
        "f2.shaded.png",
        "sheet.png",
    ]
    assert "1.50 m" in result.stdout.decode()
    assert f"frames drawn into {tmp_path / 'out'}: 3" in " ".join(result.stdout.decode().split())


def test_show_reads_a_stream(tmp_path):
    stack = np.full((2, 24, 32), 1500, "<u2")
    words = ["show", "-", "-o", tmp_path, "--camera", "40,40,15.5,11.5", "--size", "32x24"]
    result = run_apart(*words, stdin=stack.tobytes())
    assert result.returncode == 0, result.stderr
    assert {f.name for f in tmp_path.iterdir()} == {"stdin_000000.shaded.png", "stdin_000001.shaded.png", "sheet.png"}


def test_outputs_of_equal_names_stay_apart(frames, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "f0.png").write_bytes((frames / "f1.png").read_bytes())
    result = run("show", frames / "f0.png", other / "f0.png", "-o", tmp_path / "out", "--camera", "40,40,15.5,11.5")
    assert result.returncode == 0
    assert {f.name for f in (tmp_path / "out").iterdir()} == {"f0.shaded.png", "f0_2.shaded.png", "sheet.png"}


def test_any_file_name_works(tmp_path):
    folder = tmp_path / "d#2 [red]"
    folder.mkdir()
    names = ["f#1", "f [red]x", "größe", "a b"]
    for name in names:
        Image.fromarray(np.full((24, 32), 1500, np.uint16)).save(folder / f"{name}.png")
    env = {"PYTHONIOENCODING": "ascii"}
    result = run_apart("show", folder, "-o", tmp_path / "out", "--camera", "40,40,15.5,11.5", env=env)
    assert result.returncode == 0, result.stderr
    assert {f.name for f in (tmp_path / "out").glob("*.shaded.png")} == {f"{n}.shaded.png" for n in names}
    assert b"f [red]x" in result.stdout


def test_frames_of_several_sizes_are_all_drawn(frames, tmp_path):
    Image.fromarray(np.full((12, 16), 1500, np.uint16)).save(frames / "f1.png")
    result = run("show", frames, "-o", tmp_path / "out", "--camera", "40,40,15.5,11.5,32x24")
    assert result.returncode == 0
    assert len(list((tmp_path / "out").glob("*.shaded.png"))) == 3


def test_nothing_asked_shows_help():
    result = run_apart()
    assert b"Usage: depthforest" in result.stdout
    assert said(result) == []


def test_one_bad_frame_is_named_and_the_rest_is_drawn(frames, tmp_path):
    (frames / "f1.png").write_bytes(b"")
    result = run("show", frames, "-o", tmp_path / "out", "--camera", "40,40,15.5,11.5")
    assert result.returncode == 1
    (line,) = said(result)
    assert line.endswith("f1.png: is empty (0 bytes); was it copied or written to the end?")
    assert len(list((tmp_path / "out").glob("*.shaded.png"))) == 2


def test_warnings_are_one_line_each_and_said_once(frames, tmp_path):
    result = run_apart("show", frames, "-o", tmp_path / "out", "--camera", "kinect_v1")
    assert result.returncode == 0
    assert said(result) == [
        "depthforest: warning: the camera is 640 x 480 and is scaled to pictures of 32 x 24",
    ]


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (["show", "none.png", "-o", "out"], 1, "none.png: cannot be read: no such file or directory"),
        (["show", "none.png"], 2, "Missing option '--output' / '-o'"),
        (["show", "-o", "out"], 2, "Missing argument 'IN'"),
        (["nonsense"], 2, "No such command 'nonsense'"),
        (["show", "x", "--nonsense"], 2, "no option is called --nonsense (see depthforest show --help)"),
        (["show", "x", "-o", "out", "--rotate", "left"], 2, "Invalid value for '--rotate'"),
        (["show", "x", "-o", "out", "--rotate", "45"], 2, "rotate takes 0, 90, 180 or 270"),
        (["show", "x", "-o", "out", "--camera", "webcam"], 2, "'webcam' is not a camera preset"),
        (["show", "x", "-o", "out", "--scale", "feet"], 2, "scale 'feet' is unknown"),
        (["show", "-", "-o", "out"], 2, "give its size"),
        (["show", ".", "-o", "."], 1, "holds no depth images"),
        (["show", "x.raw", "-o", "out"], 1, "if it holds raw 16-bit depth, pass its --size, as in 640x480"),
        (["show", "-", "-o", "out", "--size", "640"], 2, "a size is written WIDTHxHEIGHT"),
        (["show", "*.png", "-o", "out"], 1, "*.png: no file matches"),
    ],
)
def test_misuse_is_one_line(tmp_path, args, code, message):
    (tmp_path / "x.raw").write_bytes(bytes(range(100)))
    if args[1:2] == ["."]:
        (tmp_path / "x.raw").unlink()
    result = run(*args, cwd=tmp_path)
    assert result.returncode == code
    (line,) = said(result)
    assert line.startswith("depthforest: error: ")
    assert message in line
    assert not list(tmp_path.rglob("*.png"))
    assert not (tmp_path / "out").exists()


def test_an_output_that_cannot_be_made_is_one_line(frames, tmp_path):
    (tmp_path / "file").touch()
    result = run("show", frames, "-o", tmp_path / "file" / "out", "--camera", "40,40,15.5,11.5")
    assert result.returncode == 1
    (line,) = said(result)
    assert "cannot be made a folder" in line


def test_pictures_do_not_mix_with_frames(frames):
    result = run("show", frames, "-o", frames, "--camera", "40,40,15.5,11.5")
    assert result.returncode == 2
    (line,) = said(result)
    assert line.endswith("is an input; name another folder for what is made of it")


def test_kernels_compile_where_no_cache_can_be_written(tmp_path):
    """A container with a read-only package and no home: compile anew, but work."""
    code = (
        "import depthforest.base.compiling.cache as c\n"
        "c._places = lambda: iter(())\n"
        "from depthforest.io.lzf import decompress\n"
        "print(decompress(bytes([0, 65, 32, 0]), 4).tobytes())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path, timeout=600
    )
    assert done.stdout.strip() == "b'AAAA'"


def test_debugging_shows_the_traceback(tmp_path):
    result = run_apart("show", "none", "-o", tmp_path, "--camera", "webcam", env={"DEPTHFOREST_DEBUG": "1"})
    assert result.returncode == 1
    assert b"Traceback" in result.stderr
    assert b"CameraError" in result.stderr


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("depthforest sh", "show"),
        ("depthforest show --camera kinect_v", "kinect_v1\nkinect_v2"),
        ("depthforest show --scale s", "sun3d"),
    ],
)
def test_shell_completion(words, expected):
    env = {"_DEPTHFOREST_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
    assert run(env=env).stdout.decode().split() == expected.split()


def test_models_and_samples_are_found():
    from depthforest.base.resources import models_folder, samples_folder

    assert (samples_folder() / "dataset.json").is_file()
    assert (models_folder() / "README.md").is_file()
    assert isinstance(models_folder(), Path)


def help_of(name):
    return run_here(name, "--help", env={"COLUMNS": "80"}).stdout.decode()


def commands_of_app():
    return [line.split()[0] for line in help_of("--help").split("Commands:")[1].splitlines() if re.match(r"  \S", line)]


def test_help_fits_80_columns_and_cuts_nothing():
    names = commands_of_app()
    assert {"label", "train", "info", "fit-joints"} <= set(names)
    for text in (help_of("--help"), *map(help_of, names)):
        assert max(map(len, text.splitlines())) <= 80
        assert not re.search(r"<bool>|<list|range>", text)
        assert not re.search(r"[a-z]\.\.\.\s*$", text, re.MULTILINE)  # cut, as in "Label the bundled sample..."
        assert not re.search(r"--[\w-]*\.\.\.", text)


def test_every_option_says_what_it_does():
    for name in commands_of_app():
        entries = re.split(r"\n(?=  -)", re.sub(r"\n\n[A-Z]\w+:(?=\n)", "", help_of(name)).strip("\n"))[1:]
        assert entries
        for entry in entries:
            assert re.match(r" *-\S.*?(  |\n)\s*[A-Z]", entry, re.DOTALL), f"{name}: {entry}"


def test_options_stand_in_groups():
    from depthforest.cli.options import OPTION_GROUPS

    text = help_of("label")
    titles = re.findall(r"^([A-Z]\w+):$", text, re.MULTILINE)
    assert titles == ["Arguments", "Input", "People", "Model", "Output", "Run"]
    assert "--camera" in text.split("Input:")[1].split("People:")[0]
    assert "--threads" in text.split("Run:")[1]
    named = " ".join(OPTION_GROUPS.values()).split()
    assert len(named) == len(set(named))


def test_help_of_train_has_defaults_and_choices():
    text = " ".join(help_of("train").split())
    for words in (
        "--trees <int> Number of trees. [default: 3]",
        "--criterion entropy|gini",
        "[default: entropy]",
        "--probe-shape radius|disc|square",
        "--seed <int> Random seed; the same seed",
        "--bodies procedural|makehuman|both",
    ):
        assert re.search(re.escape(words).replace("<int>", r"\S+"), text), words
    from synth.sensors.devices import SENSORS

    for sensor in SENSORS:
        assert sensor in text


def options_of_every_command():
    """Yield each command with its options: the parameter, how help spells it, what help says of it."""
    import typer.main

    from depthforest.cli.commands import app

    group = typer.main.get_command(app)
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        with command.make_context(name, [], resilient_parsing=True) as context:
            shown = [(p, p.get_help_record(context)) for p in command.params if p.param_type_name == "option"]
        yield name, [(p, *record) for p, record in shown if record is not None]


def test_every_default_is_shown():
    from dataclasses import fields

    from depthforest.training import MEMORY_MB, TrainConfig
    from synth import Config

    helps = {}
    for name, options in options_of_every_command():
        for option, _, text in options:
            helps[name, option.name] = text
            if not option.is_flag and option.default is not None:
                value = option.default
                written = ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
                assert f"[default: {written}" in text, (name, text)
    assert sum("[default: " in text for text in helps.values()) > 60
    for field in fields(TrainConfig):  # these arrive as None where they are omitted
        assert f"[default: {field.default}]" in helps["train", field.name]
    for name in ("synth", "train"):
        assert f"Default: {Config().camera}." in helps[name, "camera"]
    assert f"Default: {MEMORY_MB}." in helps["train", "memory"]


@pytest.mark.parametrize(
    ("words", "n_choices"),
    [
        (["label", "f.png", "-o", "out", "--rule"], 3),
        (["label", "f.png", "-o", "out", "--write"], 15),
        (["label", "f.png", "-o", "out", "--scale"], 5),
        (["synth", "-o", "out", "--format"], 2),
        (["synth", "-o", "out", "--sensor"], 9),
        (["synth", "-o", "out", "--bodies"], 3),
        (["synth", "-o", "out.mkv", "--recording", "--acts"], 4),
        (["train", "-o", "m.safetensors", "--criterion"], 2),
        (["train", "-o", "m.safetensors", "--probe-shape"], 3),
    ],
    ids=lambda words: "".join((words[0], words[-1])) if isinstance(words, list) else str(words),
)
def test_choices_that_an_error_names_are_in_the_help(tmp_path, words, n_choices):
    (tmp_path / "f.png").touch()
    said = run_here(*words, "x", cwd=tmp_path).stderr.decode()
    listed = max(re.findall(r"(?:\w+, )+\w+", re.sub(", (got|with) ", "; ", said)), key=len)
    choices = listed.split(", ")
    assert len(choices) == n_choices, said
    texts = {p.opts[-1]: f"{spelt} {text}" for name, found in options_of_every_command() if name == words[0]
             for p, spelt, text in found}  # fmt: skip
    assert set(choices) <= set(re.findall(r"\w+", texts[words[-1]]))


def test_every_option_is_suggested_when_it_is_misspelt():
    n_tried = 0
    for name, options in options_of_every_command():
        for option, _, _ in options:
            for spelling in option.opts:
                if spelling.startswith("--"):
                    n_tried += 1
                    said = run_here(name, spelling + spelling[-1]).stderr.decode()
                    assert re.search(rf"did you mean (\S+ or )?{spelling}\b", said), said
    assert n_tried > 200


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["label", "f.png", "--overlay"], "no option is called --overlay; did you mean --write overlay?"),
        (["label", "f.png", "--trakc"], "no option is called --trakc; did you mean --track?"),
        (["train", "--critirion", "gini"], "no option is called --critirion; did you mean --criterion?"),
        (["label", "f.png", "-o", "out", "--flip", "true"], "'true' is not a file; flags take no value"),
        (["show", "no", "-o", "out"], "'no' is not a file; flags take no value"),
    ],
)
def test_wrong_options_name_what_was_meant(tmp_path, words, meant):
    done = run_here(*words, cwd=tmp_path)
    assert done.returncode == 2
    assert meant in done.stderr.decode()


def test_show_doubts_centimeters(tmp_path):
    depth = np.linspace(150, 450, 240 * 320).reshape(240, 320).astype(np.uint16)
    drawing.write_depth(tmp_path / "cm.png", depth)
    done = run_here("show", "cm.png", "-o", "out", "--camera", "kinect_v1@320x240", cwd=tmp_path)
    assert done.returncode == 0
    assert b"half of the readings are within 0.3 m; the unit is probably wrong: pass --scale cm" in done.stderr
    quiet = run_here("show", "cm.png", "-o", "out", "--camera", "kinect_v1@320x240", "--scale", "cm", cwd=tmp_path)
    assert quiet.stderr == b""


def test_help_says_when_an_overlay_has_joints():
    told = " ".join(run_here("label", "--help").stdout.decode().split())
    assert "An overlay shows joints only if joints or motion are written too, or the folder has joints." in told


def test_show_doubts_a_unit_once(tmp_path):
    """What reading has told is not told again after the table."""
    depth = np.linspace(9000, 16000, 240 * 320).reshape(240, 320).astype(np.uint16)
    drawing.write_depth(tmp_path / "tum.png", depth)
    done = run_here("show", "tum.png", "-o", "out", "--camera", "kinect_v1@320x240", cwd=tmp_path)
    assert done.stderr.decode().count("half of the readings") == 1


def test_show_proposes_units_by_name(tmp_path):
    depth = np.linspace(1500, 4500, 240 * 320).reshape(240, 320).astype(np.uint16)
    drawing.write_depth(tmp_path / "mm.png", depth)
    done = run_here("show", "mm.png", "-o", "out", "--camera", "kinect_v1@320x240", "--scale", "cm", cwd=tmp_path)
    assert done.stderr.endswith(b"; the unit is probably wrong: pass --scale mm\n")
