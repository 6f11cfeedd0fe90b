"""A stand-in for rclpy, which pip cannot install: nodes, and messages with exactly the fields of ROS 2 Humble.

What is published is serialized as CDR by rosbags, so that a field of a wrong name or type fails.
"""

import sys
from types import ModuleType, SimpleNamespace

from rosbags.interfaces import Nodetype
from rosbags.typesys import Stores, get_typestore

STORE = get_typestore(Stores.ROS2_HUMBLE)


def message(name):
    """Return a class that is made without arguments or with some fields, as those of rclpy are."""
    constants, fields = STORE.fielddefs[name]
    names = [field for field, _ in fields]

    def init(self, **given):
        assert set(given) <= set(names), set(given) - set(names)
        for field, kind in fields:
            setattr(self, field, given.get(field, default(kind)))

    values = {"__slots__": names, "__init__": init, "NAME": name}
    return type(name.rsplit("/", 1)[1], (), values | {constant: value for constant, _, value in constants})


def default(kind):
    node, what = kind
    if node == Nodetype.BASE:
        return {"string": "", "bool": False}.get(what[0], 0.0 if "float" in what[0] else 0)
    return message(what)() if node == Nodetype.NAME else []


def plain(value, kind):
    """Return a value as rosbags serializes it."""
    import numpy as np

    node, what = kind
    if node == Nodetype.NAME and hasattr(value, "NAME"):
        return STORE.types[value.NAME](
            **{field: plain(getattr(value, field), sub) for field, sub in STORE.fielddefs[value.NAME][1]}
        )
    if node in (Nodetype.ARRAY, Nodetype.SEQUENCE):
        inner = what[0]
        if inner[0] == Nodetype.BASE and inner[1][0] != "string":
            return np.asarray(value, dtype=np.dtype(inner[1][0]))
        return [plain(item, inner) for item in value]
    return value


def cdr(sent):
    return STORE.serialize_cdr(plain(sent, (Nodetype.NAME, sent.NAME)), sent.NAME)


class Node:
    """A node whose topics are called by hand; `sent` holds what was published, as (topic, message)."""

    def __init__(self, name):
        self.name, self.sent, self.callbacks = name, [], {}

    def create_publisher(self, kind, topic, qos):
        assert qos is not None

        def publish(sent):
            assert isinstance(sent, kind)
            assert len(cdr(sent)) > 4
            self.sent.append((topic, sent))

        return SimpleNamespace(publish=publish)

    def create_subscription(self, _kind, topic, callback, qos):
        assert qos is not None
        self.callbacks[topic] = callback


class TransformBroadcaster:
    def __init__(self, node):
        self.node = node

    def sendTransform(self, transforms):  # noqa: N802  # as ROS calls it
        for transform in transforms:
            assert len(cdr(transform)) > 4
        self.node.sent.append(("/tf", transforms))


def install(monkeypatch):
    """Put the stand-in where the imports of a node look."""
    packages = {
        "rclpy": {"init": lambda: None, "spin": lambda _node: None},
        "rclpy.node": {"Node": Node},
        "rclpy.qos": {"qos_profile_sensor_data": "sensor data"},
        "tf2_ros": {"TransformBroadcaster": TransformBroadcaster},
    }
    for package, kinds in {
        "geometry_msgs": ("Point", "TransformStamped"),
        "sensor_msgs": ("CameraInfo", "Image"),
        "visualization_msgs": ("Marker", "MarkerArray"),
    }.items():
        packages[package] = {}
        packages[f"{package}.msg"] = {kind: message(f"{package}/msg/{kind}") for kind in kinds}
    for name, content in packages.items():
        module = ModuleType(name)
        module.__dict__.update(content)
        monkeypatch.setitem(sys.modules, name, module)
