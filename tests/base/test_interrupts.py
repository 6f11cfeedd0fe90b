import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from support.bounded import run_threads, started

import depthforest as df
from depthforest.base.interrupts import patient_interrupts
from depthforest.training.checkpoints import read_checkpoint
from depthforest.training.config import TrainConfig
from depthforest.training.run import train
from synth.config import Config
from synth.generator import Generator

CONFIG = TrainConfig(trees=2, depth=6, candidates=20, thresholds=10, pixels_per_frame=50, seed=9)
COLUMNS = ("roots", "offsets", "thresholds", "children", "leaves")


@pytest.fixture(scope="module")
def frames():
    return list(Generator(Config(n_bodies=3, n_poses=64, camera="kinect_v1@60x45", sensor="ideal"), seed=4, n=16))


@pytest.fixture(scope="module")
def expected(frames):
    return train(frames, CONFIG)


def assert_same(forest, other):
    for name in COLUMNS:
        np.testing.assert_array_equal(getattr(forest, name), getattr(other, name))
    assert forest == other


def test_ctrl_c_says_how_to_go_on(frames, expected, tmp_path):
    def interrupt(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match=r"kept in .*run: resume continues from there"):
        train(frames, CONFIG, checkpoint=tmp_path / "run", progress=interrupt)
    assert_same(train(frames, CONFIG, checkpoint=tmp_path / "run", resume=True), expected)


def test_a_signal_waits_for_a_safe_point(frames, expected, tmp_path):
    """The level's own news and the rest of its callback are done; then it stops, before the next level ends."""
    heard = []

    def report(news):
        if news.event != "level":
            return
        if len(heard) == 2:
            signal.raise_signal(signal.SIGINT)
        heard.append(news)

    with pytest.raises(KeyboardInterrupt, match="resume continues"):
        train(frames, CONFIG, checkpoint=tmp_path / "run", progress=report)
    assert len(heard) == 3
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    state = read_checkpoint(tmp_path / "run")
    assert state.growing is not None
    assert state.growing.level == 3
    assert_same(train(frames, CONFIG, checkpoint=tmp_path / "run", resume=True), expected)


def test_a_second_signal_stops_at_once(frames, tmp_path):
    reached = []

    def report(news):
        if news.event != "level":
            return
        signal.raise_signal(signal.SIGINT)
        reached.append("after the first")
        signal.raise_signal(signal.SIGINT)
        reached.append("after the second")

    with pytest.raises(KeyboardInterrupt):
        train(frames, CONFIG, checkpoint=tmp_path / "run", progress=report)
    assert reached == ["after the first"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert read_checkpoint(tmp_path / "run").growing is not None


def test_a_programs_own_handler_and_other_threads_are_left_alone(frames, expected):
    caught, found = [], []
    own = signal.signal(signal.SIGINT, lambda *_: caught.append(1))
    try:
        forest = train(frames, CONFIG, progress=lambda _: signal.raise_signal(signal.SIGINT))
    finally:
        signal.signal(signal.SIGINT, own)
    assert len(caught) == 16  # each tree is read, has six levels, and is done
    assert_same(forest, expected)
    run_threads(lambda: found.append(train(frames, CONFIG)))
    assert_same(found[0], expected)


def test_one_that_comes_after_the_last_safe_point_is_not_lost():
    with pytest.raises(KeyboardInterrupt), patient_interrupts():
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_it_works_where_there_is_no_standard_error(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    with pytest.raises(KeyboardInterrupt), patient_interrupts():
        signal.raise_signal(signal.SIGINT)


@pytest.mark.skipif(os.name != "posix", reason="Windows sends Ctrl-C to a whole console")
@pytest.mark.parametrize("threads", [1, 2])
def test_frames_are_safe_points_too(frames, threads):
    """Reading a large data set takes minutes, in which no batch ends."""
    read, late = [], []

    def is_heard():
        return signal.getsignal(signal.SIGINT) is signal.default_int_handler

    class Slow(df.frames.FrameSource):
        def __len__(self):
            return len(frames)

        def _frame(self, number):
            read.append(number)
            if is_heard():
                late.append(number)
            if len(read) == 3:
                os.kill(os.getpid(), signal.SIGINT)  # to the process, as Ctrl-C; its main thread hears it
                deadline = time.monotonic() + 60
                while not is_heard() and time.monotonic() < deadline:
                    time.sleep(0.001)
            return frames[number]

    with pytest.raises(KeyboardInterrupt):
        train(Slow(), CONFIG, threads=threads, shards=2)
    assert len(read) >= 3
    # the other thread may have been between its check and its frame
    assert len(late) <= threads - 1


@pytest.mark.skipif(os.name != "posix", reason="Windows sends Ctrl-C to a whole console")
def test_the_command_stops_cleanly_and_goes_on(tmp_path):
    """A real process, a real signal, and no terminal: one line, 130, and the same bytes in the end."""
    generator = Generator(Config(n_bodies=2, n_poses=64, camera="kinect_v1@80x60", sensor="ideal"), 4, n=24)
    df.write_dataset(tmp_path / "data", generator)
    numbers = TrainConfig(trees=2, depth=10, candidates=1000, pixels_per_frame=300, min_pixels=2)
    (tmp_path / "t.toml").write_text(numbers.to_toml())
    arguments = ["train", "--data", "data", "--config", "t.toml", "-o", "m", "--threads", "2"]
    command = [sys.executable, "-m", "depthforest", *arguments]
    environment = dict(os.environ, PYTHONPATH=str(Path(df.__file__).parent.parent))
    options = {"cwd": tmp_path, "env": environment, "text": True, "stderr": subprocess.PIPE, "stdout": subprocess.PIPE}
    with started(command, **options) as process:
        while "level 2 of" not in (line := process.stdout.readline()):
            assert line, "it ended before it was stopped"
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=120)
    assert process.returncode == 130
    assert errors.splitlines() == [
        "depthforest: warning: stopped; the same command with --resume continues from m.checkpoint"
    ]
    assert "Traceback" not in output
    assert not (tmp_path / "m").exists()
    assert not list((tmp_path / "m.checkpoint").glob(".*"))
    lines = (tmp_path / "m.checkpoint" / "log.jsonl").read_text().splitlines()
    n_levels = sum(json.loads(line)["event"] == "level" for line in lines)
    growing = read_checkpoint(tmp_path / "m.checkpoint").growing
    assert growing is not None
    assert growing.level == n_levels >= 3
    done = subprocess.run([*command, "--resume"], check=False, timeout=300, **options)
    assert done.returncode == 0, done.stderr
    assert "going on with tree 1 of 2 at level" in done.stdout
    train(df.open_dataset(tmp_path / "data"), numbers).save(tmp_path / "expected")
    assert (tmp_path / "m").read_bytes() == (tmp_path / "expected").read_bytes()
