import warnings
from dataclasses import dataclass

import numpy as np
import pytest
from support.madeup import marks_of, one_part_forest
from support.naive_forest import random_forest

import depthforest as df
from depthforest.base.errors import DatasetError, DepthForestWarning, UsageError
from depthforest.evaluation.figures import FOUND, MAP
from depthforest.evaluation.marks import read_marks, score_marks, split_people
from depthforest.evaluation.options import JudgeOptions
from depthforest.frames.parts import BODY31, PCL25, REGIONS15

CAMERA = df.Camera(100.0, 100.0, 39.5, 29.5, 80, 60)


@dataclass(frozen=True)
class Found:
    position: tuple[float, float, float]
    confidence: float = 1.0
    proposals: tuple["Found", ...] = ()


@pytest.fixture
def frames():
    depth = np.zeros((60, 80), dtype=np.uint16)
    depth[10:50, 20:60] = 2000
    return {"f": df.Frame(depth, CAMERA)}


def test_a_band_counts_for_either_neighbor(tmp_path, frames):
    points = [[30, 20, "upper_arm_l"], [31, 20, "forearm_l"], [32, 20, "hand_l"], [33, 20, "upper_arm_r"]]
    marks = read_marks(marks_of(points, tmp_path=tmp_path))
    result = score_marks(one_part_forest("elbow_l"), marks, frames, JudgeOptions(joints=False))
    assert (result.n_pixels, int(result.tally.right.sum())) == (4, 2)
    assert result.figures["parts.pixel_accuracy"].value == 0.5
    assert result.figures["parts_merged.pixel_accuracy"].value == 0.75
    by_name = dict(zip(result.part_set.names, result.class_accuracies, strict=True))
    assert (by_name["forearm_l"], by_name["hand_l"]) == (1, 0)
    assert result.part_set.names == REGIONS15.names


def test_other_part_sets_are_judged_too(tmp_path, frames):
    marks = read_marks(marks_of([[30, 20, "thigh_r"], [30, 21, "torso"]], tmp_path=tmp_path))
    assert score_marks(one_part_forest("Rknee", PCL25), marks, frames, JudgeOptions(joints=False)).pixel_accuracy == 0.5
    regions = score_marks(one_part_forest("torso", REGIONS15), marks, frames, JudgeOptions(joints=False))
    assert regions.pixel_accuracy == 0.5
    chair = df.PartSet(("seat", "leg"))
    marks = read_marks(marks_of([[30, 20, "seat"]], tmp_path=tmp_path))
    assert score_marks(one_part_forest("seat", chair), marks, frames, JudgeOptions(joints=False)).pixel_accuracy == 1
    with pytest.raises(UsageError, match="no region is called 'seat'; regions: head, neck"):
        score_marks(one_part_forest("neck"), marks, frames, JudgeOptions(joints=False))


def test_joints_are_measured_in_the_plane_at_the_proposals_depth(tmp_path, frames):
    # the mark is at (x, y) = (0.1, 0) per meter of depth
    joints = {"head": [49.5, 29.5, True], "neck": [49.5, 29.5, False], "hip_l": None}
    marks = read_marks(marks_of([[30, 20, "torso"]], joints, tmp_path))

    def find(_frame, _labeling):
        near = Found((0.30 + 0.06, 0.08, 3.0), 0.5)  # 3 m deep: the mark is at 0.30, 0; the gap 6 and 8 cm
        far = Found((0.20, 0.11, 2.0), 0.9)
        return {"head": Found(near.position, 0.7, (far, near)), "neck": Found(far.position, 0.9, (far,)),
                "hip_l": Found((0.0, 0.0, 2.0), 0.8, (far,))}  # fmt: skip

    result = score_marks(one_part_forest("neck"), marks, frames, JudgeOptions(joints=find))
    assert result.joints.names == ("head",)  # the others cannot be seen
    assert result.joints.chosen_m["head"][0] == pytest.approx(0.1)
    np.testing.assert_allclose(result.joints.proposals["head"].distance_m, [0.11, 0.1])
    assert result.joints.proposals["head"].average_precision(0.1001) == 0.5  # after one false alarm
    assert np.isinf(result.joints.proposals["hip_l"].distance_m).all()
    assert result.joints.proposals["hip_l"].is_hidden.all()
    assert "spine" not in result.joints.names
    assert {MAP, FOUND} <= set(result.figures)


def test_two_people_are_told_apart_by_their_nearest_marks():
    depth = np.zeros((60, 80), dtype=np.uint16)
    depth[10:50, 10:40] = 1300
    depth[10:50, 40:70] = 1900
    depth[20:40, 30:40] = 1890  # the second reaches behind the first
    frame = df.Frame(depth, CAMERA)
    from depthforest.evaluation.marks import FrameMarks, PersonMarks

    first = PersonMarks(((20, 15, "torso"), (40, 30, "torso")), {})
    second = PersonMarks(((20, 50, "torso"), (40, 60, "torso")), {})
    people = split_people(frame, FrameMarks((60, 80), (first, second)))
    np.testing.assert_array_equal(people == 1, depth == 1300)
    np.testing.assert_array_equal(people == 2, depth > 1300)
    alone = split_people(frame, FrameMarks((60, 80), (first,)))
    np.testing.assert_array_equal(alone, depth > 0)


def test_threads_change_nothing(tmp_path, frames):
    forest = random_forest(np.random.default_rng(0), 2, 4, BODY31)
    marks = read_marks(marks_of([[c, 20, "torso"] for c in range(22, 58)], tmp_path=tmp_path))
    a, b = (score_marks(forest, marks, frames, JudgeOptions(joints=False, threads=t)).to_dict() for t in (1, 2))
    assert a == b


def test_marks_without_a_reading_are_left_out_and_counted(tmp_path, frames):
    marks = read_marks(marks_of([[30, 20, "neck"], [0, 0, "torso"]], tmp_path=tmp_path))
    with pytest.warns(DepthForestWarning, match="1 of the marked points lie where there is no reading"):
        result = score_marks(one_part_forest("neck"), marks, frames, JudgeOptions(joints=False))
    assert (result.n_pixels, result.pixel_accuracy) == (1, 1)


def test_frames_that_do_not_fit_are_refused(tmp_path, frames):
    marks = read_marks(marks_of([[30, 20, "neck"]], tmp_path=tmp_path))
    with pytest.raises(UsageError, match="there is no frame 'f', which has marks"):
        score_marks(one_part_forest("neck"), marks, {}, JudgeOptions(joints=False))
    wide = read_marks(marks_of([[30, 20, "neck"]], tmp_path=tmp_path, width=160, height=120))
    with pytest.raises(UsageError, match="frame f has 80 x 60 pixels, but its marks are for 160 x 120"):
        score_marks(one_part_forest("neck"), wide, frames, JudgeOptions(joints=False))


@pytest.mark.parametrize(
    ("points", "joints", "message"),
    [
        ([], {"nose": [1, 1, True]}, r"frame f, person 1: no joint is called 'nose'; joints: head"),
        ([], {"head": [1, 1]}, r"person 1, head: a joint is \[col, row, visible\] or null"),
        ([], {"head": [1, "a", True]}, r"a joint is \[col, row, visible\]"),
        ([], {"head": [1, float("nan"), True]}, r"a joint is \[col, row, visible\]"),
        ([[1, 2]], {}, r"a point is \[col, row, region\], got \[1, 2\]"),
        ([[1, 2, 3]], {}, r"a point is \[col, row, region\]"),
        ([[80, 2, "neck"]], {}, r"lies outside the picture of 80 x 60"),
    ],
)
def test_wrong_marks_are_named(tmp_path, points, joints, message):
    with pytest.raises(DatasetError, match=message):
        read_marks(marks_of(points, joints, tmp_path))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "expected an object with one entry for each marked frame"),
        ("{", "is not valid JSON"),
        ('{"f": 1}', "frame f: expected an object with width, height and people"),
        ('{"f": {"width": 1, "height": 1, "people": "a"}}', "frame f: people must be a list"),
        ('{"f": {"width": -1, "height": 1, "people": []}}', "frame f: width and height must be whole pixels"),
        ('{"f": {"width": 9, "height": 9, "people": [3]}}', "frame f, person 1: expected an object"),
        ('{"f": {"width": 9, "height": 9, "people": [{"points": 3}]}}', "points must be a list and joints an object"),
    ],
)
def test_files_that_are_no_marks_are_refused(tmp_path, text, message):
    path = tmp_path / "marks.json"
    path.write_text(text)
    with pytest.raises(DatasetError, match=message):
        read_marks(path)


def test_the_real_marks_are_scored(shared_data):
    folder = shared_data("real_kinect_v1")
    marks = read_marks(folder / "marks.json")
    assert sum(len(p.points) for m in marks.values() for p in m.people) == 258
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        frames = {name: df.read_depth(folder / f"{name}.png", "kinect_v1") for name in marks}
        result = score_marks(df.load(), marks, frames, JudgeOptions(joints=False, mirror=False))
    assert result.n_pixels == 258
    assert result.pixel_accuracy > 0.7
    people = split_people(frames["sk_82823944"], marks["sk_82823944"])
    assert frames["sk_82823944"].depth_mm[people == 1].max() < 1700 < frames["sk_82823944"].depth_mm[people == 2].min()
