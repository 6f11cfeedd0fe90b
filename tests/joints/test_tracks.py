import dataclasses
import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import naive_tracks

from depthforest.base.errors import FrameError, UsageError
from depthforest.frames.frame import Joint
from depthforest.joints.tracks import JointTracks, TrackedJoint, TrackSettings

PAPER = TrackSettings(lead=0.0, jump_m=1e6)


def found(*position, confidence=0.8):
    return SimpleNamespace(position=position, confidence=confidence)


def follow(places, settings, fps=30.0):
    """Filter places of one joint; None where it was not found."""
    tracks = JointTracks(fps, settings)
    frames = [tracks.add({1: {} if place is None else {"head": found(*place)}}) for place in places]
    return [frame.get(1, {}).get("head") for frame in frames]


def wander(rng, n):
    return np.cumsum(rng.normal(0, 0.03, (n, 3)), axis=0) + (0, 0, 2)


@pytest.mark.parametrize("seed", range(4))
def test_the_filter_equals_its_naive_twin(seed):
    rng = np.random.default_rng(seed)
    places, times = wander(rng, 50), np.cumsum(rng.uniform(0.01, 0.1, 50))
    tracks = JointTracks(settings=PAPER)
    comp = [tracks.add({3: {"hand_l": found(*p)}}, time=t)[3]["hand_l"] for p, t in zip(places, times, strict=True)]
    ref = naive_tracks.one_euro(
        places, times, min_cutoff=PAPER.min_cutoff_hz, gain=PAPER.speed_gain, speed_cutoff=PAPER.speed_cutoff_hz
    )
    np.testing.assert_allclose([j.position for j in comp], ref, rtol=0, atol=1e-12)
    assert not any(j.is_bridged for j in comp)
    assert {j.confidence for j in comp} == {0.8}


def test_a_step_is_answered_as_a_low_pass_does():
    """Without gain, x(k) = 1 - (1 - alpha)^k."""
    settings = dataclasses.replace(PAPER, speed_gain=0.0)
    answer = [j.position[0] for j in follow([(0, 0, 2)] + [(1, 0, 2)] * 20, settings)]
    alpha = 1 / (1 + 30 / (2 * math.pi * settings.min_cutoff_hz))
    np.testing.assert_allclose(answer, 1 - (1 - alpha) ** np.arange(21), atol=1e-12)


def test_a_joint_at_rest_stays_and_lead_removes_the_lag_of_steady_motion():
    assert follow([(0.3, -0.2, 2.5)] * 30, TrackSettings())[-1].position == pytest.approx((0.3, -0.2, 2.5), abs=1e-12)
    way = [(k / 30, 0, 2) for k in range(300)]  # 1 m/s
    settings = dataclasses.replace(PAPER, speed_gain=0.0)
    late = way[-1][0] - follow(way, settings)[-1].position[0]
    tau = 1 / (2 * math.pi * settings.min_cutoff_hz)
    assert late == pytest.approx(tau, rel=1e-6)  # speed times the time constant
    late = way[-1][0] - follow(way, dataclasses.replace(settings, lead=1.0))[-1].position[0]
    assert abs(late) < 1e-6


def test_fast_joints_are_followed_more_closely_than_slow_ones():
    way = [(2 * k / 30, 0, 2) for k in range(90)]
    late = [way[-1][0] - follow(way, dataclasses.replace(PAPER, speed_gain=g))[-1].position[0] for g in (0.0, 3.0)]
    assert late[1] < 0.25 * late[0]


def test_noise_shrinks():
    rng = np.random.default_rng(0)
    noisy = rng.normal((0, 0, 2), 0.03, (300, 3))
    calm = np.array([j.position for j in follow(noisy, TrackSettings())])
    assert calm[30:].std(axis=0).max() < 0.55 * noisy.std(axis=0).min()
    assert np.abs(calm[30:].mean(axis=0) - (0, 0, 2)).max() < 0.005


def test_a_short_gap_is_bridged_and_marked_then_the_joint_is_dropped():
    settings = TrackSettings(max_gap_s=0.19)
    answer = follow([(0, 0, 2)] * 10 + [None] * 10, settings)
    assert all(j is not None and not j.is_bridged for j in answer[:10])
    bridged = answer[10:15]
    assert all(j.is_bridged and not j.is_visible for j in bridged)
    # confidence falls in a straight line to 0 when the joint is dropped
    expected = [0.8 * (1 - k / 30 / 0.19) for k in range(1, 6)]
    assert [j.confidence for j in bridged] == pytest.approx(expected)
    assert answer[15:] == [None] * 5


def test_a_bridged_joint_flies_on_and_slows_down():
    settings = dataclasses.replace(PAPER, coast_s=0.2, max_gap_s=1.0)
    way = [(k / 30, 0, 2) for k in range(200)]
    answer = follow(way + [None] * 20, settings)
    last = answer[199].position[0]
    expected = [last + 0.2 * (1 - math.exp(-k / 30 / 0.2)) for k in range(1, 21)]  # 1 m/s at first
    assert [j.position[0] for j in answer[200:]] == pytest.approx(expected, abs=1e-6)
    still = follow(way + [None], dataclasses.replace(settings, coast_s=0.0))
    assert still[-1].position == still[-2].position


def test_after_a_gap_the_track_goes_on():
    answer = follow([(0, 0, 2)] * 10 + [None] * 3 + [(0.05, 0, 2)], PAPER)
    assert 0 < answer[-1].position[0] < 0.05
    assert not answer[-1].is_bridged
    again = follow([(0, 0, 2)] * 10 + [None] * 30 + [(0.05, 0, 2)], PAPER)
    assert again[-1].position[0] == 0.05, "after a long gap it starts anew"


def test_frames_far_apart_are_left_as_they_are():
    places = wander(np.random.default_rng(0), 9)
    np.testing.assert_array_equal([j.position for j in follow(places, TrackSettings(), fps=4)], places)


def test_a_jump_of_one_frame_is_left_out():
    answer = follow([(0, 0, 2)] * 10 + [(0.8, 0, 2)] + [(0, 0, 2)] * 3, TrackSettings())
    assert answer[10].is_bridged
    assert max(abs(j.position[0]) for j in answer) < 1e-9


def test_a_jump_that_stays_is_believed_in_the_second_frame():
    answer = follow([(0, 0, 2)] * 10 + [(0.8, 0, 2)] * 3, TrackSettings())
    assert answer[10].is_bridged
    assert answer[11].position[0] == 0.8
    assert not answer[11].is_bridged
    # two jumps to different places confirm nothing
    answer = follow([(0, 0, 2)] * 10 + [(0.8, 0, 2), (-0.8, 0, 2), (0, 0, 2)], TrackSettings())
    assert answer[10].is_bridged
    assert answer[11].is_bridged
    assert abs(answer[12].position[0]) < 1e-9


def test_jumping_for_long_ends_in_a_new_start():
    rng = np.random.default_rng(0)
    places = [(0, 0, 2)] * 5 + [tuple(rng.uniform(-50, 50, 3)) for _ in range(20)]
    answer = follow(places, TrackSettings())
    assert any(j is not None and not j.is_bridged for j in answer[6:])


@given(st.lists(st.tuples(*[st.floats(-3, 3)] * 3) | st.none(), min_size=1, max_size=40), st.floats(-3, 3))
def test_turning_the_camera_turns_the_answer(places, angle):
    cos, sin = math.cos(angle), math.sin(angle)

    def turned(p):
        return None if p is None else (cos * p[0] - sin * p[1], sin * p[0] + cos * p[1], p[2])

    settings = dataclasses.replace(PAPER, lead=0.5)
    plain, other = follow(places, settings), follow([turned(p) for p in places], settings)
    for a, b in zip(plain, other, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            assert b.position == pytest.approx(turned(a.position), abs=1e-9)
            assert (a.confidence, a.is_bridged) == (b.confidence, b.is_bridged)


@given(st.lists(st.tuples(*[st.floats(-3, 3)] * 3) | st.none(), min_size=1, max_size=60))
def test_what_comes_out_is_never_absurd(places):
    answer = follow(places, TrackSettings())
    low, high = -3 - 60 * 3, 3 + 60 * 3
    for place, joint in zip(places, answer, strict=True):
        assert place is None or joint is not None
        if joint is not None:
            assert all(low < c < high for c in joint.position)
            assert 0 <= joint.confidence <= 0.8


def test_time_stamps_and_frames_a_second_mean_the_same():
    places = wander(np.random.default_rng(1), 20)
    stamped = JointTracks(fps=7)
    ref = follow(places, TrackSettings(), fps=25)
    comp = [stamped.add({1: {"head": found(*p)}}, time=100 + k / 25)[1]["head"] for k, p in enumerate(places)]
    np.testing.assert_allclose([j.position for j in comp], [j.position for j in ref], atol=1e-9)


def test_people_and_joints_do_not_mix():
    rng = np.random.default_rng(2)
    ways = {(person, name): wander(rng, 30) for person in (1, 4) for name in ("head", "neck")}
    tracks = JointTracks()
    for k in range(30):
        frame = {p: {n: found(*ways[p, n][k]) for n in ("head", "neck")} for p in (1, 4)}
        answer = tracks.add(frame)
    assert set(answer) == {1, 4}
    for (person, name), way in ways.items():
        assert answer[person][name] == follow(way, TrackSettings())[-1]


def test_a_person_who_leaves_is_bridged_and_then_gone():
    tracks = JointTracks()
    for _ in range(5):
        tracks.add({7: {"head": found(0, 0, 2)}})
    assert tracks.add({})[7]["head"].is_bridged
    answers = [tracks.add({}) for _ in range(100)]
    assert answers[-1] == {}
    assert tracks._people == {}, "nothing is kept for ever"


def skeleton(x, z=2.0):
    names = ("head", "neck", "spine", "hip_l", "knee_l", "ankle_l", "foot_r")
    return {name: found(x, -0.8 + 0.25 * k, z) for k, name in enumerate(names)}


def test_the_joints_of_one_person_alone_are_refused():
    joints = {"head": Joint((0.0, 0.0, 2.0), is_visible=True)}
    for people in (joints, [joints], None):
        with pytest.raises(UsageError, match=r"by id, as in \{1: joints\}"):
            JointTracks().add(people)
    assert JointTracks(np.float32(30)).add({1: joints}, time=np.float64(2))


def test_matched_ids_follow_people_who_change_places():
    """Ids of the frames are by size, as those of `find_people`: they swap when two people pass each other."""
    tracks = JointTracks(match=True)
    ids = set()
    for k in range(60):
        left, right = skeleton(-1 + k / 30, 2.0), skeleton(1 - k / 30, 2.6)
        order = [left, right] if k % 2 else [right, left]
        answer = tracks.add(dict(enumerate(order, start=1)))
        nearest = [
            min(answer, key=lambda p, s=s: math.dist(answer[p]["head"].position, s["head"].position))
            for s in (left, right)
        ]
        ids.add(tuple(nearest))
        assert len(answer) == 2
    assert len(ids) == 1


def test_matched_ids_survive_a_short_absence_and_not_a_long_one():
    tracks = JointTracks(match=True)
    for _ in range(5):
        tracks.add({1: skeleton(0.0)})
    for _ in range(30):
        answer = tracks.add({})
    assert answer == {}
    assert set(tracks.add({5: skeleton(0.3)})) == {1}
    for _ in range(90):
        tracks.add({})
    assert set(tracks.add({1: skeleton(0.3)})) == {2}


def test_what_shows_of_someone_nearly_hidden_is_nobody_new():
    tracks = JointTracks(match=True)
    few = dict(list(skeleton(0.0).items())[:2])
    assert tracks.add({1: few}) == {}
    assert set(tracks.add({1: skeleton(0.0)})) == {1}
    assert not tracks.add({9: few})[1]["head"].is_bridged, "a few joints of someone who is known"
    assert set(tracks.add({9: few, 2: dict(list(skeleton(1.5).items())[:2])})) == {1}


def test_someone_far_off_is_someone_else():
    tracks = JointTracks(match=True)
    tracks.add({1: skeleton(0.0)})
    answer = tracks.add({1: skeleton(1.5)})
    assert {p: round(j["head"].position[0], 1) for p, j in answer.items()} == {1: 0.0, 2: 1.5}
    assert answer[1]["head"].is_bridged


def test_tracked_joints_are_joints():
    joint = TrackedJoint((0, 0, 1), is_visible=False, confidence=0.4)
    assert isinstance(joint, Joint)
    assert joint.is_bridged
    with pytest.raises(FrameError, match="confidence lies between 0 and 1"):
        TrackedJoint((0, 0, 1), True, 1.5)


def test_bad_input_is_named_and_changes_nothing():
    tracks = JointTracks()
    tracks.add({1: {"head": found(0, 0, 2)}}, time=1.0)
    with pytest.raises(FrameError, match=r"joint 'head': a joint's position is three finite numbers"):
        tracks.add({1: {"head": found(0, math.nan, 2)}})
    with pytest.raises(UsageError, match=r"times must rise from frame to frame, got 1 s after 1 s"):
        tracks.add({}, time=1.0)
    with pytest.raises(UsageError, match="finite number of seconds, got nan"):
        tracks.add({}, time=math.nan)
    assert tracks.add({1: {"head": found(0, 0, 2)}}, time=1.1)[1]["head"].position == (0, 0, 2)
    for fps in (0, -1, math.inf, True, "30"):
        with pytest.raises(UsageError, match="fps must be frames a second, above 0"):
            JointTracks(fps)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("min_cutoff_hz", 0, "min_cutoff_hz must be a finite number above 0, got 0"),
        ("speed_gain", -1, "speed_gain must be a finite number 0 or more, got -1"),
        ("max_gap_s", math.inf, "max_gap_s must be a finite number above 0, got inf"),
        ("lead", 1.5, "lead must be from 0 to 1, got 1.5"),
    ],
)
def test_settings_are_checked(name, value, message):
    with pytest.raises(UsageError, match=message):
        TrackSettings(**{name: value})


def test_half_of_the_lag_is_removed_by_default():
    way = [(k / 30, 0, 2) for k in range(300)]
    settings = TrackSettings(speed_gain=0.0, jump_m=1e6)
    late = [way[-1][0] - follow(way, s)[-1].position[0] for s in (settings, dataclasses.replace(settings, lead=0.0))]
    assert late[0] == pytest.approx(0.5 * late[1], rel=1e-6)
