import json
import subprocess

import cv2
import numpy as np
import pytest
from support import naive_context
from support.exported import tool
from support.limbforests import PARTS, forest_of
from support.randomframes import patchy_frame, smooth_frame

import depthforest as df
from depthforest.base import samples_folder
from depthforest.export import export_page, export_wasm

pytest.importorskip("ziglang", reason="needs Zig's compiler: pip install 'depthforest[wasm]'")

NODE = r"""
const fs = require("fs");
const [file, ...frames] = process.argv.slice(2);
const module_ = new WebAssembly.Module(fs.readFileSync(file));
if (WebAssembly.Module.imports(module_).length) throw new Error("it has imports");
const forest = new WebAssembly.Instance(module_, {}).exports, answers = [];
if (forest.forest_room(0, 5) !== -2 || forest.forest_run(1, 1, 0, 0, 0) !== -2) throw new Error("a bad size passes");
for (const name of frames) {
  const { rows, cols, camera, depth, mask } = JSON.parse(fs.readFileSync(name));
  if (forest.forest_room(rows, cols)) throw new Error("no room");
  const memory = forest.memory.buffer;
  new Uint16Array(memory, forest.forest_depth(), rows * cols).set(depth);
  if (mask) new Uint8Array(memory, forest.forest_mask(), rows * cols).set(mask);
  const code = forest.forest_run(...camera, mask ? 1 : 0);
  answers.push({
    code,
    parts: Array.from(new Uint8Array(memory, forest.forest_parts(), rows * cols)),
    confidence: Array.from(new Uint32Array(memory, forest.forest_confidence(), rows * cols)),
    joints: Array.from(new Float64Array(memory, forest.forest_joints(), 5 * 19)),
  });
}
console.log(JSON.stringify(answers));
"""


@pytest.fixture(scope="module")
def forest():
    context = naive_context.random_context(np.random.default_rng(4), PARTS)
    return forest_of(3, n_facings=4, mirror=True, smooth_m=0.03, context=context)


@pytest.fixture(scope="module")
def module(forest, tmp_path_factory):
    return export_wasm(forest, tmp_path_factory.mktemp("wasm") / "forest.wasm")


def frames_of(seed):
    rng = np.random.default_rng(seed)
    frames = [(patchy_frame(rng, 40, 52), None), (smooth_frame(rng, 30, 31), None)]
    frames.append((frames[0][0], rng.random((40, 52)) < 0.6))
    frames.append((smooth_frame(rng, 90, 81), None))  # on a coarse grid
    frames.append((df.Frame(np.zeros((5, 6), np.uint16), df.Camera(9, 9, 2, 2, 6, 5)), None))
    return frames


def assert_same(forest, frame, mask, code, parts, confidence, joints):
    expected = forest.label(frame, mask, exact=True)
    assert code == (0 if (expected.parts != 255).any() else 1)
    np.testing.assert_array_equal(np.reshape(parts, frame.shape), expected.parts)
    bits = expected.confidence.view(np.uint32)
    np.testing.assert_array_equal(np.reshape(confidence, frame.shape), bits)
    found = df.find_joints(frame, expected)
    joints = np.reshape(joints, (-1, 5))
    names = [name for name, (is_found, *_) in zip(df.frames.JOINTS, joints, strict=True) if is_found]
    assert names == list(found)
    for name, joint in found.items():
        own = joints[df.frames.JOINTS.index(name)]
        np.testing.assert_allclose(own[1:4], joint.position, rtol=0, atol=1e-4)
        assert own[4] == pytest.approx(joint.confidence, abs=1e-3)


def test_node_labels_as_python_does(forest, module, tmp_path):
    names, frames = [], frames_of(1)
    for number, (frame, mask) in enumerate(frames):
        camera = frame.camera
        content = {
            "rows": frame.shape[0],
            "cols": frame.shape[1],
            "camera": [camera.fx, camera.fy, camera.cx, camera.cy],
            "depth": frame.depth_mm.ravel().tolist(),
            "mask": None if mask is None else mask.ravel().astype(int).tolist(),
        }
        names.append(tmp_path / f"{number}.json")
        names[-1].write_text(json.dumps(content))
    (tmp_path / "run.js").write_text(NODE)
    done = subprocess.run(
        [tool("node"), tmp_path / "run.js", module, *names], capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    for (frame, mask), answer in zip(frames, json.loads(done.stdout), strict=True):
        assert_same(forest, frame, mask, **answer)


def test_wasmtime_labels_as_python_does(forest, module):
    wasmtime = pytest.importorskip("wasmtime")
    store = wasmtime.Store()
    exports = wasmtime.Instance(store, wasmtime.Module.from_file(store.engine, str(module)), []).exports(store)
    for frame, mask in frames_of(2):
        rows, cols = frame.shape
        n, camera, memory = rows * cols, frame.camera, exports["memory"]
        assert exports["forest_room"](store, rows, cols) == 0
        memory.write(store, bytearray(frame.depth_mm.astype("<u2").tobytes()), exports["forest_depth"](store))
        if mask is not None:
            memory.write(store, bytearray(mask.astype(np.uint8).tobytes()), exports["forest_mask"](store))
        code = exports["forest_run"](store, camera.fx, camera.fy, camera.cx, camera.cy, int(mask is not None))

        def read(name, kind, count, memory=memory):
            begin = exports[name](store)
            return np.frombuffer(memory.read(store, begin, begin + count * np.dtype(kind).itemsize), kind)

        parts, joints = read("forest_parts", np.uint8, n), read("forest_joints", np.float64, 95)
        assert_same(forest, frame, mask, code, parts, read("forest_confidence", np.uint32, n), joints)


def test_page_labels_a_dropped_picture_in_the_browser(forest, tmp_path):
    sync_api = pytest.importorskip("playwright.sync_api")
    chromium = tool("chromium", "chromium-browser", "google-chrome")
    page_file = export_page(forest, tmp_path / "page.html", title="five </script> parts")
    frame = patchy_frame(np.random.default_rng(3), 48, 64)
    cv2.imwrite(str(tmp_path / "frame.png"), frame.depth_mm)
    (tmp_path / "other.png").write_bytes(b"no picture")
    with sync_api.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        page.set_default_timeout(120_000)  # milliseconds
        problems = []
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("request", lambda request: request.url.startswith("http") and problems.append(request.url))
        page.goto(page_file.as_uri())
        page.wait_for_selector("body[data-ready]")
        assert "five </script> parts" in page.title()
        page.fill("#focal", str(frame.camera.fx))
        page.set_input_files("#file", tmp_path / "other.png")
        page.wait_for_function("document.getElementById('said').textContent.includes('not a PNG')")
        page.set_input_files("#file", tmp_path / "frame.png")
        page.wait_for_function("document.getElementById('said').textContent.includes('labeled in')")
        parts = np.array(page.evaluate("Array.from(page.result.parts)"), dtype=np.uint8).reshape(frame.shape)
        values = np.array(page.evaluate("Array.from(page.frame.values)"), dtype=np.uint16).reshape(frame.shape)
        corner = page.evaluate(
            "Array.from(document.getElementById('picture').getContext('2d').getImageData(0,0,1,1).data)"
        )
        page.fill("#far", "950")
        page.wait_for_function(f"page.result.pixels === {np.count_nonzero((values > 0) & (values <= 950))}")
        page.fill("#focal", "")
        page.fill("#far", "65535")
        page.click("#sample")
        page.wait_for_function("page.frame.cols === 320 && page.result.parts.length === 76800")
        shown = np.array(page.evaluate("Array.from(page.result.parts)"), dtype=np.uint8).reshape(240, 320)
        browser.close()
    np.testing.assert_array_equal(values, frame.depth_mm)
    camera = df.Camera(frame.camera.fx, frame.camera.fx, 31.5, 23.5, 64, 48)
    expected = forest.label(df.Frame(frame.depth_mm, camera), exact=True).parts
    np.testing.assert_array_equal(parts, expected)
    sample = df.open_dataset(samples_folder())[1]
    np.testing.assert_array_equal(shown, forest.label(sample, sample.people == 2, exact=True).parts)
    if expected[0, 0] != 255:
        assert tuple(corner[:3]) == tuple(forest.part_set.colors[expected[0, 0]])
    assert problems == []


def test_bad_targets_are_refused(forest, tmp_path):
    with pytest.raises(df.DepthForestError, match=r"ends in \.wasm"):
        export_wasm(forest, tmp_path / "forest.h")
    with pytest.raises(df.DepthForestError, match=r"ends in \.html"):
        export_page(forest, tmp_path / "forest.wasm")
    assert list(tmp_path.iterdir()) == []
