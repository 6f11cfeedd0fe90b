"""The model of docs/SCALING.md: its tasks are those that are made, and more threads are not slower."""

import importlib.util
import sys
from pathlib import Path

import pytest
from support.bounded import local_cluster

from depthforest.training.config import TrainConfig
from depthforest.training.run import train
from synth.config import Config
from synth.generator import Generator
from synth.production import produce

pytest.importorskip("distributed", reason="needs the extra dask")

TOP = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def model():
    spec = importlib.util.spec_from_file_location("scaling_model", TOP / "tools" / "scaling_model.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["scaling_model"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["scaling_model"]


def test_tasks_are_as_many_as_the_model_says(model, tmp_path):
    made = Generator(Config(camera="kinect_v1@80x60", n_bodies=2, n_poses=64, furnished_share=0.0), seed=1, n=12)
    data = produce(made, tmp_path / "data", 12)
    config = TrainConfig(
        trees=1, depth=3, candidates=24, thresholds=9, pixels_per_frame=150, frames_per_tree=1.0, min_pixels=2
    )
    n_made, by_level = 0, []

    def note(news):
        nonlocal n_made
        if news.event == "level":
            assert news.n_nodes == news.n_splits == 2**news.level
            by_level.append(n_made)
            n_made = 0

    with local_cluster(n_workers=12) as (_, client):
        submit = client.submit

        def counted(*arguments, **options):
            nonlocal n_made
            n_made += 1
            return submit(*arguments, **options)

        client.submit = counted
        train(data, config, client=client, progress=note)
    setting = model.Setting(12, 150, 24, 3, 12, parts=len(data.part_set), bins=10)
    reading, *levels = [cost.n_tasks for cost in model.costs(setting)]
    assert by_level == [reading + levels[0], *levels[1:]]


def hours(model, n_threads, memory):
    found = model.costs(model.Setting(1_000_000, 2000, 2000, 20, n_threads, memory=memory))
    return 3 * sum(cost.seconds for cost in found) / 3600


@pytest.mark.parametrize("memory", [4e9, 16e9])
def test_more_threads_are_not_slower_up_to_a_thousand(model, memory):
    taken = [hours(model, n, memory) for n in (1, 10, 33, 100, 200, 300, 400, 600, 1000)]
    assert taken == sorted(taken, reverse=True)
