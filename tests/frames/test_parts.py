import importlib.util
import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from depthforest.base.errors import PartSetError
from depthforest.frames.parts import (
    BODY31,
    BODY31_TO_PCL25,
    BODY31_TO_REGIONS15,
    BONES,
    JOINT_MIRROR,
    JOINT_PARTS,
    JOINTS,
    NO_PART,
    PART_SETS,
    PCL25,
    PCL25_TO_REGIONS15,
    REGIONS15,
    Grouping,
    PartSet,
)

TOOLS = Path(__file__).resolve().parents[2] / "tools"


def choose_colors():
    spec = importlib.util.spec_from_file_location("choose_colors", TOOLS / "choose_colors.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_body31_is_the_papers_list():
    assert len(BODY31) == 31
    assert BODY31.names[0] == "head_upper_l"
    assert BODY31.index("foot_r") == 30
    sides = [n for n in BODY31.names if n[-2:] in ("_l", "_r")]
    assert len(sides) == 30
    assert set(BODY31.names) - set(sides) == {"neck"}


@pytest.mark.parametrize("part_set", PART_SETS.values(), ids=list(PART_SETS))
def test_mirroring_swaps_left_and_right_and_twice_changes_nothing(part_set):
    mirror = np.array(part_set.mirror)
    assert (mirror[mirror] == np.arange(len(part_set))).all()
    assert part_set.mirror_table[NO_PART] == NO_PART
    for label, name in enumerate(part_set.names):
        swapped = part_set.names[mirror[label]]
        # PCL marks sides by the letters L and R, in front or behind "Face"
        is_sided = name[-2:] in ("_l", "_r") or (part_set is PCL25 and name != "Neck")
        assert (swapped != name) == is_sided


@pytest.mark.parametrize("grouping", [BODY31_TO_REGIONS15, BODY31_TO_PCL25, PCL25_TO_REGIONS15])
def test_groupings_commute_with_mirroring(grouping):
    labels = np.arange(len(grouping.source), dtype=np.uint8)
    mirrored_first = grouping.apply(grouping.source.mirror_table[labels])
    grouped_first = grouping.target.mirror_table[grouping.apply(labels)]
    np.testing.assert_array_equal(mirrored_first, grouped_first)
    assert grouping.accepts[labels, grouping.apply(labels)].all()
    assert set(grouping.apply(labels)) == set(range(len(grouping.target)))
    assert grouping.apply(np.array([NO_PART], dtype=np.uint8))[0] == NO_PART


def test_joint_bands_count_for_either_neighbor():
    accepts = BODY31_TO_REGIONS15.accepts
    elbow = BODY31.index("elbow_l")
    assert {REGIONS15.names[i] for i in np.flatnonzero(accepts[elbow])} == {"upper_arm_l", "forearm_l"}
    knee = PCL25.index("Rknee")
    assert {REGIONS15.names[i] for i in np.flatnonzero(PCL25_TO_REGIONS15.accepts[knee])} == {"thigh_r", "shin_r"}


def test_going_through_pcl_gives_the_same_regions():
    labels = np.arange(31, dtype=np.uint8)
    through_pcl = PCL25_TO_REGIONS15.apply(BODY31_TO_PCL25.apply(labels))
    np.testing.assert_array_equal(through_pcl, BODY31_TO_REGIONS15.apply(labels))


def test_pcl_ids_are_pcls():
    assert PCL25.names[:4] == ("Lfoot", "Lleg", "Lknee", "Lthigh")
    assert PCL25.names[10] == "Neck"
    assert PCL25.names[24] == "Lchest"


def test_parts_that_touch_stay_apart_for_every_eye():
    colors = choose_colors()
    rgb = np.array(BODY31.colors, dtype=float)
    normal, worst, lightness = colors.distances(rgb)
    pairs = [(BODY31.index(a), BODY31.index(b)) for a, b in colors.TOUCHING["body31"]]
    assert len(pairs) > 30
    assert min(worst[p] for p in pairs) > 20
    assert min(lightness[p] for p in pairs) > 15
    assert min(normal[p] for p in combinations(range(31), 2)) > 10
    on_black_and_white = colors.seen_lab(rgb, "normal")[:, 0]
    assert on_black_and_white.min() > 25
    assert on_black_and_white.max() < 95


def test_a_user_brings_a_part_set(tmp_path):
    path = tmp_path / "hand.json"
    path.write_text(json.dumps({"names": ["palm", "thumb_l", "thumb_r"], "mirror": [["thumb_l", 2]]}))
    hand = PartSet.from_json(path)
    assert hand.mirror == (0, 2, 1)
    assert len(set(hand.colors)) == 3
    assert PartSet.from_dict(hand.to_dict()) == hand


def test_names_alone_give_the_mirror_table():
    assert PartSet(("ear_r", "nose", "ear_l")).mirror == (2, 1, 0)
    assert PartSet.from_dict({"names": ["ear_r", "nose", "ear_l"]}).mirror == (2, 1, 0)
    assert PartSet.from_dict({"names": ["ear_r", "nose", "ear_l"], "mirror": []}).mirror == (0, 1, 2)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"names": []}, "1 to 255 parts, got 0"),
        ({"names": [str(i) for i in range(256)]}, "1 to 255 parts, got 256"),
        ({"names": ["a", "b", "a"]}, "unique; given more than once: a"),
        ({"names": ["a", 3]}, "printable text, got 3"),
        ({"names": ["a", " "]}, "printable text"),
        ({"names": "abc"}, "list of strings"),
        ({"names": ["a", "b"], "colors": [[1, 2, 3]]}, "one color for each of the 2 parts, got 1"),
        ({"names": ["a"], "colors": [[1, 2, 300]]}, "from 0 to 255, got"),
        ({"names": ["a", "b"], "mirror": [["a", "c"]]}, "names 'c', which is not a part"),
        ({"names": ["a", "b", "c"], "mirror": [[0, 1], [1, 2]]}, "another pair has already"),
        ({"names": ["a", "b"], "mirror": [[0, 1, 2]]}, "list of pairs"),
        ({"names": ["a"], "colours": []}, "unknown keys colours"),
        (["a"], 'expected an object with "names"'),
    ],
)
def test_broken_part_sets_are_refused(content, message, tmp_path):
    path = tmp_path / "parts.json"
    path.write_text(json.dumps(content))
    with pytest.raises(PartSetError) as error:
        PartSet.from_json(path)
    assert message in str(error.value)
    assert "parts.json" in str(error.value)


def test_a_mirror_table_that_is_no_involution_is_refused():
    with pytest.raises(PartSetError, match="mirroring twice must change nothing"):
        PartSet(("a", "b", "c"), mirror=(1, 2, 0))
    with pytest.raises(PartSetError, match="to 7, which is not a part"):
        PartSet(("a", "b", "c"), mirror=(0, 1, 7))


def test_unknown_names_and_labels_are_refused():
    with pytest.raises(PartSetError, match="no part is called 'nose'"):
        BODY31.index("nose")
    labels = np.array([[0, 255], [31, 40]], dtype=np.uint8)
    with pytest.raises(
        PartSetError, match=r"2 pixels have labels outside the part set, the first is 31; expected 0 to 30"
    ):
        BODY31.check_labels(labels)
    with pytest.raises(PartSetError, match="outside the part set"):
        BODY31_TO_REGIONS15.apply(labels)
    with pytest.raises(PartSetError, match="expected an array of uint8 labels, got int64"):
        BODY31.check_labels(labels.astype(np.int64) - 256)


def test_groupings_must_cover_their_source():
    pair, one = PartSet(("a", "b")), PartSet(("all",))
    with pytest.raises(PartSetError, match="missing or unknown: b"):
        Grouping(pair, one, {"a": ("all",)})
    with pytest.raises(PartSetError, match=r"'b' is mapped to \(\); expected one or more"):
        Grouping(pair, one, {"a": ("all",), "b": ()})
    with pytest.raises(PartSetError, match="'b' is mapped to 'all'; expected one or more coarse parts in a tuple"):
        Grouping(pair, one, {"a": ("all",), "b": "all"})
    with pytest.raises(PartSetError, match="no part is called 'none'"):
        Grouping(pair, one, {"a": ("all",), "b": ("none",)})


def test_joints_have_parts_bones_and_mirrors():
    assert len(JOINTS) == 19
    assert set(JOINT_PARTS) == set(JOINTS)
    for joint, parts in JOINT_PARTS.items():
        mirrored = {BODY31.names[BODY31.mirror[BODY31.index(p)]] for p in parts}
        assert mirrored == set(JOINT_PARTS[JOINT_MIRROR[joint]])
    # a tree that reaches every joint once
    assert len(BONES) == len(JOINTS) - 1
    assert {b for _, b in BONES} | {"head"} == set(JOINTS)


def test_tables_are_read_only():
    for table in (BODY31.color_table, BODY31.mirror_table, BODY31_TO_PCL25.table, BODY31_TO_PCL25.accepts):
        with pytest.raises(ValueError, match="read-only"):
            table[0] = 0
