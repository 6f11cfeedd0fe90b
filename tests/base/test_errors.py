import ast
import pickle
import warnings
from pathlib import Path

import pytest
import typer

import depthforest
import synth
from depthforest.base.errors import (
    DepthForestError,
    DepthForestWarning,
    FrameError,
    Parameter,
    UsageError,
    counted,
    text_of,
)
from depthforest.cli.commands import app
from depthforest.cli.options import OPTION_NAMES, as_option
from depthforest.cli.terminal import complain, warn_in_one_line

SOURCES = [path for package in (depthforest, synth) for path in Path(package.__file__).parent.rglob("*.py")]


@pytest.mark.parametrize(
    ("parameter", "python", "option"),
    [
        (Parameter("scale"), "scale", "--scale"),
        (Parameter("scale", "sun3d"), "scale='sun3d'", "--scale sun3d"),
        (Parameter("scale", -1), "scale=-1", "--scale -1"),
        (Parameter("scale", 1), "scale=1", "--scale 1"),
        (Parameter("flip", True), "flip=True", "--flip"),
        (Parameter("synth_config"), "synth_config", "--synth-config"),
        (Parameter("memory_mb", 7), "memory_mb=7", "--memory 7"),
        (Parameter("is_forced", True), "is_forced=True", "--force"),
    ],
)
def test_a_parameter_is_written_for_whoever_reads_it(parameter, python, option):
    assert str(parameter) == python
    assert as_option(parameter) == option
    error = UsageError("pass ", parameter, ", please")
    assert str(error) == f"pass {python}, please"
    assert text_of(error, as_option) == f"pass {option}, please"


def test_messages_keep_their_parameters_in_other_messages():
    inner = FrameError("pass ", Parameter("size"))
    for error in (FrameError("a.raw: ", *inner.args), FrameError("a.raw: ", inner), pickle.loads(pickle.dumps(inner))):
        assert text_of(error, as_option).endswith("pass --size")
        assert str(error).endswith("pass size")
    assert str(DepthForestError()) == ""
    assert str(DepthForestError("camera=1 {size} %s")) == text_of("camera=1 {size} %s", as_option)


def test_commands_write_options_and_leave_text_as_it_is(capsys):
    complain("error", UsageError("scale='x'.png: raise ", Parameter("memory_mb")))
    assert capsys.readouterr().err == "depthforest: error: scale='x'.png: raise --memory\n"
    show = warn_in_one_line(set())
    for _ in range(2):
        show(DepthForestWarning("pass ", Parameter("camera"), " to\nsay so"), DepthForestWarning)
    assert capsys.readouterr().err == "depthforest: warning: pass --camera to say so\n"


def test_warnings_read_as_python():
    with pytest.warns(DepthForestWarning, match="^pass scale='cm'$"):
        warnings.warn(DepthForestWarning("pass ", Parameter("scale", "cm")), stacklevel=1)


def test_every_parameter_that_a_message_names_is_an_option():
    commands = typer.main.get_command(app).commands.values()
    options = {option for command in commands for parameter in command.params for option in parameter.opts}
    calls = [node for path in SOURCES for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    named = {
        call.args[0].value
        for call in calls
        if isinstance(call.func, ast.Name) and call.func.id == "Parameter" and isinstance(call.args[0], ast.Constant)
    }
    assert {"scale", "memory_mb", "n_people"} <= named
    assert set(OPTION_NAMES) <= named
    assert {as_option(Parameter(name)) for name in named} <= options


def test_only_the_command_line_speaks_of_options():
    """Elsewhere, a text that names one is wrong for whoever calls from Python."""
    told = {}
    for path in SOURCES:
        if path.parent.name == "cli":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Raise) and node.exc is not None:
                texts = [part.value for part in ast.walk(node.exc) if isinstance(part, ast.Constant)]
                found = [text for text in texts if isinstance(text, str) and "--" in text and "pip install" not in text]
                told |= {path.name: found} if found else {}
    assert told == {}


def test_what_comes_from_outside_cannot_steer_a_terminal():
    """Escape codes, right-to-left marks and keys of 120,000 characters went out as they came."""
    text = str(DepthForestError("a\x1b[31m\u202eb\udcff\r\n", "x" * 120_000, "; do this"))
    assert text.startswith("a\\x1b[31m\\u202eb\\udcff  xxx")
    assert text.endswith("xxx; do this")
    assert text.isprintable()
    assert len(text) < 1100
    assert str(DepthForestWarning("\x9b")) == "\\x9b"


def test_one_thing_is_no_plural():
    assert [counted(n, "trees") for n in (0, 1, 2)] == ["0 trees", "1 tree", "2 trees"]
