"""Make the pictures of docs/VIEW.md and the animation of README from the real page of the viewer, in Chromium.

Run it from the top of a checkout; it needs playwright and chromium. A synthetic recording of one person plays in
`depthforest view`. Screenshots are light, dark, of a phone, and of two models; the animation steps through the
recording while the cloud turns.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PIL import Image

from depthforest.base import DepthForestError, replacing
from depthforest.io import MkvWriter
from synth import Config, Recording

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PICTURES = Path(__file__).resolve().parent.parent / "docs" / "pictures"
DESK = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 844}
MAX_BYTES = 2_000_000
QUALITIES = (80, 70, 60, 50, 40, 30)
"""Qualities of the animation, tried one after the other until it is small enough."""

STEP = 2
"""Frames of the recording from one picture of the animation to the next."""

ANIMATION_WIDTH = 960


def record(path: Path, seed: int, n_frames: int) -> None:
    """Write a recording of one person who moves about a room."""
    config = Config(camera="kinect_v1", sensor="kinect_v1", people_shares=(1.0,))
    with MkvWriter(path, 30.0) as video:
        for frame in Recording(config, seed, n=n_frames, fps=30.0).frames():
            video.add(frame)


@contextlib.contextmanager
def viewer(recording: Path) -> Iterator[str]:
    """Run `depthforest view` and give its address."""
    code = "from depthforest.cli.commands import main; main()"
    command = [sys.executable, "-c", code, "view", recording.name, "--track", "--no-open"]
    # from its folder, so that the lines on the page name no path
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=recording.parent) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


def opened(browser: Browser, address: str, size: dict[str, int], **how: Any) -> Page:
    """Open the page and wait for its first frame."""
    tab = browser.new_context(viewport=size, **how).new_page()  # type: ignore[arg-type]
    tab.goto(address)
    tab.wait_for_selector("body[data-shown]", timeout=120_000)
    return tab


def go_on(tab: Page, first: int, last: int) -> None:
    """Step from a frame to a later one, showing all between, so that plots fill and people are tracked."""
    for number in range(first + 1, last + 1):
        tab.keyboard.press("ArrowRight")
        tab.wait_for_selector(f"body[data-frame='{number}']", timeout=60_000)
    tab.wait_for_timeout(500)  # tables follow the frames


def shoot(tab: Page, path: Path) -> None:
    """Write a small PNG of the window."""
    with Image.open(io.BytesIO(tab.screenshot())) as picture:
        small = picture.convert("RGB").quantize(255, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    with replacing(path) as file:
        small.save(file, "PNG", optimize=True)
    print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB", flush=True)


def screenshots(browser: Browser, address: str, folder: Path, frame: int) -> None:
    """Write the pictures of docs/VIEW.md."""
    tab = opened(browser, address, DESK, color_scheme="light")
    go_on(tab, 0, frame)
    shoot(tab, folder / "view_light.png")
    tab.get_by_role("tab", name="Reading").click()
    tab.emulate_media(color_scheme="dark")
    tab.wait_for_timeout(500)
    shoot(tab, folder / "view_dark.png")
    tab.emulate_media(color_scheme="light")
    tab.locator("#compare").select_option(label="body31-fast")
    tab.get_by_role("tab", name="Parts").click()
    tab.wait_for_selector("#differ:has-text('%')")
    tab.wait_for_timeout(500)
    shoot(tab, folder / "view_compare.png")
    tab.context.close()
    tab = opened(browser, address, PHONE, color_scheme="light", has_touch=True, is_mobile=True, device_scale_factor=2)
    go_on(tab, 0, 20)
    shoot(tab, folder / "view_phone.png")
    tab.context.close()


def animate(browser: Browser, address: str, path: Path, n_frames: int) -> None:
    """Write the animation: the recording plays and the cloud turns."""
    tab = opened(browser, address, DESK, color_scheme="light")
    transport = tab.locator("#transport").bounding_box()
    assert transport is not None
    area: Any = {"x": 0, "y": 0, "width": DESK["width"], "height": transport["y"]}
    pictures = []
    for number in range(0, n_frames, STEP):
        go_on(tab, max(0, number - STEP), number)
        turn(tab, 7 if number < n_frames // 2 else -7)
        tab.wait_for_timeout(400)  # until the cloud is drawn finely
        with Image.open(io.BytesIO(tab.screenshot(clip=area))) as shot:
            height = round(shot.height * ANIMATION_WIDTH / shot.width)
            pictures.append(shot.convert("RGB").resize((ANIMATION_WIDTH, height), Image.Resampling.LANCZOS))
    tab.context.close()
    for quality in QUALITIES:
        content = io.BytesIO()
        first, *others = pictures
        how: dict[str, Any] = {"duration": round(1000 * STEP / 30), "loop": 0, "quality": quality, "method": 5}
        first.save(content, "WEBP", save_all=True, append_images=others, minimize_size=True, **how)
        if content.tell() <= MAX_BYTES:
            with replacing(path) as file:
                file.write(content.getvalue())
            print(
                f"{path.name}: {content.tell() / 1e6:.2f} MB, {len(pictures)} pictures, quality {quality}", flush=True
            )
            return
    raise DepthForestError(f"{path}: is {content.tell()} bytes even at quality {quality}; give fewer frames")


def turn(tab: Page, pixels: int) -> None:
    """Drag the cloud by some pixels, and leave it."""
    box = tab.locator(".pane[data-pane=cloud]").bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    tab.mouse.move(x, y)
    tab.mouse.down()
    tab.mouse.move(x + pixels, y)
    tab.mouse.up()


def main() -> None:
    """Record, open the page, and write the pictures."""
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--recording", type=Path, help="omitted: a synthetic one is made")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("-n", "--frames", type=int, default=90)
    parser.add_argument("--only", choices=("screenshots", "animation"))
    parser.add_argument("-o", "--output", type=Path, default=PICTURES)
    args = parser.parse_args()
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        recording = args.recording or Path(folder) / "walk.mkv"
        if args.recording is None:
            record(recording, args.seed, args.frames)
        flags = ["--no-sandbox", "--enable-unsafe-swiftshader"]
        browser = playwright.chromium.launch(executable_path=chromium, args=flags)
        with viewer(recording) as address:
            if args.only != "animation":
                screenshots(browser, address, args.output, min(60, args.frames - 1))
            if args.only != "screenshots":
                animate(browser, address, args.output / "view.webp", args.frames)
        browser.close()


if __name__ == "__main__":
    main()
