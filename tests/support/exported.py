"""Headers that were exported, compiled with a small driver program and run over frames."""

import shutil
import struct
import subprocess
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

DRIVER = r"""
#include <stdio.h>
#include <stdlib.h>
#include "forest.h"

static void take(void *to, size_t n_bytes) {
    if (n_bytes && fread(to, 1, n_bytes, stdin) != n_bytes) exit(3);
}
static void give(const void *from, size_t n_bytes) {
    if (fwrite(from, 1, n_bytes, stdout) != n_bytes) exit(4);
}

int main(void) {
    int32_t sizes[3];
    const forest_forest *tables;
#ifdef WITH_BLOB
    forest_forest opened;
    unsigned char *blob = malloc(1 << 24);
    FILE *file = fopen(WITH_BLOB, "rb");
    if (!file || forest_open(blob, fread(blob, 1, 1 << 24, file), &opened)) return 5;
    fclose(file);
    tables = &opened;
#else
    tables = &forest_tables;
#endif
    while (fread(sizes, 4, 3, stdin) == 3) {
        forest_camera camera = {sizes[0], sizes[1], 0, 0, 0, 0};
        const size_t n = (size_t)camera.rows * (size_t)camera.cols;
        uint16_t *depth = malloc(2 * n);
        uint8_t *mask = malloc(n), *parts = malloc(n);
        float *confidence = malloc(4 * n), *shares = malloc(4 * n * FOREST_PARTS);
        size_t room, i;
        void *scratch;
        int32_t code, n_pixels = 0;
        take(&camera.fx, 8), take(&camera.fy, 8), take(&camera.cx, 8), take(&camera.cy, 8);
        take(depth, 2 * n), take(mask, sizes[2] ? n : 0);
        for (i = 0; i < n; i++) n_pixels += depth[i] && (!sizes[2] || mask[i]);
        room = forest_scratch_bytes(camera.rows, camera.cols, n_pixels);
        scratch = malloc(room);
        code = forest_label(tables, &camera, depth, sizes[2] ? mask : NULL, scratch, room, parts, confidence, shares);
        give(&code, 4), give(parts, n), give(confidence, 4 * n), give(shares, 4 * n * FOREST_PARTS);
        free(depth), free(mask), free(parts), free(confidence), free(shares), free(scratch);
    }
#ifdef WITH_BLOB
    free(blob);
#endif
    return 0;
}
"""

STRICT = ("-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror")


def tool(*names):
    """Return the first of these programs that is installed; the test is skipped if none is."""
    found = next((shutil.which(name) for name in names if shutil.which(name)), None)
    if found is None:
        pytest.skip(f"needs {' or '.join(names)}")
    return found


def compiled(folder: Path, code: str, compiler: str, *flags: str) -> Path:
    """Compile a program beside the headers of a folder and return it."""
    folder.joinpath("program.c").write_text(code)
    program = folder / "program"
    command = [compiler, *STRICT, *flags, str(folder / "program.c"), "-o", str(program), "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return program


def labeled(program, frames, n_parts, runner=()):
    """Run the driver over pairs of frames and masks; return code, parts, confidence and shares of each."""
    sent = b""
    for frame, mask in frames:
        camera = frame.camera
        sent += struct.pack("<3i4d", *frame.shape, mask is not None, camera.fx, camera.fy, camera.cx, camera.cy)
        sent += frame.depth_mm.astype("<u2").tobytes() + (b"" if mask is None else mask.astype(np.uint8).tobytes())
    done = subprocess.run([*runner, program], input=sent, capture_output=True, timeout=600)
    assert done.returncode == 0, done.stderr.decode()
    answers, at = [], 0
    for frame, _ in frames:
        rows, cols = frame.shape
        n = rows * cols
        (code,) = struct.unpack_from("<i", done.stdout, at)
        parts = np.frombuffer(done.stdout, np.uint8, n, at + 4).reshape(rows, cols)
        confidence = np.frombuffer(done.stdout, "<f4", n, at + 4 + n).reshape(rows, cols)
        shares = np.frombuffer(done.stdout, "<f4", n * n_parts, at + 4 + 5 * n).reshape(rows, cols, n_parts)
        answers.append(SimpleNamespace(code=code, parts=parts, confidence=confidence, shares=shares))
        at += 4 + 5 * n + 4 * n * n_parts
    assert at == len(done.stdout)
    return answers
