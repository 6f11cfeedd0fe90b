"""docs/how-to/ros2.md: its node against a bag. rclpy cannot be installed by pip; support.rclpystandin stands in."""

import re
from pathlib import Path

import numpy as np
import pytest
from support.labelcommand import DATA, MODEL

import depthforest as df

pytest.importorskip("rosbags", reason="rosbags is not installed")
PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "ros2.md"


def bag(path):
    """Write a bag of two frames of the same room with their CameraInfo."""
    from rosbags.rosbag2 import Writer
    from rosbags.typesys import Stores, get_typestore

    store, frame = get_typestore(Stores.ROS2_HUMBLE), DATA[0]
    kinds, rows, cols = store.types, *frame.depth_mm.shape
    camera = frame.camera
    k = np.array([camera.fx, 0, camera.cx, 0, camera.fy, camera.cy, 0, 0, 1])
    with Writer(path, version=9) as writer:
        topics = {
            name: writer.add_connection(f"/camera/{name}", f"sensor_msgs/msg/{kind}", typestore=store)
            for name, kind in (("camera_info", "CameraInfo"), ("depth", "Image"))
        }
        for second in (1, 2):
            stamp = kinds["builtin_interfaces/msg/Time"](sec=second, nanosec=0)
            header = kinds["std_msgs/msg/Header"](stamp=stamp, frame_id="optical")
            info = kinds["sensor_msgs/msg/CameraInfo"](
                header=header, height=rows, width=cols, distortion_model="plumb_bob", d=np.zeros(5), k=k,
                r=np.eye(3).ravel(), p=np.zeros(12), binning_x=0, binning_y=0,
                roi=kinds["sensor_msgs/msg/RegionOfInterest"](0, 0, 0, 0, False),
            )  # fmt: skip
            image = kinds["sensor_msgs/msg/Image"](
                header=header, height=rows, width=cols, encoding="16UC1", is_bigendian=0, step=2 * cols,
                data=frame.depth_mm.astype("<u2").view(np.uint8).ravel(),
            )  # fmt: skip
            for name, message in (("camera_info", info), ("depth", image)):
                content = store.serialize_cdr(message, message.__msgtype__)
                writer.write(topics[name], second * 10**9, content)
    return path


def test_the_pages_node_publishes_labels_joints_and_tf(tmp_path, monkeypatch):
    from rosbags.highlevel import AnyReader
    from support import rclpystandin

    rclpystandin.install(monkeypatch)
    forest = df.Forest.load(MODEL)
    monkeypatch.setattr(df, "load", lambda: forest)
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    names = {"__name__": "body_node"}
    exec(code, names)
    names["main"]()
    node = names["BodyNode"]()
    with AnyReader([bag(tmp_path / "walk")]) as reader:
        for connection, _, content in reader.messages():
            topic = connection.topic.rsplit("/", 1)[1]
            node.callbacks[topic](reader.deserialize(content, connection.msgtype))
    topics = [topic for topic, _ in node.sent]
    assert topics == ["~/parts", "~/joints", "/tf"] * 2
    (_, parts), (_, markers), (_, transforms) = node.sent[3:]
    labels = np.asarray(parts.data, np.uint8).reshape(parts.height, parts.width)
    people = df.find_people(df.Frame(DATA[0].depth_mm, DATA[0].camera))
    assert len(people) == len(markers.markers) >= 1
    assert (labels != 255).sum() == sum(int(mask.sum()) for mask in people)
    assert parts.header.stamp.sec == 2
    places = {t.child_frame_id: t.transform.translation for t in transforms}
    head = next(place for name, place in places.items() if name.endswith("/head"))
    assert 0.5 < head.z < 6
    assert len(places) == sum(len(marker.points) for marker in markers.markers)
    assert {t.header.frame_id for t in transforms} == {"optical"}


def test_the_node_is_short():
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len([line for line in code.splitlines() if line.strip()]) <= 70
