"""The page in a real browser: Chromium, driven by playwright. What is drawn is compared with what the forest says."""

import base64
import io
import itertools
import json
import math
import re
import shutil

import numpy as np
import pytest
from PIL import Image

pytest.importorskip("playwright", reason="needs playwright, to drive a browser")
pytest.importorskip("uvicorn", reason="needs the extra [view]: uvicorn")
pytest.importorskip("httpx", reason="needs httpx")

from playwright.sync_api import sync_playwright
from support.viewing import Running

from depthforest.base import samples_folder
from depthforest.evaluation.marks import read_marks
from depthforest.forest import load
from depthforest.frames import BODY31, NO_PART
from depthforest.io import MkvWriter, ReadOptions
from depthforest.view.clips import open_clip
from depthforest.view.looking import Looker

pytestmark = pytest.mark.slow

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
ARGUMENTS = ["--no-sandbox", "--enable-unsafe-swiftshader"]
DESK = {"width": 1440, "height": 900}
TWO_PEOPLE = 5


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        pytest.skip("needs Chromium, as in: apt install chromium")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield started
        started.close()


@pytest.fixture(scope="module")
def running():
    made = Running()
    yield made
    made.close()


@pytest.fixture(scope="module")
def looks():
    """What the forest says of each sample frame."""
    clip, looker = open_clip((), ReadOptions()), Looker(load("body31-fast"))
    return [looker.look(clip, number) for number in range(len(clip))]


@pytest.fixture
def tab(browser, running, request):
    """Open the page in a tab of its own; errors of its scripts fail the test."""
    yield from opened(browser, running, **getattr(request, "param", {}))


def opened(browser, running, query="", **how):
    context = browser.new_context(**{"viewport": DESK, "color_scheme": "light", "accept_downloads": True} | how)
    tab, errors = context.new_page(), []
    tab.set_default_timeout(30_000)
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
    tab.goto(running.url(query))
    tab.wait_for_selector("body[data-shown]")
    yield tab
    context.close()
    assert errors == []


def go_to(tab, number):
    for _ in range(number):
        tab.keyboard.press("ArrowRight")
    tab.wait_for_selector(f"body[data-frame='{number}']")


def spots(tab, pane, shape, pixels):
    """Return where in the window the centers of pixels of the frame are shown."""
    stage = tab.locator("#stage").bounding_box()
    x, y, w, h = map(float, tab.locator(f".pane[data-pane={pane}]").get_attribute("data-picture").split())
    return [
        (stage["x"] + x + (col + 0.5) / shape[1] * w, stage["y"] + y + (row + 0.5) / shape[0] * h)
        for row, col in pixels
    ]


def spot(tab, pane, shape, row, col):
    """Return where in the window the center of a pixel of the frame is shown."""
    return spots(tab, pane, shape, [(row, col)])[0]


def seen_picture(tab, place="body"):
    """Return what is seen of an element: (rows, cols, 3)."""
    tab.wait_for_timeout(400)  # until a frame that has just come is drawn finely, and is composed
    return np.asarray(Image.open(io.BytesIO(tab.locator(place).screenshot())).convert("RGB"), float)


def colors(tab, pane, shape, pixels):
    """Return what is seen at pixels of the frame: (n, 3)."""
    picture = seen_picture(tab)
    return np.array([picture[int(y), int(x)] for x, y in spots(tab, pane, shape, pixels)])


def inner_pixels(parts, n, seed=0):
    """Return pixels whose neighbors all have the same label, and is one."""
    same = parts != NO_PART
    same[:30] = False  # under the name of the pane
    for steps in itertools.product((-1, 0, 1), repeat=2):
        same &= np.roll(parts, steps, (0, 1)) == parts
    rows, cols = np.nonzero(same)
    chosen = np.random.default_rng(seed).permutation(len(rows))[:n]
    return list(zip(rows[chosen].tolist(), cols[chosen].tolist(), strict=True))


def shares(seen, expected):
    """Return by how much each color is darker than expected, and how far it is from being that color at all."""
    lit = (seen * expected).sum(1) / (expected**2).sum(1)
    return lit, np.abs(seen - lit[:, None] * expected).max(1)


def test_it_opens_with_the_samples(tab, looks):
    assert tab.title() == "depthforest view"
    assert tab.locator("#source").inner_text() == "sample frames"
    for pane in ("depth", "parts", "confidence", "cloud"):
        assert tab.locator(f".pane[data-pane={pane}]").is_visible()
    assert not tab.locator(".pane[data-pane=difference]").is_visible()
    person = looks[0].labels.ids[0]
    assert f"Person {person}" in tab.locator("#people").inner_text()
    for name, joint in looks[0].joints[person].items():
        row = tab.locator("#people tr", has=tab.get_by_role("cell", name=name, exact=True)).inner_text()
        assert f"{joint.position[2]:.2f}" in row
        sent = round(joint.confidence, 3)
        assert f"{math.floor(100 * sent + 0.5)} %" in row  # halves go up, as in JavaScript
    assert "ms" in tab.locator("#stages").inner_text()


def test_labels_have_the_right_colors_at_known_pixels(tab, looks):
    labels = looks[TWO_PEOPLE].labels
    go_to(tab, TWO_PEOPLE)
    tab.get_by_role("tab", name="Parts").click()
    tab.locator("#bones").uncheck()
    pixels = inner_pixels(labels.parts, 300)
    found = np.array([labels.parts[pixel] for pixel in pixels])
    seen = colors(tab, "parts", labels.parts.shape, pixels)
    lit, off = shares(seen, np.array([BODY31.colors[part] for part in found], float))
    assert len(set(found.tolist())) > 10
    assert off.max() <= 6
    assert lit.min() > 0.55
    assert lit.max() < 1.02
    # a part of the legend alone: the others lose their color
    part = int(found[0])
    tab.locator("#filter").fill(BODY31.names[part])
    tab.locator("#legend button").first.click()
    dimmed = colors(tab, "parts", labels.parts.shape, pixels)
    is_chosen = found == part
    np.testing.assert_allclose(dimmed[is_chosen], seen[is_chosen], atol=2)
    assert np.abs(dimmed - seen)[~is_chosen].max(1).mean() > 30
    is_empty = looks[TWO_PEOPLE].taken.frame.depth_mm == 0
    empty = inner_pixels(np.where(is_empty, 0, NO_PART).astype(np.uint8), 50)
    assert set(map(tuple, colors(tab, "parts", is_empty.shape, empty).tolist())) == {(0xE3, 0xE8, 0xEB)}


def test_a_click_on_a_part_dims_the_others(tab, looks):
    parts = looks[0].labels.parts
    tab.get_by_role("tab", name="Parts").click()
    tab.locator("#bones").uncheck()
    pixels = inner_pixels(parts, 60)
    before = colors(tab, "parts", parts.shape, pixels)
    tab.mouse.click(*spot(tab, "parts", parts.shape, *pixels[0]))
    tab.mouse.move(5, 5)  # what is named at the pointer covers pixels
    after = colors(tab, "parts", parts.shape, pixels)
    is_chosen = np.array([parts[pixel] == parts[pixels[0]] for pixel in pixels])
    np.testing.assert_allclose(after[is_chosen], before[is_chosen], atol=2)
    assert np.abs(after - before)[~is_chosen].max(1).mean() > 30
    name = BODY31.names[parts[pixels[0]]]
    assert tab.locator("#legend button[aria-pressed=true]").all_inner_texts() == [name]
    tab.keyboard.press("Escape")
    np.testing.assert_allclose(colors(tab, "parts", parts.shape, pixels), before, atol=2)


def test_the_cloud_turns_zooms_and_is_fine_again_at_rest(tab):
    tab.locator("#views [data-view=cloud]").click()
    first = seen_picture(tab, "#stage")
    box = tab.locator(".pane[data-pane=cloud]").bounding_box()
    tab.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    tab.mouse.wheel(0, -300)
    nearer = seen_picture(tab, "#stage")
    is_empty = [(picture == (0xE3, 0xE8, 0xEB)).all(2).mean() for picture in (first, nearer)]
    assert is_empty[1] < is_empty[0]
    drag(tab, 120)
    turned = seen_picture(tab, "#stage")
    assert (np.abs(turned - nearer).max(2) > 20).mean() > 0.02
    tab.locator(".pane[data-pane=cloud]").dblclick()
    np.testing.assert_array_equal(seen_picture(tab, "#stage"), first)  # nothing is left of the coarse ones


def drag(tab, pixels):
    tab.mouse.down()
    tab.mouse.move(900, 400)
    tab.mouse.move(900 - pixels, 400)
    tab.mouse.up()


def test_the_processor_draws_what_a_gpu_draws(browser, running):
    pictures = []
    for how in ("gpu", "cpu"):
        for tab in opened(browser, running, f"?draw={how}"):
            tab.locator("#compare").select_option(label="body31")
            go_to(tab, TWO_PEOPLE)
            tab.get_by_role("tab", name="Parts").click()
            tab.locator("#bones").uncheck()
            tab.locator("#legend button").first.click()
            pictures.append({"all": seen_picture(tab, "#stage")})
            for view in ("parts", "difference", "cloud"):
                tab.locator(f"#views [data-view={view}]").click()
                pictures[-1][view] = seen_picture(tab, "#stage")
    for view, ours in pictures[1].items():
        off = np.abs(ours - pictures[0][view]).max(2)
        assert np.unique(ours.reshape(-1, 3), axis=0).shape[0] > 100
        # points of the cloud may be a pixel wider; what is enlarged, a pixel further left
        assert (off > 8).mean() < {"all": 0.02, "cloud": 0.05}.get(view, 0.01), view
        assert off.mean() < 2, view


def test_hovering_names_part_probability_and_distance(tab, looks):
    look = looks[0]
    for row, col in inner_pixels(look.labels.parts, 5, seed=1):
        tab.mouse.move(*spot(tab, "depth", look.labels.parts.shape, row, col))
        tip = tab.locator("#tip").inner_text()
        assert tip.startswith(BODY31.names[look.labels.parts[row, col]])
        assert f"{look.taken.frame.depth_mm[row, col] / 1000:.2f} m" in tip
        assert f"col {col}, row {row}" in tip
        said = int(re.search(r"(\d+) %", tip)[1])
        assert abs(said - 100 * look.labels.confidence[row, col]) < 1.5


def drop(tab, name, content):
    given = {"name": name, "text": base64.b64encode(content).decode()}
    transfer = tab.evaluate_handle(
        """({ name, text }) => {
            const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0)), dropped = new DataTransfer();
            dropped.items.add(new File([bytes], name));
            return dropped;
        }""",
        given,
    )
    tab.dispatch_event("body", "drop", {"dataTransfer": transfer})


def test_a_file_is_dropped_and_its_camera_changed(tab):
    name = "<img src=x onerror=document.title=1>.png"
    drop(tab, name, (samples_folder() / "depth" / "on_chair.png").read_bytes())
    tab.wait_for_selector("#reopen:visible")
    tab.wait_for_selector("#said_unit:not(:empty)")
    assert tab.locator("#source").inner_text() == name
    assert tab.title() == "depthforest view"
    assert tab.locator("#said_unit").inner_text() == "millimeters, assumed for whole numbers"
    assert "assumed from the size" in tab.locator("#said_camera").inner_text()
    tab.locator("[name=camera]").fill("300,300,160,120")
    tab.keyboard.press("Enter")
    tab.wait_for_selector("#said_camera:has-text('fx 300.0, fy 300.0, cx 160.0, cy 120.0; given')")
    tab.locator("[name=flip]").check()
    tab.wait_for_selector("#said_orientation:has-text('mirrored back')")
    assert "--camera 300,300,160,120 --flip" in tab.locator("#command").inner_text()
    assert "camera='300,300,160,120', flip=True" in tab.locator("#python").inner_text()
    tab.locator("[data-copy=command]").click()
    tab.wait_for_selector("[data-copy=command]:has-text('Copied')")
    assert tab.locator("#name").inner_text() == name.removesuffix(".png")
    drop(tab, "broken.png", b"\x89PNG\r\n\x1a\n")
    tab.wait_for_selector("#message:has-text('broken.png')")
    assert tab.locator("#name").inner_text() == ""  # nothing of the last file stands under the name of this one
    stage = seen_picture(tab, "#stage")
    assert (stage[len(stage) // 4] == (0xE3, 0xE8, 0xEB)).all(1).mean() > 0.95
    tab.locator("#reopen").click()
    tab.wait_for_selector("#name:has-text('behind_table')")


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    pytest.importorskip("av", reason="needs av, to write a recording")
    path = tmp_path_factory.mktemp("recording") / "walk.mkv"
    frame = open_clip((), ReadOptions()).take(0).frame
    with MkvWriter(path, 12.5) as video:
        for _ in range(40):
            video.add(frame)
    return path


def test_a_recording_plays(browser, recording):
    running = Running(sources=(str(recording),))
    try:
        for tab in opened(browser, running):
            assert tab.locator("#where").inner_text() == "1 / 40"
            tab.keyboard.press(" ")
            tab.wait_for_selector("body.playing")
            tab.wait_for_selector("#rate:has-text('frames/s')")
            tab.keyboard.press(" ")
            tab.wait_for_selector("body:not(.playing)")
            tab.keyboard.press("Home")
            tab.wait_for_selector("body[data-frame='0']")
            tab.locator("#forth").click()
            tab.wait_for_selector("body[data-frame='1']")
            tab.keyboard.press("Shift+ArrowRight")
            tab.wait_for_selector("body[data-frame='11']")
            tab.locator("#seek").fill("39")
            tab.wait_for_selector("body[data-frame='39']")
            tab.locator("#speed").select_option("0.5")
            tab.wait_for_selector("#name:text-is('walk_000039')")  # written a moment after the frame is drawn
            assert re.fullmatch(r"\d+°", tab.locator("#plotkey b").first.inner_text())  # the angle of an elbow
            curves = tab.evaluate(
                "() => { const plot = document.getElementById('plot'); return [...plot.getContext('2d')"
                ".getImageData(0, 0, plot.width, plot.height).data] }"
            )
            pixels = np.array(curves).reshape(-1, 4)
            assert len(np.unique(pixels[pixels[:, 3] == 255], axis=0)) >= 4  # a color for each angle
        assert running.viewer.clip.fps == pytest.approx(12.5)
    finally:
        running.close()


def test_marks_are_where_they_were_clicked_and_are_saved(tab, looks, tmp_path):
    shape = looks[0].labels.parts.shape
    tab.keyboard.press("m")
    wanted = inner_pixels(looks[0].labels.parts, 12, seed=2)
    for pane, (row, col) in zip(["depth", "parts", "confidence"] * 4, wanted, strict=True):
        tab.mouse.click(*spot(tab, pane, shape, row, col))
    tab.locator("#markas").select_option("joint wrist_l")
    tab.locator("#markseen").uncheck()
    tab.mouse.click(*spot(tab, "parts", shape, 100, 200))
    tab.locator("#markas").select_option("joint hip_l")
    tab.locator("#markabsent").click()
    assert tab.locator("#marklist li").count() == 14
    with tab.expect_download() as saved:
        tab.locator("#marksave").click()
    path = tmp_path / saved.value.suggested_filename
    saved.value.save_as(path)
    assert path.name == "marks.json"
    frame = json.loads(path.read_text())["behind_table"]
    assert (frame["width"], frame["height"]) == shape[::-1]
    assert [[row, col] for col, row, _ in frame["people"][0]["points"]] == [list(pixel) for pixel in wanted]
    assert frame["people"][0]["joints"] == {"wrist_l": [200, 100, False], "hip_l": None}
    assert list(read_marks(path)) == ["behind_table"]
    tab.locator("#marklist button").first.click()
    assert tab.locator("#marklist li").count() == 13


def test_pictures_videos_and_joints_are_saved(tab, tmp_path):
    with tab.expect_download() as saved:
        tab.keyboard.press("s")
    assert saved.value.suggested_filename == "behind_table.png"
    saved.value.save_as(tmp_path / "shot.png")
    picture = np.asarray(Image.open(tmp_path / "shot.png").convert("RGB"))
    box = tab.locator("#stage").bounding_box()
    assert picture.shape[:2] == (round(box["height"]), round(box["width"]))
    assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 200
    with tab.expect_download() as saved:
        tab.locator("#joints").click()
    saved.value.save_as(tmp_path / "joints.json")
    assert json.loads((tmp_path / "joints.json").read_text())["format"] == "depthforest joints"
    tab.keyboard.press("r")
    tab.keyboard.press(" ")  # it plays, until the recorder has something
    tab.wait_for_selector("#record:has-text('MB'):not(:has-text(' 0.0'))")
    with tab.expect_download() as saved:
        tab.keyboard.press("r")
    saved.value.save_as(tmp_path / "video")
    assert (tmp_path / "video").read_bytes()[:4] == b"\x1aE\xdf\xa3"


def test_two_models_are_compared(tab):
    other = Looker(load("body31-fast"), load("body31")).look(open_clip((), ReadOptions()), 0)
    is_person = other.labels.parts != NO_PART
    differs = is_person & (other.labels.parts != other.other.parts)
    tab.locator("#compare").select_option(label="body31")
    tab.wait_for_selector(f"#differ:has-text('{100 * differs.sum() / is_person.sum():.1f} %')")
    tab.get_by_role("tab", name="Parts").click()
    tab.locator("#bones").uncheck()
    pixels = inner_pixels(np.where(differs, 0, NO_PART).astype(np.uint8), 40)
    seen = colors(tab, "difference", differs.shape, pixels)
    np.testing.assert_allclose(seen, np.broadcast_to([237, 59, 69], seen.shape), atol=2)


@pytest.mark.parametrize("tab", [{"color_scheme": "dark"}], indirect=True)
def test_dark_and_light(tab):
    paper = "() => getComputedStyle(document.body).backgroundColor"
    assert tab.evaluate(paper) == "rgb(17, 23, 27)"
    tab.locator("#theme").click()
    assert tab.evaluate(paper) == "rgb(243, 245, 246)"


PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True, "device_scale_factor": 2}


@pytest.mark.parametrize("tab", [PHONE], indirect=True)
def test_a_phone(tab, looks):
    assert tab.evaluate("() => document.documentElement.scrollWidth") <= 390
    clipped = """() => [...document.querySelectorAll("button, label, td")]
        .filter((node) => node.offsetParent && node.scrollWidth > node.clientWidth + 1 && node.clientWidth)
        .map((node) => node.textContent)"""
    assert tab.evaluate(clipped) == []
    row, col = inner_pixels(looks[0].labels.parts, 1)[0]
    tab.touchscreen.tap(*spot(tab, "parts", looks[0].labels.parts.shape, row, col))
    assert f"col {col}, row {row}" in tab.locator("#tip").inner_text()
