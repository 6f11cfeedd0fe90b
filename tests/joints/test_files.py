import json
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import depthforest as df
from depthforest.base.errors import DatasetError, DepthForestError, UsageError
from depthforest.base.resources import samples_folder
from depthforest.frames.frame import Joint
from depthforest.frames.parts import JOINTS
from depthforest.joints.files import COLUMNS, FORMAT, VERSION, FrameJoints, JointFileError, read_joints, write_joints
from depthforest.joints.tracks import TrackedJoint

CAMERA = df.Camera.preset("kinect_v1@320x240")
FRAMES = [
    FrameJoints("000000", {1: {"head": Joint((0.1, -0.25, 2.0), True, 0.9)}}, time=0.0, camera=CAMERA),
    FrameJoints("000001", {}, time=1 / 30, camera=CAMERA),
    FrameJoints(
        "a, b",
        {
            1: {"head": Joint((0.1, -0.2, 1 / 3), False, 0.5), "hand_l": Joint((1e-9, 0.0, 3.0))},
            12: {"foot_r": Joint((0.0, 1.0, 2.5), True, 0.0)},
        },
    ),
]

numbers = st.floats(-1e6, 1e6)
joints = st.builds(Joint, st.tuples(numbers, numbers, numbers), st.booleans(), st.floats(0, 1))
people = st.dictionaries(st.integers(1, 300), st.dictionaries(st.sampled_from(JOINTS), joints, min_size=1), max_size=3)


@settings(max_examples=40)
@given(st.lists(people, max_size=4), st.booleans())
def test_what_is_written_is_read_back(tmp_path_factory, content, is_timed):
    frames = [FrameJoints(f"f{i}", p, i / 30 if is_timed else None) for i, p in enumerate(content)]
    folder = tmp_path_factory.mktemp("joints")
    write_joints(folder / "j.json", frames)
    assert read_joints(folder / "j.json") == frames
    write_joints(folder / "j.csv", frames)
    assert read_joints(folder / "j.csv") == [FrameJoints(f.name, f.people, f.time) for f in frames if f.people]


def test_json_keeps_everything(tmp_path):
    write_joints(tmp_path / "j.json", FRAMES)
    assert read_joints(tmp_path / "j.json") == FRAMES
    content = json.loads((tmp_path / "j.json").read_text())
    assert (content["format"], content["version"], content["unit"]) == (FORMAT, VERSION, "metre")
    assert content["frames"][0] == {
        "name": "000000",
        "time": 0.0,
        "camera": CAMERA.to_dict(),
        "people": {"1": {"head": {"position": [0.1, -0.25, 2.0], "confidence": 0.9, "visible": True}}},
    }


def test_nobody_and_no_frames_are_content_too(tmp_path):
    write_joints(tmp_path / "j.json", [])
    assert read_joints(tmp_path / "j.json") == []
    write_joints(tmp_path / "j.csv", [])
    assert read_joints(tmp_path / "j.csv") == []


def test_anything_with_position_and_confidence_is_a_joint(tmp_path):
    found = SimpleNamespace(position=np.array((0.5, 0.25, 2), np.float32), confidence=np.float32(0.75))
    tracked = TrackedJoint((0.0, 0.0, 1.0), False, 0.25)
    write_joints(tmp_path / "j.csv", [FrameJoints("x", {np.uint8(2): {"neck": found, "head": tracked}})])
    assert (tmp_path / "j.csv").read_text().splitlines() == [
        "frame,person,joint,x,y,z,visible,confidence",
        "x,2,neck,0.5,0.25,2.0,1,0.75",
        "x,2,head,0.0,0.0,1.0,0,0.25",
    ]


def test_without_confidence_the_csv_is_a_data_sets(tmp_path):
    source = df.open_dataset(samples_folder())
    data = df.write_dataset(tmp_path / "data", source)
    frames = [FrameJoints(name, frame.joints) for name, frame in zip(data.names, data, strict=True)]
    original = (tmp_path / "data" / "joints.csv").read_text()
    assert read_joints(tmp_path / "data" / "joints.csv") == [f for f in frames if f.people]
    write_joints(tmp_path / "data" / "joints.csv", frames, confidence=False)
    assert (tmp_path / "data" / "joints.csv").read_text() == original
    assert list(df.open_dataset(tmp_path / "data")) == list(source)
    write_joints(tmp_path / "data" / "joints.csv", frames)
    with pytest.raises(DatasetError, match="expected the columns"):
        df.open_dataset(tmp_path / "data")[0]


def test_columns_may_stand_in_any_order(tmp_path):
    (tmp_path / "j.csv").write_bytes(b"\xef\xbb\xbfjoint,frame,z,y,x,person\r\nhead,a,3,2,1,1\r\n\r\n")
    assert read_joints(tmp_path / "j.csv") == [FrameJoints("a", {1: {"head": Joint((1.0, 2.0, 3.0))}})]


HEADER = ",".join(COLUMNS)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("frame,person,joint,x,y\n", r"line 1: lacks the column z; expected frame,person"),
        ("hello\n", "line 1: lacks the column frame"),
        (f"{HEADER},age\n", "line 1: has the column 'age' too much"),
        (f"{HEADER},x\n", "line 1: has the column 'x' too much"),
        (f"{HEADER}\na,1,tail,0,0,1,1,1\n", "line 2: no joint is called 'tail'; joints: head, neck"),
        (f"{HEADER}\na,1,head,0,zero,1,1,1\n", "line 2: y must be a number, got 'zero'"),
        (f"{HEADER}\na,1,head,0,nan,1,1,1\n", "line 2: a joint's position is three finite numbers"),
        (f"{HEADER}\na,1,head,0,0,1,yes,1\n", "line 2: visible is 0 or 1, got 'yes'"),
        (f"{HEADER}\na,1,head,0,0,1,1,2\n", "line 2: a joint's confidence lies between 0 and 1"),
        (f"{HEADER}\na,0,head,0,0,1,1,1\n", "line 2: a person's id is a whole number from 1, got '0'"),
        (f"{HEADER}\na,one,head,0,0,1,1,1\n", "line 2: a person's id is a whole number from 1, got 'one'"),
        (f"{HEADER}\n,1,head,0,0,1,1,1\n", "line 2: the frame's name is empty"),
        (f"{HEADER}\na,1,head,0,0,1\n", "line 2: expected 8 values, frame,.*, got 6"),
        (f"{HEADER}\na,1,head,0,0,1,1,1\na,1,head,0,0,1,1,1\n", "line 3: head of person 1 .* is given twice"),
        ('{"format": 3', "is not valid JSON"),
        ("[]", r"expected an object with format, version, frames, got \[\]"),
        ('{"format": "x", "version": 1, "frames": []}', "is another kind of file"),
        (f'{{"format": "{FORMAT}", "version": 2, "frames": []}}', "has version 2; this program reads 1"),
        (f'{{"format": "{FORMAT}", "version": 1}}', "lacks frames"),
        (f'{{"format": "{FORMAT}", "version": 1, "frames": 1}}', "frames must be a list, got 1"),
        (f'{{"format": "{FORMAT}", "version": 1, "unit": "inch", "frames": []}}', 'the unit must be "metre"'),
        (f'{{"format": "{FORMAT}", "version": 1, "frames": [], "frames": []}}', "'frames' is given twice"),
    ],
)
def test_broken_files_give_one_clear_line(tmp_path, text, message):
    (tmp_path / "joints").write_text(text)
    with pytest.raises(JointFileError, match=message) as caught:
        read_joints(tmp_path / "joints")
    assert str(caught.value).startswith(str(tmp_path / "joints"))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (7, "frame 0: expected an object with name, people, got 7"),
        ({"people": {}}, "frame 0: lacks name"),
        ({"name": "a", "people": {}, "pose": 1}, "frame 0: has the unknown key 'pose'"),
        ({"name": "", "people": {}}, "a frame's name is printable text"),
        ({"name": "a", "people": []}, "frame 'a': people must be an object of ids"),
        ({"name": "a", "people": {"x": {}}}, "frame 'a': a person's id is a whole number from 1, got 'x'"),
        ({"name": "a", "people": {"1": []}}, "frame 'a', person 1: expected an object of joints"),
        ({"name": "a", "time": "now", "people": {}}, "frame 'a': a frame's time is a finite number"),
        ({"name": "a", "time": 10**400, "people": {}}, "frame 'a': a frame's time is a finite number"),
        ({"name": "a", "camera": {"fx": 1}, "people": {}}, "frame 'a': "),
        ({"name": "a", "people": {"1": {"tail": {"position": [0, 0, 1]}}}}, "frame 'a': no joint is called 'tail'"),
        ({"name": "a", "people": {"1": {"head": {}}}}, "frame 'a', person 1, head: lacks position"),
        ({"name": "a", "people": {"1": {"head": {"position": [0, 1]}}}}, "head: .*three finite numbers"),
        ({"name": "a", "people": {"1": {"head": {"position": [0, "1", 2]}}}}, "position must be three finite numbers"),
        ({"name": "a", "people": {"1": {"head": {"position": [0, float("nan"), 2]}}}}, "three finite numbers"),
        ({"name": "a", "people": {"1": {"head": {"position": [0, 10**400, 2]}}}}, "three finite numbers"),
        (
            {"name": "a", "people": {"1": {"head": {"position": [0, 0, 2], "confidence": "high"}}}},
            "confidence must be a number from 0 to 1, got 'high'",
        ),
        (
            {"name": "a", "people": {"1": {"head": {"position": [0, 0, 2], "confidence": 7}}}},
            "confidence lies between 0 and 1, got 7",
        ),
        (
            {"name": "a", "people": {"1": {"head": {"position": [0, 0, 2], "visible": 1}}}},
            "visible must be true or false, got 1",
        ),
    ],
)
def test_broken_frames_are_named(tmp_path, frame, message):
    text = json.dumps({"format": FORMAT, "version": VERSION, "frames": [frame]})
    (tmp_path / "j.json").write_text(text)
    with pytest.raises(JointFileError, match=message) as caught:
        read_joints(tmp_path / "j.json")
    assert "\n" not in str(caught.value)


def test_two_frames_of_one_name_are_refused(tmp_path):
    twice = [FRAMES[0], FRAMES[0]]
    with pytest.raises(UsageError, match="two frames are called '000000'; names must be unique"):
        write_joints(tmp_path / "j.json", twice)
    frame = {"name": "a", "people": {}}
    (tmp_path / "j.json").write_text(json.dumps({"format": FORMAT, "version": VERSION, "frames": [frame, frame]}))
    with pytest.raises(JointFileError, match="two frames are called 'a'"):
        read_joints(tmp_path / "j.json")


def test_what_cannot_be_written_leaves_nothing(tmp_path):
    with pytest.raises(UsageError, match=r"give a name that ends in \.json or \.csv"):
        write_joints(tmp_path / "j.txt", FRAMES)
    with pytest.raises(DepthForestError, match="cannot be written: no such file or directory"):
        write_joints(tmp_path / "no" / "j.csv", FRAMES)
    with pytest.raises(JointFileError, match="no joint is called 'tail'"):
        FrameJoints("a", {1: {"tail": Joint((0, 0, 1))}})
    with pytest.raises(JointFileError, match="id is a whole number from 1, got True"):
        FrameJoints("a", {True: {}})
    with pytest.raises(JointFileError, match="camera is a Camera, got str"):
        FrameJoints("a", {}, camera="kinect_v1")
    assert list(tmp_path.iterdir()) == []


def test_files_that_are_none(tmp_path):
    with pytest.raises(JointFileError, match="cannot be read: no such file"):
        read_joints(tmp_path / "none.json")
    (tmp_path / "empty.csv").write_bytes(b"")
    with pytest.raises(JointFileError, match="is empty"):
        read_joints(tmp_path / "empty.csv")
    (tmp_path / "bytes.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(JointFileError, match="is not UTF-8 text"):
        read_joints(tmp_path / "bytes.csv")
