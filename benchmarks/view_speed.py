"""Time the viewer: frames a second on the page, how old a live frame is when it is shown, and memory.

Run `python benchmarks/view_speed.py [--model NAME] [--frames 10000]`. A synthetic camera, 640 x 480, one person, Kinect
v1 noise, feeds `depthforest view -` at 30 frames a second. Three lookers follow: a client that only counts, Chromium
with the real page (it needs playwright and chromium), and the client again, for as many frames as `--frames` says, for
memory. What the labels alone take, in this process and without a server, is the yardstick: other jobs slow down both.
Processor time is shown because of them, too: with two free cores, 2 divided by it is what can be reached.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from websockets.sync.client import connect
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
"""Of each measurement; the first second is left out."""

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
    """Run the command on a live stream; give its address and the number of its process."""
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
    """Write frames at the rate of a camera, until nobody reads them; one that is late is left out."""
    began, n = time.monotonic(), 0
    with contextlib.suppress(OSError):
        while True:
            stdin.write(frames[n % len(frames)])
            stdin.flush()
            n = max(n + 1, int((time.monotonic() - began) * FEED_FPS))
            time.sleep(max(0.0, began + n / FEED_FPS - time.monotonic()))


def headers(address: str) -> Iterator[dict[str, Any]]:
    """Yield what comes with each frame; all are acknowledged at once."""
    host = address.split("/")[2]
    socket = address.replace("http", "ws", 1) + "socket"
    with connect(socket, origin=Origin(f"http://{host}"), max_size=None) as page:
        while True:
            message = page.recv()
            if isinstance(message, bytes):
                header = json.loads(message[4 : 4 + int.from_bytes(message[:4], "little")])
                page.send(json.dumps({"do": "shown", "value": header["number"]}))
                yield header


def processor_s(pid: int) -> float:
    """Return the processor seconds of a process and of its children."""
    total = 0.0
    for one in [pid, *children(pid)]:
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
            total += (int(fields[11]) + int(fields[12])) / TICKS
    return total


def children(pid: int) -> list[int]:
    """Return the processes that a process has started, and those that they have."""
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


def shown(address: str, pid: int) -> tuple[float, list[float], float, float]:
    """Follow with Chromium: frames a second, their ages, processor milliseconds of the server and of the browser."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--enable-unsafe-swiftshader"])
        tab = browser.new_page(viewport={"width": 1440, "height": 900})
        tab.goto(address)
        tab.wait_for_selector("body[data-shown]")
        tab.wait_for_timeout(2000)
        counter = "() => [Number(document.body.dataset.shown), document.getElementById('stages').textContent]"
        began, first = time.monotonic(), tab.evaluate(counter)[0]
        ours = os.getpid()
        spent, all_spent, ages = processor_s(pid), processor_s(ours), []
        while time.monotonic() - began < SECONDS:
            tab.wait_for_timeout(300)
            last, text = tab.evaluate(counter)
            words = text.split()
            ages += [float(words[-2].removeprefix("all"))] if "all" in text else []
        seconds, n = time.monotonic() - began, max(last - first, 1)
        server_s = processor_s(pid) - spent
        page_s = processor_s(ours) - all_spent - server_s
        browser.close()
    return n / seconds, ages, 1000 * server_s / n, 1000 * page_s / n


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
    args = parser.parse_args()
    depths = pictures(args.seed)
    print(f"{args.model}, 640 x 480, one person; {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    rate, spent = own_rate(args.model, depths)
    print(f"labels alone: {rate:.1f} frames/s, {spent:.1f} processor ms a frame")
    with viewer(args.model, depths) as (address, pid):
        counts, ages, server = counted(address, pid)
        print(f"client that counts: {counts:.1f} frames/s, {median(ages)}; server {server:.1f} processor ms a frame")
        if shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome"):
            fps, ages, server, page = shown(address, pid)
            print(
                f"page in Chromium: {fps:.1f} frames/s, {median(ages)}; {server:.1f} + {page:.1f} processor ms a frame"
            )
            print(f"aim: frames shown in Chromium, 640 x 480: {fps:.1f} a second, at least {AIM_FPS}")
            print(f"aim: age of a live frame when it is shown: {statistics.median(ages):.0f} ms, at most {AIM_MS}")
        early, late = memory(address, pid, args.frames)
        print(
            f"memory of the server: {early:.0f} MB after {args.frames // 10} frames, {late:.0f} MB after {args.frames}"
        )
        print(f"aim: growth of memory over {args.frames} frames: {late / early:.2f}, at most {AIM_GROWTH}")


def median(ages: list[float]) -> str:
    """Return ages in words."""
    return f"shown after {statistics.median(ages):.0f} ms (9 of 10 within {np.quantile(ages, 0.9):.0f})" if ages else ""


if __name__ == "__main__":
    main()
