import csv
import json

from support.striped import RECORDS, SETTINGS

from depthforest.compare.table import TITLES, about, ranked, text_rows, write_tables


def test_the_best_comes_first_and_numbers_have_their_units():
    assert [r["name"] for r in ranked(RECORDS)] == ["random-forest", "bagging"]
    rows = text_rows(RECORDS)
    assert rows[0] == ("random-forest", "4 trees", "1.5*", "12.5", "2.5", "0.500", "0.500", "0.400 to 0.600")
    assert rows[1][2] == "1.5"
    assert len(rows[0]) == len(TITLES)


def test_all_files_say_the_same(tmp_path):
    table, text, content = write_tables(tmp_path, RECORDS, SETTINGS)
    rows = list(csv.DictReader(table.read_text().splitlines()))
    assert [row["learner"] for row in rows] == ["random-forest", "bagging"]
    assert (rows[0]["fit_seconds"], rows[0]["bytes"], rows[0]["mean_class_accuracy_low"]) == ("1.5", "2500000", "0.4")
    assert (rows[1]["a"], rows[1]["b"]) == ("0.25", "")
    lines = text.read_text().splitlines()
    assert lines[0].startswith(about(SETTINGS))
    assert lines[2].startswith("| learner | size | fit s |")
    assert lines[4].startswith("| random-forest | 4 trees | 1.5* |")
    assert "*: over the budget" in lines[-1]
    stored = json.loads(content.read_text())
    assert stored["settings"] == SETTINGS
    assert stored["learners"] == ranked(RECORDS)


def test_what_everybody_shares_is_said():
    assert about(SETTINGS) == (
        "1,000 pixels of 8 frames, 5 probe pairs, seed 0, 2 s of processor time for each fit; judged on all pixels of "
        "2 frames held out"
    )
    fixed = SETTINGS | {"seconds": None, "rounds": 3, "test": {}}
    assert "size 3 for everybody; judged on all pixels of 2 frames of a test set" in about(fixed)
    assert about(fixed | {"bench": "cut"}).endswith("2 frames of the bench's set cut")
    assert "at most 5 MB for each model" in about(SETTINGS | {"megabytes": 5.0})
