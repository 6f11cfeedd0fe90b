import json
import math

import numpy as np
import pytest
from support.people import PlantedTracker, boxes, labeled, marked, planted

import depthforest as df
from depthforest.base.errors import UsageError
from depthforest.base.resources import samples_folder
from depthforest.evaluation.people.ids import IdScore
from depthforest.evaluation.people.judging import N_WORST, evaluate_people
from depthforest.evaluation.people.score import FIGURES
from synth.config import Config
from synth.generator import Generator
from synth.recording import Recording

PERSON = (1, 10, 50, 10, 30)
HALF = (1, 10, 34, 10, 30)  # 0.6 of it
FALSE = (9, 0, 60, 60, 80)


@pytest.fixture
def score():
    """Judge five frames: found, found badly with a false one beside, missed, empty, empty with two false ones."""
    truth = [boxes(PERSON)] * 3 + [boxes()] * 2
    answers = [boxes(PERSON), boxes(HALF, FALSE), boxes(), boxes(), boxes(FALSE, (8, 0, 60, 0, 20))]
    return evaluate_people([labeled(t, i) for i, t in enumerate(truth)], find=planted(answers))


def test_the_figures(score):
    assert (score.n_frames, score.n_empty_frames, score.n_people, score.n_found, score.n_false) == (5, 2, 3, 2, 3)
    assert score.recall == pytest.approx(2 / 3)
    assert score.mean_iou == pytest.approx(1.6 / 3)
    assert score.ious.tolist() == [1.0, 0.6, 0.0]
    assert score.false_per_frame == pytest.approx(3 / 5)
    assert score.false_per_empty_frame == pytest.approx(2 / 2)
    assert score.false_per_peopled_frame == pytest.approx(1 / 3)
    assert score.ids is None
    assert list(score.figures) == list(FIGURES)
    for estimate in score.figures.values():
        assert estimate.low <= estimate.value <= estimate.high
        assert estimate.low < estimate.high


def test_the_worst_frames_come_first(score):
    assert [w.judged.index for w in score.worst] == [4, 1, 2]  # 2, 1.4 and 1; the others have no fault
    worst = score.worst[1]
    assert worst.found.ids == (9, 1)
    assert worst.frame.people.any()
    answers = [boxes(*[(i + 1, 0, 60, 4 * i, 4 * i + 3) for i in range(n % 20)]) for n in range(40)]
    many = evaluate_people([labeled(boxes(), i) for i in range(40)], find=planted(answers))
    assert [w.judged.index for w in many.worst] == [19, 39, 18, 38, 17, 37, 16, 36, 15, 35, 14, 34]
    assert len(many.worst) == N_WORST


def test_json(score):
    content = json.loads(json.dumps(score.to_dict()))
    assert (content["frames"], content["empty_frames"], content["people"], content["found"]) == (5, 2, 3, 2)
    assert content["figures"]["recall"]["value"] == pytest.approx(2 / 3, abs=1e-5)
    assert content["rule"] == {"least_seen": 0.005, "found_iou": 0.5, "false_iou": 0.3, "ignored_share": 0.4}
    assert content["worst"][0] == {"frame": 4, "badness": 2.0}
    assert "ids" not in content


def test_what_is_not_there_has_no_figure():
    empty = evaluate_people([labeled(boxes())], find=planted([boxes()]))
    assert math.isnan(empty.recall)
    assert math.isnan(empty.mean_iou)
    assert math.isnan(empty.false_per_peopled_frame)
    assert (empty.false_per_frame, empty.false_per_empty_frame, empty.worst) == (0, 0, ())
    assert empty.to_dict()["figures"]["recall"] == {"value": None, "low": None, "high": None}
    peopled = evaluate_people([marked(boxes(PERSON))], find=planted([boxes(PERSON)]))
    assert math.isnan(peopled.false_per_empty_frame)
    assert peopled.recall == 1


def test_two_finders_are_compared_on_the_same_draws(score):
    frames = [labeled(boxes(PERSON), i) for i in range(5)]
    good, bad = (evaluate_people(frames, find=planted([boxes(who)] * 5)) for who in (PERSON, FALSE))
    gap = bad.compared_with(good)
    assert (gap["recall"].value, gap["recall"].low, gap["recall"].high) == (-1, -1, -1)
    assert gap["false_per_frame"].value == 1
    assert gap["false_per_frame"].is_clear
    assert not score.compared_with(score)["recall"].is_clear


def test_people_of_a_recording_are_tracked():
    frames = [labeled(boxes(PERSON), i) for i in range(4)]
    answers = [boxes((i, *PERSON[1:])) for i in (3, 3, 5, 3)]
    score = evaluate_people(frames, recording=True, tracker=lambda _background: PlantedTracker(answers))
    assert score.ids == IdScore(4, 3, 2, 1)
    assert (score.recall, score.false_per_frame) == (1, 0)
    assert score.to_dict()["ids"] == {"kept": 0.75, "switches": 2, "people": 1, "seen": 4}


def test_a_synthetic_recording_keeps_its_ids():
    config = Config(camera="kinect_v1@160x120", n_bodies=2, people_shares=(0.0, 1.0), furnished_share=0.0)
    frames = Recording(config, seed=3, n=8)
    score = evaluate_people(frames, recording=True, background=frames.empty_room)
    assert score.ids.n_people == 2
    assert score.recall > 0.9
    assert score.ids.kept == score.recall
    assert score.ids.n_switches == 0


def test_what_is_judged_is_what_find_people_says():
    samples = df.open_dataset(samples_folder())
    score = evaluate_people(samples, threads=1)
    assert score.n_people == sum(len(np.unique(f.people[f.people > 0])) for f in samples)
    assert score.recall == 1
    assert score.mean_iou > 0.95
    again = evaluate_people(samples, threads=2)
    assert again.frames == score.frames
    assert again.to_dict() == score.to_dict()


def test_backgrounds_of_one_room_and_of_each_frame():
    rooms = Generator(Config(camera="kinect_v1@160x120", n_bodies=2, n_poses=64), seed=2, n=3)
    seen = []

    def find(frame, background):
        seen.append(background)
        return df.find_people(frame, background)

    score = evaluate_people(rooms, background=rooms.empty_room, find=find, threads=1)
    assert score.mean_iou > 0.9
    assert len({id(b) for b in seen}) == 3
    assert all(isinstance(b, df.Background) for b in seen)
    seen.clear()
    evaluate_people(rooms[:1], background=rooms.empty_room(0), find=find, threads=1)
    assert (seen[0].depth_mm == rooms.empty_room(0).depth_mm).all()
    known = df.Background(rooms.empty_room(0))
    evaluate_people(rooms[:1], background=known, find=find, threads=1)
    assert seen[1] is known


def test_progress_is_told():
    told = []
    evaluate_people([labeled(boxes(), i) for i in range(3)], find=planted([boxes()] * 3), progress=told.append)
    assert told == [1, 1, 1]


def test_misuse_is_refused():
    with pytest.raises(UsageError, match="there are no frames to find people in"):
        evaluate_people([])
    with pytest.raises(UsageError, match="frame 0 is a Frame; evaluate_people takes LabeledFrames"):
        evaluate_people([df.Frame(labeled(boxes()).depth_mm, labeled(boxes()).camera)])
    with pytest.raises(UsageError, match="least_seen must be a share of the picture from 0 to 1, got 50"):
        evaluate_people([labeled(boxes())], least_seen=50)
