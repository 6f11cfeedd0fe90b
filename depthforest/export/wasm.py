"""WebAssembly: an exported forest compiled for browsers by Zig, and a page that labels pictures there.

Zig's compiler comes as a wheel (`ziglang`). No C library is linked, so that modules are the tables and some 40 kB of
code, import nothing and are compiled in seconds.
"""

from __future__ import annotations

import base64
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from depthforest.base import DepthForestError, UsageError, check_writable, replacing, samples_folder
from depthforest.export.header import export_c
from depthforest.export.renaming import renamed, template
from depthforest.frames import JOINTS
from depthforest.io import open_dataset
from depthforest.joints import known_joints
from depthforest.trees import DepthTrees

_NAME = "forest"
"""Prefix of exported functions: the same for every model, so that one page works with all."""

_SAMPLE = 1
"""A bundled frame: a person who stands with both arms to the side."""

_COMMAND = (
    "cc", "-target", "wasm32-freestanding", "-std=gnu99", "-O3", "-s", "-nostdlib", "-msimd128", "-mbulk-memory",
    "-fno-math-errno", "-Wl,--no-entry",
)  # fmt: skip


def export_wasm(forest: DepthTrees, path: str | Path) -> Path:
    """Write a forest as a WebAssembly module without imports, and return its path.

    Parameters
    ----------
    forest : DepthTrees
        Its parts must have joints.
    path : path
        NAME.wasm.

    Notes
    -----
    It exports `forest_room`, `forest_run` and the addresses of its buffers; see docs/EXPORT.md.
    """
    target = Path(path)
    if target.suffix != ".wasm":
        raise UsageError(f"{target}: a WebAssembly module's name ends in .wasm")
    check_writable(target)
    content = wasm_bytes(forest)
    with replacing(target) as file:
        file.write(content)
    return target


def export_page(forest: DepthTrees, path: str | Path, *, title: str = "depthforest") -> Path:
    """Write one HTML file that labels dropped depth pictures in the browser, with the forest inside.

    Parameters
    ----------
    forest : DepthTrees
        Its parts must have joints.
    path : path
        NAME.html. It needs no server and no network.
    title : str
        Title of the page: the model's name.
    """
    target = Path(path)
    if target.suffix != ".html":
        raise UsageError(f"{target}: a page's name ends in .html")
    check_writable(target)
    content = page_text(forest, wasm_bytes(forest), title)
    with replacing(target) as file:
        file.write(content.encode())
    return target


def wasm_bytes(forest: DepthTrees) -> bytes:
    """Return the module."""
    if importlib.util.find_spec("ziglang") is None:
        raise UsageError("WebAssembly needs Zig's compiler, which is not installed: run pip install ziglang")
    known_joints(forest.part_set)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        export_c(forest, place / f"{_NAME}.h", joints=True)
        place.joinpath("wasm.c").write_text(renamed(template("wasm.c").replace("df.h", f"{_NAME}.h"), _NAME))
        for name in ("string.h", "math.h"):
            place.joinpath(name).write_text(template(f"wasm_{name}"))
        done = _compile(place)
        if done.returncode:
            raise DepthForestError(f"Zig could not compile the header: {_last_line(done.stderr)}")
        return place.joinpath("out.wasm").read_bytes()


def page_text(forest: DepthTrees, module: bytes, title: str) -> str:
    """Return the page: `static/page.html` with its script, the module and the names of parts."""
    about = {
        "title": title,
        "names": list(forest.part_set.names),
        "colors": [list(color) for color in forest.part_set.colors],
        "joints": list(JOINTS),
        "sample": _sample(),
    }
    page = _static("page.html").replace("/*STYLE*/", _static("page.css"))
    page = page.replace("/*PNG*/", _static("png.js")).replace("/*PAGE*/", _static("page.js"))
    page = page.replace("/*MODEL*/", json.dumps(about).replace("</", "<\\/"))
    return page.replace("/*MODULE*/", base64.b64encode(module).decode())


def _sample() -> dict[str, Any]:
    """Return a bundled frame as pictures: depth, and the person to label."""
    frame = open_dataset(samples_folder())[_SAMPLE]
    ids, counts = np.unique(frame.people[frame.people > 0], return_counts=True)
    person = np.where(frame.people == ids[counts.argmax()], 255, 0).astype(np.uint8)
    depth, mask = (cv2.imencode(".png", image)[1].tobytes() for image in (frame.depth_mm, person))
    return {
        "depth": base64.b64encode(depth).decode(),
        "person": base64.b64encode(mask).decode(),
        "focal": frame.camera.fx,
    }


def _static(name: str) -> str:
    return Path(__file__).parent.joinpath("static", name).read_text(encoding="utf-8")


def _compile(folder: Path) -> Any:
    """Run the compiler in a folder, with its caches there, too, unless the user has chosen others."""
    environment = {"ZIG_GLOBAL_CACHE_DIR": str(folder / "zig"), "ZIG_LOCAL_CACHE_DIR": str(folder / "zig")} | os.environ
    command = [sys.executable, "-m", "ziglang", *_COMMAND, "-I.", "wasm.c", "-o", "out.wasm"]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if "error" in line] or text.splitlines() or ["no message"]
    return lines[0][:300]
