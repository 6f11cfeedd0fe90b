"""Packages that some recordings need: the one that is missing is named with the line that installs it."""

import zipfile

import pytest

import depthforest as df
from depthforest.base import UsageError


@pytest.mark.parametrize(
    ("name", "start", "module", "install"),
    [
        ("walk.bag", b"#ROSBAG V2.0\n", "rosbags", "rosbags"),
        ("walk.mcap", b"\x89MCAP0\r\n", "rosbags", "rosbags"),
        ("walk.mkv", b"\x1aE\xdf\xa3", "av", "av"),
        ("walk.h5", b"\x89HDF\r\n\x1a\n", "h5py", "h5py"),
        ("walk.r3d", b"", "liblzfse", "pyliblzfse"),
    ],
)
def test_a_missing_package_is_named_with_the_file(tmp_path, monkeypatch, name, start, module, install):
    path = tmp_path / name
    path.write_bytes(start.ljust(64, b"\0"))
    if not start:
        with zipfile.ZipFile(path, "w") as file:
            file.writestr("metadata", "{}")
            file.writestr("rgbd/0.depth", b"")
    monkeypatch.setitem(__import__("sys").modules, module, None)
    with pytest.raises(UsageError, match=rf"{name}: .* needs the package {module}: pip install {install}$"):
        list(df.open_source(path))
