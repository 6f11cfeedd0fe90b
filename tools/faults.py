"""Faults: commands that write are killed, starved and disturbed; then the bytes are right, or one line says why not.

    python tools/faults.py --kills 100        all of it
    python tools/faults.py --kills 4 --only label
    python tools/faults.py --kills 0 --faults read-only,SIGTERM

Each case is a command on small files in a folder of its own. Undisturbed, it gives the *expected* bytes. Then, over all
cases by turns, it is killed (`kill -9`) at random points of its run and started again: the same bytes, and nothing
half written, must be there. And once each: a limit of file size (a full disk), a folder that is read-only, that is
missing, that goes away; a second run at the same time; SIGTERM; an output that nobody reads. Each must end with the
expected bytes or with exit code other than 0 and one line that begins with `depthforest: error:`; never with a
traceback, `internal:`, or a file that is cut. Exit code 1 if anything else came, with one line for each.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

SECONDS = 600.0
"""Until a command is taken for one that hangs."""

VOLATILE = ("log.jsonl",)
"""Files with times in them, which differ from run to run."""


@dataclass(frozen=True)
class Case:
    """A command that writes.

    Parameters
    ----------
    words : tuple of str
        Its arguments; it runs in the folder of the inputs.
    again : tuple of str
        What is added when it is run again.
    outputs : tuple of str
        What it writes, files or folders.
    """

    words: tuple[str, ...]
    outputs: tuple[str, ...]
    again: tuple[str, ...] = ()


FAST = ("--model", "body31-fast")
SIX = ("-n", "6", "--camera", "kinect_v1@80x60", "--seed", "2")
NUMBERS = ("--trees", "2", "--depth", "6", "--candidates", "40", "--pixels-per-frame", "60", "--seed", "3")
LEAVES = ("--leaves", "2000", "--rounds", "0")
CONTEXT = ("--trees", "1", "--depth", "4", "--candidates", "40", "--min-pixels", "20")
VIEWS = ("left.json", "right.json")
CASES = {
    "label": Case(("label", "depth", "-o", "out", *FAST, "--write", "parts,overlay,joints,json"), ("out",)),
    "train": Case(("train", "--data", "data", "-o", "m.safetensors", *NUMBERS), ("m.safetensors",), ("--resume",)),
    "synth": Case(("synth", *SIX, "-o", "made"), ("made",)),
    "zarr": Case(("synth", *SIX, "-o", "made.zarr", "--format", "zarr"), ("made.zarr",)),
    "show": Case(("show", "depth", "-o", "shown"), ("shown",)),
    "evaluate": Case(("evaluate", FAST[1], "--data", "data", "--limit", "2", "--json", "a.json"), ("a.json",)),
    "fit-joints": Case(("fit-joints", FAST[1], *["--data", "data"] * 3, "-o", "f.safetensors"), ("f.safetensors",)),
    "record": Case(("record", "depth", "-o", "kept.mkv"), ("kept.mkv",)),
    "demo": Case(("demo", "-o", "drawn"), ("drawn",)),
    "export": Case(("export", "small.safetensors", "-o", "forest.h"), ("forest.h",)),
    "import-pcl": Case(("import-pcl", "a.tree", "b.tree", "-o", "pcl.safetensors"), ("pcl.safetensors",)),
    "fit-confidence": Case(("fit-confidence", FAST[1], "--data", "data", "-o", "c.safetensors"), ("c.safetensors",)),
    "fit-leaves": Case(("fit-leaves", FAST[1], "--data", "data", *LEAVES, "-o", "l.safetensors"), ("l.safetensors",)),
    "train-context": Case(
        ("train-context", FAST[1], "--data", "data", *CONTEXT, "-o", "x.safetensors"), ("x.safetensors",), ("--resume",)
    ),
    "fit-context": Case(("fit-context", "body31", "--data", "data", "-o", "fc.safetensors"), ("fc.safetensors",)),
    "calibrate": Case(("calibrate", *VIEWS, "-o", "found.json"), ("found.json",)),
    "fuse": Case(("fuse", *VIEWS, "--cameras", "cameras.json", "-o", "fused.json"), ("fused.json",)),
}  # fmt: skip
TIMED = ("evaluate", "demo", "record")
"""Cases whose files hold times that were measured, or a random number (Matroska): that they are there is looked at, not
their bytes."""


def prepare(folder: Path) -> None:
    """Write the inputs: the bundled sample frames, and a data set of them."""
    from depthforest.base import samples_folder
    from depthforest.forest import import_pcl

    shutil.copytree(samples_folder(), folder / "data")
    (folder / "depth").mkdir()
    for path in sorted((samples_folder() / "depth").iterdir())[:3]:
        shutil.copy(path, folder / "depth")
    for number, name in enumerate(("a.tree", "b.tree")):
        nodes = "".join(f"{i * 7 - 20} {i} -{i} {3 * i} {100 - i - number}\n" for i in range(7))
        (folder / name).write_text(f"3\n{nodes}" + "".join(f"{i * 3}\n" for i in range(8)))
    import_pcl([folder / "a.tree"]).save(folder / "small.safetensors")
    _write_views(folder)


def _write_views(folder: Path) -> None:
    """Write the joints of one who walks in a circle, as two cameras see them, and where the cameras stand."""
    import numpy as np

    from depthforest.frames import JOINTS, Joint
    from depthforest.joints import FrameJoints, write_joints
    from depthforest.joints.cameras.rig import CameraPose, CameraRig

    turn = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])
    left, right = CameraPose("left", np.eye(3), np.zeros(3)), CameraPose("right", turn, np.array([-2.5, 0.0, 2.5]))
    body = np.random.default_rng(1).uniform(-0.4, 0.4, (len(JOINTS), 3)) * (1, 2, 1)
    for camera in (left, right):
        frames = []
        for number in range(90):
            at = np.array([np.sin(number / 15), 0.0, 2.5 + np.cos(number / 15)])
            seen = (body + at - camera.translation) @ camera.rotation  # the way back
            people = {1: {name: Joint(tuple(p.tolist())) for name, p in zip(JOINTS, seen, strict=True)}}
            frames.append(FrameJoints(f"{number}", people, number / 30))
        write_joints(folder / f"{camera.name}.json", frames)
    CameraRig((left, right)).save(folder / "cameras.json")


class Place:
    """A folder in which a case is run, with what came of it undisturbed.

    Parameters
    ----------
    inputs : Path
    name : str
        Of the case.
    """

    def __init__(self, inputs: Path, name: str) -> None:
        self.name, self.case = name, CASES[name]
        self.folder = inputs.parent / name
        shutil.copytree(inputs, self.folder)
        self.run()  # compiles what it needs, which no later run does
        self.clear()
        began = time.monotonic()
        done = self.run()
        self.seconds = time.monotonic() - began
        if done.returncode != 0:
            raise SystemExit(f"{name}: does not work undisturbed: {done.stderr}")
        self.expected = self.written()

    def command(self, *more: str) -> list[str]:
        """Return the command with more words."""
        return [sys.executable, "-m", "depthforest", *self.case.words, *more]

    def run(self, *more: str, start: Callable[[], None] | None = None) -> subprocess.CompletedProcess[str]:
        """Run it to its end."""
        return subprocess.run(
            self.command(*more), cwd=self.folder, capture_output=True, text=True, check=False, timeout=SECONDS,
            preexec_fn=start,
        )  # fmt: skip

    def clear(self) -> None:
        """Remove what it wrote, and what it keeps to go on from."""
        for name in (*self.case.outputs, *(f"{output}.checkpoint" for output in self.case.outputs)):
            path = self.folder / name
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)

    def written(self) -> dict[str, bytes]:
        """Return the files that it wrote."""
        found = {}
        for name in self.case.outputs:
            path = self.folder / name
            for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
                if file.is_file() and file.name not in VOLATILE:
                    found[str(file.relative_to(self.folder))] = file.read_bytes()
        return found

    def difference(self) -> str:
        """Return in what the files differ from those of the undisturbed run; empty if they do not."""
        found = self.written()
        if set(found) != set(self.expected):
            return f"other files: {sorted(set(found) ^ set(self.expected))[:3]}"
        changed = [name for name in found if found[name] != self.expected[name]]
        return "" if self.name in TIMED or not changed else f"other bytes: {changed[:3]}"


def kill_once(place: Place, rng: random.Random) -> str:
    """Kill the command somewhere, run it again; return what is wrong."""
    place.clear()
    with subprocess.Popen(
        place.command(), cwd=place.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as child:
        time.sleep(rng.uniform(0.3, 1.05) * place.seconds)
        child.kill()
    return go_on(place)


def go_on(place: Place) -> str:
    """Run a command again that was stopped; return what is wrong."""
    again = place.case.again if (place.folder / f"{place.case.outputs[0]}.checkpoint").is_dir() else ()
    done = place.run(*again)
    if done.returncode != 0:
        return f"does not go on: {done.stderr[-300:]}"
    return place.difference()


def one_line(done: subprocess.CompletedProcess[str], place: Place, code: int | None = None) -> str:
    """Return what is wrong with how a disturbed run ended: the expected bytes, or one clear line."""
    errors = [line for line in done.stderr.splitlines() if line.startswith("depthforest: error:")]
    if "Traceback" in done.stderr or "internal:" in done.stderr:
        return f"not a clear line: {done.stderr[-300:]}"
    if code is not None and done.returncode != code:
        return f"exit {done.returncode}, expected {code}: {done.stderr[-200:]}"
    if done.returncode == 0:
        return place.difference()
    return "" if errors else f"exit {done.returncode} without a line: {done.stderr[-200:]}"


def _limited() -> None:
    import resource

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))


def full_disk(place: Place) -> str:
    """No file may be larger than 2000 bytes: as on a full disk."""
    place.clear()
    wrong = one_line(place.run(start=_limited), place)
    parts = [name for name in place.written() if ".part" in name]
    place.clear()
    return wrong or (f"leaves {parts[:2]}" if parts else "")


def read_only(place: Place) -> str:
    """Take away the right to write into the folder.

    Root may write anyway, unless this runs under `setpriv --bounding-set=-dac_override,-dac_read_search`.
    """
    place.clear()
    mode = place.folder.stat().st_mode
    place.folder.chmod(0o500)
    try:
        return one_line(place.run(), place)
    finally:
        place.folder.chmod(mode)


def folder_gone(place: Place) -> str:
    """Remove the working folder while the command starts."""
    place.clear()
    lost = place.folder.with_name("lost")
    shutil.copytree(place.folder, lost)
    with subprocess.Popen(
        place.command(), cwd=lost, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        time.sleep(0.3)
        shutil.rmtree(lost, ignore_errors=True)
        out, err = child.communicate(timeout=SECONDS)
    shutil.rmtree(lost, ignore_errors=True)
    done = subprocess.CompletedProcess(child.args, child.returncode, out, err)
    return one_line(done, place) if done.returncode else ""


def two_at_once(place: Place) -> str:
    """Two runs of the same command in one folder: each ends well or with one line, and the bytes are right."""
    place.clear()
    first = subprocess.Popen(
        place.command(), cwd=place.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    done = place.run()
    out, err = first.communicate(timeout=SECONDS)
    for ended in (done, subprocess.CompletedProcess(first.args, first.returncode, out, err)):
        if ended.returncode and (wrong := one_line(ended, place)):
            return wrong
    if done.returncode and first.returncode:
        return f"both fail: {done.stderr[-200:]}"
    return place.difference()


def terminated(place: Place) -> str:
    """SIGTERM in the middle, then again."""
    place.clear()
    with subprocess.Popen(
        place.command(), cwd=place.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        time.sleep(0.7 * place.seconds)
        child.terminate()
        _, err = child.communicate(timeout=SECONDS)
    if child.returncode not in (0, 143, -signal.SIGTERM) or "Traceback" in err:
        return f"exit {child.returncode}: {err[-200:]}"
    return go_on(place)


def closed_pipe(place: Place) -> str:
    """Nobody reads what it prints: it ends as if nothing were wrong, or stops and can go on."""
    place.clear()
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as pipe:
        done = subprocess.run(
            place.command(), cwd=place.folder, stdout=pipe, stderr=subprocess.PIPE, text=True, check=False,
            timeout=SECONDS,
        )  # fmt: skip
    if "Traceback" in done.stderr or "internal:" in done.stderr:
        return done.stderr[-300:]
    wrong = place.difference()
    return go_on(place) if wrong and done.returncode else wrong  # stopped where it says how far it is


FAULTS: dict[str, Callable[[Place], str]] = {
    "full disk": full_disk,
    "read-only": read_only,
    "folder gone": folder_gone,
    "two at once": two_at_once,
    "SIGTERM": terminated,
    "closed pipe": closed_pipe,
}


def run_all(names: list[str], n_kills: int, seed: int, faults: Sequence[str] = ()) -> Iterator[tuple[str, str, str]]:
    """Yield (fault, case, what is wrong or nothing) of all trials; of some of the other faults, if they are named."""
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as scratch:
        inputs = Path(scratch) / "inputs"
        inputs.mkdir()
        prepare(inputs)
        places = [Place(inputs, name) for name in names]
        for number in range(n_kills):
            place = places[number % len(places)]
            yield "kill -9", place.name, kill_once(place, rng)
        for fault in faults or FAULTS:
            for place in places:
                yield fault, place.name, FAULTS[fault](place)


def main() -> int:
    """Read the command line, inflict the faults, and return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kills", type=int, default=100, help="over all cases, by turns")
    parser.add_argument("--only", default=",".join(CASES), help="cases, with commas; default: all")
    parser.add_argument("--faults", default=",".join(FAULTS), help="other faults, with commas; default: all")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    names = chosen.only.split(",")
    if unknown := [name for name in names if name not in CASES]:
        parser.error(f"unknown cases {', '.join(unknown)}; known: {', '.join(CASES)}")
    faults = chosen.faults.split(",")
    if unknown := [fault for fault in faults if fault not in FAULTS]:
        parser.error(f"unknown faults {', '.join(unknown)}; known: {', '.join(FAULTS)}")
    n_tried = n_wrong = 0
    for fault, name, wrong in run_all(names, chosen.kills, chosen.seed, faults):
        n_tried += 1
        n_wrong += bool(wrong)
        if wrong or n_tried % 10 == 0:
            print(f"{n_tried}: {fault}, {name}: {wrong or 'well'}", flush=True)
    print(f"{n_tried} trials, {n_wrong} wrong")
    return 1 if n_wrong else 0


if __name__ == "__main__":
    sys.exit(main())
