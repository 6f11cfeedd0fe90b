"""Valid files of every format that depthforest reads, and a reader for each, for `fuzz`.

A format writes one or more *variants*, a folder each; a mutant is a variant with one changed file. `read` reads all of
such a folder through the public API, and returns None or what is wrong with the result.
"""

from __future__ import annotations

import itertools
import json
import struct
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import depthforest as df
from depthforest.base import DepthForestError
from depthforest.frames import JOINTS, Joint, LabeledFrame

WIDTH, HEIGHT = 32, 24
CAMERA = df.Camera(50.0, 51.0, 15.5, 11.5, WIDTH, HEIGHT)
MAX_FRAMES = 4
"""Most frames to read of a source: a mutant may have thousands."""


@dataclass(frozen=True)
class Format:
    """One of the things that depthforest reads.

    Parameters
    ----------
    write : callable
        Writes variants into a folder, each a folder of its own.
    read : callable
        Reads such a folder; raises what the reader raises, returns what is wrong or None.
    weight : int
        Relative number of mutants; slow formats have fewer.
    """

    write: Callable[[Path], None]
    read: Callable[[Path], str | None]
    weight: float


def only_entry(folder: Path) -> Path:
    """Return the one thing in a folder."""
    return next(iter(sorted(folder.iterdir())))


def variant_path(folder: Path, number: int, name: str) -> Path:
    """Make the folder of a variant and return where its file goes."""
    (folder / str(number)).mkdir()
    return folder / str(number) / name


def depth_values(seed: int = 0, n: int | None = None) -> Any:
    """Return a picture of random depth with holes, or `n` of them."""
    rng = np.random.default_rng(seed)
    values = rng.integers(400, 5000, (HEIGHT, WIDTH) if n is None else (n, HEIGHT, WIDTH)).astype(np.uint16)
    values[..., :3, :] = 0
    return values


# -- depth images ------------------------------------------------------------------------------------------------------


def _read_pictures(folder: Path) -> str | None:
    path = only_entry(folder)
    # numbers without a size fit pictures of any
    camera = CAMERA if path.stat().st_size % 2 else "50,50,16,12"
    take_frames(df.open_source(path, camera, scale=None if path.stat().st_size % 4 else 0.001, size=(WIDTH, HEIGHT)))
    return None


def take_frames(source: Any) -> None:
    """Read the first frames of a source, by their order and by number; what cannot be read is raised."""
    failure, n = None, source.total
    for _, frame in itertools.islice(source.named(), MAX_FRAMES):
        if isinstance(frame, DepthForestError):
            failure = frame
        elif frame.depth_mm.shape != frame.camera.shape or frame.depth_mm.dtype != np.uint16:
            raise AssertionError(f"a frame of shape {frame.depth_mm.shape} and type {frame.depth_mm.dtype}")
    if failure is not None:
        raise failure
    if n:
        assert source[n - 1].depth_mm.dtype == np.uint16


def _write_png(folder: Path) -> None:
    import cv2
    from PIL import Image

    cv2.imwrite(str(variant_path(folder, 0, "a.png")), depth_values())
    Image.fromarray(depth_values()).save(variant_path(folder, 1, "a.png"))


def _write_tiff(folder: Path) -> None:
    from PIL import Image

    pages = [Image.fromarray(page) for page in depth_values(n=3)]
    pages[0].save(variant_path(folder, 0, "a.tif"))
    pages[0].save(variant_path(folder, 1, "a.tif"), save_all=True, append_images=pages[1:])
    pages[0].save(variant_path(folder, 2, "a.tif"), compression="tiff_lzw")
    Image.fromarray((depth_values() / 1000).astype(np.float32)).save(
        variant_path(folder, 3, "a.tif"), compression="tiff_deflate"
    )


def _write_pgm(folder: Path) -> None:
    header = f"P5\n# made here\n{WIDTH} {HEIGHT}\n65535\n".encode()
    variant_path(folder, 0, "a.pgm").write_bytes(header + depth_values().astype(">u2").tobytes())
    text = f"P2\n{WIDTH} {HEIGHT}\n9999\n" + "\n".join(" ".join(map(str, row)) for row in depth_values())
    variant_path(folder, 1, "a.pgm").write_text(text)


def _write_npy(folder: Path) -> None:
    np.save(variant_path(folder, 0, "a.npy"), depth_values())
    np.save(variant_path(folder, 1, "a.npy"), depth_values(n=3))
    np.save(variant_path(folder, 2, "a.npy"), (depth_values() / 1000).astype(np.float32))
    np.save(variant_path(folder, 3, "a.npy"), depth_values().astype(np.int64))


def _write_npz(folder: Path) -> None:
    np.savez(variant_path(folder, 0, "a.npz"), depth=depth_values())
    np.savez_compressed(variant_path(folder, 1, "a.npz"), depth_mm=depth_values(n=2), other=np.arange(3))


def _write_pcd(folder: Path) -> None:
    frame = df.Frame(depth_values(), CAMERA)
    points = frame.points().reshape(-1, 3)
    head = (
        "# .PCD v0.7\nVERSION 0.7\nFIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nCOUNT 1 1 1\n"
        f"WIDTH {WIDTH}\nHEIGHT {HEIGHT}\nVIEWPOINT 0 0 0 1 0 0 0\nPOINTS {WIDTH * HEIGHT}\nDATA "
    )
    rows = "\n".join(" ".join(f"{v:.5g}" for v in point) for point in points)
    variant_path(folder, 0, "a.pcd").write_text(f"{head}ascii\n{rows}\n")
    variant_path(folder, 1, "a.pcd").write_bytes(head.encode() + b"binary\n" + points.astype("<f4").tobytes())
    plain = np.ascontiguousarray(points.T.astype("<f4")).tobytes()
    # LZF without matches: runs of up to 32 plain bytes
    packed = b"".join(bytes([len(plain[i : i + 32]) - 1]) + plain[i : i + 32] for i in range(0, len(plain), 32))
    sizes = struct.pack("<II", len(packed), len(plain))
    variant_path(folder, 2, "a.pcd").write_bytes(head.encode() + b"binary_compressed\n" + sizes + packed)


def _write_raw(folder: Path) -> None:
    variant_path(folder, 0, "a.raw").write_bytes(depth_values(n=2).astype("<u2").tobytes())


# -- recordings --------------------------------------------------------------------------------------------------------


def _read_recording(folder: Path) -> str | None:
    entries = sorted(folder.iterdir())
    camera = None if entries[0].suffix == ".r3d" else CAMERA  # tells its own
    take_frames(df.open_source(entries[0] if len(entries) == 1 else folder, camera))
    return None


def _write_hdf5(folder: Path) -> None:
    import h5py  # type: ignore[import-untyped]

    with h5py.File(variant_path(folder, 0, "a.h5"), "w") as file:
        file.create_dataset("depth", data=depth_values(n=3), chunks=(1, HEIGHT, WIDTH), compression="gzip")
        file["table"] = np.zeros((5, 3))
    with h5py.File(variant_path(folder, 1, "a.h5"), "w") as file:
        file["data"] = (depth_values(n=2) / 1000).astype(np.float16)


def _write_mkv(folder: Path) -> None:
    from depthforest.io import MkvWriter

    with MkvWriter(variant_path(folder, 0, "a.mkv")) as writer:
        for number, picture in enumerate(depth_values(n=3)):
            writer.add(df.Frame(picture, CAMERA, time_s=number / 30))


def _write_bag(folder: Path) -> None:
    from rosbags.rosbag1 import Writer
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS1_NOETIC)
    with Writer(variant_path(folder, 0, "a.bag")) as writer:
        _write_messages(writer, store, store.serialize_ros1, {"seq": 0})


def _write_db3(folder: Path) -> None:
    _write_ros2(folder, "SQLITE3")


def _write_mcap(folder: Path) -> None:
    _write_ros2(folder, "MCAP")


def _write_ros2(folder: Path, plugin: str) -> None:
    from rosbags.rosbag2 import StoragePlugin, Writer
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS2_HUMBLE)
    with Writer(variant_path(folder, 0, "bag"), version=9, storage_plugin=StoragePlugin[plugin]) as writer:
        _write_messages(writer, store, store.serialize_cdr, {})


def _write_messages(writer: Any, store: Any, serialize: Any, more: dict[str, int]) -> None:
    kind = "sensor_msgs/msg/Image"
    connection = writer.add_connection("/camera/depth/image_raw", kind, typestore=store)
    types = store.types
    for number, picture in enumerate(depth_values(n=3)):
        stamp = types["builtin_interfaces/msg/Time"](sec=number, nanosec=0)
        header = types["std_msgs/msg/Header"](stamp=stamp, frame_id="camera", **more)
        data = np.frombuffer(picture.tobytes(), np.uint8)
        message = types[kind](
            header=header, height=HEIGHT, width=WIDTH, encoding="16UC1", is_bigendian=0, step=2 * WIDTH, data=data
        )
        writer.write(connection, number * 10**9, serialize(message, kind))


def _write_record3d(folder: Path) -> None:
    import liblzfse

    width, height = 192, 256
    told = {
        "w": 1440, "h": 1920, "dw": width, "dh": height, "fps": 60, "K": [1500.0, 0, 0, 0, 1510.0, 0, 719.5, 959.5, 1],
        "frameTimestamps": [7.0, 7.5],
    }  # fmt: skip
    picture = np.full((height, width), 1.5, np.float32)
    picture[:50] = np.linspace(0.5, 4, width, dtype=np.float32)
    with zipfile.ZipFile(variant_path(folder, 0, "a.r3d"), "w") as file:
        file.writestr("metadata", json.dumps(told))
        for number in range(2):
            file.writestr(f"rgbd/{number}.depth", liblzfse.compress((picture + number).tobytes()))


def _write_tum(folder: Path) -> None:
    import cv2

    own = variant_path(folder, 0, "depth")
    own.mkdir()
    for number, picture in enumerate(depth_values(n=2)):
        cv2.imwrite(str(own / f"{number}.5.png"), picture)
    (own.parent / "depth.txt").write_text("# depth maps\n# time name\n0.5 depth/0.5.png\n1.5 depth/1.5.png\n")


# -- data sets and tables ----------------------------------------------------------------------------------------------


def labeled_frames() -> list[LabeledFrame]:
    """Return two frames with a person each."""
    rng = np.random.default_rng(3)
    parts = df.PartSet(("palm", "thumb_l", "thumb_r"))
    frames = []
    for number in range(2):
        people = np.zeros((HEIGHT, WIDTH), np.uint8)
        people[8:20, 5:25] = 1
        labels = np.where(people > 0, rng.integers(0, 3, people.shape), 255).astype(np.uint8)
        joints = {1: {name: Joint((0.1, 0.2, 2.0)) for name in JOINTS[:4]}}
        frames.append(LabeledFrame(depth_values(number), CAMERA, labels, people, joints, parts))
    return frames


def _write_dataset(folder: Path) -> None:
    df.write_dataset(variant_path(folder, 0, "set"), labeled_frames())


def _write_zarr(folder: Path) -> None:
    from depthforest.io import open_store

    frames = labeled_frames()
    store = open_store(variant_path(folder, 0, "set.zarr"), "zarr", identity="", max_people=3)
    store.prepare(len(frames), frames[0])
    store.write(0, frames, ["000000", "000001"])
    store.finish(len(frames), frames[0])


def _read_dataset(folder: Path) -> str | None:
    data = df.open_dataset(only_entry(folder))
    for number in range(min(len(data), MAX_FRAMES)):
        assert data[number].depth_mm.dtype == np.uint16
    return None


def _write_cameras(folder: Path) -> None:
    variant_path(folder, 0, "camera.json").write_text(json.dumps(CAMERA.to_dict()))
    lens = {"camera": CAMERA.to_dict() | {"distortion": [0.1, -0.2, 0.001, 0.002, 0.03]}}
    variant_path(folder, 1, "camera.json").write_text(json.dumps(lens))


def _read_camera(folder: Path) -> str | None:
    camera = df.Camera.parse(only_entry(folder))
    frame = (
        df.Frame.from_array(np.full(camera.shape, 2000, np.uint16), camera)
        if camera.width < 999 > camera.height
        else None
    )
    if frame is not None and not np.isfinite(frame.camera.unproject((0, 0), 2.0)).all():
        return "a camera that puts points nowhere"
    return None


def _write_joints(folder: Path) -> None:
    from depthforest.joints import FrameJoints

    people = {1: {name: Joint((0.1, 0.2, 2.0)) for name in JOINTS[:5]}, 3: {"head": Joint((1, 2, 3), False, 0.5)}}
    frames = [FrameJoints("f0", people, 0.5, CAMERA), FrameJoints("f1", {})]
    df.write_joints(variant_path(folder, 0, "joints.json"), frames)
    df.write_joints(variant_path(folder, 1, "joints.csv"), frames)


def _read_joints(folder: Path) -> str | None:
    df.read_joints(only_entry(folder))
    return None


def _write_marks(folder: Path) -> None:
    people = [{"points": [[3, 4, "torso"], [5, 6, "head"]], "joints": {"head": [3, 4, True], "hip_l": None}}]
    content = {"f": {"width": WIDTH, "height": HEIGHT, "people": people, "note": "as seen"}}
    variant_path(folder, 0, "marks.json").write_text(json.dumps(content))


def _read_marks(folder: Path) -> str | None:
    from depthforest.evaluation.marks import read_marks

    read_marks(only_entry(folder))
    return None


def _write_masks(folder: Path) -> None:
    from PIL import Image

    people = Image.fromarray(labeled_frames()[0].people)
    for number, mode in enumerate(("L", "P", "1")):
        own = variant_path(folder, number, "masks")
        own.mkdir()
        people.convert(mode).save(own / "a.png")


def _read_mask(folder: Path) -> str | None:
    from depthforest.io import FrameName, ReadOptions
    from depthforest.pipeline.masks import GivenMasks

    masks = GivenMasks(folder / "masks", ReadOptions(CAMERA), ["a.png"])
    people = masks.read(FrameName(Path("a.png")), df.Frame(depth_values(), CAMERA))
    assert people.map.shape == (HEIGHT, WIDTH)
    return None


# -- texts -------------------------------------------------------------------------------------------------------------


def _write_bvh(folder: Path) -> None:
    from synth.bodies.skeleton import BONE_NAMES, PARENTS

    def node(bone: int) -> list[str]:
        channels = "Zrotation Yrotation Xrotation"
        lines = [
            f"{'JOINT' if bone else 'ROOT'} {BONE_NAMES[bone]}",
            "{",
            f"OFFSET 0.5 {bone}.25 1",
            f"CHANNELS 3 {channels}" if bone else f"CHANNELS 6 Xposition Yposition Zposition {channels}",
        ]
        children = [child for child in range(len(BONE_NAMES)) if PARENTS[child] == bone]
        for child in children:
            lines += node(child)
        return [*lines, *([] if children else ["End Site", "{", "OFFSET 0 1 0", "}"]), "}"]

    rows = [" ".join(f"{(t * 7 + i) % 90}.5" for i in range(3 + 3 * len(BONE_NAMES))) for t in range(3)]
    text = ["HIERARCHY", *node(0), "MOTION", "Frames: 3", "Frame Time: 0.2", *rows]
    variant_path(folder, 0, "01_01.bvh").write_text("\n".join(text) + "\n")


def _read_bvh(folder: Path) -> str | None:
    from synth.poses import read_bvh

    read_bvh(only_entry(folder))
    return None


def _write_toml(folder: Path) -> None:
    from depthforest.training import TrainConfig
    from synth import Config

    variant_path(folder, 0, "train.toml").write_text(TrainConfig().to_toml())
    variant_path(folder, 1, "synth.toml").write_text(Config().to_toml())


def _read_toml(folder: Path) -> str | None:
    from depthforest.training import TrainConfig
    from synth import Config

    path = only_entry(folder)
    loaded = (TrainConfig if path.name == "train.toml" else Config).load(path)
    return None if type(loaded).from_toml(loaded.to_toml()) == loaded else "another configuration when it is written"


def _write_letor(folder: Path) -> None:
    rows = "".join(f"{i % 3} qid:{1 + i // 4} 1:{i}.5 2:-{i} 5:0.25 # doc {i}\n" for i in range(12))
    variant_path(folder, 0, "a.txt").write_text(rows)
    variant_path(folder, 1, "sizes.txt").write_text("3\n4\n5\n")


def _read_letor(folder: Path) -> str | None:
    from depthforest.ensemble.ranking.letor import read_group_sizes, read_letor

    path = only_entry(folder)
    (read_group_sizes if path.name == "sizes.txt" else read_letor)(path)
    return None


def _write_card(folder: Path) -> None:
    text = (
        "# A model\n\nIt is *good*: [data](https://example.org/a), `code`.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n> so\n"
    )
    variant_path(folder, 0, "card.md").write_text(text)


def _read_card(folder: Path) -> str | None:
    from depthforest.evaluation.report.cards import render

    made = render(only_entry(folder).read_bytes().decode(errors="replace"))
    lower = made.lower()
    return "a card with a script" if "<script" in lower or 'href="javascript' in lower else None


# -- models ------------------------------------------------------------------------------------------------------------


def _write_forests(folder: Path) -> None:
    from model_mutants import valid_forests

    for number, forest in enumerate(valid_forests()):
        forest.save(variant_path(folder, number, "model.safetensors"))


def _write_ensembles(folder: Path) -> None:
    from valid_ensembles import valid_adaboosts, valid_boosted, valid_ensembles, valid_networks

    every = [*valid_ensembles(), *valid_boosted(), *valid_adaboosts(), *valid_networks()]
    for number, estimator in enumerate(every):
        estimator.save(variant_path(folder, number, "model.safetensors"))


def _read_model(folder: Path) -> str | None:
    from fuzz_models import LOADED, REFUSED, try_file

    outcome = try_file(only_entry(folder))
    if outcome == REFUSED:
        raise DepthForestError("refused")  # its message was checked
    return None if outcome == LOADED else outcome


def _write_pcl(folder: Path) -> None:
    import gzip

    nodes = "".join(f"{i * 7 - 20} {i} -{i} {3 * i} {100 - i}\n" for i in range(7))
    text = f"3\n{nodes}" + "".join(f"{i * 3}\n" for i in range(8))
    variant_path(folder, 0, "a.tree").write_text(text)
    variant_path(folder, 1, "a.gz").write_bytes(gzip.compress(text.encode(), mtime=0))


def _read_pcl(folder: Path) -> str | None:
    from depthforest.forest.pcl import import_pcl

    import_pcl([only_entry(folder)])
    return None


FORMATS: dict[str, Format] = {
    "png": Format(_write_png, _read_pictures, 12),
    "tiff": Format(_write_tiff, _read_pictures, 12),
    "pgm": Format(_write_pgm, _read_pictures, 8),
    "npy": Format(_write_npy, _read_pictures, 8),
    "npz": Format(_write_npz, _read_pictures, 8),
    "pcd": Format(_write_pcd, _read_pictures, 8),
    "raw": Format(_write_raw, _read_pictures, 2),
    "hdf5": Format(_write_hdf5, _read_recording, 2),
    "mkv": Format(_write_mkv, _read_recording, 2),
    "rosbag": Format(_write_bag, _read_recording, 0.2),
    "ros2 sqlite": Format(_write_db3, _read_recording, 0.2),
    "ros2 mcap": Format(_write_mcap, _read_recording, 0.2),
    "record3d": Format(_write_record3d, _read_recording, 3),
    "tum": Format(_write_tum, _read_recording, 4),
    "data set": Format(_write_dataset, _read_dataset, 6),
    "zarr": Format(_write_zarr, _read_dataset, 2),
    "camera": Format(_write_cameras, _read_camera, 6),
    "joints": Format(_write_joints, _read_joints, 8),
    "marks": Format(_write_marks, _read_marks, 6),
    "mask": Format(_write_masks, _read_mask, 4),
    "bvh": Format(_write_bvh, _read_bvh, 4),
    "toml": Format(_write_toml, _read_toml, 6),
    "letor": Format(_write_letor, _read_letor, 8),
    "card": Format(_write_card, _read_card, 4),
    "forest": Format(_write_forests, _read_model, 10),
    "ensemble": Format(_write_ensembles, _read_model, 6),
    "pcl tree": Format(_write_pcl, _read_pcl, 4),
}
