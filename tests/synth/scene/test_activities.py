import dataclasses

import numpy as np
import pytest
from scipy.spatial import cKDTree

from depthforest.frames.parts import NO_PART
from synth.config import Config
from synth.generator import Generator, is_upright
from synth.poses.sampling import sample_pose
from synth.scene import render
from synth.scene.activities import MOST_GAP, contact, lifted
from synth.scene.composing import is_sitting

ALONE = Config(
    camera="kinect_v1@160x120",
    n_bodies=3,
    n_poses=256,
    n_things=50,
    clutter_share=1.0,
    clutter=(2, 4),
    sensor="ideal",
    people_shares=(1.0,),
    near_share=0.0,
)


def scenes(n, **changes):
    frames = Generator(dataclasses.replace(ALONE, **changes), seed=2)
    return [frames.scene(i)[0] for i in range(n)]


def gap_between(a, b):
    """Return the smallest distance of two point sets."""
    return float(cKDTree(b).query(a)[0].min())


def test_what_is_carried_is_nobody():
    frames = Generator(dataclasses.replace(ALONE, carry_share=1.0), seed=2)
    n_seen = 0
    for i in range(8):
        scene, _, _ = frames.scene(i)
        (load,) = [piece for piece in scene.pieces if piece.piece.name == "carried"]
        person = scene.people[0]
        assert np.hypot(load.x - person.x, load.z - person.z) == 0
        corners = np.concatenate([load.piece.boxes[:, 0] - load.piece.boxes[:, 1], load.piece.boxes.sum(axis=1)])
        assert gap_between(corners, person.person.posed.vertices) < 0.6
        assert corners[:, 1].min() > -0.1
        seen = render(frames.camera, scene.meshes())
        hands_free = dataclasses.replace(scene, pieces=tuple(p for p in scene.pieces if p is not load))
        without = render(frames.camera, hands_free.meshes())
        is_load = seen.depth != without.depth
        n_seen += np.count_nonzero(is_load)
        assert (seen.people[is_load] == 0).all()
        assert (seen.parts[is_load] == NO_PART).all()
    assert n_seen > 100


def test_who_leans_has_the_back_at_a_wall():
    for scene in scenes(8, lean_share=1.0):
        person = scene.people[0]
        walls = scene.walls[1:-1]
        gaps = []
        for wall in walls:
            normal = np.cross(wall[1] - wall[0], wall[3] - wall[0])
            normal /= np.linalg.norm(normal)
            off = (person.vertices - wall[0]) @ normal
            gaps.append(min(off.min(), -off.max(), key=abs))
        assert min(map(abs, gaps)) < 0.12


def test_desks_are_before_those_who_sit_at_them():
    n_desks = 0
    for scene in scenes(12, desk_share=1.0):
        person = scene.people[0]
        desks = [p for p in scene.pieces if p.piece.name == "desk" and np.hypot(p.x - person.x, p.z - person.z) < 1.6]
        front = np.array([np.sin(person.yaw), np.cos(person.yaw)])
        n_desks += any((np.array([d.x, d.z]) - (person.x, person.z)) @ front > 0.2 for d in desks)
        assert is_sitting(person.person.posed) or person.person.posed.bone_heads[0, 1] < 0.6
    assert n_desks > 6


def test_who_lies_on_a_bed_is_above_it():
    for scene in scenes(8, bed_share=1.0):
        (bed,) = [piece for piece in scene.pieces if piece.piece.name == "bed" and len(piece.piece.shapes) < 5]
        lowest = scene.people[0].vertices[:, 1].min()
        assert 0.29 < lowest < 0.56
        mattress = bed.piece.boxes[1]
        assert mattress[0, 1] + mattress[1, 1] == pytest.approx(lowest - 0.025, abs=1e-3)


def test_nobody_stands_in_the_bed_of_another():
    n_people = 0
    for scene in scenes(10, bed_share=0.5, touch_share=0.5, people_shares=(0.0, 0.0, 1.0)):
        n_people += len(scene.people)
        for bed in (piece for piece in scene.pieces if piece.piece.name == "bed"):
            assert not any(bed.touches(person.probes) for person in scene.people)
    assert n_people > 14


@pytest.mark.parametrize("clutter_share", [0.0, 1.0])
def test_two_who_touch_are_close_but_not_in_each_other(clutter_share):
    n_pairs = 0
    for scene in scenes(10, touch_share=1.0, people_shares=(0.0, 1.0), clutter_share=clutter_share):
        if len(scene.people) == 2:
            n_pairs += 1
            a, b = scene.people
            gap = gap_between(a.vertices[::3], b.vertices)
            assert 0.0 < gap < MOST_GAP + 0.09
    assert n_pairs > 6


def test_contact_moves_one_beside_the_other():
    grid = np.stack(np.meshgrid(*[np.arange(-0.2, 0.21, 0.02)] * 3), axis=-1).reshape(-1, 3).astype(np.float32)
    cube = grid + np.float32([0, 1, 0])
    step = contact(cube, cube, 1.0, 0.0)
    assert step == pytest.approx(0.4, abs=0.01)
    assert contact(cube, cube + np.float32([0, 1, 0]), 1.0, 0.0) == 0, "above it there is room"


def test_lifted_bodies_keep_their_form():
    frames = Generator(ALONE, seed=2)
    posed = frames.scene(0)[0].people[0].person.posed
    higher = lifted(posed, 0.4)
    for name in ("vertices", "joints", "bone_heads"):
        np.testing.assert_allclose(
            getattr(higher, name) - getattr(posed, name), [[0, 0.4, 0]] * len(getattr(posed, name)), atol=1e-6
        )


def test_upright_is_who_stands():
    for seed in range(6):
        assert is_upright(sample_pose(np.random.default_rng(seed), "standing").pose)
        for family in ("sitting", "lying"):
            assert not is_upright(sample_pose(np.random.default_rng(seed), family).pose)
