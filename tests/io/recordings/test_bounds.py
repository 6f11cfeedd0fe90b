"""Small files that would unpack to large ones: one line, before the memory is taken."""

import sqlite3

import numpy as np
import pytest

import depthforest as df
from depthforest.base import FrameError
from depthforest.io.recordings import bounds

SIDE = 2048
CAMERA = df.Camera(2000, 2000, 1023.5, 1023.5, SIDE, SIDE)
WALL = np.full((SIDE, SIDE), 2000, np.uint16)  # 8 MB, which pack to some hundred bytes


@pytest.fixture
def small_bound(monkeypatch):
    monkeypatch.setattr(bounds, "MIN_BOUND", 1 << 20)


def image(store, is_one):
    stamp = store.types["builtin_interfaces/msg/Time"](sec=1, nanosec=0)
    header = store.types["std_msgs/msg/Header"](stamp=stamp, frame_id="", **({"seq": 0} if is_one else {}))
    return store.types["sensor_msgs/msg/Image"](
        header=header, height=SIDE, width=SIDE, encoding="16UC1", is_bigendian=0, step=2 * SIDE,
        data=WALL.view(np.uint8).ravel(),
    )  # fmt: skip


def bag(folder, kind, packing):
    """Write a bag of one picture with rosbags."""
    pytest.importorskip("rosbags", reason="rosbags is not installed")
    from rosbags import rosbag1, rosbag2
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS1_NOETIC if kind == "bag" else Stores.ROS2_HUMBLE)
    if kind == "bag":
        path = folder / "a.bag"
        writer = rosbag1.Writer(path)
        writer.set_compression(getattr(rosbag1.Writer.CompressionFormat, packing))
    else:
        path = folder / "walk"
        plugin = rosbag2.StoragePlugin.MCAP if kind == "mcap" else rosbag2.StoragePlugin.SQLITE3
        writer = rosbag2.Writer(path, version=9, storage_plugin=plugin)
        writer.set_compression(getattr(rosbag2.CompressionMode, packing), rosbag2.CompressionFormat.ZSTD)
    with writer:
        message = image(store, kind == "bag")
        connection = writer.add_connection("/depth", message.__msgtype__, typestore=store)
        write = store.serialize_ros1 if kind == "bag" else store.serialize_cdr
        writer.write(connection, 10**9, write(message, message.__msgtype__))
    return path


PACKED = [("bag", "BZ2"), ("bag", "LZ4"), ("mcap", "STORAGE"), ("db3", "MESSAGE"), ("db3", "FILE")]


@pytest.mark.parametrize(("kind", "packing"), PACKED)
def test_packed_bags_are_read(tmp_path, kind, packing):
    frames = df.open_source(bag(tmp_path, kind, packing), CAMERA)
    assert len(frames) == 1
    assert (frames[0].depth_mm == 2000).all()


@pytest.mark.usefixtures("small_bound")
@pytest.mark.parametrize(("kind", "packing"), PACKED)
def test_bags_that_unpack_beyond_the_bound_are_refused(tmp_path, kind, packing):
    path = bag(tmp_path, kind, packing)
    files = [path] if path.is_file() else list(path.iterdir())
    n_bytes = sum(file.stat().st_size for file in files)
    assert n_bytes < WALL.nbytes / 50  # LZ4 packs least
    with pytest.raises(FrameError, match=r"unpacks to more than \d MB"):
        list(df.open_source(path, CAMERA))


def test_a_bag_whose_chunks_share_an_index_is_refused(tmp_path):
    class Reader:
        def read_index_data(self, pos, indexes):
            indexes.setdefault(0, []).extend([pos] * 100)

    file = tmp_path / "a.bag"
    file.write_bytes(bytes(12 * 250))
    reader, indexes = Reader(), {}
    bounds.bound_index(reader, file)
    reader.read_index_data(1, indexes)
    reader.read_index_data(2, indexes)
    with pytest.raises(ValueError, match="more messages than the file can hold"):
        reader.read_index_data(3, indexes)


def test_columns_that_are_computed_are_refused(tmp_path):
    path = bag(tmp_path, "db3", "NONE")
    file = next(path.glob("*.db3"))
    database = sqlite3.connect(file)
    database.executescript(
        "DROP TABLE messages; CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER, timestamp INTEGER, "
        "data BLOB GENERATED ALWAYS AS (zeroblob(1000000000)) VIRTUAL); "
        "INSERT INTO messages(id, topic_id, timestamp) VALUES (1, 1, 1)"
    )
    database.close()
    for what in (path, file):
        with pytest.raises(FrameError, match=r"its column messages.data is computed"):
            list(df.open_source(what, CAMERA))


def test_hdf5_that_is_packed_twice_is_refused(tmp_path):
    h5py = pytest.importorskip("h5py", reason="h5py is not installed")
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        for name, n in (("once", 1), ("twice", 2)):
            how = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            how.set_chunk((1, SIDE, SIDE))
            for _ in range(n):
                how.set_deflate(9)
            space = h5py.h5s.create_simple((1, SIDE, SIDE))
            made = h5py.h5d.create(file.id, name.encode(), h5py.h5t.NATIVE_UINT16, space, how)
            h5py.Dataset(made)[0] = WALL
    assert path.stat().st_size < WALL.nbytes / 50
    assert (df.open_source(f"{path}:once", CAMERA)[0].depth_mm == 2000).all()
    with pytest.raises(FrameError, match=r"packed by filters \[1, 1\]; expected gzip, SZIP or LZF, once"):
        list(df.open_source(f"{path}:twice", CAMERA))


def test_video_that_is_no_depth_video_is_not_decoded(tmp_path):
    av = pytest.importorskip("av", reason="av is not installed")
    path = tmp_path / "a.mkv"
    with av.open(str(path), "w", format="matroska") as container:
        stream = container.add_stream("jpeg2000", rate=30)
        stream.width, stream.height, stream.pix_fmt = SIDE, SIDE, "gray16le"
        picture = av.VideoFrame.from_ndarray(WALL, format="gray16le")
        for packet in [*stream.encode(picture), *stream.encode()]:
            container.mux(packet)
    with pytest.raises(FrameError, match="no 16-bit gray track"):
        list(df.open_source(path, CAMERA))
