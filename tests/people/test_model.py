"""Person models: trained, saved, loaded, asked; and files that are not sound."""

import numpy as np
import pytest

from depthforest.base import DatasetError, ModelError, UsageError, modelfile
from depthforest.ensemble import RandomForestClassifier
from depthforest.frames.camera import Camera
from depthforest.frames.frame import Frame
from depthforest.people import find_people
from depthforest.people.judging.columns import NAMES
from depthforest.people.judging.model import FORMAT_VERSION, KIND, PersonModel, load_person_model
from depthforest.people.judging.treesum import TreeSum
from depthforest.training.config import PeopleConfig, TrainConfigError
from depthforest.training.people import train_people, tree_sum
from synth import Config, Generator

SMALL = PeopleConfig(
    trees=1, depth=5, pixels_per_frame=60, candidates=40, judges=5, judge_leaves=6, bare_share=0.3, body="body31-fast"
)


@pytest.fixture(scope="module")
def source():
    return Generator(Config(n_bodies=3, n_poses=64, empty_share=0.2, clutter_share=0.5, n_things=32), seed=3, n=24)


@pytest.fixture(scope="module")
def trained(source):
    return train_people(source, SMALL)


def test_the_shipped_model_is_small():
    path = load_path()
    assert path.stat().st_size <= 2_000_000
    assert load_person_model() is load_person_model("person")
    assert load_person_model().body == "body31"


def load_path():
    from depthforest.base import resources

    return resources.models_folder() / "people" / "person.safetensors"


def test_a_model_loads_back_as_it_was_saved(trained, tmp_path):
    trained.save(tmp_path / "a.safetensors")
    again = PersonModel.load(tmp_path / "a.safetensors")
    again.save(tmp_path / "b.safetensors")
    assert (tmp_path / "a.safetensors").read_bytes() == (tmp_path / "b.safetensors").read_bytes()
    assert again.digest() == trained.digest() != load_person_model().digest()
    assert (again.least_person, again.config["judges"]) == (SMALL.least_person, 5)
    assert load_person_model(tmp_path / "a.safetensors").digest() == trained.digest()
    assert load_person_model(again) is again


def test_training_does_not_depend_on_threads(source, trained):
    assert train_people(source, SMALL, threads=1).digest() == trained.digest()


def test_another_model_finds_others(source, trained):
    frame = next(f for f in (source[i] for i in range(24)) if len(find_people(f)))
    everything, nothing = find_people(frame, model=trained, least=0), find_people(frame, model=trained, least=1)
    assert len(everything) >= len(find_people(frame, model=trained)) >= len(nothing)
    assert everything.probabilities == tuple(sorted(everything.probabilities, reverse=True))


def test_a_sum_of_trees_is_the_forest():
    rng = np.random.default_rng(0)
    columns, labels = rng.normal(size=(300, len(NAMES))).astype(np.float32), rng.random(300) < 0.4
    forest = RandomForestClassifier(n_estimators=7, max_leaf_nodes=9, random_state=0).fit(columns, labels)
    comp = tree_sum(forest, column=1).sums(columns.astype(np.float64))
    np.testing.assert_allclose(comp, forest.predict_proba(columns)[:, 1], atol=1e-6)


def stump(**changes):
    columns = {
        "roots": np.zeros(1, np.int32), "features": np.array([0, -1, -1], np.int16),
        "thresholds": np.zeros(3, np.float32), "children": np.array([1, 0, 0], np.int32),
        "values": np.array([0, 0.2, 0.8], np.float32),
    }  # fmt: skip
    return TreeSum(**{**columns, **changes}, n_columns=2)


def test_a_stump_goes_left_up_to_its_threshold():
    np.testing.assert_allclose(stump().sums(np.array([[0.0, 9], [1e-3, 9]])), [0.2, 0.8])
    assert stump().sums(np.empty((0, 2))).shape == (0,)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"roots": np.array([3], np.int32)}, "roots must be nodes"),
        ({"roots": np.array([-1], np.int32)}, "roots must be nodes"),
        ({"features": np.array([2, -1, -1], np.int16)}, "features must be -1 or one of 2 columns"),
        ({"features": np.array([-2, -1, -1], np.int16)}, "features must be -1"),
        ({"children": np.array([0, 0, 0], np.int32)}, "behind their parents"),
        ({"children": np.array([2, 0, 0], np.int32)}, "behind their parents"),
        ({"values": np.array([0, np.nan, 0], np.float32)}, "finite"),
        ({"thresholds": np.zeros(2, np.float32)}, "shape"),
        ({"roots": np.empty(0, np.int32)}, "1 to 4096"),
    ],
)
def test_trees_that_are_not_sound_are_refused(changes, message):
    with pytest.raises(ModelError, match=message):
        stump(**changes)


def test_a_sum_takes_its_own_columns_only():
    with pytest.raises(ModelError, match="2 columns were given an array of shape"):
        stump().sums(np.zeros((1, 3)))


def test_nobody_is_nearer_than_a_camera_sees(trained):
    columns = np.ones((2, len(NAMES)))
    columns[0, NAMES.index("distance")] = 0.2
    assert (
        trained.probabilities(columns)[0]
        == trained.probabilities(columns, 9.0)[0]
        == 0
        < trained.probabilities(columns)[1]
    )


def test_prior_odds_shift_probabilities(trained):
    columns = np.abs(np.random.default_rng(1).normal(size=(20, len(NAMES)))) + 0.35
    plain, surer = trained.probabilities(columns), trained.probabilities(columns, 4.3)
    assert (surer >= plain).all()
    inside = (plain > 0) & (plain < 1)
    odds = [(p[inside] / (1 - p[inside])) for p in (plain, surer)]
    np.testing.assert_allclose(odds[1], np.exp(4.3) * odds[0], rtol=1e-6)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("columns", ["confidence"], "other columns"),
        ("least_person", 2, "least_person must be from 0 to 1"),
        ("least_probability", "x", "least_probability must be from 0 to 1"),
        ("body", 3, "body must be the name"),
        ("background_mm", -1, "background"),
        ("config", 3, "config must be a mapping, got 3"),
        ("scores", [], "scores must be a mapping"),
    ],
)
def test_a_file_with_wrong_numbers_is_refused(trained, tmp_path, key, value, message):
    trained.save(tmp_path / "m.safetensors")
    file = modelfile.read(tmp_path / "m.safetensors")
    modelfile.write(tmp_path / "bad.safetensors", KIND, FORMAT_VERSION, {**file.content, key: value}, file.columns)
    with pytest.raises(ModelError, match=f"bad.safetensors: .*{message}"):
        PersonModel.load(tmp_path / "bad.safetensors")


def test_models_that_are_none_are_refused():
    frame = Frame(np.ones((60, 80), np.uint16), Camera.preset("kinect_v1@80x60"))
    with pytest.raises(ModelError, match="neither a shipped person model nor a file"):
        find_people(frame, model="nobody")
    with pytest.raises(ModelError, match="expected a PersonModel"):
        find_people(frame, model=3)
    with pytest.raises(ModelError, match="depth_forest"):
        find_people(frame, model=load_path().parents[1] / "body31-fast.safetensors")
    with pytest.raises(UsageError, match="least must be a probability"):
        find_people(frame, least=1.5)


def test_too_few_frames_or_one_kind_are_refused(source):
    with pytest.raises(DatasetError, match="needs at least 20 frames, got 3"):
        train_people(source[:3], SMALL)
    with pytest.raises(UsageError, match="config must be a PeopleConfig"):
        train_people(source, {})
    with pytest.raises(TrainConfigError, match="judges"):
        PeopleConfig(judges=0)
