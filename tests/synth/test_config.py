import dataclasses
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.config import Config, ConfigError


def test_it_saves_and_loads(tmp_path):
    config = Config(camera="500,500,320,240,640x480", mocap='a "b" \\c', without_subjects=("1", "22"), near_share=1 / 3)
    config.save(tmp_path / "c.toml")
    assert Config.load(tmp_path / "c.toml") == config
    assert Config.from_toml("") == Config()
    assert "near_share = 0.3333333333333333" in config.to_toml()


@given(st.floats(0, 1), st.integers(1, 1000), st.tuples(st.floats(0.3, 2), st.floats(2, 5)))
def test_every_number_survives(share, n_bodies, distance):
    config = Config(near_share=share, n_bodies=n_bodies, far_distance=distance)
    assert Config.from_toml(config.to_toml()) == config


def test_it_is_light():
    code = "import sys, synth.config; print(*[m for m in ('numpy', 'numba', 'cv2') if m in sys.modules])"
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, check=True, text=True, timeout=600
        ).stdout.strip()
        == ""
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("near_share = 1.5", "near_share must be from 0 to 1, got 1.5"),
        ("near_share = nan", "near_share must be a finite number, got nan"),
        ("near_share = true", "must be a finite number"),
        ('n_bodies = "many"', "n_bodies must be a finite number, got 'many'"),
        ("n_bodies = 1.5", "n_bodies must be a whole number"),
        ("n_bodies = 0", "n_bodies must be from 1 to 100000"),
        ("far_distance = [3.0, 2.0]", "far_distance must be a range from low to high"),
        ("far_distance = [3.0]", "far_distance must have 2 entries, got 1"),
        ("far_distance = 3.0", "far_distance must be a list, got 3.0"),
        ("far_distance = [1.0, 9.0]", "distances must be within depth_limit (5 m)"),
        ("people_shares = [0.5, 0.4]", "shares that sum to 1"),
        ("people_shares = []", "1 to 8 shares"),
        ("clutter_share = 1.5", "clutter_share must be from 0 to 1, got 1.5"),
        ("clutter = [9, 3]", "clutter must be a range from low to high, got (9, 3)"),
        ("clutter = [1.5, 3.0]", "clutter must be"),
        ("n_things = 0", "n_things must be from 1 to 1e+06, got 0"),
        ("empty_share = -0.1", "empty_share must be from 0 to 1, got -0.1"),
        ("carry_share = 0.6\ndesk_share = 0.5", "must not sum to more than 1"),
        ('without_subjects = ["1"]\nonly_subjects = ["2"]', "give either without_subjects or only_subjects"),
        ('only_subjects = "07"', "only_subjects must be a list, got '07'"),
        ("only_subjects = [7]", "only_subjects must be text, got 7"),
        ('bodies = "robots"', "bodies must be one of procedural, makehuman, both; got 'robots'"),
        ("sensor = 3", "sensor must be text, got 3"),
        ("camera_tilt = [0.0, 91.0]", "camera_tilt must be from -80 to 90, got 91"),
        ("color = 1", "unknown keys color; known are bed_share, blocked_share, bodies"),
        ("near_share = ", "is not valid TOML"),
    ],
)
def test_nonsense_is_refused(tmp_path, text, message):
    (tmp_path / "c.toml").write_text(text)
    with pytest.raises(ConfigError) as error:
        Config.load(tmp_path / "c.toml")
    assert message in str(error.value)
    assert "c.toml" in str(error.value)
    assert error.value.exit_code == 2


def test_subjects_are_chosen_or_left_out():
    assert Config().takes_subject("07")
    assert [Config(without_subjects=("07",)).takes_subject(s) for s in ("07", "7")] == [False, True]
    only = Config(only_subjects=["07", "8"])
    assert [only.takes_subject(s) for s in ("07", "8", "08")] == [True, True, False]
    assert Config.from_toml(only.to_toml()) == only


def test_it_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Config().near_share = 1
    with pytest.raises(ConfigError, match="cannot be saved"):
        Config(mocap="a\nb").to_toml()
