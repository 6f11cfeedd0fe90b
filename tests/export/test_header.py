import math
import re
import struct
import subprocess
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from support import naive_context, naive_facings, naive_forest
from support.exported import DRIVER, compiled, labeled, tool
from support.randomframes import patchy_frame, random_frame, smooth_frame
from support.smallforests import PARTS

import depthforest as df
from depthforest.base import samples_folder
from depthforest.export import export_c

VARIANTS = {
    "plain": (1, {}),
    "mirrored": (1, {"mirror": True}),
    "smoothed": (1, {"smooth_m": 0.03}),
    "facings": (4, {}),
    "facings, mirrored": (5, {"mirror": True, "background_mm": 65_535}),
    "calibrated": (1, {"calibration": {"temperature": 0.7, "temperature_unsmoothed": 0.45}}),
    "everything": (
        8,
        {
            "mirror": True,
            "smooth_m": 0.05,
            "calibration": {"temperature": 0.55, "temperature_unsmoothed": 1.3},
        },
    ),
}
VARIANTS |= {
    "context": (1, {"has_context": True}),
    "context, facings": (5, {"has_context": True, "mirror": True, "background_mm": 65_535}),
    "everything with context": (8, VARIANTS["everything"][1] | {"has_context": True}),
}


def forest_of(variant, seed=0, parts=PARTS, depth=6, has_context=False, **more):
    n_facings, options = VARIANTS[variant]
    rng = np.random.default_rng(seed)
    options = options | more
    if options.pop("has_context", has_context):
        options["context"] = naive_context.random_context(np.random.default_rng(seed + 1000), parts, 2, depth)
    return naive_facings.random_forest(rng, 3, depth, parts, n_facings, **options)


def frames_of(seed, n=3):
    """Random, smooth and patchy frames, with masks and without, one of a single pixel and one of one column."""
    rng = np.random.default_rng(seed)
    frames = [(make(rng, *rng.integers(8, 40, 2)), None) for make in (random_frame, smooth_frame, patchy_frame)] * n
    frames += [(frame, rng.random(frame.shape) < 0.7) for frame, _ in frames[:3]]
    frames += [(random_frame(rng, 1, 1, holes=0), None), (random_frame(rng, 30, 1), None)]
    return frames


def large_frames(seed):
    """Frames of people with more pixels than the coarse grid takes: every second and every fourth is on it."""
    rng = np.random.default_rng(seed)
    frames = [(smooth_frame(rng, 90, 81), None), (patchy_frame(rng, 100, 120), rng.random((100, 120)) < 0.9)]
    frames.append((patchy_frame(rng, 170, 182), None))
    depth_mm = np.zeros((90, 180), np.uint16)
    depth_mm[1::2], depth_mm[40, 170] = 900, 950  # hardly a pixel of the person is on the grid
    frames.append((df.Frame(depth_mm, df.Camera(100, 110, 60, 50, 180, 90)), None))
    depth_mm = depth_mm.copy()
    depth_mm[40] = 0  # and here none
    frames.append((df.Frame(depth_mm, df.Camera(100, 110, 60, 50, 180, 90)), None))
    depth_mm = np.zeros((140, 200), np.uint16)
    depth_mm[::2, 99::-2] = depth_mm[::2, 100::2] = rng.integers(900, 1100, (70, 50))  # and here all
    frames.append((df.Frame(depth_mm, df.Camera(100, 110, 60, 50, 200, 140)), None))
    return frames


def assert_same(forest, frames, answers):
    for (frame, mask), answer in zip(frames, answers, strict=True):
        expected = forest.label(frame, mask, exact=True)
        assert answer.code == (0 if (expected.parts != 255).any() else 1)
        np.testing.assert_array_equal(answer.parts, expected.parts)
        assert answer.confidence.tobytes() == expected.confidence.tobytes()
        assert answer.shares.tobytes() == expected.probabilities().tobytes()


@pytest.mark.parametrize("variant", VARIANTS)
def test_labels_are_those_of_the_exact_walk_bit_by_bit(variant, tmp_path):
    forest, frames = forest_of(variant), frames_of(1)
    export_c(forest, tmp_path / "forest.h")
    program = compiled(tmp_path, DRIVER, tool("gcc", "cc", "clang"), "-O1")
    assert_same(forest, frames, labeled(program, frames, 3))


@pytest.mark.parametrize("variant", ["context", "everything with context"])
def test_context_looks_at_a_coarse_grid_of_large_people(variant, tmp_path):
    forest, frames = forest_of(variant, 10), large_frames(11)
    export_c(forest, tmp_path / "forest.h")
    program = compiled(tmp_path, DRIVER, tool("gcc", "cc", "clang"), "-O1")
    answers = labeled(program, frames, 3)
    assert_same(forest, frames, answers)
    alone = replace(forest, context=None).label(*frames[2], exact=True).parts
    assert np.count_nonzero(alone != answers[2].parts) > 100


FACTS = r"""
#include <stdio.h>
#include "forest.h"

/* Lengths, medians and sums of what comes in. */
int main(void) {
    int n, k;
    while (scanf("%d", &n) == 1) {
        double terms[32];
        int64_t numbers[96];
        for (k = 0; k < n; k++)
            if (scanf("%lf", &terms[k]) != 1) return 1;
        for (k = 0; k < n; k++) numbers[3 * k] = (int64_t)terms[k];
        printf("%a ", n > 1 ? forest_length(terms[0], terms[1]) : 0.0);
        printf("%lld ", (long long)forest_median(numbers, n));
        printf("%a\n", forest_exact_sum(terms, n));
    }
    return 0;
}
"""


def test_sums_lengths_and_medians_are_rounded_once(tmp_path):
    export_c(forest_of("everything with context"), tmp_path / "forest.h")
    program = compiled(tmp_path, FACTS, tool("gcc", "clang"), "-O2", "-march=native", "-ffp-contract=fast")
    rng = np.random.default_rng(0)
    half = 2.0**-53  # of what 1 is rounded to
    rows = [[1.0, half, half**2], [1.0, -half / 2, -(half**2)], [1.0, half, -(half**2)], [0.0], [3.0, 4.0]]
    rows += [(rng.normal(size=n) * 10.0 ** rng.integers(-20, 4, n)).tolist() for n in rng.integers(1, 33, 400)]
    rows += [(values := rng.normal(size=10)).tolist() + (-values).tolist() + [1e-30] for _ in range(20)]
    rows += [[128.0, 96.0], *rng.integers(-9000, 9000, (200, 7)).astype(float).tolist()]
    rows += [(rng.normal(size=2) * 255).tolist() for _ in range(200)]
    sent = "\n".join(f"{len(row)} " + " ".join(map(repr, row)) for row in rows)
    done = subprocess.run([program], input=sent.encode(), capture_output=True, timeout=600)
    lines = done.stdout.decode().splitlines()
    assert len(lines) == len(rows)
    for row, line in zip(rows, lines, strict=True):
        length, median, total = line.split()
        assert float.fromhex(total) == math.fsum(row)
        ordered = sorted(map(int, row))
        assert int(median) == int(Fraction(ordered[(len(row) - 1) // 2] + ordered[len(row) // 2], 2))
        if len(row) > 1:
            assert float.fromhex(length) == pytest.approx(math.hypot(row[0], row[1]), rel=2.0**-52, abs=0)


@pytest.mark.parametrize(
    ("compiler", "flags"),
    [
        ("gcc", ["-O0"]),
        ("gcc", ["-O3", "-march=native", "-ffp-contract=fast", "-std=gnu99"]),
        ("gcc", ["-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]),
        ("clang", ["-O0"]),
        ("clang", ["-O2", "-march=native", "-ffp-contract=fast"]),
        ("clang", ["-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]),
    ],
    ids=["gcc-O0", "gcc-fused", "gcc-sanitized", "clang-O0", "clang-fused", "clang-sanitized"],
)
def test_every_compiler_gives_the_same_bits(compiler, flags, tmp_path):
    forest, frames = forest_of("everything with context", 2), frames_of(3, 1) + large_frames(12)[1:]
    export_c(forest, tmp_path / "forest.h")
    program = compiled(tmp_path, DRIVER, tool(compiler), *flags, "-DFOREST_LANES=64")
    assert_same(forest, frames, labeled(program, frames, 3))


@pytest.mark.parametrize(
    ("compiler", "names"),
    [
        ("aarch64-linux-gnu-gcc", ("qemu-aarch64", "qemu-aarch64-static")),
        ("arm-linux-gnueabihf-gcc", ("qemu-arm", "qemu-arm-static")),
    ],
    ids=["64-bit", "32-bit"],
)
def test_on_arm(compiler, names, tmp_path):
    forest, frames = forest_of("everything with context", 4), frames_of(5, 1) + large_frames(13)[1:2]
    export_c(forest, tmp_path / "forest.h")
    compiler, runner = tool(compiler), tool(*names)
    program = compiled(tmp_path, DRIVER, compiler, "-O2", "-static", "-ffp-contract=fast")
    assert_same(forest, frames, labeled(program, frames, 3, [runner]))


def test_offsets_that_are_no_whole_numbers_of_a_unit_stay_floats(tmp_path):
    forest, frames = forest_of("everything", 6, is_compact=False), frames_of(7, 1)
    export_c(forest, tmp_path / "forest.h")
    assert "#define FOREST_NODE_BYTES 24" in (tmp_path / "forest.h").read_text()
    program = compiled(tmp_path, DRIVER, tool("gcc", "clang"), "-O1")
    assert_same(forest, frames, labeled(program, frames, 3))


def test_trees_of_one_leaf_and_many_parts(tmp_path):
    parts = df.PartSet(tuple(f"part {i} \"?\\'" for i in range(40)))
    columns = naive_forest.random_columns(np.random.default_rng(0), 2, 0, 40)
    forest, frames = df.Forest(**columns, part_set=parts), frames_of(8, 1)
    export_c(forest, tmp_path / "forest.h")
    program = compiled(tmp_path, DRIVER, tool("gcc", "clang"), "-O1")
    assert_same(forest, frames, labeled(program, frames, 40))


def test_blob_holds_the_tables(tmp_path):
    forest, frames = forest_of("everything with context"), frames_of(9, 1)
    written = export_c(forest, tmp_path / "forest.h", blob=True)
    assert written == [tmp_path / "forest.h", tmp_path / "forest.bin"]
    flags = ["-O0", "-fsanitize=address,undefined", f'-DWITH_BLOB="{tmp_path / "forest.bin"}"']
    program = compiled(tmp_path, DRIVER, tool("gcc", "clang"), *flags)
    assert_same(forest, frames, labeled(program, frames, 3))


OPENER = r"""
#include <stdio.h>
#include <stdlib.h>
#include "forest.h"

/* Open blobs, each behind its length; label a frame with those that open. */
int main(void) {
    uint32_t n_bytes;
    while (fread(&n_bytes, 4, 1, stdin) == 1) {
        unsigned char *blob = malloc(n_bytes + 1);
        forest_forest forest;
        forest_camera camera = {3, 4, 10, 10, 0, 0};
        uint16_t depth[12] = {900, 901, 0, 4000, 65535, 1, 7, 900, 901, 902, 0, 903};
        uint8_t parts[12];
        void *scratch = malloc(forest_scratch_bytes(3, 4, 12));
        if (fread(blob, 1, n_bytes, stdin) != n_bytes) return 3;
        int code = forest_open(blob, n_bytes, &forest);
        if (code == FOREST_OK)
            code = forest_label(&forest, &camera, depth, NULL, scratch, forest_scratch_bytes(3, 4, 12), parts, NULL,
                                NULL);
        printf("%d\n", code);
        free(scratch), free(blob);
    }
    return 0;
}
"""


def test_damaged_blobs_are_refused_or_harmless(tmp_path):
    forest = forest_of("everything with context", depth=3)
    export_c(forest, tmp_path / "forest.h", blob=True)
    good = (tmp_path / "forest.bin").read_bytes()
    flags = ["-O0", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    program = compiled(tmp_path, OPENER, tool("gcc", "clang"), *flags)
    rng = np.random.default_rng(0)
    blobs = [good, b"", good[:63], good[:-1], good + b"\0", b"x" + good[1:], good[:8] + b"12345678" + good[16:]]
    for _ in range(400):
        bad = bytearray(good)
        for place in rng.integers(16, len(good), rng.integers(1, 4)):
            bad[place] = rng.integers(256)
        blobs.append(bytes(bad))
    sent = b"".join(struct.pack("<I", len(blob)) + blob for blob in blobs)
    done = subprocess.run([program], input=sent, capture_output=True, timeout=600)
    assert done.returncode == 0, done.stderr.decode()
    codes = [int(line) for line in done.stdout.split()]
    assert len(codes) == len(blobs)
    assert codes[:7] == [0, -5, -5, -5, -5, -5, -5]
    assert set(codes[7:]) == {0, -5}
    assert codes.count(-5) > 100


HOSTILE = r"""
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "forest.h"

static uint16_t depth[12] = {900, 0, 0, 900, 0, 0, 0, 0, 0, 0, 0, 0};
static uint8_t parts[12], off[12];

static void say(forest_camera camera, const uint16_t *frame, const uint8_t *mask, void *memory, size_t n,
                uint8_t *out) {
    printf("%d\n", forest_label(&forest_tables, &camera, frame, mask, memory, n, out, NULL, NULL));
}

int main(void) {
    static const uint16_t empty[12];
    const size_t n = forest_scratch_bytes(3, 4, 2);
    unsigned char *memory = malloc(n);
    const forest_camera good = {3, 4, 10, 10, 2, 1};
    forest_camera camera = good;
    int i;
    const double bad[] = {0, -1, NAN, INFINITY, -INFINITY, 1e6 + 1};
    const int32_t sizes[] = {0, -1, INT32_MIN, INT32_MAX, 32768};
    say(good, depth, NULL, memory, n, parts);
    say(good, empty, NULL, memory, n, parts);
    say(good, depth, off, memory, n, parts);
    for (i = 0; i < 6; i++) camera = good, camera.fx = bad[i], say(camera, depth, NULL, memory, n, parts);
    for (i = 0; i < 6; i++) camera = good, camera.fy = bad[i], say(camera, depth, NULL, memory, n, parts);
    for (i = 2; i < 5; i++) camera = good, camera.cx = bad[i], say(camera, depth, NULL, memory, n, parts);
    for (i = 2; i < 5; i++) camera = good, camera.cy = bad[i], say(camera, depth, NULL, memory, n, parts);
    camera = good, camera.fx = 1e-3, camera.cx = 1e9, say(camera, depth, NULL, memory, n, parts);
    camera = good, camera.fy = 1e-9, say(camera, depth, NULL, memory, n, parts);
    for (i = 0; i < 5; i++) camera = good, camera.rows = sizes[i], say(camera, depth, NULL, memory, n, parts);
    for (i = 0; i < 5; i++) camera = good, camera.cols = sizes[i], say(camera, depth, NULL, memory, n, parts);
    say(good, NULL, NULL, memory, n, parts);
    say(good, depth, NULL, NULL, n, parts);
    say(good, depth, NULL, memory, n, NULL);
    say(good, depth, NULL, memory, 0, parts);
    say(good, depth, NULL, memory, forest_scratch_bytes(1, 1, 1), parts);
    say(good, depth, NULL, memory + 1, n - 1, parts);
    printf("%d\n", forest_label(NULL, &good, depth, NULL, memory, n, parts, NULL, NULL));
    printf("%d\n", forest_label(&forest_tables, NULL, depth, NULL, memory, n, parts, NULL, NULL));
    printf("%d\n", (int)forest_scratch_bytes(0, 4, 1));
    printf("%d\n", (int)forest_scratch_bytes(4, 40000, 1));
    printf("%d\n", (int)forest_scratch_bytes(4, 4, -1));
    free(memory);
    return 0;
}
"""


def test_hostile_input_is_answered_with_a_code(tmp_path):
    export_c(forest_of("everything with context"), tmp_path / "forest.h")
    flags = ["-O0", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    program = compiled(tmp_path, HOSTILE, tool("gcc", "clang"), *flags)
    done = subprocess.run([program], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    codes = [int(line) for line in done.stdout.split()]
    assert codes == [0, 1, 1] + [-3] * 20 + [-2] * 10 + [-1] * 3 + [-4] * 3 + [-1, -1] + [0] * 3


def pgm(depth_mm):
    rows, cols = depth_mm.shape
    return b"P5\n%d %d\n65535\n" % (cols, rows) + depth_mm.astype(">u2").tobytes()


@pytest.mark.parametrize("is_blob", [False, True], ids=["tables", "blob"])
def test_example_program_labels_a_picture(is_blob, tmp_path):
    forest, frame = forest_of("everything with context"), frames_of(1)[2][0]
    rows, cols = frame.shape
    frame = df.Frame(frame.depth_mm, replace(frame.camera, cx=(cols - 1) / 2, cy=(rows - 1) / 2))
    written = export_c(forest, tmp_path / "my-forest.h", blob=is_blob, example=True)
    code = written[-1].read_text()
    assert written[-1].name == "my-forest_example.c"
    assert len(code.splitlines()) <= 42
    assert not re.search(r"\bdf_|\bDF_", code)
    program = compiled(tmp_path, code, tool("gcc", "clang"), "-O1")
    (tmp_path / "in.pgm").write_bytes(pgm(frame.depth_mm))
    arguments = [tmp_path / "in.pgm", str(frame.camera.fx), str(frame.camera.fy), tmp_path / "out.pgm"]
    done = subprocess.run(
        [program, *arguments, *([tmp_path / "my-forest.bin"] * is_blob)], capture_output=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    expected = b"P5\n%d %d\n255\n" % (cols, rows) + forest.label(frame, exact=True).parts.tobytes()
    assert (tmp_path / "out.pgm").read_bytes() == expected
    for wrong in ([], [tmp_path / "in.pgm", "0", "1", tmp_path / "no.pgm"], ["missing", "1", "1", "no.pgm"]):
        assert subprocess.run([program, *wrong], capture_output=True, timeout=600).returncode in (1, 2)


def test_equal_forests_are_equal_headers(tmp_path):
    for name in ("one", "two"):
        export_c(forest_of("everything"), tmp_path / f"{name}.h", name="same", blob=True)
    assert (tmp_path / "one.h").read_bytes() == (tmp_path / "two.h").read_bytes()
    assert (tmp_path / "one.bin").read_bytes() == (tmp_path / "two.bin").read_bytes()


def test_two_models_in_one_program(tmp_path):
    export_c(forest_of("plain"), tmp_path / "one.h")
    export_c(forest_of("everything"), tmp_path / "two.h")
    code = '#include "one.h"\n#include "two.h"\nint main(void) { return ONE_PARTS - TWO_PARTS; }\n'
    program = compiled(tmp_path, code, tool("gcc", "clang"), "-Wno-unused-const-variable", "-Wno-unused-variable")
    assert subprocess.run([program], timeout=600).returncode == 0


def test_fast_math_is_refused_when_compiled(tmp_path):
    export_c(forest_of("plain"), tmp_path / "forest.h")
    with pytest.raises(AssertionError, match="ffast-math"):
        compiled(tmp_path, DRIVER, tool("gcc", "clang"), "-ffast-math")


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("forest.c", {}, "ends in .h"),
        ("missing/forest.h", {}, "no folder"),
        ("forest.h", {"name": "a b"}, "C identifier"),
        ("forest.h", {"name": "while"}, "C identifier"),
    ],
)
def test_bad_targets_are_refused(name, options, message, tmp_path):
    with pytest.raises(df.DepthForestError, match=message):
        export_c(forest_of("plain"), tmp_path / name, **options)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_the_shipped_model_inside_a_header(tmp_path):
    forest, data = df.load("body31"), df.open_dataset(samples_folder())
    assert forest.context is not None
    frames = [(data[i], data[i].people == 1) for i in range(2)]
    export_c(forest, tmp_path / "forest.h")
    program = compiled(tmp_path, DRIVER, tool("gcc", "clang"), "-O2")
    assert_same(forest, frames, labeled(program, frames, 31))
