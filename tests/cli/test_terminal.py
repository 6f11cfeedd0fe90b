"""What a command says of failures that are nobody's fault in the code."""

import os
import signal
import subprocess
import sys

import pytest
from support.bounded import started

from depthforest.cli.terminal import report

COMMAND = [sys.executable, "-m", "depthforest"]


def test_what_the_system_refuses_is_no_internal_error(capsys):
    assert report(OSError(36, "File name too long", "a\x1b[31m")) == 1
    assert capsys.readouterr().err == "depthforest: error: a\\x1b[31m: file name too long\n"
    assert report(PermissionError(13, "Permission denied")) == 1
    assert "the system refused: permission denied" in capsys.readouterr().err


@pytest.mark.skipif(os.name != "posix", reason="needs folders that can be removed while in use")
def test_a_working_folder_that_is_gone(tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    code = "import os, sys; os.rmdir(os.getcwd()); from depthforest.cli.terminal import report; "
    code += "\ntry: os.getcwd()\nexcept OSError as error: sys.exit(report(error))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=gone, capture_output=True, text=True, check=False, timeout=600
    )
    assert (done.returncode, done.stderr) == (
        1,
        "depthforest: error: the working folder is gone; change to another and run this again\n",
    )


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is full")  # noqa: PTH110
def test_output_that_cannot_be_written_is_told():
    with open("/dev/full", "w") as full:  # noqa: PTH123
        done = subprocess.run(
            [*COMMAND, "--version"], stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=600
        )
    assert done.returncode == 1
    assert done.stderr == "depthforest: error: standard output: cannot be written: no space left on device\n"


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
@pytest.mark.parametrize(("number", "ignored"), [("SIGTERM", False), ("SIGTERM", True), ("SIGHUP", False)])
def test_a_termination_is_as_kind_as_ctrl_c(number, ignored):
    """Also of a background job, whose shell lets it ignore Ctrl-C."""
    code = (
        "import signal, sys, time\n"
        f"signal.signal(signal.{number}, signal.SIG_DFL)\n"  # a suite that runs under nohup ignores SIGHUP
        f"signal.signal(signal.SIGINT, signal.SIG_IGN) if {ignored} else None\n"
        "from depthforest.base import heed_terminations, patient_interrupts\n"
        "came = heed_terminations()\n"
        "try:\n"
        "    with patient_interrupts() as check:\n"
        "        print('ready', flush=True)\n"
        "        while True:\n"
        "            time.sleep(0.01); check()\n"
        "except KeyboardInterrupt:\n"
        "    sys.exit(128 + came[0])\n"
    )
    with started([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout.readline() == "ready\n"
        child.send_signal(getattr(signal, number))
        assert child.wait(60) == 128 + getattr(signal, number)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_ends_at_a_termination():
    """Whatever it does, also where Python swallows exceptions: a pool of processes waits for its end."""
    code = (
        "import os, signal, time\n"
        "from depthforest.base import heed_terminations\n"
        "heed_terminations()\n"
        "read, write = os.pipe()\n"
        "child = os.fork()\n"
        "if not child:\n"
        "    class Careless:\n"
        "        def __del__(self):\n"
        "            os.write(write, b'.'); time.sleep(30)\n"
        "    Careless()\n"
        "    os._exit(0)\n"
        "os.read(read, 1)\n"
        "os.kill(child, signal.SIGTERM)\n"
        "print(os.WTERMSIG(os.waitpid(child, 0)[1]))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=600)
    assert done.stdout == f"{int(signal.SIGTERM)}\n"
