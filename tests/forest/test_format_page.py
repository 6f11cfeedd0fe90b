"""docs/MODEL_FORMAT.md, the page that describes the format."""

import json
import math
import re
import struct
from pathlib import Path

import numpy as np
from support import naive_facings
from support.randomframes import random_frame
from support.smallforests import metadata, small

import depthforest as df
from depthforest.base import modelfile
from depthforest.forest import sparserows
from depthforest.forest.forest import Forest
from depthforest.frames.parts import MAX_PARTS
from depthforest.trees import facings
from depthforest.trees.columns import MAX_DEPTH, MAX_FACING_TREES, MAX_NODES, MAX_TREES, SCHEMA
from depthforest.trees.features import MAX_FOCAL_PX, MAX_OFFSET_M, MAX_OFFSET_PX, probe_offset, responses


def page():
    return (Path(__file__).resolve().parents[2] / "docs" / "MODEL_FORMAT.md").read_text()


def test_the_worked_example_of_the_page():
    example = json.loads(re.findall(r"```json\n(.*?)```", page(), re.DOTALL)[0])
    dtypes = {name: entry.dtype for name, entry in SCHEMA.items() if name != "evidence"}
    forest = Forest(
        **{name: np.array(example[name], dtype=dtype) for name, dtype in dtypes.items()},
        part_set=df.PartSet.from_dict({"names": example["names"], "mirror": example["mirror"]}),
        background_mm=example["background_mm"],
    )
    depth_mm = np.array(example["depth_mm"], np.uint16)
    fx, fy = np.float32(example["fx"]), np.float32(example["fy"])
    camera = df.Camera(example["fx"], example["fy"], 0, 0, depth_mm.shape[1], depth_mm.shape[0])
    row, col = example["row"], example["col"]
    offset_pixels = [
        [probe_offset(m, f, depth_mm[row, col]) for m, f in zip(offsets, (fx, fy, fx, fy), strict=True)]
        for offsets in forest.offsets
    ]
    assert offset_pixels == example["offset_pixels"]
    values = responses(depth_mm, [[row, col]], forest.offsets, camera, forest.background_mm)[0]
    assert values.tolist() == example["responses"]
    link, links = forest.roots[0], []
    while link >= 0:
        link = forest.children[link, int(values[link] > forest.thresholds[link])]
        links.append(link)
    assert links == example["links"]
    frame, mask = df.Frame(depth_mm, camera), np.ones(depth_mm.shape, bool)
    at = row * depth_mm.shape[1] + col
    assert forest.walk(frame, mask)[at].tolist() == (np.float32(example["sums"]) / np.float32(255)).tolist()
    assert forest.predict(frame, mask)[row, col] == example["label"]
    mirrored = forest.walk(frame, mask, mirror=True)[at]
    assert mirrored.tolist() == (np.float32(example["mirrored_sums"]) / np.float32(510)).tolist()
    assert forest.predict(frame, mask, mirror=True)[row, col] == example["mirrored_label"]


def test_the_example_with_facings_of_the_page():
    example = json.loads(re.findall(r"```json\n(.*?)```", page(), re.DOTALL)[1])
    leaves, evidence = np.array(example["leaves"], np.uint8), np.array(example["evidence"], np.int8)
    forest = Forest(
        np.array(example["roots"], np.int32),
        np.array(example["offsets"], np.float32),
        np.array(example["thresholds"], np.int16),
        np.array(example["children"], np.int32),
        leaves,
        df.PartSet.from_dict({"names": example["names"], "mirror": example["mirror"]}),
        example["background_mm"],
        evidence=evidence,
        smooth_m=example["smooth_m"],
    )
    packed = sparserows.packed(leaves, 2)
    assert {name: packed[name].tolist() for name in packed} == {name: example[name] for name in packed}
    depth_mm = np.array(example["depth_mm"], np.uint16)
    frame = df.Frame(depth_mm, df.Camera(example["fx"], example["fy"], 0, 0, depth_mm.shape[1], depth_mm.shape[0]))
    mask = np.ones(depth_mm.shape, bool)
    sums, weights = naive_facings.sums(forest, frame, mask, False, "mean")
    assert weights == example["weights"]
    assert [sums[0, col] for col in range(depth_mm.shape[1])] == example["sums"]
    smoothed = naive_facings.smoothed(sums, frame, forest.smooth_m)
    assert [smoothed[0, col] for col in range(depth_mm.shape[1])] == example["smoothed_sums"]
    assert forest.predict(frame).tolist()[0] == example["labels"]
    assert forest.label(frame).parts.tolist()[0] == example["smoothed_labels"]


def test_the_page_names_every_column_key_and_limit():
    text = page()
    for name, entry in {**SCHEMA, **sparserows.SCHEMA}.items():
        code = modelfile.CODES[entry.dtype]
        assert re.search(rf"^\| `{name}` \| {code} \|", text, re.MULTILINE), name
    for key in (*metadata(), "kind", "format", "smooth_m", "person_confidence", "calibration"):
        assert f"| `{key}` |" in text, key
    limits = dict(re.findall(r"^\| ([a-z].+?) \| (\d+)", text.partition("## Limits")[2], re.MULTILINE))
    assert {key: int(value) for key, value in limits.items()} == {
        "file": modelfile.MAX_FILE_BYTES,
        "metadata text": modelfile.MAX_METADATA_BYTES,
        "columns": modelfile.MAX_COLUMNS,
        "trees": MAX_TREES,
        "trees of a forest with facings": MAX_FACING_TREES,
        "facings": facings.MAX_FACINGS,
        "nodes": MAX_NODES,
        "depth: splits between a root and a leaf": MAX_DEPTH,
        "offset along an axis": MAX_OFFSET_M,
        "parts": MAX_PARTS,
        "focal length": MAX_FOCAL_PX,
    }
    assert f"nested {modelfile.MAX_JSON_DEPTH} deep" in text
    assert f"of {modelfile.MAX_DIMENSIONS} dimensions" in text
    assert f"-{MAX_OFFSET_PX} ... {MAX_OFFSET_PX}" in text


def test_a_reader_of_thirty_lines_agrees(tmp_path):
    """Written from the page alone: no depthforest in it."""
    forest = small(5, 3, 6, background_mm=8000)
    forest.save(tmp_path / "m.safetensors")
    raw = (tmp_path / "m.safetensors").read_bytes()
    start = 8 + struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8:start])
    about = json.loads(header.pop("__metadata__")["depthforest"])
    assert (about["kind"], about["format"]) == ("depth_forest", 1)
    formats = {"F32": "f", "I32": "i", "I16": "h", "U8": "B"}
    flat = {
        name: struct.unpack_from(f"<{math.prod(h['shape'])}{formats[h['dtype']]}", raw, start + h["data_offsets"][0])
        for name, h in header.items()
    }
    n_parts = len(about["parts"]["names"])
    frame = random_frame(np.random.default_rng(6), 8, 8)
    depth_mm = frame.depth_mm.tolist()

    def look(row, col):
        inside = 0 <= row < 8 and 0 <= col < 8
        return (depth_mm[row][col] if inside else 0) or about["background_mm"]

    def offset(meters, focal, d):
        single = np.float32
        x = float(single(meters) * (single(focal) * single(1000) / single(d)))
        return int(math.copysign(math.floor(abs(x) + 0.5), x))

    for row, col in np.argwhere(frame.depth_mm > 0).tolist():
        sums = [0] * n_parts
        for link in flat["roots"]:
            while link >= 0:
                u_x, u_y, v_x, v_y = flat["offsets"][4 * link : 4 * link + 4]
                d, fx, fy = depth_mm[row][col], frame.camera.fx, frame.camera.fy
                response = look(row + offset(u_y, fy, d), col + offset(u_x, fx, d))
                response -= look(row + offset(v_y, fy, d), col + offset(v_x, fx, d))
                link = flat["children"][2 * link + (response > flat["thresholds"][link])]
            for p in range(n_parts):
                sums[p] += flat["leaves"][n_parts * ~link + p]
        assert forest.predict(frame)[row, col] == sums.index(max(sums))
