import pytest

from depthforest.training.progress import Outlook, Progress, shown_time


def test_the_first_levels_promise_the_most_there_can_be():
    """Pixels x candidates x levels left, of all trees, by the measured rate."""
    outlook = Outlook(n_trees=3, depth=10)
    assert outlook.seconds_left() is None
    outlook.start_tree(0, 7.0)
    assert outlook.seconds_left() is None
    outlook.add_level(0, 1000, 1000 * 50, 2.0, is_last=False)
    # nine levels of two seconds each, two trees of ten, and two starts
    assert outlook.seconds_left() == pytest.approx(9 * 2 + 2 * 10 * 2 + 2 * 7)


def test_levels_to_come_shrink_as_the_last_one_did():
    outlook = Outlook(n_trees=1, depth=5)
    outlook.start_tree(0, 0.0)
    outlook.add_level(0, 1000, 50_000, 1.0, is_last=False)
    outlook.add_level(1, 500, 25_000, 0.5, is_last=False)
    assert outlook.seconds_left() == pytest.approx(0.25 + 0.125 + 0.0625)
    # a level with more pixels than the one before, as after a resume, promises no growth
    outlook.add_level(2, 900, 45_000, 0.9, is_last=False)
    assert outlook.seconds_left() == pytest.approx(2 * 0.9)
    outlook.add_level(3, 100, 5_000, 0.1, is_last=True)
    assert outlook.seconds_left() == 0


def test_trees_to_come_take_as_long_as_those_before():
    outlook = Outlook(n_trees=3, depth=9)
    outlook.start_tree(0, 1.0)
    outlook.add_level(0, 1000, 50_000, 2.0, is_last=True)
    outlook.end_tree(3.0)
    assert outlook.seconds_left() == pytest.approx(2 * (2 + 1 + 3))
    outlook.start_tree(0, 1.0)
    outlook.add_level(0, 1000, 50_000, 2.0, is_last=False)
    # the rest of this tree; one more like the first; starts and ends took 5 seconds for two trees
    assert outlook.seconds_left() == pytest.approx(8 * 2 + 2 + 5 / 2)


def test_a_tree_that_was_resumed_is_no_measure_of_a_whole_one():
    outlook = Outlook(n_trees=4, depth=9, n_finished=2)
    outlook.start_tree(8, 0.0)
    outlook.add_level(8, 1000, 50_000, 2.0, is_last=False)
    outlook.end_tree(0.0)
    outlook.start_tree(0, 0.0)
    outlook.add_level(0, 1000, 50_000, 2.0, is_last=False)
    assert outlook.seconds_left() == pytest.approx(8 * 2)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"), (0.2, "1 s"), (59, "59 s"), (60, "1 min 0 s"), (599, "9 min 59 s"), (600, "10 min"),
        (3599, "59 min"), (3600, "1 h 0 min"), (100_000, "27 h 46 min"),
    ],
)  # fmt: skip
def test_times_are_for_people(seconds, text):
    assert shown_time(seconds) == text


def test_news_say_everything_in_one_line():
    level = Progress("level", 1, 3, 4, 20, 16, 15, 900, 45_000_000, 0.5, 0.123, 0.25, None, 90.0)
    assert str(level) == (
        "tree 2 of 3, level 4 of 20: 16 nodes, 15 split, 90.0 M evaluations/s, gain 0.123, out-of-bag accuracy 25.0%, "
        "1 min 30 s left"
    )
    assert ": 1 node, 1 split, " in str(Progress("level", 0, 3, 0, 20, n_nodes=1, n_splits=1))
    assert level.to_dict() == {
        "event": "level", "tree": 1, "n_trees": 3, "level": 4, "depth": 20, "n_nodes": 16, "n_splits": 15,
        "n_pixels": 900, "n_evaluations": 45_000_000, "seconds": 0.5, "gain": 0.123, "out_of_bag": 0.25,
        "seconds_left": 90.0, "rate": 90_000_000.0,
    }  # fmt: skip
    tree = Progress("tree", 1, 3, 5, 20, out_of_bag=0.25, forest_out_of_bag=0.5, seconds_left=3.0)
    assert str(tree) == "tree 2 of 3: done, out-of-bag accuracy 25.0%, forest 50.0%, 3 s left"
    assert str(Progress("note", 0, 3, 0, 20, text="by the way")) == "by the way"
    assert str(Progress("finished", 2, 3, 0, 20)) == "all 3 trees are finished already"
