"""A small recipe: every kind of step that body31 has, in seconds."""

import pytest

SYNTH = """
camera = "kinect_v1@160x120"
bodies = "procedural"
n_bodies = 4
n_poses = 64
furnished_share = 0.0
"""

TRAIN = """
trees = 2
depth = 5
candidates = 20
thresholds = 10
pixels_per_frame = 60
frames_per_tree = 0.5
"""

RECIPE = """
name = "small"
about = "A small model."
notes = "**Not good at** anything."

[steps.first]
do = "synth"
config = "small.synth.toml"
frames = 8
seed = 1

[steps.grown]
do = "train"
config = "small.train.toml"
data = ["first"]

[steps.fresh]
do = "synth"
config = "small.synth.toml"
frames = 28
seed = 2

[steps.fitted]
do = "fit-leaves"
model = "grown"
data = ["fresh"]
facings = 2
rounds = 1
leaves = 40
mirror = true

[steps.joints]
do = "fit-joints"
model = "fitted"
data = ["fresh"]
"""

BENCH = """

[steps.bench]
do = "evaluate"
model = "joints"
bench = ["mocap", "procedural"]
limit = 2
"""


@pytest.fixture
def bench():
    """Return one more step of it."""
    return BENCH


@pytest.fixture
def recipe(tmp_path):
    """Return the file of a small recipe."""
    (tmp_path / "small.synth.toml").write_text(SYNTH)
    (tmp_path / "small.train.toml").write_text(TRAIN)
    path = tmp_path / "small.recipe.toml"
    path.write_text(RECIPE)
    return path
