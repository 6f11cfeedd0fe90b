"""The identity of generated frames: a text of everything they depend on, which a data set compares."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from depthforest.base import read_bytes
from depthforest.frames import Camera
from synth.bodies import MESH_FILE, WEIGHTS_FILE, find_folder
from synth.config import Config, ConfigError
from synth.poses import clip_files

VERSION = 1
"""Version of the frames: raise it whenever the same (config, seed, index) gives other bytes than before."""

LATER_DEFAULTS = (
    "only_subjects = []", "clutter_share = 0.0", "clutter = [6, 16]", "n_things = 2048", "lost_share = 0.1",
    "empty_share = 0.0", "carry_share = 0.0", "lean_share = 0.0", "desk_share = 0.0", "bed_share = 0.0",
    "touch_share = 0.0",
)  # fmt: skip
"""Fields that were added later and change nothing at these defaults: data sets begun without them can be continued."""


def identity(config: Config, seed: int) -> str:
    """Return the text that identifies frames: all settings, and digests of the files they name."""
    numbers = (line for line in config.to_toml().splitlines() if line not in LATER_DEFAULTS)
    lines = [f"version = {VERSION}", f"seed = {seed}", *numbers]
    lines.append(f"camera = {json.dumps(Camera.parse(config.camera).to_dict())}")
    if config.mocap:
        lines.append(f"clips = {_digest(clip_files(config.mocap), Path(config.mocap))}")
    if config.mocap_names:
        lines.append(f"names = {_digest([Path(config.mocap_names)], Path(config.mocap_names).parent)}")
    if config.bodies != "procedural":
        folder = find_folder(Path(config.makehuman_folder) if config.makehuman_folder else None)
        lines.append(f"bodies = {_digest([folder / MESH_FILE, folder / WEIGHTS_FILE], folder)}")
    return "\n".join(lines) + "\n"


def _digest(files: Sequence[Path], folder: Path) -> str:
    """Return a digest of files: of their names below a folder, and of their bytes."""
    digest = hashlib.blake2b(digest_size=12)
    for path in files:
        content = read_bytes(path, ConfigError)
        digest.update(f"{path.relative_to(folder).as_posix()}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()
