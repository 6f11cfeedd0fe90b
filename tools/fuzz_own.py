"""Valid files that depthforest itself writes and reads, and messages to the viewer: more formats for `fuzz`.

A file of ours may come back damaged, or from somebody else: rigs of cameras, conventions, checkpoints, records of
folders, recipes and person models. See `fuzz_formats` for what a format is.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
from fuzz_formats import CAMERA, MAX_FRAMES, Format, depth_values, labeled_frames, only_entry, variant_path

import depthforest as df

# -- cameras and joints ------------------------------------------------------------------------------------------------


def _write_rig(folder: Path) -> None:
    from depthforest.joints.cameras.rig import CameraPose, CameraRig

    turn = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])
    poses = CameraPose("a", np.eye(3), np.zeros(3)), CameraPose("b", turn, np.array([1.0, 0.0, 2.0]), 0.25, 0.03, 40)
    CameraRig(poses).save(variant_path(folder, 0, "cameras.json"))


def _read_rig(folder: Path) -> str | None:
    from depthforest.joints.cameras.rig import CameraRig

    for camera in CameraRig.load(only_entry(folder)).cameras:
        placed = camera.place(np.ones((2, 3)))
        if placed.shape != (2, 3) or not np.isfinite(placed).all():
            return f"a camera that places points at {placed}"
    return None


def _write_convention(folder: Path) -> None:
    from depthforest.joints.conventions import CONVENTIONS

    CONVENTIONS["coco"].save(variant_path(folder, 0, "convention.json"))


def _read_convention(folder: Path) -> str | None:
    from depthforest.frames import JOINTS, Joint
    from depthforest.joints import convert

    joints = {name: Joint((0.1 * i, 0.2 * i % 0.7, 2.0)) for i, name in enumerate(JOINTS)}
    for name, joint in convert(joints, only_entry(folder)).items():
        if not np.isfinite(joint.position).all():
            return f"joint {name} at {joint.position}"
    return None


def _write_convention_marks(folder: Path) -> None:
    from depthforest.frames import JOINTS, Joint
    from depthforest.joints import FrameJoints

    people = {1: {name: Joint((0.1 * i, 0.2, 2.0)) for i, name in enumerate(JOINTS)}}
    joints = variant_path(folder, 0, "joints.json")
    df.write_joints(joints, [FrameJoints(f"f{n}", people, n / 30, CAMERA) for n in range(3)])
    marks = {f"f{n}": {"head": [0.1, 0.2, 2.0], "neck": [0.2, 0.3, 2.0]} for n in range(3)}
    (joints.parent / "marks.json").write_text(json.dumps(marks))


def _read_convention_marks(folder: Path) -> str | None:
    from depthforest.joints import fit_convention, people_of_marks

    fit_convention(*people_of_marks(folder / "joints.json", folder / "marks.json"))
    return None


# -- training and runs -------------------------------------------------------------------------------------------------


def _write_checkpoint(folder: Path) -> None:
    from depthforest.training import TrainConfig, train

    config = TrainConfig(trees=2, depth=3, candidates=8, pixels_per_frame=40)
    path = variant_path(folder, 0, "run")
    train(labeled_frames(), config, checkpoint=path)


def _read_checkpoint(folder: Path) -> str | None:
    from depthforest.cli.info import describe

    describe(folder / "run")
    return None


def _output_folder(folder: Path) -> Any:
    from depthforest.pipeline.outfolder import OutputFolder

    return OutputFolder(folder / "out", ["parts"], [folder / "in" / "a.png"], {"model": "m", "smooth": 0.03})


def _write_record(folder: Path) -> None:
    own = variant_path(folder, 0, "out").parent
    output = _output_folder(own)
    output.begin()
    output.unlock()


def _read_record(folder: Path) -> str | None:
    from depthforest.io import FrameName

    output = _output_folder(folder)
    try:
        output.begin()
        output.written("parts")
        output.is_done(FrameName(folder / "in" / "a.png"), [])
    finally:
        output.unlock()
    strangers = [entry for entry in folder.iterdir() if entry.name != "out"]
    return f"files outside of its folder: {strangers}" if strangers else None


def _write_recipe(folder: Path) -> None:
    from depthforest.base import models_folder
    from depthforest.training import TrainConfig
    from synth import Config

    own = variant_path(folder, 0, "a.recipe.toml")
    text = (models_folder() / "body31-top.recipe.toml").read_text()
    own.write_text(text)
    for path in models_folder().glob("body31*.toml"):
        if path.name in text:
            shutil.copy(path, own.parent)
    plain = variant_path(folder, 1, "a.recipe.toml")
    plain.write_text(
        'name = "a"\n[steps.frames]\ndo = "synth"\nconfig = "synth.toml"\nframes = 10\nseed = 1\n'
        '[steps.forest]\ndo = "train"\nconfig = "train.toml"\ndata = ["frames"]\n'
    )
    (plain.parent / "train.toml").write_text(TrainConfig().to_toml())
    (plain.parent / "synth.toml").write_text(Config().to_toml())


def _read_recipe(folder: Path) -> str | None:
    from depthforest.recipes.recipe import read_recipe

    read_recipe(folder / "a.recipe.toml")
    return None


# -- person models -----------------------------------------------------------------------------------------------------


def _write_person_model(folder: Path) -> None:
    from model_mutants import random_forest

    from depthforest.people.judging.columns import NAMES
    from depthforest.people.judging.looks import SCENE
    from depthforest.people.judging.model import PersonModel
    from depthforest.people.judging.treesum import TreeSum

    rng = np.random.default_rng(1)
    scene = random_forest(rng, 2, 4, SCENE)
    # two trees: a split of each of two columns, and a leaf alone
    judge = TreeSum(
        np.array([0, 5], np.int32),
        np.array([1, -1, 3, -1, -1, -1], np.int16),
        rng.random(6, np.float32),
        np.array([1, 0, 3, 0, 0, 0], np.int32),
        rng.random(6, np.float32),
        len(NAMES),
    )
    model = PersonModel(scene, judge, "body31-fast", 0.2, 0.5, {"seed": 3}, {"found": 0.9})
    model.save(variant_path(folder, 0, "person.safetensors"))


def _read_person_model(folder: Path) -> str | None:
    from depthforest.cli.info import describe
    from depthforest.people.judging.columns import NAMES
    from depthforest.people.judging.model import PersonModel

    path = only_entry(folder)
    model = PersonModel.load(path)
    people = df.find_people(df.Frame(depth_values(), CAMERA), model=model, least=0)
    if not all(0 <= p <= 1 for p in people.probabilities):
        return f"probabilities {people.probabilities}"
    columns = np.random.default_rng(0).random((4, len(NAMES)))
    probable = model.probabilities(columns, 0.5)
    if not ((probable >= 0) & (probable <= 1)).all():
        return f"probabilities {probable}"
    describe(path)
    return None


# -- the viewer --------------------------------------------------------------------------------------------------------


def _write_uploads(folder: Path) -> None:
    import cv2
    import h5py  # type: ignore[import-untyped]

    from depthforest.io import MkvWriter

    # a size whose camera is guessed, as nothing is known of an upload
    pictures = np.tile(depth_values(n=3), (1, 5, 4))[:, :106]
    camera = df.Camera.preset("kinect_v2@128x106")
    cv2.imwrite(str(variant_path(folder, 0, "a.png")), pictures[0])
    np.save(variant_path(folder, 1, "a.npy"), pictures)
    with MkvWriter(variant_path(folder, 2, "a.mkv")) as writer:
        for number, picture in enumerate(pictures):
            writer.add(df.Frame(picture, camera, time_s=number / 30))
    with h5py.File(variant_path(folder, 3, "a.h5"), "w") as file:
        file["depth"] = pictures[:2]
    shutil.copy(folder / "0" / "a.png", variant_path(folder, 4, "upload"))


def _read_upload(folder: Path) -> str | None:
    """Show a file as the viewer does that knows nothing of it: the first frame, the last, and the first again."""
    from depthforest.io import ReadOptions
    from depthforest.view.clips import FileClip

    clip = FileClip([only_entry(folder)], ReadOptions())
    for number in (0, len(clip) - 1, 0, *range(min(len(clip), MAX_FRAMES))):
        frame = clip.take(number).frame
        if frame.depth_mm.shape != frame.camera.shape:
            return f"a frame of shape {frame.depth_mm.shape}"
    return None


MESSAGES: tuple[Any, ...] = (
    {"do": "play"},
    {"do": "seek", "value": 3},
    {"do": "speed", "value": 0.5},
    {"do": "compare", "value": None},
    {"do": "read", "value": {"camera": "50,50,16,12", "scale": "0.001", "flip": True, "rotate": 90, "size": "32x24",
                             "people": "all", "track": False, "topic": "/camera/depth"}},
    {"do": "read", "value": {"camera": "kinect_v1@320x240", "scale": "mm", "people": "find"}},
)  # fmt: skip


def _write_messages(folder: Path) -> None:
    for number, message in enumerate(MESSAGES):
        variant_path(folder, number, "message.json").write_text(json.dumps(message))


def _read_message(folder: Path) -> str | None:
    from depthforest.io import ReadOptions
    from depthforest.view.protocol import parse_command

    raw = only_entry(folder).read_bytes()
    try:
        text: str | bytes = raw.decode()
    except UnicodeDecodeError:
        text = raw
    do, value = parse_command(text)
    if do == "read":
        camera = value.options(ReadOptions()).camera
        if isinstance(camera, str) and ("/" in camera or camera.endswith(".json")):
            return f"a page names the file {camera}"
    return None


OWN_FORMATS: dict[str, Format] = {
    "rig": Format(_write_rig, _read_rig, 4),
    "convention": Format(_write_convention, _read_convention, 4),
    "convention marks": Format(_write_convention_marks, _read_convention_marks, 4),
    "checkpoint": Format(_write_checkpoint, _read_checkpoint, 3),
    "record": Format(_write_record, _read_record, 3),
    "recipe": Format(_write_recipe, _read_recipe, 3),
    "person model": Format(_write_person_model, _read_person_model, 6),
    "upload": Format(_write_uploads, _read_upload, 6),
    "page message": Format(_write_messages, _read_message, 4),
}
