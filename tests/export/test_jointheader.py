import struct
import subprocess
from dataclasses import replace

import numpy as np
import pytest
from support import naive_context
from support.exported import compiled, tool
from support.limbforests import PARTS, forest_of
from support.randomframes import patchy_frame

import depthforest as df
from depthforest.base import samples_folder
from depthforest.export import export_c
from depthforest.joints import finder_of

DRIVER = r"""
#include <stdio.h>
#include <stdlib.h>
#include "forest_joints.h"

static void take(void *to, size_t n_bytes) {
    if (n_bytes && fread(to, 1, n_bytes, stdin) != n_bytes) exit(3);
}

int main(int argc, char **argv) {
    unsigned char *blob = malloc(1 << 26);
    FILE *file = argc > 1 ? fopen(argv[1], "rb") : NULL;
    forest_forest forest;
    int32_t sizes[3];
    if (!file || forest_open(blob, fread(blob, 1, 1 << 26, file), &forest)) return 5;
    fclose(file);
    while (fread(sizes, 4, 3, stdin) == 3) {
        forest_camera camera = {sizes[0], sizes[1], 0, 0, 0, 0};
        const size_t n = (size_t)camera.rows * (size_t)camera.cols;
        const size_t room = forest_scratch_bytes(camera.rows, camera.cols, (int32_t)n);
        const size_t more = forest_joints_bytes((int32_t)(n < 8192 ? n : 8192));
        uint16_t *depth = malloc(2 * n);
        uint8_t *parts = malloc(n);
        void *scratch = malloc(room), *memory = malloc(more);
        forest_joint joints[FOREST_JOINTS];
        int code, i;
        take(&camera.fx, 8), take(&camera.fy, 8), take(&camera.cx, 8), take(&camera.cy, 8);
        take(depth, 2 * n);
        code = forest_label(&forest, &camera, depth, NULL, scratch, room, parts, NULL, NULL);
        printf("%d ", code);
        code = forest_find_joints(&forest, &camera, scratch, memory, more, joints);
        printf("%d", code);
        for (i = 0; i < FOREST_JOINTS; i++)
            if (joints[i].is_found)
                printf(" %s %.9g %.9g %.9g %.9g", forest_joint_name(i), joints[i].position[0], joints[i].position[1],
                       joints[i].position[2], joints[i].confidence);
        printf("\n");
        code = forest_find_joints(&forest, &camera, scratch, memory, 16, joints);
        printf("%d %d %d\n", code, forest_find_joints(&forest, &camera, scratch, NULL, more, joints),
               forest_find_joints(&forest, &camera, scratch, (char *)memory + 4, more - 4, joints));
        free(depth), free(parts), free(scratch), free(memory);
    }
    free(blob);
    return 0;
}
"""


def found_by(program, blob, frames):
    sent = b""
    for frame in frames:
        camera = frame.camera
        sent += struct.pack("<3i4d", *frame.shape, 0, camera.fx, camera.fy, camera.cx, camera.cy)
        sent += frame.depth_mm.astype("<u2").tobytes()
    done = subprocess.run([program, blob], input=sent, capture_output=True, timeout=600)
    assert done.returncode == 0, done.stderr.decode()
    lines = done.stdout.decode().splitlines()
    for line in lines[::2]:
        words = line.split()
        assert words[0] == words[1]
        yield int(words[0]), {words[i]: np.array(words[i + 1 : i + 5], dtype=float) for i in range(2, len(words), 5)}
    assert all(line.split()[1:] == ["-1", "-4"] for line in lines[1::2])


def assert_same(forest, frames, folder, *flags):
    export_c(forest, folder / "forest.h", blob=True, joints=True)
    program = compiled(folder, DRIVER, tool("gcc", "clang"), *flags)
    for frame, (code, joints) in zip(frames, found_by(program, folder / "forest.bin", frames), strict=True):
        expected = df.find_joints(frame, forest.label(frame, exact=True))
        assert code == (0 if frame.depth_mm.any() else 1)
        assert list(joints) == list(expected)
        for name, joint in expected.items():
            np.testing.assert_allclose(joints[name][:3], joint.position, rtol=0, atol=1e-4)
            assert joints[name][3] == pytest.approx(joint.confidence, abs=1e-3)


def sample_frames():
    data = df.open_dataset(samples_folder())
    return [data[i] for i in range(len(data))]


@pytest.mark.parametrize("name", ["body31-fast", "body31"])
def test_joints_of_the_shipped_models_are_equal_to_a_tenth_of_a_millimeter(name, tmp_path):
    frames = [
        df.Frame(np.where(frame.people == person, frame.depth_mm, 0).astype(np.uint16), frame.camera)
        for frame in sample_frames()[:6]
        for person in np.unique(frame.people[frame.people > 0])
    ]
    assert_same(df.load(name), frames, tmp_path, "-O2")


def test_joints_that_are_moved_by_the_others(tmp_path):
    forest = forest_of(1, n_facings=4, mirror=True, smooth_m=0.02)
    rng, parameters = np.random.default_rng(0), finder_of(forest).parameters
    joints = parameters.to_dict() | {"version": 2}
    joints["moves"] = {
        name: {"steps": rng.normal(0, 0.05, (3, 78)).tolist(), "odds": rng.normal(0, 1, 24).tolist()}
        for name in parameters.joints
    }
    frames = [patchy_frame(rng, 40, 57), patchy_frame(rng, 60, 80)]
    moved = replace(forest, joints=joints)
    expected = df.find_joints(frames[0], forest.label(frames[0], exact=True))
    assert df.find_joints(frames[0], moved.label(frames[0], exact=True))["head"].position != expected["head"].position
    assert_same(moved, frames, tmp_path, "-O1")


def test_joints_of_few_parts_and_without_parameters(tmp_path):
    rng = np.random.default_rng(0)
    frames = [patchy_frame(rng, 40, 57), patchy_frame(rng, 60, 80)]
    frames.append(df.Frame(np.zeros((8, 9), np.uint16), df.Camera(30, 30, 4, 4, 9, 8)))
    flags = ["-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    context = naive_context.random_context(rng, PARTS)
    forest = forest_of(0, n_facings=4, mirror=True, smooth_m=0.02, context=context)
    assert_same(forest, frames, tmp_path, *flags)


def test_parts_without_joints_are_refused(tmp_path):
    forest = forest_of(0)
    parts = df.PartSet(tuple("abcde"))
    other = df.Forest(forest.roots, forest.offsets, forest.thresholds, forest.children, forest.leaves, part_set=parts)
    with pytest.raises(df.DepthForestError, match="no joint can be found"):
        export_c(other, tmp_path / "forest.h", joints=True)
    assert list(tmp_path.iterdir()) == []
