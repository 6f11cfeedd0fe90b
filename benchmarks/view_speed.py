"""Time the viewer: frames per second on the page, the age of a live frame when it is shown, and memory.

Run `python benchmarks/view_speed.py [--model NAME] [--frames 10000]`. A synthetic camera, 640 x 480, one person, Kinect
v1 noise, feeds `depthforest view -` at 30 frames per second. Three viewers follow: a client that only counts, Chromium
with the real page, and the client again for `--frames` frames, for memory. The reference is the time of labels alone,
in this process and without a server, because other jobs slow down both. Processor time is shown for the same reason:
with two free cores, 2 divided by it is the reachable rate.

Chromium is controlled through its DevTools protocol instead of playwright, which makes the browser report a copy of
every websocket message; that costs more than drawing.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin

from depthforest.forest import load
from depthforest.frames import Camera, Frame
from depthforest.view.clips import Taken
from depthforest.view.looking import Looker
from depthforest.view.protocol import pack_look
from synth import Config, Recording

CAMERA = "kinect_v1"
N_PICTURES = 48
FEED_FPS = 30.0
SECONDS = 15.0
"""Seconds of each measurement; the first second is left out."""

LIMIT_S = 120.0
"""Seconds of each wait for the browser."""

AIM_FPS, AIM_MS, AIM_GROWTH = 25, 120, 1.05
TICKS = os.sysconf("SC_CLK_TCK")


def pictures(seed: int) -> list[npt.NDArray[np.uint16]]:
    """Return depth pictures of one person who moves about a room."""
    config = Config(camera=CAMERA, sensor="kinect_v1", people_shares=(1.0,))
    return [frame.depth_mm for frame in Recording(config, seed, n=N_PICTURES, fps=FEED_FPS).frames()]


class Alone:
    """The clip of frames that are in memory."""

    is_live, fps = False, FEED_FPS

    def __init__(self, frames: list[Frame]) -> None:
        self.frames = frames

    def take(self, number: int) -> Taken:
        """Return a frame."""
        return Taken(self.frames[number % len(self.frames)], number, "frame", time.monotonic())


def own_rate(model: str, depths: list[npt.NDArray[np.uint16]]) -> tuple[float, float]:
    """Return frames a second without a server, and the processor milliseconds of one."""
    camera = Camera.preset(CAMERA)
    clip: Any = Alone([Frame(depth, camera) for depth in depths])
    looker = Looker(load(model))
    looker.look(clip, 0)
    began, spent, n = time.monotonic(), time.process_time(), 0
    while time.monotonic() - began < SECONDS:
        pack_look(looker.look(clip, n), n, n, {})
        n += 1
    return n / (time.monotonic() - began), 1000 * (time.process_time() - spent) / n


@contextlib.contextmanager
def viewer(model: str, depths: list[npt.NDArray[np.uint16]]) -> Iterator[tuple[str, int]]:
    """Run the command on a live stream; yields its address and its process id."""
    code = "from depthforest.cli.commands import main; main()"
    height, width = depths[0].shape
    options = ["--size", f"{width}x{height}", "--camera", CAMERA, "--model", model, "--no-open"]
    command = [sys.executable, "-c", code, "view", "-", *options]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        feeder = threading.Thread(target=feed, args=(process.stdin, [d.astype("<u2").tobytes() for d in depths]))
        feeder.start()
        try:
            yield process.stdout.readline().decode().strip(), process.pid
        finally:
            process.kill()
            feeder.join()


def feed(stdin: Any, frames: list[bytes]) -> None:
    """Write frames at the rate of a camera, until nobody reads them; late ones are dropped."""
    began, n = time.monotonic(), 0
    with contextlib.suppress(OSError):
        while True:
            stdin.write(frames[n % len(frames)])
            stdin.flush()
            n = max(n + 1, int((time.monotonic() - began) * FEED_FPS))
            time.sleep(max(0.0, began + n / FEED_FPS - time.monotonic()))


def headers(address: str) -> Iterator[dict[str, Any]]:
    """Yield the header of each frame; all are acknowledged immediately."""
    host = address.split("/")[2]
    socket = address.replace("http", "ws", 1) + "socket"
    with connect(socket, origin=Origin(f"http://{host}"), max_size=None) as page:
        while True:
            message = page.recv()
            if isinstance(message, bytes):
                header = json.loads(message[4 : 4 + int.from_bytes(message[:4], "little")])
                page.send(json.dumps({"do": "shown", "value": header["number"]}))
                try:
                    yield header
                except GeneratorExit:  # no more frames wanted: close the page as a browser does
                    return


def processor_s(pid: int) -> float:
    """Return the processor seconds of a process and of its children."""
    total = 0.0
    for one in [pid, *children(pid)]:
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
            total += (int(fields[11]) + int(fields[12])) / TICKS
    return total


def children(pid: int) -> list[int]:
    """Return all descendants of a process."""
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += [int(word) for word in task.read_text().split()]
    return found + [deeper for child in found for deeper in children(child)]


def resident_mb(pid: int) -> float:
    """Return the memory of a process."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def counted(address: str, pid: int) -> tuple[float, list[float], float]:
    """Follow with a client that only counts: frames a second, their ages, processor milliseconds of the server."""
    began, ages, n, spent = 0.0, [], 0, 0.0
    for header in headers(address):
        now = time.monotonic()
        if n == 0:
            began, spent = now, processor_s(pid)
        n += 1
        ages += [header["delays"]["in all"]] if header["delays"] and now - began > 1 else []
        if now - began > SECONDS:
            break
    return (n - 1) / (now - began), ages, 1000 * (processor_s(pid) - spent) / (n - 1)


@contextlib.contextmanager
def chromium(path: str, address: str) -> Iterator[tuple[Callable[[str], Any], int]]:
    """Open a page in Chromium; yields a function that evaluates JavaScript in it, and its process id."""
    flags = ["--headless=new", "--no-sandbox", "--enable-unsafe-swiftshader", "--window-size=1440,900"]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        command = [path, *flags, "--remote-debugging-port=0", f"--user-data-dir={folder}", address]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr is not None
            found = (re.search(r"DevTools listening on ws://([^/]+)/", line) for line in process.stderr)
            host = next(filter(None, found))[1]
            try:
                with connect(_page_socket(host, address), max_size=None) as page:
                    yield functools.partial(evaluate, page), process.pid
            finally:
                process.terminate()


def _page_socket(host: str, address: str) -> str:
    """Return the address of Chromium's DevTools for a page."""
    end = time.monotonic() + LIMIT_S
    while time.monotonic() < end:
        with urllib.request.urlopen(f"http://{host}/json", timeout=LIMIT_S) as answer:
            for target in json.load(answer):
                if target["url"].startswith(address):
                    return str(target["webSocketDebuggerUrl"])
        time.sleep(0.1)
    raise TimeoutError(f"Chromium has not opened the page within {LIMIT_S:g} s")


def evaluate(page: ClientConnection, code: str) -> Any:
    """Return the value of JavaScript in a page; None if it fails, as it does before the page is there."""
    how = {"expression": code, "returnByValue": True}
    page.send(json.dumps({"id": 1, "method": "Runtime.evaluate", "params": how}))
    answer = json.loads(page.recv(timeout=LIMIT_S))
    return answer.get("result", {}).get("result", {}).get("value")


def shown(path: str, address: str, pid: int) -> tuple[float, list[float], float, float]:
    """Follow with Chromium: frames a second, their ages, processor milliseconds of the server and of the browser."""
    state = "[Number(document.body.dataset.shown), document.getElementById('stages').textContent]"
    with chromium(path, address) as (ask, browser):
        end = time.monotonic() + LIMIT_S
        while not ask("document.body.dataset.shown > 9") and time.monotonic() < end:
            time.sleep(0.1)
        began, first = time.monotonic(), ask(state)[0]
        server_s, page_s, ages = processor_s(pid), processor_s(browser), []
        while time.monotonic() - began < SECONDS:
            time.sleep(0.3)
            last, text = ask(state)
            ages += [float(text.split()[-2].removeprefix("all"))] if "all" in text else []
        seconds, n = time.monotonic() - began, max(last - first, 1)
        return n / seconds, ages, 1000 * (processor_s(pid) - server_s) / n, 1000 * (processor_s(browser) - page_s) / n


def memory(address: str, pid: int, n_frames: int) -> tuple[float, float]:
    """Follow for many frames: megabytes after the first tenth, and at the end."""
    early = 0.0
    for n, _ in enumerate(headers(address)):
        if n == n_frames // 10:
            early = resident_mb(pid)
        if n and n % 1000 == 0:
            print(f"  {n} frames: {resident_mb(pid):.0f} MB", flush=True)
        if n >= n_frames:
            break
    return early, resident_mb(pid)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--model", default="body31")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--frames", type=int, default=1000, help="over which memory is watched; the aim says 10000")
    parser.add_argument("--only", choices=("speed", "memory"))
    args = parser.parse_args()
    depths = pictures(args.seed)
    print(f"{args.model}, 640 x 480, one person; {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    if args.only != "memory":
        rate, spent = own_rate(args.model, depths)
        print(f"labels alone: {rate:.1f} frames/s, {spent:.1f} processor ms a frame", flush=True)
    with viewer(args.model, depths) as (address, pid):
        if args.only != "memory":
            print_speed(address, pid)
        if args.only != "speed":
            print_memory(address, pid, args.frames)


def print_speed(address: str, pid: int) -> None:
    """Measure a client that only counts, and Chromium."""
    fps, ages, server = counted(address, pid)
    print(
        f"client that counts: {fps:.1f} frames/s, {median(ages)}; server {server:.1f} processor ms a frame", flush=True
    )
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if path is None:
        print("no chromium: the page is not measured")
        return
    fps, ages, server, page = shown(path, address, pid)
    print(f"page in Chromium: {fps:.1f} frames/s, {median(ages)}; {server:.1f} + {page:.1f} processor ms a frame")
    print(f"aim: frames shown in Chromium, 640 x 480: {fps:.1f} a second, at least {AIM_FPS}")
    print(f"aim: age of a live frame when it is shown: {statistics.median(ages):.0f} ms, at most {AIM_MS}")


def print_memory(address: str, pid: int, n_frames: int) -> None:
    """Measure the memory of the server over many frames."""
    early, late = memory(address, pid, n_frames)
    print(f"memory of the server: {early:.0f} MB after {n_frames // 10} frames, {late:.0f} MB after {n_frames}")
    print(f"aim: growth of memory over {n_frames} frames: {late / early:.2f}, at most {AIM_GROWTH}")


def median(ages: list[float]) -> str:
    """Return ages in words."""
    return f"shown after {statistics.median(ages):.0f} ms (9 of 10 within {np.quantile(ages, 0.9):.0f})" if ages else ""


if __name__ == "__main__":
    main()
