import os
import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.striped import striped_frames

from depthforest.compare.budget import CompareSettings
from depthforest.compare.data import cut_to_people, labeled_pixels, read_data
from depthforest.compare.fits import Fitter, pickled_size
from depthforest.compare.learners import LEARNERS
from depthforest.training.pixeltables import pixel_responses
from depthforest.training.run import train
from depthforest.training.sampling import draw_pixels

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


LATE = """
import sys
sys.path[:0] = {paths!r}
from dataclasses import replace
from test_fits import BY_NAME, Fitter, read
from threadpoolctl import threadpool_info

class Looking:
    def __init__(self, n):
        self.n = n
    def fit(self, x, y):
        import sklearn.ensemble._hist_gradient_boosting.gradient_boosting  # brings OpenMP along
        print(self.n, {{one["num_threads"] for one in threadpool_info() if one["user_api"] == "openmp"}})
        return self
    def predict(self, x):
        return [0] * len(x)

learner = replace(BY_NAME["sklearn-hist-boosting"], make=lambda n, seed: Looking(n))
assert "sklearn.ensemble._hist_gradient_boosting.gradient_boosting" not in sys.modules
Fitter(learner, read(), 0)(2)
"""


def test_a_library_that_comes_late_has_one_thread_too():
    """It was not limited in its first fit, whose threads waited for each other and cost ten times as much."""
    code = LATE.format(paths=[str(Path(__file__).parent), str(Path(__file__).parents[1])])
    environment = os.environ | {"OMP_NUM_THREADS": "2"}
    said = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, check=True, text=True, timeout=600
    )
    assert said.stdout.splitlines()[-1] == "2 {1}"


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


class Spy:
    """Hands a model its rows, and keeps how many there were, and of how many parts."""

    def __init__(self, model, seen):
        self.model, self.seen = model, seen

    def fit(self, x, y, groups=None):
        self.seen.append((len(y), len(np.unique(y))))
        return self.model.fit(x, y) if groups is None else self.model.fit(x, y, groups=groups)


def fits_of(name, data):
    """Return rows and parts of the two fits that one call makes: that which compiles, and that which counts."""
    fitter, seen = Fitter(BY_NAME[name], data, 2), []
    fitter._learner = replace(BY_NAME[name], make=lambda n, seed: Spy(BY_NAME[name].make(n, seed), seen))
    fitter._predictor = lambda _: lambda frame, pixels: frame.parts.ravel()[pixels]
    fitter(1)
    return seen


@pytest.mark.parametrize(("warm_rows", "n_frames"), [(200, 3), (1, 3), (202, 4), (10**6, 9)])
def test_the_first_fit_compiles_on_few_rows_of_whole_frames(data, monkeypatch, warm_rows, n_frames):
    """As many frames as there are folds, also where one alone has more rows than are asked for."""
    monkeypatch.setattr("depthforest.compare.fits.WARM_ROWS", warm_rows)
    expected = int((data.table.frames < n_frames).sum())
    for name in ("decision-tree", "stacking"):
        assert fits_of(name, data) == [(expected, 3), (600, 3)]


def test_the_first_fit_has_all_parts(monkeypatch):
    """The right stripe is missing in the first frames: learners that want every class would not start."""
    monkeypatch.setattr("depthforest.compare.fits.WARM_ROWS", 1)
    frames = striped_frames(5, labels=(0, 1, 1)) + striped_frames(7, seed=1)
    data = read_data(frames, frames, range(9), range(9, 12), SETTINGS, lambda _: None)
    expected = int((data.table.frames < 8).sum())
    for name in ("stacking", "xgboost"):
        if BY_NAME[name].is_installed:
            assert fits_of(name, data) == [(expected, 3), (600, 3)]
    Fitter(BY_NAME["depth-forest"], data, 2)(1)
    # shown by fewer frames than there are folds: all rows
    frames = striped_frames(8, labels=(0, 1, 1)) + striped_frames(4, seed=1)
    data = read_data(frames, frames, range(9), range(9, 12), SETTINGS, lambda _: None)
    assert fits_of("decision-tree", data) == [(600, 3), (600, 3)]


def test_the_depth_forest_grows_on_the_drawn_pixels(data, monkeypatch):
    """Both kinds hand the trainer as many pixels a tree; only the fresh one may see others than the table's."""
    sources = []

    def spy(source, config, **options):
        sources.append((source, config.trees, config.pixels_per_frame))
        return train(source, config, **options)

    monkeypatch.setattr("depthforest.compare.fits.train", spy)
    for name, expected in (("depth-forest", data.drawn), ("depth-forest-fresh", data.frames)):
        sources.clear()
        Fitter(BY_NAME[name], data, 2)(3)
        assert sources[-1][0] == expected
        assert sources[-1][1:] == (3, 67)


def test_everybody_gets_as_many_pixels_where_frames_are_unevenly_filled(monkeypatch):
    frames = striped_frames(12)
    for i in (0, 3, 4, 8):  # of these little is labeled
        is_little = np.arange(30)[:, None] % 20 == i
        frames[i] = replace(frames[i], parts=np.where(is_little, frames[i].parts, 255).astype(np.uint8))
    data = read_data(frames, frames, range(9), range(9, 12), SETTINGS, lambda _: None)
    n, grown = len(data.table.labels), []
    assert n < 500

    def spy(source, config, **options):
        grown.append(sum(len(draw_pixels(frame, i, 0, config)) for i, frame in enumerate(source)))
        return train(source, config, **options)

    monkeypatch.setattr("depthforest.compare.fits.train", spy)
    Fitter(BY_NAME["depth-forest"], data, 2)(1)
    assert grown[-1] == n
    Fitter(BY_NAME["depth-forest-fresh"], data, 2)(1)
    assert n <= grown[-1] <= n + 9  # where frames give one pixel more or less, it takes the one more


def test_depth_forests_see_the_same_in_frames_that_are_cut_to_their_people():
    """As columns do: where the picture ended is not known any more."""
    frames = striped_frames(4)
    for learner in LEARNERS:
        if learner.sees_frames:
            config = replace(learner.make(2, 0), pixels_per_frame=10_000)  # all that there are
            assert train([cut_to_people(frame) for frame in frames], config) == train(frames, config)


def test_a_model_is_measured_without_being_held():
    for thing in (list(range(1000)), np.arange(100_000.0), {"a": b"x" * 70_000}):
        assert pickled_size(thing) == len(pickle.dumps(thing, protocol=5))
