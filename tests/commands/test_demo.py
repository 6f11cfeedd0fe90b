"""`depthforest demo` with a model."""

import re

import numpy as np

import depthforest as df
from depthforest.cli.commands import app
from depthforest.frames.parts import NO_PART
from depthforest.io.formats import read_labels
from depthforest.joints.files import read_joints


def test_the_demo_labels_with_a_shipped_model(tmp_path, capsys):
    app(["demo", "-o", str(tmp_path / "demo")], standalone_mode=False)
    from depthforest.base.resources import samples_folder

    samples = df.open_dataset(samples_folder())
    frame = samples[samples.names.index("two_people")]
    forest = df.load()
    expected = np.full(frame.shape, NO_PART, np.uint8)
    people = df.find_people(frame)
    assert len(people) == 2
    for is_person in people:
        expected[is_person] = forest.label(frame, is_person).parts[is_person]
    np.testing.assert_array_equal(read_labels(tmp_path / "demo" / "two_people.parts.png"), expected)
    told = capsys.readouterr().out
    assert re.search(r"two_people +2 of 2 +\d+% +\d+ of \d+ +\d+", told)
    assert re.search(r"all +\d+ of 9 +\d+% +\d+ of \d+ +\d+", told)
    (frames,) = [f for f in read_joints(tmp_path / "demo" / "joints.json") if f.name == "two_people"]
    assert list(frames.people) == [1, 2]
