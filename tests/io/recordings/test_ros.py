"""ROS 1 bags, ROS 2 bags and MCAP, written by rosbags."""

import struct
from pathlib import Path

import cv2
import numpy as np
import pytest
from support.damage import check_outcomes, outcomes

import depthforest as df
from depthforest.base import DepthForestWarning, FrameError

rosbags = pytest.importorskip("rosbags", reason="rosbags is not installed")
from rosbags.rosbag1 import Writer as Writer1  # noqa: E402
from rosbags.rosbag2 import StoragePlugin  # noqa: E402
from rosbags.rosbag2 import Writer as Writer2  # noqa: E402
from rosbags.typesys import Stores, get_typestore  # noqa: E402

WIDTH, HEIGHT = 32, 24
K = [50.0, 0, 15.5, 0, 51.0, 11.5, 0, 0, 1]
TOPIC, INFO = "/camera/depth/image_raw", "/camera/depth/camera_info"
BAGS = ("bag", "db3", "mcap")


def picture(number):
    return (1000 + number + np.arange(WIDTH * HEIGHT).reshape(HEIGHT, WIDTH)).astype(np.uint16)


class Bag:
    """Writes messages into a bag of one of the kinds."""

    def __init__(self, folder, kind):
        self.is_one = kind == "bag"
        self.store = get_typestore(Stores.ROS1_NOETIC if self.is_one else Stores.ROS2_HUMBLE)
        self.types = self.store.types
        self.path = folder / ("a.bag" if self.is_one else f"bag_{kind}")
        if self.is_one:
            self.writer = Writer1(self.path)
        else:
            plugin = StoragePlugin.MCAP if kind == "mcap" else StoragePlugin.SQLITE3
            self.writer = Writer2(self.path, version=9, storage_plugin=plugin)
        self.connections = {}

    def header(self, seconds):
        stamp = self.types["builtin_interfaces/msg/Time"](sec=int(seconds), nanosec=round(seconds % 1 * 1e9))
        more = {"seq": 0} if self.is_one else {}
        return self.types["std_msgs/msg/Header"](stamp=stamp, frame_id="camera", **more)

    def add(self, topic, message, seconds):
        kind = message.__msgtype__
        if topic not in self.connections:
            self.connections[topic] = self.writer.add_connection(topic, kind, typestore=self.store)
        serialize = self.store.serialize_ros1 if self.is_one else self.store.serialize_cdr
        self.writer.write(self.connections[topic], int(seconds * 1e9), serialize(message, kind))

    def image(self, values, seconds, encoding="16UC1", topic=TOPIC, big=False, **changes):
        step = values.shape[1] * values.itemsize
        stored = values.astype(values.dtype.newbyteorder(">" if big else "<"))
        data = np.frombuffer(stored.tobytes(), np.uint8)
        content = {"height": values.shape[0], "width": values.shape[1], "step": step, "data": data} | changes
        message = self.types["sensor_msgs/msg/Image"](
            header=self.header(seconds), encoding=encoding, is_bigendian=int(big), **content
        )
        self.add(topic, message, seconds)

    def compressed(self, png, seconds, form="16UC1; compressedDepth", a=0.0, b=0.0, topic=TOPIC + "/compressedDepth"):
        data = np.frombuffer(struct.pack("<iff", 0, a, b) + png, np.uint8)
        message = self.types["sensor_msgs/msg/CompressedImage"](header=self.header(seconds), format=form, data=data)
        self.add(topic, message, seconds)

    def info(self, seconds, k=K, d=(), model="plumb_bob", topic=INFO):
        names = [n.upper() if self.is_one else n for n in "dkrp"]
        p = [*k[:3], 0, *k[3:6], 0, *k[6:], 0]
        values = dict(zip(names, map(np.array, (np.array(d, float), k, np.eye(3).ravel(), p)), strict=True))
        values = {name: value.astype(np.float64) for name, value in values.items()}
        region = self.types["sensor_msgs/msg/RegionOfInterest"](0, 0, 0, 0, False)
        message = self.types["sensor_msgs/msg/CameraInfo"](
            header=self.header(seconds), height=HEIGHT, width=WIDTH, distortion_model=model, binning_x=0, binning_y=0,
            roi=region, **values,
        )  # fmt: skip
        self.add(topic, message, seconds)


def written(folder, kind, fill):
    bag = Bag(folder, kind)
    with bag.writer:
        fill(bag)
    return bag.path


def fill_depth(bag):
    bag.info(100.0)
    for number in range(5):
        bag.image(picture(number), 100.0 + number / 8)
        bag.image(np.zeros((HEIGHT, WIDTH, 3), np.uint8), 100.0 + number / 8, "rgb8", "/camera/color/image_raw")


@pytest.mark.parametrize("kind", BAGS)
def test_depth_camera_and_time_come_out_as_they_went_in(tmp_path, kind):
    path = written(tmp_path, kind, fill_depth)
    source = df.open_source(path)
    frames = list(source)
    assert len(source) == len(frames) == 5
    assert frames[0].camera == df.Camera(50, 51, 15.5, 11.5, WIDTH, HEIGHT)
    for number, frame in enumerate(frames):
        np.testing.assert_array_equal(frame.depth_mm, picture(number))
        assert frame.time_s == 100.0 + number / 8
    assert source[3] == frames[3]
    assert source[-1].time_s == 100.5
    if kind != "bag":
        storage = next(path.glob(f"*.{kind}"))
        assert [frame.time_s for frame in df.open_source(storage)] == [frame.time_s for frame in frames]


def test_floats_big_endian_and_compressed_depth(tmp_path):
    meters = np.linspace(0.5, 4, WIDTH * HEIGHT, dtype=np.float32).reshape(HEIGHT, WIDTH)
    a, b = 1000.0, -50.0
    inverse = np.round(a / meters + b).astype(np.uint16)

    def fill(bag):
        bag.info(1.0)
        bag.image(meters, 1.0, "32FC1", "/f")
        bag.image(picture(0), 1.0, topic="/b", big=True)
        bag.compressed(cv2.imencode(".png", picture(7))[1].tobytes(), 1.0, topic="/c/compressedDepth")
        bag.compressed(
            cv2.imencode(".png", inverse)[1].tobytes(), 1.0, "32FC1; compressedDepth png", a, b, "/i/compressedDepth"
        )

    path = written(tmp_path, "bag", fill)
    with pytest.raises(FrameError, match=r"several depth topics: /f, /b, /c/compressedDepth, /i.*name one with topic"):
        list(df.open_source(path))
    np.testing.assert_array_equal(df.open_source(path, topic="/f")[0].depth_mm, np.rint(meters * 1000))
    np.testing.assert_array_equal(df.open_source(path, topic="b")[0].depth_mm, picture(0))
    np.testing.assert_array_equal(df.open_source(path, topic="/c/compressedDepth")[0].depth_mm, picture(7))
    found = df.open_source(path, topic="/i/compressedDepth")[0].depth_mm
    assert np.abs(found / 1000 - meters).max() < 4.0**2 / a  # a step of inverse depth at 4 m
    with pytest.raises(FrameError, match="no image topic '/x'; image topics: /f"):
        list(df.open_source(path, topic="/x"))


def test_lenses(tmp_path):
    def fill(bag):
        bag.image(picture(0), 1.0)
        bag.image(picture(0), 1.0, topic="/camera/depth/image_rect")
        bag.info(1.0, d=[0.9, 0, 0, 0, 0])

    path = written(tmp_path, "bag", fill)
    raw, rectified = (df.open_source(path, topic=f"/camera/depth/image_{name}")[0] for name in ("raw", "rect"))
    assert raw != rectified
    np.testing.assert_array_equal(rectified.depth_mm, picture(0))
    (tmp_path / "b").mkdir()
    fish = written(
        tmp_path / "b", "bag", lambda bag: (bag.image(picture(0), 1.0), bag.info(1.0, d=[1.0], model="fish"))
    )
    with pytest.warns(DepthForestWarning, match="lens model is fish; pass camera"):
        assert df.open_source(fish, df.Camera(50, 50, 15.5, 11.5, WIDTH, HEIGHT))[0].shape == (HEIGHT, WIDTH)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"height": 2**31}, "expected 1 to"),
        ({"height": 100}, "are not a 16UC1 picture of 32 x 100"),
        ({"step": 3}, "rows of 3 are no"),
        ({"encoding": "bgr8"}, "is encoded as 'bgr8'; depth is 16UC1"),
    ],
)
def test_absurd_images_get_one_line(tmp_path, changes, said):
    path = written(tmp_path, "bag", lambda bag: bag.image(picture(0), 1.0, **changes))
    with pytest.raises(FrameError, match=said):
        list(df.open_source(path, "kinect_v1", topic=TOPIC))


def test_no_depth_is_said_with_what_there_is(tmp_path):
    path = written(tmp_path, "bag", lambda bag: bag.image(picture(0), 1.0, "bgr8", "/color"))
    with pytest.raises(FrameError, match="no topic of depth images; topics: /color"):
        list(df.open_source(path))


@pytest.mark.parametrize("kind", BAGS)
def test_cut_and_damaged_bags_get_one_line(tmp_path, kind):
    path = written(tmp_path, kind, fill_depth)
    file = path if kind == "bag" else next(path.glob(f"*.{kind}"))
    camera = df.Camera(50, 50, 15.5, 11.5, WIDTH, HEIGHT)
    found = outcomes(file, lambda: sum(1 for _ in df.open_source(path, camera)), n_changed=40)
    check_outcomes(found, 5)


def test_a_realsense_bag_is_read():
    """files/realsense.bag: support.realsense.record with pyrealsense2 2.55, the last that wrote ROS 1 bags."""
    frames = list(df.open_source(Path(__file__).parent / "files" / "realsense.bag"))
    assert [int(frame.depth_mm[5, 5]) for frame in frames] == [1000, 1001, 1001, 1002]  # 2000 to 2003 units of 0.5 mm
    assert [frame.time_s for frame in frames] == pytest.approx([1000.0, 1000.033, 1000.066, 1000.099])
    assert frames[0].camera == df.Camera(50, 51, 15.5, 11.25, 32, 24)


def test_a_bag_under_another_name_is_told_so(tmp_path):
    path = written(tmp_path, "bag", fill_depth).rename(tmp_path / "a.dat")
    with pytest.raises(FrameError, match=r"must be called \*\.bag; rename it"):
        list(df.open_source(path))
