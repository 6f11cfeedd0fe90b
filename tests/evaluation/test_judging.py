import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score, confusion_matrix, jaccard_score
from support.madeup import made_up, near_finder
from support.naive_forest import random_forest

import depthforest as df
from depthforest.base.errors import UsageError
from depthforest.evaluation.figures import FOUND, MAP, Evaluation
from depthforest.evaluation.judging import evaluate_many, joint_finder
from depthforest.evaluation.options import JudgeOptions
from depthforest.forest.forest import Forest
from depthforest.frames.frame import LabeledFrame
from depthforest.frames.parts import BODY31, BODY31_TO_REGIONS15, JOINTS, NO_PART, PCL25, REGIONS15
from synth.config import Config
from synth.generator import Generator


@pytest.fixture(scope="module")
def frames():
    return list(
        Generator(Config(camera="kinect_v1@80x60", n_bodies=3, n_poses=64, people_shares=(0.5, 0.5)), seed=2, n=6)
    )


@pytest.fixture(scope="module")
def forest():
    return random_forest(np.random.default_rng(0), 2, 5, BODY31)


def answers(forest, frames):
    """Return the true and the answered labels of all people, by the plain walk."""
    truth, answered = [], []
    for frame in frames:
        for person in np.unique(frame.people[frame.parts != NO_PART]):
            mask = frame.people == person
            predicted = forest.predict(frame, mask)
            is_counted = mask & (frame.parts != NO_PART) & (predicted != NO_PART)
            truth.append(frame.parts[is_counted])
            answered.append(predicted[is_counted])
    return np.concatenate(truth), np.concatenate(answered)


def without_speed(evaluation):
    return json.dumps(replace(evaluation, speed=None).to_dict())


def test_counts_are_scikit_learns(frames, forest):
    truth, answered = answers(forest, frames)
    expected = confusion_matrix(truth, answered, labels=range(31))
    for threads in (1, 2):
        result = df.evaluate(forest, frames, threads=threads, joints=False)
        np.testing.assert_array_equal(result.confusion, expected)
    assert result.n_frames == 6
    assert result.pixel_accuracy == pytest.approx(np.trace(expected) / expected.sum())
    assert result.mean_iou == pytest.approx(jaccard_score(truth, answered, average="macro"))
    seen = expected.sum(axis=1) > 0
    expected_mean = np.mean(np.diagonal(expected)[seen] / expected.sum(axis=1)[seen])
    assert result.mean_class_accuracy == pytest.approx(expected_mean)
    assert set(result.to_dict()["class_accuracy"]) == {n for n, s in zip(BODY31.names, seen, strict=True) if s}


def test_merged_sides_are_scikit_learns(frames, forest):
    truth, answered = answers(forest, frames)
    group = np.minimum(np.array(BODY31.mirror), np.arange(31))
    figures = df.evaluate(forest, frames, joints=False).figures
    is_seen = np.isin(group[answered], group[truth])  # scikit-learn warns of answers that no truth has
    assert is_seen.all()
    expected = balanced_accuracy_score(group[truth], group[answered])
    assert figures["parts_merged.mean_class_accuracy"].value == pytest.approx(expected)


def test_regions_count_bands_for_either_neighbor(frames, forest):
    truth, answered = answers(forest, frames)
    table, accepts = BODY31_TO_REGIONS15.table, BODY31_TO_REGIONS15.accepts
    is_right = accepts[truth, table[answered]] | accepts[answered, table[truth]]
    result = df.evaluate(forest, frames, joints=False)
    assert result.figures["regions.pixel_accuracy"].value == pytest.approx(is_right.mean())
    each = [is_right[table[truth] == r].mean() for r in np.unique(table[truth])]
    assert result.figures["regions.mean_class_accuracy"].value == pytest.approx(np.mean(each))


def test_everything_is_the_same_on_any_number_of_threads(frames, forest):
    one, two = (df.evaluate(forest, frames, threads=t, joints=near_finder(frames), seed=4) for t in (1, 2))
    assert without_speed(one) == without_speed(two)


def test_joints_by_hand(frames, forest):
    result = df.evaluate(forest, frames, joints=near_finder(frames))
    assert result.joints is not None
    precisions = result.joints.average_precisions()
    visible = {n for f in frames for j in f.joints.values() for n in j if j[n].is_visible}
    assert set(precisions) == visible
    # all first proposals within 10 cm: precision 1 until all are found; the far ones come later
    near = [n for i, n in enumerate(JOINTS) if n in visible and i < 10]
    far = [n for i, n in enumerate(JOINTS) if n in visible and i >= 10]
    assert all(precisions[name] == 1 for name in near)
    assert all(precisions[name] == 0 for name in far)
    assert result.figures[MAP].value == pytest.approx(np.mean(list(precisions.values())))
    assert {name: value == 1 for name, value in zip(precisions, result.joints.found_shares(), strict=True)} == {
        name: value == 1 for name, value in precisions.items()
    }
    assert result.figures[FOUND].value == pytest.approx(result.joints.found_shares().mean())
    content = result.to_dict()["joints"]
    assert content["curves"][far[-1]][30] == 1.0  # at 30 cm all are found
    assert len(content["mean_curve"]) == len(content["distances_m"]) == 31


def test_joints_that_are_not_found_are_missed(frames, forest):
    result = df.evaluate(forest, frames, joints=lambda _frame, _labeling: {})
    assert result.figures[MAP].value == 0
    assert result.figures[FOUND].value == 0


def test_why_there_are_no_joints_is_said(frames, forest):
    assert df.evaluate(forest, frames, joints=False).no_joints == "joints were not requested"
    bare = [LabeledFrame(f.depth_mm, f.camera, f.parts, f.people) for f in frames]
    result = df.evaluate(forest, bare, joints=near_finder(frames))
    assert result.joints is None
    assert result.to_dict()["joints"] == {"skipped": "the data has no visible joints"}
    assert MAP not in result.figures


def test_any_part_set_is_evaluated():
    frames, forest = made_up()
    result = df.evaluate(forest, frames)
    assert [s.level.title for s in result.levels] == ["3 parts", "3 parts, sides merged"]
    assert "seat, leg_l, leg_r" in result.no_joints
    truth, answered = answers(forest, frames)
    assert result.pixel_accuracy == pytest.approx((truth == answered).mean())
    merged = np.array([0, 1, 1])
    expected = (merged[truth] == merged[answered]).mean()
    assert result.figures["parts_merged.pixel_accuracy"].value == pytest.approx(expected)


def test_pcl_parts_are_judged_on_our_frames(frames):
    forest = random_forest(np.random.default_rng(5), 2, 5, PCL25)
    result = df.evaluate(forest, frames, joints=False)
    assert result.part_set.names == PCL25.names
    assert result.n_pixels == df.evaluate(forest, frames, joints=False, threads=1).n_pixels > 0
    assert "regions.mean_class_accuracy" in result.figures


def test_our_parts_are_judged_on_regions(frames, forest):
    coarse = [
        LabeledFrame(f.depth_mm, f.camera, BODY31_TO_REGIONS15.apply(f.parts), f.people, part_set=REGIONS15)
        for f in frames
    ]
    result = df.evaluate(forest, coarse, joints=False)
    truth, answered = answers(forest, frames)
    is_right = BODY31_TO_REGIONS15.accepts[answered, BODY31_TO_REGIONS15.table[truth]]
    assert result.pixel_accuracy == pytest.approx(is_right.mean())


def test_several_forests_take_one_pass(frames, forest):
    read = []

    class Counted(df.frames.FrameSource):
        def __len__(self):
            return len(frames)

        def _frame(self, number):
            read.append(number)
            return frames[number]

    other = random_forest(np.random.default_rng(9), 1, 4, BODY31)
    found = evaluate_many([forest, other], Counted(), JudgeOptions(joints=False, timed_frames=0, threads=1))
    assert read == [0, *range(6)]  # the first once more, for its part set
    for own, result in zip((forest, other), found, strict=True):
        assert without_speed(result) == without_speed(df.evaluate(own, frames, joints=False))
        assert result.speed is None
    same = found[0].compared_with(found[0])
    assert all(gap.value == 0 and not gap.is_clear for gap in same.values())
    gaps = found[1].compared_with(found[0])
    a, b = (e.figures["parts.pixel_accuracy"] for e in found)
    assert gaps["parts.pixel_accuracy"].value == b.value - a.value


def test_models_of_other_parts_are_compared_in_what_they_share(frames, forest):
    pcl = random_forest(np.random.default_rng(5), 2, 5, PCL25)
    ours, theirs = evaluate_many([forest, pcl], frames, JudgeOptions(joints=False))
    assert set(theirs.compared_with(ours)) == {name for name in theirs.figures if name.startswith("regions")}


def test_breakdowns_add_up(frames, forest):
    sensors = ["a", "a", "a", "b", "b", "b"]
    result = df.evaluate(forest, frames, joints=near_finder(frames), sensors=sensors)
    for axis in {s.axis for s in result.slices}:
        assert sum(s.n_views for s in result.slices if s.axis == axis) == len(result.views)
    for name, half in (("a", frames[:3]), ("b", frames[3:])):
        (own,) = (s for s in result.slices if (s.axis, s.label) == ("sensor", name))
        alone = df.evaluate(forest, half, joints=near_finder(frames))
        for figure in ("parts.mean_class_accuracy", "regions.pixel_accuracy", MAP):
            assert own.figures[figure].value == pytest.approx(alone.figures[figure].value)
    assert {"distance", "yaw", "border", "sensor"} >= {s.axis for s in result.slices}


def test_intervals_are_those_of_drawn_frames(frames, forest):
    result = df.evaluate(forest, frames, joints=False, seed=3)
    each = [df.evaluate(forest, [f], joints=False).confusion for f in frames]
    drawn = np.random.default_rng(3).integers(6, size=(50, 6))  # the first block of replicates
    expected = [np.trace(c) / c.sum() for c in (sum(each[i] for i in row) for row in drawn)]
    np.testing.assert_allclose(result.figures["parts.pixel_accuracy"].replicates[:50], expected)
    low, high = result.spread("parts.class_accuracies")
    is_seen = np.isfinite(result.class_accuracies)
    assert (low[is_seen] <= result.class_accuracies[is_seen]).all()
    assert (high[is_seen] >= result.class_accuracies[is_seen]).all()


def test_frames_have_accuracies_of_their_own(frames, forest):
    result = df.evaluate(forest, frames, joints=False)
    expected = [df.evaluate(forest, [f], joints=False).pixel_accuracy for f in frames]
    np.testing.assert_allclose(result.frame_accuracies, expected)
    assert result.frame_pixels.sum() == result.n_pixels


def test_frames_without_people_count_as_frames(frames, forest):
    empty = LabeledFrame(
        frames[0].depth_mm, frames[0].camera, np.full((60, 80), NO_PART, np.uint8), np.zeros((60, 80), np.uint8)
    )
    result = df.evaluate(forest, [empty, *frames], joints=False)
    assert result.n_frames == 7
    assert np.isnan(result.frame_accuracies[0])
    nobody = df.evaluate(forest, [empty], joints=False)
    assert np.isnan(nobody.pixel_accuracy)
    assert nobody.to_dict()["pixel_accuracy"] is None
    assert nobody.slices == []


def test_a_mirrored_walk_is_used_when_asked_for(frames, forest):
    mirrored = Forest(**{**forest_columns(forest), "mirror": True})
    asked = df.evaluate(forest, frames, joints=False, mirror=True)
    assert not np.array_equal(asked.confusion, df.evaluate(forest, frames, joints=False).confusion)
    np.testing.assert_array_equal(asked.confusion, df.evaluate(mirrored, frames, joints=False).confusion)


def forest_columns(forest):
    names = ("roots", "offsets", "thresholds", "children", "leaves", "part_set")
    return {name: getattr(forest, name) for name in names}


def test_speed_is_measured(frames, forest):
    speed = df.evaluate(forest, frames, joints=near_finder(frames), timed_frames=3, threads=1).speed
    assert (speed.n_frames, speed.threads) == (3, 1)
    assert speed.label_ms > 0
    assert speed.to_dict()["label_per_second"] == pytest.approx(1000 / speed.label_ms, abs=0.1)


def test_a_bare_confusion_matrix_still_has_its_figures():
    evaluation = Evaluation(np.array([[3, 1], [0, 0]]), df.PartSet(("a", "b")), 1)
    assert evaluation.pixel_accuracy == 0.75
    assert evaluation.mean_class_accuracy == 0.75
    assert evaluation.mean_iou == pytest.approx((3 / 4 + 0) / 2)
    assert evaluation.to_dict()["class_accuracy"] == {"a": 0.75}


def test_progress_is_told_of_every_frame(frames, forest):
    told = []
    df.evaluate(forest, frames, joints=False, progress=told.append)
    assert told == [1] * 6


def test_misuse_is_refused(frames, forest):
    with pytest.raises(UsageError, match="there are no frames to evaluate"):
        df.evaluate(forest, [])
    other = random_forest(np.random.default_rng(0), 1, 2, df.PartSet(("a", "b")))
    with pytest.raises(UsageError, match=r"lacks the parts head_upper_l, .* its own \(a, b\)"):
        df.evaluate(other, frames)
    with pytest.raises(UsageError, match="sensors must name one for each of the 6 frames, got 2"):
        df.evaluate(forest, frames, sensors=["a", "b"])
    with pytest.raises(UsageError, match="frame 6 has a different part set than the first"):
        df.evaluate(forest, [*frames, made_up(1)[0][0]], joints=False)


def test_the_shipped_models_joints_are_judged():
    from depthforest.base.resources import samples_folder

    data = df.open_dataset(samples_folder())
    result = df.evaluate(df.load(), data, timed_frames=1)
    assert result.no_joints == ""
    assert result.figures[MAP].value > 0.2
    assert result.joints.calibration.n.sum() > 0
    assert result.speed.joints_ms > 0


def test_joints_are_found_fast_unless_asked_otherwise():
    assert joint_finder(BODY31)[0].keywords == {"exact": False}
    assert joint_finder(BODY31, exact=True)[0].keywords == {"exact": True}
    assert joint_finder(PCL25)[1] == ""
    finder, reason = joint_finder(df.PartSet(("seat", "leg")))
    assert finder is None
    assert "no joint can be found from the parts seat, leg" in reason
