"""Choosing the reader of a file or a folder: by content, never by name."""

from __future__ import annotations

from pathlib import Path

from depthforest.base import FrameError, Parameter
from depthforest.io.formats import PictureFile, Pictures, Size, sniff
from depthforest.io.recordings.record3d import Record3dFile, is_record3d

BAG_SUFFIXES = {"rosbag": ".bag", "mcap": ".mcap", "sqlite": ".db3"}
"""Kind of a bag -> the file ending that rosbags requires."""


def is_recording_folder(path: Path) -> bool:
    """Tell whether a folder is one recording, and not a folder of pictures."""
    try:
        return _is_ros_folder(path) or (path / "depth.txt").is_file() or _is_store(path)
    except OSError:  # reading the folder will report it
        return False


def _is_ros_folder(path: Path) -> bool:
    return (path / "metadata.yaml").is_file()


def _is_store(path: Path) -> bool:
    return (path / "zarr.json").is_file()


def open_pictures(path: Path, size: Size | None = None, topic: str | None = None) -> Pictures:
    """Open a file of pictures or a recording.

    Parameters
    ----------
    path : Path
    size : (width, height), optional
        Size of plain dumps.
    topic : str, optional
        Stream of a recording.
    """
    is_folder = path.is_dir()
    kind = "" if is_folder else sniff(path)
    if (is_folder and _is_ros_folder(path)) or kind in BAG_SUFFIXES:
        from depthforest.io.recordings.ros import RosBag

        if not is_folder and path.suffix != BAG_SUFFIXES[kind]:
            raise FrameError(f"{path}: is a bag of ROS that must be called *{BAG_SUFFIXES[kind]}; rename it")
        return RosBag(path, topic)
    if kind == "hdf5":
        from depthforest.io.recordings.hdf5 import Hdf5File

        return Hdf5File(path, topic)
    if kind == "mkv":
        from depthforest.io.recordings.matroska import MkvFile

        return MkvFile(path, topic)
    if kind == "npz" and is_record3d(path):
        return Record3dFile(path)
    if topic is not None:
        raise FrameError(f"{path}: is not a recording with several streams; leave out ", Parameter("topic"))
    if is_folder and _is_store(path):
        from depthforest.io.recordings.stores import StoreFrames

        return StoreFrames(path)
    if is_folder:
        from depthforest.io.recordings.tum import TumFolder

        return TumFolder(path)
    return PictureFile(path, size, kind)
