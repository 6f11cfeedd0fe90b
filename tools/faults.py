"""Inject faults into commands that write: afterward the bytes are correct, or one line says why not.

    python tools/faults.py --kills 100        all of it
    python tools/faults.py --kills 4 --only label
    python tools/faults.py --kills 0 --faults read-only,SIGTERM

Each case is a command on small files in a folder of its own. An undisturbed run gives the *expected* bytes. Then, over
all cases in turn, it is killed (`kill -9`) at random points and started again: the same bytes, and no partial file,
must be there. And once each: a limit of file size (a full disk), a folder that is read-only, missing, or removed during
the run; a second run at the same time; SIGTERM; an output pipe that nobody reads. Each must end with the expected bytes
or with exit code other than 0 and one line that begins with `depthforest: error:`; never with a traceback, `internal:`,
or a truncated file. Exits with 1, and a line for each failure, if anything else happened.

`view` is a server: while it runs, its page is opened, a frame is uploaded, and the joints are fetched, which count as
its output. Its temporary files must be gone when it has ended, or after its next run.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SECONDS = 600.0
"""Seconds after which a command counts as hanging."""

VISIT_SECONDS = 200.0
"""Until a step of a visit to `view` is given up; kernels may have to be compiled first."""

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
        Arguments added when it is run again.
    outputs : tuple of str
        Its outputs, files or folders.
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
SMALL = (*NUMBERS[:2], "--depth", "4", *NUMBERS[4:], "--judges", "5", "--judge-leaves", "8")
COMPARED = ("--rounds", "2", "--only", "decision-tree,random-forest,depth-forest", "--pixels", "400", "--probes", "10")
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
    "fit-convention": Case(("fit-convention", "left.json", "marks.json", "-o", "own.json"), ("own.json",)),
    "train-people": Case(
        ("train-people", *["--data", "data"] * 4, "--body", FAST[1], *SMALL, "-o", "p.safetensors"),
        ("p.safetensors",), ("--resume",),
    ),
    "compare": Case(("compare", "--data", "data", *COMPARED, "-o", "compared"), ("compared",)),
    "recipe": Case(("train", "--recipe", "small.recipe.toml", "-o", "r.safetensors"), ("r.safetensors", "r.md")),
    "view": Case(("view", "depth", *FAST, "--no-open"), ("tmp",)),
}  # fmt: skip
TIMED = ("evaluate", "demo", "record", "compare")
"""Cases whose files contain measured times, or a random number (Matroska): only their existence is checked, not their
bytes; in JSON, everything but the times."""

RECIPE = """name = "small"
[steps.frames]
do = "synth"
frames = 24
seed = 2
camera = "kinect_v1@80x60"
[steps.grown]
do = "train"
config = "small.train.toml"
data = ["frames"]
[steps.fitted]
do = "fit-leaves"
model = "grown"
leaves = 500
rounds = 0
data = ["frames"]
[steps.joints]
do = "fit-joints"
model = "fitted"
data = ["frames"]
[steps.confidence]
do = "fit-confidence"
model = "joints"
data = ["frames"]
"""


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
    (folder / "small.recipe.toml").write_text(RECIPE)
    pairs = zip(NUMBERS[::2], NUMBERS[1::2], strict=True)
    (folder / "small.train.toml").write_text("".join(f"{key[2:].replace('-', '_')} = {n}\n" for key, n in pairs))
    _write_views(folder)


def _write_views(folder: Path) -> None:
    """Write the joints of a person who walks in a circle, as seen by two cameras, the cameras' poses, and marks."""
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
    marks = {str(n): {"head": (body[0] + (np.sin(n / 15), 0.1, 2.5 + np.cos(n / 15))).tolist()} for n in range(9)}
    (folder / "marks.json").write_text(json.dumps(marks))


class Place:
    """A folder in which a case is run, with the result of an undisturbed run.

    Parameters
    ----------
    inputs : Path
    name : str
        Name of the case.
    """

    def __init__(self, inputs: Path, name: str) -> None:
        self.name, self.case = name, CASES[name]
        self.folder = inputs.parent / name
        shutil.copytree(inputs, self.folder)
        self.clear()
        self.run()  # compiles, so that no later run does
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

    def begin(self, *more: str, folder: Path | None = None, **how: Any) -> subprocess.Popen[str]:
        """Start it, in its own folder or in another one."""
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | how
        return subprocess.Popen(self.command(*more), cwd=folder or self.folder, text=True, **pipes)

    def end(self, child: subprocess.Popen[str]) -> subprocess.CompletedProcess[str]:
        """Wait until it has ended."""
        out, err = child.communicate(timeout=SECONDS)
        return subprocess.CompletedProcess(child.args, child.returncode, out, err)

    def run(self, *more: str, **how: Any) -> subprocess.CompletedProcess[str]:
        """Run it to its end."""
        with self.begin(*more, **how) as child:
            try:
                return self.end(child)
            finally:
                child.kill()

    def clear(self) -> None:
        """Remove its outputs, and its checkpoints."""
        kept = [f"{output}.{ending}" for output in self.case.outputs for ending in ("checkpoint", "steps")]
        for name in (*self.case.outputs, *kept):
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
        """Return how the files differ from those of the undisturbed run; empty if they do not."""
        found = self.written()
        if set(found) != set(self.expected):
            return f"other files: {sorted(set(found) ^ set(self.expected))[:3]}"
        changed = [name for name in found if self.judged(name, found) != self.judged(name, self.expected)]
        return f"other bytes: {changed[:3]}" if changed else ""

    def judged(self, name: str, files: dict[str, bytes]) -> object:
        """Return the part of a file that is the same in every run."""
        if self.name not in TIMED:
            return files[name]
        return _untimed(json.loads(files[name])) if name.endswith(".json") else None


def _untimed(content: Any) -> Any:
    """Return JSON without the times in it."""
    if isinstance(content, dict):
        timed = ("seconds", "ms", "speed", "per_second")
        return {key: _untimed(value) for key, value in content.items() if not key.endswith(timed)}
    return [_untimed(value) for value in content] if isinstance(content, list) else content


class ServerPlace(Place):
    """A place for `view`, which ends after a visit; what the visitor gets counts as its output."""

    def begin(self, *more: str, folder: Path | None = None, **how: Any) -> subprocess.Popen[str]:
        """Start it with a temporary folder of its own, and visit it from a thread."""
        place = folder or self.folder
        said = place.parent / f"{self.name}.{time.monotonic_ns()}"
        with said.open("w") as file:
            how = {"stdout": file, "env": os.environ | {"TMPDIR": str(place / "tmp")}} | how
            child = super().begin(*more, folder=folder, **how)
        self._visits = {**getattr(self, "_visits", {}), child.pid: {}}
        visiting = threading.Thread(target=self._visit, args=(child, said, self._visits[child.pid]), daemon=True)
        visiting.start()
        return child

    def end(self, child: subprocess.Popen[str]) -> subprocess.CompletedProcess[str]:
        """Wait until it was visited and has ended; refusals count as its errors."""
        done = super().end(child)
        got = self._visits[child.pid]
        if done.returncode in (0, 130) and "joints" in got:
            self._received = got["joints"]
            return subprocess.CompletedProcess(done.args, 0, done.stdout, done.stderr)
        return subprocess.CompletedProcess(
            done.args, done.returncode or 1, done.stdout, done.stderr + got.get("error", "")
        )

    def clear(self) -> None:
        """Forget the visitor's results."""
        super().clear()
        (self.folder / "tmp").mkdir()
        self._received = b""

    def written(self) -> dict[str, bytes]:
        """Return the received joints, and leftover files."""
        left = {str(path.relative_to(self.folder)): b"" for path in (self.folder / "tmp").glob("*")}
        return left | ({"joints.json": self._received} if self._received else {})

    def _visit(self, child: subprocess.Popen[str], said: Path, got: dict[str, Any]) -> None:
        """Upload a frame, fetch its joints, and stop the server."""
        from websockets.exceptions import WebSocketException

        try:
            ends = time.monotonic() + VISIT_SECONDS
            while child.poll() is None and not said.read_text().endswith("\n") and time.monotonic() < ends:
                time.sleep(0.05)
            if address := said.read_text().strip():
                got["joints"] = _joints_of_upload(address, self.folder / "data" / "depth" / "on_chair.png")
        except urllib.error.HTTPError as error:
            text = error.read().decode()
            got["error"] = f"\ninternal: {text}" if error.code == 500 else f"\ndepthforest: error: {text}"
        except (OSError, WebSocketException, TimeoutError, KeyError) as error:
            got["error"] = f"\nthe page broke off: {error}"
        finally:
            said.unlink(missing_ok=True)
            if child.poll() is None:
                child.send_signal(signal.SIGINT)


def _joints_of_upload(address: str, path: Path) -> bytes:
    """Open the page, upload a frame, wait until it is shown, and return its joints."""
    from websockets.sync.client import connect

    origin = address[: address.index("/", 7)]
    how: dict[str, Any] = {"origin": origin, "max_size": None, "open_timeout": 60, "ping_interval": None}
    with connect(address.replace("http", "ws", 1) + "socket", **how) as page:
        session, ends = json.loads(page.recv(timeout=60))["session"], time.monotonic() + VISIT_SECONDS
        request = urllib.request.Request(
            f"{address}upload?session={session}&name=mine.png", path.read_bytes(), {"origin": origin}
        )
        urllib.request.urlopen(request, timeout=VISIT_SECONDS).close()
        while time.monotonic() < ends:
            message = page.recv(timeout=VISIT_SECONDS)
            if isinstance(message, bytes):
                header = json.loads(message[4 : 4 + int.from_bytes(message[:4], "little")])
                page.send(json.dumps({"do": "shown", "value": header["number"]}))
                if header["name"] == "mine":
                    with urllib.request.urlopen(f"{address}joints?session={session}", timeout=VISIT_SECONDS) as answer:
                        return bytes(answer.read())
    raise TimeoutError("the upload was not shown in time")


def kill_once(place: Place, rng: random.Random) -> str:
    """Kill the command at a random point and run it again; return what is wrong."""
    place.clear()
    with place.begin() as child:
        _wait(child, rng.uniform(0.3, 1.05) * place.seconds)
        child.kill()
    return go_on(place)


def _wait(child: subprocess.Popen[str], seconds: float) -> None:
    """Wait, but not for one that has ended."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(seconds)


def go_on(place: Place) -> str:
    """Run a stopped command again; return what is wrong."""
    again = place.case.again if (place.folder / f"{place.case.outputs[0]}.checkpoint").is_dir() else ()
    done = place.run(*again)
    if done.returncode != 0:
        return f"does not go on: {done.stderr[-300:]}"
    return place.difference()


def one_line(done: subprocess.CompletedProcess[str], place: Place, code: int | None = None) -> str:
    """Return what is wrong with the end of a disturbed run, which must give the expected bytes or one clear line."""
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
    """Limit files to 2000 bytes, as on a full disk."""
    place.clear()
    wrong = one_line(place.run(preexec_fn=_limited), place)
    parts = [path.name for path in place.folder.rglob("*.part*")]
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
    with place.begin(folder=lost) as child:
        time.sleep(0.3)
        shutil.rmtree(lost, ignore_errors=True)
        done = place.end(child)
    shutil.rmtree(lost, ignore_errors=True)
    return one_line(done, place) if done.returncode else ""


def two_at_once(place: Place) -> str:
    """Start two runs of the same command in one folder: each must succeed or fail with one line, with correct bytes."""
    place.clear()
    with place.begin() as child:
        second = place.run()
        first = place.end(child)
    for done in (second, first):
        if done.returncode and (wrong := one_line(done, place)):
            return wrong
    if second.returncode and first.returncode:
        return f"both fail: {second.stderr[-200:]}"
    return place.difference()


def terminated(place: Place) -> str:
    """Send SIGTERM in the middle, then run it again."""
    place.clear()
    with place.begin() as child:
        _wait(child, 0.7 * place.seconds)
        child.terminate()
        done = place.end(child)
    if child.returncode not in (0, 130, 143, -signal.SIGTERM) or "Traceback" in done.stderr:
        return f"exit {child.returncode}: {done.stderr[-200:]}"
    parts = [path.name for path in place.folder.rglob("*.part*")]
    return f"leaves {parts[:2]}" if parts else go_on(place)


def closed_pipe(place: Place) -> str:
    """Close its output pipe: it must end normally, or stop and be able to resume."""
    place.clear()
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as pipe:
        done = place.run(stdout=pipe)
    if "Traceback" in done.stderr or "internal:" in done.stderr:
        return done.stderr[-300:]
    wrong = place.difference()
    return go_on(place) if wrong and done.returncode else wrong  # stopped while it printed its progress


FAULTS: dict[str, Callable[[Place], str]] = {
    "full disk": full_disk,
    "read-only": read_only,
    "folder gone": folder_gone,
    "two at once": two_at_once,
    "SIGTERM": terminated,
    "closed pipe": closed_pipe,
}


def run_all(names: list[str], n_kills: int, seed: int, faults: Sequence[str] = ()) -> Iterator[tuple[str, str, str]]:
    """Yield (fault, case, what is wrong or empty) for all trials; `faults` selects some of the other faults."""
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as scratch:
        inputs = Path(scratch) / "inputs"
        inputs.mkdir()
        prepare(inputs)
        places = [(ServerPlace if name == "view" else Place)(inputs, name) for name in names]
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
