import numpy as np
import pytest
from support import naive_scores as naive

from depthforest.base.errors import UsageError
from depthforest.evaluation.partmaps import comparable, merge_sides
from depthforest.frames.parts import BODY31, BODY31_TO_REGIONS15, PCL25, REGIONS15, Grouping, PartSet

MADE_UP = PartSet(("seat", "leg_l", "leg_r"))


def titles(levels):
    return [(level.key, level.title) for level in levels]


def test_the_same_parts_are_judged_at_every_level():
    levels = comparable(BODY31, BODY31)
    assert titles(levels) == [
        ("parts", "31 parts"),
        ("parts_merged", "31 parts, sides merged"),
        ("regions", "15 regions"),
        ("regions_merged", "15 regions, sides merged"),
    ]
    np.testing.assert_array_equal(levels[0].is_right, np.eye(31, dtype=bool))
    assert [len(level.part_set) for level in levels] == [31, 16, 15, 9]


def test_a_band_counts_for_either_neighbor_in_the_regions():
    level = comparable(BODY31, BODY31)[2]
    for t, true_part in enumerate(BODY31.names):
        for a, answered in enumerate(BODY31.names):
            expected = naive.is_right_coarsely(true_part, answered, BODY31_TO_REGIONS15.groups)
            assert level.is_right[t, a] == expected, (true_part, answered)
    # no class's size depends on the answers
    np.testing.assert_array_equal(level.rows, BODY31_TO_REGIONS15.table[:31])


def test_confusion_counts_every_pair_once():
    rng = np.random.default_rng(0)
    pairs = rng.integers(0, 50, (31, 31))
    for level in comparable(BODY31, BODY31):
        confusion = level.confusion(pairs)
        assert confusion.sum() == pairs.sum()
        assert np.trace(confusion) == pairs[level.is_right].sum()
        np.testing.assert_array_equal(
            confusion.sum(axis=1), np.bincount(level.rows, pairs.sum(axis=1), len(level.part_set))
        )


def test_sides_are_merged_by_the_mirror_table():
    merged, group = merge_sides(PCL25)
    assert merged.names[group[PCL25.index("Lfoot")]] == "foot"
    assert group[PCL25.index("Lfoot")] == group[PCL25.index("Rfoot")]
    assert {"FaceB", "FaceT", "Neck"} <= set(merged.names)
    assert merge_sides(MADE_UP)[0].names == ("seat", "leg")
    odd = PartSet(("a", "b"), mirror=(1, 0))
    assert merge_sides(odd)[0].names == ("a / b",)
    clash = PartSet(("hand", "hand_l", "hand_r"))
    assert merge_sides(clash)[0].names == ("hand", "hand_l / hand_r")


def test_pcls_trees_are_judged_on_our_parts():
    levels = comparable(BODY31, PCL25)
    assert titles(levels)[0] == ("parts", "25 parts")
    is_right = levels[0].is_right
    shoulder = BODY31.index("shoulder_l")
    assert {PCL25.names[i] for i in np.flatnonzero(is_right[shoulder])} == {"Larm", "Lchest"}
    assert titles(levels)[2] == ("regions", "15 regions")
    elbow = BODY31.index("elbow_r")
    assert {PCL25.names[i] for i in np.flatnonzero(levels[2].is_right[elbow])} >= {"Rarm", "Rforearm", "Relbow"}


def test_our_parts_are_judged_on_coarser_truth():
    for truth, title in ((PCL25, "25 parts"), (REGIONS15, "15 regions")):
        levels = comparable(truth, BODY31)
        assert levels[0].title == title
        assert levels[0].part_set.names == truth.names
        # every fine part is right for some coarse one, every coarse part has a right answer
        assert levels[0].is_right.any(axis=0).all()
        assert levels[0].is_right.any(axis=1).all()
    wrist = BODY31.index("wrist_l")
    regions = comparable(REGIONS15, BODY31)[0]
    assert {REGIONS15.names[i] for i in np.flatnonzero(regions.is_right[:, wrist])} == {"forearm_l", "hand_l"}


def test_names_decide_not_their_order_nor_how_many_the_model_knows():
    shuffled = PartSet(("leg_r", "seat", "leg_l"))
    level = comparable(shuffled, MADE_UP)[0]
    assert level.part_set.names == MADE_UP.names
    np.testing.assert_array_equal(level.is_right, [[0, 0, 1], [1, 0, 0], [0, 1, 0]])
    fewer = comparable(PartSet(("leg_l", "seat")), MADE_UP)[0]
    np.testing.assert_array_equal(fewer.rows, [1, 0])
    assert [level.key for level in comparable(MADE_UP, MADE_UP)] == ["parts", "parts_merged"]


def test_own_groupings_are_used():
    chair = PartSet(("seat", "leg"))
    grouping = Grouping(MADE_UP, chair, {"seat": ("seat",), "leg_l": ("leg",), "leg_r": ("leg",)})
    level = comparable(MADE_UP, chair, [grouping])[0]
    np.testing.assert_array_equal(level.is_right, [[1, 0], [0, 1], [0, 1]])


def test_unknown_parts_are_refused_by_name():
    message = (
        r"lacks the parts head_upper_l, head_upper_r, head_lower_l and 28 more of the data, .* its own "
        r"\(seat, leg_l, leg_r\)"
    )
    with pytest.raises(UsageError, match=message):
        comparable(BODY31, MADE_UP)
    with pytest.raises(UsageError, match="lacks the parts back of the data"):
        comparable(PartSet(("seat", "back")), MADE_UP)
