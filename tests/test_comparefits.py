import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from striped import striped_frames

from depthforest.comparebudget import CompareSettings
from depthforest.comparedata import labeled_pixels, read_data
from depthforest.comparefits import Fitter, pickled_size
from depthforest.comparelearners import LEARNERS
from depthforest.pixeltables import pixel_responses
from depthforest.training import train

SETTINGS = CompareSettings(pixels=600, probes=16, seed=2)
BY_NAME = {learner.name: learner for learner in LEARNERS}


def read(labels=(0, 1, 2), settings=SETTINGS):
    frames = striped_frames(12, labels=labels)
    return read_data(frames, frames, range(9), range(9, 12), settings, lambda _: None)


@pytest.fixture(scope="module")
def data():
    return read()


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda a: a.name)
def test_every_learner_learns_the_stripes(learner, data):
    if not learner.is_installed:
        pytest.skip(f"needs {learner.library}")
    fit = Fitter(learner, data, SETTINGS.seed)(1 if learner.is_single else 3)
    assert fit.figures["mean_class_accuracy"].value > 0.6  # chance is a third
    assert fit.n_bytes > 500
    assert fit.fit_seconds > 0
    assert fit.predict_seconds > 0
    assert len(fit.class_accuracies) == 3


def test_figures_are_shares_of_all_pixels_of_the_test_frames(data):
    learner = BY_NAME["sklearn-random-forest"]
    fit = Fitter(learner, data, 2)(5)
    model = learner.make(5, 2).fit(data.table.x, data.table.labels.astype(np.int64))
    hits = [[], [], []]
    for frame in data.test:
        pixels = labeled_pixels(frame)
        answers = model.predict(pixel_responses(frame, pixels, data.table.probes))
        for truth, answer in zip(frame.parts.ravel()[pixels], answers, strict=True):
            hits[truth].append(truth == answer)
    assert_allclose(fit.class_accuracies, [np.mean(h) for h in hits])
    assert fit.figures["pixel_accuracy"].value == pytest.approx(np.mean(np.concatenate(hits)))
    assert fit.n_bytes == len(pickle.dumps(model, protocol=5))


def test_the_same_size_and_seed_give_the_same_figures(data):
    for name in ("depth-forest", "extra-trees"):
        first, second = (Fitter(BY_NAME[name], data, 2)(2).to_dict() for _ in range(2))
        for key in ("n", "bytes", "class_accuracies", "pixel_accuracy", "mean_class_accuracy"):
            assert first[key] == second[key]


def test_labels_with_gaps_come_back_as_they_were():
    """The middle is never seen: codes 0 and 1 mean parts 0 and 2."""
    data = read((0, 2, 2))
    for name in ("random-forest", "depth-forest"):
        fit = Fitter(BY_NAME[name], data, 2)(5)
        assert fit.class_accuracies[0] > 0.6
        assert fit.class_accuracies[2] > 0.6
        assert np.isnan(fit.class_accuracies[1])
        assert fit.to_dict()["class_accuracies"][1] is None


def test_the_first_fit_compiles_on_few_rows_of_whole_frames(data, monkeypatch):
    fitter = Fitter(BY_NAME["decision-tree"], data, 2)
    monkeypatch.setattr("depthforest.comparefits.WARM_ROWS", 200)
    seen = []
    spied = BY_NAME["decision-tree"].make

    class Spy:
        def __init__(self, model):
            self.model = model

        def fit(self, x, y):
            seen.append(len(y))
            return self.model.fit(x, y)

    fitter._learner = type(
        "L", (), {"make": staticmethod(lambda n, s: Spy(spied(n, s))), "has_groups": False, "sees_frames": False}
    )
    fitter(1)
    fitter(1)
    assert seen == [int((data.table.frames < np.sort(data.table.frames)[200]).sum()), 600, 600]
    assert 0 < seen[0] <= 200


def test_the_depth_forest_grows_on_the_drawn_pixels(data, monkeypatch):
    """Both kinds hand the trainer as many pixels a tree; only the fresh one may see others than the table's."""
    sources = []

    def spy(source, config, **options):
        sources.append((source, config.trees, config.pixels_per_frame))
        return train(source, config, **options)

    monkeypatch.setattr("depthforest.comparefits.train", spy)
    for name, expected in (("depth-forest", data.drawn), ("depth-forest-fresh", data.frames)):
        sources.clear()
        Fitter(BY_NAME[name], data, 2)(3)
        assert sources[-1][0] is expected
        assert sources[-1][1:] == (3, 67)


def test_a_model_is_measured_without_being_held():
    for thing in (list(range(1000)), np.arange(100_000.0), {"a": b"x" * 70_000}):
        assert pickled_size(thing) == len(pickle.dumps(thing, protocol=5))
